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
    normal_a: vec3<f32>,
    normal_b: vec3<f32>,
    normal_c: vec3<f32>,
}

@group(0) @binding(3) var<uniform> walls: array<Wall, MAX_WALLS>;
@group(0) @binding(42) var<storage, read> planes: array<Plane>;
@group(0) @binding(43) var<storage, read> triangles: array<Triangle>;

struct PlaneHere {
    // A point of it, from the camera, m.
    point: vec3<f32>,
    normal: vec3<f32>,
}

fn plane_at(index: u32) -> PlaneHere {
    let plane = planes[index];
    let wall = walls[plane.wall];
    return PlaneHere(
        from_camera(wall.cell, wall.offset, params),
        rotate(wall.orientation, plane.normal),
    );
}

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

// Whether a triangle is drawn that is looked at along `way`: from the sides that bodies touch. So a vessel
// is open to the viewer.
fn is_shown(corners: Corners, side: u32, way: vec3<f32>) -> bool {
    let normal = cross(corners.b - corners.a, corners.c - corners.a);
    let from_front = dot(normal, way) < 0.0;
    return side == BOTH_SIDES || (side == FRONT) == from_front;
}

// One of three, by the number of a vertex.
fn nth(corners: Corners, vertex: u32) -> vec3<f32> {
    return select(select(corners.a, corners.b, vertex == 1u), corners.c, vertex == 2u);
}
