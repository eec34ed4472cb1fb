//! `rockfall check`.

use std::path::PathBuf;

use clap::Args;

use super::failure::Outcome;

/// Check scenes without running them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Scene files
    #[arg(value_name = "SCENE", required = true)]
    pub scenes: Vec<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  rockfall check pile.json
  rockfall check scenes/*.json

Exit code 2 if any of the scenes is wrong.";

/// Runs the command.
pub fn run(_: &Arguments) -> Outcome {
    todo!("scenes")
}
