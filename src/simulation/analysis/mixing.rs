//! Mixing and segregation: how far the bodies of one cell differ from those of another.

use std::collections::BTreeMap;

use glam::DVec3;

use super::{Grain, Moment};

/// Mixing of a property of bodies, from its variance between cells (Lacey, Journal of Applied Chemistry 4, 257, 1954).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixing {
    /// Variance between the means of the cells, each weighted by its number of bodies; in the squared unit of the property.
    pub variance: f64,
    /// Variance between cells in a fully segregated state, where all bodies of a cell are alike: the variance of the property.
    pub of_segregated: f64,
    /// Variance between cells in a random mixture: the variance of the property over the mean number of bodies in a cell.
    pub of_random: f64,
    /// Number of cells with enough bodies.
    pub cells: usize,
    /// Number of bodies in them.
    pub bodies: usize,
}

impl Mixing {
    /// Measures how well a `property` of the bodies that are not fixed is mixed in cubic cells of a `side` (m).
    ///
    /// Cells with fewer than `fewest` bodies do not count. The property can be any number, such as a radius or a temperature;
    /// for the mixing of kinds it is 1 for one kind and 0 for all others. Returns `None` if no cell counts, or if the property
    /// is the same for all bodies in the cells that count.
    pub fn new(
        moment: &Moment,
        side: f64,
        fewest: usize,
        property: impl Fn(&Grain) -> f64,
    ) -> Option<Mixing> {
        let [origin, _] = moment.bounds()?;
        let mut cells: BTreeMap<[i64; 3], (f64, f64)> = BTreeMap::new();
        let mut all = Vec::new();
        for grain in moment.free() {
            let place = ((grain.position - origin) / side).floor();
            let key = DVec3::to_array(&place).map(|number| number as i64);
            let value = property(grain);
            let (count, sum) = cells.entry(key).or_default();
            *count += 1.0;
            *sum += value;
            all.push((key, value));
        }
        cells.retain(|_, (count, _)| *count >= fewest.max(1) as f64);
        all.retain(|(key, _)| cells.contains_key(key));
        let bodies = all.len();
        if bodies == 0 {
            return None;
        }
        let number = bodies as f64;
        let mean = all.iter().map(|(_, value)| value).sum::<f64>() / number;
        let square = |value: f64| (value - mean) * (value - mean);
        let of_segregated = all.iter().map(|(_, value)| square(*value)).sum::<f64>() / number;
        let between = cells
            .values()
            .map(|(count, sum)| count * square(sum / count));
        let mixing = Mixing {
            variance: between.sum::<f64>() / number,
            of_segregated,
            of_random: of_segregated * cells.len() as f64 / number,
            cells: cells.len(),
            bodies,
        };
        (of_segregated > 0.0).then_some(mixing)
    }

    /// Lacey's index: 0 for a segregated state, 1 for a random mixture, more than 1 for a mixture more even than chance makes it.
    ///
    /// It is NaN if each cell has one body.
    pub fn lacey(&self) -> f64 {
        (self.of_segregated - self.variance) / (self.of_segregated - self.of_random)
    }

    /// The intensity of segregation: 1 for a segregated state, near 0 for a mixed one.
    ///
    /// It is the square root of the variance over that of a segregated state.
    pub fn segregation(&self) -> f64 {
        (self.variance / self.of_segregated).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cubic lattice of 16³ bodies, 1 m apart, of two shapes.
    fn lattice(shape: impl Fn(usize, DVec3) -> usize) -> Moment {
        let grains = (0..4096).map(|index| {
            let [x, y, z] = [index % 16, index / 16 % 16, index / 256];
            let position = DVec3::new(x as f64, y as f64, z as f64);
            Grain {
                shape: shape(index, position),
                position,
                mass: 1.0,
                ..Grain::default()
            }
        });
        Moment {
            grains: grains.collect(),
            ..Moment::default()
        }
    }

    fn of_shape(grain: &Grain) -> f64 {
        f64::from(u8::from(grain.shape == 1))
    }

    #[test]
    fn laceys_index_is_0_of_halves_and_1_of_a_random_mixture() {
        let halves = lattice(|_, place| usize::from(place.x < 8.0));
        let mixing = Mixing::new(&halves, 4.0, 5, of_shape).unwrap();
        assert_eq!((mixing.cells, mixing.bodies), (64, 4096));
        assert!(mixing.lacey().abs() < 1e-12);
        assert!((mixing.segregation() - 1.0).abs() < 1e-12);

        // The finalizer of SplitMix64 gives each index a random number.
        let random = |index: usize| {
            let mut bits = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            bits ^ (bits >> 31)
        };
        let mixed = lattice(|index, _| usize::from(random(index).is_multiple_of(3)));
        let mixing = Mixing::new(&mixed, 4.0, 5, of_shape).unwrap();
        assert!((mixing.lacey() - 1.0).abs() < 0.01, "{mixing:?}");
        // The index does not depend on the unit of the property.
        let tenths = Mixing::new(&mixed, 4.0, 5, |grain| 7.0 + 0.1 * of_shape(grain)).unwrap();
        assert!((tenths.lacey() - mixing.lacey()).abs() < 1e-9);
    }

    #[test]
    fn where_nothing_differs_there_is_no_index() {
        let one = lattice(|_, _| 1);
        assert_eq!(Mixing::new(&one, 4.0, 5, of_shape), None);
        assert_eq!(Mixing::new(&one, 4.0, 500, |grain| grain.position.x), None);
        assert_eq!(Mixing::new(&Moment::default(), 4.0, 5, of_shape), None);
    }
}
