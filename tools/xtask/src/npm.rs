//! Packages of npm that tests and builds use where Node is there.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::{apt, python};

/// The folder of a package such as `webgpu@0.6.2`, which is installed where it is missing. None without Node, npm or a way to
/// its registry.
pub fn package(package: &str) -> Option<PathBuf> {
    apt::output("node", &["--version"])?;
    let (name, version) = package.split_once('@')?;
    let folder = python::target().join("npm").join(name);
    let there = || {
        let installed = folder.join("node_modules").join(name);
        let text = fs::read_to_string(installed.join("package.json")).ok()?;
        text.contains(&format!("\"version\": \"{version}\""))
            .then_some(installed)
    };
    there().or_else(|| {
        let mut npm = Command::new("npm");
        // Its scripts are for those who build it.
        npm.args([
            "install",
            "--silent",
            "--no-save",
            "--ignore-scripts",
            "--no-audit",
            package,
        ]);
        npm.arg("--prefix").arg(&folder).stdin(Stdio::null());
        npm.status().ok().filter(|status| status.success())?;
        there()
    })
}
