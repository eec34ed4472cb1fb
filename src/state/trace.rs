//! Samples of chosen bodies over time.

use crate::state::Identity;
use crate::state::layout::{Body, Load};

/// Which bodies to sample, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Ids of the bodies; those that are gone are left out.
    pub bodies: Vec<u32>,
    /// A sample is taken at the end of every step whose number, counted from 1, is a multiple of
    /// this.
    pub every: u64,
}

/// A body at the end of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Number of the step, counted from 1: its end is at `step * time_step`.
    pub step: u64,
    /// Index that the body had in that step.
    pub body: u32,
    /// Who it is; a [`Simulation`](crate::Simulation) says so.
    pub identity: Identity,
    /// Its state at the end of the step.
    pub state: Body,
    /// What contacts did to it in the step.
    pub load: Load,
}
