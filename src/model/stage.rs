//! Stages of a run: what changes at times that the run itself may decide, such as a gate that opens once a heap is at rest.
//!
//! The first stage is the model as it is. Each later one begins when the one before it ends, and changes the model; the last
//! lasts until the run ends. When a stage began is part of the state ([`Traffic::stages`](super::flow::Traffic::stages)), so
//! that a run which goes on from a checkpoint is in the stage in which it stopped.

use glam::DVec3;

use super::deform::Deform;
use super::wall::Motion;
use super::{Model, PairLaw};

/// Steps from one look at whether [`Until`] holds to the next.
pub const LOOK: u64 = 100;

/// The stages of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stages {
    /// In their order; empty if there is but one, the model as it is.
    pub list: Vec<Stage>,
    /// Hash of the model before they changed it.
    pub(super) first_hash: Option<u64>,
}

impl Stages {
    /// Those of a list.
    pub fn new(list: Vec<Stage>) -> Stages {
        Stages {
            list,
            first_hash: None,
        }
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
    /// Its name.
    pub name: String,
    /// When it ends; `None` in the last one.
    pub end: Option<End>,
    /// Acceleration of gravity from its start on, m/s².
    pub gravity: Option<DVec3>,
    /// Walls that move otherwise from its start on, by index; times are from its start, s.
    pub motions: Vec<(usize, Motion)>,
    /// Laws of pairs of materials from its start on, by their indices.
    pub pairs: Vec<(usize, usize, PairLaw)>,
    /// How the periodic box deforms from its start on.
    pub deform: Option<Deform>,
}

/// When a stage ends: when one of these comes to pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    /// After so long, s.
    pub after: f64,
    /// When this holds at a look.
    pub until: Option<Until>,
}

/// Condition that ends a stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// No body is faster than this, m/s.
    SpeedBelow(f64),
    /// The kinetic energy of all bodies is less than this, J.
    KineticEnergyBelow(f64),
    /// Bodies touch the wall of this index.
    Touched(usize),
}

impl Until {
    /// The time after which bodies that start at rest and fall freely no longer meet it, s; 0 without gravity. Before it, what has
    /// just been let go looks as if it were at rest.
    pub fn time_of_fall(self, model: &Model) -> f64 {
        let speed = match self {
            Until::SpeedBelow(speed) => speed,
            Until::KineticEnergyBelow(energy) => {
                let moving = model.bodies.iter().filter(|body| !body.fixed);
                let mass: f64 = moving.map(|body| model.shapes[body.shape].mass).sum();
                (2.0 * energy / mass).sqrt()
            }
            Until::Touched(_) => return 0.0,
        };
        let time = speed / model.gravity.length();
        if time.is_finite() { time } else { 0.0 }
    }
}

impl Stage {
    /// Makes the changes of a stage that begins at `start`, s. The model keeps the [hash](Model::hash) that it had: what is
    /// changed follows from it and from `start`.
    pub(crate) fn begin(&self, model: &mut Model, start: f64) {
        let hash = model.hash();
        if let Some(gravity) = self.gravity {
            model.gravity = gravity;
        }
        for (index, motion) in &self.motions {
            let wall = &mut model.walls[*index];
            wall.pose = wall.at(start).pose;
            let mut motion = motion.clone();
            motion.start += start;
            motion.end += start;
            motion.keys.iter_mut().for_each(|key| key.time += start);
            wall.motion = Some(motion);
        }
        if let Some(deform) = self.deform {
            model.deform = deform;
        }
        let count = model.materials.len();
        for (a, b, law) in &self.pairs {
            model.pairs[a * count + b] = *law;
            model.pairs[b * count + a] = *law;
        }
        model.stages.first_hash = Some(hash);
    }
}
