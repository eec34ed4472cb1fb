//! Bodies that start as they were in another run.

use std::io;
use std::ops::Range;

use glam::{DQuat, DVec3};

use super::super::error::Problem;
use super::super::files::Folder;
use super::super::format::{self, SceneFile};
use super::check::{Check, Names};
use super::clumps::Shapes;
use super::fills::MANY;
use crate::model::bodies::{Brought, Piece};
use crate::model::clump::Clump;
use crate::model::error::Result;
use crate::model::packing::slab::Searchers;
use crate::model::wall::Wall;
use crate::model::{ContactHistory, Law, ModelBody};
use crate::simulation::checkpoint::{self, Checkpoint, KeptContacts};

/// Bodies that come from another run, with their contact histories.
pub(super) struct Started {
    /// They bring their contact histories if processes share them.
    pub bodies: Piece,
    /// The contact histories of a list.
    pub history: Option<ContactHistory>,
    /// Whether each of the walls was there before.
    pub kept_walls: Vec<bool>,
}

impl Default for Started {
    fn default() -> Started {
        Started {
            bodies: Piece::List(Vec::new()),
            history: None,
            kept_walls: Vec::new(),
        }
    }
}

impl Started {
    /// Whether one of the bodies is fixed.
    pub fn has_fixed(&self) -> bool {
        match &self.bodies {
            Piece::List(list) => list.iter().any(|body| body.fixed),
            Piece::Shared(shared) => shared.kinds.iter().any(|body| body.fixed),
            Piece::Fill(_) => unreachable!("no run brings a fill"),
        }
    }

    /// Makes a list of bodies that processes share.
    pub fn gather(&mut self) {
        if let Piece::Shared(shared) = &self.bodies {
            self.history = shared.history();
            let mut list = Vec::new();
            shared.holder.visit(&mut |body| list.push(*body));
            self.bodies = Piece::List(list);
        }
    }
}

/// Parts of a scene that bodies of another run come into.
#[derive(Clone, Copy)]
pub(super) struct Next<'a> {
    pub walls: &'a [Wall],
    pub law: Option<&'a Law>,
    pub searchers: Option<&'a dyn Searchers>,
}

/// The checkpoint that `from` means: that file, or the last one in that folder of a run.
fn read(folder: Folder, from: &str) -> Result<Checkpoint> {
    let mut path = folder.join(from);
    let mut file = folder.files.open(&path);
    if matches!(&file, Err(error) if error.kind() == io::ErrorKind::IsADirectory) {
        path = path.join(checkpoint::FILE);
        file = folder.files.open(&path);
    }
    let file = file.map_err(|error| checkpoint::unreadable(&path, &error))?;
    Checkpoint::open(file, &path)
}

impl Check {
    /// The bodies that start as they were in another run.
    pub(super) fn start(
        &mut self,
        file: &SceneFile,
        folder: Folder,
        [names, materials, groups]: [&Names; 3],
        shapes: &mut Shapes,
        mut next: Next,
    ) -> Started {
        let Some(start) = &file.start else {
            return Started::default();
        };
        let all = [names, materials, groups];
        // A page has no other process, and no room for code that asks some.
        next.searchers = next.searchers.filter(|_| !cfg!(target_family = "wasm"));
        let read = read(folder, &start.from);
        let started = read.and_then(|checkpoint| {
            let started = self.start_from(&checkpoint, start, all, shapes, next);
            started.map_err(|error| checkpoint::unreadable(checkpoint.file(), &error))
        });
        started.unwrap_or_else(|error| {
            self.problems.push(
                Problem::new(
                    "start.from",
                    format!("{:?} ({error})", start.from),
                    "the folder of a run, or a checkpoint, relative to the folder of the scene",
                )
                .help("`rockfall run SCENE --out DIR` makes one"),
            );
            Started::default()
        })
    }

    /// The bodies of a checkpoint, as `start` wants them.
    fn start_from(
        &mut self,
        checkpoint: &Checkpoint,
        start: &format::Start,
        [names, materials, groups]: [&Names; 3],
        shapes: &mut Shapes,
        next: Next,
    ) -> io::Result<Started> {
        let tilt = checkpoint
            .header
            .traffic
            .deformation
            .map_or(0.0, |now| now.tilt);
        if tilt != 0.0 {
            self.problems.push(
                Problem::new(
                    "start.from",
                    format!("{:?}, whose periodic box is tilted by {tilt:.3}", start.from),
                    "a run whose box has right angles",
                )
                .help("continue that run with `rockfall run --resume`, or start from a state before the shear"),
            );
            return Ok(Started::default());
        }
        let shape_of = self.shapes_of(start, checkpoint, names, materials, shapes)?;
        let (Some(shape_of), Some(group_of)) = (shape_of, self.groups_of(checkpoint, groups)?)
        else {
            return Ok(Started::default());
        };
        let (wall_of, facet_of) = checkpoint.walls_in(next.walls)?;
        let mut came = Came {
            checkpoint,
            at_rest: start.at_rest,
            shape_of: &shape_of,
            group_of: &group_of,
            clumps: &shapes.clumps,
            contacts: None,
            spheres: 0,
            entries: 0,
        };
        let law = next.law.map(Law::name);
        if law == Some(&checkpoint.header.law) && !came.differ() {
            came.contacts = checkpoint.contacts(&came.kept(), &facet_of)?;
        }
        let has_contacts = came.contacts.is_some();
        let mut parts = checkpoint.parts().map(|some| came.read(some));
        let mut history: Option<ContactHistory> = None;
        let bodies = match next.searchers {
            Some(searchers) if checkpoint.body_count() >= MANY => {
                Piece::Shared(searchers.keep(&mut parts)?)
            }
            _ => {
                let mut list = Vec::new();
                for part in parts {
                    let part = part?;
                    list.extend(part.bodies);
                    if let Some(contacts) = part.contacts {
                        history.get_or_insert_default().append(contacts);
                    }
                }
                Piece::List(list)
            }
        };
        if bodies.len() == 0 {
            self.problems.push(
                Problem::new("start", "no body left", "at least one")
                    .help("leave out fewer shapes in \"without\", or leave out \"start\""),
            );
        }
        self.notes.push(format!(
            "start: {} of {} bodies as they were after step {} of {:?}{}",
            bodies.len(),
            checkpoint.body_count(),
            checkpoint.header.steps,
            checkpoint.header.scene,
            match has_contacts {
                true => ", with their contact histories",
                false if checkpoint.header.history_size > 0 =>
                    "; their contact histories are lost, since the contact law or the shapes have changed",
                false => "",
            }
        ));
        Ok(Started {
            bodies,
            history,
            kept_walls: wall_of.iter().map(Option::is_some).collect(),
        })
    }

    /// The shape of the scene that each shape of the other run is, or None if its bodies are left out.
    fn shapes_of(
        &mut self,
        start: &format::Start,
        checkpoint: &Checkpoint,
        names: &Names,
        materials: &Names,
        shapes: &mut Shapes,
    ) -> io::Result<Option<Vec<Option<usize>>>> {
        let before_all = self.problems.len();
        let known: Vec<&str> = checkpoint
            .header
            .shapes
            .iter()
            .map(|s| s.name.as_str())
            .collect();
        for (index, name) in start.without.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                self.problems.push(
                    Problem::new(
                        format_args!("start.without[{index}]"),
                        format!("the shape {name:?}"),
                        format!("a shape of the other run: {}", known.join(", ")),
                    )
                    .did_you_mean(name, known.iter().copied()),
                );
            }
        }
        let mut shape_of = Vec::with_capacity(known.len());
        for (before, used) in checkpoint
            .header
            .shapes
            .iter()
            .zip(checkpoint.used_shapes()?)
        {
            let name = &before.name;
            if !used || start.without.contains(name) {
                shape_of.push(None);
                continue;
            }
            let Some(shape) = names.get(name) else {
                self.problems.push(
                    Problem::new(
                        "start.from",
                        format!("bodies of the shape {name:?}"),
                        format!("{name:?} under \"shapes\", or in \"start.without\""),
                    )
                    .help("copy it from the scene.json of the other run"),
                );
                continue;
            };
            let material = before.material.as_ref();
            if let Some(name) = material
                && materials.get(name).is_none()
            {
                self.problems.push(
                    Problem::new(
                        "start.from",
                        format!("bodies of the material {name:?}"),
                        format!("{name:?} under \"materials\""),
                    )
                    .help("copy it from the scene.json of the other run"),
                );
                continue;
            }
            shape_of.push(self.shape_of_material(
                "start",
                Some(shape),
                material,
                materials,
                shapes,
            ));
        }
        Ok((self.problems.len() == before_all).then_some(shape_of))
    }

    /// The group of the scene that each group of the other run is.
    fn groups_of(
        &mut self,
        checkpoint: &Checkpoint,
        groups: &Names,
    ) -> io::Result<Option<Vec<usize>>> {
        let used = checkpoint.used_groups()?;
        let names = checkpoint.header.groups.iter().skip(1);
        let mut group_of = vec![0];
        let before = self.problems.len();
        for (name, used) in names.zip(&used[1..]) {
            let group = groups.get(name);
            if *used && group.is_none() {
                self.problems.push(
                    Problem::new(
                        "start.from",
                        format!("bodies in the group {name:?}"),
                        format!("{name:?} under \"groups\""),
                    )
                    .help("copy it from the scene.json of the other run"),
                );
            }
            group_of.push(group.map_or(0, |group| group + 1));
        }
        // A run of an older version has no names of groups.
        group_of.resize(used.len(), 0);
        Ok((self.problems.len() == before).then_some(group_of))
    }
}

/// Bodies of another run as a scene has them, read one part after the other.
struct Came<'a> {
    checkpoint: &'a Checkpoint,
    at_rest: bool,
    /// The shape and the group that those of the other run are.
    shape_of: &'a [Option<usize>],
    group_of: &'a [usize],
    clumps: &'a [Option<Clump>],
    contacts: Option<KeptContacts<'a>>,
    /// Number of spheres of the other run that have been read, and of entries of contacts that are kept.
    spheres: usize,
    entries: u32,
}

impl Came<'_> {
    /// Index and clump of the shape that a shape of the other run is; none if its bodies are left out.
    fn shape(&self, before: usize) -> Option<(usize, &Clump)> {
        let shape = self.shape_of[before]?;
        Some((shape, self.clumps[shape].as_ref()?))
    }

    /// Whether the bodies of each shape of the other run are kept.
    fn kept(&self) -> Vec<bool> {
        let shapes = 0..self.shape_of.len();
        shapes.map(|own| self.shape(own).is_some()).collect()
    }

    /// Whether a shape has other spheres now.
    fn differ(&self) -> bool {
        let mut shapes = self.checkpoint.header.shapes.iter().enumerate();
        shapes.any(|(index, before)| {
            let now = self.shape(index);
            now.is_some_and(|(_, clump)| before.spheres as usize != clump.spheres.len())
        })
    }

    /// Some bodies, and the contacts that they bring.
    fn read(&mut self, some: Range<usize>) -> io::Result<Brought> {
        let before = self.checkpoint.bodies(some)?;
        let mut end = self.spheres;
        let mut bodies = Vec::with_capacity(before.len());
        let mut spheres = 0;
        for body in before {
            let shape = &self.checkpoint.header.shapes[body.shape];
            end += shape.spheres as usize;
            let Some((index, clump)) = self.shape(body.shape) else {
                continue;
            };
            let (position, orientation) = shape.moved_to(clump, body.position, body.orientation);
            let stopped = |velocity: DVec3| match self.at_rest {
                true => DVec3::ZERO,
                false => velocity,
            };
            spheres += clump.spheres.len() as u32;
            bodies.push(ModelBody {
                shape: index,
                position,
                orientation,
                velocity: stopped(body.velocity),
                angular_velocity: stopped(body.angular_velocity),
                fixed: body.fixed,
                group: self.group_of[body.group],
                quantities: body.quantities,
            });
        }
        let mut contacts = None;
        if let Some(all) = &self.contacts {
            let own = all.of(self.spheres..end, self.entries)?;
            self.entries += own.entries.len() as u32;
            contacts = Some(own);
        }
        self.spheres = end;
        Ok(Brought {
            bodies,
            spheres,
            contacts,
        })
    }
}

/// Turns and places of the shape's own axes, for shapes whose centre of mass is another one now.
impl crate::simulation::checkpoint::ShapeBefore {
    fn moved_to(&self, clump: &Clump, position: DVec3, orientation: DQuat) -> (DVec3, DQuat) {
        let (center_of_mass, axes) = self.frame();
        if center_of_mass == clump.center_of_mass && axes == clump.principal_axes {
            return (position, orientation);
        }
        let shape_axes = (orientation * axes.conjugate()).normalize();
        let origin = position - shape_axes * center_of_mass;
        (
            clump.position_of(origin, shape_axes),
            clump.body_orientation(shape_axes),
        )
    }
}
