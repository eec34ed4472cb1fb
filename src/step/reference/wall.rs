//! Nearest points of facets, in the frame of the wall, and the choice of those that a sphere touches; the
//! twin of `shaders/shared/wall.wgsl` and of the first part of `shaders/walls.wgsl`.

use glam::IVec3;

use super::contact::{Contact, touch_of};
use super::grid::{from_wall, wall_margin};
use super::real::Real;
use super::state::{Facet, Sphere, State, Wall};
use super::vector::Vector;
use crate::state::layout::{
    BACK, BALL, BOTH_SIDES, FRONT, PLANE, RECTANGLE, REVOLVED, TORUS, TRIANGLE, WALL,
};

/// Position of a point relative to a facet.
#[derive(Clone, Copy, Debug)]
pub struct Closest<R> {
    /// m; negative behind a facet that has a front.
    pub distance: R,
    /// Unit vector from the facet to the point; behind a facet that has a front, to the front.
    pub normal: Vector<R>,
}

/// The distance of a facet that is not felt.
pub const FAR: f64 = 1e30;

impl<R: Real> Closest<R> {
    fn far() -> Closest<R> {
        Closest {
            distance: R::of(FAR),
            normal: Vector::Y,
        }
    }

    /// The point of the facet that is nearest.
    pub fn to(&self, point: Vector<R>) -> Vector<R> {
        point - self.normal * self.distance
    }
}

/// Facets with a front, but for planes, hold what has come no farther behind them than `depth`, m.
pub fn closest<R: Real>(facet: &Facet<R>, samples: &[R], point: Vector<R>, depth: R) -> Closest<R> {
    match facet.kind {
        PLANE => face(facet.a.dot(point), facet.a, facet.side, R::of(FAR)),
        RECTANGLE => rectangle(facet, point, depth),
        TRIANGLE => triangle(facet, point, depth),
        REVOLVED => revolved(facet, point, depth),
        BALL => {
            let distance = point.length();
            let normal = unit(point, distance, Vector::Y);
            face(distance - facet.a.x, normal, facet.side, depth)
        }
        TORUS => {
            let out = outwards(point);
            let from_ring = point - out * facet.a.x;
            let distance = from_ring.length();
            let normal = unit(from_ring, distance, out);
            face(distance - facet.a.y, normal, facet.side, depth)
        }
        _ => sampled(facet, samples, point, depth),
    }
}

/// Distance of a point from a facet, from whichever side that is felt.
pub fn distance_from<R: Real>(facet: &Facet<R>, samples: &[R], point: Vector<R>) -> R {
    let mut either = *facet;
    if facet.kind != PLANE {
        either.side = BOTH_SIDES;
    }
    closest(&either, samples, point, R::ZERO).distance
}

/// A point above the inside of a facet.
fn face<R: Real>(height: R, normal: Vector<R>, side: u32, depth: R) -> Closest<R> {
    let turned = side == BACK || (side == BOTH_SIDES && height < R::ZERO);
    let sign = R::of(if turned { -1.0 } else { 1.0 });
    if sign * height < -depth {
        return Closest::far();
    }
    Closest {
        distance: sign * height,
        normal: normal * sign,
    }
}

/// Bound of the rounding of a point in a wall's frame, as a part of its coordinates. The facets are rounded, whatever
/// the precision of the rest.
const ROUNDING: f64 = 5e-7;

/// The square of a tangent so small that a distance along the normal and one that is a little beside it round to
/// the same number.
const STEEP: f64 = 2e-7;

/// A point that is nearest to the rim of a facet: `way` is from there to the point.
fn rim<R: Real>(
    way: Vector<R>,
    normal: Vector<R>,
    side: u32,
    point: Vector<R>,
    depth: R,
) -> Closest<R> {
    let height = way.dot(normal);
    let beside = way - normal * height;
    let rounding = R::of(ROUNDING) * R::of(ROUNDING) * point.square();
    let hidden = (R::of(STEEP) * height * height).max(rounding);
    if beside.square() <= hidden {
        return face(height, normal, side, depth);
    }
    if (side == FRONT && height < R::ZERO) || (side == BACK && height > R::ZERO) {
        return Closest::far();
    }
    let distance = way.length();
    Closest {
        distance,
        normal: unit(way, distance, normal),
    }
}

fn unit<R: Real>(way: Vector<R>, length: R, other: Vector<R>) -> Vector<R> {
    if length > R::ZERO {
        way / length
    } else {
        other
    }
}

fn rectangle<R: Real>(facet: &Facet<R>, point: Vector<R>, depth: R) -> Closest<R> {
    let normal = facet.b.cross(facet.c);
    let from_center = point - facet.a;
    let [x, y] = [from_center.dot(facet.b), from_center.dot(facet.c)];
    let [inside_x, inside_y] = [
        x.clamp(-facet.d.x, facet.d.x),
        y.clamp(-facet.d.y, facet.d.y),
    ];
    if [inside_x, inside_y] == [x, y] {
        return face(from_center.dot(normal), normal, facet.side, depth);
    }
    let way = from_center - facet.b * inside_x - facet.c * inside_y;
    rim(way, normal, facet.side, point, depth)
}

fn triangle<R: Real>(facet: &Facet<R>, point: Vector<R>, depth: R) -> Closest<R> {
    let Facet {
        a, b, c, d, side, ..
    } = *facet;
    let zero = R::ZERO;
    let from_a = point - a;
    let (ab, ac) = (b.dot(from_a), c.dot(from_a));
    if ab <= zero && ac <= zero {
        return rim(from_a, d, side, point, depth);
    }
    let from_b = from_a - b;
    let (bb, bc) = (b.dot(from_b), c.dot(from_b));
    if bb >= zero && bc <= bb {
        return rim(from_b, d, side, point, depth);
    }
    if ab * bc - bb * ac <= zero && ab >= zero && bb <= zero {
        return rim(from_a - b * (ab / (ab - bb)), d, side, point, depth);
    }
    let from_c = from_a - c;
    let (cb, cc) = (b.dot(from_c), c.dot(from_c));
    if cc >= zero && cb <= cc {
        return rim(from_c, d, side, point, depth);
    }
    if cb * ac - ab * cc <= zero && ac >= zero && cc <= zero {
        return rim(from_a - c * (ac / (ac - cc)), d, side, point, depth);
    }
    if bb * cc - cb * bc <= zero && bc >= bb && cb >= cc {
        let part = (bc - bb) / ((bc - bb) + (cb - cc));
        return rim(from_b - (c - b) * part, d, side, point, depth);
    }
    face(from_a.dot(d), d, side, depth)
}

/// Unit vector from the y axis to a point.
fn outwards<R: Real>(point: Vector<R>) -> Vector<R> {
    let across = Vector::new(point.x, R::ZERO, point.z);
    unit(across, across.length(), Vector::X)
}

fn revolved<R: Real>(facet: &Facet<R>, point: Vector<R>, depth: R) -> Closest<R> {
    let out = outwards(point);
    // Vectors of the half plane through the axis and the point.
    let flat = |x: R, y: R| Vector::new(x, y, R::ZERO);
    let turned = |way: Vector<R>| out * way.x + Vector::new(R::ZERO, way.y, R::ZERO);
    let place = flat(point.dot(out), point.y);
    if facet.d.x == R::ONE {
        return face(place.x - facet.a.x, out, facet.side, depth);
    }
    let start = flat(facet.a.x, facet.a.y);
    let along = flat(facet.b.x, facet.b.y) - start;
    let length = along.length();
    let normal = flat(along.y, -along.x) / length;
    let from_start = place - start;
    let part = from_start.dot(along) / (length * length);
    if part >= R::ZERO && part <= R::ONE {
        return face(from_start.dot(normal), turned(normal), facet.side, depth);
    }
    let way = from_start - along * part.clamp(R::ZERO, R::ONE);
    rim(turned(way), turned(normal), facet.side, point, depth)
}

/// Trilinear between the samples, and beyond the grid those of its border and the way to it.
fn sampled<R: Real>(facet: &Facet<R>, samples: &[R], point: Vector<R>, depth: R) -> Closest<R> {
    let spacing = facet.b.x;
    let count = facet.c.integers();
    let place = (point - facet.a) / spacing;
    let inside = place.clamp(Vector::ZERO, Vector::of_cells(count - 1));
    let cell = inside.floor().integers().min(count - 2).max(IVec3::ZERO);
    let t = inside - Vector::of_cells(cell);
    let first = facet.first as i32;
    let s: [R; 8] = std::array::from_fn(|k| {
        let at = cell + IVec3::new(k as i32 & 1, k as i32 >> 1 & 1, k as i32 >> 2);
        samples[(first + at.x + count.x * (at.y + count.y * at.z)) as usize]
    });
    let mixed = |a: R, b: R, t: R| a + t * (b - a);
    let x: [R; 4] = std::array::from_fn(|k| mixed(s[2 * k], s[2 * k + 1], t.x));
    let y = [mixed(x[0], x[1], t.y), mixed(x[2], x[3], t.y)];
    let slope = Vector::new(
        mixed(
            mixed(s[1] - s[0], s[3] - s[2], t.y),
            mixed(s[5] - s[4], s[7] - s[6], t.y),
            t.z,
        ),
        mixed(x[1] - x[0], x[3] - x[2], t.z),
        y[1] - y[0],
    );
    let normal = unit(slope, slope.length(), Vector::Y);
    let beyond = spacing * (place - inside).length();
    face(mixed(y[0], y[1], t.z) + beyond, normal, facet.side, depth)
}

/// Points of two facets that are as near to each other as this part of a radius are one.
const SAME_POINT: f64 = 1e-3;
/// Contacts whose normals have a larger cosine between them than this, that of 15 degrees, are one.
const SAME_WAY: f64 = 0.966;
/// A point lies on a facet that is as near as this part of a radius.
const ON_FACET: f64 = 1e-4;

/// The facets of one wall in the list of a sphere.
pub struct Run<'a, R: Real> {
    state: &'a State<R>,
    sphere: &'a Sphere<R>,
    /// Their entries in the list.
    entries: &'a [u32],
    /// Index of the wall.
    pub index: usize,
    pub wall: &'a Wall<R>,
    /// From the wall's anchor to the centre of the sphere, m.
    pub from_anchor: Vector<R>,
    /// The point in the frame of the wall, m.
    pub place: Vector<R>,
    /// Largest rounding error of a point, m.
    rounding: R,
}

/// The run that a list of facets starts with.
pub fn run_at<'a, R: Real>(
    state: &'a State<R>,
    sphere: &'a Sphere<R>,
    list: &'a [u32],
) -> Run<'a, R> {
    let wall_of = |entry: u32| state.facets[(entry & !WALL) as usize].wall;
    let index = wall_of(list[0]);
    let others = list.iter().position(|&entry| wall_of(entry) != index);
    let wall = &state.walls[index as usize];
    let from_anchor = from_wall(sphere, wall, &state.params);
    Run {
        state,
        sphere,
        entries: &list[..others.unwrap_or(list.len())],
        index: index as usize,
        wall,
        from_anchor,
        place: wall.orientation.conjugate().rotate(from_anchor),
        rounding: R::of(ROUNDING) * from_anchor.length(),
    }
}

impl<R: Real> Run<'_, R> {
    /// Number of facets.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    fn facet(&self, at: usize) -> &Facet<R> {
        &self.state.facets[(self.entries[at] & !WALL) as usize]
    }

    /// Returns the position of the sphere relative to the facet at `at`.
    pub fn closest(&self, at: usize) -> Closest<R> {
        let radius = self.sphere.radius;
        closest(self.facet(at), &self.state.samples, self.place, radius)
    }

    /// The closest point, if the sphere may touch it there; [`crate::step::wall_run`] says why.
    pub fn touched(&self, at: usize) -> Option<Closest<R>> {
        let own = self.closest(at);
        let radius = self.sphere.radius;
        if own.distance >= radius + wall_margin(self.sphere, &self.state.params) {
            return None;
        }
        let point = own.to(self.place);
        for other in (0..self.len()).filter(|&other| other != at) {
            let found = self.closest(other);
            let nearer =
                found.distance < own.distance || (found.distance == own.distance && other < at);
            if !nearer {
                continue;
            }
            if found.normal.dot(own.normal) > R::of(SAME_WAY) {
                return None;
            }
            let between = found.to(self.place).distance(point);
            if between <= R::of(SAME_POINT) * radius + self.rounding {
                return None;
            }
            let mut facet = *self.facet(other);
            facet.side = BOTH_SIDES;
            let off = closest(&facet, &self.state.samples, point, radius).distance;
            if off <= R::of(ON_FACET) * radius + self.rounding {
                return None;
            }
        }
        Some(own)
    }

    /// The contact with a facet.
    pub fn contact(&self, closest: &Closest<R>) -> Contact<R> {
        let Run { sphere, wall, .. } = self;
        let time_step = self.state.params.time_step;
        let overlap = sphere.radius - closest.distance;
        let normal = -wall.orientation.rotate(closest.normal);
        // The radius of the undeformed sphere, so that rolling is exact.
        let arm = normal * sphere.radius;
        let belt = wall.orientation.rotate(wall.belt);
        let surface = wall.velocity
            + wall.angular_velocity.cross(self.from_anchor + arm)
            + (belt - normal * belt.dot(normal));
        let relative_velocity = surface - sphere.velocity - sphere.angular_velocity.cross(arm);
        Contact {
            overlap,
            touch: touch_of(overlap, relative_velocity.dot(normal), time_step),
            normal,
            relative_velocity,
            relative_spin: wall.angular_velocity - sphere.angular_velocity,
            common_twist: wall.angular_velocity.dot(normal),
            radius: sphere.radius,
            inverse_mass: sphere.inverse_mass + wall.inverse_mass,
            time_step,
        }
    }
}
