//! Work that all ranks do together, each with a share of the whole scene: bodies that follow each other in its order, whoever steps them.

use std::io;
use std::mem::take;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytemuck::{cast_slice, pod_collect_to_vec};
use glam::DVec3;

use super::Ranks;
use super::bodies_first;
use super::bytes::{Reader, Writer};
use super::part::{Command, FIRST_SIDE, Part, Row, SPREAD, bytes_of_params, params_of};
use crate::state::{Field, Identities, Identity, State};
use crate::step::{Before, Share, Work, WriteSeek};

/// Bodies that a rank has of its share at a time, at most; and into how many parts shares are cut at least, so that those of a small
/// scene go the way of those of a large one.
const MOST: u32 = 1 << 15;
const PARTS: u32 = 2;

/// Bits of an identity besides its number: its shape below them.
const FIXED: u64 = 1 << 63;
const GROUP_SHIFT: u32 = 32;

/// The share of a rank.
pub(super) struct RankShare<'a> {
    part: &'a Part,
    ranks: Arc<dyn Ranks>,
    /// The whole without bodies, and how many of these and of spheres it has.
    outline: State,
    counts: [u32; 2],
    /// At rank 0: who the bodies are.
    identities: &'a Identities,
}

impl RankShare<'_> {
    /// A message that has all ranks do what another message says, with the bodies of a state.
    pub fn message(state: &State, work: &[u8]) -> Writer {
        let mut message = Command::Work.message();
        message.put_all(&bytes_of_params(&state.params));
        message.put(state.origin.to_array());
        message.put_all(work);
        message
    }

    /// Does what such a message says besides that. Returns what all ranks have to say, at rank 0.
    pub fn work(
        part: &mut Part,
        work: Work,
        message: &[u8],
        identities: &Identities,
    ) -> Vec<Vec<u8>> {
        part.hold();
        let mut message = Reader(message);
        let params = params_of(message.bytes_of_all::<u8>());
        let counts = [params.body_count, params.sphere_count];
        let mut outline = part.state.outline();
        outline.origin = DVec3::from_array(message.take());
        outline.params = params;
        outline.params.neighbour_capacity = 0;
        outline.set_counts(0, 0);
        let mut share = RankShare {
            part,
            ranks: Arc::clone(&part.edges.post.ranks),
            outline,
            counts,
            identities,
        };
        let said = work(&mut share, message.bytes_of_all::<u8>());
        part.to_first(said)
    }

    /// Bodies of a share, and of a part of it.
    fn sizes(&self) -> [u32; 2] {
        let share = self.counts[0].div_ceil(self.ranks.count() as u32);
        [share, share.div_ceil(PARTS).clamp(1, MOST)]
    }

    /// The bodies of a part of the share of a rank.
    fn bodies(&self, rank: usize, round: u32) -> Range<u32> {
        let [share, size] = self.sizes().map(u64::from);
        let start = share * rank as u64;
        let end = u64::from(self.counts[0]).min(start + share);
        let first = end.min(start + size * u64::from(round));
        first as u32..end.min(first + size) as u32
    }

    /// Identities of some bodies, as far as this rank knows.
    fn who(&self, bodies: Range<u32>) -> Vec<[u64; 2]> {
        if bodies.end as usize > self.identities.len() {
            return Vec::new();
        }
        let pack = |body: u32| {
            let own = self.identities.at(body as usize);
            let fixed = if own.fixed { FIXED } else { 0 };
            [
                own.id,
                own.shape as u64 | (own.group as u64) << GROUP_SHIFT | fixed,
            ]
        };
        bodies.map(pack).collect()
    }

    /// Gives all ranks what they need of a part of their shares, and puts that of this one into a state.
    fn read(&self, round: u32, fields: &[Field], part: &mut State) -> Before {
        let messages = (0..self.ranks.count()).map(|rank| {
            let bodies = self.bodies(rank, round);
            let mut message = Writer::default();
            message.put_all(&self.who(bodies.clone()));
            message.0.extend(self.part.read(bodies, FIRST_SIDE, fields));
            message.0
        });
        let messages = self.ranks.all_to_all(messages.collect());
        let mut messages: Vec<Reader> = messages.iter().map(|own| Reader(own)).collect();
        let who = messages
            .iter_mut()
            .flat_map(|own| own.take_all::<[u64; 2]>());
        part.identities = Identities::default();
        for [id, rest] in who {
            part.identities.push(Identity {
                id,
                shape: rest as u32 as usize,
                fixed: rest & FIXED != 0,
                group: ((rest & !FIXED) >> GROUP_SHIFT) as usize,
            });
        }
        let messages: Vec<&[u8]> = messages.iter().map(|own| own.0).collect();
        let bodies = self.bodies(self.ranks.rank(), round);
        let mut before = Part::assemble(&messages, fields, bodies.clone(), part);
        if fields.contains(&Field::Neighbours) {
            let spheres = self.ask(&before.others, |asked| self.part.read_spheres(asked));
            Part::add_others(&spheres, part, &before);
        }
        if fields.contains(&Field::Bonds) {
            let ends = Before::missing(&bodies, part.bonds.iter().map(|bond| bond.second));
            let rows = self.ask(&ends, |asked| self.part.read_rows(asked));
            before.set_ends(Row::bodies(&rows));
        }
        before
    }

    /// Has each rank `give` what it has of those that all ranks ask for. Returns what it gets of those that it has `asked` for.
    fn ask(&self, asked: &[u32], give: impl Fn(&[u32]) -> Vec<u8>) -> Vec<Vec<u8>> {
        let asked: &[u8] = cast_slice(asked);
        let asked = self
            .ranks
            .all_to_all(vec![asked.to_vec(); self.ranks.count()]);
        let given = asked
            .iter()
            .map(|own| give(&pod_collect_to_vec::<u8, u32>(own)));
        self.ranks.all_to_all(given.collect())
    }
}

impl Share for RankShare<'_> {
    fn rank(&self) -> usize {
        self.ranks.rank()
    }

    fn counts(&self) -> [usize; 2] {
        self.counts.map(|count| count as usize)
    }

    fn all_gather(&self, own: &[u8]) -> Vec<u8> {
        self.ranks.all_gather(own)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn WriteSeek>> {
        self.ranks.open(path)
    }

    fn outline(&self) -> &State {
        &self.outline
    }

    fn for_each_part(&mut self, fields: &[Field], act: &mut dyn FnMut(&State, &Before)) {
        let mut wanted: Vec<Field> = fields.to_vec();
        wanted.retain(|field| SPREAD.contains(field));
        wanted.push(Field::Bodies);
        let wanted = bodies_first(&mut wanted);
        let mut part = take(&mut self.outline);
        let [share, size] = self.sizes();
        for round in 0..share.div_ceil(size) {
            let bodies = self.bodies(self.ranks.rank(), round);
            let before = self.read(round, wanted, &mut part);
            if !bodies.is_empty() {
                act(&part, &before);
            }
        }
        part.free();
        part.identities = Identities::default();
        part.set_counts(0, 0);
        self.outline = part;
    }
}
