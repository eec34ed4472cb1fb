//! Time for the engines: a clock that the caller gives.

use std::mem::replace;
use std::time::Duration;

/// A clock: the time since some moment of its own. It never goes back.
///
/// A step needs none: a clock only serves to time passes and to balance threads, and changes no result. So none of the
/// layers up to the step has one, and those who have it give it, as [`Simulation`](crate::Simulation) does.
pub type Clock = fn() -> Duration;

/// Measures laps, if there is a clock.
pub(crate) struct Stopwatch {
    clock: Option<Clock>,
    last: Duration,
}

impl Stopwatch {
    /// Starts the first lap.
    pub fn start(clock: Option<Clock>) -> Stopwatch {
        let last = clock.map_or(Duration::ZERO, |clock| clock());
        Stopwatch { clock, last }
    }

    /// Ends a lap and starts the next one. Returns the time that it took; zero without a clock.
    pub fn lap(&mut self) -> Duration {
        let Some(clock) = self.clock else {
            return Duration::ZERO;
        };
        let now = clock();
        now - replace(&mut self.last, now)
    }
}
