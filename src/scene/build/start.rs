//! Bodies that start as they were in another run.

use std::io;

use glam::{DQuat, DVec3};

use super::super::error::Problem;
use super::super::files::Folder;
use super::super::format::{self, SceneFile};
use super::check::{Check, Names};
use super::clumps::Shapes;
use crate::model::clump::Clump;
use crate::model::error::Result;
use crate::model::wall::Wall;
use crate::model::{ContactHistory, Law, ModelBody};
use crate::simulation::checkpoint::{self, Checkpoint};

/// Bodies that come from another run, with their contact histories.
#[derive(Default)]
pub(super) struct Started {
    pub bodies: Vec<ModelBody>,
    pub history: Option<ContactHistory>,
    /// Whether each of the walls was there before.
    pub kept_walls: Vec<bool>,
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
        walls: &[Wall],
        law: Option<&Law>,
    ) -> Started {
        let Some(start) = &file.start else {
            return Started::default();
        };
        let all = [names, materials, groups];
        let read = read(folder, &start.from);
        let started = read.and_then(|checkpoint| {
            let started = self.start_from(&checkpoint, start, all, shapes, walls, law);
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
        walls: &[Wall],
        law: Option<&Law>,
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
        let mut kept = Vec::new();
        let mut bodies = Vec::new();
        let mut differs = false;
        checkpoint.for_each_body(|index, body| {
            let Some(shape) = shape_of[body.shape] else {
                return;
            };
            let Some(clump) = &shapes.clumps[shape] else {
                return;
            };
            let before = &checkpoint.header.shapes[body.shape];
            differs |= before.spheres as usize != clump.spheres.len();
            let (position, orientation) = before.moved_to(clump, body.position, body.orientation);
            let stopped = |velocity: DVec3| match start.at_rest {
                true => DVec3::ZERO,
                false => velocity,
            };
            kept.push(index);
            bodies.push(ModelBody {
                shape,
                position,
                orientation,
                velocity: stopped(body.velocity),
                angular_velocity: stopped(body.angular_velocity),
                fixed: body.fixed,
                group: group_of[body.group],
                quantities: body.quantities,
            });
        })?;
        if bodies.is_empty() {
            self.problems.push(
                Problem::new("start", "no body left", "at least one")
                    .help("leave out fewer shapes in \"without\", or leave out \"start\""),
            );
        }
        let (wall_of, facet_of) = checkpoint.walls_in(walls)?;
        let same_law = law.is_some_and(|law| law.name() == checkpoint.header.law);
        let history = match (same_law, differs) {
            (true, false) => checkpoint.contact_history(&kept, &facet_of)?,
            _ => None,
        };
        self.notes.push(format!(
            "start: {} of {} bodies as they were after step {} of {:?}{}",
            bodies.len(),
            checkpoint.body_count(),
            checkpoint.header.steps,
            checkpoint.header.scene,
            match &history {
                Some(_) => ", with their contact histories",
                None if checkpoint.header.history_size > 0 =>
                    "; their contact histories are lost, since the contact law or the shapes have changed",
                None => "",
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
