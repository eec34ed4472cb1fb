//! Errors of simulations; for errors of scenes see [`crate::scene::SceneError`].
//!
//! The sentences say what is wrong. The program that reports an error adds what its user may type.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// An error of a simulation; its text is a sentence.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// No usable adapter was found.
    #[error("{0}")]
    NoAdapter(String),
    /// This build does not have the engine.
    #[error(
        "this build of Rockfall has no {engine} engine; build it with the feature `{feature}`, or choose another engine"
    )]
    NoEngine {
        /// Name of the engine, in words.
        engine: &'static str,
        /// Feature of the package that brings the engine.
        feature: &'static str,
    },
    /// The adapter refuses to open.
    #[error("the adapter {adapter} cannot be opened: {reason}")]
    Device {
        /// Name of the adapter.
        adapter: String,
        /// Answer of the system.
        reason: String,
    },
    /// A buffer of the scene is larger than the adapter allows or has memory for.
    #[error(
        "the scene needs a buffer `{buffer}` of {needed} bytes, and {adapter} {limit}; use fewer bodies, another adapter, or the CPU engine"
    )]
    TooLarge {
        /// Name of the buffer.
        buffer: &'static str,
        /// Size of the buffer, bytes.
        needed: u64,
        /// Name of the adapter.
        adapter: String,
        /// Words for the limit that the buffer exceeds.
        limit: String,
    },
    /// The machine has too little memory for a scene on the CPU engine.
    #[error(
        "the scene has {spheres} spheres, which take {} or more on the CPU engine, and this machine has {} left; use fewer bodies, a GPU, or a larger machine",
        gigabytes(*needed), gigabytes(*available)
    )]
    NoMemory {
        /// Number of spheres.
        spheres: u64,
        /// Memory that they take at least, about, bytes.
        needed: u64,
        /// Memory that the machine has left, bytes.
        available: u64,
    },
    /// One process cannot step so many spheres.
    #[doc(hidden)]
    #[error(
        "the scene has {spheres} spheres, which are {} in each process, and one steps at most {most}, since the places in its \
         neighbour lists are numbers of 32 bits; start more of them with mpirun, or use fewer bodies",
        spheres / *processes as u64
    )]
    TooMany {
        /// Number of spheres.
        spheres: u64,
        /// Number of processes that step them.
        processes: usize,
        /// Spheres that one of them can step.
        most: u64,
    },
    /// A whole state cannot count all entries of its neighbour lists.
    #[doc(hidden)]
    #[error(
        "the neighbour lists of all ranks have {entries} entries together, and a checkpoint counts at most {} of them; use fewer \
         bodies, or write no checkpoint",
        u32::MAX
    )]
    TooManyEntries {
        /// Number of entries.
        entries: u64,
    },
    /// A shader does not compile.
    #[error("the shader {name} does not compile; this is a bug in Rockfall:\n{message}")]
    Shader {
        /// Name of the shader.
        name: &'static str,
        /// Message of naga.
        message: String,
    },
    /// The device stopped working.
    #[error(
        "the device {adapter} was lost during the run: {reason}; the usual cause is a driver that resets long submissions; use fewer bodies, or the CPU engine"
    )]
    Lost {
        /// Name of the adapter.
        adapter: String,
        /// Answer of the system.
        reason: String,
    },
    /// The domain is too narrow along a periodic axis.
    #[error(
        "the domain is {length} m long along {axis}, where it is periodic, and its bodies need {least} m: two of their largest diameters, with the range of forces across gaps; make it longer, or not periodic along {axis}"
    )]
    NarrowDomain {
        /// The axis: `x`, `y` or `z`.
        axis: char,
        /// Length of the domain along that axis, m.
        length: f64,
        /// Least length, m; see [`crate::state::least_period`].
        least: f64,
    },
    /// A body moves or turns too far in a step to be followed, or its velocity is not a number.
    ///
    /// The simulation stands at the end of that step, and takes no more steps.
    #[error(
        "in step {step}, body {body} ({shape}) {how}; lower contact.time_step, and check the forces and speeds of the scene"
    )]
    Runaway {
        /// Index of the body; the largest index if there are several such bodies.
        body: usize,
        /// Name of its shape.
        shape: String,
        /// Number of the step, counted from 1.
        step: u64,
        /// Words for what is wrong with the body's motion.
        how: &'static str,
    },
    /// The CPU engine cannot run a custom contact law.
    #[error(
        "the contact law of this scene is {file}, in WGSL, which runs on the GPU engine only; a software adapter will do"
    )]
    CustomLaw {
        /// The file of the law.
        file: String,
    },
    /// The adapter can compute but not draw.
    #[error("the adapter {adapter} cannot draw: it lacks {lacks}")]
    CannotDraw {
        /// Name of the adapter.
        adapter: String,
        /// Part that is missing.
        lacks: &'static str,
    },
    /// A picture is too large, or has no pixels.
    #[error(
        "a picture of {} x {} pixels, with {supersampling} x {supersampling} samples each, is not possible: {adapter} draws 1 to {most} samples a side; choose another size, or fewer samples",
        size[0], size[1]
    )]
    PictureSize {
        /// Width and height, pixels.
        size: [u32; 2],
        /// Samples of a pixel along each side.
        supersampling: u32,
        /// Largest number of samples along a side.
        most: u32,
        /// Name of the adapter.
        adapter: String,
    },
    /// A simulation cannot continue from a checkpoint.
    #[error("{}: {problem}", file.display())]
    Checkpoint {
        /// The file.
        file: PathBuf,
        /// Sentence with what was found, what was expected, and what to do.
        problem: String,
    },
    /// A run cannot be written to a folder, or the run in the folder cannot be resumed.
    #[error("the folder {} {problem}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Sentence with what is wrong with it, and what to do.
        problem: &'static str,
    },
    /// A file cannot be written.
    #[error("the file {} cannot be written: {reason}", file.display())]
    Unwritten {
        /// The file.
        file: PathBuf,
        /// Answer of the system.
        reason: String,
    },
    /// A custom [`Observer`](crate::Observer) reported an error.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
    /// A running simulation refuses a change.
    #[error("{0}")]
    Tuned(String),
    /// No window can be opened.
    #[error("no window can be opened: {0}")]
    Window(String),
    /// The display of a window has gone away while it was open.
    #[error("the display is gone{}", kept(run.as_deref()))]
    DisplayGone {
        /// The folder that keeps the run, if it had taken steps.
        run: Option<PathBuf>,
    },
    /// No body has the index.
    #[error("there is no body {body}: the scene has {count}, numbered from 0")]
    NoSuchBody {
        /// The index.
        body: u32,
        /// Number of bodies.
        count: usize,
    },
    /// The steps were cancelled; the simulation is at the end of a step, and can continue.
    #[error("cancelled after step {step}")]
    Cancelled {
        /// Number of steps taken.
        step: u64,
    },
    /// A body has left the simulation, or never was in it.
    #[error(
        "there is no body with the number {id}: it has left, or it belongs to another simulation"
    )]
    BodyGone {
        /// Number of the body.
        id: u64,
    },
    /// A cluster does not support something.
    #[error("a cluster does not support {what}; run without mpirun")]
    NotOnCluster {
        /// Words for what is not supported.
        what: &'static str,
    },
    /// A rank of a cluster has no GPU, or cannot use it.
    #[error("rank {rank}: {reason}")]
    Rank {
        /// Number of the rank, from 0.
        rank: usize,
        /// Words for what is there, or the driver's answer.
        reason: String,
    },
    /// The thread pool of the CPU engine cannot be started.
    #[error("the CPU engine cannot start {threads} threads: {reason}")]
    Threads {
        /// Number of threads.
        threads: usize,
        /// Answer of the system.
        reason: String,
    },
}

/// A number of bytes, in words.
pub(crate) fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// Words for the folder that keeps a run; empty without one.
fn kept(run: Option<&Path>) -> String {
    run.map_or_else(String::new, |run| {
        format!("; the folder {} keeps the run", run.display())
    })
}

/// A result whose error is [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The error for a file that cannot be written.
    pub fn unwritten(file: &Path, reason: &io::Error) -> Error {
        Error::Unwritten {
            file: file.to_owned(),
            reason: reason.to_string(),
        }
    }
}
