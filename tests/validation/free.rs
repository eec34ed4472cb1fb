//! Bodies that nothing touches.

use std::f64::consts::{PI, TAU};

use glam::DVec3;
use serde_json::{Value, json};

use crate::motion::{crossings, follow};
use crate::table::{Engine, Quantity, at_least, at_most, printed, relative};
use crate::theory::{G, integral};

pub fn projectile(engine: Engine) -> Vec<Quantity> {
    let time = 1.0;
    let mut quantities = Vec::new();
    for (integrator, sign) in [("semi-implicit", -1.0), ("explicit", 1.0)] {
        let errors = [1e-3, 5e-4].map(|time_step: f64| {
            let mut simulation = engine.start(&json!({
                "version": 1, "integrator": integrator,
                "contact": { "normal": "hooke", "tangential": "viscous", "stiffness": 1e3, "time_step": time_step },
                "materials": { "m": { "density": 1000, "restitution": 0.5, "friction": 0.5 } },
                "shapes": { "ball": { "sphere": { "radius": 0.5 }, "material": "m" } },
                "bodies": [ { "shape": "ball", "position": [1, 2, 3], "velocity": [3, 4, 0] } ],
            }));
            simulation.step((time / time_step).round() as u64).unwrap();
            let position = simulation.bodies().unwrap()[0].position;
            let exact = DVec3::new(
                1.0 + 3.0 * time,
                2.0 + 4.0 * time - 0.5 * G * time * time,
                3.0,
            );
            assert!((position.x - exact.x).abs() < 1e-5 && (position.z - exact.z).abs() < 1e-6);
            position.y - exact.y
        });
        // First order: the sum of v h differs from the integral by g t h / 2.
        let expected = printed(
            1e3 * sign * 0.5 * G * time * 1e-3,
            if sign < 0.0 { "-4.905" } else { "4.905" },
        );
        quantities.extend([
            relative(
                format!("{integrator}: error of the height at dt = 1e-3 s, mm"),
                expected,
                1e3 * errors[0],
                // Velocities are 32-bit floats; what their sum rounds adds 0.013 mm.
                5e-3,
            ),
            relative(
                format!("{integrator}: the same over that at dt/2"),
                2.0,
                errors[0] / errors[1],
                1e-2,
            ),
        ]);
    }
    quantities
}

/// A free body with given principal moments of inertia, spinning.
fn top(inertia: [f64; 3], spin: [f64; 3], time_step: f64) -> Value {
    json!({
        "version": 1, "gravity": [0, 0, 0],
        "contact": { "normal": "hooke", "tangential": "viscous", "stiffness": 1e3, "time_step": time_step },
        "materials": { "m": { "density": 1000, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "top": { "sphere": { "radius": 0.1 }, "material": "m",
                             "mass_properties": { "mass": 1, "inertia": inertia } } },
        "bodies": [ { "shape": "top", "angular_velocity": spin } ],
    })
}

pub fn asymmetric_body(engine: Engine) -> Vec<Quantity> {
    // Dzhanibekov: the spin about the middle axis turns over again and again.
    let (inertia, spin) = ([1.0, 2.0, 3.0], [0.01, 1.0, 0.01]);
    let (first, period) = middle_axis_turns(inertia, spin);
    let (first, period) = (printed(first, "10.91691"), printed(period, "19.55287"));
    let mut simulation = engine.start(&top(inertia, spin, 4e-3));
    let start = simulation.summary().unwrap();
    let track = &follow(&mut simulation, 1, 4, 8_000)[0];
    let spins: Vec<(f64, f64)> = track
        .iter()
        .map(|moment| {
            let spin = moment.body.orientation.conjugate() * moment.body.angular_velocity;
            (moment.time, spin.y)
        })
        .collect();
    let turns = crossings(&spins);
    let end = simulation.summary().unwrap();
    let momentum = (end.angular_momentum - start.angular_momentum).length();
    vec![
        relative("first ω2 = 0, s", first, turns[0], 5e-3),
        relative("until the next, s", period, turns[1] - turns[0], 5e-3),
        relative(
            "energy after over before",
            1.0,
            end.kinetic_energy / start.kinetic_energy,
            1e-4,
        ),
        at_most(
            "change of angular momentum, part",
            0.0,
            momentum / start.angular_momentum.length(),
        ),
    ]
}

/// Time at which the spin about the middle axis is first zero, and the time between its zeros: with Jacobi's
/// elliptic functions, for moments that increase, spins above zero, and L² > 2 E I2 (Landau and
/// Lifshitz, Mechanics, section 37).
fn middle_axis_turns([i1, i2, i3]: [f64; 3], [w1, w2, w3]: [f64; 3]) -> (f64, f64) {
    let energy = i1 * w1 * w1 + i2 * w2 * w2 + i3 * w3 * w3;
    let square = (i1 * w1).powi(2) + (i2 * w2).powi(2) + (i3 * w3).powi(2);
    assert!(square > energy * i2);
    let rate = ((i3 - i2) * (square - energy * i1) / (i1 * i2 * i3)).sqrt();
    let amplitude = ((energy * i3 - square) / (i2 * (i3 - i2))).sqrt();
    let modulus = (i2 - i1) * (energy * i3 - square) / ((i3 - i2) * (square - energy * i1));
    let first_kind = |angle: f64| {
        integral(
            |phi| (1.0 - modulus * phi.sin().powi(2)).sqrt().recip(),
            0.0,
            angle,
        )
    };
    // The spin about the middle axis grows first.
    let quarter = first_kind(0.5 * PI);
    let start = first_kind((w2 / amplitude).asin());
    ((2.0 * quarter - start) / rate, 2.0 * quarter / rate)
}

pub fn tumbling_converges(engine: Engine) -> Vec<Quantity> {
    // Energy is what the midpoint rule does not keep exactly.
    let drifts = [0.08, 0.04].map(|time_step: f64| {
        let mut simulation = engine.start(&top([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], time_step));
        let start = simulation.summary().unwrap().kinetic_energy;
        simulation.step((20.0 / time_step) as u64).unwrap();
        (simulation.summary().unwrap().kinetic_energy / start - 1.0).abs()
    });
    vec![at_least(
        "order of the drift of energy in the time step",
        1.8,
        (drifts[0] / drifts[1]).log2(),
    )]
}

pub fn symmetric_top(engine: Engine) -> Vec<Quantity> {
    let (transverse, axial) = (1.0, 2.0);
    let (across, along): (f64, f64) = (0.3, 1.0);
    let momentum = (transverse * across).hypot(axial * along);
    let rate = printed(momentum / transverse, "2.022375");
    let nutation = (transverse * across).atan2(axial * along).to_degrees();
    let nutation = printed(nutation, "8.53077");

    let scene = top([transverse, transverse, axial], [across, 0.0, along], 1e-3);
    let mut simulation = engine.start(&scene);
    let momentum = simulation.summary().unwrap().angular_momentum.normalize();
    let side = momentum.any_orthonormal_vector();
    let other = momentum.cross(side);
    let track = &follow(&mut simulation, 1, 10, 5_000)[0];
    let axes: Vec<(f64, DVec3)> = track
        .iter()
        .map(|moment| (moment.time, moment.body.orientation * DVec3::Z))
        .collect();
    let angle = |axis: DVec3| axis.dot(other).atan2(axis.dot(side));
    let turned: f64 = axes
        .windows(2)
        .map(|pair| {
            let step = angle(pair[1].1) - angle(pair[0].1);
            step - (step / TAU).round() * TAU
        })
        .sum();
    let time = axes.last().unwrap().0 - axes[0].0;
    let tilt = |&(_, axis): &(f64, DVec3)| axis.dot(momentum).clamp(-1.0, 1.0).acos().to_degrees();
    let farthest = axes
        .iter()
        .map(tilt)
        .max_by(|a, b| (a - nutation).abs().total_cmp(&(b - nutation).abs()));
    vec![
        relative("turn about L, rad/s", rate, turned.abs() / time, 1e-3),
        relative(
            "nutation that is farthest off, °",
            nutation,
            farthest.unwrap(),
            1e-3,
        ),
    ]
}

pub fn union_of_two(engine: Engine) -> Vec<Quantity> {
    // Two spheres of radius R whose centres are R apart: twice a sphere without a cap of height R/2.
    // Each moment is that of a body that spins about that axis, over its speed.
    let body = |spin: [f64; 3], x: f64| json!({ "shape": "pair", "position": [x, 0, 0], "angular_velocity": spin });
    let mut simulation = engine.start(&json!({
        "version": 1, "gravity": [0, 0, 0],
        "contact": { "normal": "hooke", "tangential": "viscous", "stiffness": 1e3, "time_step": 1e-3 },
        "materials": { "m": { "density": 1, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "pair": { "material": "m", "mass_properties": "union",
            "spheres": [ { "center": [0, 0, 0], "radius": 1 }, { "center": [1, 0, 0], "radius": 1 } ] } },
        "bodies": [ body([1.0, 0.0, 0.0], 0.0), body([0.0, 1.0, 0.0], 10.0), body([0.0, 0.0, 1.0], 20.0) ],
    }));
    // A slice at x from the middle is a disc; each half is 1.5 long.
    let square = |x: f64| 1.0 - (x - 0.5) * (x - 0.5);
    let axial = 2.0 * integral(|x| 0.5 * PI * square(x).powi(2), 0.0, 1.5);
    let across = 2.0 * integral(|x| PI * square(x) * (0.25 * square(x) + x * x), 0.0, 1.5);
    let (axial, across) = (printed(axial, "3.00414797"), printed(across, "5.21308031"));

    let mass = simulation.bodies().unwrap()[0].mass;
    simulation.step(1).unwrap();
    let momentum: Vec<f64> = simulation
        .state()
        .unwrap()
        .bodies
        .iter()
        .map(|body| body.angular_momentum.as_dvec3().length())
        .collect();
    vec![
        relative("volume, m³", 2.25 * PI, mass, 1e-3),
        relative("moment about the axis, kg m²", axial, momentum[0], 1e-3),
        relative("moment across, about y, kg m²", across, momentum[1], 1e-3),
        relative("moment across, about z, kg m²", across, momentum[2], 1e-3),
    ]
}
