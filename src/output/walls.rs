use glam::DVec3;

use crate::model::Model;
use crate::model::wall::{Moving, Shape};
use crate::simulation::snapshot::Snapshot;

/// A wall as it stands at one time, as triangles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WallMesh {
    /// Corners, m.
    pub points: Vec<DVec3>,
    /// Velocity of each corner, m/s.
    pub velocities: Vec<DVec3>,
    /// Three corners each, counter-clockwise as seen from the side on which bodies live.
    pub triangles: Vec<[u32; 3]>,
    /// Depth of wear of each triangle, m, the volume over the area; none of a wall that does not wear.
    pub worn: Vec<f64>,
}

/// Pieces that a circle is made of.
const FINENESS: u32 = 48;

/// The walls of a snapshot; one that is absent in the present stage has no triangles.
///
/// What has no end is as wide as twice the box around the bodies as they were at the start; a plane is a square about them.
pub fn walls(snapshot: &Snapshot) -> Vec<WallMesh> {
    let (center, half) = surroundings(snapshot.model);
    let walls = snapshot.model.walls.iter().zip(snapshot.walls());
    walls
        .enumerate()
        .map(|(index, (wall, state))| {
            if !snapshot.model.stages.has_wall(index) {
                return WallMesh::default();
            }
            let Moving {
                mut pose,
                velocity,
                angular_velocity,
            } = state.moving;
            let surface = wall.surface(FINENESS, half);
            if let Shape::Plane { normal } = wall.shape {
                let normal = pose.orientation * normal;
                pose.position = center - normal * (center - pose.position).dot(normal);
            }
            let points = surface
                .vertices
                .iter()
                .map(|&point| DVec3::from_array(point));
            let belt = wall.belt;
            WallMesh {
                points: points.clone().map(|point| pose.place(point)).collect(),
                velocities: points
                    .map(|point| {
                        velocity
                            + angular_velocity.cross(pose.orientation * point)
                            + pose.orientation * belt
                    })
                    .collect(),
                triangles: surface.triangles,
                worn: match snapshot.state.traffic.worn.get(index) {
                    Some(volumes) => wall.depths_of_wear(volumes),
                    None => Vec::new(),
                },
            }
        })
        .collect()
}

/// Centre of the box around the bodies at the start, m, and how far it reaches from there.
fn surroundings(model: &Model) -> (DVec3, f64) {
    let (mut min, mut max) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    model.bodies.visit(|body| {
        let reach = DVec3::splat(model.shapes[body.shape].bounding_radius());
        min = min.min(body.position - reach);
        max = max.max(body.position + reach);
    });
    for corner in model.flow.corners() {
        (min, max) = (min.min(corner), max.max(corner));
    }
    (0.5 * (min + max), (max - min).length())
}
