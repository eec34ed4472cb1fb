//! The normal model `impulse`: what large steps must not lose.

use std::f64::consts::PI;
use std::time::Instant;

use glam::{DQuat, DVec3};
use rockfall::{Partner, Simulation};
use serde_json::{Value, json};

use crate::heap::{repose, stiff};
use crate::motion::{follow, line};
use crate::silo::{discharge, grain_contact, hooke, material};
use crate::table::{Engine, Quantity, absolute, at_least, at_most, relative};
use crate::theory::{G, sphere_mass};

const RADIUS: f64 = 0.05;
const DENSITY: f64 = 1000.0;
const FRICTION: f64 = 0.3;

/// A floor of plain stuff; balls, and cubes of eight of them; and bodies.
fn scene(restitution: f64, bodies: Value) -> Value {
    let material = |density: f64, restitution: f64| json!({ "density": density, "restitution": restitution, "friction": FRICTION });
    json!({
        "version": 1, "contact": { "normal": "impulse" },
        "materials": {
            "plain": material(DENSITY, restitution),
            "heavy": material(100.0 * DENSITY, restitution),
        },
        "shapes": {
            "ball": { "sphere": { "radius": RADIUS }, "material": "plain" },
            "heavy": { "sphere": { "radius": RADIUS }, "material": "heavy" },
            "cube": { "cube": { "n": 2, "radius": RADIUS }, "material": "plain" },
        },
        "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "plain" } ],
        "bodies": bodies,
    })
}

/// The steps of a time, s.
fn steps(simulation: &Simulation, time: f64) -> u64 {
    (time / simulation.model().time_step).round() as u64
}

/// A ball on another that is a hundred times lighter.
pub fn heavy_on_light(engine: Engine) -> Vec<Quantity> {
    let bodies = json!([
        { "shape": "ball", "position": [0, RADIUS, 0] },
        { "shape": "heavy", "position": [0, 3.0 * RADIUS, 0] },
    ]);
    let mut simulation = engine.start(&scene(0.0, bodies));
    let (start, count) = (steps(&simulation, 1.5), steps(&simulation, 0.5));
    simulation.step(start).unwrap();
    let tracks = follow(&mut simulation, 2, 1, count);
    let mean = |body: usize| {
        let forces = tracks[body].iter().map(|moment| moment.force.y);
        forces.sum::<f64>() / tracks[body].len() as f64
    };
    let weight = sphere_mass(DENSITY, RADIUS) * G;
    vec![
        relative(
            "force of the floor, in weights of the lower",
            101.0,
            (mean(0) + mean(1)) / weight,
            0.02,
        ),
        relative(
            "force of the lower on the upper, the same",
            100.0,
            mean(1) / weight,
            0.02,
        ),
    ]
}

/// Balls that meet the floor, and pairs of balls.
pub fn restitution(engine: Engine) -> Vec<Quantity> {
    let mut quantities = Vec::new();
    for e in [0.0, 0.5, 1.0] {
        let bodies = json!([
            { "shape": "ball", "position": [0, 0.3, 0], "velocity": [0, -2, 0] },
            { "shape": "ball", "position": [1, 1, 0], "velocity": [0, 0, 2] },
            { "shape": "ball", "position": [1, 1, 0.3], "velocity": [0, 0, -1] },
        ]);
        let mut scene = scene(e, bodies);
        scene["gravity"] = json!([0, 0, 0]);
        let mut simulation = engine.start(&scene);
        let count = steps(&simulation, 0.3);
        simulation.step(count).unwrap();
        let bodies = simulation.bodies().unwrap();
        let got = bodies[0].velocity.y / 2.0;
        quantities.push(absolute(format!("on the floor, e = {e}"), e, got, 1e-3));
        let got = (bodies[2].velocity.z - bodies[1].velocity.z) / 3.0;
        quantities.push(absolute(format!("of two balls, e = {e}"), e, got, 1e-3));
    }
    quantities
}

/// A cube that slides to rest, and a ball that slides until it rolls.
pub fn sliding(engine: Engine) -> Vec<Quantity> {
    let bodies = json!([
        { "shape": "cube", "position": [0, 2.0 * RADIUS, 0], "velocity": [2, 0, 0] },
        { "shape": "ball", "position": [0, RADIUS, 1], "velocity": [2, 0, 0] },
    ]);
    let mut simulation = engine.start(&scene(0.0, bodies));
    let count = steps(&simulation, 1.2);
    simulation.step(count).unwrap();
    let bodies = simulation.bodies().unwrap();
    vec![
        relative(
            "way of a cube, m",
            4.0 / (2.0 * FRICTION * G),
            bodies[0].position.x,
            0.005,
        ),
        at_most("its speed then, m/s", 1e-3, bodies[0].velocity.length()),
        relative(
            "speed of a ball that rolls, m/s",
            10.0 / 7.0,
            bodies[1].velocity.x,
            0.005,
        ),
        relative(
            "speed of its surface, m/s",
            10.0 / 7.0,
            -bodies[1].angular_velocity.z * RADIUS,
            0.005,
        ),
    ]
}

/// A cube on slopes that are less and more steep than its friction holds it on.
pub fn incline(engine: Engine) -> Vec<Quantity> {
    let after = |angle: f64| {
        let mut scene = scene(
            0.0,
            json!([{ "shape": "cube", "position": [0, 2.0 * RADIUS, 0] }]),
        );
        scene["gravity"] = json!([G * angle.sin(), -G * angle.cos(), 0]);
        let mut simulation = engine.start(&scene);
        let count = steps(&simulation, 1.0);
        simulation.step(count).unwrap();
        simulation.bodies().unwrap()[0].velocity.x
    };
    let steepest = FRICTION.atan();
    let steep = 1.5 * steepest;
    vec![
        at_most(
            "speed after 1 s at 0.98 of the steepest, m/s",
            1e-3,
            after(0.98 * steepest).abs(),
        ),
        relative(
            "speed after 1 s at 1.5 of it, m/s",
            G * (steep.sin() - FRICTION * steep.cos()),
            after(steep),
            0.005,
        ),
    ]
}

/// Balls that fly together and apart again, far from all walls.
pub fn cluster(engine: Engine) -> Vec<Quantity> {
    let bodies: Vec<Value> = (0..60)
        .map(|k| {
            let angle = f64::from(k) * 2.4;
            let place = DVec3::new(angle.cos(), 0.05 * f64::from(k) - 1.5, angle.sin()) * 0.3 + 3.0 * DVec3::Y;
            let velocity = (3.0 * DVec3::Y - place) * 2.0 + DVec3::X;
            json!({ "shape": "ball", "position": place.to_array(), "velocity": velocity.to_array() })
        })
        .collect();
    let mut scene = scene(0.5, json!(bodies));
    scene["gravity"] = json!([0, 0, 0]);
    scene["initial_overlap"] = json!("relax");
    let mut simulation = engine.start(&scene);
    let before = simulation.summary().unwrap().momentum;
    simulation.step(400).unwrap();
    let after = simulation.summary().unwrap().momentum;
    let contacts = simulation
        .bodies()
        .unwrap()
        .iter()
        .filter(|body| body.angular_velocity.length() > 0.1)
        .count();
    assert!(contacts > 10, "{contacts} balls have met others");
    vec![at_most(
        "change of momentum, as a part of it",
        1e-6,
        (after - before).length() / before.length(),
    )]
}

/// Ten cubes on each other.
pub fn tower(engine: Engine) -> Vec<Quantity> {
    let mut quantities = Vec::new();
    for count in [10, 20, 40] {
        let place = |k: usize| DVec3::Y * RADIUS * (2.0 + 4.0 * k as f64);
        let bodies: Vec<Value> = (0..count)
            .map(|k| json!({ "shape": "cube", "position": place(k).to_array() }))
            .collect();
        let mut simulation = engine.start(&scene(0.0, json!(bodies)));
        let all = steps(&simulation, 10.0);
        simulation.step(all).unwrap();
        let bodies = simulation.bodies().unwrap();
        let aside = bodies.iter().enumerate().map(|(k, body)| {
            let way = body.position - place(k);
            way.x.hypot(way.z)
        });
        quantities.push(at_most(
            format!("{count} high: way aside after 10 s, of a radius"),
            0.01,
            aside.fold(0.0, f64::max) / RADIUS,
        ));
        if count == 10 {
            let overlap = simulation.summary().unwrap().max_overlap_fraction;
            quantities.push(at_most(
                "10 high: largest overlap, of a radius",
                0.02,
                overlap,
            ));
        }
    }
    quantities
}

/// The weight of 10,000 balls on a floor, in a box that is periodic along it.
pub fn weight(engine: Engine) -> Vec<Quantity> {
    let mut scene = scene(0.3, json!([]));
    let half = 1.2;
    scene["domain"] = json!({ "min": [-half, -1, -half], "max": [half, 5, half], "periodic": [true, false, true] });
    scene["fills"] = json!([{ "count": 10_000, "shapes": { "ball": 1 }, "seed": 1, "placement": "grid",
        "spacing": 2.1 * RADIUS, "jitter": 0.04 * RADIUS,
        "region": { "min": [-half, 0, -half], "max": [half, 5, half] } }]);
    let mut simulation = engine.start(&scene);
    let settle = steps(&simulation, 4.0);
    simulation.step(settle).unwrap();
    let mut force = 0.0;
    let samples = 50;
    for _ in 0..samples {
        simulation.step(20).unwrap();
        let contacts = simulation.contacts().unwrap();
        let on_floor = contacts.filter(|contact| matches!(contact.partner, Partner::Wall(_)));
        force += on_floor.map(|contact| contact.force.y).sum::<f64>() / f64::from(samples);
    }
    let weight = 10_000.0 * 4.0 / 3.0 * PI * RADIUS.powi(3) * DENSITY * G;
    let summary = simulation.summary().unwrap();
    let lift = 10_000.0 * sphere_mass(DENSITY, RADIUS) * G * RADIUS;
    vec![
        relative(
            "force on the floor over the weight",
            1.0,
            force / weight,
            0.01,
        ),
        at_most(
            "kinetic energy, of that which lifts all by a radius",
            1e-3,
            summary.kinetic_energy / lift,
        ),
    ]
}

/// A ball that comes farther in a step than it and a wall are thick.
pub fn fast_ball(engine: Engine) -> Vec<Quantity> {
    let bodies = json!([
        { "shape": "ball", "position": [0, 1, 0], "velocity": [200, 0, 0] },
        { "shape": "ball", "position": [0.013, 1.5, 0], "velocity": [200, 0, 0] },
    ]);
    let mut scene = scene(0.5, bodies);
    scene["gravity"] = json!([0, 0, 0]);
    scene["contact"]["substeps"] = json!(24);
    scene["walls"] = json!([{ "box": { "size": [RADIUS, 4, 4] }, "side": "outside", "material": "plain",
                              "position": [1, 1, 0] }]);
    let mut simulation = engine.start(&scene);
    let step = 200.0 * simulation.model().time_step;
    assert!(step > 2.0 * RADIUS, "{step} m in a step are not far");
    let count = steps(&simulation, 0.01);
    simulation.step(count).unwrap();
    let bodies = simulation.bodies().unwrap();
    let mut quantities = vec![];
    for (body, name) in bodies.iter().zip(["a ball", "another"]) {
        quantities.push(at_most(
            format!("{name}: farthest place of its surface, wall at 0.975 m"),
            0.975,
            body.position.x + RADIUS,
        ));
        quantities.push(relative(
            format!("{name}: restitution"),
            0.5,
            -body.velocity.x / 200.0,
            1e-3,
        ));
    }
    quantities
}

/// Pyramids of cubes side by side.
pub fn pyramids(engine: Engine) -> Vec<Quantity> {
    let side = 4.0 * RADIUS;
    let (rows, gap) = (20, 0.02 * side);
    let places: Vec<DVec3> = (0..20)
        .flat_map(|pyramid| (0..rows).map(move |row| (pyramid, row)))
        .flat_map(|(pyramid, row)| {
            (0..rows - row).map(move |k| {
                let x = f64::from(k) - 0.5 * f64::from(rows - row - 1);
                let (y, z) = (f64::from(row) + 0.5, 2.0 * f64::from(pyramid));
                DVec3::new((side + gap) * x, side * y, side * z)
            })
        })
        .collect();
    let bodies = places
        .iter()
        .map(|place| json!({ "shape": "cube", "position": place.to_array() }));
    let mut simulation = engine.start(&scene(0.0, bodies.collect()));
    let count = steps(&simulation, 10.0);
    simulation.step(count).unwrap();
    let bodies = simulation.bodies().unwrap();
    let moved = bodies.iter().zip(&places).filter_map(|(body, place)| {
        let is_top = place.y > (f64::from(rows) - 0.75) * side;
        is_top.then(|| body.position.distance(*place))
    });
    vec![at_most(
        "way of the tops in 10 s, of a side",
        0.5,
        moved.fold(0.0, f64::max) / side,
    )]
}

/// A body of a shape that is turned by an angle about z.
fn turned(shape: &str, place: DVec3, angle: f64) -> Value {
    let orientation = DQuat::from_rotation_z(angle).to_array();
    json!({ "shape": shape, "position": place.to_array(), "orientation": orientation })
}

/// A plate of balls of radius `radius`, `along` by `across` of them, in the plane of x and z.
fn plate(radius: f64, along: i32, across: i32) -> Value {
    let at = move |k: i32, count: i32| radius * f64::from(2 * k + 1 - count);
    let balls = (0..along).flat_map(|i| {
        (0..across)
            .map(move |k| json!({ "center": [at(i, along), 0, at(k, across)], "radius": radius }))
    });
    json!({ "spheres": balls.collect::<Vec<_>>(), "material": "plain" })
}

/// Blocks three by three, each layer across the one below it.
fn jenga() -> (Value, Vec<Value>) {
    let mut scene = scene(0.0, json!([]));
    scene["shapes"]["block"] = plate(RADIUS, 6, 2);
    let bodies = (0..18).flat_map(|layer| {
        let turned = layer % 2 == 1;
        (-1..=1).map(move |k| {
            let aside = 4.0 * RADIUS * f64::from(k);
            let y = RADIUS * (1.0 + 2.0 * f64::from(layer));
            let (x, z, angle) = match turned {
                true => (aside, 0.0, 0.5 * PI),
                false => (0.0, aside, 0.0),
            };
            json!({ "shape": "block", "position": [x, y, z], "axis": [0, 1, 0], "angle": angle })
        })
    });
    let bodies = bodies.collect();
    (scene, bodies)
}

/// Half a circle of eleven wedges, each as thick at its inner and its outer end as the balls there.
fn arch() -> (Value, Vec<Value>) {
    let (count, inner, outer, half) = (11, 0.8, 1.2, 0.1);
    let part = PI / f64::from(count);
    let middle = 0.5 * (inner + outer);
    let balls = [inner, outer].into_iter().flat_map(|r: f64| {
        [-half, half]
            .map(|z| json!({ "center": [r - middle, 0, z], "radius": r * (0.5 * part).sin() }))
    });
    let mut scene = scene(0.0, json!([]));
    scene["materials"]["plain"]["friction"] = json!(0.6);
    scene["shapes"]["wedge"] = json!({ "spheres": balls.collect::<Vec<_>>(), "material": "plain" });
    let bodies = (0..count).map(|k| {
        let angle = (f64::from(k) + 0.5) * part;
        turned(
            "wedge",
            middle * DVec3::new(angle.cos(), angle.sin(), 0.0),
            angle,
        )
    });
    let bodies = bodies.collect();
    (scene, bodies)
}

/// Two storeys of cards that lean on each other, ball on ball: so that the feet of the upper ones stand on what bears them, a card
/// leans as far as ten of the twelve radii between its ends.
fn card_house() -> (Value, Vec<Value>) {
    let (radius, length) = (0.5 * RADIUS, 12);
    let mut scene = scene(0.0, json!([]));
    scene["materials"]["plain"]["friction"] = json!(0.8);
    scene["shapes"]["card"] = plate(radius, length, 6);
    scene["shapes"]["floor"] = plate(radius, length + 2, 6);
    // From the ball at one end of a card to that at the other.
    let span = 2.0 * radius * f64::from(length - 1);
    let across = 10.0 * radius;
    let lean = (across / span).asin();
    let up = span * lean.cos();
    let mut bodies = Vec::new();
    let mut tent = |x: f64, floor: f64| {
        for side in [-1.0, 1.0] {
            let aside = side * (0.5 * across + radius);
            let place = DVec3::new(x + aside, floor + radius + 0.5 * up, 0.0);
            bodies.push(turned("card", place, side * (0.5 * PI + lean)));
        }
    };
    tent(-across - 2.0 * radius, 0.0);
    tent(across + 2.0 * radius, 0.0);
    tent(0.0, up + 4.0 * radius);
    bodies.push(turned("floor", (up + 3.0 * radius) * DVec3::Y, 0.0));
    (scene, bodies)
}

/// Structures that only friction holds.
pub fn what_stands(engine: Engine) -> Vec<Quantity> {
    let mut quantities = Vec::new();
    for (name, (mut scene, mut bodies), speed) in [
        ("jenga", jenga(), 8.0),
        ("arch", arch(), 20.0),
        ("card house", card_house(), 8.0),
    ] {
        // The ball waits far away until its time has come.
        let own = bodies.len();
        bodies.push(json!({ "shape": "heavy", "position": [-100, RADIUS, 0] }));
        scene["bodies"] = bodies.into();
        let mut simulation = engine.start(&scene);
        let heights = |simulation: &mut Simulation| -> Vec<f64> {
            let bodies = simulation.bodies().unwrap();
            bodies[..own].iter().map(|body| body.position.y).collect()
        };
        let start = heights(&mut simulation);
        let lowered = |now: &[f64]| {
            let ways = start
                .iter()
                .zip(now)
                .map(|(start, now)| (start - now).abs());
            ways.fold(0.0, f64::max) / RADIUS
        };
        let count = steps(&simulation, 10.0);
        simulation.step(count).unwrap();
        let stood = lowered(&heights(&mut simulation));
        quantities.push(at_most(
            format!("{name}: way of a body up or down in 10 s, in 0.05 m"),
            0.5,
            stood,
        ));
        let top = start.iter().fold(0.0, |a: f64, &b| a.max(b));
        let ball = simulation.handles().nth(own).unwrap();
        let from = DVec3::new(-2.0, 0.5 * top, 0.0);
        simulation.set_pose(ball, from, DQuat::IDENTITY).unwrap();
        simulation.set_velocity(ball, speed * DVec3::X).unwrap();
        let count = steps(&simulation, 2.0);
        simulation.step(count).unwrap();
        let fallen = lowered(&heights(&mut simulation));
        quantities.push(at_least(
            format!("{name}: the same after a ball has hit it"),
            2.0,
            fallen,
        ));
    }
    quantities
}

/// A heap of balls and cubes in a box, of a stuff on which nothing rolls or spins for ever.
pub fn sleep(engine: Engine) -> Vec<Quantity> {
    const COUNT: u32 = 240;
    let mut scene = scene(0.3, json!([]));
    let plane = |point: [f64; 3], normal: [f64; 3]| json!({ "point": point, "normal": normal, "material": "plain" });
    scene["planes"] = json!([
        plane([0.0; 3], [0.0, 1.0, 0.0]),
        plane([-0.6, 0.0, 0.0], [1.0, 0.0, 0.0]),
        plane([0.6, 0.0, 0.0], [-1.0, 0.0, 0.0]),
        plane([0.0, 0.0, -0.6], [0.0, 0.0, 1.0]),
        plane([0.0, 0.0, 0.6], [0.0, 0.0, -1.0])
    ]);
    scene["materials"]["plain"]["rolling_friction"] = json!(0.05);
    scene["materials"]["plain"]["twisting_friction"] = json!(0.05);
    scene["fills"] = json!([{ "count": COUNT, "shapes": { "ball": 1, "cube": 1 }, "seed": 3,
                              "region": { "min": [-0.6, 0.0, -0.6], "max": [0.6, 4.5, 0.6] } }]);
    scene["sleep"] = json!({});
    let run = || {
        let mut simulation = engine.start(&scene);
        // What falls has landed after a second and a half.
        let count = steps(&simulation, 6.5);
        simulation.step(count).unwrap();
        simulation.summary().unwrap()
    };
    let [first, second] = [run(), run()];
    vec![
        at_least(
            "bodies asleep 5 s after the last has landed, of all",
            1.0,
            first.asleep as f64 / f64::from(COUNT),
        ),
        absolute(
            "another run has other bits (0: it has not)",
            0.0,
            f64::from(u32::from(first.state_hash != second.state_hash)),
            0.5,
        ),
    ]
}

/// The mean angle, degrees, of the surface of balls that a drum turns.
fn drum(engine: Engine, contact: &Value) -> f64 {
    let (radius, grain, half) = (0.1, 0.004, 0.02);
    let mut material = material(2500.0, 0.5);
    material["rolling_friction"] = json!(0.05);
    let scene = json!({
        "version": 1,
        "contact": contact,
        "materials": { "glass": material },
        "shapes": { "ball": { "sphere": { "radius": grain }, "material": "glass" } },
        "walls": [{ "name": "drum", "cylinder": { "radius": radius, "height": 2.0 * half, "closed": true }, "side": "inside", "material": "glass",
                    "axis": [1, 0, 0], "angle": 0.5 * PI,
                    "motion": { "rotation": { "axis": [0, 0, 1], "speed": 1.0 } } }],
        "fills": [{ "count": 800, "shapes": { "ball": 1 }, "seed": 2, "placement": "grid",
                    "spacing": 2.05 * grain, "jitter": 0.02 * grain,
                    "region": { "min": [-0.065, -0.065, -half], "max": [0.065, 0.065, half] } }],
    });
    let mut simulation = engine.start(&scene);
    let settle = steps(&simulation, 2.0);
    simulation.step(settle).unwrap();
    let every = steps(&simulation, 0.05);
    let mut angles = Vec::new();
    for _ in 0..40 {
        simulation.step(every).unwrap();
        let mut slices = [f64::MIN; 12];
        for body in simulation.bodies().unwrap() {
            let slice = ((body.position.x / radius + 0.6) * 10.0).floor();
            if slice >= 0.0
                && let Some(highest) = slices.get_mut(slice as usize)
            {
                *highest = highest.max(body.position.y);
            }
        }
        // Where the surface meets the drum, a slice may have no ball for a moment.
        let points = slices
            .iter()
            .enumerate()
            .filter(|&(_, &y)| y > f64::MIN)
            .map(|(k, &y)| (0.1 * radius * k as f64, y));
        angles.push(line(&points.collect::<Vec<_>>()).1.atan().to_degrees());
    }
    angles.iter().sum::<f64>() / angles.len() as f64
}

/// Scenes under two laws, and how long each took.
pub fn beside_springs(engine: Engine) -> Vec<Quantity> {
    const HOUR: f64 = 3600.0;
    let impulse = json!({ "normal": "impulse" });
    let mut quantities = Vec::new();
    let mut beside =
        |what: &str, stiff: &Value, within: &dyn Fn(f64) -> f64, run: &dyn Fn(&Value) -> f64| {
            let [(expected, long), (got, short)] = [stiff, &impulse].map(|contact| {
                let clock = Instant::now();
                (run(contact), clock.elapsed().as_secs_f64())
            });
            quantities.extend([
                absolute(what, expected, got, within(expected)),
                at_most(format!("{what}: seconds under hooke"), HOUR, long),
                at_most(
                    format!("{what}: time by that under hooke"),
                    1.0,
                    short / long,
                ),
            ]);
        };
    let degrees = |_| 3.0;
    for friction in [0.2, 0.5] {
        let grain = material(2500.0, friction);
        beside(
            &format!("angle of repose, friction {friction}, degrees"),
            &stiff(&grain),
            &degrees,
            &|contact| repose(engine, contact, &grain, G),
        );
    }
    beside(
        "balls out of a silo, 1/s",
        &grain_contact(),
        &|flow| 0.08 * flow,
        &|contact| discharge(engine, contact),
    );
    let glass = material(2500.0, 0.5);
    beside(
        "angle of the surface in a drum, degrees",
        &hooke(0.004, 2e3, &glass),
        &degrees,
        &|contact| drum(engine, contact),
    );
    quantities
}
