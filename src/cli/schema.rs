//! `rockfall schema`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use rockfall::scene;
use serde_json::Value;

use super::failure::{Failure, Outcome};
use super::terminal;

/// Print the JSON Schema of scenes for editors, or a reference for readers
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Print a reference in Markdown instead: every field with its type, unit and default
    #[arg(long)]
    markdown: bool,

    /// Add to each type of the reference the mistakes in its fields that this table has, for the handbook
    #[arg(long, value_name = "FILE", requires = "markdown", hide = true)]
    mistakes: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  rockfall schema > rockfall.schema.json
  rockfall schema --markdown | less

If a scene begins with { \"$schema\": \"rockfall.schema.json\", \"version\": 1, ... editors that support
JSON Schema, such as VS Code, complete names and mark mistakes. VS Code also accepts comments.";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let schema = scene::schema();
    if arguments.markdown {
        let table = arguments.mistakes.as_deref().map(read).transpose()?;
        let page = reference(&schema, table.as_deref().unwrap_or_default());
        terminal::print(format_args!("{}", page.trim_end()))
    } else {
        terminal::print(format_args!("{schema:#}"))
    }
}

fn read(file: &Path) -> Outcome<String> {
    fs::read_to_string(file).map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))
}

/// The schema as a page: a section for each type, in the order in which fields name them, with the mistakes of a table
/// whose lines are `PLACE = VALUE => SENTENCE`.
fn reference(schema: &Value, table: &str) -> String {
    let mistakes: Vec<Mistake> = Mistake::all(table).collect();
    let mut page = String::from("# Scene format\n\n");
    let _ = writeln!(
        page,
        "A scene file is one JSON object, the [scene](#scene). It may contain comments as in C, and a comma after the last \
         entry of a list or object. A field without a default must be given.\n"
    );
    let types = schema["$defs"].as_object();
    let types = types.into_iter().flatten();
    let types = types.map(|(name, of_name)| (name.as_str(), of_name));
    for (name, of_name) in std::iter::once((SCENE, schema)).chain(types) {
        section(&mut page, name, of_name);
        let own = mistakes
            .iter()
            .filter(|mistake| mistake.type_in(schema) == name);
        let lines: String = own.map(Mistake::line).collect();
        if !lines.is_empty() {
            let _ = writeln!(page, "Mistakes and their messages:\n\n{lines}");
        }
    }
    page
}

/// Name of the outermost type.
const SCENE: &str = "Scene";

/// A line of the table of mistakes.
struct Mistake<'a> {
    /// JSON pointer to the value in a scene.
    pointer: &'a str,
    value: &'a str,
    /// Place that the message names, such as `planes[0].normal`.
    place: &'a str,
    /// The message without its place.
    message: &'a str,
}

impl<'a> Mistake<'a> {
    fn all(table: &'a str) -> impl Iterator<Item = Mistake<'a>> {
        let lines = table.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| {
            let (pointer, rest) = line.split_once(" = ")?;
            let (value, sentence) = rest.split_once(" => ")?;
            let (place, message) = sentence.split_once(": ")?;
            // A contact law may stand before the pointer.
            let pointer = &pointer[pointer.find('/')?..];
            Some(Mistake {
                pointer,
                value,
                place,
                message,
            })
        })
    }

    /// Name of the type that has the field which the message names.
    fn type_in<'s>(&self, schema: &'s Value) -> &'s str {
        let mut at = (SCENE, schema);
        let mut owner = SCENE;
        for key in self.place.split(['.', '[']) {
            let Some(field) = field(schema, at, key.trim_end_matches(']')) else {
                return at.0;
            };
            (owner, at) = field;
        }
        owner
    }

    fn line(&self) -> String {
        let mut place = String::new();
        for key in self.pointer.split('/').skip(1) {
            let _ = match key.parse::<usize>() {
                Ok(index) => write!(place, "[{index}]"),
                Err(_) if place.is_empty() => write!(place, "{key}"),
                Err(_) => write!(place, ".{key}"),
            };
        }
        let named = match self.place == place {
            true => String::new(),
            false => format!("`{}`: ", self.place),
        };
        let message = self.message.replace('*', "\\*").replace('<', "\\<");
        format!("- `{place} = {}`: {named}{message}\n", self.value)
    }
}

/// A type, by its name and its schema.
type Type<'s> = (&'s str, &'s Value);

/// Field of a type by its key: the name of the type that has it, which may be one of several, and the type of its value.
fn field<'s>(root: &'s Value, (name, schema): Type<'s>, key: &str) -> Option<(&'s str, Type<'s>)> {
    let named = |value: &'s Value| {
        let target = value["$ref"].as_str()?.rsplit('/').next()?;
        Some((target, &root["$defs"][target]))
    };
    if let Some(target) = named(schema) {
        return field(root, target, key);
    }
    let items = schema.get("items").filter(|_| key.parse::<usize>().is_ok());
    let of_names = schema
        .get("additionalProperties")
        .filter(|of| of.is_object());
    if let Some(value) = schema["properties"].get(key).or(items).or(of_names) {
        return Some((name, named(value).unwrap_or((name, value))));
    }
    let choices = ["oneOf", "anyOf", "allOf"].iter();
    let mut choices = choices.flat_map(|of| schema[*of].as_array().into_iter().flatten());
    choices.find_map(|choice| field(root, (name, choice), key))
}

fn section(page: &mut String, name: &str, schema: &Value) {
    let _ = writeln!(page, "## {name}\n");
    let _ = writeln!(page, "{}\n", description(schema));
    if let Some(fields) = schema["properties"].as_object() {
        let _ = writeln!(page, "| field | type | meaning |\n|---|---|---|");
        let required: Vec<&Value> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        for (field, own) in fields {
            let mut meaning = cell(&description(own));
            if required.iter().any(|name| *name == field) {
                meaning.push_str(" **Required.**");
            } else if let Some(default) =
                own.get("default").filter(|_| !meaning.contains("Default:"))
            {
                let _ = write!(meaning, " Default: `{default}`.");
            }
            let _ = writeln!(page, "| `{field}` | {} | {meaning} |", cell(&kind(own)));
        }
        page.push('\n');
    }
    for choices in ["oneOf", "anyOf"] {
        let described = |choice: &&Value| choice.get("description").is_some();
        let choices: Vec<&Value> = schema[choices].as_array().into_iter().flatten().collect();
        if choices.is_empty() || !choices.iter().all(described) {
            continue;
        }
        for choice in &choices {
            let _ = writeln!(page, "- {}: {}", kind(choice), cell(&description(choice)));
        }
        page.push('\n');
    }
}

fn description(schema: &Value) -> String {
    schema["description"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Text as a cell of a table takes it.
fn cell(text: &str) -> String {
    text.replace("\n\n", " ")
        .replace('\n', " ")
        .replace('|', "\\|")
}

/// The type of a value, in words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap_or(name);
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(only) = schema.get("const") {
        return format!("`{only}`");
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let kinds: Vec<String> = choices.iter().map(kind).collect();
        return kinds.join(" or ");
    }
    match schema["type"].as_str() {
        Some("array") => {
            let of = kind(&schema["items"]);
            let count = schema["minItems"].as_u64();
            match count.filter(|_| schema["minItems"] == schema["maxItems"]) {
                Some(count) => format!("list of {count}: {of}"),
                None => format!("list of: {of}"),
            }
        }
        Some("object") => match schema.get("additionalProperties") {
            Some(of) => format!("object of names: {}", kind(of)),
            None => "object".to_owned(),
        },
        Some("integer") => format!("whole number{}", bounds(schema)),
        Some("number") => format!("number{}", bounds(schema)),
        Some("boolean") => "true or false".to_owned(),
        Some(other) => other.to_owned(),
        None => "anything".to_owned(),
    }
}

fn bounds(schema: &Value) -> String {
    let bound = |key: &str, sign: &str| schema.get(key).map(|bound| format!("{sign} {bound}"));
    let bounds = [
        bound("minimum", "≥"),
        bound("exclusiveMinimum", ">"),
        bound("maximum", "≤"),
        bound("exclusiveMaximum", "<"),
    ];
    let bounds: Vec<String> = bounds.into_iter().flatten().collect();
    match bounds.is_empty() {
        true => String::new(),
        false => format!(" {}", bounds.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_has_every_field_with_what_it_means() {
        let schema = &scene::schema();
        let page = reference(schema, "");
        let types = schema["$defs"].as_object().unwrap();
        let mut fields = 0;
        for own in types.values().chain([schema]) {
            for (name, field) in own["properties"].as_object().into_iter().flatten() {
                assert!(page.contains(&format!("| `{name}` | ")), "{name}");
                let meaning = description(field);
                let required = own["required"].as_array().into_iter().flatten();
                let is_given = required.into_iter().any(|one| one == name);
                let says = meaning.contains("efault") || field.get("default").is_some();
                let is_list = field["type"] == "array" || field["type"] == "object";
                let one_of = ["oneOf", "anyOf"].iter().any(|key| own.get(*key).is_some());
                let of_all = description(own).contains("left out");
                assert!(!meaning.is_empty(), "{name} has no description");
                assert!(
                    is_given
                        || says
                        || is_list
                        || one_of
                        || of_all
                        || UNSAID.contains(&name.as_str()),
                    "{name} has no default"
                );
                fields += 1;
            }
        }
        assert!(fields > 250, "{fields}");
        let links = page
            .split("](#")
            .skip(1)
            .map(|rest| rest.split(')').next().unwrap());
        for link in links {
            let heading = page.lines().filter_map(|line| line.strip_prefix("## "));
            assert!(
                heading.into_iter().any(|name| name.to_lowercase() == link),
                "{link}"
            );
        }
    }

    #[test]
    fn every_mistake_stands_with_the_type_of_its_field() {
        let schema = &scene::schema();
        let table = "/materials/stone = {} => materials.stone.density: found nothing, expected a density\n\
                     # A comment = none => here: it is\n\
                     /gravty = 1 => gravty: found the unknown field\n\
                     hertz:/bodies/0/position/1 = \"up\" => bodies[0].position[1]: found the string \"up\"\n";
        let page = reference(schema, table);
        let of_type = |name: &str| {
            let rest = page.split(&format!("\n## {name}\n")).nth(1).unwrap();
            rest.split("\n## ").next().unwrap().to_owned()
        };
        let expected = [
            ("Scene", "- `gravty = 1`: found the unknown field\n"),
            (
                "Material",
                "- `materials.stone = {}`: `materials.stone.density`: found nothing, expected a density\n",
            ),
            (
                "Body",
                "- `bodies[0].position[1] = \"up\"`: found the string \"up\"\n",
            ),
        ];
        for (name, line) in expected {
            assert!(of_type(name).contains(line), "{name}: {}", of_type(name));
        }
        assert_eq!(
            page.matches("Mistakes and their messages").count(),
            expected.len()
        );
    }

    /// Fields that may be left out and whose default goes without saying.
    const UNSAID: &[&str] = &["$schema", "description", "angle"];
}
