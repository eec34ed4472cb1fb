//! Numbers that the physics must reproduce, each on both engines.

mod common;

use common::{on_both, simulate, trace_of};
use glam::DVec3;
use rockfall::{Simulation, scene};

fn close(got: f64, expected: f64, tolerance: f64, what: &str) {
    let error = (got - expected).abs() / expected.abs();
    assert!(
        error <= tolerance,
        "{what}: got {got}, expected {expected}, off by {error:.2e}"
    );
}

/// Sphere of diameter 0.2 m and density 2600 kg/m³ that falls from 0.5 m on a floor at 0, with a
/// stiffness of 5e5 N/m.
fn bounce(restitution: f64, time_step: f64) -> String {
    format!(
        r#"{{ "version": 1, "duration": 1.0,
             "contact": {{ "law": "linear", "stiffness": 5e5, "time_step": {time_step} }},
             "materials": {{ "m": {{ "density": 2600, "restitution": {restitution}, "friction": 0.5 }} }},
             "shapes": {{ "ball": {{ "sphere": {{ "radius": 0.1 }}, "material": "m" }} }},
             "planes": [ {{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "m" }} ],
             "bodies": [ {{ "shape": "ball", "position": [0, 0.5, 0] }} ] }}"#
    )
}

#[test]
fn a_ball_bounces_as_the_damped_oscillator_says() {
    // The time of impact is where the free fall crosses 0.1 m, interpolated between steps.
    for (restitution, apex) in [(0.9, 0.422483), (0.5, 0.195739)] {
        on_both(&bounce(restitution, 5e-5), |mut simulation, engine| {
            let samples = trace_of(&mut simulation, &[0], 2, 13_000);
            let touch = samples.iter().position(|s| s.load.contacts > 0).unwrap();
            let before = simulation.report(0, &samples[touch - 1].state);
            let time = samples[touch - 1].step as f64 * 5e-5;
            let fall = -before.velocity.y;
            // From the last sample in free fall: h = v t + g t²/2 to the floor.
            let height = before.position.y - 0.1;
            let rest = (fall - (fall * fall + 2.0 * 9.81 * height).sqrt()) / -9.81;
            close(
                time + rest,
                0.285569,
                1e-3,
                &format!("{engine}: time of impact"),
            );
            close(
                fall + 9.81 * rest,
                2.801428,
                1e-3,
                &format!("{engine}: speed of impact"),
            );
            let height = |s: &rockfall::trace::Sample| simulation.report(0, &s.state).position.y;
            let top = samples[touch..].iter().map(height).fold(0.0, f64::max);
            close(
                top,
                apex,
                1e-3,
                &format!("{engine}: apex, e = {restitution}"),
            );
        });
    }
}

/// Restitution of a ball that hits a wall without gravity, for `steps_per_contact` steps in the
/// time of a contact; the root mean square of its error over places in a step at which they meet.
fn restitution_error(restitution: f64, steps_per_contact: f64) -> f64 {
    let mass = 1000.0 * 4.0 / 3.0 * std::f64::consts::PI * 0.1_f64.powi(3);
    let ratio = -restitution.ln() / std::f64::consts::PI.hypot(restitution.ln());
    let rate = (1e5 / mass).sqrt() * (1.0 - ratio * ratio).sqrt();
    let time_step = std::f64::consts::PI / rate / steps_per_contact;
    let errors = (0..8).map(|place| {
        let gap = 2.0 * time_step * (3.0 + f64::from(place) / 8.0);
        let text = format!(
            r#"{{ "version": 1, "gravity": [0, 0, 0], "duration": 1.0,
                 "contact": {{ "law": "linear", "stiffness": 1e5, "time_step": {time_step} }},
                 "materials": {{ "m": {{ "density": 1000, "restitution": {restitution}, "friction": 0 }} }},
                 "shapes": {{ "ball": {{ "sphere": {{ "radius": 0.1 }}, "material": "m" }} }},
                 "planes": [ {{ "point": [0, 0, 0], "normal": [1, 0, 0], "material": "m" }} ],
                 "bodies": [ {{ "shape": "ball", "position": [{}, 0, 0], "velocity": [-2, 0, 0] }} ] }}"#,
            0.1 + gap
        );
        let mut simulation = simulate(&text);
        simulation.step((1.5 * steps_per_contact) as u64 + 10).unwrap();
        simulation.bodies().unwrap()[0].velocity.x / 2.0 - restitution
    });
    (errors.map(|error| error * error).sum::<f64>() / 8.0).sqrt()
}

#[test]
fn restitution_is_exact_at_the_default_time_step_and_converges_at_second_order() {
    for restitution in [0.2, 0.5, 0.8, 0.95] {
        let errors = [12.0, 25.0, 50.0].map(|steps| restitution_error(restitution, steps));
        assert!(errors[2] < 5e-4, "e = {restitution}: {errors:?}");
        assert!(errors[2] < errors[0] / 6.0, "e = {restitution}: {errors:?}");
    }
}

#[test]
fn elastic_head_on_collision() {
    // Equal radii, twice the density: m2 = 2 m1.
    let text = r#"{ "version": 1, "gravity": [0, 0, 0], "duration": 1.0,
        "contact": { "law": "linear", "stiffness": 1e5, "time_step": 2e-5 },
        "materials": { "light": { "density": 1000, "restitution": 1, "friction": 0.3 },
                       "heavy": { "density": 2000, "restitution": 1, "friction": 0.3 } },
        "shapes": { "a": { "sphere": { "radius": 0.1 }, "material": "light" },
                    "b": { "sphere": { "radius": 0.1 }, "material": "heavy" } },
        "bodies": [ { "shape": "a", "position": [-0.15, 0, 0], "velocity": [1, 0, 0] },
                    { "shape": "b", "position": [0.1, 0, 0] } ] }"#;
    on_both(text, |mut simulation, engine| {
        let start = simulation.summary().unwrap();
        simulation.step(10_000).unwrap();
        let end = simulation.summary().unwrap();
        let bodies = simulation.bodies().unwrap();
        close(
            bodies[0].velocity.x,
            -1.0 / 3.0,
            1e-4,
            &format!("{engine}: v1"),
        );
        close(
            bodies[1].velocity.x,
            2.0 / 3.0,
            1e-4,
            &format!("{engine}: v2"),
        );
        close(
            end.momentum.x,
            start.momentum.x,
            1e-5,
            &format!("{engine}: momentum"),
        );
        close(
            end.kinetic_energy,
            start.kinetic_energy,
            1e-4,
            &format!("{engine}: energy"),
        );
    });
}

#[test]
fn an_oblique_collision_keeps_both_momenta() {
    let text = r#"{ "version": 1, "gravity": [0, 0, 0], "duration": 1.0,
        "contact": { "law": "linear", "stiffness": 1e5, "time_step": 2e-5 },
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

/// A ball thrown without anything to hit.
fn projectile(integrator: &str, time_step: f64) -> String {
    format!(
        r#"{{ "version": 1, "duration": 1.0, "integrator": "{integrator}",
             "contact": {{ "law": "linear", "stiffness": 1e3, "time_step": {time_step} }},
             "materials": {{ "m": {{ "density": 1000, "restitution": 0.5, "friction": 0.5 }} }},
             "shapes": {{ "ball": {{ "sphere": {{ "radius": 0.5 }}, "material": "m" }} }},
             "bodies": [ {{ "shape": "ball", "position": [1, 2, 3], "velocity": [3, 4, 0] }} ] }}"#
    )
}

#[test]
fn a_projectile_is_off_by_what_the_integrator_is_off() {
    for (integrator, sign) in [("semi-implicit", -1.0), ("explicit", 1.0)] {
        for (time_step, error) in [(1e-3, 4.905e-3), (5e-4, 2.4525e-3)] {
            on_both(
                &projectile(integrator, time_step),
                |mut simulation, engine| {
                    simulation.step((1.0 / time_step).round() as u64).unwrap();
                    let position = simulation.bodies().unwrap()[0].position;
                    let exact = DVec3::new(4.0, 2.0 + 4.0 - 0.5 * 9.81, 3.0);
                    let what = format!("{engine}, {integrator}, dt {time_step}");
                    close(position.y - exact.y, sign * error, 1e-2, &what);
                    assert!((position.x - exact.x).abs() < 1e-4, "{what}: {position}");
                },
            );
        }
    }
}

/// A free body with given principal moments of inertia, spinning.
fn top(inertia: [f64; 3], spin: [f64; 3], time_step: f64) -> String {
    format!(
        r#"{{ "version": 1, "gravity": [0, 0, 0], "duration": 30.0,
             "contact": {{ "law": "linear", "stiffness": 1e3, "time_step": {time_step} }},
             "materials": {{ "m": {{ "density": 1000, "restitution": 0.5, "friction": 0.5 }} }},
             "shapes": {{ "top": {{ "sphere": {{ "radius": 0.1 }}, "material": "m",
                          "mass_properties": {{ "mass": 1, "inertia": {inertia:?} }} }} }},
             "bodies": [ {{ "shape": "top", "position": [0, 0, 0], "angular_velocity": {spin:?} }} ] }}"#
    )
}

#[test]
fn an_asymmetric_body_tumbles_at_the_times_of_the_elliptic_functions() {
    // Dzhanibekov: the spin about the middle axis turns over again and again.
    on_both(
        &top([1.0, 2.0, 3.0], [0.01, 1.0, 0.01], 4e-3),
        |mut simulation, engine| {
            let start = simulation.summary().unwrap();
            let samples = trace_of(&mut simulation, &[0], 2, 16_000);
            let middle: Vec<(f64, f64)> = samples
                .iter()
                .map(|sample| {
                    let body = simulation.report(0, &sample.state);
                    let spin = body.orientation.conjugate() * body.angular_velocity;
                    (sample.step as f64 * 4e-3, spin.y)
                })
                .collect();
            let crossings: Vec<f64> = middle
                .windows(2)
                .filter(|pair| pair[0].1 * pair[1].1 < 0.0)
                .map(|pair| {
                    let (t0, w0) = pair[0];
                    let (t1, w1) = pair[1];
                    t0 + (t1 - t0) * w0 / (w0 - w1)
                })
                .collect();
            close(
                crossings[0],
                10.91691,
                5e-3,
                &format!("{engine}: first crossing"),
            );
            for pair in crossings.windows(2) {
                close(
                    pair[1] - pair[0],
                    19.55287,
                    5e-3,
                    &format!("{engine}: time between crossings"),
                );
            }
            assert_eq!(crossings.len(), 3, "{engine}");
            let end = simulation.summary().unwrap();
            close(
                end.kinetic_energy,
                start.kinetic_energy,
                1e-4,
                &format!("{engine}: energy"),
            );
            assert_eq!(
                end.angular_momentum, start.angular_momentum,
                "{engine}: kept exactly"
            );
        },
    );
}

#[test]
fn the_tumbling_converges_at_second_order() {
    // Energy is what the midpoint rule does not keep exactly.
    let drift = |time_step: f64| {
        let mut simulation = simulate(&top([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], time_step));
        let start = simulation.summary().unwrap().kinetic_energy;
        simulation.step((20.0 / time_step) as u64).unwrap();
        (simulation.summary().unwrap().kinetic_energy / start - 1.0).abs()
    };
    let drifts = [0.08, 0.04].map(drift);
    assert!(drifts[1] < drifts[0] / 3.5, "{drifts:?}");
}

#[test]
fn a_symmetric_top_precesses() {
    on_both(
        &top([1.0, 1.0, 2.0], [0.3, 0.0, 1.0], 1e-3),
        |mut simulation, engine| {
            let momentum = simulation.summary().unwrap().angular_momentum.normalize();
            let side = momentum.any_orthonormal_vector();
            let other = momentum.cross(side);
            let samples = trace_of(&mut simulation, &[0], 10, 10_000);
            let (mut turned, mut last) = (0.0, None);
            for sample in &samples {
                let axis = simulation.report(0, &sample.state).orientation * DVec3::Z;
                let nutation = axis.dot(momentum).clamp(-1.0, 1.0).acos().to_degrees();
                close(nutation, 8.53077, 1e-3, &format!("{engine}: nutation"));
                let angle = axis.dot(other).atan2(axis.dot(side));
                if let Some(last) = last {
                    let step: f64 = angle - last;
                    turned += step - (step / std::f64::consts::TAU).round() * std::f64::consts::TAU;
                }
                last = Some(angle);
            }
            let time = (samples.len() - 1) as f64 * 10.0 * 1e-3;
            close(
                turned.abs() / time,
                2.022375,
                1e-3,
                &format!("{engine}: precession"),
            );
        },
    );
}

#[test]
fn a_clump_of_one_sphere_is_a_sphere() {
    // The clump's sphere lies off its origin, and the body is placed and turned to match.
    let shape = |definition: &str, body: &str| {
        format!(
            r#"{{ "version": 1, "duration": 1.0,
                 "contact": {{ "law": "linear", "stiffness": 1e5, "time_step": 1e-4 }},
                 "materials": {{ "m": {{ "density": 1000, "restitution": 0.6, "friction": 0.4 }} }},
                 "shapes": {{ "s": {{ {definition}, "material": "m" }} }},
                 "planes": [ {{ "point": [0, 0, 0], "normal": [0.1, 1, 0], "material": "m" }} ],
                 "bodies": [ {{ "shape": "s", {body}, "velocity": [1, 0, 0],
                               "angular_velocity": [0, 2, 1] }} ] }}"#
        )
    };
    let sphere = shape(
        r#""sphere": { "radius": 0.1 }"#,
        r#""position": [0, 0.5, 0]"#,
    );
    let quarter = std::f64::consts::FRAC_PI_2;
    let clump = shape(
        r#""spheres": [ { "center": [0.3, 0, 0], "radius": 0.1 } ]"#,
        &format!(r#""position": [0, 0.2, 0], "axis": [0, 0, 1], "angle": {quarter}"#),
    );
    let end = |text: &str| {
        let mut simulation = simulate(text);
        simulation.step(20_000).unwrap();
        simulation.bodies().unwrap().remove(0)
    };
    let (sphere, clump) = (end(&sphere), end(&clump));
    let apart = (sphere.position - clump.position).length();
    assert!(apart < 1e-4, "{} and {}", sphere.position, clump.position);
    assert!((sphere.velocity - clump.velocity).length() < 1e-4);
    assert!((sphere.angular_velocity - clump.angular_velocity).length() < 1e-3);
    // The shape's origin is still where the turned shape has it.
    close(
        (clump.origin - clump.position).length(),
        0.3,
        1e-6,
        "origin",
    );
}

#[test]
fn a_stack_at_rest_overlaps_by_the_weight_above() {
    let count = 5;
    let mass = 1000.0 * 4.0 / 3.0 * std::f64::consts::PI * 0.1_f64.powi(3);
    let (stiffness, weight) = (1e5, mass * 9.81);
    let bodies: Vec<String> = (0..count)
        .map(|k| {
            format!(
                r#"{{ "shape": "ball", "position": [0, {}, 0] }}"#,
                0.1 + 0.2 * k as f64
            )
        })
        .collect();
    let text = format!(
        r#"{{ "version": 1, "duration": 1.0,
             "contact": {{ "law": "linear", "stiffness": {stiffness}, "time_step": 2e-4 }},
             "materials": {{ "m": {{ "density": 1000, "restitution": 0.1, "friction": 0.4 }} }},
             "shapes": {{ "ball": {{ "sphere": {{ "radius": 0.1 }}, "material": "m" }} }},
             "planes": [ {{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "m" }} ],
             "bodies": [ {} ] }}"#,
        bodies.join(", ")
    );
    on_both(&text, |mut simulation, engine| {
        simulation.step(15_000).unwrap();
        let mut below = -0.1;
        for (k, body) in simulation.bodies().unwrap().iter().enumerate() {
            let overlap = 0.2 - (body.position.y - below);
            let expected = (count - k) as f64 * weight / stiffness;
            close(
                overlap,
                expected,
                1e-3,
                &format!("{engine}: overlap under {k}"),
            );
            below = body.position.y;
        }
        close(
            contact_force(&mut simulation).y,
            count as f64 * weight,
            1e-3,
            engine,
        );
    });
}

/// Sum of all contact forces on bodies: those between bodies cancel, those of planes remain.
fn contact_force(simulation: &mut Simulation) -> DVec3 {
    simulation
        .state()
        .unwrap()
        .body_loads
        .iter()
        .map(|load| load.force.as_dvec3())
        .sum()
}

#[test]
fn the_floor_and_walls_carry_the_weight_of_a_settled_bed() {
    let text = r#"{ "version": 1, "duration": 1.0,
        "contact": { "law": "linear", "stiffness": 2e4 },
        "materials": { "m": { "density": 2500, "restitution": 0.2, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "m" } },
        "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "m" },
                    { "point": [-0.4, 0, 0], "normal": [1, 0, 0], "material": "m" },
                    { "point": [0.4, 0, 0], "normal": [-1, 0, 0], "material": "m" },
                    { "point": [0, 0, -0.4], "normal": [0, 0, 1], "material": "m" },
                    { "point": [0, 0, 0.4], "normal": [0, 0, -1], "material": "m" } ],
        "fills": [ { "count": 300, "shapes": { "ball": 1 }, "placement": "grid",
                     "region": { "min": [-0.39, 0.01, -0.39], "max": [0.39, 1.2, 0.39] },
                     "velocity": { "min": [-0.3, -0.3, -0.3], "max": [0.3, 0, 0.3] }, "seed": 1 } ] }"#;
    on_both(text, |mut simulation, engine| {
        let mass: f64 = simulation
            .bodies()
            .unwrap()
            .iter()
            .map(|body| body.mass)
            .sum();
        let steps = simulation.model().steps_for(2.0);
        simulation.step(steps).unwrap();
        // The linear law has no static friction, so the bed creeps on; what its spheres still
        // move cancels over a quarter of a second.
        let every = simulation.model().steps_for(0.01);
        let sum: DVec3 = (0..25)
            .map(|_| {
                simulation.step(every).unwrap();
                contact_force(&mut simulation)
            })
            .sum();
        let force = sum / 25.0;
        close(force.y, mass * 9.81, 1e-3, &format!("{engine}: weight"));
        assert!(
            force.x.hypot(force.z) < 3e-3 * force.y,
            "{engine}: walls balance: {force}"
        );
    });
}

#[test]
fn a_pile_of_a_thousand_clumps_comes_to_rest() {
    let text = r#"{ "version": 1, "duration": 1.0,
        "contact": { "law": "linear", "stiffness": 1e6, "time_step": 2e-4 },
        "materials": { "m": { "density": 2500, "restitution": 0.3, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.09 }, "material": "m" },
                    "rod": { "rod": { "n": 3, "radius": 0.06 }, "material": "m" },
                    "tetrahedron": { "tetrahedron": { "n": 2, "radius": 0.06 }, "material": "m" },
                    "block": { "cube": { "n": 2, "radius": 0.05 }, "material": "m" } },
        "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "m" },
                    { "point": [-1.5, 0, 0], "normal": [1, 0, 0], "material": "m" },
                    { "point": [1.5, 0, 0], "normal": [-1, 0, 0], "material": "m" },
                    { "point": [0, 0, -1.5], "normal": [0, 0, 1], "material": "m" },
                    { "point": [0, 0, 1.5], "normal": [0, 0, -1], "material": "m" } ],
        "fills": [ { "count": 1000, "shapes": { "ball": 1, "rod": 1, "tetrahedron": 1, "block": 1 },
                     "placement": "random", "seed": 2,
                     "region": { "min": [-1.45, 0.05, -1.45], "max": [1.45, 2, 1.45] } } ] }"#;
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
            simulation.summary().unwrap().contacts > 2000,
            "{engine}: it is a pile"
        );
    });
}

#[test]
fn a_scene_file_and_its_text_are_one() {
    let path = std::path::Path::new("scenes/bounce.json");
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(
        scene::load(path).unwrap().model,
        scene::parse(&text, path).unwrap().model
    );
}
