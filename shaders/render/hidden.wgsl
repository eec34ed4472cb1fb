// import: layout, dispatch, grid, rotation, render/view, render/ball

// Bodies that others hide are not drawn, where there are many and drawing is slow. Those that were in sight in the picture before
// are drawn first; then each body is held against the depths that come of it, and what is found to be in sight now is drawn, too
// (after Haar and Aaltonen, "GPU-Driven Rendering Pipelines", SIGGRAPH 2015). So nothing is missing, but for shadows of what is out
// of sight. One thread a body. Where the camera stands still, a coarse picture holds only some of the bodies against the depths.

// How far the spheres of a body of each kind reach from its centre of mass, m.
@group(0) @binding(58) var<storage, read> extents: array<f32>;
// 1 for each body that was in sight.
@group(0) @binding(59) var<storage, read_write> in_sight: array<u32>;
// The spheres that are drawn, and what draws them.
@group(0) @binding(62) var<storage, read_write> listed: array<u32>;
@group(0) @binding(60) var<storage, read_write> listing: Listing;
// Of each tile of the picture, the depth of what is farthest away in it: the bits of it, since not every device reads floats of 32.
@group(0) @binding(61) var farthest: texture_2d<u32>;
@group(0) @binding(34) var depths: texture_depth_2d;

// Arguments of an indirect draw.
struct Draw {
    vertices: atomic<u32>,
    instances: u32,
    first_vertex: u32,
    first_instance: u32,
}

struct Listing {
    // What draws all that is listed, and what draws that which this picture has found.
    all: Draw,
    found: Draw,
    // Which bodies are held against the depths.
    first_body: u32,
    body_count: u32,
}

// Most tiles along each side that are looked at for a body: a larger one is drawn.
const MOST_TILES: i32 = 5;

fn list(body: u32) {
    let first = bodies[body].first_sphere;
    let kind = bodies[body].kind;
    let is_one_ball = stand_in(kind, center_of(bodies[body])) > 0.0;
    let count = select(properties[kind].sphere_count, 1u, is_one_ball);
    let place = atomicAdd(&listing.all.vertices, 3u * count) / 3u;
    atomicAdd(&listing.found.vertices, 3u * count);
    for (var k = 0u; k < count; k++) {
        listed[place + k] = first + k;
    }
}

// Whether the ball around a body may be in the picture, and something in its tiles is farther away.
fn is_in_sight(index: u32) -> bool {
    let kind = bodies[index].kind;
    let center = center_of(bodies[index]);
    let whole = stand_in(kind, center);
    let radius = select(extents[kind], whole, whole > 0.0);
    let away = dot(center, view.forward);
    let nearest = away - radius;
    if nearest <= view.near {
        return away + radius > view.near;
    }
    let slopes = vec2<f32>(length(view.right), length(view.up));
    let place = vec2<f32>(dot(center, view.right), dot(center, view.up)) / (slopes * slopes);
    // No less than by how much the picture of a point of the ball is beside that of its centre.
    let half = radius * (away / slopes + abs(place)) / (away * nearest);
    let middle = place / away * vec2<f32>(0.5, -0.5) + 0.5;
    let low = middle - 0.5 * half;
    let high = middle + 0.5 * half;
    if any(high < vec2<f32>(0.0)) || any(low > vec2<f32>(1.0)) {
        return false;
    }
    let end = vec2<i32>(textureDimensions(farthest)) - 1;
    let first = vec2<i32>(max(low, vec2<f32>(0.0)) * view.size) / i32(TILE);
    let last = min(vec2<i32>(min(high, vec2<f32>(1.0)) * view.size) / i32(TILE), end);
    if any(last - first >= vec2<i32>(MOST_TILES)) {
        return true;
    }
    let depth = view.near / nearest;
    for (var y = first.y; y <= last.y; y++) {
        for (var x = first.x; x <= last.x; x++) {
            // Depths are reversed.
            if depth > bitcast<f32>(textureLoad(farthest, vec2<i32>(x, y), 0).x) {
                return true;
            }
        }
    }
    return false;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn hidden_before(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index < params.body_count && in_sight[index] == 1u {
        list(index);
    }
}

// What is listed from here on is found by this picture.
@compute @workgroup_size(1)
fn hidden_so_far() {
    listing.found.first_vertex = atomicLoad(&listing.all.vertices);
    atomicStore(&listing.found.vertices, 0u);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn hidden_now(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let thread = thread_index(workgroup, workgroups, local);
    if thread >= listing.body_count {
        return;
    }
    let index = listing.first_body + thread;
    let is_seen = is_in_sight(index);
    if is_seen && in_sight[index] == 0u {
        list(index);
    }
    in_sight[index] = select(0u, 1u, is_seen);
}

@vertex
fn hidden_everywhere(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4<f32> {
    return whole_picture(vertex);
}

@fragment
fn hidden_farthest_at(@builtin(position) position: vec4<f32>) -> @location(0) u32 {
    let first = vec2<i32>(position.xy) * i32(TILE);
    let last = min(first + i32(TILE), vec2<i32>(view.size)) - 1;
    var depth = 1.0;
    for (var y = first.y; y <= last.y; y++) {
        for (var x = first.x; x <= last.x; x++) {
            depth = min(depth, textureLoad(depths, vec2<i32>(x, y), 0));
        }
    }
    return bitcast<u32>(depth);
}
