//! Requests to stop: Ctrl-C, and signals that ask a program to terminate.

use std::sync::atomic::{AtomicBool, Ordering};

use rockfall::step::Canceller;

use super::terminal;

/// Whether the user wants the program to stop.
static STOP: AtomicBool = AtomicBool::new(false);

/// Stops a simulation after the current step when a request comes; `what` names what is written then. Further requests
/// change nothing: they may come at once, and must not cut the writing short.
pub fn catch(canceller: Canceller, what: &'static str) {
    let caught = ctrlc::set_handler(move || {
        canceller.cancel();
        terminal::say(match STOP.swap(true, Ordering::Relaxed) {
            false => format!("stopping after this step to write {what}"),
            true => format!("still stopping; killing the program now (SIGKILL) would lose {what}"),
        });
    });
    if let Err(error) = caught {
        terminal::warn(format_args!(
            "Ctrl-C will end the program without {what}: {error}"
        ));
    }
}

/// Ignores requests to stop from now on; another process heeds them.
#[cfg(feature = "mpi")]
pub fn ignore() {
    let _ = ctrlc::set_handler(|| ());
}

/// Whether the user wants the program to stop.
pub fn wanted() -> bool {
    STOP.load(Ordering::Relaxed)
}
