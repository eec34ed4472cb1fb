//! Mass properties of the inside of a watertight mesh.

use glam::{DMat3, DVec3};

use super::{MassProperties, inertia_from_second_moment, outer};
use crate::model::wall::Mesh;

/// Mass, centre of mass and inertia of the inside of a watertight `mesh`, filled with the given `density` (kg/m³).
///
/// By the divergence theorem volume integrals are integrals over the surface, and for a triangle mesh they are exact sums over
/// its triangles (Mirtich, Fast and accurate computation of polyhedral mass properties, 1996; Eberly, Polyhedral mass
/// properties (revisited), 2002). Here each triangle forms a tetrahedron with one common point. Its volume V counts as negative
/// if the front of the triangle faces that point. With the corners a, b, c from that point and s = a + b + c,
///
/// V = a · (b × c)/6,  ∫ x = V s/4,  ∫ x xᵀ = V (s sᵀ + a aᵀ + b bᵀ + c cᵀ)/20.
///
/// The triangles must be anticlockwise seen from outside; otherwise the mass is negative.
pub fn inside_of_mesh(mesh: &Mesh, density: f64) -> MassProperties {
    // The common point is in the middle of the vertices, so that a mesh far from its origin loses no digits.
    let count = mesh.vertices.len() as f64;
    let middle: DVec3 = mesh.vertices.iter().map(|vertex| *vertex / count).sum();
    let (mut volume, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
    for &triangle in &mesh.triangles {
        let [a, b, c] = mesh.corners(triangle).map(|corner| corner - middle);
        let part = a.dot(b.cross(c)) / 6.0;
        let sum = a + b + c;
        volume += part;
        first += sum * (part / 4.0);
        second += (outer(sum, sum) + outer(a, a) + outer(b, b) + outer(c, c)) * (part / 20.0);
    }
    let center: DVec3 = first / volume;
    let second_moment = second - outer(center, center) * volume;
    MassProperties {
        mass: density * volume,
        center_of_mass: middle + center,
        inertia: inertia_from_second_moment(second_moment) * density,
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use glam::DQuat;

    use super::super::solid_cuboid;
    use super::*;
    use crate::model::wall::mesh::tests::{ball, cuboid};

    fn close(found: MassProperties, expected: MassProperties, tolerance: f64) {
        let size = expected.inertia.diagonal().element_sum();
        assert!(
            (found.mass / expected.mass - 1.0).abs() < tolerance
                && found
                    .center_of_mass
                    .abs_diff_eq(expected.center_of_mass, tolerance)
                && found
                    .inertia
                    .abs_diff_eq(expected.inertia, tolerance * size),
            "{found:?} instead of {expected:?}"
        );
    }

    fn moved(mesh: &Mesh, turn: DQuat, shift: DVec3) -> Mesh {
        Mesh {
            vertices: mesh.vertices.iter().map(|v| shift + turn * *v).collect(),
            triangles: mesh.triangles.clone(),
        }
    }

    #[test]
    fn a_box_has_the_moments_of_a_cuboid_wherever_it_is() {
        let size = DVec3::new(0.3, 1.1, 0.7);
        let turn = DQuat::from_xyzw(0.1, -0.7, 0.5, 0.4).normalize();
        for shift in [DVec3::ZERO, DVec3::new(-3.0, 20.0, 5.0)] {
            let mesh = moved(&cuboid(size), turn, shift);
            let expected = solid_cuboid(size, 700.0).moved(turn, shift);
            close(inside_of_mesh(&mesh, 700.0), expected, 1e-12);
        }
    }

    #[test]
    fn a_tetrahedron_has_the_moments_of_the_tables() {
        // With corners in the origin and on the axes, V = 1/6, the centre is at 1/4 on each axis, and about the origin
        // ∫ x² = 1/60 and ∫ x y = 1/120.
        let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let mesh = Mesh::new(faces.map(|face: [usize; 3]| face.map(|k| corners[k])));
        let found = inside_of_mesh(&mesh, 6.0);
        let square = 6.0 / 60.0 - 1.0 / 16.0;
        let product = 6.0 / 120.0 - 1.0 / 16.0;
        let row = |k: usize| {
            let mut row = [product; 3];
            row[k] = square;
            row.into()
        };
        let expected = MassProperties {
            mass: 1.0,
            center_of_mass: DVec3::splat(0.25),
            inertia: inertia_from_second_moment(DMat3::from_cols(row(0), row(1), row(2))),
        };
        close(found, expected, 1e-12);
    }

    #[test]
    fn a_ball_of_triangles_comes_near_a_ball() {
        let found = inside_of_mesh(&ball(2.0, 5), 3.0);
        let mass = 3.0 * 4.0 / 3.0 * PI * 8.0;
        let expected = MassProperties {
            mass,
            center_of_mass: DVec3::ZERO,
            inertia: DMat3::from_diagonal(DVec3::splat(0.4 * mass * 4.0)),
        };
        close(found, expected, 3e-3);
    }

    #[test]
    fn a_mesh_turned_inside_out_has_a_negative_mass() {
        let mut mesh = cuboid(DVec3::ONE);
        for triangle in &mut mesh.triangles {
            triangle.swap(0, 1);
        }
        assert!(inside_of_mesh(&mesh, 1.0).mass < 0.0);
    }
}
