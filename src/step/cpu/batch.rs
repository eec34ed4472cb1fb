//! Contacts between spheres, many at a time.
//!
//! The law is written for one contact, in scalars. Here it stands in a loop over spheres that stand side by side, of
//! which each has one contact in a row, without branches that are left after inlining; so the compiler makes vector
//! instructions of it, as wide as the machine has them. They round as scalars do, and nothing is summed across lanes:
//! the bits are the same on every machine.

use std::ops::Range;

use bytemuck::{Pod, Zeroable, cast};
use glam::{IVec3, Vec3};

use super::contacts::columns;
use super::lanes::{Columns, Sheet, WIDTH, both, gather, of_lane};
use super::pairs::{Chunk, Group, Run, Shared};
use crate::state::State;
use crate::state::layout::{self, MATERIAL_BITS, Params, Sphere};
use crate::step::contact::{Memory, Response, respond};
use crate::step::near::Encounter;

/// What contacts do to a sphere in a step: force, N, and energy that dashpots took, J; torque, N m, and energy that
/// friction took, J.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C, align(32))]
pub(super) struct Effect(pub [[f32; 4]; 2]);

impl Effect {
    /// Of each lane.
    #[inline(always)]
    fn of([forces, torques]: &[Columns<WIDTH>; 2]) -> [Effect; WIDTH] {
        cast(both(forces, torques))
    }

    #[inline(always)]
    pub fn add(&mut self, other: &Effect) {
        // Copies, so that the compiler has all of them in one vector.
        let [mut sum, other]: [[f32; 8]; 2] = [cast(self.0), cast(other.0)];
        for k in 0..8 {
            sum[k] += other[k];
        }
        self.0 = cast(sum);
    }
}

/// What contacts do to spheres, in a ring: a power of two of places, as many as are in use at a time.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub effects: Vec<Effect>,
}

impl Sums {
    /// That of a sphere, from its place in the run.
    #[inline(always)]
    pub fn place(&self, place: usize) -> usize {
        place & (self.effects.len() - 1)
    }
}

/// Room in which contacts are evaluated.
#[derive(Default)]
pub(super) struct Batch {
    row: Row,
    /// What each contact of a chunk does to the sphere that does not own it, row by row.
    effects: Vec<[Effect; WIDTH]>,
    /// What the pairs of each sphere of a chunk do to it.
    pub sums: Sums,
}

/// A contact of each sphere of a group, value by value.
struct Row {
    own: Sheet,
    others: Sheet,
    /// Parameters of each contact.
    pairs: Sheet,
    memory: [[f32; WIDTH]; 8],
    /// What it does to the other sphere.
    effects: [Columns<WIDTH>; 2],
    /// Overlaps, m.
    overlaps: [f32; WIDTH],
    /// What this and the rows before it do to the sphere.
    sums: [Columns<WIDTH>; 2],
    /// Largest overlap so far, as a fraction of the smaller radius.
    fractions: [f32; WIDTH],
}

impl Default for Row {
    fn default() -> Row {
        Row {
            own: [Columns::ZERO; 4],
            others: [Columns::ZERO; 4],
            pairs: [Columns::ZERO; 4],
            memory: [[0.0; WIDTH]; 8],
            effects: [Columns::ZERO; 2],
            overlaps: [0.0; WIDTH],
            sums: [Columns::ZERO; 2],
            fractions: [0.0; WIDTH],
        }
    }
}

impl Batch {
    /// Rows that are fetched ahead.
    const AHEAD: usize = 2;

    /// Makes room for the contacts of a chunk of a run.
    pub fn begin(&mut self, run: &mut Run, chunk: &Chunk) {
        run.overlaps.resize(run.others.len(), [0.0; WIDTH]);
        self.effects
            .resize(chunk.rows.len(), [Effect::default(); WIDTH]);
        self.sums
            .effects
            .resize(run.sums.effects.len(), Effect::default());
        self.row.fractions = [0.0; WIDTH];
    }

    /// Evaluates the contacts of the spheres of a group of the chunk, and writes what these do to them to `sums`.
    /// Contacts of lanes that are `kept` stay what they were.
    ///
    /// With `PLAIN`, no pair has terms beyond spring, dashpot and friction.
    #[inline(always)]
    pub fn evaluate<const LAW: u32, const PLAIN: bool, const SIZE: usize, const PERIODIC: bool>(
        &mut self,
        state: &State,
        run: &mut Run,
        chunk: &Chunk,
        group: usize,
        kept: [bool; WIDTH],
        sums: &mut Sums,
    ) {
        let State { pairs, .. } = state;
        // A copy: compilers cannot know that nothing here changes the original, and would give up vectors.
        let mut params = state.params;
        if !PERIODIC {
            params.period = IVec3::ZERO;
        }
        let columns = columns(SIZE, PLAIN);
        let row = &mut self.row;
        let Group {
            places,
            count,
            ref rows,
            ..
        } = run.groups[group];
        let spheres = &run.local[..];
        if !rows.is_empty() {
            gather(&mut row.own, |lane| &spheres[places[lane] as usize]);
        }
        row.sums = [Columns::ZERO; 2];
        for index in rows.clone() {
            let ahead = index + Self::AHEAD;
            if let Some(others) = run.others.get(ahead) {
                for other in others.map(|other| other as usize) {
                    prefetch(spheres, other..other + 1);
                }
                prefetch(&run.memory, ahead * columns..(ahead + 1) * columns);
            }
            let others = &run.others[index];
            gather(&mut row.others, |lane| &spheres[others[lane] as usize]);
            let memory = &mut run.memory[index * columns..(index + 1) * columns];
            row.memory[..columns].copy_from_slice(memory);
            if let [pair] = pairs[..] {
                row.respond::<LAW, PLAIN>(&params, |_, _| pair);
            } else {
                let [tags, other_tags] = [&row.own, &row.others].map(|sheet| sheet[3].0[3]);
                let material = |tags: f32| (tags.to_bits() & MATERIAL_BITS) as usize;
                let element = |lane| {
                    let own = material(tags[lane]) * params.material_count as usize;
                    own + material(other_tags[lane])
                };
                gather(&mut row.pairs, |lane| &pairs[element(lane)]);
                row.respond::<LAW, PLAIN>(&params, of_lane);
            }
            if kept.contains(&true) {
                row.keep(memory, kept);
            }
            memory.copy_from_slice(&row.memory[..columns]);
            run.overlaps[index] = row.overlaps;
            self.effects[index - chunk.rows.start] = Effect::of(&row.effects);
        }
        let effects = Effect::of(&row.sums);
        for (lane, &place) in places[..count].iter().enumerate() {
            let place = sums.place(place as usize);
            sums.effects[place] = effects[lane];
        }
    }

    /// Adds what the contacts of a chunk do to the spheres that do not own them.
    #[inline(always)]
    pub fn share(&self, run: &mut Run, chunk: &Chunk) {
        let effects = self.effects.as_flattened();
        let shared = &run.shared[chunk.shared.clone()];
        for &Shared { place, pair } in shared {
            run.sums.effects[place as usize].add(&effects[pair as usize]);
        }
    }

    /// The largest overlap since [`Batch::begin`], as a fraction of the smaller radius.
    pub fn fraction(&self) -> f32 {
        self.row.fractions.into_iter().fold(0.0, larger)
    }
}

/// Has the processor fetch some elements that are soon needed, if there are any of these indices.
#[inline(always)]
pub(super) fn prefetch<T>(elements: &[T], range: Range<usize>) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        let [start, end] = [range.start, range.end].map(|index| index * size_of::<T>());
        for offset in (start..end).step_by(LINE) {
            let place = elements.as_ptr().cast::<i8>().wrapping_add(offset);
            // SAFETY: a prefetch reads nothing, and takes any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(place) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (elements, range);
}

/// The larger of two numbers, without a thought for those that are none.
#[inline(always)]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

impl Row {
    /// What the contacts do: adds it to the sums.
    #[inline(always)]
    fn respond<const LAW: u32, const PLAIN: bool>(
        &mut self,
        params: &Params,
        pair: impl Fn(&Sheet, usize) -> layout::Pair,
    ) {
        let Row {
            own,
            others,
            pairs,
            memory,
            effects: [forces, torques],
            overlaps,
            sums: [force_sums, torque_sums],
            fractions,
        } = self;
        for lane in 0..WIDTH {
            let (own, other): (Sphere, Sphere) = (of_lane(own, lane), of_lane(others, lane));
            let encounter = Encounter::new(&own, &other, own.body < other.body, params);
            let is_pair = own.body != other.body;
            let is_near = is_pair & encounter.is_within(params.touch_margin);
            let near = encounter.near(params.time_step);
            let mut pair = pair(pairs, lane);
            let [x, y, z, twist, ..] = &*memory;
            let mut was = Memory {
                slip: Vec3::new(x[lane], y[lane], z[lane]),
                ..Memory::default()
            };
            if PLAIN {
                pair = pair.plain();
            } else {
                let [.., x, y, z, sticks] = &*memory;
                was.twist = twist[lane];
                was.roll = Vec3::new(x[lane], y[lane], z[lane]);
                was.sticks = sticks[lane];
            }
            let response = respond::<LAW>(&near.contact, &pair, &was, params);
            let response = if is_near {
                response
            } else {
                Response::default()
            };
            let overlap = if is_near {
                near.contact.touch.mean_overlap
            } else {
                0.0
            };

            // Both spheres of a pair evaluate the contact, and each has a half of what it costs.
            let (damping, friction) = (0.5 * response.damping, 0.5 * response.friction);
            let torque = near.arm.cross(response.force) + response.torque;
            let (force_sum, damping_sum) = force_sums.get(lane);
            force_sums.set(lane, force_sum + response.force, damping_sum + damping);
            let (torque_sum, friction_sum) = torque_sums.get(lane);
            torque_sums.set(lane, torque_sum + torque, friction_sum + friction);
            fractions[lane] = larger(fractions[lane], overlap / near.radius);

            let other_arm = (other.radius - 0.5 * near.contact.overlap) * near.contact.normal;
            let torque = other_arm.cross(response.force) - response.torque;
            forces.set(lane, -response.force, damping);
            torques.set(lane, torque, friction);
            overlaps[lane] = overlap;
            let Memory {
                slip,
                twist,
                roll,
                sticks,
            } = response.memory;
            let now = [
                slip.x, slip.y, slip.z, twist, roll.x, roll.y, roll.z, sticks,
            ];
            let count = if PLAIN { 3 } else { 8 };
            for (values, now) in memory.iter_mut().zip(now).take(count) {
                values[lane] = now;
            }
        }
    }

    /// Has the lanes that are `kept` remember what they did before.
    fn keep(&mut self, before: &[[f32; WIDTH]], kept: [bool; WIDTH]) {
        for (own, before) in self.memory.iter_mut().zip(before) {
            for lane in (0..WIDTH).filter(|&lane| kept[lane]) {
                own[lane] = before[lane];
            }
        }
    }
}
