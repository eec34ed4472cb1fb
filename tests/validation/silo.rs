//! Spheres in silos.

use std::f64::consts::PI;

use glam::DVec3;
use rockfall::Simulation;
use rockfall::model::handle::MaterialHandle;
use rockfall::model::wall::{Shape, Side, Wall};
use rockfall::model::{Model, ModelBody};
use serde_json::{Value, json};

use crate::common::{Random, model};
use crate::motion::line;
use crate::table::{Engine, Quantity, absolute, at_least, at_most, relative};
use crate::theory::{G, linear_duration, sphere_mass};

const DENSITY: f64 = 2500.0;
const RESTITUTION: f64 = 0.3;

/// A contact of balls by the normal model `hooke` and a contact history, in steps of a twentieth of the time that it lasts.
pub fn hooke(radius: f64, stiffness: f64, material: &Value) -> Value {
    let mass = sphere_mass(material["density"].as_f64().unwrap(), radius);
    let time_step = linear_duration(stiffness, 0.5 * mass, RESTITUTION) / 20.0;
    json!({ "normal": "hooke", "tangential": "history", "stiffness": stiffness, "time_step": time_step })
}

/// A model of balls, without any yet. Its materials: 0 of the balls, 1 of the base.
pub fn balls(radius: f64, contact: &Value, material: &Value) -> Model {
    let mut model = model(
        &json!({
            "version": 1,
            "contact": contact,
            "materials": { "ball": material, "base": material },
            "shapes": { "ball": { "sphere": { "radius": radius }, "material": "ball" } },
            "bodies": [{ "shape": "ball", "position": [0, 0, 0] }],
        })
        .to_string(),
    );
    model.bodies.clear();
    model
}

pub fn material(density: f64, friction: f64) -> Value {
    json!({ "density": density, "restitution": RESTITUTION, "friction": friction })
}

pub fn ball(position: DVec3, fixed: bool) -> ModelBody {
    ModelBody {
        position,
        fixed,
        ..ModelBody::default()
    }
}

pub fn plane(point: DVec3, normal: DVec3) -> Wall {
    Wall::plane(point, normal, 0)
}

/// `count` balls in layers of a square lattice above the height `bottom`, one a little wider than
/// they are, where `inside` holds for (x, z); each strays a little and moves a little.
pub fn layers(
    count: usize,
    radius: f64,
    bottom: f64,
    half: f64,
    inside: impl Fn(f64, f64) -> bool,
) -> Vec<ModelBody> {
    let spacing = 2.06 * radius;
    let per_row = ((2.0 * (half - radius)) / spacing) as i32;
    let mut random = Random::new(5);
    let mut bodies = Vec::new();
    for layer in 0.. {
        for i in 0..=per_row {
            for j in 0..=per_row {
                let [x, z] = [i, j].map(|k| spacing * (f64::from(k) - 0.5 * f64::from(per_row)));
                if inside(x, z) {
                    let y = bottom + radius + spacing * (f64::from(layer) + 0.5);
                    let mut body = ball(DVec3::new(x, y, z) + random.vector(0.02 * radius), false);
                    body.velocity = random.vector(0.3);
                    bodies.push(body);
                    if bodies.len() == count {
                        return bodies;
                    }
                }
            }
        }
    }
    unreachable!()
}

/// Janssen: the force on the base of a silo, which sinks a little under it so that the walls bear
/// what they can, for one fill. Returns the weight of the fill and that force, N.
fn base_force(engine: Engine, height: f64) -> (f64, f64) {
    let (diameter, radius, stiffness) = (0.1, 0.003, 2e3);
    let material = material(DENSITY, 0.5);
    let mut model = balls(radius, &hooke(radius, stiffness, &material), &material);
    model.walls = vec![Wall::plane(DVec3::ZERO, DVec3::Y, 1)];
    model.walls.push(Wall {
        name: "silo".to_owned(),
        shape: Shape::Cone {
            bottom: 0.5 * diameter,
            top: 0.5 * diameter,
            height: f64::INFINITY,
            closed: false,
        },
        side: Side::Back,
        ..Wall::plane(DVec3::ZERO, DVec3::Y, 0)
    });
    let volume = 0.25 * PI * diameter * diameter * height * diameter;
    let count = (0.6 * volume / (4.0 / 3.0 * PI * radius.powi(3))) as usize;
    let room = 0.5 * diameter - 1.05 * radius;
    model.bodies = layers(count, radius, 0.0, 0.5 * diameter, |x, z| x.hypot(z) < room).into();
    let weight = count as f64 * sphere_mass(DENSITY, radius) * G;

    let time_step = model.time_step;
    let steps = |time: f64| (time / time_step) as u64;
    let mut fill = Engine::Cpu.start_model(model);
    fill.step(steps(0.35 + 0.08 * height)).unwrap();
    let mut simulation = engine.go_on(&mut fill);
    // In the end, a ball of the lowest layer sinks by some tenths of its diameter.
    for _ in 0..12 {
        let mut law = simulation.model().pairs[1];
        law.wall_stiffness *= 0.7;
        law.damping_ratio = 1.0;
        simulation
            .set_pair(
                MaterialHandle::from_index(0),
                MaterialHandle::from_index(1),
                law,
            )
            .unwrap();
        simulation.step(steps(0.01)).unwrap();
    }
    simulation.step(steps(0.1)).unwrap();
    let mean = |simulation: &mut Simulation| {
        let forces = (0..20).map(|_| {
            simulation.step(50).unwrap();
            -simulation.network().unwrap().force_on_wall(0).y
        });
        forces.sum::<f64>() / 20.0
    };
    let force = mean(&mut simulation);
    (weight, force)
}

/// Part of the variance of (x, y) that a model explains.
fn explained(points: &[(f64, f64)], model: impl Fn(f64) -> f64) -> f64 {
    let mean = points.iter().map(|p| p.1).sum::<f64>() / points.len() as f64;
    let left: f64 = points.iter().map(|p| (p.1 - model(p.0)).powi(2)).sum();
    let spread: f64 = points.iter().map(|p| (p.1 - mean).powi(2)).sum();
    1.0 - left / spread
}

pub fn janssen(engine: Engine) -> Vec<Quantity> {
    let points = [0.4, 0.8, 1.6, 4.8].map(|height| base_force(engine, height));
    // One parameter, the weight at which the base saturates, by least squares.
    let fit = |saturated: f64| move |weight: f64| saturated * (1.0 - (-weight / saturated).exp());
    let largest = points[points.len() - 1].0;
    let candidates = (1..2_000).map(|k| largest * f64::from(k) / 1_000.0);
    let (saturated, quality) = candidates
        .map(|saturated| (saturated, explained(&points, fit(saturated))))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap();
    let (weight, force) = points[points.len() - 1];
    vec![
        at_least(
            "R² of F = W_sat (1 - exp(-W/W_sat)) over 4 fills",
            0.98,
            quality,
        ),
        at_most(
            "force on the base over the weight, highest fill",
            0.5,
            force / weight,
        ),
        relative("that force over W_sat", 1.0, force / saturated, 0.1),
    ]
}

/// Diameter of a ball that flows out of a silo, m.
pub const GRAIN: f64 = 0.01;

/// Side of that silo, m.
const SILO: f64 = 30.0 * GRAIN;

/// A contact of the balls that flow out of a silo.
pub fn grain_contact() -> Value {
    hooke(0.5 * GRAIN, 2.5e3, &material(DENSITY, 0.5))
}

fn hopper(count: usize, contact: &Value) -> Model {
    let radius = 0.5 * GRAIN;
    let mut model = balls(radius, contact, &material(DENSITY, 0.5));
    for normal in [DVec3::X, DVec3::NEG_X, DVec3::Z, DVec3::NEG_Z] {
        model.walls.push(plane(-0.5 * SILO * normal, normal));
    }
    model.walls.push(plane(DVec3::ZERO, DVec3::Y));
    model.bodies = layers(count, radius, 0.0, 0.5 * SILO, |_, _| true).into();
    model
}

/// A floor with a hole of the given diameter in its middle.
fn floor(hole: f64) -> Wall {
    Wall {
        name: "floor".to_owned(),
        shape: Shape::Disc {
            radius: SILO,
            hole: 0.5 * hole,
        },
        side: Side::Front,
        ..Wall::plane(DVec3::ZERO, DVec3::Y, 0)
    }
}

/// Balls that leave a bed through a hole in its floor, per second.
fn flow(engine: Engine, bed: &Model, hole: f64) -> f64 {
    let mut model = bed.clone();
    let catch = model.walls.last_mut().unwrap();
    catch.pose.position.y = -12.0 * GRAIN;
    model.walls.push(floor(hole));
    let time_step = model.time_step;
    let mut simulation = engine.start_model(model);
    let every = (0.02 / time_step) as u64;
    let mut points = Vec::new();
    for _ in 0..20 {
        simulation.step(every).unwrap();
        let bodies = simulation.bodies().unwrap();
        let below = bodies
            .iter()
            .filter(|body| body.position.y < -GRAIN)
            .count();
        points.push((simulation.time(), below as f64));
    }
    // The first tenths of a second, the flow gathers.
    line(&points[9..]).1
}

/// A silo whose bed has come to rest.
fn settled(count: usize, contact: &Value) -> Model {
    let mut model = hopper(count, contact);
    let time_step = model.time_step;
    let mut simulation = Engine::Cpu.start_model(model.clone());
    simulation.step((0.5 / time_step) as u64).unwrap();
    for (body, now) in model.bodies.iter_mut().zip(simulation.bodies().unwrap()) {
        body.position = now.position;
        body.velocity = now.velocity;
    }
    model
}

/// Balls that leave a silo through a hole of ten diameters, per second.
pub fn discharge(engine: Engine, contact: &Value) -> f64 {
    flow(engine, &settled(12_000, contact), 10.0 * GRAIN)
}

pub fn beverloo(engine: Engine) -> Vec<Quantity> {
    let model = settled(20_500, &grain_contact());
    let top = model
        .bodies
        .iter()
        .map(|body| body.position.y)
        .fold(0.0, f64::max);
    let within = |from: f64, to: f64| {
        let inside = |body: &&ModelBody| (from * top..to * top).contains(&body.position.y);
        model.bodies.iter().filter(inside).count()
    };
    let mass = sphere_mass(DENSITY, 0.5 * GRAIN);
    let density = within(0.2, 0.7) as f64 * mass / (0.5 * top * SILO * SILO);

    let holes = [8.0, 10.0, 12.0].map(|hole| hole * GRAIN);
    let flows = holes.map(|hole| mass * flow(engine, &model, hole));
    let mut low = model.clone();
    low.bodies.retain(|body| body.position.y < 0.6 * top);
    let low = mass * flow(engine, &low, holes[1]);

    // W = C rho sqrt(g) (D - k d)^(5/2), so W^(2/5) is a straight line.
    let points: Vec<_> = holes
        .iter()
        .zip(flows)
        .map(|(hole, flow)| (*hole, flow.powf(0.4)))
        .collect();
    let (offset, slope) = line(&points);
    let coefficient = slope.powf(2.5) / (density * G.sqrt());
    vec![
        at_least(
            "R² of W^(2/5) over D",
            0.98,
            explained(&points, |hole| offset + slope * hole),
        ),
        relative("C", 0.6, coefficient, 0.15),
        absolute("k", 1.5, -offset / slope / GRAIN, 0.5),
        relative(
            "flow from a fill of 0.6 of the height",
            1.0,
            low / flows[1],
            0.15,
        ),
    ]
}
