//! Searches for places at random: one try after another, until a place is free.

use std::cmp::Reverse;

use glam::{DMat3, DQuat, DVec3};

use super::covered::Covered;
use super::made::{Mixed, Numbers};
use super::occupied::{Aabb, Candidate, Occupied};
use super::random::Random;
use super::slab::Slab;
use crate::math::parallel::prelude::*;
use crate::model::ModelBody;
use crate::model::clump::{Clump, ClumpSphere};

/// Places of bodies by random sequential addition: the number of tries of each. So each body is made again without a look at any
/// other one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RandomSites {
    /// Spheres of each shape of the mix.
    pub spheres: Vec<Vec<ClumpSphere>>,
    /// Class of each shape of the mix. Those of one class have the same spheres, and find their places one after the other; classes
    /// follow each other from the largest to the smallest.
    pub classes: Vec<u64>,
    /// Index of the first body whose tries are known.
    pub first: u64,
    /// Number of tries that bodies of each class before it took.
    pub done: Vec<u64>,
    /// Number of tries of each body from there on, the last of which found its place.
    pub tries: Vec<u16>,
}

/// Velocities of a body come from so many random numbers.
const OF_MOTION: u64 = 6;

/// A place at which a body is tried.
pub(super) struct Try {
    /// Orientation of the body; of a ball, which fits or not however it is turned, any.
    pub orientation: DQuat,
    /// The hull of a body with this orientation whose centre of mass is at the origin, m.
    pub hull: Aabb,
    /// Centre of mass, m; `None` if the body does not fit into the region as it is turned.
    pub position: Option<DVec3>,
}

/// Tries for bodies of a class.
///
/// Each has random numbers of its own. So a try is the same whatever became of those before it, and several are made at a time.
#[derive(Clone)]
pub(super) struct Tries<'a> {
    numbers: &'a Numbers,
    own: &'a Mixed,
    spheres: &'a [ClumpSphere],
    /// The hull, if it does not depend on how a body is turned.
    hull: Option<Aabb>,
    places: Random,
    turns: Random,
}

impl<'a> Tries<'a> {
    /// Tries for bodies of one of the shapes of a class, which has these spheres.
    pub fn new(
        numbers: &'a Numbers,
        class: u64,
        own: &'a Mixed,
        spheres: &'a [ClumpSphere],
    ) -> Tries<'a> {
        let is_ball = spheres.len() == 1 && spheres[0].center == DVec3::ZERO;
        let keeps_hull = is_ball || numbers.turned == 0;
        let [places, turns] = Random::of_tries(numbers.seed, class);
        Tries {
            numbers,
            own,
            spheres,
            hull: keeps_hull.then(|| Aabb::of(spheres, DMat3::from_quat(own.orientation))),
            places,
            turns,
        }
    }

    /// Cubes that tell where in a part of the region no further body of the class can be, after so many were placed.
    pub fn covered(
        &self,
        region: [DVec3; 2],
        placed: usize,
        occupied: &Occupied,
    ) -> Option<Covered> {
        let mut covered = Covered::new(self.spheres, region, placed)?;
        occupied.each_sphere(|sphere| covered.add(sphere));
        Some(covered)
    }

    /// The orientation of a body that has found its place with this try.
    pub fn turn(&mut self, number: u64) -> DQuat {
        /// Random numbers for one rotation: hardly one needs more, and if it does, two have some in common.
        const EACH: u64 = 32;
        if self.numbers.turned == 1 {
            self.turns.go_to(EACH * number);
        }
        self.numbers.turn(self.own, &mut self.turns)
    }

    /// The try with this number.
    pub fn nth(&mut self, number: u64) -> Try {
        let (orientation, hull) = match self.hull {
            Some(hull) => (self.own.orientation, hull),
            None => {
                let turn = self.turn(number);
                (turn, Aabb::of(self.spheres, DMat3::from_quat(turn)))
            }
        };
        let (min, max) = (self.numbers.min, self.numbers.max);
        let fits = hull.lack(min, max).0 <= 0.0;
        let place = || {
            self.places.go_to(3 * number);
            // A coordinate is never -0.
            DVec3::ZERO + self.places.within(min - hull.min, max - hull.max)
        };
        Try {
            orientation,
            hull,
            position: fits.then(place),
        }
    }

    /// The body of the try with this number; `None` if it does not fit into the region as it is turned, or its place is left out.
    pub fn candidate(
        &mut self,
        number: u64,
        shapes: &[Clump],
        is_left_out: impl FnOnce(DVec3) -> bool,
    ) -> Option<Candidate> {
        let found = self.nth(number);
        let position = found.position?;
        if is_left_out(position) {
            return None;
        }
        let body = ModelBody {
            shape: self.own.shape as usize,
            position,
            orientation: found.orientation,
            ..ModelBody::default()
        };
        Some(Candidate::new(body, shapes))
    }
}

/// Shapes, bodies and a slab that tries are held against.
pub(super) struct Surroundings<'a> {
    pub shapes: &'a [Clump],
    pub occupied: &'a Occupied,
    pub covered: Option<&'a Covered>,
    /// Tries elsewhere are left out.
    pub slab: Slab,
}

impl Surroundings<'_> {
    /// Some tries, in order: all whose places are neither blocked nor taken by a body. And the number of those that are blocked.
    pub fn free_among(
        &self,
        tries: &Tries,
        numbers: &[u64],
        is_blocked: &(dyn Fn(&Candidate) -> bool + Sync),
    ) -> (Vec<(u64, Candidate)>, u64) {
        /// Number of tries that a thread makes one after the other.
        const TOGETHER: usize = 256;
        let is_left_out = |place: DVec3| {
            !self.slab.has(place) || self.covered.is_some_and(|covered| covered.has(place))
        };
        let some = |numbers: &[u64]| {
            let mut tries = tries.clone();
            let (mut free, mut blocked) = (Vec::new(), 0);
            for &number in numbers {
                let Some(candidate) = tries.candidate(number, self.shapes, is_left_out) else {
                    continue;
                };
                if is_blocked(&candidate) {
                    blocked += 1;
                } else if !self.occupied.clashes_with(&candidate) {
                    free.push((number, candidate));
                }
            }
            (free, blocked)
        };
        let parts: Vec<(Vec<_>, u64)> = numbers.par_chunks(TOGETHER).map(some).collect();
        let blocked = parts.iter().map(|(_, blocked)| blocked).sum();
        (
            parts.into_iter().flat_map(|(free, _)| free).collect(),
            blocked,
        )
    }
}

impl RandomSites {
    /// Places of which none is known yet, for a mix of these shapes.
    pub fn new(mix: &[Mixed], shapes: &[Clump]) -> RandomSites {
        let shape = |index: usize| &shapes[mix[index].shape as usize];
        // The bits of positive floats have the order of the floats.
        let size = |index: usize| Reverse(shape(index).bounding_radius().to_bits());
        let mut sorted: Vec<usize> = (0..mix.len()).collect();
        sorted.sort_by_key(|&index| size(index));
        let mut classes = vec![0; mix.len()];
        let mut count = 0;
        for same_size in sorted.chunk_by(|&a, &b| size(a) == size(b)) {
            for (before, &index) in same_size.iter().enumerate() {
                let is_like = |&other: &usize| {
                    shape(other).spheres == shape(index).spheres
                        && mix[other].orientation == mix[index].orientation
                };
                let like = same_size[..before].iter().find(|other| is_like(other));
                classes[index] = like.map_or(count, |&other| classes[other]);
                count = count.max(classes[index] + 1);
            }
        }
        RandomSites {
            spheres: (0..mix.len())
                .map(|index| shape(index).spheres.clone())
                .collect(),
            classes,
            first: 0,
            done: vec![0; count as usize],
            tries: Vec::new(),
        }
    }

    /// Number of classes.
    pub fn class_count(&self) -> u64 {
        self.classes.iter().max().map_or(0, |last| last + 1)
    }

    /// Tries for the bodies of a class of this mix.
    pub(super) fn tries_of<'a>(
        &'a self,
        class: u64,
        numbers: &'a Numbers,
        mix: &'a [Mixed],
    ) -> Tries<'a> {
        let own = self.classes.iter().position(|other| *other == class);
        let own = own.expect("each class has a shape");
        Tries::new(numbers, class, &mix[own], &self.spheres[own])
    }

    /// Makes the bodies, in order, given the place in the mix of the shape of each.
    pub(super) fn bodies<'a>(
        &'a self,
        numbers: &'a Numbers,
        mix: &'a [Mixed],
    ) -> impl FnMut(usize) -> ModelBody + use<'a> {
        let of_class = |(class, done): (u64, &u64)| (self.tries_of(class, numbers, mix), *done);
        let mut of_classes: Vec<(Tries, u64)> = (0..).zip(&self.done).map(of_class).collect();
        let mut tries = self.tries.iter();
        let mut random = Random::after(numbers.seed, numbers.count + OF_MOTION * self.first);
        move |choice| {
            let (of_class, done) = &mut of_classes[self.classes[choice] as usize];
            *done += u64::from(*tries.next().expect("each body has been placed"));
            let found = of_class.nth(*done - 1);
            let body = ModelBody {
                shape: mix[choice].shape as usize,
                position: found.position.expect("the last try found a place"),
                orientation: of_class.turn(*done - 1),
                ..ModelBody::default()
            };
            numbers.settle(body, &mut random)
        }
    }
}
