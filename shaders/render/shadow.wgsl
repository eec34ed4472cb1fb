// import: layout, grid, rotation, render/view, render/ball, render/wall

// What the light sees: only depths.

struct BallVertex {
    @builtin(position) position: vec4<f32>,
    // Place in the disc of the sphere, from -1 to 1.
    @location(0) place: vec2<f32>,
    // How much nearer to the light the sphere's foremost point is than its centre, as a depth.
    @location(1) @interpolate(flat) bulge: f32,
}

@vertex
fn shadow_ball(
    @builtin(vertex_index) vertex: u32,
    @builtin(instance_index) index: u32,
) -> BallVertex {
    let ball = ball_at(index);
    let place = corner(vertex);
    let middle = in_shadow_map(ball.center);
    let size = ball.radius / view.shadow_radius;
    var out: BallVertex;
    out.position = vec4<f32>(middle.xy + place * size, middle.z, 1.0);
    out.place = place;
    out.bulge = 0.5 * ball.radius / view.shadow_depth;
    return out;
}

@fragment
fn shadow_ball_at(in: BallVertex) -> @builtin(frag_depth) f32 {
    let rest = 1.0 - dot(in.place, in.place);
    if rest < 0.0 {
        discard;
    }
    return in.position.z - in.bulge * sqrt(rest);
}

@vertex
fn shadow_triangle(
    @builtin(vertex_index) vertex: u32,
    @builtin(instance_index) index: u32,
) -> @builtin(position) vec4<f32> {
    let triangle = triangles[index];
    let corners = corners_at(triangle);
    if !is_shown(corners, triangle.side, -view.to_light) {
        return vec4<f32>(0.0, 0.0, 0.0, 1.0);
    }
    let place = in_shadow_map(nth(corners, vertex));
    return vec4<f32>(place.xy, clamp(place.z, 0.0, 1.0), 1.0);
}

@fragment
fn shadow_triangle_at(@builtin(position) position: vec4<f32>) -> @builtin(frag_depth) f32 {
    return position.z;
}
