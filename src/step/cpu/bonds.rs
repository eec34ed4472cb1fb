//! Pass `bonds`: elastic rods between bodies, until they break, and again once they have healed; sixteen of them at a time.

use bytemuck::{Pod, Zeroable, cast_ref};
use glam::{BVec3, IVec3, Vec3};
#[cfg(not(simd = "portable"))]
use multiversion::multiversion;

use super::GRAIN;
use super::contacts::add;
use super::forces::Turning;
use super::lanes::{Soa4, Soa16, WIDTH, both, gather, of_lane};
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
    let movers: Vec<Mover> = state
        .bodies
        .par_iter()
        .with_min_len(GRAIN)
        .map(|body| Mover::new(state, body))
        .collect();
    let mut tasks = tasks(&mut bonds, &mut forces, &mut sums);
    tasks
        .par_iter_mut()
        .for_each(|task| task.run(state, &movers));
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
    fn run(&mut self, state: &State, movers: &[Mover]) {
        let mut held = vec![Held::default(); self.bonds.len()];
        hold_all(&state.params, movers, self.bonds, &mut held);
        let mut rest = &held[..];
        for own in self.bonds.chunk_by_mut(|a, b| a.own() == b.own()) {
            let body = own[0].own();
            let place = body as usize - self.first;
            let held;
            (held, rest) = rest.split_at(own.len());
            act_on(
                state,
                movers,
                body,
                (own, held),
                &mut self.forces[place],
                &mut self.sums[place],
            );
        }
    }
}

/// Force and torque of its bonds on a body, and their losses.
fn act_on(
    state: &State,
    movers: &[Mover],
    body: u32,
    (bonds, held): (&mut [Bond], &[Held]),
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
    for (bond, held) in bonds.iter_mut().zip(held) {
        if bond.broken != 0 {
            if bond.healing_reach > 0.0 {
                heal(state, movers, bond);
            }
            broken += u32::from(bond.broken != 0);
            continue;
        }
        let by_tension = held.tension > bond.tensile_strength;
        let broke = by_tension || held.shear > bond.shear_strength;
        let held = match broke {
            true => give_way(state, movers, bond, by_tension),
            false => *held,
        };
        force += held.force;
        torque += held.torque;
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

/// Effect of a bond on the body at one of its ends.
#[derive(Clone, Copy, Default)]
struct Held {
    force: Vec3,
    /// Energy that it takes in the step, J.
    taken: f32,
    /// About the centre of mass of the body.
    torque: Vec3,
    /// The largest tension at its edge, Pa.
    tension: f32,
    /// The largest shear stress at its edge, Pa.
    shear: f32,
}

/// A body as its bonds see it: sixteen numbers, as many as [`gather`] takes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Mover {
    orientation: [f32; 4],
    /// Place within its cell, m.
    offset: Vec3,
    velocity: Vec3,
    spin: Vec3,
    cell: IVec3,
}

impl Mover {
    fn new(state: &State, body: &Body) -> Mover {
        let Turning {
            orientation, spin, ..
        } = Turning::new(body, state.properties_of(body));
        Mover {
            orientation: orientation.xyz.extend(orientation.w).to_array(),
            offset: metres(body.offset, state.params.cell_size),
            velocity: body.velocity,
            spin,
            cell: body.cell,
        }
    }

    #[inline(always)]
    fn orientation(&self) -> Quaternion {
        quaternion(self.orientation)
    }

    #[inline(always)]
    fn velocity_at(&self, arm: Vec3) -> Vec3 {
        self.velocity + self.spin.cross(arm)
    }

    /// A point of the body at the end of an arm from its centre of mass, within its cell, m.
    #[inline(always)]
    fn point(&self, arm: Vec3, params: &Params) -> Vec3 {
        self.offset + params.upright(arm)
    }
}

/// The first sixteen numbers of a [`Bond`], as many as [`gather`] takes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Ends {
    first_arm: Vec3,
    first: u32,
    second_arm: Vec3,
    second: u32,
    first_frame: [f32; 4],
    second_frame: [f32; 4],
}

/// The sixteen numbers of a [`Bond`] after its [`Ends`].
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Rod {
    stiffness: Vec3,
    side: u32,
    turning_stiffness: Vec3,
    broken: u32,
    damping: Vec3,
    inverse_area: f32,
    turning_damping: Vec3,
    inverse_section: f32,
}

impl Ends {
    #[inline(always)]
    fn of(bond: &Bond) -> &Ends {
        let rows: &[[f32; 4]; 13] = cast_ref(bond);
        cast_ref(rows.first_chunk::<4>().expect("there are more"))
    }
}

impl Rod {
    #[inline(always)]
    fn of(bond: &Bond) -> &Rod {
        let rows: &[[f32; 4]; 13] = cast_ref(bond);
        cast_ref(rows[4..].first_chunk::<4>().expect("there are more"))
    }
}

#[inline(always)]
fn quaternion([x, y, z, w]: [f32; 4]) -> Quaternion {
    Quaternion {
        xyz: Vec3::new(x, y, z),
        w,
    }
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
fn heal(state: &State, movers: &[Mover], bond: &mut Bond) {
    let params = &state.params;
    let (first, second) = (&movers[bond.first as usize], &movers[bond.second as usize]);
    let from_first = Vec3::new(bond.first_length, 0.0, 0.0);
    let from_second = Vec3::new(-bond.second_length, 0.0, 0.0);
    let from_first = quaternion(bond.first_frame.to_array()).rotate(from_first);
    let from_second = quaternion(bond.second_frame.to_array()).rotate(from_second);
    let first_center = first.orientation().rotate(bond.first_arm - from_first);
    let second_center = second.orientation().rotate(bond.second_arm - from_second);
    let here = first.point(first_center, params);
    let there = second.point(second_center, params);
    let way = way_between(second.cell - first.cell, there - here, params);
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
    let local = |body: &Mover, arm: Vec3| {
        let back = body.orientation().conjugate();
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

/// A bond as its bodies deform it. `stretch`, `bend`, `velocity` and `spin` are in its own frame, which `frame` turns into the world.
struct Strained {
    frame: Quaternion,
    /// From the end of the first arm to that of the second, m.
    way: Vec3,
    stretch: Vec3,
    bend: Vec3,
    /// Cosine of half of the angle between the frames in the two bodies.
    cosine: f32,
    velocity: Vec3,
    spin: Vec3,
    /// Place of the end of the first arm within the cell of the first body, m.
    here: Vec3,
    /// From the centres of mass of the bodies to the middle of the bond, m.
    first_reach: Vec3,
    second_reach: Vec3,
}

impl Strained {
    #[inline(always)]
    fn new(ends: &Ends, first: &Mover, second: &Mover, params: &Params) -> Strained {
        let first_arm = first.orientation().rotate(ends.first_arm);
        let second_arm = second.orientation().rotate(ends.second_arm);
        let here = first.point(first_arm, params);
        let there = second.point(second_arm, params);
        let way = way_between(second.cell - first.cell, there - here, params);
        // The frame of the bond is half-way between those that it has in the two bodies.
        let first_frame = first.orientation().times(quaternion(ends.first_frame));
        let second_frame = second.orientation().times(quaternion(ends.second_frame));
        let turn = first_frame.conjugate().times(second_frame);
        let sign = if turn.w < 0.0 { -1.0 } else { 1.0 };
        let frame = first_frame.plus(sign, second_frame).normalize();
        let half = 0.5 * way;
        let (first_reach, second_reach) = (first_arm + half, second_arm - half);
        let velocity = second.velocity_at(second_reach) - first.velocity_at(first_reach);
        let velocity = if params.deforms == 1 {
            velocity + params.flow(way + first_arm - second_arm)
        } else {
            velocity
        };
        Strained {
            frame,
            way,
            stretch: frame.conjugate().rotate(way),
            bend: (2.0 * sign) * turn.xyz,
            cosine: sign * turn.w,
            velocity: frame.conjugate().rotate(velocity),
            spin: frame.conjugate().rotate(second.spin - first.spin),
            here,
            first_reach,
            second_reach,
        }
    }
}

/// Finds the effects of bonds on the bodies at these ends, as if none were broken or broke now.
#[cfg_attr(
    simd = "avx512",
    multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))
)]
#[cfg_attr(simd = "avx2", multiversion(targets("x86_64+avx2")))]
fn hold_all(params: &Params, movers: &[Mover], bonds: &[Bond], held: &mut [Held]) {
    let (mut ends, mut rods) = ([Soa4::ZERO; 4], [Soa4::ZERO; 4]);
    let (mut first, mut second) = ([Soa4::ZERO; 4], [Soa4::ZERO; 4]);
    for (bonds, held) in bonds.chunks(WIDTH).zip(held.chunks_mut(WIDTH)) {
        let bond = |lane: usize| &bonds[lane.min(bonds.len() - 1)];
        gather(&mut ends, |lane| Ends::of(bond(lane)));
        gather(&mut rods, |lane| Rod::of(bond(lane)));
        gather(&mut first, |lane| &movers[bond(lane).first as usize]);
        gather(&mut second, |lane| &movers[bond(lane).second as usize]);
        hold_some(params, [&ends, &rods, &first, &second], held);
    }
}

#[inline(always)]
fn hold_some(params: &Params, [ends, rods, first, second]: [&Soa16; 4], held: &mut [Held]) {
    let (mut forces, mut torques) = (Soa4::ZERO, Soa4::ZERO);
    let mut shears = [0.0; WIDTH];
    for (lane, shear) in shears.iter_mut().enumerate() {
        let (ends, rod): (Ends, Rod) = (of_lane(ends, lane), of_lane(rods, lane));
        let (first, second): (Mover, Mover) = (of_lane(first, lane), of_lane(second, lane));
        let bond = Strained::new(&ends, &first, &second, params);
        let force = rod.stiffness * bond.stretch;
        let moment = rod.turning_stiffness * bond.bend;
        let bending = (moment.y * moment.y + moment.z * moment.z).sqrt();
        let shearing = (force.y * force.y + force.z * force.z).sqrt();
        let tension = force.x * rod.inverse_area + bending * rod.inverse_section;
        let twisting = moment.x.abs() * (0.5 * rod.inverse_section);
        let drag = rod.damping * bond.velocity;
        let brake = rod.turning_damping * bond.spin;
        let force = bond.frame.rotate(force + drag);
        let moment = bond.frame.rotate(moment + brake);
        let is_first = rod.side == 0;
        let arm = Vec3::select(BVec3::splat(is_first), bond.first_reach, bond.second_reach);
        let sign = if is_first { 1.0 } else { -1.0 };
        let taken = (drag.dot(bond.velocity) + brake.dot(bond.spin)) * params.time_step;
        forces.set(lane, force * sign, taken);
        torques.set(lane, (arm.cross(force) + moment) * sign, tension);
        *shear = shearing * rod.inverse_area + twisting;
    }
    let rows = both(&forces, &torques);
    for (lane, held) in held.iter_mut().enumerate() {
        let [[x, y, z, taken], [u, v, w, tension]] = rows[lane];
        *held = Held {
            force: Vec3::new(x, y, z),
            taken,
            torque: Vec3::new(u, v, w),
            tension,
            shear: shears[lane],
        };
    }
}

/// Breaks a bond, which does nothing any more, and takes the energy that it held.
fn give_way(state: &State, movers: &[Mover], bond: &mut Bond, by_tension: bool) -> Held {
    let params = &state.params;
    let (first, second) = (&movers[bond.first as usize], &movers[bond.second as usize]);
    let strained = Strained::new(Ends::of(bond), first, second, params);
    // What the springs held where the velocities are: half a step before. The moment is that of the double sine of half
    // an angle, and the energy that of a spring times 2/(1 + its cosine).
    let back = 0.5 * params.time_step;
    let stretched = strained.stretch - back * strained.velocity;
    let bent = strained.bend - back * strained.spin;
    let along = (bond.stiffness * stretched).dot(stretched);
    let about = (bond.turning_stiffness * bent).dot(bent);
    let energy = 0.5 * along + about / (1.0 + strained.cosine);
    bond.broken = if by_tension {
        BROKEN_BY_TENSION
    } else {
        BROKEN_BY_SHEAR
    };
    bond.breaks += 1;
    bond.energy = energy;
    note(
        state,
        bond,
        strained.here + params.upright(0.5 * strained.way),
    );
    Held {
        taken: energy,
        ..Held::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_bond_are_where_the_bond_has_them() {
        let mut number = 0.0;
        let mut next = || {
            number += 1.0;
            number
        };
        let mut three = || Vec3::new(next(), next(), next());
        let bond = Bond {
            first_arm: three(),
            first: 100,
            second_arm: three(),
            second: 101,
            first_frame: three().extend(50.0),
            second_frame: three().extend(51.0),
            stiffness: three(),
            side: 102,
            turning_stiffness: three(),
            broken: 103,
            damping: three(),
            inverse_area: 52.0,
            turning_damping: three(),
            inverse_section: 53.0,
            ..Bond::default()
        };
        let (ends, rod) = (Ends::of(&bond), Rod::of(&bond));
        assert_eq!(
            (ends.first_arm, ends.second_arm),
            (bond.first_arm, bond.second_arm)
        );
        assert_eq!((ends.first, ends.second), (bond.first, bond.second));
        assert_eq!(ends.first_frame, bond.first_frame.to_array());
        assert_eq!(ends.second_frame, bond.second_frame.to_array());
        assert_eq!((rod.stiffness, rod.damping), (bond.stiffness, bond.damping));
        assert_eq!(rod.turning_stiffness, bond.turning_stiffness);
        assert_eq!(rod.turning_damping, bond.turning_damping);
        assert_eq!((rod.side, rod.broken), (bond.side, bond.broken));
        assert_eq!(rod.inverse_area, bond.inverse_area);
        assert_eq!(rod.inverse_section, bond.inverse_section);
    }
}
