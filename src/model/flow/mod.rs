//! Inlets, outlets, probes and explosions.
//!
//! At every [`Flow::every`]th step, before it is taken, the host looks at where bodies are: those in an
//! [`Outlet`] are taken away, [`Inlet`]s bring those that are due, and what passed a face of a [`Probe`]
//! since the look before is counted. When that is follows from the number of the step alone, and what
//! an inlet brings from its seed and from how many it has brought: the same scene gives the same bits,
//! however the steps are divided.
//!
//! An [`Explosion`] does not wait for a look: it happens before its own step.

mod breakage;
mod collisions;
mod explosion;
mod face;
mod inlet;
mod outlet;
mod probe;
mod residence;

pub use breakage::Breakage;
pub use collisions::{CollisionClass, Collisions, Touching};
pub use explosion::Explosion;
pub use face::Face;
pub use inlet::{Inlet, Rate};
pub use outlet::{Outlet, Place};
pub use probe::{Probe, Region};
pub use residence::{Class, Residence};

use std::collections::BTreeMap;

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::model::Model;
use crate::model::deform::Deformation;
use crate::model::wall::{Shape, Wall};

/// The inlets, outlets and probes of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// Steps from one look to the next, at least one if there is anything to look at.
    pub every: u64,
    /// Where bodies come in.
    pub inlets: Vec<Inlet>,
    /// Where bodies go out.
    pub outlets: Vec<Outlet>,
    /// Probes: volumes and faces that are looked at over time.
    pub probes: Vec<Probe>,
    /// Bodies that burst.
    pub explosions: Vec<Explosion>,
    /// Shapes of which the caller may add bodies, besides those that are there.
    pub spawn: Vec<usize>,
    /// Whether outlets tell how long bodies were there.
    pub residence: bool,
    /// Whether collisions are counted.
    pub collisions: bool,
}

impl Flow {
    /// Whether the bodies stay the same, and there is nothing to look at.
    pub fn is_empty(&self) -> bool {
        self.inlets.is_empty()
            && self.outlets.is_empty()
            && self.probes.is_empty()
            && self.explosions.is_empty()
            && self.spawn.is_empty()
    }

    /// Corners of the regions in which bodies come in, m.
    pub fn corners(&self) -> impl Iterator<Item = DVec3> + Clone {
        let fills = self.inlets.iter().map(|inlet| &inlet.fill);
        fills.flat_map(|fill| [fill.min, fill.max])
    }
}

/// A number of bodies, and their mass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Amount {
    /// Number of bodies.
    pub bodies: u64,
    /// Mass, kg.
    pub mass: f64,
}

impl Amount {
    pub(crate) fn add(&mut self, mass: f64) {
        self.bodies += 1;
        self.mass += mass;
    }
}

/// Amounts that have passed a face.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Passed {
    /// Along the normal.
    pub forward: Amount,
    /// Against it.
    pub backward: Amount,
}

/// Counters of what has come and gone so far in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Amount that each inlet has brought.
    pub inlets: Vec<Amount>,
    /// Bodies that each inlet could not bring at the last look, since there was no room.
    pub waiting: Vec<u64>,
    /// Amount that each outlet has taken away.
    pub outlets: Vec<Amount>,
    /// When the bodies that inlets have brought and that are there came in: their ids, and the number of steps before. Only if it
    /// is asked how long they stay, as is the next.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arrivals: BTreeMap<u64, u64>,
    /// How long the bodies that each outlet has taken had been there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub residence: Vec<Residence>,
    /// Amount that has passed each probe that is a face.
    pub passed: Vec<Passed>,
    /// Which of the explosions are over.
    pub exploded: Vec<bool>,
    /// Amount that has burst by each rule of the scene.
    #[serde(default)]
    pub broken: Vec<Amount>,
    /// The number of steps after which each stage but the first began, of those that have begun.
    #[serde(default)]
    pub stages: Vec<u64>,
    /// Volume that each triangle of a mesh that wears has lost, m³, wall by wall; none of a wall that does not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worn: Vec<Vec<f64>>,
    /// The number of steps after which that was summed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worn_at: Option<u64>,
    /// Largest contact force since the look before on each body that bursts by its force, N, by their ids.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub peaks: BTreeMap<u64, f64>,
    /// Collisions so far, if it is asked for.
    #[serde(default)]
    pub collisions: Collisions,
    /// How far the periodic box has deformed, if it does.
    #[serde(default)]
    pub deformation: Option<Deformation>,
    /// The id of the next body that comes in.
    pub next_id: u64,
    /// The step before which the last look was.
    pub looked: Option<u64>,
    /// Where each body was then, m; only if there are faces.
    #[serde(skip)]
    pub places: Vec<DVec3>,
}

/// Nothing lost as yet, of each triangle that wears.
fn worn(model: &Model) -> Vec<Vec<f64>> {
    if model.walls.iter().all(|wall| wall.wear.is_none()) {
        return Vec::new();
    }
    let triangles = |wall: &Wall| match (&wall.wear, &wall.shape) {
        (Some(_), Shape::Mesh(mesh)) => vec![0.0; mesh.triangles.len()],
        _ => Vec::new(),
    };
    model.walls.iter().map(triangles).collect()
}

impl Traffic {
    /// Before the first look at a simulation of `model`.
    pub fn new(model: &Model) -> Traffic {
        let Flow {
            inlets,
            outlets,
            probes,
            explosions,
            every: _,
            spawn: _,
            residence,
            collisions: _,
        } = &model.flow;
        Traffic {
            inlets: vec![Amount::default(); inlets.len()],
            waiting: vec![0; inlets.len()],
            outlets: vec![Amount::default(); outlets.len()],
            arrivals: BTreeMap::new(),
            residence: match residence {
                true => vec![Residence::default(); outlets.len()],
                false => Vec::new(),
            },
            passed: vec![Passed::default(); probes.len()],
            exploded: vec![false; explosions.len()],
            broken: vec![Amount::default(); model.breakage_names.len()],
            stages: Vec::new(),
            worn: worn(model),
            worn_at: None,
            peaks: BTreeMap::new(),
            collisions: Collisions::default(),
            deformation: match model.domain {
                Some(domain) if model.deforms() => {
                    let sides = domain.period().to_array();
                    Some(Deformation::new(&model.deform, sides))
                }
                _ => None,
            },
            next_id: model.bodies.len() as u64,
            looked: None,
            places: Vec::new(),
        }
    }

    /// The number of steps after which the next explosion happens.
    pub(crate) fn next_explosion(&self, model: &Model, earlier: f64) -> Option<u64> {
        let explosions = model.flow.explosions.iter().zip(&self.exploded);
        explosions
            .filter(|(_, over)| !**over)
            .map(|(explosion, _)| explosion.step(earlier, model.time_step))
            .min()
    }
}
