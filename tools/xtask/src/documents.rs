//! Commands of the documents that build Rockfall, run as they stand there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::python::{self, succeed, target};
use crate::{mpi, swiftshader};

/// Commands, and the document that shows them.
struct Shown {
    document: &'static str,
    commands: &'static str,
}

const WITH_MPI: Shown = Shown {
    document: "docs/book/src/cluster.md",
    commands: "cargo build --release --features mpi",
};

const INSTALL: Shown = Shown {
    document: "docs/book/src/index.md",
    commands: "cargo install --locked --path src/cli",
};

const ON_SWIFTSHADER: Shown = Shown {
    document: "docs/book/src/gpu.md",
    commands: "\
export VK_DRIVER_FILES=/usr/lib/chromium/vk_swiftshader_icd.json VK_ICD_FILENAMES=/usr/lib/chromium/vk_swiftshader_icd.json
ROCKFALL_TEST_ADAPTER=SwiftShader cargo test --workspace --test it passes::
rockfall compare scenes/pile.json --adapter SwiftShader
",
};

const FOR_PYTHON: Shown = Shown {
    document: "docs/book/src/tutorials/python.md",
    commands: "pip install ./python",
};

const FIRST: Shown = Shown {
    document: "README.md",
    commands: "cargo run --release -- run scenes/pile.json",
};

/// Runs the commands. What they install goes to the target folder.
///
/// # Errors
/// If a document does not show one, or one fails.
pub fn run_commands() -> Result<(), String> {
    match mpi::is_there() {
        true => run(&WITH_MPI, None)?,
        false => eprintln!("           ignored: the build with MPI; OpenMPI is missing"),
    }
    run(&INSTALL, None)?;
    match swiftshader::manifest() {
        Some(_) => run(&ON_SWIFTSHADER, Some(&root().join("bin")))?,
        None => eprintln!("           ignored: the commands for SwiftShader; Chromium is missing"),
    }
    let python = python::provide("documents", "python/tests/requirements.txt")?;
    run(&FOR_PYTHON, python.parent())?;
    // The last one, for it leaves the program as all others build it.
    run(&FIRST, None)
}

/// Folder for what `cargo install` installs.
fn root() -> PathBuf {
    target().join("installed")
}

/// Runs commands by the shell, with the programs of a folder before all others.
fn run(shown: &Shown, programs: Option<&Path>) -> Result<(), String> {
    let text = fs::read_to_string(shown.document)
        .map_err(|error| format!("{}: {error}", shown.document))?;
    if !text.contains(shown.commands) {
        return Err(format!(
            "{} does not show `{}` any more; {} runs what the documents show",
            shown.document,
            shown.commands,
            file!()
        ));
    }
    eprintln!("           {}: {}", shown.document, shown.commands.trim());
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = programs
        .map(Path::to_owned)
        .into_iter()
        .chain(env::split_paths(&path));
    let mut shell = Command::new("sh");
    shell
        .args(["-e", "-c", shown.commands])
        .env(
            "PATH",
            env::join_paths(folders).map_err(|error| error.to_string())?,
        )
        .env("CARGO_INSTALL_ROOT", root());
    succeed(&mut shell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_show_the_commands() {
        for shown in [&WITH_MPI, &INSTALL, &ON_SWIFTSHADER, &FOR_PYTHON, &FIRST] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../..")
                .join(shown.document);
            let text = fs::read_to_string(path).unwrap();
            assert!(text.contains(shown.commands), "{}", shown.document);
        }
    }
}
