//! `rockfall new`.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::failure::{Failure, Outcome};
use super::{next, terminal};

/// Write a scene to start from
///
/// Comments in the file explain each part of the scene. A file that exists is never overwritten.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// File to write; .json is appended if the name lacks it
    #[arg(value_name = "NAME")]
    name: PathBuf,

    /// Scene to start from
    #[arg(long, short, value_enum, default_value_t)]
    template: Template,
}

const EXAMPLES: &str = "\
Examples:
  rockfall new heap
      Write heap.json, a pile of stones in a box.
  rockfall new silo --template hopper
      Write silo.json, a hopper that empties when its gate opens.";

/// A scene to start from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Template {
    /// Stones of three shapes fall into a box
    #[default]
    Pile,
    /// Balls and pairs of balls tumble in a cylinder that turns
    Drum,
    /// Grain runs out of a cone when a gate opens
    Hopper,
    /// Gravel comes in through a chute and rides on a belt
    Conveyor,
    /// Clumps of many spheres fall onto a tower of boxes
    Blocks,
    /// One ball above a floor, and nothing else
    Empty,
}

impl Template {
    fn text(self) -> &'static str {
        match self {
            Template::Pile => include_str!("templates/pile.json"),
            Template::Drum => include_str!("templates/drum.json"),
            Template::Hopper => include_str!("templates/hopper.json"),
            Template::Conveyor => include_str!("templates/conveyor.json"),
            Template::Blocks => include_str!("templates/blocks.json"),
            Template::Empty => include_str!("templates/empty.json"),
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let path = with_ending(&arguments.name)?;
    let file = path.display();
    let refused = |reason: String| Failure::Usage(format!("the file {file} {reason}"));
    let text = arguments
        .template
        .text()
        .replace("SCENE", &next::word(&path));
    let mut created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => refused(
                "already exists and was left unchanged; choose another name, or remove it first"
                    .to_owned(),
            ),
            ErrorKind::NotFound => refused(format!(
                "cannot be written: there is no folder {}; create it first",
                path.parent().unwrap_or(Path::new("")).display()
            )),
            _ => refused(format!("cannot be written: {error}")),
        })?;
    created
        .write_all(text.as_bytes())
        .map_err(|error| Failure::Run(format!("the file {file} cannot be written: {error}")))?;
    terminal::print(format_args!("wrote {file}"))?;
    next::say(format_args!("rockfall run {}", next::word(&path)));
    Ok(())
}

/// The file that a name means.
fn with_ending(name: &Path) -> Outcome<PathBuf> {
    let Some(stem) = name.file_name() else {
        return Err(Failure::Usage(format!(
            "found {}, expected the name of a file, such as heap",
            name.display()
        )));
    };
    let ending = name.extension().and_then(|ending| ending.to_str());
    Ok(match ending {
        Some("json" | "jsonc") => name.to_owned(),
        _ => {
            let mut with = stem.to_owned();
            with.push(".json");
            name.with_file_name(with)
        }
    })
}
