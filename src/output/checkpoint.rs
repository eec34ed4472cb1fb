//! Checkpoints as files. A file is whole or not there: it is written to another name and renamed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::aside::{name, part, write_aside};
use crate::model::error::{Error, Result};
use crate::simulation::Simulation;
use crate::simulation::checkpoint::{Checkpoint, Storage, encode, unreadable};
use crate::simulation::snapshot::Snapshot;

/// Writes a checkpoint, whole or not at all; see [`encode`].
///
/// # Errors
/// If the file cannot be written.
pub fn write_checkpoint(
    path: &Path,
    snapshot: &Snapshot,
    backend: &str,
    adapter: &str,
) -> Result<()> {
    write_aside(path, true, |writer| {
        encode(writer, snapshot, backend, adapter)
    })
    .map_err(|error| Error::unwritten(path, &error))?;
    tracing::info!(step = snapshot.steps, file = %path.display(), "checkpoint written");
    Ok(())
}

/// A file, of which some bytes are read at a time.
#[derive(Debug)]
struct Stored {
    file: Mutex<File>,
    length: u64,
}

impl Stored {
    fn open(path: &Path) -> io::Result<Stored> {
        let mut file = File::open(path)?;
        let length = file.seek(SeekFrom::End(0))?;
        Ok(Stored {
            file: file.into(),
            length,
        })
    }
}

impl Storage for Stored {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(into)
    }
}

impl Checkpoint {
    /// Reads the file of a checkpoint, all of it once. What is wanted of it later is read then.
    ///
    /// # Errors
    /// If the file cannot be read, and as [`Checkpoint::decode`].
    pub fn read(path: &Path) -> Result<Checkpoint> {
        let stored = Stored::open(path).map_err(|error| unreadable(path, &error))?;
        Checkpoint::open(Box::new(stored), path)
    }
}

impl Simulation {
    /// Has the ranks of a cluster write a checkpoint together, each what it has; false if this process has all of it, and the file is
    /// not there then. It has reached the disk when this returns. If it cannot be written, it is no whole one.
    ///
    /// # Errors
    /// If a rank cannot write.
    pub fn write_checkpoint_together(&mut self, path: &Path) -> Result<bool> {
        if !self.is_spread() {
            return Ok(false);
        }
        let unwritten = |error: io::Error| Error::unwritten(path, &error);
        File::create(path).map_err(unwritten)?;
        let hash = self.write_spread(path)?.to_le_bytes();
        let file = OpenOptions::new().append(true).open(path);
        let end = |mut file: File| file.write_all(&hash).and_then(|()| file.sync_all());
        file.and_then(end).map_err(unwritten)?;
        Ok(true)
    }

    /// Writes a [checkpoint](crate::simulation::checkpoint) of the state as it is now, whole or not at all.
    ///
    /// # Errors
    /// If the device is lost, or the file cannot be written.
    pub fn write_checkpoint(&mut self, path: &Path) -> Result<()> {
        let part = part(path);
        if self.write_checkpoint_together(&part)? {
            return name(&part, path).map_err(|error| Error::unwritten(path, &error));
        }
        let (backend, adapter) = (self.backend(), self.adapter());
        write_checkpoint(path, &self.fetch_carried()?, backend, &adapter)
    }

    /// Goes on from a [checkpoint](crate::simulation::checkpoint) of the same scene.
    ///
    /// # Errors
    /// If the file is no whole checkpoint of this scene and this version of Rockfall, or the device has
    /// no memory for its state.
    pub fn read_checkpoint(&mut self, path: &Path) -> Result<()> {
        Checkpoint::read(path)?.restore(self)
    }
}
