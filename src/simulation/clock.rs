//! The system's clock, given to the engines on CPUs.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::step::clock::Clock;
use crate::step::cpu::CpuEngine;

/// Gives the engine a clock if the standard library has one.
pub(super) fn with_system_clock(engine: CpuEngine) -> CpuEngine {
    match system() {
        Some(clock) => engine.with_clock(clock),
        None => engine,
    }
}

/// A clock if the standard library has one; it has none in a browser.
pub(super) fn system() -> Option<Clock> {
    let none = cfg!(all(target_family = "wasm", target_os = "unknown"));
    (!none).then_some(since_first_call)
}

fn since_first_call() -> Duration {
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    FIRST.elapsed()
}
