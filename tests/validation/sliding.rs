//! Friction on planes: sliding, sticking and rolling.

use std::f64::consts::PI;

use serde_json::{Value, json};

use crate::motion::{Moment, crossings, follow, line};
use crate::table::{Engine, Quantity, absolute, at_most, printed, relative};
use crate::theory::{G, models, sphere_mass};

/// Laws with a contact history; overlaps under the own weight of the bodies
/// here are about a thousandth of a radius.
const LAWS: [&str; 2] = ["hooke/history", "hertz/mindlin"];

/// Four spheres of radius 0.05 m on the corners of a square of 0.2 m: it slides and does not roll.
const SLED: &str = "sled";
const SLED_RADIUS: f64 = 0.05;

/// A scene on a floor at 0 whose bodies rest on it at the start. `angle` (rad) tilts it, that is,
/// gravity: down the slope is along z.
fn slope(law: &str, angle: f64, time_step: f64) -> Value {
    let (sin, cos) = angle.sin_cos();
    let (normal, tangential) = models(law);
    let mut contact = json!({ "normal": normal, "tangential": tangential, "time_step": time_step });
    if law != "hertz/mindlin" {
        contact["stiffness"] = json!(STIFFNESS);
    }
    let corner = |x: f64, z: f64| json!({ "center": [x, 0, z], "radius": SLED_RADIUS });
    json!({
        "version": 1, "gravity": [0, -G * cos, G * sin], "contact": contact,
        "materials": { "floor": material(0.5) },
        "shapes": { SLED: { "material": "floor", "spheres":
            [corner(0.1, 0.1), corner(0.1, -0.1), corner(-0.1, 0.1), corner(-0.1, -0.1)] } },
        "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "floor", "rigid": true } ],
        "pairs": [], "bodies": [],
    })
}

fn material(friction: f64) -> Value {
    json!({ "density": 1000, "restitution": 0.1, "friction": friction,
            "young_modulus": 2e7, "poisson_ratio": 0.3 })
}

/// Adds a ball of radius 0.1 m whose friction with the floor is `friction`, with more that the pair
/// of materials says, at rest in its own dent.
fn add_ball(scene: &mut Value, friction: f64, more: Value, velocity: f64, spin: f64) {
    let index = scene["bodies"].as_array().unwrap().len();
    let name = format!("ball {index}");
    let mut pair = json!({ "between": [name, "floor"], "friction": friction });
    for (key, value) in more.as_object().unwrap() {
        pair[key] = value.clone();
    }
    scene["materials"][&name] = material(friction);
    scene["shapes"][&name] = json!({ "sphere": { "radius": BALL_RADIUS }, "material": name });
    let push = -scene["gravity"][1].as_f64().unwrap() * sphere_mass(1000.0, BALL_RADIUS);
    let height = BALL_RADIUS - dent(scene, push, BALL_RADIUS);
    let body = json!({ "shape": name, "position": [index as f64, height, 0],
                       "velocity": [0, 0, velocity], "angular_velocity": [spin, 0, 0] });
    scene["bodies"].as_array_mut().unwrap().push(body);
    scene["pairs"].as_array_mut().unwrap().push(pair);
}

/// N/m, of the normal model `hooke`. The ball's contacts then last 28 ms, those of the sled half of that.
const STIFFNESS: f64 = 5e4;
/// s.
const STEP: f64 = 4e-4;

const BALL_RADIUS: f64 = 0.1;

/// Overlap at which the floor pushes a sphere with `force`.
fn dent(scene: &Value, force: f64, radius: f64) -> f64 {
    match scene["contact"]["stiffness"].as_f64() {
        Some(stiffness) => force / stiffness,
        None => {
            let modulus = 2e7 / (1.0 - 0.3 * 0.3);
            (0.75 * force / (modulus * f64::sqrt(radius))).powf(2.0 / 3.0)
        }
    }
}

fn add_sled(scene: &mut Value, velocity: f64) {
    let push = -scene["gravity"][1].as_f64().unwrap() * sphere_mass(1000.0, SLED_RADIUS);
    let height = SLED_RADIUS - dent(scene, push, SLED_RADIUS);
    let body = json!({ "shape": SLED, "position": [-1, height, 0], "velocity": [0, 0, velocity] });
    scene["bodies"].as_array_mut().unwrap().push(body);
}

fn speeds(track: &[Moment]) -> Vec<(f64, f64)> {
    track
        .iter()
        .map(|moment| (moment.time, moment.body.velocity.z))
        .collect()
}

/// Mean acceleration along z over the second half, m/s²: the bodies have found their place by then.
fn acceleration(track: &[Moment]) -> f64 {
    line(&speeds(&track[track.len() / 2..])).1
}

/// Rate of R ω over the second half, m/s².
fn spin_rate(track: &[Moment]) -> f64 {
    let spin = |moment: &Moment| (moment.time, BALL_RADIUS * moment.body.angular_velocity.x);
    let spins: Vec<_> = track[track.len() / 2..].iter().map(spin).collect();
    line(&spins).1
}

pub fn slide_to_roll(engine: Engine) -> Vec<Quantity> {
    let (radius, start, friction, density) = (5e-4, 0.1, 0.3, 1e4);
    let time = printed(1e3 * 2.0 * start / (7.0 * friction * G), "9.7083");
    let speed = 5.0 / 7.0 * start;
    let spin = printed(speed / radius, "142.857");
    let mut quantities = Vec::new();
    for law in LAWS {
        let mass = sphere_mass(density, radius);
        // A hundredth of a radius under its weight.
        let (overlap, weight) = (0.01 * radius, mass * G);
        let modulus = 0.75 * weight / (radius.sqrt() * overlap.powf(1.5));
        let stiffness = weight / overlap;
        let (normal, tangential) = models(law);
        let mut contact = json!({ "normal": normal, "tangential": tangential, "time_step": 2e-5 });
        if law == "hooke/history" {
            contact["stiffness"] = json!(stiffness);
        }
        let poisson = 0.3;
        let young = modulus * (1.0 - poisson * poisson);
        let mut simulation = engine.start(&json!({
            "version": 1, "contact": contact,
            "materials": { "m": { "density": density, "restitution": 0.5, "friction": friction,
                                  "young_modulus": young, "poisson_ratio": poisson } },
            "shapes": { "ball": { "sphere": { "radius": radius }, "material": "m" } },
            "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "m", "rigid": true } ],
            "bodies": [ { "shape": "ball", "position": [0, radius - overlap, 0],
                          "velocity": [start, 0, 0] } ],
        }));
        let track = &follow(&mut simulation, 1, 1, 1_000)[0];
        let slips: Vec<(f64, f64)> = track
            .iter()
            .map(|moment| {
                let body = &moment.body;
                (
                    moment.time,
                    body.velocity.x + radius * body.angular_velocity.z,
                )
            })
            .collect();
        let (offset, slope) = line(&slips[50..400]);
        let end = &track.last().unwrap().body;
        quantities.extend([
            relative(
                format!("{law}: end of sliding, from the slope of the slip, ms"),
                time,
                -1e3 * offset / slope,
                1e-2,
            ),
            relative(
                format!("{law}: first without slip, ms"),
                time,
                1e3 * crossings(&slips)[0],
                1e-2,
            ),
            relative(format!("{law}: speed, m/s"), speed, end.velocity.x, 1e-2),
            relative(
                format!("{law}: spin, rad/s"),
                spin,
                -end.angular_velocity.z,
                1e-2,
            ),
        ]);
    }
    quantities
}

pub fn sliding_to_rest(engine: Engine) -> Vec<Quantity> {
    let (start, friction) = (5.0, 0.5);
    let distance = printed(start * start / (2.0 * friction * G), "2.54842");
    let time = printed(start / (friction * G), "1.01937");
    let mut quantities = Vec::new();
    for law in LAWS {
        let mut scene = slope(law, 0.0, STEP);
        add_sled(&mut scene, start);
        let mut simulation = engine.start(&scene);
        let track = &follow(&mut simulation, 1, 1, 3_000)[0];
        let stop = crossings(&speeds(track));
        let end = track.last().unwrap().body.position.z;
        quantities.extend([
            relative(format!("{law}: distance, m"), distance, end, 5e-3),
            relative(
                format!("{law}: time until it first stands, s"),
                time,
                stop[0],
                5e-3,
            ),
        ]);
    }
    quantities
}

pub fn static_friction(engine: Engine) -> Vec<Quantity> {
    let friction: f64 = 0.5;
    let limit = printed(friction.atan().to_degrees(), "26.565");
    let slides = |angle: f64| G * (angle.sin() - friction * angle.cos());
    let expected = printed(slides(30f64.to_radians()), "0.65715");
    let mut quantities = Vec::new();
    for law in LAWS {
        for angle in [10.0, 26.0] {
            assert!(angle < limit);
            let mut scene = slope(law, f64::to_radians(angle), STEP);
            add_sled(&mut scene, 0.0);
            let mut simulation = engine.start(&scene);
            simulation.step(1_250).unwrap();
            let start = simulation.bodies().unwrap()[0].position;
            simulation.step(2_500).unwrap();
            let creep = (simulation.bodies().unwrap()[0].position - start).length();
            quantities.push(at_most(
                format!("{law}, {angle}°: creep in 1 s, radii"),
                1e-6,
                creep / SLED_RADIUS,
            ));
        }
        let mut scene = slope(law, 30f64.to_radians(), STEP);
        add_sled(&mut scene, 0.0);
        let track = &follow(&mut engine.start(&scene), 1, 10, 1_000)[0];
        quantities.push(relative(
            format!("{law}, 30°: acceleration, m/s²"),
            expected,
            acceleration(track),
            1e-2,
        ));
    }
    quantities
}

pub fn sphere_on_incline(engine: Engine) -> Vec<Quantity> {
    let limit = |friction: f64| (3.5 * friction).atan();
    printed(limit(0.25).to_degrees(), "41.186");
    let frictions = [0.1, 0.25, 0.4, 0.8];
    let mut quantities = Vec::new();
    for law in LAWS {
        for degrees in [10.0, 30.0, 38.0, 50.0] {
            let angle = f64::to_radians(degrees);
            let (sin, cos) = angle.sin_cos();
            let mut scene = slope(law, angle, STEP);
            for friction in frictions {
                add_ball(&mut scene, friction, json!({}), 0.0, 0.0);
            }
            let tracks = follow(&mut engine.start(&scene), frictions.len(), 10, 1_000);
            for (friction, track) in frictions.into_iter().zip(&tracks) {
                let (along, about) = if angle < limit(friction) {
                    (5.0 / 7.0 * G * sin, 5.0 / 7.0 * G * sin)
                } else {
                    (G * (sin - friction * cos), 2.5 * friction * G * cos)
                };
                if (degrees, friction) == (30.0, 0.25) {
                    printed(along, "3.50357");
                }
                let what = format!("{law}, {degrees}°, μ {friction}");
                quantities.extend([
                    relative(
                        format!("{what}: acceleration, m/s²"),
                        along,
                        acceleration(track),
                        5e-3,
                    ),
                    relative(
                        format!("{what}: rate of spin times R, m/s²"),
                        about,
                        spin_rate(track),
                        5e-3,
                    ),
                ]);
            }
        }
    }
    quantities
}

pub fn rolling_resistance(engine: Engine) -> Vec<Quantity> {
    let (start, rolling_friction) = (1.0, 0.1);
    let deceleration = rolling_friction * G / 1.4;
    let distance = printed(start * start / (2.0 * deceleration), "0.713558");
    let time = printed(start / deceleration, "1.427115");
    let kinds = ["constant", "spring"];
    let mut quantities = Vec::new();
    for law in LAWS {
        let mut scene = slope(law, 0.0, STEP);
        for kind in kinds {
            let more = json!({ "rolling_friction": rolling_friction, "rolling": kind });
            add_ball(&mut scene, 0.5, more, start, start / BALL_RADIUS);
        }
        let tracks = follow(&mut engine.start(&scene), 2, 1, 4_000);
        for (kind, track) in kinds.into_iter().zip(&tracks) {
            // When it first stands to a thousandth of its speed.
            let stands = track
                .iter()
                .find(|moment| moment.body.velocity.z < 1e-3 * start);
            let end = &track.last().unwrap().body;
            quantities.extend([
                relative(
                    format!("{law}, {kind}: distance, m"),
                    distance,
                    end.position.z,
                    1e-2,
                ),
                relative(
                    format!("{law}, {kind}: time, s"),
                    time,
                    stands.unwrap().time,
                    1e-2,
                ),
                absolute(
                    format!("{law}, {kind}: speed at the end, m/s"),
                    0.0,
                    end.velocity.z,
                    1e-3,
                ),
            ]);
        }
    }
    quantities
}

pub fn rolling_resistance_on_incline(engine: Engine) -> Vec<Quantity> {
    // A ball at rest starts to roll where m g sin R exceeds the torque mu_r R m g cos.
    let rolling_friction: f64 = 0.2;
    let limit = rolling_friction.atan().to_degrees();
    let kinds = ["constant", "spring"];
    let mut quantities = Vec::new();
    for law in LAWS {
        for degrees in [limit - 1.0, limit + 5.0] {
            let angle = degrees.to_radians();
            let mut scene = slope(law, angle, STEP);
            for kind in kinds {
                let more = json!({ "rolling_friction": rolling_friction, "rolling": kind });
                add_ball(&mut scene, 0.8, more, 0.0, 0.0);
            }
            let tracks = follow(&mut engine.start(&scene), 2, 10, 2_500);
            for (kind, track) in kinds.into_iter().zip(&tracks) {
                let what = format!("{law}, {kind}, {degrees:.2}°");
                if degrees < limit {
                    let half = &track[track.len() / 2].body.position;
                    let creep = (track.last().unwrap().body.position - half).length();
                    // The constant torque is none at rest, so that the ball creeps.
                    let limit = if kind == "spring" { 1e-4 } else { 0.2 };
                    quantities.push(at_most(
                        format!("{what}: way in the second half of 1 s, radii"),
                        limit,
                        creep / BALL_RADIUS,
                    ));
                } else {
                    let expected = 5.0 / 7.0 * G * (angle.sin() - rolling_friction * angle.cos());
                    quantities.push(relative(
                        format!("{what}: acceleration, m/s²"),
                        expected,
                        acceleration(track),
                        1e-2,
                    ));
                }
            }
        }
    }
    quantities
}

pub fn twisting_resistance(engine: Engine) -> Vec<Quantity> {
    // A ball that spins about the vertical: the torque mu_t R m g slows 2/5 m R² w.
    let (twisting_friction, start) = (0.05, 20.0);
    let time = start * 0.4 * BALL_RADIUS / (twisting_friction * G);
    let mut quantities = Vec::new();
    for law in LAWS {
        let mut scene = slope(law, 0.0, STEP);
        add_ball(
            &mut scene,
            0.5,
            json!({ "twisting_friction": twisting_friction }),
            0.0,
            0.0,
        );
        scene["bodies"][0]["angular_velocity"] = json!([0, start, 0]);
        let steps = (1.1 * time / STEP) as u64;
        let track = &follow(&mut engine.start(&scene), 1, 1, steps)[0];
        let spins: Vec<_> = track
            .iter()
            .map(|m| (m.time, m.body.angular_velocity.y))
            .collect();
        let (offset, slope) = line(&spins[..spins.len() / 2]);
        let end = spins.last().unwrap().1;
        quantities.extend([
            relative(
                format!("{law}: end of the spin, from its slope, s"),
                time,
                -offset / slope,
                1e-2,
            ),
            absolute(
                format!("{law}: spin afterwards, rad/s"),
                0.0,
                end,
                1e-2 * start,
            ),
        ]);
    }
    quantities
}

/// Surface of a sphere's cap is not needed; the pull-off force is 3/2 pi w R.
pub fn pull_off(engine: Engine) -> Vec<Quantity> {
    // Balls hang from a ceiling that holds them by adhesion, a little lighter and a little heavier
    // than the pull-off force.
    let radius = 1e-3_f64;
    let (light, heavy) = (0.95, 1.05);
    let density = 2500.0;
    let work = sphere_mass(density, radius) * G / (1.5 * PI * radius);
    let mut quantities = Vec::new();
    for law in LAWS {
        let (normal, tangential) = models(law);
        let mut contact = json!({ "normal": normal, "tangential": tangential, "time_step": 1e-5 });
        if law == "hooke/history" {
            contact["stiffness"] = json!(50.0);
        }
        let mut scene = json!({
            "version": 1, "contact": contact, "shapes": {}, "bodies": [], "materials": {},
            "planes": [ { "point": [0, 0, 0], "normal": [0, -1, 0], "material": "light", "rigid": true } ],
            "pairs": [],
        });
        for (k, (name, load)) in [("light", light), ("heavy", heavy)].into_iter().enumerate() {
            scene["materials"][name] = json!({ "density": density * load, "restitution": 0.1,
                "friction": 0.5, "young_modulus": 1e6, "poisson_ratio": 0.3, "cohesion": work });
            scene["shapes"][name] = json!({ "sphere": { "radius": radius }, "material": name });
            let body =
                json!({ "shape": name, "position": [5.0 * radius * k as f64, -radius * 0.999, 0] });
            scene["bodies"].as_array_mut().unwrap().push(body);
        }
        let mut simulation = engine.start(&scene);
        simulation.step(5_000).unwrap();
        let bodies = simulation.bodies().unwrap();
        let fallen = |k: usize| (-bodies[k].position.y - radius) / radius;
        quantities.extend([
            at_most(
                format!("{law}: way down of a ball of {light} times the pull-off force, radii"),
                0.1,
                fallen(0),
            ),
            crate::table::at_least(
                format!("{law}: way down of a ball of {heavy} times the pull-off force, radii"),
                1.0,
                fallen(1),
            ),
        ]);
    }
    quantities
}
