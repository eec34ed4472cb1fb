use glam::Vec3;
use rayon::prelude::*;

use super::GRAIN;
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
            let (cell, offset) = settle(body.cell, body.offset + arm, params.cell_size);
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

/// Moves whole cells from `offset` to `cell`, so that the offset lies within its cell again.
pub(super) fn settle(cell: glam::IVec3, offset: Vec3, cell_size: f32) -> (glam::IVec3, Vec3) {
    let cells = (offset / cell_size).floor();
    (cell + cells.as_ivec3(), offset - cells * cell_size)
}
