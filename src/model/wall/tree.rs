//! A tree of boxes around the facets of a wall, to find the facets near a point.

use bytemuck::{Pod, Zeroable};
use glam::Vec3;

use super::facet::Facet;
use crate::math::wgsl::shared_structs;

shared_structs! {
    /// A node of the tree of a wall's facets. The nodes of a tree lie in the order in which a search visits them.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    pub struct Node {
        /// Corner of its box with the smallest coordinates, m.
        pub min: Vec3,
        /// Number of nodes by which a search that misses the box goes on.
        pub skip: u32,
        /// Corner of its box with the largest coordinates, m.
        pub max: Vec3,
        /// For a leaf, 8 times the index of its first facet plus the number of its facets; otherwise 0.
        pub facets: u32,
    }
}

/// Largest number of facets of a leaf.
const LEAF: usize = 4;

/// Box of a facet: its corners with the smallest and the largest coordinates, m.
pub type Bounds = (Vec3, Vec3);

/// Makes the tree of some facets, and sorts the facets.
///
/// `bounds` are the boxes of the facets, and `first` is the index of the first facet among all facets.
///
/// Nodes lie in the order in which a search visits them. A search that misses a node's box goes on `skip` nodes later. So it
/// needs no stack, and visits the facets in the order of their indices.
pub fn tree(facets: &mut [Facet], bounds: &[Bounds], first: usize) -> Vec<Node> {
    let mut order: Vec<usize> = (0..facets.len()).collect();
    let mut nodes = Vec::new();
    split(&mut order, bounds, first, &mut nodes);
    let sorted: Vec<Facet> = order.iter().map(|&index| facets[index]).collect();
    facets.copy_from_slice(&sorted);
    nodes
}

fn split(order: &mut [usize], bounds: &[Bounds], first: usize, nodes: &mut Vec<Node>) {
    let (mut min, mut max) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    // Halved before the sum, which might overflow.
    let center = |index: usize| 0.5 * bounds[index].0 + 0.5 * bounds[index].1;
    for &index in &*order {
        (min, max) = (min.min(bounds[index].0), max.max(bounds[index].1));
        (low, high) = (low.min(center(index)), high.max(center(index)));
    }
    let at = nodes.len();
    let is_leaf = order.len() <= LEAF;
    nodes.push(Node {
        min,
        skip: 0,
        max,
        facets: if is_leaf {
            (first * 8 + order.len()) as u32
        } else {
            0
        },
    });
    if !is_leaf {
        let axis = (high - low).max_position();
        let middle = order.len() / 2;
        order.select_nth_unstable_by(middle, |&a, &b| {
            center(a)[axis].total_cmp(&center(b)[axis]).then(a.cmp(&b))
        });
        // The order on each side of the middle differs between machines; sorting makes the trees equal.
        let (left, right) = order.split_at_mut(middle);
        left.sort_unstable();
        right.sort_unstable();
        split(left, bounds, first, nodes);
        split(right, bounds, first + middle, nodes);
    }
    nodes[at].skip = (nodes.len() - at) as u32;
}

/// Calls `visit` with the indices of facets near `point` (m), in increasing order.
///
/// They are all facets whose box is nearer than `reach` (m), and some more.
#[inline(always)]
pub fn for_each_near(nodes: &[Node], point: Vec3, reach: f32, mut visit: impl FnMut(u32)) {
    let mut at = 0;
    while at < nodes.len() {
        let node = &nodes[at];
        let way = point - point.clamp(node.min, node.max);
        if way.length_squared() >= reach * reach {
            at += node.skip as usize;
            continue;
        }
        let first = node.facets >> 3;
        for index in first..first + (node.facets & 7) {
            visit(index);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_finds_all_that_are_near_in_order() {
        let mut state = 1_u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 16_777_216.0
        };
        let mut point = || Vec3::new(random(), random(), random());
        let mut facets: Vec<Facet> = (0..500)
            .map(|_| Facet {
                a: point(),
                ..Facet::default()
            })
            .collect();
        let bounds: Vec<Bounds> = facets.iter().map(|facet| (facet.a, facet.a)).collect();
        let nodes = tree(&mut facets, &bounds, 0);
        for _ in 0..100 {
            let place = point();
            let mut found = Vec::new();
            for_each_near(&nodes, place, 0.2, |index| {
                if facets[index as usize].a.distance(place) < 0.2 {
                    found.push(index);
                }
            });
            let all = (0..500).filter(|&k| facets[k as usize].a.distance(place) < 0.2);
            assert!(found.iter().copied().eq(all), "{place}");
            assert!(found.len() > 1);
        }
    }
}
