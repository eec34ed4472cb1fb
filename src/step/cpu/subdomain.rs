//! A subdomain: bodies that one task takes, and the pairs of their spheres in the order in which they are evaluated.
//!
//! A neighbour list is there for every sphere to find its own pairs, as the GPU does it. Here a pair stands once, in a row
//! with those of other spheres and with its contact history beside it, and rows are read from start to end. That leaves
//! half of the histories to move, and no list of a few entries to begin and to end for each sphere.
//!
//! Where the lists have a pair need not be kept: the pairs that a sphere owns are entries of its list that follow each other
//! ([`NeighbourLists::owned`]), in the order of its rows.

use std::mem::take;
use std::ops::Range;

use glam::Vec4;

use super::ball_block::unfold;
use super::contact_rows::{SumRing, larger};
use super::fill::FillScratch;
use super::history::with_size;
use super::lanes::WIDTH;
use super::retired::Retired;
use super::wall_batch::WallBatch;
use crate::state::State;
use crate::state::layout::{Body, Facet, History, PLANE, Params, Sphere, SphereLoad, WALL};
use crate::step::geometry::RelativeMotion;
use crate::step::wall_run::walls_of;

/// Consecutive bodies, and the pairs of their spheres.
///
/// A pair within a subdomain is evaluated once, for both spheres; one across subdomains is evaluated from both sides, so
/// that no subdomain writes to another. Nor does it read what another one writes: it has ghosts, copies of the spheres of
/// others that are in its lists, as the domains of programs that run on many machines do. Its own spheres, bodies and loads
/// are where the state has them.
#[derive(Debug, Default)]
pub(super) struct Subdomain {
    pub bodies: Range<usize>,
    pub spheres: Range<usize>,
    /// The entries of their neighbour lists.
    pub entries: Range<usize>,
    /// Whether bodies may sleep: there may be something to do on one side of a pair only, so each side has it.
    pub sleep: bool,
    /// Indices of the ghosts, in ascending order.
    pub ghosts: Vec<u32>,
    /// The ghosts themselves, as they are in the step.
    pub copies: Vec<Sphere>,
    pub groups: Vec<LaneGroup>,
    /// Rows of pairs, those of one group after the other: the place of the other sphere of each lane (see [`Spheres`]), or
    /// that of the sphere itself where there is no pair.
    pub others: Vec<[u32; WIDTH]>,
    /// Contact histories of each row, value by value.
    pub histories: Vec<[f32; WIDTH]>,
    /// Number of values in a contact history.
    pub history_columns: usize,
    /// Overlaps of each row, m; none before they are evaluated for the first time.
    pub overlaps: Vec<[f32; WIDTH]>,
    /// Pairs that stand for both spheres, in their order: where each is among those of its chunk, row by row, lane by lane.
    pub reactions: Vec<u32>,
    /// Effects on each sphere of contacts with spheres of lower index; zero between steps.
    pub sums: SumRing,
    /// The groups of pairs with spheres of lower index than any of the subdomain. They come first in the sums.
    pub before: Chunk,
    /// Pairs that have been evaluated for nothing since the rows were made: those of sleeping spheres in a group with
    /// others.
    pub idle: usize,
    /// The most places, from the first of a chunk on, to which the pairs of the chunk reach.
    pub reach: usize,
    /// Spheres with walls in their lists.
    pub wall_neighbours: Vec<WallNeighbours>,
    /// The facets in their lists, one sphere after the other.
    pub facets: Vec<u32>,
    /// Contact history with each of these facets.
    pub facet_histories: Vec<Vec4>,
    pub chunks: Vec<Chunk>,
    /// Places of bodies of which other parts of a scene have ghosts, in order.
    pub sent: Vec<u32>,
    pub fill_scratch: FillScratch,
}

/// Spheres side by side, one in each lane, and the rows of their pairs.
#[derive(Debug)]
pub(super) struct LaneGroup {
    /// Their places in the subdomain; lanes without one repeat the first.
    pub places: [u32; WIDTH],
    /// Number of lanes that have a sphere.
    pub count: usize,
    pub rows: Range<usize>,
}

/// The spheres of a subdomain, and then its ghosts, by their places.
///
/// The state has the former: each is that of the next step as soon as it has been posed.
#[derive(Clone, Copy)]
pub(super) struct Spheres<'a> {
    pub own: &'a [Sphere],
    pub ghosts: &'a [Sphere],
}

impl<'a> Spheres<'a> {
    #[inline(always)]
    pub fn get(&self, place: u32) -> &'a Sphere {
        let place = place as usize;
        match self.own.get(place) {
            Some(own) => own,
            None => &self.ghosts[place - self.own.len()],
        }
    }
}

/// Neighbour lists, and which of their entries are pairs that a subdomain has.
#[derive(Clone, Copy)]
pub(super) struct NeighbourLists<'a> {
    pub starts: &'a [u32],
    pub neighbours: &'a [u32],
}

impl<'a> NeighbourLists<'a> {
    /// Returns the lists of a state.
    pub fn of(state: &'a State) -> NeighbourLists<'a> {
        NeighbourLists {
            starts: &state.neighbour_starts,
            neighbours: &state.neighbours,
        }
    }

    /// The entries of a sphere.
    #[inline(always)]
    pub fn of_sphere(&self, sphere: usize) -> Range<usize> {
        self.starts[sphere] as usize..self.starts[sphere + 1] as usize
    }

    /// Returns those of `entries` with spheres of lower index than `sphere`.
    #[inline(always)]
    pub fn below(&self, entries: Range<usize>, sphere: usize) -> Range<usize> {
        let below = |other: &&u32| (**other as usize) < sphere;
        let count = self.neighbours[entries.clone()].iter().take_while(below);
        entries.start..entries.start + count.count()
    }

    /// The entries of the pairs that a sphere owns: those with spheres of lower index than any of a subdomain that begins
    /// with the sphere `first`, and the others.
    ///
    /// Spheres come in order and lists are symmetric, so a pair within the subdomain belongs to the sphere of lower index,
    /// unless bodies may `sleep`.
    #[inline(always)]
    pub fn owned(&self, sphere: usize, first: usize, sleep: bool) -> [Range<usize>; 2] {
        let all = self.of_sphere(sphere);
        let walls = walls_of(&self.neighbours[all.clone()]).len();
        let end = all.end - walls;
        if sleep {
            return [all.start..all.start, all.start..end];
        }
        let start = self.below(all.start..end, sphere).end;
        [self.below(all, first), start..end]
    }
}

/// The facets in the list of a sphere.
#[derive(Clone, Copy, Debug)]
pub(super) struct WallNeighbours {
    /// Place of the sphere in the subdomain.
    pub place: u32,
    /// Place of the first in [`Subdomain::facets`].
    pub first: u32,
    /// Number of facets.
    pub count: u32,
    pub facets: Facets,
    /// Entry of the first in the neighbour lists.
    pub entry: u32,
}

/// Sorts of facets in the list of a sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Facets {
    /// Planes, each of another wall.
    Planes,
    /// One of each wall.
    Single,
    /// More than one of a wall, or too many to go with those of other spheres.
    Many,
}

impl Facets {
    /// The sort of some entries of a neighbour list, given the table of all facets.
    pub fn of(entries: &[u32], table: &[Facet]) -> Facets {
        let facets = || entries.iter().map(|entry| &table[(entry & !WALL) as usize]);
        let alone = facets()
            .zip(facets().skip(1))
            .all(|(a, b)| a.wall != b.wall);
        if !alone || entries.len() > WallBatch::MOST {
            Facets::Many
        } else if facets().all(|facet| facet.kind == PLANE) {
            Facets::Planes
        } else {
            Facets::Single
        }
    }
}

/// Bodies of a subdomain that go through all fused passes before the next ones do. All ranges count from the first of the
/// subdomain.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunk {
    pub bodies: Range<usize>,
    /// Whether all bodies are balls: single spheres about their centres that never sleep, and on which nothing but contacts
    /// and gravity acts. Then they and the loads on them stand side by side, [`WIDTH`] at a time, until they are given back.
    pub balls: bool,
    pub spheres: Range<usize>,
    pub groups: Range<usize>,
    pub rows: Range<usize>,
    pub reactions: Range<usize>,
    pub wall_neighbours: Range<usize>,
    /// The part of [`Subdomain::sent`] that has its bodies.
    pub sent: Range<usize>,
}

impl Chunk {
    /// The chunk that follows, as yet without anything.
    pub fn after(&self) -> Chunk {
        let after = |range: &Range<usize>| range.end..range.end;
        Chunk {
            bodies: after(&self.bodies),
            balls: true,
            spheres: after(&self.spheres),
            groups: after(&self.groups),
            rows: after(&self.rows),
            reactions: after(&self.reactions),
            wall_neighbours: after(&self.wall_neighbours),
            sent: 0..0,
        }
    }
}

impl Subdomain {
    /// Takes over those of some bodies, in order, that it has: other parts of a scene have ghosts of them.
    pub fn set_sent(&mut self, all: &[u32]) {
        let Range { start, end } = self.bodies;
        let [first, last] =
            [start, end].map(|end| all.partition_point(|&own| (own as usize) < end));
        self.sent.clear();
        let own = all[first..last].iter();
        self.sent.extend(own.map(|body| body - start as u32));
        let before = |place: usize| self.sent.partition_point(|&own| (own as usize) < place);
        for chunk in &mut self.chunks {
            chunk.sent = before(chunk.bodies.start)..before(chunk.bodies.end);
        }
    }

    /// The chunks of one of several pieces of a step.
    pub fn piece(&self, piece: usize, pieces: usize) -> Range<usize> {
        let [start, end] = [piece, piece + 1].map(|piece| self.chunks.len() * piece / pieces);
        start..end
    }

    /// Gives back its balls, and the loads on them.
    pub fn give_bodies(&self, bodies: &mut [Body], loads: &mut [SphereLoad]) {
        for chunk in self.chunks.iter().filter(|chunk| chunk.balls) {
            unfold(
                &mut bodies[chunk.bodies.clone()],
                &mut loads[chunk.spheres.clone()],
            );
        }
    }

    /// Completes loads by the number of contacts in some groups and the largest overlap of each sphere; the first load is that
    /// of the sphere at the place `first`. No pass needs these numbers, so only overlaps are kept until somebody asks.
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
                    let other = self.others[row][lane];
                    if self.stands_for(other) {
                        touch(other, overlap);
                    }
                }
            }
        }
    }

    /// Whether a pair with the sphere at a place stands for both of its spheres.
    #[inline(always)]
    pub fn stands_for(&self, other: u32) -> bool {
        !self.sleep && (other as usize) < self.spheres.len()
    }

    /// Which spheres of a group are awake, or near one that is; `own` are those of the subdomain.
    #[inline(always)]
    pub fn disturbed(&self, own: &[Sphere], group: usize, params: &Params) -> [bool; WIDTH] {
        let LaneGroup {
            places, ref rows, ..
        } = self.groups[group];
        let mut disturbed = [false; WIDTH];
        for (lane, disturbed) in disturbed.iter_mut().enumerate() {
            let others = self.others[rows.clone()].iter().map(|row| row[lane]);
            *disturbed = self.is_disturbed(own, places[lane], others, params);
        }
        disturbed
    }

    /// Whether a sphere with some others in its list is awake, or near one of them that is.
    pub fn is_disturbed(
        &self,
        own: &[Sphere],
        place: u32,
        mut others: impl Iterator<Item = u32>,
        params: &Params,
    ) -> bool {
        let spheres = Spheres {
            own,
            ghosts: &self.copies,
        };
        let sphere = spheres.get(place);
        let disturbs = |other: u32| {
            let other = spheres.get(other);
            let moves = !other.sleeps() && other.inverse_mass > 0.0;
            moves && RelativeMotion::new(sphere, other, true, params).is_within(params.touch_margin)
        };
        !sphere.sleeps() || others.any(disturbs)
    }

    /// Writes contact histories to `history`, which has those of the entries of the subdomain with `size` elements each.
    pub fn write_histories(&self, lists: NeighbourLists, history: &mut [Vec4], size: usize) {
        with_size!(size, SIZE => self.write_rows::<SIZE>(lists, history));
        for walls in &self.wall_neighbours {
            let own = &self.facet_histories[walls.first as usize * size..];
            let own = &own[..walls.count as usize * size];
            let start = (walls.entry as usize - self.entries.start) * size;
            history[start..][..own.len()].copy_from_slice(own);
        }
    }

    /// Writes histories of contacts with spheres. A size that is no constant would be a call to copy each history.
    fn write_rows<const SIZE: usize>(&self, lists: NeighbourLists, history: &mut [Vec4]) {
        let (history, _) = history.as_chunks_mut::<SIZE>();
        let at = |entry: usize| entry - self.entries.start;
        let first = self.spheres.start;
        for (index, group) in self.groups.iter().enumerate() {
            let is_before = self.before.groups.contains(&index);
            for (lane, &place) in group.places[..group.count].iter().enumerate() {
                let sphere = first + place as usize;
                let [before, after] = lists.owned(sphere, first, self.sleep);
                let owned = if is_before { before } else { after };
                for (row, entry) in group.rows.clone().zip(owned) {
                    let columns = &self.histories[row * self.history_columns..];
                    let columns = &columns[..self.history_columns];
                    let own =
                        History::of_values(|k| columns.get(k).map_or(0.0, |values| values[lane]));
                    history[at(entry)] = own.elements();
                    if self.stands_for(self.others[row][lane]) {
                        let other = lists.of_sphere(lists.neighbours[entry] as usize);
                        let own_index = &(sphere as u32);
                        let mirror = lists.neighbours[other.clone()].binary_search(own_index);
                        let mirror = other.start + mirror.expect("lists are symmetric");
                        history[at(mirror)] = own.reversed().elements();
                    }
                }
            }
        }
    }

    /// Takes the contact histories out, of `size` elements each, to be taken over by new rows; none if there is nothing in it.
    pub fn retire(&mut self, size: usize) -> Option<Retired> {
        if self.spheres.is_empty() {
            return None;
        }
        let mut slots = vec![0; self.spheres.len()];
        let mut before = Vec::new();
        for (index, group) in self.groups.iter().enumerate() {
            for (lane, &place) in group.places[..group.count].iter().enumerate() {
                let slot = (group.rows.start * WIDTH + lane) as u32;
                if self.before.groups.contains(&index) {
                    before.push((place, slot));
                } else {
                    slots[place as usize] = slot;
                }
            }
        }
        before.sort_unstable();
        Some(Retired {
            spheres: self.spheres.clone(),
            sleep: self.sleep,
            size,
            columns: self.history_columns,
            histories: take(&mut self.histories),
            slots,
            before,
            walls: take(&mut self.wall_neighbours),
            facet_histories: take(&mut self.facet_histories),
        })
    }
}
