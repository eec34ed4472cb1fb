// Contact laws; the twin of src/contact.rs, where they are explained.

// Two surfaces that touch during a step, seen from one of them.
struct Contact {
    // m; 0 if they touch at one end of the step only.
    overlap: f32,
    // When they touch.
    touch: Touch,
    // Unit vector from this surface to the other.
    normal: vec3<f32>,
    // Of the other surface at the contact relative to this one, m/s.
    relative_velocity: vec3<f32>,
    // 1/m_a + 1/m_b, 1/kg.
    inverse_mass: f32,
    // s.
    time_step: f32,
}

// How two surfaces touch during a step.
struct Touch {
    // The part of the step in which they overlap, 0 to 1.
    presence: f32,
    // m, averaged over the step: what is reported.
    mean_overlap: f32,
}

// From the signed overlap in the middle of the step and the speed with which they approach or part.
fn touch(overlap: f32, speed: f32, time_step: f32) -> Touch {
    let way = abs(speed) * time_step;
    if way > 2.0 * abs(overlap) {
        let presence = 0.5 + overlap / way;
        return Touch(presence, 0.5 * presence * presence * way);
    }
    if overlap > 0.0 {
        return Touch(1.0, overlap);
    }
    return Touch(0.0, 0.0);
}

// The contact of two surfaces with the signed overlap `overlap`: negative while they are apart.
fn contact_of(
    overlap: f32,
    normal: vec3<f32>,
    relative_velocity: vec3<f32>,
    inverse_mass: f32,
    time_step: f32,
) -> Contact {
    let touch = touch(overlap, dot(relative_velocity, normal), time_step);
    return Contact(max(overlap, 0.0), touch, normal, relative_velocity, inverse_mass, time_step);
}

// The linear law: spring, dashpot, and viscous shear capped by Coulomb friction. Force on this
// surface, N.
fn linear(contact: Contact, pair: Pair) -> vec3<f32> {
    let approach = -dot(contact.relative_velocity, contact.normal);
    // sqrt(k m), half of the critical damping, which sets the viscosity of the shear too.
    let impedance = contact.touch.presence * sqrt(pair.stiffness / contact.inverse_mass);
    let nominal = contact.touch.presence * pair.damping + 2.0 * pair.damping_ratio * impedance;
    let dashpot = nominal / (1.0 + 0.25 * nominal * contact.time_step * contact.inverse_mass);
    let push = pair.stiffness * contact.overlap + dashpot * approach;

    let slip = contact.relative_velocity + approach * contact.normal;
    var shear = pair.tangential_ratio * impedance * slip;
    let cap = pair.friction * max(push, 0.0);
    let magnitude = length(shear);
    if magnitude > cap {
        shear *= cap / magnitude;
    }

    return shear - push * contact.normal;
}
