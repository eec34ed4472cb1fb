//! A kept run, read again: the states in the folder of a run.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use glam::{DQuat, DVec3};
use zip::ZipArchive;

use super::RunFolder;
use crate::model::error::{Error, Result};
use crate::model::quantity::{QUANTITIES, Quantities};
use crate::model::wall::{Moving, Pose};
use crate::model::{Model, ModelBody};
use crate::simulation::Simulation;
use crate::simulation::analysis::{self, Grain, Moment};
use crate::simulation::network::{Network, NetworkContact, Partner};
use crate::state::State;

/// A state that a run has kept.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptMoment {
    /// Number of steps taken.
    pub steps: u64,
    /// Simulated time, s.
    pub time: f64,
    /// Index of the stage, where it decides which walls there are; else 0.
    stage: usize,
    bodies: PathBuf,
    spheres: PathBuf,
    walls: PathBuf,
    contacts: PathBuf,
}

/// States of bodies and walls over time that a run has kept: the files `states/bodies_*.npz` of its folder.
///
/// [`KeptRun::show`] puts a simulation of its scene into one of the states. That is there to be looked at: contact
/// histories are not in it, so it is none to go on from.
pub struct KeptRun {
    path: PathBuf,
    model: Model,
    /// Without bodies.
    empty: State,
    moments: Vec<KeptMoment>,
}

impl KeptRun {
    /// Whether a path is the folder of a run.
    pub fn is_one(path: &Path) -> bool {
        path.is_dir() && path.join(RunFolder::SCENE).is_file() && path.join("states").is_dir()
    }

    /// Reads which states the folder of a run of `model` has. The model is that of its `scene.json`.
    ///
    /// # Errors
    /// If it has no states of bodies.
    pub fn open(path: &Path, model: &Model) -> Result<KeptRun> {
        let wrong = |problem| Error::Folder {
            folder: path.to_owned(),
            problem,
        };
        let states = path.join("states");
        let entries = fs::read_dir(&states).map_err(|_| {
            wrong("is not the folder of a run; `rockfall run SCENE --out DIR` makes one")
        })?;
        let mut moments: Vec<KeptMoment> = entries
            .flatten()
            .filter_map(|entry| {
                let path = entry.path();
                let stem = path.file_stem()?.to_str()?;
                let steps = stem.strip_prefix("bodies_")?.parse().ok()?;
                let other = |kind| states.join(format!("{kind}_{steps:012}.npz"));
                (path.extension()? == "npz").then(|| KeptMoment {
                    steps,
                    time: steps as f64 * model.time_step,
                    stage: 0,
                    spheres: other("spheres"),
                    walls: other("walls"),
                    contacts: other("contacts"),
                    bodies: path.clone(),
                })
            })
            .collect();
        moments.sort_by_key(|moment| moment.steps);
        if moments.is_empty() {
            return Err(wrong(
                "has no states of bodies to show; run its scene again with \"bodies\" among \
                 \"output\": {\"states\": ...}, which is the default",
            ));
        }
        if model.stages.change_walls() {
            let rows = statistics(path, ["step", "stage"])?;
            for moment in &mut moments {
                let before = rows.iter().rfind(|[step, _]| *step <= moment.steps as f64);
                moment.stage = before.map_or(0, |[_, stage]| *stage as usize);
            }
        }
        let mut empty = State::new(model);
        let all: Vec<u32> = (0..empty.bodies.len() as u32).collect();
        empty.remove(&all);
        Ok(KeptRun {
            path: path.to_owned(),
            model: model.clone(),
            empty,
            moments,
        })
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The states that there are, in their order.
    pub fn moments(&self) -> &[KeptMoment] {
        &self.moments
    }

    /// The state that is nearest to a time, s.
    pub fn nearest(&self, time: f64) -> usize {
        let after = self.moments.partition_point(|moment| moment.time < time);
        let is_nearer = |index: usize| {
            let [before, after] = [index - 1, index].map(|k| (self.moments[k].time - time).abs());
            after < before
        };
        match after {
            0 => 0,
            end if end == self.moments.len() => end - 1,
            index if is_nearer(index) => index,
            index => index - 1,
        }
    }

    /// Puts a simulation of the same model into a state.
    ///
    /// # Errors
    /// If its files cannot be read, or the device is lost.
    pub fn show(&self, index: usize, simulation: &mut Simulation) -> Result<()> {
        let moment = &self.moments[index];
        let state = self.state(moment)?;
        simulation.restore(&state, moment.steps)
    }

    /// A state as measures take it: with contacts, if the run has kept those.
    ///
    /// # Errors
    /// If its files cannot be read.
    pub fn moment(&self, index: usize) -> Result<Moment> {
        let kept = &self.moments[index];
        let bodies = Arrays::read(&kept.bodies)?;
        let volumes = analysis::volumes(&self.model);
        let mut grains = Vec::with_capacity(bodies.rows);
        for row in 0..bodies.rows {
            let body = self.body(&bodies, row)?;
            let clump = &self.model.shapes[body.shape];
            grains.push(Grain {
                id: row as u64,
                shape: body.shape,
                material: clump.materials[0],
                mass: clump.mass,
                volume: volumes[body.shape],
                position: body.position,
                velocity: body.velocity,
                fixed: body.fixed,
            });
        }
        let contacts = match kept.contacts.is_file() {
            true => Some(network(&Arrays::read(&kept.contacts)?, &grains)?),
            false => None,
        };
        Ok(Moment {
            time: kept.time,
            grains,
            contacts,
            period: match self.model.deforms() {
                true => self.sides(kept.steps)?,
                false => analysis::period(&self.model),
            },
        })
    }

    /// Sides of a periodic box that deforms, m: those of the row of `statistics.csv` that is nearest to a step.
    fn sides(&self, steps: u64) -> Result<DVec3> {
        let rows = statistics(&self.path, ["step", "box_x_m", "box_y_m", "box_z_m"])?;
        let off = |[step, ..]: &[f64; 4]| (step - steps as f64).abs();
        let nearest = rows.iter().min_by(|a, b| off(a).total_cmp(&off(b)));
        let sides = nearest.map(|[_, x, y, z]| DVec3::new(*x, *y, *z));
        sides.ok_or_else(|| Error::Checkpoint {
            file: self.path.join(RunFolder::STATISTICS),
            problem: "found no row, expected the sides of the box".to_owned(),
        })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    fn state(&self, moment: &KeptMoment) -> Result<State> {
        let bodies = Arrays::read(&moment.bodies)?;
        let mut state = self.empty.clone();
        state.traffic.stages = vec![moment.steps; moment.stage];
        let rows = 0..bodies.rows;
        let new: Vec<(u64, ModelBody)> = rows
            .clone()
            .map(|row| Ok((row as u64, self.body(&bodies, row)?)))
            .collect::<Result<_>>()?;
        state.extend(&self.model, new);
        // What acted on a body is told of each of its spheres, unless the run has kept spheres.
        let spheres = match moment.spheres.is_file() {
            true => Some(Arrays::read(&moment.spheres)?),
            false => None,
        };
        for row in rows {
            let own = state.spheres_of(&state.bodies[row]);
            let first = own.start;
            for sphere in own {
                let load = &mut state.sphere_loads[sphere];
                load.force = match &spheres {
                    Some(spheres) => spheres.vector("force", sphere)?.as_vec3(),
                    None => bodies.vector("contact_force", row)?.as_vec3(),
                };
                load.max_overlap = bodies.number("max_overlap", row)? as f32;
                // Of the body, all are added up.
                load.contacts = match sphere == first {
                    true => bodies.number("contacts", row)? as u32,
                    false => 0,
                };
            }
        }
        for (index, wall) in self.model.walls.iter().enumerate() {
            if wall.motion.is_some() {
                state.put_wall(index, &wall.at(moment.time));
            }
        }
        if moment.walls.is_file() {
            let walls = Arrays::read(&moment.walls)?;
            for row in 0..walls.rows {
                let index = walls.number("wall", row)? as usize;
                if index < self.model.walls.len() {
                    let pose = Pose {
                        position: walls.vector("position", row)?,
                        orientation: walls.quaternion("orientation", row)?,
                    };
                    state.put_wall(index, &Moving::still(pose));
                }
            }
        }
        Ok(state)
    }

    fn body(&self, bodies: &Arrays, row: usize) -> Result<ModelBody> {
        let shape = bodies.number("shape", row)? as usize;
        let Some(clump) = self.model.shapes.get(shape) else {
            let count = self.model.shapes.len();
            return Err(bodies.wrong(format!(
                "found the shape {shape} in row {row}, expected one of the {count} of the scene beside it"
            )));
        };
        let mut quantities = Quantities::default().array();
        for (quantity, number) in QUANTITIES.iter().zip(&mut quantities) {
            if bodies.columns.contains_key(quantity.name) {
                *number = bodies.number(quantity.name, row)?;
            }
        }
        let vector = |name| bodies.vector(name, row);
        let body = ModelBody {
            shape,
            position: vector("position")?,
            orientation: bodies.quaternion("orientation", row)? * clump.principal_axes,
            velocity: vector("velocity")?,
            angular_velocity: vector("angular_velocity")?,
            fixed: bodies.number("fixed", row)? != 0.0,
            group: 0,
            quantities: quantities.into(),
        };
        let is_right = body.position.is_finite()
            && body.velocity.is_finite()
            && body.angular_velocity.is_finite()
            && body.orientation.is_finite();
        if is_right {
            Ok(body)
        } else {
            Err(bodies.wrong(format!("found no number in row {row}, expected numbers")))
        }
    }
}

/// Columns of the `statistics.csv` in the folder `path` of a run, row by row.
fn statistics<const N: usize>(path: &Path, names: [&str; N]) -> Result<Vec<[f64; N]>> {
    let file = path.join(RunFolder::STATISTICS);
    let wrong = |problem: String| Error::Checkpoint {
        file: file.clone(),
        problem,
    };
    let unreadable = |error: csv::Error| {
        wrong(format!(
            "found a file that cannot be read ({error}), expected the statistics of a run"
        ))
    };
    let mut table = csv::Reader::from_path(&file).map_err(unreadable)?;
    let columns = table.headers().map_err(unreadable)?.clone();
    let mut places = [0; N];
    for (name, place) in names.iter().zip(&mut places) {
        let found = columns.iter().position(|column| column == *name);
        *place = found.ok_or_else(|| {
            wrong(format!(
                "found no column {name}, expected those of the scene beside it"
            ))
        })?;
    }
    let mut rows = Vec::new();
    for row in table.records() {
        let row = row.map_err(unreadable)?;
        let number = |place: &usize| row.get(*place)?.parse().ok();
        let numbers: Option<Vec<f64>> = places.iter().map(number).collect();
        // The last row of a run that goes on may be half written.
        rows.extend(numbers.and_then(|numbers| <[f64; N]>::try_from(numbers).ok()));
    }
    Ok(rows)
}

/// The contacts of a kept state of `grains`. What is not kept of them is 0.
fn network(contacts: &Arrays, grains: &[Grain]) -> Result<Network> {
    let mut all = Vec::with_capacity(contacts.rows);
    for row in 0..contacts.rows {
        let number = |name| contacts.number(name, row);
        let index = |name| -> Result<u32> {
            let index = number(name)?;
            let known = index >= 0.0 && (name.contains("sphere") || index < grains.len() as f64);
            match known {
                true => Ok(index as u32),
                false => Err(contacts.wrong(format!(
                    "found the {name} {index} in row {row}, expected one of the {} bodies of its state",
                    grains.len()
                ))),
            }
        };
        let wall = number("wall")?;
        let partner = if wall >= 0.0 {
            Partner::Wall(wall as u32)
        } else {
            Partner::Sphere {
                sphere: index("other_sphere")?,
                body: index("other_body")?,
            }
        };
        let vector = |name| contacts.vector(name, row);
        all.push(NetworkContact {
            sphere: index("sphere")?,
            body: index("body")?,
            partner,
            overlap: number("overlap")?,
            overlap_fraction: 0.0,
            point: vector("point")?,
            normal: vector("normal")?,
            force: vector("force")?,
            torque: DVec3::ZERO,
            stored: 0.0,
            approach: 0.0,
            dissipated: 0.0,
        });
    }
    Ok(Network {
        contacts: all,
        fixed: grains.iter().map(|grain| grain.fixed).collect(),
    })
}

/// The columns of an NPZ file, as `f64`.
struct Arrays {
    file: PathBuf,
    rows: usize,
    columns: HashMap<String, Vec<f64>>,
}

impl Arrays {
    fn read(path: &Path) -> Result<Arrays> {
        let mut arrays = Arrays {
            file: path.to_owned(),
            rows: 0,
            columns: HashMap::new(),
        };
        let unreadable = |error: &dyn std::fmt::Display| Error::Checkpoint {
            file: path.to_owned(),
            problem: format!(
                "found a file that cannot be read ({error}), expected one of states, as NPZ"
            ),
        };
        let file = File::open(path).map_err(|error| unreadable(&error))?;
        // Entries may overlap, and would come to more than the file has.
        let mut left = file.metadata().map_err(|error| unreadable(&error))?.len();
        let mut archive = ZipArchive::new(file).map_err(|error| unreadable(&error))?;
        for index in 0..archive.len() {
            let entry = archive
                .by_index(index)
                .map_err(|error| unreadable(&error))?;
            let name = entry.name().map_err(|error| unreadable(&error))?;
            let name = name.trim_end_matches(".npy").to_owned();
            let mut bytes = Vec::new();
            entry
                .take(left + 1)
                .read_to_end(&mut bytes)
                .map_err(|error| unreadable(&error))?;
            left = left
                .checked_sub(bytes.len() as u64)
                .ok_or_else(|| unreadable(&"it holds more than it is long"))?;
            let numbers = numbers(&bytes).ok_or_else(|| {
                arrays.wrong(format!(
                    "found an array `{name}` that does not hold numbers"
                ))
            })?;
            arrays.rows = numbers.len();
            arrays.columns.insert(name, numbers);
        }
        if arrays.columns.values().any(|own| own.len() != arrays.rows) {
            return Err(arrays.wrong("found arrays of several lengths, expected one".to_owned()));
        }
        Ok(arrays)
    }

    fn wrong(&self, problem: String) -> Error {
        Error::Checkpoint {
            file: self.file.clone(),
            problem,
        }
    }

    fn number(&self, name: &str, row: usize) -> Result<f64> {
        let number = self.columns.get(name).and_then(|own| own.get(row));
        number.copied().ok_or_else(|| {
            self.wrong(format!(
                "found no array `{name}` with a row {row}, expected one"
            ))
        })
    }

    fn vector(&self, name: &str, row: usize) -> Result<DVec3> {
        let part = |axis| self.number(&format!("{name}_{axis}"), row);
        Ok(DVec3::new(part("x")?, part("y")?, part("z")?))
    }

    fn quaternion(&self, name: &str, row: usize) -> Result<DQuat> {
        let part = |axis| self.number(&format!("{name}_{axis}"), row);
        let quaternion = DQuat::from_xyzw(part("x")?, part("y")?, part("z")?, part("w")?);
        let length = quaternion.length();
        if (length - 1.0).abs() > 1e-3 {
            return Err(self.wrong(format!(
                "found a quaternion `{name}` of the length {length} in row {row}, expected 1"
            )));
        }
        Ok(quaternion.normalize())
    }
}

/// The numbers of an array in numpy's format, version 1.0, of one dimension.
fn numbers(bytes: &[u8]) -> Option<Vec<f64>> {
    let rest = bytes.strip_prefix(b"\x93NUMPY\x01\x00")?;
    let (length, rest) = rest.split_at_checked(2)?;
    let length = usize::from(u16::from_le_bytes(length.try_into().ok()?));
    let (header, data) = rest.split_at_checked(length)?;
    let header = std::str::from_utf8(header).ok()?;
    macro_rules! read {
        ($type:ty) => {{
            let chunks = data.chunks_exact(size_of::<$type>());
            chunks
                .map(|chunk| Some(<$type>::from_le_bytes(chunk.try_into().ok()?) as f64))
                .collect()
        }};
    }
    let kind = header.split('\'').nth(3)?;
    match kind {
        "<u4" => read!(u32),
        "<i4" => read!(i32),
        "<u8" => read!(u64),
        "<f4" => read!(f32),
        "<f8" => read!(f64),
        _ => None,
    }
}
