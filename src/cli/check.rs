//! `rockfall check`.

use std::path::PathBuf;

use clap::Args;
use rockfall::output::Rounded;

use super::failure::{Failure, Outcome};
use super::{ChangeArguments, terminal};

/// Check scenes without running them
///
/// Prints one line for each valid scene, and every mistake in the others.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Scene files
    #[arg(value_name = "SCENE", required = true)]
    scenes: Vec<PathBuf>,

    #[command(flatten)]
    changes: ChangeArguments,
}

const EXAMPLES: &str = "\
Examples:
  rockfall check pile.json
  rockfall check scenes/*.json

Exit code 2 if any scene is wrong.";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let mut wrong = 0;
    for path in &arguments.scenes {
        let file = path.display();
        match arguments.changes.try_load(path) {
            Ok(scene) => {
                let model = &scene.model;
                terminal::print(format_args!(
                    "{file}: {}: bodies {}, spheres {}, time step {} s, duration {} s",
                    model.name,
                    model.bodies.len(),
                    model.sphere_count(),
                    Rounded(model.time_step),
                    Rounded(model.duration),
                ))?;
                for note in scene.notes {
                    terminal::print(format_args!("  {note}"))?;
                }
                for warning in scene.warnings {
                    terminal::warn(format_args!("{file}: {warning}"));
                }
            }
            Err(error) => {
                wrong += 1;
                terminal::errors(&error);
            }
        }
    }
    match wrong {
        0 => Ok(()),
        _ => Err(Failure::Scenes {
            wrong,
            of: arguments.scenes.len(),
        }),
    }
}
