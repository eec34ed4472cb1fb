use std::ops::Range;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::Explosion;

/// Breakage: the rule by which bodies of a shape burst under load.
///
/// The force and the energy at which a body bursts are multiplied by its relative strength, which scatters about 1.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Breakage {
    /// Index of the shape in [`Model::shapes`](crate::model::Model::shapes).
    pub shape: usize,
    /// Index of the rule of the scene.
    pub rule: usize,
    /// Contact force at which a body bursts, N.
    pub force: Option<f64>,
    /// Energy dissipated by its contacts at which a body bursts, J.
    pub energy: Option<f64>,
    /// Weibull modulus of the relative strength; with `None` it is 1 for all bodies.
    pub weibull_modulus: Option<f64>,
    /// Seed of the relative strengths.
    pub seed: u64,
    /// Speed of the push outwards, m/s.
    pub speed: f64,
    /// Shapes of the fragments, as in an [`Explosion`].
    pub fragments: Range<usize>,
}

impl Breakage {
    /// Relative strength of a body. It is below x with the probability 1 - exp(-x^m), m the modulus (Weibull 1951).
    pub(crate) fn strength(&self, id: u64) -> f64 {
        self.weibull_modulus.map_or(1.0, |modulus| {
            let mut random = ChaCha8Rng::seed_from_u64(self.seed);
            random.set_stream(id);
            // Neither 0 nor 1, so that the logarithm is finite and not 0.
            let part = ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            libm::pow(-libm::log(part), 1.0 / modulus)
        })
    }

    /// Whether a body bursts under the largest contact force `force` (N) and the energy `energy` (J) dissipated by its contacts.
    pub(crate) fn breaks(&self, id: u64, force: f64, energy: f64) -> bool {
        let beyond = |load: f64, limit: Option<f64>| {
            limit.is_some_and(|limit| load > limit * self.strength(id))
        };
        beyond(force, self.force) || beyond(energy, self.energy)
    }

    /// The explosion by which the body `id` bursts.
    pub(crate) fn explosion(&self, id: u64) -> Explosion {
        Explosion {
            body: id,
            at: 0.0,
            speed: self.speed,
            fragments: self.fragments.clone(),
        }
    }
}
