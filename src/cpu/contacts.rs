use glam::Vec3;
use rayon::prelude::*;

use super::GRAIN;
use crate::contact::{Contact, linear};
use crate::grid::row_ranges;
use crate::layout::{Load, Motion, Pair, Plane, Sphere};
use crate::state::State;

/// Contacts of each sphere: force, torque, overlap, number.
///
/// Each pair is evaluated from both sides, neighbours in the order of the sorted buckets: no
/// sphere writes to another, and sums have a fixed order.
pub fn contacts(state: &mut State) {
    let State {
        params,
        spheres,
        motions,
        bucket_starts,
        sorted,
        planes,
        pairs,
        sphere_loads,
        stats,
        ..
    } = state;
    let law = |a: u32, b: u32| &pairs[(a * params.material_count + b) as usize];

    let one = |index: usize| {
        let (sphere, motion) = (&spheres[index], &motions[index]);
        let mut sum = Sum::default();
        for dz in -1..=1 {
            for dy in -1..=1 {
                for (from, to) in row_ranges(sphere.cell, dy, dz, bucket_starts) {
                    for &other in &sorted[from as usize..to as usize] {
                        let neighbour = &spheres[other as usize];
                        let cells = neighbour.cell - sphere.cell;
                        // Another cell's spheres may share the bucket.
                        let in_row = cells.y == dy && cells.z == dz && cells.x.abs() <= 1;
                        if !in_row || neighbour.body == sphere.body {
                            continue;
                        }
                        let apart =
                            cells.as_vec3() * params.cell_size + neighbour.offset - sphere.offset;
                        let reach = sphere.radius + neighbour.radius;
                        let square = apart.length_squared();
                        if square >= reach * reach {
                            continue;
                        }
                        let distance = square.sqrt();
                        let up = if index < other as usize {
                            Vec3::Y
                        } else {
                            Vec3::NEG_Y
                        };
                        let normal = if distance > 0.0 { apart / distance } else { up };
                        let motion_b = &motions[other as usize];
                        let pair = law(motion.material, motion_b.material);
                        sum.add_sphere(sphere, motion, neighbour, motion_b, distance, normal, pair);
                    }
                }
            }
        }
        for plane in &planes[..params.plane_count as usize] {
            let from_plane = (sphere.cell - plane.cell).as_vec3() * params.cell_size
                + sphere.offset
                - plane.offset;
            let distance = from_plane.dot(plane.normal);
            if distance < sphere.radius {
                let pair = law(motion.material, plane.material);
                sum.add_plane(sphere, motion, plane, distance, pair);
            }
        }
        sum
    };

    let fraction = sphere_loads
        .par_iter_mut()
        .with_min_len(GRAIN)
        .enumerate()
        .map(|(index, load)| {
            let sum = one(index);
            *load = sum.load;
            sum.max_fraction
        })
        .reduce(|| 0.0, f32::max);
    let largest = &mut stats[0].max_overlap_fraction;
    *largest = (*largest).max(fraction.to_bits());
}

#[derive(Default)]
struct Sum {
    load: Load,
    max_fraction: f32,
}

impl Sum {
    #[allow(
        clippy::too_many_arguments,
        reason = "two spheres, each as it is stored"
    )]
    fn add_sphere(
        &mut self,
        sphere: &Sphere,
        motion: &Motion,
        other: &Sphere,
        other_motion: &Motion,
        distance: f32,
        normal: Vec3,
        pair: &Pair,
    ) {
        let inverse_mass = motion.inverse_mass + other_motion.inverse_mass;
        if inverse_mass == 0.0 {
            return;
        }
        let overlap = sphere.radius + other.radius - distance;
        // The contact lies in the middle of the overlap, the same point for both spheres, so that
        // the pair keeps its angular momentum.
        let arm = (sphere.radius - 0.5 * overlap) * normal;
        let other_arm = (0.5 * overlap - other.radius) * normal;
        let contact = Contact {
            overlap,
            normal,
            relative_velocity: other_motion.velocity
                + other_motion.angular_velocity.cross(other_arm)
                - motion.velocity
                - motion.angular_velocity.cross(arm),
            effective_mass: 1.0 / inverse_mass,
        };
        self.add(&contact, arm, sphere.radius.min(other.radius), pair, 1);
    }

    fn add_plane(
        &mut self,
        sphere: &Sphere,
        motion: &Motion,
        plane: &Plane,
        distance: f32,
        pair: &Pair,
    ) {
        if motion.inverse_mass == 0.0 {
            return;
        }
        let normal = -plane.normal;
        // The arm is the radius of the undeformed sphere, so that one that rolls without slip has
        // the speed of its angular velocity times its radius.
        let arm = sphere.radius * normal;
        let contact = Contact {
            overlap: sphere.radius - distance,
            normal,
            relative_velocity: -motion.velocity - motion.angular_velocity.cross(arm),
            effective_mass: 1.0 / motion.inverse_mass,
        };
        self.add(&contact, arm, sphere.radius, pair, 1 << 16);
    }

    fn add(&mut self, contact: &Contact, arm: Vec3, radius: f32, pair: &Pair, count: u32) {
        let force = linear(contact, pair);
        self.load.force += force;
        self.load.torque += arm.cross(force);
        self.load.max_overlap = self.load.max_overlap.max(contact.overlap);
        self.load.contacts += count;
        self.max_fraction = self.max_fraction.max(contact.overlap / radius);
    }
}
