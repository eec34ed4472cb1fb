//! `rockfall adapters`.

use clap::Args;
use rockfall::gpu::Adapter;

use super::failure::Outcome;
use super::terminal;

/// List the GPU adapters that wgpu sees, and what each lacks.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Print one JSON object to standard output
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn run(_: &Arguments) -> Outcome {
    for adapter in Adapter::all() {
        terminal::print(adapter.describe())?;
    }
    Ok(())
}
