//! Plans: which measures are taken of each moment, as columns of a table over time.

use std::f64::consts::PI;

use glam::DVec3;

use super::mixing::Mixing;
use super::structure::Structure;
use super::surface::Slope;
use super::{Grain, Moment};
use crate::model::Model;

/// A property of bodies whose mixing is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Property {
    /// Whether the body has one of some shapes; the list tells it for each shape of the model.
    Shapes(Vec<bool>),
    /// Whether the first sphere of the body is of the material with this index.
    Material(usize),
    /// Mass of the body, kg.
    Mass,
    /// Volume of the body, m³.
    Volume,
}

impl Property {
    /// Whether a body has a shape of this name, of whatever size.
    pub fn shapes_named(model: &Model, name: &str) -> Property {
        Property::Shapes(
            model
                .shapes
                .iter()
                .map(|shape| shape.name == name)
                .collect(),
        )
    }

    /// The property of a name: `mass`, `volume`, or a shape or a material of the model.
    ///
    /// # Errors
    /// A sentence, if nothing has that name.
    pub fn named(model: &Model, name: &str) -> Result<Property, String> {
        let is_shape = model.shapes.iter().any(|shape| shape.name == name);
        let material = || model.materials.iter().position(|own| own == name);
        let property = match name {
            "mass" => Some(Property::Mass),
            "volume" => Some(Property::Volume),
            _ if is_shape => Some(Property::shapes_named(model, name)),
            _ => material().map(Property::Material),
        };
        property.ok_or_else(|| {
            let shapes = model.shapes.iter().map(|shape| shape.name.as_str());
            let materials = model.materials.iter().map(String::as_str);
            let mut names: Vec<&str> = shapes.chain(materials).collect();
            names.dedup();
            format!(
                "found {name:?}, expected mass, volume, or a shape or material of the scene: {}",
                names.join(", ")
            )
        })
    }

    /// Value of the property for one body; 1 or 0 for a property that holds or does not.
    pub fn of(&self, grain: &Grain) -> f64 {
        match self {
            Property::Shapes(shapes) => f64::from(u8::from(shapes.get(grain.shape) == Some(&true))),
            Property::Material(material) => f64::from(u8::from(grain.material == *material)),
            Property::Mass => grain.mass,
            Property::Volume => grain.volume,
        }
    }
}

/// Settings for a measure of mixing.
#[derive(Clone, Debug, PartialEq)]
pub struct MixingPlan {
    /// The property whose mixing is measured.
    pub property: Property,
    /// Side of the cells, m; `None` for four times the [`mean_diameter`].
    pub side: Option<f64>,
}

/// Settings for a measure of the slope of a free surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlopePlan {
    /// Direction that points up; of any length.
    pub up: DVec3,
    /// Direction along which a rising slope is positive; of any length.
    pub along: DVec3,
}

/// The measures to take of a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Mixing, if it is measured.
    pub mixing: Option<MixingPlan>,
    /// Slope of the free surface, if it is measured.
    pub slope: Option<SlopePlan>,
}

/// Side of a cell for mixing, in mean diameters.
const CELL: f64 = 4.0;
/// Least number of bodies in a cell that counts for mixing.
pub const FEWEST: usize = 5;
/// Number of columns across a free surface.
const COLUMNS: usize = 20;
/// Fraction of the columns on each side that does not count for a slope.
const LEFT_OUT: f64 = 0.2;

impl Plan {
    /// Names of the columns of the table, with their units.
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

    /// Measures a moment; one number for each column, in the order of [`Plan::columns`].
    ///
    /// A number is NaN where there is none, as for contacts that are not known or a mixture of one kind.
    pub fn values(&self, moment: &Moment) -> Vec<f64> {
        self.values_with(moment, moment.contacts.as_ref().map(Structure::new))
    }

    /// [`Plan::values`] of a moment whose contacts have this structure.
    pub(super) fn values_with(&self, moment: &Moment, structure: Option<Structure>) -> Vec<f64> {
        let (mut bodies, mut mass, mut speed) = (0.0, 0.0, 0.0);
        for grain in moment.free() {
            bodies += 1.0;
            mass += grain.mass;
            speed += grain.velocity.length();
        }
        let mut values = vec![moment.time, bodies, mass, speed / bodies];
        match structure {
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

/// Diameter of a ball that has the mean volume of the bodies that are not fixed, m.
pub fn mean_diameter(moment: &Moment) -> f64 {
    let (count, volume) = moment.free().fold((0.0, 0.0), |(count, sum), grain| {
        (count + 1.0, sum + grain.volume)
    });
    libm::cbrt(6.0 * volume / count / PI)
}
