//! `rockfall schema`.

use std::fmt::Write;

use clap::Args;
use rockfall::scene;
use serde_json::Value;

use super::failure::Outcome;
use super::terminal;

/// Print the JSON Schema of scenes, for editors, or a reference to read
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Print a reference in Markdown instead: every field with its type, unit and default
    #[arg(long)]
    markdown: bool,
}

const EXAMPLES: &str = "\
Examples:
  rockfall schema > rockfall.schema.json
  rockfall schema --markdown | less

In a scene that begins with { \"$schema\": \"rockfall.schema.json\", \"version\": 1, ... editors that know
JSON Schema, such as VS Code, then complete names and mark mistakes. VS Code takes comments, too.";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let schema = scene::schema();
    if arguments.markdown {
        terminal::print(format_args!("{}", reference(&schema).trim_end()))
    } else {
        terminal::print(format_args!("{schema:#}"))
    }
}

/// The schema as a page: a section for each type, in the order in which fields name them.
fn reference(schema: &Value) -> String {
    let mut page = String::from("# Scene format\n\n");
    let _ = writeln!(
        page,
        "A scene file is one JSON object, the [scene](#scene), in which there may be comments as in C and a comma after the last \
         entry. A field without a default must be given.\n"
    );
    section(&mut page, "Scene", schema);
    let types = schema["$defs"].as_object();
    for (name, of_name) in types.into_iter().flatten() {
        section(&mut page, name, of_name);
    }
    page
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
        let page = reference(schema);
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

    /// Fields that may be left out and whose default goes without saying.
    const UNSAID: &[&str] = &["$schema", "description", "angle"];
}
