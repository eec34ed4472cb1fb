//! Mass properties of a clump as the sum of those of its spheres.

use std::f64::consts::PI;

use glam::{DMat3, DVec3};

use super::{ClumpSphere, MassProperties, inertia_from_second_moment, outer};

/// Mass, centre of mass and inertia of `spheres` of the given `density` (kg/m³), each counted whole.
///
/// Where spheres overlap, the overlap counts once for each of them. A sphere has the mass m = 4/3 π ρ r³ and, besides the
/// parallel-axis term, the inertia 2/5 m r² about its centre. So a row of spheres has inertia about its own line, too.
///
/// # Panics
///
/// If there is no sphere, a radius is not positive, or a number is not finite.
pub fn summed_spheres(spheres: &[ClumpSphere], density: f64) -> MassProperties {
    assert!(!spheres.is_empty(), "a clump has at least one sphere");
    for sphere in spheres {
        let sound = sphere.center.is_finite() && sphere.radius.is_finite() && sphere.radius > 0.0;
        assert!(sound, "not a sphere: {sphere:?}");
    }
    let mass_of = |sphere: &ClumpSphere| {
        4.0 / 3.0 * PI * density * sphere.radius * sphere.radius * sphere.radius
    };

    // Offsets are from a sphere of the clump, so that a clump far from its origin loses no digits.
    let reference = spheres[0].center;
    let mass: f64 = spheres.iter().map(mass_of).sum();
    let first_moment: DVec3 = spheres
        .iter()
        .map(|sphere| mass_of(sphere) * (sphere.center - reference))
        .sum();
    let center_of_mass = reference + first_moment / mass;

    let second_moment: DMat3 = spheres
        .iter()
        .map(|sphere| {
            let offset = sphere.center - center_of_mass;
            let own = DMat3::from_diagonal(DVec3::splat(sphere.radius * sphere.radius / 5.0));
            (outer(offset, offset) + own) * mass_of(sphere)
        })
        .sum();
    MassProperties {
        mass,
        center_of_mass,
        inertia: inertia_from_second_moment(second_moment),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_spheres_is_not_singular() {
        let row: Vec<_> = (0..5)
            .map(|i| ClumpSphere {
                center: DVec3::new(0.2 * f64::from(i) + 3.0, -7.0, 1.0),
                radius: 0.1,
            })
            .collect();
        let MassProperties {
            mass,
            center_of_mass,
            inertia,
        } = summed_spheres(&row, 1000.0);
        let one = 1000.0 * 4.0 / 3.0 * PI * 1e-3;
        assert!((mass / (5.0 * one) - 1.0).abs() < 1e-14);
        assert!(center_of_mass.distance(DVec3::new(3.4, -7.0, 1.0)) < 1e-14);
        // About the row, five times 2/5 m r²; across it, also m (0.4² + 0.2²) on either side.
        let axial = one * 5.0 * 0.4 * 0.01;
        let across = axial + one * 2.0 * (0.16 + 0.04);
        let expected = DMat3::from_diagonal(DVec3::new(axial, across, across));
        assert!(inertia.abs_diff_eq(expected, 1e-13 * across));
    }
}
