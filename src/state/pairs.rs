//! The pair table, as the engines have it, and what follows from it: how much a contact keeps, how far it reaches, and units of force.

use super::grid::radii;
use super::layout::*;
use crate::model::{Cohesion, Law, Model, PairLaw, Rolling};

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

/// How many `vec4` a contact remembers: none, the tangential and the torsional spring, or those and
/// the rolling spring and whether the surfaces stick.
pub(super) fn memory_size(model: &Model) -> u32 {
    let second = |pair: &PairLaw| {
        (pair.rolling == Rolling::Spring && pair.rolling_friction > 0.0)
            || matches!(pair.cohesion, Cohesion::SurfaceEnergy(energy) if energy > 0.0)
    };
    match model.contact.law {
        Law::Linear => 0,
        Law::Custom(_) => 2,
        Law::Hooke | Law::Hertz => 1 + u32::from(model.pairs.iter().any(second)),
    }
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
                    Law::Hertz => {
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

/// The force of a contact that is as deep as the largest radius, N: a power of two.
pub(super) fn force_unit(pairs: &[Pair], model: &Model) -> f32 {
    let (_, radius) = radii(model);
    let stiffest = pairs
        .iter()
        .map(|pair| pair.wall_stiffness)
        .fold(0.0, f32::max);
    let force = match model.contact.law {
        Law::Hertz => f64::from(stiffest) * radius * radius,
        _ => f64::from(stiffest) * radius,
    };
    power_of_two(force)
}

/// A power of two of the size of `number`.
pub(super) fn power_of_two(number: f64) -> f32 {
    libm::exp2(libm::log2(number.max(1e-30)).ceil()).clamp(1e-30, 1e30) as f32
}
