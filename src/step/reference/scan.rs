use super::real::Real;
use super::state::State;

/// Exclusive prefix sum of the bucket counts: where each bucket starts.
pub fn scan<R: Real>(state: &mut State<R>) {
    let mut before = 0;
    for start in &mut state.bucket_starts {
        let count = *start;
        *start = before;
        before += count;
    }
}
