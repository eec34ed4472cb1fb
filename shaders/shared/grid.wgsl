// The spatial hash; the twin of src/grid.rs.

// Linear in x, so that the three cells of a row lie in adjacent buckets.
fn bucket(cell: vec3<i32>, bucket_count: u32) -> u32 {
    let row = bitcast<u32>(cell.y) * HASH_Y + bitcast<u32>(cell.z) * HASH_Z;
    return (bitcast<u32>(cell.x) + row) & (bucket_count - 1u);
}

// Moves whole cells from `offset` to `cell`, so that the offset lies within its cell again.
struct Place {
    cell: vec3<i32>,
    offset: vec3<f32>,
}

fn settle(cell: vec3<i32>, offset: vec3<f32>, cell_size: f32) -> Place {
    let cells = floor(offset / cell_size);
    return Place(cell + vec3<i32>(cells), offset - cells * cell_size);
}
