//! Pass `pose`: the spheres of bodies.

use bytemuck::cast_slice_mut;
use glam::{IVec3, UVec3, Vec3};
#[cfg(not(simd = "portable"))]
use multiversion::multiversion;

use super::GRAIN;
use super::ball_block::{aligned, kinds_of, side_by_side};
use super::integrate::Kinds;
use super::lanes::{Soa4, Soa16, WIDTH, write_four};
use crate::math::each::{Each, for_each_pair};
use crate::math::grid::{metres, settle};
use crate::math::parallel::prelude::*;
use crate::math::rotation::{Quaternion, angular_velocity};
use crate::state::State;
use crate::state::layout::{
    ASLEEP, Body, BodyProperties, FAST, GHOST, GROUP_SHIFT, IMPULSE, Params, Sphere, shares,
};

/// Position and velocity of each sphere, from its body; and the word on whether this step builds
/// the neighbour lists.
pub fn pose(state: &mut State) {
    state.begin_step();
    pose_all(state);
}

/// All spheres.
pub(super) fn pose_all(state: &mut State) {
    let mut spheres = std::mem::take(&mut state.spheres);
    let mut tasks = Vec::with_capacity(state.bodies.len().div_ceil(GRAIN));
    let mut rest = &mut spheres[..];
    for (chunk, bodies) in state.bodies.chunks(GRAIN).enumerate() {
        let count = bodies.iter().map(|body| state.spheres_of(body).len()).sum();
        let own;
        (own, rest) = rest.split_at_mut(count);
        tasks.push((chunk * GRAIN, bodies, own));
    }
    tasks.into_par_iter().for_each(|(first, bodies, spheres)| {
        pose_some(state, &state.params, bodies, first, spheres);
    });
    state.spheres = spheres;
}

/// The spheres of `bodies`, the first of which has the index `first`, from those of the step before; `params` are those of the
/// step to come.
#[cfg_attr(
    simd = "avx512",
    multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))
)]
#[cfg_attr(simd = "avx2", multiversion(targets("x86_64+avx2")))]
pub(super) fn pose_some(
    state: &State,
    params: &Params,
    bodies: &[Body],
    first: usize,
    spheres: &mut [Sphere],
) {
    let State {
        properties,
        members,
        ..
    } = state;
    // A copy: compilers cannot know that nothing here changes the original.
    let params = *params;
    let mut rest = spheres;
    for (index, body) in bodies.iter().enumerate() {
        let BodyProperties {
            inverse_inertia,
            inverse_mass,
            first_member,
            sphere_count,
            group,
            landing,
            ..
        } = properties[body.kind as usize];
        let impulses = params.law == IMPULSE && inverse_mass > 0.0;
        let (spheres, others) = rest.split_at_mut(sphere_count as usize);
        rest = others;
        let asleep = body.still & ASLEEP;
        if asleep != 0 && spheres.iter().all(Sphere::sleeps) {
            continue;
        }
        let orientation = Quaternion::of(body.orientation);
        let spin = angular_velocity(orientation, body.angular_momentum, inverse_inertia);
        let home = metres(body.offset, params.cell_size);
        let members = &members[first_member as usize..];
        for_each_pair(spheres, members, |sphere, member| {
            // That of a single sphere, most often.
            let arm = if member.center == Vec3::ZERO {
                Vec3::ZERO
            } else {
                orientation.rotate(member.center)
            };
            let place = home + params.upright(arm);
            let (cell, offset) = settle(body.cell, place, params.cell_size, params.period);
            let mut velocity = body.velocity + spin.cross(arm);
            if params.deforms == 1 {
                // The body is rigid, and the flow is not.
                velocity -= params.flow(arm);
            }
            *sphere = Sphere {
                offset,
                radius: member.radius,
                cell,
                body: (first + index) as u32,
                velocity,
                inverse_mass: if impulses {
                    body.shares(landing) * (inverse_mass + member.turning)
                } else {
                    inverse_mass
                },
                angular_velocity: spin,
                tags: member.material | group << GROUP_SHIFT | asleep | fast(body),
            };
        });
    }
}

/// The tag of the spheres of a fast body.
#[inline(always)]
fn fast(body: &Body) -> u32 {
    if body.is_fast() { FAST } else { 0 }
}

/// The spheres of balls that are side by side, the first of which has the index `first`.
#[cfg_attr(
    simd = "avx512",
    multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))
)]
#[cfg_attr(simd = "avx2", multiversion(targets("x86_64+avx2")))]
pub(super) fn pose_balls(
    params: &Params,
    kinds: Kinds,
    bodies: &[Body],
    first: usize,
    spheres: &mut [Sphere],
) {
    let mut lanes = SphereLanes::default();
    let spheres = spheres.as_chunks_mut::<WIDTH>().0;
    let blocks = cast_slice_mut::<_, [[[f32; 4]; 4]; WIDTH]>(spheres);
    for (index, bodies) in side_by_side(bodies).iter().enumerate() {
        let bodies = aligned(bodies);
        lanes.set_kinds(&bodies, WIDTH, kinds);
        let first = first + index * WIDTH;
        if params.period == IVec3::ZERO {
            lanes.pose::<false>(&bodies, first, kinds, params);
        } else {
            lanes.pose::<true>(&bodies, first, kinds, params);
        }
        let [a, b, c, d] = &lanes.spheres;
        write_four([a, b, c, d], &mut blocks[index], 0);
    }
}

/// Spheres of balls, value by value.
struct SphereLanes {
    /// The kinds of the bodies.
    kinds: Option<[u32; WIDTH]>,
    /// Inverse moment of inertia, 1/(kg m²).
    inverse_inertia: [f32; WIDTH],
    radii: [f32; WIDTH],
    inverse_masses: [f32; WIDTH],
    /// See [`BodyProperties::landing`].
    landings: [u32; WIDTH],
    /// Tags, but for whether the body is fast or a ghost.
    tags: [u32; WIDTH],
    spheres: Soa16,
}

impl Default for SphereLanes {
    fn default() -> SphereLanes {
        SphereLanes {
            kinds: None,
            inverse_inertia: [0.0; WIDTH],
            radii: [0.0; WIDTH],
            inverse_masses: [0.0; WIDTH],
            landings: [1; WIDTH],
            tags: [0; WIDTH],
            spheres: [Soa4::ZERO; 4],
        }
    }
}

impl SphereLanes {
    /// Takes over what the first `count` bodies are made of.
    #[inline(always)]
    fn set_kinds(&mut self, bodies: &[Soa4<WIDTH>; 5], count: usize, kinds: Kinds) {
        let those = kinds_of(bodies, count).each(|kind| kinds.but_for_ghosts(kind));
        if self.kinds == Some(those) {
            return;
        }
        self.kinds = Some(those);
        for (lane, kind) in those.into_iter().enumerate() {
            let properties = &kinds.properties[kind as usize];
            let member = &kinds.members[properties.first_member as usize];
            self.inverse_inertia[lane] = properties.inverse_inertia.x;
            self.radii[lane] = member.radius;
            self.inverse_masses[lane] = properties.inverse_mass;
            self.landings[lane] = properties.landing;
            self.tags[lane] = member.material | properties.group << GROUP_SHIFT;
        }
    }

    #[inline(always)]
    fn pose<const PERIODIC: bool>(
        &mut self,
        bodies: &[Soa4<WIDTH>; 5],
        first: usize,
        kinds: Kinds,
        params: &Params,
    ) {
        // A copy: compilers cannot know that nothing here changes the original.
        let Params {
            cell_size,
            period,
            law,
            ..
        } = *params;
        let period = if PERIODIC { period } else { IVec3::ZERO };
        let [offsets, cells, _, velocities, momenta] = bodies;
        let [places, homes, motions, spins] = &mut self.spheres;
        for lane in 0..WIDTH {
            let [x, y, z, still] = offsets.bits(lane);
            let [i, j, k, kind] = cells.bits(lane);
            let home = metres(UVec3::new(x, y, z), cell_size);
            let (cell, offset) = settle(UVec3::new(i, j, k).as_ivec3(), home, cell_size, period);
            let (momentum, displacement_bound) = momenta.get(lane);
            let spin = self.inverse_inertia[lane] * momentum;
            // As of a sphere with an arm, to the bit: zero has a sign.
            let velocity = velocities.get(lane).0 + spin.cross(Vec3::ZERO);
            let fast = if displacement_bound.is_sign_negative() {
                FAST
            } else {
                0
            };
            let index = (first + lane) as u32;
            let inverse_mass = if law == IMPULSE {
                shares(still, self.landings[lane]) * self.inverse_masses[lane]
            } else {
                self.inverse_masses[lane]
            };
            places.set(lane, offset, self.radii[lane]);
            homes.set_bits(lane, cell.as_uvec3().extend(index).to_array());
            motions.set(lane, velocity, inverse_mass);
            let ghost = if kinds.are_ghosts(kind) { GHOST } else { 0 };
            spins.set(lane, spin, f32::from_bits(self.tags[lane] | fast | ghost));
        }
    }
}
