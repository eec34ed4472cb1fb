// What colours can mean, of a sphere and its body.

@group(0) @binding(14) var<storage, read> sphere_loads: array<SphereLoad>;
@group(0) @binding(44) var<storage, read> body_heat: array<BodyHeat>;

// Of a sphere: its colour on the map is at this between `view.bottom` and `view.top`.
fn quantity(index: u32) -> f32 {
    let own = spheres[index].body;
    switch view.colour_by {
        case BY_SPEED: {
            return length(bodies[own].velocity);
        }
        case BY_FORCE: {
            return length(sphere_loads[index].force);
        }
        case BY_OVERLAP: {
            return sphere_loads[index].max_overlap / spheres[index].radius;
        }
        case BY_CONTACTS: {
            return f32(contacts_of(own));
        }
        case BY_ENERGY: {
            return kinetic_energy(own);
        }
        case BY_TEMPERATURE: {
            return select(0.0, body_heat[own].temperature, params.heat == 1u);
        }
        default: {
            return 0.0;
        }
    }
}

// Number of contacts of a body.
fn contacts_of(index: u32) -> u32 {
    let first = bodies[index].first_sphere;
    var count = 0u;
    for (var k = first; k < first + properties[bodies[index].kind].sphere_count; k++) {
        let contacts = sphere_loads[k].contacts & ~KEPT;
        count += (contacts & 0xffffu) + (contacts >> 16u);
    }
    return count;
}

// (m v^2 + w L) / 2; 0 of a fixed body.
fn kinetic_energy(index: u32) -> f32 {
    let body = bodies[index];
    let constant = properties[body.kind];
    if constant.inverse_mass == 0.0 {
        return 0.0;
    }
    let momentum = body.angular_momentum;
    let spin = angular_velocity(quaternion(body.orientation), momentum, constant.inverse_inertia);
    return 0.5 * dot(body.velocity, body.velocity) / constant.inverse_mass + 0.5 * dot(spin, momentum);
}
