//! Bodies that nothing moves but their own velocity, on all engines.

use std::path::Path;

use crate::common::{model, on_both, simulate};
use glam::DVec3;
use rockfall::simulation::Precision;
use rockfall::simulation::checkpoint::Checkpoint;
use rockfall::{Backend, Options, Simulation};

/// A rough plate made of grains that moves under a ball, and a ring that turns about its own axis in free space.
const PLATE: &str = r#"{ "version": 1, "gravity": [0, -10, 0],
    "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 1e-4 },
    "materials": { "stone": { "density": 2500, "restitution": 0.3, "friction": 0.8 } },
    "shapes": {
        "ball": { "sphere": { "radius": 0.05 }, "material": "stone" },
        "plate": { "box": { "size": [2, 0.1, 0.4], "radius": 0.05, "spacing": 0.06 }, "material": "stone" },
        "ring": { "spheres": [ { "center": [0.2, 0, 0], "radius": 0.05 }, { "center": [-0.1, 0.3, 0.1], "radius": 0.1 } ],
                  "material": "stone" } },
    "bodies": [ { "shape": "plate", "name": "plate", "position": [0, 0, 0], "velocity": [0.5, 0, 0], "kinematic": true },
                { "shape": "ball", "position": [0, 0.098, 0.01], "velocity": [0.5, 0, 0] },
                { "shape": "ring", "position": [0, 5, 0], "angular_velocity": [0.3, 2, 0.1], "kinematic": true } ] }"#;

#[test]
fn a_plate_of_grains_goes_on_and_takes_a_ball_along() {
    on_both(PLATE, |mut simulation, engine| {
        simulation.step(10_000).unwrap();
        let bodies = simulation.bodies().unwrap();
        let [plate, ball, ring] = [&bodies[0], &bodies[1], &bodies[2]];
        assert!((plate.position.x - 0.5).abs() < 1e-5, "{engine}: {plate:?}");
        assert!(plate.position.y.abs() < 1e-9, "{engine}: {plate:?}");
        assert_eq!(plate.velocity, DVec3::X * 0.5, "{engine}");
        // It rolls in a hollow between grains.
        assert!((ball.position.x - 0.5).abs() < 0.06, "{engine}: {ball:?}");
        assert!(ball.position.y > 0.05, "{engine}: {ball:?}");
        let spin = DVec3::new(0.3, 2.0, 0.1);
        assert!(
            (ring.angular_velocity - spin).length() < 1e-5,
            "{engine}: {ring:?}"
        );
        assert!(
            (ring.position - bodies_at_start()[2]).length() < 1e-6,
            "{engine}: {ring:?}"
        );
        let (axis, angle) = ring.orientation.to_axis_angle();
        let turned = axis * angle;
        assert!((turned - spin).length() < 1e-3, "{engine}: {turned}");
    });
}

fn bodies_at_start() -> Vec<DVec3> {
    let model = model(PLATE);
    model.bodies.iter().map(|body| body.position).collect()
}

#[test]
fn the_reference_moves_them_too_and_a_checkpoint_keeps_them() {
    let hash = |simulation: &mut Simulation, steps| {
        simulation.step(steps).unwrap();
        simulation.summary().unwrap().state_hash
    };
    let options = Options {
        backend: Backend::Reference(Precision::Single),
        ..Options::default()
    };
    let mut reference = Simulation::new(model(PLATE), &options).unwrap();
    let mut straight = simulate(PLATE);
    assert_eq!(hash(&mut reference, 300), hash(&mut straight, 300));
    let bytes = straight.checkpoint().unwrap();
    let checkpoint = Checkpoint::decode(bytes, Path::new("plate")).unwrap();
    let mut again = simulate(PLATE);
    checkpoint.restore(&mut again).unwrap();
    assert_eq!(hash(&mut again, 500), hash(&mut straight, 500));
}
