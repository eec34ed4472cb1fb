//! The pieces of a clump that bursts.

use std::f64::consts::PI;

use glam::DVec3;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{Clump, ClumpSphere, summed_spheres};

/// The pieces of a clump.
pub(crate) struct Fragments {
    /// A clump for each piece. Its shape axes are the body frame of the clump that bursts.
    pub clumps: Vec<Clump>,
    /// The deepest overlap of two spheres of different pieces, as a fraction of the smaller radius.
    pub overlap: f64,
}

/// The spheres of each of `count` random pieces of a clump, by their indices.
///
/// `count` spheres are drawn at random, and each sphere goes to the piece of the nearest one.
///
/// # Panics
/// If the clump has fewer spheres.
pub(crate) fn random_pieces(clump: &Clump, count: usize, seed: u64) -> Vec<Vec<usize>> {
    let spheres = &clump.spheres;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..spheres.len()).collect();
    for k in 0..count {
        let left = (order.len() - k) as u64;
        order.swap(k, k + (random.next_u64() % left) as usize);
    }
    let seeds = &order[..count];
    let mut pieces: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (index, sphere) in spheres.iter().enumerate() {
        let distance = |k: usize| spheres[seeds[k]].center.distance_squared(sphere.center);
        let own = seeds.iter().position(|seed| *seed == index);
        let nearest = || (0..count).min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        let piece = own.or_else(nearest).expect("one piece or more");
        pieces[piece].push(index);
    }
    pieces
}

/// Parts a clump into pieces, which have each of its spheres once, by their indices.
///
/// Each piece gets a share of the clump's mass in proportion to the volume of its spheres.
pub(crate) fn fragments(clump: &Clump, pieces: &[Vec<usize>]) -> Fragments {
    let spheres = &clump.spheres;
    let mut piece_of = vec![0; spheres.len()];
    for (number, piece) in pieces.iter().enumerate() {
        piece.iter().for_each(|&sphere| piece_of[sphere] = number);
    }
    let volume = |sphere: &ClumpSphere| 4.0 / 3.0 * PI * sphere.radius.powi(3);
    let density = clump.mass / spheres.iter().map(volume).sum::<f64>();
    let clumps = pieces.iter().enumerate().map(|(number, piece)| {
        let own: Vec<ClumpSphere> = piece.iter().map(|&k| spheres[k]).collect();
        Clump::of_materials(
            format!("{} fragment {number}", clump.name),
            piece.iter().map(|&k| clump.materials[k]).collect(),
            &own,
            summed_spheres(&own, density),
        )
    });
    Fragments {
        clumps: clumps.collect(),
        overlap: overlap(spheres, &piece_of),
    }
}

/// The deepest overlap of spheres of different pieces, as a fraction of the smaller radius.
fn overlap(spheres: &[ClumpSphere], piece_of: &[usize]) -> f64 {
    // Sorted by x, a sphere need only be compared with those that follow within reach.
    let mut order: Vec<usize> = (0..spheres.len()).collect();
    order.sort_by(|&a, &b| spheres[a].center.x.total_cmp(&spheres[b].center.x));
    let largest = spheres.iter().map(|s| s.radius).fold(0.0, f64::max);
    let mut deepest: f64 = 0.0;
    for (rank, &a) in order.iter().enumerate() {
        let within = |b: &&usize| {
            let way: DVec3 = spheres[**b].center - spheres[a].center;
            way.x < spheres[a].radius + largest
        };
        for &b in order[rank + 1..].iter().take_while(within) {
            if piece_of[a] != piece_of[b] {
                let (a, b) = (&spheres[a], &spheres[b]);
                let depth = a.radius + b.radius - a.center.distance(b.center);
                deepest = deepest.max(depth / a.radius.min(b.radius));
            }
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::clump::shapes;

    #[test]
    fn pieces_are_the_whole() {
        let spheres = shapes::cube(4, 0.1, None);
        let clump = Clump::new("cube", 1, &spheres, summed_spheres(&spheres, 700.0));
        for count in [2, 13, 50, 64] {
            let pieces = random_pieces(&clump, count, 5);
            let Fragments { clumps, overlap } = fragments(&clump, &pieces);
            assert_eq!(clumps.len(), count);
            assert!(overlap < 1e-12, "{overlap}");
            let mass: f64 = clumps.iter().map(|piece| piece.mass).sum();
            assert!((mass / clump.mass - 1.0).abs() < 1e-12);
            let mut centers: Vec<[i64; 3]> = Vec::new();
            for piece in &clumps {
                assert!(!piece.spheres.is_empty());
                assert_eq!(piece.materials, vec![1; piece.spheres.len()]);
                for sphere in &piece.spheres {
                    let place = piece.position_of(DVec3::ZERO, glam::DQuat::IDENTITY)
                        + piece.principal_axes * sphere.center;
                    centers.push((place * 1e6).round().as_i64vec3().to_array());
                }
            }
            centers.sort_unstable();
            let mut expected: Vec<[i64; 3]> = clump
                .spheres
                .iter()
                .map(|sphere| (sphere.center * 1e6).round().as_i64vec3().to_array())
                .collect();
            expected.sort_unstable();
            assert_eq!(centers, expected);
        }
        let other = random_pieces(&clump, 13, 6);
        assert!(other != random_pieces(&clump, 13, 5));
    }

    #[test]
    fn overlaps_of_different_pieces_are_found() {
        let spheres = shapes::rod(5, 0.1, Some(0.15));
        let clump = Clump::new("rod", 0, &spheres, summed_spheres(&spheres, 700.0));
        let pieces = random_pieces(&clump, 2, 1);
        assert!((fragments(&clump, &pieces).overlap - 0.5).abs() < 1e-9);
    }
}
