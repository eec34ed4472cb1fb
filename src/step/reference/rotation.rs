//! Rotation of a rigid body; the twin of `shaders/shared/rotation.wgsl`.

use glam::DQuat;

use super::real::Real;
use super::vector::Vector;

/// A quaternion.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quaternion<R> {
    /// Vector part.
    pub xyz: Vector<R>,
    /// Scalar part.
    pub w: R,
}

/// A body's orientation: the quaternion, as a run adds it up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Orientation<R: Real>(pub [R::Turn; 4]);

impl<R: Real> Orientation<R> {
    pub fn quaternion(self) -> Quaternion<R> {
        let [x, y, z, w] = self.0.map(R::component);
        Quaternion {
            xyz: Vector::new(x, y, z),
            w,
        }
    }
}

impl<R: Real> Quaternion<R> {
    pub fn of(quaternion: DQuat) -> Quaternion<R> {
        Quaternion {
            xyz: Vector::of(quaternion.xyz()),
            w: R::of(quaternion.w),
        }
    }

    /// The opposite rotation, of a unit quaternion.
    pub fn conjugate(self) -> Quaternion<R> {
        Quaternion {
            xyz: -self.xyz,
            w: self.w,
        }
    }

    /// `vector` turned, by a unit quaternion.
    pub fn rotate(self, vector: Vector<R>) -> Vector<R> {
        let twice = self.xyz.cross(vector) * R::of(2.0);
        vector + twice * self.w + self.xyz.cross(twice)
    }

    pub fn times(self, other: Quaternion<R>) -> Quaternion<R> {
        Quaternion {
            xyz: other.xyz * self.w + self.xyz * other.w + self.xyz.cross(other.xyz),
            w: self.w * other.w - self.xyz.dot(other.xyz),
        }
    }

    /// The sum with `factor` times another.
    pub fn plus(self, factor: R, other: Quaternion<R>) -> Quaternion<R> {
        Quaternion {
            xyz: self.xyz + other.xyz * factor,
            w: self.w + other.w * factor,
        }
    }

    fn square(self) -> R {
        self.xyz.square() + self.w * self.w
    }

    pub fn normalize(self) -> Quaternion<R> {
        let factor = R::ONE / self.square().sqrt();
        Quaternion {
            xyz: self.xyz * factor,
            w: self.w * factor,
        }
    }
}

/// Angular velocity in the world frame, rad/s: R I⁻¹ Rᵀ L.
pub fn angular_velocity<R: Real>(
    orientation: Quaternion<R>,
    angular_momentum: Vector<R>,
    inverse_inertia: Vector<R>,
) -> Vector<R> {
    if inverse_inertia == Vector::splat(inverse_inertia.x) {
        return angular_momentum * inverse_inertia.x;
    }
    orientation.rotate(inverse_inertia * orientation.conjugate().rotate(angular_momentum))
}

/// The change of the quaternion `q` by turning for `time`.
fn turn<R: Real>(q: Quaternion<R>, spin: Vector<R>, time: R) -> Quaternion<R> {
    let [one, half, sixth, twenty_fourth, hundred_twentieth] =
        [1.0, 2.0, 6.0, 24.0, 120.0].map(|number| R::ONE / R::of(number));
    let way = spin * (half * time);
    let square = way.square();
    let sine = one - square * (sixth - square * hundred_twentieth);
    let cosine_less_1 = -square * (half - square * twenty_fourth);
    let turn = Quaternion {
        xyz: way * sine,
        w: cosine_less_1,
    };
    turn.times(q)
}

/// The orientation after one time step, by the midpoint rule, second order; and the angular velocity with which it
/// was reached.
pub fn advance<R: Real>(
    orientation: Orientation<R>,
    angular_momentum: Vector<R>,
    inverse_inertia: Vector<R>,
    time_step: R,
    dither: R,
) -> (Orientation<R>, Vector<R>) {
    let start = orientation.quaternion();
    let first = angular_velocity(start, angular_momentum, inverse_inertia);
    let middle = start.plus(R::ONE, turn(start, first, R::of(0.5) * time_step));
    let spin = angular_velocity(middle.normalize(), angular_momentum, inverse_inertia);
    // Back to unit length as it goes: to first order, which is exact for what one step does.
    let excess = start.square() - R::ONE;
    let change = turn(start, spin, time_step).plus(R::of(-0.5) * excess, start);
    let [x, y, z, w] = orientation.0;
    let turned = |turn, change| R::turned(turn, change, dither);
    let orientation = [
        turned(x, change.xyz.x),
        turned(y, change.xyz.y),
        turned(z, change.xyz.z),
        turned(w, change.w),
    ];
    (Orientation(orientation), spin)
}
