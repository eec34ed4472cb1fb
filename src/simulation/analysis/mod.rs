//! Measures of granular media, taken of one state or of many states of a run.
//!
//! A [`Moment`] has the bodies and contacts of one time. [`Moment::new`] takes it from a simulation, and `KeptRun::moment` of
//! the module `output` from a run that was kept; bodies from elsewhere can be filled in by hand. Measures are functions of
//! moments: [`fields`] by coarse graining, [`mixing`] and segregation, the [`structure`] of contacts and the slope of a free
//! [`surface`]. The measures of [`flow`] are functions of numbers over time.

pub mod fields;
pub mod flow;
pub mod mixing;
#[doc(hidden)]
pub mod plan;
pub mod structure;
pub mod surface;

use std::ops::ControlFlow;

use glam::DVec3;

use crate::model::Model;
use crate::model::clump::{Clump, union_of_spheres};
use crate::model::error::Result;
use crate::simulation::Simulation;
use crate::simulation::network::Network;
use crate::simulation::snapshot::{BodyState, Snapshot};
use crate::state::Field;
use fields::Fields;
use plan::Plan;
use structure::Contacts;

/// A body with the data that measures use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Grain {
    /// Number of the body, as in a [`BodyHandle`](crate::model::handle::BodyHandle).
    pub id: u64,
    /// Index of the shape.
    pub shape: usize,
    /// Index of the material of its first sphere.
    pub material: usize,
    /// Mass, kg.
    pub mass: f64,
    /// Volume of the union of the spheres, m³.
    pub volume: f64,
    /// Centre of mass, m.
    pub position: DVec3,
    /// Velocity of the centre of mass, m/s.
    pub velocity: DVec3,
    /// Whether the body is fixed; measures treat a fixed body as part of a wall.
    pub fixed: bool,
}

/// The bodies and contacts of one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moment {
    /// Time, s.
    pub time: f64,
    /// The bodies.
    pub grains: Vec<Grain>,
    /// The contacts, `None` if they are not known. They name bodies by their indices in `grains`.
    pub contacts: Option<Network>,
    /// Sides of a periodic box, m; 0 along axes that are not periodic.
    pub period: DVec3,
}

impl Moment {
    /// Takes the bodies and contacts of a snapshot.
    pub fn new(snapshot: &Snapshot) -> Moment {
        let mut moment = Moment::before(snapshot);
        moment.add_bodies(snapshot, &volumes(snapshot.model));
        moment.contacts = Some(snapshot.network());
        moment
    }

    /// The time of a snapshot, and no bodies yet.
    fn before(snapshot: &Snapshot) -> Moment {
        Moment {
            time: snapshot.time(),
            period: period(snapshot.model),
            ..Moment::default()
        }
    }

    /// Adds the bodies of a part of a state.
    fn add_bodies(&mut self, part: &Snapshot, volumes: &[f64]) {
        let bodies = part.bodies();
        let grains = bodies.map(|body| grain(part.model, volumes, &body));
        self.grains.extend(grains);
    }

    /// The bodies that are not fixed.
    pub fn free(&self) -> impl Iterator<Item = &Grain> + Clone {
        self.grains.iter().filter(|grain| !grain.fixed)
    }

    /// The smallest box around the centres of mass of all bodies that are not fixed, m; `None` if there are none.
    ///
    /// Returns the corners with the smallest and with the largest coordinates.
    pub fn bounds(&self) -> Option<[DVec3; 2]> {
        let around = |bounds: Option<[DVec3; 2]>, grain: &Grain| {
            let [min, max] = bounds.unwrap_or([grain.position; 2]);
            Some([min.min(grain.position), max.max(grain.position)])
        };
        self.free().fold(None, around)
    }

    /// The shortest image of the vector `way` (m) in the periodic box, m.
    pub fn nearest(&self, way: DVec3) -> DVec3 {
        crate::model::nearest_image(way, self.period)
    }
}

impl Simulation {
    /// Takes the measures of a plan now, as [`Plan::values`] does, and adds the moment to fields. Where many processes have the state, it
    /// comes part by part: this one has the bodies of a moment, and 16 bytes a contact.
    ///
    /// # Errors
    /// If the device is lost.
    pub(crate) fn measure(
        &mut self,
        plan: &Plan,
        mut fields: Option<&mut Fields>,
    ) -> Result<Vec<f64>> {
        let volumes = volumes(self.model());
        let mut moment = Moment::before(&self.fetched());
        self.for_each_part(&[Field::Bodies], |part, _| {
            moment.add_bodies(part, &volumes);
            ControlFlow::Continue(())
        })?;
        if let Some(fields) = &mut fields {
            fields.add_grains(&moment);
        }
        let fixed = moment.grains.iter().map(|grain| grain.fixed).collect();
        let mut contacts = Contacts::new(fixed);
        self.for_each_part(&Snapshot::fields(), |part, before| {
            let spheres = part.state.params.sphere_count;
            for contact in part.contacts() {
                let contact = contact.in_whole(before, spheres);
                contacts.add(&contact);
                if let Some(fields) = &mut fields {
                    fields.add_contact(&moment, &contact);
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(plan.values_with(&moment, Some(contacts.structure())))
    }
}

/// Volumes of the unions of spheres of a model's shapes, m³.
pub(crate) fn volumes(model: &Model) -> Vec<f64> {
    let volume = |clump: &Clump| union_of_spheres(&clump.spheres, 1.0).mass;
    model.shapes.iter().map(volume).collect()
}

/// Sides of the periodic box of a model, m; 0 along axes that are not periodic.
pub(crate) fn period(model: &Model) -> DVec3 {
    model
        .domain
        .as_ref()
        .map_or(DVec3::ZERO, crate::model::Domain::period)
}

/// A [`Grain`] of a body; `volumes` are those of the model's shapes, m³.
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
