//! What walls look like, as shaders read it: in their own frames, so that it holds for a whole run.

use bytemuck::{Pod, Zeroable};
use glam::{DVec3, Vec3};

use super::camera::Bounds;
use crate::model::wall::{Shape, Side, Wall};
use crate::state::layout::{BACK, BOTH_SIDES, FRONT};

/// Pieces of a circle.
const FINENESS: u32 = 96;

/// Normals of triangles that meet at less than this angle (its cosine) are blended where they do: they are
/// pieces of something round.
const ROUND: f64 = 0.8;

/// An infinite plane: `Plane` in `shaders/render/wall.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(super) struct Plane {
    /// Unit normal, in the frame of the wall; the plane goes through its anchor.
    pub normal: Vec3,
    /// Index of the wall.
    pub wall: u32,
}

/// A triangle: `Triangle` in `shaders/render/wall.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(super) struct Triangle {
    /// Corners in the frame of the wall, from its anchor, m, anticlockwise seen from the front; beside the first the index
    /// of the wall, beside the second the side that bodies touch.
    pub a: Vec3,
    pub wall: u32,
    pub b: Vec3,
    pub side: u32,
    pub c: Vec3,
    pub _pad0: u32,
    /// Unit normals at the corners.
    pub normal_a: Vec3,
    pub _pad1: u32,
    pub normal_b: Vec3,
    pub _pad2: u32,
    pub normal_c: Vec3,
    pub _pad3: u32,
}

/// The walls that are infinite planes.
pub(super) fn planes(walls: &[Wall]) -> Vec<Plane> {
    let plane = |(index, wall): (usize, &Wall)| match wall.shape {
        Shape::Plane { normal } => Some(Plane {
            normal: normal.as_vec3(),
            wall: index as u32,
        }),
        _ => None,
    };
    walls.iter().enumerate().filter_map(plane).collect()
}

/// The surfaces of the others, from the anchors (m, in the frames of the walls) on, which is where the
/// state says that walls are; what has no end goes as far as the bodies, and a little further.
pub(super) fn triangles(walls: &[Wall], anchors: &[DVec3], bodies: Bounds) -> Vec<Triangle> {
    let mut triangles = Vec::new();
    for (index, wall) in walls.iter().enumerate() {
        if matches!(wall.shape, Shape::Plane { .. }) {
            continue;
        }
        let far = (wall.pose.position - bodies.center()).length() + 2.0 * bodies.radius();
        let surface = wall.surface(FINENESS, far);
        let vertices = surface.vertices.iter();
        let vertices: Vec<DVec3> = vertices
            .map(|&vertex| DVec3::from_array(vertex) - anchors[index])
            .collect();
        let normals = normals(&vertices, &surface.triangles);
        let side = match wall.side {
            Side::Both => BOTH_SIDES,
            Side::Front => FRONT,
            Side::Back => BACK,
        };
        for (&corners, normals) in surface.triangles.iter().zip(normals) {
            let [a, b, c] = corners.map(|corner| vertices[corner as usize].as_vec3());
            let [normal_a, normal_b, normal_c] = normals.map(|normal| normal.as_vec3());
            triangles.push(Triangle {
                a,
                b,
                c,
                wall: index as u32,
                side,
                normal_a,
                normal_b,
                normal_c,
                ..Triangle::default()
            });
        }
    }
    triangles
}

/// The normals at the corners of triangles.
fn normals(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Vec<[DVec3; 3]> {
    // Vertices at the same place are one, as those at the pole of a sphere.
    let mut places = std::collections::HashMap::new();
    let place = |vertex: &DVec3| vertex.as_vec3().to_array().map(|x| (x + 0.0).to_bits());
    let mut own = Vec::with_capacity(triangles.len());
    for (index, &corners) in triangles.iter().enumerate() {
        let [a, b, c] = corners.map(|corner| vertices[corner as usize]);
        own.push((b - a).cross(c - a));
        for corner in [a, b, c] {
            places
                .entry(place(&corner))
                .or_insert_with(Vec::new)
                .push(index);
        }
    }
    let smooth = |triangle: usize, corner: u32| {
        let normal: DVec3 = own[triangle];
        let unit = normal.normalize_or(DVec3::Y);
        let around = &places[&place(&vertices[corner as usize])];
        let near = around.iter().map(|&other| own[other]);
        let near = near.filter(|other| other.normalize_or_zero().dot(unit) > ROUND);
        near.sum::<DVec3>().normalize_or(unit)
    };
    let corners = triangles.iter().enumerate();
    corners
        .map(|(triangle, corners)| corners.map(|corner| smooth(triangle, corner)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(shape: Shape) -> Wall {
        Wall {
            shape,
            ..Wall::plane(DVec3::ZERO, DVec3::Y, 0)
        }
    }

    #[test]
    fn what_is_round_has_smooth_normals_and_edges_stay_sharp() {
        let bounds = Bounds::of_ball(DVec3::ZERO, 1.0);
        let sphere = wall(Shape::Sphere { radius: 2.0 });
        for triangle in triangles(&[sphere], &[DVec3::ZERO], bounds) {
            let off = triangle.normal_a.dot(triangle.a) - 2.0;
            assert!(off.abs() < 1e-2, "{triangle:?}");
        }
        let size = DVec3::ONE;
        for triangle in triangles(&[wall(Shape::Box { size })], &[DVec3::ONE], bounds) {
            let normal = (triangle.b - triangle.a)
                .cross(triangle.c - triangle.a)
                .normalize();
            assert!((triangle.normal_a - normal).length() < 1e-6, "{triangle:?}");
        }
    }

    #[test]
    fn planes_are_told_from_what_has_triangles() {
        let walls = [
            wall(Shape::Box { size: DVec3::ONE }),
            wall(Shape::Plane { normal: DVec3::X }),
        ];
        let bounds = Bounds::of_ball(DVec3::ZERO, 1.0);
        assert_eq!(
            planes(&walls),
            [Plane {
                normal: Vec3::X,
                wall: 1
            }]
        );
        let triangles = triangles(&walls, &[DVec3::ZERO; 2], bounds);
        assert_eq!(triangles.len(), 12);
        assert!(triangles.iter().all(|triangle| triangle.wall == 0));
    }
}
