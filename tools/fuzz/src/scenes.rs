#![no_main]

use rockfall_fuzz::{parsers, takes_or_says_why};
use serde_json::Value;

/// Most bodies of a fill, spheres of a shape and the like: a scene may ask for millions, which takes as long.
const MOST: u64 = 1000;

fn is_large(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_u64().is_some_and(|number| number > MOST),
        Value::Array(all) => all.iter().any(is_large),
        Value::Object(fields) => fields.iter().any(|(name, value)| match name.as_str() {
            "count" | "n" | "spheres" | "fills" | "shapes" => is_large(value),
            _ => (value.is_object() || value.is_array()) && is_large(value),
        }),
        _ => false,
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if !serde_json::from_slice(bytes).is_ok_and(|scene| is_large(&scene)) {
        takes_or_says_why(parsers::scene(bytes));
    }
});
