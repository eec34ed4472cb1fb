//! Fills: many bodies from a short description.

use std::cmp::Reverse;
use std::f64::consts::PI;
use std::ops::Range;
use std::sync::Arc;

use glam::{DQuat, DVec3};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use thiserror::Error;

use super::lattice::{GridFill, Lattice, Mixed, Numbers, Walk};
use super::overlap::{SphereGrid, bounding_radius, spheres_of};
use crate::math::display::Rounded;
use crate::math::parallel::prelude::*;
use crate::model::ModelBody;
use crate::model::clump::{Clump, ClumpSphere, union_of_spheres};
use crate::model::flow::Face;
use crate::model::quantity::Quantities;
use crate::model::wall::Probe;

/// Overlap that still counts as touching, as a fraction of the smaller radius; it allows for round-off.
const TOUCH: f64 = 1e-9;
/// Number of random places that are tried for a body before the fill gives up.
const TRIES: usize = 10_000;
/// Number of places taken by walls at which the fill gives up: a constant, and a number for each body.
///
/// So the work is in proportion to the number of bodies, not to the size of the region.
const BLOCKED: (u64, u64) = (1_000_000, 20);
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

/// The space that the bodies placed so far occupy.
#[derive(Clone, Debug)]
pub struct Occupied {
    /// Parts of each shape.
    shape_parts: Vec<Vec<Part>>,
    /// Spheres of all placed bodies, body by body.
    spheres: Vec<ClumpSphere>,
    /// Range of each placed part in `spheres`.
    ranges: Vec<Range<usize>>,
    /// The bounding spheres of the placed parts.
    bounds: SphereGrid,
}

/// A part of a clump, with a bounding sphere: the whole clump if it is compact, else one of its spheres.
///
/// So one look into the grid serves all spheres of a small block, and the bounding spheres of a long rod or a landscape hold
/// little empty space.
#[derive(Clone, Debug)]
struct Part {
    center: DVec3,
    radius: f64,
    spheres: Range<usize>,
}

impl Part {
    fn all_of(clump: &Clump) -> Vec<Self> {
        let count = clump.spheres.len();
        let bound = bounding_radius(clump);
        let cubes: f64 = clump
            .spheres
            .iter()
            .map(|sphere| sphere.radius.powi(3))
            .sum();
        if count <= 64 && bound.powi(3) <= 8.0 * cubes {
            vec![Self {
                center: DVec3::ZERO,
                radius: bound,
                spheres: 0..count,
            }]
        } else {
            (0..count)
                .map(|index| Self {
                    center: clump.spheres[index].center,
                    radius: clump.spheres[index].radius,
                    spheres: index..index + 1,
                })
                .collect()
        }
    }
}

impl Occupied {
    /// Space without bodies, for bodies of any of these shapes.
    pub fn new(shapes: &[Clump]) -> Self {
        let shape_parts: Vec<_> = shapes.iter().map(Part::all_of).collect();
        let radii = shape_parts.iter().flatten().map(|part| part.radius);
        Self {
            spheres: Vec::new(),
            ranges: Vec::new(),
            bounds: SphereGrid::new(radii),
            shape_parts,
        }
    }

    /// Adds the space of a body.
    pub fn insert(&mut self, body: &ModelBody, shapes: &[Clump]) {
        self.take(&Candidate::new(*body, shapes));
    }

    fn take(&mut self, candidate: &Candidate) {
        let start = self.spheres.len();
        self.spheres.extend(&candidate.spheres);
        for part in &self.shape_parts[candidate.body.shape] {
            self.bounds.insert(
                candidate.center_of(part),
                part.radius,
                self.ranges.len() as u32,
            );
            self.ranges
                .push(start + part.spheres.start..start + part.spheres.end);
        }
    }

    fn clashes_with(&self, candidate: &Candidate) -> bool {
        self.shape_parts[candidate.body.shape].iter().any(|part| {
            let center = candidate.center_of(part);
            self.bounds.any_overlapping(center, part.radius, |bound| {
                let others = &self.spheres[self.ranges[bound.owner as usize].clone()];
                candidate.spheres[part.spheres.clone()]
                    .iter()
                    .any(|sphere| {
                        let reach = sphere.radius + bound.radius;
                        sphere.center.distance_squared(bound.center) < reach * reach
                            && others.iter().any(|other| overlap(sphere, other))
                    })
            })
        })
    }
}

/// A body that is tried at a place, with its spheres in the world.
struct Candidate {
    body: ModelBody,
    spheres: Vec<ClumpSphere>,
}

impl Candidate {
    fn new(body: ModelBody, shapes: &[Clump]) -> Self {
        let spheres = spheres_of(&body, shapes)
            .map(|(center, radius)| ClumpSphere { center, radius })
            .collect();
        Self { body, spheres }
    }

    /// A body at rest with its centre of mass at the origin.
    fn at_origin(shape: usize, orientation: DQuat, shapes: &[Clump]) -> Self {
        let body = ModelBody {
            shape,
            orientation,
            ..ModelBody::default()
        };
        Self::new(body, shapes)
    }

    fn move_by(&mut self, step: DVec3) {
        self.body.position += step;
        for sphere in &mut self.spheres {
            sphere.center += step;
        }
    }

    fn center_of(&self, part: &Part) -> DVec3 {
        self.body.position + self.body.orientation * part.center
    }

    fn bounding_box(&self) -> Aabb {
        let nowhere = Aabb {
            min: DVec3::INFINITY,
            max: DVec3::NEG_INFINITY,
        };
        self.spheres.iter().fold(nowhere, |all, sphere| Aabb {
            min: all.min.min(sphere.center - sphere.radius),
            max: all.max.max(sphere.center + sphere.radius),
        })
    }

    /// Whether the body does not overlap the wall, and is on the right side of it for a region about `middle`.
    fn is_clear_of(&self, wall: &Probe, middle: DVec3) -> bool {
        self.spheres.iter().all(|sphere| {
            let least = TOUCH * sphere.radius;
            wall.depth(sphere.center, sphere.radius, least).is_none()
                && !wall.parts(sphere.center, middle)
        })
    }
}

fn overlap(a: &ClumpSphere, b: &ClumpSphere) -> bool {
    let touching = a.radius + b.radius - TOUCH * a.radius.min(b.radius);
    a.center.distance_squared(b.center) < touching * touching
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
        if let Placement::Grid { .. } = self.placement {
            let mut bodies = Vec::with_capacity(self.count);
            self.place_on_grid(shapes, occupied, walls, &|_| true, &mut |body| {
                bodies.push(*body);
            })?;
            return Ok(bodies);
        }
        let total = self.check()?;
        let mut random = Random::new(self.seed);
        let mix: Vec<usize> = (0..self.count)
            .map(|_| self.choose_shape(total, &mut random))
            .collect();
        let mut filling = Filling {
            fill: self,
            shapes,
            walls,
            occupied,
            random,
            blocked: 0,
        };
        filling.at_random(&mix)
    }

    /// [`Fill::place`] of a fill on a grid, which calls a function with each body, and returns what they follow from. Of their space,
    /// only that of bodies that `matter` is added to `occupied`.
    ///
    /// # Errors
    ///
    /// As [`Fill::place`], after the last body that has a place.
    pub(crate) fn place_on_grid(
        &self,
        shapes: &[Clump],
        occupied: &mut Occupied,
        walls: &[Probe],
        matters: &dyn Fn(&ModelBody) -> bool,
        act: &mut dyn FnMut(&ModelBody),
    ) -> Result<GridFill, FillError> {
        self.check()?;
        let mut filling = Filling {
            fill: self,
            shapes,
            walls,
            occupied,
            random: Random::new(self.seed),
            blocked: 0,
        };
        filling.on_grid(matters, act)
    }

    /// Sum of the weights of the mix, if that and the region make sense.
    fn check(&self) -> Result<f64, FillError> {
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
        Ok(total)
    }

    /// Whether no two of its bodies can overlap, wherever they are on a lattice.
    #[cfg(feature = "scene")]
    pub(crate) fn is_apart(&self, shapes: &[Clump]) -> bool {
        let bounds = self
            .shapes
            .iter()
            .map(|&(shape, _)| bounding_radius(&shapes[shape]));
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

    /// Whether a body may be in the way of one of the fill.
    #[cfg(feature = "scene")]
    pub(crate) fn may_meet(&self, body: &ModelBody, shapes: &[Clump]) -> bool {
        let reach = bounding_radius(&shapes[body.shape]) * (1.0 + TOUCH);
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
        let total = self.shapes.iter().map(|&(_, weight)| weight).sum();
        let mut random = Random::new(self.seed);
        let mut sum = 0.0;
        self.count = 0;
        loop {
            let next = measure[self.choose_shape(total, &mut random)];
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
        let total = self.shapes.iter().map(|&(_, weight)| weight).sum();
        self.choose_shape(total, &mut Random::stream(self.seed, number, 0))
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
        let mut filling = Filling {
            fill: self,
            shapes,
            walls,
            occupied,
            random: Random::stream(self.seed, number, attempt + 1),
            blocked: 0,
        };
        let flat = self.min.cmpge(self.max);
        for _ in 0..tries {
            let mut candidate = filling.candidate(shape);
            if let Some(face) = &self.face {
                let random = &mut filling.random;
                candidate.move_by(face.point([random.unit(), random.unit(), random.unit()]));
                if filling.is_free(&candidate) {
                    return Some(filling.settle(candidate));
                }
                continue;
            }
            let hull = candidate.bounding_box();
            let low = DVec3::select(flat, self.min, self.min - hull.min);
            let high = DVec3::select(flat, self.min, self.max - hull.max);
            if low.cmpgt(high).any() {
                continue;
            }
            candidate.move_by(filling.random.within(low, high));
            if filling.is_free(&candidate) {
                return Some(filling.settle(candidate));
            }
        }
        None
    }

    fn choose_shape(&self, total: f64, random: &mut Random) -> usize {
        let target = total * random.unit();
        let mut sum = 0.0;
        for &(shape, weight) in &self.shapes {
            sum += weight;
            if target < sum {
                return shape;
            }
        }
        self.shapes[self.shapes.len() - 1].0
    }
}

const AXES: [char; 3] = ['x', 'y', 'z'];

/// A fill at work.
struct Filling<'a> {
    fill: &'a Fill,
    shapes: &'a [Clump],
    walls: &'a [Probe],
    occupied: &'a mut Occupied,
    random: Random,
    /// Number of places so far that walls took.
    blocked: u64,
}

impl Filling<'_> {
    /// Makes bodies on a grid, and calls a function with each; adds the space of those that `matter`.
    fn on_grid(
        &mut self,
        matters: &dyn Fn(&ModelBody) -> bool,
        act: &mut dyn FnMut(&ModelBody),
    ) -> Result<GridFill, FillError> {
        let mut grid = self.grid()?;
        let Numbers { count, lattice, .. } = grid.numbers;
        let count = count as usize;
        let mut walk = Walk::new(grid.numbers, &grid.mix);
        let mut blocked = 0;
        for placed in 0..count {
            let shape = walk.choose();
            loop {
                let site = walk.number;
                let Some(body) = walk.next(&grid.mix[shape]) else {
                    return Err(FillError::GridFull {
                        placed,
                        count,
                        sites: lattice.counts,
                        blocked,
                        pitch: lattice.pitch,
                    });
                };
                let candidate = Candidate::new(body, self.shapes);
                if self.is_free(&candidate) {
                    let body = walk.settle(body);
                    grid.mix[shape].count += 1;
                    if matters(&body) {
                        self.occupied.take(&candidate);
                    }
                    act(&body);
                    break;
                }
                grid.leave_empty(site);
                blocked += 1;
                self.check_walls(placed, count)?;
            }
        }
        Ok(grid)
    }

    /// The fill as numbers, as if nothing else were there.
    fn grid(&self) -> Result<GridFill, FillError> {
        let fill = self.fill;
        let Placement::Grid { spacing, jitter } = fill.placement else {
            unreachable!("the fill is on a grid");
        };
        let mut bound: f64 = 0.0;
        let mut smallest = f64::INFINITY;
        let mut half_width = DVec3::ZERO;
        let mut mix = Vec::with_capacity(fill.shapes.len());
        for &(shape, weight) in &fill.shapes {
            let clump = &self.shapes[shape];
            bound = bound.max(bounding_radius(clump));
            let radii = clump.spheres.iter().map(|sphere| sphere.radius);
            smallest = radii.fold(smallest, f64::min);
            let hull = self.hull(shape);
            if self.lack(&hull).0 > 0.0 {
                return Err(self.too_small_for(shape, &hull));
            }
            half_width = half_width.max(hull.half_width());
            mix.push(Mixed {
                shape: shape as u64,
                weight,
                count: 0,
                middle: hull.center(),
                half_width: hull.half_width(),
                orientation: match fill.orientation {
                    Orientation::Random => DQuat::IDENTITY,
                    Orientation::Fixed(world_from_shape) => world_from_shape * clump.principal_axes,
                },
            });
        }
        let least = 2.0 * smallest;
        let pitch = match spacing {
            Some(spacing) if spacing < least * (1.0 - TOUCH) => {
                return Err(FillError::SpacingTooSmall { spacing, least });
            }
            Some(spacing) => spacing,
            None => 2.0 * bound * (1.0 + GAP) + 2.0 * jitter,
        };
        let numbers = Numbers {
            count: fill.count as u64,
            seed: fill.seed,
            group: fill.group as u64,
            turned: u64::from(fill.orientation == Orientation::Random),
            lattice: Lattice::new(fill.min + half_width, fill.max - half_width, pitch),
            jitter,
            min: fill.min,
            max: fill.max,
            velocity: fill.velocity.into(),
            angular_velocity: fill.angular_velocity.into(),
            quantities: fill.quantities.array(),
        };
        Ok(GridFill {
            numbers,
            mix,
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
                let bound = DVec3::splat(bounding_radius(clump));
                Aabb {
                    min: -bound,
                    max: bound,
                }
            }
            Orientation::Fixed(world_from_shape) => {
                let orientation = world_from_shape * clump.principal_axes;
                Candidate::at_origin(shape, orientation, self.shapes).bounding_box()
            }
        }
    }

    /// Places bodies by random sequential addition, the largest first.
    fn at_random(&mut self, mix: &[usize]) -> Result<Vec<ModelBody>, FillError> {
        let mut order: Vec<usize> = (0..mix.len()).collect();
        // The bits of positive floats have the order of the floats.
        order.sort_by_cached_key(|&index| {
            Reverse(bounding_radius(&self.shapes[mix[index]]).to_bits())
        });
        let mut bodies: Vec<Option<ModelBody>> = vec![None; mix.len()];
        for (placed, &index) in order.iter().enumerate() {
            let Some(candidate) = self.find_place(mix[index])? else {
                let volume = |&shape: &usize| sphere_volume(&self.shapes[shape]);
                return Err(FillError::Crowded {
                    placed,
                    count: mix.len(),
                    shape: self.shapes[mix[index]].name.clone(),
                    tries: TRIES,
                    region_volume: (self.fill.max - self.fill.min).element_product(),
                    sphere_volume: mix.iter().map(volume).sum(),
                });
            };
            bodies[index] = Some(self.settle(candidate));
            self.check_walls(placed, mix.len())?;
        }
        Ok(bodies.into_iter().flatten().collect())
    }

    /// Finds a free place for a body of this shape; `None` if tries find none.
    fn find_place(&mut self, shape: usize) -> Result<Option<Candidate>, FillError> {
        // The hull that comes nearest to fitting, of those that do not fit into the region at all.
        let mut unfit: Option<Aabb> = None;
        let mut fits = false;
        for _ in 0..TRIES {
            let mut candidate = self.candidate(shape);
            let hull = candidate.bounding_box();
            let lack = self.lack(&hull).0;
            if lack > 0.0 {
                if unfit.is_none_or(|best| lack < self.lack(&best).0) {
                    unfit = Some(hull);
                }
                continue;
            }
            fits = true;
            let low = self.fill.min - hull.min;
            let high = self.fill.max - hull.max;
            candidate.move_by(self.random.within(low, high));
            if self.is_free(&candidate) {
                return Ok(Some(candidate));
            }
        }
        match unfit {
            Some(hull) if !fits => Err(self.too_small_for(shape, &hull)),
            _ => Ok(None),
        }
    }

    /// A body of this shape at the origin, with an orientation of the fill.
    fn candidate(&mut self, shape: usize) -> Candidate {
        let orientation = match self.fill.orientation {
            Orientation::Random => self.random.rotation(),
            Orientation::Fixed(world_from_shape) => {
                world_from_shape * self.shapes[shape].principal_axes
            }
        };
        Candidate::at_origin(shape, orientation, self.shapes)
    }

    fn is_free(&mut self, candidate: &Candidate) -> bool {
        let middle = 0.5 * (self.fill.min + self.fill.max);
        let mut walls = self.walls.iter();
        if !walls.all(|wall| candidate.is_clear_of(wall, middle)) {
            self.blocked += 1;
            return false;
        }
        !self.occupied.clashes_with(candidate)
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

    /// Adds the candidate's space, and gives it velocities, group and quantities.
    fn settle(&mut self, candidate: Candidate) -> ModelBody {
        self.occupied.take(&candidate);
        let (slowest, fastest) = self.fill.velocity;
        let (least_spin, most_spin) = self.fill.angular_velocity;
        ModelBody {
            velocity: self.random.within(slowest, fastest),
            angular_velocity: self.random.within(least_spin, most_spin),
            group: self.fill.group,
            quantities: self.fill.quantities,
            ..candidate.body
        }
    }

    fn too_small_for(&self, shape: usize, hull: &Aabb) -> FillError {
        let (_, axis) = self.lack(hull);
        FillError::RegionTooSmall {
            shape: self.shapes[shape].name.clone(),
            axis: AXES[axis],
            room: (self.fill.max - self.fill.min)[axis],
            needed: 2.0 * hull.half_width()[axis],
        }
    }

    /// The largest excess of a body's width over that of the region, m, and its axis.
    fn lack(&self, hull: &Aabb) -> (f64, usize) {
        let width = 2.0 * hull.half_width();
        let lack = width * (1.0 - TOUCH) - (self.fill.max - self.fill.min);
        let axis = lack.max_position();
        (lack[axis], axis)
    }
}

/// A box along the axes, m.
#[derive(Clone, Copy, Debug)]
struct Aabb {
    min: DVec3,
    max: DVec3,
}

impl Aabb {
    fn center(&self) -> DVec3 {
        0.5 * (self.min + self.max)
    }

    fn half_width(&self) -> DVec3 {
        0.5 * (self.max - self.min)
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

/// Random numbers that are the same on every machine: ChaCha with 8 rounds, and no function beyond the square root.
pub(super) struct Random(ChaCha8Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Self(ChaCha8Rng::from_seed(key))
    }

    /// [`Random::new`], after so many calls of [`Random::unit`].
    pub fn after(seed: u64, count: u64) -> Self {
        let mut random = Self::new(seed);
        random.0.set_word_pos(2 * u128::from(count));
        random
    }

    /// One of many independent streams of random numbers: the stream for one attempt at one body.
    fn stream(seed: u64, number: u64, attempt: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&number.to_le_bytes());
        key[16..24].copy_from_slice(&attempt.to_le_bytes());
        // This keeps the streams apart from that of `new` with the same seed.
        key[24] = 1;
        Self(ChaCha8Rng::from_seed(key))
    }

    /// A uniform number in [0, 1), from the top 53 bits of a word.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Chooses one of several, given the sums of the weights up to each.
    pub fn choose(&mut self, sums: &[f64]) -> usize {
        let last = sums.len() - 1;
        let target = sums[last] * self.unit();
        sums.iter().position(|sum| target < *sum).unwrap_or(last)
    }

    /// A uniform point in a box.
    pub fn within(&mut self, low: DVec3, high: DVec3) -> DVec3 {
        let unit = DVec3::new(self.unit(), self.unit(), self.unit());
        low + (high - low) * unit
    }

    /// A uniform point in the unit disc, and the square of its distance from the centre.
    fn in_disc(&mut self) -> (f64, f64, f64) {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let squared = x * x + y * y;
            if squared > 0.0 && squared < 1.0 {
                return (x, y, squared);
            }
        }
    }

    /// A uniform rotation, from two points in a disc (Marsaglia 1972).
    pub fn rotation(&mut self) -> DQuat {
        let (x, y, near) = self.in_disc();
        let (z, w, far) = self.in_disc();
        let scale = ((1.0 - near) / far).sqrt();
        DQuat::from_xyzw(x, y, z * scale, w * scale)
    }
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;
    use crate::model::clump::shapes;
    use crate::model::packing::overlap::overlaps;
    use crate::model::packing::overlap::tests::{ball, body, clump, plane, world};

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
    fn bodies_of_a_grid_are_made_again_without_what_took_their_sites() {
        let shapes = mixed();
        let walls = [plane(DVec3::Y * 0.2, DVec3::Y)];
        let others = [body(1, DVec3::new(0.3, 0.6, 0.3)), body(2, DVec3::Y * 0.9)];
        let turned = Orientation::Fixed(DQuat::from_xyzw(0.0, 0.0, 0.5f64.sqrt(), 0.5f64.sqrt()));
        for (spacing, jitter, orientation) in [
            (None, 0.0, Orientation::Random),
            (None, 0.02, turned),
            (Some(0.31), 0.01, Orientation::Random),
            (Some(0.15), 0.03, Orientation::Random),
        ] {
            let fill = Fill {
                velocity: (DVec3::NEG_ONE, DVec3::ONE),
                orientation,
                group: 3,
                ..fill(60, Placement::Grid { spacing, jitter })
            };
            let mut occupied = Occupied::new(&shapes);
            for body in &others {
                occupied.insert(body, &shapes);
            }
            let mut placed = Vec::new();
            let act = &mut |body: &ModelBody| placed.push(*body);
            let grid = fill.place_on_grid(&shapes, &mut occupied, &walls, &|_| true, act);
            let grid = grid.unwrap();
            assert_eq!(placed.len(), 60, "{spacing:?}");
            let empty: u64 = grid.empty.iter().map(|[start, end]| end - start).sum();
            assert!(empty > 3, "{spacing:?}: {:?}", grid.empty);
            let mut made = Vec::new();
            grid.each(&mut |body| made.push(*body));
            assert_eq!(made, placed, "{spacing:?}");
            for own in &grid.mix {
                let count = placed.iter().filter(|body| body.shape as u64 == own.shape);
                assert_eq!(count.count() as u64, own.count);
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
        assert_eq!(hash(&random), 7302634153474981605);
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
