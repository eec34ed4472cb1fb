//! `cargo xtask`: every check, test and build of Rockfall, on a machine that has only Rust.
//!
//! It has no dependencies, so that it starts within a second of a clean clone.

#![forbid(unsafe_code)]

mod apt;
mod book;
mod container;
mod display;
mod documents;
mod dxc;
mod features;
mod fuzz;
mod interface;
mod isa;
mod kernels;
mod mpi;
mod npm;
mod python;
mod release;
mod swiftshader;
mod tint;
mod tools;
mod vulkan;
mod wasm;
mod web;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Instant;

const HELP: &str = "\
Runs the checks, tests and builds of Rockfall.

Usage: cargo xtask test [--long | --web]
       cargo xtask python
       cargo xtask book [--out DIR]
       cargo xtask wheel
       cargo xtask release --out DIR
       cargo xtask container [--base IMAGE]
       cargo xtask package | semver | deny | oldest-rust | documents
       cargo xtask web --out DIR
       cargo xtask isa [--write | --check] [--without CHECK] [--with CHECK]
       cargo xtask validate
       cargo xtask fuzz [--minutes N]

  test      Checks format, lints and documentation, and runs every test, those of the GPU engine included.
            Stops at the first check that fails, but at no test that fails. It also
              - compiles every shader with Tint, Chromium's compiler, from npm's package `webgpu`;
              - runs the program on a cluster, with OpenMPI;
              - builds the handbook;
              - installs the Python package as a wheel, in an environment of its own, and tests it.
            What these need and the machine lacks, it installs on Debian and Ubuntu.
  --long    Runs `test`, then also
              - the slow physics tests, in release mode;
              - builds without threads, with AVX2 only, without vector instructions and for an emulated
                aarch64, which must give the same bits;
              - the tests of the library in its package for crates.io;
              - Miri over the unsafe code, if it is installed;
              - the GPU tests on SwiftShader, a second implementation of Vulkan, which Chromium brings;
              - the tests of the passes on OpenGL, if there is an adapter for it;
              - every shader through DXC, Microsoft's compiler, under Wine;
              - the tasks `release`, `oldest-rust`, `semver`, `deny` and `documents`;
              - the innermost loops of the CPU engine in a release, which must have all inlined;
              - the tests of the Python package, in release mode;
              - the tests of the tools in Python, with numpy, matplotlib, pandas, vtk, usd-core and trimesh.
  --web     Builds the page for browsers and tests it in Chromium, beside the program. Runs no other tests.
  python    Runs the tests of the Python package only.
  book      Builds the handbook as a site in target/book, or in DIR. Generates the reference of scenes from
            the JSON Schema.
  wheel     Builds the wheel of the Python package for this platform, in target/wheels.
  release   Builds the files of a release in DIR: an archive of the program with its scenes, manual pages and
            completions, and on Debian and Ubuntu a package.
  container Builds the image `rockfall` of a container from that package, with podman or docker. It
            starts from IMAGE, or else from the image of the system that runs this.
  package   Builds the packages for crates.io from their own files alone, and runs the library's tests there.
  semver    Compares the library's interface with that of the last release.
  deny      Checks the dependencies against deny.toml: licences, sources, known vulnerabilities.
  oldest-rust
            Checks that everything builds with the oldest Rust that Cargo.toml names.
  documents Runs the commands of the documents that build Rockfall: with MPI, for Python, to install it.
  web       Builds the page for browsers in DIR, which is also a package for npm. Prints the size of its module.
  isa       Shows how Mesa's compiler for AMD's GPUs compiles each pipeline of a step: registers, spills,
            waves, cycles. It needs no GPU. `--write` keeps the numbers in benches/results/isa; `test`
            compares with them, as `--check` does.
  validate  Runs all physics tests, the slow ones included, in release mode. Writes the results to
            docs/book/src/validation.md.
  fuzz      Damages scenes, meshes, laws, checkpoints and states for N minutes (10): with cargo-fuzz, which looks
            for ways through the code, if nightly Rust is installed, otherwise at random, in release mode.
            Prints how many of each it tried.
  --help    Prints this.

The GPU tests run on a real GPU if there is one, otherwise on Mesa's software Vulkan driver. On Debian and
Ubuntu, this command installs that driver if it runs as root or if `sudo` asks for no password. To choose an
adapter, set ROCKFALL_TEST_ADAPTER to a part of its name:

  ROCKFALL_TEST_ADAPTER=llvmpipe cargo xtask test

Exit code: 0 if everything passes, 1 if a check fails, 2 if the arguments are wrong.
";

const TASKS: &str = "`test`, `python`, `book`, `wheel`, `release`, `container`, `package`, `semver`, `deny`, `oldest-rust`, \
                     `documents`, `web`, `isa`, `validate` and `fuzz`";

#[derive(Debug, PartialEq)]
enum Task {
    Help,
    Test { long: bool },
    Python,
    Book { out: Option<String> },
    TestWeb,
    Wheel,
    Release { out: String },
    Container { base: Option<String> },
    Package,
    Semver,
    Deny,
    OldestRust,
    Documents,
    Web { out: String },
    Isa { arguments: Vec<String> },
    Validate,
    Fuzz { minutes: String },
}

/// A cargo command that must succeed.
#[derive(Debug, PartialEq)]
struct Step<'a> {
    arguments: &'a [&'a str],
    variable: Option<(&'a str, &'a str)>,
    /// Advice after a failure.
    remedy: &'a str,
}

const CHECKS: [Step; 3] = [
    Step {
        arguments: &["fmt", "--all", "--check"],
        variable: None,
        remedy: "`cargo fmt --all` formats the code",
    },
    Step {
        arguments: &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        variable: None,
        remedy: "each warning above names its place and what to change",
    },
    Step {
        arguments: &["doc", "--workspace", "--no-deps"],
        variable: Some(("RUSTDOCFLAGS", "-D warnings")),
        remedy: "each warning above names its place and what to change",
    },
];

const TESTS: Step = Step {
    arguments: &["test", "--workspace", "--no-fail-fast"],
    variable: None,
    remedy: "the failing tests are listed above",
};

/// One test at a time, for some are timed.
const LONG: Step = Step {
    arguments: &[
        "test",
        "--workspace",
        "--release",
        "--no-fail-fast",
        "--",
        "--ignored",
        "--test-threads=1",
    ],
    variable: None,
    remedy: "the failing tests are listed above",
};

const VALIDATE: Step = Step {
    arguments: &[
        "test",
        "--release",
        "--test",
        "validation",
        "--no-fail-fast",
        "--",
        "--include-ignored",
    ],
    variable: Some(("ROCKFALL_WRITE_VALIDATION", "1")),
    remedy: "the table has been written; the failing tests are listed above",
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let (outcome, code) = match parse(&arguments) {
        Ok(Task::Help) => {
            print!("{HELP}");
            (Ok(()), 0)
        }
        Ok(Task::Test { long }) => (test(long), 1),
        Ok(Task::Python) => (python::test_package(false), 1),
        Ok(Task::Book { out }) => (book::build(out.as_deref().map(Path::new)), 1),
        Ok(Task::TestWeb) => (web::test(), 1),
        Ok(Task::Wheel) => (wheel(), 1),
        Ok(Task::Release { out }) => (release::files(out.as_ref()), 1),
        Ok(Task::Container { base }) => (container::build(base.as_deref()), 1),
        Ok(Task::Package) => (release::package(), 1),
        Ok(Task::Semver) => (release::semver(), 1),
        Ok(Task::Deny) => (release::deny(), 1),
        Ok(Task::OldestRust) => (release::oldest_rust(), 1),
        Ok(Task::Documents) => (documents::run_commands(), 1),
        Ok(Task::Web { out }) => (web::build(out.as_ref()), 1),
        Ok(Task::Isa { arguments }) => (isa::run(&arguments), 1),
        Ok(Task::Validate) => (validate(), 1),
        Ok(Task::Fuzz { minutes }) => (fuzz::fuzz(&minutes), 1),
        Err(sentence) => (Err(sentence), 2),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            ExitCode::from(code)
        }
    }
}

fn parse(arguments: &[String]) -> Result<Task, String> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if arguments.iter().any(|&a| a == "--help" || a == "-h") {
        return Ok(Task::Help);
    }
    match arguments.as_slice() {
        ["test"] => Ok(Task::Test { long: false }),
        ["test", "--long"] => Ok(Task::Test { long: true }),
        ["test", "--web"] => Ok(Task::TestWeb),
        ["python"] => Ok(Task::Python),
        ["book"] => Ok(Task::Book { out: None }),
        ["book", "--out", out] => Ok(Task::Book {
            out: Some((*out).to_owned()),
        }),
        ["book", ..] => {
            Err("`book` takes at most `--out` and a folder (see `cargo xtask --help`)".to_owned())
        }
        ["wheel"] => Ok(Task::Wheel),
        ["release", "--out", out] => Ok(Task::Release {
            out: (*out).to_owned(),
        }),
        ["release", ..] => {
            Err("`release` takes `--out` and a folder (see `cargo xtask --help`)".to_owned())
        }
        ["container"] => Ok(Task::Container { base: None }),
        ["container", "--base", base] => Ok(Task::Container {
            base: Some((*base).to_owned()),
        }),
        ["container", ..] => Err(
            "`container` takes at most `--base` and an image (see `cargo xtask --help`)".to_owned(),
        ),
        ["package"] => Ok(Task::Package),
        ["semver"] => Ok(Task::Semver),
        ["deny"] => Ok(Task::Deny),
        ["oldest-rust"] => Ok(Task::OldestRust),
        ["documents"] => Ok(Task::Documents),
        ["web", "--out", out] => Ok(Task::Web {
            out: (*out).to_owned(),
        }),
        ["web", ..] => {
            Err("`web` takes `--out` and a folder (see `cargo xtask --help`)".to_owned())
        }
        ["isa", rest @ ..] => Ok(Task::Isa {
            arguments: rest.iter().map(|&word| word.to_owned()).collect(),
        }),
        ["validate"] => Ok(Task::Validate),
        ["fuzz"] => Ok(Task::Fuzz {
            minutes: "10".to_owned(),
        }),
        ["fuzz", "--minutes", minutes] if minutes.parse().is_ok_and(|n: f64| n > 0.0) => {
            Ok(Task::Fuzz {
                minutes: (*minutes).to_owned(),
            })
        }
        ["fuzz", ..] => Err(
            "`fuzz` takes `--minutes` and a number above 0 (see `cargo xtask --help`)".to_owned(),
        ),
        [] => Err(format!("no task given; there are {TASKS}")),
        ["test", other, ..] => Err(format!(
            "`test` does not take `{other}`; it takes at most one of `--long` and `--web` (see `cargo xtask --help`)"
        )),
        [
            task @ ("python" | "wheel" | "package" | "semver" | "deny" | "oldest-rust"
            | "documents" | "validate"),
            other,
            ..,
        ] => Err(format!(
            "`{task}` does not take `{other}`; it takes no arguments (see `cargo xtask --help`)"
        )),
        [other, ..] => Err(format!("there is no task `{other}`; there are {TASKS}")),
    }
}

fn test(long: bool) -> Result<(), String> {
    let start = Instant::now();
    let announce = |what: &str| eprintln!("[{:6.1} s] {what}", start.elapsed().as_secs_f64());
    announce("an adapter for the GPU tests");
    vulkan::provide()?;
    announce("a display for the tests of the window, and ffmpeg");
    display::provide()?;
    announce("rustfmt and clippy");
    tools::provide()?;
    let ahead = Ahead::start();
    features::check(announce)?;
    wasm::check(announce)?;
    for step in &CHECKS {
        announce(&step.to_string());
        check(step)?;
    }
    announce("the items that the documentation of the library shows");
    interface::check()?;
    ahead.finish();
    let mut failures = Failures::default();
    let mut attempt = |what: &str, outcome: &dyn Fn() -> Result<(), String>| {
        announce(what);
        failures.note(outcome());
    };
    attempt(&TESTS.to_string(), &|| run(&TESTS));
    attempt("every shader, by Tint", &tint::check);
    attempt(
        "runs on a cluster, by the program built with MPI",
        &mpi::test,
    );
    if python::is_there() {
        attempt("the handbook", &|| book::build(None));
        attempt(
            "the package for Python, as a wheel that is installed",
            &|| python::test_package(false),
        );
    } else {
        ignored("the handbook and the tests of the package", python::REMEDY);
    }
    if long {
        let [avx2, portable] = features::SAME_BITS_ON_OTHERS;
        for step in [features::SAME_BITS, avx2, portable, LONG] {
            attempt(&step.to_string(), &|| run(&step));
        }
        attempt(
            "the packages for crates.io, and their tests",
            &release::package,
        );
        match features::lacks_aarch64() {
            None => attempt(&features::SAME_BITS_ON_AARCH64.to_string(), &|| {
                run(&features::SAME_BITS_ON_AARCH64)
            }),
            Some(remedy) => ignored("the bits of an aarch64", remedy),
        }
        attempt("the tests of unsafe code, in Miri", &features::miri);
        attempt(
            "the GPU tests on a second implementation of Vulkan, SwiftShader",
            &swiftshader::test,
        );
        attempt(
            "the tests of the passes on OpenGL",
            &swiftshader::test_open_gl,
        );
        attempt("every shader for Direct3D 12, by DXC", &dxc::check);
        attempt("the files of a release", &|| {
            release::files(&python::target().join("files"))
        });
        attempt(
            "the loops of the CPU engine, as the release has them",
            &kernels::check,
        );
        attempt("the oldest Rust", &release::oldest_rust);
        attempt(
            "the interface, compared with that of the last release",
            &release::semver,
        );
        attempt(
            "the dependencies, checked against deny.toml",
            &release::deny,
        );
        attempt("the package for Python, in release mode", &|| {
            python::test_package(true)
        });
        attempt(
            "the tools in Python, and files of runs as numpy, pandas and vtk read them",
            &python::test,
        );
        attempt(
            "commands of the documents that build Rockfall",
            &documents::run_commands,
        );
    }
    failures.outcome()
}

/// The steps that have failed so far: none of them keeps a later one from running.
#[derive(Default)]
struct Failures(Vec<String>);

impl Failures {
    fn note(&mut self, outcome: Result<(), String>) {
        if let Err(sentence) = outcome {
            eprintln!("error: {sentence}");
            self.0.push(sentence);
        }
    }

    /// An error that repeats all of them.
    fn outcome(self) -> Result<(), String> {
        match self.0.as_slice() {
            [] => Ok(()),
            [only] => Err(only.clone()),
            several => Err(format!(
                "{} steps failed:\n  {}",
                several.len(),
                several.join("\n  ")
            )),
        }
    }
}

/// Says which step is not run, and what would let it.
fn ignored(what: &str, remedy: &str) {
    eprintln!("           ignored: {what}; {remedy}");
}

fn wheel() -> Result<(), String> {
    let wheel = python::wheel()?;
    println!("{}", wheel.display());
    Ok(())
}

fn validate() -> Result<(), String> {
    vulkan::provide()?;
    run(&VALIDATE)
}

impl std::fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        if let Some((name, value)) = self.variable {
            write!(f, "{name}=\"{value}\" ")?;
        }
        write!(f, "cargo {}", self.arguments.join(" "))
    }
}

fn run(step: &Step) -> Result<(), String> {
    let mut command = cargo(step.arguments);
    command.envs(step.variable).envs(llvmpipe());
    outcome(step, command.status())
}

/// Runs a step that compiles no program. It has a target folder of its own, for another cargo builds the tests meanwhile.
fn check(step: &Step) -> Result<(), String> {
    let mut command = cargo(step.arguments);
    command.envs(step.variable).env(python::TARGET, checks());
    outcome(step, command.status())
}

/// Target folder of the checks.
fn checks() -> PathBuf {
    python::target().join("checks")
}

/// A cargo that builds the tests beside the checks: those use one core most of the time, and the last crates of a build do, too.
struct Ahead(Option<Child>);

impl Ahead {
    /// Starts the build, in silence: the tests name what does not compile.
    fn start() -> Ahead {
        let mut build = cargo(TESTS.arguments);
        build.args(["--no-run", "--quiet"]);
        let build = build.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Ahead(build.ok())
    }

    /// Waits until the build has ended.
    fn finish(mut self) {
        if let Some(mut build) = self.0.take() {
            let _ = build.wait();
        }
    }
}

/// Ends the build where a check has failed.
impl Drop for Ahead {
    fn drop(&mut self) {
        if let Some(build) = &mut self.0 {
            let _ = build.kill();
            let _ = build.wait();
        }
    }
}

/// A variable for llvmpipe, a software adapter: no threads beside the one that hands it its work. Each test has a device of
/// its own, and most have few bodies: several tests at a time use all cores, where such threads would wait for one another
/// (five times as long, measured on two cores).
fn llvmpipe() -> Option<(&'static str, &'static str)> {
    const NAME: &str = "LP_NUM_THREADS";
    std::env::var_os(NAME).is_none().then_some((NAME, "0"))
}

fn outcome(step: &Step, status: io::Result<ExitStatus>) -> Result<(), String> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{step}` failed ({status}); {}", step.remedy)),
        Err(error) => Err(format!("`{step}` does not start: {error}")),
    }
}

/// The cargo that runs this, so that a chosen toolchain stays chosen.
fn cargo(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    // A first build has nothing to reuse, and takes a fifth longer if it keeps what a later one could.
    static IS_FIRST: OnceLock<bool> = OnceLock::new();
    let is_first = *IS_FIRST.get_or_init(|| !python::program("debug").exists());
    if is_first && std::env::var_os(INCREMENTAL).is_none() {
        command.env(INCREMENTAL, "0");
    }
    command
}

/// Whether a build keeps what a later one can reuse.
const INCREMENTAL: &str = "CARGO_INCREMENTAL";

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Task, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn arguments_are_understood() {
        assert_eq!(parsed("test"), Ok(Task::Test { long: false }));
        assert_eq!(parsed("test --long"), Ok(Task::Test { long: true }));
        assert_eq!(parsed("python"), Ok(Task::Python));
        assert_eq!(parsed("wheel"), Ok(Task::Wheel));
        assert_eq!(parsed("book"), Ok(Task::Book { out: None }));
        assert_eq!(parsed("test --web"), Ok(Task::TestWeb));
        let out = "folder".to_owned();
        assert_eq!(parsed("web --out folder"), Ok(Task::Web { out }));
        assert!(parsed("web").unwrap_err().contains("`--out`"));
        let out = "folder".to_owned();
        assert_eq!(parsed("release --out folder"), Ok(Task::Release { out }));
        assert!(parsed("release").unwrap_err().contains("`--out`"));
        assert_eq!(parsed("container"), Ok(Task::Container { base: None }));
        let base = Some("debian".to_owned());
        assert_eq!(
            parsed("container --base debian"),
            Ok(Task::Container { base })
        );
        assert!(
            parsed("container --out x")
                .unwrap_err()
                .contains("`--base`")
        );
        assert_eq!(parsed("oldest-rust"), Ok(Task::OldestRust));
        assert_eq!(parsed("validate"), Ok(Task::Validate));
        let arguments = vec!["--write".to_owned()];
        assert_eq!(parsed("isa --write"), Ok(Task::Isa { arguments }));
        let fuzz = |minutes: &str| {
            Ok(Task::Fuzz {
                minutes: minutes.to_owned(),
            })
        };
        assert_eq!(parsed("fuzz"), fuzz("10"));
        assert_eq!(parsed("fuzz --minutes 0.5"), fuzz("0.5"));
        assert!(parsed("fuzz --minutes 0").unwrap_err().contains("above 0"));
        assert_eq!(parsed("--help"), Ok(Task::Help));
        assert_eq!(parsed("test --long -h"), Ok(Task::Help));
    }

    /// No job runs a command of Cargo's that a contributor cannot run.
    #[test]
    fn workflows_run_tasks() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.github/workflows");
        let mut tasks = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let commands = text.lines().filter_map(|line| line.split_once("run: "));
            for (_, command) in commands.filter(|(_, command)| !command.starts_with("tar ")) {
                let task = command.strip_prefix("cargo xtask ").map(parsed);
                assert!(matches!(task, Some(Ok(_))), "{command}: {task:?}");
                tasks += 1;
            }
        }
        assert!(tasks > 8, "{tasks}");
    }

    /// Each `cargo xtask` that a document names is a task.
    #[test]
    fn documents_name_tasks() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut open = vec![root.join("docs")];
        let mut texts = Vec::new();
        for name in [
            "README.md",
            "CONTRIBUTING.md",
            "ARCHITECTURE.md",
            "CHANGELOG.md",
        ] {
            texts.push(root.join(name));
        }
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => open.push(path),
                    false if path.extension().is_some_and(|ending| ending == "md") => {
                        texts.push(path)
                    }
                    false => (),
                }
            }
        }
        let mut tasks = 0;
        for path in texts {
            let text = std::fs::read_to_string(&path).unwrap();
            for rest in text.split("cargo xtask ").skip(1) {
                let task = rest.split(['`', '\n', '#', ';']).next().unwrap().trim();
                // A number that the reader chooses.
                let task = task.replace(" N", " 1");
                // A task may be named without its arguments.
                let is_named = |sentence: String| {
                    !task.contains(' ') && sentence.starts_with(&format!("`{task}` takes"))
                };
                assert!(
                    parsed(&task).map_or_else(is_named, |_| true),
                    "{}: {task}",
                    path.display()
                );
                tasks += 1;
            }
        }
        assert!(tasks > 40, "{tasks}");
    }

    #[test]
    fn wrong_arguments_are_named() {
        assert!(parsed("").unwrap_err().contains("`test`"));
        assert!(parsed("validate --long").unwrap_err().contains("`--long`"));
        assert!(parsed("tset").unwrap_err().contains("`tset`"));
        assert!(parsed("test --lnog").unwrap_err().contains("`--lnog`"));
    }

    #[test]
    fn steps_that_fail_are_named_at_the_end() {
        let failed = |sentences: &[&str]| {
            let mut failures = Failures::default();
            for &sentence in sentences {
                failures.note(Err(sentence.to_owned()));
                failures.note(Ok(()));
            }
            failures.outcome()
        };
        assert_eq!(failed(&[]), Ok(()));
        assert_eq!(failed(&["`a` failed"]), Err("`a` failed".to_owned()));
        let both = "2 steps failed:\n  `a` failed\n  `b` failed";
        assert_eq!(failed(&["`a` failed", "`b` failed"]), Err(both.to_owned()));
    }

    #[test]
    fn a_failing_step_is_an_error_that_quotes_it() {
        let step = &CHECKS[2];
        let status = |arguments: &[&str]| {
            let mut command = cargo(arguments);
            command.stdout(Stdio::null()).stderr(Stdio::null()).status()
        };
        let sentence = outcome(step, status(&["no-such-subcommand"])).unwrap_err();
        let quoted = "`RUSTDOCFLAGS=\"-D warnings\" cargo doc --workspace --no-deps` failed";
        assert!(sentence.starts_with(quoted), "{sentence}");
        assert!(sentence.ends_with(step.remedy), "{sentence}");
        assert_eq!(outcome(step, status(&["--version"])), Ok(()));
    }
}
