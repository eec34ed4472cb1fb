// import: layout, ghosts, dispatch, grid, rotation, opaque

// What acts on each body besides contacts and gravity: drag, water, springs, applied forces; and the gravity of its
// group. One thread a body.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> properties: array<BodyProperties>;
@group(0) @binding(2) var<storage, read> members: array<Member>;
@group(0) @binding(5) var<storage, read> bodies: array<Body>;
@group(0) @binding(16) var<storage, read_write> stats: Stats;
@group(0) @binding(29) var<uniform> groups: array<Group, MAX_GROUPS>;
@group(0) @binding(30) var<storage, read> actions: array<Action>;
@group(0) @binding(31) var<storage, read_write> body_forces: array<BodyForce>;

// Force, torque about the centre of mass, and the powers that it takes and gives, W.
struct Taken {
    force: vec3<f32>,
    torque: vec3<f32>,
    power: f32,
    given: f32,
}

fn position_of(body: Body) -> vec3<f32> {
    return vec3<f32>(body.cell) * params.cell_size + metres(body.offset, params.cell_size);
}

// The part of a sphere's volume that is below the surface, its centre `depth` under it. (A cap of height h
// has the volume pi h² (3 r - h) / 3.)
fn submerged(radius: f32, depth: f32) -> f32 {
    let height = clamp((depth + radius) / radius, 0.0, 2.0);
    return 0.25 * height * height * (3.0 - height);
}

// Height of the surface of the water at a place, above cell 0.
fn water_height(place: vec3<f32>, time: f32) -> f32 {
    var height = params.water_level;
    let point = place.xz + params.wave_origin;
    for (var k = 0u; k < params.wave_count; k++) {
        let wave = params.waves[k];
        height += wave.z * sine(dot(wave.xy, point) - wave.w * time);
    }
    return height;
}

// WGSL's own may be wrong by 2^-11: Taylor's polynomial about the nearest multiple of pi.
fn sine(angle: f32) -> f32 {
    let turns = round(angle / PI);
    let rest = angle - turns * PI;
    let square = rest * rest;
    let even = turns - 2.0 * floor(0.5 * turns) == 0.0;
    let value = rest
        * (1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0 * (1.0 - square / 72.0 * (1.0 - square / 110.0)))));
    return select(-value, value, even);
}

fn in_water(body: Body, constant: BodyProperties, orientation: vec4<f32>, spin: vec3<f32>, displacement: f32, time: f32)
    -> Taken {
    var sum: Taken;
    let center = position_of(body);
    for (var k = 0u; k < constant.sphere_count; k++) {
        let member = members[constant.first_member + k];
        let arm = rotate(orientation, member.center);
        let place = center + arm;
        let part = displacement * submerged(member.radius, water_height(place, time) - place.y);
        if part == 0.0 {
            continue;
        }
        let square = member.radius * member.radius;
        let velocity = body.velocity + cross(spin, arm);
        let volume = part * (4.0 / 3.0) * PI * square * member.radius;
        let stokes = part * PI * params.water_viscosity * member.radius;
        let resistance =
            6.0 * stokes + part * 0.5 * params.water_drag * params.water_density * PI * square * length(velocity);
        let lift = -(params.water_density * volume) * params.gravity;
        let force = -resistance * velocity + lift;
        let twist = 8.0 * stokes * square;
        sum.force += force;
        sum.torque += cross(arm, force) - twist * spin;
        sum.power += resistance * dot(velocity, velocity) + twist * dot(spin, spin);
        sum.given += dot(lift, velocity);
    }
    return sum;
}

fn spring(action: Action, body: Body, arm: vec3<f32>, velocity: vec3<f32>) -> Taken {
    var cell = action.cell;
    var offset = action.vector;
    var other_velocity = vec3<f32>(0.0);
    var share = 1.0;
    if action.kind == SPRING {
        let other = bodies[action.other];
        let constant = properties[other.kind];
        let orientation = quaternion(other.orientation);
        let other_arm = rotate(orientation, action.vector);
        let spin = angular_velocity(orientation, other.angular_momentum, constant.inverse_inertia);
        cell = other.cell;
        offset = metres(other.offset, params.cell_size) + other_arm;
        other_velocity = other.velocity + cross(spin, other_arm);
        // Each end has a half of what the dashpot takes, but a fixed one.
        share = select(0.5, 1.0, constant.inverse_mass == 0.0);
    }
    let own = metres(body.offset, params.cell_size) + arm;
    let way = shortest_way(cell - body.cell, offset - own, params);
    let distance = length(way);
    var sum: Taken;
    if distance == 0.0 || (action.slack == 1u && distance < action.rest_length) {
        return sum;
    }
    let along = way / distance;
    let speed = dot(other_velocity - velocity, along);
    let force = (action.stiffness * (distance - action.rest_length) + action.damping * speed) * along;
    sum.force = force;
    sum.torque = cross(arm, force);
    sum.power = share * action.damping * speed * speed;
    return sum;
}

fn act(action: Action, body: Body, orientation: vec4<f32>, spin: vec3<f32>, time: f32) -> Taken {
    var sum: Taken;
    if action.acts == 0u || time < action.start || time >= action.end {
        return sum;
    }
    let arm = rotate(orientation, action.point);
    if action.kind == SPRING || action.kind == ANCHOR {
        return spring(action, body, arm, body.velocity + cross(spin, arm));
    }
    sum.force = action.vector;
    var torque = action.torque;
    if action.kind == THRUST {
        sum.force = rotate(orientation, action.vector);
        torque = rotate(orientation, action.torque);
    }
    sum.torque = cross(arm, sum.force) + torque;
    sum.given = dot(sum.force, body.velocity + cross(spin, arm)) + dot(torque, spin);
    return sum;
}

// The first action on a body or, if there is none, on one after it.
fn first_action(body: u32) -> u32 {
    var low = 0u;
    var high = params.action_count;
    while low < high {
        let middle = (low + high) / 2u;
        if actions[middle].body < body {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn forces(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index >= params.body_count || stats.halted == 1u {
        return;
    }
    let body = bodies[index];
    let constant = properties[body.kind];
    if constant.inverse_mass == 0.0 || are_ghosts(constant) {
        return;
    }
    var own = body_forces[index];
    let group = groups[constant.group];
    let orientation = quaternion(body.orientation);
    let spin = angular_velocity(orientation, body.angular_momentum, constant.inverse_inertia);
    let time = params.earlier + f32(stats.step) * params.time_step;

    var sum: Taken;
    sum.force = -group.drag * body.velocity;
    sum.torque = -group.angular_drag * spin;
    sum.power = group.drag * dot(body.velocity, body.velocity) + group.angular_drag * dot(spin, spin);
    if params.water_density > 0.0 {
        let water = in_water(body, constant, orientation, spin, own.displacement, time);
        sum.force += water.force;
        sum.torque += water.torque;
        sum.power += water.power;
        sum.given += water.given;
    }
    for (var k = first_action(index); k < params.action_count; k++) {
        let action = actions[k];
        if action.body != index {
            break;
        }
        let taken = act(action, body, orientation, spin, time);
        sum.force += taken.force;
        sum.torque += taken.torque;
        sum.power += taken.power;
        sum.given += taken.given;
    }

    own.force = sum.force;
    own.torque = sum.torque;
    own.acceleration = group.gravity;
    let taken = sum.power * params.time_step + own.drag_rest;
    let drag = opaque(own.drag + taken, stats.halted);
    own.drag_rest = taken - opaque(drag - own.drag, stats.halted);
    own.drag = drag;
    let given = sum.given * params.time_step + own.work_rest;
    let work = opaque(own.work + given, stats.halted);
    own.work_rest = given - opaque(work - own.work, stats.halted);
    own.work = work;
    body_forces[index] = own;
}
