//! Single bodies.

use glam::{DQuat, DVec3};

use super::super::error::Problem;
use super::super::format::{List, SceneFile, Vector};
use super::check::{Check, Names, Sign, list, vector};
use super::clumps::Shapes;
use crate::model::ModelBody;

impl Check {
    /// The bodies that are right.
    pub(super) fn bodies(
        &mut self,
        file: &SceneFile,
        names: &Names,
        materials: &Names,
        groups: &Names,
        shapes: &mut Shapes,
    ) -> Vec<ModelBody> {
        let bodies = file.bodies.iter().enumerate().filter_map(|(index, body)| {
            let path = format!("bodies[{index}]");
            let shape = self.resolve(format_args!("{path}.shape"), &body.shape, names);
            let material = body.material.as_ref();
            let shape = self.shape_of_material(&path, shape, material, materials, shapes);
            let orientation = self.orientation(
                &path,
                "body",
                body.orientation.as_ref(),
                body.axis.as_ref(),
                body.angle,
            );
            self.vector(
                format_args!("{path}.position"),
                &body.position,
                "a coordinate, m",
            );
            for (field, velocity, what) in [
                ("velocity", &body.velocity, "a velocity, m/s"),
                (
                    "angular_velocity",
                    &body.angular_velocity,
                    "an angular velocity, rad/s",
                ),
            ] {
                let path = format_args!("{path}.{field}");
                self.vector(path, velocity, what);
                if body.fixed && velocity.0 != [0.0; 3] {
                    self.problems.push(
                        Problem::new(
                            path,
                            list(&velocity.0),
                            "[0, 0, 0], since the body is fixed",
                        )
                        .help(format!("leave out \"{field}\" or \"fixed\"")),
                    );
                }
            }
            if body.kinematic {
                let without = [("fixed", body.fixed), ("sleep", file.sleep.is_some())];
                for (other, _) in without.iter().filter(|(_, given)| *given) {
                    self.problem(
                        format_args!("{path}.kinematic"),
                        format!("true together with {other:?}"),
                        "one of the two",
                    );
                }
            }
            let quantities = self.quantities(&path, body.quantities());
            let group = self.group(&path, body.group.as_ref(), groups);
            let (shape, orientation) = (shape?, orientation?);
            let clump = shapes.clumps[shape].as_ref()?;
            Some(ModelBody {
                shape,
                position: clump.position_of(vector(&body.position), orientation),
                orientation: clump.body_orientation(orientation),
                velocity: vector(&body.velocity),
                angular_velocity: vector(&body.angular_velocity),
                fixed: body.fixed || body.kinematic,
                group,
                quantities,
            })
        });
        bodies.collect()
    }

    /// World from own axes of `what`: as a quaternion, by an axis and an angle, or neither.
    pub(super) fn orientation(
        &mut self,
        path: &str,
        what: &str,
        orientation: Option<&List<f64, 4>>,
        axis: Option<&Vector>,
        angle: Option<f64>,
    ) -> Option<DQuat> {
        match (orientation, axis, angle) {
            (None, None, None) => Some(DQuat::IDENTITY),
            (Some(orientation), None, None) => {
                self.quaternion(format_args!("{path}.orientation"), orientation)
            }
            (None, Some(axis), Some(angle)) => {
                let axis = self.direction(format_args!("{path}.axis"), axis, "an axis");
                let path = format_args!("{path}.angle");
                let fits = self.number(path, angle, "an angle, rad", Sign::Any);
                let half = 0.5 * angle;
                let turned = |axis: DVec3| {
                    DQuat::from_vec4((axis * libm::sin(half)).extend(libm::cos(half)))
                };
                axis.filter(|_| fits).map(turned)
            }
            (None, Some(_), None) => {
                self.problem(
                    format_args!("{path}.angle"),
                    "nothing",
                    format!("an angle (rad), since the {what} gives an axis"),
                );
                None
            }
            (None, None, Some(_)) => {
                self.problem(
                    format_args!("{path}.axis"),
                    "nothing",
                    format!("an axis [x, y, z], since the {what} gives an angle"),
                );
                None
            }
            (Some(_), _, _) => {
                self.problem(
                    format_args!("{path}.orientation"),
                    "an orientation together with an axis or angle",
                    "\"orientation\", or \"axis\" and \"angle\"",
                );
                None
            }
        }
    }
}
