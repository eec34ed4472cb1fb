// import: layout, dispatch, grid, rotation, opaque

// What bonds do to each body, besides all that `forces` has summed. One thread a body: it goes through the ends of bonds
// that are at the body. Both bodies of a bond reckon it from the first to the second, with the same numbers, so that both
// copies of it break and heal in the same step.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> properties: array<BodyProperties>;
@group(0) @binding(5) var<storage, read> bodies: array<Body>;
@group(0) @binding(16) var<storage, read_write> stats: Stats;
@group(0) @binding(31) var<storage, read_write> body_forces: array<BodyForce>;
@group(0) @binding(55) var<storage, read_write> bonds: array<Bond>;
@group(0) @binding(54) var<storage, read_write> body_bonds: array<BodyBonds>;

// A body and how it turns.
struct Turning {
    velocity: vec3<f32>,
    orientation: vec4<f32>,
    spin: vec3<f32>,
}

fn turning(body: Body) -> Turning {
    let orientation = quaternion(body.orientation);
    let inverse_inertia = properties[body.kind].inverse_inertia;
    return Turning(body.velocity, orientation, angular_velocity(orientation, body.angular_momentum, inverse_inertia));
}

fn velocity_at(own: Turning, arm: vec3<f32>) -> vec3<f32> {
    return own.velocity + cross(own.spin, arm);
}

fn conjugate(q: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(-q.xyz, q.w);
}

// A point of a body at the end of an arm from its centre of mass, within its cell, m.
fn point(body: Body, arm: vec3<f32>) -> vec3<f32> {
    return metres(body.offset, params.cell_size) + upright(arm, params);
}

// Notes that a bond breaks or heals in this step, and where: a place within a cell.
fn note(entry: u32, cell: vec3<i32>, place: vec3<f32>) {
    bonds[entry].time = params.earlier + f32(stats.step) * params.time_step;
    bonds[entry].step = stats.step;
    bonds[entry].cell = cell;
    bonds[entry].offset = place;
}

// A turn of the x axis to a unit vector. For a vector with a negative x it starts with half a turn about z, because the
// shortest turn is not defined for -x.
fn from_x_to(along: vec3<f32>) -> vec4<f32> {
    if along.x < 0.0 {
        return normalize(vec4<f32>(along.z, 0.0, 1.0 - along.x, along.y));
    }
    return normalize(vec4<f32>(0.0, -along.z, along.y, 1.0 + along.x));
}

// Counts the steps for which the spheres of a broken bond have been near each other. After enough of them the bond is whole,
// and has no force where the spheres are then.
fn heal(entry: u32) {
    let bond = bonds[entry];
    let first_body = bodies[bond.first];
    let second_body = bodies[bond.second];
    let first = quaternion(first_body.orientation);
    let second = quaternion(second_body.orientation);
    let from_first = rotate(bond.first_frame, vec3<f32>(bond.first_length, 0.0, 0.0));
    let from_second = rotate(bond.second_frame, vec3<f32>(-bond.second_length, 0.0, 0.0));
    let first_center = rotate(first, bond.first_arm - from_first);
    let second_center = rotate(second, bond.second_arm - from_second);
    let here = point(first_body, first_center);
    let way = shortest_way(second_body.cell - first_body.cell, point(second_body, second_center) - here, params);
    let distance = length(way);
    let is_near = distance > 0.0 && distance <= bond.healing_reach;
    let near = select(0u, bond.near + 1u, is_near);
    bonds[entry].near = near;
    if !is_near || f32(near) * params.time_step < bond.healing_time {
        return;
    }
    let along = way / distance;
    // The gap may be another than when the bond was made.
    let wider = 0.5 * (distance - (bond.first_length + bond.second_length));
    let first_length = bond.first_length + wider;
    let second_length = bond.second_length + wider;
    let frame = from_x_to(along);
    bonds[entry].first_length = first_length;
    bonds[entry].second_length = second_length;
    bonds[entry].first_arm = rotate(conjugate(first), first_center + first_length * along);
    bonds[entry].second_arm = rotate(conjugate(second), second_center - second_length * along);
    bonds[entry].first_frame = normalize(multiply(conjugate(first), frame));
    bonds[entry].second_frame = normalize(multiply(conjugate(second), frame));
    bonds[entry].broken = 0u;
    bonds[entry].near = 0u;
    bonds[entry].energy = 0.0;
    note(entry, first_body.cell, here + upright(first_length * along, params));
}

// What a bond does to its first body: force, moment about its middle; and what it takes in the step, J.
struct Held {
    force: vec3<f32>,
    moment: vec3<f32>,
    // From the centre of mass of its own body to the middle of the bond, m.
    arm: vec3<f32>,
    taken: f32,
}

fn hold(entry: u32) -> Held {
    let bond = bonds[entry];
    let first_body = bodies[bond.first];
    let second_body = bodies[bond.second];
    let first = turning(first_body);
    let second = turning(second_body);
    let first_arm = rotate(first.orientation, bond.first_arm);
    let second_arm = rotate(second.orientation, bond.second_arm);
    let here = point(first_body, first_arm);
    let way = shortest_way(second_body.cell - first_body.cell, point(second_body, second_arm) - here, params);
    // The frame of the bond is half-way between those that it has in the two bodies.
    let first_frame = multiply(first.orientation, bond.first_frame);
    let second_frame = multiply(second.orientation, bond.second_frame);
    let turn = multiply(conjugate(first_frame), second_frame);
    let sign = select(1.0, -1.0, turn.w < 0.0);
    let frame = normalize(first_frame + sign * second_frame);
    let stretch = rotate(conjugate(frame), way);
    let bend = (2.0 * sign) * turn.xyz;
    let force = bond.stiffness * stretch;
    let moment = bond.turning_stiffness * bend;
    let half = 0.5 * way;
    let first_reach = first_arm + half;
    let second_reach = second_arm - half;

    let bending = sqrt(moment.y * moment.y + moment.z * moment.z);
    let shearing = sqrt(force.y * force.y + force.z * force.z);
    let tension = force.x * bond.inverse_area + bending * bond.inverse_section;
    let shear = shearing * bond.inverse_area + abs(moment.x) * (0.5 * bond.inverse_section);
    var parting = velocity_at(second, second_reach) - velocity_at(first, first_reach);
    if deforms(params) {
        parting += flow(way + first_arm - second_arm, params);
    }
    let velocity = rotate(conjugate(frame), parting);
    let spin = rotate(conjugate(frame), second.spin - first.spin);
    var held: Held;
    if tension > bond.tensile_strength || shear > bond.shear_strength {
        // What the springs held where the velocities are: half a step before. The moment is that of the double sine of half
        // an angle, and the energy that of a spring times 2/(1 + its cosine).
        let back = 0.5 * params.time_step;
        let stretched = stretch - back * velocity;
        let bent = bend - back * spin;
        let along = dot(bond.stiffness * stretched, stretched);
        let about = dot(bond.turning_stiffness * bent, bent);
        let energy = 0.5 * along + about / (1.0 + sign * turn.w);
        bonds[entry].broken = select(BROKEN_BY_SHEAR, BROKEN_BY_TENSION, tension > bond.tensile_strength);
        bonds[entry].breaks += 1u;
        bonds[entry].energy = energy;
        note(entry, first_body.cell, here + upright(half, params));
        held.taken = energy;
        return held;
    }
    let drag = bond.damping * velocity;
    let brake = bond.turning_damping * spin;
    held.force = rotate(frame, force + drag);
    held.moment = rotate(frame, moment + brake);
    held.taken = (dot(drag, velocity) + dot(brake, spin)) * params.time_step;
    held.arm = select(second_reach, first_reach, bond.side == 0u);
    return held;
}

fn own_body(entry: u32) -> u32 {
    return select(bonds[entry].second, bonds[entry].first, bonds[entry].side == 0u);
}

// The first end of a bond at a body or, if there is none, at one after it.
fn first_end(body: u32) -> u32 {
    var low = 0u;
    var high = params.bond_count;
    while low < high {
        let middle = (low + high) / 2u;
        if own_body(middle) < body {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

fn is_fixed(body: u32) -> bool {
    return properties[bodies[body].kind].inverse_mass == 0.0;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn bonds_hold(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index >= params.body_count || stats.halted == 1u {
        return;
    }
    let fixed = is_fixed(index);
    var force = vec3<f32>(0.0);
    var torque = vec3<f32>(0.0);
    var taken = 0.0;
    var count = 0u;
    var broken = 0u;
    for (var entry = first_end(index); entry < params.bond_count; entry++) {
        if own_body(entry) != index {
            break;
        }
        count += 1u;
        if bonds[entry].broken != 0u {
            if bonds[entry].healing_reach > 0.0 {
                heal(entry);
            }
            broken += select(0u, 1u, bonds[entry].broken != 0u);
            continue;
        }
        let held = hold(entry);
        let is_first = bonds[entry].side == 0u;
        let sign = select(-1.0, 1.0, is_first);
        force += sign * held.force;
        torque += sign * (cross(held.arm, held.force) + held.moment);
        // Each body has a half of what the bond takes, but a fixed one.
        let other = select(bonds[entry].first, bonds[entry].second, is_first);
        taken += select(select(0.5, 1.0, is_fixed(other)), 0.0, fixed) * held.taken;
        broken += select(0u, 1u, bonds[entry].broken != 0u);
    }
    if count == 0u {
        return;
    }
    if !fixed {
        body_forces[index].force += force;
        body_forces[index].torque += torque;
    }
    let own = body_bonds[index];
    let term = taken + own.taken_rest;
    let total = opaque(own.taken + term, stats.halted);
    body_bonds[index].taken = total;
    body_bonds[index].taken_rest = term - opaque(total - own.taken, stats.halted);
    body_bonds[index].damage = f32(broken) / f32(count);
}
