//! How a periodic box deforms: its sides by a rate of strain or a servo, and the box by simple shear.
//!
//! Bodies move with the mean flow of the box, u = ε x + γ (g·x), and their velocities are those relative to it. A body that
//! crosses the box's border goes on with its velocity, so that the flow has no border anywhere (Lees and Edwards 1972, by a
//! cell that tilts). Their equations of motion are those of the SLLOD algorithm (Evans and Morriss 1984): m dv/dt = F − m L v,
//! with the velocity gradient L.
//!
//! The host looks at the box every [`LOOK`] steps: then it takes the stress, and sets the rates until the next look.

use glam::DMat3;
use serde::{Deserialize, Serialize};

/// Steps from one look at the box to the next.
pub const LOOK: u64 = 25;

/// Motion of the box.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deform {
    /// Drives of its sides along x, y and z; None leaves them as they are.
    pub sides: [Option<Drive>; 3],
    /// Simple shear.
    pub shear: Option<Shear>,
}

/// Drive of the sides along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drive {
    /// Rate of strain, 1/s: less than 0 compresses.
    Strain(f64),
    /// A servo.
    Stress {
        /// Normal stress that it keeps, Pa; compression is positive.
        stress: f64,
        /// Largest rate of strain, 1/s.
        fastest: f64,
    },
}

/// A servo that is off by more than this part of its stress at two looks, once to either side, is too fast.
const SWING: f64 = 0.5;
/// Looks after which a servo that was slowed to a half of its rate has this rate again.
const RECOVERY: f64 = 1000.0;

/// State of the servo of one side, carried from look to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoxServo {
    /// Relative error of the stress at the last look, -1 to 1: greater than 0 where the stress was too small.
    pub short: f64,
    /// How many times its rates have been halved.
    pub halved: f64,
}

impl BoxServo {
    /// Rate of strain (1/s) under a normal stress `now` (Pa), of a servo that keeps `stress` (Pa).
    ///
    /// The rate is proportional to the error of the stress. If the box deforms more between two looks than the bodies give way
    /// elastically, the stress swings about its target; the servo then halves its rate.
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shear {
    /// Axis along which bodies flow, 0 to 2.
    pub flow: usize,
    /// Axis along which the flow grows.
    pub gradient: usize,
    /// Rate of shear, 1/s.
    pub rate: f64,
}

/// How far a box has deformed, and how it goes on until the next look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Deformation {
    /// Number of steps at the last look.
    pub step: u64,
    /// Sides of the box then, m.
    pub sides: [f64; 3],
    /// How far it was tilted: along the flow over the height along the gradient.
    pub tilt: f64,
    /// Rates of strain since, 1/s.
    pub strain_rate: [f64; 3],
    /// Rate of shear since, 1/s.
    pub shear_rate: f64,
    /// Axis of the flow.
    pub flow: usize,
    /// Axis of its gradient.
    pub gradient: usize,
    /// Servos of the sides that have one.
    #[serde(default)]
    pub servos: [BoxServo; 3],
    /// Logarithmic strain of the sides since the start.
    pub strain: [f64; 3],
    /// Shear strain since the start.
    pub shear: f64,
    /// Stress at the last look, Pa, row by row; compression is positive.
    pub stress: [[f64; 3]; 3],
    /// Work that the box has done on bodies up to the last look, J.
    pub work: f64,
}

impl Deformation {
    /// A box as it starts.
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

    /// Growth of the tilt, 1/s.
    pub fn tilting(&self) -> f64 {
        let rates = self.strain_rate;
        self.shear_rate + self.tilt * (rates[self.flow] - rates[self.gradient])
    }

    /// Goes on for `steps` steps of `time_step`, s, as the engines do: evenly.
    pub fn advance(&mut self, steps: u64, time_step: f64) {
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

    /// Sets the rates from the law that drives the box, under the present stress.
    pub fn drive(&mut self, deform: &Deform) {
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

    /// Lengths of the box by which the tilt goes beyond a half of one: the box that is tilted so much less has the same images.
    pub fn turns(&self) -> f64 {
        (self.tilt * self.sides[self.gradient] / self.sides[self.flow]).round()
    }

    /// Volume, m³.
    pub fn volume(&self) -> f64 {
        self.sides.iter().product()
    }

    /// Power of the box on bodies, W.
    pub fn power(&self) -> f64 {
        let of_sides: f64 = (0..3)
            .map(|axis| self.stress[axis][axis] * self.strain_rate[axis])
            .sum();
        -self.volume() * (of_sides + self.stress[self.flow][self.gradient] * self.shear_rate)
    }

    /// Takes over the stress, from the sum of momentum flux and of forces times branch vectors, J.
    pub fn set_stress(&mut self, sum: DMat3) {
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
        // Something elastic that in the time of a look gives way eight times as far as to the stress wanted, while
        // another side presses it together.
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
        // One that is slow enough keeps its rate.
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
