// import: layout, tags, dispatch, grid, rotation, wall, contact, law, opaque, memory, lists, gathered

// Contacts of each sphere with walls, added to those with spheres; and the loads on the walls. One thread
// a sphere.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(3) var<uniform> walls: array<Wall, MAX_WALLS>;
@group(0) @binding(24) var<storage, read> geometry: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> spheres: array<Sphere>;
@group(0) @binding(12) var<storage, read> lists: array<u32>;
@group(0) @binding(14) var<storage, read_write> sphere_loads: array<SphereLoad>;
@group(0) @binding(20) var<storage, read_write> memory: array<vec4<f32>>;
@group(0) @binding(25) var<storage, read_write> gathered: Gathered;

// The parameters of a contact with a wall. `geometry` has them: they need no buffer of their own.
fn pair_at(index: u32) -> Pair {
    let rows = array<vec4<u32>, 4>(
        geometry[4u * index], geometry[4u * index + 1u],
        geometry[4u * index + 2u], geometry[4u * index + 3u]);
    let a = bitcast<vec4<f32>>(rows[0]);
    let b = bitcast<vec4<f32>>(rows[1]);
    let c = bitcast<vec4<f32>>(rows[2]);
    return Pair(
        a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, rows[2].x, c.y, c.z, c.w, bitcast<f32>(rows[3].x),
        0.0, 0.0, 0.0);
}

// The facets of one wall in the list of a sphere.
struct Run {
    // Entries of the list: the first, and the first that is none.
    start: u32,
    end: u32,
    wall: u32,
    // Of the sphere, m.
    radius: f32,
    // From the wall's anchor to the centre of the sphere, m, and the same in the frame of the wall.
    from_anchor: vec3<f32>,
    place: vec3<f32>,
    // What rounding may do to a point, m.
    rounding: f32,
}

const SAME_POINT: f32 = 1e-3;
const SAME_WAY: f32 = 0.966;
const ON_FACET: f32 = 1e-4;

fn wall_of(entry: u32) -> u32 {
    return geometry[params.facet_start + 4u * (listed_at(place_of(entry)) & ~WALL) + 1u].w;
}

// The run that starts at an entry of a list that ends at `end`.
fn run_at(sphere: Sphere, start: u32, end: u32) -> Run {
    let index = wall_of(start);
    var last = start + 1u;
    while last < end && wall_of(last) == index {
        last += 1u;
    }
    let wall = walls[index];
    let from_anchor = from_wall(sphere, wall);
    return Run(
        start, last, index, sphere.radius, from_anchor, to_wall(wall, from_anchor),
        ROUNDING * length(from_anchor));
}

fn closest_at(run: Run, entry: u32) -> Closest {
    return closest(facet_at(listed_at(place_of(entry)) & ~WALL), run.place, run.radius);
}

// How the sphere lies to a facet, if it may touch it there; else at a distance of FAR. See
// src/cpu/wall_run.rs.
fn touched(run: Run, entry: u32) -> Closest {
    let own = closest_at(run, entry);
    if own.distance >= run.radius + params.touch_margin {
        return far();
    }
    let point = nearest_point(own, run.place);
    for (var other = run.start; other < run.end; other++) {
        if other == entry {
            continue;
        }
        var facet = facet_at(listed_at(place_of(other)) & ~WALL);
        let found = closest(facet, run.place, run.radius);
        let nearer = found.distance < own.distance
            || (found.distance == own.distance && other < entry);
        if !nearer {
            continue;
        }
        if dot(found.normal, own.normal) > SAME_WAY {
            return far();
        }
        let between = distance(nearest_point(found, run.place), point);
        if between <= SAME_POINT * run.radius + run.rounding {
            return far();
        }
        facet.side = BOTH_SIDES;
        let off = closest(facet, point, run.radius).distance;
        if off <= ON_FACET * run.radius + run.rounding {
            return far();
        }
    }
    return own;
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

// A contact that goes over to another facet takes along what it remembers if it goes no farther than this
// part of the radius.
const INHERITED: f32 = 0.3;

// As many contacts as a sphere has with one wall, and more.
const MOST_ORPHANS: u32 = 4u;

// What contacts remember that have ended on their facets, with the points where those are nearest now.
struct Orphans {
    count: u32,
    points: array<vec3<f32>, MOST_ORPHANS>,
    memory: array<Memory, MOST_ORPHANS>,
}

fn gather(run: Run) -> Orphans {
    var orphans: Orphans;
    for (var entry = run.start; entry < run.end; entry++) {
        let own = recall(place_of(entry));
        if is_empty(own) || touched(run, entry).distance < FAR {
            continue;
        }
        if orphans.count < MOST_ORPHANS {
            orphans.points[orphans.count] = nearest_point(closest_at(run, entry), run.place);
            orphans.memory[orphans.count] = own;
            orphans.count += 1u;
        }
        remember(place_of(entry), Memory());
    }
    return orphans;
}

// Digits of a sum of loads, as in src/wall/load.rs.
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
    let index = thread_index(workgroup, workgroups, local);
    if index >= params.sphere_count || gathered.stats.halted == 1u {
        return;
    }
    first_entry = gathered.stats.first_entry;
    let start = list_start(index);
    let end = list_start(index + 1u);
    var first = end;
    while first > start && (listed_at(place_of(first - 1u)) & WALL) != 0u {
        first -= 1u;
    }
    if first == end {
        return;
    }
    let sphere = spheres[index];
    var load = sphere_loads[index];
    if (load.contacts & KEPT) != 0u {
        return;
    }
    var damping = vec2<f32>(load.damping, load.damping_rest);
    var friction = vec2<f32>(load.friction, load.friction_rest);
    var max_fraction = 0.0;

    while first < end {
        let run = run_at(sphere, first, end);
        first = run.end;
        var orphans: Orphans;
        if MEMORY_SIZE > 0u {
            orphans = gather(run);
        }
        for (var entry = run.start; entry < run.end; entry++) {
            let closest = touched(run, entry);
            if closest.distance == FAR {
                continue;
            }
            let contact = contact_with(sphere, run, closest);
            var before = recall(place_of(entry));
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
                    before = orphans.memory[heir];
                    orphans.points[heir] = vec3<f32>(FAR);
                }
            }
            let pair = pair_at(material_of(sphere) * params.material_count + walls[run.wall].material);
            let response = contact_law(contact, pair, before, params);
            remember(place_of(entry), response.memory);
            let arm = sphere.radius * contact.normal;
            load.force += response.force;
            load.torque += cross(arm, response.force) + response.torque;
            damping = plus(damping, response.damping, gathered.stats.halted);
            friction = plus(friction, response.friction, gathered.stats.halted);
            if params.wall_loads == 1u {
                let torque = cross(run.from_anchor + arm, response.force) + response.torque;
                add_loads(run.wall, index, -response.force, -torque);
            }
            if contact.touch.presence > 0.0 {
                let overlap = contact.touch.mean_overlap;
                load.max_overlap = max(load.max_overlap, overlap);
                load.contacts += 1u << 16u;
                max_fraction = max(max_fraction, overlap / sphere.radius);
            }
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
