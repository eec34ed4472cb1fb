//! Forces besides contacts, on both engines: springs, drag, water, pushes, groups.

use std::f64::consts::PI;

use crate::common::{on_both, simulate};
use glam::DVec3;
use rockfall::model::forces::Drag;
use rockfall::{BodyState, Simulation};
use serde_json::{Value, json};

/// The radius of the ball, m, and its density, kg/m³: it has 1 kg.
const RADIUS: f64 = 0.1;
const DENSITY: f64 = 238.732_414_637_843;

/// Bodies without gravity; steps of 0.1 ms. A ball has 1 kg and a moment of inertia of 0.004 kg m².
fn scene(bodies: Value, more: Value) -> String {
    let mut scene = json!({
        "version": 1, "gravity": [0, 0, 0],
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 1e-4 },
        "materials": {
            "stone": { "density": DENSITY, "restitution": 0.5, "friction": 0.5 },
            "wet": { "density": 1000, "restitution": 0.5, "friction": 0.5 },
        },
        "shapes": {
            "ball": { "sphere": { "radius": RADIUS }, "material": "stone" },
            "rod": { "rod": { "n": 3, "radius": RADIUS, "spacing": 0.2 }, "material": "stone" },
            "peanut": { "rod": { "n": 2, "radius": RADIUS, "spacing": 0.1 }, "material": "wet",
                        "mass_properties": "union" },
        },
        "bodies": bodies,
    });
    for (key, value) in more.as_object().unwrap() {
        scene[key] = value.clone();
    }
    scene.to_string()
}

fn ball(position: [f64; 3]) -> Value {
    json!({ "name": "ball", "shape": "ball", "position": position })
}

fn first(simulation: &mut Simulation) -> BodyState {
    simulation.bodies().unwrap().swap_remove(0)
}

fn near(found: DVec3, expected: DVec3, tolerance: f64, what: &str) {
    let off = (found - expected).length();
    assert!(
        off <= tolerance,
        "{what}: found {found}, expected {expected}"
    );
}

#[test]
fn a_ball_on_a_spring_swings_with_the_period_of_the_formula() {
    // T = 2 pi sqrt(m/k), k = 100 N/m.
    let spring = json!([{ "from": { "point": [0, 1, 0] }, "to": { "body": "ball" },
                          "stiffness": 100, "rest_length": 0.5 }]);
    let text = scene(json!([ball([0.0, 0.4, 0.0])]), json!({ "springs": spring }));
    on_both(&text, |mut simulation, engine| {
        let period = 2.0 * PI / 10.0;
        let steps = |time: f64| (time / 1e-4).round() as u64;
        simulation.step(steps(0.25 * period)).unwrap();
        let place = first(&mut simulation).position;
        near(place, DVec3::Y * 0.5, 1e-4, engine);
        simulation.step(steps(0.25 * period)).unwrap();
        let place = first(&mut simulation).position;
        near(place, DVec3::Y * 0.6, 1e-5, engine);
        let energy = simulation.energy().unwrap();
        assert!(
            (energy.elastic / 0.5 - 1.0).abs() < 1e-3,
            "{engine}: {energy:?}"
        );
    });
}

#[test]
fn two_bodies_on_a_spring_keep_their_momenta_and_their_energy() {
    let bodies = json!([
        { "name": "a", "shape": "ball", "velocity": [0.3, 0, 0], "angular_velocity": [1, 0, 0] },
        { "name": "b", "shape": "rod", "position": [0, 1, 0], "velocity": [0, 0, 0.2] },
    ]);
    let springs = json!([{ "from": { "body": "a", "point": [0, 0.1, 0] },
                           "to": { "body": "b", "point": [0.2, 0, 0.05] },
                           "stiffness": 50, "rest_length": 0.6 }]);
    let text = scene(bodies, json!({ "springs": springs }));
    on_both(&text, |mut simulation, engine| {
        let before = (
            simulation.summary().unwrap(),
            simulation.energy().unwrap().total(),
        );
        simulation.step(5_000).unwrap();
        let after = (
            simulation.summary().unwrap(),
            simulation.energy().unwrap().total(),
        );
        let momentum = after.0.momentum - before.0.momentum;
        assert!(momentum.length() < 1e-5, "{engine}: {momentum}");
        let turning = after.0.angular_momentum - before.0.angular_momentum;
        assert!(turning.length() < 3e-5, "{engine}: {turning}");
        assert!(
            (after.1 / before.1 - 1.0).abs() < 2e-3,
            "{engine}: {} J of {}",
            after.1,
            before.1
        );
        let turned = simulation.bodies().unwrap()[1].angular_velocity;
        assert!(turned.length() > 0.1, "{engine}: the rod turns");
    });
}

#[test]
fn what_hangs_from_a_point_beside_its_centre_hangs_below_it() {
    let body = json!([{ "name": "rod", "shape": "rod", "position": [0.2, -1, 0] }]);
    let springs = json!([{ "from": { "point": [0, 0, 0] },
                           "to": { "body": "rod", "point": [-0.2, 0, 0] },
                           "stiffness": 1000, "damping": 20 }]);
    let text = scene(
        body,
        json!({ "springs": springs, "gravity": [0, -10, 0],
                "drag": { "linear": 12, "angular": 1.2 } }),
    );
    on_both(&text, |mut simulation, engine| {
        simulation.step(35_000).unwrap();
        let rod = first(&mut simulation);
        // 3 kg stretch it by 3 cm; the rod's centre is 20 cm from where it hangs.
        near(
            rod.position,
            DVec3::new(0.0, -1.0 - 0.03 - 0.2, 0.0),
            2e-3,
            engine,
        );
        let energy = simulation.energy().unwrap();
        assert!(energy.drag > 1.0, "{engine}: {energy:?}");
    });
}

#[test]
fn a_rope_pulls_and_does_not_push() {
    let rope = |length: f64| {
        json!([{ "from": { "point": [0, 0, 0] }, "to": { "body": "ball" }, "slack": true,
                 "stiffness": 1e4, "damping": 50, "rest_length": length }])
    };
    let slack = scene(
        json!([ball([0.0, -0.5, 0.0])]),
        json!({ "springs": rope(1.0), "gravity": [0, -10, 0] }),
    );
    on_both(&slack, |mut simulation, engine| {
        simulation.step(3_000).unwrap();
        let ball = first(&mut simulation);
        assert!((ball.velocity.y + 3.0).abs() < 1e-4, "{engine}: it falls");
        assert_eq!(simulation.energy().unwrap().drag, 0.0);
        simulation.step(20_000).unwrap();
        let ball = first(&mut simulation);
        near(ball.position, DVec3::Y * -1.001, 2e-3, engine);
    });
}

#[test]
fn drag_slows_a_body_and_its_spin_exponentially() {
    let body = json!([{ "shape": "ball", "velocity": [1, 2, -2], "angular_velocity": [3, 0, 4] }]);
    let text = scene(body, json!({ "drag": { "linear": 2, "angular": 0.01 } }));
    on_both(&text, |mut simulation, engine| {
        let before = simulation.energy().unwrap();
        simulation.step(5_000).unwrap();
        let body = first(&mut simulation);
        let (slowed, calmed) = ((-2.0_f64 * 0.5).exp(), (-0.01 / 0.004 * 0.5_f64).exp());
        near(
            body.velocity,
            DVec3::new(1.0, 2.0, -2.0) * slowed,
            1e-3,
            engine,
        );
        near(
            body.angular_velocity,
            DVec3::new(3.0, 0.0, 4.0) * calmed,
            2e-3,
            engine,
        );
        let after = simulation.energy().unwrap();
        let lost = before.kinetic - after.kinetic;
        assert!(
            (after.drag / lost - 1.0).abs() < 1e-3,
            "{engine}: {} of {lost} J",
            after.drag
        );
    });
}

#[test]
fn what_falls_comes_to_its_terminal_speed() {
    // In air m g / gamma; in water m g less the lift = 1/2 C rho pi r² v².
    let body = json!([{ "name": "ball", "shape": "peanut", "position": [0, -1, 0],
                        "velocity": [0, -3, 0] }]);
    let fall = json!({ "gravity": [0, -10, 0], "drag": { "linear": 20 } });
    on_both(&scene(body, fall), |mut simulation, engine| {
        let mass = simulation.model().shapes[2].mass;
        simulation.step(24_000).unwrap();
        let speed = -first(&mut simulation).velocity.y;
        let expected = mass * 10.0 / 20.0;
        assert!((speed / expected - 1.0).abs() < 1e-3, "{engine}: {speed}");
    });
    let text = scene(
        json!([ball([0.0, -1.0, 0.0])]),
        json!({ "gravity": [0, -10, 0],
                "water": { "level": 0, "density": 100, "drag_coefficient": 0.8, "viscosity": 0 } }),
    );
    on_both(&text, |mut simulation, engine| {
        simulation.step(24_000).unwrap();
        let speed = -first(&mut simulation).velocity.y;
        let weight = 10.0 * (1.0 - 100.0 / DENSITY);
        let expected = (weight / (0.5 * 0.8 * 100.0 * PI * RADIUS * RADIUS)).sqrt();
        assert!(
            (speed / expected - 1.0).abs() < 1e-3,
            "{engine}: {speed}, not {expected}"
        );
    });
    // Stokes: 6 pi mu r v.
    let text = scene(
        json!([{ "shape": "ball", "position": [0, -1, 0], "angular_velocity": [0, 5, 0] }]),
        json!({ "gravity": [0, -10, 0],
                "water": { "level": 0, "density": 100, "drag_coefficient": 0, "viscosity": 2 } }),
    );
    on_both(&text, |mut simulation, engine| {
        let rate = 8.0 * PI * 2.0 * RADIUS.powi(3) / 0.004;
        simulation.step(2_000).unwrap();
        let spin = first(&mut simulation).angular_velocity.y;
        let expected = 5.0 * (-rate * 0.2).exp();
        assert!((spin / expected - 1.0).abs() < 2e-3, "{engine}: {spin}");
        simulation.step(18_000).unwrap();
        let speed = -first(&mut simulation).velocity.y;
        let weight = 10.0 * (1.0 - 100.0 / DENSITY);
        let expected = weight / (6.0 * PI * 2.0 * RADIUS);
        assert!((speed / expected - 1.0).abs() < 2e-3, "{engine}: {speed}");
    });
}

/// The part of a sphere that is below a surface, its centre `depth` radii under it: by summing slices.
fn part_below(depth: f64) -> f64 {
    let slices = 20_000;
    let width = 2.0 / f64::from(slices);
    let below: f64 = (0..slices)
        .map(|k| -1.0 + (f64::from(k) + 0.5) * width)
        .filter(|height| *height < depth)
        .map(|height| (1.0 - height * height) * width)
        .sum();
    below / (4.0 / 3.0)
}

#[test]
fn a_ball_floats_as_deep_as_its_weight_asks() {
    for density in [200.0, 477.464_829_275_686, 800.0] {
        let text = scene(
            json!([ball([0.0, 0.05, 0.0])]),
            json!({ "gravity": [0, -10, 0], "drag": { "linear": 10 },
                    "water": { "level": 0.02, "density": density } }),
        );
        let check = |mut simulation: Simulation, engine: &str| {
            simulation.step(20_000).unwrap();
            let height = first(&mut simulation).position.y - 0.02;
            let below = part_below(-height / RADIUS);
            let what = format!("{engine}: {below} of it below, in water of {density} kg/m³");
            // In the lightest of them it sinks.
            match density < DENSITY {
                true => assert!(height < -0.2, "{what}"),
                false => assert!((below - DENSITY / density).abs() < 1e-3, "{what}"),
            }
        };
        match density {
            800.0 => on_both(&text, check),
            _ => check(simulate(&text), "cpu"),
        }
    }
}

#[test]
fn a_body_of_overlapping_spheres_displaces_what_it_fills() {
    let body = json!([{ "shape": "peanut", "position": [0, -5, 0] }]);
    let water = json!({ "gravity": [0, -10, 0], "water": { "viscosity": 0 } });
    on_both(&scene(body, water), |mut simulation, engine| {
        simulation.step(10_000).unwrap();
        // As dense as water, it hovers.
        let speed = first(&mut simulation).velocity.length();
        assert!(speed < 1e-4, "{engine}: {speed} m/s after a second");
    });
}

#[test]
fn what_floats_rides_the_waves() {
    // So slow that a ball with much drag is where it floats at any time.
    let wave = json!({ "direction": [3, 0, 4], "wavelength": 5, "amplitude": 0.3, "period": 20 });
    let text = scene(
        json!([ball([0.7, 0.0, -0.4])]),
        json!({ "gravity": [0, -10, 0], "drag": { "linear": 20 },
                "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4, "time_step": 1e-3 },
                "water": { "density": 2.0 * DENSITY, "waves": [wave] } }),
    );
    on_both(&text, |mut simulation, engine| {
        for _ in 0..4 {
            simulation.step(4_000).unwrap();
            let ball = first(&mut simulation);
            let water = simulation.model().forces.water.clone().unwrap();
            let time = simulation.time();
            let expected = water.height(ball.position, time);
            // It lags behind by gamma/k of its speed, k that of its buoyancy: 20/150 of 0.094 m/s at most.
            let off = (ball.position.y - expected).abs();
            assert!(off < 0.015, "{engine}: {} for {expected}", ball.position.y);
            let (x, z) = (ball.position.x, ball.position.z);
            let formula = 0.3 * (2.0 * PI * ((0.6 * x + 0.8 * z) / 5.0 - time / 20.0)).sin();
            assert!((formula - expected).abs() < 1e-12, "{engine}");
        }
    });
}

#[test]
fn pushes_act_in_their_axes_and_in_their_time() {
    let body = json!([{ "name": "rod", "shape": "rod", "axis": [0, 1, 0], "angle": 0.5 * PI }]);
    let forces = json!([
        { "body": "rod", "force": [0, 6, 0], "start": 0.1, "end": 0.2 },
        { "body": "rod", "force": [3, 0, 0], "axes": "body" },
        { "body": "rod", "force": [0, 0, 300], "key": "w" },
    ]);
    let text = scene(body, json!({ "forces": forces }));
    on_both(&text, |mut simulation, engine| {
        simulation.step(5_000).unwrap();
        // 3 kg; the rod's x axis is the world's -z.
        let expected = DVec3::new(0.0, 0.2, -0.5);
        near(first(&mut simulation).velocity, expected, 1e-3, engine);
        assert!(simulation.set_key('W', true), "{engine}");
        assert!(!simulation.set_key('x', true), "{engine}");
        simulation.step(100).unwrap();
        assert!(simulation.set_key('w', false), "{engine}");
        simulation.step(1_000).unwrap();
        let expected = DVec3::new(0.0, 0.2, -0.61 + 1.0);
        near(first(&mut simulation).velocity, expected, 1e-3, engine);
    });
}

#[test]
fn a_push_beside_the_centre_and_a_torque_turn_a_body() {
    for (force, point, torque) in [
        ([0.0, 0.0, 2.0], [0.1, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, -0.2, 0.0]),
    ] {
        let forces = json!([{ "body": "ball", "force": force, "point": point, "torque": torque,
                              "axes": "body", "end": 0.02 }]);
        let text = scene(json!([ball([0.0; 3])]), json!({ "forces": forces }));
        on_both(&text, |mut simulation, engine| {
            simulation.step(400).unwrap();
            // -0.2 N m for 0.02 s on 0.004 kg m².
            near(
                first(&mut simulation).angular_velocity,
                DVec3::NEG_Y,
                1e-3,
                engine,
            );
        });
    }
}

#[test]
fn groups_have_their_own_gravity_and_drag() {
    let body = |group: Option<&str>, x: f64| {
        let mut body = json!({ "shape": "ball", "position": [x, 0, 0] });
        if let Some(group) = group {
            body["group"] = json!(group);
        }
        body
    };
    let bodies = json!([
        body(None, 0.0),
        body(Some("free"), 1.0),
        body(Some("up"), 2.0)
    ]);
    let groups = json!({ "free": { "gravity": [0, 0, 0] },
                         "up": { "gravity": [0, 2, 0], "drag": { "linear": 4 } } });
    let text = scene(bodies, json!({ "groups": groups, "gravity": [0, -10, 0] }));
    on_both(&text, |mut simulation, engine| {
        simulation.step(5_000).unwrap();
        let speeds = |simulation: &mut Simulation| {
            let bodies = simulation.bodies().unwrap();
            bodies.iter().map(|b| b.velocity.y).collect::<Vec<f64>>()
        };
        let found = speeds(&mut simulation);
        assert!((found[0] + 5.0).abs() < 1e-4, "{engine}: {found:?}");
        assert_eq!(found[1], 0.0, "{engine}");
        let expected = 0.5 * (1.0 - (-4.0 * 0.5_f64).exp());
        assert!((found[2] - expected).abs() < 1e-3, "{engine}: {found:?}");
        // What a group has of its own stays when the gravity of the others changes.
        simulation.set_gravity(DVec3::ZERO).unwrap();
        simulation.step(1_000).unwrap();
        let later = speeds(&mut simulation);
        assert_eq!(later[..2], found[..2], "{engine}");
        assert!(later[2] > found[2], "{engine}");
    });
}

#[test]
fn groups_that_ignore_each_other_pass_through_each_other() {
    // Pairs of balls, the right one of which moves into the left one at 1 m/s.
    let groups = [
        (None, None, true),
        (Some("a"), Some("a"), true),
        (Some("a"), Some("b"), false),
        (Some("b"), Some("a"), false),
        (Some("b"), Some("b"), false),
        (Some("b"), None, true),
    ];
    let mut bodies = Vec::new();
    for (row, (left, right, _)) in groups.iter().enumerate() {
        for (group, x, speed) in [(left, 0.0, 0.0), (right, 0.22, -1.0)] {
            let mut body = json!({ "shape": "ball", "position": [x, row, 0],
                                   "velocity": [speed, 0, 0] });
            if let Some(group) = group {
                body["group"] = json!(group);
            }
            bodies.push(body);
        }
    }
    let text = scene(
        json!(bodies),
        json!({ "groups": { "a": {}, "b": { "ignores": ["a", "b"] } } }),
    );
    on_both(&text, |mut simulation, engine| {
        simulation.step(2_000).unwrap();
        let bodies = simulation.bodies().unwrap();
        for (row, (left, right, touch)) in groups.iter().enumerate() {
            let speed = bodies[2 * row].velocity.x;
            assert_eq!(
                speed < -0.7,
                *touch,
                "{engine}: {left:?} and {right:?}: {speed}"
            );
            if !touch {
                assert_eq!(speed, 0.0, "{engine}: {left:?} and {right:?}");
            }
        }
    });
    // They may overlap at the start, too.
    let inside = |group: &str| json!({ "shape": "ball", "group": group });
    let bodies = |groups: [&str; 2]| json!(groups.map(inside));
    let groups = json!({ "groups": { "a": {}, "b": { "ignores": ["a"] } } });
    for (of, fine) in [(["a", "b"], true), (["a", "a"], false)] {
        let text = scene(bodies(of), groups.clone());
        let parsed = rockfall::scene::parse(&text, "groups.json".as_ref());
        assert_eq!(parsed.is_ok(), fine, "{of:?}");
    }
}

#[test]
fn drag_is_set_while_a_simulation_runs() {
    let body = json!([{ "shape": "ball", "velocity": [1, 0, 0] }]);
    on_both(&scene(body, json!({})), |mut simulation, engine| {
        simulation.step(1_000).unwrap();
        let drag = Drag {
            linear: 3.0,
            angular: 0.0,
        };
        simulation.set_drag(drag).unwrap();
        simulation.step(5_000).unwrap();
        let speed = first(&mut simulation).velocity.x;
        let expected = (-3.0 * 0.5_f64).exp();
        assert!((speed / expected - 1.0).abs() < 1e-3, "{engine}: {speed}");
        simulation.set_drag(Drag::default()).unwrap();
        simulation.step(1_000).unwrap();
        assert_eq!(first(&mut simulation).velocity.x, speed, "{engine}");
        let wrong = Drag {
            linear: f64::NAN,
            angular: 0.0,
        };
        assert!(simulation.set_drag(wrong).is_err());
    });
}

/// Springs and drag go on after a checkpoint, bit for bit, and go with the bodies that go.
#[test]
fn forces_survive_checkpoints_and_outlets() {
    let bodies = json!([
        { "name": "a", "shape": "ball", "position": [0, -3, 0], "velocity": [0, -1, 0] },
        { "name": "b", "shape": "ball", "position": [0, 0, 0] },
        { "name": "c", "shape": "ball", "position": [1, 0, 0], "velocity": [0, 0.5, 0] },
    ]);
    let springs = json!([
        { "from": { "body": "a" }, "to": { "body": "b" }, "stiffness": 0.1 },
        { "from": { "body": "b" }, "to": { "body": "c" }, "stiffness": 20, "damping": 1 },
        { "from": { "body": "c", "point": [0, 0.1, 0] }, "to": { "point": [1, 1, 0] },
          "stiffness": 20 },
    ]);
    let outlets = json!([{ "inside": { "min": [-1, -9, -1], "max": [1, -3.2, 1] } }]);
    let text = scene(
        bodies,
        json!({ "springs": springs, "outlets": outlets, "drag": { "linear": 0.1 } }),
    );
    let folder = tempfile::tempdir().unwrap();
    on_both(&text, |mut simulation, engine| {
        let path = folder.path().join(engine);
        simulation.step(1_500).unwrap();
        simulation.write_checkpoint(&path).unwrap();
        let count = |simulation: &mut Simulation| simulation.state().unwrap().springs().count();
        assert_eq!(count(&mut simulation), 3, "{engine}");
        simulation.step(3_000).unwrap();
        assert_eq!(simulation.body_count(), 2, "{engine}");
        assert_eq!(count(&mut simulation), 2, "{engine}");
        let (hash, drag) = (
            simulation.summary().unwrap().state_hash,
            simulation.energy().unwrap().drag,
        );
        simulation.read_checkpoint(&path).unwrap();
        assert_eq!(simulation.body_count(), 3, "{engine}");
        simulation.step(1_000).unwrap();
        simulation.step(2_000).unwrap();
        assert_eq!(simulation.summary().unwrap().state_hash, hash, "{engine}");
        assert_eq!(simulation.energy().unwrap().drag, drag, "{engine}");
        // What is left still swings about the spring that is left.
        let speed = simulation.bodies().unwrap()[1].velocity.length();
        assert!(speed > 0.01, "{engine}: {speed}");
    });
}
