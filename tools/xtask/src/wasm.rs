//! The library for browsers, where the target's standard library is available.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Step;

/// The target.
pub const TARGET: &str = "wasm32-unknown-unknown";

const CHECK: Step = Step {
    arguments: &[
        "check",
        "--package",
        "rockfall",
        "--lib",
        "--no-default-features",
        "--features=cpu,scene",
        "--target",
        TARGET,
    ],
    variable: None,
    remedy: "a browser has no threads, files or clocks, and the code cannot wait for a device",
};

/// Checks that the core of the library builds for the target; prints a note where it cannot check. The tests of the page build
/// the rest.
///
/// # Errors
/// If it does not build.
pub fn check(announce: impl Fn(&str)) -> Result<(), String> {
    if let Err(sentence) = provide() {
        announce(&format!(
            "the library is not checked for {TARGET}: {sentence}"
        ));
        return Ok(());
    }
    announce(&CHECK.to_string());
    crate::check(&CHECK)
}

/// Sees that the target's standard library is there.
///
/// # Errors
/// With a sentence that says how to install it, if it is not and rustup cannot.
pub fn provide() -> Result<(), String> {
    if !is_installed() {
        let _ = Command::new("rustup")
            .args(["target", "add", TARGET])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
    match is_installed() {
        true => Ok(()),
        false => Err(format!(
            "this toolchain lacks the standard library of {TARGET}; `rustup target add {TARGET}` installs it. Debian's packages \
             rustc-web and cargo-web (1.96) lack it, too: with them, install rust-web-src and build it, by RUSTC_BOOTSTRAP=1 and the \
             flag -Zbuild-std=std,panic_abort"
        )),
    }
}

/// Whether the compiler that cargo runs has the standard library of the target.
fn is_installed() -> bool {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let folder = Command::new(compiler)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output();
    folder.is_ok_and(|folder| Path::new(String::from_utf8_lossy(&folder.stdout).trim()).is_dir())
}
