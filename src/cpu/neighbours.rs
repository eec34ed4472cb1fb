use glam::IVec3;
use rayon::prelude::*;

use crate::grid::{apart, cell_at, level_of, reach, row_parts, row_ranges, wrap};
use crate::layout::{Params, Sphere};
use crate::state::State;

/// Spheres whose lists a thread makes in one go.
const CHUNK: usize = 1024;

/// Neighbour list of each sphere: all that it may touch until the lists are built again, in the
/// order of their indices, so that the sum of the contact forces does not depend on when they were
/// built.
pub fn neighbours(state: &mut State) {
    let State {
        params,
        spheres,
        bucket_starts,
        sorted,
        neighbour_starts,
        neighbours,
        stats,
        ..
    } = state;
    let chunks: Vec<Vec<u32>> = neighbour_starts[1..]
        .par_chunks_mut(CHUNK)
        .enumerate()
        .map(|(chunk, ends)| {
            let mut list = Vec::with_capacity(CHUNK * 12);
            for (index, end) in (chunk * CHUNK..).zip(ends) {
                let start = list.len();
                find(params, spheres, bucket_starts, sorted, index, &mut list);
                list[start..].sort_unstable();
                *end = list.len() as u32;
            }
            list
        })
        .collect();

    let mut total = 0;
    neighbour_starts[0] = 0;
    for (ends, chunk) in neighbour_starts[1..].chunks_mut(CHUNK).zip(&chunks) {
        ends.iter_mut().for_each(|end| *end += total);
        total += chunk.len() as u32;
    }
    stats[0].neighbours = total;
    if neighbours.len() < total as usize {
        let room = State::neighbour_room(total);
        neighbours.resize(room as usize, 0);
        params.neighbour_capacity = room;
    }
    let mut rest = &mut neighbours[..];
    for chunk in &chunks {
        let (own, others) = rest.split_at_mut(chunk.len());
        own.copy_from_slice(chunk);
        rest = others;
    }
}

/// Appends the neighbours of sphere `index` to `list`, in the order in which the grid has them.
fn find(
    params: &Params,
    spheres: &[Sphere],
    bucket_starts: &[u32],
    sorted: &[u32],
    index: usize,
    list: &mut Vec<u32>,
) {
    let sphere = &spheres[index];
    for level in 0..params.level_count {
        let (first, last) = reach(sphere, level, params);
        let period = params.period >> level;
        for z in first.z..=last.z {
            for y in first.y..=last.y {
                let row = wrap(IVec3::new(first.x, y, z), period);
                let parts = row_parts(row.x, last.x - first.x + 1, period.x);
                for part in parts.iter().filter(|part| !part.is_empty()) {
                    for (begin, end) in row_ranges(row, part, level, bucket_starts) {
                        for &other in &sorted[begin as usize..end as usize] {
                            let neighbour = &spheres[other as usize];
                            // Another cell's spheres, of this level or another, may share the
                            // bucket.
                            let cell = cell_at(neighbour.cell, level);
                            let in_row = cell.y == row.y
                                && cell.z == row.z
                                && part.contains(&cell.x)
                                && level_of(neighbour.radius, params) == level;
                            if in_row && are_neighbours(params, sphere, neighbour) {
                                list.push(other);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Whether two spheres are closer than the skin, belong to different bodies, and can be moved.
fn are_neighbours(params: &Params, sphere: &Sphere, other: &Sphere) -> bool {
    let reach = sphere.radius + other.radius + params.skin;
    apart(sphere, other, params).length_squared() < reach * reach
        && sphere.body != other.body
        && sphere.inverse_mass + other.inverse_mass > 0.0
}
