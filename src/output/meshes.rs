//! Shapes as triangles, for programs that know no spheres.

use std::collections::HashMap;

use glam::Vec3;

use crate::model::clump::Clump;

/// A surface.
pub(super) struct Mesh {
    /// Corners in the shape's own axes, m.
    pub points: Vec<Vec3>,
    /// Unit normals at the corners.
    pub normals: Vec<Vec3>,
    /// Three corners each, anticlockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// The spheres of a shape, each as an icosahedron whose triangles are split: the finer, the fewer they are.
pub(super) fn shape_mesh(clump: &Clump) -> Mesh {
    let splits = match clump.spheres.len() {
        0..=8 => 2,
        9..=200 => 1,
        _ => 0,
    };
    let (sphere, triangles) = ball(splits);
    let mut mesh = Mesh {
        points: Vec::new(),
        normals: Vec::new(),
        triangles: Vec::new(),
    };
    for member in &clump.spheres {
        let first = mesh.points.len() as u32;
        // From the principal frame to the shape's own axes.
        let center = clump.center_of_mass + clump.principal_axes * member.center;
        let place = |normal: &Vec3| center.as_vec3() + member.radius as f32 * *normal;
        mesh.points.extend(sphere.iter().map(place));
        mesh.normals.extend(&sphere);
        mesh.triangles
            .extend(triangles.iter().map(|own| own.map(|corner| first + corner)));
    }
    mesh
}

/// The corners and triangles of a ball of the radius 1.
fn ball(splits: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let golden = 0.5 * (1.0 + 5_f32.sqrt());
    let mut points = Vec::new();
    for (a, b) in [
        (-1.0, golden),
        (1.0, golden),
        (-1.0, -golden),
        (1.0, -golden),
    ] {
        points.push(Vec3::new(a, b, 0.0));
    }
    for (a, b) in [
        (-1.0, golden),
        (1.0, golden),
        (-1.0, -golden),
        (1.0, -golden),
    ] {
        points.push(Vec3::new(0.0, a, b));
    }
    for (a, b) in [
        (-1.0, golden),
        (1.0, golden),
        (-1.0, -golden),
        (1.0, -golden),
    ] {
        points.push(Vec3::new(b, 0.0, a));
    }
    let mut points: Vec<Vec3> = points.into_iter().map(Vec3::normalize).collect();
    let mut triangles: Vec<[u32; 3]> = vec![
        [0, 11, 5],
        [0, 5, 1],
        [0, 1, 7],
        [0, 7, 10],
        [0, 10, 11],
        [1, 5, 9],
        [5, 11, 4],
        [11, 10, 2],
        [10, 7, 6],
        [7, 1, 8],
        [3, 9, 4],
        [3, 4, 2],
        [3, 2, 6],
        [3, 6, 8],
        [3, 8, 9],
        [4, 9, 5],
        [2, 4, 11],
        [6, 2, 10],
        [8, 6, 7],
        [9, 8, 1],
    ];
    for _ in 0..splits {
        let mut middles = HashMap::new();
        let mut middle = |a: u32, b: u32| {
            *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                points.push((points[a as usize] + points[b as usize]).normalize());
                points.len() as u32 - 1
            })
        };
        triangles = triangles
            .into_iter()
            .flat_map(|[a, b, c]| {
                let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
                [[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]
            })
            .collect();
    }
    (points, triangles)
}

/// A colour of the shape with a number, linear: the hues go round by the golden angle, so that neighbours differ.
pub(super) fn colour(index: usize) -> [f32; 3] {
    let hue = (0.08 + 0.618_034 * index as f32).fract();
    [0.0, 1.0 / 3.0, 2.0 / 3.0].map(|shift| {
        let part = ((hue + shift).fract() * 6.0 - 3.0).abs() - 1.0;
        0.12 + 0.5 * part.clamp(0.0, 1.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ball_is_closed_and_its_triangles_look_outwards() {
        for splits in 0..3 {
            let (points, triangles) = ball(splits);
            assert_eq!(triangles.len(), 20 * 4_usize.pow(splits));
            // Euler: corners - edges + faces = 2, and each face has half of three edges.
            assert_eq!(points.len() + triangles.len() - triangles.len() * 3 / 2, 2);
            for own in &triangles {
                let [a, b, c] = own.map(|corner| points[corner as usize]);
                assert!((b - a).cross(c - a).dot(a) > 0.0, "{own:?}");
            }
        }
    }
}
