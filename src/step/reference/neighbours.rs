use glam::IVec3;

use super::contact::History;
use super::grid::{extent, from_wall, level_of, reach, separation, wall_extent};
use super::real::Real;
use super::state::{Sphere, State};
use super::wall::distance_from;
use crate::math::grid::{bucket, cell_at, wrap};
use crate::state::State as Buffers;
use crate::state::layout::WALL;

/// Neighbour list of each sphere: all that it may touch until the lists are built again, spheres in the order of
/// their indices, then facets of walls. The history of a contact goes with it.
pub fn neighbours<R: Real>(state: &mut State<R>) {
    let mut starts = vec![0];
    let mut all = Vec::new();
    let mut history = Vec::new();
    for index in 0..state.spheres.len() {
        let mut list = find(state, index);
        list.sort_unstable();
        list.extend(find_walls(state, index));
        carry(state, index, &list, &mut history);
        all.extend(list);
        starts.push(all.len() as u32);
    }
    state.stats.neighbours = all.len() as u32;
    if all.len() > state.neighbours.len() {
        state.params.neighbour_capacity = Buffers::neighbour_room(all.len() as u32);
    }
    let room = state.params.neighbour_capacity as usize;
    all.resize(room.max(state.neighbours.len()), 0);
    history.resize(all.len(), History::default());
    state.neighbour_starts = starts;
    state.neighbours = all;
    state.history = history;
}

/// Whether two spheres are closer than their skins, belong to different bodies, can be moved, are in groups that touch,
/// and are not both ghosts.
fn are_neighbours<R: Real>(state: &State<R>, sphere: &Sphere<R>, other: &Sphere<R>) -> bool {
    let between = separation(sphere, other, &state.params);
    let reach = extent(sphere, &state.params) + extent(other, &state.params);
    between.square() < reach * reach
        && sphere.body != other.body
        && sphere.inverse_mass + other.inverse_mass > R::ZERO
        && !(sphere.is_ghost() && other.is_ghost())
        && state.groups[sphere.group() as usize].ignores >> other.group() & 1 == 0
}

/// The neighbours of a sphere, in the order in which the grid has them.
fn find<R: Real>(state: &State<R>, index: usize) -> Vec<u32> {
    let params = &state.params;
    let sphere = &state.spheres[index];
    let mut found = Vec::new();
    for level in 0..params.level_count {
        let (first, last) = reach(sphere, level, params);
        let period = params.period >> level;
        let rows = (last - first + 1).as_dvec3();
        if rows.y * rows.z > state.spheres.len() as f64 {
            // A large sphere among the cells of far smaller ones: more rows than spheres.
            let all = 0..state.spheres.len();
            let near = all.filter(|&other| {
                let neighbour = &state.spheres[other];
                level_of(neighbour.radius, params) == level
                    && are_neighbours(state, sphere, neighbour)
            });
            found.extend(near.map(|other| other as u32));
            continue;
        }
        for z in first.z..=last.z {
            for y in first.y..=last.y {
                let mut start = wrap(IVec3::new(first.x, y, z), period);
                let mut left = last.x - first.x + 1;
                // A row that meets the end of a periodic box goes on at cell 0.
                while left > 0 {
                    let here = if period.x > 0 {
                        left.min(period.x - start.x)
                    } else {
                        left
                    };
                    for other in in_row(state, start, here, level) {
                        let neighbour = &state.spheres[other as usize];
                        // Another cell's spheres, of this level or another, may share the bucket.
                        let cell = cell_at(neighbour.cell, level);
                        let is_in_row = [cell.y, cell.z] == [start.y, start.z]
                            && (start.x..start.x + here).contains(&cell.x)
                            && level_of(neighbour.radius, params) == level;
                        if is_in_row && are_neighbours(state, sphere, neighbour) {
                            found.push(other);
                        }
                    }
                    left -= here;
                    start.x = 0;
                }
            }
        }
    }
    found
}

/// The spheres in the buckets of a row of cells.
fn in_row<R: Real>(
    state: &State<R>,
    first: IVec3,
    count: i32,
    level: u32,
) -> impl Iterator<Item = u32> {
    let bucket_count = state.params.bucket_count;
    let row = bucket(first, level, bucket_count);
    // A row longer than the table would meet its own start again.
    let last = row + (count as u32).min(bucket_count);
    // The row may wrap around the end of the table: then it has a second part.
    let wrapped = last.saturating_sub(bucket_count);
    let start = |bucket: u32| state.bucket_starts[bucket as usize] as usize;
    let ahead = start(row)..start(last.min(bucket_count));
    let again = 0..start(wrapped);
    ahead.chain(again).map(|place| state.sorted[place])
}

/// The facets of walls near a sphere, as entries of its list.
fn find_walls<R: Real>(state: &State<R>, index: usize) -> Vec<u32> {
    let params = &state.params;
    let sphere = &state.spheres[index];
    let reach = wall_extent(sphere, params);
    let mut found = Vec::new();
    for wall in &state.walls[..params.wall_count as usize] {
        if sphere.inverse_mass + wall.inverse_mass == R::ZERO || sphere.is_ghost() {
            continue;
        }
        let from_anchor = from_wall(sphere, wall, params);
        let place = wall.orientation.conjugate().rotate(from_anchor);
        let end = wall.first_node + wall.node_count;
        let mut at = wall.first_node;
        while at < end {
            let node = &state.nodes[at as usize];
            let way = place - place.clamp(node.min, node.max);
            if way.square() >= reach * reach {
                at += node.skip;
                continue;
            }
            let first = node.facets >> 3;
            for facet in first..first + (node.facets & 7) {
                let facet_of = &state.facets[facet as usize];
                if distance_from(facet_of, &state.samples, place) < reach {
                    found.push(WALL | facet);
                }
            }
            at += 1;
        }
    }
    found
}

/// Appends the histories of the contacts of a new list, as the old list of the sphere has them.
fn carry<R: Real>(state: &State<R>, index: usize, list: &[u32], history: &mut Vec<History<R>>) {
    let old = state.list(index);
    history.extend(list.iter().map(|entry| {
        let known = old.clone().find(|&old| state.neighbours[old] == *entry);
        known.map_or(History::default(), |old| state.history[old])
    }));
}
