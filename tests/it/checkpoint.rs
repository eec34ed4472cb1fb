//! Checkpoints: going on as if nothing had happened, and errors of files that are not whole.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{crowd, crowd_with_history, device, own, periodic_crowd, walled_crowd};
use glam::DVec3;
use rockfall::model::{Law, Model};
use rockfall::simulation::checkpoint::Checkpoint;
use rockfall::{Simulation, scene};
use tempfile::TempDir;

type Start = fn(&Model) -> Simulation;

const ENGINES: [(&str, Start); 2] = [
    ("cpu", |model| {
        Simulation::on_cpu(model.clone(), Some(2)).unwrap()
    }),
    ("gpu", |model| {
        Simulation::on_gpu(model.clone(), device()).unwrap()
    }),
];

/// All that adds up over a run, bit for bit.
fn outcome(simulation: &mut Simulation) -> (u64, u64, String, Vec<String>) {
    let steps = simulation.steps();
    let snapshot = simulation.snapshot().unwrap();
    let summary = snapshot.summary();
    (
        steps,
        summary.state_hash,
        // What was dissipated, with what rounding has left out, and where the walls are.
        format!(
            "{summary:?} {:?} {:?}",
            snapshot.energy(),
            snapshot.walls().collect::<Vec<_>>()
        ),
        snapshot
            .contacts()
            .map(|contact| format!("{contact:?}"))
            .collect(),
    )
}

/// A checkpoint of `model` after `steps` steps on the CPU.
fn checkpoint(model: &Model, steps: u64) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.checkpoint");
    let mut simulation = Simulation::on_cpu(model.clone(), Some(2)).unwrap();
    simulation.step(steps).unwrap();
    simulation.write_checkpoint(&path).unwrap();
    (folder, path)
}

/// The error of going on from a file.
fn refusal(model: &Model, path: &Path) -> String {
    let mut simulation = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    let sentence = simulation.read_checkpoint(path).unwrap_err().to_string();
    assert_eq!(simulation.steps(), 0, "the simulation is as it was");
    sentence
}

#[test]
fn a_run_that_goes_on_from_a_checkpoint_is_identical() {
    let of = |law| crowd_with_history(law, 400, DVec3::splat(-7.0), 3);
    let models = [
        crowd(400, DVec3::ZERO, 1),
        of(Law::HookeHistory),
        of(Law::HertzMindlin),
        periodic_crowd(400, DVec3::splat(2.0), 5, [true, false, true]),
        walled_crowd(Law::HookeHistory, 200, DVec3::splat(5.0), 2),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.checkpoint");
    for model in models {
        for (engine, start) in ENGINES {
            let mut whole = start(&model);
            whole.step(70).unwrap();
            whole.write_checkpoint(&path).unwrap();
            whole.step(50).unwrap();

            let mut again = start(&model);
            again.step(3).unwrap();
            again.read_checkpoint(&path).unwrap();
            assert_eq!(again.steps(), 70);
            let moving = again.walls().unwrap();
            again.step(50).unwrap();
            let moves = model.walls.iter().any(|wall| wall.motion.is_some());
            assert_eq!(again.walls().unwrap() != moving, moves, "{engine}");
            let (found, expected) = (outcome(&mut again), outcome(&mut whole));
            assert_eq!(found.2, expected.2, "{engine}, {}", model.name);
            assert!(found == expected, "{engine}, {}", model.name);
            again.step(1).unwrap();
            assert!(outcome(&mut again) != outcome(&mut whole), "{engine}");
        }
    }
}

#[test]
fn a_custom_law_goes_on_too() {
    let model = scene::load(&own("scenes/custom_law.json")).unwrap().model;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.checkpoint");
    let mut whole = Simulation::on_gpu(model.clone(), device()).unwrap();
    whole.step(40).unwrap();
    whole.write_checkpoint(&path).unwrap();
    whole.step(40).unwrap();
    let mut again = Simulation::on_gpu(model, device()).unwrap();
    again.read_checkpoint(&path).unwrap();
    again.step(40).unwrap();
    assert!(outcome(&mut again) == outcome(&mut whole));
}

#[test]
fn a_checkpoint_that_is_not_whole_is_an_error_wherever_it_ends() {
    let model = crowd(20, DVec3::ZERO, 1);
    let (_folder, path) = checkpoint(&model, 5);
    let whole = fs::read(&path).unwrap();
    let mut lengths: Vec<usize> = (0..whole.len()).step_by(211).collect();
    lengths.extend([1, 15, 16, 17, 23, 24, 25, whole.len() - 1]);
    for length in lengths {
        fs::write(&path, &whole[..length]).unwrap();
        let sentence = refusal(&model, &path);
        let expected = ["without the rest", "of another kind"];
        assert!(
            expected.iter().any(|part| sentence.contains(part)),
            "{length}: {sentence}"
        );
        assert!(sentence.contains("state.checkpoint"), "{sentence}");
    }
    let mut longer = whole.clone();
    longer.push(0);
    fs::write(&path, &longer).unwrap();
    assert!(refusal(&model, &path).contains("1 bytes after its end"));
    for at in (24..whole.len()).step_by(97) {
        let mut wrong = whole.clone();
        wrong[at] ^= 4;
        fs::write(&path, &wrong).unwrap();
        let sentence = refusal(&model, &path);
        assert!(sentence.contains("expected"), "{at}: {sentence}");
    }
    fs::write(&path, &whole).unwrap();
    Checkpoint::read(&path).unwrap();
}

#[test]
fn a_checkpoint_of_another_version_says_so() {
    let model = crowd(20, DVec3::ZERO, 1);
    let (_folder, path) = checkpoint(&model, 5);
    let whole = fs::read(&path).unwrap();
    let layout = Checkpoint::read(&path).unwrap().header.layout;
    let mut other = whole.clone();
    other[16] = 1;
    fs::write(&path, &other).unwrap();
    let sentence = refusal(&model, &path);
    assert!(
        sentence.contains("found version 1 of the format, expected 3"),
        "{sentence}"
    );

    // Other buffers: the layout's hash is another one.
    let at = whole
        .windows(16)
        .position(|bytes| bytes == layout.as_bytes())
        .unwrap();
    let mut other = whole.clone();
    other[at..at + 16].copy_from_slice(b"0123456789abcdef");
    let end = other.len() - 8;
    let hash = rockfall::simulation::checkpoint::hash(&other[..end]);
    other[end..].copy_from_slice(&hash.to_le_bytes());
    fs::write(&path, &other).unwrap();
    let sentence = refusal(&model, &path);
    assert!(
        sentence.contains("the buffers of Rockfall") && sentence.contains("0123456789abcdef"),
        "{sentence}"
    );
}

#[test]
fn a_checkpoint_of_another_scene_says_so() {
    let model = crowd(20, DVec3::ZERO, 1);
    let (_folder, path) = checkpoint(&model, 5);
    let mut others = vec![crowd(20, DVec3::ZERO, 2)];
    let mut other = model.clone();
    other.time_step *= 1.0 + 1e-15;
    others.push(other);
    let mut other = model.clone();
    other.bodies[3].velocity.x += 1e-12;
    others.push(other);
    let mut other = model.clone();
    other.pairs[2].friction += 0.01;
    others.push(other);
    for other in others {
        let sentence = refusal(&other, &path);
        assert!(
            sentence.contains("found a state of the scene"),
            "{sentence}"
        );
    }
    // A name and a duration decide nothing.
    let mut same = model;
    same.name = "another name".into();
    same.duration *= 2.0;
    let mut simulation = Simulation::on_cpu(same, Some(1)).unwrap();
    simulation.read_checkpoint(&path).unwrap();
    assert_eq!(simulation.steps(), 5);
}

#[test]
fn no_file_and_other_files_are_errors() {
    let model = crowd(20, DVec3::ZERO, 1);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nothing");
    assert!(refusal(&model, &path).contains("no such file"));
    fs::write(&path, "{\"version\": 1}").unwrap();
    assert!(refusal(&model, &path).contains("of another kind"));
}
