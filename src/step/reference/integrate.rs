use super::contacts::add;
use super::grid::{between, travel};
use super::real::Real;
use super::rotation::{Quaternion, advance, angular_velocity};
use super::state::{Body, BodyProperties, DynamicWall, Params, State, SummedLoad, Wall};
use super::vector::Vector;
use crate::math::rounding::dither;
use crate::state::layout::{ASLEEP, IMPULSE, SEMI_IMPLICIT, SHARES, WALL_DIGITS, shared};

/// Sums the spheres of each body and moves it by one time step; and moves walls.
pub fn integrate<R: Real>(state: &mut State<R>) {
    state.stats.stale = u32::from(state.params.displacement_limit < R::ZERO);
    for index in 0..state.bodies.len() {
        integrate_body(state, index);
    }
    integrate_walls(state);
    state.stats.steps = state.stats.steps.wrapping_add(1);
}

/// The displacement bound of a body in a step before it moves, without its sign.
fn displacement_before<R: Real>(state: &State<R>, body: &Body<R>) -> R {
    if state.stats.rebuilding == 0 {
        body.displacement_bound.abs()
    } else if body.displacement_bound.is_negative() {
        R::ZERO
    } else {
        R::of(0.5) * (state.params.skin - state.params.slow_skin)
    }
}

/// A number from 0 to 1, as good as random.
fn dither_of<R: Real>(state: &State<R>) -> R {
    R::of(dither(state.stats.step).into())
}

fn integrate_body<R: Real>(state: &mut State<R>, index: usize) {
    let params = state.params;
    let time_step = params.time_step;
    let mut body = state.bodies[index];
    let displacement_bound = displacement_before(state, &body);
    let (constant, members) = state.kind(&body);
    if constant.is_ghost() {
        return;
    }
    let driven = constant.inverse_mass == R::ZERO;
    if driven && constant.inverse_inertia == Vector::ZERO {
        state.bodies[index].displacement_bound = displacement_bound;
        return;
    }

    let orientation = body.orientation.quaternion();
    let mut force = Vector::ZERO;
    let mut torque = Vector::ZERO;
    let loads = &state.sphere_loads[body.first_sphere as usize..];
    let mut contacts = 0;
    for (member, load) in members.iter().zip(loads) {
        contacts += load.touches();
        let arm = orientation.rotate(member.center);
        force += load.force;
        torque += load.torque + arm.cross(load.force);
    }
    // The bits of `still` that count contacts.
    let counted = if params.law == IMPULSE { SHARES } else { 0 };
    if params.pulled as usize == index + 1 && !driven {
        body = pulled(body, constant, &params);
    }

    let dither = dither_of(state);
    let mut gravity = params.gravity;
    if params.forces == 1 {
        let other = &state.body_forces[index];
        force += other.force;
        torque += other.torque;
        gravity += other.acceleration;
    }
    if params.deforms == 1 {
        // What moves with the mean flow comes to where it is another one.
        gravity -= params.flow(body.velocity);
    }
    if driven {
        // Nothing moves a kinematic body but its own velocity.
        (force, torque, gravity) = (Vector::ZERO, Vector::ZERO, Vector::ZERO);
    }
    let acceleration = force * constant.inverse_mass + gravity;
    let farthest = constant.reach + members[0].radius;
    if params.sleep_steps > 0 && body.still & ASLEEP != 0 {
        let twist = angular_velocity(orientation, torque, constant.inverse_inertia);
        if acceleration.length() + farthest * twist.length() <= params.wake_acceleration {
            body.displacement_bound = displacement_bound;
            state.stats.stale |= u32::from(displacement_bound > params.displacement_limit);
            state.bodies[index] = body;
            return;
        }
        body.still &= counted;
    }
    if counted != 0 {
        let shares = shared(body.still, constant.landing, contacts, state.stats.step);
        body.still = body.still & !SHARES | shares;
    }
    let before = body;
    body.velocity = body.velocity.plus(acceleration * time_step, dither);
    body.angular_momentum = body.angular_momentum.plus(torque * time_step, dither);
    let from = if params.integrator == SEMI_IMPLICIT {
        body
    } else {
        before
    };
    let way = from.velocity * time_step;
    let upright = params.upright(way);
    (body.cell, body.offset) = travel(body.cell, body.offset, upright, &params, dither);
    let spin;
    (body.orientation, spin) = advance(
        body.orientation,
        from.angular_momentum,
        constant.inverse_inertia,
        time_step,
        dither,
    );
    let mut farther = way.length() + spin.length() * time_step * constant.reach;
    if params.deforms == 1 {
        farther += params.stretch;
    }
    let displacement_bound = displacement_bound + farther;
    body.displacement_bound = if farther > params.fast_displacement {
        -displacement_bound
    } else {
        displacement_bound
    };
    if params.sleep_steps > 0 {
        let orientation = body.orientation.quaternion();
        let spin = angular_velocity(orientation, body.angular_momentum, constant.inverse_inertia);
        let speed = body.velocity.length() + farthest * spin.length();
        let shares = body.still & counted;
        let still = if speed <= params.sleep_speed {
            (body.still & !counted) + 1
        } else {
            0
        };
        body.still = still | shares;
    }

    // Farther than 2²⁰ cells or 3 rad in a step is the end of a simulation, and so is no number.
    let turn = spin * time_step;
    let most = params.cell_size * R::of(1_048_576.0);
    let near = way.x.abs() < most.x && way.y.abs() < most.y && way.z.abs() < most.z;
    let followed = body.velocity.is_finite()
        && body.angular_momentum.is_finite()
        && near
        && turn.length() < R::of(3.0);

    if params.sleep_steps > 0 && body.still & !counted >= params.sleep_steps {
        body.still = ASLEEP | body.still & counted;
        body.velocity = Vector::ZERO;
        body.angular_momentum = Vector::ZERO;
        body.displacement_bound = displacement_bound;
    }
    state.bodies[index] = body;
    state.stats.stale |= u32::from(displacement_bound > params.displacement_limit);
    if !followed {
        state.stats.runaway = state.stats.runaway.max(index as u32 + 1);
    }
}

/// A body after it was pulled for a time step: by a spring and a dashpot from one of its points to a point of the
/// world.
fn pulled<R: Real>(body: Body<R>, constant: &BodyProperties<R>, params: &Params<R>) -> Body<R> {
    let orientation = body.orientation.quaternion();
    let arm = orientation.rotate(params.pull_point);
    let place = body.offset.metres(params.cell_size) + arm;
    let end = (params.pull_cell, params.pull_offset);
    let way = between((body.cell, place), end, params);
    let momentum = body.angular_momentum;
    let spin = angular_velocity(orientation, momentum, constant.inverse_inertia);
    let velocity = body.velocity + spin.cross(arm);
    let force = way * params.pull_stiffness - velocity * params.pull_damping;
    let impulse = force * params.time_step;
    Body {
        still: 0,
        velocity: body.velocity + impulse * constant.inverse_mass,
        angular_momentum: momentum + arm.cross(impulse),
        ..body
    }
}

/// The part of a vector along a unit vector; all of it if that is zero.
fn along<R: Real>(vector: Vector<R>, axis: Vector<R>) -> Vector<R> {
    if axis == Vector::ZERO {
        return vector;
    }
    axis * vector.dot(axis)
}

/// Moves a wall under its load by one time step. Returns how far a point of it may have come, m.
fn move_dynamic<R: Real>(
    own: &mut DynamicWall<R>,
    load: &SummedLoad<R>,
    wall: &mut Wall<R>,
    params: &Params<R>,
    dither: R,
) -> R {
    let time_step = params.time_step;
    let body = &mut own.body;
    if own.servo_force > R::ZERO {
        let pressed = -load.force.dot(own.rail);
        let missing = ((own.servo_force - pressed) / own.servo_force).clamp(-R::ONE, R::ONE);
        body.velocity = own.rail * (missing * own.servo_speed) + own.drift;
    } else if own.inverse_mass > R::ZERO {
        let force = load.force + own.force;
        let push = (force * own.inverse_mass + params.gravity) * time_step;
        body.velocity = body.velocity.plus(along(push, own.rail), dither);
    }
    if own.inverse_inertia != Vector::ZERO && own.servo_force == R::ZERO {
        let turning = (load.torque + own.torque) * time_step;
        body.angular_momentum = body.angular_momentum.plus(along(turning, own.axle), dither);
    }
    let way = body.velocity * time_step;
    (body.cell, body.offset) = travel(body.cell, body.offset, way, params, dither);
    let spin;
    (body.orientation, spin) = advance(
        body.orientation,
        body.angular_momentum,
        own.inverse_inertia,
        time_step,
        dither,
    );
    let orientation = body.orientation.quaternion();
    wall.cell = body.cell;
    wall.offset = body.offset.metres(params.cell_size);
    wall.orientation = orientation;
    wall.velocity = body.velocity;
    wall.angular_velocity =
        angular_velocity(orientation, body.angular_momentum, own.inverse_inertia);
    way.length() + spin.length() * time_step * own.reach
}

/// Adds to how far a wall has come since the neighbour lists were built.
fn displaced<R: Real>(state: &mut State<R>, displacement_bound: R, farther: R) -> R {
    let before = if state.stats.rebuilding == 1 {
        R::ZERO
    } else {
        displacement_bound
    };
    let all_of_it = before + farther;
    state.stats.stale |= u32::from(all_of_it > state.params.displacement_limit);
    all_of_it
}

/// The sum of a number, in units of 1; see [`crate::step::wall_load`].
fn sum_of<R: Real>(digits: &[i32]) -> R {
    let [first, middle, last] = [0, 1, 2].map(|k| R::of(digits[k].into()));
    let base = R::of(65536.0);
    (first + (middle + last / base) / base) / base
}

fn integrate_walls<R: Real>(state: &mut State<R>) {
    let params = state.params;
    let dither = dither_of(state);
    if params.wall_loads == 1 {
        let sums = state.wall_sums.chunks_exact_mut(WALL_DIGITS);
        let walls = state.walls.iter().zip(&mut state.wall_loads);
        for (index, ((wall, load), sum)) in walls.zip(sums).enumerate() {
            let number = |k: usize| sum_of(&sum[3 * k..]);
            load.force = Vector::from([0, 1, 2].map(number)) * params.force_unit;
            load.torque = Vector::from([3, 4, 5].map(number)) * params.torque_unit;
            sum.fill(0);
            let mut dynamic = state.dynamic_walls.iter();
            let own = dynamic.find(|own| own.wall as usize == index && own.servo_force == R::ZERO);
            let power = match own {
                Some(own) => own.force.dot(wall.velocity) + own.torque.dot(wall.angular_velocity),
                None => {
                    let surface = wall.velocity + wall.orientation.rotate(wall.belt);
                    -(load.force.dot(surface) + load.torque.dot(wall.angular_velocity))
                }
            };
            let done = power * params.time_step;
            add(&mut load.work, &mut load.work_rest, done);
        }
    }
    for k in 0..state.dynamic_walls.len() {
        let mut own = state.dynamic_walls[k];
        let index = own.wall as usize;
        let Some(&(mut wall)) = state.walls.get(index) else {
            continue;
        };
        let load = state.wall_loads[index];
        let farther = move_dynamic(&mut own, &load, &mut wall, &params, dither);
        wall.displacement_bound = displaced(state, wall.displacement_bound, farther);
        state.walls[index] = wall;
        state.dynamic_walls[k] = own;
    }
    let poses: Vec<_> = state
        .kinematic_walls
        .exact_poses(u64::from(state.stats.step) + 1)
        .collect();
    for pose in poses {
        let index = pose.wall as usize;
        let mut wall = state.walls[index];
        wall.cell = pose.cell;
        wall.offset = Vector::of(pose.offset);
        wall.orientation = Quaternion::of(pose.orientation);
        wall.velocity = Vector::of(pose.velocity);
        wall.angular_velocity = Vector::of(pose.angular_velocity);
        wall.displacement_bound = displaced(state, wall.displacement_bound, R::of(pose.way));
        state.walls[index] = wall;
    }
}
