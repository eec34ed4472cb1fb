//! Deformation of the periodic box, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::apply;

use super::super::strict::{given, keywords, objects};

/// Deformation of a box that is periodic along all three axes: its sides by a rate of strain or a servo, the box by simple shear.
///
/// Bodies move with it, and their velocities are relative to its mean flow. Such a scene has no walls, fixed bodies, springs,
/// water, inlets, outlets, probes, explosions or sleep, and its normal model is `hooke` or `hertz`.
/// Stress and sides are columns of `statistics.csv`.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Deform", deny_unknown_fields)]
pub struct Deform {
    /// Drive of the sides along x. Default: they stay as they are.
    pub x: Option<Drive>,
    /// Drive of the sides along y. Default: they stay as they are.
    pub y: Option<Drive>,
    /// Drive of the sides along z. Default: they stay as they are.
    pub z: Option<Drive>,
    /// Simple shear. Default: none.
    pub shear: Option<Shear>,
}

impl Deform {
    /// Drives of the sides along each axis.
    pub fn sides(&self) -> [Option<Drive>; 3] {
        [self.x, self.y, self.z]
    }
}

/// Drive of the sides of the box along an axis: a rate of strain, or a stress.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Drive", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["strain_rate"]}, {"required": ["stress"]}]))]
pub struct Drive {
    /// Rate of true strain, 1/s: less than 0 compresses.
    pub strain_rate: Option<f64>,
    /// Normal stress that a servo maintains, Pa; compression is positive. Every 25 steps it sets the rate of strain in
    /// proportion to the error of the stress; where the stress oscillates, it halves its rates until it does not.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub stress: Option<f64>,
    /// Largest rate of strain of the servo, 1/s. Default: 1.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub fastest: Option<f64>,
}

/// Simple shear: bodies flow along one axis, with a speed that grows along another.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Shear", deny_unknown_fields)]
pub struct Shear {
    /// Axis along which bodies flow.
    pub flow: Axis,
    /// Axis along which the speed of the flow grows.
    pub gradient: Axis,
    /// Rate of shear, 1/s.
    pub rate: f64,
}

/// An axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Axis", rename_all = "kebab-case")]
pub enum Axis {
    /// Along x.
    X,
    /// Along y.
    Y,
    /// Along z.
    Z,
}

objects! {
    Deform: "an object such as {\"x\": {\"strain_rate\": -0.1}, \"y\": {\"stress\": 1e4}}",
    Drive: "an object such as {\"strain_rate\": -0.1} or {\"stress\": 1e4}",
    Shear: "an object such as {\"flow\": \"x\", \"gradient\": \"y\", \"rate\": 1}",
}

keywords! {
    Axis: "\"x\", \"y\" or \"z\"",
}
