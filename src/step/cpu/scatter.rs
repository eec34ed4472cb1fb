//! Pass `scatter`: the spheres in the order of their buckets.

use crate::state::State;

/// Counting sort of the spheres into buckets.
///
/// `bin` handed out slots in the order of the indices here, so the sort is stable and the second
/// half of the GPU's pass, ranking by index, has nothing left to do.
pub fn scatter(state: &mut State) {
    let State {
        buckets,
        slots,
        bucket_starts,
        sorted,
        ..
    } = state;
    for (index, (&home, &slot)) in buckets.iter().zip(slots.iter()).enumerate() {
        sorted[(bucket_starts[home as usize] + slot) as usize] = index as u32;
    }
}
