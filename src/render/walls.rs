//! Geometry of walls for the shaders. It is in the frames of the walls, so it holds for a whole run.

use bytemuck::{Pod, Zeroable};
use glam::{DVec3, Vec3, Vec4};

use super::camera::Bounds;
use super::colour::linear;
use crate::model::view::SceneView;
use crate::model::wall::{Shape, Side, Wall};
use crate::state::layout::{BACK, BOTH_SIDES, FRONT, MAX_WALLS};

/// Number of straight pieces in the drawing of a circle.
const FINENESS: u32 = 96;

/// Cosine of the largest angle between two triangles whose normals are blended where they meet, as on a round surface.
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
    /// Corners `a`, `b` and `c` in the frame of the wall, from its anchor, m; anticlockwise seen from the front.
    pub a: Vec3,
    /// Index of the wall.
    pub wall: u32,
    pub b: Vec3,
    /// Side that bodies touch.
    pub side: u32,
    pub c: Vec3,
    /// Depth of wear over the largest depth of any wall.
    pub worn: f32,
    /// Unit normals at the corners.
    pub normal_a: Vec3,
    pub _pad1: u32,
    pub normal_b: Vec3,
    pub _pad2: u32,
    pub normal_c: Vec3,
    pub _pad3: u32,
}

/// An edge of a surface: `Edge` in `shaders/render/wall.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(super) struct Edge {
    /// Ends `a` and `b` in the frame of the wall, from its anchor, m.
    pub a: Vec3,
    /// Index of the wall.
    pub wall: u32,
    pub b: Vec3,
    /// Side that bodies touch.
    pub side: u32,
    /// Unit normals `first` and `last` of the triangles that meet at the edge; both are the same if there is only one triangle.
    pub first: Vec3,
    /// 1 if the edge is always drawn, 0 if only as part of an outline.
    pub is_sharp: u32,
    pub last: Vec3,
    pub _pad0: u32,
}

/// Cosine of the largest angle between two triangles whose edge is drawn only as part of an outline.
const SHARP: f64 = 0.9;

/// The edges of triangles, each once.
pub(super) fn edges(triangles: &[Triangle]) -> Vec<Edge> {
    let bits = |place: Vec3| (place + 0.0).to_array().map(f32::to_bits);
    let mut places = std::collections::HashMap::new();
    let mut edges: Vec<Edge> = Vec::new();
    for triangle in triangles {
        let Triangle {
            a,
            b,
            c,
            wall,
            side,
            ..
        } = *triangle;
        let normal = (b - a).cross(c - a).normalize_or_zero();
        for (start, end) in [(a, b), (b, c), (c, a)] {
            let ends = [bits(start), bits(end)];
            let key = (wall, ends.iter().min().copied(), ends.iter().max().copied());
            match places.entry(key) {
                std::collections::hash_map::Entry::Occupied(place) => {
                    let edge: &mut Edge = &mut edges[*place.get()];
                    edge.last = normal;
                    let bend = f64::from(edge.first.dot(normal));
                    edge.is_sharp = u32::from(bend < SHARP);
                }
                std::collections::hash_map::Entry::Vacant(place) => {
                    place.insert(edges.len());
                    edges.push(Edge {
                        a: start,
                        wall,
                        b: end,
                        side,
                        first: normal,
                        is_sharp: 1,
                        last: normal,
                        _pad0: 0,
                    });
                }
            }
        }
    }
    edges
}

/// Default colours of planes and of all other walls, sRGB.
const COLOURS: [[u8; 3]; 2] = [[179, 179, 177], [170, 181, 193]];

/// Linear colour of each wall, and a code for its opacity; `MAX_WALLS` of them.
///
/// `drawn_as` in `shaders/render/wall.wgsl` reads the code:
///
/// - 0: the wall is not drawn.
/// - Between 0 and 1: the wall is glass of that opacity.
/// - 2: the wall is opaque from everywhere, since the scene gives it the opacity 1.
/// - 1: the scene gives no opacity. The wall is opaque from the sides that bodies touch, and faint glass from others.
/// - -1: the scene gives no opacity, and the wall is a vessel. It is drawn as with 1, but the part between its bodies and the
///   viewer is faint glass, too.
pub(super) fn wall_looks(
    walls: &[Wall],
    view: &SceneView,
    is_there: &[bool],
    is_vessel: &[bool],
) -> Vec<Vec4> {
    let look = |(index, wall): (usize, &Wall)| {
        let look = view.wall(index);
        let is_plane = matches!(wall.shape, Shape::Plane { .. });
        let opacity = match look.opacity {
            _ if !look.visible || !is_there[index] => 0.0,
            Some(1.0) => 2.0,
            Some(opacity) => opacity as f32,
            None if is_vessel[index] => -1.0,
            None => 1.0,
        };
        let [r, g, b] = look
            .colour
            .unwrap_or(COLOURS[usize::from(!is_plane)])
            .map(linear);
        Vec4::new(r, g, b, opacity)
    };
    let mut looks: Vec<Vec4> = walls.iter().enumerate().map(look).collect();
    looks.resize(MAX_WALLS, Vec4::ONE);
    looks
}

/// Least fraction of the box around the bodies that lies in the box of a vessel.
const HELD: f64 = 0.5;

/// Whether a wall is a vessel: its box holds more than half of the box `bodies` around the bulk of the bodies, m.
pub(super) fn holds(wall: Bounds, bodies: Bounds) -> bool {
    let common = wall.max.min(bodies.max) - wall.min.max(bodies.min);
    let whole = (bodies.max - bodies.min).max(DVec3::splat(1e-300));
    common.min_element() > 0.0 && (common / whole).element_product() > HELD
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

/// The triangles of all walls that are not planes.
///
/// Corners are relative to the anchors (m, in the frames of the walls), because the state has the positions of the anchors. A
/// wall without an end reaches a little beyond the bodies.
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

/// Sets the relative depth of wear of triangles from the volumes (m³) that the triangles of each wall have lost.
pub(super) fn wear(triangles: &mut [Triangle], walls: &[Wall], volumes: &[Vec<f64>]) {
    let depths: Vec<Vec<f64>> = walls
        .iter()
        .zip(volumes)
        .map(|(wall, volumes)| wall.depths_of_wear(volumes))
        .collect();
    let deepest = depths.iter().flatten().copied();
    let deepest = deepest.fold(f64::MIN_POSITIVE, f64::max);
    // The triangles of a wall stand together, in the order of its mesh.
    let mut next = vec![0; walls.len()];
    for triangle in triangles {
        let wall = triangle.wall as usize;
        if let Some(depth) = depths.get(wall).and_then(|depths| depths.get(next[wall])) {
            triangle.worn = (depth / deepest) as f32;
        }
        next[wall] += 1;
    }
}

/// Unit normals at the corners of triangles, smooth across round surfaces.
fn normals(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Vec<[DVec3; 3]> {
    // Vertices at the same place count as one, such as those at the pole of a sphere.
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
    use std::sync::Arc;

    use super::*;
    use crate::model::wall::Mesh;

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
    fn the_deepest_wear_is_all_red_and_other_walls_are_not_touched() {
        let mesh = |size: f64| {
            let corners = [
                DVec3::ZERO,
                size * DVec3::X,
                size * DVec3::Z,
                size * (DVec3::X + DVec3::Z),
            ];
            wall(Shape::Mesh(Arc::new(Mesh {
                vertices: corners.to_vec(),
                triangles: vec![[0, 2, 1], [1, 2, 3]],
            })))
        };
        let walls = [wall(Shape::Sphere { radius: 1.0 }), mesh(1.0), mesh(2.0)];
        let bounds = Bounds::of_ball(DVec3::ZERO, 1.0);
        let mut all = triangles(&walls, &[DVec3::ZERO; 3], bounds);
        let volumes = [vec![], vec![0.0, 1e-9], vec![2e-9, 8e-9]];
        wear(&mut all, &walls, &volumes);
        let worn = |wall: u32| -> Vec<f32> {
            let own = all.iter().filter(|triangle| triangle.wall == wall);
            own.map(|triangle| triangle.worn).collect()
        };
        // The same volume on four times the area is a quarter as deep.
        assert_eq!([worn(1), worn(2)], [vec![0.0, 0.5], vec![0.25, 1.0]]);
        assert!(worn(0).iter().all(|&worn| worn == 0.0));
    }

    #[test]
    fn edges_are_there_once_and_those_inside_a_face_are_not_sharp() {
        let size = DVec3::ONE;
        let bounds = Bounds::of_ball(DVec3::ZERO, 1.0);
        let cube = triangles(&[wall(Shape::Box { size })], &[DVec3::ZERO], bounds);
        let edges = edges(&cube);
        // Twelve edges and a diagonal of each face.
        let sharp = edges.iter().filter(|edge| edge.is_sharp == 1).count();
        assert_eq!((edges.len(), sharp), (18, 12));
        let open = super::edges(&cube[..1]);
        assert!(open.len() == 3 && open.iter().all(|edge| edge.is_sharp == 1));
        let round = wall(Shape::Sphere { radius: 1.0 });
        let round = triangles(&[round], &[DVec3::ZERO], bounds);
        let round = super::edges(&round);
        assert!(
            round.iter().all(|edge| edge.is_sharp == 0),
            "{}",
            round.len()
        );
    }

    #[test]
    fn what_is_said_of_a_wall_comes_before_what_is_found() {
        let walls = [(); 6].map(|()| wall(Shape::Box { size: DVec3::ONE }));
        let mut view = SceneView::default();
        view.walls.resize(6, Default::default());
        view.walls[0].visible = false;
        view.walls[1].opacity = Some(0.25);
        view.walls[2].opacity = Some(1.0);
        view.walls[2].colour = Some([255, 0, 0]);
        let is_there = [true, true, true, true, true, false];
        let is_vessel = [true, true, true, true, false, true];
        let looks = wall_looks(&walls, &view, &is_there, &is_vessel);
        let opacities: Vec<f32> = looks[..6].iter().map(|look| look.w).collect();
        assert_eq!(opacities, [0.0, 0.25, 2.0, -1.0, 1.0, 0.0]);
        assert_eq!(looks[2].truncate(), Vec3::X);
        assert_eq!(looks.len(), MAX_WALLS);
    }

    #[test]
    fn a_vessel_has_the_bodies_in_it() {
        let ball = |x: f64, radius| Bounds::of_ball(DVec3::X * x, radius);
        assert!(holds(ball(0.0, 2.0), ball(0.5, 1.0)));
        assert!(!holds(ball(0.0, 0.2), ball(0.0, 1.0)), "a shaft");
        assert!(!holds(ball(5.0, 2.0), ball(0.0, 1.0)), "beside");
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
