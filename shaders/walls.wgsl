// import: layout, tags, dispatch, grid, rotation, geometry, wall, lists, wall_run, shares, posed, spheres, contact, law, opaque, history, sum, gathered

// Contacts of each sphere with walls, added to those with spheres; and the loads on the walls. One thread a sphere that has
// walls in its list: side by side, so that no others wait for them.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(3) var<uniform> walls: array<Wall, MAX_WALLS>;
@group(0) @binding(24) var<storage, read> geometry: array<vec4<u32>>;
@group(0) @binding(12) var<storage, read> lists: array<u32>;
@group(0) @binding(14) var<storage, read_write> sphere_loads: array<SphereLoad>;
@group(0) @binding(20) var<storage, read_write> history: array<f32>;
@group(0) @binding(25) var<storage, read_write> gathered: Gathered;

// The parameters of a contact with a wall. `geometry` has them: they need no buffer of their own.
fn pair_at(index: u32) -> Pair {
    return read_pair(4u * index);
}

fn contact_with(sphere: Sphere, run: Run, closest: Closest) -> Contact {
    let wall = walls[run.wall];
    let overlap = sphere.radius - closest.distance;
    let normal = -rotate(wall.orientation, closest.normal);
    // The radius of the undeformed sphere, so that rolling is exact.
    let arm = sphere.radius * normal;
    let belt = rotate(wall.orientation, wall.belt);
    let surface = wall.velocity + cross(wall.angular_velocity, run.from_anchor + arm)
        + (belt - dot(belt, normal) * normal);
    let relative_velocity = surface - sphere.velocity - cross(sphere.angular_velocity, arm);
    return Contact(
        overlap,
        touch_of(overlap, dot(relative_velocity, normal), params.time_step),
        normal,
        relative_velocity,
        wall.angular_velocity - sphere.angular_velocity,
        dot(wall.angular_velocity, normal),
        sphere.radius,
        sphere.inverse_mass + wall.inverse_mass,
        vec2<f32>(sphere.radius, 0.0),
        vec2<f32>(sphere.inverse_mass, wall.inverse_mass),
        vec2<u32>(material_of(sphere), wall.material),
        params.time_step,
    );
}

// A contact that goes over to another facet takes its history along if it goes no farther than this part of
// the radius.
const INHERITED: f32 = 0.3;

// As many contacts as a sphere has with one wall, and more.
const MOST_ORPHANS: u32 = 4u;

// Contacts that have ended on their facets: where their histories are, and the points where those facets are nearest now.
struct Orphans {
    count: u32,
    places: array<u32, MOST_ORPHANS>,
    points: array<vec3<f32>, MOST_ORPHANS>,
}

// Digits of a sum of loads, as in src/step/wall_load.rs.
const BASE: f32 = 65536.0;
const MOST_UNITS: f32 = 16384.0;

fn add_load(sum: u32, number: f32) {
    let sign = select(1.0, -1.0, number < 0.0);
    var rest = min(abs(number), MOST_UNITS);
    for (var k = 0u; k < 3u; k++) {
        rest *= BASE;
        let digit = floor(rest);
        rest -= digit;
        if digit != 0.0 {
            atomicAdd(&gathered.wall_sums[sum + k], i32(sign * digit));
        }
    }
}

fn add_loads(wall: u32, index: u32, force: vec3<f32>, torque: vec3<f32>) {
    let stripe = (index / SPHERES_OF_STRIPE) % params.stripes;
    let sum = WALL_DIGITS * (stripe * params.wall_count + wall);
    for (var k = 0u; k < 3u; k++) {
        add_load(sum + 3u * k, force[k] / params.force_unit);
        add_load(sum + 9u + 3u * k, torque[k] / params.torque_unit);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn walls_touch(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let thread = thread_index(workgroup, workgroups, local);
    if thread >= atomicLoad(&gathered.stats.near_walls) || gathered.stats.halted == 1u {
        return;
    }
    let index = lists[near_walls_start() + thread];
    first_entry = gathered.stats.first_entry;
    let start = list_start(index);
    let end = list_start(index + 1u);
    var first = end;
    while first > start && (listed_at(place_of(first - 1u)) & WALL) != 0u {
        first -= 1u;
    }
    let sphere = sphere_at(index);
    var load = sphere_loads[index];
    // Those that move may come to one that sleeps.
    let disturb = params.sleep_steps > 0u && params.moving_walls == 1u;
    if (load.contacts & KEPT) != 0u && !disturb {
        return;
    }
    var damping = vec2<f32>(load.damping, load.damping_rest);
    var friction = vec2<f32>(load.friction, load.friction_rest);
    var max_fraction = 0.0;

    while first < end {
        let run = run_at(sphere, first, end);
        first = run.end;
        var orphans: Orphans;
        // First those that have ended, then those that last: two rounds of one loop, for what finds the nearest point
        // of a facet is much code, and what a compiler repeats it for costs registers.
        for (var turn = select(1u, 0u, HISTORY_VALUES > 0u); turn < 2u; turn++) {
            for (var entry = run.start; entry < run.end; entry++) {
                let place = place_of(entry);
                var before = read_history(place);
                if turn == 0u && is_empty(before) {
                    continue;
                }
                let touch = touched(run, entry);
                let closest = touch.closest;
                if turn == 0u {
                    if touch.touches {
                        continue;
                    }
                    if orphans.count < MOST_ORPHANS {
                        orphans.places[orphans.count] = place;
                        orphans.points[orphans.count] = nearest_point(closest, run.place);
                        orphans.count += 1u;
                    } else {
                        write_history(place, History());
                    }
                    continue;
                }
                if !touch.touches {
                    continue;
                }
                let contact = contact_with(sphere, run, closest);
                if is_empty(before) {
                    let point = nearest_point(closest, run.place);
                    var nearest = INHERITED * sphere.radius;
                    var heir = MOST_ORPHANS;
                    for (var k = 0u; k < orphans.count; k++) {
                        let way = distance(orphans.points[k], point);
                        if way < nearest {
                            nearest = way;
                            heir = k;
                        }
                    }
                    if heir < MOST_ORPHANS {
                        before = read_history(orphans.places[heir]);
                        orphans.points[heir] = vec3<f32>(FAR);
                    }
                }
                let materials = material_of(sphere) * params.material_count + walls[run.wall].material;
                let pair = pair_at(select(materials, 0u, ONE_MATERIAL));
                let response = contact_law(contact, pair, before, params);
                write_history(place, response.history);
                let arm = sphere.radius * contact.normal;
                load.force += response.force;
                load.torque += cross(arm, response.force) + response.torque;
                damping = plus(damping, response.damping, gathered.stats.halted);
                friction = plus(friction, response.friction, gathered.stats.halted);
                if params.wall_loads == 1u {
                    let torque = cross(run.from_anchor + arm, response.force) + response.torque;
                    add_loads(run.wall, index, -response.force, -torque);
                }
                let acts = contact.touch.presence > 0.0 || any(response.force != vec3<f32>(0.0));
                if disturb && acts {
                    load.contacts = (load.contacts & ~KEPT) | DISTURBED;
                }
                if contact.touch.presence > 0.0 {
                    let overlap = contact.touch.mean_overlap;
                    load.max_overlap = max(load.max_overlap, overlap);
                    load.contacts += 1u << 16u;
                    max_fraction = max(max_fraction, overlap / sphere.radius);
                }
            }
        }
        for (var k = 0u; k < orphans.count; k++) {
            write_history(orphans.places[k], History());
        }
    }

    load.damping = damping.x;
    load.damping_rest = damping.y;
    load.friction = friction.x;
    load.friction_rest = friction.y;
    sphere_loads[index] = load;
    let bits = bitcast<u32>(max_fraction);
    if bits > atomicLoad(&gathered.stats.max_overlap_fraction) {
        atomicMax(&gathered.stats.max_overlap_fraction, bits);
    }
}
