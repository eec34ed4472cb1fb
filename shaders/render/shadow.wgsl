// import: layout, grid, rotation, render/view, render/ball, render/wall

// What the light sees: only depths.

struct BallVertex {
    @builtin(position) position: vec4<f32>,
    // Place in the disc of the sphere, whose radius is 1.
    @location(0) place: vec2<f32>,
    @location(1) @interpolate(flat) center: vec3<f32>,
    @location(2) @interpolate(flat) radius: f32,
}

// The spheres that are drawn, where not all are (hidden.wgsl).
@group(0) @binding(62) var<storage, read> listed: array<u32>;

@vertex
fn shadow_ball(@builtin(vertex_index) vertex: u32) -> BallVertex {
    return around_ball(vertex / 3u, vertex % 3u);
}

@vertex
fn shadow_listed_ball(@builtin(vertex_index) vertex: u32) -> BallVertex {
    return around_ball(listed[vertex / 3u], vertex % 3u);
}

fn around_ball(index: u32, vertex: u32) -> BallVertex {
    let ball = ball_at(index);
    let place = corner_around(vertex);
    let middle = in_shadow_map(ball.center);
    let size = ball.radius / view.shadow_radius;
    var out: BallVertex;
    out.position = vec4<f32>(middle.xy + place * size, middle.z, 1.0);
    out.place = place;
    out.center = ball.center;
    out.radius = ball.radius;
    return out;
}

@fragment
fn shadow_ball_at(in: BallVertex) -> @builtin(frag_depth) f32 {
    let rest = 1.0 - dot(in.place, in.place);
    if rest < 0.0 {
        discard;
    }
    // How much nearer to the light than its centre the sphere's foremost point is, or that of what is left of it, m.
    let half = in.radius * sqrt(rest);
    var nearer = half;
    let aside = in.radius * (in.place.x * view.light_right + in.place.y * view.light_up);
    let front = in.center + aside + half * view.to_light;
    let out = dot(view.clip.xyz, front) - view.clip.w;
    if out > 0.0 {
        nearer = half - out / max(dot(view.clip.xyz, view.to_light), 1e-20);
        if nearer <= -half {
            discard;
        }
    }
    return in.position.z - 0.5 * nearer / view.shadow_depth;
}

struct TriangleVertex {
    @builtin(position) position: vec4<f32>,
    @location(0) place: vec3<f32>,
}

@vertex
fn shadow_triangle(
    @builtin(vertex_index) vertex: u32,
    @builtin(instance_index) index: u32,
) -> TriangleVertex {
    let triangle = triangles[index];
    let corners = corners_at(triangle);
    let place = nth(corners, vertex);
    // Light falls into a vessel as looks do.
    if drawn_as(across(corners), corners.a, triangle.side, triangle.wall, view.to_light) != SOLID {
        return TriangleVertex(vec4<f32>(0.0, 0.0, 0.0, 1.0), place);
    }
    let there = in_shadow_map(place);
    return TriangleVertex(vec4<f32>(there.xy, clamp(there.z, 0.0, 1.0), 1.0), place);
}

@fragment
fn shadow_triangle_at(in: TriangleVertex) -> @builtin(frag_depth) f32 {
    if is_cut(in.place) {
        discard;
    }
    return in.position.z;
}
