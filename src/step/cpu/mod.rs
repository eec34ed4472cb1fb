//! The CPU engine: the passes of a step on a [`State`], many spheres at a time.
//!
//! Each pass computes each of its elements from its inputs alone and in a fixed order, so the result does not depend on the
//! number of threads. Where lists are new, `decomposition` divides the bodies among subdomains, one or a few for each
//! thread, and `fill` puts the pairs of their spheres into rows. From then on, `fused` takes `contacts`, `walls`,
//! `integrate` and the `pose` of the next step in one go, chunk by chunk, until the lists are built again.
//!
//! # Group, row and lane
//!
//! A subdomain is a range of bodies, and a chunk some 1,024 spheres of it. The spheres of a chunk are sorted by the number
//! of pairs that they own, and sixteen of them with about as many make a group: each has a lane. A row has one pair of each
//! of them. With four lanes instead of sixteen, for spheres named by letters in their order:
//!
//! ```text
//!                   lane 0    lane 1    lane 2    lane 3
//!   group  owner      A         C         B         F
//!   row 0           A with B  C with D  B with C  F with H
//!   row 1           A with D  C with G  B with F  F with K
//!   row 2           A with K  C with K    (B)       (F)       no pair: the lane holds its owner, and nothing happens
//!                     │         │         │         │
//!   sums of owners    A         C         B         F         what the pairs of a sphere do to it, row by row
//! ```
//!
//! `contact_rows` evaluates a row in one loop over lanes, which the compiler turns into vector instructions. The contact
//! histories of a row lie beside each other, value by value. Within a subdomain the sphere of lower index owns the pair; what
//! a contact does to the other sphere, the reaction, is written down and added when the chunk is done, in the order of the
//! owners, A, B, C, ..., however the groups were made. So each sphere has two sums in a fixed order: reactions, from
//! spheres of lower index, and its own pairs, with spheres of higher index.
//!
//! # The ring of sums
//!
//! Sums of reactions need not be there for all spheres at once:
//!
//! ```text
//!   places in the subdomain   0 ────────────────────────────────────────────────▶ number of spheres
//!                              done: zero │ chunk │ reactions to come │ nothing yet: zero
//!                                         ├───────── reach ───────────┤
//!   ring                      place & (size - 1), size = reach rounded up to a power of two
//! ```
//!
//! A sphere's sum is taken, and set to zero, when its chunk is done; and no pair of a chunk reaches beyond `reach` places
//! from the chunk's first sphere, since owners come first. So no two sums in use are `size` or more places apart, and none
//! shares a place in the ring, which is small enough to stay in the cache. Pairs with ghosts of lower index are evaluated
//! before all chunks (`Subdomain::before`), since they come first in the sums of their owners; `reach` covers these, too.

mod ball_block;
mod bin;
mod bonds;
mod contact_rows;
mod contacts;
mod decomposition;
mod engine;
mod fill;
mod forces;
mod fused;
mod heat;
mod history;
mod integrate;
#[allow(unsafe_code)]
mod lanes;
mod neighbours;
mod pose;
mod retired;
mod scan;
mod scatter;
mod shares;
mod subdomain;
mod wall_batch;
mod walls;

use bin::bin;
use bonds::bonds;
use contacts::contacts;
pub(in crate::step) use decomposition::{Decomposition, MOST_PIECES, Slot};
use forces::forces;
pub(in crate::step) use fused::FusedStep;
use fused::{FUSED, fused_step};
use heat::heat;
use integrate::integrate;
use neighbours::{carry, neighbours};
use pose::pose;
use scan::scan;
use scatter::scatter;
use walls::walls;

use crate::math::parallel::Threads;
use crate::state::State;
use crate::state::trace::Trace;
use crate::step::clock::{Clock, Stopwatch};
use crate::step::{Canceller, Pass, PassTimes};

/// Least number of elements that a thread takes at a time; less costs more than it gains.
const GRAIN: usize = 256;

/// The engine: what it keeps from step to step besides the [`State`], none of which changes a result.
#[derive(Debug, Default)]
pub struct CpuEngine {
    /// Threads of its own; those of the caller if there are none.
    threads: Option<Threads>,
    trace: Option<Trace>,
    canceller: Canceller,
    decomposition: Decomposition,
    scratch: neighbours::ListScratch,
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

/// A function that is called after each step, with its number.
pub type AfterStep<'a> = &'a mut dyn FnMut(&State, u64);

impl CpuEngine {
    /// The engine with a clock, by which it balances threads and times passes.
    pub fn with_clock(mut self, clock: Clock) -> CpuEngine {
        self.decomposition.clock = Some(clock);
        self
    }

    pub(in crate::step) fn set_clock(&mut self, clock: Option<Clock>) {
        self.decomposition.clock = clock;
    }

    /// Runs one pass.
    pub fn run(&mut self, pass: Pass, state: &mut State) {
        self.decomposition.forget();
        match pass {
            Pass::Pose => pose(state),
            Pass::Bin => bin(state),
            Pass::Scan => scan(state),
            Pass::Scatter => scatter(state),
            Pass::Neighbours => {
                if let Some(old) = neighbours(state, &mut self.scratch, true) {
                    carry(state, &old);
                }
            }
            Pass::Contacts => contacts(state, &mut self.decomposition),
            Pass::Walls => walls(state, &mut self.decomposition),
            Pass::Forces => forces(state),
            Pass::Bonds => bonds(state),
            Pass::Heat => heat(state),
            Pass::Integrate => integrate(state),
        }
    }

    /// Runs steps until there are `count` of them or a body is lost, and calls a function after each with the number of
    /// those taken. Returns that number.
    ///
    /// The function sees the bodies and loads of the step; but contact histories are in [`State::history`] again, and where
    /// spheres were in [`State::spheres`], after the last step only. The next call takes `state` as it left it, unless
    /// [`CpuEngine::forget`] comes between.
    pub fn steps(&mut self, state: &mut State, count: u64, after: Option<AfterStep>) -> u64 {
        let taken = self.steps_with_histories(state, count, after);
        self.decomposition.give_histories(state);
        taken
    }

    /// [`CpuEngine::steps`]; the engine has the contact histories.
    fn steps_with_histories(
        &mut self,
        state: &mut State,
        count: u64,
        mut after: Option<AfterStep>,
    ) -> u64 {
        let canceller = self.canceller.clone();
        let mut taken = 0;
        let mut last = false;
        while taken < count && !last && state.stats[0].runaway == 0 {
            let mut is_last = || {
                last = taken + 1 == count || canceller.is_cancelled();
                last
            };
            self.take_step(state, &mut is_last, None);
            taken += 1;
            if let Some(after) = &mut after {
                self.decomposition.give_bodies(state);
                after(state, taken);
            }
        }
        self.decomposition.give_bodies(state);
        taken
    }

    /// Begins a step of a part of a scene, beside others that step the other parts: these have ghosts of some bodies, which are `sent`, in
    /// order. Returns whether the bodies are in other slots and pieces than before.
    pub(in crate::step) fn begin_beside(
        &mut self,
        state: &mut State,
        is_last: bool,
        sent: &[u32],
    ) -> (FusedStep, bool) {
        let is_due = state.stats[0].stale == 1 || !self.decomposition.is_filled();
        if is_due {
            self.decomposition.set_sent(sent);
        }
        self.prepare(state, None);
        let step = FusedStep::begin(state, &mut self.decomposition, is_last, None);
        (step, is_due)
    }

    /// The subdomains.
    pub(in crate::step) fn decomposition(&mut self) -> &mut Decomposition {
        &mut self.decomposition
    }

    /// Gives the state all that it does not have.
    pub(in crate::step) fn copy_back(&mut self, state: &mut State) {
        self.decomposition.copy_back(state);
    }

    /// Gives the state its bodies.
    pub(in crate::step) fn give_bodies(&mut self, state: &mut State) {
        self.decomposition.give_bodies(state);
    }

    /// Gives the state all that it does not have, and forgets it: bodies may come and go then.
    pub(in crate::step) fn write_back(&mut self, state: &mut State) {
        self.decomposition.write_back(state);
    }

    /// Has the next step begin with what is in the state, contact histories included, which has changed.
    pub fn forget(&mut self) {
        self.decomposition.forget();
    }

    /// Runs steps, and returns the time that each pass took in all of them; `None` without a clock.
    pub fn profile(&mut self, state: &mut State, steps: u64) -> Option<PassTimes> {
        let clock = self.decomposition.clock;
        let mut sums = PassTimes::default();
        for step in 0..steps {
            let times = self.take_step(state, &mut || step + 1 == steps, clock);
            sums.iter_mut()
                .zip(times)
                .for_each(|(sum, time)| *sum += time);
        }
        self.decomposition.copy_back(state);
        clock.map(|_| sums)
    }

    /// Takes a step. The state has the spheres of the step until the next ones are posed, which those of the last one are not.
    /// Returns the time that each pass took by `clock`.
    fn take_step(
        &mut self,
        state: &mut State,
        is_last: &mut dyn FnMut() -> bool,
        clock: Option<Clock>,
    ) -> PassTimes {
        let mut times = self.prepare(state, clock);
        // Lists of many million bodies take seconds: whoever cancels meanwhile waits for this step alone.
        let fused = fused_step(state, &mut self.decomposition, is_last(), clock);
        for (pass, time) in FUSED.into_iter().zip(fused) {
            times[pass as usize] += time;
        }
        times
    }

    /// Takes the passes of a step that come before the fused ones. Returns the time that each took by `clock`.
    fn prepare(&mut self, state: &mut State, clock: Option<Clock>) -> PassTimes {
        let CpuEngine {
            decomposition,
            scratch,
            ..
        } = self;
        let mut times = PassTimes::default();
        let mut watch = Stopwatch::start(clock);
        let mut lap = |pass: Pass| times[pass as usize] += watch.lap();
        if decomposition.is_ahead() {
            state.begin_step();
        } else {
            pose(state);
        }
        let rebuilds = is_due(Pass::Neighbours, state);
        if rebuilds || decomposition.is_idle() {
            decomposition.leave(state);
        } else {
            decomposition.exchange(state);
        }
        lap(Pass::Pose);
        let mut old = None;
        if rebuilds {
            bin(state);
            lap(Pass::Bin);
            scan(state);
            lap(Pass::Scan);
            scatter(state);
            lap(Pass::Scatter);
            decomposition.release_histories(state);
            old = neighbours(state, scratch, !decomposition.has_histories());
        }
        if !decomposition.is_filled() {
            decomposition.fill(state, old.as_ref(), true);
        }
        drop(old);
        lap(Pass::Neighbours);
        forces(state);
        lap(Pass::Forces);
        bonds(state);
        lap(Pass::Bonds);
        heat(state);
        lap(Pass::Heat);
        times
    }
}
