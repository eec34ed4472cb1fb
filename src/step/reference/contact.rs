//! Contact laws; the twin of `shaders/shared/contact.wgsl`. [`crate::step::contact`] explains them.

use std::f64::consts::PI;

use super::mirror::{Mirror, mirrors};
use super::real::Real;
use super::state::Params;
use super::vector::Vector;
use crate::model::{Cohesion, PairLaw};
use crate::state::layout::{self, CUSTOM, HERTZ_MINDLIN, HOOKE_VISCOUS, IMPULSE, ROLLING_SPRING};

mirrors! {
    Pair {
        stiffness: R,
        wall_stiffness: R,
        tangential_ratio: R,
        wall_tangential_ratio: R,
        damping_ratio: R,
        damping: R,
        friction: R,
        rolling_friction: R,
        rolling: u32,
        twisting_friction: R,
        cohesion_force: R,
        cohesion_range: R,
        surface_energy: R,
        conductance: R,
        restitution: R,
    }
    History {
        tangential_displacement: Vector<R>,
        twisting_displacement: R,
        rolling_displacement: Vector<R>,
        bonded: R,
    }
}

impl<R: Real> Pair<R> {
    /// Takes the numbers of the model, which are more precise.
    pub fn refine(&mut self, law: &PairLaw) {
        self.stiffness = R::of(law.stiffness);
        self.wall_stiffness = R::of(law.wall_stiffness);
        self.tangential_ratio = R::of(law.tangential_ratio);
        self.wall_tangential_ratio = R::of(law.wall_tangential_ratio);
        self.damping_ratio = R::of(law.damping_ratio);
        self.damping = R::of(law.damping);
        self.restitution = R::of(law.restitution);
        self.friction = R::of(law.friction);
        self.rolling_friction = R::of(law.rolling_friction);
        self.twisting_friction = R::of(law.twisting_friction);
        match law.cohesion {
            Cohesion::None => (),
            Cohesion::Constant { force, range } => {
                self.cohesion_force = R::of(force);
                self.cohesion_range = R::of(range);
            }
            Cohesion::SurfaceEnergy(energy) => self.surface_energy = R::of(energy),
        }
    }

    /// The parameters of a contact with a wall.
    pub fn against_wall(&self) -> Pair<R> {
        Pair {
            stiffness: self.wall_stiffness,
            tangential_ratio: self.wall_tangential_ratio,
            ..*self
        }
    }
}

impl<R: Real> History<R> {
    pub fn is_empty(&self) -> bool {
        *self == History::default()
    }
}

/// Two surfaces that are close to each other during a step, seen from one of them.
#[derive(Clone, Copy, Debug)]
pub struct Contact<R> {
    /// m, in the middle of the step; negative while the surfaces are apart.
    pub overlap: R,
    pub touch: Touch<R>,
    /// Unit vector from this surface to the other.
    pub normal: Vector<R>,
    /// Velocity of the other surface at the contact relative to this one, m/s.
    pub relative_velocity: Vector<R>,
    /// Angular velocity of the other body relative to this one, rad/s.
    pub relative_spin: Vector<R>,
    /// Angular speed about the normal of the two together, rad/s: that of the wall on a wall.
    pub common_twist: R,
    /// Effective radius, m.
    pub radius: R,
    /// 1/m_a + 1/m_b of the bodies, 1/kg; with the normal model `impulse` of their shares.
    pub inverse_mass: R,
    /// s.
    pub time_step: R,
}

/// Part of a step in which two surfaces touch, and how deep.
#[derive(Clone, Copy, Debug)]
pub struct Touch<R> {
    /// The part of the step in which they overlap, 0 to 1.
    pub presence: R,
    /// m, averaged over the step: what is reported.
    pub mean_overlap: R,
}

/// Response of a contact: its force and torque on one of its sides, and what it dissipates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Response<R: Real> {
    /// Force on this surface, N.
    pub force: Vector<R>,
    /// Torque on this body besides that of the force, N m.
    pub torque: Vector<R>,
    /// Contact history after the step.
    pub history: History<R>,
    /// Energy that dashpots dissipated in this step, J: of the contact, not of a side.
    pub damping: R,
    /// Energy that friction dissipated in this step, J.
    pub friction: R,
}

/// From the signed overlap in the middle of the step and the speed with which they approach or part.
pub fn touch_of<R: Real>(overlap: R, speed: R, time_step: R) -> Touch<R> {
    let way = speed.abs() * time_step;
    if way > R::of(2.0) * overlap.abs() {
        let presence = R::of(0.5) + overlap / way;
        return Touch {
            presence,
            mean_overlap: R::of(0.5) * presence * presence * way,
        };
    }
    let [presence, mean_overlap] = if overlap > R::ZERO {
        [R::ONE, overlap]
    } else {
        [R::ZERO; 2]
    };
    Touch {
        presence,
        mean_overlap,
    }
}

/// Force (N) and slope (N/m) of the normal spring.
fn spring<R: Real>(law: u32, overlap: R, contact: &Contact<R>, pair: &Pair<R>) -> (R, R) {
    if law == IMPULSE {
        let time_step = contact.time_step;
        let stiffness = R::ONE / (contact.inverse_mass * time_step * time_step);
        return (stiffness * overlap, stiffness);
    }
    if law == HERTZ_MINDLIN {
        let width = (contact.radius * overlap).sqrt();
        return (
            pair.stiffness * width * overlap,
            R::of(1.5) * pair.stiffness * width,
        );
    }
    (pair.stiffness * overlap, pair.stiffness)
}

/// Spring and dashpot along the normal.
struct NormalForce<R> {
    /// N.
    spring: R,
    /// N/m.
    tangent: R,
    /// In the step before, N/m.
    tangent_before: R,
    /// N s/m.
    impedance: R,
    /// N s/m.
    dashpot: R,
    /// m/s.
    approach: R,
    /// N.
    total: R,
}

fn normal_force_of<R: Real>(law: u32, contact: &Contact<R>, pair: &Pair<R>) -> NormalForce<R> {
    let approach = -contact.relative_velocity.dot(contact.normal);
    let presence = contact.touch.presence;
    let (spring, tangent) = spring(law, contact.overlap.max(R::ZERO), contact, pair);
    let impedance = presence * (tangent / contact.inverse_mass).sqrt();
    // Damping of Hertz's spring over that of a linear one of the same slope.
    let shape = if law == HERTZ_MINDLIN {
        R::TSUJI
    } else {
        R::ONE
    };
    let nominal = presence * pair.damping + R::of(2.0) * shape * pair.damping_ratio * impedance;
    let slower = R::of(0.25) * nominal * contact.time_step * contact.inverse_mass;
    let dashpot = nominal / (R::ONE + slower);
    let tangent_before = if law == HERTZ_MINDLIN {
        let overlap = (contact.overlap - approach * contact.time_step).max(R::ZERO);
        self::spring(law, overlap, contact, pair).1
    } else {
        tangent
    };
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

/// Speeds of approach that are no impact but come of gravity, as a multiple of what it adds in a step.
const STILL: f64 = 4.0;

/// The force of the normal model `impulse`: it ends the approach in this step, and the overlap.
fn impulse_of<R: Real>(contact: &Contact<R>, pair: &Pair<R>, params: &Params<R>) -> NormalForce<R> {
    let approach = -contact.relative_velocity.dot(contact.normal);
    let (spring, tangent) = spring(IMPULSE, contact.overlap.max(R::ZERO), contact, pair);
    let dashpot = tangent * contact.time_step;
    let gap = (-contact.overlap).max(R::ZERO);
    let slowed = spring + dashpot * approach - tangent * gap;
    let bounced = (R::ONE + pair.restitution) * dashpot * approach;
    let still = R::of(STILL) * params.gravity.length() * contact.time_step;
    let total = if approach > still {
        slowed.max(bounced)
    } else {
        slowed
    };
    let meets = contact.overlap + approach * contact.time_step > R::ZERO;
    NormalForce {
        spring,
        tangent,
        tangent_before: tangent,
        impedance: dashpot,
        dashpot,
        approach,
        total: if meets || contact.overlap > R::ZERO {
            total.max(R::ZERO)
        } else {
            R::ZERO
        },
    }
}

/// Energy that the dashpot takes in a step, J.
fn damping_of<R: Real>(normal_force: &NormalForce<R>, contact: &Contact<R>) -> R {
    let change = normal_force.total * contact.inverse_mass * contact.time_step;
    (normal_force.total - normal_force.spring)
        * (normal_force.approach - R::of(0.5) * change)
        * contact.time_step
}

/// Response of a contact, by the law of the scene.
///
/// # Panics
/// If that is a custom one.
pub fn contact_law<R: Real>(
    contact: &Contact<R>,
    pair: &Pair<R>,
    history: &History<R>,
    params: &Params<R>,
) -> Response<R> {
    match params.law {
        HOOKE_VISCOUS => hooke_viscous(contact, pair),
        IMPULSE => {
            let response = with_history(contact, pair, history, params);
            Response {
                damping: R::ZERO,
                friction: response.damping + response.friction,
                ..response
            }
        }
        CUSTOM => panic!("the reference has no custom contact law"),
        _ => with_history(contact, pair, history, params),
    }
}

/// The law `hooke` with `viscous`: spring, dashpot, and viscous shear capped by Coulomb friction.
fn hooke_viscous<R: Real>(contact: &Contact<R>, pair: &Pair<R>) -> Response<R> {
    if contact.touch.presence == R::ZERO {
        return Response::default();
    }
    let normal_force = normal_force_of(HOOKE_VISCOUS, contact, pair);
    let tangential_velocity = contact.relative_velocity + contact.normal * normal_force.approach;
    let mut shear = tangential_velocity * (pair.tangential_ratio * normal_force.impedance);
    let cap = pair.friction * normal_force.total.max(R::ZERO);
    let magnitude = shear.length();
    let slides = magnitude > cap;
    if slides {
        shear *= cap / magnitude;
    }
    let lost = shear.dot(tangential_velocity) * contact.time_step;
    let [damping, friction] = if slides {
        [R::ZERO, lost]
    } else {
        [lost, R::ZERO]
    };
    Response {
        force: shear - contact.normal * normal_force.total,
        damping: damping_of(&normal_force, contact) + damping,
        friction,
        ..Response::default()
    }
}

/// The laws with a contact history: a tangential spring, resistance to rolling and twisting, cohesion.
fn with_history<R: Real>(
    contact: &Contact<R>,
    pair: &Pair<R>,
    history: &History<R>,
    params: &Params<R>,
) -> Response<R> {
    let normal = contact.normal;
    let radius = contact.radius;
    let is_impulse = params.law == IMPULSE;
    let mut normal_force = if is_impulse {
        impulse_of(contact, pair, params)
    } else {
        normal_force_of(params.law, contact, pair)
    };
    let presence = if !is_impulse {
        contact.touch.presence
    } else if normal_force.total > R::ZERO {
        R::ONE
    } else {
        R::ZERO
    };
    if params.limit_damping != 0 {
        normal_force.total = normal_force.total.max(R::ZERO);
    }
    let (pull, sticks) = cohesion(params.law, contact, pair, history.bonded > R::ZERO);
    let mut response = Response {
        force: normal * (pull - normal_force.total),
        damping: damping_of(&normal_force, contact),
        ..Response::default()
    };
    response.history.bonded = if sticks { R::ONE } else { R::ZERO };

    let compression = normal_force.total.max(R::ZERO);
    let stiffness = pair.tangential_ratio * normal_force.tangent;
    let stiffness_before = pair.tangential_ratio * normal_force.tangent_before;
    if presence == R::ZERO {
        // What the springs still held is lost.
        let twist = history.twisting_displacement;
        let held = history.tangential_displacement.square()
            + twist * twist
            + history.rolling_displacement.square();
        response.friction = R::of(0.5) * stiffness_before * held;
        return response;
    }
    let grows = normal_force.tangent > normal_force.tangent_before;
    let scale = if params.law == HERTZ_MINDLIN && params.rescales != 0 && grows {
        normal_force.tangent_before / normal_force.tangent
    } else {
        R::ONE
    };
    let dashpot = params.tangential_damping * normal_force.dashpot;
    let angle = contact.common_twist * contact.time_step;
    let slider = |coefficient: R| Slider {
        stiffness,
        stiffness_before,
        scale,
        dashpot,
        cap: coefficient * compression,
    };

    let tangential_velocity = contact.relative_velocity + normal * normal_force.approach;
    let start = carried(history.tangential_displacement, normal, angle);
    let shear = slide(
        slider(pair.friction),
        start,
        tangential_velocity,
        presence * contact.time_step,
        contact,
    );
    response.force += shear.force;
    response.damping += shear.damping;
    response.friction += shear.friction;
    response.history.tangential_displacement = shear.elongation;
    if pair.twisting_friction > R::ZERO {
        let twist = radius * contact.relative_spin.dot(normal);
        let slider = slider(pair.twisting_friction);
        let start = normal * history.twisting_displacement;
        let torsion = slide(
            slider,
            start,
            normal * twist,
            presence * contact.time_step,
            contact,
        );
        response.torque += torsion.force * radius;
        response.damping += torsion.damping;
        response.friction += torsion.friction;
        response.history.twisting_displacement = torsion.elongation.dot(normal);
    }

    if pair.rolling_friction > R::ZERO {
        let spin = contact.relative_spin - normal * contact.relative_spin.dot(normal);
        if pair.rolling == ROLLING_SPRING {
            let start = carried(history.rolling_displacement, normal, angle);
            let slider = slider(pair.rolling_friction);
            let rolling = slide(
                slider,
                start,
                spin * radius,
                presence * contact.time_step,
                contact,
            );
            response.torque += rolling.force * radius;
            response.damping += rolling.damping;
            response.friction += rolling.friction;
            response.history.rolling_displacement = rolling.elongation;
        } else {
            let torque = constant_torque(contact, spin, pair.rolling_friction * compression);
            response.torque += torque;
            response.friction += torque.dot(spin) * contact.time_step;
        }
    }
    response
}

/// The elongation of a spring that lies in the plane of the contact, carried along as that plane turns, and turned
/// by `angle` about the normal.
fn carried<R: Real>(elongation: Vector<R>, normal: Vector<R>, angle: R) -> Vector<R> {
    let out = elongation.dot(normal);
    let within = elongation - normal * out;
    let square = within.square();
    if square == R::ZERO {
        return Vector::ZERO;
    }
    let longer = R::ONE + R::of(0.5) * (out * out / square).min(R::ONE);
    within * longer + normal.cross(within) * angle
}

/// A spring and dashpot with a limit to their force, beyond which they slide.
struct Slider<R> {
    /// N/m.
    stiffness: R,
    /// In the step before, N/m.
    stiffness_before: R,
    /// Factor of the elongation before the step.
    scale: R,
    /// N s/m.
    dashpot: R,
    /// N.
    cap: R,
}

/// Force and history of a tangential spring after a step.
struct Slid<R> {
    /// N.
    force: Vector<R>,
    /// m.
    elongation: Vector<R>,
    /// J.
    damping: R,
    /// J.
    friction: R,
}

/// A step in which the ends of the spring part with `velocity`, for a `time` of it.
fn slide<R: Real>(
    slider: Slider<R>,
    start: Vector<R>,
    velocity: Vector<R>,
    time: R,
    contact: &Contact<R>,
) -> Slid<R> {
    let held = slider.stiffness_before * start.square();
    let mut elongation = start * slider.scale + velocity * time;
    let mut force = elongation * slider.stiffness + velocity * slider.dashpot;
    let magnitude = force.length();
    let slides = magnitude > slider.cap;
    if slides {
        force *= slider.cap / magnitude;
        let tension = slider.stiffness * elongation.length();
        if tension > slider.cap {
            elongation *= slider.cap / tension;
        }
    }
    let stored = R::of(0.5) * (slider.stiffness * elongation.square() - held);
    let lost = force.dot(velocity) * contact.time_step - stored;
    let [damping, friction] = if slides {
        [R::ZERO, lost]
    } else {
        [lost, R::ZERO]
    };
    Slid {
        force,
        elongation,
        damping,
        friction,
    }
}

/// Rolling friction of the size `force` times the effective radius, against the relative spin.
fn constant_torque<R: Real>(contact: &Contact<R>, spin: Vector<R>, force: R) -> Vector<R> {
    let speed = spin.length();
    if speed == R::ZERO {
        return Vector::ZERO;
    }
    // The part of the relative spin that it may take away in one step.
    let gentle = R::of(0.1);
    let inertia = R::of(0.4) * contact.radius * contact.radius / contact.inverse_mass;
    let most = gentle * inertia * speed / contact.time_step;
    spin * ((force * contact.radius).min(most) / speed)
}

/// Attraction (N) and whether the surfaces stick to each other, of surfaces that do already, or do not yet.
fn cohesion<R: Real>(law: u32, contact: &Contact<R>, pair: &Pair<R>, sticks: bool) -> (R, bool) {
    let mut pull = R::ZERO;
    if pair.cohesion_force > R::ZERO {
        let speed = contact.relative_velocity.dot(contact.normal);
        let gap = contact.overlap + pair.cohesion_range;
        pull += pair.cohesion_force * touch_of(gap, speed, contact.time_step).presence;
    }
    if pair.surface_energy > R::ZERO && (sticks || contact.touch.presence > R::ZERO) {
        let pull_off = R::of(1.5) * R::of(PI) * pair.surface_energy * contact.radius;
        let (neck, _) = spring(law, (-contact.overlap).max(R::ZERO), contact, pair);
        pull += (pull_off - neck).max(R::ZERO);
        return (pull, neck < pull_off);
    }
    (pull, false)
}

#[cfg(test)]
mod tests {
    use glam::Vec3;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::super::mirror::Mirror;
    use super::*;
    use crate::state::layout::{HOOKE_HISTORY, ROLLING_CONSTANT};
    use crate::step::contact as fast;

    /// Contacts of all kinds: near and far, at rest and fast, that stick, slide, roll and twist.
    struct Draw(ChaCha8Rng);

    impl Draw {
        /// From 0 to 1.
        fn part(&mut self) -> f32 {
            (self.0.next_u32() >> 8) as f32 / (1 << 24) as f32
        }

        /// One of the values.
        fn one<T: Copy>(&mut self, values: &[T]) -> T {
            values[self.0.next_u32() as usize % values.len()]
        }

        /// Zero, or a vector of about this length.
        fn vector(&mut self, lengths: &[f32]) -> Vec3 {
            let length = self.one(lengths);
            length * (2.0 * Vec3::from_array([(); 3].map(|()| self.part())) - 1.0)
        }

        fn contact(&mut self) -> fast::Contact {
            let normal = self.vector(&[1.0]).normalize_or(Vec3::Y);
            let across = self.one(&[0.0, 1.0]);
            let velocity = self.vector(&[0.0, 0.01, 0.3, 5.0]);
            let relative_velocity = velocity - across * velocity.dot(normal) * normal;
            let (overlap, time_step) = (
                self.part() * self.one(&[0.0, 1e-4, 2e-3, -1e-4, -2e-3]),
                1e-3,
            );
            fast::Contact {
                overlap,
                touch: fast::Touch::new(overlap, relative_velocity.dot(normal), time_step),
                normal,
                relative_velocity,
                relative_spin: self.vector(&[0.0, 0.1, 30.0]),
                common_twist: self.one(&[0.0, 3.0, -20.0]),
                radius: 0.02 + 0.1 * self.part(),
                inverse_mass: self.one(&[0.5, 20.0]) * (1.0 + self.part()),
                time_step,
            }
        }

        fn pair(&mut self, law: u32) -> layout::Pair {
            layout::Pair {
                stiffness: if law == HERTZ_MINDLIN { 1e7 } else { 1e4 },
                tangential_ratio: 0.3,
                damping_ratio: self.one(&[0.0, 0.3]),
                damping: self.one(&[0.0, 4.0]),
                friction: self.one(&[0.0, 0.3, 10.0]),
                rolling_friction: self.one(&[0.0, 0.1, 10.0]),
                rolling: self.one(&[ROLLING_CONSTANT, ROLLING_SPRING]),
                twisting_friction: self.one(&[0.0, 0.2, 10.0]),
                cohesion_force: self.one(&[0.0, 2.0]),
                cohesion_range: self.one(&[0.0, 1e-3]),
                surface_energy: self.one(&[0.0, 0.5, 50.0]),
                restitution: self.one(&[0.0, 0.5]),
                ..layout::Pair::default()
            }
        }

        fn history(&mut self) -> layout::History {
            layout::History {
                tangential_displacement: self.vector(&[0.0, 1e-5, 1e-3]),
                twisting_displacement: self.one(&[0.0, 1e-5, -1e-3]),
                rolling_displacement: self.vector(&[0.0, 1e-5, 1e-3]),
                bonded: self.one(&[0.0, 1.0]),
            }
        }

        fn params(&mut self, law: u32) -> layout::Params {
            layout::Params {
                law,
                gravity: self.one(&[0.0, 9.81]) * Vec3::NEG_Y,
                limit_damping: self.one(&[0, 1]),
                rescales: self.one(&[0, 1]),
                tangential_damping: self.one(&[0.0, 1.0]),
                ..layout::Params::default()
            }
        }
    }

    fn mirrored<T, M: Mirror<T> + Default>(value: &T) -> M {
        let mut own = M::default();
        own.take(value);
        own
    }

    /// The contact and the response of the plain law, in the structs of the engines.
    fn plain(
        contact: &fast::Contact,
        pair: &layout::Pair,
        history: &layout::History,
        params: &layout::Params,
    ) -> fast::Response {
        let relative_velocity: Vector<f32> = mirrored(&contact.relative_velocity);
        let normal = mirrored(&contact.normal);
        let own = Contact {
            overlap: contact.overlap,
            touch: touch_of(
                contact.overlap,
                relative_velocity.dot(normal),
                contact.time_step,
            ),
            normal,
            relative_velocity,
            relative_spin: mirrored(&contact.relative_spin),
            common_twist: contact.common_twist,
            radius: contact.radius,
            inverse_mass: contact.inverse_mass,
            time_step: contact.time_step,
        };
        let touch = [own.touch.presence, own.touch.mean_overlap];
        assert_eq!(touch, [contact.touch.presence, contact.touch.mean_overlap]);
        let response = contact_law(&own, &mirrored(pair), &mirrored(history), &mirrored(params));
        let mut history = layout::History::default();
        response.history.give(&mut history);
        fast::Response {
            force: response.force.rounded(),
            torque: response.torque.rounded(),
            history,
            damping: response.damping,
            friction: response.friction,
        }
    }

    #[test]
    fn the_law_of_the_engines_is_this_one_bit_for_bit() {
        let mut draw = Draw(ChaCha8Rng::seed_from_u64(1));
        for law in [HOOKE_VISCOUS, HOOKE_HISTORY, HERTZ_MINDLIN, IMPULSE] {
            let respond = match law {
                HOOKE_VISCOUS => fast::respond::<HOOKE_VISCOUS>,
                HOOKE_HISTORY => fast::respond::<HOOKE_HISTORY>,
                HERTZ_MINDLIN => fast::respond::<HERTZ_MINDLIN>,
                _ => fast::respond::<IMPULSE>,
            };
            for number in 0..10_000 {
                let contact = draw.contact();
                let (pair, history, params) = (draw.pair(law), draw.history(), draw.params(law));
                assert_eq!(
                    respond(&contact, &pair, &history, &params),
                    plain(&contact, &pair, &history, &params),
                    "law {law}, number {number}: {contact:?} {pair:?} {history:?} {params:?}"
                );
            }
        }
    }
}
