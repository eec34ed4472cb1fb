//! Bonds: elastic rods that hold spheres of different bodies together until they break.
//!
//! A bond is the parallel bond of Potyondy and Cundall (A bonded-particle model for rock, International Journal of Rock
//! Mechanics and Mining Sciences 41, 2004): a rod with a round cross-section between the centres of two spheres. It resists
//! stretching, shearing, twisting and bending, and breaks when the stress at its edge exceeds a strength. It acts beside the
//! contact of the two spheres, not in its place. A broken bond may heal, once the spheres have been near each other for long enough.

use std::f64::consts::PI;
use std::ops::ControlFlow;

use glam::{DQuat, DVec3, IVec3};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::bonds::{Bonds, Link};
use super::clump::Clump;
use super::packing::overlap::SphereGrid;
use super::{Bodies, Domain, ModelBody, nearest_image};

/// Default of the largest gap that is bonded, as a fraction of the smaller radius.
///
/// It is not 0, because rounding may leave a gap between spheres that were made to touch.
pub const GAP: f64 = 0.01;

/// Healing of broken bonds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Healing {
    /// Largest gap between the surfaces of the two spheres at which they grow together, m.
    pub distance: f64,
    /// Time for which the gap has to be no larger, without interruption, s.
    pub time: f64,
}

/// Law of bonds: which spheres are bonded, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct BondLaw {
    /// Indices of the materials of the two spheres, in any order.
    pub materials: [usize; 2],
    /// Indices of the groups of their bodies, in any order; `None` for bodies of all groups.
    pub groups: Option<[usize; 2]>,
    /// Largest gap between the two surfaces, m; with `None` it is [`GAP`] times the smaller radius.
    pub gap: Option<f64>,
    /// Radius of the rod over the smaller radius of the two spheres.
    pub radius_factor: f64,
    /// Young's modulus E, Pa: the normal stiffness is E A/L.
    pub young_modulus: f64,
    /// Shear modulus G, Pa: the shear stiffness is G A/L.
    pub shear_modulus: f64,
    /// Stiffness against bending, over that of the rod, E I/L.
    pub bending: f64,
    /// Stiffness against twisting, over that of the rod, G J/L.
    pub twisting: f64,
    /// Tension at the edge at which a bond breaks, Pa; infinite if tension never breaks it.
    pub tensile_strength: f64,
    /// Shear stress at the edge at which a bond breaks, Pa; infinite if shear never breaks it.
    pub shear_strength: f64,
    /// Weibull modulus of the scatter of both strengths; with `None` they are the same for all bonds.
    pub weibull_modulus: Option<f64>,
    /// Damping ratio of each dashpot.
    pub damping: f64,
    /// Seed of the random strengths.
    pub seed: u64,
    /// Healing of bonds that broke; with `None` they stay broken.
    pub healing: Option<Healing>,
}

/// A bond between two spheres.
#[derive(Clone, Debug, PartialEq)]
pub struct Bond {
    /// Index of its [`BondLaw`].
    pub law: usize,
    /// Indices of the two bodies in [`Model::bodies`](super::Model::bodies).
    pub bodies: [usize; 2],
    /// Vector from each centre of mass to the middle of the gap, in the principal frame of the body, m.
    pub arms: [DVec3; 2],
    /// Rotation from the frame of the bond to that of each body. The x axis of the bond points from the first sphere to the
    /// second.
    pub frames: [DQuat; 2],
    /// Rest length, m: the distance between the centres of the spheres at the start.
    pub length: f64,
    /// Radii of the two spheres, m.
    pub radii: [f64; 2],
    /// Radius, m.
    pub radius: f64,
    /// Stiffness along the bond and across it, N/m.
    pub stiffness: [f64; 2],
    /// Stiffness against twisting and bending, N m.
    pub turning_stiffness: [f64; 2],
    /// Dashpots along the bond and across it, N s/m.
    pub damping: [f64; 2],
    /// Dashpots against twisting and bending, N m s.
    pub turning_damping: [f64; 2],
    /// Tension at which the bond breaks, Pa; may be infinite.
    pub tensile_strength: f64,
    /// Shear stress at which the bond breaks, Pa; may be infinite.
    pub shear_strength: f64,
    /// Healing, if it heals.
    pub healing: Option<Healing>,
}

impl Bond {
    /// From the centre of each sphere to the middle of the gap at the start, m.
    pub fn to_middle(&self) -> [f64; 2] {
        let gap = self.length - self.radii[0] - self.radii[1];
        self.radii.map(|radius| radius + 0.5 * gap)
    }

    /// Distance of the centres of the spheres up to which the bond heals while it is broken, m, and for how long they have to be
    /// so near, s; both 0 if it does not heal.
    pub(crate) fn healing_numbers(&self) -> [f64; 2] {
        let numbers = |healing: Healing| {
            let reach = self.radii[0] + self.radii[1] + healing.distance;
            [reach, healing.time]
        };
        self.healing.map_or([0.0, 0.0], numbers)
    }

    /// Square of the length of the arm in a body, m²; of a bond that heals, of the longest that it may come to have.
    pub(super) fn squared_arm(&self, side: usize) -> f64 {
        let arm = self.arms[side];
        let Some(healing) = self.healing else {
            return arm.length_squared();
        };
        let to_middle = (1.0 - 2.0 * side as f64) * self.to_middle()[side];
        let center = arm - self.frames[side] * DVec3::new(to_middle, 0.0, 0.0);
        let healed = center.length() + self.radii[side] + 0.5 * healing.distance;
        arm.length_squared().max(healed * healed)
    }

    /// Area of the cross-section, m².
    pub fn area(&self) -> f64 {
        PI * self.radius * self.radius
    }

    /// Section modulus I/r against bending, m³; the section modulus J/r against twisting is twice as large.
    pub fn section_modulus(&self) -> f64 {
        0.25 * PI * self.radius.powi(3)
    }
}

/// A sphere of a body at the start.
pub(super) struct Place {
    pub body: u32,
    /// Index of the sphere in its shape.
    member: u32,
    /// Centre, inside the periodic box if there is one, m.
    pub center: DVec3,
    radius: f64,
}

impl Place {
    /// The place of a sphere, given its body and its index in the shape, and both of these.
    pub fn of(
        [body, member]: [u32; 2],
        own: &ModelBody,
        shape: &Clump,
        domain: Option<&Domain>,
    ) -> Place {
        let sphere = &shape.spheres[member as usize];
        let center = own.position + own.orientation * sphere.center;
        Place {
            body,
            member,
            center: domain.map_or(center, |domain| domain.wrap(center)),
            radius: sphere.radius,
        }
    }
}

/// Makes the bonds that `laws` ask for between bodies at the start, in the order of their spheres.
///
/// If several laws fit a pair of spheres, the first one makes the bond. Spheres of one body, spheres of two fixed bodies and
/// spheres with the same centre are not bonded.
pub fn bonds(
    laws: &[BondLaw],
    bodies: &Bodies,
    shapes: &[Clump],
    domain: Option<&Domain>,
) -> Bonds {
    if laws.is_empty() {
        return Bonds::default();
    }
    let mut counts = vec![0; laws.len()];
    let mut links = pairs(laws, bodies, shapes, domain);
    for link in &mut links {
        let law = link.law as usize;
        link.strength = laws[law].strength(counts[law]);
        counts[law] += 1;
    }
    Bonds::new(laws, links, bodies, shapes, domain)
}

/// Finds the pairs of spheres of which [`bonds`] makes bonds. They have no strengths as yet.
pub(crate) fn pairs(
    laws: &[BondLaw],
    bodies: &[ModelBody],
    shapes: &[Clump],
    domain: Option<&Domain>,
) -> Vec<Link> {
    let period = domain.map_or(DVec3::ZERO, Domain::period);
    let places = places(bodies, shapes, domain);
    let mut pairs = Vec::new();
    for [first, second] in near(laws, &places, domain) {
        let ends = [&places[first as usize], &places[second as usize]];
        let own = ends.map(|place| &bodies[place.body as usize]);
        let [a, b] = ends;
        if a.body == b.body || own.iter().all(|body| body.fixed) {
            continue;
        }
        let way = nearest_image(b.center - a.center, period);
        let fits = |law: &BondLaw| law.is_for(ends, own, shapes, way.length());
        if let Some(law) = laws.iter().position(fits)
            && way != DVec3::ZERO
        {
            pairs.push([first, second, law as u32]);
        }
    }
    pairs.sort_unstable();
    pairs.dedup_by_key(|[first, second, _]| (*first, *second));
    let links = pairs.into_iter().map(|[first, second, law]| {
        let sphere = |place: u32| {
            let Place { body, member, .. } = places[place as usize];
            [body, member]
        };
        Link {
            law: law.into(),
            spheres: [first, second].map(sphere),
            strength: 1.0,
        }
    });
    links.collect()
}

/// The spheres of all bodies, in the order of the bodies; with centres inside the periodic box, if there is one.
fn places(bodies: &[ModelBody], shapes: &[Clump], domain: Option<&Domain>) -> Vec<Place> {
    let of_body = |(index, body): (usize, &ModelBody)| {
        let body = *body;
        let shape = &shapes[body.shape];
        let members = 0..shape.spheres.len() as u32;
        members.map(move |member| Place::of([index as u32, member], &body, shape, domain))
    };
    bodies.iter().enumerate().flat_map(of_body).collect()
}

/// Pairs of spheres that are near enough for some law, the lower index first. A pair may come more than once.
fn near(laws: &[BondLaw], places: &[Place], domain: Option<&Domain>) -> Vec<[u32; 2]> {
    let smallest = places
        .iter()
        .map(|place| place.radius)
        .fold(f64::INFINITY, f64::min);
    let margin = |law: &BondLaw| law.gap.map_or(GAP, |gap| gap / smallest);
    // A margin for pairs exactly at the limit.
    let margin = 1.001 * laws.iter().map(margin).fold(0.0, f64::max);
    let mut grid = SphereGrid::new(places.iter().map(|place| place.radius));
    for (index, place) in places.iter().enumerate() {
        grid.insert(place.center, place.radius, index as u32);
    }
    let period = domain.map_or(DVec3::ZERO, Domain::period);
    let images = |side: f64| if side > 0.0 { -1..=1 } else { 0..=0 };
    let mut pairs = Vec::new();
    for (index, place) in places.iter().enumerate() {
        let reach = grid.reach(place.radius, margin);
        for x in images(period.x) {
            for y in images(period.y) {
                for z in images(period.z) {
                    let shift = IVec3::new(x, y, z).as_dvec3() * period;
                    let center = place.center + shift;
                    let is_far = domain.is_some_and(|domain| {
                        let (low, high) = (domain.min - reach, domain.max + reach);
                        let out = center.cmplt(low) | center.cmpgt(high);
                        (out & period.cmpgt(DVec3::ZERO)).any()
                    });
                    if is_far {
                        continue;
                    }
                    grid.for_each_near(center, place.radius, index as u32, margin, |other| {
                        let (own, other) = (index as u32, other.owner);
                        pairs.push([own.min(other), own.max(other)]);
                        ControlFlow::Continue(())
                    });
                }
            }
        }
    }
    pairs
}

impl BondLaw {
    /// Whether the law bonds two spheres whose centres are `distance` (m) apart.
    fn is_for(
        &self,
        places: [&Place; 2],
        own: [&ModelBody; 2],
        shapes: &[Clump],
        distance: f64,
    ) -> bool {
        let material =
            |side: usize| shapes[own[side].shape].materials[places[side].member as usize];
        let [a, b] = places;
        let either = |own: [usize; 2], [a, b]: [usize; 2]| own == [a, b] || own == [b, a];
        let gap = self.gap.unwrap_or(GAP * a.radius.min(b.radius));
        either(self.materials, [material(0), material(1)])
            && self
                .groups
                .is_none_or(|groups| either(groups, own.map(|body| body.group)))
            && distance - a.radius - b.radius <= gap
    }

    /// Factor of the strengths of the bond of this law with this number, from 0. It is below x with the probability 1 - exp(-x^m), m the
    /// modulus (Weibull 1951).
    pub(crate) fn strength(&self, number: u64) -> f64 {
        self.weibull_modulus.map_or(1.0, |modulus| {
            let mut random = ChaCha8Rng::seed_from_u64(self.seed);
            random.set_word_pos(2 * u128::from(number));
            // Neither 0 nor 1, so that the logarithm is finite and not 0.
            let part = ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            libm::pow(-libm::log(part), 1.0 / modulus)
        })
    }

    /// The bond of two spheres of two bodies, from the first of which it is this way to the second, m.
    pub(super) fn bond(
        &self,
        link: &Link,
        places: [&Place; 2],
        own: [&ModelBody; 2],
        shapes: &[Clump],
        way: DVec3,
    ) -> Bond {
        let length = way.length();
        let along = way / length;
        let radii = places.map(|place| place.radius);
        let gap = length - radii[0] - radii[1];
        // From each centre to the middle of the gap.
        let to_middle = [
            along * (radii[0] + 0.5 * gap),
            -along * (radii[1] + 0.5 * gap),
        ];
        let arm = |side: usize| {
            let center = shapes[own[side].shape].spheres[places[side].member as usize].center;
            center + own[side].orientation.conjugate() * to_middle[side]
        };
        let frame = from_x_to(along);
        let radius = self.radius_factor * radii[0].min(radii[1]);
        let area = PI * radius * radius;
        let moment = 0.25 * PI * radius.powi(4);
        let stiffness =
            [self.young_modulus, self.shear_modulus].map(|modulus| modulus * area / length);
        let turning_stiffness = [
            self.twisting * self.shear_modulus * 2.0 * moment / length,
            self.bending * self.young_modulus * moment / length,
        ];
        let inverse = |own: &ModelBody, number: f64| if own.fixed { 0.0 } else { 1.0 / number };
        let clump = |own: &ModelBody| &shapes[own.shape];
        let mass: f64 = own.map(|own| inverse(own, clump(own).mass)).iter().sum();
        let inertia = own.map(|own| inverse(own, clump(own).inertia.min_element()));
        let inertia: f64 = inertia.iter().sum();
        let dashpot =
            |stiffness: f64, inverse: f64| 2.0 * self.damping * (stiffness / inverse).sqrt();
        Bond {
            law: link.law as usize,
            bodies: places.map(|place| place.body as usize),
            arms: [arm(0), arm(1)],
            frames: own.map(|own| (own.orientation.conjugate() * frame).normalize()),
            length,
            radii,
            radius,
            stiffness,
            turning_stiffness,
            damping: stiffness.map(|stiffness| dashpot(stiffness, mass)),
            turning_damping: turning_stiffness.map(|stiffness| dashpot(stiffness, inertia)),
            tensile_strength: self.tensile_strength * link.strength,
            shear_strength: self.shear_strength * link.strength,
            healing: self.healing,
        }
    }
}

/// A rotation from the x axis to a unit vector.
///
/// For a vector with a negative x it starts with half a turn about z, because the shortest rotation is not defined for -x.
fn from_x_to(along: DVec3) -> DQuat {
    let shortest = |from: DVec3| {
        let axis = from.cross(along);
        DQuat::from_xyzw(axis.x, axis.y, axis.z, 1.0 + from.dot(along)).normalize()
    };
    if along.x >= 0.0 {
        shortest(DVec3::X)
    } else {
        shortest(DVec3::NEG_X) * DQuat::from_xyzw(0.0, 0.0, 1.0, 0.0)
    }
}

/// Length of the longest stable step, over that of the longest that resolves all bonds.
pub const STABLE_STEPS: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_x_axis_is_turned_to_any_direction() {
        for along in [
            DVec3::X,
            DVec3::NEG_X,
            DVec3::Y,
            DVec3::NEG_Z,
            DVec3::new(-0.6, 0.48, -0.64),
            DVec3::new(-1.0, 1e-9, 0.0),
        ] {
            let turn = from_x_to(along.normalize());
            assert!(
                (turn * DVec3::X - along.normalize()).length() < 1e-12,
                "{along}"
            );
            assert!((turn.length() - 1.0).abs() < 1e-12, "{along}");
        }
    }

    #[test]
    fn strengths_scatter_as_weibull_has_it() {
        let law = BondLaw {
            materials: [0, 0],
            groups: None,
            gap: None,
            radius_factor: 1.0,
            young_modulus: 1.0,
            shear_modulus: 1.0,
            bending: 1.0,
            twisting: 1.0,
            tensile_strength: 1.0,
            shear_strength: 1.0,
            weibull_modulus: Some(3.0),
            damping: 0.0,
            seed: 1,
            healing: None,
        };
        let drawn: Vec<f64> = (0..20_000).map(|number| law.strength(number)).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        // Gamma(1 + 1/3).
        assert!((mean - 0.892_98).abs() < 0.01, "{mean}");
        let below = drawn.iter().filter(|own| **own < 1.0).count() as f64 / drawn.len() as f64;
        assert!((below - 0.632).abs() < 0.01, "{below}");
    }
}
