//! Walls made of triangles and of signed distances, on both engines.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::common::{device, own};
use glam::{DQuat, DVec3};
use rockfall::model::Model;
use rockfall::model::wall::{Distance, Mesh, Shape, Side, Wall};
use rockfall::{Simulation, scene};
use serde_json::{Value, json};

/// Balls of radius 0.05 m and 1 kg among walls.
fn scene(walls: &Value, bodies: &Value) -> Value {
    json!({
        "version": 1,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 2e-5 },
        "materials": { "m": { "density": 1909.859317102744, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "m" } },
        "walls": walls,
        "bodies": bodies,
    })
}

fn on_both(model: &Model, check: impl Fn(Simulation, &str)) {
    check(Simulation::on_cpu(model.clone(), None).unwrap(), "cpu");
    check(Simulation::on_gpu(model.clone(), device()).unwrap(), "gpu");
}

/// Triangles of a wall.
fn mesh_of(wall: &Wall, fineness: u32) -> Arc<Mesh> {
    let surface = wall.surface(fineness, 1.0);
    let corner = |index: u32| DVec3::from(surface.vertices[index as usize]);
    let triangles = surface.triangles.iter();
    Arc::new(Mesh::new(triangles.map(|corners| corners.map(corner))))
}

/// The rectangle from -0.5 to 0.5 along x and z, in `pieces` squares of two triangles along each side.
fn floor(pieces: u32) -> Mesh {
    let corner = |i: u32, j: u32| {
        let [x, z] = [i, j].map(|k| f64::from(k) / f64::from(pieces) - 0.5);
        DVec3::new(x, 0.0, z)
    };
    let mut triangles = Vec::new();
    for i in 0..pieces {
        for j in 0..pieces {
            let [a, b, c, d] = [
                corner(i, j),
                corner(i, j + 1),
                corner(i + 1, j + 1),
                corner(i + 1, j),
            ];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    Mesh::new(triangles)
}

/// A ball that hits a wall leaves as from its twins of triangles and of sampled distances.
#[test]
fn a_ball_bounces_off_a_wall_as_off_its_twins() {
    let side = std::f64::consts::FRAC_1_SQRT_2;
    // The wall, where the ball starts, the way to the wall, and by how much a twin may differ: the surface
    // of what is round has edges, and samples know nothing of what is between them.
    let cases = [
        (
            json!({ "box": { "size": [0.4, 0.4, 0.4] }, "side": "outside" }),
            [0.26, 0.03, 0.07],
            [-1.0, 0.0, 0.0],
            1e-3,
        ),
        (
            json!({ "box": { "size": [0.4, 0.4, 0.4] }, "side": "inside" }),
            [0.03, -0.14, 0.07],
            [0.0, -1.0, 0.0],
            1e-3,
        ),
        // On an edge of a box.
        (
            json!({ "box": { "size": [0.4, 0.4, 0.4] }, "side": "outside" }),
            [0.2 + 0.06 * side, 0.2 + 0.06 * side, 0.03],
            [-side, -side, 0.0],
            0.03,
        ),
        (
            json!({ "sphere": { "radius": 0.2 }, "side": "outside" }),
            [0.0, 0.0, 0.26],
            [0.0, 0.0, -1.0],
            0.03,
        ),
        (
            json!({ "sphere": { "radius": 0.2 }, "side": "inside" }),
            [0.0, -0.14, 0.0],
            [0.0, -1.0, 0.0],
            0.03,
        ),
        (
            json!({ "cylinder": { "radius": 0.2, "height": 0.4, "closed": true }, "side": "outside" }),
            [0.26, 0.05, 0.0],
            [-1.0, 0.0, 0.0],
            0.03,
        ),
        (
            json!({ "cylinder": { "radius": 0.2, "height": 0.4, "closed": true }, "side": "inside" }),
            [0.05, 0.14, 0.02],
            [0.0, 1.0, 0.0],
            1e-3,
        ),
        (
            json!({ "cone": { "bottom_radius": 0.4, "top_radius": 0, "height": 0.4, "closed": true }, "side": "outside" }),
            [0.2 + 0.06 * side, 0.06 * side, 0.0],
            [-side, -side, 0.0],
            0.03,
        ),
        (
            json!({ "torus": { "ring_radius": 0.2, "radius": 0.1 }, "side": "outside" }),
            [0.0, 0.16, 0.2],
            [0.0, -1.0, 0.0],
            0.03,
        ),
    ];
    // Each where no other is: as it is, as triangles, and as samples.
    let (mut walls, mut bodies) = (Vec::new(), Vec::new());
    for (index, (wall, position, way, _)) in cases.iter().enumerate() {
        for twin in 0..3 {
            let shift = DVec3::new(2.0 * index as f64, 2.0 * f64::from(twin), 0.0);
            let mut wall = wall.clone();
            wall["material"] = json!("m");
            wall["position"] = json!(shift.to_array());
            walls.push(wall);
            let place = DVec3::from(*position) + shift;
            bodies.push(json!({ "shape": "ball", "position": place.to_array(), "velocity": way }));
        }
    }
    let mut scene = scene(&json!(walls), &json!(bodies));
    scene["gravity"] = json!([0, 0, 0]);
    let mut model = crate::common::model(&scene.to_string());
    for (index, wall) in model.walls.iter_mut().enumerate() {
        let mesh = mesh_of(wall, 72);
        assert!(mesh.is_closed());
        match index % 3 {
            0 => {}
            1 => wall.shape = Shape::Mesh(mesh),
            _ => wall.shape = Shape::Sampled(Arc::new(Distance::new(&mesh, 0.02, 0.1))),
        }
    }
    on_both(&model, |mut simulation, engine| {
        simulation.step(1500).unwrap();
        let bodies = simulation.bodies().unwrap();
        for (twins, (wall, _, way, tolerance)) in bodies.chunks(3).zip(&cases) {
            let error = (twins[0].velocity + 0.5 * DVec3::from(*way)).length();
            assert!(error < 1e-3, "{engine}: {wall}: {}", twins[0].velocity);
            for (twin, (name, factor)) in twins[1..]
                .iter()
                .zip([("triangles", 1.0), ("samples", 3.0)])
            {
                let error = (twin.velocity - twins[0].velocity).length();
                assert!(
                    error < factor * *tolerance,
                    "{engine}: {wall} as {name}: {}",
                    twin.velocity
                );
            }
        }
    });
}

/// Balls that drop onto triangles, their edges and their corners, and that roll and slide over them, do as on
/// a plane, to a millionth of their way and of their speed.
#[test]
fn a_plane_of_triangles_is_a_plane() {
    for turn in [
        DQuat::IDENTITY,
        DQuat::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), 0.3),
    ] {
        // Squares of 1/8 with a diagonal: of each ball, where it starts, and its velocity.
        let balls = [
            // Dropped on an interior, on an edge, on a diagonal, on a corner of six triangles.
            ([0.02, 0.0505, 0.1], [0.0, -1.0, 0.0]),
            ([0.125, 0.0505, 0.06], [0.0, -1.0, 0.0]),
            ([0.3125, 0.0505, 0.3125], [0.0, -1.0, 0.0]),
            ([-0.25, 0.0505, 0.25], [0.0, -1.0, 0.0]),
            // Sliding, then rolling: across edges, along one, over corners.
            ([-0.4, 0.05, -0.2], [1.0, 0.0, 0.2]),
            ([-0.4, 0.05, -0.375], [1.0, 0.0, 0.0]),
            ([0.4, 0.05, 0.15], [-0.2, 0.0, -0.2]),
        ];
        let bodies: Vec<Value> = balls
            .iter()
            .map(|(place, velocity)| {
                let place = turn * DVec3::from(*place);
                let velocity = turn * DVec3::from(*velocity);
                json!({ "shape": "ball", "position": place.to_array(), "velocity": velocity.to_array() })
            })
            .collect();
        let wall = json!([{ "rectangle": { "size": [1, 1] }, "side": "outside", "material": "m",
                            "orientation": turn.to_array() }]);
        let mut scene = scene(&wall, &json!(bodies));
        scene["gravity"] = json!((turn * DVec3::Y * -9.81).to_array());
        let plane = crate::common::model(&scene.to_string());
        let mut mesh = plane.clone();
        mesh.walls[0].shape = Shape::Mesh(Arc::new(floor(8)));
        let run = |model: &Model, engine: &str| {
            let mut simulation = match engine {
                "cpu" => Simulation::on_cpu(model.clone(), None).unwrap(),
                _ => Simulation::on_gpu(model.clone(), device()).unwrap(),
            };
            let mut bodies = Vec::new();
            for _ in 0..10 {
                simulation.step(1500).unwrap();
                bodies.push(simulation.bodies().unwrap());
            }
            bodies
        };
        // A software adapter takes long; the plane that is turned is the harder one.
        let engines = match turn == DQuat::IDENTITY {
            true => &["cpu"][..],
            false => &["cpu", "gpu"],
        };
        for &engine in engines {
            let (expected, got) = (run(&plane, engine), run(&mesh, engine));
            for (expected, got) in expected.iter().flatten().zip(got.iter().flatten()) {
                let index = got.index;
                let start = turn * DVec3::from(balls[index].0);
                let way = (expected.position - start).length().max(0.05);
                let shift = (got.position - expected.position).length() / way;
                let change = (got.velocity - expected.velocity).length();
                let spin = (got.angular_velocity - expected.angular_velocity).length() * 0.05;
                assert!(
                    shift < 1e-6 && change < 1e-6 && spin < 1e-6,
                    "{engine}, {turn}: ball {index}: {shift}, {change}, {spin}"
                );
            }
        }
    }
}

/// A mesh is felt from the sides that it should be; one of 100,352 triangles, too.
#[test]
fn meshes_have_sides() {
    let bodies = json!([{ "shape": "ball", "position": [0.013, 0.06, 0.021], "velocity": [0, -1, 0] },
                        { "shape": "ball", "position": [0.213, -0.06, 0.021], "velocity": [0, 1, 0] }]);
    let mut scene = scene(
        &json!([{ "rectangle": { "size": [1, 1] }, "material": "m" }]),
        &bodies,
    );
    scene["gravity"] = json!([0, 0, 0]);
    let mut model = crate::common::model(&scene.to_string());
    for (pieces, side, [above, below]) in [
        (224, Side::Both, [Some(0.5), Some(-0.5)]),
        (16, Side::Front, [Some(0.5), None]),
        (16, Side::Back, [None, Some(-0.5)]),
    ] {
        model.walls[0].shape = Shape::Mesh(Arc::new(floor(pieces)));
        model.walls[0].side = side;
        on_both(&model, |mut simulation, engine| {
            simulation.step(1500).unwrap();
            let bodies = simulation.bodies().unwrap();
            for (body, expected) in bodies.iter().zip([above, below]) {
                let Some(expected) = expected else {
                    continue;
                };
                let error = (body.velocity - DVec3::Y * expected).length();
                assert!(error < 1e-3, "{engine}, {side:?}: {}", body.velocity);
            }
        });
    }
}

/// A block stays where it is on triangles that lie at less than the angle of friction, and slides down with
/// g (sin - mu cos) on those that are steeper: the contact history goes on across edges.
#[test]
fn friction_holds_on_triangles() {
    let shapes = json!({ "block": { "material": "m", "spheres": [
        { "center": [-0.07, 0, -0.07], "radius": 0.05 }, { "center": [0.07, 0, -0.07], "radius": 0.05 },
        { "center": [-0.07, 0, 0.07], "radius": 0.05 }, { "center": [0.07, 0, 0.07], "radius": 0.05 } ] } });
    let run = |angle: f64, check: &dyn Fn(DVec3, DVec3, &str)| {
        let turn = DQuat::from_axis_angle(DVec3::Z, -angle);
        let place = turn * DVec3::new(-0.4, 0.05, 0.013);
        let mut scene = scene(
            &json!([{ "rectangle": { "size": [1, 1] }, "side": "outside", "material": "m",
                      "orientation": turn.to_array() }]),
            &json!([{ "shape": "block", "position": place.to_array(), "orientation": turn.to_array() }]),
        );
        scene["shapes"] = shapes.clone();
        let mut model = crate::common::model(&scene.to_string());
        model.walls[0].shape = Shape::Mesh(Arc::new(floor(16)));
        on_both(&model, |mut simulation, engine| {
            simulation.step(15_000).unwrap();
            let before = simulation.bodies().unwrap().swap_remove(0);
            simulation.step(10_000).unwrap();
            let after = simulation.bodies().unwrap().swap_remove(0);
            check(
                after.position - before.position,
                after.velocity - before.velocity,
                engine,
            );
        });
    };
    run(20_f64.to_radians(), &|way, _, engine| {
        assert!(way.length() < 1e-6 * 0.05, "{engine}: {way}");
    });
    let angle = 35_f64.to_radians();
    let expected = 9.81 * (angle.sin() - 0.5 * angle.cos());
    run(angle, &|_, change, engine| {
        let got = change.length() / 0.2;
        assert!(
            (got / expected - 1.0).abs() < 0.01,
            "{engine}: {got} of {expected}"
        );
    });
}

/// A scene names a mesh by its file; lengths are scaled.
#[test]
fn scenes_have_meshes_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let (mut obj, mut stl) = (String::new(), b"solid, but binary".to_vec());
    stl.resize(80, b' ');
    let mesh = mesh_of(
        &crate::common::model(
            &scene(
                &json!([{ "box": { "size": [100, 200, 300] }, "material": "m" }]),
                &json!([{ "shape": "ball" }]),
            )
            .to_string(),
        )
        .walls[0],
        8,
    );
    stl.extend((mesh.triangles.len() as u32).to_le_bytes());
    for vertex in &mesh.vertices {
        obj += &format!("v {} {} {}\n", vertex.x, vertex.y, vertex.z);
    }
    for &triangle in &mesh.triangles {
        let [a, b, c] = triangle.map(|corner| corner + 1);
        obj += &format!("f {a} {b} {c}\n");
        stl.extend([0; 12]);
        for corner in mesh.corners(triangle) {
            stl.extend(
                corner
                    .to_array()
                    .iter()
                    .flat_map(|x| (*x as f32).to_le_bytes()),
            );
        }
        stl.extend([0; 2]);
    }
    fs::write(folder.path().join("box.obj"), obj).unwrap();
    fs::write(folder.path().join("box.stl"), stl).unwrap();
    let walls = json!([
        { "mesh": { "file": "box.obj", "scale": 0.001 }, "material": "m" },
        { "mesh": { "file": "box.stl", "scale": 0.001 }, "material": "m", "position": [1, 0, 0] },
        { "signed_distance": { "file": "box.stl", "scale": 0.001, "spacing": 0.02 }, "side": "outside",
          "material": "m", "position": [2, 0, 0] },
    ]);
    let bodies: Vec<Value> = (0..3)
        .map(|k| json!({ "shape": "ball", "position": [k, 0.151, 0.02] }))
        .collect();
    let text = scene(&walls, &json!(bodies)).to_string();
    let model = scene::parse(&text, &folder.path().join("scene.json"))
        .unwrap()
        .model;
    on_both(&model, |mut simulation, engine| {
        simulation.step(20_000).unwrap();
        let snapshot = simulation.snapshot().unwrap();
        for (wall, load) in snapshot.wall_loads().iter().enumerate() {
            let error = (load.force + DVec3::Y * 9.81).length() / 9.81;
            assert!(error < 1e-3, "{engine}: wall {wall}: {load:?}");
            let torque = DVec3::new(0.0, 0.0, 0.02).cross(load.force);
            let error = (load.torque - torque).length();
            assert!(error < 1e-3, "{engine}: wall {wall}: {load:?}");
        }
    });
}

/// Every mistake in the file of a mesh is told with its place there.
#[test]
fn mistakes_in_meshes_have_a_file_and_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let open = "v 0 0 0\nv 1 0 0\nv 0 1 0\n\nf 1 2 3\n";
    let mut cut = vec![b' '; 80];
    cut.extend(2_u32.to_le_bytes());
    cut.extend([0; 60]);
    let files: [(&str, &[u8]); 13] = [
        ("empty.obj", b""),
        ("empty.stl", b""),
        ("nothing.obj", b"# only a comment\n"),
        ("picture.obj", b"\x89PNG\r\n\x1a\n"),
        ("words.obj", b"v 0 0 0\nHello, world\n"),
        ("words.stl", b"Hello, world\n"),
        ("nan.obj", b"v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n"),
        ("number.obj", b"v 0 0 0\nv 1 zero 0\n"),
        ("index.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n"),
        ("thin.obj", b"v 0 0 0\nv 1 0 0\nv 2 0 0\nv 0 1 0\nf 1 2 4\nf 1 2 3\n"),
        ("facet.stl", b"solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nendloop\nendfacet\n"),
        ("cut.stl", &cut),
        ("open.obj", open.as_bytes()),
    ];
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    fs::write(folder.path().join("mesh.ply"), "ply\n").unwrap();
    let mistake = |wall: Value| {
        let mut wall = wall;
        wall["material"] = json!("m");
        let text = scene(
            &json!([wall]),
            &json!([{ "shape": "ball", "position": [9, 9, 9] }]),
        )
        .to_string();
        let path = folder.path().join("scene.json");
        scene::parse(&text, &path).unwrap_err().to_string()
    };
    for (file, parts) in [
        ("missing.obj", &["missing.obj", "no such file"][..]),
        ("empty.obj", &["\"empty.obj\"", "an empty file"]),
        ("empty.stl", &["\"empty.stl\"", "an empty file"]),
        ("nothing.obj", &["\"nothing.obj\"", "no triangle"]),
        (
            "picture.obj",
            &["\"picture.obj\", line 1", "bytes that are not text"],
        ),
        ("words.obj", &["\"words.obj\", line 2", "Hello, world"]),
        ("words.stl", &["\"words.stl\", line 1", "Hello, world"]),
        ("nan.obj", &["\"nan.obj\", line 2", "NaN", "finite"]),
        ("number.obj", &["\"number.obj\", line 2", "1 zero 0"]),
        (
            "index.obj",
            &["\"index.obj\", line 4", "f 1 2 4", "3 vertices"],
        ),
        ("thin.obj", &["\"thin.obj\", line 6", "degenerate"]),
        (
            "facet.stl",
            &["\"facet.stl\", line 7", "a facet of 2 vertices"],
        ),
        ("cut.stl", &["\"cut.stl\"", "84 bytes and 50 for each"]),
        ("mesh.ply", &["mesh.ply", "\"obj\" or \"stl\""]),
    ] {
        let text = mistake(json!({ "mesh": { "file": file } }));
        for part in ["walls[0].mesh.file"].iter().chain(parts) {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
    }
    let text = mistake(json!({ "signed_distance": { "file": "open.obj", "spacing": 0.1 } }));
    assert!(text.contains("which is not closed"), "{text}");
    let text = mistake(json!({ "mesh": { "file": "open.obj", "scale": 0 } }));
    assert!(text.contains("walls[0].mesh.scale"), "{text}");
}

/// A wall that starts inside bodies is found before a run.
#[test]
fn a_mesh_inside_bodies_is_found() {
    let cases = [
        // A corner of a box reaches into the ball; the ball is all inside.
        (json!({ "box": { "size": [1, 1, 1] } }), [0.53, 0.51, 0.51]),
        (
            json!({ "box": { "size": [1, 1, 1] }, "side": "outside" }),
            [0.1, 0.2, 0.3],
        ),
        (
            json!({ "cylinder": { "radius": 0.5, "height": 1, "closed": true }, "side": "outside" }),
            [0.1, 0.2, 0.3],
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (mut wall, place) in cases {
        wall["material"] = json!("m");
        let bodies = json!([{ "shape": "ball", "position": place }]);
        let path = folder.path().join("scene.json");
        let error = |wall: &Value| {
            let text = scene(&json!([wall]), &bodies).to_string();
            scene::parse(&text, &path).unwrap_err().to_string()
        };
        let text = error(&wall);
        assert!(
            text.contains("bodies[0]") && text.contains("walls[0]"),
            "{text}"
        );
        // The same of its mesh.
        let far = json!([{ "shape": "ball", "position": [9, 9, 9] }]);
        let alone = scene(&json!([wall]), &far).to_string();
        let mesh = mesh_of(&crate::common::model(&alone).walls[0], 32);
        let vertices = mesh
            .vertices
            .iter()
            .map(|v| format!("v {} {} {}\n", v.x, v.y, v.z));
        let faces = mesh
            .triangles
            .iter()
            .map(|t| format!("f {} {} {}\n", t[0] + 1, t[1] + 1, t[2] + 1));
        fs::write(
            folder.path().join("wall.obj"),
            vertices.chain(faces).collect::<String>(),
        )
        .unwrap();
        let mut twin = json!({ "mesh": { "file": "wall.obj" }, "material": "m" });
        if let Some(side) = wall.get("side") {
            twin["side"] = side.clone();
        }
        let text = error(&twin);
        assert!(
            text.contains("bodies[0]") && text.contains("walls[0]"),
            "{text}"
        );
        let mut twin =
            json!({ "signed_distance": { "file": "wall.obj", "spacing": 0.05 }, "material": "m" });
        if let Some(side) = wall.get("side") {
            twin["side"] = side.clone();
        }
        let text = error(&twin);
        assert!(
            text.contains("bodies[0]") && text.contains("walls[0]"),
            "{text}"
        );
    }
}

#[test]
fn a_mesh_says_how_large_it_is_and_in_which_unit() {
    let file = own("tests/data/tetrahedron.obj");
    let scene = |mesh: serde_json::Value| {
        let text = serde_json::json!({
            "version": 1,
            "materials": { "m": { "density": 1000, "restitution": 0.5, "friction": 0.5 } },
            "duration": 1e-3,
            "shapes": { "ball": { "sphere": { "radius": 1e-5 }, "material": "m" } },
            "walls": [{ "mesh": mesh, "material": "m" }],
            "bodies": [{ "shape": "ball", "position": [5, 5, 5] }],
        });
        rockfall::scene::parse(&text.to_string(), "test.json".as_ref()).unwrap()
    };
    let metres = scene(serde_json::json!({ "file": file }));
    assert!(
        metres.warnings[0].contains("give the unit of the file, such as \"units\": \"mm\""),
        "{:?}",
        metres.warnings
    );
    let note = |scene: &rockfall::scene::Scene| {
        let mut notes = scene.notes.iter();
        notes
            .find(|note| note.starts_with("walls[0].mesh: "))
            .unwrap()
            .clone()
    };
    assert!(note(&metres).contains(" 4 triangles from ") && note(&metres).ends_with(", closed"));
    for meant in [
        serde_json::json!({ "file": file, "units": "mm" }),
        serde_json::json!({ "file": file, "units": "m" }),
        serde_json::json!({ "file": file, "scale": 1 }),
    ] {
        assert_eq!(scene(meant).warnings, [""; 0]);
    }
    let millimetres = scene(serde_json::json!({ "file": file, "units": "mm" }));
    let scaled = scene(serde_json::json!({ "file": file, "scale": 0.001 }));
    assert_eq!(millimetres.model.walls, scaled.model.walls);
    let inches = scene(serde_json::json!({ "file": file, "units": "in", "scale": 2 }));
    let scaled = scene(serde_json::json!({ "file": file, "scale": 2.0 * 0.0254 }));
    assert_eq!(inches.model.walls, scaled.model.walls);
}

/// A ball that slides without friction over a square of two triangles under its weight wears it by k m g s, on its way only, and
/// one that hits at an angle by what Finnie says of its angle.
#[test]
fn a_mesh_wears_where_balls_slide_and_a_checkpoint_keeps_it() {
    let square = "v -1 0 -1\nv 1 0 -1\nv 1 0 1\nv -1 0 1\nf 1 3 2\nf 1 4 3\n";
    let scene = json!({
        "version": 1, "gravity": [0, -10, 0],
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 1e-4 },
        "materials": { "m": { "density": 2000, "restitution": 0.3, "friction": 0 } },
        "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "m" } },
        "walls": [ { "name": "plate", "mesh": { "file": "square.obj" }, "material": "m", "wear": { "archard": 1e-9 } } ],
        "bodies": [ { "shape": "ball", "position": [-0.5, 0.0499, -0.2], "velocity": [1, 0, 0] } ] });
    let files =
        std::collections::BTreeMap::from([("square.obj".into(), square.as_bytes().to_vec())]);
    let read = || {
        scene::parse_with(&scene.to_string(), Path::new("wear.json"), &files)
            .unwrap()
            .model
    };
    let fresh = || Simulation::new(read(), &Default::default()).unwrap();
    let mut whole = fresh();
    whole.step(3000).unwrap();
    let model = whole.shared_model();
    let worn = whole.traffic().worn[0].clone();
    // On the triangle of the corner at 1, -1 from x = z on.
    let weight = model.shapes[0].mass * 10.0;
    let expected = 1e-9 * weight * 0.3;
    assert!(
        (worn.iter().sum::<f64>() / expected - 1.0).abs() < 0.02,
        "{worn:?}, {expected}"
    );
    assert_eq!(worn.iter().filter(|own| **own > 0.0).count(), 1, "{worn:?}");
    whole.step(2000).unwrap();
    let worn = whole.traffic().worn[0].clone();
    let expected = [0.3, 0.2].map(|way| 1e-9 * weight * way);
    let mut found = worn.clone();
    found.sort_by(|a, b| b.total_cmp(a));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found / expected - 1.0).abs() < 0.02, "{worn:?}");
    }

    let mut first = fresh();
    first.step(3000).unwrap();
    let bytes = first.checkpoint().unwrap();
    let checkpoint =
        rockfall::simulation::checkpoint::Checkpoint::decode(bytes, Path::new("wear")).unwrap();
    let mut second = fresh();
    checkpoint.restore(&mut second).unwrap();
    second.step(2000).unwrap();
    assert_eq!(second.traffic().worn[0], worn);
}
