//! Bonds at the start, which are made whenever they are wanted.

use std::fmt;
#[cfg(all(feature = "cpu", feature = "gpu"))]
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytemuck::{Pod, Zeroable, bytes_of};
use xxhash_rust::xxh3::xxh3_64;

use super::bodies::Others;
use super::bond::{Bond, BondLaw, Place};
use super::clump::Clump;
use super::{Bodies, Domain, nearest_image};

/// Bonds between bodies at the start, in the order of their spheres.
///
/// It keeps 32 bytes of each bond, and makes the rest of its law and its spheres. Copies share memory. On a cluster each process may have
/// some of the bonds; they come together when somebody asks for one.
#[derive(Clone, Default, PartialEq)]
pub struct Bonds {
    laws: Vec<BondLaw>,
    links: Links,
    bodies: Bodies,
    shapes: Arc<Vec<Clump>>,
    domain: Option<Domain>,
}

/// Pairs of spheres in a list, or such that several processes have.
#[derive(Clone)]
enum Links {
    List(Arc<Vec<Link>>),
    #[cfg_attr(
        not(all(feature = "cpu", feature = "gpu")),
        expect(dead_code, reason = "only a cluster has several processes")
    )]
    Shared(Arc<SharedLinks>, Others),
}

/// Pairs of spheres of which several processes have some.
pub(crate) struct SharedLinks {
    pub survey: Survey,
    /// See [`Bonds::digest`].
    pub digest: u64,
    pub holder: Box<dyn LinkHolder>,
    pub list: OnceLock<Vec<Link>>,
}

/// Process that has some bonds, and can ask the others for theirs.
pub(crate) trait LinkHolder: Send + Sync {
    /// Number of these bonds among all that the processes have found.
    fn number(&self) -> u64;

    /// Bonds of this process.
    fn own(&self) -> &SomeBonds;

    /// The links of all processes, in order.
    fn all(&self) -> Vec<Link>;
}

/// Bonds that a process has.
pub(crate) struct SomeBonds {
    /// Bonds between bodies that the process has in a list.
    pub bonds: Bonds,
    /// Indices of these bodies among all.
    pub bodies: Vec<u32>,
    /// Indices of the bonds among all.
    pub indices: Vec<u32>,
}

/// A pair of spheres of which a bond is made.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Link {
    /// Index of the law.
    pub law: u64,
    /// Body of each sphere, and the index of the sphere in its shape.
    pub spheres: [[u32; 2]; 2],
    /// Factor of both strengths.
    pub strength: f64,
}

/// Summary of bonds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Survey {
    /// Number of bonds of each law, and the length of the shortest, m.
    pub of_laws: Vec<(u64, f64)>,
    /// The first bond with a number that single precision does not hold.
    pub wrong: Option<Wrong>,
    pub limit: Option<Limit>,
}

/// Numbers of a bond that single precision does not hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wrong {
    /// Its spheres, which tell it from others.
    pub spheres: [[u32; 2]; 2],
    /// Index of its law.
    pub law: usize,
    /// Stiffness along the bond, N/m.
    pub stiffness: f64,
    /// Stiffness against bending, N m.
    pub bending: f64,
    /// Radius, m.
    pub radius: f64,
}

/// The longest time step that resolves all bonds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limit {
    /// The step, s. One of up to [`STABLE_STEPS`](super::bond::STABLE_STEPS) times this length is stable.
    pub seconds: f64,
    /// Spheres of the first bond that needs it, and index of its law.
    pub spheres: [[u32; 2]; 2],
    pub law: usize,
}

impl Limit {
    /// The shorter one of two; of equal ones that of the first bond.
    fn shorter(self, other: Limit) -> Limit {
        let order = self.seconds.total_cmp(&other.seconds);
        match order.then(self.spheres.cmp(&other.spheres)).is_le() {
            true => self,
            false => other,
        }
    }
}

impl Survey {
    /// Adds that of others.
    pub fn add(&mut self, other: &Survey) {
        self.of_laws.resize(other.of_laws.len(), (0, f64::INFINITY));
        for (own, other) in self.of_laws.iter_mut().zip(&other.of_laws) {
            *own = (own.0 + other.0, own.1.min(other.1));
        }
        let wrong = self.wrong.into_iter().chain(other.wrong);
        self.wrong = wrong.min_by_key(|wrong| wrong.spheres);
        let limits = self.limit.into_iter().chain(other.limit);
        self.limit = limits.reduce(Limit::shorter);
    }

    /// Number of all bonds.
    pub fn count(&self) -> u64 {
        self.of_laws.iter().map(|(count, _)| count).sum()
    }
}

impl Default for Links {
    fn default() -> Links {
        Links::List(Arc::default())
    }
}

impl PartialEq for Links {
    fn eq(&self, other: &Links) -> bool {
        match (self, other) {
            (Links::Shared(own, _), Links::Shared(other, _)) => Arc::ptr_eq(own, other),
            _ => self.list() == other.list(),
        }
    }
}

impl Links {
    fn list(&self) -> &[Link] {
        match self {
            Links::List(list) => list,
            Links::Shared(shared, _) => shared.list.get_or_init(|| shared.holder.all()),
        }
    }
}

impl Bonds {
    pub(crate) fn new(
        laws: &[BondLaw],
        links: Vec<Link>,
        bodies: &Bodies,
        shapes: &[Clump],
        domain: Option<&Domain>,
    ) -> Bonds {
        Bonds {
            laws: laws.to_vec(),
            links: Links::List(Arc::new(links)),
            bodies: bodies.clone(),
            shapes: Arc::new(shapes.to_vec()),
            domain: domain.copied(),
        }
    }

    /// These bonds, but with links that several processes have.
    #[cfg(all(feature = "cpu", feature = "gpu"))]
    pub(crate) fn with_shared(self, links: SharedLinks, others: Others) -> Bonds {
        Bonds {
            links: Links::Shared(Arc::new(links), others),
            ..self
        }
    }

    /// The process that has some, if several have them.
    #[cfg(all(feature = "cpu", feature = "gpu"))]
    pub(crate) fn holder(&self) -> Option<&dyn LinkHolder> {
        match &self.links {
            Links::List(_) => None,
            Links::Shared(shared, _) => Some(&*shared.holder),
        }
    }

    /// Number of bonds.
    pub fn len(&self) -> usize {
        match &self.links {
            Links::List(list) => list.len(),
            Links::Shared(shared, _) => shared.survey.count() as usize,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bond with this index, if there is one.
    pub fn get(&self, index: usize) -> Option<Bond> {
        self.links.list().get(index).map(|link| self.bond(link))
    }

    /// The bodies of each bond.
    pub(crate) fn bodies(&self) -> impl ExactSizeIterator<Item = [u32; 2]> + '_ {
        let links = self.links.list().iter();
        links.map(|link| link.spheres.map(|[body, _]| body))
    }

    /// All bonds, each of which is made now.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Bond> + Clone + '_ {
        self.links.list().iter().map(|link| self.bond(link))
    }

    /// Some bonds, each of which is made now.
    #[cfg(all(feature = "cpu", feature = "gpu"))]
    pub(crate) fn some(&self, some: Range<usize>) -> impl Iterator<Item = Bond> + '_ {
        self.links.list()[some].iter().map(|link| self.bond(link))
    }

    /// The pairs of spheres of which bonds are made.
    pub(crate) fn links(&self) -> &[Link] {
        self.links.list()
    }

    /// Bodies between which there are bonds.
    #[cfg(all(feature = "cpu", feature = "gpu"))]
    pub(crate) fn between(&self) -> &Bodies {
        &self.bodies
    }

    /// The laws of the bonds. All bonds of a law follow a change of its numbers; which spheres are bonded stays as it is.
    pub fn laws_mut(&mut self) -> &mut [BondLaw] {
        if let Links::Shared(..) = self.links {
            // The other processes know the laws as they were.
            self.links = Links::List(Arc::new(self.links.list().to_vec()));
        }
        &mut self.laws
    }

    /// The laws, to tell them from others.
    pub(crate) fn laws(&self) -> &[BondLaw] {
        &self.laws
    }

    /// A number that tells these pairs of spheres from others: the sum of those of all, so that several processes add it up in any order.
    pub(crate) fn digest(&self) -> u64 {
        match &self.links {
            Links::List(list) => digest((0..).zip(list.iter().copied())),
            Links::Shared(shared, _) => shared.digest,
        }
    }

    /// The summary of all bonds.
    pub(crate) fn survey(&self) -> Survey {
        match &self.links {
            Links::List(_) => self.survey_of(|_| true, |body| body),
            Links::Shared(shared, _) => shared.survey.clone(),
        }
    }

    /// The summary of the bonds of which the first body is own, and the longest time step for own bodies; all of their bonds are there. The
    /// spheres in it have the number of each body.
    pub(crate) fn survey_of(
        &self,
        is_own: impl Fn(usize) -> bool,
        number: impl Fn(u32) -> u32,
    ) -> Survey {
        let fits = |number: &f64| *number == 0.0 || (*number as f32).is_normal();
        let limits = self.limits(&is_own);
        let mut survey = Survey {
            of_laws: vec![(0, f64::INFINITY); self.laws.len()],
            ..Survey::default()
        };
        for (link, bond) in self.links().iter().zip(self.iter()) {
            let spheres = link.spheres;
            let spheres = spheres.map(|[body, member]| [number(body), member]);
            let [first, second] = bond.bodies;
            let limit = Limit {
                seconds: limits[first].min(limits[second]),
                spheres,
                law: bond.law,
            };
            let before = survey.limit.unwrap_or(limit);
            survey.limit = Some(before.shorter(limit));
            if !is_own(first) {
                continue;
            }
            let (count, shortest) = &mut survey.of_laws[bond.law];
            *count += 1;
            *shortest = shortest.min(bond.length);
            let held = [
                bond.stiffness,
                bond.turning_stiffness,
                bond.damping,
                bond.turning_damping,
                [1.0 / bond.area(), 1.0 / bond.section_modulus()],
            ];
            if survey.wrong.is_none() && !held.as_flattened().iter().all(fits) {
                survey.wrong = Some(Wrong {
                    spheres,
                    law: bond.law,
                    stiffness: bond.stiffness[0],
                    bending: bond.turning_stiffness[1],
                    radius: bond.radius,
                });
            }
        }
        survey
    }

    /// The longest time step (s) that resolves all bonds of each body; infinite for those that are fixed or not own.
    ///
    /// Gershgorin's circles bound the square of the fastest frequency of a body: ω² <= 2 S with
    /// S = sum k/m + sum (k_turn + k_shear c²)/I over its bonds, where c is the length of the arm. The dashpots bound the step by the
    /// inverse of the same sum with damping in place of stiffness.
    fn limits(&self, is_own: impl Fn(usize) -> bool) -> Vec<f64> {
        /// The time step as a fraction of the bounds, of which that of the springs is 1/sqrt(S).
        const PART: f64 = 0.1;
        let bodies = &self.bodies;
        let mut springs = vec![0.0; bodies.len()];
        let mut dashpots = vec![0.0; bodies.len()];
        let most = |numbers: [f64; 2]| numbers[0].max(numbers[1]);
        for bond in self.iter() {
            for (side, body) in bond.bodies.into_iter().enumerate() {
                if bodies[body].fixed || !is_own(body) {
                    continue;
                }
                let clump = &self.shapes[bodies[body].shape];
                let (mass, inertia) = (clump.mass, clump.inertia.min_element());
                let rate = |along: [f64; 2], turning: [f64; 2]| {
                    let across = along[1] * bond.squared_arm(side);
                    most(along) / mass + (most(turning) + across) / inertia
                };
                springs[body] += rate(bond.stiffness, bond.turning_stiffness);
                dashpots[body] += rate(bond.damping, bond.turning_damping);
            }
        }
        let limit =
            |(springs, dashpots): (f64, f64)| PART * f64::sqrt(springs).recip().min(1.0 / dashpots);
        springs.into_iter().zip(dashpots).map(limit).collect()
    }

    fn bond(&self, link: &Link) -> Bond {
        let own = link.spheres.map(|[body, _]| &self.bodies[body as usize]);
        let domain = self.domain.as_ref();
        let place = |side: usize| {
            let shape = &self.shapes[own[side].shape];
            Place::of(link.spheres[side], own[side], shape, domain)
        };
        let (first, second) = (place(0), place(1));
        let period = domain.map(Domain::period).unwrap_or_default();
        let way = nearest_image(second.center - first.center, period);
        let law = &self.laws[link.law as usize];
        law.bond(link, [&first, &second], own, &self.shapes, way)
    }
}

/// The digest of links, with the index of each among all.
pub(crate) fn digest(links: impl Iterator<Item = (u64, Link)>) -> u64 {
    let own = links.map(|(index, link)| {
        let mut bytes = [0; 8 + size_of::<Link>()];
        bytes[..8].copy_from_slice(&index.to_le_bytes());
        bytes[8..].copy_from_slice(bytes_of(&link));
        xxh3_64(&bytes)
    });
    own.fold(0, u64::wrapping_add)
}

impl fmt::Debug for Bonds {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::model::ModelBody;
    use crate::model::bond::bonds;
    use crate::model::packing::overlap::tests::ball;

    fn law() -> BondLaw {
        BondLaw {
            materials: [0, 0],
            groups: None,
            gap: None,
            radius_factor: 1.0,
            young_modulus: 1e6,
            shear_modulus: 4e5,
            bending: 1.0,
            twisting: 1.0,
            tensile_strength: 3.0,
            shear_strength: 1.0,
            weibull_modulus: Some(3.0),
            damping: 0.1,
            seed: 1,
            healing: None,
        }
    }

    /// Balls that touch their neighbours in a row along x.
    fn row() -> Bodies {
        let at = |place: u32| ModelBody {
            position: DVec3::X * 0.1 * f64::from(place),
            ..ModelBody::default()
        };
        (0..6).map(at).collect()
    }

    #[test]
    fn bonds_stay_those_of_the_bodies_at_the_start() {
        let (mut bodies, shapes) = (row(), [ball(0.05)]);
        let made = bonds(&[law()], &bodies, &shapes, None);
        let before: Vec<Bond> = made.iter().collect();
        let pairs: Vec<[usize; 2]> = before.iter().map(|bond| bond.bodies).collect();
        assert_eq!(pairs, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]);
        assert!(before[0].tensile_strength != before[1].tensile_strength);
        bodies[2].position.y = 7.0;
        assert!(made.iter().eq(before.iter().cloned()));
        assert_eq!(made.get(4).as_ref(), before.last());
        assert_eq!((made.get(5), made.len()), (None, 5));
        assert_eq!(format!("{made:?}"), format!("{before:?}"));
    }

    #[test]
    fn a_change_of_a_law_holds_for_its_bonds() {
        let laws = [law(), law()];
        let made = bonds(&laws, &row(), &[ball(0.05)], None);
        let mut other = made.clone();
        other.laws_mut()[0].tensile_strength = 6.0;
        let strengths = |bonds: &Bonds| -> Vec<f64> {
            bonds.iter().map(|bond| bond.tensile_strength).collect()
        };
        let doubled: Vec<f64> = strengths(&made).iter().map(|own| 2.0 * own).collect();
        assert_eq!(strengths(&other), doubled);
        assert!(other != made && std::ptr::eq(other.links(), made.links()));
    }

    #[test]
    fn a_bond_takes_32_bytes() {
        assert_eq!(size_of::<Link>(), 32);
    }
}
