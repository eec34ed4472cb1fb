//! The normal model `impulse`: what it takes from a scene and what it refuses, and the numbers that it must reproduce.

use glam::DVec3;
use rockfall::Simulation;
use rockfall::scene;
use rockfall::simulation::Precision;
use serde_json::{Value, json};

use crate::common::model;

const G: f64 = 9.81;
const RADIUS: f64 = 0.05;

/// A floor and balls of radius 0.05 m of `light` and `heavy` stuff, a hundred times as dense.
fn scene(restitution: f64, bodies: Value) -> Value {
    let material =
        |density: f64| json!({ "density": density, "restitution": restitution, "friction": 0.3 });
    json!({
        "version": 1, "contact": { "normal": "impulse" },
        "materials": { "light": material(1000.0), "heavy": material(100_000.0) },
        "shapes": {
            "light": { "sphere": { "radius": RADIUS }, "material": "light" },
            "heavy": { "sphere": { "radius": RADIUS }, "material": "heavy" },
            "box": { "cube": { "n": 2, "radius": RADIUS }, "material": "light" }
        },
        "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "light" } ],
        "bodies": bodies
    })
}

fn start(scene: &Value) -> Simulation {
    Simulation::on_cpu(model(&scene.to_string()), Some(1)).unwrap()
}

fn said(scene: &Value) -> String {
    match scene::parse(&scene.to_string(), "test.json".as_ref()) {
        Ok(_) => panic!("nothing is said"),
        Err(error) => error.to_string(),
    }
}

fn with(mut scene: Value, place: &str, value: Value) -> Value {
    let (parent, field) = place.rsplit_once('/').unwrap();
    scene.pointer_mut(parent).unwrap()[field] = value;
    scene
}

#[test]
fn substeps_follow_from_gravity_and_the_smallest_radius() {
    let ball = json!([{ "shape": "light", "position": [0, 0.05, 0] }]);
    let read = scene::parse(&scene(0.5, ball.clone()).to_string(), "a.json".as_ref()).unwrap();
    // A hundredth of sqrt(0.05/9.81) is 0.714 ms: 24 of them make up a sixtieth of a second.
    assert_eq!(read.file.contact.substeps, Some(24));
    assert!((read.model.time_step - 1.0 / 60.0 / 24.0).abs() < 1e-12);
    assert!(
        read.notes
            .iter()
            .any(|note| note.contains("24 substeps of 0.01667 s")),
        "{:?}",
        read.notes
    );
    let soft = |warnings: &[String]| warnings.iter().any(|said| said.contains("substeps"));
    assert!(!soft(&read.warnings), "{:?}", read.warnings);

    // Also where nothing can touch yet: a program may put more bodies into the model.
    let mut alone = scene(0.5, ball.clone());
    alone["planes"] = json!([]);
    let read = scene::parse(&alone.to_string(), "a.json".as_ref()).unwrap();
    assert_eq!(read.file.contact.substeps, Some(24));

    let given = with(
        scene(0.5, ball),
        "/contact",
        json!({ "normal": "impulse", "time_step": 0.02, "substeps": 4 }),
    );
    let read = scene::parse(&given.to_string(), "a.json".as_ref()).unwrap();
    assert_eq!(read.model.time_step, 0.005);
    let warning = "contact.substeps: found 4, expected about 29";
    assert!(
        read.warnings.iter().any(|said| said.starts_with(warning)),
        "{:?}",
        read.warnings
    );
}

#[test]
fn what_makes_no_sense_with_impulses_is_refused() {
    let ball = json!([{ "shape": "light", "position": [0, 0.05, 0] }]);
    let material = |field: &str| {
        let mut stuff =
            json!({ "density": 1000, "restitution": 0.5, "friction": 0.3, "heat_capacity": 800 });
        if field == "damping" {
            stuff = json!({ "density": 1000, "friction": 0.3 });
        }
        stuff[field] = json!(1.0);
        stuff
    };
    let wall = json!([{ "rectangle": { "size": [1, 1] }, "material": "light", "position": [0, 3, 0],
                        "rigid_body": { "mass": 1 } }]);
    for (place, value, sentence) in [
        (
            "/contact/stiffness",
            json!(1e5),
            "contact.stiffness: found 100000, expected nothing with the normal model \"impulse\"",
        ),
        (
            "/contact/limit_damping",
            json!(true),
            "contact.limit_damping: found true",
        ),
        (
            "/contact/substeps",
            json!(0),
            "contact.substeps: found 0, expected a whole number from 1 to 10000",
        ),
        (
            "/contact/elastic",
            json!(true),
            "contact.elastic: found true",
        ),
        (
            "/integrator",
            json!("explicit"),
            "integrator: found \"explicit\", expected nothing with the normal model",
        ),
        (
            "/materials/light",
            material("damping"),
            "materials.light.damping: found 1, expected nothing",
        ),
        (
            "/materials/light",
            material("conductivity"),
            "materials.light.conductivity: found 1, expected nothing",
        ),
        (
            "/walls",
            wall,
            "walls[0].rigid_body: found a wall that its load moves",
        ),
        (
            "/contact",
            json!({ "normal": "hooke", "tangential": "history", "substeps": 8 }),
            "contact.substeps: found 8, expected nothing with the normal model \"hooke\"",
        ),
    ] {
        let said = said(&with(scene(0.5, ball.clone()), place, value));
        assert!(said.contains(sentence), "{place}: {said}");
    }
}

/// Speed of a ball that falls to the floor and after it.
#[test]
fn a_ball_leaves_the_floor_with_the_restitution_of_its_material() {
    for restitution in [0.0, 0.5, 1.0] {
        let bodies = json!([{ "shape": "light", "position": [0, 0.3, 0], "velocity": [0, -2, 0] }]);
        let mut scene = scene(restitution, bodies);
        scene["gravity"] = json!([0, 0, 0]);
        let mut simulation = start(&scene);
        simulation.run_until(0.3).unwrap();
        let speed = simulation.bodies().unwrap()[0].velocity.y;
        assert!(
            (speed - 2.0 * restitution).abs() < 1e-3 * 2.0,
            "{restitution}: {speed}"
        );
    }
}

/// A body that slides stops when and where friction has it, and a ball that slides rolls in the end.
#[test]
fn what_slides_comes_to_rest_or_rolls() {
    let bodies = json!([
        { "shape": "box", "position": [0, 0.1, 0], "velocity": [2, 0, 0] },
        { "shape": "light", "position": [0, 0.05, 1], "velocity": [2, 0, 0] }
    ]);
    let mut simulation = start(&scene(0.0, bodies));
    simulation.run_until(1.5).unwrap();
    let bodies = simulation.bodies().unwrap();
    let way = 4.0 / (2.0 * 0.3 * G);
    assert!(
        (bodies[0].position.x - way).abs() < 0.005 * way,
        "{}",
        bodies[0].position.x
    );
    assert!(bodies[0].velocity.length() < 1e-4, "{}", bodies[0].velocity);
    let speed = 2.0 * 5.0 / 7.0;
    assert!(
        (bodies[1].velocity.x - speed).abs() < 1e-3 * speed,
        "{}",
        bodies[1].velocity
    );
    assert!((-bodies[1].angular_velocity.z * RADIUS - speed).abs() < 1e-3 * speed);
}

/// The floor bears both balls, and the lower one the upper, though that is a hundred times as heavy.
#[test]
fn a_heavy_ball_lies_on_a_light_one() {
    let bodies = json!([
        { "shape": "light", "position": [0, 0.05, 0] },
        { "shape": "heavy", "position": [0, 0.15, 0] }
    ]);
    let mut simulation = start(&scene(0.0, bodies));
    simulation.run_until(2.0).unwrap();
    let (mut floor, mut between, steps) = (0.0, 0.0, 1000);
    for _ in 0..steps {
        simulation.step(1).unwrap();
        let contacts: Vec<_> = simulation.contacts().unwrap().collect();
        assert_eq!(contacts.len(), 2);
        for contact in contacts {
            let force = contact.force.dot(contact.normal).abs() / f64::from(steps);
            if contact.normal.y < 0.0 {
                floor += force
            } else {
                between += force
            }
        }
    }
    let weight = simulation.model().shapes[0].mass * G;
    assert!((floor / weight - 101.0).abs() < 2.0, "{}", floor / weight);
    assert!(
        (between / weight - 100.0).abs() < 2.0,
        "{}",
        between / weight
    );
}

/// Ten boxes on each other stay where they are, and overlap by little.
#[test]
fn a_tower_of_ten_boxes_stands() {
    let bodies: Vec<Value> = (0..10)
        .map(|k| json!({ "shape": "box", "position": [0, 0.1 + 0.2 * f64::from(k), 0] }))
        .collect();
    let mut simulation = start(&scene(0.0, json!(bodies)));
    simulation.run_until(10.0).unwrap();
    let summary = simulation.summary().unwrap();
    assert!(
        summary.max_overlap_fraction < 0.02,
        "{}",
        summary.max_overlap_fraction
    );
    for (k, body) in simulation.bodies().unwrap().iter().enumerate() {
        let place = DVec3::new(0.0, 0.1 + 0.2 * k as f64, 0.0);
        assert!(
            body.position.distance(place) < 0.1 * RADIUS,
            "{k}: {}",
            body.position
        );
        assert!(body.velocity.length() < 1e-3, "{k}: {}", body.velocity);
    }
}

/// A heap of balls and boxes in a box comes to rest and falls asleep, the same way each time.
#[test]
fn a_heap_falls_asleep() {
    let plane = |point: [f64; 3], normal: [f64; 3]| json!({ "point": point, "normal": normal, "material": "light" });
    let mut scene = scene(0.3, json!([]));
    scene["planes"] = json!([
        plane([0.0; 3], [0.0, 1.0, 0.0]),
        plane([-0.6, 0.0, 0.0], [1.0, 0.0, 0.0]),
        plane([0.6, 0.0, 0.0], [-1.0, 0.0, 0.0]),
        plane([0.0, 0.0, -0.6], [0.0, 0.0, 1.0]),
        plane([0.0, 0.0, 0.6], [0.0, 0.0, -1.0])
    ]);
    scene["fills"] = json!([{ "count": 50, "shapes": { "light": 1, "box": 1 }, "seed": 3,
                              "region": { "min": [-0.6, 0.0, -0.6], "max": [0.6, 1.8, 0.6] } }]);
    scene["sleep"] = json!({});
    let hashes: Vec<_> = (1..=2)
        .map(|threads| {
            let model = model(&scene.to_string());
            let mut simulation = Simulation::on_cpu(model, Some(threads)).unwrap();
            simulation.run_until(5.0).unwrap();
            let summary = simulation.summary().unwrap();
            assert!(
                summary.max_overlap_fraction < 0.3,
                "{}",
                summary.max_overlap_fraction
            );
            let asleep = summary.asleep;
            assert!(
                asleep >= 30,
                "{asleep:?} sleep, {} J",
                summary.kinetic_energy
            );
            summary.state_hash
        })
        .collect();
    assert_eq!(hashes[0], hashes[1]);
}

/// Equal bits on the plain reference and on the CPU engine, with any number of threads, in calls of any length and
/// after a checkpoint, with all that materials have.
#[test]
fn engines_and_runs_have_the_same_bits() {
    let mut scene = scene(0.3, json!([{ "shape": "heavy", "position": [0, 0.4, 0] }]));
    for (name, cohesion) in [
        ("light", json!({ "force": 0.5, "range": 1e-3 })),
        ("heavy", json!(5.0)),
    ] {
        let material = &mut scene["materials"][name];
        material["rolling_friction"] = json!(0.1);
        material["rolling"] = json!("spring");
        material["twisting_friction"] = json!(0.05);
        material["cohesion"] = cohesion;
    }
    scene["pairs"] = json!([{ "between": ["light", "heavy"], "cohesion": 1.0 }]);
    scene["fills"] = json!([{ "count": 20, "shapes": { "light": 1, "box": 1 }, "seed": 3,
                              "region": { "min": [-0.6, 0.6, -0.6], "max": [0.6, 2.2, 0.6] } }]);
    scene["walls"] = json!([{ "cylinder": { "radius": 0.55, "height": 6 }, "side": "inside", "material": "light" }]);
    scene["sleep"] = json!({});
    let model = model(&scene.to_string());
    let hash = |mut simulation: Simulation, calls: &[u64]| {
        for &steps in calls {
            simulation.step(steps).unwrap();
        }
        simulation.summary().unwrap().state_hash
    };
    let on_cpu = |threads| Simulation::on_cpu(model.clone(), Some(threads)).unwrap();
    let plain = Simulation::on_reference(model.clone(), Precision::Single).unwrap();
    let expected = hash(plain, &[1200]);
    assert_eq!(hash(on_cpu(1), &[1200]), expected);
    assert_eq!(hash(on_cpu(3), &[1, 699, 500]), expected);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.checkpoint");
    let mut whole = on_cpu(2);
    whole.step(700).unwrap();
    whole.write_checkpoint(&path).unwrap();
    let mut resumed = on_cpu(1);
    resumed.read_checkpoint(&path).unwrap();
    assert_eq!(hash(resumed, &[500]), expected);
    let touching = whole.summary().unwrap();
    assert!(touching.contacts > 3, "{} contacts", touching.contacts);
}
