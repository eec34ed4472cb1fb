//! Numbers that both engines share: places in grids, rotations, rounding; and work on several threads.

pub mod grid;
pub mod parallel;
pub mod rotation;
pub mod rounding;
