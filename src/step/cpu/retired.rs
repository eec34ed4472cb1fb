//! Contact histories that new rows take over: from the state, or from the rows that were there before.

use std::ops::Range;

use glam::Vec4;

use super::lanes::WIDTH;
use super::subdomain::{NeighbourLists, WallNeighbours};
use crate::state::layout::{History, WALL};

/// Rest of a subdomain whose rows are made anew.
#[derive(Debug, Default)]
pub(super) struct Retired {
    pub spheres: Range<usize>,
    pub sleep: bool,
    /// Number of elements of a contact history, and of values in it.
    pub size: usize,
    pub columns: usize,
    /// See [`Subdomain::histories`](super::subdomain::Subdomain::histories).
    pub histories: Vec<[f32; WIDTH]>,
    /// Slot of the first pair that each sphere owns, except those of `before`: row by row, lane by lane. The next ones
    /// are in the next rows.
    pub slots: Vec<u32>,
    /// Histories of its pairs with spheres of lower index than any of the subdomain, with the place of the sphere; in the order
    /// of these.
    pub before: Vec<(u32, u32)>,
    pub walls: Vec<WallNeighbours>,
    pub facet_histories: Vec<Vec4>,
}

/// Keeper of contact histories.
#[derive(Clone, Copy)]
pub(super) enum Keeper<'a> {
    /// In the state, with so many elements for each entry of the lists.
    State(&'a [Vec4], usize),
    /// In subdomains, in the order of their spheres.
    Rows(&'a [Retired]),
}

/// Contact histories, and the lists by which they are found.
#[derive(Clone, Copy)]
pub(super) struct Histories<'a> {
    pub lists: NeighbourLists<'a>,
    pub keeper: Keeper<'a>,
}

/// Place of the history of a contact of two spheres.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Nowhere: it is zero.
    Nowhere,
    /// At this entry of the lists.
    Entry(u32),
    /// In a row of the subdomain of this index.
    Row {
        subdomain: u32,
        slot: u32,
        /// Whether it is as the other sphere has it.
        reversed: bool,
    },
}

/// The contact histories of a sphere, which are looked for in the order of whom it may touch.
pub(super) struct SphereHistories<'a> {
    all: Histories<'a>,
    sphere: usize,
    /// The entry that is looked at next, and where they end.
    at: usize,
    end: usize,
    /// The subdomain that has the sphere, by its index.
    subdomain: usize,
    /// The entry of the first pair that it owns, but for those with spheres before the subdomain.
    owned: usize,
    start: usize,
}

impl<'a> Histories<'a> {
    /// Returns the histories of a sphere.
    #[inline(always)]
    pub fn of(self, sphere: usize) -> SphereHistories<'a> {
        let Range { start, end } = self.lists.of_sphere(sphere);
        let mut own = SphereHistories {
            all: self,
            sphere,
            at: start,
            end,
            subdomain: 0,
            owned: start,
            start,
        };
        if let Keeper::Rows(subdomains) = self.keeper
            && start < end
        {
            own.subdomain = subdomain_of(subdomains, sphere);
            if !subdomains[own.subdomain].sleep {
                own.owned = self.lists.below(start..end, sphere).end;
            }
        }
        own
    }

    /// The history at a place.
    #[inline(always)]
    pub fn get(self, place: Place) -> History {
        match (place, self.keeper) {
            (Place::Entry(entry), Keeper::State(history, size)) => {
                History::of(&history[entry as usize * size..][..size])
            }
            (
                Place::Row {
                    subdomain,
                    slot,
                    reversed,
                },
                Keeper::Rows(subdomains),
            ) => {
                let subdomain = &subdomains[subdomain as usize];
                let (row, lane) = (slot as usize / WIDTH, slot as usize % WIDTH);
                let columns = &subdomain.histories[row * subdomain.columns..];
                let columns = &columns[..subdomain.columns];
                let own = History::of_values(|k| columns.get(k).map_or(0.0, |own| own[lane]));
                if reversed { own.reversed() } else { own }
            }
            _ => History::default(),
        }
    }
}

impl<'a> SphereHistories<'a> {
    /// The entry of a neighbour, which is larger than those that were asked for before: new lists are sorted as old ones
    /// are, so one walk along either is enough.
    #[inline(always)]
    fn entry(&mut self, neighbour: u32) -> Option<usize> {
        let neighbours = &self.all.lists.neighbours[..self.end];
        while neighbours.get(self.at).is_some_and(|&own| own < neighbour) {
            self.at += 1;
        }
        (neighbours.get(self.at) == Some(&neighbour)).then_some(self.at)
    }

    /// Finds the place of the history of the contact with another sphere.
    #[inline(always)]
    pub fn find(&mut self, other: u32) -> Place {
        let Some(entry) = self.entry(other) else {
            return Place::Nowhere;
        };
        match self.all.keeper {
            Keeper::State(_, 0) => Place::Nowhere,
            Keeper::State(..) => Place::Entry(entry as u32),
            Keeper::Rows(subdomains) => {
                let own = &subdomains[self.subdomain];
                let place = self.sphere - own.spheres.start;
                let in_row = |slot: u32, row: usize, reversed| Place::Row {
                    subdomain: self.subdomain as u32,
                    slot: slot + (row * WIDTH) as u32,
                    reversed,
                };
                if entry >= self.owned {
                    return in_row(own.slots[place], entry - self.owned, false);
                }
                if (other as usize) < own.spheres.start {
                    let at = own
                        .before
                        .partition_point(|&(own, _)| (own as usize) < place);
                    return in_row(own.before[at].1, entry - self.start, false);
                }
                // The other sphere owned the pair.
                let lists = self.all.lists;
                let [_, owned] = lists.owned(other as usize, own.spheres.start, false);
                let row = lists.below(owned.clone(), self.sphere).len();
                let slot = own.slots[other as usize - own.spheres.start];
                in_row(slot, row, true)
            }
        }
    }

    /// The history of the contact with a facet of a wall, if there is one; by what lists have for it.
    #[inline(always)]
    pub fn of_facet(&mut self, facet: u32) -> Option<&'a [Vec4]> {
        debug_assert_ne!(facet & WALL, 0);
        let Keeper::Rows(subdomains) = self.all.keeper else {
            return self.of_entry(facet);
        };
        let entry = self.entry(facet)?;
        let own = &subdomains[self.subdomain];
        let place = (self.sphere - own.spheres.start) as u32;
        let at = own.walls.partition_point(|walls| walls.place < place);
        let walls = &own.walls[at];
        let facet = walls.first as usize + entry - walls.entry as usize;
        Some(&own.facet_histories[facet * own.size..][..own.size])
    }

    /// The history that the state has of a contact, if it has histories, and this one.
    pub fn of_entry(&mut self, neighbour: u32) -> Option<&'a [Vec4]> {
        let entry = self.entry(neighbour)?;
        match self.all.keeper {
            Keeper::State(history, size) => Some(&history[entry * size..][..size]),
            Keeper::Rows(_) => None,
        }
    }
}

/// The one of some subdomains that has a sphere.
#[inline(always)]
fn subdomain_of(subdomains: &[Retired], sphere: usize) -> usize {
    subdomains.partition_point(|own| own.spheres.end <= sphere)
}
