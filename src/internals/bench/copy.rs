//! Speed of copies in the memory of an engine: the limit of a step's speed.

use std::time::Instant;

use crate::math::parallel::prelude::*;
use crate::math::parallel::thread_count;
use crate::model::error::Result;
use crate::simulation::Simulation;

/// Copies, of which the fastest counts.
const REPEATS: usize = 10;

/// Bytes of a copy.
const SIZE: usize = 256 << 20;

/// Bytes read and written in a second by plain copies, on the device of `simulation` or on `threads` threads of the
/// host (all cores if `None`).
///
/// # Errors
/// If the device is lost, or has no memory for two buffers of up to 256 MiB.
pub fn copy_speed(simulation: &Simulation, threads: Option<usize>) -> Result<f64> {
    match simulation.gpu() {
        Some(engine) => engine.context().copy_speed(SIZE as u64, REPEATS),
        None => Ok(on_host(threads)),
    }
}

fn on_host(threads: Option<usize>) -> f64 {
    let threads = threads.unwrap_or_else(thread_count);
    let from = vec![1_u8; SIZE];
    let mut to = vec![0_u8; SIZE];
    let piece = SIZE.div_ceil(threads);
    let mut copy = || {
        let start = Instant::now();
        let pieces = to.par_chunks_mut(piece).zip(from.par_chunks(piece));
        pieces.for_each(|(to, from)| to.copy_from_slice(from));
        2.0 * SIZE as f64 / start.elapsed().as_secs_f64()
    };
    (0..REPEATS).map(|_| copy()).fold(0.0, f64::max)
}
