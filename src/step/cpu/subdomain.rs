//! A subdomain: bodies that one task takes, and the pairs of their spheres in the order in which they are evaluated.
//!
//! A neighbour list is there for every sphere to find its own pairs, as the GPU does it. Here a pair stands once, in a row
//! with those of other spheres and with its contact history beside it, and rows are read from start to end. That leaves
//! half of the histories to move, and no list of a few entries to begin and to end for each sphere.

use std::ops::Range;

use glam::Vec4;

use super::ball_block::BallBlock;
use super::contact_rows::{SumRing, larger};
use super::fill::FillScratch;
use super::history::with_size;
use super::lanes::WIDTH;
use super::wall_batch::WallBatch;
use crate::state::layout::{Body, Facet, History, PLANE, Params, Sphere, SphereLoad, WALL};
use crate::step::geometry::RelativeMotion;

/// Consecutive bodies, and the pairs of their spheres.
///
/// A pair within a subdomain is evaluated once, for both spheres; one across subdomains is evaluated from both sides, so
/// that no subdomain writes to another. Nor does it read what another one writes: it has ghosts, copies of the spheres of
/// others that are in its lists, as the domains of programs that run on many machines do.
#[derive(Debug, Default)]
pub(super) struct Subdomain {
    pub bodies: Range<usize>,
    pub spheres: Range<usize>,
    /// The entries of their neighbour lists.
    pub entries: Range<usize>,
    /// Its spheres, each of which is that of the next step as soon as it has been posed; then its ghosts.
    pub local: Vec<Sphere>,
    /// Indices of the ghosts, in ascending order.
    pub ghosts: Vec<u32>,
    /// Balls, lane by lane: the state does not have them, nor the loads on them, until they are given back.
    pub blocks: Vec<BallBlock>,
    pub groups: Vec<LaneGroup>,
    /// Rows of pairs, those of one group after the other: the place in `local` of the other sphere of each lane, or that
    /// of the sphere itself where there is no pair.
    pub others: Vec<[u32; WIDTH]>,
    /// Contact histories of each row, value by value.
    pub histories: Vec<[f32; WIDTH]>,
    /// Number of values in a contact history.
    pub history_columns: usize,
    /// Where the neighbour lists have the pairs of each row.
    pub row_entries: Vec<[PairEntries; WIDTH]>,
    /// Overlaps of each row, m; none before they are evaluated for the first time.
    pub overlaps: Vec<[f32; WIDTH]>,
    /// The second spheres of pairs that stand for both, in the order of the pairs.
    pub reactions: Vec<Reaction>,
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

/// The second sphere of a pair that stands for both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reaction {
    /// Its place in [`SumRing`].
    pub place: u32,
    /// Where the pair is, among those of the chunk: row by row, lane by lane.
    pub pair: u32,
}

/// Where the neighbour lists have a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairEntries {
    /// Entry of the sphere that owns the pair; [`NO_ENTRY`] if there is no pair.
    pub own: u32,
    /// That of the other sphere if the pair stands for both, else the same.
    pub other: u32,
}

/// The entries of a lane without a pair.
pub(super) const NO_ENTRY: PairEntries = PairEntries {
    own: u32::MAX,
    other: u32::MAX,
};

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
    /// and gravity acts.
    pub balls: bool,
    /// The blocks that have them then.
    pub blocks: Range<usize>,
    pub spheres: Range<usize>,
    pub groups: Range<usize>,
    pub rows: Range<usize>,
    pub reactions: Range<usize>,
    pub wall_neighbours: Range<usize>,
}

impl Chunk {
    /// The chunk that follows, as yet without anything.
    pub fn after(&self) -> Chunk {
        let after = |range: &Range<usize>| range.end..range.end;
        Chunk {
            bodies: after(&self.bodies),
            balls: true,
            blocks: after(&self.blocks),
            spheres: after(&self.spheres),
            groups: after(&self.groups),
            rows: after(&self.rows),
            reactions: after(&self.reactions),
            wall_neighbours: after(&self.wall_neighbours),
        }
    }
}

impl Subdomain {
    /// Gives back its balls, and the loads on them.
    pub fn give_bodies(&self, bodies: &mut [Body], loads: &mut [SphereLoad]) {
        for chunk in &self.chunks {
            let bodies = bodies[chunk.bodies.clone()].chunks_mut(WIDTH);
            let loads = loads[chunk.spheres.clone()].chunks_mut(WIDTH);
            let blocks = &self.blocks[chunk.blocks.clone()];
            for ((bodies, loads), block) in bodies.zip(loads).zip(blocks) {
                block.write(bodies, loads);
            }
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
                    let PairEntries { own, other } = self.row_entries[row][lane];
                    if own != other {
                        touch(self.others[row][lane], overlap);
                    }
                }
            }
        }
    }

    /// Which spheres of a group are awake, or near one that is.
    #[inline(always)]
    pub fn disturbed(&self, group: usize, params: &Params) -> [bool; WIDTH] {
        let LaneGroup {
            places, ref rows, ..
        } = self.groups[group];
        std::array::from_fn(|lane| {
            let others = self.others[rows.clone()].iter().map(|row| row[lane]);
            self.is_disturbed(places[lane], others, params)
        })
    }

    /// Whether a sphere with some others in its list is awake, or near one of them that is.
    pub fn is_disturbed(
        &self,
        place: u32,
        mut others: impl Iterator<Item = u32>,
        params: &Params,
    ) -> bool {
        let sphere = &self.local[place as usize];
        let disturbs = |other: u32| {
            let other = &self.local[other as usize];
            let moves = !other.sleeps() && other.inverse_mass > 0.0;
            moves && RelativeMotion::new(sphere, other, true, params).is_within(params.touch_margin)
        };
        !sphere.sleeps() || others.any(disturbs)
    }

    /// Gives back contact histories to `history`, those of the entries of the subdomain with `size` elements each.
    pub fn write_back(&self, history: &mut [Vec4], size: usize) {
        with_size!(size, SIZE => self.write_back_rows::<SIZE>(history));
        for walls in &self.wall_neighbours {
            let own = &self.facet_histories[walls.first as usize * size..];
            let own = &own[..walls.count as usize * size];
            let start = (walls.entry as usize - self.entries.start) * size;
            history[start..][..own.len()].copy_from_slice(own);
        }
    }

    /// Writes back histories of contacts with spheres. A size that is no constant would be a call to copy each history.
    fn write_back_rows<const SIZE: usize>(&self, history: &mut [Vec4]) {
        let (history, _) = history.as_chunks_mut::<SIZE>();
        let at = |entry: u32| entry as usize - self.entries.start;
        let rows = self.histories.chunks_exact(self.history_columns);
        for (row, columns) in self.row_entries.iter().zip(rows) {
            for (lane, entries) in row.iter().enumerate() {
                if entries.own == NO_ENTRY.own {
                    continue;
                }
                let own = History::of_values(|k| columns.get(k).map_or(0.0, |values| values[lane]));
                history[at(entries.other)] = own.reversed().elements();
                history[at(entries.own)] = own.elements();
            }
        }
    }
}
