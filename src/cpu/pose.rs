use glam::Vec3;
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
    let mut tasks = Vec::with_capacity(state.bodies.len().div_ceil(GRAIN));
    let mut rest = &mut spheres[..];
    for (chunk, bodies) in state.bodies.chunks(GRAIN).enumerate() {
        let count = bodies.iter().map(|body| state.spheres_of(body).len()).sum();
        let own;
        (own, rest) = rest.split_at_mut(count);
        tasks.push((chunk * GRAIN, bodies, own));
    }
    tasks
        .into_par_iter()
        .for_each(|(first, bodies, spheres)| pose_some(state, bodies, first, spheres, None));
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

/// The spheres of `bodies`, the first of which has the index `first`. Where the spheres `before` are given, they are
/// those of the step before; else they are in `spheres`.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub(super) fn pose_some(
    state: &State,
    bodies: &[Body],
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
    let (mut rest, mut next) = (spheres, 0);
    for (index, body) in bodies.iter().enumerate() {
        let BodyProperties {
            inverse_inertia,
            inverse_mass,
            first_member,
            sphere_count,
            group,
            ..
        } = properties[body.kind as usize];
        let (spheres, others) = rest.split_at_mut(sphere_count as usize);
        rest = others;
        let own = next..next + spheres.len();
        next = own.end;
        let asleep = body.still & ASLEEP;
        if asleep != 0 {
            if let Some(before) = before {
                spheres.copy_from_slice(&before[own]);
            }
            if spheres.iter().all(Sphere::sleeps) {
                continue;
            }
        }
        let orientation = Quaternion::of(body.orientation);
        let spin = angular_velocity(orientation, body.angular_momentum, inverse_inertia);
        let home = metres(body.offset, params.cell_size);
        let members = &members[first_member as usize..];
        for (member, sphere) in members.iter().zip(spheres) {
            // That of a single sphere, most often.
            let arm = if member.center == Vec3::ZERO {
                Vec3::ZERO
            } else {
                orientation.rotate(member.center)
            };
            let (cell, offset) = settle(body.cell, home + arm, params.cell_size, params.period);
            *sphere = Sphere {
                offset,
                radius: member.radius,
                cell,
                body: (first + index) as u32,
                velocity: body.velocity + spin.cross(arm),
                inverse_mass,
                angular_velocity: spin,
                tags: member.material | group << GROUP_SHIFT | asleep,
            };
        }
    }
}
