//! Numbers that both engines share: places in grids, rotations, rounding.

pub mod grid;
pub mod rotation;
pub mod rounding;
