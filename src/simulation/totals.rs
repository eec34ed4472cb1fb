//! Totals of a state, whose parts may come one by one.

use std::ops::{ControlFlow, Range};

use super::Simulation;
use super::flow::Seen;
use super::network::Histogram;
use super::snapshot::{Snapshot, Touching, WallLoad};
use super::summary::{Energy, EnergySums, Summary, Sums};
use crate::model::Model;
use crate::model::error::Result;
use crate::state::layout::Load;
use crate::state::{Bonded, Field, State};
use crate::step::{Before, Patience};

/// Bodies of a part at most, and how many parts there are at least: so runs with few bodies go the way of those with many.
const MOST: u32 = 1 << 14;
const PARTS: u32 = 8;

/// Totals of a state: all numbers of a row of statistics that need each body or contact.
#[derive(Clone, Debug)]
pub(crate) struct Totals {
    pub summary: Summary,
    pub energy: Energy,
    pub coordination: f64,
    /// Numbers of bonds, and of broken ones among them.
    pub bonds: [usize; 2],
    /// Largest overlap in the last step, as [`Snapshot::largest_overlap_fraction`] has it.
    pub largest_overlap_fraction: f64,
    pub wall_loads: Vec<WallLoad>,
    /// Reading of each probe; a face has none.
    pub seen: Vec<Seen>,
    /// Load on each of [`Model::held`].
    pub held: Vec<Load>,
}

/// Totals of the parts so far.
pub(crate) struct Tally {
    summary: Sums,
    energy: EnergySums,
    touching: Touching,
    bonds: [usize; 2],
    largest_overlap_fraction: f64,
    wall_loads: Vec<WallLoad>,
    seen: Vec<Seen>,
    held: Vec<Load>,
}

impl Tally {
    /// Begins; the elements of the whole state may be elsewhere.
    pub(crate) fn new(model: &Model, whole: &State) -> Tally {
        Tally {
            summary: Sums::default(),
            energy: EnergySums::new(whole),
            touching: Touching::default(),
            bonds: [0; 2],
            largest_overlap_fraction: 0.0,
            wall_loads: vec![WallLoad::default(); model.walls.len()],
            seen: vec![Seen::default(); model.flow.probes.len()],
            held: vec![Load::default(); model.held.len()],
        }
    }

    /// Adds a part.
    pub(crate) fn add(&mut self, part: &Snapshot, before: &Before) {
        let Snapshot { model, state, .. } = *part;
        self.summary.add(model, state, before.spheres);
        self.energy.add(model, state, before);
        self.touching.add(state);
        let bonds = state.count_bonds();
        self.bonds = [0, 1].map(|k| self.bonds[k] + bonds[k]);
        let largest = part.largest_overlap_fraction();
        self.largest_overlap_fraction = self.largest_overlap_fraction.max(largest);
        part.add_wall_loads(&mut self.wall_loads);
        for (seen, probe) in self.seen.iter_mut().zip(&model.flow.probes) {
            if !probe.region.is_face() {
                seen.add(&probe.region, model, state);
            }
        }
        for (load, (id, _)) in self.held.iter_mut().zip(&model.held) {
            if let Some(place) = state.identities.find(*id) {
                *load = state.load(&state.bodies[place]);
            }
        }
    }

    /// The totals of a state, whose elements may be elsewhere.
    pub(crate) fn finish(self, whole: &Snapshot) -> Totals {
        let Snapshot { model, state, .. } = *whole;
        let summary = self.summary.finish(state);
        let summed = whole.summed_wall_loads();
        Totals {
            energy: self.energy.finish(model, state, summary.kinetic_energy),
            summary,
            coordination: self.touching.mean(),
            bonds: self.bonds,
            largest_overlap_fraction: self.largest_overlap_fraction,
            wall_loads: summed.unwrap_or(self.wall_loads),
            seen: self.seen.into_iter().map(Seen::mean).collect(),
            held: self.held,
        }
    }
}

impl Snapshot<'_> {
    /// Its totals.
    pub(crate) fn totals(&self) -> Totals {
        let mut tally = Tally::new(self.model, self.state);
        tally.add(self, &Before::default());
        tally.finish(self)
    }
}

/// Bodies of other parts that come with a part: those to which something leads from it.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Ends {
    OfBonds,
    OfBondsAndContacts,
}

impl Simulation {
    /// Calls a function with the present state part by part, in the order of the bodies, until it breaks, and returns what is common to
    /// all of them. A part has the buffers of a snapshot, and what [`Engine::read_part`](crate::step::Engine::read_part) says. There is
    /// one part, which is all of it, unless many processes have the state.
    ///
    /// # Errors
    /// If the device is lost.
    pub(crate) fn for_each_part(
        &mut self,
        fields: &[Field],
        act: impl FnMut(&Snapshot, &Before) -> ControlFlow<()>,
    ) -> Result<Snapshot<'_>> {
        pollster::block_on(self.for_each_part_by(Patience::Block, fields, act))
    }

    /// [`Simulation::for_each_part`], asynchronous.
    pub(crate) async fn for_each_part_by(
        &mut self,
        patience: Patience,
        fields: &[Field],
        act: impl FnMut(&Snapshot, &Before) -> ControlFlow<()>,
    ) -> Result<Snapshot<'_>> {
        self.for_each_part_with(Ends::OfBonds, patience, fields, act)
            .await
    }

    /// [`Simulation::for_each_part_by`], with these bodies of other parts in [`Before::ends`].
    pub(crate) async fn for_each_part_with(
        &mut self,
        ends: Ends,
        patience: Patience,
        fields: &[Field],
        mut act: impl FnMut(&Snapshot, &Before) -> ControlFlow<()>,
    ) -> Result<Snapshot<'_>> {
        if !self.is_spread() {
            self.fetch_by(patience, fields).await?;
            let whole = self.fetched();
            let _ = act(&whole, &Before::default());
            return Ok(self.fetched());
        }
        let (spread, common): (Vec<Field>, Vec<Field>) = fields
            .iter()
            .partition(|field| self.engine.is_spread(**field));
        self.fetch(&common)?;
        let mut part = self.state.outline();
        let count = self.state.params.body_count;
        let size = count.div_ceil(PARTS).clamp(1, MOST);
        for first in (0..count).step_by(size as usize) {
            let bodies = first..count.min(first + size);
            let mut before = self.read_part(bodies.clone(), &spread, &mut part)?;
            self.read_ends(bodies, ends, &part, &mut before);
            let snapshot = Snapshot {
                model: &self.model,
                state: &part,
                steps: self.steps,
            };
            if act(&snapshot, &before).is_break() {
                break;
            }
        }
        Ok(self.fetched())
    }

    /// Reads some bodies into a state that has those alone, if [many processes](Self::is_spread) have them.
    pub(super) fn read_part(
        &mut self,
        bodies: Range<u32>,
        fields: &[Field],
        part: &mut State,
    ) -> Result<Before> {
        let before = self.engine.read_part(bodies.clone(), fields, part)?;
        let bodies = bodies.start as usize..bodies.end as usize;
        part.identities = self.state.identities.part(bodies);
        Ok(before)
    }

    /// Reads these bodies of other parts for a part with the given bodies.
    fn read_ends(&mut self, bodies: Range<u32>, ends: Ends, part: &State, before: &mut Before) {
        let of_bonds = part.bonds.iter().map(|bond| bond.second);
        let others = match ends {
            Ends::OfBonds => &[],
            Ends::OfBondsAndContacts => &part.spheres[part.params.sphere_count as usize..],
        };
        let of_contacts = others.iter().map(|sphere| before.body(sphere.body));
        let wanted = Before::missing(&bodies, of_bonds.chain(of_contacts));
        if !wanted.is_empty() {
            before.set_ends(self.engine.read_bodies(&wanted));
        }
    }

    /// All bonds of the present state, broken ones included.
    ///
    /// # Errors
    /// If the device is lost.
    pub(super) async fn all_bonds(&mut self, patience: Patience) -> Result<Vec<Bonded>> {
        let mut all = Vec::new();
        self.for_each_bond(patience, |bond| all.push(bond)).await?;
        Ok(all)
    }

    /// Calls a function with each bond of the present state, broken ones included.
    ///
    /// # Errors
    /// If the device is lost.
    pub(super) async fn for_each_bond(
        &mut self,
        patience: Patience,
        mut act: impl FnMut(Bonded),
    ) -> Result<()> {
        if self.state.params.bond_count == 0 {
            return Ok(());
        }
        let read = self.for_each_part_by(
            patience,
            &[Field::Bodies, Field::Bonds],
            |Snapshot { state, .. }, before| {
                let bonds = state.bonded_between(|body| before.end(state, body));
                bonds.for_each(&mut act);
                ControlFlow::Continue(())
            },
        );
        read.await?;
        Ok(())
    }

    /// Totals of the present state.
    ///
    /// # Errors
    /// If the device is lost.
    pub(crate) fn totals(&mut self) -> Result<Totals> {
        let mut tally = Tally::new(&self.model, &self.state);
        let whole = self.for_each_part(&Snapshot::fields_of_totals(), |part, before| {
            tally.add(part, before);
            ControlFlow::Continue(())
        })?;
        Ok(tally.finish(&whole))
    }

    /// The largest speed of the bodies that are not fixed, m/s; 0 without any.
    ///
    /// # Errors
    /// If the device is lost.
    pub(crate) async fn largest_speed(&mut self, patience: Patience) -> Result<f64> {
        let mut largest = 0.0_f64;
        let read = self.for_each_part_by(patience, &[Field::Bodies], |part, _| {
            let bodies = part.state.bodies.iter().zip(&part.state.identities);
            let moving = bodies.filter(|(_, identity)| !identity.fixed);
            let speeds = moving.map(|(body, _)| body.velocity.as_dvec3().length());
            largest = speeds.fold(largest, f64::max);
            ControlFlow::Continue(())
        });
        read.await?;
        Ok(largest)
    }

    /// The kinetic energy of all bodies, J.
    ///
    /// # Errors
    /// If the device is lost.
    pub(crate) async fn kinetic_energy(&mut self, patience: Patience) -> Result<f64> {
        let mut sums = Sums::default();
        let read = self.for_each_part_by(patience, &[Field::Bodies], |part, before| {
            sums.add(part.model, part.state, before.spheres);
            ControlFlow::Continue(())
        });
        let whole = read.await?;
        Ok(sums.finish(whole.state).kinetic_energy)
    }

    /// Histograms with so many intervals of the present contacts: of their overlaps as fractions of the smaller radius, and of the sizes
    /// of their forces, N.
    ///
    /// # Errors
    /// If the device is lost.
    pub(crate) fn histograms(&mut self, bins: usize) -> Result<[Histogram; 2]> {
        let mut largest = [0.0_f64; 2];
        self.for_each_part(&Snapshot::CONTACTS, |part, _| {
            for contact in part.contacts() {
                let values = [contact.overlap_fraction, contact.force.length()];
                largest = [0, 1].map(|which| largest[which].max(values[which]));
            }
            ControlFlow::Continue(())
        })?;
        let mut histograms = largest.map(|largest| Histogram::empty(largest, bins));
        self.for_each_part(&Snapshot::CONTACTS, |part, _| {
            for contact in part.contacts() {
                histograms[0].add(contact.overlap_fraction);
                histograms[1].add(contact.force.length());
            }
            ControlFlow::Continue(())
        })?;
        Ok(histograms)
    }
}
