//! Bodies that are single spheres about their centres, as those of the largest piles are: side by side, value by value.

use bytemuck::{cast, cast_slice, cast_slice_mut};

use super::lanes::{Soa4, WIDTH, read_four, write_four};
use crate::state::layout::{Body, SphereLoad};

/// Some of them, and the loads on their spheres, lane by lane.
#[derive(Debug)]
pub(super) struct BallBlock {
    /// Those of [`Body`].
    pub bodies: [Soa4<WIDTH>; 5],
    /// Those of [`SphereLoad`].
    pub loads: [Soa4<WIDTH>; 3],
}

impl BallBlock {
    /// No more than [`WIDTH`] of them.
    pub fn new(bodies: &[Body], loads: &[SphereLoad]) -> BallBlock {
        let mut block = BallBlock {
            bodies: [Soa4::ZERO; 5],
            loads: [Soa4::ZERO; 3],
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

    /// One of them.
    pub fn body(&self, lane: usize) -> Body {
        cast(self.bodies.each_ref().map(|columns| columns.bits(lane)))
    }

    /// Takes over one of them.
    pub fn set_body(&mut self, lane: usize, body: Body) {
        let rows: [[u32; 4]; 5] = cast(body);
        for (columns, row) in self.bodies.iter_mut().zip(rows) {
            columns.set_bits(lane, row);
        }
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
    bodies: &[Soa4<COUNT>; 5],
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

/// ChunkLoads on the spheres of a chunk, in its order.
pub(super) enum ChunkLoads<'a> {
    /// One after the other.
    Rows(&'a mut [SphereLoad]),
    /// Side by side.
    Blocks(&'a mut [BallBlock]),
}

impl ChunkLoads<'_> {
    /// See [`SphereLoad::is_kept`]; balls do not sleep.
    pub fn is_kept(&self, place: usize) -> bool {
        match self {
            ChunkLoads::Rows(loads) => loads[place].is_kept(),
            ChunkLoads::Blocks(_) => false,
        }
    }

    pub fn get(&self, place: usize) -> SphereLoad {
        match self {
            ChunkLoads::Rows(loads) => loads[place],
            ChunkLoads::Blocks(blocks) => {
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
            ChunkLoads::Rows(loads) => loads[place] = load,
            ChunkLoads::Blocks(blocks) => {
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
            let mut blocks = [BallBlock::new(bodies, loads)];
            assert_eq!(
                kinds_of(&blocks[0].bodies, count)[count - 1],
                bodies[count - 1].kind
            );
            let mut rows = ChunkLoads::Rows(loads);
            let mut side_by_side = ChunkLoads::Blocks(&mut blocks);
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
