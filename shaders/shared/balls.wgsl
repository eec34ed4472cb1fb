// Spheres derived from their bodies, in a scene whose bodies are all balls. This file takes the place of
// shared/spheres.wgsl: then `spheres` need not be written in each step. What imports this knows `params`.
//
// The bits are those of `posed`: the centre of a ball is that of its body, and both turn alike.

@group(0) @binding(5) var<storage, read> bodies: array<Body>;
@group(0) @binding(63) var<uniform> balls: array<BallKind, MAX_KINDS>;

fn sphere_at(index: u32) -> Sphere {
    let body = bodies[index];
    let ball = balls[body.kind];
    let center = metres(body.offset, params.cell_size);
    // An offset that has been rounded to the end of its cell is in the next one.
    let over = center >= params.cell_size;
    let cell = body.cell + select(vec3<i32>(0), vec3<i32>(1), over);
    var inverse_mass = ball.inverse_mass;
    if LAW == IMPULSE && inverse_mass > 0.0 {
        inverse_mass = shares_of(body.still, ball.landing) * (inverse_mass + ball.turning);
    }
    return Sphere(
        select(center, vec3<f32>(0.0), over),
        ball.radius,
        // A cell behind the last one of a periodic box is its first; along other axes the period is 0.
        select(cell, vec3<i32>(0), cell == period_of(params)),
        index,
        body.velocity,
        inverse_mass,
        ball.inverse_inertia * body.angular_momentum,
        // Whether it is fast, only those ask that build lists.
        ball.tags | (body.still & ASLEEP),
    );
}
