//! Places of a [`State`] that hold the quantities of bodies.

use super::layout::BodyHeat;
use super::population::{Mould, inverse_capacity};
use super::{Field, State};
use crate::model::ModelBody;
use crate::model::quantity::Quantities;

/// The buffers that have them.
pub(crate) const BUFFERS: [Field; 1] = [Field::BodyHeat];

impl State {
    /// The quantities of a body, as far as the scene has them.
    pub fn quantities(&self, body: usize) -> Quantities<Option<f64>> {
        Quantities {
            temperature: self.body_heat.get(body).map(BodyHeat::exact),
        }
    }

    /// Adds those of a body that comes in, at the end.
    pub(super) fn push_quantities(&mut self, mould: &Mould, body: &ModelBody) {
        if self.params.heat == 1 {
            self.body_heat.push(BodyHeat {
                temperature: body.quantities.temperature as f32,
                inverse_capacity: inverse_capacity(mould.heat_capacity, body.fixed),
                ..BodyHeat::default()
            });
        }
    }
}
