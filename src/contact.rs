//! Contact laws of the CPU engine; the twin of `shaders/shared/contact.wgsl`.

use glam::Vec3;

use crate::layout::Pair;

/// Two surfaces that touch during a step, seen from one of them.
pub struct Contact {
    /// Overlap, m; 0 if the surfaces are a little apart, and touch at one end of the step only.
    pub overlap: f32,
    /// When they touch.
    pub touch: Touch,
    /// Unit vector from this surface to the other.
    pub normal: Vec3,
    /// Velocity of the other surface at the contact relative to this one, m/s.
    pub relative_velocity: Vec3,
    /// Inverse of the effective mass: 1/m_a + 1/m_b, 1/kg.
    pub inverse_mass: f32,
    /// Time step, s.
    pub time_step: f32,
}

impl Contact {
    /// The contact of two surfaces with the signed overlap `overlap` (m): negative while they are
    /// apart. The other arguments are the fields of that name.
    pub fn new(
        overlap: f32,
        normal: Vec3,
        relative_velocity: Vec3,
        inverse_mass: f32,
        time_step: f32,
    ) -> Contact {
        Contact {
            overlap: overlap.max(0.0),
            touch: Touch::new(overlap, relative_velocity.dot(normal), time_step),
            normal,
            relative_velocity,
            inverse_mass,
            time_step,
        }
    }
}

/// How two surfaces touch during a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// The part of the step in which they overlap, 0 to 1.
    pub presence: f32,
    /// Overlap, m, averaged over the step: what is reported.
    pub mean_overlap: f32,
}

impl Touch {
    /// From the signed overlap (m) in the middle of the step and the speed (m/s) with which the
    /// surfaces approach or part.
    ///
    /// A step of semi-implicit Euler stands for the time half a step before and after it. A contact
    /// that begins or ends within has its dashpot act for a part of it; if it acted for all or
    /// nothing, the restitution would depend on where in a step the surfaces happen to meet.
    pub fn new(overlap: f32, speed: f32, time_step: f32) -> Touch {
        let way = speed.abs() * time_step;
        if way > 2.0 * overlap.abs() {
            let presence = 0.5 + overlap / way;
            Touch {
                presence,
                mean_overlap: 0.5 * presence * presence * way,
            }
        } else if overlap > 0.0 {
            Touch {
                presence: 1.0,
                mean_overlap: overlap,
            }
        } else {
            Touch {
                presence: 0.0,
                mean_overlap: 0.0,
            }
        }
    }
}

/// The `linear` law: force on this surface, N.
///
/// A spring `k d` and a dashpot `c v_n` along the normal, as in Mishra's DEM and GPU Gems 3,
/// chapter 29, and a viscous shear force `g v_t` that Coulomb friction caps. The contact ends at
/// overlap 0, so the dashpot may pull just before; the coefficient of restitution then is exactly
/// the one that `damping_ratio` stands for.
///
/// A semi-implicit step damps by the velocity of half a step ago: a dashpot `c` then takes `1 - c dt
/// / m` of the velocity in each step where `exp(-c dt / m)` is meant, and shortens the contact; the
/// restitution is that of a dashpot `c (1 + c dt / 4m)`. So the dashpot is `c / (1 + c dt / 4m)`,
/// which makes the restitution second order in the time step instead of first.
///
/// The shear viscosity is that of the tangential spring held for the time `t_c / pi` of an undamped
/// contact, `g = k_t sqrt(m / k) = k_t / k sqrt(k m)`: the linear law has no memory from which to
/// know the spring's elongation.
pub fn linear(contact: &Contact, pair: &Pair) -> Vec3 {
    let Contact {
        overlap,
        touch,
        normal,
        relative_velocity,
        inverse_mass,
        time_step,
    } = *contact;
    let approach = -relative_velocity.dot(normal);
    // sqrt(k m), half of the critical damping, which sets the viscosity of the shear too.
    let impedance = touch.presence * (pair.stiffness / inverse_mass).sqrt();
    let nominal = touch.presence * pair.damping + 2.0 * pair.damping_ratio * impedance;
    let dashpot = nominal / (1.0 + 0.25 * nominal * time_step * inverse_mass);
    let push = pair.stiffness * overlap + dashpot * approach;

    let slip = relative_velocity + approach * normal;
    let shear = pair.tangential_ratio * impedance * slip;
    let cap = pair.friction * push.max(0.0);
    let magnitude = shear.length();
    let shear = if magnitude > cap {
        shear * (cap / magnitude)
    } else {
        shear
    };

    shear - push * normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_that_begins_or_ends_within_a_step_is_there_for_a_part_of_it() {
        let touch = |overlap, speed| Touch::new(overlap, speed, 1e-3);
        // From 1 mm apart to 3 mm deep in one step around an overlap of 1 mm, and back.
        for speed in [4.0, -4.0] {
            assert!((touch(1e-3, speed).presence - 0.75).abs() < 1e-6);
            assert!((touch(1e-3, speed).mean_overlap - 0.75 * 1.5e-3).abs() < 1e-9);
        }
        assert!((touch(-1e-3, 4.0).presence - 0.25).abs() < 1e-6);
        assert_eq!(
            touch(1e-3, 1.0),
            Touch {
                presence: 1.0,
                mean_overlap: 1e-3
            }
        );
        assert_eq!(
            touch(1e-3, 0.0),
            Touch {
                presence: 1.0,
                mean_overlap: 1e-3
            }
        );
        assert_eq!(touch(-1e-3, 1.0).presence, 0.0);
        assert_eq!(touch(0.0, 0.0).presence, 0.0);
    }
}
