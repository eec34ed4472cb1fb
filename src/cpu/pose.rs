use multiversion::multiversion;
use rayon::prelude::*;

use super::GRAIN;
use crate::grid::{metres, settle};
use crate::layout::{ASLEEP, Body, BodyProperties, GROUP_SHIFT, Sphere};
use crate::rotation::{Quaternion, angular_velocity};
use crate::state::State;

/// Position and velocity of each sphere, from its body; and the word on whether this step builds
/// the neighbour lists.
pub fn pose(state: &mut State) {
    begin(state);
    let mut spheres = std::mem::take(&mut state.spheres);
    let tasks = spheres.par_chunks_mut(GRAIN).enumerate();
    tasks.for_each(|(chunk, spheres)| {
        pose_some(state, &state.bodies, 0, chunk * GRAIN, spheres, None);
    });
    state.spheres = spheres;
}

/// What comes before the spheres.
pub(super) fn begin(state: &mut State) {
    let stats = &mut state.stats[0];
    stats.step = stats.steps;
    stats.rebuilding = stats.stale;
    stats.stale = 0;
    stats.rebuilds += stats.rebuilding;
}

/// The spheres from index `first` on, of `bodies`, which are those from index `first_body` on. Where the spheres
/// `before` are given, they are those of the step before; else they are in `spheres`.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub(super) fn pose_some(
    state: &State,
    bodies: &[Body],
    first_body: usize,
    first: usize,
    spheres: &mut [Sphere],
    before: Option<&[Sphere]>,
) {
    let State {
        params,
        properties,
        members,
        ..
    } = state;
    // A copy: compilers cannot know that nothing here changes the original.
    let params = *params;
    for (place, sphere) in spheres.iter_mut().enumerate() {
        let own = before.map_or(sphere.body, |before| before[place].body);
        let body = &bodies[own as usize - first_body];
        let asleep = body.still & ASLEEP;
        if asleep != 0 {
            if let Some(before) = before {
                *sphere = before[place];
            }
            if sphere.sleeps() {
                continue;
            }
        }
        let BodyProperties {
            inverse_inertia,
            inverse_mass,
            first_member,
            group,
            ..
        } = properties[body.kind as usize];
        let place_in_body = first + place - body.first_sphere as usize;
        let member = &members[first_member as usize + place_in_body];
        let orientation = Quaternion::of(body.orientation);
        let arm = orientation.rotate(member.center);
        let spin = angular_velocity(orientation, body.angular_momentum, inverse_inertia);
        let center = metres(body.offset, params.cell_size) + arm;
        let (cell, offset) = settle(body.cell, center, params.cell_size, params.period);
        *sphere = Sphere {
            offset,
            radius: member.radius,
            cell,
            body: own,
            velocity: body.velocity + spin.cross(arm),
            inverse_mass,
            angular_velocity: spin,
            tags: member.material | group << GROUP_SHIFT | asleep,
        };
    }
}
