//! Rotation of a rigid body; the twin of `shaders/shared/rotation.wgsl`.

use glam::{Quat, Vec3};

/// Angular velocity in the world frame, rad/s: ω = R I⁻¹ Rᵀ L.
pub fn angular_velocity(orientation: Quat, angular_momentum: Vec3, inverse_inertia: Vec3) -> Vec3 {
    orientation * (inverse_inertia * (orientation.conjugate() * angular_momentum))
}

/// The orientation after turning with the angular velocity `spin` (world frame, rad/s) for `time`.
///
/// The rotation's sine and cosine are Taylor polynomials, good to 1e-6 up to half a radian a step,
/// because those of WGSL may be wrong by 2^-11.
pub fn turn(orientation: Quat, spin: Vec3, time: f32) -> Quat {
    let half = spin * (0.5 * time);
    let square = half.length_squared();
    let sine = 1.0 - square * (1.0 / 6.0 - square * (1.0 / 120.0));
    let cosine = 1.0 - square * (0.5 - square * (1.0 / 24.0));
    let rotation = Quat::from_vec4((half * sine).extend(cosine));
    (rotation * orientation).normalize()
}

/// The orientation after one time step with constant angular momentum, and the angular velocity
/// with which it was reached.
///
/// The midpoint rule, second order: the angular velocity changes along with the orientation even
/// in free flight, and a first-order update loses the tumbling of an asymmetric body.
pub fn advance(
    orientation: Quat,
    angular_momentum: Vec3,
    inverse_inertia: Vec3,
    time_step: f32,
) -> (Quat, Vec3) {
    let start = angular_velocity(orientation, angular_momentum, inverse_inertia);
    let middle = turn(orientation, start, 0.5 * time_step);
    let spin = angular_velocity(middle, angular_momentum, inverse_inertia);
    (turn(orientation, spin, time_step), spin)
}
