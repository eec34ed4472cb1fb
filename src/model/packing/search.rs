//! Searches for places at random: one try after another, until a place is free.

use std::cmp::Reverse;

use glam::{DMat3, DQuat, DVec3};

use super::made::{Mixed, Numbers};
use super::occupied::Aabb;
use super::random::Random;
use crate::model::ModelBody;
use crate::model::clump::{Clump, ClumpSphere};

/// Places of bodies by random sequential addition: the number of tries of each. So the search is done again without a look at any
/// other body.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RandomSites {
    /// Spheres of each shape of the mix.
    pub spheres: Vec<Vec<ClumpSphere>>,
    /// Class of each shape of the mix. Those of one class are of one size, and find their places one after the other; classes follow
    /// each other from the largest to the smallest.
    pub classes: Vec<u64>,
    /// Number of random numbers before the first try of each class.
    pub starts: Vec<u64>,
    /// Number of tries of each body, the last of which found its place.
    pub tries: Vec<u16>,
}

/// Outcome of a try: how a body would be turned, and its place.
pub(super) struct Try {
    pub orientation: DQuat,
    /// The hull of a body with this orientation whose centre of mass is at the origin, m.
    pub hull: Aabb,
    /// Centre of mass, m; `None` if the body does not fit into the region as it is turned.
    pub position: Option<DVec3>,
}

impl Try {
    /// The next try for a body of a shape that has these spheres.
    pub fn next(
        numbers: &Numbers,
        own: &Mixed,
        spheres: &[ClumpSphere],
        random: &mut Random,
    ) -> Try {
        let orientation = numbers.turn(own, random);
        let hull = Aabb::of(spheres, DMat3::from_quat(orientation));
        let fits = hull.lack(numbers.min, numbers.max).0 <= 0.0;
        let place = || random.within(numbers.min - hull.min, numbers.max - hull.max);
        // A coordinate is never -0.
        let position = fits.then(place).map(|place| DVec3::ZERO + place);
        Try {
            orientation,
            hull,
            position,
        }
    }
}

impl RandomSites {
    /// Places of which none is known yet, for a mix of these shapes.
    pub fn new(mix: &[Mixed], shapes: &[Clump]) -> RandomSites {
        let own = |own: &Mixed| &shapes[own.shape as usize];
        // The bits of positive floats have the order of the floats.
        let size = |mixed: &Mixed| Reverse(own(mixed).bounding_radius().to_bits());
        let mut sizes: Vec<_> = mix.iter().map(size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let class = |mixed: &Mixed| sizes.partition_point(|other| *other < size(mixed)) as u64;
        RandomSites {
            spheres: mix.iter().map(|mixed| own(mixed).spheres.clone()).collect(),
            classes: mix.iter().map(class).collect(),
            starts: Vec::with_capacity(sizes.len()),
            tries: Vec::new(),
        }
    }

    /// Number of classes.
    pub fn class_count(&self) -> u64 {
        self.classes.iter().max().map_or(0, |last| last + 1)
    }

    /// Makes the bodies, in order, given the place in the mix of the shape of each.
    pub(super) fn bodies<'a>(
        &'a self,
        numbers: &'a Numbers,
        mix: &'a [Mixed],
    ) -> impl FnMut(usize) -> ModelBody + use<'a> {
        let starts = self.starts.iter();
        let of_classes = starts.map(|start| Random::after(numbers.seed, *start));
        let mut of_classes: Vec<Random> = of_classes.collect();
        let mut tries = self.tries.iter();
        move |choice| {
            let random = &mut of_classes[self.classes[choice] as usize];
            let mut next = || Try::next(numbers, &mix[choice], &self.spheres[choice], random);
            for _ in 1..*tries.next().expect("each body has been placed") {
                next();
            }
            let found = next();
            let body = ModelBody {
                shape: mix[choice].shape as usize,
                position: found.position.expect("the last try found a place"),
                orientation: found.orientation,
                ..ModelBody::default()
            };
            numbers.settle(body, random)
        }
    }
}
