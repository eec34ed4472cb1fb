//! The handbook in docs/book: each page is listed, each link leads somewhere, and each scene and command of the tutorials works.
//!
//! What a block of code is stands after its three backticks. `json heap.json` is a file: it is written, and goes on if there
//! are several of one name. `sh` are commands, of which those of `rockfall` are run. Each line of `text` after them stands in
//! what they print. `json part` is a piece of a scene.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rockfall::scene;
use serde_json::{Map, Value, json};

use crate::common::{device, own};

fn source() -> PathBuf {
    own("docs/book/src")
}

/// Pages below a folder, by their paths in the book.
fn pages(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            let name = path.strip_prefix(source()).unwrap().to_string_lossy();
            found.push(name.replace('\\', "/"));
        }
    }
}

fn read(page: &str) -> String {
    fs::read_to_string(source().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// The blocks of code of a page: what stands after the backticks, and the text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let text = format!("\n{page}");
    let code = text.split("\n```").skip(1).step_by(2);
    code.filter_map(|block| {
        let (opening, lines) = block.split_once('\n')?;
        Some((opening.to_owned(), format!("{lines}\n")))
    })
    .collect()
}

/// The page without its blocks of code.
fn prose(page: &str) -> String {
    let text = format!("\n{page}");
    text.split("\n```").step_by(2).collect()
}

/// Targets of links.
fn links(prose: &str) -> impl Iterator<Item = &str> {
    let rests = prose.split("](").skip(1);
    rests.filter_map(|rest| rest.split([')', ' ']).next())
}

/// The anchor that mdBook and GitHub make of a heading.
fn anchor(heading: &str) -> String {
    let plain = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let letters: String = heading.to_lowercase().chars().filter(plain).collect();
    letters.trim().replace(' ', "-")
}

fn anchors(page: &str) -> BTreeSet<String> {
    let prose = prose(page);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| anchor(line.trim_start_matches('#')))
        .collect()
}

/// Pages that the command that builds the book writes.
const GENERATED: [&str; 1] = ["reference/scene.md"];

#[test]
fn every_page_is_in_the_summary() {
    let mut found = Vec::new();
    pages(&source(), &mut found);
    let summary = read("SUMMARY.md");
    let listed: BTreeSet<&str> = links(&summary).collect();
    for page in found.iter().filter(|page| *page != "SUMMARY.md") {
        assert!(
            listed.contains(page.as_str()),
            "SUMMARY.md does not list {page}"
        );
    }
    for page in listed {
        let exists = found.iter().any(|own| own == page) || GENERATED.contains(&page);
        assert!(exists, "SUMMARY.md lists {page}, which is no page");
    }
    assert!(found.len() > 25, "{found:?}");
}

#[test]
fn every_link_leads_somewhere() {
    let mut found = Vec::new();
    pages(&source(), &mut found);
    let mut followed = 0;
    for page in &found {
        let text = read(page);
        let prose = prose(&text);
        for link in links(&prose) {
            if link.starts_with("http") {
                continue;
            }
            followed += 1;
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let folder = Path::new(page).parent().unwrap();
            let target = match file {
                "" => PathBuf::from(page),
                _ => folder.join(file),
            };
            if GENERATED.iter().any(|name| target.ends_with(name)) {
                continue;
            }
            let path = source().join(&target);
            assert!(
                path.exists(),
                "{page} links to {link}, which does not exist"
            );
            if !fragment.is_empty() {
                let headings = anchors(&fs::read_to_string(&path).unwrap());
                assert!(
                    headings.contains(fragment),
                    "{page} links to {link}: {headings:?}"
                );
            }
        }
    }
    assert!(followed > 60, "{followed} links");
    assert_eq!(anchor(" What it's for: `a_b`"), "what-its-for-a_b");
}

/// The folder in which the commands of a page run.
struct Place(tempfile::TempDir);

impl Place {
    /// Runs a command, which must succeed, and returns all that it prints.
    fn run(&self, page: &str, line: &str) -> String {
        let mut line = line.split(" #").next().unwrap().trim().to_owned();
        let program = Path::new(env!("CARGO_BIN_EXE_rockfall"));
        // Windows are tested elsewhere.
        line = line.replace("rockfall view", "rockfall check");
        line = line.replace(
            "--adapter llvmpipe",
            &format!("--adapter '{}'", device().adapter),
        );
        line = line.replace(
            "--adapter SwiftShader",
            &format!("--adapter '{}'", device().adapter),
        );
        let is_picture = line.starts_with("rockfall render") || line.contains("--snapshot");
        if is_picture && !line.contains("--size") {
            // A software adapter draws; what a picture looks like, other tests see.
            line += " --size 320x200";
        }
        let chooses = ["--backend", "--adapter", "--resume"];
        if line.contains("dent.json --trace") {
            // A custom law needs a GPU.
            line = format!("{line} --adapter '{}'", device().adapter);
        } else if (is_picture || line.starts_with("rockfall run"))
            && !chooses.iter().any(|choice| line.contains(choice))
        {
            line += " --backend cpu";
        }
        let mut paths = vec![program.parent().unwrap().to_owned()];
        paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
        let output = Command::new("sh")
            .args(["-e", "-c", &line])
            .current_dir(self.0.path())
            .env("PATH", std::env::join_paths(paths).unwrap())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert!(output.status.success(), "{page}: {line}: {said}");
        let doubtful = said.contains("warning") && !line.contains("bench");
        assert!(!doubtful, "{page}: {line}: {said}");
        said
    }
}

/// Follows a page: writes its files, checks its scenes, runs its commands.
fn follow(page: &str) {
    let place = Place(tempfile::tempdir().unwrap());
    let mut said = String::new();
    let mut did = 0;
    for (what, text) in blocks(&read(page)) {
        did += 1;
        match what.split_once(' ') {
            Some(("json", "part")) => {
                let part = format!("{{{}}}", text.trim().trim_end_matches(','));
                serde_json::from_str::<serde_json::Value>(&part)
                    .unwrap_or_else(|error| panic!("{page}: {error}: {part}"));
            }
            Some((language, name)) => {
                let path = place.0.path().join(name);
                let before = fs::read_to_string(&path).unwrap_or_default();
                fs::write(&path, before + &text).unwrap();
                if language == "json" && !text.contains("\"start\"") {
                    said = place.run(page, &format!("rockfall check {name}"));
                }
            }
            None if what == "sh" => {
                said.clear();
                let lines = text.replace("\\\n", " ");
                for line in lines.lines().filter(|line| line.starts_with("rockfall ")) {
                    said += &place.run(page, line);
                }
            }
            None if what == "text" && !said.is_empty() => {
                for line in text.lines().filter(|line| !line.is_empty()) {
                    assert!(said.contains(line), "{page}: no {line:?} in {said}");
                }
            }
            None => did -= 1,
        }
    }
    assert!(did > 0, "{page} shows nothing");
}

/// A scene that has what the pieces of scenes on the pages of the reference name.
fn surroundings() -> Map<String, Value> {
    let ball = |radius: f64| json!({ "sphere": { "radius": radius }, "material": "stone" });
    let cube = |n: usize| json!({ "cube": { "n": n, "radius": 0.01 }, "material": "stone" });
    let wall = |name: &str| json!({ "name": name, "rectangle": { "size": [2, 2] }, "position": [0, -9, 0], "material": "steel" });
    let mut drum = wall("drum");
    drum["motion"] = json!({ "rotation": { "axis": [0, 1, 0], "speed": 1 } });
    let scene = json!({
        "version": 1,
        "materials": {
            "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 },
            "steel": { "density": 7800, "restitution": 0.5, "friction": 0.5 },
            "wood": { "density": 700, "restitution": 0.5, "friction": 0.5 },
        },
        "contact": { "normal": "hooke", "stiffness": 1e5 },
        "shapes": { "ball": ball(0.01), "bob": ball(0.05), "pair": cube(2), "lump": cube(2), "shell": cube(4) },
        "bodies": [
            { "shape": "bob", "name": "bob", "position": [0, 1, 0] },
            { "shape": "shell", "name": "shell", "position": [0, 2, 0] },
            { "shape": "ball", "position": [0.05, 0.05, 0.05] },
        ],
        "walls": [wall("gate"), wall("lid"), drum],
        "inlets": [ { "name": "feed", "rate": 1, "shapes": { "ball": 1 }, "region": { "min": [0, 3, 0], "max": [1, 4, 1] } } ],
    });
    scene.as_object().unwrap().clone()
}

#[test]
fn pieces_of_scenes_are_accepted() {
    let mut checked = 0;
    for page in ["scenes.md", "running.md"] {
        for (what, text) in blocks(&read(page)) {
            if what != "json part" {
                continue;
            }
            let piece: Map<String, Value> = serde_json::from_str(&format!("{{{text}}}"))
                .unwrap_or_else(|error| panic!("{page}: {error}: {text}"));
            let mut scene = surroundings();
            if piece.contains_key("deform") {
                // A box without walls and inlets has its bodies inside.
                scene.remove("walls");
                scene.remove("inlets");
                scene["bodies"].as_array_mut().unwrap().drain(..2);
            }
            for (name, value) in piece {
                match (scene.get_mut(&name), value) {
                    (Some(Value::Object(own)), Value::Object(value)) => own.extend(value),
                    (_, value) => _ = scene.insert(name, value),
                }
            }
            let scene = Value::Object(scene).to_string();
            if let Err(error) = scene::parse(&scene, &own("scenes/meshes/piece.json")) {
                panic!("{page}: {error}: {text}");
            }
            checked += 1;
        }
    }
    assert!(checked > 10, "{checked}");
}

/// Output of `rockfall check` for a scene.
fn checked(scene: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_rockfall"))
        .arg("check")
        .arg(scene.file_name().unwrap())
        .current_dir(scene.parent().unwrap())
        .output()
        .unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// Lines of the reference that show what the program prints are printed.
#[test]
fn what_the_reference_shows_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, scene: Value| {
        let path = folder.path().join(name);
        fs::write(&path, scene.to_string()).unwrap();
        path
    };
    let mut ball = surroundings();
    ball.retain(|name, _| ["version", "materials"].contains(&name.as_str()));
    ball["materials"]
        .as_object_mut()
        .unwrap()
        .retain(|name, _| name == "stone");
    let mut rock = ball.clone();
    ball.insert(
        "shapes".into(),
        json!({ "ball": { "sphere": { "radius": -0.05 }, "material": "stone" } }),
    );
    ball.insert(
        "bodies".into(),
        json!([{ "shape": "bal", "position": [0, 1, 0] }]),
    );
    fs::copy(
        own("scenes/meshes/rock.obj"),
        folder.path().join("rock.obj"),
    )
    .unwrap();
    rock.insert(
        "shapes".into(),
        json!({ "rock": { "mesh": { "file": "rock.obj", "spheres": 40 }, "material": "stone" } }),
    );
    rock.insert(
        "bodies".into(),
        json!([{ "shape": "rock", "position": [0, 1, 0] }]),
    );
    let said = [
        checked(&own("scenes/mixed_pile.json")),
        checked(&write("ball.json", Value::Object(ball))),
        checked(&write("rock.json", Value::Object(rock))),
    ]
    .concat();
    let shown = blocks(&read("scenes.md"))
        .into_iter()
        .filter(|(what, _)| what == "text");
    let lines: Vec<String> = shown
        .flat_map(|(_, text)| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| !line.starts_with('$'))
        .collect();
    assert!(lines.len() > 7, "{lines:?}");
    for line in lines {
        let line = line.trim_start_matches("scenes/");
        assert!(said.contains(line), "no {line:?} in {said}");
    }
}

/// A folder with those of the shipped scenes that the pages of the reference run, with few bodies and for a short time.
fn small_scenes() -> Place {
    let place = Place(tempfile::tempdir().unwrap());
    fs::create_dir(place.0.path().join("scenes")).unwrap();
    for name in ["pile", "bounce", "drum"] {
        let file = format!("scenes/{name}.json");
        let text = fs::read_to_string(own(&file)).unwrap();
        let mut scene: Value = serde_json::from_str(&text).unwrap();
        scene["duration"] = json!(0.05);
        if let Some(fills) = scene.get_mut("fills").and_then(Value::as_array_mut) {
            for fill in fills {
                fill["count"] = json!(30);
            }
        }
        fs::write(place.0.path().join(file), scene.to_string()).unwrap();
    }
    place
}

/// The commands that a page shows, one a line.
fn commands(page: &str) -> Vec<String> {
    let shells = blocks(page)
        .into_iter()
        .filter(|(what, _)| ["sh", "console"].contains(&what.as_str()));
    let text: String = shells.map(|(_, text)| text.replace("\\\n", " ")).collect();
    let lines = text
        .lines()
        .map(|line| line.trim_start_matches("$ ").trim());
    lines
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn commands_of_the_reference_work() {
    let place = small_scenes();
    let mut ran = 0;
    for page in ["running.md", "gpu.md"] {
        let all = commands(&read(page));
        for line in all.iter().filter(|line| line.starts_with("rockfall ")) {
            place.run(page, &line.replace("--from 2s", "--from 0.02s"));
            ran += 1;
        }
    }
    assert!(ran > 16, "{ran}");
}

/// Every command of the documents is run by a test here, or is listed with the test that runs it or does the same.
#[test]
fn every_command_is_run_by_a_test() {
    // `cargo xtask` runs these.
    let elsewhere = [
        // Its tests parse each such line, and the workflows run each task.
        "cargo xtask ",
        // `cargo xtask test --long` runs these, see tools/xtask/src/documents.rs.
        "cargo run --release -- run scenes/pile.json",
        "pip install ./python",
        "cargo build --release --features mpi",
        "export VK_DRIVER_FILES=/usr/lib/chromium/vk_swiftshader_icd.json ",
        "ROCKFALL_TEST_ADAPTER=SwiftShader cargo test --workspace --test it passes::",
        "cargo install --locked --path src/cli",
        // The tests of the tools in Python, and of the examples.
        "python tools/",
        "python python/examples/",
        // A test of the page serves it so.
        "python3 -m http.server --directory page",
        // `commands_of_the_page_about_clusters_work` in `tests/mpi.rs`, by a build with the feature, on packages that it installs.
        "mpirun ",
        "sudo apt-get install openmpi-bin libopenmpi-dev libclang-dev",
    ];
    let mut pages_of_it = Vec::new();
    pages(&source(), &mut pages_of_it);
    let mut documents: Vec<(String, String)> = pages_of_it
        .into_iter()
        .map(|page| (page.clone(), read(&page)))
        .collect();
    for name in [
        "README.md",
        "CONTRIBUTING.md",
        "ARCHITECTURE.md",
        "SECURITY.md",
    ] {
        documents.push((name.to_owned(), fs::read_to_string(own(name)).unwrap()));
    }
    let mut seen = 0;
    for (page, text) in documents {
        for line in commands(&text) {
            seen += 1;
            let is_followed = FOLLOWED.contains(&page.as_str())
                || ["running.md", "gpu.md"].contains(&page.as_str());
            let is_here = line.starts_with("rockfall ") && is_followed;
            let is_there = elsewhere.iter().any(|start| line.starts_with(start));
            assert!(is_here || is_there, "{page}: no test runs `{line}`");
        }
    }
    assert!(seen > 60, "{seen}");
}

macro_rules! follow {
    ($($name:ident: $page:literal,)*) => {
        $(#[test] fn $name() { follow($page) })*

        /// Pages of which each block is tried, in turn.
        const FOLLOWED: &[&str] = &[$($page),*];

        #[test]
        fn every_tutorial_is_followed() {
            let mut found = Vec::new();
            for folder in ["tutorials", "how-to", "from"] {
                pages(&source().join(folder), &mut found);
            }
            found.retain(|page| !WITHOUT_SCENES.contains(&page.as_str()));
            let followed: BTreeSet<&str> = FOLLOWED.iter().copied().collect();
            assert_eq!(found.iter().map(String::as_str).collect::<BTreeSet<_>>(), followed);
        }
    };
}

/// Pages whose commands are not of `rockfall`; other tests have them.
const WITHOUT_SCENES: [&str; 4] = [
    "tutorials/python.md",
    "tutorials/browser.md",
    "how-to/trouble.md",
    "how-to/rust.md",
];

follow! {
    a_first_heap: "tutorials/heap.md",
    a_drum_from_an_own_mesh: "tutorials/drum.md",
    a_hopper: "tutorials/hopper.md",
    calibrating_friction: "tutorials/friction.md",
    restarts: "tutorials/restarts.md",
    writing_a_law: "tutorials/law.md",
    a_time_step: "how-to/time-step.md",
    sweeps: "how-to/sweep.md",
    from_liggghts: "from/liggghts.md",
    from_yade: "from/yade.md",
    from_dem_engine: "from/dem-engine.md",
    from_rapier: "from/rapier.md",
}

#[test]
fn every_command_is_in_the_table_of_commands() {
    let output = Command::new(env!("CARGO_BIN_EXE_rockfall"))
        .arg("--help")
        .output()
        .unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let (_, commands) = help.split_once("\nCommands:\n").unwrap();
    let commands = commands.split("\n\n").next().unwrap();
    let names = commands.lines().filter(|line| !line.starts_with("   "));
    let names: Vec<&str> = names
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() > 10, "{names:?}");
    let page = read("running.md");
    for name in names.into_iter().filter(|name| *name != "help") {
        let row = format!("| `rockfall {name}");
        assert!(page.contains(&row), "running.md has no row {row:?}");
    }
}

#[test]
fn commands_that_are_named_have_the_arguments_that_are_named() {
    let mut found = Vec::new();
    pages(&source(), &mut found);
    let program = env!("CARGO_BIN_EXE_rockfall");
    let mut helps = std::collections::BTreeMap::new();
    let mut checked = 0;
    for page in &found {
        for (what, text) in blocks(&read(page)) {
            if what != "sh" {
                continue;
            }
            let text = text.replace("\\\n", " ");
            for line in text.lines().filter(|line| line.starts_with("rockfall ")) {
                let line = line.split(" # ").next().unwrap();
                let own = line.split(" -- ").next().unwrap();
                let command = own.split_whitespace().nth(1).unwrap();
                let help = helps.entry(command.to_owned()).or_insert_with(|| {
                    let output = Command::new(program)
                        .args([command, "--help"])
                        .output()
                        .unwrap();
                    assert!(
                        output.status.success(),
                        "{page}: there is no `rockfall {command}`"
                    );
                    String::from_utf8(output.stdout).unwrap()
                });
                for word in own.split_whitespace().filter(|word| word.starts_with("--")) {
                    checked += 1;
                    let word = word.split('=').next().unwrap();
                    let is_named =
                        help.contains(&format!("{word} ")) || help.contains(&format!("{word}\n"));
                    assert!(is_named, "{page}: `rockfall {command}` has no {word}");
                }
            }
        }
    }
    assert!(checked > 40, "{checked}");
}
