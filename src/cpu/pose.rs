use multiversion::multiversion;
use rayon::prelude::*;

use super::GRAIN;
use crate::grid::{metres, settle};
use crate::layout::{ASLEEP, Body, BodyProperties, GROUP_SHIFT, Member, Params, Sphere};
use crate::rotation::{Quaternion, angular_velocity};
use crate::state::State;

/// Position and velocity of each sphere, from its body; and the word on whether this step builds
/// the neighbour lists.
pub fn pose(state: &mut State) {
    let State {
        params,
        bodies,
        properties,
        members,
        spheres,
        stats,
        ..
    } = state;
    stats[0].step = stats[0].steps;
    stats[0].rebuilding = stats[0].stale;
    stats[0].stale = 0;
    stats[0].rebuilds += stats[0].rebuilding;
    (spheres.par_chunks_mut(GRAIN), members.par_chunks(GRAIN))
        .into_par_iter()
        .for_each(|(spheres, members)| pose_some(params, bodies, properties, members, spheres));
}

/// The spheres that are `members` of their bodies.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn pose_some(
    params: &Params,
    bodies: &[Body],
    properties: &[BodyProperties],
    members: &[Member],
    spheres: &mut [Sphere],
) {
    for (sphere, member) in spheres.iter_mut().zip(members) {
        let body = &bodies[member.body as usize];
        let asleep = body.still & ASLEEP;
        if asleep != 0 && sphere.sleeps() {
            continue;
        }
        let BodyProperties {
            inverse_inertia,
            inverse_mass,
            ..
        } = properties[member.body as usize];
        let orientation = Quaternion::of(body.orientation);
        let arm = orientation.rotate(member.center);
        let spin = angular_velocity(orientation, body.angular_momentum, inverse_inertia);
        let center = metres(body.offset, params.cell_size) + arm;
        let (cell, offset) = settle(body.cell, center, params.cell_size, params.period);
        *sphere = Sphere {
            offset,
            radius: member.radius,
            cell,
            body: member.body,
            velocity: body.velocity + spin.cross(arm),
            inverse_mass,
            angular_velocity: spin,
            tags: member.material | member.group << GROUP_SHIFT | asleep,
        };
    }
}
