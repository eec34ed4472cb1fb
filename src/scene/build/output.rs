//! Output of a run.

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
            if let Some(interval) = interval {
                self.interval(&format!("output.{field}"), interval);
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

    /// Whether an interval is one.
    pub(super) fn interval(&mut self, path: &str, interval: Interval) -> bool {
        match (interval.steps, interval.seconds) {
            (Some(0), None) => {
                let path = format_args!("{path}.steps");
                self.problem(path, "0", "a number of steps, 1 or more");
                false
            }
            (Some(_), None) => true,
            (None, Some(seconds)) => {
                let path = format_args!("{path}.seconds");
                self.number(path, seconds, "a time, s", Sign::Positive)
            }
            (Some(_), Some(_)) => {
                self.problem(path, "both \"steps\" and \"seconds\"", "one of them");
                false
            }
            (None, None) => {
                self.problem(path, "neither \"steps\" nor \"seconds\"", "one of them");
                false
            }
        }
    }
}
