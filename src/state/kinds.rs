//! Kinds of bodies, as the engines have them: one set of properties for all bodies of a kind.

use glam::{DVec3, Vec3};

use super::layout::*;
use super::population::Moulds;
use crate::model::clump::{Clump, turning, union_of_spheres};
use crate::model::{Model, ModelBody};

/// Volume of a shape over that of its spheres one by one.
pub(super) fn displacement(clump: &Clump) -> f32 {
    let one_by_one = clump.spheres.iter().map(|sphere| sphere.radius.powi(3));
    let one_by_one = 4.0 / 3.0 * std::f64::consts::PI * one_by_one.sum::<f64>();
    (union_of_spheres(&clump.spheres, 1.0).mass / one_by_one) as f32
}

/// Element of `properties` for bodies of a shape, one of so many, in a group that are fixed or not.
pub(super) fn kind(shapes: usize, shape: usize, group: usize, fixed: bool) -> u32 {
    (2 * (group * shapes + shape) + usize::from(fixed)) as u32
}

/// Whether a body is kinematic: nothing moves it but its own velocity.
pub(super) fn is_kinematic(body: &ModelBody) -> bool {
    let still = body.velocity == DVec3::ZERO && body.angular_velocity == DVec3::ZERO;
    body.fixed && !still
}

/// Element of `properties` for kinematic bodies of a shape in a group: they come after all others, if there are any.
pub(super) fn kinematic_kind(moulds: &Moulds, shape: usize, group: usize) -> u32 {
    let shapes = moulds.shapes.len();
    kind(shapes, shape, group, false) / 2 + kind(shapes, 0, moulds.groups, false)
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
    // As a ball turns, so that its spin stays: its angular momentum is its angular velocity.
    let driven: Vec<BodyProperties> = shapes
        .iter()
        .skip(1)
        .step_by(2)
        .map(|fixed| BodyProperties {
            inverse_inertia: Vec3::ONE,
            ..*fixed
        })
        .collect();
    let groups = 0..model.forces.groups.len().max(1) as u32;
    let in_groups = |shapes: &[BodyProperties]| -> Vec<BodyProperties> {
        let all = groups.clone().flat_map(|group| {
            let own = shapes
                .iter()
                .map(move |own| BodyProperties { group, ..*own });
            own.collect::<Vec<_>>()
        });
        all.collect()
    };
    let mut kinds = in_groups(&shapes);
    let mut has_kinematic = false;
    model
        .bodies
        .visit_kinds(|body| has_kinematic |= is_kinematic(body));
    if has_kinematic {
        kinds.extend(in_groups(&driven));
    }
    (kinds, members)
}

/// The table of balls, if bodies of all kinds are balls and there are few kinds.
pub(super) fn balls(properties: &[BodyProperties], members: &[Member]) -> Option<Vec<BallKind>> {
    let ball = |kind: &BodyProperties| {
        let member = &members[kind.first_member as usize];
        let inertia = kind.inverse_inertia;
        let is_ball = kind.sphere_count == 1
            && member.center == Vec3::ZERO
            && inertia == Vec3::splat(inertia.x);
        is_ball.then_some(BallKind {
            inverse_inertia: inertia.x,
            inverse_mass: kind.inverse_mass,
            radius: member.radius,
            tags: member.material | kind.group << GROUP_SHIFT,
            landing: kind.landing,
            turning: member.turning,
            ..BallKind::default()
        })
    };
    let mut balls: Vec<BallKind> = properties.iter().map(ball).collect::<Option<_>>()?;
    fit_tables(properties, members).then(|| {
        balls.resize(MAX_KINDS, BallKind::default());
        balls
    })
}

/// Whether kinds and spheres of shapes fit the tables of which the GPU engine derives spheres.
pub(super) fn fit_tables(properties: &[BodyProperties], members: &[Member]) -> bool {
    properties.len() <= MAX_KINDS && members.len() <= MAX_MEMBERS
}

/// Spheres of a side of a cube of `spheres` spheres.
fn landing(spheres: usize) -> u32 {
    let side = libm::cbrt(spheres as f64);
    (side * side).round().max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_table_where_all_are_balls_and_kinds_are_few() {
        let member = Member {
            radius: 0.5,
            material: 3,
            turning: 5.0,
            ..Member::default()
        };
        let kind = BodyProperties {
            sphere_count: 1,
            inverse_mass: 2.0,
            inverse_inertia: Vec3::splat(4.0),
            group: 1,
            landing: 1,
            ..BodyProperties::default()
        };
        let table = balls(&[kind, kind], &[member]).unwrap();
        let ball = BallKind {
            inverse_inertia: 4.0,
            inverse_mass: 2.0,
            radius: 0.5,
            tags: 3 | 1 << GROUP_SHIFT,
            landing: 1,
            turning: 5.0,
            _pad: [0; 2],
        };
        assert_eq!(table[..3], [ball, ball, BallKind::default()]);
        assert_eq!(table.len(), MAX_KINDS);

        assert!(balls(&[kind; MAX_KINDS], &[member]).is_some());
        assert_eq!(balls(&[kind; MAX_KINDS + 1], &[member]), None);
        let clump = BodyProperties {
            sphere_count: 2,
            ..kind
        };
        assert_eq!(balls(&[kind, clump], &[member; 2]), None);
        let beside = Member {
            center: Vec3::X,
            ..member
        };
        assert_eq!(balls(&[kind], &[beside]), None);
        let egg = BodyProperties {
            inverse_inertia: Vec3::new(4.0, 4.0, 3.0),
            ..kind
        };
        assert_eq!(balls(&[egg], &[member]), None);

        assert!(fit_tables(&[clump; MAX_KINDS], &[member; MAX_MEMBERS]));
        assert!(!fit_tables(&[clump; MAX_KINDS + 1], &[member; 2]));
        assert!(!fit_tables(&[clump], &[member; MAX_MEMBERS + 1]));
    }
}
