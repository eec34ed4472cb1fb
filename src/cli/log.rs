//! What the library has to say while it works, on standard error: warnings always, the rest with `-v`.

use std::fmt::{self, Write};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use super::terminal;

/// Starts it: `verbosity` is how often `-v` was given.
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
        .with_default(others);
    let _ = tracing_subscriber::registry()
        .with(Lines.with_filter(targets))
        .try_init();
}

/// The time since the program, or the first call, started.
pub fn elapsed() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Writes each event as a line.
struct Lines;

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event, _: Context<S>) {
        let mut line = Line::default();
        event.record(&mut line);
        let text = line.message + &line.fields;
        let seconds = elapsed().as_secs_f64();
        match *event.metadata().level() {
            Level::ERROR => terminal::error(text),
            Level::WARN => terminal::warn(text),
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
