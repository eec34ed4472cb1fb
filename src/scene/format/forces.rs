//! Groups of bodies, and what acts on bodies besides contacts, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::apply;

use super::super::strict::{given, keywords, objects};
use super::{Vector, origin};

/// A group of bodies, which bodies, fills and inlets name.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Group", deny_unknown_fields)]
pub struct Group {
    /// Acceleration of gravity in it, m/s². Default: that of the scene.
    pub gravity: Option<Vector>,
    /// Names of groups whose bodies pass through those of this group without contact; its own may be one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignores: Vec<String>,
    /// Drag of its bodies. Default: that of the scene.
    pub drag: Option<Drag>,
}

/// Drag in proportion to velocities.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Drag", deny_unknown_fields)]
pub struct Drag {
    /// Force on a body over its velocity, N s/m. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub linear: f64,
    /// Torque over angular velocity, N m s. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub angular: f64,
}

impl Drag {
    pub(crate) fn is_none(&self) -> bool {
        *self == Drag::default()
    }
}

/// A spring between two bodies, or a body and a point of the world, with a dashpot along it.
///
/// It pulls its ends together with the force k (d - L) + c ḋ, where d is their distance. It passes through bodies.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Spring", deny_unknown_fields)]
pub struct Spring {
    /// Name. Default: "spring 0" and so on.
    pub name: Option<String>,
    /// First end of the spring.
    pub from: End,
    /// Second end of the spring. One of the two is at a body.
    pub to: End,
    /// Stiffness k, N/m.
    #[schemars(range(min = 0))]
    pub stiffness: f64,
    /// Dashpot c, N s/m. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub damping: f64,
    /// Rest length L, m. Default: the distance between its ends at the start.
    #[schemars(range(min = 0))]
    pub rest_length: Option<f64>,
    /// Whether it only pulls, as a rope does. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub slack: bool,
}

/// An end of a spring.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "End", deny_unknown_fields)]
pub struct End {
    /// Name of a body. Default: none; the end is then a fixed point of the world.
    pub body: Option<String>,
    /// The point, m: in the own axes of the body's shape, or in the world. Default: 0, 0, 0.
    #[serde(default = "origin")]
    pub point: Vector,
}

/// A force and a torque on a body.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Force", deny_unknown_fields)]
pub struct Force {
    /// Name. Default: "force 0" and so on.
    pub name: Option<String>,
    /// Name of the body.
    pub body: String,
    /// The point of the body at which the force acts, in the own axes of its shape, m. Default: its centre of
    /// mass.
    pub point: Option<Vector>,
    /// Force, N. Default: 0, 0, 0.
    #[serde(default = "origin")]
    pub force: Vector,
    /// Torque in addition to that of the force, N m. Default: 0, 0, 0.
    #[serde(default = "origin")]
    pub torque: Vector,
    /// The axes in which force and torque are given.
    #[serde(default)]
    pub axes: Axes,
    /// Time at which it starts to act, s. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub start: f64,
    /// Time at which it ends, s. Default: the end of the run.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub end: Option<f64>,
    /// A key of the window, one character: the force acts only while the key is down; without a window, never. Default: none;
    /// the force always acts.
    pub key: Option<String>,
}

/// The axes in which a force is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Axes", rename_all = "kebab-case")]
pub enum Axes {
    /// Axes of the world.
    #[default]
    World,
    /// The own axes of the body's shape: the force turns with it.
    Body,
}

/// Water below a surface.
///
/// Buoyancy on a sphere is the weight of the water that its part below the surface displaces (where spheres of a body
/// overlap, the overlap counts once). Drag is -1/2 C rho pi r² |v| v, Stokes' -6 pi mu r v and the torque
/// -8 pi mu r³ omega, each times the fraction of its volume that is below. The surface is taken as flat across a
/// sphere; the water does not move, and has no inertia.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Water", deny_unknown_fields)]
pub struct Water {
    /// Height of the surface at rest, m. Default: 0.
    #[serde(default)]
    pub level: f64,
    /// Density rho, kg/m³. Default: 1000.
    #[serde(default = "of_water")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub density: f64,
    /// Drag coefficient C of a sphere. Default: 0.5.
    #[serde(default = "half")]
    #[schemars(range(min = 0))]
    pub drag_coefficient: f64,
    /// Viscosity mu, Pa s. Default: 0.001.
    #[serde(default = "thin")]
    #[schemars(range(min = 0))]
    pub viscosity: f64,
    /// Wave trains that run over the surface, four at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    pub waves: Vec<Wave>,
}

fn of_water() -> f64 {
    1000.0
}

fn half() -> f64 {
    0.5
}

fn thin() -> f64 {
    1e-3
}

/// A wave train.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Wave", deny_unknown_fields)]
pub struct Wave {
    /// Horizontal direction in which it runs, of any length but 0. Default: 1, 0, 0.
    #[serde(default = "along_x")]
    pub direction: Vector,
    /// Wavelength, from crest to crest, m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub wavelength: f64,
    /// Amplitude: half of the height from trough to crest, m.
    #[schemars(range(min = 0))]
    pub amplitude: f64,
    /// Time from crest to crest, s. Default: that of waves on deep water, sqrt(2 pi wavelength/|g|).
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub period: Option<f64>,
}

pub(super) fn along_x() -> Vector {
    super::List([1.0, 0.0, 0.0])
}

/// Conditions for bodies to fall asleep and to wake. A sleeping body does not move, and contacts among sleepers are not
/// evaluated again until something near them is awake.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Sleep", deny_unknown_fields)]
pub struct Sleep {
    /// Speed up to which a body is at rest, m/s: that of its centre plus that of its surface about the centre. Default:
    /// sqrt(|g| R)/100, R the smallest radius; three times that under the normal model "impulse".
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub speed: Option<f64>,
    /// Time for which it must be at rest to fall asleep, s. Default: 5 sqrt(R/|g|).
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub after: Option<f64>,
    /// It wakes when forces would accelerate it by more than this, m/s². Default: |g|/20; |g|/2 under
    /// the normal model "impulse".
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub wake: Option<f64>,
}

objects! {
    Group: "an object such as {\"ignores\": [\"ghosts\"]}",
    Drag: "an object such as {\"linear\": 0.1, \"angular\": 0.01}",
    Spring: "an object such as {\"from\": {\"body\": \"bob\"}, \"to\": {\"point\": [0, 1, 0]}, \"stiffness\": 100}",
    End: "an object such as {\"body\": \"bob\", \"point\": [0, 0.1, 0]}",
    Force: "an object such as {\"body\": \"cart\", \"force\": [1, 0, 0]}",
    Water: "an object such as {\"level\": 0.5, \"density\": 1000}",
    Wave: "an object such as {\"length\": 2, \"amplitude\": 0.1}",
    Sleep: "an object such as {\"speed\": 0.001, \"after\": 0.5}",
}

keywords! {
    Axes: "\"world\" or \"body\"",
}
