//! Contacts between spheres, many at a time.
//!
//! The law is written for one contact, in scalars. Here it stands in a loop over arrays with one
//! element for each contact, without branches that are left after inlining, so the compiler makes
//! vector instructions of it, as wide as the machine has them. They round as scalars do, and nothing
//! is summed across lanes: the bits are the same on every machine.

use std::ops::Range;

use bytemuck::{cast, cast_ref};
use glam::{IVec3, Vec4};
use multiversion::multiversion;

use super::lanes::{Columns, LANES, Lane, Rows};
use super::near::Encounter;
use crate::contact::{Memory, respond};
use crate::grid::nearest;
use crate::layout::{Pair, Params, Sphere};
use crate::state::State;

/// What contacts do to a sphere in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    /// Force, N, and energy that dashpots took, J.
    pub force: Vec4,
    /// Torque, N m, and energy that friction took, J.
    pub torque: Vec4,
    /// Largest overlap, m.
    pub max_overlap: f32,
    /// Number of contacts.
    pub contacts: u32,
}

/// Spheres one after the other, of which a task evaluates the contacts.
pub(super) struct Run<'a> {
    pub state: &'a State,
    /// Index of the first.
    pub first: u32,
    /// First entry of its neighbour list; entries of the run count from there.
    pub start: u32,
    /// What the contacts of their lists remember.
    pub memory: &'a mut [Vec4],
    /// What contacts do to each of them, and to one that is none of them.
    pub sums: &'a mut [Sum],
    /// The entry of each that comes next: those before it are evaluated, be it from the other side.
    pub next: &'a mut [u32],
}

/// Changes the sign of a vector, but not of the fourth component.
const FLIP: Vec4 = Vec4::new(-1.0, -1.0, -1.0, 1.0);

/// A sphere whose neighbours are looked at, as the rows of [`Sphere`] less what they should not be
/// subtracted from: a row of differences then has the other radius, the sum of the inverse masses.
pub(super) struct Own {
    offset: Vec4,
    cell: [i32; 4],
    velocity: Vec4,
    spin: Vec4,
    radius: f32,
    cell_size: Vec4,
    /// Place in the run.
    place: u32,
}

impl Own {
    #[inline(always)]
    pub fn new(sphere: &Sphere, place: usize, params: &Params) -> Own {
        Own {
            offset: sphere.offset.extend(0.0),
            // The last is not used, but four differences are one instruction.
            cell: sphere.cell.extend(sphere.body as i32).to_array(),
            velocity: sphere.velocity.extend(-sphere.inverse_mass),
            spin: sphere.angular_velocity.extend(0.0),
            radius: sphere.radius,
            cell_size: params.cell_size.extend(0.0),
            place: place as u32,
        }
    }

    #[inline(always)]
    fn cells_to<const PERIODIC: bool>(&self, other: [i32; 4], params: &Params) -> Vec4 {
        if !PERIODIC {
            let cells: [f32; 4] =
                std::array::from_fn(|k| other[k].wrapping_sub(self.cell[k]) as f32);
            return Vec4::from_array(cells);
        }
        let [x, y, z, _] = std::array::from_fn(|k| other[k].wrapping_sub(self.cell[k]));
        nearest(IVec3::new(x, y, z), params.period)
            .as_vec3()
            .extend(0.0)
    }
}

/// Contacts that wait until there are enough of them.
pub(super) struct Batch {
    len: usize,
    /// The sphere of each, as a place in the run.
    owners: [u32; LANES],
    /// Index of the other sphere.
    others: [u32; LANES],
    /// The other sphere as a place in the run; if it is not evaluated along, that of none.
    partners: [u32; LANES],
    /// Entry of the run.
    entries: [u32; LANES],
    /// Entry of the other sphere for the same contact, if that is evaluated along, else the same.
    mirrors: [u32; LANES],
    /// Apart and the other radius; relative velocity and inverse mass; relative spin and own radius;
    /// sum of spins: see [`Encounter`].
    encounters: [Rows; 4],
    memory: [Rows; 2],
    scratch: Scratch,
}

/// A batch, value by value.
struct Scratch {
    encounters: [Columns; 4],
    memory: [Columns; 2],
    pairs: [Columns; 4],
    /// Force and what dashpots took; torque and what friction took; that on the other sphere.
    responses: [Columns; 3],
    /// 1 where the sphere has the smaller index, else -1.
    orders: Lane,
    overlaps: Lane,
    /// Overlaps as fractions of the smaller radius.
    fractions: Lane,
    /// 1 where surfaces touch.
    touching: [u32; LANES],
}

impl Batch {
    /// Neighbours that can be gathered at a time.
    const ROOM: usize = 32;

    pub fn new() -> Batch {
        Batch {
            len: 0,
            owners: [0; LANES],
            others: [0; LANES],
            partners: [0; LANES],
            entries: [0; LANES],
            mirrors: [0; LANES],
            encounters: [Rows::ZERO; 4],
            memory: [Rows::ZERO; 2],
            scratch: Scratch {
                encounters: [Columns::ZERO; 4],
                memory: [Columns::ZERO; 2],
                pairs: [Columns::ZERO; 4],
                responses: [Columns::ZERO; 3],
                orders: [0.0; LANES],
                overlaps: [0.0; LANES],
                fractions: [0.0; LANES],
                touching: [0; LANES],
            },
        }
    }

    /// Takes the contacts of the sphere at `place` with those of its `list`: `BOTH` sides of them where the
    /// other sphere belongs to the run, too. Evaluates what there is no room for, and returns the largest overlap
    /// of that as a fraction of the smaller radius.
    #[inline(always)]
    pub fn take<const LAW: u32, const PLAIN: bool, const SIZE: usize, const BOTH: bool>(
        &mut self,
        run: &mut Run,
        place: usize,
        list: Range<usize>,
    ) -> f32 {
        let State {
            params,
            spheres,
            neighbours,
            ..
        } = run.state;
        let own = Own::new(&spheres[run.first as usize + place], place, params);
        let mut fraction = 0.0;
        for some in list.clone().step_by(Self::ROOM) {
            if self.len + Self::ROOM > LANES {
                fraction = larger(fraction, evaluate::<LAW, PLAIN, SIZE>(self, run));
            }
            let others = &neighbours[some..list.end.min(some + Self::ROOM)];
            let entry = some as u32 - run.start;
            if params.period == IVec3::ZERO {
                self.gather::<SIZE, BOTH, false>(run, &own, others, entry);
            } else {
                self.gather::<SIZE, BOTH, true>(run, &own, others, entry);
            }
        }
        fraction
    }

    /// Adds those of at most [`Batch::ROOM`] neighbours that are near enough; `first` is the entry of the first
    /// one. What contacts with the others remember is zero from now on.
    ///
    /// Each neighbour is written and only sometimes kept: a processor would guess that branch wrong
    /// too often.
    #[inline(always)]
    fn gather<const SIZE: usize, const BOTH: bool, const PERIODIC: bool>(
        &mut self,
        run: &mut Run,
        own: &Own,
        neighbours: &[u32],
        first: u32,
    ) {
        let Run {
            state,
            first: run_first,
            ref mut memory,
            ref mut next,
            ..
        } = *run;
        let (memory, next) = (&mut memory[..], &mut next[..]);
        let State {
            params, spheres, ..
        } = state;
        let margin = params.touch_margin;
        let none = next.len() as u32 - 1;
        let mut len = self.len;
        for (entry, &other) in (first..).zip(neighbours) {
            let at = len % LANES;
            let rows: &[[f32; 4]; 4] = cast_ref(&spheres[other as usize]);
            let [offset, _, velocity, spin] = rows.map(Vec4::from_array);
            let cell: &[[i32; 4]; 4] = cast_ref(&spheres[other as usize]);
            let cells = own.cells_to::<PERIODIC>(cell[1], params);
            let apart = cells * own.cell_size + (offset - own.offset);
            let (mut partner, mut mirror) = (none, entry);
            if BOTH {
                partner = none.min(other.wrapping_sub(run_first));
                let next = &mut next[partner as usize];
                mirror = if partner < none { *next } else { entry };
                *next += 1;
            }
            self.owners[at] = own.place;
            self.others[at] = other;
            self.partners[at] = partner;
            self.entries[at] = entry;
            self.mirrors[at] = mirror;
            self.encounters[0].0[at] = apart;
            self.encounters[1].0[at] = velocity - own.velocity;
            self.encounters[2].0[at] = (spin - own.spin).with_w(own.radius);
            self.encounters[3].0[at] = spin + own.spin;
            let reach = own.radius + apart.w + margin;
            let near = apart.truncate().length_squared() < reach * reach;
            let [own, mirror] = [entry, mirror].map(|entry| entry as usize * SIZE);
            let mut remembered = 0;
            for (row, rows) in self.memory.iter_mut().enumerate().take(SIZE) {
                let [low, high]: [u64; 2] = cast(memory[own + row]);
                rows.0[at] = memory[own + row];
                remembered |= low | high;
            }
            // Bits, and not two conditions: of these, compilers make a branch on the first.
            if remembered & u64::from(near).wrapping_sub(1) != 0 {
                memory[own..own + SIZE].fill(Vec4::ZERO);
                memory[mirror..mirror + SIZE].fill(Vec4::ZERO);
            }
            len += usize::from(near);
        }
        self.len = len;
    }
}

/// Evaluates the contacts, adds what they do to the sums of the run, empties the batch, and returns the
/// largest overlap as a fraction of the smaller radius.
///
/// With `PLAIN`, no pair has terms beyond spring, dashpot and friction.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub(super) fn evaluate<const LAW: u32, const PLAIN: bool, const SIZE: usize>(
    batch: &mut Batch,
    run: &mut Run,
) -> f32 {
    let len = batch.len;
    // A whole number of vectors, whatever their width.
    let lanes = len.next_multiple_of(16).min(LANES);
    let State {
        params,
        spheres,
        pairs,
        ..
    } = run.state;
    // A copy: compilers cannot know that nothing here changes the original, and would give up vectors.
    let params = *params;
    let scratch = &mut batch.scratch;
    for (rows, columns) in batch.encounters.iter().zip(&mut scratch.encounters) {
        rows.transpose(columns, lanes);
    }
    for (rows, columns) in batch.memory.iter().zip(&mut scratch.memory).take(SIZE) {
        rows.transpose(columns, lanes);
    }
    for lane in 0..lanes {
        let is_first = run.first + batch.owners[lane] < batch.others[lane];
        scratch.orders[lane] = if is_first { 1.0 } else { -1.0 };
    }
    if let [pair] = pairs[..] {
        scratch.respond::<LAW, PLAIN>(lanes, &params, |_, _| pair);
    } else {
        let mut rows = [const { Rows::ZERO }; 4];
        for lane in 0..len {
            let material = spheres[(run.first + batch.owners[lane]) as usize].material();
            let other = spheres[batch.others[lane] as usize].material();
            let element = material * params.material_count + other;
            let pair: [[f32; 4]; 4] = cast(pairs[element as usize]);
            for (rows, own) in rows.iter_mut().zip(pair) {
                rows.0[lane] = Vec4::from_array(own);
            }
        }
        for (rows, columns) in rows.iter().zip(&mut scratch.pairs) {
            rows.transpose(columns, lanes);
        }
        scratch.respond::<LAW, PLAIN>(lanes, &params, |pairs, lane| {
            let row = |columns: &Columns| columns.0.each_ref().map(|values| values[lane]);
            cast([
                row(&pairs[0]),
                row(&pairs[1]),
                row(&pairs[2]),
                row(&pairs[3]),
            ])
        });
    }

    let [forces, torques, others, ..] = &mut batch.encounters;
    scratch.responses[0].transpose(forces, lanes);
    scratch.responses[1].transpose(torques, lanes);
    scratch.responses[2].transpose(others, lanes);
    for (rows, columns) in batch.memory.iter_mut().zip(&scratch.memory).take(SIZE) {
        columns.transpose(rows, lanes);
    }
    for lane in 0..len {
        let (overlap, touching) = (scratch.overlaps[lane], scratch.touching[lane]);
        let force = forces.0[lane];
        run.sums[batch.owners[lane] as usize].add(force, torques.0[lane], overlap, touching);
        let partner = &mut run.sums[batch.partners[lane] as usize];
        partner.add(FLIP * force, others.0[lane], overlap, touching);
        let [entry, mirror] =
            [batch.entries[lane], batch.mirrors[lane]].map(|entry| entry as usize * SIZE);
        for (row, rows) in batch.memory.iter().enumerate().take(SIZE) {
            run.memory[mirror + row] = FLIP * rows.0[lane];
            run.memory[entry + row] = rows.0[lane];
        }
    }
    batch.len = 0;
    scratch.fractions[..len].iter().copied().fold(0.0, larger)
}

impl Sum {
    #[inline(always)]
    fn add(&mut self, force: Vec4, torque: Vec4, overlap: f32, contacts: u32) {
        self.force += force;
        self.torque += torque;
        self.max_overlap = larger(self.max_overlap, overlap);
        self.contacts += contacts;
    }
}

/// The larger of two numbers, without a thought for those that are none.
#[inline(always)]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

impl Scratch {
    /// The responses of all contacts of a batch.
    #[inline(always)]
    fn respond<const LAW: u32, const PLAIN: bool>(
        &mut self,
        lanes: usize,
        params: &Params,
        pair: impl Fn(&[Columns; 4], usize) -> Pair,
    ) {
        let Scratch {
            encounters: [places, velocities, spins, sums],
            memory: [slips, rolls],
            pairs,
            responses: [forces, torques, others],
            orders,
            overlaps,
            fractions,
            touching,
        } = self;
        for lane in 0..lanes.min(LANES) {
            let (apart, other_radius) = places.get(lane);
            let (velocity, inverse_mass) = velocities.get(lane);
            let (spin, radius) = spins.get(lane);
            let (spins, _) = sums.get(lane);
            let near = Encounter {
                apart,
                radius,
                other_radius,
                velocity,
                spin,
                spins,
                inverse_mass,
                order: orders[lane],
            }
            .near(params.time_step);
            let mut pair = pair(pairs, lane);
            let (slip, twist) = slips.get(lane);
            let mut memory = Memory {
                slip,
                twist,
                ..Memory::default()
            };
            if PLAIN {
                pair = pair.plain();
            } else {
                (memory.roll, memory.sticks) = rolls.get(lane);
            }
            let response = respond::<LAW>(&near.contact, &pair, &memory, params);
            // Both spheres of a pair evaluate the contact, and each has a half of what it costs.
            forces.set(lane, response.force, 0.5 * response.damping);
            let torque = near.arm.cross(response.force) + response.torque;
            torques.set(lane, torque, 0.5 * response.friction);
            let other_arm = (other_radius - 0.5 * near.contact.overlap) * near.contact.normal;
            let torque = other_arm.cross(response.force) - response.torque;
            others.set(lane, torque, 0.5 * response.friction);
            slips.set(lane, response.memory.slip, response.memory.twist);
            if !PLAIN {
                rolls.set(lane, response.memory.roll, response.memory.sticks);
            }
            let touch = near.contact.touch;
            overlaps[lane] = touch.mean_overlap;
            fractions[lane] = touch.mean_overlap / near.radius;
            touching[lane] = (touch.presence > 0.0).into();
        }
    }
}
