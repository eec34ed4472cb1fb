use glam::DVec3;

use super::Amount;
use crate::model::clump::Clump;
use crate::model::packing::fill::{Fill, Occupied};
use crate::model::wall;
use crate::model::{Model, ModelBody};

/// Places tried for a body in one look; then it waits for the next.
const TRIES: usize = 200;

/// Most bodies that wait for room and are counted.
const COUNTED: u64 = 1_000_000;

/// Where bodies come in.
#[derive(Clone, Debug, PartialEq)]
pub struct Inlet {
    /// Name.
    pub name: String,
    /// Which bodies, where and how fast: at random places in a box, which may have no width along an axis:
    /// there, centres of mass come to lie in that face; or on triangles, whose bounds the box then has. Its count and placement mean nothing.
    pub fill: Fill,
    /// How many.
    pub rate: Rate,
    /// From when on, s.
    pub start: f64,
    /// Until when, s.
    pub end: f64,
    /// Most bodies in all.
    pub most: u64,
    /// Most mass in all, kg.
    pub most_mass: f64,
}

/// How much an inlet brings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Bodies, 1/s.
    Bodies(f64),
    /// Mass, kg/s.
    Mass(f64),
}

impl Inlet {
    /// The shape of the next body, if it is due at `time` (s) when `brought` has come.
    pub(crate) fn next(&self, brought: &Amount, time: f64, shapes: &[Clump]) -> Option<usize> {
        if brought.bodies >= self.most {
            return None;
        }
        let open = (time.min(self.end) - self.start).max(0.0);
        let shape = self.fill.shape_of(brought.bodies);
        if brought.mass + 0.5 * shapes[shape].mass > self.most_mass {
            return None;
        }
        let due = match self.rate {
            Rate::Bodies(rate) => (brought.bodies + 1) as f64 <= rate * open,
            // The nearest mass that can be had of whole bodies.
            Rate::Mass(rate) => brought.mass + 0.5 * shapes[shape].mass <= rate * open,
        };
        due.then_some(shape)
    }

    /// How many bodies are due at `time` when `brought` has come.
    pub(crate) fn due(&self, brought: &Amount, time: f64, shapes: &[Clump]) -> u64 {
        let mut with = *brought;
        while with.bodies - brought.bodies < COUNTED
            && let Some(shape) = self.next(&with, time, shapes)
        {
            with.add(shapes[shape].mass);
        }
        with.bodies - brought.bodies
    }

    /// The space in its box that `bodies` take.
    pub(crate) fn occupied(
        &self,
        model: &Model,
        bodies: impl Iterator<Item = ModelBody>,
    ) -> Occupied {
        let mut occupied = Occupied::new(&model.shapes);
        let radii: Vec<f64> = model.shapes.iter().map(Clump::bounding_radius).collect();
        let period = model.domain.map_or(DVec3::ZERO, |domain| domain.period());
        let images = |axis: usize| if period[axis] > 0.0 { -1..=1 } else { 0..=0 };
        for body in bodies {
            let radius = radii[body.shape];
            for x in images(0) {
                for y in images(1) {
                    for z in images(2) {
                        let shift = glam::IVec3::new(x, y, z).as_dvec3() * period;
                        let position = body.position + shift;
                        let nearest = position.clamp(self.fill.min, self.fill.max);
                        // Bodies may stick out of a face by their own size.
                        let reach = radius + self.overhang(&radii);
                        if position.distance_squared(nearest) <= reach * reach {
                            occupied.insert(&ModelBody { position, ..body }, &model.shapes);
                        }
                    }
                }
            }
        }
        occupied
    }

    /// How far a body may stick out of the box, m.
    fn overhang(&self, radii: &[f64]) -> f64 {
        if self.fill.face.is_none() && self.fill.min.cmplt(self.fill.max).all() {
            return 0.0;
        }
        let mix = self.fill.shapes.iter();
        mix.map(|(shape, _)| radii[*shape]).fold(0.0, f64::max)
    }

    /// The body with the number `number` of this inlet, of the shape `shape`, in free space before the step after
    /// `steps`.
    pub(crate) fn place(
        &self,
        shape: usize,
        number: u64,
        steps: u64,
        shapes: &[Clump],
        occupied: &mut Occupied,
        walls: &[wall::Probe],
    ) -> Option<ModelBody> {
        let key = (number, steps);
        self.fill
            .place_one(shape, key, TRIES, shapes, occupied, walls)
    }
}
