//! Placing of bodies: fills, dense packings, and overlaps of bodies that were placed.

pub mod fill;
#[doc(hidden)]
pub mod overlap;
pub mod pack;
