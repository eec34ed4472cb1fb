//! How fast simulated time goes.

use std::time::Duration;

use web_time::Instant;

use super::PATIENCE;
use crate::model::error::Result;
use crate::simulation::Simulation;

/// Wall time that steps may take between two pictures: the window stays responsive.
const BUDGET: Duration = Duration::from_millis(30);

/// Wall time between two pictures that is made up for at most; a window that was hidden does not jump.
const LONGEST: f64 = 0.1;

/// Part of an average that a new value makes up.
const NEW: f64 = 0.1;

/// How fast simulated time goes, and how fast it should go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub playing: bool,
    /// Wanted, simulated seconds in a second.
    pub speed: f64,
    /// Achieved, on average.
    pub achieved: f64,
    /// Simulated time that is still to be covered, s.
    owed: f64,
    last: Option<Instant>,
    /// Wall time of a step, on average, s.
    step_time: f64,
}

impl Clock {
    pub fn new(playing: bool) -> Clock {
        Clock {
            playing,
            speed: 1.0,
            achieved: 0.0,
            owed: 0.0,
            last: None,
            step_time: 1e-3,
        }
    }

    /// Takes the steps that are due, as far as there is time for them.
    pub async fn advance(&mut self, simulation: &mut Simulation) -> Result<()> {
        let now = Instant::now();
        let passed = self.last.map_or(0.0, |last| (now - last).as_secs_f64());
        self.last = Some(now);
        if !self.playing {
            self.achieved = 0.0;
            self.owed = 0.0;
            return Ok(());
        }
        self.owed += passed.min(LONGEST) * self.speed;
        let before = simulation.time();
        let time_step = simulation.model().time_step;
        let deadline = now + BUDGET;
        while self.owed >= time_step && Instant::now() < deadline {
            let left = (deadline - Instant::now()).as_secs_f64();
            let affordable = (left / self.step_time).clamp(1.0, 1e6);
            let steps = (self.owed / time_step).floor().min(affordable) as u64;
            self.take(simulation, steps).await?;
            self.owed -= steps as f64 * time_step;
        }
        if self.owed >= time_step {
            // It cannot keep up; what is missing is not made up for later.
            self.owed = 0.0;
        }
        if passed > 0.0 {
            let rate = (simulation.time() - before) / passed;
            self.achieved += NEW * (rate - self.achieved);
        }
        Ok(())
    }

    /// Wall time since the picture before, s, of which a film that is shown goes on by as much.
    pub fn passed(&mut self) -> f64 {
        /// A window that was hidden does not jump.
        const LONGEST: f64 = 1.0;
        let now = Instant::now();
        let passed = self.last.map_or(0.0, |last| (now - last).as_secs_f64());
        self.last = Some(now);
        self.achieved = if self.playing { self.speed } else { 0.0 };
        passed.min(LONGEST)
    }

    /// Takes steps, and learns how long they take.
    pub async fn take(&mut self, simulation: &mut Simulation, steps: u64) -> Result<()> {
        let start = Instant::now();
        simulation.step_by(PATIENCE, steps).await?;
        let each = start.elapsed().as_secs_f64() / steps.max(1) as f64;
        self.step_time += NEW * (each - self.step_time);
        Ok(())
    }
}
