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
use std::fmt;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytemuck::{Pod, cast_slice_mut, pod_collect_to_vec, zeroed_vec};
use glam::{DQuat, DVec3, Vec3, Vec4};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::math;
use crate::math::hash::{BLOCK, Hasher};
use crate::model::clump::Clump;
use crate::model::error::{Error, Result};
use crate::model::flow::Traffic;
use crate::model::quantity::Quantities;
use crate::model::wall::{Pose, Wall};
use crate::model::{ContactHistory, Model, ModelBody};
use crate::simulation::Simulation;
use crate::simulation::snapshot::Snapshot;
use crate::state::layout::{self, Body, Bond, Sphere, WALL};
use crate::state::{
    Dissipated, Field, Identities, Identity, State, angular_velocity, body_orientation, quantities,
};
use crate::step::{MaybeSend, SharedFile, Source};

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

/// For each of some walls, its index in the old run, if it was there; and for each facet of the old run, its index among the facets of
/// these walls.
pub(crate) type KeptWalls = (Vec<Option<usize>>, Vec<Option<u32>>);

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

/// The bytes of a checkpoint, in memory or elsewhere, such as in a file.
pub trait Storage: fmt::Debug + MaybeSend {
    /// Number of bytes.
    fn length(&self) -> u64;

    /// Fills `into` with the bytes from an offset on.
    ///
    /// # Errors
    /// If there are fewer, or they cannot be read.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()>;
}

impl Storage for Vec<u8> {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get(start..));
        let own = rest.and_then(|rest| rest.get(..into.len()));
        into.copy_from_slice(own.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// A checkpoint: complete, and of this version's format.
///
/// Only its header is in memory. All else stays in its [`Storage`], and is read when somebody asks for it.
#[derive(Debug)]
pub struct Checkpoint {
    /// Header.
    #[doc(hidden)]
    pub header: Header,
    storage: Box<dyn Storage>,
    /// Name of its file, for errors.
    file: PathBuf,
    /// Starts of the sections.
    starts: Vec<u64>,
}

/// Spheres some of which are left out, by their old indices. It takes some 1.5 bits a sphere.
#[derive(Default)]
struct Renumbered {
    count: u32,
    /// A bit a sphere: whether it is kept.
    kept: Vec<u64>,
    /// Number of spheres that are kept before those of each element of `kept`.
    before: Vec<u32>,
}

impl Renumbered {
    /// Adds spheres.
    fn push(&mut self, kept: bool, spheres: u32) {
        for _ in 0..spheres {
            if self.count.is_multiple_of(u64::BITS) {
                let last = self.kept.last().map_or(0, |own| own.count_ones());
                self.before.push(self.before.last().unwrap_or(&0) + last);
                self.kept.push(0);
            }
            let bit = u64::from(kept) << (self.count % u64::BITS);
            *self.kept.last_mut().expect("there is room") |= bit;
            self.count += 1;
        }
    }

    /// The new index of a sphere, if it is kept.
    fn new_index(&self, old: u32) -> Option<u32> {
        let (element, bit) = ((old / u64::BITS) as usize, 1 << (old % u64::BITS));
        let own = self.kept[element];
        let before = self.before[element] + (own & (bit - 1)).count_ones();
        (own & bit != 0).then_some(before)
    }
}

/// The contact histories of a checkpoint that remain in a run which keeps some of its bodies.
pub(crate) struct KeptContacts<'a> {
    checkpoint: &'a Checkpoint,
    spheres: Renumbered,
    facet_of: &'a [Option<u32>],
}

impl KeptContacts<'_> {
    /// Histories of some old spheres. The `ends` go on from as many entries as there are `before`.
    pub fn of(&self, spheres: Range<usize>, before: u32) -> io::Result<ContactHistory> {
        let from = self.checkpoint;
        let size = from.header.history_size as usize;
        let mut to = ContactHistory {
            size: size as u32,
            ..ContactHistory::default()
        };
        for some in pieces(spheres.len()) {
            let some = spheres.start + some.start..spheres.start + some.end;
            let starts = some.start..some.end + 1;
            let starts: Vec<u32> = from.some(Field::NeighbourStarts.name(), starts)?;
            let first = starts[0] as usize;
            let own = first..starts[some.len()] as usize;
            let entries: Vec<u32> = from.some(Field::Neighbours.name(), own.clone())?;
            let own = size * own.start..size * own.end;
            let elements: Vec<Vec4> = from.some(Field::History.name(), own)?;
            for (list, sphere) in starts.windows(2).zip(some) {
                if self.spheres.new_index(sphere as u32).is_none() {
                    continue;
                }
                let list = list[0] as usize - first..list[1] as usize - first;
                let kept = list.filter_map(|entry| {
                    let other = entries[entry];
                    let now = match other & WALL {
                        0 => self.spheres.new_index(other),
                        _ => self.facet_of[(other & !WALL) as usize].map(|facet| facet | WALL),
                    };
                    // As lists of bonds are, so that there is one sort.
                    Some([now?, entry as u32, 0])
                });
                let mut list: Vec<[u32; 3]> = kept.collect();
                list.sort_unstable();
                for [now, entry, _] in list {
                    let entry = entry as usize;
                    to.entries.push(now);
                    to.elements
                        .extend(&elements[entry * size..(entry + 1) * size]);
                }
                to.ends.push(before + to.entries.len() as u32);
            }
        }
        Ok(to)
    }
}

/// Bodies and the like that are read at a time: a few MB.
const SOME: usize = 1 << 14;

/// Ranges of [`SOME`] of so many elements, one after the other.
fn pieces(count: usize) -> impl ExactSizeIterator<Item = Range<usize>> {
    let starts = (0..count).step_by(SOME);
    starts.map(move |start| start..count.min(start + SOME))
}

/// Reason why a checkpoint is not taken.
enum Fault {
    Unread(io::Error),
    /// It is complete, but has impossible contents; the text follows the word "found".
    Damaged(String),
    /// The text is a sentence: what was found, expected and what to do.
    Refused(String),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault::Unread(error)
    }
}

impl Fault {
    /// The error that names `file`.
    fn of(self, file: &Path) -> Error {
        let problem = match self {
            Fault::Unread(error) => return unreadable(file, &error),
            Fault::Damaged(found) => format!(
                "found {found}, expected a state as a run leaves it; the file was damaged before it was written, \
                 or belongs to another program: take an earlier one, or start the run again"
            ),
            Fault::Refused(problem) => problem,
        };
        Error::Checkpoint {
            file: file.to_owned(),
            problem,
        }
    }
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
        Checkpoint::open(Box::new(bytes), file)
    }

    /// Does as [`Checkpoint::decode`] with bytes that stay where they are.
    ///
    /// # Errors
    /// If they cannot be read, and as [`Checkpoint::decode`].
    pub fn open(storage: Box<dyn Storage>, file: &Path) -> Result<Checkpoint> {
        Checkpoint::parse(storage, file).map_err(|fault| fault.of(file))
    }

    fn parse(storage: Box<dyn Storage>, file: &Path) -> std::result::Result<Checkpoint, Fault> {
        const OTHER: &str = "take one that was written by `rockfall run`";
        const NOT_WHOLE: &str = "was it cut off while being copied, or was the disk full? take an earlier one, or \
                                 start the run again";
        let refused = |problem: String| Err(Fault::Refused(problem));
        let length = storage.length();
        let bytes = |start: u64, count: u64| -> std::result::Result<Vec<u8>, Fault> {
            if start.checked_add(count).is_none_or(|end| end > length) {
                return Err(Fault::Refused(format!(
                    "found {length} bytes without the rest, expected a whole checkpoint; {NOT_WHOLE}"
                )));
            }
            let mut bytes = zeroed_vec(count as usize);
            storage.read_at(start, &mut bytes)?;
            Ok(bytes)
        };
        let start = bytes(0, length.min(MAGIC.len() as u64))?;
        if start != MAGIC[..start.len()] || start.is_empty() {
            return refused(format!(
                "found a file of another kind, expected a checkpoint; {OTHER}"
            ));
        }
        let word = |at: u64| -> std::result::Result<u32, Fault> {
            let word = bytes(at, 4)?;
            Ok(u32::from_le_bytes(word.try_into().expect("four bytes")))
        };
        let version = word(16)?;
        if version != VERSION {
            return refused(format!(
                "found version {version} of the format, expected {VERSION}, the one that Rockfall {} \
                 reads; resume with the version of Rockfall that wrote it",
                env!("CARGO_PKG_VERSION")
            ));
        }
        let header_size = u64::from(word(20)?);
        let header = bytes(24, header_size)?;
        let header: Header = serde_json::from_slice(&header).map_err(|error| {
            Fault::Refused(format!(
                "found a header that cannot be read ({error}), expected a checkpoint; {NOT_WHOLE}"
            ))
        })?;
        let mut starts = Vec::with_capacity(header.sections.len());
        // An end beyond all numbers is beyond the last byte, too.
        let aligned = |end: u64| {
            end.checked_next_multiple_of(ALIGNMENT as u64)
                .unwrap_or(u64::MAX)
        };
        let mut end = 24 + header_size;
        for section in &header.sections {
            let start = aligned(end);
            starts.push(start);
            end = start.saturating_add(section.bytes);
        }
        end = aligned(end);
        let hash = bytes(end, 8)?;
        if length > end + 8 {
            return refused(format!(
                "found {} bytes after its end, expected none; {NOT_WHOLE}",
                length - end - 8
            ));
        }
        let mut hasher = Hasher::default();
        for block in (0..end).step_by(BLOCK) {
            hasher.update(&bytes(block, (end - block).min(BLOCK as u64))?);
        }
        if hash != hasher.digest().to_le_bytes() {
            return refused(format!(
                "found changed bytes (their hash differs), expected a whole checkpoint; {NOT_WHOLE}"
            ));
        }
        if header.layout != layout() {
            return refused(format!(
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
            storage,
            file: file.to_owned(),
            starts,
        };
        checkpoint.is_sound()?;
        Ok(checkpoint)
    }

    /// Name of its file.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Start and length of a section, bytes; an empty one if no section has this name.
    fn section(&self, name: &str) -> (u64, usize) {
        let sections = self.header.sections.iter().zip(&self.starts);
        let mut named = sections.filter(|(section, _)| section.name == name);
        named
            .next()
            .map_or((0, 0), |(section, &start)| (start, section.bytes as usize))
    }

    /// Number of elements of a section.
    fn count<T>(&self, name: &str) -> usize {
        self.section(name).1 / size_of::<T>()
    }

    /// Number of bodies.
    pub(crate) fn body_count(&self) -> usize {
        self.count::<u32>(SHAPES)
    }

    /// Some elements of a section that has them.
    fn some<T: Pod>(&self, name: &str, own: Range<usize>) -> io::Result<Vec<T>> {
        let mut elements = zeroed_vec::<T>(own.len());
        if !own.is_empty() {
            let start = self.section(name).0 + (own.start * size_of::<T>()) as u64;
            self.storage.read_at(start, cast_slice_mut(&mut elements))?;
        }
        Ok(elements)
    }

    /// All elements of a section.
    fn elements<T: Pod>(&self, name: &str) -> io::Result<Vec<T>> {
        self.some(name, 0..self.count::<T>(name))
    }

    /// Ranges of its bodies that are read at a time.
    pub(crate) fn parts(&self) -> impl ExactSizeIterator<Item = Range<usize>> {
        pieces(self.body_count())
    }

    /// Some bodies, for a run that starts from them.
    pub(crate) fn bodies(&self, some: Range<usize>) -> io::Result<Vec<BodyBefore>> {
        let mut state = State {
            origin: DVec3::from_array(self.header.origin),
            ..State::default()
        };
        state.params.cell_size = Vec3::from_array(self.header.cell_size);
        let count = self.body_count() as u32;
        for field in [&[Field::Bodies], &quantities::BUFFERS[..]].concat() {
            self.read_part(field, count, &some, &mut state)?;
        }
        let shapes = self.some::<u32>(SHAPES, some)?.into_iter();
        let bodies = shapes.enumerate().map(|(number, shape)| {
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
        });
        Ok(bodies.collect())
    }

    /// Whether each group has a body.
    pub(crate) fn used_groups(&self) -> io::Result<Vec<bool>> {
        let mut used = vec![false; self.header.groups.len().max(1)];
        self.for_each_shape(&mut |shape| {
            let group = group_of(shape);
            used.resize(used.len().max(group + 1), false);
            used[group] = true;
        })?;
        Ok(used)
    }

    /// Whether each shape has a body.
    pub(crate) fn used_shapes(&self) -> io::Result<Vec<bool>> {
        let mut used = vec![false; self.header.shapes.len()];
        self.for_each_shape(&mut |shape| used[(shape & SHAPE_BITS) as usize] = true)?;
        Ok(used)
    }

    /// Calls a function with the element of [`SHAPES`] of each body.
    fn for_each_shape(&self, act: &mut dyn FnMut(u32)) -> io::Result<()> {
        for some in self.parts() {
            self.some(SHAPES, some)?.into_iter().for_each(&mut *act);
        }
        Ok(())
    }

    /// Pose of each wall.
    fn wall_poses(&self) -> io::Result<Vec<Pose>> {
        let origin = DVec3::from_array(self.header.origin);
        let cell_size = Vec3::from_array(self.header.cell_size).as_dvec3();
        let walls: Vec<layout::Wall> = self.elements(Field::Walls.name())?;
        let pose = |wall: &layout::Wall| Pose {
            position: origin + wall.cell.as_dvec3() * cell_size + wall.offset.as_dvec3(),
            orientation: DQuat::from_vec4(wall.orientation.as_dvec4()).normalize(),
        };
        let own = &walls[..self.header.walls.len()];
        Ok(own.iter().map(pose).collect())
    }

    /// Finds the walls of the old run among `walls`.
    pub(crate) fn walls_in(&self, walls: &[Wall]) -> io::Result<KeptWalls> {
        let poses = self.wall_poses()?;
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
        Ok((wall_of, facet_of))
    }

    /// Contact histories, if the law has some, for a run that keeps the bodies of some shapes; `facet_of` gives the new index of each old
    /// facet.
    pub(crate) fn contacts<'a>(
        &'a self,
        keeps: &[bool],
        facet_of: &'a [Option<u32>],
    ) -> io::Result<Option<KeptContacts<'a>>> {
        if self.header.history_size == 0 {
            return Ok(None);
        }
        let mut spheres = Renumbered::default();
        self.for_each_shape(&mut |shape| {
            let shape = (shape & SHAPE_BITS) as usize;
            spheres.push(keeps[shape], self.header.shapes[shape].spheres);
        })?;
        Ok(Some(KeptContacts {
            checkpoint: self,
            spheres,
            facet_of,
        }))
    }

    /// Takes a simulation to the state of the one that wrote this checkpoint.
    ///
    /// # Errors
    /// If the checkpoint is of another scene or cannot be read any more, or the device has no memory for the state. If the bodies alone
    /// cannot be read, the simulation is of no use afterwards.
    pub fn restore(self, simulation: &mut Simulation) -> Result<()> {
        let state = self.outline(simulation.model());
        let state = state.map_err(|fault| fault.of(&self.file))?;
        let steps = self.header.steps;
        simulation.restore_from(state, Box::new(self), steps)
    }

    /// The state that a simulation of `model` had, [free](State::free) of the bodies, which this checkpoint is the [`Source`] of.
    fn outline(&self, model: &Model) -> std::result::Result<State, Fault> {
        let found = &self.header;
        let hash = hex(model.hash());
        if found.scene_hash != hash {
            return Err(Fault::Refused(format!(
                "found a state of the scene {:?} ({}), expected one of {:?} ({hash}); resume with the \
                 scene that it was written for, or start a new run from it with \"start\"",
                found.scene, found.scene_hash, model.name
            )));
        }
        let groups = model.forces.groups.len().max(1);
        let others = || Fault::Damaged("other shapes or groups than those of the scene".to_owned());
        if found.shapes.len() != model.shapes.len() {
            return Err(others());
        }
        let mut identities = Identities::default();
        for some in pieces(self.body_count()) {
            for (id, body) in self.model_bodies(some)? {
                if body.group >= groups {
                    return Err(others());
                }
                identities.push(Identity::of(id, &body));
            }
        }
        let spheres = self.count::<Sphere>(Field::Spheres.name());
        let mut state = State::free_with(model, identities, spheres as u32);
        let actions = [model.forces.springs.len(), model.forces.applied.len()];
        self.fits(&state, actions, model.bonds.len())?;
        self.bodies_fit(&state, model)?;
        let places = self.elements::<[f64; 3]>(PLACES)?;
        (state.gone, state.traffic) = (found.gone, found.traffic.clone());
        state.traffic.places = places.into_iter().map(DVec3::from_array).collect();
        let entries = self.count::<u32>(Field::Neighbours.name());
        state.params.neighbour_capacity = entries as u32;
        state.set_actions(self.elements(Field::Actions.name())?);
        state.params.bond_count = self.count::<Bond>(Field::Bonds.name()) as u32;
        for field in Field::ALL.into_iter().filter(|field| field.is_carried()) {
            let (start, length) = self.section(field.name());
            let expected = state.size_of(field);
            if length != expected {
                return Err(Fault::Refused(format!(
                    "found {length} bytes of {}, expected {expected}; resume with the version of Rockfall that wrote \
                     it, {}",
                    field.name(),
                    found.rockfall
                )));
            }
            if !field.is_of_bodies() {
                self.storage.read_at(start, state.bytes_mut(field))?;
            }
        }
        Ok(state)
    }

    /// Some bodies with their ids, as a model has them: of their motion, only that which nothing changes.
    fn model_bodies(&self, some: Range<usize>) -> io::Result<Vec<(u64, ModelBody)>> {
        let shapes = self.some::<u32>(SHAPES, some.clone())?;
        let ids = self.some::<u64>(IDS, some.clone())?;
        let is_fixed = |shape: u32| shape & FIXED != 0;
        let moving = match shapes.iter().any(|shape| is_fixed(*shape)) {
            true => self.some::<Body>(Field::Bodies.name(), some)?,
            false => Vec::new(),
        };
        let body = |(index, shape): (usize, u32)| {
            let own = ModelBody {
                shape: (shape & SHAPE_BITS) as usize,
                fixed: is_fixed(shape),
                group: group_of(shape),
                ..ModelBody::default()
            };
            match own.fixed {
                // A fixed body that moves is kinematic.
                true => ModelBody {
                    velocity: moving[index].velocity.as_dvec3(),
                    angular_velocity: moving[index].angular_momentum.as_dvec3(),
                    ..own
                },
                false => own,
            }
        };
        let bodies = shapes.into_iter().enumerate().map(body);
        Ok(ids.into_iter().zip(bodies).collect())
    }

    /// Gives a part of a state the elements of a field that are its `own`, of `all` that there are.
    fn read_part(
        &self,
        field: Field,
        all: u32,
        own: &Range<usize>,
        part: &mut State,
    ) -> io::Result<()> {
        let size = self.section(field.name()).1 / (all as usize).max(1);
        let bytes = self.some(field.name(), size * own.start..size * own.end)?;
        part.set_bytes(field, &bytes);
        Ok(())
    }

    /// See [`Source::part`].
    fn part_of(&self, whole: &State, bodies: Range<usize>) -> io::Result<(State, u32)> {
        let mut part = whole.outline();
        let params = &whole.params;
        for field in [
            Field::Bodies,
            Field::BodyForces,
            Field::BodyHeat,
            Field::BodyBonds,
        ] {
            self.read_part(field, params.body_count, &bodies, &mut part)?;
        }
        part.set_bonds(self.ends_of_bonds(bodies.clone())?);
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
        self.read_part(Field::SphereLoads, params.sphere_count, &own, &mut part)?;
        let starts = own.start..own.end + 1;
        let starts: Vec<u32> = self.some(Field::NeighbourStarts.name(), starts)?;
        let before = starts[0];
        let ends = starts.iter().map(|start| start - before);
        part.neighbour_starts = ends.collect();
        let entries = before as usize..starts[spheres] as usize;
        let count = params.neighbour_capacity;
        self.read_part(Field::Neighbours, count, &entries, &mut part)?;
        if params.history_size > 0 {
            self.read_part(Field::History, count, &entries, &mut part)?;
        }
        Ok((part, first_sphere))
    }

    /// The ends of bonds at some bodies.
    fn ends_of_bonds(&self, bodies: Range<usize>) -> io::Result<Vec<Bond>> {
        let name = Field::Bonds.name();
        let before = |body: usize| {
            let (mut low, mut high) = (0, self.count::<Bond>(name));
            while low < high {
                let middle = low.midpoint(high);
                let end = self.some::<Bond>(name, middle..middle + 1)?;
                match end.iter().all(|end| (end.own() as usize) < body) {
                    true => low = middle + 1,
                    false => high = middle,
                }
            }
            Ok::<_, io::Error>(low)
        };
        self.some(name, before(bodies.start)?..before(bodies.end)?)
    }

    /// See [`Source::fill`].
    fn fill_all(&self, state: &mut State) -> io::Result<()> {
        state.make_room();
        let carried = Field::ALL.into_iter().filter(|field| field.is_carried());
        for field in carried.filter(|field| field.is_of_bodies()) {
            match self.section(field.name()) {
                // Forces act that did not when the checkpoint was written.
                (_, 0) if field == Field::BodyForces => {
                    if state.params.forces == 1 {
                        state.start_forces();
                    }
                }
                (_, 0) => {}
                (start, _) => self.storage.read_at(start, state.bytes_mut(field))?,
            }
        }
        Ok(())
    }
}

impl Source for Checkpoint {
    fn part(&self, whole: &State, bodies: Range<usize>) -> Result<(State, u32)> {
        let part = self.part_of(whole, bodies);
        part.map_err(|error| unreadable(&self.file, &error))
    }

    fn fill(&self, state: &mut State) -> Result<()> {
        let filled = self.fill_all(state);
        filled.map_err(|error| unreadable(&self.file, &error))
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
