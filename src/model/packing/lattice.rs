//! Places on a grid.

use bytemuck::{Pod, Zeroable};
use glam::DVec3;

use super::made::{Mixed, Numbers};
use super::random::Random;
use crate::model::ModelBody;

/// Allowance for round-off in the number of sites, in pitches.
const ROUND_OFF: f64 = 1e-9;

/// Places of bodies on a grid.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GridSites {
    pub lattice: Lattice,
    /// Largest random displacement along each axis, m.
    pub jitter: f64,
    /// Hull of each shape of the mix: from the centre of mass to its middle, and half of its width, m.
    pub hulls: Vec<[DVec3; 2]>,
    /// Sites that stay empty, by their numbers: the first of each range of them, and the one after the last; in increasing order.
    pub empty: Vec<[u64; 2]>,
}

/// A cubic lattice of sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Lattice {
    pub first: DVec3,
    pub pitch: f64,
    /// Number of sites along x, y and z.
    pub counts: [u64; 3],
}

impl Lattice {
    /// A lattice with as many sites as fit between two corners, centred in x and z, and from the bottom on in y.
    pub fn new(low: DVec3, high: DVec3, pitch: f64) -> Lattice {
        // A region cut to fit must not lose its last layer to round-off.
        let steps = ((high - low) / pitch + ROUND_OFF).floor().max(DVec3::ZERO);
        let rest = 0.5 * (high - low - steps * pitch);
        Lattice {
            first: low + DVec3::new(rest.x, 0.0, rest.z),
            pitch,
            counts: steps
                .to_array()
                .map(|steps| (steps as u64).saturating_add(1)),
        }
    }

    /// The site after another one, in the order x fastest, then z, then y; `None` after the last.
    fn after(&self, [x, y, z]: [u64; 3]) -> Option<[u64; 3]> {
        let [nx, ny, nz] = self.counts;
        match (x + 1 < nx, z + 1 < nz, y + 1 < ny) {
            (true, ..) => Some([x + 1, y, z]),
            (_, true, _) => Some([0, y, z + 1]),
            (.., true) => Some([0, y + 1, 0]),
            _ => None,
        }
    }
}

impl GridSites {
    /// Makes the bodies, in order, given the place in the mix of the shape of each.
    pub(super) fn bodies<'a>(
        &'a self,
        numbers: &Numbers,
        mix: &'a [Mixed],
    ) -> impl FnMut(usize) -> ModelBody + use<'a> {
        let mut walk = Walk::new(numbers, self);
        let mut empty = self.empty.iter().peekable();
        move |choice| loop {
            let site = walk.number;
            let body = walk.next(&mix[choice], self.hulls[choice]);
            let body = body.expect("there is a site for each body");
            while empty.next_if(|range| range[1] <= site).is_some() {}
            if empty.peek().is_none_or(|range| site < range[0]) {
                return walk.settle(body);
            }
        }
    }

    /// Has a site stay empty; all that did so far come before it.
    pub(super) fn leave_empty(&mut self, site: u64) {
        match self.empty.last_mut() {
            Some(last) if last[1] == site => last[1] += 1,
            _ => self.empty.push([site, site + 1]),
        }
    }
}

/// A walk from site to site, with the random numbers of what is placed there.
pub(super) struct Walk {
    numbers: Numbers,
    lattice: Lattice,
    jitter: f64,
    random: Random,
    site: Option<[u64; 3]>,
    /// Number of the site.
    pub number: u64,
}

impl Walk {
    pub fn new(numbers: &Numbers, sites: &GridSites) -> Walk {
        Walk {
            numbers: *numbers,
            lattice: sites.lattice,
            jitter: sites.jitter,
            random: Random::after(numbers.seed, numbers.count),
            site: Some([0; 3]),
            number: 0,
        }
    }

    /// A body of a shape at the next site, without velocities; `None` if there is no site left.
    pub fn next(&mut self, own: &Mixed, [middle, half_width]: [DVec3; 2]) -> Option<ModelBody> {
        let place = self.site?;
        let lattice = self.lattice;
        self.site = lattice.after(place);
        self.number += 1;
        let site = lattice.first + lattice.pitch * DVec3::from(place.map(|index| index as f64));
        let low = (site - self.jitter).max(self.numbers.min + half_width);
        let high = (site + self.jitter).min(self.numbers.max - half_width);
        let orientation = self.numbers.turn(own, &mut self.random);
        Some(ModelBody {
            shape: own.shape as usize,
            // A coordinate is never -0.
            position: DVec3::ZERO + (self.random.within(low, high) - middle),
            orientation,
            ..ModelBody::default()
        })
    }

    /// Gives velocities, group and quantities to a body that stays where it is.
    pub fn settle(&mut self, body: ModelBody) -> ModelBody {
        self.numbers.settle(body, &mut self.random)
    }
}
