//! Surfaces of walls as triangles, for pictures and files.

use std::f64::consts::TAU;

use glam::{DVec2, DVec3};

use super::{Mesh, Shape, Wall};

/// A surface made of triangles, in the wall's own frame.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// Vertices, m.
    pub vertices: Vec<[f64; 3]>,
    /// Indices of the three vertices of each triangle, anticlockwise seen from the front.
    pub triangles: Vec<[u32; 3]>,
}

impl Wall {
    /// The surface of the wall in its own frame, m.
    ///
    /// `fineness` is the number of straight pieces of a circle, 3 or more. A wall without an end goes as far as `extent` (m) from
    /// its origin.
    pub fn surface(&self, fineness: u32, extent: f64) -> Surface {
        let fineness = fineness.max(3);
        match &self.shape {
            Shape::Plane { normal } => {
                let (across, along) = normal.any_orthonormal_pair();
                parallelogram(DVec3::ZERO, extent * across, extent * along)
            }
            Shape::Rectangle { size } => parallelogram(
                DVec3::ZERO,
                0.5 * size.y * DVec3::Z,
                0.5 * size.x * DVec3::X,
            ),
            Shape::Disc { radius, hole } => turned(
                &[DVec2::new(*radius, 0.0), DVec2::new(*hole, 0.0)],
                fineness,
            ),
            Shape::Box { size } => {
                let mut surface = Surface::default();
                for axis in DVec3::AXES {
                    for normal in [axis, -axis] {
                        let across = DVec3::new(axis.z, axis.x, axis.y);
                        let along = normal.cross(across);
                        let half = 0.5 * *size;
                        surface.add(&parallelogram(half * normal, half * across, half * along));
                    }
                }
                surface
            }
            Shape::Sphere { radius } => {
                turned(&arc(0.0, *radius, fineness.div_ceil(2), 0.5), fineness)
            }
            Shape::Cone {
                bottom,
                top,
                height,
                closed,
            } => {
                let half = if height.is_finite() {
                    0.5 * height
                } else {
                    extent
                };
                let mut line = vec![DVec2::new(*bottom, -half), DVec2::new(*top, half)];
                if *closed && height.is_finite() {
                    line.insert(0, DVec2::new(0.0, -half));
                    line.push(DVec2::new(0.0, half));
                }
                turned(&line, fineness)
            }
            Shape::Mesh(mesh) => of_mesh(mesh),
            Shape::Sampled(distance) => of_mesh(&distance.mesh),
            Shape::Torus { ring, tube } => turned(&arc(*ring, *tube, fineness, 1.0), fineness),
        }
    }
}

impl Surface {
    fn add(&mut self, other: &Surface) {
        let first = self.vertices.len() as u32;
        self.vertices.extend(&other.vertices);
        self.triangles.extend(
            other
                .triangles
                .iter()
                .map(|corners| corners.map(|corner| first + corner)),
        );
    }
}

fn of_mesh(mesh: &Mesh) -> Surface {
    Surface {
        vertices: mesh
            .vertices
            .iter()
            .map(|vertex| vertex.to_array())
            .collect(),
        triangles: mesh.triangles.clone(),
    }
}

/// A parallelogram with the half sides `across` and `along` (m); its front is the side to which `across` x `along` points.
fn parallelogram(center: DVec3, across: DVec3, along: DVec3) -> Surface {
    let corner = |a: f64, b: f64| (center + a * across + b * along).to_array();
    Surface {
        vertices: vec![
            corner(-1.0, -1.0),
            corner(1.0, -1.0),
            corner(1.0, 1.0),
            corner(-1.0, 1.0),
        ],
        triangles: vec![[0, 1, 2], [0, 2, 3]],
    }
}

/// An arc: the fraction `part` of a circle about (`center`, 0), anticlockwise from its lowest point on.
fn arc(center: f64, radius: f64, pieces: u32, part: f64) -> Vec<DVec2> {
    let point = |k: u32| {
        // A whole circle must close to the bit, and an arc must end on the axis to the bit.
        let k = if part == 1.0 { k % pieces } else { k };
        let angle = part * TAU * f64::from(k) / f64::from(pieces);
        let sine = if part < 1.0 && (k == 0 || k == pieces) {
            0.0
        } else {
            libm::sin(angle)
        };
        DVec2::new(center + radius * sine, -radius * libm::cos(angle))
    };
    (0..=pieces).map(point).collect()
}

/// The surface of a line of radius and height (m) that is turned about y; its front is to the right of the line.
fn turned(line: &[DVec2], fineness: u32) -> Surface {
    let mut surface = Surface::default();
    for point in line {
        for k in 0..fineness {
            let angle = TAU * f64::from(k) / f64::from(fineness);
            let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
            let vertex = [point.x * cosine, point.y, point.x * sine];
            surface.vertices.push(vertex);
        }
    }
    for ring in 0..line.len() as u32 - 1 {
        for k in 0..fineness {
            let next = (k + 1) % fineness;
            let [low, high] = [ring, ring + 1].map(|ring| ring * fineness);
            if line[ring as usize].x > 0.0 {
                surface.triangles.push([low + k, high + k, low + next]);
            }
            if line[ring as usize + 1].x > 0.0 {
                surface.triangles.push([low + next, high + k, high + next]);
            }
        }
    }
    surface
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::wall::Side;
    use glam::DVec3;

    /// Area of a surface, and the volume inside, which is positive if the normals point outwards.
    fn measure(shape: Shape) -> (f64, f64) {
        let wall = Wall {
            shape,
            side: Side::Both,
            ..Wall::plane(DVec3::ZERO, DVec3::Y, 0)
        };
        let surface = wall.surface(400, 1.0);
        let corner = |k: u32| DVec3::from_array(surface.vertices[k as usize]);
        let (mut area, mut volume) = (0.0, 0.0);
        for &[a, b, c] in &surface.triangles {
            let normal = 0.5 * (corner(b) - corner(a)).cross(corner(c) - corner(a));
            assert!(normal.length() > 0.0);
            area += normal.length();
            volume += corner(a).dot(normal) / 3.0;
        }
        (area, volume)
    }

    #[test]
    fn surfaces_have_the_areas_and_volumes_of_their_shapes() {
        let pi = std::f64::consts::PI;
        for (shape, area, volume) in [
            (Shape::Plane { normal: DVec3::Z }, 4.0, 0.0),
            (
                Shape::Rectangle {
                    size: DVec2::new(2.0, 3.0),
                },
                6.0,
                0.0,
            ),
            (
                Shape::Disc {
                    radius: 2.0,
                    hole: 1.0,
                },
                3.0 * pi,
                0.0,
            ),
            (
                Shape::Box {
                    size: DVec3::new(1.0, 2.0, 3.0),
                },
                22.0,
                6.0,
            ),
            (Shape::Sphere { radius: 1.0 }, 4.0 * pi, 4.0 / 3.0 * pi),
            (
                Shape::Cone {
                    bottom: 1.0,
                    top: 1.0,
                    height: 3.0,
                    closed: true,
                },
                8.0 * pi,
                3.0 * pi,
            ),
            (
                Shape::Cone {
                    bottom: 0.0,
                    top: 1.0,
                    height: 3.0,
                    closed: true,
                },
                (1.0 + 10.0_f64.sqrt()) * pi,
                pi,
            ),
            (
                Shape::Torus {
                    ring: 2.0,
                    tube: 0.5,
                },
                4.0 * pi * pi,
                2.0 * pi * pi * 2.0 * 0.25,
            ),
        ] {
            let found = measure(shape.clone());
            assert!((found.0 / area - 1.0).abs() < 1e-3, "{shape:?}: {found:?}");
            assert!(
                (found.1 - volume).abs() < 1e-3 * area,
                "{shape:?}: {found:?}"
            );
        }
    }
}
