//! Files that the ranks of a cluster write together, each its share of the rows.

use std::fs::{self, File};
use std::io::{self, SeekFrom};
use std::path::PathBuf;

use bytemuck::{cast_slice, pod_collect_to_vec};
use crc32fast::Hasher;
use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

use super::aside::part;
use super::layout::{Block, Layout};
use super::table::{Rows, Table};
use super::{npz, vtk};
use crate::model::clump::{Clump, ClumpSphere};
use crate::model::error::{Error, Result};
use crate::model::quantity::QUANTITIES;
use crate::scene::format::Kind;
use crate::simulation::Simulation;
use crate::simulation::network::contacts;
use crate::simulation::snapshot::Snapshot;
use crate::state::{Field, State, quantities};
use crate::step::{Before, Share, WriteSeek};

/// Kinds of tables that are written together: those that grow with the scene.
pub(super) const TOGETHER: [Kind; 4] = [Kind::Bodies, Kind::Spheres, Kind::Contacts, Kind::Bonds];

/// A file that is to be written.
#[derive(Serialize, Deserialize)]
pub(super) struct Wanted {
    pub kind: Kind,
    /// Whether it is NPZ; else VTK.
    pub is_npz: bool,
    /// Its name when it is whole; until then it has that of its [`part`].
    pub path: PathBuf,
}

/// Order of rank 0 to all ranks, which have no model.
#[derive(Serialize, Deserialize)]
struct Order {
    step: u64,
    /// s
    time: f64,
    shapes: Vec<Shape>,
    /// Which of the [quantities](QUANTITIES) bodies have.
    has: [bool; QUANTITIES.len()],
    files: Vec<Wanted>,
}

/// A [`Clump`] but for its name.
#[derive(Serialize, Deserialize)]
struct Shape {
    materials: Vec<usize>,
    spheres: Vec<([f64; 3], f64)>,
    mass: f64,
    inertia: [f64; 3],
    center_of_mass: [f64; 3],
    principal_axes: [f64; 4],
}

impl From<&Clump> for Shape {
    fn from(clump: &Clump) -> Shape {
        let sphere = |own: &ClumpSphere| (own.center.to_array(), own.radius);
        Shape {
            materials: clump.materials.clone(),
            spheres: clump.spheres.iter().map(sphere).collect(),
            mass: clump.mass,
            inertia: clump.inertia.to_array(),
            center_of_mass: clump.center_of_mass.to_array(),
            principal_axes: clump.principal_axes.to_array(),
        }
    }
}

impl From<Shape> for Clump {
    fn from(shape: Shape) -> Clump {
        let sphere = |(center, radius)| ClumpSphere {
            center: DVec3::from_array(center),
            radius,
        };
        Clump {
            name: String::new(),
            materials: shape.materials,
            spheres: shape.spheres.into_iter().map(sphere).collect(),
            mass: shape.mass,
            inertia: DVec3::from_array(shape.inertia),
            center_of_mass: DVec3::from_array(shape.center_of_mass),
            principal_axes: DQuat::from_array(shape.principal_axes),
        }
    }
}

/// A file that a rank could not write, and the reason.
type Problem = Option<(usize, String)>;

/// Has all ranks write files of the present state, which they have. If one of them cannot, none of the files is left.
///
/// # Errors
/// If a rank cannot write.
pub(super) fn write_together(simulation: &mut Simulation, files: Vec<Wanted>) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let model = simulation.shared_model();
    let order = Order {
        step: simulation.steps(),
        time: simulation.time(),
        shapes: model.shapes.iter().map(Shape::from).collect(),
        has: Rows::has(&model),
        files,
    };
    let written = give(simulation, &order);
    if written.is_err() {
        for file in &order.files {
            let _ = fs::remove_file(part(&file.path));
        }
    }
    written
}

/// Gives an order to all ranks.
fn give(simulation: &mut Simulation, order: &Order) -> Result<()> {
    for Wanted { path, .. } in &order.files {
        File::create(part(path)).map_err(|error| Error::unwritten(path, &error))?;
    }
    let message = serde_json::to_vec(order).map_err(|_| Error::Unwritten {
        file: order.files[0].path.clone(),
        reason: "its name is not UTF-8, and the ranks have to tell each other".to_owned(),
    })?;
    let said = simulation.together(write_share, &message);
    for (rank, said) in said.iter().enumerate() {
        let problem: Problem = serde_json::from_slice(said).expect("a rank of this program");
        if let Some((file, reason)) = problem {
            return Err(Error::Unwritten {
                file: order.files[file].path.clone(),
                reason: format!("rank {rank}: {reason}"),
            });
        }
    }
    Ok(())
}

/// Writes the share of a rank in the files that rank 0 has ordered: what
/// [`serve_rank`](crate::simulation::serve_rank) is to be given. Returns what has kept it from that.
pub fn write_share(share: &mut dyn Share, order: &[u8]) -> Vec<u8> {
    let order: Order = serde_json::from_slice(order).expect("rank 0 of this program");
    let problem = order.obey(share);
    serde_json::to_vec(&problem).expect("a sentence")
}

impl Order {
    fn obey(self, share: &mut dyn Share) -> Problem {
        let Order {
            step,
            time,
            shapes,
            has,
            files,
        } = self;
        let shapes: Vec<Clump> = shapes.into_iter().map(Clump::from).collect();
        let kinds = TOGETHER.map(|kind| files.iter().any(|file| file.kind == kind));
        // Numbers of rows before those of the share of this rank, and of all.
        let counts = TOGETHER.map(|kind| match kind {
            Kind::Bodies => [0, share.counts()[0]],
            Kind::Spheres => [0, share.counts()[1]],
            kind if !kinds[place(kind)] => [0, 0],
            Kind::Bonds => count(share, &[Field::Bonds], |state| state.bonds.len()),
            _ => count(share, &Snapshot::CONTACTS, |state| contacts(state).count()),
        });
        let mut next = counts.map(|[before, _]| before);
        let table = |kind: Kind, state: &State, before: &Before| {
            let rows = Rows {
                shapes: &shapes,
                has,
                state,
                before,
            };
            match kind {
                Kind::Bodies => rows.bodies(),
                Kind::Spheres => rows.spheres(),
                Kind::Bonds => rows.bonds(),
                _ => rows.contacts(),
            }
        };
        let none = TOGETHER.map(|kind| table(kind, share.outline(), &Before::default()));
        let laid_out = |file: &Wanted, sums: &[u32]| {
            let (kind, [_, rows]) = (file.kind, counts[place(file.kind)]);
            let columns = &none[place(kind)];
            match (file.is_npz, kind) {
                (true, _) => npz::layout(columns, rows, step, time, sums),
                (false, Kind::Contacts | Kind::Bonds) => vtk::contacts(columns, rows, time),
                (false, _) => vtk::points(columns, rows, time),
            }
        };
        let open = |file: &Wanted| Part::open(share, file, laid_out(file, &[]));
        let mut parts: Vec<Part> = files.iter().map(open).collect();

        share.for_each_part(&fields(kinds), &mut |state, before| {
            for kind in TOGETHER.into_iter().filter(|kind| kinds[place(*kind)]) {
                let table = table(kind, state, before);
                let first = match kind {
                    Kind::Bodies => before.bodies as usize,
                    Kind::Spheres => before.spheres as usize,
                    kind => next[place(kind)],
                };
                let own = files.iter().zip(&mut parts);
                for (_, part) in own.filter(|(file, _)| file.kind == kind) {
                    part.write_rows(&table, first);
                }
                next[place(kind)] += table.rows;
            }
        });

        let mut problem = None;
        for (index, (file, mut part)) in files.iter().zip(parts).enumerate() {
            let sums = part.sums(share);
            if share.rank() == 0 {
                part.write_rest(&laid_out(file, &sums));
            }
            if let (None, Err(error)) = (&problem, part.file) {
                problem = Some((index, error.to_string()));
            }
        }
        problem
    }
}

/// Place of a kind among those that are written together.
fn place(kind: Kind) -> usize {
    TOGETHER
        .iter()
        .position(|own| *own == kind)
        .expect("no other kind is ordered")
}

/// The buffers of which tables of these kinds are made.
fn fields([bodies, spheres, contacts, bonds]: [bool; 4]) -> Vec<Field> {
    let mut fields = Vec::new();
    if bodies || spheres {
        fields.push(Field::SphereLoads);
    }
    if bodies {
        fields.extend(quantities::BUFFERS);
        fields.push(Field::BodyBonds);
    }
    if contacts {
        fields.extend(Snapshot::CONTACTS);
    }
    if bonds {
        fields.push(Field::Bonds);
    }
    fields
}

/// Counts what the share of a rank has in these buffers: how much comes before it, and how much there is of all.
fn count(share: &mut dyn Share, fields: &[Field], of: fn(&State) -> usize) -> [usize; 2] {
    let mut own = 0_u64;
    share.for_each_part(fields, &mut |state, _| own += of(state) as u64);
    let all: Vec<u64> = pod_collect_to_vec(&share.all_gather(&own.to_le_bytes()));
    let sum = |own: &[u64]| own.iter().sum::<u64>() as usize;
    [sum(&all[..share.rank()]), sum(&all)]
}

/// The part of a rank in a file.
struct Part {
    /// The file, or what has kept this rank from writing it.
    file: io::Result<Box<dyn WriteSeek>>,
    layout: Layout,
    /// Of an archive: the checksums of its rows of each block.
    sums: Vec<Hasher>,
}

impl Part {
    fn open(share: &dyn Share, wanted: &Wanted, layout: Layout) -> Part {
        let blocks = if wanted.is_npz { layout.blocks() } else { &[] };
        Part {
            file: share.open(&part(&wanted.path)),
            sums: blocks.iter().map(|_| Hasher::new()).collect(),
            layout,
        }
    }

    /// Writes bytes to their place, if nothing has gone wrong before.
    fn put(&mut self, place: u64, bytes: &[u8]) {
        let Ok(file) = &mut self.file else {
            return;
        };
        let found = file.seek(SeekFrom::Start(place));
        if let Err(error) = found.and_then(|_| file.write_all(bytes)) {
            self.file = Err(error);
        }
    }

    /// Writes rows before which there are so many others.
    fn write_rows(&mut self, table: &Table, first: usize) {
        for index in 0..self.layout.blocks().len() {
            let Block {
                source,
                start,
                size,
                ..
            } = self.layout.blocks()[index];
            let bytes = source.bytes(table, first);
            if let Some(sum) = self.sums.get_mut(index) {
                sum.update(&bytes);
            }
            self.put(start + (first * size) as u64, &bytes);
        }
    }

    /// The checksums of all rows of each block, if it has any.
    fn sums(&self, share: &dyn Share) -> Vec<u32> {
        if self.sums.is_empty() {
            return Vec::new();
        }
        let sum = |own: &Hasher| [own.clone().finalize().into(), own.total_len()];
        let own: Vec<[u64; 2]> = self.sums.iter().map(sum).collect();
        let all: Vec<[u64; 2]> = pod_collect_to_vec(&share.all_gather(cast_slice(&own)));
        let mut sums = vec![Hasher::new(); own.len()];
        for of_rank in all.chunks_exact(own.len()) {
            for (sum, [own, length]) in sums.iter_mut().zip(of_rank) {
                sum.combine(&Hasher::new_with_initial_len(*own as u32, *length));
            }
        }
        sums.into_iter().map(Hasher::finalize).collect()
    }

    /// Writes all that is no rows.
    fn write_rest(&mut self, layout: &Layout) {
        for (place, bytes) in layout.rest() {
            self.put(place, bytes);
        }
    }
}
