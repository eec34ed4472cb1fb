//! The structure of a packing: coordination number, fabric of the contacts, spread of the forces, clusters of bodies.

use glam::{DMat3, DVec3};

use crate::simulation::network::{Graph, Histogram, Network, NetworkContact};

/// Structure of the contacts of one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Structure {
    /// Number of contacts: pairs of surfaces that overlap.
    pub contacts: usize,
    /// Coordination number: the mean number of contacts of a body that is not fixed.
    pub coordination: f64,
    /// Coordination number without rattlers: bodies with fewer than four contacts, and bodies that only rattlers hold.
    pub coordination_without_rattlers: f64,
    /// Number of rattlers.
    pub rattlers: usize,
    /// Fabric tensor: the mean of n n over the normals n of all contacts. Its trace is 1; without contacts it is 0.
    pub fabric: DMat3,
    /// Anisotropy of the fabric: 0 if contacts point everywhere alike, 1 if all are along one line; see [`anisotropy`].
    pub anisotropy: f64,
    /// Mean size of the contact forces, N.
    pub mean_force: f64,
    /// Size of the largest contact force, N.
    pub largest_force: f64,
    /// Histogram of the sizes of contact forces over their mean.
    pub forces: Histogram,
    /// Number of bodies of each cluster, the largest first; see [`clusters`].
    pub clusters: Vec<usize>,
}

/// Intervals of the histogram of forces.
const BINS: usize = 50;

impl Structure {
    /// Measures the structure of a network.
    pub fn new(network: &Network) -> Structure {
        let mut contacts = Contacts::new(network.fixed.clone());
        network.contacts.iter().for_each(|own| contacts.add(own));
        contacts.structure()
    }
}

/// The contacts of a moment so far: all that its structure needs of them, in 16 bytes each.
pub(super) struct Contacts {
    graph: Graph,
    /// Sizes of the forces, N.
    sizes: Vec<f64>,
    fabric: Fabric,
}

impl Contacts {
    /// None yet, between bodies of which each is fixed or not.
    pub fn new(fixed: Vec<bool>) -> Contacts {
        Contacts {
            graph: Graph::new(fixed),
            sizes: Vec::new(),
            fabric: Fabric::NONE,
        }
    }

    /// Adds a contact, unless its surfaces act across a gap.
    pub fn add(&mut self, contact: &NetworkContact) {
        if contact.touches() {
            self.graph.add(contact);
            self.sizes.push(contact.force.length());
            self.fabric.add(contact.normal);
        }
    }

    /// The structure of all.
    pub fn structure(self) -> Structure {
        let Contacts {
            graph,
            sizes,
            fabric,
        } = self;
        let count = sizes.len();
        let (sum, largest) = sizes.iter().fold((0.0, 0.0_f64), |(sum, largest), &size| {
            (sum + size, largest.max(size))
        });
        let mean = if count > 0 { sum / count as f64 } else { 0.0 };
        let fabric = fabric.mean();
        let (coordination_without_rattlers, rattlers) = graph.coordination_without_rattlers();
        let scale = if mean > 0.0 { mean } else { 1.0 };
        Structure {
            contacts: count,
            coordination: graph.coordination(),
            coordination_without_rattlers,
            rattlers,
            fabric,
            anisotropy: anisotropy(&fabric),
            mean_force: mean,
            largest_force: largest,
            forces: Histogram::new(sizes.iter().map(move |size| size / scale), BINS),
            clusters: clusters_of(&graph),
        }
    }
}

/// Sum of n n over unit vectors n.
struct Fabric {
    sum: DMat3,
    count: f64,
}

impl Fabric {
    const NONE: Fabric = Fabric {
        sum: DMat3::ZERO,
        count: 0.0,
    };

    fn add(&mut self, normal: DVec3) {
        self.sum += DMat3::from_cols(normal * normal.x, normal * normal.y, normal * normal.z);
        self.count += 1.0;
    }

    fn mean(self) -> DMat3 {
        match self.count > 0.0 {
            true => self.sum * (1.0 / self.count),
            false => DMat3::ZERO,
        }
    }
}

/// Fabric tensor of unit vectors n: the mean of n n; 0 without any vectors.
pub fn fabric(normals: impl Iterator<Item = DVec3>) -> DMat3 {
    let mut fabric = Fabric::NONE;
    normals.for_each(|normal| fabric.add(normal));
    fabric.mean()
}

/// Anisotropy of a fabric tensor with the deviator D, sqrt(3/2 D : D).
///
/// It is 0 if the tensor is isotropic, and 1 if all normals are along one line.
pub fn anisotropy(fabric: &DMat3) -> f64 {
    let third = (fabric.x_axis.x + fabric.y_axis.y + fabric.z_axis.z) / 3.0;
    let deviator = *fabric - DMat3::from_diagonal(DVec3::splat(third));
    let squares: f64 = deviator.to_cols_array().iter().map(|x| x * x).sum();
    (1.5 * squares).sqrt()
}

/// Number of bodies of each cluster, the largest first.
///
/// A cluster is made of bodies that are not fixed and touch, directly or through others. A body that touches none of them is a
/// cluster by itself.
pub fn clusters(network: &Network) -> Vec<usize> {
    clusters_of(&network.graph())
}

fn clusters_of(graph: &Graph) -> Vec<usize> {
    // Union-find: each body points to another body of its cluster, and the first body of a cluster points to itself.
    let mut parents: Vec<usize> = (0..graph.fixed.len()).collect();
    fn first(parents: &mut [usize], mut body: usize) -> usize {
        while parents[body] != body {
            parents[body] = parents[parents[body]];
            body = parents[body];
        }
        body
    }
    for (one, other) in graph.contacts() {
        let Some(other) = other.filter(|&other| !(graph.fixed[one] || graph.fixed[other])) else {
            continue;
        };
        let (one, other) = (first(&mut parents, one), first(&mut parents, other));
        let (low, high) = (one.min(other), one.max(other));
        parents[high] = low;
    }
    let mut sizes = vec![0; parents.len()];
    for body in 0..parents.len() {
        if !graph.fixed[body] {
            sizes[first(&mut parents, body)] += 1;
        }
    }
    sizes.retain(|size| *size > 0);
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::network::Partner;

    fn contact(body: u32, partner: Partner, normal: DVec3, force: f64) -> NetworkContact {
        NetworkContact::of_force(body, partner, DVec3::ZERO, -force * normal)
    }

    #[test]
    fn the_structure_of_a_few_contacts() {
        let pair = |a: u32, b: u32, force| {
            contact(a, Partner::Sphere { sphere: b, body: b }, DVec3::X, force)
        };
        let mut across = pair(4, 5, 9.0);
        across.overlap = 0.0;
        let network = Network {
            contacts: vec![
                pair(0, 1, 1.0),
                pair(1, 2, 2.0),
                pair(3, 6, 3.0),
                across,
                contact(4, Partner::Wall(0), DVec3::Y, 6.0),
            ],
            // The last body is fixed, and joins nothing.
            fixed: vec![false, false, false, false, false, false, true],
        };
        let structure = Structure::new(&network);
        assert_eq!(structure.contacts, 4);
        assert_eq!(structure.clusters, [3, 1, 1, 1]);
        assert!((structure.mean_force - 3.0).abs() < 1e-12);
        assert_eq!(structure.largest_force, 6.0);
        assert_eq!(structure.forces.counts.iter().sum::<u64>(), 4);
        assert!((structure.fabric.x_axis.x - 0.75).abs() < 1e-12);
        assert!((structure.fabric.y_axis.y - 0.25).abs() < 1e-12);
        assert_eq!(structure.rattlers, 6);
        assert!((structure.coordination - 6.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn the_anisotropy_is_from_0_to_1() {
        let line = fabric([DVec3::X, -DVec3::X].into_iter());
        assert!((anisotropy(&line) - 1.0).abs() < 1e-12);
        let all = fabric([DVec3::X, DVec3::Y, DVec3::Z].into_iter());
        assert!(anisotropy(&all) < 1e-12);
        assert_eq!(fabric(std::iter::empty()), DMat3::ZERO);
        let nothing = Structure::new(&Network {
            contacts: Vec::new(),
            fixed: vec![false; 2],
        });
        assert_eq!((nothing.contacts, nothing.mean_force), (0, 0.0));
        assert_eq!(nothing.clusters, [1, 1]);
    }
}
