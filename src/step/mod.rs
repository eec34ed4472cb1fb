//! A step: its passes, the contact law, and the engines that run them.
//!
//! [`Pass::ALL`] lists the passes in their order.

mod canceller;
pub mod clock;
pub mod contact;
#[cfg(feature = "cpu")]
pub mod cpu;
mod engine;
pub mod geometry;
#[cfg(feature = "gpu")]
pub mod gpu;
mod pass;
pub(crate) mod pull;
pub mod reference;
pub mod wall_load;
pub(crate) mod wall_motion;
pub(crate) mod wall_run;

pub use canceller::Canceller;
pub(crate) use engine::Patience;
pub use engine::{Engine, Later, PassTimes};
pub use pass::Pass;
