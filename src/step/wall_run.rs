//! The facets of one wall in the list of a sphere, and which of them it touches; the twin of functions of
//! the same names in `shaders/walls.wgsl`.

use glam::Vec3;

use super::geometry::ContactGeometry;
use crate::math::rotation::Quaternion;
use crate::model::wall::facet::{Closest, ROUNDING, closest};
use crate::state::State;
use crate::state::grid::{from_wall, wall_margin};
use crate::state::layout::{BOTH_SIDES, Facet, Pair, Params, Sphere, WALL, Wall};
use crate::step::contact::{Contact, Touch};

/// Points of two facets that are as near to each other as this part of a radius are one.
const SAME_POINT: f32 = 1e-3;
/// Contacts whose normals have a larger cosine between them than this, that of 15 degrees, are one.
const SAME_WAY: f32 = 0.966;
/// A point lies on a facet that is as near as this part of a radius.
const ON_FACET: f32 = 1e-4;

/// The facets of one wall in the list of a sphere.
pub(crate) struct WallRun<'a> {
    /// Their entries in the list.
    pub entries: &'a [u32],
    /// The wall.
    pub wall: &'a Wall,
    /// Index of the wall.
    pub index: usize,
    params: &'a Params,
    facets: &'a [Facet],
    samples: &'a [f32],
    sphere: &'a Sphere,
    orientation: Quaternion,
    /// From the wall's anchor to the centre of the sphere, m.
    from_anchor: Vec3,
    /// The point in the frame of the wall, m.
    place: Vec3,
    /// Largest rounding error of a point, m.
    rounding: f32,
}

/// The part of a neighbour list that has walls: they come last.
#[inline(always)]
pub(crate) fn walls_of(list: &[u32]) -> &[u32] {
    let walls = list.iter().rev().take_while(|&other| other & WALL != 0);
    &list[list.len() - walls.count()..]
}

/// The runs of the facets of one wall each, of a part of the list of `sphere` that has facets only.
pub(crate) fn runs<'a>(
    state: &'a State,
    sphere: &'a Sphere,
    entries: &'a [u32],
) -> impl Iterator<Item = WallRun<'a>> {
    let facets = state.facets();
    let wall = move |entry: u32| facets[(entry & !WALL) as usize].wall;
    entries
        .chunk_by(move |&a, &b| wall(a) == wall(b))
        .map(move |entries| WallRun::new(state, sphere, entries, wall(entries[0]) as usize))
}

impl<'a> WallRun<'a> {
    #[inline(always)]
    fn new(state: &'a State, sphere: &'a Sphere, entries: &'a [u32], index: usize) -> WallRun<'a> {
        let wall = &state.walls[index];
        let orientation = orientation_of(wall);
        let from_anchor = from_wall(sphere, wall, &state.params);
        WallRun {
            entries,
            wall,
            index,
            params: &state.params,
            facets: state.facets(),
            samples: state.samples(),
            sphere,
            orientation,
            from_anchor,
            place: orientation.conjugate().rotate(from_anchor),
            rounding: ROUNDING * from_anchor.length(),
        }
    }

    /// Returns the position of the sphere relative to the facet at `at`.
    #[inline(always)]
    pub fn closest(&self, at: usize) -> Closest {
        let facet = &self.facets[(self.entries[at] & !WALL) as usize];
        closest(facet, self.samples, self.place, self.sphere.radius)
    }

    /// The point, in the frame of the wall, that `closest` is about.
    pub fn point(&self, closest: &Closest) -> Vec3 {
        closest.to(self.place)
    }

    /// Returns the position of the sphere relative to the facet at `at`, if it may touch it there.
    ///
    /// A surface is touched where its distance is smallest: nowhere around is it nearer. A facet is convex, so if
    /// the point in question lies on another facet that is nearer elsewhere, the distance shrinks on the
    /// way there, and it is none. A point that two facets share, at an edge or a corner, counts once. And so
    /// does the inside of a bowl of many facets, to which a sphere is about as near in many places.
    #[inline(always)]
    pub fn touched(&self, at: usize) -> Option<Closest> {
        let own = self.closest(at);
        let radius = self.sphere.radius;
        if own.distance >= radius + wall_margin(self.sphere, self.params) {
            return None;
        }
        let point = own.to(self.place);
        for (other, &entry) in self.entries.iter().enumerate() {
            if other == at {
                continue;
            }
            let found = self.closest(other);
            let nearer =
                found.distance < own.distance || (found.distance == own.distance && other < at);
            if !nearer {
                continue;
            }
            if found.normal.dot(own.normal) > SAME_WAY {
                return None;
            }
            if found.to(self.place).distance(point) <= SAME_POINT * radius + self.rounding {
                return None;
            }
            let facet = Facet {
                side: BOTH_SIDES,
                ..self.facets[(entry & !WALL) as usize]
            };
            let off = closest(&facet, self.samples, point, radius).distance;
            if off <= ON_FACET * radius + self.rounding {
                return None;
            }
        }
        Some(own)
    }

    /// Index of the element of the pair table of the contact.
    #[inline(always)]
    pub fn element(&self) -> u32 {
        self.sphere.material() * self.params.material_count + self.wall.material
    }

    /// Element of the pair table of the contact.
    pub fn pair(&self, state: &State) -> Pair {
        state.pairs[self.element() as usize].against(true)
    }

    /// The contact with a facet.
    pub fn geometry(&self, closest: &Closest) -> ContactGeometry {
        let Self {
            sphere,
            wall,
            from_anchor,
            orientation,
            ..
        } = *self;
        Approach::new(sphere, wall, from_anchor, orientation, closest)
            .geometry(self.params.time_step)
    }

    /// From the wall's anchor to a contact at the end of `arm`, m.
    pub fn lever(&self, arm: &Vec3) -> Vec3 {
        self.from_anchor + *arm
    }
}

/// A sphere near a facet of a wall: what their contact depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Approach {
    /// From the facet, m.
    pub distance: f32,
    /// Unit vector from the facet to the centre of the sphere, in the frame of the wall.
    pub normal: Vec3,
    /// Radius of the sphere, m.
    pub radius: f32,
    /// Velocity of its centre, m/s.
    pub velocity: Vec3,
    /// Angular velocity of the sphere, rad/s.
    pub spin: Vec3,
    /// Sum of those of the body and the wall, 1/kg.
    pub inverse_mass: f32,
    /// From the wall's anchor to the centre, m.
    pub from_anchor: Vec3,
    /// World from wall frame.
    pub orientation: Quaternion,
    /// Velocity of the surface in the frame of the wall, as that of a belt, m/s.
    pub belt: Vec3,
    /// Velocity of the wall's anchor, m/s.
    pub wall_velocity: Vec3,
    /// Angular velocity of the wall, rad/s.
    pub wall_spin: Vec3,
}

impl Approach {
    /// Makes the approach of `sphere`, the centre of which is at `from_anchor` of the wall, m.
    #[inline(always)]
    pub fn new(
        sphere: &Sphere,
        wall: &Wall,
        from_anchor: Vec3,
        orientation: Quaternion,
        closest: &Closest,
    ) -> Approach {
        Approach {
            distance: closest.distance,
            normal: closest.normal,
            radius: sphere.radius,
            velocity: sphere.velocity,
            spin: sphere.angular_velocity,
            inverse_mass: sphere.inverse_mass + wall.inverse_mass,
            from_anchor,
            orientation,
            belt: wall.belt,
            wall_velocity: wall.velocity,
            wall_spin: wall.angular_velocity,
        }
    }

    /// The contact of the two.
    #[inline(always)]
    pub fn geometry(&self, time_step: f32) -> ContactGeometry {
        let Approach {
            radius,
            spin,
            wall_spin,
            ..
        } = *self;
        let overlap = radius - self.distance;
        let normal = -self.orientation.rotate(self.normal);
        // The arm is the radius of the undeformed sphere, so that one that rolls without sliding has the
        // speed of its angular velocity times its radius.
        let arm = radius * normal;
        let belt = self.orientation.rotate(self.belt);
        let surface = self.wall_velocity
            + wall_spin.cross(self.lever(arm))
            + (belt - belt.dot(normal) * normal);
        let relative_velocity = surface - self.velocity - spin.cross(arm);
        ContactGeometry {
            contact: Contact {
                overlap,
                touch: Touch::new(overlap, relative_velocity.dot(normal), time_step),
                normal,
                relative_velocity,
                relative_spin: wall_spin - spin,
                common_twist: wall_spin.dot(normal),
                radius,
                inverse_mass: self.inverse_mass,
                time_step,
            },
            arm,
            radius,
        }
    }

    /// From the wall's anchor to a contact at the end of `arm`, m.
    #[inline(always)]
    pub fn lever(&self, arm: Vec3) -> Vec3 {
        self.from_anchor + arm
    }
}

/// World from wall frame.
#[inline(always)]
pub(crate) fn orientation_of(wall: &Wall) -> Quaternion {
    Quaternion {
        xyz: wall.orientation.truncate(),
        w: wall.orientation.w,
    }
}
