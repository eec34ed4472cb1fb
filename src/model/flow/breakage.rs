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

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(weibull_modulus: Option<f64>) -> Breakage {
        Breakage {
            shape: 0,
            rule: 0,
            force: None,
            energy: None,
            weibull_modulus,
            seed: 5,
            speed: 0.5,
            fragments: 3..7,
        }
    }

    #[test]
    fn strengths_have_the_distribution_of_weibull() {
        let rule = rule(Some(3.0));
        let mut strengths: Vec<f64> = (0..4000).map(|id| rule.strength(id)).collect();
        assert_eq!(strengths[7], rule.strength(7));
        strengths.sort_by(f64::total_cmp);
        for (k, strength) in strengths.iter().enumerate() {
            let below = (k as f64 + 0.5) / 4000.0;
            let expected = 1.0 - libm::exp(-libm::pow(*strength, 3.0));
            assert!((below - expected).abs() < 0.03, "{strength}: {below}");
        }
    }

    #[test]
    fn a_body_bursts_beyond_its_force_or_its_energy() {
        let both = Breakage {
            force: Some(2.0),
            energy: Some(3.0),
            ..rule(None)
        };
        assert!(!both.breaks(1, 2.0, 3.0));
        assert!(both.breaks(1, 2.01, 0.0) && both.breaks(1, 0.0, 3.01));
        assert!(!rule(None).breaks(1, 1e9, 1e9));
        let scattered = Breakage {
            force: Some(2.0),
            ..rule(Some(3.0))
        };
        let limit = 2.0 * scattered.strength(1);
        assert!(scattered.breaks(1, 1.001 * limit, 0.0));
        assert!(!scattered.breaks(1, 0.999 * limit, 0.0));
        let explosion = both.explosion(9);
        assert_eq!((explosion.body, explosion.at), (9, 0.0));
        assert_eq!((explosion.speed, explosion.fragments), (0.5, 3..7));
    }
}
