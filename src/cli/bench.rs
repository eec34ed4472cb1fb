//! `rockfall bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
#[cfg(feature = "render")]
use rockfall::internals::bench::Draw;
use rockfall::internals::bench::{
    Bench, BenchScene, LeftOut, Machine, Measurement, Options, Outcome, Progress,
};
use rockfall::model::Model;
use rockfall::step::Pass;
use serde::Serialize;

use super::failure::{self, Failure};
use super::run::seconds;
use super::table::{row, table};
use super::{EngineArguments, terminal};

/// Measure how fast scenes run
///
/// Each scene first settles: it runs for its duration. Then the same steps are repeated from that state.
/// The tables show the median and the spread of the repeats, and what they computed: contacts, the
/// largest overlap, and a hash of the final state, which must be the same in each repeat.
///
/// Without a scene, the default set runs: settled beds of 10k cubes of 8 spheres, 100k spheres, 100k
/// cubes of 8 spheres, and 1M spheres. A scene that does not fit into the time limit or into memory
/// is left out, with the reason.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Scene files [default: the default set]
    #[arg(value_name = "SCENE")]
    scenes: Vec<PathBuf>,

    #[command(flatten)]
    engine: EngineArguments,

    /// Approximate time limit for all scenes together, seconds
    #[arg(long, value_name = "S", default_value = "180", value_parser = seconds, allow_negative_numbers = true)]
    limit: f64,

    /// Repeat the timed steps N times
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,

    /// Steps in each repeat [default: as many as take about a second]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    steps: Option<u64>,

    /// Simulated time before the first repeat [default: the duration of the scene]
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    settle: Option<f64>,

    /// Measure the speed of a memory copy, and the fraction of it that a step reaches
    ///
    /// The layout of the data gives the fewest bytes that a step can move: each pass reads the buffers
    /// that it needs once, and writes those that it makes once.
    #[arg(long)]
    roofline: bool,

    /// Also draw pictures during the steps for five seconds, as `rockfall view` does, and report how many per second and how fast
    /// the steps are meanwhile
    #[cfg(feature = "render")]
    #[arg(long, value_name = "WxH", value_parser = super::picture::size, num_args = 0..=1, require_equals = true, default_missing_value = "1280x800")]
    draw: Option<[u32; 2]>,

    /// Adapter that draws when the CPU computes: its description contains TEXT [default: a real GPU if there is one, otherwise a
    /// software adapter]
    #[cfg(feature = "render")]
    #[arg(long, value_name = "TEXT", requires = "draw")]
    draw_on: Option<String>,

    /// Print the figures as one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  rockfall bench                                  the default set, within three minutes
  rockfall bench --limit 600 --json > bench.json
  rockfall bench pile.json --backend cpu --threads 1
  rockfall bench pile.json --settle 0 --steps 500
      Time the first 500 steps of a scene.
  rockfall bench pile.json --backend cpu --draw=1280x800
      Measure how many pictures per second a window shows, and how much they slow the steps.

Exit code 1 if repeats end in different states.";

/// Figures of all scenes.
#[derive(Serialize)]
struct Report {
    machine: Machine,
    limit_s: f64,
    scenes: Vec<Measurement>,
    left_out: Vec<LeftOut>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> failure::Outcome {
    let options = Options {
        engine: arguments.engine.options()?,
        limit: Duration::try_from_secs_f64(arguments.limit).unwrap_or(Duration::MAX),
        repeats: arguments.repeats,
        steps: arguments.steps,
        settle: arguments.settle,
        roofline: arguments.roofline,
        #[cfg(feature = "render")]
        draw: arguments.draw.map(|size| Draw {
            size,
            adapter: arguments.draw_on.clone(),
        }),
        #[cfg(not(feature = "render"))]
        draw: None,
    };
    // Wrong scenes are found before the first one is measured.
    let mut models = Vec::new();
    for path in &arguments.scenes {
        let scene = super::load(path)?;
        scene.warnings.iter().for_each(terminal::warn);
        models.push(scene.model);
    }

    let mut report = Report {
        machine: Machine::this(),
        limit_s: arguments.limit,
        scenes: Vec::new(),
        left_out: Vec::new(),
    };
    if report.machine.debug {
        terminal::warn(
            "this is a debug build, which is slow; measure with one made by `cargo build --release`",
        );
    }
    let mut bench = Bench::new(options);
    if arguments.scenes.is_empty() {
        for scene in BenchScene::ALL {
            if bench.time_left().is_zero() {
                report.left_out.push(bench.skip(scene.name));
            } else {
                report.measure(&mut bench, scene.model())?;
            }
        }
    } else {
        for model in models {
            report.measure(&mut bench, model)?;
        }
    }

    if arguments.json {
        terminal::print_json(&report)?;
    } else {
        report.print()?;
    }
    let unlike: Vec<&str> = report
        .scenes
        .iter()
        .filter(|scene| !scene.repeatable)
        .map(|scene| scene.scene.as_str())
        .collect();
    match unlike.is_empty() {
        true => Ok(()),
        false => Err(Failure::Run(format!(
            "repeats ended in different states: {}; the figures are meaningless",
            unlike.join(", ")
        ))),
    }
}

impl Report {
    fn measure(&mut self, bench: &mut Bench, model: Model) -> failure::Outcome {
        let bar = ProgressBar::new(0).with_style(
            ProgressStyle::with_template("{msg} {wide_bar} {percent}%")
                .expect("the template is right"),
        );
        let scene = model.name.clone();
        let mut stage = "";
        let outcome = bench.measure(model, |progress: Progress| {
            if stage != progress.stage {
                stage = progress.stage;
                let message = format!("{scene}: {stage}");
                if bar.is_hidden() {
                    terminal::say(&message);
                }
                bar.set_message(message);
            }
            bar.set_length(progress.of);
            bar.set_position(progress.done);
        });
        bar.finish_and_clear();
        match outcome? {
            Outcome::Measured(measurement) => self.scenes.push(*measurement),
            Outcome::LeftOut(left_out) => self.left_out.push(left_out),
        }
        Ok(())
    }

    fn print(&self) -> failure::Outcome {
        let machine = &self.machine;
        let commit = match &machine.commit {
            Some(commit) => format!(" ({commit})"),
            None => String::new(),
        };
        terminal::print(format_args!(
            "Rockfall {}{commit} on {}, cores {}, {}",
            machine.version, machine.cpu, machine.cores, machine.os
        ))?;
        if let Some(first) = self.scenes.first() {
            terminal::print(format_args!("engine: {}", first.adapter))?;
            for (title, rows) in [
                ("Speed, median of the repeats", self.speeds()),
                ("Time of each pass, ms", self.passes()),
                ("Timed steps and their results", self.results()),
                ("Fraction of the speed of a memory copy", self.rooflines()),
                ("Work of a step for host and device", self.traffic()),
                ("Pictures during the steps", self.drawings()),
            ] {
                if rows.len() > 1 {
                    terminal::print(format_args!("\n{title}\n{}", table(&rows)))?;
                }
            }
        }
        for left_out in &self.left_out {
            let LeftOut { scene, reason } = left_out;
            terminal::print(format_args!("\nleft out: {scene}: {reason}"))?;
        }
        Ok(())
    }

    fn speeds(&self) -> Vec<Vec<String>> {
        let mut rows = vec![row([
            "scene",
            "bodies",
            "spheres",
            "repeats x steps",
            "million sphere-steps/s",
            "from",
            "to",
            "MAD",
            "ms/step",
            "steps/list",
            "bytes/sphere",
        ])];
        rows.extend(self.scenes.iter().map(|scene| {
            let rate = &scene.sphere_steps_per_s;
            let million = |rate: f64| format!("{:.3}", 1e-6 * rate);
            vec![
                scene.scene.clone(),
                scene.bodies.to_string(),
                scene.spheres.to_string(),
                format!("{} x {}", scene.repeats, scene.steps),
                million(rate.median),
                million(rate.min),
                million(rate.max),
                format!("{:.1} %", 100.0 * rate.mad / rate.median),
                format!("{:.3}", scene.ms_per_step.median),
                match scene.list_builds {
                    0 => format!("> {}", scene.steps),
                    builds => format!("{:.1}", scene.steps as f64 / f64::from(builds)),
                },
                format!("{:.0}", scene.memory_bytes_per_sphere),
            ]
        }));
        rows
    }

    fn passes(&self) -> Vec<Vec<String>> {
        let mut rows = vec![row(["scene"])];
        for scene in &self.scenes {
            let mut cells = vec![scene.scene.clone()];
            match &scene.passes {
                None => cells.push("the adapter has no timestamps".to_owned()),
                Some(passes) => {
                    if rows[0].len() == 1 {
                        rows[0].extend(passes.iter().map(|pass| pass.pass.to_owned()));
                        rows[0].push("sum".to_owned());
                    }
                    let cell = |ms: f64, fraction| format!("{ms:.3} ({:.0} %)", 100.0 * fraction);
                    cells.extend(passes.iter().map(|pass| cell(pass.ms, pass.fraction)));
                    cells.push(format!(
                        "{:.3}",
                        passes.iter().map(|pass| pass.ms).sum::<f64>()
                    ));
                }
            }
            rows.push(cells);
        }
        rows
    }

    fn rooflines(&self) -> Vec<Vec<String>> {
        let mut header = row([
            "scene",
            "copy GB/s",
            "bytes/sphere",
            "floor ms/step",
            "step",
        ]);
        header.extend(Pass::ALL.map(|pass| pass.name().to_owned()));
        let mut rows = vec![header];
        for scene in &self.scenes {
            let Some(roofline) = &scene.roofline else {
                continue;
            };
            let percent = |fraction: f64| format!("{:.1} %", 100.0 * fraction);
            let mut cells = vec![
                scene.scene.clone(),
                format!("{:.1}", 1e-9 * roofline.copy_bytes_per_s),
                format!("{:.0}", roofline.bytes_per_sphere),
                format!("{:.4}", roofline.floor_ms),
                percent(roofline.fraction),
            ];
            let passes = roofline.passes.iter();
            cells.extend(passes.map(|pass| pass.fraction.map_or("-".to_owned(), percent)));
            rows.push(cells);
        }
        rows
    }

    fn traffic(&self) -> Vec<Vec<String>> {
        let mut rows = vec![row(["scene", "dispatches/step", "waits/step"])];
        for scene in &self.scenes {
            if let Some(traffic) = &scene.traffic {
                rows.push(vec![
                    scene.scene.clone(),
                    format!("{:.2}", traffic.dispatches_per_step),
                    format!("{:.5}", traffic.waits_per_step),
                ]);
            }
        }
        rows
    }

    fn drawings(&self) -> Vec<Vec<String>> {
        let mut rows = vec![row([
            "scene",
            "adapter",
            "size",
            "pictures/s",
            "ms/frame",
            "longest",
            "ms/picture",
            "samples drawn",
            "speed of the steps",
        ])];
        for scene in &self.scenes {
            let Some(drawing) = &scene.drawing else {
                continue;
            };
            let [width, height] = drawing.size;
            rows.push(vec![
                scene.scene.clone(),
                drawing.adapter.clone(),
                format!("{width}x{height}"),
                format!("{:.1}", drawing.frames_per_s),
                format!("{:.1}", drawing.frame_ms.median),
                format!("{:.1}", drawing.frame_ms.max),
                format!("{:.1}", drawing.picture_ms.median),
                format!("{:.1} %", 100.0 * drawing.part),
                format!("{:.0} %", 100.0 * drawing.engine_fraction),
            ]);
        }
        rows
    }

    fn results(&self) -> Vec<Vec<String>> {
        let mut rows = vec![row([
            "scene",
            "settled for",
            "at rest",
            "energy/(m g r)",
            "contacts/sphere",
            "contacts",
            "largest overlap",
            "state hash",
        ])];
        rows.extend(self.scenes.iter().map(|scene| {
            let settled = &scene.settled;
            let unlike = if scene.repeatable {
                ""
            } else {
                " not repeatable!"
            };
            vec![
                scene.scene.clone(),
                format!("{:.3} s", settled.simulated_s),
                if settled.at_rest { "yes" } else { "no" }.to_owned(),
                settled
                    .energy_fraction
                    .map_or("-".to_owned(), |fraction| format!("{fraction:.1e}")),
                format!("{:.2}", settled.contacts_per_sphere),
                scene.contacts.to_string(),
                format!("{:.2e} r", scene.max_overlap_fraction),
                format!("{}{unlike}", scene.state_hash),
            ]
        }));
        rows
    }
}
