use std::ops::Range;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::Explosion;

/// Bodies of a shape that burst under load.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakage {
    /// Index of the shape in [`Model::shapes`](crate::model::Model::shapes).
    pub shape: usize,
    /// The rule of the scene that it comes from.
    pub rule: usize,
    /// Contact force at which a body bursts, N, but for how its strength scatters.
    pub force: Option<f64>,
    /// Energy that its contacts have dissipated when it bursts, J, likewise.
    pub energy: Option<f64>,
    /// Weibull modulus of its strength; it does not scatter if there is none.
    pub weibull_modulus: Option<f64>,
    /// Seed of that.
    pub seed: u64,
    /// Speed of the push outwards, m/s.
    pub speed: f64,
    /// Shapes of the fragments, as in an [`Explosion`].
    pub fragments: Range<usize>,
}

impl Breakage {
    /// By what the strength of a body is multiplied: P(below x) = 1 - exp(-x^m) (Weibull 1951).
    pub(crate) fn strength(&self, id: u64) -> f64 {
        self.weibull_modulus.map_or(1.0, |modulus| {
            let mut random = ChaCha8Rng::seed_from_u64(self.seed);
            random.set_stream(id);
            // Greater than 0 and less than 1.
            let part = ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            libm::pow(-libm::log(part), 1.0 / modulus)
        })
    }

    /// Whether a body bursts on which the largest contact force is `force`, N, and whose contacts have dissipated `energy`, J.
    pub(crate) fn breaks(&self, id: u64, force: f64, energy: f64) -> bool {
        let beyond = |load: f64, limit: Option<f64>| {
            limit.is_some_and(|limit| load > limit * self.strength(id))
        };
        beyond(force, self.force) || beyond(energy, self.energy)
    }

    /// The fragments of the body `id`, as an explosion of it.
    pub(crate) fn explosion(&self, id: u64) -> Explosion {
        Explosion {
            body: id,
            at: 0.0,
            speed: self.speed,
            fragments: self.fragments.clone(),
        }
    }
}
