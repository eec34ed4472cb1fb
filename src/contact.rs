//! Contact laws of the CPU engine; the twin of `shaders/shared/contact.wgsl`.

use glam::Vec3;

use crate::layout::Pair;

/// Two surfaces that overlap, seen from one of them.
pub struct Contact {
    /// Overlap, m; positive.
    pub overlap: f32,
    /// Unit vector from this surface to the other.
    pub normal: Vec3,
    /// Velocity of the other surface at the contact relative to this one, m/s.
    pub relative_velocity: Vec3,
    /// Effective mass 1 / (1/m_a + 1/m_b), kg.
    pub effective_mass: f32,
}

/// The `linear` law: force on this surface, N.
///
/// A spring `k d` and a dashpot `c v_n` along the normal, as in Mishra's DEM and GPU Gems 3,
/// chapter 29, and a viscous shear force `g v_t` that Coulomb friction caps. The contact ends at
/// overlap 0, so the dashpot may pull just before; the coefficient of restitution then is exactly
/// the one that `damping_ratio` stands for.
///
/// The shear viscosity is that of the tangential spring held for the time `t_c / pi` of an undamped
/// contact, `g = k_t sqrt(m / k)`: the linear law has no memory from which to know the spring's
/// elongation.
pub fn linear(contact: &Contact, pair: &Pair) -> Vec3 {
    let Contact {
        overlap,
        normal,
        relative_velocity,
        effective_mass,
    } = *contact;
    let approach = -relative_velocity.dot(normal);
    let dashpot =
        pair.damping + 2.0 * pair.damping_ratio * (pair.stiffness * effective_mass).sqrt();
    let push = pair.stiffness * overlap + dashpot * approach;

    let slip = relative_velocity + approach * normal;
    let viscosity = pair.tangential_stiffness * (effective_mass / pair.stiffness).sqrt();
    let shear = viscosity * slip;
    let cap = pair.friction * push.max(0.0);
    let magnitude = shear.length();
    let shear = if magnitude > cap {
        shear * (cap / magnitude)
    } else {
        shear
    };

    shear - push * normal
}
