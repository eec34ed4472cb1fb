//! Measures of windows of time, from the tables that a run has written: flows, powers of walls, collisions and residence times.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::RunFolder;
use super::measures::{ENERGIES, SPEEDS};
use crate::model::Model;
use crate::model::error::{Error, Result};
use crate::simulation::analysis::flow::{Rate, arches, windows};

/// The tables of a run over time.
#[derive(Clone, Debug)]
pub struct Series {
    names: Vec<String>,
    times: Vec<f64>,
    rows: Vec<Vec<f64>>,
    /// Number of inlets of the scene, and of its outlets.
    flows: [usize; 2],
    /// Collisions and residence times up to each measurement; `None` if the scene does not ask for them.
    collisions: Option<Vec<Collided>>,
    residence: Option<Vec<Stayed>>,
}

/// Measures of a window of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Period {
    /// Time of the first row of the statistics in the window, s.
    pub from_s: f64,
    /// Time of the last row, s.
    pub until_s: f64,
    /// Flow through each outlet and face.
    pub flows: Vec<Flow>,
    /// Power of each wall that does work.
    pub walls: Vec<Power>,
    /// Spectra of the collisions that ended in the window, by quantity; `None` if the scene does not ask for them.
    pub collisions: Option<BTreeMap<String, Vec<CollisionClass>>>,
    /// Residence times of the bodies that left in the window, by outlet; `None` if the scene does not ask for them.
    pub residence: Option<Vec<ResidenceTimes>>,
}

/// Measures of one window of time after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Windows {
    /// Names of the columns; they end in their units.
    pub columns: Vec<String>,
    /// Numbers of each window, NaN where nothing is known.
    pub rows: Vec<Vec<f64>>,
    /// Measures that are no single numbers.
    pub periods: Vec<Period>,
}

/// A mass flow over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flow {
    /// Name of the outlet or face.
    pub name: String,
    /// Mass that has passed, kg.
    pub mass_kg: f64,
    /// Rate by least squares, kg/s; NaN with fewer than three rows.
    pub rate_kg_per_s: f64,
    /// Standard error of the rate, kg/s.
    pub error_kg_per_s: f64,
    /// Starts and ends of the pauses in which nothing flowed, s.
    pub without_flow_s: Vec<(f64, f64)>,
}

/// Power of a wall, or of a group of walls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Power {
    /// Name of the wall or group.
    pub name: String,
    /// Work that it has done, J.
    #[serde(rename = "work_J")]
    pub work: f64,
    /// Mean power, W; NaN with one row.
    #[serde(rename = "power_W")]
    pub power: f64,
    /// Mean torque on it, N m.
    #[serde(rename = "torque_Nm")]
    pub torque: [f64; 3],
}

/// A class of collisions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CollisionClass {
    /// Lower end of the class, m/s or J.
    pub from: f64,
    /// Upper end of the class, m/s or J.
    pub to: f64,
    /// Number of collisions.
    pub collisions: u64,
    /// Energy that they dissipated, J.
    #[serde(rename = "dissipated_J")]
    pub dissipated: f64,
}

/// Residence times of the bodies that an outlet took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResidenceTimes {
    /// Name of the outlet.
    pub outlet: String,
    /// Number of bodies.
    pub bodies: u64,
    /// Mean residence time, s.
    pub mean_s: f64,
    /// Their distribution.
    pub classes: Vec<ResidenceClass>,
}

/// A class of residence times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResidenceClass {
    /// Lower end of the class, s.
    pub from_s: f64,
    /// Upper end of the class, s.
    pub to_s: f64,
    /// Number of bodies.
    pub bodies: u64,
}

/// A row of `collisions.csv`.
#[derive(Clone, Debug, Deserialize)]
struct Collided {
    time_s: f64,
    quantity: String,
    from: f64,
    to: f64,
    collisions: u64,
    #[serde(rename = "dissipated_J")]
    dissipated: f64,
}

/// A row of `residence.csv`.
#[derive(Clone, Debug, Deserialize)]
struct Stayed {
    time_s: f64,
    outlet: String,
    from_s: f64,
    to_s: f64,
    bodies: u64,
    mean_s: f64,
}

/// The rows of the last measurement up to `until`, s; they count all that has happened before.
fn up_to<T>(rows: &[T], time: impl Fn(&T) -> f64, until: f64) -> &[T] {
    let rows = &rows[..rows.partition_point(|row| time(row) <= until)];
    let last = rows.last().map_or(0.0, &time);
    &rows[rows.partition_point(|row| time(row) < last)..]
}

/// The last number less the first; NaN if there are none.
fn change(numbers: &[f64]) -> f64 {
    let ends = numbers.first().zip(numbers.last());
    ends.map_or(f64::NAN, |(first, last)| last - first)
}

fn unreadable(file: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::Checkpoint {
        file: file.to_owned(),
        problem: format!("{error}; expected the table that a run writes"),
    }
}

/// The rows of a table that is there only if the scene asks for it.
fn table<T: DeserializeOwned>(file: &Path) -> Result<Option<Vec<T>>> {
    if !file.exists() {
        return Ok(None);
    }
    let wrong = |error: csv::Error| unreadable(file, &error);
    let mut reader = csv::Reader::from_path(file).map_err(wrong)?;
    let rows: std::result::Result<_, _> = reader.deserialize().collect();
    rows.map(Some).map_err(wrong)
}

impl Series {
    /// Reads the tables of the run of `model` in `folder`.
    ///
    /// # Errors
    /// If a table cannot be read, or is not one that a run writes.
    pub fn read(folder: &Path, model: &Model) -> Result<Series> {
        let file = folder.join(RunFolder::STATISTICS);
        let wrong = |error: csv::Error| unreadable(&file, &error);
        let mut reader = csv::Reader::from_path(&file).map_err(wrong)?;
        let headers = reader.headers().map_err(wrong)?;
        let names: Vec<String> = headers.iter().map(str::to_owned).collect();
        let Some(time) = names.iter().position(|name| name == "time_s") else {
            return Err(unreadable(&file, &"found no column time_s"));
        };
        let (mut times, mut rows) = (Vec::new(), Vec::new());
        for record in reader.records() {
            let record = record.map_err(wrong)?;
            let numbers = record.iter().map(|cell| cell.parse().unwrap_or(f64::NAN));
            let row: Vec<f64> = numbers.collect();
            times.push(row[time]);
            rows.push(row);
        }
        Ok(Series {
            names,
            times,
            rows,
            flows: [model.flow.inlets.len(), model.flow.outlets.len()],
            collisions: table(&folder.join(RunFolder::COLLISIONS))?,
            residence: table(&folder.join(RunFolder::RESIDENCE))?,
        })
    }

    /// Measures of the time from `from` to `until`, s; a pause of a flow lasts `still`, s, or longer.
    ///
    /// Collisions and residence times are those between the last measurements up to these times.
    pub fn between(&self, from: f64, until: f64, still: f64) -> Period {
        self.between_rounded(from, until, 0.0, still)
    }

    /// [`Series::between`], where the times of rows may be off by `slack`, s.
    fn between_rounded(&self, from: f64, until: f64, slack: f64, still: f64) -> Period {
        let inside: Vec<usize> = (0..self.rows.len())
            .filter(|row| (from - slack..=until + slack).contains(&self.times[*row]))
            .collect();
        let time = |row: Option<&usize>| row.map_or(f64::NAN, |row| self.times[*row]);
        let ends = [from + slack, until + slack];
        let collided = |rows: &Vec<Collided>| {
            let [before, after] = ends.map(|end| up_to(rows, |row| row.time_s, end));
            spectra(before, after)
        };
        let stayed = |rows: &Vec<Stayed>| {
            let [before, after] = ends.map(|end| up_to(rows, |row| row.time_s, end));
            let outlets: BTreeSet<&str> = rows.iter().map(|row| row.outlet.as_str()).collect();
            let own = outlets.into_iter();
            own.map(|outlet| residence(outlet, before, after)).collect()
        };
        Period {
            from_s: time(inside.first()),
            until_s: time(inside.last()),
            flows: self.flows(&inside, still),
            walls: self.powers(&inside),
            collisions: self.collisions.as_ref().map(collided),
            residence: self.residence.as_ref().map(stayed),
        }
    }

    /// Measures of windows of a `length`, s. To the means of the rows of a table come the columns of [`Period`].
    ///
    /// Rows begin with their time, s; see [`windows`].
    pub fn windows(&self, columns: &[&str], rows: &[Vec<f64>], length: f64, still: f64) -> Windows {
        let mut found = Windows {
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            ..Windows::default()
        };
        // Times of rows are whole numbers of steps.
        let slack = 1e-6 * length;
        for ([from, until], means) in windows(rows, length) {
            let period = self.between_rounded(from, until, slack, still);
            let (names, numbers): (Vec<String>, Vec<f64>) = period.columns().into_iter().unzip();
            if found.rows.is_empty() {
                found.columns.extend(names);
            }
            found.rows.push([means, numbers].concat());
            found.periods.push(period);
        }
        found
    }

    fn column(&self, name: &str, inside: &[usize]) -> Option<Vec<f64>> {
        let index = self.names.iter().position(|own| own == name)?;
        Some(inside.iter().map(|row| self.rows[*row][index]).collect())
    }

    fn flows(&self, inside: &[usize], still: f64) -> Vec<Flow> {
        // The columns of inlets come first; what they bring is what the scene says.
        let [inlets, outlets] = self.flows;
        let counted = self.names.windows(2).filter_map(|pair| {
            let name = pair[1].strip_suffix("_mass_kg")?;
            let bodies = pair[0].strip_suffix("_bodies")?;
            (name == bodies).then_some(name)
        });
        let outlets = counted.clone().skip(inlets).take(outlets);
        let faces = counted.filter(|name| name.ends_with("_forward"));
        let times: Vec<f64> = inside.iter().map(|row| self.times[*row]).collect();
        outlets
            .chain(faces)
            .filter_map(|name| {
                let amounts = self.column(&format!("{name}_mass_kg"), inside)?;
                let rate = Rate::new(&times, &amounts);
                Some(Flow {
                    name: name.to_owned(),
                    mass_kg: change(&amounts),
                    rate_kg_per_s: rate.map_or(f64::NAN, |rate| rate.rate),
                    error_kg_per_s: rate.map_or(f64::NAN, |rate| rate.error),
                    without_flow_s: arches(&times, &amounts, still),
                })
            })
            .collect()
    }

    fn powers(&self, inside: &[usize]) -> Vec<Power> {
        let times: Vec<f64> = inside.iter().map(|row| self.times[*row]).collect();
        let walls = self.names.windows(2).filter_map(|pair| {
            let name = pair[1].strip_suffix("_work_J")?;
            (pair[0].strip_suffix("_power_W") == Some(name)).then_some(name)
        });
        walls
            .filter_map(|name| {
                let work = self.column(&format!("{name}_work_J"), inside)?;
                let mean = |axis: &str| -> Option<f64> {
                    let torque = self.column(&format!("{name}_torque_{axis}_Nm"), inside)?;
                    Some(torque.iter().sum::<f64>() / torque.len() as f64)
                };
                Some(Power {
                    name: name.to_owned(),
                    work: change(&work),
                    // Of one row, 0 over 0 is no number.
                    power: change(&work) / change(&times),
                    torque: [mean("x")?, mean("y")?, mean("z")?],
                })
            })
            .collect()
    }
}

/// Spectra of the collisions that were counted in `after` and not yet in `before`.
fn spectra(before: &[Collided], after: &[Collided]) -> BTreeMap<String, Vec<CollisionClass>> {
    let empty = [SPEEDS, ENERGIES].map(|name| (name.to_owned(), Vec::new()));
    let mut spectra = BTreeMap::from(empty);
    for row in after {
        let same = |own: &&Collided| own.quantity == row.quantity && own.from == row.from;
        let old = before.iter().find(same);
        let (count, energy) = old.map_or((0, 0.0), |own| (own.collisions, own.dissipated));
        let collisions = row.collisions.saturating_sub(count);
        if collisions > 0 {
            let classes = spectra.entry(row.quantity.clone()).or_default();
            classes.push(CollisionClass {
                from: row.from,
                to: row.to,
                collisions,
                dissipated: row.dissipated - energy,
            });
        }
    }
    spectra
}

/// Residence times of the bodies that an outlet had taken in `after` and not yet in `before`.
fn residence(outlet: &str, before: &[Stayed], after: &[Stayed]) -> ResidenceTimes {
    let [before, after] = [before, after].map(|rows| {
        let own = rows.iter().filter(|row| row.outlet == outlet);
        own.collect::<Vec<&Stayed>>()
    });
    let total = |rows: &[&Stayed]| {
        let bodies: u64 = rows.iter().map(|row| row.bodies).sum();
        let sum = rows.first().map_or(0.0, |row| row.mean_s * bodies as f64);
        (bodies, sum)
    };
    let ((old, old_sum), (new, sum)) = (total(&before), total(&after));
    let classes = after.iter().filter_map(|row| {
        let same = before.iter().find(|own| own.from_s == row.from_s);
        let bodies = row.bodies.saturating_sub(same.map_or(0, |own| own.bodies));
        (bodies > 0).then_some(ResidenceClass {
            from_s: row.from_s,
            to_s: row.to_s,
            bodies,
        })
    });
    let bodies = new.saturating_sub(old);
    ResidenceTimes {
        outlet: outlet.to_owned(),
        bodies,
        // Without bodies, 0 over 0 is no number.
        mean_s: (sum - old_sum) / bodies as f64,
        classes: classes.collect(),
    }
}

impl Period {
    /// Number of collisions, and the energy that they dissipated, J.
    pub fn collided(&self) -> Option<(u64, f64)> {
        let classes = self.speeds()?;
        let count = classes.iter().map(|class| class.collisions).sum();
        // A sum of none is -0.
        let energy = classes
            .iter()
            .fold(0.0, |sum, class| sum + class.dissipated);
        Some((count, energy))
    }

    /// The class of impact speeds whose collisions dissipated most.
    pub fn hardest(&self) -> Option<&CollisionClass> {
        let classes = self.speeds()?.iter();
        classes.max_by(|a, b| a.dissipated.total_cmp(&b.dissipated))
    }

    fn speeds(&self) -> Option<&[CollisionClass]> {
        let speeds = self.collisions.as_ref()?.get(SPEEDS);
        Some(speeds.map_or(&[], Vec::as_slice))
    }

    /// Its numbers, as columns of a table whose names end in their units.
    pub fn columns(&self) -> Vec<(String, f64)> {
        let mut columns = Vec::new();
        for wall in &self.walls {
            let name = &wall.name;
            columns.push((format!("{name}_power_W"), wall.power));
            for (axis, torque) in ["x", "y", "z"].into_iter().zip(wall.torque) {
                columns.push((format!("{name}_torque_{axis}_Nm"), torque));
            }
        }
        for flow in &self.flows {
            columns.push((format!("{}_kg_per_s", flow.name), flow.rate_kg_per_s));
        }
        if let Some((count, energy)) = self.collided() {
            columns.push(("collisions".to_owned(), count as f64));
            columns.push(("dissipated_J".to_owned(), energy));
        }
        for own in self.residence.iter().flatten() {
            columns.push((format!("{}_residence_s", own.outlet), own.mean_s));
        }
        columns
    }
}
