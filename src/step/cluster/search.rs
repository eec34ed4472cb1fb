//! Places of fills that the ranks find together: of a random fill, rank 0 asks, and each rank looks for those in its slab of the region.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use glam::DVec3;

use super::Ranks;
use super::bonding::{bond, shared_links, show_links, write_bonding};
use super::bytes::{Reader, Writer};
use super::engine::threads_of;
use super::pack::{
    Holding, Shares, counts, keep, lists_of, overlap, pack, shares_of, show, write_overlapping,
    write_packing,
};
use super::part::Command;
use super::start::{read_fill, write_fill};
use crate::math::parallel::Threads;
use crate::model::bodies::{Brought, Others, Piece, Share, Shared, SharedContacts};
use crate::model::bond::BondLaw;
use crate::model::bonds::Bonds;
use crate::model::clump::Clump;
use crate::model::packing::made::MadeFill;
use crate::model::packing::overlap::{Harmless, Unrelaxed, World};
use crate::model::packing::pack::Packing;
use crate::model::packing::slab::{Asked, Searchers, SlabSearch};
use crate::model::{Bodies, Domain, ModelBody};

/// A question or an order of rank 0 to a search.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Ask {
    Begin,
    Look,
    End,
    /// Pack a dense fill.
    Pack,
    /// Show some of what a rank has a share of.
    Show,
    /// Keep bodies of another run.
    Keep,
    /// Look for overlaps.
    Overlap,
    /// Find bonds.
    Bond,
    /// Show the links of which they are made.
    ShowLinks,
}

impl Ask {
    const ALL: [Ask; 9] = [
        Ask::Begin,
        Ask::Look,
        Ask::End,
        Ask::Pack,
        Ask::Show,
        Ask::Keep,
        Ask::Overlap,
        Ask::Bond,
        Ask::ShowLinks,
    ];

    pub fn message(self) -> Writer {
        let mut message = Command::Search.message();
        message.put(self as u8);
        message
    }
}

/// The search of a rank, while there is one, and the threads that it has.
#[derive(Default)]
pub(super) struct RankSearch(Option<(SlabSearch, Threads)>);

impl RankSearch {
    /// Does what a message says. Returns what all ranks have found, at rank 0.
    pub fn obey(&mut self, ranks: &dyn Ranks, message: &[u8], shares: &mut Shares) -> Vec<Vec<u8>> {
        let mut message = Reader(message);
        match Ask::ALL[message.take::<u8>() as usize] {
            Ask::Begin => {
                self.0 = Some((begun(ranks, &mut message, shares), threads(ranks)));
                Vec::new()
            }
            Ask::Look => {
                let asked = asked(&mut message);
                let (search, threads) = self.0.as_mut().expect("a search has begun");
                let found = threads.run(|| search.look(&asked));
                let mut own = Writer::default();
                own.put_all(&found);
                let mut messages = vec![Vec::new(); ranks.count()];
                messages[0] = own.0;
                ranks.all_to_all(messages)
            }
            Ask::End => {
                let (search, _) = self.0.take().expect("a search has begun");
                let share = search.share();
                let counts = counts(ranks, [share.len(), share.sphere_count()]);
                let share = Arc::new(Share::of(Piece::Fill(share)));
                shares.bodies.insert(message.take(), share);
                vec![bytemuck::cast_slice(&counts).to_vec()]
            }
            Ask::Pack => {
                let [number, small]: [u64; 2] = message.take();
                let small = shares.bodies.remove(&small).expect("it has been placed");
                let small = Arc::unwrap_or_clone(small).bodies;
                if let Ok((share, _)) = pack(ranks, small, &mut message) {
                    shares.bodies.insert(number, Arc::new(Share::of(share)));
                }
                Vec::new()
            }
            Ask::Show => show(ranks, &mut message, shares),
            Ask::Keep => {
                let [number, rounds]: [u64; 2] = message.take();
                let (share, _) = keep(ranks, rounds as usize, || None);
                shares.bodies.insert(number, Arc::new(share));
                Vec::new()
            }
            Ask::Overlap => {
                overlap(ranks, &mut message, &shares.own_bodies(), &[]);
                Vec::new()
            }
            Ask::Bond => {
                let number = message.take();
                let found = bond(ranks, &mut message, &shares.own_bodies(), &[]);
                let told = found.tell(ranks);
                shares.bonds.insert(number, found.own);
                told
            }
            Ask::ShowLinks => show_links(ranks, &shares.bonds[&message.take()]),
        }
    }
}

pub(super) fn threads(ranks: &dyn Ranks) -> Threads {
    match Threads::start(Some(threads_of(ranks))) {
        Ok(threads) => threads,
        Err(error) => ranks.abort(&format!(
            "the threads of a rank could not be started: {error}"
        )),
    }
}

/// Bodies that a rank tells others at a time.
const TOLD: usize = 1 << 16;

fn begun(ranks: &dyn Ranks, message: &mut Reader, shares: &Shares) -> SlabSearch {
    let shapes: u64 = message.take();
    let spheres = (0..shapes).map(|_| message.take_all()).collect();
    let fill = read_fill(message);
    let mut search = SlabSearch::new(spheres, fill, [ranks.rank(), ranks.count()]);
    for before in message.take_all::<u64>() {
        let is_near = search.near(ranks.count());
        send(
            ranks,
            &shares.bodies[&before].bodies,
            |body, messages| {
                for (rank, message) in messages.iter_mut().enumerate() {
                    if is_near(rank, body) {
                        message.put(body.numbers());
                    }
                }
            },
            |_, message| search.insert(&ModelBody::from_numbers(&message.take())),
        );
    }
    search
}

/// Has each rank `write` its bodies into messages to others, and `read` what it gets: the rank that it is of, and its message, until that is
/// empty.
pub(super) fn send(
    ranks: &dyn Ranks,
    own: &Piece,
    mut write: impl FnMut(&ModelBody, &mut [Writer]),
    mut read: impl FnMut(usize, &mut Reader),
) {
    let mut rounds = [own.len().div_ceil(TOLD) as i64];
    ranks.maximum(&mut rounds);
    let mut messages = vec![Writer::default(); ranks.count()];
    let mut pass = |messages: &mut [Writer]| {
        let sent = messages.iter_mut().map(|message| take(&mut message.0));
        for (rank, received) in ranks.all_to_all(sent.collect()).iter().enumerate() {
            let mut received = Reader(received);
            while !received.is_empty() {
                read(rank, &mut received);
            }
        }
        rounds[0] -= 1;
        rounds[0]
    };
    let (mut written, mut left) = (0, 1);
    own.visit(&mut |body| {
        write(body, &mut messages);
        written += 1;
        if written % TOLD == 0 {
            left = pass(&mut messages);
        }
    });
    while left > 0 {
        left = pass(&mut messages);
    }
}

fn asked(message: &mut Reader) -> Asked {
    let [class, start, end, crowded]: [u64; 4] = message.take();
    Asked {
        class,
        tries: start..end,
        crowded: crowded == 1,
        placed: message.take_all(),
    }
}

/// The ranks as rank 0 asks them, while the others [serve](super::serve).
pub(crate) struct RankSearchers {
    ranks: Arc<dyn Ranks>,
    /// The search of rank 0.
    own: RefCell<RankSearch>,
    /// Its shares.
    shares: RefCell<Shares>,
    others: Others,
}

impl RankSearchers {
    pub fn new(ranks: Arc<dyn Ranks>, others: Others) -> RankSearchers {
        RankSearchers {
            ranks,
            own: RefCell::default(),
            shares: RefCell::default(),
            others,
        }
    }

    /// Bodies of which each rank has a share.
    fn shared(&self, number: u64, own: Arc<Share>, counts: Vec<[u32; 2]>) -> Shared {
        let kinds = match &own.bodies {
            Piece::Fill(fill) => fill.kinds().collect(),
            _ => Vec::new(),
        };
        Shared {
            kinds,
            contacts: None,
            holder: Arc::new(Holding {
                ranks: Arc::clone(&self.ranks),
                number,
                own,
                counts: counts.clone(),
            }),
            counts,
            _others: self.others,
        }
    }

    /// Has all ranks do something. Returns what they have found.
    fn tell(&self, message: Writer) -> Vec<Vec<u8>> {
        let mut message = message.0;
        self.ranks.broadcast(&mut message);
        let message = Command::Search.strip(&message).expect("it is of a search");
        let mut own = self.own.borrow_mut();
        own.obey(&*self.ranks, message, &mut self.shares.borrow_mut())
    }
}

#[cfg_attr(
    target_family = "wasm",
    expect(unreachable_code, reason = "a page has no other process")
)]
impl Searchers for RankSearchers {
    fn counts(&self) -> [usize; 2] {
        [self.ranks.on_this_machine(), self.ranks.count()]
    }

    fn begin(&self, shapes: &[Clump], fill: &MadeFill, before: &[&Shared]) {
        let mut message = Ask::Begin.message();
        message.put(shapes.len() as u64);
        for shape in shapes {
            message.put_all(&shape.spheres);
        }
        write_fill(fill, &mut message);
        let before: Vec<u64> = before.iter().map(|own| own.holder.number()).collect();
        message.put_all(&before);
        self.tell(message);
    }

    fn look(&self, asked: &Asked) -> Vec<u64> {
        let mut message = Ask::Look.message();
        let Asked {
            class,
            tries,
            crowded,
            placed,
        } = asked;
        message.put([*class, tries.start, tries.end, u64::from(*crowded)]);
        message.put_all(placed);
        let found = self.tell(message);
        let found = found.iter().map(|own| Reader(own).take_all::<u64>());
        let mut found: Vec<u64> = found.flatten().collect();
        found.sort_unstable();
        found
    }

    fn end(&self, is_placed: bool) -> Option<Shared> {
        let number = next();
        let mut message = Ask::End.message();
        message.put(number);
        let counts = self.tell(message).swap_remove(0);
        let own = Arc::clone(&self.shares.borrow().bodies[&number]);
        let counts = bytemuck::pod_collect_to_vec(&counts);
        is_placed.then(|| self.shared(number, own, counts))
    }

    fn pack(&self, packing: &Packing) -> Result<Shared, Unrelaxed> {
        let Piece::Shared(small) = &packing.small else {
            unreachable!("all ranks have placed the small bodies");
        };
        let number = next();
        let mut message = Ask::Pack.message();
        message.put([number, small.holder.number()]);
        let before = message.0.len();
        write_packing(packing, &mut message);
        self.ranks.broadcast(&mut message.0);
        let shares = &mut self.shares.borrow_mut().bodies;
        shares.remove(&small.holder.number());
        let own = small.holder.own().bodies.clone();
        let (own, counts) = pack(&*self.ranks, own, &mut Reader(&message.0[before..]))?;
        let shapes = packing.world.shapes.len();
        let kinds = small.kinds.iter().map(|kind| ModelBody {
            shape: kind.shape - shapes,
            ..*kind
        });
        Ok(Shared {
            kinds: kinds.collect(),
            ..self.shared(number, Arc::new(Share::of(own)), counts)
        })
    }

    fn keep(
        &self,
        parts: &mut dyn ExactSizeIterator<Item = io::Result<Brought>>,
    ) -> io::Result<Shared> {
        let (number, rounds) = (next(), parts.len());
        let mut message = Ask::Keep.message();
        message.put([number, rounds as u64]);
        self.ranks.broadcast(&mut message.0);
        let mut kinds = BTreeMap::new();
        let mut contacts = None;
        let mut read = Ok(());
        let (own, counts) = keep(&*self.ranks, rounds, || {
            read.as_ref().ok()?;
            let part = parts.next()?.map_err(|error| read = Err(error)).ok()?;
            for body in &part.bodies {
                let moves = body.velocity != DVec3::ZERO || body.angular_velocity != DVec3::ZERO;
                let kind = (body.shape, body.group, body.fixed, body.fixed && moves);
                kinds.entry(kind).or_insert(*body);
            }
            if let Some(own) = &part.contacts {
                let all = contacts.get_or_insert(SharedContacts {
                    size: own.size,
                    count: 0,
                });
                all.count += own.entries.len() as u32;
            }
            Some(part)
        });
        read?;
        Ok(Shared {
            kinds: kinds.into_values().collect(),
            contacts,
            ..self.shared(number, Arc::new(own), counts)
        })
    }

    fn overlap(&self, bodies: &Bodies, world: World, tolerance: f64, harmless: Harmless) -> bool {
        let mut message = Ask::Overlap.message();
        let before = message.0.len();
        write_overlapping(bodies, &world, tolerance, harmless, &mut message);
        self.ranks.broadcast(&mut message.0);
        let (shares, lists) = (shares_of(bodies), lists_of(bodies));
        let job = &mut Reader(&message.0[before..]);
        overlap(&*self.ranks, job, &shares, &lists)
    }

    fn bond(
        &self,
        laws: &[BondLaw],
        bodies: &Bodies,
        shapes: &[Clump],
        domain: Option<&Domain>,
    ) -> Bonds {
        let number = next();
        let mut message = Ask::Bond.message();
        message.put(number);
        let before = message.0.len();
        write_bonding(laws, bodies, shapes, domain, &mut message);
        self.ranks.broadcast(&mut message.0);
        let (shares, lists) = (shares_of(bodies), lists_of(bodies));
        let job = &mut Reader(&message.0[before..]);
        let found = bond(&*self.ranks, job, &shares, &lists);
        let told = found.tell(&*self.ranks);
        let links = shared_links(&self.ranks, number, found.own, &told);
        Bonds::new(laws, Vec::new(), bodies, shapes, domain).with_shared(links, self.others)
    }
}

/// Number of the next shares.
fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
