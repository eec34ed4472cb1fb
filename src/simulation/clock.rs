//! The system's clock, given to the CPU engine.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::step::cpu::CpuEngine;

/// Gives the engine a clock where the standard library has one: in a browser, it does not.
pub(super) fn with_system_clock(engine: CpuEngine) -> CpuEngine {
    if cfg!(all(target_family = "wasm", target_os = "unknown")) {
        engine
    } else {
        engine.with_clock(since_first_call)
    }
}

fn since_first_call() -> Duration {
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    FIRST.elapsed()
}
