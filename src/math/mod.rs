//! Numbers that both engines share: places in grids, rotations, rounding; work on several threads; and how the shaders
//! get the structs and constants of the host.

pub mod grid;
pub mod parallel;
pub mod rotation;
pub mod rounding;
pub mod wgsl;
