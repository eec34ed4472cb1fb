use std::ops::Range;

use glam::{DMat3, DVec3};

use crate::clump::{Clump, MassProperties};
use crate::model::{Model, ModelBody};
use crate::state::{State, body_orientation};

/// A body that bursts into pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Explosion {
    /// The id of the body.
    pub body: u64,
    /// When, s: before the nearest step.
    pub at: f64,
    /// Speed of the push outwards, m/s.
    pub speed: f64,
    /// Shapes of the fragments, as indices into [`Model::shapes`]; the axes in which each was made are the body
    /// frame of the body.
    pub fragments: Range<usize>,
}

impl Explosion {
    /// The number of steps after which it happens; `earlier` is what was simulated before the first of them as if
    /// all were as long, s.
    pub(super) fn step(&self, earlier: f64, time_step: f64) -> u64 {
        ((self.at - earlier) / time_step).round().max(0.0) as u64
    }

    /// What becomes of the body `index`.
    ///
    /// All fragments together have its momentum and, about their centre of mass, its angular momentum: they start as
    /// parts of one rigid body, and are pushed outwards from that centre, all at the same speed less the mean. So
    /// the momenta of the pushes add up to zero, and so do their angular momenta, each of which is parallel to
    /// its arm but for the mean, the arms of which add up to zero.
    pub(super) fn burst(&self, model: &Model, state: &State, index: usize) -> Vec<ModelBody> {
        let body = &state.bodies[index];
        let (place, turn) = (state.position(body), body_orientation(body));
        let fragments = &model.shapes[self.fragments.clone()];
        let whole = fragments
            .iter()
            .map(properties)
            .reduce(|whole, piece| whole.and(&piece))
            .expect("an explosion has fragments");
        let arm = |piece: &Clump| piece.center_of_mass - whole.center_of_mass;
        let outwards = |piece: &Clump| arm(piece).normalize_or_zero();
        let mean: DVec3 = fragments
            .iter()
            .map(|piece| outwards(piece) * (piece.mass / whole.mass))
            .sum();
        let momentum = turn.conjugate() * body.angular_momentum.as_dvec3();
        let spin = whole.inertia.inverse() * momentum;
        let pieces = self.fragments.clone().zip(fragments);
        let bodies = pieces.map(|(shape, piece)| {
            let push = self.speed * (outwards(piece) - mean);
            ModelBody {
                shape,
                position: place + turn * piece.center_of_mass,
                orientation: turn * piece.principal_axes,
                velocity: body.velocity.as_dvec3() + turn * (spin.cross(arm(piece)) + push),
                angular_velocity: turn * spin,
                fixed: false,
                group: state.identities[index].group,
            }
        });
        bodies.collect()
    }
}

/// Mass properties in the axes in which a shape was made.
fn properties(clump: &Clump) -> MassProperties {
    let axes = DMat3::from_quat(clump.principal_axes);
    MassProperties {
        mass: clump.mass,
        center_of_mass: clump.center_of_mass,
        inertia: axes * DMat3::from_diagonal(clump.inertia) * axes.transpose(),
    }
}
