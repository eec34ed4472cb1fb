//! The GPU engine as a simulation sees it.

use std::ops::Range;
use std::time::Duration;

use super::GpuEngine;
use crate::model::error::Result;
use crate::model::{Model, ModelBody};
use crate::state::trace::{Sample, Trace};
use crate::state::{Field, State};
use crate::step::wall_motion::steps_without_bodies;
use crate::step::{Canceller, Engine, Later, Pass, PassTimes, Patience};

impl GpuEngine {
    /// [`Engine::step`] for those who wait as they like.
    async fn step_for(
        &mut self,
        patience: Patience,
        state: &mut State,
        taken: u64,
        count: u64,
        samples: &mut Vec<Sample>,
    ) -> Result<u64> {
        if state.bodies.is_empty() {
            // No thread of the device counts steps then. Walls move.
            self.read_for(patience, &Field::ALL, state).await?;
            steps_without_bodies(state, count);
            GpuEngine::replace_async(self, state).await?;
            return Ok(count);
        }
        let count = self.step_by(patience, taken + 1, count, samples).await?;
        self.download_by(patience, Field::Stats, state).await?;
        let last = state.stats[0].steps.wrapping_sub(1);
        if count > 0 {
            state.params.deform(last);
        }
        Ok(count)
    }

    /// [`Engine::read`] for those who wait as they like.
    async fn read_for(
        &self,
        patience: Patience,
        fields: &[Field],
        state: &mut State,
    ) -> Result<()> {
        for &field in fields {
            self.download_by(patience, field, state).await?;
        }
        Ok(())
    }

    async fn start_again(&mut self, state: &State) -> Result<()> {
        let canceller = std::mem::take(&mut self.canceller);
        let context = self.context().clone();
        *self = GpuEngine::with_law_async(&context, state, self.law.as_deref()).await?;
        self.canceller = canceller;
        Ok(())
    }
}

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
        pollster::block_on(self.step_for(Patience::Block, state, taken, count, samples))
    }

    fn step_async<'a>(
        &'a mut self,
        state: &'a mut State,
        taken: u64,
        count: u64,
        samples: &'a mut Vec<Sample>,
    ) -> Later<'a, u64> {
        Box::pin(self.step_for(Patience::Yield, state, taken, count, samples))
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

    fn set_canceller(&mut self, canceller: Canceller) {
        self.canceller = canceller;
    }

    fn set_trace(&mut self, trace: Trace, state: &State) {
        GpuEngine::set_trace(self, &trace, state);
    }

    fn read(&mut self, fields: &[Field], state: &mut State) -> Result<()> {
        pollster::block_on(self.read_for(Patience::Block, fields, state))
    }

    fn read_async<'a>(&'a mut self, fields: &'a [Field], state: &'a mut State) -> Later<'a, ()> {
        Box::pin(self.read_for(Patience::Yield, fields, state))
    }

    fn read_body(&mut self, body: usize, state: &mut State) -> Result<()> {
        pollster::block_on(self.download_body(Patience::Block, body, state))
    }

    fn read_body_async<'a>(&'a mut self, body: usize, state: &'a mut State) -> Later<'a, ()> {
        Box::pin(self.download_body(Patience::Yield, body, state))
    }

    fn write_bodies(&mut self, bodies: Range<usize>, state: &State) {
        self.upload_bodies(bodies, state);
    }

    fn append(
        &mut self,
        model: &Model,
        bodies: Vec<(u64, ModelBody)>,
        state: &mut State,
    ) -> Result<()> {
        pollster::block_on(self.append_by(Patience::Block, model, bodies, state))
    }

    fn append_async<'a>(
        &'a mut self,
        model: &'a Model,
        bodies: Vec<(u64, ModelBody)>,
        state: &'a mut State,
    ) -> Later<'a, ()> {
        Box::pin(self.append_by(Patience::Yield, model, bodies, state))
    }

    fn remove(&mut self, bodies: &[u32], state: &mut State) -> Result<()> {
        pollster::block_on(self.remove_by(Patience::Block, bodies, state))
    }

    fn remove_async<'a>(&'a mut self, bodies: &'a [u32], state: &'a mut State) -> Later<'a, ()> {
        Box::pin(self.remove_by(Patience::Yield, bodies, state))
    }

    fn write(&mut self, fields: &[Field], state: &State) {
        for &field in fields {
            self.upload(field, state);
        }
    }

    fn write_actions(&mut self, state: &State) -> Result<()> {
        self.upload_actions(state)
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

    fn replace_async<'a>(&'a mut self, state: &'a State) -> Later<'a, ()> {
        Box::pin(GpuEngine::replace_async(self, state))
    }

    fn restart(&mut self, state: &State) -> Result<()> {
        pollster::block_on(self.start_again(state))
    }

    fn restart_async<'a>(&'a mut self, state: &'a State) -> Later<'a, ()> {
        Box::pin(self.start_again(state))
    }

    fn memory(&self, _: &State) -> u64 {
        self.size()
    }

    fn as_gpu(&self) -> Option<&GpuEngine> {
        Some(self)
    }
}
