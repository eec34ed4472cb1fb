//! Pass `forces`: drag, water, springs and other forces on bodies that are no contacts.

use std::f32::consts::PI;

use glam::{Vec2, Vec3};

use super::GRAIN;
use super::contacts::add;
use crate::math::grid::{metres, shortest_way};
use crate::math::parallel::prelude::*;
use crate::math::rotation::{Quaternion, angular_velocity};
use crate::state::State;
use crate::state::layout::{
    ANCHOR, Action, Body, BodyForce, BodyProperties, Params, SPRING, THRUST,
};

/// Forces on each body besides contacts and gravity: drag, water, springs, applied forces; and the gravity of its
/// group.
pub fn forces(state: &mut State) {
    if state.params.forces == 0 {
        return;
    }
    let mut forces = std::mem::take(&mut state.body_forces);
    let time = state.params.earlier + state.stats[0].step as f32 * state.params.time_step;
    forces
        .par_iter_mut()
        .with_min_len(GRAIN)
        .enumerate()
        .filter(|(index, _)| {
            let properties = state.properties_of(&state.bodies[*index]);
            properties.inverse_mass > 0.0 && !properties.is_ghost()
        })
        .for_each(|(index, force)| act_on(state, index, time, force));
    state.body_forces = forces;
}

/// Force, torque about the centre of mass, and the powers that it takes and gives, W.
#[derive(Default)]
struct Taken {
    force: Vec3,
    torque: Vec3,
    power: f32,
    given: f32,
}

impl Taken {
    fn add(&mut self, other: Taken) {
        self.force += other.force;
        self.torque += other.torque;
        self.power += other.power;
        self.given += other.given;
    }
}

/// A body and how it turns.
pub(super) struct Turning<'a> {
    pub body: &'a Body,
    pub orientation: Quaternion,
    pub spin: Vec3,
}

impl Turning<'_> {
    pub fn new<'a>(body: &'a Body, properties: &BodyProperties) -> Turning<'a> {
        let orientation = Quaternion::of(body.orientation);
        let inverse_inertia = properties.inverse_inertia;
        Turning {
            body,
            orientation,
            spin: angular_velocity(orientation, body.angular_momentum, inverse_inertia),
        }
    }

    pub fn velocity_at(&self, arm: Vec3) -> Vec3 {
        self.body.velocity + self.spin.cross(arm)
    }
}

fn act_on(state: &State, index: usize, time: f32, own: &mut BodyForce) {
    let params = &state.params;
    let body = &state.bodies[index];
    let properties = state.properties_of(body);
    let turning = Turning::new(body, properties);
    let group = &state.groups[properties.group as usize];
    let (velocity, spin) = (turning.body.velocity, turning.spin);

    let mut sum = Taken {
        force: -group.drag * velocity,
        torque: -group.angular_drag * spin,
        power: group.drag * velocity.length_squared() + group.angular_drag * spin.length_squared(),
        given: 0.0,
    };
    if params.water_density > 0.0 {
        sum.add(in_water(state, &turning, own.displacement, time));
    }
    let actions = &state.actions;
    let first = actions.partition_point(|action| (action.body as usize) < index);
    let own_actions = actions[first..].iter();
    for action in own_actions.take_while(|action| action.body as usize == index) {
        sum.add(act(state, action, &turning, time));
    }
    own.force = sum.force;
    own.torque = sum.torque;
    own.acceleration = group.gravity;
    add(
        &mut own.drag,
        &mut own.drag_rest,
        sum.power * params.time_step,
    );
    add(
        &mut own.work,
        &mut own.work_rest,
        sum.given * params.time_step,
    );
}

/// The part of a sphere's volume that is below the surface, its centre `depth` under it. (A cap of height h
/// has the volume π h² (3 r - h) / 3.)
fn submerged(radius: f32, depth: f32) -> f32 {
    let height = ((depth + radius) / radius).clamp(0.0, 2.0);
    0.25 * height * height * (3.0 - height)
}

/// Height of the surface of the water at a place, above cell 0.
fn water_height(params: &Params, place: Vec3, time: f32) -> f32 {
    let point = Vec2::new(place.x, place.z) + params.wave_origin;
    params.waves[..params.wave_count as usize]
        .iter()
        .fold(params.water_level, |height, wave| {
            height + wave.z * sine(Vec2::new(wave.x, wave.y).dot(point) - wave.w * time)
        })
}

/// The twin of what the shader has, since WGSL's own sine may be wrong by 2⁻¹¹: Taylor's polynomial about the
/// nearest multiple of π.
fn sine(angle: f32) -> f32 {
    let turns = (angle / PI).round_ties_even();
    let rest = angle - turns * PI;
    let square = rest * rest;
    let even = turns - 2.0 * (0.5 * turns).floor() == 0.0;
    let value = rest
        * (1.0
            - square / 6.0
                * (1.0
                    - square / 20.0
                        * (1.0 - square / 42.0 * (1.0 - square / 72.0 * (1.0 - square / 110.0)))));
    if even { value } else { -value }
}

fn in_water(state: &State, turning: &Turning, displacement: f32, time: f32) -> Taken {
    let params = &state.params;
    let body = turning.body;
    let center = body.cell.as_vec3() * params.cell_size + metres(body.offset, params.cell_size);
    let mut sum = Taken::default();
    for member in state.members_of(body) {
        let arm = turning.orientation.rotate(member.center);
        let place = center + arm;
        let depth = water_height(params, place, time) - place.y;
        let part = displacement * submerged(member.radius, depth);
        if part == 0.0 {
            continue;
        }
        let square = member.radius * member.radius;
        let velocity = turning.velocity_at(arm);
        let volume = part * (4.0 / 3.0) * PI * square * member.radius;
        let stokes = part * PI * params.water_viscosity * member.radius;
        let inertial = part * 0.5 * params.water_drag * params.water_density * PI * square;
        let resistance = 6.0 * stokes + inertial * velocity.length();
        let lift = -(params.water_density * volume) * params.gravity;
        let force = -resistance * velocity + lift;
        let twist = 8.0 * stokes * square;
        sum.add(Taken {
            force,
            torque: arm.cross(force) - twist * turning.spin,
            power: resistance * velocity.length_squared() + twist * turning.spin.length_squared(),
            given: lift.dot(velocity),
        });
    }
    sum
}

fn act(state: &State, action: &Action, turning: &Turning, time: f32) -> Taken {
    if action.acts == 0 || !(action.start..action.end).contains(&time) {
        return Taken::default();
    }
    let arm = turning.orientation.rotate(action.point);
    let (force, torque) = match action.kind {
        SPRING | ANCHOR => return spring(state, action, turning, arm),
        THRUST => (
            turning.orientation.rotate(action.vector),
            turning.orientation.rotate(action.torque),
        ),
        _ => (action.vector, action.torque),
    };
    Taken {
        force,
        torque: arm.cross(force) + torque,
        power: 0.0,
        given: force.dot(turning.velocity_at(arm)) + torque.dot(turning.spin),
    }
}

fn spring(state: &State, action: &Action, turning: &Turning, arm: Vec3) -> Taken {
    let params = &state.params;
    let (cell, offset, other_velocity, share) = if action.kind == SPRING {
        let other = &state.bodies[action.other as usize];
        let properties = state.properties_of(other);
        let other = Turning::new(other, properties);
        let other_arm = other.orientation.rotate(action.vector);
        // Each end has a half of what the dashpot takes, but a fixed one.
        let share = if properties.inverse_mass == 0.0 {
            1.0
        } else {
            0.5
        };
        (
            other.body.cell,
            metres(other.body.offset, params.cell_size) + other_arm,
            other.velocity_at(other_arm),
            share,
        )
    } else {
        (action.cell, action.vector, Vec3::ZERO, 1.0)
    };
    let body = turning.body;
    let own = metres(body.offset, params.cell_size) + arm;
    let cells = cell - body.cell;
    let way = shortest_way(cells, offset - own, params.cell_size, params.period);
    let distance = way.length();
    if distance == 0.0 || (action.slack == 1 && distance < action.rest_length) {
        return Taken::default();
    }
    let along = way / distance;
    let speed = (other_velocity - turning.velocity_at(arm)).dot(along);
    let force =
        (action.stiffness * (distance - action.rest_length) + action.damping * speed) * along;
    Taken {
        force,
        torque: arm.cross(force),
        power: share * action.damping * speed * speed,
        given: 0.0,
    }
}
