use bytemuck::{cast_slice, cast_slice_mut};
use glam::{IVec3, UVec3, Vec3};
use multiversion::multiversion;
use rayon::prelude::*;

use super::GRAIN;
use super::integrate::Kinds;
use super::lanes::{Columns, LANES, Lane, read_four, write_four};
use crate::grid::{metres, settle};
use crate::layout::{ASLEEP, Body, BodyProperties, FAST, GROUP_SHIFT, Params, Sphere};
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
                tags: member.material | group << GROUP_SHIFT | asleep | fast(body),
            };
        }
    }
}

/// What the tags of its spheres say of a body that is fast.
#[inline(always)]
fn fast(body: &Body) -> u32 {
    if body.is_fast() { FAST } else { 0 }
}

/// The same for bodies that are single spheres about their centres and never sleep: many at a time.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub(super) fn pose_balls(
    state: &State,
    bodies: &[Body],
    first: usize,
    spheres: &mut [Sphere],
    lanes: &mut Lanes,
) {
    let kinds = Kinds::from(state);
    let chunks = bodies.chunks(LANES).zip(spheres.chunks_mut(LANES));
    for (chunk, (bodies, spheres)) in chunks.enumerate() {
        lanes.read(bodies, kinds, first + chunk * LANES);
        if state.params.period == IVec3::ZERO {
            lanes.pose::<false>(&state.params);
        } else {
            lanes.pose::<true>(&state.params);
        }
        let own = cast_slice_mut::<_, [[f32; 4]; 4]>(spheres);
        write_four(lanes.spheres.each_ref(), own, 0);
    }
}

/// Single spheres, value by value.
pub(super) struct Lanes {
    bodies: [Columns; 5],
    /// Inverse moment of inertia, 1/(kg m²).
    inverse_inertia: Lane,
    /// The fourth values of the rows of spheres: radius, body, inverse mass, tags.
    rest: [Lane; 4],
    spheres: [Columns; 4],
}

impl Default for Lanes {
    fn default() -> Lanes {
        Lanes {
            bodies: [Columns::ZERO; 5],
            inverse_inertia: [0.0; LANES],
            rest: [[0.0; LANES]; 4],
            spheres: [Columns::ZERO; 4],
        }
    }
}

impl Lanes {
    #[inline(always)]
    fn read(&mut self, bodies: &[Body], kinds: Kinds, first: usize) {
        let own = cast_slice::<_, [[f32; 4]; 5]>(bodies);
        let [offsets, others @ ..] = &mut self.bodies;
        offsets.read(own, 0);
        read_four(others.each_mut(), own, 1);
        let [radii, indices, inverse_masses, tags] = &mut self.rest;
        for (lane, body) in bodies.iter().enumerate() {
            let properties = &kinds.properties[body.kind as usize];
            let member = &kinds.members[properties.first_member as usize];
            self.inverse_inertia[lane] = properties.inverse_inertia.x;
            radii[lane] = member.radius;
            indices[lane] = f32::from_bits((first + lane) as u32);
            inverse_masses[lane] = properties.inverse_mass;
            tags[lane] =
                f32::from_bits(member.material | properties.group << GROUP_SHIFT | fast(body));
        }
    }

    #[inline(always)]
    fn pose<const PERIODIC: bool>(&mut self, params: &Params) {
        // A copy: compilers cannot know that nothing here changes the original.
        let Params {
            cell_size, period, ..
        } = *params;
        let period = if PERIODIC { period } else { IVec3::ZERO };
        let [offsets, cells, _, velocities, momenta] = &self.bodies;
        let [radii, indices, inverse_masses, tags] = &self.rest;
        let [places, homes, motions, spins] = &mut self.spheres;
        for lane in 0..LANES {
            let [x, y, z, _] = offsets.bits(lane);
            let [i, j, k, _] = cells.bits(lane);
            let home = metres(UVec3::new(x, y, z), cell_size);
            let (cell, offset) = settle(UVec3::new(i, j, k).as_ivec3(), home, cell_size, period);
            let spin = self.inverse_inertia[lane] * momenta.get(lane).0;
            // As of a sphere with an arm, to the bit: zero has a sign.
            let velocity = velocities.get(lane).0 + spin.cross(Vec3::ZERO);
            places.set(lane, offset, radii[lane]);
            homes.set_bits(
                lane,
                cell.as_uvec3().extend(indices[lane].to_bits()).to_array(),
            );
            motions.set(lane, velocity, inverse_masses[lane]);
            spins.set(lane, spin, tags[lane]);
        }
    }
}
