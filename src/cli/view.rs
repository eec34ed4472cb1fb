//! `rockfall view`.

use std::path::PathBuf;

use clap::Args;
use rockfall::render::{ColourBy, Look};
use rockfall::viewer::{self, Setup};

use super::EngineArguments;
use super::failure::Outcome;
use super::picture::size;

/// Open a window in which a scene runs
///
/// The mouse turns, shifts and zooms the camera, picks bodies and pulls them; the panel tunes parameters
/// while the simulation runs. The key h shows all keys. A scene that is wrong is shown in the window, and
/// read again when its file is saved.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Scene file
    #[arg(value_name = "SCENE")]
    scene: PathBuf,

    #[command(flatten)]
    engine: EngineArguments,

    /// Width and height of the window, logical pixels
    #[arg(long, value_name = "WxH", value_parser = size, default_value = "1280x800")]
    size: [u32; 2],

    /// Wait for the key k (or space) before the first step
    #[arg(long)]
    paused: bool,

    /// What colours mean
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    colour: ColourBy,

    /// Start without the panel; the key tab shows it
    #[arg(long)]
    plain: bool,
}

const EXAMPLES: &str = "\
Examples:
  rockfall view pile.json
      Watch a scene.
  rockfall view pile.json --paused --colour speed
      Look at the start first, and at how fast bodies are later.
  rockfall view pile.json --backend cpu --threads 4
      Compute on the CPU; the GPU only draws.";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let options = arguments.engine.options()?;
    viewer::run(Setup {
        scene: arguments.scene.clone(),
        options,
        size: arguments.size,
        paused: arguments.paused,
        look: Look {
            colour_by: arguments.colour,
            ..Look::default()
        },
        panel: !arguments.plain,
    })?;
    Ok(())
}
