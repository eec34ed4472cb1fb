//! Walls that move under load: where they are depends on what touches them.
//!
//! The engines move them in the pass `integrate`, by the rules that bodies have; see
//! [`DynamicWall`](crate::state::layout::DynamicWall).

use glam::{DQuat, DVec3};

/// How a wall moves under load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dynamic {
    /// As a rigid body: forces move it.
    Body(RigidWall),
    /// So that it presses with the force that is wanted.
    Servo(Servo),
}

/// A wall that is a rigid body, whose centre of mass is the wall's position; with a mass it moves, with
/// moments of inertia it turns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RigidWall {
    /// kg; without one, its position stays.
    pub mass: Option<f64>,
    /// Unit vector: rails, along which alone it moves.
    pub rail: Option<DVec3>,
    /// Principal moments of inertia about its own axes, kg m²; without them, its orientation stays.
    pub moments: Option<DVec3>,
    /// Unit vector: an axle through its position, about which alone it turns.
    pub axle: Option<DVec3>,
    /// Force on it besides gravity and contacts, N.
    pub force: DVec3,
    /// Torque on it besides that of contacts, N m.
    pub torque: DVec3,
    /// At the start, m/s.
    pub velocity: DVec3,
    /// At the start, rad/s.
    pub angular_velocity: DVec3,
}

/// A wall that is pressed against bodies: its speed is `max_speed` times the part of the force that is
/// missing, and so no larger; pressed too hard, it goes back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Servo {
    /// Unit vector along which it presses and moves.
    pub direction: DVec3,
    /// Force that bodies bear, N.
    pub force: f64,
    /// m/s.
    pub max_speed: f64,
    /// When it starts to press, s; the wall stands still before.
    pub start: f64,
    /// When it ends, s; the wall stands still from then on.
    pub end: f64,
}

impl Servo {
    /// Whether it presses in the step after so many, each of `time_step`, s.
    pub(crate) fn presses(&self, steps: u64, time_step: f64) -> bool {
        let [start, end] = self.turns(time_step);
        (start..end).contains(&steps)
    }

    /// The numbers of steps after which it starts and ends.
    pub(crate) fn turns(&self, time_step: f64) -> [u64; 2] {
        [self.start, self.end].map(|time| (time / time_step).round() as u64)
    }
}

impl RigidWall {
    /// Moments of inertia for a wall with the given orientation at the start, kg m²: about an axle, the same
    /// about any axis, since only that one counts.
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
    /// The speed that it has at the start, or never exceeds, m/s.
    pub(crate) fn speed(&self, reach: f64) -> f64 {
        match self {
            Dynamic::Body(body) => {
                let turning = match body.moments {
                    Some(_) => body.angular_velocity.length() * reach,
                    None => 0.0,
                };
                body.velocity.length() + turning
            }
            Dynamic::Servo(servo) => servo.max_speed,
        }
    }

    /// Whether something besides gravity and contacts does work on it.
    pub(crate) fn is_driven(&self) -> bool {
        match self {
            Dynamic::Body(body) => body.force != DVec3::ZERO || body.torque != DVec3::ZERO,
            Dynamic::Servo(_) => true,
        }
    }
}
