//! `rockfall compare`.

use std::path::PathBuf;

use clap::Args;
use rockfall::internals::compare::{
    Comparison, Moment, Nearer, PassComparison, TRAJECTORY_TOLERANCE, compare,
};
use rockfall::output::Rounded;
use rockfall::scene::Scene;
use rockfall::step::gpu::Adapter;

use super::failure::{Failure, Outcome};
use super::progress::Progress;
use super::table::{row, table};
use super::{ChangeArguments, terminal};

/// Compare the CPU engine with the GPU on a scene
///
/// First come the passes, one by one: at the start of the run, at its end and at four times between,
/// the GPU and the plain reference run each pass on the data of the CPU engine. The table shows the
/// largest differences in their results, and the tolerances.
///
/// Then both engines run from the same start, each on its own. The tables show the differences in
/// position (as a fraction of a cell, which is about as wide as the smallest sphere), orientation
/// (radians), velocity and contact force (as a fraction of the largest), for all bodies and for all but
/// one in a hundred; and the kinetic energy and the mean height on each engine.
///
/// The engines round differently, and collisions amplify differences without limit, so trajectories
/// agree only for a while. The command measures how long: a second run of the CPU engine flips the
/// last bits of the state at random in each step. Until that run is 1e-4 away from the first one in a
/// quantity, all bodies but one in a hundred must agree in it within --tolerance; later differences
/// are in parentheses. Kinetic energy (as a fraction of the largest so far) and mean height (as a
/// fraction of a cell) must agree throughout, within 1/sqrt(bodies) or 0.01, whichever is larger.
///
/// If the scene is not too large, the last line tells which engine is nearer to a run in double precision.
///
/// The GPU is a real one or, if there is none, a software adapter.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Scene file
    #[arg(value_name = "SCENE")]
    scene: PathBuf,

    #[command(flatten)]
    changes: ChangeArguments,

    /// Number of steps
    #[arg(long, value_name = "N", default_value_t = 200)]
    steps: u64,

    /// GPU adapter whose description contains TEXT (`rockfall adapters` lists them)
    #[arg(long, value_name = "TEXT")]
    adapter: Option<String>,

    /// Tolerance of position, orientation, velocity and force over time
    #[arg(long, value_name = "X", default_value_t = TRAJECTORY_TOLERANCE, value_parser = tolerance)]
    tolerance: f64,

    /// Print the comparison as one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  rockfall compare pile.json
  rockfall compare pile.json --steps 10000 --json > comparison.json
  rockfall compare pile.json --adapter llvmpipe     compare with a software adapter

Exit code 1 if the engines differ by more than a tolerance.";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let Scene {
        model, warnings, ..
    } = arguments.changes.load(&arguments.scene)?;
    warnings.iter().for_each(terminal::warn);
    let context = choose(arguments.adapter.as_deref())?.open()?;
    terminal::say(format_args!("CPU engine and {}", context.adapter));

    let mut progress = Progress::new(0, arguments.steps, model.time_step);
    let comparison = compare(
        &model,
        &context,
        arguments.steps,
        arguments.tolerance,
        |steps| progress.update(steps),
    )?;
    drop(progress);

    if arguments.json {
        terminal::print_json(&comparison)?;
    } else {
        print(&comparison)?;
    }
    match comparison.agree {
        true => Ok(()),
        false => Err(Failure::Run(format!(
            "the engines differ by more than a tolerance: {}",
            disagreements(&comparison).join("; ")
        ))),
    }
}

/// The adapter that `wanted` names, a real GPU, or a software adapter.
fn choose(wanted: Option<&str>) -> Outcome<Adapter> {
    match wanted {
        Some(_) => Ok(Adapter::choose(wanted)?),
        None => Adapter::choose(None)
            .or_else(|_| Adapter::choose(Some("software")))
            .map_err(|_| {
                Failure::Run(
                    "there is nothing to compare the CPU engine with: wgpu finds neither a GPU nor \
                     a software adapter; install the GPU's Vulkan driver, or a software one \
                     (Debian, Ubuntu: mesa-vulkan-drivers)"
                        .into(),
                )
            }),
    }
}

fn print(comparison: &Comparison) -> Outcome {
    terminal::print(format_args!(
        "{}: bodies {}, spheres {}, steps {} of {} s\n",
        comparison.scene,
        comparison.bodies,
        comparison.spheres,
        comparison.steps,
        Rounded(comparison.dt)
    ))?;
    terminal::print("Each pass from the same input, largest difference")?;
    terminal::print(table(&pass_rows(&comparison.passes)))?;
    if comparison.moments.is_empty() {
        return Ok(());
    }
    terminal::print(
        "\nOver time, difference of all bodies but one in a hundred, and largest difference",
    )?;
    terminal::print(table(&trajectory_rows(&comparison.moments)))?;
    terminal::print("\nOver time, of all bodies")?;
    terminal::print(table(&statistic_rows(&comparison.moments)))?;
    if let Some(nearer) = &comparison.nearer {
        terminal::print(format_args!("\n{}", sentence(nearer)))?;
    }
    if comparison.agree {
        terminal::print("\nThe engines agree.")?;
    }
    Ok(())
}

/// Which engine is nearer to double precision.
fn sentence(nearer: &Nearer) -> String {
    let verdict = match nearer.engine {
        Some("cpu") => "the CPU engine is nearer",
        Some(_) => "the GPU is nearer",
        None => "both are equally near",
    };
    format!(
        "Up to step {}, positions differ from those in double precision by at most {} of a cell on the CPU and {} on the GPU: \
         {verdict}.",
        nearer.steps,
        size(nearer.cpu),
        size(nearer.gpu),
    )
}

/// A line for each quantity of each pass, with its worst moment.
fn pass_rows(passes: &[PassComparison]) -> Vec<Vec<String>> {
    let mut rows = vec![row([
        "pass: quantity",
        "difference",
        "tolerance",
        "at step",
    ])];
    let mut worst: Vec<&PassComparison> = Vec::new();
    for new in passes {
        let same = |old: &&mut &PassComparison| {
            (old.pass, old.difference.quantity) == (new.pass, new.difference.quantity)
        };
        match worst.iter_mut().find(same) {
            None => worst.push(new),
            Some(old) if old.difference.value >= new.difference.value => (),
            Some(old) if old.difference.value.is_nan() => (),
            Some(old) => *old = new,
        }
    }
    rows.extend(worst.iter().map(|comparison| {
        let difference = &comparison.difference;
        let step = match difference.value {
            0.0 => String::new(),
            _ => comparison.step.to_string(),
        };
        vec![
            format!("{}: {}", comparison.pass, difference.quantity),
            mark(difference.value, comparison.is_beyond_tolerance()),
            size(difference.tolerance),
            step,
        ]
    }));
    rows
}

fn trajectory_rows(moments: &[Moment]) -> Vec<Vec<String>> {
    let mut rows = vec![row(["step", "time, s"])];
    let mut tolerances = row(["tolerance", ""]);
    for divergence in &moments[0].trajectories {
        rows[0].extend(row([divergence.difference.quantity, "largest"]));
        tolerances.extend(row([&size(divergence.difference.tolerance), ""]));
    }
    rows.extend(moments.iter().map(|moment| {
        let mut cells = when(moment);
        for divergence in &moment.trajectories {
            let value = divergence.difference.value;
            let is_beyond_tolerance = divergence.is_beyond_tolerance();
            cells.push(if divergence.held || is_beyond_tolerance {
                mark(value, is_beyond_tolerance)
            } else {
                format!("({})", size(value))
            });
            cells.push(size(divergence.largest));
        }
        cells
    }));
    rows.push(tolerances);
    rows
}

fn statistic_rows(moments: &[Moment]) -> Vec<Vec<String>> {
    let mut rows = vec![row(["step", "time, s"])];
    let mut tolerances = row(["tolerance", ""]);
    for statistic in &moments[0].statistics {
        let quantity = statistic.difference.quantity;
        let unit = if quantity == "mean height" { "m" } else { "J" };
        rows[0].extend([
            format!("{quantity}, {unit}: CPU"),
            "GPU".to_owned(),
            "difference".to_owned(),
        ]);
        tolerances.extend(row(["", "", &size(statistic.difference.tolerance)]));
    }
    rows.extend(moments.iter().map(|moment| {
        let mut cells = when(moment);
        for statistic in &moment.statistics {
            cells.extend([
                format!("{:.6}", statistic.cpu),
                format!("{:.6}", statistic.gpu),
                mark(statistic.difference.value, statistic.is_beyond_tolerance()),
            ]);
        }
        cells
    }));
    rows.push(tolerances);
    rows
}

fn when(moment: &Moment) -> Vec<String> {
    vec![moment.step.to_string(), Rounded(moment.time).to_string()]
}

/// A difference, with an exclamation mark if it is beyond its tolerance.
fn mark(value: f64, is_beyond_tolerance: bool) -> String {
    let mark = if is_beyond_tolerance { "!" } else { "" };
    format!("{mark}{}", size(value))
}

fn size(value: f64) -> String {
    // Two digits say how large a difference is.
    let rounded = format!("{value:.1e}").parse().unwrap_or(value);
    Rounded(rounded).to_string()
}

/// The first differences, in sentences.
fn disagreements(comparison: &Comparison) -> Vec<String> {
    let mut all = Vec::new();
    let mut note = |quantity: String, step: u64| {
        if !all.iter().any(|(known, _)| *known == quantity) {
            all.push((quantity, step));
        }
    };
    for pass in &comparison.passes {
        if pass.is_beyond_tolerance() {
            note(
                format!("{} ({})", pass.difference.quantity, pass.pass),
                pass.step,
            );
        }
    }
    for moment in &comparison.moments {
        for divergence in &moment.trajectories {
            if divergence.is_beyond_tolerance() {
                note(divergence.difference.quantity.to_owned(), moment.step);
            }
        }
        for statistic in &moment.statistics {
            if statistic.is_beyond_tolerance() {
                note(statistic.difference.quantity.to_owned(), moment.step);
            }
        }
    }
    all.into_iter()
        .map(|(quantity, step)| format!("{quantity} from step {step} on"))
        .collect()
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.0..=f64::MAX).contains(&number) => Ok(number),
        _ => Err("expected a number, 0 or more, such as 1e-3".to_owned()),
    }
}
