//! What a run is to write.

use super::super::error::Problem;
use super::super::format::{Interval, Kind, SceneFile};
use super::check::{Check, Sign};

impl Check {
    pub(super) fn output(&mut self, file: &SceneFile) {
        let output = &file.output;
        for (field, interval) in [
            ("every", output.every),
            ("statistics_every", output.statistics_every),
            ("checkpoint_every", output.checkpoint_every),
        ] {
            let path = format!("output.{field}");
            let Some(Interval { steps, seconds }) = interval else {
                continue;
            };
            match (steps, seconds) {
                (Some(0), None) => self.problem(
                    format_args!("{path}.steps"),
                    "0",
                    "a number of steps, 1 or more",
                ),
                (Some(_), None) => (),
                (None, Some(seconds)) => {
                    let path = format_args!("{path}.seconds");
                    self.number(path, seconds, "a time, s", Sign::Positive);
                }
                (Some(_), Some(_)) => {
                    self.problem(path, "both \"steps\" and \"seconds\"", "one of them");
                }
                (None, None) => {
                    self.problem(path, "neither \"steps\" nor \"seconds\"", "one of them");
                }
            }
        }
        let states = output.states.iter().flatten();
        for (index, _) in states.enumerate().filter(|(_, kind)| **kind == Kind::Walls) {
            self.problems.push(
                Problem::new(
                    format_args!("output.states[{index}]"),
                    "\"walls\"",
                    "\"bodies\", \"spheres\" or \"contacts\"",
                )
                .help("walls are meshes, for \"vtk\""),
            );
        }
    }
}
