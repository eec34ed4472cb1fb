//! The grids: places in them and their spatial hash; the twin of `shaders/shared/grid.wgsl`.

use std::ops::Range;

use glam::{IVec3, UVec3, Vec3};

use super::wgsl::shared_constants;

shared_constants! {
    /// Hash factor of a cell's y; odd, near 2^32 / golden ratio.
    pub const HASH_Y: u32 = 0x9e37_79b1;
    /// Hash factor of a cell's z; odd.
    pub const HASH_Z: u32 = 0x85eb_ca77;
    /// Hash factor of a level; odd.
    pub const HASH_LEVEL: u32 = 0xc2b2_ae3d;
}

/// The cell of level `level` that holds the finest cell `cell`.
#[inline]
pub fn cell_at(cell: IVec3, level: u32) -> IVec3 {
    cell >> level
}

/// Bucket of a cell of a level; `bucket_count` is a power of two.
///
/// Linear in x, so that the cells of a row of a neighbourhood lie in adjacent buckets: 27 look-ups
/// become 9. Distinct cells may share a bucket, so whoever reads one compares cells.
#[inline]
pub fn bucket(cell: IVec3, level: u32, bucket_count: u32) -> u32 {
    let row = (cell.y as u32)
        .wrapping_mul(HASH_Y)
        .wrapping_add((cell.z as u32).wrapping_mul(HASH_Z))
        .wrapping_add(level.wrapping_mul(HASH_LEVEL));
    (cell.x as u32).wrapping_add(row) & (bucket_count - 1)
}

/// The image of a cell in the periodic box: from 0 to below `period` along the axes where that is
/// not 0.
#[inline(always)]
pub fn wrap(cell: IVec3, period: IVec3) -> IVec3 {
    if period == IVec3::ZERO {
        return cell;
    }
    let inside = cell.rem_euclid(period.max(IVec3::ONE));
    IVec3::select(period.cmpgt(IVec3::ZERO), inside, cell)
}

/// From one cell in the periodic box to the nearest image of another that is `cells` away. The way
/// back is the opposite, also where two images are equally near.
#[inline(always)]
pub fn nearest(cells: IVec3, period: IVec3) -> IVec3 {
    if period == IVec3::ZERO {
        return cells;
    }
    let half = period >> 1;
    cells - IVec3::select(cells.cmpgt(half), period, IVec3::ZERO)
        + IVec3::select(cells.cmplt(-half), period, IVec3::ZERO)
}

/// From one place in the periodic box to the nearest image of another, m, of which the cell is `cells` away and the offset in it
/// `offset` (m). The way back is the opposite, to the bit.
#[inline(always)]
pub fn shortest_way(cells: IVec3, offset: Vec3, cell_size: Vec3, period: IVec3) -> Vec3 {
    let cells = nearest(cells, period);
    let way = cells.as_vec3() * cell_size + offset;
    if period == IVec3::ZERO {
        return way;
    }
    // Cells alone do not tell which image is nearest in a box of few.
    let half = 0.5 * period.as_vec3() * cell_size;
    let round = IVec3::select(period.cmpgt(IVec3::ZERO), period, IVec3::ZERO);
    let cells = cells - IVec3::select(way.cmpgt(half), round, IVec3::ZERO)
        + IVec3::select(way.cmplt(-half), round, IVec3::ZERO);
    cells.as_vec3() * cell_size + offset
}

/// The shortest way between images, m, in a periodic box that is tilted, of what it was before that. Its `sides` are 0 along axes
/// that are not periodic, and it is tilted by `tilt` for each metre along `gradient`: at most by half of its length.
#[inline(always)]
pub fn tilted_way(upright: Vec3, sides: Vec3, tilt: Vec3, gradient: Vec3) -> Vec3 {
    let way = upright + tilt * gradient.dot(upright);
    let periodic = sides.cmpgt(Vec3::ZERO);
    let (before, behind) = (way.cmplt(-(0.5 * sides)), way.cmpgt(0.5 * sides));
    let way = Vec3::select(periodic & behind, way - sides, way);
    Vec3::select(periodic & before, way + sides, way)
}

/// The parts of a row of `count` cells from `first` on, in the periodic box: a row that meets its end
/// goes on at cell 0.
#[inline]
pub fn row_parts(first: i32, count: i32, period: i32) -> [Range<i32>; 2] {
    let before = if period > 0 {
        count.min(period - first)
    } else {
        count
    };
    [first..first + before, 0..count - before]
}

/// Runs of sorted spheres that hold the cells `cells` (along x) of the row of `row`: two half-open
/// ranges, the second of them empty unless the row wraps around the end of the table.
#[inline]
pub fn row_ranges(
    row: IVec3,
    cells: &Range<i32>,
    level: u32,
    bucket_starts: &[u32],
) -> [(u32, u32); 2] {
    let bucket_count = bucket_starts.len() as u32 - 1;
    let start = bucket(row.with_x(cells.start), level, bucket_count);
    // A row longer than the table would meet its own start again.
    let end = start + (cells.len() as u32).min(bucket_count);
    let wrapped = end.saturating_sub(bucket_count);
    [
        (
            bucket_starts[start as usize],
            bucket_starts[end.min(bucket_count) as usize],
        ),
        (0, bucket_starts[wrapped as usize]),
    ]
}

/// Moves whole cells from `offset` (m) to `cell`, so that the offset lies within its cell again, and
/// the cell in the periodic box.
#[inline(always)]
pub fn settle(cell: IVec3, offset: Vec3, cell_size: Vec3, period: IVec3) -> (IVec3, Vec3) {
    let cells = (offset / cell_size).floor();
    (
        wrap(cell + integers(cells), period),
        offset - cells * cell_size,
    )
}

/// The metres that a body's `offset` stands for.
#[inline(always)]
pub fn metres(offset: UVec3, cell_size: Vec3) -> Vec3 {
    offset.as_vec3() * (FRACTION * cell_size)
}

/// A body's cell in the periodic box and its offset after it has moved by `way` (m). `dither` is where
/// rounding to whole units starts to go up, see [`rounding`](crate::math::rounding).
#[inline(always)]
pub fn travel(
    cell: IVec3,
    offset: UVec3,
    way: Vec3,
    cell_size: Vec3,
    period: IVec3,
    dither: f32,
) -> (IVec3, UVec3) {
    let cells = way / cell_size;
    let whole = cells.round();
    let part = ((cells - whole) / FRACTION + dither)
        .floor()
        .max(Vec3::splat(-MOST))
        .min(Vec3::splat(MOST));
    let part = integers(part);
    let moved = offset.wrapping_add(part.as_uvec3());
    let over = part.cmpgt(IVec3::ZERO) & moved.cmplt(offset);
    let under = part.cmplt(IVec3::ZERO) & moved.cmpgt(offset);
    let carry = IVec3::select(over, IVec3::ONE, IVec3::ZERO)
        - IVec3::select(under, IVec3::ONE, IVec3::ZERO);
    let cell = cell.wrapping_add(integers(whole) + carry);
    (wrap(cell, period), moved)
}

/// Whether a body may move by `way` (m) in one step: numbers farther than 2²⁰ cells, or that are no
/// numbers, are the end of a simulation.
#[inline(always)]
pub fn is_sane(way: Vec3, cell_size: Vec3) -> bool {
    way.is_finite() && way.abs().cmplt(1_048_576.0 * cell_size).all()
}

/// The integer that the whole number `number` is; 0 for one that an `i32` cannot hold, or none at all.
///
/// A cast has to give the nearest one that it can hold, and compilers do that one lane at a time.
#[inline(always)]
pub fn integer(number: f32) -> i32 {
    let held = if number.abs() <= MOST { number } else { 0.0 };
    // SAFETY: `held` is a number, and an `i32` can hold it.
    unsafe { held.to_int_unchecked() }
}

/// Nearest integers, component by component.
#[inline(always)]
pub fn integers(numbers: Vec3) -> IVec3 {
    IVec3::new(integer(numbers.x), integer(numbers.y), integer(numbers.z))
}

/// The unit of a body's offset, as a fraction of a cell: 2⁻³².
pub const FRACTION: f32 = 1.0 / 4_294_967_296.0;

/// The largest `f32` that an `i32` can hold.
const MOST: f32 = 2_147_483_520.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rounding::dither;

    #[test]
    #[cfg_attr(miri, ignore = "many thousand steps")]
    fn a_journey_in_small_steps_ends_where_one_step_does() {
        let (mut cell, mut offset) = (IVec3::new(-5, 0, 7), UVec3::new(1 << 31, 0, u32::MAX));
        let step = Vec3::new(-3e-7, 2e-7, 1e-6);
        for _ in 0..1_000_000 {
            (cell, offset) = travel(cell, offset, step, Vec3::splat(0.1), IVec3::ZERO, 0.5);
        }
        let exact = glam::DVec3::new(-4.5, 0.0, 8.0) * 0.1 + step.as_dvec3() * 1e6;
        let got = cell.as_dvec3() * 0.1 + offset.as_dvec3() * f64::from(FRACTION) * 0.1;
        assert!((got - exact).length() < 1e-5, "{got} and {exact}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "many thousand steps")]
    fn steps_of_less_than_a_unit_add_up() {
        let unit = FRACTION * 0.1;
        for part in [-0.7, -0.2, 0.01, 0.3, 0.5, 0.9_f32] {
            let (mut cell, mut offset) = (IVec3::ZERO, UVec3::splat(1 << 31));
            let way = Vec3::new(part * unit, 0.0, -part * unit);
            for step in 0..100_000 {
                let dither = dither(step);
                (cell, offset) = travel(cell, offset, way, Vec3::splat(0.1), IVec3::ZERO, dither);
            }
            let moved = offset.as_ivec3().wrapping_sub(IVec3::splat(i32::MIN));
            assert_eq!((cell, moved.y), (IVec3::ZERO, 0));
            // Chance leaves it off by some sqrt(n)/2.
            for (got, expected) in [(moved.x, part), (moved.z, -part)] {
                let error = got as f32 - expected * 1e5;
                assert!(error.abs() < 1000.0, "{part}: off by {error} units");
            }
        }
    }

    #[test]
    fn cells_are_carried_both_ways() {
        let go = |cell, offset, way| travel(cell, offset, way, Vec3::ONE, IVec3::ZERO, 0.5);
        let start = (IVec3::ZERO, UVec3::splat(10));
        let there = go(start.0, start.1, Vec3::new(-0.4, 2.6, 0.5));
        assert_eq!(there.0, IVec3::new(-1, 2, 0));
        let back = go(there.0, there.1, Vec3::new(0.4, -2.6, -0.5));
        assert_eq!(back.0, start.0);
        assert!((back.1.as_ivec3() - start.1.as_ivec3()).abs().max_element() < 1024);
    }

    #[test]
    fn a_cell_far_outside_the_box_has_one_image_in_it() {
        let period = IVec3::new(12, 0, 3);
        for times in -5..=5 {
            let cell = IVec3::new(7 + 12 * times, -9, 2 + 3 * times);
            assert_eq!(wrap(cell, period), IVec3::new(7, -9, 2));
        }
        let way = Vec3::new(-11.5, 40.0, 30.0);
        let (cell, _) = travel(IVec3::splat(1), UVec3::ZERO, way, Vec3::ONE, period, 0.5);
        assert_eq!(cell, IVec3::new(1, 41, 1));
    }

    #[test]
    fn the_way_to_the_nearest_image_is_the_way_back_turned_round() {
        for period in [0, 3, 4, 6, 7, 12] {
            let range = if period == 0 { 20 } else { period };
            for way in 1 - range..range {
                let found = nearest(IVec3::splat(way), IVec3::splat(period)).x;
                assert_eq!(
                    found,
                    -nearest(IVec3::splat(-way), IVec3::splat(period)).x,
                    "{way} of {period}"
                );
                let images = [way - period, way, way + period].map(i32::abs);
                assert_eq!(Some(&found.abs()), images.iter().min(), "{way} of {period}");
            }
        }
    }

    #[test]
    fn a_row_goes_once_around_a_periodic_box() {
        for (first, count, period) in [
            (-4, 3, 0),
            (1, 3, 0),
            (0, 3, 3),
            (2, 3, 3),
            (5, 3, 6),
            (3, 4, 8),
        ] {
            let cells = row_parts(first, count, period).into_iter().flatten();
            let expected =
                (first..first + count).map(|x| wrap(IVec3::splat(x), IVec3::splat(period)).x);
            assert!(cells.eq(expected), "{first}, {count} of {period}");
        }
    }
    #[test]
    fn a_bucket_is_that_of_the_formula() {
        assert_eq!(cell_at(IVec3::new(-5, 4, 7), 2), IVec3::new(-2, 1, 1));
        for (cell, level, count) in [
            (IVec3::new(3, -2, 5), 0, 1 << 10),
            (IVec3::new(-7, 11, -4), 3, 1 << 16),
            (IVec3::ZERO, 1, 4),
        ] {
            let [x, y, z] = cell.to_array().map(i64::from);
            let row = y * i64::from(HASH_Y) + z * i64::from(HASH_Z);
            let sum = x + row + i64::from(level) * i64::from(HASH_LEVEL);
            let expected = sum.rem_euclid(i64::from(count)) as u32;
            assert_eq!(bucket(cell, level, count), expected, "{cell}");
        }
    }

    #[test]
    fn the_runs_of_a_row_have_each_of_its_buckets_once() {
        let starts: Vec<u32> = (0..=8).collect();
        for y in 0..8 {
            for count in [1, 3, 8, 20] {
                let (row, cells) = (IVec3::new(0, y, 2), -2..count - 2);
                let runs = row_ranges(row, &cells, 1, &starts).into_iter();
                let mut found: Vec<u32> = runs.flat_map(|(start, end)| start..end).collect();
                found.sort_unstable();
                let buckets = cells.map(|x| bucket(row.with_x(x), 1, 8));
                let mut expected: Vec<u32> = buckets.collect();
                expected.sort_unstable();
                expected.dedup();
                assert_eq!(found, expected, "{count} cells at {y}");
            }
        }
    }

    #[test]
    fn the_shortest_way_is_that_to_the_nearest_of_all_images() {
        let (size, period) = (Vec3::new(0.5, 0.25, 2.0), IVec3::new(4, 5, 0));
        let sides = size * period.as_vec3();
        for x in -3..=3 {
            for part in [-0.4, -0.1, 0.0, 0.3] {
                let (cells, offset) = (IVec3::new(x, -x, 9), part * size);
                let found = shortest_way(cells, offset, size, period);
                let way = cells.as_vec3() * size + offset;
                let nearest = [-1.0, 0.0, 1.0].map(|box_| (way + box_ * sides).abs());
                let nearest = nearest.into_iter().reduce(Vec3::min).unwrap();
                assert!((found.abs() - nearest).length() < 1e-6, "{cells} {offset}");
                let back = shortest_way(-cells, -offset, size, period);
                assert_eq!(back, -found, "{cells} {offset}");
                let alone = shortest_way(cells, offset, size, IVec3::ZERO);
                assert_eq!(alone, way);
            }
        }
    }

    #[test]
    fn a_way_in_a_tilted_box_is_shifted_and_goes_to_the_nearest_image() {
        let (sides, tilt) = (Vec3::new(2.0, 3.0, 0.0), Vec3::new(0.25, 0.0, 0.0));
        for x in [-1.0, -0.75, 0.0, 0.5, 1.0] {
            for y in [-1.5, -1.0, 0.0, 1.0, 1.5_f32] {
                let found = tilted_way(Vec3::new(x, y, 7.0), sides, tilt, Vec3::Y);
                let shifted = x + 0.25 * y;
                let expected = match shifted.abs() > 1.0 {
                    true => shifted - 2.0 * shifted.signum(),
                    false => shifted,
                };
                assert_eq!(found, Vec3::new(expected, y, 7.0), "{x} {y}");
                let back = tilted_way(-Vec3::new(x, y, 7.0), sides, tilt, Vec3::Y);
                assert_eq!(back, -found);
            }
        }
    }

    #[test]
    fn an_offset_settles_in_its_cell_and_too_long_a_way_is_none() {
        let (size, period) = (Vec3::new(0.5, 1.0, 2.0), IVec3::new(4, 0, 0));
        let (cell, offset) = settle(
            IVec3::new(3, 3, 3),
            Vec3::new(0.75, -0.25, 5.0),
            size,
            period,
        );
        assert_eq!(cell, IVec3::new(0, 2, 5));
        assert_eq!(offset, Vec3::new(0.25, 0.75, 1.0));
        let half = metres(UVec3::splat(1 << 31), size);
        assert_eq!(half, 0.5 * size);
        let cells = |count: f32| Vec3::new(0.0, 0.0, count * size.z);
        assert!(is_sane(cells(-1_048_575.0), size));
        assert!(!is_sane(cells(-1_048_577.0), size));
        assert!(!is_sane(Vec3::new(f32::NAN, 0.0, 0.0), size));
        assert_eq!(
            [-3.0, 2.147e9, 3e9, f32::NAN].map(integer),
            [-3, 2_147_000_064, 0, 0]
        );
    }
}
