//! A settled pile of equal spheres in an open box, timed with rapier.
//!
//! usage: rapier-deck PILE THREADS WARM FRAMES RUNS
//!
//! PILE is what `cargo peers` writes; WARM frames of 1/60 s are untimed, each of RUNS times FRAMES is timed. Bodies may not fall asleep: what is
//! timed is the work of all of them.

use std::env;
use std::fs;
use std::time::Instant;

use rapier3d::prelude::*;
use serde_json::Value;

fn vector(value: &Value) -> Vector {
    let number = |k: usize| value[k].as_f64().expect("a number") as f32;
    Vector::new(number(0), number(1), number(2))
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [pile, threads, warm, frames, runs] = arguments.as_slice() else {
        panic!("usage: rapier-deck PILE THREADS WARM FRAMES RUNS");
    };
    let text = fs::read_to_string(pile).expect("the pile is there");
    let pile: Value = serde_json::from_str(&text).expect("the pile is JSON");
    let number = |name: &str| pile[name].as_f64().expect("a number") as f32;
    let [warm, frames, runs] =
        [warm, frames, runs].map(|count| count.parse::<u64>().expect("a count"));
    let radius = number("radius");

    let mut world = PhysicsWorld::default();
    world.gravity = Vector::new(0.0, -number("gravity"), 0.0);
    // The size of a typical object, as rapier's documentation asks.
    world.integration_parameters.length_unit = 2.0 * radius;
    world.integration_parameters.dt = number("frame");
    let threads = threads.parse().expect("a count");
    world
        .physics_pipeline
        .configure_thread_pool(threads)
        .expect("threads");
    let surface = |collider: ColliderBuilder| {
        collider
            .friction(number("friction"))
            .restitution(number("restitution"))
    };
    for plane in pile["planes"].as_array().expect("planes") {
        let normal = vector(&plane["normal"]);
        let offset = plane["offset"].as_f64().expect("a number") as f32;
        world.insert(
            RigidBodyBuilder::fixed().translation(normal * offset),
            surface(ColliderBuilder::new(SharedShape::halfspace(normal))),
        );
    }
    let rows = ["position", "velocity", "spin"].map(|name| pile[name].as_array().expect("rows"));
    let bodies: Vec<_> = (0..rows[0].len())
        .map(|index| {
            let [position, velocity, spin] = rows.map(|row| vector(&row[index]));
            let body = RigidBodyBuilder::dynamic()
                .translation(position)
                .linvel(velocity)
                .angvel(spin)
                .can_sleep(false);
            let ball = surface(ColliderBuilder::ball(radius)).density(number("density"));
            world.insert(body, ball).0
        })
        .collect();

    for _ in 0..warm {
        world.step();
    }
    for _ in 0..runs {
        let clock = Instant::now();
        for _ in 0..frames {
            world.step();
        }
        println!("peers: seconds {}", clock.elapsed().as_secs_f64());
    }
    let touching = world.narrow_phase.contact_pairs();
    let touching = touching.filter(|pair| pair.has_any_active_contact());
    println!("peers: contacts {}", touching.count());
    let energy = bodies
        .iter()
        .map(|&body| world.bodies[body].kinetic_energy());
    println!(
        "peers: kinetic_energy_j {}",
        energy.map(f64::from).sum::<f64>()
    );
    println!("peers: version 0.36");
}
