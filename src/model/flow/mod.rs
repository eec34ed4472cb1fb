//! Inlets, outlets, probes and explosions.
//!
//! Every [`Flow::every`] steps the host looks at the positions of the bodies. Each [`Outlet`] takes away the bodies in it, each
//! [`Inlet`] brings the bodies that are due, and each [`Probe`] that is a face counts the bodies that have passed it since the
//! last look. The time of a look depends on the number of steps alone, and the bodies that an inlet brings depend on its seed
//! and on the number of bodies that it has brought. So the same scene gives the same bits, however a caller divides the steps.
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
pub use inlet::{Inflow, Inlet, Rate};
pub use outlet::{Outlet, Place};
pub use probe::{Probe, Region};
pub use residence::{Class, Residence};

use std::collections::BTreeMap;

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::model::Model;
use crate::model::deform::Deformation;
use crate::model::steps::StepTimes;
use crate::model::wall::{Shape, Wall};

/// The inlets, outlets and probes of a model.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// Number of steps from one look to the next; at least one if there is anything to look at.
    pub every: u64,
    /// Inlets, through which bodies come in.
    pub inlets: Vec<Inlet>,
    /// Outlets, through which bodies leave.
    pub outlets: Vec<Outlet>,
    /// Probes: volumes and faces that are measured over time.
    pub probes: Vec<Probe>,
    /// Bodies that burst at given times.
    pub explosions: Vec<Explosion>,
    /// Shapes whose sphere sizes the search for contacts also allows for, so that a caller may add bodies of them.
    pub spawn: Vec<usize>,
    /// Whether outlets count residence times.
    pub residence: bool,
    /// Whether collisions are counted.
    pub collisions: bool,
}

impl Flow {
    /// Whether the set of bodies stays the same, and there is nothing to look at.
    pub fn is_empty(&self) -> bool {
        self.inlets.is_empty()
            && self.outlets.is_empty()
            && self.probes.is_empty()
            && self.explosions.is_empty()
            && self.spawn.is_empty()
    }

    /// Corners of the boxes in which bodies come in, m.
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
    /// Amount that has passed along the normal.
    pub forward: Amount,
    /// Amount that has passed against the normal.
    pub backward: Amount,
}

/// Counters and records of a run so far: bodies that came and left, stages, wear, collisions and so on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Amount that each inlet has brought.
    pub inlets: Vec<Amount>,
    /// Number of bodies that each inlet could not bring at the last look, because there was no room.
    pub waiting: Vec<u64>,
    /// Amount that each outlet has taken away.
    pub outlets: Vec<Amount>,
    /// Number of steps after which each present body from an inlet came in, by the id of the body. Empty unless
    /// [`Flow::residence`] is set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[doc(hidden)]
    pub arrivals: BTreeMap<u64, u64>,
    /// Residence times of the bodies that each outlet has taken. Empty unless [`Flow::residence`] is set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub residence: Vec<Residence>,
    /// Amount that has passed each probe; 0 for a probe that is a volume.
    pub passed: Vec<Passed>,
    /// Whether each explosion is over.
    pub exploded: Vec<bool>,
    /// Amount that has burst by each rule of the scene.
    #[serde(default)]
    pub broken: Vec<Amount>,
    /// Number of steps after which each stage that has begun did so; without the first stage.
    #[serde(default)]
    pub stages: Vec<u64>,
    /// Volume that each triangle of each wall has lost to wear, m³; an empty list for a wall that does not wear.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worn: Vec<Vec<f64>>,
    /// Number of steps up to which `worn` was summed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) worn_at: Option<u64>,
    /// Largest contact force since the last look on each body that bursts by its force, N, by the id of the body.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[doc(hidden)]
    pub peaks: BTreeMap<u64, f64>,
    /// Collisions so far; none unless [`Flow::collisions`] is set.
    #[serde(default)]
    pub collisions: Collisions,
    /// Deformation of the periodic box, if it deforms.
    #[serde(default)]
    pub deformation: Option<Deformation>,
    /// The id of the next body that comes in.
    pub(crate) next_id: u64,
    /// Number of steps taken before the last look.
    pub(crate) looked: Option<u64>,
    /// Position of each body at the last look, m; empty without probes that are faces.
    #[serde(skip)]
    pub(crate) places: Vec<DVec3>,
}

/// The volumes lost to wear at the start: 0 for each triangle of a wall that wears.
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
    /// The counters at the start of a simulation of `model`.
    pub(crate) fn new(model: &Model) -> Traffic {
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

    /// Number of steps after which the next explosion happens.
    pub(crate) fn next_explosion(&self, model: &Model, times: StepTimes) -> Option<u64> {
        let explosions = model.flow.explosions.iter().zip(&self.exploded);
        explosions
            .filter(|(_, over)| !**over)
            .map(|(explosion, _)| explosion.step(times))
            .min()
    }
}
