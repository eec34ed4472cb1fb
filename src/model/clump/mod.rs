//! Clumps: rigid composites of spheres, and their mass, centre of mass and principal inertia.

mod cuboid;
mod fit;
mod fragments;
mod principal;
mod summed;
mod triangles;
mod union;

pub mod shapes;

use bytemuck::{Pod, Zeroable};
use glam::{DMat3, DQuat, DVec3};

pub use cuboid::solid_cuboid;
pub use fit::{FINEST, Fit, Fitted, MAX_FITTED, Stage, fit_mesh, fit_mesh_telling};
pub(crate) use fragments::{Fragments, fragments, random_pieces};
pub use principal::principal_frame;
pub use summed::summed_spheres;
pub use triangles::inside_of_mesh;
pub use union::union_of_spheres;

/// A sphere of a clump.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
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

/// A shape that is ready for simulation.
///
/// Its spheres are in the body frame, which has its origin in the centre of mass and its axes along the principal axes of
/// inertia.
#[derive(Clone, Debug, PartialEq)]
pub struct Clump {
    /// Name of the shape.
    pub name: String,
    /// Index of the material of each sphere.
    pub materials: Vec<usize>,
    /// Spheres in the body frame.
    pub spheres: Vec<ClumpSphere>,
    /// Mass, kg.
    pub mass: f64,
    /// Principal moments of inertia, kg m².
    pub inertia: DVec3,
    /// Centre of mass in the shape's own axes, m.
    pub center_of_mass: DVec3,
    /// Rotation from the body frame to the shape's own axes.
    pub principal_axes: DQuat,
}

/// The reason why no rigid body can have a given mass, centre of mass and inertia.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unphysical {
    /// The mass is not a positive number.
    #[error("the mass is {0} kg; it must be a positive finite number")]
    Mass(f64),
    /// A coordinate of the centre of mass or an entry of the inertia tensor is not a number.
    #[error("the centre of mass and the inertia tensor must be made of finite numbers")]
    NotFinite,
    /// The inertia tensor differs from its transpose.
    #[error("the inertia tensor has the rows {0} kg m²; it must be symmetric")]
    Asymmetric(DMat3),
    /// A principal moment is not positive.
    #[error("the principal moments of inertia are {0} kg m²; each must be positive")]
    Moments(DVec3),
    /// The largest principal moment exceeds the sum of the others.
    #[error(
        "the principal moments of inertia are {0} kg m²; in a rigid body none exceeds the sum of \
         the other two (is the inertia taken about the centre of mass?)"
    )]
    Triangle(DVec3),
}

impl MassProperties {
    /// Mass properties of two bodies that are fixed to each other.
    ///
    /// Masses add up, and so do moments of inertia about the common centre of mass, by the parallel-axis theorem (Huygens and
    /// Steiner).
    pub fn and(&self, other: &MassProperties) -> MassProperties {
        let mass = self.mass + other.mass;
        let way = other.center_of_mass - self.center_of_mass;
        let center_of_mass = self.center_of_mass + way * (other.mass / mass);
        let about = |body: &MassProperties| {
            let arm = body.center_of_mass - center_of_mass;
            body.inertia + inertia_from_second_moment(outer(arm, arm) * body.mass)
        };
        MassProperties {
            mass,
            center_of_mass,
            inertia: about(self) + about(other),
        }
    }

    /// Mass properties of the same body, turned about the origin by `orientation` and then moved by `position` (m).
    pub fn moved(&self, orientation: DQuat, position: DVec3) -> MassProperties {
        let axes = DMat3::from_quat(orientation);
        MassProperties {
            mass: self.mass,
            center_of_mass: position + axes * self.center_of_mass,
            inertia: axes * self.inertia * axes.transpose(),
        }
    }

    /// Mass properties of a body of the same shape that is `factor` times as dense.
    pub fn denser(&self, factor: f64) -> MassProperties {
        MassProperties {
            mass: factor * self.mass,
            center_of_mass: self.center_of_mass,
            inertia: self.inertia * factor,
        }
    }

    /// Checks that a rigid body can have this mass and inertia.
    ///
    /// # Errors
    ///
    /// If a number is not finite, if the mass or a principal moment is not positive, if the tensor is not symmetric, or if the
    /// principal moments break the triangle inequality. The last two checks have a tolerance of 1e-6, for numbers that were
    /// written with few digits.
    pub fn check(&self) -> Result<(), Unphysical> {
        const TOLERANCE: f64 = 1e-6;
        if !(self.mass > 0.0 && self.mass.is_finite()) {
            return Err(Unphysical::Mass(self.mass));
        }
        if !(self.center_of_mass.is_finite() && self.inertia.is_finite()) {
            return Err(Unphysical::NotFinite);
        }
        let transpose = self.inertia.transpose();
        let size = self.inertia.diagonal().abs().element_sum();
        if !self.inertia.abs_diff_eq(transpose, TOLERANCE * size) {
            return Err(Unphysical::Asymmetric(transpose));
        }
        let (moments, _) = principal_frame(self.inertia);
        if moments.min_element() <= 0.0 {
            return Err(Unphysical::Moments(moments));
        }
        let largest = moments.max_element();
        if largest > (moments.element_sum() - largest) * (1.0 + TOLERANCE) {
            return Err(Unphysical::Triangle(moments));
        }
        Ok(())
    }
}

impl Clump {
    /// A clump of `spheres`, with `properties` in the same axes; `material` is the index of the material of all spheres.
    ///
    /// The properties must pass [`MassProperties::check`].
    pub fn new(
        name: impl Into<String>,
        material: usize,
        spheres: &[ClumpSphere],
        properties: MassProperties,
    ) -> Self {
        Self::of_materials(name, vec![material; spheres.len()], spheres, properties)
    }

    /// A clump of `spheres`, with a material for each and `properties` in the same axes.
    ///
    /// The properties must pass [`MassProperties::check`].
    ///
    /// # Panics
    /// If there are more or fewer materials than spheres.
    pub fn of_materials(
        name: impl Into<String>,
        materials: Vec<usize>,
        spheres: &[ClumpSphere],
        properties: MassProperties,
    ) -> Self {
        assert_eq!(materials.len(), spheres.len(), "one for each sphere");
        let (inertia, principal_axes) = principal_frame(properties.inertia);
        let body_from_shape = principal_axes.conjugate();
        let to_body = |sphere: &ClumpSphere| ClumpSphere {
            center: body_from_shape * (sphere.center - properties.center_of_mass),
            radius: sphere.radius,
        };
        Self {
            name: name.into(),
            materials,
            spheres: spheres.iter().map(to_body).collect(),
            mass: properties.mass,
            inertia,
            center_of_mass: properties.center_of_mass,
            principal_axes,
        }
    }

    /// A similar clump of the same density, with all lengths multiplied by `factor`.
    pub fn scaled(&self, factor: f64) -> Self {
        let spheres = self.spheres.iter().map(|sphere| ClumpSphere {
            center: factor * sphere.center,
            radius: factor * sphere.radius,
        });
        Self {
            name: self.name.clone(),
            materials: self.materials.clone(),
            spheres: spheres.collect(),
            mass: factor.powi(3) * self.mass,
            inertia: factor.powi(5) * self.inertia,
            center_of_mass: factor * self.center_of_mass,
            principal_axes: self.principal_axes,
        }
    }

    /// Bounding radius, m: that of the smallest sphere about the centre of mass that holds the clump.
    pub fn bounding_radius(&self) -> f64 {
        self.spheres
            .iter()
            .map(|sphere| sphere.center.length() + sphere.radius)
            .fold(0.0, f64::max)
    }

    /// Converts a point (m) from the shape's own axes to the body frame, m.
    pub fn in_body_frame(&self, point: DVec3) -> DVec3 {
        self.principal_axes.conjugate() * (point - self.center_of_mass)
    }

    /// Rotation from the shape's own axes to the world, given the rotation from the body frame to the world.
    pub fn shape_orientation(&self, body_orientation: DQuat) -> DQuat {
        body_orientation * self.principal_axes.conjugate()
    }

    /// Rotation from the body frame to the world, given the rotation from the shape's own axes to the world.
    pub fn body_orientation(&self, shape_orientation: DQuat) -> DQuat {
        shape_orientation * self.principal_axes
    }

    /// World position (m) of the shape's own origin, given the centre of mass `position` (m) and the rotation from the body
    /// frame to the world.
    pub fn origin(&self, position: DVec3, body_orientation: DQuat) -> DVec3 {
        position - self.shape_orientation(body_orientation) * self.center_of_mass
    }

    /// World position (m) of the centre of mass, given the shape's own `origin` (m) and the rotation from the shape's own axes
    /// to the world.
    pub fn position_of(&self, origin: DVec3, shape_orientation: DQuat) -> DVec3 {
        origin + shape_orientation * self.center_of_mass
    }
}

/// The outer product a bᵀ.
fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// The inertia ∫ (|x|² 1 - x xᵀ) dm, from the second moment ∫ x xᵀ dm.
fn inertia_from_second_moment(second_moment: DMat3) -> DMat3 {
    let trace = second_moment.diagonal().element_sum();
    DMat3::from_diagonal(DVec3::splat(trace)) - second_moment
}

/// Compliance (1/kg) with which a body turns under a push through the point c = `center` (m, from its centre of mass).
///
/// It is the maximum of (c x n) I⁻¹ (c x n) over all directions n of the push, with the principal moments I = `inertia` (kg m²).
/// That quadratic form of n vanishes along c. So its largest eigenvalue solves a quadratic equation, whose coefficients are the
/// trace of the form and the sum of its principal minors.
pub fn turning(inertia: DVec3, center: DVec3) -> f64 {
    let inverse = inertia.recip();
    let others = DVec3::new(
        inverse.y * inverse.z,
        inverse.x * inverse.z,
        inverse.x * inverse.y,
    );
    let squares = center * center;
    let length_squared = squares.element_sum();
    let trace = inverse.dot(length_squared - squares);
    let minors = length_squared * squares.dot(others);
    0.5 * (trace + (trace * trace - 4.0 * minors).max(0.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An L of three spheres away from the origin, of whose principal axes only z is along a given axis.
    fn bracket() -> [ClumpSphere; 3] {
        [(1.0, 1.0, 0.5), (1.7, 1.0, 0.5), (1.0, 2.0, 0.6)].map(|(x, y, radius)| ClumpSphere {
            center: DVec3::new(x, y, 4.0),
            radius,
        })
    }

    #[test]
    fn the_body_frame_is_the_principal_frame() {
        for method in [summed_spheres, union_of_spheres] {
            let properties = method(&bracket(), 1000.0);
            let clump = Clump::new("bracket", 3, &bracket(), properties);
            let again = method(&clump.spheres, 1000.0);
            let scale = clump.inertia.max_element();
            assert!((again.mass / clump.mass - 1.0).abs() < 1e-11);
            assert!(again.center_of_mass.length() < 1e-11);
            let expected = DMat3::from_diagonal(clump.inertia);
            assert!(again.inertia.abs_diff_eq(expected, 1e-11 * scale));
            assert!(properties.inertia.x_axis.y.abs() > 0.05 * scale);
            assert_eq!(
                (clump.name.as_str(), clump.materials),
                ("bracket", vec![3; 3])
            );
        }
    }

    #[test]
    fn placing_by_origin_puts_the_spheres_where_they_were_given() {
        let clump = Clump::new("l", 0, &bracket(), union_of_spheres(&bracket(), 1.0));
        let (origin, shape) = (
            DVec3::new(-3.0, 5.0, 0.5),
            DQuat::from_xyzw(0.1, -0.7, 0.5, 0.5),
        );
        let position = clump.position_of(origin, shape);
        let body = clump.body_orientation(shape);
        for (given, turned) in bracket().iter().zip(&clump.spheres) {
            let world = position + body * turned.center;
            assert!(world.abs_diff_eq(origin + shape * given.center, 1e-14));
            assert_eq!(given.radius, turned.radius);
        }
        assert!(clump.origin(position, body).abs_diff_eq(origin, 1e-14));
        assert!(clump.shape_orientation(body).abs_diff_eq(shape, 1e-15));
    }

    #[test]
    fn a_single_sphere_is_itself() {
        let ball = ClumpSphere {
            center: DVec3::new(0.1, 0.2, 0.3),
            radius: 0.05,
        };
        let clump = Clump::new("ball", 0, &[ball], summed_spheres(&[ball], 2500.0));
        assert_eq!(clump.spheres[0].center, DVec3::ZERO);
        assert_eq!(clump.principal_axes, DQuat::IDENTITY);
        assert_eq!(clump.bounding_radius(), 0.05);
        let expected = DVec3::splat(0.4 * clump.mass * 0.05 * 0.05);
        assert!(clump.inertia.abs_diff_eq(expected, 1e-15 * expected.x));
    }

    #[test]
    fn impossible_bodies_are_refused() {
        let good = MassProperties {
            mass: 2.0,
            center_of_mass: DVec3::ZERO,
            // A flat body: the largest moment is the sum of the others.
            inertia: DMat3::from_diagonal(DVec3::new(0.1, 0.2, 0.3)),
        };
        let with = |inertia: [f64; 9]| MassProperties {
            inertia: DMat3::from_cols_array(&inertia),
            ..good
        };
        let sentence = |properties: MassProperties| properties.check().unwrap_err().to_string();
        assert_eq!(good.check(), Ok(()));
        for mass in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(sentence(MassProperties { mass, ..good }).contains("positive finite"));
        }
        let nan = with([f64::NAN, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        assert!(sentence(nan).contains("finite"));
        let asymmetric = with([1.0, 0.1, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        assert!(sentence(asymmetric).contains("[1, 0, 0], [0.1, 1, 0]"));
        assert!(sentence(with([0.0; 9])).contains("each must be positive"));
        let saddle = with([1.0, 2.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        assert!(sentence(saddle).contains("each must be positive"));
        let spike = with([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.1]);
        assert!(sentence(spike).contains("[1, 1, 2.1] kg m²; in a rigid body none exceeds"));
    }
}
