//! Makes the rows of a subdomain from the neighbour lists.

use std::iter;
use std::mem::take;
use std::ops::Range;

use glam::Vec4;

use super::ball_block::BallBlock;
use super::contact_rows::Effect;
use super::history;
use super::lanes::{Soa4, WIDTH};
use super::neighbours::{OldEntries, OldLists};
use super::subdomain::{
    Chunk, Facets, LaneGroup, NO_ENTRY, PairEntries, Reaction, Subdomain, WallNeighbours,
};
use crate::state::State;
use crate::state::layout::{History, WALL};
use crate::step::wall_run::walls_of;

/// Spheres of a chunk: few enough that what one pass writes is in the cache when the next one reads it.
const CHUNK: usize = 1024;

/// The neighbour lists of a subdomain, as far as their pairs have not been listed yet.
struct Unlisted<'a> {
    /// Where the list of each sphere starts, and where the last one ends.
    starts: &'a [u32],
    /// The next entry of each sphere: those before it are in pairs, be it from the other side.
    next: Vec<u32>,
    /// The lists by which contact histories are found, unless it is these.
    old: Option<&'a OldLists>,
    /// Whether bodies may sleep: there may be something to do on one side of a pair only, so each side has it.
    sleep: bool,
}

/// Pairs of a chunk one after the other, before they are put into rows.
#[derive(Debug, Default)]
pub(super) struct FillScratch {
    pairs: Vec<Listed>,
    owners: Vec<RowOwner>,
    /// Where each of the pairs went, among those of the chunk.
    slot_of: Vec<u32>,
}

/// A pair.
#[derive(Clone, Copy, Debug)]
struct Listed {
    /// Place of the other sphere in [`Subdomain::local`].
    other: u32,
    /// Where the neighbour lists have the pair.
    entries: PairEntries,
    /// The entry at which its contact history lies; [`NO_HISTORY`] if it has none yet.
    history: u32,
}

/// The entry of a history that is zero.
const NO_HISTORY: u32 = u32::MAX;

/// Finds the entries at which the histories of a sphere lie, one after the other.
struct Histories<'a>(Option<OldEntries<'a>>);

impl Histories<'_> {
    /// That of an entry of its list, which has `neighbour`.
    #[inline(always)]
    fn find(&mut self, entry: u32, neighbour: u32) -> u32 {
        match &mut self.0 {
            Some(old) => old.find(neighbour).unwrap_or(NO_HISTORY),
            None => entry,
        }
    }
}

impl<'a> Unlisted<'a> {
    /// The list of the sphere at a place.
    fn own(&self, place: usize) -> Range<usize> {
        self.starts[place] as usize..self.starts[place + 1] as usize
    }

    /// Where the histories of a sphere lie, given its index in the state.
    fn histories(&self, sphere: usize) -> Histories<'a> {
        Histories(self.old.map(|old| old.entries(sphere)))
    }
}

/// A sphere, and which pairs it owns.
#[derive(Clone, Copy, Debug, Default)]
struct RowOwner {
    place: u32,
    /// The first of its pairs.
    start: u32,
    count: u32,
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
    /// Takes over `bodies` with their spheres and pairs; `balls` says which kinds of bodies are moved as balls. Contact
    /// histories lie where the lists of the state have them, or the `old` ones.
    pub fn fill(
        &mut self,
        state: &State,
        old: Option<&OldLists>,
        bodies: Range<usize>,
        balls: &[bool],
    ) {
        if bodies.is_empty() {
            *self = Subdomain::default();
            return;
        }
        let mut lists = self.clear(state, bodies.clone());
        lists.old = old;
        self.copy_spheres(state);
        self.fill_before(state, &mut lists);
        let first = self.spheres.start;
        let mut chunk = self.before.after();
        for body in bodies.clone() {
            chunk.balls &= balls[state.bodies[body].kind as usize];
            let own = state.spheres_of(&state.bodies[body]);
            for place in own.start - first..own.end - first {
                self.list_sphere(state, &mut lists, place);
            }
            chunk.bodies.end = body + 1 - bodies.start;
            chunk.spheres.end = own.end - first;
            if chunk.spheres.len() >= CHUNK || body + 1 == bodies.end {
                self.close(state, &mut chunk);
                let next = chunk.after();
                self.chunks.push(std::mem::replace(&mut chunk, next));
            }
        }
        let sums = &mut self.sums.effects;
        sums.clear();
        sums.resize(self.reach.next_power_of_two(), Effect::default());
        for reaction in &mut self.reactions {
            reaction.place = self.sums.place(reaction.place as usize) as u32;
        }
    }

    /// Forgets all, and begins with some bodies.
    fn clear<'a>(&mut self, state: &'a State, bodies: Range<usize>) -> Unlisted<'a> {
        let first = state.bodies[bodies.start].first_sphere as usize;
        let spheres = first..state.spheres_of(&state.bodies[bodies.end - 1]).end;
        let starts = &state.neighbour_starts[spheres.start..=spheres.end];
        self.entries = starts[0] as usize..starts[spheres.len()] as usize;
        self.blocks.clear();
        self.groups.clear();
        self.others.clear();
        self.histories.clear();
        self.row_entries.clear();
        self.overlaps.clear();
        self.reactions.clear();
        self.wall_neighbours.clear();
        self.facets.clear();
        self.facet_histories.clear();
        self.chunks.clear();
        (self.bodies, self.spheres) = (bodies, spheres.clone());
        self.history_columns = history::columns_of(state);
        self.reach = 0;
        self.idle = 0;
        Unlisted {
            next: starts[..spheres.len()].to_vec(),
            starts,
            old: None,
            sleep: state.params.sleep_steps > 0,
        }
    }

    /// Copies its spheres, and as ghosts the others that are in its lists.
    fn copy_spheres(&mut self, state: &State) {
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

    /// Puts the pairs with spheres of lower index than any of its own into rows.
    fn fill_before(&mut self, state: &State, lists: &mut Unlisted) {
        if !lists.sleep {
            let first = self.spheres.start;
            for place in 0..self.spheres.len() {
                let list = &state.neighbours[lists.own(place)];
                let start = self.fill_scratch.pairs.len();
                let mut entry = lists.starts[place];
                let mut histories = lists.histories(first + place);
                for &other in list.iter().take_while(|&&other| other < first as u32) {
                    let pair = Listed {
                        other: self.place(other),
                        entries: PairEntries {
                            own: entry,
                            other: entry,
                        },
                        history: histories.find(entry, other),
                    };
                    self.fill_scratch.pairs.push(pair);
                    entry += 1;
                }
                lists.next[place] = entry;
                if self.fill_scratch.pairs.len() > start {
                    self.fill_scratch.own(place, start);
                    self.reach = place + 1;
                }
            }
        }
        self.before = Chunk::default();
        let before = self.before.clone();
        self.make_rows(state, &before);
        self.before.groups = 0..self.groups.len();
        self.before.rows = 0..self.others.len();
    }

    /// Lists the pairs of a sphere that are not listed yet, and its facets.
    fn list_sphere(&mut self, state: &State, lists: &mut Unlisted, place: usize) {
        let neighbours = &state.neighbours;
        let Range { start: first, end } = self.spheres;
        let own = lists.own(place);
        let walls = walls_of(&neighbours[own.clone()]).len();
        let list = lists.next[place] as usize..own.end - walls;
        let start = self.fill_scratch.pairs.len();
        let mut histories = lists.histories(first + place);
        for (entry, &other) in list.clone().zip(&neighbours[list]) {
            let entry = entry as u32;
            // Lists are sorted and symmetric, and spheres come in order: the entry for the same pair in the other list is
            // always the next one there.
            let mut mirror = entry;
            if !lists.sleep && (other as usize) < end {
                let next = &mut lists.next[other as usize - first];
                mirror = *next;
                *next += 1;
            }
            let pair = Listed {
                other: self.place(other),
                entries: PairEntries {
                    own: entry,
                    other: mirror,
                },
                history: histories.find(entry, other),
            };
            self.fill_scratch.pairs.push(pair);
        }
        self.fill_scratch.own(place, start);
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
            for (entry, &facet) in (entry as u32..).zip(facets) {
                match histories.find(entry, facet) {
                    NO_HISTORY => self
                        .facet_histories
                        .extend(iter::repeat_n(Vec4::ZERO, size)),
                    at => self
                        .facet_histories
                        .extend_from_slice(&state.history[at as usize * size..][..size]),
                }
            }
        }
    }

    /// Completes a chunk that has all its bodies: puts the listed pairs into rows, and balls into blocks.
    fn close(&mut self, state: &State, chunk: &mut Chunk) {
        self.make_rows(state, chunk);
        chunk.groups.end = self.groups.len();
        chunk.rows.end = self.others.len();
        chunk.reactions.end = self.reactions.len();
        chunk.wall_neighbours.end = self.wall_neighbours.len();
        if chunk.balls {
            let first = self.bodies.start + chunk.bodies.start;
            let own = state.bodies[first..first + chunk.bodies.len()].chunks(WIDTH);
            let loads = &state.sphere_loads[self.spheres.clone()][chunk.spheres.clone()];
            let blocks = own.zip(loads.chunks(WIDTH));
            let blocks = blocks.map(|(bodies, loads)| BallBlock::new(bodies, loads));
            self.blocks.extend(blocks);
            chunk.blocks.end = self.blocks.len();
        }
    }

    /// Puts the owners of listed pairs side by side, those with as many pairs together, and their pairs into rows. They
    /// are those of a chunk, as far as it is there.
    fn make_rows(&mut self, state: &State, chunk: &Chunk) {
        let mut listed = take(&mut self.fill_scratch);
        let FillScratch {
            pairs,
            owners,
            slot_of,
        } = &mut listed;
        let size = state.params.history_size as usize;
        // A group of which all sleep is left out.
        owners.sort_by_cached_key(|owner| {
            let own = owner.start as usize..(owner.start + owner.count) as usize;
            let others = pairs[own].iter().map(|pair| pair.other);
            let kept = state.params.sleep_steps > 0
                && !self.is_disturbed(owner.place, others, &state.params);
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
                let mut entries = [NO_ENTRY; WIDTH];
                let mut histories = [Soa4::ZERO; History::ELEMENTS];
                for (lane, owner) in owners.iter().enumerate() {
                    if row - start >= owner.count as usize {
                        continue;
                    }
                    let pair = owner.start as usize + (row - start);
                    slot_of[pair] = ((row - chunk.rows.start) * WIDTH + lane) as u32;
                    let pair = pairs[pair];
                    (others[lane], entries[lane]) = (pair.other, pair.entries);
                    if pair.history == NO_HISTORY {
                        continue;
                    }
                    let own = &state.history[pair.history as usize * size..][..size];
                    for (columns, own) in histories.iter_mut().zip(own) {
                        columns.set(lane, own.truncate(), own.w);
                    }
                }
                self.others.push(others);
                self.row_entries.push(entries);
                let columns = histories.iter().flat_map(|columns| columns.0);
                self.histories.extend(columns.take(self.history_columns));
            }
            self.groups.push(LaneGroup {
                places,
                count: owners.len(),
                rows: start..end,
            });
        }
        for (listed, &pair) in pairs.iter().zip(&*slot_of) {
            let Listed { other, entries, .. } = *listed;
            if entries.own != entries.other {
                self.reactions.push(Reaction { place: other, pair });
                self.reach = self.reach.max(other as usize + 1 - chunk.spheres.start);
            }
        }
        self.reach = self.reach.max(chunk.spheres.len());
        pairs.clear();
        owners.clear();
        slot_of.clear();
        self.fill_scratch = listed;
    }
}
