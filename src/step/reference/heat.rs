use super::contacts::add;
use super::grid::separation;
use super::mirror::{Mirror, mirrors};
use super::real::Real;
use super::state::{Sphere, State};
use super::wall::{Run, run_at};
use crate::state::layout::{self, WALL};

mirrors! {
    BodyHeat {
        temperature: R,
        rest: R,
        flow: R,
        inverse_capacity: R,
    }
}

/// Heat that flows through contacts, and the temperature of each body after the step: first each sums what flows
/// into it, the contacts of its spheres in the order of their lists; then all warm up.
pub fn heat<R: Real>(state: &mut State<R>) {
    if state.params.heat == 0 {
        return;
    }
    let bodies = 0..state.bodies.len();
    let flows: Vec<R> = bodies.map(|body| flow_into(state, body)).collect();
    for (own, flow) in state.body_heat.iter_mut().zip(flows) {
        own.flow = flow;
        let change = state.params.time_step * flow * own.inverse_capacity;
        add(&mut own.temperature, &mut own.rest, change);
    }
}

/// Heat that flows into a body, W.
fn flow_into<R: Real>(state: &State<R>, index: usize) -> R {
    let own = &state.body_heat[index];
    let body = &state.bodies[index];
    let count = state.kind(body).0.sphere_count;
    let mut flow = R::ZERO;
    for k in body.first_sphere..body.first_sphere + count {
        let sphere = &state.spheres[k as usize];
        let mut list = &state.neighbours[state.list(k as usize)];
        while let &[other, ..] = list {
            let mut taken = 1;
            if other & WALL == 0 {
                flow += from_sphere(state, sphere, own, &state.spheres[other as usize]);
            } else {
                let run = run_at(state, sphere, list);
                flow += from_facets(state, sphere, own, &run);
                taken = run.len();
            }
            list = &list[taken..];
        }
    }
    flow
}

/// Heat that flows in from another sphere, W.
fn from_sphere<R: Real>(
    state: &State<R>,
    sphere: &Sphere<R>,
    own: &BodyHeat<R>,
    neighbour: &Sphere<R>,
) -> R {
    let radii = sphere.radius + neighbour.radius;
    let overlap = radii - separation(sphere, neighbour, &state.params).length();
    if overlap <= R::ZERO {
        return R::ZERO;
    }
    let pair = state.pair(sphere.material(), neighbour.material());
    let width = (sphere.radius * neighbour.radius / radii * overlap).sqrt();
    let its = &state.body_heat[neighbour.body as usize];
    // What rounding has left out counts: between bodies that are nearly as warm, it is most of the difference.
    pair.conductance * width * ((its.temperature - own.temperature) + (its.rest - own.rest))
}

/// Heat that flows in from a wall, W.
fn from_facets<R: Real>(
    state: &State<R>,
    sphere: &Sphere<R>,
    own: &BodyHeat<R>,
    run: &Run<R>,
) -> R {
    let temperature = state.wall_temperatures[run.index];
    if temperature < R::ZERO {
        return R::ZERO;
    }
    let pair = state.pair(sphere.material(), run.wall.material);
    let mut flow = R::ZERO;
    for closest in (0..run.len()).filter_map(|at| run.touched(at)) {
        let overlap = sphere.radius - closest.distance;
        if overlap > R::ZERO {
            let width = (sphere.radius * overlap).sqrt();
            flow += pair.conductance * width * ((temperature - own.temperature) - own.rest);
        }
    }
    flow
}
