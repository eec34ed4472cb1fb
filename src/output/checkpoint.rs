//! Checkpoints as files. A file is whole or not there: it is written to another name and renamed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::aside::{name, part, write_aside};
use crate::model::error::{Error, Result};
use crate::scene::stored::Stored;
use crate::simulation::Simulation;
use crate::simulation::checkpoint::{Checkpoint, encode, unreadable};
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
