//! A step: its passes, the contact law, and the engines that run them.
//!
//! [`Pass::ALL`] lists the passes in their order.

pub mod clock;
pub mod contact;
pub mod cpu;
mod engine;
pub mod geometry;
pub mod gpu;
mod pass;
pub(crate) mod pull;
pub mod wall_load;
pub(crate) mod wall_run;

pub use engine::{Engine, PassTimes};
pub use pass::Pass;
