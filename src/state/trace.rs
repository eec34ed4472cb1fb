//! Samples of chosen bodies over time.

use crate::state::layout::{Body, Load, SphereLoad};
use crate::state::{Identity, State, load};

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
        if self.is_due(step) {
            let samples_of = |&body| {
                let own = &state.bodies[body as usize];
                Sample::new(
                    state,
                    step,
                    body,
                    own,
                    &state.sphere_loads[state.spheres_of(own)],
                )
            };
            samples.extend(self.bodies.iter().map(samples_of));
        }
    }

    /// Whether samples are taken at the end of a step.
    pub(crate) fn is_due(&self, step: u64) -> bool {
        step.is_multiple_of(self.every)
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

impl Sample {
    /// The sample of a body of `state` by its index, given it and the loads on its spheres, which may be elsewhere.
    pub(crate) fn new(
        state: &State,
        step: u64,
        body: u32,
        own: &Body,
        loads: &[SphereLoad],
    ) -> Sample {
        Sample {
            step,
            body,
            identity: state.identities.at(body as usize),
            state: *own,
            load: load(own, state.members_of(own), loads),
        }
    }
}
