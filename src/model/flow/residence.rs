use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Classes of times in which a time doubles.
const CLASSES: f64 = 8.0;

/// How long bodies that an outlet has taken had been there since an inlet brought them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Residence {
    /// Number of them.
    pub bodies: u64,
    /// Sum of their times, s.
    pub sum: f64,
    /// Sum of the squares of these, s².
    pub squares: f64,
    /// How many there are of each class of times; see [`Residence::classes`].
    pub counts: BTreeMap<i32, u64>,
}

/// A class of residence times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Its shortest time, s.
    pub from: f64,
    /// Its end, s.
    pub to: f64,
    /// Bodies of these times.
    pub bodies: u64,
    /// Part of all bodies that were there for a time before its end: F of Danckwerts (1953).
    pub below: f64,
    /// Part of all bodies that is in it, for each second that it covers, 1/s: E of Danckwerts.
    pub density: f64,
}

impl Residence {
    /// Counts a body that was there for `time`, s.
    pub(crate) fn add(&mut self, time: f64) {
        // What comes in and goes out at one look was there for no time, or for the shortest.
        let class = (CLASSES * libm::log2(time.max(1e-9))).floor() as i32;
        *self.counts.entry(class).or_default() += 1;
        self.bodies += 1;
        self.sum += time;
        self.squares += time * time;
    }

    /// Mean of the times, s; NaN of none.
    pub fn mean(&self) -> f64 {
        self.sum / self.bodies as f64
    }

    /// Their standard deviation, s; NaN of none.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        (self.squares / self.bodies as f64 - mean * mean)
            .max(0.0)
            .sqrt()
    }

    /// The classes that have bodies, by their times: each is an eighth of an octave wide.
    pub fn classes(&self) -> impl Iterator<Item = Class> {
        let all = self.bodies as f64;
        let mut sum = 0;
        self.counts.iter().map(move |(class, bodies)| {
            let end = |class: i32| libm::exp2(f64::from(class) / CLASSES);
            let (from, to) = (end(*class), end(class + 1));
            sum += bodies;
            Class {
                from,
                to,
                bodies: *bodies,
                below: sum as f64 / all,
                density: *bodies as f64 / all / (to - from),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stirred_tank_has_its_distribution() {
        // Times of an ideal mixer of 2 s: F = 1 - exp(-t/2).
        let mut residence = Residence::default();
        let count = 100_000;
        for k in 0..count {
            let part = (f64::from(k) + 0.5) / f64::from(count);
            residence.add(-2.0 * libm::log(1.0 - part));
        }
        assert!(
            (residence.mean() - 2.0).abs() < 1e-3,
            "{}",
            residence.mean()
        );
        assert!(
            (residence.deviation() - 2.0).abs() < 1e-2,
            "{}",
            residence.deviation()
        );
        for class in residence.classes() {
            let below = 1.0 - libm::exp(-0.5 * class.to);
            assert!((class.below - below).abs() < 1e-4, "{class:?}");
            assert!(class.from < class.to);
        }
        let whole: f64 = residence
            .classes()
            .map(|own| own.density * (own.to - own.from))
            .sum();
        assert!((whole - 1.0).abs() < 1e-9);
    }
}
