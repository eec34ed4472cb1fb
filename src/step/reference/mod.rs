//! The reference: the passes of a step in plain words, scalar and on one thread, in single or double precision.
//!
//! Each pass is a file with the name of its shader, and the same text in another language; so are the files that
//! passes share. Nothing here is fast, and nothing comes from the engines that are: the fast CPU engine is held to
//! the bits of this one in single precision, and the GPU engine to its numbers.
//!
//! In double precision the formulas and the time step are the same, and the numbers are not rounded but for those
//! that the scene gives to the engines in single precision only: facets of walls and samples of signed distances.
//! Integers for what a run adds up, and rounding as chance has it, are left out there.

mod bin;
mod bonds;
mod contact;
mod contacts;
mod engine;
mod forces;
mod grid;
mod heat;
mod integrate;
mod mirror;
mod neighbours;
mod pose;
mod real;
mod rotation;
mod scan;
mod scatter;
mod state;
mod vector;
mod wall;
mod walls;

pub use engine::ReferenceEngine;
pub use real::Real;
pub use state::State;

use bin::bin;
use bonds::bonds;
use contacts::contacts;
use forces::forces;
use heat::heat;
use integrate::integrate;
use neighbours::neighbours;
use pose::pose;
use scan::scan;
use scatter::scatter;
use walls::walls;

use crate::state::State as Buffers;
use crate::step::Pass;

/// Runs one pass in single precision.
pub fn run(pass: Pass, state: &mut Buffers) {
    let mut own = State::<f32>::of(state);
    own.run(pass);
    own.give(state);
}

/// Runs one step in single precision.
pub fn step(state: &mut Buffers) {
    let mut own = State::<f32>::of(state);
    own.step();
    own.give(state);
}

impl<R: Real> State<R> {
    /// Runs one pass.
    pub fn run(&mut self, pass: Pass) {
        match pass {
            Pass::Pose => pose(self),
            Pass::Bin => bin(self),
            Pass::Scan => scan(self),
            Pass::Scatter => scatter(self),
            Pass::Neighbours => neighbours(self),
            Pass::Contacts => contacts(self),
            Pass::Walls => walls(self),
            Pass::Forces => forces(self),
            Pass::Bonds => bonds(self),
            Pass::Heat => heat(self),
            Pass::Integrate => integrate(self),
        }
    }

    /// Runs one step.
    pub fn step(&mut self) {
        for pass in Pass::ALL {
            if self.is_due(pass) {
                self.run(pass);
            }
        }
    }

    /// Whether a step that has come to `pass` runs it: those that build the neighbour lists only when a sphere may have
    /// moved out of its skin.
    pub fn is_due(&self, pass: Pass) -> bool {
        !pass.builds_lists() || self.stats.rebuilding == 1
    }

    /// Whether a body is lost: no further step means anything.
    pub fn is_lost(&self) -> bool {
        self.stats.runaway != 0
    }
}
