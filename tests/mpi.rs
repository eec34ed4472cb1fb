//! The program on several ranks, as mpirun starts it, in a build with MPI: `cargo xtask test` builds it where MPI is.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_rockfall")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const COUNTS: [usize; 5] = [1, 2, 3, 4, 7];

/// Balls and cubes that fall on a floor with a wall that turns.
fn scene(folder: &Path) {
    let scene = json!({
        "version": 1, "duration": 0.1,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4, "time_step": 2e-4 },
        "materials": { "m": { "density": 2000, "restitution": 0.3, "friction": 0.4 } },
        "shapes": { "ball": { "sphere": { "radius": 0.02 }, "material": "m" },
                    "cube": { "cube": { "n": 2, "radius": 0.012 }, "material": "m" } },
        "planes": [ { "point": [0, 0, 0], "normal": [0.1, 1, 0], "material": "m" } ],
        "walls": [ { "name": "drum", "cylinder": { "radius": 0.4, "height": 2 }, "side": "inside", "material": "m",
                     "motion": { "rotation": { "axis": [0, 1, 0], "speed": 2 } } } ],
        "fills": [ { "count": 400, "shapes": { "ball": 2, "cube": 1 }, "placement": "random", "seed": 4,
                     "region": { "min": [-0.2, 0.02, -0.2], "max": [0.2, 0.6, 0.2] }, "velocity": [1, -2, 0] } ],
    });
    fs::write(folder.join("scene.json"), scene.to_string()).unwrap();
}

/// The program on so many ranks.
fn mpirun(folder: &Path, ranks: usize, arguments: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe"]);
    command.args(["--mca", "mpi_yield_when_idle", "1"]);
    command.args(["-n", &ranks.to_string(), program()]);
    command.args(arguments).current_dir(folder);
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    command
}

fn summary(mut command: Command) -> Value {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn alone(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).current_dir(folder);
    command
}

#[test]
fn the_summary_is_that_of_one_process() {
    let folder = TempDir::new().unwrap();
    scene(folder.path());
    let arguments = [
        "run",
        "scene.json",
        "--json",
        "--threads",
        "1",
        "--backend",
        "cpu",
    ];
    let expected = summary(alone(folder.path(), &arguments));
    assert_eq!(expected.get("cluster"), None);
    for ranks in COUNTS {
        let found = summary(mpirun(folder.path(), ranks, &arguments));
        for key in [
            "state_hash",
            "energy",
            "contacts",
            "walls",
            "forces",
            "momentum",
        ] {
            assert_eq!(found[key], expected[key], "{key} on {ranks} ranks");
        }
        let cost = found.get("cluster");
        match ranks {
            1 => assert_eq!(cost, None),
            _ => assert_eq!(cost.unwrap()["ranks"], ranks),
        }
    }
}

/// Parts of this size are sent in pieces, which come while the next ones are computed.
#[test]
fn large_parts_have_the_state_of_one_process() {
    let folder = TempDir::new().unwrap();
    let scene = json!({
        "version": 1, "duration": 5e-3,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 1e-4 },
        "materials": { "m": { "density": 2000, "restitution": 0.3, "friction": 0.4 } },
        "shapes": { "ball": { "sphere": { "radius": 0.02 }, "material": "m" } },
        "planes": [ { "point": [0, 0, 0], "normal": [0.1, 1, 0], "material": "m" } ],
        "fills": [ { "count": 40000, "shapes": { "ball": 1 }, "seed": 4, "velocity": { "min": [-2, -3, -2], "max": [2, 0, 2] },
                     "region": { "min": [-0.9, 0, -0.5], "max": [0.9, 4, 0.5] } } ],
    });
    fs::write(folder.path().join("scene.json"), scene.to_string()).unwrap();
    let options = ["--json", "--threads", "1", "--backend", "cpu"];
    let arguments = [&["run", "scene.json"][..], &options].concat();
    let expected = summary(alone(folder.path(), &arguments));
    for ranks in [2, 3] {
        let found = summary(mpirun(folder.path(), ranks, &arguments));
        assert_eq!(found["state_hash"], expected["state_hash"], "{ranks} ranks");
        if ranks == 2 {
            let messages = found["cluster"]["messages_per_step"].as_f64().unwrap();
            assert!(messages > 4.0, "{messages}");
        }
    }
}

#[test]
fn each_rank_has_a_gpu() {
    let folder = TempDir::new().unwrap();
    scene(folder.path());
    let adapter = std::env::var("ROCKFALL_TEST_ADAPTER").unwrap_or_else(|_| "software".to_owned());
    let with = |adapter| {
        let options = ["--steps", "60", "--backend", "gpu", "--adapter", adapter];
        [&["run", "scene.json", "--json"][..], &options].concat()
    };
    let expected = summary(alone(folder.path(), &with(&adapter)));
    for ranks in [2, 3] {
        let found = summary(mpirun(folder.path(), ranks, &with(&adapter)));
        for key in ["backend", "state_hash", "energy", "contacts", "walls"] {
            assert_eq!(found[key], expected[key], "{key} on {ranks} ranks");
        }
        assert_eq!(found["cluster"]["ranks"], ranks);
    }
    let output = mpirun(folder.path(), 2, &with("no such")).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.matches("error:").count(), 1, "{said}");
    assert!(said.contains("rank 0: no usable adapter"), "{said}");
}

/// VTK files and states in the folder of a run.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for own in ["vtk", "states"] {
        for entry in fs::read_dir(folder.join(own)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            files.push((format!("{own}/{name}"), fs::read(&path).unwrap()));
        }
    }
    files
}

#[test]
fn a_run_is_kept_and_goes_on_with_any_number_of_ranks() {
    let folder = TempDir::new().unwrap();
    scene(folder.path());
    let whole = [
        "run",
        "scene.json",
        "--out",
        "whole",
        "--threads",
        "1",
        "--backend",
        "cpu",
    ];
    let expected = summary(alone(folder.path(), &[&whole[..], &["--json"]].concat()));
    let half = [
        "run",
        "scene.json",
        "--steps",
        "250",
        "--threads",
        "1",
        "--every",
        "50",
        "--out",
    ];
    let quiet = |mut command: Command| assert!(command.output().unwrap().status.success());
    quiet(mpirun(
        folder.path(),
        3,
        &[&half[..], &["of-three", "-q"]].concat(),
    ));
    quiet(alone(
        folder.path(),
        &[&half[..], &["alone", "-q", "--backend", "cpu"]].concat(),
    ));
    // But for how fast it was.
    let statistics = |name: &str| {
        let file = folder.path().join(name).join("statistics.csv");
        let text = fs::read_to_string(file).unwrap();
        let rows = text.lines().map(|line| line.split(',').map(str::to_owned));
        let mut rows: Vec<Vec<String>> = rows.map(Iterator::collect).collect();
        let speed = rows[0].iter().position(|name| name == "sphere_steps_per_s");
        let speed = speed.unwrap();
        rows.iter_mut().for_each(|row| drop(row.remove(speed)));
        assert!(rows.len() > 10, "{text}");
        rows
    };
    assert_eq!(statistics("of-three"), statistics("alone"));
    assert_eq!(files(&folder.path().join("alone")).len(), 6 * 5);
    for (name, bytes) in files(&folder.path().join("alone")) {
        let found = fs::read(folder.path().join("of-three").join(&name)).unwrap();
        assert!(found == bytes, "{name}");
    }
    for (from, ranks) in [("of-three", 1), ("of-three", 2), ("alone", 4)] {
        let copy = format!("{from}-{ranks}");
        let copied = Command::new("cp")
            .args(["-r", from, &copy])
            .current_dir(folder.path())
            .status();
        assert!(copied.unwrap().success());
        let go_on = [
            "run",
            "--resume",
            &copy,
            "--duration",
            "0.1",
            "--json",
            "-q",
        ];
        let found = summary(match ranks {
            1 => alone(folder.path(), &go_on),
            _ => mpirun(folder.path(), ranks, &go_on),
        });
        assert_eq!(found["state_hash"], expected["state_hash"], "{copy}");
        assert_eq!(found["steps"], 500, "{copy}");
    }
}

/// The text of a page of the handbook between fences that begin so.
fn blocks(page: &str, fence: &str) -> String {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src");
    let page = pages.join(page);
    let text = fs::read_to_string(page).unwrap();
    let fence = format!("```{fence}\n");
    let parts = text.split(&fence).skip(1);
    parts
        .map(|part| part.split("```").next().unwrap().to_owned())
        .collect()
}

/// The page's own commands, with a small scene in the place of its scenes, and all ranks on this machine.
#[test]
fn commands_of_the_page_about_clusters_work() {
    let folder = TempDir::new().unwrap();
    scene(folder.path());
    fs::create_dir(folder.path().join("scenes")).unwrap();
    for name in ["scenes/pile.json", "heap.json"] {
        fs::copy(folder.path().join("scene.json"), folder.path().join(name)).unwrap();
    }
    let mut ran = 0;
    let mut said = String::new();
    for line in blocks("cluster.md", "console").lines() {
        let Some(own) = line.strip_prefix("$ mpirun ") else {
            continue;
        };
        let own = own
            .replace("--map-by ppr:1:node ", "")
            .replace("--duration 5", "--duration 0.15");
        let (of_mpi, own) = own.split_once(" rockfall ").unwrap();
        let mut command = Command::new("mpirun");
        command.args(["--allow-run-as-root", "--oversubscribe"]);
        command.args(["--mca", "mpi_yield_when_idle", "1"]);
        command
            .args(of_mpi.split(' '))
            .arg(program())
            .args(own.split(' '));
        let output = command
            .args(["--threads", "1"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        said = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{line}: {said}");
        ran += 1;
    }
    assert!(ran > 2, "{ran}");
    // What it shows of the summary, but for the numbers.
    let words = |text: &str| {
        let is_word = |word: &&str| !word.chars().any(|c| c.is_ascii_digit());
        text.split_whitespace()
            .filter(is_word)
            .collect::<Vec<_>>()
            .join(" ")
    };
    for line in blocks("cluster.md", "text").lines() {
        assert!(words(&said).contains(&words(line)), "no {line:?} in {said}");
    }
}

#[test]
fn what_is_wrong_is_said_once() {
    let folder = TempDir::new().unwrap();
    scene(folder.path());
    for (arguments, code, part) in [
        (&["run", "missing.json"][..], 2, "missing.json"),
        (&["run", "scene.json", "--bad"], 2, "--bad"),
        (
            &["measure", "scene.json"],
            2,
            "start this command without it",
        ),
        (
            &["run", "scene.json", "--backend", "reference"],
            2,
            "without mpirun",
        ),
    ] {
        let output = mpirun(folder.path(), 3, arguments).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert_eq!(said.matches("error:").count(), 1, "{said}");
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_rank_that_cannot_write_is_named_and_the_last_checkpoint_is_whole() {
    ends_where_rank_1_cannot_write("--checkpoint-every 100 --vtk none --states none");
}

#[test]
fn a_rank_that_cannot_write_a_vtk_file_is_named() {
    ends_where_rank_1_cannot_write("--vtk spheres --states none");
}

/// Has a run with such files end because rank 1 cannot write its part of them.
fn ends_where_rank_1_cannot_write(files: &str) {
    let folder = TempDir::new().unwrap();
    scene(folder.path());
    let run = format!(
        "exec {} run scene.json --set fills[0].count=2000 --set 'fills[0].region={{\"min\":[-0.25,0,-0.25],\"max\":[0.25,3,0.25]}}' \
         --threads 1 --steps 400 {files} --out kept",
        program()
    );
    // Rank 1 may write so much of a file; what is behind that fails, as on a full disk.
    let part = |limit: &str| {
        let shell = format!("trap '' XFSZ; ulimit -f {limit}; {run}");
        ["-n", "1", "sh", "-c", &shell].map(str::to_owned)
    };
    let start = |limit: &str| {
        let mut command = Command::new("mpirun");
        command.args(["--allow-run-as-root", "--oversubscribe"]);
        command.args(["--mca", "mpi_yield_when_idle", "1"]);
        // Memory that ranks share is in files as well.
        command.args(["--mca", "btl", "self,tcp"]);
        command.args(part("unlimited")).arg(":").args(part(limit));
        command.current_dir(folder.path()).output().unwrap()
    };
    let start_at = Instant::now();
    let output = start("1024");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("rank 1: File too large"), "{said}");
    assert_eq!(said.matches("error:").count(), 1, "{said}");
    assert!(start_at.elapsed() < Duration::from_secs(60));
    let folders = ["kept", "kept/vtk"].map(|name| folder.path().join(name));
    let left = folders.iter().flat_map(|own| fs::read_dir(own).unwrap());
    let names = left.map(|entry| entry.unwrap().file_name());
    let names: Vec<String> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    assert!(
        !names.iter().any(|name| name.ends_with(".part")),
        "{names:?}"
    );
    // It goes on elsewhere.
    let go_on = ["run", "--resume", "kept", "--json", "-q"];
    let found = summary(alone(folder.path(), &go_on));
    assert_eq!(found["steps"], 400);
}

/// The process of a rank that was started in a folder.
fn process_of(folder: &Path, rank: usize) -> Option<u32> {
    let wanted = format!("OMPI_COMM_WORLD_RANK={rank}");
    let folder = folder.canonicalize().unwrap();
    let all = fs::read_dir("/proc").unwrap().flatten();
    let mut numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.find(|number| {
        let own = Path::new("/proc").join(number.to_string());
        let here = fs::read_link(own.join("cwd")).is_ok_and(|cwd| cwd == folder);
        let variables = fs::read(own.join("environ")).unwrap_or_default();
        here && variables
            .split(|&byte| byte == 0)
            .any(|own| own == wanted.as_bytes())
    })
}

#[test]
fn a_rank_that_is_killed_ends_all_and_the_last_checkpoint_is_whole() {
    let folder = TempDir::new().unwrap();
    scene(folder.path());
    let arguments = [
        "run",
        "scene.json",
        "--steps",
        "100000000",
        "--threads",
        "1",
        "--checkpoint-every",
        "100",
        "--out",
        "kept",
    ];
    let mut command = mpirun(folder.path(), 3, &arguments);
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let checkpoint = folder.path().join("kept").join("run.checkpoint");
    let start = Instant::now();
    while !checkpoint.exists() {
        assert!(start.elapsed() < Duration::from_secs(120), "no checkpoint");
        sleep(Duration::from_millis(50));
    }
    let victim = process_of(folder.path(), 2).expect("rank 2 runs");
    let killed = Command::new("kill")
        .args(["-9", &victim.to_string()])
        .status();
    assert!(killed.unwrap().success());
    let killed_at = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success());
    assert!(killed_at.elapsed() < Duration::from_secs(30));
    let said = stderr(&output);
    assert!(said.contains("rank 2"), "{said}");
    // The folder is free, and the run goes on from the checkpoint.
    let record = fs::read_to_string(folder.path().join("kept").join("run.json")).unwrap();
    assert!(record.contains("scene"), "{record}");
    let go_on = ["run", "--resume", "kept", "--steps", "100", "--json", "-q"];
    let found = summary(alone(folder.path(), &go_on));
    assert!(found["steps"].as_u64().unwrap() >= 100, "{found}");
}
