//! Environments of Python in the target folder: for the tools and for the programs that read what runs write, and for the
//! package `rockfall`; and the tests that need them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

use crate::apt::{self, Privilege};

/// Advice where a Python cannot make environments.
pub const REMEDY: &str = "install Python 3 with its module venv (on Debian and Ubuntu the packages python3 and \
                      python3-venv)";

/// Whether there is a Python that can make environments; where it is missing, it is installed if that can be done without
/// asking.
pub fn is_there() -> bool {
    let there = || {
        let mut python = Command::new(system());
        python.args(["-c", "import venv, ensurepip"]);
        succeed(python.stderr(Stdio::null())).is_ok()
    };
    let privilege = Privilege::gather();
    if !there() && apt::exists() && privilege != Privilege::None {
        apt::install(privilege == Privilege::Sudo, &["python3", "python3-venv"]);
    }
    there()
}

/// Name of the system's Python.
fn system() -> &'static str {
    if cfg!(windows) { "python" } else { "python3" }
}

/// Makes an environment, if need be, and installs what `requirements` lists. Returns its Python.
///
/// # Errors
/// With a sentence that says what to install, if that is not possible.
pub fn provide(name: &str, requirements: &str) -> Result<PathBuf, String> {
    let folder = target().join(name);
    let python = folder.join(if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    });
    if !python.exists() {
        eprintln!("           {} -m venv {}", system(), folder.display());
        let mut venv = Command::new(system());
        venv.args(["-m", "venv"]).arg(&folder);
        succeed(&mut venv).map_err(|reason| format!("{reason}; {REMEDY}"))?;
    }
    succeed(pip(&python).args(["-r", requirements]))
        .map_err(|reason| format!("{reason}; the packages come from PyPI, is there a network?"))?;
    Ok(python)
}

fn pip(python: &Path) -> Command {
    let mut pip = Command::new(python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    pip
}

/// Runs the tests of the tools with the program in release mode.
///
/// # Errors
/// If one fails.
pub fn test() -> Result<(), String> {
    let python = provide("python", "tools/requirements.txt")?;
    let mut build = crate::cargo(["build", "--quiet", "--release", "--bin", "rockfall"]);
    succeed(&mut build)?;
    let program = program("release");
    let mut tests = Command::new(python);
    tests
        .args(["-m", "unittest", "test_tools"])
        .current_dir("tools")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("ROCKFALL", program);
    succeed(&mut tests)
}

/// Builds the wheel of this platform, in release mode, with maturin. Returns its path.
///
/// # Errors
/// If it does not build.
pub fn wheel() -> Result<PathBuf, String> {
    let python = provide(ENVIRONMENT, REQUIREMENTS)?;
    let folder = emptied("wheels")?;
    let mut maturin = Command::new(&python);
    maturin.args(["-m", "maturin", "build", "--quiet", "--release"]);
    maturin.args(["--manifest-path", "python/Cargo.toml", "--out"]);
    // Its rustc looks for Python: without this one, the one on the path, which need not be there.
    maturin.arg(&folder).args(["--interpreter"]).arg(&python);
    succeed(&mut maturin)?;
    only_file(&folder)
}

/// Builds the library and the programs as the tests of the workspace do, so that nothing is compiled twice.
///
/// # Errors
/// If something does not compile.
pub fn build_as_tests_do() -> Result<(), String> {
    // Tests and examples, so that dependencies have the features and the profile that those of tests have.
    let mut build = crate::cargo([
        "build",
        "--workspace",
        "--lib",
        "--examples",
        "--bins",
        "--tests",
    ]);
    succeed(&mut build)
}

/// Tests the package for Python as a wheel that is installed in an environment of its own. The wheel is that of
/// [`wheel`], in release mode, or one of the library that the tests of the workspace build, so that nothing is
/// compiled twice.
///
/// # Errors
/// If a test fails, or there is no wheel.
pub fn test_package(release: bool) -> Result<(), String> {
    let python = provide(ENVIRONMENT, REQUIREMENTS)?;
    let wheel = match release {
        true => wheel()?,
        false => quick_wheel(&python)?,
    };
    succeed(
        pip(&python)
            .args(["--force-reinstall", "--no-deps"])
            .arg(wheel),
    )?;
    let profile = if release { "release" } else { "debug" };
    if release {
        let mut build = crate::cargo(["build", "--quiet", "--release", "--bin", "rockfall"]);
        succeed(&mut build)?;
    }
    let mut tests = Command::new(python);
    tests
        .args(["-m", "pytest", "--quiet", "-c", "python/pyproject.toml"])
        .args(["--numprocesses", "auto"])
        .arg("python/tests")
        .envs(crate::llvmpipe())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("MPLBACKEND", "agg")
        .env("ROCKFALL", program(profile));
    if release {
        tests.env("ROCKFALL_TIMED", "1");
    }
    succeed(&mut tests)
}

/// The environment in which the package is built and tested, and what is in it.
const ENVIRONMENT: &str = "python-package";
const REQUIREMENTS: &str = "python/tests/requirements.txt";

/// A wheel of the library as `cargo test --workspace` has it: with the features that all packages together ask for.
/// maturin builds the package alone, for which most dependencies would be compiled once more.
fn quick_wheel(python: &Path) -> Result<PathBuf, String> {
    build_as_tests_do()?;
    let parts = emptied("wheel-parts")?;
    let mut maturin = Command::new(python);
    maturin.args([
        "-m",
        "maturin",
        "pep517",
        "write-dist-info",
        "--manifest-path",
        "python/Cargo.toml",
        "--metadata-directory",
    ]);
    maturin.arg(&parts).stdout(Stdio::null());
    succeed(&mut maturin)?;
    let package = parts.join("rockfall");
    let unwritten = |error: io::Error| format!("{} cannot be written: {error}", package.display());
    copy_files(Path::new("python/rockfall"), &package).map_err(unwritten)?;
    let library = format!(
        "{}_core{}",
        env::consts::DLL_PREFIX,
        env::consts::DLL_SUFFIX
    );
    let module = if cfg!(windows) {
        "_core.pyd"
    } else {
        "_core.abi3.so"
    };
    let library = target().join("debug").join(library);
    fs::copy(library, package.join(module)).map_err(unwritten)?;
    let wheels = emptied("wheels-of-tests")?;
    let mut pack = Command::new(python);
    pack.args(["-m", "wheel", "pack"]).arg(&parts);
    pack.arg("--dest-dir").arg(&wheels).stdout(Stdio::null());
    succeed(&mut pack)?;
    only_file(&wheels)
}

/// Copies the files of a folder, but none of those in its folders.
///
/// # Errors
/// Those of the system.
pub fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        if let (true, Some(name)) = (path.is_file(), path.file_name()) {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// A folder in the target folder, with nothing in it.
fn emptied(name: &str) -> Result<PathBuf, String> {
    let folder = target().join(name);
    let unwritten = |error: io::Error| format!("{} cannot be emptied: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(unwritten)?;
    }
    fs::create_dir_all(&folder).map_err(unwritten)?;
    Ok(folder)
}

fn only_file(folder: &Path) -> Result<PathBuf, String> {
    let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.next().map(|entry| entry.path());
    found.ok_or_else(|| format!("there is no wheel in {}", folder.display()))
}

/// The program, as Cargo has built it.
pub fn program(profile: &str) -> PathBuf {
    let program = target().join(profile).join("rockfall");
    program.with_extension(env::consts::EXE_EXTENSION)
}

/// Name of the variable with cargo's target folder.
pub const TARGET: &str = "CARGO_TARGET_DIR";

/// Folder in which Cargo builds.
pub fn target() -> PathBuf {
    let named = env::var_os(TARGET).map_or("target".into(), PathBuf::from);
    std::path::absolute(&named).unwrap_or(named)
}

/// Runs a command that must succeed.
///
/// # Errors
/// With the command as it would be typed, if it does not.
pub fn succeed(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{} ({status})", line(command))),
        Err(error) => Err(format!("{} does not start ({error})", line(command))),
    }
}

/// A command as it would be typed.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    format!("`{}` failed", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_quoted() {
        let sentence = succeed(&mut crate::cargo(["no-such-subcommand"])).unwrap_err();
        assert!(
            sentence.contains("no-such-subcommand` failed"),
            "{sentence}"
        );
        let sentence = succeed(&mut Command::new("no-such-program-at-all")).unwrap_err();
        assert!(sentence.contains("does not start"), "{sentence}");
    }

    #[test]
    fn the_environment_is_in_an_absolute_folder() {
        assert!(target().is_absolute());
    }
}
