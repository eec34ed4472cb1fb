//! The law `impulse`: what large steps must not lose.

use std::f64::consts::PI;

use glam::DVec3;
use rockfall::{Partner, Simulation};
use serde_json::{Value, json};

use crate::motion::follow;
use crate::table::{Engine, Quantity, absolute, at_most, relative};
use crate::theory::{G, sphere_mass};

const RADIUS: f64 = 0.05;
const DENSITY: f64 = 1000.0;
const FRICTION: f64 = 0.3;

/// A floor of plain stuff; balls, and cubes of eight of them; and bodies.
fn scene(restitution: f64, bodies: Value) -> Value {
    let material = |density: f64, restitution: f64| json!({ "density": density, "restitution": restitution, "friction": FRICTION });
    json!({
        "version": 1, "contact": { "law": "impulse" },
        "materials": {
            "plain": material(DENSITY, restitution),
            "heavy": material(100.0 * DENSITY, restitution),
        },
        "shapes": {
            "ball": { "sphere": { "radius": RADIUS }, "material": "plain" },
            "heavy": { "sphere": { "radius": RADIUS }, "material": "heavy" },
            "cube": { "cube": { "n": 2, "radius": RADIUS }, "material": "plain" },
        },
        "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "plain" } ],
        "bodies": bodies,
    })
}

/// The steps of a time, s.
fn steps(simulation: &Simulation, time: f64) -> u64 {
    (time / simulation.model().time_step).round() as u64
}

/// A ball on another that is a hundred times lighter.
pub fn heavy_on_light(engine: Engine) -> Vec<Quantity> {
    let bodies = json!([
        { "shape": "ball", "position": [0, RADIUS, 0] },
        { "shape": "heavy", "position": [0, 3.0 * RADIUS, 0] },
    ]);
    let mut simulation = engine.start(&scene(0.0, bodies));
    let (start, count) = (steps(&simulation, 1.5), steps(&simulation, 0.5));
    simulation.step(start).unwrap();
    let tracks = follow(&mut simulation, 2, 1, count);
    let mean = |body: usize| {
        let forces = tracks[body].iter().map(|moment| moment.force.y);
        forces.sum::<f64>() / tracks[body].len() as f64
    };
    let weight = sphere_mass(DENSITY, RADIUS) * G;
    vec![
        relative(
            "force of the floor, in weights of the lower",
            101.0,
            (mean(0) + mean(1)) / weight,
            0.02,
        ),
        relative(
            "force of the lower on the upper, the same",
            100.0,
            mean(1) / weight,
            0.02,
        ),
    ]
}

/// Balls that meet the floor, and pairs of balls.
pub fn restitution(engine: Engine) -> Vec<Quantity> {
    let mut quantities = Vec::new();
    for e in [0.0, 0.5, 1.0] {
        let bodies = json!([
            { "shape": "ball", "position": [0, 0.3, 0], "velocity": [0, -2, 0] },
            { "shape": "ball", "position": [1, 1, 0], "velocity": [0, 0, 2] },
            { "shape": "ball", "position": [1, 1, 0.3], "velocity": [0, 0, -1] },
        ]);
        let mut scene = scene(e, bodies);
        scene["gravity"] = json!([0, 0, 0]);
        let mut simulation = engine.start(&scene);
        let count = steps(&simulation, 0.3);
        simulation.step(count).unwrap();
        let bodies = simulation.bodies().unwrap();
        let got = bodies[0].velocity.y / 2.0;
        quantities.push(absolute(format!("on the floor, e = {e}"), e, got, 1e-3));
        let got = (bodies[2].velocity.z - bodies[1].velocity.z) / 3.0;
        quantities.push(absolute(format!("of two balls, e = {e}"), e, got, 1e-3));
    }
    quantities
}

/// A cube that slides to rest, and a ball that slides until it rolls.
pub fn sliding(engine: Engine) -> Vec<Quantity> {
    let bodies = json!([
        { "shape": "cube", "position": [0, 2.0 * RADIUS, 0], "velocity": [2, 0, 0] },
        { "shape": "ball", "position": [0, RADIUS, 1], "velocity": [2, 0, 0] },
    ]);
    let mut simulation = engine.start(&scene(0.0, bodies));
    let count = steps(&simulation, 1.2);
    simulation.step(count).unwrap();
    let bodies = simulation.bodies().unwrap();
    vec![
        relative(
            "way of a cube, m",
            4.0 / (2.0 * FRICTION * G),
            bodies[0].position.x,
            0.005,
        ),
        at_most("its speed then, m/s", 1e-3, bodies[0].velocity.length()),
        relative(
            "speed of a ball that rolls, m/s",
            10.0 / 7.0,
            bodies[1].velocity.x,
            0.005,
        ),
        relative(
            "speed of its surface, m/s",
            10.0 / 7.0,
            -bodies[1].angular_velocity.z * RADIUS,
            0.005,
        ),
    ]
}

/// A cube on slopes that are less and more steep than its friction holds it on.
pub fn incline(engine: Engine) -> Vec<Quantity> {
    let after = |angle: f64| {
        let mut scene = scene(
            0.0,
            json!([{ "shape": "cube", "position": [0, 2.0 * RADIUS, 0] }]),
        );
        scene["gravity"] = json!([G * angle.sin(), -G * angle.cos(), 0]);
        let mut simulation = engine.start(&scene);
        let count = steps(&simulation, 1.0);
        simulation.step(count).unwrap();
        simulation.bodies().unwrap()[0].velocity.x
    };
    let steepest = FRICTION.atan();
    let steep = 1.5 * steepest;
    vec![
        at_most(
            "speed after 1 s at 0.98 of the steepest, m/s",
            1e-3,
            after(0.98 * steepest).abs(),
        ),
        relative(
            "speed after 1 s at 1.5 of it, m/s",
            G * (steep.sin() - FRICTION * steep.cos()),
            after(steep),
            0.005,
        ),
    ]
}

/// Balls that fly together and apart again, far from all walls.
pub fn cluster(engine: Engine) -> Vec<Quantity> {
    let bodies: Vec<Value> = (0..60)
        .map(|k| {
            let angle = f64::from(k) * 2.4;
            let place = DVec3::new(angle.cos(), 0.05 * f64::from(k) - 1.5, angle.sin()) * 0.3 + 3.0 * DVec3::Y;
            let velocity = (3.0 * DVec3::Y - place) * 2.0 + DVec3::X;
            json!({ "shape": "ball", "position": place.to_array(), "velocity": velocity.to_array() })
        })
        .collect();
    let mut scene = scene(0.5, json!(bodies));
    scene["gravity"] = json!([0, 0, 0]);
    scene["initial_overlap"] = json!("relax");
    let mut simulation = engine.start(&scene);
    let before = simulation.summary().unwrap().momentum;
    simulation.step(400).unwrap();
    let after = simulation.summary().unwrap().momentum;
    let contacts = simulation
        .bodies()
        .unwrap()
        .iter()
        .filter(|body| body.angular_velocity.length() > 0.1)
        .count();
    assert!(contacts > 10, "{contacts} balls have met others");
    vec![at_most(
        "change of momentum, as a part of it",
        1e-6,
        (after - before).length() / before.length(),
    )]
}

/// Ten cubes on each other.
pub fn tower(engine: Engine) -> Vec<Quantity> {
    let mut quantities = Vec::new();
    for count in [10, 20, 40] {
        let place = |k: usize| DVec3::Y * RADIUS * (2.0 + 4.0 * k as f64);
        let bodies: Vec<Value> = (0..count)
            .map(|k| json!({ "shape": "cube", "position": place(k).to_array() }))
            .collect();
        let mut simulation = engine.start(&scene(0.0, json!(bodies)));
        let all = steps(&simulation, 10.0);
        simulation.step(all).unwrap();
        let bodies = simulation.bodies().unwrap();
        let aside = bodies.iter().enumerate().map(|(k, body)| {
            let way = body.position - place(k);
            way.x.hypot(way.z)
        });
        quantities.push(at_most(
            format!("{count} high: way aside after 10 s, of a radius"),
            0.01,
            aside.fold(0.0, f64::max) / RADIUS,
        ));
        if count == 10 {
            let overlap = simulation.summary().unwrap().max_overlap_fraction;
            quantities.push(at_most(
                "10 high: largest overlap, of a radius",
                0.02,
                overlap,
            ));
        }
    }
    quantities
}

/// The weight of 10,000 balls on a floor, in a box that is periodic along it.
pub fn weight(engine: Engine) -> Vec<Quantity> {
    let mut scene = scene(0.3, json!([]));
    let half = 1.2;
    scene["domain"] = json!({ "min": [-half, -1, -half], "max": [half, 5, half], "periodic": [true, false, true] });
    scene["fills"] = json!([{ "count": 10_000, "shapes": { "ball": 1 }, "seed": 1, "placement": "grid",
        "spacing": 2.1 * RADIUS, "jitter": 0.04 * RADIUS,
        "region": { "min": [-half, 0, -half], "max": [half, 5, half] } }]);
    let mut simulation = engine.start(&scene);
    let settle = steps(&simulation, 4.0);
    simulation.step(settle).unwrap();
    let mut force = 0.0;
    let samples = 50;
    for _ in 0..samples {
        simulation.step(20).unwrap();
        let contacts = simulation.contacts().unwrap();
        let on_floor = contacts.filter(|contact| matches!(contact.partner, Partner::Wall(_)));
        force += on_floor.map(|contact| contact.force.y).sum::<f64>() / f64::from(samples);
    }
    let weight = 10_000.0 * 4.0 / 3.0 * PI * RADIUS.powi(3) * DENSITY * G;
    let summary = simulation.summary().unwrap();
    let lift = 10_000.0 * sphere_mass(DENSITY, RADIUS) * G * RADIUS;
    vec![
        relative(
            "force on the floor over the weight",
            1.0,
            force / weight,
            0.01,
        ),
        at_most(
            "kinetic energy, of that which lifts all by a radius",
            1e-3,
            summary.kinetic_energy / lift,
        ),
    ]
}
