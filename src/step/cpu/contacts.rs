//! Pass `contacts`: the contacts between the spheres of each chunk, and their sums.

use std::mem::take;

use bytemuck::cast_ref;
use glam::{IVec3, Vec4};
#[cfg(not(simd = "portable"))]
use multiversion::multiversion;

use super::ball_block::{LoadColumns, loads_side_by_side_mut};
use super::contact_rows::{ContactScratch, Effect, SumRing, larger};
use super::decomposition::{Decomposition, SubdomainView};
use super::history::for_law;
use super::lanes::{Soa4, WIDTH, prefetch, read_both};
use super::subdomain::{Chunk, LaneGroup, Subdomain};
use crate::math::each::Each;
pub(super) use crate::math::rounding::add_up as add;
use crate::state::State;
use crate::state::layout::{Body, DISTURBED, IMPULSE, KEPT, Sphere, SphereLoad};

/// Contacts of each sphere with others: force, torque, overlap, number, and contact histories.
///
/// A pair within a subdomain is evaluated once, for both spheres. To swap the sides changes signs, and no bit else; and
/// each sphere sums its neighbours of lower index in their order, then those of higher index in theirs, and then both,
/// wherever subdomains end: the result does not depend on them. Where bodies may sleep, it sums all of them in their
/// order.
///
/// # Panics
/// If the contact law is a custom one, which is there for the GPU engine only.
pub(super) fn contacts(state: &mut State, decomposition: &mut Decomposition) {
    let kernel = kernel(state);
    let act = |state: &State, view: SubdomainView| {
        let SubdomainView {
            subdomain,
            scratch,
            spheres,
            loads,
            ..
        } = view;
        let scratch = &mut scratch.contacts;
        let before = subdomain.before.clone();
        let mut fraction = kernel(state, subdomain, spheres, &before, &mut [], scratch, &[]);
        for chunk in subdomain.chunks.clone() {
            let loads = &mut loads[chunk.spheres.clone()];
            fraction = larger(
                fraction,
                kernel(state, subdomain, spheres, &chunk, loads, scratch, &[]),
            );
        }
        fraction
    };
    let fraction = decomposition.once(state, act, || 0.0, f32::max);
    let largest = &mut state.stats[0].max_overlap_fraction;
    *largest = (*largest).max(fraction.to_bits());
}

/// Evaluates the contacts of the spheres of a chunk, given those of the subdomain, and completes the given loads, which are side
/// by side if they are those of balls; how many contacts there are and how deep is added by [`Subdomain::count`], unless bodies
/// may sleep. Returns the largest overlap as a fraction of the smaller radius. Meanwhile the given bodies are fetched: those
/// that are moved then.
pub(super) type Kernel = fn(
    &State,
    &mut Subdomain,
    &[Sphere],
    &Chunk,
    &mut [SphereLoad],
    &mut ContactScratch,
    &[Body],
) -> f32;

/// The kernel for the contact law of `state`.
///
/// # Panics
/// If it is a custom one.
pub(super) fn kernel(state: &State) -> Kernel {
    for_law!(evaluate_some, state)
}

/// The contacts of the spheres of a chunk, for which there are `loads`. Returns the largest overlap as a fraction of
/// the smaller radius.
#[cfg_attr(
    simd = "avx512",
    multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))
)]
#[cfg_attr(simd = "avx2", multiversion(targets("x86_64+avx2")))]
fn evaluate_some<const LAW: u32, const PLAIN: bool>(
    state: &State,
    subdomain: &mut Subdomain,
    spheres: &[Sphere],
    chunk: &Chunk,
    loads: &mut [SphereLoad],
    scratch: &mut ContactScratch,
    bodies: &[Body],
) -> f32 {
    if PLAIN && state.params.period == IVec3::ZERO {
        evaluate::<LAW, PLAIN, false>(state, subdomain, spheres, chunk, loads, scratch, bodies);
    } else {
        evaluate::<LAW, PLAIN, true>(state, subdomain, spheres, chunk, loads, scratch, bodies);
    }
    scratch.fraction()
}

#[inline(always)]
fn evaluate<const LAW: u32, const PLAIN: bool, const PERIODIC: bool>(
    state: &State,
    subdomain: &mut Subdomain,
    spheres: &[Sphere],
    chunk: &Chunk,
    loads: &mut [SphereLoad],
    scratch: &mut ContactScratch,
    bodies: &[Body],
) {
    scratch.begin(state, subdomain, chunk);
    // Spheres before the subdomain come first in the sums.
    let is_before = chunk.spheres.is_empty();
    let sleep = state.params.sleep_steps > 0;
    let mut sums = take(if is_before {
        &mut subdomain.sums
    } else {
        &mut scratch.sums
    });
    for index in chunk.groups.clone() {
        let LaneGroup { places, count, .. } = subdomain.groups[index];
        let (mut disturbed, mut kept) = ([false; WIDTH], [false; WIDTH]);
        if sleep {
            disturbed = subdomain.disturbed(spheres, index, &state.params);
            for lane in 0..count {
                let before = &loads[places[lane] as usize - chunk.spheres.start];
                kept[lane] = !disturbed[lane] && !before.is_disturbed();
            }
        }
        let soon = index - chunk.groups.start;
        let soon = WIDTH * soon..WIDTH * (soon + 1);
        prefetch(loads, soon.clone());
        prefetch(bodies, soon.start..soon.end.min(bodies.len()));
        if !sleep || kept.contains(&false) {
            if sleep {
                let idle = kept[..count].iter().filter(|&&kept| kept).count();
                subdomain.idle += idle * subdomain.groups[index].rows.len();
            }
            scratch.evaluate::<LAW, PLAIN, PERIODIC>(
                state, subdomain, spheres, chunk, index, kept, &mut sums,
            );
        }
        if sleep {
            for lane in 0..count {
                let load = &mut loads[places[lane] as usize - chunk.spheres.start];
                let kept = if kept[lane] { KEPT } else { 0 };
                let disturbed = if disturbed[lane] { DISTURBED } else { 0 };
                load.contacts = load.contacts & !(KEPT | DISTURBED) | kept | disturbed;
            }
        }
    }
    if is_before {
        subdomain.sums = sums;
        return;
    }
    scratch.add_reactions(subdomain, chunk);
    if chunk.balls {
        for (block, own) in loads_side_by_side_mut(loads).iter_mut().enumerate() {
            let first = chunk.spheres.start + block * WIDTH;
            complete::<LAW>(own, first, &mut subdomain.sums, &sums);
        }
        scratch.sums = sums;
        return;
    }
    for (index, load) in loads.iter_mut().enumerate() {
        if sleep && load.is_kept() {
            continue;
        }
        let place = sums.place(chunk.spheres.start + index);
        (load.max_overlap, load.contacts) = (0.0, load.contacts & DISTURBED);
        let mut effect = take(&mut subdomain.sums.effects[place]);
        effect.add(&sums.effects[place]);
        let [force, torque] = effect.0.each(Vec4::from_array);
        load.force = force.truncate();
        load.torque = torque.truncate();
        if LAW == IMPULSE {
            load.contacts |= force.w as u32;
        } else {
            add(&mut load.damping, &mut load.damping_rest, force.w);
        }
        add(&mut load.friction, &mut load.friction_rest, torque.w);
    }
    scratch.sums = sums;
    if sleep {
        subdomain.count(chunk.groups.clone(), chunk.spheres.start, loads);
    }
}

/// Completes the loads on balls but for what [`Subdomain::count`] adds, of the spheres from the place `first` on: `lower` and
/// `higher` are what contacts with spheres of lower and of higher index do to each.
#[inline(always)]
fn complete<const LAW: u32>(
    loads: &mut LoadColumns,
    first: usize,
    lower: &mut SumRing,
    higher: &SumRing,
) {
    let mut effects = [Effect::default(); WIDTH];
    for (lane, effect) in effects.iter_mut().enumerate() {
        let place = higher.place(first + lane);
        *effect = take(&mut lower.effects[place]);
        effect.add(&higher.effects[place]);
    }
    let [mut forces, mut torques] = [Soa4::ZERO; 2];
    read_both([&mut forces, &mut torques], cast_ref(&effects));
    let [_, _, mut energies] = *loads;
    let [damping, damping_rest, friction, friction_rest] = &mut energies;
    for lane in 0..WIDTH {
        let [.., damped] = &mut forces.0;
        let [.., rubbed] = &mut torques.0;
        add(&mut friction[lane], &mut friction_rest[lane], rubbed[lane]);
        if LAW == IMPULSE {
            rubbed[lane] = f32::from_bits(damped[lane] as u32);
        } else {
            add(&mut damping[lane], &mut damping_rest[lane], damped[lane]);
            rubbed[lane] = 0.0;
        }
        damped[lane] = 0.0;
    }
    *loads = [forces.0, torques.0, energies];
}

#[cfg(all(test, feature = "scene"))]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::model::Law;
    use crate::scene;
    use crate::state::layout::{
        HERTZ_MINDLIN, HOOKE_HISTORY, HOOKE_VISCOUS, ROLLING_CONSTANT, ROLLING_SPRING,
    };
    use crate::step::Pass;
    use crate::step::cpu::{run, step};
    use crate::step::reference;

    /// A crowd of balls of two sizes and materials on a floor.
    const CROWD: &str = r#"{
        "version": 1,
        "duration": 1,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4, "time_step": 1e-4 },
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
            "count": 1600,
            "shapes": { "ball": 1, "shot": 1 },
            "placement": "grid",
            "spacing": 0.0201,
            "orientation": [0, 0, 0, 1],
            "region": { "min": [0, 0, 0], "max": [0.5, 0.3, 0.5] },
            "velocity": { "min": [-2, -2, -2], "max": [2, 2, 2] },
            "seed": 1
        }]
    }"#;

    fn crowd(law: u32) -> State {
        let mut model = scene::parse(CROWD, "crowd.json".as_ref()).unwrap().model;
        if law == HOOKE_VISCOUS {
            model.contact.law = Law::HookeViscous;
        }
        // So that neighbours overlap.
        model
            .bodies
            .iter_mut()
            .for_each(|body| body.position *= 0.9);
        let mut state = State::new(&model);
        state.params.law = law;
        if law == HERTZ_MINDLIN {
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
        state.params.history_size = 2;
        state.set_neighbour_capacity(state.params.neighbour_capacity);
    }

    fn agrees(mut state: State, what: &str) {
        for _ in 0..20 {
            step(&mut state);
        }
        let mut expected = state.clone();
        for pass in [Pass::Contacts, Pass::Walls] {
            reference::run(pass, &mut expected);
            run(pass, &mut state);
        }
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
        // More than go into a batch.
        assert!(on_floor > 130, "{what}: {on_floor} contacts with the floor");
        let loads = state.sphere_loads.iter().zip(&expected.sphere_loads);
        for (index, (load, expected)) in loads.enumerate() {
            assert_eq!(load, expected, "{what}: load of sphere {index}");
        }
        assert!(state.history == expected.history, "{what}: histories");
    }

    #[test]
    fn contacts_by_the_batch_are_contacts_one_by_one_bit_for_bit() {
        agrees(crowd(HOOKE_VISCOUS), "linear");
        agrees(crowd(HOOKE_HISTORY), "hooke");
        agrees(crowd(HERTZ_MINDLIN), "hertz");
        let mut state = crowd(HOOKE_HISTORY);
        add_terms(&mut state);
        agrees(state, "hooke, all terms");
        let mut state = crowd(HERTZ_MINDLIN);
        add_terms(&mut state);
        agrees(state, "hertz, all terms");
    }

    #[test]
    fn contacts_of_those_that_sleep_are_kept_as_one_by_one() {
        for sleep_steps in [1, 3] {
            let mut state = crowd(HOOKE_HISTORY);
            state.params.sleep_steps = sleep_steps;
            state.params.sleep_speed = 0.5;
            state.params.wake_acceleration = 1e9;
            let most = state.bodies.len() * 2 / 3;
            for body in &mut state.bodies[..most] {
                body.velocity = Vec3::ZERO;
                body.still = sleep_steps - 1;
            }
            (0..3).for_each(|_| step(&mut state));
            let count = |state: &State, is: fn(&SphereLoad) -> bool| {
                state.sphere_loads.iter().filter(|load| is(load)).count()
            };
            let kept = count(&state, SphereLoad::is_kept);
            let disturbed = count(&state, SphereLoad::is_disturbed);
            assert!(
                kept > 100 && disturbed > 400,
                "{kept} kept, {disturbed} disturbed"
            );
            agrees(state, &format!("asleep after {sleep_steps}"));
        }
    }

    #[test]
    fn spheres_with_one_centre_part_along_y() {
        let mut state = crowd(HOOKE_HISTORY);
        let (first, second) = state.bodies.split_at_mut(1);
        (second[0].cell, second[0].offset) = (first[0].cell, first[0].offset);
        step(&mut state);
        let [first, second] = [0, 1].map(|k| state.sphere_loads[k].force);
        assert!(first.y < 0.0 && second.y > 0.0, "{first} {second}");
    }
}
