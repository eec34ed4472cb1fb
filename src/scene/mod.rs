//! What the user writes, made ready.

pub mod fill;
pub mod overlap;
pub mod shapes;
