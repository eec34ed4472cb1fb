use std::f64::consts::PI;

use super::contacts::add;
use super::grid::between;
use super::real::Real;
use super::rotation::{Quaternion, angular_velocity};
use super::state::{Action, Body, BodyProperties, Params, State};
use super::vector::Vector;
use crate::state::layout::{ANCHOR, SPRING, THRUST};

/// Forces on each body besides contacts and gravity: drag, water, springs, applied forces; and the gravity of its group.
pub fn forces<R: Real>(state: &mut State<R>) {
    if state.params.forces == 0 {
        return;
    }
    let time = state.params.earlier + R::of(state.stats.step.into()) * state.params.time_step;
    for index in 0..state.bodies.len() {
        let body = &state.bodies[index];
        let (constant, _) = state.kind(body);
        if constant.inverse_mass == R::ZERO || constant.is_ghost() {
            continue;
        }
        let mut own = state.body_forces[index];
        let group = &state.groups[constant.group as usize];
        let turning = Turning::new(body, constant);
        let spin = turning.spin;

        let mut sum = Taken {
            force: body.velocity * -group.drag,
            torque: spin * -group.angular_drag,
            power: group.drag * body.velocity.square() + group.angular_drag * spin.square(),
            given: R::ZERO,
        };
        if state.params.water_density > R::ZERO {
            sum.add(in_water(state, &turning, own.displacement, time));
        }
        let actions = state.actions.iter();
        for action in actions.filter(|action| action.body as usize == index) {
            sum.add(act(state, action, &turning, time));
        }
        own.force = sum.force;
        own.torque = sum.torque;
        own.acceleration = group.gravity;
        let term = sum.power * state.params.time_step;
        add(&mut own.drag, &mut own.drag_rest, term);
        let term = sum.given * state.params.time_step;
        add(&mut own.work, &mut own.work_rest, term);
        state.body_forces[index] = own;
    }
}

/// Force, torque about the centre of mass, and the powers that it takes and gives, W.
#[derive(Default)]
struct Taken<R> {
    force: Vector<R>,
    torque: Vector<R>,
    power: R,
    given: R,
}

impl<R: Real> Taken<R> {
    fn add(&mut self, other: Taken<R>) {
        self.force += other.force;
        self.torque += other.torque;
        self.power += other.power;
        self.given += other.given;
    }
}

/// A body and how it turns.
pub struct Turning<'a, R: Real> {
    pub body: &'a Body<R>,
    pub orientation: Quaternion<R>,
    pub spin: Vector<R>,
}

impl<R: Real> Turning<'_, R> {
    pub fn new<'a>(body: &'a Body<R>, constant: &BodyProperties<R>) -> Turning<'a, R> {
        let orientation = body.orientation.quaternion();
        let momentum = body.angular_momentum;
        Turning {
            body,
            orientation,
            spin: angular_velocity(orientation, momentum, constant.inverse_inertia),
        }
    }

    pub fn velocity_at(&self, arm: Vector<R>) -> Vector<R> {
        self.body.velocity + self.spin.cross(arm)
    }
}

/// The part of a sphere's volume that is below the surface, its centre `depth` under it. (A cap of height h has the
/// volume π h² (3 r - h) / 3.)
fn submerged<R: Real>(radius: R, depth: R) -> R {
    let height = ((depth + radius) / radius).clamp(R::ZERO, R::of(2.0));
    R::of(0.25) * height * height * (R::of(3.0) - height)
}

/// Height of the surface of the water at a place, above cell 0.
fn water_height<R: Real>(params: &Params<R>, place: Vector<R>, time: R) -> R {
    let [x, z] = [
        place.x + params.wave_origin[0],
        place.z + params.wave_origin[1],
    ];
    let mut height = params.water_level;
    for wave in &params.waves[..params.wave_count as usize] {
        let phase = wave[0] * x + wave[1] * z - wave[3] * time;
        height += wave[2] * R::sine(phase);
    }
    height
}

fn in_water<R: Real>(state: &State<R>, turning: &Turning<R>, displacement: R, time: R) -> Taken<R> {
    let params = &state.params;
    let Turning {
        body,
        orientation,
        spin,
    } = *turning;
    let mut sum = Taken::default();
    let cells = Vector::of_cells(body.cell);
    let center = cells * params.cell_size + body.offset.metres(params.cell_size);
    for member in state.kind(body).1 {
        let arm = orientation.rotate(member.center);
        let place = center + arm;
        let depth = water_height(params, place, time) - place.y;
        let part = displacement * submerged(member.radius, depth);
        if part == R::ZERO {
            continue;
        }
        let square = member.radius * member.radius;
        let velocity = turning.velocity_at(arm);
        let pi = R::of(PI);
        let volume = part * (R::of(4.0) / R::of(3.0)) * pi * square * member.radius;
        let stokes = part * pi * params.water_viscosity * member.radius;
        let inertial = part * R::of(0.5) * params.water_drag * params.water_density * pi * square;
        let resistance = R::of(6.0) * stokes + inertial * velocity.length();
        let lift = params.gravity * -(params.water_density * volume);
        let force = velocity * -resistance + lift;
        let twist = R::of(8.0) * stokes * square;
        sum.add(Taken {
            force,
            torque: arm.cross(force) - spin * twist,
            power: resistance * velocity.square() + twist * spin.square(),
            given: lift.dot(velocity),
        });
    }
    sum
}

fn spring<R: Real>(
    state: &State<R>,
    action: &Action<R>,
    turning: &Turning<R>,
    arm: Vector<R>,
) -> Taken<R> {
    let size = state.params.cell_size;
    let mut other_end = (action.cell, action.vector);
    let mut other_velocity = Vector::ZERO;
    let mut share = R::ONE;
    if action.kind == SPRING {
        let other = &state.bodies[action.other as usize];
        let (constant, _) = state.kind(other);
        let other = Turning::new(other, constant);
        let other_arm = other.orientation.rotate(action.vector);
        other_end = (other.body.cell, other.body.offset.metres(size) + other_arm);
        other_velocity = other.velocity_at(other_arm);
        // Each end has a half of what the dashpot takes, but a fixed one.
        if constant.inverse_mass != R::ZERO {
            share = R::of(0.5);
        }
    }
    let own_end = (turning.body.cell, turning.body.offset.metres(size) + arm);
    let way = between(own_end, other_end, &state.params);
    let distance = way.length();
    if distance == R::ZERO || (action.slack == 1 && distance < action.rest_length) {
        return Taken::default();
    }
    let along = way / distance;
    let speed = (other_velocity - turning.velocity_at(arm)).dot(along);
    let stretch = distance - action.rest_length;
    let force = along * (action.stiffness * stretch + action.damping * speed);
    Taken {
        force,
        torque: arm.cross(force),
        power: share * action.damping * speed * speed,
        given: R::ZERO,
    }
}

fn act<R: Real>(state: &State<R>, action: &Action<R>, turning: &Turning<R>, time: R) -> Taken<R> {
    if action.acts == 0 || time < action.start || time >= action.end {
        return Taken::default();
    }
    let arm = turning.orientation.rotate(action.point);
    if action.kind == SPRING || action.kind == ANCHOR {
        return spring(state, action, turning, arm);
    }
    let mut force = action.vector;
    let mut torque = action.torque;
    if action.kind == THRUST {
        force = turning.orientation.rotate(force);
        torque = turning.orientation.rotate(torque);
    }
    Taken {
        force,
        torque: arm.cross(force) + torque,
        power: R::ZERO,
        given: force.dot(turning.velocity_at(arm)) + torque.dot(turning.spin),
    }
}
