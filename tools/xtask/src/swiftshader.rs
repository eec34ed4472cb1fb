//! The GPU tests on a second implementation of Vulkan, SwiftShader, which comes with Chromium; and on OpenGL.

use std::path::{Path, PathBuf};

use crate::apt::{self, Privilege};
use crate::python;

/// Its manifest, as Debian's and Ubuntu's package `chromium` has it.
const MANIFEST: &str = "/usr/lib/chromium/vk_swiftshader_icd.json";

/// The tests that open a device, by module.
const TESTS: [&str; 29] = [
    "bench::",
    "bonds::",
    "book::",
    "breakage::",
    "checkpoint::",
    "cluster::",
    "compare::",
    "custom_law::",
    "deform::",
    "determinism::",
    "energy::",
    "faults::",
    "flow::",
    "heat::",
    "lost::",
    "machines::",
    "meshes::",
    "neighbours::",
    "output::",
    "passes::",
    "periodic::",
    "pipeline::",
    "population::",
    "render::",
    "scenes::",
    "shapes::",
    "stages::",
    "walls::",
    "world::",
];

/// Runs the tests; prints a note where SwiftShader is missing.
///
/// # Errors
/// If one fails.
pub fn test() -> Result<(), String> {
    let Some(manifest) = manifest() else {
        eprintln!(
            "           ignored: there is no {MANIFEST}; install chromium (Debian and Ubuntu: sudo apt-get install chromium)"
        );
        return Ok(());
    };
    let mut tests = tests(&TESTS);
    tests
        .env("VK_DRIVER_FILES", &manifest)
        .env("VK_ICD_FILENAMES", &manifest)
        .env("ROCKFALL_TEST_ADAPTER", "SwiftShader");
    python::succeed(&mut tests)
}

/// Part of the description of adapters of OpenGL.
const OPEN_GL: &str = ", gl, ";

/// Runs the tests of the passes on OpenGL; prints a note where there is no adapter.
///
/// # Errors
/// If one fails.
pub fn test_open_gl() -> Result<(), String> {
    let program = python::program("release");
    let adapters = apt::output(&program.to_string_lossy(), &["adapters"]);
    if !adapters.is_some_and(|adapters| adapters.contains(OPEN_GL)) {
        eprintln!("           ignored: there is no adapter for OpenGL");
        return Ok(());
    }
    python::succeed(tests(&["passes::"]).env("ROCKFALL_TEST_ADAPTER", OPEN_GL))
}

fn tests(modules: &[&str]) -> std::process::Command {
    let mut tests = crate::cargo(["test", "--workspace", "--release", "--test", "it"]);
    tests.args(["--no-fail-fast", "--"]).args(modules);
    tests
}

/// The manifest; where it is missing, the package is installed if that can be done without asking.
pub fn manifest() -> Option<PathBuf> {
    let there = || Some(PathBuf::from(MANIFEST)).filter(|path| Path::exists(path));
    let privilege = Privilege::gather();
    if there().is_none() && apt::exists() && privilege != Privilege::None {
        apt::install(privilege == Privilege::Sudo, &["chromium"]);
    }
    there()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The modules of the tests in `tests/it` that open a device are those that are run.
    #[test]
    fn every_module_that_opens_a_device_is_run() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/it");
        let mut found: Vec<String> = folder
            .read_dir()
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                let text = std::fs::read_to_string(path).unwrap();
                text.contains("device()")
            })
            .map(|path| format!("{}::", path.file_stem().unwrap().to_string_lossy()))
            .collect();
        found.sort();
        assert_eq!(found, TESTS);
    }
}
