//! Contacts between spheres, many at a time.
//!
//! The law is written for one contact, in scalars. Here it stands in a loop over arrays with one
//! element for each contact, without branches that are left after inlining, so the compiler makes
//! vector instructions of it, as wide as the machine has them. They round as scalars do, and nothing
//! is summed across lanes: the bits are the same on every machine.

use std::hint::black_box;
use std::ops::Range;

use bytemuck::{cast, cast_ref};
use glam::{IVec3, Vec4};
use multiversion::multiversion;

use super::lanes::{Columns, LANES, Lane, Rows};
use super::near::Encounter;
use super::pairs::{FLIP, Pair, Run};
use crate::contact::{Memory, respond};
use crate::grid::nearest;
use crate::layout::{self, Params};
use crate::state::State;

/// What contacts do to a sphere in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    /// Force, N, and energy that dashpots took, J.
    pub force: Vec4,
    /// Torque, N m, and energy that friction took, J.
    pub torque: Vec4,
    /// Largest overlap, m.
    pub max_overlap: f32,
    /// Number of contacts.
    pub contacts: u32,
}

/// Contacts that wait until there are enough of them.
pub(super) struct Batch {
    len: usize,
    /// The sphere of each, as a place in the run.
    owners: [u32; LANES],
    /// Index of the other sphere.
    others: [u32; LANES],
    /// The other sphere as a place in the run; if it is not evaluated along, that of none.
    partners: [u32; LANES],
    /// Which of the pairs of the run it is.
    pairs: [u32; LANES],
    /// Apart and the other radius; relative velocity and inverse mass; relative spin and own radius;
    /// sum of spins: see [`Encounter`].
    encounters: [Rows; 4],
    memory: [Rows; 2],
    scratch: Scratch,
}

/// A batch, value by value.
struct Scratch {
    encounters: [Columns; 4],
    memory: [Columns; 2],
    pairs: [Columns; 4],
    /// Force and what dashpots took; torque and what friction took; that on the other sphere.
    responses: [Columns; 3],
    /// 1 where the sphere has the smaller index, else -1.
    orders: Lane,
    overlaps: Lane,
    /// Overlaps as fractions of the smaller radius.
    fractions: Lane,
    /// 1 where surfaces touch.
    touching: [u32; LANES],
}

impl Default for Batch {
    fn default() -> Batch {
        Batch {
            len: 0,
            owners: [0; LANES],
            others: [0; LANES],
            partners: [0; LANES],
            pairs: [0; LANES],
            encounters: [Rows::ZERO; 4],
            memory: [Rows::ZERO; 2],
            scratch: Scratch {
                encounters: [Columns::ZERO; 4],
                memory: [Columns::ZERO; 2],
                pairs: [Columns::ZERO; 4],
                responses: [Columns::ZERO; 3],
                orders: [0.0; LANES],
                overlaps: [0.0; LANES],
                fractions: [0.0; LANES],
                touching: [0; LANES],
            },
        }
    }
}

impl Batch {
    /// Pairs that are looked at in one go.
    const BLOCK: usize = 32;

    /// Takes the contacts of some pairs of a run: both sides of them where both spheres belong to it, unless bodies
    /// may sleep. Evaluates what there is no room for, and returns the largest overlap of that as a fraction of
    /// the smaller radius.
    #[inline(always)]
    pub fn take<const LAW: u32, const PLAIN: bool, const SIZE: usize>(
        &mut self,
        state: &State,
        run: &mut Run,
        pairs: Range<usize>,
    ) -> f32 {
        let first = run.spheres.start as u32;
        let mut fraction = 0.0;
        for from in pairs.clone().step_by(Self::BLOCK) {
            if self.len + Self::BLOCK > LANES {
                fraction = larger(fraction, evaluate::<LAW, PLAIN, SIZE>(self, state, run));
            }
            let block = from..pairs.end.min(from + Self::BLOCK);
            let ahead = block.end..run.pairs.len().min(block.end + Self::BLOCK);
            for pair in &run.pairs[ahead] {
                prefetch(&state.spheres, pair.other);
                prefetch(&run.sums, pair.other.wrapping_sub(first));
            }
            if state.params.period == IVec3::ZERO {
                self.gather::<SIZE, false>(state, run, block);
            } else {
                self.gather::<SIZE, true>(state, run, block);
            }
        }
        fraction
    }

    /// Adds those of at most [`Batch::BLOCK`] pairs that are near enough. What contacts of the others remember is
    /// zero from now on.
    ///
    /// Each pair is written and only sometimes kept: a processor would guess that branch wrong too
    /// often.
    #[inline(always)]
    fn gather<const SIZE: usize, const PERIODIC: bool>(
        &mut self,
        state: &State,
        run: &mut Run,
        block: Range<usize>,
    ) {
        /// What keeps the radius of the other sphere in a difference of offsets, and the sum of inverse masses in
        /// one of velocities.
        const PLACE: Vec4 = Vec4::new(1.0, 1.0, 1.0, 0.0);
        const MOTION: Vec4 = Vec4::new(1.0, 1.0, 1.0, -1.0);
        let State {
            params, spheres, ..
        } = state;
        let first = run.spheres.start as u32;
        let none = run.spheres.len() as u32;
        // Where bodies may sleep, pairs are evaluated from both sides.
        let both = if params.sleep_steps == 0 { none } else { 0 };
        let cell_size = params.cell_size.extend(0.0);
        let margin = params.touch_margin;
        let memory = &mut run.memory[..];
        let mut len = self.len;
        for (index, &Pair { own, other, .. }) in (block.start..).zip(&run.pairs[block.clone()]) {
            let at = len % LANES;
            let [own_sphere, sphere] = [first + own, other].map(|index| &spheres[index as usize]);
            let rows = |sphere| cast_ref::<_, [[f32; 4]; 4]>(sphere).map(Vec4::from_array);
            let [own_offset, _, own_velocity, own_spin] = rows(own_sphere);
            let [offset, _, velocity, spin] = rows(sphere);
            let cell = |sphere| cast_ref::<_, [[i32; 4]; 4]>(sphere)[1];
            let cells = cells_to::<PERIODIC>(cell(own_sphere), cell(sphere), params);
            let apart = cells * cell_size + (offset - PLACE * own_offset);
            let partner = other.wrapping_sub(first);
            self.owners[at] = own;
            self.others[at] = other;
            self.partners[at] = if partner < both { partner } else { none };
            self.pairs[at] = index as u32;
            self.encounters[0].0[at] = apart;
            self.encounters[1].0[at] = velocity - MOTION * own_velocity;
            self.encounters[2].0[at] = (spin - own_spin).with_w(own_offset.w);
            self.encounters[3].0[at] = spin + own_spin;
            let reach = own_offset.w + apart.w + margin;
            let near = apart.truncate().length_squared() < reach * reach;
            let own_memory = &mut memory[index * SIZE..(index + 1) * SIZE];
            let mut remembered = 0;
            for (rows, own) in self.memory.iter_mut().zip(&*own_memory) {
                let [low, high]: [u64; 2] = cast(*own);
                rows.0[at] = *own;
                remembered |= low | high;
            }
            // Bits that compilers cannot see through: else they make a branch on the first condition.
            let far = black_box(u64::from(near).wrapping_sub(1));
            if remembered & far != 0 {
                own_memory.fill(Vec4::ZERO);
            }
            len += usize::from(near);
        }
        self.len = len;
    }
}

/// Has the processor fetch an element that is soon needed, if there is one of that index.
#[inline(always)]
fn prefetch<T>(elements: &[T], index: u32) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = elements.as_ptr().wrapping_add(index as usize).cast::<i8>();
        // SAFETY: a prefetch reads nothing, and takes any address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(start);
            // What is not aligned to the lines of a cache may lie in two of them.
            if align_of::<T>() < 64 {
                _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(size_of::<T>() - 1));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (elements, index);
}

/// From one cell to another, as numbers of cells; in a periodic box to the nearest image.
#[inline(always)]
fn cells_to<const PERIODIC: bool>(from: [i32; 4], to: [i32; 4], params: &Params) -> Vec4 {
    // The fourth is not used, but four differences are one instruction.
    let [x, y, z, w] = std::array::from_fn(|k| to[k].wrapping_sub(from[k]));
    if !PERIODIC {
        return Vec4::from_array([x, y, z, w].map(|cells| cells as f32));
    }
    nearest(IVec3::new(x, y, z), params.period)
        .as_vec3()
        .extend(0.0)
}

/// Evaluates the contacts, adds what they do to the sums of the run, empties the batch, and returns the
/// largest overlap as a fraction of the smaller radius.
///
/// With `PLAIN`, no pair has terms beyond spring, dashpot and friction.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub(super) fn evaluate<const LAW: u32, const PLAIN: bool, const SIZE: usize>(
    batch: &mut Batch,
    state: &State,
    run: &mut Run,
) -> f32 {
    let len = batch.len;
    // A whole number of vectors, whatever their width.
    let lanes = len.next_multiple_of(16).min(LANES);
    let State {
        params,
        spheres,
        pairs,
        ..
    } = state;
    let first = run.spheres.start as u32;
    // A copy: compilers cannot know that nothing here changes the original, and would give up vectors.
    let params = *params;
    let scratch = &mut batch.scratch;
    for (rows, columns) in batch.encounters.iter().zip(&mut scratch.encounters) {
        rows.transpose(columns, lanes);
    }
    for (rows, columns) in batch.memory.iter().zip(&mut scratch.memory).take(SIZE) {
        rows.transpose(columns, lanes);
    }
    for lane in 0..lanes {
        let is_first = first + batch.owners[lane] < batch.others[lane];
        scratch.orders[lane] = if is_first { 1.0 } else { -1.0 };
    }
    if let [pair] = pairs[..] {
        scratch.respond::<LAW, PLAIN>(lanes, &params, |_, _| pair);
    } else {
        let mut rows = [const { Rows::ZERO }; 4];
        for lane in 0..len {
            let material = spheres[(first + batch.owners[lane]) as usize].material();
            let other = spheres[batch.others[lane] as usize].material();
            let element = material * params.material_count + other;
            let pair: [[f32; 4]; 4] = cast(pairs[element as usize]);
            for (rows, own) in rows.iter_mut().zip(pair) {
                rows.0[lane] = Vec4::from_array(own);
            }
        }
        for (rows, columns) in rows.iter().zip(&mut scratch.pairs) {
            rows.transpose(columns, lanes);
        }
        scratch.respond::<LAW, PLAIN>(lanes, &params, |pairs, lane| {
            let row = |columns: &Columns| columns.0.each_ref().map(|values| values[lane]);
            cast([
                row(&pairs[0]),
                row(&pairs[1]),
                row(&pairs[2]),
                row(&pairs[3]),
            ])
        });
    }

    let [forces, torques, others, ..] = &mut batch.encounters;
    scratch.responses[0].transpose(forces, lanes);
    scratch.responses[1].transpose(torques, lanes);
    scratch.responses[2].transpose(others, lanes);
    for (rows, columns) in batch.memory.iter_mut().zip(&scratch.memory).take(SIZE) {
        columns.transpose(rows, lanes);
    }
    let (sums, memory) = (&mut run.sums[..], &mut run.memory[..]);
    for lane in 0..len {
        let (overlap, touching) = (scratch.overlaps[lane], scratch.touching[lane]);
        let force = forces.0[lane];
        sums[batch.owners[lane] as usize].add(force, torques.0[lane], overlap, touching);
        let partner = &mut sums[batch.partners[lane] as usize];
        partner.add(FLIP * force, others.0[lane], overlap, touching);
        let pair = batch.pairs[lane] as usize * SIZE;
        for (part, rows) in batch.memory.iter().take(SIZE).enumerate() {
            memory[pair + part] = rows.0[lane];
        }
    }
    batch.len = 0;
    largest(&scratch.fractions[..len])
}

impl Sum {
    #[inline(always)]
    fn add(&mut self, force: Vec4, torque: Vec4, overlap: f32, contacts: u32) {
        self.force += force;
        self.torque += torque;
        self.max_overlap = larger(self.max_overlap, overlap);
        self.contacts += contacts;
    }
}

/// The larger of two numbers, without a thought for those that are none.
#[inline(always)]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// The largest of some numbers and zero: by lanes, since each has to wait for the one before.
#[inline(always)]
fn largest(numbers: &[f32]) -> f32 {
    let (vectors, rest) = numbers.as_chunks::<16>();
    let mut all = [0.0; 16];
    for vector in vectors {
        for (all, own) in all.iter_mut().zip(vector) {
            *all = larger(*all, *own);
        }
    }
    all.iter().chain(rest).copied().fold(0.0, larger)
}

impl Scratch {
    /// The responses of all contacts of a batch.
    #[inline(always)]
    fn respond<const LAW: u32, const PLAIN: bool>(
        &mut self,
        lanes: usize,
        params: &Params,
        pair: impl Fn(&[Columns; 4], usize) -> layout::Pair,
    ) {
        let Scratch {
            encounters: [places, velocities, spins, sums],
            memory: [slips, rolls],
            pairs,
            responses: [forces, torques, others],
            orders,
            overlaps,
            fractions,
            touching,
        } = self;
        for lane in 0..lanes.min(LANES) {
            let (apart, other_radius) = places.get(lane);
            let (velocity, inverse_mass) = velocities.get(lane);
            let (spin, radius) = spins.get(lane);
            let (spins, _) = sums.get(lane);
            let near = Encounter {
                apart,
                radius,
                other_radius,
                velocity,
                spin,
                spins,
                inverse_mass,
                order: orders[lane],
            }
            .near(params.time_step);
            let mut pair = pair(pairs, lane);
            let (slip, twist) = slips.get(lane);
            let mut memory = Memory {
                slip,
                twist,
                ..Memory::default()
            };
            if PLAIN {
                pair = pair.plain();
            } else {
                (memory.roll, memory.sticks) = rolls.get(lane);
            }
            let response = respond::<LAW>(&near.contact, &pair, &memory, params);
            // Both spheres of a pair evaluate the contact, and each has a half of what it costs.
            forces.set(lane, response.force, 0.5 * response.damping);
            let torque = near.arm.cross(response.force) + response.torque;
            torques.set(lane, torque, 0.5 * response.friction);
            let other_arm = (other_radius - 0.5 * near.contact.overlap) * near.contact.normal;
            let torque = other_arm.cross(response.force) - response.torque;
            others.set(lane, torque, 0.5 * response.friction);
            slips.set(lane, response.memory.slip, response.memory.twist);
            if !PLAIN {
                rolls.set(lane, response.memory.roll, response.memory.sticks);
            }
            let touch = near.contact.touch;
            overlaps[lane] = touch.mean_overlap;
            fractions[lane] = touch.mean_overlap / near.radius;
            touching[lane] = (touch.presence > 0.0).into();
        }
    }
}
