//! Explosions, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::strict::objects;

/// A body that bursts at a given time into fragments, clumps of neighbouring spheres.
///
/// The mass of the body is divided in proportion to the volume of the spheres. Each fragment keeps the motion that it had in the
/// body, and is pushed outwards from the common centre of mass; the pushes change neither the total momentum nor the total
/// angular momentum.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Explosion", deny_unknown_fields)]
pub struct Explosion {
    /// Name of the body.
    pub body: String,
    /// Time of the burst, s; it happens before the nearest step.
    #[schemars(range(min = 0))]
    pub at: f64,
    /// The fragments, two or more.
    pub fragments: Division,
    /// Speed of the push outwards, m/s.
    #[schemars(range(min = 0))]
    pub speed: f64,
    /// Seed of the division into fragments. Default: 0.
    #[serde(default)]
    pub seed: u64,
}

/// Fragments of a body that bursts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Division {
    /// Their number, no more than the body has spheres; which spheres they have is random.
    Random(#[schemars(range(min = 2))] u64),
    /// The spheres of each, by their places in the shape, from 0; each sphere of the shape once.
    Given(#[schemars(length(min = 2))] Vec<Vec<usize>>),
}

objects! {
    Explosion: "an object such as {\"body\": \"shell\", \"at\": 1.5, \"fragments\": 50, \"speed\": 3}",
}
