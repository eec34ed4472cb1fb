use glam::{IVec3, Vec4};
use multiversion::multiversion;
use rayon::prelude::*;

use super::GRAIN;
use super::batch::{Batch, Own, Sum};
use super::wall_run::walls_of;
use crate::layout::{HERTZ, HOOKE, KEPT, LINEAR, SphereLoad, WALL};
use crate::state::State;

/// Contacts of each sphere with others: force, torque, overlap, number, and what each remembers.
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
        if spheres[index].sleeps() && is_undisturbed(state, &neighbours[list.clone()]) {
            sums[place].contacts = KEPT;
            continue;
        }
        let mut at = list.start - start;
        for some in before_walls(&neighbours[list]).chunks(Batch::ROOM) {
            if !batch.has_room() {
                let largest = batch.evaluate::<LAW, PLAIN, SIZE>(state, first, memory, sums);
                fraction = fraction.max(largest);
            }
            let remembered = &mut memory[at * SIZE..(at + some.len()) * SIZE];
            if params.period == IVec3::ZERO {
                batch.gather::<SIZE, false>(&own, some, at, remembered, spheres, params);
            } else {
                batch.gather::<SIZE, true>(&own, some, at, remembered, spheres, params);
            }
            at += some.len();
        }
    }
    let largest = batch.evaluate::<LAW, PLAIN, SIZE>(state, first, memory, sums);
    fraction = fraction.max(largest);

    for (load, sum) in loads.iter_mut().zip(sums) {
        if sum.contacts & KEPT != 0 {
            load.contacts |= KEPT;
            continue;
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

/// The spheres of a neighbour list: walls come last.
#[inline(always)]
fn before_walls(list: &[u32]) -> &[u32] {
    &list[..list.len() - walls_of(list).len()]
}

/// Whether nothing in a neighbour list moves.
fn is_undisturbed(state: &State, list: &[u32]) -> bool {
    list.iter().all(|&other| {
        if other & WALL != 0 {
            return state.params.moving_walls == 0;
        }
        let other = &state.spheres[other as usize];
        other.sleeps() || other.inverse_mass == 0.0
    })
}

/// Kahan's summation: `rest` is what rounding has left out of `sum`.
pub(super) fn add(sum: &mut f32, rest: &mut f32, term: f32) {
    let term = term + *rest;
    let total = *sum + term;
    *rest = term - (total - *sum);
    *sum = total;
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::contact::{Memory, respond};
    use crate::cpu::{Near, step, walls};
    use crate::layout::{ROLLING_CONSTANT, ROLLING_SPRING};
    use crate::model::Law;
    use crate::scene;

    /// A crowd of balls of two sizes and materials on a floor.
    const CROWD: &str = r#"{
        "version": 1,
        "duration": 1,
        "contact": { "law": "hooke", "stiffness": 1e4, "time_step": 1e-4 },
        "materials": {
            "glass": { "density": 2500, "restitution": 0.5, "friction": 0.5 },
            "steel": { "density": 7800, "restitution": 0.8, "friction": 0.2 }
        },
        "shapes": {
            "ball": { "sphere": { "radius": 0.01 }, "material": "glass" },
            "shot": { "sphere": { "radius": 0.006 }, "material": "steel" }
        },
        "planes": [{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "glass" }],
        "fills": [{
            "count": 600,
            "shapes": { "ball": 1, "shot": 1 },
            "placement": "grid",
            "spacing": 0.0201,
            "orientation": [0, 0, 0, 1],
            "region": { "min": [0, 0, 0], "max": [0.18, 0.3, 0.18] },
            "velocity": { "min": [-2, -2, -2], "max": [2, 2, 2] },
            "seed": 1
        }]
    }"#;

    fn crowd(law: u32) -> State {
        let mut model = scene::parse(CROWD, "crowd.json".as_ref()).unwrap().model;
        if law == LINEAR {
            model.contact.law = Law::Linear;
        }
        // So that neighbours overlap.
        model
            .bodies
            .iter_mut()
            .for_each(|body| body.position *= 0.9);
        let mut state = State::new(&model);
        state.params.law = law;
        if law == HERTZ {
            state.pairs.iter_mut().for_each(|pair| pair.stiffness = 1e7);
        }
        state
    }

    /// All that can be added to a law, for some of the pairs.
    fn add_terms(state: &mut State) {
        for (index, pair) in state.pairs.iter_mut().enumerate() {
            pair.rolling_friction = 0.2;
            pair.rolling = if index == 0 {
                ROLLING_CONSTANT
            } else {
                ROLLING_SPRING
            };
            pair.twisting_friction = 0.1;
            if index == 0 {
                (pair.cohesion_force, pair.cohesion_range) = (0.1, 2e-4);
            } else {
                pair.surface_energy = 0.5;
            }
        }
        state.params.memory_size = 2;
        state.set_neighbour_capacity(state.params.neighbour_capacity);
    }

    /// What [`contacts`] and [`walls`] do, one contact after the other.
    fn one_by_one<const LAW: u32>(state: &mut State) {
        let before = state.clone();
        let size = state.params.memory_size as usize;
        for (index, load) in state.sphere_loads.iter_mut().enumerate() {
            let [start, end] = [0, 1].map(|k| before.neighbour_starts[index + k] as usize);
            let (mut force, mut torque) = (Vec3::ZERO, Vec3::ZERO);
            // With spheres, and with walls.
            let (mut damping, mut friction) = ([0.0; 2], [0.0; 2]);
            (load.max_overlap, load.contacts) = (0.0, 0);
            for entry in start..end {
                let memory = &mut state.memory[entry * size..(entry + 1) * size];
                let other = before.neighbours[entry];
                let Some((near, pair)) = Near::new(&before, index, entry) else {
                    memory.fill(Vec4::ZERO);
                    continue;
                };
                let (share, one, with) = if other & WALL == 0 {
                    (0.5, 1, 0)
                } else {
                    (1.0, 1 << 16, 1)
                };
                let was = Memory::of(memory);
                let response = respond::<LAW>(&near.contact, &pair, &was, &before.params);
                response.memory.write(memory);
                force += response.force;
                torque += near.arm.cross(response.force) + response.torque;
                damping[with] += share * response.damping;
                friction[with] += share * response.friction;
                let touch = near.contact.touch;
                load.max_overlap = load.max_overlap.max(touch.mean_overlap);
                load.contacts += if touch.presence > 0.0 { one } else { 0 };
            }
            (load.force, load.torque) = (force, torque);
            let walled = before.neighbours[start..end]
                .last()
                .is_some_and(|last| last & WALL != 0);
            for with in 0..1 + usize::from(walled) {
                add(&mut load.damping, &mut load.damping_rest, damping[with]);
                add(&mut load.friction, &mut load.friction_rest, friction[with]);
            }
        }
    }

    fn agrees<const LAW: u32>(mut state: State, what: &str) {
        for _ in 0..20 {
            step(&mut state);
        }
        let mut expected = state.clone();
        one_by_one::<LAW>(&mut expected);
        contacts(&mut state);
        walls(&mut state);
        let touching: u32 = state
            .sphere_loads
            .iter()
            .map(SphereLoad::sphere_contacts)
            .sum();
        assert!(
            touching > 200,
            "{what}: {touching} contacts are too few to mean anything"
        );
        let on_floor: u32 = state
            .sphere_loads
            .iter()
            .map(SphereLoad::wall_contacts)
            .sum();
        assert!(on_floor > 10, "{what}: {on_floor} contacts with the floor");
        let loads = state.sphere_loads.iter().zip(&expected.sphere_loads);
        for (index, (load, expected)) in loads.enumerate() {
            assert_eq!(load, expected, "{what}: load of sphere {index}");
        }
        assert!(state.memory == expected.memory, "{what}: memory");
    }

    #[test]
    fn contacts_by_the_batch_are_contacts_one_by_one_bit_for_bit() {
        agrees::<LINEAR>(crowd(LINEAR), "linear");
        agrees::<HOOKE>(crowd(HOOKE), "hooke");
        agrees::<HERTZ>(crowd(HERTZ), "hertz");
        let mut state = crowd(HOOKE);
        add_terms(&mut state);
        agrees::<HOOKE>(state, "hooke, all terms");
        let mut state = crowd(HERTZ);
        add_terms(&mut state);
        agrees::<HERTZ>(state, "hertz, all terms");
    }

    #[test]
    fn spheres_with_one_centre_part_along_y() {
        let mut state = crowd(HOOKE);
        let (first, second) = state.bodies.split_at_mut(1);
        (second[0].cell, second[0].offset) = (first[0].cell, first[0].offset);
        step(&mut state);
        let [first, second] = [0, 1].map(|k| state.sphere_loads[k].force);
        assert!(first.y < 0.0 && second.y > 0.0, "{first} {second}");
    }
}
