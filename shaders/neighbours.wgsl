// import: layout, tags, ghosts, dispatch, grid, rotation, geometry, wall, lists

// Neighbour list of each sphere: all that it may touch until the lists are built again, spheres in the
// order of their indices, then facets of walls, so that the sum of the contact forces does not depend on when
// they were built. The history of a contact goes with it. One thread a sphere, in each of:
//
//   neighbours_count  puts the old starts aside, and counts; then the counts are scanned
//   neighbours_room   one thread: finds out whether there is room, else the host has to make more
//   neighbours_fill   writes
//   neighbours_carry  takes the contact histories of the old lists over to the new ones
//
// The lists lie in a ring, the new ones behind the old. The last two take the spheres slice by slice: where the
// old lists of one slice were, the new ones of a later slice may be. So there need not be room for all twice.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(3) var<uniform> walls: array<Wall, MAX_WALLS>;
@group(0) @binding(29) var<uniform> groups: array<Group, MAX_GROUPS>;
@group(0) @binding(6) var<storage, read> spheres: array<Sphere>;
@group(0) @binding(9) var<storage, read> bucket_starts: array<u32>;
@group(0) @binding(11) var<storage, read> sorted: array<u32>;
@group(0) @binding(12) var<storage, read_write> lists: array<u32>;
@group(0) @binding(16) var<storage, read_write> stats: Stats;
@group(0) @binding(24) var<storage, read> geometry: array<vec4<u32>>;
@group(0) @binding(20) var<storage, read_write> history: array<f32>;

// Numbers of the history of each contact.
override HISTORY_VALUES: u32 = 0u;

// Starts of the lists as they were before.
@group(0) @binding(21) var<storage, read_write> kept_starts: array<u32>;

// Index of the slice.
@group(0) @binding(22) var<uniform> slice: u32;

// What two spheres have to be apart, at least, is the sum of this for both, else they are neighbours: the radius and
// half of the skin, m.
fn extent(sphere: Sphere) -> f32 {
    return sphere.radius + 0.5 * select(params.slow_skin, params.skin, is_fast(sphere));
}

// Whether two spheres are closer than their skins, belong to different bodies, can be moved, are in groups that touch, and
// are not both ghosts.
fn are_neighbours(sphere: Sphere, other: Sphere) -> bool {
    let between = separation(sphere, other, params);
    let reach = extent(sphere) + extent(other);
    return dot(between, between) < reach * reach
        && sphere.body != other.body
        && sphere.inverse_mass + other.inverse_mass > 0.0
        && !(is_ghost(sphere) && is_ghost(other))
        && ((groups[group_of(sphere)].ignores >> group_of(other)) & 1u) == 0u;
}

// Puts a sphere or a facet on the lists, at a place of the ring.
fn list_at(place: u32, entry: u32) {
    lists[ring_start() + place] = entry;
}

// Number of neighbours of a sphere, in the order in which the grid has them; written from `start`
// on if `write`.
fn find(index: u32, start: u32, write: bool) -> u32 {
    let sphere = spheres[index];
    var count = 0u;
    for (var level = 0u; level < params.level_count; level++) {
        let cells = reach(sphere, level, params);
        let period = period_of(params) >> vec3<u32>(level);
        let rows = vec2<f32>(cells.last.yz - cells.first.yz + 1);
        if rows.x * rows.y > f32(params.sphere_count) {
            // A large sphere among the cells of far smaller ones: more rows than spheres.
            for (var other = 0u; other < params.sphere_count; other++) {
                let neighbour = spheres[other];
                if level_of(neighbour.radius, params) == level && are_neighbours(sphere, neighbour) {
                    if write {
                        list_at(place_of(start + count), other);
                    }
                    count += 1u;
                }
            }
            continue;
        }
        let count_of_rows = cells.last.yz - cells.first.yz + 1;
        for (var z = 0; z < count_of_rows.y; z++) {
            for (var y = 0; y < count_of_rows.x; y++) {
                var first = wrap(cells.first + vec3<i32>(0, y, z), period);
                var left = cells.last.x - cells.first.x + 1;
                // A row that meets the end of a periodic box goes on at cell 0.
                while left > 0 {
                    let here = select(left, min(left, period.x - first.x), period.x > 0);
                    let row = bucket(first, level, params.bucket_count);
                    // A row longer than the table would meet its own start again.
                    let last = row + min(u32(here), params.bucket_count);
                    // The row may wrap around the end of the table: then it has a second part.
                    let wrapped = select(0u, last - params.bucket_count, last > params.bucket_count);
                    var begin = bucket_starts[row];
                    var end = bucket_starts[min(last, params.bucket_count)];
                    for (var part = 0u; part < 2u; part++) {
                        for (var k = begin; k < end; k++) {
                            let other = sorted[k];
                            let neighbour = spheres[other];
                            // Another cell's spheres, of this level or another, may share the
                            // bucket.
                            let cell = cell_at(neighbour.cell, level);
                            let in_row = all(cell.yz == first.yz)
                                && cell.x >= first.x && cell.x < first.x + here
                                && level_of(neighbour.radius, params) == level;
                            if in_row && are_neighbours(sphere, neighbour) {
                                if write {
                                    list_at(place_of(start + count), other);
                                }
                                count += 1u;
                            }
                        }
                        begin = 0u;
                        end = bucket_starts[wrapped];
                    }
                    left -= here;
                    first.x = 0;
                }
            }
        }
    }
    return count;
}

// Number of facets of walls near a sphere; written from `start` on if `write`.
fn find_walls(index: u32, start: u32, write: bool) -> u32 {
    let sphere = spheres[index];
    let ahead = wall_margin(sphere.velocity) - params.touch_margin;
    let reach = extent(sphere) + 0.5 * params.skin + ahead;
    var count = 0u;
    for (var k = 0u; k < params.wall_count; k++) {
        let wall = walls[k];
        if sphere.inverse_mass + wall.inverse_mass == 0.0 || is_ghost(sphere) {
            continue;
        }
        let place = to_wall(wall, from_wall(sphere, wall));
        let end = wall.first_node + wall.node_count;
        var at = wall.first_node;
        while at < end {
            let node = node_at(at);
            let way = place - clamp(place, node.min, node.max);
            if dot(way, way) >= reach * reach {
                at += node.skip;
                continue;
            }
            let first = node.facets >> 3u;
            for (var facet = first; facet < first + (node.facets & 7u); facet++) {
                if distance_from(facet_at(facet), place) < reach {
                    if write {
                        list_at(place_of(start + count), WALL | facet);
                    }
                    count += 1u;
                }
            }
            at += 1u;
        }
    }
    return count;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn neighbours_count(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index >= params.sphere_count {
        return;
    }
    if index == 0u {
        kept_starts[params.sphere_count] = list_start(params.sphere_count);
    }
    kept_starts[index] = list_start(index);
    lists[index] = find(index, 0u, false) + find_walls(index, 0u, false);
}

@compute @workgroup_size(1)
fn neighbours_room() {
    let total = list_start(params.sphere_count);
    let old_total = kept_starts[params.sphere_count];
    // New lists as far as the end of a slice, and the old ones from its start on.
    var most = 0u;
    for (var first = 0u; first < params.sphere_count; first += params.slice_length) {
        let last = min(first + params.slice_length, params.sphere_count);
        most = max(most, list_start(last) + old_total - kept_starts[first]);
    }
    let full = total > params.neighbour_capacity || most > ring_length();
    stats.neighbours = total;
    stats.full = u32(full);
    stats.halted = u32(full);
    if !full {
        stats.first_entry = wrapped(stats.first_entry + old_total);
        atomicStore(&stats.near_walls, 0u);
    }
}

// The sphere of a thread that works on a slice; `sphere_count` or more if there is none, or no room for the lists.
fn sphere_of(thread: u32) -> u32 {
    let none = thread >= params.slice_length || stats.halted == 1u;
    return select(slice * params.slice_length + thread, params.sphere_count, none);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn neighbours_fill(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = sphere_of(thread_index(workgroup, workgroups, local));
    if index >= params.sphere_count {
        return;
    }
    first_entry = stats.first_entry;
    lists[bodies_start() + index] = spheres[index].body;
    let start = list_start(index);
    let end = start + find(index, start, true);
    // By insertion: the lists are short, and nearly sorted by cells.
    for (var k = start + 1u; k < end; k++) {
        let moved = listed_at(place_of(k));
        var place = k;
        while place > start && listed_at(place_of(place - 1u)) > moved {
            list_at(place_of(place), listed_at(place_of(place - 1u)));
            place -= 1u;
        }
        list_at(place_of(place), moved);
    }
    if find_walls(index, end, true) > 0u {
        lists[near_walls_start() + atomicAdd(&stats.near_walls, 1u)] = index;
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn neighbours_carry(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = sphere_of(thread_index(workgroup, workgroups, local));
    if index >= params.sphere_count {
        return;
    }
    first_entry = stats.first_entry;
    // The old lists end where the new ones begin.
    let first_old = wrapped(first_entry + ring_length() - kept_starts[params.sphere_count]);
    var old = kept_starts[index];
    let end = kept_starts[index + 1u];
    let new_end = list_start(index + 1u);
    for (var entry = list_start(index); entry < new_end; entry++) {
        let place = place_of(entry);
        while old < end && listed_at(wrapped(first_old + old)) < listed_at(place) {
            old += 1u;
        }
        let old_place = wrapped(first_old + old);
        let known = old < end && listed_at(old_place) == listed_at(place);
        for (var k = 0u; k < HISTORY_VALUES; k++) {
            var number = 0.0;
            if known {
                number = history[HISTORY_VALUES * old_place + k];
            }
            history[HISTORY_VALUES * place + k] = number;
        }
    }
}
