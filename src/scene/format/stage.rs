//! Stages of a run, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::apply;

use super::super::strict::{Table, given, objects};
use super::{Deform, Motion, Pair, Vector};

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
    /// Motion of walls from its start on, by their names, from where they are then; times count from the start of the stage.
    #[serde(default, skip_serializing_if = "no_motions")]
    pub motions: Table<Motion>,
    /// Parameters of pairs of materials from its start on; values left out stay those of the scene.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<Pair>,
    /// Deformation of the periodic box from its start on. Default: as before; `{}` ends it.
    pub deform: Option<Deform>,
}

fn no_motions(motions: &Table<Motion>) -> bool {
    motions.0.is_empty()
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
    Stage: "an object such as {\"name\": \"open\", \"motions\": {\"gate\": {\"velocity\": [0, 1, 0]}}}",
    Until: "an object such as {\"speed_below\": 0.01}",
}
