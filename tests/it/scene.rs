//! Scenes: what loads, what it becomes, and what each mistake is told.

use std::collections::BTreeMap;
use std::f64::consts::PI;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::own;

use crate::json_schema;
use glam::{DQuat, DVec3};
use proptest::prelude::*;
use rockfall::model::wall::Shape;
use rockfall::model::{Cohesion, ContactModel, Domain, Integrator, Law, PairLaw, Rolling};
use rockfall::scene::{self, Problem, Scene, contact, format};
use serde_json::{Value, json};

/// A ball above a floor.
fn ball() -> Value {
    json!({
        "version": 1,
        "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "stone" } },
        "planes": [{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" }],
        "bodies": [{ "shape": "ball", "position": [0, 1, 0] }],
    })
}

/// Balls in a box, by a fill.
fn balls() -> Value {
    let mut scene = ball();
    scene["fills"] = json!([{
        "count": 10, "shapes": { "ball": 1 },
        "region": { "min": [-1, 2, -1], "max": [1, 3, 1] },
    }]);
    scene
}

/// The ball above the floor, with the normal model `hooke` and a contact history.
fn hooke() -> Value {
    with(
        ball(),
        "/contact",
        json!({ "normal": "hooke", "tangential": "history" }),
    )
}

/// The ball with the normal model `hertz`.
fn hertz() -> Value {
    let mut scene = with(
        ball(),
        "/contact",
        json!({ "normal": "hertz", "tangential": "mindlin" }),
    );
    scene["materials"]["stone"]["young_modulus"] = json!(1e7);
    scene["materials"]["stone"]["poisson_ratio"] = json!(0.25);
    scene
}

fn parse(scene: &Value) -> Result<Scene, scene::SceneError> {
    scene::parse(&scene.to_string(), Path::new("test.json"))
}

fn loaded(scene: &Value) -> Scene {
    match parse(scene) {
        Ok(scene) => scene,
        Err(error) => panic!("{error}"),
    }
}

fn problems(scene: &Value) -> Vec<Problem> {
    match parse(scene) {
        Ok(_) => panic!("accepted: {scene}"),
        Err(error) => error.problems,
    }
}

fn problem(scene: &Value) -> Problem {
    let mut problems = problems(scene);
    assert_eq!(problems.len(), 1, "{problems:#?}");
    problems.remove(0)
}

fn problem_in(text: &str) -> Problem {
    let mut problems = scene::parse(text, Path::new("test.json"))
        .unwrap_err()
        .problems;
    assert_eq!(problems.len(), 1, "{problems:#?}");
    problems.remove(0)
}

/// `scene` with a value put at a place, as a JSON pointer.
fn with(mut scene: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match scene.pointer_mut(parent).unwrap() {
        Value::Array(list) => list[key.parse::<usize>().unwrap()] = value,
        object => object[key] = value,
    }
    scene
}

fn without(mut scene: Value, pointer: &str) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = scene.pointer_mut(parent).unwrap();
    parent.as_object_mut().unwrap().remove(key).unwrap();
    scene
}

fn scenes() -> Vec<PathBuf> {
    let directory = own("scenes");
    let files = |directory: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.is_file()).collect()
    };
    let mut scenes = files(&directory);
    scenes.extend(files(&directory.join("bench")));
    scenes.extend(files(&directory.join("ancestors")));
    scenes.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    scenes.sort();
    assert!(scenes.len() >= 9);
    scenes
}

fn close(value: f64, expected: f64, tolerance: f64) -> bool {
    (value - expected).abs() <= tolerance * expected.abs()
}

#[track_caller]
fn assert_close(value: f64, expected: f64) {
    assert!(
        close(value, expected, 1e-9),
        "{value} instead of {expected}"
    );
}

// What loads.

#[test]
fn every_scene_of_the_repository_loads_without_warnings_and_fits_the_schema() {
    let schema = scene::schema();
    for path in scenes() {
        let scene = scene::load(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scene.warnings, [""; 0], "{}", path.display());
        assert!(
            scene
                .notes
                .iter()
                .any(|note| note.starts_with("time step "))
        );
        let json = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        json_schema::validate(&schema, &json).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
}

#[test]
fn every_scene_of_the_repository_survives_being_written_and_read() {
    for path in scenes() {
        let text = fs::read_to_string(&path).unwrap();
        let file: format::SceneFile = serde_json::from_str(&text).unwrap();
        let written = serde_json::to_string(&file).unwrap();
        assert_eq!(scene::parse(&written, &path), scene::parse(&text, &path));
        let json = serde_json::from_str(&written).unwrap();
        json_schema::validate(&scene::schema(), &json).unwrap();
    }
}

fn mixed_pile() -> Scene {
    scene::load(&own("scenes/mixed_pile.json")).unwrap()
}

#[test]
fn the_mixed_pile_has_the_masses_and_places_computed_by_hand() {
    let model = mixed_pile().model;
    assert_eq!(model.name, "mixed pile");
    assert_eq!(model.gravity, DVec3::new(0.0, -9.81, 0.0));
    assert_eq!(model.duration, 1.0);
    assert_eq!(model.integrator, Integrator::SemiImplicit);
    assert_eq!(model.materials, ["stone", "steel"]);
    assert_eq!(model.bodies.len(), 1002);
    let names: Vec<&str> = model.shapes.iter().map(|shape| &*shape.name).collect();
    assert_eq!(names, ["ball", "block", "dumbbell"]);

    let volume = |radius: f64| 4.0 / 3.0 * PI * radius.powi(3);
    let large = 2500.0 * volume(0.05);
    let small = 2500.0 * volume(0.03);
    let block = 8.0 * 7800.0 * volume(0.03);
    for (shape, mass) in model.shapes.iter().zip([large, block, large + small]) {
        assert_close(shape.mass, mass);
    }
    assert_close(large, 1.308996939);
    assert_close(block, 7.0572737370);

    // The dumbbell lies along its x axis, turned by 0.3 rad about z.
    let dumbbell = &model.shapes[2];
    let center = 0.05 * (small - large) / (small + large);
    assert!(
        dumbbell
            .center_of_mass
            .abs_diff_eq(DVec3::X * center, 1e-15)
    );
    let along = 0.4 * (large * 0.05f64.powi(2) + small * 0.03f64.powi(2));
    let mut moments = dumbbell.inertia.to_array();
    moments.sort_by(f64::total_cmp);
    assert_close(moments[0], along);
    assert_close(moments[1], along + large * small / (large + small) * 0.01);

    let body = &model.bodies[0];
    let turned = DVec3::new(0.3f64.cos(), 0.3f64.sin(), 0.0);
    assert!(body.position.abs_diff_eq(DVec3::Y + turned * center, 1e-14));
    assert_eq!(body.velocity, DVec3::X);
    assert_eq!(body.angular_velocity, DVec3::Z * 5.0);
    assert!(!body.fixed);
    let shape = dumbbell.shape_orientation(body.orientation);
    let expected = DQuat::from_xyzw(0.0, 0.0, 0.15f64.sin(), 0.15f64.cos());
    assert!(shape.dot(expected).abs() > 1.0 - 1e-14);
    assert!(
        dumbbell
            .origin(body.position, body.orientation)
            .abs_diff_eq(DVec3::Y, 1e-14)
    );
    assert!(model.bodies[1].fixed);

    // Three blocks for each ball, whole in their region.
    let blocks = model.bodies[2..]
        .iter()
        .filter(|body| body.shape == 1)
        .count();
    assert!((700..800).contains(&blocks), "{blocks}");
    for body in &model.bodies[2..] {
        for sphere in &model.shapes[body.shape].spheres {
            let center = body.position + body.orientation * sphere.center;
            let radius = DVec3::splat(sphere.radius * (1.0 - 1e-9));
            assert!((center - radius).cmpge(DVec3::new(-1.0, 0.3, -1.0)).all());
            assert!((center + radius).cmple(DVec3::new(1.0, 2.0, 1.0)).all());
        }
    }
}

#[test]
fn the_mixed_pile_has_the_pair_table_computed_by_hand() {
    let model = mixed_pile().model;
    let [stone, mixed, mixed_again, steel] = model.pairs.as_slice() else {
        panic!("{:?}", model.pairs);
    };
    assert_eq!(mixed, mixed_again);

    // zeta = -ln e / sqrt(pi² + ln² e) of 0.5, 0.6 (given) and 0.8.
    for (law, ratio, friction) in [
        (stone, 0.215_453_762, 0.5),
        (mixed, 0.160_493_047, 0.4),
        (steel, 0.070_850_300, 0.3),
    ] {
        assert!(close(law.damping_ratio, ratio, 1e-8), "{law:?}");
        assert_eq!((law.friction, law.damping), (friction, 0.0));
    }

    // k = m v²/(f R)². The dumbbell moves at 1 m/s and spins at 5 rad/s, reaching 0.1122 m from its
    // centre of mass; the highest body falls on the plane.
    let initial = 1.0 + 5.0 * 0.112_236_842;
    let highest = model
        .bodies
        .iter()
        .map(|body| body.position.y)
        .fold(0.0, f64::max);
    let speed_squared = initial * initial + 2.0 * 9.81 * highest;
    let stiffness = |mass: f64| mass * speed_squared / (0.04 * 0.03f64).powi(2);
    // The heaviest that can meet: the dumbbell and a stone plane, a block and that plane, two blocks.
    let (ball, block, dumbbell) = (1.308_996_939, 7.057_273_737, 1.591_740_278);
    for (law, mass) in [(stone, dumbbell), (mixed, block), (steel, 0.5 * block)] {
        assert!(close(law.stiffness, stiffness(mass), 1e-7), "{law:?}");
        assert_close(law.tangential_ratio, 2.0 / 7.0);
    }

    // t_c = pi / sqrt(k/m - (c/2m)²) = pi sqrt(m/k) / sqrt(1 - zeta²) of the lightest that can meet.
    let time = |law: &PairLaw, mass: f64| {
        PI * (mass / law.stiffness).sqrt() / (1.0 - law.damping_ratio.powi(2)).sqrt()
    };
    let shortest = [
        time(stone, 0.5 * ball),
        time(mixed, 1.0 / (1.0 / ball + 1.0 / block)),
        time(steel, 0.5 * block),
    ];
    assert_close(
        model.time_step,
        shortest.into_iter().fold(1.0, f64::min) / 50.0,
    );
}

#[test]
fn what_is_left_out_has_the_documented_default() {
    let Scene {
        model,
        warnings,
        notes,
        ..
    } = loaded(&ball());
    assert_eq!(model.name, "test");
    assert_eq!(model.gravity, DVec3::new(0.0, -9.81, 0.0));
    assert_eq!(model.duration, 1.0);
    assert_eq!(model.integrator, Integrator::SemiImplicit);
    assert_eq!(model.bodies[0].velocity, DVec3::ZERO);
    assert_eq!(warnings, [""; 0]);
    // k = m 2 g h/(f R)²
    let expected = model.shapes[0].mass * 2.0 * 9.81 / (0.01 * 0.05f64).powi(2);
    assert_close(model.pairs[0].stiffness, expected);
    assert_eq!(notes.len(), 2);
    assert_eq!(
        notes[0],
        "stiffness 1.027e8 N/m of stone on stone: stops 1.309 kg at 4.429 m/s within 5e-4 m"
    );
    assert_eq!(
        notes[1],
        "time step 7.263e-6 s: t_c/50 of the stiffest contact (stone on stone, 1.309 kg)"
    );
}

#[test]
fn a_byte_order_mark_a_schema_address_and_a_description_are_fine() {
    let mut scene = ball();
    scene["$schema"] = json!("rockfall.schema.json");
    scene["description"] = json!("a ball");
    scene::parse(&format!("\u{feff}{scene}"), Path::new("test.json")).unwrap();
}

#[test]
fn an_orientation_may_be_given_in_two_ways() {
    let axis = with(ball(), "/bodies/0/axis", json!([0, 3, 0]));
    let axis = with(axis, "/bodies/0/angle", json!(1.0));
    let half = 0.5f64;
    let quaternion = json!([0, half.sin(), 0, half.cos()]);
    let quaternion = with(ball(), "/bodies/0/orientation", quaternion);
    let orientation = |scene| loaded(scene).model.bodies[0].orientation;
    assert!(orientation(&axis).abs_diff_eq(orientation(&quaternion), 1e-15));
    assert!(loaded(&quaternion).warnings.is_empty());

    let long = with(ball(), "/bodies/0/orientation", json!([0, 0, 0, 1e200]));
    let scene = loaded(&long);
    assert_eq!(scene.model.bodies[0].orientation, DQuat::IDENTITY);
    assert_eq!(
        scene.warnings,
        [
            "bodies[0].orientation: found the quaternion [0, 0, 0, 1e200] of length 1e200, \
          expected length 1; it was normalised"
        ]
    );
}

#[test]
fn mass_properties_may_be_given() {
    let given = |value| with(ball(), "/shapes/ball/mass_properties", value);
    let tensor = json!({ "mass": 2, "center_of_mass": [0.01, 0, 0],
                         "inertia": [[2, 0.5, 0], [0.5, 2, 0], [0, 0, 3]] });
    let shape = &loaded(&given(tensor)).model.shapes[0];
    assert_eq!((shape.mass, shape.center_of_mass), (2.0, DVec3::X * 0.01));
    let mut moments = shape.inertia.to_array();
    moments.sort_by(f64::total_cmp);
    for (moment, expected) in moments.into_iter().zip([1.5, 2.5, 3.0]) {
        assert_close(moment, expected);
    }
    let diagonal = json!({ "mass": 2, "inertia": [1, 2, 3] });
    let shape = &loaded(&given(diagonal)).model.shapes[0];
    assert_close(shape.inertia.element_sum(), 6.0);

    // Two spheres in the same place weigh as much as one by their union, and twice by their sum.
    let twins =
        json!([{ "center": [0, 0, 0], "radius": 0.05 }, { "center": [0, 0, 0], "radius": 0.05 }]);
    let mut twins = with(ball(), "/shapes/ball/spheres", twins);
    twins["shapes"]["ball"]
        .as_object_mut()
        .unwrap()
        .remove("sphere");
    let mass = |how| {
        let scene = with(twins.clone(), "/shapes/ball/mass_properties", json!(how));
        loaded(&scene).model.shapes[0].mass
    };
    assert_close(mass("spheres"), 2.0 * mass("union"));
}

#[test]
fn the_shapes_have_their_numbers_of_spheres() {
    for (form, count) in [
        (json!({ "cube": { "n": 3, "radius": 0.01 } }), 27),
        (json!({ "tetrahedron": { "radius": 0.01 } }), 4),
        (
            json!({ "rod": { "n": 5, "radius": 0.01, "spacing": 0.015 } }),
            5,
        ),
        (
            json!({ "torus": { "n": 9, "radius": 0.01, "ring_radius": 0.04 } }),
            9,
        ),
    ] {
        let mut scene = without(ball(), "/shapes/ball/sphere");
        let ball = scene["shapes"]["ball"].as_object_mut().unwrap();
        ball.extend(form.as_object().unwrap().clone());
        assert_eq!(loaded(&scene).model.sphere_count(), count);
    }
}

#[test]
fn a_fill_takes_all_its_options() {
    let mut scene = balls();
    scene["fills"][0] = json!({
        "count": 50, "shapes": { "ball": 0.5 }, "placement": "grid", "spacing": 0.15,
        "jitter": 0.01, "region": { "min": [-1, 2, -1], "max": [1, 3, 1] },
        "orientation": [0, 0, 1, 0], "velocity": { "min": [-1, 0, 0], "max": [1, 0, 2] },
        "angular_velocity": [0, 3, 0], "seed": 5,
    });
    let model = loaded(&scene).model;
    let fill = &model.bodies[1..];
    assert_eq!(fill.len(), 50);
    for body in fill {
        let velocity = body.velocity;
        assert!(velocity.x.abs() <= 1.0 && velocity.y == 0.0 && (0.0..=2.0).contains(&velocity.z));
        assert_eq!(body.angular_velocity, DVec3::Y * 3.0);
        assert!(
            body.orientation
                .abs_diff_eq(DQuat::from_xyzw(0.0, 0.0, 1.0, 0.0), 1e-15)
        );
    }
    assert!(fill.iter().any(|body| body.velocity.x < 0.0));
    assert_ne!(fill[0].velocity, fill[1].velocity);
    assert_eq!(loaded(&scene).model, model);
    let other = loaded(&with(scene, "/fills/0/seed", json!(6))).model;
    assert_ne!(other.bodies, model.bodies);
}

// Contact parameters.

/// A ball of each of two materials.
fn two_materials(a: Value, b: Value) -> Value {
    let mut scene = ball();
    scene["materials"] = json!({ "a": a, "b": b });
    scene["shapes"] = json!({
        "one": { "sphere": { "radius": 0.05 }, "material": "a" },
        "two": { "sphere": { "radius": 0.05 }, "material": "b" },
    });
    scene["planes"] = json!([]);
    scene["bodies"] = json!([
        { "shape": "one", "velocity": [1, 0, 0] },
        { "shape": "two", "position": [1, 0, 0] },
    ]);
    scene
}

#[test]
fn a_pair_that_is_not_listed_is_mixed() {
    let pair = |a: Value, b: Value| {
        let model = loaded(&two_materials(a, b)).model;
        assert_eq!(model.pairs[1], model.pairs[2]);
        model.pairs[1]
    };
    let bouncy = json!({ "density": 1000, "restitution": 0.8, "friction": 0.2 });
    let dull = json!({ "density": 1000, "restitution": 0.2, "friction": 0.8 });
    let damped = json!({ "density": 1000, "damping": 3, "friction": 0 });

    let mixed = pair(bouncy.clone(), dull.clone());
    assert_close(mixed.damping_ratio, contact::damping_ratio(0.4));
    assert_close(mixed.friction, 0.4);
    assert_eq!(mixed.damping, 0.0);

    let mixed = pair(bouncy.clone(), damped.clone());
    assert_close(mixed.damping_ratio, 0.5 * contact::damping_ratio(0.8));
    assert_eq!((mixed.damping, mixed.friction), (1.5, 0.0));

    let softer = json!({ "density": 1000, "damping": 1, "friction": 0 });
    assert_eq!(pair(damped.clone(), softer).damping, 2.0);

    // Equal values mix to themselves, to the bit.
    let odd = json!({ "density": 1000, "restitution": 0.3, "friction": 0.7 });
    let mixed = pair(odd.clone(), odd);
    assert_eq!(mixed.friction, 0.7);
    assert_eq!(mixed.damping_ratio, contact::damping_ratio(0.3));
    assert_eq!(pair(damped.clone(), damped).damping, 3.0);
}

#[test]
fn a_listed_pair_overrides_what_it_names_only() {
    let bouncy = json!({ "density": 1000, "restitution": 0.8, "friction": 0.2 });
    let dull = json!({ "density": 1000, "restitution": 0.2, "friction": 0.8 });
    let scene = |pair| {
        with(
            two_materials(bouncy.clone(), dull.clone()),
            "/pairs",
            json!([pair]),
        )
    };
    let pair = |pair| loaded(&scene(pair)).model.pairs[2];

    let law = pair(json!({ "between": ["b", "a"], "restitution": 1 }));
    assert_eq!(law.damping_ratio, 0.0);
    assert_close(law.friction, 0.4);
    let law = pair(json!({ "between": ["a", "b"], "friction": 0.1 }));
    assert_close(law.damping_ratio, contact::damping_ratio(0.4));
    assert_eq!(law.friction, 0.1);
    let law = pair(json!({ "between": ["a", "b"], "damping": 7 }));
    assert_eq!((law.damping, law.damping_ratio), (7.0, 0.0));
    let same = loaded(&scene(json!({ "between": ["a", "a"], "friction": 0.9 }))).model;
    assert_eq!((same.pairs[0].friction, same.pairs[3].friction), (0.9, 0.8));
}

#[test]
fn a_dashpot_of_the_damping_ratio_leaves_the_restitution() {
    for restitution in [0.05, 0.2, 0.5, 0.9, 0.999] {
        let (stiffness, mass) = (1e5, 0.3f64);
        let damping = 2.0 * contact::damping_ratio(restitution) * (stiffness * mass).sqrt();
        let time = contact::contact_time(stiffness, mass, damping);
        let left = (-damping * time / (2.0 * mass)).exp();
        // The time is cut at twice the undamped one, which a restitution below 0.005 would reach.
        assert!(close(left, restitution, 1e-9), "{restitution}: {left}");
    }
    assert_eq!(contact::damping_ratio(1.0), 0.0);
    assert_eq!(contact::damping_ratio(0.0), 1.0);
    let undamped = contact::contact_time(1e5, 0.3, 0.0);
    assert_close(undamped, PI * (0.3f64 / 1e5).sqrt());
    assert_close(contact::contact_time(1e5, 0.3, 1e9), 2.0 * undamped);
}

#[test]
fn a_push_at_the_end_of_a_rod_meets_less_than_its_mass() {
    let mut scene = without(ball(), "/shapes/ball/sphere");
    scene["shapes"]["ball"]["rod"] = json!({ "n": 2, "radius": 0.05 });
    let shape = &loaded(&scene).model.shapes[0];
    // Two spheres of m/2 at 1 R: I = m R² + 2/5 m R²; 1/m_c = 1/m + R²/I = (1 + 5/7)/m.
    let mass = contact::contact_mass(shape);
    assert!(close(mass, shape.mass * 7.0 / 12.0, 1e-7), "{mass}");
    let sphere = &loaded(&ball()).model.shapes[0];
    assert_eq!(contact::contact_mass(sphere), sphere.mass);
}

#[test]
fn stiffness_follows_from_the_wanted_overlap() {
    // Two equal balls that approach at 3 m/s, free of gravity: k = m/2 v²/(f R)².
    let mut scene = ball();
    scene["planes"] = json!([]);
    scene["gravity"] = json!([0, 0, 0]);
    scene["contact"] = json!({ "max_overlap": 0.02 });
    scene["bodies"] = json!([
        { "shape": "ball", "velocity": [1, 0, 0] },
        { "shape": "ball", "position": [1, 0, 0], "velocity": [-2, 0, 0] },
    ]);
    let model = loaded(&scene).model;
    let expected = 0.5 * model.shapes[0].mass * 9.0 / (0.02 * 0.05f64).powi(2);
    assert_close(model.pairs[0].stiffness, expected);

    // A wall stops no fall, and a fixed floor of spheres does.
    scene["gravity"] = json!([0, -10, 0]);
    scene["planes"] = json!([{ "point": [-1, -100, 0], "normal": [1, 0, 0], "material": "stone" }]);
    scene["bodies"] = json!([
        { "shape": "ball", "position": [0, 5, 0] },
        { "shape": "ball", "position": [0, 1, 0], "fixed": true },
    ]);
    let model = loaded(&scene).model;
    let expected = model.shapes[0].mass * 2.0 * 10.0 * 4.0 / (0.02 * 0.05f64).powi(2);
    assert_close(model.pairs[0].stiffness, expected);

    scene["contact"] = json!({ "stiffness": 123.0, "tangential_stiffness": 45 });
    let law = loaded(&scene).model.pairs[0];
    assert_eq!((law.stiffness, law.tangential_ratio), (123.0, 45.0 / 123.0));
}

#[test]
fn the_time_step_resolves_the_stiffest_contact() {
    let step = |contact: Value, material: Value| {
        let mut scene = ball();
        scene["contact"] = contact;
        scene["materials"]["stone"] = material;
        loaded(&scene)
    };
    let elastic = json!({ "density": 2500, "restitution": 1, "friction": 0.5 });
    let scene = step(json!({ "stiffness": 1e5 }), elastic.clone());
    let mass = scene.model.shapes[0].mass;
    assert_close(scene.model.time_step, PI * (mass / 1e5).sqrt() / 50.0);

    // Critical damping has no end; what counts is twice the undamped time.
    let dead = json!({ "density": 2500, "restitution": 0, "friction": 0.5 });
    let scene = step(json!({ "stiffness": 1e5 }), dead);
    assert_close(scene.model.time_step, 2.0 * PI * (mass / 1e5).sqrt() / 50.0);

    // A strong dashpot limits the step by m/c.
    let damped = json!({ "density": 2500, "damping": 1e5, "friction": 0.5 });
    let scene = step(json!({ "stiffness": 1e5 }), damped);
    assert_close(scene.model.time_step, 0.5 * mass / 1e5);
    assert!(
        scene.notes[0].contains("half of the stability limit"),
        "{:?}",
        scene.notes
    );

    // t_c is 0.01136 s: 1e-4 is fine, 1e-3 is coarse.
    let fine = step(
        json!({ "stiffness": 1e5, "time_step": 1e-4 }),
        elastic.clone(),
    );
    assert_eq!((fine.model.time_step, fine.warnings.len()), (1e-4, 0));
    let coarse = step(json!({ "stiffness": 1e5, "time_step": 1e-3 }), elastic);
    assert_eq!(
        coarse.warnings,
        [
            "contact.time_step: found 0.001 s, expected at most 1/20 of the shortest contact (stone on \
          stone), which now lasts only 11.4 steps; 2.273e-4 s is recommended"
        ]
    );
}

#[test]
fn a_time_step_needs_no_contact() {
    let mut scene = ball();
    scene["planes"] = json!([]);
    scene["duration"] = json!(2);
    scene["gravity"] = json!([0, 0, 0]);
    assert_eq!(loaded(&scene).model.time_step, 2e-3);
    scene["bodies"][0]["angular_velocity"] = json!([0, 0, 100]);
    assert_eq!(loaded(&scene).model.time_step, 1e-4);
    scene["contact"] = json!({ "time_step": 0.5 });
    assert_eq!(loaded(&scene).model.time_step, 0.5);
}

#[test]
fn the_contact_model_is_what_the_scene_says() {
    let model = |contact: Value| loaded(&with(ball(), "/contact", contact)).model.contact;
    assert_eq!(loaded(&ball()).model.contact, ContactModel::default());
    assert_eq!(
        model(json!({ "normal": "hooke", "tangential": "viscous" })),
        ContactModel::default()
    );
    let hooke = ContactModel {
        law: Law::HookeHistory,
        limit_damping: false,
        tangential_damping: 0.5,
        rescales: false,
    };
    assert_eq!(
        model(json!({ "normal": "hooke", "tangential": "history" })),
        hooke
    );
    let limited = json!({ "normal": "hooke", "tangential": "history", "limit_damping": true, "tangential_damping": 0.2 });
    let expected = ContactModel {
        limit_damping: true,
        tangential_damping: 0.2,
        ..hooke
    };
    assert_eq!(model(limited), expected);
    assert_eq!(loaded(&hertz()).model.contact.law, Law::HertzMindlin);
    assert!(!loaded(&hertz()).model.contact.rescales);

    let models = |normal: &str, tangential: &str| {
        let scene = with(
            hertz(),
            "/contact",
            json!({ "normal": normal, "tangential": tangential }),
        );
        loaded(&scene).model
    };
    let rescales = models("hertz", "mindlin-rescale").contact;
    assert_eq!((rescales.law, rescales.rescales), (Law::HertzMindlin, true));
    for (normal, law) in [
        ("hooke", Law::HookeViscous),
        ("hertz", Law::HertzMindlin),
        ("impulse", Law::Impulse),
    ] {
        let frictionless = models(normal, "none");
        assert_eq!(frictionless.contact.law, law);
        assert_eq!(frictionless.pairs[0].friction, 0.0);
    }
    assert_eq!(models("hertz", "mindlin").pairs[0].friction, 0.5);

    // The stiffness does not depend on the tangential model.
    for contact in [
        json!({}),
        json!({ "stiffness": 1e5 }),
        json!({ "tangential_stiffness": 4 }),
    ] {
        let of = |tangential| {
            let scene = with(ball(), "/contact", contact.clone());
            loaded(&with(scene, "/contact/tangential", json!(tangential))).model
        };
        let (viscous, history) = (of("viscous"), of("history"));
        assert_eq!(viscous.pairs, history.pairs);
        assert_eq!(viscous.time_step, history.time_step);
    }
}

/// A contact law that does nothing.
const LAW: &str = include_str!("../data/law.wgsl");

#[test]
fn a_custom_law_is_read_from_beside_the_scene() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("scene.json");
    fs::write(directory.path().join("my_law.wgsl"), LAW).unwrap();
    let custom =
        json!({ "normal": "custom", "file": "my_law.wgsl", "range": 0.01, "stiffness": 1e5 });
    let scene = with(ball(), "/contact", custom);
    let model = scene::parse(&scene.to_string(), &path).unwrap().model;
    let Law::Custom(law) = &model.contact.law else {
        panic!("{:?}", model.contact);
    };
    assert_eq!(law.file, directory.path().join("my_law.wgsl"));
    assert_eq!((law.source.as_str(), law.range), (LAW, 0.01));
    assert_eq!(model.pairs[0].stiffness, 1e5);

    fs::write(directory.path().join("bytes.wgsl"), b"// \xff").unwrap();
    let scene = with(scene, "/contact/file", json!("bytes.wgsl"));
    assert_eq!(
        scene::parse(&scene.to_string(), &path)
            .unwrap_err()
            .problems[0]
            .to_string(),
        "contact.file: found \"bytes.wgsl\", whose byte number 3 is not UTF-8 text, expected a WGSL \
         file, relative to the folder of the scene"
    );
}

#[test]
fn hertz_takes_its_stiffness_from_the_materials() {
    let material = |modulus: f64, ratio: f64| {
        json!({ "density": 1000, "restitution": 0.5, "friction": 0.5,
                "young_modulus": modulus, "poisson_ratio": ratio })
    };
    let mut scene = two_materials(material(70e9, 0.3), material(10e9, 0.2));
    scene["contact"] = json!({ "normal": "hertz", "tangential": "mindlin" });
    scene["materials"]["wall"] = json!({ "density": 1000, "restitution": 0.5, "friction": 0.5 });
    scene["planes"] = json!([{ "point": [0, -1, 0], "normal": [0, 1, 0], "material": "wall" }]);
    let scene = loaded(&scene);
    let pairs = &scene.model.pairs;
    let (modulus_a, modulus_b): (f64, f64) = (70e9 / 0.91, 10e9 / 0.96);
    let (shear_a, shear_b) = (70e9 / 2.6 / 1.7, 10e9 / 2.4 / 1.8);
    let together = |a: f64, b: f64| 1.0 / (1.0 / a + 1.0 / b);
    let expect = |pair: usize, modulus: f64, shear: f64| {
        let law = pairs[pair];
        assert_close(law.stiffness, 4.0 / 3.0 * modulus);
        assert_close(law.tangential_ratio, 4.0 * shear / modulus);
    };
    expect(
        0,
        together(modulus_a, modulus_a),
        together(shear_a, shear_a),
    );
    expect(
        1,
        together(modulus_a, modulus_b),
        together(shear_a, shear_b),
    );
    expect(
        3,
        together(modulus_a, modulus_b),
        together(shear_a, shear_b),
    );
    expect(
        4,
        together(modulus_b, modulus_b),
        together(shear_b, shear_b),
    );
    // A wall of the material of a body gives way as that does.
    for pair in [0, 1, 3, 4] {
        assert_eq!(pairs[pair].wall_stiffness, pairs[pair].stiffness);
        assert_eq!(
            pairs[pair].wall_tangential_ratio,
            pairs[pair].tangential_ratio
        );
    }
    // A wall of which nothing is known is rigid: only the sphere counts.
    assert_close(pairs[2].wall_stiffness, 4.0 / 3.0 * modulus_a);
    assert_close(pairs[2].wall_tangential_ratio, 4.0 * shear_a / modulus_a);
    assert_close(pairs[5].wall_stiffness, 4.0 / 3.0 * modulus_b);
    // Of the wall, which no sphere is of, nothing is known, nor needed.
    for pair in [2, 5, 6, 7, 8] {
        assert_eq!(
            (pairs[pair].stiffness, pairs[pair].tangential_ratio),
            (0.0, 0.0)
        );
    }
    assert_eq!(pairs[6].wall_stiffness, 0.0);
    assert_eq!(
        scene.notes[..3],
        [
            "effective modulus 9.174e9 Pa of a on b",
            "effective modulus 7.692e10 Pa of a on a rigid wall",
            "effective modulus 1.042e10 Pa of b on a rigid wall",
        ]
    );
}

#[test]
fn two_walls_of_a_name_and_an_inlet_outside_of_the_domain_are_refused() {
    let mut scene = ball();
    let wall = json!({ "name": "side", "rectangle": { "size": [1, 1] }, "material": "stone", "position": [3, 0, 0] });
    scene["walls"] = json!([wall, wall]);
    assert_eq!(
        parse(&scene).unwrap_err().problems[0].to_string(),
        "walls[1].name: found \"side\", the name of walls[0], expected a name that no other wall has, to tell them apart in results"
    );
    let mut scene = ball();
    scene["domain"] =
        json!({ "min": [-1, -1, -1], "max": [1, 1, 1], "periodic": [true, false, false] });
    scene["inlets"] = json!([{ "rate": 1, "shapes": { "ball": 1 },
                               "region": { "min": [-0.5, 3, -0.5], "max": [0.5, 4, 0.5] } }]);
    assert_eq!(
        parse(&scene).unwrap_err().problems[0].to_string(),
        "inlets[0].region: found 3 to 4 along y, which is outside of the domain, expected a region within -1 to 1 along y"
    );
    scene["inlets"][0]["region"] = json!({ "min": [-0.5, 0.5, -0.5], "max": [0.5, 4, 0.5] });
    loaded(&scene);
}

#[test]
fn walls_of_a_material_are_rigid_or_are_not() {
    let stiffness = |scene: &Value| loaded(scene).model.pairs[0].wall_stiffness;
    let soft = hertz();
    let mut rigid = hertz();
    for plane in rigid["planes"].as_array_mut().unwrap() {
        plane["rigid"] = json!(true);
    }
    assert_close(stiffness(&rigid), 2.0 * stiffness(&soft));

    let wall = json!({ "sphere": { "radius": 9 }, "material": "stone", "side": "inside" });
    let mut both = rigid.clone();
    both["walls"] = json!([wall]);
    assert_eq!(
        parse(&both).unwrap_err().problems[0].to_string(),
        "walls[0].rigid: found false, but planes[0] is of the same material, and true, expected the same for all \
         walls of a material; give the rigid ones a material of their own"
    );
    both["walls"][0]["rigid"] = json!(true);
    assert_close(stiffness(&both), stiffness(&rigid));
    both["materials"]["bare"] = json!({ "density": 1000, "restitution": 0.5, "friction": 0.5 });
    both["walls"][0]["material"] = json!("bare");
    both["walls"][0]["rigid"] = json!(false);
    assert_eq!(
        parse(&both).unwrap_err().problems[0].to_string(),
        "walls[0].rigid: found false, expected a material with \"young_modulus\" and \"poisson_ratio\", which \
         \"bare\" does not have"
    );
    let mut hooke = with(
        rigid,
        "/contact",
        json!({ "normal": "hooke", "tangential": "history" }),
    );
    hooke["materials"]["stone"]
        .as_object_mut()
        .unwrap()
        .retain(|name, _| !["young_modulus", "poisson_ratio"].contains(&name.as_str()));
    assert_eq!(
        loaded(&hooke).warnings,
        ["planes[0]: the normal model \"hooke\" does not use \"rigid\"; \"hertz\" does"]
    );
}

/// Two equal balls that close at `speed` without gravity, of radius 0.01 m and density 2800 kg/m³,
/// E 48 GPa, nu 0.2, by Hertz's law.
fn glass_balls(speed: f64) -> Value {
    let glass = json!({ "density": 2800, "restitution": 1, "friction": 0.3,
                        "young_modulus": 48e9, "poisson_ratio": 0.2 });
    let mut scene = with(ball(), "/materials/stone", glass);
    scene["contact"] = json!({ "normal": "hertz", "tangential": "mindlin" });
    scene["shapes"]["ball"]["sphere"]["radius"] = json!(0.01);
    scene["planes"] = json!([]);
    scene["gravity"] = json!([0, 0, 0]);
    scene["bodies"] = json!([
        { "shape": "ball", "velocity": [speed, 0, 0] },
        { "shape": "ball", "position": [1, 0, 0] },
    ]);
    scene
}

#[test]
fn the_time_step_resolves_hertzs_contact_and_waves_through_spheres() {
    // Chung and Ooi (2011), test 1: contact for 40.34 us, overlap 274.11 um.
    let mass = 2800.0 * 4.0 / 3.0 * PI * 1e-6;
    let modulus = 0.5 * 48e9 / 0.96;
    let time = contact::hertz_contact_time(modulus, 0.005, 0.5 * mass, 20.0);
    assert!(close(time, 40.34e-6, 1e-3), "{time}");
    let overlap = contact::hertz_largest_overlap(modulus, 0.005, 0.5 * mass, 20.0);
    assert!(close(overlap, 274.11e-6, 1e-4), "{overlap}");
    // pi R sqrt(rho/G)/(0.1631 nu + 0.8766), G = 20 GPa.
    let waves = contact::rayleigh_time(0.01, 2800.0, 48e9, 0.2);
    assert_close(waves, PI * 0.01 * 1.4e-7f64.sqrt() / 0.90922);

    // Fast bodies: a fiftieth of the contact. Slow ones: a fifth of the Rayleigh time.
    let fast = loaded(&glass_balls(20.0));
    assert_close(fast.model.time_step, time / 50.0);
    assert_eq!(
        fast.notes[1],
        "time step 8.073e-7 s: t_c/50 of the stiffest contact (stone on stone, 0.005864 kg)"
    );
    for speed in [0.0, 1e-3] {
        let slow = loaded(&glass_balls(speed));
        assert_close(slow.model.time_step, 0.2 * waves);
        assert_eq!(
            slow.notes[1],
            "time step 2.586e-6 s: 20 % of the Rayleigh time of the smallest sphere of stone"
        );
    }

    // A plane gives way as another ball does, of which half of the radius and mass count; a rigid one is twice as stiff.
    let mut scene = glass_balls(20.0);
    scene["planes"] = json!([{ "point": [-1, 0, 0], "normal": [1, 0, 0], "material": "stone" }]);
    scene["bodies"].as_array_mut().unwrap().pop();
    let time = contact::hertz_contact_time(modulus, 0.01, mass, 20.0);
    assert_close(loaded(&scene).model.time_step, time / 50.0);
    scene["planes"][0]["rigid"] = json!(true);
    let time = contact::hertz_contact_time(2.0 * modulus, 0.01, mass, 20.0);
    assert_close(loaded(&scene).model.time_step, time / 50.0);

    // Given ones: fine, coarse, unstable; and where nothing moves, by the Rayleigh time alone.
    let given =
        |speed: f64, step: f64| parse(&with(glass_balls(speed), "/contact/time_step", json!(step)));
    assert_eq!(given(20.0, 1e-6).unwrap().warnings, [""; 0]);
    let warnings = given(20.0, 4e-6).unwrap().warnings;
    assert!(warnings[0].contains("only 10.1 steps"), "{warnings:?}");
    let error = given(20.0, 1e-5).unwrap_err();
    assert!(
        error.problems[0].expected.contains("is unstable"),
        "{error}"
    );
    let still = given(0.0, 5e-6).unwrap();
    assert_eq!(still.warnings, [""; 0]);
    assert_eq!(
        still.notes[1],
        "time step 5e-6 s: given; 38.67 % of the Rayleigh time of the smallest sphere of stone"
    );
    assert_eq!(
        given(0.0, 6e-6).unwrap().warnings,
        [
            "contact.time_step: found 6e-6 s, expected at most 40 % of the Rayleigh time of the \
             smallest sphere of stone, which is 1.293e-5 s; 2.586e-6 s is recommended"
        ]
    );
}

#[test]
fn the_tangential_spring_limits_the_time_step_of_a_law_with_history() {
    let step = |model: &str, stiffness: f64| {
        let contact =
            json!({ "tangential": model, "stiffness": 1e5, "tangential_stiffness": stiffness });
        loaded(&with(ball(), "/contact", contact))
    };
    let resolved = step("history", 0.0).model.time_step;
    assert_eq!(step("history", 2e4).model.time_step, resolved);
    assert_eq!(step("viscous", 1e9).model.time_step, resolved);
    // A sphere turns as it is pushed: m_t = m/(1 + 5/2).
    let stiff = step("history", 1e9);
    let mass = stiff.model.shapes[0].mass;
    assert_close(stiff.model.time_step, 0.5 * (mass / 3.5 / 1e9).sqrt());
    assert!(
        stiff.notes[0].contains("half of the stability limit, set by the tangential spring"),
        "{:?}",
        stiff.notes
    );
    // So does a strong dashpot across: m_t/c_t.
    let mut scene = with(hooke(), "/materials/stone/damping", json!(2000));
    scene["materials"]["stone"]
        .as_object_mut()
        .unwrap()
        .remove("restitution");
    scene["contact"] = json!({ "normal": "hooke", "tangential": "history", "stiffness": 1e5, "tangential_damping": 10 });
    let expected = 0.5 * mass / 3.5 / 2e4;
    assert_close(loaded(&scene).model.time_step, expected);

    // A row of two spheres: 1/m + (R/sqrt(I) + R/sqrt(I_axis))².
    let mut scene = without(ball(), "/shapes/ball/sphere");
    scene["shapes"]["ball"]["rod"] = json!({ "n": 2, "radius": 0.05 });
    let shape = &loaded(&scene).model.shapes[0];
    let root = (1.0f64 / 1.4).sqrt() + (1.0f64 / 0.4).sqrt();
    let expected = shape.mass / (1.0 + root * root);
    assert!(close(contact::shear_mass(shape), expected, 1e-7));
}

#[test]
fn rolling_twisting_and_cohesion_are_mixed() {
    let material = |more: Value| {
        let mut material = json!({ "density": 1000, "restitution": 0.5, "friction": 0.5 });
        material
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        material
    };
    let scene = |a: Value, b: Value| {
        with(
            two_materials(material(a), material(b)),
            "/contact",
            json!({ "normal": "hooke", "tangential": "history", "stiffness": 1e5 }),
        )
    };
    let pair = |a: Value, b: Value| {
        let model = loaded(&scene(a, b)).model;
        assert_eq!(model.pairs[1], model.pairs[2]);
        model.pairs[1]
    };
    let plain = pair(json!({}), json!({}));
    assert_eq!(
        (plain.rolling_friction, plain.twisting_friction),
        (0.0, 0.0)
    );
    assert_eq!(
        (plain.rolling, plain.cohesion),
        (Rolling::Spring, Cohesion::None)
    );

    let mixed = pair(
        json!({ "rolling_friction": 0.4, "twisting_friction": 0.1, "rolling": "spring" }),
        json!({ "rolling_friction": 0.1, "twisting_friction": 0.9, "rolling": "constant" }),
    );
    assert_close(mixed.rolling_friction, 0.2);
    assert_close(mixed.twisting_friction, 0.3);
    assert_eq!(mixed.rolling, Rolling::Spring);
    let half = pair(json!({ "rolling_friction": 0.4 }), json!({}));
    assert_eq!(
        (half.rolling_friction, half.rolling),
        (0.0, Rolling::Spring)
    );
    let constant = json!({ "rolling": "constant" });
    assert_eq!(pair(constant.clone(), constant).rolling, Rolling::Constant);

    let cohesion =
        |a: Value, b: Value| pair(json!({ "cohesion": a }), json!({ "cohesion": b })).cohesion;
    assert_eq!(
        cohesion(json!(0.4), json!({ "surface_energy": 0.1 })),
        Cohesion::SurfaceEnergy(0.2)
    );
    assert_eq!(
        cohesion(
            json!({ "force": 9, "range": 0.1 }),
            json!({ "force": 4, "range": 0.3 })
        ),
        Cohesion::Constant {
            force: 6.0,
            range: 0.2
        }
    );
    assert_eq!(cohesion(json!(0.4), json!(0)), Cohesion::None);
    assert_eq!(
        pair(json!({ "cohesion": 1 }), json!({})).cohesion,
        Cohesion::None
    );
    let constant = json!({ "force": 9, "range": 0.1 });
    assert_eq!(cohesion(json!(0), constant.clone()), Cohesion::None);

    // Kinds that differ need a pair.
    let mut scene = scene(json!({ "cohesion": 0.4 }), json!({ "cohesion": constant }));
    assert_eq!(
        problem(&scene).to_string(),
        "pairs: found no cohesion of \"a\" and \"b\", one of which has a surface energy and the other \
         a constant force, expected a pair that says how they attract each other, such as \
         {\"between\": [\"a\", \"b\"], \"cohesion\": 0}"
    );
    scene["pairs"] = json!([{ "between": ["b", "a"], "friction": 0.1 }]);
    assert_eq!(problem(&scene).path, "pairs");
    scene["pairs"] = json!([{ "between": ["b", "a"], "cohesion": 0.7, "rolling": "spring",
                              "rolling_friction": 0.3, "twisting_friction": 0.6 }]);
    let pairs = loaded(&scene).model.pairs;
    assert_eq!(pairs[1].cohesion, Cohesion::SurfaceEnergy(0.7));
    assert_eq!(
        (pairs[1].rolling_friction, pairs[1].twisting_friction),
        (0.3, 0.6)
    );
    assert_eq!(pairs[1].rolling, Rolling::Spring);
    assert_eq!(pairs[1], pairs[2]);
    assert_eq!(pairs[0].cohesion, Cohesion::SurfaceEnergy(0.4));
    assert_eq!(
        pairs[3].cohesion,
        Cohesion::Constant {
            force: 9.0,
            range: 0.1
        }
    );
    scene["pairs"] = json!([{ "between": ["a", "b"], "cohesion": { "force": 0, "range": 1 } }]);
    assert_eq!(loaded(&scene).model.pairs[1].cohesion, Cohesion::None);
}

#[test]
fn elastic_constants_that_no_law_uses_are_a_warning() {
    let mut scene = with(
        hertz(),
        "/contact",
        json!({ "normal": "hooke", "tangential": "history" }),
    );
    assert_eq!(
        loaded(&scene).warnings,
        [
            "materials.stone: the normal model \"hooke\" does not use \"young_modulus\" and \"poisson_ratio\"; \
             \"hertz\" does"
        ]
    );
    scene["materials"]["stone"]
        .as_object_mut()
        .unwrap()
        .remove("young_modulus");
    let warnings = loaded(&scene).warnings;
    assert!(
        warnings[0].contains("does not use \"poisson_ratio\";"),
        "{warnings:?}"
    );
    assert_eq!(loaded(&hertz()).warnings, [""; 0]);
}

#[test]
fn a_domain_is_long_enough_for_what_is_in_it() {
    let domain = |length: f64| json!({ "min": [-1, 0, 0], "max": [length - 1.0, -5, 3], "periodic": [true, false, true] });
    let scene = with(balls(), "/domain", domain(2.0));
    assert_eq!(
        loaded(&scene).model.domain,
        Some(Domain {
            min: DVec3::new(-1.0, 0.0, 0.0),
            max: DVec3::new(1.0, -5.0, 3.0),
            periodic: [true, false, true],
        })
    );
    assert_eq!(loaded(&ball()).model.domain, None);

    // Two diameters.
    let fits = |scene: &Value, length| {
        let scene = with(scene.clone(), "/domain", domain(length));
        match parse(&scene) {
            Ok(_) => true,
            Err(error) => error
                .problems
                .iter()
                .all(|problem| problem.path != "domain"),
        }
    };
    assert!(fits(&scene, 0.2) && !fits(&scene, 0.2 - 1e-6));

    // The range of cohesion comes on top, and that of a custom law.
    let mut sticky = with(
        scene.clone(),
        "/contact",
        json!({ "normal": "hooke", "tangential": "history" }),
    );
    sticky["materials"]["stone"]["cohesion"] = json!({ "force": 1e-3, "range": 0.01 });
    assert!(fits(&sticky, 0.22) && !fits(&sticky, 0.22 - 1e-6));
    let said = problem(&with(sticky.clone(), "/domain", domain(0.21))).to_string();
    assert!(said.ends_with("the range of forces across gaps"), "{said}");
    let law = json!({ "normal": "custom", "file": own("tests/data/law.wgsl"), "range": 0.02 });
    let custom = with(scene.clone(), "/contact", law);
    assert!(fits(&custom, 0.24) && !fits(&custom, 0.24 - 1e-6));

    // Long bodies: twice their width, here 2 * 1 m.
    let mut rods = without(scene, "/shapes/ball/sphere");
    rods["shapes"]["ball"]["rod"] = json!({ "n": 10, "radius": 0.05 });
    rods["fills"] = json!([]);
    assert!(fits(&rods, 2.0 + 1e-9));
    assert_eq!(
        problem(&with(rods, "/domain", domain(1.9))).to_string(),
        "domain: found 1.9 m along x, expected at least 2.001 m, twice the width of the largest body"
    );

    // Bodies may lie outside; a box that is not periodic does nothing.
    let scene = with(ball(), "/domain", domain(2.0));
    let outside = with(scene.clone(), "/bodies/0/position", json!([7, 1, 0]));
    assert_eq!(loaded(&outside).warnings, [""; 0]);
    let idle = loaded(&with(
        scene,
        "/domain/periodic",
        json!([false, false, false]),
    ));
    assert_eq!(
        idle.warnings,
        ["domain: it is periodic along no axis, so it does nothing; its bounds are not walls"]
    );
    assert_eq!(idle.model.domain, None);
}

// What each mistake is told.

#[test]
fn errors_are_sentences_with_file_place_finding_and_expectation() {
    let sentence = |scene: Value| parse(&scene).unwrap_err().to_string();
    assert_eq!(
        sentence(with(ball(), "/shapes/ball/sphere/radius", json!(-0.05))),
        "test.json: shapes.ball.sphere.radius: found -0.05, expected a length greater than 0 (m)"
    );
    assert_eq!(
        sentence(with(
            ball(),
            "/shapes/ball/sphere",
            json!({ "radus": 0.05 })
        )),
        "test.json: shapes.ball.sphere.radus: found the unknown field \"radus\", expected \
         \"radius\"; did you mean \"radius\"?"
    );
    let two = with(ball(), "/bodies/0/shape", json!("bal"));
    let two = with(two, "/duration", json!(-1));
    assert_eq!(
        sentence(two),
        "test.json: duration: found -1, expected a time of 0 or more (s)\n\
         test.json: bodies[0].shape: found the undefined shape \"bal\", expected \"ball\", the \
         only shape; did you mean \"ball\"?"
    );
    let mut many = ball();
    many["bodies"] = json!(vec![json!({ "shape": "brick" }); 30]);
    let sentence = sentence(many);
    assert_eq!(sentence.lines().count(), 21);
    assert!(sentence.ends_with("test.json: and 10 more problems"));
}

/// Each line of the table is one problem, told in exactly these words.
#[test]
fn one_mistake_is_one_problem_at_its_place() {
    let data = own("tests/data").display().to_string().replace('\\', "/");
    let table = include_str!("../data/scene_mistakes.txt").replace("tests/data", &data);
    let mut cases = 0;
    for line in table
        .lines()
        .filter(|line| line.contains(" => ") && !line.starts_with('#'))
    {
        let (place, rest) = line.split_once(" = ").unwrap();
        let (value, sentence) = rest.split_once(" => ").unwrap();
        let (law, place) = place.split_once(':').unwrap_or(("viscous", place));
        let scene = match law {
            "hertz" => hertz(),
            "hooke" => hooke(),
            _ if place.starts_with("/fills") => balls(),
            _ => ball(),
        };
        let problem = problem(&with(scene, place, serde_json::from_str(value).unwrap()));
        assert_eq!(problem.to_string(), sentence, "{line}");
        cases += 1;
    }
    assert!(cases > 150, "{cases}");
}

#[test]
fn random_placement_takes_no_grid_options_and_says_when_it_is_too_crowded() {
    let random = with(balls(), "/fills/0/placement", json!("random"));
    let problem_of = |pointer, value| problem(&with(random.clone(), pointer, value));
    let spaced = problem_of("/fills/0/spacing", json!(0.2));
    assert_eq!(spaced.path, "fills[0].spacing");
    assert!(
        spaced
            .to_string()
            .contains("nothing with the placement \"random\"")
    );
    let crowded = problem_of("/fills/0/count", json!(5000));
    assert_eq!(crowded.path, "fills[0].region");
    assert!(
        crowded.to_string().contains("room for 5000 bodies"),
        "{crowded}"
    );
}

#[test]
fn a_required_field_that_is_missing_is_named() {
    for (pointer, path) in [
        ("/version", "version"),
        ("/materials", "materials"),
        ("/shapes", "shapes"),
        ("/materials/stone/density", "materials.stone.density"),
        ("/shapes/ball/material", "shapes.ball.material"),
        ("/planes/0/normal", "planes[0].normal"),
        ("/bodies/0/shape", "bodies[0].shape"),
        ("/fills/0/region/min", "fills[0].region.min"),
    ] {
        let problem = problem(&without(balls(), pointer));
        assert_eq!(
            (problem.path.as_str(), problem.found.as_str()),
            (path, "nothing")
        );
    }
    let empty = problem(&without(ball(), "/bodies"));
    assert_eq!(empty.path, "bodies");
    assert_eq!(empty.found, "neither bodies nor fills nor inlets");
}

#[test]
fn all_mistakes_are_told_at_once() {
    let mut scene = balls();
    scene["duration"] = json!(-1);
    scene["materials"]["stone"]["friction"] = json!(-1);
    scene["shapes"]["ball"]["sphere"]["radius"] = json!(0);
    scene["planes"][0]["normal"] = json!([0, 0, 0]);
    scene["bodies"][0]["orientation"] = json!([0, 0, 0, 0]);
    scene["fills"][0]["shapes"] = json!({ "brick": 1 });
    let paths: Vec<String> = problems(&scene).into_iter().map(|p| p.path).collect();
    let expected = [
        "duration",
        "materials.stone.friction",
        "shapes.ball.sphere.radius",
        "planes[0].normal",
        "bodies[0].orientation",
        "fills[0].shapes.brick",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn a_name_occurs_once() {
    let text = ball().to_string();
    let twice = text.replace(
        "\"shapes\":{",
        "\"shapes\":{\"ball\":{\"sphere\":{\"radius\":1},\"material\":\"stone\"},",
    );
    let problem = problem_in(&twice);
    assert_eq!(
        problem.to_string(),
        "shapes: found \"ball\" twice, expected each name once"
    );
    let problem = problem_in(&text.replace("\"version\":1", "\"version\":1,\"version\":1"));
    assert_eq!(
        problem.to_string(),
        "version: found \"version\" twice, expected it once"
    );
}

#[test]
fn what_is_no_json_is_shown_with_line_and_column() {
    for (text, sentence) in [
        (
            "",
            "$: found the end of the file at line 1, column 0, expected the rest of a value",
        ),
        (
            "{\"version\": 1",
            "$: found the end of the file at line 1, column 13, expected the rest of an object",
        ),
        (
            "{\"version\": 1,\n \"gravity\": [0, NaN, 0]}",
            "gravity[1]: found NaN at line 2, column 17, expected a number; JSON has no NaN and no \
             infinity; write a finite number",
        ),
        (
            "{\"duration\": -Infinity}",
            "duration: found -Infinity at line 1, column 15, expected a number; JSON has no NaN and \
             no infinity; write a finite number",
        ),
        (
            "{\"duration\": 1e999}",
            "duration: found `1e999` at line 1, column 18, expected a number below 1.8e308",
        ),
        (
            "{\"duration\": .5}",
            "duration: found `.5` at line 1, column 14, expected a value: a number, a string in \
             double quotes, true, false, null, [...] or {...}",
        ),
        (
            "{\"version\": 1,,}",
            "$: found `,` at line 1, column 15, expected a name in double quotes",
        ),
        (
            "{'version': 1}",
            "$: found `'` at line 1, column 2, expected a name in double quotes",
        ),
        (
            "{ /* a scene\n}",
            "$: found the start of a comment at line 1, column 3, expected its end, */, further on",
        ),
        (
            "{ # a scene\n}",
            "$: found `#` at line 1, column 3, expected JSON; a comment begins with // or stands \
             between /* and */",
        ),
        (
            "// One\n{ /* two\n */ \"gravity\": [0, x] // three\n}",
            "gravity[1]: found `x` at line 3, column 20, expected a value: a number, a string in \
             double quotes, true, false, null, [...] or {...}",
        ),
        (
            "{\"version\" 1}",
            "$: found `1` at line 1, column 12, expected `:`",
        ),
        (
            "[]",
            "$: found a list, expected a scene: an object with \"version\", \"materials\", \
                \"shapes\" and \"bodies\", \"fills\" or \"inlets\"",
        ),
    ] {
        assert_eq!(problem_in(text).to_string(), sentence);
    }
    let trailing = problem_in(&format!("{} x", ball()));
    assert_eq!(trailing.expected, "the end of the file");
    let deep = problem_in(&"[".repeat(100_000));
    assert_eq!(deep.path, "$");
}

#[test]
fn a_domain_is_periodic_only_where_it_says_so() {
    let mut scene = ball();
    scene["domain"] = json!({ "min": [-1, -1, -1], "max": [1, 1, 1] });
    let left_out = loaded(&scene);
    scene["domain"]["periodic"] = json!([false, false, false]);
    assert_eq!(left_out, loaded(&scene));
    let said = |warning: &String| warning.starts_with("domain: it is periodic along no axis");
    assert!(left_out.warnings.iter().any(said));
}

#[test]
fn comments_and_commas_after_the_last_entry_change_nothing() {
    let plain = serde_json::to_string_pretty(&ball()).unwrap();
    let mut commented = String::from("\u{feff}// A scene /* with\n");
    for line in plain.lines() {
        let (before, bracket) = line.split_at(line.len() - line.trim_start().len());
        let ends = bracket.starts_with([']', '}']);
        if ends {
            commented.push_str(", /* the last */\n");
        }
        commented.push_str(&format!("{before}{bracket} // \" }} ], comment\n"));
    }
    let read = |text: &str| scene::parse(text, "ball.json".as_ref()).unwrap();
    assert_eq!(read(&commented), read(&plain));
    // What is saved has none of it.
    let folder = tempfile::tempdir().unwrap();
    read(&commented).save(folder.path()).unwrap();
    let saved = fs::read_to_string(folder.path().join(scene::FILE)).unwrap();
    serde_json::from_str::<Value>(&saved).unwrap();
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let sentence = |name: &str| {
        let path = directory.path().join(name);
        let sentence = scene::load(&path).unwrap_err().to_string();
        sentence.replace(&directory.path().display().to_string(), "DIR")
    };
    fs::write(directory.path().join("pile.json"), "{").unwrap();
    fs::write(directory.path().join("bytes.json"), b"{\"name\": \"\xff\"}").unwrap();
    assert_eq!(
        sentence("plie.json"),
        "DIR/plie.json: found no such file, expected a scene file; did you mean DIR/pile.json?"
    );
    assert_eq!(
        sentence("other.json"),
        "DIR/other.json: found no such file, expected a scene file"
    );
    assert_eq!(
        sentence(""),
        "DIR/: found a directory, expected a scene file"
    );
    fs::create_dir(directory.path().join("run")).unwrap();
    fs::write(directory.path().join("run/run.checkpoint"), "").unwrap();
    assert_eq!(
        sentence("run"),
        "DIR/run: found a directory, expected a scene file; it holds a run, which can be resumed; its scene is \
         DIR/run/scene.json"
    );
    assert_eq!(
        sentence("bytes.json"),
        "DIR/bytes.json: found a byte that is not UTF-8 text, number 10, expected a scene, in JSON"
    );
}

#[test]
fn bodies_that_overlap_deeply_are_named() {
    let mut scene = ball();
    let at = |x: f64, y: f64| json!({ "shape": "ball", "position": [x, y, 0] });
    scene["bodies"] = json!([at(0.0, 1.0), at(1.0, 1.0), at(1.1, 1.0), at(0.03, 1.0)]);
    let problem_of_two = problem(&scene);
    assert_eq!(
        problem_of_two.to_string(),
        "bodies[0]: found an overlap of 0.07 m (140 % of the smaller radius) with bodies[3], \
         expected at most 5 % at the start; move one of them, or write \"initial_overlap\": \
         \"relax\" to ease them apart, or \"allow\" to start with overlaps"
    );

    // 8 % of the radius is too much, 4 % is not.
    scene["bodies"] = json!([at(0.0, 1.0), at(0.096, 1.0)]);
    assert_eq!(problem(&scene).path, "bodies[0]");
    scene["bodies"] = json!([at(0.0, 1.0), at(0.098, 1.0)]);
    loaded(&scene);

    // In and behind a plane; fixed bodies may be.
    for (y, fixed, bad) in [
        (0.046, false, true),
        (-3.0, false, true),
        (0.0, true, false),
    ] {
        scene["bodies"] = json!([at(0.0, y), at(1.0, 1.0)]);
        scene["bodies"][0]["fixed"] = json!(fixed);
        match parse(&scene) {
            Ok(_) => assert!(!bad, "{y}"),
            Err(error) => {
                assert!(bad, "{error}");
                assert_eq!(error.problems[0].path, "bodies[0]");
                assert!(
                    error.problems[0].found.contains("with planes[0]"),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn bodies_of_too_many_spheres_are_refused() {
    let mut scene = without(ball(), "/shapes/ball/sphere");
    scene["shapes"]["ball"]["cube"] = json!({ "n": 46, "radius": 0.001 });
    scene["bodies"] = json!(vec![json!({ "shape": "ball" }); 20_600]);
    assert_eq!(
        problem(&scene).to_string(),
        "bodies: found bodies of 2.005e9 spheres, expected a scene of at most 2000000000 spheres"
    );
}

#[test]
fn overlapping_bodies_may_start_so_on_request() {
    let mut scene = ball();
    scene["initial_overlap"] = json!("allow");
    let at = |x: f64| json!({ "shape": "ball", "position": [x, 1, 0] });
    scene["bodies"] = json!([at(0.0), at(0.08), at(1.0), at(1.06)]);
    let Scene { model, notes, .. } = loaded(&scene);
    assert_eq!(model.bodies[1].position.x, 0.08);
    assert_eq!(
        notes[0],
        "2 overlaps of more than 5 % at the start are allowed; in the deepest, of bodies[2], an overlap of \
         0.04 m (80 % of the smaller radius) with bodies[3]"
    );
    scene["bodies"] = json!([at(0.0), at(0.05)]);
    let problem = problem(&scene).to_string();
    assert!(
        problem.contains("expected less than 100 % at the start, even where overlaps are allowed"),
        "{problem}"
    );
}

#[test]
fn overlapping_bodies_are_eased_apart_on_request() {
    let mut scene = ball();
    scene["initial_overlap"] = json!("relax");
    let at = |x: f64| json!({ "shape": "ball", "position": [x, 0.04, 0] });
    scene["bodies"] = json!([at(0.0), at(0.03), at(0.03)]);
    let Scene { model, notes, .. } = loaded(&scene);
    for (index, body) in model.bodies.iter().enumerate() {
        assert!(body.position.y > 0.05 * (1.0 - 2e-3));
        for other in &model.bodies[..index] {
            assert!(body.position.distance(other.position) > 0.1 * (1.0 - 2e-3));
        }
    }
    assert!(notes[0].contains("3 bodies moved"), "{notes:?}");

    // Two that cannot be parted: between planes closer than a ball is wide.
    scene["planes"] = json!([
        { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" },
        { "point": [0, 0.08, 0], "normal": [0, -1, 0], "material": "stone" },
    ]);
    let problem = problem(&scene);
    assert_eq!(problem.path, "initial_overlap");
    assert!(
        problem.to_string().contains("room for all bodies"),
        "{problem}"
    );
}

#[test]
fn doubts_are_warnings() {
    let mut scene = ball();
    scene["materials"]["wood"] = json!({ "density": 700, "restitution": 0.5, "friction": 0.5 });
    scene["shapes"]["grain"] = json!({ "sphere": { "radius": 1e-5 }, "material": "stone" });
    assert_eq!(
        loaded(&scene).warnings,
        [
            "materials.wood: no shape and no wall is of this material",
            "shapes.grain: no body, no fill and no inlet has this shape, and \"spawn\" does not name it",
        ]
    );
    scene["bodies"] = json!([
        { "shape": "ball", "position": [0, 1, 0] },
        { "shape": "grain", "position": [0, 2, 0] },
    ]);
    let warnings = loaded(&scene).warnings;
    assert_eq!(warnings.len(), 3);
    let many = warnings
        .iter()
        .any(|warning| warning.starts_with("duration: 1 s take "));
    assert!(many, "{warnings:?}");
    assert_eq!(
        warnings[0],
        "shapes.ball: found the radius 0.05 m, 5000 times the smallest (0.00001 m, of shapes.grain), \
         expected at most 1000 times; the search for contacts will be slow"
    );
    let at =
        |x: usize| json!({ "shape": "ball", "position": [x, 1, 0], "orientation": [0, 0, 0, 2] });
    let warnings = loaded(&with(ball(), "/bodies", (0..30).map(at).collect())).warnings;
    assert_eq!(
        (warnings.len(), &*warnings[20]),
        (21, "and 10 more warnings")
    );
    let fixed = with(ball(), "/bodies/0/fixed", json!(true));
    let warnings = loaded(&fixed).warnings;
    assert_eq!(
        warnings,
        ["bodies: all of them are fixed, so nothing will move"]
    );
    // Looks that do not come.
    let mut scene = ball();
    scene["look_every"] = json!({ "seconds": 50 });
    assert_eq!(
        loaded(&scene).warnings,
        ["look_every: there are no inlets, outlets, probes or rules of breakage to look at"]
    );
    scene["outlets"] = json!([{ "inside": { "min": [-1, -1, -1], "max": [1, 0, 1] } }]);
    assert_eq!(
        loaded(&scene).warnings,
        [
            "look_every: it is longer than the duration, 1 s, so inlets, outlets and probes act only at the start"
        ]
    );
}

// What nobody thought of.

/// A small scene with every field of the format in it.
fn everything() -> Value {
    let mut scene: Value = serde_json::from_str(include_str!("../data/everything.json")).unwrap();
    scene["shapes"]["corner"]["mesh"]["file"] = json!(own("tests/data/tetrahedron.obj"));
    scene
}

/// The full scene with the settings of each law that has some of its own.
fn everything_by_each_law() -> [Value; 4] {
    let by = |contact| with(everything(), "/contact", contact);
    [
        everything(),
        by(
            json!({ "normal": "hertz", "tangential": "mindlin", "tangential_damping": 0.3, "limit_damping": false,
                   "time_step": 1e-5 }),
        ),
        by(
            json!({ "normal": "custom", "file": own("tests/data/law.wgsl"), "range": 0.01,
                   "max_overlap": 0.02, "tangential_damping": 0.3, "tangential_stiffness": 10 }),
        ),
        everything_of_impulses(),
    ]
}

/// All of it that goes with the normal model `impulse`.
fn everything_of_impulses() -> Value {
    let mut scene = with(
        everything(),
        "/contact",
        json!({ "normal": "impulse", "time_step": 1e-2, "substeps": 100 }),
    );
    scene["integrator"] = json!("semi-implicit");
    scene.as_object_mut().unwrap().remove("bonds");
    scene["pairs"][2] = json!({ "between": ["mud", "mud"], "restitution": 0.1 });
    for name in ["stone", "mud", "glue"] {
        let material = scene["materials"][name].as_object_mut().unwrap();
        material.remove("damping");
        material.remove("conductivity");
        material.insert("restitution".into(), json!(0.3));
    }
    scene
}

/// Pointers to all values below `value`, itself left out.
fn places(value: &Value, at: &str, places: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(object) => object.iter().map(|(k, v)| (k.clone(), v)).collect(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(i, v)| (i.to_string(), v))
            .collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        let place = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        self::places(child, &place, places);
        places.push(place);
    }
}

fn replacements() -> Vec<Value> {
    let text = r#"[
        null, true, "abc", "", [], {}, 0, -1, 1, 3, 0.5, -0.25, 12, 50000000, 1e6, -1e6, 1e20,
        1e-7, 1e-30, 1e-45, 1e-300, 1e39, 1e300, -1e308, 18446744073709551615, -9223372036854775808,
        [0, 0, 0], [0, 0, 0, 0], [1, 2, 3], [1e30, -1e30, 1e-30], [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        ["stone", "stone"], "random", "union", { "min": [0, 0, 0], "max": [1, 1, 1] }, { "ball": 1 },
        { "radius": 0.1 }, { "n": 3, "radius": 0.1 }, "viscous", "hooke", "hertz", "spring", "none",
        { "surface_energy": 0.1 }, { "force": 0.1, "range": 0.01 }, [true, true, false], 0.3
    ]"#;
    serde_json::from_str(text).unwrap()
}

fn mutate(scene: &mut Value, place: &prop::sample::Index, change: &Option<Value>) {
    let mut all = Vec::new();
    places(scene, "", &mut all);
    if all.is_empty() {
        return;
    }
    let place = place.get(&all);
    match change {
        Some(value) => *scene.pointer_mut(place).unwrap() = value.clone(),
        None => {
            let (parent, key) = place.rsplit_once('/').unwrap();
            match scene.pointer_mut(parent).unwrap() {
                Value::Array(list) => drop(list.remove(key.parse().unwrap())),
                Value::Object(object) => drop(object.remove(key)),
                _ => unreachable!(),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Whatever stands in a scene, it loads and fits the schema, or the error says where it is wrong.
    #[test]
    fn a_mangled_scene_never_panics_and_its_errors_name_a_place(
        scene in prop::sample::select(everything_by_each_law().to_vec()),
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), prop::option::weighted(0.8, prop::sample::select(replacements()))),
            1..4,
        ),
    ) {
        let mut scene = scene;
        for (place, change) in &changes {
            mutate(&mut scene, place, change);
        }
        match parse(&scene) {
            Ok(_) => {
                let fits = json_schema::validate(&scene::schema(), &scene);
                prop_assert!(fits.is_ok(), "{fits:?}: {scene}");
            }
            Err(error) => {
                prop_assert!(!error.problems.is_empty());
                for problem in &error.problems {
                    prop_assert!(!problem.path.is_empty(), "{problem}");
                    prop_assert!(!problem.found.is_empty() && !problem.expected.is_empty());
                }
            }
        }
    }

    /// Mangled text that is hardly JSON any more.
    #[test]
    fn mangled_text_never_panics(
        at in any::<prop::sample::Index>(),
        length in 0usize..20,
        insert in "[\\[\\]{}\",:0-9eE.+\\-truefalsnN/ ü\u{1f}\n]{0,6}",
    ) {
        let text: Vec<char> = everything().to_string().chars().collect();
        let at = at.index(text.len());
        let end = (at + length).min(text.len());
        let mangled: String = text[..at].iter().copied().chain(insert.chars()).chain(text[end..].iter().copied()).collect();
        if let Err(error) = scene::parse(&mangled, Path::new("test.json")) {
            for problem in &error.problems {
                prop_assert!(!problem.path.is_empty(), "{problem}");
            }
        }
    }
}

#[test]
fn the_schema_refuses_what_the_format_refuses() {
    let schema = scene::schema();
    for scene in everything_by_each_law() {
        json_schema::validate(&schema, &scene).unwrap();
        loaded(&scene);
    }
    for (pointer, value) in [
        ("/version", json!(2)),
        ("/gravty", json!([0, 0, 0])),
        ("/gravity", json!([0, 0])),
        ("/integrator", json!("euler")),
        ("/contact/stiffness", json!(-1)),
        ("/contact/max_overlap", json!(0.1)),
        ("/contact/tangential", json!("viscous")),
        ("/contact/tangential", json!("none")),
        ("/contact/tangential", json!("mindlin")),
        ("/contact/law", json!("hooke")),
        ("/contact/normal", json!("hertz")),
        ("/contact/normal", json!("custom")),
        ("/contact", json!({ "limit_damping": false })),
        (
            "/contact",
            json!({ "normal": "hooke", "tangential": "history", "range": 0 }),
        ),
        ("/contact", json!({ "normal": "custom" })),
        ("/contact/tangential_damping", json!(-1)),
        ("/contact/limit_damping", json!("none")),
        ("/domain/periodic", json!([true, false])),
        ("/domain/periodic", json!([1, 0, 1])),
        ("/materials/stone/poisson_ratio", json!(-1)),
        ("/materials/stone/poisson_ratio", json!(0.6)),
        ("/materials/stone/young_modulus", json!(0)),
        ("/materials/stone/rolling", json!("springs")),
        ("/materials/stone/rolling_friction", json!(-1)),
        ("/materials/stone/twisting_friction", json!(-1)),
        ("/materials/stone/cohesion", json!(-1)),
        ("/materials/stone/cohesion", json!({ "force": 1 })),
        (
            "/materials/stone/cohesion",
            json!({ "surface_energy": 1, "force": 1, "range": 1 }),
        ),
        ("/pairs/0/cohesion", json!({ "force": 1, "range": -1 })),
        ("/materials/stone/damping", json!(1)),
        ("/shapes/ball/cube", json!({ "radius": 1 })),
        ("/shapes/ball/sphere", json!({ "radius": 0 })),
        ("/shapes/ball/mass_properties", json!("exact")),
        ("/shapes/brick/box/radius", json!(0)),
        ("/shapes/corner/mesh/tolerance", json!(0.1)),
        ("/shapes/corner/mesh/spheres", json!(0)),
        ("/shapes/whole/parts", json!([])),
        ("/shapes/whole/parts/0/angle", json!(1)),
        ("/explosions/0/fragments", json!(1)),
        ("/explosions/0/speed", json!(-1)),
        ("/bodies/0/orientation", json!([0, 0, 0, 1])),
        ("/bodies/1/angle", json!(1)),
        ("/fills/0/shapes/cube", json!(-1)),
        ("/fills/0/velocity", json!("fast")),
        ("/fills/0/seed", json!(-1)),
    ] {
        let scene = with(everything(), pointer, value);
        assert!(json_schema::validate(&schema, &scene).is_err(), "{pointer}");
        assert!(parse(&scene).is_err(), "{pointer}");
    }
}

#[test]
fn every_field_of_the_schema_is_described() {
    let schema = scene::schema();
    let mut objects: Vec<&Value> = schema["$defs"].as_object().unwrap().values().collect();
    objects.push(&schema);
    let mut fields = 0;
    for object in objects {
        assert!(object["description"].is_string(), "{object}");
        let Some(properties) = object["properties"].as_object() else {
            continue;
        };
        assert_eq!(object["additionalProperties"], false);
        for (name, field) in properties {
            assert!(field["description"].is_string(), "{name}");
            fields += 1;
        }
    }
    assert!(fields > 50, "{fields}");
    let pairs = schema["properties"]["pairs"]["description"]
        .as_str()
        .unwrap();
    assert!(pairs.contains("geometric mean") && pairs.contains("Equal values mix to themselves"));
}

/// A scene with a mesh, a contact law and bodies from another run, none of which is on disk.
#[test]
fn a_scene_and_all_its_files_come_from_memory() {
    let before = json!({
        "version": 1,
        "contact": { "normal": "hooke", "tangential": "history" },
        "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "stone" } },
        "bodies": [{ "shape": "ball", "position": [0.3, 2, 0.1] }]
    });
    let model = scene::parse(&before.to_string(), "before.json".as_ref())
        .unwrap()
        .model;
    let mut simulation = rockfall::Simulation::on_cpu(model, Some(1)).unwrap();
    simulation.step(50).unwrap();
    let bodies = simulation.bodies().unwrap();

    let bytes_of = |name: &str| fs::read(own(name)).unwrap();
    let mut files: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::from([
        (
            "in/meshes/rock.obj".into(),
            bytes_of("scenes/meshes/rock.obj"),
        ),
        ("in/law.wgsl".into(), bytes_of("tests/data/law.wgsl")),
        (
            "in/run/run.checkpoint".into(),
            simulation.checkpoint().unwrap(),
        ),
    ]);
    let mut after = before.clone();
    after["contact"] =
        json!({ "normal": "custom", "file": "law.wgsl", "stiffness": 1e5, "time_step": 1e-4 });
    after["walls"] = json!([{ "mesh": { "file": "meshes/rock.obj" }, "material": "stone" }]);
    after["bodies"] = json!([]);
    after["start"] = json!({ "from": "run" });
    let read = |files: &BTreeMap<PathBuf, Vec<u8>>| {
        scene::parse_with(&after.to_string(), "in/scene.json".as_ref(), files)
    };
    let model = read(&files).unwrap().model;
    assert_eq!(model.bodies.len(), 1);
    assert_eq!(model.bodies[0].velocity, bodies[0].velocity);
    assert_eq!(
        model.contact.law.custom().unwrap().source.as_bytes(),
        bytes_of("tests/data/law.wgsl")
    );
    let Shape::Mesh(mesh) = &model.walls[0].shape else {
        panic!("{:?}", model.walls[0].shape);
    };
    assert!(mesh.triangles.len() > 10);

    // What is missing is named, with what was meant.
    let law = files.remove(Path::new("in/law.wgsl")).unwrap();
    files.insert("in/laws.wgsl".into(), law);
    let sentence = read(&files).unwrap_err().to_string();
    assert!(
        sentence.contains("did you mean in/laws.wgsl?"),
        "{sentence}"
    );
}

/// A scene whose bodies are in a file of this text, in memory.
fn of_file(text: &str, bodies: Value) -> Result<Scene, scene::SceneError> {
    let files = std::collections::BTreeMap::from([("bed.csv".into(), text.as_bytes().to_vec())]);
    let mut scene = ball();
    scene["shapes"]["pair"] = json!({ "rod": { "n": 2, "radius": 0.02 }, "material": "stone" });
    scene["planes"] = json!([]);
    scene["contact"] = json!({ "stiffness": 1e5 });
    scene["bodies"] = bodies;
    scene::parse_with(&scene.to_string(), Path::new("test.json"), &files)
}

#[test]
fn bodies_come_from_a_file() {
    let csv = "# a bed\nid, x, Y,z,radius,vx,vy,vz,omegax,omegay,omegaz\n\
               1, 100, 0, 0, 20, 1, 2, 3, 4, 5, 6\n\n2,300,0,0,30,0,0,0,0,0,0\n3,500,0,0,20,0,0,0,0,0,0\n";
    let wanted = json!({ "file": "bed.csv", "shape": "ball", "units": "mm" });
    let found = of_file(csv, wanted.clone()).unwrap();
    let bodies = &found.model.bodies;
    assert_eq!(bodies.len(), 3);
    assert!((bodies[1].position - DVec3::new(0.3, 0.0, 0.0)).length() < 1e-12);
    assert!((bodies[0].velocity - DVec3::new(1e-3, 2e-3, 3e-3)).length() < 1e-12);
    assert_eq!(bodies[0].angular_velocity, DVec3::new(4.0, 5.0, 6.0));
    let radius = |body: usize| found.model.shapes[bodies[body].shape].spheres[0].radius;
    assert!((radius(0) - 0.02).abs() < 1e-12 && (radius(1) - 0.03).abs() < 1e-12);
    assert_eq!(bodies[0].shape, bodies[2].shape);
    assert!(
        found
            .notes
            .contains(&"bodies: 3 bodies of \"bed.csv\"; without the columns id".to_owned()),
        "{:?}",
        found.notes
    );
    // What is kept of the scene has the bodies, and gives the same model.
    let again = scene::parse(
        &serde_json::to_string(&found.file).unwrap(),
        Path::new("test.json"),
    )
    .unwrap();
    assert_eq!(again.model, found.model);

    // The last state of a dump, by types.
    let dump = "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n1\nITEM: ATOMS id type x y z\n1 1 9 9 9\n\
                ITEM: TIMESTEP\n100\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp ff\n0 1\n0 1\n0 1\n\
                ITEM: ATOMS id type x y z quatx quaty quatz quatw\n1 1 0 0 0 0 0 0 1\n2 2 1 0 0 0 0 0.6 0.8\n";
    let types = json!({ "file": "bed.csv", "types": { "1": "ball", "2": "pair" } });
    let found = of_file(dump, types).unwrap();
    let names: Vec<&str> = found
        .model
        .bodies
        .iter()
        .map(|body| found.model.shapes[body.shape].name.as_str())
        .collect();
    assert_eq!(names, ["ball", "pair"]);
}

#[test]
fn what_is_wrong_with_a_file_of_bodies_is_told_with_its_line() {
    let ball = json!({ "file": "bed.csv", "shape": "ball" });
    for (text, bodies, expected) in [
        ("", &ball, "found nothing in \"bed.csv\""),
        (
            "1,2,3\n",
            &ball,
            "found the numbers \"1,2,3\" in \"bed.csv\", line 1",
        ),
        (
            "x,y\n1,2\n",
            &ball,
            "bodies: found the columns x, y in \"bed.csv\", expected columns x, y and z",
        ),
        (
            "x,y,z\n1,2\n",
            &ball,
            "found 2 columns in \"bed.csv\", line 2",
        ),
        (
            "x,y,z\n1,2,3\n1,two,3\n",
            &ball,
            "found no number as a coordinate in \"bed.csv\", line 3",
        ),
        ("x,y,z\n", &ball, "found no body in \"bed.csv\""),
        (
            "x,y,z,radius\n1,2,3,-4\n",
            &ball,
            "found the radius -4 m in \"bed.csv\", line 2",
        ),
        (
            "x,y,z,radius\n1,2,3,4\n",
            &json!({ "file": "bed.csv", "shape": "pair" }),
            "found a radius for the shape \"pair\", which is not a single sphere in \"bed.csv\", line 2",
        ),
        (
            "type,x,y,z\n7,1,2,3\n",
            &json!({ "file": "bed.csv", "types": { "1": "ball" } }),
            "found the type 7 in \"bed.csv\", line 2, expected one of those in \"types\": 1",
        ),
        (
            "x,y,z\n1,2,3\n",
            &json!({ "file": "bed.csv" }),
            "bodies: found neither a \"shape\" nor \"types\"",
        ),
        (
            "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n3\nITEM: ATOMS id x y z\n1 0 0 0\n",
            &ball,
            "found the end after 1 of 3 atoms in \"bed.csv\", line 6",
        ),
        (
            "x,y,z\n1,2,3\n",
            &json!({ "file": "bad.csv", "shape": "ball" }),
            "bodies.file: found \"bad.csv\"",
        ),
    ] {
        let error = of_file(text, bodies.clone()).unwrap_err();
        let found = error.problems[0].to_string();
        assert!(found.contains(expected), "{text:?}: {found}");
    }
}

/// In both formats, as text and as bytes.
#[test]
fn bodies_come_from_vtk_files() {
    let floats = |numbers: &[f32]| {
        numbers
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let older = "# vtk DataFile Version 3.0\nbed\nASCII\nDATASET POLYDATA\nPOINTS 2 float\n0 1 0.25 0.5 2 -1\n\
                 VERTICES 2 4\n1 0 1 1\nPOINT_DATA 2\nSCALARS radius float 1\nLOOKUP_TABLE default\n0.5 0.25\n\
                 VECTORS box float\n1 0 0 1 0 0\n";
    let mut binary =
        b"# vtk DataFile Version 3.0\nbed\nBINARY\nDATASET POLYDATA\nPOINTS 2 double\n".to_vec();
    binary.extend(
        [0.0, 1.0, 0.25, 0.5, 2.0, -1.0_f64]
            .iter()
            .flat_map(|x| x.to_be_bytes()),
    );
    binary.extend(b"\nPOINT_DATA 2\nFIELD FieldData 1\nradius 1 2 float\n");
    binary.extend([0.5, 0.25_f32].iter().flat_map(|x| x.to_be_bytes()));
    let mut xml = br#"<?xml version="1.0"?><VTKFile type="PolyData" byte_order="LittleEndian" header_type="UInt64"><PolyData>
        <Piece NumberOfPoints="2"><PointData><DataArray type="Float32" Name="radius" format="appended" offset="0"/></PointData>
        <Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">0 1 0.25 0.5 2 -1</DataArray></Points>
        </Piece></PolyData><AppendedData encoding="raw">_"#
        .to_vec();
    xml.extend(8_u64.to_le_bytes());
    xml.extend(floats(&[0.5, 0.25]));
    xml.extend(b"</AppendedData></VTKFile>");

    let read = |bytes: &[u8]| {
        let files = std::collections::BTreeMap::from([("bed".into(), bytes.to_vec())]);
        let mut scene = ball();
        scene["planes"] = json!([]);
        scene["contact"] = json!({ "stiffness": 1e5 });
        scene["bodies"] = json!({ "file": "bed", "shape": "ball" });
        scene::parse_with(&scene.to_string(), Path::new("test.json"), &files)
    };
    for (what, bytes) in [
        ("text", older.as_bytes()),
        ("binary", &binary),
        ("xml", &xml),
    ] {
        let found = read(bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
        let bodies = &found.model.bodies;
        assert_eq!(bodies.len(), 2, "{what}");
        assert_eq!(bodies[0].position, DVec3::new(0.0, 1.0, 0.25), "{what}");
        assert_eq!(bodies[1].position, DVec3::new(0.5, 2.0, -1.0), "{what}");
        let radius = |body: usize| found.model.shapes[bodies[body].shape].spheres[0].radius;
        assert_eq!((radius(0), radius(1)), (0.5, 0.25), "{what}");
        // Cut off anywhere, it is refused, or has no more than there is.
        for end in (0..bytes.len()).step_by(7) {
            if let Ok(scene) = read(&bytes[..end]) {
                assert!(scene.model.bodies.len() <= 2, "{what}");
            }
        }
    }
    let compressed =
        String::from_utf8_lossy(&xml).replace(" header_type", " compressor=\"zlib\" header_type");
    let found = read(compressed.as_bytes()).unwrap_err().to_string();
    assert!(
        found.contains("bodies.file: found compressed data in \"bed\""),
        "{found}"
    );
}

#[test]
fn a_fill_is_given_by_mass_or_by_how_much_of_the_room_it_takes() {
    let of = |fill: Value| {
        let mut scene = ball();
        scene["contact"] = json!({ "stiffness": 1e5 });
        scene["bodies"] = json!([]);
        scene["walls"] = json!([ { "name": "drum", "cylinder": { "radius": 0.4, "height": 1, "closed": true }, "side": "inside",
                                   "position": [0, 1, 0], "material": "stone" } ]);
        scene["fills"] = json!([fill]);
        scene::parse(&scene.to_string(), Path::new("test.json")).unwrap()
    };
    let region = json!({ "min": [-0.4, 0.5, -0.4], "max": [0.4, 1.5, 0.4] });
    let scene = of(
        json!({ "mass": 100, "shapes": { "ball": 1 }, "region": region, "placement": "random" }),
    );
    let model = &scene.model;
    let mass: f64 = model
        .bodies
        .iter()
        .map(|body| model.shapes[body.shape].mass)
        .sum();
    assert!((mass - 100.0).abs() < 0.5 * model.shapes[0].mass, "{mass}");

    let scene = of(
        json!({ "solid_fraction": 0.5, "shapes": { "ball": 1 }, "region": region, "placement": "packed" }),
    );
    let model = &scene.model;
    let radius = model.shapes[0].spheres[0].radius;
    let solid = model.bodies.len() as f64 * 4.0 / 3.0 * PI * radius.powi(3);
    let room = PI * 0.4 * 0.4;
    // The room is found by looking at points of a grid.
    assert!((solid / room - 0.5).abs() < 0.02, "{}", solid / room);
    for body in &model.bodies {
        let out = DVec3::new(body.position.x, 0.0, body.position.z).length();
        assert!(out < 0.4 - 0.99 * radius, "{out}");
    }
    assert!(
        scene
            .notes
            .iter()
            .any(|note| note.contains("of the room in the region")),
        "{:?}",
        scene.notes
    );
}
