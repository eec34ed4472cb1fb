use glam::DVec3;

use super::Amount;
use crate::model::clump::Clump;
use crate::model::packing::fill::{Fill, Occupied};
use crate::model::wall;
use crate::model::{Model, ModelBody};

/// Number of places tried for a body in one look; after that it waits for the next look.
const TRIES: usize = 200;

/// Largest count of bodies that wait for room.
const COUNTED: u64 = 1_000_000;

/// An inlet, through which bodies come in.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Inlet {
    /// Name.
    pub name: String,
    /// The bodies, and where and how fast they come in; its count and placement are not used.
    ///
    /// Bodies come in at random places in its box. Along an axis in which the box has no width, their centres of mass lie in
    /// the box, and bodies stick out of it. With a face, their centres of mass lie on its triangles, and the box bounds them.
    pub fill: Fill,
    /// Flows through it, one after the other; all rates are of the same kind.
    pub flows: Vec<Inflow>,
    /// Largest number of bodies in all.
    pub most: u64,
    /// Largest mass in all, kg.
    pub most_mass: f64,
}

/// A flow through an inlet at a steady rate.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inflow {
    /// Rate at which bodies come in.
    pub rate: Rate,
    /// Time from which the inlet is open, s.
    pub start: f64,
    /// Time until which the inlet is open, s.
    pub end: f64,
}

/// Rate of an inlet.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Number of bodies per second, 1/s.
    Bodies(f64),
    /// Mass per second, kg/s.
    Mass(f64),
}

impl Inlet {
    /// Ends the present flow at `time` (s), and begins another, whose times are from then on; `None` closes the inlet.
    pub(crate) fn turn(&mut self, flow: Option<Inflow>, time: f64) {
        for before in &mut self.flows {
            before.end = before.end.min(time);
        }
        self.flows.extend(flow.map(|flow| Inflow {
            start: flow.start + time,
            end: flow.end + time,
            ..flow
        }));
    }

    /// The shape of the next body, if it is due at `time` (s) and the inlet has brought the amount `brought` so far.
    pub(crate) fn next(&self, brought: &Amount, time: f64, shapes: &[Clump]) -> Option<usize> {
        if brought.bodies >= self.most {
            return None;
        }
        let shape = self.fill.shape_of(brought.bodies);
        if brought.mass + 0.5 * shapes[shape].mass > self.most_mass {
            return None;
        }
        let (mut bodies, mut mass) = (0.0, 0.0);
        for flow in &self.flows {
            let open = (time.min(flow.end) - flow.start).max(0.0);
            match flow.rate {
                Rate::Bodies(rate) => bodies += rate * open,
                Rate::Mass(rate) => mass += rate * open,
            }
        }
        // Whole bodies come as near to the wanted mass as they can.
        let due = (brought.bodies + 1) as f64 <= bodies
            || brought.mass + 0.5 * shapes[shape].mass <= mass;
        due.then_some(shape)
    }

    /// Number of bodies that are due at `time` (s) if the inlet has brought the amount `brought` so far; at most [`COUNTED`].
    pub(crate) fn due(&self, brought: &Amount, time: f64, shapes: &[Clump]) -> u64 {
        let mut with = *brought;
        while with.bodies - brought.bodies < COUNTED
            && let Some(shape) = self.next(&with, time, shapes)
        {
            with.add(shapes[shape].mass);
        }
        with.bodies - brought.bodies
    }

    /// The space in and around the box of the inlet that `bodies` take.
    pub(crate) fn occupied(
        &self,
        model: &Model,
        bodies: impl Iterator<Item = ModelBody>,
    ) -> Occupied {
        let mut occupied = Occupied::new(&model.shapes);
        let radii: Vec<f64> = model.shapes.iter().map(Clump::bounding_radius).collect();
        for body in bodies {
            self.each_image(model, &radii, &body, |image| {
                occupied.insert(image, &model.shapes);
            });
        }
        occupied
    }

    /// Whether a body takes space in or around the box of the inlet; `radii` are the bounding radii of all shapes, m.
    pub(crate) fn may_meet(&self, model: &Model, radii: &[f64], body: &ModelBody) -> bool {
        let mut meets = false;
        self.each_image(model, radii, body, |_| meets = true);
        meets
    }

    /// Calls a function with each image of a body, in a periodic box, that takes space in or around the box of the inlet.
    fn each_image(
        &self,
        model: &Model,
        radii: &[f64],
        body: &ModelBody,
        mut act: impl FnMut(&ModelBody),
    ) {
        let period = model.domain.map_or(DVec3::ZERO, |domain| domain.period());
        let images = |axis: usize| if period[axis] > 0.0 { -1..=1 } else { 0..=0 };
        // Bodies that come in on a face stick out of the box by their own size.
        let reach = radii[body.shape] + self.overhang(radii);
        for x in images(0) {
            for y in images(1) {
                for z in images(2) {
                    let shift = glam::IVec3::new(x, y, z).as_dvec3() * period;
                    let position = body.position + shift;
                    let nearest = position.clamp(self.fill.min, self.fill.max);
                    if position.distance_squared(nearest) <= reach * reach {
                        act(&ModelBody { position, ..*body });
                    }
                }
            }
        }
    }

    /// Largest distance by which a body that comes in sticks out of the box, m.
    fn overhang(&self, radii: &[f64]) -> f64 {
        if self.fill.face.is_none() && self.fill.min.cmplt(self.fill.max).all() {
            return 0.0;
        }
        let mix = self.fill.shapes.iter();
        mix.map(|(shape, _)| radii[*shape]).fold(0.0, f64::max)
    }

    /// Places the body with the number `number` of this inlet in free space; `None` if no free place is found.
    ///
    /// `shape` is its shape, and `steps` the number of steps so far.
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
