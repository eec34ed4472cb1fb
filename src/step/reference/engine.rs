//! The reference as a simulation sees it.

use super::{Real, State};
use crate::model::Model;
use crate::model::error::Result;
use crate::state::State as Buffers;
use crate::state::trace::{Sample, Trace};
use crate::step::{Canceller, Engine, PassTimes};

/// The reference as an engine.
///
/// The host has its state as the other engines have it, in single precision. It is read anew before the first of
/// some steps: a number that the host has not changed keeps the precision that it has here.
#[derive(Debug)]
pub struct ReferenceEngine<R: Real> {
    own: State<R>,
    trace: Option<Trace>,
    canceller: Canceller,
}

impl<R: Real> ReferenceEngine<R> {
    /// An engine for a model that starts as `state`.
    ///
    /// # Errors
    /// If the contact law is a custom one, which is for the GPU.
    pub fn new(model: &Model, state: &Buffers) -> Result<ReferenceEngine<R>> {
        model.contact.law.check_on_cpu()?;
        tracing::info!(precision = R::PRECISION, "reference engine");
        Ok(ReferenceEngine {
            own: State::new(model, state),
            trace: None,
            canceller: Canceller::default(),
        })
    }
}

impl<R: Real> Engine for ReferenceEngine<R> {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn device(&self) -> String {
        format!("CPU, 1 thread, {} precision", R::PRECISION)
    }

    fn step(
        &mut self,
        state: &mut Buffers,
        taken: u64,
        count: u64,
        samples: &mut Vec<Sample>,
    ) -> Result<u64> {
        let own = &mut self.own;
        own.take(state);
        let mut steps = 0;
        while steps < count && !own.is_lost() && !(steps > 0 && self.canceller.is_cancelled()) {
            own.step();
            steps += 1;
            if let Some(trace) = &self.trace
                && (taken + steps).is_multiple_of(trace.every)
            {
                own.give(state);
                trace.sample(state, taken + steps, samples);
            }
        }
        own.give(state);
        Ok(steps)
    }

    /// Nobody times the reference: it has no clock.
    fn profile(
        &mut self,
        state: &mut Buffers,
        taken: u64,
        count: u64,
    ) -> Result<Option<PassTimes>> {
        self.step(state, taken, count, &mut Vec::new())?;
        Ok(None)
    }

    fn set_canceller(&mut self, canceller: Canceller) {
        self.canceller = canceller;
    }

    fn set_trace(&mut self, trace: Trace, _: &Buffers) {
        self.trace = Some(trace);
    }

    fn memory(&self, state: &Buffers) -> u64 {
        state.size()
    }
}
