//! The layers of the library: each top-level module imports only from those below it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The top-level modules, the lowest first.
const LAYERS: [&str; 11] = [
    "error",
    "math",
    "model",
    "state",
    "step",
    "simulation",
    "scene",
    "output",
    "render",
    "measure",
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
    let end = text
        .find("#[cfg(test)]\nmod tests")
        .or_else(|| text.find("#[cfg(all(test, feature = \"scene\"))]\nmod tests"))
        .or_else(|| text.find("#[cfg(test)]\npub(crate) mod tests"))
        .unwrap_or(text.len());
    let lines = text[..end].lines();
    let code = lines.map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| [line, "\n"]).collect()
}

/// The top-level modules that `code` names: those after `crate::`, or each in the braces of `crate::{..}`.
fn imports(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
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
        "Error" => "error",
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

/// The files of the layers up to the step that ask the standard library for the time. The GPU engine may.
fn clocks(files: &[(String, String)]) -> Vec<&str> {
    let is_core = |file: &str| {
        let own = file.split('/').next().unwrap_or_default();
        layer(own.trim_end_matches(".rs")) <= layer("step") && !file.starts_with("step/gpu/")
    };
    let asks = |text: &str| {
        ["Instant", "SystemTime"]
            .iter()
            .any(|clock| text.contains(clock))
    };
    let asking = files
        .iter()
        .filter(|(file, text)| is_core(file) && asks(&code(text)));
    asking.map(|(file, _)| file.as_str()).collect()
}

/// The files of the library, each with its text.
fn library() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    sources(&root, &mut paths);
    let library: Vec<(String, String)> = paths
        .iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap().to_string_lossy();
            (name.replace('\\', "/"), fs::read_to_string(path).unwrap())
        })
        .filter(|(name, _)| name != "lib.rs" && !name.starts_with("cli/"))
        .collect();
    assert!(library.len() > 100, "{} files", library.len());
    library
}

#[test]
fn the_core_asks_for_no_time() {
    assert_eq!(clocks(&library()), [""; 0]);
    let file = |name: &str| [(name.to_owned(), "use std::time::Instant;".to_owned())];
    assert_eq!(clocks(&file("step/cpu/mod.rs")), ["step/cpu/mod.rs"]);
    assert_eq!(clocks(&file("simulation/mod.rs")), [""; 0]);
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
        "use crate::{error, state::{self, Field}};",
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
