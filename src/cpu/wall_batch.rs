//! Contacts between spheres and walls, many at a time, as [`super::batch`] has those between spheres.

use std::ops::Range;

use bytemuck::cast;
use glam::Vec4;
use multiversion::multiversion;

use super::balls::Loads;
use super::contacts::add;
use super::lanes::{Columns, LANES, Lane, Rows};
use super::wall_run::{Approach, WallRun};
use super::walls::Touched;
use crate::contact::{Memory, respond};
use crate::layout::{self, Params};
use crate::rotation::Quaternion;
use crate::state::State;
use crate::wall::facet::Closest;
use crate::wall::load;

/// Contacts that wait until there are enough of them.
pub(super) struct Batch {
    len: usize,
    /// The spheres, in the order of their contacts.
    owners: Vec<Owner>,
    /// Which facet of the run each is about.
    facets: [u32; LANES],
    /// The wall of each.
    walls: [u32; LANES],
    /// Element of the pair table of each.
    elements: [u32; LANES],
    /// See [`Batch::push`].
    approaches: [Rows; 8],
    memory: [Rows; 2],
    scratch: Scratch,
}

/// A sphere that is near to walls.
struct Owner {
    /// Which of the loads is its own.
    load: usize,
    contacts: Range<usize>,
}

/// A batch, value by value.
struct Scratch {
    approaches: [Columns; 8],
    memory: [Columns; 2],
    pairs: [Columns; 4],
    /// Force and what dashpots took; torque and what friction took; torque on the wall about its anchor.
    responses: [Columns; 3],
    overlaps: Lane,
    /// 1 where surfaces touch.
    touching: [u32; LANES],
}

impl Default for Batch {
    fn default() -> Batch {
        Batch {
            len: 0,
            owners: Vec::new(),
            facets: [0; LANES],
            walls: [0; LANES],
            elements: [0; LANES],
            approaches: [Rows::ZERO; 8],
            memory: [Rows::ZERO; 2],
            scratch: Scratch {
                approaches: [Columns::ZERO; 8],
                memory: [Columns::ZERO; 2],
                pairs: [Columns::ZERO; 4],
                responses: [Columns::ZERO; 3],
                overlaps: [0.0; LANES],
                touching: [0; LANES],
            },
        }
    }
}

impl Batch {
    /// Whether there is room for a number of contacts.
    pub fn has_room(&self, contacts: usize) -> bool {
        self.len + contacts <= LANES
    }

    /// Adds the contact with a wall at the facet with the place `facet` in the run, to which its sphere lies as `closest`
    /// says; it remembers `memory`.
    #[inline(always)]
    pub fn push(&mut self, wall: &WallRun, closest: &Closest, facet: usize, memory: &[Vec4]) {
        let lane = self.len;
        let Approach {
            distance,
            normal,
            radius,
            velocity,
            spin,
            inverse_mass,
            from_anchor,
            orientation,
            belt,
            wall_velocity,
            wall_spin,
        } = wall.approach(closest);
        let rows = [
            from_anchor.extend(radius),
            normal.extend(distance),
            velocity.extend(inverse_mass),
            spin.extend(0.0),
            orientation.xyz.extend(orientation.w),
            belt.extend(0.0),
            wall_velocity.extend(0.0),
            wall_spin.extend(0.0),
        ];
        for (own, row) in self.approaches.iter_mut().zip(rows) {
            own.0[lane] = row;
        }
        for (own, part) in self.memory.iter_mut().zip(memory) {
            own.0[lane] = *part;
        }
        self.facets[lane] = facet as u32;
        self.walls[lane] = wall.index as u32;
        self.elements[lane] = wall.element();
        self.len += 1;
    }

    /// Says that the contacts that were pushed since the last time are those of the sphere of a load.
    #[inline(always)]
    pub fn close(&mut self, load: usize) {
        let start = self.owners.last().map_or(0, |owner| owner.contacts.end);
        let contacts = start..self.len;
        self.owners.push(Owner { load, contacts });
    }
}

/// Evaluates the contacts, adds what they do to the loads of their spheres and of the walls, and empties the batch.
/// `memory` is that of the facets of the run.
///
/// With `PLAIN`, no pair has terms beyond spring, dashpot and friction.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub(super) fn evaluate<const LAW: u32, const PLAIN: bool, const SIZE: usize>(
    batch: &mut Batch,
    state: &State,
    memory: &mut [Vec4],
    loads: &mut Loads,
    touched: &mut Touched,
) {
    let len = batch.len;
    // A whole number of vectors, whatever their width.
    let lanes = len.next_multiple_of(16).min(LANES);
    // A copy: compilers cannot know that nothing here changes the original, and would give up vectors.
    let params = state.params;
    let scratch = &mut batch.scratch;
    for (rows, columns) in batch.approaches.iter().zip(&mut scratch.approaches) {
        rows.transpose(columns, lanes);
    }
    for (rows, columns) in batch.memory.iter().zip(&mut scratch.memory).take(SIZE) {
        rows.transpose(columns, lanes);
    }
    if let [pair] = state.pairs[..] {
        let pair = pair.against(true);
        scratch.respond::<LAW, PLAIN>(lanes, &params, |_, _| pair);
    } else {
        let mut rows = [const { Rows::ZERO }; 4];
        for lane in 0..len {
            let pair = state.pairs[batch.elements[lane] as usize].against(true);
            let pair: [[f32; 4]; 4] = cast(pair);
            for (rows, own) in rows.iter_mut().zip(pair) {
                rows.0[lane] = own.into();
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

    for (rows, columns) in batch.memory.iter_mut().zip(&scratch.memory).take(SIZE) {
        columns.transpose(rows, lanes);
    }
    let Touched { fraction, sums } = touched;
    let [forces, torques, on_walls] = &scratch.responses;
    for owner in batch.owners.drain(..) {
        let mut load = loads.get(owner.load);
        let (mut damping, mut friction) = (0.0, 0.0);
        for lane in owner.contacts {
            let (force, damped) = forces.get(lane);
            let (torque, rubbed) = torques.get(lane);
            load.force += force;
            load.torque += torque;
            damping += damped;
            friction += rubbed;
            if let Some(sum) = sums.get_mut(batch.walls[lane] as usize) {
                load::add(sum, -force, -on_walls.get(lane).0, &params);
            }
            if scratch.touching[lane] == 1 {
                let overlap = scratch.overlaps[lane];
                load.max_overlap = load.max_overlap.max(overlap);
                load.contacts += 1 << 16;
                let (_, radius) = scratch.approaches[0].get(lane);
                *fraction = fraction.max(overlap / radius);
            }
            let at = batch.facets[lane] as usize * SIZE;
            for (own, rows) in memory[at..at + SIZE].iter_mut().zip(&batch.memory) {
                *own = rows.0[lane];
            }
        }
        add(&mut load.damping, &mut load.damping_rest, damping);
        add(&mut load.friction, &mut load.friction_rest, friction);
        loads.set(owner.load, load);
    }
    batch.len = 0;
}

impl Scratch {
    /// The responses of all contacts of a batch.
    #[inline(always)]
    fn respond<const LAW: u32, const PLAIN: bool>(
        &mut self,
        lanes: usize,
        params: &Params,
        pair: impl Fn(&[Columns; 4], usize) -> layout::Pair,
    ) {
        let Scratch {
            approaches:
                [
                    levers,
                    normals,
                    velocities,
                    spins,
                    orientations,
                    belts,
                    motions,
                    turns,
                ],
            memory: [slips, rolls],
            pairs,
            responses: [forces, torques, on_walls],
            overlaps,
            touching,
        } = self;
        for lane in 0..lanes.min(LANES) {
            let (from_anchor, radius) = levers.get(lane);
            let (normal, distance) = normals.get(lane);
            let (velocity, inverse_mass) = velocities.get(lane);
            let (xyz, w) = orientations.get(lane);
            let approach = Approach {
                distance,
                normal,
                radius,
                velocity,
                spin: spins.get(lane).0,
                inverse_mass,
                from_anchor,
                orientation: Quaternion { xyz, w },
                belt: belts.get(lane).0,
                wall_velocity: motions.get(lane).0,
                wall_spin: turns.get(lane).0,
            };
            let near = approach.near(params.time_step);
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
            forces.set(lane, response.force, response.damping);
            let torque = near.arm.cross(response.force) + response.torque;
            torques.set(lane, torque, response.friction);
            let torque = approach.lever(near.arm).cross(response.force) + response.torque;
            on_walls.set(lane, torque, 0.0);
            slips.set(lane, response.memory.slip, response.memory.twist);
            if !PLAIN {
                rolls.set(lane, response.memory.roll, response.memory.sticks);
            }
            let touch = near.contact.touch;
            overlaps[lane] = touch.mean_overlap;
            touching[lane] = (touch.presence > 0.0).into();
        }
    }
}
