//! Deformation of the periodic box.

use super::super::format::{self, NormalModel, SceneFile};
use super::check::{Check, Sign};
use crate::model::deform::{Deform, Drive, Shear};

/// Largest rate of strain of a servo unless the scene gives one, 1/s.
const FASTEST: f64 = 1.0;

impl Check {
    /// Returns the deformation of the box at the start, and reports what has no place in a box that deforms in any
    /// stage.
    pub(super) fn deforms(&mut self, file: &SceneFile, has_fixed: bool) -> Deform {
        let stages = file.stages.iter().enumerate();
        let staged = stages.filter(|(_, stage)| stage.deform.is_some());
        let paths = staged.map(|(index, _)| format!("stages[{index}].deform"));
        let at_start = file.deform.map(|_| "deform".to_owned());
        let staged = file.stages.iter().filter_map(|stage| stage.deform);
        let shears = file.deform.into_iter().chain(staged);
        let axes: Vec<_> = shears
            .filter_map(|deform| Some((deform.shear?.flow, deform.shear?.gradient)))
            .collect();
        if axes.windows(2).any(|pair| pair[0] != pair[1]) {
            self.problem(
                "stages",
                "shear along other axes than before",
                "the same flow and gradient in all stages, since the box stays tilted",
            );
        }
        let own = file
            .deform
            .map_or_else(Deform::default, |deform| self.deform("deform", &deform));
        let mut paths = at_start.into_iter().chain(paths);
        if let (Some(path), true) = (paths.next(), self.problems.is_empty()) {
            self.fits_a_box_that_deforms(&path, file, has_fixed);
        }
        own
    }

    /// Returns the deformation of the box that is given at `path`.
    pub(super) fn deform(&mut self, path: &str, deform: &format::Deform) -> Deform {
        let mut sides = [None; 3];
        for ((own, side), axis) in sides.iter_mut().zip(deform.sides()).zip(["x", "y", "z"]) {
            *own = side.and_then(|side| self.side(&format!("{path}.{axis}"), &side));
        }
        let shear = deform.shear.map(|shear| {
            let rate = format_args!("{path}.shear.rate");
            self.number(rate, shear.rate, "a rate of shear, 1/s", Sign::Any);
            if shear.flow == shear.gradient {
                self.problem(
                    format_args!("{path}.shear.gradient"),
                    "the axis of the flow",
                    "another axis than that of the flow",
                );
            }
            Shear {
                flow: shear.flow as usize,
                gradient: shear.gradient as usize,
                rate: shear.rate,
            }
        });
        Deform { sides, shear }
    }

    fn side(&mut self, path: &str, side: &format::Drive) -> Option<Drive> {
        match (side.strain_rate, side.stress) {
            (Some(rate), None) => {
                let own = format_args!("{path}.strain_rate");
                self.number(own, rate, "a rate of strain, 1/s", Sign::Any);
                if side.fastest.is_some() {
                    self.problem(
                        format_args!("{path}.fastest"),
                        "a largest rate of strain together with \"strain_rate\"",
                        "none: it limits a servo, which has a \"stress\"",
                    );
                }
                Some(Drive::Strain(rate))
            }
            (None, Some(stress)) => {
                let own = format_args!("{path}.stress");
                self.number(own, stress, "a stress, Pa", Sign::Positive);
                let fastest = side.fastest.unwrap_or(FASTEST);
                let own = format_args!("{path}.fastest");
                self.number(own, fastest, "a rate of strain, 1/s", Sign::Positive);
                Some(Drive::Stress { stress, fastest })
            }
            (rate, _) => {
                let found = match rate {
                    Some(_) => "both \"strain_rate\" and \"stress\"",
                    None => "neither \"strain_rate\" nor \"stress\"",
                };
                self.problem(path, found, "one of them");
                None
            }
        }
    }

    /// Refuses what has no place in a box that deforms, as `path` has it do.
    fn fits_a_box_that_deforms(&mut self, path: &str, file: &SceneFile, has_fixed: bool) {
        let periodic = file.domain.as_ref().map(|domain| domain.periodic.0);
        if periodic != Some([true; 3]) {
            self.problem(
                path,
                "a box that deforms",
                "a \"domain\" that is periodic along x, y and z; no other can deform",
            );
            return;
        }
        let fixed = has_fixed || file.bodies.iter().any(|body| body.fixed);
        let impossible = [
            ("planes", !file.planes.is_empty()),
            ("walls", !file.walls.is_empty()),
            ("fixed bodies", fixed),
            ("springs", !file.springs.is_empty()),
            ("water", file.water.is_some()),
            ("inlets", !file.inlets.is_empty()),
            ("outlets", !file.outlets.is_empty()),
            ("probes", !file.probes.is_empty()),
            ("explosions", !file.explosions.is_empty()),
            ("breakage", !file.breakage.is_empty()),
            ("bodies that sleep", file.sleep.is_some()),
            (
                "the normal model \"impulse\" or \"custom\"",
                matches!(
                    file.contact.normal,
                    NormalModel::Impulse | NormalModel::Custom
                ),
            ),
            (
                "the integrator \"explicit\"",
                file.integrator == format::Integrator::Explicit,
            ),
        ];
        for (what, _) in impossible.iter().filter(|(_, is_there)| *is_there) {
            self.problem(
                path,
                format!("a box that deforms together with {what}"),
                "only bodies and bonds in such a box",
            );
        }
    }
}
