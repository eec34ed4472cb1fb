//! Requests to stop: Ctrl-C, and what asks programs to terminate.

use std::sync::atomic::{AtomicBool, Ordering};

use rockfall::step::Canceller;

use super::terminal;

/// Whether the user wants the program to stop.
static STOP: AtomicBool = AtomicBool::new(false);

/// From now on, a request to stop ends the steps of a simulation after the one at hand, and `what` says what follows. Further
/// requests change nothing, since they may come at once, and what is being written is not to be cut short.
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

/// From now on, requests to stop are for somebody else to heed.
#[cfg(feature = "mpi")]
pub fn ignore() {
    let _ = ctrlc::set_handler(|| ());
}

/// Whether the user wants the program to stop.
pub fn wanted() -> bool {
    STOP.load(Ordering::Relaxed)
}
