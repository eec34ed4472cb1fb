//! How deep a sphere is in a wall, before a run.

use glam::DVec3;

use super::facet::{BOTH_SIDES, Facet};
use super::facet::{FAR, closest};
use super::solid::Solid;
use super::tree::Node;
use super::tree::{for_each_near, tree};
use super::{Pose, Shape, Side, Wall};
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
    /// Of a watertight mesh.
    solid: Option<Solid>,
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
            solid: match &wall.shape {
                Shape::Mesh(mesh) if mesh.is_closed() => Some(Solid::new(mesh.clone())),
                _ => None,
            },
        }
    }

    /// Moves it to where the wall is now.
    pub fn move_to(&mut self, pose: Pose) {
        if self.normal.is_some() {
            let turned = pose.orientation * self.pose.orientation.conjugate();
            self.normal = self.normal.map(|normal| turned * normal);
        }
        self.pose = pose;
    }

    /// How deep a sphere is in the wall, m, where it is deepest, and the way out of there, a unit vector;
    /// if it is deeper than `least`, which is 0 or more.
    pub fn depth(&self, center: DVec3, radius: f64, least: f64) -> Option<(f64, DVec3)> {
        if let Some(normal) = self.normal {
            let depth = radius - (center - self.pose.position).dot(normal);
            return (depth > least).then_some((depth, normal));
        }
        let own = self.place(center);
        let place = own.as_vec3();
        let mut nearest = (FAR, DVec3::Y);
        for_each_near(&self.nodes, place, (radius - least) as f32, |index| {
            let facet = &self.facets[index as usize];
            let found = closest(facet, &self.samples, place, radius as f32);
            if found.distance < nearest.0 {
                nearest = (found.distance, found.normal.as_dvec3());
            }
        });
        if nearest.0 == FAR && self.wall.side == Side::Front && self.is_inside(own) == Some(true) {
            // All of the sphere is behind the surface, where no facet feels it.
            let ways = self.facets.iter().map(|facet| {
                let facet = Facet {
                    side: BOTH_SIDES,
                    ..*facet
                };
                closest(&facet, &self.samples, place, f32::MAX)
            });
            let way = ways.min_by(|a, b| a.distance.total_cmp(&b.distance))?;
            let depth = radius + f64::from(way.distance);
            return Some((depth, self.pose.orientation * -way.normal.as_dvec3()));
        }
        let depth = radius - f64::from(nearest.0);
        (depth > least).then(|| (depth, self.pose.orientation * nearest.1))
    }

    /// Whether a point, m, is on the wrong side for the bodies of a region about `middle`. If `middle` is inside,
    /// they belong inside. If it is neither inside nor outside, above an open vessel, they belong to the side that is
    /// touched, and never into a wall that is touched from outside.
    pub fn parts(&self, point: DVec3, middle: DVec3) -> bool {
        let wanted = match self.wall.side {
            Side::Front => Some(false),
            Side::Back => self.is_inside(self.place(middle)).or(Some(true)),
            Side::Both => self.is_inside(self.place(middle)),
        };
        let inside = self.is_inside(self.place(point));
        inside
            .zip(wanted)
            .is_some_and(|(inside, wanted)| inside != wanted)
    }

    /// Whether a point of the wall's frame is inside, if it has an inside.
    fn is_inside(&self, place: DVec3) -> Option<bool> {
        match &self.solid {
            Some(solid) => Some(solid.contains(place)),
            None => self.wall.is_inside(place),
        }
    }

    /// A point in the frame of the wall, m.
    fn place(&self, point: DVec3) -> DVec3 {
        let way = point - self.pose.position;
        let way = self.domain.map_or(way, |domain| domain.nearest(way));
        self.pose.orientation.conjugate() * way
    }
}
