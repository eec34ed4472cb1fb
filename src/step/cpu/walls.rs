//! Pass `walls`: the contacts of spheres with walls, in batches or, on meshes, one by one.

use std::mem::take;

use glam::{Vec3, Vec4};

use super::ball_block::{ChunkLoads, loads_side_by_side_mut};
use super::contacts::add;
use super::decomposition::{Decomposition, SubdomainView};
use super::history::for_law;
use super::subdomain::{Chunk, Facets, Subdomain};
use super::wall_batch::{WallBatch, evaluate};
use crate::model::wall::facet::{Closest, FAR};
use crate::state::State;
use crate::state::layout::{Params, Sphere, SphereLoad, WALL_DIGITS};
use crate::step::contact::{History, respond};
use crate::step::wall_load::{self, Digits};
use crate::step::wall_run::{WallRun, runs};

/// Contacts of each sphere with walls, added to those with spheres; and the loads on the walls.
///
/// # Panics
/// If the contact law is a custom one, which is there for the GPU engine only.
pub(super) fn walls(state: &mut State, decomposition: &mut Decomposition) {
    if state.params.wall_count == 0 {
        return;
    }
    let kernel = kernel(state);
    let act = |state: &State, view: SubdomainView| {
        let SubdomainView {
            subdomain,
            scratch,
            spheres,
            loads,
            ..
        } = view;
        let mut outcome = WallOutcome::new(state);
        for chunk in subdomain.chunks.clone() {
            let loads = &mut loads[chunk.spheres.clone()];
            kernel(
                state,
                subdomain,
                spheres,
                &chunk,
                loads,
                &mut outcome,
                &mut scratch.walls,
            );
        }
        outcome
    };
    let outcome = decomposition.once(state, act, WallOutcome::default, WallOutcome::and);
    outcome.note(state);
}

/// Overlaps with walls, and the loads on them.
#[derive(Default)]
pub(super) struct WallOutcome {
    /// Largest overlap as a fraction of the radius.
    pub fraction: f32,
    /// Loads on all walls, or none.
    pub sums: Vec<Digits>,
}

impl WallOutcome {
    pub fn new(state: &State) -> WallOutcome {
        let params = &state.params;
        let dynamic = match params.wall_loads {
            0 => 0,
            _ => params.wall_count as usize,
        };
        WallOutcome {
            fraction: 0.0,
            sums: vec![[0; WALL_DIGITS]; dynamic],
        }
    }

    pub fn and(self, other: WallOutcome) -> WallOutcome {
        WallOutcome {
            fraction: self.fraction.max(other.fraction),
            sums: together(self.sums, other.sums),
        }
    }

    pub fn note(&self, state: &mut State) {
        let largest = &mut state.stats[0].max_overlap_fraction;
        *largest = (*largest).max(self.fraction.to_bits());
        let sums = state.wall_sums.chunks_exact_mut(WALL_DIGITS);
        for (own, sum) in sums.zip(&self.sums) {
            own.copy_from_slice(&wall_load::carried(sum));
        }
    }
}

/// Evaluates the contacts of the spheres of a chunk with walls, given the spheres of the subdomain, and adds them to the loads;
/// those of balls are side by side.
pub(super) type Kernel = fn(
    &State,
    &mut Subdomain,
    &[Sphere],
    &Chunk,
    &mut [SphereLoad],
    &mut WallOutcome,
    &mut WallBatch,
);

/// The kernel for the contact law of `state`.
///
/// # Panics
/// If it is a custom one.
pub(super) fn kernel(state: &State) -> Kernel {
    for_law!(evaluate_some, state)
}

/// Loads on all walls, or none, of some spheres and of others.
fn together(mut a: Vec<Digits>, b: Vec<Digits>) -> Vec<Digits> {
    if a.is_empty() {
        return b;
    }
    for (a, b) in a.iter_mut().zip(&b) {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    }
    a
}

/// The contacts of the spheres of a chunk.
///
/// Those of a sphere that has one facet of each wall in its list, as most have, wait for others in a batch.
fn evaluate_some<const LAW: u32, const PLAIN: bool>(
    state: &State,
    subdomain: &mut Subdomain,
    spheres: &[Sphere],
    chunk: &Chunk,
    loads: &mut [SphereLoad],
    outcome: &mut WallOutcome,
    batch: &mut WallBatch,
) {
    let size = state.params.history_size as usize;
    let mut histories = take(&mut subdomain.facet_histories);
    let mut loads = if chunk.balls {
        ChunkLoads::Columns(loads_side_by_side_mut(loads))
    } else {
        ChunkLoads::Rows(loads)
    };
    for own in &subdomain.wall_neighbours[chunk.wall_neighbours.clone()] {
        let place = own.place as usize;
        let at = place - chunk.spheres.start;
        if loads.is_kept(at) && !may_wake(&state.params) {
            continue;
        }
        let all = own.first as usize..(own.first + own.count) as usize;
        let sphere = &spheres[place];
        let facets = &subdomain.facets[all.clone()];
        if own.facets == Facets::Many {
            let histories = &mut histories[all.start * size..all.end * size];
            let mut load = loads.get(at);
            one_by_one::<LAW>(state, sphere, facets, histories, &mut load, outcome);
            loads.set(at, load);
            continue;
        }
        if !batch.has_room(all.len()) {
            evaluate::<LAW, PLAIN>(
                batch,
                state,
                (spheres, &subdomain.facets),
                &mut histories,
                &mut loads,
                outcome,
            );
        }
        if own.facets == Facets::Planes {
            all.for_each(|facet| batch.push(place, facet, Closest::FAR));
        } else {
            for (facet, wall) in all.zip(runs(state, sphere, facets)) {
                match wall.touched(0) {
                    Some(closest) => batch.push(place, facet, closest),
                    None => histories[facet * size..(facet + 1) * size].fill(Vec4::ZERO),
                }
            }
        }
        batch.close(at);
    }
    evaluate::<LAW, PLAIN>(
        batch,
        state,
        (spheres, &subdomain.facets),
        &mut histories,
        &mut loads,
        outcome,
    );
    subdomain.facet_histories = histories;
}

/// Whether walls may come to a sphere that sleeps.
pub(super) fn may_wake(params: &Params) -> bool {
    params.sleep_steps > 0 && params.moving_walls == 1
}

/// The contacts of a sphere with `facets`, of which some walls have more than one.
fn one_by_one<const LAW: u32>(
    state: &State,
    sphere: &Sphere,
    facets: &[u32],
    histories: &mut [Vec4],
    load: &mut SphereLoad,
    outcome: &mut WallOutcome,
) {
    let params = &state.params;
    let size = params.history_size as usize;
    let WallOutcome { fraction, sums } = outcome;
    let mut at = 0;
    let (mut damping, mut friction) = (0.0, 0.0);
    for run in runs(state, sphere, facets) {
        let histories = &mut histories[at * size..(at + run.entries.len()) * size];
        at += run.entries.len();
        let mut ended = EndedContacts::default();
        if size > 0 {
            ended.gather(&run, histories, size);
        }
        for k in 0..run.entries.len() {
            let own = &mut histories[k * size..(k + 1) * size];
            let Some(closest) = run.touched(k) else {
                continue;
            };
            let geometry = run.geometry(&closest);
            if is_empty(own) {
                ended.hand_over(run.point(&closest), INHERITED * geometry.radius, own);
            }
            let contact = &geometry.contact;
            let pair = run.pair(state);
            let response = respond::<LAW>(contact, &pair, &History::of(own), params);
            response.history.write(own);
            load.force += response.force;
            load.torque += geometry.arm.cross(response.force) + response.torque;
            damping += response.damping;
            friction += response.friction;
            if let Some(sum) = sums.get_mut(run.index) {
                let torque = run.lever(&geometry.arm).cross(response.force) + response.torque;
                wall_load::add(sum, -response.force, -torque, params);
            }
            let touches = contact.touch.presence > 0.0;
            if may_wake(params) && (touches || response.force != Vec3::ZERO) {
                load.disturb();
            }
            if touches {
                let overlap = contact.touch.mean_overlap;
                load.max_overlap = load.max_overlap.max(overlap);
                load.contacts += 1 << 16;
                *fraction = fraction.max(overlap / geometry.radius);
            }
        }
    }
    add(&mut load.damping, &mut load.damping_rest, damping);
    add(&mut load.friction, &mut load.friction_rest, friction);
}

/// A contact that goes over to another facet of the wall takes along its history if it goes no farther than this part of
/// the radius.
const INHERITED: f32 = 0.3;

/// Histories of contacts that have ended on their facets, with the points where those are nearest now.
#[derive(Default)]
struct EndedContacts {
    count: usize,
    points: [Vec3; EndedContacts::MOST],
    histories: [[Vec4; History::ELEMENTS]; EndedContacts::MOST],
}

impl EndedContacts {
    /// Number of contacts to hold: as many as a sphere has with one wall, and more.
    const MOST: usize = 4;

    fn gather(&mut self, run: &WallRun, histories: &mut [Vec4], size: usize) {
        for (k, own) in histories.chunks_exact_mut(size).enumerate() {
            if is_empty(own) || run.touched(k).is_some() {
                continue;
            }
            if self.count < Self::MOST {
                self.points[self.count] = run.point(&run.closest(k));
                self.histories[self.count][..size].copy_from_slice(own);
                self.count += 1;
            }
            own.fill(Vec4::ZERO);
        }
    }

    /// Gives the history of the nearest of those that are not farther than `reach` from `point` to `own`.
    fn hand_over(&mut self, point: Vec3, reach: f32, own: &mut [Vec4]) {
        let mut nearest = reach;
        let mut heir = None;
        for k in 0..self.count {
            let way = self.points[k].distance(point);
            if way < nearest {
                (nearest, heir) = (way, Some(k));
            }
        }
        if let Some(k) = heir {
            own.copy_from_slice(&self.histories[k][..own.len()]);
            self.points[k] = Vec3::splat(FAR);
        }
    }
}

fn is_empty(history: &[Vec4]) -> bool {
    history.iter().all(|part| *part == Vec4::ZERO)
}
