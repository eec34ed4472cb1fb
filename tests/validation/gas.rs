//! Spheres that fly and collide, without gravity.

use std::f64::consts::PI;

use serde_json::{Value, json};

use crate::motion::line;
use crate::table::{Engine, Quantity, absolute, at_least, at_most, relative};
use crate::theory::{linear_duration, models, sphere_mass};

/// Walls around a cube of the given side about the origin.
fn walls(side: f64) -> Value {
    let mut planes = Vec::new();
    for axis in 0..3 {
        for sign in [-1.0, 1.0] {
            let (mut point, mut normal) = ([0.0; 3], [0.0; 3]);
            point[axis] = 0.5 * side * sign;
            normal[axis] = -sign;
            planes
                .push(json!({ "point": point, "normal": normal, "material": "m", "rigid": true }));
        }
    }
    json!(planes)
}

fn elastic_box(law: &str) -> Value {
    let (normal, tangential) = models(law);
    let mut contact = json!({ "normal": normal, "tangential": tangential, "elastic": true });
    if law != "hertz/mindlin" {
        contact["stiffness"] = json!(1e5);
    }
    json!({
        "version": 1, "gravity": [0, 0, 0], "contact": contact, "planes": walls(2.0),
        "materials": { "m": { "density": 1000, "restitution": 1, "friction": 0,
                              "young_modulus": 1e7, "poisson_ratio": 0.25 } },
        "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "m" } },
        "fills": [ { "count": 1000, "shapes": { "ball": 1 }, "placement": "random", "seed": 3,
                     "region": { "min": [-1, -1, -1], "max": [1, 1, 1] },
                     "velocity": { "min": [-1, -1, -1], "max": [1, 1, 1] } } ],
    })
}

pub fn linear_energy(engine: Engine) -> Vec<Quantity> {
    energy(engine, "hooke/viscous")
}

pub fn hertzian_energy(engine: Engine) -> Vec<Quantity> {
    energy(engine, "hertz/mindlin")
}

fn energy(engine: Engine, law: &str) -> Vec<Quantity> {
    let mut simulation = engine.start(&elastic_box(law));
    // Springs hold some hundredths of it, now more, now less, which kinetic energy alone would show as a change.
    let start = simulation.energy().unwrap().total();
    let energies: Vec<f64> = (0..100)
        .map(|_| {
            simulation.step(10_000).unwrap();
            simulation.energy().unwrap().total() / start
        })
        .collect();
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let drift = mean(&energies[90..]) - mean(&energies[..10]);
    vec![absolute(
        "energy in the last tenth less that in the first, over the energy",
        0.0,
        drift,
        1e-3,
    )]
}

pub fn cooling(engine: Engine) -> Vec<Quantity> {
    let (radius, density, count, restitution) = (0.01_f64, 1000.0, 500, 0.8);
    let (fraction, speed) = (0.05, 1.0);
    let mass = sphere_mass(density, radius);
    let side = (f64::from(count) * 4.0 / 3.0 * PI * radius.powi(3) / fraction).cbrt();
    let stiffness = 0.5 * mass * (speed / (0.01 * radius)).powi(2);
    let time_step = linear_duration(stiffness, 0.5 * mass, restitution) / 20.0;
    let half = 0.5 * side;
    let mut simulation = engine.start(&json!({
        "version": 1, "gravity": [0, 0, 0],
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": stiffness, "time_step": time_step },
        "domain": { "min": [-half, -half, -half], "max": [half, half, half],
                    "periodic": [true, true, true] },
        "materials": { "m": { "density": density, "restitution": restitution, "friction": 0 } },
        "shapes": { "ball": { "sphere": { "radius": radius }, "material": "m" } },
        "fills": [ { "count": count, "shapes": { "ball": 1 }, "placement": "random", "seed": 5,
                     "region": { "min": [-half, -half, -half], "max": [half, half, half] },
                     "velocity": { "min": [-speed, -speed, -speed], "max": [speed, speed, speed] } } ],
    }));
    // T, as a square of a speed: a third of the mean square, less what moves along with all.
    let temperature = |simulation: &mut rockfall::Simulation| {
        let summary = simulation.summary().unwrap();
        let total = f64::from(count) * mass;
        let drift = summary.momentum / total;
        (2.0 * summary.kinetic_energy / total - drift.length_squared()) / 3.0
    };
    let start = simulation.summary().unwrap().momentum;
    // The velocities, which start in a box, become those of Maxwell in a few collisions.
    let number = f64::from(count) / side.powi(3);
    let crowding = (1.0 - 0.5 * fraction) / (1.0 - fraction).powi(3);
    let rate =
        |temperature: f64| 16.0 * number * radius * radius * crowding * (PI * temperature).sqrt();
    let first = temperature(&mut simulation);
    let steps = |collisions: f64, t: f64| (collisions / rate(t) / time_step) as u64;
    simulation.step(steps(3.0, first)).unwrap();
    let first = temperature(&mut simulation);
    let before = simulation.time();
    // Haff: T = T0 / (1 + t/tau)², so that 1/sqrt(T) is a straight line.
    let every = steps(1.0, first);
    let mut points = vec![(0.0, 1.0)];
    for _ in 0..12 {
        simulation.step(every).unwrap();
        let time = simulation.time() - before;
        points.push((time, (first / temperature(&mut simulation)).sqrt()));
    }
    let (offset, slope) = line(&points);
    let mean = points.iter().map(|p| p.1).sum::<f64>() / points.len() as f64;
    let left: f64 = points
        .iter()
        .map(|p| (p.1 - offset - slope * p.0).powi(2))
        .sum();
    let spread: f64 = points.iter().map(|p| (p.1 - mean).powi(2)).sum();
    // Each collision takes (1 - e²) T on average.
    let expected = (1.0 - restitution * restitution) * rate(first) / 6.0;
    let lost = (simulation.summary().unwrap().momentum - start).length();
    let scale = f64::from(count) * mass * speed;
    vec![
        relative(
            "1/τ over that of kinetic theory",
            1.0,
            slope / expected,
            0.07,
        ),
        at_least("R² of 1/√T over time", 0.999, 1.0 - left / spread),
        at_most("change of momentum over N m v", 1e-6, lost / scale),
    ]
}
