//! Contacts between spheres, many at a time.
//!
//! The law is written for one contact, in scalars. Here it stands in a loop over arrays with one
//! element for each contact, without branches that are left after inlining, so the compiler makes
//! vector instructions of it, as wide as the machine has them. They round as scalars do, and nothing
//! is summed across lanes: the bits are the same on every machine.

use bytemuck::{cast, cast_ref};
use glam::{IVec3, Vec4};

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

/// A sphere whose neighbours are looked at, as the rows of [`Sphere`] less what they should not be
/// subtracted from: a row of differences then has the other radius, the sum of the inverse masses.
pub(super) struct Own {
    offset: Vec4,
    cell: [i32; 4],
    velocity: Vec4,
    spin: Vec4,
    radius: f32,
    cell_size: Vec4,
    /// Place in the slice of sums.
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
    /// The sphere of each, as a place in the slice of sums.
    owners: [u32; LANES],
    /// Index of the other sphere.
    others: [u32; LANES],
    /// Entry of the neighbour lists, counted from the first one of the task.
    entries: [u32; LANES],
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
    /// Force and what dashpots took; torque and what friction took.
    responses: [Columns; 2],
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
    pub const ROOM: usize = 32;

    pub fn new() -> Batch {
        Batch {
            len: 0,
            owners: [0; LANES],
            others: [0; LANES],
            entries: [0; LANES],
            encounters: [Rows::ZERO; 4],
            memory: [Rows::ZERO; 2],
            scratch: Scratch {
                encounters: [Columns::ZERO; 4],
                memory: [Columns::ZERO; 2],
                pairs: [Columns::ZERO; 4],
                responses: [Columns::ZERO; 2],
                orders: [0.0; LANES],
                overlaps: [0.0; LANES],
                fractions: [0.0; LANES],
                touching: [0; LANES],
            },
        }
    }

    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.len + Self::ROOM <= LANES
    }

    /// Adds those of some neighbours that are near enough, at most [`Batch::ROOM`]; `first` is the
    /// entry of the first one, and `memory` is theirs. It is zero afterwards: until the batch is
    /// evaluated, and for the others from now on.
    ///
    /// Each neighbour is written and only sometimes kept: a processor would guess that branch wrong
    /// too often.
    #[inline(always)]
    pub fn gather<const SIZE: usize, const PERIODIC: bool>(
        &mut self,
        own: &Own,
        neighbours: &[u32],
        first: usize,
        memory: &mut [Vec4],
        spheres: &[Sphere],
        params: &Params,
    ) {
        let mut len = self.len;
        for (step, &other) in neighbours.iter().enumerate() {
            let at = len % LANES;
            let rows: &[[f32; 4]; 4] = cast_ref(&spheres[other as usize]);
            let [offset, _, velocity, spin] = rows.map(Vec4::from_array);
            let cell: &[[i32; 4]; 4] = cast_ref(&spheres[other as usize]);
            let cells = own.cells_to::<PERIODIC>(cell[1], params);
            let apart = cells * own.cell_size + (offset - own.offset);
            self.owners[at] = own.place;
            self.others[at] = other;
            self.entries[at] = (first + step) as u32;
            self.encounters[0].0[at] = apart;
            self.encounters[1].0[at] = velocity - own.velocity;
            self.encounters[2].0[at] = (spin - own.spin).with_w(own.radius);
            self.encounters[3].0[at] = spin + own.spin;
            for (row, rows) in self.memory.iter_mut().enumerate().take(SIZE) {
                rows.0[at] = std::mem::take(&mut memory[step * SIZE + row]);
            }
            let reach = own.radius + apart.w + params.touch_margin;
            len += usize::from(apart.truncate().length_squared() < reach * reach);
        }
        self.len = len;
    }

    /// Evaluates the contacts, adds what they do to `sums`, empties the batch, and returns the largest
    /// overlap as a fraction of the smaller radius.
    ///
    /// With `PLAIN`, no pair has terms beyond spring, dashpot and friction.
    #[inline(always)]
    pub fn evaluate<const LAW: u32, const PLAIN: bool, const SIZE: usize>(
        &mut self,
        state: &State,
        first: usize,
        memory: &mut [Vec4],
        sums: &mut [Sum],
    ) -> f32 {
        let len = self.len;
        let first = first as u32;
        // A whole number of vectors, whatever their width.
        let lanes = len.next_multiple_of(16).min(LANES);
        let State {
            params,
            spheres,
            pairs,
            ..
        } = state;
        let scratch = &mut self.scratch;
        for (rows, columns) in self.encounters.iter().zip(&mut scratch.encounters) {
            rows.transpose(columns, lanes);
        }
        for (rows, columns) in self.memory.iter().zip(&mut scratch.memory).take(SIZE) {
            rows.transpose(columns, lanes);
        }
        for lane in 0..lanes {
            let is_first = first + self.owners[lane] < self.others[lane];
            scratch.orders[lane] = if is_first { 1.0 } else { -1.0 };
        }
        if let [pair] = pairs[..] {
            scratch.respond::<LAW, PLAIN>(lanes, params, |_, _| pair);
        } else {
            let mut rows = [const { Rows::ZERO }; 4];
            for lane in 0..len {
                let material = spheres[(first + self.owners[lane]) as usize].material();
                let other = spheres[self.others[lane] as usize].material();
                let element = material * params.material_count + other;
                let pair: [[f32; 4]; 4] = cast(pairs[element as usize]);
                for (rows, own) in rows.iter_mut().zip(pair) {
                    rows.0[lane] = Vec4::from_array(own);
                }
            }
            for (rows, columns) in rows.iter().zip(&mut scratch.pairs) {
                rows.transpose(columns, lanes);
            }
            scratch.respond::<LAW, PLAIN>(lanes, params, |pairs, lane| {
                let row = |columns: &Columns| columns.0.each_ref().map(|values| values[lane]);
                cast([
                    row(&pairs[0]),
                    row(&pairs[1]),
                    row(&pairs[2]),
                    row(&pairs[3]),
                ])
            });
        }

        let [forces, torques, ..] = &mut self.encounters;
        scratch.responses[0].transpose(forces, lanes);
        scratch.responses[1].transpose(torques, lanes);
        for (rows, columns) in self.memory.iter_mut().zip(&scratch.memory).take(SIZE) {
            columns.transpose(rows, lanes);
        }
        for lane in 0..len {
            let sum = &mut sums[self.owners[lane] as usize];
            sum.force += forces.0[lane];
            sum.torque += torques.0[lane];
            sum.max_overlap = larger(sum.max_overlap, scratch.overlaps[lane]);
            sum.contacts += scratch.touching[lane];
            let place = self.entries[lane] as usize * SIZE;
            for (row, rows) in self.memory.iter().enumerate().take(SIZE) {
                memory[place + row] = rows.0[lane];
            }
        }
        self.len = 0;
        scratch.fractions[..len].iter().copied().fold(0.0, larger)
    }
}

/// The larger of two numbers, without a thought for those that are none.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
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
            responses: [forces, torques],
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
