// import: layout, grid, rotation, render/view, render/ball, render/wall

// What each sample of the picture shows that hides what is behind it, and how far away it is. Surfaces are coloured later, once
// for each sample (shade.wgsl).

struct Fragment {
    @location(0) thing: u32,
    @builtin(frag_depth) depth: f32,
}

struct BallVertex {
    @builtin(position) position: vec4<f32>,
    @location(0) @interpolate(flat) center: vec3<f32>,
    @location(1) @interpolate(flat) radius: f32,
    @location(2) @interpolate(flat) index: u32,
}

// The spheres that are drawn, where not all are (hidden.wgsl).
@group(0) @binding(62) var<storage, read> listed: array<u32>;

@vertex
fn visible_ball(@builtin(vertex_index) vertex: u32) -> BallVertex {
    return around_ball(vertex / 3u, vertex % 3u);
}

@vertex
fn visible_listed_ball(@builtin(vertex_index) vertex: u32) -> BallVertex {
    return around_ball(listed[vertex / 3u], vertex % 3u);
}

// A triangle across the line of sight through the centre, around a circle as large as the cone of rays that touch the
// sphere is there: r d / sqrt(d^2 - r^2), where d is the distance of the centre.
fn around_ball(index: u32, vertex: u32) -> BallVertex {
    let ball = ball_at(index);
    let distance_squared = dot(ball.center, ball.center);
    let rest = distance_squared - ball.radius * ball.radius;
    var out: BallVertex;
    if rest <= 0.0 {
        // The camera is inside: nothing is drawn.
        out.position = vec4<f32>(0.0, 0.0, 0.0, 1.0);
        return out;
    }
    let across = tangents(ball.center / sqrt(distance_squared));
    let half = ball.radius * sqrt(distance_squared / rest) * corner_around(vertex);
    out.position = project(ball.center + half.x * across.first + half.y * across.second);
    out.center = ball.center;
    out.radius = ball.radius;
    out.index = index;
    return out;
}

@fragment
fn visible_ball_at(in: BallVertex) -> Fragment {
    // Not from the corners of the triangle, which a device may round to sixteenths of a pixel.
    let way = normalize(ray(in.position.xy));
    let distance = meet(way, in.center, in.radius);
    if distance < 0.0 {
        discard;
    }
    let depth = view.near / (distance * dot(way, view.forward));
    return Fragment((A_SPHERE << KIND_SHIFT) | in.index, depth);
}

struct PlaneVertex {
    @builtin(position) position: vec4<f32>,
    @location(0) way: vec3<f32>,
    @location(1) @interpolate(flat) index: u32,
}

@vertex
fn visible_plane(
    @builtin(vertex_index) vertex: u32,
    @builtin(instance_index) index: u32,
) -> PlaneVertex {
    let plane = planes_here[index];
    var out: PlaneVertex;
    out.index = index;
    if !faces_camera(plane) || wall_looks[planes[index].wall].w < 1.0 {
        out.position = vec4<f32>(0.0, 0.0, 0.0, 1.0);
        return out;
    }
    out.way = plane_corner(plane, vertex);
    out.position = project(out.way);
    return out;
}

@fragment
fn visible_plane_at(in: PlaneVertex) -> Fragment {
    if is_behind_a_plane(in.way) {
        discard;
    }
    return Fragment((A_PLANE << KIND_SHIFT) | in.index, view.near / dot(in.way, view.forward));
}

struct TriangleVertex {
    @builtin(position) position: vec4<f32>,
    @location(0) way: vec3<f32>,
    @location(1) @interpolate(flat) index: u32,
}

@vertex
fn visible_triangle(
    @builtin(vertex_index) vertex: u32,
    @builtin(instance_index) index: u32,
) -> TriangleVertex {
    let triangle = triangles[index];
    let corners = corners_at(triangle);
    var out: TriangleVertex;
    out.index = index;
    if drawn_as(across(corners), corners.a, triangle.side, triangle.wall, -corners.a) != SOLID {
        out.position = vec4<f32>(0.0, 0.0, 0.0, 1.0);
        return out;
    }
    out.way = nth(corners, vertex);
    out.position = project(out.way);
    return out;
}

@fragment
fn visible_triangle_at(in: TriangleVertex) -> Fragment {
    if is_cut(in.way) {
        discard;
    }
    return Fragment((A_TRIANGLE << KIND_SHIFT) | in.index, view.near / dot(in.way, view.forward));
}
