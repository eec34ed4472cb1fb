// import: layout, dispatch, grid

// Hash bucket of each sphere, and the number of spheres in each bucket.
//
//   bin_clear  one thread a bucket, and one more: clears the counts
//   bin        one thread a sphere: counts

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(6) var<storage, read> spheres: array<Sphere>;
@group(0) @binding(7) var<storage, read_write> buckets: array<u32>;
@group(0) @binding(8) var<storage, read_write> slots: array<u32>;
@group(0) @binding(9) var<storage, read_write> bucket_starts: array<atomic<u32>>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn bin_clear(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index <= params.bucket_count {
        atomicStore(&bucket_starts[index], 0u);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn bin(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index >= params.sphere_count {
        return;
    }
    let level = level_of(spheres[index].radius, params);
    let home = bucket(cell_at(spheres[index].cell, level), level, params.bucket_count);
    buckets[index] = home;
    slots[index] = atomicAdd(&bucket_starts[home], 1u);
}
