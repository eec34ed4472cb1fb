// Walls: their surfaces lie in their own frames, and where those are the simulation knows.

// An infinite plane through the anchor of its wall.
struct Plane {
    normal: vec3<f32>,
    wall: u32,
}

// A triangle; see src/render/walls.rs.
struct Triangle {
    a: vec3<f32>,
    wall: u32,
    b: vec3<f32>,
    side: u32,
    c: vec3<f32>,
    worn: f32,
    normal_a: vec3<f32>,
    normal_b: vec3<f32>,
    normal_c: vec3<f32>,
}

// An edge of the surface of a wall, with the normals on both sides of it; see src/render/walls.rs.
struct Edge {
    a: vec3<f32>,
    wall: u32,
    b: vec3<f32>,
    side: u32,
    first: vec3<f32>,
    is_sharp: u32,
    last: vec3<f32>,
}

// How many planes there are, and whether any triangles.
override PLANES: u32 = MAX_WALLS;
override HAS_TRIANGLES: bool = true;

@group(0) @binding(3) var<uniform> walls: array<Wall, MAX_WALLS>;
@group(0) @binding(42) var<uniform> planes: array<Plane, MAX_WALLS>;
@group(0) @binding(43) var<storage, read> triangles: array<Triangle>;
@group(0) @binding(52) var<storage, read> edges: array<Edge>;
// Of each wall its colour, and what is said of how much it hides: see `wall_looks` in src/render/walls.rs.
@group(0) @binding(53) var<uniform> wall_looks: array<vec4<f32>, MAX_WALLS>;

struct PlaneHere {
    // A point of it, from the camera, m.
    point: vec3<f32>,
    normal: vec3<f32>,
}

// The planes as planes.wgsl finds them.
@group(0) @binding(67) var<uniform> planes_here: array<PlaneHere, MAX_WALLS>;

// A point of a wall, from the camera, m.
fn of_wall(index: u32, point: vec3<f32>) -> vec3<f32> {
    let wall = walls[index];
    return from_camera(wall.cell, wall.offset + rotate(wall.orientation, point), params);
}

// The corners of a triangle, from the camera, m.
struct Corners {
    a: vec3<f32>,
    b: vec3<f32>,
    c: vec3<f32>,
}

fn corners_at(triangle: Triangle) -> Corners {
    return Corners(
        of_wall(triangle.wall, triangle.a),
        of_wall(triangle.wall, triangle.b),
        of_wall(triangle.wall, triangle.c),
    );
}

// The normal of a triangle, of any length.
fn across(corners: Corners) -> vec3<f32> {
    return cross(corners.b - corners.a, corners.c - corners.a);
}

// A colour of a wall, linear: the deeper it is worn, the more it is red.
fn worn_colour(colour: vec3<f32>, worn: f32) -> vec3<f32> {
    return mix(colour, vec3<f32>(0.45, 0.01, 0.0), worn);
}

const UNSEEN: u32 = 0u;
const SOLID: u32 = 1u;
const GLASS: u32 = 2u;

// How a surface with a normal (of any length) and a point is drawn of which `towards` is the way to the viewer, or to
// the light. From the sides that bodies do not touch it is glass, and so is the part of a vessel that is between its
// bodies and the viewer: one can see into it.
fn drawn_as(normal: vec3<f32>, point: vec3<f32>, side: u32, wall: u32, towards: vec3<f32>) -> u32 {
    let opacity = wall_looks[wall].w;
    if opacity == 0.0 {
        return UNSEEN;
    }
    if opacity > 1.0 {
        return SOLID;
    }
    let facing = dot(normal, towards);
    let is_touched = side == BOTH_SIDES || (side == FRONT) == (facing > 0.0);
    let bars = opacity < 0.0 && facing * dot(normal, view.bodies_center - point) < 0.0;
    let is_glass = bars || !is_touched || (opacity > 0.0 && opacity < 1.0);
    return select(SOLID, GLASS, is_glass);
}

// Planes are drawn on the side where bodies live, so that those which stand between them and the camera do not hide
// them.
fn faces_camera(plane: PlaneHere) -> bool {
    return dot(plane.point, plane.normal) < 0.0;
}

// A corner of the square around the bodies as which a plane is drawn.
fn plane_corner(plane: PlaneHere, vertex: u32) -> vec3<f32> {
    let middle = 0.5 * (view.box_min + view.box_max);
    let foot = middle - plane.normal * dot(middle - plane.point, plane.normal);
    // As far from the middle of the bodies as planes are drawn, m.
    let half = 6.0 * view.scene_radius * corner(vertex);
    let sides = tangents(plane.normal);
    return foot + half.x * sides.first + half.y * sides.second;
}

// Behind another plane no body can be: there, a wall is cut off.
fn is_behind_a_plane(place: vec3<f32>) -> bool {
    let margin = 1e-3 * view.scene_radius;
    for (var k = 0u; k < PLANES; k++) {
        let other = planes_here[k];
        if dot(place - other.point, other.normal) < -margin {
            return true;
        }
    }
    return false;
}

// Planes have no end; the picture of one fades into the distance. From 0 to 1.
fn plane_end(place: vec3<f32>, normal: vec3<f32>) -> f32 {
    let outside = max(max(view.box_min - place, place - view.box_max), vec3<f32>(0.0));
    let floor_like = smoothstep(0.3, 0.8, dot(normal, view.zenith));
    let end = mix(0.5, 4.0, floor_like) * view.scene_radius;
    return smoothstep(0.1 * end, end, length(outside));
}

// One of three, by the number of a vertex.
fn nth(corners: Corners, vertex: u32) -> vec3<f32> {
    return select(select(corners.a, corners.b, vertex == 1u), corners.c, vertex == 2u);
}
