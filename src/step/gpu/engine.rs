//! The GPU engine as a simulation sees it.

use std::time::Duration;

use super::GpuEngine;
use crate::error::Result;
use crate::state::trace::{Sample, Trace};
use crate::state::{Field, State};
use crate::step::wall_motion::steps_without_bodies;
use crate::step::{Engine, Pass, PassTimes};

impl Engine for GpuEngine {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn device(&self) -> String {
        self.context().adapter.clone()
    }

    fn step(
        &mut self,
        state: &mut State,
        taken: u64,
        count: u64,
        samples: &mut Vec<Sample>,
    ) -> Result<u64> {
        if state.bodies.is_empty() {
            // No thread of the device counts steps then. Walls move.
            self.read(&Field::ALL, state)?;
            steps_without_bodies(state, count);
            Engine::replace(self, state)?;
            return Ok(count);
        }
        let count = GpuEngine::step(self, taken + 1, count, samples)?;
        self.download(Field::Stats, state)?;
        Ok(count)
    }

    fn profile(&mut self, _: &mut State, taken: u64, count: u64) -> Result<Option<PassTimes>> {
        let mut sums = [Duration::ZERO; Pass::ALL.len()];
        for step in 1..=count {
            let Some(times) = self.profile_step()? else {
                GpuEngine::step(self, taken + step, count - step + 1, &mut Vec::new())?;
                return Ok(None);
            };
            sums.iter_mut()
                .zip(times)
                .for_each(|(sum, time)| *sum += time);
        }
        Ok(Some(sums))
    }

    fn set_trace(&mut self, trace: Trace, state: &State) {
        GpuEngine::set_trace(self, &trace, state);
    }

    fn read(&mut self, fields: &[Field], state: &mut State) -> Result<()> {
        fields
            .iter()
            .try_for_each(|&field| self.download(field, state))
    }

    fn read_body(&mut self, body: usize, state: &mut State) -> Result<()> {
        self.download_body(body, state)
    }

    fn write(&mut self, fields: &[Field], state: &State) {
        for &field in fields {
            self.upload(field, state);
        }
    }

    fn write_params(&mut self, state: &State) {
        self.set_params(state);
    }

    fn write_stale(&mut self, _: &State) {
        self.set_stale();
    }

    fn replace(&mut self, state: &State) -> Result<()> {
        GpuEngine::replace(self, state)
    }

    fn restart(&mut self, state: &State) -> Result<()> {
        *self = GpuEngine::with_law(&self.context().clone(), state, self.law.as_deref())?;
        Ok(())
    }

    fn memory(&self, _: &State) -> u64 {
        self.size()
    }

    fn as_gpu(&self) -> Option<&GpuEngine> {
        Some(self)
    }
}
