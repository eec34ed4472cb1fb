//! Benchmarks: what they report, and that their repeats start from the same state.

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{crowd, device, own};
use assert_cmd::Command;
use glam::DVec3;
use rockfall::Simulation;
use serde_json::Value;

fn bench(scenes: &[&Path], arguments: &[&str]) -> Output {
    Command::new(assert_cmd::cargo_bin!("rockfall"))
        .arg("bench")
        .args(scenes)
        .args(arguments)
        .output()
        .unwrap()
}

fn json(output: &Output) -> Value {
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn pile() -> PathBuf {
    own("scenes/pile.json")
}

const SHORT: [&str; 7] = [
    "--json",
    "--settle",
    "0.005",
    "--steps",
    "10",
    "--repeats",
    "3",
];

#[test]
fn all_that_makes_a_figure_mean_something_is_reported() {
    let report = json(&bench(
        &[&pile()],
        &[&SHORT[..], &["--backend", "cpu"]].concat(),
    ));
    for key in [
        "cpu",
        "cores",
        "memory_bytes",
        "os",
        "version",
        "commit",
        "debug",
    ] {
        assert!(report["machine"].get(key).is_some(), "{key} is missing");
    }
    assert_eq!(report["left_out"], Value::Array(Vec::new()));
    let scene = &report["scenes"][0];
    for key in [
        "scene",
        "backend",
        "adapter",
        "bodies",
        "spheres",
        "dt",
        "settled",
        "warm_up_steps",
        "steps",
        "repeats",
        "sphere_steps_per_s",
        "ms_per_step",
        "passes",
        "traffic",
        "list_builds",
        "memory_bytes",
        "memory_bytes_per_sphere",
        "contacts",
        "max_overlap_fraction",
        "kinetic_energy_j",
        "state_hash",
        "repeatable",
    ] {
        assert!(scene.get(key).is_some(), "{key} is missing");
    }
    assert_eq!(scene["bodies"], 1000);
    assert_eq!(
        (&scene["steps"], &scene["repeats"]),
        (&10.into(), &3.into())
    );
    assert_eq!(scene["repeatable"], true);

    let spread = &scene["sphere_steps_per_s"];
    let [median, min, max, mad] =
        ["median", "min", "max", "mad"].map(|key| spread[key].as_f64().unwrap());
    assert!(0.0 < min && min <= median && median <= max && mad <= max - min);
    let milliseconds = scene["ms_per_step"]["median"].as_f64().unwrap();
    let spheres = scene["spheres"].as_f64().unwrap();
    assert!((1e3 * spheres / milliseconds / median - 1.0).abs() < 1e-9);

    let passes = scene["passes"].as_array().unwrap();
    let fractions = passes.iter().map(|pass| pass["fraction"].as_f64().unwrap());
    assert!((fractions.sum::<f64>() - 1.0).abs() < 1e-9);
    let names: Vec<&str> = passes
        .iter()
        .map(|pass| pass["pass"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"contacts") && names.contains(&"integrate"));
}

#[test]
fn the_roofline_is_measured_on_demand() {
    let options = ["--backend", "cpu"];
    let report = json(&bench(&[&pile()], &[&SHORT[..], &options].concat()));
    assert_eq!(report["scenes"][0]["roofline"], Value::Null);
    let options = ["--backend", "cpu", "--roofline"];
    let report = json(&bench(&[&pile()], &[&SHORT[..], &options].concat()));
    has_roofline(&report["scenes"][0]);
}

#[test]
fn pictures_beside_the_steps_are_timed_on_demand() {
    // Without an adapter that can draw, the tests of pictures have failed already.
    device();
    let options = [
        "--backend",
        "cpu",
        "--draw=320x200",
        "--draw-on",
        "software",
    ];
    let report = json(&bench(&[&pile()], &[&SHORT[..], &options].concat()));
    let drawing = &report["scenes"][0]["drawing"];
    let number = |key: &str| drawing[key].as_f64().unwrap_or(f64::NAN);
    assert_eq!(drawing["size"], serde_json::json!([320, 200]));
    assert!(drawing["adapter"].as_str().unwrap().contains("software"));
    assert!(
        number("frames") >= 1.0 && number("steps") >= 1.0,
        "{drawing}"
    );
    assert!(number("frames_per_s") > 0.0 && number("engine_fraction") > 0.0);
    assert!((0.0..=1.0).contains(&number("part")) && number("bodies_in_sight") > 10.0);
    for key in ["frame_ms", "picture_ms"] {
        let [min, max] = ["min", "max"].map(|end| drawing[key][end].as_f64().unwrap());
        assert!(0.0 < min && min <= max, "{key}: {min} to {max}");
    }
    // And not unless it is asked for.
    let report = json(&bench(
        &[&pile()],
        &[&SHORT[..], &["--backend", "cpu"]].concat(),
    ));
    assert_eq!(report["scenes"][0]["drawing"], Value::Null);
}

#[test]
fn what_is_computed_depends_on_no_repeat_and_no_thread() {
    let hash = |threads: &str, steps: &str| {
        let options = ["--backend", "cpu", "--threads", threads, "--steps", steps];
        let fixed = ["--json", "--settle", "0.005", "--repeats", "2"];
        let report = json(&bench(&[&pile()], &[&options[..], &fixed].concat()));
        let hash = &report["scenes"][0]["state_hash"];
        hash.as_str().unwrap().to_owned()
    };
    let one = hash("1", "20");
    assert_eq!(one, hash("2", "20"));
    assert_ne!(one, hash("1", "21"), "the hash sees a step");
}

#[test]
fn the_gpu_is_measured_alike() {
    let adapter = &device().adapter;
    let report = json(&bench(
        &[&pile()],
        &[&SHORT[..], &["--adapter", adapter, "--roofline"]].concat(),
    ));
    let scene = &report["scenes"][0];
    assert_eq!(scene["backend"], "gpu");
    assert_eq!(scene["adapter"], adapter.as_str());
    assert_eq!(scene["repeatable"], true);
    assert!(scene["memory_bytes_per_sphere"].as_f64().unwrap() > 100.0);
    has_roofline(scene);
    // Few steps, so many of them may build lists.
    let dispatches = scene["traffic"]["dispatches_per_step"].as_f64().unwrap();
    assert!((3.0..30.0).contains(&dispatches), "{dispatches}");
    assert!(scene["traffic"]["waits_per_step"].as_f64().unwrap() > 0.0);
}

/// The roofline is there, and adds up.
fn has_roofline(scene: &Value) {
    let roofline = &scene["roofline"];
    let number = |key: &str| roofline[key].as_f64().unwrap();
    let passes = roofline["passes"].as_array().unwrap();
    let bytes: f64 = passes
        .iter()
        .map(|pass| pass["bytes"].as_f64().unwrap())
        .sum();
    assert!((bytes / number("bytes_per_step") - 1.0).abs() < 1e-9);
    let floor = 1e3 * bytes / number("copy_bytes_per_s");
    assert!((floor / number("floor_ms") - 1.0).abs() < 1e-9);
    let fraction = floor / scene["ms_per_step"]["median"].as_f64().unwrap();
    assert!((fraction / number("fraction") - 1.0).abs() < 1e-9);
    assert!((1e-6..1.0).contains(&fraction), "{fraction}");
}

#[test]
fn what_does_not_fit_the_limit_is_left_out_with_a_reason() {
    let report = json(&bench(
        &[],
        &["--json", "--backend", "cpu", "--limit", "0.5"],
    ));
    assert_eq!(report["scenes"], Value::Array(Vec::new()));
    let left_out = report["left_out"].as_array().unwrap();
    let names: Vec<&str> = left_out
        .iter()
        .map(|scene| scene["scene"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["cubes_10k", "spheres_100k", "cubes_100k", "spheres_1m"]
    );
    for scene in left_out {
        let reason = scene["reason"].as_str().unwrap();
        assert!(
            reason.contains("limit") && reason.contains("--limit"),
            "{reason}"
        );
    }

    let output = bench(&[&pile()], &["--limit", "0", "--backend", "cpu"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("left out: pile: the time limit of 0.0 s"),
        "{text}"
    );
}

#[test]
fn wrong_scenes_and_arguments_are_refused_before_anything_runs() {
    let missing = bench(&[&pile(), Path::new("no_such.json")], &[]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no_such.json"));
    for arguments in [
        ["--limit", "-1"],
        ["--repeats", "0"],
        ["--steps", "0"],
        ["--settle", "x"],
    ] {
        assert_eq!(bench(&[&pile()], &arguments).status.code(), Some(2));
    }
}

#[test]
fn a_simulation_goes_back_to_where_it_was() {
    let model = || crowd(500, DVec3::ZERO, 3);
    for mut simulation in [
        Simulation::on_cpu(model(), Some(1)).unwrap(),
        Simulation::on_gpu(model(), device()).unwrap(),
    ] {
        let run = |simulation: &mut Simulation| {
            simulation.step(30).unwrap();
            simulation.summary().unwrap().state_hash
        };
        run(&mut simulation);
        let start = simulation.state().unwrap().clone();
        let first = run(&mut simulation);
        assert_ne!(first, run(&mut simulation));
        simulation.restore(&start, 30).unwrap();
        assert_eq!(simulation.steps(), 30);
        assert_eq!(first, run(&mut simulation));
    }
}
