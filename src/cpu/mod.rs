//! The CPU engine: the passes of a step on a [`State`], the reference that the GPU is tested
//! against.
//!
//! Each pass computes each of its elements from its inputs alone and in a fixed order, so the
//! result does not depend on the number of threads.

mod act;
mod balls;
mod batch;
mod bin;
mod contacts;
mod forces;
mod integrate;
mod lanes;
mod near;
mod neighbours;
mod pairs;
mod pose;
mod scan;
mod scatter;
mod wall_batch;
mod wall_run;
mod walls;

use std::time::{Duration, Instant};

use act::{ACTING, act};
pub use bin::bin;
pub use contacts::contacts;
pub use forces::forces;
pub use integrate::integrate;
pub(crate) use near::Near;
pub(crate) use neighbours::Spare;
pub use neighbours::neighbours;
use pairs::{Pairs, with_pairs};
pub use pose::pose;
pub use scan::scan;
pub use scatter::scatter;
pub(crate) use wall_run::orientation_of;
pub use walls::walls;

use crate::pass::Pass;
use crate::state::State;

/// Least number of elements that a thread takes at a time; less costs more than it gains.
const GRAIN: usize = 256;

/// Runs one pass.
pub fn run(pass: Pass, state: &mut State) {
    match pass {
        Pass::Pose => pose(state),
        Pass::Bin => bin(state),
        Pass::Scan => scan(state),
        Pass::Scatter => scatter(state),
        Pass::Neighbours => neighbours(state),
        Pass::Contacts => contacts(state),
        Pass::Walls => walls(state),
        Pass::Forces => forces(state),
        Pass::Integrate => integrate(state),
    }
}

/// Whether a step that has come to `pass` runs it: those that build the neighbour lists only when a
/// sphere may have moved out of its skin.
pub fn is_due(pass: Pass, state: &State) -> bool {
    !pass.builds_lists() || state.stats[0].rebuilding == 1
}

/// Runs one step, unless a body is lost.
pub fn step(state: &mut State) {
    steps(state, 1, None);
}

/// What is done after a step, with its number.
pub type Look<'a> = &'a mut dyn FnMut(&State, u64);

/// Runs steps until there are `count` of them or a body is lost, and has the number of those taken looked at after
/// each. Returns that number.
///
/// For a look, bodies and loads are those of the step; but what contacts remember is in [`State::memory`] again, and where
/// spheres are in [`State::spheres`], after the last step only.
pub fn steps(state: &mut State, count: u64, mut look: Option<Look>) -> u64 {
    with_pairs(state, |state, pairs| {
        let mut taken = 0;
        while taken < count && state.stats[0].runaway == 0 {
            take_step(state, pairs, taken + 1 == count);
            taken += 1;
            if let Some(look) = &mut look {
                pairs.give_bodies(state);
                look(state, taken);
            }
        }
        taken
    })
}

/// Runs steps, and returns the time that each pass took in all of them, in the order of [`Pass::ALL`].
pub fn profile(state: &mut State, steps: u64) -> [Duration; Pass::ALL.len()] {
    with_pairs(state, |state, pairs| {
        let mut sums = [Duration::ZERO; Pass::ALL.len()];
        for step in 0..steps {
            let times = take_step(state, pairs, step + 1 == steps);
            sums.iter_mut()
                .zip(times)
                .for_each(|(sum, time)| *sum += time);
        }
        sums
    })
}

/// After the `last` step, and in those that build the neighbour lists, the state has the spheres of the step; in others,
/// the pairs have them.
fn take_step(state: &mut State, pairs: &mut Pairs, last: bool) -> [Duration; Pass::ALL.len()] {
    let mut times = [Duration::ZERO; Pass::ALL.len()];
    for (pass, time) in Pass::ALL.into_iter().zip(&mut times) {
        let start = Instant::now();
        match pass {
            Pass::Contacts | Pass::Walls | Pass::Integrate => continue,
            Pass::Pose if pairs.pose() => {
                pose::begin(state);
                if last || is_due(Pass::Bin, state) || pairs.are_idle() {
                    pairs.give_spheres(state);
                }
            }
            _ if !is_due(pass, state) => continue,
            Pass::Neighbours => {
                pairs.write_back(state);
                neighbours(state);
                pairs.fill(state);
            }
            _ => run(pass, state),
        }
        *time = start.elapsed();
    }
    if pairs.are_filled() && pairs.are_idle() {
        pairs.write_back(state);
    }
    if !pairs.are_filled() {
        pairs.fill(state);
    }
    let acted = act(state, pairs);
    for (pass, time) in ACTING.into_iter().zip(acted) {
        times[pass as usize] += time;
    }
    times
}
