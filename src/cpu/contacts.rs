use glam::Vec4;
use multiversion::multiversion;
use rayon::prelude::*;

use super::GRAIN;
use super::batch::{Batch, Own, Sum};
use super::near::Near;
use crate::contact::{Memory, respond};
use crate::layout::{HERTZ, HOOKE, LINEAR, PLANE, Pair, Params, SphereLoad};
use crate::state::State;

/// Contacts of each sphere: force, torque, overlap, number, and what each remembers.
///
/// Each pair is evaluated from both sides, neighbours in the order of their indices: no sphere
/// writes to another, and sums have a fixed order.
///
/// # Panics
/// If the contact law is a custom one, which is there for the GPU engine only.
pub fn contacts(state: &mut State) {
    let plain = state.pairs.iter().all(|pair| *pair == pair.plain());
    match (state.params.law, state.params.memory_size) {
        (LINEAR, _) => evaluate::<LINEAR, true, 0>(state),
        (HOOKE, 1) if plain => evaluate::<HOOKE, true, 1>(state),
        (HERTZ, 1) if plain => evaluate::<HERTZ, true, 1>(state),
        (HOOKE, 1) => evaluate::<HOOKE, false, 1>(state),
        (HERTZ, 1) => evaluate::<HERTZ, false, 1>(state),
        (HOOKE, _) => evaluate::<HOOKE, false, 2>(state),
        (HERTZ, _) => evaluate::<HERTZ, false, 2>(state),
        (law, _) => panic!("the CPU engine has no contact law {law}"),
    }
}

fn evaluate<const LAW: u32, const PLAIN: bool, const SIZE: usize>(state: &mut State) {
    let mut loads = std::mem::take(&mut state.sphere_loads);
    let mut memory = std::mem::take(&mut state.memory);

    // Each task gets the memory of its spheres' lists: they lie one after the other.
    let mut tasks = Vec::with_capacity(loads.len() / GRAIN + 1);
    let mut rest = &mut memory[..];
    for (task, loads) in loads.chunks_mut(GRAIN).enumerate() {
        let first = task * GRAIN;
        let starts = &state.neighbour_starts[first..];
        let entries = starts[loads.len()] - starts[0];
        let own;
        (own, rest) = rest.split_at_mut(entries as usize * SIZE);
        tasks.push((first, loads, own));
    }
    let shared = &*state;
    let fraction = tasks
        .into_par_iter()
        .map_init(
            || (Batch::new(), [Sum::default(); GRAIN]),
            |(batch, sums), (first, loads, memory)| {
                let sums = &mut sums[..loads.len()];
                evaluate_some::<LAW, PLAIN, SIZE>(shared, first, loads, memory, batch, sums)
            },
        )
        .reduce(|| 0.0, f32::max);
    state.sphere_loads = loads;
    state.memory = memory;
    let largest = &mut state.stats[0].max_overlap_fraction;
    *largest = (*largest).max(fraction.to_bits());
}

/// The contacts of the spheres from `first` on, for which there are `loads` and `sums`; `memory` is
/// that of their lists. Returns the largest overlap as a fraction of the smaller radius.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn evaluate_some<const LAW: u32, const PLAIN: bool, const SIZE: usize>(
    state: &State,
    first: usize,
    loads: &mut [SphereLoad],
    memory: &mut [Vec4],
    batch: &mut Batch,
    sums: &mut [Sum],
) -> f32 {
    let State {
        params,
        spheres,
        planes,
        pairs,
        neighbour_starts,
        neighbours,
        ..
    } = state;
    let start = neighbour_starts[first] as usize;
    let mut fraction = 0.0_f32;

    sums.fill(Sum::default());
    for (place, index) in (first..first + loads.len()).enumerate() {
        let own = Own::new(&spheres[index], place, params);
        let list = neighbour_starts[index] as usize..neighbour_starts[index + 1] as usize;
        let mut at = list.start - start;
        for some in before_planes(&neighbours[list]).chunks(Batch::ROOM) {
            if !batch.has_room() {
                let largest = batch.evaluate::<LAW, PLAIN, SIZE>(state, first, memory, sums);
                fraction = fraction.max(largest);
            }
            let remembered = &mut memory[at * SIZE..(at + some.len()) * SIZE];
            batch.gather::<SIZE>(&own, some, at, remembered, spheres, params);
            at += some.len();
        }
    }
    let largest = batch.evaluate::<LAW, PLAIN, SIZE>(state, first, memory, sums);
    fraction = fraction.max(largest);

    for ((load, sum), index) in loads.iter_mut().zip(sums).zip(first..) {
        let list = neighbour_starts[index] as usize..neighbour_starts[index + 1] as usize;
        for entry in list.rev() {
            let other = neighbours[entry];
            if other & PLANE == 0 {
                break;
            }
            let own = &mut memory[(entry - start) * SIZE..(entry - start + 1) * SIZE];
            let sphere = &spheres[index];
            let plane = &planes[(other & !PLANE) as usize];
            if let Some(near) = Near::with_plane(sphere, plane, params) {
                let element = sphere.material * params.material_count + plane.material;
                let pair = pairs[element as usize].against(true);
                fraction = fraction.max(sum.add::<LAW>(&near, &pair, params, own));
            } else {
                own.fill(Vec4::ZERO);
            }
        }
        load.force = sum.force.truncate();
        load.torque = sum.torque.truncate();
        load.max_overlap = sum.max_overlap;
        load.contacts = sum.contacts;
        add(&mut load.damping, &mut load.damping_rest, sum.force.w);
        add(&mut load.friction, &mut load.friction_rest, sum.torque.w);
    }
    fraction
}

/// The spheres of a neighbour list: planes come last.
#[inline(always)]
fn before_planes(list: &[u32]) -> &[u32] {
    let planes = list.iter().rev().take_while(|&other| other & PLANE != 0);
    &list[..list.len() - planes.count()]
}

impl Sum {
    /// Adds the contact with a plane, and returns its overlap as a fraction of the radius.
    #[inline(always)]
    fn add<const LAW: u32>(
        &mut self,
        near: &Near,
        pair: &Pair,
        params: &Params,
        memory: &mut [Vec4],
    ) -> f32 {
        let contact = &near.contact;
        let response = respond::<LAW>(contact, pair, &Memory::of(memory), params);
        response.memory.write(memory);
        let torque = near.arm.cross(response.force) + response.torque;
        self.force += response.force.extend(response.damping);
        self.torque += torque.extend(response.friction);
        if contact.touch.presence == 0.0 {
            return 0.0;
        }
        let overlap = contact.touch.mean_overlap;
        self.max_overlap = self.max_overlap.max(overlap);
        self.contacts += 1 << 16;
        overlap / near.radius
    }
}

/// Kahan's summation: `rest` is what rounding has left out of `sum`.
fn add(sum: &mut f32, rest: &mut f32, term: f32) {
    let term = term + *rest;
    let total = *sum + term;
    *rest = term - (total - *sum);
    *sum = total;
}
