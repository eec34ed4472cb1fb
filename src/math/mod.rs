//! Numbers that both engines share: places in grids, rotations, rounding; work on several threads; hashes; how the shaders
//! get the structs and constants of the host; and how numbers are written for people.

pub mod display;
#[cfg(feature = "cpu")]
pub mod each;
#[allow(unsafe_code)]
pub mod grid;
pub mod hash;
pub mod parallel;
pub mod rotation;
pub mod rounding;
pub mod wgsl;
