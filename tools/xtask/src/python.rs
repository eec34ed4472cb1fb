//! An environment of Python in the target folder, for the tools and for the programs that read what
//! runs write; and the tests that need it.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// What stands in for a Python that cannot make environments.
const REMEDY: &str = "install Python 3 with its module venv (on Debian and Ubuntu the packages python3 and \
                      python3-venv)";

/// Makes the environment, if need be, and installs what `tools/requirements.txt` lists.
///
/// # Errors
/// With a sentence that says what to install, if that is not possible.
pub fn provide() -> Result<PathBuf, String> {
    let folder = target().join("python");
    let python = folder.join(if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    });
    if !python.exists() {
        let system = if cfg!(windows) { "python" } else { "python3" };
        eprintln!("           {system} -m venv {}", folder.display());
        let mut venv = Command::new(system);
        venv.args(["-m", "venv"]).arg(&folder);
        succeed(&mut venv).map_err(|reason| format!("{reason}; {REMEDY}"))?;
    }
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    pip.args(["-r", "tools/requirements.txt"]);
    succeed(&mut pip)
        .map_err(|reason| format!("{reason}; the packages come from PyPI, is there a network?"))?;
    Ok(python)
}

/// Runs the tests of the tools with the program in release mode.
///
/// # Errors
/// If one fails.
pub fn test() -> Result<(), String> {
    let python = provide()?;
    let mut build = crate::cargo(["build", "--quiet", "--release", "--bin", "rockfall"]);
    succeed(&mut build)?;
    let program = target()
        .join("release/rockfall")
        .with_extension(env::consts::EXE_EXTENSION);
    let mut tests = Command::new(python);
    tests
        .args(["-m", "unittest", "test_tools"])
        .current_dir("tools")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("ROCKFALL", program);
    succeed(&mut tests)
}

/// Where Cargo builds.
fn target() -> PathBuf {
    let named = env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    std::path::absolute(&named).unwrap_or(named)
}

fn succeed(command: &mut Command) -> Result<(), String> {
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
