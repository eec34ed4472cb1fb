//! Fills on a grid whose bodies are made one after the other, whenever they are wanted.

use bytemuck::{Pod, Zeroable};
use glam::{DQuat, DVec3};

use super::fill::Random;
use crate::model::ModelBody;
use crate::model::quantity::QUANTITIES;

/// Allowance for round-off in the number of sites, in pitches.
const ROUND_OFF: f64 = 1e-9;

/// A fill on a grid as numbers: its bodies follow from these alone, whatever else the scene has.
///
/// What another body or a wall takes is told by the sites that stay empty. So who makes the bodies needs neither, nor the bodies before.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GridFill {
    pub numbers: Numbers,
    pub mix: Vec<Mixed>,
    /// Sites that stay empty, by their numbers: the first of each range of them, and the one after the last; in increasing order.
    pub empty: Vec<[u64; 2]>,
}

/// Numbers of a fill that do not depend on the shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Numbers {
    /// Number of bodies.
    pub count: u64,
    pub seed: u64,
    pub group: u64,
    /// Whether each body has an orientation of its own: 1 or 0.
    pub turned: u64,
    pub lattice: Lattice,
    pub jitter: f64,
    /// Corners of the region.
    pub min: DVec3,
    pub max: DVec3,
    /// Least and largest of each component.
    pub velocity: [DVec3; 2],
    pub angular_velocity: [DVec3; 2],
    pub quantities: [f64; QUANTITIES.len()],
}

/// A shape of a mix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Mixed {
    /// Index of the shape.
    pub shape: u64,
    pub weight: f64,
    /// Number of bodies that have it.
    pub count: u64,
    /// From the centre of mass to the middle of the hull, and half of its width, m.
    pub middle: DVec3,
    pub half_width: DVec3,
    /// Orientation of its bodies, unless each has its own.
    pub orientation: DQuat,
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

impl GridFill {
    /// Calls a function with each body, in order.
    pub fn each(&self, act: &mut dyn FnMut(&ModelBody)) {
        let mut walk = Walk::new(self.numbers, &self.mix);
        let mut empty = self.empty.iter().peekable();
        for _ in 0..self.numbers.count {
            let shape = walk.choose();
            loop {
                let site = walk.number;
                let body = walk.next(&self.mix[shape]);
                let body = body.expect("there is a site for each body");
                while empty.next_if(|range| range[1] <= site).is_some() {}
                if empty.peek().is_none_or(|range| site < range[0]) {
                    act(&walk.settle(body));
                    break;
                }
            }
        }
    }

    /// A body of each shape that is there, at rest at the origin.
    pub fn kinds(&self) -> impl Iterator<Item = ModelBody> + '_ {
        let mix = self.mix.iter().filter(|own| own.count > 0);
        mix.map(|own| ModelBody {
            shape: own.shape as usize,
            group: self.numbers.group as usize,
            quantities: self.numbers.quantities.into(),
            ..ModelBody::default()
        })
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
    /// Weights of the shapes, added up.
    weights: Vec<f64>,
    of_shapes: Random,
    random: Random,
    site: Option<[u64; 3]>,
    /// Number of the site.
    pub number: u64,
}

impl Walk {
    pub fn new(numbers: Numbers, mix: &[Mixed]) -> Walk {
        let mut sum = 0.0;
        let weights = mix.iter().map(|own| {
            sum += own.weight;
            sum
        });
        Walk {
            weights: weights.collect(),
            // The shapes come before all else in the row of random numbers.
            of_shapes: Random::new(numbers.seed),
            random: Random::after(numbers.seed, numbers.count),
            site: Some([0; 3]),
            number: 0,
            numbers,
        }
    }

    /// The place in the mix of the shape of the next body.
    pub fn choose(&mut self) -> usize {
        self.of_shapes.choose(&self.weights)
    }

    /// A body of a shape at the next site, without velocities; `None` if there is no site left.
    pub fn next(&mut self, own: &Mixed) -> Option<ModelBody> {
        let Numbers {
            lattice,
            jitter,
            min,
            max,
            turned,
            ..
        } = self.numbers;
        let place = self.site?;
        self.site = lattice.after(place);
        self.number += 1;
        let site = lattice.first + lattice.pitch * DVec3::from(place.map(|index| index as f64));
        let low = (site - jitter).max(min + own.half_width);
        let high = (site + jitter).min(max - own.half_width);
        let orientation = match turned {
            1 => self.random.rotation(),
            _ => own.orientation,
        };
        Some(ModelBody {
            shape: own.shape as usize,
            // A coordinate is never -0.
            position: DVec3::ZERO + (self.random.within(low, high) - own.middle),
            orientation,
            ..ModelBody::default()
        })
    }

    /// Gives velocities, group and quantities to a body that stays where it is.
    pub fn settle(&mut self, body: ModelBody) -> ModelBody {
        let Numbers {
            velocity: [slowest, fastest],
            angular_velocity: [least_spin, most_spin],
            group,
            quantities,
            ..
        } = self.numbers;
        ModelBody {
            velocity: self.random.within(slowest, fastest),
            angular_velocity: self.random.within(least_spin, most_spin),
            group: group as usize,
            quantities: quantities.into(),
            ..body
        }
    }
}
