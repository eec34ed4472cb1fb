//! `rockfall run`.

use std::path::PathBuf;

use clap::Args;

use super::EngineArguments;
use super::failure::Outcome;

/// Run a scene and print a summary.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Scene file
    #[arg(value_name = "SCENE")]
    pub scene: PathBuf,

    /// The engine.
    #[command(flatten)]
    pub engine: EngineArguments,
}

/// Runs the command.
pub fn run(_: &Arguments) -> Outcome {
    todo!("scenes")
}
