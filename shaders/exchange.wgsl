// import: layout, dispatch

// What the ranks of a cluster tell each other: elements of some bodies in a buffer, and as many one after the other, which
// go to the host and come from there. One thread for each 16 bytes of these.
//
//   exchange_take  copies the elements of own bodies, for other ranks
//   exchange_put   overwrites those of ghosts by what other ranks have sent

// The buffer.
@group(0) @binding(48) var<storage, read_write> rows: array<vec4<u32>>;

// The bodies.
@group(0) @binding(49) var<storage, read> places: array<u32>;

// Their elements, one after the other.
@group(0) @binding(50) var<storage, read_write> moved: array<vec4<u32>>;

// Where the buffer has what is at this place among the elements.
fn row_of(index: u32) -> u32 {
    let width = arrayLength(&moved) / arrayLength(&places);
    return width * places[index / width] + index % width;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn exchange_take(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index < arrayLength(&moved) {
        moved[index] = rows[row_of(index)];
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn exchange_put(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index < arrayLength(&moved) {
        rows[row_of(index)] = moved[index];
    }
}
