//! `rockfall render`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use rockfall::internals::bench::Spread;
use rockfall::model::view::Background;
use rockfall::render::film::{Film, FilmError};
use rockfall::scene::Scene;
use rockfall::{Error, Simulation};

use super::failure::{Failure, Outcome};
use super::picture::{PictureArguments, save};
use super::progress::Progress;
use super::{ChangeArguments, EngineArguments, interrupts, terminal};

/// Make pictures or a film of a scene or of a kept run, without a window
///
/// If given the folder of a run, which `rockfall run --out` makes, it shows the kept states and simulates nothing.
///
/// Pictures are PNG files, numbered from frame_00000.png, which shows the start. Films other than GIF
/// need the program ffmpeg. On one adapter, the same scene gives the same pictures, bit for bit.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Scene file, or the folder of a run
    #[arg(value_name = "SCENE|DIR")]
    scene: PathBuf,

    #[command(flatten)]
    changes: ChangeArguments,

    #[command(flatten)]
    engine: EngineArguments,

    /// Write a picture of each frame to the folder DIR
    #[arg(long, value_name = "DIR", required_unless_present = "video")]
    out: Option<PathBuf>,

    /// Write a film to FILE, which ends in .mp4, .webm or .gif
    #[arg(long, value_name = "FILE")]
    video: Option<PathBuf>,

    /// Frames per second
    #[arg(long, value_name = "F", default_value_t = 30.0, value_parser = rate)]
    fps: f64,

    /// Simulated seconds per second of film
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = rate)]
    speed: f64,

    /// Simulate or show this much time instead of the duration of the scene: seconds such as 2.5, or 20ms
    #[arg(long, value_name = "TIME", value_parser = super::run::seconds, allow_negative_numbers = true)]
    duration: Option<f64>,

    #[command(flatten)]
    picture: PictureArguments,
}

const EXAMPLES: &str = "\
Examples:
  rockfall render pile.json --out frames --fps 30
      Write 30 pictures per simulated second.
  rockfall render runs/pile --video pile.mp4
      Make a film of the run that `rockfall run pile.json --out runs/pile` has kept.
  rockfall render pile.json --video pile.mp4 --speed 0.25 --colour speed
      Make a film in slow motion, coloured by speed.
  rockfall render pile.json --out frames --camera -60,35,1.5 --size 1920x1080
      Make large pictures from another side, closer up.";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let is_transparent = arguments.picture.background == Some(Background::Transparent);
    if let (Some(film), true) = (&arguments.video, is_transparent) {
        return Err(Failure::Usage(format!(
            "--background transparent: the film {} cannot be transparent; write pictures with --out instead",
            film.display()
        )));
    }
    let options = arguments.engine.options()?;
    let (mut simulation, kept) = if arguments.scene.is_dir() {
        let (simulation, kept) = super::kept(&arguments.scene, &options)?;
        (simulation, Some(kept))
    } else {
        let Scene { model, .. } = arguments.changes.load(&arguments.scene)?;
        (Simulation::new(model, &options)?, None)
    };
    let start = simulation.time();
    let last = kept.as_ref().and_then(|kept| kept.moments().last());
    let whole = last.map_or(simulation.model().duration, |last| last.time - start);
    let duration = arguments.duration.unwrap_or(whole);
    let frames = (duration * arguments.fps / arguments.speed + 1e-6).floor() as u64 + 1;
    let mut studio =
        arguments
            .picture
            .studio(&mut simulation, arguments.engine.adapter.as_deref(), true)?;
    let mut outputs = Outputs::create(arguments)?;
    match &kept {
        Some(kept) => terminal::say(format_args!("kept states: {}", kept.moments().len())),
        None => terminal::say(format_args!("engine: {}", simulation.adapter())),
    }

    let step_of = |frame: u64, simulation: &Simulation| {
        let time = frame as f64 * arguments.speed / arguments.fps;
        (time / simulation.model().time_step).round() as u64
    };
    let last = step_of(frames - 1, &simulation);
    let mut progress = Progress::new(0, last, simulation.model().time_step);
    let mut times: [Vec<f64>; 3] = Default::default();
    let mut made = 0;
    interrupts::catch(simulation.canceller(), "the film so far");
    for frame in 0..frames {
        let mut clock = Instant::now();
        let mut lap = |times: &mut Vec<f64>| {
            times.push(1e3 * clock.elapsed().as_secs_f64());
            clock = Instant::now();
        };
        let wanted = step_of(frame, &simulation);
        let stepped = match &kept {
            Some(kept) => {
                let time = start + frame as f64 * arguments.speed / arguments.fps;
                let nearest = kept.nearest(time);
                match kept.moments()[nearest].steps == simulation.steps() {
                    true => Ok(()),
                    false => kept.show(nearest, &mut simulation),
                }
            }
            None => simulation.step(wanted - simulation.steps()),
        };
        match stepped {
            Err(Error::Cancelled { .. }) => break,
            stepped => stepped?,
        }
        if interrupts::wanted() {
            break;
        }
        lap(&mut times[0]);
        let picture = studio.picture(&mut simulation)?;
        lap(&mut times[1]);
        outputs.add(frame, &picture)?;
        lap(&mut times[2]);
        progress.update(wanted);
        made += 1;
    }
    drop(progress);
    if made > 0 {
        outputs.finish(made)?;
    }
    if made < frames {
        return Err(Failure::Stopped(format!(
            "stopped after {made} of {frames} frames; they are kept"
        )));
    }
    let [simulating, drawing, writing] = times.map(|times| Spread::new(times).median);
    terminal::say(format_args!(
        "median time of a frame: simulation {simulating:.3} ms, drawing {drawing:.3} ms, writing {writing:.3} ms"
    ));
    Ok(())
}

/// Destinations of pictures.
struct Outputs {
    directory: Option<PathBuf>,
    film: Option<(PathBuf, Film)>,
}

impl Outputs {
    fn create(arguments: &Arguments) -> Outcome<Outputs> {
        if let Some(directory) = &arguments.out {
            fs::create_dir_all(directory).map_err(|error| {
                Failure::Usage(format!(
                    "--out: the folder {} cannot be created: {error}",
                    directory.display()
                ))
            })?;
        }
        let film = match &arguments.video {
            Some(path) => {
                let film = Film::start(path, arguments.picture.size, arguments.fps);
                Some((path.clone(), film.map_err(failed)?))
            }
            None => None,
        };
        Ok(Outputs {
            directory: arguments.out.clone(),
            film,
        })
    }

    fn add(&mut self, frame: u64, picture: &image::RgbaImage) -> Outcome {
        if let Some(directory) = &self.directory {
            save(picture, &directory.join(format!("frame_{frame:05}.png")))?;
        }
        match &mut self.film {
            Some((_, film)) => film.add(picture).map_err(failed),
            None => Ok(()),
        }
    }

    fn finish(self, frames: u64) -> Outcome {
        let made = |what: &str, path: &Path| {
            terminal::print(format_args!("{what} {} ({frames} frames)", path.display()))
        };
        if let Some(directory) = &self.directory {
            made("pictures in", directory)?;
        }
        match self.film {
            Some((path, film)) => {
                film.finish().map_err(failed)?;
                made("film", &path)
            }
            None => Ok(()),
        }
    }
}

fn failed(error: FilmError) -> Failure {
    match error {
        FilmError::Format(_) => Failure::Usage(format!("--video: {error}")),
        _ => Failure::Run(format!("--video: {error}")),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (1e-6..=1e6).contains(&number) => Ok(number),
        _ => Err("expected a number from 1e-6 to 1e6, such as 30 or 0.5".to_owned()),
    }
}
