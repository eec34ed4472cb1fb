use super::grid::level_of;
use super::real::Real;
use super::state::State;
use crate::math::grid::{bucket, cell_at};

/// Hash bucket of each sphere, and the number of spheres in each bucket.
pub fn bin<R: Real>(state: &mut State<R>) {
    state.bucket_starts.fill(0);
    for (index, sphere) in state.spheres.iter().enumerate() {
        let level = level_of(sphere.radius, &state.params);
        let home = bucket(
            cell_at(sphere.cell, level),
            level,
            state.params.bucket_count,
        );
        state.buckets[index] = home;
        state.slots[index] = state.bucket_starts[home as usize];
        state.bucket_starts[home as usize] += 1;
    }
}
