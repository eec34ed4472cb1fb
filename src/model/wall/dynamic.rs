//! Dynamic walls: forces move them.
//!
//! The engines move them in the pass `integrate`, by the same rules as bodies; see
//! [`DynamicWall`](crate::state::layout::DynamicWall).

use glam::{DQuat, DVec3};

use super::Motion;
use crate::model::steps::StepTimes;

/// Drive of a dynamic wall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dynamic {
    /// The wall is a rigid body.
    Body(RigidWall),
    /// A servo presses the wall against bodies.
    Servo(Servo),
}

/// A wall that is a rigid body, with its centre of mass at the wall's position.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RigidWall {
    /// Mass, kg; without a mass its position stays.
    pub mass: Option<f64>,
    /// Unit vector along rails; the wall moves only along them. `None` lets it move freely.
    pub rail: Option<DVec3>,
    /// Principal moments of inertia about its own axes, kg m²; without them its orientation stays.
    pub moments: Option<DVec3>,
    /// Unit vector along an axle through its position; the wall turns only about it. `None` lets it turn freely.
    pub axle: Option<DVec3>,
    /// Force on the wall besides gravity and contacts, N.
    pub force: DVec3,
    /// Torque on the wall besides that of contacts, N m.
    pub torque: DVec3,
    /// Velocity at the start, m/s.
    pub velocity: DVec3,
    /// Angular velocity at the start, rad/s.
    pub angular_velocity: DVec3,
}

/// A servo, which presses a wall against bodies with a wanted force.
///
/// The speed of the wall is `max_speed` times the missing fraction of the force. If the force is too large, the wall goes back,
/// at most with the same speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Servo {
    /// Unit vector along which the wall presses and moves.
    pub direction: DVec3,
    /// Wanted force on the bodies, N.
    pub force: f64,
    /// Largest speed, m/s.
    pub max_speed: f64,
    /// Time when the servo starts, s; the wall stands still before.
    pub start: f64,
    /// Time when the servo ends, s; the wall stands still from then on.
    pub end: f64,
    /// Motion of the wall besides that of the servo.
    pub drift: Option<Drift>,
}

/// A steady motion of a wall while a servo presses it, such as the shear of a loaded lid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Velocity across the direction of the servo, m/s.
    pub velocity: DVec3,
    /// Angular velocity about the wall's position, rad/s.
    pub angular_velocity: DVec3,
    /// Time when it starts, s.
    pub start: f64,
    /// Time when it ends, s.
    pub end: f64,
}

impl Drift {
    /// Whether the wall turns.
    pub(crate) fn turns(&self) -> bool {
        self.angular_velocity != DVec3::ZERO
    }

    /// The steady part of a motion.
    pub(crate) fn of(motion: &Motion) -> Drift {
        let rotation = motion.rotation.as_ref();
        Drift {
            velocity: motion.velocity,
            angular_velocity: rotation.map_or(DVec3::ZERO, |own| own.speed * own.axis),
            start: motion.start,
            end: motion.end,
        }
    }
}

impl Servo {
    /// Largest speed (m/s) of the servo, velocity (m/s) and angular velocity (rad/s) besides it, in the step after `steps` steps.
    pub(crate) fn drive(&self, steps: u64, times: StepTimes) -> (f64, DVec3, DVec3) {
        let is_on = |ends: [f64; 2]| {
            let [start, end] = ends.map(|time| times.nearest(time));
            (start..end).contains(&steps)
        };
        let speed = match is_on([self.start, self.end]) {
            true => self.max_speed,
            false => 0.0,
        };
        let drift = self.drift.filter(|drift| is_on([drift.start, drift.end]));
        let (velocity, spin) = drift.map_or_else(Default::default, |drift| {
            (drift.velocity, drift.angular_velocity)
        });
        (speed, velocity, spin)
    }

    /// Numbers of steps after which its drive changes.
    pub(crate) fn turns(&self, times: StepTimes) -> impl Iterator<Item = u64> + use<> {
        let of_drift = self.drift.map(|drift| [drift.start, drift.end]);
        let ends = [self.start, self.end].into_iter();
        let ends = ends.chain(of_drift.into_iter().flatten());
        ends.map(move |time| times.nearest(time))
    }
}

impl RigidWall {
    /// Moments of inertia (kg m²) of a wall with the given orientation at the start; `None` if it does not turn.
    ///
    /// With an axle all three are equal to the moment about the axle, because no other counts.
    pub(crate) fn inertia_in(&self, orientation: DQuat) -> Option<DVec3> {
        let moments = self.moments?;
        Some(match self.axle {
            Some(axle) => {
                let own = orientation.conjugate() * axle;
                DVec3::splat((moments * own).dot(own))
            }
            None => moments,
        })
    }
}

impl Dynamic {
    /// The speed of a rigid wall at the start, or the largest speed of a servo, m/s.
    ///
    /// `reach` (m) is the largest distance of a point of the wall from its origin.
    pub(crate) fn speed(&self, reach: f64) -> f64 {
        match self {
            Dynamic::Body(body) => {
                let turning = match body.moments {
                    Some(_) => body.angular_velocity.length() * reach,
                    None => 0.0,
                };
                body.velocity.length() + turning
            }
            Dynamic::Servo(servo) => {
                let drift = servo.drift.map_or(0.0, |drift| {
                    let turning = match drift.turns() {
                        true => drift.angular_velocity.length() * reach,
                        false => 0.0,
                    };
                    drift.velocity.length() + turning
                });
                servo.max_speed + drift
            }
        }
    }

    /// Whether something besides gravity and contacts does work on the wall.
    pub(crate) fn is_driven(&self) -> bool {
        match self {
            Dynamic::Body(body) => body.force != DVec3::ZERO || body.torque != DVec3::ZERO,
            Dynamic::Servo(_) => true,
        }
    }
}
