//! The parts of a toolchain that a minimal installation lacks.

use std::process::{Command, Stdio};

use crate::cargo;

/// Installs rustfmt and clippy if they are missing.
///
/// # Errors
/// With a sentence that says what to install, if that is not possible.
pub fn provide() -> Result<(), String> {
    let missing: Vec<&str> = [("rustfmt", "fmt"), ("clippy", "clippy")]
        .into_iter()
        .filter(|(_, subcommand)| !succeeds(&mut cargo([*subcommand, "--version"])))
        .map(|(component, _)| component)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !succeeds(Command::new("rustup").arg("--version")) {
        return Err(without_rustup(&missing));
    }
    eprintln!("           rustup component add {}", missing.join(" "));
    let added = Command::new("rustup")
        .args(["component", "add"])
        .args(&missing)
        .status();
    match added {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!(
            "`rustup component add {}` failed; the reason is above",
            missing.join(" ")
        )),
    }
}

fn without_rustup(missing: &[&str]) -> String {
    format!(
        "this Rust toolchain lacks {} and there is no rustup to add it; install it the way the \
         toolchain was installed (on Debian and Ubuntu the packages rustfmt and rust-clippy)",
        missing.join(" and ")
    )
}

/// Whether a program starts and succeeds, in silence.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_or_does_not_exist_does_not_succeed() {
        assert!(succeeds(&mut cargo(["--version"])));
        assert!(!succeeds(&mut cargo(["no-such-subcommand"])));
        assert!(!succeeds(&mut Command::new("no-such-program-at-all")));
    }

    #[test]
    fn what_is_missing_is_named() {
        let sentence = without_rustup(&["rustfmt", "clippy"]);
        assert!(sentence.contains("lacks rustfmt and clippy"), "{sentence}");
    }
}
