//! The same scene gives the same bits, run after run.

use crate::common::{crowd, crowd_with_history, device};
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
