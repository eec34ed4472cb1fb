use bytemuck::cast_slice_mut;
use glam::{IVec3, UVec3, Vec3};
use multiversion::multiversion;
use rayon::prelude::*;

use super::GRAIN;
use super::integrate::Kinds;
use super::lanes::{Columns, LANES, Lane, write_four};
use crate::grid::{metres, settle};
use crate::layout::{ASLEEP, Body, BodyProperties, FAST, GROUP_SHIFT, Params, Sphere};
use crate::rotation::{Quaternion, angular_velocity};
use crate::state::State;

/// Position and velocity of each sphere, from its body; and the word on whether this step builds
/// the neighbour lists.
pub fn pose(state: &mut State) {
    begin(state);
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
    tasks
        .into_par_iter()
        .for_each(|(first, bodies, spheres)| pose_some(state, bodies, first, spheres));
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

/// The spheres of `bodies`, the first of which has the index `first`, from those of the step before.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub(super) fn pose_some(state: &State, bodies: &[Body], first: usize, spheres: &mut [Sphere]) {
    let State {
        params,
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
            ..
        } = properties[body.kind as usize];
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

/// Spheres of bodies that are single spheres about their centres and never sleep, value by value: many at a time.
pub(super) struct Lanes {
    /// Inverse moment of inertia, 1/(kg m²).
    inverse_inertia: Lane,
    radii: Lane,
    inverse_masses: Lane,
    /// Tags, but for whether the body is fast.
    tags: Lane,
    spheres: [Columns; 4],
    /// The kind of all bodies, if all are of one.
    kind: Option<u32>,
}

impl Default for Lanes {
    fn default() -> Lanes {
        Lanes {
            inverse_inertia: [0.0; LANES],
            radii: [0.0; LANES],
            inverse_masses: [0.0; LANES],
            tags: [0.0; LANES],
            spheres: [Columns::ZERO; 4],
            kind: None,
        }
    }
}

impl Lanes {
    /// Writes the spheres of `bodies`, the first of which has the index `first`; `columns` has them value by value.
    #[inline(always)]
    pub fn write(
        &mut self,
        bodies: &[Body],
        columns: &[Columns; 5],
        first: usize,
        kinds: Kinds,
        params: &Params,
        spheres: &mut [Sphere],
    ) {
        self.read(bodies, kinds);
        if params.period == IVec3::ZERO {
            self.pose::<false>(columns, first, params);
        } else {
            self.pose::<true>(columns, first, params);
        }
        let own = cast_slice_mut::<_, [[f32; 4]; 4]>(spheres);
        write_four(self.spheres.each_ref(), own, 0);
    }

    #[inline(always)]
    fn read(&mut self, bodies: &[Body], kinds: Kinds) {
        let kind = bodies[0].kind;
        let alike = bodies.iter().all(|body| body.kind == kind);
        if alike && self.kind == Some(kind) {
            return;
        }
        self.kind = alike.then_some(kind);
        for lane in 0..LANES {
            let kind = match bodies.get(lane) {
                Some(body) => body.kind,
                None => kind,
            };
            let properties = &kinds.properties[kind as usize];
            let member = &kinds.members[properties.first_member as usize];
            self.inverse_inertia[lane] = properties.inverse_inertia.x;
            self.radii[lane] = member.radius;
            self.inverse_masses[lane] = properties.inverse_mass;
            self.tags[lane] = f32::from_bits(member.material | properties.group << GROUP_SHIFT);
        }
    }

    #[inline(always)]
    fn pose<const PERIODIC: bool>(&mut self, bodies: &[Columns; 5], first: usize, params: &Params) {
        // A copy: compilers cannot know that nothing here changes the original.
        let Params {
            cell_size, period, ..
        } = *params;
        let period = if PERIODIC { period } else { IVec3::ZERO };
        let [offsets, cells, _, velocities, momenta] = bodies;
        let [places, homes, motions, spins] = &mut self.spheres;
        for lane in 0..LANES {
            let [x, y, z, _] = offsets.bits(lane);
            let [i, j, k, _] = cells.bits(lane);
            let home = metres(UVec3::new(x, y, z), cell_size);
            let (cell, offset) = settle(UVec3::new(i, j, k).as_ivec3(), home, cell_size, period);
            let (momentum, drift) = momenta.get(lane);
            let spin = self.inverse_inertia[lane] * momentum;
            // As of a sphere with an arm, to the bit: zero has a sign.
            let velocity = velocities.get(lane).0 + spin.cross(Vec3::ZERO);
            let fast = if drift.is_sign_negative() { FAST } else { 0 };
            let index = (first + lane) as u32;
            places.set(lane, offset, self.radii[lane]);
            homes.set_bits(lane, cell.as_uvec3().extend(index).to_array());
            motions.set(lane, velocity, self.inverse_masses[lane]);
            let tags = self.tags[lane].to_bits() | fast;
            spins.set(lane, spin, f32::from_bits(tags));
        }
    }
}
