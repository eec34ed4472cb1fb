//! Bodies, as they are written: one by one, or in a file.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, DerefMut};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_with::apply;

use super::super::strict::{Table, given, objects};
use super::{Body, Units};

/// Bodies, one by one, or those of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bodies {
    /// One by one. Loading a scene puts those of a file here.
    pub list: Vec<Body>,
    /// The file that they are in.
    pub from: Option<BodiesFile>,
}

impl Bodies {
    /// Whether there are none.
    pub(super) fn is_none(&self) -> bool {
        self.list.is_empty() && self.from.is_none()
    }
}

impl Deref for Bodies {
    type Target = Vec<Body>;
    fn deref(&self) -> &Vec<Body> {
        &self.list
    }
}

impl DerefMut for Bodies {
    fn deref_mut(&mut self) -> &mut Vec<Body> {
        &mut self.list
    }
}

impl Serialize for Bodies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.from {
            Some(from) => from.serialize(serializer),
            None => self.list.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Bodies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Bodies;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of bodies, or an object such as {\"file\": \"bed.csv\", \"shape\": \"ball\"}")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                let list = Vec::deserialize(SeqAccessDeserializer::new(list))?;
                Ok(Bodies { list, from: None })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let from = BodiesFile::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Bodies {
                    list: Vec::new(),
                    from: Some(from),
                })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for Bodies {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Bodies".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let list = generator.subschema_for::<Vec<Body>>();
        let from = generator.subschema_for::<BodiesFile>();
        json_schema!({ "anyOf": [list, from] })
    }
}

/// Bodies from a file: CSV with a line of names; the last state of a text dump of LAMMPS or LIGGGHTS; an uncompressed archive
/// NPZ of numpy; or the points of a VTK file, in the older format, or in XML as text or raw bytes.
///
/// The names of columns count, not their order: `x`, `y`, `z` (or `position_x`, ...); and, if they are there, `vx` or `velocity_x`, ...;
/// `omegax`, `wx` or `angular_velocity_x`, ...; `orientation_x` or `qx`, ..., `..._w`; `radius` or `diameter`; `type`; `temperature`.
/// Other columns are not used.
#[apply(Option => #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(remote = "BodiesFile", deny_unknown_fields)]
#[schemars(extend("anyOf" = [{"required": ["shape"]}, {"required": ["types"]}]))]
pub struct BodiesFile {
    /// The file, relative to the folder of the scene file.
    pub file: String,
    /// Name of the shape of all bodies, except those whose type has its own shape. If the file has radii, the shape is a single
    /// sphere, which gets the radius of each body.
    pub shape: Option<String>,
    /// Names of shapes by the values of the column `type`: `{"1": "ball", "2": "pair"}`.
    #[serde(default, skip_serializing_if = "no_types")]
    pub types: Table<String>,
    /// Name of a material, which takes the place of that of the shapes. Default: that of the shape.
    pub material: Option<String>,
    /// The unit of positions, radii and velocities in the file (of velocities, a second). Default: "m".
    pub units: Option<Units>,
    /// Name of their group. Default: none.
    pub group: Option<String>,
    /// Whether they stay in place. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fixed: bool,
}

fn no_types(types: &Table<String>) -> bool {
    types.0.is_empty()
}

objects! {
    BodiesFile: "an object such as {\"file\": \"bed.csv\", \"shape\": \"ball\"}",
}
