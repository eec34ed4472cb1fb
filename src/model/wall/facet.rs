//! Distances of points from the facets of walls; the twin of `shaders/shared/wall.wgsl`.
//!
//! All points and vectors are in the frame of the wall, in which its facets stand still.

use bytemuck::{Pod, Zeroable};
use glam::{IVec3, Vec2, Vec3};

use crate::math::wgsl::{shared_constants, shared_structs};

shared_constants! {
    /// `Facet::kind` of an infinite plane through the wall's anchor: `a` is its unit normal.
    pub const PLANE: u32 = 0;
    /// `Facet::kind` of a rectangle: `a` is its centre, `b` and `c` are unit vectors along its sides, `d.x` and `d.y` half the
    /// lengths of these sides. Its normal is `b` × `c`.
    pub const RECTANGLE: u32 = 1;
    /// `Facet::kind` of a triangle: `a` is a corner, `b` and `c` lead from there to the others, and `d` is its unit normal.
    pub const TRIANGLE: u32 = 2;
    /// `Facet::kind` of a line turned about y. It goes from the radius and height `a` to `b`, and its normal is to its right. If
    /// `d.x` is 1, the facet is an endless cylinder of the radius `a.x`.
    pub const REVOLVED: u32 = 3;
    /// `Facet::kind` of a sphere about the anchor: `a.x` is its radius.
    pub const BALL: u32 = 4;
    /// `Facet::kind` of a torus about y: `a.x` is the radius of its ring, `a.y` that of its tube.
    pub const TORUS: u32 = 5;
    /// `Facet::kind` of a sampled signed distance: `a` is the first corner of the grid, `b.x` its spacing, and `c` the number of
    /// samples along each side.
    pub const SAMPLED: u32 = 6;
    /// `Facet::side`: bodies touch both sides.
    pub const BOTH_SIDES: u32 = 0;
    /// `Facet::side`: bodies touch the side to which the normal points.
    pub const FRONT: u32 = 1;
    /// `Facet::side`: bodies touch the side away from the normal.
    pub const BACK: u32 = 2;
}

shared_structs! {
    /// A facet: a piece of a wall that is convex or smooth, in the frame of the wall. The meaning of its vectors depends on
    /// its kind.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct Facet {
        /// First vector; see [`PLANE`], [`RECTANGLE`] and so on.
        pub a: Vec3,
        /// [`PLANE`], [`RECTANGLE`], [`TRIANGLE`], [`REVOLVED`], [`BALL`], [`TORUS`] or [`SAMPLED`].
        pub kind: u32,
        /// Second vector.
        pub b: Vec3,
        /// Index of the wall.
        pub wall: u32,
        /// Third vector.
        pub c: Vec3,
        /// [`BOTH_SIDES`], [`FRONT`] or [`BACK`].
        pub side: u32,
        /// Fourth vector.
        pub d: Vec3,
        /// For a signed distance, the index of its first sample.
        pub first: u32,
    }
}

/// Position of a point relative to a facet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closest {
    /// Distance from the facet, m; negative behind a facet that bodies touch on one side only. [`FAR`] if the facet is not felt.
    pub distance: f32,
    /// Unit vector from the facet to the point; behind a facet that bodies touch on one side only, towards that side.
    pub normal: Vec3,
}

/// The distance of a facet that is not felt, because the point is on the side that bodies do not touch.
pub const FAR: f32 = 1e30;

impl Closest {
    /// Position relative to a facet that is not felt.
    pub const FAR: Closest = Closest {
        distance: FAR,
        normal: Vec3::Y,
    };

    /// The point of the facet that is nearest to `point`.
    #[inline]
    pub fn to(&self, point: Vec3) -> Vec3 {
        point - self.distance * self.normal
    }
}

/// Position of `point` relative to `facet`; `samples` are those of signed distances.
///
/// A facet that bodies touch on one side only is felt up to `depth` (m) behind it. A plane is felt at any depth.
#[inline(always)]
pub fn closest(facet: &Facet, samples: &[f32], point: Vec3, depth: f32) -> Closest {
    if facet.kind == PLANE {
        return plane(facet, point);
    }
    closest_of_end(facet, samples, point, depth)
}

/// Position of `point` relative to a plane.
#[inline(always)]
pub fn plane(facet: &Facet, point: Vec3) -> Closest {
    face(facet.a.dot(point), facet.a, facet.side, FAR)
}

/// Position of `point` relative to a facet that is not a plane.
fn closest_of_end(facet: &Facet, samples: &[f32], point: Vec3, depth: f32) -> Closest {
    match facet.kind {
        RECTANGLE => rectangle(facet, point, depth),
        TRIANGLE => triangle(facet, point, depth),
        REVOLVED => revolved(facet, point, depth),
        BALL => {
            let distance = point.length();
            let normal = unit(point, distance, Vec3::Y);
            face(distance - facet.a.x, normal, facet.side, depth)
        }
        TORUS => {
            let out = outwards(point);
            let from_ring = point - facet.a.x * out;
            let distance = from_ring.length();
            let normal = unit(from_ring, distance, out);
            face(distance - facet.a.y, normal, facet.side, depth)
        }
        SAMPLED => sampled(facet, samples, point, depth),
        kind => unreachable!("there is no kind of facet {kind}"),
    }
}

/// Distance of `point` from `facet`, m, as if bodies touched both sides of it.
///
/// Neighbour lists use it, because it changes by no more than the point moves. The distance of [`closest`] jumps where the point
/// comes round the rim of a facet that bodies touch on one side only. Planes are felt at any depth, so behind them the distance
/// is negative.
#[inline(always)]
pub fn distance(facet: &Facet, samples: &[f32], point: Vec3) -> f32 {
    if facet.kind == PLANE {
        return plane(facet, point).distance;
    }
    let either = Facet {
        side: BOTH_SIDES,
        ..*facet
    };
    closest_of_end(&either, samples, point, 0.0).distance
}

/// Position of a point at the height `height` (m) above the face of a facet with the normal `normal`.
#[inline(always)]
fn face(height: f32, normal: Vec3, side: u32, depth: f32) -> Closest {
    let turned = side == BACK || (side == BOTH_SIDES && height < 0.0);
    let sign = if turned { -1.0 } else { 1.0 };
    if sign * height < -depth {
        return Closest::FAR;
    }
    Closest {
        distance: sign * height,
        normal: sign * normal,
    }
}

/// Largest rounding error of a point in a wall's frame, relative to its coordinates.
pub const ROUNDING: f32 = 5e-7;

/// Square of the largest tangent at which the distance along the normal and the distance to the rim round to the same number.
const STEEP: f32 = 2e-7;

/// Position of a point that is nearest to the rim of a facet; `way` leads from the rim to the point.
///
/// If rounding may hide that the point is beside the facet, it counts as above the face. So at the edge between two facets in one
/// plane, which are equally near, the normal is that of the plane.
#[inline(always)]
fn rim(way: Vec3, normal: Vec3, side: u32, point: Vec3, depth: f32) -> Closest {
    let height = way.dot(normal);
    let beside = way - height * normal;
    let hidden = (STEEP * height * height).max(ROUNDING * ROUNDING * point.length_squared());
    if beside.length_squared() <= hidden {
        return face(height, normal, side, depth);
    }
    if (side == FRONT && height < 0.0) || (side == BACK && height > 0.0) {
        return Closest::FAR;
    }
    let distance = way.length();
    Closest {
        distance,
        normal: unit(way, distance, normal),
    }
}

/// The unit vector `way` over its `length`, or `other` if the length is 0.
#[inline(always)]
fn unit(way: Vec3, length: f32, other: Vec3) -> Vec3 {
    if length > 0.0 { way / length } else { other }
}

fn rectangle(facet: &Facet, point: Vec3, depth: f32) -> Closest {
    let normal = facet.b.cross(facet.c);
    let from_center = point - facet.a;
    let place = Vec2::new(from_center.dot(facet.b), from_center.dot(facet.c));
    let half = facet.d.truncate();
    let inside = place.clamp(-half, half);
    if inside == place {
        return face(from_center.dot(normal), normal, facet.side, depth);
    }
    let way = from_center - inside.x * facet.b - inside.y * facet.c;
    rim(way, normal, facet.side, point, depth)
}

/// Position relative to a triangle, by the region that the point is in (Ericson, Real-Time Collision Detection, 5.1.5).
fn triangle(facet: &Facet, point: Vec3, depth: f32) -> Closest {
    let Facet {
        a, b, c, d, side, ..
    } = *facet;
    let from_a = point - a;
    let (ab, ac) = (b.dot(from_a), c.dot(from_a));
    if ab <= 0.0 && ac <= 0.0 {
        return rim(from_a, d, side, point, depth);
    }
    let from_b = from_a - b;
    let (bb, bc) = (b.dot(from_b), c.dot(from_b));
    if bb >= 0.0 && bc <= bb {
        return rim(from_b, d, side, point, depth);
    }
    let in_c = ab * bc - bb * ac;
    if in_c <= 0.0 && ab >= 0.0 && bb <= 0.0 {
        return rim(from_a - ab / (ab - bb) * b, d, side, point, depth);
    }
    let from_c = from_a - c;
    let (cb, cc) = (b.dot(from_c), c.dot(from_c));
    if cc >= 0.0 && cb <= cc {
        return rim(from_c, d, side, point, depth);
    }
    let in_b = cb * ac - ab * cc;
    if in_b <= 0.0 && ac >= 0.0 && cc <= 0.0 {
        return rim(from_a - ac / (ac - cc) * c, d, side, point, depth);
    }
    let in_a = bb * cc - cb * bc;
    if in_a <= 0.0 && bc >= bb && cb >= cc {
        let part = (bc - bb) / ((bc - bb) + (cb - cc));
        return rim(from_b - part * (c - b), d, side, point, depth);
    }
    face(from_a.dot(d), d, side, depth)
}

/// Unit vector from the y axis to a point.
#[inline(always)]
fn outwards(point: Vec3) -> Vec3 {
    let across = Vec3::new(point.x, 0.0, point.z);
    unit(across, across.length(), Vec3::X)
}

fn revolved(facet: &Facet, point: Vec3, depth: f32) -> Closest {
    let out = outwards(point);
    let place = Vec2::new(point.dot(out), point.y);
    let turned = |way: Vec2| way.x * out + Vec3::new(0.0, way.y, 0.0);
    if facet.d.x == 1.0 {
        return face(place.x - facet.a.x, out, facet.side, depth);
    }
    let start = facet.a.truncate();
    let along = facet.b.truncate() - start;
    let length = along.length();
    let normal = Vec2::new(along.y, -along.x) / length;
    let from_start = place - start;
    let part = from_start.dot(along) / (length * length);
    if (0.0..=1.0).contains(&part) {
        let height = from_start.dot(normal);
        return face(height, turned(normal), facet.side, depth);
    }
    let way = from_start - part.clamp(0.0, 1.0) * along;
    rim(turned(way), turned(normal), facet.side, point, depth)
}

/// Position relative to a sampled surface: trilinear between the samples.
///
/// Beyond the grid, the distance to the grid is added to the sample at its border.
fn sampled(facet: &Facet, samples: &[f32], point: Vec3, depth: f32) -> Closest {
    let spacing = facet.b.x;
    let count = facet.c.as_ivec3();
    let place = (point - facet.a) / spacing;
    let inside = place.clamp(Vec3::ZERO, (count - 1).as_vec3());
    let cell = inside.as_ivec3().min(count - 2).max(IVec3::ZERO);
    let t = inside - cell.as_vec3();
    let first = facet.first as i32;
    let sample = |x: i32, y: i32, z: i32| {
        let at = cell + IVec3::new(x, y, z);
        samples[(first + at.x + count.x * (at.y + count.y * at.z)) as usize]
    };
    let mix = |a: f32, b: f32, t: f32| a + t * (b - a);
    let [s000, s100, s010, s110] = [
        sample(0, 0, 0),
        sample(1, 0, 0),
        sample(0, 1, 0),
        sample(1, 1, 0),
    ];
    let [s001, s101, s011, s111] = [
        sample(0, 0, 1),
        sample(1, 0, 1),
        sample(0, 1, 1),
        sample(1, 1, 1),
    ];
    let [x00, x10] = [mix(s000, s100, t.x), mix(s010, s110, t.x)];
    let [x01, x11] = [mix(s001, s101, t.x), mix(s011, s111, t.x)];
    let [xy0, xy1] = [mix(x00, x10, t.y), mix(x01, x11, t.y)];
    let value = mix(xy0, xy1, t.z);
    let slope = Vec3::new(
        mix(
            mix(s100 - s000, s110 - s010, t.y),
            mix(s101 - s001, s111 - s011, t.y),
            t.z,
        ),
        mix(x10 - x00, x11 - x01, t.z),
        xy1 - xy0,
    );
    let normal = unit(slope, slope.length(), Vec3::Y);
    let beyond = spacing * (place - inside).length();
    face(value + beyond, normal, facet.side, depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f32, b: f32) -> bool {
        (a - b).abs() < 1e-6
    }

    const FLAT: Facet = Facet {
        a: Vec3::ZERO,
        kind: TRIANGLE,
        b: Vec3::new(0.0, 0.0, 1.0),
        wall: 0,
        c: Vec3::new(1.0, 0.0, 0.0),
        side: BOTH_SIDES,
        d: Vec3::Y,
        first: 0,
    };

    #[test]
    fn a_triangle_is_nearest_at_its_face_its_edges_and_its_corners() {
        for (point, nearest) in [
            ([0.2, 0.5, 0.3], [0.2, 0.0, 0.3]),
            ([0.2, -0.5, 0.3], [0.2, 0.0, 0.3]),
            ([-1.0, 1.0, -2.0], [0.0, 0.0, 0.0]),
            ([-1.0, 1.0, 2.0], [0.0, 0.0, 1.0]),
            ([3.0, 1.0, 0.5], [1.0, 0.0, 0.0]),
            ([0.3, 1.0, -1.0], [0.3, 0.0, 0.0]),
            ([-2.0, 1.0, 0.6], [0.0, 0.0, 0.6]),
            ([1.0, 0.4, 1.0], [0.5, 0.0, 0.5]),
        ] {
            let (point, nearest) = (Vec3::from(point), Vec3::from(nearest));
            let found = closest(&FLAT, &[], point, 1.0);
            assert!((found.to(point) - nearest).length() < 1e-6, "{point}");
            assert!(near(found.distance, point.distance(nearest)), "{point}");
        }
    }

    #[test]
    fn a_side_is_felt_from_there_and_a_little_behind() {
        let at = |side, height| {
            closest(
                &Facet { side, ..FLAT },
                &[],
                Vec3::new(0.2, height, 0.2),
                0.5,
            )
        };
        assert!(near(at(BOTH_SIDES, -0.4).distance, 0.4));
        assert_eq!(at(BOTH_SIDES, -0.4).normal, Vec3::NEG_Y);
        assert!(near(at(FRONT, -0.4).distance, -0.4));
        assert_eq!(at(FRONT, -0.4).normal, Vec3::Y);
        assert_eq!(at(FRONT, -0.6).distance, FAR);
        assert!(near(at(BACK, -0.4).distance, 0.4));
        assert_eq!(at(BACK, 0.6).distance, FAR);
        let beside = Vec3::new(-1.0, -0.1, 0.2);
        assert_eq!(
            closest(
                &Facet {
                    side: FRONT,
                    ..FLAT
                },
                &[],
                beside,
                9.0
            )
            .distance,
            FAR
        );
    }

    #[test]
    fn round_a_rim_the_distance_changes_by_little() {
        for side in [BOTH_SIDES, FRONT, BACK] {
            let facet = Facet { side, ..FLAT };
            // The point goes from the front to the back, once beside the triangle and once through it.
            for x in [-0.3, 0.2] {
                let heights = (-50..50).map(|k| 0.01 * k as f32);
                let distances = heights.map(|y| distance(&facet, &[], Vec3::new(x, y, 0.2)));
                let distances: Vec<f32> = distances.collect();
                let leaps = distances.windows(2).map(|pair| (pair[1] - pair[0]).abs());
                assert!(leaps.fold(0.0, f32::max) < 0.0101, "{side}, {x}");
            }
        }
    }

    #[test]
    fn turned_lines_are_cylinders_discs_and_cones() {
        let line = |a: [f32; 2], b: [f32; 2]| Facet {
            kind: REVOLVED,
            a: Vec2::from(a).extend(0.0),
            b: Vec2::from(b).extend(0.0),
            side: FRONT,
            ..Facet::default()
        };
        let cylinder = line([1.0, -2.0], [1.0, 2.0]);
        let found = closest(&cylinder, &[], Vec3::new(0.0, 1.0, -1.5), 1.0);
        assert!(near(found.distance, 0.5) && (found.normal - Vec3::NEG_Z).length() < 1e-6);
        let above = closest(&cylinder, &[], Vec3::new(1.3, 2.4, 0.0), 1.0);
        assert!(near(above.distance, 0.5));
        let disc = line([1.0, 0.0], [0.0, 0.0]);
        let found = closest(&disc, &[], Vec3::new(0.0, 0.3, 0.0), 1.0);
        assert!(near(found.distance, 0.3) && found.normal == Vec3::Y);
        let cone = line([1.0, 0.0], [0.0, 1.0]);
        let found = closest(&cone, &[], Vec3::new(1.0, 1.0, 0.0), 1.0);
        assert!(near(found.distance, 0.5_f32.sqrt()));
    }
}
