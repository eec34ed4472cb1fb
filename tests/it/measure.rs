//! Measures of runs: while they go on, and of those that were kept; and what ends a run.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use rockfall::glam::DVec3;
use rockfall::scene::{self, Ending};
use rockfall::simulation::analysis::Moment;
use rockfall::simulation::analysis::fields::{Fields, Grid};
use rockfall::simulation::analysis::structure::Structure;
use rockfall::{Observer, Simulation};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Eight balls, one on the other, at rest but for a small fall. The contact with the floor is of a rigid one.
fn stack() -> Value {
    let bodies: Vec<Value> = (0..8)
        .map(|k| json!({ "shape": "ball", "position": [0, 0.05 + 0.1 * f64::from(k), 0] }))
        .collect();
    json!({
        "version": 1, "duration": 4,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 2e5, "time_step": 2e-4 },
        "materials": { "stone": { "density": 2500, "restitution": 0.1, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "stone" } },
        "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" } ],
        "bodies": bodies,
    })
}

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

fn rockfall(folder: &Path, arguments: &[&str]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_rockfall"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A folder with a scene in it.
fn with_scene(scene: &Value) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("scene.json"), scene.to_string()).unwrap();
    folder
}

/// The rows of a CSV file, by the names of its columns.
fn rows(file: &Path) -> (Vec<String>, Vec<Vec<f64>>) {
    let text = fs::read_to_string(file).unwrap();
    let mut lines = text.lines();
    let names = lines
        .next()
        .unwrap()
        .split(',')
        .map(str::to_owned)
        .collect();
    let cell = |cell: &str| cell.parse().unwrap_or(f64::NAN);
    let rows = lines.map(|line| line.split(',').map(cell).collect());
    (names, rows.collect())
}

#[test]
fn a_stack_at_rest_bears_the_weight_above_in_a_kept_run() {
    let mut scene = stack();
    scene["until"] = json!({ "kinetic_energy_below": 1e-12 });
    let folder = with_scene(&scene);
    let path = folder.path();
    let run = [
        "run",
        "scene.json",
        "--backend",
        "cpu",
        "--out",
        "kept",
        "--states",
        "bodies,contacts",
    ];
    let ran = rockfall(path, &run);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err
            .contains("the kinetic energy is less than 0.000000000001 J"),
        "{}",
        ran.err
    );
    let record: Value =
        serde_json::from_str(&fs::read_to_string(path.join("kept/run.json")).unwrap()).unwrap();
    assert_eq!(record["status"], "finished");
    let ended = record["summary"]["simulated_s"].as_f64().unwrap();
    assert!(ended > 0.1 && ended < 3.9, "{ended}");

    // The last state alone: the mean over time would have the fall in it.
    let from = format!("{}", ended - 1e-6);
    let measure = [
        "measure",
        "kept",
        "--from",
        &from,
        "--fields",
        "1,160,1",
        "--width",
        "0.05",
        "--region",
        "-0.5,-0.5,-0.5,0.5,1.5,0.5",
        "--to",
        "line.csv",
        "--json",
    ];
    let ran = rockfall(path, &measure);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    let last = said["moments"].as_array().unwrap().last().unwrap();
    assert_eq!(last["bodies"], 8.0);
    assert_eq!(last["clusters"], 1.0);
    assert_eq!(last["contacts"], 8.0);
    assert!((last["fabric_anisotropy"].as_f64().unwrap() - 1.0).abs() < 1e-6);

    let (names, cells) = rows(&path.join("line.csv"));
    let column = |name: &str| names.iter().position(|own| own == name).unwrap();
    let (y, density) = (column("position_y_m"), column("density_kg/m3"));
    let stress = column("contact_stress_yy_Pa");
    let spacing = 2.0 / 160.0;
    let mass: f64 = cells.iter().map(|cell| cell[density] * spacing).sum();
    let expected = last["mass_kg"].as_f64().unwrap();
    assert!((mass / expected - 1.0).abs() < 1e-6, "{mass} {expected}");
    let whole = 9.81 * expected;
    for (index, cell) in cells.iter().enumerate().filter(|(_, cell)| cell[y] > 0.25) {
        let above: f64 = cells[index + 1..].iter().map(|cell| cell[density]).sum();
        let weight = 9.81 * spacing * (above + 0.5 * cell[density]);
        assert!(
            (cell[stress] - weight).abs() < 0.001 * whole,
            "{}: {} {weight}",
            cell[y],
            cell[stress]
        );
    }

    // The other formats, and a picture of the fields for ParaView.
    for file in ["space.vti", "space.npz"] {
        let measure = [
            "measure", "kept", "--fields", "8,16,8", "--to", file, "--mixing", "mass",
        ];
        let ran = rockfall(path, &measure);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(ran.out.contains(file), "{}", ran.out);
        assert!(fs::metadata(path.join(file)).unwrap().len() > 8 * 1024);
    }
    let text = fs::read(path.join("space.vti")).unwrap();
    let text = String::from_utf8_lossy(&text[..600]);
    assert!(text.contains("WholeExtent=\"0 8 0 16 0 8\""), "{text}");
}

#[test]
fn what_cannot_be_measured_gets_a_sentence() {
    let folder = with_scene(&stack());
    let path = folder.path();
    let run = [
        "run",
        "scene.json",
        "--backend",
        "cpu",
        "--steps",
        "20",
        "--out",
        "kept",
        "--vtk",
        "none",
    ];
    assert_eq!(rockfall(path, &run).code, Some(0));
    let ran = rockfall(path, &["measure", "kept"]);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.err
            .contains("run its scene again with --states bodies,contacts"),
        "{}",
        ran.err
    );
    for (arguments, expected) in [
        (vec!["--fields", "1,9,1"], "--to"),
        (
            vec!["--fields", "1,9", "--to", "a.csv"],
            "three whole numbers",
        ),
        (
            vec!["--fields", "1,9,1", "--to", "a.txt"],
            "expected a name that ends in .vti, .npz or .csv",
        ),
        (
            vec!["--fields", "1,9,1", "--to", "a.csv", "--width", "0.001"],
            "expected at least the longest side of a cell",
        ),
        (
            vec!["--mixing", "bell"],
            "a shape or material of the scene: ball, stone",
        ),
        (vec!["--slope", "y,-y"], "two different axes"),
        (
            vec!["--from", "99s"],
            "found no state from --from to --until",
        ),
    ] {
        let ran = rockfall(path, &[&["measure", "kept"][..], &arguments].concat());
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.err);
        let plain = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(plain.contains(expected), "{arguments:?}: {plain}");
    }
    let ran = rockfall(path, &["measure", "."]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err.contains("expected the folder of a run"),
        "{}",
        ran.err
    );
}

#[test]
fn a_run_measures_while_it_goes_on_and_goes_on_with_it() {
    let mut scene = stack();
    scene["duration"] = json!(0.1);
    scene["measure"] = json!({
        "every": { "steps": 50 },
        "slope": { "along": [1, 0, 0] },
        "mixing": { "shape": "ball" },
        "collisions": true,
        "fields": { "cells": [1, 20, 1], "width": 0.1, "every": { "steps": 200 },
                    "region": { "min": [-0.5, -0.5, -0.5], "max": [0.5, 1.5, 0.5] } },
    });
    // Two more balls hit the floor before and after the checkpoint.
    for (x, y) in [(0.7, 0.1), (0.9, 0.3)] {
        let ball = json!({ "shape": "ball", "position": [x, y, 0], "velocity": [0, -2, 0] });
        scene["bodies"].as_array_mut().unwrap().push(ball);
    }
    let folder = with_scene(&scene);
    let path = folder.path();
    let options = ["--backend", "cpu", "--vtk", "none", "--states", "none"];
    let run = |arguments: &[&str]| {
        let ran = rockfall(path, &[&["run"][..], arguments].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    };
    run(&[
        &["scene.json", "--out", "whole", "--duration", "0.2"][..],
        &options,
    ]
    .concat());
    run(&[&["scene.json", "--out", "parts"][..], &options].concat());
    run(&["--resume", "parts", "--duration", "0.2"]);
    for file in ["measures.csv", "collisions.csv"] {
        let of = |run: &str| fs::read_to_string(path.join(run).join(file)).unwrap();
        assert_eq!(of("whole"), of("parts"));
    }
    let collisions = fs::read_to_string(path.join("whole/collisions.csv")).unwrap();
    for step in ["\n500,", "\n1000,"] {
        assert!(collisions.contains(step), "{collisions}");
    }
    let (names, lines) = rows(&path.join("whole/measures.csv"));
    assert_eq!(lines.len(), 21);
    assert_eq!(names[0], "step");
    assert!(
        names.contains(&"lacey_index".to_owned()) && names.contains(&"slope_degrees".to_owned())
    );
    assert_eq!(lines[20][0], 1000.0);
    let files: Vec<_> = fs::read_dir(path.join("whole/fields")).unwrap().collect();
    assert_eq!(files.len(), 10, "{files:?}");
    let list = fs::read_to_string(path.join("whole/fields.pvd")).unwrap();
    assert_eq!(list.matches("fields/fields_").count(), 5, "{list}");
}

#[test]
fn a_snapshot_is_measured_without_files() {
    let mut scene = stack();
    scene["domain"] =
        json!({ "min": [-0.5, 0, -0.5], "max": [0.5, 1, 0.5], "periodic": [true, false, true] });
    let mut simulation = crate::common::simulate(&scene.to_string());
    simulation.step(8000).unwrap();
    let moment = Moment::new(&simulation.snapshot().unwrap());
    let structure = Structure::new(moment.contacts.as_ref().unwrap());
    assert_eq!(
        (structure.contacts, structure.clusters.as_slice()),
        (8, &[8][..])
    );
    let weight = 9.81 * moment.free().map(|grain| grain.mass).sum::<f64>();
    assert!(
        (structure.largest_force / weight - 1.0).abs() < 0.01,
        "{structure:?} {weight}"
    );
    let grid = Grid {
        min: DVec3::new(-0.5, -0.4, -0.5),
        max: DVec3::new(0.5, 1.2, 0.5),
        cells: [16, 32, 16],
    };
    let mut fields = Fields::new(grid, 0.07).unwrap();
    fields.add(&moment);
    let mass =
        fields.cells().map(|cell| cell.density).sum::<f64>() * grid.spacing().element_product();
    assert!((9.81 * mass / weight - 1.0).abs() < 1e-6, "{mass}");
}

/// Runs a scene until something ends it, and says what did, and when.
fn ended(scene: &Value) -> (Option<String>, f64) {
    let scene = scene::parse(&scene.to_string(), Path::new("test.json")).unwrap();
    let mut ending = Ending::of(&scene).unwrap();
    let steps = scene.model.steps_for(scene.model.duration);
    let mut simulation = Simulation::on_cpu(scene.model, None).unwrap();
    let flow = simulation
        .run(steps, &mut [&mut ending as &mut dyn Observer])
        .unwrap();
    assert_eq!(flow == ControlFlow::Break(()), ending.reached().is_some());
    (ending.reached().map(str::to_owned), simulation.time())
}

#[test]
fn what_comes_to_pass_ends_a_run() {
    // A block on a belt, held by a wall: the power settles.
    let mut belt = stack();
    belt["shapes"]["block"] = json!({ "cube": { "n": 2, "radius": 0.025 }, "material": "stone" });
    belt["walls"] = json!([
        { "name": "belt", "rectangle": { "size": [2, 2] }, "material": "stone", "surface_velocity": [1, 0, 0] },
        { "rectangle": { "size": [2, 2] }, "material": "stone", "position": [0.051, 0, 0], "axis": [0, 0, 1],
          "angle": std::f64::consts::FRAC_PI_2 },
    ]);
    belt["planes"] = json!([]);
    belt["bodies"] = json!([{ "shape": "block", "position": [0, 0.05, 0] }]);
    belt["until"] = json!({ "steady": { "wall": "belt", "window": 0.2, "within": 0.01 } });
    let (reached, time) = ended(&belt);
    assert!(reached.unwrap().starts_with("the power of belt is steady"));
    assert!((0.3..3.0).contains(&time), "{time}");
    belt["until"]["not_before"] = json!(3);
    assert!(ended(&belt).1 >= 3.0);

    // A ball in flight is no ball at rest, though it stops for a moment.
    let mut thrown = stack();
    thrown["bodies"] = json!([{ "shape": "ball", "position": [0, 0.5, 0], "velocity": [0, 3, 0] }]);
    thrown["until"] = json!({ "speed_below": 0.05 });
    let (reached, time) = ended(&thrown);
    assert_eq!(reached.as_deref(), Some("no body is faster than 0.05 m/s"));
    assert!(time > 0.7, "{time}");

    // What falls out.
    let mut falling = stack();
    falling["planes"] = json!([]);
    falling["outlets"] = json!([{ "outside": { "min": [-1, -1, -1], "max": [1, 2, 1] } }]);
    falling["until"] = json!({ "mass_out": 5 });
    let (reached, time) = ended(&falling);
    assert!(reached.unwrap().ends_with("kg have gone out"));
    assert!(time < 1.0, "{time}");

    // And nothing.
    falling["until"] = json!({ "mass_out": 500 });
    assert_eq!(ended(&falling).0, None);
}

#[test]
fn measures_and_ends_that_make_no_sense_are_refused() {
    let refused = |field: &str, value: Value| -> String {
        let mut scene = stack();
        scene[field] = value;
        let error = scene::parse(&scene.to_string(), Path::new("test.json")).unwrap_err();
        error.problems[0].to_string()
    };
    for (field, value, expected) in [
        (
            "measure",
            json!({ "mixing": {} }),
            "measure.mixing: found 0 of",
        ),
        (
            "measure",
            json!({ "mixing": { "shape": "bell" } }),
            "measure.mixing.shape: found the undefined shape",
        ),
        (
            "measure",
            json!({ "slope": { "along": [0, 2, 0] } }),
            "measure.slope.along: found the direction upwards",
        ),
        (
            "measure",
            json!({ "fields": { "cells": [1, 10, 1], "width": 0.05,
                                "region": { "min": [0, 0, 0], "max": [1, 1, 1] } } }),
            "measure.fields: found a width of 0.05 m, expected at least the longest side of a cell, 0.1 m",
        ),
        ("until", json!({}), "until: found no condition"),
        (
            "until",
            json!({ "mass_out": 3 }),
            "until.mass_out: found a mass in a scene without outlets",
        ),
        (
            "until",
            json!({ "steady": { "wall": "drum", "window": 1, "within": 0.1 } }),
            "until.steady.wall: found the undefined wall \"drum\"",
        ),
        (
            "until",
            json!({ "steady": { "wall": "planes[0]", "window": 1, "within": 0.1 } }),
            "until.steady.wall: found \"planes[0]\", which stands still",
        ),
    ] {
        let found = refused(field, value.clone());
        assert!(found.starts_with(expected), "{value}: {found}");
    }
}

/// A box whose sides shrink by e^-0.2, and a measure that takes the sides that it has then.
#[test]
fn a_kept_run_of_a_box_that_deforms_knows_its_sides() {
    let scene = json!({
        "version": 1, "gravity": [0, 0, 0], "duration": 0.1,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 1e-4 },
        "materials": { "stone": { "density": 2500, "restitution": 0.1, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "stone" } },
        "domain": { "min": [0, 0, 0], "max": [1, 1, 1], "periodic": [true, true, true] },
        "deform": { "x": { "strain_rate": -2 } },
        "output": { "every": { "seconds": 0.05 }, "vtk": [] },
        "bodies": [ { "shape": "ball", "position": [0.5, 0.5, 0.5] } ] });
    let folder = with_scene(&scene);
    let ran = rockfall(
        folder.path(),
        &["run", "scene.json", "--out", "run", "--backend", "cpu"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let model = scene::parse(&scene.to_string(), Path::new("scene.json"))
        .unwrap()
        .model;
    let kept = rockfall::output::KeptRun::open(&folder.path().join("run"), &model).unwrap();
    for (index, strain) in [(0, 0.0_f64), (1, -0.1), (2, -0.2)] {
        let period = kept.moment(index).unwrap().period;
        let expected = DVec3::new(strain.exp(), 1.0, 1.0);
        assert!((period - expected).length() < 5e-3, "{index}: {period}");
    }
}

/// A ball leans on the floor and the end of a tray that moves: the group has what both have together.
#[test]
fn walls_of_a_group_are_summed_up() {
    let moving = json!({ "velocity": [0.2, 0, 0] });
    let scene = json!({
        "version": 1, "duration": 0.1, "gravity": [-5, -9.81, 0],
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4, "time_step": 1e-4 },
        "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.01 }, "material": "stone" } },
        "walls": [
            { "name": "floor", "rectangle": { "size": [1, 1] }, "material": "stone", "motion": moving },
            { "name": "end", "rectangle": { "size": [1, 1] }, "position": [-0.01, 0.5, 0], "material": "stone",
              "axis": [0, 0, 1], "angle": -std::f64::consts::FRAC_PI_2, "motion": moving } ],
        "wall_groups": { "tray": ["floor", "end"] },
        "output": { "every": { "seconds": 0.02 }, "vtk": [] },
        "bodies": [ { "shape": "ball", "position": [0, 0.01, 0] } ] });
    let folder = with_scene(&scene);
    let ran = rockfall(
        folder.path(),
        &["run", "scene.json", "--out", "run", "--backend", "cpu"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let (names, statistics) = rows(&folder.path().join("run/statistics.csv"));
    let mut pushed = 0.0_f64;
    for row in &statistics {
        let of = |name: &str| row[names.iter().position(|own| own == name).expect(name)];
        let vector = |of_what: &str, unit: &str| {
            DVec3::from(["x", "y", "z"].map(|axis| of(&format!("{of_what}_{axis}_{unit}"))))
        };
        let [floor, end, tray] = ["floor", "end", "tray"].map(|wall| {
            let force = vector(&format!("{wall}_force"), "N");
            (force, vector(&format!("{wall}_torque"), "Nm"))
        });
        assert!((tray.0 - floor.0 - end.0).length() < 1e-12);
        let arm = DVec3::new(-0.01, 0.5, 0.0);
        let torque = floor.1 + end.1 + arm.cross(end.0);
        assert!((tray.1 - torque).length() < 1e-6, "{tray:?} {torque}");
        for column in ["power_W", "work_J"] {
            let [floor, end, tray] =
                ["floor", "end", "tray"].map(|wall| of(&format!("{wall}_{column}")));
            assert!((tray - floor - end).abs() < 1e-12, "{column}");
        }
        pushed = pushed.max(-end.0.x);
    }
    assert!(pushed > 0.01, "{pushed} N on the end");
    let said = rockfall(folder.path(), &["measure", "run"]);
    assert!(said.out.contains("tray: "), "{}", said.out);

    // Six states, and three windows of two.
    let table = |more: &[&str]| {
        let arguments = [&["measure", "run", "--csv", "table.csv"], more].concat();
        let said = rockfall(folder.path(), &arguments);
        assert_eq!(said.code, Some(0), "{}", said.err);
        rows(&folder.path().join("table.csv"))
    };
    let (names, states) = table(&[]);
    let (all, averages) = table(&["--window", "40ms"]);
    assert_eq!((states.len(), averages.len()), (6, 3));
    let speed = names.iter().position(|name| name == "mean_speed_m_per_s");
    for (pair, average) in states.chunks(2).zip(&averages) {
        for column in [0, speed.unwrap()] {
            let mean = 0.5 * (pair[0][column] + pair[1][column]);
            assert!((average[column] - mean).abs() < 1e-9, "{average:?}");
        }
    }
    // Of the time up to the next window.
    let (written, statistics) = rows(&folder.path().join("run/statistics.csv"));
    let place = |names: &[String], name: &str| names.iter().position(|own| own == name).unwrap();
    for (k, average) in averages[..2].iter().enumerate() {
        let inside = |row: &&Vec<f64>| {
            let windows = (row[place(&written, "time_s")] - 0.04 * k as f64) / 0.04;
            (-1e-9..1.0 + 1e-9).contains(&windows)
        };
        let inside: Vec<&Vec<f64>> = statistics.iter().filter(inside).collect();
        let work = |row: &[f64]| row[place(&written, "tray_work_J")];
        let done = work(inside.last().unwrap()) - work(inside[0]);
        let power = average[place(&all, "tray_power_W")];
        assert!((power - done / 0.04).abs() < 1e-6 * power.abs(), "{power}");
        let torques = inside
            .iter()
            .map(|row| row[place(&written, "tray_torque_z_Nm")]);
        let torque = torques.sum::<f64>() / inside.len() as f64;
        assert!((average[place(&all, "tray_torque_z_Nm")] - torque).abs() < 1e-12);
    }
    for (groups, expected) in [
        (
            json!({ "tray": ["flor"] }),
            "wall_groups.tray[0]: found the undefined wall \"flor\"",
        ),
        (json!({ "tray": [] }), "wall_groups.tray: found no wall"),
        (
            json!({ "tray": ["end", "end"] }),
            "wall_groups.tray[1]: found \"end\" again",
        ),
        (
            json!({ "end": ["end"] }),
            "wall_groups.end: found the name of a wall",
        ),
    ] {
        let mut wrong = scene.clone();
        wrong["wall_groups"] = groups;
        let refused = scene::parse(&wrong.to_string(), Path::new("scene.json")).unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused}");
    }
}

/// Two balls that meet at 3 m/s: one collision, which takes 1 - e² of the energy of their approach.
#[test]
fn a_run_writes_spectra_of_collisions() {
    let scene = json!({
        "version": 1, "duration": 0.02, "gravity": [0, 0, 0],
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 2e-6 },
        "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.01 }, "material": "stone" } },
        "bodies": [
            { "shape": "ball", "position": [-0.015, 0, 0], "velocity": [1.5, 0, 0] },
            { "shape": "ball", "position": [0.015, 0, 0], "velocity": [-1.5, 0, 0] }
        ],
        "measure": { "collisions": true }
    });
    let folder = with_scene(&scene);
    let ran = rockfall(
        folder.path(),
        &["run", "scene.json", "--out", "run", "--backend", "cpu"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = fs::read_to_string(folder.path().join("run/collisions.csv")).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(
        lines[0].join(","),
        "step,time_s,quantity,from,to,collisions,dissipated_J"
    );
    // The balls touch after 1.7 ms, so the hundred measurements before and after tell when.
    assert!(lines[1][1].parse::<f64>().unwrap() > 1.7e-3, "{text}");
    let lines: Vec<&[&str]> = lines.iter().map(|line| &line[2..]).collect();
    assert!(
        lines[1..].chunks(2).all(|pair| pair == &lines[1..3]),
        "{text}"
    );
    let mass = 2500.0 * 4.0 / 3.0 * std::f64::consts::PI * 1e-6;
    let lost = 0.5 * 0.5 * mass * 9.0 * 0.75;
    for (line, quantity, value) in [
        (&lines[1], "impact_speed_m_per_s", 3.0),
        (&lines[2], "dissipated_energy_J", lost),
    ] {
        let number = |k: usize| line[k].parse::<f64>().unwrap();
        assert_eq!(line[0], quantity);
        assert!(number(1) <= value && value < number(2), "{text}");
        assert_eq!(line[3], "1");
        assert!((number(4) / lost - 1.0).abs() < 0.01, "{text} {lost}");
    }

    let ran = rockfall(folder.path(), &["measure", "run"]);
    let line = ran
        .out
        .lines()
        .find(|line| line.starts_with("collisions: "));
    let line = line.unwrap_or_else(|| panic!("{}", ran.out));
    assert!(
        line.starts_with("collisions: 1, which dissipated 0.0176"),
        "{line} {lost}"
    );
    assert!(line.ends_with("most of it at 2.828 to 3.364 m/s"), "{line}");
    let ran = rockfall(folder.path(), &["measure", "run", "--json"]);
    let measured: Value = serde_json::from_str(&ran.out).unwrap();
    let class = &measured["collisions"]["dissipated_energy_J"][0];
    assert_eq!(class["collisions"], 1);
    assert!(class["from"].as_f64().unwrap() <= lost && lost < class["to"].as_f64().unwrap());

    // In the first window alone, even if that ends with the measurement that counts it first.
    let seen = text.lines().nth(1).unwrap().split(',').nth(1).unwrap();
    let ran = rockfall(
        folder.path(),
        &["measure", "run", "--csv", "windows.csv", "--window", seen],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let (names, counts) = rows(&folder.path().join("windows.csv"));
    let place = names.iter().position(|name| name == "collisions").unwrap();
    let counts: Vec<f64> = counts.iter().map(|row| row[place]).collect();
    assert!(counts.len() > 3 && counts[0] == 1.0, "{counts:?}");
    assert!(counts[1..].iter().all(|count| *count == 0.0), "{counts:?}");
    let ran = rockfall(
        folder.path(),
        &["measure", "run", "--json", "--window", "5ms"],
    );
    let measured: Value = serde_json::from_str(&ran.out).unwrap();
    let windows = measured["windows"].as_array().unwrap();
    for quantity in ["impact_speed_m_per_s", "dissipated_energy_J"] {
        let classes = |window: &Value| window["collisions"][quantity].as_array().unwrap().len();
        let found: Vec<usize> = windows.iter().map(classes).collect();
        assert_eq!(found, [1, 0, 0, 0, 0], "{}", ran.out);
    }
    let moments = measured["moments"].as_array().unwrap();
    let counts: Vec<f64> = moments
        .iter()
        .map(|row| row["collisions"].as_f64().unwrap())
        .collect();
    assert_eq!(counts, [1.0, 0.0, 0.0, 0.0, 0.0]);
    let ran = rockfall(folder.path(), &["measure", "run", "--from", "10ms"]);
    assert!(
        ran.out.contains("collisions: 0, which dissipated 0 J"),
        "{}",
        ran.out
    );
}

/// Balls that fall from an inlet to an outlet, which the file of residence times tells; and what wears, which VTK files have.
#[test]
fn a_run_writes_residence_times_and_wear() {
    let mut scene = stack();
    scene["duration"] = json!(1.2);
    scene["planes"] = json!([]);
    scene["bodies"] = json!([]);
    scene["inlets"] = json!([ { "name": "spout", "rate": 50, "count": 4, "shapes": { "ball": 1 },
                                "region": { "min": [-1, 4.9, -1], "max": [1, 4.9, 1] } } ]);
    scene["outlets"] =
        json!([ { "name": "hole", "inside": { "min": [-9, -9, -9], "max": [9, 0, 9] } } ]);
    scene["walls"] = json!([ { "name": "chute", "mesh": { "file": "chute.obj" }, "material": "stone", "wear": { "finnie": 1e-9 } } ]);
    scene["measure"] = json!({ "residence": true });
    scene["output"] = json!({ "every": { "seconds": 0.4 }, "vtk": ["walls"] });
    let folder = with_scene(&scene);
    fs::write(
        folder.path().join("chute.obj"),
        "v 20 0 0\nv 21 0 0\nv 20 0 1\nf 1 2 3\n",
    )
    .unwrap();
    let ran = rockfall(
        folder.path(),
        &["run", "scene.json", "--out", "run", "--backend", "cpu"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("; residence time "), "{}", ran.out);
    let text = fs::read_to_string(folder.path().join("run/residence.csv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("step,time_s,outlet,from_s,to_s,bodies,part_below,density_per_s,mean_s")
    );
    let all: Vec<&str> = lines.collect();
    assert!(all[0].contains(",\"hole\","), "{text}");
    let last: Vec<&str> = all.last().unwrap().split(',').collect();
    assert_eq!(last[6], "1", "{text}");
    // Each ball falls 4.9 m, for 1 s.
    let measured = rockfall(
        folder.path(),
        &["measure", "run", "--json", "--window", "0.8s"],
    );
    let measured: Value = serde_json::from_str(&measured.out).unwrap();
    let stayed = |period: &Value| {
        let hole = &period["residence"][0];
        (hole["bodies"].as_u64().unwrap(), hole["mean_s"].as_f64())
    };
    let windows = measured["windows"].as_array().unwrap();
    let found: Vec<(u64, Option<f64>)> = windows.iter().map(stayed).collect();
    let (bodies, mean) = stayed(&measured);
    assert!(
        bodies == 4 && (mean.unwrap() - 1.0).abs() < 0.01,
        "{measured}"
    );
    assert_eq!(found, [(0, None), (bodies, mean)]);
    let column = |k: usize, name: &str| measured["moments"][k][name].as_f64();
    assert_eq!(column(0, "hole_residence_s"), None);
    assert_eq!(column(1, "hole_residence_s"), mean);
    assert_eq!(column(0, "hole_kg_per_s"), Some(0.0));
    assert!(column(1, "hole_kg_per_s").unwrap() > 1.0);
    let vtk = fs::read_dir(folder.path().join("run/vtk"))
        .unwrap()
        .flatten()
        .last()
        .unwrap();
    let bytes = fs::read(vtk.path()).unwrap();
    assert!(String::from_utf8_lossy(&bytes).contains("Name=\"wear\""));
    let (names, rows) = rows(&folder.path().join("run/statistics.csv"));
    let column = names
        .iter()
        .position(|name| name == "chute_worn_m3")
        .unwrap();
    assert_eq!(rows.last().unwrap()[column], 0.0);
}
