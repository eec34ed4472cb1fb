//! The pair table, as the engines have it, and what follows from it: how far a contact reaches, and units of force.

use bytemuck::{Pod, Zeroable};

use super::grid::radii;
use super::layout::{ROLLING_CONSTANT, ROLLING_SPRING};
use crate::math::wgsl::shared_structs;
use crate::model::{Cohesion, Law, Model, PairLaw, Rolling};

shared_structs! {
    /// Contact parameters of a pair of materials; element `a * material_count + b` of the table.
    #[doc(hidden)]
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct Pair {
        /// Normal stiffness, N/m; of the normal model `hertz` 4/3 E*, Pa.
        pub stiffness: f32,
        /// Normal stiffness on a wall, N/m or Pa.
        pub wall_stiffness: f32,
        /// Tangential stiffness as a fraction of the normal one.
        pub tangential_ratio: f32,
        /// Tangential over normal stiffness on a wall.
        pub wall_tangential_ratio: f32,
        /// Damping ratio of the normal dashpot (1 is critical), from the coefficient of restitution.
        pub damping_ratio: f32,
        /// Normal dashpot given directly, N s/m; added to that of the damping ratio.
        pub damping: f32,
        /// Coefficient of friction.
        pub friction: f32,
        /// Coefficient of rolling friction.
        pub rolling_friction: f32,
        /// [`ROLLING_CONSTANT`] or [`ROLLING_SPRING`].
        pub rolling: u32,
        /// Coefficient of twisting friction.
        pub twisting_friction: f32,
        /// Constant attraction, N, while the gap is less than `cohesion_range`.
        pub cohesion_force: f32,
        /// m.
        pub cohesion_range: f32,
        /// Work of adhesion of surfaces that have touched, J/m².
        pub surface_energy: f32,
        /// Heat flow over temperature difference and radius of the contact: twice the conductivity, W/(m K).
        pub conductance: f32,
        /// Coefficient of restitution, of the normal model `impulse`.
        pub restitution: f32,
        /// Zero.
        pub _pad: u32,
    }
}

impl Pair {
    /// The parameters without terms beyond spring, dashpot and friction.
    #[inline(always)]
    pub fn plain(self) -> Pair {
        Pair {
            rolling_friction: 0.0,
            twisting_friction: 0.0,
            cohesion_force: 0.0,
            surface_energy: 0.0,
            ..self
        }
    }

    /// The parameters of a contact with a sphere, or with a wall.
    pub fn against(&self, wall: bool) -> Pair {
        if wall {
            Pair {
                stiffness: self.wall_stiffness,
                tangential_ratio: self.wall_tangential_ratio,
                ..*self
            }
        } else {
            *self
        }
    }
}

/// The pair table of a model, as the engines read it.
pub(crate) fn pairs(model: &Model) -> Vec<Pair> {
    let count = model.materials.len();
    let conductance = |index: usize| match &model.heat {
        Some(heat) => 2.0 * heat.conductivity(index / count, index % count),
        None => 0.0,
    };
    let pairs = model.pairs.iter().enumerate();
    pairs
        .map(|(index, law)| Pair {
            conductance: conductance(index) as f32,
            ..pair(law)
        })
        .collect()
}

/// Parameters of a pair of materials, as the engines read them.
pub(super) fn pair(law: &PairLaw) -> Pair {
    let mut pair = Pair {
        stiffness: law.stiffness as f32,
        wall_stiffness: law.wall_stiffness as f32,
        tangential_ratio: law.tangential_ratio as f32,
        wall_tangential_ratio: law.wall_tangential_ratio as f32,
        damping_ratio: law.damping_ratio as f32,
        damping: law.damping as f32,
        restitution: law.restitution as f32,
        friction: law.friction as f32,
        rolling_friction: law.rolling_friction as f32,
        rolling: match law.rolling {
            Rolling::Constant => ROLLING_CONSTANT,
            Rolling::Spring => ROLLING_SPRING,
        },
        twisting_friction: law.twisting_friction as f32,
        ..Pair::default()
    };
    match law.cohesion {
        Cohesion::None => (),
        Cohesion::Constant { force, range } => {
            pair.cohesion_force = force as f32;
            pair.cohesion_range = range as f32;
        }
        Cohesion::SurfaceEnergy(energy) => pair.surface_energy = energy as f32,
    }
    pair
}

/// The largest gap at which two surfaces act on each other, m.
pub(super) fn range(model: &Model) -> f64 {
    let (_, radius) = radii(model);
    let of_pair = |pair: &PairLaw| match pair.cohesion {
        Cohesion::None => 0.0,
        Cohesion::Constant { force, range } if force > 0.0 => range,
        Cohesion::Constant { .. } => 0.0,
        Cohesion::SurfaceEnergy(energy) => {
            // Where the normal spring would carry the pull-off force; see `contact::cohesion`.
            let length = |stiffness: f64| {
                let pull_off = 1.5 * std::f64::consts::PI * energy * radius;
                match model.contact.law {
                    _ if stiffness <= 0.0 => 0.0,
                    // `stiffness` is that of the stiffest contact.
                    Law::Impulse => pull_off / (SOFTEST * stiffness),
                    Law::HertzMindlin => {
                        libm::cbrt(pull_off * pull_off / (stiffness * stiffness * radius))
                    }
                    _ => pull_off / stiffness,
                }
            };
            length(pair.stiffness).max(length(pair.wall_stiffness))
        }
    };
    let of_law = match &model.contact.law {
        Law::Custom(law) => law.range,
        _ => 0.0,
    };
    model.pairs.iter().map(of_pair).fold(of_law, f64::max)
}

/// Stiffness of a contact of the normal model `impulse` that a body has among a dozen others, as a part of that of a body's only
/// one on a wall.
const SOFTEST: f64 = 1.0 / 24.0;

/// The force of a contact that is as deep as the largest radius, N: a power of two.
pub(super) fn force_unit(pairs: &[Pair], model: &Model) -> f32 {
    let (_, radius) = radii(model);
    let stiffest = pairs
        .iter()
        .map(|pair| pair.wall_stiffness)
        .fold(0.0, f32::max);
    let force = match model.contact.law {
        Law::HertzMindlin => f64::from(stiffest) * radius * radius,
        _ => f64::from(stiffest) * radius,
    };
    power_of_two(force)
}

/// A power of two of the size of `number`.
pub(super) fn power_of_two(number: f64) -> f32 {
    libm::exp2(libm::log2(number.max(1e-30)).ceil()).clamp(1e-30, 1e30) as f32
}
