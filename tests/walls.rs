//! Walls of every kind, on both engines.

mod common;

use common::on_both;
use glam::DVec3;
use rockfall::Simulation;
use serde_json::{Value, json};

/// A ball of radius 0.05 m and 1 kg, or what is given instead, among walls.
fn scene(walls: Value, bodies: Value) -> Value {
    json!({
        "version": 1,
        "contact": { "law": "hooke", "stiffness": 1e5, "time_step": 2e-5 },
        "materials": {
            "ball": { "density": 1909.859317102744, "restitution": 0.5, "friction": 0.5 },
            "wall": { "density": 1000, "restitution": 0.5, "friction": 0.5 },
        },
        "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "ball" } },
        "walls": walls,
        "bodies": bodies,
    })
}

fn with(mut scene: Value, key: &str, value: Value) -> Value {
    scene[key] = value;
    scene
}

fn body(simulation: &mut Simulation) -> rockfall::BodyState {
    simulation.bodies().unwrap().swap_remove(0)
}

/// A ball that hits a wall at 1 m/s along its normal leaves at half of it, wherever and whatever it is.
#[test]
fn a_ball_bounces_off_walls_of_every_kind() {
    let side = std::f64::consts::FRAC_1_SQRT_2;
    // The wall, where the ball starts, and the way to the wall.
    let cases = [
        (
            json!({ "rectangle": { "size": [1, 1] } }),
            [0.3, 0.06, 0.2],
            [0.0, -1.0, 0.0],
        ),
        (
            json!({ "rectangle": { "size": [1, 1] } }),
            [0.3, -0.06, 0.2],
            [0.0, 1.0, 0.0],
        ),
        (
            json!({ "disc": { "radius": 0.5 } }),
            [0.0, 0.06, 0.0],
            [0.0, -1.0, 0.0],
        ),
        (
            json!({ "disc": { "radius": 0.5, "hole": 0.2 } }),
            [0.3, 0.06, 0.0],
            [0.0, -1.0, 0.0],
        ),
        // On the rim, at half a right angle.
        (
            json!({ "disc": { "radius": 0.5 } }),
            [0.5 + 0.06 * side, 0.06 * side, 0.0],
            [-side, -side, 0.0],
        ),
        (
            json!({ "box": { "size": [1, 1, 1] }, "side": "outside" }),
            [0.56, 0.0, 0.2],
            [-1.0, 0.0, 0.0],
        ),
        (
            json!({ "box": { "size": [1, 1, 1] }, "side": "inside" }),
            [0.44, 0.0, 0.2],
            [1.0, 0.0, 0.0],
        ),
        // On the edge of a box.
        (
            json!({ "box": { "size": [1, 1, 1] } }),
            [0.5 + 0.06 * side, 0.5 + 0.06 * side, 0.1],
            [-side, -side, 0.0],
        ),
        (
            json!({ "sphere": { "radius": 0.5 }, "side": "outside" }),
            [0.0, 0.0, 0.56],
            [0.0, 0.0, -1.0],
        ),
        (
            json!({ "sphere": { "radius": 0.5 }, "side": "inside" }),
            [0.0, 0.0, 0.44],
            [0.0, 0.0, 1.0],
        ),
        (
            json!({ "cylinder": { "radius": 0.5 } }),
            [0.0, 3.0, 0.44],
            [0.0, 0.0, 1.0],
        ),
        (
            json!({ "cylinder": { "radius": 0.5, "height": 1 } }),
            [0.56, 0.2, 0.0],
            [-1.0, 0.0, 0.0],
        ),
        (
            json!({ "cylinder": { "radius": 0.5, "height": 1, "closed": true }, "side": "inside" }),
            [0.1, 0.44, 0.2],
            [0.0, 1.0, 0.0],
        ),
        // A cone of half a right angle.
        (
            json!({ "cone": { "bottom_radius": 0, "top_radius": 0.5, "height": 0.5 }, "side": "inside" }),
            [0.25 - 0.06 * side, 0.06 * side, 0.0],
            [side, -side, 0.0],
        ),
        (
            json!({ "torus": { "ring_radius": 0.5, "radius": 0.2 } }),
            [0.0, 0.26, 0.5],
            [0.0, -1.0, 0.0],
        ),
        (
            json!({ "torus": { "ring_radius": 0.5, "radius": 0.2 }, "side": "inside" }),
            [0.5, 0.14, 0.0],
            [0.0, 1.0, 0.0],
        ),
    ];
    // Each where no other is, near the origin and far from it, as it is and turned.
    let (mut walls, mut bodies, mut ways) = (Vec::new(), Vec::new(), Vec::new());
    for (index, (wall, position, way)) in cases.into_iter().enumerate() {
        for (turn, shift) in [([0.0, 0.0, 0.0, 1.0], 0.0), ([0.5, 0.5, -0.1, 0.7], 3000.0)] {
            // An endless one would reach the others.
            if shift > 0.0 && wall["cylinder"] == json!({ "radius": 0.5 }) {
                continue;
            }
            let shift = DVec3::new(4.0 * index as f64 + shift, -0.3 * shift, 0.1 * shift);
            let mut wall = wall.clone();
            wall["material"] = json!("wall");
            wall["orientation"] = json!(turn);
            wall["position"] = json!(shift.to_array());
            let turned = glam::DQuat::from_array(turn).normalize();
            let place = turned * DVec3::from(position) + shift;
            let way = turned * DVec3::from(way);
            bodies.push(json!({ "shape": "ball", "position": place.to_array(), "velocity": way.to_array() }));
            walls.push(wall);
            ways.push(way);
        }
    }
    let text = with(
        scene(json!(walls), json!(bodies)),
        "gravity",
        json!([0, 0, 0]),
    )
    .to_string();
    on_both(&text, |mut simulation, engine| {
        simulation.step(1500).unwrap();
        let bodies = simulation.bodies().unwrap();
        for ((body, way), wall) in bodies.iter().zip(&ways).zip(&walls) {
            let error = (body.velocity + 0.5 * *way).length();
            assert!(
                error < 2e-3,
                "{engine}: {wall}: {}, towards {way}",
                body.velocity
            );
        }
    });
}

/// Finite walls can be missed.
#[test]
fn a_ball_misses_what_is_not_there() {
    let cases = [
        (json!({ "rectangle": { "size": [1, 2] } }), [0.56, 0.1, 0.0]),
        (json!({ "disc": { "radius": 0.5 } }), [0.4, 0.1, 0.4]),
        (
            json!({ "disc": { "radius": 0.5, "hole": 0.2 } }),
            [0.1, 0.1, 0.0],
        ),
        (
            json!({ "cylinder": { "radius": 0.5, "height": 0.1 } }),
            [0.0, 0.1, 0.0],
        ),
        (
            json!({ "torus": { "ring_radius": 0.5, "radius": 0.2 } }),
            [0.1, 0.1, 0.1],
        ),
        (json!({ "box": { "size": [1, 0.05, 1] } }), [0.0, 0.1, 0.57]),
    ];
    let (mut walls, mut bodies) = (Vec::new(), Vec::new());
    for (index, (mut wall, position)) in cases.into_iter().enumerate() {
        let shift = DVec3::X * 4.0 * index as f64;
        wall["material"] = json!("wall");
        wall["position"] = json!(shift.to_array());
        let place = DVec3::from(position) + shift;
        let velocity = [0, -20, 0];
        bodies.push(json!({ "shape": "ball", "position": place.to_array(), "velocity": velocity }));
        walls.push(wall);
    }
    let text = with(
        scene(json!(walls), json!(bodies)),
        "gravity",
        json!([0, 0, 0]),
    )
    .to_string();
    on_both(&text, |mut simulation, engine| {
        simulation.step(1000).unwrap();
        for (body, wall) in simulation.bodies().unwrap().iter().zip(&walls) {
            assert_eq!(body.velocity, DVec3::NEG_Y * 20.0, "{engine}: {wall}");
        }
    });
}

/// A ball at rest presses on its walls with its weight: in a corner of a box, in a bowl, in a trough.
#[test]
fn the_force_on_a_wall_is_the_weight_on_it() {
    let walls = json!([
        { "box": { "size": [0.4, 0.4, 0.4] }, "side": "inside", "material": "wall",
          "axis": [1, 0, -0.9], "angle": 0.8 },
        { "sphere": { "radius": 0.3 }, "side": "inside", "material": "wall", "position": [2, 0, 0] },
        { "rectangle": { "size": [1, 1] }, "axis": [0, 0, 1], "angle": -0.8, "material": "wall",
          "position": [4, 0, 0] },
        { "rectangle": { "size": [1, 1] }, "axis": [0, 0, 1], "angle": 0.7, "material": "wall",
          "position": [4, 0, 0] },
    ]);
    let bodies = json!([
        { "shape": "ball", "position": [0, -0.2, 0] },
        { "shape": "ball", "position": [2, -0.25, 0] },
        { "shape": "ball", "position": [4, 0.07, 0] },
    ]);
    let mut scene = scene(walls.clone(), bodies);
    scene["materials"]["ball"]["restitution"] = json!(0.1);
    on_both(&scene.to_string(), |mut simulation, engine| {
        simulation.step(20_000).unwrap();
        let network = simulation.network().unwrap();
        let on = |wall| network.force_on_wall(wall);
        for (force, wall) in [(on(0), "box"), (on(1), "bowl"), (on(2) + on(3), "trough")] {
            let error = (force + DVec3::Y * 9.81).length() / 9.81;
            assert!(error < 1e-3, "{engine}: {wall}: {force}");
        }
    });
}

/// A conveyor slows a sliding block down, or takes it along, with mu g until it has its speed.
#[test]
fn a_conveyor_takes_a_block_along_with_mu_g() {
    let belt = json!({ "plane": {}, "surface_velocity": [1, 0, 0], "material": "wall" });
    let moving = json!({ "rectangle": { "size": [9, 2] }, "position": [0, 1, 0], "motion": { "velocity": [1, 0, 0] }, "material": "wall" });
    let walls = json!([belt, moving]);
    // Four balls side by side cannot roll.
    let bodies = json!([{ "shape": "block", "position": [0, 0.05, 0] }, { "shape": "block", "position": [0, 1.05, 0] }]);
    let mut scene = scene(walls, bodies);
    scene["shapes"] = json!({ "block": { "material": "ball", "spheres": [
        { "center": [-0.2, 0, -0.2], "radius": 0.05 }, { "center": [0.2, 0, -0.2], "radius": 0.05 },
        { "center": [-0.2, 0, 0.2], "radius": 0.05 }, { "center": [0.2, 0, 0.2], "radius": 0.05 } ] } });
    on_both(&scene.to_string(), |mut simulation, engine| {
        // Until they lie still on their belts.
        simulation.step(2_000).unwrap();
        let before = simulation.bodies().unwrap();
        simulation.step(2_000).unwrap();
        let after = simulation.bodies().unwrap();
        simulation.step(14_000).unwrap();
        let end = simulation.bodies().unwrap();
        for k in 0..2 {
            let acceleration = (after[k].velocity.x - before[k].velocity.x) / 0.04;
            let expected = 0.5 * 9.81;
            assert!(
                (acceleration / expected - 1.0).abs() < 0.01,
                "{engine}: {acceleration}"
            );
            let speed = end[k].velocity.x;
            assert!((speed - 1.0).abs() < 1e-3, "{engine}: {speed}");
        }
    });
}

/// A ball on a turntable, held by friction, goes round with it.
#[test]
fn a_ball_goes_round_with_a_turntable() {
    let walls = json!([{ "disc": { "radius": 1 }, "material": "wall",
                         "motion": { "rotation": { "axis": [0, 1, 0], "speed": 2, "ramp": 0.2 } } }]);
    let mut scene = scene(
        walls,
        json!([{ "shape": "block", "position": [0.3, 0.05, 0] }]),
    );
    scene["shapes"] = json!({ "block": { "material": "ball", "spheres": [
        { "center": [-0.06, 0, -0.06], "radius": 0.05 }, { "center": [0.06, 0, -0.06], "radius": 0.05 },
        { "center": [0, 0, 0.06], "radius": 0.05 } ] } });
    on_both(&scene.to_string(), |mut simulation, engine| {
        simulation.step(12_000).unwrap();
        let found = body(&mut simulation);
        assert!(
            (found.angular_velocity - DVec3::Y * 2.0).length() < 0.05,
            "{engine}: {found:?}"
        );
        let arm = found.position.with_y(0.0);
        assert!((arm.length() - 0.3).abs() < 0.02, "{engine}: {arm}");
        let wall = simulation.walls().unwrap().swap_remove(0);
        let expected = DVec3::Y * 2.0;
        assert!(
            (wall.moving.angular_velocity - expected).length() < 1e-6,
            "{engine}"
        );
    });
}

/// However the steps are divided, a wall is where it should be, and the outcome has the same bits.
#[test]
fn moving_walls_do_not_depend_on_how_steps_are_taken() {
    let walls = json!([
        { "plane": {}, "material": "wall",
          "motion": { "vibrations": [{ "amplitude": [0, 0.002, 0], "frequency": 60, "ramp": 0.01 }] } },
        { "cylinder": { "radius": 0.3, "height": 1 }, "side": "inside", "material": "wall", "position": [0, 0.5, 0],
          "motion": { "rotation": { "axis": [0.1, 1, 0], "speed": 4 }, "velocity": [0.01, 0, 0] } },
    ]);
    let mut scene = scene(walls, json!([]));
    scene["fills"] = json!([{ "count": 12, "shapes": { "ball": 1 }, "spacing": 0.11,
        "region": { "min": [-0.3, 0.01, -0.3], "max": [0.3, 0.9, 0.3] },
        "velocity": { "min": [-1, -1, -1], "max": [1, 1, 1] } }]);
    on_both(&scene.to_string(), |mut simulation, engine| {
        simulation.step(3_000).unwrap();
        let together = simulation.summary().unwrap().state_hash;
        let text = scene.to_string();
        let model = common::model(&text);
        let mut again = match engine {
            "cpu" => Simulation::on_cpu(model, Some(1)).unwrap(),
            _ => Simulation::on_gpu(model, common::device()).unwrap(),
        };
        for steps in [1, 7, 1500, 1024, 468] {
            again.step(steps).unwrap();
        }
        assert_eq!(again.summary().unwrap().state_hash, together, "{engine}");
        let wall = again.walls().unwrap().swap_remove(1).moving;
        let expected = again.model().walls[1].at(again.time());
        assert!(
            (wall.pose.position - expected.pose.position).length() < 1e-6,
            "{engine}: {wall:?}"
        );
        assert!(again.stats().rebuilds > 1);
    });
}
