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
mod engine;
mod forces;
mod integrate;
mod lanes;
mod neighbours;
mod pairs;
mod pose;
mod scan;
mod scatter;
mod wall_batch;
mod walls;

use std::time::{Duration, Instant};

use act::{ACTING, act};
use bin::bin;
use contacts::contacts;
use forces::forces;
use integrate::integrate;
use neighbours::neighbours;
use pairs::Pairs;
use pose::pose;
use scan::scan;
use scatter::scatter;
use walls::walls;

use rayon::ThreadPool;

use crate::state::State;
use crate::state::trace::Trace;
use crate::step::Pass;

/// Least number of elements that a thread takes at a time; less costs more than it gains.
const GRAIN: usize = 256;

/// The engine: what it keeps from step to step besides the [`State`], none of which changes a result.
#[derive(Debug, Default)]
pub struct CpuEngine {
    /// Threads of its own; those of the caller if there are none.
    threads: Option<ThreadPool>,
    trace: Option<Trace>,
    pairs: Pairs,
    scratch: neighbours::Scratch,
}

/// Runs one pass, by an engine that is made for it.
pub fn run(pass: Pass, state: &mut State) {
    CpuEngine::default().run(pass, state);
}

/// Runs one step, by an engine that is made for it, unless a body is lost.
pub fn step(state: &mut State) {
    CpuEngine::default().steps(state, 1, None);
}

/// Whether a step that has come to `pass` runs it: those that build the neighbour lists only when a
/// sphere may have moved out of its skin.
pub fn is_due(pass: Pass, state: &State) -> bool {
    !pass.builds_lists() || state.stats[0].rebuilding == 1
}

/// What is done after a step, with its number.
pub type Look<'a> = &'a mut dyn FnMut(&State, u64);

impl CpuEngine {
    /// Runs one pass.
    pub fn run(&mut self, pass: Pass, state: &mut State) {
        match pass {
            Pass::Pose => pose(state),
            Pass::Bin => bin(state),
            Pass::Scan => scan(state),
            Pass::Scatter => scatter(state),
            Pass::Neighbours => neighbours(state, &mut self.scratch),
            Pass::Contacts => contacts(state, &mut self.pairs),
            Pass::Walls => walls(state, &mut self.pairs),
            Pass::Forces => forces(state),
            Pass::Integrate => integrate(state),
        }
    }

    /// Runs steps until there are `count` of them or a body is lost, and has the number of those taken looked at after
    /// each. Returns that number.
    ///
    /// For a look, bodies and loads are those of the step; but what contacts remember is in [`State::memory`] again, and where
    /// spheres are in [`State::spheres`], after the last step only.
    pub fn steps(&mut self, state: &mut State, count: u64, mut look: Option<Look>) -> u64 {
        let mut taken = 0;
        while taken < count && state.stats[0].runaway == 0 {
            self.take_step(state, taken + 1 == count);
            taken += 1;
            if let Some(look) = &mut look {
                self.pairs.give_bodies(state);
                look(state, taken);
            }
        }
        self.pairs.write_back(state);
        taken
    }

    /// Runs steps, and returns the time that each pass took in all of them, in the order of [`Pass::ALL`].
    pub fn profile(&mut self, state: &mut State, steps: u64) -> [Duration; Pass::ALL.len()] {
        let mut sums = [Duration::ZERO; Pass::ALL.len()];
        for step in 0..steps {
            let times = self.take_step(state, step + 1 == steps);
            sums.iter_mut()
                .zip(times)
                .for_each(|(sum, time)| *sum += time);
        }
        self.pairs.write_back(state);
        sums
    }

    /// After the `last` step, and in those that build the neighbour lists, the state has the spheres of the step; in
    /// others, the pairs have them.
    fn take_step(&mut self, state: &mut State, last: bool) -> [Duration; Pass::ALL.len()] {
        let mut times = [Duration::ZERO; Pass::ALL.len()];
        for (pass, time) in Pass::ALL.into_iter().zip(&mut times) {
            let start = Instant::now();
            match pass {
                Pass::Contacts | Pass::Walls | Pass::Integrate => continue,
                Pass::Pose if self.pairs.pose() => {
                    pose::begin(state);
                    if last || is_due(Pass::Bin, state) || self.pairs.are_idle() {
                        self.pairs.give_spheres(state);
                    }
                }
                _ if !is_due(pass, state) => continue,
                Pass::Neighbours => {
                    self.pairs.write_back(state);
                    neighbours(state, &mut self.scratch);
                    self.pairs.fill(state);
                }
                _ => self.run(pass, state),
            }
            *time = start.elapsed();
        }
        let pairs = &mut self.pairs;
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
}
