use super::real::Real;
use super::state::State;

/// Counting sort of the spheres into buckets. `bin` handed out slots in the order of the indices, so that each
/// sphere is at its rank already.
pub fn scatter<R: Real>(state: &mut State<R>) {
    for index in 0..state.spheres.len() {
        let start = state.bucket_starts[state.buckets[index] as usize];
        state.sorted[(start + state.slots[index]) as usize] = index as u32;
    }
}
