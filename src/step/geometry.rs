//! Contact geometry: where two surfaces near each other touch, and how they move there.

use glam::Vec3;

use super::wall_run::{runs, walls_of};
use crate::state::State;
use crate::state::grid::separation;
use crate::state::layout::{Pair, Params, Sphere, WALL};
use crate::step::contact::{Contact, Touch};

/// A contact, and where it lies.
pub(crate) struct ContactGeometry {
    pub contact: Contact,
    /// From the sphere's centre to the contact, m.
    pub arm: Vec3,
    /// The smaller radius, m.
    pub radius: f32,
}

impl ContactGeometry {
    /// Sphere `index` and entry `entry` of the lists, which is one of its own, with the parameters of their
    /// contact, if they are near enough.
    pub fn new(state: &State, index: usize, entry: usize) -> Option<(ContactGeometry, Pair)> {
        let params = &state.params;
        let sphere = &state.spheres[index];
        let other = state.neighbours[entry];
        if other & WALL == 0 {
            let neighbour = &state.spheres[other as usize];
            let motion = RelativeMotion::new(sphere, neighbour, index < other as usize, params);
            let element = sphere.material() * params.material_count + neighbour.material();
            let is_near = motion.is_within(params.touch_margin);
            return is_near.then(|| {
                (
                    motion.geometry(params.time_step),
                    state.pairs[element as usize],
                )
            });
        }
        let [start, end] = [0, 1].map(|k| state.neighbour_starts[index + k] as usize);
        let walls = walls_of(&state.neighbours[start..end]);
        let mut at = entry - (end - walls.len());
        for run in runs(state, sphere, walls) {
            if at < run.entries.len() {
                let closest = run.touched(at)?;
                return Some((run.geometry(&closest), run.pair(state)));
            }
            at -= run.entries.len();
        }
        None
    }
}

/// Two spheres near each other, seen from one of them: what their contact depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RelativeMotion {
    /// From this centre to the other, m.
    pub separation: Vec3,
    /// Radius of this sphere, m.
    pub radius: f32,
    /// Radius of the other sphere, m.
    pub other_radius: f32,
    /// Velocity of the other centre relative to this one, m/s.
    pub velocity: Vec3,
    /// Angular velocity of the other less that of this one, rad/s.
    pub spin: Vec3,
    /// Sum of both, rad/s.
    pub spins: Vec3,
    /// Sum of those of the bodies, 1/kg.
    pub inverse_mass: f32,
    /// 1 if this sphere has the smaller index, else -1.
    pub order: f32,
}

impl RelativeMotion {
    /// `sphere`, with the smaller index if it `is_first`, and `other`.
    #[inline(always)]
    pub fn new(sphere: &Sphere, other: &Sphere, is_first: bool, params: &Params) -> RelativeMotion {
        let separation = separation(sphere, other, params);
        let velocity = other.velocity - sphere.velocity;
        RelativeMotion {
            separation,
            radius: sphere.radius,
            other_radius: other.radius,
            velocity: if params.deforms == 1 {
                velocity + params.flow(separation)
            } else {
                velocity
            },
            spin: other.angular_velocity - sphere.angular_velocity,
            spins: other.angular_velocity + sphere.angular_velocity,
            inverse_mass: other.inverse_mass + sphere.inverse_mass,
            order: if is_first { 1.0 } else { -1.0 },
        }
    }

    /// Whether the surfaces are nearer than `margin`, m.
    #[inline(always)]
    pub fn is_within(&self, margin: f32) -> bool {
        let reach = self.radius + self.other_radius + margin;
        self.separation.length_squared() < reach * reach
    }

    /// The contact of the two.
    #[inline(always)]
    pub fn geometry(&self, time_step: f32) -> ContactGeometry {
        let radii = self.radius + self.other_radius;
        let distance = self.separation.length();
        let normal = if distance > 0.0 {
            self.separation * (1.0 / distance)
        } else {
            // One centre: this one goes down if it is the first, and the other up.
            Vec3::new(0.0, self.order, 0.0)
        };
        let overlap = radii - distance;
        // The contact lies in the middle of the overlap, the same point for both spheres, so that the
        // pair keeps its angular momentum.
        let arm = self.radius - 0.5 * overlap;
        let other_arm = self.other_radius - 0.5 * overlap;
        let turning = 0.5 * ((arm + other_arm) * self.spins + (other_arm - arm) * self.spin);
        let relative_velocity = self.velocity - turning.cross(normal);
        ContactGeometry {
            contact: Contact {
                overlap,
                touch: Touch::new(overlap, relative_velocity.dot(normal), time_step),
                normal,
                relative_velocity,
                relative_spin: self.spin,
                common_twist: 0.5 * self.spins.dot(normal),
                radius: self.radius * self.other_radius / radii,
                inverse_mass: self.inverse_mass,
                time_step,
            },
            arm: arm * normal,
            radius: self.radius.min(self.other_radius),
        }
    }
}
