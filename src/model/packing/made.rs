//! Fills whose bodies are made one after the other, whenever they are wanted.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use glam::{DQuat, DVec3};

use super::lattice::GridSites;
use super::random::Random;
use super::search::RandomSites;
use crate::model::ModelBody;
use crate::model::quantity::QUANTITIES;

/// A fill as numbers: its bodies follow from these alone, whatever else the scene has.
///
/// What other bodies and walls take is told by the sites. So who makes the bodies needs neither, nor the bodies before.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MadeFill {
    pub numbers: Numbers,
    pub mix: Vec<Mixed>,
    pub sites: Sites,
}

/// Places of the bodies of a fill.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sites {
    Grid(GridSites),
    Random(RandomSites),
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
    /// Orientation of its bodies, unless each has its own.
    pub orientation: DQuat,
}

impl Mixed {
    /// A shape of which there are no bodies yet.
    pub fn new(shape: usize, weight: f64, orientation: DQuat) -> Mixed {
        Mixed {
            shape: shape as u64,
            weight,
            orientation,
            ..Mixed::default()
        }
    }
}

impl MadeFill {
    /// Number of bodies: those of a part of a fill at random.
    pub fn len(&self) -> usize {
        match &self.sites {
            Sites::Grid(_) => self.numbers.count as usize,
            Sites::Random(sites) => sites.tries.len(),
        }
    }

    /// Index of the first body: not 0 for a part of a fill at random.
    pub fn first(&self) -> u64 {
        match &self.sites {
            Sites::Grid(_) => 0,
            Sites::Random(sites) => sites.first,
        }
    }

    /// Indices of the bodies.
    fn bodies(&self) -> Range<u64> {
        self.first()..self.first() + self.len() as u64
    }

    /// Number of spheres of a part of a fill at random.
    pub fn sphere_count(&self) -> usize {
        let sites = self.random_sites();
        let choices = choices(&self.numbers, &self.mix, self.bodies());
        choices.map(|choice| sites.spheres[choice].len()).sum()
    }

    /// Calls a function with each body, in order.
    pub fn each(&self, act: &mut dyn FnMut(&ModelBody)) {
        let (numbers, mix) = (&self.numbers, &self.mix[..]);
        let mut next: Box<dyn FnMut(usize) -> ModelBody> = match &self.sites {
            Sites::Grid(sites) => Box::new(sites.bodies(numbers, mix)),
            Sites::Random(sites) => Box::new(sites.bodies(numbers, mix)),
        };
        for choice in choices(numbers, mix, self.bodies()) {
            act(&next(choice));
        }
    }

    /// The sites of a fill at random.
    pub fn random_sites(&self) -> &RandomSites {
        match &self.sites {
            Sites::Random(sites) => sites,
            Sites::Grid(_) => unreachable!("the fill is at random"),
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
}

impl Numbers {
    /// Gives velocities, group and quantities to a body that stays where it is.
    pub(super) fn settle(&self, body: ModelBody, random: &mut Random) -> ModelBody {
        let [slowest, fastest] = self.velocity;
        let [least_spin, most_spin] = self.angular_velocity;
        ModelBody {
            velocity: random.within(slowest, fastest),
            angular_velocity: random.within(least_spin, most_spin),
            group: self.group as usize,
            quantities: self.quantities.into(),
            ..body
        }
    }

    /// The orientation of a body of this shape.
    pub(super) fn turn(&self, own: &Mixed, random: &mut Random) -> DQuat {
        match self.turned {
            1 => random.rotation(),
            _ => own.orientation,
        }
    }
}

/// Shapes of the bodies of a fill, one after the other.
pub(super) struct Shapes {
    /// Weights of the shapes, added up.
    weights: Vec<f64>,
    random: Random,
}

impl Shapes {
    /// Shapes by their weights.
    pub fn new(weights: impl Iterator<Item = f64>, random: Random) -> Shapes {
        let mut sum = 0.0;
        let weights = weights.map(|weight| {
            sum += weight;
            sum
        });
        Shapes {
            weights: weights.collect(),
            random,
        }
    }

    /// Shapes of the bodies of a fill from one with this index on: they come before all else in its row of random numbers.
    pub fn of_fill(numbers: &Numbers, mix: &[Mixed], first: u64) -> Shapes {
        let weights = mix.iter().map(|own| own.weight);
        Shapes::new(weights, Random::after(numbers.seed, first))
    }

    /// The place in the mix of the shape of the next body.
    pub fn choose(&mut self) -> usize {
        self.random.choose(&self.weights)
    }
}

/// The place in the mix of the shape of each of some bodies of a fill.
pub(super) fn choices(
    numbers: &Numbers,
    mix: &[Mixed],
    bodies: Range<u64>,
) -> impl Iterator<Item = usize> + use<> {
    let mut shapes = Shapes::of_fill(numbers, mix, bodies.start);
    bodies.map(move |_| shapes.choose())
}
