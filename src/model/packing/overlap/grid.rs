//! A hash grid over spheres of any radii.

use std::ops::ControlFlow;

use glam::DVec3;

/// Index that marks the end of a chain.
const NONE: u32 = u32::MAX;

/// A sphere in the grid.
#[derive(Clone, Copy, Debug)]
pub struct GridSphere {
    /// Centre, m.
    pub center: DVec3,
    /// Radius, m.
    pub radius: f64,
    /// Index of the owner: a body, or a part of one.
    pub owner: u32,
    /// Index of the sphere that came into the same bucket before this one.
    next: u32,
}

/// Spheres hashed into cubic cells, with one level of cells for each octave of radii.
///
/// So a sphere among far smaller or far larger ones costs no more than one among spheres of its size.
#[derive(Clone, Debug)]
pub struct SphereGrid {
    /// The levels, from the largest spheres to the smallest.
    levels: Vec<Level>,
}

impl SphereGrid {
    /// An empty grid for spheres of these radii.
    pub fn new(radii: impl IntoIterator<Item = f64>) -> Self {
        let mut radii: Vec<f64> = radii.into_iter().collect();
        radii.sort_unstable_by(|a, b| b.total_cmp(a));
        let mut levels: Vec<Level> = Vec::new();
        for radius in radii {
            if levels.last().is_none_or(|level| !level.takes(radius)) {
                levels.push(Level::new(radius));
            }
        }
        Self { levels }
    }

    /// Tells that there are so many more spheres of this radius (m) in all, of which the grid has a part.
    ///
    /// A grid that knows this shows its spheres in the order in which a grid with all of them does.
    pub fn expect(&mut self, radius: f64, count: usize) {
        let level = self.level_of(radius);
        self.levels[level].expected += count;
    }

    /// Adds a sphere with its centre and radius in m.
    ///
    /// The grid must have been made for its radius, and its owner must not be less than the owner of any sphere before it.
    pub fn insert(&mut self, center: DVec3, radius: f64, owner: u32) {
        let level = self.level_of(radius);
        self.levels[level].insert(center, radius, owner);
    }

    /// Calls `visit` with each sphere.
    pub fn each(&self, visit: impl FnMut(&GridSphere)) {
        let spheres = self.levels.iter().flat_map(|level| &level.spheres);
        spheres.for_each(visit);
    }

    /// Whether `clashes` holds for any sphere in the grid that overlaps the given one.
    ///
    /// `clashes` may be called more than once for one sphere.
    pub fn any_overlapping(
        &self,
        center: DVec3,
        radius: f64,
        mut clashes: impl FnMut(&GridSphere) -> bool,
    ) -> bool {
        self.levels.iter().any(|level| {
            level
                .walk(center, radius + level.radius, 0, |_, other| {
                    let touching = radius + other.radius;
                    if center.distance_squared(other.center) < touching * touching && clashes(other)
                    {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                })
                .is_break()
        })
    }

    /// Calls `visit` with spheres of other owners whose gap to the given one is less than `margin` times the smaller radius.
    ///
    /// It ends when `visit` breaks. A loop over all spheres in the grid finds each pair once: from the sphere on the level of
    /// smaller radii, or within one level from the sphere of the lower owner.
    pub fn for_each_near(
        &self,
        center: DVec3,
        radius: f64,
        owner: u32,
        margin: f64,
        mut visit: impl FnMut(&GridSphere) -> ControlFlow<()>,
    ) {
        let own = self.level_of(radius);
        for (index, level) in self.levels[..=own].iter().enumerate() {
            let first_owner = if index == own { owner + 1 } else { 0 };
            let reach = radius + level.radius + margin * radius.min(level.radius);
            let done = level.walk(center, reach, first_owner, |cell, other| {
                let near = radius + other.radius + margin * radius.min(other.radius);
                // Cells that share a bucket would show a sphere twice.
                if other.owner != owner
                    && center.distance_squared(other.center) < near * near
                    && cell.is_none_or(|cell| level.cell(other.center) == cell)
                {
                    visit(other)
                } else {
                    ControlFlow::Continue(())
                }
            });
            if done.is_break() {
                return;
            }
        }
    }

    /// The largest distance of centres at which [`SphereGrid::for_each_near`] finds a sphere near one of this radius, m.
    pub fn reach(&self, radius: f64, margin: f64) -> f64 {
        let largest = self.levels.first().map_or(0.0, |level| level.radius);
        radius + largest + margin.max(0.0) * radius
    }

    fn level_of(&self, radius: f64) -> usize {
        self.levels
            .iter()
            .position(|level| level.takes(radius))
            .expect("the grid was made for this radius")
    }
}

/// A level of the grid: spheres whose radii are within a factor of two.
#[derive(Clone, Debug)]
struct Level {
    /// The largest radius, m. Cells are twice as wide, so spheres of the level that touch are in neighbouring cells.
    radius: f64,
    cells_per_metre: f64,
    /// Latest sphere of each bucket; the number of buckets is a power of two.
    heads: Vec<u32>,
    spheres: Vec<GridSphere>,
    /// Number of spheres of grids of which this one has a part; 0 if it is all.
    expected: usize,
}

impl Level {
    fn new(radius: f64) -> Self {
        Self {
            radius,
            cells_per_metre: 0.5 / radius,
            heads: vec![NONE; 64],
            spheres: Vec::new(),
            expected: 0,
        }
    }

    fn takes(&self, radius: f64) -> bool {
        radius <= self.radius && 2.0 * radius > self.radius
    }

    fn cell(&self, point: DVec3) -> [i64; 3] {
        (point * self.cells_per_metre)
            .to_array()
            .map(|x| x.floor() as i64)
    }

    /// Bucket of the cell at x = 0 of a row, before the remainder is taken. The buckets of a row follow each other in memory.
    fn row(y: i64, z: i64) -> u64 {
        (y as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add((z as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f))
    }

    fn bucket(&self, row: u64, x: i64) -> usize {
        (row.wrapping_add(x as u64) & (self.heads.len() as u64 - 1)) as usize
    }

    fn insert(&mut self, center: DVec3, radius: f64, owner: u32) {
        debug_assert!(self.spheres.last().is_none_or(|last| last.owner <= owner));
        self.spheres.push(GridSphere {
            center,
            radius,
            owner,
            next: NONE,
        });
        if self.spheres.len() > self.heads.len() {
            self.heads = vec![NONE; 4 * self.heads.len()];
            for index in 0..self.spheres.len() {
                self.link(index);
            }
        } else {
            self.link(self.spheres.len() - 1);
        }
    }

    fn link(&mut self, index: usize) {
        let [x, y, z] = self.cell(self.spheres[index].center);
        let bucket = self.bucket(Self::row(y, z), x);
        self.spheres[index].next = std::mem::replace(&mut self.heads[bucket], index as u32);
    }

    /// Visits the spheres of `first_owner` and later owners in all cells within `reach` of a point, and some others.
    ///
    /// `visit` also gets the cell for which a sphere is shown, or `None` if the spheres are not visited cell by cell.
    fn walk(
        &self,
        center: DVec3,
        reach: f64,
        first_owner: u32,
        mut visit: impl FnMut(Option<[i64; 3]>, &GridSphere) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let low = self.cell(center - reach);
        let high = self.cell(center + reach);
        let cells: f64 = (0..3)
            .map(|i| high[i] as f64 - low[i] as f64 + 1.0)
            .product();
        if cells > self.spheres.len().max(self.expected) as f64 {
            let first = self
                .spheres
                .partition_point(|sphere| sphere.owner < first_owner);
            return self.spheres[first..]
                .iter()
                .try_for_each(|sphere| visit(None, sphere));
        }
        for z in low[2]..=high[2] {
            for y in low[1]..=high[1] {
                let row = Self::row(y, z);
                for x in low[0]..=high[0] {
                    let mut index = self.heads[self.bucket(row, x)];
                    while index != NONE {
                        let sphere = &self.spheres[index as usize];
                        // A chain runs from later owners to earlier ones.
                        if sphere.owner < first_owner {
                            break;
                        }
                        visit(Some([x, y, z]), sphere)?;
                        index = sphere.next;
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::packing::overlap::tests::random;

    /// A margin so wide that a search covers four cells along an axis.
    const MARGIN: f64 = 0.5;

    #[test]
    fn each_pair_is_shown_once_though_cells_share_buckets() {
        let mut random = random(4);
        for _ in 0..50 {
            // As many spheres as there are buckets, in three times as many cells.
            let spheres: Vec<(DVec3, f64)> = (0..64)
                .map(|_| {
                    let center = DVec3::new(random(), random(), random()) - 0.5;
                    (center, 0.06 + 0.04 * random())
                })
                .collect();
            let mut grid = SphereGrid::new(spheres.iter().map(|sphere| sphere.1));
            for (index, &(center, radius)) in spheres.iter().enumerate() {
                grid.insert(center, radius, index as u32);
            }
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            for (a, &(center, radius)) in spheres.iter().enumerate() {
                grid.for_each_near(center, radius, a as u32, MARGIN, |other| {
                    found.push((a, other.owner as usize));
                    ControlFlow::Continue(())
                });
                let near = |other: &(DVec3, f64)| {
                    let gap = center.distance(other.0) - radius - other.1;
                    gap < MARGIN * radius.min(other.1)
                };
                expected.extend(
                    (a + 1..spheres.len())
                        .filter(|&b| near(&spheres[b]))
                        .map(|b| (a, b)),
                );
            }
            found.sort_unstable();
            assert!(expected.len() > 20);
            assert_eq!(found, expected);
        }
    }
}
