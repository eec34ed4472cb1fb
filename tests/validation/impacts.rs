//! Head-on and oblique impacts of one and two spheres.

use std::f64::consts::PI;

use glam::DVec3;
use rockfall::Simulation;
use serde_json::{Value, json};

use crate::motion::{Impact, follow};
use crate::table::{Engine, Quantity, absolute, at_least, at_most, printed, relative};
use crate::theory::{
    G, Hertz, clamped_restitution, damping_ratio, linear_duration, models, plane_modulus,
    sphere_mass,
};

/// An elastic material without friction, for the normal model `hertz`.
fn smooth(density: f64, young: f64, poisson: f64) -> Value {
    json!({ "density": density, "restitution": 1, "friction": 0,
            "young_modulus": young, "poisson_ratio": poisson })
}

fn floor(material: &str) -> Value {
    json!([{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": material, "rigid": true }])
}

pub fn two_spheres(engine: Engine) -> Vec<Quantity> {
    let (radius, speed, young, poisson) = (0.01, 10.0, 48e9, 0.2);
    let mass = sphere_mass(2800.0, radius);
    let modulus = 0.5 * plane_modulus(young, poisson);
    let hertz = Hertz::new(mass / 2.0, radius / 2.0, modulus, 2.0 * speed);
    let time_step = hertz.duration / 400.0;
    let x = radius + 20.5 * time_step * speed;
    let mut simulation = engine.start(&json!({
        "version": 1, "gravity": [0, 0, 0],
        "contact": { "normal": "hertz", "tangential": "mindlin", "time_step": time_step },
        "materials": { "m": smooth(2800.0, young, poisson) },
        "shapes": { "ball": { "sphere": { "radius": radius }, "material": "m" } },
        "bodies": [ { "shape": "ball", "position": [-x, 0, 0], "velocity": [speed, 0, 0] },
                    { "shape": "ball", "position": [x, 0, 0], "velocity": [-speed, 0, 0] } ],
    }));
    let tracks = follow(&mut simulation, 2, 1, 460);
    let impact = Impact::of_two(&tracks[0], &tracks[1], 2.0 * radius);
    let rebound = tracks[1].last().unwrap().body.velocity.x;
    vec![
        relative(
            "peak force, N",
            printed(hertz.force, "10696.9"),
            impact.force,
            1e-3,
        ),
        relative(
            "largest overlap, µm",
            printed(1e6 * hertz.overlap, "274.11"),
            1e6 * impact.overlap,
            1e-3,
        ),
        relative(
            "contact, µs",
            printed(1e6 * hertz.duration, "40.34"),
            1e6 * impact.duration,
            1e-3,
        ),
        relative("rebound, m/s", speed, rebound, 1e-3),
    ]
}

pub fn sphere_on_plane(engine: Engine) -> Vec<Quantity> {
    let (radius, speed, young, poisson) = (0.1, 0.2, 70e9, 0.3);
    let mass = sphere_mass(2699.0, radius);
    let hertz = Hertz::new(mass, radius, plane_modulus(young, poisson), speed);
    let time_step = hertz.duration / 400.0;
    let mut simulation = engine.start(&json!({
        "version": 1, "gravity": [0, 0, 0],
        "contact": { "normal": "hertz", "tangential": "mindlin", "time_step": time_step },
        "materials": { "m": smooth(2699.0, young, poisson),
                       "wall": { "density": 1, "restitution": 1, "friction": 0 } },
        "shapes": { "ball": { "sphere": { "radius": radius }, "material": "m" } },
        "planes": floor("wall"),
        "bodies": [ { "shape": "ball", "position": [0, radius + 20.5 * time_step * speed, 0],
                      "velocity": [0, -speed, 0] } ],
    }));
    let track = &follow(&mut simulation, 1, 1, 460)[0];
    let impact = Impact::on_floor(track, radius);
    let rebound = track.last().unwrap().body.velocity.y;
    vec![
        relative(
            "peak force, N",
            printed(hertz.force, "11369.9"),
            impact.force,
            1e-3,
        ),
        relative(
            "largest overlap, µm",
            printed(1e6 * hertz.overlap, "49.717"),
            1e6 * impact.overlap,
            1e-3,
        ),
        relative(
            "contact, µs",
            printed(1e6 * hertz.duration, "731.66"),
            1e6 * impact.duration,
            1e-3,
        ),
        relative("rebound, m/s", speed, rebound, 1e-3),
    ]
}

/// The contact of `law` between balls of `radius` and `density` that meet a plane with `speed`, and
/// the time step of which `per_contact` go into an undamped contact. Overlaps are some hundredths of
/// a radius with the laws that have a given stiffness.
fn law(name: &str, ball: &Ball, per_contact: f64) -> (Value, f64) {
    let mass = sphere_mass(ball.density, ball.radius);
    let (normal, tangential) = models(name);
    if name == "hertz/mindlin" {
        let modulus = plane_modulus(ball.young, ball.poisson);
        let time_step = Hertz::new(mass, ball.radius, modulus, ball.speed).duration / per_contact;
        (
            json!({ "normal": normal, "tangential": tangential, "time_step": time_step }),
            time_step,
        )
    } else {
        let stiffness = mass * (ball.speed / (0.02 * ball.radius)).powi(2);
        let time_step = linear_duration(stiffness, mass, 1.0) / per_contact;
        let contact = json!({ "normal": normal, "tangential": tangential, "stiffness": stiffness, "time_step": time_step });
        (contact, time_step)
    }
}

/// A ball that hits a plane.
struct Ball {
    radius: f64,
    density: f64,
    young: f64,
    poisson: f64,
    /// Towards the plane, m/s.
    speed: f64,
}

impl Ball {
    /// Of the third and fourth test of Chung and Ooi.
    const CHUNG_AND_OOI: Ball = Ball {
        radius: 2.5e-3,
        density: 4000.0,
        young: 380e9,
        poisson: 0.23,
        speed: 3.9,
    };

    fn material(&self, restitution: f64, friction: f64) -> Value {
        json!({ "density": self.density, "restitution": restitution, "friction": friction,
                "young_modulus": self.young, "poisson_ratio": self.poisson })
    }
}

/// Speeds after over speeds before for balls with the given restitution that hit a plane, all in one
/// scene; each starts a little later than the one before, so that they meet the plane at different
/// parts of a time step.
fn rebounds(
    engine: Engine,
    name: &str,
    limit_damping: Option<bool>,
    restitutions: &[f64],
    per_contact: f64,
) -> Vec<f64> {
    let ball = Ball::CHUNG_AND_OOI;
    let (mut contact, time_step) = law(name, &ball, per_contact);
    if let Some(limit) = limit_damping {
        contact["limit_damping"] = json!(limit);
    }
    let mut scene = json!({ "version": 1, "gravity": [0, 0, 0], "contact": contact,
                            "materials": {}, "shapes": {}, "bodies": [], "planes": floor("0"),
                            "pairs": [] });
    for (k, &restitution) in restitutions.iter().enumerate() {
        let material = k.to_string();
        scene["materials"][&material] = ball.material(restitution, 0.0);
        scene["shapes"][&material] =
            json!({ "sphere": { "radius": ball.radius }, "material": material });
        if k > 0 {
            let pair = json!({ "between": [material, "0"], "restitution": restitution });
            scene["pairs"].as_array_mut().unwrap().push(pair);
        }
        let gap = (3.0 + k as f64 / restitutions.len() as f64) * ball.speed * time_step;
        let body = json!({ "shape": material, "velocity": [0, -ball.speed, 0],
                           "position": [3.0 * ball.radius * k as f64, ball.radius + gap, 0] });
        scene["bodies"].as_array_mut().unwrap().push(body);
    }
    let mut simulation = engine.start(&scene);
    // A contact with the restitution 0.2 lasts long: its end is slow.
    simulation.step((4.0 * per_contact) as u64 + 10).unwrap();
    let bodies = simulation.bodies().unwrap();
    bodies
        .iter()
        .map(|body| body.velocity.y / ball.speed)
        .collect()
}

pub fn restitution_hertz(engine: Engine) -> Vec<Quantity> {
    restitution(
        engine,
        "hertz/mindlin",
        &["0.3249", "0.4720", "0.6323", "0.8081"],
    )
}

pub fn restitution_hooke(engine: Engine) -> Vec<Quantity> {
    restitution(
        engine,
        "hooke/history",
        &["0.3249", "0.4720", "0.6323", "0.8081"],
    )
}

fn restitution(engine: Engine, name: &str, clamped: &[&str]) -> Vec<Quantity> {
    let given = [0.2, 0.4, 0.6, 0.8, 1.0];
    let mut quantities = Vec::new();
    let got = rebounds(engine, name, Some(false), &given, 400.0);
    for (e, got) in given.into_iter().zip(got) {
        quantities.push(relative(
            format!("damping not limited, e = {e}"),
            e,
            got,
            1e-3,
        ));
    }
    let got = rebounds(engine, name, Some(true), &given, 400.0);
    for (k, (e, got)) in given.into_iter().zip(got).enumerate() {
        let formula = clamped_restitution(e);
        let expected = clamped.get(k).map_or(1.0, |text| printed(formula, text));
        quantities.push(relative(
            format!("damping limited, e = {e}"),
            expected,
            got,
            1e-3,
        ));
    }
    quantities
}

/// Root mean square of the error of restitution over eight places in a time step at which a ball
/// meets the plane.
fn restitution_error(engine: Engine, law: &str, restitution: f64, per_contact: f64) -> f64 {
    let got = rebounds(engine, law, None, &[restitution; 8], per_contact);
    let squares = got.iter().map(|got| (got - restitution).powi(2));
    (squares.sum::<f64>() / 8.0).sqrt()
}

pub fn restitution_converges(engine: Engine) -> Vec<Quantity> {
    let mut quantities = Vec::new();
    for law in ["hooke/viscous", "hooke/history", "hertz/mindlin"] {
        let errors = [12.5, 25.0, 50.0].map(|steps| restitution_error(engine, law, 0.5, steps));
        let order = (errors[0] / errors[2]).log2() / 2.0;
        quantities.push(at_most(
            format!("{law}, e = 0.5, error at t_c/50"),
            2e-3,
            errors[2],
        ));
        quantities.push(at_least(
            format!("{law}, order of the error in the time step"),
            1.0,
            order,
        ));
    }
    quantities
}

/// Balls that hit a floor of their own material with `speed` downwards; each with its own tangential
/// velocity (along x, m/s) and spin (about z, rad/s: a positive one is back spin). The velocities
/// along x, those downwards, and spins afterwards.
fn oblique(
    engine: Engine,
    (name, limit_damping): (&str, Option<bool>),
    ball: &Ball,
    (restitution, friction): (f64, f64),
    launches: &[Launch],
) -> Vec<Launch> {
    let (mut contact, time_step) = law(name, ball, 200.0);
    if let Some(limit) = limit_damping {
        contact["limit_damping"] = json!(limit);
    }
    let distance = 10.0 * ball.radius;
    let bodies: Vec<Value> = launches
        .iter()
        .enumerate()
        .map(|(k, launch)| {
            json!({ "shape": "ball", "angular_velocity": [0, 0, launch.spin],
                    "velocity": [launch.tangential, -launch.normal, 0],
                    "position": [0, ball.radius + 3.3 * launch.normal * time_step,
                                 distance * k as f64] })
        })
        .collect();
    let slowest = launches
        .iter()
        .map(|launch| launch.normal)
        .fold(f64::MAX, f64::min);
    let slower = (ball.speed / slowest).powf(0.2);
    let mut simulation = engine.start(&json!({
        "version": 1, "gravity": [0, 0, 0], "contact": contact, "planes": floor("m"),
        "materials": { "m": ball.material(restitution, friction) },
        "shapes": { "ball": { "sphere": { "radius": ball.radius }, "material": "m" } },
        "bodies": bodies,
    }));
    simulation.step((300.0 * slower) as u64 + 10).unwrap();
    let bodies = simulation.bodies().unwrap();
    let after = bodies.iter().map(|body| Launch {
        tangential: body.velocity.x,
        normal: body.velocity.y,
        spin: body.angular_velocity.z,
    });
    after.collect()
}

/// Motion of a ball before or after it hits the floor.
#[derive(Clone, Copy)]
struct Launch {
    tangential: f64,
    normal: f64,
    spin: f64,
}

pub fn oblique_sliding(engine: Engine) -> Vec<Quantity> {
    let ball = Ball::CHUNG_AND_OOI;
    let (friction, restitution, speed) = (0.092, 0.98, 3.9);
    let rows = [
        (30.0_f64, "0.6845", "615.3"),
        (45.0, "0.8178", "502.35"),
        (60.0, "0.8948", "355.2"),
    ];
    let launches = rows.map(|(angle, ..)| {
        let (sin, cos) = angle.to_radians().sin_cos();
        Launch {
            tangential: speed * sin,
            normal: speed * cos,
            spin: 0.0,
        }
    });
    let after = oblique(
        engine,
        ("hertz/mindlin", None),
        &ball,
        (restitution, friction),
        &launches,
    );
    let mut quantities = Vec::new();
    for ((angle, ratio, spin), (before, after)) in rows.into_iter().zip(launches.iter().zip(after))
    {
        let lost = friction * (1.0 + restitution) * before.normal;
        let expected_ratio = printed(1.0 - lost / before.tangential, ratio);
        let expected_spin = printed(2.5 * lost / ball.radius, spin);
        let got = after.tangential / before.tangential;
        quantities.push(relative(
            format!("{angle}°: tangential restitution"),
            expected_ratio,
            got,
            2e-3,
        ));
        quantities.push(relative(
            format!("{angle}°: spin, rad/s"),
            expected_spin,
            -after.spin,
            2e-3,
        ));
    }
    quantities
}

pub fn oblique_scaled(engine: Engine) -> Vec<Quantity> {
    let ball = Ball {
        radius: 1e-5,
        density: 7850.0,
        young: 208e9,
        poisson: 0.3,
        speed: 5.0,
    };
    let friction = 0.3;
    let angles = [7.0, 9.0, 12.0, 20.0];
    let launches = angles.map(|psi| Launch {
        tangential: psi * friction * ball.speed,
        normal: ball.speed,
        spin: 0.0,
    });
    let after = oblique(
        engine,
        ("hertz/mindlin", None),
        &ball,
        (1.0, friction),
        &launches,
    );
    let mut quantities = Vec::new();
    for (psi, after) in angles.into_iter().zip(after) {
        let slip = after.tangential + ball.radius * after.spin;
        let got_slip = slip / (friction * after.normal);
        let got_spin = ball.radius * after.spin / (friction * ball.speed);
        // The slip that is left is a small difference: the part is of what friction took.
        quantities.push(absolute(
            format!("ψ = {psi}: slip after"),
            psi - 7.0,
            got_slip,
            7e-3,
        ));
        quantities.push(relative(
            format!("ψ = {psi}: spin after"),
            -5.0,
            got_spin,
            1e-3,
        ));
    }
    quantities
}

pub fn spinning_impacts(engine: Engine) -> Vec<Quantity> {
    // Fast enough that friction does not stop the slip: each loses mu (1 + e) v_n against it, e being
    // the rebound over v_n. That is exact where the normal force does not pull: where it does, there
    // is no friction, and the sum of the pushes is larger than (1 + e) m v_n.
    let ball = Ball {
        radius: 0.02,
        density: 2500.0,
        young: 5e7,
        poisson: 0.3,
        speed: 2.0,
    };
    let friction = 0.15;
    let spins = [
        ("top spin", 1.0, -400.0),
        ("back spin", 1.0, 400.0),
        ("spin and nothing else", 0.0, 300.0),
        ("back spin and backwards", -3.0, -200.0),
    ];
    let launches = spins.map(|(_, tangential, spin)| Launch {
        tangential,
        normal: ball.speed,
        spin,
    });
    let laws = [
        ("hooke/viscous", None, 1.0),
        ("hooke/history", Some(true), 0.7),
        ("hertz/mindlin", Some(true), 0.7),
    ];
    let mut quantities = Vec::new();
    for (law, limit_damping, restitution) in laws {
        let after = oblique(
            engine,
            (law, limit_damping),
            &ball,
            (restitution, friction),
            &launches,
        );
        let rebound = clamped_restitution(restitution);
        let lost = friction * (1.0 + rebound) * ball.speed;
        for ((name, ..), (before, after)) in spins.into_iter().zip(launches.iter().zip(after)) {
            let sign = (before.tangential + ball.radius * before.spin).signum();
            let velocity = before.tangential - sign * lost;
            let spin = before.spin - sign * 2.5 * lost / ball.radius;
            quantities.push(relative(
                format!("{law}, {name}: velocity, m/s"),
                velocity,
                after.tangential,
                2e-3,
            ));
            quantities.push(relative(
                format!("{law}, {name}: spin, rad/s"),
                spin,
                after.spin,
                2e-3,
            ));
        }
    }
    quantities
}

pub fn spin_and_velocity(engine: Engine) -> Vec<Quantity> {
    // From sticking over partial slip to sliding.
    let ball = Ball {
        radius: 0.02,
        density: 2500.0,
        young: 5e7,
        poisson: 0.3,
        speed: 2.0,
    };
    let launches = [0.1, 0.5, 1.0, 3.0].map(|tangential| Launch {
        tangential,
        normal: ball.speed,
        spin: 10.0,
    });
    let mut quantities = Vec::new();
    for law in ["hooke/viscous", "hooke/history", "hertz/mindlin"] {
        let after = oblique(engine, (law, None), &ball, (0.8, 0.3), &launches);
        let worst = launches.iter().zip(after).map(|(before, after)| {
            let turned = ball.radius * (after.spin - before.spin);
            let moved = after.tangential - before.tangential;
            (turned / (2.5 * moved) - 1.0).abs()
        });
        quantities.push(at_most(
            format!("{law}: largest of abs(R Δω / (5/2 Δv) - 1)"),
            1e-3,
            worst.fold(0.0, f64::max),
        ));
    }
    quantities
}

/// Elastic balls that stick to the floor, or slide on it, while Mindlin's spring changes its stiffness with the overlap.
pub fn spring_energy(engine: Engine) -> Vec<Quantity> {
    let ball = Ball::CHUNG_AND_OOI;
    let mut quantities = Vec::new();
    for (tangential, most) in [("mindlin", 1.02), ("mindlin-rescale", 1.0)] {
        for friction in [10.0, 0.3] {
            let (mut contact, time_step) = law("hertz/mindlin", &ball, 1000.0);
            contact["tangential"] = json!(tangential);
            let angles = [10.0_f64, 20.0, 30.0, 45.0, 60.0, 75.0].map(f64::to_radians);
            let bodies: Vec<Value> = angles
                .iter()
                .enumerate()
                .map(|(k, angle)| {
                    let velocity = [ball.speed * angle.tan(), -ball.speed, 0.0];
                    let height = ball.radius + 3.3 * ball.speed * time_step;
                    json!({ "shape": "ball", "velocity": velocity,
                            "position": [0, height, 10.0 * ball.radius * k as f64] })
                })
                .collect();
            let mut simulation = engine.start(&json!({
                "version": 1, "gravity": [0, 0, 0], "contact": contact, "planes": floor("m"),
                "materials": { "m": ball.material(1.0, friction) },
                "shapes": { "ball": { "sphere": { "radius": ball.radius }, "material": "m" } },
                "bodies": bodies,
            }));
            let of_each = |simulation: &mut Simulation| -> Vec<f64> {
                let bodies = simulation.bodies().unwrap();
                let twice = bodies.iter().map(|body| {
                    let spin = ball.radius * body.angular_velocity.length();
                    body.velocity.length_squared() + 0.4 * spin * spin
                });
                twice.collect()
            };
            let before = of_each(&mut simulation);
            let start = simulation.energy().unwrap().total();
            // At the deepest, where the springs hold most, and afterwards.
            let mut off: f64 = 0.0;
            for steps in [503, 700] {
                simulation.step(steps).unwrap();
                let energy = simulation.energy().unwrap();
                let missing = start - energy.total() - energy.damping - energy.friction;
                off = off.max((missing / start).abs());
            }
            let after = of_each(&mut simulation);
            let kept = after
                .iter()
                .zip(before)
                .map(|(after, before)| after / before);
            quantities.push(at_most(
                format!("{tangential}, friction {friction}: energy that is in no account, of all"),
                0.01,
                off,
            ));
            quantities.push(at_most(
                format!("{tangential}, friction {friction}: most kinetic energy after over before"),
                most,
                kept.fold(0.0, f64::max),
            ));
        }
    }
    quantities
}

pub fn bounce(engine: Engine) -> Vec<Quantity> {
    let (radius, height, stiffness) = (0.1, 0.5, 5e5);
    let time_step = 1e-4;
    let fall = height - radius;
    let mut quantities = Vec::new();
    for law in ["hooke/viscous", "hooke/history"] {
        let (normal, tangential) = models(law);
        let shape =
            |material: &str| json!({ "sphere": { "radius": radius }, "material": material });
        let material = |e: f64| json!({ "density": 2600, "restitution": e, "friction": 0.5 });
        let mut simulation = engine.start(&json!({
            "version": 1,
            "contact": { "normal": normal, "tangential": tangential, "stiffness": stiffness, "time_step": time_step },
            "materials": { "0.9": material(0.9), "0.5": material(0.5) },
            "pairs": [ { "between": ["0.5", "0.9"], "restitution": 0.5 } ],
            "shapes": { "0.9": shape("0.9"), "0.5": shape("0.5") },
            "planes": floor("0.9"),
            "bodies": [ { "shape": "0.9", "position": [0, height, 0] },
                        { "shape": "0.5", "position": [1, height, 0] } ],
        }));
        let tracks = follow(&mut simulation, 2, 1, 6_000);
        let before = tracks[0]
            .iter()
            .take_while(|moment| moment.contacts == 0)
            .last()
            .unwrap();
        // The rest of the way, from the last moment of free fall.
        let speed = -before.body.velocity.y;
        let gap = before.body.position.y - radius;
        let rest = ((speed * speed + 2.0 * G * gap).sqrt() - speed) / G;
        let time = printed((2.0 * fall / G).sqrt(), "0.285569");
        let impact = printed((2.0 * fall * G).sqrt(), "2.801428");
        quantities.push(relative(
            format!("{law}: impact, s"),
            time,
            before.time + rest,
            1e-3,
        ));
        quantities.push(relative(
            format!("{law}: speed of impact, m/s"),
            impact,
            speed + G * rest,
            1e-3,
        ));
        for (track, (e, apex)) in tracks.iter().zip([(0.9, "0.422483"), (0.5, "0.195739")]) {
            let mass = sphere_mass(2600.0, radius);
            let expected = printed(radius + rise(mass, stiffness, e, impact), apex);
            let touch = track.iter().position(|moment| moment.contacts > 0).unwrap();
            let heights = track[touch..].iter().map(|moment| moment.body.position.y);
            let got = heights.fold(0.0, f64::max);
            quantities.push(relative(
                format!("{law}, e = {e}: first apex, m"),
                expected,
                got,
                1e-3,
            ));
        }
    }
    quantities
}

/// Height that a mass (kg) rises to after it hit a spring (N/m) and its dashpot under gravity with
/// `speed` (m/s): the damped oscillator about its place of rest x_s, in closed form, left where its
/// overlap is zero again.
fn rise(mass: f64, stiffness: f64, restitution: f64, speed: f64) -> f64 {
    let natural = (stiffness / mass).sqrt();
    let decay = damping_ratio(restitution) * natural;
    let frequency = (natural * natural - decay * decay).sqrt();
    let at_rest = G / (natural * natural);
    let (cosine, sine) = (-at_rest, (speed - decay * at_rest) / frequency);
    let overlap = |time: f64| {
        let (sin, cos) = (frequency * time).sin_cos();
        at_rest + (-decay * time).exp() * (cosine * cos + sine * sin)
    };
    let (mut inside, mut outside) = (0.5 * PI / frequency, 1.3 * PI / frequency);
    assert!(overlap(inside) > 0.0 && overlap(outside) < 0.0);
    for _ in 0..60 {
        let middle = 0.5 * (inside + outside);
        if overlap(middle) > 0.0 {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    let (sin, cos) = (frequency * inside).sin_cos();
    let along = (sine * frequency - decay * cosine) * cos;
    let across = (cosine * frequency + decay * sine) * sin;
    let parting = (-decay * inside).exp() * (along - across);
    parting * parting / (2.0 * G)
}

pub fn head_on(engine: Engine) -> Vec<Quantity> {
    // Equal radii, twice the density: m2 = 2 m1.
    let mut quantities = Vec::new();
    for law in ["hooke/viscous", "hooke/history", "hertz/mindlin"] {
        let (normal, tangential) = models(law);
        let mut contact = json!({ "normal": normal, "tangential": tangential, "time_step": 2e-5 });
        if law != "hertz/mindlin" {
            contact["stiffness"] = json!(1e5);
        }
        let mut simulation = engine.start(&json!({
            "version": 1, "gravity": [0, 0, 0], "contact": contact,
            "materials": { "light": elastic(1000.0), "heavy": elastic(2000.0) },
            "shapes": { "light": { "sphere": { "radius": 0.1 }, "material": "light" },
                        "heavy": { "sphere": { "radius": 0.1 }, "material": "heavy" } },
            "bodies": [ { "shape": "light", "position": [-0.101, 0, 0], "velocity": [1, 0, 0] },
                        { "shape": "heavy", "position": [0.1, 0, 0] } ],
        }));
        let start = simulation.summary().unwrap();
        simulation.step(2_500).unwrap();
        let end = simulation.summary().unwrap();
        let bodies = simulation.bodies().unwrap();
        let energy = end.kinetic_energy / start.kinetic_energy;
        let momentum = end.momentum.x / start.momentum.x;
        quantities.extend([
            relative(
                format!("{law}: v1, m/s"),
                -1.0 / 3.0,
                bodies[0].velocity.x,
                1e-4,
            ),
            relative(
                format!("{law}: v2, m/s"),
                2.0 / 3.0,
                bodies[1].velocity.x,
                1e-4,
            ),
            relative(
                format!("{law}: momentum after over before"),
                1.0,
                momentum,
                1e-4,
            ),
            relative(
                format!("{law}: energy after over before"),
                1.0,
                energy,
                1e-4,
            ),
        ]);
    }
    quantities
}

/// Elastic material that is soft enough for contacts of some milliseconds.
fn elastic(density: f64) -> Value {
    json!({ "density": density, "restitution": 1, "friction": 0.3,
            "young_modulus": 1e7, "poisson_ratio": 0.3 })
}

pub fn far_away(engine: Engine) -> Vec<Quantity> {
    let (radius, speed, restitution) = (0.01, 1.0, 0.7);
    let far = 1e4 * radius;
    let places = [DVec3::ZERO, far * DVec3::X, far * DVec3::Y, far * DVec3::Z];
    let axes = ["origin", "x", "y", "z"];
    let mut quantities = Vec::new();
    for law in ["hooke/viscous", "hooke/history", "hertz/mindlin"] {
        let ball = Ball {
            radius,
            density: 2500.0,
            young: 1e7,
            poisson: 0.3,
            speed,
        };
        let (contact, time_step) = self::law(law, &ball, 200.0);
        let way = DVec3::new(1.0, 2.0, -2.0) / 3.0;
        let body = |place: DVec3, side: f64| {
            let position = place + side * (radius + 20.3 * 0.5 * speed * time_step) * way;
            json!({ "shape": "ball", "position": position.to_array(),
                    "velocity": (-0.5 * side * speed * way).to_array() })
        };
        let bodies: Vec<Value> = places
            .iter()
            .flat_map(|&place| [body(place, -1.0), body(place, 1.0)])
            .collect();
        let mut simulation = engine.start(&json!({
            "version": 1, "gravity": [0, 0, 0], "contact": contact,
            "materials": { "m": ball.material(restitution, 0.0) },
            "shapes": { "ball": { "sphere": { "radius": radius }, "material": "m" } },
            "bodies": bodies,
        }));
        let tracks = follow(&mut simulation, 8, 1, 400);
        let outcomes: Vec<(f64, f64)> = tracks
            .chunks(2)
            .map(|pair| {
                let last = |track: &[crate::motion::Moment]| track.last().unwrap().body.velocity;
                let parting = (last(&pair[1]) - last(&pair[0])).dot(way);
                let impact = Impact::of_two(&pair[0], &pair[1], 2.0 * radius);
                (parting / speed, impact.duration)
            })
            .collect();
        for (axis, (parting, duration)) in axes.into_iter().zip(&outcomes) {
            quantities.push(relative(
                format!("{law}, {axis}: restitution"),
                restitution,
                *parting,
                1e-3,
            ));
            if axis != "origin" {
                let ratio = duration / outcomes[0].1;
                quantities.push(relative(
                    format!("{law}, {axis}: contact time over that at the origin"),
                    1.0,
                    ratio,
                    1e-3,
                ));
            }
        }
    }
    quantities
}

pub fn cradle(engine: Engine) -> Vec<Quantity> {
    let (radius, speed, count) = (0.02, 1.0, 5);
    let ball = Ball {
        radius,
        density: 7800.0,
        young: 2e9,
        poisson: 0.3,
        speed,
    };
    let mut quantities = Vec::new();
    for law in ["hooke/viscous", "hooke/history", "hertz/mindlin"] {
        let (contact, time_step) = self::law(law, &ball, 100.0);
        // Gaps in which a ball flies for longer than two contacts, so that they happen one by one.
        let contact_steps = 200.0;
        let gap = contact_steps * time_step * speed;
        let bodies: Vec<Value> = (0..count)
            .map(|k| {
                let velocity = if k == 0 { speed } else { 0.0 };
                json!({ "shape": "ball", "velocity": [velocity, 0, 0],
                        "position": [(2.0 * radius + gap) * f64::from(k), 0, 0] })
            })
            .collect();
        let mut simulation = engine.start(&json!({
            "version": 1, "gravity": [0, 0, 0], "contact": contact,
            "materials": { "m": ball.material(1.0, 0.3) },
            "shapes": { "ball": { "sphere": { "radius": radius }, "material": "m" } },
            "bodies": bodies,
        }));
        simulation.step(4 * 500).unwrap();
        let bodies = simulation.bodies().unwrap();
        let others = bodies[..4]
            .iter()
            .map(|body| body.velocity.length())
            .fold(0.0, f64::max);
        quantities.push(relative(
            format!("{law}: speed of the last ball, m/s"),
            speed,
            bodies[4].velocity.x,
            1e-3,
        ));
        quantities.push(at_most(
            format!("{law}: largest speed of the others, m/s"),
            1e-3,
            others,
        ));
    }
    quantities
}
