//! Spheres pressed together from all sides.

use std::f64::consts::PI;

use glam::DVec3;
use rockfall::model::{Domain, Model, ModelBody};
use rockfall::{Network, Simulation};
use serde_json::json;

use crate::common::{Random, model};
use crate::motion::line;
use crate::table::{Engine, Quantity, absolute};
use crate::theory::sphere_mass;

const COUNT: usize = 10_000;
const RADIUS: f64 = 0.5;

/// Volume fractions of the packings, from the densest on.
const FRACTIONS: [f64; 5] = [0.66, 0.654, 0.65, 0.647, 0.645];

fn side(fraction: f64) -> f64 {
    (COUNT as f64 * 4.0 / 3.0 * PI * RADIUS.powi(3) / fraction).cbrt()
}

/// Frictionless spheres of mass 1 and stiffness 1, anywhere in a periodic cube.
fn scattered() -> Model {
    let density = 1.0 / sphere_mass(1.0, RADIUS);
    let mut model = model(
        &json!({
            "version": 1, "gravity": [0, 0, 0],
            "contact": { "normal": "hooke", "tangential": "viscous", "stiffness": 1, "time_step": 0.1 },
            "materials": { "m": { "density": density, "restitution": 0.3, "friction": 0 } },
            "shapes": { "ball": { "sphere": { "radius": RADIUS }, "material": "m" } },
            "bodies": [{ "shape": "ball", "position": [0, 0, 0] }],
        })
        .to_string(),
    );
    let half = 0.5 * side(FRACTIONS[0]);
    let mut random = Random::new(1);
    model.bodies = (0..COUNT)
        .map(|_| ModelBody {
            position: random.vector(half),
            ..ModelBody::default()
        })
        .collect();
    model.domain = Some(Domain {
        min: DVec3::splat(-half),
        max: DVec3::splat(half),
        periodic: [true; 3],
    });
    model
}

/// The packing at another volume fraction: all lengths but the radii scaled.
fn rescaled(simulation: &mut Simulation, fraction: f64) -> Model {
    let mut model = simulation.model().clone();
    let domain = model.domain.as_mut().unwrap();
    let scale = side(fraction) / domain.period().x;
    domain.min *= scale;
    domain.max *= scale;
    for (body, now) in model.bodies.iter_mut().zip(simulation.bodies().unwrap()) {
        body.position = now.position * scale;
    }
    model
}

/// Lets the springs come to rest. Dashpots hardly see the slow modes of a packing, so there is a drag,
/// too: every so often, a part of the velocity is taken away.
fn rest(simulation: &mut Simulation, times: u32) {
    for _ in 0..times {
        simulation.step(20).unwrap();
        let steps = simulation.steps();
        let mut state = simulation.state().unwrap().clone();
        for body in &mut state.bodies {
            body.velocity *= 0.95;
        }
        simulation.restore(&state, steps).unwrap();
    }
}

/// Pressure in units of stiffness over diameter: a third of the trace of the stress, the sum over
/// contacts of force times distance of the centres, over the volume.
fn pressure(network: &Network, volume: f64) -> f64 {
    let virials = network.contacts.iter().map(|contact| {
        let distance = 2.0 * RADIUS - contact.overlap;
        contact.force.length() * distance
    });
    virials.sum::<f64>() / (3.0 * volume)
}

pub fn isotropic(engine: Engine) -> Vec<Quantity> {
    let mut simulation = Engine::Cpu.start_model(scattered());
    let (mut pressures, mut numbers) = (Vec::new(), Vec::new());
    for fraction in FRACTIONS {
        if fraction != FRACTIONS[0] {
            let model = rescaled(&mut simulation, fraction);
            simulation = Engine::Cpu.start_model(model);
        }
        rest(&mut simulation, 250);
        let mut packing = engine.go_on(&mut simulation);
        rest(&mut packing, 40);
        let network = packing.network().unwrap();
        let (number, _) = network.coordination_without_rattlers();
        let p = pressure(&network, side(fraction).powi(3));
        pressures.push((p, fraction));
        numbers.push(number);
    }
    // Pressure rises as φ - φ_J, contacts as 6 + the root of that.
    let (jammed, _) = line(&pressures[1..]);
    let points: Vec<_> = FRACTIONS
        .iter()
        .zip(numbers)
        .map(|(fraction, number)| ((fraction - jammed).sqrt(), number))
        .collect();
    let (number, _) = line(&points);
    vec![
        absolute(
            "volume fraction at which pressure vanishes",
            0.639,
            jammed,
            0.005,
        ),
        absolute(
            "coordination number there, without rattlers",
            6.0,
            number,
            0.1,
        ),
    ]
}
