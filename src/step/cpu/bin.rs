//! Pass `bin`: spheres into hash buckets of the grid.

use crate::math::grid::{bucket, cell_at};
use crate::state::State;
use crate::state::grid::level_of;

/// Hash bucket of each sphere, and the number of spheres in each bucket.
pub fn bin(state: &mut State) {
    let State {
        params,
        spheres,
        buckets,
        slots,
        bucket_starts,
        ..
    } = state;
    bucket_starts.fill(0);
    for ((sphere, home), slot) in spheres.iter().zip(buckets).zip(slots) {
        let level = level_of(sphere.radius, params);
        *home = bucket(cell_at(sphere.cell, level), level, params.bucket_count);
        let count = &mut bucket_starts[*home as usize];
        *slot = *count;
        *count += 1;
    }
}
