//! Bonds at the start, which are made whenever they are wanted.

use std::fmt;
use std::sync::Arc;

use super::bond::{Bond, BondLaw, Place};
use super::clump::Clump;
use super::{Bodies, Domain, nearest_image};

/// Bonds between bodies at the start, in the order of their spheres.
///
/// It keeps 32 bytes of each bond, and makes the rest of its law and its spheres. Copies share memory.
#[derive(Clone, Default, PartialEq)]
pub struct Bonds {
    laws: Vec<BondLaw>,
    links: Arc<Vec<Link>>,
    bodies: Bodies,
    shapes: Arc<Vec<Clump>>,
    domain: Option<Domain>,
}

/// A pair of spheres of which a bond is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    /// Index of the law.
    pub law: u32,
    /// Body of each sphere, and the index of the sphere in its shape.
    pub spheres: [[u32; 2]; 2],
    /// Factor of both strengths.
    pub strength: f64,
}

impl Bonds {
    pub(super) fn new(
        laws: &[BondLaw],
        links: Vec<Link>,
        bodies: &Bodies,
        shapes: &[Clump],
        domain: Option<&Domain>,
    ) -> Bonds {
        Bonds {
            laws: laws.to_vec(),
            links: Arc::new(links),
            bodies: bodies.clone(),
            shapes: Arc::new(shapes.to_vec()),
            domain: domain.copied(),
        }
    }

    /// Number of bonds.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The bond with this index, if there is one.
    pub fn get(&self, index: usize) -> Option<Bond> {
        self.links.get(index).map(|link| self.bond(link))
    }

    /// Index of the law of a bond.
    pub fn law(&self, index: usize) -> usize {
        self.links[index].law as usize
    }

    /// The bodies of each bond.
    pub(crate) fn bodies(&self) -> impl ExactSizeIterator<Item = [u32; 2]> + '_ {
        let links = self.links.iter();
        links.map(|link| link.spheres.map(|[body, _]| body))
    }

    /// All bonds, each of which is made now.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Bond> + Clone + '_ {
        self.links.iter().map(|link| self.bond(link))
    }

    /// The laws of the bonds. All bonds of a law follow a change of its numbers; which spheres are bonded stays as it is.
    pub fn laws_mut(&mut self) -> &mut [BondLaw] {
        &mut self.laws
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
        assert!(other != made && Arc::ptr_eq(&other.links, &made.links));
    }

    #[test]
    fn a_bond_takes_32_bytes() {
        assert_eq!(size_of::<Link>(), 32);
    }
}
