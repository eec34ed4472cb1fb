//! Fills: many bodies from a short description.

use std::f64::consts::PI;
use std::sync::Arc;

use glam::{DMat3, DQuat, DVec3};
use thiserror::Error;

use super::covered::Covered;
use super::lattice::{GridSites, Lattice, Walk};
use super::made::{MadeFill, Mixed, Numbers, Shapes, Sites, choices};
pub use super::occupied::Occupied;
use super::occupied::{Aabb, Candidate, TOUCH};
use super::random::Random;
use super::search::{RandomSites, Surroundings, Tries};
use super::slab::{Asked, Searchers, Slab};
use crate::math::display::Rounded;
use crate::math::parallel::prelude::*;
use crate::model::ModelBody;
use crate::model::bodies::Shared;
use crate::model::clump::{Clump, union_of_spheres};
use crate::model::flow::Face;
use crate::model::quantity::Quantities;
use crate::model::wall::Probe;

/// Number of random places that are tried for a body before the fill gives up.
const TRIES: u64 = 50_000;
/// Least and largest number of random places that are tried at a time.
const AT_A_TIME: [u64; 2] = [64, 1 << 15];
/// Number of places taken by walls at which the fill gives up: a constant, and a number for each body.
///
/// So the work is in proportion to the number of bodies, not to the size of the region.
const BLOCKED: (u64, u64) = (1_000_000, 20);
/// Tries that take as long as finding the cubes that a placed body covers.
const COVER: u64 = 8;
/// Gap that the default pitch of a grid leaves, as a fraction of the largest bounding diameter.
const GAP: f64 = 1e-3;

/// Placement of the bodies of a fill.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Placement {
    /// On a cubic lattice, layer upon layer from the bottom: x fastest, then z, then y.
    ///
    /// The lattice is centred in x and z. Sites where a body would overlap another body or a wall stay empty.
    Grid {
        /// Pitch of the lattice, m. The default leaves a small gap between the largest bodies of the mix, however they are turned
        /// and displaced.
        spacing: Option<f64>,
        /// Largest random displacement of a body along each axis, m. Bodies stay within the region.
        jitter: f64,
    },
    /// At random places, by random sequential addition with the largest bodies first.
    Random,
    /// At random places, but packed more densely; see [`pack`](mod@super::pack).
    Packed,
}

/// Quantity from which the number of bodies of a fill follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// Mass of all bodies, kg; it is met as nearly as whole bodies allow.
    Mass(f64),
    /// Volume of all bodies over the room in the region; it is met as nearly as whole bodies allow.
    SolidFraction(f64),
    /// All bodies that fit; only with [`Placement::Packed`].
    All,
}

/// Orientation of the bodies of a fill.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Orientation {
    /// A random orientation for each body, uniform over all rotations.
    Random,
    /// One orientation for all bodies: the rotation from the shape's own axes to the world, a unit quaternion.
    Fixed(DQuat),
}

/// A fill: many bodies, described by a few numbers.
///
/// The same fill gives the same bodies on every machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Fill {
    /// Number of bodies.
    pub count: usize,
    /// Quantity from which `count` follows, if the number is not given; [`Fill::settle_count`] finds `count`.
    pub wanted: Option<Wanted>,
    /// Mix of shapes: the index of each shape and its weight, above zero. The probability of a shape is its weight over the sum
    /// of the weights.
    pub shapes: Vec<(usize, f64)>,
    /// Sizes of each shape: a factor of all lengths, and its weight. Empty for the one factor 1; [`Fill::resize`] makes shapes of
    /// them.
    pub sizes: Vec<(f64, f64)>,
    /// Placement of the bodies.
    pub placement: Placement,
    /// Corner of the region with the smallest coordinates, m; the region holds whole bodies.
    pub min: DVec3,
    /// Corner of the region with the largest coordinates, m.
    pub max: DVec3,
    /// Triangles within the region for the centres of mass of bodies that come [one by one](Fill::place_one).
    pub face: Option<Arc<Face>>,
    /// Orientation of the bodies.
    pub orientation: Orientation,
    /// Least and largest velocity, for each component, m/s.
    pub velocity: (DVec3, DVec3),
    /// Least and largest angular velocity in the world frame, for each component, rad/s.
    pub angular_velocity: (DVec3, DVec3),
    /// Index of the group of the bodies in [`Forces::groups`](crate::model::forces::Forces::groups).
    pub group: usize,
    /// Quantities that the bodies carry besides their motion.
    pub quantities: Quantities,
    /// Seed of all random numbers of the fill.
    pub seed: u64,
}

/// The reason why a fill could not be placed; its text is a sentence with a remedy.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FillError {
    /// The mix has no shapes, or its weights give no probabilities.
    #[error(
        "the mix of shapes has no weights to choose by; give at least one shape, and each a weight \
         above zero"
    )]
    NoMix,
    /// The region has no extent along an axis.
    #[error(
        "the region is empty: along {axis}, its min of {min} m is not below its max of {max} m; \
         exchange or move them"
    )]
    EmptyRegion {
        /// `x`, `y` or `z`.
        axis: char,
        /// Lower bound, m.
        min: f64,
        /// Upper bound, m.
        max: f64,
    },
    /// A body does not fit into the region at all.
    #[error(
        "the region is too small for a whole \"{shape}\": along {axis} it is {} m wide, and the \
         body needs {} m; widen the region or take a smaller shape",
        Rounded(*room), Rounded(*needed)
    )]
    RegionTooSmall {
        /// Name of the shape.
        shape: String,
        /// The axis, `x`, `y` or `z`, along which the region lacks most.
        axis: char,
        /// Width of the region, m.
        room: f64,
        /// Width of the body, m. With a random orientation it is that of the bounding sphere on a grid, and elsewhere that in the
        /// best orientation that was tried.
        needed: f64,
    },
    /// Neighbours on the lattice would overlap at the given spacing.
    #[error(
        "the grid's spacing is {} m, less than {} m, the diameter of the smallest sphere \
         in the mix, so neighbours would overlap; take a larger spacing, or leave it out",
        Rounded(*spacing), Rounded(*least)
    )]
    SpacingTooSmall {
        /// The given spacing, m.
        spacing: f64,
        /// Diameter of the smallest sphere, m.
        least: f64,
    },
    /// The lattice has too few free sites.
    #[error(
        "placed {placed} of {count} bodies; the grid is full: it has {} x {} x {} = {} sites (x, y, z) \
         {} m apart, and at {blocked} of them a body would overlap another or a wall; enlarge \
         the region, reduce the count or the spacing, or place at random",
        sites[0], sites[1], sites[2], sites.iter().map(|&n| n as f64).product::<f64>(),
        Rounded(*pitch)
    )]
    GridFull {
        /// Number of bodies placed.
        placed: usize,
        /// Number of bodies wanted.
        count: usize,
        /// Number of sites along x, y and z.
        sites: [u64; 3],
        /// Number of sites that stayed empty, because a body would have overlapped another body or a wall.
        blocked: u64,
        /// Distance between neighbouring sites, m.
        pitch: f64,
    },
    /// Bodies of a dense fill could not be moved apart.
    #[error(
        "{count} bodies are too many to pack: eased apart, {remaining} overlaps are left, the deepest {:.1} % of the \
         smaller radius; enlarge the region, or take fewer bodies", 100.0 * worst
    )]
    Jammed {
        /// Number of bodies wanted.
        count: usize,
        /// Their volume over the room in the region.
        solid_fraction: f64,
        /// Number of overlaps that are left.
        remaining: usize,
        /// Depth of the deepest overlap, as a fraction of the smaller radius.
        worst: f64,
    },
    /// Nearly all of the region is inside or behind walls.
    #[error(
        "placed {placed} of {count} bodies; {blocked} places that were tried are inside or behind walls; \
         narrow the region to where bodies can be"
    )]
    Walled {
        /// Number of bodies placed.
        placed: usize,
        /// Number of bodies wanted.
        count: usize,
        /// Number of tried places that walls took.
        blocked: u64,
    },
    /// Random tries found no free place for a body.
    #[error(
        "placed {placed} of {count} bodies at random; then no free place for a \"{shape}\" was found \
         in {tries} tries: the spheres of all {count} would take {} m^3 of the \
         region's {} m^3 ({:.0} %), and more than about 20 % is rarely reached at \
         random; enlarge the region, reduce the count, or place on a grid",
        Rounded(*sphere_volume), Rounded(*region_volume), 100.0 * sphere_volume / region_volume
    )]
    Crowded {
        /// Number of bodies placed; the largest of the mix are placed first.
        placed: usize,
        /// Number of bodies wanted.
        count: usize,
        /// Name of the shape that found no place.
        shape: String,
        /// Number of places tried.
        tries: usize,
        /// Volume of the region, m³.
        region_volume: f64,
        /// Sum of the volumes of the spheres of all bodies wanted, m³.
        sphere_volume: f64,
    },
}

impl Fill {
    /// Replaces each shape of the mix by those of its sizes, which are added to `shapes`.
    pub fn resize(&mut self, shapes: &mut Vec<Clump>) {
        let sizes = std::mem::take(&mut self.sizes);
        if sizes.is_empty() {
            return;
        }
        let total: f64 = sizes.iter().map(|(_, weight)| weight).sum();
        let mix = std::mem::take(&mut self.shapes);
        for (shape, weight) in mix {
            for (factor, part) in &sizes {
                shapes.push(shapes[shape].scaled(*factor));
                self.shapes.push((shapes.len() - 1, weight * part / total));
            }
        }
    }

    /// Makes the bodies, and adds their space to `occupied`.
    ///
    /// Each body is wholly within the region, and overlaps no body in `occupied` and no wall. If the middle of the region is
    /// inside a wall, so is each body. `shapes` are those of the scene, for which `occupied` was made.
    ///
    /// # Errors
    ///
    /// A [`FillError`] says why the bodies cannot be placed; `occupied` may then hold some of them.
    pub fn place(
        &self,
        shapes: &[Clump],
        occupied: &mut Occupied,
        walls: &[Probe],
    ) -> Result<Vec<ModelBody>, FillError> {
        let mut bodies = Vec::with_capacity(self.count);
        let made = self.place_made(shapes, occupied, walls, &|_| true)?;
        made.each(&mut |body| bodies.push(*body));
        Ok(bodies)
    }

    /// Does as [`Fill::place`], but returns what the bodies follow from. On a grid, only the space of bodies that `matter` is added to
    /// `occupied`.
    ///
    /// # Errors
    ///
    /// As [`Fill::place`].
    pub(crate) fn place_made(
        &self,
        shapes: &[Clump],
        occupied: &mut Occupied,
        walls: &[Probe],
        matters: &dyn Fn(&ModelBody) -> bool,
    ) -> Result<MadeFill, FillError> {
        self.check()?;
        let filling = Filling::new(self, shapes, walls, occupied);
        match self.placement {
            Placement::Grid { .. } => filling.on_grid(matters),
            Placement::Random | Placement::Packed => filling.at_random(),
        }
    }

    /// Does as [`Fill::place`] at random with several processes, each of which then has a share of the bodies. Their space is not added
    /// to `occupied`.
    ///
    /// # Errors
    ///
    /// As [`Fill::place`].
    pub(crate) fn place_together(
        &self,
        shapes: &[Clump],
        occupied: &mut Occupied,
        walls: &[Probe],
        together: &Together,
    ) -> Result<Shared, FillError> {
        self.check()?;
        Filling::new(self, shapes, walls, occupied).at_random_together(together)
    }

    /// Checks that the mix and the region make sense.
    fn check(&self) -> Result<(), FillError> {
        let total: f64 = self.shapes.iter().map(|&(_, weight)| weight).sum();
        let positive = self.shapes.iter().all(|&(_, weight)| weight > 0.0);
        if self.shapes.is_empty() || !positive || !total.is_finite() {
            return Err(FillError::NoMix);
        }
        if let Some(axis) = (0..3).find(|&axis| self.min[axis] >= self.max[axis]) {
            return Err(FillError::EmptyRegion {
                axis: AXES[axis],
                min: self.min[axis],
                max: self.max[axis],
            });
        }
        Ok(())
    }

    /// Numbers that its bodies have in common.
    fn numbers(&self) -> Numbers {
        Numbers {
            count: self.count as u64,
            seed: self.seed,
            group: self.group as u64,
            turned: u64::from(self.orientation == Orientation::Random),
            min: self.min,
            max: self.max,
            velocity: self.velocity.into(),
            angular_velocity: self.angular_velocity.into(),
            quantities: self.quantities.array(),
        }
    }

    /// The mix without bodies.
    fn mixed(&self, shapes: &[Clump]) -> Vec<Mixed> {
        let own =
            |&(shape, weight): &(usize, f64)| Mixed::new(shape, weight, self.turn(&shapes[shape]));
        self.shapes.iter().map(own).collect()
    }

    /// Orientation of a body of a shape, unless each has its own.
    fn turn(&self, clump: &Clump) -> DQuat {
        match self.orientation {
            Orientation::Random => DQuat::IDENTITY,
            Orientation::Fixed(world_from_shape) => world_from_shape * clump.principal_axes,
        }
    }

    /// Whether no two of its bodies can overlap, wherever they are on a lattice.
    #[cfg(feature = "scene")]
    pub(crate) fn is_apart(&self, shapes: &[Clump]) -> bool {
        let bounds = self
            .shapes
            .iter()
            .map(|&(shape, _)| shapes[shape].bounding_radius());
        let bound = bounds.fold(0.0, f64::max);
        match self.placement {
            Placement::Grid {
                spacing: Some(spacing),
                jitter,
            } => spacing >= 2.0 * (bound + jitter),
            Placement::Grid { spacing: None, .. } => true,
            Placement::Random | Placement::Packed => false,
        }
    }

    /// Whether a body may be in the way of one of the fill; its images in a periodic box do not count.
    pub(crate) fn may_meet(&self, body: &ModelBody, shapes: &[Clump]) -> bool {
        let reach = shapes[body.shape].bounding_radius() * (1.0 + TOUCH);
        let above = (body.position + reach).cmpge(self.min).all();
        above && (body.position - reach).cmple(self.max).all()
    }

    /// Sets the number of bodies, if it follows from another quantity.
    ///
    /// `shapes` and `walls` are those of the scene. It draws the same shapes as [`Fill::place`].
    pub fn settle_count(&mut self, shapes: &[Clump], walls: &[Probe]) {
        let mass = |clump: &Clump| clump.mass;
        let (wanted, of): (f64, &dyn Fn(&Clump) -> f64) = match self.wanted {
            None => return,
            Some(Wanted::Mass(wanted)) => (wanted, &mass),
            Some(Wanted::SolidFraction(part)) => (part * self.room(walls), &volume),
            Some(Wanted::All) => (super::pack::DENSEST * self.room(walls), &volume),
        };
        let mut measure = vec![0.0; shapes.len()];
        for &(shape, _) in &self.shapes {
            measure[shape] = of(&shapes[shape]);
        }
        let mut shapes = self.chosen_with(Random::new(self.seed));
        let mut sum = 0.0;
        self.count = 0;
        loop {
            let next = measure[self.shapes[shapes.choose()].0];
            if self.count > 0 && sum + 0.5 * next > wanted {
                return;
            }
            sum += next;
            self.count += 1;
        }
    }

    /// Volume of the part of the region that walls leave free, m³; sampled at the middles of 32 × 32 × 32 parts.
    pub fn room(&self, walls: &[Probe]) -> f64 {
        const PARTS: usize = 32;
        let size = self.max - self.min;
        let middle = 0.5 * (self.min + self.max);
        let tiny = 1e-6 * size.min_element();
        let is_free = |index: usize| {
            let part = [index, index / PARTS, index / (PARTS * PARTS)];
            let part = DVec3::from(part.map(|k| (k % PARTS) as f64 + 0.5)) / PARTS as f64;
            let place = self.min + size * part;
            let mut walls = walls.iter();
            walls.all(|wall| wall.depth(place, tiny, 0.0).is_none() && !wall.parts(place, middle))
        };
        let all = PARTS * PARTS * PARTS;
        let free = (0..all).into_par_iter().filter(|&index| is_free(index));
        let free: Vec<usize> = free.collect();
        size.element_product() * free.len() as f64 / all as f64
    }

    /// The shape of the body with the number `number` among those that come [one by one](Fill::place_one).
    pub fn shape_of(&self, number: u64) -> usize {
        let mut shapes = self.chosen_with(Random::stream(self.seed, number, 0));
        self.shapes[shapes.choose()].0
    }

    /// Places one body at a random place, and adds its space to `occupied`; `None` if `tries` places are not free.
    ///
    /// The body is wholly within the region, except along axes in which the region has no width: there its centre of mass lies in
    /// the region. With a face, its centre of mass lies on the face. All random numbers depend only on the seed of the fill, the
    /// number of the body and the number of the attempt.
    pub fn place_one(
        &self,
        shape: usize,
        (number, attempt): (u64, u64),
        tries: usize,
        shapes: &[Clump],
        occupied: &mut Occupied,
        walls: &[Probe],
    ) -> Option<ModelBody> {
        let mut filling = Filling::new(self, shapes, walls, occupied);
        let numbers = self.numbers();
        let own = Mixed::new(shape, 1.0, self.turn(&shapes[shape]));
        let mut random = Random::stream(self.seed, number, attempt + 1);
        let flat = self.min.cmpge(self.max);
        for _ in 0..tries {
            let orientation = numbers.turn(&own, &mut random);
            let position = match &self.face {
                Some(face) => face.point([random.unit(), random.unit(), random.unit()]),
                None => {
                    let turn = DMat3::from_quat(orientation);
                    let hull = Aabb::of(&shapes[shape].spheres, turn);
                    let low = DVec3::select(flat, self.min, self.min - hull.min);
                    let high = DVec3::select(flat, self.min, self.max - hull.max);
                    if low.cmpgt(high).any() {
                        continue;
                    }
                    random.within(low, high)
                }
            };
            let body = ModelBody {
                shape,
                // A coordinate is never -0.
                position: DVec3::ZERO + position,
                orientation,
                ..ModelBody::default()
            };
            let candidate = Candidate::new(body, shapes);
            if filling.is_free(&candidate) {
                filling.occupied.take(&candidate);
                return Some(numbers.settle(body, &mut random));
            }
        }
        None
    }

    /// The mix, from which shapes are chosen with these random numbers.
    fn chosen_with(&self, random: Random) -> Shapes {
        Shapes::new(self.shapes.iter().map(|&(_, weight)| weight), random)
    }
}

const AXES: [char; 3] = ['x', 'y', 'z'];

/// Searchers for the places of a random fill, and the fills before it that they have placed: the bodies of these are known to nobody
/// else.
pub(crate) struct Together<'a> {
    pub searchers: &'a dyn Searchers,
    pub before: Vec<&'a Shared>,
}

/// A fill at work.
struct Filling<'a> {
    fill: &'a Fill,
    shapes: &'a [Clump],
    walls: &'a [Probe],
    occupied: &'a mut Occupied,
    /// Number of bodies placed at random so far.
    placed: usize,
    /// Number of places so far that walls took.
    blocked: u64,
}

impl<'a> Filling<'a> {
    fn new(
        fill: &'a Fill,
        shapes: &'a [Clump],
        walls: &'a [Probe],
        occupied: &'a mut Occupied,
    ) -> Filling<'a> {
        Filling {
            fill,
            shapes,
            walls,
            occupied,
            placed: 0,
            blocked: 0,
        }
    }

    /// Makes bodies on a grid, and adds the space of those that `matter`.
    fn on_grid(mut self, matters: &dyn Fn(&ModelBody) -> bool) -> Result<MadeFill, FillError> {
        let mut mix = self.fill.mixed(self.shapes);
        let mut sites = self.grid()?;
        let numbers = self.fill.numbers();
        let count = self.fill.count;
        let mut shapes = Shapes::of_fill(&numbers, &mix, 0);
        let mut walk = Walk::new(&numbers, &sites);
        let mut blocked = 0;
        for placed in 0..count {
            let choice = shapes.choose();
            loop {
                let site = walk.number;
                let Some(body) = walk.next(&mix[choice], sites.hulls[choice]) else {
                    return Err(FillError::GridFull {
                        placed,
                        count,
                        sites: sites.lattice.counts,
                        blocked,
                        pitch: sites.lattice.pitch,
                    });
                };
                let candidate = Candidate::new(body, self.shapes);
                if self.is_free(&candidate) {
                    let body = walk.settle(body);
                    mix[choice].count += 1;
                    if matters(&body) {
                        self.occupied.take(&candidate);
                    }
                    break;
                }
                sites.leave_empty(site);
                blocked += 1;
                self.check_walls(placed, count)?;
            }
        }
        Ok(MadeFill {
            numbers,
            mix,
            sites: Sites::Grid(sites),
        })
    }

    /// The grid, as if nothing else were there.
    fn grid(&self) -> Result<GridSites, FillError> {
        let fill = self.fill;
        let Placement::Grid { spacing, jitter } = fill.placement else {
            unreachable!("the fill is on a grid");
        };
        let mut bound: f64 = 0.0;
        let mut smallest = f64::INFINITY;
        let mut largest = DVec3::ZERO;
        let mut hulls = Vec::with_capacity(fill.shapes.len());
        for &(shape, _) in &fill.shapes {
            let clump = &self.shapes[shape];
            bound = bound.max(clump.bounding_radius());
            let radii = clump.spheres.iter().map(|sphere| sphere.radius);
            smallest = radii.fold(smallest, f64::min);
            let hull = self.hull(shape);
            if hull.lack(fill.min, fill.max).0 > 0.0 {
                return Err(self.too_small_for(shape, &hull));
            }
            largest = largest.max(hull.half_width());
            hulls.push([hull.center(), hull.half_width()]);
        }
        let least = 2.0 * smallest;
        let pitch = match spacing {
            Some(spacing) if spacing < least * (1.0 - TOUCH) => {
                return Err(FillError::SpacingTooSmall { spacing, least });
            }
            Some(spacing) => spacing,
            None => 2.0 * bound * (1.0 + GAP) + 2.0 * jitter,
        };
        Ok(GridSites {
            lattice: Lattice::new(fill.min + largest, fill.max - largest, pitch),
            jitter,
            hulls,
            empty: Vec::new(),
        })
    }

    /// The hull of a body on the grid: a box from its centre of mass on, which must be within the region.
    ///
    /// With random orientations it is the box of the bounding sphere, so that all orientations fit the same sites.
    fn hull(&self, shape: usize) -> Aabb {
        let clump = &self.shapes[shape];
        match self.fill.orientation {
            Orientation::Random => {
                let bound = DVec3::splat(clump.bounding_radius());
                Aabb {
                    min: -bound,
                    max: bound,
                }
            }
            Orientation::Fixed(_) => {
                Aabb::of(&clump.spheres, DMat3::from_quat(self.fill.turn(clump)))
            }
        }
    }

    /// Places bodies by random sequential addition, the largest first.
    fn at_random(mut self) -> Result<MadeFill, FillError> {
        let mut made = self.without_places();
        let found = self.search(&made, None)?;
        if let Sites::Random(sites) = &mut made.sites {
            sites.tries = found;
        }
        Ok(made)
    }

    /// Does as [`Filling::at_random`] with several processes.
    fn at_random_together(mut self, together: &Together) -> Result<Shared, FillError> {
        let Together { searchers, before } = together;
        let made = self.without_places();
        searchers.begin(self.shapes, &made, before);
        let found = self.search(&made, Some(*searchers));
        let shared = searchers.end(found.is_ok());
        found.map(|_| shared.expect("all bodies have a place"))
    }

    /// A fill at random whose bodies have no places as yet.
    fn without_places(&self) -> MadeFill {
        let numbers = self.fill.numbers();
        let mut mix = self.fill.mixed(self.shapes);
        choices(&numbers, &mix, 0..numbers.count).for_each(|choice| mix[choice].count += 1);
        MadeFill {
            sites: Sites::Random(RandomSites::new(&mix, self.shapes)),
            numbers,
            mix,
        }
    }

    /// Finds the places of the bodies of a fill. Returns the number of tries of each, unless searchers note them.
    fn search(
        &mut self,
        made: &MadeFill,
        searchers: Option<&dyn Searchers>,
    ) -> Result<Vec<u16>, FillError> {
        let mut found = match searchers {
            Some(_) => Vec::new(),
            None => vec![0; self.fill.count],
        };
        for class in 0..made.random_sites().class_count() {
            let class = Class::new(class, made);
            self.search_class(&class, searchers, &mut found)?;
        }
        Ok(found)
    }

    /// Finds the places of the bodies of a class.
    fn search_class(
        &mut self,
        class: &Class,
        searchers: Option<&dyn Searchers>,
        found: &mut [u16],
    ) -> Result<(), FillError> {
        let Class { tries, .. } = class;
        let count = self.fill.count;
        let mut waiting = class.bodies().peekable();
        let mut left = class.body_count();
        // Numbers of the try after the last that was made, and of that after the last that found a place.
        let (mut next, mut after) = (0, 0);
        // Number of tries that the rest takes, if all goes on as in the last ones.
        let mut rest = 2 * left;
        let mut covered: Option<Covered> = None;
        let mut asked = Asked {
            class: class.number,
            ..Asked::default()
        };
        while left > 0 {
            let end = next + rest.clamp(AT_A_TIME[0], AT_A_TIME[1]);
            asked.tries = next..end;
            let numbers = match searchers {
                Some(searchers) => searchers.look(&asked),
                None => asked.tries.clone().collect(),
            };
            asked.placed.clear();
            // Only these can be in the way of a try whose place was free before.
            let mut latest = Occupied::new(self.shapes);
            let before = self.placed;
            for (number, candidate) in self.free_among(tries, &numbers, covered.as_ref()) {
                let tried = number + 1 - after;
                if tried > TRIES {
                    break;
                }
                if latest.clashes_with(&candidate) {
                    continue;
                }
                let Some((index, _)) = waiting.next() else {
                    break;
                };
                latest.take(&candidate);
                if searchers.is_some() {
                    asked.placed.push(number);
                } else {
                    self.occupied.take(&candidate);
                }
                if let Some(covered) = &mut covered {
                    candidate.spheres.iter().for_each(|own| covered.add(own));
                }
                if let Some(found) = found.get_mut(index) {
                    *found = tried as u16;
                }
                after = number + 1;
                self.placed += 1;
                left -= 1;
            }
            rest = left * (end - next) / ((self.placed - before) as u64).max(1);
            asked.crowded = rest > COVER * self.placed as u64;
            if asked.crowded && searchers.is_none() && covered.is_none() {
                let region = [self.fill.min, self.fill.max];
                covered = tries.covered(region, self.placed, self.occupied);
            }
            next = end;
            if let Some((_, choice)) = waiting.peek()
                && next - after >= TRIES
            {
                return Err(self.no_place(class, *choice, after));
            }
            self.check_walls(self.placed, count)?;
        }
        if let Some(searchers) = searchers
            && !asked.placed.is_empty()
        {
            // Bodies of the next class keep away from these.
            asked.tries = next..next;
            searchers.look(&asked);
        }
        Ok(())
    }

    /// Some tries, in order: all whose places neither a wall nor a body has that is there already.
    fn free_among(
        &mut self,
        tries: &Tries,
        numbers: &[u64],
        covered: Option<&Covered>,
    ) -> Vec<(u64, Candidate)> {
        let around = Surroundings {
            shapes: self.shapes,
            occupied: self.occupied,
            covered,
            slab: Slab::WHOLE,
        };
        let (free, blocked) =
            around.free_among(tries, numbers, &|candidate| self.is_blocked(candidate));
        self.blocked += blocked;
        free
    }

    /// Says why no try from `first` on found a place for a body of this shape of the mix.
    fn no_place(&self, class: &Class, choice: usize, first: u64) -> FillError {
        let mix = &class.made.mix;
        let shape = mix[choice].shape as usize;
        let lack = |hull: &Aabb| hull.lack(self.fill.min, self.fill.max).0;
        let mut tries = class.tries.clone();
        let hulls = (first..first + TRIES).map(|number| tries.nth(number).hull);
        let nearest = hulls.min_by(|a, b| lack(a).total_cmp(&lack(b)));
        if let Some(hull) = nearest.filter(|hull| lack(hull) > 0.0) {
            return self.too_small_for(shape, &hull);
        }
        let volumes = mix
            .iter()
            .map(|own| own.count as f64 * sphere_volume(&self.shapes[own.shape as usize]));
        FillError::Crowded {
            placed: self.placed,
            count: self.fill.count,
            shape: self.shapes[shape].name.clone(),
            tries: TRIES as usize,
            region_volume: (self.fill.max - self.fill.min).element_product(),
            sphere_volume: volumes.sum(),
        }
    }

    fn is_free(&mut self, candidate: &Candidate) -> bool {
        let blocked = self.is_blocked(candidate);
        self.blocked += u64::from(blocked);
        !blocked && !self.occupied.clashes_with(candidate)
    }

    /// Whether a wall has the place.
    fn is_blocked(&self, candidate: &Candidate) -> bool {
        let middle = 0.5 * (self.fill.min + self.fill.max);
        let mut walls = self.walls.iter();
        !walls.all(|wall| candidate.is_clear_of(wall, middle))
    }

    /// Gives up if walls take nearly all places.
    fn check_walls(&self, placed: usize, count: usize) -> Result<(), FillError> {
        let (least, each) = BLOCKED;
        let blocked = self.blocked;
        match blocked > least + each * count as u64 {
            true => Err(FillError::Walled {
                placed,
                count,
                blocked,
            }),
            false => Ok(()),
        }
    }

    fn too_small_for(&self, shape: usize, hull: &Aabb) -> FillError {
        let (_, axis) = hull.lack(self.fill.min, self.fill.max);
        FillError::RegionTooSmall {
            shape: self.shapes[shape].name.clone(),
            axis: AXES[axis],
            room: (self.fill.max - self.fill.min)[axis],
            needed: 2.0 * hull.half_width()[axis],
        }
    }
}

/// Bodies of a random fill that find their places one after the other.
struct Class<'a> {
    number: u64,
    made: &'a MadeFill,
    tries: Tries<'a>,
}

impl<'a> Class<'a> {
    /// A class of a fill.
    fn new(number: u64, made: &'a MadeFill) -> Class<'a> {
        let sites = made.random_sites();
        Class {
            number,
            made,
            tries: sites.tries_of(number, &made.numbers, &made.mix),
        }
    }

    /// Its bodies: the index of each, and the place in the mix of its shape.
    fn bodies(&self) -> impl Iterator<Item = (usize, usize)> + use<'_> {
        let all = choices(
            &self.made.numbers,
            &self.made.mix,
            0..self.made.numbers.count,
        )
        .enumerate();
        all.filter(|(_, choice)| self.made.random_sites().classes[*choice] == self.number)
    }

    /// Number of its bodies.
    fn body_count(&self) -> u64 {
        let mix = self.made.mix.iter();
        let mix = mix.zip(&self.made.random_sites().classes);
        let own = mix.filter(|(_, class)| **class == self.number);
        own.map(|(own, _)| own.count).sum()
    }
}

/// Volume of the union of a clump's spheres, m³.
pub(crate) fn volume(clump: &Clump) -> f64 {
    union_of_spheres(&clump.spheres, 1.0).mass
}

fn sphere_volume(clump: &Clump) -> f64 {
    let cubes = clump.spheres.iter().map(|sphere| sphere.radius.powi(3));
    4.0 / 3.0 * PI * cubes.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io;

    use xxhash_rust::xxh3::xxh3_64;

    use super::*;
    use crate::math::parallel::Threads;
    use crate::model::bodies::{Brought, ContactList, Holder, Others, Piece, Share};
    use crate::model::bond::BondLaw;
    use crate::model::bonds::Bonds;
    use crate::model::clump::{ClumpSphere, shapes};
    use crate::model::packing::overlap::tests::{ball, body, clump, plane, world};
    use crate::model::packing::overlap::{Harmless, Unrelaxed, World};
    use crate::model::packing::overlap::{overlaps, spheres_of};
    use crate::model::packing::pack::Packing;
    use crate::model::packing::slab::SlabSearch;
    use crate::model::{Bodies, Domain};

    /// A ball, a block, a rod, and a lopsided pair whose principal axes are not its shape axes.
    fn mixed() -> Vec<Clump> {
        let axes = DQuat::from_xyzw(0.5, 0.5, 0.5, 0.5);
        let lopsided = [(0.02, 0.05), (-0.1, 0.02)].map(|(x, radius)| ClumpSphere {
            center: axes.inverse() * DVec3::new(x, 0.0, 0.0),
            radius,
        });
        vec![
            ball(0.05),
            clump(shapes::cube(2, 0.03, None)),
            clump(shapes::rod(6, 0.02, None)),
            Clump {
                principal_axes: axes,
                ..clump(lopsided.to_vec())
            },
        ]
    }

    fn fill(count: usize, placement: Placement) -> Fill {
        Fill {
            count,
            wanted: None,
            shapes: vec![(0, 2.0), (1, 3.0), (2, 1.0), (3, 1.0)],
            sizes: Vec::new(),
            placement,
            min: DVec3::new(-1.0, 0.0, -0.7),
            max: DVec3::new(0.8, 1.5, 0.9),
            face: None,
            orientation: Orientation::Random,
            velocity: (DVec3::ZERO, DVec3::ZERO),
            angular_velocity: (DVec3::ZERO, DVec3::ZERO),
            group: 0,
            quantities: Quantities::default(),
            seed: 7,
        }
    }

    const GRID: Placement = Placement::Grid {
        spacing: None,
        jitter: 0.0,
    };

    fn place(fill: &Fill, shapes: &[Clump]) -> Vec<ModelBody> {
        fill.place(shapes, &mut Occupied::new(shapes), &[])
            .unwrap_or_else(|error| panic!("{error}"))
    }

    fn error(fill: &Fill, shapes: &[Clump]) -> FillError {
        fill.place(shapes, &mut Occupied::new(shapes), &[])
            .expect_err("an impossible fill")
    }

    fn assert_whole_and_apart(fill: &Fill, bodies: &[ModelBody], shapes: &[Clump]) {
        assert_eq!(bodies.len(), fill.count);
        for body in bodies {
            for (center, radius) in spheres_of(body, shapes) {
                assert!((center - radius).cmpge(fill.min - 1e-9).all(), "{body:?}");
                assert!((center + radius).cmple(fill.max + 1e-9).all(), "{body:?}");
            }
        }
        assert_eq!(overlaps(bodies, world(shapes, &[], None), 2.0 * TOUCH), []);
    }

    #[test]
    fn bodies_are_made_again_without_what_took_their_places() {
        let shapes = mixed();
        let walls = [plane(DVec3::Y * 0.2, DVec3::Y)];
        let others = [body(1, DVec3::new(0.3, 0.6, 0.3)), body(2, DVec3::Y * 0.9)];
        let turned = Orientation::Fixed(DQuat::from_xyzw(0.0, 0.0, 0.5f64.sqrt(), 0.5f64.sqrt()));
        let grid = |spacing, jitter| Placement::Grid { spacing, jitter };
        for (placement, orientation, count) in [
            (grid(None, 0.0), Orientation::Random, 60),
            (grid(None, 0.02), turned, 60),
            (grid(Some(0.31), 0.01), Orientation::Random, 60),
            (grid(Some(0.15), 0.03), Orientation::Random, 60),
            (Placement::Random, Orientation::Random, 600),
            (Placement::Random, turned, 600),
        ] {
            let fill = Fill {
                velocity: (DVec3::NEG_ONE, DVec3::ONE),
                orientation,
                group: 3,
                ..fill(count, placement)
            };
            let mut occupied = Occupied::new(&shapes);
            for body in &others {
                occupied.insert(body, &shapes);
            }
            let made = fill.place_made(&shapes, &mut occupied, &walls, &|_| true);
            let made = made.unwrap();
            let refused: u64 = match &made.sites {
                Sites::Grid(sites) => sites.empty.iter().map(|[start, end]| end - start).sum(),
                Sites::Random(sites) => sites.tries.iter().map(|&tries| u64::from(tries) - 1).sum(),
            };
            assert!(refused > 3, "{placement:?}: {refused}");
            let mut placed = others.to_vec();
            made.each(&mut |body| placed.push(*body));
            assert_eq!(placed.len(), 2 + count, "{placement:?}");
            let around = world(&shapes, &walls, None);
            assert_eq!(overlaps(&placed, around, 2.0 * TOUCH), [], "{placement:?}");
            assert!(placed[2..].iter().all(|body| body.group == 3));
            for own in &made.mix {
                let count = placed[2..]
                    .iter()
                    .filter(|body| body.shape as u64 == own.shape);
                assert_eq!(count.count() as u64, own.count, "{placement:?}");
            }
        }
    }

    #[test]
    fn fills_that_need_not_remember_bodies_are_known() {
        let shapes = mixed();
        let grid = |spacing, jitter| fill(60, Placement::Grid { spacing, jitter });
        assert!(grid(None, 0.02).is_apart(&shapes));
        assert!(grid(Some(0.31), 0.01).is_apart(&shapes));
        assert!(!grid(Some(0.2), 0.0).is_apart(&shapes));
        assert!(!fill(60, Placement::Random).is_apart(&shapes));
        let at = |x: f64| grid(None, 0.0).may_meet(&body(0, DVec3::X * x), &shapes);
        assert_eq!(
            [-1.06, -1.05, 0.0, 0.85, 0.86].map(at),
            [false, true, true, true, false]
        );
    }

    #[test]
    fn bodies_are_whole_in_the_region_and_apart() {
        let shapes = mixed();
        let random = fill(700, Placement::Random);
        assert_whole_and_apart(&random, &place(&random, &shapes), &shapes);
        for (spacing, jitter) in [
            (None, 0.0),
            (None, 0.02),
            (Some(0.15), 0.03),
            (Some(0.3), 0.0),
        ] {
            let grid = fill(100, Placement::Grid { spacing, jitter });
            assert_whole_and_apart(&grid, &place(&grid, &shapes), &shapes);
        }
    }

    #[test]
    fn the_region_is_used_up_to_its_faces() {
        let shapes = [ball(0.05)];
        let fill = Fill {
            shapes: vec![(0, 1.0)],
            ..fill(500, Placement::Random)
        };
        let bodies = place(&fill, &shapes);
        let low = bodies.iter().map(|b| b.position).reduce(DVec3::min);
        let high = bodies.iter().map(|b| b.position).reduce(DVec3::max);
        assert!((low.expect("bodies") - 0.05 - fill.min).max_element() < 0.02);
        assert!((fill.max - 0.05 - high.expect("bodies")).max_element() < 0.02);
    }

    #[test]
    fn the_same_seed_gives_the_same_bodies_on_every_machine() {
        let shapes = mixed();
        let hash = |fill: &Fill| {
            let bytes: Vec<u8> = place(fill, &shapes)
                .iter()
                .flat_map(|body| {
                    let mut numbers = vec![body.shape as f64];
                    numbers.extend(body.position.to_array());
                    numbers.extend(body.orientation.to_array());
                    numbers.extend(body.velocity.to_array());
                    numbers.extend(body.angular_velocity.to_array());
                    numbers
                })
                .flat_map(f64::to_le_bytes)
                .collect();
            xxh3_64(&bytes)
        };
        let moving = |placement| Fill {
            velocity: (DVec3::NEG_ONE, DVec3::ONE),
            angular_velocity: (DVec3::ZERO, DVec3::ONE),
            ..fill(200, placement)
        };
        let random = moving(Placement::Random);
        let grid = moving(Placement::Grid {
            spacing: Some(0.2),
            jitter: 0.01,
        });
        assert_eq!(hash(&random), 1251464827910969319);
        assert_eq!(hash(&grid), 2421863383623221510);
        let other = Fill { seed: 8, ..random };
        assert_ne!(hash(&other), hash(&fill(200, Placement::Random)));
    }

    #[test]
    fn shapes_are_mixed_by_weight() {
        let shapes = vec![ball(0.01); 3];
        let fill = Fill {
            shapes: vec![(2, 6.0), (0, 3.0), (1, 1.0)],
            ..fill(10_000, GRID)
        };
        let mut counts = [0; 3];
        for body in place(&fill, &shapes) {
            counts[body.shape] += 1;
        }
        // Three standard deviations are at most 150.
        for (count, expected) in counts.into_iter().zip([3000i32, 1000, 6000]) {
            assert!((expected - count).abs() < 150, "{counts:?}");
        }
    }

    #[test]
    fn orientations_are_uniform() {
        let mut random = Random::new(1);
        let n = 20_000;
        let (mut mean, mut squares) = (DVec3::ZERO, DVec3::ZERO);
        let mut angle_cosine = 0.0;
        for _ in 0..n {
            let rotation = random.rotation();
            assert!(rotation.is_normalized());
            let turned = rotation * DVec3::new(2.0, 1.0, -2.0) / 3.0;
            mean += turned / n as f64;
            squares += turned * turned / n as f64;
            angle_cosine += (2.0 * rotation.w * rotation.w - 1.0) / n as f64;
        }
        assert!(mean.abs().max_element() < 0.02, "{mean}");
        assert!(
            (squares - 1.0 / 3.0).abs().max_element() < 0.01,
            "{squares}"
        );
        // The mean trace of a uniform rotation is 0, so that of cos(angle) is -1/2.
        assert!((angle_cosine + 0.5).abs() < 0.02, "{angle_cosine}");
    }

    #[test]
    fn velocities_are_in_their_ranges() {
        let fill = Fill {
            velocity: (DVec3::new(1.0, -3.0, 5.0), DVec3::new(2.0, 3.0, 5.0)),
            angular_velocity: (DVec3::ZERO, DVec3::X),
            ..fill(200, Placement::Random)
        };
        let bodies = place(&fill, &mixed());
        for body in &bodies {
            assert!(body.velocity.cmpge(fill.velocity.0).all());
            assert!(body.velocity.cmple(fill.velocity.1).all());
            assert!((0.0..1.0).contains(&body.angular_velocity.x));
            assert_eq!(body.angular_velocity.y, 0.0);
            assert!(!body.fixed);
        }
        let mean = bodies.iter().map(|body| body.velocity).sum::<DVec3>() / 200.0;
        assert!((mean - DVec3::new(1.5, 0.0, 5.0)).abs().max_element() < 0.5);
        assert!(bodies[0].velocity != bodies[1].velocity);
    }

    #[test]
    fn a_fixed_orientation_is_that_of_the_shape_axes() {
        let shapes = mixed();
        let quarter = DQuat::from_xyzw(0.0, 0.0, 0.5f64.sqrt(), 0.5f64.sqrt());
        for placement in [Placement::Random, GRID] {
            let fill = Fill {
                shapes: vec![(3, 1.0)],
                orientation: Orientation::Fixed(quarter),
                ..fill(20, placement)
            };
            let bodies = place(&fill, &shapes);
            assert_whole_and_apart(&fill, &bodies, &shapes);
            for body in &bodies {
                // The small sphere is along -x in the shape's axes, and that is now the world's -y.
                let spheres: Vec<_> = spheres_of(body, &shapes).collect();
                let between = spheres[1].0 - spheres[0].0;
                assert!(between.distance(DVec3::Y * -0.12) < 1e-12, "{between}");
            }
        }
    }

    #[test]
    fn a_grid_fills_layer_by_layer_from_the_bottom() {
        let shapes = [ball(0.05)];
        // A region cut to fit: round-off must not cost a layer, and balls may touch.
        let fill = Fill {
            shapes: vec![(0, 1.0)],
            min: DVec3::new(-0.15, 0.3, -0.12),
            max: DVec3::new(0.15, 0.7, 0.12),
            ..fill(
                24,
                Placement::Grid {
                    spacing: Some(0.1),
                    jitter: 0.0,
                },
            )
        };
        let bodies = place(&fill, &shapes);
        assert_whole_and_apart(&fill, &bodies, &shapes);
        for (index, body) in bodies.iter().enumerate() {
            let [x, z, y] = [index % 3, index / 3 % 2, index / 6].map(|i| i as f64);
            let site = DVec3::new(0.1 * x - 0.1, 0.35 + 0.1 * y, 0.1 * z - 0.05);
            assert!(body.position.distance(site) < 1e-12, "{index}: {body:?}");
        }
        let one_more = Fill { count: 25, ..fill };
        assert_eq!(
            error(&one_more, &shapes),
            FillError::GridFull {
                placed: 24,
                count: 25,
                sites: [3, 4, 2],
                blocked: 0,
                pitch: 0.1
            }
        );
    }

    #[test]
    fn a_thin_layer_holds_lying_rods() {
        let shapes = [clump(shapes::rod(6, 0.02, None))];
        let fill = Fill {
            shapes: vec![(0, 1.0)],
            max: DVec3::new(0.8, 0.04, 0.9),
            orientation: Orientation::Fixed(DQuat::IDENTITY),
            ..fill(42, GRID)
        };
        let bodies = place(&fill, &shapes);
        assert_whole_and_apart(&fill, &bodies, &shapes);
    }

    #[test]
    fn nothing_is_put_into_earlier_bodies_or_planes() {
        let shapes = [
            ball(0.05),
            ball(0.4),
            clump(shapes::torus(20, 0.03, None)),
            clump(shapes::cube(2, 0.03, None)),
        ];
        let planes = [
            plane(DVec3::Y * 0.2, DVec3::Y),
            plane(DVec3::ZERO, DVec3::new(0.6, 0.0, 0.8)),
        ];
        let mut bodies = vec![
            body(1, DVec3::new(0.3, 0.6, 0.3)),
            body(2, DVec3::new(0.2, 1.2, 0.2)),
        ];
        let mut occupied = Occupied::new(&shapes);
        for body in &bodies {
            occupied.insert(body, &shapes);
        }
        for (placement, mix) in [
            (GRID, (0, 1.0)),
            (Placement::Random, (3, 1.0)),
            (Placement::Random, (2, 0.02)),
        ] {
            let fill = Fill {
                shapes: vec![(0, 0.1), mix],
                ..fill(60, placement)
            };
            bodies.extend(
                fill.place(&shapes, &mut occupied, &planes)
                    .unwrap_or_else(|error| panic!("{error}")),
            );
        }
        assert_eq!(bodies.len(), 182);
        assert_eq!(
            overlaps(&bodies, world(&shapes, &planes, None), 2.0 * TOUCH),
            []
        );
        // Spheres keep other bodies out, bounding spheres do not: the bounding radius of the ring is 0.22 m.
        let ring = &bodies[1];
        assert!(
            bodies[2..]
                .iter()
                .any(|body| body.position.distance(ring.position) < 0.22)
        );
    }

    /// Bodies of a random fill, placed by one try after another, each of which is held against all bodies.
    fn plainly(fill: &Fill, shapes: &[Clump], others: &[ModelBody]) -> Vec<ModelBody> {
        let (numbers, mix) = (fill.numbers(), fill.mixed(shapes));
        let sites = RandomSites::new(&mix, shapes);
        let choices: Vec<usize> = choices(&numbers, &mix, 0..numbers.count).collect();
        let mut occupied = Occupied::new(shapes);
        others.iter().for_each(|body| occupied.insert(body, shapes));
        let mut bodies = vec![ModelBody::default(); fill.count];
        for class in 0..sites.class_count() {
            let mut tries = sites.tries_of(class, &numbers, &mix);
            let mut number = 0;
            let own = |index: &usize| sites.classes[choices[*index]] == class;
            for index in (0..fill.count).filter(own) {
                let candidate = loop {
                    number += 1;
                    let candidate = tries.candidate(number - 1, shapes, |_| false);
                    if let Some(free) = candidate.filter(|own| !occupied.clashes_with(own)) {
                        break free;
                    }
                };
                occupied.take(&candidate);
                bodies[index] = ModelBody {
                    shape: fill.shapes[choices[index]].0,
                    orientation: tries.turn(number - 1),
                    ..candidate.body
                };
            }
        }
        bodies
    }

    #[test]
    fn many_tries_at_a_time_find_what_one_after_the_other_finds() {
        let pebble = [(-0.02, 0.05), (0.02, 0.05)].map(|(x, radius)| ClumpSphere {
            center: DVec3::X * x,
            radius,
        });
        let mut shapes = mixed();
        shapes.extend([ball(0.05), clump(pebble.to_vec())]);
        let others = [body(1, DVec3::new(0.3, 0.6, 0.3)), body(0, DVec3::Y * 0.9)];
        let mixes: [&[(usize, f64)]; 4] = [
            &[(0, 1.0), (4, 1.0)],
            &[(5, 1.0)],
            &[(0, 2.0), (1, 3.0), (2, 1.0), (3, 1.0)],
            &[(4, 1.0), (5, 1.0)],
        ];
        for (mix, count) in mixes.into_iter().zip([2250, 1300, 1500, 1500]) {
            let fill = Fill {
                shapes: mix.to_vec(),
                ..fill(count, Placement::Random)
            };
            let expected = plainly(&fill, &shapes, &others);
            for threads in [1, 3] {
                let mut occupied = Occupied::new(&shapes);
                others
                    .iter()
                    .for_each(|body| occupied.insert(body, &shapes));
                let threads = Threads::start(Some(threads)).expect("threads");
                let placed = threads.run(|| fill.place(&shapes, &mut occupied, &[]));
                assert!(placed.expect("room") == expected, "{mix:?}");
            }
        }
    }

    /// So many searchers, in one process.
    struct Slabs {
        count: usize,
        searches: RefCell<Vec<SlabSearch>>,
        /// Number of bodies that each had in the end, for each fill.
        held: RefCell<Vec<Vec<usize>>>,
    }

    impl Slabs {
        fn new(count: usize) -> Slabs {
            Slabs {
                count,
                searches: RefCell::default(),
                held: RefCell::default(),
            }
        }
    }

    /// Shares of several processes.
    struct Parts(Vec<Share>);

    impl Holder for Parts {
        fn number(&self) -> u64 {
            0
        }

        fn own(&self) -> &Share {
            &self.0[0]
        }

        fn visit(&self, act: &mut dyn FnMut(&ModelBody)) {
            self.0.iter().for_each(|part| part.bodies.visit(act));
        }

        fn visit_contacts(&self, _: ContactList, _: &mut dyn FnMut(&[u8])) {
            unreachable!("fills bring no contacts")
        }
    }

    impl Searchers for Slabs {
        fn counts(&self) -> [usize; 2] {
            [self.count; 2]
        }

        fn begin(&self, shapes: &[Clump], fill: &MadeFill, before: &[&Shared]) {
            let spheres: Vec<_> = shapes.iter().map(|shape| shape.spheres.clone()).collect();
            let search =
                |index| SlabSearch::new(spheres.clone(), fill.clone(), [index, self.count]);
            let mut searches: Vec<SlabSearch> = (0..self.count).map(search).collect();
            let is_near = searches[0].near(self.count);
            for before in before {
                before.holder.visit(&mut |body| {
                    let near = searches.iter_mut().enumerate();
                    let near = near.filter(|(index, _)| is_near(*index, body));
                    near.for_each(|(_, search)| search.insert(body));
                });
            }
            *self.searches.borrow_mut() = searches;
        }

        fn look(&self, asked: &Asked) -> Vec<u64> {
            let mut searches = self.searches.borrow_mut();
            let found = searches.iter_mut().flat_map(|search| search.look(asked));
            let mut found: Vec<u64> = found.collect();
            found.sort_unstable();
            found
        }

        fn end(&self, is_placed: bool) -> Option<Shared> {
            let searches = std::mem::take(&mut *self.searches.borrow_mut());
            let held = searches.iter().map(SlabSearch::placed).collect();
            self.held.borrow_mut().push(held);
            let shares = searches.into_iter().map(SlabSearch::share);
            let shares: Vec<MadeFill> = shares.collect();
            let counts = shares.iter();
            let counts = counts.map(|own| [own.len(), own.sphere_count()]);
            let counts = counts.map(|own| own.map(|count| count as u32)).collect();
            let parts = shares.into_iter().map(|own| Share {
                bodies: Piece::Fill(own),
                contacts: None,
            });
            is_placed.then(|| Shared {
                counts,
                kinds: Vec::new(),
                contacts: None,
                holder: Arc::new(Parts(parts.collect())),
                _others: Others::MayBe,
            })
        }

        fn pack(&self, _: &Packing) -> Result<Shared, Unrelaxed> {
            unreachable!("the fills are at random")
        }

        fn keep(
            &self,
            _: &mut dyn ExactSizeIterator<Item = io::Result<Brought>>,
        ) -> io::Result<Shared> {
            unreachable!("no bodies are of another run")
        }

        fn overlap(&self, _: &Bodies, _: World, _: f64, _: Harmless) -> bool {
            unreachable!("nobody asks")
        }

        fn bond(&self, _: &[BondLaw], _: &Bodies, _: &[Clump], _: Option<&Domain>) -> Bonds {
            unreachable!("there are no bonds")
        }
    }

    #[test]
    fn searchers_find_what_one_process_finds() {
        let shapes = mixed();
        let other = body(1, DVec3::new(0.3, 0.6, 0.3));
        let planes = [plane(DVec3::Y * 0.2, DVec3::new(0.6, 0.8, 0.0))];
        let of = |shapes: &[(usize, f64)], count, max: DVec3| Fill {
            shapes: shapes.to_vec(),
            max,
            ..fill(count, Placement::Random)
        };
        // The second fill goes between the bodies of the first.
        let fills = [
            of(&[(0, 1.0), (2, 1.0)], 500, DVec3::new(0.8, 1.5, 0.9)),
            of(&[(3, 2.0), (1, 1.0)], 300, DVec3::new(0.5, 1.7, 2.5)),
        ];
        let begun = || {
            let mut occupied = Occupied::new(&shapes);
            occupied.insert(&other, &shapes);
            occupied
        };
        let mut occupied = begun();
        let expected = fills.each_ref().map(|fill| {
            let placed = fill.place(&shapes, &mut occupied, &planes);
            placed.expect("room")
        });
        for count in [1, 2, 5] {
            let searchers = Slabs::new(count);
            let mut occupied = begun();
            let mut placed: Vec<Shared> = Vec::new();
            for (fill, expected) in fills.iter().zip(&expected) {
                let together = Together {
                    searchers: &searchers,
                    before: placed.iter().collect(),
                };
                let shared = fill.place_together(&shapes, &mut occupied, &planes, &together);
                let shared = shared.expect("room");
                let mut bodies = Vec::new();
                shared.holder.visit(&mut |body| bodies.push(*body));
                assert!(bodies == *expected, "{count} searchers");
                let [bodies, spheres] = shared.count();
                let of = |body: &ModelBody| shapes[body.shape].spheres.len();
                assert_eq!(bodies, expected.len());
                assert_eq!(spheres, expected.iter().map(of).sum::<usize>());
                assert!(
                    shared
                        .counts
                        .iter()
                        .all(|own| own[0] as usize <= bodies / count + 1)
                );
                placed.push(shared);
            }
            let mut spheres = 0;
            occupied.each_sphere(|_| spheres += 1);
            assert_eq!(
                spheres, 8,
                "the process that asks has those of the block only"
            );
            for (held, fill) in searchers.held.borrow().iter().zip(&fills) {
                let most = held.iter().max().expect("searchers");
                assert!(count < 5 || 3 * most < 2 * fill.count, "{held:?}");
            }
        }
    }

    #[test]
    fn searchers_say_that_a_region_is_crowded() {
        let shapes = mixed();
        let fill = fill(100_000, Placement::Random);
        let alone = error(&fill, &shapes);
        let searchers = Slabs::new(3);
        let together = Together {
            searchers: &searchers,
            before: Vec::new(),
        };
        let mut occupied = Occupied::new(&shapes);
        let placed = fill.place_together(&shapes, &mut occupied, &[], &together);
        assert_eq!(placed.expect_err("no room"), alone);
        assert!(searchers.searches.borrow().is_empty());
    }

    #[test]
    fn balls_of_one_size_take_turns() {
        let shapes = [ball(0.05), ball(0.05), ball(0.06)];
        let fill = Fill {
            shapes: vec![(0, 1.0), (1, 1.0), (2, 1.0)],
            ..fill(3, Placement::Random)
        };
        let mix = fill.mixed(&shapes);
        assert_eq!(RandomSites::new(&mix, &shapes).classes, [1, 1, 0]);
    }

    #[test]
    fn boulders_find_a_place_among_grains() {
        let shapes = [ball(0.3), ball(0.015)];
        let fill = Fill {
            shapes: vec![(0, 0.002), (1, 0.998)],
            ..fill(3000, Placement::Random)
        };
        let bodies = place(&fill, &shapes);
        assert_whole_and_apart(&fill, &bodies, &shapes);
        assert!(bodies.iter().filter(|body| body.shape == 0).count() > 1);
        assert!(bodies[..100].iter().any(|body| body.shape == 1));
    }

    #[test]
    fn no_bodies_are_no_problem() {
        assert_eq!(place(&fill(0, GRID), &mixed()), []);
        assert_eq!(place(&fill(0, Placement::Random), &mixed()), []);
    }

    #[test]
    fn a_mix_without_weights_is_an_error() {
        for shapes in [vec![], vec![(0, 1.0), (1, 0.0)], vec![(0, f64::NAN)]] {
            let fill = Fill {
                shapes,
                ..fill(1, GRID)
            };
            assert_eq!(error(&fill, &mixed()), FillError::NoMix);
        }
    }

    #[test]
    fn an_empty_region_is_an_error() {
        let fill = Fill {
            max: DVec3::new(1.0, 1.0, -0.7),
            ..fill(1, Placement::Random)
        };
        let error = error(&fill, &mixed());
        assert_eq!(
            error,
            FillError::EmptyRegion {
                axis: 'z',
                min: -0.7,
                max: -0.7
            }
        );
        assert!(error.to_string().contains("along z, its min of -0.7 m"));
    }

    #[test]
    fn a_region_smaller_than_a_body_is_an_error() {
        let rod = [clump(shapes::rod(6, 0.02, None))];
        let small = |placement, orientation| Fill {
            shapes: vec![(0, 1.0)],
            orientation,
            max: DVec3::new(0.8, 0.03, 0.9),
            ..fill(1, placement)
        };
        let fixed = Orientation::Fixed(DQuat::IDENTITY);
        for (placement, orientation, least) in [
            (GRID, fixed, 0.04),
            (Placement::Random, fixed, 0.04),
            (GRID, Orientation::Random, 0.24),
            (Placement::Random, Orientation::Random, 0.04),
        ] {
            let error = error(&small(placement, orientation), &rod);
            let sentence = error.to_string();
            let FillError::RegionTooSmall {
                shape,
                axis,
                room,
                needed,
            } = error
            else {
                panic!("{error}");
            };
            assert!(sentence.contains("along y it is 0.03 m wide"), "{sentence}");
            assert_eq!((shape.as_str(), axis), ("shape", 'y'));
            assert_eq!(room, 0.03);
            assert!((least - 1e-12..least + 0.001).contains(&needed), "{needed}");
        }
    }

    #[test]
    fn too_many_for_the_region_at_random_is_an_error() {
        let shapes = mixed();
        let fill = fill(100_000, Placement::Random);
        let error = error(&fill, &shapes);
        let FillError::Crowded {
            placed,
            count,
            region_volume,
            sphere_volume,
            ..
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!(count, fill.count);
        assert!((1000..5000).contains(&placed), "{placed}");
        assert!((region_volume - 1.8 * 1.5 * 1.6).abs() < 1e-12);
        let ball = 4.0 / 3.0 * PI * 0.05f64.powi(3);
        assert!(sphere_volume > 50_000.0 * ball && sphere_volume < 200_000.0 * ball);
        assert!(error.to_string().contains("of 100000 bodies at random"));
    }

    #[test]
    fn too_close_a_grid_is_an_error() {
        let fill = fill(
            1,
            Placement::Grid {
                spacing: Some(0.03),
                jitter: 0.0,
            },
        );
        assert_eq!(
            error(&fill, &mixed()),
            FillError::SpacingTooSmall {
                spacing: 0.03,
                least: 0.04
            }
        );
    }

    #[test]
    fn a_grid_behind_a_plane_is_blocked() {
        let shapes = mixed();
        let fill = fill(1, GRID);
        let planes = [plane(DVec3::Y * 3.0, DVec3::Y)];
        let error = fill
            .place(&shapes, &mut Occupied::new(&shapes), &planes)
            .expect_err("all is behind the plane");
        let FillError::GridFull {
            placed: 0,
            sites: [x, y, z],
            blocked,
            ..
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!(blocked, x * y * z);
    }
}
