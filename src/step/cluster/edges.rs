//! Borders of a part of a scene: its own bodies, its copies of others, and messages about both.

use std::mem::{replace, take};
use std::ops::Range;
use std::time::Duration;

use bytemuck::{bytes_of, pod_collect_to_vec, pod_read_unaligned};
use glam::{DVec3, IVec3, UVec3, Vec4};

use super::Ranks;
use super::blocks::{Blocks, Place};
use super::bytes::{Reader, Writer};
use super::pieces::Piece;
use super::post::{Counts, Post};
use crate::math::grid::FRACTION;
use crate::state::State;
use crate::state::layout::{
    Action, Body, BodyBonds, BodyForce, BodyHeat, BodyProperties, Bond, GHOST, GROUP_SHIFT,
    History, Member, SPRING, Sphere, SphereLoad, WALL,
};
use crate::step::Canceller;

/// Cost of a sphere in a step; an entry of its neighbour list costs one.
pub(super) const SPHERE_COST: u64 = 4;

/// The largest cost of a rank over the mean beyond which space is cut anew.
const MOST_IMBALANCE: f64 = 1.1;

/// So much worse than it was after the last cut has the imbalance to be, or so much has the cost of all bodies to have changed,
/// for another cut to be worth it.
const WORSE: f64 = 1.05;
const OTHER_COST: f64 = 0.1;

/// The weight of the cost of a body on a rank that is as fast as all others: that of one that is slower or faster is a whole number,
/// too.
pub(super) const WEIGHT: f64 = 64.0;

/// Weight, in the pace of a rank, of that since the lists were built last, and the largest factor by which it may be
/// off the mean: times vary from one to the next without a reason.
const NEW_PACE: f64 = 0.25;
const MOST_PACE: f64 = 4.0;

/// Most times in a row that lists are built without looking for new owners and ghosts: then the cut may be out of date.
const MOST_STAYS: u32 = 8;

/// Ghosts are looked for a little farther away than bodies may touch, for distances are rounded.
const MARGIN: f64 = 1.0001;

/// A body of a part: its own, or a ghost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    /// Its index in the whole scene.
    pub body: u32,
    /// Index of its first sphere there.
    pub first_sphere: u32,
    /// Whether another rank steps it.
    pub ghost: bool,
}

/// Bodies and spheres that a part shares with the others.
pub(super) struct Edges {
    pub post: Post,
    /// The bodies of the part, in the order of the whole scene.
    pub entries: Vec<Entry>,
    /// Number of kinds of bodies; those of ghosts come after them, in the same order.
    kinds: u32,
    /// Distance from the centre of a body of each kind up to which it may touch others, m.
    reaches: Vec<f64>,
    /// Springs and applied forces of the whole scene.
    pub actions: Vec<Action>,
    /// The body of the whole scene that is pulled, counted from 1; 0 if none is.
    pub pulled: u32,
    /// The other body of each end of a bond that the part has, by its index in the whole scene.
    bonded: Vec<u32>,
    /// The blocks into which space has been cut.
    pub blocks: Option<Blocks>,
    /// Time that a unit of cost takes here, over the mean of all ranks.
    pace: f64,
    /// Time in which this rank had computed, and the steps, when the lists were built last.
    paced: (Duration, u64),
    /// The imbalance after the last cut, once it is known.
    achieved: Option<f64>,
    /// The cost of all bodies at the last cut.
    cut_cost: i64,
    /// Own bodies of which other ranks have ghosts, by rank and in order.
    pub sent: Vec<(usize, Vec<u32>)>,
    /// Ghosts, by the ranks that step them and in order.
    pub received: Vec<(usize, Vec<u32>)>,
    /// All that are sent, each once and in order.
    pub sent_bodies: Vec<u32>,
    /// Both, by the pieces of a step in which they are sent.
    pub pieces: Vec<Piece>,
    /// Number of times that lists may still be built with these; zero once anything else than steps has changed the part.
    stays: u32,
    /// Whether the steps are to end, as this rank knows; only rank 0 does.
    pub canceller: Canceller,
    pub ending: bool,
}

/// Bodies that have come from other ranks, with all that they carry: side by side, for there may be very many.
#[derive(Default)]
pub(super) struct Come {
    pub bodies: Vec<(Entry, Body)>,
    /// One a body, or none if nothing acts on bodies, and so on.
    pub forces: Vec<BodyForce>,
    pub heat: Vec<BodyHeat>,
    sums: Vec<BodyBonds>,
    /// The ends of bonds at them, with the indices of the whole scene.
    pub bonds: Vec<Bond>,
    /// Of their spheres, and where those of each body end.
    loads: Vec<SphereLoad>,
    ends: Vec<usize>,
    /// Contacts that have a history, and where those of each sphere end: the other spheres by their indices in the whole scene, or
    /// facets.
    others: Vec<u32>,
    histories: Vec<Vec4>,
    ends_of_contacts: Vec<usize>,
}

impl Come {
    /// Adds the bodies of a message to a part.
    pub fn read_all(&mut self, part: &State, message: &mut Reader) {
        while !message.is_empty() {
            self.read(part, message);
        }
    }

    /// Adds a body of a message to a part.
    fn read(&mut self, part: &State, message: &mut Reader) {
        let entry = Entry {
            body: message.take(),
            first_sphere: message.take(),
            ghost: false,
        };
        self.bodies.push((entry, message.take()));
        if part.params.forces == 1 {
            self.forces.push(message.take());
        }
        if part.params.heat == 1 {
            self.heat.push(message.take());
        }
        if part.params.bonds == 1 {
            self.sums.push(message.take());
            self.bonds.extend(message.take_all::<Bond>());
        }
        self.loads.extend(message.take_all::<SphereLoad>());
        for _ in self.ends.last().copied().unwrap_or(0)..self.loads.len() {
            self.others.extend(message.take_all::<u32>());
            self.histories.extend(message.take_all::<Vec4>());
            self.ends_of_contacts.push(self.others.len());
        }
        self.ends.push(self.loads.len());
    }

    /// The places of the spheres of a body among those of all.
    fn spheres_of(&self, index: usize) -> Range<usize> {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[index]
    }

    /// The contacts of a sphere: the others, and histories with so many elements each.
    fn contacts_of(&self, sphere: usize, size: usize) -> (&[u32], &[Vec4]) {
        let before = sphere.checked_sub(1);
        let start = before.map_or(0, |before| self.ends_of_contacts[before]);
        let own = start..self.ends_of_contacts[sphere];
        let histories = &self.histories[size * own.start..size * own.end];
        (&self.others[own], histories)
    }
}

impl Edges {
    pub fn new(post: Post) -> Edges {
        Edges {
            post,
            entries: Vec::new(),
            kinds: 0,
            reaches: Vec::new(),
            actions: Vec::new(),
            pulled: 0,
            bonded: Vec::new(),
            blocks: None,
            pace: 1.0,
            paced: Default::default(),
            achieved: None,
            cut_cost: 0,
            sent: Vec::new(),
            received: Vec::new(),
            sent_bodies: Vec::new(),
            pieces: Vec::new(),
            stays: 0,
            canceller: Canceller::default(),
            ending: false,
        }
    }

    /// Begins anew, with the kinds of bodies of a scene; adds those of ghosts to them.
    pub fn set_kinds(
        &mut self,
        properties: &mut Vec<BodyProperties>,
        members: &[Member],
        skin: f32,
    ) {
        self.kinds = properties.len() as u32;
        let reach = |own: &BodyProperties| {
            let members = &members[own.first_member as usize..][..own.sphere_count as usize];
            let farthest = members
                .iter()
                .map(|member| member.center.length() + member.radius);
            MARGIN * f64::from(farthest.fold(0.0, f32::max) + 0.5 * skin)
        };
        self.reaches = properties.iter().map(reach).collect();
        let ghosts: Vec<_> = properties
            .iter()
            .map(|own| BodyProperties {
                group: own.group | GHOST >> GROUP_SHIFT,
                ..*own
            })
            .collect();
        properties.extend(ghosts);
    }

    /// Forgets all bodies, and how space was cut.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.bonded.clear();
        self.sent.clear();
        self.received.clear();
        self.sent_bodies.clear();
        self.pieces.clear();
        self.blocks = None;
        self.achieved = None;
        self.post.counts = Counts::default();
        (self.pace, self.paced) = (1.0, Default::default());
    }

    /// Own bodies, by their indices in the part.
    pub fn own(&self) -> impl Iterator<Item = (usize, &Entry)> {
        let all = self.entries.iter().enumerate();
        all.filter(|(_, entry)| !entry.ghost)
    }

    /// Own bodies among some of the whole scene, by their indices in the part.
    pub fn own_among(&self, bodies: Range<u32>) -> impl Iterator<Item = (usize, &Entry)> {
        let [start, end] = [bodies.start, bodies.end]
            .map(|body| self.entries.partition_point(|entry| entry.body < body));
        let some = (start..).zip(&self.entries[start..end]);
        some.filter(|(_, entry)| !entry.ghost)
    }

    /// The index in the part of a body of the whole scene.
    pub fn find(&self, body: u32) -> Option<usize> {
        self.entries
            .binary_search_by_key(&body, |entry| entry.body)
            .ok()
    }

    /// The index in the whole scene of a sphere of the part.
    pub fn whole_sphere(&self, state: &State, sphere: u32) -> u32 {
        let body = state.spheres[sphere as usize].body as usize;
        sphere - state.bodies[body].first_sphere + self.entries[body].first_sphere
    }

    /// A body as the whole scene has it.
    pub fn whole_body(&self, index: usize, body: Body) -> Body {
        Body {
            kind: body.kind % self.kinds,
            first_sphere: self.entries[index].first_sphere,
            ..body
        }
    }

    /// A body of the whole scene as the part has it, in the place of another one.
    pub fn local(&self, entry: &Entry, before: &Body, body: Body) -> Body {
        Body {
            kind: body.kind + if entry.ghost { self.kinds } else { 0 },
            first_sphere: before.first_sphere,
            ..body
        }
    }

    /// Gives the part those of the springs and applied forces that act on its own bodies.
    pub fn set_actions(&self, state: &mut State) {
        let place = |body: u32| self.find(body).map(|place| place as u32);
        let own = self.actions.iter().filter_map(|action| {
            let body = place(action.body)?;
            let other = match action.kind {
                // All that it needs are there once the lists have been built.
                SPRING => place(action.other)?,
                _ => action.other,
            };
            let is_own = !self.entries[body as usize].ghost;
            is_own.then_some(Action {
                body,
                other,
                ..*action
            })
        });
        let own: Vec<Action> = own.collect();
        state.set_actions(own);
        let pulled = self.pulled.checked_sub(1).and_then(|body| self.find(body));
        let pulled = pulled.filter(|&place| !self.entries[place].ghost);
        state.params.pulled = pulled.map_or(0, |place| place as u32 + 1);
    }

    /// An end of a bond as the whole scene has it, given the place of the end in the list of the part.
    pub fn whole_bond(&self, place: usize, bond: &Bond) -> Bond {
        bond.between(self.entries[bond.own() as usize].body, self.bonded[place])
    }

    /// Takes the ends of bonds from the part, with the indices of the whole scene.
    pub fn take_bonds(&self, state: &mut State) -> Vec<Bond> {
        let mut bonds = take(&mut state.bonds);
        state.params.bond_count = 0;
        for (place, bond) in bonds.iter_mut().enumerate() {
            *bond = self.whole_bond(place, bond);
        }
        bonds
    }

    /// Gives the part the ends of bonds at its own bodies, in the order of these, with the indices of the whole scene.
    pub fn set_bonds(&mut self, state: &mut State, mut bonds: Vec<Bond>) {
        self.bonded.clear();
        self.bonded.extend(bonds.iter().map(Bond::other));
        let mut own = 0;
        for bond in &mut bonds {
            while self.entries[own].body < bond.own() {
                own += 1;
            }
            debug_assert_eq!(
                self.entries[own].body,
                bond.own(),
                "ends are with their bodies"
            );
            // The other body of a bond that stays broken may be anywhere, and nobody looks at it.
            let other = self.find(bond.other()).unwrap_or(own);
            *bond = bond.between(own as u32, other as u32);
        }
        state.set_bonds(bonds);
    }

    /// Returns the place of a body.
    pub fn place(cell: IVec3, offset: UVec3) -> Place {
        std::array::from_fn(|axis| (i64::from(cell[axis]) << 32) | i64::from(offset[axis]))
    }

    /// Returns the places of some bodies, and the cost of a step of each.
    pub fn places_and_costs<'a>(
        state: &State,
        bodies: impl Iterator<Item = &'a Body>,
    ) -> (Vec<Place>, Vec<u64>) {
        let starts = &state.neighbour_starts;
        let of = |body: &Body| {
            let spheres = state.spheres_of(body);
            let entries = starts[spheres.end] - starts[spheres.start];
            let cost = SPHERE_COST * spheres.len() as u64 + u64::from(entries);
            (Edges::place(body.cell, body.offset), cost)
        };
        bodies.map(of).unzip()
    }

    /// The rank in whose block each own body is; cuts space first, if it is time.
    fn owners(&mut self, state: &State) -> Vec<usize> {
        let own = self.own().map(|(index, _)| &state.bodies[index]);
        let (places, mut costs) = Edges::places_and_costs(state, own);
        self.take_pace(costs.iter().sum());
        let weight = (WEIGHT * self.pace).round() as u64;
        costs.iter_mut().for_each(|cost| *cost *= weight);
        let own: u64 = costs.iter().sum();
        let (mut most, mut sum) = ([own as i64], [own as i64]);
        self.post.maximum(&mut most);
        self.post.sum(&mut sum);
        let imbalance = most[0] as f64 * self.post.count() as f64 / (sum[0] as f64).max(1.0);
        let achieved = *self.achieved.get_or_insert(imbalance);
        let change = (sum[0] - self.cut_cost).abs() as f64;
        let is_other = change > OTHER_COST * self.cut_cost as f64;
        let is_worse = imbalance > WORSE * achieved || is_other;
        if self.blocks.is_none() || (imbalance > MOST_IMBALANCE && is_worse) {
            self.cut(state, &places, &costs, sum[0]);
        }
        let blocks = self.blocks.as_ref().expect("space has been cut");
        places.iter().map(|place| blocks.owner(place)).collect()
    }

    /// Cuts space, where bodies are at these places with these costs, which have this sum over all ranks.
    pub fn cut(&mut self, state: &State, places: &[Place], costs: &[u64], sum: i64) {
        let sides = state.params.cell_size.as_dvec3().to_array();
        let cut = |ranks: &dyn Ranks| Blocks::new(ranks, places, costs, sides);
        self.blocks = Some(self.post.timed(cut));
        self.achieved = None;
        self.cut_cost = sum;
    }

    /// Sends bodies that move to other ranks, and takes those that come.
    fn exchange_moved(&mut self, state: &State, messages: Vec<Writer>) -> Come {
        let messages = messages.into_iter().map(|message| message.0).collect();
        let mut come = Come::default();
        for message in self.post.all_to_all(messages) {
            come.read_all(state, &mut Reader(&message));
        }
        come
    }

    /// Finds out how fast this rank is beside the others, which has computed steps of such a cost since the lists were built last.
    fn take_pace(&mut self, cost: u64) {
        let counts = self.post.counts;
        let computed = counts.all.saturating_sub(counts.communication);
        let (before, first) = replace(&mut self.paced, (computed, counts.steps));
        let steps = counts.steps - first;
        let own = [
            computed.saturating_sub(before).as_nanos() as i64,
            (cost * steps) as i64,
        ];
        let mut all = own;
        self.post.sum(&mut all);
        self.pace = pace(self.pace, own, all);
    }

    /// Sends bodies whose centres are in the blocks of others to these, and takes theirs: those that stay, by their indices
    /// in the part, and those that have come.
    fn migrate(&mut self, state: &State) -> (Vec<usize>, Come) {
        let owners = self.owners(state);
        let rank = self.post.rank();
        let mut messages = vec![Writer::default(); self.post.count()];
        let mut staying = Vec::new();
        for ((index, entry), owner) in self.own().zip(owners) {
            if owner == rank {
                staying.push(index);
                continue;
            }
            let whole = |sphere| self.whole_sphere(state, sphere);
            let ends = state.ends_of_bonds(index..index + 1);
            let bonds = ends.map(|place| self.whole_bond(place, &state.bonds[place]));
            let bonds: Vec<Bond> = bonds.collect();
            write_moved(state, index, *entry, &bonds, &mut messages[owner], whole);
        }
        let come = self.exchange_moved(state, messages);
        (staying, come)
    }

    /// Which of some own bodies, in their order, each rank has to have ghosts of: those that may touch one of its own before
    /// the lists are built again, and those to which a spring or a bond leads from one.
    fn wanted(
        &mut self,
        state: &State,
        own: &[(Entry, Source)],
        come: &Come,
        bonds: &[Bond],
    ) -> Vec<Vec<usize>> {
        let bodies = || own.iter().map(|(_, source)| source.body(state, come));
        let boxes = self.boxes(state, bodies());
        // Farther away than need be, so that they do for more than one time.
        let slack = f64::from(state.params.skin);
        let mut wanted = vec![Vec::new(); self.post.count()];
        for (other, bounds) in boxes {
            for (index, body) in bodies().enumerate() {
                if self.is_near(state, body, &bounds, slack) {
                    wanted[other].push(index);
                }
            }
        }
        let springs = self.actions.iter().any(|action| action.kind == SPRING);
        if springs || state.params.bonds == 1 {
            self.want_ends(own, bonds, &mut wanted);
        }
        wanted
    }

    /// Distance from the centre of a body up to which it may touch others, m. Places are those in the box before it was tilted, where
    /// what is near may be farther away.
    fn reach(&self, state: &State, body: &Body) -> f64 {
        let tilt = f64::from(state.params.tilt.abs().max_element());
        self.reaches[body.kind as usize] * (1.0 + tilt)
    }

    /// Whether a body may touch one in a box of [`Edges::boxes`], or one that is farther away by a `slack` (m).
    fn is_near(&self, state: &State, body: &Body, bounds: &Bounds, slack: f64) -> bool {
        let period = state.params.period.as_dvec3() * state.params.cell_size.as_dvec3();
        bounds.distance(position(state, body), period) < self.reach(state, body) + slack
    }

    /// The box around the bodies of each other rank that has any, with what they may touch. Those here are the `own` ones.
    fn boxes<'a>(
        &mut self,
        state: &State,
        own: impl Iterator<Item = &'a Body>,
    ) -> Vec<(usize, Bounds)> {
        let Bounds { min, max } = own.fold(Bounds::NONE, |bounds, body| {
            bounds.with(position(state, body), self.reach(state, body))
        });
        let corners = [min.to_array(), max.to_array()];
        let rank = self.post.rank();
        let all = self.post.all_gather(bytes_of(&corners));
        let all = all.chunks_exact(size_of_val(&corners)).enumerate();
        let others = all.filter(|(other, _)| *other != rank);
        let boxes = others.map(|(other, corners)| {
            let [min, max] = pod_read_unaligned::<[[f64; 3]; 2]>(corners).map(DVec3::from);
            (other, Bounds { min, max })
        });
        boxes
            .filter(|(_, bounds)| bounds.min.x <= bounds.max.x)
            .collect()
    }

    /// Whether other ranks have ghosts of all own bodies that may touch theirs before lists are built again.
    fn has_sent_enough(&mut self, state: &State) -> bool {
        let own = self.own().map(|(index, _)| &state.bodies[index]);
        let own: Vec<&Body> = own.collect();
        let boxes = self.boxes(state, own.into_iter());
        boxes.iter().all(|(other, bounds)| {
            let sent = self.sent.iter().find(|(rank, _)| rank == other);
            let sent = sent.map_or(&[][..], |(_, bodies)| bodies);
            let mut own = self.own();
            own.all(|(index, _)| {
                !self.is_near(state, &state.bodies[index], bounds, 0.0)
                    || sent.binary_search(&(index as u32)).is_ok()
            })
        })
    }

    /// Adds the own bodies to which springs and bonds of bodies of other ranks lead.
    fn want_ends(&mut self, own: &[(Entry, Source)], bonds: &[Bond], wanted: &mut [Vec<usize>]) {
        let find = |body: u32| {
            own.binary_search_by_key(&body, |(entry, _)| entry.body)
                .ok()
        };
        let springs = self.actions.iter().filter(|action| action.kind == SPRING);
        let springs = springs.filter(|action| find(action.body).is_some());
        let bonds = bonds.iter().filter(|bond| !bond.stays_broken());
        let ends = springs.map(|action| action.other);
        let ends = ends.chain(bonds.map(Bond::other));
        let mut ends: Vec<u32> = ends.filter(|&other| find(other).is_none()).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut message = Writer::default();
        message.put_all(&ends);
        let rank = self.post.rank();
        let all = self.post.all_to_all(vec![message.0; wanted.len()]);
        let others = wanted.iter_mut().zip(&all).enumerate();
        for (_, (wanted, message)) in others.filter(|(other, _)| *other != rank) {
            let ends: Vec<u32> = Reader(message).take_all();
            wanted.extend(ends.into_iter().filter_map(find));
            wanted.sort_unstable();
            wanted.dedup();
        }
    }

    /// Makes the part of its own bodies, some of which have been there before, and of the ghosts that it needs.
    pub fn gather(&mut self, state: &mut State, staying: Vec<usize>, mut come: Come) {
        // For both what was and what will be there is no room in the memory that a part takes.
        let spheres = state.spheres.len();
        state.free_search();
        let own = self.merge_own(&staying, &come);
        let bonds = self.merge_bonds(state, &staying, &mut come);
        let wanted = self.wanted(state, &own, &come, &bonds);
        let mut messages = vec![Vec::new(); wanted.len()];
        for (message, wanted) in messages.iter_mut().zip(&wanted) {
            let mut writer = Writer::default();
            for &index in wanted {
                let (entry, source) = &own[index];
                writer.put(entry.body);
                writer.put(entry.first_sphere);
                writer.put(*source.body(state, &come));
            }
            *message = writer.0;
        }
        let mut ghosts = Vec::new();
        let mut received = Vec::new();
        for (rank, message) in self.post.all_to_all(messages).iter().enumerate() {
            let mut message = Reader(message);
            let mut from = Vec::new();
            while !message.is_empty() {
                let entry = Entry {
                    body: message.take(),
                    first_sphere: message.take(),
                    ghost: true,
                };
                let mut body: Body = message.take();
                body.kind += self.kinds;
                from.push(entry.body);
                ghosts.push((entry, body));
            }
            if !from.is_empty() {
                received.push((rank, from));
            }
        }
        let sent = wanted.into_iter().enumerate();
        let sent = sent.filter(|(_, own)| !own.is_empty());
        let sent: Vec<(usize, Vec<u32>)> = sent
            .map(|(rank, wanted)| {
                let bodies = wanted.iter().map(|&index| own[index].0.body);
                (rank, bodies.collect())
            })
            .collect();
        drop(staying);
        self.assemble(state, own, ghosts, come, spheres);
        let place = |body: &u32| self.find(*body).expect("the part has the body") as u32;
        let places = |lists: Vec<(usize, Vec<u32>)>| {
            let lists = lists.into_iter();
            let lists = lists.map(|(rank, bodies)| (rank, bodies.iter().map(place).collect()));
            lists.collect::<Vec<(usize, Vec<u32>)>>()
        };
        let (sent, received) = (places(sent), places(received));
        self.sent_bodies = each_once(&sent);
        (self.sent, self.received) = (sent, received);
        self.take_in_one_piece();
        self.set_actions(state);
        self.set_bonds(state, bonds);
    }

    /// The own bodies from now on, in the order of the whole scene, and where they are.
    fn merge_own(&self, staying: &[usize], come: &Come) -> Vec<(Entry, Source)> {
        let mut own = Vec::with_capacity(staying.len() + come.bodies.len());
        let stays = |&index: &usize| (self.entries[index], Source::Stays(index as u32));
        own.extend(staying.iter().map(stays));
        let came = (0..).zip(&come.bodies);
        own.extend(came.map(|(index, (entry, _))| (*entry, Source::Came(index))));
        own.sort_unstable_by_key(|(entry, _)| entry.body);
        own
    }

    /// Takes the ends of bonds at them from the part and from what has come, with the indices of the whole scene.
    fn merge_bonds(&self, state: &mut State, staying: &[usize], come: &mut Come) -> Vec<Bond> {
        let mut bonds = self.take_bonds(state);
        let mut staying = staying.iter().map(|&index| self.entries[index].body);
        let mut next = staying.next();
        bonds.retain(|bond| {
            while next.is_some_and(|body| body < bond.own()) {
                next = staying.next();
            }
            next == Some(bond.own())
        });
        bonds.append(&mut come.bonds);
        // The ends at a body keep their order, in which it sums them.
        bonds.sort_by_key(Bond::own);
        bonds
    }

    /// Puts the part together: bodies, what they carry, and lists of the contacts that have a history. It had so many spheres before.
    /// For all that was and all that will be there is no room in the memory that a part takes: one buffer comes after the other.
    fn assemble(
        &mut self,
        state: &mut State,
        own: Vec<(Entry, Source)>,
        ghosts: Vec<(Entry, Body)>,
        mut come: Come,
        spheres_before: usize,
    ) {
        let size = state.params.history_size as usize;
        let mut all = own;
        let ghost_entries = (0..).zip(&ghosts);
        all.extend(ghost_entries.map(|(index, (entry, _))| (*entry, Source::Ghost(index))));
        all.sort_unstable_by_key(|(entry, _)| entry.body);
        let (entries, sources): (Vec<Entry>, Vec<Source>) = all.into_iter().unzip();
        let kinds = |source: Source| match source {
            Source::Ghost(index) => ghosts[index as usize].1.kind,
            source => source.body(state, &come).kind,
        };
        // Where the spheres of each body start now, and where those of the last one end.
        let mut firsts = Vec::with_capacity(sources.len() + 1);
        let mut sphere_count = 0;
        for &source in &sources {
            firsts.push(sphere_count);
            sphere_count += state.properties[kinds(source) as usize].sphere_count;
        }
        firsts.push(sphere_count);
        let spheres_of = |index: usize| firsts[index] as usize..firsts[index + 1] as usize;

        let mut loads = vec![SphereLoad::default(); sphere_count as usize];
        let mut forces = vec![BodyForce::default(); sources.len() * state.params.forces as usize];
        let mut heat = vec![BodyHeat::default(); sources.len() * state.params.heat as usize];
        let mut sums = vec![BodyBonds::default(); sources.len() * state.params.bonds as usize];
        for (now, source) in sources.iter().enumerate() {
            let (of_spheres, of_forces, of_heat, of_sums, index) = match *source {
                Source::Ghost(_) => continue,
                Source::Stays(index) => {
                    let index = index as usize;
                    let own = state.spheres_of(&state.bodies[index]);
                    let own = &state.sphere_loads[own];
                    (
                        own,
                        &state.body_forces,
                        &state.body_heat,
                        &state.body_bonds,
                        index,
                    )
                }
                Source::Came(index) => {
                    let index = index as usize;
                    let own = &come.loads[come.spheres_of(index)];
                    (own, &come.forces, &come.heat, &come.sums, index)
                }
            };
            loads[spheres_of(now)].copy_from_slice(of_spheres);
            if let Some(force) = forces.get_mut(now) {
                *force = of_forces[index];
            }
            if let Some(heat) = heat.get_mut(now) {
                *heat = of_heat[index];
            }
            if let Some(sums) = sums.get_mut(now) {
                *sums = of_sums[index];
            }
        }
        state.sphere_loads = loads;
        state.body_forces = forces;
        state.body_heat = heat;
        state.body_bonds = sums;
        come.loads = Vec::new();

        // Where spheres of before are now, for those who name them.
        let mut places = vec![u32::MAX; if size > 0 { spheres_before } else { 0 }];
        let mut next = 0;
        for (entry, before) in self.entries.iter().zip(&state.bodies) {
            while entries.get(next).is_some_and(|new| new.body < entry.body) {
                next += 1;
            }
            if size > 0 && entries.get(next).is_some_and(|new| new.body == entry.body) {
                for (k, sphere) in state.spheres_of(before).enumerate() {
                    places[sphere] = firsts[next] + k as u32;
                }
            }
        }
        // The sphere of the part that is one of the whole scene, if it has it.
        let sphere_of_whole = |sphere: u32| {
            let after = entries.partition_point(|entry| entry.first_sphere <= sphere);
            let index = after.checked_sub(1)?;
            let place = firsts[index] + (sphere - entries[index].first_sphere);
            (place < firsts[index + 1]).then_some(place)
        };
        // Calls a function with each contact of an own sphere: the other sphere, or the facet, and the history.
        let for_each_contact = |act: &mut dyn FnMut(usize, u32, &[Vec4])| {
            if size == 0 {
                return;
            }
            for (now, source) in sources.iter().enumerate() {
                match *source {
                    Source::Ghost(_) => (),
                    Source::Stays(index) => {
                        let before = state.spheres_of(&state.bodies[index as usize]);
                        for (sphere, before) in spheres_of(now).zip(before) {
                            for_each_history(state, before, |other, history| {
                                let other = match other & WALL {
                                    0 => places[other as usize],
                                    _ => other,
                                };
                                if other != u32::MAX {
                                    act(sphere, other, history);
                                }
                            });
                        }
                    }
                    Source::Came(index) => {
                        for (sphere, own) in spheres_of(now).zip(come.spheres_of(index as usize)) {
                            let (others, histories) = come.contacts_of(own, size);
                            for (&other, history) in others.iter().zip(histories.chunks_exact(size))
                            {
                                let other = match other & WALL {
                                    0 => sphere_of_whole(other),
                                    _ => Some(other),
                                };
                                if let Some(other) = other {
                                    act(sphere, other, history);
                                }
                            }
                        }
                    }
                }
            }
        };
        let mut ghost = vec![false; sphere_count as usize];
        for (index, _) in entries.iter().enumerate().filter(|(_, own)| own.ghost) {
            ghost[spheres_of(index)].fill(true);
        }
        // Ghosts have their contacts with own spheres, too; these come in order, so all lists are sorted.
        let is_ghost = |other: u32| other & WALL == 0 && ghost[other as usize];
        let mut starts = vec![0_u32; sphere_count as usize + 1];
        for_each_contact(&mut |sphere, other, _| {
            starts[sphere + 1] += 1;
            if is_ghost(other) {
                starts[other as usize + 1] += 1;
            }
        });
        for sphere in 1..starts.len() {
            starts[sphere] += starts[sphere - 1];
        }
        let count = starts[sphere_count as usize];
        let mut neighbours = vec![0; count as usize];
        let mut histories = vec![Vec4::ZERO; size * count as usize];
        let mut next = starts.clone();
        for_each_contact(&mut |sphere, other, history| {
            let mut put = |sphere: usize, other: u32, history: History| {
                let entry = next[sphere] as usize;
                next[sphere] += 1;
                neighbours[entry] = other;
                history.write(&mut histories[size * entry..size * (entry + 1)]);
            };
            let history = History::of(history);
            put(sphere, other, history);
            if is_ghost(other) {
                put(other as usize, sphere as u32, history.reversed());
            }
        });
        state.neighbour_starts = starts;
        state.neighbours = neighbours;
        state.history = histories;
        drop((next, ghost, places));

        let bodies = sources.iter().zip(&firsts).map(|(&source, &first_sphere)| {
            let body = match source {
                Source::Ghost(index) => &ghosts[index as usize].1,
                source => source.body(state, &come),
            };
            Body {
                first_sphere,
                ..*body
            }
        });
        state.bodies = bodies.collect();
        drop((come, ghosts, sources));
        state.spheres = vec![Sphere::default(); sphere_count as usize];
        for (index, own) in firsts.windows(2).enumerate() {
            for sphere in &mut state.spheres[own[0] as usize..own[1] as usize] {
                sphere.body = index as u32;
            }
        }
        state.stats[0].neighbours = count;
        state.params.neighbour_capacity = count;
        state.fit();
        self.entries = entries;
    }

    /// Sends a message to each rank that has ghosts of own bodies, and takes those of the ranks that step the ghosts here, which have
    /// so many bytes for each.
    pub fn swap(&mut self, sent: Vec<(usize, Vec<u8>)>, size: usize) -> Vec<Vec<u8>> {
        let lengths = self.received.iter().map(|(_, ghosts)| size * ghosts.len());
        let mut received: Vec<Vec<u8>> = lengths.map(|length| vec![0; length]).collect();
        let sent: Vec<(usize, &[u8])> = sent.iter().map(|(rank, own)| (*rank, &own[..])).collect();
        let ranks = self.received.iter().map(|(rank, _)| *rank);
        let to = received.iter_mut().map(|own| &mut own[..]);
        self.post
            .exchange(&sent, &mut ranks.zip(to).collect::<Vec<_>>());
        received
    }

    /// Has the ranks look for owners and ghosts when lists are built next: anything may have changed.
    pub fn unsettle(&mut self) {
        self.stays = 0;
    }

    /// Begins steps.
    pub fn begin(&mut self) {
        self.ending = false;
        self.post.begin();
    }

    /// Before a step that builds the neighbour lists, tells whether no body need come or go, on any rank. The state has the bodies.
    pub fn stays(&mut self, state: &State) -> bool {
        // The two sides of a contact of sleeping bodies may differ, and springs and bonds lead anywhere.
        let leads = self.actions.iter().any(|action| action.kind == SPRING);
        let must =
            self.stays == 0 || state.params.sleep_steps > 0 || state.params.bonds == 1 || leads;
        let anywhere = |edges: &mut Edges, own: bool| {
            let mut all = [i64::from(own)];
            edges.post.maximum(&mut all);
            all[0] == 1
        };
        if anywhere(self, must) {
            return false;
        }
        let lacks = !self.has_sent_enough(state);
        if anywhere(self, lacks) {
            return false;
        }
        self.stays -= 1;
        self.post.counts.lists += 1;
        true
    }

    /// Before a step that builds the neighbour lists, bodies come and go. The state has all values.
    pub fn rebuild(&mut self, state: &mut State) {
        let (staying, come) = self.migrate(state);
        self.gather(state, staying, come);
        self.swap_heat(state);
        self.stays = MOST_STAYS;
        self.post.counts.lists += 1;
        self.post.counts.handovers += 1;
    }

    /// Own bodies of which other ranks have ghosts, and the ghosts here, each once and in order.
    pub fn exchanged(&self) -> [Vec<u32>; 2] {
        [self.sent_bodies.clone(), each_once(&self.received)]
    }

    /// Whether the next step is to be the last.
    pub fn is_cancelled(&self) -> bool {
        self.ending
    }

    /// Sends the temperatures of own bodies, and takes those of ghosts.
    pub fn swap_heat(&mut self, state: &mut State) {
        if state.params.heat == 0 {
            return;
        }
        let sent = self.sent.iter().map(|(rank, bodies)| {
            let own = bodies.iter().map(|&body| state.body_heat[body as usize]);
            (*rank, pod_collect_to_vec(&own.collect::<Vec<BodyHeat>>()))
        });
        let come = self.swap(sent.collect(), size_of::<BodyHeat>());
        for ((_, ghosts), message) in self.received.iter().zip(&come) {
            let rows = message.chunks_exact(size_of::<BodyHeat>());
            for (&ghost, row) in ghosts.iter().zip(rows) {
                state.body_heat[ghost as usize] = pod_read_unaligned(row);
            }
        }
    }
}

/// The bodies of some lists, each once and in order.
fn each_once(lists: &[(usize, Vec<u32>)]) -> Vec<u32> {
    let all = lists.iter().flat_map(|(_, bodies)| bodies);
    let mut all: Vec<u32> = all.copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The pace of a rank that had one `before`, after it and all ranks have computed for a time at a cost.
fn pace(before: f64, own: [i64; 2], all: [i64; 2]) -> f64 {
    if own.iter().chain(&all).any(|number| *number <= 0) {
        return before;
    }
    let [own, all] = [own, all].map(|[time, cost]| time as f64 / cost as f64);
    let now = before + NEW_PACE * (own / all - before);
    now.clamp(1.0 / MOST_PACE, MOST_PACE)
}

/// Place where a rank has a body, and what it carries, before its part is put together.
#[derive(Clone, Copy)]
enum Source {
    /// At this place of before.
    Stays(u32),
    /// In this place of those that have come.
    Came(u32),
    /// In this place of the ghosts; another rank has what it carries.
    Ghost(u32),
}

impl Source {
    /// An own body.
    fn body<'a>(self, state: &'a State, come: &'a Come) -> &'a Body {
        match self {
            Source::Stays(index) => &state.bodies[index as usize],
            Source::Came(index) => &come.bodies[index as usize].1,
            Source::Ghost(_) => unreachable!("a ghost is no own body"),
        }
    }
}

/// Writes all that a body carries: `whole` gives the index of a sphere in the whole scene, and `bonds` are ends of bonds as they are
/// there.
pub(super) fn write_moved(
    state: &State,
    index: usize,
    entry: Entry,
    bonds: &[Bond],
    message: &mut Writer,
    whole: impl Fn(u32) -> u32,
) {
    write_carried(state, index, entry, bonds, message);
    let (mut others, mut histories) = (Vec::new(), Vec::new());
    for sphere in state.spheres_of(&state.bodies[index]) {
        others.clear();
        histories.clear();
        for_each_history(state, sphere, |other, history| {
            others.push(match other & WALL {
                0 => whole(other),
                _ => other,
            });
            histories.extend_from_slice(history);
        });
        message.put_all(&others);
        message.put_all(&histories);
    }
}

/// Writes what a body carries but for its contacts: those of each of its spheres, and their histories, are to follow.
pub(super) fn write_carried(
    state: &State,
    index: usize,
    entry: Entry,
    bonds: &[Bond],
    message: &mut Writer,
) {
    message.put(entry.body);
    message.put(entry.first_sphere);
    message.put(state.bodies[index]);
    if state.params.forces == 1 {
        message.put(state.body_forces[index]);
    }
    if state.params.heat == 1 {
        message.put(state.body_heat[index]);
    }
    if state.params.bonds == 1 {
        message.put(state.body_bonds[index]);
        let start = bonds.partition_point(|bond| bond.own() < entry.body);
        let count = bonds[start..].partition_point(|bond| bond.own() == entry.body);
        message.put_all(&bonds[start..start + count]);
    }
    let spheres = state.spheres_of(&state.bodies[index]);
    message.put_all(&state.sphere_loads[spheres]);
}

/// A box in space, m.
#[derive(Clone, Copy)]
struct Bounds {
    min: DVec3,
    max: DVec3,
}

impl Bounds {
    const NONE: Bounds = Bounds {
        min: DVec3::INFINITY,
        max: DVec3::NEG_INFINITY,
    };

    fn with(self, place: DVec3, reach: f64) -> Bounds {
        Bounds {
            min: self.min.min(place - reach),
            max: self.max.max(place + reach),
        }
    }

    /// Returns the distance of a place from it; in a periodic box, from the nearest of its images.
    fn distance(&self, place: DVec3, period: DVec3) -> f64 {
        let one = |place: DVec3| (self.min - place).max(place - self.max).max(DVec3::ZERO);
        let mut nearest = one(place);
        for shift in [period, -period] {
            nearest = nearest.min(one(place + shift));
        }
        nearest.length()
    }
}

/// Returns the position of a body, from cell 0 on, m.
fn position(state: &State, body: &Body) -> DVec3 {
    let cells = body.cell.as_dvec3() + body.offset.as_dvec3() * f64::from(FRACTION);
    cells * state.params.cell_size.as_dvec3()
}

/// Calls a function with each entry of the neighbour list of a sphere that has a history, and with that.
fn for_each_history(state: &State, sphere: usize, mut act: impl FnMut(u32, &[Vec4])) {
    let size = state.params.history_size as usize;
    if size == 0 {
        return;
    }
    let [start, end] = [0, 1].map(|k| state.neighbour_starts[sphere + k] as usize);
    for entry in start..end {
        let history = &state.history[size * entry..size * (entry + 1)];
        if history.iter().any(|own| *own != Vec4::ZERO) {
            act(state.neighbours[entry], history);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_rank_has_a_pace_above_the_mean() {
        // One of four takes twice as long for the same.
        let of = |time: i64, rounds: usize| {
            (0..rounds).fold(1.0, |before, _| pace(before, [time, 100], [500, 400]))
        };
        assert!((of(200, 40) - 1.6).abs() < 0.01);
        assert!((of(100, 40) - 0.8).abs() < 0.01);
        assert!(of(200, 1) < 1.2, "one time is not taken at its word");
        assert_eq!(pace(1.3, [0, 0], [500, 400]), 1.3, "nothing was computed");
        assert_eq!(pace(1.3, [7, 7], [0, 0]), 1.3, "there is no clock");
        assert_eq!(
            (0..99).fold(1.0, |before, _| pace(
                before,
                [1 << 40, 1],
                [1 << 40, 1 << 40]
            )),
            4.0
        );
    }
}
