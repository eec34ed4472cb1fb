//! Clock of the window: the speed of simulated time.

use std::time::Duration;

#[cfg(not(target_family = "wasm"))]
use pollster::block_on;
use web_time::Instant;

use super::PATIENCE;
use crate::model::error::Result;
use crate::render::pace::steps_within;
#[cfg(not(target_family = "wasm"))]
use crate::render::pace::{Beat, beside};
use crate::simulation::Simulation;

/// Wall time that steps may take between two pictures where one thread has to do both: the window stays responsive.
const BUDGET: Duration = Duration::from_millis(30);

/// Wall time between two pictures that is made up for at most; a window that was hidden does not jump.
const LONGEST: f64 = 0.1;

/// Part of an average that a new value makes up.
const NEW: f64 = 0.1;

/// Speed of simulated time, wanted and achieved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub playing: bool,
    /// Wanted, simulated seconds in a second.
    pub speed: f64,
    /// Achieved, on average.
    pub achieved: f64,
    /// Whether steps were due that there was no time for.
    pub lags: bool,
    /// Simulated time that is still to be covered, s.
    owed: f64,
    last: Option<Instant>,
    /// Wall time of a step, on average, s; none before the first one.
    step_time: Option<f64>,
    #[cfg(not(target_family = "wasm"))]
    beat: Beat,
}

impl Clock {
    pub fn new(playing: bool) -> Clock {
        Clock {
            playing,
            speed: 1.0,
            achieved: 0.0,
            lags: false,
            owed: 0.0,
            last: None,
            step_time: None,
            #[cfg(not(target_family = "wasm"))]
            beat: Beat::default(),
        }
    }

    /// Says that the next steps are those of another scene, or of another device, which may take far longer: none but the first is
    /// taken before that is known.
    pub fn forget(&mut self) {
        self.step_time = None;
    }

    /// Takes the steps that are due, as far as there is time for them.
    pub async fn advance(&mut self, simulation: &mut Simulation) -> Result<()> {
        if !self.playing {
            self.rest();
            return Ok(());
        }
        let deadline = Instant::now() + BUDGET;
        let left = || deadline.saturating_duration_since(Instant::now());
        self.advance_within(simulation, &left).await
    }

    /// Takes the steps that are due [beside a picture](beside) that is drawn, no less than some. Returns what `draw` does, and how
    /// long the steps took. The frame starts at `start`, and frames take `length` on average.
    #[cfg(not(target_family = "wasm"))]
    pub fn advance_beside<T>(
        &mut self,
        simulation: &mut Simulation,
        start: Instant,
        length: Duration,
        draw: impl FnOnce() -> T,
    ) -> (T, Result<Duration>) {
        if !self.playing {
            self.rest();
            return (draw(), Ok(Duration::ZERO));
        }
        let end = self.beat.end(start, length);
        let steps = |left: &dyn Fn() -> Duration| block_on(self.advance_within(simulation, left));
        beside(steps, end, draw)
    }

    /// Draws: a page has no threads, and takes its steps between pictures.
    #[cfg(target_family = "wasm")]
    pub fn advance_beside<T>(
        &mut self,
        _simulation: &mut Simulation,
        _start: Instant,
        _length: Duration,
        draw: impl FnOnce() -> T,
    ) -> (T, Result<Duration>) {
        (draw(), Ok(Duration::ZERO))
    }

    /// No steps are due.
    fn rest(&mut self) {
        (self.achieved, self.owed, self.lags) = (0.0, 0.0, false);
        self.last = Some(Instant::now());
    }

    /// Takes the steps that are due, as far as time is `left` for them.
    async fn advance_within(
        &mut self,
        simulation: &mut Simulation,
        left: &dyn Fn() -> Duration,
    ) -> Result<()> {
        let now = Instant::now();
        let passed = self.last.map_or(0.0, |last| (now - last).as_secs_f64());
        self.last = Some(now);
        self.lags = false;
        self.owed += passed.min(LONGEST) * self.speed;
        let before = simulation.time();
        let time_step = simulation.model().time_step;
        let mut is_first = true;
        while self.owed >= time_step {
            let affordable = self.step_time.map_or(1, |each| steps_within(left(), each));
            if !is_first && affordable == 0 {
                break;
            }
            is_first = false;
            let due = (self.owed / time_step).floor() as u64;
            let steps = affordable.clamp(1, due);
            self.take(simulation, steps).await?;
            self.owed -= steps as f64 * time_step;
        }
        if self.owed >= time_step {
            // What is missing is not made up for later.
            self.owed = 0.0;
            self.lags = true;
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
        let known = self.step_time.unwrap_or(each);
        self.step_time = Some(known + NEW * (each - known));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_the_steps_that_are_due_and_learns_how_long_they_take() {
        let scene = crate::scene::load("scenes/stack.json".as_ref()).unwrap();
        let mut simulation = Simulation::on_cpu(scene.model, Some(1)).unwrap();
        let mut clock = Clock::new(true);
        clock.speed = 0.0;
        let mut taken = |clock: &mut Clock, left: Duration| {
            clock.owed = 10.5 * simulation.model().time_step;
            let before = simulation.steps();
            block_on(clock.advance_within(&mut simulation, &|| left)).unwrap();
            simulation.steps() - before
        };
        assert_eq!(taken(&mut clock, Duration::ZERO), 1);
        assert!(clock.lags && clock.step_time.is_some());
        assert_eq!(taken(&mut clock, Duration::from_secs(3600)), 10);
        assert!(!clock.lags);
        clock.forget();
        assert_eq!(clock.step_time, None);
    }
}
