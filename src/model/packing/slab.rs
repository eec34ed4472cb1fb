//! Searches for the places of a random fill on several processes: each has a slab of the region, and the bodies near it.

use std::io;
use std::ops::Range;

use glam::{DQuat, DVec3};

use super::covered::Covered;
use super::made::{MadeFill, Sites, choices};
use super::occupied::{Occupied, TOUCH};
use super::overlap::{Harmless, Unrelaxed, World};
use super::pack::Packing;
use super::search::Surroundings;
use crate::model::bodies::{Brought, Shared};
use crate::model::bond::BondLaw;
use crate::model::bonds::Bonds;
use crate::model::clump::{Clump, ClumpSphere};
use crate::model::{Bodies, Domain, ModelBody};

/// A slab of a region: tries whose centre of mass is in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slab {
    axis: usize,
    low: f64,
    high: f64,
}

impl Slab {
    /// All of space.
    pub const WHOLE: Slab = Slab {
        axis: 0,
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
    };

    /// One of several slabs across the longest side of a region; the outer ones go on without end.
    pub fn of([min, max]: [DVec3; 2], index: usize, count: usize) -> Slab {
        let axis = (max - min).max_position();
        let cut = |index: usize| {
            let part = index as f64 / count as f64;
            min[axis] + (max - min)[axis] * part
        };
        let whole = Slab::WHOLE;
        Slab {
            axis,
            low: if index == 0 { whole.low } else { cut(index) },
            high: match index + 1 == count {
                true => whole.high,
                false => cut(index + 1),
            },
        }
    }

    pub fn has(&self, point: DVec3) -> bool {
        (self.low..self.high).contains(&point[self.axis])
    }

    /// The part of a region that is in it.
    fn part_of(&self, [mut min, mut max]: [DVec3; 2]) -> [DVec3; 2] {
        min[self.axis] = min[self.axis].max(self.low);
        max[self.axis] = max[self.axis].min(self.high);
        [min, max]
    }
}

/// Processes that look for the places of a random fill together.
///
/// The process that places the bodies tells them which tries have found a place, and asks which of the next ones are free of the bodies
/// that they know: those of this fill, and of the fills before it. It holds the rest against walls and other bodies itself.
pub(crate) trait Searchers {
    /// Number of them on this machine, and of all.
    fn counts(&self) -> [usize; 2];

    /// Begins with a fill, of which no body has been placed, in a scene with these shapes. Its bodies keep away from those that they have
    /// placed before.
    fn begin(&self, shapes: &[Clump], fill: &MadeFill, before: &[&Shared]);

    /// Does what they are asked, and returns the numbers of the tries that are free, in order.
    fn look(&self, asked: &Asked) -> Vec<u64>;

    /// Ends with this fill. If all bodies are placed, each has a share of them then.
    fn end(&self, is_placed: bool) -> Option<Shared>;

    /// Packs bodies, of which each then has a share.
    ///
    /// # Errors
    /// If overlaps are left.
    fn pack(&self, packing: &Packing) -> Result<Shared, Unrelaxed>;

    /// Takes bodies of another run, so that each has a share.
    ///
    /// # Errors
    /// The error of the first part that has one.
    fn keep(
        &self,
        parts: &mut dyn ExactSizeIterator<Item = io::Result<Brought>>,
    ) -> io::Result<Shared>;

    /// Whether bodies overlap each other or walls by more than `tolerance` times the smaller radius, but for what is harmless.
    fn overlap(&self, bodies: &Bodies, world: World, tolerance: f64, harmless: Harmless) -> bool;

    /// Finds the bonds that `laws` ask for between bodies at the start, of which each then has some.
    fn bond(
        &self,
        laws: &[BondLaw],
        bodies: &Bodies,
        shapes: &[Clump],
        domain: Option<&Domain>,
    ) -> Bonds;
}

/// A question to searchers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// Class of the bodies.
    pub class: u64,
    /// Numbers of the tries that have found a place since they were asked last.
    pub placed: Vec<u64>,
    /// Numbers of the tries to make.
    pub tries: Range<u64>,
    /// Whether it is so crowded that maps of what is covered pay.
    pub crowded: bool,
}

/// Bodies that may be in the way of tries.
struct Near {
    /// Corners of the box in which the centres of mass of the tries are.
    part: [DVec3; 2],
    /// Bounding radius of each shape, and the largest of those that are tried, m.
    bounds: Vec<f64>,
    largest: f64,
}

impl Near {
    fn new(part: [DVec3; 2], shapes: &[Clump], fill: &MadeFill) -> Near {
        let bounds: Vec<f64> = shapes.iter().map(Clump::bounding_radius).collect();
        let tried = fill.mix.iter().map(|own| bounds[own.shape as usize]);
        Near {
            largest: tried.fold(0.0, f64::max),
            part,
            bounds,
        }
    }

    fn has(&self, body: &ModelBody) -> bool {
        let [min, max] = self.part;
        let reach = (1.0 + TOUCH) * (self.bounds[body.shape] + self.largest);
        let nearest = body.position.clamp(min, max);
        body.position.distance_squared(nearest) <= reach * reach
    }
}

/// The search of one of them.
pub(crate) struct SlabSearch {
    shapes: Vec<Clump>,
    fill: MadeFill,
    slab: Slab,
    near: Near,
    /// Bodies that are in the way of tries in the slab.
    occupied: Occupied,
    /// Number of bodies of the fill among them.
    placed: usize,
    class: u64,
    covered: Option<Covered>,
    /// Indices of the bodies of the class that have no place as yet.
    waiting: Box<dyn Iterator<Item = u64> + Send>,
    /// Number of the try after the last that found a place.
    after: u64,
    /// Indices of the bodies in the share of this process.
    share: Range<u64>,
}

impl SlabSearch {
    /// Begins the search of one of several, given the spheres of each shape of the scene; see [`Searchers::begin`].
    pub fn new(
        spheres: Vec<Vec<ClumpSphere>>,
        mut fill: MadeFill,
        [index, count]: [usize; 2],
    ) -> SlabSearch {
        let shapes: Vec<Clump> = spheres.into_iter().map(bare).collect();
        let region = [fill.numbers.min, fill.numbers.max];
        let slab = Slab::of(region, index, count);
        let end = |index: usize| fill.numbers.count * index as u64 / count as u64;
        let share = end(index)..end(index + 1);
        if let Sites::Random(sites) = &mut fill.sites {
            sites.first = share.start;
            sites.tries = vec![0; (share.end - share.start) as usize];
        }
        SlabSearch {
            waiting: waiting(&fill, 0),
            after: 0,
            share,
            near: Near::new(slab.part_of(region), &shapes, &fill),
            slab,
            occupied: Occupied::new(&shapes),
            placed: 0,
            class: 0,
            covered: None,
            shapes,
            fill,
        }
    }

    /// For each of so many searches, whether a body may be in its way.
    pub fn near(&self, count: usize) -> impl Fn(usize, &ModelBody) -> bool + use<> {
        let region = [self.fill.numbers.min, self.fill.numbers.max];
        let part = |index| Slab::of(region, index, count).part_of(region);
        let near = (0..count).map(|index| Near::new(part(index), &self.shapes, &self.fill));
        let near: Vec<Near> = near.collect();
        move |index, body| near[index].has(body)
    }

    /// Adds a body that is there before.
    pub fn insert(&mut self, body: &ModelBody) {
        self.occupied.insert(body, &self.shapes);
    }

    /// Its share of the bodies.
    pub fn share(self) -> MadeFill {
        self.fill
    }

    /// Notes which bodies have found their places with some tries.
    fn note(&mut self, placed: &[u64]) {
        let class = self.class as usize;
        let Sites::Random(sites) = &mut self.fill.sites else {
            return;
        };
        for number in placed {
            let body = self.waiting.next().expect("each place is that of a body");
            if body < self.share.start {
                sites.done[class] = number + 1;
            } else if body < self.share.end {
                let tries = number + 1 - self.after;
                sites.tries[(body - self.share.start) as usize] = tries as u16;
            }
            self.after = number + 1;
        }
    }

    /// Number of bodies of the fill that it has.
    #[cfg(test)]
    pub fn placed(&self) -> usize {
        self.placed
    }

    /// See [`Searchers::look`]; the tries in the slab.
    pub fn look(&mut self, asked: &Asked) -> Vec<u64> {
        if asked.class != self.class {
            self.class = asked.class;
            self.covered = None;
            self.after = 0;
            self.waiting = waiting(&self.fill, asked.class);
        }
        self.note(&asked.placed);
        let MadeFill { numbers, mix, .. } = &self.fill;
        let sites = self.fill.random_sites();
        let mut tries = sites.tries_of(asked.class, numbers, mix);
        for number in &asked.placed {
            let found = tries.candidate(*number, &self.shapes, |_| false);
            let found = found.expect("the try has found a place");
            if self.near.has(&found.body) {
                self.occupied.take(&found);
                self.placed += 1;
                if let Some(covered) = &mut self.covered {
                    found.spheres.iter().for_each(|own| covered.add(own));
                }
            }
        }
        if asked.crowded && self.covered.is_none() {
            self.covered = tries.covered(self.near.part, self.placed, &self.occupied);
        }
        let around = Surroundings {
            shapes: &self.shapes,
            occupied: &self.occupied,
            covered: self.covered.as_ref(),
            slab: self.slab,
        };
        let numbers: Vec<u64> = asked.tries.clone().collect();
        let (found, _) = around.free_among(&tries, &numbers, &|_| false);
        found.into_iter().map(|(number, _)| number).collect()
    }
}

/// Indices of the bodies of a class of a fill at random.
fn waiting(fill: &MadeFill, class: u64) -> Box<dyn Iterator<Item = u64> + Send> {
    let is_own: Vec<bool> = fill
        .random_sites()
        .classes
        .iter()
        .map(|own| *own == class)
        .collect();
    let all = (0..).zip(choices(&fill.numbers, &fill.mix, 0..fill.numbers.count));
    Box::new(
        all.filter(move |(_, choice)| is_own[*choice])
            .map(|(index, _)| index),
    )
}

/// A shape of which nothing but the spheres matters.
pub(crate) fn bare(spheres: Vec<ClumpSphere>) -> Clump {
    Clump {
        name: String::new(),
        materials: Vec::new(),
        spheres,
        mass: 0.0,
        inertia: DVec3::ZERO,
        center_of_mass: DVec3::ZERO,
        principal_axes: DQuat::IDENTITY,
    }
}
