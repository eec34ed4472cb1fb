// import: layout, dispatch

// Counting sort of the spheres into buckets. One thread a sphere, twice:
//
//   scatter       to the slot that `bin` drew, in an order that depends on timing
//   scatter_rank  to the rank of its index inside its bucket, in an order that does not

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(7) var<storage, read> buckets: array<u32>;
@group(0) @binding(8) var<storage, read> slots: array<u32>;
@group(0) @binding(9) var<storage, read> bucket_starts: array<u32>;
@group(0) @binding(10) var<storage, read_write> unsorted: array<u32>;
@group(0) @binding(11) var<storage, read_write> sorted: array<u32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn scatter(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index >= params.sphere_count {
        return;
    }
    unsorted[bucket_starts[buckets[index]] + slots[index]] = index;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn scatter_rank(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index >= params.sphere_count {
        return;
    }
    let start = bucket_starts[buckets[index]];
    let end = bucket_starts[buckets[index] + 1u];
    var rank = 0u;
    for (var k = start; k < end; k++) {
        rank += select(0u, 1u, unsorted[k] < index);
    }
    sorted[start + rank] = index;
}
