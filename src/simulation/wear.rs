//! Wear of meshes, summed on the host from contacts sampled at regular steps.

use std::ops::ControlFlow;

use glam::DVec3;

use super::Simulation;
use super::network::{Partner, contacts};
use crate::model::Model;
use crate::model::error::Result;
use crate::model::wall::Shape;
use crate::model::wall::facet::{BOTH_SIDES, Facet, closest};
use crate::model::wall::tree::{Node, for_each_near, tree};
use crate::simulation::snapshot::{Snapshot, moments};
use crate::state::angular_velocity;
use crate::step::Patience;

/// Steps between two samples of the contacts with meshes that wear. Each sample stands for the steps since the last
/// one. The contact of a collision lasts some fifty steps.
pub(super) const LOOK: u64 = 10;

/// A mesh that wears, prepared to find the triangle at a contact.
#[derive(Clone, Debug)]
pub(crate) struct Worn {
    wall: usize,
    /// Facets that have the index of their triangle in place of that of their wall.
    facets: Vec<Facet>,
    nodes: Vec<Node>,
}

impl Worn {
    /// The meshes of a model that wear.
    fn all(model: &Model) -> Vec<Worn> {
        let walls = model.walls.iter().enumerate();
        let worn = walls.filter_map(|(index, wall)| match (&wall.wear, &wall.shape) {
            (Some(_), Shape::Mesh(_)) => Some((index, wall)),
            _ => None,
        });
        worn.map(|(wall, own)| {
            let mut facets = own.facets(0);
            for (triangle, facet) in (0..).zip(&mut facets.facets) {
                facet.wall = triangle;
                facet.side = BOTH_SIDES;
            }
            let nodes = tree(&mut facets.facets, &facets.bounds, 0);
            Worn {
                wall,
                facets: facets.facets,
                nodes,
            }
        })
        .collect()
    }

    /// The triangle nearest to a point in the frame of the wall, m, if one is within `reach`.
    fn triangle_at(&self, point: DVec3, reach: f64) -> Option<usize> {
        let point = point.as_vec3();
        let mut nearest = None;
        for_each_near(&self.nodes, point, reach as f32, |index| {
            let facet = &self.facets[index as usize];
            let distance = closest(facet, &[], point, f32::MAX).distance;
            if nearest.is_none_or(|(best, _)| distance < best) {
                nearest = Some((distance, facet.wall));
            }
        });
        nearest.map(|(_, triangle)| triangle as usize)
    }
}

/// Adds to `volumes` (m³) the wear of the meshes in `time` (s) under the contacts of the last step.
fn wear(worn: &[Worn], part: &Snapshot, time: f64, volumes: &mut [Vec<f64>]) {
    let Snapshot { model, state, .. } = *part;
    let moving: Vec<_> = worn.iter().map(|own| state.wall(own.wall)).collect();
    for contact in contacts(state) {
        let Partner::Wall(wall) = contact.partner else {
            continue;
        };
        let Some(place) = worn.iter().position(|own| own.wall == wall as usize) else {
            continue;
        };
        let Some(law) = &model.walls[wall as usize].wear else {
            continue;
        };
        let sphere = &state.spheres[contact.sphere as usize];
        let center = state.place(sphere);
        let arm = state.nearest(contact.point - center);
        let start = state.identities.at(contact.body as usize);
        let clump = &model.shapes[start.shape];
        let spin = angular_velocity(&state.bodies[contact.body as usize], moments(start, clump));
        let own = sphere.velocity.as_dvec3() + spin.cross(arm);
        let pose = &moving[place].pose;
        let from_wall = state.nearest(contact.point - pose.position);
        let of_wall = moving[place].velocity
            + moving[place].angular_velocity.cross(from_wall)
            + pose.orientation * model.walls[wall as usize].belt;
        let relative = own - of_wall;
        let into = relative.dot(contact.normal);
        let across = (relative - into * contact.normal).length();
        let force = -contact.force.dot(contact.normal);
        if force <= 0.0 {
            continue;
        }
        let reach = 2.0 * f64::from(sphere.radius);
        let point = pose.orientation.conjugate() * from_wall;
        if let Some(triangle) = worn[place].triangle_at(point, reach) {
            volumes[wall as usize][triangle] += time * law.rate(force, across, into);
        }
    }
}

impl Simulation {
    /// The number of steps after which wear is sampled next.
    pub(super) fn next_wear(&self) -> Option<u64> {
        let wears = self.state.traffic.worn.iter().any(|own| !own.is_empty());
        wears.then(|| (self.steps / LOOK + 1) * LOOK)
    }

    /// Adds the wear since the last sample.
    pub(super) async fn wear(&mut self, patience: Patience) -> Result<()> {
        let due = self.next_wear().is_some() && self.steps > 0 && self.steps.is_multiple_of(LOOK);
        if !due || self.state.traffic.worn_at == Some(self.steps) {
            return Ok(());
        }
        if self.worn.is_empty() {
            self.worn = Worn::all(&self.model);
        }
        let worn = std::mem::take(&mut self.worn);
        let mut volumes = self.state.traffic.worn.clone();
        let time = LOOK as f64 * self.model.time_step;
        let read = self.for_each_part_by(patience, &Snapshot::CONTACTS, |part, _| {
            wear(&worn, part, time, &mut volumes);
            ControlFlow::Continue(())
        });
        read.await?;
        self.worn = worn;
        self.state.traffic.worn = volumes;
        self.state.traffic.worn_at = Some(self.steps);
        Ok(())
    }
}
