//! Samples of chosen bodies over time.

use crate::state::layout::{Body, Load};
use crate::state::{Identity, State};

/// Which bodies to sample, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Ids of the bodies; those that are gone are left out.
    pub bodies: Vec<u32>,
    /// A sample is taken at the end of every step whose number, counted from 1, is a multiple of
    /// this.
    pub every: u64,
}

impl Trace {
    /// Adds the samples of `step` to `samples`, if it is due; the bodies of the trace are given by their indices.
    pub(crate) fn sample(&self, state: &State, step: u64, samples: &mut Vec<Sample>) {
        if step.is_multiple_of(self.every) {
            samples.extend(self.bodies.iter().map(|&body| Sample {
                step,
                body,
                identity: state.identities.at(body as usize),
                state: state.bodies[body as usize],
                load: state.load(&state.bodies[body as usize]),
            }));
        }
    }
}

/// A body at the end of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Number of the step, counted from 1: its end is at `step * time_step`.
    pub step: u64,
    /// Index that the body had in that step.
    pub body: u32,
    /// Identity of the body, which a [`Simulation`](crate::Simulation) fills in.
    #[doc(hidden)]
    pub identity: Identity,
    /// Its state at the end of the step.
    pub state: Body,
    /// Load of contacts on it in the step.
    #[doc(hidden)]
    pub load: Load,
}
