use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Number of classes of times in a factor of two.
const CLASSES: f64 = 8.0;

/// Residence times of the bodies that an outlet has taken: from the time when an inlet brought them to that when they left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Residence {
    /// Number of bodies.
    pub bodies: u64,
    /// Sum of their residence times, s.
    pub sum: f64,
    /// Sum of the squares of their residence times, s².
    pub squares: f64,
    /// Number of bodies in each class of times; see [`Residence::classes`].
    pub counts: BTreeMap<i32, u64>,
}

/// A class of residence times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Lower end of the class, s.
    pub from: f64,
    /// Upper end of the class, s.
    pub to: f64,
    /// Number of bodies in the class.
    pub bodies: u64,
    /// Fraction of all bodies with a residence time below the upper end: F of Danckwerts (1953).
    pub below: f64,
    /// Fraction of all bodies in the class over its width, 1/s: E of Danckwerts.
    pub density: f64,
}

impl Residence {
    /// Counts a body with the residence time `time`, s.
    pub(crate) fn add(&mut self, time: f64) {
        // A body that comes and leaves at one look has the time 0, which belongs to no class.
        let class = (CLASSES * libm::log2(time.max(1e-9))).floor() as i32;
        *self.counts.entry(class).or_default() += 1;
        self.bodies += 1;
        self.sum += time;
        self.squares += time * time;
    }

    /// Mean residence time, s; NaN without bodies.
    pub fn mean(&self) -> f64 {
        self.sum / self.bodies as f64
    }

    /// Standard deviation of the residence times, s; NaN without bodies.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        (self.squares / self.bodies as f64 - mean * mean)
            .max(0.0)
            .sqrt()
    }

    /// The classes that have bodies, the shortest times first; each is an eighth of an octave wide.
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
        // In an ideal mixer with a mean time of 2 s, F = 1 - exp(-t/2).
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

    #[test]
    fn classes_are_an_eighth_of_an_octave() {
        let mut residence = Residence::default();
        for time in [2.0, 2.1, 4.0, 0.0] {
            residence.add(time);
        }
        assert_eq!((residence.bodies, residence.sum), (4, 8.1));
        let classes: Vec<Class> = residence.classes().collect();
        let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-12;
        assert!(classes[0].from < 1e-9 && 1e-9 < classes[0].to);
        let two = classes[1];
        assert!(near(two.from, 2.0) && near(two.to, libm::exp2(1.125)));
        assert_eq!((two.bodies, two.below), (2, 0.75));
        assert!(near(two.density, 0.5 / (two.to - two.from)));
        assert_eq!((classes[2].bodies, classes[2].below), (1, 1.0));
        assert_eq!(Residence::default().classes().count(), 0);
    }
}
