//! Pairs of spheres that may touch, in the order in which the CPU engine goes through them.
//!
//! Neighbour lists are for every sphere to find its own, as the GPU has it. Here a pair stands once, in a row with
//! those of other spheres, with what its contact remembers beside it; and rows are read from start to end: no list of a
//! sphere with its few entries to begin and to end, and half of the memory to move.

use std::mem::take;
use std::ops::Range;
use std::time::Instant;

use glam::Vec4;
use rayon::prelude::*;

use super::GRAIN;
use super::act::Room;
use super::balls::Block;
use super::batch::{Effect, Sums, larger};
use super::contacts::memory_columns;
use super::integrate::Kinds;
use super::lanes::{Columns, WIDTH};
use super::wall_batch;
use crate::state::State;
use crate::state::layout::{Body, Facet, PLANE, Params, Sphere, SphereLoad, WALL};
use crate::step::wall_run::walls_of;

/// Runs for each thread where bodies may sleep: more than one, since nobody knows how long each takes. Else it is
/// one, since pairs within a run cost half of those across.
const RUNS: usize = 4;

/// What a sphere costs in a step, of which an entry of its neighbour list costs one.
const SPHERE_COST: usize = 4;

/// Spheres of a chunk: few enough that what one pass writes is in the cache when the next one reads it.
const CHUNK: usize = 1024;

/// What it costs to put a sphere and its pairs in place, in evaluations of a pair.
const FILL_COST: usize = 8;

/// The pairs of all runs.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    runs: Vec<Run>,
    /// Room in which each of them works.
    rooms: Vec<Box<Room>>,
    /// The part of the whole cost that each of them has, and the time that it has taken since they were filled, s.
    shares: Vec<(f64, f64)>,
    /// Whether they are those of the neighbour lists, and know better than these what contacts remember.
    filled: bool,
    /// Whether the runs have the spheres of the next step.
    posed: bool,
}

/// Bodies one after the other, which a task takes; and the pairs of their spheres.
///
/// A pair within a run is evaluated once, for both; one across runs is evaluated from both sides, so that no
/// run writes to another. Nor does it read what another one writes: it has copies of the spheres that it needs of others
/// (ghosts), as the domains of programs that run on many machines do.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub bodies: Range<usize>,
    pub spheres: Range<usize>,
    /// The entries of their neighbour lists.
    pub entries: Range<usize>,
    /// Its spheres, of which each is that of the next step as soon as it has been posed, and then its ghosts.
    pub local: Vec<Sphere>,
    /// Which spheres these are, in ascending order.
    ghosts: Vec<u32>,
    /// Balls side by side: the state does not know where these are and what is on them until they are given back.
    pub blocks: Vec<Block>,
    /// Spheres side by side.
    pub groups: Vec<Group>,
    /// Rows of pairs, those of one group after the other: place of the other sphere of each lane in `local`, or that
    /// of the sphere itself where there is none.
    pub others: Vec<[u32; WIDTH]>,
    /// What the contacts of each row remember, value by value, and how many values that are.
    pub memory: Vec<[f32; WIDTH]>,
    pub memory_columns: usize,
    /// Their entries in the neighbour lists.
    row_entries: Vec<[Entries; WIDTH]>,
    /// Their overlaps, m; none before they are evaluated for the first time.
    pub overlaps: Vec<[f32; WIDTH]>,
    /// Pairs that stand for both of their spheres, in the order of these.
    pub shared: Vec<Shared>,
    /// What contacts with spheres of lower index do to each sphere; zero between steps.
    pub sums: Sums,
    /// The groups for pairs with spheres before the run, which come first in the sums of each sphere.
    pub before: Chunk,
    /// Pairs that were evaluated for nothing since then, because they are side by side with others: those of spheres
    /// that have fallen asleep.
    pub idle: usize,
    /// Places from the first of a chunk on to which its pairs reach, at most.
    reach: usize,
    /// Room to fill it.
    listed: Listed,
    /// Spheres with walls in their lists.
    pub walled: Vec<Walled>,
    /// The facets in their lists, one sphere after the other.
    pub facets: Vec<u32>,
    /// What the contact with each facet remembers.
    pub facet_memory: Vec<Vec4>,
    pub chunks: Vec<Chunk>,
}

/// Spheres side by side, one in each lane, and the rows of their pairs.
#[derive(Debug)]
pub(super) struct Group {
    /// Their places in the run; lanes without one repeat the first.
    pub places: [u32; WIDTH],
    /// Number of lanes that have a sphere.
    pub count: usize,
    /// Whether they have walls in their lists.
    walled: [bool; WIDTH],
    pub rows: Range<usize>,
}

/// The second sphere of a pair that stands for both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    /// Its place in [`Sums`].
    pub place: u32,
    /// Where the pair is, among those of the chunk: row by row, lane by lane.
    pub pair: u32,
}

/// Where the neighbour lists have a pair.
#[derive(Clone, Copy, Debug)]
struct Entries {
    /// Entry of the sphere; [`NOWHERE`] if there is no pair.
    own: u32,
    /// That of the other sphere, if the pair stands for both, else the same.
    other: u32,
}

const NOWHERE: Entries = Entries {
    own: u32::MAX,
    other: u32::MAX,
};

/// The pairs of a run one after the other.
#[derive(Debug, Default)]
struct Listed {
    /// Place of the other sphere in [`Run::local`], and where the neighbour lists have it.
    pairs: Vec<(u32, Entries)>,
    owners: Vec<Owner>,
    /// Where each of them went, among the pairs of the chunk.
    whither: Vec<u32>,
}

/// The pairs of a sphere.
#[derive(Clone, Copy, Debug, Default)]
struct Owner {
    place: u32,
    /// The first of them.
    start: u32,
    count: u32,
    /// Whether it has walls in its list.
    walled: bool,
}

/// The facets in the list of a sphere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walled {
    /// Its place in the run.
    pub place: u32,
    /// Place of the first in [`Run::facets`].
    pub first: u32,
    /// Number of facets.
    pub count: u32,
    pub facets: Facets,
    /// Entry of the first in the neighbour lists.
    entry: u32,
}

/// What the facets in the list of a sphere are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Facets {
    /// Planes, each of another wall.
    Planes,
    /// One of each wall.
    Single,
    /// Of one wall more than one, or too many to go with those of others.
    Many,
}

impl Facets {
    fn of(entries: &[u32], table: &[Facet]) -> Facets {
        let facets = || entries.iter().map(|entry| &table[(entry & !WALL) as usize]);
        let alone = facets()
            .zip(facets().skip(1))
            .all(|(a, b)| a.wall != b.wall);
        if !alone || entries.len() > wall_batch::Batch::MOST {
            Facets::Many
        } else if facets().all(|facet| facet.kind == PLANE) {
            Facets::Planes
        } else {
            Facets::Single
        }
    }
}

/// Bodies of a run that go through all passes before the next ones do.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunk {
    /// From the first of the run on, as all that follows.
    pub bodies: Range<usize>,
    /// Whether these are balls: single spheres about their centres that never sleep, and that nothing but contacts and
    /// gravity acts on.
    pub balls: bool,
    /// They themselves then.
    pub blocks: Range<usize>,
    pub spheres: Range<usize>,
    pub groups: Range<usize>,
    pub rows: Range<usize>,
    pub shared: Range<usize>,
    pub walled: Range<usize>,
}

/// What changes the sign of a vector, but not of the fourth component.
pub(super) const FLIP: Vec4 = Vec4::new(-1.0, -1.0, -1.0, 1.0);

/// Lets `act` work with the pairs of a state, and gives the neighbour lists what contacts remember then.
pub(super) fn with_pairs<T>(
    state: &mut State,
    pairs: &mut Pairs,
    act: impl FnOnce(&mut State, &mut Pairs) -> T,
) -> T {
    let result = act(state, pairs);
    pairs.write_back(state);
    result
}

/// The bodies of each run, of which each has one of `shares` of the cost.
fn cut(state: &State, shares: &[(f64, f64)]) -> Vec<Range<usize>> {
    let cost_before =
        |sphere: usize| state.neighbour_starts[sphere] as usize + SPHERE_COST * sphere;
    let all = cost_before(state.spheres.len()) as f64;
    let (mut start, mut part) = (0, 0.0);
    let ranges = shares.iter().enumerate().map(|(run, (share, _))| {
        part += share;
        let before = |body: &Body| (cost_before(body.first_sphere as usize) as f64) < part * all;
        let end = match run + 1 == shares.len() {
            true => state.bodies.len(),
            false => state.bodies.partition_point(before).max(start),
        };
        std::mem::replace(&mut start, end)..end
    });
    ranges.collect()
}

/// New shares of the cost for `count` runs: those that took longer than others get less of it.
///
/// Nobody knows how fast a processor is at the moment; the outcome is the same wherever the cuts are.
fn balanced(shares: &[(f64, f64)], count: usize) -> Vec<(f64, f64)> {
    /// A run has at least half and at most twice of an equal share.
    const LEAST: f64 = 0.5;
    const MOST: f64 = 2.0;
    let equal = 1.0 / count as f64;
    let timed = shares.len() == count && shares.iter().all(|(_, time)| *time > 0.0);
    if !timed {
        return vec![(equal, 0.0); count];
    }
    // Half of the way: times are noisy.
    let weights: Vec<f64> = shares
        .iter()
        .map(|(share, time)| (share * (share / time)).sqrt())
        .collect();
    let all: f64 = weights.iter().sum();
    let limited = weights
        .iter()
        .map(|weight| (weight / all).clamp(LEAST * equal, MOST * equal));
    let all: f64 = limited.clone().sum();
    limited.map(|share| (share / all, 0.0)).collect()
}

impl Pairs {
    /// The pairs of the neighbour lists of a state, with what they remember.
    pub fn fill(&mut self, state: &State) {
        let Params {
            sleep_steps,
            forces,
            pulled,
            ..
        } = state.params;
        let alone = [sleep_steps, forces, pulled] == [0; 3];
        let kinds = Kinds::from(state);
        let balls: Vec<bool> = kinds.balls().map(|is_ball| is_ball && alone).collect();
        let runs = match state.params.sleep_steps {
            0 => 1,
            _ => RUNS,
        };
        let count = (runs * rayon::current_num_threads()).min(state.bodies.len().div_ceil(GRAIN));
        self.shares = balanced(&self.shares, count);
        let ranges = cut(state, &self.shares);
        self.runs.resize_with(count, Run::default);
        self.rooms.resize_with(count, Box::default);
        let tasks = self.runs.par_iter_mut().zip(ranges);
        tasks.for_each(|(run, bodies)| run.fill(state, bodies, &balls));
        self.filled = true;
    }

    /// Says that all runs have the spheres of the next step.
    pub fn set_posed(&mut self) {
        self.posed = true;
    }

    /// Whether all runs have the spheres of this step; if so, they get those of each other.
    pub fn pose(&mut self) -> bool {
        let posed = take(&mut self.posed);
        if posed {
            self.exchange();
        }
        posed
    }

    /// Copies the spheres that runs need of others.
    fn exchange(&mut self) {
        if self.runs.len() < 2 {
            return;
        }
        let runs = self.runs.iter_mut().filter(|run| !run.spheres.is_empty());
        let (domains, tasks): (Vec<_>, Vec<_>) = runs
            .map(|run| {
                let (own, copies) = run.local.split_at_mut(run.spheres.len());
                ((run.spheres.start, &*own), (copies, &run.ghosts))
            })
            .unzip();
        tasks.into_par_iter().for_each(|(copies, ghosts)| {
            for (copy, &ghost) in copies.iter_mut().zip(ghosts) {
                let after = domains.partition_point(|(first, _)| *first <= ghost as usize);
                let (first, spheres) = domains[after - 1];
                *copy = spheres[ghost as usize - first];
            }
        });
    }

    /// Gives a state the spheres that the runs have.
    pub fn give_spheres(&self, state: &mut State) {
        let mut rest = &mut state.spheres[..];
        let mut tasks = Vec::with_capacity(self.runs.len());
        for run in &self.runs {
            let own;
            (own, rest) = rest.split_at_mut(run.spheres.len());
            tasks.push((own, &run.local));
        }
        tasks
            .into_par_iter()
            .for_each(|(own, local)| own.copy_from_slice(&local[..own.len()]));
    }

    /// Whether they are those of the neighbour lists.
    pub fn are_filled(&self) -> bool {
        self.filled
    }

    /// Whether to fill them once more would have cost less than those that sleep have cost by now.
    pub fn are_idle(&self) -> bool {
        let cost = |run: &Run| FILL_COST * run.spheres.len();
        let idle: usize = self.runs.iter().map(|run| run.idle).sum();
        idle > self.runs.iter().map(cost).sum()
    }

    /// Gives a state the balls that the runs have, and the loads how spheres touch.
    pub fn give_bodies(&mut self, state: &mut State) {
        let give = |state: &State, part: Part| {
            let Part {
                run, bodies, loads, ..
            } = part;
            run.give_bodies(bodies, loads);
            if state.params.sleep_steps == 0 {
                run.count(0..run.groups.len(), 0, loads);
            }
        };
        self.with(state, give, || (), |_, _| ());
    }

    /// Gives the state its balls, and the neighbour lists what the contacts remember now, if that is known here. The lists
    /// may change then.
    pub fn write_back(&mut self, state: &mut State) {
        self.posed = false;
        if !take(&mut self.filled) {
            return;
        }
        self.give_bodies(state);
        let size = state.params.memory_size as usize;
        if size == 0 {
            return;
        }
        let mut rest = &mut state.memory[..];
        let mut tasks = Vec::with_capacity(self.runs.len());
        for run in &self.runs {
            let own;
            (own, rest) = rest.split_at_mut(size * run.entries.len());
            tasks.push((run, own));
        }
        tasks
            .into_par_iter()
            .for_each(|(run, memory)| run.write_back(memory, size));
    }

    /// Has each run do something with its part of the state, and returns what comes of all.
    pub(super) fn with<T: Send>(
        &mut self,
        state: &mut State,
        act: impl Fn(&State, Part) -> T + Sync + Send,
        nothing: impl Fn() -> T + Sync + Send,
        and: impl Fn(T, T) -> T + Sync + Send,
    ) -> T {
        let mut bodies = take(&mut state.bodies);
        let mut sphere_loads = take(&mut state.sphere_loads);
        let mut parts = Vec::with_capacity(self.runs.len());
        let mut rest = &mut bodies[..];
        let mut rest_of_spheres = &mut sphere_loads[..];
        let rooms = self.rooms.iter_mut().zip(&mut self.shares);
        for (run, (room, (_, time))) in self.runs.iter_mut().zip(rooms) {
            let (bodies, loads);
            (bodies, rest) = rest.split_at_mut(run.bodies.len());
            (loads, rest_of_spheres) = rest_of_spheres.split_at_mut(run.spheres.len());
            let part = Part {
                run,
                room,
                bodies,
                loads,
            };
            parts.push((part, time));
        }
        let shared = &*state;
        let all = parts
            .into_par_iter()
            .map(|(part, time)| {
                let start = Instant::now();
                let result = act(shared, part);
                *time += start.elapsed().as_secs_f64();
                result
            })
            .reduce(nothing, and);
        state.bodies = bodies;
        state.sphere_loads = sphere_loads;
        all
    }
}

/// A run, and its part of the state.
pub(super) struct Part<'a> {
    pub run: &'a mut Run,
    pub room: &'a mut Room,
    pub bodies: &'a mut [Body],
    pub loads: &'a mut [SphereLoad],
}

impl Run {
    fn fill(&mut self, state: &State, bodies: Range<usize>, balls: &[bool]) {
        if bodies.is_empty() {
            *self = Run::default();
            return;
        }
        let State {
            params,
            neighbours,
            memory,
            ..
        } = state;
        let first = state.bodies[bodies.start].first_sphere as usize;
        let spheres = first..state.spheres_of(&state.bodies[bodies.end - 1]).end;
        let starts: Vec<usize> = state.neighbour_starts[spheres.start..=spheres.end]
            .iter()
            .map(|&start| start as usize)
            .collect();
        let sleep = params.sleep_steps > 0;
        self.entries = starts[0]..starts[spheres.len()];
        self.blocks.clear();
        self.groups.clear();
        self.others.clear();
        self.memory.clear();
        self.row_entries.clear();
        self.overlaps.clear();
        self.shared.clear();
        self.walled.clear();
        self.facets.clear();
        self.chunks.clear();
        (self.bodies, self.spheres) = (bodies.clone(), spheres.clone());
        self.memory_columns = memory_columns(state);
        self.reach = 0;
        self.idle = 0;
        self.copy(state);

        // The entry of each sphere that comes next: those before it are in pairs, be it from the other side.
        // Where bodies may sleep, there may be something to do on one side only.
        let mut next = starts.clone();
        if !sleep {
            for (place, next) in next[..spheres.len()].iter_mut().enumerate() {
                let list = &neighbours[starts[place]..starts[place + 1]];
                let start = self.listed.pairs.len();
                for &other in list.iter().take_while(|&&other| other < first as u32) {
                    let entry = *next as u32;
                    let entries = Entries {
                        own: entry,
                        other: entry,
                    };
                    self.listed.pairs.push((self.place(other), entries));
                    *next += 1;
                }
                if self.listed.pairs.len() > start {
                    self.listed.own(place, start, false);
                    self.reach = place + 1;
                }
            }
        }
        self.before = Chunk::default();
        let before = self.before.clone();
        self.line_up(state, &before);
        self.before.groups = 0..self.groups.len();
        self.before.rows = 0..self.others.len();

        let mut chunk = self.before.after();
        for body in bodies.clone() {
            chunk.balls &= balls[state.bodies[body].kind as usize];
            let own = state.spheres_of(&state.bodies[body]);
            for place in own.start - first..own.end - first {
                let end = starts[place + 1];
                let walls = walls_of(&neighbours[starts[place]..end]).len();
                let list = next[place]..end - walls;
                let start = self.listed.pairs.len();
                for (entry, &other) in list.clone().zip(&neighbours[list]) {
                    let mut mirror = entry;
                    if !sleep && (other as usize) < spheres.end {
                        let next = &mut next[other as usize - first];
                        mirror = *next;
                        *next += 1;
                    }
                    let entries = Entries {
                        own: entry as u32,
                        other: mirror as u32,
                    };
                    self.listed.pairs.push((self.place(other), entries));
                }
                self.listed.own(place, start, walls > 0);
                if walls > 0 {
                    self.walled.push(Walled {
                        place: place as u32,
                        first: self.facets.len() as u32,
                        count: walls as u32,
                        facets: Facets::of(&neighbours[end - walls..end], state.facets()),
                        entry: (end - walls) as u32,
                    });
                    self.facets.extend_from_slice(&neighbours[end - walls..end]);
                }
            }
            chunk.bodies.end = body + 1 - bodies.start;
            chunk.spheres.end = own.end - first;
            if chunk.spheres.len() >= CHUNK || body + 1 == bodies.end {
                self.line_up(state, &chunk);
                chunk.groups.end = self.groups.len();
                chunk.rows.end = self.others.len();
                chunk.shared.end = self.shared.len();
                chunk.walled.end = self.walled.len();
                if chunk.balls {
                    let first = bodies.start + chunk.bodies.start;
                    let own = state.bodies[first..first + chunk.bodies.len()].chunks(WIDTH);
                    let loads = &state.sphere_loads[spheres.clone()][chunk.spheres.clone()];
                    let blocks = own.zip(loads.chunks(WIDTH));
                    let blocks = blocks.map(|(bodies, loads)| Block::new(bodies, loads));
                    self.blocks.extend(blocks);
                    chunk.blocks.end = self.blocks.len();
                }
                let next = chunk.after();
                self.chunks.push(std::mem::replace(&mut chunk, next));
            }
        }
        let sums = &mut self.sums.effects;
        sums.clear();
        sums.resize(self.reach.next_power_of_two(), Effect::default());
        for shared in &mut self.shared {
            shared.place = self.sums.place(shared.place as usize) as u32;
        }
        let size = params.memory_size as usize;
        self.facet_memory.clear();
        for walled in &self.walled {
            let entry = walled.entry as usize * size;
            let own = &memory[entry..entry + walled.count as usize * size];
            self.facet_memory.extend_from_slice(own);
        }
    }

    /// Copies the spheres of the run, and the others that are in its lists.
    fn copy(&mut self, state: &State) {
        let own = self.spheres.start as u32..self.spheres.end as u32;
        let entries = &state.neighbours[self.entries.clone()];
        let others = entries.iter().filter(|&&other| other & WALL == 0);
        self.ghosts.clear();
        self.ghosts
            .extend(others.filter(|other| !own.contains(other)));
        self.ghosts.sort_unstable();
        self.ghosts.dedup();
        self.local.clear();
        self.local
            .extend_from_slice(&state.spheres[self.spheres.clone()]);
        let ghosts = self.ghosts.iter();
        self.local
            .extend(ghosts.map(|&ghost| state.spheres[ghost as usize]));
    }

    /// Place in `local` of a sphere that is in its lists.
    fn place(&self, sphere: u32) -> u32 {
        if self.spheres.contains(&(sphere as usize)) {
            return sphere - self.spheres.start as u32;
        }
        let ghost = self.ghosts.partition_point(|&ghost| ghost < sphere);
        (self.spheres.len() + ghost) as u32
    }

    fn give_bodies(&self, bodies: &mut [Body], loads: &mut [SphereLoad]) {
        for chunk in &self.chunks {
            let bodies = bodies[chunk.bodies.clone()].chunks_mut(WIDTH);
            let loads = loads[chunk.spheres.clone()].chunks_mut(WIDTH);
            let blocks = &self.blocks[chunk.blocks.clone()];
            for ((bodies, loads), block) in bodies.zip(loads).zip(blocks) {
                block.write(bodies, loads);
            }
        }
    }

    /// Completes loads by the number of contacts in some groups and the largest overlap of each sphere; the first one has
    /// the place `first` in the run. Nobody needs them in a step, so the pairs have them until they are asked for.
    pub fn count(&self, groups: Range<usize>, first: usize, loads: &mut [SphereLoad]) {
        if self.overlaps.is_empty() {
            return;
        }
        for load in loads.iter_mut().filter(|load| !load.is_kept()) {
            load.contacts -= load.sphere_contacts();
        }
        let mut touch = |place: u32, overlap: f32| {
            let load = &mut loads[place as usize - first];
            if !load.is_kept() {
                load.max_overlap = larger(load.max_overlap, overlap);
                load.contacts += 1;
            }
        };
        for group in &self.groups[groups] {
            for row in group.rows.clone() {
                for lane in (0..WIDTH).filter(|&lane| self.overlaps[row][lane] > 0.0) {
                    let overlap = self.overlaps[row][lane];
                    touch(group.places[lane], overlap);
                    let Entries { own, other } = self.row_entries[row][lane];
                    if own != other {
                        touch(self.others[row][lane], overlap);
                    }
                }
            }
        }
    }

    /// Which spheres of a group sleep while nothing in their lists moves: their loads stay what they were.
    #[inline(always)]
    pub fn kept(&self, group: usize, params: &Params) -> [bool; WIDTH] {
        let Group {
            places,
            walled,
            ref rows,
            ..
        } = self.groups[group];
        if params.sleep_steps == 0 {
            return [false; WIDTH];
        }
        std::array::from_fn(|lane| {
            let others = self.others[rows.clone()].iter().map(|row| row[lane]);
            self.is_kept(places[lane], others, walled[lane], params)
        })
    }

    fn is_kept(
        &self,
        place: u32,
        mut others: impl Iterator<Item = u32>,
        walled: bool,
        params: &Params,
    ) -> bool {
        let still = |other: u32| {
            let other = &self.local[other as usize];
            other.sleeps() || other.inverse_mass == 0.0
        };
        let pushed = walled && params.moving_walls > 0;
        !pushed && self.local[place as usize].sleeps() && others.all(still)
    }

    /// Puts the spheres of `listed` side by side, those with as many pairs together, and their pairs into rows. They
    /// are those of a chunk, as far as it is there.
    fn line_up(&mut self, state: &State, chunk: &Chunk) {
        let mut listed = take(&mut self.listed);
        let Listed {
            pairs,
            owners,
            whither,
        } = &mut listed;
        let size = state.params.memory_size as usize;
        // A group of which all sleep is left out.
        owners.sort_by_cached_key(|owner| {
            let own = owner.start as usize..(owner.start + owner.count) as usize;
            let others = pairs[own].iter().map(|&(other, _)| other);
            let kept = state.params.sleep_steps > 0
                && self.is_kept(owner.place, others, owner.walled, &state.params);
            // One number: these are compared faster than tuples.
            (u32::from(kept) << 31) | ((u32::MAX >> 1) - owner.count)
        });
        whither.resize(pairs.len(), 0);
        for owners in owners.chunks(WIDTH) {
            let owner = |lane: usize| owners.get(lane).unwrap_or(&owners[0]);
            let places = std::array::from_fn(|lane| owner(lane).place);
            let walled = std::array::from_fn(|lane| owner(lane).walled);
            let start = self.others.len();
            let most = owners.iter().map(|owner| owner.count).max();
            let end = start + most.unwrap_or(0) as usize;
            for row in start..end {
                let mut others = places;
                let mut entries = [NOWHERE; WIDTH];
                let mut memory = [Columns::ZERO; 2];
                for (lane, owner) in owners.iter().enumerate() {
                    if row - start >= owner.count as usize {
                        continue;
                    }
                    let pair = owner.start as usize + (row - start);
                    (others[lane], entries[lane]) = pairs[pair];
                    whither[pair] = ((row - chunk.rows.start) * WIDTH + lane) as u32;
                    let entry = entries[lane].own as usize * size;
                    let own = &state.memory[entry..entry + size];
                    for (columns, own) in memory.iter_mut().zip(own) {
                        columns.set(lane, own.truncate(), own.w);
                    }
                }
                self.others.push(others);
                self.row_entries.push(entries);
                let columns = memory.iter().flat_map(|columns| columns.0);
                self.memory.extend(columns.take(self.memory_columns));
            }
            self.groups.push(Group {
                places,
                count: owners.len(),
                walled,
                rows: start..end,
            });
        }
        for (&(other, entries), &pair) in pairs.iter().zip(&*whither) {
            if entries.own != entries.other {
                self.shared.push(Shared { place: other, pair });
                self.reach = self.reach.max(other as usize + 1 - chunk.spheres.start);
            }
        }
        self.reach = self.reach.max(chunk.spheres.len());
        pairs.clear();
        owners.clear();
        whither.clear();
        self.listed = listed;
    }

    /// Of `memory`, that of the entries of the run.
    fn write_back(&self, memory: &mut [Vec4], size: usize) {
        let at = |entry: u32| (entry as usize - self.entries.start) * size;
        let rows = self.memory.chunks_exact(self.memory_columns);
        for (row, columns) in self.row_entries.iter().zip(rows) {
            for (lane, entries) in row.iter().enumerate() {
                if entries.own == NOWHERE.own {
                    continue;
                }
                let values = columns.iter().map(|values| values[lane]);
                let mut own = [0.0; 8];
                own.iter_mut()
                    .zip(values)
                    .for_each(|(own, value)| *own = value);
                for (part, own) in own.as_chunks::<4>().0[..size].iter().enumerate() {
                    let own = Vec4::from_array(*own);
                    memory[at(entries.other) + part] = FLIP * own;
                    memory[at(entries.own) + part] = own;
                }
            }
        }
        for walled in &self.walled {
            let own = &self.facet_memory[walled.first as usize * size..];
            let own = &own[..walled.count as usize * size];
            memory[at(walled.entry)..][..own.len()].copy_from_slice(own);
        }
    }
}

impl Listed {
    /// Says that the pairs from `start` on are those of the sphere at `place`, which has walls in its list, too, or not.
    fn own(&mut self, place: usize, start: usize, walled: bool) {
        self.owners.push(Owner {
            place: place as u32,
            start: start as u32,
            count: (self.pairs.len() - start) as u32,
            walled,
        });
    }
}

impl Chunk {
    /// The one that follows, as yet without anything.
    fn after(&self) -> Chunk {
        let after = |range: &Range<usize>| range.end..range.end;
        Chunk {
            bodies: after(&self.bodies),
            balls: true,
            blocks: after(&self.blocks),
            spheres: after(&self.spheres),
            groups: after(&self.groups),
            rows: after(&self.rows),
            shared: after(&self.shared),
            walled: after(&self.walled),
        }
    }
}
