//! Depths of spheres in walls, before a run.

use glam::DVec3;

use super::facet::{BOTH_SIDES, Facet};
use super::facet::{FAR, closest};
use super::solid::Solid;
use super::tree::Node;
use super::tree::{for_each_near, tree};
use super::{Pose, Shape, Side, Wall};
use crate::model::Domain;

/// A wall, prepared for queries of the depth of a sphere in it.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Probe {
    /// Name of the wall.
    pub name: String,
    /// Pose of the wall.
    pub pose: Pose,
    /// Unit normal of an infinite plane in the world; `None` for all other shapes.
    pub normal: Option<DVec3>,
    domain: Option<Domain>,
    wall: Wall,
    facets: Vec<Facet>,
    nodes: Vec<Node>,
    samples: Vec<f32>,
    /// The inside of a watertight mesh; `None` for all other shapes.
    solid: Option<Solid>,
}

impl Probe {
    /// A probe of a wall in its pose at the start; in a periodic `domain`, also of its images.
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

    /// The wall.
    pub(crate) fn wall(&self) -> &Wall {
        &self.wall
    }

    /// Moves the probe to the present pose of the wall.
    pub fn move_to(&mut self, pose: Pose) {
        if self.normal.is_some() {
            let turned = pose.orientation * self.pose.orientation.conjugate();
            self.normal = self.normal.map(|normal| turned * normal);
        }
        self.pose = pose;
    }

    /// The depth of a sphere in the wall, m, and the unit vector that leads out of it; `None` if it is at most `least` (m) deep.
    ///
    /// `least` must be 0 or more.
    #[inline]
    pub fn depth(&self, center: DVec3, radius: f64, least: f64) -> Option<(f64, DVec3)> {
        match self.normal {
            None => self.depth_in_facets(center, radius, least),
            Some(normal) => {
                let depth = radius - (center - self.pose.position).dot(normal);
                (depth > least).then_some((depth, normal))
            }
        }
    }

    fn depth_in_facets(&self, center: DVec3, radius: f64, least: f64) -> Option<(f64, DVec3)> {
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
            // The whole sphere is behind the surface, beyond the reach of its facets.
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

    /// Whether a point (m) is on the wrong side of the wall for the bodies of a region about `middle` (m).
    ///
    /// If bodies touch the front of the wall only, they belong outside. Otherwise they belong on the side of `middle`. A `middle`
    /// above an open vessel is neither inside nor outside. Then bodies that touch the back only belong inside, and if they touch
    /// both sides, no point is wrong.
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

    /// Whether a point of the wall's frame (m) is inside; `None` if there is no inside at that point.
    fn is_inside(&self, place: DVec3) -> Option<bool> {
        match &self.solid {
            Some(solid) => Some(solid.contains(place)),
            None => self.wall.is_inside(place),
        }
    }

    /// Converts a point (m) of the world to the frame of the wall, m.
    fn place(&self, point: DVec3) -> DVec3 {
        let way = point - self.pose.position;
        let way = self.domain.map_or(way, |domain| domain.nearest(way));
        self.pose.orientation.conjugate() * way
    }
}
