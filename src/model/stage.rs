//! Stages of a run. The run itself may decide when one ends, as for a gate that opens once a heap is at rest.
//!
//! In the first stage the model is as it was made. Each later stage begins when the one before it ends, and changes the model;
//! the last stage lasts until the run ends. The state keeps the start of each stage
//! ([`Traffic::stages`](super::flow::Traffic::stages)), so a run that goes on from a checkpoint is in the stage in which it
//! stopped.

use std::collections::{BTreeMap, BTreeSet};

use glam::DVec3;

use super::deform::Deform;
use super::flow::Inflow;
use super::wall::{Drift, Dynamic, Motion};
use super::{Model, PairLaw};

/// Number of steps from one check of [`Until`] to the next.
pub const LOOK: u64 = 100;

/// The stages of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stages {
    /// The stages in their order; empty if the model never changes.
    pub list: Vec<Stage>,
    /// Indices of the walls that are absent in the present stage.
    pub(super) absent: BTreeSet<usize>,
    /// Hash of the model before stages changed it.
    pub(super) first_hash: Option<u64>,
}

impl Stages {
    /// The stages of a list, none of which has changed the model yet.
    ///
    /// A wall that stages add before they remove it is absent at first.
    pub fn new(list: Vec<Stage>) -> Stages {
        let mut first = BTreeMap::new();
        for (wall, is_there) in list.iter().flat_map(|stage| &stage.walls) {
            first.entry(*wall).or_insert(*is_there);
        }
        let added = first.into_iter().filter(|(_, is_there)| *is_there);
        Stages {
            absent: added.map(|(wall, _)| wall).collect(),
            list,
            first_hash: None,
        }
    }

    /// Whether bodies touch the wall with this index in the present stage.
    pub fn has_wall(&self, wall: usize) -> bool {
        !self.absent.contains(&wall)
    }

    /// Whether any stage adds or removes walls.
    pub fn change_walls(&self) -> bool {
        self.list.iter().any(|stage| !stage.walls.is_empty())
    }

    /// Keeps the present hash of the model through changes that follow from the model itself.
    pub(crate) fn keep_hash(&mut self, hash: u64) {
        self.first_hash = Some(hash);
    }

    /// Lets the hash of the model follow changes made by a caller.
    pub(crate) fn forget_hash(&mut self) {
        self.first_hash = None;
    }
}

/// A stage of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// Name.
    pub name: String,
    /// The end of the stage; `None` for the last one.
    pub end: Option<End>,
    /// New acceleration of gravity, m/s².
    pub gravity: Option<DVec3>,
    /// Walls that the stage adds (`true`) or removes (`false`), by their indices.
    pub walls: Vec<(usize, bool)>,
    /// New flows of inlets, by the indices of the inlets; their times are from the start of the stage, s. `None` closes the inlet.
    pub inlets: Vec<(usize, Option<Inflow>)>,
    /// New motions of walls, by the indices of the walls; their times are from the start of the stage, s.
    pub motions: Vec<(usize, Motion)>,
    /// New laws of pairs of materials, by the indices of the materials.
    pub pairs: Vec<(usize, usize, PairLaw)>,
    /// New deformation of the periodic box.
    pub deform: Option<Deform>,
}

/// End of a stage, which comes with the first of two events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    /// Longest duration of the stage, s.
    pub after: f64,
    /// Condition that ends the stage when a check finds that it holds.
    pub until: Option<Until>,
}

/// Condition that ends a stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// No body is faster than this, m/s.
    SpeedBelow(f64),
    /// The kinetic energy of all bodies is less than this, J.
    KineticEnergyBelow(f64),
    /// A body touches the wall with this index.
    Touched(usize),
}

impl Until {
    /// Time after which freely falling bodies that started at rest no longer meet the condition, s; 0 without gravity.
    ///
    /// Before that time, bodies that have just been released look as if they were at rest.
    pub fn time_of_fall(self, model: &Model) -> f64 {
        let speed = match self {
            Until::SpeedBelow(speed) => speed,
            Until::KineticEnergyBelow(energy) => {
                let mut mass = 0.0;
                model.bodies.visit(|body| {
                    if !body.fixed {
                        mass += model.shapes[body.shape].mass;
                    }
                });
                (2.0 * energy / mass).sqrt()
            }
            Until::Touched(_) => return 0.0,
        };
        let time = speed / model.gravity.length();
        if time.is_finite() { time } else { 0.0 }
    }
}

impl Stage {
    /// Makes the changes of a stage that begins at `start`, s.
    ///
    /// The model keeps the [hash](Model::hash) that it had, because the changes follow from the model and from `start`.
    pub(crate) fn begin(&self, model: &mut Model, start: f64) {
        let hash = model.hash();
        if let Some(gravity) = self.gravity {
            model.gravity = gravity;
        }
        for (index, motion) in &self.motions {
            let wall = &mut model.walls[*index];
            let mut motion = motion.clone();
            motion.start += start;
            motion.end += start;
            motion.keys.iter_mut().for_each(|key| key.time += start);
            match &mut wall.dynamic {
                Some(Dynamic::Servo(servo)) => servo.drift = Some(Drift::of(&motion)),
                _ => {
                    wall.pose = wall.at(start).pose;
                    wall.motion = Some(motion);
                }
            }
        }
        for (index, is_there) in &self.walls {
            match is_there {
                true => model.stages.absent.remove(index),
                false => model.stages.absent.insert(*index),
            };
        }
        for (index, flow) in &self.inlets {
            model.flow.inlets[*index].turn(*flow, start);
        }
        if let Some(deform) = self.deform {
            model.deform = deform;
        }
        for (a, b, law) in &self.pairs {
            model.set_pair(*a, *b, *law);
        }
        model.stages.first_hash = Some(hash);
    }
}
