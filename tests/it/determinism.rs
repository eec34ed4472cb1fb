//! Determinism: a scene gives the same bits, run after run.

use crate::common::{crowd, crowd_with_history, device, model};
use glam::DVec3;
use rockfall::Simulation;
use rockfall::model::{Law, Model};

/// Hash after `steps` steps, taken in pieces.
fn hash(mut simulation: Simulation, pieces: &[u64]) -> u64 {
    for &steps in pieces {
        simulation.step(steps).unwrap();
    }
    simulation.summary().unwrap().state_hash
}

fn on_cpu(model: &Model, threads: usize) -> Simulation {
    Simulation::on_cpu(model.clone(), Some(threads)).unwrap()
}

fn on_gpu(model: &Model) -> Simulation {
    Simulation::on_gpu(model.clone(), device()).unwrap()
}

/// A crowd for each law; those with a contact history have all that can be added to a law.
fn crowds(spheres: usize) -> [Model; 3] {
    let crowd_of = |law| crowd_with_history(law, spheres, DVec3::ZERO, 1);
    [
        crowd(spheres, DVec3::ZERO, 1),
        crowd_of(Law::HookeHistory),
        crowd_of(Law::HertzMindlin),
    ]
}

#[test]
fn the_number_of_threads_does_not_matter() {
    for model in crowds(1500) {
        let one = hash(on_cpu(&model, 1), &[200]);
        assert_eq!(one, hash(on_cpu(&model, 2), &[200]));
        assert_eq!(one, hash(on_cpu(&model, 3), &[100, 1, 99]));
        assert_ne!(one, hash(on_cpu(&model, 1), &[199]), "the hash sees a step");
    }
}

#[test]
fn two_runs_on_the_gpu_are_identical() {
    run_twice(500);
}

#[test]
#[ignore = "slow: minutes on a software adapter"]
fn two_large_runs_on_the_gpu_are_identical() {
    run_twice(5000);
}

fn run_twice(spheres: usize) {
    for model in crowds(spheres) {
        let first = hash(on_gpu(&model), &[100]);
        assert_eq!(first, hash(on_gpu(&model), &[100]));
        assert_eq!(first, hash(on_gpu(&model), &[3, 70, 27]));
    }
}

#[test]
fn a_run_that_starts_again_from_its_middle_is_identical() {
    for model in crowds(500) {
        let history = model.contact.law != Law::HookeViscous;
        for start in [|model: &Model| on_cpu(model, 2), on_gpu] {
            let mut whole = start(&model);
            whole.step(60).unwrap();
            let middle = whole.state().unwrap().clone();
            let end = hash(whole, &[40]);
            let mut again = start(&model);
            again.restore(&middle, 60).unwrap();
            assert_eq!(end, hash(again, &[40]));
            if history {
                // Contact histories are a part of the state.
                let mut forgetful = middle.clone();
                forgetful.history.fill(glam::Vec4::ZERO);
                let mut again = start(&model);
                again.restore(&forgetful, 60).unwrap();
                assert_ne!(end, hash(again, &[40]));
            }
        }
    }
}

/// A body that falls freely has the same velocity and angular momentum on both engines, bit for bit: they
/// round alike. A compiler that takes the sums of rounding apart would show here.
#[test]
fn both_engines_round_alike() {
    let scene = r#"{
        "version": 1,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 2e-5 },
        "materials": { "m": { "density": 1000, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "m" } },
        "bodies": [ { "shape": "ball", "velocity": [0.3, 2, 0] } ]
    }"#;
    let model = crate::common::model(scene);
    let (mut cpu, mut gpu) = (on_cpu(&model, 1), on_gpu(&model));
    for _ in 0..40 {
        cpu.step(25).unwrap();
        gpu.step(25).unwrap();
        let [one, other] =
            [&mut cpu, &mut gpu].map(|simulation| simulation.bodies().unwrap()[0].velocity);
        assert_eq!(one, other);
    }
}

/// Balls that come to rest and fall asleep, until a heavy one drops among them.
fn sleepers() -> Model {
    model(
        r#"{
            "version": 1, "contact": { "normal": "hooke", "tangential": "history", "stiffness": 2e4 },
            "materials": { "stone": { "density": 2500, "restitution": 0.1, "friction": 0.5, "rolling_friction": 0.1 } },
            "shapes": {
                "ball": { "sphere": { "radius": 0.03 }, "material": "stone" },
                "pair": { "rod": { "n": 2, "radius": 0.025, "spacing": 0.03 }, "material": "stone" },
                "boulder": { "sphere": { "radius": 0.06 }, "material": "stone" }
            },
            "sleep": { "after": 0.1 },
            "walls": [{ "box": { "size": [0.3, 3, 0.3] }, "side": "inside", "position": [0, 1.5, 0], "material": "stone" }],
            "planes": [{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" }],
            "bodies": [{ "shape": "boulder", "position": [0.02, 6, 0.03], "velocity": [0, 0, 0] }],
            "fills": [{ "count": 40, "shapes": { "ball": 1, "pair": 1 }, "placement": "random", "seed": 5,
                "region": { "min": [-0.15, 0, -0.15], "max": [0.15, 0.3, 0.15] } }]
        }"#,
    )
}

/// Lists are built when an engine decides, which depends on how many steps it is asked for at a time.
#[test]
fn when_lists_are_built_does_not_matter_to_sleepers() {
    let model = sleepers();
    for start in [|model: &Model| on_cpu(model, 1), on_gpu] {
        let (mut seldom, mut often) = (start(&model), start(&model));
        let mut most_asleep = 0;
        for piece in 1..=300 {
            seldom.step(30).unwrap();
            often.step(30).unwrap();
            most_asleep = most_asleep.max(seldom.summary().unwrap().asleep);
            let mut state = often.state().unwrap().clone();
            let loads = &seldom.state().unwrap().sphere_loads;
            let same = loads.iter().zip(&state.sphere_loads).all(|(a, b)| a == b);
            assert!(same, "{} loads after {piece} pieces", loads.len());
            state.stats[0].stale = 1;
            often.restore(&state, piece * 30).unwrap();
        }
        let [seldom, often] = [seldom, often].map(|mut run| run.summary().unwrap());
        assert_eq!(seldom.state_hash, often.state_hash);
        assert!(most_asleep > 30, "{most_asleep}");
        assert_eq!(seldom.asleep, 0, "all are awake after the blow");
    }
}
