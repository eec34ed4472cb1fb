//! Places of fills that the ranks find together: of a random fill, rank 0 asks, and each rank looks for those in its slab of the region.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Ranks;
use super::bytes::{Reader, Writer};
use super::engine::threads_of;
use super::pack::{Holding, Shares, pack, show, write_packing};
use super::part::Command;
use super::start::{read_fill, write_fill};
use crate::math::parallel::Threads;
use crate::model::ModelBody;
use crate::model::bodies::Shared;
use crate::model::clump::Clump;
use crate::model::packing::made::MadeFill;
use crate::model::packing::overlap::Unrelaxed;
use crate::model::packing::pack::Packing;
use crate::model::packing::slab::{Asked, Searchers, SlabSearch};

/// A question or an order of rank 0 to a search.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Ask {
    Begin,
    Look,
    End,
    /// Pack a dense fill.
    Pack,
    /// Show some of the bodies that a rank has of one.
    Show,
}

impl Ask {
    const ALL: [Ask; 5] = [Ask::Begin, Ask::Look, Ask::End, Ask::Pack, Ask::Show];

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
                self.0 = Some((begun(ranks, &mut message), threads(ranks)));
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
                self.0 = None;
                Vec::new()
            }
            Ask::Pack => {
                let number = message.take();
                if let Ok((share, _)) = pack(ranks, &mut message) {
                    shares.insert(number, share);
                }
                Vec::new()
            }
            Ask::Show => show(ranks, &mut message, shares),
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

fn begun(ranks: &dyn Ranks, message: &mut Reader) -> SlabSearch {
    let shapes: u64 = message.take();
    let spheres = (0..shapes).map(|_| message.take_all()).collect();
    let fill = read_fill(message);
    let before: u64 = message.take();
    let before: Vec<MadeFill> = (0..before).map(|_| read_fill(message)).collect();
    SlabSearch::new(spheres, fill, &before, [ranks.rank(), ranks.count()])
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
}

impl RankSearchers {
    pub fn new(ranks: Arc<dyn Ranks>) -> RankSearchers {
        RankSearchers {
            ranks,
            own: RefCell::default(),
        }
    }

    /// Has all ranks do something. Returns what they have found.
    fn tell(&self, message: Writer) -> Vec<Vec<u8>> {
        let mut message = message.0;
        self.ranks.broadcast(&mut message);
        let message = Command::Search.strip(&message).expect("it is of a search");
        let mut own = self.own.borrow_mut();
        own.obey(&*self.ranks, message, &mut Shares::new())
    }
}

impl Searchers for RankSearchers {
    fn counts(&self) -> [usize; 2] {
        [self.ranks.on_this_machine(), self.ranks.count()]
    }

    fn begin(&self, shapes: &[Clump], fill: &MadeFill, before: &[&MadeFill]) {
        let mut message = Ask::Begin.message();
        message.put(shapes.len() as u64);
        for shape in shapes {
            message.put_all(&shape.spheres);
        }
        write_fill(fill, &mut message);
        message.put(before.len() as u64);
        for fill in before {
            write_fill(fill, &mut message);
        }
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

    fn end(&self) {
        self.tell(Ask::End.message());
    }

    fn pack(&self, packing: &Packing) -> Result<Shared, Unrelaxed> {
        /// Number of the next shares.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut message = Ask::Pack.message();
        message.put(number);
        let before = message.0.len();
        write_packing(packing, &mut message);
        self.ranks.broadcast(&mut message.0);
        let (own, counts) = pack(&*self.ranks, &mut Reader(&message.0[before..]))?;
        let shapes = packing.world.shapes.len();
        let kinds = packing.small.kinds().map(|kind| ModelBody {
            shape: kind.shape - shapes,
            ..kind
        });
        Ok(Shared {
            kinds: kinds.collect(),
            holder: Arc::new(Holding {
                ranks: Arc::clone(&self.ranks),
                number,
                own,
                counts: counts.iter().map(|own| own[0]).collect(),
            }),
            counts,
        })
    }
}
