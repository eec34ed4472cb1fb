use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::aside::write_aside;
use crate::model::error::{Error, Result};
use crate::simulation::checkpoint::hex;
use crate::simulation::{Backend, Options, Precision, Simulation};

/// Version of the format.
const VERSION: u32 = 1;

/// Record of a run in `run.json`: enough to repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of this file: 1.
    pub version: u32,
    /// Version of Rockfall.
    pub rockfall: String,
    /// Commit that it was built from; empty in a development build, and if it was not built in a repository.
    pub commit: String,
    /// The scene's file, beside this one.
    pub scene: String,
    /// [`Model::hash`](crate::model::Model::hash): 16 hexadecimal digits.
    pub scene_hash: String,
    /// Options that were asked for.
    #[doc(hidden)]
    pub options: RecordedOptions,
    /// Arguments of the command.
    pub command: Vec<String>,
    /// Start of the run: seconds since the start of 1970, UTC.
    pub started_s: u64,
    /// Time step, s.
    pub time_step: f64,
    /// Number of steps that the run is to take.
    pub steps: u64,
    /// Names of the shapes, by their indices.
    pub shapes: Vec<String>,
    /// Names of the materials, by their indices.
    pub materials: Vec<String>,
    /// Status of the run.
    pub status: Status,
    /// Reason for its failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The run in one piece, or the pieces that it was resumed in.
    #[doc(hidden)]
    pub parts: Vec<Part>,
    /// Summary, as `rockfall run --json` prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Value>,
}

/// Status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It is running, or was killed.
    Running,
    /// It has taken all its steps.
    Finished,
    /// It was stopped, and can be resumed.
    Stopped,
    /// A body was lost.
    Failed,
}

/// The options of a simulation, as they are recorded.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedOptions {
    /// `"auto"`, `"gpu"`, `"cpu"` or `"reference"`.
    pub backend: String,
    /// Precision of the reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Part of the adapter's name.
    pub adapter: Option<String>,
    /// Threads of the CPU engine.
    pub threads: Option<usize>,
}

/// Part of a run that went on without a stop.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Steps taken when it began.
    pub from_step: u64,
    /// Steps taken when it ended, as far as is known.
    pub to_step: u64,
    /// Wall-clock time that it took, s.
    pub wall_s: f64,
    /// `"cpu"`, `"gpu"` or `"reference"`.
    pub backend: String,
    /// The adapter, or the CPU with its number of threads.
    pub adapter: String,
}

impl Record {
    /// Makes the record of a run that is about to start and is to take `steps` steps.
    pub fn new(
        simulation: &Simulation,
        options: &Options,
        command: Vec<String>,
        steps: u64,
    ) -> Record {
        let model = simulation.model();
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Record {
            version: VERSION,
            rockfall: env!("CARGO_PKG_VERSION").to_owned(),
            commit: env!("ROCKFALL_COMMIT").to_owned(),
            scene: super::RunFolder::SCENE.to_owned(),
            scene_hash: hex(model.hash()),
            options: RecordedOptions::from(options),
            command,
            started_s: since.map_or(0, |since| since.as_secs()),
            time_step: model.time_step,
            steps,
            shapes: model.shapes.iter().map(|s| s.name.clone()).collect(),
            materials: model.materials.clone(),
            status: Status::Running,
            error: None,
            parts: Vec::new(),
            summary: None,
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// If the file cannot be read, or is none of this version.
    pub fn read(file: &Path) -> Result<Record> {
        let folder = file.parent().unwrap_or(Path::new("."));
        let wrong = |problem| Error::Folder {
            folder: folder.to_owned(),
            problem,
        };
        let text = std::fs::read_to_string(file).map_err(|_| {
            wrong("has no readable run.json; choose a folder that `rockfall run --out` has made")
        })?;
        let value: Value = serde_json::from_str(&text)
            .map_err(|_| wrong("has a run.json that is not JSON; choose another folder"))?;
        if value["version"] != VERSION {
            return Err(wrong(
                "has a run.json of another version; resume with the version of Rockfall that wrote it",
            ));
        }
        serde_json::from_value(value)
            .map_err(|_| wrong("has a run.json with other fields; choose another folder"))
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, file: &Path) -> Result<()> {
        write_aside(file, true, |writer| {
            serde_json::to_writer_pretty(writer, self).map_err(Into::into)
        })
        .map_err(|error| Error::unwritten(file, &error))
    }
}

impl From<&Options> for RecordedOptions {
    fn from(options: &Options) -> Self {
        let (backend, precision) = match options.backend {
            Backend::Auto => ("auto", None),
            Backend::Gpu => ("gpu", None),
            Backend::Cpu => ("cpu", None),
            Backend::Reference(precision) => ("reference", Some(precision)),
        };
        RecordedOptions {
            backend: backend.to_owned(),
            precision,
            adapter: options.adapter.clone(),
            threads: options.threads,
        }
    }
}

impl From<&RecordedOptions> for Options {
    fn from(recorded: &RecordedOptions) -> Self {
        Options {
            #[cfg(all(feature = "cpu", feature = "gpu"))]
            cluster: None,
            backend: match recorded.backend.as_str() {
                "gpu" => Backend::Gpu,
                "cpu" => Backend::Cpu,
                "reference" => Backend::Reference(recorded.precision.unwrap_or_default()),
                _ => Backend::Auto,
            },
            adapter: recorded.adapter.clone(),
            threads: recorded.threads,
        }
    }
}
