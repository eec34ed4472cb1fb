//! Heat: what a run keeps of it, on both engines. `tests/validation/heat.rs` has the numbers.

use crate::common::{device, model, on_both, warm_crowd};
use glam::DVec3;
use rockfall::internals::heat::ROOM;
use rockfall::model::Law;
use rockfall::model::handle::WallHandle;
use rockfall::output::{Table, write_state};
use rockfall::{Simulation, scene};
use serde_json::{Value, json};

/// A cold brick of two spheres that falls into warm balls on a hot floor.
fn scene_with(more: Value) -> Value {
    let mut scene = json!({
        "version": 1,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4, "time_step": 5e-5 },
        "materials": { "brass": { "density": 2500, "restitution": 0.5, "friction": 0.5,
                                  "conductivity": 20, "heat_capacity": 1 } },
        "shapes": { "ball": { "sphere": { "radius": 0.01 }, "material": "brass" },
                    "rod": { "rod": { "n": 2, "radius": 0.01 }, "material": "brass" } },
        "planes": [{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "brass", "temperature": 500 }],
        "bodies": [{ "shape": "rod", "name": "cold", "position": [0.03, 0.05, 0.03], "temperature": 100 }],
        "fills": [{ "count": 9, "shapes": { "ball": 1 }, "placement": "grid", "spacing": 0.0201,
                    "region": { "min": [0, 0, 0], "max": [0.0605, 0.021, 0.0605] }, "temperature": 400 }],
    });
    for (key, value) in more.as_object().unwrap() {
        scene[key] = value.clone();
    }
    scene
}

fn temperatures(simulation: &mut Simulation) -> Vec<f64> {
    let bodies = simulation.bodies().unwrap();
    bodies
        .iter()
        .map(|body| body.quantities.temperature.unwrap())
        .collect()
}

#[test]
fn bodies_warm_up_on_a_hot_floor_and_a_fixed_one_stays_as_it_is() {
    let bodies = json!([
        { "shape": "rod", "position": [0.03, 0.05, 0.03], "temperature": 100 },
        { "shape": "ball", "position": [0.1, 0.0099, 0], "fixed": true, "temperature": 200 },
        { "shape": "ball", "position": [0.1, 0.5, 0] },
    ]);
    on_both(
        &scene_with(json!({ "bodies": bodies })).to_string(),
        |mut simulation, engine| {
            simulation.step(4000).unwrap();
            let found = temperatures(&mut simulation);
            assert!(
                found[0] > 101.0,
                "{engine}: the cold one warms up: {found:?}"
            );
            assert_eq!(found[1], 200.0, "{engine}: the fixed one");
            assert!(
                (found[2] - ROOM).abs() < 1e-5,
                "{engine}: what flies: {found:?}"
            );
            assert!(found[3..].iter().any(|t| *t > 400.0), "{engine}: {found:?}");
            // A body by itself is reported as it is among all.
            assert_eq!(
                simulation.body_at(0).unwrap().quantities.temperature,
                Some(found[0])
            );
        },
    );
}

#[test]
fn the_same_bits_on_any_number_of_threads_and_in_pieces() {
    let model = warm_crowd(Law::HookeHistory, 1000, DVec3::ZERO, 3);
    let run = |threads, pieces: u64| {
        let mut simulation = Simulation::on_cpu(model.clone(), Some(threads)).unwrap();
        for _ in 0..pieces {
            simulation.step(60 / pieces).unwrap();
        }
        simulation.state().unwrap().body_heat.clone()
    };
    let one = run(1, 1);
    assert!(one == run(2, 1), "two threads");
    assert!(one == run(3, 1), "three threads");
    assert!(one == run(1, 60), "step by step");
    let changed = one.iter().zip(&model.bodies);
    let changed = changed.filter(|(heat, body)| heat.exact() != body.quantities.temperature);
    assert!(changed.count() > 50);
}

#[test]
fn a_checkpoint_keeps_temperatures_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.checkpoint");
    on_both(
        &scene_with(json!({})).to_string(),
        |mut straight, engine| {
            straight.step(1500).unwrap();
            straight.write_checkpoint(&file).unwrap();
            straight.step(1500).unwrap();
            let text = scene_with(json!({})).to_string();
            let mut resumed = match engine {
                "gpu" => Simulation::on_gpu(model(&text), device()).unwrap(),
                _ => Simulation::on_cpu(model(&text), None).unwrap(),
            };
            resumed.read_checkpoint(&file).unwrap();
            resumed.step(1500).unwrap();
            let [a, b] =
                [&mut straight, &mut resumed].map(|s| s.state().unwrap().body_heat.clone());
            assert!(a == b, "{engine}");

            // A scene that starts from there starts as warm.
            let found = temperatures(&mut straight);
            straight.write_checkpoint(&file).unwrap();
            let next = scene_with(json!({ "bodies": [], "fills": [], "start": { "from": file } }));
            let mut next = Simulation::on_cpu(model(&next.to_string()), None).unwrap();
            for (now, before) in temperatures(&mut next).iter().zip(&found) {
                // Single precision, without what rounding had left out.
                assert!((now - before).abs() < 2e-5, "{now} {before}");
            }
        },
    );
}

#[test]
fn fragments_are_as_warm_as_the_whole_and_newcomers_as_the_inlet_says() {
    let more = json!({
        "explosions": [{ "body": "cold", "at": 1e-3, "fragments": 2, "speed": 0.1, "seed": 3 }],
        "inlets": [{ "rate": 1000, "count": 3, "shapes": { "ball": 1 }, "temperature": 700,
                     "region": { "min": [0.2, 0.2, 0.2], "max": [0.4, 0.4, 0.4] } }],
        "shapes": { "ball": { "sphere": { "radius": 0.01 }, "material": "brass" },
                    "rod": { "rod": { "n": 4, "radius": 0.01 }, "material": "brass" } },
    });
    on_both(&scene_with(more).to_string(), |mut simulation, engine| {
        simulation.step(400).unwrap();
        let found = temperatures(&mut simulation);
        let like = |wanted: f64| found.iter().filter(|t| (**t - wanted).abs() < 1.0).count();
        assert_eq!((like(100.0), like(700.0)), (2, 3), "{engine}: {found:?}");
    });
}

#[test]
fn a_wall_gets_another_temperature() {
    on_both(
        &scene_with(json!({})).to_string(),
        |mut simulation, engine| {
            simulation.step(2000).unwrap();
            let before = temperatures(&mut simulation);
            simulation
                .set_wall_temperature(WallHandle::from_index(0), None)
                .unwrap();
            simulation.step(200).unwrap();
            let insulated = temperatures(&mut simulation);
            simulation
                .set_wall_temperature(WallHandle::from_index(0), Some(1000.0))
                .unwrap();
            simulation.step(200).unwrap();
            let hot = temperatures(&mut simulation);
            let sum = |all: &[f64], weights: &[f64]| -> f64 {
                all.iter().zip(weights).map(|(a, b)| a * b).sum()
            };
            let masses: Vec<f64> = simulation
                .bodies()
                .unwrap()
                .iter()
                .map(|b| b.mass)
                .collect();
            let [before, insulated, hot] = [before, insulated, hot].map(|all| sum(&all, &masses));
            assert!((insulated / before - 1.0).abs() < 1e-6, "{engine}");
            assert!(
                hot > insulated * (1.0 + 1e-4),
                "{engine}: {hot} {insulated}"
            );
            for (wall, temperature) in [(7, 300.0), (0, -1.0), (0, f64::NAN)] {
                assert!(
                    simulation
                        .set_wall_temperature(WallHandle::from_index(wall), Some(temperature))
                        .is_err()
                );
            }
        },
    );
}

#[test]
fn files_have_the_temperature_where_there_is_heat_and_only_there() {
    let mut simulation =
        Simulation::on_cpu(model(&scene_with(json!({})).to_string()), None).unwrap();
    let written = |simulation: &mut Simulation| {
        let mut bytes = Vec::new();
        write_state(&mut bytes, &simulation.snapshot().unwrap()).unwrap();
        let json: Value = serde_json::from_slice(&bytes).unwrap();
        let table = Table::bodies(&simulation.snapshot().unwrap());
        let column = table
            .columns
            .iter()
            .any(|column| column.name == "temperature");
        (json["bodies"][0]["temperature"].clone(), column)
    };
    assert_eq!(written(&mut simulation), (json!(100.0), true));
    let mut cold = scene_with(json!({}));
    cold["materials"]["brass"]["conductivity"].take();
    cold["materials"]["brass"]
        .as_object_mut()
        .unwrap()
        .remove("conductivity");
    let cold = scene::parse(&cold.to_string(), "cold.json".as_ref()).unwrap();
    assert!(
        cold.warnings
            .iter()
            .any(|warning| warning.contains("no material has a \"conductivity\"")),
        "{:?}",
        cold.warnings
    );
    let mut cold = Simulation::on_cpu(cold.model, None).unwrap();
    assert_eq!(written(&mut cold), (Value::Null, false));
    assert!(
        cold.set_wall_temperature(WallHandle::from_index(0), Some(300.0))
            .is_err()
    );
}
