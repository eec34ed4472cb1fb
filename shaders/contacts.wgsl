// import: layout, dispatch, grid, contact

// Contacts of each sphere: force, torque, overlap, number. One thread a sphere. Each pair is
// evaluated from both sides, neighbours in the order of their indices: no sphere writes to another,
// and sums have a fixed order.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(3) var<storage, read> planes: array<Plane>;
@group(0) @binding(4) var<storage, read> pairs: array<Pair>;
@group(0) @binding(6) var<storage, read> spheres: array<Sphere>;
@group(0) @binding(12) var<storage, read> neighbour_starts: array<u32>;
@group(0) @binding(13) var<storage, read> neighbours: array<u32>;
@group(0) @binding(14) var<storage, read_write> sphere_loads: array<Load>;
@group(0) @binding(16) var<storage, read_write> stats: Stats;

struct Sum {
    load: Load,
    max_fraction: f32,
}

fn add(sum: ptr<function, Sum>, contact: Contact, arm: vec3<f32>, radius: f32, pair: u32, count: u32) {
    if contact.touch.presence == 0.0 {
        return;
    }
    let force = linear(contact, pairs[pair]);
    (*sum).load.force += force;
    (*sum).load.torque += cross(arm, force);
    (*sum).load.max_overlap = max((*sum).load.max_overlap, contact.touch.mean_overlap);
    (*sum).load.contacts += count;
    (*sum).max_fraction = max((*sum).max_fraction, contact.touch.mean_overlap / radius);
}

fn add_sphere(sum: ptr<function, Sum>, sphere: Sphere, other: Sphere, overlap: f32, normal: vec3<f32>) {
    // The same point for both spheres, so that the pair keeps its angular momentum.
    let arm = (sphere.radius - 0.5 * overlap) * normal;
    let other_arm = (0.5 * overlap - other.radius) * normal;
    let relative_velocity = other.velocity + cross(other.angular_velocity, other_arm)
        - sphere.velocity
        - cross(sphere.angular_velocity, arm);
    let inverse_mass = sphere.inverse_mass + other.inverse_mass;
    let contact =
        contact_of(overlap, normal, relative_velocity, inverse_mass, params.time_step);
    let pair = sphere.material * params.material_count + other.material;
    add(sum, contact, arm, min(sphere.radius, other.radius), pair, 1u);
}

fn add_plane(sum: ptr<function, Sum>, sphere: Sphere, plane: Plane, overlap: f32) {
    let normal = -plane.normal;
    // The radius of the undeformed sphere, so that rolling is exact.
    let arm = sphere.radius * normal;
    let relative_velocity = -sphere.velocity - cross(sphere.angular_velocity, arm);
    let inverse_mass = sphere.inverse_mass;
    let contact =
        contact_of(overlap, normal, relative_velocity, inverse_mass, params.time_step);
    let pair = sphere.material * params.material_count + plane.material;
    add(sum, contact, arm, sphere.radius, pair, 1u << 16u);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn contacts(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = thread_index(workgroup, workgroups, local);
    if index >= params.sphere_count || stats.halted == 1u {
        return;
    }
    let sphere = spheres[index];
    var sum: Sum;

    for (var k = neighbour_starts[index]; k < neighbour_starts[index + 1u]; k++) {
        let other = neighbours[k];
        let neighbour = spheres[other];
        let between = apart(sphere, neighbour, params);
        let radii = sphere.radius + neighbour.radius;
        let reach = radii + params.touch_margin;
        let square = dot(between, between);
        if square < reach * reach {
            let distance = sqrt(square);
            var normal = vec3<f32>(0.0, select(-1.0, 1.0, index < other), 0.0);
            if distance > 0.0 {
                normal = between / distance;
            }
            add_sphere(&sum, sphere, neighbour, radii - distance, normal);
        }
    }

    if sphere.inverse_mass > 0.0 {
        for (var k = 0u; k < params.plane_count; k++) {
            let plane = planes[k];
            let cells = vec3<f32>(sphere.cell - plane.cell);
            let from_plane = cells * params.cell_size + sphere.offset - plane.offset;
            let distance = dot(from_plane, plane.normal);
            if distance < sphere.radius + params.touch_margin {
                add_plane(&sum, sphere, plane, sphere.radius - distance);
            }
        }
    }

    sphere_loads[index] = sum.load;
    // A plain look first: the maximum seldom grows, and all threads share it.
    let bits = bitcast<u32>(sum.max_fraction);
    if bits > atomicLoad(&stats.max_overlap_fraction) {
        atomicMax(&stats.max_overlap_fraction, bits);
    }
}
