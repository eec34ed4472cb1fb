//! The spatial hash; the twin of `shaders/shared/grid.wgsl`.

use glam::IVec3;

/// Hash factor of a cell's y; odd, near 2^32 / golden ratio.
pub const HASH_Y: u32 = 0x9e37_79b1;
/// Hash factor of a cell's z; odd.
pub const HASH_Z: u32 = 0x85eb_ca77;

/// Bucket of a cell; `bucket_count` is a power of two.
///
/// Linear in x, so that the three cells of a row of a neighbourhood lie in adjacent buckets: 27
/// look-ups become 9. Distinct cells may share a bucket, so whoever reads one compares cells.
pub fn bucket(cell: IVec3, bucket_count: u32) -> u32 {
    let row = (cell.y as u32)
        .wrapping_mul(HASH_Y)
        .wrapping_add((cell.z as u32).wrapping_mul(HASH_Z));
    (cell.x as u32).wrapping_add(row) & (bucket_count - 1)
}

/// Runs of sorted spheres that hold the three cells of the row of `center` at `(dy, dz)`: two
/// half-open ranges, the second of them empty unless the row wraps around the end of the table.
pub fn row_ranges(center: IVec3, dy: i32, dz: i32, bucket_starts: &[u32]) -> [(u32, u32); 2] {
    let bucket_count = bucket_starts.len() as u32 - 1;
    let first = bucket(center + IVec3::new(-1, dy, dz), bucket_count);
    let last = first + 3;
    let wrapped = last.saturating_sub(bucket_count);
    [
        (
            bucket_starts[first as usize],
            bucket_starts[last.min(bucket_count) as usize],
        ),
        (0, bucket_starts[wrapped as usize]),
    ]
}
