//! Messages of the library, on standard error: warnings always, progress if something takes seconds, the rest with `-v`.

use std::fmt::{self, Write};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use rockfall::scene::PROGRESS;

use super::terminal;

/// Starts to print messages; `verbosity` is the number of `-v` given.
pub fn start(verbosity: u8) {
    elapsed();
    let (own, others) = match verbosity {
        0 => (LevelFilter::WARN, LevelFilter::OFF),
        1 => (LevelFilter::INFO, LevelFilter::OFF),
        2 => (LevelFilter::DEBUG, LevelFilter::WARN),
        _ => (LevelFilter::TRACE, LevelFilter::INFO),
    };
    let targets = Targets::new()
        .with_target("rockfall", own)
        .with_target(PROGRESS, LevelFilter::INFO)
        .with_default(others);
    let _ = tracing_subscriber::registry()
        .with(Lines::default().with_filter(targets))
        .try_init();
}

/// The time since the program, or the first call, started.
pub fn elapsed() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Time between lines about progress, and before the first.
const PATIENCE: Duration = Duration::from_secs(2);

/// Writes each event as a line, and of those about progress one now and then.
#[derive(Default)]
struct Lines {
    progress: Mutex<Progress>,
}

/// Time of the last line about progress, or of the first event about it.
#[derive(Debug, Default)]
struct Progress(Option<Duration>);

impl Progress {
    /// Whether another line is due.
    fn is_due(&mut self, now: Duration) -> bool {
        let since = self.0.get_or_insert(now);
        let due = now.saturating_sub(*since) >= PATIENCE;
        if due {
            *since = now;
        }
        due
    }
}

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event, _: Context<S>) {
        let is_progress = event.metadata().target() == PROGRESS;
        if is_progress {
            let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
            if !progress.is_due(elapsed()) {
                return;
            }
        }
        let mut line = Line::default();
        event.record(&mut line);
        let text = line.message + &line.fields;
        let seconds = elapsed().as_secs_f64();
        match *event.metadata().level() {
            Level::ERROR => terminal::error(text),
            Level::WARN => terminal::warn(text),
            _ if is_progress => terminal::say(text),
            level => terminal::say(format_args!("[{seconds:8.3} s] {level:5} {text}")),
        }
    }
}

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, "  {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_after_two_seconds_and_every_two() {
        let mut progress = Progress::default();
        let due: Vec<u64> = (0..80)
            .filter(|tick| progress.is_due(Duration::from_millis(100 * tick)))
            .collect();
        assert_eq!(due, [20, 40, 60]);
    }
}
