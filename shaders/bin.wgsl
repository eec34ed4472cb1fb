// import: layout, dispatch, grid

// Hash bucket of each sphere, and the number of spheres in each bucket. One thread a sphere.
// The counts are cleared before this runs.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(6) var<storage, read> spheres: array<Sphere>;
@group(0) @binding(8) var<storage, read_write> buckets: array<u32>;
@group(0) @binding(9) var<storage, read_write> slots: array<u32>;
@group(0) @binding(10) var<storage, read_write> bucket_starts: array<atomic<u32>>;

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
    let home = bucket(spheres[index].cell, params.bucket_count);
    buckets[index] = home;
    slots[index] = atomicAdd(&bucket_starts[home], 1u);
}
