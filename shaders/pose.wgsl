// import: layout, dispatch, grid, rotation, shares, posed

// Position and velocity of each sphere, from its body; and the word on whether this step builds
// the neighbour lists.
//
//   pose_box     one thread, where the box deforms
//   pose         one thread a sphere
//   pose_decide  one thread: the word alone, where the step before has posed the spheres, or nobody reads them
//   pose_listed  one thread a sphere, where lists are built and nobody has posed the spheres

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> properties: array<BodyProperties>;
@group(0) @binding(2) var<storage, read> members: array<Member>;
@group(0) @binding(5) var<storage, read> bodies: array<Body>;
@group(0) @binding(6) var<storage, read_write> spheres: array<Sphere>;
@group(0) @binding(16) var<storage, read_write> stats: Stats;

// Workgroups of the passes that build the lists: first what they need, then what they get in this
// step, which is nothing while the lists hold.
@group(0) @binding(19) var<storage, read_write> list_dispatch: array<u32>;

// Whether this step may build the lists. The passes that do so cost time even when they get no
// threads, so the host gives most steps none of them; a step that finds its lists stale, and may not
// build them, is not taken.
override MAY_BUILD: bool = true;

fn decide() {
    stats.step = stats.steps;
    // A body that is lost ends the run: what came after would mean nothing.
    let stopped = stats.full | select(0u, 1u, atomicLoad(&stats.runaway) != 0u);
    if !MAY_BUILD {
        stats.rebuilding = 0u;
        stats.halted = atomicLoad(&stats.stale) | stopped;
        return;
    }
    let wanted = atomicExchange(&stats.stale, 0u) | atomicExchange(&stats.due, 0u);
    let rebuilding = select(wanted, 0u, stopped == 1u);
    stats.rebuilding = rebuilding;
    stats.halted = stopped;
    stats.rebuilds += rebuilding;
    let half = arrayLength(&list_dispatch) / 2u;
    for (var k = 0u; k < half; k++) {
        list_dispatch[half + k] = rebuilding * list_dispatch[k];
    }
}

// The same parameters, for who changes them.
@group(0) @binding(56) var<storage, read_write> next_params: Params;

// Has the box be as it is in this step.
@compute @workgroup_size(1)
fn pose_box() {
    let steps = f32(stats.steps - next_params.first_step);
    next_params.cell_size = next_params.first_cell_size + next_params.growth * steps;
    next_params.tilt = next_params.first_tilt + next_params.tilting * steps;
}

@compute @workgroup_size(1)
fn pose_decide() {
    decide();
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn pose(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index == 0u {
        decide();
    }
    pose_sphere(index);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn pose_listed(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    pose_sphere(thread_index(workgroup, workgroups, local));
}

fn pose_sphere(index: u32) {
    if index >= params.sphere_count {
        return;
    }
    let own = spheres[index].body;
    let body = bodies[own];
    if (body.still & ASLEEP) != 0u && (spheres[index].tags & ASLEEP) != 0u {
        return;
    }
    let constant = properties[body.kind];
    let member = members[constant.first_member + (index - body.first_sphere)];
    spheres[index] = posed(own, body, constant, member);
}
