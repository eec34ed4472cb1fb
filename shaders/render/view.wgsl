// What all shaders of a picture share: the camera, the light, and places relative to the camera.
//
// A place is a cell and an offset in it, as in the simulation, and so is the camera. The difference
// of the cells is taken in integers, so a picture is as sharp far from the origin as near it. From
// there on, all vectors are relative to the camera, along the axes of the world, in metres. `View` is that of
// src/render/view.rs.

@group(0) @binding(32) var<uniform> view: View;

// What a pixel shows: the kind of thing in the two highest bits, its index in the others.
const KIND_SHIFT: u32 = 30u;
const INDEX_MASK: u32 = (1u << KIND_SHIFT) - 1u;
const NOTHING: u32 = 0u;
const A_SPHERE: u32 = 1u;
const A_PLANE: u32 = 2u;
const A_TRIANGLE: u32 = 3u;

// Where a place is drawn. The depth is reversed: 1 at `near`, 0 infinitely far away, which is where
// floats are dense.
fn project(place: vec3<f32>) -> vec4<f32> {
    return vec4<f32>(
        dot(place, view.right) / dot(view.right, view.right),
        dot(place, view.up) / dot(view.up, view.up),
        view.near,
        dot(place, view.forward),
    );
}

// The way from the camera through a point of the picture to where it is 1 in front.
fn ray(sample: vec2<f32>) -> vec3<f32> {
    let right = 2.0 * sample.x / view.size.x - 1.0;
    let up = 1.0 - 2.0 * sample.y / view.size.y;
    return view.forward + right * view.right + up * view.up;
}

// A place in the shadow map: right and up from -1 to 1, depth from 0 (nearest to the light) to 1.
fn in_shadow_map(place: vec3<f32>) -> vec3<f32> {
    let from_center = place - view.shadow_center;
    return vec3<f32>(
        dot(from_center, view.light_right) / view.shadow_radius,
        dot(from_center, view.light_up) / view.shadow_radius,
        0.5 - 0.5 * dot(from_center, view.to_light) / view.shadow_depth,
    );
}

// A corner of a square, in the order of a strip of two triangles: x and y are -1 or 1.
fn corner(vertex: u32) -> vec2<f32> {
    return vec2<f32>(f32(vertex & 1u), f32(vertex >> 1u)) * 2.0 - 1.0;
}

// A corner of the triangle with sides of equal length that has the unit circle in it: one triangle a ball is less work than the two
// of a square, and balls of one draw share what takes corners together, which instances do not.
fn corner_around(vertex: u32) -> vec2<f32> {
    let side = 1.7320508;
    return select(vec2<f32>(select(-side, side, vertex == 1u), -1.0), vec2<f32>(0.0, 2.0), vertex == 2u);
}

// A corner of the triangle that covers the whole picture.
fn whole_picture(vertex: u32) -> vec4<f32> {
    return vec4<f32>(f32(vertex & 1u) * 4.0 - 1.0, f32(vertex >> 1u) * 4.0 - 1.0, 0.0, 1.0);
}

// Two unit vectors at right angles to the unit vector `normal` and to each other.
struct Tangents {
    first: vec3<f32>,
    second: vec3<f32>,
}

fn tangents(normal: vec3<f32>) -> Tangents {
    let other = select(vec3<f32>(1.0, 0.0, 0.0), vec3<f32>(0.0, 0.0, 1.0), abs(normal.x) > 0.7);
    let first = normalize(cross(other, normal));
    return Tangents(first, cross(normal, first));
}

// Whether a place is cut away.
fn is_cut(place: vec3<f32>) -> bool {
    return dot(view.clip.xyz, place) > view.clip.w;
}
