//! Motion of kinematic walls: their pose over time, whatever pushes them.
//!
//! The host computes it in `f64` from the time alone. So a wall is where it should be after any number of steps, to the bit the
//! same on either engine.

use glam::{DQuat, DVec3};

use super::Pose;

/// Motion of a kinematic wall. The rotation comes first, then velocity and swings shift the wall.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Motion {
    /// Constant velocity, m/s.
    pub velocity: DVec3,
    /// Swings to and fro, which add up.
    pub swings: Vec<Swing>,
    /// Rotation about an axis.
    pub rotation: Option<Rotation>,
    /// Poses that the wall goes through, in the order of time. They take the place of the pose at the start.
    pub keys: Vec<Key>,
    /// Time when velocity, swings and rotation start, s.
    pub start: f64,
    /// Time when velocity, swings and rotation end, s.
    pub end: f64,
}

/// A swing to and fro: the amplitude times sin(2 pi f t + phase), less its value at t = 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swing {
    /// Amplitude, m.
    pub amplitude: DVec3,
    /// Frequency f, 1/s.
    pub frequency: f64,
    /// Phase, rad.
    pub phase: f64,
    /// Time in which the amplitude grows linearly from 0, s.
    pub ramp: f64,
}

/// Rotation about a fixed axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotation {
    /// Unit vector along the axis.
    pub axis: DVec3,
    /// A point of the axis, m.
    pub center: DVec3,
    /// Angular speed, rad/s.
    pub speed: f64,
    /// Time in which the angular speed and the amplitude of the rocking grow linearly from 0, s.
    pub ramp: f64,
    /// Amplitude of a rocking to and fro besides the angular speed, rad.
    pub amplitude: f64,
    /// Frequency of the rocking, 1/s.
    pub frequency: f64,
    /// Phase of the rocking, rad.
    pub phase: f64,
}

/// A pose at a time. Between two keys a wall moves and turns at constant velocities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// Time, s.
    pub time: f64,
    /// Pose at that time.
    pub pose: Pose,
}

/// A pose with its velocities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moving {
    /// Pose.
    pub pose: Pose,
    /// Velocity of the origin, m/s.
    pub velocity: DVec3,
    /// Angular velocity, rad/s.
    pub angular_velocity: DVec3,
}

impl Moving {
    /// A pose at rest.
    pub(crate) fn still(pose: Pose) -> Moving {
        Moving {
            pose,
            velocity: DVec3::ZERO,
            angular_velocity: DVec3::ZERO,
        }
    }
}

impl Motion {
    /// The motion of a wall at rest that may move later.
    pub fn at_rest() -> Motion {
        Motion {
            end: f64::INFINITY,
            ..Motion::default()
        }
    }

    /// Pose and velocities at `time` (s) of a wall with the pose `start` at the start.
    pub fn at(&self, start: &Pose, time: f64) -> Moving {
        let mut moving = self.between_keys(start, time);
        let moves = (self.start..self.end).contains(&time);
        let time = time.clamp(self.start, self.end) - self.start;
        if let Some(rotation) = &self.rotation {
            let (angle, speed) = rotation.at(time);
            let turn = quaternion(rotation.axis, angle);
            let arm = turn * (moving.pose.position - rotation.center);
            moving.pose.position = rotation.center + arm;
            moving.pose.orientation = (turn * moving.pose.orientation).normalize();
            moving.velocity = turn * moving.velocity;
            moving.angular_velocity = turn * moving.angular_velocity;
            if moves {
                let spin = speed * rotation.axis;
                moving.velocity += spin.cross(arm);
                moving.angular_velocity += spin;
            }
        }
        moving.pose.position += self.velocity * time;
        if moves {
            moving.velocity += self.velocity;
        }
        for swing in &self.swings {
            let (part, speed) = swing.at(time);
            moving.pose.position += part * swing.amplitude;
            if moves {
                moving.velocity += speed * swing.amplitude;
            }
        }
        moving
    }

    /// Estimate of the largest speed of a point within `reach` (m) of the origin of a wall, m/s.
    ///
    /// `start` is the pose of the wall at the start. The estimate adds up the largest speeds of all parts of the motion. A point
    /// may be faster during a ramp, or if keys take the wall farther from the axis of its rotation.
    pub(crate) fn top_speed(&self, start: &Pose, reach: f64) -> f64 {
        let rate = |frequency: f64| std::f64::consts::TAU * frequency;
        let turning = self.rotation.map_or(0.0, |rotation| {
            let rocking = rotation.amplitude.abs() * rate(rotation.frequency);
            let arm = start.position - rotation.center;
            let across = (arm - arm.dot(rotation.axis) * rotation.axis).length();
            // An endless wall may turn only about its own axis.
            let reach = if reach.is_finite() { reach } else { 0.0 };
            (rotation.speed.abs() + rocking) * (across + reach)
        });
        let swings = self.swings.iter();
        let swinging: f64 = swings
            .map(|swing| swing.amplitude.length() * rate(swing.frequency))
            .sum();
        let between = |pair: &[Key]| {
            let moving = self.between_keys(start, pair[0].time);
            let turning = moving.angular_velocity.length() * reach.min(f64::MAX);
            moving.velocity.length() + if turning > 0.0 { turning } else { 0.0 }
        };
        let keyed = self.keys.windows(2).map(between).fold(0.0, f64::max);
        self.velocity.length() + turning + swinging + keyed
    }

    /// Pose and velocities that the keys give at `time` (s); at rest before the first and after the last key.
    fn between_keys(&self, start: &Pose, time: f64) -> Moving {
        let after = self.keys.partition_point(|key| key.time <= time);
        let (Some(from), Some(to)) = (
            after.checked_sub(1).map(|index| &self.keys[index]),
            self.keys.get(after),
        ) else {
            let at_rest = if after == 0 {
                self.keys.first()
            } else {
                self.keys.last()
            };
            return Moving::still(at_rest.map_or(*start, |key| key.pose));
        };
        let length = to.time - from.time;
        let part = (time - from.time) / length;
        let shift = to.pose.position - from.pose.position;
        let (axis, angle) = axis_angle(to.pose.orientation * from.pose.orientation.conjugate());
        Moving {
            pose: Pose {
                position: from.pose.position + part * shift,
                orientation: (quaternion(axis, part * angle) * from.pose.orientation).normalize(),
            },
            velocity: shift / length,
            angular_velocity: angle / length * axis,
        }
    }
}

impl Swing {
    /// Displacement over the amplitude, and its rate of change (1/s), at the time `time` (s) after the start of the motion.
    fn at(&self, time: f64) -> (f64, f64) {
        let rate = std::f64::consts::TAU * self.frequency;
        let (sine, cosine) = (
            libm::sin(rate * time + self.phase),
            rate * libm::cos(rate * time + self.phase),
        );
        let part = sine - libm::sin(self.phase);
        if time < self.ramp {
            let grown = time / self.ramp;
            (grown * part, grown * cosine + part / self.ramp)
        } else {
            (part, cosine)
        }
    }
}

impl Rotation {
    /// Angle (rad) and angular speed (rad/s) at the time `time` (s) after the start of the motion.
    fn at(&self, time: f64) -> (f64, f64) {
        let (angle, speed) = if time < self.ramp {
            let grown = time / self.ramp;
            (0.5 * grown * self.speed * time, grown * self.speed)
        } else {
            (self.speed * (time - 0.5 * self.ramp), self.speed)
        };
        let rocking = Swing {
            amplitude: DVec3::ZERO,
            frequency: self.frequency,
            phase: self.phase,
            ramp: self.ramp,
        };
        let (part, change) = rocking.at(time);
        (
            angle + self.amplitude * part,
            speed + self.amplitude * change,
        )
    }
}

/// The rotation about a unit vector by an angle (rad).
pub(crate) fn quaternion(axis: DVec3, angle: f64) -> DQuat {
    let half = 0.5 * angle;
    DQuat::from_vec4((libm::sin(half) * axis).extend(libm::cos(half)))
}

/// The axis of a rotation, and its angle (rad), which is at most half a turn.
fn axis_angle(rotation: DQuat) -> (DVec3, f64) {
    let rotation = if rotation.w < 0.0 {
        -rotation
    } else {
        rotation
    };
    let sine = rotation.xyz().length();
    match rotation.xyz().try_normalize() {
        Some(axis) => (axis, 2.0 * libm::atan2(sine, rotation.w)),
        None => (DVec3::Y, 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything() -> Motion {
        Motion {
            velocity: DVec3::new(0.1, -0.2, 0.3),
            swings: vec![Swing {
                amplitude: DVec3::new(0.0, 0.01, 0.02),
                frequency: 7.0,
                phase: 0.4,
                ramp: 0.5,
            }],
            rotation: Some(Rotation {
                axis: DVec3::new(0.6, 0.0, 0.8),
                center: DVec3::new(1.0, 2.0, 3.0),
                speed: 3.0,
                ramp: 0.5,
                amplitude: 0.2,
                frequency: 2.0,
                phase: 1.0,
            }),
            keys: vec![
                Key {
                    time: 0.2,
                    pose: Pose::default(),
                },
                Key {
                    time: 1.3,
                    pose: Pose {
                        position: DVec3::X,
                        orientation: quaternion(DVec3::Y, 1.0),
                    },
                },
            ],
            start: 0.1,
            end: 2.0,
        }
    }

    #[test]
    fn velocities_are_the_change_of_the_pose() {
        let motion = everything();
        let start = Pose::default();
        let step = 1e-6;
        for k in 1..60 {
            let time = 0.0371 * f64::from(k);
            let [before, now, after] =
                [-step, 0.0, step].map(|shift| motion.at(&start, time + shift));
            let velocity = (after.pose.position - before.pose.position) / (2.0 * step);
            assert!((velocity - now.velocity).length() < 1e-6, "{time}");
            let turn = after.pose.orientation * before.pose.orientation.conjugate();
            let spin = turn.xyz() * turn.w.signum() / step;
            assert!((spin - now.angular_velocity).length() < 1e-6, "{time}");
        }
    }

    #[test]
    fn it_starts_where_it_is_and_ends_in_time() {
        let motion = Motion {
            keys: Vec::new(),
            ..everything()
        };
        let start = Pose {
            position: DVec3::new(3.0, 4.0, 5.0),
            ..Pose::default()
        };
        let at = |time| motion.at(&start, time);
        assert_eq!(at(0.0), Moving::still(start));
        assert!((at(0.1).pose.position - start.position).length() < 1e-12);
        assert_eq!(at(2.0).velocity, DVec3::ZERO);
        assert_eq!(at(9.0), at(2.0));
    }
}
