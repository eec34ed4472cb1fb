//! Where bodies are placed: fills, and the overlaps of what was placed.

pub mod fill;
#[doc(hidden)]
pub mod overlap;
pub mod pack;
