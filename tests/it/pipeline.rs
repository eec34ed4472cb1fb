//! The GPU engine has several submissions under way: the host seldom waits, and the outcome does not depend on it.

use crate::common::{device, open, own, walled_crowd};
use glam::DVec3;
use rockfall::internals::cpu;
use rockfall::model::forces::Sleep;
use rockfall::model::{Law, Model};
use rockfall::state::layout::{ASLEEP, Body, FAST, Params, Sphere, SphereLoad, SphereSource, Wall};
use rockfall::state::trace::{Sample, Trace};
use rockfall::state::{Field, State};
use rockfall::step::gpu::GpuEngine;
use rockfall::{Simulation, scene};
use serde_json::{Value, json};

/// More than the engine has poses of walls for at a time.
const STEPS: u64 = 1200;

/// Few bodies among walls that move by prescription and under load: submissions get long, and halt.
fn moving() -> Model {
    walled_crowd(Law::HookeHistory, 60, DVec3::splat(5.0), 3)
}

/// Bodies and walls, without what they drifted, and the samples of a run.
type Outcome = (Vec<Body>, Vec<Wall>, Vec<Sample>);

fn engine(state: &State, traced: bool) -> GpuEngine {
    let mut engine = GpuEngine::new(device(), state).unwrap();
    if traced {
        let bodies = vec![0, 1, 5];
        engine.set_trace(&Trace { bodies, every: 7 }, state);
    }
    engine
}

fn outcome(engine: &GpuEngine, mut state: State, mut samples: Vec<Sample>) -> Outcome {
    engine.download(Field::Bodies, &mut state).unwrap();
    engine.download(Field::Walls, &mut state).unwrap();
    state
        .bodies
        .iter_mut()
        .for_each(|body| body.displacement_bound = 0.0);
    state
        .walls
        .iter_mut()
        .for_each(|wall| wall.displacement_bound = 0.0);
    let sampled = samples.iter_mut();
    sampled.for_each(|sample| sample.state.displacement_bound = 0.0);
    (state.bodies, state.walls, samples)
}

/// The outcome of a run in calls of at most `piece` steps.
fn run(state: State, piece: u64, traced: bool) -> Outcome {
    let mut engine = engine(&state, traced);
    let (mut done, mut samples) = (0, Vec::new());
    while done < STEPS {
        let wanted = piece.min(STEPS - done);
        assert_eq!(engine.step(done + 1, wanted, &mut samples).unwrap(), wanted);
        done += wanted;
    }
    outcome(&engine, state, samples)
}

#[test]
fn the_outcome_does_not_depend_on_what_is_under_way() {
    let state = State::new(&moving());
    let (bodies, walls, samples) = run(state.clone(), 3, true);
    assert_eq!(samples.len() as u64, 3 * (STEPS / 7));
    let mut cramped = state.clone();
    cramped.set_neighbour_capacity(16);
    for (name, state) in [("room", &state), ("no room", &cramped)] {
        for traced in [false, true] {
            let at_once = run(state.clone(), STEPS, traced);
            assert!(at_once.0 == bodies, "{name}, traced {traced}: bodies");
            assert!(at_once.1 == walls, "{name}, traced {traced}: walls");
            let expected = if traced { &samples[..] } else { &[] };
            assert!(at_once.2 == expected, "{name}, traced {traced}: samples");
        }
    }
}

#[test]
fn the_host_waits_for_several_submissions_at_a_time() {
    for traced in [false, true] {
        let state = State::new(&moving());
        let mut engine = engine(&state, traced);
        engine.step(1, STEPS, &mut Vec::new()).unwrap();
        let (waits, submissions) = (engine.waits(), engine.submissions());
        // Those at the end, and where lists grow, it waits for one by one.
        assert!(
            waits <= submissions / 2 + 5,
            "traced {traced}: {waits} waits for {submissions} submissions"
        );
    }
}

#[test]
fn balls_that_are_posed_with_their_bodies_have_the_same_bits() {
    let text = r#"{
        "version": 1, "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4 },
        "materials": { "glass": { "density": 2500, "restitution": 0.3, "friction": 0.5 } },
        "shapes": {
            "ball": { "sphere": { "radius": 0.02 }, "material": "glass" },
            "shot": { "sphere": { "radius": 0.015 }, "material": "glass" }
        },
        "planes": [{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "glass" }],
        "bodies": [{ "shape": "ball", "position": [0, 0.02, 0], "fixed": true }],
        "fills": [{ "count": 150, "shapes": { "ball": 1, "shot": 1 }, "seed": 2,
                    "region": { "min": [-0.15, 0.05, -0.15], "max": [0.15, 0.3, 0.15] },
                    "velocity": { "min": [-1, -3, -1], "max": [1, -1, 1] } }]
    }"#;
    let model = scene::parse(text, "balls.json".as_ref()).unwrap().model;
    same_in_all_ways(&State::new(&model));
    same_when_some_sleep(model);
}

/// Compares all ways to derive spheres while some of the bodies fall asleep, and others do not.
fn same_when_some_sleep(mut model: Model) {
    model.sleep = Some(Sleep {
        speed: 0.5,
        after: 20.0 * model.time_step,
        wake: 20.0,
    });
    let bodies = same_in_all_ways(&State::new(&model));
    let sleep = |body: &Body| body.still & ASLEEP != 0;
    assert!(bodies.iter().any(sleep) && !bodies.iter().all(sleep));
}

/// Bodies after some steps: spheres are derived from their bodies, by all tables that there are, or posed as bodies are moved.
fn same_in_all_ways(start: &State) -> Vec<Body> {
    let own = start.params.sphere_source();
    assert_ne!(own, SphereSource::Posed);
    let found = same_at_once_and_one_by_one(start);
    let mut other = start.clone();
    if own == SphereSource::Balls {
        other.params.balls = 0;
        assert_eq!(other.params.sphere_source(), SphereSource::Clumps);
        let by_kinds = same_at_once_and_one_by_one(&other);
        assert!(found == by_kinds, "balls by the tables of clumps");
    }
    other.params.clumps = 0;
    assert_eq!(other.params.sphere_source(), SphereSource::Posed);
    let posed = same_at_once_and_one_by_one(&other);
    assert!(found == posed, "spheres that are derived and posed");
    found
}

/// Clumps of several shapes in a box that is periodic along x, one of them fixed and one that turns.
fn clumps(contact: Value) -> Value {
    json!({
        "version": 1, "contact": contact,
        "materials": { "glass": { "density": 2500, "restitution": 0.3, "friction": 0.5 } },
        "shapes": {
            "cube": { "cube": { "n": 2, "radius": 0.012 }, "material": "glass" },
            "block": { "cube": { "n": 3, "radius": 0.01 }, "material": "glass" },
            "rod": { "spheres": [
                { "center": [-0.03, 0, 0], "radius": 0.015 }, { "center": [-0.01, 0, 0], "radius": 0.02 },
                { "center": [0.02, 0, 0], "radius": 0.018 } ], "material": "glass" },
            "shot": { "sphere": { "radius": 0.015 }, "material": "glass" }
        },
        "domain": { "min": [-0.2, -0.1, -0.2], "max": [0.2, 0.6, 0.2], "periodic": [true, false, false] },
        "planes": [
            { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "glass" },
            { "point": [0, 0, -0.15], "normal": [0, 0, 1], "material": "glass" },
            { "point": [0, 0, 0.15], "normal": [0, 0, -1], "material": "glass" } ],
        "bodies": [
            { "shape": "rod", "position": [0.19, 0.02, 0], "fixed": true },
            { "shape": "cube", "position": [0, 0.04, 0.05], "angular_velocity": [0, 3, 0], "kinematic": true } ],
        "fills": [{ "count": 40, "shapes": { "cube": 2, "block": 1, "rod": 2, "shot": 1 }, "seed": 2,
                    "region": { "min": [-0.2, 0.1, -0.15], "max": [0.2, 0.5, 0.15] },
                    "velocity": { "min": [-1, -3, -1], "max": [1, -1, 1] } }]
    })
}

fn made(scene: &Value) -> Model {
    let read = scene::parse(&scene.to_string(), "clumps.json".as_ref());
    read.unwrap().model
}

fn hooke() -> Value {
    json!({ "normal": "hooke", "tangential": "history", "stiffness": 1e4 })
}

#[test]
fn clumps_that_are_posed_with_their_bodies_have_the_same_bits() {
    for contact in [hooke(), json!({ "normal": "impulse" })] {
        same_when_some_sleep(made(&clumps(contact)));
    }
}

/// A sphere is that of another body once bodies have come and gone.
#[test]
fn clumps_that_come_and_go_have_the_same_bits() {
    let mut scene = clumps(hooke());
    scene["planes"].as_array_mut().unwrap().remove(0);
    scene["inlets"] = json!([{ "rate": 400, "shapes": { "cube": 1, "shot": 1 }, "velocity": [0, -3, 0], "seed": 1,
                               "region": { "min": [-0.15, 0.5, -0.1], "max": [0.15, 0.58, 0.1] } }]);
    scene["outlets"] = json!([{ "inside": { "min": [-1, -5, -1], "max": [1, -0.02, 1] } }]);
    let model = made(&scene);
    let params = State::new(&model).params;
    assert_eq!(params.sphere_source(), SphereSource::Clumps);
    let [derived, posed] = [false, true].map(|is_software| {
        let context = device().clone().taken_for_software(is_software);
        let mut simulation = Simulation::on_gpu(model.clone(), &context).unwrap();
        simulation.step((0.2 / model.time_step) as u64).unwrap();
        simulation.state().unwrap().clone()
    });
    let ids: Vec<u64> = derived.identities.iter().map(|own| own.id).collect();
    let first = u64::from(params.body_count);
    assert!(
        ids.iter().filter(|&&id| id < first).count() < 30,
        "{ids:?} stay"
    );
    assert!(ids.iter().any(|&id| id >= first), "{ids:?} have come");
    assert!(derived.bodies == posed.bodies, "bodies");
    assert!(derived.sphere_loads == posed.sphere_loads, "loads");
}

/// One with many spheres needs no pass `pose` either.
#[test]
fn clumps_are_derived_however_many_spheres_they_have() {
    let mut state = State::new(&made(&clumps(hooke())));
    state.params.sphere_count = 27 * state.params.body_count;
    assert!(state.params.poses_early());
    state.params.clumps = 0;
    assert!(!state.params.poses_early());
    let own = State::new(&made(&clumps(hooke()))).params;
    assert_eq!(own.sphere_source(), SphereSource::Clumps);
    // What else reads spheres in each step.
    for other in [Params { heat: 1, ..own }, Params { deforms: 1, ..own }] {
        assert_eq!(other.sphere_source(), SphereSource::Posed);
    }
}

/// To a software adapter arithmetic costs more than bytes.
#[test]
fn a_software_adapter_poses_clumps() {
    let mut state = State::new(&made(&clumps(hooke())));
    let gpu = open();
    let software = gpu.clone().taken_for_software(true);
    let outcome_on = |context, state: &State| {
        let mut engine = GpuEngine::new(context, state).unwrap();
        engine.step(1, 300, &mut Vec::new()).unwrap();
        (outcome(&engine, state.clone(), Vec::new()), gpu.compiled())
    };
    let (derived, of_derived) = outcome_on(&gpu, &state);
    let (posed, of_both) = outcome_on(&software, &state);
    assert!(of_both > of_derived, "{of_both} programs");
    assert!(posed == derived);
    state.params.clumps = 0;
    let (_, compiled) = outcome_on(&gpu, &state);
    assert_eq!(compiled, of_both, "it has posed the same way");
}

/// A sphere whose offset is rounded to the end of its cell is in the next one, in a periodic box the first.
#[test]
fn balls_at_the_end_of_their_cells_have_the_same_bits() {
    let text = r#"{
        "version": 1, "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4 },
        "materials": { "glass": { "density": 2500, "restitution": 0.3, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.02 }, "material": "glass" } },
        "gravity": [0, 0, -9.81],
        "domain": { "min": [0, 0, 0], "max": [0.4, 0.4, 0.4], "periodic": [true, true, false] },
        "planes": [{ "point": [0, 0, 0.01], "normal": [0, 0, 1], "material": "glass" }],
        "fills": [{ "count": 200, "shapes": { "ball": 1 }, "seed": 2,
                    "region": { "min": [0, 0, 0.03], "max": [0.4, 0.4, 0.3] },
                    "velocity": { "min": [-1, -1, -3], "max": [1, 1, -2] } }]
    }"#;
    let model = scene::parse(text, "balls.json".as_ref()).unwrap().model;
    let mut start = State::new(&model);
    for _ in 0..400 {
        cpu::step(&mut start);
    }
    for (body, k) in start.bodies.iter_mut().zip(0..) {
        body.offset[k % 2] = u32::MAX;
    }
    start.stats[0].stale = 1;
    let mut by_kinds = start.clone();
    by_kinds.params.balls = 0;
    let mut posed = by_kinds.clone();
    posed.params.clumps = 0;
    let [found, by_kinds, posed] = [start, by_kinds, posed].map(|start| {
        let mut engine = engine(&start, false);
        engine.step(1, 2, &mut Vec::new()).unwrap();
        let mut state = start.clone();
        engine.download(Field::Bodies, &mut state).unwrap();
        engine.download(Field::SphereLoads, &mut state).unwrap();
        state
    });
    let loads = posed.sphere_loads.iter();
    let touching =
        |contacts: fn(&SphereLoad) -> u32| loads.clone().filter(|load| contacts(load) > 0).count();
    assert!(touching(SphereLoad::sphere_contacts) > 20 && touching(SphereLoad::wall_contacts) > 5);
    for derived in [found, by_kinds] {
        assert!(derived.bodies == posed.bodies, "bodies");
        assert!(derived.sphere_loads == posed.sphere_loads, "loads");
    }
}

/// Bodies after some steps. Only steps in one submission pose balls for each other.
fn same_at_once_and_one_by_one(start: &State) -> Vec<Body> {
    assert!(start.params.poses_early());
    let [at_once, one_by_one] = [900, 1].map(|piece| {
        let mut engine = engine(start, false);
        for step in (1..=900).step_by(piece) {
            let taken = engine.step(step, piece as u64, &mut Vec::new()).unwrap();
            assert_eq!(taken, piece as u64);
        }
        let mut state = start.clone();
        for field in [Field::Bodies, Field::Spheres, Field::SphereLoads] {
            engine.download(field, &mut state).unwrap();
        }
        let drifted = state.bodies.iter_mut();
        drifted.for_each(|body| body.displacement_bound = 0.0);
        state
    });
    assert!(at_once.bodies == one_by_one.bodies, "bodies");
    // Whether a body is fast shows when lists are built, and the two runs build them in other steps.
    assert!(at_once.sphere_loads == one_by_one.sphere_loads, "loads");
    let spheres = at_once.spheres.iter().zip(&one_by_one.spheres);
    for (own, other) in spheres {
        let tags = own.tags ^ other.tags;
        assert!(tags & !FAST == 0, "{own:?} {other:?}");
        assert_eq!(
            Sphere {
                tags: other.tags,
                ..*own
            },
            *other
        );
    }
    at_once.bodies
}

#[test]
fn a_call_for_one_step_waits_once() {
    let mut state = State::new(&moving());
    let mut engine = engine(&state, true);
    engine.step(1, 100, &mut Vec::new()).unwrap();
    let before = engine.waits();
    for step in 101..=150 {
        engine.step(step, 1, &mut Vec::new()).unwrap();
        engine.download(Field::Stats, &mut state).unwrap();
    }
    assert_eq!(u64::from(state.stats[0].steps), 150);
    let waits = engine.waits() - before;
    assert!(waits <= 50, "{waits} waits for 50 steps");
}

#[test]
fn those_who_cannot_block_get_the_same() {
    let state = State::new(&moving());
    let blocking = run(state.clone(), STEPS, true);
    let mut engine = engine(&state, true);
    let before = engine.waits();
    let mut samples = Vec::new();
    let taken = pollster::block_on(engine.step_async(1, STEPS, &mut samples));
    assert_eq!(taken.unwrap(), STEPS);
    assert_eq!(engine.waits(), before, "the thread must not block");
    assert!(outcome(&engine, state, samples) == blocking);
}

#[test]
fn a_simulation_that_cannot_block_takes_the_same_steps() {
    // Bodies come in, so buffers are read and replaced in between.
    let model = scene::load(&own("scenes/pour.json")).unwrap().model;
    for start in [
        Simulation::on_cpu(model.clone(), Some(1)).unwrap(),
        Simulation::on_gpu(model.clone(), device()).unwrap(),
    ] {
        let on_gpu = start.gpu().is_some();
        let mut simulation = start;
        let start = simulation.state().unwrap().clone();
        simulation.step(450).unwrap();
        let blocking = simulation.summary().unwrap();
        assert!(simulation.body_count() > start.bodies.len());

        simulation.restore(&start, 0).unwrap();
        let waits = |simulation: &Simulation| simulation.gpu().map(GpuEngine::waits);
        let before = waits(&simulation);
        pollster::block_on(simulation.step_async(450)).unwrap();
        assert_eq!(waits(&simulation), before, "the thread must not block");
        assert_eq!(simulation.steps(), 450);
        let pending = simulation.summary().unwrap();
        assert_eq!(
            pending.state_hash, blocking.state_hash,
            "on the GPU: {on_gpu}"
        );
    }
}

/// A program serves all simulations on a device; of custom laws, those of one are kept.
#[test]
fn a_device_keeps_what_it_has_compiled() {
    let state = State::new(&moving());
    engine(&state, false);
    let compiled = device().compiled();
    assert!(compiled > 10, "{compiled}");
    engine(&state, false);
    assert_eq!(device().compiled(), compiled);
    let with_law = |factor: u32| {
        let law = format!(
            "fn contact_law(contact: Contact, pair: Pair, history: History, params: Params) -> Response {{
                var response = with_history(contact, pair, history, params);
                response.force *= {factor}.0;
                return response;
            }}"
        );
        GpuEngine::with_law(device(), &state, Some(&law)).unwrap();
        device().compiled()
    };
    let one = with_law(1);
    assert_eq!(with_law(2), one);
}
