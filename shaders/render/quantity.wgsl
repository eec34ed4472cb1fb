// What colours can mean, of a sphere and its body.

@group(0) @binding(1) var<storage, read> properties: array<BodyProperties>;
@group(0) @binding(14) var<storage, read> sphere_loads: array<SphereLoad>;
@group(0) @binding(15) var<storage, read> body_loads: array<Load>;

// Of a sphere: its colour on the map is this over `view.top`.
fn quantity(index: u32) -> f32 {
    let member = members[index];
    switch view.colour_by {
        case BY_SPEED: {
            return length(bodies[member.body].velocity);
        }
        case BY_FORCE: {
            return length(sphere_loads[index].force);
        }
        case BY_OVERLAP: {
            return sphere_loads[index].max_overlap / member.radius;
        }
        case BY_CONTACTS: {
            return f32(body_loads[member.body].contacts);
        }
        case BY_ENERGY: {
            return kinetic_energy(member.body);
        }
        default: {
            return 0.0;
        }
    }
}

// (m v^2 + w L) / 2; 0 of a fixed body.
fn kinetic_energy(index: u32) -> f32 {
    let body = bodies[index];
    let constant = properties[index];
    if constant.inverse_mass == 0.0 {
        return 0.0;
    }
    let momentum = body.angular_momentum;
    let spin = angular_velocity(quaternion(body.orientation), momentum, constant.inverse_inertia);
    return 0.5 * dot(body.velocity, body.velocity) / constant.inverse_mass + 0.5 * dot(spin, momentum);
}
