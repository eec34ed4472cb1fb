//! A contact law of one's own, in WGSL: a spring that is softer the deeper the bodies are, and a dashpot.
//!
//! `cargo run --release --example own_law`

use std::error::Error;

use rockfall::glam::DVec3;
use rockfall::scene::SceneBuilder;
use rockfall::scene::format::{Contact, Material, NormalModel, Shape, Wall};
use rockfall::step::gpu::Adapter;
use rockfall::{NewBody, Simulation};

/// `shaders/shared/contact.wgsl` has what a law gets and can build on.
const LAW: &str = "
fn contact_law(contact: Contact, pair: Pair, history: History, params: Params) -> Response {
    var response: Response;
    if contact.overlap <= 0.0 {
        return response;
    }
    let spring = pair.stiffness * contact.overlap / (1.0 + 20.0 * contact.overlap);
    let approach = -dot(contact.relative_velocity, contact.normal);
    let dashpot = 20.0 * approach;
    response.force = -max(spring + dashpot, 0.0) * contact.normal;
    return response;
}
";

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::temp_dir().join(format!("own_law_{}.wgsl", std::process::id()));
    std::fs::write(&file, LAW)?;
    let mut scene = SceneBuilder::new("a softening ball");
    let rubber = scene.material("rubber", Material::new(1000.0).restitution(0.8));
    let ball = scene.shape("ball", Shape::sphere(0.1), rubber);
    scene.wall("floor", Wall::plane(DVec3::Y), rubber);
    scene.body(NewBody::new(ball, DVec3::new(0.0, 0.5, 0.0)));
    scene.contact(Contact::default().with(|contact| {
        contact.normal = NormalModel::Custom;
        contact.file = Some(file.to_string_lossy().into_owned());
        contact.stiffness = Some(1e5);
    }));
    let scene = scene.build();
    std::fs::remove_file(&file)?;
    let model = scene?.model;

    // The best GPU, or else a software one: custom laws run on the GPU engine only.
    let adapter = Adapter::choose(None).or_else(|_| Adapter::choose(Some("software")))?;
    let steps = model.steps_for(1.0);
    let mut simulation = Simulation::on_gpu(model, &adapter.open()?)?;
    println!("time_s,height_m");
    let mut lowest = f64::INFINITY;
    for _ in 0..50 {
        simulation.step(steps / 50)?;
        let height = simulation.snapshot()?.body(0).position.y;
        lowest = lowest.min(height);
        println!("{:.3},{height:.4}", simulation.time());
    }
    eprintln!("it came down to {lowest:.3} m and was thrown back");
    Ok(())
}
