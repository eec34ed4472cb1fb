//! Pass `neighbours`: finds the neighbour list of each sphere, eight candidates at a time.

use std::mem::take;
use std::ops::Range;

use bytemuck::{cast_slice, zeroed_vec};
use glam::{IVec3, Vec3, Vec4};
#[cfg(not(simd = "portable"))]
use multiversion::multiversion;

use super::lanes::{compress, marked};
use super::retired::{Histories, Keeper};
use super::subdomain::NeighbourLists;
use crate::math::each::copy;
use crate::math::grid::{row_parts, row_ranges, shortest_way, tilted_way, wrap};
use crate::math::parallel::prelude::*;
use crate::model::wall::facet::distance;
use crate::model::wall::tree::for_each_near;
use crate::state::State;
use crate::state::grid::{extent, from_wall, level_of, reach, wall_extent};
use crate::state::layout::{Facet, Group, Node, Params, Sphere, WALL, Wall};
use crate::step::wall_run::orientation_of;

/// Spheres whose lists a thread makes in one go.
const CHUNK: usize = 1024;

/// Spheres that are looked at in one go.
const LANES: usize = 8;

/// Least number of chunks whose lists are found before all of them are put together: enough to keep many threads busy.
const LEAST_WAVE: usize = 64;

/// Neighbour list of each sphere: all that it may touch until the lists are built again, spheres in
/// the order of their indices, then facets of walls, so that the sum of the contact forces does not depend on
/// when they were built. Returns the lists of before, if contacts have histories. These, if the state has them, stay where those lists have
/// them: who goes on with them finds them by these, or has [`carry`] move them.
pub(super) fn neighbours(
    state: &mut State,
    scratch: &mut ListScratch,
    has_histories: bool,
) -> Option<OldLists> {
    let walls = WallTable {
        walls: &state.walls[..state.params.wall_count as usize],
        facets: cast_slice(
            &state.geometry[state.params.facet_start as usize..state.params.node_start as usize],
        ),
        nodes: cast_slice(
            &state.geometry[state.params.node_start as usize..state.params.sample_start as usize],
        ),
        samples: cast_slice(&state.geometry[state.params.sample_start as usize..]),
    };
    let State {
        params,
        groups,
        spheres,
        bucket_starts,
        sorted,
        neighbour_starts,
        neighbours,
        history,
        stats,
        ..
    } = state;
    let lists = &mut scratch.lists;
    // New memory, of which the system has none before something is written there; and behind the lists it is zero, as
    // checkpoints want it.
    let (count, room) = (neighbour_starts.len(), neighbours.len());
    let old = OldLists {
        starts: take(neighbour_starts),
        neighbours: take(neighbours),
    };
    let old = (params.history_size > 0).then_some(old);
    (*neighbour_starts, *neighbours) = (zeroed_vec(count), zeroed_vec(room));

    let places = SortedSpheres::of(spheres, sorted, params);
    let grid = Grid {
        params,
        groups,
        spheres,
        bucket_starts,
        places: &places,
    };
    let chunks = spheres.len().div_ceil(CHUNK);
    let wave = LEAST_WAVE.max(chunks / 8);
    lists.resize_with(wave.min(chunks), Vec::new);
    let mut total = 0;
    let waves = neighbour_starts[1..].chunks_mut(wave * CHUNK);
    for (index, ends) in waves.enumerate() {
        let first = index * wave * CHUNK;
        let tasks = ends.par_chunks_mut(CHUNK).zip(&mut *lists).enumerate();
        tasks.for_each(|(chunk, (ends, list))| {
            let first = first + chunk * CHUNK;
            if params.period == IVec3::ZERO {
                find_some::<false>(&grid, &walls, first, ends, list);
            } else {
                find_some::<true>(&grid, &walls, first, ends, list);
            }
        });
        let mut end = total;
        for (ends, list) in ends.chunks_mut(CHUNK).zip(&*lists) {
            ends.iter_mut().for_each(|own| *own += end as u32);
            end += list.len();
        }
        if neighbours.len() < end {
            let room = State::neighbour_room(end as u32) as usize;
            let mut larger = zeroed_vec(room);
            larger[..total].copy_from_slice(&neighbours[..total]);
            *neighbours = larger;
        }
        let mut rest = &mut neighbours[total..end];
        let mut tasks = Vec::with_capacity(lists.len());
        for list in lists.iter().take(ends.len().div_ceil(CHUNK)) {
            let own;
            (own, rest) = rest.split_at_mut(list.len());
            tasks.push((own, list));
        }
        tasks
            .into_par_iter()
            .for_each(|(own, list)| own.copy_from_slice(list));
        total = end;
    }
    stats[0].neighbours = total as u32;
    if params.neighbour_capacity < neighbours.len() as u32 {
        params.neighbour_capacity = neighbours.len() as u32;
        let elements = (params.history_size as usize * neighbours.len()).max(1);
        if has_histories {
            history.resize(elements, Vec4::ZERO);
        } else {
            *history = zeroed_vec(elements);
        }
    }
    old
}

/// Moves the contact histories of a state from where the `old` lists have them to where its own do.
pub(super) fn carry(state: &mut State, old: &OldLists) {
    let size = state.params.history_size as usize;
    let known = state.history.clone();
    let histories = Histories {
        lists: old.lists(),
        keeper: Keeper::State(&known, size),
    };
    let (starts, neighbours) = (&state.neighbour_starts, &state.neighbours);
    for (sphere, own) in starts.windows(2).enumerate() {
        let mut entries = histories.of(sphere);
        let own = own[0] as usize..own[1] as usize;
        for (entry, &other) in own.clone().zip(&neighbours[own]) {
            let history = &mut state.history[entry * size..][..size];
            match entries.of_entry(other) {
                Some(known) => history.copy_from_slice(known),
                None => history.fill(Vec4::ZERO),
            }
        }
    }
    let total = starts.last().map_or(0, |&end| end as usize);
    if let Some(left_behind) = state
        .history
        .get_mut(size * total..size * old.entry_count())
    {
        left_behind.fill(Vec4::ZERO);
    }
}

/// Memory in which this pass works, kept from call to call; nothing of it is read before it is written.
#[derive(Debug, Default)]
pub(super) struct ListScratch {
    /// Lists of the spheres of some chunks.
    lists: Vec<Vec<u32>>,
}

/// The spheres in their buckets, as the search for neighbours needs them.
struct Grid<'a> {
    params: &'a Params,
    groups: &'a [Group],
    spheres: &'a [Sphere],
    bucket_starts: &'a [u32],
    places: &'a SortedSpheres,
}

/// Positions of the spheres, in the order of [`State::sorted`], value by value; with [`LANES`] more at the end.
#[derive(Debug, Default)]
struct SortedSpheres {
    offsets: [Vec<f32>; 3],
    cells: [Vec<i32>; 3],
    extents: Vec<f32>,
    levels: Vec<u32>,
    bodies: Vec<u32>,
    /// Indices of the spheres, as [`State::sorted`] has them.
    indices: Vec<u32>,
}

impl SortedSpheres {
    fn of(spheres: &[Sphere], sorted: &[u32], params: &Params) -> SortedSpheres {
        let count = spheres.len() + LANES;
        let mut places = SortedSpheres {
            offsets: std::array::from_fn(|_| zeroed_vec(count)),
            cells: std::array::from_fn(|_| zeroed_vec(count)),
            extents: zeroed_vec(count),
            levels: zeroed_vec(count),
            bodies: zeroed_vec(count),
            indices: zeroed_vec(count),
        };
        places.indices[..sorted.len()].copy_from_slice(sorted);
        let SortedSpheres {
            offsets,
            cells,
            extents,
            levels,
            bodies,
            ..
        } = &mut places;
        let [x, y, z] = offsets.each_mut().map(|own| own.par_chunks_mut(CHUNK));
        let [i, j, k] = cells.each_mut().map(|own| own.par_chunks_mut(CHUNK));
        let offsets = x.zip(y).zip(z);
        let cells = i.zip(j).zip(k);
        let levels = levels.par_chunks_mut(CHUNK);
        let rest = extents.par_chunks_mut(CHUNK).zip(levels);
        let rest = rest.zip(bodies.par_chunks_mut(CHUNK));
        let tasks = sorted.par_chunks(CHUNK).zip(offsets).zip(cells).zip(rest);
        tasks.for_each(|(((sorted, offsets), cells), rest)| {
            let (((x, y), z), ((i, j), k)) = (offsets, cells);
            let ((extents, levels), bodies) = rest;
            for (place, &index) in sorted.iter().enumerate() {
                let sphere = &spheres[index as usize];
                [x[place], y[place], z[place]] = sphere.offset.to_array();
                [i[place], j[place], k[place]] = sphere.cell.to_array();
                extents[place] = extent(sphere, params);
                levels[place] = level_of(sphere.radius, params);
                bodies[place] = sphere.body;
            }
        });
        places
    }
}

/// The lists of some spheres, from `first` on, and where each of them ends.
#[cfg_attr(
    simd = "avx512",
    multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))
)]
#[cfg_attr(simd = "avx2", multiversion(targets("x86_64+avx2")))]
fn find_some<const PERIODIC: bool>(
    grid: &Grid,
    walls: &WallTable,
    first: usize,
    ends: &mut [u32],
    list: &mut Vec<u32>,
) {
    list.clear();
    let mut found = Found::default();
    for (index, end) in (first..).zip(ends) {
        found.count = 0;
        find::<PERIODIC>(grid, index, &mut found);
        found.append_to(list);
        walls.find(grid.params, &grid.spheres[index], list);
        *end = list.len() as u32;
    }
}

/// The neighbour lists of before, by which contact histories are found that lie where they were.
#[derive(Debug, Default)]
pub(super) struct OldLists {
    starts: Vec<u32>,
    neighbours: Vec<u32>,
}

impl OldLists {
    /// Number of their entries.
    pub fn entry_count(&self) -> usize {
        self.starts.last().map_or(0, |&end| end as usize)
    }

    /// The lists themselves.
    pub fn lists(&self) -> NeighbourLists<'_> {
        NeighbourLists {
            starts: &self.starts,
            neighbours: &self.neighbours,
        }
    }
}

/// The walls, as the search for neighbours needs them.
struct WallTable<'a> {
    walls: &'a [Wall],
    facets: &'a [Facet],
    nodes: &'a [Node],
    samples: &'a [f32],
}

impl WallTable<'_> {
    /// Appends the facets near a sphere to `list`.
    #[inline(always)]
    fn find(&self, params: &Params, sphere: &Sphere, list: &mut Vec<u32>) {
        if sphere.is_ghost() {
            return;
        }
        let reach = wall_extent(sphere, params);
        for wall in self.walls {
            if sphere.inverse_mass + wall.inverse_mass == 0.0 {
                continue;
            }
            let place = orientation_of(wall)
                .conjugate()
                .rotate(from_wall(sphere, wall, params));
            let first = wall.first_node as usize;
            let nodes = &self.nodes[first..first + wall.node_count as usize];
            for_each_near(nodes, place, reach, |index| {
                let facet = &self.facets[index as usize];
                if distance(facet, self.samples, place) < reach {
                    list.push(WALL | index);
                }
            });
        }
    }
}

/// Neighbours of a sphere.
#[derive(Default)]
struct Found {
    /// Their indices, and room for more.
    indices: Vec<u32>,
    count: usize,
}

impl Found {
    /// So many can be sorted without a branch.
    const FEW: usize = 16;

    /// Adds those from the place `first` on whose bits are set.
    #[inline(always)]
    fn push(&mut self, places: &SortedSpheres, first: usize, bits: u32) {
        let end = self.count + LANES;
        if self.indices.len() < end {
            self.indices.resize(2 * end, 0);
        }
        let room = self.indices[self.count..]
            .first_chunk_mut::<LANES>()
            .unwrap();
        let some = places.indices[first..].first_chunk::<LANES>().unwrap();
        compress(some, bits, room);
        self.count += bits.count_ones() as usize;
    }

    /// Appends all of them to a list, in the order of their indices.
    #[inline(always)]
    fn append_to(&mut self, list: &mut Vec<u32>) {
        if self.count > Self::FEW {
            let own = &mut self.indices[..self.count];
            own.sort_unstable();
            list.extend_from_slice(own);
            return;
        }
        let end = list.len() + self.count;
        // Those that are none come last.
        let mut keys = [u32::MAX; Self::FEW];
        copy(&mut keys, &self.indices[..self.count]);
        let mut ranks = [0; Self::FEW];
        for before in keys {
            for lane in 0..Self::FEW {
                ranks[lane] += u32::from(before < keys[lane]);
            }
        }
        let mut ranked = [0; Self::FEW];
        for lane in 0..Self::FEW {
            ranked[ranks[lane] as usize % Self::FEW] = keys[lane];
        }
        list.extend_from_slice(&ranked);
        list.truncate(end);
    }
}

/// Finds the neighbours of sphere `index`.
#[inline(always)]
fn find<const PERIODIC: bool>(grid: &Grid, index: usize, found: &mut Found) {
    let &Grid {
        params,
        groups,
        spheres,
        bucket_starts,
        places,
    } = grid;
    let sphere = &spheres[index];
    // Most bodies meet all others.
    let choosy = sphere.inverse_mass == 0.0
        || sphere.is_ghost()
        || groups[sphere.group() as usize].ignores != 0;
    for level in 0..params.level_count {
        let (first, last) = reach(sphere, level, params);
        let period = params.period >> level;
        let rows = (last - first).as_i64vec3() + 1;
        if rows.y * rows.z > spheres.len() as i64 {
            let so_far = std::mem::take(found);
            *found = find_among_all::<PERIODIC>(grid, sphere, level, so_far);
            continue;
        }
        for z in first.z..=last.z {
            for y in first.y..=last.y {
                let (row, parts) = if PERIODIC {
                    let row = wrap(IVec3::new(first.x, y, z), period);
                    (row, row_parts(row.x, last.x - first.x + 1, period.x))
                } else {
                    (IVec3::new(first.x, y, z), [first.x..last.x + 1, 0..0])
                };
                // Not over the arrays: they would go through memory.
                let [part, rest_of_row] = parts;
                for k in 0..if PERIODIC { 2 } else { 1 } {
                    let cells = if k == 0 { &part } else { &rest_of_row };
                    if cells.is_empty() {
                        continue;
                    }
                    let row = CellRow {
                        cells: cells.clone(),
                        y: row.y,
                        z: row.z,
                        level,
                    };
                    let [ahead, wrapped] =
                        row_ranges(IVec3::new(0, row.y, row.z), cells, level, bucket_starts);
                    for k in 0..2 {
                        let (begin, end) = if k == 0 { ahead } else { wrapped };
                        let (mut some, end) = (begin as usize, end as usize);
                        while some < end {
                            let hits = places.near::<PERIODIC, false>(some, sphere, &row, params);
                            let mut hits = hits & bits_below(end - some);
                            if choosy {
                                hits = met(grid, sphere, some, hits);
                            }
                            found.push(places, some, hits);
                            some += LANES;
                        }
                    }
                }
            }
        }
    }
}

/// Finds the neighbours of a sphere that are of a level, where the cells that it reaches have more rows than there are spheres: a
/// large sphere among far smaller ones.
///
/// A function of its own, since in [`find`] it costs all others a tenth of their time. What is found goes in and comes out by
/// value: lent to a function, its count would be in memory, and not in a register, for all others.
#[cold]
#[inline(never)]
fn find_among_all<const PERIODIC: bool>(
    grid: &Grid,
    sphere: &Sphere,
    level: u32,
    mut found: Found,
) -> Found {
    let row = CellRow {
        cells: 0..0,
        y: 0,
        z: 0,
        level,
    };
    let count = grid.spheres.len();
    for some in (0..count).step_by(LANES) {
        let hits = grid
            .places
            .near::<PERIODIC, true>(some, sphere, &row, grid.params);
        let hits = met(grid, sphere, some, hits & bits_below(count - some));
        found.push(grid.places, some, hits);
    }
    found
}

/// Returns those of `bits`, which stand for the places from `first` on, whose spheres a sphere meets.
fn met(grid: &Grid, sphere: &Sphere, first: usize, bits: u32) -> u32 {
    let is_met = |lane: &usize| {
        let other = grid.places.indices[first + lane] as usize;
        bits >> lane & 1 != 0 && meet(grid.groups, sphere, &grid.spheres[other])
    };
    (0..LANES).filter(is_met).map(|lane| 1 << lane).sum()
}

/// Returns as many of the lowest bits as there are lanes left.
#[inline(always)]
fn bits_below(count: usize) -> u32 {
    (1 << count.min(LANES)) - 1
}

/// Cells of a level along x.
struct CellRow {
    cells: Range<i32>,
    y: i32,
    z: i32,
    level: u32,
}

impl SortedSpheres {
    /// Which of the places from `first` on are those of spheres of other bodies, in the cells of `row`,
    /// whose surfaces are closer to that of `sphere` than their skins: a bit for each.
    ///
    /// Another cell's spheres, of this level or another, may share the buckets of the row. With `ALL`, any cell of the level
    /// will do.
    #[inline(always)]
    fn near<const PERIODIC: bool, const ALL: bool>(
        &self,
        first: usize,
        sphere: &Sphere,
        row: &CellRow,
        params: &Params,
    ) -> u32 {
        let lanes = first..first + LANES;
        let own = extent(sphere, params);
        let [x, y, z] = &self.offsets;
        let [x, y, z] = [&x[lanes.clone()], &y[lanes.clone()], &z[lanes.clone()]];
        let [i, j, k] = &self.cells;
        let [i, j, k] = [&i[lanes.clone()], &j[lanes.clone()], &k[lanes.clone()]];
        let (extents, levels) = (&self.extents[lanes.clone()], &self.levels[lanes.clone()]);
        let bodies = &self.bodies[lanes];
        let count = row.cells.len() as u32;
        let mut found = [0; LANES];
        for lane in 0..LANES {
            let cell = IVec3::new(i[lane], j[lane], k[lane]);
            let cells = cell.wrapping_sub(sphere.cell);
            let offset = Vec3::new(x[lane], y[lane], z[lane]) - sphere.offset;
            let period = if PERIODIC { params.period } else { IVec3::ZERO };
            let mut apart = shortest_way(cells, offset, params.cell_size, period);
            if PERIODIC && params.deforms == 1 {
                let sides = period.as_vec3() * params.cell_size;
                apart = tilted_way(apart, sides, params.tilt, params.gradient);
            }
            let reach = own + extents[lane];
            let home = cell >> row.level;
            let in_row = (home.y == row.y)
                & (home.z == row.z)
                & ((home.x.wrapping_sub(row.cells.start) as u32) < count);
            let in_row = (in_row | ALL) & (levels[lane] == row.level);
            let near = apart.length_squared() < reach * reach;
            found[lane] = u32::from(near & in_row & (bodies[lane] != sphere.body));
        }
        marked(&found)
    }
}

/// Whether two spheres may touch: their groups do, one of them can be moved, and one of them is no ghost.
#[inline(always)]
fn meet(groups: &[Group], sphere: &Sphere, other: &Sphere) -> bool {
    let ignored = groups[sphere.group() as usize].ignores >> other.group() & 1 == 1;
    let ghosts = sphere.is_ghost() && other.is_ghost();
    !ignored && !ghosts && sphere.inverse_mass + other.inverse_mass > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_comes_in_the_order_of_indices() {
        // Each of 48 once, mixed up.
        let places = SortedSpheres {
            indices: (0..48).map(|place| 29 * place % 53).collect(),
            ..SortedSpheres::default()
        };
        let mut found = Found::default();
        let (mut few, mut many) = (0, 0);
        for bits in 0..1 << LANES {
            found.count = 0;
            let mut expected = Vec::new();
            for (block, first) in (0..48).step_by(LANES).enumerate() {
                let bits = (bits << block | bits >> (LANES - block)) & bits_below(LANES);
                found.push(&places, first, bits);
                let lanes = (0..LANES).filter(|lane| bits >> lane & 1 != 0);
                expected.extend(lanes.map(|lane| places.indices[first + lane]));
            }
            expected.sort_unstable();
            let mut list = vec![7];
            found.append_to(&mut list);
            assert_eq!(list[0], 7);
            assert_eq!(list[1..], expected, "{bits:b}");
            match expected.len() {
                0..=Found::FEW => few += 1,
                _ => many += 1,
            }
        }
        assert!(few > 0 && many > 0);
    }
}
