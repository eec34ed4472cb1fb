//! Contacts between spheres, many at a time.
//!
//! The law is written for one contact, in scalars. Here it stands in a loop over spheres that stand side by side, of
//! which each has one contact in a row, without branches that are left after inlining; so the compiler makes vector
//! instructions of it, as wide as the machine has them. They round as scalars do, and nothing is summed across lanes:
//! the bits are the same on every machine.

use bytemuck::{Pod, Zeroable, cast};
use glam::IVec3;

use super::history::{columns, values};
use super::lanes::{Soa4, Soa16, WIDTH, both, gather, of_lane, prefetch};
use super::subdomain::{Chunk, LaneGroup, Spheres, Subdomain};
use crate::math::each::{Each, copy, for_each_pair};
use crate::state::State;
use crate::state::layout::{IMPULSE, MATERIAL_BITS, Pair, Params, Sphere};
use crate::step::contact::{History, Response, respond};
use crate::step::geometry::RelativeMotion;

/// Effect of contacts on a sphere in a step: force, N, and energy that dashpots dissipate, J; torque, N m, and energy that
/// friction dissipates, J. The normal model `impulse` has no dashpots, but needs the number of contacts: it is in their place.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(32))]
pub(super) struct Effect(pub [[f32; 4]; 2]);

impl Default for Effect {
    #[inline(always)]
    fn default() -> Effect {
        Effect::zeroed()
    }
}

impl Effect {
    /// Returns the effect of each lane.
    #[inline(always)]
    fn of([forces, torques]: &[Soa4<WIDTH>; 2]) -> [Effect; WIDTH] {
        cast(both(forces, torques))
    }

    #[inline(always)]
    pub fn add(&mut self, other: &Effect) {
        // Copies, so that the compiler has all of them in one vector.
        let [mut sum, other]: [[f32; 8]; 2] = [cast(self.0), cast(other.0)];
        for_each_pair(&mut sum, &other, |sum, other| *sum += other);
        self.0 = cast(sum);
    }
}

/// Effects on spheres, in a ring: a power of two of places, at least as many as are in use at a time. See
/// [`super`].
#[derive(Debug, Default)]
pub(super) struct SumRing {
    pub effects: Vec<Effect>,
}

impl SumRing {
    /// Returns the place of a sphere in the ring, from that in the subdomain.
    #[inline(always)]
    pub fn place(&self, place: usize) -> usize {
        place & (self.effects.len() - 1)
    }
}

/// Memory in which contacts are evaluated.
#[derive(Default)]
pub(super) struct ContactScratch {
    row: ContactRow,
    /// Reactions: the effect of each contact of a chunk on the sphere that does not own it, row by row.
    effects: Vec<[Effect; WIDTH]>,
    /// Effects on the spheres of a chunk of the pairs that they own.
    pub sums: SumRing,
}

/// A row: a contact of each sphere of a group, value by value.
struct ContactRow {
    own: Soa16,
    others: Soa16,
    /// Parameters of each contact.
    pairs: Soa16,
    history: [[f32; WIDTH]; History::VALUES],
    /// Effects on the other spheres.
    effects: [Soa4<WIDTH>; 2],
    /// Overlaps, m.
    overlaps: [f32; WIDTH],
    /// Effects of this row and those before it on the owners.
    sums: [Soa4<WIDTH>; 2],
    /// Largest overlap so far, as a fraction of the smaller radius.
    fractions: [f32; WIDTH],
}

impl Default for ContactRow {
    fn default() -> ContactRow {
        ContactRow {
            own: [Soa4::ZERO; 4],
            others: [Soa4::ZERO; 4],
            pairs: [Soa4::ZERO; 4],
            history: [[0.0; WIDTH]; History::VALUES],
            effects: [Soa4::ZERO; 2],
            overlaps: [0.0; WIDTH],
            sums: [Soa4::ZERO; 2],
            fractions: [0.0; WIDTH],
        }
    }
}

impl ContactScratch {
    /// Rows that are fetched ahead.
    const AHEAD: usize = 2;

    /// Makes room for the contacts of a chunk of a subdomain.
    pub fn begin(&mut self, state: &State, subdomain: &mut Subdomain, chunk: &Chunk) {
        subdomain
            .overlaps
            .resize(subdomain.others.len(), [0.0; WIDTH]);
        self.effects
            .resize(chunk.rows.len(), [Effect::default(); WIDTH]);
        self.sums
            .effects
            .resize(subdomain.sums.effects.len(), Effect::default());
        self.row.fractions = [0.0; WIDTH];
        if let [pair] = &state.pairs[..] {
            gather(&mut self.row.pairs, |_| pair);
        }
    }

    /// Evaluates the contacts of the spheres of a group of the chunk, and writes what these do to them to `sums`.
    /// Contacts of lanes that are `kept` stay what they were.
    #[expect(clippy::too_many_arguments, reason = "it is inlined into one place")]
    #[inline(always)]
    pub fn evaluate<const LAW: u32, const PLAIN: bool, const PERIODIC: bool>(
        &mut self,
        state: &State,
        subdomain: &mut Subdomain,
        own: &[Sphere],
        chunk: &Chunk,
        group: usize,
        kept: [bool; WIDTH],
        sums: &mut SumRing,
    ) {
        let State { pairs, .. } = state;
        // A copy: compilers cannot know that nothing here changes the original, and would give up vectors.
        let mut params = state.params;
        if !PERIODIC {
            (params.period, params.deforms) = (IVec3::ZERO, 0);
        }
        let columns = columns::<LAW, PLAIN>(state);
        let row = &mut self.row;
        let LaneGroup {
            places,
            count,
            ref rows,
            ..
        } = subdomain.groups[group];
        let spheres = Spheres {
            own,
            ghosts: &subdomain.copies,
        };
        if !rows.is_empty() {
            gather(&mut row.own, |lane| spheres.get(places[lane]));
        }
        row.sums = [Soa4::ZERO; 2];
        for index in rows.clone() {
            let ahead = index + Self::AHEAD;
            if let Some(others) = subdomain.others.get(ahead) {
                for &other in others {
                    prefetch(own, other as usize..other as usize + 1);
                }
                prefetch(&subdomain.histories, ahead * columns..(ahead + 1) * columns);
            }
            let others = &subdomain.others[index];
            gather(&mut row.others, |lane| spheres.get(others[lane]));
            let history = &mut subdomain.histories[index * columns..(index + 1) * columns];
            copy(&mut row.history[..columns], history);
            row.history[columns..values::<LAW, PLAIN>()].fill([0.0; WIDTH]);
            if pairs.len() > 1 {
                let [tags, other_tags] = [&row.own, &row.others].each(|spheres| spheres[3].0[3]);
                let material = |tags: f32| (tags.to_bits() & MATERIAL_BITS) as usize;
                let element = |lane| {
                    let own = material(tags[lane]) * params.material_count as usize;
                    own + material(other_tags[lane])
                };
                gather(&mut row.pairs, |lane| &pairs[element(lane)]);
            }
            row.respond::<LAW, PLAIN>(&params);
            if params.sleep_steps > 0 && kept.contains(&true) {
                row.keep(history, kept);
            }
            copy(history, &row.history[..columns]);
            subdomain.overlaps[index] = row.overlaps;
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
    pub fn add_reactions(&self, subdomain: &mut Subdomain, chunk: &Chunk) {
        let effects = &self.effects;
        let others = &subdomain.others[chunk.rows.clone()];
        let sums = &mut subdomain.sums;
        for &pair in &subdomain.reactions[chunk.reactions.clone()] {
            let (row, lane) = (pair as usize / WIDTH, pair as usize % WIDTH);
            let place = sums.place(others[row][lane] as usize);
            sums.effects[place].add(&effects[row][lane]);
        }
    }

    /// The largest overlap since [`ContactScratch::begin`], as a fraction of the smaller radius.
    pub fn fraction(&self) -> f32 {
        self.row.fractions.into_iter().fold(0.0, larger)
    }
}

/// The larger of two numbers, without a thought for those that are none.
#[inline(always)]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

impl ContactRow {
    /// Evaluates the contacts, and adds their effects to the sums.
    #[inline(always)]
    fn respond<const LAW: u32, const PLAIN: bool>(&mut self, params: &Params) {
        let ContactRow {
            own,
            others,
            pairs,
            history,
            effects: [forces, torques],
            overlaps,
            sums: [force_sums, torque_sums],
            fractions,
        } = self;
        for lane in 0..WIDTH {
            let (own, other): (Sphere, Sphere) = (of_lane(own, lane), of_lane(others, lane));
            let motion = RelativeMotion::new(&own, &other, own.body < other.body, params);
            let is_pair = own.body != other.body;
            let is_near = is_pair & motion.is_within(params.touch_margin);
            let geometry = motion.geometry(params.time_step);
            let mut pair: Pair = of_lane(pairs, lane);
            if PLAIN {
                pair = pair.plain();
            }
            let values = values::<LAW, PLAIN>();
            let was = History::of_values(|k| if k < values { history[k][lane] } else { 0.0 });
            let response = respond::<LAW>(&geometry.contact, &pair, &was, params);
            let response = if is_near {
                response
            } else {
                Response::default()
            };
            let overlap = if is_near {
                geometry.contact.touch.mean_overlap
            } else {
                0.0
            };

            // Both spheres of a pair evaluate the contact, and each has a half of what it costs.
            let (damping, friction) = (0.5 * response.damping, 0.5 * response.friction);
            let damping = if LAW == IMPULSE {
                if overlap > 0.0 { 1.0 } else { 0.0 }
            } else {
                damping
            };
            let torque = geometry.arm.cross(response.force) + response.torque;
            let (force_sum, damping_sum) = force_sums.get(lane);
            force_sums.set(lane, force_sum + response.force, damping_sum + damping);
            let (torque_sum, friction_sum) = torque_sums.get(lane);
            torque_sums.set(lane, torque_sum + torque, friction_sum + friction);
            fractions[lane] = larger(fractions[lane], overlap / geometry.radius);

            let other_arm =
                (other.radius - 0.5 * geometry.contact.overlap) * geometry.contact.normal;
            let torque = other_arm.cross(response.force) - response.torque;
            forces.set(lane, -response.force, damping);
            torques.set(lane, torque, friction);
            overlaps[lane] = overlap;
            let now = response.history.values();
            for_each_pair(&mut history[..values], &now, |row, now| row[lane] = *now);
        }
    }

    /// Gives the lanes that are `kept` the histories that they had before.
    fn keep(&mut self, before: &[[f32; WIDTH]], kept: [bool; WIDTH]) {
        for (own, before) in self.history.iter_mut().zip(before) {
            for lane in (0..WIDTH).filter(|&lane| kept[lane]) {
                own[lane] = before[lane];
            }
        }
    }
}
