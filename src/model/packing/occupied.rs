//! The space that bodies take while others are placed.

use std::ops::Range;

use glam::{DMat3, DVec3};

use super::overlap::{GridSphere, SphereGrid, spheres_of};
use crate::model::ModelBody;
use crate::model::clump::{Clump, ClumpSphere};
use crate::model::wall::Probe;

/// Overlap that still counts as touching, as a fraction of the smaller radius; it allows for round-off.
pub(super) const TOUCH: f64 = 1e-9;

/// The space that the bodies placed so far occupy.
#[derive(Clone, Debug)]
pub struct Occupied {
    /// Parts of each shape.
    shape_parts: Vec<Vec<Part>>,
    /// The placed bodies of one sphere, and the spheres that are parts by themselves.
    alone: SphereGrid,
    /// Spheres of all other parts, part by part.
    spheres: Vec<ClumpSphere>,
    /// Range of each of these parts in `spheres`.
    ranges: Vec<Range<usize>>,
    /// Their bounding spheres.
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
    /// Whether it is one sphere.
    fn is_alone(&self) -> bool {
        self.spheres.len() == 1
    }

    fn all_of(clump: &Clump) -> Vec<Self> {
        let count = clump.spheres.len();
        let bound = clump.bounding_radius();
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
        let grid = |alone: bool| {
            let parts = shape_parts.iter().flatten();
            SphereGrid::new(
                parts
                    .filter(|part| part.is_alone() == alone)
                    .map(|part| part.radius),
            )
        };
        Self {
            alone: grid(true),
            spheres: Vec::new(),
            ranges: Vec::new(),
            bounds: grid(false),
            shape_parts,
        }
    }

    /// Adds the space of a body.
    pub fn insert(&mut self, body: &ModelBody, shapes: &[Clump]) {
        self.take(&Candidate::new(*body, shapes));
    }

    pub(super) fn take(&mut self, candidate: &Candidate) {
        for part in &self.shape_parts[candidate.body.shape] {
            let own = &candidate.spheres[part.spheres.clone()];
            if let [sphere] = own {
                self.alone.insert(sphere.center, sphere.radius, 0);
                continue;
            }
            let start = self.spheres.len();
            self.spheres.extend(own);
            let owner = self.ranges.len() as u32;
            self.bounds
                .insert(candidate.center_of(part), part.radius, owner);
            self.ranges.push(start..self.spheres.len());
        }
    }

    /// Calls a function with each sphere.
    pub(super) fn each_sphere(&self, mut act: impl FnMut(&ClumpSphere)) {
        self.alone.each(|sphere| act(&alone(sphere)));
        self.spheres.iter().for_each(act);
    }

    pub(super) fn clashes_with(&self, candidate: &Candidate) -> bool {
        self.shape_parts[candidate.body.shape].iter().any(|part| {
            let center = candidate.center_of(part);
            let own = &candidate.spheres[part.spheres.clone()];
            let with_alone = |other: &GridSphere| {
                let other = alone(other);
                own.iter().any(|sphere| overlap(sphere, &other))
            };
            let with_others = |bound: &GridSphere| {
                let others = &self.spheres[self.ranges[bound.owner as usize].clone()];
                own.iter().any(|sphere| {
                    let reach = sphere.radius + bound.radius;
                    sphere.center.distance_squared(bound.center) < reach * reach
                        && others.iter().any(|other| overlap(sphere, other))
                })
            };
            self.alone.any_overlapping(center, part.radius, with_alone)
                || self
                    .bounds
                    .any_overlapping(center, part.radius, with_others)
        })
    }
}

/// A body that is tried at a place, with its spheres in the world.
pub(super) struct Candidate {
    pub body: ModelBody,
    pub spheres: Vec<ClumpSphere>,
}

impl Candidate {
    pub fn new(body: ModelBody, shapes: &[Clump]) -> Self {
        let spheres = spheres_of(&body, shapes)
            .map(|(center, radius)| ClumpSphere { center, radius })
            .collect();
        Self { body, spheres }
    }

    fn center_of(&self, part: &Part) -> DVec3 {
        self.body.position + self.body.orientation * part.center
    }

    /// Whether the body does not overlap the wall, and is on the right side of it for a region about `middle`.
    pub fn is_clear_of(&self, wall: &Probe, middle: DVec3) -> bool {
        self.spheres.iter().all(|sphere| {
            let least = TOUCH * sphere.radius;
            wall.depth(sphere.center, sphere.radius, least).is_none()
                && !wall.parts(sphere.center, middle)
        })
    }
}

fn alone(sphere: &GridSphere) -> ClumpSphere {
    ClumpSphere {
        center: sphere.center,
        radius: sphere.radius,
    }
}

fn overlap(a: &ClumpSphere, b: &ClumpSphere) -> bool {
    let touching = a.radius + b.radius - TOUCH * a.radius.min(b.radius);
    a.center.distance_squared(b.center) < touching * touching
}

/// A box along the axes, m.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aabb {
    pub min: DVec3,
    pub max: DVec3,
}

impl Aabb {
    /// The box around turned spheres.
    pub fn of(spheres: &[ClumpSphere], turn: DMat3) -> Aabb {
        let nowhere = Aabb {
            min: DVec3::INFINITY,
            max: DVec3::NEG_INFINITY,
        };
        spheres.iter().fold(nowhere, |all, sphere| {
            let center = turn * sphere.center;
            Aabb {
                min: all.min.min(center - sphere.radius),
                max: all.max.max(center + sphere.radius),
            }
        })
    }

    /// The largest excess of its width over that of a region, m, and the axis.
    pub fn lack(&self, min: DVec3, max: DVec3) -> (f64, usize) {
        let width = 2.0 * self.half_width();
        let lack = width * (1.0 - TOUCH) - (max - min);
        let axis = lack.max_position();
        (lack[axis], axis)
    }

    pub fn center(&self) -> DVec3 {
        0.5 * (self.min + self.max)
    }

    pub fn half_width(&self) -> DVec3 {
        0.5 * (self.max - self.min)
    }
}
