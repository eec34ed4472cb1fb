//! A body that is pulled by a spring, as the mouse does it in the window.

use glam::DVec3;

/// How a body is pulled. Its energy is in no account.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pull {
    /// Index of the body.
    pub body: u32,
    /// The point of the body, in its principal frame, m.
    pub point: DVec3,
    /// The point of the world, m.
    pub target: DVec3,
    /// N/m.
    pub stiffness: f64,
    /// Against the velocity of the point, N s/m.
    pub damping: f64,
}
