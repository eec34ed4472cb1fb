// import: layout, dispatch, grid, rotation, render/view, render/ball, render/quantity

// Where the bodies are and the values of what colours mean. One thread a sphere, of all of them or every few. All sums and maxima are of integers,
// so their order does not matter.

// Parts of a cell, along each side, in which places are measured.
const PARTS: f32 = 16.0;

struct Survey {
    // The box that holds all spheres, in parts of a cell from the cell of the camera on.
    first_x: atomic<i32>,
    first_y: atomic<i32>,
    first_z: atomic<i32>,
    last_x: atomic<i32>,
    last_y: atomic<i32>,
    last_z: atomic<i32>,
    // Bits of the largest and the least value; those of floats that are not negative are ordered as these are.
    most: atomic<u32>,
    least: atomic<u32>,
    // How many spheres have which value, by the highest bits of it.
    counts: array<atomic<u32>, BINS>,
    // How much of the volume is where along x, along y and along z, in slices of the box where the bodies were last.
    slices: array<atomic<u32>, 3u * SURVEY_SLICES>,
}

@group(0) @binding(37) var<storage, read_write> survey: Survey;

@compute @workgroup_size(WORKGROUP_SIZE)
fn survey_spheres(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local) * view.survey_stride;
    if index >= params.sphere_count {
        return;
    }
    let body = bodies[spheres[index].body];
    let member = member_at(index, body);
    let arm = rotate(quaternion(body.orientation), member.center);
    var center = metres(body.offset, params.cell_size) + upright(arm, params);
    let place = from_camera(body.cell, center, params);
    if deforms(params) {
        center += params.tilt * dot(params.gradient, vec3<f32>(body.cell) * params.cell_size + center);
    }
    // What is farther away is taken to be there.
    let most = vec3<i32>(1 << 24u);
    let home = clamp(body.cell - view.camera_cell, -most, most) * i32(PARTS);
    let step = params.cell_size / PARTS;
    let first = home + vec3<i32>(floor((center - member.radius) / step));
    let last = home + vec3<i32>(floor((center + member.radius) / step));
    atomicMin(&survey.first_x, first.x);
    atomicMin(&survey.first_y, first.y);
    atomicMin(&survey.first_z, first.z);
    atomicMax(&survey.last_x, last.x);
    atomicMax(&survey.last_y, last.y);
    atomicMax(&survey.last_z, last.z);
    // What is no number counts as nothing.
    let value = quantity(index);
    let bits = select(0u, bitcast<u32>(value), value > 0.0);
    atomicMax(&survey.most, bits);
    atomicMin(&survey.least, bits);
    atomicAdd(&survey.counts[min(bits >> BIN_SHIFT, BINS - 1u)], 1u);
    let size = member.radius;
    let weight = u32(clamp(view.survey_weight * size * size * size, 1.0, 1048576.0));
    let part = (place - view.bodies_min) / view.bodies_size;
    for (var axis = 0u; axis < 3u; axis++) {
        let slice = u32(clamp(part[axis], 0.0, 0.9999) * f32(SURVEY_SLICES));
        atomicAdd(&survey.slices[axis * SURVEY_SLICES + slice], weight);
    }
}
