//! Pass `bonds`: elastic rods between bodies, until they break, and again once they have healed.

use glam::{Vec3, Vec4};

use super::GRAIN;
use super::contacts::add;
use super::forces::Turning;
use crate::math::grid::metres;
use crate::math::parallel::prelude::*;
use crate::math::rotation::Quaternion;
use crate::state::State;
use crate::state::grid::way_between;
use crate::state::layout::{
    BROKEN_BY_SHEAR, BROKEN_BY_TENSION, Body, BodyBonds, BodyForce, Bond, Params,
};

/// Adds what bonds do to each body, besides all that `forces` has summed. Both bodies of a bond reckon it from the first to the
/// second, with the same numbers, so that both copies of it break and heal in the same step.
pub fn bonds(state: &mut State) {
    if state.params.bonds == 0 {
        return;
    }
    let mut bonds = std::mem::take(&mut state.bonds);
    let mut forces = std::mem::take(&mut state.body_forces);
    let mut sums = std::mem::take(&mut state.body_bonds);
    let turning: Vec<Turning> = state
        .bodies
        .par_iter()
        .with_min_len(GRAIN)
        .map(|body| Turning::new(body, state.properties_of(body)))
        .collect();
    let mut tasks = tasks(&mut bonds, &mut forces, &mut sums);
    tasks
        .par_iter_mut()
        .for_each(|task| task.run(state, &turning));
    (state.bonds, state.body_forces, state.body_bonds) = (bonds, forces, sums);
}

/// Some bodies one after the other, with the ends of bonds at them.
struct Task<'a> {
    first: usize,
    forces: &'a mut [BodyForce],
    sums: &'a mut [BodyBonds],
    bonds: &'a mut [Bond],
}

fn tasks<'a>(
    mut bonds: &'a mut [Bond],
    forces: &'a mut [BodyForce],
    sums: &'a mut [BodyBonds],
) -> Vec<Task<'a>> {
    let mut tasks = Vec::new();
    let chunks = forces.chunks_mut(GRAIN).zip(sums.chunks_mut(GRAIN));
    for (chunk, (forces, sums)) in chunks.enumerate() {
        let first = chunk * GRAIN;
        let end = first + forces.len();
        let count = bonds.partition_point(|bond| (bond.own() as usize) < end);
        let (own, rest) = bonds.split_at_mut(count);
        bonds = rest;
        if !own.is_empty() {
            tasks.push(Task {
                first,
                forces,
                sums,
                bonds: own,
            });
        }
    }
    tasks
}

impl Task<'_> {
    fn run(&mut self, state: &State, turning: &[Turning]) {
        for own in self.bonds.chunk_by_mut(|a, b| a.own() == b.own()) {
            let body = own[0].own();
            let place = body as usize - self.first;
            act_on(
                state,
                turning,
                body,
                own,
                &mut self.forces[place],
                &mut self.sums[place],
            );
        }
    }
}

/// Force and torque of its bonds on a body, and their losses.
fn act_on(
    state: &State,
    turning: &[Turning],
    body: u32,
    bonds: &mut [Bond],
    total: &mut BodyForce,
    sums: &mut BodyBonds,
) {
    let is_fixed = |body: u32| {
        state
            .properties_of(&state.bodies[body as usize])
            .inverse_mass
            == 0.0
    };
    let fixed = is_fixed(body);
    let (mut force, mut torque) = (Vec3::ZERO, Vec3::ZERO);
    let mut taken = 0.0;
    let mut broken = 0_u32;
    let count = bonds.len() as u32;
    for bond in bonds {
        if bond.broken != 0 {
            if bond.healing_reach > 0.0 {
                heal(state, turning, bond);
            }
            broken += u32::from(bond.broken != 0);
            continue;
        }
        let held = hold(state, turning, bond);
        let is_first = bond.side == 0;
        let sign = if is_first { 1.0 } else { -1.0 };
        force += held.force * sign;
        torque += (held.arm.cross(held.force) + held.moment) * sign;
        // Each body has a half of what the bond takes, but a fixed one.
        let other = bond.other();
        let share = match (fixed, is_fixed(other)) {
            (true, _) => 0.0,
            (false, true) => 1.0,
            (false, false) => 0.5,
        };
        taken += share * held.taken;
        broken += u32::from(bond.broken != 0);
    }
    if !fixed {
        total.force += force;
        total.torque += torque;
    }
    add(&mut sums.taken, &mut sums.taken_rest, taken);
    sums.damage = broken as f32 / count as f32;
}

/// Force and torque of a bond on its first body.
#[derive(Default)]
struct Held {
    force: Vec3,
    /// About the middle of the bond.
    moment: Vec3,
    /// From the centre of mass of its own body to the middle, m.
    arm: Vec3,
    /// Energy that it takes in the step, J.
    taken: f32,
}

fn quaternion(frame: Vec4) -> Quaternion {
    Quaternion {
        xyz: frame.truncate(),
        w: frame.w,
    }
}

/// A point of a body at the end of an arm from its centre of mass, within its cell, m.
fn point(body: &Body, arm: Vec3, params: &Params) -> Vec3 {
    metres(body.offset, params.cell_size) + params.upright(arm)
}

/// Notes that a bond breaks or heals in this step, and where: a place within the cell of its first body, m.
fn note(state: &State, bond: &mut Bond, place: Vec3) {
    let params = &state.params;
    let step = state.stats[0].step;
    bond.time = params.earlier + step as f32 * params.time_step;
    bond.step = step;
    bond.cell = state.bodies[bond.first as usize].cell;
    bond.offset = place;
}

/// A turn of the x axis to a unit vector.
///
/// For a vector with a negative x it starts with half a turn about z, because the shortest turn is not defined for -x.
fn from_x_to(along: Vec3) -> Quaternion {
    let (xyz, w) = if along.x < 0.0 {
        (Vec3::new(along.z, 0.0, 1.0 - along.x), along.y)
    } else {
        (Vec3::new(0.0, -along.z, along.y), 1.0 + along.x)
    };
    Quaternion { xyz, w }.normalize()
}

/// Counts the steps for which the spheres of a broken bond have been near each other. After enough of them the bond is whole, and
/// has no force where the spheres are then.
fn heal(state: &State, turning: &[Turning], bond: &mut Bond) {
    let params = &state.params;
    let (first, second) = (
        &turning[bond.first as usize],
        &turning[bond.second as usize],
    );
    let from_first = Vec3::new(bond.first_length, 0.0, 0.0);
    let from_second = Vec3::new(-bond.second_length, 0.0, 0.0);
    let from_first = quaternion(bond.first_frame).rotate(from_first);
    let from_second = quaternion(bond.second_frame).rotate(from_second);
    let first_center = first.orientation.rotate(bond.first_arm - from_first);
    let second_center = second.orientation.rotate(bond.second_arm - from_second);
    let here = point(first.body, first_center, params);
    let there = point(second.body, second_center, params);
    let way = way_between(second.body.cell - first.body.cell, there - here, params);
    let distance = way.length();
    let is_near = distance > 0.0 && distance <= bond.healing_reach;
    if !is_near {
        bond.near = 0;
        return;
    }
    bond.near += 1;
    if (bond.near as f32) * params.time_step < bond.healing_time {
        return;
    }
    let along = way / distance;
    // The gap may be another than when the bond was made.
    let wider = 0.5 * (distance - (bond.first_length + bond.second_length));
    bond.first_length += wider;
    bond.second_length += wider;
    let frame = from_x_to(along);
    let local = |body: &Turning, arm: Vec3| {
        let back = body.orientation.conjugate();
        let frame = back.times(frame).normalize();
        (back.rotate(arm), frame.xyz.extend(frame.w))
    };
    let to_middle = bond.first_length * along;
    (bond.first_arm, bond.first_frame) = local(first, first_center + to_middle);
    let from_middle = bond.second_length * along;
    (bond.second_arm, bond.second_frame) = local(second, second_center - from_middle);
    bond.broken = 0;
    bond.near = 0;
    bond.energy = 0.0;
    note(state, bond, here + params.upright(to_middle));
}

fn hold(state: &State, turning: &[Turning], bond: &mut Bond) -> Held {
    let params = &state.params;
    let (first, second) = (
        &turning[bond.first as usize],
        &turning[bond.second as usize],
    );
    let first_arm = first.orientation.rotate(bond.first_arm);
    let second_arm = second.orientation.rotate(bond.second_arm);
    let here = point(first.body, first_arm, params);
    let there = point(second.body, second_arm, params);
    let way = way_between(second.body.cell - first.body.cell, there - here, params);
    // The frame of the bond is half-way between those that it has in the two bodies.
    let first_frame = first.orientation.times(quaternion(bond.first_frame));
    let second_frame = second.orientation.times(quaternion(bond.second_frame));
    let turn = first_frame.conjugate().times(second_frame);
    let sign = if turn.w < 0.0 { -1.0 } else { 1.0 };
    let frame = first_frame.plus(sign, second_frame).normalize();
    let stretch = frame.conjugate().rotate(way);
    let bend = (2.0 * sign) * turn.xyz;
    let force = bond.stiffness * stretch;
    let moment = bond.turning_stiffness * bend;
    let half = 0.5 * way;
    let (first_reach, second_reach) = (first_arm + half, second_arm - half);

    let bending = (moment.y * moment.y + moment.z * moment.z).sqrt();
    let shearing = (force.y * force.y + force.z * force.z).sqrt();
    let tension = force.x * bond.inverse_area + bending * bond.inverse_section;
    let shear = shearing * bond.inverse_area + moment.x.abs() * (0.5 * bond.inverse_section);
    let velocity = second.velocity_at(second_reach) - first.velocity_at(first_reach);
    let velocity = if params.deforms == 1 {
        velocity + params.flow(way + first_arm - second_arm)
    } else {
        velocity
    };
    let velocity = frame.conjugate().rotate(velocity);
    let spin = frame.conjugate().rotate(second.spin - first.spin);
    let by_tension = tension > bond.tensile_strength;
    if by_tension || shear > bond.shear_strength {
        // What the springs held where the velocities are: half a step before. The moment is that of the double sine of half
        // an angle, and the energy that of a spring times 2/(1 + its cosine).
        let back = 0.5 * params.time_step;
        let stretched = stretch - back * velocity;
        let bent = bend - back * spin;
        let along = (bond.stiffness * stretched).dot(stretched);
        let about = (bond.turning_stiffness * bent).dot(bent);
        let energy = 0.5 * along + about / (1.0 + sign * turn.w);
        bond.broken = if by_tension {
            BROKEN_BY_TENSION
        } else {
            BROKEN_BY_SHEAR
        };
        bond.breaks += 1;
        bond.energy = energy;
        note(state, bond, here + params.upright(half));
        return Held {
            taken: energy,
            ..Held::default()
        };
    }
    let drag = bond.damping * velocity;
    let brake = bond.turning_damping * spin;
    Held {
        force: frame.rotate(force + drag),
        moment: frame.rotate(moment + brake),
        arm: match bond.side {
            0 => first_reach,
            _ => second_reach,
        },
        taken: (drag.dot(velocity) + brake.dot(spin)) * params.time_step,
    }
}
