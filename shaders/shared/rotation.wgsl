// Rotation of a rigid body; the twin of src/math/rotation.rs. Quaternions are x, y, z, w.

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
    if inverse_inertia.x == inverse_inertia.y && inverse_inertia.y == inverse_inertia.z {
        return inverse_inertia.x * angular_momentum;
    }
    let inverse = vec4<f32>(-orientation.xyz, orientation.w);
    return rotate(orientation, inverse_inertia * rotate(inverse, angular_momentum));
}

// The unit of a component of an orientation: 2^-30.
const UNIT: f32 = 1.0 / 1073741824.0;

// The quaternion that a body's orientation stands for.
fn quaternion(orientation: vec4<i32>) -> vec4<f32> {
    return vec4<f32>(orientation) * UNIT;
}

// What turning for `time` adds to the quaternion `q`. Sine and cosine as polynomials: those of WGSL
// may be wrong by 2^-11.
fn turn(q: vec4<f32>, spin: vec3<f32>, time: f32) -> vec4<f32> {
    let half = spin * (0.5 * time);
    let square = dot(half, half);
    let sine = 1.0 - square * (1.0 / 6.0 - square * (1.0 / 120.0));
    let cosine_less_1 = -square * (0.5 - square * (1.0 / 24.0));
    return multiply(vec4<f32>(half * sine, cosine_less_1), q);
}

struct Turned {
    orientation: vec4<i32>,
    spin: vec3<f32>,
}

// The midpoint rule, second order in the time step.
fn advance(
    orientation: vec4<i32>,
    angular_momentum: vec3<f32>,
    inverse_inertia: vec3<f32>,
    time_step: f32,
    dither: f32,
) -> Turned {
    let start = quaternion(orientation);
    let first = angular_velocity(start, angular_momentum, inverse_inertia);
    let middle = normalize(start + turn(start, first, 0.5 * time_step));
    let spin = angular_velocity(middle, angular_momentum, inverse_inertia);
    // Back to unit length as it goes: to first order, which is exact for what one step does.
    let excess = dot(start, start) - 1.0;
    let change = turn(start, spin, time_step) - 0.5 * excess * start;
    return Turned(orientation + vec4<i32>(floor(change / UNIT + dither)), spin);
}
