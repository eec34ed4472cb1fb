//! Division of the bodies among subdomains, so that each subdomain takes about the same time.

use std::ops::Range;

use crate::state::State;
use crate::state::layout::Body;

/// Cost of a sphere in a step; an entry of its neighbour list costs one.
const SPHERE_COST: usize = 4;

/// The part of a step that falls to a subdomain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// Part of the whole cost, 0 to 1.
    pub cost: f64,
    /// Time that it has taken since the division was made, s; zero if nobody has measured it.
    pub time: f64,
}

/// The bodies of each subdomain, whose shares of the cost are given.
pub(super) fn divide(state: &State, shares: &[Share]) -> Vec<Range<usize>> {
    let cost_before =
        |sphere: usize| state.neighbour_starts[sphere] as usize + SPHERE_COST * sphere;
    let all = cost_before(state.spheres.len()) as f64;
    let (mut start, mut part) = (0, 0.0);
    let ranges = shares.iter().enumerate().map(|(index, share)| {
        part += share.cost;
        let before = |body: &Body| (cost_before(body.first_sphere as usize) as f64) < part * all;
        let end = match index + 1 == shares.len() {
            true => state.bodies.len(),
            false => state.bodies.partition_point(before).max(start),
        };
        std::mem::replace(&mut start, end)..end
    });
    ranges.collect()
}

/// New shares for `count` subdomains: those that took longer than others get less of the cost.
///
/// Without measured times, or after a change of the number, all are equal. The speed of a processor varies with what else
/// it does, so only measured times tell it; the result of a step does not depend on the division.
pub(super) fn balanced(shares: &[Share], count: usize) -> Vec<Share> {
    /// A subdomain has at least half and at most twice of an equal share.
    const LEAST: f64 = 0.5;
    const MOST: f64 = 2.0;
    let equal = 1.0 / count as f64;
    let timed = shares.len() == count && shares.iter().all(|share| share.time > 0.0);
    if !timed {
        let share = Share {
            cost: equal,
            time: 0.0,
        };
        return vec![share; count];
    }
    // Half of the way: times are noisy.
    let weights: Vec<f64> = shares
        .iter()
        .map(|share| (share.cost * (share.cost / share.time)).sqrt())
        .collect();
    let all: f64 = weights.iter().sum();
    let limited = weights
        .iter()
        .map(|weight| (weight / all).clamp(LEAST * equal, MOST * equal));
    let all: f64 = limited.clone().sum();
    limited
        .map(|cost| Share {
            cost: cost / all,
            time: 0.0,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(times: &[f64], count: usize) -> Vec<f64> {
        let cost = 1.0 / times.len() as f64;
        let shares: Vec<Share> = times.iter().map(|&time| Share { cost, time }).collect();
        let new = balanced(&shares, count);
        assert!(new.iter().all(|share| share.time == 0.0));
        new.into_iter().map(|share| share.cost).collect()
    }

    #[test]
    fn slow_subdomains_get_less_and_unmeasured_ones_the_same() {
        assert_eq!(costs(&[0.0, 0.0], 2), [0.5, 0.5]);
        assert_eq!(costs(&[1.0, 3.0], 4), [0.25; 4]);
        // Half of the way to thrice as much: a square root.
        let [fast, slow] = costs(&[1.0, 3.0], 2)[..] else {
            panic!("two shares")
        };
        assert!((fast / slow - 3_f64.sqrt()).abs() < 1e-12, "{fast} {slow}");
        assert!((fast + slow - 1.0).abs() < 1e-12);
        // Never less than half of an equal share, before all are scaled to a sum of one.
        let [fast, slow] = costs(&[1.0, 1e6], 2)[..] else {
            panic!("two shares")
        };
        assert!(slow > 0.19 && fast < 0.81, "{fast} {slow}");
    }
}
