//! `rockfall sweep`.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use clap::{Args, Parser};
use rockfall::error::Error;
use rockfall::output::Rounded;
use rockfall::scene::Change;
use serde_json::Value;

use super::failure::{Failure, Outcome};
use super::run::Arguments as RunArguments;
use super::{BackendName, next, terminal, written};

/// Run a scene with all combinations of some values
///
/// Each --set names a value of the scene and lists what to try. Every combination is a point of the
/// sweep. It runs as by `rockfall run --out`, in its own folder under the folder --out, where the table
/// sweep.csv has a row for each point: its values and the summary of its run. If a point fails, its
/// row gives the reason, and the others continue.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Scene file
    #[arg(value_name = "SCENE")]
    scene: PathBuf,

    /// Values to try, such as contact.stiffness=1e5,2e5; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE,...", required = true, value_parser = Axis::parse)]
    axes: Vec<Axis>,

    /// Folder for the points and their table
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Run N points at once
    #[arg(long, value_name = "N", default_value = "1")]
    jobs: NonZeroUsize,

    /// Arguments for each `rockfall run`, after --
    #[arg(last = true, value_name = "ARGUMENTS")]
    each: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  rockfall sweep pile.json --set materials.stone.friction=0.1,0.2,0.4 --out friction
      Take three runs and write their table, friction/sweep.csv.
  rockfall sweep pile.json --set contact.stiffness=1e7,2e7 --set fills[0].seed=1,2 --out grid --jobs 2
      Take four runs, two at a time.
  rockfall sweep pile.json --set gravity=[0,-9.81,0],[0,-1.62,0] --out moon -- --vtk none
      Take two runs without VTK files.

Exit code 1 if a point failed.";

/// The table of a sweep, in its folder.
const TABLE: &str = "sweep.csv";

/// A value of the scene that differs between the points of a sweep, and its values.
#[derive(Clone, Debug)]
struct Axis(Vec<Change>);

impl Axis {
    fn parse(text: &str) -> Result<Axis, String> {
        Change::parse_list(text).map(Axis)
    }

    fn path(&self) -> &str {
        &self.0[0].path
    }
}

/// Arguments of `rockfall run`, to find mistakes in them before the first point.
#[derive(Debug, Parser)]
#[command(name = "rockfall run")]
struct Run {
    #[command(flatten)]
    arguments: RunArguments,
}

/// A point of the grid.
struct Point {
    folder: String,
    values: Vec<Change>,
}

/// Outcome of a point.
enum Came {
    Done(Value),
    Failed(String),
    Stopped,
}

/// Whether the user wants the sweep to stop.
static STOP: AtomicBool = AtomicBool::new(false);

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    arguments.check()?;
    let points = arguments.points()?;
    fs::create_dir_all(&arguments.out).map_err(|error| {
        let out = arguments.out.display();
        Failure::Usage(format!(
            "--out: the folder {out} cannot be created: {error}"
        ))
    })?;
    // Each run hears of Ctrl-C as well, and writes a checkpoint.
    if let Err(error) = ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed)) {
        terminal::warn(format_args!("Ctrl-C will end the sweep at once: {error}"));
    }
    let next_point = AtomicUsize::new(0);
    let came = Mutex::new(BTreeMap::new());
    let jobs = arguments.jobs.get().min(points.len());
    let work = || -> Outcome {
        while !STOP.load(Ordering::Relaxed) {
            let number = next_point.fetch_add(1, Ordering::Relaxed);
            let Some(point) = points.get(number) else {
                break;
            };
            let start = Instant::now();
            let outcome = arguments.take(point, jobs)?;
            let mut came = came.lock().unwrap_or_else(PoisonError::into_inner);
            came.insert(number, outcome);
            arguments.write(&points, &came)?;
            let how = match &came[&number] {
                Came::Done(_) => format!("done in {} s", Rounded(start.elapsed().as_secs_f64())),
                Came::Failed(sentence) => format!("failed: {sentence}"),
                Came::Stopped => "stopped".to_owned(),
            };
            terminal::say(format_args!(
                "{} of {}: {}: {how}",
                came.len(),
                points.len(),
                point.describe()
            ));
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        let ends = workers
            .into_iter()
            .map(|worker| worker.join().expect("a worker does not panic"));
        ends.fold(Ok(()), Outcome::and)
    })?;

    let came = came.into_inner().unwrap_or_else(PoisonError::into_inner);
    let table = arguments.out.join(TABLE);
    let count = |wanted: fn(&Came) -> bool| came.values().filter(|came| wanted(came)).count();
    let done = count(|came| matches!(came, Came::Done(_)));
    let failed = count(|came| matches!(came, Came::Failed(_)));
    terminal::print(format_args!(
        "table {} ({done} of {} points)",
        table.display(),
        points.len()
    ))?;
    if STOP.load(Ordering::Relaxed) {
        return Err(Failure::Stopped(format!(
            "stopped after {done} of {} points; those that were running have written checkpoints",
            points.len()
        )));
    }
    match failed {
        0 => {
            next::say(format_args!("plot columns of {}", table.display()));
            Ok(())
        }
        _ => Err(Failure::Run(format!(
            "{failed} of {} points failed; {} has the reasons in its column `error`",
            points.len(),
            table.display()
        ))),
    }
}

impl Arguments {
    /// Finds mistakes that concern all points, before the first of them runs.
    fn check(&self) -> Outcome {
        let given = self.each.iter().filter_map(|argument| argument.to_str());
        for argument in given {
            let flag = argument.split('=').next().unwrap_or_default();
            if ["--out", "--resume", "--set", "--json"].contains(&flag) {
                return Err(Failure::Usage(format!(
                    "{flag} after --: the sweep sets this itself; leave it out"
                )));
            }
        }
        let start = [
            OsString::from("rockfall run"),
            self.scene.clone().into(),
            "--out".into(),
            "DIR".into(),
        ];
        Run::try_parse_from(start.iter().chain(&self.each)).map_err(|error| {
            Failure::Usage(format!("after --: {}", first_sentence(&error.to_string())))
        })?;
        let mut paths: Vec<&str> = self.axes.iter().map(Axis::path).collect();
        paths.sort_unstable();
        if let Some(twice) = paths.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Failure::Usage(format!(
                "--set {} is given twice; list all its values in one --set, separated by commas",
                twice[0]
            )));
        }
        if self.out.join(TABLE).exists() {
            return Err(Failure::Usage(format!(
                "the folder {} already has a sweep; choose another one with --out",
                self.out.display()
            )));
        }
        super::load(&self.scene).map(drop)
    }

    /// The grid: the last value that is listed changes first.
    fn points(&self) -> Outcome<Vec<Point>> {
        const MOST: usize = 100_000;
        let sizes = self.axes.iter().map(|Axis(values)| values.len());
        let count = sizes.fold(1usize, usize::saturating_mul);
        if count > MOST {
            return Err(Failure::Usage(format!(
                "the grid has {count} points, and a sweep runs at most {MOST}; list fewer values"
            )));
        }
        let digits = count.to_string().len();
        let point = |number: usize| {
            let mut left = number;
            let mut values: Vec<Change> = Vec::new();
            for Axis(axis) in self.axes.iter().rev() {
                values.push(axis[left % axis.len()].clone());
                left /= axis.len();
            }
            values.reverse();
            Point {
                folder: format!("{:0digits$}", number + 1),
                values,
            }
        };
        Ok((0..count).map(point).collect())
    }

    /// Runs a point in a process of its own, so that a failure does not affect the others.
    fn take(&self, point: &Point, jobs: usize) -> Outcome<Came> {
        let failed =
            |error: io::Error| Failure::Run(format!("rockfall cannot be started: {error}"));
        let mut command = Command::new(env::current_exe().map_err(failed)?);
        command.arg("run").arg(&self.scene).arg("--json");
        command.arg("--out").arg(self.out.join(&point.folder));
        for change in &point.values {
            command.arg("--set").arg(written(change));
        }
        if let Some(threads) = self.threads(jobs) {
            command.arg("--threads").arg(threads.to_string());
        }
        let output = command
            .args(&self.each)
            .stdin(Stdio::null())
            .output()
            .map_err(failed)?;
        let summary = serde_json::from_slice(&output.stdout).ok();
        Ok(match (output.status.code(), summary) {
            (Some(0), Some(summary)) => Came::Done(summary),
            (Some(code), _) if code == i32::from(Failure::STOPPED) => Came::Stopped,
            (None, _) if STOP.load(Ordering::Relaxed) => Came::Stopped,
            _ => Came::Failed(reason(
                &String::from_utf8_lossy(&output.stderr),
                &output.status.to_string(),
            )),
        })
    }

    /// Threads of a run, so that all runs at one time together use as many as there are cores.
    fn threads(&self, jobs: usize) -> Option<usize> {
        let start = [OsString::from("rockfall run"), self.scene.clone().into()];
        let run = Run::try_parse_from(start.iter().chain(&self.each))
            .ok()?
            .arguments;
        let engine = run.engine();
        let takes_threads = matches!(engine.backend, BackendName::Auto | BackendName::Cpu);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        (takes_threads && engine.threads.is_none() && jobs > 1).then(|| (cores / jobs).max(1))
    }

    /// Writes the table of the points so far.
    fn write(&self, points: &[Point], came: &BTreeMap<usize, Came>) -> Outcome {
        let mut rows = Vec::new();
        let mut columns: Vec<String> = Vec::new();
        for (number, outcome) in came {
            let mut cells = BTreeMap::new();
            let (state, error) = match outcome {
                Came::Done(summary) => {
                    flatten("", summary, &mut |name, value| {
                        if !cells.contains_key(&name) && !columns.contains(&name) {
                            columns.push(name.clone());
                        }
                        cells.insert(name, value);
                    });
                    ("done", "")
                }
                Came::Failed(sentence) => ("failed", sentence.as_str()),
                Came::Stopped => ("stopped", ""),
            };
            rows.push((&points[*number], state, error, cells));
        }
        let path = self.out.join(TABLE);
        let part = self.out.join(format!("{TABLE}.part"));
        let write = || -> io::Result<()> {
            let mut table = csv::Writer::from_path(&part)?;
            let paths = self.axes.iter().map(Axis::path);
            let header = ["point"]
                .into_iter()
                .chain(paths)
                .chain(["outcome", "error"]);
            table.write_record(header.chain(columns.iter().map(String::as_str)))?;
            for (point, state, error, cells) in &rows {
                let values = point.values.iter().map(|change| plain(&change.value));
                let start = [point.folder.clone()].into_iter().chain(values);
                let how = [(*state).to_owned(), (*error).to_owned()];
                let cells = columns
                    .iter()
                    .map(|name| cells.get(name).cloned().unwrap_or_default());
                table.write_record(start.chain(how).chain(cells))?;
            }
            table.flush()?;
            fs::rename(&part, &path)
        };
        write().map_err(|error| Error::unwritten(&path, &error).into())
    }
}

impl Point {
    fn describe(&self) -> String {
        let values: Vec<String> = self.values.iter().map(written).collect();
        values.join(" ")
    }
}

/// The numbers and words of a summary, each with a name: `energy.kinetic`, `walls.floor.force.y`. Histograms are left out.
fn flatten(name: &str, value: &Value, add: &mut impl FnMut(String, String)) {
    let inner = |part: &str| match name {
        "" => part.to_owned(),
        _ => format!("{name}.{part}"),
    };
    match value {
        Value::Object(fields) if fields.contains_key("edges") => (),
        Value::Object(fields) => {
            for (part, value) in fields {
                flatten(&inner(part), value, add);
            }
        }
        Value::Array(entries) => match entries.as_slice() {
            [x, y, z] if x.is_number() => {
                for (axis, value) in [("x", x), ("y", y), ("z", z)] {
                    add(inner(axis), plain(value));
                }
            }
            entries => {
                for entry in entries {
                    let (Some(own), Value::Object(fields)) = (entry["name"].as_str(), entry) else {
                        continue;
                    };
                    for (part, value) in fields.iter().filter(|(part, _)| *part != "name") {
                        flatten(&format!("{}.{part}", inner(own)), value, add);
                    }
                }
            }
        },
        value => add(name.to_owned(), plain(value)),
    }
}

/// A value without quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

/// Says why a run failed: the errors that it printed, or how it ended.
fn reason(said: &str, status: &str) -> String {
    let errors: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("error: "))
        .collect();
    match errors.as_slice() {
        [] => match said.lines().last() {
            Some(last) => format!("{status}: {last}"),
            None => status.to_owned(),
        },
        errors => errors.join("; "),
    }
}

/// First sentence of an error from clap.
fn first_sentence(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    text.lines().next().unwrap_or_default().to_owned()
}
