use glam::Vec4;
use multiversion::multiversion;
use rayon::prelude::*;

use super::GRAIN;
use super::batch::{Batch, Run, Sum, evaluate, larger};
use super::wall_run::walls_of;
use crate::layout::{HERTZ, HOOKE, KEPT, LINEAR, SphereLoad, WALL};
use crate::state::State;

/// Tasks for each thread: few, since pairs within a task cost half of those across, and more than one,
/// since no two take the same time.
const TASKS: usize = 4;

/// Contacts of each sphere with others: force, torque, overlap, number, and what each remembers.
///
/// Spheres are taken by runs of indices. A pair within a run is evaluated once, for both; one across
/// runs is evaluated from both sides, so that no run writes to another. To swap the sides changes
/// signs, and no bit else; and each sphere sums its neighbours in the order of their indices, however
/// long the runs are: the result does not depend on them.
///
/// # Panics
/// If the contact law is a custom one, which is there for the GPU engine only.
pub fn contacts(state: &mut State) {
    let kernel = kernel(state);
    let size = state.params.memory_size as usize;
    let mut loads = std::mem::take(&mut state.sphere_loads);
    let mut memory = std::mem::take(&mut state.memory);

    // Each task gets the memory of its spheres' lists: they lie one after the other.
    let length = length_of_run(loads.len());
    let mut tasks = Vec::new();
    let mut rest = &mut memory[..];
    for (task, loads) in loads.chunks_mut(length).enumerate() {
        let first = task * length;
        let starts = &state.neighbour_starts[first..];
        let entries = starts[loads.len()] - starts[0];
        let own;
        (own, rest) = rest.split_at_mut(entries as usize * size);
        tasks.push((first, loads, own));
    }
    let shared = &*state;
    let fraction = tasks
        .into_par_iter()
        .map_init(Room::new, |room, (first, loads, memory)| {
            room.evaluate(kernel, shared, first, loads, memory)
        })
        .reduce(|| 0.0, f32::max);
    state.sphere_loads = loads;
    state.memory = memory;
    let largest = &mut state.stats[0].max_overlap_fraction;
    *largest = (*largest).max(fraction.to_bits());
}

/// Elements in each of the runs that `count` of them are taken by.
pub(super) fn length_of_run(count: usize) -> usize {
    let tasks = TASKS * rayon::current_num_threads();
    count.div_ceil(tasks).max(GRAIN)
}

/// Evaluates the contacts of a run; returns the largest overlap as a fraction of the smaller radius.
pub(super) type Kernel = fn(Run, &mut [SphereLoad], &mut Batch) -> f32;

/// What evaluates the contact law of `state`.
///
/// # Panics
/// If it is a custom one.
pub(super) fn kernel(state: &State) -> Kernel {
    let plain = state.pairs.iter().all(|pair| *pair == pair.plain());
    match (state.params.law, state.params.memory_size) {
        (LINEAR, _) => evaluate_run::<LINEAR, true, 0>,
        (HOOKE, 1) if plain => evaluate_run::<HOOKE, true, 1>,
        (HERTZ, 1) if plain => evaluate_run::<HERTZ, true, 1>,
        (HOOKE, 1) => evaluate_run::<HOOKE, false, 1>,
        (HERTZ, 1) => evaluate_run::<HERTZ, false, 1>,
        (HOOKE, _) => evaluate_run::<HOOKE, false, 2>,
        (HERTZ, _) => evaluate_run::<HERTZ, false, 2>,
        (law, _) => panic!("the CPU engine has no contact law {law}"),
    }
}

/// Room in which a task evaluates contacts.
pub(super) struct Room {
    batch: Batch,
    sums: Vec<Sum>,
    next: Vec<u32>,
}

impl Room {
    pub fn new() -> Room {
        Room {
            batch: Batch::new(),
            sums: Vec::new(),
            next: Vec::new(),
        }
    }

    /// The contacts of the spheres from `first` on, for which there are `loads`; `memory` is that of their
    /// lists. Returns the largest overlap as a fraction of the smaller radius.
    pub fn evaluate(
        &mut self,
        kernel: Kernel,
        state: &State,
        first: usize,
        loads: &mut [SphereLoad],
        memory: &mut [Vec4],
    ) -> f32 {
        self.sums.clear();
        self.sums.resize(loads.len() + 1, Sum::default());
        self.next.clear();
        self.next.resize(loads.len() + 1, 0);
        let run = Run {
            state,
            first: first as u32,
            start: state.neighbour_starts[first],
            memory,
            sums: &mut self.sums,
            next: &mut self.next,
        };
        kernel(run, loads, &mut self.batch)
    }
}

/// The contacts of the spheres of a run, for which there are `loads`. Returns the largest overlap as a
/// fraction of the smaller radius.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn evaluate_run<const LAW: u32, const PLAIN: bool, const SIZE: usize>(
    mut run: Run,
    loads: &mut [SphereLoad],
    batch: &mut Batch,
) -> f32 {
    let State {
        params,
        spheres,
        neighbour_starts,
        neighbours,
        ..
    } = run.state;
    let range = run.first as usize..run.first as usize + loads.len();
    let mut fraction = 0.0;

    // Pairs with spheres before the run are evaluated from this side alone; and all if bodies may
    // sleep, since then there may be nothing to do on the other.
    let alone = if params.sleep_steps == 0 {
        run.first
    } else {
        WALL
    };
    for (place, index) in range.clone().enumerate() {
        let [start, end] = [0, 1].map(|k| neighbour_starts[index + k]);
        let list = &neighbours[start as usize..end as usize];
        if spheres[index].sleeps() && is_undisturbed(run.state, list) {
            run.sums[place].contacts = KEPT;
            run.next[place] = end - run.start;
            continue;
        }
        let some = list.iter().take_while(|&&other| other < alone).count();
        run.next[place] = start - run.start + some as u32;
        if some > 0 {
            let list = start as usize..start as usize + some;
            let largest = batch.take::<LAW, PLAIN, SIZE, false>(&mut run, place, list);
            fraction = larger(fraction, largest);
        }
    }
    // The others, as far as they were not evaluated from the other side by the time.
    for (place, index) in range.enumerate() {
        let start = (run.start + run.next[place]) as usize;
        let list = &neighbours[start..neighbour_starts[index + 1] as usize];
        let list = start..start + before_walls(list).len();
        if !list.is_empty() {
            let largest = batch.take::<LAW, PLAIN, SIZE, true>(&mut run, place, list);
            fraction = larger(fraction, largest);
        }
    }
    fraction = larger(fraction, evaluate::<LAW, PLAIN, SIZE>(batch, &mut run));

    for (load, sum) in loads.iter_mut().zip(&*run.sums) {
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
