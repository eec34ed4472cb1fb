//! Bodies that come and go, and single ones that are read and written: what moves between host and device is theirs
//! alone.

use std::ops::Range;

use bytemuck::{pod_collect_to_vec, pod_read_unaligned};

use super::GpuEngine;
use super::removal::Removal;
use crate::model::error::Result;
use crate::model::{Model, ModelBody};
use crate::state::layout::{BodyBonds, BodyForce, SphereLoad};
use crate::state::{Field, State};
use crate::step::Patience;

/// The fields with an element for each body, or none.
const OF_BODIES: [Field; 4] = [
    Field::Bodies,
    Field::BodyForces,
    Field::BodyHeat,
    Field::BodyBonds,
];

impl GpuEngine {
    /// Adds bodies with their ids to `state`, and uploads them.
    pub(super) async fn append_by(
        &mut self,
        patience: Patience,
        model: &Model,
        bodies: Vec<(u64, ModelBody)>,
        state: &mut State,
    ) -> Result<()> {
        let first = state.params.body_count;
        state.extend(model, bodies);
        let uploaded = self.upload_new(patience, state).await;
        if uploaded.is_err() {
            // The engine runs without them.
            let new: Vec<u32> = (first..state.params.body_count).collect();
            state.remove_elements(&new);
        }
        uploaded
    }

    /// Uploads bodies that `state` has behind those that there are.
    async fn upload_new(&mut self, patience: Patience, state: &State) -> Result<()> {
        let entries = self.stats(patience).await?.neighbours;
        self.buffers.grow(&self.context, state).await?;
        self.buffers.append(&self.context, state, entries);
        self.bind();
        self.set_stale();
        Ok(())
    }

    /// Takes bodies away from the device and from `state`.
    pub(super) async fn remove_by(
        &mut self,
        patience: Patience,
        bodies: &[u32],
        state: &mut State,
    ) -> Result<()> {
        if bodies.is_empty() {
            return Ok(());
        }
        let entries = self.stats(patience).await?.neighbours;
        let removal = match self.removal.take() {
            Some(removal) => removal,
            None => Removal::new(&self.context, &self.buffers)?,
        };
        let mut spheres = 0;
        let removed: Vec<[u32; 2]> = bodies
            .iter()
            .map(|&body| {
                spheres += state.spheres_of(&state.bodies[body as usize]).len() as u32;
                [body, spheres]
            })
            .collect();
        self.known = None;
        removal
            .submit(&self.context, &self.buffers, &removed, entries)
            .await?;
        self.removal = Some(removal);

        // Behind those of the others, there are the loads of the spheres that have gone, and then what acted on the bodies.
        let behind = |field: Field, gone: usize, count: usize| {
            let length = self.buffers.length(field);
            let own = length / count as u64 * gone as u64;
            (self.buffers.field(field), length - own, own)
        };
        let stats = (self.buffers.field(Field::Stats), 0, super::STATS);
        let loads = behind(Field::SphereLoads, spheres as usize, state.spheres.len());
        let forces = behind(Field::BodyForces, bodies.len(), state.bodies.len());
        let bonds = behind(Field::BodyBonds, bodies.len(), state.bodies.len());
        let pieces = [stats, loads, forces, bonds];
        let bytes = self.context.read_pieces(patience, &pieces).await?;
        let (stats, bytes) = bytes.split_at(super::STATS as usize);
        let (loads, bytes) = bytes.split_at(loads.2 as usize);
        let (forces, bonds) = bytes.split_at(forces.2 as usize);
        for load in pod_collect_to_vec::<u8, SphereLoad>(loads) {
            state.gone.add(&load);
        }
        for force in pod_collect_to_vec::<u8, BodyForce>(forces) {
            state.gone.add_forces(&force);
        }
        for own in pod_collect_to_vec::<u8, BodyBonds>(bonds) {
            state.gone.add_bonds(&own);
        }
        if state.params.bond_count > 0 {
            // Which of them are broken the device knows.
            self.download_by(patience, Field::Bonds, state).await?;
        }
        state.remove_elements(bodies);
        state.stats[0] = pod_read_unaligned(stats);
        self.known = Some(state.stats[0]);

        self.buffers.resize(&self.context, state);
        self.upload(Field::Actions, state);
        self.upload(Field::Bonds, state);
        self.bind();
        Ok(())
    }

    /// Copies one body, what acts on it, its temperature and the loads on its spheres, into `state`, a state of the same
    /// model.
    pub(super) async fn download_body(
        &self,
        patience: Patience,
        body: usize,
        state: &mut State,
    ) -> Result<()> {
        let spheres = state.spheres_of(&state.bodies[body]);
        let mut pieces: Vec<(Field, Range<usize>)> = OF_BODIES
            .map(|field| (field, element_bytes(state, field, body..body + 1)))
            .into();
        let size = size_of::<SphereLoad>();
        pieces.push((Field::SphereLoads, spheres.start * size..spheres.end * size));
        let wanted: Vec<(&wgpu::Buffer, u64, u64)> = pieces
            .iter()
            .map(|(field, own)| {
                let buffer = self.buffers.field(*field);
                (buffer, own.start as u64, own.len() as u64)
            })
            .collect();
        let bytes = self.context.read_pieces(patience, &wanted).await?;
        let mut rest = &bytes[..];
        for (field, own) in pieces {
            let piece;
            (piece, rest) = rest.split_at(own.len());
            state.bytes_mut(field)[own].copy_from_slice(piece);
        }
        Ok(())
    }

    /// Overwrites some bodies, what acts on them, and their temperatures, with those of `state`, a state of the same
    /// model.
    pub(super) fn upload_bodies(&self, bodies: Range<usize>, state: &State) {
        for field in OF_BODIES {
            let own = element_bytes(state, field, bodies.clone());
            let bytes = &state.bytes(field)[own.clone()];
            self.context
                .write(self.buffers.field(field), own.start as u64, bytes);
        }
    }
}

/// Returns the place of the elements of some bodies in a field, bytes; empty if it has none.
fn element_bytes(state: &State, field: Field, bodies: Range<usize>) -> Range<usize> {
    let size = state.bytes(field).len() / state.bodies.len().max(1);
    bodies.start * size..bodies.end * size
}
