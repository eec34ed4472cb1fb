//! Piles at rest, and the sphere that is a clump.

use std::f64::consts::{FRAC_PI_2, PI};

use glam::DVec3;
use rockfall::Simulation;
use serde_json::{Value, json};

use crate::table::{Engine, Quantity, at_least, at_most, relative};
use crate::theory::{G, models, sphere_mass};

const LAWS: [&str; 3] = ["hooke/viscous", "hooke/history", "hertz/mindlin"];

fn contact(law: &str, stiffness: f64, time_step: f64) -> Value {
    let (normal, tangential) = models(law);
    let mut contact = json!({ "normal": normal, "tangential": tangential, "time_step": time_step });
    if law != "hertz/mindlin" {
        contact["stiffness"] = json!(stiffness);
    }
    contact
}

/// A material of pebbles that lose their speed soon; soft, so that steps can be long.
fn soft(friction: f64) -> Value {
    json!({ "density": 1000, "restitution": 0.1, "friction": friction,
            "young_modulus": YOUNG, "poisson_ratio": POISSON })
}

const YOUNG: f64 = 1e7;
const POISSON: f64 = 0.25;

fn floor() -> Value {
    json!([{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "m", "rigid": true }])
}

/// Sum of all contact forces on bodies, N: those between bodies cancel, those of planes remain.
fn plane_forces(simulation: &mut Simulation) -> DVec3 {
    let state = simulation.state().unwrap();
    state
        .bodies
        .iter()
        .map(|body| state.load(body).force.as_dvec3())
        .sum()
}

/// Overlap (m) of a ball of `soft` material at the bottom of a stack (on the floor, which is rigid)
/// or on another one, under `force` (N).
fn overlap(law: &str, stiffness: f64, on_floor: bool, radius: f64, force: f64) -> f64 {
    if law != "hertz/mindlin" {
        return force / stiffness;
    }
    let (bodies, curvature) = if on_floor {
        (1.0, radius)
    } else {
        (2.0, 0.5 * radius)
    };
    let modulus = YOUNG / (1.0 - POISSON * POISSON) / bodies;
    (0.75 * force / (modulus * curvature.sqrt())).powf(2.0 / 3.0)
}

const STACK: i32 = 5;
const STACK_RADIUS: f64 = 0.1;
const STACK_STIFFNESS: f64 = 1e5;

/// Overlaps under each ball of a stack at rest, m, from the lowest on.
fn overlaps(law: &str) -> Vec<f64> {
    let weight = sphere_mass(1000.0, STACK_RADIUS) * G;
    (0..STACK)
        .map(|k| {
            let above = f64::from(STACK - k) * weight;
            overlap(law, STACK_STIFFNESS, k == 0, STACK_RADIUS, above)
        })
        .collect()
}

/// A stack on a floor, at `place`; each ball is pressed into the one below by `part` of the overlap
/// that it comes to.
fn stacked(engine: Engine, law: &str, place: DVec3, part: f64) -> Simulation {
    let mut height = place.y - STACK_RADIUS;
    let mut bodies = Vec::new();
    for overlap in overlaps(law) {
        height += 2.0 * STACK_RADIUS - part * overlap;
        bodies.push(json!({ "shape": "ball", "position": [place.x, height, place.z] }));
    }
    engine.start(&json!({
        "version": 1, "contact": contact(law, STACK_STIFFNESS, 8e-4),
        "planes": [ { "point": [0, place.y, 0], "normal": [0, 1, 0], "material": "m", "rigid": true } ],
        "materials": { "m": soft(0.4) },
        "shapes": { "ball": { "sphere": { "radius": STACK_RADIUS }, "material": "m" } },
        "bodies": bodies,
    }))
}

/// Force of the floor under a stack at rest.
fn floor_force(law: &str, simulation: &mut Simulation) -> Quantity {
    let weight = f64::from(STACK) * sphere_mass(1000.0, STACK_RADIUS) * G;
    let force = plane_forces(simulation).y;
    relative(format!("{law}: force of the floor, N"), weight, force, 1e-3)
}

pub fn stack(engine: Engine) -> Vec<Quantity> {
    let mut quantities = Vec::new();
    for law in LAWS {
        let mut simulation = stacked(engine, law, DVec3::ZERO, 0.9);
        simulation.step(2_500).unwrap();
        let mut below = -STACK_RADIUS;
        let bodies = simulation.bodies().unwrap();
        for (k, (body, expected)) in bodies.iter().zip(overlaps(law)).enumerate() {
            let overlap = 2.0 * STACK_RADIUS - (body.position.y - below);
            let what = format!("{law}: overlap under {k}, mm");
            quantities.push(relative(what, 1e3 * expected, 1e3 * overlap, 1e-3));
            below = body.position.y;
        }
        quantities.push(floor_force(law, &mut simulation));
    }
    quantities
}

pub fn stack_far_away(engine: Engine) -> Vec<Quantity> {
    let far = 1e4 * STACK_RADIUS;
    let mut quantities = Vec::new();
    for law in ["hooke/history", "hertz/mindlin"] {
        let mut simulation = stacked(engine, law, DVec3::new(far, far, -far), 1.0);
        simulation.step(1_000).unwrap();
        let start = simulation.bodies().unwrap();
        simulation.step(1_250).unwrap();
        let end = simulation.bodies().unwrap();
        let ways = start.iter().zip(&end);
        let ways = ways.map(|(before, after)| (after.position - before.position).length());
        let what = format!("{law}: largest way in 1 s, radii");
        let farthest = ways.fold(0.0, f64::max) / STACK_RADIUS;
        quantities.push(at_most(what, 1e-5, farthest));
        quantities.push(floor_force(law, &mut simulation));
    }
    quantities
}

pub fn one_sphere_clump(engine: Engine) -> Vec<Quantity> {
    // The clump's sphere lies off its origin, and the body is placed and turned to match. Both
    // bounce over a tilted floor in one scene.
    let radius = 0.1;
    let mut quantities = Vec::new();
    for law in LAWS {
        let mut simulation = engine.start(&json!({
            "version": 1, "contact": contact(law, 1e5, 2e-4),
            "materials": { "m": { "density": 1000, "restitution": 0.6, "friction": 0.4,
                                  "young_modulus": YOUNG, "poisson_ratio": POISSON } },
            "planes": [ { "point": [0, 0, 0], "normal": [0.1, 1, 0], "material": "m", "rigid": true } ],
            "shapes": { "ball": { "sphere": { "radius": radius }, "material": "m" },
                        "clump": { "spheres": [ { "center": [0.3, 0, 0], "radius": radius } ],
                                   "material": "m" } },
            "bodies": [
                { "shape": "ball", "position": [0, 0.3, 0], "velocity": [1, 0, 0],
                  "angular_velocity": [0, 2, 1] },
                { "shape": "clump", "position": [0, 0, 1], "axis": [0, 0, 1], "angle": FRAC_PI_2,
                  "velocity": [1, 0, 0], "angular_velocity": [0, 2, 1] } ],
        }));
        simulation.step(2_500).unwrap();
        let bodies = simulation.bodies().unwrap();
        let (ball, clump) = (&bodies[0], &bodies[1]);
        let apart = clump.position - DVec3::Z - ball.position;
        let spins = clump.angular_velocity - ball.angular_velocity;
        let arm = (clump.origin - clump.position).length();
        quantities.extend([
            at_most(
                format!("{law}: distance after 0.5 s, radii"),
                1e-4,
                apart.length() / radius,
            ),
            at_most(
                format!("{law}: difference of spins over the spin"),
                1e-4,
                spins.length() / ball.angular_velocity.length(),
            ),
            relative(
                format!("{law}: from the centre to the clump's origin, m"),
                0.3,
                arm,
                1e-6,
            ),
        ]);
    }
    quantities
}

pub fn pyramid(engine: Engine) -> Vec<Quantity> {
    // Three spheres that touch, and one on top. The lower ones neither roll nor slide while the
    // friction between spheres is at least tan(phi/2), phi being the angle of the upper contacts
    // with the vertical, sin phi = 1/sqrt(3).
    let radius = 0.05;
    let phi = (1.0 / 3f64.sqrt()).asin();
    let limit = (0.5 * phi).tan();
    assert!((limit - (3f64.sqrt() - 2f64.sqrt())).abs() < 1e-12);
    let ring = 2.0 * radius / 3f64.sqrt();
    let tip = radius * (1.0 + 2.0 * phi.cos());
    let mut quantities = Vec::new();
    for law in ["hooke/history", "hertz/mindlin"] {
        let mut scene = json!({
            "version": 1, "contact": contact(law, 2e4, 2e-4), "planes": floor(),
            "materials": { "m": soft(0.5) }, "shapes": {}, "bodies": [], "pairs": [],
        });
        let frictions = [0.9 * limit, 1.1 * limit];
        for (k, friction) in frictions.into_iter().enumerate() {
            let name = format!("pyramid {k}");
            scene["materials"][&name] = soft(friction);
            scene["shapes"][&name] = json!({ "sphere": { "radius": radius }, "material": name });
            let pair = json!({ "between": [name, "m"], "friction": 0.5 });
            scene["pairs"].as_array_mut().unwrap().push(pair);
            let x = k as f64;
            let mut add = |position: [f64; 3]| {
                let body = json!({ "shape": name, "position": position });
                scene["bodies"].as_array_mut().unwrap().push(body);
            };
            for corner in 0..3 {
                let (sin, cos) = (2.0 * PI * f64::from(corner) / 3.0).sin_cos();
                add([x + ring * cos, radius, ring * sin]);
            }
            add([x, tip, 0.0]);
        }
        let mut simulation = engine.start(&scene);
        simulation.step(5_000).unwrap();
        let before = simulation.bodies().unwrap();
        simulation.step(2_500).unwrap();
        let after = simulation.bodies().unwrap();
        let sunk = |body: usize| (tip - after[body].position.y) / radius;
        let creep = (4..8).map(|k| (after[k].position - before[k].position).length());
        quantities.extend([
            at_least(
                format!("{law}, μ 10 % below √3 - √2: the top sinks, radii"),
                0.5,
                sunk(3),
            ),
            at_most(
                format!("{law}, μ 10 % above: the top sinks, radii"),
                0.05,
                sunk(7),
            ),
            at_most(
                format!("{law}, μ 10 % above: way in the last 0.5 s, radii"),
                1e-5,
                creep.fold(0.0, f64::max) / radius,
            ),
        ]);
    }
    quantities
}

pub fn settled_bed(engine: Engine) -> Vec<Quantity> {
    let radius = 0.05;
    let wall = |point: [f64; 3], normal: [f64; 3]| json!({ "point": point, "normal": normal, "material": "m", "rigid": true });
    let mut quantities = Vec::new();
    for law in ["hooke/history", "hertz/mindlin"] {
        let mut simulation = engine.start(&json!({
            "version": 1, "contact": contact(law, 2e4, 4e-4),
            "materials": { "m": { "density": 2500, "restitution": 0.05, "friction": 0.5,
                                  "young_modulus": 2e6, "poisson_ratio": POISSON } },
            "shapes": { "ball": { "sphere": { "radius": radius }, "material": "m" } },
            "planes": [ wall([0.0; 3], [0.0, 1.0, 0.0]),
                        wall([-0.5, 0.0, 0.0], [1.0, 0.0, 0.0]), wall([0.5, 0.0, 0.0], [-1.0, 0.0, 0.0]),
                        wall([0.0, 0.0, -0.5], [0.0, 0.0, 1.0]), wall([0.0, 0.0, 0.5], [0.0, 0.0, -1.0]) ],
            "fills": [ { "count": 1000, "shapes": { "ball": 1 }, "placement": "grid", "seed": 1,
                         "region": { "min": [-0.49, 0.0, -0.49], "max": [0.49, 1.6, 0.49] },
                         "velocity": { "min": [-0.2, -0.2, -0.2], "max": [0.2, 0, 0.2] } } ],
        }));
        let weight = 1000.0 * sphere_mass(2500.0, radius) * G;
        simulation.step(5_000).unwrap();
        // The bed still swings a little: the mean over several of its periods.
        let sum: DVec3 = (0..20)
            .map(|_| {
                simulation.step(50).unwrap();
                plane_forces(&mut simulation)
            })
            .sum();
        let force = sum / 20.0;
        quantities.extend([
            relative(
                format!("{law}: upward force of floor and walls over the weight"),
                1.0,
                force.y / weight,
                1e-3,
            ),
            at_most(
                format!("{law}: their sideward force over the weight"),
                1e-3,
                force.x.hypot(force.z) / weight,
            ),
        ]);
    }
    quantities
}
