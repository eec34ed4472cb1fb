//! From text to [`SceneFile`], and from serde's errors to sentences.

use serde_json::error::Category;
use serde_path_to_error::{Path, Segment};

use super::comments::blank;
use super::error::Problem;
use super::format::SceneFile;
use super::strict::SEPARATOR;

/// Most fields that an error lists.
const LISTED: usize = 20;

/// Fields that have other names than they once had: where they stood, what stands there now, and what else to say.
const RENAMED: [(&str, &str, &str); 4] = [
    (
        "contact.law",
        "\"normal\" and \"tangential\"",
        "for the law \"linear\" write \"normal\": \"hooke\", for \"hooke\" write \"normal\": \"hooke\", \"tangential\": \"history\", \
         and for \"hertz\", \"impulse\" and \"custom\" write the same word after \"normal\"",
    ),
    (
        "contact.attraction",
        "\"limit_damping\"",
        "for \"attraction\": \"clamped\" write \"limit_damping\": true, for \"allowed\" write false",
    ),
    (
        "springs[].length",
        "\"rest_length\"",
        "the field has been renamed",
    ),
    (
        "water.waves[].length",
        "\"wavelength\"",
        "the field has been renamed",
    ),
];

/// Longest piece of the file that an error quotes, in characters.
const QUOTED: usize = 60;

/// Reads a scene. serde stops at the first thing that does not fit the format, so there is one
/// problem at most.
pub(super) fn read(text: &str) -> Result<SceneFile, Problem> {
    // Some editors start a file with a byte order mark, which JSON does not know.
    let text = &*blank(text.strip_prefix('\u{feff}').unwrap_or(text));
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let scene = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = known(error.path());
        explain(path, error.inner(), text)
    })?;
    deserializer
        .end()
        .map_err(|error| explain("$".into(), &error, text))?;
    Ok(scene)
}

/// The path up to the first segment that serde could not name; `$` if there is none.
fn known(path: &Path) -> String {
    let mut known = String::new();
    for segment in path {
        match segment {
            Segment::Seq { .. } => known.push_str(&segment.to_string()),
            Segment::Map { key: name } | Segment::Enum { variant: name } => {
                if !known.is_empty() {
                    known.push('.');
                }
                known.push_str(name);
            }
            Segment::Unknown => break,
        }
    }
    if known.is_empty() {
        known.push('$');
    }
    known
}

fn explain(path: String, error: &serde_json::Error, text: &str) -> Problem {
    let (line, column) = (error.line(), error.column());
    let message = error.to_string();
    let message = message
        .strip_suffix(&format!(" at line {line} column {column}"))
        .unwrap_or(&message);
    match error.classify() {
        Category::Data => misfit(path, message),
        _ => {
            let mut problem = syntax(path, message, token(text, line, column));
            problem.found = format!("{} at line {line}, column {column}", problem.found);
            problem
        }
    }
}

/// JSON that is none of ours.
fn misfit(path: String, message: &str) -> Problem {
    if let Some((found, expected)) = message
        .strip_prefix(SEPARATOR)
        .and_then(|message| message.rsplit_once(SEPARATOR))
    {
        return Problem::new(path, found, expected);
    }
    let (what, expected) = message.rsplit_once(", expected ").unwrap_or((message, ""));
    if let Some(field) = quoted(what, "unknown field ") {
        let found = format!("the unknown field {:?}", shorten(field));
        let place = path.replace(|c: char| c.is_ascii_digit(), "");
        if let Some((_, now, help)) = RENAMED.iter().find(|(old, ..)| *old == place) {
            return Problem::new(path, found, *now).help(*help);
        }
        let expected_fields = match names(expected).count() {
            count if count > LISTED => "one of the fields that `rockfall schema` describes".into(),
            _ => plain(expected),
        };
        return Problem::new(path, found, expected_fields).did_you_mean(field, names(expected));
    }
    if let Some(variant) = quoted(what, "unknown variant ") {
        return Problem::new(path, format!("{:?}", shorten(variant)), plain(expected))
            .did_you_mean(variant, names(expected));
    }
    let inside = |field: &str| match path.as_str() {
        "$" => field.to_owned(),
        _ => format!("{path}.{field}"),
    };
    if let Some(field) = quoted(message, "missing field ") {
        return Problem::new(
            inside(field),
            "nothing",
            format!("{field:?}, which has no default"),
        );
    }
    if let Some(field) = quoted(message, "duplicate field ") {
        return Problem::new(inside(field), format!("{field:?} twice"), "it once");
    }
    let found = what
        .strip_prefix("invalid type: ")
        .or_else(|| what.strip_prefix("invalid value: "))
        .unwrap_or(what);
    Problem::new(path, value(found), expectation(expected))
}

/// The problem of a text that is no JSON.
fn syntax(path: String, message: &str, token: &str) -> Problem {
    let no_number = token.trim_start_matches(['-', '+']).to_ascii_lowercase();
    if ["nan", "inf", "infinity"].contains(&no_number.as_str()) {
        return Problem::new(path, shorten(token), "a number")
            .help("JSON has no NaN and no infinity; write a finite number");
    }
    if token == "/*" {
        return Problem::new(path, "the start of a comment", "its end, */, further on");
    }
    if token == "#" {
        return Problem::new(path, "`#`", "JSON")
            .help("a comment begins with // or stands between /* and */");
    }
    if let Some(what) = message.strip_prefix("EOF while parsing ") {
        return Problem::new(path, "the end of the file", format!("the rest of {what}"));
    }
    let token = format!("`{}`", shorten(token));
    match message {
        "number out of range" => Problem::new(path, token, "a number below 1.8e308"),
        "invalid number" => Problem::new(path, token, "a number such as 12, -0.5 or 1e-3"),
        "trailing characters" => Problem::new(
            path,
            format!("{token} after the scene"),
            "the end of the file",
        ),
        "key must be a string" => Problem::new(path, token, "a name in double quotes"),
        "expected value" | "expected ident" => Problem::new(
            path,
            token,
            "a value: a number, a string in double quotes, true, false, null, [...] or {...}",
        ),
        _ => match message.strip_prefix("expected ") {
            Some(expected) => Problem::new(path, token, expected),
            None => Problem::new(path, message, "JSON"),
        },
    }
}

/// The word, number or single character around a place of the text; line and column count from 1,
/// the column in bytes.
fn token(text: &str, line: usize, column: usize) -> &str {
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or("");
    let at = column.saturating_sub(1).min(line.len());
    let part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte);
    let bytes = line.as_bytes();
    let start = at - bytes[..at].iter().rev().take_while(|b| part(**b)).count();
    let end = at + bytes[at..].iter().take_while(|b| part(**b)).count();
    if bytes.get(at).is_some_and(|byte| part(*byte)) {
        return &line[start..end];
    }
    // A single character, which the place may be in the middle of.
    let start = (0..=at).rev().find(|i| line.is_char_boundary(*i));
    let rest = &line[start.unwrap_or(0)..];
    if rest.starts_with("/*") {
        return &rest[..2];
    }
    &rest[..rest.chars().next().map_or(0, char::len_utf8)]
}

/// `name` of "prefix `name`".
fn quoted<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    text.strip_prefix(prefix)?
        .strip_prefix('`')?
        .strip_suffix('`')
}

/// The names of "`a`, `b` or `c`".
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn plain(text: &str) -> String {
    text.replace('`', "\"")
}

/// serde's words for a value, in plain ones: "map" is an object, "integer `3`" is 3.
fn value(found: &str) -> String {
    match found {
        "map" => "an object".into(),
        "sequence" => "a list".into(),
        "null" => "null".into(),
        _ if found.starts_with("string ") => format!("the {}", shorten(found)),
        _ => match found.split('`').nth(1) {
            Some(number) => number.into(),
            None => shorten(found),
        },
    }
}

/// serde's words for a type, in plain ones.
fn expectation(expected: &str) -> String {
    match expected {
        "f64" => "a number",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" => "a whole number, 0 or more",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        other => other,
    }
    .into()
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into(),
    }
}
