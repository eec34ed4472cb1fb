//! Neighbour lists: they hold for many steps, and nothing is missed.

use crate::common::{crowd, crowd_with_history, device, large_among_small, own, walled_crowd};
use glam::DVec3;
use rockfall::internals::cpu;
use rockfall::model::{Law, Model};
use rockfall::scene;
use rockfall::state::layout::{Body, Stats};
use rockfall::state::{Field, State};
use rockfall::step::Pass;
use rockfall::step::gpu::GpuEngine;

/// Bodies, without what they drifted, and the statistics after `steps` steps on the CPU.
fn on_cpu(mut state: State, steps: u64) -> (Vec<Body>, Stats) {
    for _ in 0..steps {
        cpu::step(&mut state);
    }
    outcome(&state)
}

/// The bodies after steps on the GPU.
fn on_gpu(mut state: State, steps: u64) -> (Vec<Body>, Stats) {
    let mut engine = GpuEngine::new(device(), &state).unwrap();
    engine.step(1, steps, &mut Vec::new()).unwrap();
    engine.download(Field::Bodies, &mut state).unwrap();
    engine.download(Field::Stats, &mut state).unwrap();
    outcome(&state)
}

fn outcome(state: &State) -> (Vec<Body>, Stats) {
    let bodies = state
        .bodies
        .iter()
        .map(|body| Body {
            displacement_bound: 0.0,
            ..*body
        })
        .collect();
    (bodies, state.stats[0])
}

fn always_rebuilding(model: &Model) -> State {
    let mut state = State::new(model);
    state.params.displacement_limit = -1.0;
    state
}

/// A crowd for each law; those with a contact history have all that can be added to a law.
fn all_laws(seed: u64) -> [Model; 3] {
    let center = DVec3::splat(-3.0);
    [
        crowd(400, center, seed),
        crowd_with_history(Law::HookeHistory, 400, center, seed),
        crowd_with_history(Law::HertzMindlin, 400, center, seed),
    ]
}

type Engine = fn(State, u64) -> (Vec<Body>, Stats);
const ENGINES: [(&str, Engine); 2] = [("cpu", on_cpu), ("gpu", on_gpu)];

#[test]
fn lists_find_what_a_rebuild_at_every_step_finds() {
    // Walls with rims and of one side, which come and go abruptly.
    let walled = (1..=2).map(|seed| walled_crowd(Law::HookeHistory, 200, DVec3::splat(5.0), seed));
    for moving in all_laws(6).into_iter().chain(walled) {
        for (engine, run) in ENGINES {
            let name = format!(
                "{engine}, {:?}, {} walls",
                moving.contact.law,
                moving.walls.len()
            );
            let (always, built) = run(always_rebuilding(&moving), 300);
            let (with_lists, stats) = run(State::new(&moving), 300);
            assert_eq!(built.rebuilds, 300, "{name}");
            assert!(stats.rebuilds < 100, "{name}: {} rebuilds", stats.rebuilds);
            assert_eq!(stats.steps, 300, "{name}");
            assert!(always == with_lists, "{name}: not the same bits");
        }
    }
}

#[test]
fn lists_that_are_not_rebuilt_would_miss_contacts() {
    // The test above can fail: without the displacement bound, contacts are missed.
    let model = crowd(800, DVec3::splat(-3.0), 6);
    let mut never = State::new(&model);
    never.params.displacement_limit = f32::MAX;
    assert_ne!(on_cpu(State::new(&model), 300).0, on_cpu(never, 300).0);
}

/// Balls and cubes close to each other, most of them slow enough for thin skins, some not.
fn slow_crowd() -> Model {
    let scene = r#"{
        "version": 1,
        "gravity": [0, 0, 0],
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 2e-5 },
        "materials": { "glass": { "density": 2500, "restitution": 0.9, "friction": 0.5 } },
        "shapes": {
            "ball": { "sphere": { "radius": 0.02 }, "material": "glass" },
            "cube": { "cube": { "n": 2, "radius": 0.01 }, "material": "glass" }
        },
        "fills": [{
            "count": 150, "shapes": { "ball": 1, "cube": 1 }, "seed": 3,
            "placement": "grid", "spacing": 0.04105, "orientation": [0, 0, 0, 1],
            "velocity": { "min": [-0.2, -0.2, -0.2], "max": [0.2, 0.2, 0.2] },
            "region": { "min": [-0.13, 0, -0.13], "max": [0.13, 0.25, 0.13] }
        }]
    }"#;
    scene::parse(scene, "slow.json".as_ref()).unwrap().model
}

#[test]
fn thin_skins_of_slow_bodies_hide_nothing() {
    let model = slow_crowd();
    let fast = State::new(&model)
        .bodies
        .iter()
        .filter(|body| body.is_fast())
        .count();
    assert!((10..75).contains(&fast), "{fast} of 150 bodies are fast");
    for (engine, run) in ENGINES {
        let (always, _) = run(always_rebuilding(&model), 800);
        let (with_lists, stats) = run(State::new(&model), 800);
        assert!(stats.rebuilds < 40, "{engine}: {} rebuilds", stats.rebuilds);
        assert!(always == with_lists, "{engine}: not the same bits");
    }
}

#[test]
fn lists_of_slow_bodies_are_shorter() {
    let mut state = State::new(&slow_crowd());
    let mut all_fast = state.clone();
    all_fast
        .bodies
        .iter_mut()
        .for_each(|body| body.displacement_bound = -0.0);
    cpu::step(&mut state);
    cpu::step(&mut all_fast);
    let [few, many] = [&state, &all_fast].map(|state| state.stats[0].neighbours);
    assert!(10 * few < 9 * many, "{few} and {many} neighbours");
}

/// Entries of the lists at the start.
fn fewest_neighbours(model: &Model) -> u32 {
    let mut state = State::new(model);
    cpu::step(&mut state);
    state.stats[0].neighbours
}

/// Scenes of [`all_laws`] that contract, so that lists become longer.
fn contracting(seed: u64) -> [Model; 3] {
    let mut models = all_laws(seed);
    for body in models.iter_mut().flat_map(|model| &mut model.bodies) {
        if !body.fixed {
            body.velocity = 20.0 * (DVec3::splat(-3.0) - body.position);
        }
    }
    models
}

#[test]
fn lists_are_built_slice_by_slice_where_old_ones_were() {
    for model in contracting(8) {
        let name = format!("{:?}", model.contact.law);
        let (whole, whole_stats) = on_gpu(State::new(&model), 200);
        assert!(whole_stats.rebuilds > 10, "{name}");
        for slices in [2, 8] {
            let mut state = State::new(&model);
            state.params.slice_length = state.params.sphere_count.div_ceil(slices);
            // The ring is full to the last entry after the first step, and goes around more than once.
            state.set_neighbour_capacity(fewest_neighbours(&model));
            let (bodies, stats) = on_gpu(state, 200);
            assert_eq!(bodies, whole, "{name}, {slices} slices");
            assert_eq!(stats.steps, whole_stats.steps, "{name}, {slices} slices");
        }
    }
}

#[test]
fn large_piles_need_room_for_few_old_lists() {
    // Buffers of at most 128 MiB, as software adapters allow.
    let spheres = std::fs::read_to_string(own("scenes/bench/spheres_1m.json")).unwrap();
    let spheres = spheres.replace("1000000", "800000");
    let cubes = std::fs::read_to_string(own("scenes/bench/cubes_100k.json")).unwrap();
    for (name, text, most) in [("spheres", spheres, 400.0), ("cubes", cubes, 325.0)] {
        let model = scene::parse(&text, name.as_ref()).unwrap().model;
        let state = State::new(&model);
        assert_eq!(state.spheres.len(), 800_000);
        let engine = GpuEngine::new(device(), &state).unwrap();
        let bytes = engine.size() as f64 / 800_000.0;
        assert!(bytes < most, "{name}: {bytes} bytes a sphere");
    }
}

#[test]
fn lists_that_overflow_grow_and_nothing_is_lost() {
    for model in contracting(7) {
        for (engine, run) in ENGINES {
            let name = format!("{engine}, {:?}", model.contact.law);
            let (roomy, roomy_stats) = run(State::new(&model), 200);
            // Room for nearly nothing, and for what there is at first, but not later.
            for capacity in [16, fewest_neighbours(&model)] {
                let mut small = State::new(&model);
                small.set_neighbour_capacity(capacity);
                let (grown, stats) = run(small, 200);
                assert!(
                    stats.neighbours > capacity,
                    "{name}: {}, not more than {capacity}",
                    stats.neighbours
                );
                assert_eq!(grown, roomy, "{name}");
                assert_eq!(stats.steps, roomy_stats.steps, "{name}");
                assert_eq!(
                    stats.max_overlap_fraction, roomy_stats.max_overlap_fraction,
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn spheres_of_very_different_radii_find_each_other() {
    for ratio in [3.0, 10.0, 40.0] {
        let mut state = State::new(&large_among_small(ratio, 2000));
        state.bodies[2000].velocity.y = -1000.0;
        for _ in 0..20 {
            cpu::step(&mut state);
        }
        for pass in Pass::ALL
            .into_iter()
            .take_while(|&pass| pass != Pass::Integrate)
        {
            cpu::run(pass, &mut state);
        }
        let large = state.position(&state.bodies[2000]);
        let touching =
            |body: &&Body| (state.position(body) - large).length() < f64::from(ratio as f32 + 1.0);
        let expected = state.bodies[..2000].iter().filter(touching).count() as u32;
        assert!(
            expected > 0,
            "ratio {ratio}: the large ball must have arrived"
        );
        assert_eq!(
            state.sphere_loads[2000].sphere_contacts(),
            expected,
            "ratio {ratio}"
        );
        let of_small: u32 = state
            .sphere_loads
            .iter()
            .map(|load| load.sphere_contacts())
            .sum();
        let mut pairs = expected;
        for (k, a) in state.bodies[..2000].iter().enumerate() {
            let place = state.position(a);
            let near = |b: &&Body| (state.position(b) - place).length() < 2.0;
            pairs += state.bodies[..k].iter().filter(near).count() as u32;
        }
        // Distances of exactly two radii are as good as none; there are none here.
        assert_eq!(of_small, 2 * pairs, "ratio {ratio}");
    }
}

#[test]
fn engines_agree_on_spheres_of_very_different_radii() {
    let mut state = State::new(&large_among_small(10.0, 500));
    state.bodies[500].velocity.y = -1000.0;
    let (on_cpu, _) = on_cpu(state.clone(), 30);
    let (on_gpu, _) = on_gpu(state, 30);
    for (a, b) in on_cpu.iter().zip(&on_gpu) {
        assert!((a.velocity - b.velocity).length() < 1e-2 * (1.0 + a.velocity.length()));
    }
}
