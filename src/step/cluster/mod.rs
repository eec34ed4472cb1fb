//! A scene on many processes, as MPI starts them: each steps a part of it, and the bits are those of one.
//!
//! # Parts
//!
//! Space is cut into blocks, one a rank (`blocks.rs`). A rank *owns* the bodies whose centres are in its block when the
//! neighbour lists are built, and has *ghosts*: copies of whole bodies of others that its own may touch before lists are built
//! again. Both together are a [`State`] of its own, which an engine steps as any other: that of the CPU (`engine.rs`) or of a GPU
//! (`device.rs`), the same for all ranks.
//!
//! ```text
//!        rank 0            │            rank 1
//!                          │
//!    own     own     own   │ ghost
//!     A       C       D    │   E           A, C, D, E in the state of rank 0
//!                  ghost   │  own     own
//!                    D     │   E       B   B, D, E in that of rank 1
//! ```
//!
//! # The same bits
//!
//! - **Bodies of a part lie in the order of the whole scene**, ghosts among them. A sphere sums its contacts in the order of its
//!   list, and that is sorted: so it sums the same numbers in the same order. A contact across a border is evaluated by both ranks,
//!   each for its own sphere, from the same places and velocities.
//! - **A ghost is a kind of body** (`GHOST` in `state/layout.rs`): it meets own bodies, but no other ghosts and no
//!   walls, and `integrate` leaves it where it is. After each step, its owner says where it is now.
//! - **The lists are built where one rank needs it**, by all of them. Then bodies go to their new owners, with all that they
//!   carry: the loads on their spheres, the histories of their contacts, and the ends of bonds at them.
//! - **Loads on walls are integers**, so their sums over ranks do not depend on an order. Walls move on all ranks alike.
//!
//! # Rank 0
//!
//! [`ClusterEngine`] is an engine as any other: to a simulation on rank 0, the ranks are a device that has the state, and
//! the simulation reads of it what it needs. Each call is a message to all ranks, which [`serve`] it. So whatever a simulation does,
//! it does on a cluster, too, and nothing but rank 0 needs to know of scenes, files and users.
//!
//! The copy of the state that the simulation has is [free](State::free) from each step to the next read: it has the numbers of bodies and
//! spheres, and who they are, but no more of them. Who sums something up reads the state part by part, and has no more than a part at
//! a time ([`Engine::read_part`]); who needs all of it at once reads it into the copy. What each rank can do with its own share of it, such
//! as write it to a file, all of them do [together](Engine::together) (`share.rs`).
//!
//! Bodies at the start are nowhere else, either (`start.rs`): each rank makes those of large fills that are in its block, and gets
//! others from rank 0, or from the ranks that have shares of them (`pack.rs`); and ends of bonds from those that have found the bonds
//! (`bonding.rs`). Only where a state takes the place of that of before, the copy is the state until the first step, and the ranks have no
//! bodies until then. If its bodies are in a file, such as a checkpoint, the copy is free, and rank 0 gives them out from there, some at a
//! time.

mod blocks;
mod bonding;
mod bytes;
mod device;
mod edges;
mod engine;
mod pack;
mod part;
mod pieces;
mod post;
mod ranks;
mod scribe;
mod search;
mod share;
mod start;
mod steps;

pub use engine::{Wanted, WantedGpu};
pub use ranks::Ranks;
#[cfg(feature = "scene")]
pub(crate) use search::RankSearchers;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::pod_collect_to_vec;
use bytes::{Reader, Writer};
use engine::RankEngine;
use pack::shares_of;
use part::{BOTH_SIDES, Command, FIRST_SIDE, LISTS, Lists, Part, Row, SPREAD};
use search::RankSearch;
use share::RankShare;
use start::{Listed, Recipe, Whole};

use crate::model::error::{Error, Result};
use crate::model::{Model, ModelBody};
use crate::state::layout::{Body, Bond, Params, WALL_STEPS};
use crate::state::trace::{Sample, Trace};
use crate::state::{Field, Identities, State, bonds};
use crate::step::clock::Clock;
use crate::step::{Before, Canceller, ClusterCost, Engine, PassTimes, SharedFile, Source, Work};

/// The engine of rank 0, which steps a scene together with the other ranks.
pub struct ClusterEngine {
    ranks: Arc<dyn Ranks>,
    part: Part,
    /// Whether no step has been taken from a state that the host has: its copy is the state then, and the ranks have no bodies.
    fresh: bool,
    /// Source of the bodies of that copy, if it is free.
    source: Option<Box<dyn Source>>,
    wanted: Wanted,
    trace: Option<Trace>,
    canceller: Canceller,
}

/// Does what rank 0 says until it says that this is the end: what all other ranks do. `work` is what it may [ask
/// for](Engine::together).
pub fn serve(ranks: Arc<dyn Ranks>, clock: Option<Clock>, work: Work) {
    let mut part = Part::new(Arc::clone(&ranks), clock);
    let mut search = RankSearch::default();
    loop {
        let mut message = Vec::new();
        ranks.broadcast(&mut message);
        if let Some(message) = Command::Search.strip(&message) {
            search.obey(&*ranks, message, &mut part.shares);
        } else if let Some(message) = Command::Work.strip(&message) {
            RankShare::work(&mut part, work, message, &Identities::default());
        } else if !part.obey(&message).1 {
            return;
        }
    }
}

/// Has all other ranks end: see [`serve`].
pub fn end(ranks: &dyn Ranks) {
    ranks.broadcast(&mut Command::End.message().0);
}

impl ClusterEngine {
    /// The engine of rank 0 for a model, and its state, whose bodies the ranks have; the others [`serve`].
    ///
    /// # Errors
    /// If a rank has no GPU such as is wanted.
    pub fn new(
        ranks: Arc<dyn Ranks>,
        wanted: Wanted,
        clock: Option<Clock>,
        model: &Model,
    ) -> Result<(ClusterEngine, State)> {
        let mut engine = ClusterEngine {
            part: Part::new(Arc::clone(&ranks), clock),
            ranks,
            fresh: true,
            source: None,
            wanted,
            trace: None,
            canceller: Canceller::default(),
        };
        let state = State::without_elements(model);
        engine.begin(&state)?;
        engine.make(model, &state);
        Ok((engine, state))
    }

    /// Has all ranks do something. Returns what they have to say.
    fn tell(&mut self, message: Writer) -> Vec<Vec<u8>> {
        let mut message = message.0;
        self.ranks.broadcast(&mut message);
        self.part.obey(&message).0
    }

    /// Begins with a state, whose bodies the first step gives out.
    fn begin(&mut self, state: &State) -> Result<()> {
        let problems = self.tell(Part::start_of(state, &self.wanted));
        self.fresh = true;
        if let RankEngine::Cpu(_) = self.part.engine {
            // They need not look for GPUs again.
            self.wanted.gpu = None;
        }
        let mut problems = problems.iter().enumerate();
        match problems.find(|(_, problem)| !problem.is_empty()) {
            Some((rank, problem)) => Err(Error::Rank {
                rank,
                reason: String::from_utf8_lossy(problem).into_owned(),
            }),
            None => Ok(()),
        }
    }

    /// Gives each rank its part of a state.
    fn give_out(&mut self, state: &State) -> Result<()> {
        let source = self.source.as_deref();
        self.ranks.broadcast(&mut Command::GiveOut.message().0);
        self.part.engine.forget();
        let whole = Whole { state, source };
        let Part { edges, state, .. } = &mut self.part;
        edges.give_out(state, Some(whole))?;
        self.fresh = false;
        self.source = None;
        Ok(())
    }

    /// Gives the host's copy of the state its bodies, if they are in a source: somebody asks for them before the first step.
    fn fill(&mut self, state: &mut State) -> Result<()> {
        if let Some(source) = &self.source {
            source.fill(state).inspect_err(|_| state.free())?;
        }
        self.source = None;
        Ok(())
    }

    /// Has each rank make its part of the bodies with which a model starts, whose state this is.
    fn make(&mut self, model: &Model, whole: &State) {
        self.fresh = false;
        let recipe = Recipe::new(model, whole);
        let mut message = Command::Make.message();
        recipe.write(&mut message);
        self.ranks.broadcast(&mut message.0);
        self.part.engine.forget();
        let Part { edges, state, .. } = &mut self.part;
        let bonds = model.bonds.holder();
        let bonds = bonds.map(|holder| (holder.number(), holder.own()));
        edges.make(
            state,
            &recipe,
            Some(&Listed::of(model, whole)),
            &shares_of(&model.bodies),
            &bonds.into_iter().collect(),
        );
    }

    /// Costs of the steps since the last [`Engine::replace`].
    fn cost(&mut self) -> ClusterCost {
        let answers = self.tell(Command::Report.message());
        let all: Vec<[f64; 9]> = answers.iter().map(|answer| Reader(answer).take()).collect();
        let ranks = all.len() as f64;
        let sum = |of: &dyn Fn(&[f64; 9]) -> f64| all.iter().map(of).sum::<f64>();
        let computing = |own: &[f64; 9]| own[5] - own[4];
        let most = all.iter().map(computing).fold(0.0, f64::max);
        let part = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let steps = all[0][0];
        ClusterCost {
            ranks: all.len(),
            imbalance: part(most * ranks, sum(&computing)),
            communication: part(sum(&|own| own[4]), sum(&|own| own[5])),
            bytes_per_step: part(sum(&|own| own[1]), steps),
            messages_per_step: part(sum(&|own| own[2]), steps),
            ghosts_per_rank: part(sum(&|own| own[3]), steps * ranks),
            most_bodies: all.iter().map(|own| own[6] as usize).max().unwrap_or(0),
            lists: all[0][7] as u64,
            handovers: all[0][8] as u64,
        }
    }

    /// Takes so many steps, or fewer if a body is lost or somebody cancels; as many are taken at once as there is room for the
    /// poses of walls.
    fn take(&mut self, state: &mut State, count: u64) -> Result<u64> {
        if self.fresh {
            // What is constant may have changed, too.
            self.begin(state)?;
            self.give_out(state)?;
        }
        state.free();
        let before = state.stats[0].steps;
        let mut message = Command::Step.message();
        message.put(count);
        message.put(state.kinematic_walls.len() as u64);
        if !state.kinematic_walls.is_empty() {
            let first = u64::from(before) + 1;
            let poses = (first..first + count).flat_map(|step| state.kinematic_walls.poses(step));
            message.put_all(&poses.collect::<Vec<_>>());
        }
        self.tell(message);
        let neighbours = state.stats[0].neighbours;
        state.stats[0] = self.part.state.stats[0];
        state.stats[0].neighbours = neighbours;
        state.params.deform(state.stats[0].step);
        Ok(u64::from(state.stats[0].steps.wrapping_sub(before)))
    }
}

impl Engine for ClusterEngine {
    fn name(&self) -> &'static str {
        match self.part.engine {
            RankEngine::Cpu(_) => "cpu",
            RankEngine::Gpu(_) => "gpu",
        }
    }

    fn device(&self) -> String {
        let ranks = self.ranks.count();
        match &self.part.engine {
            RankEngine::Cpu(engine) => match engine.thread_count() {
                1 => format!("CPU, {ranks} ranks with 1 thread each"),
                threads => format!("CPU, {ranks} ranks with {threads} threads each"),
            },
            RankEngine::Gpu(device) => format!("{}, {ranks} ranks", device.adapter()),
        }
    }

    fn step(
        &mut self,
        state: &mut State,
        taken: u64,
        count: u64,
        samples: &mut Vec<Sample>,
    ) -> Result<u64> {
        let mut done = 0;
        while done < count && state.stats[0].runaway == 0 {
            let mut some = count - done;
            if !state.kinematic_walls.is_empty() {
                some = some.min(WALL_STEPS.into());
            }
            if let Some(trace) = &self.trace {
                let now = taken + done;
                some = some.min((now / trace.every + 1) * trace.every - now);
            }
            let own = self.take(state, some)?;
            done += own;
            self.sample(state, taken + done, samples);
            if own < some || self.canceller.is_cancelled() {
                break;
            }
        }
        Ok(done)
    }

    fn profile(&mut self, state: &mut State, taken: u64, count: u64) -> Result<Option<PassTimes>> {
        self.step(state, taken, count, &mut Vec::new())?;
        Ok(None)
    }

    fn set_canceller(&mut self, canceller: Canceller) {
        self.part.edges.canceller = canceller.clone();
        self.canceller = canceller;
    }

    fn set_trace(&mut self, trace: Trace, _: &State) {
        self.trace = Some(trace);
    }

    fn read(&mut self, fields: &[Field], state: &mut State) -> Result<()> {
        if self.fresh {
            if fields.iter().any(|field| field.is_of_bodies()) {
                self.fill(state)?;
            }
            return Ok(());
        }
        let mut wanted: Vec<Field> = fields.to_vec();
        if LISTS.iter().any(|field| fields.contains(field)) {
            wanted.retain(|field| !LISTS.contains(field));
            wanted.extend(LISTS);
        }
        self.part.hold();
        let own = &self.part.state;
        for &field in &wanted {
            if let Field::Walls | Field::DynamicWalls | Field::WallLoads = field {
                state.set_bytes(field, own.bytes(field));
            }
        }
        let of_bodies = [
            Field::Bonds,
            Field::Bodies,
            Field::BodyForces,
            Field::BodyHeat,
            Field::BodyBonds,
            Field::Spheres,
            Field::SphereLoads,
        ];
        wanted.retain(|field| of_bodies.contains(field) || LISTS.contains(field));
        if wanted.is_empty() {
            return Ok(());
        }
        let is_free = state.is_free();
        if is_free {
            wanted.push(Field::Bodies);
        }
        let all = 0..state.params.body_count;
        let answers = self.tell(Part::reading(all, BOTH_SIDES, bodies_first(&mut wanted)));
        if is_free {
            state.make_room();
        }
        for answer in &answers {
            if wanted[0] == Field::Bodies {
                for (place, body) in Part::placed_bodies(answer) {
                    state.bodies[place as usize] = body;
                }
            }
        }
        if is_free {
            for index in 0..state.bodies.len() {
                for sphere in state.spheres_of(&state.bodies[index]) {
                    state.spheres[sphere].body = index as u32;
                }
            }
        }
        let lists = answers
            .iter()
            .map(|answer| Part::place(answer, &wanted, state, [0; 2]));
        let lists: Vec<Lists> = lists.collect();
        if wanted.contains(&Field::Bonds) {
            Lists::place_bonds(&lists, state);
        }
        if wanted.contains(&Field::Neighbours) {
            Lists::place(&lists, state);
        }
        Ok(())
    }

    fn read_part(
        &mut self,
        bodies: Range<u32>,
        fields: &[Field],
        part: &mut State,
    ) -> Result<Before> {
        let mut wanted: Vec<Field> = fields.to_vec();
        wanted.retain(|field| SPREAD.contains(field));
        wanted.push(Field::Bodies);
        let fields = bodies_first(&mut wanted);
        let answers = self.tell(Part::reading(bodies.clone(), FIRST_SIDE, fields));
        let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
        let before = Part::assemble(&answers, &wanted, bodies, part);
        if !before.others.is_empty() {
            let mut message = Command::ReadSpheres.message();
            message.put_all(&before.others);
            let answers = self.tell(message);
            Part::add_others(&answers, part, &before);
        }
        Ok(before)
    }

    fn read_bodies(&mut self, bodies: &[u32]) -> Vec<(u32, Body)> {
        let rows = self.read_rows(bodies).into_iter();
        rows.map(|row| (row.index, row.body)).collect()
    }

    fn read_changed_bonds(&mut self) -> Vec<Bond> {
        let answers = self.tell(Command::ReadChangedBonds.message());
        let bonds = answers
            .iter()
            .flat_map(|answer| pod_collect_to_vec::<u8, Bond>(answer));
        let mut bonds: Vec<Bond> = bonds.collect();
        bonds::sort(&mut bonds);
        bonds
    }

    fn read_body(&mut self, body: usize, state: &mut State) -> Result<()> {
        if state.is_free() {
            self.read(&[Field::Bodies], state)?;
        }
        for row in self.read_rows(&[body as u32]) {
            row.place(state);
        }
        Ok(())
    }

    fn write_bodies(&mut self, bodies: Range<usize>, state: &State) {
        if self.fresh {
            return;
        }
        self.tell(Part::rows_of(state, bodies));
    }

    fn write(&mut self, fields: &[Field], state: &State) {
        if self.fresh {
            return;
        }
        for &field in fields {
            self.tell(part::written(state, field));
        }
    }

    fn wake(&mut self) -> bool {
        if !self.fresh {
            self.tell(Command::Wake.message());
        }
        !self.fresh
    }

    fn untilt(&mut self, axes: [usize; 2], turns: i32) -> bool {
        if !self.fresh {
            let mut message = Command::Untilt.message();
            message.put(axes.map(|axis| axis as u32));
            message.put(turns);
            self.tell(message);
        }
        !self.fresh
    }

    fn write_actions(&mut self, state: &State) -> Result<()> {
        self.write(&[Field::Actions], state);
        Ok(())
    }

    fn write_params(&mut self, state: &State) {
        if self.fresh {
            return;
        }
        let mut message = Command::Params.message();
        message.put_all(&part::bytes_of_params(&state.params));
        self.tell(message);
    }

    fn write_stale(&mut self, _: &State) {
        if self.fresh {
            return;
        }
        self.tell(Command::Stale.message());
    }

    fn append(
        &mut self,
        model: &Model,
        bodies: Vec<(u64, ModelBody)>,
        state: &mut State,
    ) -> Result<()> {
        if self.fresh {
            self.fill(state)?;
            state.extend(model, bodies);
            return Ok(());
        }
        let Params {
            body_count,
            sphere_count,
            ..
        } = state.params;
        let mut new = state.outline();
        new.extend(model, bodies.iter().copied());
        match state.is_free() {
            true => state.extend_free(&new),
            false => state.extend(model, bodies),
        }
        self.tell(Command::Stale.message());
        self.part.adopt(&new, [body_count, sphere_count]);
        Ok(())
    }

    fn remove(&mut self, bodies: &[u32], state: &mut State) -> Result<()> {
        if self.fresh {
            self.fill(state)?;
            state.remove(bodies);
            return Ok(());
        }
        if bodies.is_empty() {
            return Ok(());
        }
        let ends = state.params.bond_count;
        let mut spheres = 0;
        let mut counts = Vec::new();
        let mut bonds = BTreeSet::new();
        for row in self.read_rows(bodies) {
            spheres += row.loads.len() as u32;
            counts.push(spheres);
            bonds.extend(row.bonds);
            row.loads.iter().for_each(|load| state.gone.add(load));
            state.gone.add_forces(&row.force);
            state.gone.add_bonds(&row.sums);
        }
        match state.is_free() {
            true => state.remove_free(bodies, spheres),
            false => state.remove_elements(bodies),
        }
        state.params.bond_count = ends - 2 * bonds.len() as u32;
        if !state.is_free() {
            // If the host had not read the bonds, what it has of them means nothing, but for their number.
            let count = state.params.bond_count as usize;
            state.bonds.resize(count, Bond::default());
        }
        let mut message = Command::Remove.message();
        message.put_all(bodies);
        message.put_all(&counts);
        message.put_all(&state.actions);
        self.tell(message);
        Ok(())
    }

    fn replace(&mut self, state: &State) -> Result<()> {
        self.source = None;
        self.begin(state)
    }

    fn replace_from(&mut self, state: &mut State, source: Box<dyn Source>) -> Result<()> {
        self.source = Some(source);
        self.begin(state)
    }

    fn restart(&mut self, state: &State) -> Result<()> {
        self.begin(state)
    }

    fn memory(&self, state: &State) -> u64 {
        let device = match &self.part.engine {
            RankEngine::Cpu(_) => 0,
            RankEngine::Gpu(device) => device.size(),
        };
        state.size() + self.part.state.size() + device
    }

    fn is_spread(&self, field: Field) -> bool {
        !self.fresh && SPREAD.contains(&field)
    }

    fn read_rest(&mut self, state: &mut State) -> Result<()> {
        self.read(
            &[Field::Walls, Field::DynamicWalls, Field::WallLoads],
            state,
        )?;
        let answers = self.tell(Command::Count.message());
        let counts = answers.iter().map(|answer| Reader(answer).take::<u64>());
        Lists::make_room(counted(counts.sum())?, state);
        Ok(())
    }

    fn write_file(&mut self, file: &SharedFile, state: &State) -> Result<Vec<u64>> {
        let Some(path) = file.path.to_str() else {
            return Err(Error::Unwritten {
                file: file.path.to_owned(),
                reason: "its name is not UTF-8, and the ranks have to tell each other".to_owned(),
            });
        };
        let mut message = Command::Save.message();
        message.put_all(path.as_bytes());
        message.put(file.length);
        message.put([state.params.body_count, state.params.sphere_count]);
        for field in SPREAD {
            let of = file.fields.iter().find(|(own, _)| *own == field);
            message.put(of.map_or(u64::MAX, |(_, start)| *start));
        }
        let pieces = file.pieces.iter();
        self.part.pieces = pieces.map(|(at, bytes)| (*at, bytes.to_vec())).collect();
        let lists = file.fields.iter();
        for (_, start) in lists.filter(|(field, _)| *field == Field::NeighbourStarts) {
            // The end of the last one, which is no sphere's.
            let end = start + size_of::<u32>() as u64 * u64::from(state.params.sphere_count);
            let count = state.stats[0].neighbours;
            self.part.pieces.push((end, count.to_le_bytes().to_vec()));
        }
        let mut hashes = Vec::new();
        for (rank, answer) in self.tell(message).iter().enumerate() {
            let mut answer = Reader(answer);
            let problem: Vec<u8> = answer.take_all();
            if !problem.is_empty() {
                let problem = String::from_utf8_lossy(&problem);
                return Err(Error::Unwritten {
                    file: file.path.to_owned(),
                    reason: format!("rank {rank}: {problem}"),
                });
            }
            hashes.extend(answer.take_all::<u64>());
        }
        Ok(hashes)
    }

    fn together(&mut self, work: Work, message: &[u8], state: &State) -> Vec<Vec<u8>> {
        if self.fresh {
            return Vec::new();
        }
        let mut message = RankShare::message(state, message);
        self.ranks.broadcast(&mut message.0);
        let rest = Command::Work.strip(&message.0).unwrap_or_default();
        RankShare::work(&mut self.part, work, rest, &state.identities)
    }

    fn is_cluster(&self) -> bool {
        true
    }

    fn cluster_cost(&mut self) -> Option<ClusterCost> {
        Some(self.cost())
    }
}

/// Number of entries of the lists of all ranks, if a state can have so many.
fn counted(entries: u64) -> Result<u32> {
    u32::try_from(entries).map_err(|_| Error::TooManyEntries { entries })
}

/// Fields with that of the bodies first, if it is among them, and only once: the places of all others follow from it.
fn bodies_first(fields: &mut Vec<Field>) -> &[Field] {
    let count = fields.len();
    fields.retain(|field| *field != Field::Bodies);
    if fields.len() < count {
        fields.insert(0, Field::Bodies);
    }
    fields
}

impl ClusterEngine {
    /// Adds the samples of the trace to `samples`, if they are due at the end of a step.
    fn sample(&mut self, state: &State, step: u64, samples: &mut Vec<Sample>) {
        let Some(trace) = self.trace.take_if(|trace| trace.is_due(step)) else {
            return;
        };
        let mut bodies = trace.bodies.clone();
        bodies.sort_unstable();
        bodies.dedup();
        let rows = self.read_rows(&bodies);
        samples.extend(trace.bodies.iter().map(|&body| {
            let place = rows.binary_search_by_key(&body, |row| row.index);
            let row = &rows[place.expect("bodies of a trace are there")];
            Sample::new(state, step, body, &row.body, &row.loads)
        }));
        self.trace = Some(trace);
    }

    /// The rows of some bodies, in their order; none if the ranks have no bodies.
    fn read_rows(&mut self, bodies: &[u32]) -> Vec<Row> {
        if self.fresh {
            return Vec::new();
        }
        let mut message = Command::ReadRows.message();
        message.put_all(bodies);
        Row::all(&self.tell(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_entries_than_a_checkpoint_counts_are_an_error() {
        assert_eq!(counted(u64::from(u32::MAX)).ok(), Some(u32::MAX));
        let error = counted(1 << 32).unwrap_err().to_string();
        assert_eq!(
            error,
            "the neighbour lists of all ranks have 4294967296 entries together, and a checkpoint counts at most 4294967295 of \
             them; use fewer bodies, or write no checkpoint"
        );
    }
}
