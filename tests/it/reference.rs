//! The fast CPU engine has the bits of the reference, and the reference in double precision is nearer to the truth.

use std::path::{Path, PathBuf};

use crate::common::{
    bond_laws, bonded_crowd, crowd, crowd_with_history, forced_crowd, healed, large_among_small,
    own, periodic_crowd, walled_crowd,
};
use glam::DVec3;
use rockfall::Simulation;
use rockfall::internals::bond::bonds;
use rockfall::internals::{cpu, reference};
use rockfall::model::{Cohesion, Law, Model, Rolling};
use rockfall::scene;
use rockfall::simulation::Precision;
use rockfall::state::State;
use rockfall::state::layout::{ASLEEP, Body, SphereLoad};
use rockfall::step::Pass;

/// The first difference, as text.
fn difference(fast: &State, plain: &State) -> Option<String> {
    fn first<T: PartialEq + std::fmt::Debug>(
        name: &str,
        fast: &[T],
        plain: &[T],
    ) -> Option<String> {
        if fast.len() != plain.len() {
            return Some(format!("{name}: {} and {}", fast.len(), plain.len()));
        }
        let at = fast.iter().zip(plain).position(|(a, b)| a != b)?;
        Some(format!("{name} {at}: {:?}\n and {:?}", fast[at], plain[at]))
    }
    first("sphere", &fast.spheres, &plain.spheres)
        .or_else(|| {
            first(
                "start of list",
                &fast.neighbour_starts,
                &plain.neighbour_starts,
            )
        })
        .or_else(|| first("neighbour", &fast.neighbours, &plain.neighbours))
        .or_else(|| first("load", &fast.sphere_loads, &plain.sphere_loads))
        .or_else(|| first("history", &fast.history, &plain.history))
        .or_else(|| first("wall load", &fast.wall_loads, &plain.wall_loads))
        .or_else(|| first("force", &fast.body_forces, &plain.body_forces))
        .or_else(|| first("bond", &fast.bonds, &plain.bonds))
        .or_else(|| first("account", &fast.body_bonds, &plain.body_bonds))
        .or_else(|| first("wall", &fast.walls, &plain.walls))
        .or_else(|| first("body", &fast.bodies, &plain.bodies))
        .or_else(|| first("stats", &fast.stats, &plain.stats))
        .or_else(|| (fast != plain).then(|| "something else".to_owned()))
}

/// Both engines over some steps from the same start, and then each pass by itself. Returns the state.
fn agree(start: State, steps: u64, what: &str) -> State {
    let mut plain = reference::State::<f32>::of(&start);
    let mut fast = start.clone();
    let mut from_plain = start;
    let mut engine = cpu::CpuEngine::default();
    for step in 1..=steps {
        if step % 25 == 1 || step == steps {
            one_after_the_other(&fast, &format!("{what}, step {step}"));
        }
        plain.step();
        engine.steps(&mut fast, 1, None);
        if step % 25 == 0 || step == steps {
            plain.give(&mut from_plain);
            if let Some(found) = difference(&fast, &from_plain) {
                panic!("{what}, after {step} steps: {found}");
            }
        }
    }
    fast
}

fn one_after_the_other(start: &State, what: &str) {
    let mut fast = start.clone();
    for pass in Pass::ALL {
        if !cpu::is_due(pass, &fast) {
            continue;
        }
        let mut plain = fast.clone();
        reference::run(pass, &mut plain);
        cpu::run(pass, &mut fast);
        if let Some(found) = difference(&fast, &plain) {
            panic!("{what}, pass {}: {found}", pass.name());
        }
    }
}

const CENTER: DVec3 = DVec3::new(3.0, -7.0, 1.0);

fn touching(state: &State, contacts: fn(&SphereLoad) -> u32) -> u32 {
    state.sphere_loads.iter().map(contacts).sum()
}

#[test]
fn crowds_have_the_same_bits() {
    for spheres in [1, 2, 300, 700] {
        let state = State::new(&crowd(spheres, CENTER, spheres as u64));
        agree(state, 60, &format!("{spheres} spheres"));
    }
    let far = State::new(&crowd(500, DVec3::splat(-1e4), 3));
    let after = agree(far, 60, "far from the origin");
    assert!(touching(&after, SphereLoad::sphere_contacts) > 100);
    let mut crowded = State::new(&crowd(500, DVec3::ZERO, 5));
    crowded.params.bucket_count = 16;
    crowded.bucket_starts = vec![0; 17];
    agree(crowded, 30, "cells that share buckets");
    let levels = State::new(&large_among_small(10.0, 300));
    assert!(levels.params.level_count > 2);
    agree(levels, 60, "several levels");
}

#[test]
fn laws_with_history_have_the_same_bits() {
    for law in [Law::HookeHistory, Law::HertzMindlin] {
        for limit_damping in [true, false] {
            let mut model = crowd_with_history(law.clone(), 500, CENTER, 6);
            model.contact.limit_damping = limit_damping;
            model.contact.rescales = limit_damping;
            let after = agree(
                State::new(&model),
                150,
                &format!("{law:?}, {limit_damping}"),
            );
            assert!(touching(&after, SphereLoad::sphere_contacts) > 100);
        }
    }
    // Terms that do not go together in one pair.
    let mut model = crowd_with_history(Law::HookeHistory, 400, CENTER, 8);
    let count = model.materials.len();
    for (element, pair) in model.pairs.iter_mut().enumerate() {
        // The same for both orders of two materials.
        let index = element / count + element % count;
        pair.rolling = [Rolling::Constant, Rolling::Spring][index % 2];
        pair.rolling_friction = 0.2;
        pair.twisting_friction = 0.1;
        pair.cohesion = match index % 3 {
            0 => Cohesion::Constant {
                force: 1.0,
                range: 1e-3,
            },
            1 => Cohesion::SurfaceEnergy(0.5),
            _ => Cohesion::None,
        };
    }
    agree(State::new(&model), 150, "all terms");
}

#[test]
fn walls_of_all_kinds_have_the_same_bits() {
    for law in [Law::HookeViscous, Law::HookeHistory, Law::HertzMindlin] {
        let mut state = State::new(&walled_crowd(law.clone(), 400, CENTER, 6));
        state.params.wall_loads = 1;
        let after = agree(state, 120, &format!("walls, {law:?}"));
        assert!(touching(&after, SphereLoad::wall_contacts) > 20);
    }
}

#[test]
fn periodic_boxes_have_the_same_bits() {
    for periodic in [[true, false, true], [false, true, false], [true; 3]] {
        let state = State::new(&periodic_crowd(500, CENTER, 3, periodic));
        agree(state, 60, &format!("periodic along {periodic:?}"));
    }
}

#[test]
fn forces_and_sleep_have_the_same_bits() {
    for sleep_steps in [0, 10] {
        let mut model = forced_crowd(400, CENTER, 7);
        model.forces.groups[0].ignores = 0b10;
        let mut state = State::new(&model);
        state.params.sleep_steps = sleep_steps;
        state.params.sleep_speed = 1.0;
        state.params.wake_acceleration = 20.0;
        state.params.pulled = 3;
        state.params.pull_stiffness = 100.0;
        state.params.pull_damping = 1.0;
        for body in state.bodies.iter_mut().step_by(3) {
            body.velocity *= 0.01;
            body.angular_momentum *= 0.01;
        }
        let after = agree(state, 150, &format!("forces, sleep {sleep_steps}"));
        let sleeps = |body: &Body| body.still & ASLEEP != 0;
        assert_eq!(after.bodies.iter().any(sleeps), sleep_steps > 0);
    }
    // Walls that move come to bodies that sleep.
    let mut state = State::new(&walled_crowd(Law::HookeHistory, 100, CENTER, 6));
    state.params.sleep_steps = 1;
    state.params.sleep_speed = 3.0;
    state.params.wake_acceleration = 2e3;
    let after = agree(state, 30, "moving walls, sleep");
    let loads = after.sphere_loads.iter();
    assert!(loads.filter(|load| load.is_disturbed()).count() > 10);
}

#[test]
fn bonds_have_the_same_bits() {
    let mut periodic = periodic_crowd(400, CENTER, 3, [true, false, true]);
    let (laws, domain) = (bond_laws(), periodic.domain.as_ref());
    periodic.bonds = bonds(&laws, &periodic.bodies, &periodic.shapes, domain);
    for (model, what) in [
        (bonded_crowd(500, CENTER, 5), "open"),
        (periodic, "periodic"),
    ] {
        let after = agree(State::new(&model), 80, &format!("bonds, {what}"));
        let [count, broken] = after.count_bonds();
        assert!(0 < broken && broken < count, "{what}: {broken} of {count}");
        assert!(healed(&after) > 0, "{what}");
    }
}

fn load(path: &Path) -> Model {
    scene::load(path)
        .unwrap_or_else(|error| panic!("{error}"))
        .model
}

/// Sphere-steps of each scene.
const FEW: u64 = 20_000;

#[test]
fn scenes_have_the_same_bits() {
    let root = own("");
    let mut paths: Vec<PathBuf> = ["scenes", "scenes/ancestors"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    paths.sort();
    let everything = include_str!("../data/everything.json");
    let everything = scene::parse(everything, &root.join("everything.json")).unwrap();
    agree(State::new(&everything.model), 100, "everything");
    let mut count = 0;
    for path in paths {
        let model = load(&path);
        let spheres = model.sphere_count() as u64;
        if spheres > FEW || model.contact.law.custom().is_some() {
            continue;
        }
        let steps = (FEW / spheres.max(1)).clamp(2, 300);
        let what = path.file_name().unwrap().to_string_lossy();
        agree(State::new(&model), steps, &what);
        count += 1;
    }
    assert!(count > 40, "{count} scenes");
}

/// Balls that meet in the air, without friction and gravity.
const BALLS: &str = r#"{
    "version": 1,
    "gravity": [0, 0, 0],
    "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4 },
    "materials": { "steel": { "density": 7800, "restitution": 1, "friction": 0.3 } },
    "shapes": { "ball": { "sphere": { "radius": 0.01 }, "material": "steel" } },
    "fills": [{
        "count": 60, "shapes": { "ball": 1 }, "seed": 3,
        "region": { "min": [0, 0, 0], "max": [0.1, 0.1, 0.1] },
        "velocity": { "min": [-2, -2, -2], "max": [2, 2, 2] }
    }]
}"#;

fn balls() -> Model {
    scene::parse(BALLS, "balls.json".as_ref())
        .unwrap_or_else(|error| panic!("{error}"))
        .model
}

/// Sum of the velocities, m/s, and the place of the first body, m, after some steps.
fn after<R: reference::Real>(model: &Model, steps: u64) -> (DVec3, DVec3) {
    let mut state = reference::State::<R>::new(model, &State::new(model));
    (0..steps).for_each(|_| state.step());
    let bodies = 0..model.bodies.len();
    let momentum = bodies.map(|body| state.velocity(body)).sum();
    (momentum, state.position(0))
}

#[test]
fn double_precision_flies_as_the_formula_does() {
    let mut model = balls();
    model.bodies.truncate(1);
    model.gravity = DVec3::new(0.3, -9.81, 0.1);
    model.time_step = 1e-4;
    let steps = 5000;
    let body = &model.bodies[0];
    let (count, step) = (steps as f64, model.time_step);
    // Of semi-implicit Euler.
    let fallen = 0.5 * count * (count + 1.0) * step * step * model.gravity;
    let expected = body.position + count * step * body.velocity + fallen;
    let error = |found: DVec3| (found - expected).length();
    let single = error(after::<f32>(&model, steps).1);
    let double = error(after::<f64>(&model, steps).1);
    assert!(double < 1e-12, "{double:e} m");
    assert!(single > 1e4 * double, "{single:e} m and {double:e} m");
}

#[test]
fn double_precision_keeps_momentum() {
    let model = balls();
    let start: DVec3 = model.bodies.iter().map(|body| body.velocity).sum();
    let single = (after::<f32>(&model, 400).0 - start).length();
    let double = (after::<f64>(&model, 400).0 - start).length();
    assert!(double < 1e-12, "{double:e} m/s");
    assert!(single > 1e3 * double, "{single:e} m/s and {double:e} m/s");
}

/// A look of the host rounds a copy, and not the numbers of the engine.
#[test]
fn double_precision_survives_a_look() {
    for text in [BALLS, include_str!("../data/everything.json")] {
        let path = own("").join("scene.json");
        let model = scene::parse(text, &path).unwrap().model;
        let [mut at_once, mut in_pieces, mut single] =
            [Precision::Double, Precision::Double, Precision::Single]
                .map(|precision| Simulation::on_reference(model.clone(), precision).unwrap());
        at_once.step(300).unwrap();
        single.step(300).unwrap();
        for _ in 0..300 {
            in_pieces.step(1).unwrap();
            in_pieces.state().unwrap();
        }
        assert!(at_once.state().unwrap() == in_pieces.state().unwrap());
        assert!(at_once.state().unwrap().bodies != single.state().unwrap().bodies);
    }
}

#[test]
fn the_engine_has_the_hash_of_the_fast_one() {
    let root = own("");
    let everything = include_str!("../data/everything.json");
    let model = scene::parse(everything, &root.join("scene.json"))
        .unwrap()
        .model;
    let mut plain = Simulation::on_reference(model.clone(), Precision::Single).unwrap();
    let mut fast = Simulation::on_cpu(model, Some(1)).unwrap();
    for simulation in [&mut plain, &mut fast] {
        simulation.step(250).unwrap();
    }
    let [plain, fast] = [&mut plain, &mut fast].map(|simulation| simulation.summary().unwrap());
    assert_eq!(plain.state_hash, fast.state_hash);
}

#[test]
fn a_custom_law_is_refused() {
    let root = own("");
    let model = load(&root.join("scenes/custom_law.json"));
    for precision in [Precision::Single, Precision::Double] {
        let refused = Simulation::on_reference(model.clone(), precision).err();
        let on_cpu = Simulation::on_cpu(model.clone(), None).err();
        let sentence = refused.map(|error| error.to_string());
        assert!(sentence.is_some());
        assert_eq!(sentence, on_cpu.map(|error| error.to_string()));
    }
}
