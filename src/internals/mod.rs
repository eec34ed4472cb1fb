//! Items for the program, the tests and the benchmarks, besides the interface. They may change in any version.

pub mod bench;
pub mod compare;

/// Bonds.
pub mod bond {
    pub use crate::model::bond::*;
    pub use crate::model::bonds::Bonds;
}
/// The engine of a cluster.
pub mod cluster {
    pub use crate::step::cluster::*;
}
/// Clumps: mass properties, and shapes made of spheres.
pub mod clump {
    pub use crate::model::clump::*;
}
/// The CPU engine.
pub mod cpu {
    pub use crate::step::cpu::*;
}
/// Heat of bodies and walls.
pub mod heat {
    pub use crate::model::heat::*;
}
/// Grids, rotations, rounding.
pub mod math {
    pub use crate::math::*;
}
/// The force by which a user pulls a body.
pub mod pull {
    pub use crate::model::pull::*;
}
/// The reference engine.
pub mod reference {
    pub use crate::step::reference::*;
}
