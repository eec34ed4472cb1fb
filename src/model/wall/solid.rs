//! The inside of a watertight mesh.

use std::sync::Arc;

use glam::DVec3;

use super::facet::{BOTH_SIDES, Facet};
use super::facet::{Closest, closest};
use super::mesh::Mesh;
use super::tree::Node;
use super::tree::{Bounds, tree};

/// A watertight mesh, prepared for queries of inside and of distance.
#[derive(Clone, Debug)]
pub(crate) struct Solid {
    mesh: Arc<Mesh>,
    /// The triangles, in the order of the tree. `Facet::wall` is the index of the triangle in the mesh.
    facets: Vec<Facet>,
    nodes: Vec<Node>,
}

impl Solid {
    pub fn new(mesh: Arc<Mesh>) -> Solid {
        let blank = Facet {
            side: BOTH_SIDES,
            ..Facet::default()
        };
        let (mut facets, bounds): (Vec<Facet>, Vec<Bounds>) =
            mesh.facets(blank).into_iter().unzip();
        for (index, facet) in facets.iter_mut().enumerate() {
            facet.wall = index as u32;
        }
        let nodes = tree(&mut facets, &bounds, 0);
        Solid {
            mesh,
            facets,
            nodes,
        }
    }

    /// Whether a point (m) is inside: a line from it along x comes out of the surface more often than it goes in.
    ///
    /// The line is a little beside the point, so that it meets no corner. At an edge it meets just one of the two triangles,
    /// because both compute the edge with the same numbers.
    pub fn contains(&self, point: DVec3) -> bool {
        let size = f64::from((self.nodes[0].max - self.nodes[0].min).max_element());
        let point = point + size * DVec3::new(0.0, 1.234_567e-7, 2.718_281e-7);
        let mut depth = 0;
        let mut at = 0;
        while at < self.nodes.len() {
            let node = &self.nodes[at];
            let (min, max) = (node.min.as_dvec3(), node.max.as_dvec3());
            let slack = 1e-6 * size;
            let beside =
                |axis: usize| point[axis] < min[axis] - slack || point[axis] > max[axis] + slack;
            if point.x > max.x + slack || beside(1) || beside(2) {
                at += node.skip as usize;
                continue;
            }
            let first = node.facets >> 3;
            for facet in first..first + (node.facets & 7) {
                let triangle = self.facets[facet as usize].wall as usize;
                depth += self.crossing(self.mesh.triangles[triangle], point);
            }
            at += 1;
        }
        depth > 0
    }

    /// 1 where the line from a point along x comes out through a triangle, -1 where it goes in, else 0.
    fn crossing(&self, triangle: [u32; 3], point: DVec3) -> i32 {
        let [a, b, c] = self.mesh.corners(triangle);
        let across = |p: DVec3, q: DVec3| {
            (p.y - point.y) * (q.z - point.z) - (p.z - point.z) * (q.y - point.y)
        };
        let [ab, bc, ca] = [across(a, b), across(b, c), across(c, a)];
        let way = if ab > 0.0 && bc > 0.0 && ca > 0.0 {
            1
        } else if ab < 0.0 && bc < 0.0 && ca < 0.0 {
            -1
        } else {
            return 0;
        };
        let x = (ab * c.x + bc * a.x + ca * b.x) / (ab + bc + ca);
        if x > point.x { way } else { 0 }
    }

    /// The position of a point (m) relative to the nearest triangle.
    pub fn nearest(&self, point: DVec3) -> Closest {
        let point = point.as_vec3();
        let mut best = Closest::FAR;
        let mut at = 0;
        while at < self.nodes.len() {
            let node = &self.nodes[at];
            let way = point - point.clamp(node.min, node.max);
            if way.length_squared() >= best.distance * best.distance {
                at += node.skip as usize;
                continue;
            }
            let first = node.facets >> 3;
            for facet in first..first + (node.facets & 7) {
                let found = closest(&self.facets[facet as usize], &[], point, f32::MAX);
                if found.distance < best.distance {
                    best = found;
                }
            }
            at += 1;
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::super::mesh::tests::ball;
    use super::*;

    #[test]
    fn inside_and_distance_are_those_of_a_ball() {
        let mesh = ball(2.0, 4);
        assert!(mesh.is_closed());
        let solid = Solid::new(Arc::new(mesh));
        for k in 0..500 {
            let number = |step: f64| (f64::from(k) * step).fract() * 6.0 - 3.0;
            // Some points are on the x axis, where lines would meet corners.
            let point = match k % 5 {
                0 => DVec3::X * number(0.618),
                _ => DVec3::new(number(0.618), number(0.755), number(0.57)),
            };
            let height = point.length() - 2.0;
            if height.abs() > 0.01 {
                assert_eq!(solid.contains(point), height < 0.0, "{point}");
            }
            let distance = f64::from(solid.nearest(point).distance);
            assert!(
                (distance - height.abs()).abs() < 0.01,
                "{point}: {distance}"
            );
        }
    }
}
