use glam::{UVec2, Vec2, Vec3, Vec4};
use rayon::prelude::*;

use super::GRAIN;
use crate::contact::{Contact, Memory, Touch, respond};
use crate::grid::{apart, height};
use crate::layout::{HERTZ, HOOKE, LINEAR, PLANE, Pair, Params, Plane, Sphere, SphereLoad};
use crate::state::State;

/// Contacts of each sphere: force, torque, overlap, number, and what each remembers.
///
/// Each pair is evaluated from both sides, neighbours in the order of their indices: no sphere
/// writes to another, and sums have a fixed order.
///
/// # Panics
/// If the contact law is a custom one, which is there for the GPU engine only.
pub fn contacts(state: &mut State) {
    match state.params.law {
        LINEAR => evaluate::<LINEAR>(state),
        HOOKE => evaluate::<HOOKE>(state),
        HERTZ => evaluate::<HERTZ>(state),
        law => panic!("the CPU engine has no contact law {law}"),
    }
}

fn evaluate<const LAW: u32>(state: &mut State) {
    let State {
        params,
        spheres,
        neighbour_starts,
        neighbours,
        memory,
        planes,
        pairs,
        sphere_loads,
        stats,
        ..
    } = state;
    let size = params.memory_size as usize;

    // Each task gets the memory of its spheres' lists: they lie one after the other.
    let mut tasks = Vec::with_capacity(sphere_loads.len() / GRAIN + 1);
    let mut rest = &mut memory[..];
    for (task, loads) in sphere_loads.chunks_mut(GRAIN).enumerate() {
        let first = task * GRAIN;
        let list = neighbour_starts[first]..neighbour_starts[first + loads.len()];
        let own;
        (own, rest) = rest.split_at_mut(list.len() * size);
        tasks.push((first, loads, own));
    }

    let fraction = tasks
        .into_par_iter()
        .map(|(first, loads, memory)| {
            let mut fraction = 0.0_f32;
            let start = neighbour_starts[first] as usize;
            for (index, load) in (first..).zip(loads) {
                let mut sum = Sum::new(params, pairs, load);
                let list = neighbour_starts[index] as usize..neighbour_starts[index + 1] as usize;
                for entry in list {
                    let other = neighbours[entry];
                    let at = (entry - start) * size;
                    let memory = &mut memory[at..at + size];
                    if let Some(near) = near(params, spheres, planes, index, other) {
                        sum.add::<LAW>(&near, memory);
                    } else {
                        memory.fill(Vec4::ZERO);
                    }
                }
                *load = sum.load;
                fraction = fraction.max(sum.max_fraction);
            }
            fraction
        })
        .reduce(|| 0.0, f32::max);
    let largest = &mut stats[0].max_overlap_fraction;
    *largest = (*largest).max(fraction.to_bits());
}

/// Two surfaces that are near enough to be looked at.
pub(crate) struct Near {
    pub contact: Contact,
    /// From the sphere's centre to the contact, m.
    pub arm: Vec3,
    /// The smaller radius, m.
    pub radius: f32,
    /// Element of the pair table.
    pair: u32,
    plane: bool,
}

impl Near {
    /// Sphere `index` and the entry `other` of its list, if they are near enough.
    pub fn new(state: &State, index: usize, other: u32) -> Option<Near> {
        near(&state.params, &state.spheres, &state.planes, index, other)
    }

    /// The parameters of the contact.
    pub fn pair(&self, pairs: &[Pair]) -> Pair {
        pairs[self.pair as usize].against(self.plane)
    }
}

fn near(
    params: &Params,
    spheres: &[Sphere],
    planes: &[Plane],
    index: usize,
    other: u32,
) -> Option<Near> {
    if other & PLANE == 0 {
        near_sphere(params, spheres, index, other as usize)
    } else {
        near_plane(params, &spheres[index], &planes[(other & !PLANE) as usize])
    }
}

fn near_sphere(params: &Params, spheres: &[Sphere], index: usize, other: usize) -> Option<Near> {
    let sphere = &spheres[index];
    let neighbour = &spheres[other];
    let apart = apart(sphere, neighbour, params);
    let radii = sphere.radius + neighbour.radius;
    let reach = radii + params.touch_margin;
    let square = apart.length_squared();
    if square >= reach * reach {
        return None;
    }
    let distance = square.sqrt();
    let normal = if distance > 0.0 {
        apart * distance.recip()
    } else if index < other {
        Vec3::Y
    } else {
        Vec3::NEG_Y
    };
    let overlap = radii - distance;
    // The contact lies in the middle of the overlap, the same point for both spheres, so that the
    // pair keeps its angular momentum.
    let arm = (sphere.radius - 0.5 * overlap) * normal;
    let other_arm = (0.5 * overlap - neighbour.radius) * normal;
    let relative_velocity = (neighbour.velocity - sphere.velocity)
        + (neighbour.angular_velocity.cross(other_arm) - sphere.angular_velocity.cross(arm));
    Some(Near {
        contact: Contact {
            overlap,
            touch: Touch::new(overlap, relative_velocity.dot(normal), params.time_step),
            normal,
            relative_velocity,
            relative_spin: neighbour.angular_velocity - sphere.angular_velocity,
            common_twist: 0.5 * (neighbour.angular_velocity + sphere.angular_velocity).dot(normal),
            radius: sphere.radius * neighbour.radius / radii,
            inverse_mass: sphere.inverse_mass + neighbour.inverse_mass,
            radii: Vec2::new(sphere.radius, neighbour.radius),
            inverse_masses: Vec2::new(sphere.inverse_mass, neighbour.inverse_mass),
            materials: UVec2::new(sphere.material, neighbour.material),
            time_step: params.time_step,
        },
        arm,
        radius: sphere.radius.min(neighbour.radius),
        pair: sphere.material * params.material_count + neighbour.material,
        plane: false,
    })
}

fn near_plane(params: &Params, sphere: &Sphere, plane: &Plane) -> Option<Near> {
    let distance = height(sphere, plane, params);
    if distance >= sphere.radius + params.touch_margin {
        return None;
    }
    let overlap = sphere.radius - distance;
    let normal = -plane.normal;
    // The arm is the radius of the undeformed sphere, so that one that rolls without slip has the
    // speed of its angular velocity times its radius.
    let arm = sphere.radius * normal;
    let relative_velocity = -sphere.velocity - sphere.angular_velocity.cross(arm);
    Some(Near {
        contact: Contact {
            overlap,
            touch: Touch::new(overlap, relative_velocity.dot(normal), params.time_step),
            normal,
            relative_velocity,
            relative_spin: -sphere.angular_velocity,
            common_twist: 0.0,
            radius: sphere.radius,
            inverse_mass: sphere.inverse_mass,
            radii: Vec2::new(sphere.radius, 0.0),
            inverse_masses: Vec2::new(sphere.inverse_mass, 0.0),
            materials: UVec2::new(sphere.material, plane.material),
            time_step: params.time_step,
        },
        arm,
        radius: sphere.radius,
        pair: sphere.material * params.material_count + plane.material,
        plane: true,
    })
}

/// The sum over the contacts of one sphere.
struct Sum<'a> {
    params: &'a Params,
    pairs: &'a [Pair],
    load: SphereLoad,
    max_fraction: f32,
}

impl<'a> Sum<'a> {
    fn new(params: &'a Params, pairs: &'a [Pair], before: &SphereLoad) -> Sum<'a> {
        Sum {
            params,
            pairs,
            load: SphereLoad {
                force: Vec3::ZERO,
                max_overlap: 0.0,
                torque: Vec3::ZERO,
                contacts: 0,
                ..*before
            },
            max_fraction: 0.0,
        }
    }

    fn add<const LAW: u32>(&mut self, near: &Near, stored: &mut [Vec4]) {
        let memory = Memory::of(stored);
        let contact = &near.contact;
        if contact.touch.presence == 0.0 && !acts_apart(self.params, &memory) {
            return;
        }
        let pair = near.pair(self.pairs);
        let response = respond::<LAW>(contact, &pair, &memory, self.params);
        if let Some(slip) = stored.first_mut() {
            *slip = response.memory.slip;
        }
        if let Some(roll) = stored.get_mut(1) {
            *roll = response.memory.roll;
        }

        let load = &mut self.load;
        load.force += response.force;
        load.torque += near.arm.cross(response.force) + response.torque;
        // Both spheres of a pair evaluate the contact, and each has a half of what it costs.
        let share = if near.plane { 1.0 } else { 0.5 };
        add(
            &mut load.damping,
            &mut load.damping_rest,
            share * response.damping,
        );
        add(
            &mut load.friction,
            &mut load.friction_rest,
            share * response.friction,
        );
        if contact.touch.presence > 0.0 {
            let overlap = contact.touch.mean_overlap;
            load.max_overlap = load.max_overlap.max(overlap);
            load.contacts += if near.plane { 1 << 16 } else { 1 };
            self.max_fraction = self.max_fraction.max(overlap / near.radius);
        }
    }
}

/// Whether surfaces that do not touch may still act on each other, or have memory to be lost.
fn acts_apart(params: &Params, memory: &Memory) -> bool {
    params.cohesive == 1 || *memory != Memory::default()
}

/// Kahan's summation: `rest` is what rounding has left out of `sum`.
fn add(sum: &mut f32, rest: &mut f32, term: f32) {
    let term = term + *rest;
    let total = *sum + term;
    *rest = term - (total - *sum);
    *sum = total;
}
