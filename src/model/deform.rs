//! Deformation of a periodic box: a rate of strain or a servo drives its sides, and simple shear tilts it.
//!
//! Bodies move with the mean flow of the box, u = ε x + γ (g·x), and the velocities of the state are relative to it. A body that
//! crosses a face of the box keeps its relative velocity, so the flow has no border anywhere (Lees and Edwards 1972, with a box
//! that tilts). The equations of motion are those of the SLLOD algorithm (Evans and Morriss 1984): m dv/dt = F − m L v, with the
//! velocity gradient L.
//!
//! The host looks at the box every [`LOOK`] steps. It measures the stress, and sets the rates until the next look.

use glam::DMat3;
use serde::{Deserialize, Serialize};

/// Number of steps from one look at the box to the next.
#[doc(hidden)]
pub const LOOK: u64 = 25;

/// Drives of the box; the default leaves it as it is.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deform {
    /// Drives of the sides along x, y and z; `None` keeps the length of a side.
    pub sides: [Option<Drive>; 3],
    /// Simple shear, if there is any.
    pub shear: Option<Shear>,
}

/// Drive of the sides along an axis.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drive {
    /// Constant rate of strain, 1/s; a negative rate compresses.
    Strain(f64),
    /// Servo that keeps a normal stress.
    Stress {
        /// Normal stress, Pa; compression is positive.
        stress: f64,
        /// Largest rate of strain, 1/s.
        fastest: f64,
    },
}

/// Relative error of the stress from which on a servo is too fast, if the sign of the error changes from one look to the next.
/// The geometric mean of the two errors counts.
const SWING: f64 = 0.5;
/// Number of looks in which a servo recovers from one halving of its rate.
const RECOVERY: f64 = 1000.0;

/// State of the servo of one side, carried from look to look.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoxServo {
    /// Relative error of the stress at the last look, -1 to 1; positive if the stress was too small.
    pub short: f64,
    /// Number of times that the rate is halved at present; it decreases gradually.
    pub halved: f64,
}

impl BoxServo {
    /// Rate of strain (1/s) under the normal stress `now` (Pa).
    ///
    /// `stress` (Pa) is the target, and `fastest` (1/s) the largest rate.
    ///
    /// The rate is proportional to the error of the stress. If it is too fast for the stiffness of the bodies, the stress swings
    /// about its target from look to look; the servo then halves its rate.
    fn rate(&mut self, now: f64, stress: f64, fastest: f64) -> f64 {
        let short = ((stress - now) / stress).clamp(-1.0, 1.0);
        if short * self.short < -SWING * SWING {
            self.halved += 1.0;
        } else {
            self.halved = (self.halved - 1.0 / RECOVERY).max(0.0);
        }
        self.short = short;
        -fastest * short * libm::exp2(-self.halved)
    }
}

/// Simple shear: the flow along one axis grows along another.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shear {
    /// Axis along which bodies flow, 0 to 2.
    pub flow: usize,
    /// Axis along which the flow grows, 0 to 2.
    pub gradient: usize,
    /// Rate of shear, 1/s.
    pub rate: f64,
}

/// Deformation of a box so far, and its rates until the next look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Deformation {
    /// Number of steps at the last look.
    pub step: u64,
    /// Sides of the box at the last look, m.
    pub sides: [f64; 3],
    /// Tilt at the last look: the shift of the top along the flow, over the height along the gradient.
    pub tilt: f64,
    /// Rates of strain since the last look, 1/s.
    pub strain_rate: [f64; 3],
    /// Rate of shear since the last look, 1/s.
    pub shear_rate: f64,
    /// Axis of the flow, 0 to 2.
    pub flow: usize,
    /// Axis of the gradient of the flow, 0 to 2.
    pub gradient: usize,
    /// Servos of the sides that have one.
    #[serde(default)]
    #[doc(hidden)]
    pub servos: [BoxServo; 3],
    /// Logarithmic strain of the sides since the start.
    pub strain: [f64; 3],
    /// Shear strain since the start.
    pub shear: f64,
    /// Stress at the last look, Pa, row by row; compression is positive.
    pub stress: [[f64; 3]; 3],
    /// Work of the box on the bodies up to the last look, J.
    pub work: f64,
}

impl Deformation {
    /// The deformation at the start of a box with these `sides` (m).
    #[doc(hidden)]
    pub fn new(deform: &Deform, sides: [f64; 3]) -> Deformation {
        let mut own = Deformation {
            sides,
            flow: 0,
            gradient: 1,
            ..Deformation::default()
        };
        own.drive(deform);
        own
    }

    /// Rate at which the tilt grows, 1/s.
    pub(crate) fn tilting(&self) -> f64 {
        let rates = self.strain_rate;
        self.shear_rate + self.tilt * (rates[self.flow] - rates[self.gradient])
    }

    /// Deforms the box for `steps` steps of `time_step` (s), linearly in time as the engines do.
    pub(crate) fn advance(&mut self, steps: u64, time_step: f64) {
        let time = steps as f64 * time_step;
        let tilt = self.tilt + self.tilting() * time;
        self.tilt = tilt;
        for axis in 0..3 {
            let grown = 1.0 + self.strain_rate[axis] * time;
            self.sides[axis] *= grown;
            self.strain[axis] += libm::log(grown);
        }
        self.shear += self.shear_rate * time;
        self.step += steps;
    }

    /// Sets the rates that the drives `deform` ask for under the present stress.
    #[doc(hidden)]
    pub(crate) fn drive(&mut self, deform: &Deform) {
        for (axis, drive) in deform.sides.iter().enumerate() {
            self.strain_rate[axis] = match *drive {
                Some(Drive::Stress { stress, fastest }) => {
                    self.servos[axis].rate(self.stress[axis][axis], stress, fastest)
                }
                Some(Drive::Strain(rate)) => rate,
                None => 0.0,
            };
        }
        self.shear_rate = deform.shear.map_or(0.0, |shear| shear.rate);
        if let Some(shear) = deform.shear {
            (self.flow, self.gradient) = (shear.flow, shear.gradient);
        }
    }

    /// Number of lengths of the box by which its top can be shifted back, which leaves a shift of at most half a length.
    ///
    /// The box has the same images after that.
    pub(crate) fn turns(&self) -> f64 {
        (self.tilt * self.sides[self.gradient] / self.sides[self.flow]).round()
    }

    /// Volume of the box, m³.
    pub(crate) fn volume(&self) -> f64 {
        self.sides.iter().product()
    }

    /// Power of the box on the bodies, W.
    pub(crate) fn power(&self) -> f64 {
        let of_sides: f64 = (0..3)
            .map(|axis| self.stress[axis][axis] * self.strain_rate[axis])
            .sum();
        -self.volume() * (of_sides + self.stress[self.flow][self.gradient] * self.shear_rate)
    }

    /// Sets the stress from the sum (J) of the momentum flux of the bodies and of contact forces times branch vectors.
    pub(crate) fn set_stress(&mut self, sum: DMat3) {
        self.stress = [0, 1, 2].map(|row| (sum.row(row) / self.volume()).to_array());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servo_compresses_what_is_loose_and_stops_at_its_stress() {
        let rate = |now| BoxServo::default().rate(now, 100.0, 2.0);
        assert_eq!(rate(0.0), -2.0);
        assert_eq!(rate(100.0), 0.0);
        assert_eq!(rate(150.0), 1.0);
        assert_eq!(rate(1e9), 2.0);
    }

    #[test]
    fn a_servo_that_overshoots_is_slowed_until_it_does_not() {
        // At the full rate, an elastic sample deforms between two looks by eight times the strain that gives the wanted stress.
        // Another side compresses it meanwhile.
        let mut servo = BoxServo::default();
        let mut stress: f64 = 0.0;
        let late: Vec<f64> = (0..1_000)
            .map(|_| {
                let strain = servo.rate(stress, 100.0, 8.0) - 0.1;
                stress = (stress - 100.0 * strain).max(0.0);
                stress
            })
            .skip(200)
            .collect();
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!((90.0..130.0).contains(&mean), "{mean}");
        // A servo that is slow enough keeps its rate.
        let mut servo = BoxServo::default();
        for now in [0.0, 60.0, 110.0, 95.0, 102.0] {
            servo.rate(now, 100.0, 8.0);
        }
        assert_eq!(servo.halved, 0.0);
    }

    #[test]
    fn a_box_that_is_tilted_by_its_length_is_upright() {
        let mut own = Deformation {
            sides: [2.0, 1.0, 1.0],
            tilt: 1.1,
            gradient: 1,
            ..Deformation::default()
        };
        assert_eq!(own.turns(), 1.0);
        own.tilt = 0.9;
        assert_eq!(own.turns(), 0.0);
    }
}
