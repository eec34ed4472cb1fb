//! The GPU engine has several submissions under way: the host seldom waits, and the outcome does not depend on it.

use crate::common::{device, own, walled_crowd};
use glam::DVec3;
use rockfall::model::{Law, Model};
use rockfall::state::layout::{Body, Wall};
use rockfall::state::trace::{Sample, Trace};
use rockfall::state::{Field, State};
use rockfall::step::gpu::GpuEngine;
use rockfall::{Simulation, scene};

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
