// import: layout, ghosts, dispatch, grid, rotation, opaque, rounding, pull, gathered, shares, posed

// Sums the spheres of each body and moves it by one time step; and moves walls.
//
//   integrate_walls  one thread a wall: sums its loads, and puts it where it is in the next step, by
//                    prescription or as the load moves it
//   integrate        one thread a body
//   integrate_pose   the same of bodies on which nothing acts but contacts; and poses their spheres for the next step,
//                    which then need not read the bodies again

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> properties: array<BodyProperties>;
@group(0) @binding(2) var<storage, read> members: array<Member>;
@group(0) @binding(5) var<storage, read_write> bodies: array<Body>;
@group(0) @binding(6) var<storage, read_write> spheres: array<Sphere>;
@group(0) @binding(14) var<storage, read> sphere_loads: array<SphereLoad>;
@group(0) @binding(31) var<storage, read> body_forces: array<BodyForce>;
@group(0) @binding(25) var<storage, read_write> gathered: Gathered;
@group(0) @binding(26) var<storage, read_write> wall_loads: array<SummedLoad>;
@group(0) @binding(3) var<storage, read_write> walls: array<Wall>;
@group(0) @binding(28) var<storage, read_write> dynamic_walls: array<DynamicWall>;

// Poses of the walls that move by prescription, in the next steps: those of step n are in row n modulo
// WALL_STEPS.
@group(0) @binding(27) var<storage, read> wall_poses: array<WallPose>;

// The displacement bound of a body in a step before it moves, without its sign.
fn displacement_before(body: Body) -> f32 {
    let fast = (bitcast<u32>(body.displacement_bound) >> 31u) == 1u;
    let start = select(0.5 * (params.skin - params.slow_skin), 0.0, fast);
    return select(abs(body.displacement_bound), start, gathered.stats.rebuilding == 1u);
}

// By the exponent's bits: a compiler may assume that floats are finite.
fn is_finite(value: vec3<f32>) -> bool {
    return all((bitcast<vec3<u32>>(value) & vec3<u32>(0x7f800000u)) != vec3<u32>(0x7f800000u));
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn integrate(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if !has_step(index) {
        return;
    }
    let body = bodies[index];
    let constant = properties[body.kind];
    if stays(constant) {
        return;
    }
    var push = push_of(body, constant);
    if params.forces == 1u {
        let other = body_forces[index];
        push.force += other.force;
        push.torque += other.torque;
        push.gravity += other.acceleration;
    }
    move_body(index, body, constant, push);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn integrate_pose(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if !has_step(index) {
        return;
    }
    let body = bodies[index];
    let constant = properties[body.kind];
    if stays(constant) {
        return;
    }
    let moved = move_body(index, body, constant, push_of(body, constant));
    if moved.moves {
        for (var k = 0u; k < constant.sphere_count; k++) {
            let member = members[constant.first_member + k];
            spheres[body.first_sphere + k] = posed(index, moved.body, constant, member);
        }
    }
}

// Whether there is a body with this index, and a step to take.
fn has_step(index: u32) -> bool {
    if index >= params.body_count || gathered.stats.halted == 1u {
        return false;
    }
    if index == 0u {
        gathered.stats.steps += 1u;
    }
    if params.displacement_limit < 0.0 {
        atomicStore(&gathered.stats.stale, 1u);
    }
    return true;
}

// Whether a body is fixed, or a ghost. One that is kinematic has no inverse mass either, and turns as a ball does.
fn stays(constant: BodyProperties) -> bool {
    let fixed = constant.inverse_mass == 0.0 && all(constant.inverse_inertia == vec3<f32>(0.0));
    return fixed || are_ghosts(constant);
}

// What acts on a body in a step.
struct Push {
    // N.
    force: vec3<f32>,
    // About the centre of mass, N m.
    torque: vec3<f32>,
    // m/s^2.
    gravity: vec3<f32>,
    // Number of contacts.
    contacts: u32,
}

// Gravity, and the contacts of the spheres of a body.
fn push_of(body: Body, constant: BodyProperties) -> Push {
    let orientation = quaternion(body.orientation);
    var push = Push(vec3<f32>(0.0), vec3<f32>(0.0), params.gravity, 0u);
    for (var k = 0u; k < constant.sphere_count; k++) {
        let load = sphere_loads[body.first_sphere + k];
        let arm = rotate(orientation, members[constant.first_member + k].center);
        push.force += load.force;
        push.torque += load.torque + cross(arm, load.force);
        push.contacts += (load.contacts & 0xffffu) + ((load.contacts & ~(KEPT | DISTURBED)) >> 16u);
    }
    return push;
}

// A body after a step, and whether it moves at all.
struct Moved {
    body: Body,
    moves: bool,
}

fn move_body(index: u32, start: Body, constant: BodyProperties, push: Push) -> Moved {
    var body = start;
    let orientation = quaternion(body.orientation);
    // The bits of `still` that count contacts.
    let counted = select(0u, SHARES, params.law == IMPULSE);
    // Nothing moves a kinematic body but its own velocity.
    let driven = constant.inverse_mass == 0.0;
    if params.pulled == index + 1u && !driven {
        body = pulled(body, constant, params);
    }

    var velocity = body.velocity;
    var angular_momentum = body.angular_momentum;
    let dither = dither_of(gathered.stats.step);
    var gravity = push.gravity;
    if deforms(params) {
        // What moves with the mean flow comes to where it is another one.
        gravity -= flow(velocity, params);
    }
    var torque = push.torque;
    if driven {
        torque = vec3<f32>(0.0);
        gravity = vec3<f32>(0.0);
    }
    let acceleration = push.force * constant.inverse_mass + gravity;
    let farthest = constant.reach + members[constant.first_member].radius;
    if (body.still & ASLEEP) != 0u {
        let twist = angular_velocity(orientation, torque, constant.inverse_inertia);
        if length(acceleration) + farthest * length(twist) <= params.wake_acceleration {
            if gathered.stats.rebuilding == 1u {
                bodies[index].displacement_bound = displacement_before(body);
            }
            return Moved(body, false);
        }
        body.still &= counted;
    }
    if counted != 0u {
        let shares = shared_after(body.still, constant.landing, push.contacts, gathered.stats.step);
        body.still = (body.still & ~SHARES) | shares;
    }
    let gained = acceleration * params.time_step;
    body.velocity = plus_vector(body.velocity, gained, dither, gathered.stats.halted);
    let turning = torque * params.time_step;
    body.angular_momentum = plus_vector(body.angular_momentum, turning, dither, gathered.stats.halted);
    if params.integrator == SEMI_IMPLICIT {
        velocity = body.velocity;
        angular_momentum = body.angular_momentum;
    }
    let way = velocity * params.time_step;
    let place = travel(body.cell, body.offset, upright(way, params), params.cell_size, period_of(params), dither);
    body.cell = place.cell;
    body.offset = place.offset;
    // Written as soon as it is known: what waits for the end takes registers, and with them waves.
    bodies[index].cell = place.cell;
    bodies[index].offset = place.offset;
    // Farther than 2^20 cells or 3 rad in a step is the end of a simulation, and so is no number.
    let is_near = is_finite(way) && all(abs(way) < 1048576.0 * params.cell_size);
    let far = length(way);
    let turned =
        advance(body.orientation, angular_momentum, constant.inverse_inertia, params.time_step, dither);
    body.orientation = turned.orientation;
    let farther = far + length(turned.spin) * params.time_step * constant.reach
        + select(0.0, params.stretch, deforms(params));
    let displacement_bound = displacement_before(body) + farther;
    body.displacement_bound = select(displacement_bound, -displacement_bound, farther > params.fast_displacement);
    if displacement_bound > params.displacement_limit && atomicLoad(&gathered.stats.stale) == 0u {
        atomicStore(&gathered.stats.stale, 1u);
    }
    let soon = displacement_bound + params.lookahead * farther;
    if soon > params.displacement_limit && atomicLoad(&gathered.stats.due) == 0u {
        atomicStore(&gathered.stats.due, 1u);
    }
    if params.sleep_steps > 0u {
        let spin = angular_velocity(quaternion(body.orientation), body.angular_momentum, constant.inverse_inertia);
        let still = length(body.velocity) + farthest * length(spin) <= params.sleep_speed;
        let shares = body.still & counted;
        let steps = select(0u, (body.still & ~counted) + 1u, still);
        body.still = steps | shares;
        if steps >= params.sleep_steps {
            body.still = ASLEEP | shares;
            body.velocity = vec3<f32>(0.0);
            body.angular_momentum = vec3<f32>(0.0);
            body.displacement_bound = displacement_bound;
        }
    }
    bodies[index].still = body.still;
    bodies[index].orientation = body.orientation;
    bodies[index].velocity = body.velocity;
    bodies[index].angular_momentum = body.angular_momentum;
    bodies[index].displacement_bound = body.displacement_bound;

    let turn = turned.spin * params.time_step;
    let followed = is_finite(body.velocity) && is_finite(body.angular_momentum)
        && is_near && is_finite(turn) && length(turn) < 3.0;
    if !followed {
        atomicMax(&gathered.stats.runaway, index + 1u);
    }
    return Moved(body, true);
}

// The part of a vector along a unit vector; all of it if that is zero.
fn along(vector: vec3<f32>, axis: vec3<f32>) -> vec3<f32> {
    if all(axis == vec3<f32>(0.0)) {
        return vector;
    }
    return dot(vector, axis) * axis;
}

// Moves a wall under its load by one time step. Returns how far a point of it may have come, m.
fn move_dynamic(own: ptr<function, DynamicWall>, load: SummedLoad, wall: ptr<function, Wall>, dither: f32) -> f32 {
    let time_step = params.time_step;
    var body = (*own).body;
    if (*own).servo_force > 0.0 {
        let pressed = -dot(load.force, (*own).rail);
        let missing = clamp(((*own).servo_force - pressed) / (*own).servo_force, -1.0, 1.0);
        body.velocity = missing * (*own).servo_speed * (*own).rail + (*own).drift;
    } else if (*own).inverse_mass > 0.0 {
        let force = load.force + (*own).force;
        let push = (force * (*own).inverse_mass + params.gravity) * time_step;
        body.velocity = plus_vector(body.velocity, along(push, (*own).rail), dither, gathered.stats.halted);
    }
    if any((*own).inverse_inertia != vec3<f32>(0.0)) && (*own).servo_force == 0.0 {
        let turning = (load.torque + (*own).torque) * time_step;
        body.angular_momentum =
            plus_vector(
                body.angular_momentum, along(turning, (*own).axle), dither, gathered.stats.halted);
    }
    let way = body.velocity * time_step;
    let place = travel(body.cell, body.offset, way, params.cell_size, period_of(params), dither);
    body.cell = place.cell;
    body.offset = place.offset;
    let turned =
        advance(body.orientation, body.angular_momentum, (*own).inverse_inertia, time_step, dither);
    body.orientation = turned.orientation;
    (*own).body = body;
    let orientation = quaternion(body.orientation);
    (*wall).cell = body.cell;
    (*wall).offset = metres(body.offset, params.cell_size);
    (*wall).orientation = orientation;
    (*wall).velocity = body.velocity;
    (*wall).angular_velocity =
        angular_velocity(orientation, body.angular_momentum, (*own).inverse_inertia);
    return length(way) + length(turned.spin) * time_step * (*own).reach;
}

// Adds to how far a wall has come since the neighbour lists were built.
fn displaced(displacement_bound: f32, farther: f32) -> f32 {
    let all_of_it = select(displacement_bound, 0.0, gathered.stats.rebuilding == 1u) + farther;
    if all_of_it > params.displacement_limit {
        atomicStore(&gathered.stats.stale, 1u);
    }
    if all_of_it + params.lookahead * farther > params.displacement_limit {
        atomicStore(&gathered.stats.due, 1u);
    }
    return all_of_it;
}

// The sum of a number over all copies, in units of 1, where each carries; and clears it. See
// src/step/wall_load.rs.
fn take_sum(wall: u32, component: u32) -> f32 {
    var digits: array<i32, 3>;
    for (var stripe = 0u; stripe < params.stripes; stripe++) {
        let at = WALL_DIGITS * (stripe * params.wall_count + wall) + 3u * component;
        let low = atomicLoad(&gathered.wall_sums[at + 2u]);
        let middle = atomicLoad(&gathered.wall_sums[at + 1u]) + (low >> 16u);
        digits[0] += atomicLoad(&gathered.wall_sums[at]) + (middle >> 16u);
        digits[1] += middle & 0xffff;
        digits[2] += low & 0xffff;
        for (var k = 0u; k < 3u; k++) {
            atomicStore(&gathered.wall_sums[at + k], 0);
        }
    }
    let middle = digits[1] + (digits[2] >> 16u);
    let first = digits[0] + (middle >> 16u);
    return (f32(first) + (f32(middle & 0xffff) + f32(digits[2] & 0xffff) / 65536.0) / 65536.0) / 65536.0;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn integrate_walls(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if gathered.stats.halted == 1u {
        return;
    }
    if index < params.wall_count && params.wall_loads == 1u {
        var load = wall_loads[index];
        for (var k = 0u; k < 3u; k++) {
            load.force[k] = params.force_unit * take_sum(index, k);
            load.torque[k] = params.torque_unit * take_sum(index, k + 3u);
        }
        var wall = walls[index];
        let surface = wall.velocity + rotate(wall.orientation, wall.belt);
        var power = -(dot(load.force, surface) + dot(load.torque, wall.angular_velocity));
        for (var k = 0u; k < arrayLength(&dynamic_walls); k++) {
            var own = dynamic_walls[k];
            if own.wall != index {
                continue;
            }
            if own.servo_force == 0.0 {
                power = dot(own.force, wall.velocity) + dot(own.torque, wall.angular_velocity);
            }
            let farther = move_dynamic(&own, load, &wall, dither_of(gathered.stats.step));
            wall.displacement_bound = displaced(wall.displacement_bound, farther);
            walls[index] = wall;
            dynamic_walls[k] = own;
        }
        let done = power * params.time_step + load.work_rest;
        let work = opaque(load.work + done, gathered.stats.halted);
        load.work_rest = done - opaque(work - load.work, gathered.stats.halted);
        load.work = work;
        wall_loads[index] = load;
    }
    // Each wall by its own thread: another one may still read how it moves.
    let kinematic_walls = arrayLength(&wall_poses) / WALL_STEPS;
    for (var k = 0u; k < kinematic_walls; k++) {
        let pose = wall_poses[kinematic_walls * ((gathered.stats.step + 1u) % WALL_STEPS) + k];
        if pose.wall != index {
            continue;
        }
        var wall = walls[index];
        wall.cell = pose.cell;
        wall.offset = pose.offset;
        wall.orientation = pose.orientation;
        wall.velocity = pose.velocity;
        wall.angular_velocity = pose.angular_velocity;
        wall.displacement_bound = displaced(wall.displacement_bound, pose.way);
        walls[index] = wall;
    }
}
