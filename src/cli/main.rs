//! The command line of Rockfall: an outline over the library of the same name.

mod adapters;
mod bench;
mod check;
mod compare;
mod failure;
mod interrupts;
mod log;
#[cfg(feature = "render")]
mod picture;
mod progress;
#[cfg(feature = "render")]
mod render;
mod run;
mod schema;
mod table;
mod terminal;
#[cfg(feature = "view")]
mod view;

use std::env;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, Parser, Subcommand, ValueEnum};
use rockfall::scene::{self, Inside, Scene, SceneError};
use rockfall::simulation::{Backend, Options, Precision};

use failure::{Failure, Outcome};

fn main() -> ExitCode {
    quiet_mesa();
    let arguments = Arguments::parse();
    log::start(arguments.verbose);
    ALLOW_OUTSIDE.store(arguments.allow_outside, Ordering::Relaxed);
    terminal::be_quiet(arguments.quiet);
    let outcome = match arguments.command {
        Command::Run(arguments) => run::run(&arguments),
        #[cfg(feature = "view")]
        Command::View(arguments) => view::run(&arguments),
        #[cfg(feature = "render")]
        Command::Render(arguments) => render::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Adapters(arguments) => adapters::run(&arguments),
    };
    failure::exit_code(outcome)
}

/// Simulates massive piles of rigid bodies by the discrete element method, on any GPU or on the
/// CPU.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    /// Say more of what goes on: -v what is done, -vv in detail, -vvv everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,

    /// Say nothing but results and what is wrong: no warnings, no notes, no progress
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Let scenes read files that lie outside of their own folders
    #[arg(long, global = true)]
    pub allow_outside: bool,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  rockfall run pile.json                 run a scene on the GPU, or on the CPU without one
  rockfall run pile.json --steps 1000    run only 1000 steps of it
  rockfall view pile.json                watch it in a window
  rockfall render pile.json --out frames make pictures of it
  rockfall bench                         measure how fast this machine is
  rockfall compare pile.json             hold the GPU against the CPU
  rockfall check pile.json               see whether a scene is right
  rockfall adapters                      see which GPUs there are

Exit codes:
  0  all went well
  1  the run failed, or `compare` found a difference
  2  the arguments or the scene are wrong
  130  the run was stopped by Ctrl-C, and can go on";

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Box<run::Arguments>),
    #[cfg(feature = "view")]
    View(view::Arguments),
    #[cfg(feature = "render")]
    Render(render::Arguments),
    Bench(bench::Arguments),
    Compare(compare::Arguments),
    Check(check::Arguments),
    Schema(schema::Arguments),
    Adapters(adapters::Arguments),
}

/// Which engine a command uses.
#[derive(Clone, Debug, Args)]
pub struct EngineArguments {
    /// The engine
    #[arg(long, value_enum, default_value_t = BackendName::Auto)]
    pub backend: BackendName,

    /// How precisely the reference reckons [default: single]
    #[arg(long, value_enum, value_name = "PRECISION")]
    pub precision: Option<PrecisionName>,

    /// Use the GPU adapter whose description contains TEXT (`rockfall adapters` lists them); a
    /// software adapter is used only if it is named so
    #[arg(long, value_name = "TEXT")]
    pub adapter: Option<String>,

    /// Threads of the CPU engine; the result does not depend on them [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
}

/// An engine, as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// A real GPU if there is one, else the CPU
    Auto,
    /// A GPU
    Gpu,
    /// The CPU
    Cpu,
    /// The CPU, by the plain code that the others are held to: one thread, slow
    Reference,
}

/// A precision, as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PrecisionName {
    /// That of the other engines
    Single,
    /// Steps in 64 bits; what is written is rounded to 32
    Double,
}

impl EngineArguments {
    /// The backend's name on the command line.
    fn name(&self) -> String {
        let name = self.backend.to_possible_value();
        name.map_or_else(String::new, |name| name.get_name().to_owned())
    }

    /// What the library makes a simulation with.
    ///
    /// # Errors
    /// If the arguments contradict each other.
    pub fn options(&self) -> Outcome<Options> {
        let backend = match self.backend {
            BackendName::Auto => Backend::Auto,
            BackendName::Gpu => Backend::Gpu,
            BackendName::Cpu => Backend::Cpu,
            BackendName::Reference => Backend::Reference(match self.precision {
                Some(PrecisionName::Double) => Precision::Double,
                Some(PrecisionName::Single) | None => Precision::Single,
            }),
        };
        let on_host = matches!(backend, Backend::Cpu | Backend::Reference(_));
        if on_host && self.adapter.is_some() {
            return Err(Failure::Usage(format!(
                "--adapter names a GPU, and --backend {} uses none; leave one of them out",
                self.name()
            )));
        }
        let one_thread = matches!(backend, Backend::Gpu | Backend::Reference(_));
        if one_thread && self.threads.is_some() {
            return Err(Failure::Usage(format!(
                "--threads is for the CPU engine, and --backend {} does not use it; leave one of \
                 them out",
                self.name()
            )));
        }
        if self.precision == Some(PrecisionName::Double) && self.backend != BackendName::Reference {
            return Err(Failure::Usage(format!(
                "--precision double is for the reference, and --backend {} has single precision \
                 only; add --backend reference",
                self.name()
            )));
        }
        Ok(Options {
            backend,
            adapter: self.adapter.clone(),
            threads: self.threads.map(usize::from),
        })
    }
}

/// Whether scenes may read files that lie outside of their own folders.
static ALLOW_OUTSIDE: AtomicBool = AtomicBool::new(false);

/// Loads a scene.
pub fn load(path: &Path) -> Outcome<Scene> {
    try_load(path).map_err(Failure::Scene)
}

/// The same, for those who go on with other scenes.
pub fn try_load(path: &Path) -> Result<Scene, SceneError> {
    match ALLOW_OUTSIDE.load(Ordering::Relaxed) {
        true => scene::load(path),
        false => scene::load_with(path, &Inside::of(path)),
    }
}

/// Keeps Mesa from complaining on standard error that there is no display: its layer that puts the
/// GPU of the display first asks for one. Without a display there is none to put first.
///
/// Call it before anything else: it changes the environment, which no other thread may read then.
pub fn quiet_mesa() {
    let is_set = |name: &str| env::var_os(name).is_some();
    if !is_set("XDG_RUNTIME_DIR") && !is_set("MESA_VK_DEVICE_SELECT") {
        // SAFETY: the program has only this thread yet.
        unsafe { env::set_var("NODEVICE_SELECT", "1") };
    }
}
