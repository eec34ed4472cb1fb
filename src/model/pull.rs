//! The spring with which the mouse pulls a body in the window.

use glam::DVec3;

/// A spring that pulls a body. The energy balance does not count its work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pull {
    /// Index of the body.
    pub body: u32,
    /// The point of the body that is pulled, in its principal frame, m.
    pub point: DVec3,
    /// The point of the world towards which it is pulled, m.
    pub target: DVec3,
    /// Stiffness, N/m.
    pub stiffness: f64,
    /// Damping of the velocity of the point, N s/m.
    pub damping: f64,
}
