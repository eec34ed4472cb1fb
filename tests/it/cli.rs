//! The command line: arguments, what is printed where, files written, exit codes.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::LazyLock;

use crate::common::own;

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

const COMMANDS: &[&str] = &[
    "new",
    "run",
    "check",
    "schema",
    "adapters",
    #[cfg(feature = "render")]
    "render",
    #[cfg(feature = "view")]
    "view",
];

/// A folder for the files of a test, in which the program runs.
struct Place(TempDir);

/// Outcome of running the program.
struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a scene.
    fn with(self, name: &str, scene: &Value) -> Place {
        fs::write(self.path(name), scene.to_string()).unwrap();
        self
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo_bin!("rockfall"));
        for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(variable);
        }
        command.current_dir(self.0.path()).args(arguments);
        command
    }

    fn rockfall(&self, arguments: &[&str]) -> Outcome {
        Outcome::of(self.command(arguments))
    }

    /// Runs the program, which must succeed, and returns its standard output as JSON.
    fn json(&self, arguments: &[&str]) -> Value {
        let outcome = self.rockfall(arguments);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        serde_json::from_str(&outcome.stdout).unwrap()
    }

    /// Runs a scene on the CPU, with further arguments, and returns the summary.
    fn run(&self, scene: &str, arguments: &[&str]) -> Value {
        self.json(&[&["run", scene, "--json", "--backend", "cpu"], arguments].concat())
    }
}

impl Outcome {
    fn of(mut command: Command) -> Outcome {
        let output = command.output().unwrap();
        Outcome {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The command failed with `code`, saying why in a sentence with each of `parts` in it.
    fn failed(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        assert_eq!(self.stdout, "");
        assert!(self.stderr.contains("error: "), "{}", self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?}: {}", self.stderr);
        }
    }
}

/// A ball of 1 kg that falls onto a floor, 1000 steps a second.
fn ball() -> Value {
    json!({
        "version": 1,
        "name": "falling ball",
        "duration": 0.5,
        "contact": { "stiffness": 1e4, "time_step": 1e-3 },
        "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "ball": {
            "sphere": { "radius": 0.1 }, "material": "stone",
            "mass_properties": { "mass": 1, "inertia": [0.004, 0.004, 0.004] },
        } },
        "planes": [{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" }],
        "bodies": [{ "shape": "ball", "position": [0, 0.5, 0] }],
    })
}

/// The ball without floor and gravity, flying along x and turning about z, off its shape's origin.
fn free_ball() -> Value {
    let mut scene = ball();
    scene["gravity"] = json!([0, 0, 0]);
    scene["planes"] = json!([]);
    scene["shapes"]["ball"] = json!({
        "spheres": [{ "center": [0.5, 0, 0], "radius": 0.25 }],
        "material": "stone",
        "mass_properties": { "mass": 2, "center_of_mass": [0.5, 0, 0], "inertia": [4, 4, 4] },
    });
    scene["bodies"] = json!([{
        "shape": "ball", "position": [-0.5, 0, 0], "velocity": [3, 0, 0],
        "angular_velocity": [0, 0, 0.5],
    }]);
    scene
}

/// Two balls on the floor and a fixed one between them, and `falling` more that come down in a
/// second.
fn balls(falling: usize) -> Value {
    let mut scene = ball();
    scene["bodies"] = json!([
        { "shape": "ball", "position": [-0.5, 0.1, 0] },
        { "shape": "ball", "position": [0, 0.1, 0], "fixed": true },
        { "shape": "ball", "position": [0.5, 0.1, 0] },
    ]);
    scene["fills"] = json!([{
        "count": falling, "shapes": { "ball": 1 },
        "region": { "min": [-1, 6, -1], "max": [1, 8, 1] },
    }]);
    scene
}

/// Arguments that choose a GPU: a real one where there is one, else the software adapter, which
/// the test command installs.
fn gpu() -> &'static [String] {
    static GPU: LazyLock<Vec<String>> = LazyLock::new(|| {
        let adapter = std::env::var("ROCKFALL_TEST_ADAPTER").ok().or_else(|| {
            let listing = Place::new().json(&["adapters", "--json"]);
            (listing["cpu"]["auto"] == true).then(|| "software".to_owned())
        });
        let adapter = adapter.map(|text| ["--adapter".to_owned(), text]);
        ["--backend".to_owned(), "gpu".to_owned()]
            .into_iter()
            .chain(adapter.into_iter().flatten())
            .collect()
    });
    &GPU
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

/// The columns and the rows of a trace.
fn table(text: &str) -> (Vec<String>, Vec<Vec<f64>>) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let columns = reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_owned)
        .collect();
    let rows = reader
        .records()
        .map(|row| {
            row.unwrap()
                .iter()
                .map(|cell| cell.parse().unwrap())
                .collect()
        })
        .collect();
    (columns, rows)
}

#[test]
fn every_command_has_help_with_examples() {
    let place = Place::new();
    let all = place.rockfall(&["--help"]);
    for command in COMMANDS {
        assert!(
            all.stdout.contains(&format!("\n  {command} ")),
            "{}",
            all.stdout
        );
        for flag in ["-h", "--help"] {
            let help = place.rockfall(&[command, flag]);
            assert_eq!(help.code, Some(0));
            assert!(help.stdout.contains("Usage: rockfall"), "{}", help.stdout);
            assert!(
                help.stdout.contains("Examples:\n  rockfall"),
                "{}",
                help.stdout
            );
            assert!(help.stdout.lines().all(|line| line.chars().count() <= 100));
        }
    }
    assert!(all.stdout.contains("Exit codes:"));
    let number = format!("rockfall {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(place.rockfall(&["-V"]).stdout, number);
    let version = place.rockfall(&["--version"]).stdout;
    assert!(version.starts_with(&number), "{version}");
    assert!(version.contains("\ncommit: "), "{version}");
    assert!(version.contains("\nfeatures: cpu, gpu"), "{version}");
}

#[test]
fn without_a_command_three_are_shown() {
    let place = Place::new();
    let greeting = place.rockfall(&[]);
    assert_eq!((greeting.code, greeting.stderr.as_str()), (Some(0), ""));
    let commands: Vec<&str> = greeting
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("  rockfall "))
        .collect();
    assert_eq!(commands.len(), 3, "{}", greeting.stdout);
    assert!(greeting.stdout.lines().count() < 10);
    // The first two do what they promise.
    for command in &commands[..2] {
        let words: Vec<&str> = command.split("  ").next().unwrap().split(' ').collect();
        let short = match words[0] {
            "run" => &["--steps", "1", "--backend", "cpu"][..],
            _ => &[],
        };
        let outcome = place.rockfall(&[&words, short].concat());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    }
}

const TEMPLATES: [&str; 6] = ["pile", "drum", "hopper", "conveyor", "blocks", "empty"];

#[test]
fn each_template_is_a_right_scene_with_comments() {
    let place = Place::new();
    let help = place.rockfall(&["new", "--help"]).stdout;
    let mut arguments = vec!["check"];
    let names: Vec<String> = TEMPLATES.map(|name| format!("my {name}.json")).into();
    for (template, name) in TEMPLATES.iter().zip(&names) {
        assert!(help.contains(&format!("- {template}:")), "{help}");
        let stem = name.strip_suffix(".json").unwrap();
        let outcome = place.rockfall(&["new", stem, "--template", template]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_eq!(outcome.stdout, format!("wrote {name}\n"));
        assert_eq!(
            outcome.stderr,
            format!("next: rockfall run '{name}'\n"),
            "the name has a space"
        );
        let text = place.read(name);
        assert!(
            text.contains(&format!("//   rockfall run '{name}' ")),
            "{text}"
        );
        assert!(!text.contains("SCENE"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 120),
            "{text}"
        );
        arguments.push(name);
    }
    let checked = place.rockfall(&arguments);
    assert_eq!((checked.code, checked.stderr.as_str()), (Some(0), ""));
    let few = place.run("my empty.json", &[]);
    assert_eq!(few["bodies"], 1);
}

#[test]
#[ignore = "takes a minute"]
fn each_template_runs_to_its_end_without_a_warning() {
    let place = Place::new();
    for template in TEMPLATES {
        place.rockfall(&["new", template, "-t", template]);
        let scene = format!("{template}.json");
        let outcome = place.rockfall(&["run", &scene, "--backend", "cpu"]);
        assert_eq!(outcome.code, Some(0), "{template}: {}", outcome.stderr);
        assert!(
            !outcome.stderr.contains("warning"),
            "{template}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn a_new_scene_overwrites_nothing() {
    let place = Place::new().with("ball.json", &ball());
    let before = place.read("ball.json");
    for name in ["ball", "ball.json"] {
        place
            .rockfall(&["new", name])
            .failed(2, &["ball.json already exists", "another name"]);
    }
    assert_eq!(place.read("ball.json"), before);
    place
        .rockfall(&["new", "no/ball"])
        .failed(2, &["no/ball.json", "no folder no"]);
    place.rockfall(&["new", "a/.."]).failed(2, &["a/.."]);
    place
        .rockfall(&["new", "heap", "--template", "pyramid"])
        .failed(2, &["'pyramid'", "pile, drum, hopper"]);
    assert!(!place.path("heap.json").exists());
}

#[test]
fn a_run_ends_with_what_to_look_at_next() {
    let place = Place::new().with("my ball.json", &ball());
    let next = |arguments: &[&str]| {
        let start = ["run", "my ball.json", "--steps", "2", "--backend", "cpu"];
        let outcome = place.rockfall(&[&start, arguments].concat());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        outcome.stderr.lines().last().unwrap().to_owned()
    };
    let plain = next(&[]);
    assert!(
        plain.starts_with("next: `rockfall ") && plain.contains("'my ball.json'"),
        "{plain}"
    );
    assert!(plain.contains("--out DIR"), "{plain}");
    let kept = next(&["--out", "kept"]);
    let file = kept
        .strip_prefix("next: open ")
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    assert!(place.path(file).is_file(), "{kept}");
    let only = next(&["--out", "only", "--vtk", "none"]);
    let file = only.strip_prefix("next: plot ").unwrap();
    assert!(place.path(file).is_file(), "{only}");
    // A program that reads the summary is told nothing.
    assert!(!next(&["--json"]).starts_with("next"));
}

#[test]
fn wrong_usage_exits_with_2_and_says_why() {
    let place = Place::new()
        .with("ball.json", &ball())
        .with("balls.json", &balls(14));
    let cases: [(&[&str], &[&str]); 26] = [
        (&["rnu"], &["unrecognized subcommand 'rnu'"]),
        (&["run"], &["<SCENE>"]),
        (&["check"], &["<SCENE>"]),
        (
            &["run", "ball.json", "--bakend", "cpu"],
            &["'--bakend'", "'--backend'"],
        ),
        (
            &["run", "ball.json", "--backend", "cuda"],
            &["'cuda'", "auto, gpu, cpu, reference"],
        ),
        (
            &["run", "ball.json", "--precision", "double"],
            &["--precision double", "--backend reference"],
        ),
        (
            &[
                "run",
                "ball.json",
                "--backend",
                "reference",
                "--threads",
                "2",
            ],
            &["--threads", "--backend reference"],
        ),
        (
            &["run", "ball.json", "--backend", "cpu", "--adapter", "x"],
            &["--adapter", "--backend cpu"],
        ),
        (
            &["run", "ball.json", "--backend", "gpu", "--threads", "2"],
            &["--threads", "--backend gpu"],
        ),
        (
            &["run", "ball.json", "--threads", "0"],
            &["'0'", "--threads"],
        ),
        (
            &["run", "ball.json", "--threads", "many"],
            &["'many'", "--threads"],
        ),
        (
            &["run", "ball.json", "--steps", "10", "--duration", "1"],
            &["--steps", "--duration"],
        ),
        (
            &["run", "ball.json", "--steps", "1.5"],
            &["'1.5'", "--steps"],
        ),
        (
            &["run", "ball.json", "--duration", "-1"],
            &["'-1'", "a number of seconds"],
        ),
        (
            &["run", "ball.json", "--duration", "NaN"],
            &["'NaN'", "a number of seconds"],
        ),
        (
            &["run", "ball.json", "--duration", "1e999"],
            &["'1e999'", "a number of seconds"],
        ),
        (
            &["run", "ball.json", "--duration", "2 h"],
            &["'2 h'", "a number of seconds"],
        ),
        (
            &["run", "ball.json", "--trace-bodies", "0"],
            &["--trace <FILE>"],
        ),
        (
            &["run", "ball.json", "--trace-every", "2"],
            &["--trace <FILE>"],
        ),
        (
            &["run", "ball.json", "--trace", "t", "--trace-every", "0"],
            &["'0'", "--trace-every"],
        ),
        (
            &["run", "ball.json", "--trace", "t", "--trace-bodies", "3-1"],
            &["'3-1'", "0-9,42"],
        ),
        (
            &["run", "ball.json", "--trace", "t", "--trace-bodies", "0,,1"],
            &["''", "0-9,42"],
        ),
        (
            &["run", "ball.json", "--trace", "t", "--trace-bodies", "0,1"],
            &["no body 1", "has 1"],
        ),
        (
            &[
                "run",
                "ball.json",
                "--trace",
                "t",
                "--trace-bodies",
                "0-4294967295",
            ],
            &["no body 4294967295"],
        ),
        (
            &["run", "balls.json", "--trace", "t"],
            &["17 bodies", "--trace-bodies", "0-16"],
        ),
        (
            &["schema", "ball.json"],
            &["unexpected argument 'ball.json'"],
        ),
    ];
    for (arguments, parts) in cases {
        place.rockfall(arguments).failed(2, parts);
    }
    assert!(!place.path("t").exists(), "files are made only for a run");
}

#[test]
fn a_missing_or_wrong_scene_exits_with_2_and_writes_nothing() {
    let mut negative = ball();
    negative["shapes"]["ball"]["sphere"]["radius"] = json!(-0.1);
    let mut misspelt = ball();
    misspelt["gravty"] = json!([0, 0, 0]);
    let place = Place::new()
        .with("negative.json", &negative)
        .with("misspelt.json", &misspelt);
    let cases: [(&str, &[&str]); 4] = [
        ("missing.json", &["missing.json"]),
        (".", &["."]),
        (
            "negative.json",
            &["negative.json", "shapes.ball.sphere.radius", "-0.1"],
        ),
        (
            "misspelt.json",
            &["misspelt.json", "gravty", "did you mean", "gravity"],
        ),
    ];
    for (scene, parts) in cases {
        place
            .rockfall(&[
                "run",
                scene,
                "--state",
                "state.json",
                "--trace",
                "trace.csv",
            ])
            .failed(2, parts);
        place.rockfall(&["check", scene]).failed(2, parts);
    }
    assert!(!place.path("state.json").exists());
    assert!(!place.path("trace.csv").exists());
}

#[test]
fn a_file_that_cannot_be_written_exits_with_2_before_the_run() {
    let place = Place::new().with("ball.json", &ball());
    let scene = place.read("ball.json");
    for flag in ["--state", "--trace"] {
        for path in ["missing/file", "."] {
            let outcome = place.rockfall(&["run", "ball.json", flag, path]);
            outcome.failed(2, &[flag, path, "cannot be written"]);
            assert!(!outcome.stderr.contains("engine"), "{}", outcome.stderr);
        }
        place
            .rockfall(&["run", "ball.json", flag, "./ball.json"])
            .failed(2, &[flag, "the scene"]);
        assert_eq!(place.read("ball.json"), scene);
    }
    place
        .rockfall(&["run", "ball.json", "--state", "same", "--trace", "./same"])
        .failed(2, &["--trace", "--state"]);
}

#[test]
fn a_run_that_fails_exits_with_1_and_gives_no_result() {
    let mut hurled = free_ball();
    hurled["gravity"] = json!([0, -3e38, 0]);
    hurled["contact"]["time_step"] = json!(0.1);
    let place = Place::new()
        .with("hurled.json", &hurled)
        .with("ball.json", &ball());
    let arguments = [
        "run",
        "hurled.json",
        "--backend",
        "cpu",
        "--state",
        "s",
        "--trace",
        "t",
    ];
    for arguments in [&arguments[..], &[&arguments[..], &["--json"]].concat()] {
        place
            .rockfall(arguments)
            .failed(1, &["body 0 (ball)", "too fast to be followed"]);
        assert_eq!(place.read("s"), "");
        assert!(!place.read("t").to_lowercase().contains("nan"));
    }
    // What fails before the run leaves earlier results alone.
    fs::write(place.path("s"), "earlier").unwrap();
    for backend in ["gpu", "auto"] {
        let adapter = ["--backend", backend, "--adapter", "no such"];
        place
            .rockfall(&[&["run", "ball.json", "--state", "s"][..], &adapter].concat())
            .failed(1, &["\"no such\"", "--adapter"]);
        assert_eq!(place.read("s"), "earlier");
    }
}

#[test]
fn the_summary_as_json_has_exactly_the_keys_promised() {
    let place = Place::new().with("balls.json", &balls(5));
    let outcome = place.rockfall(&[
        "run",
        "balls.json",
        "--json",
        "--backend",
        "cpu",
        "--threads",
        "2",
    ]);
    assert_eq!(outcome.code, Some(0));
    assert!(
        outcome.stderr.contains("engine: CPU, 2 threads"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains("time step"), "{}", outcome.stderr);
    let summary: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(
        keys(&summary),
        [
            "scene",
            "backend",
            "adapter",
            "bodies",
            "spheres",
            "steps",
            "dt",
            "simulated_s",
            "wall_s",
            "sphere_steps_per_s",
            "kinetic_energy_j",
            "max_overlap_fraction",
            "contacts",
            "coordination",
            "asleep",
            "energy",
            "overlaps",
            "forces",
            "walls",
            "momentum",
            "angular_momentum",
            "state_hash",
        ]
    );
    assert_eq!(summary["scene"], "falling ball");
    assert_eq!(summary["backend"], "cpu");
    assert_eq!(summary["adapter"], "CPU, 2 threads");
    assert_eq!(summary["bodies"], 8);
    assert_eq!(summary["spheres"], 8);
    assert_eq!(summary["steps"], 500);
    assert_eq!(summary["dt"], 1e-3);
    assert_eq!(summary["simulated_s"], 0.5);
    assert!(summary["kinetic_energy_j"].as_f64().unwrap() > 0.0);
    let overlap = summary["max_overlap_fraction"].as_f64().unwrap();
    // Set down without overlap, a ball sinks in by up to twice that at rest, m g/k.
    assert!((1.0..2.0).contains(&(overlap / 9.81e-3)), "{overlap}");
    assert_eq!(summary["contacts"], 2);
    assert_eq!(summary["coordination"], 2.0 / 7.0);
    let energy = &summary["energy"];
    assert_eq!(
        keys(energy),
        [
            "kinetic",
            "gravitational",
            "elastic",
            "total",
            "damping",
            "friction",
            "drag",
            "work"
        ]
    );
    assert!(energy["elastic"].as_f64().unwrap() > 0.0, "{energy}");
    for histogram in ["overlaps", "forces"] {
        let counts = summary[histogram]["counts"].as_array().unwrap();
        let total: u64 = counts.iter().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(total, 2, "{histogram}");
        assert_eq!(
            summary[histogram]["edges"].as_array().unwrap().len(),
            counts.len() + 1
        );
    }
    let rate = 8.0 * 500.0 / summary["wall_s"].as_f64().unwrap();
    let stated = summary["sphere_steps_per_s"].as_f64().unwrap();
    assert!((rate / stated - 1.0).abs() < 1e-9, "{rate} {stated}");
    let hash = summary["state_hash"].as_str().unwrap();
    assert!(
        hash.len() == 16 && u64::from_str_radix(hash, 16).is_ok(),
        "{hash}"
    );
}

#[test]
fn the_summary_for_people_goes_to_standard_output_and_the_rest_to_standard_error() {
    let place = Place::new().with("ball.json", &ball());
    let outcome = place.rockfall(&["run", "ball.json", "--backend", "cpu"]);
    assert_eq!(outcome.code, Some(0));
    let summary = place.run("ball.json", &[]);
    let names: Vec<&str> = outcome
        .stdout
        .lines()
        .map(|line| line[..15].trim_end())
        .collect();
    assert_eq!(
        names,
        [
            "scene",
            "bodies",
            "spheres",
            "steps",
            "time step",
            "simulated time",
            "wall time",
            "throughput",
            "kinetic energy",
            "largest overlap",
            "contacts",
            "planes[0]",
            "state hash",
        ]
    );
    assert!(
        outcome.stdout.contains("simulated time   0.5 s\n"),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome
            .stdout
            .contains(summary["state_hash"].as_str().unwrap())
    );
    assert!(
        outcome.stderr.starts_with("engine: CPU, "),
        "{}",
        outcome.stderr
    );
}

#[test]
fn auto_says_what_it_chose() {
    let place = Place::new().with("ball.json", &ball());
    let outcome = place.rockfall(&["run", "ball.json", "--steps", "1"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let first = outcome.stderr.lines().next().unwrap();
    if place.json(&["adapters", "--json"])["cpu"]["auto"] == true {
        assert!(first.starts_with("engine: CPU, "), "{first}");
        assert!(first.ends_with("(no GPU was found)"), "{first}");
    } else {
        assert!(first.starts_with("engine: GPU, "), "{first}");
    }
}

#[test]
fn steps_and_duration_decide_how_far_it_goes() {
    let place = Place::new().with("ball.json", &ball());
    let steps = |arguments: &[&str]| place.run("ball.json", arguments)["steps"].as_u64();
    assert_eq!(steps(&[]), Some(500));
    assert_eq!(steps(&["--steps", "7"]), Some(7));
    assert_eq!(steps(&["--duration", "0.0204"]), Some(20));
    assert_eq!(steps(&["--duration", "0"]), Some(0));
    assert_eq!(steps(&["--duration", "3ms"]), Some(3));
    assert_eq!(steps(&["--duration", "4000 us"]), Some(4));
    assert_eq!(steps(&["--duration", "0.005s"]), Some(5));

    let none = place.run("ball.json", &["--steps", "0", "--state", "state.json"]);
    assert_eq!(none["steps"], 0);
    for key in [
        "simulated_s",
        "sphere_steps_per_s",
        "kinetic_energy_j",
        "max_overlap_fraction",
    ] {
        assert_eq!(none[key], 0.0, "{key}");
    }
    let state: Value = serde_json::from_str(&place.read("state.json")).unwrap();
    assert_eq!(state["time"], 0.0);
    let height = state["bodies"][0]["position"][1].as_f64().unwrap();
    assert!((height - 0.5).abs() < 1e-9, "{height}");
}

#[test]
fn a_free_body_keeps_momentum_and_angular_momentum_exactly() {
    let place = Place::new().with("free.json", &free_ball());
    let summary = place.run("free.json", &[]);
    assert_eq!(summary["momentum"], json!([6.0, 0.0, 0.0]));
    assert_eq!(summary["angular_momentum"], json!([0.0, 0.0, 2.0]));
    // 2/2 3² + 4/2 0.5²
    let energy = summary["kinetic_energy_j"].as_f64().unwrap();
    assert!((energy - 9.5).abs() < 1e-6, "{energy}");
}

#[test]
fn the_final_state_places_centre_of_mass_and_origin() {
    let place = Place::new().with("free.json", &free_ball());
    place.run("free.json", &["--state", "state.json"]);
    let state: Value = serde_json::from_str(&place.read("state.json")).unwrap();
    assert_eq!(keys(&state), ["version", "time", "bodies"]);
    assert_eq!(state["version"], 1);
    assert_eq!(state["time"], 0.5);
    let bodies = state["bodies"].as_array().unwrap();
    assert_eq!(bodies.len(), 1);
    let body = &bodies[0];
    assert_eq!(
        keys(body),
        [
            "index",
            "id",
            "shape",
            "mass",
            "fixed",
            "position",
            "origin",
            "orientation",
            "velocity",
            "angular_velocity",
            "contact_force",
        ]
    );
    assert_eq!(body["index"], 0);
    assert_eq!(body["shape"], "ball");
    assert_eq!(body["mass"], 2.0);
    assert_eq!(body["fixed"], false);
    // The centre of mass flies straight; the body turns about it, by 0.25 rad.
    let angle: f64 = 0.25;
    let expected = [
        ("position", vec![1.5, 0.0, 0.0]),
        (
            "origin",
            vec![1.5 - 0.5 * angle.cos(), -0.5 * angle.sin(), 0.0],
        ),
        (
            "orientation",
            vec![0.0, 0.0, (angle / 2.0).sin(), (angle / 2.0).cos()],
        ),
        ("velocity", vec![3.0, 0.0, 0.0]),
        ("angular_velocity", vec![0.0, 0.0, 0.5]),
    ];
    for (key, expected) in expected {
        let found = body[key].as_array().unwrap();
        assert_eq!(found.len(), expected.len(), "{key}");
        for (found, expected) in found.iter().zip(expected) {
            let error = found.as_f64().unwrap() - expected;
            assert!(error.abs() < 1e-5, "{key}: {found} instead of {expected}");
        }
    }
}

#[test]
fn a_state_lists_all_bodies_in_order() {
    let place = Place::new().with("balls.json", &balls(30));
    place.run("balls.json", &["--steps", "3", "--state", "state.json"]);
    let state: Value = serde_json::from_str(&place.read("state.json")).unwrap();
    let bodies = state["bodies"].as_array().unwrap();
    assert_eq!(bodies.len(), 33);
    for (index, body) in bodies.iter().enumerate() {
        assert_eq!(body["index"], index);
        assert_eq!(body["fixed"], index == 1);
    }
    assert_eq!(bodies[1]["velocity"], json!([0.0, 0.0, 0.0]));
}

#[test]
fn a_trace_has_a_row_for_each_body_at_each_multiple() {
    let place = Place::new().with("balls.json", &balls(20));
    let arguments = [
        "--steps",
        "950",
        "--state",
        "state.json",
        "--trace",
        "trace.csv",
    ];
    let chosen = ["--trace-bodies", "4,0-1,0", "--trace-every", "400"];
    place.run("balls.json", &[&arguments[..], &chosen].concat());
    let text = place.read("trace.csv");
    assert_eq!(
        text.lines().next().unwrap(),
        "time,body,position_x,position_y,position_z,\
         orientation_x,orientation_y,orientation_z,orientation_w,\
         velocity_x,velocity_y,velocity_z,\
         angular_velocity_x,angular_velocity_y,angular_velocity_z,\
         contact_force_x,contact_force_y,contact_force_z,\
         contact_torque_x,contact_torque_y,contact_torque_z,max_overlap,contacts"
    );
    let (_, rows) = table(&text);
    let when: Vec<(f64, f64)> = rows.iter().map(|row| (row[0], row[1])).collect();
    let times = [400.0 * 1e-3, 800.0 * 1e-3];
    let expected: Vec<(f64, f64)> = times
        .iter()
        .flat_map(|&time| [(time, 0.0), (time, 1.0), (time, 4.0)])
        .collect();
    assert_eq!(when, expected);
    // At rest on the floor: the contact bears the weight (mass 1), at the overlap m g/k.
    let resting = &rows[3];
    assert!((resting[16] - 9.81).abs() < 0.01, "{resting:?}");
    assert!((resting[21] - 9.81 / 1e4).abs() < 1e-5, "{resting:?}");
    assert_eq!(resting[22], 1.0);
}

#[test]
fn a_trace_ends_in_the_final_state_and_follows_the_contact() {
    let place = Place::new().with("ball.json", &ball());
    place.run(
        "ball.json",
        &["--state", "state.json", "--trace", "trace.csv"],
    );
    let (columns, rows) = table(&place.read("trace.csv"));
    assert_eq!(rows.len(), 500);
    let state: Value = serde_json::from_str(&place.read("state.json")).unwrap();
    let body = &state["bodies"][0];
    let last = rows.last().unwrap();
    assert_eq!(last[0], state["time"].as_f64().unwrap());
    for (at, key) in [
        (2, "position"),
        (5, "orientation"),
        (9, "velocity"),
        (12, "angular_velocity"),
    ] {
        for (value, cell) in body[key].as_array().unwrap().iter().zip(&last[at..]) {
            assert_eq!(value.as_f64().unwrap(), *cell, "{key}");
        }
    }
    let column = |name: &str| columns.iter().position(|column| column == name).unwrap();
    let (velocity, force) = (column("velocity_y"), column("contact_force_y"));
    let (overlap, contacts) = (column("max_overlap"), column("contacts"));
    for pair in rows.windows(2) {
        // Semi-implicit Euler, with 1 kg: the force is that of the step that ends here.
        let change = pair[1][velocity] - pair[0][velocity];
        let expected = (pair[1][force] - 9.81) * 1e-3;
        assert!(
            (change - expected).abs() < 1e-5,
            "{change} instead of {expected}"
        );
        let touching = pair[1][contacts] == 1.0;
        assert_eq!(touching, pair[1][overlap] > 0.0);
        assert!(touching || pair[1][force] == 0.0);
    }
    let touching = rows.iter().filter(|row| row[contacts] == 1.0).count();
    assert!((10..100).contains(&touching), "{touching}");
}

#[test]
fn a_trace_on_the_gpu_is_that_on_the_cpu() {
    let place = Place::new().with("ball.json", &ball());
    place.run("ball.json", &["--trace", "cpu.csv", "--trace-every", "7"]);
    let arguments = [
        "run",
        "ball.json",
        "--json",
        "--trace",
        "gpu.csv",
        "--trace-every",
        "7",
    ];
    let gpu: Vec<&str> = gpu().iter().map(String::as_str).collect();
    let summary = place.json(&[&arguments[..], &gpu].concat());
    assert_eq!(summary["backend"], "gpu");
    let (columns, on_cpu) = table(&place.read("cpu.csv"));
    let (_, on_gpu) = table(&place.read("gpu.csv"));
    assert_eq!(on_cpu.len(), 500 / 7);
    assert_eq!(on_gpu.len(), on_cpu.len());
    for (cpu, gpu) in on_cpu.iter().zip(&on_gpu) {
        assert_eq!(cpu[..2], gpu[..2]);
        for (index, name) in columns.iter().enumerate() {
            // The largest force is some 300 N; the rest is of the order of 1.
            let scale = if name.starts_with("contact_force") {
                300.0
            } else {
                1.0
            };
            let error = (cpu[index] - gpu[index]).abs() / scale;
            assert!(
                error < 1e-4,
                "{name} at {} s: {} {}",
                cpu[0],
                cpu[index],
                gpu[index]
            );
        }
    }
}

#[test]
fn the_same_scene_gives_the_same_hash_on_any_number_of_threads() {
    let mut crowd = balls(40);
    crowd["fills"][0]["region"] = json!({ "min": [-1, 0.3, -1], "max": [1, 2, 1] });
    let place = Place::new().with("balls.json", &crowd);
    let hash = |threads| place.run("balls.json", &["--threads", threads])["state_hash"].clone();
    assert_eq!(hash("1"), hash("2"));
    assert_eq!(hash("2"), hash("2"));
    let shorter = place.run("balls.json", &["--steps", "499"]);
    assert_ne!(shorter["state_hash"], hash("1"));
}

#[test]
fn check_judges_each_scene() {
    let mut wrong = ball();
    wrong["materials"]["stone"]["density"] = json!(-1);
    wrong["bodies"][0]["shape"] = json!("bal");
    let place = Place::new()
        .with("good.json", &balls(5))
        .with("wrong.json", &wrong);

    let good = place.rockfall(&["check", "good.json"]);
    assert_eq!((good.code, good.stderr.as_str()), (Some(0), ""));
    let line = good.stdout.lines().next().unwrap();
    assert_eq!(
        line,
        "good.json: falling ball: bodies 8, spheres 8, time step 0.001 s, duration 0.5 s"
    );
    assert!(good.stdout.contains("\n  time step"), "{}", good.stdout);

    let both = place.rockfall(&["check", "wrong.json", "good.json"]);
    assert_eq!(both.code, Some(2));
    assert_eq!(both.stdout, good.stdout);
    let errors: Vec<&str> = both.stderr.lines().collect();
    assert_eq!(errors.len(), 3, "{errors:#?}");
    assert!(errors[0].starts_with("error: wrong.json: "), "{errors:#?}");
    assert!(
        errors[..2]
            .iter()
            .any(|line| line.contains("materials.stone.density"))
    );
    assert!(
        errors[..2]
            .iter()
            .any(|line| line.contains("\"bal\"") && line.contains("\"ball\""))
    );
    assert_eq!(errors[2], "error: wrong scenes: 1 of 2");
}

#[test]
fn every_scene_of_the_repository_is_right() {
    let folder = own("scenes");
    let mut arguments = vec!["check".to_owned()];
    arguments.extend(
        fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| path.display().to_string()),
    );
    assert!(arguments.len() > 5);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = Place::new().rockfall(&arguments);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

#[test]
fn schema_prints_a_json_schema() {
    let schema = Place::new().json(&["schema"]);
    assert!(
        schema["$schema"]
            .as_str()
            .unwrap()
            .contains("json-schema.org")
    );
    assert!(schema["properties"]["bodies"].is_object());
}

/// A machine may have no graphics driver at all.
#[cfg(target_os = "linux")]
#[test]
fn without_an_adapter_a_run_takes_the_cpu_or_says_what_is_missing() {
    let place = Place::new().with("ball.json", &ball());
    let bare = |arguments: &[&str]| {
        let mut command =
            place.command(&[&["run", "ball.json", "--steps", "1"], arguments].concat());
        for variable in [
            "VK_DRIVER_FILES",
            "VK_ICD_FILENAMES",
            "__EGL_VENDOR_LIBRARY_FILENAMES",
        ] {
            command.env(variable, "/nonexistent");
        }
        Outcome::of(command)
    };
    bare(&["--backend", "gpu"]).failed(
        1,
        &["no GPU was found; wgpu sees: none", "use --backend cpu"],
    );
    let auto = bare(&[]);
    assert_eq!(auto.code, Some(0), "{}", auto.stderr);
    assert!(
        auto.stderr.contains("(no GPU was found)"),
        "{}",
        auto.stderr
    );
}

#[test]
fn adapters_are_listed_with_what_auto_would_choose() {
    let place = Place::new();
    let listing = place.json(&["adapters", "--json"]);
    assert_eq!(keys(&listing), ["adapters", "cpu"]);
    let adapters = listing["adapters"].as_array().unwrap();
    let chosen = adapters
        .iter()
        .filter(|adapter| adapter["auto"] == true)
        .count();
    assert_eq!(chosen, usize::from(listing["cpu"]["auto"] == false));
    assert!(listing["cpu"]["threads"].as_u64().unwrap() >= 1);
    let text = place.rockfall(&["adapters"]);
    assert_eq!((text.code, text.stderr.as_str()), (Some(0), ""));
    assert_eq!(text.stdout.lines().count(), adapters.len() + 2);
    for adapter in adapters {
        assert!(adapter["largest_buffer_bytes"].as_u64().unwrap() > 0);
        assert!(text.stdout.contains(adapter["adapter"].as_str().unwrap()));
    }
    assert!(text.stdout.contains("the CPU engine"));
}

#[test]
fn colour_is_for_terminals_or_on_demand() {
    let place = Place::new();
    let arguments = ["run", "missing.json"];
    assert!(!place.rockfall(&arguments).stderr.contains('\x1b'));
    let mut forced = place.command(&arguments);
    forced.env("CLICOLOR_FORCE", "1");
    let stderr = Outcome::of(forced).stderr;
    assert!(stderr.starts_with("\x1b["), "{stderr:?}");
    let mut refused = place.command(&arguments);
    refused.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1");
    assert!(!Outcome::of(refused).stderr.contains('\x1b'));

    let with =
        |when: &str, arguments: &[&str]| place.rockfall(&[arguments, &["--color", when]].concat());
    assert!(with("always", &arguments).stderr.starts_with("\x1b["));
    assert!(!with("never", &arguments).stderr.contains('\x1b'));
    assert!(!with("auto", &arguments).stderr.contains('\x1b'));
    assert!(with("always", &["run", "--help"]).stdout.contains("\x1b["));
    with("speed", &arguments).failed(2, &["'speed'", "auto, always, never"]);
    let mut never = place.command(&["--color=never", "run", "missing.json"]);
    never.env("CLICOLOR_FORCE", "1");
    assert!(!Outcome::of(never).stderr.contains('\x1b'));
}

#[test]
fn shells_get_completions_and_man_gets_pages() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.rockfall(&["completions", shell]);
        assert_eq!((script.code, script.stderr.as_str()), (Some(0), ""));
        for word in COMMANDS.iter().chain(&["snapshot", "template"]) {
            assert!(script.stdout.contains(word), "{shell}: {word}");
        }
    }
    let page = place.rockfall(&["man"]);
    assert_eq!((page.code, page.stderr.as_str()), (Some(0), ""));
    assert!(page.stdout.contains(".TH rockfall 1"), "{}", page.stdout);
    assert!(page.stdout.contains("Exit codes"), "{}", page.stdout);
    let pages = place.rockfall(&["man", "--out", "man"]);
    assert_eq!(pages.stderr, "next: man man/rockfall.1\n");
    for command in COMMANDS {
        let page = place.read(&format!("man/rockfall-{command}.1"));
        assert!(page.contains("Examples:"), "{page}");
    }
}

#[test]
fn set_changes_values_of_a_scene() {
    let place = Place::new().with("ball.json", &ball());
    let whole = place.run("ball.json", &[]);
    let changed = place.run(
        "ball.json",
        &[
            "--set",
            "name=heavy",
            "--set",
            "shapes.ball.mass_properties.mass=2",
            "--set",
            "duration=0.1",
            "--out",
            "kept",
        ],
    );
    assert_eq!(
        (&changed["scene"], &changed["steps"]),
        (&json!("heavy"), &json!(100))
    );
    assert_eq!(whole["scene"], "falling ball");
    // What is kept has the changes, so that it goes on with them.
    let kept: Value = serde_json::from_str(&place.read("kept/scene.json")).unwrap();
    assert_eq!(kept["shapes"]["ball"]["mass_properties"]["mass"], 2.0);
    // The last of two holds.
    let twice = place.run(
        "ball.json",
        &["--set", "duration=3", "--set", "duration=0.002"],
    );
    assert_eq!(twice["steps"], 2);

    let cases: [(&str, &[&str]); 6] = [
        (
            "materials.stone.friction=-1",
            &[
                "ball.json: materials.stone.friction: found -1",
                "it comes from --set materials.stone.friction=-1",
            ],
        ),
        (
            "materials.ston.friction=1",
            &[
                "materials.ston: found nothing",
                "\"stone\"",
                "--set materials.ston.friction=1",
            ],
        ),
        (
            "contact.stifness=1e5",
            &[
                "the unknown field \"stifness\"",
                "did you mean \"stiffness\"?",
                "--set contact.stifness",
            ],
        ),
        (
            "bodies[7].shape=ball",
            &["bodies[7]", "--set bodies[7].shape=ball"],
        ),
        (
            "bodies[0].shape=bal",
            &[
                "\"bal\"",
                "did you mean \"ball\"?; it comes from --set bodies[0].shape=bal",
            ],
        ),
        ("friction", &["'friction'", "contact.stiffness=2e5"]),
    ];
    for (change, parts) in cases {
        for command in ["run", "check"] {
            place
                .rockfall(&[command, "ball.json", "--set", change])
                .failed(2, parts);
        }
    }
    place
        .rockfall(&["run", "--resume", "kept", "--set", "duration=1"])
        .failed(2, &["--set", "--resume"]);
}

#[test]
fn a_sweep_runs_the_grid_and_keeps_a_table() {
    let place = Place::new().with("ball.json", &ball());
    let sweep = place.rockfall(&[
        "sweep",
        "ball.json",
        "--set",
        "shapes.ball.mass_properties.mass=1,2",
        "--set",
        "gravity=[0,-1,0],[0,-2,0],oops",
        "--out",
        "grid",
        "--jobs",
        "2",
        "--",
        "--vtk",
        "none",
        "--steps",
        "3",
        "--backend",
        "cpu",
    ]);
    assert_eq!(sweep.code, Some(1), "{}", sweep.stderr);
    assert!(
        sweep.stdout.contains("sweep.csv (4 of 6 points)"),
        "{}",
        sweep.stdout
    );
    assert!(
        sweep.stderr.contains("2 of 6 points failed"),
        "{}",
        sweep.stderr
    );
    let mut table = csv::Reader::from_path(place.path("grid/sweep.csv")).unwrap();
    let header = table.headers().unwrap().clone();
    let column = |name: &str| {
        let place = header.iter().position(|column| column == name);
        place.unwrap_or_else(|| panic!("no {name} in {header:?}"))
    };
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    let of = |name: &str| -> Vec<&str> { rows.iter().map(|row| &row[column(name)]).collect() };
    assert_eq!(of("point"), ["1", "2", "3", "4", "5", "6"]);
    assert_eq!(
        of("shapes.ball.mass_properties.mass"),
        ["1", "1", "1", "2", "2", "2"]
    );
    assert_eq!(of("gravity")[..3], ["[0,-1,0]", "[0,-2,0]", "oops"]);
    assert_eq!(
        of("outcome"),
        ["done", "done", "failed", "done", "done", "failed"]
    );
    assert!(
        of("error")[2].contains("gravity: found the string \"oops\""),
        "{:?}",
        of("error")
    );
    assert_eq!(of("steps"), ["3", "3", "", "3", "3", ""]);
    // Each row is what the run alone gives.
    let alone = place.run(
        "ball.json",
        &[
            "--set",
            "shapes.ball.mass_properties.mass=2",
            "--set",
            "gravity=[0,-1,0]",
            "--steps",
            "3",
        ],
    );
    assert_eq!(of("state_hash")[3], alone["state_hash"]);
    let kinetic: f64 = of("energy.kinetic")[3].parse().unwrap();
    assert_eq!(kinetic, alone["energy"]["kinetic"].as_f64().unwrap());
    assert!(place.path("grid/4/run.json").is_file());
    assert!(
        header
            .iter()
            .any(|name| name.starts_with("walls.") && name.ends_with(".force.y")),
        "{header:?}"
    );

    let again = ["sweep", "ball.json", "--set", "duration=0.001", "--out"];
    place
        .rockfall(&[&again[..], &["grid"]].concat())
        .failed(2, &["already has a sweep"]);
    place
        .rockfall(&[&again[..], &["new", "--", "--stepz", "1"]].concat())
        .failed(2, &["after --", "--stepz"]);
    place
        .rockfall(&[&again[..], &["new", "--", "--out", "x"]].concat())
        .failed(2, &["--out after --"]);
    place
        .rockfall(&[&again[..], &["new", "--set", "duration=1"]].concat())
        .failed(2, &["--set duration is given twice"]);
    assert!(!place.path("new").exists());
    let fine = place.rockfall(&[&again[..], &["new"]].concat());
    assert_eq!(fine.code, Some(0), "{}", fine.stderr);
    assert!(
        fine.stderr
            .ends_with("next: plot columns of new/sweep.csv\n"),
        "{}",
        fine.stderr
    );
}

/// A name of a file is bytes, and need not be text.
/// A command names all that it writes.
#[test]
fn a_run_writes_only_where_it_is_told_to() {
    let place = Place::new().with("ball.json", &ball());
    fs::create_dir(place.path("home")).unwrap();
    let written = || {
        let mut files = Vec::new();
        let mut folders = vec![place.0.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => files.push(path.strip_prefix(&place.0).unwrap().to_owned()),
                }
            }
        }
        files.sort();
        files
    };
    let rockfall = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env("HOME", place.path("home"));
        for variable in [
            "XDG_STATE_HOME",
            "XDG_CACHE_HOME",
            "XDG_CONFIG_HOME",
            "TMPDIR",
        ] {
            command.env(variable, place.path("home"));
        }
        let outcome = Outcome::of(command);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    };
    let before = written();
    rockfall(&["check", "ball.json"]);
    rockfall(&["run", "ball.json", "--backend", "cpu"]);
    assert_eq!(written(), before);
    let all = [
        "--out", "kept", "--state", "end.json", "--trace", "path.csv",
    ];
    rockfall(&[&["run", "ball.json", "--backend", "cpu"], &all[..]].concat());
    let others: Vec<PathBuf> = written()
        .into_iter()
        .filter(|file| !file.starts_with("kept"))
        .collect();
    assert_eq!(
        others,
        ["ball.json", "end.json", "path.csv"].map(PathBuf::from)
    );
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_no_text_is_a_name_like_others() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let place = Place::new().with("ball.json", &ball());
    let mut command = place.command(&[
        "run",
        "ball.json",
        "--backend",
        "cpu",
        "--steps",
        "1",
        "--out",
    ]);
    command.arg(OsStr::from_bytes(b"kept\xff"));
    let outcome = Outcome::of(command);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let folder = place.0.path().join(OsStr::from_bytes(b"kept\xff"));
    assert!(folder.join("run.json").is_file());
}

#[test]
fn a_run_that_has_gone_further_says_how_far() {
    let place = Place::new().with("ball.json", &ball());
    place.run("ball.json", &["--steps", "40", "--out", "kept"]);
    let shorter = place.rockfall(&["run", "--resume", "kept", "--duration", "20ms"]);
    assert_eq!(shorter.code, Some(0), "{}", shorter.stderr);
    assert!(
        shorter
            .stderr
            .contains("has already taken 40 steps, and 20 are requested"),
        "{}",
        shorter.stderr
    );
}

#[test]
fn a_warning_is_not_said_again_when_a_run_goes_on() {
    let mut soft = ball();
    soft["contact"]["stiffness"] = json!(3000);
    let place = Place::new().with("soft.json", &soft);
    let first = place.rockfall(&["run", "soft.json", "--backend", "cpu", "--out", "kept"]);
    assert!(first.stderr.contains("have overlapped"), "{}", first.stderr);
    let on = place.rockfall(&["run", "--resume", "kept", "--duration", "0.6"]);
    assert_eq!(on.code, Some(0), "{}", on.stderr);
    assert!(!on.stderr.contains("have overlapped"), "{}", on.stderr);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::new().with("ball.json", &ball());
    for arguments in [
        &["schema"][..],
        &["check", "ball.json"],
        &["run", "ball.json", "--json"],
    ] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let output = std::process::Command::new(assert_cmd::cargo_bin!("rockfall"))
            .current_dir(place.0.path())
            .args(arguments)
            .stdout(writer)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert!(
            !stderr.contains("panic") && !stderr.contains("error"),
            "{stderr}"
        );
    }
}

/// Pictures and films.
#[cfg(feature = "render")]
mod pictures {
    use super::*;

    /// A simulation on the CPU, drawn on whatever there is.
    const SMALL: [&str; 6] = ["--backend", "cpu", "--size", "64x48", "--samples", "1"];

    fn render(place: &Place, arguments: &[&str]) -> Outcome {
        place.rockfall(&[&["render", "ball.json"], arguments, &SMALL].concat())
    }

    fn frames(place: &Place, directory: &str) -> Vec<(String, Vec<u8>)> {
        let mut frames: Vec<_> = fs::read_dir(place.path(directory))
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, fs::read(path).unwrap())
            })
            .collect();
        frames.sort();
        frames
    }

    #[test]
    fn frames_are_numbered_and_the_same_bits_each_time() {
        let place = Place::new().with("ball.json", &ball());
        let made = |directory: &str| {
            let wanted = ["--out", directory, "--fps", "20", "--duration", "0.1"];
            let outcome = render(&place, &wanted);
            assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
            assert!(outcome.stdout.contains("(3 frames)"), "{}", outcome.stdout);
            let took = outcome
                .stderr
                .lines()
                .find(|line| line.starts_with("median time of a frame: "));
            assert!(
                took.is_some_and(|took| took.contains(" ms, drawing ")),
                "{}",
                outcome.stderr
            );
            frames(&place, directory)
        };
        let first = made("a/b");
        let names: Vec<&str> = first.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["frame_00000.png", "frame_00001.png", "frame_00002.png"]
        );
        assert_eq!(first, made("again"));
        assert_ne!(first[0].1, first[2].1, "the ball falls");
        let picture = image::load_from_memory(&first[1].1).unwrap();
        assert_eq!((picture.width(), picture.height()), (64, 48));
    }

    #[test]
    fn a_snapshot_is_a_picture_of_the_end() {
        let place = Place::new().with("ball.json", &ball());
        let shot = |file: &str, steps: &str| {
            place.run(
                "ball.json",
                &[
                    "--steps",
                    steps,
                    "--snapshot",
                    file,
                    "--size",
                    "64x48",
                    "--plain",
                ],
            );
            image::open(place.path(file)).unwrap()
        };
        let start = shot("start.png", "0");
        assert_eq!((start.width(), start.height()), (64, 48));
        let end = shot("end.jpg", "300");
        assert_eq!((end.width(), end.height()), (64, 48));
        assert_ne!(start, end);
    }

    #[test]
    fn a_picture_that_cannot_be_is_refused_before_the_run() {
        let place = Place::new().with("ball.json", &ball());
        let run = |arguments: &[&str]| {
            place.rockfall(&[&["run", "ball.json", "--backend", "cpu"], arguments].concat())
        };
        run(&["--snapshot", "end.gif"]).failed(2, &["--snapshot", "end.gif", ".png or .jpg"]);
        run(&["--snapshot", "missing/end.png"])
            .failed(2, &["--snapshot", "missing/end.png", "cannot be written"]);
        run(&["--colour", "speed"]).failed(2, &["none is made; add --snapshot FILE"]);
        let clear = ["--background", "transparent"];
        run(&[&["--snapshot", "a.jpg"], &clear[..]].concat())
            .failed(2, &["transparent", "a.jpg", "end its name with .png"]);
        render(&place, &[&["--video", "a.gif"], &clear[..]].concat())
            .failed(2, &["transparent", "a.gif", "--out"]);
        run(&["--snapshot", "a.png", "--background", "grey"])
            .failed(2, &["--background", "sky, white", "#f0f4f8"]);
        run(&["--snapshot", "a.png", "--size", "0x4"]).failed(2, &["such as 1280x720"]);
        render(&place, &[]).failed(2, &["--out"]);
        render(&place, &["--video", "film.avi"]).failed(2, &["film.avi", ".mp4, .webm or .gif"]);
        let here = ["--eye", "0,1,0", "--target", "0,1,0", "--out", "x"];
        render(&place, &here).failed(2, &["--eye", "at which the camera looks"]);
    }

    /// A shell would run such a name, and ffmpeg would take it for an option or an address.
    #[cfg(unix)]
    #[test]
    fn the_name_of_a_film_is_a_name_and_no_command() {
        let place = Place::new().with("ball.json", &ball());
        for name in ["$(touch hacked); touch hacked .mp4", "-f.mp4", "tcp:a.mp4"] {
            let film = format!("--video={name}");
            let outcome = render(&place, &[&film, "--duration", "0.1"]);
            assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
            assert!(place.path(name).is_file(), "{name}");
        }
        let files = fs::read_dir(place.0.path()).unwrap().count();
        assert_eq!(files, 4, "the scene and three films");
    }

    #[test]
    fn without_ffmpeg_a_film_is_refused_with_what_to_do() {
        let place = Place::new().with("ball.json", &ball());
        let arguments = [&["render", "ball.json", "--video", "film.mp4"], &SMALL[..]].concat();
        let mut command = place.command(&arguments);
        command.env("PATH", "/nonexistent");
        let outcome = Outcome::of(command);
        outcome.failed(1, &["ffmpeg", "apt-get install ffmpeg", "--out"]);
    }
}
