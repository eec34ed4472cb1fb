//! The table of bonds that broke or healed.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::model::error::{Error, Result};
use crate::state::Changed;

/// Names of its columns: the step and the time after which the bond changed no more than a step later, its number, those of its two
/// bodies, whether tension or shear broke it or it healed, where, what it held, and how often it had broken by then.
pub(super) const COLUMNS: [&str; 11] = [
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
    "breaks",
];

/// The file, to which each bond that is found broken or healed anew is added.
#[derive(Debug)]
pub(super) struct Broken {
    path: PathBuf,
    file: File,
    /// The bonds that are in it, and the last step of each there.
    known: HashMap<usize, u64>,
}

impl Broken {
    /// # Errors
    /// If the file cannot be read.
    pub fn open(path: &Path) -> Result<Broken> {
        let wrong = |error: std::io::Error| Error::unwritten(path, &error);
        let text = fs::read_to_string(path).map_err(wrong)?;
        let known = |row: &str| {
            let mut cells = row.split(',');
            let step = cells.next()?.parse().ok()?;
            Some((cells.nth(1)?.parse().ok()?, step))
        };
        Ok(Broken {
            path: path.to_owned(),
            file: OpenOptions::new().append(true).open(path).map_err(wrong)?,
            known: text.lines().filter_map(known).collect(),
        })
    }

    /// Adds those of these bonds that have broken or healed since the last call, in the order in which they did; of one that did so
    /// more than once, the last time. With each are the ids of its bodies.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, bonds: &[(Changed, [u64; 2])]) -> Result<()> {
        let mut rows = Vec::new();
        for (bond, [body, other]) in bonds {
            let (step, time, place, by, energy) = match (bond.broken, bond.healed) {
                (Some(own), _) => {
                    let by = if own.by_shear { "shear" } else { "tension" };
                    (own.step, own.time, own.place, by, own.energy)
                }
                (_, Some(own)) => (own.step, own.time, own.place, "healing", 0.0),
                (None, None) => continue,
            };
            if self.known.insert(bond.bond, step) == Some(step) {
                continue;
            }
            let [x, y, z] = place.to_array();
            let row = format!(
                "{step},{time},{},{body},{other},{by},{x:?},{y:?},{z:?},{energy:?},{}\n",
                bond.bond, bond.breaks
            );
            rows.push((step, bond.bond, row));
        }
        rows.sort_unstable();
        let rows: String = rows.into_iter().map(|(_, _, row)| row).collect();
        let written = self.file.write_all(rows.as_bytes());
        written.map_err(|error| Error::unwritten(&self.path, &error))
    }
}
