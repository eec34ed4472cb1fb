//! What bodies of a kind have in common, as the engines have it.

use super::layout::*;
use crate::model::Model;
use crate::model::clump::{Clump, turning, union_of_spheres};

/// Volume of a shape over that of its spheres one by one.
pub(super) fn displacement(clump: &Clump) -> f32 {
    let one_by_one = clump.spheres.iter().map(|sphere| sphere.radius.powi(3));
    let one_by_one = 4.0 / 3.0 * std::f64::consts::PI * one_by_one.sum::<f64>();
    (union_of_spheres(&clump.spheres, 1.0).mass / one_by_one) as f32
}

/// Element of `properties` for bodies of a shape in a group that are fixed or not.
pub(super) fn kind(model: &Model, shape: usize, group: usize, fixed: bool) -> u32 {
    (2 * (group * model.shapes.len() + shape) + usize::from(fixed)) as u32
}

/// Properties that bodies of each kind have in common, and the spheres of each shape.
pub(super) fn kinds(model: &Model) -> (Vec<BodyProperties>, Vec<Member>) {
    let (mut shapes, mut members) = (Vec::new(), Vec::new());
    for (shape, clump) in model.shapes.iter().enumerate() {
        let distances = clump.spheres.iter().map(|sphere| sphere.center.length());
        let fixed = BodyProperties {
            first_member: members.len() as u32,
            sphere_count: clump.spheres.len() as u32,
            reach: distances.fold(0.0, f64::max) as f32,
            shape: shape as u32,
            landing: landing(clump.spheres.len()),
            ..BodyProperties::default()
        };
        let free = BodyProperties {
            inverse_inertia: (1.0 / clump.inertia).as_vec3(),
            inverse_mass: (1.0 / clump.mass) as f32,
            ..fixed
        };
        shapes.extend([free, fixed]);
        let spheres = clump.spheres.iter().zip(&clump.materials);
        members.extend(spheres.map(|(sphere, material)| Member {
            center: sphere.center.as_vec3(),
            radius: sphere.radius as f32,
            material: *material as u32,
            turning: turning(clump.inertia, sphere.center) as f32,
            ..Member::default()
        }));
    }
    let groups = 0..model.forces.groups.len().max(1) as u32;
    let of_group = |group| {
        let shapes = shapes.iter().copied();
        shapes.map(move |properties| BodyProperties {
            group,
            ..properties
        })
    };
    (groups.flat_map(of_group).collect(), members)
}

/// Spheres of a side of a cube of `spheres` spheres.
fn landing(spheres: usize) -> u32 {
    let side = libm::cbrt(spheres as f64);
    (side * side).round().max(1.0) as u32
}
