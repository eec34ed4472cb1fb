//! Every shader through Tint, Chromium's compiler, without a browser: it is in npm's package `webgpu`, which is Dawn for Node.

use std::path::PathBuf;
use std::process::Command;

use crate::{npm, python};

/// The package at a fixed version, so that a newer one fails no test by itself.
pub const PACKAGE: &str = "webgpu@0.6.2";

/// The script that gives shaders to it.
const SCRIPT: &str = "tools/tint/check.mjs";

/// Advice on how to get Tint.
pub const REMEDY: &str = "npm's package `webgpu` needs Node and npm (Debian and Ubuntu: sudo apt-get install npm), and access to npm's registry";

/// Has Tint compile every shader, and each entry point of a computation as a pipeline; prints a remedy where Tint is missing.
///
/// # Errors
/// If Tint rejects one.
pub fn check() -> Result<(), String> {
    let Some(package) = npm::package(PACKAGE) else {
        eprintln!("           ignored: {REMEDY}");
        return Ok(());
    };
    let shaders = put_down()?;
    python::succeed(Command::new("node").arg(SCRIPT).args([shaders, package]))
}

/// Has the tests write the file of all shaders and their computations. Returns where it is.
///
/// # Errors
/// If they do not build.
pub fn put_down() -> Result<PathBuf, String> {
    let shaders = python::target().join("shaders.json");
    let mut tests = crate::cargo(["test", "--quiet", "--workspace", "--test", "it"]);
    tests
        .args(["--", "--exact", "shaders::every_shader_is_put_down"])
        .env("ROCKFALL_SHADERS", &shaders);
    python::succeed(&mut tests)?;
    Ok(shaders)
}
