//! `cargo xtask isa`: every compute pipeline of a step, as a production compiler compiles it, without its GPU.
//!
//! Mesa's driver for AMD's GPUs (RADV) can be opened for a family of GPUs without having one. wgpu loses such a device
//! when it opens it, so this program makes the pipelines itself, from the SPIR-V that wgpu would have naga write.

mod kept;
mod model;
mod pipelines;
mod radv;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use kept::{Family, Kept, Pipe};
use pipelines::{Buffers, Checks};

const HELP: &str = "\
Shows how Mesa's compiler for AMD's GPUs compiles each compute pipeline of a step.

Usage: cargo xtask isa [--write | --check] [--without CHECK] [--with CHECK]

  --write          Keeps the numbers in benches/results/isa, and writes the model's tables in docs/book/src/gpu.md.
  --check          Compares with the numbers that are kept, and prints what has become worse: a spill, a lost wave.
  --without CHECK  Leaves out a check that shaders make while they run: `indices`, `divisions`, `buffers` or `all`.
                   `contraction` instead rounds products and sums separately, which wgpu cannot ask for.
  --with CHECK     Adds a check: `loops` that each loop ends; `naga` has naga check the indices of buffers in place
                   of the driver, as on Metal and Direct3D.
  --help           Prints this.

Exit code: 0 if nothing is worse, 1 if something is, 2 if the arguments are wrong, 3 if the driver is missing or its
version differs from that of the numbers that are kept.
";

/// Families of GPUs: Radeon RX Vega 64, RX 5700 XT, RX 6900 XT and RX 7900 XTX.
const FAMILIES: [&str; 4] = ["vega10", "navi10", "navi21", "gfx1100"];

/// The exit code of a comparison that was not made.
const IGNORED: u8 = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["--help" | "-h"] => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        // A process for each family, for the driver reads the environment of its own.
        ["family", rest @ ..] => checks(rest).and_then(one_family),
        ["--write"] => write(),
        ["--check"] => match check() {
            Ok(code) => return code,
            Err(sentence) => Err(sentence),
        },
        rest => match checks(rest) {
            Ok(_) => show(rest),
            Err(sentence) => {
                eprintln!("error: {sentence}");
                return ExitCode::from(2);
            }
        },
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            ExitCode::from(IGNORED)
        }
    }
}

fn checks(arguments: &[&str]) -> Result<Checks, String> {
    let mut checks = Checks::OWN;
    for pair in arguments.chunks(2) {
        match pair {
            ["--without", "indices"] => checks.indices = false,
            ["--without", "divisions"] => checks.divisions = false,
            ["--without", "buffers"] => checks.buffers = Buffers::Nobody,
            ["--without", "all"] => {
                checks = Checks {
                    indices: false,
                    loops: false,
                    divisions: false,
                    buffers: Buffers::Nobody,
                    ..checks
                }
            }
            ["--without", "contraction"] => checks.contraction = false,
            ["--with", "loops"] => checks.loops = true,
            ["--with", "naga"] => checks.buffers = Buffers::Naga,
            _ => {
                return Err(format!(
                    "`{}` is not known (see `cargo xtask isa --help`)",
                    pair.join(" ")
                ));
            }
        }
    }
    Ok(checks)
}

/// Prints what the compiler makes of all pipelines for the family in the environment.
fn one_family(checks: Checks) -> Result<(), String> {
    let driver = radv::Driver::open(checks)?;
    let mut family = Family::default();
    for pipeline in pipelines::all(checks)? {
        let pipe = Pipe::of(&driver.compile(&pipeline)?)?;
        family.insert(pipeline.name, pipe);
    }
    let found = (driver.version.as_str(), &driver.gpu, family);
    println!(
        "{}",
        serde_json::to_string(&found).map_err(|error| error.to_string())?
    );
    Ok(())
}

/// Figures of all families, each in a process of its own.
fn all_families(arguments: &[&str]) -> Result<Kept, String> {
    let manifest = manifest().ok_or(
        "Mesa's driver for AMD's GPUs is not installed (Debian and Ubuntu: mesa-vulkan-drivers)",
    )?;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let started: Vec<_> = FAMILIES
        .iter()
        .map(|family| {
            Command::new(&own)
                .arg("family")
                .args(arguments)
                .env("VK_DRIVER_FILES", &manifest)
                .env("VK_ICD_FILENAMES", &manifest)
                .env("RADV_FORCE_FAMILY", family)
                .env("MESA_SHADER_CACHE_DISABLE", "true")
                // Of Mesa's, it would look for a display.
                .env("NODEVICE_SELECT", "1")
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
        })
        .collect();
    let mut kept = Kept::default();
    for (family, child) in FAMILIES.into_iter().zip(started) {
        let output = child.and_then(std::process::Child::wait_with_output);
        let output = output.map_err(|error| error.to_string())?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("for {family}: {}", why.trim()));
        }
        let (driver, _, pipes): (String, String, Family) =
            serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
        kept.driver = driver;
        kept.families.insert(family.to_owned(), pipes);
    }
    Ok(kept)
}

/// The manifest of the driver, where the loader looks for it.
fn manifest() -> Option<PathBuf> {
    let folders = ["/etc", "/usr/local/share", "/usr/share"];
    let files = folders.iter().filter_map(|folder| {
        let entries = Path::new(folder).join("vulkan/icd.d").read_dir().ok()?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        Some(files)
    });
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("radeon_icd") && name.ends_with(".json") && !name.contains("i686")
    };
    files.flatten().find(named)
}

fn write() -> Result<(), String> {
    let found = all_families(&[])?;
    found.write()?;
    model::write(&found)
}

fn show(arguments: &[&str]) -> Result<(), String> {
    let found = all_families(arguments)?;
    print!("{}", found.table(Kept::read().ok().as_ref()));
    Ok(())
}

/// Compares with what is kept.
fn check() -> Result<ExitCode, String> {
    let kept = Kept::read()?;
    let found = all_families(&[])?;
    if found.driver != kept.driver {
        return Err(format!(
            "the driver is {}, and benches/results/isa has what {} makes",
            found.driver, kept.driver
        ));
    }
    let worse = kept.worse(&found);
    for sentence in &worse {
        eprintln!("{sentence}");
    }
    if worse.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("if that is worth it, `cargo xtask isa --write` keeps the new numbers");
    Ok(ExitCode::FAILURE)
}
