//! What a release needs: a package that builds by itself, and an interface that keeps its promises.

use std::process::{Command, Stdio};

use crate::{Step, cargo, run};

/// Builds the packages from their own files alone.
pub const PACKAGE: Step = Step {
    arguments: &[
        "package",
        "--package",
        "rockfall",
        "--package",
        "rockfall-cli",
        "--locked",
        "--allow-dirty",
    ],
    variable: None,
    remedy: "what the build misses is left out by `exclude` in Cargo.toml",
};

/// Compares the library's interface with that of the last release, if there is one.
///
/// # Errors
/// With a sentence, if the interface breaks what the version number promises, or cargo-semver-checks cannot be had.
pub fn semver() -> Result<(), String> {
    let Some(tag) = last_release() else {
        eprintln!("           there is no tag v* yet, so no interface to compare with");
        return Ok(());
    };
    install(
        "semver-checks",
        &["install", "cargo-semver-checks", "--locked"],
    )?;
    run(&Step {
        arguments: &[
            "semver-checks",
            "--package",
            "rockfall",
            "--baseline-rev",
            &tag,
        ],
        variable: None,
        remedy: "raise the version in Cargo.toml, or keep what is public as it was",
    })
}

/// Holds the dependencies to `deny.toml`: licences, sources, versions, and, if the list of that can be had, what is known
/// against them.
///
/// # Errors
/// With a sentence, if one does not hold, or cargo-deny cannot be had.
pub fn deny() -> Result<(), String> {
    install("deny", &["install", "cargo-deny", "--locked"])?;
    run(&Step {
        arguments: &["deny", "check", "bans", "licenses", "sources"],
        variable: None,
        remedy: "deny.toml says what is allowed",
    })?;
    let mut fetched = cargo(["deny", "fetch", "db"]);
    let fetched = fetched.stdout(Stdio::null()).stderr(Stdio::null());
    if !fetched.status().is_ok_and(|status| status.success()) {
        eprintln!(
            "           ignored: what is known against the dependencies; https://github.com/RustSec/advisory-db cannot be read"
        );
        return Ok(());
    }
    run(&Step {
        arguments: &["deny", "check", "advisories"],
        variable: None,
        remedy: "take another version of the crate, or say in deny.toml why it does no harm",
    })
}

/// Installs a command of cargo's, unless it is there.
fn install(command: &str, arguments: &'static [&'static str]) -> Result<(), String> {
    let mut installed = cargo([command, "--version"]);
    let installed = installed.stdout(Stdio::null()).stderr(Stdio::null());
    if installed.status().is_ok_and(|status| status.success()) {
        return Ok(());
    }
    run(&Step {
        arguments,
        variable: None,
        remedy: "it comes from crates.io",
    })
}

/// The latest tag of a version.
fn last_release() -> Option<String> {
    let arguments = ["describe", "--tags", "--abbrev=0", "--match", "v*"];
    let described = Command::new("git").args(arguments).output().ok()?;
    let tag = String::from_utf8(described.stdout).ok()?;
    let found = described.status.success() && !tag.trim().is_empty();
    found.then(|| tag.trim().to_owned())
}
