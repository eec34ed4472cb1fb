//! Bodies at the start: each rank makes those of large fills that are in its block, and rank 0 gives out all others.

use std::borrow::Cow;
use std::mem::take;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use glam::DVec3;

use super::Ranks;
use super::blocks::Place;
use super::bytes::{Reader, Writer};
use super::edges::{Come, Edges, Entry, SPHERE_COST, WEIGHT, write_carried, write_moved};
use super::pack::{OwnBonds, OwnShares, lists_of};
use super::search::send;
use crate::model::bodies::Piece;
use crate::model::bonds::{LinkHolder, SomeBonds};
use crate::model::error::Result;
use crate::model::packing::lattice::GridSites;
use crate::model::packing::made::{MadeFill, Sites};
use crate::model::packing::overlap::team::Numbered;
use crate::model::packing::search::RandomSites;
use crate::model::{Bodies, ContactHistory, Model, ModelBody};
use crate::state::bonds::{self, BondEnds};
use crate::state::layout::{Body, Sphere};
use crate::state::{Moulds, State};
use crate::step::Source;

/// Bodies that rank 0 gives out at a time at most, for what is on its way takes memory there; and how many times there are at least, so
/// few bodies go the way of many.
const GIVEN: usize = 1 << 16;
const TIMES: usize = 8;

/// Description of the bodies with which a model starts, which all ranks have.
pub(super) struct Recipe {
    /// See [`State::origin`].
    origin: DVec3,
    moulds: Moulds,
    pieces: Pieces,
    /// Whether bodies bring contacts from another run.
    contacts: bool,
    /// Number of the bonds, if all ranks have found them together.
    bonds: Option<u64>,
}

/// Fills that each rank makes, and how many bodies and spheres rank 0 has in a list, or each rank has a share of.
pub(super) struct Pieces(Vec<Piece<[u32; 2], MadeFill, ShareCounts>>);

/// Number of shares, and of the bodies and spheres that each rank has.
struct ShareCounts {
    number: u64,
    counts: Vec<[u32; 2]>,
    /// Whether they bring contacts.
    contacts: bool,
}

impl Pieces {
    /// Describes those of a model. So many spheres has a body, and shares may bring `contacts`.
    pub fn of(bodies: &Bodies, spheres: impl Fn(&ModelBody) -> u32, contacts: bool) -> Pieces {
        let pieces = bodies.pieces().into_iter().map(|piece| match piece {
            Piece::List(list) => Piece::List([list.len() as u32, list.iter().map(&spheres).sum()]),
            Piece::Fill(fill) => Piece::Fill(fill.clone()),
            Piece::Shared(shared) => Piece::Shared(ShareCounts {
                number: shared.holder.number(),
                counts: shared.counts.clone(),
                contacts: contacts && shared.contacts.is_some(),
            }),
        });
        Pieces(pieces.collect())
    }

    /// Number of all bodies.
    pub fn body_count(&self) -> u32 {
        let count = |piece: &Piece<[u32; 2], MadeFill, ShareCounts>| match piece {
            Piece::List([bodies, _]) => *bodies,
            Piece::Fill(fill) => fill.numbers.count as u32,
            Piece::Shared(shared) => shared.counts.iter().map(|own| own[0]).sum(),
        };
        self.0.iter().map(count).sum()
    }

    /// Bodies of this rank, such that each body is on one rank: an equal share of those of a fill, and on rank 0 all of the `lists`.
    pub fn own_bodies(
        &self,
        ranks: &dyn Ranks,
        shares: &OwnShares,
        lists: &[&[ModelBody]],
    ) -> Vec<Numbered> {
        let (rank, count) = (ranks.rank(), ranks.count() as u64);
        let mut part = Vec::new();
        let mut push = |number: u32, body: &ModelBody| {
            part.push(Numbered {
                number,
                body: *body,
            });
        };
        let mut before = 0;
        for (index, piece) in self.0.iter().enumerate() {
            match piece {
                Piece::List([bodies, _]) => {
                    let list = lists.get(index).copied().unwrap_or_default();
                    (before..)
                        .zip(list)
                        .for_each(|(number, body)| push(number, body));
                    before += bodies;
                }
                Piece::Fill(fill) => {
                    let bodies = fill.numbers.count;
                    let end = |rank: u64| before + (bodies * rank / count) as u32;
                    let own = end(rank as u64)..end(rank as u64 + 1);
                    let mut number = before;
                    fill.each(&mut |body| {
                        if own.contains(&number) {
                            push(number, body);
                        }
                        number += 1;
                    });
                    before += bodies as u32;
                }
                Piece::Shared(shared) => {
                    let sum = |counts: &[[u32; 2]]| counts.iter().map(|own| own[0]).sum::<u32>();
                    let mut number = before + sum(&shared.counts[..rank]);
                    shares[&shared.number].bodies.visit(&mut |body| {
                        push(number, body);
                        number += 1;
                    });
                    before += sum(&shared.counts);
                }
            }
        }
        part
    }

    pub fn write(&self, message: &mut Writer) {
        message.put(self.0.len() as u64);
        for piece in &self.0 {
            match piece {
                Piece::List(counts) => {
                    message.put(0u32);
                    message.put(*counts);
                }
                Piece::Fill(fill) => {
                    message.put(1u32);
                    write_fill(fill, message);
                }
                Piece::Shared(ShareCounts {
                    number,
                    counts,
                    contacts,
                }) => {
                    message.put(2u32);
                    message.put(*number);
                    message.put_all(counts);
                    message.put(u32::from(*contacts));
                }
            }
        }
    }

    pub fn read(message: &mut Reader) -> Pieces {
        let count: u64 = message.take();
        let pieces = (0..count).map(|_| match message.take::<u32>() {
            0 => Piece::List(message.take()),
            1 => Piece::Fill(read_fill(message)),
            _ => Piece::Shared(ShareCounts {
                number: message.take(),
                counts: message.take_all(),
                contacts: message.take::<u32>() == 1,
            }),
        });
        Pieces(pieces.collect())
    }
}

impl Recipe {
    /// Describes the bodies of a model, whose state this is.
    pub fn new(model: &Model, state: &State) -> Recipe {
        let moulds = Moulds::new(model, state);
        let contacts = state.count_contacts_before(model).is_some();
        let spheres = |body: &ModelBody| moulds.shapes[body.shape].sphere_count;
        Recipe {
            origin: state.origin,
            pieces: Pieces::of(&model.bodies, spheres, contacts),
            moulds,
            contacts,
            bonds: model.bonds.holder().map(LinkHolder::number),
        }
    }

    pub fn write(&self, message: &mut Writer) {
        message.put(self.origin);
        message.put(u32::from(self.contacts));
        message.put(self.moulds.groups as u64);
        message.put_all(&self.moulds.shapes);
        message.put_all(self.bonds.as_slice());
        self.pieces.write(message);
    }

    pub fn read(message: &mut Reader) -> Recipe {
        let origin = message.take();
        let contacts = message.take::<u32>() == 1;
        let groups = message.take::<u64>() as usize;
        let moulds = Moulds {
            shapes: message.take_all(),
            groups,
        };
        Recipe {
            origin,
            moulds,
            contacts,
            bonds: message.take_all().first().copied(),
            pieces: Pieces::read(message),
        }
    }
}

pub(super) fn write_fill(fill: &MadeFill, message: &mut Writer) {
    message.put(fill.numbers);
    message.put_all(&fill.mix);
    write_sites(&fill.sites, message);
}

pub(super) fn read_fill(message: &mut Reader) -> MadeFill {
    MadeFill {
        numbers: message.take(),
        mix: message.take_all(),
        sites: read_sites(message),
    }
}

fn write_sites(sites: &Sites, message: &mut Writer) {
    message.put(u32::from(matches!(sites, Sites::Random(_))));
    match sites {
        Sites::Grid(sites) => {
            message.put(sites.lattice);
            message.put(sites.jitter);
            message.put_all(&sites.hulls);
            message.put_all(&sites.empty);
        }
        Sites::Random(sites) => {
            message.put(sites.spheres.len() as u64);
            for spheres in &sites.spheres {
                message.put_all(spheres);
            }
            message.put_all(&sites.classes);
            message.put(sites.first);
            message.put_all(&sites.done);
            message.put_all(&sites.tries);
        }
    }
}

fn read_sites(message: &mut Reader) -> Sites {
    match message.take::<u32>() {
        0 => Sites::Grid(GridSites {
            lattice: message.take(),
            jitter: message.take(),
            hulls: message.take_all(),
            empty: message.take_all(),
        }),
        _ => {
            let mix: u64 = message.take();
            Sites::Random(RandomSites {
                spheres: (0..mix).map(|_| message.take_all()).collect(),
                classes: message.take_all(),
                first: message.take(),
                done: message.take_all(),
                tries: message.take_all(),
            })
        }
    }
}

/// Bodies that rank 0 has in lists.
pub(super) struct Listed<'a> {
    /// One for each piece of the model, empty for all that is no list.
    lists: Vec<&'a [ModelBody]>,
    /// Ends of bonds, if the ranks have not found these together.
    bonds: Option<BondEnds<'a>>,
    /// The contacts that those of the first list bring from another run.
    contacts: Option<&'a ContactHistory>,
}

impl<'a> Listed<'a> {
    /// Finds those of a model, whose state this is.
    pub fn of(model: &'a Model, state: &'a State) -> Listed<'a> {
        Listed {
            lists: lists_of(&model.bodies),
            bonds: model.bonds.holder().is_none().then(|| BondEnds::of(model)),
            contacts: state.listed_contacts_before(model),
        }
    }
}

/// List of a rank, in which it has bodies for all ranks, with what they bring.
#[derive(Clone, Copy, Default)]
struct Own<'a> {
    list: &'a [ModelBody],
    bonds: Option<&'a BondEnds<'a>>,
    /// The contacts of the first spheres of the list.
    contacts: Option<&'a ContactHistory>,
}

/// State that rank 0 gives out. If it is free, its bodies are in the source.
#[derive(Clone, Copy)]
pub(super) struct Whole<'a> {
    pub state: &'a State,
    pub source: Option<&'a dyn Source>,
}

/// A part of a state that is given out.
struct Given<'a> {
    state: Cow<'a, State>,
    /// Their indices there.
    bodies: Range<usize>,
    /// Number of spheres of the whole before those of this state.
    spheres: u32,
}

impl<'a> Whole<'a> {
    fn part(&self, bodies: Range<usize>) -> Result<Given<'a>> {
        Ok(match self.source {
            None => Given {
                state: Cow::Borrowed(self.state),
                bodies,
                spheres: 0,
            },
            Some(source) => {
                let (state, spheres) = source.part(self.state, bodies.clone())?;
                Given {
                    state: Cow::Owned(state),
                    bodies: 0..bodies.len(),
                    spheres,
                }
            }
        })
    }
}

/// Has rank 0 `send` a message to each rank about some of so many bodies at a time, and each `receive` its own.
fn in_rounds(
    ranks: &dyn Ranks,
    bodies: usize,
    send: impl FnMut(Range<usize>, &mut [Writer]),
    receive: impl FnMut(&mut Reader),
) {
    let own = if ranks.rank() == 0 { bodies } else { 0 };
    in_rounds_of_all(ranks, own, bodies, send, receive);
}

/// Has each rank `send` a message to each other about some of its own bodies at a time, and `receive` what it gets. No rank has more than `most`
/// bodies.
fn in_rounds_of_all(
    ranks: &dyn Ranks,
    own: usize,
    most: usize,
    mut send: impl FnMut(Range<usize>, &mut [Writer]),
    mut receive: impl FnMut(&mut Reader),
) {
    let size = most.div_ceil(TIMES).clamp(1, GIVEN);
    for first in (0..most).step_by(size) {
        let mut messages = vec![Writer::default(); ranks.count()];
        if first < own {
            send(first..own.min(first + size), &mut messages);
        }
        let messages = messages.into_iter().map(|message| message.0).collect();
        for received in ranks.all_to_all(messages) {
            receive(&mut Reader(&received));
        }
    }
}

/// Places of bodies, and the costs of a step of each.
#[derive(Default)]
struct Costs {
    places: Vec<Place>,
    costs: Vec<u64>,
}

impl Costs {
    fn receive(&mut self, message: &mut Reader) {
        if !message.is_empty() {
            self.places.extend(message.take_all::<Place>());
            self.costs.extend(message.take_all::<u64>());
        }
    }
}

fn place_of(state: &State, body: &ModelBody) -> Place {
    let (cell, offset) = state.cell_of(body.position);
    Edges::place(cell, offset)
}

impl Edges {
    /// Makes the bodies with which a model starts, each on the rank in whose block it is; rank 0 has those that are `listed`, and each rank
    /// its `shares`.
    pub fn make(
        &mut self,
        part: &mut State,
        recipe: &Recipe,
        listed: Option<&Listed>,
        shares: &OwnShares,
        bonds: &OwnBonds,
    ) {
        part.origin = recipe.origin;
        let ranks = Arc::clone(&self.post.ranks);
        let costs = share(&*ranks, part, recipe, listed, shares);
        self.cut_first(part, costs);
        let mut come = Come::default();
        let mut before = [0; 2];
        for (index, piece) in recipe.pieces.0.iter().enumerate() {
            match piece {
                Piece::Fill(fill) => self.make_fill(part, &recipe.moulds, fill, &mut before),
                Piece::List(counts) => {
                    let own = listed.map_or(Own::default(), |listed| Own {
                        list: listed.lists[index],
                        bonds: listed.bonds.as_ref(),
                        contacts: listed.contacts.filter(|_| index == 0),
                    });
                    let most = counts[0] as usize;
                    self.take_lists(part, recipe, own, most, before, &mut come);
                    before = [0, 1].map(|k| before[k] + counts[k]);
                }
                Piece::Shared(ShareCounts {
                    number,
                    counts,
                    contacts,
                }) => {
                    let sum = |counts: &[[u32; 2]]| {
                        [0, 1].map(|k| before[k] + counts.iter().map(|own| own[k]).sum::<u32>())
                    };
                    let first = sum(&counts[..ranks.rank()]);
                    match (contacts, &shares[number].bodies) {
                        (true, Piece::List(list)) => {
                            let own = Own {
                                list,
                                bonds: None,
                                contacts: shares[number].contacts.as_ref(),
                            };
                            let most = counts.iter().map(|own| own[0] as usize).max();
                            let most = most.unwrap_or(0);
                            self.take_lists(part, recipe, own, most, first, &mut come);
                        }
                        (_, own) => self.take_shares(part, &recipe.moulds, own, first),
                    }
                    before = sum(counts);
                }
            }
        }
        part.fit();
        if let Some(number) = recipe.bonds {
            self.take_ends(part, bonds[&number], &mut come);
        }
        if recipe.contacts {
            let staying = (0..self.entries.len()).collect();
            self.gather(part, staying, come);
            part.place_spheres();
        } else {
            // The first step looks for ghosts.
            self.set_actions(part);
            self.set_bonds(part, come.bonds);
        }
        self.end_start();
    }

    /// Gives each rank the bodies in its block; rank 0 has the `whole`.
    ///
    /// # Errors
    /// On rank 0, if it cannot read some of the bodies: nobody gets these, nor those that come after them.
    pub fn give_out(&mut self, part: &mut State, whole: Option<Whole>) -> Result<()> {
        let ranks = Arc::clone(&self.post.ranks);
        let mut bodies = [whole.map_or(0, |whole| i64::from(whole.state.params.body_count))];
        ranks.maximum(&mut bodies);
        let bodies = bodies[0] as usize;
        let mut costs = Costs::default();
        let mut owners = (0..ranks.count()).cycle();
        let mut read = Ok(());
        let mut part_of = |bodies: Range<usize>| {
            let whole = whole.filter(|_| read.is_ok())?;
            whole.part(bodies).map_err(|error| read = Err(error)).ok()
        };
        let send = |bodies: Range<usize>, messages: &mut [Writer]| {
            if let (Some(given), Some(owner)) = (part_of(bodies), owners.next()) {
                let bodies = given.state.bodies[given.bodies].iter();
                let (places, costs) = Edges::places_and_costs(&given.state, bodies);
                messages[owner].put_all(&places);
                messages[owner].put_all(&costs);
            }
        };
        in_rounds(&*ranks, bodies, send, |message| costs.receive(message));
        self.cut_first(part, costs);

        let blocks = self.blocks.as_ref().expect("space has been cut");
        let mut come = Come::default();
        let send = |bodies: Range<usize>, messages: &mut [Writer]| {
            let Some(given) = part_of(bodies.clone()) else {
                return;
            };
            for (index, place) in given.bodies.zip(bodies) {
                let body = &given.state.bodies[index];
                let message = &mut messages[blocks.owner(&Edges::place(body.cell, body.offset))];
                let entry = Entry {
                    body: place as u32,
                    first_sphere: given.spheres + body.first_sphere,
                    ghost: false,
                };
                let bonds = &given.state.bonds;
                write_moved(&given.state, index, entry, bonds, message, |sphere| sphere);
            }
        };
        in_rounds(&*ranks, bodies, send, |message| {
            come.read_all(part, message)
        });
        self.gather(part, Vec::new(), come);
        self.swap_heat(part);
        self.end_start();
        read
    }

    /// Cuts space for the first time.
    fn cut_first(&mut self, part: &State, own: Costs) {
        let Costs { places, mut costs } = own;
        costs.iter_mut().for_each(|cost| *cost *= WEIGHT as u64);
        let mut sum = [costs.iter().sum::<u64>() as i64];
        self.post.sum(&mut sum);
        self.cut(part, &places, &costs, sum[0]);
    }

    /// The start is not part of the steps.
    fn end_start(&mut self) {
        self.post.counts.communication = Duration::ZERO;
    }

    /// Adds the bodies of a fill that are in the block of this rank; so many bodies and spheres come `before` it, and then `before` what
    /// follows.
    fn make_fill(
        &mut self,
        part: &mut State,
        moulds: &Moulds,
        fill: &MadeFill,
        before: &mut [u32; 2],
    ) {
        let rank = self.post.rank();
        let blocks = self.blocks.as_ref().expect("space has been cut");
        let entries = &mut self.entries;
        fill.each(&mut |body| {
            if blocks.owner(&place_of(part, body)) == rank {
                entries.push(Entry {
                    body: before[0],
                    first_sphere: before[1],
                    ghost: false,
                });
                part.push_body(moulds, body);
            }
            before[0] += 1;
            before[1] += moulds.shapes[body.shape].sphere_count;
        });
    }

    /// Gives each rank the bodies in its block of lists, of which this rank has its `own` and no rank has more than `most`. So many bodies and
    /// spheres come `before` its own.
    ///
    /// If no bodies of the model bring contacts, they are added to the part at once, and `come` has the ends of bonds at them. If some do, they
    /// stay in `come` until the part is put together.
    fn take_lists(
        &mut self,
        part: &mut State,
        recipe: &Recipe,
        own: Own,
        most: usize,
        before: [u32; 2],
        come: &mut Come,
    ) {
        let ranks = Arc::clone(&self.post.ranks);
        let mut spheres = 0;
        let blocks = self.blocks.as_ref().expect("space has been cut");
        let entries = &mut self.entries;
        let empty = part.outline();
        let send = |bodies: Range<usize>, messages: &mut [Writer]| {
            let first = before[0] + bodies.start as u32;
            let bonds = own.bonds;
            let bonds = bonds.map(|all| all.at(first..first + bodies.len() as u32));
            let bonds = bonds.unwrap_or_default();
            let mut some = empty.outline();
            let list = own.list[bodies].iter();
            list.for_each(|body| some.push_body(&recipe.moulds, body));
            some.fit();
            for (index, body) in some.bodies.iter().enumerate() {
                let entry = Entry {
                    body: first + index as u32,
                    first_sphere: before[1] + spheres + body.first_sphere,
                    ghost: false,
                };
                let owner = blocks.owner(&Edges::place(body.cell, body.offset));
                let message = &mut messages[owner];
                write_carried(&some, index, entry, &bonds, message);
                for sphere in some.spheres_of(body) {
                    let sphere = spheres as usize + sphere;
                    let own = own.contacts.map(|all| all.of_sphere(sphere));
                    let (others, histories) = own.unwrap_or_default();
                    message.put_all(others);
                    message.put_all(histories);
                }
            }
            spheres += some.params.sphere_count;
        };
        in_rounds_of_all(&*ranks, own.list.len(), most, send, |message| {
            come.read_all(part, message);
            if !recipe.contacts {
                add_new(part, entries, come);
            }
        });
    }

    /// Gives each rank the ends of bonds at the bodies in its block, of which all ranks have found some. `come` has them in the order of the bodies.
    fn take_ends(&mut self, part: &State, own: &SomeBonds, come: &mut Come) {
        let ranks = Arc::clone(&self.post.ranks);
        let blocks = self.blocks.as_ref().expect("space has been cut");
        let count = own.indices.len();
        let mut most = [count as i64];
        ranks.maximum(&mut most);
        let send = |some: Range<usize>, messages: &mut [Writer]| {
            for (bond, index) in own.bonds.some(some.clone()).zip(&own.indices[some]) {
                for side in [0, 1] {
                    let place = place_of(part, &own.bonds.between()[bond.bodies[side]]);
                    let bodies = bond.bodies.map(|body| own.bodies[body]);
                    let end = bonds::end(&bond, bodies, *index, side as u32);
                    messages[blocks.owner(&place)].put(end);
                }
            }
        };
        in_rounds_of_all(&*ranks, count, most[0] as usize, send, |message| {
            while !message.is_empty() {
                come.bonds.push(message.take());
            }
        });
        bonds::sort(&mut come.bonds);
    }

    /// Gives each rank the bodies in its block of the shares that all ranks have. So many bodies and spheres come `before` that of this one.
    fn take_shares(
        &mut self,
        part: &mut State,
        moulds: &Moulds,
        own: &Piece,
        mut before: [u32; 2],
    ) {
        let ranks = Arc::clone(&self.post.ranks);
        let blocks = self.blocks.as_ref().expect("space has been cut");
        let mut come = vec![Vec::new(); ranks.count()];
        let write = |body: &ModelBody, messages: &mut [Writer]| {
            let message = &mut messages[blocks.owner(&place_of(part, body))];
            message.put(before);
            message.put(body.numbers());
            before[0] += 1;
            before[1] += moulds.shapes[body.shape].sphere_count;
        };
        send(&*ranks, own, write, |rank, message| {
            let [body, first_sphere]: [u32; 2] = message.take();
            let entry = Entry {
                body,
                first_sphere,
                ghost: false,
            };
            come[rank].push((entry, ModelBody::from_numbers(&message.take())));
        });
        // The shares of the ranks follow each other.
        for (entry, body) in come.into_iter().flatten() {
            self.entries.push(entry);
            part.push_body(moulds, &body);
        }
    }
}

/// Adds bodies that have come to a part. Nothing has touched them as yet: all that they carry is zero, but for the bonds, which stay.
fn add_new(part: &mut State, entries: &mut Vec<Entry>, come: &mut Come) {
    let bonds = take(&mut come.bonds);
    let Come {
        bodies,
        forces,
        heat,
        ..
    } = take(come);
    come.bonds = bonds;
    for (entry, body) in bodies {
        let place = part.bodies.len() as u32;
        let first_sphere = part.spheres.len() as u32;
        let end = first_sphere + part.properties_of(&body).sphere_count;
        let sphere = Sphere {
            body: place,
            ..Sphere::default()
        };
        part.spheres.resize(end as usize, sphere);
        part.bodies.push(Body {
            first_sphere,
            ..body
        });
        entries.push(entry);
    }
    part.body_forces.extend(forces);
    part.body_heat.extend(heat);
}

/// The places and costs of an equal share of the bodies, whatever they are, so that no rank has all.
fn share(
    ranks: &dyn Ranks,
    part: &State,
    recipe: &Recipe,
    listed: Option<&Listed>,
    shares: &OwnShares,
) -> Costs {
    let (rank, count) = (ranks.rank() as u64, ranks.count() as u64);
    let cost =
        |body: &ModelBody| SPHERE_COST * u64::from(recipe.moulds.shapes[body.shape].sphere_count);
    let mut own = Costs::default();
    let mut owners = (0..ranks.count()).cycle();
    for (index, piece) in recipe.pieces.0.iter().enumerate() {
        match piece {
            Piece::Fill(fill) => {
                let end = |rank: u64| fill.numbers.count * rank / count;
                let share = end(rank)..end(rank + 1);
                let room = (share.end - share.start) as usize;
                own.places.reserve_exact(room);
                own.costs.reserve_exact(room);
                let mut number = 0;
                fill.each(&mut |body| {
                    if share.contains(&number) {
                        own.places.push(place_of(part, body));
                        own.costs.push(cost(body));
                    }
                    number += 1;
                });
            }
            Piece::List(counts) => {
                let list = listed.map_or(&[][..], |listed| listed.lists[index]);
                let send = |bodies: Range<usize>, messages: &mut [Writer]| {
                    let list = &list[bodies];
                    let places = list.iter().map(|body| place_of(part, body));
                    let message = &mut messages[owners.next().unwrap_or(0)];
                    message.put_all(&places.collect::<Vec<_>>());
                    message.put_all(&list.iter().map(cost).collect::<Vec<_>>());
                };
                let bodies = counts[0] as usize;
                in_rounds(ranks, bodies, send, |message| own.receive(message));
            }
            Piece::Shared(ShareCounts { number, .. }) => {
                shares[number].bodies.visit(&mut |body| {
                    own.places.push(place_of(part, body));
                    own.costs.push(cost(body));
                });
            }
        }
    }
    own
}
