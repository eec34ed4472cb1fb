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
    /// Names of groups whose bodies its bodies do not touch, and go right through; its own may be one of them.
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
/// It pulls its ends together by k (d - L) + c ḋ, d the distance between them. It passes through bodies.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Spring", deny_unknown_fields)]
pub struct Spring {
    /// Name. Default: "spring 0" and so on.
    pub name: Option<String>,
    /// Where it starts.
    pub from: End,
    /// Where it ends. One of the two is at a body.
    pub to: End,
    /// Stiffness k, N/m.
    #[schemars(range(min = 0))]
    pub stiffness: f64,
    /// Dashpot c, N s/m. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub damping: f64,
    /// Rest length L, m. Default: the distance of its ends at the start.
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
    /// Name of a body. Default: none, and the end stays in a point of the world.
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
    /// Torque besides that of the force, N m. Default: 0, 0, 0.
    #[serde(default = "origin")]
    pub torque: Vector,
    /// The axes in which force and torque are given.
    #[serde(default)]
    pub axes: Axes,
    /// From when on it acts, s. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub start: f64,
    /// Until when, s. Default: the end of the run.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub end: Option<f64>,
    /// A key of the window, one character: the force acts only while that is down; without a window, never. Default: none,
    /// and it always acts.
    pub key: Option<String>,
}

/// The axes in which a force is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Axes", rename_all = "kebab-case")]
pub enum Axes {
    /// Those of the world.
    #[default]
    World,
    /// The own axes of the body's shape: the force turns with it.
    Body,
}

/// Water below a surface.
///
/// A sphere is pushed up by the weight of the water that the part of it below the surface displaces (of a body whose
/// spheres overlap, the overlap counts once), and dragged by -1/2 C rho pi r² |v| v, by Stokes' -6 pi mu r v and by
/// -8 pi mu r³ omega, each times the part of its volume that is below. The surface is taken as flat across a
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
    /// Trains of waves that run over the surface, four at most.
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

/// A train of waves.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Wave", deny_unknown_fields)]
pub struct Wave {
    /// Where it goes, horizontally; of any length but 0. Default: 1, 0, 0.
    #[serde(default = "along_x")]
    pub direction: Vector,
    /// Wavelength, from crest to crest, m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub wavelength: f64,
    /// Amplitude: half of the way from trough to crest, m.
    #[schemars(range(min = 0))]
    pub amplitude: f64,
    /// Time from crest to crest, s. Default: that of waves on deep water, sqrt(2 pi wavelength/|g|).
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub period: Option<f64>,
}

pub(super) fn along_x() -> Vector {
    super::List([1.0, 0.0, 0.0])
}

/// When bodies fall asleep, and when they wake. A body that sleeps is not moved, and contacts among sleepers are not
/// evaluated again until something near them is awake.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Sleep", deny_unknown_fields)]
pub struct Sleep {
    /// Speed up to which a body is at rest, m/s: that of its centre and of its surface about that together. Default:
    /// sqrt(|g| R)/100, R the smallest radius; three times that under the normal model "impulse".
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub speed: Option<f64>,
    /// Time for which it must be at rest to fall asleep, s. Default: 5 sqrt(R/|g|).
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub after: Option<f64>,
    /// It wakes when what acts on it would accelerate it by more than this, m/s². Default: |g|/20; |g|/2 under
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
