use glam::DVec3;

use crate::model::Model;
use crate::snapshot::Snapshot;

/// A wall as it stands at one time, as triangles.
#[derive(Clone, Debug, PartialEq)]
pub struct WallMesh {
    /// Corners, m.
    pub points: Vec<DVec3>,
    /// Velocity of each corner, m/s.
    pub velocities: Vec<DVec3>,
    /// Three corners each, counter-clockwise as seen from the side on which bodies live.
    pub triangles: Vec<[u32; 3]>,
}

/// The walls of a snapshot. A plane, which is infinite, is a square about the bodies as they were at the
/// start, as wide as twice the box around them.
pub fn walls(snapshot: &Snapshot) -> Vec<WallMesh> {
    let (center, half) = surroundings(snapshot.model);
    let planes = snapshot.model.planes.iter();
    planes
        .map(|plane| {
            let middle = center - plane.normal * (center - plane.point).dot(plane.normal);
            let (along, across) = plane.normal.any_orthonormal_pair();
            let corner = |a: f64, b: f64| middle + half * (a * along + b * across);
            WallMesh {
                points: vec![
                    corner(-1.0, -1.0),
                    corner(1.0, -1.0),
                    corner(1.0, 1.0),
                    corner(-1.0, 1.0),
                ],
                velocities: vec![DVec3::ZERO; 4],
                triangles: vec![[0, 1, 2], [0, 2, 3]],
            }
        })
        .collect()
}

/// Centre of the box around the bodies at the start, m, and how far it reaches from there.
fn surroundings(model: &Model) -> (DVec3, f64) {
    let (mut min, mut max) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for body in &model.bodies {
        let reach = DVec3::splat(model.shapes[body.shape].bounding_radius());
        min = min.min(body.position - reach);
        max = max.max(body.position + reach);
    }
    (0.5 * (min + max), (max - min).length())
}
