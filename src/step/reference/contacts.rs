use super::contact::{Contact, History, contact_law, touch_of};
use super::grid::separation;
use super::real::Real;
use super::state::{Params, Sphere, SphereLoad, State};
use super::vector::Vector;
use crate::state::layout::{DISTURBED, KEPT, WALL};

/// Contacts of each sphere with others: force, torque, overlap, number, and contact histories.
///
/// Each pair is evaluated from both sides. A sphere sums its neighbours of lower index in their order, then those
/// of higher index, and then both; where bodies may sleep, all in their order. The fast CPU engine does so, too; the
/// GPU engine sums all in their order, always.
pub fn contacts<R: Real>(state: &mut State<R>) {
    for index in 0..state.spheres.len() {
        let sphere = state.spheres[index];
        let before = state.sphere_loads[index];
        let disturbed = state.params.sleep_steps > 0 && is_disturbed(state, index);
        if state.params.sleep_steps > 0 && !disturbed && !before.is_disturbed() {
            state.sphere_loads[index].contacts |= KEPT;
            continue;
        }
        let mut load = SphereLoad {
            damping: before.damping,
            damping_rest: before.damping_rest,
            friction: before.friction,
            friction_rest: before.friction_rest,
            contacts: if disturbed { DISTURBED } else { 0 },
            ..SphereLoad::default()
        };
        // Of spheres of lower and of higher index.
        let mut sums = [Sum::default(); 2];

        for entry in state.list(index) {
            let other = state.neighbours[entry];
            if other & WALL != 0 {
                break;
            }
            let neighbour = &state.spheres[other as usize];
            let is_first = index < other as usize;
            let Some(near) = near_sphere(&sphere, neighbour, is_first, &state.params) else {
                state.history[entry] = History::default();
                continue;
            };
            let pair = state.pair(sphere.material(), neighbour.material());
            let contact = &near.contact;
            let response = contact_law(contact, pair, &state.history[entry], &state.params);
            state.history[entry] = response.history;

            let sum = &mut sums[usize::from(is_first && state.params.sleep_steps == 0)];
            sum.force += response.force;
            sum.torque += near.arm.cross(response.force) + response.torque;
            // Both spheres of a pair evaluate the contact, and each has a half of what it costs.
            sum.damping += R::of(0.5) * response.damping;
            sum.friction += R::of(0.5) * response.friction;
            if contact.touch.presence > R::ZERO {
                let overlap = contact.touch.mean_overlap;
                load.max_overlap = load.max_overlap.max(overlap);
                load.contacts += 1;
                state.note_overlap(overlap / near.radius);
            }
        }

        let [lower, higher] = sums;
        load.force = lower.force + higher.force;
        load.torque = lower.torque + higher.torque;
        load.add_losses(
            lower.damping + higher.damping,
            lower.friction + higher.friction,
        );
        state.sphere_loads[index] = load;
    }
}

/// Sums of all contacts of a sphere.
#[derive(Clone, Copy, Default)]
struct Sum<R> {
    force: Vector<R>,
    torque: Vector<R>,
    damping: R,
    friction: R,
}

/// Two spheres that are near enough to be looked at.
struct Near<R> {
    contact: Contact<R>,
    /// From the sphere's centre to the contact, m.
    arm: Vector<R>,
    /// The smaller radius, m.
    radius: R,
}

fn near_sphere<R: Real>(
    sphere: &Sphere<R>,
    neighbour: &Sphere<R>,
    is_first: bool,
    params: &Params<R>,
) -> Option<Near<R>> {
    if !is_near(sphere, neighbour, params) {
        return None;
    }
    let between = separation(sphere, neighbour, params);
    let radii = sphere.radius + neighbour.radius;
    let distance = between.length();
    let normal = if distance > R::ZERO {
        between * (R::ONE / distance)
    } else {
        // One centre: this one goes down if it is the first, and the other up.
        Vector::new(R::ZERO, R::of(if is_first { 1.0 } else { -1.0 }), R::ZERO)
    };
    let overlap = radii - distance;
    // The same point for both spheres, so that the pair keeps its angular momentum.
    let half = R::of(0.5);
    let arm = sphere.radius - half * overlap;
    let other_arm = neighbour.radius - half * overlap;
    let spin = neighbour.angular_velocity - sphere.angular_velocity;
    let spins = neighbour.angular_velocity + sphere.angular_velocity;
    let turning = (spins * (arm + other_arm) + spin * (other_arm - arm)) * half;
    let mut parting = neighbour.velocity - sphere.velocity;
    if params.deforms == 1 {
        parting += params.flow(between);
    }
    let relative_velocity = parting - turning.cross(normal);
    Some(Near {
        contact: Contact {
            overlap,
            touch: touch_of(overlap, relative_velocity.dot(normal), params.time_step),
            normal,
            relative_velocity,
            relative_spin: spin,
            common_twist: half * spins.dot(normal),
            radius: sphere.radius * neighbour.radius / radii,
            inverse_mass: neighbour.inverse_mass + sphere.inverse_mass,
            time_step: params.time_step,
        },
        arm: normal * arm,
        radius: sphere.radius.min(neighbour.radius),
    })
}

/// Whether two spheres are near enough to act on each other.
fn is_near<R: Real>(sphere: &Sphere<R>, other: &Sphere<R>, params: &Params<R>) -> bool {
    let reach = sphere.radius + other.radius + params.touch_margin;
    separation(sphere, other, params).square() < reach * reach
}

/// Whether a sphere is awake, or near one that is.
fn is_disturbed<R: Real>(state: &State<R>, index: usize) -> bool {
    let sphere = &state.spheres[index];
    if !sphere.sleeps() {
        return true;
    }
    let spheres = state.list(index).map(|entry| state.neighbours[entry]);
    spheres.take_while(|other| other & WALL == 0).any(|other| {
        let other = &state.spheres[other as usize];
        let moves = !other.sleeps() && other.inverse_mass > R::ZERO;
        moves && is_near(sphere, other, &state.params)
    })
}

impl<R: Real> SphereLoad<R> {
    pub fn add_losses(&mut self, damping: R, friction: R) {
        add(&mut self.damping, &mut self.damping_rest, damping);
        add(&mut self.friction, &mut self.friction_rest, friction);
    }
}

/// Kahan's summation: `rest` is what rounding has left out of `sum`.
pub fn add<R: Real>(sum: &mut R, rest: &mut R, term: R) {
    let term = term + *rest;
    let total = *sum + term;
    *rest = term - (total - *sum);
    *sum = total;
}
