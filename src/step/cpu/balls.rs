//! Bodies that are single spheres about their centres, as those of the largest piles are: side by side, value by value.

use bytemuck::{cast, cast_slice, cast_slice_mut};

use super::lanes::{Columns, WIDTH, read_four, write_four};
use crate::state::layout::{Body, SphereLoad};

/// Some of them, and the loads on their spheres, lane by lane.
#[derive(Debug)]
pub(super) struct Block {
    /// Those of [`Body`].
    pub bodies: [Columns<WIDTH>; 5],
    /// Those of [`SphereLoad`].
    pub loads: [Columns<WIDTH>; 3],
}

impl Block {
    /// No more than [`WIDTH`] of them.
    pub fn new(bodies: &[Body], loads: &[SphereLoad]) -> Block {
        let mut block = Block {
            bodies: [Columns::ZERO; 5],
            loads: [Columns::ZERO; 3],
        };
        let own = cast_slice::<_, [[f32; 4]; 5]>(bodies);
        let [a, b, c, d, last] = &mut block.bodies;
        read_four([a, b, c, d], own, 0);
        last.read(own, 4);
        let own = cast_slice::<_, [[f32; 4]; 3]>(loads);
        for (row, columns) in block.loads.iter_mut().enumerate() {
            columns.read(own, row);
        }
        block
    }

    /// Gives them back.
    pub fn write(&self, bodies: &mut [Body], loads: &mut [SphereLoad]) {
        let own = cast_slice_mut::<_, [[f32; 4]; 5]>(bodies);
        let [a, b, c, d, last] = &self.bodies;
        write_four([a, b, c, d], own, 0);
        last.write(own, 4);
        let own = cast_slice_mut::<_, [[f32; 4]; 3]>(loads);
        for (row, columns) in self.loads.iter().enumerate() {
            columns.write(own, row);
        }
    }
}

/// The kind of each of the first `count` bodies; the others are as the first.
#[inline(always)]
pub(super) fn kinds_of<const COUNT: usize>(
    bodies: &[Columns<COUNT>; 5],
    count: usize,
) -> [u32; COUNT] {
    let [.., own] = &bodies[1].0;
    let mut kinds = own.map(f32::to_bits);
    let first = kinds[0];
    for kind in kinds.iter_mut().skip(count) {
        *kind = first;
    }
    kinds
}

/// Loads on the spheres of a chunk, in its order.
pub(super) enum Loads<'a> {
    /// One after the other.
    Rows(&'a mut [SphereLoad]),
    /// Side by side.
    Blocks(&'a mut [Block]),
}

impl Loads<'_> {
    /// See [`SphereLoad::is_kept`]; balls do not sleep.
    pub fn is_kept(&self, place: usize) -> bool {
        match self {
            Loads::Rows(loads) => loads[place].is_kept(),
            Loads::Blocks(_) => false,
        }
    }

    pub fn get(&self, place: usize) -> SphereLoad {
        match self {
            Loads::Rows(loads) => loads[place],
            Loads::Blocks(blocks) => {
                let columns = &blocks[place / WIDTH].loads;
                cast(
                    columns
                        .each_ref()
                        .map(|columns| columns.bits(place % WIDTH)),
                )
            }
        }
    }

    pub fn set(&mut self, place: usize, load: SphereLoad) {
        match self {
            Loads::Rows(loads) => loads[place] = load,
            Loads::Blocks(blocks) => {
                let rows: [[u32; 4]; 3] = cast(load);
                for (columns, row) in blocks[place / WIDTH].loads.iter_mut().zip(rows) {
                    columns.set_bits(place % WIDTH, row);
                }
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
        let (mut bodies, mut loads) = ([Body::default(); WIDTH], [SphereLoad::default(); WIDTH]);
        let values = cast_slice_mut::<_, u32>(&mut bodies).iter_mut();
        let values = values.chain(cast_slice_mut::<_, u32>(&mut loads));
        (1..).zip(values).for_each(|(k, value)| *value = k);
        for count in [WIDTH, 5] {
            let (bodies, loads) = (&bodies[..count], &mut loads[..count]);
            let mut blocks = [Block::new(bodies, loads)];
            assert_eq!(
                kinds_of(&blocks[0].bodies, count)[count - 1],
                bodies[count - 1].kind
            );
            let mut rows = Loads::Rows(loads);
            let mut side_by_side = Loads::Blocks(&mut blocks);
            for place in 0..count {
                let mut load = rows.get(place);
                assert_eq!(side_by_side.get(place), load);
                load.torque.y += 1.0;
                load.contacts += 1;
                rows.set(place, load);
                side_by_side.set(place, load);
            }
            let mut own = vec![Body::default(); count];
            let mut own_loads = vec![SphereLoad::default(); count];
            blocks[0].write(&mut own, &mut own_loads);
            assert_eq!(own, bodies);
            assert_eq!(own_loads, loads);
        }
    }
}
