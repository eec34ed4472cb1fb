//! Combinations of features: the dependencies of each, and whether it builds.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Step, cargo, python};

/// Combinations of the library's features that must build without a warning, and do without the packages of the others.
const COMBINATIONS: [&str; 5] = ["", "cpu", "gpu", "cpu,scene,output,parallel", "render"];

/// Further ones that must do without the packages of the others. Other checks build all that is in them.
const OTHERS: [&str; 3] = ["cpu,scene", "cpu,gpu", "internals"];

/// Packages, each with the features that bring it.
const PACKAGES: [(&str, &[&str]); 9] = [
    ("multiversion", &["cpu", "view", "internals"]),
    ("wgpu", &["gpu", "render", "view", "internals"]),
    ("naga", &["gpu", "render", "view", "internals"]),
    ("rayon", &["parallel"]),
    ("schemars", &["scene", "output", "view", "internals"]),
    ("csv", &["output", "view", "internals"]),
    ("image", &["render", "view"]),
    ("winit", &["view"]),
    ("clap", &["clap"]),
];

/// Prefixes of the names of the window's packages, of which there are several.
const WINDOW: [&str; 2] = ["egui", "winit"];

/// Arguments of cargo that run tests of the library with nothing but scenes and the CPU engine.
macro_rules! library_of_the_cpu {
    ($($before:literal),*; $($tests:literal),*) => {
        &[
            $($before,)*
            "--package",
            "rockfall",
            "--no-default-features",
            "--features=cpu,scene",
            "--lib",
            $($tests,)*
        ]
    };
}

/// Tests that a build without threads gives the hash of a build with threads. It is a build of its own, so it belongs to
/// the longer command.
pub const SAME_BITS: Step = Step {
    arguments: library_of_the_cpu!("test"; "same_bits"),
    variable: None,
    remedy: "a run gives other bits without the feature `parallel`",
};

/// Tests of the bits in builds that use fewer of a processor's vector instructions than it has.
pub const SAME_BITS_ON_OTHERS: [Step; 2] = [on("avx2"), on("portable")];

const fn on(simd: &'static str) -> Step<'static> {
    Step {
        variable: Some(("ROCKFALL_SIMD", simd)),
        remedy: "a run gives other bits with other vector instructions",
        ..SAME_BITS
    }
}

/// Tests of the bits on another kind of processor, which is emulated.
pub const SAME_BITS_ON_AARCH64: Step = Step {
    arguments: library_of_the_cpu!(
        "--config",
        "target.aarch64-unknown-linux-gnu.linker='aarch64-linux-gnu-gcc'",
        "--config",
        "target.aarch64-unknown-linux-gnu.runner='qemu-aarch64 -L /usr/aarch64-linux-gnu'",
        "test",
        "--target",
        "aarch64-unknown-linux-gnu";
        "same_bits"
    ),
    variable: None,
    remedy: "a run gives other bits on aarch64",
};

/// Runs the tests of `unsafe` code in Miri, an interpreter that finds undefined behaviour.
///
/// # Errors
/// With a sentence, if a test fails.
pub fn miri() -> Result<(), String> {
    let rustup = |arguments: &[&str]| {
        let mut command = Command::new("rustup");
        command
            .args(["run", "nightly", "cargo", "miri"])
            .args(arguments);
        command.env(python::TARGET, "target/miri");
        command
    };
    let mut version = rustup(&["--version"]);
    let version = version.stdout(Stdio::null()).stderr(Stdio::null());
    if !version.status().is_ok_and(|status| status.success()) {
        eprintln!(
            "           ignored: Miri; `rustup toolchain install nightly --component miri,rust-src` installs it"
        );
        return Ok(());
    }
    let mut test = rustup(library_of_the_cpu!("test"; "--", "math::grid", "step::cpu::lanes"));
    match test.status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err("Miri failed; its report above names the place".to_owned()),
    }
}

/// Packages that the emulated processor needs and this machine lacks, if any.
pub fn lacks_aarch64() -> Option<&'static str> {
    let lacks = |program: &str| {
        let mut command = Command::new(program);
        command.arg("--version").stdout(Stdio::null());
        command.stderr(Stdio::null()).status().is_err()
    };
    if lacks("qemu-aarch64") || lacks("aarch64-linux-gnu-gcc") {
        return Some(
            "on Debian and Ubuntu, `apt-get install qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross` installs an emulator \
             and a linker",
        );
    }
    let mut rustc = Command::new("rustc");
    rustc.args([
        "--print",
        "target-libdir",
        "--target",
        "aarch64-unknown-linux-gnu",
    ]);
    let folder = rustc.output().ok().map(|output| output.stdout);
    let folder = String::from_utf8(folder.unwrap_or_default()).unwrap_or_default();
    (!Path::new(folder.trim()).is_dir())
        .then_some("`rustup target add aarch64-unknown-linux-gnu` installs the standard library")
}

/// Checks the dependencies of each combination, and its lints.
///
/// # Errors
/// With a sentence, at the first that is wrong.
pub fn check(announce: impl Fn(&str)) -> Result<(), String> {
    announce("dependencies of each combination of features");
    for features in COMBINATIONS.into_iter().chain(OTHERS) {
        let tree = tree(features)?;
        if let Some(wrong) = wrong(features, &tree) {
            return Err(wrong);
        }
    }
    let library = COMBINATIONS.map(|features| ("rockfall", features));
    // The program without a window, for machines that only compute.
    for (package, features) in library.into_iter().chain([("rockfall-cli", "")]) {
        let step = Step {
            arguments: &[
                "clippy",
                "--package",
                package,
                "--no-default-features",
                &format!("--features={features}"),
                "--",
                "-D",
                "warnings",
            ],
            variable: None,
            remedy: "each warning above names its place and what to change",
        };
        announce(&step.to_string());
        crate::check(&step)?;
    }
    Ok(())
}

/// Output of `cargo tree`.
fn tree(features: &str) -> Result<String, String> {
    let arguments = ["tree", "--package", "rockfall", "--no-default-features"];
    let rest = ["--edges", "normal", "--prefix", "none", "--features"];
    let listed = cargo(arguments.iter().chain(&rest).chain(&[features]))
        .output()
        .map_err(|error| format!("`cargo tree` does not start: {error}"))?;
    if !listed.status.success() {
        let said = String::from_utf8_lossy(&listed.stderr);
        return Err(format!("`cargo tree` failed: {}", said.trim()));
    }
    Ok(String::from_utf8_lossy(&listed.stdout).into_owned())
}

/// Fault of the packages that some features, with commas in between, pull in.
fn wrong(features: &str, tree: &str) -> Option<String> {
    let names = || tree.lines().filter_map(|line| line.split(' ').next());
    let has = |feature: &&str| features.split(',').any(|other| other == *feature);
    for (package, bringing) in PACKAGES {
        let listed = names().any(|name| name == package);
        let wanted = bringing.iter().any(has);
        if listed != wanted {
            let what = match listed {
                true => format!("pulls in {package}; make it optional"),
                false => format!("does without {package}, which it needs"),
            };
            return Some(format!(
                "a build with --no-default-features --features {features:?} {what} (see {})",
                file!()
            ));
        }
    }
    let mut of_window = names().filter(|name| WINDOW.iter().any(|own| name.starts_with(own)));
    let found = of_window.next().filter(|_| !has(&"view"))?;
    Some(format!(
        "a build with --no-default-features --features {features:?} pulls in {found}; make it optional, for the \
         feature `view` alone"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_too_many_or_too_few_is_seen() {
        let cpu = "rockfall v0.1.0 (/x)\nglam v0.34.2\nmultiversion v0.8.0 (proc-macro)";
        assert_eq!(wrong("cpu", cpu), None);
        let sentence = wrong("cpu", &format!("{cpu}\nrayon v1.12.0 (*)")).unwrap();
        assert!(sentence.contains("\"cpu\" pulls in rayon"), "{sentence}");
        let sentence = wrong("cpu,parallel", cpu).unwrap();
        assert!(sentence.contains("does without rayon"), "{sentence}");
        assert_eq!(wrong("cpu", &format!("{cpu}\nrayon-like v1.0.0")), None);
        let sentence = wrong("cpu", &format!("{cpu}\negui-wgpu v0.37.0")).unwrap();
        assert!(sentence.contains("pulls in egui-wgpu"), "{sentence}");
    }
}
