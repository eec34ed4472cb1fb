//! Spectra of collisions, by impact speed and by dissipated energy.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Number of classes of speeds or energies in a factor of two.
const CLASSES: f64 = 4.0;

/// Collisions of a run: contacts that have ended, by impact speed and by dissipated energy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Collisions {
    /// Collisions by classes of the normal speed at the first touch, m/s; see [`Collisions::classes`].
    pub speeds: BTreeMap<i32, Amount>,
    /// Collisions by classes of the energy that dashpots and friction dissipated from the first touch to the last, J.
    pub energies: BTreeMap<i32, Amount>,
    /// Contacts that have not ended, ordered by their surfaces.
    pub open: Vec<Touching>,
}

/// A number of collisions, and the energy that they dissipated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Amount {
    /// Number of collisions.
    pub count: u64,
    /// Energy, J.
    pub energy: f64,
}

/// A contact that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Touching {
    /// The two surfaces. A sphere is the id of its body and its number in the body; a wall is [`Touching::WALL`] and its index.
    pub surfaces: [(u64, u32); 2],
    /// Normal speed at the first touch, m/s; 0 if the surfaces did not approach.
    pub speed: f64,
    /// Energy dissipated so far, J.
    pub energy: f64,
}

impl Touching {
    /// Stands in place of the id of a body for a wall.
    pub const WALL: u64 = u64::MAX;
}

/// A class of collisions with about the same speed or energy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CollisionClass {
    /// Lower end of the class, m/s or J.
    pub from: f64,
    /// Upper end of the class, m/s or J.
    pub to: f64,
    /// Collisions in the class, and the energy that they dissipated.
    pub amount: Amount,
}

impl Amount {
    fn add(&mut self, energy: f64) {
        self.count += 1;
        self.energy += energy;
    }
}

impl Collisions {
    /// Follows the contacts through a step; `now` has the contacts of this step.
    ///
    /// Facets of one wall that a sphere touches at once count as one contact.
    pub(crate) fn follow(&mut self, mut now: Vec<Touching>) {
        now.sort_by_key(|own| own.surfaces);
        now.dedup_by(|next, kept| {
            let same = next.surfaces == kept.surfaces;
            if same {
                kept.speed = kept.speed.max(next.speed);
                kept.energy += next.energy;
            }
            same
        });
        let mut before = std::mem::take(&mut self.open).into_iter().peekable();
        for own in &mut now {
            while let Some(ended) = before.next_if(|old| old.surfaces < own.surfaces) {
                self.end(&ended);
            }
            if let Some(old) = before.next_if(|old| old.surfaces == own.surfaces) {
                own.speed = old.speed;
                own.energy += old.energy;
            }
        }
        before.for_each(|ended| self.end(&ended));
        self.open = now;
    }

    fn end(&mut self, ended: &Touching) {
        // Smaller values are rounding noise.
        let class = |value: f64| (CLASSES * libm::log2(value.max(1e-18))).floor() as i32;
        for (classes, value) in [
            (&mut self.speeds, ended.speed),
            (&mut self.energies, ended.energy),
        ] {
            classes.entry(class(value)).or_default().add(ended.energy);
        }
    }

    /// Number and dissipated energy of all collisions that have ended.
    pub fn total(&self) -> Amount {
        let amounts = self.speeds.values();
        amounts.fold(Amount::default(), |sum, own| Amount {
            count: sum.count + own.count,
            energy: sum.energy + own.energy,
        })
    }

    /// The classes of [`Collisions::speeds`] or of [`Collisions::energies`], a quarter of an octave wide.
    pub fn classes(of: &BTreeMap<i32, Amount>) -> impl Iterator<Item = CollisionClass> {
        let end = |class: i32| libm::exp2(f64::from(class) / CLASSES);
        of.iter().map(move |(class, amount)| CollisionClass {
            from: end(*class),
            to: end(class + 1),
            amount: *amount,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touching(partner: u64, speed: f64, energy: f64) -> Touching {
        Touching {
            surfaces: [(0, 0), (partner, 0)],
            speed,
            energy,
        }
    }

    #[test]
    fn a_collision_has_the_speed_of_its_first_touch_and_the_energy_of_all() {
        let mut all = Collisions::default();
        all.follow(vec![touching(2, 1.0, 0.5), touching(1, 4.0, 0.0)]);
        all.follow(vec![touching(2, 0.1, 0.25)]);
        assert_eq!(all.total().count, 1);
        all.follow(vec![touching(3, 1.0, 0.0), touching(3, 2.0, 0.125)]);
        assert_eq!(all.open, [touching(3, 2.0, 0.125)]);
        let classes: Vec<_> = Collisions::classes(&all.speeds).collect();
        assert_eq!(classes.len(), 2);
        let Amount { count, energy } = classes[0].amount;
        assert_eq!((classes[0].from, count, energy), (1.0, 1, 0.75));
        assert_eq!((classes[1].from, classes[1].amount.count), (4.0, 1));
    }

    #[test]
    fn classes_are_a_quarter_of_an_octave() {
        let mut all = Collisions::default();
        // The first pair touches twice, and the wall's facets do at once.
        all.follow(vec![touching(1, 0.0, 3.0), touching(2, 2.3, 1.0)]);
        all.follow(vec![touching(4, 2.0, 0.0), touching(1, 9.0, 1.0)]);
        all.follow(vec![]);
        let total = all.total();
        assert_eq!((total.count, total.energy), (3, 5.0));
        let speeds: Vec<_> = Collisions::classes(&all.speeds).collect();
        let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-12;
        assert_eq!(speeds.len(), 2);
        // Rounding noise is not told from rest.
        assert!(speeds[0].from < 1e-18 && 1e-18 < speeds[0].to);
        assert!(near(speeds[1].from, 2.0) && near(speeds[1].to, libm::exp2(1.25)));
        assert_eq!((speeds[1].amount.count, speeds[1].amount.energy), (2, 1.0));
        let energies: Vec<_> = Collisions::classes(&all.energies).collect();
        let of = |k: usize| (energies[k].amount.count, energies[k].amount.energy);
        assert_eq!([of(0), of(1), of(2)], [(1, 0.0), (1, 1.0), (1, 4.0)]);
        assert!(near(energies[2].from, 4.0), "{energies:?}");
    }
}
