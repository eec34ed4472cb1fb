//! Damaged input: cargo-fuzz where nightly Rust is, otherwise the tests that damage input from a seed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Step, python, release, run};

/// Targets, with the folders of their seeds; one without a folder writes its own seed.
const TARGETS: [(&str, &[&str]); 6] = [
    ("scenes", &["scenes", "tests/data"]),
    ("obj", &["scenes/meshes", "tests/data"]),
    ("stl", &["scenes/meshes"]),
    ("laws", &["scenes/laws", "tests/data"]),
    ("checkpoints", &[]),
    ("states", &[]),
];

/// Tries damaged input of each kind, for so many minutes together, besides what the builds take.
///
/// # Errors
/// With a sentence, if an input leads to a panic, takes too long or too much memory, or is refused without a sentence.
pub fn fuzz(minutes: &str) -> Result<(), String> {
    if !has_nightly() {
        eprintln!(
            "           without cargo-fuzz, which finds more but needs nightly Rust; `rustup toolchain install nightly` installs it"
        );
        return run(&seeded(minutes));
    }
    release::install("fuzz", &["install", "cargo-fuzz", "--locked"])?;
    let minutes: f64 = minutes.parse().map_err(|_| "no number".to_owned())?;
    let own = python::target().join("fuzz");
    for (name, seeds) in TARGETS {
        let [corpus, seed, failed] =
            ["corpus", "seed", "failed"].map(|part| own.join(part).join(name));
        for folder in [&corpus, &seed, &failed] {
            fs::create_dir_all(folder)
                .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
        }
        let seconds = (60.0 * minutes / TARGETS.len() as f64).ceil();
        let mut command = Command::new("rustup");
        command
            .args(["run", "nightly", "cargo", "fuzz", "run"])
            // The compiler checks the use of memory, and Miri that of unsafe code.
            .args(["--sanitizer", "none", "--codegen-units", "16"])
            .args(["--fuzz-dir", "tools/fuzz", "--target-dir"])
            .arg(own.join("target"))
            .arg(name)
            .args([&corpus, &seed])
            .args(seeds.iter().filter(|folder| Path::new(folder).is_dir()))
            .args(["--", "-print_final_stats=1", "-max_len=20000"])
            .args(["-timeout=60", "-rss_limit_mb=4096"])
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-artifact_prefix={}/", failed.display()))
            .env("ROCKFALL_FUZZ_SEED", &seed)
            .env("ROCKFALL_SIMD", "portable");
        match command.status() {
            Ok(status) if status.success() => {}
            _ => {
                return Err(format!(
                    "cargo-fuzz failed at what reads {name}; its report is above, and an input that leads to a fault is in {}",
                    failed.display()
                ));
            }
        }
    }
    Ok(())
}

fn has_nightly() -> bool {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "--version"]);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// The tests that damage input from a seed, as long as that.
fn seeded(minutes: &str) -> Step<'_> {
    Step {
        arguments: &[
            "test",
            "--release",
            "--test",
            "it",
            "--",
            "--ignored",
            "--nocapture",
            "damaged_input_for_minutes",
        ],
        variable: Some(("ROCKFALL_FUZZ_MINUTES", minutes)),
        remedy: "the message has the number of the input: the same number gives the same input",
    }
}
