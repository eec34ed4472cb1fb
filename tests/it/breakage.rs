//! Bodies that burst under load.

use crate::common::device;
use glam::DVec3;
use rockfall::Simulation;
use rockfall::model::Model;
use rockfall::scene;
use rockfall::simulation::checkpoint::Checkpoint;

/// Two lumps of eight spheres that meet at 4 m/s, a lump twice as large, and one of another shape.
fn scene(rule: &str) -> String {
    format!(
        r#"{{
            "version": 1, "duration": 0.1, "gravity": [0, 0, 0],
            "contact": {{ "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 1e-5 }},
            "materials": {{ "rock": {{ "density": 2500, "restitution": 0.5, "friction": 0.5 }} }},
            "shapes": {{
                "lump": {{ "cube": {{ "n": 2, "radius": 0.01 }}, "material": "rock" }},
                "block": {{ "cube": {{ "n": 2, "radius": 0.01 }}, "material": "rock" }}
            }},
            "bodies": [
                {{ "shape": "lump", "position": [-0.03, 0, 0], "velocity": [2, 0, 0], "angular_velocity": [0, 3, 0] }},
                {{ "shape": "lump", "position": [0.03, 0.004, 0], "velocity": [-2, 0, 0] }},
                {{ "shape": "block", "position": [-0.03, 1, 0], "velocity": [2, 0, 0] }},
                {{ "shape": "block", "position": [0.03, 1, 0], "velocity": [-2, 0, 0] }}
            ],
            "breakage": [{rule}]
        }}"#
    )
}

fn model(rule: &str) -> Model {
    let scene = scene::parse(&scene(rule), "lumps.json".as_ref());
    scene.unwrap_or_else(|error| panic!("{error}")).model
}

fn momenta(simulation: &mut Simulation) -> (f64, DVec3, DVec3) {
    let summary = simulation.summary().unwrap();
    let mass = simulation
        .bodies()
        .unwrap()
        .into_iter()
        .map(|body| body.mass);
    (mass.sum(), summary.momentum, summary.angular_momentum)
}

#[test]
fn a_body_bursts_that_is_hit_too_hard_and_mass_and_momenta_stay() {
    let rule = r#"{ "shape": "lump", "strength": 2e4, "fragments": 3, "speed": 0.2 }"#;
    let mut bits = Vec::new();
    for on_device in [false, true] {
        let model = model(rule);
        let mut simulation = match on_device {
            true => Simulation::on_gpu(model, device()).unwrap(),
            false => Simulation::on_cpu(model, Some(2)).unwrap(),
        };
        let before = momenta(&mut simulation);
        simulation.step(2000).unwrap();
        let after = momenta(&mut simulation);
        assert!((after.0 / before.0 - 1.0).abs() < 1e-9);
        let scale = 0.02 * 2.0 * before.0;
        assert!(
            (after.1 - before.1).length() < 1e-3 * before.0,
            "{after:?} {before:?}"
        );
        assert!(
            (after.2 - before.2).length() < 1e-2 * scale,
            "{after:?} {before:?}"
        );
        // Both lumps, and no block.
        assert_eq!(simulation.body_count(), 2 + 2 * 3);
        let broken = simulation.traffic().broken[0];
        assert_eq!(broken.bodies, 2);
        bits.push(broken.mass);
    }
    assert_eq!(bits[0], bits[1]);
}

#[test]
fn a_body_bursts_into_the_fragments_that_it_is_given() {
    let given = |fragments: &str| {
        format!(r#"{{ "shape": "lump", "strength": 2e4, "fragments": {fragments} }}"#)
    };
    let model = model(&given("[[7], [0, 2, 4, 6], [1, 3, 5]]"));
    let whole = model.shapes[0].mass;
    let mut simulation = Simulation::on_cpu(model, Some(2)).unwrap();
    simulation.step(2000).unwrap();
    let bodies = simulation.bodies().unwrap();
    let mut eighths: Vec<i64> = bodies
        .iter()
        .map(|body| (8.0 * body.mass / whole).round() as i64)
        .collect();
    eighths.sort_unstable();
    assert_eq!(eighths, [1, 1, 3, 3, 4, 4, 8, 8]);
    for (fragments, expected) in [
        (
            "[[0, 1, 2, 3, 4, 5, 6, 7]]",
            "fragments: found 1, expected 2 to 8",
        ),
        (
            "[[0, 1, 2, 3], [4, 5, 6, 8]]",
            "fragments[1][3]: found the sphere 8, expected 0 to 7",
        ),
        (
            "[[0, 1, 2, 3], [4, 5, 6, 3]]",
            "fragments[1][3]: found the sphere 3 again",
        ),
        (
            "[[0, 1, 2, 3], [4, 5, 6]]",
            "fragments: found no fragment with the sphere 7",
        ),
        (
            "[[0, 1, 2, 3], [4, 5, 6, 7], []]",
            "fragments[2]: found a fragment without spheres",
        ),
        (
            "\"many\"",
            "expected a number of fragments, or lists of their spheres",
        ),
    ] {
        let error = scene::parse(&scene(&given(fragments)), "lumps.json".as_ref()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// The blow lasts 200 steps, and is over long before the host looks: what the force was counts, also after a checkpoint.
#[test]
fn a_peak_of_force_between_two_looks_bursts_a_body() {
    let rule = r#"{ "shape": "lump", "strength": 2e4, "fragments": 3 }"#;
    let text = scene(rule).replace(
        r#""breakage""#,
        r#""look_every": { "steps": 1500 }, "breakage""#,
    );
    let model = || {
        scene::parse(&text, "lumps.json".as_ref())
            .unwrap_or_else(|error| panic!("{error}"))
            .model
    };
    for on_device in [false, true] {
        let fresh = || match on_device {
            true => Simulation::on_gpu(model(), device()).unwrap(),
            false => Simulation::on_cpu(model(), Some(2)).unwrap(),
        };
        let mut first = fresh();
        first.step(1000).unwrap();
        assert_eq!(first.traffic().peaks.len(), 2);
        let mut second = fresh();
        Checkpoint::decode(first.checkpoint().unwrap(), "lumps".as_ref())
            .unwrap()
            .restore(&mut second)
            .unwrap();
        second.step(501).unwrap();
        assert_eq!(second.body_count(), 2 + 2 * 3);
        assert!(second.traffic().peaks.is_empty());
    }
}

#[test]
fn a_body_stays_whole_that_is_strong_enough() {
    for rule in [
        r#"{ "shape": "lump", "strength": 1e9, "fragments": 3 }"#,
        r#"{ "shape": "lump", "specific_energy": 1e3, "fragments": 3 }"#,
    ] {
        let mut simulation = Simulation::on_cpu(model(rule), Some(1)).unwrap();
        simulation.step(2000).unwrap();
        assert_eq!(simulation.body_count(), 4, "{rule}");
    }
    // What a blow dissipates is less than the kinetic energy, 2 J/kg.
    let rule = r#"{ "shape": "lump", "specific_energy": 0.2, "fragments": 8 }"#;
    let mut simulation = Simulation::on_cpu(model(rule), Some(1)).unwrap();
    simulation.step(2000).unwrap();
    assert_eq!(simulation.body_count(), 2 + 2 * 8);
}

#[test]
fn larger_bodies_are_weaker() {
    let fill = r#"{ "shape": "lump", "strength": 1e6, "weibull_modulus": 3, "reference_diameter": 0.04, "fragments": 2 }"#;
    let text = scene(fill).replace(
        r#""breakage""#,
        r#""fills": [{ "count": 2, "shapes": { "lump": 1 }, "region": { "min": [1, 1, 1], "max": [2, 2, 2] },
            "sizes": { "uniform": { "min": 1.9999, "max": 2 } } }], "breakage""#,
    );
    let model = scene::parse(&text, "lumps.json".as_ref())
        .unwrap_or_else(|error| panic!("{error}"))
        .model;
    let force = |size: f64| {
        // Eight spheres of radius 0.01 have the volume of one of diameter 0.04.
        1e6 * (0.04 * size).powi(2) / size
    };
    let mut found: Vec<f64> = model
        .breakage
        .iter()
        .filter_map(|rule| rule.force)
        .collect();
    found.sort_by(f64::total_cmp);
    assert!((found[0] / force(1.0) - 1.0).abs() < 1e-9, "{found:?}");
    let largest = found.last().unwrap();
    assert!((largest / force(2.0) - 1.0).abs() < 1e-3, "{found:?}");
}
