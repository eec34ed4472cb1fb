//! The command line of Rockfall, over the library of the same name.

#![deny(unsafe_code)]

mod adapters;
mod bench;
mod check;
#[allow(unsafe_code)]
mod cluster;
mod compare;
mod export;
mod failure;
mod interrupts;
mod log;
mod measure;
mod new;
mod next;
#[cfg(feature = "render")]
mod picture;
mod progress;
#[cfg(feature = "render")]
mod render;
mod run;
mod schema;
mod shell;
mod sweep;
mod table;
mod terminal;
#[cfg(feature = "view")]
mod view;

use std::env;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, OnceLock};

use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use rockfall::Simulation;
use rockfall::model::{ContactModel, Model};
use rockfall::output::{KeptRun, RunFolder};
use rockfall::scene::{self, Change, Disk, Files, Inside, Scene, SceneError};
use rockfall::simulation::{Backend, Cluster, Options, Precision};

use failure::{Failure, Outcome};
use progress::Waiting;

fn main() -> ExitCode {
    quiet_mesa();
    match cluster::join() {
        Ok(Some(role)) => {
            if let Some(cluster) = role.cluster() {
                let _ = CLUSTER.set(cluster);
            }
            let code = act();
            role.end();
            code
        }
        Ok(None) => ExitCode::SUCCESS,
        Err(failure) => failure::exit_code(Err(failure)),
    }
}

/// Does what the arguments say.
fn act() -> ExitCode {
    let matches = Arguments::command().color(color_of_help());
    let matches = matches.try_get_matches();
    let arguments = match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Who has closed the stream does not want to be told.
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    terminal::colour(arguments.color);
    log::start(arguments.verbose);
    ALLOW_OUTSIDE.store(arguments.allow_outside, Ordering::Relaxed);
    terminal::be_quiet(arguments.quiet);
    let outcome = match arguments.command {
        None => greet(),
        Some(command) => run(command),
    };
    failure::exit_code(outcome)
}

/// The ranks of a cluster to run on.
static CLUSTER: OnceLock<Cluster> = OnceLock::new();

fn run(command: Command) -> Outcome {
    if CLUSTER.get().is_some() && !command.runs_on_cluster() {
        return Err(Failure::Usage(
            "mpirun is for `rockfall run` and `rockfall bench`; start this command without it"
                .to_owned(),
        ));
    }
    match command {
        Command::New(arguments) => new::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        #[cfg(feature = "view")]
        Command::View(arguments) => view::run(&arguments),
        #[cfg(feature = "render")]
        Command::Render(arguments) => render::run(&arguments),
        Command::Measure(arguments) => measure::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Completions(arguments) => shell::completions(&arguments),
        Command::Man(arguments) => shell::man(&arguments),
        Command::Adapters(arguments) => adapters::run(&arguments),
    }
}

/// Prints how to start, if no command is given.
fn greet() -> Outcome {
    let heap = Path::new("heap.json");
    let show = next::show(heap);
    terminal::print(format_args!(
        "Rockfall simulates piles of rigid bodies with the discrete element method.

  {:<28} writes a first scene, heap.json
  {:<28} runs it
  {show:<28} shows it

`rockfall --help` lists all commands.",
        "rockfall new heap", "rockfall run heap.json"
    ))
}

/// Simulate piles of rigid bodies with the discrete element method, on a GPU or on the CPU
#[derive(Debug, Parser)]
#[command(name = "rockfall", version, long_version = VERSION.as_str(), after_help = EXAMPLES)]
pub struct Arguments {
    /// Print more: -v the main steps, -vv details, -vvv everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count, display_order = 900)]
    pub verbose: u8,

    /// Colour messages: auto, always or never (for the colours of bodies, see --colour)
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        hide_possible_values = true,
        display_order = 901
    )]
    pub color: terminal::Color,

    /// Print results and errors only: no warnings, no notes, no progress
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        display_order = 900
    )]
    pub quiet: bool,

    /// Let scenes read files outside their own folders
    #[arg(long, global = true, display_order = 902)]
    pub allow_outside: bool,

    /// Command to run
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The version, the commit and the features that the program was built from.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let version = env!("CARGO_PKG_VERSION");
    let commit = rockfall::internals::bench::commit().unwrap_or("unknown");
    let own = cfg!(feature = "mpi").then_some("mpi");
    let features: Vec<&str> = rockfall::internals::bench::features().chain(own).collect();
    format!(
        "{version}\ncommit: {commit}\nfeatures: {}",
        features.join(", ")
    )
});

/// The value of --color, read before the other arguments, because help and errors about arguments use it, too.
fn color_of_help() -> ColorChoice {
    let arguments: Vec<_> = env::args_os().collect();
    let mut words = arguments.iter().filter_map(|argument| argument.to_str());
    let given = words.by_ref().find_map(|word| match word {
        "--color" => Some(""),
        word => word.strip_prefix("--color="),
    });
    match given {
        Some("") => words.next().unwrap_or_default(),
        Some(when) => when,
        None => "",
    }
    .parse()
    .unwrap_or(ColorChoice::Auto)
}

const EXAMPLES: &str = "\
Examples:
  rockfall new pile                      write a scene to start from, pile.json
  rockfall run pile.json                 run it on the GPU, or on the CPU if there is none
  rockfall run pile.json --steps 1000    run 1000 steps of it
  rockfall view pile.json                watch it in a window
  rockfall render pile.json --out frames make pictures of it
  rockfall sweep pile.json --set contact.stiffness=1e7,2e7 --out sweep
                                         run it with several stiffnesses
  rockfall measure runs/drum             measure a kept run: contacts, mixing, flow, fields
  rockfall export runs/pile --to pile.usda
                                         convert a kept run for Blender and others
  rockfall bench                         measure how fast this machine is
  rockfall compare pile.json             compare the GPU with the CPU
  rockfall check pile.json               check it for mistakes
  rockfall adapters                      list the GPUs

Exit codes:
  0  success
  1  a run failed, or `compare` found a difference
  2  an argument or a scene is wrong
  130  Ctrl-C stopped the run; `rockfall run --resume` continues it";

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    New(new::Arguments),
    Run(Box<run::Arguments>),
    #[cfg(feature = "view")]
    View(view::Arguments),
    #[cfg(feature = "render")]
    Render(Box<render::Arguments>),
    Measure(Box<measure::Arguments>),
    Export(export::Arguments),
    Bench(bench::Arguments),
    Compare(compare::Arguments),
    Check(check::Arguments),
    Sweep(sweep::Arguments),
    Schema(schema::Arguments),
    Adapters(adapters::Arguments),
    Completions(shell::Completions),
    Man(shell::Man),
}

impl Command {
    fn runs_on_cluster(&self) -> bool {
        matches!(self, Command::Run(_) | Command::Bench(_))
    }
}

/// Changes of a scene from the command line.
#[derive(Clone, Debug, Args)]
pub struct ChangeArguments {
    /// Set a value of the scene, such as contact.stiffness=2e5 or bodies[0].position=[0,1,0]; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = Change::parse)]
    changes: Vec<Change>,
}

impl ChangeArguments {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Loads a scene with these changes. An error about one of them quotes its flag.
    pub fn load(&self, path: &Path) -> Outcome<Scene> {
        self.try_load(path).map_err(Failure::Scene)
    }

    /// [`ChangeArguments::load`] for a command that continues after a wrong scene.
    pub fn try_load(&self, path: &Path) -> Result<Scene, SceneError> {
        let _waiting = Waiting::on(PLACING);
        load_scene(path, &self.changes).map_err(|mut error| {
            for problem in &mut error.problems {
                let mut last_first = self.changes.iter().rev();
                if let Some(change) = last_first.find(|change| change.concerns(&problem.path)) {
                    let flag = format!("it comes from --set {}", written(change));
                    problem.help = Some(match problem.help.take() {
                        Some(help) => format!("{help}; {flag}"),
                        None => flag,
                    });
                }
            }
            error
        })
    }
}

/// A change, as it is written after --set.
pub fn written(change: &Change) -> String {
    match change.value.as_str() {
        Some(text) => format!("{}={text}", change.path),
        None => format!("{}={}", change.path, change.value),
    }
}

/// Which engine a command uses.
#[derive(Clone, Debug, Args)]
pub struct EngineArguments {
    /// Engine to run on
    #[arg(long, value_enum, default_value_t = BackendName::Auto)]
    pub backend: BackendName,

    /// Precision of the reference engine [default: single]
    #[arg(long, value_enum, value_name = "PRECISION")]
    pub precision: Option<PrecisionName>,

    /// GPU adapter whose description contains TEXT (`rockfall adapters` lists them); a software adapter
    /// is used only if named
    #[arg(long, value_name = "TEXT")]
    pub adapter: Option<String>,

    /// Threads of the CPU engine; their number does not change the results [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
}

/// An engine, as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// A real GPU if there is one, otherwise the CPU
    Auto,
    /// A GPU
    Gpu,
    /// The CPU
    Cpu,
    /// The plain and slow engine against which the others are tested: one thread of the CPU
    Reference,
}

/// A precision, as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PrecisionName {
    /// 32 bits, as in the other engines
    Single,
    /// 64 bits; files contain values rounded to 32 bits
    Double,
}

impl EngineArguments {
    /// The backend's name on the command line.
    fn name(&self) -> String {
        let name = self.backend.to_possible_value();
        name.map_or_else(String::new, |name| name.get_name().to_owned())
    }

    /// Options with which the library makes a simulation.
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
                "--precision double is for the reference engine, and --backend {} has single precision \
                 only; use --backend reference",
                self.name()
            )));
        }
        Ok(Options {
            cluster: CLUSTER.get().cloned(),
            backend,
            adapter: self.adapter.clone(),
            threads: self.threads.map(usize::from),
        })
    }
}

/// Whether scenes may read files that lie outside of their own folders.
static ALLOW_OUTSIDE: AtomicBool = AtomicBool::new(false);

/// Returns the files that a scene may read: those in its own folder, or all if the user allows it.
fn files_of(scene: &Path) -> Box<dyn Files> {
    match ALLOW_OUTSIDE.load(Ordering::Relaxed) {
        true => Box::new(Disk),
        false => Box::new(Inside::of(scene)),
    }
}

/// Part of reading a scene that may take long.
const PLACING: &str = "placing bodies";

/// Loads a scene.
pub fn load(path: &Path) -> Outcome<Scene> {
    let _waiting = Waiting::on(PLACING);
    load_scene(path, &[]).map_err(Failure::Scene)
}

fn load_scene(path: &Path, changes: &[Change]) -> Result<Scene, SceneError> {
    let files = files_of(path);
    match CLUSTER.get() {
        Some(cluster) => scene::load_on(cluster, path, changes, &*files),
        None => scene::load_changed(path, changes, &*files),
    }
}

/// Opens the folder of a run, and sets a simulation of its scene to the first kept state.
pub fn kept(path: &Path, options: &Options) -> Outcome<(Simulation, KeptRun)> {
    if !KeptRun::is_one(path) {
        return Err(Failure::Usage(format!(
            "{}: found a directory, expected a scene file or the folder of a run, which `rockfall run SCENE --out DIR` \
             makes",
            path.display()
        )));
    }
    let Scene { model, .. } = load(&path.join(RunFolder::SCENE))?;
    // Nothing is computed: any engine will do, and a custom law need not run.
    let model = Model {
        contact: ContactModel::default(),
        history: None,
        ..model
    };
    let kept = KeptRun::open(path, &model)?;
    let mut simulation = Simulation::on_cpu(model, options.threads)?;
    kept.show(0, &mut simulation)?;
    Ok((simulation, kept))
}

/// Keeps Mesa from complaining on standard error that there is no display: one of its layers looks for the
/// GPU of the display, to list it first.
///
/// Call it before anything else: it changes the environment, which no other thread may read then.
#[allow(unsafe_code)]
pub fn quiet_mesa() {
    let is_set = |name: &str| env::var_os(name).is_some();
    if !is_set("XDG_RUNTIME_DIR") && !is_set("MESA_VK_DEVICE_SELECT") {
        // SAFETY: the program has only this thread yet.
        unsafe { env::set_var("NODEVICE_SELECT", "1") };
    }
}
