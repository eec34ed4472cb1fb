//! A scene made ready: what [`crate::scene`] builds and both engines start from.
//!
//! Everything here is in `f64` and in SI units; [`crate::state::State`] turns it into the buffers
//! that the engines work on.

use glam::{DQuat, DVec3};

use crate::clump::Clump;

/// How a body's state is advanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrator {
    /// Velocity first, then position with the new velocity (symplectic, the default).
    SemiImplicit,
    /// Position with the old velocity (forward Euler); it gains energy, and is there to show that.
    Explicit,
}

/// Contact parameters of a pair of materials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairLaw {
    /// Normal stiffness, N/m.
    pub stiffness: f64,
    /// Damping ratio of the normal dashpot, from the coefficient of restitution.
    pub damping_ratio: f64,
    /// Normal dashpot given directly, N s/m; added to that of the damping ratio.
    pub damping: f64,
    /// Tangential stiffness, N/m.
    pub tangential_stiffness: f64,
    /// Coefficient of friction.
    pub friction: f64,
}

/// A plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelPlane {
    /// A point of the plane, m.
    pub point: DVec3,
    /// Unit normal; bodies live on the side to which it points.
    pub normal: DVec3,
    /// Index of the material.
    pub material: usize,
}

/// A body at the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelBody {
    /// Index into [`Model::shapes`].
    pub shape: usize,
    /// Centre of mass, m.
    pub position: DVec3,
    /// World from body frame (the clump's principal frame).
    pub orientation: DQuat,
    /// Velocity of the centre of mass, m/s.
    pub velocity: DVec3,
    /// Angular velocity in the world frame, rad/s.
    pub angular_velocity: DVec3,
    /// A fixed body takes part in contacts and does not move.
    pub fixed: bool,
}

/// All that a simulation needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Name of the scene.
    pub name: String,
    /// Acceleration of gravity, m/s².
    pub gravity: DVec3,
    /// Simulated time that a run covers unless told otherwise, s.
    pub duration: f64,
    /// Time step, s.
    pub time_step: f64,
    /// Integrator.
    pub integrator: Integrator,
    /// Names of the materials.
    pub materials: Vec<String>,
    /// Parameters of each pair of materials, row by row: `pairs[a * materials.len() + b]`.
    pub pairs: Vec<PairLaw>,
    /// Shapes.
    pub shapes: Vec<Clump>,
    /// Planes.
    pub planes: Vec<ModelPlane>,
    /// Bodies, in the order of the scene: those under `bodies`, then each of the `fills`.
    pub bodies: Vec<ModelBody>,
}

impl Model {
    /// Number of spheres of all bodies.
    pub fn sphere_count(&self) -> usize {
        self.bodies
            .iter()
            .map(|body| self.shapes[body.shape].spheres.len())
            .sum()
    }

    /// Number of steps that cover `duration` seconds: the nearest whole number, at least one
    /// unless the duration is zero.
    pub fn steps_for(&self, duration: f64) -> u64 {
        if duration <= 0.0 {
            0
        } else {
            ((duration / self.time_step).round() as u64).max(1)
        }
    }
}
