//! Progress of a run: a bar on a terminal, a plain line now and then elsewhere; and what a terminal shows while something else takes
//! time.

use std::fmt::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use indicatif::{FormattedDuration, ProgressBar, ProgressState, ProgressStyle};
use rockfall::output::Rounded;

use super::terminal;

/// Least time between plain lines. Later it is a tenth of the elapsed time, so that the log of a
/// long run stays short.
const INTERVAL: Duration = Duration::from_secs(5);

/// Time that something may take before a terminal shows what it is.
const PATIENCE: Duration = Duration::from_secs(1);

/// Time between two pictures of the sign that something goes on.
const TICK: Duration = Duration::from_millis(200);

/// Shows on a terminal what takes so long, once it has taken a second, and until this value is dropped.
pub struct Waiting {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Waiting {
    /// Begins to wait for something, such as "placing bodies".
    pub fn on(what: &'static str) -> Waiting {
        Waiting::with(PATIENCE, move |done| {
            if terminal::is_quiet() {
                return;
            }
            let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
            let bar = ProgressBar::new_spinner()
                .with_style(style.expect("the template is right"))
                .with_message(what)
                .with_elapsed(PATIENCE);
            terminal::show(Some(bar.clone()));
            while done.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                bar.tick();
            }
            terminal::show(None);
            bar.finish_and_clear();
        })
    }

    /// Calls `show` after some time, unless all is done by then; `show` is to return when it is.
    fn with(patience: Duration, show: impl FnOnce(&Receiver<()>) + Send + 'static) -> Waiting {
        let (sender, done) = channel();
        let wait = move || {
            if done.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                show(&done);
            }
        };
        Waiting {
            done: Some(sender),
            thread: Some(spawn(wait)),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.done.take());
        let ended = self.thread.take().map(JoinHandle::join);
        debug_assert!(ended.is_none_or(|ended| ended.is_ok()));
    }
}

/// Shows the progress of a run on standard error.
pub struct Progress {
    bar: ProgressBar,
    time_step: f64,
    next_line: Duration,
}

impl Progress {
    /// For a run of `steps` steps of `time_step` seconds, of which `from` were taken before.
    pub fn new(from: u64, steps: u64, time_step: f64) -> Progress {
        let text = move |state: &ProgressState, text: &mut dyn Write| {
            let len = state.len().unwrap_or_default();
            let _ = write!(
                text,
                "{}",
                describe(state.pos(), len, time_step, state.per_sec(), state.eta())
            );
        };
        let style = ProgressStyle::with_template("{wide_bar} {percent}% {text}")
            .expect("the template is right")
            .with_key("text", text);
        let bar = match terminal::is_quiet() {
            true => ProgressBar::hidden(),
            false => ProgressBar::new(steps),
        };
        bar.set_length(steps);
        let bar = bar.with_style(style);
        bar.set_position(from);
        bar.reset_eta();
        bar.tick();
        terminal::show(Some(bar.clone()));
        Progress {
            bar,
            time_step,
            next_line: INTERVAL,
        }
    }

    /// Shows that `steps` steps are done.
    pub fn update(&mut self, steps: u64) {
        self.bar.set_position(steps);
        let elapsed = self.bar.elapsed();
        if self.bar.is_hidden() && elapsed >= self.next_line {
            self.next_line = elapsed + INTERVAL.max(elapsed / 10);
            let len = self.bar.length().unwrap_or_default();
            terminal::say(format_args!(
                "step {steps} of {len}: {}",
                describe(
                    steps,
                    len,
                    self.time_step,
                    self.bar.per_sec(),
                    self.bar.eta()
                )
            ));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        terminal::show(None);
        self.bar.finish_and_clear();
    }
}

fn describe(steps: u64, of: u64, time_step: f64, per_second: f64, eta: Duration) -> String {
    let end = of as f64 * time_step;
    let now = steps as f64 * time_step;
    // As many decimals as give the end four digits, so that the text keeps its width.
    let decimals = (3.0 - end.log10().floor()).clamp(0.0, 12.0) as usize;
    format!(
        "t = {now:.decimals$} of {end:.decimals$} s, {} steps/s, ETA {}",
        Rounded(per_second),
        FormattedDuration(eta)
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::RecvError;
    use std::thread::sleep;

    use super::*;

    #[test]
    fn what_takes_long_is_shown_until_it_is_done() {
        let shown = Arc::new(AtomicU32::new(0));
        let waiting = |patience| {
            let shown = Arc::clone(&shown);
            Waiting::with(patience, move |done| {
                shown.fetch_add(1, Ordering::Relaxed);
                assert_eq!(done.recv(), Err(RecvError));
                shown.fetch_add(10, Ordering::Relaxed);
            })
        };
        drop(waiting(Duration::from_secs(60)));
        assert_eq!(shown.load(Ordering::Relaxed), 0);
        let slow = waiting(Duration::ZERO);
        while shown.load(Ordering::Relaxed) == 0 {
            sleep(Duration::from_millis(1));
        }
        assert_eq!(shown.load(Ordering::Relaxed), 1);
        drop(slow);
        assert_eq!(shown.load(Ordering::Relaxed), 11);
    }
}
