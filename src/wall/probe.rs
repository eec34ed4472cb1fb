//! How deep a sphere is in a wall, before a run.

use glam::DVec3;

use super::facet::{FAR, closest};
use super::tree::{for_each_near, tree};
use super::{Pose, Side, Wall};
use crate::layout::{Facet, Node};
use crate::model::Domain;

/// A wall at the start, ready to be asked how deep a sphere is in it.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub pose: Pose,
    /// Normal in the world, of an infinite plane.
    pub normal: Option<DVec3>,
    domain: Option<Domain>,
    wall: Wall,
    facets: Vec<Facet>,
    nodes: Vec<Node>,
    samples: Vec<f32>,
}

impl Probe {
    /// A probe of a wall where it is at the start; in a periodic `domain`, of its images.
    pub fn new(wall: &Wall, domain: Option<&Domain>) -> Probe {
        let mut facets = wall.facets(0);
        let nodes = tree(&mut facets.facets, &facets.bounds, 0);
        Probe {
            name: wall.name.clone(),
            pose: wall.at(0.0).pose,
            normal: wall.plane_normal(),
            domain: domain.copied(),
            wall: wall.clone(),
            facets: facets.facets,
            nodes,
            samples: facets.samples,
        }
    }

    /// How deep a sphere is in the wall, m, where it is deepest, and the way out of there, a unit vector;
    /// if it is deeper than `least`, which is 0 or more.
    pub fn depth(&self, center: DVec3, radius: f64, least: f64) -> Option<(f64, DVec3)> {
        if let Some(normal) = self.normal {
            let depth = radius - (center - self.pose.position).dot(normal);
            return (depth > least).then_some((depth, normal));
        }
        let place = self.place(center).as_vec3();
        let mut nearest = (FAR, DVec3::Y);
        for_each_near(&self.nodes, place, (radius - least) as f32, |index| {
            let facet = &self.facets[index as usize];
            let found = closest(facet, &self.samples, place, radius as f32);
            if found.distance < nearest.0 {
                nearest = (found.distance, found.normal.as_dvec3());
            }
        });
        let depth = radius - f64::from(nearest.0);
        (depth > least).then(|| (depth, self.pose.orientation * nearest.1))
    }

    /// Whether a point, m, is on the wrong side for the bodies of a region about `middle`: they belong inside
    /// if that is inside. Where it is neither, above an open vessel, they belong to the side that is
    /// touched.
    pub fn parts(&self, point: DVec3, middle: DVec3) -> bool {
        let wanted = self
            .wall
            .is_inside(self.place(middle))
            .or(match self.wall.side {
                Side::Both => None,
                Side::Front => Some(false),
                Side::Back => Some(true),
            });
        let inside = self.wall.is_inside(self.place(point));
        inside
            .zip(wanted)
            .is_some_and(|(inside, wanted)| inside != wanted)
    }

    /// A point in the frame of the wall, m.
    fn place(&self, point: DVec3) -> DVec3 {
        let way = point - self.pose.position;
        let way = self.domain.map_or(way, |domain| domain.nearest(way));
        self.pose.orientation.conjugate() * way
    }
}
