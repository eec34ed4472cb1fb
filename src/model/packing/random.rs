//! Random numbers for placing bodies.

use glam::{DQuat, DVec3};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Random numbers that are the same on every machine: ChaCha with 8 rounds, and no function beyond the square root.
#[derive(Clone)]
pub(super) struct Random(ChaCha8Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Self(ChaCha8Rng::from_seed(key))
    }

    /// [`Random::new`], after so many calls of [`Random::unit`].
    pub fn after(seed: u64, count: u64) -> Self {
        let mut random = Self::new(seed);
        random.0.set_word_pos(2 * u128::from(count));
        random
    }

    /// One of many independent streams of random numbers: the stream for one attempt at one body.
    pub fn stream(seed: u64, number: u64, attempt: u64) -> Self {
        Self::apart(1, seed, number, attempt)
    }

    /// The streams for tries of bodies of a class: one for their places, and one for how they are turned.
    pub fn of_tries(seed: u64, class: u64) -> [Self; 2] {
        [0, 1].map(|which| Self::apart(2, seed, class, which))
    }

    /// A stream apart from those of other kinds, and from that of `new` with the same seed, which is of kind 0.
    fn apart(kind: u8, seed: u64, first: u64, second: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&first.to_le_bytes());
        key[16..24].copy_from_slice(&second.to_le_bytes());
        key[24] = kind;
        Self(ChaCha8Rng::from_seed(key))
    }

    /// Goes to where [`Random::unit`] has been called so many times.
    pub fn go_to(&mut self, count: u64) {
        /// Number of calls that cost as much as a jump.
        const NEAR: u64 = 32;
        let now = (self.0.get_word_pos() / 2) as u64;
        match count.checked_sub(now) {
            Some(ahead) if ahead < NEAR => (0..ahead).for_each(|_| {
                self.unit();
            }),
            _ => self.0.set_word_pos(2 * u128::from(count)),
        }
    }

    /// A uniform number in [0, 1), from the top 53 bits of a word.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Chooses one of several, given the sums of the weights up to each.
    pub fn choose(&mut self, sums: &[f64]) -> usize {
        let last = sums.len() - 1;
        let target = sums[last] * self.unit();
        sums.iter().position(|sum| target < *sum).unwrap_or(last)
    }

    /// A uniform point in a box.
    pub fn within(&mut self, low: DVec3, high: DVec3) -> DVec3 {
        let unit = DVec3::new(self.unit(), self.unit(), self.unit());
        low + (high - low) * unit
    }

    /// A uniform point in the unit disc, and the square of its distance from the centre.
    fn in_disc(&mut self) -> (f64, f64, f64) {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let squared = x * x + y * y;
            if squared > 0.0 && squared < 1.0 {
                return (x, y, squared);
            }
        }
    }

    /// A uniform rotation, from two points in a disc (Marsaglia 1972).
    pub fn rotation(&mut self) -> DQuat {
        let (x, y, near) = self.in_disc();
        let (z, w, far) = self.in_disc();
        let scale = ((1.0 - near) / far).sqrt();
        DQuat::from_xyzw(x, y, z * scale, w * scale)
    }
}
