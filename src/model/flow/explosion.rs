use std::ops::Range;

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
    ///
    /// `earlier` (s) is the simulated time less the number of steps times the time step: 0 unless the time step has changed.
    pub(crate) fn step(&self, earlier: f64, time_step: f64) -> u64 {
        ((self.at - earlier) / time_step).round().max(0.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explosion_happens_before_the_nearest_step() {
        let at = |at: f64, earlier: f64| {
            let explosion = Explosion {
                body: 0,
                at,
                speed: 0.0,
                fragments: 0..1,
            };
            explosion.step(earlier, 0.1)
        };
        assert_eq!((at(0.74, 0.0), at(0.76, 0.0)), (7, 8));
        // After the time step has changed; and what was due by then comes at once.
        assert_eq!((at(1.0, 0.4), at(1.0, -0.4), at(0.3, 0.5)), (6, 14, 0));
    }
}
