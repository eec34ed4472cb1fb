//! The layers of the library: each top-level module imports only from those below it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::own;

/// The top-level modules, the lowest first.
const LAYERS: [&str; 10] = [
    "math",
    "model",
    "state",
    "step",
    "simulation",
    "scene",
    "output",
    "render",
    "internals",
    "viewer",
];

/// All `.rs` files below `folder`.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The code of a file without comments and without the module of its tests, which may use the whole library.
fn code(text: &str) -> String {
    let starts = [
        "mod tests {",
        "pub(crate) mod tests {",
        "pub(super) mod tests {",
    ];
    let found = starts
        .iter()
        .filter_map(|start| text.find(&format!("\n{start}")));
    let end = found.min().unwrap_or(text.len());
    let lines = text[..end].lines();
    let code = lines.map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| [line, "\n"]).collect()
}

/// The top-level modules that `code` names.
fn imports(code: &str) -> BTreeSet<String> {
    named(code, "crate::")
}

/// Items that `code` names of a crate: the name after `crate::`, say, or each in the braces of `crate::{..}`.
fn named(code: &str, root: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for rest in code.split(root).skip(1) {
        let Some(group) = rest.strip_prefix('{') else {
            found.insert(word(rest));
            continue;
        };
        let mut depth = 1;
        let mut start = true;
        for (at, letter) in group.char_indices() {
            if start && letter.is_alphabetic() {
                found.insert(word(&group[at..]));
                start = false;
            }
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => start = true,
                _ => (),
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

fn word(text: &str) -> String {
    text.chars()
        .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
        .collect()
}

/// The module in which what the crate's root re-exports stands.
fn home(name: &str) -> &str {
    match name {
        "Error" | "error" => "model",
        "Backend" | "Observer" | "Options" | "Simulation" | "Snapshot" | "Watch" => "simulation",
        other => other,
    }
}

/// The place of a module in [`LAYERS`].
fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| *layer == module)
}

/// Each import that goes up, as "file imports module".
fn upward(files: &[(String, String)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (file, text) in files {
        let own = file.split('/').next().unwrap_or_default();
        let own = layer(own.trim_end_matches(".rs"))
            .unwrap_or_else(|| panic!("{file} is in none of the layers of {}", file!()));
        for import in imports(&code(text)) {
            let known = layer(home(&import));
            if known.is_none_or(|other| other > own) {
                wrong.push(format!("{file} imports {import}"));
            }
        }
    }
    wrong
}

/// All files, by their paths in `src`, with their texts.
fn files() -> Vec<(String, String)> {
    let root = own("src");
    let mut paths = Vec::new();
    sources(&root, &mut paths);
    let files = paths.iter().map(|path| {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy();
        (name.replace('\\', "/"), fs::read_to_string(path).unwrap())
    });
    files.collect()
}

/// The files of the library.
fn library() -> Vec<(String, String)> {
    let mut library = files();
    library.retain(|(name, _)| name != "lib.rs" && !name.starts_with("cli/"));
    assert!(library.len() > 100, "{} files", library.len());
    library
}

#[test]
fn modules_import_downwards_only() {
    let wrong = upward(&library());
    assert!(
        wrong.is_empty(),
        "imports that go up:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn an_import_that_goes_up_is_found() {
    let file = |text: &str| [("model/wall/mod.rs".to_owned(), text.to_owned())];
    for up in [
        "use crate::state::State;",
        "use crate::{math, state::{self, Field}};",
        "fn f() { crate::Simulation::new(); }",
        "use crate::unheard_of::Thing;",
    ] {
        assert_eq!(upward(&file(up)).len(), 1, "{up}");
    }
    for down in [
        "use crate::math::grid::wrap;",
        "// crate::state\nuse crate::error::Error;",
        "fn f() {}\n#[cfg(test)]\nmod tests {\n use crate::scene; }",
    ] {
        assert_eq!(upward(&file(down)), [""; 0], "{down}");
    }
}

/// The layers that run wherever their caller does, in a browser say.
const CORE: [&str; 5] = ["math", "model", "state", "step", "simulation"];

/// Things that they leave to their caller: clocks, and these modules of the standard library.
const OUTSIDE: [&str; 5] = ["Instant", "SystemTime", "fs", "thread", "env"];
const CLOCKS: [&str; 2] = ["Instant", "SystemTime"];

/// Files that may use one of these, and why.
const ALLOWED: [(&str, &str, &str); 3] = [
    (
        "simulation/clock.rs",
        "Instant",
        "the system's clock, which the CPU engine is given",
    ),
    (
        "simulation/memory.rs",
        "fs",
        "how much memory the machine has left, where the system has a file that says so",
    ),
    (
        "step/gpu/",
        "Instant",
        "how many steps a submission takes, and profiles",
    ),
];

/// Each use of [`OUTSIDE`] in [`CORE`], as "file uses name".
fn outside(files: &[(String, String)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (file, text) in files {
        let own = file.split('/').next().unwrap_or_default();
        if !CORE.contains(&own.trim_end_matches(".rs")) {
            continue;
        }
        let code = code(text);
        let mut words = named(&code, "std::");
        let all = code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        words.extend(all.filter(|word| CLOCKS.contains(word)).map(str::to_owned));
        for name in OUTSIDE {
            let may =
                |(place, what, _): &(&str, &str, &str)| file.starts_with(place) && *what == name;
            if words.contains(name) && !ALLOWED.iter().any(may) {
                wrong.push(format!("{file} uses {name}"));
            }
        }
    }
    wrong
}

#[test]
fn the_core_leaves_clocks_files_threads_and_the_environment_to_its_caller() {
    assert_eq!(outside(&library()), [""; 0]);
}

/// The time of day may jump. It is noted when a run begins, and nothing waits for it or takes a difference of it.
#[test]
fn only_the_record_of_a_run_knows_the_time_of_day() {
    let knows = |(_, text): &&(String, String)| code(text).contains("SystemTime::now()");
    let all = files();
    let found: Vec<&str> = all.iter().filter(knows).map(|(file, _)| &**file).collect();
    assert_eq!(found, ["output/record.rs"]);
}

#[test]
fn a_use_of_what_is_outside_is_found() {
    let file = |text: &str| [("model/wall/mod.rs".to_owned(), text.to_owned())];
    for wrong in [
        "use std::fs;",
        "use std::{fmt, fs::File};",
        "fn f() { std::thread::sleep(PAUSE); }",
        "fn f() { std::env::var_os(\"HOME\"); }",
        "use std::time::{Duration, Instant};",
        "fn f() { std::time::SystemTime::now(); }",
    ] {
        assert_eq!(outside(&file(wrong)).len(), 1, "{wrong}");
    }
    for right in [
        "use std::time::Duration;",
        "// std::fs",
        "const VERSION: &str = env!(\"CARGO_PKG_VERSION\");",
        "fn f() {}\n#[cfg(test)]\nmod tests {\n use std::fs; }",
    ] {
        assert_eq!(outside(&file(right)), [""; 0], "{right}");
    }
    let output = ("output/folder.rs".to_owned(), "use std::fs;".to_owned());
    assert_eq!(outside(&[output]), [""; 0]);
}
