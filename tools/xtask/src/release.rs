//! Releases: a package that builds by itself, an interface that keeps its promises, and files for users.

use std::env::consts::{ARCH, EXE_EXTENSION, OS};
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::apt;
use crate::python::{copy_files, program, succeed, target};
use crate::{Step, cargo, run};

/// Builds the packages from their own files alone.
const PACKAGE: Step = Step {
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
    remedy: "if the build misses a file, see `exclude` in Cargo.toml",
};

/// Builds the program as it is released.
const BUILD: Step = Step {
    arguments: &["build", "--release", "--locked", "--bin", "rockfall"],
    variable: None,
    remedy: "if Cargo.lock is out of date, `cargo update --workspace` mends it",
};

/// Shells, and how the files of their completions are called.
const SHELLS: [(&str, &str); 4] = [
    ("bash", "rockfall"),
    ("fish", "rockfall.fish"),
    ("powershell", "rockfall.ps1"),
    ("zsh", "_rockfall"),
];

/// Builds the packages from their own files alone, and runs the tests that the library's package has.
///
/// # Errors
/// With a sentence, if a file is missing there or a test fails.
pub fn package() -> Result<(), String> {
    run(&PACKAGE)?;
    let name = format!("rockfall-{}", manifest("version")?);
    // Below the workspace cargo would take it for a part of that.
    let folder = env::temp_dir().join(format!("{name}-package"));
    empty(&folder)?;
    let mut tar = Command::new("tar");
    tar.arg("xzf")
        .arg(target().join("package").join(format!("{name}.crate")))
        .arg("-C")
        .arg(&folder);
    succeed(&mut tar)?;
    let mut test = cargo(["test", "--locked", "--target-dir"]);
    test.arg(target().join("package-tests"))
        .current_dir(folder.join(&name));
    succeed(&mut test)?;
    fs::remove_dir_all(&folder)
        .map_err(|error| format!("{} cannot be removed: {error}", folder.display()))
}

/// Checks that the oldest Rust of the manifest builds everything.
///
/// # Errors
/// With a sentence, if it does not, or cannot be installed.
pub fn oldest_rust() -> Result<(), String> {
    const CHECK: [&str; 4] = ["check", "--workspace", "--all-targets", "--locked"];
    let oldest = manifest("rust-version")?;
    let own = cargo(["--version"]).output().map(|output| output.stdout);
    let own = String::from_utf8_lossy(&own.unwrap_or_default()).into_owned();
    if own.starts_with(&format!("cargo {oldest}.")) {
        return succeed(&mut cargo(CHECK));
    }
    let toolchain = format!("{oldest}.0");
    let mut rustup = Command::new("rustup");
    rustup.args(["toolchain", "install", &toolchain, "--profile", "minimal"]);
    succeed(&mut rustup)?;
    let mut check = Command::new("rustup");
    check.args(["run", &toolchain, "cargo"]).args(CHECK);
    // The cargo that runs this sets these for its own toolchain.
    for variable in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        check.env_remove(variable);
    }
    succeed(&mut check)
}

/// Writes the files of a release to `out`: an archive of the program, its scenes, manual pages and completions, and on
/// Debian and Ubuntu a package.
///
/// # Errors
/// If it does not build, or a file cannot be written.
pub fn files(out: &Path) -> Result<(), String> {
    run(&BUILD)?;
    let built = target().join("release");
    let pages = built.join("man");
    let completions = built.join("completions");
    empty(&pages)?;
    empty(&completions)?;
    succeed(
        Command::new(program("release"))
            .args(["--quiet", "man", "--out"])
            .arg(&pages)
            .stdout(Stdio::null()),
    )?;
    for (shell, file) in SHELLS {
        let text = Command::new(program("release"))
            .args(["completions", shell])
            .output()
            .map_err(|error| format!("`rockfall completions` does not start: {error}"))?;
        write(&completions.join(file), &text.stdout)?;
    }

    fs::create_dir_all(out).map_err(|error| format!("{}: {error}", out.display()))?;
    archive(out, &pages, &completions)?;
    if apt::output("dpkg", &["--version"]).is_some() {
        install("deb", &["install", "cargo-deb", "--locked"])?;
        let out = std::path::absolute(out).map_err(|error| error.to_string())?;
        let mut deb = cargo(["deb", "--no-build", "--package", "rockfall-cli", "--output"]);
        succeed(deb.arg(out))?;
    }
    Ok(())
}

/// Packs the program and what goes with it.
fn archive(out: &Path, pages: &Path, completions: &Path) -> Result<(), String> {
    let name = format!("rockfall-{}-{ARCH}-{OS}", manifest("version")?);
    let folder = out.join(&name);
    empty(&folder)?;
    let unwritten = |error| format!("{} cannot be written: {error}", folder.display());
    let copy = |from: &Path, to: &str| copy_files(from, &folder.join(to)).map_err(unwritten);
    for scenes in ["scenes", "scenes/laws", "scenes/meshes"] {
        copy(Path::new(scenes), scenes)?;
    }
    copy(pages, "man")?;
    copy(completions, "completions")?;
    let binary = Path::new("rockfall").with_extension(EXE_EXTENSION);
    fs::copy(program("release"), folder.join(binary)).map_err(unwritten)?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(file, folder.join(file)).map_err(unwritten)?;
    }
    let mut tar = Command::new("tar");
    tar.arg("czf")
        .arg(format!("{name}.tar.gz"))
        .arg(&name)
        .current_dir(out);
    succeed(&mut tar)?;
    fs::remove_dir_all(&folder).map_err(unwritten)
}

/// A folder with nothing in it.
fn empty(folder: &Path) -> Result<(), String> {
    let unwritten = |error| format!("{} cannot be emptied: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(unwritten)?;
    }
    fs::create_dir_all(folder).map_err(unwritten)
}

fn write(file: &Path, text: &[u8]) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{} cannot be written: {error}", file.display()))
}

/// A value of the library's manifest.
///
/// # Errors
/// If there is none.
pub fn manifest(key: &str) -> Result<String, String> {
    let text = fs::read_to_string("Cargo.toml").map_err(|error| format!("Cargo.toml: {error}"))?;
    let start = format!("{key} = \"");
    let value = |line: &str| Some(line.strip_prefix(&start)?.strip_suffix('"')?.to_owned());
    let found = text.lines().find_map(value);
    found.ok_or_else(|| format!("Cargo.toml has no {key}"))
}

/// Compares the library's interface with that of the last release, if there is one.
///
/// # Errors
/// With a sentence, if the interface breaks what the version number promises, or cargo-semver-checks cannot be installed.
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
        remedy: "raise the version in Cargo.toml, or keep the public interface as it was",
    })
}

/// Checks the dependencies against `deny.toml`: licences, sources, versions, and, if their list can be read, known
/// vulnerabilities.
///
/// # Errors
/// With a sentence, if a check fails, or cargo-deny cannot be installed.
pub fn deny() -> Result<(), String> {
    install("deny", &["install", "cargo-deny", "--locked"])?;
    run(&Step {
        arguments: &["deny", "check", "bans", "licenses", "sources"],
        variable: None,
        remedy: "deny.toml lists what is allowed",
    })?;
    let mut fetched = cargo(["deny", "fetch", "db"]);
    let fetched = fetched.stdout(Stdio::null()).stderr(Stdio::null());
    if !fetched.status().is_ok_and(|status| status.success()) {
        eprintln!(
            "           ignored: known vulnerabilities of dependencies; https://github.com/RustSec/advisory-db cannot be read"
        );
        return Ok(());
    }
    run(&Step {
        arguments: &["deny", "check", "advisories"],
        variable: None,
        remedy: "take another version of the crate, or state in deny.toml why it does no harm",
    })
}

/// Installs a command of cargo's, unless it is there.
pub(super) fn install(command: &str, arguments: &'static [&'static str]) -> Result<(), String> {
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
