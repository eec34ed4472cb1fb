//! Measures of granular media: what a state, or many of a run, come to.
//!
//! A [`Moment`] has the bodies and contacts of one time. [`Moment::new`] takes it from a simulation, `KeptRun::moment` of the
//! module `output` from a run that was kept, and whoever has bodies from elsewhere fills one. Measures are functions of moments:
//! [`fields`] by coarse graining, [`mixing`] and segregation, the [`structure`] of contacts, the slope of a free
//! [`surface`]; and, of numbers over time, [`flow`].

pub mod fields;
pub mod flow;
pub mod mixing;
pub mod plan;
pub mod structure;
pub mod surface;

use glam::DVec3;

use crate::model::Model;
use crate::model::clump::{Clump, union_of_spheres};
use crate::simulation::network::Network;
use crate::simulation::snapshot::{BodyState, Snapshot};

/// A body, as measures see it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Grain {
    /// The number by which it is known.
    pub id: u64,
    /// Index of its shape.
    pub shape: usize,
    /// Index of the material of its first sphere.
    pub material: usize,
    /// Mass, kg.
    pub mass: f64,
    /// Volume, m³: of the union of its spheres.
    pub volume: f64,
    /// Centre of mass, m.
    pub position: DVec3,
    /// Its velocity, m/s.
    pub velocity: DVec3,
    /// Whether it is fixed: then measures take it for a part of a wall.
    pub fixed: bool,
}

/// The bodies and contacts of one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moment {
    /// s.
    pub time: f64,
    /// The bodies.
    pub grains: Vec<Grain>,
    /// The contacts, of the bodies by their places in `grains`; `None` where they are not known.
    pub contacts: Option<Network>,
    /// Sides of a periodic box, m; 0 along the axes along which it is not periodic.
    pub period: DVec3,
}

impl Moment {
    /// That of a snapshot.
    pub fn new(snapshot: &Snapshot) -> Moment {
        let volumes = volumes(snapshot.model);
        let bodies = snapshot.bodies();
        Moment {
            time: snapshot.time(),
            grains: bodies
                .map(|body| grain(snapshot.model, &volumes, &body))
                .collect(),
            contacts: Some(snapshot.network()),
            period: period(snapshot.model),
        }
    }

    /// The bodies that are not fixed.
    pub fn free(&self) -> impl Iterator<Item = &Grain> + Clone {
        self.grains.iter().filter(|grain| !grain.fixed)
    }

    /// The smallest box that has the centres of mass of all bodies that are not fixed, m; `None` without any.
    pub fn bounds(&self) -> Option<[DVec3; 2]> {
        let around = |bounds: Option<[DVec3; 2]>, grain: &Grain| {
            let [min, max] = bounds.unwrap_or([grain.position; 2]);
            Some([min.min(grain.position), max.max(grain.position)])
        };
        self.free().fold(None, around)
    }

    /// The shortest of the images of a way in a periodic box, m.
    pub fn nearest(&self, way: DVec3) -> DVec3 {
        crate::model::nearest_image(way, self.period)
    }
}

/// Volumes of the shapes of a model, m³.
pub(crate) fn volumes(model: &Model) -> Vec<f64> {
    let volume = |clump: &Clump| union_of_spheres(&clump.spheres, 1.0).mass;
    model.shapes.iter().map(volume).collect()
}

/// Sides of the periodic box of a model, m; 0 along the other axes.
pub(crate) fn period(model: &Model) -> DVec3 {
    model
        .domain
        .as_ref()
        .map_or(DVec3::ZERO, crate::model::Domain::period)
}

/// A body of a model whose shapes have these `volumes` (m³).
pub(crate) fn grain(model: &Model, volumes: &[f64], body: &BodyState) -> Grain {
    Grain {
        id: body.id,
        shape: body.shape,
        material: model.shapes[body.shape].materials[0],
        mass: body.mass,
        volume: volumes[body.shape],
        position: body.position,
        velocity: body.velocity,
        fixed: body.fixed,
    }
}
