//! Steps of a part of a scene, beside others that step the other parts.

use bytemuck::pod_read_unaligned;

use super::{GpuEngine, STATS};
use crate::model::error::Result;
use crate::state::layout::{Stats, WALL_DIGITS};
use crate::state::{Field, State};
use crate::step::wall_load::{Digits, carried};
use crate::step::{Pass, Patience};

impl GpuEngine {
    /// Takes a step, which builds the neighbour lists if they are stale, and gives `state` its stats and the elements of the bodies that
    /// others need ([`GpuEngine::set_exchange`]). Before walls move, `sum` adds what the other parts do to them.
    ///
    /// # Errors
    /// If the device was lost, or has no memory for larger neighbour lists.
    pub(in crate::step) fn step_beside(
        &mut self,
        state: &mut State,
        sum: &mut dyn FnMut(&mut [Digits]),
    ) -> Result<()> {
        let taken = state.stats[0].steps;
        self.buffers.upload_poses(&self.context, taken, 1);
        let mut passes = &Pass::ALL[..];
        if state.params.wall_loads == 1 && state.params.wall_count > 0 {
            let (before, last) = passes.split_at(passes.len() - 1);
            let (_, sums) = self.run_passes(before)?;
            state.bytes_mut(Field::WallSums).copy_from_slice(&sums);
            add_loads(state, sum);
            self.buffers.write(&self.context, Field::WallSums, state);
            // The next step begins with none.
            state.wall_sums.fill(0);
            passes = last;
        }
        let (stats, elements) = self.run_passes(passes)?;
        self.exchange.give(&elements, state);
        state.params.deform(stats.step);
        state.stats[0] = Stats {
            due: 0,
            first_entry: 0,
            near_walls: 0,
            ..stats
        };
        Ok(())
    }

    /// Runs passes of a step. Returns the stats, and what they leave for other parts: loads on walls or, after the last pass, elements
    /// of bodies.
    fn run_passes(&mut self, passes: &[Pass]) -> Result<(Stats, Vec<u8>)> {
        loop {
            let mut encoder = self.encoder();
            let kernels = &self.kernels;
            self.dispatches += kernels.encode_passes(passes, &self.buffers, &mut encoder);
            let mut pieces = vec![(self.buffers.field(Field::Stats), 0, STATS)];
            if passes.ends_with(&[Pass::Integrate]) {
                self.exchange.take(&mut encoder);
                let taken = self.exchange.taken.iter();
                pieces.extend(taken.map(|way| (&way.moved, 0, way.moved.size())));
            } else {
                let field = Field::WallSums;
                let buffers = &self.buffers;
                let (buffer, length) = (buffers.field(field), buffers.length(field));
                pieces.push((buffer, buffers.offset(field), length));
            }
            self.context.queue.submit([encoder.finish()]);
            self.submissions += 1;
            let copied = self.context.read_pieces(Patience::Block, &pieces);
            let mut stats = pollster::block_on(copied)?;
            let rest = stats.split_off(STATS as usize);
            let stats: Stats = pod_read_unaligned(&stats);
            self.known = Some(stats);
            if stats.full == 0 {
                return Ok((stats, rest));
            }
            self.known = Some(pollster::block_on(self.make_room(stats))?);
        }
    }
}

/// Adds to the sums of loads on walls those of the other parts.
fn add_loads(state: &mut State, sum: &mut dyn FnMut(&mut [Digits])) {
    let walls = state.params.wall_count as usize;
    let mut loads = vec![[0; WALL_DIGITS]; walls];
    for (copy, digits) in state.wall_sums.chunks_exact(WALL_DIGITS).enumerate() {
        let pairs = loads[copy % walls].iter_mut().zip(digits);
        pairs.for_each(|(sum, &digit)| *sum += i64::from(digit));
    }
    sum(&mut loads);
    state.wall_sums.fill(0);
    let sums = state.wall_sums.chunks_exact_mut(WALL_DIGITS);
    for (own, load) in sums.zip(&loads) {
        own.copy_from_slice(&carried(load));
    }
}
