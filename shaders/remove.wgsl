// import: layout, dispatch, lists

// Takes bodies away between two steps. Those that stay close up and keep their order; those that go are put behind them,
// where the host finds what they have dissipated. Whatever moves is written to `moved` first, and copied back from there:
// within one buffer, a thread would overwrite what another has yet to read.
//
//   remove_places   one thread a body: where it and its spheres go
//   remove_count    one thread a sphere: how many entries of its list stay; then the counts are scanned
//   remove_wake     one thread a body: wakes it if something that it could touch goes
//   remove_rows     one thread for each 16 bytes of a buffer with elements of bodies or spheres
//   remove_history  one thread a sphere: the histories of the contacts that stay
//   remove_entries  one thread a sphere: the entries that stay
//   remove_starts   one thread a sphere, and one more: where the lists start

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> properties: array<BodyProperties>;
@group(0) @binding(5) var<storage, read_write> bodies: array<Body>;
@group(0) @binding(6) var<storage, read_write> spheres: array<Sphere>;
@group(0) @binding(12) var<storage, read> lists: array<u32>;
@group(0) @binding(16) var<storage, read_write> stats: Stats;

// How many entries of each list stay; once scanned, where the list starts. All spheres are in it, those that go with
// empty lists.
@group(0) @binding(21) var<storage, read_write> kept_starts: array<u32>;

// The bodies that go, in increasing order, each with the number of spheres that they have as far as this one.
@group(0) @binding(45) var<storage, read> removed: array<vec2<u32>>;

// Where each body and each sphere goes, with the bit GONE if it is one of those that are taken away.
@group(0) @binding(46) var<storage, read_write> body_places: array<u32>;
@group(0) @binding(47) var<storage, read_write> sphere_places: array<u32>;

// A buffer whose elements move, and where each of them goes: either of the above.
@group(0) @binding(48) var<storage, read> rows: array<vec4<u32>>;
@group(0) @binding(49) var<storage, read> places: array<u32>;

// The histories of contacts, as numbers of 32 bits.
@group(0) @binding(57) var<storage, read> numbers: array<u32>;

// Where everything is put meanwhile, as rows and as numbers.
@group(0) @binding(50) var<storage, read_write> moved: array<vec4<u32>>;
@group(0) @binding(51) var<storage, read_write> moved_entries: array<u32>;

const GONE: u32 = 0x80000000u;

// How many of the bodies that go come before a body.
fn removed_before(body: u32) -> u32 {
    var first = 0u;
    var end = arrayLength(&removed);
    while first < end {
        let middle = (first + end) / 2u;
        if removed[middle].x < body {
            first = middle + 1u;
        } else {
            end = middle;
        }
    }
    return first;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn remove_places(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index >= params.body_count {
        return;
    }
    let body = bodies[index];
    let count = arrayLength(&removed);
    let before = removed_before(index);
    var spheres_before = 0u;
    if before > 0u {
        spheres_before = removed[before - 1u].y;
    }
    var place = index - before;
    var first = body.first_sphere - spheres_before;
    var gone = 0u;
    if before < count && removed[before].x == index {
        place = params.body_count - count + before;
        first = params.sphere_count - removed[count - 1u].y + spheres_before;
        gone = GONE;
    }
    body_places[index] = place | gone;
    for (var k = 0u; k < properties[body.kind].sphere_count; k++) {
        sphere_places[body.first_sphere + k] = (first + k) | gone;
        spheres[body.first_sphere + k].body = place;
    }
}

fn goes(sphere: u32) -> bool {
    return (sphere_places[sphere] & GONE) != 0u;
}

// Whether an entry of a list stays that does.
fn stays(entry: u32) -> bool {
    return (entry & WALL) != 0u || !goes(entry);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn remove_count(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index >= params.sphere_count {
        return;
    }
    first_entry = stats.first_entry;
    var count = 0u;
    if !goes(index) {
        for (var entry = list_start(index); entry < list_start(index + 1u); entry++) {
            count += select(0u, 1u, stays(listed_at(place_of(entry))));
        }
    }
    kept_starts[index] = count;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn remove_wake(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index >= params.body_count {
        return;
    }
    let first = bodies[index].first_sphere;
    let end = first + properties[bodies[index].kind].sphere_count;
    let before = list_start(end) - list_start(first);
    if kept_starts[end] - kept_starts[first] < before {
        // What it may have lain on is gone.
        bodies[index].still = 0u;
    }
    bodies[index].first_sphere = sphere_places[first] & ~GONE;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn remove_rows(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    let width = arrayLength(&rows) / arrayLength(&places);
    let element = index / width;
    if element < arrayLength(&places) {
        moved[(places[element] & ~GONE) * width + index % width] = rows[index];
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn remove_history(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index >= params.sphere_count || goes(index) {
        return;
    }
    first_entry = stats.first_entry;
    let size = params.history_values;
    var next = kept_starts[index];
    for (var entry = list_start(index); entry < list_start(index + 1u); entry++) {
        let place = place_of(entry);
        if stays(listed_at(place)) {
            for (var part = 0u; part < size; part++) {
                moved_entries[size * next + part] = numbers[size * place + part];
            }
            next += 1u;
        }
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn remove_entries(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index >= params.sphere_count || goes(index) {
        return;
    }
    first_entry = stats.first_entry;
    var next = kept_starts[index];
    for (var entry = list_start(index); entry < list_start(index + 1u); entry++) {
        let other = listed_at(place_of(entry));
        if (other & WALL) != 0u {
            moved_entries[next] = other;
            next += 1u;
        } else if !goes(other) {
            moved_entries[next] = sphere_places[other];
            next += 1u;
        }
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn remove_starts(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index < params.sphere_count {
        if !goes(index) {
            moved_entries[sphere_places[index]] = kept_starts[index];
        }
    } else if index == params.sphere_count {
        let total = kept_starts[index];
        moved_entries[index - removed[arrayLength(&removed) - 1u].y] = total;
        // From here on, the lists start at the first place of the ring.
        stats.first_entry = 0u;
        stats.neighbours = total;
        atomicStore(&stats.near_walls, 0u);
        atomicStore(&stats.stale, 1u);
    }
}
