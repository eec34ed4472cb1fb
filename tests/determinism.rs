//! The same scene gives the same bits, run after run.

mod common;

use common::{crowd, device};
use glam::DVec3;
use rockfall::Simulation;

/// Hash after `steps` steps, taken in pieces.
fn hash(mut simulation: Simulation, pieces: &[u64]) -> u64 {
    for &steps in pieces {
        simulation.step(steps).unwrap();
    }
    simulation.summary().unwrap().state_hash
}

fn on_cpu(threads: usize) -> Simulation {
    Simulation::on_cpu(crowd(3000, DVec3::ZERO, 1), Some(threads)).unwrap()
}

fn on_gpu() -> Simulation {
    Simulation::on_gpu(crowd(3000, DVec3::ZERO, 1), device()).unwrap()
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let one = hash(on_cpu(1), &[200]);
    assert_eq!(one, hash(on_cpu(2), &[200]));
    assert_eq!(one, hash(on_cpu(3), &[100, 1, 99]));
    assert_ne!(one, hash(on_cpu(1), &[199]), "the hash sees a step");
}

#[test]
fn two_runs_on_the_gpu_are_identical() {
    let first = hash(on_gpu(), &[200]);
    assert_eq!(first, hash(on_gpu(), &[200]));
    assert_eq!(first, hash(on_gpu(), &[3, 150, 47]));
}
