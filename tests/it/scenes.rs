//! The scenes that ship: each runs, and does with its energy what it should.

use std::path::{Path, PathBuf};

use crate::common::{device, own};
use rockfall::Simulation;
use rockfall::model::{Integrator, Law, Model};
use rockfall::scene::{self, Change, Disk};
use rockfall::simulation::Precision;
use rockfall::simulation::summary::Energy;

/// Sphere-steps of each scene in the quick test.
const FEW: u64 = 10_000;
/// Spheres of a scene that the quick test takes.
const MOST: u64 = 30_000;
/// Sphere-steps of each in the slow one.
const MANY: u64 = 400_000_000;

fn scenes(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // Those of benchmarks are run by benchmarks.
        if path.is_dir() && path.file_name().unwrap() != "bench" {
            found.extend(scenes(&path));
        } else if path.extension().is_some_and(|ending| ending == "json") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn all() -> Vec<PathBuf> {
    let found = scenes(&own("scenes"));
    assert!(found.len() > 30, "{}", found.len());
    found
}

fn start(path: &Path) -> Simulation {
    let model = scene::load(path)
        .unwrap_or_else(|error| panic!("{error}"))
        .model;
    match model.contact.law {
        Law::Custom(_) => Simulation::on_gpu(model, device()).unwrap(),
        _ => Simulation::on_cpu(model, None).unwrap(),
    }
}

fn check(simulation: &mut Simulation, name: &str) {
    for body in simulation.bodies().unwrap() {
        assert!(
            body.position.is_finite() && body.velocity.is_finite(),
            "{name}: {body:?}"
        );
    }
}

/// Whether all energy that comes or goes is in an account.
fn is_closed(model: &Model) -> bool {
    let moved = |wall: &rockfall::model::wall::Wall| wall.is_driven() || wall.dynamic.is_some();
    matches!(model.contact.law, Law::HookeViscous | Law::HookeHistory)
        && model.integrator == Integrator::SemiImplicit
        && model.flow.is_empty()
        && model.forces.applied.is_empty()
        && model.forces.water.is_none()
        && model.domain.is_none()
        && model.stages.list.is_empty()
        && !model.walls.iter().any(moved)
}

fn accounted(energy: &Energy) -> f64 {
    energy.total() + energy.damping + energy.friction + energy.drag + energy.bonds
}

#[test]
fn every_scene_starts() {
    for path in all() {
        let mut simulation = start(&path);
        let name = simulation.model().name.clone();
        let spheres = simulation.model().sphere_count().max(1) as u64;
        if spheres > MOST {
            continue;
        }
        let duration = simulation.model().steps_for(simulation.model().duration);
        simulation.step((FEW / spheres).clamp(2, duration)).unwrap();
        check(&mut simulation, &name);
    }
}

/// Under the normal model `impulse` each feature that a shipped scene has works, with the bits of the plain reference, or is
/// refused with a sentence that names the model.
#[test]
fn every_scene_takes_large_steps_or_says_why_not() {
    let impulse = [Change::parse(r#"contact={"normal":"impulse"}"#).unwrap()];
    let folder = own("scenes");
    let (mut taken, mut refused) = (0, 0);
    for path in all() {
        if path.parent() != Some(folder.as_path()) {
            continue;
        }
        let model = match scene::load_changed(&path, &impulse, &Disk) {
            Ok(scene) => scene.model,
            Err(error) => {
                let sentence = error.to_string();
                assert!(sentence.contains("normal model \"impulse\""), "{sentence}");
                refused += 1;
                continue;
            }
        };
        let spheres = model.sphere_count().max(1) as u64;
        if spheres > MOST {
            continue;
        }
        let (name, steps) = (model.name.clone(), (FEW / spheres).clamp(2, 60));
        let ends = [
            Simulation::on_cpu(model.clone(), None),
            Simulation::on_reference(model.clone(), Precision::Single),
            Simulation::on_gpu(model, device()),
        ];
        let [cpu, reference, gpu] = ends.map(|simulation| {
            let mut simulation = simulation.unwrap();
            simulation.step(steps).unwrap();
            check(&mut simulation, &name);
            simulation
        });
        let hash = |mut simulation: Simulation| simulation.summary().unwrap().state_hash;
        assert_eq!(hash(cpu), hash(reference), "{name}");
        assert_eq!(gpu.steps(), steps, "{name}");
        taken += 1;
    }
    assert!(
        taken > 20 && refused > 3,
        "{taken} taken, {refused} refused"
    );
}

#[test]
#[ignore = "takes minutes"]
fn every_scene_runs_to_its_end() {
    let mut wrong = Vec::new();
    for path in all() {
        let mut simulation = start(&path);
        let name = simulation.model().name.clone();
        let duration = simulation.model().steps_for(simulation.model().duration);
        let before = simulation.energy().unwrap();
        let clock = std::time::Instant::now();
        let mut kinetic: f64 = before.kinetic;
        while simulation.steps() < duration && simulation.sphere_steps() < MANY {
            let left = duration - simulation.steps();
            simulation.step((duration / 50).clamp(1, left)).unwrap();
            kinetic = kinetic.max(simulation.summary().unwrap().kinetic_energy);
        }
        check(&mut simulation, &name);
        let (summary, after) = (simulation.summary().unwrap(), simulation.energy().unwrap());
        let overlap = summary.max_overlap_fraction;
        let scale = kinetic + after.damping + after.friction + after.drag + after.bonds;
        let gained = (accounted(&after) - accounted(&before)) / scale.max(1e-30);
        let closed = is_closed(simulation.model());
        println!(
            "{name}: {} of {duration} steps of {} spheres in {:.1?}, overlap {:.2} %, {} {:+.2} % of its \
             energy",
            simulation.steps(),
            simulation.sphere_count(),
            clock.elapsed(),
            100.0 * overlap,
            if closed { "closed," } else { "open," },
            100.0 * gained
        );
        if overlap > 0.1 {
            wrong.push(format!("{name}: overlaps of {overlap}"));
        }
        if closed && gained.abs() > 0.05 {
            wrong.push(format!("{name}: {gained} of its energy came from nowhere"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
