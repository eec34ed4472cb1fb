//! The CPU engine as a simulation sees it.

use std::ops::Range;

use super::CpuEngine;
use crate::math::parallel::{Threads, thread_count};
use crate::model::error::{Error, Result};
use crate::model::{Model, ModelBody};
use crate::state::trace::{Sample, Trace};
use crate::state::{Field, State};
use crate::step::{Canceller, Engine, PassTimes};

impl CpuEngine {
    /// An engine on `threads` threads of its own, on all cores if `None`.
    ///
    /// # Errors
    /// If the threads cannot be started, or `model` has a custom contact law, which is for the GPU.
    pub fn new(model: &Model, threads: Option<usize>) -> Result<CpuEngine> {
        model.contact.law.check_on_cpu()?;
        CpuEngine::on(threads)
    }

    /// An engine on so many threads of its own, on all cores if `None`.
    pub(in crate::step) fn on(threads: Option<usize>) -> Result<CpuEngine> {
        let threads = Threads::start(threads).map_err(|reason| Error::Threads {
            threads: threads.unwrap_or(0),
            reason,
        })?;
        tracing::info!(threads = threads.count(), "CPU engine");
        Ok(CpuEngine {
            threads: Some(threads),
            ..CpuEngine::default()
        })
    }

    /// Number of its threads.
    pub(in crate::step) fn thread_count(&self) -> usize {
        self.threads
            .as_ref()
            .map_or_else(thread_count, Threads::count)
    }

    /// Has `work` done on the threads of the engine.
    pub(in crate::step) fn on_threads<T: Send>(
        &mut self,
        work: impl FnOnce(&mut CpuEngine) -> T + Send,
    ) -> T {
        let Some(threads) = self.threads.take() else {
            return work(self);
        };
        let result = threads.run(|| work(self));
        self.threads = Some(threads);
        result
    }
}

impl Engine for CpuEngine {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> String {
        match self.thread_count() {
            1 => "CPU, 1 thread".to_owned(),
            threads => format!("CPU, {threads} threads"),
        }
    }

    fn step(
        &mut self,
        state: &mut State,
        taken: u64,
        count: u64,
        samples: &mut Vec<Sample>,
    ) -> Result<u64> {
        Ok(self.on_threads(|engine| match engine.trace.take() {
            None => engine.steps_with_histories(state, count, None),
            Some(trace) => {
                let mut after = |state: &State, step| trace.sample(state, taken + step, samples);
                let count = engine.steps_with_histories(state, count, Some(&mut after));
                engine.trace = Some(trace);
                count
            }
        }))
    }

    fn profile(&mut self, state: &mut State, _: u64, count: u64) -> Result<Option<PassTimes>> {
        Ok(self.on_threads(|engine| CpuEngine::profile(engine, state, count)))
    }

    fn set_canceller(&mut self, canceller: Canceller) {
        self.canceller = canceller;
    }

    fn set_trace(&mut self, trace: Trace, _: &State) {
        self.trace = Some(trace);
    }

    fn read(&mut self, fields: &[Field], state: &mut State) -> Result<()> {
        if fields.contains(&Field::History) {
            self.on_threads(|engine| engine.decomposition.give_histories(state));
        }
        Ok(())
    }

    fn write_bodies(&mut self, _: Range<usize>, _: &State) {
        self.decomposition.begin_anew();
    }

    fn write(&mut self, fields: &[Field], _: &State) {
        let lists = [Field::NeighbourStarts, Field::Neighbours, Field::History];
        if lists.iter().any(|field| fields.contains(field)) {
            self.forget();
        }
        self.decomposition.begin_anew();
    }

    fn write_actions(&mut self, _: &State) -> Result<()> {
        self.decomposition.begin_anew();
        Ok(())
    }

    fn write_params(&mut self, _: &State) {
        self.decomposition.begin_anew();
    }

    fn write_stale(&mut self, _: &State) {
        self.decomposition.begin_anew();
    }

    fn append(
        &mut self,
        model: &Model,
        bodies: Vec<(u64, ModelBody)>,
        state: &mut State,
    ) -> Result<()> {
        state.extend(model, bodies);
        self.decomposition.begin_anew();
        Ok(())
    }

    fn remove(&mut self, bodies: &[u32], state: &mut State) -> Result<()> {
        self.on_threads(|engine| engine.decomposition.write_back(state));
        state.remove(bodies);
        Ok(())
    }

    fn replace(&mut self, _: &State) -> Result<()> {
        self.forget();
        Ok(())
    }

    fn restart(&mut self, _: &State) -> Result<()> {
        self.forget();
        Ok(())
    }

    fn memory(&self, state: &State) -> u64 {
        state.size()
    }
}
