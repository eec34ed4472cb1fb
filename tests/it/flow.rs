//! Inlets, outlets and probes, on both engines.

use std::collections::HashSet;

use crate::common::{on_both, simulate};
use rockfall::model::flow::Traffic;
use rockfall::{Simulation, scene};
use serde_json::{Value, json};

/// Balls that come in above a floor and go out where they have rolled off its edge.
fn scene() -> Value {
    json!({
        "version": 1, "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4, "time_step": 1e-4 },
        "materials": { "m": { "density": 2000, "restitution": 0.3, "friction": 0.4 } },
        "shapes": { "ball": { "sphere": { "radius": 0.02 }, "material": "m" },
                    "rod": { "rod": { "n": 3, "radius": 0.015, "spacing": 0.02 }, "material": "m" } },
        "planes": [ { "point": [0, 0, 0], "normal": [0.3, 1, 0], "material": "m" } ],
        "bodies": [ { "shape": "ball", "position": [-0.5, 0.2, 0] } ],
        "inlets": [ { "rate": 500, "shapes": { "ball": 1, "rod": 1 }, "seed": 4,
                      "region": { "min": [-0.2, 0.2, -0.2], "max": [0.2, 0.35, 0.2] },
                      "velocity": [1, -1, 0] } ],
        "outlets": [ { "inside": { "min": [0.3, -5, -5], "max": [5, 5, 5] } } ],
        "look_every": { "seconds": 5e-3 },
    })
}

fn mass(simulation: &mut Simulation) -> f64 {
    let bodies = simulation.bodies().unwrap();
    bodies
        .iter()
        .filter(|body| !body.fixed)
        .map(|body| body.mass)
        .sum()
}

#[test]
fn what_comes_in_goes_out_or_is_there() {
    on_both(&scene().to_string(), |mut simulation, engine| {
        let before = mass(&mut simulation);
        let mut ids = HashSet::new();
        for _ in 0..20 {
            simulation.step(250).unwrap();
            let bodies = simulation.bodies().unwrap();
            let now: HashSet<u64> = bodies.iter().map(|body| body.id).collect();
            assert_eq!(
                now.len(),
                bodies.len(),
                "{engine}: each body has its own number"
            );
            ids.extend(now);
        }
        let Traffic {
            inlets, outlets, ..
        } = simulation.traffic().clone();
        assert!(inlets[0].bodies >= 240, "{engine}: {inlets:?}");
        assert!(outlets[0].bodies >= 50, "{engine}: {outlets:?}");
        let held = mass(&mut simulation);
        let all = before + inlets[0].mass;
        let balance = (all - outlets[0].mass - held) / all;
        assert!(balance.abs() < 1e-12, "{engine}: {balance}");
        let count = 1 + inlets[0].bodies - outlets[0].bodies;
        assert_eq!(simulation.bodies().unwrap().len() as u64, count, "{engine}");
        assert!(
            ids.len() as u64 > count,
            "{engine}: numbers are not used again"
        );
    });
}

/// A ball that leaves the domain goes out, but not where that is periodic.
#[test]
fn what_leaves_the_domain_goes_out() {
    let ball = |velocity: [f64; 3]| json!({ "shape": "ball", "velocity": velocity });
    let mut scene = scene();
    for key in ["inlets", "outlets", "probes", "fills", "planes", "walls"] {
        scene.as_object_mut().unwrap().remove(key);
    }
    scene["gravity"] = json!([0, 0, 0]);
    scene["domain"] =
        json!({ "min": [-1, -1, -1], "max": [1, 1, 1], "periodic": [true, false, false] });
    scene["outlets"] = json!([{ "outside": "domain" }]);
    scene["contact"]["time_step"] = json!(1e-3);
    scene["look_every"] = json!({ "seconds": 0.1 });
    let bodies = [[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, -3.0]];
    scene["bodies"] = json!(
        bodies
            .iter()
            .zip([-0.5, 0.0, 0.5])
            .map(|(velocity, y)| {
                let mut ball = ball(*velocity);
                ball["position"] = json!([0, y, 0]);
                ball
            })
            .collect::<Vec<Value>>()
    );
    on_both(&scene.to_string(), |mut simulation, engine| {
        simulation.step(1_000).unwrap();
        let left = simulation.bodies().unwrap();
        assert_eq!(left.len(), 1, "{engine}");
        assert_eq!(left[0].velocity.x, 3.0, "{engine}");
        assert_eq!(simulation.traffic().outlets[0].bodies, 2, "{engine}");
    });
}

#[test]
fn bodies_come_in_at_the_rate_and_without_overlap() {
    let mut scene = scene();
    scene["gravity"] = json!([0, 0, 0]);
    scene["planes"] = json!([]);
    scene["outlets"] = json!([]);
    scene["inlets"][0]["start"] = json!(0.02);
    scene["inlets"][0]["velocity"] = json!([0, -4, 0]);
    on_both(&scene.to_string(), |mut simulation, engine| {
        for look in 1..20_u64 {
            simulation.step(50).unwrap();
            // The look was before the first of these steps.
            let open = (5e-3 * (look - 1) as f64 - 0.02).max(0.0);
            let due = (500.0 * open + 1e-9) as u64;
            assert_eq!(
                simulation.traffic().inlets[0].bodies,
                due,
                "{engine}: look {look}"
            );
        }
        let overlap = simulation.summary().unwrap().max_overlap_fraction;
        assert_eq!(overlap, 0.0, "{engine}");
    });
}

#[test]
fn a_full_inlet_waits_and_makes_up_for_it() {
    let mut scene = scene();
    scene["outlets"] = json!([]);
    scene["planes"] = json!([]);
    scene["gravity"] = json!([0, 0, 0]);
    scene["inlets"][0]["rate"] = json!(1e5);
    scene["inlets"][0]["count"] = json!(400);
    scene["inlets"][0]["velocity"] = json!([0, -8, 0]);
    let mut simulation = simulate(&scene.to_string());
    simulation.step(60).unwrap();
    let waiting = simulation.traffic().waiting[0];
    assert!(waiting > 100, "{waiting} wait");
    assert!(simulation.traffic().inlets[0].bodies > 50);
    simulation.step(3_000).unwrap();
    let traffic = simulation.traffic();
    assert_eq!((traffic.inlets[0].bodies, traffic.waiting[0]), (400, 0));
    assert_eq!(simulation.summary().unwrap().max_overlap_fraction, 0.0);
}

#[test]
fn the_outcome_is_the_same_however_steps_are_divided() {
    on_both(&scene().to_string(), |mut whole, engine| {
        let text = scene().to_string();
        let mut parts = match engine {
            "cpu" => simulate(&text),
            _ => Simulation::on_gpu(crate::common::model(&text), crate::common::device()).unwrap(),
        };
        whole.step(3_000).unwrap();
        for part in [1, 49, 50, 51, 349, 1_000, 1_500] {
            parts.step(part).unwrap();
        }
        assert_eq!(
            whole.summary().unwrap(),
            parts.summary().unwrap(),
            "{engine}"
        );
        assert_eq!(whole.traffic(), parts.traffic(), "{engine}");
        assert!(whole.traffic().outlets[0].bodies > 0, "{engine}");
    });
}

#[test]
fn a_run_goes_on_from_a_checkpoint_with_those_that_came() {
    let folder = tempfile::tempdir().unwrap();
    let mut scene = scene();
    scene["probes"] = json!([{ "face": { "min": [-1, 0.1, -1], "max": [1, 0.1, 1] } }]);
    let text = scene.to_string();
    on_both(&text, |mut whole, engine| {
        let path = folder.path().join(engine);
        whole.step(1_530).unwrap();
        whole.write_checkpoint(&path).unwrap();
        whole.step(1_500).unwrap();
        let mut second = match engine {
            "cpu" => simulate(&text),
            _ => Simulation::on_gpu(crate::common::model(&text), crate::common::device()).unwrap(),
        };
        second.read_checkpoint(&path).unwrap();
        second.step(1_500).unwrap();
        assert_eq!(
            whole.summary().unwrap(),
            second.summary().unwrap(),
            "{engine}"
        );
        assert_eq!(whole.traffic(), second.traffic(), "{engine}");
        assert!(whole.traffic().passed[0].backward.bodies > 50, "{engine}");
        let energies = [whole.energy().unwrap(), second.energy().unwrap()];
        assert_eq!(energies[0], energies[1], "{engine}");
    });
}

#[test]
fn contacts_of_those_that_stay_keep_their_history_when_others_go() {
    // A ball at rest on a slope, held by friction; others come and go elsewhere.
    let mut scene = scene();
    scene["planes"][0]["normal"] = json!([0.25, 1, 0]);
    scene["bodies"] = json!([
        { "shape": "ball", "position": [0.31, 0.5, 1.0] },
        { "shape": "rod", "position": [-0.5, 0.1403, 0], "axis": [0, 0, 1], "angle": -0.2449787 },
    ]);
    scene["materials"]["m"]["rolling_friction"] = json!(0.5);
    scene["materials"]["m"]["rolling"] = json!("spring");
    scene["inlets"][0]["region"] = json!({ "min": [0.5, 0.5, 2], "max": [0.9, 0.9, 2.4] });
    scene["outlets"] = json!([ { "inside": { "min": [0.3, -5, -5], "max": [5, 5, 5] } } ]);
    on_both(&scene.to_string(), |mut simulation, engine| {
        simulation.step(4_000).unwrap();
        let place = |simulation: &mut Simulation| {
            let bodies = simulation.bodies().unwrap();
            bodies.iter().find(|body| body.id == 1).unwrap().position
        };
        let before = place(&mut simulation);
        simulation.step(4_000).unwrap();
        let way = (place(&mut simulation) - before).length();
        assert!(way < 1e-5 * 0.015, "{engine}: {way} m");
        let gone = simulation.traffic().outlets[0].bodies;
        assert!(gone > 100, "{engine}: {gone} have gone");
    });
}

#[test]
fn a_face_counts_what_passes_and_a_volume_what_it_holds() {
    let text = json!({
        "version": 1, "gravity": [0, 0, 0], "contact": { "stiffness": 5e4, "time_step": 1e-3 },
        "materials": { "m": { "density": 2000, "restitution": 1, "friction": 0 } },
        "shapes": { "ball": { "sphere": { "radius": 0.1 }, "material": "m" } },
        "planes": [ { "point": [0, -2, 0], "normal": [0, 1, 0], "material": "m" } ],
        // One passes twice, one beside the face, one stays above it, one comes from below.
        "bodies": [ { "shape": "ball", "position": [0, 1, 0], "velocity": [0, -4, 0] },
                    { "shape": "ball", "position": [5, 1, 0], "velocity": [0, -4, 0] },
                    { "shape": "ball", "position": [1, 1, 0] },
                    { "shape": "ball", "position": [-1, -1, 0], "velocity": [0, 4, 0] } ],
        "probes": [ { "name": "face", "face": { "min": [-2, 0, -2], "max": [2, 0, 2] } },
                    { "disc": { "center": [0, 0, 0], "normal": [0, -1, 0], "radius": 0.5 } },
                    { "box": { "min": [-2, 0, -2], "max": [2, 9, 2] } },
                    { "cylinder": { "base": [0.9, 0, 0], "axis": [0, 2, 0], "height": 3, "radius": 0.2 } } ],
        "look_every": { "seconds": 0.01 },
    });
    on_both(&text.to_string(), |mut simulation, engine| {
        simulation.step(2_001).unwrap();
        let passed = &simulation.traffic().passed;
        let counts = |index: usize| (passed[index].forward.bodies, passed[index].backward.bodies);
        assert_eq!(counts(0), (2, 1), "{engine}: the face");
        assert_eq!(counts(1), (1, 1), "{engine}: the disc, the other way round");
        let one = simulation.bodies().unwrap()[0].mass;
        assert!((simulation.traffic().passed[0].forward.mass - 2.0 * one).abs() < 1e-12);
        let seen = simulation.probe().unwrap();
        assert_eq!(seen[2].bodies, 3, "{engine}: in the box");
        assert!((seen[2].mass - 3.0 * one).abs() < 1e-12, "{engine}");
        let speed = (4.0 + 4.0 + 0.0) / 3.0;
        assert!(
            (seen[2].velocity[1] - speed).abs() < 1e-2,
            "{engine}: {:?}",
            seen[2]
        );
        assert_eq!(seen[3].bodies, 1, "{engine}: in the cylinder");
    });
}

#[test]
fn sizes_have_the_distribution_that_was_asked_for() {
    let sizes = |sizes: Value| -> Vec<f64> {
        let mut scene = scene();
        scene["inlets"] = json!([]);
        scene["outlets"] = json!([]);
        scene.as_object_mut().unwrap().remove("look_every");
        scene["fills"] = json!([ { "count": 2000, "shapes": { "ball": 1 }, "sizes": sizes, "seed": 2,
            "placement": "random", "region": { "min": [-1, 1, -1], "max": [1, 3, 1] } } ]);
        let model = scene::parse(&scene.to_string(), "sizes.json".as_ref())
            .unwrap()
            .model;
        let bodies = model.bodies[1..].iter();
        bodies
            .map(|body| model.shapes[body.shape].spheres[0].radius / 0.02)
            .collect()
    };
    let moments = |of: &[f64]| {
        let mean = of.iter().sum::<f64>() / of.len() as f64;
        let variance = of.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / of.len() as f64;
        (mean, variance.sqrt())
    };
    let (mean, deviation) = moments(&sizes(
        json!({ "normal": { "mean": 1.1, "deviation": 0.1 } }),
    ));
    assert!(
        (mean - 1.1).abs() < 0.01 && (deviation - 0.1).abs() < 0.01,
        "{mean} {deviation}"
    );
    let (mean, deviation) = moments(&sizes(json!({ "uniform": { "min": 0.5, "max": 1.5 } })));
    let expected = 1.0 / 12f64.sqrt();
    assert!(
        (mean - 1.0).abs() < 0.02 && (deviation - expected).abs() < 0.02,
        "{mean} {deviation}"
    );
    let logs: Vec<f64> = sizes(json!({ "log_normal": { "median": 0.9, "deviation": 0.2 } }))
        .iter()
        .map(|size| (size / 0.9).ln())
        .collect();
    let (mean, deviation) = moments(&logs);
    assert!(
        mean.abs() < 0.015 && (deviation - 0.2).abs() < 0.015,
        "{mean} {deviation}"
    );
    let table = sizes(json!({ "table": [[0.5, 1], [1.5, 3]] }));
    let small = table.iter().filter(|size| **size < 1.0).count();
    assert!(
        (small as f64 / 2000.0 - 0.25).abs() < 0.03,
        "{small} are small"
    );
}

#[test]
fn mistakes_get_a_sentence() {
    let error = |change: fn(&mut Value)| {
        let mut scene = scene();
        change(&mut scene);
        scene::parse(&scene.to_string(), "flow.json".as_ref())
            .unwrap_err()
            .to_string()
    };
    for (error, words) in [
        (
            error(|s| s["inlets"][0]["mass_rate"] = json!(1)),
            "inlets[0]: found both, expected either \"rate\" or \"mass_rate\"",
        ),
        (
            error(|s| s["inlets"][0]["rate"] = json!(-1)),
            "inlets[0].rate",
        ),
        (
            error(|s| s["inlets"][0]["end"] = json!(-1)),
            "inlets[0].end",
        ),
        (
            error(|s| s["inlets"][0]["region"]["max"] = json!([-0.2, 0.2, 0.2])),
            "inlets[0].region",
        ),
        (
            error(|s| s["inlets"][0]["sizes"] = json!({})),
            "inlets[0].sizes: found none of them",
        ),
        (
            error(|s| {
                s["inlets"][0]["sizes"] = json!({ "normal": { "mean": 1, "deviation": 0.5 } })
            }),
            "three deviations below the mean",
        ),
        (
            error(|s| s["outlets"][0]["outside"] = s["outlets"][0]["inside"].clone()),
            "outlets[0]: found both",
        ),
        (
            error(|s| s["outlets"] = json!([{ "outside": "domain" }])),
            "outlets[0].outside: found \"domain\" in a scene without one",
        ),
        (
            error(|s| s["outlets"] = json!([{ "outside": "everything" }])),
            "outlets[0].outside: found \"everything\"",
        ),
        (
            error(|s| s["probes"] = json!([{ "name": "p" }])),
            "probes[0]: found none of them",
        ),
        (
            error(|s| s["probes"] = json!([{ "face": { "min": [0, 0, 0], "max": [1, 1, 1] } }])),
            "probes[0].face",
        ),
        (
            error(|s| s["look_every"] = json!(0.1)),
            "look_every: found 0.1",
        ),
        (
            error(|s| s["look_every"] = json!({ "seconds": 0 })),
            "look_every.seconds: found 0",
        ),
        (
            error(|s| s["look_every"] = json!({ "seconds": 1, "steps": 2 })),
            "look_every: found both",
        ),
    ] {
        assert!(error.contains(words), "{words}\n{error}");
    }
}

/// Two cubes burst, each at its own time, between two looks; balls pass a face below them meanwhile.
#[test]
fn faces_count_right_when_bodies_burst_between_two_looks() {
    let cube = |name: &str, z: f64| json!({ "name": name, "shape": "cube", "position": [0, 1, z] });
    let ball = |x: f64, y: f64, speed: f64| json!({ "shape": "ball", "position": [x, y, 0], "velocity": [0, speed, 0] });
    let burst =
        |name: &str, at: f64| json!({ "body": name, "at": at, "fragments": 2, "speed": 0.1 });
    let text = json!({
        "version": 1, "gravity": [0, 0, 0], "contact": { "stiffness": 5e4, "time_step": 1e-3 },
        "materials": { "m": { "density": 2000, "restitution": 1, "friction": 0 } },
        "shapes": { "ball": { "sphere": { "radius": 0.1 }, "material": "m" },
                    "cube": { "cube": { "n": 2, "radius": 0.1 }, "material": "m" } },
        "bodies": [cube("first", 0.0), ball(3.0, 0.5, -4.0), cube("second", 5.0), ball(6.0, 0.9, -4.0), ball(3.0, -1.0, 0.0)],
        "explosions": [burst("first", 0.15), burst("second", 0.25)],
        "probes": [ { "face": { "min": [-9, 0, -9], "max": [9, 0, 9] } } ],
        "look_every": { "seconds": 0.1 },
    });
    on_both(&text.to_string(), |mut simulation, engine| {
        for (steps, bodies, passed) in [(150, 5, 0), (1, 6, 0), (99, 6, 1), (1, 7, 1), (99, 7, 2)] {
            simulation.step(steps).unwrap();
            let now = simulation.steps();
            assert_eq!(simulation.body_count(), bodies, "{engine}, step {now}");
            let counted = simulation.traffic().passed[0];
            let found = (counted.forward.bodies, counted.backward.bodies);
            assert_eq!(found, (0, passed), "{engine}, step {now}");
        }
    });
}

/// From a sloping square of a file, until 3 kg are there.
#[test]
fn bodies_come_in_on_a_mesh_up_to_a_mass() {
    let square = "v 0 1 0\nv 1 1 0\nv 1 2 1\nv 0 2 1\nf 1 2 3\nf 1 3 4\n";
    let mut text = scene();
    let ball = json!({ "ball": 1 });
    text["planes"] = json!([]);
    text["inlets"] = json!([ { "rate": 1000, "mass": 3, "mesh": { "file": "square.obj", "scale": 2 }, "shapes": ball } ]);
    text["outlets"] = json!([]);
    text["gravity"] = json!([0, 0, 0]);
    let files =
        std::collections::BTreeMap::from([("square.obj".into(), square.as_bytes().to_vec())]);
    let found = scene::parse_with(&text.to_string(), "test.json".as_ref(), &files).unwrap();
    let mut simulation = Simulation::new(found.model, &Default::default()).unwrap();
    simulation.step(3000).unwrap();
    let brought = simulation.traffic().inlets[0];
    let bodies = simulation.bodies().unwrap();
    assert!(
        (brought.mass - 3.0).abs() <= 0.51 * bodies[0].mass,
        "{brought:?}"
    );
    let came = &bodies[1..];
    assert_eq!(came.len() as u64, brought.bodies);
    for body in came {
        let place = body.position;
        assert!((place.y - 2.0 - place.z).abs() < 1e-3, "{place}");
        assert!(
            place.x > -1e-3 && place.x < 2.001 && place.z > -1e-3 && place.z < 2.001,
            "{place}"
        );
    }
    let half = came.iter().filter(|body| body.position.x > 1.0).count();
    assert!(
        half * 3 > came.len() && half * 3 < 2 * came.len(),
        "{half} of {}",
        came.len()
    );
}

/// Balls that fall freely from an inlet to an outlet, of which each takes the same time; and a checkpoint between.
#[test]
fn residence_times_are_those_of_free_fall() {
    let mut text = scene();
    text["planes"] = json!([]);
    text["bodies"] = json!([]);
    text["gravity"] = json!([0, -10, 0]);
    text["inlets"] = json!([ { "rate": 200, "count": 20, "shapes": { "ball": 1 },
                               "region": { "min": [-0.5, 5, -0.5], "max": [0.5, 5, 0.5] } } ]);
    text["outlets"] = json!([ { "inside": { "min": [-5, -5, -5], "max": [5, 0, 5] } } ]);
    text["measure"] = json!({ "residence": true });
    text["look_every"] = json!({ "seconds": 1e-3 });
    let model = scene::parse(&text.to_string(), "fall.json".as_ref())
        .unwrap()
        .model;
    let fresh = || Simulation::new(model.clone(), &Default::default()).unwrap();
    let mut first = fresh();
    first.run_until(0.5).unwrap();
    let bytes = first.checkpoint().unwrap();
    let mut second = fresh();
    let checkpoint =
        rockfall::simulation::checkpoint::Checkpoint::decode(bytes, "fall".as_ref()).unwrap();
    checkpoint.restore(&mut second).unwrap();
    second.run_until(1.3).unwrap();
    let residence = &second.traffic().residence[0];
    assert_eq!(residence.bodies, 20);
    // Until the look after it has fallen 5 m.
    assert!(
        (residence.mean() - 1.0).abs() < 2e-3,
        "{}",
        residence.mean()
    );
    assert!(residence.deviation() < 1e-3, "{}", residence.deviation());
    assert_eq!(
        residence.classes().map(|class| class.bodies).sum::<u64>(),
        20
    );
    assert!(second.traffic().arrivals.is_empty());
}

/// Inlets end at their time, their number or their mass, whichever comes first, and bring whole bodies.
#[test]
fn an_inlet_brings_what_is_due_and_no_more() {
    let mut text = scene();
    text["gravity"] = json!([0, 0, 0]);
    for key in ["planes", "bodies", "outlets"] {
        text[key] = json!([]);
    }
    text["contact"]["time_step"] = json!(1e-3);
    text["look_every"] = json!({ "seconds": 0.01 });
    let ball = 2000.0 * 4.0 / 3.0 * std::f64::consts::PI * 0.02_f64.powi(3);
    let inlet = |z: f64, more: Value| {
        let mut inlet = json!({ "shapes": { "ball": 1 },
                                "region": { "min": [0, 0, z], "max": [1, 1, z + 0.9] } });
        for (key, value) in more.as_object().unwrap() {
            inlet[key] = value.clone();
        }
        inlet
    };
    text["inlets"] = json!([
        inlet(0.0, json!({ "rate": 100, "start": 0.1, "end": 0.305 })),
        inlet(
            1.0,
            json!({ "mass_rate": 10.4 * ball, "start": 0.2, "end": 1.2 })
        ),
        inlet(
            2.0,
            json!({ "mass_rate": 10.6 * ball, "start": 0.2, "end": 1.2 })
        ),
        inlet(3.0, json!({ "rate": 1000, "count": 7 })),
        inlet(4.0, json!({ "rate": 1000, "mass": 3.4 * ball })),
        inlet(5.0, json!({ "rate": 1000, "mass": 3.6 * ball })),
    ]);
    let mut simulation = simulate(&text.to_string());
    let counts = |simulation: &Simulation| -> Vec<u64> {
        let inlets = &simulation.traffic().inlets;
        inlets.iter().map(|inlet| inlet.bodies).collect()
    };
    // The look is before step 201: 100 x 0.1 s are due.
    simulation.step(201).unwrap();
    assert_eq!(counts(&simulation), [10, 0, 0, 7, 3, 4]);
    simulation.step(1_200).unwrap();
    assert_eq!(counts(&simulation), [20, 10, 11, 7, 3, 4]);
    let Traffic {
        inlets, waiting, ..
    } = simulation.traffic();
    assert_eq!(waiting, &[0; 6]);
    assert!((inlets[5].mass / ball - 4.0).abs() < 1e-9, "{inlets:?}");
    assert_eq!(simulation.body_count(), 55);
}

/// Bodies across a periodic boundary, and beside a region without width or a face, take their room.
#[test]
fn bodies_come_in_beside_those_that_stick_into_the_region() {
    let mut text = scene();
    text["gravity"] = json!([0, 0, 0]);
    for key in ["planes", "outlets"] {
        text[key] = json!([]);
    }
    text["shapes"]["lump"] = json!({ "sphere": { "radius": 0.15 }, "material": "m" });
    let lump =
        |x: f64, y: f64, z: f64| json!({ "shape": "lump", "position": [x, y, z], "fixed": true });
    let inlet = |place: Value| {
        let mut inlet =
            json!({ "rate": 1e6, "count": 60, "shapes": { "ball": 1, "rod": 1 }, "seed": 4 });
        let (key, value) = place.as_object().unwrap().iter().next().unwrap();
        inlet[key] = value.clone();
        inlet
    };
    // A slope beside the last lump.
    let square = "v 0 1 0\nv 1 1 0\nv 1 2 1\nv 0 2 1\nf 1 2 3\nf 1 3 4\n";
    let files =
        std::collections::BTreeMap::from([("square.obj".into(), square.as_bytes().to_vec())]);
    for (periodic, max) in [
        ([true, false, true], [-0.16, 0.3, -0.16]),
        ([true, true, false], [-0.16, -0.16, 0.3]),
        ([false; 3], [0.0; 3]),
    ] {
        if periodic[0] {
            text["bodies"] = json!([lump(0.29, 0.28, 0.27), lump(0.0, 0.0, 0.165)]);
            text["domain"] =
                json!({ "min": [-0.3, -0.3, -0.3], "max": [0.3, 0.3, 0.3], "periodic": periodic });
            text["inlets"] = json!([
                inlet(json!({ "region": { "min": [-0.3, -0.3, -0.3], "max": max } })),
                inlet(json!({ "region": { "min": [-0.2, -0.2, 0.0], "max": [0.2, 0.2, 0.0] } })),
            ]);
        } else {
            text.as_object_mut().unwrap().remove("domain");
            text["bodies"] = json!([lump(0.66, 0.6, 0.1)]);
            text["inlets"] = json!([inlet(
                json!({ "mesh": { "file": "square.obj", "scale": 0.5 } })
            )]);
            text["inlets"][0]["count"] = json!(200);
        }
        let model = scene::parse_with(&text.to_string(), "in.json".as_ref(), &files).unwrap();
        let mut simulation = Simulation::on_cpu(model.model, Some(1)).unwrap();
        simulation.step(60).unwrap();
        let traffic = simulation.traffic();
        for (came, waiting) in traffic.inlets.iter().zip(&traffic.waiting) {
            let all = if periodic[0] { 60 } else { 200 };
            assert!(came.bodies > 3, "{periodic:?}: {came:?}");
            assert_eq!(waiting + came.bodies, all, "{periodic:?}");
        }
        let overlap = simulation.summary().unwrap().max_overlap_fraction;
        assert_eq!(overlap, 0.0, "{periodic:?}");
    }
}
