//! Bodies that burst under load, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::apply;

use super::super::strict::{given, objects};
use super::Division;

/// Bodies of a shape that burst under load: when the largest contact force, or the energy that their contacts have dissipated,
/// exceeds their strength, the body breaks into fragments, clumps of neighbouring spheres.
///
/// The loads are checked every `look_every`. The force is the largest since the previous check, sampled every fifth step. Mass,
/// momentum and angular momentum are conserved, as in an explosion. Fragments do not burst again.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Breakage", deny_unknown_fields)]
#[schemars(extend(
    "anyOf" = [{"required": ["strength"]}, {"required": ["specific_energy"]}],
    "dependentRequired" = {"reference_diameter": ["weibull_modulus"]},
))]
pub struct Breakage {
    /// Name, which begins its columns of `statistics.csv`. Default: "breakage 0" and so on.
    pub name: Option<String>,
    /// Name of the shape, in all of its sizes.
    pub shape: String,
    /// Contact force at which a body bursts, over the square of its diameter, Pa (Jaeger 1967). The diameter is that of a sphere
    /// of the volume of its spheres.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub strength: Option<f64>,
    /// Energy that its contacts have dissipated when it bursts, over its mass, J/kg.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub specific_energy: Option<f64>,
    /// Weibull modulus m: each body has its strengths times x, with P(below x) = 1 - exp(-x^m). Default: all are equally strong.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub weibull_modulus: Option<f64>,
    /// Diameter of the bodies that have these strengths, m: those of other bodies are multiplied by (diameter / this)^(-3/m), by
    /// Weibull's theory of the weakest link. Default: strengths do not depend on the size.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub reference_diameter: Option<f64>,
    /// The fragments, two or more.
    pub fragments: Division,
    /// Speed of a push outwards, m/s. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub speed: f64,
    /// Seed of the division into fragments, and of the random strengths. Default: 0.
    #[serde(default)]
    pub seed: u64,
}

objects! {
    Breakage: "an object such as {\"shape\": \"lump\", \"strength\": 1e6, \"fragments\": 8}",
}
