//! Results go to standard output, all else to standard error; colour only on a terminal, unless --color says otherwise.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anstream::{ColorChoice, stderr, stdout};
use clap::ValueEnum;
use clap::builder::styling::{AnsiColor, Style};
use indicatif::ProgressBar;
use rockfall::scene::SceneError;
use serde::Serialize;

use super::failure::{Failure, Outcome};

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// From now on, colours are used as asked for.
pub fn colour(when: Color) {
    let choice = match when {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    choice.write_global();
}

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Writes a line of results to standard output. A reader that went away is no failure: it has seen
/// enough.
pub fn print(line: impl Display) -> Outcome {
    accept(writeln!(stdout(), "{line}"))
}

/// Writes one JSON value to standard output.
pub fn print_json(value: &impl Serialize) -> Outcome {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::Run(format!("the result cannot be written as JSON: {error}")))?;
    print(text)
}

fn accept(outcome: io::Result<()>) -> Outcome {
    match outcome {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Run(format!(
            "standard output cannot be written: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Whether the user wants to be told of results and errors alone.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on, says less, if `quiet`.
pub fn be_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether the user wants to be told of results and errors alone.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Tells the user something that is no result.
pub fn say(line: impl Display) {
    if !is_quiet() {
        tell(format_args!("{line}"));
    }
}

/// Tells the user of something that may be wrong.
pub fn warn(sentence: impl Display) {
    if !is_quiet() {
        tell(format_args!("{WARNING}warning:{WARNING:#} {sentence}"));
    }
}

/// Tells the user of something that is wrong.
pub fn error(sentence: impl Display) {
    tell(format_args!("{ERROR}error:{ERROR:#} {sentence}"));
}

/// Tells the user of all that is wrong with a scene.
pub fn errors(scene: &SceneError) {
    scene.to_string().lines().for_each(error);
}

/// The progress bar that is shown, if one is: lines go above it.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// From now on, lines go above `bar`.
pub fn show(bar: Option<ProgressBar>) {
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

/// Whoever closes standard error does not want to be told, so that a failure to do so is none.
pub fn tell(line: impl Display) {
    let write = || {
        let _ = writeln!(stderr(), "{line}");
    };
    match &*BAR.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}
