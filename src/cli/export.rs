//! `rockfall export`.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use clap::Args;
use rockfall::Simulation;
use rockfall::error::Error;
use rockfall::output::{write_gltf, write_usd};

use super::EngineArguments;
use super::failure::{Failure, Outcome};
use super::terminal;

/// Write a scene or a kept run for other programs: glTF of one state, OpenUSD of a whole run
///
/// A file that ends in .glb gets one state as glTF 2.0, for browsers, viewers and Blender: that of a kept run which is
/// nearest to --time, the last without it, or the start of a scene. A file that ends in .usda gets all states of a kept
/// run as OpenUSD, for Blender, Omniverse and others: one state a frame.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Scene file, or the folder of a run
    #[arg(value_name = "SCENE|DIR")]
    scene: PathBuf,

    /// File to be written, which ends in .glb or .usda
    #[arg(long, value_name = "FILE")]
    to: PathBuf,

    /// Of a kept run, the state nearest to this time (s) [default: the last]
    #[arg(long, value_name = "S", value_parser = super::run::seconds, allow_negative_numbers = true)]
    time: Option<f64>,

    #[command(flatten)]
    engine: EngineArguments,
}

const EXAMPLES: &str = "\
Examples:
  rockfall export runs/pile --to pile.usda
      Open what `rockfall run pile.json --out runs/pile` has kept in Blender.
  rockfall export runs/pile --to end.glb
      Its last state, for a browser.";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let options = arguments.engine.options()?;
    let ending = arguments.to.extension().and_then(|ending| ending.to_str());
    let is_usd = match ending {
        Some("usda") => true,
        Some("glb") => false,
        _ => {
            return Err(Failure::Usage(format!(
                "--to: the file {} has no ending that says what it should be; end its name with .glb or .usda",
                arguments.to.display()
            )));
        }
    };
    if is_usd && arguments.time.is_some() {
        return Err(Failure::Usage(
            "--time asks for one state, and a .usda file has all of them; leave it out, or write a .glb file".into(),
        ));
    }
    let (mut simulation, kept) = if arguments.scene.is_dir() {
        let (simulation, kept) = super::kept(&arguments.scene, &options)?;
        (simulation, Some(kept))
    } else if arguments.time.is_some() {
        return Err(Failure::Usage(
            "--time asks for a state of a kept run, and this is a scene; run it with --out DIR first".into(),
        ));
    } else {
        let scene = super::load(&arguments.scene)?;
        (Simulation::new(scene.model, &options)?, None)
    };
    let unwritten = |error: std::io::Error| Error::unwritten(&arguments.to, &error);
    let file = File::create(&arguments.to).map_err(unwritten)?;
    let mut writer = BufWriter::new(file);
    let mut states = 1;
    match &kept {
        Some(kept) if is_usd => {
            let times: Vec<f64> = kept.moments().iter().map(|moment| moment.time).collect();
            states = times.len();
            write_usd(&mut writer, &mut simulation, &times, |index, simulation| {
                kept.show(index, simulation)
            })?;
        }
        None if is_usd => write_usd(&mut writer, &mut simulation, &[0.0], |_, _| Ok(()))?,
        _ => {
            if let Some(kept) = &kept {
                let last = kept.moments().len() - 1;
                let index = arguments.time.map_or(last, |time| kept.nearest(time));
                kept.show(index, &mut simulation)?;
            }
            write_gltf(&mut writer, &simulation.snapshot()?).map_err(unwritten)?;
        }
    }
    let plural = if states == 1 { "state" } else { "states" };
    terminal::print(format_args!(
        "{} ({states} {plural})",
        arguments.to.display()
    ))
}
