//! Statements of the documents about the repository, compared with it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proc_macro2::{TokenStream, TokenTree};
use rockfall::step::gpu::shaders::Shader;

use crate::common::own;

fn read(name: &str) -> String {
    fs::read_to_string(own(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
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
fn the_explained_scene_is_the_one_in_scenes() {
    let pieces = blocks(&read("docs/book/src/scenes.md"), "json").concat();
    let explained: serde_json::Value = serde_json::from_str(&pieces).unwrap();
    let scene: serde_json::Value = serde_json::from_str(&read("scenes/mixed_pile.json")).unwrap();
    assert_eq!(explained, scene);
}

#[test]
fn the_readmes_run_is_what_comes_of_its_scene() {
    let shown = blocks(&read("README.md"), "text").swap_remove(0);
    let output = Command::new(env!("CARGO_BIN_EXE_rockfall"))
        .current_dir(own(""))
        .args(["run", "scenes/pile.json", "--backend", "cpu"])
        .output()
        .unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let (_, summary) = shown.split_once("...\n").unwrap();
    for line in summary.lines() {
        assert!(said.contains(line), "{line}\n{said}");
    }
    assert!(!said.contains("warning"), "{said}");
}

#[test]
fn the_readmes_second_command_is_what_ci_runs() {
    let commands = blocks(&read("README.md"), "sh");
    assert_eq!(commands[0], "cargo run --release -- run scenes/pile.json\n");
    let script = read(".ci/run");
    assert_eq!(script.lines().last(), Some(commands[1].trim()));
}

/// The table of speed has what `cargo peers` has kept.
#[test]
fn the_readmes_speeds_are_those_that_were_measured() {
    let readme = read("README.md");
    for (scene, unit, digits) in [
        ("spheres_10k", "million_sphere_steps_per_s", 1),
        ("spheres_100k", "million_sphere_steps_per_s", 1),
        ("impulse_spheres_100k", "million_sphere_frames_per_s", 2),
    ] {
        let file = read(&format!(
            "benches/results/epyc-2-cores/peers-{scene}-cpu.json"
        ));
        let kept: serde_json::Value = serde_json::from_str(&file).unwrap();
        let programs = kept["programs"].as_array().unwrap();
        let is_own = |program: &serde_json::Value| {
            let name = program["program"].as_str().unwrap();
            name.starts_with("Rockfall")
        };
        let [own, other] =
            [true, false].map(|own| programs.iter().find(|it| is_own(it) == own).unwrap());
        let speed = |program: &serde_json::Value| {
            let median = program[unit]["median"].as_f64().unwrap();
            format!("{median:.digits$}")
        };
        let ratio = |name: &str| {
            let ratio = other["rockfall_is_faster_by"][name].as_f64().unwrap();
            format!("{ratio:.2}")
        };
        let cells = format!("| {} | ", speed(own));
        let end = format!(
            ": {} | {} ({} to {}) |",
            speed(other),
            ratio("median"),
            ratio("min"),
            ratio("max")
        );
        let mut rows = readme.lines();
        let found = rows.any(|row| row.contains(&cells) && row.ends_with(&end));
        assert!(found, "README.md has no row {cells:?} ... {end:?}");
    }
}

#[test]
fn the_readme_is_short() {
    let lines = read("README.md").lines().count();
    assert!(
        lines <= 125,
        "{lines} lines: the handbook has room for more"
    );
}

#[test]
fn the_handbooks_library_example_is_that_of_the_crates_page() {
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
    let page = read("docs/book/src/how-to/rust.md");
    assert_eq!(blocks(&page, "rust")[0], example);
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
    tree(&own(""), &mut files);
    let mut named = 0;
    let passes = Shader::all().map(|shader| format!("docs/book/src/passes/{}.md", shader.name()));
    let documents = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/book/src/browser.md",
        "docs/book/src/cluster.md",
        "docs/book/src/gpu.md",
        "docs/book/src/internals.md",
        "docs/book/src/python.md",
        "docs/book/src/reliability.md",
        "docs/book/src/running.md",
        "docs/book/src/scenes.md",
    ];
    for document in documents.map(str::to_owned).into_iter().chain(passes) {
        let text = read(&document);
        let prose: String = text.split("\n```").step_by(2).collect();
        let code = prose.split('`').skip(1).step_by(2);
        let links = prose
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', '#']).next());
        for name in code.chain(links) {
            let name = name.trim_start_matches("../");
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

/// The text of all files below `src`, `shaders` and `tests`.
fn sources() -> String {
    let root = own("");
    let mut files = Vec::new();
    tree(&root.join("src"), &mut files);
    tree(&root.join("shaders"), &mut files);
    tree(&root.join("tests"), &mut files);
    let is_source = |path: &&PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        matches!(ending, Some("rs" | "wgsl"))
    };
    let texts = files.iter().filter(is_source);
    texts
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

/// The code spans of a document that are names of Rust or WGSL: `snake_case` or `Type::name`.
fn identifiers(document: &str) -> Vec<String> {
    let prose: String = document.split("\n```").step_by(2).collect();
    let spans = prose.split('`').skip(1).step_by(2);
    let is_name = |span: &&str| {
        let plain = span.replace("::", "");
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
        plain.chars().all(letters) && (span.contains('_') || span.contains("::"))
    };
    spans.filter(is_name).map(str::to_owned).collect()
}

#[test]
fn every_identifier_that_is_named_exists() {
    let sources = sources();
    let mut named = 0;
    let pages = [
        "faq.md",
        "glossary.md",
        "how-to/sweep.md",
        "how-to/time-step.md",
        "how-to/trouble.md",
        "internals.md",
        "reliability.md",
        "running.md",
        "scenes.md",
        "tutorials/drum.md",
        "tutorials/friction.md",
        "tutorials/heap.md",
        "tutorials/hopper.md",
        "tutorials/law.md",
        "tutorials/restarts.md",
    ];
    let passes = Shader::all().map(|shader| format!("passes/{}.md", shader.name()));
    let pages = pages.map(str::to_owned).into_iter().chain(passes);
    let pages = pages.map(|page| format!("docs/book/src/{page}"));
    for document in pages.chain(["ARCHITECTURE.md".to_owned()]) {
        for name in identifiers(&read(&document)) {
            named += 1;
            for part in name.split("::") {
                assert!(
                    sources.contains(part),
                    "{document} names {name}, and no source has {part}"
                );
            }
        }
    }
    assert!(named > 50, "{named} identifiers are named");
    assert_eq!(
        identifiers("`move_plane` and `a b` in `State::load`"),
        ["move_plane", "State::load"]
    );
}

#[test]
fn the_sizes_of_buffers_are_those_of_their_structs() {
    use rockfall::state::layout;
    let document = read("docs/book/src/internals.md");
    let mut checked = 0;
    for (buffer, size) in [
        ("bodies", size_of::<layout::Body>()),
        ("properties", size_of::<layout::BodyProperties>()),
        ("members", size_of::<layout::Member>()),
        ("balls", size_of::<layout::BallKind>()),
        ("pairs", size_of::<layout::Pair>()),
        ("groups", size_of::<layout::Group>()),
        ("actions", size_of::<layout::Action>()),
        ("walls", size_of::<layout::Wall>()),
        ("spheres", size_of::<layout::Sphere>()),
        ("sphere_loads", size_of::<layout::SphereLoad>()),
        ("dynamic_walls", size_of::<layout::DynamicWall>()),
        ("wall_loads", size_of::<layout::Load>()),
        ("body_forces", size_of::<layout::BodyForce>()),
        ("body_bonds", size_of::<layout::BodyBonds>()),
        ("body_heat", size_of::<layout::BodyHeat>()),
        ("bonds", size_of::<layout::Bond>()),
        ("stats", size_of::<layout::Stats>()),
    ] {
        let start = format!("| `{buffer}`");
        let row = document.lines().find(|line| line.starts_with(&start));
        let Some(row) = row else { continue };
        let bytes = row.split('|').nth(3).map(str::trim);
        assert_eq!(bytes, Some(size.to_string().as_str()), "{row}");
        checked += 1;
    }
    assert!(checked > 12, "{checked} buffers are in the table");

    let thousands = |number: u32| format!("{},{:03}", number / 1000, number % 1000);
    let bond = size_of::<layout::Bond>();
    for (page, said) in [
        (
            "internals",
            format!("`WORKGROUP_SIZE` threads, {}", layout::WORKGROUP_SIZE),
        ),
        (
            "passes/bonds",
            format!("read at both ends, {bond} bytes each"),
        ),
        (
            "passes/scan",
            format!("{} counts (`SCAN_BLOCK`)", thousands(layout::SCAN_BLOCK)),
        ),
        (
            "passes/walls",
            format!("for each {} spheres", thousands(layout::SPHERES_OF_STRIPE)),
        ),
    ] {
        let text = read(&format!("docs/book/src/{page}.md"));
        assert!(text.contains(&said), "{page}.md does not say {said:?}");
    }
}

/// rustdoc's lists show the first line alone, that of a module, too: it is a noun or verb phrase, and begins with none of these words.
#[test]
fn first_lines_of_documentation_stand_alone() {
    let mut files = Vec::new();
    for folder in [
        "benches",
        "examples",
        "python/src",
        "src",
        "tests",
        "tools",
        "web",
    ] {
        tree(&own(folder), &mut files);
    }
    let begun_badly = [
        "As ",
        "How ",
        "That ",
        "The same ",
        "Those ",
        "What ",
        "When ",
        "Where ",
        "Who ",
        "Why ",
    ];
    let is_rust = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "rs");
    let mut read = 0;
    for path in files.iter().filter(is_rust) {
        let text = fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        for (number, line) in lines.iter().enumerate() {
            let Some((mark, words)) = line.split_once(' ') else {
                continue;
            };
            let follows = number > 0 && lines[number - 1].starts_with(mark);
            if follows || !["///", "//!"].contains(&mark) {
                continue;
            }
            read += 1;
            assert!(
                !begun_badly.iter().any(|start| words.starts_with(start)),
                "{}:{}: {line}",
                path.display(),
                number + 1
            );
        }
    }
    assert!(read > 1000, "{read}");
}

/// The strings of code, without those of attributes and of the modules of tests.
fn strings(code: TokenStream, found: &mut Vec<String>) {
    let mut tokens = code.into_iter().peekable();
    let mut is_of_tests = false;
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                tokens.next_if(|next| next.to_string() == "!");
                if let Some(TokenTree::Group(attribute)) =
                    tokens.next_if(|next| matches!(next, TokenTree::Group(_)))
                {
                    is_of_tests |= attribute.stream().to_string().replace(' ', "") == "cfg(test)";
                }
            }
            TokenTree::Group(_) if std::mem::take(&mut is_of_tests) => (),
            TokenTree::Group(group) => strings(group.stream(), found),
            TokenTree::Punct(mark) if mark.as_char() == ';' => is_of_tests = false,
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if let Some(text) = text.strip_prefix('"') {
                    let mut lines = text.trim_end_matches('"').split("\\\n");
                    let first = lines.next().unwrap_or_default().to_owned();
                    found.push(lines.fold(first, |text, line| text + line.trim_start()));
                }
            }
            _ => (),
        }
    }
}

/// Sentences of a message: a full stop, a colon or a semicolon ends one.
fn sentences(message: &str) -> Vec<&str> {
    let ends = [". ", ": ", "; ", "\\n", "\n"];
    let mut parts = vec![message];
    for end in ends {
        parts = parts.iter().flat_map(|part| part.split(end)).collect();
    }
    parts
}

/// No sentence that the program prints needs a second reading: it is short, has one relative clause at most, and uses the
/// words of the glossary.
#[test]
fn messages_are_read_once() {
    const LONGEST: usize = 28;
    let relative = ["that", "which", "whose", "what"];
    // Words that the glossary has replaced.
    let replaced = [
        " slip ",
        " memory of ",
        "remember",
        " the clock on the wall",
        " hold against ",
        " held against ",
    ];
    let mut files = Vec::new();
    for folder in ["src", "python/src", "web/src"] {
        tree(&own(folder), &mut files);
    }
    let mut read = 0;
    let mut bad = String::new();
    for path in files
        .iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
    {
        let code: TokenStream = fs::read_to_string(path).unwrap().parse().unwrap();
        let mut found = Vec::new();
        strings(code, &mut found);
        for message in found {
            for sentence in sentences(&message) {
                let words: Vec<&str> = sentence.split_whitespace().collect();
                if words.len() < 4 {
                    continue;
                }
                read += 1;
                let clauses = words
                    .iter()
                    .filter(|word| relative.contains(&word.trim_matches(',')));
                let is_long = words.len() > LONGEST || clauses.count() > 1;
                if is_long || replaced.iter().any(|old| sentence.contains(old)) {
                    bad += &format!("{}: {sentence}\n", path.display());
                }
            }
        }
    }
    assert!(bad.is_empty(), "{bad}");
    assert!(read > 1000, "{read} sentences");
    let two = "the box {} is not that of the run that it resumes; start anew";
    assert_eq!(sentences(two).len(), 2);
}

#[test]
fn each_dependency_has_its_reason() {
    let manifests = [read("Cargo.toml"), read("src/cli/Cargo.toml")];
    let listed = manifests.iter().flat_map(|manifest| {
        let tables = manifest.split("\n[").filter(|table| {
            let name = table.lines().next().unwrap_or_default();
            name == "dependencies]" || name.starts_with("target.")
        });
        let lines = tables.flat_map(|table| table.lines().skip(1));
        lines.filter_map(|line| Some(line.split_once(" = ")?.0))
    });
    let names: BTreeSet<&str> = listed.filter(|name| *name != "rockfall").collect();
    let document = read("docs/book/src/reliability.md");
    let (_, table) = document.split_once("\n## Dependencies\n").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let said: BTreeSet<&str> = cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    assert_eq!(said, names);
}

/// Files whose code may be `unsafe`, as docs/book/src/reliability.md lists them.
const UNSAFE: [&str; 5] = [
    "src/cli/cluster.rs",
    "src/cli/main.rs",
    "src/math/grid.rs",
    "src/step/cpu/lanes.rs",
    "src/step/gpu/program.rs",
];

#[test]
fn unsafe_code_is_where_it_is_allowed_and_says_why() {
    let root = own("");
    let mut files = Vec::new();
    tree(&root.join("src"), &mut files);
    let mut found = BTreeSet::new();
    for path in files
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
    {
        let text = fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if !code.contains("unsafe {") && !code.contains("unsafe fn") {
                continue;
            }
            let name = path
                .strip_prefix(&root)
                .unwrap()
                .to_string_lossy()
                .replace('\\', "/");
            let before = &lines[number.saturating_sub(6)..number];
            let said = before
                .iter()
                .any(|line| line.contains("SAFETY") || line.contains("# Safety"));
            assert!(
                said || code.contains("unsafe fn"),
                "{name}:{}: no word on why it is safe",
                number + 1
            );
            found.insert(name);
        }
    }
    assert_eq!(found, UNSAFE.map(str::to_owned).into());
    let document = read("docs/book/src/reliability.md");
    for name in UNSAFE {
        assert!(
            document.contains(&format!("`{name}`")),
            "docs/book/src/reliability.md does not name {name}"
        );
    }
}

/// A recipe has a number of files in its heading, and names each, once, at the start of an item.
#[test]
fn the_recipes_name_as_many_files_as_they_say() {
    let guide = read("CONTRIBUTING.md");
    let recipes = guide.split("\n### ").skip(1);
    let mut count = 0;
    for recipe in recipes {
        let (title, text) = recipe.split_once('\n').unwrap();
        let (_, promised) = title.rsplit_once(": ").unwrap();
        let promised: usize = promised.split(' ').next().unwrap().parse().unwrap();
        let items = text
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        let files: BTreeSet<&str> = items
            .map(|item| {
                item.split('`')
                    .nth(1)
                    .unwrap_or_else(|| panic!("{item} names no file"))
            })
            .collect();
        assert_eq!(files.len(), promised, "{title}");
        for file in files {
            let path = own(file);
            assert!(path.is_file(), "{title}: {file} does not exist");
        }
        count += 1;
    }
    assert!(count >= 5, "{count} recipes");
}
