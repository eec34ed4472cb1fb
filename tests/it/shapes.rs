//! Shapes made of meshes, boxes and other shapes, materials of single bodies, and bodies that burst, on both engines.

use std::fs;

use crate::common::{device, model, on_both, own, simulate};
use glam::{DMat3, DQuat, DVec3};
use rockfall::internals::clump::Clump;
use rockfall::{Simulation, Summary, scene};
use serde_json::{Value, json};

/// A scene of shapes of stone, without gravity and without bodies.
fn scene(shapes: Value) -> Value {
    json!({
        "version": 1, "gravity": [0, 0, 0],
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 1e-4 },
        "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 },
                       "cork": { "density": 500, "restitution": 0.5, "friction": 0.5 } },
        "shapes": shapes,
        "bodies": [],
    })
}

/// The model of a scene with a body of each of the shapes, and each shape by its name.
fn shapes(shapes: Value) -> impl Fn(&str) -> Clump {
    let mut scene = scene(shapes);
    let names: Vec<String> = scene["shapes"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    scene["bodies"] = names
        .iter()
        .enumerate()
        .map(|(k, name)| json!({ "shape": name, "position": [10 * k, 0, 0] }))
        .collect();
    let model = model(&scene.to_string());
    move |name| {
        let mut shapes = model.shapes.iter();
        shapes.find(|shape| shape.name == name).unwrap().clone()
    }
}

/// The inertia tensor in the axes of the shape.
fn inertia(clump: &Clump) -> DMat3 {
    let axes = DMat3::from_quat(clump.principal_axes);
    axes * DMat3::from_diagonal(clump.inertia) * axes.transpose()
}

#[track_caller]
fn assert_close(found: f64, expected: f64, tolerance: f64) {
    let off = (found / expected - 1.0).abs();
    assert!(off < tolerance, "{found} instead of {expected}");
}

#[track_caller]
fn assert_same(found: &Clump, expected: &Clump) {
    assert_close(found.mass, expected.mass, 1e-12);
    let size = expected.inertia.element_sum();
    assert!(
        found
            .center_of_mass
            .abs_diff_eq(expected.center_of_mass, 1e-12)
            && inertia(found).abs_diff_eq(inertia(expected), 1e-12 * size),
        "{found:?} instead of {expected:?}"
    );
}

#[test]
fn a_mesh_has_its_own_mass_and_the_spheres_that_were_wanted() {
    let mesh = &own("tests/data/tetrahedron.obj");
    let scene_of = |fit: Value| {
        let mut scene = scene(json!({ "corner": { "mesh": fit, "material": "stone" } }));
        scene["bodies"] = json!([{ "shape": "corner" }]);
        scene::parse(&scene.to_string(), "test.json".as_ref()).unwrap()
    };
    let counted = scene_of(json!({ "file": mesh, "scale": 2, "spheres": 15 }));
    let clump = &counted.model.shapes[0];
    // Twice as large: a volume of 0.2³/6, its centre in a quarter of each side.
    assert_close(clump.mass, 2500.0 * 0.008 / 6.0, 1e-9);
    assert!(clump.center_of_mass.abs_diff_eq(DVec3::splat(0.05), 1e-9));
    assert!(clump.spheres.len() <= 15 && clump.spheres.len() > 10);
    let note = &counted.notes[0];
    let words = [
        "shapes.corner: 1",
        " spheres of radii from 0.0",
        " in a mesh of 4 triangles; the largest gap between its surface and theirs is 0.0",
    ];
    assert!(words.iter().all(|words| note.contains(words)), "{note}");

    let near = scene_of(json!({ "file": mesh, "tolerance": 0.004 }));
    let gap: f64 = near.notes[0].rsplit(' ').nth(1).unwrap().parse().unwrap();
    assert!(gap <= 0.004 && gap > 0.001, "{}", near.notes[0]);
    // All inside.
    let clump = &near.model.shapes[0];
    for sphere in &clump.spheres {
        let center = clump.center_of_mass + clump.principal_axes * sphere.center;
        let room = center
            .min_element()
            .min((0.1 - center.element_sum()) / 3.0_f64.sqrt());
        assert!(sphere.radius < room + 1e-7, "{sphere:?} {room}");
    }
    // Its surface comes near the corner of the mesh.
    let corner = clump.spheres.iter().map(|sphere| {
        let center = clump.center_of_mass + clump.principal_axes * sphere.center;
        center.length() - sphere.radius
    });
    assert!(corner.fold(f64::INFINITY, f64::min) <= 0.004);
}

#[test]
fn a_mesh_may_have_the_mass_of_its_spheres_or_any_other() {
    let of = |properties: Value| {
        let mesh = json!({ "file": own("tests/data/tetrahedron.obj"), "spheres": 15 });
        let shape = json!({ "mesh": mesh, "material": "stone", "mass_properties": properties });
        shapes(json!({ "a": shape }))("a")
    };
    let given = of(json!({ "mass": 3, "inertia": [1, 1, 1] }));
    assert_eq!(given.mass, 3.0);
    let (summed, union) = (of(json!("spheres")), of(json!("union")));
    assert!(union.mass < summed.mass);
    assert!(union.mass < 2500.0 * 0.001 / 6.0, "they are inside");
}

#[test]
fn a_saved_scene_has_its_meshes() {
    let folder = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    fs::copy(
        own("tests/data/tetrahedron.obj"),
        folder.path().join("corner.obj"),
    )
    .unwrap();
    let mut text = scene(json!({
        "ball": { "sphere": { "radius": 0.1 }, "material": "stone" },
        "corner": { "mesh": { "file": "corner.obj", "spheres": 3 }, "material": "stone" },
    }));
    text["bodies"] = json!([{ "shape": "corner" }, { "shape": "ball", "position": [1, 0, 0] }]);
    let path = folder.path().join("scene.json");
    fs::write(&path, text.to_string()).unwrap();
    let loaded = scene::load(&path).unwrap();
    loaded.save(other.path()).unwrap();
    fs::remove_dir_all(folder).unwrap();
    let again = scene::load(&other.path().join("scene.json")).unwrap();
    assert_eq!(again.model.hash(), loaded.model.hash());
}

#[test]
fn a_box_is_a_solid_cuboid() {
    let size = DVec3::new(0.3, 0.2, 0.4);
    let clump = shapes(json!({
        "brick": { "box": { "size": [0.3, 0.2, 0.4], "radius": 0.03 }, "material": "stone" } }))(
        "brick",
    );
    let mass = 2500.0 * size.element_product();
    assert_close(clump.mass, mass, 1e-12);
    for axis in 0..3 {
        let across = size.length_squared() - size[axis] * size[axis];
        assert_close(clump.inertia[axis], mass * across / 12.0, 1e-12);
    }
    let top = clump
        .spheres
        .iter()
        .map(|s| s.center.y + s.radius)
        .fold(0.0, f64::max);
    assert_close(top, 0.1, 1e-12);
}

/// Boxes on each other, on a floor.
fn tower(count: usize) -> Value {
    let mut scene = scene(json!({
        "box": { "box": { "size": [0.2, 0.2, 0.2], "radius": 0.04, "spacing": 0.06 }, "material": "stone" } }));
    scene["gravity"] = json!([0, -9.81, 0]);
    scene["contact"] =
        json!({ "normal": "hooke", "tangential": "history", "stiffness": 1e7, "time_step": 5e-5 });
    scene["planes"] = json!([{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" }]);
    // A little beside each other, and turned.
    scene["bodies"] = (0..count)
        .map(|k| {
            let shift = 0.004 * if k % 2 == 0 { 1.0 } else { -1.0 };
            json!({ "shape": "box", "position": [shift, 0.1 + 0.2 * k as f64, 0.5 * shift],
                    "axis": [0, 1, 0], "angle": 0.03 * k as f64 })
        })
        .collect();
    scene
}

/// Each box is where it was, but for what their weight presses together.
fn stands(simulation: &mut Simulation, start: &[(DVec3, DQuat)], engine: &str) {
    // A high tower sways for long, by millimetres.
    let mass: f64 = simulation
        .bodies()
        .unwrap()
        .iter()
        .map(|body| body.mass)
        .sum();
    let speed = (2.0 * simulation.summary().unwrap().kinetic_energy / mass).sqrt();
    assert!(speed < 0.01, "{engine}: {speed} m/s");
    for (body, (place, turn)) in simulation.bodies().unwrap().iter().zip(start) {
        let way = body.position - *place;
        // Faces of spheres sink into each other's hollows.
        assert!(
            way.y > -0.015 * (1.0 + body.index as f64) && way.y < 1e-3,
            "{engine}: {way}"
        );
        let (aside, up) = (
            DVec3::new(way.x, 0.0, way.z).length(),
            body.orientation * DVec3::Y,
        );
        assert!(
            aside < 0.02,
            "{engine}: body {} slid by {aside} m",
            body.index
        );
        assert!(up.y > 0.995, "{engine}: body {} leans: {up}", body.index);
        let turned = (turn.conjugate() * body.orientation).to_axis_angle().1;
        assert!(
            turned.min(std::f64::consts::TAU - turned) < 0.1,
            "{engine}: {turned}"
        );
    }
}

fn places(simulation: &mut Simulation) -> Vec<(DVec3, DQuat)> {
    let bodies = simulation.bodies().unwrap();
    bodies
        .iter()
        .map(|body| (body.position, body.orientation))
        .collect()
}

#[test]
fn three_boxes_stand_on_each_other() {
    on_both(&tower(3).to_string(), |mut simulation, engine| {
        let start = places(&mut simulation);
        simulation.step(8_000).unwrap();
        stands(&mut simulation, &start, engine);
    });
}

#[test]
#[ignore = "takes a minute"]
fn a_tower_of_ten_boxes_stands_for_ten_seconds() {
    let mut simulation = simulate(&tower(10).to_string());
    let start = places(&mut simulation);
    simulation.step(200_000).unwrap();
    stands(&mut simulation, &start, "cpu");
}

#[test]
fn a_whole_has_the_mass_of_its_parts() {
    let ball = json!({ "sphere": { "radius": 0.1 }, "material": "stone" });
    let part =
        |shape: &str, x: f64, y: f64, z: f64| json!({ "shape": shape, "position": [x, y, z] });
    let corners = |r: f64| -> Vec<Value> {
        let signs = [-1.0, 1.0];
        let all = signs.iter().flat_map(|y| signs.iter().map(move |z| (y, z)));
        all.flat_map(|(y, z)| signs.map(|x| part("ball", x * r, y * r, z * r)))
            .collect()
    };
    let clump = shapes(json!({
        "ball": ball,
        "cube": { "cube": { "n": 2, "radius": 0.1 }, "material": "stone" },
        "of balls": { "parts": corners(0.1) },
    }));
    assert_same(&clump("of balls"), &clump("cube"));

    // Two bricks, one of them turned and of cork, against the parallel-axis theorem by hand.
    let brick = json!({ "box": { "size": [0.4, 0.2, 0.2], "radius": 0.05 }, "material": "stone" });
    let mut cork = brick.clone();
    cork["material"] = json!("cork");
    let hammer = json!([
        part("brick", 0.1, 0.0, 0.0),
        { "shape": "cork", "position": [0, 0.3, 0], "axis": [0, 0, 1], "angle": std::f64::consts::FRAC_PI_2 },
    ]);
    let clump = shapes(
        json!({ "brick": brick, "cork": cork, "hammer": { "parts": hammer },
                                "all cork": { "parts": hammer, "material": "cork" },
                                "of wholes": { "parts": [ part("hammer", 0.0, 0.0, 0.0), part("hammer", 1.0, 0.0, 0.0) ] } }),
    );
    let (heavy, light): (f64, f64) = (40.0, 8.0);
    let whole = clump("hammer");
    assert_close(whole.mass, heavy + light, 1e-12);
    let center = DVec3::new(0.1 * heavy, 0.3 * light, 0.0) / (heavy + light);
    assert!(whole.center_of_mass.abs_diff_eq(center, 1e-12));
    let (long, short) = ((0.16 + 0.04) / 12.0, (0.04 + 0.04) / 12.0);
    let arms = [DVec3::new(0.1, 0.0, 0.0), DVec3::new(0.0, 0.3, 0.0)].map(|place| place - center);
    let about_z =
        heavy * (long + arms[0].length_squared()) + light * (long + arms[1].length_squared());
    assert_close(inertia(&whole).z_axis.z, about_z, 1e-9);
    let about_x = heavy * (short + arms[0].y * arms[0].y) + light * (long + arms[1].y * arms[1].y);
    assert_close(inertia(&whole).x_axis.x, about_x, 1e-9);
    let count = whole.spheres.len() / 2;
    let of = |name: &str| clump(name).materials[0];
    assert!(whole.materials[..count].iter().all(|m| *m == of("brick")));
    assert!(whole.materials[count..].iter().all(|m| *m == of("cork")));
    assert!(of("brick") != of("cork"));
    assert_close(clump("all cork").mass, 2.0 * light, 1e-12);
    let twice = clump("of wholes");
    assert_close(twice.mass, 2.0 * whole.mass, 1e-12);
    let middle = whole.center_of_mass + 0.5 * DVec3::X;
    assert!(twice.center_of_mass.abs_diff_eq(middle, 1e-12));
}

#[test]
fn balls_merged_into_a_cube_keep_their_spin() {
    let scene = scene::load(&own("scenes/ancestors/spinning_cube.json")).unwrap();
    for mut simulation in [
        Simulation::on_cpu(scene.model.clone(), None).unwrap(),
        Simulation::on_gpu(scene.model.clone(), device()).unwrap(),
    ] {
        let before = simulation.summary().unwrap();
        simulation.step(2_500).unwrap();
        let after = simulation.summary().unwrap();
        assert_eq!(after.angular_momentum, before.angular_momentum);
        assert_close(after.kinetic_energy, before.kinetic_energy, 1e-5);
    }
}

#[test]
fn each_part_touches_by_its_own_material() {
    // A bar that falls level onto its two ends rebounds at the end that is of rubber only.
    let mut scene = scene(json!({
        "dead": { "sphere": { "radius": 0.1 }, "material": "dead" },
        "live": { "sphere": { "radius": 0.1 }, "material": "live" },
        "bar": { "parts": [ { "shape": "dead", "position": [-0.5, 0, 0] },
                            { "shape": "live", "position": [0.5, 0, 0] } ] } }));
    scene["materials"] = json!({
        "dead": { "density": 1000, "restitution": 0, "friction": 0 },
        "live": { "density": 1000, "restitution": 1, "friction": 0 },
        "floor": { "density": 1000, "restitution": 1, "friction": 0 } });
    scene["pairs"] = json!([{ "between": ["dead", "floor"], "restitution": 0.01 }]);
    scene["planes"] = json!([{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "floor" }]);
    scene["bodies"] =
        json!([{ "shape": "bar", "position": [0, 0.101, 0], "velocity": [0, -1, 0] }]);
    on_both(&scene.to_string(), |mut simulation, engine| {
        simulation.step(1_000).unwrap();
        let body = &simulation.bodies().unwrap()[0];
        // The live end on the right goes up, so the bar turns anticlockwise about z.
        assert!(
            body.angular_velocity.z > 0.3,
            "{engine}: {}",
            body.angular_velocity
        );
        assert!(body.velocity.y > 0.2, "{engine}: {}", body.velocity);
        let names = simulation.model().materials.clone();
        let spheres = simulation.snapshot().unwrap().spheres();
        let materials: Vec<&str> = spheres
            .map(|sphere| names[sphere.material].as_str())
            .collect();
        assert_eq!(materials, ["dead", "live"], "{engine}");
    });
}

#[test]
fn a_body_may_be_of_its_own_material() {
    // Blocks on a slope of 30 degrees: one slides with g (sin - mu cos), one stays.
    let slope = std::f64::consts::FRAC_PI_6;
    let mut scene = scene(json!({
        "block": { "box": { "size": [0.2, 0.1, 0.2], "radius": 0.05, "spacing": 0.1 }, "material": "stone" } }));
    scene["gravity"] = json!([9.81 * slope.sin(), -9.81 * slope.cos(), 0]);
    scene["contact"] =
        json!({ "normal": "hooke", "tangential": "history", "stiffness": 1e6, "time_step": 1e-4 });
    scene["materials"] = json!({
        "stone": { "density": 2500, "restitution": 0.2, "friction": 0.9 },
        "ice": { "density": 900, "restitution": 0.2, "friction": 0.1 } });
    scene["pairs"] = json!([{ "between": ["ice", "stone"], "friction": 0.1 }]);
    scene["planes"] = json!([{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" }]);
    scene["bodies"] = json!([
        { "shape": "block", "position": [0, 0.05, 0] },
        { "shape": "block", "position": [0, 0.05, 1], "material": "ice" },
        { "shape": "block", "position": [0, 0.05, 2], "material": "stone" } ]);
    scene["fills"] = json!([{ "count": 1, "shapes": { "block": 1 }, "material": "ice", "orientation": [0, 0, 0, 1],
        "region": { "min": [-0.11, 0.0, 2.89], "max": [0.11, 0.101, 3.11] } }]);
    on_both(&scene.to_string(), |mut simulation, engine| {
        let shapes = simulation.model().shapes.len();
        assert_eq!(shapes, 2, "one of ice serves both");
        simulation.step(5_000).unwrap();
        let bodies = simulation.bodies().unwrap();
        for still in [0, 2] {
            assert_close(bodies[still].mass, 2500.0 * 0.004, 1e-9);
            assert!(
                bodies[still].velocity.length() < 1e-3,
                "{engine}: {}",
                bodies[still].velocity
            );
        }
        let expected = 0.5 * 9.81 * (slope.sin() - 0.1 * slope.cos());
        for sliding in [1, 3] {
            assert_close(bodies[sliding].mass, 900.0 * 0.004, 1e-9);
            assert_close(bodies[sliding].velocity.x, expected, 0.01);
        }
    });
}

/// A cube of 27 balls that flies and turns, and bursts after 0.05 s.
fn bursting(properties: Value) -> Value {
    let mut scene = scene(json!({
        "cube": { "cube": { "n": 3, "radius": 0.05 }, "material": "stone", "mass_properties": properties },
        "ball": { "sphere": { "radius": 0.1 }, "material": "cork" } }));
    scene["bodies"] = json!([
        { "shape": "ball", "position": [0, 3, 0] },
        { "name": "cube", "shape": "cube", "position": [1, 2, -1], "velocity": [3, 1, -2], "angular_velocity": [4, -7, 2] },
        { "shape": "ball", "position": [0, -3, 0] } ]);
    scene["explosions"] =
        json!([{ "body": "cube", "at": 0.05, "fragments": 9, "speed": 3, "seed": 4 }]);
    scene
}

#[test]
fn an_explosion_keeps_mass_momentum_and_angular_momentum() {
    on_both(
        &bursting(json!("spheres")).to_string(),
        |mut simulation, engine| {
            simulation.step(500).unwrap();
            let before = simulation.summary().unwrap();
            let cube = simulation.bodies().unwrap().remove(1);
            simulation.step(1).unwrap();
            let after = simulation.summary().unwrap();
            let bodies = simulation.bodies().unwrap();
            let ids: Vec<u64> = bodies.iter().map(|body| body.id).collect();
            assert_eq!(ids, [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], "{engine}");
            let mass: f64 = bodies[2..].iter().map(|body| body.mass).sum();
            assert_close(mass, cube.mass, 1e-12);
            let off = |now: DVec3, then: DVec3| (now - then).length() / then.length();
            let (momentum, angular) = (
                off(after.momentum, before.momentum),
                off(after.angular_momentum, before.angular_momentum),
            );
            assert!(momentum < 1e-6, "{engine}: momentum is off by {momentum}");
            assert!(
                angular < 1e-6,
                "{engine}: angular momentum is off by {angular}"
            );
            assert!(
                after.kinetic_energy > before.kinetic_energy + 0.4 * cube.mass * 9.0,
                "{engine}: it burst"
            );
            // Each goes outwards, and all spin as the cube did.
            for body in &bodies[2..] {
                let arm = body.position - cube.position;
                let push = body.velocity - cube.velocity - cube.angular_velocity.cross(arm);
                assert!(push.dot(arm) > 0.0, "{engine}: {push} {arm}");
                assert!((push.length() - 3.0).abs() < 1.0, "{engine}: {push}");
            }
            // Those that no other pushes out of its way.
            let spins_on = |body: &&rockfall::simulation::snapshot::BodyState| {
                let spin = body.angular_velocity;
                spin.abs_diff_eq(cube.angular_velocity, 0.1)
            };
            let count = bodies[2..].iter().filter(spins_on).count();
            assert!(count >= 5, "{engine}: {count} spin as the cube did");
            simulation.step(500).unwrap();
            let later: Summary = simulation.summary().unwrap();
            let kept = later.kinetic_energy / after.kinetic_energy;
            assert!((0.8..1.001).contains(&kept), "{engine}: {kept}");
            assert!(off(later.momentum, before.momentum) < 1e-5, "{engine}");
        },
    );
}

/// The inertia of a rod is not the same about all axes, unlike that of a cube.
#[test]
fn a_rod_that_bursts_keeps_its_momenta_however_it_lies() {
    let mut scene = bursting(json!("spheres"));
    scene["shapes"]["cube"] =
        json!({ "rod": { "n": 4, "radius": 0.05, "spacing": 0.1 }, "material": "stone" });
    scene["bodies"][1]["axis"] = json!([1, 2, 3]);
    scene["bodies"][1]["angle"] = json!(0.7);
    scene["explosions"][0]["fragments"] = json!(2);
    on_both(&scene.to_string(), |mut simulation, engine| {
        simulation.step(500).unwrap();
        let before = simulation.summary().unwrap();
        simulation.step(1).unwrap();
        let after = simulation.summary().unwrap();
        assert_eq!(simulation.body_count(), 4, "{engine}");
        for (now, then) in [
            (after.momentum, before.momentum),
            (after.angular_momentum, before.angular_momentum),
        ] {
            let off = (now - then).length() / then.length();
            assert!(off < 1e-6, "{engine}: {now} {then}");
        }
    });
}

#[test]
fn fragments_of_a_body_with_another_mass_keep_its_momentum_and_spin() {
    let given =
        json!({ "mass": 50, "center_of_mass": [0.02, 0.01, 0], "inertia": [0.4, 0.5, 0.6] });
    on_both(&bursting(given).to_string(), |mut simulation, engine| {
        simulation.step(500).unwrap();
        let cube = simulation.bodies().unwrap().remove(1);
        let before = simulation.summary().unwrap();
        simulation.step(1).unwrap();
        let after = simulation.summary().unwrap();
        let bodies = simulation.bodies().unwrap();
        let mass: f64 = bodies[2..].iter().map(|body| body.mass).sum();
        assert_close(mass, 50.0, 1e-12);
        let off = (after.momentum - before.momentum).length() / before.momentum.length();
        assert!(off < 1e-6, "{engine}: {off}");
        // About their own centre of mass.
        let weighted = |of: &dyn Fn(&rockfall::simulation::snapshot::BodyState) -> DVec3| -> DVec3 {
            bodies[2..]
                .iter()
                .map(|body| of(body) * body.mass / mass)
                .sum()
        };
        let (place, velocity) = (weighted(&|b| b.position), weighted(&|b| b.velocity));
        let orbit = mass * place.cross(velocity);
        let was = 50.0 * cube.position.cross(cube.velocity);
        let spin = after.angular_momentum - orbit;
        let expected = before.angular_momentum - was;
        assert!(
            (spin - expected).length() < 1e-5 * expected.length(),
            "{engine}: {spin} {expected}"
        );
    });
}

/// A cube that bursts among balls on a floor, while others come in.
fn bursting_among_others() -> Value {
    let mut scene = bursting(json!("spheres"));
    scene["gravity"] = json!([0, -9.81, 0]);
    scene["planes"] = json!([{ "point": [0, -0.2, 0], "normal": [0, 1, 0], "material": "stone" }]);
    scene["bodies"] = json!([
        { "shape": "ball", "position": [0.3, -0.1, 0] },
        { "name": "low", "shape": "cube", "position": [0, -0.05, 0] },
        { "shape": "ball", "position": [-0.3, -0.1, 0] },
        { "name": "high", "shape": "cube", "position": [0, 0.6, 0], "angular_velocity": [0, 0, 3] } ]);
    scene["explosions"] = json!([
        { "body": "low", "at": 0.0123, "fragments": 9, "speed": 1 },
        { "body": "high", "at": 0.03, "fragments": 5, "speed": 0.5, "seed": 2 } ]);
    scene["inlets"] = json!([{ "rate": 200, "shapes": { "ball": 1 }, "material": "stone", "count": 6,
        "region": { "min": [-2, 1, -2], "max": [2, 2, 2] } }]);
    scene["outlets"] = json!([{ "inside": { "min": [-9, 1.8, -9], "max": [9, 9, 9] } }]);
    scene["probes"] = json!([{ "face": { "min": [-3, 0.9, -3], "max": [3, 0.9, 3] } }]);
    scene["look_every"] = json!({ "seconds": 0.005 });
    scene
}

#[test]
fn explosions_are_the_same_however_steps_are_divided() {
    let text = bursting_among_others().to_string();
    on_both(&text, |mut whole, engine| {
        let mut parts = match engine {
            "cpu" => simulate(&text),
            _ => Simulation::on_gpu(model(&text), device()).unwrap(),
        };
        whole.step(600).unwrap();
        for part in [1, 122, 1, 76, 99, 2, 299] {
            parts.step(part).unwrap();
        }
        assert_eq!(
            whole.summary().unwrap(),
            parts.summary().unwrap(),
            "{engine}"
        );
        assert_eq!(whole.traffic(), parts.traffic(), "{engine}");
        assert_eq!(whole.traffic().exploded, [true, true]);
        assert!(whole.bodies().unwrap().len() > 2 + 9 + 5, "{engine}");
    });
}

#[test]
fn a_run_goes_on_from_a_checkpoint_before_and_after_an_explosion() {
    let text = bursting_among_others().to_string();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.checkpoint");
    for before in [90, 123, 200] {
        on_both(&text, |mut whole, engine| {
            whole.step(before).unwrap();
            whole.write_checkpoint(&path).unwrap();
            whole.step(400 - before).unwrap();
            let mut again = match engine {
                "cpu" => simulate(&text),
                _ => Simulation::on_gpu(model(&text), device()).unwrap(),
            };
            again.read_checkpoint(&path).unwrap();
            assert_eq!(again.steps(), before);
            again.step(400 - before).unwrap();
            assert_eq!(
                again.summary().unwrap(),
                whole.summary().unwrap(),
                "{engine}: {before}"
            );
            assert_eq!(again.traffic(), whole.traffic(), "{engine}: {before}");
        });
    }
}

#[test]
fn what_is_gone_does_not_burst() {
    let mut scene = bursting(json!("spheres"));
    scene["outlets"] = json!([{ "inside": { "min": [0.5, 1.5, -1.5], "max": [1.5, 2.5, -0.5] } }]);
    scene["look_every"] = json!({ "seconds": 0.01 });
    let mut simulation = simulate(&scene.to_string());
    simulation.step(600).unwrap();
    assert_eq!(simulation.bodies().unwrap().len(), 2);
    assert_eq!(simulation.traffic().exploded, [true]);
}

#[test]
fn explosions_that_cannot_be_get_a_sentence() {
    let told = |change: &dyn Fn(&mut Value)| {
        let mut scene = bursting(json!("spheres"));
        change(&mut scene);
        let error = scene::parse(&scene.to_string(), "test.json".as_ref()).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        told(&|scene| scene["explosions"][0]["fragments"] = json!(28)),
        "test.json: explosions[0].fragments: found 28, expected 2 to 27, the number of spheres of \"cube\""
    );
    assert_eq!(
        told(&|scene| {
            scene["bodies"][0]["name"] = json!("ball");
            scene["explosions"][0]["body"] = json!("ball");
        }),
        "test.json: explosions[0].fragments: found fragments of \"ball\", which is one sphere, expected a body of \
         two or more"
    );
    assert_eq!(
        told(&|scene| {
            let again = scene["explosions"][0].clone();
            scene["explosions"].as_array_mut().unwrap().push(again);
        }),
        "test.json: explosions[1].body: found \"cube\", which bursts already, expected each body once"
    );
    assert_eq!(
        told(&|scene| {
            scene["bodies"][1] =
                json!({ "name": "cube", "shape": "cube", "fixed": true, "position": [1, 2, -1] });
        }),
        "test.json: explosions[0].body: found \"cube\", which is fixed, expected a body that can move"
    );
    assert_eq!(
        told(&|scene| scene["explosions"][0]["at"] = json!(-1)),
        "test.json: explosions[0].at: found -1, expected a time of 0 or more (s)"
    );
    assert_eq!(
        told(&|scene| scene["shapes"]["cube"]["cube"]["spacing"] = json!(0.08)),
        "test.json: explosions[0].body: found a \"cube\", spheres of which overlap by up to 40 % of the smaller radius, \
         expected at most 5 % between fragments, or they drive each other apart; take a shape whose spheres only touch"
    );
}
