//! Rotation of a rigid body; the twin of `shaders/shared/rotation.wgsl`.

use glam::{DQuat, DVec4, IVec4, Vec3};

use crate::math::grid::{integer, integers};

/// A quaternion in scalars, of which the compiler makes vectors of many bodies; `glam`'s is a vector
/// by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quaternion {
    /// Vector part.
    pub xyz: Vec3,
    /// Scalar part.
    pub w: f32,
}

impl Quaternion {
    /// Unit quaternion for which a body's `orientation` stands.
    #[inline(always)]
    pub fn of(orientation: IVec4) -> Quaternion {
        Quaternion {
            xyz: orientation.truncate().as_vec3() * UNIT,
            w: orientation.w as f32 * UNIT,
        }
    }

    /// The opposite rotation, of a unit quaternion.
    #[inline(always)]
    pub fn conjugate(self) -> Quaternion {
        Quaternion {
            xyz: -self.xyz,
            w: self.w,
        }
    }

    /// `vector` turned, by a unit quaternion.
    #[inline(always)]
    pub fn rotate(self, vector: Vec3) -> Vec3 {
        let across = 2.0 * self.xyz.cross(vector);
        vector + self.w * across + self.xyz.cross(across)
    }

    /// This turn after another, of unit quaternions.
    #[inline(always)]
    pub fn times(self, other: Quaternion) -> Quaternion {
        Quaternion {
            xyz: self.w * other.xyz + other.w * self.xyz + self.xyz.cross(other.xyz),
            w: self.w * other.w - self.xyz.dot(other.xyz),
        }
    }

    /// The sum with `factor` times another.
    #[inline(always)]
    pub fn plus(self, factor: f32, other: Quaternion) -> Quaternion {
        Quaternion {
            xyz: self.xyz + factor * other.xyz,
            w: self.w + factor * other.w,
        }
    }

    #[inline(always)]
    fn length_squared(self) -> f32 {
        self.xyz.length_squared() + self.w * self.w
    }

    /// The quaternion of length 1 in its direction.
    #[inline(always)]
    pub fn normalize(self) -> Quaternion {
        let factor = 1.0 / self.length_squared().sqrt();
        Quaternion {
            xyz: factor * self.xyz,
            w: factor * self.w,
        }
    }
}

/// Angular velocity in the world frame, rad/s: ω = R I⁻¹ Rᵀ L.
///
/// A body with three equal moments, such as a sphere, has ω = L / I in any orientation; piles of
/// them are common, and the two rotations were a fifth of their time.
#[inline(always)]
pub fn angular_velocity(
    orientation: Quaternion,
    angular_momentum: Vec3,
    inverse_inertia: Vec3,
) -> Vec3 {
    if is_round(inverse_inertia) {
        return inverse_inertia.x * angular_momentum;
    }
    orientation.rotate(inverse_inertia * orientation.conjugate().rotate(angular_momentum))
}

/// Whether the three moments are equal.
#[inline(always)]
pub fn is_round(inverse_inertia: Vec3) -> bool {
    inverse_inertia.x == inverse_inertia.y && inverse_inertia.y == inverse_inertia.z
}

/// A body that turns farther than this in a step, rad, cannot be followed: the end of a simulation.
pub const MOST_TURN: f32 = 3.0;

/// The unit of a component of an orientation: 2⁻³⁰.
pub const UNIT: f32 = 1.0 / 1_073_741_824.0;

/// The `orientation` of a body for a unit quaternion.
pub fn orientation(quaternion: DQuat) -> IVec4 {
    (DVec4::from(quaternion.normalize()) / f64::from(UNIT))
        .round()
        .as_ivec4()
}

/// The change of the quaternion `q` by turning with the angular velocity `spin` (world frame, rad/s) for `time`.
///
/// The rotation's sine and cosine are Taylor polynomials, good to 1e-6 up to half a radian a step,
/// because those of WGSL may be wrong by 2^-11.
#[inline(always)]
fn turn(q: Quaternion, spin: Vec3, time: f32) -> Quaternion {
    let half = spin * (0.5 * time);
    let square = half.length_squared();
    let sine = 1.0 - square * (1.0 / 6.0 - square * (1.0 / 120.0));
    let cosine_less_1 = -square * (0.5 - square * (1.0 / 24.0));
    let turn = Quaternion {
        xyz: half * sine,
        w: cosine_less_1,
    };
    turn.times(q)
}

/// The orientation after one time step with constant angular momentum, and the angular velocity
/// with which it was reached.
///
/// The midpoint rule, second order: the angular velocity changes along with the orientation even
/// in free flight, and a first-order update loses the tumbling of an asymmetric body. `dither` is
/// where rounding to whole units starts to go up, see [`rounding`](crate::math::rounding).
///
/// With `ROUND`, all bodies are known to have three equal moments: the same result for less.
#[inline(always)]
pub fn advance<const ROUND: bool>(
    orientation: IVec4,
    angular_momentum: Vec3,
    inverse_inertia: Vec3,
    time_step: f32,
    dither: f32,
) -> (IVec4, Vec3) {
    let start = Quaternion::of(orientation);
    let spin = if ROUND {
        inverse_inertia.x * angular_momentum
    } else {
        let spin = angular_velocity(start, angular_momentum, inverse_inertia);
        let middle = start.plus(1.0, turn(start, spin, 0.5 * time_step));
        angular_velocity(middle.normalize(), angular_momentum, inverse_inertia)
    };
    // Back to unit length as it goes: to first order, which is exact for what one step does.
    let excess = start.length_squared() - 1.0;
    let change = turn(start, spin, time_step).plus(-0.5 * excess, start);
    let units = integers((change.xyz / UNIT + dither).floor());
    let change = units.extend(integer((change.w / UNIT + dither).floor()));
    (orientation.wrapping_add(change), spin)
}
