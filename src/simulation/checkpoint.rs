//! Checkpoints: the state of a simulation in a file, from which a run continues as if it had never
//! stopped, bit for bit on the same backend and adapter.
//!
//! # The file, version 3
//!
//! | bytes | what |
//! |---|---|
//! | 16 | `ROCKFALL STATE\r\n`: a transfer as text would change the ending |
//! | 4 | version of the format, 3, little-endian as all that follows |
//! | 4 | length of the header |
//! | | the header, JSON in UTF-8: [`Header`] |
//! | | each of [`Header::sections`], one after the other: the bytes of a buffer of [`State`] |
//! | 8 | XXH3 (64 bits) of the XXH3 of each MiB before, and of what is left of the last one |
//!
//! A section starts at the next multiple of 16 bytes, and so does the hash; the bytes in between are 0. Sections have
//! the elements of [`crate::state::layout`], little-endian, as all machines are that Rockfall runs on. The file has
//! everything that a step carries over to the next: bodies, the neighbour lists with the history of each contact, the
//! sums of dissipated energy with their rounding errors, and `stats`, whose step count selects the random numbers for
//! the rounding of a step. It has neither data that follow from the scene nor data that each step computes anew.
//!
//! A reader checks the hash first, and then that the layout of the buffers and the scene are those that it has.

mod sound;

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use bytemuck::{AnyBitPattern, pod_collect_to_vec, pod_read_unaligned, try_cast_slice};
use glam::{DQuat, DVec3, Vec3, Vec4};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::math::{self, hash::Hasher};
use crate::model::clump::Clump;
use crate::model::error::{Error, Result};
use crate::model::flow::Traffic;
use crate::model::quantity::Quantities;
use crate::model::wall::{Pose, Wall};
use crate::model::{ContactHistory, Model, ModelBody};
use crate::simulation::Simulation;
use crate::simulation::snapshot::Snapshot;
use crate::state::layout::{self, Body, Sphere, WALL};
use crate::state::{
    Dissipated, Field, Identities, Identity, State, angular_velocity, body_orientation, quantities,
};
use crate::step::{SharedFile, Source};

/// Name of the last checkpoint in the folder of a run.
pub const FILE: &str = "run.checkpoint";

/// First bytes of a file.
const MAGIC: &[u8; 16] = b"ROCKFALL STATE\r\n";
/// Version of the format.
const VERSION: u32 = 3;
/// Multiple of bytes at which a section starts.
const ALIGNMENT: usize = 16;

/// Header of a checkpoint.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of Rockfall that wrote it.
    pub rockfall: String,
    /// Hash of the layout of the buffers: 16 hexadecimal digits.
    pub layout: String,
    /// Name of the scene.
    pub scene: String,
    /// [`Model::hash`](crate::model::Model::hash): 16 hexadecimal digits.
    pub scene_hash: String,
    /// `"cpu"` or `"gpu"`.
    pub backend: String,
    /// The adapter, or the CPU with its number of threads.
    pub adapter: String,
    /// Number of steps taken.
    pub steps: u64,
    /// Time step, s.
    pub time_step: f64,
    /// Position at which cell (0, 0, 0) of the grid starts, m.
    pub origin: [f64; 3],
    /// Sides of a cell, m.
    pub cell_size: [f32; 3],
    /// Elements of the history of each contact.
    pub history_size: u32,
    /// Contact law, as the scene names it.
    pub law: String,
    /// The shapes.
    pub shapes: Vec<ShapeBefore>,
    /// Names of the groups; the first is that of bodies in none.
    #[serde(default)]
    pub groups: Vec<String>,
    /// The walls.
    pub walls: Vec<WallBefore>,
    /// Energy that the contacts of bodies dissipated that are gone.
    pub gone: Dissipated,
    /// Counters of what has come in, gone out and passed.
    pub traffic: Traffic,
    /// Sections that follow, in this order.
    pub sections: Vec<Section>,
}

/// A part of a checkpoint.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Name of a buffer of [`State`], or one of these: `shape_of_body`, a `u32` a body with the index of its shape,
    /// its group from bit 26 on, and the highest bit if it is fixed; `ids`, a `u64` a body; `places`, three `f64` a
    /// body, its position at the last look, m, where faces count bodies.
    pub name: String,
    /// Length, bytes.
    pub bytes: u64,
}

/// A shape, as a checkpoint has it.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShapeBefore {
    /// Its name.
    pub name: String,
    /// Name of the material of its bodies, if it is not that of the shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub material: Option<String>,
    /// Number of its spheres.
    pub spheres: u32,
    /// Centre of mass in the shape's own axes, m.
    pub center_of_mass: [f64; 3],
    /// Shape axes from body frame: a quaternion x, y, z, w.
    pub principal_axes: [f64; 4],
    /// Principal moments of inertia, kg m².
    pub inertia: [f64; 3],
}

impl ShapeBefore {
    fn new(index: usize, model: &Model) -> ShapeBefore {
        let clump = &model.shapes[index];
        // Shapes that differ in their material alone share the name of the first.
        let original = |other: &Clump| other.name == clump.name;
        let remade = model.shapes[..index].iter().any(original);
        ShapeBefore {
            name: clump.name.clone(),
            material: remade.then(|| model.materials[clump.materials[0]].clone()),
            spheres: clump.spheres.len() as u32,
            center_of_mass: clump.center_of_mass.to_array(),
            principal_axes: clump.principal_axes.to_array(),
            inertia: clump.inertia.to_array(),
        }
    }

    /// Centre of mass in the shape's own axes, m, and rotation from the body frame to the shape's axes.
    pub(crate) fn frame(&self) -> (DVec3, DQuat) {
        (
            self.center_of_mass.into(),
            DQuat::from_array(self.principal_axes),
        )
    }
}

/// A wall, as a checkpoint has it.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WallBefore {
    /// Name.
    pub name: String,
    /// Hash of its shape and side: 16 hexadecimal digits.
    pub shape: String,
    /// Number of its facets.
    pub facets: u32,
}

impl WallBefore {
    fn new(wall: &Wall) -> WallBefore {
        WallBefore {
            name: wall.name.clone(),
            shape: hex(wall.shape_hash()),
            facets: wall.facets(0).facets.len() as u32,
        }
    }
}

/// A body, as a checkpoint has it.
pub(crate) struct BodyBefore {
    /// Index of its shape in [`Header::shapes`].
    pub shape: usize,
    pub fixed: bool,
    /// Index of its group in [`Header::groups`].
    pub group: usize,
    /// Centre of mass, m.
    pub position: DVec3,
    /// Rotation from the body frame to the world.
    pub orientation: DQuat,
    /// m/s.
    pub velocity: DVec3,
    /// rad/s, in the world frame.
    pub angular_velocity: DVec3,
    pub quantities: Quantities,
}

/// Name of the section that has the shapes of the bodies.
const SHAPES: &str = "shape_of_body";
/// Name of the section that has the ids of the bodies.
const IDS: &str = "ids";
/// Name of the section with the positions of bodies at the last look.
const PLACES: &str = "places";
/// Marks a fixed body in `SHAPES`.
const FIXED: u32 = 1 << 31;
/// Lowest bit of the group, which ends below the bit of `FIXED`; the lower bits are the shape.
const GROUP_SHIFT: u32 = 26;
const SHAPE_BITS: u32 = (1 << GROUP_SHIFT) - 1;

/// Group of an element of `shape_of_body`.
fn group_of(shape: u32) -> usize {
    ((shape & !FIXED) >> GROUP_SHIFT) as usize
}

/// A checkpoint read from a file: complete, and of this version's format.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Header.
    #[doc(hidden)]
    pub header: Header,
    bytes: Vec<u8>,
    /// Starts of the sections.
    starts: Vec<usize>,
}

/// Writes the bytes of a checkpoint.
///
/// `backend` and `adapter` are those of the simulation, see [`Simulation::backend`] and
/// [`Simulation::adapter`].
///
/// # Errors
/// Those of `writer`.
#[doc(hidden)]
pub fn encode(
    writer: &mut impl Write,
    snapshot: &Snapshot,
    backend: &str,
    adapter: &str,
) -> io::Result<()> {
    let outline = Outline::new(snapshot, backend, adapter);
    let mut writer = Hashed::new(writer);
    writer.write(&outline.head)?;
    for section in &outline.sections {
        writer.align()?;
        writer.write(&section.bytes)?;
    }
    writer.align()?;
    let hash = writer.hash.digest();
    writer.writer.write_all(&hash.to_le_bytes())
}

/// Contents of a checkpoint, and their places.
struct Outline<'a> {
    /// Everything before the sections.
    head: Vec<u8>,
    sections: Vec<Placed<'a>>,
    /// Offset of the hash.
    end: u64,
}

/// A section with its place.
struct Placed<'a> {
    name: &'static str,
    field: Option<Field>,
    start: u64,
    /// Its bytes, if the snapshot has them, and how many it has in any case.
    bytes: Cow<'a, [u8]>,
    length: u64,
}

impl Outline<'_> {
    fn new<'a>(snapshot: &Snapshot<'a>, backend: &str, adapter: &str) -> Outline<'a> {
        let Snapshot {
            model,
            state,
            steps,
        } = *snapshot;
        let shapes: Vec<u32> = state
            .identities
            .iter()
            .map(|body| {
                let fixed = if body.fixed { FIXED } else { 0 };
                body.shape as u32 | (body.group as u32) << GROUP_SHIFT | fixed
            })
            .collect();
        let ids: Vec<u64> = state.identities.iter().map(|body| body.id).collect();
        let places: Vec<[f64; 3]> = state.traffic.places.iter().map(DVec3::to_array).collect();
        let carried = Field::ALL.into_iter().filter(|field| field.is_carried());
        let carried = carried.map(|field| Placed {
            name: field.name(),
            field: Some(field),
            start: 0,
            bytes: Cow::Borrowed(state.bytes(field)),
            length: state.size_of(field) as u64,
        });
        let other = |name, bytes: Vec<u8>| Placed {
            name,
            field: None,
            start: 0,
            length: bytes.len() as u64,
            bytes: Cow::Owned(bytes),
        };
        let others = [
            other(SHAPES, pod_collect_to_vec(&shapes)),
            other(IDS, pod_collect_to_vec(&ids)),
            other(PLACES, pod_collect_to_vec(&places)),
        ];
        let mut sections: Vec<Placed> = carried.chain(others).collect();
        let header = Header {
            rockfall: env!("CARGO_PKG_VERSION").to_owned(),
            layout: layout(),
            scene: model.name.clone(),
            scene_hash: hex(model.hash()),
            backend: backend.to_owned(),
            adapter: adapter.to_owned(),
            steps,
            time_step: model.time_step,
            origin: state.origin.to_array(),
            cell_size: state.params.cell_size.to_array(),
            history_size: state.params.history_size,
            law: model.contact.law.name().to_owned(),
            shapes: (0..model.shapes.len())
                .map(|shape| ShapeBefore::new(shape, model))
                .collect(),
            groups: model
                .forces
                .groups
                .iter()
                .map(|group| group.name.clone())
                .collect(),
            walls: model.walls.iter().map(WallBefore::new).collect(),
            gone: state.gone,
            traffic: state.traffic.clone(),
            sections: sections
                .iter()
                .map(|section| Section {
                    name: section.name.to_owned(),
                    bytes: section.length,
                })
                .collect(),
        };
        let header = serde_json::to_vec(&header).expect("a header has names and numbers");
        let mut head = MAGIC.to_vec();
        head.extend(VERSION.to_le_bytes());
        head.extend((header.len() as u32).to_le_bytes());
        head.extend(header);
        let mut end = head.len() as u64;
        for section in &mut sections {
            section.start = end.next_multiple_of(ALIGNMENT as u64);
            end = section.start + section.length;
        }
        Outline {
            head,
            sections,
            end: end.next_multiple_of(ALIGNMENT as u64),
        }
    }
}

/// Hash of the bytes that precede it in a checkpoint file.
pub fn hash(bytes: &[u8]) -> u64 {
    math::hash::hash(bytes)
}

/// The error of a checkpoint that is complete but has impossible contents.
fn damaged(found: String) -> String {
    format!(
        "found {found}, expected a state as a run leaves it; the file was damaged before it was written, \
         or belongs to another program: take an earlier one, or start the run again"
    )
}

/// The error of a checkpoint whose file cannot be read.
pub(crate) fn unreadable(file: &Path, error: &io::Error) -> Error {
    Error::Checkpoint {
        file: file.to_owned(),
        problem: match error.kind() {
            io::ErrorKind::NotFound => "found no such file, expected a checkpoint".into(),
            _ => format!("found a file that cannot be read ({error})"),
        },
    }
}

/// A writer that counts and hashes its bytes.
struct Hashed<'a, W> {
    writer: &'a mut W,
    hash: Hasher,
    count: usize,
}

impl<'a, W: Write> Hashed<'a, W> {
    fn new(writer: &'a mut W) -> Self {
        Hashed {
            writer,
            hash: Hasher::default(),
            count: 0,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.count += bytes.len();
        self.writer.write_all(bytes)
    }

    fn align(&mut self) -> io::Result<()> {
        let padding = self.count.next_multiple_of(ALIGNMENT) - self.count;
        self.write(&[0; ALIGNMENT][..padding])
    }
}

impl Checkpoint {
    /// Reads the bytes of a checkpoint; `file` is named in errors.
    ///
    /// # Errors
    /// If they are no checkpoint, are incomplete, or were written by a version of Rockfall with another format or
    /// other buffers.
    pub fn decode(bytes: Vec<u8>, file: &Path) -> Result<Checkpoint> {
        Checkpoint::parse(bytes).map_err(|problem| Error::Checkpoint {
            file: file.to_owned(),
            problem,
        })
    }

    fn parse(bytes: Vec<u8>) -> std::result::Result<Checkpoint, String> {
        const OTHER: &str = "take one that was written by `rockfall run`";
        const NOT_WHOLE: &str = "was it cut off while being copied, or was the disk full? take an earlier one, or \
                                 start the run again";
        let start = bytes.get(..MAGIC.len()).unwrap_or(&bytes);
        if start != &MAGIC[..start.len()] || start.is_empty() {
            return Err(format!(
                "found a file of another kind, expected a checkpoint; {OTHER}"
            ));
        }
        let word = |at: usize| {
            let word = bytes.get(at..at + 4)?;
            Some(u32::from_le_bytes(word.try_into().expect("four bytes")))
        };
        let cut = || {
            let length = bytes.len();
            format!(
                "found {length} bytes without the rest, expected a whole checkpoint; {NOT_WHOLE}"
            )
        };
        let version = word(16).ok_or_else(cut)?;
        if version != VERSION {
            return Err(format!(
                "found version {version} of the format, expected {VERSION}, the one that Rockfall {} \
                 reads; resume with the version of Rockfall that wrote it",
                env!("CARGO_PKG_VERSION")
            ));
        }
        let header_end = 24 + word(20).ok_or_else(cut)? as usize;
        let header = bytes.get(24..header_end).ok_or_else(cut)?;
        let header: Header = serde_json::from_slice(header).map_err(|error| {
            format!(
                "found a header that cannot be read ({error}), expected a checkpoint; {NOT_WHOLE}"
            )
        })?;
        let mut starts = Vec::with_capacity(header.sections.len());
        let mut end = header_end;
        let aligned = |end: usize| end.checked_next_multiple_of(ALIGNMENT).ok_or_else(cut);
        for section in &header.sections {
            let start = aligned(end)?;
            starts.push(start);
            let bytes = usize::try_from(section.bytes).map_err(|_| cut())?;
            end = start.checked_add(bytes).ok_or_else(cut)?;
        }
        end = aligned(end)?;
        let rest = bytes.get(end..).ok_or_else(cut)?;
        let hash = rest.get(..8).ok_or_else(cut)?;
        if bytes.len() > end + 8 {
            return Err(format!(
                "found {} bytes after its end, expected none; {NOT_WHOLE}",
                bytes.len() - end - 8
            ));
        }
        if hash != self::hash(&bytes[..end]).to_le_bytes() {
            return Err(format!(
                "found changed bytes (their hash differs), expected a whole checkpoint; {NOT_WHOLE}"
            ));
        }
        if header.layout != layout() {
            return Err(format!(
                "found the buffers of Rockfall {} ({}), expected those of this version, {} ({}); resume \
                 with the version that wrote it",
                header.rockfall,
                header.layout,
                env!("CARGO_PKG_VERSION"),
                layout()
            ));
        }
        let checkpoint = Checkpoint {
            header,
            bytes,
            starts,
        };
        checkpoint.is_sound().map_err(damaged)?;
        Ok(checkpoint)
    }

    /// The bytes of a section; empty if no section has this name.
    fn section(&self, name: &str) -> &[u8] {
        let sections = self.header.sections.iter().zip(&self.starts);
        let mut named = sections.filter(|(section, _)| section.name == name);
        named.next().map_or(&[], |(section, &start)| {
            &self.bytes[start..start + section.bytes as usize]
        })
    }

    /// The elements of a section; a copy of them only if they do not lie as an array of them does.
    fn elements<T: AnyBitPattern>(&self, name: &str) -> Cow<'_, [T]> {
        let bytes = self.section(name);
        match try_cast_slice(bytes) {
            Ok(elements) => Cow::Borrowed(elements),
            Err(_) => {
                let elements = bytes.chunks_exact(size_of::<T>());
                Cow::Owned(elements.map(pod_read_unaligned).collect())
            }
        }
    }

    /// The bodies, for a run that starts from them.
    pub(crate) fn bodies(&self) -> impl ExactSizeIterator<Item = BodyBefore> + '_ {
        let mut state = State {
            origin: DVec3::from_array(self.header.origin),
            ..State::default()
        };
        state.params.cell_size = Vec3::from_array(self.header.cell_size);
        for field in [&[Field::Bodies], &quantities::BUFFERS[..]].concat() {
            state.set_bytes(field, self.section(field.name()));
        }
        let shapes = self.elements::<u32>(SHAPES).into_owned().into_iter();
        shapes.enumerate().map(move |(number, shape)| {
            let body = &state.bodies[number];
            let index = (shape & SHAPE_BITS) as usize;
            let fixed = shape & FIXED != 0;
            let inertia = match fixed {
                // A fixed body has its angular velocity in place of its angular momentum.
                true => DVec3::ONE,
                false => DVec3::from_array(self.header.shapes[index].inertia),
            };
            BodyBefore {
                shape: index,
                fixed,
                group: group_of(shape),
                position: state.position(body),
                orientation: body_orientation(body),
                velocity: body.velocity.as_dvec3(),
                angular_velocity: angular_velocity(body, inertia),
                quantities: state.quantities(number).or_default(),
            }
        })
    }

    /// Whether each group has a body.
    pub(crate) fn used_groups(&self) -> Vec<bool> {
        let mut used = vec![false; self.header.groups.len().max(1)];
        for &shape in &*self.elements::<u32>(SHAPES) {
            let group = group_of(shape);
            used.resize(used.len().max(group + 1), false);
            used[group] = true;
        }
        used
    }

    /// Whether each shape has a body.
    pub(crate) fn used_shapes(&self) -> Vec<bool> {
        let mut used = vec![false; self.header.shapes.len()];
        for &shape in &*self.elements::<u32>(SHAPES) {
            used[(shape & SHAPE_BITS) as usize] = true;
        }
        used
    }

    /// Pose of each wall.
    fn wall_poses(&self) -> Vec<Pose> {
        let origin = DVec3::from_array(self.header.origin);
        let cell_size = Vec3::from_array(self.header.cell_size).as_dvec3();
        let walls: Cow<[layout::Wall]> = self.elements(Field::Walls.name());
        let pose = |wall: &layout::Wall| Pose {
            position: origin + wall.cell.as_dvec3() * cell_size + wall.offset.as_dvec3(),
            orientation: DQuat::from_vec4(wall.orientation.as_dvec4()).normalize(),
        };
        walls[..self.header.walls.len()].iter().map(pose).collect()
    }

    /// For each of `walls`, its index in the old run, if it was there; and for each facet of the old run, its index
    /// among the facets of `walls`.
    pub(crate) fn walls_in(&self, walls: &[Wall]) -> (Vec<Option<usize>>, Vec<Option<u32>>) {
        let poses = self.wall_poses();
        let before = &self.header.walls;
        let of = |wall: &Wall| {
            let (shape, now) = (hex(wall.shape_hash()), wall.at(0.0).pose);
            (0..poses.len()).find(|&index| {
                let was = poses[index];
                let shift = was.position - now.position;
                let near = 1e-6 * (1.0 + was.position.length());
                let turned = (was.orientation.conjugate() * now.orientation)
                    .xyz()
                    .length();
                before[index].shape == shape
                    && turned < 1e-6
                    && match wall.plane_normal() {
                        Some(normal) => shift.dot(normal).abs() < near,
                        None => shift.length() < near,
                    }
            })
        };
        let wall_of: Vec<Option<usize>> = walls.iter().map(of).collect();
        let starts: Vec<usize> = before
            .iter()
            .scan(0, |next, wall| {
                let start = *next;
                *next += wall.facets as usize;
                Some(start)
            })
            .collect();
        let count = before.iter().map(|wall| wall.facets as usize).sum();
        let mut facet_of = vec![None; count];
        let mut first = 0;
        for (wall, was) in walls.iter().zip(&wall_of) {
            let facets = wall.facets(0).facets.len();
            if let Some(was) = *was {
                for k in 0..facets {
                    facet_of[starts[was] + k] = Some((first + k) as u32);
                }
            }
            first += facets;
        }
        (wall_of, facet_of)
    }

    /// Histories of the contacts of the bodies in `kept` (indices in increasing order) with each other and with
    /// walls; `facet_of` gives the new index of each old facet.
    pub(crate) fn contact_history(
        &self,
        kept: &[usize],
        facet_of: &[Option<u32>],
    ) -> Option<ContactHistory> {
        let size = self.header.history_size as usize;
        if size == 0 {
            return None;
        }
        let starts: Cow<[u32]> = self.elements(Field::NeighbourStarts.name());
        let entries: Cow<[u32]> = self.elements(Field::Neighbours.name());
        let elements: Cow<[Vec4]> = self.elements(Field::History.name());
        // The remaining spheres, by their new and old indices.
        let spheres_of = |shape: u32| self.header.shapes[(shape & SHAPE_BITS) as usize].spheres;
        let mut new_index = vec![None; starts.len() - 1];
        let (mut first, mut next, mut left) = (0, 0, kept.iter().peekable());
        for (body, &shape) in self.elements::<u32>(SHAPES).iter().enumerate() {
            let spheres = spheres_of(shape) as usize;
            if left.next_if(|kept| **kept == body).is_some() {
                for index in &mut new_index[first..first + spheres] {
                    *index = Some(next);
                    next += 1;
                }
            }
            first += spheres;
        }
        let mut history = ContactHistory {
            size: size as u32,
            ..ContactHistory::default()
        };
        for (old, new) in new_index.iter().enumerate() {
            if new.is_none() {
                continue;
            }
            let mut list: Vec<(u32, usize)> = (starts[old] as usize..starts[old + 1] as usize)
                .filter_map(|entry| {
                    let other = entries[entry];
                    let now = if other & WALL == 0 {
                        new_index[other as usize]
                    } else {
                        facet_of[(other & !WALL) as usize].map(|facet| facet | WALL)
                    };
                    now.map(|now| (now, entry))
                })
                .collect();
            list.sort_unstable();
            for (now, entry) in list {
                history.entries.push(now);
                history
                    .elements
                    .extend(&elements[entry * size..(entry + 1) * size]);
            }
            history.ends.push(history.entries.len() as u32);
        }
        Some(history)
    }

    /// Takes a simulation to the state of the one that wrote this checkpoint.
    ///
    /// # Errors
    /// If the checkpoint is of another scene, or the device has no memory for the state. The error names `file`.
    pub fn restore(self, simulation: &mut Simulation, file: &Path) -> Result<()> {
        let state = self.outline(simulation.model(), file)?;
        let steps = self.header.steps;
        simulation.restore_from(state, Box::new(self), steps)
    }

    /// The state that a simulation of `model` had, [free](State::free) of the bodies, which this checkpoint is the [`Source`] of.
    fn outline(&self, model: &Model, file: &Path) -> Result<State> {
        let found = &self.header;
        let wrong = |problem: String| Error::Checkpoint {
            file: file.to_owned(),
            problem,
        };
        let hash = hex(model.hash());
        if found.scene_hash != hash {
            return Err(wrong(format!(
                "found a state of the scene {:?} ({}), expected one of {:?} ({hash}); resume with the \
                 scene that it was written for, or start a new run from it with \"start\"",
                found.scene, found.scene_hash, model.name
            )));
        }
        let groups = model.forces.groups.len().max(1);
        let shapes = self.elements::<u32>(SHAPES);
        let known = shapes.iter().all(|shape| group_of(*shape) < groups);
        if found.shapes.len() != model.shapes.len() || !known {
            let what = "other shapes or groups than those of the scene";
            return Err(wrong(damaged(what.to_owned())));
        }
        let mut identities = Identities::default();
        for (id, body) in self.model_bodies(0..shapes.len()) {
            identities.push(Identity::of(id, &body));
        }
        let spheres = self.section(Field::Spheres.name()).len() / size_of::<Sphere>();
        let mut state = State::free_with(model, identities, spheres as u32);
        let actions = [model.forces.springs.len(), model.forces.applied.len()];
        self.fits(&state, actions, model.bonds.len())
            .and_then(|()| self.bodies_fit(&state, model))
            .map_err(|found| wrong(damaged(found)))?;
        let places = self.elements::<[f64; 3]>(PLACES);
        (state.gone, state.traffic) = (found.gone, found.traffic.clone());
        state.traffic.places = places.iter().copied().map(DVec3::from_array).collect();
        let entries = self.section(Field::Neighbours.name()).len() / size_of::<u32>();
        state.params.neighbour_capacity = entries as u32;
        state.set_actions(self.elements(Field::Actions.name()).into_owned());
        state.set_bonds(self.elements(Field::Bonds.name()).into_owned());
        for field in Field::ALL.into_iter().filter(|field| field.is_carried()) {
            let from = self.section(field.name());
            let expected = state.size_of(field);
            if from.len() != expected {
                return Err(wrong(format!(
                    "found {} bytes of {}, expected {expected}; resume with the version of Rockfall that wrote \
                     it, {}",
                    from.len(),
                    field.name(),
                    found.rockfall
                )));
            }
            if !field.is_of_bodies() {
                state.bytes_mut(field).copy_from_slice(from);
            }
        }
        Ok(state)
    }

    /// Some bodies with their ids, as a model has them: of their motion, only that which nothing changes.
    fn model_bodies(&self, bodies: Range<usize>) -> impl Iterator<Item = (u64, ModelBody)> + '_ {
        let shapes = self.elements::<u32>(SHAPES);
        let ids = self.elements::<u64>(IDS);
        let moving = self.elements::<Body>(Field::Bodies.name());
        bodies.map(move |index| {
            let shape = shapes[index];
            let fixed = shape & FIXED != 0;
            let own = ModelBody {
                shape: (shape & SHAPE_BITS) as usize,
                fixed,
                group: group_of(shape),
                ..ModelBody::default()
            };
            let own = match fixed {
                // A fixed body that moves is kinematic.
                true => ModelBody {
                    velocity: moving[index].velocity.as_dvec3(),
                    angular_velocity: moving[index].angular_momentum.as_dvec3(),
                    ..own
                },
                false => own,
            };
            (ids[index], own)
        })
    }

    /// The part of a section that belongs to some of `all` elements.
    fn bytes_of(&self, field: Field, all: usize, own: &Range<usize>) -> &[u8] {
        let bytes = self.section(field.name());
        let size = bytes.len() / all.max(1);
        &bytes[size * own.start..size * own.end]
    }
}

impl Source for Checkpoint {
    fn part(&self, whole: &State, bodies: Range<usize>) -> (State, u32) {
        let mut part = whole.outline();
        let count = whole.params.body_count as usize;
        for field in [
            Field::Bodies,
            Field::BodyForces,
            Field::BodyHeat,
            Field::BodyBonds,
        ] {
            part.set_bytes(field, self.bytes_of(field, count, &bodies));
        }
        let first_sphere = part.bodies.first().map_or(0, |body| body.first_sphere);
        for body in &mut part.bodies {
            body.first_sphere -= first_sphere;
        }
        let spheres = part
            .bodies
            .last()
            .map_or(0, |body| part.spheres_of(body).end);
        let first = first_sphere as usize;
        let own = first..first + spheres;
        part.set_counts(bodies.len() as u32, spheres as u32);
        if part.params.forces == 1 && part.body_forces.is_empty() {
            part.start_forces();
        }
        let count = whole.params.sphere_count as usize;
        part.set_bytes(
            Field::SphereLoads,
            self.bytes_of(Field::SphereLoads, count, &own),
        );
        let starts: Cow<[u32]> = self.elements(Field::NeighbourStarts.name());
        let starts = &starts[own.start..own.end + 1];
        let before = starts[0];
        let ends = starts.iter().map(|start| start - before);
        part.neighbour_starts = ends.collect();
        let entries = before as usize..starts[spheres] as usize;
        let count = whole.params.neighbour_capacity as usize;
        part.set_bytes(
            Field::Neighbours,
            self.bytes_of(Field::Neighbours, count, &entries),
        );
        if whole.params.history_size > 0 {
            part.set_bytes(
                Field::History,
                self.bytes_of(Field::History, count, &entries),
            );
        }
        (part, first_sphere)
    }

    fn fill(&self, state: &mut State) {
        state.make_room();
        let carried = Field::ALL.into_iter().filter(|field| field.is_carried());
        for field in carried.filter(|field| field.is_of_bodies()) {
            match self.section(field.name()) {
                // Forces act that did not when the checkpoint was written.
                [] if field == Field::BodyForces => {
                    if state.params.forces == 1 {
                        state.start_forces();
                    }
                }
                from => state.bytes_mut(field).copy_from_slice(from),
            }
        }
    }
}

impl Simulation {
    /// The bytes of a [checkpoint](crate::simulation::checkpoint) of the present state, for [`Checkpoint::decode`]
    /// and [`Checkpoint::restore`].
    ///
    /// # Errors
    /// If the device is lost.
    pub fn checkpoint(&mut self) -> Result<Vec<u8>> {
        let (backend, adapter) = (self.backend(), self.adapter());
        let mut bytes = Vec::new();
        encode(&mut bytes, &self.fetch_carried()?, backend, &adapter)
            .expect("memory takes what is written to it");
        Ok(bytes)
    }

    /// Whether the ranks of a cluster hold the state; they write a checkpoint together.
    pub(crate) fn is_spread(&self) -> bool {
        self.engine.is_spread(Field::Bodies)
    }

    /// Makes the ranks of a cluster write a checkpoint without its final hash to an existing, empty file; each rank
    /// writes its part. The data are on disk when this returns the hash.
    ///
    /// # Errors
    /// If a rank cannot write.
    pub(crate) fn write_spread(&mut self, path: &Path) -> Result<u64> {
        self.engine.read_rest(&mut self.state)?;
        let (backend, adapter) = (self.backend(), self.adapter());
        let snapshot = Snapshot {
            model: &self.model,
            state: &self.state,
            steps: self.steps,
        };
        let outline = Outline::new(&snapshot, backend, &adapter);
        let mut pieces = vec![(0, &outline.head[..])];
        let mut fields = Vec::new();
        for Placed {
            field,
            start,
            bytes,
            ..
        } in &outline.sections
        {
            match field {
                Some(field) if self.engine.is_spread(*field) => fields.push((*field, *start)),
                _ => pieces.push((*start, &bytes[..])),
            }
        }
        let file = SharedFile {
            path,
            length: outline.end,
            pieces: &pieces,
            fields: &fields,
        };
        let blocks = self.engine.write_file(&file, &self.state)?;
        Ok(math::hash::of_blocks(blocks))
    }
}

/// Hash of the layout of the buffers, which is the same on both engines.
fn layout() -> String {
    hex(xxh3_64(crate::state::layout::WGSL.as_bytes()))
}

/// A hash as 16 hexadecimal digits.
pub(crate) fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}
