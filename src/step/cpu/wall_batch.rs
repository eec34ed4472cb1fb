//! Contacts between spheres and walls, many at a time, as [`super::batch`] has those between spheres.

use std::ops::Range;

use bytemuck::cast_ref;
use glam::{UVec3, Vec3, Vec4};
#[cfg(not(simd = "portable"))]
use multiversion::multiversion;

use super::ball_block::ChunkLoads;
use super::contacts::add;
use super::history::values;
use super::lanes::{LANES, Soa4, Soa16, WIDTH, both, gather, of_lane, read_both};
use super::walls::{WallOutcome, may_wake};
use crate::math::each::{Each, copy, for_each_pair};
use crate::math::rotation::Quaternion;
use crate::model::wall::facet::{Closest, plane};
use crate::state::State;
use crate::state::grid::{from_wall, wall_margin};
use crate::state::layout::{Facet, PLANE, Pair, Sphere, WALL, Wall};
use crate::step::contact::{History, Response, respond};
use crate::step::wall_load;
use crate::step::wall_run::Approach;

/// Contacts that wait until there are enough of them.
#[derive(Default)]
pub(super) struct WallBatch {
    /// The spheres, in the order of their contacts.
    owners: Vec<BatchedSphere>,
    candidates: Vec<WallCandidate>,
    row: WallRow,
    done: Vec<WallResponse>,
}

/// A sphere that is near to walls.
struct BatchedSphere {
    /// Which of the loads is its own.
    load: usize,
    contacts: Range<usize>,
}

/// A sphere and a facet that may touch.
#[derive(Clone, Copy)]
struct WallCandidate {
    /// Place of the sphere in the subdomain.
    sphere: u32,
    /// Place of the facet in the subdomain.
    facet: u32,
    /// Position of the sphere relative to the facet; means nothing if that is a plane.
    closest: Closest,
}

/// Response of a contact with a wall.
#[derive(Clone, Copy)]
struct WallResponse {
    /// Force and what dashpots took; torque and what friction took.
    effect: [[f32; 4]; 2],
    /// On the wall, about its anchor.
    torque: Vec3,
    wall: u32,
    /// m, and as a part of the radius.
    overlap: f32,
    fraction: f32,
    /// Whether surfaces touch.
    touches: bool,
}

/// Sixteen contacts, value by value.
struct WallRow {
    spheres: Soa16,
    facets: Soa16,
    walls: [Soa4<WIDTH>; 6],
    /// See [`WallCandidate::closest`].
    closest: Soa4<WIDTH>,
    histories: [Soa4<WIDTH>; History::ELEMENTS],
    pairs: Soa16,
    /// Force and what dashpots took; torque and what friction took.
    effects: [Soa4<WIDTH>; 2],
    /// Torque on the wall about its anchor, and overlaps.
    on_walls: Soa4<WIDTH>,
    /// Overlaps as parts of the radii.
    fractions: [f32; WIDTH],
    /// 1 where surfaces touch.
    touching: [u32; WIDTH],
}

impl Default for WallRow {
    fn default() -> WallRow {
        WallRow {
            spheres: [Soa4::ZERO; 4],
            facets: [Soa4::ZERO; 4],
            walls: [Soa4::ZERO; 6],
            closest: Soa4::ZERO,
            histories: [Soa4::ZERO; History::ELEMENTS],
            pairs: [Soa4::ZERO; 4],
            effects: [Soa4::ZERO; 2],
            on_walls: Soa4::ZERO,
            fractions: [0.0; WIDTH],
            touching: [0; WIDTH],
        }
    }
}

impl WallBatch {
    /// Contacts that a batch has at most.
    pub const MOST: usize = LANES;

    /// Whether there is room for a number of contacts.
    pub fn has_room(&self, contacts: usize) -> bool {
        self.candidates.len() + contacts <= WallBatch::MOST
    }

    /// Adds the contact of a sphere of the run with a facet of it, both by their places there. If that is no plane, the
    /// sphere lies to it as `closest` says, and geometry.
    #[inline(always)]
    pub fn push(&mut self, sphere: usize, facet: usize, closest: Closest) {
        self.candidates.push(WallCandidate {
            sphere: sphere as u32,
            facet: facet as u32,
            closest,
        });
    }

    /// Says that the contacts that were pushed since the last time are those of the sphere of a load.
    #[inline(always)]
    pub fn close(&mut self, load: usize) {
        let start = self.owners.last().map_or(0, |owner| owner.contacts.end);
        let contacts = start..self.candidates.len();
        self.owners.push(BatchedSphere { load, contacts });
    }
}

/// Evaluates the contacts, adds what they do to the loads of their spheres and of the walls, and empties the batch.
/// The spheres are those of the subdomain, with the facets in their lists; `histories` are those of the contacts with these.
#[cfg_attr(
    simd = "avx512",
    multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))
)]
#[cfg_attr(simd = "avx2", multiversion(targets("x86_64+avx2")))]
pub(super) fn evaluate<const LAW: u32, const PLAIN: bool>(
    batch: &mut WallBatch,
    state: &State,
    near: (&[Sphere], &[u32]),
    histories: &mut [Vec4],
    loads: &mut ChunkLoads,
    outcome: &mut WallOutcome,
) {
    let size = state.params.history_size as usize;
    batch.done.clear();
    for candidates in batch.candidates.chunks(WIDTH) {
        let row = &mut batch.row;
        row.read(state, near, candidates, histories);
        row.respond::<LAW, PLAIN>(state);
        row.write(size, candidates, histories, &mut batch.done);
    }
    batch.candidates.clear();
    let WallOutcome { fraction, sums } = outcome;
    for owner in batch.owners.drain(..) {
        let mut load = loads.get(owner.load);
        let (mut damping, mut friction) = (0.0, 0.0);
        for done in &batch.done[owner.contacts] {
            let [force, torque] = done.effect.each(Vec4::from_array);
            load.force += force.truncate();
            load.torque += torque.truncate();
            damping += force.w;
            friction += torque.w;
            if let Some(sum) = sums.get_mut(done.wall as usize) {
                wall_load::add(sum, -force.truncate(), -done.torque, &state.params);
            }
            if may_wake(&state.params) && (done.touches || force.truncate() != Vec3::ZERO) {
                load.disturb();
            }
            if done.touches {
                load.max_overlap = load.max_overlap.max(done.overlap);
                load.contacts += 1 << 16;
                *fraction = fraction.max(done.fraction);
            }
        }
        add(&mut load.damping, &mut load.damping_rest, damping);
        add(&mut load.friction, &mut load.friction_rest, friction);
        loads.set(owner.load, load);
    }
}

impl WallRow {
    /// Takes over no more than [`WIDTH`] candidates; lanes without one have the first.
    #[inline(always)]
    fn read(
        &mut self,
        state: &State,
        (spheres, facets): (&[Sphere], &[u32]),
        candidates: &[WallCandidate],
        histories: &[Vec4],
    ) {
        let size = state.params.history_size as usize;
        let mut lanes = [candidates[0]; WIDTH];
        copy(&mut lanes, candidates);
        let sphere = |lane: usize| &spheres[lanes[lane].sphere as usize];
        gather(&mut self.spheres, sphere);
        let table = state.facets();
        let facet = |lane: usize| {
            let facet = facets[lanes[lane].facet as usize];
            &table[(facet & !WALL) as usize]
        };
        gather(&mut self.facets, facet);
        let wall = |lane: usize| {
            let wall = &state.walls[facet(lane).wall as usize];
            cast_ref::<_, [[f32; 4]; 6]>(wall)
        };
        let (four, last_two) = self.walls.split_first_chunk_mut().unwrap();
        gather(four, |lane| wall(lane).first_chunk::<4>().unwrap());
        let mut last = [[[0.0; 4]; 2]; WIDTH];
        for (lane, own) in last.iter_mut().enumerate() {
            *own = *wall(lane).last_chunk().unwrap();
        }
        let [spins, belts] = last_two.first_chunk_mut().unwrap();
        read_both([spins, belts], &last);
        for (lane, candidate) in candidates.iter().enumerate() {
            let Closest { normal, distance } = candidate.closest;
            self.closest.set(lane, normal, distance);
            let at = candidate.facet as usize * size;
            let own = &histories[at..at + size];
            for_each_pair(&mut self.histories, own, |columns, own| {
                columns.set(lane, own.truncate(), own.w);
            });
        }
        self.histories[size..].fill(Soa4::ZERO);
        if let [pair] = &state.pairs[..] {
            gather(&mut self.pairs, |_| pair);
        } else {
            let pair = |lane: usize| {
                let own = sphere(lane).material() * state.params.material_count;
                let wall = state.walls[facet(lane).wall as usize].material;
                &state.pairs[(own + wall) as usize]
            };
            gather(&mut self.pairs, pair);
        }
    }

    /// The responses of all contacts.
    #[inline(always)]
    fn respond<const LAW: u32, const PLAIN: bool>(&mut self, state: &State) {
        // A copy: compilers cannot know that nothing here changes the original, and would give up vectors.
        let params = state.params;
        let WallRow {
            spheres,
            facets,
            walls: [cells, offsets, orientations, velocities, spins, belts],
            closest,
            histories,
            pairs,
            effects: [forces, torques],
            on_walls,
            fractions,
            touching,
        } = self;
        for lane in 0..WIDTH {
            let sphere: Sphere = of_lane(spheres, lane);
            let facet: Facet = of_lane(facets, lane);
            let [i, j, k, _] = cells.bits(lane);
            let (offset, inverse_mass) = offsets.get(lane);
            let (xyz, w) = orientations.get(lane);
            // Its own orientation is a vector by itself, of which compilers make no larger ones.
            let orientation = Quaternion { xyz, w };
            let wall = Wall {
                cell: UVec3::new(i, j, k).as_ivec3(),
                offset,
                inverse_mass,
                velocity: velocities.get(lane).0,
                angular_velocity: spins.get(lane).0,
                belt: belts.get(lane).0,
                ..Wall::default()
            };
            let from_anchor = from_wall(&sphere, &wall, &params);
            let (normal, distance) = closest.get(lane);
            // Not `if ... else`: of that the compiler makes no vectors.
            let mut closest = plane(&facet, orientation.conjugate().rotate(from_anchor));
            if facet.kind != PLANE {
                closest = Closest { normal, distance };
            }
            let is_near = closest.distance < sphere.radius + wall_margin(&sphere, &params);
            let approach = Approach::new(&sphere, &wall, from_anchor, orientation, &closest);
            let geometry = approach.geometry(params.time_step);
            let mut pair = of_lane::<Pair>(pairs, lane).against(true);
            if PLAIN {
                pair = pair.plain();
            }
            let values = values::<LAW, PLAIN>();
            let was = History::of_values(|k| {
                if k < values {
                    histories[k / 4].0[k % 4][lane]
                } else {
                    0.0
                }
            });
            let response = respond::<LAW>(&geometry.contact, &pair, &was, &params);
            let response = if is_near {
                response
            } else {
                Response::default()
            };
            let torque = geometry.arm.cross(response.force) + response.torque;
            let on_wall = approach.lever(geometry.arm).cross(response.force) + response.torque;
            forces.set(lane, response.force, response.damping);
            torques.set(lane, torque, response.friction);
            let now = response.history.values();
            for k in 0..values {
                histories[k / 4].0[k % 4][lane] = now[k];
            }
            let touch = geometry.contact.touch;
            on_walls.set(lane, on_wall, touch.mean_overlap);
            fractions[lane] = touch.mean_overlap / geometry.radius;
            touching[lane] = u32::from(is_near & (touch.presence > 0.0));
        }
    }

    /// Gives back the histories and responses of the contacts of the candidates.
    #[inline(always)]
    fn write(
        &self,
        size: usize,
        candidates: &[WallCandidate],
        histories: &mut [Vec4],
        done: &mut Vec<WallResponse>,
    ) {
        let effects = both(&self.effects[0], &self.effects[1]);
        let [.., walls] = &self.facets[1].0;
        for (lane, candidate) in candidates.iter().enumerate() {
            let at = candidate.facet as usize * size;
            let own = &mut histories[at..at + size];
            for_each_pair(own, &self.histories, |own, columns| {
                let (vector, scalar) = columns.get(lane);
                *own = vector.extend(scalar);
            });
            let (torque, overlap) = self.on_walls.get(lane);
            done.push(WallResponse {
                effect: effects[lane],
                torque,
                wall: walls[lane].to_bits(),
                overlap,
                fraction: self.fractions[lane],
                touches: self.touching[lane] == 1,
            });
        }
    }
}
