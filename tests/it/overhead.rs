//! What output costs: writing happens beside the simulation, not in its way.

use std::path::Path;
use std::time::{Duration, Instant};

use rockfall::output::{Record, RunFolder};
use rockfall::scene::format::Interval;
use rockfall::{Options, Simulation, scene};

/// Steps before the first measurement, so that bodies touch.
const SETTLE: u64 = 4000;
/// Steps of a measurement, and of output.
const STEPS: u64 = 4000;
const EVERY: u64 = 1000;
/// Measurements of each kind, of which the fastest counts: others had the machine in between.
const REPEATS: usize = 5;

/// Runs with and without output in turn, on the engine that `rockfall run` would take.
#[test]
#[ignore = "slow: minutes, and meant for a machine with nothing else to do"]
fn output_every_thousand_steps_costs_less_than_a_twentieth() {
    let mut scene = scene::load(Path::new("scenes/bench/spheres_10k.json")).unwrap();
    // All that can be written.
    scene.file.output.every = Some(Interval::steps(EVERY));
    scene.file.output.statistics_every = Some(Interval::steps(EVERY));
    let options = Options::default();
    let mut simulation = Simulation::new(scene.model.clone(), &options).unwrap();
    simulation.step(SETTLE).unwrap();
    let start = simulation.state().unwrap().clone();
    let folder = tempfile::tempdir().unwrap();
    let mut fastest = [Duration::MAX; 2];
    for repeat in 0..REPEATS {
        for (kind, fastest) in fastest.iter_mut().enumerate() {
            simulation.restore(&start, SETTLE).unwrap();
            simulation.step(50).unwrap();
            let path = folder.path().join(format!("run {repeat}"));
            let record = Record::new(&simulation, &options, Vec::new(), SETTLE + STEPS);
            let mut output = (kind == 1)
                .then(|| RunFolder::create_later(&path, &scene, record, &simulation).unwrap());
            let clock = Instant::now();
            let to = simulation.steps() + STEPS;
            let _ = match &mut output {
                Some(output) => simulation.run(to, &mut [output]).unwrap(),
                None => simulation.run(to, &mut []).unwrap(),
            };
            // Until the last file is written.
            if let Some(mut output) = output {
                output.wait().unwrap();
            }
            let time = clock.elapsed();
            println!("{}: {:.3} s", ["without", "with"][kind], time.as_secs_f64());
            *fastest = time.min(*fastest);
        }
    }
    let written = std::fs::read_dir(folder.path().join("run 0/vtk"))
        .unwrap()
        .count();
    assert_eq!(written, 4 * 4, "four times four kinds");
    let [without, with] = fastest.map(|time| time.as_secs_f64());
    println!(
        "{}: {STEPS} steps take {without:.3} s without output and {with:.3} s with all of it every {EVERY} \
         steps, {:.2} % more",
        simulation.adapter(),
        100.0 * (with / without - 1.0)
    );
    assert!(
        with < 1.05 * without,
        "{with} s is more than 5 % over {without} s"
    );
}
