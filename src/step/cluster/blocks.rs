//! The blocks into which space is cut: recursive bisection of the places of bodies, weighted by their cost.

use super::Ranks;

/// A place: coordinates in units of 2⁻³² of a cell.
pub(super) type Place = [i64; 3];

/// Parts into which an interval is divided to find where to cut it; and how often. Intervals are 2⁻³⁰ as long at the end.
const BINS: usize = 64;
const ROUNDS: usize = 5;

/// Blocks of space, one a rank.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The first one is cut first; none if there is one rank.
    cuts: Vec<Cut>,
}

/// A plane that cuts a block of space.
#[derive(Debug)]
struct Cut {
    /// The ranks that have the block: those below `middle` have the part below `place`.
    ranks: std::ops::Range<usize>,
    middle: usize,
    axis: usize,
    place: i64,
    /// The cuts of both parts; of a part that is not cut again, nothing.
    parts: [Option<usize>; 2],
}

impl Cut {
    fn new(ranks: std::ops::Range<usize>) -> Cut {
        Cut {
            middle: ranks.start + ranks.len() / 2,
            ranks,
            axis: 0,
            place: i64::MIN,
            parts: [None; 2],
        }
    }

    fn has_above(&self, place: &Place) -> bool {
        place[self.axis] >= self.place
    }
}

impl Blocks {
    /// Cuts space so that all ranks have about the same cost. Each rank gives the places of bodies that it has, with their
    /// costs; `sides` are those of a cell. All ranks get the same blocks.
    pub fn new(ranks: &dyn Ranks, places: &[Place], costs: &[u64], sides: [f64; 3]) -> Blocks {
        let mut blocks = Blocks::default();
        if ranks.count() < 2 {
            return blocks;
        }
        blocks.cuts.push(Cut::new(0..ranks.count()));
        let mut level = 0..1;
        // The cut of the level in whose block each body is.
        let mut homes: Vec<Option<usize>> = vec![Some(0); places.len()];
        while !level.is_empty() {
            blocks.place_cuts(ranks, level.clone(), &homes, places, costs, sides);
            let end = blocks.cuts.len();
            for index in level.clone() {
                let own = &blocks.cuts[index];
                let halves = [own.ranks.start..own.middle, own.middle..own.ranks.end];
                for (part, ranks) in halves.into_iter().enumerate() {
                    if ranks.len() > 1 {
                        blocks.cuts[index].parts[part] = Some(blocks.cuts.len());
                        blocks.cuts.push(Cut::new(ranks));
                    }
                }
            }
            for (home, place) in homes.iter_mut().zip(places) {
                *home = home.and_then(|cut| {
                    let cut = &blocks.cuts[cut];
                    cut.parts[usize::from(cut.has_above(place))]
                });
            }
            level = end..blocks.cuts.len();
        }
        blocks
    }

    /// The rank in whose block a place is.
    pub fn owner(&self, place: &Place) -> usize {
        let Some(mut cut) = self.cuts.first() else {
            return 0;
        };
        loop {
            let above = usize::from(cut.has_above(place));
            match cut.parts[above] {
                Some(next) => cut = &self.cuts[next],
                None => return [cut.ranks.start, cut.middle][above],
            }
        }
    }

    /// Places some cuts across the longest sides of their blocks, all at once.
    fn place_cuts(
        &mut self,
        ranks: &dyn Ranks,
        level: std::ops::Range<usize>,
        homes: &[Option<usize>],
        places: &[Place],
        costs: &[u64],
        sides: [f64; 3],
    ) {
        let bodies = || {
            let all = homes.iter().zip(places.iter().zip(costs));
            all.filter_map(|(home, (place, cost))| {
                home.map(|home| (home - level.start, place, cost))
            })
        };
        // The highest of each coordinate, and of its opposite.
        let mut bounds = vec![i64::MIN; 6 * level.len()];
        for (block, place, _) in bodies() {
            for axis in 0..3 {
                let own = &mut bounds[6 * block + 2 * axis..][..2];
                own[0] = own[0].max(place[axis]);
                own[1] = own[1].max(-place[axis]);
            }
        }
        ranks.maximum(&mut bounds);
        let mut intervals = Vec::new();
        for (cut, bounds) in self.cuts[level.clone()]
            .iter_mut()
            .zip(bounds.chunks_exact(6))
        {
            if bounds[0] == i64::MIN {
                intervals.push(0..0);
                continue;
            }
            let length =
                |axis: usize| (bounds[2 * axis] + bounds[2 * axis + 1]) as f64 * sides[axis];
            let axis = (1..3).fold(0, |best, axis| {
                if length(axis) > length(best) {
                    axis
                } else {
                    best
                }
            });
            cut.axis = axis;
            intervals.push(-bounds[2 * axis + 1]..bounds[2 * axis] + 1);
        }
        let mut below = vec![0; level.len()];
        // The cost in the interval in which the wanted one is reached.
        let mut within = vec![0; level.len()];
        let mut wanted: Vec<f64> = Vec::new();
        for round in 0..ROUNDS {
            let width = |interval: &std::ops::Range<i64>| {
                ((interval.end - interval.start) as u64)
                    .div_ceil(BINS as u64)
                    .max(1) as i64
            };
            let mut sums = vec![0_i64; BINS * level.len()];
            for (block, place, cost) in bodies() {
                let interval = &intervals[block];
                let place = place[self.cuts[level.start + block].axis];
                if interval.contains(&place) {
                    let bin = (place - interval.start) / width(interval);
                    sums[BINS * block + bin as usize] += *cost as i64;
                }
            }
            ranks.sum(&mut sums);
            for (block, sums) in sums.chunks_exact(BINS).enumerate() {
                let cut = &self.cuts[level.start + block];
                if round == 0 {
                    let part = (cut.middle - cut.ranks.start) as f64 / cut.ranks.len() as f64;
                    wanted.push(part * sums.iter().sum::<i64>() as f64);
                }
                let interval = &mut intervals[block];
                let width = width(interval);
                let mut bin = 0;
                // The bin in which the wanted cost is reached.
                while bin + 1 < BINS && ((below[block] + sums[bin]) as f64) < wanted[block] {
                    below[block] += sums[bin];
                    bin += 1;
                }
                within[block] = sums[bin];
                let start = interval.start + bin as i64 * width;
                *interval = start..(start + width).min(interval.end.max(start));
            }
        }
        for (block, cut) in self.cuts[level].iter_mut().enumerate() {
            // On the side of what is left of the interval that comes nearer to what is wanted.
            let missing = wanted[block] - below[block] as f64;
            let interval = &intervals[block];
            cut.place = if 2.0 * missing > within[block] as f64 {
                interval.end
            } else {
                interval.start
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first of some ranks, which has all bodies.
    struct First(usize);

    impl Ranks for First {
        fn rank(&self) -> usize {
            0
        }

        fn count(&self) -> usize {
            self.0
        }

        fn exchange(&self, _: &[(usize, &[u8])], _: &mut [(usize, &mut [u8])]) {}

        fn write(&self, _: &std::path::Path, _: u64, _: &[u8]) -> std::io::Result<()> {
            Ok(())
        }

        fn open(&self, _: &std::path::Path) -> std::io::Result<Box<dyn crate::step::WriteSeek>> {
            Ok(Box::new(std::io::Cursor::new(Vec::new())))
        }

        fn abort(&self, reason: &str) -> ! {
            panic!("{reason}")
        }

        fn maximum(&self, _: &mut [i64]) {}

        fn sum(&self, _: &mut [i64]) {}
    }

    #[test]
    fn all_ranks_have_about_the_same_cost() {
        // Scattered, and denser at one end.
        let mut bits = 1_u64;
        let mut next = || {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (bits >> 33) as i64
        };
        let places: Vec<Place> = (0..20_000)
            .map(|_| [(next() * next()) >> 31, next() - (1 << 30), next() / 3])
            .collect();
        let costs: Vec<u64> = (0..places.len()).map(|k| 5 + k as u64 % 9).collect();
        for count in [1, 2, 3, 4, 7, 64] {
            let blocks = Blocks::new(&First(count), &places, &costs, [1.0, 1.0, 2.0]);
            let mut sums = vec![0; count];
            for (place, cost) in places.iter().zip(&costs) {
                sums[blocks.owner(place)] += cost;
            }
            let mean = costs.iter().sum::<u64>() as f64 / count as f64;
            for sum in sums {
                assert!(
                    (sum as f64 / mean - 1.0).abs() < 0.1,
                    "{count}: {sum} of {mean}"
                );
            }
        }
    }

    #[test]
    fn more_ranks_than_bodies_have_blocks_all_the_same() {
        let places = [[3, 0, 0], [9, 0, 0]];
        let blocks = Blocks::new(&First(5), &places, &[1, 1], [1.0; 3]);
        let owners = places.map(|place| blocks.owner(&place));
        assert!(
            owners[0] < 5 && owners[1] < 5 && owners[0] != owners[1],
            "{owners:?}"
        );
    }
}
