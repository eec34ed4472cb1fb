//! Makes the rows of a subdomain from the neighbour lists.

use std::iter;
use std::mem::take;
use std::ops::Range;

use glam::Vec4;

use super::contact_rows::Effect;
use super::history;
use super::lanes::WIDTH;
use super::retired::{Histories, Place};
use super::subdomain::{Chunk, Facets, LaneGroup, NeighbourLists, Subdomain, WallNeighbours};
use crate::state::State;
use crate::state::layout::{History, WALL};
use crate::step::wall_run::walls_of;

/// Spheres of a chunk: few enough that what one pass writes is in the cache when the next one reads it.
const CHUNK: usize = 1024;

/// Pairs of a chunk one after the other, before they are put into rows.
#[derive(Debug, Default)]
pub(super) struct FillScratch {
    pairs: Vec<Listed>,
    owners: Vec<RowOwner>,
    /// Slot of each of the pairs, among those of the chunk.
    slot_of: Vec<u32>,
}

/// A pair.
#[derive(Clone, Copy, Debug)]
struct Listed {
    /// Place of the other sphere in the subdomain.
    other: u32,
    history: Place,
}

/// A sphere, and which pairs it owns.
#[derive(Clone, Copy, Debug, Default)]
struct RowOwner {
    place: u32,
    /// The first of its pairs.
    start: u32,
    count: u32,
}

/// Gives an empty list room for `count` elements.
fn make_room<T>(list: &mut Vec<T>, count: usize) {
    debug_assert!(list.is_empty());
    if list.capacity() < count {
        // Not both at once.
        *list = Vec::new();
        *list = Vec::with_capacity(count);
    }
}

impl FillScratch {
    /// Makes the sphere at `place` the owner of the pairs from `start` on.
    fn own(&mut self, place: usize, start: usize) {
        self.owners.push(RowOwner {
            place: place as u32,
            start: start as u32,
            count: (self.pairs.len() - start) as u32,
        });
    }
}

impl Subdomain {
    /// Takes over `bodies` with their spheres and pairs; `balls` says which kinds of bodies are moved as balls.
    pub fn fill(
        &mut self,
        state: &State,
        histories: Histories,
        bodies: Range<usize>,
        balls: &[bool],
    ) {
        if bodies.is_empty() {
            *self = Subdomain {
                bodies,
                ..Subdomain::default()
            };
            return;
        }
        self.clear(state, bodies.clone());
        self.copy_ghosts(state);
        self.fill_before(state, histories);
        let first = self.spheres.start;
        let mut chunk = self.before.after();
        for body in bodies.clone() {
            chunk.balls &= balls[state.bodies[body].kind as usize];
            let own = state.spheres_of(&state.bodies[body]);
            for place in own.start - first..own.end - first {
                self.list_sphere(state, histories, place);
            }
            chunk.bodies.end = body + 1 - bodies.start;
            chunk.spheres.end = own.end - first;
            let rest = bodies.end - (body + 1);
            let is_full = chunk.spheres.len() >= CHUNK || rest == 0;
            // Balls stand side by side, and those that are left over make a chunk of their own.
            let is_even = chunk.balls && chunk.bodies.len().is_multiple_of(WIDTH);
            if is_full || (is_even && rest < WIDTH) {
                chunk.balls = is_even;
                self.close(state, histories, &mut chunk);
                let next = chunk.after();
                self.chunks.push(std::mem::replace(&mut chunk, next));
            }
        }
        let sums = &mut self.sums.effects;
        sums.clear();
        sums.resize(self.reach.next_power_of_two(), Effect::default());
    }

    /// Forgets all, and begins with some bodies.
    fn clear(&mut self, state: &State, bodies: Range<usize>) {
        let first = state.bodies[bodies.start].first_sphere as usize;
        let spheres = first..state.spheres_of(&state.bodies[bodies.end - 1]).end;
        let entry = |sphere: usize| state.neighbour_starts[sphere] as usize;
        self.entries = entry(spheres.start)..entry(spheres.end);
        self.groups.clear();
        self.others.clear();
        self.histories.clear();
        self.overlaps.clear();
        self.reactions.clear();
        self.wall_neighbours.clear();
        self.facets.clear();
        self.facet_histories.clear();
        self.chunks.clear();
        (self.bodies, self.spheres) = (bodies, spheres);
        self.history_columns = history::columns_of(state);
        self.sleep = state.params.sleep_steps > 0;
        // A pair has two entries, and a few lanes stay empty. What grows leaves holes in memory.
        let pairs = self.entries.len() / if self.sleep { 1 } else { 2 };
        let rows = (pairs + pairs / 8) / WIDTH;
        make_room(&mut self.others, rows);
        make_room(&mut self.histories, self.history_columns * rows);
        make_room(&mut self.overlaps, rows);
        make_room(&mut self.reactions, if self.sleep { 0 } else { pairs });
        make_room(&mut self.groups, self.spheres.len() / WIDTH);
        self.reach = 0;
        self.idle = 0;
    }

    /// Copies as ghosts the spheres of others that are in its lists.
    fn copy_ghosts(&mut self, state: &State) {
        let own = self.spheres.start as u32..self.spheres.end as u32;
        let entries = &state.neighbours[self.entries.clone()];
        let others = entries.iter().filter(|&&other| other & WALL == 0);
        self.ghosts.clear();
        self.ghosts
            .extend(others.filter(|other| !own.contains(other)));
        self.ghosts.sort_unstable();
        self.ghosts.dedup();
        self.copies.clear();
        let ghosts = self.ghosts.iter();
        self.copies
            .extend(ghosts.map(|&ghost| state.spheres[ghost as usize]));
    }

    /// Place of a sphere that is in its lists: see [`Spheres`](super::subdomain::Spheres).
    fn place(&self, sphere: u32) -> u32 {
        if self.spheres.contains(&(sphere as usize)) {
            return sphere - self.spheres.start as u32;
        }
        let ghost = self.ghosts.partition_point(|&ghost| ghost < sphere);
        (self.spheres.len() + ghost) as u32
    }

    /// Puts the pairs with spheres of lower index than any of its own into rows.
    fn fill_before(&mut self, state: &State, histories: Histories) {
        let first = self.spheres.start;
        let lists = NeighbourLists::of(state);
        // Nothing comes before the first subdomain.
        let places = if self.sleep || first == 0 {
            0..0
        } else {
            0..self.spheres.len()
        };
        for place in places {
            let own = lists.below(lists.of_sphere(first + place), first);
            if own.is_empty() {
                continue;
            }
            let start = self.fill_scratch.pairs.len();
            let mut histories = histories.of(first + place);
            for &other in &state.neighbours[own] {
                let pair = Listed {
                    other: self.place(other),
                    history: histories.find(other),
                };
                self.fill_scratch.pairs.push(pair);
            }
            self.fill_scratch.own(place, start);
            self.reach = place + 1;
        }
        self.before = Chunk::default();
        let before = self.before.clone();
        self.make_rows(state, histories, &before);
        self.before.groups = 0..self.groups.len();
        self.before.rows = 0..self.others.len();
    }

    /// Lists the pairs that a sphere owns within a chunk, and its facets.
    fn list_sphere(&mut self, state: &State, histories: Histories, place: usize) {
        let neighbours = &state.neighbours;
        let first = self.spheres.start;
        let lists = NeighbourLists::of(state);
        let own = lists.of_sphere(first + place);
        let [_, owned] = lists.owned(first + place, first, self.sleep);
        let start = self.fill_scratch.pairs.len();
        let mut histories = histories.of(first + place);
        for &other in &neighbours[owned] {
            let pair = Listed {
                other: self.place(other),
                history: histories.find(other),
            };
            self.fill_scratch.pairs.push(pair);
        }
        self.fill_scratch.own(place, start);
        let walls = walls_of(&neighbours[own.clone()]).len();
        if walls > 0 {
            let entry = own.end - walls;
            let facets = &neighbours[entry..own.end];
            self.wall_neighbours.push(WallNeighbours {
                place: place as u32,
                first: self.facets.len() as u32,
                count: walls as u32,
                facets: Facets::of(facets, state.facets()),
                entry: entry as u32,
            });
            self.facets.extend_from_slice(facets);
            let size = state.params.history_size as usize;
            for &facet in facets {
                match histories.of_facet(facet) {
                    Some(history) => self.facet_histories.extend_from_slice(history),
                    None => self
                        .facet_histories
                        .extend(iter::repeat_n(Vec4::ZERO, size)),
                }
            }
        }
    }

    /// Completes a chunk that has all its bodies: puts the listed pairs into rows.
    fn close(&mut self, state: &State, histories: Histories, chunk: &mut Chunk) {
        self.make_rows(state, histories, chunk);
        chunk.groups.end = self.groups.len();
        chunk.rows.end = self.others.len();
        chunk.reactions.end = self.reactions.len();
        chunk.wall_neighbours.end = self.wall_neighbours.len();
    }

    /// Puts the owners of listed pairs side by side, those with as many pairs together, and their pairs into rows. They
    /// are those of a chunk, as far as it is there.
    fn make_rows(&mut self, state: &State, histories: Histories, chunk: &Chunk) {
        let mut listed = take(&mut self.fill_scratch);
        let FillScratch {
            pairs,
            owners,
            slot_of,
        } = &mut listed;
        let own = &state.spheres[self.spheres.clone()];
        // A group of which all sleep is left out.
        owners.sort_by_cached_key(|owner| {
            let owned = owner.start as usize..(owner.start + owner.count) as usize;
            let others = pairs[owned].iter().map(|pair| pair.other);
            let kept = self.sleep && !self.is_disturbed(own, owner.place, others, &state.params);
            // One number: these are compared faster than tuples.
            (u32::from(kept) << 31) | ((u32::MAX >> 1) - owner.count)
        });
        slot_of.resize(pairs.len(), 0);
        for owners in owners.chunks(WIDTH) {
            let owner = |lane: usize| owners.get(lane).unwrap_or(&owners[0]);
            let places = std::array::from_fn(|lane| owner(lane).place);
            let start = self.others.len();
            let most = owners.iter().map(|owner| owner.count).max();
            let end = start + most.unwrap_or(0) as usize;
            for row in start..end {
                let mut others = places;
                let mut columns = [[0.0; WIDTH]; History::VALUES];
                for (lane, owner) in owners.iter().enumerate() {
                    if row - start >= owner.count as usize {
                        continue;
                    }
                    let pair = owner.start as usize + (row - start);
                    slot_of[pair] = ((row - chunk.rows.start) * WIDTH + lane) as u32;
                    let Listed { other, history } = pairs[pair];
                    others[lane] = other;
                    if !matches!(history, Place::Nowhere) {
                        let values = histories.get(history).values();
                        for (column, value) in columns.iter_mut().zip(values) {
                            column[lane] = value;
                        }
                    }
                }
                self.others.push(others);
                self.histories
                    .extend_from_slice(&columns[..self.history_columns]);
            }
            self.groups.push(LaneGroup {
                places,
                count: owners.len(),
                rows: start..end,
            });
        }
        for (listed, &pair) in pairs.iter().zip(&*slot_of) {
            if self.stands_for(listed.other) {
                self.reactions.push(pair);
                let reach = listed.other as usize + 1 - chunk.spheres.start;
                self.reach = self.reach.max(reach);
            }
        }
        self.reach = self.reach.max(chunk.spheres.len());
        pairs.clear();
        owners.clear();
        slot_of.clear();
        self.fill_scratch = listed;
    }
}
