//! Heaps that are left when a wall is taken away.

use glam::DVec3;
use rockfall::model::Domain;
use serde_json::Value;

use crate::motion::line;
use crate::silo::{ball, balls, hooke, layers, material, plane};
use crate::table::{Engine, Quantity, absolute, at_least};

const GRAIN: f64 = 0.01;
/// Length and height of the column at first, in diameters; and its width, across which the slot is
/// periodic.
const LENGTH: f64 = 25.0;
const WIDTH: f64 = 9.0;

/// The angle (degrees) of the slope on a rough ground that is left of a column of 5,500 balls when
/// the wall before it is taken away.
pub fn repose(engine: Engine, contact: &Value, material: &Value, gravity: f64) -> f64 {
    let radius = 0.5 * GRAIN;
    let mut model = balls(radius, contact, material);
    model.gravity = gravity * DVec3::NEG_Y;
    model.domain = Some(Domain {
        min: DVec3::new(0.0, 0.0, -0.5 * WIDTH * GRAIN),
        max: DVec3::new(1.0, 1.0, 0.5 * WIDTH * GRAIN),
        periodic: [false, false, true],
    });
    model.walls = vec![
        plane(DVec3::ZERO, DVec3::Y),
        plane(DVec3::ZERO, DVec3::X),
        plane(DVec3::X * LENGTH * GRAIN, DVec3::NEG_X),
    ];
    let middle = 0.5 * LENGTH * GRAIN;
    let fits = |_, z: f64| z.abs() < 0.5 * WIDTH * GRAIN - radius;
    model.bodies = layers(5_500, radius, 2.0 * radius, middle, fits).into();
    for body in &mut model.bodies {
        body.position.x += middle;
    }
    for i in 0..100 {
        for j in 0..WIDTH as i32 {
            let x = GRAIN * (f64::from(i) + 0.5);
            let z = GRAIN * (f64::from(j) + 0.5 - 0.5 * WIDTH);
            model.bodies.push(ball(DVec3::new(x, 0.0, z), true));
        }
    }
    let slow = (9.81 / gravity).sqrt();
    let time_step = model.time_step;
    let steps = |time: f64| (slow * time / time_step) as u64;
    let mut simulation = engine.start_model(model.clone());
    simulation.step(steps(0.45)).unwrap();
    for (body, now) in model.bodies.iter_mut().zip(simulation.bodies().unwrap()) {
        body.position = now.position;
        body.velocity = now.velocity;
        body.angular_velocity = now.angular_velocity;
    }
    model.walls.pop();
    let mut simulation = engine.start_model(model);
    simulation.step(steps(1.0)).unwrap();

    // The surface: the mean of the highest three balls in slices of two diameters.
    let mut slices: Vec<Vec<f64>> = vec![Vec::new(); 50];
    for body in simulation.bodies().unwrap() {
        let slice = (body.position.x / (2.0 * GRAIN)) as usize;
        if let Some(slice) = slices.get_mut(slice)
            && !body.fixed
        {
            slice.push(body.position.y);
        }
    }
    let mut surface = Vec::new();
    for (k, slice) in slices.iter_mut().enumerate() {
        slice.sort_by(|a, b| b.total_cmp(a));
        if let [a, b, c, ..] = slice[..] {
            surface.push(((2.0 * k as f64 + 1.0) * GRAIN, (a + b + c) / 3.0));
        }
    }
    let top = surface.iter().map(|p| p.1).fold(0.0, f64::max);
    let slope: Vec<_> = surface
        .iter()
        .copied()
        .filter(|p| p.1 > 0.15 * top && p.1 < 0.9 * top)
        .collect();
    (-line(&slope).1).atan().to_degrees()
}

/// The contact of these balls by the normal model `hooke` and a contact history.
pub fn stiff(material: &Value) -> Value {
    hooke(0.5 * GRAIN, 5e3, material)
}

pub fn angle_of_repose(engine: Engine) -> Vec<Quantity> {
    let g = 9.81;
    let repose =
        |material: &Value, gravity: f64| repose(engine, &stiff(material), material, gravity);
    let slick = repose(&material(2500.0, 0.2), g);
    let rough = repose(&material(2500.0, 0.5), g);
    let mut rolling = material(2500.0, 0.5);
    rolling["rolling_friction"] = 0.2.into();
    rolling["rolling"] = "spring".into();
    let rolling = repose(&rolling, g);
    let heavy = repose(&material(10_000.0, 0.5), g);
    let pressed = repose(&material(2500.0, 0.5), 4.0 * g);
    vec![
        at_least("μ 0.5 against 0.2: degrees more", 1.5, rough - slick),
        at_least(
            "rolling friction 0.2 against none: degrees more",
            3.0,
            rolling - rough,
        ),
        absolute("4 times the density: degrees more", 0.0, heavy - rough, 2.0),
        absolute(
            "4 times the gravity: degrees more",
            0.0,
            pressed - rough,
            2.0,
        ),
    ]
}
