//! Clumps: rigid composites of spheres, and their mass, centre of mass and principal inertia.

use glam::{DMat3, DQuat, DVec3};

/// A sphere of a clump.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClumpSphere {
    /// Centre, m.
    pub center: DVec3,
    /// Radius, m.
    pub radius: f64,
}

/// Mass, centre of mass and inertia in the axes in which the spheres were given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// Mass, kg.
    pub mass: f64,
    /// Centre of mass, m.
    pub center_of_mass: DVec3,
    /// Inertia tensor about the centre of mass, kg m².
    pub inertia: DMat3,
}

/// A shape ready for simulation: its spheres in the body frame, which has its origin in the centre
/// of mass and its axes along the principal axes of inertia.
#[derive(Clone, Debug, PartialEq)]
pub struct Clump {
    /// Name of the shape.
    pub name: String,
    /// Index of the material.
    pub material: usize,
    /// Spheres in the body frame.
    pub spheres: Vec<ClumpSphere>,
    /// Mass, kg.
    pub mass: f64,
    /// Principal moments of inertia, kg m².
    pub inertia: DVec3,
    /// Centre of mass in the shape's own axes, m.
    pub center_of_mass: DVec3,
    /// Shape axes from body frame: turns a vector of the body frame into the shape's own axes.
    pub principal_axes: DQuat,
}
