//! Physics for which there is no number to reproduce (for those see `tests/validation/`), on both
//! engines.

use crate::common::{on_both, own};
use rockfall::scene;

#[test]
fn an_oblique_collision_keeps_both_momenta() {
    let text = r#"{ "version": 1, "gravity": [0, 0, 0], "duration": 1.0,
        "contact": { "normal": "hooke", "tangential": "viscous", "stiffness": 1e5, "time_step": 2e-5 },
        "materials": { "m": { "density": 1000, "restitution": 0.6, "friction": 0.4 } },
        "shapes": { "ball": { "sphere": { "radius": 0.1 }, "material": "m" },
                    "rod": { "rod": { "n": 4, "radius": 0.05 }, "material": "m" } },
        "bodies": [ { "shape": "ball", "position": [-0.32, 0.07, 0.02], "velocity": [1, 0, 0],
                      "angular_velocity": [3, -2, 5] },
                    { "shape": "rod", "position": [0, 0, 0], "angular_velocity": [0, 4, 1] } ] }"#;
    on_both(text, |mut simulation, engine| {
        let start = simulation.summary().unwrap();
        simulation.step(10_000).unwrap();
        let end = simulation.summary().unwrap();
        assert!(end.max_overlap_fraction > 0.001, "{engine}: they touch");
        let moved = (end.momentum - start.momentum).length() / start.momentum.length();
        assert!(moved < 1e-5, "{engine}: momentum changes by {moved}");
        let turned = (end.angular_momentum - start.angular_momentum).length();
        let turned = turned / start.angular_momentum.length();
        assert!(
            turned < 1e-5,
            "{engine}: angular momentum changes by {turned}"
        );
        assert!(
            end.kinetic_energy < start.kinetic_energy,
            "{engine}: energy is lost"
        );
    });
}

#[test]
fn a_pile_of_clumps_comes_to_rest() {
    let text = r#"{ "version": 1, "duration": 1.0,
        "contact": { "normal": "hooke", "tangential": "viscous", "stiffness": 1e6, "time_step": 2e-4 },
        "materials": { "m": { "density": 2500, "restitution": 0.3, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.09 }, "material": "m" },
                    "rod": { "rod": { "n": 3, "radius": 0.06 }, "material": "m" },
                    "tetrahedron": { "tetrahedron": { "n": 2, "radius": 0.06 }, "material": "m" },
                    "block": { "cube": { "n": 2, "radius": 0.05 }, "material": "m" } },
        "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "m" },
                    { "point": [-0.75, 0, 0], "normal": [1, 0, 0], "material": "m" },
                    { "point": [0.75, 0, 0], "normal": [-1, 0, 0], "material": "m" },
                    { "point": [0, 0, -0.75], "normal": [0, 0, 1], "material": "m" },
                    { "point": [0, 0, 0.75], "normal": [0, 0, -1], "material": "m" } ],
        "fills": [ { "count": 250, "shapes": { "ball": 1, "rod": 1, "tetrahedron": 1, "block": 1 },
                     "placement": "random", "seed": 2,
                     "region": { "min": [-0.7, 0.05, -0.7], "max": [0.7, 2, 0.7] } } ] }"#;
    on_both(text, |mut simulation, engine| {
        let radius = 0.05;
        let mut energies = Vec::new();
        for _ in 0..16 {
            simulation.step(500).unwrap();
            energies.push(simulation.summary().unwrap().kinetic_energy);
        }
        let most = energies.iter().copied().fold(0.0, f64::max);
        assert!(energies[15] < 2e-3 * most, "{engine}: {energies:?}");
        // Without static friction a clump tips over now and then, so the mean is what falls.
        let mean = |range: std::ops::Range<usize>| energies[range].iter().sum::<f64>();
        assert!(mean(12..16) < 0.8 * mean(8..12), "{engine}: {energies:?}");
        let state = simulation.state().unwrap();
        let cell_size = f64::from(state.params.cell_size.y);
        let mut below = 0;
        for sphere in &state.spheres {
            let height = f64::from(sphere.cell.y) * cell_size + f64::from(sphere.offset.y);
            assert!(height.is_finite());
            below += u32::from(height < f64::from(sphere.radius) - 0.1 * radius);
        }
        assert_eq!(below, 0, "{engine}: spheres through the floor");
        assert!(
            simulation.summary().unwrap().contacts > 500,
            "{engine}: it is a pile"
        );
    });
}

#[test]
fn a_scene_file_and_its_text_are_one() {
    let path = &own("scenes/bounce.json");
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(
        scene::load(path).unwrap().model,
        scene::parse(&text, path).unwrap().model
    );
}
