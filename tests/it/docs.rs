//! What the documents say of the repository, held to the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The code blocks of a language.
fn blocks(document: &str, language: &str) -> Vec<String> {
    // Text and code take turns.
    let code = document.split("\n```").skip(1).step_by(2);
    code.filter_map(|block| {
        let (opening, lines) = block.split_once('\n')?;
        (opening == language).then(|| format!("{lines}\n"))
    })
    .collect()
}

#[test]
fn the_readmes_scene_is_the_one_in_scenes() {
    let pieces = blocks(&read("README.md"), "json").concat();
    let explained: serde_json::Value = serde_json::from_str(&pieces).unwrap();
    let scene: serde_json::Value = serde_json::from_str(&read("scenes/mixed_pile.json")).unwrap();
    assert_eq!(explained, scene);
}

#[test]
fn the_readmes_run_is_what_comes_of_its_scene() {
    let shown = blocks(&read("README.md"), "text").swap_remove(0);
    let output = Command::new(env!("CARGO_BIN_EXE_rockfall"))
        .args(["run", "scenes/pile.json", "--backend", "cpu"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let (_, summary) = shown.split_once("...\n").unwrap();
    for line in summary.lines() {
        let other_machine = ["wall time", "throughput"];
        let differs = other_machine.iter().any(|name| line.starts_with(name));
        assert!(differs || said.contains(line), "{line}\n{said}");
    }
}

#[test]
fn the_readmes_second_command_is_what_ci_runs() {
    let commands = blocks(&read("README.md"), "sh");
    assert_eq!(commands[0], "cargo run --release -- run scenes/pile.json\n");
    let script = read(".ci/run");
    assert_eq!(script.lines().last(), Some(commands[1].trim()));
}

#[test]
fn the_readmes_library_example_is_that_of_the_crates_page() {
    let page: String = read("src/lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line)))
        .collect();
    let example: String = blocks(&page, "")[0]
        .lines()
        .filter(|line| !line.starts_with("# "))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(blocks(&read("README.md"), "rust"), [example]);
}

/// The names of all files and directories below `directory`, each with those above it.
fn tree(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let name = entry.file_name();
        if name == "target" || name == ".git" {
            continue;
        }
        found.push(entry.path());
        if entry.path().is_dir() {
            tree(&entry.path(), found);
        }
    }
}

/// A document names files in code and in links, by the end of their paths.
#[test]
fn every_file_that_is_named_exists() {
    const ENDINGS: [&str; 6] = [".rs", ".wgsl", ".md", ".json", ".toml", "/"];
    let mut files = Vec::new();
    tree(Path::new(env!("CARGO_MANIFEST_DIR")), &mut files);
    let mut named = 0;
    for document in ["README.md", "ARCHITECTURE.md", "docs/internals.md"] {
        let text = read(document);
        let prose: String = text.split("\n```").step_by(2).collect();
        let code = prose.split('`').skip(1).step_by(2);
        let links = prose
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', '#']).next());
        for name in code.chain(links) {
            let is_file = ENDINGS.iter().any(|ending| name.ends_with(ending));
            if !is_file || name.contains([' ', '<', ':']) {
                continue;
            }
            named += 1;
            let exists = files.iter().any(|file| file.ends_with(name));
            assert!(exists, "{document} names {name}, which does not exist");
        }
    }
    assert!(named > 50, "{named} files are named");
}
