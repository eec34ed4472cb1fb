//! Values of a scene that are changed by their place in it, before it is checked.

use serde_json::{Map, Value};

use super::comments::blank;
use super::error::Problem;

/// A value to put at a place of a scene, see [`load_changed`](super::load_changed).
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The place, as errors name it: `contact.stiffness`, `materials.stone.friction`, `bodies[0].position[1]`.
    pub path: String,
    /// Value that stands there from now on.
    pub value: Value,
}

impl Change {
    /// Reads `PATH=VALUE`. A value is JSON; what is none is a string, so that `contact.normal=hertz` needs no quotes.
    ///
    /// # Errors
    /// If there is no `=`, or nothing before it: what is expected, in words.
    pub fn parse(text: &str) -> Result<Change, String> {
        let (path, value) = split(text)?;
        Ok(Change {
            path: path.to_owned(),
            value: read(value),
        })
    }

    /// Reads `PATH=VALUE,VALUE,...`: a change for each value. Commas within brackets, braces and quotes belong to a value.
    ///
    /// # Errors
    /// As [`Change::parse`], and if a value is missing.
    pub fn parse_list(text: &str) -> Result<Vec<Change>, String> {
        let (path, list) = split(text)?;
        let values = parts(list);
        if values.iter().any(|value| value.is_empty()) {
            return Err(
                "expected values separated by commas, such as contact.stiffness=1e5,2e5".to_owned(),
            );
        }
        let change = |value: &str| Change {
            path: path.to_owned(),
            value: read(value),
        };
        Ok(values.into_iter().map(change).collect())
    }

    /// Whether a problem at a place of the scene is one of what this has put there.
    pub fn concerns(&self, place: &str) -> bool {
        let own = brackets(&self.path);
        let within = |inner: &str, outer: &str| {
            inner
                .strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        within(place, &own) || within(&own, place)
    }
}

fn split(text: &str) -> Result<(&str, &str), String> {
    match text.split_once('=') {
        Some((path, value)) if !path.trim().is_empty() => Ok((path.trim(), value.trim())),
        _ => Err("expected a place and a value, such as contact.stiffness=2e5".to_owned()),
    }
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// The items between those commas that are in no bracket, brace or string.
fn parts(list: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut quoted, mut escaped, mut start) = (0, false, false, 0);
    for (at, letter) in list.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => (),
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(list[start..at].trim());
                start = at + 1;
            }
            _ => (),
        }
    }
    parts.push(list[start..].trim());
    parts
}

/// A path with indices in brackets: `bodies[0].position[1]` for `bodies.0.position.1`.
fn brackets(path: &str) -> String {
    let mut all = String::new();
    for part in path.split('.') {
        let is_index = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        match (is_index, all.is_empty()) {
            (true, false) => all.push_str(&format!("[{part}]")),
            (_, false) => all.push_str(&format!(".{part}")),
            (_, true) => all.push_str(part),
        }
    }
    all
}

/// The text of a scene after changes, as JSON.
///
/// # Errors
/// If a place is not there, with what is.
pub(super) fn changed(text: &str, changes: &[Change]) -> Result<String, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut scene: Value = serde_json::from_str(&blank(text)).expect("the scene has been read");
    let schema = super::schema();
    for Change { path, value } in changes {
        let format = Format {
            schema: &schema,
            here: Some(&schema),
        };
        put(&mut scene, format, String::new(), path, value)?;
    }
    Ok(scene.to_string())
}

/// Puts `value` at the place `rest` of what stands at `walked`.
fn put(
    place: &mut Value,
    format: Format,
    walked: String,
    rest: &str,
    value: &Value,
) -> Result<(), Problem> {
    match place {
        Value::Object(fields) => {
            let name = name(rest, fields);
            let tail = &rest[name.len()..];
            let tail = tail.strip_prefix('.').unwrap_or(tail);
            let here = match walked.as_str() {
                "" => name.to_owned(),
                _ => format!("{walked}.{name}"),
            };
            if tail.is_empty() {
                // A name that is none of the format's is for the reader of the scene to find.
                fields.insert(name.to_owned(), value.clone());
                return Ok(());
            }
            let format = format.at(name);
            if !fields.contains_key(name) {
                if !format.is_field
                    || tail.starts_with(|start: char| start == '[' || start.is_ascii_digit())
                {
                    return Err(missing(&here, name, fields));
                }
                fields.insert(name.to_owned(), Value::Object(Map::new()));
            }
            put(&mut fields[name], format.format, here, tail, value)
        }
        Value::Array(entries) => {
            let count = entries.len();
            let Some((number, tail)) = index(rest) else {
                return Err(Problem::new(
                    &walked,
                    format!("a list of {count}"),
                    format!("the number of an entry, such as {walked}[0], and not {rest:?}"),
                ));
            };
            let here = format!("{walked}[{number}]");
            let Some(entry) = entries.get_mut(number) else {
                return Err(Problem::new(
                    here,
                    "nothing",
                    match count {
                        0 => format!("an entry of {walked}, which has none"),
                        1 => format!("{walked}[0], the only entry"),
                        _ => format!("an entry from {walked}[0] to {walked}[{}]", count - 1),
                    },
                ));
            };
            if tail.is_empty() {
                *entry = value.clone();
                return Ok(());
            }
            put(entry, format.entry(), here, tail, value)
        }
        other => Err(Problem::new(
            &walked,
            other.to_string(),
            format!("an object or a list that has {rest:?}"),
        )),
    }
}

fn missing(here: &str, name: &str, fields: &Map<String, Value>) -> Problem {
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    let expected = match quoted.as_slice() {
        [] => "a field that exists; there are none".to_owned(),
        [only] => format!("{only}, the only field"),
        names => format!("one of {}", names.join(", ")),
    };
    Problem::new(here, "nothing", expected).did_you_mean(name, names)
}

/// The name with which a path begins: that of a field, which may have dots, or what comes before a dot or a bracket.
fn name<'a>(path: &'a str, fields: &Map<String, Value>) -> &'a str {
    let is_start = |name: &&String| {
        path.strip_prefix(name.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let longest = fields.keys().filter(is_start).map(String::len).max();
    let end = longest.or_else(|| path.find(['.', '[']));
    &path[..end.unwrap_or(path.len())]
}

/// The number with which a path begins, `[3]` or `3`, and what comes after it.
fn index(path: &str) -> Option<(usize, &str)> {
    let (number, tail) = match path.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => path.split_at(path.find(['.', '[']).unwrap_or(path.len())),
    };
    Some((
        number.trim().parse().ok()?,
        tail.strip_prefix('.').unwrap_or(tail),
    ))
}

/// The part of the JSON Schema that describes a place.
#[derive(Clone, Copy)]
struct Format<'a> {
    schema: &'a Value,
    here: Option<&'a Value>,
}

/// The part that describes a named thing there.
struct Named<'a> {
    format: Format<'a>,
    /// Whether the name is one of the format, and not one that the user gives.
    is_field: bool,
}

impl<'a> Format<'a> {
    fn at(self, name: &str) -> Named<'a> {
        let field = self.find(&|schema| schema["properties"].get(name));
        let entry = || {
            self.find(&|schema| {
                schema
                    .get("additionalProperties")
                    .filter(|rest| rest.is_object())
            })
        };
        Named {
            format: Format {
                here: field.or_else(entry),
                ..self
            },
            is_field: field.is_some(),
        }
    }

    fn entry(self) -> Format<'a> {
        Format {
            here: self.find(&|schema| schema.get("items")),
            ..self
        }
    }

    /// The answer of `wanted` to the schema of this place, or to one of those that it refers to or chooses from.
    fn find(self, wanted: &dyn Fn(&'a Value) -> Option<&'a Value>) -> Option<&'a Value> {
        let here = self.here?;
        let inside = |here| Format { here, ..self }.find(wanted);
        if let Some(found) = wanted(here) {
            return Some(found);
        }
        if let Some(Value::String(pointer)) = here.get("$ref") {
            return inside(self.schema.pointer(pointer.strip_prefix('#')?));
        }
        let choices = ["anyOf", "oneOf"].into_iter();
        let mut choices = choices
            .filter_map(|choice| here.get(choice)?.as_array())
            .flatten();
        choices.find_map(|choice| inside(Some(choice)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SCENE: &str = r#"{
        // A ball.
        "version": 1,
        "materials": { "stone": { "density": 2500 }, "a.b": { "density": 1 } },
        "bodies": [ { "shape": "ball", "position": [0, 1, 0] }, { "shape": "ball" }, ],
    }"#;

    fn after(text: &str) -> Result<Value, String> {
        let change = Change::parse(text).unwrap();
        let text = changed(SCENE, &[change]).map_err(|problem| problem.to_string())?;
        Ok(serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn a_change_puts_a_value_where_its_path_leads() {
        for (text, pointer, value) in [
            (
                "materials.stone.density=3e3",
                "/materials/stone/density",
                json!(3e3),
            ),
            (
                "materials.stone.friction = 0.4",
                "/materials/stone/friction",
                json!(0.4),
            ),
            (
                "materials.a.b.density=2",
                "/materials/a.b/density",
                json!(2),
            ),
            ("bodies[0].position[1]=2", "/bodies/0/position/1", json!(2)),
            ("bodies.1.fixed=true", "/bodies/1/fixed", json!(true)),
            (
                "bodies[1]={\"shape\": \"rod\"}",
                "/bodies/1/shape",
                json!("rod"),
            ),
            ("contact.stiffness=2e5", "/contact/stiffness", json!(2e5)),
            ("contact.normal=hertz", "/contact/normal", json!("hertz")),
            ("output.every.steps=100", "/output/every/steps", json!(100)),
            ("gravity=[0, -1, 0]", "/gravity", json!([0, -1, 0])),
            ("name=a=b", "/name", json!("a=b")),
        ] {
            let scene = after(text).unwrap();
            assert_eq!(scene.pointer(pointer), Some(&value), "{text}: {scene}");
        }
    }

    #[test]
    fn a_path_that_leads_nowhere_is_told_what_is_there() {
        for (text, sentence) in [
            (
                "materials.ston.friction=1",
                "materials.ston: found nothing, expected one of \"stone\", \"a.b\"; did you mean \"stone\"?",
            ),
            (
                "bodies[2].shape=rod",
                "bodies[2]: found nothing, expected an entry from bodies[0] to bodies[1]",
            ),
            (
                "bodies.shape=rod",
                "bodies: found a list of 2, expected the number of an entry, such as bodies[0], and not \"shape\"",
            ),
            (
                "version.major=2",
                "version: found 1, expected an object or a list that has \"major\"",
            ),
            (
                "fills[0].count=3",
                "fills: found nothing, expected one of \"version\", \"materials\", \"bodies\"",
            ),
            (
                "bodis[0].shape=rod",
                "bodis: found nothing, expected one of \"version\", \"materials\", \"bodies\"; did you mean \"bodies\"?",
            ),
        ] {
            assert_eq!(after(text).unwrap_err(), sentence);
        }
    }

    #[test]
    fn lists_end_at_commas_outside_of_values() {
        let values = |text| -> Vec<Value> {
            let changes = Change::parse_list(text).unwrap();
            changes.into_iter().map(|change| change.value).collect()
        };
        assert_eq!(values("a=1, 2e1,x"), [json!(1), json!(2e1), json!("x")]);
        assert_eq!(
            values("gravity=[0,-1,0],[0,-2,0]"),
            [json!([0, -1, 0]), json!([0, -2, 0])]
        );
        assert_eq!(
            values(r#"a="1,\",2",{"b": 1}"#),
            [json!("1,\",2"), json!({"b": 1})]
        );
        for wrong in ["", "a", "=1", " = 1", "a=", "a=1,", "a=1,,2"] {
            assert!(Change::parse_list(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "a", "=1"] {
            assert!(Change::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_change_concerns_what_it_put_and_what_has_it() {
        let change = Change::parse("bodies.0.position=[0,0]").unwrap();
        for (place, concerned) in [
            ("bodies[0].position", true),
            ("bodies[0].position[1]", true),
            ("bodies[0]", true),
            ("bodies[1]", false),
            ("bodies[0].pos", false),
            ("$", false),
        ] {
            assert_eq!(change.concerns(place), concerned, "{place}");
        }
    }
}
