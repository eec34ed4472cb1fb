//! Placing of bodies: fills, dense packings, and overlaps of bodies that were placed.

mod covered;
pub mod fill;
pub(crate) mod lattice;
pub(crate) mod made;
mod occupied;
#[doc(hidden)]
pub mod overlap;
pub mod pack;
mod random;
pub(crate) mod search;
pub(crate) mod slab;
