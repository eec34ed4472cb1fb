//! Closed formulas that several cases need.

use std::f64::consts::PI;

/// Gravity, m/s².
pub const G: f64 = 9.81;

/// Normal and tangential model of a contact law that is named by both, such as "hooke/history".
pub fn models(law: &str) -> (&str, &str) {
    law.split_once('/').unwrap()
}

/// Mass of a sphere, kg.
pub fn sphere_mass(density: f64, radius: f64) -> f64 {
    density * 4.0 / 3.0 * PI * radius.powi(3)
}

/// E* of a body on a rigid one, Pa.
pub fn plane_modulus(young: f64, poisson: f64) -> f64 {
    young / (1.0 - poisson * poisson)
}

/// Damping ratio of a linear dashpot: e = exp(-pi zeta / sqrt(1 - zeta²)).
pub fn damping_ratio(restitution: f64) -> f64 {
    -restitution.ln() / PI.hypot(restitution.ln())
}

/// Duration of a contact of the linear spring and dashpot, s: half a period of the damped
/// oscillator, pi / sqrt(k/m - (c/2m)²).
pub fn linear_duration(stiffness: f64, mass: f64, restitution: f64) -> f64 {
    let ratio = damping_ratio(restitution);
    PI / (stiffness / mass * (1.0 - ratio * ratio)).sqrt()
}

/// Restitution of a spring and dashpot that part when their force is zero, where they would have
/// `restitution` if they parted when the overlap is (Schwager and Pöschel 2007, equation 20). Tsuji's
/// dashpot on Hertz' spring is the same oscillator in the variable d^(5/4) (Antypov and Elliott
/// 2011), so the formula holds for both.
pub fn clamped_restitution(restitution: f64) -> f64 {
    let ratio = damping_ratio(restitution);
    let frequency = (1.0 - ratio * ratio).sqrt();
    let angle = (2.0 * ratio * frequency).atan2(frequency * frequency - ratio * ratio);
    (-ratio / frequency * (PI - angle)).exp()
}

/// Elastic impact after Hertz of an effective mass at a closing speed.
pub struct Hertz {
    /// m.
    pub overlap: f64,
    /// N.
    pub force: f64,
    /// s.
    pub duration: f64,
}

impl Hertz {
    /// From effective mass (kg), radius (m) and modulus E* (Pa), and closing speed (m/s): the whole
    /// energy is in the spring, 1/2 m v² = 8/15 E* sqrt(R) d^(5/2), and the contact lasts 2 d/v times
    /// the integral of 1/sqrt(1 - x^(5/2)) from 0 to 1.
    pub fn new(mass: f64, radius: f64, modulus: f64, speed: f64) -> Hertz {
        let overlap = (15.0 * mass * speed * speed / (16.0 * modulus * radius.sqrt())).powf(0.4);
        Hertz {
            overlap,
            force: 4.0 / 3.0 * modulus * radius.sqrt() * overlap.powf(1.5),
            // The integral is sqrt(pi) Gamma(7/5) / Gamma(9/10).
            duration: 2.0 * 1.471_637_592_162_353 * overlap / speed,
        }
    }
}

/// Integral of `f` from `a` to `b` by Simpson's rule.
pub fn integral(f: impl Fn(f64) -> f64, a: f64, b: f64) -> f64 {
    let intervals = 20_000;
    let width = (b - a) / f64::from(intervals);
    let inner = (1..intervals).map(|k| {
        let weight = if k % 2 == 1 { 4.0 } else { 2.0 };
        weight * f(a + width * f64::from(k))
    });
    width / 3.0 * (f(a) + f(b) + inner.sum::<f64>())
}
