//! Wear of meshes by bodies.

/// A law of wear: the volume that bodies remove from a mesh when they slide on it or hit it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wear {
    /// Sliding wear: each metre under the normal force F removes the volume k F, with k in 1/Pa (Archard 1953).
    Archard(f64),
    /// Erosion: the work W of a contact removes the volume c W f(α), with c in 1/Pa (Finnie 1960).
    ///
    /// α is the angle between the relative velocity and the surface. f is sin 2α - 3 sin² α up to tan α = 1/3, and cos² α/3
    /// beyond.
    Finnie(f64),
}

impl Wear {
    /// Volume that a contact removes in a second, m³/s.
    ///
    /// `force` is the normal force, N. `across` and `into` are the components of the relative velocity of the surfaces along and
    /// normal to the wall, m/s.
    pub(crate) fn rate(&self, force: f64, across: f64, into: f64) -> f64 {
        match self {
            Wear::Archard(per_pressure) => per_pressure * force * across,
            Wear::Finnie(per_pressure) => {
                let into = into.abs();
                let speed = (across * across + into * into).sqrt();
                if speed == 0.0 {
                    return 0.0;
                }
                let (sine, cosine) = (into / speed, across / speed);
                let part = match cosine > 3.0 * sine {
                    true => 2.0 * sine * cosine - 3.0 * sine * sine,
                    false => cosine * cosine / 3.0,
                };
                per_pressure * part * force * speed
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erosion_is_greatest_at_a_grazing_angle_and_none_head_on() {
        let wear = Wear::Finnie(1e-9);
        let at = |degrees: f64| {
            let angle = degrees.to_radians();
            wear.rate(10.0, 2.0 * angle.cos(), -2.0 * angle.sin())
        };
        assert!(at(90.0) < 1e-20 && at(0.0) == 0.0);
        let largest = (0..=90).max_by(|a, b| at(f64::from(*a)).total_cmp(&at(f64::from(*b))));
        // At the largest rate, the cotangent of twice the angle is 3/2.
        assert_eq!(largest, Some(17));
        let edge = (1.0_f64 / 3.0).atan().to_degrees();
        assert!((at(edge - 1e-6) - at(edge + 1e-6)).abs() < 1e-14);
    }
}
