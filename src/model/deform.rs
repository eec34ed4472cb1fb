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

impl Drive {
    /// Rate of strain under a normal stress, 1/s.
    fn rate(self, now: f64) -> f64 {
        match self {
            Drive::Strain(rate) => rate,
            Drive::Stress { stress, fastest } => {
                -fastest * ((stress - now) / stress).clamp(-1.0, 1.0)
            }
        }
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

    /// Sets the rates by what moves the box, under the stress that there is.
    pub fn drive(&mut self, deform: &Deform) {
        for (axis, drive) in deform.sides.iter().enumerate() {
            self.strain_rate[axis] = drive.map_or(0.0, |drive| drive.rate(self.stress[axis][axis]));
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
        let drive = Drive::Stress {
            stress: 100.0,
            fastest: 2.0,
        };
        assert_eq!(drive.rate(0.0), -2.0);
        assert_eq!(drive.rate(100.0), 0.0);
        assert_eq!(drive.rate(150.0), 1.0);
        assert_eq!(drive.rate(1e9), 2.0);
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
