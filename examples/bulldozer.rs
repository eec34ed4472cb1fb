//! A bulldozer: a blade that the caller drives, slower the more it has to push.
//!
//! `cargo run --release --example bulldozer`

use std::error::Error;

use rockfall::glam::DVec3;
use rockfall::scene::SceneBuilder;
use rockfall::scene::format::{Contact, Fill, Material, Shape, Wall};
use rockfall::{Options, Simulation};

/// Power of the engine, W.
const POWER: f64 = 40.0;

fn main() -> Result<(), Box<dyn Error>> {
    let mut scene = SceneBuilder::new("bulldozer");
    let gravel = scene.material(
        "gravel",
        Material::new(2600.0).friction(0.6).restitution(0.2),
    );
    let steel = scene.material(
        "steel",
        Material::new(7800.0).friction(0.3).restitution(0.3),
    );
    let pebble = scene.shape("pebble", Shape::sphere(0.02), gravel);
    scene.wall("ground", Wall::plane(DVec3::Y), gravel);
    let blade = Wall::cuboid(DVec3::new(0.04, 0.3, 0.6)).at(DVec3::new(-0.6, 0.16, 0.0));
    let blade = scene.wall("blade", blade, steel);
    let (min, max) = (DVec3::new(-0.4, 0.03, -0.2), DVec3::new(0.2, 0.2, 0.2));
    scene.fill(&[(pebble, 1.0)], Fill::new(200, min, max));
    scene.contact(Contact::hooke(5e4));
    let mut simulation = Simulation::new(scene.build()?.model, &Options::default())?;
    simulation.run_until(0.1)?;

    println!("time_s,speed_m_s,force_N");
    let mut speed = 0.0;
    while simulation.time() < 1.0 {
        let force = simulation.wall_load(blade)?.force.x;
        let wanted = (POWER / (-force).max(1.0)).min(0.5);
        speed += 0.05 * (wanted - speed);
        simulation.set_wall_velocity(blade, DVec3::X * speed, DVec3::ZERO)?;
        simulation.step(50)?;
        println!("{:.3},{speed:.3},{force:.2}", simulation.time());
    }
    let (low, high) = (DVec3::new(0.0, 0.0, -1.0), DVec3::new(1.0, 1.0, 1.0));
    let moved = simulation.bodies_in_box(low, high)?.len();
    println!("{moved} pebbles lie beyond x = 0");
    Ok(())
}
