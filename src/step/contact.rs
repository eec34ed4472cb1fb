//! Contact laws of the CPU engine; the twin of `shaders/shared/contact.wgsl`.
//!
//! A law turns a [`Contact`], the parameters of a pair of materials and the contact's [`History`]
//! into a [`Response`]: force, torque, new history, and the energy that it dissipated. All formulas
//! change sign, and no bit else, when the sides of a contact are swapped.

use std::f32::consts::PI;

use glam::Vec3;

pub use crate::state::layout::History;
use crate::state::layout::{HERTZ_MINDLIN, HOOKE_VISCOUS, IMPULSE, Pair, Params, ROLLING_SPRING};

/// Two surfaces that are close to each other during a step, seen from one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Overlap in the middle of the step, m; negative while the surfaces are apart.
    pub overlap: f32,
    /// Part of the step in which they touch, and how deep.
    pub touch: Touch,
    /// Unit vector from this surface to the other.
    pub normal: Vec3,
    /// Velocity of the other surface at the contact relative to this one, m/s.
    pub relative_velocity: Vec3,
    /// Angular velocity of the other body relative to this one, rad/s.
    pub relative_spin: Vec3,
    /// Angular speed about the normal of the two together, rad/s: the mean of a pair of spheres, that
    /// of the wall on a wall.
    pub common_twist: f32,
    /// Effective radius, m: R1 R2/(R1 + R2) of two spheres, R on a wall.
    pub radius: f32,
    /// Inverse of the effective mass: 1/m_a + 1/m_b of the bodies, 1/kg; with the normal model `impulse` of their shares.
    pub inverse_mass: f32,
    /// Time step, s.
    pub time_step: f32,
}

/// The part of a step in which two surfaces touch, and how deep.
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
    #[inline(always)]
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

/// Response of a contact, on one of its sides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Response {
    /// Force on this surface, N.
    pub force: Vec3,
    /// Torque on this body besides that of the force, N m.
    pub torque: Vec3,
    /// Contact history after the step.
    pub history: History,
    /// Energy that dashpots dissipated in this step, J: of the contact, not of a side.
    pub damping: f32,
    /// Energy that friction dissipated in this step, J.
    pub friction: f32,
}

/// Spring and dashpot along the normal.
///
/// The spring is k d, or 4/3 E* sqrt(R) d^1.5 (Hertz). The dashpot is 2 zeta sqrt(k m), or 2 sqrt(5/6)
/// zeta sqrt(S m) with the tangent S = 2 E* sqrt(R d) of Hertz's spring (Tsuji, Tanaka and Ishida
/// 1992, in the form of Antypov and Elliott 2011): with the same zeta both have the same coefficient
/// of restitution, whatever the speed, if the contact ends at overlap 0 and the dashpot may pull just
/// before.
///
/// A semi-implicit step damps by the velocity of half a step ago: a dashpot `c` then takes `1 - c dt
/// / m` of the velocity in each step where `exp(-c dt / m)` is meant, and shortens the contact; the
/// restitution is that of a dashpot `c (1 + c dt / 4m)`. So the dashpot is `c / (1 + c dt / 4m)`,
/// which makes the restitution second order in the time step instead of first.
struct NormalForce {
    /// Force of the spring, N.
    spring: f32,
    /// Slope of the spring, N/m.
    tangent: f32,
    /// Slope of the spring in the step before, N/m.
    tangent_before: f32,
    /// sqrt(k m), half of the critical damping, for the part of the step in contact, N s/m.
    impedance: f32,
    /// N s/m.
    dashpot: f32,
    /// Speed of approach, m/s.
    approach: f32,
    /// Force of spring and dashpot together, N.
    total: f32,
}

impl NormalForce {
    #[inline(always)]
    fn new<const LAW: u32>(contact: &Contact, pair: &Pair, params: &Params) -> NormalForce {
        if LAW == IMPULSE {
            return NormalForce::of_impulse(contact, pair, params);
        }
        let approach = -contact.relative_velocity.dot(contact.normal);
        let presence = contact.touch.presence;
        let overlap = contact.overlap.max(0.0);
        let (spring, tangent) = spring::<LAW>(overlap, contact, pair);
        let tangent_before = tangent_before::<LAW>(approach, tangent, contact, pair);
        let impedance = presence * (tangent / contact.inverse_mass).sqrt();
        let shape = if LAW == HERTZ_MINDLIN { TSUJI } else { 1.0 };
        let nominal = presence * pair.damping + 2.0 * shape * pair.damping_ratio * impedance;
        let dashpot = nominal / (1.0 + 0.25 * nominal * contact.time_step * contact.inverse_mass);
        NormalForce {
            spring,
            tangent,
            tangent_before,
            impedance,
            dashpot,
            approach,
            total: spring + dashpot * approach,
        }
    }

    /// The force of the normal model `impulse`: it ends the approach of the two masses in this step, and with it the
    /// overlap; see docs/book/src/internals.md.
    ///
    /// Surfaces that would only touch in this step are slowed so that they just do. Those that come together faster
    /// than gravity has bodies at rest do, part again with the restitution of the pair.
    #[inline(always)]
    fn of_impulse(contact: &Contact, pair: &Pair, params: &Params) -> NormalForce {
        let approach = -contact.relative_velocity.dot(contact.normal);
        let overlap = contact.overlap.max(0.0);
        let (spring, tangent) = spring::<IMPULSE>(overlap, contact, pair);
        let dashpot = tangent * contact.time_step;
        let gap = (-contact.overlap).max(0.0);
        let slowed = spring + dashpot * approach - tangent * gap;
        let bounced = (1.0 + pair.restitution) * dashpot * approach;
        let still = STILL * params.gravity.length() * contact.time_step;
        let total = if approach > still {
            slowed.max(bounced)
        } else {
            slowed
        };
        let meets = contact.overlap + approach * contact.time_step > 0.0;
        NormalForce {
            spring,
            tangent,
            tangent_before: tangent,
            impedance: dashpot,
            dashpot,
            approach,
            total: if meets || contact.overlap > 0.0 {
                total.max(0.0)
            } else {
                0.0
            },
        }
    }

    /// Energy that the dashpot takes in a step, J: its force times the way in the middle of the step,
    /// to which this contact has slowed the surfaces.
    #[inline(always)]
    fn damping(&self, contact: &Contact) -> f32 {
        let change = self.total * contact.inverse_mass * contact.time_step;
        (self.total - self.spring) * (self.approach - 0.5 * change) * contact.time_step
    }
}

/// sqrt(5/6): damping of Hertz's spring over that of a linear one of the same slope.
const TSUJI: f32 = 0.912_870_9;

/// Speeds of approach that are no impact but come of gravity, as a multiple of what it adds in a step.
const STILL: f32 = 4.0;

/// Force (N) and slope (N/m) of the normal spring at the overlap `overlap` (m).
///
/// The spring of the normal model `impulse` is as stiff as may be: in one step it would undo its overlap.
#[inline(always)]
fn spring<const LAW: u32>(overlap: f32, contact: &Contact, pair: &Pair) -> (f32, f32) {
    if LAW == IMPULSE {
        let time_step = contact.time_step;
        let stiffness = 1.0 / (contact.inverse_mass * time_step * time_step);
        (stiffness * overlap, stiffness)
    } else if LAW == HERTZ_MINDLIN {
        let width = (contact.radius * overlap).sqrt();
        (
            pair.stiffness * width * overlap,
            1.5 * pair.stiffness * width,
        )
    } else {
        (pair.stiffness * overlap, pair.stiffness)
    }
}

/// Slope (N/m) of the normal spring in the step before, from that of now: surfaces that now approach with the
/// speed `approach` (m/s) have come from there with it.
#[inline(always)]
fn tangent_before<const LAW: u32>(
    approach: f32,
    tangent: f32,
    contact: &Contact,
    pair: &Pair,
) -> f32 {
    if LAW == HERTZ_MINDLIN {
        let overlap = (contact.overlap - approach * contact.time_step).max(0.0);
        spring::<LAW>(overlap, contact, pair).1
    } else {
        tangent
    }
}

/// The response of a contact by the law `LAW`, one of those in [`crate::state::layout`].
#[inline(always)]
pub fn respond<const LAW: u32>(
    contact: &Contact,
    pair: &Pair,
    history: &History,
    params: &Params,
) -> Response {
    if LAW == HOOKE_VISCOUS {
        hooke_viscous(contact, pair, params)
    } else if LAW == IMPULSE {
        let response = with_history::<LAW>(contact, pair, history, params);
        // What stops two surfaces is no dashpot: all that an impulse takes is counted as friction.
        Response {
            damping: 0.0,
            friction: response.damping + response.friction,
            ..response
        }
    } else {
        with_history::<LAW>(contact, pair, history, params)
    }
}

/// The law `hooke` with `viscous`: a spring `k d` and a dashpot `c v_n` along the normal, as in Mishra's DEM and
/// GPU Gems 3, chapter 29, and a viscous shear force `g v_t` that Coulomb friction caps.
///
/// The contact ends at overlap 0, so the dashpot may pull just before; the coefficient of restitution
/// then is exactly the one that `damping_ratio` stands for.
///
/// The shear viscosity is that of the tangential spring held for the time `t_c / pi` of an undamped
/// contact, `g = k_t sqrt(m / k) = k_t / k sqrt(k m)`: this law has no contact history
/// from which to know the spring's elongation.
#[inline(always)]
fn hooke_viscous(contact: &Contact, pair: &Pair, params: &Params) -> Response {
    if contact.touch.presence == 0.0 {
        return Response::default();
    }
    let normal_force = NormalForce::new::<HOOKE_VISCOUS>(contact, pair, params);
    let tangential_velocity = contact.relative_velocity + normal_force.approach * contact.normal;
    let mut shear = pair.tangential_ratio * normal_force.impedance * tangential_velocity;
    let cap = pair.friction * normal_force.total.max(0.0);
    let magnitude = shear.length();
    let slides = magnitude > cap;
    if slides {
        shear *= cap / magnitude;
    }
    let lost = shear.dot(tangential_velocity) * contact.time_step;
    Response {
        force: shear - normal_force.total * contact.normal,
        damping: normal_force.damping(contact) + if slides { 0.0 } else { lost },
        friction: if slides { lost } else { 0.0 },
        ..Response::default()
    }
}

/// The laws with a contact history: spring and dashpot along the normal, a tangential spring
/// (Cundall and Strack 1979; Mindlin's stiffness for `hertz`), and what is added to either:
/// resistance to rolling and twisting, and cohesion.
///
/// The tangential force k_t s + c_t v_t is capped by Coulomb friction, mu times spring and dashpot
/// of the normal together; so is the elongation s, which slides along.
///
/// Mindlin's k_t grows and shrinks with the overlap, and with it k_t s²/2, what the spring holds: at a given s, a contact
/// that is pressed gets energy from nowhere, and one that is released loses some. Both are counted with what is
/// dissipated. With `Params::rescales`, the force k_t s is what a growing overlap leaves alone, and the elongation what
/// a shrinking one does (Thornton, Cummins and Cleary 2013): the spring then only loses.
#[inline(always)]
fn with_history<const LAW: u32>(
    contact: &Contact,
    pair: &Pair,
    history: &History,
    params: &Params,
) -> Response {
    let Contact {
        normal,
        radius,
        relative_spin,
        time_step,
        touch,
        ..
    } = *contact;
    let mut normal_force = NormalForce::new::<LAW>(contact, pair, params);
    let presence = presence::<LAW>(touch, &normal_force);
    if params.limit_damping != 0 {
        normal_force.total = normal_force.total.max(0.0);
    }
    let (pull, sticks) = cohesion::<LAW>(contact, pair, history.bonded > 0.0);
    let mut response = Response {
        force: (pull - normal_force.total) * normal,
        damping: normal_force.damping(contact),
        ..Response::default()
    };
    response.history.bonded = if sticks { 1.0 } else { 0.0 };

    let compression = normal_force.total.max(0.0);
    let stiffness = pair.tangential_ratio * normal_force.tangent;
    let stiffness_before = pair.tangential_ratio * normal_force.tangent_before;
    if presence == 0.0 {
        // What the springs still held is lost.
        let held = history.tangential_displacement.length_squared()
            + history.twisting_displacement * history.twisting_displacement
            + history.rolling_displacement.length_squared();
        response.friction = 0.5 * stiffness_before * held;
        return response;
    }
    let scale = rescaling::<LAW>(&normal_force, params);
    let dashpot = params.tangential_damping * normal_force.dashpot;
    let carry = |elongation: Vec3| carried(elongation, normal, contact.common_twist * time_step);
    let slide = |elongation: Vec3, velocity: Vec3, coefficient: f32| {
        Slider {
            stiffness,
            stiffness_before,
            scale,
            dashpot,
            cap: coefficient * compression,
        }
        .slide(elongation, velocity, presence, time_step)
    };

    let tangential_velocity = contact.relative_velocity + normal_force.approach * normal;
    let shear = slide(
        carry(history.tangential_displacement),
        tangential_velocity,
        pair.friction,
    );
    response.force += shear.force;
    response.add_losses(&shear);
    response.history.tangential_displacement = shear.elongation;
    if pair.twisting_friction > 0.0 {
        let twist = radius * relative_spin.dot(normal);
        let torsion = slide(
            history.twisting_displacement * normal,
            twist * normal,
            pair.twisting_friction,
        );
        response.torque += radius * torsion.force;
        response.add_losses(&torsion);
        response.history.twisting_displacement = torsion.elongation.dot(normal);
    }

    if pair.rolling_friction > 0.0 {
        let spin = relative_spin - relative_spin.dot(normal) * normal;
        if pair.rolling == ROLLING_SPRING {
            let rolling = slide(
                carry(history.rolling_displacement),
                radius * spin,
                pair.rolling_friction,
            );
            response.torque += radius * rolling.force;
            response.add_losses(&rolling);
            response.history.rolling_displacement = rolling.elongation;
        } else {
            let torque = constant_torque(contact, spin, pair.rolling_friction * compression);
            response.torque += torque;
            response.friction += torque.dot(spin) * time_step;
        }
    }
    response
}

/// Factor of the elongations before a step: see [`with_history`].
#[inline(always)]
fn rescaling<const LAW: u32>(normal_force: &NormalForce, params: &Params) -> f32 {
    if LAW == HERTZ_MINDLIN
        && params.rescales != 0
        && normal_force.tangent > normal_force.tangent_before
    {
        normal_force.tangent_before / normal_force.tangent
    } else {
        1.0
    }
}

/// The part of a step in which a contact has friction. That of the normal model `impulse` lasts a step or does not act in it.
#[inline(always)]
fn presence<const LAW: u32>(touch: Touch, normal_force: &NormalForce) -> f32 {
    if LAW == IMPULSE {
        if normal_force.total > 0.0 { 1.0 } else { 0.0 }
    } else {
        touch.presence
    }
}

impl Response {
    #[inline(always)]
    fn add_losses(&mut self, slid: &Slid) {
        self.damping += slid.damping;
        self.friction += slid.friction;
    }
}

/// Energy (J) that the springs of a contact hold, and what its cohesion does: negative in the range of
/// a constant force, positive in a neck that is drawn out.
pub fn stored<const LAW: u32>(contact: &Contact, pair: &Pair, history: &History) -> f32 {
    let work = |overlap: f32| {
        // The integral of k d, and of K sqrt(R) d^1.5.
        let part = if LAW == HERTZ_MINDLIN { 0.4 } else { 0.5 };
        part * spring::<LAW>(overlap, contact, pair).0 * overlap
    };
    let overlap = contact.overlap.max(0.0);
    let gap = (-contact.overlap).max(0.0);
    let mut energy = work(overlap);
    if LAW != HOOKE_VISCOUS {
        let (_, tangent) = spring::<LAW>(overlap, contact, pair);
        let squares = history.tangential_displacement.length_squared()
            + history.twisting_displacement * history.twisting_displacement
            + history.rolling_displacement.length_squared();
        energy += 0.5 * pair.tangential_ratio * tangent * squares;
        energy -= pair.cohesion_force * (contact.overlap + pair.cohesion_range).max(0.0);
        if history.bonded > 0.0 {
            let pull_off = 1.5 * PI * pair.surface_energy * contact.radius;
            energy -= pull_off * contact.overlap + work(gap);
        }
    }
    energy
}

/// Contact history before the step that left `history`, as far as it matters: [`respond`] then gives
/// the response of that step once more.
pub fn before<const LAW: u32>(
    contact: &Contact,
    pair: &Pair,
    history: &History,
    params: &Params,
) -> History {
    let scale = rescaling::<LAW>(&NormalForce::new::<LAW>(contact, pair, params), params);
    // What had no stiffness held nothing.
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    let way = contact.touch.presence * contact.time_step;
    let normal = contact.normal;
    let tangential_velocity =
        contact.relative_velocity - contact.relative_velocity.dot(normal) * normal;
    let twist = contact.radius * contact.relative_spin.dot(normal);
    let spin = contact.relative_spin - contact.relative_spin.dot(normal) * normal;
    History {
        tangential_displacement: inverse
            * (history.tangential_displacement - way * tangential_velocity),
        twisting_displacement: inverse * (history.twisting_displacement - way * twist),
        rolling_displacement: inverse
            * (history.rolling_displacement - way * (contact.radius * spin)),
        bonded: history.bonded,
    }
}

/// The elongation of a spring that lies in the plane of the contact, carried along as that plane
/// turns: what sticks out of it now is taken away, its length stays, and it turns by `angle` (rad)
/// about the normal.
#[inline(always)]
fn carried(elongation: Vec3, normal: Vec3, angle: f32) -> Vec3 {
    let out = elongation.dot(normal);
    let within = elongation - out * normal;
    let square = within.length_squared();
    if square == 0.0 {
        return Vec3::ZERO;
    }
    // sqrt(1 + out²/within²) to second order, and exactly 1 where the plane does not turn: a spring
    // under a constant load must not creep by rounding.
    let longer = 1.0 + 0.5 * (out * out / square).min(1.0);
    longer * within + angle * normal.cross(within)
}

/// A spring and dashpot with a limit to their force, beyond which they slide.
struct Slider {
    /// N/m.
    stiffness: f32,
    /// In the step before, N/m.
    stiffness_before: f32,
    /// Factor of the elongation before the step.
    scale: f32,
    /// N s/m.
    dashpot: f32,
    /// Largest force, N.
    cap: f32,
}

/// A step of a [`Slider`].
struct Slid {
    /// N.
    force: Vec3,
    /// Elongation of the spring, m.
    elongation: Vec3,
    /// Energy that the dashpot dissipated, and that the spring lost as its stiffness changed, J.
    damping: f32,
    /// Energy that changes of its stiffness took while it slid, and what sliding dissipated, J.
    friction: f32,
}

impl Slider {
    /// A step in which the ends of the spring part with `velocity` (m/s).
    #[inline(always)]
    fn slide(&self, elongation: Vec3, velocity: Vec3, presence: f32, time_step: f32) -> Slid {
        let held = self.stiffness_before * elongation.length_squared();
        let mut elongation = self.scale * elongation + presence * time_step * velocity;
        let mut force = self.stiffness * elongation + self.dashpot * velocity;
        let magnitude = force.length();
        let slides = magnitude > self.cap;
        if slides {
            force *= self.cap / magnitude;
            let tension = self.stiffness * elongation.length();
            if tension > self.cap {
                elongation *= self.cap / tension;
            }
        }
        let stored = 0.5 * (self.stiffness * elongation.length_squared() - held);
        let lost = force.dot(velocity) * time_step - stored;
        Slid {
            force,
            elongation,
            damping: if slides { 0.0 } else { lost },
            friction: if slides { lost } else { 0.0 },
        }
    }
}

/// The part of the relative spin that constant rolling friction may take away in one step from a
/// sphere of the effective mass and radius: the torque of a sphere that has come to rest must not
/// turn it back, though a dozen contacts may add theirs.
const GENTLE: f32 = 0.1;

/// Rolling friction of the size `force` (N) times the effective radius, against the relative spin
/// `spin` (rad/s): model A of Ai, Chen, Rotter and Ooi 2011.
#[inline(always)]
fn constant_torque(contact: &Contact, spin: Vec3, force: f32) -> Vec3 {
    let speed = spin.length();
    if speed == 0.0 {
        return Vec3::ZERO;
    }
    let radius = contact.radius;
    let inertia = 0.4 * radius * radius / contact.inverse_mass;
    let most = GENTLE * inertia * speed / contact.time_step;
    (force * radius).min(most) / speed * spin
}

/// Attraction (N) and whether the surfaces stick to each other, of surfaces that do (`sticks`) or
/// do not yet.
///
/// A constant force acts within its range of gaps. Surface energy acts from the first touch: 3/2 pi w
/// R, the pull-off force of Johnson, Kendall and Roberts 1971, while the surfaces overlap; in a gap, it
/// is less by what the normal spring would carry at an overlap of that size, until nothing is left.
#[inline(always)]
fn cohesion<const LAW: u32>(contact: &Contact, pair: &Pair, sticks: bool) -> (f32, bool) {
    let mut pull = 0.0;
    if pair.cohesion_force > 0.0 {
        let speed = contact.relative_velocity.dot(contact.normal);
        let within = Touch::new(
            contact.overlap + pair.cohesion_range,
            speed,
            contact.time_step,
        );
        pull += pair.cohesion_force * within.presence;
    }
    if pair.surface_energy > 0.0 && (sticks || contact.touch.presence > 0.0) {
        let pull_off = 1.5 * PI * pair.surface_energy * contact.radius;
        let (neck, _) = spring::<LAW>((-contact.overlap).max(0.0), contact, pair);
        pull += (pull_off - neck).max(0.0);
        return (pull, neck < pull_off);
    }
    (pull, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::layout::HOOKE_HISTORY;

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

    /// A pair whose contacts neither slide nor damp.
    fn elastic<const LAW: u32>() -> Pair {
        Pair {
            stiffness: if LAW == HERTZ_MINDLIN { 1e7 } else { 1e4 },
            tangential_ratio: 0.3,
            friction: 1e3,
            twisting_friction: 1e3,
            rolling_friction: 1e3,
            rolling: ROLLING_SPRING,
            ..Pair::default()
        }
    }

    /// A contact with the normal along y.
    fn contact(overlap: f32, relative_velocity: Vec3, relative_spin: Vec3) -> Contact {
        let time_step = 1e-4;
        Contact {
            overlap,
            touch: Touch::new(overlap, relative_velocity.y, time_step),
            normal: Vec3::Y,
            relative_velocity,
            relative_spin,
            common_twist: 0.0,
            radius: 0.05,
            inverse_mass: 2.0,
            time_step,
        }
    }

    /// Springs that are drawn out along all that they can be.
    const DRAWN: History = History {
        tangential_displacement: Vec3::new(3e-5, 0.0, -2e-5),
        twisting_displacement: 4e-5,
        rolling_displacement: Vec3::new(-1e-5, 0.0, 5e-5),
        bonded: 0.0,
    };

    /// Checks that the energy changes by the work of the force, as the surfaces are pressed or parted slowly.
    fn stores_the_work<const LAW: u32>(pair: &Pair, bonded: f32) {
        let history = History {
            bonded,
            ..History::default()
        };
        let at = |overlap| contact(overlap, Vec3::ZERO, Vec3::ZERO);
        let energy = |overlap| f64::from(stored::<LAW>(&at(overlap), pair, &history));
        for overlap in [-6e-4, -2e-4, 2e-4, 1e-3] {
            let force = respond::<LAW>(&at(overlap), pair, &history, &Params::default()).force;
            let expected = -f64::from(force.y);
            let slope = (energy(overlap + 1e-5) - energy(overlap - 1e-5)) / 2e-5;
            assert!(
                (slope - expected).abs() < 1e-3 * (1.0 + expected.abs()),
                "law {LAW}, overlap {overlap}, bonded {bonded}, {pair:?}: {slope} N, expected {expected}"
            );
        }
        let still = at(1e-3);
        let Response { force, torque, .. } =
            respond::<LAW>(&still, pair, &DRAWN, &Params::default());
        let drawn = force.dot(DRAWN.tangential_displacement)
            + torque.y / still.radius * DRAWN.twisting_displacement
            + (torque / still.radius).dot(DRAWN.rolling_displacement);
        let held = stored::<LAW>(&still, pair, &DRAWN) - energy(1e-3) as f32;
        assert!(
            LAW == HOOKE_VISCOUS || bonded > 0.0 || (held / drawn - 0.5).abs() < 1e-3,
            "law {LAW}: {held} J, expected half of {drawn} J"
        );
    }

    fn stores_all_work<const LAW: u32>() {
        stores_the_work::<LAW>(&elastic::<LAW>(), 0.0);
        if LAW != HOOKE_VISCOUS {
            let attracted = Pair {
                cohesion_force: 5.0,
                cohesion_range: 4e-4,
                ..elastic::<LAW>()
            };
            stores_the_work::<LAW>(&attracted, 0.0);
            let sticky = Pair {
                surface_energy: 200.0,
                ..elastic::<LAW>()
            };
            stores_the_work::<LAW>(&sticky, 1.0);
        }
    }

    #[test]
    fn what_is_stored_is_the_work_that_was_done() {
        stores_all_work::<HOOKE_VISCOUS>();
        stores_all_work::<HOOKE_HISTORY>();
        stores_all_work::<HERTZ_MINDLIN>();
    }

    /// The response to the history before a step, found from that after it, is that of the step.
    fn comes_again<const LAW: u32>() {
        let velocity = Vec3::new(0.3, -0.4, 0.2);
        let spin = Vec3::new(5.0, -4.0, 3.0);
        for (overlap, rescales) in [(1e-3, 1), (1e-3, 0), (1e-5, 1)] {
            let params = Params {
                rescales,
                ..Params::default()
            };
            let contact = contact(overlap, velocity, spin);
            let again = |history: &History| {
                let response = respond::<LAW>(&contact, &elastic::<LAW>(), history, &params);
                (response.force, response.torque, response.history)
            };
            let first = again(&DRAWN);
            let was = before::<LAW>(&contact, &elastic::<LAW>(), &first.2, &params);
            let off = |(force, torque, _): (Vec3, Vec3, History)| {
                (force - first.0).length() / first.0.length()
                    + (torque - first.1).length() / first.1.length()
            };
            let what = format!("law {LAW}, overlap {overlap}, {rescales}: {first:?} {was:?}");
            assert!(off(again(&was)) < 1e-4, "{what}");
            // Where the spring had no stiffness before, its elongation decides nothing.
            let decides = was != History::default();
            assert!(!decides || off(again(&first.2)) > 1e-2, "{what}");
        }
    }

    #[test]
    fn a_step_is_found_again_from_what_it_left() {
        comes_again::<HOOKE_HISTORY>();
        comes_again::<HERTZ_MINDLIN>();
    }
}
