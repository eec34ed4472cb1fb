//! State of all bodies as arrays: one row a body, in the order of [`Simulation::handles`].

use glam::{DQuat, DVec3};

use super::Simulation;
use super::snapshot::Snapshot;
use crate::model::error::Result;
use crate::state::layout::Body;
use crate::state::{Field, angular_velocity, body_orientation};

/// Element of an array: `f32` or `f64`.
pub trait Number: Copy + sealed::Sealed {
    /// The nearest value to `number`.
    fn of(number: f64) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

impl Number for f32 {
    fn of(number: f64) -> f32 {
        number as f32
    }
}

impl Number for f64 {
    fn of(number: f64) -> f64 {
        number
    }
}

fn vector<T: Number>(vector: DVec3) -> [T; 3] {
    vector.to_array().map(T::of)
}

fn quaternion<T: Number>(orientation: DQuat) -> [T; 4] {
    orientation.to_array().map(T::of)
}

macro_rules! arrays {
    ($($(#[$doc:meta])* $name:ident($($field:ident),*) -> $row:ty { $get:expr })*) => {
        impl Simulation {$(
            $(#[$doc])*
            ///
            /// `rows` is cleared and filled in the order of [`Simulation::handles`]; its memory is reused.
            ///
            /// # Errors
            /// If the device is lost.
            pub fn $name<T: Number>(&mut self, rows: &mut Vec<$row>) -> Result<()> {
                self.fetch(&[$(Field::$field),*])?;
                self.fetched().$name(rows);
                Ok(())
            }
        )*}

        impl Snapshot<'_> {$(
            $(#[$doc])*
            ///
            /// `rows` is cleared and filled in the order of the bodies; its memory is reused.
            pub fn $name<T: Number>(&self, rows: &mut Vec<$row>) {
                rows.clear();
                rows.extend((0..self.state.bodies.len()).map(|body| $get(self, body)));
            }
        )*}
    };
}

arrays! {
    /// Centres of mass, m.
    positions(Bodies) -> [T; 3] {
        |own: &Snapshot, body: usize| vector(own.state.position(&own.state.bodies[body]))
    }
    /// Orientations as unit quaternions (x, y, z, w), from the shape's own axes to the world.
    orientations(Bodies) -> [T; 4] {
        |own: &Snapshot, body: usize| {
            let clump = &own.model.shapes[own.state.identities[body].shape];
            quaternion(clump.shape_orientation(body_orientation(&own.state.bodies[body])))
        }
    }
    /// Velocities of the centres of mass, m/s.
    velocities(Bodies) -> [T; 3] {
        |own: &Snapshot, body: usize| vector(own.state.bodies[body].velocity.as_dvec3())
    }
    /// Angular velocities in the world frame, rad/s.
    angular_velocities(Bodies) -> [T; 3] {
        |own: &Snapshot, body: usize| {
            let clump = &own.model.shapes[own.state.identities[body].shape];
            vector(angular_velocity(&own.state.bodies[body], clump.inertia))
        }
    }
    /// Forces of the contacts on each body in the last step, N.
    contact_forces(Bodies, SphereLoads) -> [T; 3] {
        |own: &Snapshot, body: usize| vector(own.state.load(&own.state.bodies[body]).force.as_dvec3())
    }
    /// Torques of the contacts on each body about its centre of mass in the last step, N m.
    contact_torques(Bodies, SphereLoads) -> [T; 3] {
        |own: &Snapshot, body: usize| vector(own.state.load(&own.state.bodies[body]).torque.as_dvec3())
    }
}

impl Simulation {
    /// The bodies as the engines store them, in the order of [`Simulation::handles`]; on the CPU engine, the memory
    /// that it works in.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn rows(&mut self) -> Result<&[Body]> {
        self.fetch(&[Field::Bodies])?;
        Ok(&self.state.bodies)
    }

    /// Gives away the memory of [`Simulation::rows`] with its present contents. The simulation continues in a copy.
    pub fn give_rows(&mut self) -> Vec<Body> {
        let copy = self.state.bodies.clone();
        std::mem::replace(&mut self.state.bodies, copy)
    }
}
