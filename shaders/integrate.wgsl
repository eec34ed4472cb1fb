// import: layout, dispatch, grid, rotation, rounding, pull

// Sums the spheres of each body and moves it by one time step. One thread a body.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> properties: array<BodyProperties>;
@group(0) @binding(2) var<storage, read> members: array<Member>;
@group(0) @binding(5) var<storage, read_write> bodies: array<Body>;
@group(0) @binding(14) var<storage, read> sphere_loads: array<SphereLoad>;
@group(0) @binding(15) var<storage, read_write> body_loads: array<Load>;
@group(0) @binding(16) var<storage, read_write> stats: Stats;

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
    if index >= params.body_count || stats.halted == 1u {
        return;
    }
    if index == 0u {
        stats.steps += 1u;
    }
    if params.drift_limit < 0.0 {
        atomicStore(&stats.stale, 1u);
    }
    var body = bodies[index];
    let constant = properties[index];

    let orientation = quaternion(body.orientation);
    var sum: Load;
    for (var k = 0u; k < constant.sphere_count; k++) {
        let load = sphere_loads[constant.first_sphere + k];
        let arm = rotate(orientation, members[constant.first_sphere + k].center);
        sum.force += load.force;
        sum.torque += load.torque + cross(arm, load.force);
        sum.max_overlap = max(sum.max_overlap, load.max_overlap);
        sum.contacts += (load.contacts & 0xffffu) + (load.contacts >> 16u);
    }
    body_loads[index] = sum;
    if constant.inverse_mass == 0.0 {
        return;
    }
    if params.pulled == index + 1u {
        body = pulled(body, constant, params);
    }

    var velocity = body.velocity;
    var angular_momentum = body.angular_momentum;
    let dither = dither_of(stats.step);
    let push = (sum.force * constant.inverse_mass + params.gravity) * params.time_step;
    body.velocity = plus_vector(body.velocity, push, dither);
    let turning = sum.torque * params.time_step;
    body.angular_momentum = plus_vector(body.angular_momentum, turning, dither);
    if params.integrator == SEMI_IMPLICIT {
        velocity = body.velocity;
        angular_momentum = body.angular_momentum;
    }
    let way = velocity * params.time_step;
    let place = travel(body.cell, body.offset, way, params.cell_size, params.period, dither);
    body.cell = place.cell;
    body.offset = place.offset;
    let turned =
        advance(body.orientation, angular_momentum, constant.inverse_inertia, params.time_step, dither);
    body.orientation = turned.orientation;
    let drift = select(body.drift, 0.0, stats.rebuilding == 1u);
    let farther = length(way) + length(turned.spin) * params.time_step * constant.reach;
    body.drift = drift + farther;
    if body.drift > params.drift_limit && atomicLoad(&stats.stale) == 0u {
        atomicStore(&stats.stale, 1u);
    }
    let soon = body.drift + params.lookahead * farther;
    if soon > params.drift_limit && atomicLoad(&stats.due) == 0u {
        atomicStore(&stats.due, 1u);
    }
    bodies[index] = body;

    // Farther than 2^20 cells or 3 rad in a step is the end of a simulation, and so is no number.
    let turn = turned.spin * params.time_step;
    let followed = is_finite(body.velocity) && is_finite(body.angular_momentum)
        && is_finite(way) && is_finite(turn)
        && all(abs(way) < 1048576.0 * params.cell_size)
        && length(turn) < 3.0;
    if !followed {
        atomicMax(&stats.runaway, index + 1u);
    }
}
