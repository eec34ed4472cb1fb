//! Generators of the spheres of clumps, in the shape's own axes, with the centroid at the origin.
//!
//! All lengths are in metres. `spacing` is the distance between the centres of neighbouring spheres. With `None` it is twice
//! the radius, so that neighbours touch; [`cuboid`] has another default.

use std::f64::consts::PI;

use glam::DVec3;

use crate::model::clump::ClumpSphere;

/// One sphere about the origin.
pub fn sphere(radius: f64) -> Vec<ClumpSphere> {
    vec![ClumpSphere {
        center: DVec3::ZERO,
        radius,
    }]
}

/// A cubic lattice of `n * n * n` spheres.
pub fn cube(n: usize, radius: f64, spacing: Option<f64>) -> Vec<ClumpSphere> {
    let at = |i| along_row(i, n, spacing.unwrap_or(2.0 * radius));
    let mut spheres = Vec::with_capacity(n.pow(3));
    for y in 0..n {
        for z in 0..n {
            for x in 0..n {
                let center = DVec3::new(at(x), at(y), at(z));
                spheres.push(ClumpSphere { center, radius });
            }
        }
    }
    spheres
}

/// A regular tetrahedron with `n` spheres along each edge, `n (n + 1) (n + 2) / 6` in all.
///
/// One face is level and at the bottom, with an edge along x.
pub fn tetrahedron(n: usize, radius: f64, spacing: Option<f64>) -> Vec<ClumpSphere> {
    // Corners of a tetrahedron of edge 1 about its centroid. They add up to zero, so the lattice points, whose barycentric
    // coordinates are whole numbers that add up to n - 1, need no centring.
    let floor = -6f64.sqrt() / 12.0;
    let corners = [
        DVec3::new(-0.5, floor, -3f64.sqrt() / 6.0),
        DVec3::new(0.5, floor, -3f64.sqrt() / 6.0),
        DVec3::new(0.0, floor, 3f64.sqrt() / 3.0),
        DVec3::new(0.0, 6f64.sqrt() / 4.0, 0.0),
    ];
    let spacing = spacing.unwrap_or(2.0 * radius);
    let mut spheres = Vec::new();
    for up in 0..n {
        for back in 0..n - up {
            for right in 0..n - up - back {
                let left = n - 1 - up - back - right;
                let steps = [left, right, back, up];
                let center = corners
                    .iter()
                    .zip(steps)
                    .map(|(&corner, steps)| corner * (steps as f64 * spacing))
                    .sum();
                spheres.push(ClumpSphere { center, radius });
            }
        }
    }
    spheres
}

/// A straight row of `n` spheres along x.
pub fn rod(n: usize, radius: f64, spacing: Option<f64>) -> Vec<ClumpSphere> {
    (0..n)
        .map(|i| ClumpSphere {
            center: DVec3::X * along_row(i, n, spacing.unwrap_or(2.0 * radius)),
            radius,
        })
        .collect()
}

/// A ring of `n` spheres, two or more, in the x-z plane, the first on the x axis.
///
/// `ring_radius` is the radius of the circle through the centres. With `None` it is `radius / sin(pi / n)`, so that neighbours
/// touch.
pub fn torus(n: usize, radius: f64, ring_radius: Option<f64>) -> Vec<ClumpSphere> {
    let ring_radius = ring_radius.unwrap_or_else(|| radius / libm::sin(PI / n as f64));
    (0..n)
        .map(|i| {
            let angle = 2.0 * PI * i as f64 / n as f64;
            ClumpSphere {
                center: ring_radius * DVec3::new(libm::cos(angle), 0.0, libm::sin(angle)),
                radius,
            }
        })
        .collect()
}

/// Spheres that touch the faces, edges and corners of a cuboid from inside.
///
/// The sides of the cuboid have the lengths `size`, each at least twice `radius`. The centres of neighbours are at most
/// `spacing` apart; with `None` it is the radius.
pub fn cuboid(size: DVec3, radius: f64, spacing: Option<f64>) -> Vec<ClumpSphere> {
    let spacing = spacing.unwrap_or(radius);
    let counts = size
        .to_array()
        .map(|side| along_side(side, radius, spacing));
    let row = |axis: usize, i: u64| {
        let room = size[axis] - 2.0 * radius;
        match counts[axis] {
            1 => 0.0,
            count => room * (i as f64 / (count - 1) as f64 - 0.5),
        }
    };
    let [right, up, back] = counts;
    let mut spheres = Vec::new();
    for y in 0..up {
        for z in 0..back {
            let inner = (1..up.max(1) - 1).contains(&y) && (1..back.max(1) - 1).contains(&z);
            // A row inside the cuboid has spheres only at its two ends.
            let step = if inner { (right - 1).max(1) } else { 1 };
            for x in (0..right).step_by(step as usize) {
                let center = DVec3::new(row(0, x), row(1, y), row(2, z));
                spheres.push(ClumpSphere { center, radius });
            }
        }
    }
    spheres
}

/// Number of spheres that [`cuboid`] makes; infinite if there are too many to count.
pub fn cuboid_count(size: DVec3, radius: f64, spacing: Option<f64>) -> f64 {
    let spacing = spacing.unwrap_or(radius);
    let counts = size
        .to_array()
        .map(|side| steps_of_side(side, radius, spacing) + 1.0);
    let all: f64 = counts.iter().product();
    let inner: f64 = counts.iter().map(|count| (count - 2.0).max(0.0)).product();
    all - inner
}

/// Number of steps from the first sphere along a side to the last.
fn steps_of_side(side: f64, radius: f64, spacing: f64) -> f64 {
    // Rounding must not add a step.
    ((side - 2.0 * radius) / spacing - 1e-9).ceil().max(0.0)
}

fn along_side(side: f64, radius: f64, spacing: f64) -> u64 {
    steps_of_side(side, radius, spacing) as u64 + 1
}

/// Coordinate of the `i`-th of `n` points in a row about zero.
fn along_row(i: usize, n: usize, spacing: f64) -> f64 {
    (i as f64 - 0.5 * (n as f64 - 1.0)) * spacing
}

#[cfg(test)]
mod tests {
    use super::*;

    const RADIUS: f64 = 0.03;

    fn all(spacing: Option<f64>) -> Vec<(&'static str, Vec<ClumpSphere>, usize)> {
        vec![
            ("cube", cube(3, RADIUS, spacing), 27),
            ("tetrahedron", tetrahedron(4, RADIUS, spacing), 20),
            ("rod", rod(5, RADIUS, spacing), 5),
        ]
    }

    fn nearest(spheres: &[ClumpSphere], i: usize) -> f64 {
        (0..spheres.len())
            .filter(|&j| j != i)
            .map(|j| spheres[i].center.distance(spheres[j].center))
            .fold(f64::INFINITY, f64::min)
    }

    fn centroid(spheres: &[ClumpSphere]) -> DVec3 {
        spheres.iter().map(|sphere| sphere.center).sum::<DVec3>() / spheres.len() as f64
    }

    #[test]
    fn counts_centroids_and_distances() {
        for spacing in [None, Some(0.04), Some(0.1)] {
            let mut shapes = all(spacing);
            if spacing.is_none() {
                shapes.push(("torus", torus(7, RADIUS, None), 7));
            }
            for (name, spheres, count) in shapes {
                assert_eq!(spheres.len(), count, "{name}");
                assert!(centroid(&spheres).length() < 1e-15, "{name}");
                for i in 0..count {
                    let gap = nearest(&spheres, i) - spacing.unwrap_or(2.0 * RADIUS);
                    assert!(gap.abs() < 1e-15, "{name}: sphere {i} is off by {gap}");
                    assert_eq!(spheres[i].radius, RADIUS);
                }
            }
        }
    }

    #[test]
    fn spheres_of_a_cuboid_touch_its_faces_from_inside() {
        let size = DVec3::new(0.3, 0.2, 0.5);
        for (radius, spacing, count) in [
            // 9 x 6 x 16 less 7 x 4 x 14, then 3 x 2 x 5, then a plate of 2 x 1 x 4.
            (0.03, None, 472),
            (0.05, Some(0.1), 30),
            (0.1, None, 8),
        ] {
            let spheres = cuboid(size, radius, spacing);
            assert_eq!(spheres.len(), count, "{radius}");
            assert_eq!(cuboid_count(size, radius, spacing), count as f64);
            let (mut min, mut max) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
            for sphere in &spheres {
                min = min.min(sphere.center - sphere.radius);
                max = max.max(sphere.center + sphere.radius);
            }
            assert!(min.abs_diff_eq(-0.5 * size, 1e-15), "{min}");
            assert!(max.abs_diff_eq(0.5 * size, 1e-15), "{max}");
            let most = spacing.unwrap_or(radius);
            for i in 0..count {
                assert!(nearest(&spheres, i) <= most * (1.0 + 1e-9));
            }
        }
    }

    #[test]
    fn one_sphere_of_each_is_at_the_origin() {
        for spheres in [
            sphere(RADIUS),
            cube(1, RADIUS, None),
            tetrahedron(1, RADIUS, None),
            rod(1, RADIUS, None),
        ] {
            assert_eq!(
                spheres,
                [ClumpSphere {
                    center: DVec3::ZERO,
                    radius: RADIUS
                }]
            );
        }
    }

    #[test]
    fn rod_lies_along_x_and_torus_in_the_xz_plane() {
        assert!(
            rod(4, RADIUS, None)
                .iter()
                .all(|s| s.center.y == 0.0 && s.center.z == 0.0)
        );
        for sphere in torus(9, RADIUS, Some(0.2)) {
            assert_eq!(sphere.center.y, 0.0);
            assert!((sphere.center.length() - 0.2).abs() < 1e-15);
        }
    }

    #[test]
    fn tetrahedron_is_regular_and_stands_on_a_face() {
        let n = 4;
        let spheres = tetrahedron(n, RADIUS, None);
        let bottom = spheres
            .iter()
            .map(|s| s.center.y)
            .fold(f64::INFINITY, f64::min);
        let on_floor = spheres
            .iter()
            .filter(|s| s.center.y - bottom < 1e-15)
            .count();
        assert_eq!(on_floor, n * (n + 1) / 2);
        // There are four corners, each at the distance of an edge from the other three.
        let edge = (n - 1) as f64 * 2.0 * RADIUS;
        let corners: Vec<_> = spheres
            .iter()
            .filter(|a| {
                let at_an_edge =
                    |b: &&ClumpSphere| (a.center.distance(b.center) - edge).abs() < 1e-14;
                spheres.iter().filter(at_an_edge).count() == 3
            })
            .collect();
        assert_eq!(corners.len(), 4);
    }
}
