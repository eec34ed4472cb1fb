//! The facets of one wall in the list of a sphere, and which of them it touches; the twin of functions of
//! the same names in `shaders/walls.wgsl`.

use glam::Vec3;

use super::near::Near;
use crate::contact::{Contact, Touch};
use crate::grid::from_wall;
use crate::layout::{BOTH_SIDES, Facet, Pair, Params, Sphere, WALL, Wall};
use crate::rotation::Quaternion;
use crate::state::State;
use crate::wall::facet::{Closest, ROUNDING, closest};

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
    /// The same in the frame of the wall.
    place: Vec3,
    /// What rounding may do to a point, m.
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

    /// How the sphere lies to the facet at `at`.
    pub fn closest(&self, at: usize) -> Closest {
        let facet = &self.facets[(self.entries[at] & !WALL) as usize];
        closest(facet, self.samples, self.place, self.sphere.radius)
    }

    /// The point, in the frame of the wall, that `closest` is about.
    pub fn point(&self, closest: &Closest) -> Vec3 {
        closest.to(self.place)
    }

    /// How the sphere lies to the facet at `at`, if it may touch it there.
    ///
    /// A surface is touched where its distance is smallest: nowhere around is it nearer. A facet is convex, so if
    /// the point in question lies on another facet that is nearer elsewhere, the distance shrinks on the
    /// way there, and it is none. A point that two facets share, at an edge or a corner, counts once. And so
    /// does the inside of a bowl of many facets, to which a sphere is about as near in many places.
    pub fn touched(&self, at: usize) -> Option<Closest> {
        let own = self.closest(at);
        let radius = self.sphere.radius;
        if own.distance >= radius + self.params.touch_margin {
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

    /// Element of the pair table of the contact.
    pub fn pair(&self, state: &State) -> Pair {
        let element = self.sphere.material() * self.params.material_count + self.wall.material;
        state.pairs[element as usize].against(true)
    }

    /// The contact with a facet.
    pub fn near(&self, closest: &Closest) -> Near {
        let Sphere {
            radius,
            velocity,
            angular_velocity,
            ..
        } = *self.sphere;
        let overlap = radius - closest.distance;
        let normal = -self.orientation.rotate(closest.normal);
        // The arm is the radius of the undeformed sphere, so that one that rolls without slip has the
        // speed of its angular velocity times its radius.
        let arm = radius * normal;
        let belt = self.orientation.rotate(self.wall.belt);
        let surface = self.wall.velocity
            + self.wall.angular_velocity.cross(self.lever(&arm))
            + (belt - belt.dot(normal) * normal);
        let relative_velocity = surface - velocity - angular_velocity.cross(arm);
        Near {
            contact: Contact {
                overlap,
                touch: Touch::new(
                    overlap,
                    relative_velocity.dot(normal),
                    self.params.time_step,
                ),
                normal,
                relative_velocity,
                relative_spin: self.wall.angular_velocity - angular_velocity,
                common_twist: self.wall.angular_velocity.dot(normal),
                radius,
                inverse_mass: self.sphere.inverse_mass + self.wall.inverse_mass,
                time_step: self.params.time_step,
            },
            arm,
            radius,
        }
    }

    /// From the wall's anchor to a contact at the end of `arm`, m.
    pub fn lever(&self, arm: &Vec3) -> Vec3 {
        self.from_anchor + *arm
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
