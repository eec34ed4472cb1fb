//! Sums and extremes of a state.

use bytemuck::bytes_of;
use glam::DVec3;
use xxhash_rust::xxh3::Xxh3;

use crate::model::Model;
use crate::model::wall::Dynamic;
use crate::simulation::network::contacts;
use crate::state::layout::{ASLEEP, Body, SphereLoad};
use crate::state::{Dissipated, State, angular_velocity, body_orientation};
use crate::step::Before;

/// Sums over the bodies that are not fixed, in `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Kinetic energy of translation and rotation, J.
    pub kinetic_energy: f64,
    /// Momentum, kg m/s.
    pub momentum: DVec3,
    /// Angular momentum about the origin, kg m²/s.
    pub angular_momentum: DVec3,
    /// Largest overlap in the whole run, as a fraction of the smaller radius.
    pub max_overlap_fraction: f64,
    /// Contacts in the last step: pairs of spheres, and spheres with walls.
    pub contacts: u64,
    /// Bodies that sleep.
    pub asleep: u64,
    /// Hash of the state of all bodies, bit for bit (XXH3).
    pub state_hash: u64,
}

impl Summary {
    /// Summary of `state`, which belongs to `model`.
    pub fn new(model: &Model, state: &State) -> Summary {
        let mut sums = Sums::default();
        sums.add(model, state, 0);
        sums.finish(state)
    }
}

/// Sums of a [`Summary`] over the parts of a state, which come in order.
#[derive(Default)]
pub(super) struct Sums {
    kinetic_energy: f64,
    momentum: DVec3,
    angular_momentum: DVec3,
    /// A contact of two spheres is counted at both, one with a wall twice.
    sides: u64,
    asleep: u64,
    /// Of all bodies without their drift since the lists were built, on which the outcome does not depend.
    hash: Xxh3,
}

impl Sums {
    /// Adds a part with so many spheres before it.
    pub(super) fn add(&mut self, model: &Model, part: &State, spheres_before: u32) {
        for (body, start) in part.bodies.iter().zip(&part.identities) {
            self.hash.update(bytes_of(&Body {
                first_sphere: body.first_sphere + spheres_before,
                displacement_bound: 0.0,
                ..*body
            }));
            self.asleep += u64::from(body.still & ASLEEP != 0);
            if start.fixed {
                continue;
            }
            let clump = &model.shapes[start.shape];
            let velocity = body.velocity.as_dvec3();
            let spin = angular_velocity(body, clump.inertia);
            let body_spin = body_orientation(body).conjugate() * spin;
            self.kinetic_energy += 0.5 * clump.mass * velocity.length_squared()
                + 0.5 * (clump.inertia * body_spin).dot(body_spin);
            self.momentum += clump.mass * velocity;
            self.angular_momentum +=
                body.angular_momentum.as_dvec3() + clump.mass * part.position(body).cross(velocity);
        }
        let sides = |load: &SphereLoad| {
            u64::from(load.sphere_contacts()) + 2 * u64::from(load.wall_contacts())
        };
        self.sides += part.sphere_loads.iter().map(sides).sum::<u64>();
    }

    /// The summary of the whole state, whose elements may be elsewhere.
    pub(super) fn finish(self, whole: &State) -> Summary {
        Summary {
            kinetic_energy: self.kinetic_energy,
            momentum: self.momentum,
            angular_momentum: self.angular_momentum,
            max_overlap_fraction: f32::from_bits(whole.stats[0].max_overlap_fraction).into(),
            contacts: self.sides / 2,
            asleep: self.asleep,
            state_hash: self.hash.digest(),
        }
    }
}

/// Energies of a simulation, J.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Energy {
    /// Energy of translation and rotation, of bodies that are not fixed and of walls that are rigid bodies.
    pub kinetic: f64,
    /// In the field of gravity, without buoyancy: 0 at the origin. In a periodic box, that of the image inside it.
    pub gravitational: f64,
    /// In the springs of contacts (less the work of cohesion), in springs between bodies, and in bonds. 0 for
    /// contacts under a custom law, whose energy is not known.
    pub elastic: f64,
    /// Dissipated by the dashpots of contacts since the start.
    pub damping: f64,
    /// Dissipated by sliding, rolling and twisting friction since the start.
    pub friction: f64,
    /// Dissipated by drag, water and the dashpots of springs since the start.
    pub drag: f64,
    /// Dissipated by the dashpots of bonds since the start, and the energy that bonds held when they broke.
    pub bonds: f64,
    /// Work since the start of moving walls, of a deforming periodic box, of forces and torques on bodies, and of
    /// buoyancy. It includes neither the energy of bodies that come in or go out, nor changes made from outside: by
    /// the hand in the window, by a program, or by a change of gravity.
    pub work: f64,
}

impl Energy {
    /// The energy of `state`, which belongs to `model`.
    pub fn new(model: &Model, state: &State) -> Energy {
        let (mut summary, mut sums) = (Sums::default(), EnergySums::new(state));
        summary.add(model, state, 0);
        sums.add(model, state, &Before::default());
        sums.finish(model, state, summary.kinetic_energy)
    }

    /// Present energy, J: kinetic, gravitational and elastic.
    pub fn total(&self) -> f64 {
        self.kinetic + self.gravitational + self.elastic
    }

    /// Energy balance, J: present and dissipated energy, less the work. It is constant.
    pub fn balance(&self) -> f64 {
        self.total() + self.damping + self.friction + self.drag + self.bonds - self.work
    }
}

/// Sums of an [`Energy`] over the parts of a state, which come in order.
pub(super) struct EnergySums {
    gravitational: f64,
    elastic: f64,
    bonded: f64,
    dissipated: Dissipated,
    /// Indices of the bodies at the ends of springs, in order.
    at_springs: Vec<u32>,
    /// These bodies, as far as they have come.
    ends: Vec<Body>,
}

impl EnergySums {
    /// Begins with what is not of bodies that are there.
    pub(super) fn new(whole: &State) -> EnergySums {
        EnergySums {
            at_springs: whole.bodies_at_springs(),
            ends: Vec::new(),
            gravitational: 0.0,
            elastic: 0.0,
            bonded: 0.0,
            dissipated: whole.gone,
        }
    }

    /// Adds a part.
    pub(super) fn add(&mut self, model: &Model, part: &State, before: &Before) {
        let of_part = |body: &u32| part.bodies.get(body.checked_sub(before.bodies)? as usize);
        self.ends.extend(self.at_springs.iter().filter_map(of_part));
        self.elastic = contacts(part).fold(self.elastic, |sum, contact| sum + contact.stored);
        let bonds = part.bonded_between(|body| before.end(part, body));
        self.bonded = bonds.fold(self.bonded, |sum, bond| sum + bond.energy);
        for (body, start) in part.bodies.iter().zip(&part.identities) {
            if !start.fixed {
                let mass = model.shapes[start.shape].mass;
                let gravity = model.forces.groups[start.group]
                    .gravity
                    .unwrap_or(model.gravity);
                self.gravitational -= mass * gravity.dot(part.position(body));
            }
        }
        for force in &part.body_forces {
            self.dissipated.add_forces(force);
        }
        for load in &part.sphere_loads {
            self.dissipated.add(load);
        }
        for own in &part.body_bonds {
            self.dissipated.add_bonds(own);
        }
    }

    /// The energy of the whole state, whose elements may be elsewhere; `kinetic` is that of its bodies, J.
    pub(super) fn finish(self, model: &Model, whole: &State, kinetic: f64) -> Energy {
        let EnergySums {
            gravitational,
            elastic,
            bonded,
            dissipated,
            at_springs,
            ends,
        } = self;
        let end = |body: u32| &ends[at_springs.partition_point(|&other| other < body)];
        let mut energy = Energy {
            kinetic,
            gravitational,
            elastic,
            ..Energy::default()
        };
        for own in &whole.dynamic_walls {
            let Some(wall) = model.walls.get(own.wall as usize) else {
                continue;
            };
            if let Some(Dynamic::Body(rigid)) = wall.dynamic {
                let moving = whole.wall(own.wall as usize);
                let mass = rigid.mass.unwrap_or(0.0);
                let turning = own.body.angular_momentum.as_dvec3();
                energy.kinetic += 0.5 * mass * moving.velocity.length_squared()
                    + 0.5 * turning.dot(moving.angular_velocity);
                energy.gravitational -= mass * model.gravity.dot(moving.pose.position);
            }
        }
        let springs = whole.springs_between(end);
        energy.elastic += springs.map(|spring| spring.energy).sum::<f64>();
        energy.elastic += bonded;
        (energy.damping, energy.friction) = (dissipated.damping, dissipated.friction);
        energy.drag = dissipated.drag;
        energy.bonds = dissipated.bonds;
        let of_walls = whole.wall_loads.iter();
        let of_walls = of_walls.map(|load| f64::from(load.work) + f64::from(load.work_rest));
        energy.work = dissipated.work + of_walls.sum::<f64>();
        if let Some(now) = whole.traffic.deformation {
            // Includes the work since the last look.
            let steps = whole.stats[0].steps.wrapping_sub(whole.params.first_step);
            energy.work += now.work + now.power() * f64::from(steps) * model.time_step;
        }
        energy
    }
}
