//! Walls, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::apply;

use super::super::strict::{given, keywords, objects};
use super::{List, Sphere, Vector, origin};

/// A surface that bodies touch. It gives exactly one of `plane`, `rectangle`, `disc`, `box`, `sphere`, `cylinder`,
/// `cone`, `torus`, `mesh` and `signed_distance`, in its own axes, and its orientation like a body.
///
/// A wall keeps its shape, and is flat where a sphere touches it: the effective radius of a contact is that of the
/// sphere, whatever the curvature of the wall.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Wall", deny_unknown_fields)]
#[schemars(extend(
    "oneOf" = [{"required": ["plane"]}, {"required": ["rectangle"]}, {"required": ["disc"]}, {"required": ["box"]}, {"required": ["sphere"]}, {"required": ["cylinder"]}, {"required": ["cone"]}, {"required": ["torus"]},
               {"required": ["mesh"]}, {"required": ["signed_distance"]}],
    "dependentRequired" = {"axis": ["angle"], "angle": ["axis"]},
    "not" = {"anyOf": [{"required": ["orientation", "axis"]}, {"required": ["plane", "side"]},
                       {"required": ["motion", "rigid_body"]},
                       {"required": ["rigid_body", "servo"]}]},
))]
pub struct Wall {
    /// Name in reports. Default: its place, such as `walls[0]`.
    pub name: Option<String>,
    /// An infinite plane through the wall's origin.
    pub plane: Option<PlaneShape>,
    /// A rectangle about the origin, across y.
    pub rectangle: Option<RectangleShape>,
    /// A disc about the origin, across y.
    pub disc: Option<DiscShape>,
    /// A box about the origin, along the axes.
    #[serde(rename = "box")]
    pub cuboid: Option<BoxShape>,
    /// A sphere about the origin.
    pub sphere: Option<Sphere>,
    /// A cylinder about y, half of it above the origin.
    pub cylinder: Option<CylinderShape>,
    /// A cone about y that is cut off at both ends, half of its height above the origin.
    pub cone: Option<ConeShape>,
    /// A torus about y.
    pub torus: Option<TorusShape>,
    /// Triangles from a file.
    pub mesh: Option<MeshShape>,
    /// The sampled distance from a watertight mesh: as fast with a million triangles as with ten, rounded off at the
    /// spacing of the samples, and touched in one place at a time.
    pub signed_distance: Option<DistanceShape>,
    /// Which side of the surface bodies touch. A wall with one side holds a sphere until it is wholly behind
    /// it (a plane for ever). Bodies touch a plane from the side to which its normal points; it has no `side`.
    /// Default: "both".
    pub side: Option<Side>,
    /// Name of the material.
    pub material: String,
    /// With the normal model "hertz", whether it is rigid: only the elastic constants of the sphere count. Either all walls
    /// of a material are rigid, or none. Default: false, but true where the material has no `young_modulus`.
    pub rigid: Option<bool>,
    /// Position of the wall's own origin, m. Default: 0, 0, 0.
    #[serde(default = "origin")]
    pub position: Vector,
    /// Quaternion x, y, z, w that turns the wall's own axes into the world; it is normalised.
    pub orientation: Option<List<f64, 4>>,
    /// Axis of rotation, of any length but zero.
    pub axis: Option<Vector>,
    /// Angle about `axis`, rad.
    pub angle: Option<f64>,
    /// Prescribed motion of the wall, whatever pushes it. Beside a `servo` it may be a steady velocity across the direction of the
    /// servo and a steady rotation about the wall's position. Default: it stands still.
    pub motion: Option<Motion>,
    /// Forces move the wall: it is a rigid body of its own, whose centre of mass is its `position`. Walls do
    /// not touch each other. Default: they do not.
    pub rigid_body: Option<RigidBody>,
    /// Servo that makes the wall press with a constant force. Default: none.
    pub servo: Option<Servo>,
    /// Velocity of the surface along itself in the wall's own axes, like a conveyor belt, m/s: the wall does not
    /// move. The component normal to the surface at a contact does not count. Default: 0, 0, 0.
    pub surface_velocity: Option<Vector>,
    /// Wear by bodies, if it is a `mesh`. Default: none.
    pub wear: Option<Wear>,
    /// Constant temperature, K. Default: it conducts nothing.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub temperature: Option<f64>,
    /// Whether pictures show it. Default: true.
    pub visible: Option<bool>,
    /// Opacity in pictures, from 0 (invisible) to 1 (opaque). Default: 1, but parts in front of bodies are
    /// faint glass.
    #[schemars(range(min = 0, max = 1))]
    pub opacity: Option<f64>,
    /// Its colour in pictures: `#` and two hexadecimal digits each for red, green and blue. Default: grey.
    pub colour: Option<String>,
}

/// An infinite plane; bodies live on the side to which its normal points.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "PlaneShape", deny_unknown_fields)]
pub struct PlaneShape {
    /// Normal of any length but zero, in the wall's own axes. Default: 0, 1, 0.
    pub normal: Option<Vector>,
}

/// A rectangle across y.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "RectangleShape", deny_unknown_fields)]
pub struct RectangleShape {
    /// Lengths along x and z, m.
    pub size: List<f64, 2>,
}

/// A disc across y, or a ring.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "DiscShape", deny_unknown_fields)]
pub struct DiscShape {
    /// Radius, m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: f64,
    /// Radius of a hole in its middle, m. Default: 0.
    #[schemars(range(min = 0))]
    pub hole: Option<f64>,
}

/// A box along the axes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "BoxShape", deny_unknown_fields)]
pub struct BoxShape {
    /// Lengths along x, y and z, m.
    pub size: Vector,
}

/// A cylinder about y.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "CylinderShape", deny_unknown_fields)]
pub struct CylinderShape {
    /// Radius, m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: f64,
    /// Length, m. Default: endless.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub height: Option<f64>,
    /// Whether discs close its ends. Default: false.
    pub closed: Option<bool>,
}

/// A cone about y, cut off at both ends.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "ConeShape", deny_unknown_fields)]
pub struct ConeShape {
    /// Radius at the lower end, m.
    #[schemars(range(min = 0))]
    pub bottom_radius: f64,
    /// Radius at the upper end, m.
    #[schemars(range(min = 0))]
    pub top_radius: f64,
    /// Length along y, m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub height: f64,
    /// Whether discs close its ends. Default: false.
    pub closed: Option<bool>,
}

/// A torus about y.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "TorusShape", deny_unknown_fields)]
pub struct TorusShape {
    /// Radius of the circle in its middle, m: larger than `radius`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub ring_radius: f64,
    /// Radius of its tube, m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: f64,
}

/// Triangles from a file, as large as they are there.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "MeshShape", deny_unknown_fields)]
pub struct MeshShape {
    /// An OBJ or STL file (text or binary), relative to the folder of the scene file.
    pub file: String,
    /// Factor of lengths in the file, in addition to `units`. Default: 1.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub scale: Option<f64>,
    /// The unit of lengths in the file. Default: "m".
    pub units: Option<Units>,
}

/// The distance from a watertight mesh, sampled on a grid.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "DistanceShape", deny_unknown_fields)]
pub struct DistanceShape {
    /// An OBJ or STL file (text or binary), relative to the folder of the scene file. Exactly two triangles share each
    /// edge.
    pub file: String,
    /// Factor of lengths in the file, in addition to `units`. Default: 1.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub scale: Option<f64>,
    /// The unit of lengths in the file. Default: "m".
    pub units: Option<Units>,
    /// Distance between neighbouring samples, m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub spacing: f64,
}

/// A unit of length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Units", rename_all = "lowercase")]
pub enum Units {
    /// Metres.
    M,
    /// Centimetres.
    Cm,
    /// Millimetres.
    Mm,
    /// Micrometres.
    Um,
    /// Inches.
    In,
    /// Feet.
    Ft,
}

impl Units {
    /// The unit, m.
    pub fn metres(self) -> f64 {
        match self {
            Units::M => 1.0,
            Units::Cm => 0.01,
            Units::Mm => 0.001,
            Units::Um => 1e-6,
            Units::In => 0.0254,
            Units::Ft => 0.3048,
        }
    }
}

/// Which side of a wall's surface bodies touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Side", rename_all = "kebab-case")]
pub enum Side {
    /// Either; of a closed shape its inside and its outside.
    #[default]
    Both,
    /// The outside of a box, sphere, cylinder, cone or torus; the side to which y points, of a rectangle or
    /// a disc; of a mesh, that from which its corners are anticlockwise.
    Outside,
    /// The other side: the wall is a vessel.
    Inside,
}

/// Prescribed motion of a wall: it turns about an axis, and is then shifted by its velocity and its
/// vibrations. Keys replace the position and orientation at the start.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Motion", deny_unknown_fields)]
pub struct Motion {
    /// Constant velocity, m/s. Default: 0, 0, 0.
    pub velocity: Option<Vector>,
    /// Turning about an axis. Default: none.
    pub rotation: Option<Rotation>,
    /// Vibrations, all added up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vibrations: Vec<Vibration>,
    /// Poses to pass through, with uniform motion from one to the next; the wall rests before the first and after the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<Key>,
    /// Time at which velocity, rotation and vibrations start, s. Default: 0.
    #[schemars(range(min = 0))]
    pub start: Option<f64>,
    /// Time at which velocity, rotation and vibrations end, s. Default: never.
    #[schemars(range(min = 0))]
    pub end: Option<f64>,
}

/// A wall as a rigid body under gravity, contacts and the force and torque given here: with a mass it moves, with
/// moments of inertia it turns.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "RigidBody", deny_unknown_fields)]
#[schemars(extend(
    "anyOf" = [{"required": ["mass"]}, {"required": ["moments_of_inertia"]}],
    "dependentRequired" = {"rail": ["mass"], "velocity": ["mass"], "force": ["mass"],
                           "axle": ["moments_of_inertia"], "angular_velocity": ["moments_of_inertia"],
                           "torque": ["moments_of_inertia"]},
))]
pub struct RigidBody {
    /// Mass, kg. Default: its position stays.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub mass: Option<f64>,
    /// Direction of a rail: the wall moves only along it. Of any length but zero. Default: it moves in any
    /// direction.
    pub rail: Option<Vector>,
    /// Principal moments of inertia about its own axes, kg m2. Default: its orientation stays.
    pub moments_of_inertia: Option<Vector>,
    /// Direction of an axle through its position: the wall turns only about it. Of any length but zero. Default:
    /// it turns about any axis.
    pub axle: Option<Vector>,
    /// Force on it in addition to gravity and contacts, N. Default: 0, 0, 0.
    pub force: Option<Vector>,
    /// Torque on it in addition to that of contacts, N m. Default: 0, 0, 0.
    pub torque: Option<Vector>,
    /// Velocity at the start, m/s; along the rail, if there is one. Default: 0, 0, 0.
    pub velocity: Option<Vector>,
    /// Angular velocity at the start, rad/s; along the axle, if there is one. Default: 0, 0, 0.
    pub angular_velocity: Option<Vector>,
}

/// Servo of a wall that presses: it moves at `max_speed` times the fraction of the force that is missing, until
/// bodies bear the force, and moves back if they press harder.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Servo", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["force"]}, {"required": ["pressure"]}]))]
pub struct Servo {
    /// Direction in which it presses, of any length but zero.
    pub direction: Vector,
    /// Force that bodies are to bear, N.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub force: Option<f64>,
    /// Pressure that bodies are to bear instead, Pa: the force over `area`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub pressure: Option<f64>,
    /// Area that presses, m², with a `pressure`. Default: that of a rectangle or a disc across the direction.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub area: Option<f64>,
    /// Speed where nothing resists, m/s; the slower, the steadier the force.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub max_speed: f64,
    /// Time at which it starts to press, s; the wall stands still before. Default: 0.
    #[schemars(range(min = 0))]
    pub start: Option<f64>,
    /// Time at which it ends, s; the wall stands still from then on. Default: never.
    #[schemars(range(min = 0))]
    pub end: Option<f64>,
}

/// Wear of a mesh by bodies, by one of two laws. The VTK files of walls have the wear of each triangle. The contacts of every
/// tenth step count for the ten steps since the last.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Wear", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["archard"]}, {"required": ["finnie"]}]))]
pub struct Wear {
    /// Sliding wear after Archard (1953): each metre of sliding under the normal force F removes the volume k F. The value is k, his
    /// coefficient over the hardness of the wall, 1/Pa.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub archard: Option<f64>,
    /// Erosion after Finnie (1960): the work W of normal force and velocity removes the volume c f W. With the angle α of the
    /// velocity to the surface, f is sin 2α - 3 sin² α up to tan α = 1/3, and cos² α/3 beyond. The value is c, 1/Pa.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub finnie: Option<f64>,
}

/// Turning about an axis that stands still in the world: steadily, rocking, or both.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Rotation", deny_unknown_fields)]
pub struct Rotation {
    /// Direction of the axis, of any length but zero.
    pub axis: Vector,
    /// A point of the axis, m. Default: the wall's `position`.
    pub center: Option<Vector>,
    /// Angular speed, rad/s. Default: 0.
    pub speed: Option<f64>,
    /// Amplitude of the rocking, rad. Default: 0.
    pub amplitude: Option<f64>,
    /// Frequency of the rocking, 1/s. Default: 0.
    #[schemars(range(min = 0))]
    pub frequency: Option<f64>,
    /// Phase of the rocking, rad. Default: 0.
    pub phase: Option<f64>,
    /// Time in which speed and amplitude grow linearly from 0, s. Default: 0.
    #[schemars(range(min = 0))]
    pub ramp: Option<f64>,
}

/// A vibration: amplitude times sin(2 pi frequency t + phase), minus its value at the start.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Vibration", deny_unknown_fields)]
pub struct Vibration {
    /// Largest displacement, m.
    pub amplitude: Vector,
    /// Frequency, 1/s.
    #[schemars(range(min = 0))]
    pub frequency: f64,
    /// Phase, rad. Default: 0.
    pub phase: Option<f64>,
    /// Time in which the amplitude grows linearly from 0, s. Default: 0.
    #[schemars(range(min = 0))]
    pub ramp: Option<f64>,
}

/// Pose of a wall at a time; a field left out takes the value of the wall.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Key", deny_unknown_fields)]
#[schemars(extend(
    "dependentRequired" = {"axis": ["angle"], "angle": ["axis"]},
    "not" = {"required": ["orientation", "axis"]},
))]
pub struct Key {
    /// Time, s; later than that of the key before.
    #[schemars(range(min = 0))]
    pub time: f64,
    /// Position of the wall's own origin, m.
    pub position: Option<Vector>,
    /// Quaternion x, y, z, w that turns the wall's own axes into the world; it is normalised.
    pub orientation: Option<List<f64, 4>>,
    /// Axis of rotation, of any length but zero.
    pub axis: Option<Vector>,
    /// Angle about `axis`, rad.
    pub angle: Option<f64>,
}

objects! {
    Wall: "an object such as {\"cylinder\": {\"radius\": 0.1}, \"side\": \"inside\", \"material\": \"steel\"}",
    PlaneShape: "an object such as {\"normal\": [0, 1, 0]}",
    RectangleShape: "an object such as {\"size\": [1, 2]}",
    DiscShape: "an object such as {\"radius\": 0.5}",
    BoxShape: "an object such as {\"size\": [1, 1, 1]}",
    CylinderShape: "an object such as {\"radius\": 0.1, \"height\": 0.2}",
    ConeShape: "an object such as {\"bottom_radius\": 0.02, \"top_radius\": 0.1, \"height\": 0.2}",
    MeshShape: "an object such as {\"file\": \"drum.stl\"}",
    DistanceShape: "an object such as {\"file\": \"vessel.obj\", \"spacing\": 0.01}",
    TorusShape: "an object such as {\"ring_radius\": 0.5, \"radius\": 0.1}",
    RigidBody: "an object such as {\"mass\": 2, \"rail\": [0, 1, 0]}",
    Servo: "an object such as {\"direction\": [0, -1, 0], \"force\": 100, \"max_speed\": 0.1}",
    Wear: "an object such as {\"archard\": 1e-13}",
    Motion: "an object such as {\"velocity\": [0, 1, 0]}",
    Rotation: "an object such as {\"axis\": [0, 0, 1], \"speed\": 2}",
    Vibration: "an object such as {\"amplitude\": [0, 0.001, 0], \"frequency\": 50}",
    Key: "an object such as {\"time\": 1, \"position\": [0, 1, 0]}",
}

keywords! {
    Units: "one of \"m\", \"cm\", \"mm\", \"um\", \"in\" and \"ft\"",
    Side: "\"both\", \"outside\" or \"inside\"",
}
