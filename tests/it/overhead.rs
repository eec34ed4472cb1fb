//! Costs besides steps: output, which happens beside the simulation, and bodies that come in.

use std::time::{Duration, Instant};

use crate::common::own;

use glam::DVec3;
use rockfall::model::ModelBody;
use rockfall::output::{Record, RunFolder};
use rockfall::scene::format::Interval;
use rockfall::{NewBody, Options, ShapeHandle, Simulation, scene};

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
    let mut scene = scene::load(&own("scenes/bench/spheres_10k.json")).unwrap();
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

/// Balls on a grid above the heap, which touch nothing.
fn balls_above(count: usize) -> Vec<NewBody> {
    let ball = ShapeHandle::from_index(0);
    let at = |index: usize| {
        let place =
            [index % 100, index / 10_000, index / 100 % 100].map(|cell| 0.021 * cell as f64);
        NewBody::new(ball, DVec3::from_array(place) + 2.0 * DVec3::Y)
    };
    (0..count).map(at).collect()
}

/// A hundred thousand balls come into a world that runs, beside the making of that world with all of them in it; both with the
/// step after it, which builds the neighbour lists of all.
#[test]
#[ignore = "slow: meant for a machine with nothing else to do"]
fn a_hundred_thousand_bodies_come_in_as_fast_as_a_world_is_made_of_them() {
    let model = scene::load(&own("scenes/bench/spheres_10k.json"))
        .unwrap()
        .model;
    let balls = balls_above(100_000);
    let mut fastest = [Duration::MAX; 2];
    for _ in 0..REPEATS {
        let mut simulation = Simulation::on_cpu(model.clone(), None).unwrap();
        simulation.step(10).unwrap();
        let clock = Instant::now();
        simulation.spawn_many(&balls).unwrap();
        simulation.step(1).unwrap();
        fastest[0] = clock.elapsed().min(fastest[0]);
        assert_eq!(simulation.body_count(), 110_000);

        let mut whole = model.clone();
        whole.bodies.extend(balls.iter().map(|ball| ModelBody {
            position: ball.position,
            velocity: DVec3::ZERO,
            ..model.bodies[0]
        }));
        let clock = Instant::now();
        let mut simulation = Simulation::on_cpu(whole, None).unwrap();
        simulation.step(1).unwrap();
        fastest[1] = clock.elapsed().min(fastest[1]);
    }
    let [spawned, made] = fastest.map(|time| time.as_secs_f64());
    println!(
        "100,000 balls come into 10,000 in {spawned:.3} s; a world of 110,000 is made in {made:.3} s"
    );
    assert!(spawned < 1.5 * made, "{spawned} s and {made} s");
}

/// Ten thousand steps of a thousand bodies, ten at a time and all at once.
#[test]
#[ignore = "slow: meant for a machine with nothing else to do"]
fn a_thousand_calls_cost_little_more_than_one() {
    let mut scene = scene::load(&own("scenes/bench/spheres_10k.json")).unwrap();
    scene.model.bodies.truncate(1000);
    let mut simulation = Simulation::on_cpu(scene.model, None).unwrap();
    simulation.step(1000).unwrap();
    let mut fastest = [Duration::MAX; 2];
    for _ in 0..REPEATS {
        for (calls, fastest) in [1000, 1].into_iter().zip(&mut fastest) {
            let clock = Instant::now();
            for _ in 0..calls {
                simulation.step(10_000 / calls).unwrap();
            }
            *fastest = clock.elapsed().min(*fastest);
        }
    }
    let [many, one] = fastest.map(|time| time.as_secs_f64());
    println!("1,000 calls of 10 steps take {many:.3} s, one of 10,000 {one:.3} s");
    assert!(many < 1.1 * one, "{many} s and {one} s");
}
