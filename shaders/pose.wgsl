// import: layout, dispatch, grid, rotation

// Position and velocity of each sphere, from its body. One thread a sphere.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> properties: array<BodyProperties>;
@group(0) @binding(2) var<storage, read> members: array<Member>;
@group(0) @binding(5) var<storage, read> bodies: array<Body>;
@group(0) @binding(6) var<storage, read_write> spheres: array<Sphere>;
@group(0) @binding(7) var<storage, read_write> motions: array<Motion>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn pose(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index >= params.sphere_count {
        return;
    }
    let member = members[index];
    let body = bodies[member.body];
    let constant = properties[member.body];
    let arm = rotate(body.orientation, member.center);
    let spin = angular_velocity(body.orientation, body.angular_momentum, constant.inverse_inertia);
    let place = settle(body.cell, metres(body.offset, params.cell_size) + arm, params.cell_size);
    spheres[index] = Sphere(place.offset, member.radius, place.cell, member.body);
    motions[index] =
        Motion(body.velocity + cross(spin, arm), constant.inverse_mass, spin, member.material);
}
