// import: layout, dispatch, grid, contact

// Contacts of each sphere: force, torque, overlap, number. One thread a sphere, in the order of
// the buckets, so that threads beside each other read the same neighbours. Each pair is evaluated
// from both sides, neighbours in the order of the sorted buckets: no sphere writes to another, and
// sums have a fixed order.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(3) var<storage, read> planes: array<Plane>;
@group(0) @binding(4) var<storage, read> pairs: array<Pair>;
@group(0) @binding(6) var<storage, read> spheres: array<Sphere>;
@group(0) @binding(7) var<storage, read> motions: array<Motion>;
@group(0) @binding(10) var<storage, read> bucket_starts: array<u32>;
@group(0) @binding(12) var<storage, read> sorted: array<u32>;
@group(0) @binding(13) var<storage, read_write> sphere_loads: array<Load>;
@group(0) @binding(15) var<storage, read_write> stats: Stats;

@compute @workgroup_size(WORKGROUP_SIZE)
fn contacts(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = thread_index(workgroup, workgroups, local);
    if place >= params.sphere_count {
        return;
    }
    let index = sorted[place];
    let sphere = spheres[index];
    let motion = motions[index];
    var sum: Load;
    var max_fraction = 0.0;

    for (var row = 0; row < 9; row++) {
        let dy = row % 3 - 1;
        let dz = row / 3 - 1;
        let first = bucket(sphere.cell + vec3<i32>(-1, dy, dz), params.bucket_count);
        let last = first + 3u;
        // The row may wrap around the end of the table: then it has a second part.
        let wrapped = select(0u, last - params.bucket_count, last > params.bucket_count);
        var begin = bucket_starts[first];
        var end = bucket_starts[min(last, params.bucket_count)];
        for (var part = 0u; part < 2u; part++) {
            for (var k = begin; k < end; k++) {
                let other = sorted[k];
                let neighbour = spheres[other];
                let cells = neighbour.cell - sphere.cell;
                // Another cell's spheres may share the bucket.
                let in_row = cells.y == dy && cells.z == dz && abs(cells.x) <= 1;
                if !in_row || neighbour.body == sphere.body {
                    continue;
                }
                let apart = vec3<f32>(cells) * params.cell_size + neighbour.offset - sphere.offset;
                let reach = sphere.radius + neighbour.radius;
                let square = dot(apart, apart);
                if square >= reach * reach {
                    continue;
                }
                let neighbour_motion = motions[other];
                let inverse_mass = motion.inverse_mass + neighbour_motion.inverse_mass;
                if inverse_mass == 0.0 {
                    continue;
                }
                let distance = sqrt(square);
                var normal = vec3<f32>(0.0, select(-1.0, 1.0, index < other), 0.0);
                if distance > 0.0 {
                    normal = apart / distance;
                }
                let overlap = reach - distance;
                // The same point for both spheres, so that the pair keeps its angular momentum.
                let arm = (sphere.radius - 0.5 * overlap) * normal;
                let neighbour_arm = (0.5 * overlap - neighbour.radius) * normal;
                let relative_velocity = neighbour_motion.velocity
                    + cross(neighbour_motion.angular_velocity, neighbour_arm)
                    - motion.velocity
                    - cross(motion.angular_velocity, arm);
                let contact = Contact(overlap, normal, relative_velocity, 1.0 / inverse_mass);
                let pair = motion.material * params.material_count + neighbour_motion.material;
                let force = linear(contact, pairs[pair]);
                sum.force += force;
                sum.torque += cross(arm, force);
                sum.max_overlap = max(sum.max_overlap, overlap);
                sum.contacts += 1u;
                max_fraction = max(max_fraction, overlap / min(sphere.radius, neighbour.radius));
            }
            begin = 0u;
            end = bucket_starts[wrapped];
        }
    }

    if motion.inverse_mass > 0.0 {
        for (var k = 0u; k < params.plane_count; k++) {
            let plane = planes[k];
            let from_plane =
                vec3<f32>(sphere.cell - plane.cell) * params.cell_size + sphere.offset - plane.offset;
            let distance = dot(from_plane, plane.normal);
            if distance >= sphere.radius {
                continue;
            }
            let overlap = sphere.radius - distance;
            let normal = -plane.normal;
            // The radius of the undeformed sphere, so that rolling is exact.
            let arm = sphere.radius * normal;
            let relative_velocity = -motion.velocity - cross(motion.angular_velocity, arm);
            let contact = Contact(overlap, normal, relative_velocity, 1.0 / motion.inverse_mass);
            let pair = motion.material * params.material_count + plane.material;
            let force = linear(contact, pairs[pair]);
            sum.force += force;
            sum.torque += cross(arm, force);
            sum.max_overlap = max(sum.max_overlap, overlap);
            sum.contacts += 1u << 16u;
            max_fraction = max(max_fraction, overlap / sphere.radius);
        }
    }

    sphere_loads[index] = sum;
    // A plain look first: the maximum seldom grows, and all threads share it.
    let bits = bitcast<u32>(max_fraction);
    if bits > atomicLoad(&stats.max_overlap_fraction) {
        atomicMax(&stats.max_overlap_fraction, bits);
    }
}
