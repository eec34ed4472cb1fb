//! `rockfall view`.

use std::path::PathBuf;

use clap::Args;
use glam::DVec3;
use rockfall::model::view::Clip;
use rockfall::render::{ColourBy, Look};
use rockfall::viewer::{self, Setup};

use super::EngineArguments;
use super::failure::Outcome;
use super::picture::{clip, direction, size};

/// Open a window that runs a scene or shows a kept run
///
/// If given a folder of scenes, the window shows a picture of each; a click opens one.
///
/// If given the folder of a run, which `rockfall run --out` makes, the window shows the kept states with a timeline and
/// simulates nothing.
///
/// The mouse turns, shifts and zooms the camera, and picks and pulls bodies; the panel changes parameters
/// while the simulation runs. The key h shows all keys. If the scene has a mistake, the window shows the
/// message, and loads the scene again when its file is saved.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Scene file, the folder of a run, or a folder of scenes and runs
    #[arg(value_name = "SCENE|DIR")]
    scene: PathBuf,

    #[command(flatten)]
    engine: EngineArguments,

    /// Width and height of the window, logical pixels
    #[arg(long, value_name = "WxH", value_parser = size, default_value = "1280x800")]
    size: [u32; 2],

    /// Start paused; the key k or space starts it
    #[arg(long)]
    paused: bool,

    /// Quantity that the colours show [default: that of the scene, else body]
    #[arg(long, value_enum, value_name = "WHAT")]
    colour: Option<ColourBy>,

    /// Cut bodies and walls at a plane: x=0 (m) removes the side towards the camera, x<0 and x>0 name the side that stays
    #[arg(long, value_name = "PLANE", value_parser = clip, allow_hyphen_values = true)]
    clip: Option<Clip>,

    /// Upward direction: x, y, z, -x, -y, -z or a vector X,Y,Z [default: against gravity]
    #[arg(long, value_name = "AXIS", value_parser = direction, allow_hyphen_values = true)]
    up: Option<DVec3>,

    /// Memory for earlier states on the timeline, MiB
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    memory: u64,

    /// Start without the panel; the key tab shows it
    #[arg(long)]
    plain: bool,
}

const EXAMPLES: &str = "\
Examples:
  rockfall view pile.json
      Watch a scene run.
  rockfall view scenes
      Show all scenes of a folder, and choose one.
  rockfall view runs/pile
      Watch the run that `rockfall run pile.json --out runs/pile` has kept.
  rockfall view pile.json --paused --colour speed
      Start paused, coloured by speed.
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
        look: Look::default(),
        colour: arguments.colour,
        clip: arguments.clip,
        up: arguments.up,
        panel: !arguments.plain,
        refuge: Some(super::run::stopped_folder(&arguments.scene)),
        memory: arguments.memory << 20,
        recent: super::run::state_folder().map(|folder| folder.join("recent")),
    })?;
    Ok(())
}
