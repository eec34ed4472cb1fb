//! Measures that are taken during a run, and what ends it, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::apply;

use super::super::strict::{given, keywords, objects};
use super::{Interval, List, Region, Vector};

/// Measures that a run with `--out` takes: rows of `measures.csv` with contacts, forces and the measures chosen here, and files
/// of fields. `rockfall measure` computes them from a kept run.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Measure", deny_unknown_fields)]
pub struct Measure {
    /// Interval between measurements. Default: a hundredth of the duration.
    pub every: Option<Interval>,
    /// Mixing, by Lacey's index. Default: it is not measured.
    pub mixing: Option<Mixing>,
    /// The angle of the free surface. Default: it is not measured.
    pub slope: Option<Slope>,
    /// Fields by coarse graining. Default: none.
    pub fields: Option<Fields>,
    /// Residence times of bodies from an inlet to each outlet: their distribution in `residence.csv`, mean and standard deviation
    /// in the summary. Only in a scene with inlets and outlets. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub residence: bool,
    /// Spectra of collisions: `collisions.csv` has the number of contacts that have ended, and the energy that they dissipated, by
    /// impact speed and by dissipated energy. Contacts are followed in every time step, so a run takes several times as long. Default:
    /// false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub collisions: bool,
}

/// Property whose mixing is measured: one of `shape`, `material` and `property`.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Mixing", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["shape"]}, {"required": ["material"]}, {"required": ["property"]}]))]
pub struct Mixing {
    /// Bodies of a shape, of whatever size, among all others.
    pub shape: Option<String>,
    /// Bodies whose first sphere is of a material, among all others.
    pub material: Option<String>,
    /// A number that each body has.
    pub property: Option<Property>,
    /// Side of the cells that are compared, m. Default: four mean diameters.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub cell: Option<f64>,
}

/// A number that bodies have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Property", rename_all = "kebab-case")]
pub enum Property {
    /// Mass.
    Mass,
    /// Volume of the union of the spheres.
    Volume,
}

/// The free surface whose angle is measured: a line through the tops of columns along a direction.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Slope", deny_unknown_fields)]
pub struct Slope {
    /// Upward direction, of any length but zero. Default: 0, 1, 0.
    pub up: Option<Vector>,
    /// The direction along which it may rise, of any length but zero, and not that of `up`.
    pub along: Vector,
}

/// Fields on a grid: density, solid fraction, velocity, granular temperature, kinetic and contact stress, spread out by a Gaussian and
/// averaged over time. Files `fields/fields_STEP.vti` and `.npz`.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Fields", deny_unknown_fields)]
pub struct Fields {
    /// Numbers of cells along x, y and z. A single cell averages over its axis.
    pub cells: List<u32, 3>,
    /// Box that the cells divide.
    pub region: Region,
    /// Width of the Gaussian, m: at least the longest side of a cell.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub width: f64,
    /// Interval between files, each an average over the measurements since the one before. A run that resumes from a
    /// checkpoint starts a new average there. Default: a tenth of the duration.
    pub every: Option<Interval>,
}

/// Conditions, any of which ends a run before its duration. They are checked every 100 time steps.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "RunUntil", deny_unknown_fields)]
pub struct RunUntil {
    /// No body has been faster than this, m/s, for a while: twice the time in which gravity would make it so fast. Default: no speed
    /// ends a run.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub speed_below: Option<f64>,
    /// All bodies together have had less kinetic energy than this, J, for such a while. Default: no energy ends a run.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub kinetic_energy_below: Option<f64>,
    /// Outlets have taken this mass, kg. Default: no mass ends a run.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub mass_out: Option<f64>,
    /// The power of a wall has become steady. Default: no wall ends a run.
    pub steady: Option<Steady>,
    /// None of these counts before this time, s. Default: 0.
    #[schemars(range(min = 0))]
    pub not_before: Option<f64>,
}

/// A wall whose mean power is the same in one window of time as in the one before; for a drum that turns steadily, its torque.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Steady", deny_unknown_fields)]
pub struct Steady {
    /// Name of a wall that moves.
    pub wall: String,
    /// Length of a window, s.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub window: f64,
    /// Largest difference of the two, as a fraction of the second.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub within: f64,
}

objects! {
    Measure: "an object such as {\"every\": {\"seconds\": 0.01}, \"slope\": {\"along\": [1, 0, 0]}}",
    Mixing: "an object such as {\"shape\": \"ball\"}",
    Slope: "an object such as {\"up\": [0, 1, 0], \"along\": [1, 0, 0]}",
    Fields: "an object such as {\"cells\": [20, 20, 1], \"region\": {\"min\": [-1, 0, -1], \"max\": [1, 2, 1]}, \"width\": 0.1}",
    RunUntil: "an object such as {\"kinetic_energy_below\": 1e-6}",
    Steady: "an object such as {\"wall\": \"drum\", \"window\": 1, \"within\": 0.02}",
}

keywords! {
    Property: "\"mass\" or \"volume\"",
}
