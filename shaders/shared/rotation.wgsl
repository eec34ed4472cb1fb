// Rotation of a rigid body; the twin of src/rotation.rs. Quaternions are x, y, z, w.

fn rotate(q: vec4<f32>, v: vec3<f32>) -> vec3<f32> {
    let twice = 2.0 * cross(q.xyz, v);
    return v + q.w * twice + cross(q.xyz, twice);
}

fn multiply(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(
        a.w * b.xyz + b.w * a.xyz + cross(a.xyz, b.xyz),
        a.w * b.w - dot(a.xyz, b.xyz),
    );
}

// Angular velocity in the world frame: R I^-1 R^T L.
fn angular_velocity(
    orientation: vec4<f32>,
    angular_momentum: vec3<f32>,
    inverse_inertia: vec3<f32>,
) -> vec3<f32> {
    let inverse = vec4<f32>(-orientation.xyz, orientation.w);
    return rotate(orientation, inverse_inertia * rotate(inverse, angular_momentum));
}

// Sine and cosine as polynomials: those of WGSL may be wrong by 2^-11.
fn turn(orientation: vec4<f32>, spin: vec3<f32>, time: f32) -> vec4<f32> {
    let half = spin * (0.5 * time);
    let square = dot(half, half);
    let sine = 1.0 - square * (1.0 / 6.0 - square * (1.0 / 120.0));
    let cosine = 1.0 - square * (0.5 - square * (1.0 / 24.0));
    return normalize(multiply(vec4<f32>(half * sine, cosine), orientation));
}

struct Turned {
    orientation: vec4<f32>,
    spin: vec3<f32>,
}

// The midpoint rule, second order in the time step.
fn advance(
    orientation: vec4<f32>,
    angular_momentum: vec3<f32>,
    inverse_inertia: vec3<f32>,
    time_step: f32,
) -> Turned {
    let start = angular_velocity(orientation, angular_momentum, inverse_inertia);
    let middle = turn(orientation, start, 0.5 * time_step);
    let spin = angular_velocity(middle, angular_momentum, inverse_inertia);
    return Turned(turn(orientation, spin, time_step), spin);
}
