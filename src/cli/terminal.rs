//! Results go to standard output, everything else to standard error. Colours are for terminals, unless --color says otherwise.

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

/// Use of colours.
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

/// Uses colours as asked for, from now on.
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

/// Writes a line of results to standard output. A reader that has closed the pipe is no failure.
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

/// Whether the user wants results and errors only.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Suppresses warnings and notes from now on, if `quiet`.
pub fn be_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether the user wants results and errors only.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a note on standard error.
pub fn say(line: impl Display) {
    if !is_quiet() {
        tell(format_args!("{line}"));
    }
}

/// Prints a warning on standard error.
pub fn warn(sentence: impl Display) {
    if !is_quiet() {
        tell(format_args!("{WARNING}warning:{WARNING:#} {sentence}"));
    }
}

/// Prints an error on standard error.
pub fn error(sentence: impl Display) {
    tell(format_args!("{ERROR}error:{ERROR:#} {sentence}"));
}

/// Prints every mistake of a scene.
pub fn errors(scene: &SceneError) {
    scene.to_string().lines().for_each(error);
}

/// The progress bar on the screen, if there is one; lines go above it.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Puts lines above `bar` from now on.
pub fn show(bar: Option<ProgressBar>) {
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

/// Writes a line to standard error. That the stream is closed is no failure.
pub fn tell(line: impl Display) {
    let write = || {
        let _ = writeln!(stderr(), "{line}");
    };
    match &*BAR.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}
