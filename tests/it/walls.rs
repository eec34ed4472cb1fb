//! Walls of every kind, on both engines.

use crate::common::on_both;
use glam::DVec3;
use rockfall::{Simulation, scene as scenes};
use serde_json::{Value, json};

/// A ball of radius 0.05 m and 1 kg, or what is given instead, among walls.
fn scene(walls: Value, bodies: Value) -> Value {
    json!({
        "version": 1,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 2e-5 },
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
        { "disc": { "radius": 0.25 }, "material": "wall", "position": [0, 0.95, 0],
          "rigid_body": { "mass": 2, "rail": [0, 1, 0] } },
    ]);
    let mut scene = scene(walls, json!([]));
    scene["fills"] = json!([{ "count": 12, "shapes": { "ball": 1 }, "spacing": 0.11,
        "region": { "min": [-0.3, 0.01, -0.3], "max": [0.3, 0.9, 0.3] },
        "velocity": { "min": [-1, -1, -1], "max": [1, 1, 1] } }]);
    on_both(&scene.to_string(), |mut simulation, engine| {
        simulation.step(3_000).unwrap();
        let together = simulation.summary().unwrap().state_hash;
        let text = scene.to_string();
        let model = crate::common::model(&text);
        let mut again = match engine {
            "cpu" => Simulation::on_cpu(model, Some(1)).unwrap(),
            _ => Simulation::on_gpu(model, crate::common::device()).unwrap(),
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

/// A lid on rails sinks onto balls and rests on them with its weight, which the floor bears too; one that
/// nothing holds falls, and one with an axle turns faster by torque over moment of inertia.
#[test]
fn walls_are_rigid_bodies() {
    let walls = json!([
        { "name": "floor", "plane": {}, "material": "wall" },
        { "name": "lid", "rectangle": { "size": [0.5, 0.5] }, "position": [0, 0.12, 0], "material": "wall",
          "rigid_body": { "mass": 3, "rail": [0, -2, 0] } },
        { "name": "stone", "box": { "size": [0.1, 0.1, 0.1] }, "position": [5, 5, 5], "material": "wall",
          "rigid_body": { "mass": 3, "velocity": [1, 0, 0], "moments_of_inertia": [1, 1, 1], "angular_velocity": [0, 2, 0] } },
        { "name": "wheel", "cylinder": { "radius": 0.1, "height": 0.1 }, "position": [-5, 5, 5], "material": "wall",
          "axis": [0, 1, 1], "angle": std::f64::consts::PI,
          "rigid_body": { "moments_of_inertia": [1, 0.2, 1], "axle": [0, 0, 1], "torque": [3, 0, 0.1] } },
    ]);
    let corners = [[-0.1, -0.1], [-0.1, 0.1], [0.1, -0.1], [0.1, 0.1]];
    let bodies: Vec<Value> = corners
        .iter()
        .map(|[x, z]| json!({ "shape": "ball", "position": [x, 0.05, z] }))
        .collect();
    on_both(
        &scene(walls, json!(bodies)).to_string(),
        |mut simulation, engine| {
            let steps = 25_000;
            simulation.step(steps).unwrap();
            let time = simulation.time();
            let snapshot = simulation.snapshot().unwrap();
            let loads = snapshot.wall_loads();
            let walls: Vec<_> = snapshot.walls().map(|wall| wall.moving).collect();
            for (wall, weight) in [(0, -7.0 * 9.81), (1, 3.0 * 9.81)] {
                let error = (loads[wall].force - DVec3::Y * weight).length() / weight.abs();
                assert!(error < 1e-3, "{engine}: wall {wall}: {:?}", loads[wall]);
            }
            // Two springs, each with a quarter of the weight above it.
            let height = 0.1 - (7.0 + 3.0) / 4.0 * 9.81 / 1e5;
            assert!(
                (walls[1].pose.position.y - height).abs() < 1e-6,
                "{engine}: {:?}",
                walls[1]
            );
            assert!(
                walls[1].velocity.length() < 1e-4,
                "{engine}: {:?}",
                walls[1]
            );
            let fallen = DVec3::new(5.0 + time, 5.0 - 0.5 * 9.81 * time * time, 5.0);
            // Semi-implicit: a little ahead.
            let error = (walls[2].pose.position - fallen).length();
            assert!(error < 9.81 * time * 2e-5, "{engine}: {:?}", walls[2]);
            let turned = walls[2].pose.orientation.to_axis_angle();
            assert!((turned.1 - 2.0 * time).abs() < 1e-4, "{engine}: {turned:?}");
            let spin = DVec3::Z * 0.1 / 0.2 * time;
            assert!(
                (walls[3].angular_velocity - spin).length() < 1e-5,
                "{engine}: {:?}",
                walls[3]
            );
            let start = DVec3::new(-5.0, 5.0, 5.0);
            assert!(
                (walls[3].pose.position - start).length() < 1e-6,
                "{engine}: {:?}",
                walls[3]
            );
        },
    );
}

/// A ball that hits a free plate head-on: momentum and energy are those of two bodies.
#[test]
fn a_ball_pushes_a_free_plate_away() {
    let walls = json!([{ "rectangle": { "size": [0.5, 0.5] }, "material": "wall", "rigid_body": { "mass": 2 } }]);
    let bodies = json!([{ "shape": "ball", "position": [0, 0.06, 0], "velocity": [0, -1, 0] }]);
    let mut scene = with(scene(walls, bodies), "gravity", json!([0, 0, 0]));
    for material in ["ball", "wall"] {
        scene["materials"][material]["restitution"] = json!(1);
    }
    on_both(&scene.to_string(), |mut simulation, engine| {
        let before = simulation.energy().unwrap().total();
        simulation.step(2_000).unwrap();
        let ball = body(&mut simulation).velocity.y;
        let plate = simulation.walls().unwrap()[0].moving.velocity.y;
        assert!((ball - 1.0 / 3.0).abs() < 1e-3, "{engine}: {ball}");
        assert!((plate + 2.0 / 3.0).abs() < 1e-3, "{engine}: {plate}");
        assert!(
            (ball + 2.0 * plate + 1.0).abs() < 1e-5,
            "{engine}: {ball}, {plate}"
        );
        let after = simulation.energy().unwrap().total();
        assert!(
            (after / before - 1.0).abs() < 1e-3,
            "{engine}: {before} J, {after} J"
        );
    });
}

/// A wheel that is driven takes a block along, as a conveyor does, and turns the slower for it: what the wheel
/// loses of its angular momentum goes over to the block.
#[test]
fn a_wheel_drives_a_block() {
    let walls = json!([
        { "name": "wheel", "cylinder": { "radius": 0.5, "height": 1, "closed": true }, "side": "outside", "material": "wall",
          "axis": [0, 1, 1], "angle": std::f64::consts::PI,
          "rigid_body": { "moments_of_inertia": [9, 2, 9], "axle": [0, 0, 1], "angular_velocity": [0, 0, -4] } },
    ]);
    let bodies = json!([{ "shape": "ball", "position": [0, 0.55, 0] }]);
    on_both(
        &scene(walls, bodies).to_string(),
        |mut simulation, engine| {
            simulation.step(2_500).unwrap();
            let snapshot = simulation.snapshot().unwrap();
            let ball = snapshot.body(0);
            let wheel = snapshot.walls().next().unwrap().moving;
            // Friction pushes the ball and spins it; its torque on the wheel is the arm times that force.
            assert!(ball.velocity.x > 0.1, "{engine}: {ball:?}");
            let impulse = DVec3::new(
                ball.velocity.x,
                ball.velocity.y + 9.81 * simulation.time(),
                0.0,
            );
            let lost = 2.0 * (4.0 + wheel.angular_velocity.z);
            assert!(lost > 0.0);
            let expected = 0.5 * impulse.x;
            assert!(
                (lost / expected - 1.0).abs() < 0.02,
                "{engine}: {lost} of {expected}"
            );
        },
    );
}

/// A servo presses balls with the force that is wanted: 800 Pa on a quarter of a square metre.
#[test]
fn a_servo_keeps_its_force() {
    let walls = json!([
        { "name": "floor", "plane": {}, "material": "wall" },
        { "name": "press", "rectangle": { "size": [0.5, 0.5] }, "position": [0, 0.23, 0], "material": "wall",
          "servo": { "direction": [0, -1, 0], "pressure": 800, "max_speed": 0.2 } },
    ]);
    let bodies = json!([{ "shape": "ball", "position": [0, 0.05, 0] }, { "shape": "ball", "position": [0, 0.15, 0] }]);
    on_both(
        &scene(walls, bodies).to_string(),
        |mut simulation, engine| {
            // Freely, it goes at its largest speed.
            simulation.step(100).unwrap();
            let speed = simulation.walls().unwrap()[1].moving.velocity;
            assert!(
                (speed + DVec3::Y * 0.2).length() < 1e-6,
                "{engine}: {speed}"
            );
            simulation.step(20_000).unwrap();
            let loads = simulation.snapshot().unwrap().wall_loads();
            assert!(
                (loads[1].force.y / 200.0 - 1.0).abs() < 2e-3,
                "{engine}: {:?}",
                loads[1]
            );
            let below = -(200.0 + 2.0 * 9.81);
            assert!(
                (loads[0].force.y / below - 1.0).abs() < 2e-3,
                "{engine}: {:?}",
                loads[0]
            );
        },
    );
}

/// A plate presses four blocks on a rough floor, and slides on them: steadily, or turning from 0.05 s to 0.25 s.
#[test]
fn a_servo_presses_while_the_wall_moves_and_turns() {
    let press = |motion: Value| {
        let walls = json!([
            { "name": "floor", "plane": {}, "material": "wall" },
            { "name": "press", "rectangle": { "size": [0.9, 0.9] }, "position": [0, 0.2003, 0], "material": "wall",
              "servo": { "direction": [0, -1, 0], "force": 200, "max_speed": 0.01 }, "motion": motion },
        ]);
        let block = |x: f64, z: f64| json!({ "shape": "block", "position": [x, 0.1, z] });
        let bodies = json!([
            block(0.2, 0.2),
            block(-0.2, 0.2),
            block(0.2, -0.2),
            block(-0.2, -0.2)
        ]);
        let shapes = json!({ "block": { "cube": { "n": 2, "radius": 0.05 }, "material": "ball" } });
        with(scene(walls, bodies), "shapes", shapes).to_string()
    };
    let plate = |simulation: &mut Simulation| {
        let moving = simulation.walls().unwrap()[1].moving;
        let turn = moving.pose.orientation;
        (moving, 2.0 * turn.y.atan2(turn.w))
    };
    let turning =
        json!({ "rotation": { "axis": [0, 1, 0], "speed": 0.5 }, "start": 0.05, "end": 0.25 });
    on_both(&press(turning), |mut simulation, engine| {
        simulation.run_until(0.05).unwrap();
        let (_, angle) = plate(&mut simulation);
        assert!(angle.abs() < 1e-6, "{engine}: {angle}");
        simulation.run_until(0.2).unwrap();
        let (moving, angle) = plate(&mut simulation);
        assert!((angle - 0.075).abs() < 1e-3, "{engine}: {angle}");
        let spin = moving.angular_velocity - 0.5 * DVec3::Y;
        assert!(spin.length() < 1e-5, "{engine}: {moving:?}");
        let snapshot = simulation.snapshot().unwrap();
        let load = snapshot.wall_loads()[1];
        assert!(
            (load.force.y / 200.0 - 1.0).abs() < 2e-2,
            "{engine}: {load:?}"
        );
        // The force times the friction times the mean distance from the axis.
        let torque = -200.0 * 0.5 * 0.2 * 2.0_f64.sqrt();
        assert!(
            (load.torque.y / torque - 1.0).abs() < 0.1,
            "{engine}: {load:?}"
        );
        let power = snapshot.wall_work()[1].power;
        assert!(
            (power + 0.5 * load.torque.y).abs() < 0.1,
            "{engine}: {power}"
        );
        simulation.run_until(0.3).unwrap();
        let (moving, angle) = plate(&mut simulation);
        assert!((angle - 0.1).abs() < 1e-3, "{engine}: {angle}");
        assert_eq!(moving.angular_velocity, DVec3::ZERO, "{engine}");
    });
    let sliding = json!({ "velocity": [0.1, 0, 0] });
    on_both(&press(sliding), |mut simulation, engine| {
        simulation.run_until(0.2).unwrap();
        let (moving, _) = plate(&mut simulation);
        let way = moving.pose.position.x;
        assert!((way - 0.02).abs() < 1e-4, "{engine}: {way}");
        let load = simulation.snapshot().unwrap().wall_loads()[1];
        let expected = DVec3::new(-100.0, 200.0, 0.0);
        assert!((load.force - expected).length() < 4.0, "{engine}: {load:?}");
    });
    for (motion, expected) in [
        (
            json!({ "velocity": [0, 1, 0] }),
            "motion.velocity: found -1 m/s along the direction of the servo",
        ),
        (
            json!({ "rotation": { "axis": [0, 1, 0], "speed": 1, "center": [1, 0, 0] } }),
            "motion.rotation.center: found a place beside",
        ),
        (
            json!({ "rotation": { "axis": [0, 1, 0], "amplitude": 1, "frequency": 1 } }),
            "motion.rotation: found \"amplitude\" or \"ramp\"",
        ),
    ] {
        let refused = scenes::parse(&press(motion), std::path::Path::new("press.json"));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

/// A servo with times stands still before it starts and after it ends, and goes on from a checkpoint.
#[test]
fn a_servo_starts_and_ends() {
    let walls = json!([
        { "name": "press", "rectangle": { "size": [0.5, 0.5] }, "position": [0, 1, 0], "material": "wall",
          "servo": { "direction": [0, -1, 0], "force": 100, "max_speed": 0.5, "start": 0.02, "end": 0.06 } },
        { "name": "floor", "plane": {}, "material": "wall" },
    ]);
    let bodies = json!([{ "shape": "ball", "position": [0, 0.05, 0] }]);
    on_both(
        &scene(walls, bodies).to_string(),
        |mut simulation, engine| {
            for (time, expected) in [(0.018, 1.0), (0.04, 0.99), (0.06, 0.98), (0.08, 0.98)] {
                simulation.run_until(time).unwrap();
                let press = simulation.walls().unwrap()[0].moving;
                let height = press.pose.position.y;
                assert!(
                    (height - expected).abs() < 1e-4,
                    "{engine}, {time} s: {height} m"
                );
            }
            assert_eq!(
                simulation.walls().unwrap()[0].moving.velocity,
                DVec3::ZERO,
                "{engine}"
            );
        },
    );
}

/// A drum carries a body that cannot roll all the way round from the angular speed sqrt(g/R) (1 + 1/mu²)^(1/4)
/// on: there friction is just enough everywhere.
#[test]
fn a_drum_carries_a_block_round_from_its_critical_speed_on() {
    let (radius, friction) = (0.1_f64, 0.5_f64);
    let critical = (9.81 / radius).sqrt() * (1.0 + 1.0 / (friction * friction)).powf(0.25);
    assert!((critical - 14.811).abs() < 1e-3);
    let speeds = [0.98 * critical, 1.02 * critical];
    // The middle of the block goes round at the radius.
    let (ball, half) = (0.003, 0.004_f64);
    let shell = (radius * radius + half * half).sqrt() + ball;
    let (mut walls, mut bodies) = (Vec::new(), Vec::new());
    for (index, speed) in speeds.into_iter().enumerate() {
        let x = index as f64;
        walls.push(json!({
            "cylinder": { "radius": shell, "height": 0.1 }, "side": "inside", "material": "wall",
            "position": [x, 0, 0], "axis": [1, 0, 0], "angle": std::f64::consts::FRAC_PI_2,
            "motion": { "rotation": { "axis": [0, 0, 1], "speed": speed } } }));
        bodies.push(json!({ "shape": "block", "position": [x, -radius, 0],
                            "velocity": [speed * radius, 0, 0], "angular_velocity": [0, 0, speed] }));
    }
    let mut scene = scene(json!(walls), json!(bodies));
    scene["contact"] =
        json!({ "normal": "hooke", "tangential": "history", "stiffness": 2e3, "time_step": 4e-5 });
    scene["shapes"] = json!({ "block": { "material": "ball", "spheres": [
        { "center": [-half, 0, -half], "radius": ball }, { "center": [half, 0, -half], "radius": ball },
        { "center": [-half, 0, half], "radius": ball }, { "center": [half, 0, half], "radius": ball } ] } });
    on_both(&scene.to_string(), |mut simulation, engine| {
        let time = 2.5 * std::f64::consts::TAU / critical;
        simulation.step((time / 4e-5) as u64).unwrap();
        let time = simulation.time();
        let bodies = simulation.bodies().unwrap();
        let lag = |index: usize| {
            let x = index as f64;
            let place = bodies[index].position - DVec3::X * x;
            let angle = place.x.atan2(-place.y);
            let carried = speeds[index] * time;
            let lag = carried - angle;
            lag - std::f64::consts::TAU * (lag / std::f64::consts::TAU).round()
        };
        // It slips a little each time round; else, there is but the spring of friction.
        assert!(lag(0) > 4e-4, "{engine}: slower, it lags by {} rad", lag(0));
        assert!(
            lag(1).abs() < 1e-4,
            "{engine}: faster, it lags by {} rad",
            lag(1)
        );
    });
}
