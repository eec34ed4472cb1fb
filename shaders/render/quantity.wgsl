// What colours can mean, of a sphere and its body. Each meaning has a pipeline: software drivers compute all cases of a switch.

override COLOUR_BY: u32 = BY_BODY;

@group(0) @binding(14) var<storage, read> sphere_loads: array<SphereLoad>;
@group(0) @binding(44) var<storage, read> body_heat: array<BodyHeat>;
@group(0) @binding(54) var<storage, read> body_bonds: array<BodyBonds>;

// Of a sphere: its colour on the map is at this between `view.bottom` and `view.top`.
fn quantity(index: u32) -> f32 {
    let own = spheres[index].body;
    switch COLOUR_BY {
        case BY_SPEED: {
            return length(bodies[own].velocity);
        }
        case BY_FORCE: {
            return length(sphere_loads[index].force);
        }
        case BY_OVERLAP: {
            return sphere_loads[index].max_overlap / member_at(index, bodies[own]).radius;
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
        case BY_DAMAGE: {
            return select(0.0, body_bonds[own].damage, params.bonds == 1u);
        }
        case BY_SPIN: {
            return length(spin_of(own));
        }
        case BY_RADIUS: {
            return member_at(index, bodies[own]).radius;
        }
        case BY_MASS: {
            // Nobody knows that of a fixed body.
            let inverse = properties[bodies[own].kind].inverse_mass;
            return select(1.0 / inverse, 0.0, inverse == 0.0);
        }
        case BY_INDEX: {
            return f32(own);
        }
        default: {
            return 0.0;
        }
    }
}

// Angular velocity of a body.
fn spin_of(index: u32) -> vec3<f32> {
    let body = bodies[index];
    let inverse = properties[body.kind].inverse_inertia;
    return angular_velocity(quaternion(body.orientation), body.angular_momentum, inverse);
}

// Number of contacts of a body.
fn contacts_of(index: u32) -> u32 {
    let first = bodies[index].first_sphere;
    var count = 0u;
    for (var k = first; k < first + properties[bodies[index].kind].sphere_count; k++) {
        let contacts = sphere_loads[k].contacts & ~(KEPT | DISTURBED);
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
    let turning = dot(spin_of(index), body.angular_momentum);
    return 0.5 * dot(body.velocity, body.velocity) / constant.inverse_mass + 0.5 * turning;
}
