//! The subdomains of a state, and which of the two has the current values.

use std::mem::take;

use glam::Vec4;

use super::GRAIN;
use super::fused::SubdomainScratch;
use super::integrate::Kinds;
use super::lanes::WIDTH;
use super::neighbours::OldLists;
use super::pose::pose_some;
use super::shares::{Share, balanced, divide};
use super::subdomain::Subdomain;
use crate::math::parallel::prelude::*;
use crate::math::parallel::thread_count;
use crate::state::State;
use crate::state::layout::{Body, Params, SphereLoad};
use crate::step::clock::{Clock, Stopwatch};

/// Subdomains for each thread where bodies may sleep: more than one, since nobody knows how long each takes. Else it is
/// one, since pairs within a subdomain cost half of those across.
const FOR_EACH_THREAD: usize = 4;

/// Cost of putting a sphere and its pairs in place, in evaluations of a pair.
const FILL_COST: usize = 8;

/// All bodies of a state, divided into subdomains.
#[derive(Debug, Default)]
pub(in crate::step) struct Decomposition {
    /// Tells how long subdomains take, so that they can be balanced.
    pub(super) clock: Option<Clock>,
    subdomains: Vec<Subdomain>,
    /// Memory in which each of them works.
    scratch: Vec<Box<SubdomainScratch>>,
    shares: Vec<Share>,
    phase: Phase,
    /// Where the contact histories of the state end that no list has since.
    left_behind: usize,
}

/// Who has the current values of spheres, balls and contact histories: the state or the subdomains.
///
/// ```text
///             fill               fused step
///   Empty ───────────▶ Current ─────────────▶ Ahead
///     ▲                 │  ▲                  │  │
///     │   write_back    │  └──── exchange ────┘  │
///     └─────────────────┴────────────────────────┘
/// ```
///
/// Between calls of the engine, the state has all values too: whoever changes it says so, and the subdomains are out of date.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    /// The state has all values. The subdomains are out of date.
    #[default]
    Empty,
    /// The subdomains have balls, contact histories and the spheres of this step, their ghosts among them.
    Current,
    /// The subdomains have balls, contact histories and their own spheres of the next step; their ghosts are of the
    /// last one.
    Ahead,
}

/// A subdomain, and its part of the state.
pub(super) struct SubdomainView<'a> {
    pub subdomain: &'a mut Subdomain,
    pub scratch: &'a mut SubdomainScratch,
    pub bodies: &'a mut [Body],
    pub loads: &'a mut [SphereLoad],
}

impl Decomposition {
    /// Divides the bodies of a state, and takes over its spheres, balls and contact histories, which lie where its lists
    /// have them, or the `old` ones.
    pub(super) fn fill(&mut self, state: &State, old: Option<&OldLists>) {
        debug_assert_eq!(self.phase, Phase::Empty);
        self.left_behind = old.map_or(0, OldLists::entry_count);
        let Params {
            sleep_steps,
            forces,
            pulled,
            ..
        } = state.params;
        let alone = [sleep_steps, forces, pulled] == [0; 3];
        let kinds = Kinds::from(state);
        let balls: Vec<bool> = kinds.balls().map(|is_ball| is_ball && alone).collect();
        let for_each_thread = match sleep_steps {
            0 => 1,
            _ => FOR_EACH_THREAD,
        };
        let most = for_each_thread * thread_count();
        let count = most.min(state.bodies.len().div_ceil(GRAIN));
        self.shares = balanced(&self.shares, count);
        let ranges = divide(state, &self.shares);
        self.subdomains.resize_with(count, Subdomain::default);
        self.scratch.resize_with(count, Box::default);
        let tasks = self.subdomains.par_iter_mut().zip(ranges);
        tasks.for_each(|(subdomain, bodies)| subdomain.fill(state, old, bodies, &balls));
        self.phase = Phase::Current;
    }

    /// Whether the subdomains have the current values.
    pub fn is_filled(&self) -> bool {
        self.phase != Phase::Empty
    }

    /// Says that all subdomains have posed their spheres for the next step.
    pub fn set_posed(&mut self) {
        debug_assert_eq!(self.phase, Phase::Current);
        self.phase = Phase::Ahead;
    }

    /// Begins a step with the spheres that were posed in the one before, and brings ghosts up to date. Returns whether
    /// there are such spheres; else the state has to be posed.
    pub fn exchange(&mut self) -> bool {
        if self.phase != Phase::Ahead {
            return false;
        }
        self.phase = Phase::Current;
        if self.subdomains.len() < 2 {
            return true;
        }
        let some = self
            .subdomains
            .iter_mut()
            .filter(|subdomain| !subdomain.spheres.is_empty());
        let (owners, tasks): (Vec<_>, Vec<_>) = some
            .map(|subdomain| {
                let (own, copies) = subdomain.local.split_at_mut(subdomain.spheres.len());
                (
                    (subdomain.spheres.start, &*own),
                    (copies, &subdomain.ghosts),
                )
            })
            .unzip();
        tasks.into_par_iter().for_each(|(copies, ghosts)| {
            for (copy, &ghost) in copies.iter_mut().zip(ghosts) {
                let after = owners.partition_point(|(first, _)| *first <= ghost as usize);
                let (first, spheres) = owners[after - 1];
                *copy = spheres[ghost as usize - first];
            }
        });
        true
    }

    /// Whether to fill the subdomains once more would have cost less than the contacts of sleeping bodies have cost by
    /// now.
    pub fn is_idle(&self) -> bool {
        let cost = |subdomain: &Subdomain| FILL_COST * subdomain.spheres.len();
        let idle: usize = self.subdomains.iter().map(|subdomain| subdomain.idle).sum();
        idle > self.subdomains.iter().map(cost).sum()
    }

    /// Gives a state the spheres of the step.
    pub fn give_spheres(&self, state: &mut State) {
        debug_assert_eq!(self.phase, Phase::Current);
        let mut rest = &mut state.spheres[..];
        let mut tasks = Vec::with_capacity(self.subdomains.len());
        for subdomain in &self.subdomains {
            let own;
            (own, rest) = rest.split_at_mut(subdomain.spheres.len());
            tasks.push((own, &subdomain.local));
        }
        tasks
            .into_par_iter()
            .for_each(|(own, local)| own.copy_from_slice(&local[..own.len()]));
    }

    /// Gives a state the balls, and its loads how spheres touch, as far as it does not have them.
    pub fn give_bodies(&mut self, state: &mut State) {
        if self.phase == Phase::Empty {
            return;
        }
        let give = |state: &State, view: SubdomainView| {
            let SubdomainView {
                subdomain,
                bodies,
                loads,
                ..
            } = view;
            subdomain.give_bodies(bodies, loads);
            if state.params.sleep_steps == 0 {
                subdomain.count(0..subdomain.groups.len(), 0, loads);
            }
        };
        self.for_each(state, give, || (), |_, _| ());
    }

    /// Gives the state its balls and, entry by entry of the neighbour lists, the contact histories, as far as it does not
    /// have them. The lists may change then.
    pub fn write_back(&mut self, state: &mut State) {
        self.copy_back(state);
        self.forget();
    }

    /// Gives the state what [`Decomposition::write_back`] gives it. The subdomains have it still, for the next step.
    pub fn copy_back(&mut self, state: &mut State) {
        if self.phase == Phase::Empty {
            return;
        }
        self.give_bodies(state);
        let size = state.params.history_size as usize;
        if size == 0 {
            return;
        }
        let mut rest = &mut state.history[..];
        let mut tasks = Vec::with_capacity(self.subdomains.len());
        for subdomain in &self.subdomains {
            let own;
            (own, rest) = rest.split_at_mut(size * subdomain.entries.len());
            tasks.push((subdomain, own));
        }
        let total: usize = tasks
            .iter()
            .map(|(subdomain, _)| subdomain.entries.len())
            .sum();
        tasks
            .into_par_iter()
            .for_each(|(subdomain, history)| subdomain.write_back(history, size));
        // What longer lists have left behind would go into checkpoints.
        if let Some(left_behind) = state.history.get_mut(size * total..size * self.left_behind) {
            left_behind.fill(Vec4::ZERO);
        }
    }

    /// A body as it is after the last step.
    pub fn body(&self, state: &State, index: usize) -> Body {
        match self.block_of(index) {
            Some((subdomain, block, lane)) => self.subdomains[subdomain].blocks[block].body(lane),
            None => state.bodies[index],
        }
    }

    /// Takes over a body as it is after the last step, and poses its spheres for the next one, which has the parameters `next`.
    pub fn set_body(&mut self, state: &mut State, next: &Params, index: usize, body: Body) {
        match self.block_of(index) {
            Some((subdomain, block, lane)) => {
                self.subdomains[subdomain].blocks[block].set_body(lane, body);
            }
            None => state.bodies[index] = body,
        }
        if self.phase == Phase::Ahead {
            let at = self.subdomain_of(index);
            let subdomain = &mut self.subdomains[at];
            let all = state.spheres_of(&body);
            let first = subdomain.spheres.start;
            let own = &mut subdomain.local[all.start - first..all.end - first];
            pose_some(state, next, &[body], index, own);
        }
    }

    fn subdomain_of(&self, body: usize) -> usize {
        self.subdomains
            .partition_point(|subdomain| subdomain.bodies.end <= body)
    }

    /// The subdomain, block and lane that have a body; none if the state has it.
    fn block_of(&self, body: usize) -> Option<(usize, usize, usize)> {
        if self.phase == Phase::Empty {
            return None;
        }
        let at = self.subdomain_of(body);
        let subdomain = &self.subdomains[at];
        let place = body - subdomain.bodies.start;
        let chunks = &subdomain.chunks;
        let chunk = &chunks[chunks.partition_point(|chunk| chunk.bodies.end <= place)];
        let place = place - chunk.bodies.start;
        chunk
            .balls
            .then_some((at, chunk.blocks.start + place / WIDTH, place % WIDTH))
    }

    /// Leaves all values to the state, which has them and is about to change.
    pub fn forget(&mut self) {
        self.phase = Phase::Empty;
    }

    /// Fills the subdomains, has each do something with its part of the state, and writes all back: a pass by itself.
    pub(super) fn once<T: Send>(
        &mut self,
        state: &mut State,
        act: impl Fn(&State, SubdomainView) -> T + Sync + Send,
        nothing: impl Fn() -> T + Sync + Send,
        and: impl Fn(T, T) -> T + Sync + Send,
    ) -> T {
        self.fill(state, None);
        let result = self.for_each(state, act, nothing, and);
        self.write_back(state);
        result
    }

    /// Has each subdomain do something with its part of the state, and returns what comes of all.
    pub(super) fn for_each<T: Send>(
        &mut self,
        state: &mut State,
        act: impl Fn(&State, SubdomainView) -> T + Sync + Send,
        nothing: impl Fn() -> T + Sync + Send,
        and: impl Fn(T, T) -> T + Sync + Send,
    ) -> T {
        let mut bodies = take(&mut state.bodies);
        let mut sphere_loads = take(&mut state.sphere_loads);
        let mut views = Vec::with_capacity(self.subdomains.len());
        let mut rest = &mut bodies[..];
        let mut rest_of_loads = &mut sphere_loads[..];
        let scratch = self.scratch.iter_mut().zip(&mut self.shares);
        for (subdomain, (scratch, share)) in self.subdomains.iter_mut().zip(scratch) {
            let (bodies, loads);
            (bodies, rest) = rest.split_at_mut(subdomain.bodies.len());
            (loads, rest_of_loads) = rest_of_loads.split_at_mut(subdomain.spheres.len());
            let view = SubdomainView {
                subdomain,
                scratch,
                bodies,
                loads,
            };
            views.push((view, share));
        }
        let (shared, clock) = (&*state, self.clock);
        let all = views
            .into_par_iter()
            .map(|(view, share)| {
                let mut watch = Stopwatch::start(clock);
                let result = act(shared, view);
                share.time += watch.lap().as_secs_f64();
                result
            })
            .reduce(nothing, and);
        state.bodies = bodies;
        state.sphere_loads = sphere_loads;
        all
    }
}
