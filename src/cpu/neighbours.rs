use bytemuck::cast_slice;
use glam::{IVec3, Vec4};
use multiversion::multiversion;
use rayon::prelude::*;

use super::wall_run::orientation_of;
use crate::grid::{apart, cell_at, from_wall, level_of, reach, row_parts, row_ranges, wrap};
use crate::layout::{Facet, Group, Node, Params, Sphere, WALL, Wall};
use crate::state::State;
use crate::wall::facet::closest;
use crate::wall::tree::for_each_near;

/// Spheres whose lists a thread makes in one go.
const CHUNK: usize = 1024;

/// Neighbour list of each sphere: all that it may touch until the lists are built again, spheres in
/// the order of their indices, then facets of walls, so that the sum of the contact forces does not depend on
/// when they were built. What a contact remembers goes with it from the old lists to the new ones.
pub fn neighbours(state: &mut State) {
    let walls = Walls {
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
        memory,
        stats,
        ..
    } = state;
    let size = params.memory_size as usize;
    let kept = (size > 0).then(|| {
        let total = neighbour_starts[spheres.len()] as usize;
        Lists {
            starts: neighbour_starts.clone(),
            neighbours: neighbours[..total].to_vec(),
            memory: memory[..total * size].to_vec(),
        }
    });
    let grid = Grid {
        params,
        groups,
        spheres,
        bucket_starts,
        sorted,
    };
    let chunks: Vec<Vec<u32>> = neighbour_starts[1..]
        .par_chunks_mut(CHUNK)
        .enumerate()
        .map(|(chunk, ends)| find_some(&grid, &walls, chunk * CHUNK, ends))
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
        memory.resize((size * room as usize).max(1), Vec4::ZERO);
        params.neighbour_capacity = room;
    }
    let mut rest = &mut neighbours[..];
    for chunk in &chunks {
        let (own, others) = rest.split_at_mut(chunk.len());
        own.copy_from_slice(chunk);
        rest = others;
    }
    if let Some(kept) = kept {
        carry(&kept, neighbour_starts, neighbours, memory, size);
    }
}

/// The spheres in their buckets, as the search for neighbours needs them.
struct Grid<'a> {
    params: &'a Params,
    groups: &'a [Group],
    spheres: &'a [Sphere],
    bucket_starts: &'a [u32],
    sorted: &'a [u32],
}

/// The lists of some spheres, from `first` on, and where each of them ends.
#[multiversion(targets("x86_64+avx2"))]
fn find_some(grid: &Grid, walls: &Walls, first: usize, ends: &mut [u32]) -> Vec<u32> {
    let mut list = Vec::with_capacity(CHUNK * 12);
    for (index, end) in (first..).zip(ends) {
        let start = list.len();
        find(grid, index, &mut list);
        list[start..].sort_unstable();
        walls.find(grid.params, &grid.spheres[index], &mut list);
        *end = list.len() as u32;
    }
    list
}

/// Neighbour lists with what their contacts remember.
struct Lists {
    starts: Vec<u32>,
    neighbours: Vec<u32>,
    memory: Vec<Vec4>,
}

/// Gives each entry of the new lists the memory that it had in the `kept` ones, or none. Both are
/// sorted, so one walk along either is enough.
fn carry(kept: &Lists, starts: &[u32], neighbours: &[u32], memory: &mut [Vec4], size: usize) {
    for sphere in 0..starts.len() - 1 {
        let mut old = kept.starts[sphere] as usize;
        let end = kept.starts[sphere + 1] as usize;
        for entry in starts[sphere] as usize..starts[sphere + 1] as usize {
            while old < end && kept.neighbours[old] < neighbours[entry] {
                old += 1;
            }
            let own = &mut memory[entry * size..(entry + 1) * size];
            if old < end && kept.neighbours[old] == neighbours[entry] {
                own.copy_from_slice(&kept.memory[old * size..(old + 1) * size]);
            } else {
                own.fill(Vec4::ZERO);
            }
        }
    }
}

/// The walls, as the search for neighbours needs them.
struct Walls<'a> {
    walls: &'a [Wall],
    facets: &'a [Facet],
    nodes: &'a [Node],
    samples: &'a [f32],
}

impl Walls<'_> {
    /// Appends the facets near a sphere to `list`.
    #[inline(always)]
    fn find(&self, params: &Params, sphere: &Sphere, list: &mut Vec<u32>) {
        let reach = sphere.radius + params.skin;
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
                let found = closest(facet, self.samples, place, reach);
                if found.distance < reach {
                    list.push(WALL | index);
                }
            });
        }
    }
}

/// Appends the neighbours of sphere `index` to `list`, in the order in which the grid has them.
#[inline(always)]
fn find(grid: &Grid, index: usize, list: &mut Vec<u32>) {
    let &Grid {
        params,
        groups,
        spheres,
        bucket_starts,
        sorted,
    } = grid;
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
                            if !are_near(params, sphere, neighbour) {
                                continue;
                            }
                            // Another cell's spheres, of this level or another, may share the
                            // bucket. Few are near, so this is asked last.
                            let cell = cell_at(neighbour.cell, level);
                            let in_row = cell.y == row.y
                                && cell.z == row.z
                                && part.contains(&cell.x)
                                && level_of(neighbour.radius, params) == level;
                            if in_row && !ignore(groups, sphere, neighbour) {
                                list.push(other);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Whether the groups of two spheres do not touch each other.
#[inline(always)]
fn ignore(groups: &[Group], sphere: &Sphere, other: &Sphere) -> bool {
    groups[sphere.group() as usize].ignores >> other.group() & 1 == 1
}

/// Whether two spheres are closer than the skin, belong to different bodies, and can be moved.
#[inline(always)]
fn are_near(params: &Params, sphere: &Sphere, other: &Sphere) -> bool {
    let reach = sphere.radius + other.radius + params.skin;
    apart(sphere, other, params).length_squared() < reach * reach
        && sphere.body != other.body
        && sphere.inverse_mass + other.inverse_mass > 0.0
}
