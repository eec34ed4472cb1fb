//! Physics that takes minutes; `cargo xtask test --long` runs it, in release mode.

mod common;

use common::model;
use rockfall::Simulation;

/// A thousand frictionless, elastic spheres in a box of elastic planes, without gravity.
const GAS: &str = r#"{ "version": 1, "gravity": [0, 0, 0], "duration": 1.0,
    "contact": { "law": "linear", "stiffness": 1e5 },
    "materials": { "m": { "density": 1000, "restitution": 1, "friction": 0 } },
    "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "m" } },
    "planes": [ { "point": [-1, 0, 0], "normal": [1, 0, 0], "material": "m" },
                { "point": [1, 0, 0], "normal": [-1, 0, 0], "material": "m" },
                { "point": [0, -1, 0], "normal": [0, 1, 0], "material": "m" },
                { "point": [0, 1, 0], "normal": [0, -1, 0], "material": "m" },
                { "point": [0, 0, -1], "normal": [0, 0, 1], "material": "m" },
                { "point": [0, 0, 1], "normal": [0, 0, -1], "material": "m" } ],
    "fills": [ { "count": 1000, "shapes": { "ball": 1 }, "placement": "random", "seed": 3,
                 "region": { "min": [-1, -1, -1], "max": [1, 1, 1] },
                 "velocity": { "min": [-1, -1, -1], "max": [1, 1, 1] } } ] }"#;

#[test]
#[ignore = "a million steps take minutes"]
fn an_elastic_gas_keeps_its_energy_for_a_million_steps() {
    let mut simulation = Simulation::on_cpu(model(GAS), None).unwrap();
    let start = simulation.summary().unwrap().kinetic_energy;
    let mut energies = Vec::new();
    for _ in 0..100 {
        simulation.step(10_000).unwrap();
        energies.push(simulation.summary().unwrap().kinetic_energy / start);
    }
    // At any moment, springs hold a part of the energy; the mean over a tenth of the run shows
    // whether it drifts.
    let means: Vec<f64> = energies
        .chunks(10)
        .map(|part| part.iter().sum::<f64>() / 10.0)
        .collect();
    let drift = means[9] - means[0];
    println!("means over tenths of the run: {means:?}");
    assert!(drift.abs() < 1e-3, "energy drifts by {drift}: {means:?}");
}
