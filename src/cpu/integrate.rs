use rayon::prelude::*;

use super::GRAIN;
use crate::grid::{dither, is_sane, travel};
use crate::layout::{Body, Load, SEMI_IMPLICIT};
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
    let dither = dither(stats[0].step);
    let (runaway, stale) = (bodies, body_loads, properties)
        .into_par_iter()
        .with_min_len(GRAIN)
        .enumerate()
        .map(|(index, (body, load, properties))| {
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
            *load = sum;
            if properties.inverse_mass == 0.0 {
                return (0, params.drift_limit < 0.0);
            }

            let Body {
                velocity,
                angular_momentum,
                ..
            } = *body;
            body.velocity += (sum.force * properties.inverse_mass + params.gravity) * time_step;
            body.angular_momentum += sum.torque * time_step;
            let (velocity, angular_momentum) = if params.integrator == SEMI_IMPLICIT {
                (body.velocity, body.angular_momentum)
            } else {
                (velocity, angular_momentum)
            };
            let way = velocity * time_step;
            (body.cell, body.offset) = travel(
                body.cell,
                body.offset,
                way,
                params.cell_size,
                params.period,
                dither,
            );
            let spin;
            (body.orientation, spin) = advance(
                body.orientation,
                angular_momentum,
                properties.inverse_inertia,
                time_step,
                dither,
            );

            let drift = if rebuilding { 0.0 } else { body.drift };
            body.drift = drift + way.length() + spin.length() * time_step * properties.reach;
            let turn = spin * time_step;
            let lost = !(is_sane(way, params.cell_size) && turn.length() < MOST_TURN);
            (
                if lost { index as u32 + 1 } else { 0 },
                body.drift > params.drift_limit,
            )
        })
        .reduce(|| (0, false), |a, b| (a.0.max(b.0), a.1 || b.1));
    let stats = &mut stats[0];
    stats.runaway = stats.runaway.max(runaway);
    stats.stale = stale.into();
    stats.steps += 1;
}
