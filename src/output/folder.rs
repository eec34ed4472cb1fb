//! The folder of a run: what `rockfall run --out` writes.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::aside::{name, part, write_aside};
use super::broken::{self, Broken};
use super::checkpoint::write_checkpoint;
use super::measures::Counts;
use super::record::{Part, Record, Status};
use super::statistics::{Statistics, rows_until};
use super::table::Table;
use super::together::{TOGETHER, Wanted, write_together};
use super::walls::walls;
use super::{RunSummary, vtk, write_npz};
use crate::model::Model;
use crate::model::error::{Error, Result};
use crate::scene::Scene;
use crate::scene::format::{self, Interval, Kind};
use crate::simulation::analysis::fields::Fields;
use crate::simulation::analysis::{self, Moment};
use crate::simulation::checkpoint::Checkpoint;
use crate::simulation::observe::Observer;
use crate::simulation::snapshot::Snapshot;
use crate::simulation::{Options, Simulation};
use crate::state::{Changed, State};

/// Snapshots that wait to be written, at most: then the simulation waits for the writer.
const WAITING: usize = 1;

/// Files that a run writes, and every how many steps.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Every how many steps VTK files and states are written.
    pub every: u64,
    /// Every how many steps there is a row of statistics.
    pub statistics_every: u64,
    /// Every how many steps there is a checkpoint; None: by the clock.
    pub checkpoint_every: Option<u64>,
    /// Kinds of VTK files that are written.
    pub vtk: Vec<Kind>,
    /// Kinds of states that are written.
    pub states: Vec<Kind>,
    /// Measures that are taken.
    pub measures: Option<Measures>,
}

/// Measures of a run, and every how many steps.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Measures {
    /// Every how many steps.
    pub every: u64,
    /// The numbers of a row.
    #[doc(hidden)]
    pub plan: analysis::plan::Plan,
    /// Fields, and every how many steps they are written.
    pub fields: Option<(Fields, u64)>,
}

impl Measures {
    /// The measures that `measure` asks for in a run of `model`.
    fn new(measure: &format::Measure, model: &Model) -> Measures {
        let part = |parts: f64| Interval::seconds(model.duration / parts);
        let every = steps(measure.every.unwrap_or(part(100.0)), model);
        let fields = measure.fields.as_ref().and_then(|fields| {
            // That they can be was checked with the scene.
            let start = fields.start().ok()?;
            let wanted = steps(fields.every.unwrap_or(part(10.0)), model);
            // Only when something was measured.
            Some((start, wanted.next_multiple_of(every)))
        });
        Measures {
            every,
            plan: measure.plan(model),
            fields,
        }
    }

    /// Measures a snapshot.
    fn measure(&mut self, snapshot: &Snapshot) -> Measured {
        let moment = Moment::new(snapshot);
        if let Some((fields, _)) = &mut self.fields {
            fields.add(&moment);
        }
        Measured {
            values: self.plan.values(&moment),
            fields: self.take_fields(snapshot.steps),
        }
    }

    /// The fields up to a step, if they are due to be written then; others begin.
    fn take_fields(&mut self, step: u64) -> Option<Fields> {
        let (fields, every) = self.fields.as_mut()?;
        let is_due = step > 0 && step.is_multiple_of(*every);
        is_due.then(|| {
            let done = fields.clone();
            fields.clear();
            done
        })
    }
}

/// An interval in steps.
fn steps(interval: Interval, model: &Model) -> u64 {
    match (interval.steps, interval.seconds) {
        (Some(steps), _) => steps.max(1),
        (None, seconds) => model.steps_for(seconds.unwrap_or(0.0)).max(1),
    }
}

impl Plan {
    /// Time between checkpoints by default.
    pub const CHECKPOINT: Duration = Duration::from_secs(600);

    /// Plan that a scene file asks for in a run of `model`.
    pub fn new(file: &format::SceneFile, model: &Model) -> Plan {
        let output = &file.output;
        let steps = |interval: Interval| steps(interval, model);
        let part = |parts: f64| Interval::seconds(model.duration / parts);
        Plan {
            every: steps(output.every.unwrap_or(part(100.0))),
            statistics_every: steps(output.statistics_every.unwrap_or(part(1000.0))),
            checkpoint_every: output.checkpoint_every.map(steps),
            vtk: output.vtk.clone().unwrap_or(Kind::ALL.to_vec()),
            states: output.states.clone().unwrap_or(vec![Kind::Bodies]),
            measures: file
                .measure
                .as_ref()
                .map(|measure| Measures::new(measure, model)),
        }
    }
}

/// The folder of a run, written while the run continues: an [`Observer`].
///
/// | path | what |
/// |---|---|
/// | `run.json` | [`Record`]: versions, options, how far the run has come, in the end its summary |
/// | `scene.json` | the scene with all that was settled, and beside it the files that it names |
/// | `statistics.csv` | a row now and then, [`Statistics`] |
/// | `bodies.pvd`, ... | the VTK files of a kind, to be opened in ParaView |
/// | `broken_bonds.csv` | a row for each bond that broke or healed, in the order in which they were seen |
/// | `measures.csv` | what the scene measures |
/// | `collisions.csv` | number and energy of collisions up to each measurement, by classes of impact speeds and of dissipated energies, if the scene asks for it |
/// | `residence.csv` | how long bodies stayed from an inlet to each outlet, by classes of times, up to each measurement, if the scene asks for it |
/// | `fields/` | fields that the scene measures, as VTK image data and NPZ |
/// | `vtk/` | VTK files, with the number of the step in their names |
/// | `states/` | NPZ files, likewise; also of walls that forces move |
/// | `run.checkpoint` | the last checkpoint |
/// | `run.lock` | locked while a run writes to the folder |
///
/// A thread of its own writes; the simulation only copies its state, and waits if the writer is more
/// than one copy behind. On a cluster, all ranks write the large files between two steps, and measures are taken there. Each file but
/// the statistics is written aside and renamed, so what has a name is whole.
pub struct RunFolder {
    path: PathBuf,
    plan: Plan,
    record: Record,
    writer: Option<Writer>,
    /// Held as long as this writes to the folder.
    lock: File,
    /// Times of the start of the run, of the last row of statistics and of the last checkpoint.
    clock: Instant,
    last_row: Row,
    last_checkpoint: Instant,
    /// Checkpoints that many have written so far.
    written: u64,
    /// Whether many processes take the steps.
    is_cluster: bool,
    /// The last step of which many have written files.
    shared: Option<u64>,
    /// The last step that was measured.
    measured: Option<u64>,
}

/// Progress of the simulation when a row of statistics was written.
#[derive(Clone, Copy)]
struct Row {
    steps: u64,
    sphere_steps: u64,
    at: Instant,
}

impl Row {
    fn now(simulation: &Simulation) -> Row {
        Row {
            steps: simulation.steps(),
            sphere_steps: simulation.sphere_steps(),
            at: Instant::now(),
        }
    }
}

struct Writer {
    jobs: SyncSender<Job>,
    thread: JoinHandle<Result<()>>,
}

/// A state to be written.
struct Job {
    state: State,
    /// Bonds that have broken at least once, with the ids of their bodies.
    changed: Vec<(Changed, [u64; 2])>,
    steps: u64,
    /// The row of statistics that is due, if one is.
    row: Option<DueRow>,
    files: Option<DueFiles>,
    checkpoint: Option<Due>,
    measures: Option<DueMeasures>,
}

/// Measures that are due.
enum DueMeasures {
    /// To be taken.
    Now,
    /// Already taken, by those who have the state.
    Taken(Measured),
}

/// Measures of a moment.
struct Measured {
    /// The numbers of the row.
    values: Vec<f64>,
    /// Fields that are due to be written.
    fields: Option<Fields>,
}

/// VTK files and states that are due.
#[derive(Clone, Copy, PartialEq)]
enum DueFiles {
    /// To be written.
    Now,
    /// Files that [many write](TOGETHER) have been written, and get their names when all before them is written. The others are to be
    /// written, and need no bodies.
    Written,
}

/// A row of statistics that is due.
enum DueRow {
    /// To be summed up, after so many spheres times steps a second.
    Now(f64),
    /// Already summed up, by those who have the state.
    Summed(Statistics),
}

/// A checkpoint that is due.
enum Due {
    /// To be written.
    Now,
    /// It has been written, by many, and gets its name when all before it is written.
    Written(PathBuf),
}

impl RunFolder {
    /// Largest number of times that a run continues by itself after its device was lost.
    pub const LOSSES: u32 = 3;
    /// Name of the file of the last checkpoint.
    pub const CHECKPOINT: &str = crate::simulation::checkpoint::FILE;
    /// Name of the scene's file.
    pub const SCENE: &str = crate::scene::FILE;
    /// Name of the record.
    pub const RECORD: &str = "run.json";
    /// Name of the file of statistics.
    pub const STATISTICS: &str = "statistics.csv";
    /// Name of the file of measures.
    pub const MEASURES: &str = "measures.csv";
    /// Name of the file of bonds that broke or healed.
    pub const BROKEN_BONDS: &str = "broken_bonds.csv";
    /// Name of the file of collisions.
    pub const COLLISIONS: &str = "collisions.csv";
    /// Name of the file of residence times.
    pub const RESIDENCE: &str = "residence.csv";
    /// Name of the folder of fields.
    pub const FIELDS: &str = "fields";
    /// Name of the file that is locked while a run writes to the folder.
    pub const LOCK: &str = "run.lock";

    /// Locks a folder for the one run that may write to it, until the file that it returns is dropped. The system lifts the
    /// lock of a process that was killed.
    ///
    /// # Errors
    /// If another run has it, or the file of the lock cannot be made.
    pub fn lock(path: &Path) -> Result<File> {
        let file = path.join(Self::LOCK);
        let wrong = |error: std::io::Error| Error::unwritten(&file, &error);
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&file)
            .map_err(wrong)?;
        match lock.try_lock() {
            Ok(()) => Ok(lock),
            Err(TryLockError::WouldBlock) => Err(Error::Folder {
                folder: path.to_owned(),
                problem: "is in use by another run; wait until it ends, or choose another folder",
            }),
            Err(TryLockError::Error(error)) => {
                // Some file systems have no locks.
                tracing::warn!(folder = %path.display(), %error, "this folder cannot be locked, so a second run in it would go unnoticed");
                Ok(lock)
            }
        }
    }

    /// Makes the folder, which does not exist or is empty, for a run of `scene` that is at its start, and
    /// writes the first state.
    ///
    /// # Errors
    /// If the folder has something in it, or cannot be written.
    pub fn create(
        path: &Path,
        scene: &Scene,
        record: Record,
        simulation: &mut Simulation,
    ) -> Result<RunFolder> {
        let mut folder = RunFolder::create_later(path, scene, record, simulation)?;
        folder.send(simulation, true, true, false)?;
        Ok(folder)
    }

    /// Makes the folder for a simulation that has taken some steps, of which nothing is written.
    ///
    /// # Errors
    /// As [`RunFolder::create`].
    pub fn create_later(
        path: &Path,
        scene: &Scene,
        record: Record,
        simulation: &Simulation,
    ) -> Result<RunFolder> {
        // Without a slash at the end, and never a dot: the folder is renamed to this.
        let path = &fs::canonicalize(path).unwrap_or_else(|_| path.components().collect());
        let wrong = |error: std::io::Error| Error::unwritten(path, &error);
        if let Ok(mut entries) = fs::read_dir(path) {
            if entries.next().is_some() {
                return Err(Error::Folder {
                    folder: path.to_owned(),
                    problem: if path.join(Self::RECORD).exists() {
                        "already has a run; resume it with --resume, or choose another folder"
                    } else {
                        "is not empty; choose another one"
                    },
                });
            }
            fs::remove_dir(path).map_err(wrong)?;
        }
        // All at once, so that a folder that is there can be gone on with.
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        if part.exists() {
            // Unless another run is making it just now.
            drop(RunFolder::lock(&part)?);
            fs::remove_dir_all(&part).map_err(wrong)?;
        }
        fs::create_dir_all(&part).map_err(wrong)?;
        let lock = RunFolder::lock(&part)?;
        scene.save(&part)?;
        fs::create_dir(part.join("vtk")).map_err(wrong)?;
        fs::create_dir(part.join("states")).map_err(wrong)?;
        let columns = Statistics::header(simulation.model());
        fs::write(part.join(Self::STATISTICS), columns).map_err(wrong)?;
        if let Some(measures) = Plan::new(&scene.file, &scene.model).measures {
            let columns = format!("step,{}\n", measures.plan.columns().join(","));
            fs::write(part.join(Self::MEASURES), columns).map_err(wrong)?;
            fs::create_dir(part.join(Self::FIELDS)).map_err(wrong)?;
            for counts in Counts::of(&scene.model.flow) {
                fs::write(part.join(counts.file), counts.header()).map_err(wrong)?;
            }
        }
        if !scene.model.bonds.is_empty() {
            let columns = broken::COLUMNS.join(",") + "\n";
            fs::write(part.join(Self::BROKEN_BONDS), columns).map_err(wrong)?;
        }
        record.write(&part.join(Self::RECORD))?;
        fs::rename(&part, path).map_err(wrong)?;

        let plan = Plan::new(&scene.file, &scene.model);
        RunFolder::start(path, plan, record, simulation, lock)
    }

    /// Resumes the run in a folder: takes `simulation`, which is of its scene and at its start, to
    /// the last checkpoint, if there is one; it is to have taken `steps` steps in the end. What was
    /// written of later steps is taken back, and will be written again.
    ///
    /// # Errors
    /// If the checkpoint is not whole or not of this scene, another run is writing to the folder, or it cannot be written.
    pub fn resume(
        path: &Path,
        scene: &Scene,
        simulation: &mut Simulation,
        steps: u64,
    ) -> Result<RunFolder> {
        RunFolder::go_on(path, scene, simulation, steps, RunFolder::lock(path)?)
    }

    /// [`RunFolder::resume`] with the lock of the folder.
    fn go_on(
        path: &Path,
        scene: &Scene,
        simulation: &mut Simulation,
        steps: u64,
        lock: File,
    ) -> Result<RunFolder> {
        let mut record = Record::read(&path.join(Self::RECORD))?;
        record.steps = steps;
        record.error = None;
        record.summary = None;
        remove_unnamed(path)?;
        let file = path.join(Self::CHECKPOINT);
        if file.exists() {
            simulation.read_checkpoint(&file)?;
        }
        let rows = keep_rows(&path.join(Self::STATISTICS), simulation.steps())?;
        let plan = Plan::new(&scene.file, &scene.model);
        if plan.measures.is_some() {
            keep_rows(&path.join(Self::MEASURES), simulation.steps())?;
            for counts in Counts::of(&scene.model.flow) {
                keep_rows(&path.join(counts.file), simulation.steps())?;
            }
        }
        if !scene.model.bonds.is_empty() {
            keep_rows(&path.join(Self::BROKEN_BONDS), simulation.steps())?;
        }
        let mut folder = RunFolder::start(path, plan, record, simulation, lock)?;
        if simulation.steps() == 0 {
            let first = rows < 2;
            folder.send(simulation, first, true, false)?;
        }
        Ok(folder)
    }

    /// Runs a simulation of `scene` as [`Simulation::run`] does, with this as the first observer, until it has taken the steps that
    /// the record names. If the device is lost, reopens it as in `options`, and continues from the last checkpoint, or from
    /// the start if there is none: at most [`RunFolder::LOSSES`] times. `tell` gets each error, and where the run continues.
    ///
    /// # Errors
    /// As [`Simulation::run`]; the last loss, if there are more of them; what keeps the device from being opened, or the
    /// checkpoint from being read.
    pub fn run(
        &mut self,
        scene: &Scene,
        simulation: &mut Simulation,
        options: &Options,
        others: &mut [&mut dyn Observer],
        mut tell: impl FnMut(&Error, &Simulation),
    ) -> Result<ControlFlow<()>> {
        let steps = self.record.steps;
        let mut losses = 0;
        loop {
            let mut observers: Vec<&mut dyn Observer> = vec![&mut *self];
            for other in others.iter_mut() {
                observers.push(&mut **other);
            }
            // A device that is lost while the last state is read is one that is lost before the end.
            let outcome = simulation.run(steps, &mut observers).and_then(|flow| {
                // Not of a cluster: it ends where it loses a rank.
                if !simulation.is_spread() {
                    simulation.fetch_carried()?;
                }
                Ok(flow)
            });
            let lost = match outcome {
                Err(lost @ Error::Lost { .. }) if losses < Self::LOSSES => lost,
                outcome => return outcome,
            };
            losses += 1;
            self.wait()?;
            self.note(simulation, Status::Running)?;
            let lock = self.lock.try_clone();
            let lock = lock.map_err(|error| Error::unwritten(&self.path, &error))?;
            simulation.reopen(options)?;
            *self = RunFolder::go_on(&self.path, scene, simulation, steps, lock)?;
            tell(&lost, simulation);
        }
    }

    fn start(
        path: &Path,
        plan: Plan,
        record: Record,
        simulation: &Simulation,
        lock: File,
    ) -> Result<RunFolder> {
        let mut folder = RunFolder {
            path: path.to_owned(),
            plan,
            record,
            writer: None,
            lock,
            clock: Instant::now(),
            last_row: Row::now(simulation),
            last_checkpoint: Instant::now(),
            written: 0,
            is_cluster: simulation.is_on_cluster(),
            shared: None,
            measured: None,
        };
        folder.record.parts.push(Part {
            from_step: simulation.steps(),
            to_step: simulation.steps(),
            wall_s: 0.0,
            backend: simulation.backend().to_owned(),
            adapter: simulation.adapter(),
        });
        folder.note(simulation, Status::Running)?;
        folder.writer = Some(folder.writer_of(simulation)?);
        Ok(folder)
    }

    /// Record of the run, as it is in `run.json`.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Files that it writes, and how often.
    #[doc(hidden)]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts the thread that writes.
    fn writer_of(&mut self, simulation: &Simulation) -> Result<Writer> {
        self.measured = last_step(&self.path.join(Self::MEASURES));
        let (jobs, received) = sync_channel::<Job>(WAITING);
        let mut files = Files::open(&self.path, &self.plan, simulation)?;
        let thread = std::thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || received.into_iter().try_for_each(|job| files.write(&job)))
            .map_err(|error| Error::unwritten(&self.path, &error))?;
        Ok(Writer { jobs, thread })
    }

    /// Hands the state as it is now to the writer.
    fn send(
        &mut self,
        simulation: &mut Simulation,
        row: bool,
        files: bool,
        checkpoint: bool,
    ) -> Result<()> {
        let steps = simulation.steps();
        let row = row.then(|| {
            let last = std::mem::replace(&mut self.last_row, Row::now(simulation));
            let seconds = last.at.elapsed().as_secs_f64();
            (simulation.sphere_steps() - last.sphere_steps) as f64 / seconds.max(1e-9)
        });
        if checkpoint {
            self.last_checkpoint = Instant::now();
        }
        let measures = self.measure(simulation)?;
        let checkpoint = match checkpoint {
            true => Some(self.checkpoint(simulation)?),
            false => None,
        };
        let sums = row.is_some() && simulation.is_spread();
        let row = match row {
            Some(rate) if sums => {
                let totals = simulation.totals()?;
                let whole = simulation.fetched();
                Some(DueRow::Summed(Statistics::of(&whole, &totals, rate)))
            }
            row => row.map(DueRow::Now),
        };
        let files = match (files, simulation.is_spread()) {
            (false, _) => None,
            (true, false) => Some(DueFiles::Now),
            // At its end, a run comes by its last step again; the files of the first time may not have their names yet.
            (true, true) if self.shared == Some(steps) => None,
            (true, true) => {
                let wanted = self.wanted(simulation.model(), steps);
                write_together(simulation, wanted)?;
                self.shared = Some(steps);
                Some(DueFiles::Written)
            }
        };
        let changed = match simulation.model().bonds.is_empty() {
            true => Vec::new(),
            false => simulation.changed_bonds()?,
        };
        let reads = matches!(row, Some(DueRow::Now(_)))
            || files == Some(DueFiles::Now)
            || matches!(measures, Some(DueMeasures::Now))
            || matches!(checkpoint, Some(Due::Now));
        let state = match reads {
            true => simulation.fetch_carried()?.state.clone(),
            false if files.is_some() || measures.is_some() => simulation.outline()?,
            false => State::default(),
        };
        let job = Job {
            state,
            changed,
            steps,
            row,
            files,
            checkpoint,
            measures,
        };
        let Some(writer) = &self.writer else {
            return Ok(());
        };
        match writer.jobs.send(job) {
            Ok(()) => Ok(()),
            // The writer has stopped, and says why.
            Err(_) => self.wait(),
        }
    }

    /// Takes measures if they are due, or has the writer take them where this process has the state.
    fn measure(&mut self, simulation: &mut Simulation) -> Result<Option<DueMeasures>> {
        let steps = simulation.steps();
        let Some(measures) = &mut self.plan.measures else {
            return Ok(None);
        };
        // At its end, a run comes by its last step again.
        if !steps.is_multiple_of(measures.every) || self.measured == Some(steps) {
            return Ok(None);
        }
        self.measured = Some(steps);
        if !self.is_cluster {
            return Ok(Some(DueMeasures::Now));
        }
        let fields = measures.fields.as_mut().map(|(fields, _)| fields);
        let values = simulation.measure(&measures.plan, fields)?;
        let fields = measures.take_fields(steps);
        Ok(Some(DueMeasures::Taken(Measured { values, fields })))
    }

    /// The files of a step that many write.
    fn wanted(&self, model: &Model, step: u64) -> Vec<Wanted> {
        let mut all = Vec::new();
        for kind in TOGETHER.into_iter().filter(|kind| is_there(*kind, model)) {
            let mut add = |kinds: &[Kind], file: String, is_npz| {
                if kinds.contains(&kind) {
                    all.push(Wanted {
                        kind,
                        is_npz,
                        path: self.path.join(file),
                    });
                }
            };
            add(&self.plan.vtk, vtk_file(kind, step), false);
            add(&self.plan.states, state_file(kind, step), true);
        }
        all
    }

    /// Has a checkpoint written by many, if many have the state.
    fn checkpoint(&mut self, simulation: &mut Simulation) -> Result<Due> {
        // The last one may not have its name yet.
        self.written += 1;
        let name = format!("{}.{}.part", Self::CHECKPOINT, self.written);
        let file = self.path.join(name);
        let written = simulation.write_checkpoint_together(&file);
        if written.is_err() {
            // Half of it is of no use, and the disk may be full.
            let _ = fs::remove_file(&file);
        }
        Ok(match written? {
            true => Due::Written(file),
            false => Due::Now,
        })
    }

    /// Waits until all is written that was due so far; nothing is written after that.
    ///
    /// # Errors
    /// If something could not be written.
    pub fn wait(&mut self) -> Result<()> {
        let Some(Writer { jobs, thread }) = self.writer.take() else {
            return Ok(());
        };
        drop(jobs);
        match thread.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    fn note(&mut self, simulation: &Simulation, status: Status) -> Result<()> {
        self.record.status = status;
        if let Some(part) = self.record.parts.last_mut() {
            part.to_step = simulation.steps();
            part.wall_s = self.clock.elapsed().as_secs_f64();
        }
        self.record.write(&self.path.join(Self::RECORD))
    }

    /// Writes the last state, a checkpoint, and what the run came to: it is over, or was stopped.
    ///
    /// # Errors
    /// If the device is lost, or something cannot be written.
    pub fn finish(
        mut self,
        simulation: &mut Simulation,
        stopped: bool,
        summary: RunSummary,
    ) -> Result<()> {
        let steps = simulation.steps();
        let row = self.last_row.steps < steps && !stopped;
        self.send(simulation, row, !stopped, true)?;
        self.wait()?;
        self.record.summary = serde_json::to_value(summary).ok();
        let status = if stopped {
            Status::Stopped
        } else {
            Status::Finished
        };
        self.note(simulation, status)
    }

    /// After `step` has failed for a lost body: goes back to the last checkpoint, or to the start, takes
    /// all steps but the one in which the body was lost, and writes that state and a checkpoint of it.
    /// Returns the number of the step.
    ///
    /// # Errors
    /// If the device is lost, or something cannot be written.
    pub fn rescue(mut self, simulation: &mut Simulation, error: &Error) -> Result<u64> {
        let Error::Runaway { step, .. } = error else {
            return Ok(simulation.steps());
        };
        let good = step - 1;
        self.wait()?;
        let file = self.path.join(Self::CHECKPOINT);
        if file.exists() {
            Checkpoint::read(&file)?.restore(simulation)?;
        } else {
            let start = State::new(simulation.model());
            simulation.restore(&start, 0)?;
        }
        tracing::info!(
            from = simulation.steps(),
            to = good,
            "going back to the last good state"
        );
        simulation.step(good - simulation.steps())?;
        self.writer = Some(self.writer_of(simulation)?);
        self.send(simulation, false, true, true)?;
        self.wait()?;
        self.record.error = Some(error.to_string());
        self.note(simulation, Status::Failed)?;
        Ok(good)
    }
}

/// Whatever ends a run, what was due before is written.
impl Drop for RunFolder {
    fn drop(&mut self) {
        let _ = self.wait();
    }
}

/// Whether a scene has what the files of a kind show.
fn is_there(kind: Kind, model: &Model) -> bool {
    kind != Kind::Bonds || !model.bonds.is_empty()
}

/// The VTK file of a kind, in the folder of a run.
fn vtk_file(kind: Kind, step: u64) -> String {
    format!("vtk/{}_{step:012}.vtp", kind.keyword())
}

/// The states of a kind, in the folder of a run.
fn state_file(kind: Kind, step: u64) -> String {
    format!("states/{}_{step:012}.npz", kind.keyword())
}

/// Removes checkpoints that many have written and that have got no name: whoever did was killed.
fn remove_unnamed(folder: &Path) -> Result<()> {
    let wrong = |error: std::io::Error| Error::unwritten(folder, &error);
    for entry in fs::read_dir(folder).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let own = name.strip_prefix(RunFolder::CHECKPOINT);
        if own.is_some_and(|rest| rest.ends_with(".part")) {
            fs::remove_file(entry.path()).map_err(wrong)?;
        }
    }
    Ok(())
}

/// Takes back the rows of a file of statistics after a step; returns how many lines are left.
fn keep_rows(file: &Path, step: u64) -> Result<usize> {
    let wrong = |error: std::io::Error| Error::unwritten(file, &error);
    let text = fs::read_to_string(file).map_err(wrong)?;
    let rows = rows_until(&text, step);
    write_aside(file, true, |writer| writer.write_all(rows.as_bytes())).map_err(wrong)?;
    Ok(rows.lines().count())
}

/// The step of the last row of a file of statistics.
fn last_step(file: &Path) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().last()?.split(',').next()?.parse().ok()
}

impl Observer for RunFolder {
    fn next(&self, step: u64) -> u64 {
        let after = |every: u64| (step / every + 1).saturating_mul(every);
        let plan = &self.plan;
        let mut next = after(plan.every).min(after(plan.statistics_every));
        if let Some(measures) = &plan.measures {
            next = next.min(after(measures.every));
        }
        plan.checkpoint_every
            .map_or(next, |every| next.min(after(every)))
    }

    fn observe(&mut self, simulation: &mut Simulation) -> Result<ControlFlow<()>> {
        let step = simulation.steps();
        let due = |every: u64| step.is_multiple_of(every);
        let checkpoint = match self.plan.checkpoint_every {
            Some(every) => due(every),
            None => self.last_checkpoint.elapsed() >= Plan::CHECKPOINT,
        };
        self.send(
            simulation,
            due(self.plan.statistics_every),
            due(self.plan.every),
            checkpoint,
        )?;
        Ok(ControlFlow::Continue(()))
    }
}

/// Everything that the writing thread needs.
struct Files {
    path: PathBuf,
    plan: Plan,
    model: Arc<Model>,
    backend: &'static str,
    adapter: String,
    statistics: File,
    measures: Option<File>,
    counts: Vec<(&'static Counts, File)>,
    broken: Option<Broken>,
    /// Steps of which there are VTK files, of each kind.
    drawn: HashMap<String, BTreeSet<u64>>,
}

impl Files {
    fn open(path: &Path, plan: &Plan, simulation: &Simulation) -> Result<Files> {
        let append = |name: &str| {
            let file = path.join(name);
            let opened = OpenOptions::new().append(true).open(&file);
            opened.map_err(|error| Error::unwritten(&file, &error))
        };
        let statistics = append(RunFolder::STATISTICS)?;
        let (mut measures, mut counts) = (None, Vec::new());
        if plan.measures.is_some() {
            measures = Some(append(RunFolder::MEASURES)?);
            for own in Counts::of(&simulation.model().flow) {
                counts.push((own, append(own.file)?));
            }
        }
        let has_bonds = !simulation.model().bonds.is_empty();
        let broken = has_bonds.then(|| Broken::open(&path.join(RunFolder::BROKEN_BONDS)));
        let mut files = Files {
            path: path.to_owned(),
            plan: plan.clone(),
            model: simulation.shared_model(),
            backend: simulation.backend(),
            adapter: simulation.adapter(),
            statistics,
            measures,
            counts,
            broken: broken.transpose()?,
            drawn: HashMap::new(),
        };
        files.look(simulation.steps())?;
        Ok(files)
    }

    /// Finds what there is up to a step, and removes what is later: it will be written again, and some
    /// of it, such as the last state of a run that goes on for longer, will not.
    fn look(&mut self, until: u64) -> Result<()> {
        for folder in ["vtk", "states", RunFolder::FIELDS] {
            let folder = self.path.join(folder);
            if !folder.is_dir() {
                continue;
            }
            let wrong = |error: std::io::Error| Error::unwritten(&folder, &error);
            for entry in fs::read_dir(&folder).map_err(wrong)? {
                let path = entry.map_err(wrong)?.path();
                let ending = path.extension().and_then(|ending| ending.to_str());
                let stem = path.file_stem().and_then(|stem| stem.to_str());
                let parts = stem.and_then(|stem| stem.rsplit_once('_'));
                let numbered = parts.and_then(|(kind, step)| Some((kind, step.parse().ok()?)));
                match (numbered, ending) {
                    (Some((kind, step)), Some("vtp" | "vti")) if step <= until => {
                        self.drawn.entry(kind.to_owned()).or_default().insert(step);
                    }
                    (Some((_, step)), Some("npz")) if step <= until => (),
                    (Some(_), Some("vtp" | "vti" | "npz")) | (_, Some("part")) => {
                        fs::remove_file(&path).map_err(wrong)?;
                    }
                    // Not one of ours.
                    _ => (),
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, job: &Job) -> Result<()> {
        let model = Arc::clone(&self.model);
        let snapshot = Snapshot {
            model: &model,
            state: &job.state,
            steps: job.steps,
        };
        if let Some(row) = &job.row {
            let path = self.path.join(RunFolder::STATISTICS);
            let written = match row {
                DueRow::Now(rate) => Statistics::new(&snapshot, *rate).write(&mut self.statistics),
                DueRow::Summed(row) => row.write(&mut self.statistics),
            };
            written.map_err(|error| Error::unwritten(&path, &error))?;
        }
        if let Some(broken) = &mut self.broken {
            broken.write(&job.changed)?;
        }
        if let Some(due) = job.files {
            self.write_files(&snapshot, due)?;
        }
        if let Some(due) = &job.measures {
            self.write_measures(&snapshot, due)?;
        }
        if let Some(due) = &job.checkpoint {
            // What was written before it has to outlast it.
            let _ = self.statistics.sync_data();
            let path = self.path.join(RunFolder::CHECKPOINT);
            match due {
                Due::Now => write_checkpoint(&path, &snapshot, self.backend, &self.adapter)?,
                Due::Written(file) => {
                    name(file, &path).map_err(|error| Error::unwritten(&path, &error))?;
                    tracing::info!(step = job.steps, file = %path.display(), "checkpoint written");
                }
            }
        }
        Ok(())
    }

    fn write_measures(&mut self, snapshot: &Snapshot, due: &DueMeasures) -> Result<()> {
        let (Some(measures), Some(file)) = (&mut self.plan.measures, &mut self.measures) else {
            return Ok(());
        };
        let now;
        let Measured { values, fields } = match due {
            DueMeasures::Taken(taken) => taken,
            DueMeasures::Now => {
                now = measures.measure(snapshot);
                &now
            }
        };
        let mut row = snapshot.steps.to_string();
        for value in values {
            row.push(',');
            if !value.is_nan() {
                row += &value.to_string();
            }
        }
        let path = self.path.join(RunFolder::MEASURES);
        file.write_all((row + "\n").as_bytes())
            .map_err(|error| Error::unwritten(&path, &error))?;
        for (counts, file) in &mut self.counts {
            let rows = counts.rows(snapshot);
            file.write_all(rows.as_bytes())
                .map_err(|error| Error::unwritten(&self.path.join(counts.file), &error))?;
        }
        let Some(done) = fields else {
            return Ok(());
        };
        let (step, time) = (snapshot.steps, snapshot.time());
        let stem = format!("{}/fields_{step:012}", RunFolder::FIELDS);
        self.file(&format!("{stem}.vti"), |writer| {
            vtk::write_fields(writer, done, time)
        })?;
        self.file(&format!("{stem}.npz"), |writer| {
            write_npz(writer, &Table::fields(done), step, time)
        })?;
        self.drawn
            .entry("fields".to_owned())
            .or_default()
            .insert(step);
        self.list("fields", |step| {
            format!("{}/fields_{step:012}.vti", RunFolder::FIELDS)
        })
    }

    /// Writes the list of the files of a kind, to be opened as one.
    fn list(&self, kind: &str, file: impl Fn(u64) -> String) -> Result<()> {
        let drawn = self.drawn.get(kind).into_iter().flatten();
        let of = |step: &u64| (*step as f64 * self.model.time_step, file(*step));
        let files: Vec<(f64, String)> = drawn.map(of).collect();
        self.file(&format!("{kind}.pvd"), |writer| {
            vtk::write_pvd(writer, &files)
        })
    }

    fn write_files(&mut self, snapshot: &Snapshot, due: DueFiles) -> Result<()> {
        let (step, time) = (snapshot.steps, snapshot.time());
        // Nothing but the run says where they are.
        let model = snapshot.model;
        let by_forces = model.walls.iter().any(|wall| wall.dynamic.is_some());
        let mut stages = model.stages.list.iter();
        let by_stages = stages.any(|stage| !stage.motions.is_empty());
        if (by_forces || by_stages) && !self.plan.states.is_empty() {
            let table = Table::walls(snapshot);
            let path = format!("states/walls_{step:012}.npz");
            self.file(&path, |writer| write_npz(writer, &table, step, time))?;
        }
        for kind in Kind::ALL {
            let (draw, keep) = (
                self.plan.vtk.contains(&kind),
                self.plan.states.contains(&kind),
            );
            if !draw && !keep || !is_there(kind, model) {
                continue;
            }
            let (vtk, state) = (vtk_file(kind, step), state_file(kind, step));
            if due == DueFiles::Written && TOGETHER.contains(&kind) {
                let named = [(draw, &vtk), (keep, &state)];
                for (_, file) in named.into_iter().filter(|(is_due, _)| *is_due) {
                    let path = self.path.join(file);
                    fs::rename(part(&path), &path)
                        .map_err(|error| Error::unwritten(&path, &error))?;
                }
            } else if kind == Kind::Walls {
                let walls = walls(snapshot);
                self.file(&vtk, |writer| vtk::write_walls(writer, &walls, time))?;
            } else {
                let table = match kind {
                    Kind::Bodies => Table::bodies(snapshot),
                    Kind::Spheres => Table::spheres(snapshot),
                    Kind::Bonds => Table::bonds(snapshot),
                    _ => Table::contacts(snapshot),
                };
                if draw {
                    self.file(&vtk, |writer| match kind {
                        Kind::Contacts | Kind::Bonds => vtk::write_contacts(writer, &table, time),
                        _ => vtk::write_points(writer, &table, time),
                    })?;
                }
                if keep {
                    self.file(&state, |writer| write_npz(writer, &table, step, time))?;
                }
            }
            if draw {
                let name = kind.keyword();
                let drawn = self.drawn.entry(name.to_owned()).or_default();
                drawn.insert(step);
                self.list(name, |step| vtk_file(kind, step))?;
            }
        }
        tracing::debug!(step, "files written");
        Ok(())
    }

    fn file(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
    ) -> Result<()> {
        let path = self.path.join(name);
        write_aside(&path, false, write).map_err(|error| Error::unwritten(&path, &error))
    }
}
