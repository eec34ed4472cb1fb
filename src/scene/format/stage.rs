//! Stages of a run, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::apply;

use super::super::strict::{Table, given, objects};
use super::{Cohesion, Deform, Motion, Pair, Rolling, Vector};

/// A stage of a run: when it ends, and what changes at its start.
///
/// The first stage begins with the run, and is the scene as it stands. Each later one begins when the one before it ends, and
/// keeps what it does not change. The last one lasts until the run ends.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Stage", deny_unknown_fields)]
pub struct Stage {
    /// Name. Default: its place in the list.
    pub name: Option<String>,
    /// It ends after this time, s; with `until` as well, at the latest. Default: it ends when `until` holds.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub duration: Option<f64>,
    /// It ends when this holds. It is checked every 100 time steps, at the earliest after twice the time in which bodies
    /// that fall freely from rest would no longer meet it. Default: it ends after its `duration`.
    pub until: Option<Until>,
    /// Acceleration of gravity from its start on, m/s². Default: as before.
    pub gravity: Option<Vector>,
    /// Names of walls that come at its start; until then they are absent, unless an earlier stage has removed them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_walls: Vec<String>,
    /// Names of walls that go at its start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_walls: Vec<String>,
    /// Flow through inlets from its start on, by their names; `{}` closes an inlet.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    pub inlets: Table<Inflow>,
    /// Motion of walls from its start on, by their names, from where they are then; times count from the start of the stage.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    pub motions: Table<Motion>,
    /// Parameters of materials from its start on, by their names; values left out stay as they were.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    pub materials: Table<MaterialChange>,
    /// Parameters of pairs of materials from its start on; values left out stay as they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<Pair>,
    /// Deformation of the periodic box from its start on. Default: as before; `{}` ends it.
    pub deform: Option<Deform>,
}

/// Flow through an inlet in a stage, by number or by mass as before. With nothing at all the inlet is closed.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Inflow", deny_unknown_fields)]
pub struct Inflow {
    /// Bodies that come in, 1/s. Default: none, unless there is a `mass_rate`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub rate: Option<f64>,
    /// Mass that comes in, kg/s. Default: none, unless there is a `rate`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub mass_rate: Option<f64>,
    /// Time from the start of the stage at which it opens, s. Default: 0.
    #[schemars(range(min = 0))]
    pub start: Option<f64>,
    /// Time from the start of the stage at which it closes, s. Default: it stays open.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub end: Option<f64>,
}

/// New parameters of a material, as under `materials` of the scene; values left out stay as they were.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "MaterialChange", deny_unknown_fields)]
pub struct MaterialChange {
    /// Coefficient of restitution, 0 to 1; it takes the place of a `damping`.
    #[schemars(range(min = 0, max = 1))]
    pub restitution: Option<f64>,
    /// Normal dashpot, N s/m; it takes the place of a `restitution`.
    #[schemars(range(min = 0))]
    pub damping: Option<f64>,
    /// Coefficient of friction.
    #[schemars(range(min = 0))]
    pub friction: Option<f64>,
    /// Coefficient of rolling friction.
    #[schemars(range(min = 0))]
    pub rolling_friction: Option<f64>,
    /// Resistance to rolling.
    pub rolling: Option<Rolling>,
    /// Coefficient of twisting friction.
    #[schemars(range(min = 0))]
    pub twisting_friction: Option<f64>,
    /// Attraction of the surfaces.
    pub cohesion: Option<Cohesion>,
}

/// Condition that ends a stage: one of these.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Until", deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    {"required": ["speed_below"]}, {"required": ["kinetic_energy_below"]}, {"required": ["touched"]},
]))]
pub struct Until {
    /// No body is faster than this, m/s.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub speed_below: Option<f64>,
    /// All bodies together have less kinetic energy than this, J.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub kinetic_energy_below: Option<f64>,
    /// Bodies touch this moving wall, such as a lid that is lowered onto them.
    pub touched: Option<String>,
}

objects! {
    Inflow: "an object such as {\"rate\": 100, \"end\": 0.5}",
    MaterialChange: "an object such as {\"friction\": 0.3}",
    Stage: "an object such as {\"name\": \"open\", \"motions\": {\"gate\": {\"velocity\": [0, 1, 0]}}}",
    Until: "an object such as {\"speed_below\": 0.01}",
}
