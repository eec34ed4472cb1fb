use multiversion::multiversion;
use rayon::prelude::*;

use super::GRAIN;
use crate::grid::{is_sane, travel};
use crate::layout::{
    Body, BodyProperties, Load, Member, Params, SEMI_IMPLICIT, SphereLoad,
};
use crate::rotation::{MOST_TURN, advance, quaternion};
use crate::state::State;

/// Sums the spheres of each body and moves it by one time step.
pub fn integrate(state: &mut State) {
    let State {
        params,
        bodies,
        properties,
        members,
        sphere_loads,
        body_loads,
        stats,
        ..
    } = state;
    let time_step = params.time_step;
    let rebuilding = stats[0].rebuilding == 1;
    let (runaway, stale) = (
        bodies.par_chunks_mut(GRAIN),
        body_loads.par_chunks_mut(GRAIN),
        properties.par_chunks(GRAIN),
    )
        .into_par_iter()
        .enumerate()
        .map(|(chunk, (bodies, loads, properties))| {
            let (runaway, stale) = integrate_some(
                params,
                rebuilding,
                members,
                sphere_loads,
                bodies,
                loads,
                properties,
            );
            let runaway = runaway.map_or(0, |at| (chunk * GRAIN + at) as u32 + 1);
            (runaway, stale)
        })
        .reduce(|| (0, false), |a, b| (a.0.max(b.0), a.1 || b.1));
    let stats = &mut stats[0];
    stats.runaway = stats.runaway.max(runaway);
    stats.stale = stale.into();
    stats.steps += 1;
}

/// Moves some bodies. Returns the place of the last one that is lost, and whether one may have left
/// the skin of the neighbour lists.
#[multiversion(targets("x86_64+avx2"))]
fn integrate_some(
    params: &Params,
    rebuilding: bool,
    members: &[Member],
    sphere_loads: &[SphereLoad],
    bodies: &mut [Body],
    loads: &mut [Load],
    properties: &[BodyProperties],
) -> (Option<usize>, bool) {
    let (mut runaway, mut stale) = (None, params.drift_limit < 0.0);
    for (index, ((body, load), properties)) in bodies.iter_mut().zip(loads).zip(properties).enumerate()
    {
        *load = sum(body, properties, members, sphere_loads);
        if properties.inverse_mass == 0.0 {
            continue;
        }
        let Body {
            velocity,
            angular_momentum,
            ..
        } = *body;
        body.velocity += (load.force * properties.inverse_mass + params.gravity) * params.time_step;
        body.angular_momentum += load.torque * params.time_step;
        let (velocity, angular_momentum) = if params.integrator == SEMI_IMPLICIT {
            (body.velocity, body.angular_momentum)
        } else {
            (velocity, angular_momentum)
        };
        let way = velocity * params.time_step;
        (body.cell, body.offset) =
            travel(body.cell, body.offset, way, params.cell_size, params.period);
        let spin;
        (body.orientation, spin) = advance(
            body.orientation,
            angular_momentum,
            properties.inverse_inertia,
            params.time_step,
        );

        let drift = if rebuilding { 0.0 } else { body.drift };
        body.drift =
            drift + way.length() + spin.length() * params.time_step * properties.reach;
        let turn = spin * params.time_step;
        if !(is_sane(way, params.cell_size) && turn.length() < MOST_TURN) {
            runaway = Some(index);
        }
        stale |= body.drift > params.drift_limit;
    }
    (runaway, stale)
}

/// What contacts do to a body: the sum over its spheres.
#[inline(always)]
fn sum(
    body: &Body,
    properties: &BodyProperties,
    members: &[Member],
    sphere_loads: &[SphereLoad],
) -> Load {
    let orientation = quaternion(body.orientation);
    let mut sum = Load::default();
    let first = properties.first_sphere as usize;
    let range = first..first + properties.sphere_count as usize;
    for (member, sphere) in members[range.clone()].iter().zip(&sphere_loads[range]) {
        let arm = orientation * member.center;
        sum.force += sphere.force;
        sum.torque += sphere.torque + arm.cross(sphere.force);
        sum.max_overlap = sum.max_overlap.max(sphere.max_overlap);
        sum.contacts += sphere.sphere_contacts() + sphere.plane_contacts();
    }
    sum
}
