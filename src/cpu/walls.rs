use glam::{Vec3, Vec4};
use multiversion::multiversion;
use rayon::prelude::*;

use super::GRAIN;
use super::contacts::add;
use super::wall_run::{WallRun, runs, walls_of};
use crate::contact::{Memory, respond};
use crate::layout::{HERTZ, HOOKE, LINEAR, SphereLoad, WALL_DIGITS};
use crate::state::State;
use crate::wall::facet::FAR;
use crate::wall::load::{self, Digits};

/// Contacts of each sphere with walls, added to those with spheres; and the loads on the walls.
///
/// # Panics
/// If the contact law is a custom one, which is there for the GPU engine only.
pub fn walls(state: &mut State) {
    if state.params.wall_count == 0 {
        return;
    }
    let kernel = kernel(state);
    let mut loads = std::mem::take(&mut state.sphere_loads);
    let mut memory = std::mem::take(&mut state.memory);
    let size = state.params.memory_size as usize;

    // Each task gets the memory of its spheres' lists: they lie one after the other.
    let mut tasks = Vec::with_capacity(loads.len() / GRAIN + 1);
    let mut rest = &mut memory[..];
    for (task, loads) in loads.chunks_mut(GRAIN).enumerate() {
        let first = task * GRAIN;
        let starts = &state.neighbour_starts[first..];
        let entries = starts[loads.len()] - starts[0];
        let own;
        (own, rest) = rest.split_at_mut(entries as usize * size);
        tasks.push((first, loads, own));
    }
    let shared = &*state;
    let touched = tasks
        .into_par_iter()
        .map(|(first, loads, memory)| kernel(shared, first, loads, memory))
        .reduce(Touched::default, Touched::and);
    state.sphere_loads = loads;
    state.memory = memory;
    touched.note(state);
}

/// What became of walls.
#[derive(Default)]
pub(super) struct Touched {
    /// Largest overlap as a fraction of the radius.
    fraction: f32,
    /// Loads on all walls, or none.
    sums: Vec<Digits>,
}

impl Touched {
    pub fn and(self, other: Touched) -> Touched {
        Touched {
            fraction: self.fraction.max(other.fraction),
            sums: together(self.sums, other.sums),
        }
    }

    pub fn note(&self, state: &mut State) {
        let largest = &mut state.stats[0].max_overlap_fraction;
        *largest = (*largest).max(self.fraction.to_bits());
        let sums = state.wall_sums.chunks_exact_mut(WALL_DIGITS);
        for (own, sum) in sums.zip(&self.sums) {
            own.copy_from_slice(&load::carried(sum));
        }
    }
}

/// Evaluates the contacts with walls of the spheres from an index on, for which there are loads, with what their
/// lists remember.
pub(super) type Kernel = fn(&State, usize, &mut [SphereLoad], &mut [Vec4]) -> Touched;

/// What evaluates the contact law of `state`.
///
/// # Panics
/// If it is a custom one.
pub(super) fn kernel(state: &State) -> Kernel {
    match state.params.law {
        LINEAR => evaluate_some::<LINEAR>,
        HOOKE => evaluate_some::<HOOKE>,
        HERTZ => evaluate_some::<HERTZ>,
        law => panic!("the CPU engine has no contact law {law}"),
    }
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

/// The contacts of the spheres from `first` on, for which there are `loads`; `memory` is that of their
/// lists.
#[multiversion(targets("x86_64+avx2"))]
fn evaluate_some<const LAW: u32>(
    state: &State,
    first: usize,
    loads: &mut [SphereLoad],
    memory: &mut [Vec4],
) -> Touched {
    let State {
        params,
        spheres,
        neighbour_starts,
        neighbours,
        ..
    } = state;
    let size = params.memory_size as usize;
    let mut sums = match params.wall_loads {
        0 => Vec::new(),
        _ => vec![[0; WALL_DIGITS]; params.wall_count as usize],
    };
    let start = neighbour_starts[first] as usize;
    let mut fraction = 0.0_f32;
    for (load, index) in loads.iter_mut().zip(first..) {
        let list = neighbour_starts[index] as usize..neighbour_starts[index + 1] as usize;
        let walls = walls_of(&neighbours[list.clone()]);
        if walls.is_empty() || load.is_kept() {
            continue;
        }
        let (mut damping, mut friction) = (0.0, 0.0);
        let mut at = list.end - walls.len() - start;
        for run in runs(state, &spheres[index], walls) {
            let memory = &mut memory[at * size..(at + run.entries.len()) * size];
            at += run.entries.len();
            let alone = run.entries.len() == 1;
            let mut orphans = Orphans::default();
            if size > 0 && !alone {
                orphans.gather(&run, memory, size);
            }
            for k in 0..run.entries.len() {
                let own = &mut memory[k * size..(k + 1) * size];
                let Some(closest) = run.touched(k) else {
                    if alone {
                        own.fill(Vec4::ZERO);
                    }
                    continue;
                };
                let near = run.near(&closest);
                if !alone && is_empty(own) {
                    orphans.hand_over(run.point(&closest), INHERITED * near.radius, own);
                }
                let contact = &near.contact;
                let pair = run.pair(state);
                let response = respond::<LAW>(contact, &pair, &Memory::of(own), params);
                response.memory.write(own);
                load.force += response.force;
                load.torque += near.arm.cross(response.force) + response.torque;
                damping += response.damping;
                friction += response.friction;
                if let Some(sum) = sums.get_mut(run.index) {
                    let torque = run.lever(&near.arm).cross(response.force) + response.torque;
                    load::add(sum, -response.force, -torque, params);
                }
                if contact.touch.presence > 0.0 {
                    let overlap = contact.touch.mean_overlap;
                    load.max_overlap = load.max_overlap.max(overlap);
                    load.contacts += 1 << 16;
                    fraction = fraction.max(overlap / near.radius);
                }
            }
        }
        add(&mut load.damping, &mut load.damping_rest, damping);
        add(&mut load.friction, &mut load.friction_rest, friction);
    }
    Touched { fraction, sums }
}

/// A contact that goes over to another facet of the wall takes along what it remembers if it goes no
/// farther than this part of the radius.
const INHERITED: f32 = 0.3;

/// What contacts remember that have ended on their facets, with the points where those are nearest now.
#[derive(Default)]
struct Orphans {
    count: usize,
    points: [Vec3; Orphans::MOST],
    memory: [[Vec4; 2]; Orphans::MOST],
}

impl Orphans {
    /// As many contacts as a sphere has with one wall, and more.
    const MOST: usize = 4;

    fn gather(&mut self, run: &WallRun, memory: &mut [Vec4], size: usize) {
        for (k, own) in memory.chunks_exact_mut(size).enumerate() {
            if is_empty(own) || run.touched(k).is_some() {
                continue;
            }
            if self.count < Self::MOST {
                self.points[self.count] = run.point(&run.closest(k));
                self.memory[self.count][..size].copy_from_slice(own);
                self.count += 1;
            }
            own.fill(Vec4::ZERO);
        }
    }

    /// Gives the memory of the nearest of those that are not farther than `reach` from `point` to `own`.
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
            own.copy_from_slice(&self.memory[k][..own.len()]);
            self.points[k] = Vec3::splat(FAR);
        }
    }
}

fn is_empty(memory: &[Vec4]) -> bool {
    memory.iter().all(|part| *part == Vec4::ZERO)
}
