//! An output of one's own: how high a heap stands, over time.
//!
//! `cargo run --release --example own_output`

use std::error::Error;
use std::ops::ControlFlow;

use rockfall::glam::DVec3;
use rockfall::scene::SceneBuilder;
use rockfall::scene::format::{Fill, Material, Shape, Wall};
use rockfall::{Backend, Observer, Options, Simulation};

/// Notes the mean height of the bodies, and ends the run once it changes no more.
struct Height {
    every: u64,
    /// Time (s) and mean height (m).
    rows: Vec<(f64, f64)>,
}

impl Observer for Height {
    fn next(&self, step: u64) -> u64 {
        (step / self.every + 1) * self.every
    }

    fn observe(&mut self, simulation: &mut Simulation) -> rockfall::error::Result<ControlFlow<()>> {
        let snapshot = simulation.snapshot()?;
        let bodies = snapshot.bodies();
        let count = bodies.len() as f64;
        let mean = bodies.map(|body| body.position.y).sum::<f64>() / count;
        let before = self.rows.last().map_or(f64::INFINITY, |row| row.1);
        self.rows.push((snapshot.time(), mean));
        Ok(if (mean - before).abs() < 1e-4 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // A scene in code; `rockfall::scene::load` reads one from a file.
    let mut scene = SceneBuilder::new("heap");
    let stone = Material::new(2500.0).restitution(0.3).friction(0.5);
    let stone = scene.material("stone", stone);
    let ball = scene.shape("ball", Shape::sphere(0.05), stone);
    for (name, slope) in [("floor", 0.0), ("left", 0.7), ("right", -0.7)] {
        let normal = DVec3::new(slope, 1.0, 0.0).normalize();
        scene.wall(name, Wall::plane(normal), stone);
    }
    let (min, max) = (DVec3::new(-0.2, 0.2, -0.2), DVec3::new(0.2, 1.0, 0.2));
    let fill = Fill::new(60, min, max).with(|fill| {
        fill.jitter = Some(0.002);
        fill.spacing = Some(0.105);
    });
    scene.fill(&[(ball, 1.0)], fill);
    scene.file().contact.max_overlap = Some(0.1);
    let scene = scene.build()?;

    let options = Options {
        backend: Backend::Cpu,
        ..Options::default()
    };
    let steps = scene.model.steps_for(3.0);
    let mut simulation = Simulation::new(scene.model, &options)?;
    let mut height = Height {
        every: steps / 60,
        rows: Vec::new(),
    };
    let rests = simulation.run(steps, &mut [&mut height])?.is_break();
    println!("time_s,mean_height_m");
    for (time, mean) in &height.rows {
        println!("{time:.3},{mean:.4}");
    }
    let verdict = if rests { "at rest" } else { "still moving" };
    eprintln!("{verdict} after {:.2} s", simulation.time());
    Ok(())
}
