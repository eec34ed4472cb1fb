//! Validator for the part of JSON Schema (2020-12) that the schema of a scene uses; an unknown keyword is an
//! error, so that nothing goes unchecked.

use serde_json::Value;

/// Whether `value` fits `schema`; if not, why.
pub fn validate(schema: &Value, value: &Value) -> Result<(), String> {
    check(schema, schema, value, "$")
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Value::Object(keywords) = schema else {
        return match schema {
            Value::Bool(true) => Ok(()),
            _ => Err(format!("{at}: nothing is allowed here")),
        };
    };
    let number = value.as_f64();
    let list = value.as_array().map(Vec::as_slice);
    let object = value.as_object();
    let count = |value: &Value| value.as_u64().unwrap() as usize;
    let fits = |schema: &Value| check(root, schema, value, at).is_ok();
    let has_all = |names: &Value| {
        let mut names = names.as_array().unwrap().iter();
        object.is_none_or(|object| names.all(|name| object.contains_key(name.as_str().unwrap())))
    };
    for (keyword, rule) in keywords {
        let bound = || rule.as_f64().unwrap();
        let holds = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" | "format" => true,
            // For editors.
            "allowComments" | "allowTrailingCommas" => true,
            "$ref" => {
                let pointer = rule.as_str().unwrap().strip_prefix('#').unwrap();
                check(root, root.pointer(pointer).unwrap(), value, at)?;
                true
            }
            "type" => has_type(value, rule.as_str().unwrap()),
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "minimum" => number.is_none_or(|number| number >= bound()),
            "maximum" => number.is_none_or(|number| number <= bound()),
            "exclusiveMinimum" => number.is_none_or(|number| number > bound()),
            "exclusiveMaximum" => number.is_none_or(|number| number < bound()),
            "minItems" => list.is_none_or(|list| list.len() >= count(rule)),
            "maxItems" => list.is_none_or(|list| list.len() <= count(rule)),
            "minProperties" => object.is_none_or(|object| object.len() >= count(rule)),
            "required" => has_all(rule),
            "dependentRequired" => rule.as_object().unwrap().iter().all(|(name, others)| {
                !object.is_some_and(|object| object.contains_key(name)) || has_all(others)
            }),
            "oneOf" => rule.as_array().unwrap().iter().filter(|s| fits(s)).count() == 1,
            "anyOf" => rule.as_array().unwrap().iter().any(fits),
            "not" => !fits(rule),
            "items" => {
                for (index, item) in list.unwrap_or_default().iter().enumerate() {
                    check(root, rule, item, &format!("{at}[{index}]"))?;
                }
                true
            }
            "properties" => {
                for (name, value) in object.into_iter().flatten() {
                    if let Some(schema) = rule.get(name) {
                        check(root, schema, value, &format!("{at}.{name}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                for (name, value) in object.into_iter().flatten() {
                    if keywords
                        .get("properties")
                        .is_none_or(|known| known.get(name).is_none())
                    {
                        check(root, rule, value, &format!("{at}.{name}"))?;
                    }
                }
                true
            }
            other => return Err(format!("{at}: the keyword {other:?} is not known here")),
        };
        if !holds {
            return Err(format!("{at}: {value} breaks {keyword:?}: {rule}"));
        }
    }
    Ok(())
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("the type {other:?} is not known here"),
    }
}
