//! `rockfall run`.

use std::fs::{self, File};
use std::io;
use std::io::BufWriter;
use std::num::NonZeroU64;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use rockfall::error::Error;
use rockfall::model::Model;
use rockfall::output::{Record, Rounded, RunFolder, RunSummary, TraceWriter, write_state_of};
#[cfg(feature = "render")]
use rockfall::render::Shot;
use rockfall::scene::format::{Interval, Kind};
use rockfall::scene::{Ending, Scene};
use rockfall::simulation::observe::Observer;
use rockfall::simulation::watch::Watch;
use rockfall::simulation::{Backend, Options, Simulation};
use rockfall::state::trace::{Sample, Trace};

use super::failure::{Failure, Outcome};
#[cfg(feature = "render")]
use super::picture::{self, PictureArguments};
use super::progress::Progress;
use super::{ChangeArguments, EngineArguments, interrupts, next, terminal};

/// Steps are taken in slices of about this time, so that progress shows.
const SLICE: Duration = Duration::from_millis(200);

/// Most bodies that are traced without being listed.
const TRACED_UNLISTED: usize = 16;

/// Run a scene and print a summary
///
/// The summary goes to standard output, everything else to standard error. It shows the largest overlap
/// of the whole run, as a fraction of the smaller radius, and the contacts of the last step. The wall
/// time excludes loading the scene and starting the engine. The state hash covers every bit of the
/// final state of all bodies.
///
/// With --out, a folder keeps the run: VTK files for ParaView, states for numpy and pandas, statistics,
/// the scene, and checkpoints, from which --resume continues. Ctrl-C stops a run after the current
/// step, writes a checkpoint, and prints the command that resumes the run.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Scene file
    #[arg(value_name = "SCENE", required_unless_present = "resume")]
    scene: Option<PathBuf>,

    #[command(flatten)]
    changes: ChangeArguments,

    #[command(flatten)]
    engine: EngineArguments,

    /// Run N steps instead of the duration of the scene
    #[arg(long, value_name = "N", conflicts_with = "duration")]
    steps: Option<u64>,

    /// Simulate this long instead of the duration of the scene: seconds such as 2.5, or 20ms
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_negative_numbers = true)]
    duration: Option<f64>,

    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,

    /// Keep the run in a new folder DIR: VTK files, states, statistics, checkpoints
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Resume the run in the folder DIR from its last checkpoint
    #[arg(long, value_name = "DIR", conflicts_with_all = ["scene", "out"])]
    resume: Option<PathBuf>,

    /// Interval between VTK files and states: a number of steps, or simulated time such as 0.01s
    /// [default: a hundredth of the duration]
    #[arg(long, value_name = "INTERVAL", requires = "out", value_parser = interval)]
    every: Option<Interval>,

    /// Interval between rows of statistics [default: a thousandth of the duration]
    #[arg(long, value_name = "INTERVAL", requires = "out", value_parser = interval)]
    statistics_every: Option<Interval>,

    /// Interval between checkpoints [default: ten minutes of real time]
    #[arg(long, value_name = "INTERVAL", requires = "out", value_parser = interval)]
    checkpoint_every: Option<Interval>,

    /// VTK files to write: bodies, spheres, contacts, bonds, walls, or none [default: all]
    #[arg(long, value_name = "LIST", requires = "out", value_parser = kinds)]
    vtk: Option<Kinds>,

    /// States to write: bodies, spheres, contacts, bonds, or none [default: bodies]
    #[arg(long, value_name = "LIST", requires = "out", value_parser = tables)]
    states: Option<Kinds>,

    /// Write the final state of all bodies to FILE as JSON
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,

    /// Write the motion of some bodies, and the contact forces on them, to FILE as CSV
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Bodies to trace, such as 0,5 or 0-9,42 [default: all, up to 16]
    #[arg(long, value_name = "LIST", requires = "trace", value_delimiter = ',', value_parser = body_range)]
    trace_bodies: Option<Vec<RangeInclusive<u32>>>,

    /// Trace every N steps [default: 1]
    #[arg(long, value_name = "N", requires = "trace")]
    trace_every: Option<NonZeroU64>,

    /// Save a picture of the final state to FILE, a .png or .jpg
    #[cfg(feature = "render")]
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,

    #[cfg(feature = "render")]
    #[command(flatten)]
    picture: PictureArguments,
}

const EXAMPLES: &str = "\
Examples:
  rockfall run pile.json
      Run a scene on the GPU, or on the CPU where there is none.
  rockfall run pile.json --backend cpu --threads 4 --steps 1000
      Take 1000 steps on four threads of the CPU.
  rockfall run pile.json --adapter llvmpipe
      Run on a software adapter, which is used only if named.
  rockfall run pile.json --set contact.stiffness=2e5 --set materials.stone.friction=0.4
      Change values of the scene; `rockfall sweep` tries several of each.
  rockfall run pile.json --out pile --every 0.02s --checkpoint-every 100000
      Keep the run in the folder pile, for ParaView and Python.
  rockfall run --resume pile
      Resume a run that was stopped or killed.
  rockfall run --resume pile --duration 5
      Resume a run and take it to 5 s, longer than planned.
  rockfall run pile.json --json > summary.json
      Save the summary for another program.
  rockfall run pile.json --state end.json --trace path.csv --trace-bodies 0,5-9 --trace-every 100
      Save the final state of all bodies, and the path of six of them.
  rockfall run pile.json --snapshot end.png --colour speed
      Save a picture of the final state, coloured by speed.";

/// A list of what files are written of.
#[derive(Clone, Debug)]
struct Kinds(Vec<Kind>);

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let mut options = arguments.engine.options()?;
    #[cfg(feature = "render")]
    arguments.check_snapshot()?;
    if arguments.resume.is_some() && !arguments.changes.is_empty() {
        return Err(Failure::Usage(
            "--set changes a scene before its first step, and --resume continues a run; leave one of them out".to_owned(),
        ));
    }
    let mut resumed = None;
    let path = match &arguments.resume {
        Some(folder) => {
            let record = Record::read(&folder.join(RunFolder::RECORD))?;
            // Before the scene is read, which may take long.
            RunFolder::lock(folder)?;
            if options == Options::default() {
                options = Options::from(&record.options);
            }
            let path = folder.join(&record.scene);
            resumed = Some(record);
            path
        }
        None => arguments.scene.clone().unwrap_or_default(),
    };
    let mut scene = arguments.changes.load(&path)?;
    arguments.change(&mut scene);
    let model = &scene.model;
    let steps = match (arguments.steps, arguments.duration, &resumed) {
        (Some(steps), _, _) => steps,
        (None, None, Some(record)) => record.steps,
        (None, duration, _) => model.steps_for(duration.unwrap_or(model.duration)),
    };
    let trace = arguments.trace(model)?;
    let mut simulation = Simulation::new(model.clone(), &options)?;
    // Not before the engine stands: a file of an earlier run survives an adapter that there is not.
    let mut outputs = Outputs::create(arguments, &path)?;
    interrupts::catch(simulation.canceller(), "the checkpoint");

    let engine = simulation.adapter();
    terminal::say(match (simulation.backend(), options.backend) {
        ("gpu", _) => format!("engine: GPU, {engine}"),
        (_, Backend::Auto) if options.cluster.is_none() => {
            format!("engine: {engine} (no GPU was found)")
        }
        (_, Backend::Auto) => format!("engine: {engine} (not every rank has a GPU)"),
        _ => format!("engine: {engine}"),
    });
    scene.notes.iter().for_each(terminal::say);
    scene.warnings.iter().for_each(terminal::warn);
    let mut folder = match (&arguments.out, &arguments.resume) {
        (Some(folder), _) => {
            let record = record(&simulation, &options, steps);
            Some(RunFolder::create(folder, &scene, record, &mut simulation)?)
        }
        (None, Some(folder)) => Some(resume(folder, &scene, &mut simulation, steps)?),
        (None, None) => None,
    };
    if let Some(trace) = trace {
        simulation.set_trace(trace)?;
    }

    let from = simulation.steps();
    let start = Instant::now();
    let mut beat = Beat::new(&mut outputs, &simulation, steps);
    let mut watch = Watch::new(&simulation, super::log::elapsed);
    if resumed.is_some() {
        watch = watch.quiet_at_first();
    }
    let mut ending = Ending::of(&scene);
    let mut others: Vec<&mut dyn Observer> = vec![&mut watch, &mut beat];
    if let Some(ending) = &mut ending {
        others.push(ending);
    }
    let outcome = match &mut folder {
        Some(folder) => folder.run(
            &scene,
            &mut simulation,
            &options,
            &mut others,
            |error, now| {
                terminal::warn(format_args!(
                    "{error}; the run continues from step {} on {}",
                    now.steps(),
                    now.adapter()
                ));
            },
        ),
        None => simulation.run(steps, &mut others),
    };
    drop(beat);
    let reached = ending.as_ref().and_then(Ending::reached);
    if let Some(reached) = reached {
        terminal::say(format_args!(
            "the run ended at {} s: {reached}",
            Rounded(simulation.time())
        ));
    }
    let wall = start.elapsed();
    let outcome = match outcome {
        Err(Error::Cancelled { .. }) => Ok(ControlFlow::Break(())),
        outcome => outcome,
    };
    if outcome.is_ok() {
        let samples = simulation.take_samples();
        outputs.add(&simulation, &samples)?;
        let warnings = watch.look_at(&mut simulation)?;
        warnings.iter().for_each(terminal::warn);
    }
    let stopped = match outcome {
        Ok(flow) => flow.is_break() && reached.is_none() && simulation.steps() < steps,
        Err(error) => return Err(lost(error, folder, &mut simulation)),
    };

    let summary = RunSummary::new(&mut simulation, from, wall)?;
    if stopped {
        let folder = match folder {
            Some(folder) => folder,
            None => {
                let record = record(&simulation, &options, steps);
                RunFolder::create_later(&stopped_folder(&path), &scene, record, &simulation)?
            }
        };
        let (path, at) = (folder.path().to_owned(), simulation.steps());
        folder.finish(&mut simulation, true, summary)?;
        return Err(Failure::Stopped(format!(
            "stopped at step {at} of {steps}; the checkpoint is {}; resume with: rockfall run --resume {}",
            path.join(RunFolder::CHECKPOINT).display(),
            path.display()
        )));
    }
    let kept = folder.as_ref().map(|folder| folder.path().to_owned());
    let written = arguments.finish(&mut simulation, outputs, folder, &summary);
    // Whatever cannot be written after a run, its summary is not lost.
    if arguments.json {
        terminal::print_json(&summary)?;
        return written;
    }
    terminal::print(summary)?;
    written?;
    next::say(arguments.next(&scene, &path, kept.as_deref()));
    Ok(())
}

fn record(simulation: &Simulation, options: &Options, steps: u64) -> Record {
    // An argument need not be UTF-8: it may be the name of a file.
    let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    Record::new(simulation, options, arguments.collect(), steps)
}

/// Goes on with the run in a folder.
fn resume(
    path: &Path,
    scene: &Scene,
    simulation: &mut Simulation,
    steps: u64,
) -> Outcome<RunFolder> {
    let folder = RunFolder::resume(path, scene, simulation, steps)?;
    let at = simulation.steps();
    let started = &folder.record().parts[0];
    if (started.backend.as_str(), &started.adapter) != (simulation.backend(), &simulation.adapter())
        && !(is_as_cpu(simulation.backend(), &simulation.adapter())
            && is_as_cpu(&started.backend, &started.adapter))
    {
        terminal::warn(format_args!(
            "the run began on {} and continues on {}: its last bits will differ from those of a run on one engine",
            started.adapter,
            simulation.adapter()
        ));
    }
    terminal::say(match at {
        0 => "there is no checkpoint yet; the run starts from its beginning".to_owned(),
        _ if at >= steps => format!(
            "the run has already taken {at} steps, and {steps} are requested; give a longer --duration or more --steps to continue it"
        ),
        _ => format!("resuming at step {at} of {steps}"),
    });
    Ok(folder)
}

/// Whether an engine has the bits of the CPU engine.
fn is_as_cpu(backend: &str, device: &str) -> bool {
    backend != "gpu" && !device.ends_with("double precision")
}

/// The failure of a run whose device was lost too often, or after the last step.
fn resumable(lost: &Error, folder: &Path) -> Failure {
    Failure::Run(format!(
        "{lost}; `rockfall run --resume {}` continues from the last checkpoint",
        folder.display()
    ))
}

/// The failure of a run that is lost; the last good state is written, if there is a folder for it.
fn lost(error: Error, folder: Option<RunFolder>, simulation: &mut Simulation) -> Failure {
    let sentence = error.to_string();
    let Some(mut folder) = folder else {
        return Failure::Run(match error {
            Error::Lost { .. } => format!(
                "{sentence}; with --out, a run continues from its last checkpoint by itself"
            ),
            _ => sentence,
        });
    };
    if let Error::Lost { .. } = error {
        return resumable(&error, folder.path());
    }
    if !matches!(error, Error::Runaway { .. }) {
        // What was due before is written still; if that is what failed, the sentence says so.
        let _ = folder.wait();
        return Failure::Run(sentence);
    }
    let path = folder.path().to_owned();
    terminal::error(&sentence);
    terminal::say("repeating the steps before the failure, to write the last good state");
    match folder.rescue(simulation, &error) {
        Ok(step) => Failure::Run(format!(
            "the run failed; the last good state, that of step {step}, is in {}",
            path.display()
        )),
        Err(error) => error.into(),
    }
}

/// A folder for a run that was stopped and has none: where the system keeps the states of programs, beside nothing else of
/// that name.
pub(super) fn stopped_folder(scene: &Path) -> PathBuf {
    let stem = scene.file_stem().unwrap_or_default().to_string_lossy();
    let states = state_folder().unwrap_or_default();
    let mut paths = (1..).map(|count| match count {
        1 => states.join(format!("{stem}-stopped")),
        _ => states.join(format!("{stem}-stopped-{count}")),
    });
    paths.find(|path| !path.exists()).unwrap_or_default()
}

/// The folder of Rockfall's own where the system keeps the states of programs; none if the environment does not say.
pub(super) fn state_folder() -> Option<PathBuf> {
    let named = |name| std::env::var_os(name).map(PathBuf::from);
    let absolute = |path: &PathBuf| path.is_absolute();
    let states = if cfg!(windows) {
        named("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        named("HOME").map(|home| home.join("Library/Application Support"))
    } else {
        let own = named("XDG_STATE_HOME").filter(absolute);
        own.or_else(|| named("HOME").map(|home| home.join(".local/state")))
    };
    Some(states.filter(absolute)?.join("rockfall"))
}

/// Looks at a run a few times a second: shows how far it has come, writes samples as they arrive, stops
/// when the user wants it to.
struct Beat<'a> {
    outputs: &'a mut Outputs,
    progress: Progress,
    /// Steps from one look to the next, and when that is.
    slice: u64,
    at: u64,
    since: Instant,
}

impl<'a> Beat<'a> {
    fn new(outputs: &'a mut Outputs, simulation: &Simulation, steps: u64) -> Beat<'a> {
        let from = simulation.steps();
        Beat {
            outputs,
            progress: Progress::new(from, steps, simulation.model().time_step),
            slice: 1,
            at: from + 1,
            since: Instant::now(),
        }
    }
}

impl Observer for Beat<'_> {
    fn next(&self, _: u64) -> u64 {
        self.at
    }

    fn observe(&mut self, simulation: &mut Simulation) -> rockfall::error::Result<ControlFlow<()>> {
        let samples = simulation.take_samples();
        self.outputs.add(simulation, &samples)?;
        self.progress.update(simulation.steps());
        if self.since.elapsed() < SLICE / 2 {
            self.slice *= 2;
        } else if self.since.elapsed() > SLICE * 2 {
            self.slice = (self.slice / 2).max(1);
        }
        self.since = Instant::now();
        self.at = simulation.steps() + self.slice;
        Ok(match interrupts::wanted() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }
}

impl Arguments {
    /// The engine that is asked for.
    pub fn engine(&self) -> &EngineArguments {
        &self.engine
    }

    /// Writes what there is at the end of a run.
    fn finish(
        &self,
        simulation: &mut Simulation,
        outputs: Outputs,
        folder: Option<RunFolder>,
        summary: &RunSummary,
    ) -> Outcome {
        let mut written = outputs.finish(simulation);
        #[cfg(feature = "render")]
        if let Some(path) = &self.snapshot {
            let adapter = self.engine.adapter.as_deref();
            let mut save = || -> Outcome {
                let mut studio = self.picture.studio(simulation, adapter, false)?;
                picture::save(&studio.picture(simulation)?, path)
            };
            written = written.and(save());
        }
        if let Some(folder) = folder {
            let path = folder.path().to_owned();
            let finished = folder.finish(simulation, false, summary.clone());
            written = written.and(finished.map_err(|error| match error {
                Error::Lost { .. } => resumable(&error, &path),
                error => error.into(),
            }));
        }
        written
    }

    /// Changes what a scene says of its run to what was asked for.
    fn change(&self, scene: &mut Scene) {
        let duration = match self.steps {
            Some(steps) => Some(steps as f64 * scene.model.time_step),
            None => self.duration,
        };
        if let Some(duration) = duration {
            scene.model.duration = duration;
            scene.file.duration = duration;
        }
        let output = &mut scene.file.output;
        output.every = self.every.or(output.every);
        output.statistics_every = self.statistics_every.or(output.statistics_every);
        output.checkpoint_every = self.checkpoint_every.or(output.checkpoint_every);
        for (given, kinds) in [
            (&self.vtk, &mut output.vtk),
            (&self.states, &mut output.states),
        ] {
            if let Some(Kinds(given)) = given {
                *kinds = Some(given.clone());
            }
        }
    }

    /// Refuses a snapshot that cannot be, and arguments for one that is not wanted.
    #[cfg(feature = "render")]
    fn check_snapshot(&self) -> Outcome {
        match &self.snapshot {
            Some(path) => picture::check_ending("--snapshot", path, self.picture.background),
            None if self.picture.shot() == Shot::default() => Ok(()),
            None => Err(Failure::Usage(
                "some arguments describe a picture, but none is made; add --snapshot FILE"
                    .to_owned(),
            )),
        }
    }

    /// A command to go on with when the run is over.
    fn next(&self, scene: &Scene, path: &Path, kept: Option<&Path>) -> String {
        #[cfg(feature = "render")]
        if let Some(picture) = &self.snapshot {
            return format!("look at {}", picture.display());
        }
        if let Some(folder) = kept {
            let kinds = scene.file.output.vtk.as_deref().unwrap_or(&Kind::ALL);
            let series = kinds.first().map(|kind| {
                let file = folder.join(format!("{}.pvd", kind.keyword()));
                format!("open {} in ParaView, or ", file.display())
            });
            return format!(
                "{}plot {}",
                series.unwrap_or_default(),
                folder.join(RunFolder::STATISTICS).display()
            );
        }
        if let Some(state) = &self.state {
            return format!("look at {}", state.display());
        }
        format!(
            "`{}` shows it; `--out DIR` keeps the run for ParaView and Python",
            next::show(path)
        )
    }

    /// Bodies to trace, if any.
    fn trace(&self, model: &Model) -> Outcome<Option<Trace>> {
        if self.trace.is_none() {
            return Ok(None);
        }
        let count = model.bodies.len();
        let bodies = match &self.trace_bodies {
            Some(ranges) => listed(ranges, count)?,
            None if count <= TRACED_UNLISTED => (0..count as u32).collect(),
            None => {
                return Err(Failure::Usage(format!(
                    "the scene has {count} bodies, too many to trace all of them by default; list some \
                     with --trace-bodies, such as 0,5 or 0-{}",
                    count - 1
                )));
            }
        };
        Ok(Some(Trace {
            bodies,
            every: self.trace_every.map_or(1, NonZeroU64::get),
        }))
    }
}

/// The bodies of `ranges`, each once, in the order of their numbers.
fn listed(ranges: &[RangeInclusive<u32>], count: usize) -> Outcome<Vec<u32>> {
    if let Some(range) = ranges.iter().find(|range| *range.end() as usize >= count) {
        return Err(Failure::Usage(format!(
            "--trace-bodies: there is no body {}; the scene has {count}, numbered from 0",
            range.end()
        )));
    }
    let mut bodies: Vec<u32> = ranges.iter().cloned().flatten().collect();
    bodies.sort_unstable();
    bodies.dedup();
    Ok(bodies)
}

/// The files that a run writes, made before it starts so that a wrong path fails at once.
struct Outputs {
    state: Option<(PathBuf, File)>,
    trace: Option<(PathBuf, TraceWriter<File>)>,
    /// The last step of which there are samples: a run that goes back after a fault comes by some of them again.
    sampled: u64,
}

impl Outputs {
    fn create(arguments: &Arguments, scene: &Path) -> Outcome<Outputs> {
        let mut state = None;
        if let Some(path) = &arguments.state {
            refuse_same("--state", path, "the scene", scene)?;
            state = Some((path.clone(), create("--state", path)?));
        }
        #[cfg(feature = "render")]
        if let Some(path) = &arguments.snapshot {
            refuse_same("--snapshot", path, "the scene", scene)?;
            // An earlier picture stays until there is a new one.
            let opened = File::options().create(true).append(true).open(path);
            opened.map_err(|error| unwritable("--snapshot", path, &error))?;
        }
        let mut trace = None;
        if let Some(path) = &arguments.trace {
            refuse_same("--trace", path, "the scene", scene)?;
            if let Some(state) = &arguments.state {
                refuse_same("--trace", path, "--state", state)?;
            }
            let file = create("--trace", path)?;
            let writer = TraceWriter::new(file).map_err(|error| Error::unwritten(path, &error))?;
            trace = Some((path.clone(), writer));
        }
        Ok(Outputs {
            state,
            trace,
            sampled: 0,
        })
    }

    /// Writes samples that were taken.
    fn add(&mut self, simulation: &Simulation, samples: &[Sample]) -> Result<(), Error> {
        let Some((path, writer)) = &mut self.trace else {
            return Ok(());
        };
        let new = samples.partition_point(|sample| sample.step <= self.sampled);
        let new = &samples[new..];
        self.sampled = new.last().map_or(self.sampled, |sample| sample.step);
        writer
            .write(simulation, new)
            .map_err(|error| Error::unwritten(path, &error))
    }

    /// Writes what there is at the end.
    fn finish(self, simulation: &mut Simulation) -> Outcome {
        let Some((path, file)) = self.state else {
            return Ok(());
        };
        Ok(write_state_of(simulation, BufWriter::new(file), &path)?)
    }
}

fn create(flag: &str, path: &Path) -> Outcome<File> {
    File::create(path).map_err(|error| unwritable(flag, path, &error))
}

fn unwritable(flag: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::Usage(format!(
        "{flag}: the file {} cannot be written: {error}",
        path.display()
    ))
}

/// Refuses to overwrite `other`, which exists.
fn refuse_same(flag: &str, path: &Path, what: &str, other: &Path) -> Outcome {
    match (fs::canonicalize(path), fs::canonicalize(other)) {
        (Ok(a), Ok(b)) if a == b && a.is_file() => Err(Failure::Usage(format!(
            "{flag}: the file {} is also that of {what}; name another file",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// `1000` (steps) or `0.01s`.
fn interval(text: &str) -> Result<Interval, String> {
    let interval = match text.ends_with('s') {
        true => time(text).map(Interval::seconds),
        false => text.parse().ok().map(Interval::steps),
    };
    interval
        .filter(|interval| interval.is_positive())
        .ok_or_else(|| {
            "expected a number of steps, such as 1000, or a simulated time, such as 0.01s or 10ms"
                .to_owned()
        })
}

fn kinds(text: &str) -> Result<Kinds, String> {
    listed_kinds(text, &Kind::ALL)
}

fn tables(text: &str) -> Result<Kinds, String> {
    listed_kinds(
        text,
        &[Kind::Bodies, Kind::Spheres, Kind::Contacts, Kind::Bonds],
    )
}

fn listed_kinds(text: &str, all: &[Kind]) -> Result<Kinds, String> {
    if text == "none" {
        return Ok(Kinds(Vec::new()));
    }
    let named = |word: &str| {
        all.iter()
            .find(|kind| kind.keyword() == word.trim())
            .copied()
    };
    let kinds: Option<Vec<Kind>> = text.split(',').map(named).collect();
    kinds.map(Kinds).ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|kind| kind.keyword()).collect();
        format!("expected a list of {}, or none", words.join(", "))
    })
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match time(text) {
        Some(number) if (0.0..=f64::MAX).contains(&number) => Ok(number),
        _ => Err("expected a number of seconds, 0 or more, such as 2.5 or 20ms".to_owned()),
    }
}

/// A time in seconds, of a number with or without a unit.
fn time(text: &str) -> Option<f64> {
    let units = [("ms", 1e3), ("us", 1e6), ("µs", 1e6), ("s", 1.0), ("", 1.0)];
    let (number, parts) = units
        .iter()
        .find_map(|(unit, parts)| Some((text.strip_suffix(unit)?, parts)))?;
    // Divided, not multiplied: 1ms is the number 0.001.
    Some(number.trim().parse::<f64>().ok()? / parts)
}

fn body_range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok(first..=last),
        _ => Err("expected numbers of bodies, such as 0,5 or 0-9,42".to_owned()),
    }
}
