//! `rockfall schema`.

use clap::Args;
use rockfall::scene;

use super::failure::Outcome;
use super::terminal;

/// Print the JSON Schema of scenes, for editors
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {}

const EXAMPLES: &str = "\
Examples:
  rockfall schema > rockfall.schema.json

In a scene that begins with { \"$schema\": \"rockfall.schema.json\", \"version\": 1, ... editors that know
JSON Schema, such as VS Code, then complete names and mark mistakes. VS Code takes comments, too.";

/// Runs the command.
pub fn run(_: &Arguments) -> Outcome {
    terminal::print(format_args!("{:#}", scene::schema()))
}
