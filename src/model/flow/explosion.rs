use std::ops::Range;

/// A body that bursts into pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Explosion {
    /// The id of the body.
    pub body: u64,
    /// When, s: before the nearest step.
    pub at: f64,
    /// Speed of the push outwards, m/s.
    pub speed: f64,
    /// Shapes of the fragments, as indices into [`Model::shapes`](crate::model::Model::shapes); the axes in which each was made are the body
    /// frame of the body.
    pub fragments: Range<usize>,
}

impl Explosion {
    /// The number of steps after which it happens; `earlier` is what was simulated before the first of them as if
    /// all were as long, s.
    pub(crate) fn step(&self, earlier: f64, time_step: f64) -> u64 {
        ((self.at - earlier) / time_step).round().max(0.0) as u64
    }
}
