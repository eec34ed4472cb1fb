//! Scene file, version 1, as the user writes it.
//!
//! The structs mirror the JSON one to one, and their documentation is the description in the JSON
//! Schema that [`schema`](super::schema) gives. They hold what stands in the file, right or wrong;
//! [`parse`](super::parse) checks it and makes a [`Model`](crate::model::Model) of it.

mod bodies;
mod bonds;
mod breakage;
mod deform;
mod explosion;
mod forces;
mod measure;
mod shape;
mod stage;
mod view;
mod wall;

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_with::apply;

use super::strict::{self, given, keywords, objects};
pub use super::strict::{List, Table};
use crate::model::quantity::Quantities;
pub use bodies::{Bodies, BodiesFile};
pub use bonds::{Bonds, Healing};
pub use breakage::Breakage;
pub use deform::{Axis, Deform, Drive, Shear};
pub use explosion::{Division, Explosion};
pub use forces::{Axes, Drag, End, Force, Group, Sleep, Spring, Water, Wave};
pub use measure::{Fields, Measure, Mixing, Property, RunUntil, Slope, Steady};
pub use shape::{
    CenteredSphere, Cuboid, FittedMesh, GivenMass, Inertia, Lattice, MassProperties, Part, Shape,
    Sphere, Torus, Volume,
};
pub use stage::{Inflow, MaterialChange, Stage, Until};
pub use view::View;
pub use wall::{
    BoxShape, ConeShape, CylinderShape, DiscShape, DistanceShape, Key, MeshShape, Motion,
    PlaneShape, RectangleShape, RigidBody, Rotation, Servo, Side, TorusShape, Units, Vibration,
    Wall, Wear,
};

/// Three numbers: x, y, z.
pub type Vector = List<f64, 3>;

/// A scene for Rockfall: materials, shapes made of spheres, bodies, planes, and how they touch.
///
/// SI units throughout (m, kg, s, rad, N); y is up; quaternions are x, y, z, w.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "SceneFile", deny_unknown_fields)]
#[schemars(title = "Rockfall scene", extend(
    "anyOf" = [
        {"required": ["bodies"]}, {"required": ["fills"]}, {"required": ["inlets"]},
        {"required": ["start"]}, {"required": ["spawn"]},
    ],
    // No part of JSON Schema: they tell VS Code's reader of JSON not to complain.
    "allowComments" = true,
    "allowTrailingCommas" = true,
))]
pub struct SceneFile {
    /// Address of the JSON Schema, for editors; Rockfall does not read it.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// Version of the format: 1.
    pub version: Version,
    /// Name of the scene. Default: the name of the file without its ending.
    pub name: Option<String>,
    /// Subject of the scene, for people; Rockfall does not read it.
    pub description: Option<String>,
    /// Acceleration of gravity, m/s². Default: 0, -9.81, 0.
    #[serde(default = "earth")]
    pub gravity: Vector,
    /// Gravity over time, in place of `gravity`: rows of a time, s, and three components, m/s²; linear between rows, and constant
    /// before the first and after the last. Default: `gravity` throughout.
    #[schemars(length(min = 1))]
    pub gravity_table: Option<Vec<List<f64, 4>>>,
    /// Simulated time that a run covers unless told otherwise, s. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 0))]
    pub duration: f64,
    /// Time integration of positions and velocities.
    #[serde(default)]
    pub integrator: Integrator,
    /// Treatment of bodies that overlap at the start by more than 5 % of the smaller radius.
    #[serde(default)]
    pub initial_overlap: InitialOverlap,
    /// A box that is periodic along some axes. Default: none.
    pub domain: Option<Domain>,
    /// Deformation of the periodic box: its sides by a rate of strain or a servo, the box by simple shear. Default: none.
    pub deform: Option<Deform>,
    /// Files that a run with `--out` writes, and how often.
    #[serde(default, skip_serializing_if = "Output::is_default")]
    pub output: Output,
    /// Measures that a run with `--out` takes. Default: none.
    pub measure: Option<Measure>,
    /// Conditions that end a run before its duration. Default: none.
    pub until: Option<RunUntil>,
    /// Contact law and time step.
    #[serde(default)]
    pub contact: Contact,
    /// Groups of bodies by name, 31 at most.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    pub groups: Table<Group>,
    /// Drag of all bodies, except those in a group that gives its own. Default: none.
    #[serde(default, skip_serializing_if = "Drag::is_none")]
    pub drag: Drag,
    /// Springs between bodies, and between bodies and points of the world.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub springs: Vec<Spring>,
    /// Bonds between spheres of different bodies: elastic rods that break.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bonds: Vec<Bonds>,
    /// Forces and torques on bodies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forces: Vec<Force>,
    /// Water below a surface. Default: none.
    pub water: Option<Water>,
    /// Conditions under which bodies at rest fall asleep, so that they cost less time. Default: they do not.
    pub sleep: Option<Sleep>,
    /// Materials by name.
    pub materials: Table<Material>,
    /// Pairs of materials with parameters of their own, in place of mixed ones.
    ///
    /// A pair that is not listed mixes those of its two materials: friction and restitution by the
    /// geometric mean, sqrt(a b); damping by the arithmetic mean, (a + b)/2. Where one material
    /// gives a restitution and the other a damping, the dashpot is the mean of the two dashpots.
    /// Equal values mix to themselves. Rolling and twisting friction mix by the geometric mean. Rolling is
    /// resisted by a constant torque only if both materials have "constant", and not at all if one has "none". Cohesion mixes by the
    /// geometric mean of the works of adhesion, or of the forces, with the arithmetic mean of the ranges. There is none where only one
    /// of the materials has any; where their kinds differ, the pair must be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<Pair>,
    /// Shapes by name.
    pub shapes: Table<Shape>,
    /// Infinite planes that bodies cannot pass, a short form of walls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planes: Vec<Plane>,
    /// Walls of all kinds, which may move.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub walls: Vec<Wall>,
    /// Groups of walls by name, such as the shell and the ends of a drum. `statistics.csv` has the load and the power of each group.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    #[schemars(extend("additionalProperties" = {"type": "array", "items": {"type": "string"}, "minItems": 1}))]
    pub wall_groups: Table<Vec<String>>,
    /// Bodies that start as they were in another run, before all others.
    pub start: Option<Start>,
    /// Bodies, one by one, or from a file.
    #[serde(default, skip_serializing_if = "Bodies::is_none")]
    pub bodies: Bodies,
    /// Many bodies from few lines. A scene needs at least one body, here, under `bodies` or from
    /// `start`, or one that comes in through an inlet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fills: Vec<Fill>,
    /// Inlets, where bodies come in during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inlets: Vec<Inlet>,
    /// Outlets, where bodies go out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outlets: Vec<Outlet>,
    /// Regions and faces to look at: what they hold, and what passes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<Probe>,
    /// Bodies that burst into pieces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explosions: Vec<Explosion>,
    /// Bodies that burst under load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breakage: Vec<Breakage>,
    /// Stages of a run, such as settling and then opening a gate. Default: one, the scene as it stands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// Further shapes of bodies that a program adds while the scene runs, besides those of bodies, fills and inlets: the
    /// search for contacts and the time step take them into account. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spawn: Vec<String>,
    /// Interval at which inlets, outlets and probes act, and the loads that break bodies are checked. Only then do
    /// bodies come in and go out, and are those that pass a face counted. Default: 200 time steps, 10 with `breakage`.
    pub look_every: Option<Interval>,
    /// View of the scene in pictures and the window.
    #[serde(default, skip_serializing_if = "View::is_default")]
    pub view: View,
}

pub(super) fn earth() -> Vector {
    List([0.0, -9.81, 0.0])
}

fn one() -> f64 {
    1.0
}

/// The version of the format that this program reads: 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version;

impl Version {
    const NUMBER: u64 = 1;
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u64::deserialize(deserializer)? {
            Self::NUMBER => Ok(Self),
            other => Err(strict::custom(
                other,
                "1, the version that this program reads",
            )),
        }
    }
}

impl Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(Self::NUMBER)
    }
}

impl JsonSchema for Version {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Version".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": Self::NUMBER })
    }
}

/// Time integration of positions and velocities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Integrator", rename_all = "kebab-case")]
pub enum Integrator {
    /// Velocity first, then position with the new velocity (symplectic Euler).
    #[default]
    SemiImplicit,
    /// Position with the old velocity (forward Euler). It gains energy; use it for comparison only.
    Explicit,
}

/// Treatment of bodies that overlap deeply at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "InitialOverlap", rename_all = "kebab-case")]
pub enum InitialOverlap {
    /// Refuse to run, with an error.
    #[default]
    Error,
    /// Ease them apart before the first step.
    Relax,
    /// Start with them, if they are shallower than the smaller radius.
    Allow,
}

/// A box that is periodic along some axes: bodies that leave it on one side come in on the other, and
/// contacts reach across. A body or a region of a fill may lie outside; its bodies are shifted inside, by
/// whole lengths of the box.
///
/// Along a periodic axis, the box must be at least twice as long as the largest body is wide, and as the diameter of the
/// largest sphere and the range of cohesion or of a custom law together. No plane may face along such an axis, not even
/// a little: bodies would come to it from behind.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Domain", deny_unknown_fields)]
pub struct Domain {
    /// Corner with the smallest coordinates, m.
    pub min: Vector,
    /// Corner with the largest coordinates, m: larger than those of `min` along the periodic axes.
    pub max: Vector,
    /// Whether the box is periodic along x, y and z. Along the other axes its bounds are not
    /// walls; only an outlet that removes bodies outside the domain uses them. Default: along none.
    #[serde(default)]
    pub periodic: List<bool, 3>,
}

/// Files that a run with `--out` writes, and how often. The arguments of `rockfall run` override it. The
/// first and the last step are always written.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Output", deny_unknown_fields)]
pub struct Output {
    /// Interval at which VTK files and states are written. Default: a hundredth of the duration.
    pub every: Option<Interval>,
    /// Interval between rows of statistics. Default: a thousandth of the duration.
    pub statistics_every: Option<Interval>,
    /// Interval between checkpoints. Default: ten minutes of real time.
    pub checkpoint_every: Option<Interval>,
    /// Kinds of VTK files. Default: bodies, spheres, contacts, bonds and walls.
    pub vtk: Option<Vec<Kind>>,
    /// Kinds of states, in NPZ files. Default: bodies.
    pub states: Option<Vec<Kind>>,
}

impl Output {
    fn is_default(&self) -> bool {
        *self == Output::default()
    }
}

/// Interval of simulated time: `{"steps": 1000}` or `{"seconds": 0.01}`.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Interval", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["steps"]}, {"required": ["seconds"]}]))]
pub struct Interval {
    /// A number of steps.
    #[schemars(range(min = 1))]
    pub steps: Option<u64>,
    /// Simulated time, s: the nearest whole number of steps, at least one.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub seconds: Option<f64>,
}

impl Interval {
    /// Every so many steps.
    pub fn steps(steps: u64) -> Interval {
        Interval {
            steps: Some(steps),
            seconds: None,
        }
    }

    /// Whether it is more than nothing.
    pub fn is_positive(&self) -> bool {
        self.steps.is_some_and(|steps| steps > 0)
            || self
                .seconds
                .is_some_and(|seconds| seconds > 0.0 && seconds.is_finite())
    }

    /// Every so many seconds of simulated time.
    pub fn seconds(seconds: f64) -> Interval {
        Interval {
            steps: None,
            seconds: Some(seconds),
        }
    }
}

/// Kind of things of which files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Kind", rename_all = "kebab-case")]
pub enum Kind {
    /// Bodies: a point or a row for each.
    Bodies,
    /// Spheres of all bodies: a point or a row for each.
    Spheres,
    /// Contacts of the last step: a line or a row for each.
    Contacts,
    /// Bonds, including broken ones: a line or a row for each. Only in scenes that have bonds.
    Bonds,
    /// Walls: triangles. Only in VTK files.
    Walls,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 5] = [
        Kind::Bodies,
        Kind::Spheres,
        Kind::Contacts,
        Kind::Bonds,
        Kind::Walls,
    ];

    /// The word for it in a scene.
    pub fn keyword(self) -> &'static str {
        match self {
            Kind::Bodies => "bodies",
            Kind::Spheres => "spheres",
            Kind::Contacts => "contacts",
            Kind::Bonds => "bonds",
            Kind::Walls => "walls",
        }
    }
}

/// Contact law and time step.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Contact", deny_unknown_fields)]
#[schemars(extend(
    "not" = {"required": ["stiffness", "max_overlap"]},
    "oneOf" = [
        {"properties": {"normal": {"const": "hooke"}, "tangential": {"const": "viscous"}, "tangential_damping": false,
                        "limit_damping": false, "file": false, "range": false, "substeps": false}},
        {"properties": {"normal": {"const": "hooke"}, "tangential": {"const": "history"},
                        "file": false, "range": false, "substeps": false},
         "required": ["tangential"]},
        {"properties": {"normal": {"const": "hooke"}, "tangential": {"const": "none"}, "tangential_stiffness": false,
                        "tangential_damping": false, "limit_damping": false,
                        "file": false, "range": false, "substeps": false},
         "required": ["tangential"]},
        {"properties": {"normal": {"const": "hertz"}, "tangential": {"enum": ["mindlin", "mindlin-rescale"]}, "stiffness": false,
                        "max_overlap": false, "tangential_stiffness": false,
                        "file": false, "range": false, "substeps": false},
         "required": ["normal"]},
        {"properties": {"normal": {"const": "hertz"}, "tangential": {"const": "none"}, "stiffness": false,
                        "max_overlap": false, "tangential_stiffness": false, "tangential_damping": false,
                        "file": false, "range": false, "substeps": false},
         "required": ["normal", "tangential"]},
        {"properties": {"normal": {"const": "impulse"}, "tangential": {"enum": ["history", "none"]},
                        "stiffness": false, "max_overlap": false, "tangential_stiffness": false,
                        "tangential_damping": false, "limit_damping": false,
                        "elastic": {"const": false}, "file": false, "range": false},
         "required": ["normal"]},
        {"properties": {"normal": {"const": "custom"}, "tangential": false, "limit_damping": false, "substeps": false},
         "required": ["normal", "file"]},
    ],
))]
pub struct Contact {
    /// Model of the normal force.
    #[serde(default)]
    pub normal: NormalModel,
    /// Model of the tangential force. Default: "viscous" with the normal model "hooke", "mindlin" with "hertz",
    /// "history" with "impulse".
    pub tangential: Option<TangentialModel>,
    /// Normal stiffness, N/m, equal for all pairs of materials; not with the normal model "hertz", for which the
    /// materials give it. Default: derived from `max_overlap`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub stiffness: Option<f64>,
    /// Largest overlap wanted, as a fraction of the smallest radius; it gives the stiffness of
    /// each pair of materials. Not together with `stiffness`, and not with the normal model "hertz".
    /// Default: 0.01.
    ///
    /// k = m v²/(f R)²: m is the largest effective mass of two bodies of these materials, R their
    /// smallest radius, f this fraction, and v the fastest closing speed expected,
    /// v² = v0² + 2 |g| h. v0 is the largest difference of initial velocities, spin included; h is
    /// how far a body can fall, onto a plane or past the other bodies.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub max_overlap: Option<f64>,
    /// Tangential stiffness k_t, N/m, equal for all pairs of materials; not with the normal model "hertz", for which
    /// the materials give it. Default: 2/7 of the normal stiffness k of the pair. The tangential model "viscous" turns
    /// it into a coefficient, k_t sqrt(m/k) (N s/m), with the effective mass m of the two bodies.
    #[schemars(range(min = 0))]
    pub tangential_stiffness: Option<f64>,
    /// Tangential dashpot as a fraction of the normal dashpot of the contact; with the tangential models "history" and
    /// "mindlin" and "mindlin-rescale". Default: 0.5.
    #[schemars(range(min = 0))]
    pub tangential_damping: Option<f64>,
    /// Whether the dashpot is limited so that spring and dashpot together never pull. Default: false: the dashpot may
    /// pull at the end of a contact, which then ends at overlap 0, with exactly the restitution given.
    ///
    /// If true, bodies bounce more than the restitution given: 0.2, 0.4, 0.6 and 0.8 become 0.325, 0.472, 0.632 and 0.808,
    /// with the normal models "hooke" and "hertz" alike. Not with the tangential model "viscous", nor with "hooke" and
    /// "none".
    pub limit_damping: Option<bool>,
    /// Whether all collisions are perfectly elastic and without friction, whatever the materials have: nothing
    /// dissipates energy. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elastic: bool,
    /// The WGSL file with a custom contact law, relative to the folder of the scene file; required by
    /// the normal model "custom", and only for that.
    pub file: Option<String>,
    /// Largest gap between two surfaces at which the normal model "custom" still acts, m. Default: 0.
    #[schemars(range(min = 0))]
    pub range: Option<f64>,
    /// Time step, s. Default: a fiftieth of the shortest contact, or half of the stability limit if that is
    /// less. With the normal model "impulse" it is the time of one picture, 1/60 s by default, which `substeps` divides.
    ///
    /// The shortest contact is that of the smallest effective mass m of two bodies. It takes
    /// t_c = pi / sqrt(k/m - (c/2m)²); with the normal model "hertz", t_c = 2.87 (m²/(R E*² v))^(1/5) with the
    /// fastest closing speed v expected (see `max_overlap`), and then the time step is also at most
    /// 20 % of the Rayleigh time pi R sqrt(rho/G)/(0.1631 nu + 0.8766) of the smallest sphere of each
    /// material. The normal spring and dashpot are stable up to sqrt(m/k) and m/c; a tangential spring
    /// and its dashpot up to sqrt(m_t/k_t) and m_t/c_t, where m_t is the effective mass along the surface,
    /// which is smaller because a tangential push also turns the body.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub time_step: Option<f64>,
    /// Steps into which the normal model "impulse" divides `time_step`; only with that model. Default: as many as make a
    /// step no longer than a hundredth of sqrt(R/g), with the smallest radius R and the strength of gravity g, and no longer
    /// than the fastest body takes to move a tenth of R.
    ///
    /// More substeps make contacts stiffer: the overlap under a load is proportional to the square of a step.
    #[schemars(range(min = 1, max = 10_000))]
    pub substeps: Option<u32>,
}

impl Contact {
    /// The model of the tangential force: the one given, or the default of the normal model; `None` for a custom law,
    /// which has both.
    pub fn tangential_model(&self) -> Option<TangentialModel> {
        let default = match self.normal {
            NormalModel::Hooke => TangentialModel::Viscous,
            NormalModel::Hertz => TangentialModel::Mindlin,
            NormalModel::Impulse => TangentialModel::History,
            NormalModel::Custom => return None,
        };
        Some(self.tangential.unwrap_or(default))
    }

    /// Whether contacts carry a history from step to step, as resistance to rolling and cohesion need it.
    pub(super) fn has_history(&self) -> bool {
        self.normal != NormalModel::Hooke
            || self.tangential_model() == Some(TangentialModel::History)
    }

    /// Whether no force acts along surfaces, whatever the materials say of friction.
    pub(super) fn is_frictionless(&self) -> bool {
        self.tangential == Some(TangentialModel::None)
    }
}

/// Model of the normal force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "NormalModel", rename_all = "kebab-case")]
pub enum NormalModel {
    /// A linear spring k d and a dashpot.
    #[default]
    Hooke,
    /// Hertz's contact, from `young_modulus` and `poisson_ratio` of the materials: F = 4/3 E* sqrt(R)
    /// d^1.5; R = R1 R2/(R1 + R2), or the radius on a plane; 1/E* = (1 - nu1²)/E1 + (1 - nu2²)/E2. On a wall that is
    /// rigid, only the sphere's terms count.
    ///
    /// Tsuji's dashpot, 2 sqrt(5/6) zeta sqrt(S m) with S = 2 E* sqrt(R d) and the effective mass m, leaves
    /// the restitution given.
    Hertz,
    /// Impulses, for the longest steps: contacts have no stiffness of their own, but are as stiff as a step allows. A body
    /// shares its mass among its contacts, and in each step a contact gets the impulse that stops the two shares that it
    /// has. Restitution, friction, rolling and twisting friction and cohesion are those of the materials; overlaps are
    /// larger than with "hooke".
    Impulse,
    /// A custom contact law, normal and tangential: a WGSL function in `file`, on the GPU engine only. It gets the
    /// stiffness, dashpot, friction and so on of the pair as "hooke" with "history" has them, and may use or ignore
    /// them.
    Custom,
}

impl NormalModel {
    /// The word for it in a scene.
    pub fn keyword(self) -> &'static str {
        match self {
            NormalModel::Hooke => "hooke",
            NormalModel::Hertz => "hertz",
            NormalModel::Impulse => "impulse",
            NormalModel::Custom => "custom",
        }
    }
}

/// Model of the tangential force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "TangentialModel", rename_all = "kebab-case")]
pub enum TangentialModel {
    /// None: surfaces are frictionless, whatever the materials have. With any normal model.
    None,
    /// A viscous force against sliding, capped by Coulomb friction; with the normal model "hooke". There is no contact
    /// history: a body on a slope creeps, and there is no rolling or twisting friction and no cohesion.
    Viscous,
    /// A spring k_t, whose elongation is the contact history, and a dashpot (Cundall and Strack); with the normal models
    /// "hooke" and "impulse". Tangential spring and dashpot together are capped at the friction coefficient times the
    /// normal force of spring and dashpot, without the pull of cohesion.
    History,
    /// Mindlin's spring k_t = 8 G* sqrt(R d), with a contact history and a dashpot, capped as with "history"; with the
    /// normal model "hertz". 1/G* = (2 - nu1)/G1 + (2 - nu2)/G2, G = E/(2 (1 + nu)).
    Mindlin,
    /// Variant of "mindlin" whose spring keeps its force while the overlap grows, and its elongation while it shrinks
    /// (Thornton, Cummins and Cleary 2013): with "mindlin" it keeps its elongation always, and a contact that is pressed
    /// while it shears gains energy.
    MindlinRescale,
}

impl TangentialModel {
    /// The word for it in a scene.
    pub fn keyword(self) -> &'static str {
        match self {
            TangentialModel::None => "none",
            TangentialModel::Viscous => "viscous",
            TangentialModel::History => "history",
            TangentialModel::Mindlin => "mindlin",
            TangentialModel::MindlinRescale => "mindlin-rescale",
        }
    }
}

/// A material: its density, and the parameters of contacts with itself. It gives either `restitution` or `damping`.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Material", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["restitution"]}, {"required": ["damping"]}]))]
pub struct Material {
    /// Density, kg/m³.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub density: f64,
    /// Coefficient of restitution: speed after a head-on collision over the speed before it, 0 to 1.
    ///
    /// It sets the damping ratio of the dashpot, zeta = -ln e / sqrt(pi² + ln² e); 0 is taken as
    /// critical damping, zeta = 1.
    #[schemars(range(min = 0, max = 1))]
    pub restitution: Option<f64>,
    /// Normal dashpot, N s/m, given directly; not with the normal model "impulse".
    #[schemars(range(min = 0))]
    pub damping: Option<f64>,
    /// Coefficient of (Coulomb) friction.
    #[schemars(range(min = 0))]
    pub friction: f64,
    /// Young's modulus E, Pa. The normal model "hertz" needs it for each material of a body; the
    /// other models do not use it. Walls of a material without it are rigid.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub young_modulus: Option<f64>,
    /// Poisson's ratio nu, greater than -1 and at most 0.5; needed and used as `young_modulus` is.
    #[schemars(extend("exclusiveMinimum" = -1, "maximum" = 0.5))]
    pub poisson_ratio: Option<f64>,
    /// Coefficient of rolling friction: the torque against rolling is at most this times R times
    /// the normal force, with R the radius on a plane and R1 R2/(R1 + R2) between two spheres. It
    /// needs a contact history: not with the tangential model "viscous", nor with "hooke" and "none". Default: 0.
    #[schemars(range(min = 0))]
    pub rolling_friction: Option<f64>,
    /// Resistance to rolling; only with a contact history. Default: "spring".
    pub rolling: Option<Rolling>,
    /// Coefficient of twisting friction: the torque about the normal is at most this times R times the
    /// normal force, with the R of rolling friction. Only with a contact history. Default: 0.
    #[schemars(range(min = 0))]
    pub twisting_friction: Option<f64>,
    /// Attraction of the surfaces; only with a contact history. Default: none.
    pub cohesion: Option<Cohesion>,
    /// Thermal conductivity, W/(m K). A scene in which any material has one has heat: each body has a temperature, and
    /// heat flows through contacts, q = 2 k a ΔT, with k the harmonic mean of the two conductivities and a = sqrt(R δ)
    /// the radius of the contact. Default: the material conducts nothing.
    #[schemars(range(min = 0))]
    pub conductivity: Option<f64>,
    /// Specific heat capacity, J/(kg K); in a scene with heat, each material of a body needs one.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub heat_capacity: Option<f64>,
}

/// Parameters of a pair of materials. Those left out are mixed from the two materials.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Pair", deny_unknown_fields)]
#[schemars(extend("not" = {"required": ["restitution", "damping"]}))]
pub struct Pair {
    /// The two materials; they may be the same one.
    pub between: List<String, 2>,
    /// Coefficient of restitution, 0 to 1; not together with `damping`.
    #[schemars(range(min = 0, max = 1))]
    pub restitution: Option<f64>,
    /// Normal dashpot, N s/m, given directly.
    #[schemars(range(min = 0))]
    pub damping: Option<f64>,
    /// Coefficient of friction.
    #[schemars(range(min = 0))]
    pub friction: Option<f64>,
    /// Coefficient of rolling friction: the torque against rolling is at most this times R times
    /// the normal force, with R the radius on a plane and R1 R2/(R1 + R2) between two spheres. Only
    /// with a contact history.
    #[schemars(range(min = 0))]
    pub rolling_friction: Option<f64>,
    /// Resistance to rolling; only with a contact history.
    pub rolling: Option<Rolling>,
    /// Coefficient of twisting friction: the torque about the normal is at most this times R times the
    /// normal force, with the R of rolling friction. Only with a contact history.
    #[schemars(range(min = 0))]
    pub twisting_friction: Option<f64>,
    /// Attraction of the surfaces; only with a contact history. 0 is none.
    pub cohesion: Option<Cohesion>,
}

/// Resistance to rolling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Rolling", rename_all = "kebab-case")]
pub enum Rolling {
    /// None, whatever the coefficient of rolling friction.
    None,
    /// By a constant torque against the relative spin. It holds no load at rest: heaps creep.
    Constant,
    /// By a spring that rolling stretches, with a history, and that yields at the same torque.
    #[default]
    Spring,
}

/// Attraction of surfaces: the work of adhesion w in J/m², as a number or as `surface_energy`, or a
/// constant `force` within a `range`.
///
/// Surfaces with a work of adhesion that have touched hold together, after Johnson, Kendall and Roberts:
/// it takes the pull-off force 3/2 pi w R to part them, R = R1 R2/(R1 + R2), or the radius on a plane.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Cohesion {
    /// Work of adhesion w, J/m²; 0 is none.
    Work(#[schemars(range(min = 0))] f64),
    /// By names.
    Named(NamedCohesion),
}

/// Attraction of surfaces. It gives either `surface_energy`, or `force` and `range`.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "NamedCohesion", deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    {"required": ["surface_energy"], "properties": {"force": false, "range": false}},
    {"required": ["force", "range"], "properties": {"surface_energy": false}},
]))]
pub struct NamedCohesion {
    /// Work of adhesion w, J/m²: the pull-off force is 3/2 pi w R.
    #[schemars(range(min = 0))]
    pub surface_energy: Option<f64>,
    /// Force, N, with which two surfaces attract each other while they overlap or are closer than `range`.
    #[schemars(range(min = 0))]
    pub force: Option<f64>,
    /// Largest gap, m, at which `force` acts.
    #[schemars(range(min = 0))]
    pub range: Option<f64>,
}

fn origin() -> Vector {
    List([0.0; 3])
}

/// An infinite plane; bodies live on the side to which its normal points.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Plane", deny_unknown_fields)]
pub struct Plane {
    /// A point of the plane, m.
    pub point: Vector,
    /// Normal of any length but zero.
    pub normal: Vector,
    /// Name of the material.
    pub material: String,
    /// With the normal model "hertz", whether it is rigid: only the elastic constants of the sphere count. Either all walls
    /// of a material are rigid, or none. Default: false, but true where the material has no `young_modulus`.
    pub rigid: Option<bool>,
    /// Constant temperature, K. Default: it conducts nothing.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub temperature: Option<f64>,
    /// Whether pictures show it. Default: true.
    pub visible: Option<bool>,
    /// Opacity in pictures, from 0 (invisible) to 1 (opaque). Default: 1.
    #[schemars(range(min = 0, max = 1))]
    pub opacity: Option<f64>,
    /// Its colour in pictures: `#` and two hexadecimal digits each for red, green and blue. Default: grey.
    pub colour: Option<String>,
}

/// A body. Its orientation is given by `orientation`, or by `axis` and `angle`; without either, the
/// shape's axes are those of the world.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Body", deny_unknown_fields)]
#[schemars(extend(
    "dependentRequired" = {"axis": ["angle"], "angle": ["axis"]},
    "not" = {"required": ["orientation", "axis"]},
))]
pub struct Body {
    /// Name, for springs, forces and reports. Default: none.
    pub name: Option<String>,
    /// Name of the shape.
    pub shape: String,
    /// Name of a material, which takes the place of that of the shape, its density included. Default: that of
    /// the shape.
    pub material: Option<String>,
    /// Position of the shape's own origin, m. Default: 0, 0, 0.
    #[serde(default = "origin")]
    pub position: Vector,
    /// Quaternion x, y, z, w that turns the shape's own axes into the world; it is normalised.
    pub orientation: Option<List<f64, 4>>,
    /// Axis of rotation, of any length but zero.
    pub axis: Option<Vector>,
    /// Angle about `axis`, rad.
    pub angle: Option<f64>,
    /// Velocity of the centre of mass, m/s. Default: 0, 0, 0.
    #[serde(default = "origin")]
    pub velocity: Vector,
    /// Angular velocity in world axes, rad/s. Default: 0, 0, 0.
    #[serde(default = "origin")]
    pub angular_velocity: Vector,
    /// Whether the body stays in place, whatever pushes it. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fixed: bool,
    /// Whether the body keeps its `velocity` and its `angular_velocity`, whatever pushes it, as a rough wall made of grains does.
    /// Not with `fixed`, nor with `sleep`. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kinematic: bool,
    /// Name of its group. Default: none.
    pub group: Option<String>,
    /// Temperature at the start, K; a fixed body keeps it. Default: 293.15.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub temperature: Option<f64>,
}

/// Bodies that start as they were in another run.
///
/// Each has the shape, the material and the group of the same names as there, and stays fixed if it was. Shapes,
/// materials, groups and walls are those of this scene, even if they have changed. The contact histories of
/// these bodies (tangential and rolling displacement) are kept if both runs have the same contact law. Time starts at 0.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Start", deny_unknown_fields)]
pub struct Start {
    /// The folder of the other run, or one of its checkpoints; relative to the folder of the scene file.
    pub from: String,
    /// Names of shapes whose bodies are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// Whether the bodies are stopped: no velocity, and no spin. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_rest: bool,
}

/// Many bodies from few lines. The same seed gives the same bodies on every machine.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Fill", deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    {"required": ["count"]}, {"required": ["mass"]}, {"required": ["solid_fraction"]},
    {"required": ["placement"], "properties": {"placement": {"const": "packed"},
                                               "count": false, "mass": false, "solid_fraction": false}},
]))]
pub struct Fill {
    /// Number of bodies. A fill gives it, `mass` or `solid_fraction`; with the placement "packed" it may give none: as many as
    /// fit.
    #[schemars(range(min = 1))]
    pub count: Option<u64>,
    /// Mass of all its bodies, kg: the number of bodies comes nearest to it.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub mass: Option<f64>,
    /// Volume of all its bodies, as a part of the region that walls leave free: the number of bodies comes nearest to it.
    /// The placement "random" reaches 0.3, "grid" 0.5, and "packed" 0.6 with spheres.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub solid_fraction: Option<f64>,
    /// Shapes by name, each with its weight in the mix: `{"block": 3, "ball": 1}` makes three
    /// blocks for each ball, on average.
    #[schemars(extend(
        "minProperties" = 1,
        "additionalProperties" = {"type": "number", "exclusiveMinimum": 0},
    ))]
    pub shapes: Table<f64>,
    /// Name of a material, which takes the place of those of the shapes, their densities included. Default:
    /// those of the shapes.
    pub material: Option<String>,
    /// Placement of the bodies.
    #[serde(default)]
    pub placement: Placement,
    /// Distance between the points of the grid, m; only with the placement "grid". Default: the width
    /// of the largest body.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub spacing: Option<f64>,
    /// Largest random displacement of a body from its grid point along each axis, m; only with the placement "grid".
    /// Default: 0.
    #[schemars(range(min = 0))]
    pub jitter: Option<f64>,
    /// The box that holds the bodies whole, not only their centres.
    pub region: Region,
    /// Sizes of the bodies, as multiples of their shapes. Default: 1 for all.
    pub sizes: Option<Sizes>,
    /// Orientation of the bodies. Default: "random".
    #[serde(default)]
    pub orientation: FillOrientation,
    /// Velocity of the centres of mass, m/s. Default: 0, 0, 0.
    #[serde(default)]
    pub velocity: Range,
    /// Angular velocity in world axes, rad/s. Default: 0, 0, 0.
    #[serde(default)]
    pub angular_velocity: Range,
    /// Name of the group of the bodies. Default: none.
    pub group: Option<String>,
    /// Seed of the random numbers. Default: 0.
    #[serde(default)]
    pub seed: u64,
    /// Temperature at the start, K. Default: 293.15.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub temperature: Option<f64>,
}

/// Inlet of bodies, at random places that are free. The same seed brings the same bodies.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Inlet", deny_unknown_fields)]
#[schemars(extend(
    "oneOf" = [
        {"required": ["region"], "properties": {"mesh": false}},
        {"required": ["mesh"], "properties": {"region": false}},
    ],
    "not" = {"required": ["rate", "mass_rate"]},
))]
pub struct Inlet {
    /// Name. Default: "inlet 0" and so on.
    pub name: Option<String>,
    /// Bodies that come in, 1/s. An inlet has either a `rate` or a `mass_rate`, or stays closed until a stage opens it.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub rate: Option<f64>,
    /// Mass that comes in, kg/s.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub mass_rate: Option<f64>,
    /// Time at which it opens, s. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub start: f64,
    /// Time at which it closes, s. Default: the end of the run.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub end: Option<f64>,
    /// Largest number of bodies that come in. Default: no limit.
    #[schemars(range(min = 1))]
    pub count: Option<u64>,
    /// Largest mass that comes in, kg: the number of bodies comes nearest to it. Default: no limit.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub mass: Option<f64>,
    /// Shapes by name, each with its weight in the mix, as in a fill.
    #[schemars(extend(
        "minProperties" = 1,
        "additionalProperties" = {"type": "number", "exclusiveMinimum": 0},
    ))]
    pub shapes: Table<f64>,
    /// Name of a material, which takes the place of those of the shapes, as in a fill.
    pub material: Option<String>,
    /// Sizes of the bodies, as multiples of their shapes. Default: 1 for all.
    pub sizes: Option<Sizes>,
    /// The box in which bodies appear, whole; or a face, with `min` and `max` equal along one axis, in
    /// which their centres of mass then lie. An inlet has either a `region` or a `mesh`.
    pub region: Option<Region>,
    /// Triangles on which the centres of mass of bodies appear, uniformly over their area.
    pub mesh: Option<MeshShape>,
    /// Orientation of the bodies. Default: "random".
    #[serde(default)]
    pub orientation: FillOrientation,
    /// Velocity of the centres of mass, m/s. Default: 0, 0, 0.
    #[serde(default)]
    pub velocity: Range,
    /// Angular velocity in world axes, rad/s. Default: 0, 0, 0.
    #[serde(default)]
    pub angular_velocity: Range,
    /// Name of the group of the bodies. Default: none.
    pub group: Option<String>,
    /// Seed of the random numbers. Default: 0.
    #[serde(default)]
    pub seed: u64,
    /// Temperature of the bodies as they come in, K. Default: 293.15.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub temperature: Option<f64>,
}

/// Outlet of bodies that are not fixed: they go out once their centre of mass is there.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Outlet", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["inside"]}, {"required": ["outside"]}]))]
pub struct Outlet {
    /// Name. Default: "outlet 0" and so on.
    pub name: Option<String>,
    /// Box inside which bodies go out.
    pub inside: Option<Region>,
    /// Box, or the `domain` of the scene, outside which bodies go out.
    pub outside: Option<Outside>,
}

/// Box or domain that an outlet is outside of.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Outside {
    /// A box.
    Box(Region),
    /// The domain of the scene, along the axes where that is not periodic.
    #[serde(serialize_with = "serialize_domain")]
    #[schemars(with = "TheDomain")]
    Domain,
}

/// The keyword "domain".
#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "TheDomain", rename_all = "kebab-case")]
enum TheDomain {
    Domain,
}

fn serialize_domain<S: serde::Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    TheDomain::Domain.serialize(serializer)
}

/// A measurement in a region (number, mass and mean velocity of the bodies in it) or at a face (bodies
/// that pass it). A body is where its centre of mass is; fixed bodies do not count.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Probe", deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    {"required": ["box"]}, {"required": ["cylinder"]}, {"required": ["face"]}, {"required": ["disc"]},
]))]
pub struct Probe {
    /// Name. Default: "probe 0" and so on.
    pub name: Option<String>,
    /// A box.
    #[serde(rename = "box")]
    pub cuboid: Option<Region>,
    /// A cylinder.
    pub cylinder: Option<Cylinder>,
    /// A rectangle: `min` and `max` are equal along one axis, the direction of which is forward.
    pub face: Option<Region>,
    /// A disc.
    pub disc: Option<Disc>,
}

/// A cylinder.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Cylinder", deny_unknown_fields)]
pub struct Cylinder {
    /// Centre of its base, m.
    pub base: Vector,
    /// Direction of its axis, from the base on; of any length but 0.
    pub axis: Vector,
    /// m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub height: f64,
    /// m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: f64,
}

/// A disc.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Disc", deny_unknown_fields)]
pub struct Disc {
    /// Centre, m.
    pub center: Vector,
    /// Normal, of any length but 0: the direction that is forward.
    pub normal: Vector,
    /// m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: f64,
}

/// Distribution of sizes by number: multiples of the shape as it is written. They are drawn from 32
/// classes of equal probability, or from those of a table.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Sizes", deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    {"required": ["uniform"]}, {"required": ["normal"]}, {"required": ["log_normal"]},
    {"required": ["table"]},
]))]
pub struct Sizes {
    /// Evenly between two sizes.
    pub uniform: Option<Uniform>,
    /// By a normal distribution, cut off at two sizes.
    pub normal: Option<Normal>,
    /// By a distribution whose logarithm is normal, cut off at two sizes.
    pub log_normal: Option<LogNormal>,
    /// Pairs of a size and its weight.
    #[schemars(length(min = 1))]
    pub table: Option<Vec<List<f64, 2>>>,
}

/// Evenly distributed sizes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Uniform", deny_unknown_fields)]
pub struct Uniform {
    /// The smallest.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub min: f64,
    /// The largest.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub max: f64,
}

/// Normally distributed sizes.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Normal", deny_unknown_fields)]
pub struct Normal {
    /// Mean, before it is cut off.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub mean: f64,
    /// Standard deviation, before it is cut off.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub deviation: f64,
    /// The smallest. Default: three deviations below the mean.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub min: Option<f64>,
    /// The largest. Default: three deviations above the mean.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub max: Option<f64>,
}

/// Sizes whose logarithms are normally distributed.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "LogNormal", deny_unknown_fields)]
pub struct LogNormal {
    /// Median: half of the bodies are smaller.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub median: f64,
    /// Standard deviation of the natural logarithm.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub deviation: f64,
    /// The smallest. Default: three deviations below the median.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub min: Option<f64>,
    /// The largest. Default: three deviations above the median.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub max: Option<f64>,
}

/// Placement of the bodies of a fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Placement", rename_all = "kebab-case")]
pub enum Placement {
    /// On a cubic grid, from the bottom up.
    #[default]
    Grid,
    /// At random, without overlap.
    Random,
    /// At random and dense: bodies are placed small, and grow to their size while overlaps are eased apart.
    Packed,
}

/// A box along the axes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Region", deny_unknown_fields)]
pub struct Region {
    /// Corner with the smallest coordinates, m.
    pub min: Vector,
    /// Corner with the largest coordinates, m.
    pub max: Vector,
}

/// Orientation of the bodies of a fill.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FillOrientation {
    /// A random one for each body, all equally likely.
    #[default]
    #[serde(serialize_with = "serialize_random")]
    #[schemars(with = "Random")]
    Random,
    /// One orientation for all: quaternion x, y, z, w that turns a shape's own axes into the world.
    Fixed(List<f64, 4>),
}

/// The keyword "random".
#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Random", rename_all = "kebab-case")]
enum Random {
    Random,
}

fn serialize_random<S: serde::Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    Random::Random.serialize(serializer)
}

/// A vector, or a range from which each component is drawn evenly.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Range {
    /// One vector for all bodies.
    Same(Vector),
    /// Between `min` and `max`, component by component.
    Between(Region),
}

impl Default for Range {
    fn default() -> Self {
        Self::Same(origin())
    }
}

/// The quantities that are given to bodies, by fields of their names.
macro_rules! give_quantities {
    ($($Name:ident),*) => {$(
        impl $Name {
            pub(super) fn quantities(&self) -> Quantities<Option<f64>> {
                Quantities {
                    temperature: self.temperature,
                }
            }
        }
    )*};
}
give_quantities!(Body, Fill, Inlet);

impl Body {
    /// The body with these quantities, of which it names those that are not what bodies start with.
    pub(super) fn carrying(self, quantities: Quantities) -> Body {
        let Quantities { temperature } = quantities.unless_default();
        Body {
            temperature,
            ..self
        }
    }
}

objects! {
    SceneFile: "a scene: an object with \"version\", \"materials\", \"shapes\" and \"bodies\", \"fills\" or \"inlets\"",
    Contact: "an object such as {\"normal\": \"hooke\", \"tangential\": \"history\"}",
    Domain: "an object such as {\"min\": [-1, 0, -1], \"max\": [1, 2, 1], \"periodic\": [true, false, true]}",
    Output: "an object such as {\"every\": {\"seconds\": 0.02}, \"vtk\": [\"bodies\", \"contacts\"]}",
    Interval: "an object such as {\"steps\": 1000} or {\"seconds\": 0.01}",
    Material: "an object such as {\"density\": 2500, \"restitution\": 0.5, \"friction\": 0.5}",
    Pair: "an object such as {\"between\": [\"stone\", \"steel\"], \"friction\": 0.4}",
    NamedCohesion: "an object such as {\"force\": 0.1, \"range\": 1e-4}",
    Plane: "an object such as {\"point\": [0, 0, 0], \"normal\": [0, 1, 0], \"material\": \"stone\"}",
    Body: "an object such as {\"shape\": \"ball\", \"position\": [0, 1, 0]}",
    Start: "an object such as {\"from\": \"settled\"}",
    Fill: "an object such as {\"count\": 100, \"shapes\": {\"ball\": 1}, \"region\": {\"min\": [-1, 0, -1], \"max\": [1, 2, 1]}}",
    Inlet: "an object such as {\"rate\": 100, \"shapes\": {\"ball\": 1}, \"region\": {\"min\": [-1, 2, -1], \"max\": [1, 3, 1]}}",
    Outlet: "an object such as {\"inside\": {\"min\": [-1, -2, -1], \"max\": [1, -1, 1]}}",
    Probe: "an object such as {\"box\": {\"min\": [-1, 0, -1], \"max\": [1, 2, 1]}}",
    Cylinder: "an object such as {\"base\": [0, 0, 0], \"axis\": [0, 1, 0], \"height\": 2, \"radius\": 1}",
    Disc: "an object such as {\"center\": [0, 0, 0], \"normal\": [0, -1, 0], \"radius\": 1}",
    Sizes: "an object such as {\"uniform\": {\"min\": 0.8, \"max\": 1.2}}",
    Uniform: "an object such as {\"min\": 0.8, \"max\": 1.2}",
    Normal: "an object such as {\"mean\": 1, \"deviation\": 0.1}",
    LogNormal: "an object such as {\"median\": 1, \"deviation\": 0.2}",
    Region: "an object such as {\"min\": [-1, 0, -1], \"max\": [1, 2, 1]}",
}

keywords! {
    Integrator: "\"semi-implicit\" or \"explicit\"",
    InitialOverlap: "one of \"error\", \"relax\", \"allow\"",
    Kind: "\"bodies\", \"spheres\", \"contacts\" or \"walls\"",
    NormalModel: "\"hooke\", \"hertz\", \"impulse\" or \"custom\"",
    TangentialModel: "\"none\", \"viscous\", \"history\", \"mindlin\" or \"mindlin-rescale\"",
    Rolling: "\"none\", \"constant\" or \"spring\"",
    Placement: "one of \"grid\", \"random\", \"packed\"",
    Random: "\"random\" or a quaternion [x, y, z, w]",
    TheDomain: "\"domain\" or an object such as {\"min\": [-1, 0, -1], \"max\": [1, 2, 1]}",
}

// What may be written in two ways tells them apart by the JSON type. (serde's untagged enums would
// do the same, and lose both the place of an error and what it was.)

impl<'de> Deserialize<'de> for Cohesion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Cohesion;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(
                    "a work of adhesion (J/m²), {\"surface_energy\": w} or {\"force\": N, \"range\": m}",
                )
            }
            fn visit_f64<E: Error>(self, work: f64) -> Result<Self::Value, E> {
                Ok(Cohesion::Work(work))
            }
            fn visit_u64<E: Error>(self, work: u64) -> Result<Self::Value, E> {
                Ok(Cohesion::Work(work as f64))
            }
            fn visit_i64<E: Error>(self, work: i64) -> Result<Self::Value, E> {
                Ok(Cohesion::Work(work as f64))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                NamedCohesion::deserialize(MapAccessDeserializer::new(map)).map(Cohesion::Named)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for Division {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Division;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(
                    "a number of fragments, or lists of their spheres such as [[0, 1], [2, 3]]",
                )
            }
            fn visit_u64<E: Error>(self, count: u64) -> Result<Self::Value, E> {
                Ok(Division::Random(count))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Division::Given)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for FillOrientation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = FillOrientation;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("\"random\" or a quaternion [x, y, z, w]")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Random::deserialize(StrDeserializer::new(text)).map(|_| FillOrientation::Random)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                List::deserialize(SeqAccessDeserializer::new(list)).map(FillOrientation::Fixed)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for Outside {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Outside;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("\"domain\" or {\"min\": [x, y, z], \"max\": [x, y, z]}")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                TheDomain::deserialize(StrDeserializer::new(text)).map(|_| Outside::Domain)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Region::deserialize(MapAccessDeserializer::new(map)).map(Outside::Box)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Range;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("[x, y, z] or {\"min\": [x, y, z], \"max\": [x, y, z]}")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                List::deserialize(SeqAccessDeserializer::new(list)).map(Range::Same)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Region::deserialize(MapAccessDeserializer::new(map)).map(Range::Between)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
