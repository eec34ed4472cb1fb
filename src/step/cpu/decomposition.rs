//! The subdomains of a state, and which of the two has the current values.

use std::mem::take;

use bytemuck::{cast, zeroed_vec};
use glam::Vec4;

use super::GRAIN;
use super::ball_block::{of_column, set_column, side_by_side_mut};
use super::fused::SubdomainScratch;
use super::integrate::Kinds;
use super::lanes::WIDTH;
use super::neighbours::OldLists;
use super::pose::pose_some;
use super::retired::{Histories, Keeper, Retired};
use super::shares::{Share, balanced, divide};
use super::subdomain::{NeighbourLists, Subdomain};
use crate::math::parallel::prelude::*;
use crate::math::parallel::thread_count;
use crate::state::State;
use crate::state::layout::{Body, Params, Sphere, SphereLoad};
use crate::step::clock::{Clock, Stopwatch};

/// Subdomains for each thread where bodies may sleep: more than one, since nobody knows how long each takes. Else it is
/// one, since pairs within a subdomain cost half of those across.
const FOR_EACH_THREAD: usize = 4;

/// Cost of putting a sphere and its pairs in place, in evaluations of a pair.
const FILL_COST: usize = 8;

/// Most pieces of a step, and the fewest chunks of a subdomain in each: a message costs time, too.
pub(in crate::step) const MOST_PIECES: usize = 4;
const LEAST_CHUNKS: usize = 8;

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
    /// Whether balls stand side by side, in the memory where the state has them and the loads on them.
    folded: bool,
    /// Whether the rows have the current contact histories, and the state those of an earlier step.
    has_histories: bool,
    /// End of the contact histories of the state that may not be zero, in entries.
    written: usize,
    /// Bodies of which other parts of the scene have ghosts, in order.
    sent: Vec<u32>,
    /// These as they are after the step, as far as it has come.
    sent_bodies: Vec<Body>,
    /// Number of pieces of a step, each of which can be sent when it is done.
    pieces: usize,
}

/// Place of a body while subdomains have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::step) struct Slot {
    pub body: u32,
    /// Its lane among sixteen balls side by side; none if it stands alone.
    lane: Option<u32>,
}

impl Slot {
    /// The slot of a body that stands alone.
    pub fn alone(body: u32) -> Slot {
        Slot { body, lane: None }
    }
}

/// Whether the subdomains have the pairs of the current lists, and of which step the spheres of the state are.
///
/// ```text
///             fill               fused step
///   Empty ───────────▶ Current ─────────────▶ Ahead
///     ▲                 │  ▲                  │  │
///     │      leave      │  └──── exchange ────┘  │
///     └─────────────────┴────────────────────────┘
/// ```
///
/// Contact histories stay in the rows: new rows take them over, and the state gets them when somebody asks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    /// The subdomains are out of date, but for contact histories.
    #[default]
    Empty,
    /// The spheres are those of this step, and after the last step those that it began with.
    Current,
    /// The spheres are those of the next step; ghosts are of the last one.
    Ahead,
}

/// A subdomain, and its part of the state.
pub(super) struct SubdomainView<'a> {
    pub subdomain: &'a mut Subdomain,
    pub scratch: &'a mut SubdomainScratch,
    pub bodies: &'a mut [Body],
    pub spheres: &'a mut [Sphere],
    pub loads: &'a mut [SphereLoad],
    /// Its bodies that are sent to other parts of the scene.
    pub sent: &'a mut [Body],
}

impl Decomposition {
    /// Divides the bodies of a state, and puts the pairs of its lists into rows. Contact histories lie in the rows that there
    /// were, or in the state, where its lists have them, or the `old` ones. Balls are moved side by side if `folds`.
    pub(super) fn fill(&mut self, state: &State, old: Option<&OldLists>, folds: bool) {
        debug_assert_eq!(self.phase, Phase::Empty);
        let Params {
            sleep_steps,
            forces,
            pulled,
            history_size,
            ..
        } = state.params;
        let size = history_size as usize;
        let lists = old.map_or(NeighbourLists::of(state), OldLists::lists);
        let retired: Vec<Retired>;
        let keeper = if self.has_histories {
            let all = self.subdomains.par_iter_mut();
            let all: Vec<Option<Retired>> = all.map(|own| own.retire(size)).collect();
            retired = all.into_iter().flatten().collect();
            Keeper::Rows(&retired)
        } else {
            let entries = lists.starts.last().map_or(0, |&end| end as usize);
            self.written = self.written.max(entries);
            Keeper::State(&state.history, size)
        };
        let histories = Histories { lists, keeper };
        let alone = folds && [sleep_steps, forces, pulled] == [0; 3];
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
        let sent = &self.sent;
        tasks.for_each(|(subdomain, bodies)| {
            subdomain.fill(state, histories, bodies, &balls);
            subdomain.set_sent(sent);
        });
        self.sent_bodies.resize(sent.len(), Body::default());
        let least = self.subdomains.iter().map(|own| own.chunks.len()).min();
        let is_whole = sent.is_empty() || sleep_steps > 0;
        self.pieces = match least {
            Some(least) if !is_whole => (least / LEAST_CHUNKS).clamp(1, MOST_PIECES),
            _ => 1,
        };
        self.phase = Phase::Current;
        self.has_histories = size > 0;
    }

    /// Whether the subdomains have the pairs of the current lists.
    pub fn is_filled(&self) -> bool {
        self.phase != Phase::Empty
    }

    /// Whether the state has the spheres of the step that is about to begin.
    pub fn is_ahead(&self) -> bool {
        self.phase == Phase::Ahead
    }

    /// Says that all subdomains have posed their spheres for the next step.
    pub fn set_posed(&mut self) {
        debug_assert_eq!(self.phase, Phase::Current);
        self.phase = Phase::Ahead;
    }

    /// Begins a step with the spheres that the state has: brings ghosts up to date.
    pub fn exchange(&mut self, state: &State) {
        if self.phase == Phase::Empty {
            return;
        }
        self.phase = Phase::Current;
        self.subdomains.par_iter_mut().for_each(|subdomain| {
            for (copy, &ghost) in subdomain.copies.iter_mut().zip(&subdomain.ghosts) {
                *copy = state.spheres[ghost as usize];
            }
        });
    }

    /// Whether a fused step has to put balls side by side first; it has done so afterwards.
    pub fn folds(&mut self) -> bool {
        !std::mem::replace(&mut self.folded, true)
    }

    /// Whether to fill the subdomains once more would have cost less than the contacts of sleeping bodies have cost by
    /// now.
    pub fn is_idle(&self) -> bool {
        let cost = |subdomain: &Subdomain| FILL_COST * subdomain.spheres.len();
        let idle: usize = self.subdomains.iter().map(|subdomain| subdomain.idle).sum();
        idle > self.subdomains.iter().map(cost).sum()
    }

    /// Gives a state the balls, and its loads how spheres touch, as far as it does not have them.
    pub fn give_bodies(&mut self, state: &mut State) {
        if self.phase == Phase::Empty {
            return;
        }
        let folded = take(&mut self.folded);
        let give = |state: &State, view: SubdomainView| {
            let SubdomainView {
                subdomain,
                bodies,
                loads,
                ..
            } = view;
            if folded {
                subdomain.give_bodies(bodies, loads);
            }
            if state.params.sleep_steps == 0 {
                subdomain.count(0..subdomain.groups.len(), 0, loads);
            }
        };
        self.for_each(state, give, || (), |_, _| ());
    }

    /// Gives the state its bodies. The lists may change then, and bodies; contact histories are still in the rows.
    pub fn leave(&mut self, state: &mut State) {
        self.give_bodies(state);
        self.phase = Phase::Empty;
    }

    /// Gives the state all that it does not have, and forgets it.
    pub fn write_back(&mut self, state: &mut State) {
        self.copy_back(state);
        self.forget();
    }

    /// Gives the state all that it does not have. The subdomains have it still, for the next step.
    pub fn copy_back(&mut self, state: &mut State) {
        self.give_bodies(state);
        self.give_histories(state);
    }

    /// Gives the state, entry by entry of the neighbour lists, the contact histories, as far as it does not have them.
    pub fn give_histories(&mut self, state: &mut State) {
        if !self.has_histories {
            return;
        }
        let size = state.params.history_size as usize;
        let mut history = take(&mut state.history);
        let mut rest = &mut history[..];
        let mut tasks = Vec::with_capacity(self.subdomains.len());
        for subdomain in &self.subdomains {
            let own;
            (own, rest) = rest.split_at_mut(size * subdomain.entries.len());
            tasks.push((subdomain, own));
        }
        let lists = NeighbourLists::of(state);
        tasks
            .into_par_iter()
            .for_each(|(subdomain, history)| subdomain.write_histories(lists, history, size));
        let total = state.neighbour_starts.last().map_or(0, |&end| end as usize);
        // What longer lists have left behind would go into checkpoints.
        if let Some(left_behind) = history.get_mut(size * total..size * self.written) {
            left_behind.fill(Vec4::ZERO);
        }
        self.written = total;
        state.history = history;
    }

    /// Whether the rows have contact histories, and the state need not.
    pub fn has_histories(&self) -> bool {
        self.has_histories
    }

    /// Leaves the memory of the contact histories of a state to the system, if the rows have them.
    pub fn release_histories(&mut self, state: &mut State) {
        if self.has_histories && self.written > 0 {
            state.history = zeroed_vec(state.history.len());
            self.written = 0;
        }
    }

    /// Says which bodies are sent to other parts of the scene, from when the subdomains are filled next. They are in order.
    pub fn set_sent(&mut self, bodies: &[u32]) {
        self.sent.clear();
        self.sent.extend_from_slice(bodies);
    }

    /// The bodies that are sent, as they are after the step, as far as it has come.
    pub fn sent_bodies(&self) -> &[Body] {
        &self.sent_bodies
    }

    /// Number of pieces in which a step is taken.
    pub fn pieces(&self) -> usize {
        self.pieces
    }

    /// The piece of a step that has each of the bodies that are sent.
    pub fn pieces_of_sent(&self) -> Vec<usize> {
        let mut pieces = Vec::with_capacity(self.sent.len());
        for subdomain in &self.subdomains {
            for piece in 0..self.pieces {
                for chunk in &subdomain.chunks[subdomain.piece(piece, self.pieces)] {
                    pieces.extend(chunk.sent.clone().map(|_| piece));
                }
            }
        }
        pieces
    }

    /// Gives bodies in some slots new values after the last step, but for kind and first sphere. Poses their spheres for the next
    /// one, which has the parameters `next`.
    pub fn set_bodies(
        &mut self,
        state: &mut State,
        next: &Params,
        slots: &[Slot],
        bodies: &mut [Body],
    ) {
        let is_folded = self.folded && self.is_filled();
        for (slot, body) in slots.iter().zip(&mut *bodies) {
            let index = slot.body as usize;
            match slot.lane.filter(|_| is_folded) {
                Some(lane) => {
                    let lane = lane as usize;
                    let own = &mut state.bodies[index - lane..index - lane + WIDTH];
                    let columns = &mut side_by_side_mut(own)[0];
                    *body = moved(&cast(of_column(columns, lane)), body);
                    set_column(columns, lane, cast(*body));
                }
                None => {
                    *body = moved(&state.bodies[index], body);
                    state.bodies[index] = *body;
                }
            }
        }
        if self.phase != Phase::Ahead {
            return;
        }
        // Those of a body that sleeps on stay as they are.
        let mut posed = Vec::with_capacity(bodies.len());
        for body in &*bodies {
            posed.extend_from_slice(&state.spheres[state.spheres_of(body)]);
        }
        pose_some(state, next, bodies, 0, &mut posed);
        let mut rest = &posed[..];
        for (slot, body) in slots.iter().zip(bodies) {
            let own = state.spheres_of(body);
            let posed;
            (posed, rest) = rest.split_at(own.len());
            for (sphere, posed) in state.spheres[own].iter_mut().zip(posed) {
                *sphere = Sphere {
                    body: slot.body,
                    ..*posed
                };
            }
        }
    }

    /// The slot of a body.
    pub fn slot_of(&self, body: u32) -> Slot {
        debug_assert!(self.is_filled());
        let index = body as usize;
        let all = &self.subdomains;
        let subdomain = &all[all.partition_point(|subdomain| subdomain.bodies.end <= index)];
        let place = index - subdomain.bodies.start;
        let chunks = &subdomain.chunks;
        let chunk = &chunks[chunks.partition_point(|chunk| chunk.bodies.end <= place)];
        let lane = (place - chunk.bodies.start) % WIDTH;
        Slot {
            body,
            lane: chunk.balls.then_some(lane as u32),
        }
    }

    /// Has the next step begin with what is in the state, which has changed, but for contact histories.
    pub fn begin_anew(&mut self) {
        debug_assert!(!self.folded);
        self.phase = Phase::Empty;
    }

    /// Leaves the pairs and histories that it has, and takes over those of the state, which has changed.
    pub fn forget(&mut self) {
        debug_assert!(!self.folded);
        self.phase = Phase::Empty;
        self.has_histories = false;
    }

    /// Fills the subdomains, has each do something with its part of the state, and writes all back: a pass by itself.
    pub(super) fn once<T: Send>(
        &mut self,
        state: &mut State,
        act: impl Fn(&State, SubdomainView) -> T + Sync + Send,
        nothing: impl Fn() -> T + Sync + Send,
        and: impl Fn(T, T) -> T + Sync + Send,
    ) -> T {
        self.fill(state, None, false);
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
        let mut spheres = take(&mut state.spheres);
        let mut sphere_loads = take(&mut state.sphere_loads);
        let mut views = Vec::with_capacity(self.subdomains.len());
        let mut rest = &mut bodies[..];
        let mut rest_of_spheres = &mut spheres[..];
        let mut rest_of_loads = &mut sphere_loads[..];
        let mut rest_of_sent = &mut self.sent_bodies[..];
        let scratch = self.scratch.iter_mut().zip(&mut self.shares);
        for (subdomain, (scratch, share)) in self.subdomains.iter_mut().zip(scratch) {
            let (bodies, spheres, loads, sent);
            let count = subdomain.spheres.len();
            (bodies, rest) = rest.split_at_mut(subdomain.bodies.len());
            (spheres, rest_of_spheres) = rest_of_spheres.split_at_mut(count);
            (loads, rest_of_loads) = rest_of_loads.split_at_mut(count);
            (sent, rest_of_sent) = rest_of_sent.split_at_mut(subdomain.sent.len());
            let view = SubdomainView {
                subdomain,
                scratch,
                bodies,
                spheres,
                loads,
                sent,
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
        state.spheres = spheres;
        state.sphere_loads = sphere_loads;
        all
    }
}

/// A body of a part of a scene that has moved as it did in another part.
fn moved(before: &Body, body: &Body) -> Body {
    Body {
        kind: before.kind,
        first_sphere: before.first_sphere,
        ..*body
    }
}
