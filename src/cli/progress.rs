//! Progress of a run: a bar on a terminal, a plain line now and then elsewhere.

use std::fmt::Write;
use std::time::Duration;

use indicatif::{FormattedDuration, ProgressBar, ProgressState, ProgressStyle};
use rockfall::output::Rounded;

use super::terminal;

/// Least time between plain lines. Later it is a tenth of the elapsed time, so that the log of a
/// long run stays short.
const INTERVAL: Duration = Duration::from_secs(5);

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
