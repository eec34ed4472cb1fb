use std::ops::Range;

use crate::model::steps::StepTimes;

/// An explosion, in which a body bursts into fragments.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Explosion {
    /// The id of the body.
    pub body: u64,
    /// Time of the explosion, s; it happens before the nearest step.
    pub at: f64,
    /// Speed with which fragments are pushed outwards, m/s.
    pub speed: f64,
    /// Shapes of the fragments, as indices into [`Model::shapes`](crate::model::Model::shapes). The shape axes of a fragment are
    /// the body frame of the body.
    pub fragments: Range<usize>,
}

impl Explosion {
    /// Number of steps after which the explosion happens.
    pub(crate) fn step(&self, times: StepTimes) -> u64 {
        times.nearest(self.at)
    }
}
