//! Perfectly elastic collisions, on both engines.

use std::collections::HashSet;

use crate::common::on_both;
use rockfall::simulation::network::Partner;
use serde_json::json;

/// A gas of balls of three sizes in a box; the material would dissipate.
fn gas(more: serde_json::Value) -> String {
    let mut scene = json!({
        "version": 1, "gravity": [0, 0, 0],
        "contact": { "normal": "hooke", "tangential": "viscous", "elastic": true, "stiffness": 1e5 },
        "materials": { "lead": { "density": 2000, "restitution": 0.3, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "lead" },
                    "pea": { "sphere": { "radius": 0.035 }, "material": "lead" },
                    "apple": { "sphere": { "radius": 0.07 }, "material": "lead" } },
        "domain": { "min": [-0.6, -0.6, -0.6], "max": [0.6, 0.6, 0.6], "periodic": [true, true, true] },
        "fills": [ { "count": 500, "shapes": { "ball": 1, "pea": 1, "apple": 1 }, "placement": "random",
                     "seed": 3, "region": { "min": [-0.6, -0.6, -0.6], "max": [0.6, 0.6, 0.6] },
                     "velocity": { "min": [-1, -1, -1], "max": [1, 1, 1] } } ],
    });
    for (key, value) in more.as_object().unwrap() {
        scene[key] = value.clone();
    }
    scene.to_string()
}

#[test]
fn energy_and_momentum_last_for_ten_thousand_collisions() {
    on_both(&gas(json!({})), |mut simulation, engine| {
        let (first, start) = (simulation.summary().unwrap(), simulation.energy().unwrap());
        let mut collisions = 0;
        let mut touching = HashSet::new();
        // A software adapter takes minutes for as many as the CPU engine.
        let wanted = if engine == "gpu" { 2000 } else { 10_000 };
        while collisions < wanted {
            // A collision takes 50 steps or more.
            simulation.step(40).unwrap();
            let contacts = simulation.network().unwrap().contacts;
            let now: HashSet<(u32, u32)> = contacts
                .iter()
                .filter(|contact| contact.overlap > 0.0)
                .filter_map(|contact| match contact.partner {
                    Partner::Sphere { sphere, .. } => Some((contact.sphere, sphere)),
                    Partner::Wall(_) => None,
                })
                .collect();
            collisions += now.difference(&touching).count();
            touching = now;
            assert!(
                simulation.steps() < 100_000,
                "{engine}: {collisions} collisions"
            );
        }
        let (last, end) = (simulation.summary().unwrap(), simulation.energy().unwrap());
        let change = (end.total() / start.total() - 1.0).abs();
        assert!(
            change < 1e-4,
            "{engine}: {change} of the energy after {collisions} collisions"
        );
        assert_eq!((end.damping, end.friction), (0.0, 0.0), "{engine}");
        let mass: f64 = {
            let model = simulation.model();
            model
                .bodies
                .iter()
                .map(|body| model.shapes[body.shape].mass)
                .sum()
        };
        let change = (last.momentum - first.momentum).length() / mass;
        assert!(change < 1e-4, "{engine}: {change} m/s of momentum");
    });
}

#[test]
fn what_dissipates_is_dissipated_without_the_mode() {
    let text =
        gas(json!({ "contact": { "normal": "hooke", "tangential": "viscous", "stiffness": 1e5 } }));
    on_both(&text, |mut simulation, engine| {
        let start = simulation.energy().unwrap();
        simulation.step(2_000).unwrap();
        let end = simulation.energy().unwrap();
        assert!(end.total() < 0.9 * start.total(), "{engine}");
    });
}
