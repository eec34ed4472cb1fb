//! Motion of walls in a step. The host computes it for the CPU engine, and for a GPU while there
//! are no bodies.

use glam::Vec3;

use crate::math::grid::{metres, travel};
use crate::math::rotation::{Quaternion, advance, angular_velocity};
use crate::math::rounding::{self, dither};
use crate::state::State;
use crate::state::layout::{DynamicWall, Params, Stats, SummedLoad, WALL_DIGITS, Wall, WallPose};
use crate::step::wall_load;

/// Takes steps of a state without bodies: walls move, and time goes on.
#[cfg(any(feature = "gpu", test))]
pub(crate) fn steps_without_bodies(state: &mut State, count: u64) {
    debug_assert!(state.bodies.is_empty());
    for _ in 0..count {
        state.stats[0].begin_step();
        let stale = move_walls(state);
        let stats = &mut state.stats[0];
        stats.stale = stale.into();
        stats.steps = stats.steps.wrapping_add(1);
    }
}

/// Sums the loads on walls, and moves those that move by prescription to where they are in the next step.
/// Returns whether one may have left the skin of the neighbour lists.
pub(crate) fn move_walls(state: &mut State) -> bool {
    if state.params.wall_loads == 1 {
        let sums = state.wall_sums.chunks_exact_mut(WALL_DIGITS);
        let walls = state.walls.iter().zip(&mut state.wall_loads);
        for (index, ((wall, load), sum)) in (0..).zip(walls.zip(sums)) {
            let SummedLoad {
                work, work_rest, ..
            } = *load;
            *load = SummedLoad {
                work,
                work_rest,
                ..wall_load::load(sum, &state.params)
            };
            let mut dynamic = state.dynamic_walls.iter();
            let power = match dynamic.find(|own| own.wall == index && own.servo_force == 0.0) {
                Some(own) => own.force.dot(wall.velocity) + own.torque.dot(wall.angular_velocity),
                None => wall_load::power(wall, load),
            };
            let done = power * state.params.time_step;
            rounding::add_up(&mut load.work, &mut load.work_rest, done);
            sum.fill(0);
        }
    }
    let Stats {
        step, rebuilding, ..
    } = state.stats[0];
    let mut stale = false;
    for dynamic in &mut state.dynamic_walls {
        let Some(wall) = state.walls.get_mut(dynamic.wall as usize) else {
            continue;
        };
        let load = &state.wall_loads[dynamic.wall as usize];
        move_dynamic(
            dynamic,
            load,
            wall,
            &state.params,
            rebuilding == 1,
            dither(step),
        );
        stale |= wall.displacement_bound > state.params.displacement_limit;
    }
    let poses: Vec<WallPose> = state.kinematic_walls.poses(u64::from(step) + 1).collect();
    for pose in &poses {
        let wall = &mut state.walls[pose.wall as usize];
        let displacement_bound = if rebuilding == 1 {
            0.0
        } else {
            wall.displacement_bound
        };
        *wall = Wall {
            cell: pose.cell,
            offset: pose.offset,
            orientation: pose.orientation,
            velocity: pose.velocity,
            angular_velocity: pose.angular_velocity,
            displacement_bound: displacement_bound + pose.way,
            ..*wall
        };
        stale |= wall.displacement_bound > state.params.displacement_limit;
    }
    stale
}

/// Moves a wall under its load by one time step.
fn move_dynamic(
    own: &mut DynamicWall,
    load: &SummedLoad,
    wall: &mut Wall,
    params: &Params,
    rebuilding: bool,
    dither: f32,
) {
    let time_step = params.time_step;
    let body = &mut own.body;
    if own.servo_force > 0.0 {
        let pressed = -load.force.dot(own.rail);
        let missing = ((own.servo_force - pressed) / own.servo_force).clamp(-1.0, 1.0);
        body.velocity = missing * own.servo_speed * own.rail + own.drift;
    } else if own.inverse_mass > 0.0 {
        let force = load.force + own.force;
        let push = (force * own.inverse_mass + params.gravity) * time_step;
        body.velocity = rounding::add(body.velocity, along(push, own.rail), dither);
    }
    if own.inverse_inertia != Vec3::ZERO && own.servo_force == 0.0 {
        let turning = (load.torque + own.torque) * time_step;
        body.angular_momentum =
            rounding::add(body.angular_momentum, along(turning, own.axle), dither);
    }
    let way = body.velocity * time_step;
    (body.cell, body.offset) = travel(
        body.cell,
        body.offset,
        way,
        params.cell_size,
        params.period,
        dither,
    );
    let spin;
    (body.orientation, spin) = advance::<false>(
        body.orientation,
        body.angular_momentum,
        own.inverse_inertia,
        time_step,
        dither,
    );
    let orientation = Quaternion::of(body.orientation);
    let farther = way.length() + spin.length() * time_step * own.reach;
    wall.cell = body.cell;
    wall.offset = metres(body.offset, params.cell_size);
    wall.orientation = orientation.xyz.extend(orientation.w);
    wall.velocity = body.velocity;
    wall.angular_velocity =
        angular_velocity(orientation, body.angular_momentum, own.inverse_inertia);
    wall.displacement_bound = if rebuilding {
        0.0
    } else {
        wall.displacement_bound
    } + farther;
}

/// The part of a vector along a unit vector; all of it if that is zero.
fn along(vector: Vec3, axis: Vec3) -> Vec3 {
    if axis == Vec3::ZERO {
        vector
    } else {
        vector.dot(axis) * axis
    }
}
