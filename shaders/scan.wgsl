// import: dispatch

// Exclusive prefix sum of counts, in place; the last element gets the sum of all. The buckets'
// starts and, inside `neighbours`, those of the lists are made by it. Reduce, then scan: barriers
// hold within a workgroup only, so no workgroup may wait for another.
//
//   scan_blocks  one workgroup a block of SCAN_BLOCK counts: scans it, writes its sum
//   scan_sums    one workgroup: scans the sums of the blocks
//   scan_add     one workgroup a block: adds the sum of all blocks before it

@group(0) @binding(17) var<storage, read_write> counts: array<u32>;
@group(0) @binding(18) var<storage, read_write> block_sums: array<u32>;

const PER_THREAD: u32 = SCAN_BLOCK / WORKGROUP_SIZE;

var<workgroup> partial: array<u32, WORKGROUP_SIZE>;

// The sum of `value` over all threads before this one; `partial[WORKGROUP_SIZE - 1]` holds the
// sum over all threads afterwards.
fn sum_before(value: u32, local: u32) -> u32 {
    partial[local] = value;
    workgroupBarrier();
    for (var reach = 1u; reach < WORKGROUP_SIZE; reach *= 2u) {
        var sum = partial[local];
        if local >= reach {
            sum += partial[local - reach];
        }
        workgroupBarrier();
        partial[local] = sum;
        workgroupBarrier();
    }
    return partial[local] - value;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn scan_blocks(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let count = arrayLength(&counts) - 1u;
    let block = workgroup_index(workgroup, workgroups);
    let first = block * SCAN_BLOCK + local * PER_THREAD;
    var sum = 0u;
    for (var k = first; k < min(first + PER_THREAD, count); k++) {
        sum += counts[k];
    }
    var start = sum_before(sum, local);
    for (var k = first; k < min(first + PER_THREAD, count); k++) {
        let next = start + counts[k];
        counts[k] = start;
        start = next;
    }
    if local == WORKGROUP_SIZE - 1u && block < arrayLength(&block_sums) {
        block_sums[block] = partial[local];
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn scan_sums(@builtin(local_invocation_index) local: u32) {
    let count = arrayLength(&counts) - 1u;
    let blocks = (count + SCAN_BLOCK - 1u) / SCAN_BLOCK;
    var before = 0u;
    for (var first = 0u; first < blocks; first += WORKGROUP_SIZE) {
        let k = first + local;
        var sum = 0u;
        if k < blocks {
            sum = block_sums[k];
        }
        let start = before + sum_before(sum, local);
        if k < blocks {
            block_sums[k] = start;
        }
        before += partial[WORKGROUP_SIZE - 1u];
        workgroupBarrier();
    }
    if local == 0u {
        counts[count] = before;
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn scan_add(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let count = arrayLength(&counts) - 1u;
    let block = workgroup_index(workgroup, workgroups);
    let first = block * SCAN_BLOCK + local;
    for (var k = first; k < min((block + 1u) * SCAN_BLOCK, count); k += WORKGROUP_SIZE) {
        counts[k] += block_sums[block];
    }
}
