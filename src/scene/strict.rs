//! Building blocks of the format that are stricter than serde is by default, and so can say better
//! what is wrong: objects that are no lists, lists of a known length, names that occur once.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// Starts a message of [`custom`], as no message of serde's does, and parts what was found from
/// what was expected.
pub(super) const SEPARATOR: char = '\u{1f}';

/// Both parts of a [`Problem`](super::Problem), through serde's only channel: a message.
/// [`read`](super::reading::read) takes it apart again.
pub(super) fn custom<E: Error>(found: impl fmt::Display, expected: impl fmt::Display) -> E {
    E::custom(format_args!("{SEPARATOR}{found}{SEPARATOR}{expected}"))
}

/// Implements serde's traits for types that derive them with themselves as `remote`, so that they are read from
/// an object only. What serde derives takes a list of the values as well, which the schema does not
/// allow and which turns a misplaced bracket into a riddle.
macro_rules! objects {
    ($($name:ident: $what:literal),* $(,)?) => {$(
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Object;
                impl<'de> serde::de::Visitor<'de> for Object {
                    type Value = $name;
                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        formatter.write_str($what)
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<$name, A::Error> {
                        $name::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                    }
                }
                deserializer.deserialize_map(Object)
            }
        }
        $crate::scene::strict::serialize_as_derived!($name);
    )*};
}
pub(super) use objects;

/// Like [`objects`], for enums whose variants are keywords: read from a string only.
macro_rules! keywords {
    ($($name:ident: $what:literal),* $(,)?) => {$(
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Keyword;
                impl serde::de::Visitor<'_> for Keyword {
                    type Value = $name;
                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        formatter.write_str($what)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        $name::deserialize(serde::de::value::StrDeserializer::new(text))
                    }
                }
                deserializer.deserialize_str(Keyword)
            }
        }
        $crate::scene::strict::serialize_as_derived!($name);
    )*};
}
pub(super) use keywords;

macro_rules! serialize_as_derived {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $name::serialize(self, serializer)
            }
        }
    };
}
pub(super) use serialize_as_derived;

/// A field that may be left out; if it is there, it has a value, and not null.
pub(super) fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// The schema of what [`given`] reads, and descriptions without the line breaks of the source.
pub(super) fn tidy(schema: &mut Schema) {
    let is_null = |schema: &Value| schema["type"] == "null";
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            object["type"] = only.clone();
        }
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf")
        && choices.iter().any(is_null)
    {
        choices.retain(|choice| !is_null(choice));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            object.extend(only);
        }
    }
    if let Some(Value::String(description)) = object.get_mut("description") {
        let paragraphs: Vec<String> = description
            .split("\n\n")
            .map(|paragraph| paragraph.replace('\n', " "))
            .collect();
        *description = paragraphs.join("\n\n");
    }
}

/// A list of exactly `N` values, such as the three numbers of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List<T, const N: usize>(pub [T; N]);

impl<T: Copy + Default, const N: usize> Default for List<T, N> {
    fn default() -> List<T, N> {
        List([T::default(); N])
    }
}

impl<'de, T: Deserialize<'de>, const N: usize> Deserialize<'de> for List<T, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T, const N: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const N: usize> Visitor<'de> for ListVisitor<T, N> {
            type Value = List<T, N>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "a list of {N} values")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut values = Vec::with_capacity(N);
                while values.len() < N {
                    match list.next_element()? {
                        Some(value) => values.push(value),
                        None => return Err(wrong_length(values.len(), N)),
                    }
                }
                let mut surplus = 0;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    surplus += 1;
                }
                match <[T; N]>::try_from(values) {
                    Ok(values) if surplus == 0 => Ok(List(values)),
                    _ => Err(wrong_length(N + surplus, N)),
                }
            }
        }
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

fn wrong_length<E: Error>(found: usize, expected: usize) -> E {
    let plural = if found == 1 { "" } else { "s" };
    custom(
        format_args!("a list of {found} value{plural}"),
        format_args!("a list of {expected} values"),
    )
}

impl<T: Serialize, const N: usize> Serialize for List<T, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

impl<T: JsonSchema, const N: usize> JsonSchema for List<T, N> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("List_of_{N}_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "items": generator.subschema_for::<T>(),
            "minItems": N,
            "maxItems": N,
        })
    }
}

/// Named values, in the order of the file; a name occurs once.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<T>(pub Vec<(String, T)>);

impl<T> Table<T> {
    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TableVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for TableVisitor<T> {
            type Value = Table<T>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object that gives each entry a name")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                let mut names = std::collections::HashSet::new();
                while let Some(name) = map.next_key::<String>()? {
                    if !names.insert(name.clone()) {
                        return Err(custom(format_args!("{name:?} twice"), "each name once"));
                    }
                    entries.push((name, map.next_value()?));
                }
                Ok(Table(entries))
            }
        }
        deserializer.deserialize_map(TableVisitor(PhantomData))
    }
}

impl<T: Serialize> Serialize for Table<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<T: JsonSchema> JsonSchema for Table<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Table_of_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "additionalProperties": generator.subschema_for::<T>(),
        })
    }
}
