//! A way to end steps early, from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the steps of a simulation, from any thread: see [`Simulation::canceller`](crate::Simulation::canceller).
#[derive(Clone, Debug, Default)]
pub struct Canceller(Arc<AtomicBool>);

impl Canceller {
    /// Has the steps that are under way, or else the next ones, end with [`Error::Cancelled`](crate::Error::Cancelled).
    /// The simulation then stands at the end of a step, and can go on.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Has the next steps go on after all, if none were under way when [`Canceller::cancel`] was called.
    pub fn reset(&self) {
        self.take();
    }

    /// Whether steps are to end.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether steps were to end; from now on they are not.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}
