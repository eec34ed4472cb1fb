//! Numbers that sum a state up.

use bytemuck::bytes_of;
use glam::DVec3;
use xxhash_rust::xxh3::Xxh3;

use crate::model::Model;
use crate::model::wall::Dynamic;
use crate::simulation::network::contacts;
use crate::state::layout::{ASLEEP, Body, SphereLoad};
use crate::state::{State, angular_velocity, body_orientation};

/// Sums of a state; they are in `f64`, over bodies that are not fixed.
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
    /// Sums up `state`, which belongs to `model`.
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
        // A pair of spheres is counted at both, a wall once.
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

/// Where the energy of a simulation is, J.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Energy {
    /// Of translation and rotation, of bodies that are not fixed and walls that are rigid bodies.
    pub kinetic: f64,
    /// In the field of gravity, without the lift of water: 0 at the origin. In a periodic box, of the image inside it.
    pub gravitational: f64,
    /// In the springs of contacts, less what cohesion holds, in those between bodies, and in bonds. Of contacts under a
    /// custom law it is not known, and 0.
    pub elastic: f64,
    /// Dissipated by dashpots since the start.
    pub damping: f64,
    /// Dissipated by sliding, rolling and twisting friction since the start.
    pub friction: f64,
    /// Dissipated by drag, water and the dashpots of springs since the start.
    pub drag: f64,
    /// Taken since the start by the dashpots of bonds, and held by bonds when they broke.
    pub bonds: f64,
    /// Done since the start by walls that move, by a periodic box that deforms, by forces and torques on bodies and by the lift of water. What bodies bring
    /// that come in, and take along when they go out, is not in it, nor what a hand, a program or another gravity does.
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
            // With what it has done since the last look.
            let steps = state.stats[0].steps.wrapping_sub(state.params.first_step);
            energy.work += now.work + now.power() * f64::from(steps) * model.time_step;
        }
        energy
    }

    /// Energy that is left: kinetic, gravitational and elastic, J.
    pub fn total(&self) -> f64 {
        self.kinetic + self.gravitational + self.elastic
    }

    /// Balance, J: energy that is left and that was dissipated, less the work that was done. It stays as it is.
    pub fn balance(&self) -> f64 {
        self.total() + self.damping + self.friction + self.drag + self.bonds - self.work
    }
}

/// Hash of all bodies, but for what they have drifted since the lists were built: the outcome does
/// not depend on that.
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
