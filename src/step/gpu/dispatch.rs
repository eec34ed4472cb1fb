use crate::state::layout::WORKGROUP_SIZE;

/// WebGPU's default limit of workgroups in one dimension.
const MOST_IN_A_ROW: u64 = 65_535;

/// Workgroups to dispatch for `threads` threads: one row, or as many rows of nearly equal length
/// as its limit asks for. `shaders/shared/dispatch.wgsl` turns them back into an index; threads
/// past the end return at once.
#[doc(hidden)]
pub fn workgroups_for(threads: u64) -> [u32; 3] {
    grid(threads.div_ceil(u64::from(WORKGROUP_SIZE)))
}

/// Rows of workgroups to dispatch for a number of workgroups.
pub(super) fn grid(workgroups: u64) -> [u32; 3] {
    let rows = workgroups.div_ceil(MOST_IN_A_ROW).max(1);
    [workgroups.div_ceil(rows) as u32, rows as u32, 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_is_covered_within_the_limits() {
        for threads in [
            0,
            1,
            2,
            63,
            64,
            65,
            1000,
            65_537,
            65_535 * 64,
            65_535 * 64 + 1,
            16_777_217,
            50_000_000,
            u64::from(u32::MAX),
        ] {
            let [x, y, z] = workgroups_for(threads);
            let covered = u64::from(x) * u64::from(y) * u64::from(WORKGROUP_SIZE);
            assert!(
                covered >= threads,
                "{threads} threads: {x} x {y} workgroups"
            );
            assert!(u64::from(x) <= MOST_IN_A_ROW && u64::from(y) <= MOST_IN_A_ROW && z == 1);
            // Less than a row of workgroups is wasted.
            assert!(covered < threads + u64::from(WORKGROUP_SIZE) * u64::from(y.max(1) + 1));
        }
    }

    #[test]
    fn the_index_of_the_last_thread_is_exact_beyond_f32() {
        // What dispatch.wgsl computes, for the last thread of a dispatch of 16.8 million.
        let threads = 16_777_219_u64;
        let [x, y, _] = workgroups_for(threads);
        let last = threads - 1;
        let group = last / u64::from(WORKGROUP_SIZE);
        let (gx, gy) = (group % u64::from(x), group / u64::from(x));
        assert!(gy < u64::from(y));
        let index = (gy as u32 * x + gx as u32) * WORKGROUP_SIZE + (last % 64) as u32;
        assert_eq!(u64::from(index), last);
    }
}
