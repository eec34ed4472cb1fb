//! The core of the library for the browser, where the target's standard library is to be had.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Step, run};

/// The target.
const TARGET: &str = "wasm32-unknown-unknown";

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
    remedy: "the core has to do without what a browser lacks",
};

/// Checks that the core builds for the target; says so where it cannot.
///
/// # Errors
/// If it does not build.
pub fn check(announce: impl Fn(&str)) -> Result<(), String> {
    if !is_installed() {
        let _ = Command::new("rustup")
            .args(["target", "add", TARGET])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
    if !is_installed() {
        announce(&format!(
            "the core is not checked for {TARGET}: this toolchain lacks its standard library; `rustup target add \
             {TARGET}` installs it, on Debian and Ubuntu the package libstd-rust-dev-wasm32 that of Debian's own rustc"
        ));
        return Ok(());
    }
    announce(&CHECK.to_string());
    run(&CHECK)
}

/// Whether the compiler that cargo runs has the standard library of the target.
fn is_installed() -> bool {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let folder = Command::new(compiler)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output();
    folder.is_ok_and(|folder| Path::new(String::from_utf8_lossy(&folder.stdout).trim()).is_dir())
}
