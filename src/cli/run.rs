//! `rockfall run`.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::num::NonZeroU64;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use rockfall::model::Model;
use rockfall::output::{RunSummary, TraceWriter, write_state};
use rockfall::scene::Scene;
use rockfall::simulation::{Backend, Simulation};
use rockfall::trace::{Sample, Trace};

use super::failure::{Failure, Outcome};
#[cfg(feature = "render")]
use super::picture::{self, PictureArguments, Studio};
use super::progress::Progress;
use super::{EngineArguments, terminal};

/// Steps are taken in slices of about this time, so that progress shows.
const SLICE: Duration = Duration::from_millis(200);

/// Most bodies that are traced without being listed.
const TRACED_UNLISTED: usize = 16;

/// Run a scene and print a summary
///
/// The summary goes to standard output, all else to standard error. The largest overlap in it is
/// that of the whole run, as a fraction of the smaller radius; contacts are those of the last step;
/// the wall time is that of the steps, without loading the scene and starting the engine; the hash
/// is that of the final state of all bodies, bit for bit.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Scene file
    #[arg(value_name = "SCENE")]
    scene: PathBuf,

    #[command(flatten)]
    engine: EngineArguments,

    /// Take N steps instead of covering the duration of the scene
    #[arg(long, value_name = "N", conflicts_with = "duration")]
    steps: Option<u64>,

    /// Simulate S seconds instead of the duration of the scene
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    duration: Option<f64>,

    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,

    /// Write the final state of all bodies to FILE, as JSON
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,

    /// Write the state of some bodies over time, and what contacts do to them, to FILE, as CSV
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Bodies to trace, such as 0,5 or 0-9,42 [default: all, if there are 16 or fewer]
    #[arg(long, value_name = "LIST", requires = "trace", value_delimiter = ',', value_parser = body_range)]
    trace_bodies: Option<Vec<RangeInclusive<u32>>>,

    /// Trace at each multiple of N steps [default: 1]
    #[arg(long, value_name = "N", requires = "trace")]
    trace_every: Option<NonZeroU64>,

    /// Save a picture of the end to FILE, which ends in .png or .jpg
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
      Use a software adapter, which is used only by name.
  rockfall run pile.json --json > summary.json
      Keep the summary for a program.
  rockfall run pile.json --state end.json --trace path.csv --trace-bodies 0,5-9 --trace-every 100
      Write where all bodies end, and how six of them get there.
  rockfall run pile.json --snapshot end.png --colour speed
      Save a picture of the end, with colours that say how fast bodies are.";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let options = arguments.engine.options()?;
    #[cfg(feature = "render")]
    arguments.check_snapshot()?;
    let Scene {
        model,
        warnings,
        notes,
    } = super::load(&arguments.scene)?;
    let steps = match (arguments.steps, arguments.duration) {
        (Some(steps), _) => steps,
        (None, duration) => model.steps_for(duration.unwrap_or(model.duration)),
    };
    let trace = arguments.trace(&model)?;
    let mut simulation = Simulation::new(model, &options)?;
    // Not before the engine stands: a file of an earlier run survives an adapter that there is not.
    let mut outputs = Outputs::create(arguments)?;

    let engine = simulation.adapter();
    terminal::say(match (simulation.backend(), options.backend) {
        ("gpu", _) => format!("engine: GPU, {engine}"),
        (_, Backend::Auto) => format!("engine: {engine} (no GPU was found)"),
        _ => format!("engine: {engine}"),
    });
    notes.iter().for_each(terminal::say);
    warnings.iter().for_each(terminal::warn);
    if let Some(trace) = trace {
        simulation.set_trace(trace)?;
    }

    let start = Instant::now();
    advance(&mut simulation, steps, &mut outputs)?;
    let wall = start.elapsed();

    outputs.finish(&mut simulation)?;
    #[cfg(feature = "render")]
    if let Some(path) = &arguments.snapshot {
        let adapter = arguments.engine.adapter.as_deref();
        let mut studio = Studio::new(&arguments.picture, &simulation, adapter, false)?;
        picture::save(&studio.picture(&simulation)?, path)?;
    }
    let summary = RunSummary::new(&mut simulation, wall)?;
    if arguments.json {
        terminal::print_json(&summary)
    } else {
        terminal::print(summary)
    }
}

/// Takes `steps` steps, showing how far it has come and writing samples as they arrive.
fn advance(simulation: &mut Simulation, steps: u64, outputs: &mut Outputs) -> Outcome {
    let mut progress = Progress::new(steps, simulation.model().time_step);
    let mut slice = 1;
    while simulation.steps() < steps {
        let count = slice.min(steps - simulation.steps());
        let start = Instant::now();
        simulation.step(count)?;
        let samples = simulation.take_samples();
        outputs.add(simulation, &samples)?;
        progress.update(simulation.steps());
        if count == slice && start.elapsed() < SLICE / 2 {
            slice *= 2;
        } else if start.elapsed() > SLICE * 2 {
            slice = (slice / 2).max(1);
        }
    }
    Ok(())
}

impl Arguments {
    /// Refuses a snapshot that cannot be, and arguments for one that is not wanted.
    #[cfg(feature = "render")]
    fn check_snapshot(&self) -> Outcome {
        match &self.snapshot {
            Some(path) => picture::check_ending("--snapshot", path),
            None if self.picture == PictureArguments::default() => Ok(()),
            None => Err(Failure::Usage(
                "arguments say how a picture should look, and none is made; add --snapshot FILE"
                    .to_owned(),
            )),
        }
    }

    /// What to trace, if anything.
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
                    "the scene has {count} bodies, too many to trace them all unasked; list some \
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
}

impl Outputs {
    fn create(arguments: &Arguments) -> Outcome<Outputs> {
        let scene = &arguments.scene;
        let mut state = None;
        if let Some(path) = &arguments.state {
            refuse_same("--state", path, "the scene", scene)?;
            state = Some((path.clone(), create("--state", path)?));
        }
        let mut trace = None;
        if let Some(path) = &arguments.trace {
            refuse_same("--trace", path, "the scene", scene)?;
            if let Some(state) = &arguments.state {
                refuse_same("--trace", path, "--state", state)?;
            }
            let file = create("--trace", path)?;
            let writer = TraceWriter::new(file).map_err(|error| unwritten(path, &error))?;
            trace = Some((path.clone(), writer));
        }
        Ok(Outputs { state, trace })
    }

    /// Writes samples that were taken.
    fn add(&mut self, simulation: &Simulation, samples: &[Sample]) -> Outcome {
        let Some((path, writer)) = &mut self.trace else {
            return Ok(());
        };
        writer
            .write(simulation, samples)
            .map_err(|error| unwritten(path, &error))
    }

    /// Writes what there is at the end.
    fn finish(self, simulation: &mut Simulation) -> Outcome {
        let Some((path, file)) = self.state else {
            return Ok(());
        };
        let bodies = simulation.bodies()?;
        let (model, time) = (simulation.model(), simulation.time());
        write_state(BufWriter::new(file), model, time, &bodies)
            .map_err(|error| unwritten(&path, &error))
    }
}

fn create(flag: &str, path: &Path) -> Outcome<File> {
    File::create(path).map_err(|error| {
        Failure::Usage(format!(
            "{flag}: the file {} cannot be written: {error}",
            path.display()
        ))
    })
}

/// Refuses to overwrite `other`, which exists.
fn refuse_same(flag: &str, path: &Path, what: &str, other: &Path) -> Outcome {
    match (fs::canonicalize(path), fs::canonicalize(other)) {
        (Ok(a), Ok(b)) if a == b && a.is_file() => Err(Failure::Usage(format!(
            "{flag}: the file {} is also that of {what}; give another one",
            path.display()
        ))),
        _ => Ok(()),
    }
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::Run(format!(
        "the file {} cannot be written: {error}",
        path.display()
    ))
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.0..=f64::MAX).contains(&number) => Ok(number),
        _ => Err("a number of seconds is expected, 0 or more, such as 2.5".to_owned()),
    }
}

fn body_range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok(first..=last),
        _ => Err("numbers of bodies are expected, such as 0,5 or 0-9,42".to_owned()),
    }
}
