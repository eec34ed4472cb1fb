//! Times of steps.

/// The simulated times of steps that are all as long, after others that were not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepTimes {
    /// Time step, s.
    pub time_step: f64,
    /// Simulated time less the number of steps times the time step, s: 0 unless the time step has changed.
    pub earlier: f64,
}

impl StepTimes {
    /// Times of steps of `time_step`, s, from the first on.
    pub fn new(time_step: f64) -> StepTimes {
        StepTimes {
            time_step,
            earlier: 0.0,
        }
    }

    /// Simulated time after `steps` steps, s.
    pub fn after(self, steps: f64) -> f64 {
        self.earlier + steps * self.time_step
    }

    /// Number of steps after which it is nearest to a time, s; 0 for times before the first step.
    pub fn nearest(self, time: f64) -> u64 {
        ((time - self.earlier) / self.time_step).round().max(0.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_on_after_the_time_step_has_changed() {
        let steps = |time: f64, earlier: f64| {
            let times = StepTimes {
                time_step: 0.1,
                earlier,
            };
            let steps = times.nearest(time);
            assert!(steps == 0 || (times.after(steps as f64) - time).abs() <= 0.05);
            steps
        };
        assert_eq!((steps(0.74, 0.0), steps(0.76, 0.0)), (7, 8));
        assert_eq!(
            (steps(1.0, 0.4), steps(1.0, -0.4), steps(0.3, 0.5)),
            (6, 14, 0)
        );
    }
}
