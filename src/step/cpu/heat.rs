//! Pass `heat`: what flows through contacts, and what becomes of temperatures.

use std::ops::Range;

use super::GRAIN;
use super::contacts::add;
use crate::math::parallel::prelude::*;
use crate::state::State;
use crate::state::grid::separation;
use crate::state::layout::{BodyHeat, Sphere};
use crate::step::wall_run::{WallRun, runs, walls_of};

/// Heat that flows through contacts, and the temperature of each body after the step.
///
/// The contacts are those at the start of the step. Both sides of one compute the same flow with opposite signs.
pub fn heat(state: &mut State) {
    if state.params.heat == 0 {
        return;
    }
    let bodies = (0..state.bodies.len()).into_par_iter();
    let flows: Vec<f32> = bodies
        .with_min_len(GRAIN)
        .map(|body| flow_into(state, body))
        .collect();
    let time_step = state.params.time_step;
    for (own, flow) in state.body_heat.iter_mut().zip(flows) {
        own.flow = flow;
        let change = time_step * flow * own.inverse_capacity;
        add(&mut own.temperature, &mut own.rest, change);
    }
}

/// The spheres of a body, by what these say: balls may stand side by side, where bodies are not to be read.
fn spheres_of(state: &State, body: usize) -> Range<usize> {
    if state.spheres.len() == state.bodies.len() {
        return body..body + 1;
    }
    let before = |body: usize| {
        let spheres = &state.spheres;
        spheres.partition_point(|sphere| (sphere.body as usize) < body)
    };
    before(body)..before(body + 1)
}

/// Heat that flows into a body, W.
fn flow_into(state: &State, body: usize) -> f32 {
    let own = &state.body_heat[body];
    let mut flow = 0.0;
    for index in spheres_of(state, body) {
        let sphere = &state.spheres[index];
        let [start, end] = [0, 1].map(|k| state.neighbour_starts[index + k] as usize);
        let list = &state.neighbours[start..end];
        let walls = walls_of(list);
        for &other in &list[..list.len() - walls.len()] {
            flow += from_sphere(state, sphere, own, other);
        }
        for run in runs(state, sphere, walls) {
            flow += from_wall(state, sphere, own, &run);
        }
    }
    flow
}

/// Heat that flows in from another sphere, W.
fn from_sphere(state: &State, sphere: &Sphere, own: &BodyHeat, other: u32) -> f32 {
    let params = &state.params;
    let neighbour = &state.spheres[other as usize];
    let radii = sphere.radius + neighbour.radius;
    let overlap = radii - separation(sphere, neighbour, params).length();
    if overlap <= 0.0 {
        return 0.0;
    }
    let element = sphere.material() * params.material_count + neighbour.material();
    let conductance = state.pairs[element as usize].conductance;
    let width = (sphere.radius * neighbour.radius / radii * overlap).sqrt();
    let its = &state.body_heat[neighbour.body as usize];
    // What rounding has left out counts: between bodies that are nearly as warm, it is most of the difference.
    conductance * width * ((its.temperature - own.temperature) + (its.rest - own.rest))
}

/// Heat that flows in from a wall, W.
fn from_wall(state: &State, sphere: &Sphere, own: &BodyHeat, run: &WallRun) -> f32 {
    let temperature = state.wall_temperatures()[run.index];
    if temperature < 0.0 {
        return 0.0;
    }
    let conductance = state.pairs[run.element() as usize].conductance;
    let mut flow = 0.0;
    for closest in (0..run.entries.len()).filter_map(|at| run.touched(at)) {
        let overlap = sphere.radius - closest.distance;
        if overlap > 0.0 {
            let width = (sphere.radius * overlap).sqrt();
            flow += conductance * width * ((temperature - own.temperature) - own.rest);
        }
    }
    flow
}
