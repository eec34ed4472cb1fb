//! `rockfall export`.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use clap::Args;
use rockfall::Simulation;
use rockfall::error::Error;
use rockfall::output::{write_gltf, write_usd, write_vtkhdf};

use super::EngineArguments;
use super::failure::{Failure, Outcome};
use super::terminal;

/// Convert a scene or a kept run for other programs: one state to glTF, a whole run to OpenUSD or VTKHDF
///
/// The ending of the file's name chooses the format.
///
/// .glb: one state as glTF 2.0, for browsers, viewers and Blender. Of a kept run it is the state nearest to --time, or the
/// last; of a scene it is the start.
///
/// .usda: all states of a kept run as OpenUSD, one per frame, for Blender, Omniverse and others.
///
/// .vtkhdf: all states as VTKHDF, for ParaView: spheres and walls with their times.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Scene file, or the folder of a run
    #[arg(value_name = "SCENE|DIR")]
    scene: PathBuf,

    /// File to write, which ends in .glb, .usda or .vtkhdf
    #[arg(long, value_name = "FILE")]
    to: PathBuf,

    /// Convert the state of a kept run nearest to this time (s) [default: the last]
    #[arg(long, value_name = "S", value_parser = super::run::seconds, allow_negative_numbers = true)]
    time: Option<f64>,

    #[command(flatten)]
    engine: EngineArguments,
}

/// A kind of file to write.
#[derive(Clone, Copy, PartialEq)]
enum To {
    Gltf,
    Usd,
    Vtk,
}

const EXAMPLES: &str = "\
Examples:
  rockfall export runs/pile --to pile.usda
      Convert the run that `rockfall run pile.json --out runs/pile` has kept, for Blender.
  rockfall export runs/pile --to pile.vtkhdf
      Convert it for ParaView, into one file.
  rockfall export runs/pile --to end.glb
      Convert its last state, for a browser.";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let options = arguments.engine.options()?;
    let ending = arguments.to.extension().and_then(|ending| ending.to_str());
    let to = match ending {
        Some("usda") => To::Usd,
        Some("vtkhdf") => To::Vtk,
        Some("glb") => To::Gltf,
        _ => {
            return Err(Failure::Usage(format!(
                "--to: found the file {}, expected a name that ends in .glb, .usda or .vtkhdf",
                arguments.to.display()
            )));
        }
    };
    if to != To::Gltf && arguments.time.is_some() {
        return Err(Failure::Usage(format!(
            "--time chooses one state, and a .{} file has all of them; leave it out, or write a .glb file",
            ending.unwrap_or_default()
        )));
    }
    let (mut simulation, kept) = if arguments.scene.is_dir() {
        let (simulation, kept) = super::kept(&arguments.scene, &options)?;
        (simulation, Some(kept))
    } else if arguments.time.is_some() {
        return Err(Failure::Usage(
            "--time chooses a state of a kept run, and this is a scene; run it with --out DIR first".into(),
        ));
    } else {
        let scene = super::load(&arguments.scene)?;
        (Simulation::new(scene.model, &options)?, None)
    };
    let unwritten = |error: std::io::Error| Error::unwritten(&arguments.to, &error);
    let file = File::create(&arguments.to).map_err(unwritten)?;
    let mut writer = BufWriter::new(file);
    let times: Vec<f64> = match &kept {
        Some(kept) => kept.moments().iter().map(|moment| moment.time).collect(),
        None => vec![0.0],
    };
    let show = |index: usize, simulation: &mut Simulation| match &kept {
        Some(kept) => kept.show(index, simulation),
        None => Ok(()),
    };
    match to {
        To::Usd => write_usd(&mut writer, &mut simulation, &times, show)?,
        To::Vtk => write_vtkhdf(&mut writer, &mut simulation, &times, show)?,
        To::Gltf => {
            let nearest = |time| kept.as_ref().map_or(0, |kept| kept.nearest(time));
            show(
                arguments.time.map_or(times.len() - 1, nearest),
                &mut simulation,
            )?;
            write_gltf(&mut writer, &simulation.snapshot()?).map_err(unwritten)?;
        }
    }
    writer.flush().map_err(unwritten)?;
    let states = if to == To::Gltf { 1 } else { times.len() };
    let plural = if states == 1 { "state" } else { "states" };
    terminal::print(format_args!(
        "{} ({states} {plural})",
        arguments.to.display()
    ))
}
