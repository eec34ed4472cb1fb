//! Bodies that are single spheres about their centres, as those of the largest piles are: side by side, value by value.
//!
//! Sixteen of them lie in the memory that they take one after the other, so a pile has them once.

use bytemuck::{cast, cast_mut, cast_slice, cast_slice_mut};

use super::lanes::{Soa4, WIDTH, read_four, write_four};
use crate::math::each::{Each, for_each_pair};
use crate::state::layout::{Body, SphereLoad};

/// The values of sixteen elements of `ROWS` times four values.
pub(super) type Columns<const ROWS: usize> = [[[f32; WIDTH]; 4]; ROWS];

/// Sixteen balls, side by side.
pub(super) type BodyColumns = Columns<5>;

/// The loads on sixteen balls, side by side.
pub(super) type LoadColumns = Columns<3>;

/// Puts balls, [`WIDTH`] at a time, side by side, and the loads on them.
#[inline(always)]
pub(super) fn fold(bodies: &mut [Body], loads: &mut [SphereLoad]) {
    for own in bodies.as_chunks_mut::<WIDTH>().0 {
        let rows = cast_slice::<Body, [[f32; 4]; 5]>(&own[..]);
        let [mut a, mut b, mut c, mut d, mut last] = [Soa4::<WIDTH>::ZERO; 5];
        read_four([&mut a, &mut b, &mut c, &mut d], rows, 0);
        last.read(rows, 4);
        *cast_mut::<_, BodyColumns>(own) = [a.0, b.0, c.0, d.0, last.0];
    }
    for own in loads.as_chunks_mut::<WIDTH>().0 {
        let rows = cast_slice::<SphereLoad, [[f32; 4]; 3]>(&own[..]);
        let mut columns = [Soa4::<WIDTH>::ZERO; 3];
        for (row, columns) in columns.iter_mut().enumerate() {
            columns.read(rows, row);
        }
        for_each_pair(cast_mut::<_, LoadColumns>(own), &columns, |own, columns| {
            *own = columns.0;
        });
    }
}

/// Puts them one after the other again.
#[inline(always)]
pub(super) fn unfold(bodies: &mut [Body], loads: &mut [SphereLoad]) {
    for own in bodies.as_chunks_mut::<WIDTH>().0 {
        let [a, b, c, d, last] = aligned(cast_mut::<_, BodyColumns>(own));
        let rows = cast_slice_mut::<Body, [[f32; 4]; 5]>(&mut own[..]);
        write_four([&a, &b, &c, &d], rows, 0);
        last.write(rows, 4);
    }
    for own in loads.as_chunks_mut::<WIDTH>().0 {
        let columns = aligned(cast_mut::<_, LoadColumns>(own));
        let rows = cast_slice_mut::<SphereLoad, [[f32; 4]; 3]>(&mut own[..]);
        for (row, columns) in columns.iter().enumerate() {
            columns.write(rows, row);
        }
    }
}

/// Balls that are side by side.
#[inline(always)]
pub(super) fn side_by_side(bodies: &[Body]) -> &[BodyColumns] {
    cast_slice(bodies.as_chunks::<WIDTH>().0)
}

/// Balls that are side by side, to be moved.
#[inline(always)]
pub(super) fn side_by_side_mut(bodies: &mut [Body]) -> &mut [BodyColumns] {
    cast_slice_mut(bodies.as_chunks_mut::<WIDTH>().0)
}

/// The loads on balls that are side by side.
#[inline(always)]
pub(super) fn loads_side_by_side(loads: &[SphereLoad]) -> &[LoadColumns] {
    cast_slice(loads.as_chunks::<WIDTH>().0)
}

/// The loads on balls that are side by side, to be changed.
#[inline(always)]
pub(super) fn loads_side_by_side_mut(loads: &mut [SphereLoad]) -> &mut [LoadColumns] {
    cast_slice_mut(loads.as_chunks_mut::<WIDTH>().0)
}

/// A copy that is aligned as vectors like it.
#[inline(always)]
pub(super) fn aligned<const ROWS: usize>(columns: &Columns<ROWS>) -> [Soa4<WIDTH>; ROWS] {
    let mut copy = [Soa4::ZERO; ROWS];
    for_each_pair(&mut copy, columns, |copy, four| copy.0 = *four);
    copy
}

/// One of sixteen elements.
#[inline(always)]
pub(super) fn of_column<const ROWS: usize>(
    columns: &Columns<ROWS>,
    lane: usize,
) -> [[f32; 4]; ROWS] {
    let mut rows = [[0.0; 4]; ROWS];
    for_each_pair(&mut rows, columns, |row, four| {
        for_each_pair(row, four, |value, values| *value = values[lane]);
    });
    rows
}

/// Takes over one of sixteen elements.
#[inline(always)]
pub(super) fn set_column<const ROWS: usize>(
    columns: &mut Columns<ROWS>,
    lane: usize,
    rows: [[f32; 4]; ROWS],
) {
    for_each_pair(columns, &rows, |four, row| {
        for_each_pair(four, row, |values, value| values[lane] = *value);
    });
}

/// The kind of each of the first `count` bodies; the others are as the first.
#[inline(always)]
pub(super) fn kinds_of<const COUNT: usize>(
    bodies: &[Soa4<COUNT>; 5],
    count: usize,
) -> [u32; COUNT] {
    let [.., own] = &bodies[1].0;
    let mut kinds = own.each(f32::to_bits);
    let first = kinds[0];
    for kind in kinds.iter_mut().skip(count) {
        *kind = first;
    }
    kinds
}

/// Loads on the spheres of a chunk, in its order.
pub(super) enum ChunkLoads<'a> {
    /// One after the other.
    Rows(&'a mut [SphereLoad]),
    /// Side by side.
    Columns(&'a mut [LoadColumns]),
}

impl ChunkLoads<'_> {
    /// See [`SphereLoad::is_kept`]; balls do not sleep.
    pub fn is_kept(&self, place: usize) -> bool {
        match self {
            ChunkLoads::Rows(loads) => loads[place].is_kept(),
            ChunkLoads::Columns(_) => false,
        }
    }

    pub fn get(&self, place: usize) -> SphereLoad {
        match self {
            ChunkLoads::Rows(loads) => loads[place],
            ChunkLoads::Columns(loads) => cast(of_column(&loads[place / WIDTH], place % WIDTH)),
        }
    }

    pub fn set(&mut self, place: usize, load: SphereLoad) {
        match self {
            ChunkLoads::Rows(loads) => loads[place] = load,
            ChunkLoads::Columns(loads) => {
                set_column(&mut loads[place / WIDTH], place % WIDTH, cast(load));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::cast_slice_mut;

    use super::*;

    #[test]
    fn balls_and_their_loads_side_by_side_and_back() {
        const COUNT: usize = 2 * WIDTH;
        let (mut bodies, mut loads) = ([Body::default(); COUNT], [SphereLoad::default(); COUNT]);
        let values = cast_slice_mut::<_, u32>(&mut bodies).iter_mut();
        let values = values.chain(cast_slice_mut::<_, u32>(&mut loads));
        (1..).zip(values).for_each(|(k, value)| *value = k);
        let (mut own, mut own_loads) = (bodies, loads);
        fold(&mut own, &mut own_loads);
        let columns = side_by_side(&own);
        for (index, body) in bodies.iter().enumerate() {
            let column = of_column(&columns[index / WIDTH], index % WIDTH);
            assert_eq!(cast::<_, Body>(column), *body);
        }
        let kinds = kinds_of(&columns[1].map(Soa4), 5);
        assert_eq!(kinds[..5], [16, 17, 18, 19, 20].map(|k| bodies[k].kind));
        assert_eq!(kinds[5..], [bodies[16].kind; WIDTH - 5]);
        let mut rows = ChunkLoads::Rows(&mut loads);
        let mut side_by_side = ChunkLoads::Columns(loads_side_by_side_mut(&mut own_loads));
        for place in 0..COUNT {
            let mut load = rows.get(place);
            assert_eq!(side_by_side.get(place), load);
            load.torque.y += 1.0;
            load.contacts += 1;
            rows.set(place, load);
            side_by_side.set(place, load);
        }
        unfold(&mut own, &mut own_loads);
        assert_eq!(own, bodies);
        assert_eq!(own_loads, loads);
    }
}
