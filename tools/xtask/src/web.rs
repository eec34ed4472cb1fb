//! `cargo xtask web`: the page that runs Rockfall in a browser, and its tests in Chromium.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::apt::{self, Privilege};
use crate::{Step, npm, python, release, run, tint, wasm};

const BUILD: Step = Step {
    arguments: &[
        "build",
        "--package",
        "rockfall-web",
        "--lib",
        "--profile",
        "web",
        "--target",
        wasm::TARGET,
    ],
    variable: None,
    remedy: "the viewer may use only what a browser has",
};

/// Largest size of the module, MB: as it is, and compressed by brotli, which every browser with WebGPU accepts.
const MOST: [f64; 2] = [4.0, 1.5];

/// The optimiser of modules, a package of npm.
const OPTIMISER: &str = "binaryen@132.0.0";

/// A script for Node, which prints the size of a file under brotli.
const BROTLI: &str = "console.log(require('zlib').brotliCompressSync(require('fs').readFileSync(process.argv[1])).length)";

/// Python packages that the tests of the page need.
const REQUIREMENTS: &str = "web/tests/requirements.txt";

/// Builds the page into a folder, which any server of files can offer.
///
/// # Errors
/// If it does not build, is too large, or the folder cannot be written.
pub fn build(out: &Path) -> Result<(), String> {
    wasm::provide()?;
    run(&BUILD)?;
    let unwritten = |path: &Path, error| format!("{} cannot be written: {error}", path.display());
    fs::create_dir_all(out).map_err(|error| unwritten(out, error))?;
    let module = python::target()
        .join(wasm::TARGET)
        .join("web/rockfall_web.wasm");
    let bindings = ["run", "--quiet", "--package", "rockfall-web"];
    let mut bindings = crate::cargo(bindings);
    bindings.args(["--features", "bindings", "--bin", "bindings", "--"]);
    python::succeed(bindings.arg(&module).arg(out))?;
    for (from, to) in [
        ("web/page", ""),
        ("web/page/pictures", "pictures"),
        ("scenes", "scenes"),
        ("scenes/laws", "scenes/laws"),
        ("scenes/meshes", "scenes/meshes"),
    ] {
        let to = out.join(to);
        python::copy_files(Path::new(from), &to).map_err(|error| unwritten(&to, error))?;
    }
    let package = out.join("package.json");
    let version = release::manifest("version")?;
    number(&package, &version).map_err(|error| unwritten(&package, error))?;
    let module = out.join("rockfall_web_bg.wasm");
    optimise(&module)?;
    weigh(&module)?;
    println!("{}", out.display());
    Ok(())
}

/// Gives a package for npm the version of the library.
fn number(package: &Path, version: &str) -> std::io::Result<()> {
    let unnumbered = fs::read_to_string(package)?;
    fs::write(
        package,
        unnumbered.replace("\"0.0.0\"", &format!("{version:?}")),
    )
}

/// Makes the module a fifteenth smaller, where Node is there.
fn optimise(module: &Path) -> Result<(), String> {
    let Some(binaryen) = npm::package(OPTIMISER) else {
        eprintln!(
            "           ignored: wasm-opt, which makes the module smaller; npm's package `{OPTIMISER}` needs Node and npm"
        );
        return Ok(());
    };
    let mut node = Command::new("node");
    node.arg(binaryen.join("bin/wasm-opt"));
    python::succeed(node.arg("-Oz").arg(module).arg("-o").arg(module))
}

/// Prints how large the module is.
///
/// # Errors
/// If it is larger than it may be.
fn weigh(module: &Path) -> Result<(), String> {
    let megabytes = |bytes: usize| bytes as f64 / 1e6;
    let bytes = fs::read(module).map_err(|error| format!("{}: {error}", module.display()))?;
    let plain = megabytes(bytes.len());
    let path = module.to_string_lossy();
    let packed = apt::output("node", &["-e", BROTLI, &path])
        .and_then(|said| said.trim().parse().ok())
        .map(megabytes);
    match packed {
        Some(packed) => {
            eprintln!("           the module has {plain:.2} MB, compressed {packed:.2} MB")
        }
        None => {
            eprintln!("           the module has {plain:.2} MB; there is no Node to compress it")
        }
    }
    if plain > MOST[0] || packed.is_some_and(|packed| packed > MOST[1]) {
        return Err(format!(
            "the module is larger than {} MB, or than {} MB compressed: `cargo tree --package rockfall-web --target {}` \
             shows what is in it",
            MOST[0],
            MOST[1],
            wasm::TARGET
        ));
    }
    Ok(())
}

/// Builds the page, and tests it in Chromium beside the program, and in Firefox where that is installed.
///
/// # Errors
/// If a test fails, or there is no Chromium.
pub fn test() -> Result<(), String> {
    let out = python::target().join("pages");
    build(&out)?;
    let browser = chromium().ok_or_else(|| {
        "the page cannot be tested without Chromium; install it (on Debian and Ubuntu: sudo apt-get install chromium)"
            .to_owned()
    })?;
    let mut program = crate::cargo(["build", "--quiet", "--release", "--bin", "rockfall"]);
    python::succeed(&mut program)?;
    let shaders = tint::put_down()?;
    let python = python::provide("page", REQUIREMENTS)?;
    let mut tests = Command::new(python);
    tests
        .args(["-m", "unittest", "--verbose", "test_page", "test_firefox"])
        .current_dir("web/tests")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("ROCKFALL", python::program("release"))
        .env("ROCKFALL_CHROMIUM", browser)
        .env("ROCKFALL_SHADERS", shaders)
        .env("ROCKFALL_PAGE", out);
    match found(&["firefox", "firefox-esr"]) {
        Some(firefox) => tests.env("ROCKFALL_FIREFOX", firefox),
        None => tests.env_remove("ROCKFALL_FIREFOX"),
    };
    python::succeed(&mut tests)
}

/// The first of some programs that there is.
fn found(names: &[&str]) -> Option<PathBuf> {
    let answers = |name: &&&str| apt::output(name, &["--version"]).is_some();
    names.iter().find(answers).map(PathBuf::from)
}

/// The browser; where it is missing, it is installed if that can be done without asking.
fn chromium() -> Option<PathBuf> {
    let there = || found(&["chromium", "chromium-browser", "google-chrome"]);
    let privilege = Privilege::gather();
    if there().is_none() && apt::exists() && privilege != Privilege::None {
        apt::install(privilege == Privilege::Sudo, &["chromium"]);
    }
    there()
}
