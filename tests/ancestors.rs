//! The scenes in `scenes/ancestors`: each runs to its end, and its energy is where it should be.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::device;
use rockfall::scene::{self, Scene};
use rockfall::{Energy, Simulation};

/// Spheres from which a scene is for a GPU.
const MASSIVE: usize = 50_000;

fn scenes() -> Vec<(PathBuf, Scene)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/ancestors");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(paths.len() > 15);
    let load = |path: PathBuf| {
        let scene = scene::load(&path).unwrap_or_else(|error| panic!("{error}"));
        (path, scene)
    };
    paths.into_iter().map(load).collect()
}

fn all(energy: &Energy) -> f64 {
    energy.total() + energy.damping + energy.friction
}

/// Runs a scene for a time, s, and holds it to what a scene should do.
fn run(mut simulation: Simulation, duration: f64, name: &str) {
    let start = simulation.energy().unwrap();
    let steps = simulation.model().steps_for(duration);
    let mut burst = 0.0;
    let explosions = simulation.model().flow.explosions.clone();
    for explosion in explosions
        .iter()
        .filter(|explosion| explosion.at < duration)
    {
        let until = simulation.model().steps_for(explosion.at);
        simulation.step(until - simulation.steps()).unwrap();
        let before = simulation.energy().unwrap();
        simulation.step(1).unwrap();
        burst += all(&simulation.energy().unwrap()) - all(&before);
    }
    simulation.step(steps - simulation.steps()).unwrap();
    let end = simulation.energy().unwrap();
    let at_work = start.kinetic + burst + end.kinetic + end.damping + end.friction;
    let off = (all(&end) - all(&start) - burst) / at_work;
    assert!(
        off.abs() < 0.02,
        "{name}: energy is off by {off}: {start:?} {end:?}"
    );
    let overlap = simulation.summary().unwrap().max_overlap_fraction;
    assert!(
        overlap < 0.08,
        "{name}: an overlap of {overlap} of a radius"
    );
    let bodies = simulation.bodies().unwrap();
    let lowest = bodies
        .iter()
        .map(|body| body.position.y)
        .fold(f64::INFINITY, f64::min);
    let falls = simulation.model().gravity.length() > 0.0;
    assert!(!falls || lowest > -2.0, "{name}: a body fell to {lowest} m");
}

#[test]
fn scenes_start_on_both_engines() {
    for (path, scene) in scenes() {
        let (model, name) = (scene.model, path.display().to_string());
        if model.sphere_count() > MASSIVE / 20 {
            continue;
        }
        let time = 100.0 * model.time_step;
        run(
            Simulation::on_cpu(model.clone(), None).unwrap(),
            time,
            &name,
        );
        run(Simulation::on_gpu(model, device()).unwrap(), time, &name);
    }
}

#[test]
#[ignore = "takes minutes"]
fn scenes_run_to_their_ends() {
    for (path, scene) in scenes() {
        let duration = scene.model.duration;
        if scene.model.sphere_count() < MASSIVE {
            let simulation = Simulation::on_cpu(scene.model, None).unwrap();
            run(simulation, duration, &path.display().to_string());
        }
    }
}

#[test]
fn a_spinning_cube_keeps_its_spin() {
    let scene = scene::load("scenes/ancestors/spinning_cube.json".as_ref()).unwrap();
    let mut simulation = Simulation::on_cpu(scene.model, None).unwrap();
    let before = simulation.summary().unwrap();
    simulation.step(25_000).unwrap();
    let after = simulation.summary().unwrap();
    assert_eq!(after.angular_momentum, before.angular_momentum);
    assert!((after.kinetic_energy / before.kinetic_energy - 1.0).abs() < 1e-5);
}
