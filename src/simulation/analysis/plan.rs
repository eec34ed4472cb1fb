//! Which measures are taken, as columns of a table over time.

use std::f64::consts::PI;

use glam::DVec3;

use super::mixing::Mixing;
use super::structure::Structure;
use super::surface::Slope;
use super::{Grain, Moment};
use crate::model::Model;

/// Property whose mixing is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Property {
    /// Whether a body is of one of some shapes: whether each shape of the model is.
    Shapes(Vec<bool>),
    /// Whether its first sphere is of a material, by its index.
    Material(usize),
    /// Its mass.
    Mass,
    /// Its volume.
    Volume,
}

impl Property {
    /// Whether a body is of a shape of a name, of whatever size.
    pub fn shapes_named(model: &Model, name: &str) -> Property {
        Property::Shapes(
            model
                .shapes
                .iter()
                .map(|shape| shape.name == name)
                .collect(),
        )
    }

    /// Value of the property for one body.
    pub fn of(&self, grain: &Grain) -> f64 {
        match self {
            Property::Shapes(shapes) => f64::from(u8::from(shapes.get(grain.shape) == Some(&true))),
            Property::Material(material) => f64::from(u8::from(grain.material == *material)),
            Property::Mass => grain.mass,
            Property::Volume => grain.volume,
        }
    }
}

/// Mixing, as it is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MixingPlan {
    /// Property that is mixed.
    pub property: Property,
    /// Side of the cells, m; `None` for four mean diameters.
    pub side: Option<f64>,
}

/// A slope, as it is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlopePlan {
    /// Upwards.
    pub up: DVec3,
    /// The direction in which the surface may rise.
    pub along: DVec3,
}

/// The measures that are taken of a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// How well something is mixed.
    pub mixing: Option<MixingPlan>,
    /// The slope of the free surface.
    pub slope: Option<SlopePlan>,
}

/// Mean diameters of a cell in which mixing is measured.
const CELL: f64 = 4.0;
/// Bodies that such a cell must have to count.
pub const FEWEST: usize = 5;
/// Columns into which a free surface is cut.
const COLUMNS: usize = 20;
/// The part of them on each side that does not count.
const LEFT_OUT: f64 = 0.2;

impl Plan {
    /// Names of the columns, with their units.
    pub fn columns(&self) -> Vec<&'static str> {
        let mut columns = vec![
            "time_s",
            "bodies",
            "mass_kg",
            "mean_speed_m_per_s",
            "contacts",
            "coordination",
            "coordination_without_rattlers",
            "rattlers",
            "clusters",
            "largest_cluster",
            "mean_force_N",
            "largest_force_N",
            "fabric_anisotropy",
        ];
        if self.mixing.is_some() {
            columns.extend(["lacey_index", "mixing_variance", "segregation"]);
        }
        if self.slope.is_some() {
            columns.push("slope_degrees");
        }
        columns
    }

    /// The numbers of a moment, in the order of the columns; NaN where there is none: of contacts that are not known, or of a mixture
    /// of one kind.
    pub fn values(&self, moment: &Moment) -> Vec<f64> {
        let (mut bodies, mut mass, mut speed) = (0.0, 0.0, 0.0);
        for grain in moment.free() {
            bodies += 1.0;
            mass += grain.mass;
            speed += grain.velocity.length();
        }
        let mut values = vec![moment.time, bodies, mass, speed / bodies];
        match moment.contacts.as_ref().map(Structure::new) {
            Some(structure) => values.extend([
                structure.contacts as f64,
                structure.coordination,
                structure.coordination_without_rattlers,
                structure.rattlers as f64,
                structure.clusters.len() as f64,
                structure.clusters.first().copied().unwrap_or(0) as f64,
                structure.mean_force,
                structure.largest_force,
                structure.anisotropy,
            ]),
            None => values.extend([f64::NAN; 9]),
        }
        if let Some(plan) = &self.mixing {
            let side = plan.side.unwrap_or_else(|| CELL * mean_diameter(moment));
            let property = |grain: &Grain| plan.property.of(grain);
            match Mixing::new(moment, side, FEWEST, property) {
                Some(mixing) => {
                    values.extend([mixing.lacey(), mixing.variance, mixing.segregation()]);
                }
                None => values.extend([f64::NAN; 3]),
            }
        }
        if let Some(plan) = &self.slope {
            let slope = Slope::new(moment, plan.up, plan.along, COLUMNS, LEFT_OUT);
            values.push(slope.map_or(f64::NAN, |slope| slope.angle.to_degrees()));
        }
        values
    }
}

/// The diameter of a ball of the mean volume of the bodies that are not fixed, m.
pub fn mean_diameter(moment: &Moment) -> f64 {
    let (count, volume) = moment.free().fold((0.0, 0.0), |(count, sum), grain| {
        (count + 1.0, sum + grain.volume)
    });
    libm::cbrt(6.0 * volume / count / PI)
}
