//! Placing of bodies: fills, dense packings, and overlaps of bodies that were placed.

pub mod fill;
pub(crate) mod lattice;
#[doc(hidden)]
pub mod overlap;
pub mod pack;
