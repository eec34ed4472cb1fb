use rayon::prelude::*;

use super::GRAIN;
use crate::grid::{metres, settle};
use crate::layout::{Body, BodyProperties, Motion, Sphere};
use crate::rotation::angular_velocity;
use crate::state::State;

/// Position and velocity of each sphere, from its body.
pub fn pose(state: &mut State) {
    let State {
        params,
        bodies,
        properties,
        members,
        spheres,
        motions,
        ..
    } = state;
    (spheres, motions, members)
        .into_par_iter()
        .with_min_len(GRAIN)
        .for_each(|(sphere, motion, member)| {
            let body: &Body = &bodies[member.body as usize];
            let BodyProperties {
                inverse_inertia,
                inverse_mass,
                ..
            } = properties[member.body as usize];
            let arm = body.orientation * member.center;
            let spin = angular_velocity(body.orientation, body.angular_momentum, inverse_inertia);
            let (cell, offset) = settle(
                body.cell,
                metres(body.offset, params.cell_size) + arm,
                params.cell_size,
            );
            *sphere = Sphere {
                offset,
                radius: member.radius,
                cell,
                body: member.body,
            };
            *motion = Motion {
                velocity: body.velocity + spin.cross(arm),
                inverse_mass,
                angular_velocity: spin,
                material: member.material,
            };
        });
}
