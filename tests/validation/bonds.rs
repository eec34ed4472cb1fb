//! Bonds: beams, strengths, and the energy of what breaks.

use std::f64::consts::PI;

use glam::DVec3;
use rockfall::Simulation;
use serde_json::{Value, json};

use crate::motion::{crossings, follow};
use crate::table::{Engine, Quantity, relative};

const RADIUS: f64 = 0.01;
const DENSITY: f64 = 1000.0;
const MODULUS: f64 = 1e7;
/// From centre to centre: so far that the spheres never touch.
const SPACING: f64 = 0.0205;

/// A scene without gravity of balls of one size, which are bonded.
fn scene(bodies: Vec<Value>, bonds: Value, more: Value) -> Value {
    let mut scene = json!({
        "version": 1,
        "gravity": [0, 0, 0],
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4, "time_step": 2e-5 },
        "materials": { "glass": { "density": DENSITY, "restitution": 0.5, "friction": 0.3 } },
        "shapes": { "ball": { "sphere": { "radius": RADIUS }, "material": "glass" } },
        "bodies": bodies,
        "bonds": [bonds],
    });
    let own = scene.as_object_mut().unwrap();
    own.extend(more.as_object().unwrap().clone());
    scene
}

fn bonds(more: Value) -> Value {
    let mut bonds = json!({
        "between": ["glass", "glass"], "gap": 0.1 * RADIUS, "young_modulus": MODULUS
    });
    let own = bonds.as_object_mut().unwrap();
    own.extend(more.as_object().unwrap().clone());
    bonds
}

fn area() -> f64 {
    PI * RADIUS * RADIUS
}

fn mass() -> f64 {
    4.0 / 3.0 * PI * RADIUS.powi(3) * DENSITY
}

/// Free balls of the cantilever.
const BALLS: usize = 20;

/// A row of balls, the first of which is fixed, with a force on the last from the start on: it swings about where it would
/// be at rest. Euler and Bernoulli's beam is as deflected, F L³/3EI, and swings with the angular frequency
/// 1.8751² sqrt(EI/(m/l)) / L² (Landau and Lifshitz, Theory of elasticity, section 25). The masses of the balls reach from half
/// a spacing before their centres to half a spacing behind them, so L is that long for the frequency.
pub fn cantilever(engine: Engine) -> Vec<Quantity> {
    let rigidity = MODULUS * 0.25 * PI * RADIUS.powi(4);
    let length = BALLS as f64 * SPACING;
    let wanted = 0.005 * length;
    let force = 3.0 * rigidity * wanted / length.powi(3);
    let bodies = (0..=BALLS).map(|k| {
        json!({
            "shape": "ball", "position": [k as f64 * SPACING, 0, 0], "fixed": k == 0, "name": format!("ball {k}")
        })
    });
    let more = json!({
        "forces": [{ "body": format!("ball {BALLS}"), "force": [0, -force, 0] }],
        // It swings once in ten thousand of these.
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4, "time_step": 5e-5 }
    });
    let scene = scene(bodies.collect(), bonds(json!({})), more);
    let mut simulation = engine.start(&scene);
    let step = simulation.model().time_step;

    let whole = (BALLS as f64 + 0.5) * SPACING;
    let frequency = 1.875_104_f64.powi(2) * (rigidity / (mass() / SPACING)).sqrt() / whole.powi(2);
    let period = 2.0 * PI / frequency;
    let steps = (1.3 * period / step) as u64;
    let tracks = follow(&mut simulation, BALLS + 1, steps / 1000, steps);
    let heights = tracks[BALLS].iter().map(|moment| {
        // About the mean, which the next crossings show.
        (moment.time, moment.body.position.y + wanted)
    });
    let series: Vec<(f64, f64)> = heights.collect();
    let ends = crossings(&series);
    assert!(ends.len() >= 2, "{ends:?}");
    // A push starts the swing at its turning point: it crosses the mean after a quarter and after three quarters of a period.
    let swing = 2.0 * (ends[1] - ends[0]);
    let within: Vec<f64> = series
        .iter()
        .filter(|(time, _)| *time <= swing)
        .map(|(_, height)| wanted - height)
        .collect();
    let mean = within.iter().sum::<f64>() / within.len() as f64;
    let energy = simulation.energy().unwrap();
    vec![
        relative("deflection, mm", 1e3 * wanted, 1e3 * mean, 0.02),
        relative("period, s", period, swing, 0.02),
        // All that the force has done is there.
        relative("energy over work", 1.0, energy.total() / energy.work, 0.01),
    ]
}

/// By which part of `loads` (force and torque on some bodies) the first bond breaks, as they grow so slowly that all follows.
fn strength(engine: Engine, scene: &Value, loads: &[(usize, DVec3, DVec3)], seconds: f64) -> f64 {
    const PARTS: u32 = 200;
    let mut simulation = engine.start(scene);
    let handles: Vec<_> = simulation.handles().collect();
    let steps = simulation.model().steps_for(seconds);
    for part in 1..=PARTS {
        // Fast at first, and slowly from 0.9 on.
        let along = 2.0 * f64::from(part) / f64::from(PARTS);
        let part = if along < 1.0 {
            0.9 * along
        } else {
            0.9 + 0.2 * (along - 1.0)
        };
        for &(body, force, torque) in loads {
            simulation
                .set_applied_force(handles[body], part * force, part * torque)
                .unwrap();
        }
        simulation.step((steps / u64::from(PARTS)).max(1)).unwrap();
        if simulation.state().unwrap().count_bonds()[1] > 0 {
            return part;
        }
    }
    panic!("nothing breaks");
}

/// Time in which a ball on one bond swings once, s.
fn swing() -> f64 {
    2.0 * PI * (mass() * SPACING / (MODULUS * area())).sqrt()
}

/// Beam theory, as Potyondy and Cundall (2004) have it: the stress at the edge is F/A + M r/I, and Q/A + T r/J. The force
/// of shear has the arm of half a bond at the middle, where it bends, too: that has no strength here.
pub fn pair(engine: Engine) -> Vec<Quantity> {
    let stress = 1e4;
    let section = 0.25 * PI * RADIUS.powi(3);
    let row = |strength: &str, force: DVec3, torque: DVec3| {
        let bodies = vec![
            json!({ "shape": "ball", "position": [0, 0, 0], "fixed": true }),
            json!({ "shape": "ball", "position": [SPACING, 0, 0] }),
        ];
        let mut own = bonds(json!({ "damping": 0.2 }));
        own[strength] = json!(stress);
        let scene = scene(bodies, own, json!({}));
        self::strength(engine, &scene, &[(1, force, torque)], 200.0 * swing())
    };
    let (tension, shear) = ("tensile_strength", "shear_strength");
    let (force, moment) = (stress * area(), stress * section);
    let none = DVec3::ZERO;
    [
        ("tension", row(tension, force * DVec3::X, none)),
        ("bending", row(tension, none, moment * DVec3::Y)),
        ("shear", row(shear, force * DVec3::Y, none)),
        ("twisting", row(shear, none, 2.0 * moment * DVec3::X)),
    ]
    .map(|(what, got)| {
        relative(
            format!("{what} that breaks it, of the formula's"),
            1.0,
            got,
            0.01,
        )
    })
    .into()
}

/// Columns of balls in a round cylinder, bonded upwards and sideways, each pulled at its top: all have the same load, and their
/// strengths add up.
pub fn cylinder(engine: Engine) -> Vec<Quantity> {
    let stress = 1e4;
    let (across, layers) = (5_i32, 5_i32);
    let middle = 0.5 * f64::from(across - 1);
    let (mut bodies, mut loads) = (Vec::new(), Vec::new());
    let each = stress * area();
    for x in 0..across {
        for z in 0..across {
            let away = f64::from(x) - middle;
            if away.hypot(f64::from(z) - middle) > 0.5 * f64::from(across) {
                continue;
            }
            for y in 0..layers {
                let place = [x, y, z].map(|k| f64::from(k) * SPACING);
                bodies.push(json!({ "shape": "ball", "position": place, "fixed": y == 0 }));
            }
            loads.push((bodies.len() - 1, each * DVec3::Y, DVec3::ZERO));
        }
    }
    let strong = bonds(json!({ "tensile_strength": stress, "damping": 0.1 }));
    let scene = scene(bodies, strong, json!({}));
    let got = strength(engine, &scene, &loads, 200.0 * swing());
    let whole = each * loads.len() as f64;
    vec![relative(
        format!("pull that breaks {} columns, N", loads.len()),
        whole,
        whole * got,
        0.01,
    )]
}

/// A cube of 125 bonded balls that flies against a wall and breaks: what is left and what was taken is what there was.
pub fn broken_lump(engine: Engine) -> Vec<Quantity> {
    let strong = bonds(json!({
        "tensile_strength": 1.5e5, "shear_strength": 1.5e5, "weibull_modulus": 4, "damping": 0.02
    }));
    let more = json!({
        "planes": [{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "glass" }],
        "fills": [{
            "count": 125, "shapes": { "ball": 1 }, "placement": "grid", "spacing": SPACING, "jitter": 0,
            "region": { "min": [0, 0.012, 0], "max": [5.0 * SPACING, 0.012 + 5.0 * SPACING, 5.0 * SPACING] },
            "velocity": [1, -5, 0]
        }],
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5 }
    });
    let mut scene = scene(Vec::new(), strong, more);
    scene.as_object_mut().unwrap().remove("bodies");
    let mut simulation = engine.start(&scene);
    let start = simulation.energy().unwrap();
    simulation.run_until(0.05).unwrap();
    let end = simulation.energy().unwrap();
    let [count, broken] = simulation.state().unwrap().count_bonds();
    assert!(broken > count / 10 && broken < count, "{broken} of {count}");
    let held: f64 = broken_energies(&mut simulation).iter().sum();
    assert!(held > 0.0 && held < end.bonds);
    let parts = [end.bonds, end.damping, end.friction].map(|part| part / start.total());
    assert!(parts.iter().all(|part| *part > 0.003), "{parts:?}");
    vec![relative(
        "energy left and taken, of that at the start",
        1.0,
        end.balance() / start.balance(),
        0.01,
    )]
}

fn broken_energies(simulation: &mut Simulation) -> Vec<f64> {
    let bonds = simulation.bonds().unwrap();
    bonds.filter_map(|bond| Some(bond.broken?.energy)).collect()
}
