//! Sums and extremes of a state.

use bytemuck::bytes_of;
use glam::DVec3;
use xxhash_rust::xxh3::Xxh3;

use crate::model::Model;
use crate::model::wall::Dynamic;
use crate::simulation::network::contacts;
use crate::state::layout::{ASLEEP, Body, SphereLoad};
use crate::state::{State, angular_velocity, body_orientation};

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
        let mut kinetic_energy = 0.0;
        let mut momentum = DVec3::ZERO;
        let mut angular_momentum = DVec3::ZERO;
        for (body, start) in state.bodies.iter().zip(&state.identities) {
            if start.fixed {
                continue;
            }
            let clump = &model.shapes[start.shape];
            let velocity = body.velocity.as_dvec3();
            let spin = angular_velocity(body, clump.inertia);
            let body_spin = body_orientation(body).conjugate() * spin;
            kinetic_energy += 0.5 * clump.mass * velocity.length_squared()
                + 0.5 * (clump.inertia * body_spin).dot(body_spin);
            momentum += clump.mass * velocity;
            angular_momentum += body.angular_momentum.as_dvec3()
                + clump.mass * state.position(body).cross(velocity);
        }
        // A contact of two spheres is counted at both, one with a wall once.
        let sides = |load: &SphereLoad| {
            u64::from(load.sphere_contacts()) + 2 * u64::from(load.wall_contacts())
        };
        Summary {
            kinetic_energy,
            momentum,
            angular_momentum,
            max_overlap_fraction: f32::from_bits(state.stats[0].max_overlap_fraction).into(),
            contacts: state.sphere_loads.iter().map(sides).sum::<u64>() / 2,
            asleep: state
                .bodies
                .iter()
                .filter(|body| body.still & ASLEEP != 0)
                .count() as u64,
            state_hash: hash(state),
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
        let mut energy = Energy {
            kinetic: Summary::new(model, state).kinetic_energy,
            elastic: contacts(state).fold(0.0, |sum, contact| sum + contact.stored),
            ..Energy::default()
        };
        for (body, start) in state.bodies.iter().zip(&state.identities) {
            if !start.fixed {
                let mass = model.shapes[start.shape].mass;
                let gravity = model.forces.groups[start.group]
                    .gravity
                    .unwrap_or(model.gravity);
                energy.gravitational -= mass * gravity.dot(state.position(body));
            }
        }
        for own in &state.dynamic_walls {
            let Some(wall) = model.walls.get(own.wall as usize) else {
                continue;
            };
            if let Some(Dynamic::Body(rigid)) = wall.dynamic {
                let moving = state.wall(own.wall as usize);
                let mass = rigid.mass.unwrap_or(0.0);
                let turning = own.body.angular_momentum.as_dvec3();
                energy.kinetic += 0.5 * mass * moving.velocity.length_squared()
                    + 0.5 * turning.dot(moving.angular_velocity);
                energy.gravitational -= mass * model.gravity.dot(moving.pose.position);
            }
        }
        energy.elastic += state.springs().map(|spring| spring.energy).sum::<f64>();
        energy.elastic += state.bonded().map(|bond| bond.energy).sum::<f64>();
        let mut dissipated = state.gone;
        for force in &state.body_forces {
            dissipated.add_forces(force);
        }
        for load in &state.sphere_loads {
            dissipated.add(load);
        }
        for own in &state.body_bonds {
            dissipated.add_bonds(own);
        }
        (energy.damping, energy.friction) = (dissipated.damping, dissipated.friction);
        energy.drag = dissipated.drag;
        energy.bonds = dissipated.bonds;
        let of_walls = state.wall_loads.iter();
        let of_walls = of_walls.map(|load| f64::from(load.work) + f64::from(load.work_rest));
        energy.work = dissipated.work + of_walls.sum::<f64>();
        if let Some(now) = state.traffic.deformation {
            // Includes the work since the last look.
            let steps = state.stats[0].steps.wrapping_sub(state.params.first_step);
            energy.work += now.work + now.power() * f64::from(steps) * model.time_step;
        }
        energy
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

/// Hash of all bodies without their drift since the lists were built, on which the outcome does not depend.
fn hash(state: &State) -> u64 {
    let mut hash = Xxh3::new();
    for body in &state.bodies {
        hash.update(bytes_of(&Body {
            displacement_bound: 0.0,
            ..*body
        }));
    }
    hash.digest()
}
