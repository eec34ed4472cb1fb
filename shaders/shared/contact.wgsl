// Contact laws; the twin of src/contact.rs.

struct Contact {
    // m; positive.
    overlap: f32,
    // Unit vector from this surface to the other.
    normal: vec3<f32>,
    // Of the other surface at the contact relative to this one, m/s.
    relative_velocity: vec3<f32>,
    // 1 / (1/m_a + 1/m_b), kg.
    effective_mass: f32,
}

// The linear law: spring, dashpot, and viscous shear capped by Coulomb friction. Force on this
// surface, N.
fn linear(contact: Contact, pair: Pair) -> vec3<f32> {
    let approach = -dot(contact.relative_velocity, contact.normal);
    let dashpot = pair.damping
        + 2.0 * pair.damping_ratio * sqrt(pair.stiffness * contact.effective_mass);
    let push = pair.stiffness * contact.overlap + dashpot * approach;

    let slip = contact.relative_velocity + approach * contact.normal;
    let viscosity = pair.tangential_stiffness * sqrt(contact.effective_mass / pair.stiffness);
    var shear = viscosity * slip;
    let cap = pair.friction * max(push, 0.0);
    let magnitude = length(shear);
    if magnitude > cap {
        shear *= cap / magnitude;
    }

    return shear - push * contact.normal;
}
