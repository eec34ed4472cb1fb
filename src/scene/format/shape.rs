//! Shapes, as they are written.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_with::apply;

use super::super::strict::{self, given, keywords, objects};
use super::{List, Units, Vector, origin};

/// A shape: a rigid composite of spheres. It gives exactly one of `sphere`, `cube`, `tetrahedron`, `rod`,
/// `torus`, `box`, `mesh`, `spheres` and `parts`.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Shape", deny_unknown_fields)]
#[schemars(extend(
    "oneOf" = [
        {"required": ["sphere"]}, {"required": ["cube"]}, {"required": ["tetrahedron"]},
        {"required": ["rod"]}, {"required": ["torus"]}, {"required": ["box"]},
        {"required": ["mesh"]}, {"required": ["spheres"]}, {"required": ["parts"]},
    ],
    "anyOf" = [{"required": ["material"]}, {"required": ["parts"]}],
))]
pub struct Shape {
    /// One sphere.
    pub sphere: Option<Sphere>,
    /// n x n x n spheres on a cubic lattice, centred on the origin.
    pub cube: Option<Lattice>,
    /// A regular tetrahedron of spheres, n along each edge, centred on the origin.
    pub tetrahedron: Option<Lattice>,
    /// n spheres in a row along x, centred on the origin.
    pub rod: Option<Lattice>,
    /// n spheres on a ring around the y axis, centred on the origin.
    pub torus: Option<Torus>,
    /// A cuboid about the origin, along the axes, with spheres along its faces: smooth enough to be stacked.
    #[serde(rename = "box")]
    pub cuboid: Option<Cuboid>,
    /// Spheres fitted inside a watertight mesh.
    pub mesh: Option<FittedMesh>,
    /// Spheres, one by one, in the shape's own axes.
    #[schemars(length(min = 1))]
    pub spheres: Option<Vec<CenteredSphere>>,
    /// Other shapes of the scene, put together; where they overlap, the mass counts for each of them.
    #[schemars(length(min = 1))]
    pub parts: Option<Vec<Part>>,
    /// Name of the material. A shape of `parts` may leave it out: then each part keeps its own.
    pub material: Option<String>,
    /// Source of mass, centre of mass and inertia. Default: for a `box`, the solid cuboid; for a `mesh`, the volume
    /// that it encloses; for `parts`, their sum; else "spheres".
    pub mass_properties: Option<MassProperties>,
}

/// A sphere about the origin of its shape.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Sphere", deny_unknown_fields)]
pub struct Sphere {
    /// Radius, m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: f64,
}

/// Equal spheres in a regular arrangement.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Lattice", deny_unknown_fields)]
pub struct Lattice {
    /// Number of spheres along an edge. Default: 2.
    #[serde(default = "two")]
    #[schemars(range(min = 1))]
    pub n: u32,
    /// Radius of each sphere, m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: f64,
    /// Distance between the centres of neighbours, m. Default: twice the radius, so that they touch.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub spacing: Option<f64>,
}

/// Equal spheres on a ring.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Torus", deny_unknown_fields)]
pub struct Torus {
    /// Number of spheres.
    #[schemars(range(min = 2))]
    pub n: u32,
    /// Radius of each sphere, m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: f64,
    /// Radius of the ring on which their centres lie, m. Default: neighbours touch.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub ring_radius: Option<f64>,
}

/// A sphere of an explicit list.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "CenteredSphere", deny_unknown_fields)]
pub struct CenteredSphere {
    /// Centre in the shape's own axes, m.
    pub center: Vector,
    /// Radius, m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: f64,
}

/// A cuboid of equal spheres along its faces, edges and corners, which touch them from inside.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Cuboid", deny_unknown_fields)]
pub struct Cuboid {
    /// Lengths of its sides along x, y and z, m: each at least twice the radius.
    pub size: Vector,
    /// Radius of each sphere, m: that of the rounded edges.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: f64,
    /// Largest distance between the centres of neighbours, m; the smaller, the smoother the faces. Along
    /// each side it is divided into equal steps. Default: the radius.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub spacing: Option<f64>,
}

/// Spheres inside a watertight mesh: a given number, or as many as approximate its surface within a tolerance.
/// `rockfall check` prints their number and the largest gap.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "FittedMesh", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["spheres"]}, {"required": ["tolerance"]}]))]
pub struct FittedMesh {
    /// An OBJ or STL file (text or binary), relative to the folder of the scene file; its triangles are
    /// anticlockwise seen from outside.
    pub file: String,
    /// Factor of lengths in the file, besides `units`. Default: 1.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub scale: Option<f64>,
    /// The unit of lengths in the file. Default: "m".
    pub units: Option<Units>,
    /// Number of spheres. They are placed to make the largest gap between the surface of the mesh and theirs
    /// as small as possible; if fewer do as well, there are fewer.
    #[schemars(range(min = 1))]
    pub spheres: Option<u32>,
    /// Largest gap between the surface of the mesh and that of the spheres, m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub tolerance: Option<f64>,
}

/// A shape as a part of another one. Its orientation is given as that of a body.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Part", deny_unknown_fields)]
#[schemars(extend(
    "dependentRequired" = {"axis": ["angle"], "angle": ["axis"]},
    "not" = {"required": ["orientation", "axis"]},
))]
pub struct Part {
    /// Name of a shape, which does not consist of this one.
    pub shape: String,
    /// Position of the part's own origin in the axes of the whole, m. Default: 0, 0, 0.
    #[serde(default = "origin")]
    pub position: Vector,
    /// Quaternion x, y, z, w that turns the part's own axes into those of the whole; it is normalised.
    pub orientation: Option<List<f64, 4>>,
    /// Axis of rotation, of any length but zero.
    pub axis: Option<Vector>,
    /// Angle about `axis`, rad.
    pub angle: Option<f64>,
}

/// Source of mass, centre of mass and inertia of a shape.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum MassProperties {
    /// From the spheres and the density of the material.
    Computed(Volume),
    /// Given.
    Given(GivenMass),
}

/// Volume of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Volume", rename_all = "kebab-case")]
pub enum Volume {
    /// Summed spheres, each with its own 2/5 m r²; where spheres overlap, the overlap counts twice.
    Spheres,
    /// The exact union of the spheres; where they overlap, the overlap counts once.
    Union,
}

/// Mass, centre of mass and inertia as given.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "GivenMass", deny_unknown_fields)]
pub struct GivenMass {
    /// Mass, kg.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub mass: f64,
    /// Centre of mass in the shape's own axes, m. Default: the shape's origin.
    #[serde(default = "origin")]
    pub center_of_mass: Vector,
    /// Inertia about the centre of mass in the shape's own axes, kg m².
    pub inertia: Inertia,
}

/// Inertia about the centre of mass in the shape's own axes, kg m².
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Inertia {
    /// [Ixx, Iyy, Izz]; the products of inertia are zero.
    Diagonal(Vector),
    /// The symmetric 3 x 3 tensor, row by row.
    Tensor(List<Vector, 3>),
}

fn two() -> u32 {
    2
}

objects! {
    Shape: "an object such as {\"sphere\": {\"radius\": 0.05}, \"material\": \"stone\"}",
    Sphere: "an object such as {\"radius\": 0.05}",
    Lattice: "an object such as {\"n\": 2, \"radius\": 0.03}",
    Torus: "an object such as {\"n\": 8, \"radius\": 0.03}",
    CenteredSphere: "an object such as {\"center\": [0, 0, 0], \"radius\": 0.05}",
    Cuboid: "an object such as {\"size\": [0.2, 0.2, 0.2], \"radius\": 0.02}",
    FittedMesh: "an object such as {\"file\": \"rock.obj\", \"spheres\": 40}",
    Part: "an object such as {\"shape\": \"cube\", \"position\": [0, 0.1, 0]}",
    GivenMass: "an object such as {\"mass\": 2, \"inertia\": [1, 1, 1]}",
}

keywords! {
    Volume: "\"spheres\", \"union\" or an object with \"mass\" and \"inertia\"",
}

impl<'de> Deserialize<'de> for MassProperties {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = MassProperties;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter
                    .write_str("\"spheres\", \"union\" or an object with \"mass\" and \"inertia\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Volume::deserialize(StrDeserializer::new(text)).map(MassProperties::Computed)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                GivenMass::deserialize(MapAccessDeserializer::new(map)).map(MassProperties::Given)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for Inertia {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// A component of the diagonal, or a row of the tensor.
        enum Entry {
            Moment(f64),
            Row(Vector),
        }
        impl<'de> Deserialize<'de> for Entry {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Either;
                impl<'de> Visitor<'de> for Either {
                    type Value = Entry;
                    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                        formatter.write_str("a number, or a row of three numbers")
                    }
                    fn visit_f64<E: Error>(self, number: f64) -> Result<Entry, E> {
                        Ok(Entry::Moment(number))
                    }
                    fn visit_u64<E: Error>(self, number: u64) -> Result<Entry, E> {
                        Ok(Entry::Moment(number as f64))
                    }
                    fn visit_i64<E: Error>(self, number: i64) -> Result<Entry, E> {
                        Ok(Entry::Moment(number as f64))
                    }
                    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Entry, A::Error> {
                        List::deserialize(SeqAccessDeserializer::new(list)).map(Entry::Row)
                    }
                }
                deserializer.deserialize_any(Either)
            }
        }
        match List::<Entry, 3>::deserialize(deserializer)?.0 {
            [Entry::Moment(x), Entry::Moment(y), Entry::Moment(z)] => {
                Ok(Self::Diagonal(List([x, y, z])))
            }
            [Entry::Row(x), Entry::Row(y), Entry::Row(z)] => Ok(Self::Tensor(List([x, y, z]))),
            _ => Err(strict::custom(
                "numbers and rows",
                "[Ixx, Iyy, Izz] or three rows of three numbers",
            )),
        }
    }
}
