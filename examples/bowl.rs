//! A bowl that is filled from code: a ball at a time, until one lies on the floor beside it.
//!
//! `cargo run --release --example bowl`

use std::error::Error;

use rockfall::glam::DVec3;
use rockfall::scene::SceneBuilder;
use rockfall::scene::format::{Contact, Material, Shape, Wall};
use rockfall::simulation::events::Event;
use rockfall::{NewBody, Options, Simulation};

/// A bowl of balls: rings of a cone, which no ball falls through.
fn bowl() -> Vec<(DVec3, f64)> {
    let mut spheres = Vec::new();
    for ring in 0..5 {
        let (radius, height) = (0.05 * f64::from(ring), 0.04 * f64::from(ring));
        let count = (6 * ring).max(1);
        for k in 0..count {
            let angle = std::f64::consts::TAU * f64::from(k) / f64::from(count);
            let place = DVec3::new(radius * angle.cos(), height, radius * angle.sin());
            spheres.push((place, 0.03));
        }
    }
    spheres
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut scene = SceneBuilder::new("bowl");
    let clay = scene.material("clay", Material::new(2000.0).friction(0.4).restitution(0.3));
    let vessel = scene.shape("bowl", Shape::spheres(&bowl()), clay);
    let marble = scene.shape("marble", Shape::sphere(0.025), clay);
    let floor = scene.wall("floor", Wall::plane(DVec3::Y), clay);
    scene.body(NewBody::new(vessel, DVec3::new(0.0, 0.031, 0.0)).fixed());
    scene.contact(Contact::hooke(2e4));
    let model = scene.build()?.model;

    let mut simulation = Simulation::new(model, &Options::default())?;
    simulation.watch_wall(floor)?;
    let mut marbles = 0;
    let spilled = loop {
        let turn = 0.4 * f64::from(marbles);
        let place = DVec3::new(0.08 * turn.cos(), 0.45, 0.08 * turn.sin());
        simulation.spawn(NewBody::new(marble, place))?;
        marbles += 1;
        simulation.run_until(simulation.time() + 0.05)?;
        let on_floor = |event: &Event| matches!(event, Event::WallContactBegan(..));
        if simulation.events().iter().any(on_floor) || marbles == 400 {
            break marbles < 400;
        }
    };
    println!(
        "marbles: {marbles}, time: {:.1} s, engine: {}",
        simulation.time(),
        simulation.adapter()
    );
    println!(
        "{}",
        if spilled {
            "the bowl is full"
        } else {
            "the bowl is larger than that"
        }
    );
    Ok(())
}
