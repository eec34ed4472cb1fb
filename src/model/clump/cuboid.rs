//! Mass properties of a solid cuboid.

use glam::{DMat3, DVec3};

use super::{MassProperties, inertia_from_second_moment};

/// Mass, centre of mass and inertia of a solid cuboid about the origin.
///
/// Its sides along the axes have the lengths `size` (m), and its `density` is in kg/m³. With the sides a, b and c, the mass is
/// m = ρ a b c, and the moment of inertia about x is m (b² + c²)/12; those about y and z follow likewise.
pub fn solid_cuboid(size: DVec3, density: f64) -> MassProperties {
    let mass = density * size.element_product();
    MassProperties {
        mass,
        center_of_mass: DVec3::ZERO,
        inertia: inertia_from_second_moment(DMat3::from_diagonal(mass / 12.0 * size * size)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brick_has_the_moments_of_the_tables() {
        let MassProperties {
            mass,
            center_of_mass,
            inertia,
        } = solid_cuboid(DVec3::new(1.0, 2.0, 3.0), 10.0);
        assert_eq!((mass, center_of_mass), (60.0, DVec3::ZERO));
        let expected = DMat3::from_diagonal(5.0 * DVec3::new(13.0, 10.0, 5.0));
        assert!(inertia.abs_diff_eq(expected, 1e-12));
    }
}
