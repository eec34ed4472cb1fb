//! Bodies that pass on heat.

use serde_json::{Value, json};

use crate::table::{Engine, Quantity, absolute, at_least, at_most, relative};

/// Springs so weak that nothing moves, and no gravity: contacts stay as they are.
fn scene(time_step: f64, more: Value) -> Value {
    let mut scene = json!({
        "version": 1, "gravity": [0, 0, 0],
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e-9, "time_step": time_step },
        "materials": {
            "brass": { "density": 2500, "restitution": 0.5, "friction": 0.5,
                       "conductivity": 10, "heat_capacity": 1 },
            "copper": { "density": 4000, "restitution": 0.5, "friction": 0.5,
                        "conductivity": 30, "heat_capacity": 2 },
        },
        "shapes": {
            "small": { "sphere": { "radius": 0.01 }, "material": "brass" },
            "large": { "sphere": { "radius": 0.02 }, "material": "copper" },
        },
    });
    for (key, value) in more.as_object().unwrap() {
        scene[key] = value.clone();
    }
    scene
}

fn mass(density: f64, radius: f64) -> f64 {
    density * 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3)
}

fn temperatures(simulation: &mut rockfall::Simulation) -> Vec<f64> {
    let bodies = simulation.bodies().unwrap();
    bodies
        .iter()
        .map(|body| body.quantities.temperature.unwrap())
        .collect()
}

pub fn two_bodies(engine: Engine) -> Vec<Quantity> {
    let (time_step, overlap) = (2e-3, 2e-4);
    let scene = scene(
        time_step,
        json!({ "bodies": [
            { "shape": "small", "temperature": 400 },
            { "shape": "large", "position": [0.03 - overlap, 0, 0], "temperature": 300 },
        ] }),
    );
    let mut simulation = engine.start(&scene);
    let [small, large] = [1.0 * mass(2500.0, 0.01), 2.0 * mass(4000.0, 0.02)];
    // Harmonic mean of 10 and 30, effective radius of 1 and 2 cm.
    let radius = f64::sqrt(0.01 * 0.02 / 0.03 * overlap);
    let conductance = 2.0 * 15.0 * radius;
    let rate = conductance * (1.0 / small + 1.0 / large);
    let steps = (1.0 / (rate * time_step)).round();
    simulation.step(steps as u64).unwrap();
    let [a, b] = temperatures(&mut simulation).try_into().unwrap();
    // An explicit step multiplies the difference by 1 - rate dt.
    let left = (1.0 - rate * time_step).powf(steps);
    let common = (small * 400.0 + large * 300.0) / (small + large);
    vec![
        relative("difference after 1/rate, K", 100.0 * left, a - b, 1e-4),
        relative(
            "rate of the approach, 1/s",
            rate,
            -((a - b) / 100.0).ln() / (steps * time_step),
            // First order in the step: rate dt / 2.
            0.5 * rate * time_step + 2e-4,
        ),
        absolute(
            "common temperature, K",
            common,
            (small * a + large * b) / (small + large),
            1e-5,
        ),
    ]
}

pub fn chain(engine: Engine) -> Vec<Quantity> {
    // Against a wall, the effective radius is twice as large: half of the overlap makes the same contact.
    const COUNT: usize = 5;
    let overlap = 2e-4;
    let pitch = 0.02 - overlap;
    let first = 0.01 - 0.5 * overlap;
    let last = first + pitch * (COUNT - 1) as f64;
    let bodies: Vec<Value> = (0..COUNT)
        .map(|k| json!({ "shape": "small", "position": [first + pitch * k as f64, 0, 0] }))
        .collect();
    let scene = scene(
        0.02,
        json!({ "bodies": bodies, "planes": [
            { "point": [0, 0, 0], "normal": [1, 0, 0], "material": "brass", "temperature": 400 },
            { "point": [last + first, 0, 0], "normal": [-1, 0, 0], "material": "brass", "temperature": 300 },
        ] }),
    );
    let mut simulation = engine.start(&scene);
    simulation.step(2000).unwrap();
    let found = temperatures(&mut simulation);
    let places = (1..=COUNT).map(|k| 400.0 - 100.0 * k as f64 / (COUNT + 1) as f64);
    let off = places
        .zip(&found)
        .map(|(place, found)| (place - found).abs());
    vec![
        at_most(
            "largest distance from the straight line, K",
            // An overlap of 1e-4 is good to about 1e-5 of itself.
            2e-3,
            off.fold(0.0, f64::max),
        ),
        relative(
            "temperature of the ball in the middle, K",
            350.0,
            found[2],
            1e-5,
        ),
    ]
}

pub fn kept(engine: Engine) -> Vec<Quantity> {
    let region = |low: f64| json!({ "min": [0, low, 0], "max": [0.1, low + 0.1, 0.1] });
    let fill = |shape: &str, low: f64, temperature: f64| {
        json!({ "count": 60, "shapes": { shape: 1 }, "placement": "grid", "spacing": 0.0201,
                "orientation": [0, 0, 0, 1], "region": region(low), "temperature": temperature,
                "velocity": { "min": [-0.2, -0.2, -0.2], "max": [0.2, 0.2, 0.2] } })
    };
    let mut scene = scene(
        1e-4,
        json!({ "gravity": [0, -9.81, 0],
                "shapes": {
                    "hot": { "sphere": { "radius": 0.01 }, "material": "brass" },
                    "cold": { "rod": { "n": 2, "radius": 0.005 }, "material": "copper" } },
                "walls": [ { "box": { "size": [0.1, 0.4, 0.1] }, "position": [0.05, 0.2, 0.05],
                             "side": "inside", "material": "brass" } ],
                "fills": [ fill("hot", 0.0, 400.0), fill("cold", 0.1, 300.0) ] }),
    );
    scene["contact"] =
        json!({ "normal": "hooke", "tangential": "history", "stiffness": 1e4, "time_step": 5e-5 });
    let mut simulation = engine.start(&scene);
    let capacities: Vec<f64> = simulation
        .bodies()
        .unwrap()
        .iter()
        .map(|body| body.mass * if body.shape == 0 { 1.0 } else { 2.0 })
        .collect();
    let before = temperatures(&mut simulation);
    simulation.step(4000).unwrap();
    let after = temperatures(&mut simulation);
    let changes = || {
        let pairs = before.iter().zip(&after).zip(&capacities);
        pairs.map(|((before, after), capacity)| capacity * (after - before))
    };
    let exchanged = 0.5 * changes().map(f64::abs).sum::<f64>();
    vec![
        at_least("heat exchanged, J", 0.1, exchanged),
        at_most(
            "heat gained or lost over that",
            1e-6,
            changes().sum::<f64>().abs() / exchanged,
        ),
    ]
}
