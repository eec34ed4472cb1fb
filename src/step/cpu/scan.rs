//! Pass `scan`: where each bucket starts.

use crate::state::State;

/// Exclusive prefix sum of the bucket counts: where each bucket starts.
pub fn scan(state: &mut State) {
    let mut total = 0;
    for start in &mut state.bucket_starts {
        let count = *start;
        *start = total;
        total += count;
    }
}
