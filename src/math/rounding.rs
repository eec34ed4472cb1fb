//! Rounding that is right on average; the twin of `shaders/shared/rounding.wgsl`.
//!
//! In a step, a body's position and velocity change by far less than themselves, and for seconds on
//! end in the same direction. Rounded to the nearest number, a tenth of a unit is nothing, however
//! often it is added, and nine tenths are one. So the last unit is rounded as chance has it, in
//! proportion to what is left of it: sums then are right on average, and off by some root of their
//! number of steps at worst. The same chance for all bodies: it depends on the step alone.

use glam::Vec3;

/// A number from 0 to 1 for each step, as good as random: the part that must be left of a unit for
/// it to count as one.
///
/// The step is hashed by the finalizer of MurmurHash3.
pub fn dither(step: u32) -> f32 {
    let mut bits = step;
    bits = (bits ^ (bits >> 16)).wrapping_mul(0x85eb_ca6b);
    bits = (bits ^ (bits >> 13)).wrapping_mul(0xc2b2_ae35);
    bits ^= bits >> 16;
    // 24 bits, so that it stays below 1.
    (bits >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// `sum + term`, rounded to one of the two nearest numbers.
#[inline(always)]
pub(crate) fn plus(sum: f32, term: f32, dither: f32) -> f32 {
    let total = sum + term;
    // What that has left out, exactly (Knuth's two-sum).
    let own = total - sum;
    let rest = (sum - (total - own)) + (term - own);
    let away = (rest > 0.0) == (total > 0.0);
    let bits = total.to_bits();
    let next = f32::from_bits(if away {
        bits.wrapping_add(1)
    } else {
        bits.wrapping_sub(1)
    });
    if rest.abs() > dither * (next - total).abs() {
        next
    } else {
        total
    }
}

/// Rounded sum, component by component.
#[inline(always)]
pub fn add(sum: Vec3, term: Vec3, dither: f32) -> Vec3 {
    Vec3::new(
        plus(sum.x, term.x, dither),
        plus(sum.y, term.y, dither),
        plus(sum.z, term.z, dither),
    )
}

/// Adds `term` to `sum`; `rest` is what rounding has left out of it (Kahan's summation).
#[inline(always)]
pub(crate) fn add_up(sum: &mut f32, rest: &mut f32, term: f32) {
    let term = term + *rest;
    let total = *sum + term;
    *rest = term - (total - *sum);
    *sum = total;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_terms_add_up() {
        let start = Vec3::new(1.0, -1.0, 1000.0);
        // Of the last place of each component.
        let unit = Vec3::new(1.2e-7, 1.2e-7, 6.1e-5);
        for share in [0.01, -0.01, 0.6, -0.2, 2.5] {
            let term = share * unit;
            let (mut sum, mut nearest) = (start, start);
            for step in 0..1_000_000 {
                sum = add(sum, term, dither(step));
                nearest += term;
            }
            let error = |sum: Vec3| {
                (sum.as_dvec3() - start.as_dvec3() - 1e6 * term.as_dvec3()) / unit.as_dvec3()
            };
            let (error, plain) = (error(sum), error(nearest));
            // Chance leaves it off by some half of the root of a million; rounding to the nearest, by 10,000 and more.
            assert!(
                error.abs().max_element() < 2000.0,
                "{share}: off by {error} units"
            );
            // So each component of each term could fail.
            assert!(plain.abs().min_element() > 2000.0, "{share}: {plain}");
        }
    }

    #[test]
    fn what_needs_no_rounding_gets_none() {
        for dither in [0.0, 0.3, 0.999] {
            assert_eq!(plus(1.5, 0.25, dither), 1.75);
            assert_eq!(plus(-1.5, 0.0, dither), -1.5);
            assert_eq!(plus(0.0, 0.0, dither), 0.0);
            assert_eq!(plus(2.0, -2.0, dither), 0.0);
            assert!(plus(f32::NAN, 1.0, dither).is_nan());
            assert_eq!(plus(f32::INFINITY, 1.0, dither), f32::INFINITY);
        }
    }
    /// The finalizer turns 1 into 0x514e28b7.
    #[test]
    fn chance_is_that_of_the_finalizer() {
        assert_eq!(dither(0), 0.0);
        assert_eq!(dither(1), 0x51_4e28 as f32 / 16_777_216.0);
        let mean = (0..100_000)
            .map(|step| f64::from(dither(step)))
            .sum::<f64>()
            / 1e5;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }

    #[test]
    fn what_rounding_leaves_out_of_a_sum_is_kept() {
        let (mut sum, mut rest) = (16_777_216.0, 0.0);
        for count in 1..=11 {
            add_up(&mut sum, &mut rest, 1.0);
            let exact = f64::from(sum) + f64::from(rest);
            assert_eq!(exact, 16_777_216.0 + f64::from(count));
        }
        for _ in 0..22 {
            add_up(&mut sum, &mut rest, -0.5);
        }
        assert_eq!((sum, rest), (16_777_216.0, 0.0));
    }
}
