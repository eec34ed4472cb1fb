//! The table of bonds that broke.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::model::error::{Error, Result};
use crate::simulation::snapshot::Snapshot;

/// Names of its columns: the step and the time after which the bond broke no more than a step later, its number, those of its two
/// bodies, whether tension or shear broke it, where, and what it held.
pub(super) const COLUMNS: [&str; 10] = [
    "step",
    "time_s",
    "bond",
    "body",
    "other_body",
    "by",
    "x_m",
    "y_m",
    "z_m",
    "energy_J",
];

/// The file, to which each bond that is found broken is added once.
#[derive(Debug)]
pub(super) struct Broken {
    path: PathBuf,
    file: File,
    /// The bonds that are in it.
    known: HashSet<usize>,
}

impl Broken {
    /// # Errors
    /// If the file cannot be read.
    pub fn open(path: &Path) -> Result<Broken> {
        let wrong = |error: std::io::Error| Error::unwritten(path, &error);
        let text = fs::read_to_string(path).map_err(wrong)?;
        let number = |row: &str| row.split(',').nth(2)?.parse().ok();
        Ok(Broken {
            path: path.to_owned(),
            file: OpenOptions::new().append(true).open(path).map_err(wrong)?,
            known: text.lines().filter_map(number).collect(),
        })
    }

    /// Adds the bonds that have broken since the last call, in the order in which they did.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, snapshot: &Snapshot) -> Result<()> {
        let state = snapshot.state;
        let mut new: Vec<_> = state
            .bonded()
            .filter_map(|bond| Some((bond, bond.broken?)))
            .filter(|(bond, _)| !self.known.contains(&bond.bond))
            .collect();
        new.sort_unstable_by_key(|(bond, own)| (own.step, bond.bond));
        let mut rows = String::new();
        for (bond, own) in new {
            self.known.insert(bond.bond);
            let [body, other] = bond.bodies.map(|body| state.identities[body].id);
            let by = if own.by_shear { "shear" } else { "tension" };
            let [x, y, z] = own.place.to_array();
            rows += &format!(
                "{},{},{},{body},{other},{by},{x:?},{y:?},{z:?},{:?}\n",
                own.step, own.time, bond.bond, own.energy
            );
        }
        let written = self.file.write_all(rows.as_bytes());
        written.map_err(|error| Error::unwritten(&self.path, &error))
    }
}
