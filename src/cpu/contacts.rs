use glam::Vec3;
use rayon::prelude::*;

use super::GRAIN;
use crate::contact::{Contact, linear};
use crate::grid::apart;
use crate::layout::{Load, Pair, Params, Plane, Sphere};
use crate::state::State;

/// Contacts of each sphere: force, torque, overlap, number.
///
/// Each pair is evaluated from both sides, neighbours in the order of their indices: no sphere
/// writes to another, and sums have a fixed order.
pub fn contacts(state: &mut State) {
    let State {
        params,
        spheres,
        neighbour_starts,
        neighbours,
        planes,
        pairs,
        sphere_loads,
        stats,
        ..
    } = state;

    let one = |index: usize| {
        let sphere = &spheres[index];
        let mut sum = Sum {
            params,
            pairs,
            load: Load::default(),
            max_fraction: 0.0,
        };
        let list = neighbour_starts[index] as usize..neighbour_starts[index + 1] as usize;
        for &other in &neighbours[list] {
            let neighbour = &spheres[other as usize];
            let apart = apart(sphere, neighbour, params);
            let radii = sphere.radius + neighbour.radius;
            let reach = radii + params.touch_margin;
            let square = apart.length_squared();
            if square < reach * reach {
                let distance = square.sqrt();
                let normal = if distance > 0.0 {
                    apart * distance.recip()
                } else if index < other as usize {
                    Vec3::Y
                } else {
                    Vec3::NEG_Y
                };
                sum.add_sphere(sphere, neighbour, radii - distance, normal);
            }
        }
        if sphere.inverse_mass > 0.0 {
            for plane in &planes[..params.plane_count as usize] {
                let cells = (sphere.cell - plane.cell).as_vec3();
                let from_plane = cells * params.cell_size + sphere.offset - plane.offset;
                let distance = from_plane.dot(plane.normal);
                if distance < sphere.radius + params.touch_margin {
                    sum.add_plane(sphere, plane, sphere.radius - distance);
                }
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

/// The sum over the contacts of one sphere.
struct Sum<'a> {
    params: &'a Params,
    pairs: &'a [Pair],
    load: Load,
    max_fraction: f32,
}

impl Sum<'_> {
    fn add_sphere(&mut self, sphere: &Sphere, other: &Sphere, overlap: f32, normal: Vec3) {
        // The contact lies in the middle of the overlap, the same point for both spheres, so that
        // the pair keeps its angular momentum.
        let arm = (sphere.radius - 0.5 * overlap) * normal;
        let other_arm = (0.5 * overlap - other.radius) * normal;
        let relative_velocity = other.velocity + other.angular_velocity.cross(other_arm)
            - sphere.velocity
            - sphere.angular_velocity.cross(arm);
        let contact = Contact::new(
            overlap,
            normal,
            relative_velocity,
            sphere.inverse_mass + other.inverse_mass,
            self.params.time_step,
        );
        let radius = sphere.radius.min(other.radius);
        self.add(&contact, arm, radius, sphere.material, other.material, 1);
    }

    fn add_plane(&mut self, sphere: &Sphere, plane: &Plane, overlap: f32) {
        let normal = -plane.normal;
        // The arm is the radius of the undeformed sphere, so that one that rolls without slip has
        // the speed of its angular velocity times its radius.
        let arm = sphere.radius * normal;
        let relative_velocity = -sphere.velocity - sphere.angular_velocity.cross(arm);
        let contact = Contact::new(
            overlap,
            normal,
            relative_velocity,
            sphere.inverse_mass,
            self.params.time_step,
        );
        self.add(
            &contact,
            arm,
            sphere.radius,
            sphere.material,
            plane.material,
            1 << 16,
        );
    }

    fn add(
        &mut self,
        contact: &Contact,
        arm: Vec3,
        radius: f32,
        material: u32,
        other_material: u32,
        count: u32,
    ) {
        if contact.touch.presence == 0.0 {
            return;
        }
        let pair = material * self.params.material_count + other_material;
        let force = linear(contact, &self.pairs[pair as usize]);
        self.load.force += force;
        self.load.torque += arm.cross(force);
        self.load.max_overlap = self.load.max_overlap.max(contact.touch.mean_overlap);
        self.load.contacts += count;
        self.max_fraction = self.max_fraction.max(contact.touch.mean_overlap / radius);
    }
}
