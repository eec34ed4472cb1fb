//! The folder of a run: what is written, going on, starting from it.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Random, own};
use glam::{DQuat, DVec3};
use rockfall::output::{Record, RunFolder};
use rockfall::step::gpu::Adapter;
use rockfall::{Simulation, scene};
use serde_json::{Value, json};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_rockfall");

/// Arguments of the program that choose an engine; the GPU engine on the adapter of [`crate::common::device`].
fn engine_arguments(engine: &str) -> Vec<String> {
    let adapter = match engine {
        "cpu" => None,
        _ => std::env::var("ROCKFALL_TEST_ADAPTER").ok().or_else(|| {
            Adapter::choose(None)
                .is_err()
                .then(|| "software".to_owned())
        }),
    };
    let adapter = adapter.map(|text| ["--adapter".to_owned(), text]);
    ["--backend".to_owned(), engine.to_owned()]
        .into_iter()
        .chain(adapter.into_iter().flatten())
        .collect()
}

/// Balls and dumbbells that fall into a trough and come to rest, with friction with a history.
pub(crate) fn heap() -> Value {
    json!({
        "version": 1,
        "duration": 0.3,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 2e-4 },
        "materials": {
            "stone": { "density": 2500, "restitution": 0.3, "friction": 0.5, "rolling_friction": 0.05,
                       "rolling": "spring" },
        },
        "shapes": {
            "ball": { "sphere": { "radius": 0.05 }, "material": "stone" },
            "dumbbell": { "rod": { "n": 2, "radius": 0.04 }, "material": "stone" },
        },
        "planes": [
            { "point": [0, 0, 0], "normal": [0.3, 1, 0], "material": "stone" },
            { "point": [0, 0, 0], "normal": [-0.3, 1, 0.1], "material": "stone" },
        ],
        "fills": [{ "count": 40, "shapes": { "ball": 1, "dumbbell": 1 },
                    "region": { "min": [-0.35, 0.25, -0.35], "max": [0.35, 1.0, 0.35] }, "seed": 3 }],
    })
}

/// Balls in a box that is shaken and in a drum that turns about an axis beside it.
fn shaken() -> Value {
    let mut scene = heap();
    scene["duration"] = json!(0.06);
    scene["planes"] = json!([]);
    scene["walls"] = json!([
        { "name": "box", "box": { "size": [0.5, 0.6, 0.5] }, "side": "inside", "material": "stone",
          "motion": { "vibrations": [{ "amplitude": [0.01, 0.02, 0], "frequency": 15, "ramp": 0.01 }] } },
        { "name": "drum", "cylinder": { "radius": 0.3, "height": 0.5, "closed": true }, "side": "inside",
          "material": "stone", "axis": [1, 0, 0], "angle": std::f64::consts::FRAC_PI_2,
          "position": [3, 0, 0],
          "motion": { "rotation": { "axis": [0, 0, 1], "center": [3.1, 0.05, 0], "speed": -4 } } },
    ]);
    scene["fills"] = json!([
        { "count": 10, "shapes": { "ball": 1, "dumbbell": 1 }, "placement": "random", "seed": 3,
          "region": { "min": [-0.2, -0.28, -0.2], "max": [0.2, 0.28, 0.2] } },
        { "count": 10, "shapes": { "ball": 1, "dumbbell": 1 }, "placement": "random", "seed": 4,
          "region": { "min": [2.8, -0.2, -0.2], "max": [3.2, 0.2, 0.2] } },
    ]);
    scene
}

pub(crate) struct Place(pub(crate) TempDir);

impl Place {
    pub(crate) fn with(scene: &Value) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        place.write("scene.json", scene);
        place
    }

    pub(crate) fn write(&self, name: &str, scene: &Value) {
        fs::write(self.0.path().join(name), scene.to_string()).unwrap();
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .current_dir(self.0.path())
            .args(arguments.split_whitespace());
        command
    }

    fn output(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs the program, which must succeed, and returns what it says on standard error.
    pub(crate) fn run(&self, arguments: &str) -> String {
        let output = self.output(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{arguments}: {said}");
        said
    }

    /// Runs the program, which must fail with `code`, and returns what it says on standard error.
    pub(crate) fn fails(&self, code: i32, arguments: &str) -> String {
        let output = self.output(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
        said
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Names of the files below a folder, in order.
    fn files(&self, name: &str) -> Vec<String> {
        let mut files: Vec<String> = fs::read_dir(self.0.path().join(name))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        files
    }

    /// All that a run has written which does not depend on the clock: names with their bytes.
    fn results(&self, name: &str) -> Vec<(String, Vec<u8>)> {
        let mut results = Vec::new();
        for folder in ["", "vtk/", "states/"] {
            for file in self.files(&format!("{name}/{folder}")) {
                let path = self.0.path().join(name).join(folder).join(&file);
                if path.is_dir() || file == "run.json" {
                    continue;
                }
                let mut bytes = fs::read(&path).unwrap();
                if file == "statistics.csv" {
                    bytes = without_rate(&String::from_utf8(bytes).unwrap()).into_bytes();
                }
                results.push((format!("{folder}{file}"), bytes));
            }
        }
        results
    }
}

/// Statistics without the column of how fast it went.
fn without_rate(text: &str) -> String {
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rate = columns
        .iter()
        .position(|c| *c == "sphere_steps_per_s")
        .unwrap();
    let without = |row: &str| {
        let mut cells: Vec<&str> = row.split(',').collect();
        cells.remove(rate);
        cells.join(",")
    };
    text.lines().map(|row| without(row) + "\n").collect()
}

/// The rows of statistics, each with the numbers of its columns.
fn statistics(text: &str) -> (Vec<String>, Vec<Vec<f64>>) {
    let mut lines = text.lines().map(|row| row.split(','));
    let columns = lines.next().unwrap().map(str::to_owned).collect();
    let rows = lines.map(|row| row.map(|cell| cell.parse().unwrap()).collect());
    (columns, rows.collect())
}

fn assert_same(a: &[(String, Vec<u8>)], b: &[(String, Vec<u8>)]) {
    let names = |results: &[(String, Vec<u8>)]| -> Vec<String> {
        results.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(a), names(b));
    for ((name, a), (_, b)) in a.iter().zip(b) {
        // The adapter's name stands in a checkpoint, the state after it.
        assert!(a == b, "{name} differs");
    }
}

#[test]
fn a_run_leaves_all_that_was_asked_for() {
    let mut scene = heap();
    scene["output"] = json!({
        "every": { "steps": 500 }, "statistics_every": { "seconds": 0.02 },
        "states": ["bodies", "spheres", "contacts"],
    });
    let place = Place::with(&scene);
    place.run("run scene.json --backend cpu --out run");
    let steps = [
        "000000000000",
        "000000000500",
        "000000001000",
        "000000001500",
    ];
    let named = |kinds: &[&str], ending: &str| {
        let of = |kind: &&str| steps.map(|step| format!("{kind}_{step}.{ending}"));
        kinds.iter().flat_map(of).collect::<Vec<_>>()
    };
    let vtk = ["bodies", "contacts", "spheres", "walls"];
    assert_eq!(place.files("run/vtk"), named(&vtk, "vtp"));
    assert_eq!(
        place.files("run/states"),
        named(&["bodies", "contacts", "spheres"], "npz")
    );
    for kind in vtk {
        let list = place.read(&format!("run/{kind}.pvd"));
        assert_eq!(list.matches("<DataSet").count(), 4);
        for (step, time) in steps.iter().zip(["0", "0.1", "0.2", "0.3"]) {
            let entry = format!("timestep=\"{time}\" part=\"0\" file=\"vtk/{kind}_{step}.vtp\"");
            assert!(list.contains(&entry), "{entry}: {list}");
        }
    }
    let (columns, rows) = statistics(&place.read("run/statistics.csv"));
    assert_eq!(rows.len(), 16);
    let at = |name: &str| columns.iter().position(|column| column == name).unwrap();
    let last = rows.last().unwrap();
    assert_eq!((last[at("step")], last[at("time_s")]), (1500.0, 0.3));
    let record = place.json("run/run.json");
    let summary = &record["summary"];
    assert_eq!(record["status"], "finished");
    for (column, value) in [
        ("kinetic_energy_J", &summary["energy"]["kinetic"]),
        ("elastic_energy_J", &summary["energy"]["elastic"]),
        ("dissipated_friction_J", &summary["energy"]["friction"]),
        ("contacts", &summary["contacts"]),
        ("coordination", &summary["coordination"]),
        (
            "largest_overlap_so_far_of_radius",
            &summary["max_overlap_fraction"],
        ),
    ] {
        assert_eq!(last[at(column)], value.as_f64().unwrap(), "{column}");
    }
    // It falls when what is pressed together gives way; the largest so far does not.
    let overlap: Vec<f64> = rows
        .iter()
        .map(|row| row[at("largest_overlap_of_radius")])
        .collect();
    let so_far = last[at("largest_overlap_so_far_of_radius")];
    assert!(
        overlap.iter().all(|overlap| *overlap <= so_far),
        "{overlap:?} {so_far}"
    );
    assert!(
        0.0 < overlap[15] && overlap[15] < so_far,
        "{overlap:?} {so_far}"
    );
    // The floor bears what has come to lie on it.
    let load: f64 = ["wall_0_force_y_N", "wall_1_force_y_N"]
        .map(|wall| last[at(wall)])
        .iter()
        .sum();
    assert!(load < -10.0, "{load} N");
    assert!(last[at("sphere_steps_per_s")] > 0.0);
    for key in [
        "rockfall",
        "commit",
        "scene_hash",
        "options",
        "command",
        "parts",
        "shapes",
    ] {
        assert!(!record[key].is_null(), "{key}: {record}");
    }

    // The scene in the folder is the scene, and repeats the run.
    let place_of = |name: &str| place.0.path().join(name);
    let again = scene::load(&place_of("run/scene.json")).unwrap().model;
    assert_eq!(
        again.hash(),
        scene::load(&place_of("scene.json")).unwrap().model.hash()
    );
    place.run("run run/scene.json --backend cpu --out again");
    assert_same(&place.results("run"), &place.results("again"));
    assert_eq!(
        place.json("again/run.json")["summary"]["state_hash"],
        summary["state_hash"]
    );
}

#[test]
fn the_speed_counts_the_spheres_that_are_there() {
    let mut scene = heap();
    scene["fills"] = json!([]);
    scene["inlets"] = json!([{
        "rate": 400, "shapes": { "ball": 1, "dumbbell": 1 },
        "region": { "min": [-0.35, 0.25, -0.35], "max": [0.35, 1.0, 0.35] },
    }]);
    scene["output"] = json!({ "statistics_every": { "steps": 200 }, "vtk": [], "states": [] });
    let place = Place::with(&scene);
    place.run("run scene.json --backend cpu --steps 1000 --out run");
    let (columns, rows) = statistics(&place.read("run/statistics.csv"));
    let speed = columns.iter().position(|c| c == "sphere_steps_per_s");
    let speeds: Vec<f64> = rows.iter().map(|row| row[speed.unwrap()]).collect();
    assert_eq!(speeds.len(), 6);
    // Nothing is there at first.
    assert!(
        speeds[0] == 0.0 && speeds[2..].iter().all(|speed| *speed > 0.0),
        "{speeds:?}"
    );
}

#[test]
fn flags_come_before_the_scene() {
    let mut scene = heap();
    scene["output"] = json!({ "every": { "steps": 10 }, "vtk": ["bodies"] });
    let place = Place::with(&scene);
    place.run(
        "run scene.json --backend cpu --steps 60 --out run --every 0.004s --statistics-every 30 \
         --vtk contacts,walls --states none",
    );
    assert_eq!(place.files("run/vtk").len(), 8);
    assert!(
        place
            .files("run/vtk")
            .contains(&"contacts_000000000040.vtp".to_owned())
    );
    assert!(place.files("run/states").is_empty());
    assert_eq!(statistics(&place.read("run/statistics.csv")).1.len(), 3);
    // A folder with something in it is left alone.
    let before = place.results("run");
    let said = place.fails(2, "run scene.json --backend cpu --out run");
    assert!(
        said.contains("already has a run; resume it with --resume"),
        "{said}"
    );
    assert_same(&before, &place.results("run"));
    // An empty one is taken, however it is written.
    fs::create_dir(place.0.path().join("empty")).unwrap();
    for name in ["empty/", "new/", "a/b/"] {
        place.run(&format!(
            "run scene.json --backend cpu --steps 2 --out {name}"
        ));
        assert_eq!(
            place.json(&format!("{name}/run.json"))["status"],
            "finished"
        );
    }
    fs::create_dir(place.0.path().join("other")).unwrap();
    fs::write(place.0.path().join("other/file"), "mine").unwrap();
    let said = place.fails(2, "run scene.json --backend cpu --out other");
    assert!(said.contains("is not empty"), "{said}");
    for (flags, part) in [
        ("--every 0", "expected a number of steps"),
        ("--every 1.5", "expected a number of steps"),
        ("--checkpoint-every -1s", "unexpected"),
        (
            "--vtk balls",
            "expected a list of bodies, spheres, contacts, bonds, walls",
        ),
        (
            "--states walls",
            "expected a list of bodies, spheres, contacts, bonds",
        ),
    ] {
        let said = place.fails(2, &format!("run scene.json --out new {flags}"));
        assert!(said.contains(part), "{flags}: {said}");
    }
    let said = place.fails(2, "run scene.json --every 10");
    assert!(said.contains("--out <DIR>"), "{said}");
}

#[test]
fn a_run_that_is_resumed_writes_what_one_that_never_stopped_does() {
    let place = Place::with(&heap());
    let flags = "--backend cpu --every 250 --statistics-every 70 --checkpoint-every 400";
    place.run(&format!("run scene.json {flags} --out whole"));
    place.run(&format!("run scene.json {flags} --steps 900 --out pieces"));
    let said = place.run("run --resume pieces");
    assert!(
        said.contains("has already taken 900 steps, and 900 are requested"),
        "{said}"
    );
    place.run("run --resume pieces --steps 1000");
    let said = place.run("run --resume pieces --duration 0.3");
    assert!(said.contains("resuming at step 1000 of 1500"), "{said}");
    let record = place.json("pieces/run.json");
    assert_eq!(record["parts"].as_array().unwrap().len(), 4);
    assert_eq!(
        record["summary"]["state_hash"],
        place.json("whole/run.json")["summary"]["state_hash"]
    );
    // It has the ends of its pieces as well; all else is the same.
    let extra = |name: &str| {
        name.starts_with("scene")
            || name.contains("000000000900")
            || name.contains("000000001000.")
            || name.ends_with(".pvd")
            || name.contains("_000000001000")
            || name == "statistics.csv"
    };
    let but = |results: Vec<(String, Vec<u8>)>| -> Vec<(String, Vec<u8>)> {
        results
            .into_iter()
            .filter(|(name, _)| !extra(name))
            .collect()
    };
    assert_same(&but(place.results("whole")), &but(place.results("pieces")));
}

#[test]
fn a_run_with_moving_walls_is_resumed_on_either_engine() {
    for engine in ["cpu", "gpu"] {
        let place = Place::with(&shaken());
        let run = |arguments: &str, more: &[String]| {
            let output = place.command(arguments).args(more).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success(), "{arguments}: {said}");
            said
        };
        let flags = "--every 100 --statistics-every 50";
        let chosen = engine_arguments(engine);
        run(&format!("run scene.json {flags} --out whole"), &chosen);
        run(
            &format!("run scene.json {flags} --steps 200 --out pieces"),
            &chosen,
        );
        // What was written after the checkpoint is taken back.
        fs::write(
            place.0.path().join("pieces/vtk/walls_000000000250.vtp"),
            "later",
        )
        .unwrap();
        let said = run("run --resume pieces --steps 300", &[]);
        assert!(said.contains("resuming at step 200 of 300"), "{said}");
        let part = &place.json("pieces/run.json")["parts"][1];
        assert_eq!(part["backend"], engine);
        let but = |mut results: Vec<(String, Vec<u8>)>| {
            // The scene says for how long the run was to be. When a GPU builds its lists, which is no part
            // of the outcome, depends on how long they held before.
            results.retain(|(name, _)| {
                name != "scene.json" && (engine == "cpu" || name != "run.checkpoint")
            });
            results
        };
        assert_same(&but(place.results("whole")), &but(place.results("pieces")));
        let hash =
            |name: &str| place.json(&format!("{name}/run.json"))["summary"]["state_hash"].clone();
        assert_eq!(hash("whole"), hash("pieces"), "{engine}");
    }
}

/// The numbers of an array of a VTK file, by its name.
fn vtk_numbers(file: &[u8], name: &str) -> Vec<f64> {
    let mark = b"<AppendedData encoding=\"raw\">\n   _";
    let raw = file.windows(mark.len()).position(|bytes| bytes == mark);
    let raw = raw.unwrap() + mark.len();
    let text = String::from_utf8(file[..raw].to_vec()).unwrap();
    let array = text
        .split("<DataArray ")
        .find(|array| array.contains(&format!("Name=\"{name}\"")))
        .unwrap_or_else(|| panic!("no {name} in {text}"));
    let value = |key: &str| array.split(&format!("{key}=\"")).nth(1).unwrap();
    let value = |key| value(key).split('"').next().unwrap();
    let at = raw + value("offset").parse::<usize>().unwrap();
    let length = u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let bytes = &file[at + 8..at + 8 + length];
    match value("type") {
        "Float64" => bytes
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
            .collect(),
        "Float32" => bytes
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes(b.try_into().unwrap()).into())
            .collect(),
        _ => bytes
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes(b.try_into().unwrap()).into())
            .collect(),
    }
}

#[test]
fn moving_walls_are_in_each_file_where_they_are_at_its_time() {
    for engine in ["cpu", "gpu"] {
        let place = Place::with(&shaken());
        let flags =
            "run scene.json --every 60 --statistics-every 60 --vtk walls --states none --out run";
        let output = place
            .command(flags)
            .args(engine_arguments(engine))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let vectors = |file: &[u8], name: &str| -> Vec<DVec3> {
            let numbers = vtk_numbers(file, name);
            numbers.chunks_exact(3).map(DVec3::from_slice).collect()
        };
        let read = |step: u64| {
            let file = place.0.path().join(format!("run/vtk/walls_{step:012}.vtp"));
            let file = fs::read(file).unwrap();
            let triangles: Vec<[usize; 3]> = vtk_numbers(&file, "connectivity")
                .chunks_exact(3)
                .map(|c| [c[0] as usize, c[1] as usize, c[2] as usize])
                .collect();
            let walls = vtk_numbers(&file, "wall");
            // The wall that each point belongs to.
            let points = vectors(&file, "Points");
            let mut owners = vec![2; points.len()];
            for (corners, wall) in triangles.iter().zip(&walls) {
                corners.iter().for_each(|&k| owners[k] = *wall as usize);
            }
            (points, vectors(&file, "velocity"), owners)
        };
        let (start, _, owners) = read(0);
        assert!([0, 1].iter().all(|wall| owners.contains(wall)));
        let half = DVec3::new(0.25, 0.3, 0.25);
        for (point, owner) in start.iter().zip(&owners) {
            let off = match owner {
                0 => (point.abs() - half).length(),
                1 => {
                    let arm = point - DVec3::X * 3.0;
                    // On the mantle, or in the middle of an end.
                    let out = arm.truncate().length();
                    (arm.z.abs() - 0.25).abs() + out.min((out - 0.3).abs())
                }
                _ => panic!("{point} belongs to no wall"),
            };
            assert!(off < 1e-6, "{engine}: {point} of wall {owner}");
        }
        let (columns, rows) = statistics(&place.read("run/statistics.csv"));
        let column = |name: &str| columns.iter().position(|column| column == name).unwrap();
        for step in [60, 120, 180, 240, 300] {
            let time = step as f64 * 2e-4;
            let (points, velocities, now) = read(step);
            assert_eq!(now, owners);
            let (sine, cosine) = (std::f64::consts::TAU * 15.0 * time).sin_cos();
            let amplitude = DVec3::new(0.01, 0.02, 0.0);
            let (center, speed) = (DVec3::new(3.1, 0.05, 0.0), -4.0);
            // And in the row of the statistics.
            let row = &rows[step as usize / 60];
            let place_of = |wall: &str| {
                DVec3::from_array(
                    ["x", "y", "z"].map(|axis| row[column(&format!("{wall}_position_{axis}_m"))]),
                )
            };
            let turn = DQuat::from_rotation_z(speed * time);
            let drum = center + turn * (DVec3::X * 3.0 - center);
            let off =
                (place_of("box") - sine * amplitude).length() + (place_of("drum") - drum).length();
            assert!(off < 1e-6, "{engine}: step {step}: {row:?}");
            let parts =
                ["x", "y", "z", "w"].map(|part| row[column(&format!("drum_orientation_{part}"))]);
            let orientation = turn * DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
            let cosine_of_half = DQuat::from_array(parts).dot(orientation).abs();
            assert!(
                cosine_of_half > 1.0 - 1e-6,
                "{engine}: step {step}: {parts:?}"
            );
            for (k, (point, velocity)) in points.iter().zip(&velocities).enumerate() {
                let (place, moves) = match owners[k] {
                    // The ramp is over.
                    0 => (
                        start[k] + sine * amplitude,
                        std::f64::consts::TAU * 15.0 * cosine * amplitude,
                    ),
                    _ => {
                        let arm = turn * (start[k] - center);
                        (center + arm, (DVec3::Z * speed).cross(arm))
                    }
                };
                let off = (point - place).length();
                assert!(off < 1e-6, "{engine}: step {step}: {point} for {place}");
                let off = (velocity - moves).length();
                assert!(off < 1e-5, "{engine}: step {step}: {velocity} for {moves}");
            }
        }
    }
}

#[test]
fn a_run_of_another_folder_or_version_is_not_resumed() {
    let place = Place::with(&heap());
    place.run("run scene.json --backend cpu --steps 20 --out run --vtk none --states none");
    assert!(
        place
            .fails(2, "run --resume nothing")
            .contains("has no readable run.json")
    );
    let record = place.json("run/run.json");
    let mut other = record.clone();
    other["version"] = json!(7);
    place.write("run/run.json", &other);
    assert!(
        place
            .fails(2, "run --resume run")
            .contains("run.json of another version")
    );
    place.write("run/run.json", &record);
    // Another scene in the folder.
    let mut scene = place.json("run/scene.json");
    scene["gravity"] = json!([0, -1.62, 0]);
    place.write("run/scene.json", &scene);
    let said = place.fails(1, "run --resume run --steps 30");
    assert!(said.contains("found a state of the scene"), "{said}");
    // A checkpoint that is cut off.
    let path = place.0.path().join("run/run.checkpoint");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let said = place.fails(1, "run --resume run --steps 30");
    assert!(said.contains("without the rest"), "{said}");
    let said = place.fails(2, "run --resume run scene.json");
    assert!(said.contains("--resume <DIR>"), "{said}");
}

#[test]
fn a_folder_that_can_no_longer_be_written_ends_the_run_with_a_sentence() {
    let place = Place::with(&heap());
    let scene = scene::load(&place.0.path().join("scene.json")).unwrap();
    let options = rockfall::Options::default();
    let mut simulation = Simulation::on_cpu(scene.model.clone(), Some(1)).unwrap();
    let record = Record::new(&simulation, &options, Vec::new(), 1500);
    let path = place.0.path().join("run");
    let mut folder = RunFolder::create(&path, &scene, record, &mut simulation).unwrap();
    let _ = simulation.run(30, &mut [&mut folder]).unwrap();
    // The thread that writes may still put a file there.
    while path.join("vtk").exists() {
        let _ = fs::remove_dir_all(path.join("vtk"));
    }
    let error = simulation.run(1500, &mut [&mut folder]).unwrap_err();
    let sentence = error.to_string();
    assert!(
        sentence.contains("vtk") && sentence.contains("cannot be written"),
        "{sentence}"
    );
    assert!(simulation.steps() < 200, "at step {}", simulation.steps());
}

#[test]
fn warnings_are_said_while_it_runs_and_more_with_v() {
    let mut scene = heap();
    scene["contact"]["stiffness"] = json!(3e3);
    scene["contact"]["time_step"] = json!(1e-3);
    let place = Place::with(&scene);
    let said = place.run("run scene.json --backend cpu");
    assert!(
        said.contains("warning: by step ") && said.contains("raise contact.stiffness"),
        "{said}"
    );
    assert!(!said.contains("INFO"), "{said}");
    assert_eq!(place.run("run scene.json --backend cpu --quiet"), "");
    let said = place.run("run scene.json --backend cpu --threads 1 --out run -v");
    for part in ["INFO", "scene loaded", "CPU engine", "checkpoint written"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("DEBUG"), "{said}");
    let said = place.run("-vv run scene.json --backend cpu --out again");
    assert!(said.contains("DEBUG files written"), "{said}");
}

/// The step of the checkpoint in a folder, if there is one.
fn checkpointed(folder: &Path) -> Option<u64> {
    let path = folder.join("run.checkpoint");
    path.exists().then(|| {
        let checkpoint = rockfall::simulation::checkpoint::Checkpoint::read(&path).unwrap();
        checkpoint.header.steps
    })
}

fn quiet(mut command: Command) -> Child {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn fifty_kills_at_random_times_lose_nothing() {
    let mut scene = heap();
    scene["duration"] = json!(2.0);
    kill_at_random_times(&scene, 50, 8);
}

#[test]
#[ignore = "a hundred kills of each of seven runs: some minutes"]
fn a_hundred_kills_of_every_kind_of_scene_lose_nothing() {
    let mut walls = shaken();
    walls["duration"] = json!(1.0);
    let mut inlets = heap();
    inlets["duration"] = json!(1.0);
    inlets["fills"] = json!([]);
    inlets["inlets"] = json!([{
        "rate": 100, "shapes": { "ball": 1, "dumbbell": 1 },
        "region": { "min": [-0.35, 0.25, -0.35], "max": [0.35, 1.0, 0.35] },
    }]);
    inlets["outlets"] = json!([{ "inside": { "min": [-0.1, -1, -0.1], "max": [0.1, 0.1, 0.1] } }]);
    let sleep = {
        let mut scene = heap();
        scene["duration"] = json!(2.0);
        scene["sleep"] = json!({ "speed": 0.02, "after": 0.1 });
        scene
    };
    let scene = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let mut explosions = scene(include_str!("../../scenes/ancestors/exploding_body.json"));
    explosions["duration"] = json!(0.2);
    explosions["explosions"][0]["at"] = json!(0.1);
    let breakage = scene(include_str!("../../scenes/crush.json"));
    let mut bonds = scene(include_str!("../../scenes/broken_beam.json"));
    bonds["bodies"][0]["position"] = json!([0.02, 0.1305, 0]);
    bonds["bodies"][0]["velocity"] = json!([0, -3, 0]);
    bonds["duration"] = json!(0.05);
    // A box that servos press on, and that is sheared in its second stage.
    let mut deform = scene(include_str!("../../scenes/shear.json"));
    deform["fills"][0]["count"] = json!(200);
    deform["duration"] = json!(0.25);
    let scenes = [walls, inlets, sleep, explosions, breakage, bonds, deform];
    for (seed, scene) in scenes.iter().enumerate() {
        kill_at_random_times(scene, 100, seed as u64);
    }
}

/// Kills a run of a scene `kills` times, each time after it has gone on, and holds what it writes in the end to what one that
/// was left alone writes.
fn kill_at_random_times(scene: &Value, kills: usize, seed: u64) {
    let wanted = kills;
    let place = Place::with(scene);
    let flags = "--backend cpu --threads 1 --every 900 --statistics-every 50 --checkpoint-every 20";
    place.run(&format!("run scene.json {flags} --out whole"));
    let folder = place.0.path().join("killed");
    let start = || match folder.exists() {
        true => place.command("run --resume killed"),
        false => place.command(&format!("run scene.json {flags} --out killed")),
    };
    let mut random = Random::new(seed);
    let (mut kills, mut last, mut within) = (0, 0, 0);
    let mut longest = 0.12;
    let clock = Instant::now();
    while kills < wanted && clock.elapsed() < Duration::from_secs(300) {
        let mut child = quiet(start());
        let wait = random.range(0.0, longest);
        std::thread::sleep(Duration::from_secs_f64(wait));
        let over = child.try_wait().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        match over {
            // It was done before it could be killed: once more, from the start.
            Some(status) => {
                assert!(status.success());
                fs::remove_dir_all(&folder).unwrap();
                last = 0;
            }
            None => {
                kills += 1;
                // Whatever is there is whole, and not earlier than what was there.
                let step = folder
                    .exists()
                    .then(|| checkpointed(&folder))
                    .flatten()
                    .unwrap_or(0);
                assert!(step >= last, "a checkpoint at {last} became one at {step}");
                within += u64::from(step > last);
                // However busy the machine is, about half of the runs come farther.
                longest *= if step > last { 0.9 } else { 1.1 };
                last = step;
            }
        }
    }
    assert_eq!(kills, wanted);
    assert!(
        within > 5,
        "only {within} of the runs came as far as a checkpoint"
    );
    let end = start().output().unwrap();
    assert!(
        end.status.success(),
        "{}",
        String::from_utf8_lossy(&end.stderr)
    );
    assert_same(&place.results("whole"), &place.results("killed"));
}

#[cfg(unix)]
#[test]
fn ctrl_c_writes_a_checkpoint_and_says_how_to_go_on() {
    let mut scene = heap();
    scene["duration"] = json!(60.0);
    let place = Place::with(&scene);
    let interrupt = |arguments: &str| {
        let mut command = place.command(arguments);
        let child = command
            .env("XDG_STATE_HOME", place.0.path().join("states"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(700));
        let sent = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(130), "{said}");
        said
    };
    let said = interrupt("run scene.json --backend cpu --out run");
    assert!(
        said.contains("resume with: rockfall run --resume run"),
        "{said}"
    );
    let step = checkpointed(&place.0.path().join("run")).unwrap();
    assert!(
        said.contains(&format!("stopped at step {step} of 300000")),
        "{said}"
    );
    assert_eq!(place.json("run/run.json")["status"], "stopped");
    // Going on gives what never stopping gives.
    place.run(&format!("run --resume run --steps {}", step + 40));
    place.run(&format!(
        "run scene.json --backend cpu --steps {} --out whole --vtk none",
        step + 40
    ));
    let hash =
        |name: &str| place.json(&format!("{name}/run.json"))["summary"]["state_hash"].clone();
    assert_eq!(hash("run"), hash("whole"));
    // Without a folder, one is made where the system keeps such things, not here.
    let said = interrupt("run scene.json --backend cpu");
    let folder = "states/rockfall/scene-stopped";
    assert!(
        said.contains("rockfall run --resume /") && said.contains(folder),
        "{said}"
    );
    assert!(!place.0.path().join("scene-stopped").exists());
    let step = checkpointed(&place.0.path().join(folder)).unwrap();
    place.run(&format!("run --resume {folder} --steps {}", step + 1));
}

#[test]
fn a_run_that_fails_leaves_the_last_good_state() {
    let mut scene = heap();
    // A ball falls faster and faster, until it can no longer be followed.
    scene["gravity"] = json!([0, -1e6, 0]);
    scene["contact"]["time_step"] = json!(0.1);
    scene["duration"] = json!(10);
    scene["shapes"]["mote"] = json!({ "sphere": { "radius": 0.05 }, "material": "stone" });
    scene["bodies"] = json!([{ "shape": "mote", "position": [0, 0, 0] }]);
    scene["planes"] = json!([]);
    scene["fills"] = json!([]);
    for engine in ["cpu", "gpu"] {
        let place = Place::with(&scene);
        let output = place
            .command("run scene.json --out run --checkpoint-every 3")
            .args(engine_arguments(engine))
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{engine}: {said}");
        assert!(
            said.contains("body 0 (mote)") && said.contains("in step "),
            "{said}"
        );
        let lost: u64 = said
            .split("in step ")
            .nth(1)
            .unwrap()
            .split(',')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        assert!(
            said.contains(&format!("the last good state, that of step {}", lost - 1)),
            "{said}"
        );
        assert_eq!(checkpointed(&place.0.path().join("run")), Some(lost - 1));
        let record = place.json("run/run.json");
        assert_eq!(record["status"], "failed");
        assert!(record["error"].as_str().unwrap().contains("body 0 (mote)"));
        // It is the state that the run had there, and it is good.
        let model = scene::load(&place.0.path().join("scene.json"))
            .unwrap()
            .model;
        let start = |model: &rockfall::model::Model| match engine {
            "cpu" => Simulation::on_cpu(model.clone(), Some(1)).unwrap(),
            _ => Simulation::on_gpu(model.clone(), crate::common::device()).unwrap(),
        };
        let mut simulation = start(&model);
        simulation.step(lost - 1).unwrap();
        let good = simulation.summary().unwrap().state_hash;
        let mut saved = start(&model);
        saved
            .read_checkpoint(&place.0.path().join("run/run.checkpoint"))
            .unwrap();
        assert_eq!(saved.summary().unwrap().state_hash, good);
        assert!(
            saved
                .bodies()
                .unwrap()
                .iter()
                .all(|body| body.velocity.is_finite())
        );
        assert!(
            place
                .files("run/vtk")
                .contains(&format!("bodies_{:012}.vtp", lost - 1))
        );
        // It is lost again, at the same step.
        let said = place.fails(1, "run --resume run");
        assert!(said.contains(&format!("in step {lost},")), "{said}");
    }
}

#[test]
fn a_scene_starts_from_the_state_of_a_run() {
    let mut scene = heap();
    scene["duration"] = json!(1.0);
    scene["bodies"] = json!([{ "shape": "ball", "position": [0, 0.4, 1.5], "fixed": true }]);
    scene["shapes"]["gate"] = json!({ "sphere": { "radius": 0.1 }, "material": "stone" });
    scene["bodies"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "shape": "gate", "position": [0, 0.4, -1.5], "fixed": true }));
    let place = Place::with(&scene);
    place.run("run scene.json --backend cpu --out settled --vtk none");

    // The same, gone on with, but with the time at 0: it moves as the run itself would.
    let mut next = scene.clone();
    next.as_object_mut().unwrap().remove("fills");
    next.as_object_mut().unwrap().remove("bodies");
    next["start"] = json!({ "from": "settled" });
    place.write("next.json", &next);
    let load = |name: &str| scene::load(&place.0.path().join(name)).unwrap();
    let path = place.0.path().join("settled/run.checkpoint");
    for backend in ["cpu", "gpu"] {
        let new = |model: &rockfall::model::Model| match backend {
            "cpu" => Simulation::on_cpu(model.clone(), Some(2)).unwrap(),
            _ => Simulation::on_gpu(model.clone(), crate::common::device()).unwrap(),
        };
        let mut before = new(&load("scene.json").model);
        before.read_checkpoint(&path).unwrap();
        let mut after = new(&load("next.json").model);
        let (a, b) = (before.bodies().unwrap(), after.bodies().unwrap());
        for (a, b) in a.iter().zip(&b) {
            assert_eq!((a.shape, a.fixed, a.mass), (b.shape, b.fixed, b.mass));
            assert!((a.position - b.position).length() < 1e-10);
            assert!((a.velocity - b.velocity).length() < 1e-10);
            assert!((a.angular_velocity - b.angular_velocity).length() < 1e-5);
        }
        // Before the first step, it has the contacts and the energy of where the other one ended.
        let elastic = before.energy().unwrap().elastic;
        let start = after.snapshot().unwrap();
        assert!(start.contacts().count() > 30);
        assert!(start.contacts().all(|contact| {
            let one = start.body(contact.body as usize).position;
            contact.force.is_finite() && (contact.point - one).length() < 0.2
        }));
        let energy = start.energy();
        assert!(
            (energy.elastic / elastic - 1.0).abs() < 0.05 && energy.total().is_finite(),
            "{backend}: {energy:?}, {elastic}"
        );
        assert!(
            start
                .wall_loads()
                .iter()
                .all(|load| load.force.is_finite() && load.torque.is_finite())
        );
        before.step(200).unwrap();
        after.step(200).unwrap();
        let (a, b) = (before.bodies().unwrap(), after.bodies().unwrap());
        let moved = a
            .iter()
            .zip(&b)
            .map(|(a, b)| (a.position - b.position).length());
        let with_history = moved.fold(0.0, f64::max);
        // Without contact histories, the heap would give way and settle once more.
        let mut forgetful = load("next.json").model;
        assert!(forgetful.history.take().is_some());
        let mut forgetful = new(&forgetful);
        forgetful.step(200).unwrap();
        let c = forgetful.bodies().unwrap();
        let moved = a
            .iter()
            .zip(&c)
            .map(|(a, c)| (a.position - c.position).length());
        let without = moved.fold(0.0, f64::max);
        assert!(with_history < 1e-4 * 0.05, "{backend}: {with_history} m");
        assert!(
            without > 10.0 * with_history,
            "{backend}: {without} m, {with_history} m"
        );
    }

    // The gate is gone, one of the planes too, there is a new ball, and the stone is steel.
    let mut open = next.clone();
    open["start"] =
        json!({ "from": "settled/run.checkpoint", "without": ["gate"], "at_rest": true });
    open["shapes"].as_object_mut().unwrap().remove("gate");
    open["planes"].as_array_mut().unwrap().remove(0);
    open["materials"]["stone"]["density"] = json!(7800);
    open["bodies"] = json!([{ "shape": "ball", "position": [0, 2, 0] }]);
    place.write("open.json", &open);
    let opened = load("open.json");
    let settled = load("next.json").model;
    assert_eq!(opened.model.bodies.len(), settled.bodies.len());
    assert!(
        opened
            .model
            .bodies
            .iter()
            .all(|body| body.velocity == DVec3::ZERO)
    );
    assert!(
        opened
            .notes
            .iter()
            .any(|note| note.contains("41 of 42 bodies")),
        "{:?}",
        opened.notes
    );
    let history = opened.model.history.as_ref().unwrap();
    let spheres = opened.model.sphere_count() - 1;
    assert_eq!(history.ends.len(), spheres);
    assert!(history.ends.len() < settled.history.as_ref().unwrap().ends.len());
    place.run("run open.json --backend cpu --steps 500 --out opened --vtk none");
    // The folder has all that it takes to run it again, without the other run.
    fs::remove_dir_all(place.0.path().join("settled")).unwrap();
    assert_eq!(load("opened/scene.json").model.hash(), opened.model.hash());
    place.run("run --resume opened --steps 600");

    // What does not fit is said.
    open["start"]["from"] = json!("opened");
    open["start"]["without"] = json!(["gait"]);
    place.write("open.json", &open);
    let said = place.fails(2, "check open.json");
    assert!(
        said.contains("start.without[0]: found the shape \"gait\""),
        "{said}"
    );
    open["start"] = json!({ "from": "opened" });
    open["shapes"].as_object_mut().unwrap().remove("dumbbell");
    place.write("open.json", &open);
    let said = place.fails(2, "check open.json");
    assert!(
        said.contains("found bodies of the shape \"dumbbell\""),
        "{said}"
    );
    open["start"] = json!({ "from": "open.json" });
    place.write("open.json", &open);
    let said = place.fails(2, "check open.json");
    assert!(
        said.contains("start.from") && said.contains("of another kind"),
        "{said}"
    );
}

#[test]
fn a_body_starts_with_the_material_and_the_group_that_it_had() {
    let scene = json!({
        "version": 1, "gravity": [0, 0, 0], "duration": 0.01,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5 },
        "materials": {
            "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 },
            "ice": { "density": 900, "restitution": 0.3, "friction": 0.1 },
        },
        "groups": { "solid": {}, "ghosts": { "ignores": ["solid"] } },
        "shapes": { "ball": { "sphere": { "radius": 0.1 }, "material": "stone" } },
        "bodies": [
            { "shape": "ball", "position": [0, 0, 0], "group": "solid" },
            { "shape": "ball", "position": [0.05, 0, 0], "group": "ghosts", "material": "ice" },
        ],
    });
    let place = Place::with(&scene);
    place.run("run scene.json --backend cpu --out before --vtk none");
    let mut next = scene.clone();
    next.as_object_mut().unwrap().remove("bodies");
    next["start"] = json!({ "from": "before" });
    // In another order, and with one more.
    next["groups"] = json!({ "ghosts": { "ignores": ["solid"] }, "others": {}, "solid": {} });
    place.write("next.json", &next);
    let load = |name: &str| scene::load(&place.0.path().join(name)).unwrap().model;
    let (before, after) = (load("scene.json"), load("next.json"));
    for (a, b) in before.bodies.iter().zip(&after.bodies) {
        let [a_shape, b_shape] = [&before.shapes[a.shape], &after.shapes[b.shape]];
        assert_eq!((&a_shape.name, a_shape.mass), (&b_shape.name, b_shape.mass));
        let name =
            |model: &rockfall::model::Model, group: usize| model.forces.groups[group].name.clone();
        assert_eq!(name(&before, a.group), name(&after, b.group));
    }
    // They are in each other, and stay so.
    place.run("run next.json --backend cpu --steps 100");

    for (of, name) in [("materials", "ice"), ("groups", "ghosts")] {
        let mut wrong = next.clone();
        wrong[of].as_object_mut().unwrap().remove(name);
        place.write("wrong.json", &wrong);
        let said = place.fails(2, "check wrong.json");
        assert!(
            said.contains("start.from") && said.contains(&format!("{name:?} under {of:?}")),
            "{said}"
        );
    }
}

#[test]
fn every_scene_is_the_same_when_it_is_loaded_from_the_folder_of_its_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for entry in fs::read_dir(own("scenes")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "json")
            || path.ends_with("pile_100k.json")
        {
            continue;
        }
        let scene = scene::load(&path).unwrap();
        scene.save(folder.path()).unwrap();
        let again = scene::load(&folder.path().join("scene.json")).unwrap();
        assert_eq!(again.model.hash(), scene.model.hash(), "{}", path.display());
        assert_eq!(again.model.duration, scene.model.duration);
        seen += 1;
    }
    assert!(seen > 8);
}

#[test]
fn walls_inlets_and_probes_have_their_columns() {
    let scene: Value =
        serde_json::from_str(&fs::read_to_string(own("scenes/pour.json")).unwrap()).unwrap();
    let place = Place::with(&scene);
    let output = place.output(
        "run scene.json --backend cpu --out run --json --duration 0.7 --vtk none --states none",
    );
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (columns, rows) = statistics(&place.read("run/statistics.csv"));
    let (first, last) = (&rows[0], &rows[rows.len() - 1]);
    let at = |name: &str| columns.iter().position(|column| column == name).unwrap();
    for (column, value) in [
        ("feed_bodies", &summary["inlets"][0]["bodies"]),
        ("feed_mass_kg", &summary["inlets"][0]["mass"]),
        ("below_bodies", &summary["outlets"][0]["bodies"]),
        ("hopper_bodies", &summary["probes"][0]["bodies"]),
        ("hopper_mass_kg", &summary["probes"][0]["mass"]),
        (
            "hopper_velocity_y_m_per_s",
            &summary["probes"][0]["velocity"][1],
        ),
        (
            "gate_forward_mass_kg",
            &summary["probes"][1]["forward"]["mass"],
        ),
        (
            "gate_backward_mass_kg",
            &summary["probes"][1]["backward"]["mass"],
        ),
        ("wall_0_force_x_N", &summary["walls"][0]["force"][0]),
        ("wall_1_torque_z_Nm", &summary["walls"][1]["torque"][2]),
    ] {
        assert_eq!(last[at(column)], value.as_f64().unwrap(), "{column}");
    }
    assert!(last[at("hopper_bodies")] > first[at("hopper_bodies")]);
    let push = at("wall_0_force_x_N");
    assert!(rows.iter().any(|row| row[push].abs() > 0.1));
    assert!(last.len() == columns.len() && rows.iter().all(|row| row.len() == columns.len()));
}
