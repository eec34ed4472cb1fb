// import: layout, tags, dispatch, grid, rotation, shares, posed, spheres, contact, law, opaque, history, sum, lists

// Contacts of each sphere with others: force, torque, overlap, number, and contact histories. One thread a
// sphere. Each pair is evaluated from both sides, neighbours in the order of their indices: no sphere
// writes to another, and sums have a fixed order.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(4) var<storage, read> pairs: array<Pair>;
@group(0) @binding(12) var<storage, read> lists: array<u32>;
@group(0) @binding(14) var<storage, read_write> sphere_loads: array<SphereLoad>;
@group(0) @binding(16) var<storage, read_write> stats: Stats;
@group(0) @binding(20) var<storage, read_write> history: array<f32>;

// Whether this pass is the first of a step, which may not build the lists: then it finds out whether that is taken.
override DECIDES: bool = false;

// 1 if the step is not taken, since lists are stale or had no room, or a body is lost.
fn halted(index: u32) -> u32 {
    if !DECIDES {
        return stats.halted;
    }
    let lost = select(0u, 1u, atomicLoad(&stats.runaway) != 0u);
    let halted = atomicLoad(&stats.stale) | stats.full | lost;
    if index == 0u {
        stats.step = stats.steps;
        stats.rebuilding = 0u;
        stats.halted = halted;
    }
    return halted;
}

// Two surfaces that may be near enough to be looked at.
struct Near {
    near: bool,
    contact: Contact,
    // From the sphere's centre to the contact, m.
    arm: vec3<f32>,
    // The smaller radius, m.
    radius: f32,
    // Element of the pair table.
    pair: u32,
}

fn near_sphere(sphere: Sphere, index: u32, other: u32) -> Near {
    var near: Near;
    let neighbour = sphere_at(other);
    let between = separation(sphere, neighbour, params);
    let radii = sphere.radius + neighbour.radius;
    let reach = radii + params.touch_margin;
    let square = dot(between, between);
    if square >= reach * reach {
        return near;
    }
    let distance = sqrt(square);
    var normal = vec3<f32>(0.0, select(-1.0, 1.0, index < other), 0.0);
    if distance > 0.0 {
        normal = between / distance;
    }
    let overlap = radii - distance;
    // The same point for both spheres, so that the pair keeps its angular momentum.
    let arm = (sphere.radius - 0.5 * overlap) * normal;
    let other_arm = (0.5 * overlap - neighbour.radius) * normal;
    var parting = neighbour.velocity - sphere.velocity;
    if deforms(params) {
        parting += flow(between, params);
    }
    let relative_velocity = parting
        + (cross(neighbour.angular_velocity, other_arm) - cross(sphere.angular_velocity, arm));
    return Near(
        true,
        Contact(
            overlap,
            touch_of(overlap, dot(relative_velocity, normal), params.time_step),
            normal,
            relative_velocity,
            neighbour.angular_velocity - sphere.angular_velocity,
            0.5 * dot(neighbour.angular_velocity + sphere.angular_velocity, normal),
            sphere.radius * neighbour.radius / radii,
            sphere.inverse_mass + neighbour.inverse_mass,
            vec2<f32>(sphere.radius, neighbour.radius),
            vec2<f32>(sphere.inverse_mass, neighbour.inverse_mass),
            vec2<u32>(material_of(sphere), material_of(neighbour)),
            params.time_step,
        ),
        arm,
        min(sphere.radius, neighbour.radius),
        material_of(sphere) * params.material_count + material_of(neighbour),
    );
}

// Whether a sphere is awake, or near one that is.
fn is_disturbed(sphere: Sphere, index: u32) -> bool {
    if !sleeps(sphere) {
        return true;
    }
    let end = list_start(index + 1u);
    for (var entry = list_start(index); entry < end; entry++) {
        let other = listed_at(place_of(entry));
        if (other & WALL) != 0u {
            return false;
        }
        let neighbour = sphere_at(other);
        if !sleeps(neighbour) && neighbour.inverse_mass > 0.0 {
            let between = separation(sphere, neighbour, params);
            let reach = sphere.radius + neighbour.radius + params.touch_margin;
            if dot(between, between) < reach * reach {
                return true;
            }
        }
    }
    return false;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn contacts(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    let zero = halted(index);
    if index >= params.sphere_count || zero == 1u {
        return;
    }
    let end = list_start(index + 1u);
    var entry = list_start(index);
    if DECIDES && entry == end && params.sleep_steps == 0u {
        // No neighbours, so no load. The step before has written that, and had the same lists.
        return;
    }
    first_entry = stats.first_entry;
    let sphere = sphere_at(index);
    let disturbed = params.sleep_steps > 0u && is_disturbed(sphere, index);
    if sleeps(sphere) && !disturbed && (sphere_loads[index].contacts & DISTURBED) == 0u {
        sphere_loads[index].contacts |= KEPT;
        return;
    }
    var load: SphereLoad;
    load.contacts = select(0u, DISTURBED, disturbed);
    var damping = vec2<f32>(sphere_loads[index].damping, sphere_loads[index].damping_rest);
    var friction = vec2<f32>(sphere_loads[index].friction, sphere_loads[index].friction_rest);
    var max_fraction = 0.0;

    for (; entry < end; entry++) {
        let place = place_of(entry);
        let other = listed_at(place);
        if (other & WALL) != 0u {
            break;
        }
        let near = near_sphere(sphere, index, other);
        let before = read_history(place);
        let touches = near.near && near.contact.touch.presence > 0.0;
        let lasts = HISTORY_VALUES > 0u && !is_empty(before);
        if !near.near {
            if lasts {
                write_history(place, History());
            }
            continue;
        }
        if !touches && !lasts && params.cohesive == 0u {
            continue;
        }
        let pair = select(near.pair, 0u, ONE_MATERIAL);
        let response = contact_law(near.contact, pairs[pair], before, params);
        write_history(place, response.history);

        load.force += response.force;
        load.torque += cross(near.arm, response.force) + response.torque;
        // Both spheres of a pair evaluate the contact, and each has a half of what it costs.
        damping = plus(damping, 0.5 * response.damping, zero);
        friction = plus(friction, 0.5 * response.friction, zero);
        if touches {
            let overlap = near.contact.touch.mean_overlap;
            load.max_overlap = max(load.max_overlap, overlap);
            load.contacts += 1u;
            max_fraction = max(max_fraction, overlap / near.radius);
        }
    }

    load.damping = damping.x;
    load.damping_rest = damping.y;
    load.friction = friction.x;
    load.friction_rest = friction.y;
    sphere_loads[index] = load;
    // A plain look first: the maximum seldom grows, and all threads share it.
    let bits = bitcast<u32>(max_fraction);
    if bits > atomicLoad(&stats.max_overlap_fraction) {
        atomicMax(&stats.max_overlap_fraction, bits);
    }
}
