//! The part of a scene that a rank steps, and what it does when rank 0 says so.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::{NoUninit, bytes_of, cast_slice, pod_collect_to_vec, pod_read_unaligned};
use encase::UniformBuffer;
use glam::Vec4;

use super::Ranks;
use super::bytes::{Reader, Writer};
use super::edges::{Edges, Entry};
use super::engine::{RankEngine, Wanted};
use super::pack::Shares;
use super::post::{Counts, Post};
use super::scribe::Scribe;
use super::start::Recipe;
use crate::state::layout::{
    Action, Body, BodyBonds, BodyForce, BodyHeat, Bond, Params, Sphere, SphereLoad, Stats, WALL,
    WallPose,
};
use crate::state::{Field, KinematicWalls, State, bonds};
use crate::step::Before;
use crate::step::clock::Clock;

/// A command of rank 0 to all ranks, itself among them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
pub(super) enum Command {
    /// Begin a scene: all that is constant, and no bodies.
    Start,
    /// Take the bodies that rank 0 gives out.
    GiveOut,
    /// Make the bodies with which a model starts.
    Make,
    /// Take steps.
    Step,
    /// Send fields of some of the own bodies to rank 0.
    Read,
    /// Send some spheres to rank 0.
    ReadSpheres,
    /// Send the rows of some bodies to rank 0.
    ReadRows,
    /// Send the bonds that have broken at least once to rank 0.
    ReadChangedBonds,
    /// Take over a field of the whole scene.
    Write,
    /// Take over rows of some bodies.
    WriteRows,
    /// Take over the parameters.
    Params,
    /// Have the lists built in the next step.
    Stale,
    /// Wake all bodies.
    Wake,
    /// Put bodies where they are in a box that is tilted less.
    Untilt,
    /// Take bodies away.
    Remove,
    /// Say what has been counted.
    Report,
    /// Say how many entries the neighbour lists of the own spheres have.
    Count,
    /// Write a file together.
    Save,
    /// Do something with a share of the whole: see [`RankShare`](super::share::RankShare).
    Work,
    /// Look for places of a random fill: see [`RankSearch`](super::search::RankSearch).
    Search,
    /// End.
    End,
}

impl Command {
    const ALL: [Command; 21] = [
        Command::Start,
        Command::GiveOut,
        Command::Make,
        Command::Step,
        Command::Read,
        Command::ReadSpheres,
        Command::ReadRows,
        Command::ReadChangedBonds,
        Command::Write,
        Command::WriteRows,
        Command::Params,
        Command::Stale,
        Command::Wake,
        Command::Untilt,
        Command::Remove,
        Command::Report,
        Command::Count,
        Command::Save,
        Command::Work,
        Command::Search,
        Command::End,
    ];

    pub fn message(self) -> Writer {
        Writer(vec![self as u8])
    }

    /// The rest of a message, if it is of this command.
    pub fn strip(self, message: &[u8]) -> Option<&[u8]> {
        message.strip_prefix(&[self as u8])
    }
}

/// The fields that are the same for all ranks.
pub(super) const SHARED: [Field; 8] = [
    Field::Properties,
    Field::Members,
    Field::Pairs,
    Field::Groups,
    Field::Geometry,
    Field::Walls,
    Field::DynamicWalls,
    Field::WallLoads,
];

/// The fields of the neighbour lists, which are read together.
pub(super) const LISTS: [Field; 3] = [Field::NeighbourStarts, Field::Neighbours, Field::History];

/// The fields of which a rank has the elements of its own bodies.
pub(super) const SPREAD: [Field; 10] = [
    Field::Bonds,
    Field::Bodies,
    Field::BodyForces,
    Field::BodyHeat,
    Field::BodyBonds,
    Field::Spheres,
    Field::SphereLoads,
    Field::NeighbourStarts,
    Field::Neighbours,
    Field::History,
];

/// Sides of bonds that are read: who sums them up needs each once.
pub(super) const FIRST_SIDE: u32 = 1;
pub(super) const BOTH_SIDES: u32 = 2;

/// The part of a scene that a rank steps.
pub(super) struct Part {
    pub engine: RankEngine,
    pub state: State,
    pub edges: Edges,
    /// Bodies and bonds that this rank has of those of which all ranks have shares.
    pub shares: Shares,
    /// At rank 0: what the host has of the file that is to be written next, with the places of these bytes.
    pub pieces: Vec<(u64, Vec<u8>)>,
}

/// Params as the shaders have them: a struct with room between its fields has no bytes of its own.
pub(super) fn bytes_of_params(params: &Params) -> Vec<u8> {
    let mut buffer = UniformBuffer::new(Vec::new());
    buffer.write(params).expect("a vector grows to any size");
    buffer.into_inner()
}

pub(super) fn params_of(bytes: &[u8]) -> Params {
    let params = UniformBuffer::new(bytes).create();
    params.expect("the bytes are those of params")
}

impl Part {
    /// The part of a rank that has no scene as yet.
    pub fn new(ranks: Arc<dyn Ranks>, clock: Option<Clock>) -> Part {
        Part {
            engine: RankEngine::default(),
            state: State::default(),
            edges: Edges::new(Post::new(ranks, clock)),
            shares: Shares::default(),
            pieces: Vec::new(),
        }
    }

    /// Gives `message` to rank 0, which gets those of all ranks; the others get nothing.
    pub fn to_first(&self, message: Vec<u8>) -> Vec<Vec<u8>> {
        let ranks = &self.edges.post.ranks;
        let mut messages = vec![Vec::new(); ranks.count()];
        messages[0] = message;
        ranks.all_to_all(messages)
    }

    /// Does what a message says. Returns what all ranks had to say, at rank 0, and whether that was not the end.
    pub fn obey(&mut self, message: &[u8]) -> (Vec<Vec<u8>>, bool) {
        let mut message = Reader(message);
        let command = Command::ALL[message.take::<u8>() as usize];
        let looks = [
            Command::Step,
            Command::Read,
            Command::ReadSpheres,
            Command::ReadRows,
            Command::ReadChangedBonds,
            Command::Report,
            Command::Count,
            Command::Save,
        ];
        // Nobody asks for the state there.
        let does_without = [Command::Start, Command::Step, Command::Report, Command::End];
        if !does_without.contains(&command) {
            self.hold();
        }
        if !looks.contains(&command) {
            self.engine.forget();
            self.edges.unsettle();
        }
        let answer = match command {
            Command::Start => Some(self.start(&mut message)),
            Command::GiveOut => {
                let given = self.edges.give_out(&mut self.state, None);
                given.expect("rank 0 alone reads bodies");
                None
            }
            Command::Make => {
                let recipe = Recipe::read(&mut message);
                let (bodies, bonds) = (self.shares.own_bodies(), self.shares.own_bonds());
                let state = &mut self.state;
                self.edges.make(state, &recipe, None, &bodies, &bonds);
                None
            }
            Command::Step => {
                self.step(&mut message);
                None
            }
            Command::Read => {
                let bodies = message.take::<u32>()..message.take::<u32>();
                let sides = message.take();
                let fields = message.take_all::<u8>();
                let fields = fields.iter().map(|&own| Field::ALL[own as usize]);
                Some(self.read(bodies, sides, &fields.collect::<Vec<_>>()))
            }
            Command::ReadSpheres => Some(self.read_spheres(&message.take_all())),
            Command::ReadRows => Some(self.read_rows(&message.take_all())),
            Command::ReadChangedBonds => Some(self.read_changed_bonds()),
            Command::Write => {
                let field = Field::ALL[message.take::<u8>() as usize];
                self.write(field, message.bytes_of_all::<u8>());
                None
            }
            Command::WriteRows => {
                self.write_rows(&mut message);
                None
            }
            Command::Params => {
                self.set_params(params_of(message.bytes_of_all::<u8>()));
                self.edges.set_actions(&mut self.state);
                None
            }
            Command::Stale => {
                self.state.stats[0].stale = 1;
                None
            }
            Command::Wake => {
                self.state.bodies.iter_mut().for_each(|body| body.still = 0);
                None
            }
            Command::Untilt => {
                let axes: [u32; 2] = message.take();
                let axes = axes.map(|axis| axis as usize);
                self.state.untilt(axes, message.take());
                None
            }
            Command::Remove => {
                self.remove(&mut message);
                None
            }
            Command::Report => Some(self.report()),
            Command::Count => Some(self.count()),
            Command::Save => Some(self.save(&mut message)),
            Command::Work | Command::Search | Command::End => None,
        };
        let answers = answer.map_or_else(Vec::new, |answer| self.to_first(answer));
        (answers, command != Command::End)
    }

    /// Has the state here be all that there is of it: a device may have newer values.
    pub fn hold(&mut self) {
        if let Err(error) = self.engine.hold(&mut self.state) {
            self.edges.post.ranks.abort(&error.to_string());
        }
    }

    /// A message with all that the ranks need of a state but its bodies.
    pub fn start_of(state: &State, wanted: &Wanted) -> Writer {
        let mut message = Command::Start.message();
        wanted.write(&mut message);
        message.put_all(&bytes_of_params(&state.params));
        message.put(state.stats[0]);
        message.put_all(&state.actions);
        for field in SHARED {
            message.put_all(state.bytes(field));
        }
        message
    }

    /// Begins a scene. Returns why it cannot, or nothing.
    fn start(&mut self, message: &mut Reader) -> Vec<u8> {
        let wanted = Wanted::read(message);
        let begun = self.engine.begin(&wanted, &self.edges.post);
        let params = params_of(message.bytes_of_all::<u8>());
        let stats: Stats = message.take();
        self.edges.clear();
        self.edges.actions = message.take_all();
        let mut state = State {
            stats: vec![stats],
            ..State::default()
        };
        for field in SHARED {
            state.set_bytes(field, message.bytes_of_all::<u8>());
        }
        self.edges
            .set_kinds(&mut state.properties, &state.members, params.skin);
        self.state = state;
        self.state.neighbour_starts = vec![0];
        self.set_params(params);
        self.state.params.neighbour_capacity = 0;
        self.state.fit();
        self.edges.set_actions(&mut self.state);
        let problem = begun.err().map(|error| error.to_string());
        problem.unwrap_or_default().into_bytes()
    }

    /// Takes over parameters, but for the numbers of what there is.
    fn set_params(&mut self, params: Params) {
        self.edges.pulled = params.pulled;
        let own = &self.state.params;
        self.state.params = Params {
            body_count: own.body_count,
            sphere_count: own.sphere_count,
            bucket_count: own.bucket_count,
            stripes: own.stripes,
            neighbour_capacity: own.neighbour_capacity,
            slice_length: own.slice_length,
            action_count: own.action_count,
            bond_count: own.bond_count,
            pulled: own.pulled,
            ghosts: 1,
            // There are no tables with the kinds of ghosts.
            balls: 0,
            clumps: 0,
            ..params
        };
    }

    /// Takes over the bodies of a state that come in after so many bodies and spheres of the whole scene: rank 0 does, and they go to
    /// others when the lists are built.
    pub fn adopt(&mut self, new: &State, before: [u32; 2]) {
        self.engine.forget();
        let own = &mut self.state;
        let spheres = own.spheres.len();
        for (index, body) in (0..).zip(&new.bodies) {
            self.edges.entries.push(Entry {
                body: before[0] + index,
                first_sphere: before[1] + body.first_sphere,
                ghost: false,
            });
            let place = own.bodies.len() as u32;
            let first_sphere = own.spheres.len() as u32;
            let all = new.spheres_of(body);
            own.spheres.extend(all.map(|_| Sphere {
                body: place,
                ..Sphere::default()
            }));
            own.bodies.push(Body {
                first_sphere,
                ..*body
            });
        }
        own.sphere_loads.truncate(spheres);
        own.sphere_loads.extend_from_slice(&new.sphere_loads);
        own.body_forces.extend_from_slice(&new.body_forces);
        own.body_heat.extend_from_slice(&new.body_heat);
        // Who comes later has no bonds.
        own.body_bonds.extend_from_slice(&new.body_bonds);
        own.fit();
        self.edges.set_actions(&mut self.state);
    }

    fn step(&mut self, message: &mut Reader) {
        let count: u64 = message.take();
        let movers: u64 = message.take();
        if movers > 0 {
            let first = u64::from(self.state.stats[0].steps) + 1;
            let poses: Vec<WallPose> = message.take_all();
            let poses = poses.chunks_exact(movers as usize).map(<[_]>::to_vec);
            self.state.kinematic_walls = KinematicWalls::given(first, poses.collect());
        }
        let Part {
            engine,
            state,
            edges,
            ..
        } = self;
        edges.begin();
        if let Err(error) = engine.steps(state, count, edges) {
            edges.post.ranks.abort(&error.to_string());
        }
        // What was written back after the last one.
        edges.post.end_step();
        let stats = &mut state.stats[0];
        let mut most = [i64::from(stats.max_overlap_fraction)];
        edges.post.ranks.maximum(&mut most);
        stats.max_overlap_fraction = most[0] as u32;
    }

    /// A message that asks for some fields of some bodies, that of the bodies first if it is among them, and so many sides of bonds.
    pub fn reading(bodies: Range<u32>, sides: u32, fields: &[Field]) -> Writer {
        let mut message = Command::Read.message();
        message.put([bodies.start, bodies.end]);
        message.put(sides);
        let number = |field: &Field| Field::ALL.iter().position(|own| own == field);
        let numbers = fields.iter().filter_map(number).map(|number| number as u8);
        message.put_all(&numbers.collect::<Vec<u8>>());
        message
    }

    /// Some fields of those of some bodies that are own ones, as the whole scene has them: see [`Part::place`].
    pub fn read(&self, bodies: Range<u32>, sides: u32, fields: &[Field]) -> Vec<u8> {
        let own = self.edges.own_among(bodies);
        let own: Vec<(usize, Entry)> = own.map(|(index, entry)| (index, *entry)).collect();
        let bodies: Vec<u32> = own.iter().map(|(_, entry)| entry.body).collect();
        let mut message = Writer::default();
        message.put_all(&bodies);
        for &field in fields {
            message.put_all(&self.rows(field, sides, &own));
        }
        message.0
    }

    /// The elements that some own bodies have in a buffer, as the whole scene has them; of where lists start, how long they are; of bonds,
    /// their ends on so many sides.
    fn rows(&self, field: Field, sides: u32, own: &[(usize, Entry)]) -> Vec<u8> {
        let Part { state, edges, .. } = self;
        let indices = own.iter().map(|(index, _)| *index);
        let spheres = || {
            let own = indices.clone();
            own.flat_map(|index| state.spheres_of(&state.bodies[index]))
        };
        match field {
            Field::Bodies => {
                bytes_of_all(indices.map(|index| edges.whole_body(index, state.bodies[index])))
            }
            Field::BodyForces if state.params.forces == 1 => {
                bytes_of_all(indices.map(|index| state.body_forces[index]))
            }
            Field::BodyHeat if state.params.heat == 1 => {
                bytes_of_all(indices.map(|index| state.body_heat[index]))
            }
            Field::BodyBonds if state.params.bonds == 1 => {
                bytes_of_all(indices.map(|index| state.body_bonds[index]))
            }
            Field::Bonds => {
                // Ghosts between the first and the last have no ends.
                let [first, last] = [own.first(), own.last()].map(|own| own.map(|own| own.0));
                let bodies = first.unwrap_or(0)..last.map_or(0, |last| last + 1);
                let ends = state.ends_of_bonds(bodies);
                let ends = ends.filter(|&place| state.bonds[place].side < sides);
                bytes_of_all(ends.map(|place| edges.whole_bond(place, &state.bonds[place])))
            }
            Field::Spheres => bytes_of_all(spheres().map(|sphere| {
                let own = state.spheres[sphere];
                Sphere {
                    body: edges.entries[own.body as usize].body,
                    ..own
                }
            })),
            Field::SphereLoads => bytes_of_all(spheres().map(|sphere| state.sphere_loads[sphere])),
            Field::NeighbourStarts => {
                let starts = &state.neighbour_starts;
                bytes_of_all(spheres().map(|sphere| starts[sphere + 1] - starts[sphere]))
            }
            Field::Neighbours => bytes_of_all(entries(state, spheres()).map(|entry| {
                let other = state.neighbours[entry];
                match other & WALL {
                    0 => edges.whole_sphere(state, other),
                    _ => other,
                }
            })),
            Field::History => {
                let size = state.params.history_size as usize;
                let histories = entries(state, spheres());
                let histories =
                    histories.flat_map(|entry| &state.history[size * entry..size * (entry + 1)]);
                bytes_of_all(histories.copied())
            }
            _ => Vec::new(),
        }
    }

    fn count(&self) -> Vec<u8> {
        let mut message = Writer::default();
        message.put(entries(&self.state, self.own_spheres()).count() as u64);
        message.0
    }

    fn own_spheres(&self) -> impl Iterator<Item = usize> {
        let own = self.edges.own();
        own.flat_map(|(index, _)| self.state.spheres_of(&self.state.bodies[index]))
    }

    /// The index of each own sphere in the whole scene, and the length of its list.
    fn lengths_of_lists(&self, own: &[(usize, Entry)]) -> Vec<[u32; 2]> {
        let state = &self.state;
        let lengths = own.iter().flat_map(|(index, entry)| {
            let spheres = state.spheres_of(&state.bodies[*index]);
            let length = |sphere| entries(state, sphere..sphere + 1).count() as u32;
            spheres
                .zip(entry.first_sphere..)
                .map(move |(sphere, whole)| [whole, length(sphere)])
        });
        lengths.collect()
    }

    /// The index of each own body with bonds in the whole scene, and the number of its ends of bonds.
    fn numbers_of_ends(&self) -> Vec<[u32; 2]> {
        let bonds = &self.state.bonds;
        let of_bodies = bonds.chunk_by(|a, b| a.own() == b.own());
        let numbers = of_bodies.map(|ends| {
            let body = self.edges.entries[ends[0].own() as usize].body;
            [body, ends.len() as u32]
        });
        numbers.collect()
    }

    /// Returns the starts of some own lists among all of the whole scene, which has `count` of them, given the place of each among these
    /// and its length.
    fn whole_starts(&self, own: &[[u32; 2]], count: usize) -> Vec<u32> {
        let ranks = &self.edges.post.ranks;
        // Each rank adds up lists that follow each other.
        let share = count.div_ceil(ranks.count()).max(1);
        let mut messages = vec![Vec::new(); ranks.count()];
        let mut asked = Vec::new();
        for list in own {
            let rank = list[0] as usize / share;
            messages[rank].extend_from_slice(bytes_of(list));
            asked.push(rank);
        }
        let first = share * ranks.rank();
        let mut starts = vec![0_u32; share];
        let messages = ranks.all_to_all(messages);
        let pairs = |message: &[u8]| pod_collect_to_vec::<u8, [u32; 2]>(message);
        for [list, length] in messages.iter().flat_map(|message| pairs(message)) {
            starts[list as usize - first] = length;
        }
        let sum: u32 = starts.iter().sum();
        let sums = ranks.all_gather(bytes_of(&sum));
        let sums: Vec<u32> = pod_collect_to_vec(&sums);
        let mut next: u32 = sums[..ranks.rank()].iter().sum();
        for start in &mut starts {
            (*start, next) = (next, next + *start);
        }
        let answer = |message: &Vec<u8>| {
            let starts = pairs(message)
                .into_iter()
                .map(|[own, _]| starts[own as usize - first]);
            cast_slice(&starts.collect::<Vec<u32>>()).to_vec()
        };
        let answers = ranks.all_to_all(messages.iter().map(answer).collect());
        let mut answers: Vec<_> = answers.iter().map(|answer| Reader(answer)).collect();
        asked.into_iter().map(|rank| answers[rank].take()).collect()
    }

    /// Writes its part of a file: see [`Scribe`]. Returns what has kept it from that, or nothing, and the hashes of its blocks.
    fn save(&mut self, message: &mut Reader) -> Vec<u8> {
        let path: Vec<u8> = message.take_all();
        let path = String::from_utf8_lossy(&path).into_owned();
        let length: u64 = message.take();
        let [bodies, spheres] = message.take::<[u32; 2]>().map(|count| count as usize);
        let starts = SPREAD.map(|_| message.take::<u64>());
        let ranks = Arc::clone(&self.edges.post.ranks);
        let mut scribe = Scribe::new(ranks.count(), length);
        for (place, bytes) in std::mem::take(&mut self.pieces) {
            scribe.put(place, &bytes);
        }
        let own: Vec<(usize, Entry)> = self.edges.own().map(|(k, entry)| (k, *entry)).collect();
        let lists = self.whole_starts(&self.lengths_of_lists(&own), spheres);
        let ends = self.numbers_of_ends();
        let starts_of_ends = self.whole_starts(&ends, bodies);
        for (field, start) in SPREAD.into_iter().zip(starts) {
            if start == u64::MAX {
                continue;
            }
            let rows = match field {
                Field::NeighbourStarts => cast_slice(&lists).to_vec(),
                _ => self.rows(field, BOTH_SIDES, &own),
            };
            // No body has any, as the scene is.
            if rows.is_empty() {
                continue;
            }
            let mut rest = &rows[..];
            let mut put = |place: u64, size: usize, count: usize| {
                let bytes;
                (bytes, rest) = rest.split_at(size * count);
                scribe.put(start + place * size as u64, bytes);
            };
            let state = &self.state;
            let of_history = size_of::<Vec4>() * state.params.history_size as usize;
            if field == Field::Bonds {
                let starts = starts_of_ends.iter();
                for (&start, [_, count]) in starts.zip(&ends) {
                    put(start.into(), size_of::<Bond>(), *count as usize);
                }
                continue;
            }
            let mut lists = lists.iter();
            for (index, entry) in &own {
                let spheres = state.spheres_of(&state.bodies[*index]);
                let (body, first) = (u64::from(entry.body), u64::from(entry.first_sphere));
                match field {
                    Field::Bodies => put(body, size_of::<Body>(), 1),
                    Field::BodyForces => put(body, size_of::<BodyForce>(), 1),
                    Field::BodyHeat => put(body, size_of::<BodyHeat>(), 1),
                    Field::BodyBonds => put(body, size_of::<BodyBonds>(), 1),
                    Field::Spheres => put(first, size_of::<Sphere>(), spheres.len()),
                    Field::SphereLoads => put(first, size_of::<SphereLoad>(), spheres.len()),
                    Field::NeighbourStarts => put(first, size_of::<u32>(), spheres.len()),
                    _ => {
                        for (sphere, &list) in spheres.zip(&mut lists) {
                            let count = entries(state, sphere..sphere + 1).count();
                            match field {
                                Field::Neighbours => put(list.into(), size_of::<u32>(), count),
                                _ => put(list.into(), of_history, count),
                            }
                        }
                    }
                }
            }
        }
        let written = scribe.write(&*ranks, path.as_ref());
        let mut answer = Writer::default();
        let problem = written.as_ref().err().map(ToString::to_string);
        answer.put_all(problem.unwrap_or_default().as_bytes());
        answer.put_all(&written.unwrap_or_default());
        answer.0
    }

    /// The bodies that a rank has read, by their indices in the whole scene.
    pub fn placed_bodies(message: &[u8]) -> impl Iterator<Item = (u32, Body)> {
        let mut message = Reader(message);
        let mut bodies: Vec<u32> = Vec::new();
        let mut rows: &[u8] = &[];
        if !message.is_empty() {
            bodies = message.take_all();
            rows = message.bytes_of_all::<u8>();
        }
        let rows = rows.chunks_exact(size_of::<Body>());
        bodies.into_iter().zip(rows.map(pod_read_unaligned))
    }

    /// Puts what a rank has read, but for bodies, into a state that has these, and so many bodies and spheres of the whole scene
    /// before its first. Returns the neighbour lists.
    pub fn place(message: &[u8], fields: &[Field], state: &mut State, before: [u32; 2]) -> Lists {
        let mut message = Reader(message);
        let mut lists = Lists::default();
        if message.is_empty() {
            return lists;
        }
        let bodies: Vec<u32> = message.take_all();
        let bodies: Vec<u32> = bodies.iter().map(|body| body - before[0]).collect();
        lists.spheres = bodies
            .iter()
            .flat_map(|&body| state.spheres_of(&state.bodies[body as usize]))
            .map(|sphere| sphere as u32)
            .collect();
        for &field in fields {
            let rows = message.bytes_of_all::<u8>();
            match field {
                Field::BodyForces => put(&mut state.body_forces, &bodies, rows),
                Field::BodyHeat => put(&mut state.body_heat, &bodies, rows),
                Field::BodyBonds => put(&mut state.body_bonds, &bodies, rows),
                Field::Bonds => lists.bonds = pod_collect_to_vec(rows),
                Field::Spheres => {
                    put(&mut state.spheres, &lists.spheres, rows);
                    for &sphere in &lists.spheres {
                        state.spheres[sphere as usize].body -= before[0];
                    }
                }
                Field::SphereLoads => put(&mut state.sphere_loads, &lists.spheres, rows),
                Field::NeighbourStarts => lists.counts = pod_collect_to_vec(rows),
                Field::Neighbours => lists.entries = pod_collect_to_vec(rows),
                Field::History => lists.histories = pod_collect_to_vec(rows),
                _ => (),
            }
        }
        lists
    }

    /// Puts what all ranks have read of some bodies of the whole scene into a state that has these alone, as [`Engine::read_part`] has
    /// it, but for [the spheres of others](Part::add_others).
    ///
    /// [`Engine::read_part`]: crate::step::Engine::read_part
    pub fn assemble(
        answers: &[&[u8]],
        fields: &[Field],
        bodies: Range<u32>,
        part: &mut State,
    ) -> Before {
        part.free();
        part.bodies = vec![Body::default(); bodies.len()];
        for (place, body) in answers
            .iter()
            .flat_map(|answer| Part::placed_bodies(answer))
        {
            part.bodies[(place - bodies.start) as usize] = body;
        }
        let first_sphere = part.bodies.first().map_or(0, |body| body.first_sphere);
        let mut spheres = 0;
        for body in &mut part.bodies {
            body.first_sphere -= first_sphere;
            spheres = body.first_sphere + part.properties[body.kind as usize].sphere_count;
        }
        part.set_counts(bodies.len() as u32, spheres);
        part.params.bond_count = 0;
        part.make_room();
        let before = [bodies.start, first_sphere];
        let lists = answers
            .iter()
            .map(|answer| Part::place(answer, fields, part, before));
        let lists: Vec<Lists> = lists.collect();
        Lists::place_bonds(&lists, part);
        let mut others = Vec::new();
        if fields.contains(&Field::Neighbours) {
            Lists::place(&lists, part);
            others = Lists::keep_later(part, first_sphere);
        }
        Before {
            bodies: bodies.start,
            spheres: first_sphere,
            others,
            ends: Vec::new(),
        }
    }

    /// Adds the spheres of other bodies, as all ranks have [read](Part::read_spheres) them, to a part that names them.
    pub fn add_others(answers: &[Vec<u8>], part: &mut State, before: &Before) {
        let count = part.spheres.len();
        let all = count + before.others.len();
        part.spheres.resize(all, Sphere::default());
        for answer in answers {
            let mut answer = Reader(answer);
            while !answer.is_empty() {
                let place = answer.take::<u32>() as usize;
                let sphere: Sphere = answer.take();
                part.spheres[count + place] = Sphere {
                    body: sphere.body.wrapping_sub(before.bodies),
                    ..sphere
                };
            }
        }
        // They have no lists.
        let end = part.neighbour_starts[count];
        part.neighbour_starts.resize(all + 1, end);
    }

    /// Own ones among some spheres of the whole scene: their places among these, and the spheres.
    pub fn read_spheres(&self, spheres: &[u32]) -> Vec<u8> {
        let Part { state, edges, .. } = self;
        let mut message = Writer::default();
        for (place, &sphere) in (0_u32..).zip(spheres) {
            let after = edges
                .entries
                .partition_point(|entry| entry.first_sphere <= sphere);
            let Some(index) = after.checked_sub(1) else {
                continue;
            };
            let entry = edges.entries[index];
            let own = state.spheres_of(&state.bodies[index]);
            let member = (sphere - entry.first_sphere) as usize;
            if !entry.ghost && member < own.len() {
                message.put(place);
                message.put(Sphere {
                    body: entry.body,
                    ..state.spheres[own.start + member]
                });
            }
        }
        message.0
    }

    /// The rows of some bodies of the whole scene that are own ones.
    pub fn read_rows(&self, bodies: &[u32]) -> Vec<u8> {
        let Part { state, edges, .. } = self;
        let mut message = Writer::default();
        for &body in bodies {
            let Some(index) = edges.find(body).filter(|&own| !edges.entries[own].ghost) else {
                continue;
            };
            message.put(body);
            let own = state.bodies[index];
            message.put(edges.whole_body(index, own));
            message.put(state.body_forces.get(index).copied().unwrap_or_default());
            message.put(state.body_heat.get(index).copied().unwrap_or_default());
            message.put(state.body_bonds.get(index).copied().unwrap_or_default());
            message.put_all(&state.sphere_loads[state.spheres_of(&own)]);
            let ends = state.bonds[state.ends_of_bonds(index..index + 1)].iter();
            message.put_all(&ends.map(|end| end.source).collect::<Vec<_>>());
        }
        message.0
    }

    /// The own bonds that have broken at least once, as the whole scene has them: those whose first bodies are own ones.
    fn read_changed_bonds(&self) -> Vec<u8> {
        let changed = self.state.bonds.iter().enumerate();
        let changed = changed.filter(|(_, bond)| bond.side == 0 && bond.breaks > 0);
        bytes_of_all(changed.map(|(place, bond)| self.edges.whole_bond(place, bond)))
    }

    /// Takes over what it has of a field of the whole scene.
    fn write(&mut self, field: Field, bytes: &[u8]) {
        let Part { state, edges, .. } = self;
        match field {
            Field::Properties => {
                state.set_bytes(field, bytes);
                let skin = state.params.skin;
                edges.set_kinds(&mut state.properties, &state.members, skin);
            }
            Field::Actions => {
                edges.actions = pod_collect_to_vec::<u8, Action>(bytes);
                edges.set_actions(state);
                // A spring may lead to a body that nobody has sent yet.
                state.stats[0].stale = 1;
            }
            Field::Bodies => {
                for (entry, own) in edges.entries.iter().zip(&mut state.bodies) {
                    let body: Body = row(bytes, entry.body as usize);
                    *own = edges.local(entry, own, body);
                }
            }
            Field::BodyForces => {
                for (entry, own) in edges.entries.iter().zip(&mut state.body_forces) {
                    *own = row(bytes, entry.body as usize);
                }
            }
            Field::BodyHeat => {
                for (entry, own) in edges.entries.iter().zip(&mut state.body_heat) {
                    *own = row(bytes, entry.body as usize);
                }
            }
            Field::SphereLoads => {
                for (entry, body) in edges.entries.iter().zip(&state.bodies) {
                    for (k, sphere) in state.spheres_of(body).enumerate() {
                        state.sphere_loads[sphere] = row(bytes, entry.first_sphere as usize + k);
                    }
                }
            }
            field if SHARED.contains(&field) => state.set_bytes(field, bytes),
            _ => (),
        }
    }

    /// Takes over the rows of bodies that it has.
    fn write_rows(&mut self, message: &mut Reader) {
        while !message.is_empty() {
            let index: u32 = message.take();
            let body: Body = message.take();
            let (force, heat) = (message.take(), message.take());
            let Part { state, edges, .. } = self;
            let Some(own) = edges.find(index) else {
                continue;
            };
            let entry = edges.entries[own];
            state.bodies[own] = edges.local(&entry, &state.bodies[own], body);
            if let Some(own) = state.body_forces.get_mut(own) {
                *own = force;
            }
            if let Some(own) = state.body_heat.get_mut(own) {
                *own = heat;
            }
        }
    }

    /// A message with rows of a state of the whole scene.
    pub fn rows_of(state: &State, bodies: std::ops::Range<usize>) -> Writer {
        let mut message = Command::WriteRows.message();
        for index in bodies {
            message.put(index as u32);
            message.put(state.bodies[index]);
            message.put(state.body_forces.get(index).copied().unwrap_or_default());
            message.put(state.body_heat.get(index).copied().unwrap_or_default());
        }
        message
    }

    /// Takes away those of some bodies of the whole scene that it has.
    fn remove(&mut self, message: &mut Reader) {
        let gone: Vec<u32> = message.take_all();
        // How many spheres go with each of them and those before it.
        let spheres: Vec<u32> = message.take_all();
        let Part { state, edges, .. } = self;
        let own: Vec<u32> = gone
            .iter()
            .filter_map(|&body| edges.find(body))
            .map(|place| place as u32)
            .collect();
        // Those of the part are found anew.
        let mut bonds = edges.take_bonds(state);
        state.set_actions(Vec::new());
        state.set_bonds(Vec::new());
        state.remove(&own);
        let is_gone = |entry: &Entry| gone.binary_search(&entry.body).is_ok();
        edges.entries.retain(|entry| !is_gone(entry));
        for entry in &mut edges.entries {
            let before = gone.partition_point(|&body| body < entry.body);
            entry.body -= before as u32;
            entry.first_sphere -= before.checked_sub(1).map_or(0, |last| spheres[last]);
        }
        edges.actions = message.take_all();
        edges.set_actions(state);
        let place = |body: u32| match gone.binary_search(&body) {
            Ok(_) => None,
            Err(before) => Some(body - before as u32),
        };
        bonds.retain_mut(|bond| match (place(bond.own()), place(bond.other())) {
            (Some(own), Some(other)) => {
                *bond = bond.between(own, other);
                true
            }
            _ => false,
        });
        edges.set_bonds(state, bonds);
        state.stats[0].stale = 1;
    }

    fn report(&self) -> Vec<u8> {
        let Counts {
            steps,
            lists,
            handovers,
            bytes,
            messages,
            ghosts,
            communication,
            all,
        } = self.edges.post.counts;
        let mut message = Writer::default();
        message.put([
            steps as f64,
            bytes as f64,
            messages as f64,
            ghosts as f64,
            communication.as_secs_f64(),
            all.as_secs_f64(),
            self.edges.entries.len() as f64,
            lists as f64,
            handovers as f64,
        ]);
        message.0
    }
}

/// A body of the whole scene with all but its lists, as its rank has read it.
pub(super) struct Row {
    /// Its index in the whole scene.
    pub index: u32,
    pub body: Body,
    /// Zeros where a scene has none of these.
    pub force: BodyForce,
    heat: BodyHeat,
    pub sums: BodyBonds,
    /// Of its spheres.
    pub loads: Vec<SphereLoad>,
    /// Indices of its bonds in the model.
    pub bonds: Vec<u32>,
}

impl Row {
    /// The rows that all ranks have [read](Part::read_rows), in the order of their bodies.
    pub fn all(answers: &[Vec<u8>]) -> Vec<Row> {
        let rows = answers.iter().flat_map(|answer| Row::read_all(answer));
        let mut rows: Vec<Row> = rows.collect();
        rows.sort_unstable_by_key(|row| row.index);
        rows
    }

    /// The bodies of such rows, with their indices in the whole scene.
    pub fn bodies(answers: &[Vec<u8>]) -> Vec<(u32, Body)> {
        let rows = Row::all(answers).into_iter();
        rows.map(|row| (row.index, row.body)).collect()
    }

    fn read_all(message: &[u8]) -> impl Iterator<Item = Row> {
        let mut message = Reader(message);
        iter::from_fn(move || {
            (!message.is_empty()).then(|| Row {
                index: message.take(),
                body: message.take(),
                force: message.take(),
                heat: message.take(),
                sums: message.take(),
                loads: message.take_all(),
                bonds: message.take_all(),
            })
        })
    }

    /// Puts it into a state of the whole scene.
    pub fn place(self, whole: &mut State) {
        let index = self.index as usize;
        whole.bodies[index] = self.body;
        if let Some(own) = whole.body_forces.get_mut(index) {
            *own = self.force;
        }
        if let Some(own) = whole.body_heat.get_mut(index) {
            *own = self.heat;
        }
        if let Some(own) = whole.body_bonds.get_mut(index) {
            *own = self.sums;
        }
        let spheres = whole.spheres_of(&self.body);
        whole.sphere_loads[spheres].copy_from_slice(&self.loads);
    }
}

/// The neighbour lists of a rank, and the ends of bonds, as they have been read.
#[derive(Default)]
pub(super) struct Lists {
    bonds: Vec<Bond>,
    spheres: Vec<u32>,
    counts: Vec<u32>,
    entries: Vec<u32>,
    histories: Vec<Vec4>,
}

impl Lists {
    /// Puts the lists of all ranks into a state of the whole scene.
    pub fn place(all: &[Lists], whole: &mut State) {
        let size = whole.params.history_size as usize;
        let mut starts = vec![0; whole.spheres.len() + 1];
        for own in all {
            for (&sphere, &count) in own.spheres.iter().zip(&own.counts) {
                starts[sphere as usize + 1] = count;
            }
        }
        for sphere in 1..starts.len() {
            starts[sphere] += starts[sphere - 1];
        }
        let total = starts[starts.len() - 1];
        Lists::make_room(total, whole);
        whole.neighbours[total as usize..].fill(0);
        whole.history[size * total as usize..].fill(Vec4::ZERO);
        for own in all {
            let mut from = 0;
            for (&sphere, &count) in own.spheres.iter().zip(&own.counts) {
                let (to, count) = (starts[sphere as usize] as usize, count as usize);
                let entries = &own.entries[from..from + count];
                whole.neighbours[to..to + count].copy_from_slice(entries);
                let histories = &own.histories[size * from..size * (from + count)];
                whole.history[size * to..size * (to + count)].copy_from_slice(histories);
                from += count;
            }
        }
        whole.neighbour_starts = starts;
    }

    /// Puts the ends of bonds of all ranks into a state of the whole scene or of a part.
    pub fn place_bonds(all: &[Lists], state: &mut State) {
        let ends = all.iter().flat_map(|own| &own.bonds);
        let mut ends: Vec<Bond> = ends.copied().collect();
        bonds::sort(&mut ends);
        state.set_bonds(ends);
    }

    /// Keeps, of the lists of a part before which there are so many spheres, the entries of walls and of spheres that come later, so that
    /// each contact is there once. Those that are not in the part follow its own: returns their places in the whole scene.
    pub fn keep_later(part: &mut State, before: u32) -> Vec<u32> {
        let count = part.spheres.len() as u32;
        let size = part.params.history_size as usize;
        let mut others: Vec<u32> = Vec::new();
        let (mut end, mut from) = (0, 0);
        for sphere in 0..count {
            let to = part.neighbour_starts[sphere as usize + 1] as usize;
            for entry in from..to {
                let mut other = part.neighbours[entry];
                if other & WALL == 0 {
                    if other <= before + sphere {
                        continue;
                    }
                    match other - before {
                        own if own < count => other = own,
                        _ => others.push(other),
                    }
                }
                part.neighbours[end] = other;
                let history = size * entry..size * (entry + 1);
                part.history.copy_within(history, size * end);
                end += 1;
            }
            from = to;
            part.neighbour_starts[sphere as usize + 1] = end as u32;
        }
        others.sort_unstable();
        others.dedup();
        for other in part.neighbours[..end].iter_mut() {
            if *other & WALL == 0 && *other >= count {
                let place = others.binary_search(other).expect("it is among them");
                *other = count + place as u32;
            }
        }
        others
    }

    /// Has a state of the whole scene have lists with so many entries.
    pub fn make_room(total: u32, whole: &mut State) {
        if whole.params.neighbour_capacity < total {
            let room = State::neighbour_room(total);
            match whole.is_free() {
                true => whole.params.neighbour_capacity = room,
                false => whole.set_neighbour_capacity(room),
            }
        }
        whole.stats[0].neighbours = total;
    }
}

/// The entries of the neighbour lists of some spheres.
fn entries(state: &State, spheres: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
    let starts = &state.neighbour_starts;
    spheres.flat_map(|sphere| starts[sphere] as usize..starts[sphere + 1] as usize)
}

/// The bytes of values, one after the other.
fn bytes_of_all<T: NoUninit>(values: impl Iterator<Item = T>) -> Vec<u8> {
    let mut bytes = Vec::new();
    values.for_each(|value| bytes.extend_from_slice(bytes_of(&value)));
    bytes
}

/// Puts rows to their places.
fn put<T: bytemuck::Pod>(all: &mut [T], places: &[u32], rows: &[u8]) {
    for (&place, row) in places.iter().zip(rows.chunks_exact(size_of::<T>())) {
        all[place as usize] = pod_read_unaligned(row);
    }
}

/// A row of a buffer that is there as bytes.
fn row<T: bytemuck::Pod>(bytes: &[u8], index: usize) -> T {
    let size = size_of::<T>();
    pod_read_unaligned(&bytes[size * index..size * (index + 1)])
}

/// The bytes of a message with a field of the whole scene.
pub(super) fn written(state: &State, field: Field) -> Writer {
    let mut message = Command::Write.message();
    let number = Field::ALL.iter().position(|own| *own == field);
    message.put(number.unwrap_or(0) as u8);
    message.put_all::<u8>(cast_slice(state.bytes(field)));
    message
}
