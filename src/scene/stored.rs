//! Files that stay where they are, to be read some bytes at a time.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::simulation::checkpoint::Storage;

/// A file, of which some bytes are read at a time.
#[derive(Debug)]
pub(crate) struct Stored {
    file: Mutex<File>,
    length: u64,
}

impl Stored {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: &Path) -> io::Result<Stored> {
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
