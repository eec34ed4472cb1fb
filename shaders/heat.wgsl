// import: layout, tags, dispatch, grid, rotation, geometry, wall, lists, wall_run, opaque

// Heat that flows through contacts, and the temperature of each body after the step. One thread a body: first each sums
// what flows into it, the contacts of its spheres in the order of their lists; then all warm up.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(3) var<uniform> walls: array<Wall, MAX_WALLS>;
@group(0) @binding(24) var<storage, read> geometry: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> bodies: array<Body>;
@group(0) @binding(6) var<storage, read> spheres: array<Sphere>;
@group(0) @binding(12) var<storage, read> lists: array<u32>;
@group(0) @binding(16) var<storage, read_write> stats: Stats;
@group(0) @binding(44) var<storage, read_write> body_heat: array<BodyHeat>;

// Of a pair of materials. The table against walls has it, too.
fn conductance_of(material: u32, other: u32) -> f32 {
    return bitcast<f32>(geometry[4u * (material * params.material_count + other) + 3u].y);
}

fn temperature_of(wall: u32) -> f32 {
    return bitcast<f32>(geometry[params.temperature_start + (wall >> 2u)][wall & 3u]);
}

// Heat that flows in from another sphere, W.
fn from_sphere(sphere: Sphere, own: BodyHeat, other: u32) -> f32 {
    let neighbour = spheres[other];
    let radii = sphere.radius + neighbour.radius;
    let overlap = radii - length(separation(sphere, neighbour, params));
    if overlap <= 0.0 {
        return 0.0;
    }
    let conductance = conductance_of(material_of(sphere), material_of(neighbour));
    let width = sqrt(sphere.radius * neighbour.radius / radii * overlap);
    let temperature = body_heat[neighbour.body].temperature;
    let rest = body_heat[neighbour.body].rest;
    // What rounding has left out counts: between bodies that are nearly as warm, it is most of the difference.
    return conductance * width * ((temperature - own.temperature) + (rest - own.rest));
}

// Heat that flows in from a wall, W.
fn from_facets(sphere: Sphere, own: BodyHeat, run: Run) -> f32 {
    let temperature = temperature_of(run.wall);
    if temperature < 0.0 {
        return 0.0;
    }
    let conductance = conductance_of(material_of(sphere), walls[run.wall].material);
    var flow = 0.0;
    for (var entry = run.start; entry < run.end; entry++) {
        let touch = touched(run, entry);
        let overlap = sphere.radius - touch.closest.distance;
        if touch.touches && overlap > 0.0 {
            let width = sqrt(sphere.radius * overlap);
            flow += conductance * width * ((temperature - own.temperature) - own.rest);
        }
    }
    return flow;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn heat_flow(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index >= params.body_count || stats.halted == 1u {
        return;
    }
    first_entry = stats.first_entry;
    let own = body_heat[index];
    var flow = 0.0;
    for (var k = bodies[index].first_sphere; k < params.sphere_count && spheres[k].body == index; k++) {
        let sphere = spheres[k];
        let end = list_start(k + 1u);
        var entry = list_start(k);
        while entry < end {
            let other = listed_at(place_of(entry));
            if (other & WALL) == 0u {
                flow += opaque(from_sphere(sphere, own, other), stats.halted);
                entry += 1u;
            } else {
                let run = run_at(sphere, entry, end);
                flow += from_facets(sphere, own, run);
                entry = run.end;
            }
        }
    }
    body_heat[index].flow = flow;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn heat(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index >= params.body_count || stats.halted == 1u {
        return;
    }
    let own = body_heat[index];
    let term = params.time_step * own.flow * own.inverse_capacity + own.rest;
    let total = opaque(own.temperature + term, stats.halted);
    body_heat[index].temperature = total;
    body_heat[index].rest = term - opaque(total - own.temperature, stats.halted);
}
