//! Pictures: what they show is held to geometry, to the state, and to pictures that a person has
//! looked at.
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{device, model, own};
use glam::{DQuat, DVec3, Vec3};
use image::codecs::gif::GifDecoder;
use image::{AnimationDecoder, RgbaImage};
use rockfall::model::view::{Background, Ground, Lines};
use rockfall::render::shaders::Texts;
use rockfall::render::{Camera, ColourBy, Line, Look, PICTURE, Renderer, Thing};
use rockfall::{Simulation, scene};

const SIZE: [u32; 2] = [160, 120];

/// Balls on a floor, one of them large, two that overlap, and a clump.
const SCENE: &str = r#"{
    "version": 1,
    "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5,
                              "conductivity": 1, "heat_capacity": 800 },
                   "steel": { "density": 7800, "restitution": 0.5, "friction": 0.5, "heat_capacity": 500 } },
    "shapes": { "ball": { "sphere": { "radius": 0.5 }, "material": "stone" },
                "marble": { "sphere": { "radius": 0.2 }, "material": "steel" },
                "cube": { "cube": { "n": 2, "radius": 0.2 }, "material": "steel" } },
    "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" } ],
    "initial_overlap": "relax",
    "contact": { "stiffness": 1e5 },
    "bodies": [ { "shape": "ball", "position": [0, 0.5, 0], "velocity": [1, 0, 0] },
                { "shape": "marble", "position": [0.9, 0.2, 0.5], "velocity": [0, 3, 0], "temperature": 350 },
                { "shape": "marble", "position": [-0.3, 0.2, 0.9] },
                { "shape": "cube", "position": [-1, 0.4, 0.2], "axis": [0, 1, 0], "angle": 0.5,
                  "angular_velocity": [0, 2, 0] } ]
}"#;

fn on_gpu(text: &str) -> Simulation {
    Simulation::on_gpu(model(text), device()).unwrap()
}

fn on_cpu(text: &str) -> Simulation {
    Simulation::on_cpu(model(text), Some(1)).unwrap()
}

fn renderer(simulation: &Simulation) -> Renderer {
    let mut renderer = Renderer::new(device(), simulation, PICTURE).unwrap();
    renderer.update(simulation).unwrap();
    renderer
}

fn camera() -> Camera {
    Camera::at(DVec3::new(1.5, 1.6, 3.5), DVec3::new(-0.1, 0.35, 0.2))
}

fn picture(simulation: &Simulation, look: &Look) -> RgbaImage {
    let mut renderer = renderer(simulation);
    renderer.survey(look).unwrap();
    renderer.picture(SIZE, &camera(), look, &[]).unwrap()
}

/// Difference between two pictures: the root of the mean square of the differences of their colours,
/// from 0 (none) to 1 (black and white), after both are blurred by 3 x 3 pixels, as a person does not
/// see single ones.
fn difference(a: &RgbaImage, b: &RgbaImage) -> f64 {
    assert_eq!(a.dimensions(), b.dimensions());
    let (width, height) = a.dimensions();
    let blurred = |image: &RgbaImage, x: u32, y: u32, channel: usize| {
        let (mut sum, mut count) = (0.0, 0.0);
        for v in y.saturating_sub(1)..(y + 2).min(height) {
            for u in x.saturating_sub(1)..(x + 2).min(width) {
                sum += f64::from(image.get_pixel(u, v).0[channel]);
                count += 1.0;
            }
        }
        sum / count / 255.0
    };
    let mut sum = 0.0;
    for y in 0..height {
        for x in 0..width {
            for channel in 0..3 {
                sum += (blurred(a, x, y, channel) - blurred(b, x, y, channel)).powi(2);
            }
        }
    }
    (sum / f64::from(3 * width * height)).sqrt()
}

/// The spheres of a state, as index, centre and radius.
fn spheres(simulation: &mut Simulation) -> Vec<(u32, DVec3, f64)> {
    let model = simulation.model().clone();
    let mut found = Vec::new();
    for body in simulation.bodies().unwrap() {
        let clump = &model.shapes[body.shape];
        for sphere in &clump.spheres {
            // From the principal frame to the shape's own axes, to the world.
            let arm = body.orientation * (clump.principal_axes * sphere.center);
            found.push((found.len() as u32, body.position + arm, sphere.radius));
        }
    }
    found
}

/// The nearest thing along a ray, by formulas, how far it is along the ray, and by how much (m) another
/// outcome was missed.
fn nearest(eye: DVec3, way: DVec3, spheres: &[(u32, DVec3, f64)]) -> (Thing, f64, f64) {
    let mut hits = vec![];
    let mut close = f64::INFINITY;
    for &(index, center, radius) in spheres {
        let from_eye = center - eye;
        let along = from_eye.dot(way);
        let beside = (from_eye - along * way).length();
        close = close.min((beside - radius).abs());
        if beside < radius {
            hits.push((
                along - (radius * radius - beside * beside).sqrt(),
                Thing::Sphere(index),
            ));
        }
    }
    if way.y < 0.0 {
        hits.push((-eye.y / way.y, Thing::Wall(0)));
    }
    hits.sort_by(|a, b| a.0.total_cmp(&b.0));
    if let [first, second, ..] = hits[..] {
        close = close.min(second.0 - first.0);
    }
    let (distance, thing) = hits
        .first()
        .copied()
        .unwrap_or((f64::INFINITY, Thing::Nothing));
    (thing, distance, close)
}

#[test]
fn each_sample_shows_what_geometry_says_and_how_far_it_is() {
    let mut simulation = on_gpu(SCENE);
    simulation.step(20).unwrap();
    let spheres = spheres(&mut simulation);
    let mut renderer = renderer(&simulation);
    let (camera, look) = (camera(), Look::default());
    renderer.picture(SIZE, &camera, &look, &[]).unwrap();
    let layers = renderer.layers().unwrap().unwrap();
    let [width, height] = layers.size;
    assert_eq!(layers.size, SIZE.map(|side| 2 * side));
    let axes = camera.axes();
    // Adapters round corners to a part of a pixel: Vulkan asks for 1/16, which SwiftShader takes. Others take 1/256, or draw
    // as if they did not round.
    let rounding = match simulation.adapter().contains("SwiftShader") {
        true => 1.0 / 16.0,
        false => 0.0,
    };
    let mut compared = 0;
    let mut seen = std::collections::HashSet::new();
    for y in 0..height {
        for x in 0..width {
            let part = |place: u32, shift: f64, of: u32| {
                2.0 * (f64::from(place) + 0.5 + shift) / f64::from(of) - 1.0
            };
            let aspect = f64::from(width) / f64::from(height);
            let cast = |[right, down]: [f64; 2]| {
                let way = camera.ray(part(x, right, width), -part(y, down, height), aspect);
                let (thing, distance, close) = nearest(camera.eye(), way, &spheres);
                (thing, distance * way.dot(axes.forward), distance, close)
            };
            let (thing, away, distance, close) = cast([0.0, 0.0]);
            let index = (y * width + x) as usize;
            // On an edge either side is right; far away the floor ends.
            if close < 1e-4 || distance > 8.0 {
                continue;
            }
            let mut range = (away, away);
            if rounding > 0.0 {
                let about = [-rounding, rounding]
                    .map(|right| [-rounding, rounding].map(|down| cast([right, down])));
                if about.as_flattened().iter().any(|other| other.0 != thing) {
                    continue;
                }
                for (_, away, ..) in about.as_flattened() {
                    range = (range.0.min(*away), range.1.max(*away));
                }
            }
            assert_eq!(layers.things[index], thing, "({x}, {y})");
            if thing != Thing::Nothing {
                let found = f64::from(layers.distances[index]);
                let slack = 1e-5 * away;
                assert!(
                    range.0 - slack < found && found < range.1 + slack,
                    "({x}, {y}): {found} for {away}"
                );
            }
            compared += 1;
            seen.insert(thing);
        }
    }
    assert!(compared > 7 * (width * height) / 10, "{compared} samples");
    assert!(seen.len() > 8, "{seen:?}");
}

#[test]
fn the_area_of_a_sphere_is_that_of_the_ellipse_that_it_projects_to() {
    let text = r#"{ "version": 1, "gravity": [0, 0, 0],
        "materials": { "stone": { "density": 1, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 1 }, "material": "stone" } },
        "bodies": [ { "shape": "ball", "position": [1.2, 0.8, 0] } ] }"#;
    let simulation = on_gpu(text);
    let mut renderer = renderer(&simulation);
    let camera = Camera::at(DVec3::new(0.0, 0.0, 6.0), DVec3::ZERO);
    let look = Look {
        supersampling: 4,
        ..Look::default()
    };
    renderer.picture(SIZE, &camera, &look, &[]).unwrap();
    let layers = renderer.layers().unwrap().unwrap();
    let seen = layers
        .things
        .iter()
        .filter(|&&t| t == Thing::Sphere(0))
        .count() as f64;
    // The cone of rays that touch the sphere, cut by the plane of the picture: with the angle t to the
    // middle of the picture and the half opening s, an ellipse of the half axes
    // sin s cos s / (cos^2 t - sin^2 s) and sin s / sqrt(cos^2 t - sin^2 s), in units of the distance
    // of that plane.
    let center = DVec3::new(1.2, 0.8, -6.0);
    let cos_t = 6.0 / center.length();
    let sin_s = 1.0 / center.length();
    let rest = cos_t * cos_t - sin_s * sin_s;
    let area =
        std::f64::consts::PI * sin_s * (1.0 - sin_s * sin_s).sqrt() / rest * sin_s / rest.sqrt();
    let sample = 2.0 * camera.slope() / f64::from(layers.size[1]);
    let expected = area / (sample * sample);
    assert!(
        (seen / expected - 1.0).abs() < 3e-3,
        "{seen} samples for {expected}"
    );
}

#[test]
fn edges_are_smooth() {
    let simulation = on_gpu(SCENE);
    let shown = |supersampling| {
        let look = Look {
            supersampling,
            ..Look::default()
        };
        picture(&simulation, &look)
    };
    // How many levels lie between the sky and the sphere along the edge of the large ball: without
    // samples, a pixel is either one or the other.
    let (rough, smooth) = (shown(1), shown(4));
    let steps = |image: &RgbaImage| {
        let mut largest = 0;
        for (x, y, pixel) in image.enumerate_pixels() {
            if x + 1 < SIZE[0] && y < SIZE[1] / 3 {
                let next = image.get_pixel(x + 1, y);
                largest = largest.max(pixel.0[0].abs_diff(next.0[0]));
            }
        }
        largest
    };
    let (rough, smooth) = (steps(&rough), steps(&smooth));
    assert!(rough > smooth, "{rough} and {smooth}");
}

#[test]
fn both_engines_show_the_same_picture() {
    let (mut gpu, mut cpu) = (on_gpu(SCENE), on_cpu(SCENE));
    let look = Look::default();
    assert_eq!(picture(&gpu, &look), picture(&cpu, &look), "at the start");
    gpu.step(200).unwrap();
    cpu.step(200).unwrap();
    let (gpu, cpu) = (picture(&gpu, &look), picture(&cpu, &look));
    assert!(difference(&gpu, &cpu) < 2e-3, "{}", difference(&gpu, &cpu));
    let start = picture(&on_cpu(SCENE), &look);
    assert!(difference(&start, &cpu) > 5e-3, "something has moved");
}

#[test]
fn a_picture_is_the_same_bits_each_time() {
    let shown = || {
        let mut simulation = on_gpu(SCENE);
        simulation.step(50).unwrap();
        let look = Look {
            colour_by: ColourBy::Force,
            ..Look::default()
        };
        picture(&simulation, &look)
    };
    assert_eq!(shown(), shown());
}

#[test]
fn far_from_the_origin_the_picture_is_as_sharp() {
    let look = Look::default();
    let near = picture(&on_gpu(SCENE), &look);
    // An f32 there has steps of 0.06 m.
    let far = 1_000_000.0;
    let mut there = model(SCENE);
    for body in &mut there.bodies {
        body.position.x += far;
    }
    there.walls[0].pose.position.x += far;
    let simulation = Simulation::on_gpu(there, device()).unwrap();
    let mut renderer = renderer(&simulation);
    let mut camera = camera();
    camera.target.x += far;
    let shown = renderer.picture(SIZE, &camera, &look, &[]).unwrap();
    // The pattern of the floor starts at another point.
    let spheres = |image: &RgbaImage| {
        let mut image = image.clone();
        let layers = renderer.layers().unwrap().unwrap();
        for (x, y, pixel) in image.enumerate_pixels_mut() {
            let sample = (2 * y * layers.size[0] + 2 * x) as usize;
            if !matches!(layers.things[sample], Thing::Sphere(_)) {
                *pixel = image::Rgba([0; 4]);
            }
        }
        image
    };
    let difference = difference(&spheres(&near), &spheres(&shown));
    assert!(difference < 3e-3, "{difference}");
}

#[test]
fn the_survey_finds_the_largest_values_and_where_bodies_are() {
    for mut simulation in [on_gpu(SCENE), on_cpu(SCENE)] {
        let backend = simulation.backend();
        simulation.step(30).unwrap();
        let spheres = spheres(&mut simulation);
        let state = simulation.state().unwrap().clone();
        let bodies = simulation.bodies().unwrap();
        let mut renderer = renderer(&simulation);
        let model = simulation.model();
        let mut bounds = None;
        let mut check = |by: ColourBy, expected: f64| {
            let look = Look {
                colour_by: by,
                ..Look::default()
            };
            bounds = Some(renderer.survey(&look).unwrap());
            let found = f64::from(renderer.most());
            assert!(expected > 0.0, "{by:?}");
            assert!(
                (found / expected - 1.0).abs() < 1e-4,
                "{backend} {by:?}: {found}, {expected}"
            );
            assert!(f64::from(renderer.top(&look)) >= found);
        };
        let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        check(
            ColourBy::Speed,
            most(&mut bodies.iter().map(|body| body.velocity.length())),
        );
        let loads = &state.sphere_loads;
        check(
            ColourBy::Force,
            most(&mut loads.iter().map(|load| load.force.length().into())),
        );
        let overlaps = loads.iter().zip(&state.spheres);
        check(
            ColourBy::Overlap,
            most(&mut overlaps.map(|(load, sphere)| (load.max_overlap / sphere.radius).into())),
        );
        check(
            ColourBy::Contacts,
            most(
                &mut state
                    .bodies
                    .iter()
                    .map(|body| state.load(body).contacts.into()),
            ),
        );
        check(
            ColourBy::Energy,
            most(&mut bodies.iter().map(|body| {
                let clump = &model.shapes[body.shape];
                let spin =
                    (body.orientation * clump.principal_axes).conjugate() * body.angular_velocity;
                0.5 * body.mass * body.velocity.length_squared()
                    + 0.5 * (clump.inertia * spin).dot(spin)
            })),
        );
        check(
            ColourBy::Spin,
            most(&mut bodies.iter().map(|body| body.angular_velocity.length())),
        );
        check(
            ColourBy::Radius,
            most(&mut spheres.iter().map(|(_, _, radius)| *radius)),
        );
        check(
            ColourBy::Mass,
            most(&mut bodies.iter().map(|body| body.mass)),
        );
        check(ColourBy::Index, bodies.len() as f64 - 1.0);
        check(
            ColourBy::Temperature,
            most(&mut bodies.iter().filter_map(|body| body.quantities.temperature)),
        );
        let bounds = bounds.unwrap();
        for (_, center, radius) in spheres {
            assert!((center - radius).cmpge(bounds.min).all(), "{center}");
            assert!((center + radius).cmple(bounds.max).all(), "{center}");
        }
        // To a part of a cell, which is little more than a diameter of the smallest sphere.
        assert!(bounds.min.y > -0.1 && bounds.max.y < 1.1, "{bounds:?}");
    }
}

#[test]
fn what_is_at_a_pixel_is_what_is_seen_there() {
    let simulation = on_gpu(SCENE);
    let mut renderer = renderer(&simulation);
    let look = Look::default();
    assert_eq!(renderer.thing_at([0, 0], &look).unwrap(), Thing::Nothing);
    let camera = Camera::at(DVec3::new(0.0, 0.5, 4.0), DVec3::new(0.0, 0.5, 0.0));
    renderer.picture(SIZE, &camera, &look, &[]).unwrap();
    let at = |x, y| renderer.thing_at([x, y], &look).unwrap();
    assert_eq!(at(80, 60), Thing::Sphere(0));
    assert_eq!(at(80, 115), Thing::Wall(0));
    assert_eq!(at(80, 3), Thing::Nothing);
    assert_eq!(at(1000, 60), Thing::Nothing);
}

/// A ball in a sphere of 2 m, or beside it.
fn in_a_shell(side: &str) -> String {
    // Where it may be.
    let away = if side == "outside" { 50 } else { 0 };
    format!(
        r#"{{ "version": 1, "gravity": [0, 0, 0], "contact": {{ "stiffness": 1e5 }},
        "materials": {{ "stone": {{ "density": 1, "restitution": 0.5, "friction": 0.5 }} }},
        "shapes": {{ "ball": {{ "sphere": {{ "radius": 0.3 }}, "material": "stone" }} }},
        "walls": [ {{ "sphere": {{ "radius": 2 }}, "side": "{side}", "material": "stone" }} ],
        "bodies": [ {{ "shape": "ball", "position": [{away}, 0, 0] }} ] }}"#
    )
}

#[test]
fn a_wall_is_seen_from_the_side_that_bodies_touch() {
    let camera = Camera::at(DVec3::new(0.0, 0.0, 9.0), DVec3::ZERO);
    // In the middle, what is seen at which distance, and the same beside the ball, 1.2 m off the axis.
    let beside = 9.0_f64.hypot(1.2);
    let along = |sign: f64| {
        // From 9 m away, through (1.2, 0, 0): to a sphere of 2 m.
        let (middle, way) = (9.0 * 9.0 / beside, 9.0 * 1.2 / beside);
        (middle + sign * (4.0 - way * way).sqrt()) * 9.0 / beside
    };
    for (side, middle, near, far) in [
        ("inside", Thing::Sphere(0), 8.7, along(1.0)),
        ("outside", Thing::Wall(0), 7.0, along(-1.0)),
        // It hides the body in it, so its near side is glass.
        ("both", Thing::Sphere(0), 8.7, along(1.0)),
    ] {
        let simulation = on_cpu(&in_a_shell(side));
        let mut renderer = renderer(&simulation);
        renderer
            .picture(SIZE, &camera, &Look::default(), &[])
            .unwrap();
        let layers = renderer.layers().unwrap().unwrap();
        let [width, height] = layers.size;
        let right = 1.2 / (9.0 * camera.slope()) * f64::from(height) / 2.0;
        let row = (height / 2) * width;
        let there = row + width / 2 + right.round() as u32;
        for (sample, thing, distance) in [
            (row + width / 2, middle, near),
            (there, Thing::Wall(0), far),
        ] {
            assert_eq!(layers.things[sample as usize], thing, "{side}");
            let found = f64::from(layers.distances[sample as usize]);
            // The surface is made of triangles.
            assert!(
                (found - distance).abs() < 0.03,
                "{side}: {found} for {distance}"
            );
        }
    }
}

/// Of a shell with a ball in it, what is in the middle and what is beside the ball, and the picture.
fn seen_in_a_shell(look: &str, clip: &str) -> (Thing, Thing, RgbaImage) {
    let text = in_a_shell("both").replace(r#""side": "both""#, &format!(r#""side": "both"{look}"#));
    let simulation = on_cpu(&text);
    let look = Look {
        clip: (!clip.is_empty()).then(|| clip.parse().unwrap()),
        ..Look::default()
    };
    let mut renderer = renderer(&simulation);
    let camera = Camera::at(DVec3::new(0.0, 0.0, 9.0), DVec3::ZERO);
    let image = renderer.picture(SIZE, &camera, &look, &[]).unwrap();
    let at = |x| renderer.thing_at([x, 60], &look).unwrap();
    (at(80), at(105), image)
}

#[test]
fn walls_can_be_seen_through_hidden_and_coloured() {
    let (ball, shell) = (Thing::Sphere(0), Thing::Wall(0));
    let seen = |look: &str| {
        let (middle, beside, _) = seen_in_a_shell(look, "");
        (middle, beside)
    };
    // Faint in front of the ball, and solid behind it.
    assert_eq!(seen(""), (ball, shell));
    assert_eq!(seen(r#", "opacity": 1"#), (shell, shell));
    assert_eq!(seen(r#", "opacity": 0.3"#), (ball, Thing::Nothing));
    assert_eq!(seen(r#", "visible": false"#), (ball, Thing::Nothing));
    // Glass is seen where nothing is behind it, the more the less one sees through it.
    let image = |look: &str| seen_in_a_shell(look, "").2;
    let none = image(r#", "visible": false"#);
    let [faint, strong] = [0.2, 0.8].map(|opacity| {
        let shown = image(&format!(r##", "opacity": {opacity}, "colour": "#ff0000""##));
        let at = |image: &RgbaImage| image.get_pixel(105, 60).0.map(i32::from);
        let (here, before) = (at(&shown), at(&none));
        assert!(
            here[0] - before[0] > here[2] - before[2] + 20,
            "{here:?} {before:?}"
        );
        difference(&shown, &none)
    });
    assert!(0.02 < faint && 1.5 * faint < strong, "{faint} {strong}");
}

#[test]
fn bodies_and_walls_are_cut() {
    let (ball, shell) = (Thing::Sphere(0), Thing::Wall(0));
    let seen = |clip: &str| {
        let (middle, beside, _) = seen_in_a_shell(r#", "opacity": 1"#, clip);
        (middle, beside)
    };
    // The camera is where z is large: what is nearer than the plane goes away.
    assert_eq!(seen("z=1"), (ball, shell));
    assert_eq!(seen("z<1"), (ball, shell));
    assert_eq!(seen("z=-1"), (shell, shell));
    assert_eq!(seen("z>1.8"), (shell, Thing::Nothing));
    assert_eq!(seen("y<-0.5"), (Thing::Nothing, Thing::Nothing));
    // Through the middle of the ball: what is seen is where it is cut.
    let simulation = on_cpu(&in_a_shell("both"));
    let mut renderer = renderer(&simulation);
    let look = Look {
        clip: Some("z=0.1".parse().unwrap()),
        ..Look::default()
    };
    let camera = Camera::at(DVec3::new(0.0, 0.0, 9.0), DVec3::ZERO);
    renderer.picture(SIZE, &camera, &look, &[]).unwrap();
    let layers = renderer.layers().unwrap().unwrap();
    let spheres = layers.things.iter().zip(&layers.distances);
    let distances: Vec<f32> = spheres
        .filter(|(thing, _)| **thing == ball)
        .map(|(_, distance)| *distance)
        .collect();
    let flat = distances.iter().filter(|d| (*d - 8.9).abs() < 1e-3).count();
    assert!(distances.len() > 100 && flat as f64 > 0.9 * distances.len() as f64);
    // Of a disc whose radius is sqrt(0.3^2 - 0.1^2).
    let sample = 2.0 * camera.slope() * 8.9 / f64::from(layers.size[1]);
    let area = std::f64::consts::PI * 0.08 / (sample * sample);
    assert!((flat as f64 / area - 1.0).abs() < 0.05, "{flat} for {area}");
}

#[test]
fn a_mesh_is_red_where_it_is_worn() {
    // A ball slides over one of the two triangles of a square, solid or of glass.
    let square = "v -1 0 -1\nv 1 0 -1\nv 1 0 1\nv -1 0 1\nf 1 3 2\nf 1 4 3\n";
    let files =
        std::collections::BTreeMap::from([("square.obj".into(), square.as_bytes().to_vec())]);
    for opacity in [1.0, 0.5] {
        let scene = format!(
            r#"{{ "version": 1, "contact": {{ "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 1e-4 }},
                 "materials": {{ "m": {{ "density": 2000, "restitution": 0.3, "friction": 0 }} }},
                 "shapes": {{ "ball": {{ "sphere": {{ "radius": 0.05 }}, "material": "m" }} }},
                 "walls": [ {{ "mesh": {{ "file": "square.obj" }}, "material": "m", "wear": {{ "archard": 1e-9 }},
                               "opacity": {opacity} }} ],
                 "bodies": [ {{ "shape": "ball", "position": [-0.5, 0.0499, 0.2], "velocity": [1, 0, 0] }} ] }}"#
        );
        let model = scene::parse_with(&scene, Path::new("wear.json"), &files);
        let mut simulation = Simulation::on_cpu(model.unwrap().model, Some(1)).unwrap();
        let mut renderer = renderer(&simulation);
        let camera = Camera::at(DVec3::new(0.01, 3.0, 0.0), DVec3::ZERO);
        let mut red = |simulation: &Simulation| {
            renderer.update(simulation).unwrap();
            let picture = renderer
                .picture(SIZE, &camera, &Look::default(), &[])
                .unwrap();
            let is_red = |pixel: &image::Rgba<u8>| pixel[0].saturating_sub(pixel[2]) > 60;
            picture.pixels().filter(|pixel| is_red(pixel)).count()
        };
        // The ball has a colour of its own.
        let unworn = red(&simulation);
        assert!(unworn < 20, "{unworn}");
        simulation.step(3000).unwrap();
        // The square takes about a third of the picture, and one half of it is worn.
        let pixels = (SIZE[0] * SIZE[1]) as usize;
        let part = red(&simulation).saturating_sub(unworn) as f64 / pixels as f64;
        assert!((0.08..0.4).contains(&part), "{opacity}: {part}");
    }
}

#[test]
fn a_picture_with_z_up_is_that_with_y_up_turned() {
    let upright = picture(&on_cpu(SCENE), &Look::default());
    // y becomes z, and z becomes -y.
    let turn = glam::DQuat::from_rotation_arc(DVec3::Y, DVec3::Z);
    let mut model = model(SCENE);
    for body in &mut model.bodies {
        body.position = turn * body.position;
        body.orientation = turn * body.orientation;
    }
    model.walls[0].pose.orientation = turn;
    model.gravity = turn * model.gravity;
    assert!((model.up() - DVec3::Z).length() < 1e-12);
    let simulation = Simulation::on_cpu(model, Some(1)).unwrap();
    let mut renderer = renderer(&simulation);
    let own = camera();
    let camera = Camera::upright(turn * own.eye(), turn * own.target, DVec3::Z);
    let shown = renderer
        .picture(SIZE, &camera, &Look::default(), &[])
        .unwrap();
    // The pattern of the floor may start at another point.
    let off = difference(&upright, &shown);
    assert!(off < 0.02, "{off}");
    // The sky is above: light at the horizon, blue at the top.
    let top = shown.get_pixel(80, 0).0;
    let floor = shown.get_pixel(80, 119).0;
    assert!(
        top[2] > top[0] + 10 && floor[2] < floor[0] + 10,
        "{top:?} {floor:?}"
    );
}

#[test]
fn what_flies_away_is_not_in_the_frame_and_does_not_darken_the_rest() {
    // Balls on a line, of which one is far away and fast.
    let bodies: Vec<String> = (0..200)
        .map(|k| {
            let (x, speed) = if k == 77 {
                (500.0, 300.0)
            } else {
                (0.1 * k as f64, 1.0)
            };
            format!(
                r#"{{ "shape": "ball", "position": [{x}, 0, 0], "velocity": [0, {speed}, 0] }}"#
            )
        })
        .collect();
    let text = format!(
        r#"{{ "version": 1, "gravity": [0, 0, 0], "contact": {{ "stiffness": 1e5 }},
        "materials": {{ "stone": {{ "density": 1, "restitution": 0.5, "friction": 0.5 }} }},
        "shapes": {{ "ball": {{ "sphere": {{ "radius": 0.04 }}, "material": "stone" }} }},
        "bodies": [ {} ] }}"#,
        bodies.join(",")
    );
    for simulation in [on_cpu(&text), on_gpu(&text)] {
        let mut renderer = renderer(&simulation);
        let look = Look {
            colour_by: ColourBy::Speed,
            ..Look::default()
        };
        let all = renderer.survey(&look).unwrap();
        assert!(all.max.x > 499.0, "{all:?}");
        let frame = renderer.frame(false);
        assert!((19.8..30.0).contains(&frame.max.x), "{frame:?}");
        assert!(frame.min.x > -1.0 && frame.min.x < 0.0, "{frame:?}");
        assert_eq!(renderer.span(&look), [0.0, 2.0]);
        assert_eq!(renderer.most(), 300.0);
        let fixed = Look {
            bottom: Some(-1.0),
            top: Some(7.0),
            ..look
        };
        assert_eq!(renderer.span(&fixed), [-1.0, 7.0]);
    }
}

#[test]
fn a_wall_is_drawn_where_it_has_moved_to_on_both_engines() {
    let text = in_a_shell("outside").replace(
        r#""material": "stone" } ],
        "bodies""#,
        r#""material": "stone", "position": [-5, 0, 0], "motion": { "velocity": [10, 0, 0] } } ],
        "bodies""#,
    );
    let camera = Camera::at(DVec3::new(0.0, 0.0, 20.0), DVec3::ZERO);
    for mut simulation in [on_gpu(&text), on_cpu(&text)] {
        let backend = simulation.backend();
        let middle = |simulation: &Simulation| {
            let mut renderer = renderer(simulation);
            let look = Look::default();
            renderer.picture(SIZE, &camera, &look, &[]).unwrap();
            renderer.thing_at([80, 60], &look).unwrap()
        };
        assert_eq!(middle(&simulation), Thing::Nothing, "{backend}");
        let steps = (0.5 / simulation.model().time_step) as u64;
        simulation.step(steps).unwrap();
        assert_eq!(middle(&simulation), Thing::Wall(0), "{backend}");
    }
}

#[test]
fn shadows_are_where_the_way_to_the_sun_is_barred() {
    // One on the floor, one high above it, and a floor that reaches beyond both.
    let text = r#"{ "version": 1, "contact": { "stiffness": 1e5 },
        "materials": { "stone": { "density": 1, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.4 }, "material": "stone" } },
        "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" } ],
        "bodies": [ { "shape": "ball", "position": [0.5, 0.4, 0.5] },
                    { "shape": "ball", "position": [0, 3, 0] } ] }"#;
    let balls = [DVec3::new(0.5, 0.4, 0.5), DVec3::new(0.0, 3.0, 0.0)];
    let to_sun = DVec3::new(0.35, 0.85, 0.4).normalize();
    let simulation = on_cpu(text);
    let mut renderer = renderer(&simulation);
    let look = Look {
        supersampling: 1,
        ..Look::default()
    };
    let camera = Camera::at(DVec3::new(-1.0, 6.0, 5.0), DVec3::new(-0.5, 0.8, -0.5));
    let image = renderer.picture(SIZE, &camera, &look, &[]).unwrap();
    let layers = renderer.layers().unwrap().unwrap();
    let [width, height] = layers.size;
    let axes = camera.axes();
    let (mut lit, mut shaded) = ([255, 0, 0], [0, 0, 0]);
    for (x, y, pixel) in image.enumerate_pixels() {
        let index = (y * width + x) as usize;
        if layers.things[index] != Thing::Wall(0) {
            continue;
        }
        let part = |place: u32, of: u32| 2.0 * (f64::from(place) + 0.5) / f64::from(of) - 1.0;
        let aspect = f64::from(width) / f64::from(height);
        let way = camera.ray(part(x, width), -part(y, height), aspect);
        let place = camera.eye() + f64::from(layers.distances[index]) / way.dot(axes.forward) * way;
        // How far the way to the sun stays out of each ball.
        let free = balls.map(|ball| {
            let from_place = ball - place;
            (from_place - from_place.dot(to_sun) * to_sun).length() - 0.4
        });
        let near = place.with_y(0.0).length() < 3.0;
        let light = pixel.0[0];
        if free.iter().any(|free| *free < -0.04) {
            let of = usize::from(free[1] < -0.04) + 1;
            shaded[of] += 1;
            shaded[0] = shaded[0].max(light.into());
        } else if near && free.iter().all(|free| *free > 0.3) {
            lit[0] = lit[0].min(light.into());
            lit[1] += 1;
        }
    }
    assert!(
        lit[1] > 1000 && shaded[1] > 50 && shaded[2] > 100,
        "{lit:?} {shaded:?}"
    );
    assert!(
        shaded[0] + 10 < lit[0],
        "the darkest is {lit:?}, the lightest in a shadow {shaded:?}"
    );
}

#[test]
fn shaders_are_read_again_and_wrong_ones_are_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let shaders = own("shaders/render");
    for entry in std::fs::read_dir(shaders).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let path = folder.path().join("shade.wgsl");
    let text = std::fs::read_to_string(&path).unwrap();
    let simulation = on_cpu(SCENE);
    let mut renderer = renderer(&simulation);
    let look = Look::default();
    let shown = |renderer: &mut Renderer| renderer.picture(SIZE, &camera(), &look, &[]).unwrap();
    let before = shown(&mut renderer);
    // The same, then all red.
    renderer
        .reload(&Texts::read(folder.path()).unwrap())
        .unwrap();
    assert_eq!(shown(&mut renderer), before);
    let end = "return vec4<f32>(light, 1.0);";
    let red = text.replace(end, "return vec4<f32>(1.0, 0.0, 0.0, 1.0);");
    assert_ne!(red, text);
    std::fs::write(&path, &red).unwrap();
    renderer
        .reload(&Texts::read(folder.path()).unwrap())
        .unwrap();
    let after = shown(&mut renderer);
    assert!(difference(&after, &before) > 0.1);
    // What is wrong in the text of a shader is said; the shaders of before stay.
    std::fs::write(
        &path,
        red.replace("vec4<f32>(1.0, 0.0", "vec4<f32>(oops, 0.0"),
    )
    .unwrap();
    let error = renderer.reload(&Texts::read(folder.path()).unwrap());
    let sentence = error.unwrap_err().to_string();
    assert!(sentence.contains("oops"), "{sentence}");
    assert_eq!(shown(&mut renderer), after);
    let first = text.lines().next().unwrap();
    for (line, part) in [
        ("", "expected \"// import: \""),
        ("// import: layout, lauoyt", "found an import of \"lauoyt\""),
        ("// import: render/vew", "found an import of \"render/vew\""),
    ] {
        std::fs::write(&path, text.replacen(first, line, 1)).unwrap();
        let sentence = Texts::read(folder.path()).unwrap_err().to_string();
        assert!(
            sentence.contains("shade.wgsl:1: ") && sentence.contains(part),
            "{sentence}"
        );
    }
}

#[test]
fn bodies_that_come_in_are_drawn_and_those_that_go_out_are_not() {
    let text = r#"{ "version": 1, "gravity": [0, 0, 0],
        "contact": { "stiffness": 1e5, "time_step": 1e-3 },
        "materials": { "stone": { "density": 1, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.1 }, "material": "stone" } },
        "inlets": [ { "rate": 1000, "count": 40, "shapes": { "ball": 1 }, "velocity": [2, 0, 0],
                      "region": { "min": [-1, -0.6, -0.6], "max": [0, 0.6, 0.6] } } ],
        "outlets": [ { "outside": { "min": [-2, -2, -2], "max": [2, 2, 2] } } ] }"#;
    let camera = Camera::at(DVec3::new(0.0, 0.0, 6.0), DVec3::ZERO);
    let look = Look::default();
    for mut simulation in [on_gpu(text), on_cpu(text)] {
        let backend = simulation.backend();
        let mut renderer = renderer(&simulation);
        let mut seen = |simulation: &Simulation| {
            renderer.update(simulation).unwrap();
            let bounds = renderer.survey(&look).unwrap();
            assert!(bounds.radius() < 10.0, "{bounds:?}");
            renderer.picture(SIZE, &camera, &look, &[]).unwrap();
            let things = renderer.layers().unwrap().unwrap().things;
            let spheres: std::collections::HashSet<Thing> = things
                .into_iter()
                .filter(|thing| matches!(thing, Thing::Sphere(_)))
                .collect();
            spheres.len()
        };
        assert_eq!(seen(&simulation), 0, "{backend}");
        simulation.step(450).unwrap();
        assert_eq!(simulation.sphere_count(), 40, "{backend}");
        // Some hide others.
        let there = seen(&simulation);
        assert!((20..=40).contains(&there), "{backend}: {there}");
        simulation.step(2000).unwrap();
        assert_eq!(simulation.sphere_count(), 0, "{backend}");
        assert_eq!(seen(&simulation), 0, "{backend}");
    }
}

#[test]
fn lines_are_drawn_and_hidden_by_what_is_in_front() {
    let simulation = on_gpu(SCENE);
    let mut renderer = renderer(&simulation);
    let look = Look {
        line_width: 3.0,
        ..Look::default()
    };
    let camera = Camera::at(DVec3::new(0.0, 0.5, 4.0), DVec3::new(0.0, 0.5, 0.0));
    let line = Line {
        start: DVec3::new(-5.0, 0.5, 0.0),
        end: DVec3::new(5.0, 0.5, 0.0),
        colour: Vec3::new(1.0, 0.0, 0.0),
        width: 1.0,
    };
    let image = renderer.picture(SIZE, &camera, &look, &[line]).unwrap();
    let red = |x, y| image.get_pixel(x, y).0[..3] == [255, 0, 0];
    assert!(red(5, 60) && red(155, 60), "beside the ball");
    assert!(!red(80, 60), "through the ball");
    assert!(!red(5, 50), "above the line");
}

/// The background is a sky, one colour, or nothing, and planes are left out if they are to be.
#[test]
fn backgrounds_and_planes_are_those_that_are_asked_for() {
    let simulation = on_gpu(SCENE);
    let shown = |background, ground| {
        let look = Look {
            background,
            ground,
            ..Look::default()
        };
        picture(&simulation, &look)
    };
    let at_the_top = |image: &RgbaImage| image.get_pixel(80, 1).0;
    let at_the_floor = |image: &RgbaImage| image.get_pixel(80, 112).0;
    let sky = shown(Background::Sky, Ground::Tiles);
    assert!(at_the_top(&sky) != [255; 4] && at_the_top(&sky)[3] == 255);
    let white = shown(Background::Colour([255; 3]), Ground::Plain);
    assert_eq!(at_the_top(&white), [255; 4]);
    assert_ne!(at_the_floor(&white), [255; 4], "the floor is there");
    let colour = shown(Background::Colour([20, 80, 200]), Ground::None);
    for pixel in [at_the_top(&colour), at_the_floor(&colour)] {
        let near = |k: usize| pixel[k].abs_diff([20, 80, 200, 255][k]) <= 1;
        assert!((0..4).all(near), "{pixel:?}");
    }
    let clear = shown(Background::Transparent, Ground::None);
    assert_eq!(at_the_top(&clear)[3], 0);
    let opaque = clear.pixels().filter(|pixel| pixel[3] == 255).count();
    let partly = clear.pixels().filter(|pixel| (1..255).contains(&pixel[3]));
    assert!(opaque > 1000, "{opaque} pixels of bodies");
    assert!(partly.count() > 20, "edges are smooth");
    // A body looks the same before all of them.
    let [x, y] = [80, 60];
    let body = |image: &RgbaImage| image.get_pixel(x, y).0;
    assert!((0..4).all(|k| body(&clear)[k].abs_diff(body(&colour)[k]) <= 2));
}

/// Arrows point along velocities, as long as these are large; the contact network stands in for the bodies.
#[test]
fn arrows_and_the_contact_network_are_those_of_the_state() {
    let mut simulation = on_gpu(SCENE);
    simulation.step(200).unwrap();
    let mut renderer = renderer(&simulation);
    let asking = |lines| Look {
        lines: Some(lines),
        ..Look::default()
    };
    let look = asking(Lines::Velocity);
    let overlay = renderer
        .overlay(&mut simulation, &camera(), &look)
        .unwrap()
        .unwrap();
    let bodies = simulation.bodies().unwrap();
    // Each arrow is a shaft and four strokes of a head.
    assert_eq!(overlay.lines.len() % 5, 0);
    for arrow in overlay.lines.chunks(5) {
        let way = arrow[0].end - arrow[0].start;
        let along = |body: &&rockfall::BodyState| {
            let value = body.velocity * overlay.length / f64::from(overlay.top);
            (way - value).length() < 1e-5 * (1e-3 + value.length())
        };
        assert!(bodies.iter().find(along).is_some(), "{way}");
        assert!(arrow.iter().all(|line| line.end == arrow[0].end));
    }

    let look = asking(Lines::Contacts);
    let overlay = renderer
        .overlay(&mut simulation, &camera(), &look)
        .unwrap()
        .unwrap();
    let network = simulation.network().unwrap().contacts;
    assert!(!network.is_empty());
    assert_eq!(overlay.lines.len(), network.len());
    let widest = |a: &usize, b: &usize| overlay.lines[*a].width.total_cmp(&overlay.lines[*b].width);
    let strongest = |a: &usize, b: &usize| {
        let force = |k: usize| network[k].force.length();
        force(*a).total_cmp(&force(*b))
    };
    let all = || 0..network.len();
    assert_eq!(all().max_by(widest), all().max_by(strongest));
    // Instead of the bodies: where they were, the sky or the floor is.
    renderer.survey(&look).unwrap();
    renderer
        .picture(SIZE, &camera(), &look, &overlay.lines)
        .unwrap();
    let things = renderer.layers().unwrap().unwrap().things;
    assert!(!things.iter().any(|thing| matches!(thing, Thing::Sphere(_))));
}

/// Pixels in which two pictures differ.
/// A block of balls that touch nearly, most of which others hide.
const BLOCK: &str = r#"{
    "version": 1,
    "gravity": [0, -9.81, 0],
    "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
    "shapes": { "pair": { "spheres": [ { "center": [-0.02, 0, 0], "radius": 0.05 }, { "center": [0.02, 0, 0], "radius": 0.05 } ],
                          "material": "stone" } },
    "contact": { "stiffness": 1e5 },
    "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" } ],
    "fills": [ { "count": 1200, "shapes": { "pair": 1 }, "placement": "grid", "orientation": [0, 0, 0, 1],
                 "region": { "min": [-0.8, 0, -0.6], "max": [0.8, 2, 0.6] } } ]
}"#;

/// A look that hides bodies shows those that have come in, too, if the renderer was brought up to date without that look.
#[test]
fn bodies_that_come_in_are_not_hidden() {
    let text = r#"{ "version": 1, "gravity": [0, 0, 0],
        "contact": { "stiffness": 1e3, "time_step": 1e-3 },
        "materials": { "stone": { "density": 1, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.1 }, "material": "stone" } },
        "bodies": [ { "shape": "ball", "position": [-1, 0, 0] } ],
        "inlets": [ { "rate": 1000, "count": 40, "shapes": { "ball": 1 },
                      "region": { "min": [-0.8, -0.6, -0.6], "max": [1, 0.6, 0.6] } } ] }"#;
    let camera = Camera::at(DVec3::new(0.0, 0.0, 6.0), DVec3::ZERO);
    let hiding = Look {
        hides: true,
        ..Look::default()
    };
    let mut simulation = on_cpu(text);
    let mut renderer = renderer(&simulation);
    let mut spheres = |simulation: &Simulation, look: Option<&Look>| {
        match look {
            Some(look) => renderer.update_for(simulation, look).unwrap(),
            None => renderer.update(simulation).unwrap(),
        }
        // The first picture finds out what is in sight.
        for _ in 0..2 {
            renderer.picture(SIZE, &camera, &hiding, &[]).unwrap();
        }
        let things = renderer.layers().unwrap().unwrap().things.into_iter();
        let spheres = things.filter(|thing| matches!(thing, Thing::Sphere(_)));
        spheres.collect::<std::collections::HashSet<_>>().len()
    };
    assert_eq!(spheres(&simulation, Some(&hiding)), 1);
    simulation.step(450).unwrap();
    assert_eq!(simulation.sphere_count(), 41);
    let there = spheres(&simulation, None);
    assert!(there > 20, "{there} of 41 are seen");
}

/// A blurred picture that hides bodies shows one ball for each clump of a few samples, which looks as the clump does.
#[test]
fn a_blurred_picture_shows_one_ball_for_a_small_clump() {
    let cubes = BLOCK
        .replace(r#""pair": { "spheres": [ { "center": [-0.02, 0, 0], "radius": 0.05 }, { "center": [0.02, 0, 0], "radius": 0.05 } ],"#,
                 r#""pair": { "cube": { "n": 2, "radius": 0.025 },"#);
    let simulation = on_cpu(&cubes);
    assert_eq!(simulation.sphere_count(), 8 * simulation.body_count());
    let blurred = Look {
        supersampling: 1,
        sharpness: 0.5,
        occlusion_samples: 0,
        ..Look::default()
    };
    let hiding = Look {
        hides: true,
        ..blurred
    };
    let seen = |look: &Look, distance: f64| {
        let camera = Camera {
            target: DVec3::new(0.0, 0.3, 0.0),
            distance,
            ..Camera::default()
        };
        let mut renderer = renderer(&simulation);
        renderer.update_for(&simulation, look).unwrap();
        renderer.survey(look).unwrap();
        let picture = renderer.picture(SIZE, &camera, look, &[]).unwrap();
        let things = renderer.layers().unwrap().unwrap().things;
        let number = |thing| match thing {
            Thing::Sphere(number) => Some(number),
            _ => None,
        };
        let spheres: Vec<u32> = things.into_iter().filter_map(number).collect();
        (picture, spheres)
    };
    let is_first = |&number: &u32| number % 8 == 0;

    let (expected, clumps) = seen(&blurred, 6.0);
    let (found, balls) = seen(&hiding, 6.0);
    assert!(!clumps.iter().all(is_first));
    assert!(balls.iter().all(is_first));
    let ratio = balls.len() as f64 / clumps.len() as f64;
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
    let difference = difference(&expected, &found);
    assert!(difference < 0.05, "{difference}");

    // From near, they are shown as they are; so they are in a picture that is not blurred.
    assert!(!seen(&hiding, 1.0).1.iter().all(is_first));
    let sharp = Look {
        sharpness: 1.0,
        ..hiding
    };
    assert!(!seen(&sharp, 6.0).1.iter().all(is_first));
}

/// While the camera stands still, a blurred picture looks for bodies that come into sight among a quarter of them. After four
/// pictures it shows all of them; after a turn of the camera, or once bodies have gone, it does so at once.
#[test]
fn bodies_come_into_blurred_pictures_in_turns() {
    let balls = BLOCK.replace(r#""pair": { "spheres": [ { "center": [-0.02, 0, 0], "radius": 0.05 }, { "center": [0.02, 0, 0], "radius": 0.05 } ],"#,
                              r#""pair": { "sphere": { "radius": 0.06 },"#);
    let mut simulation = on_cpu(&balls);
    let (mut whole, mut hiding) = (renderer(&simulation), renderer(&simulation));
    let full = Look {
        sharpness: 0.75,
        ..Look::default()
    };
    let look = Look {
        hides: true,
        ..full
    };
    let camera = Camera {
        target: DVec3::new(0.0, 0.5, 0.0),
        distance: 4.0,
        ..Camera::default()
    };
    // Samples in which the picture differs from that of all bodies.
    let mut missing = |simulation: &Simulation, camera: &Camera| {
        let [expected, found] = [(&mut whole, full), (&mut hiding, look)].map(|(own, look)| {
            own.update_for(simulation, &look).unwrap();
            own.picture(SIZE, camera, &look, &[]).unwrap();
            own.layers().unwrap().unwrap().things
        });
        let pairs = expected.iter().zip(&found);
        pairs.filter(|(expected, found)| expected != found).count()
    };
    // The body in the middle, which the others hide.
    let bodies: Vec<_> = simulation.handles().collect();
    let places: Vec<DVec3> = bodies
        .iter()
        .map(|&body| simulation.body(body).unwrap().position)
        .collect();
    let middle = places.iter().sum::<DVec3>() / places.len() as f64;
    let beside = |&index: &usize| (places[index] - middle).length();
    let index = (0..places.len())
        .min_by(|a, b| beside(a).total_cmp(&beside(b)))
        .unwrap();
    let body = bodies[index];
    let turn = 4 * index / places.len();
    assert!(turn > 0);
    let mut missing_with = |simulation: &mut Simulation, camera: &Camera, place: DVec3| {
        simulation.set_pose(body, place, DQuat::IDENTITY).unwrap();
        missing(simulation, camera)
    };
    // The first picture finds all in sight, since it has drawn none before.
    for aside in [0.0, 1e-3] {
        let place = places[index] + aside * DVec3::Y;
        assert_eq!(missing_with(&mut simulation, &camera, place), 0);
    }

    // It comes before the others, a little elsewhere in each picture.
    let front = camera.target + 0.4 * (camera.eye() - camera.target);
    let counts = [0.0, 1e-3, 2e-3, 3e-3].map(|aside| {
        let place = front + aside * DVec3::Y;
        missing_with(&mut simulation, &camera, place)
    });
    let (before, after) = counts.split_at(turn);
    assert!(before.iter().all(|&count| count > 10), "{counts:?}");
    assert!(after.iter().all(|&count| count == 0), "{counts:?}");

    let turned = Camera {
        around: camera.around + 1.0,
        ..camera
    };
    assert_eq!(missing_with(&mut simulation, &turned, front), 0);

    let gone: Vec<_> = simulation.handles().take(300).collect();
    simulation.despawn_many(&gone).unwrap();
    assert_eq!(missing_with(&mut simulation, &turned, front), 0);
}

#[test]
fn bodies_that_others_hide_are_left_out_and_no_others() {
    let mut simulation = on_cpu(BLOCK);
    let (mut whole, mut hiding) = (renderer(&simulation), renderer(&simulation));
    let full = Look {
        supersampling: 1,
        ..Look::default()
    };
    let look = Look {
        hides: true,
        ..full
    };
    let from = |around: f64| Camera {
        around,
        target: DVec3::new(0.0, 0.5, 0.0),
        distance: 4.0,
        ..Camera::default()
    };
    let bodies = simulation.body_count();
    // The first pictures find out what is in sight; then the camera turns, and comes near, and bodies fall.
    for (around, distance, steps) in [
        (0.5, 4.0, 0),
        (0.5, 4.0, 0),
        (0.5, 4.0, 200),
        (2.5, 4.0, 0),
        (2.5, 1.2, 0),
        (4.0, 0.3, 50),
        (0.5, 4.0, 50),
    ] {
        simulation.step(steps).unwrap();
        let camera = Camera {
            distance,
            ..from(around)
        };
        let layers = [(&mut whole, full), (&mut hiding, look)].map(|(renderer, look)| {
            renderer.update_for(&simulation, &look).unwrap();
            renderer.picture(SIZE, &camera, &look, &[]).unwrap();
            renderer.layers().unwrap().unwrap()
        });
        let [expected, found] = &layers;
        let balls = expected.things.iter();
        let balls = balls.filter(|thing| matches!(thing, Thing::Sphere(_)));
        assert!(balls.count() > 100);
        assert_eq!(found, expected, "{around} {distance}");
        let seen = hiding.bodies_in_sight().unwrap().unwrap();
        assert!(0 < seen && seen <= bodies, "{seen} of {bodies}");
    }
    // Nothing has moved since: now those in sight are known.
    let camera = from(0.5);
    hiding.picture(SIZE, &camera, &look, &[]).unwrap();
    simulation.step(1).unwrap();
    hiding.update_for(&simulation, &look).unwrap();
    hiding.picture(SIZE, &camera, &look, &[]).unwrap();
    let seen = hiding.bodies_in_sight().unwrap().unwrap();
    assert!(seen < bodies / 2, "{seen} of {bodies} bodies are drawn");
    assert_eq!(whole.bodies_in_sight().unwrap(), None);
}

#[test]
fn a_picture_of_the_same_is_made_of_the_samples_of_before() {
    let mut simulation = on_cpu(SCENE);
    let mut renderer = renderer(&simulation);
    let look = Look::default();
    renderer.survey(&look).unwrap();
    let first = renderer.picture(SIZE, &camera(), &look, &[]).unwrap();
    renderer.update(&simulation).unwrap();
    assert_eq!(
        renderer.picture(SIZE, &camera(), &look, &[]).unwrap(),
        first
    );
    // Whatever changes is drawn: the state, the camera, the look of a wall, colours, lines, the size.
    let mut last = first;
    let mut is_another =
        |renderer: &mut Renderer, simulation: &Simulation, camera, look: &Look, lines: &[Line]| {
            renderer.update(simulation).unwrap();
            let next = renderer.picture(SIZE, &camera, look, lines).unwrap();
            assert!(next != last);
            last = next;
        };
    simulation.step(300).unwrap();
    is_another(&mut renderer, &simulation, camera(), &look, &[]);
    let nearer = Camera {
        distance: 0.9 * camera().distance,
        ..camera()
    };
    is_another(&mut renderer, &simulation, nearer, &look, &[]);
    renderer.scene_mut().walls = vec![Default::default()];
    renderer.scene_mut().walls[0].colour = Some([200, 20, 20]);
    is_another(&mut renderer, &simulation, nearer, &look, &[]);
    let coloured = Look {
        colour_by: ColourBy::Index,
        ..look
    };
    is_another(&mut renderer, &simulation, nearer, &coloured, &[]);
    let dark = Look {
        occlusion_samples: 0,
        ..coloured
    };
    is_another(&mut renderer, &simulation, nearer, &dark, &[]);
    let line = Line {
        start: DVec3::new(-1.0, 1.0, 1.0),
        end: DVec3::new(1.0, 1.0, 1.0),
        colour: Vec3::X,
        width: 2.0,
    };
    is_another(&mut renderer, &simulation, nearer, &dark, &[line]);
}

#[test]
fn colours_of_loads_are_up_to_date_once_they_are_asked_for() {
    let mut simulation = on_cpu(SCENE);
    let mut renderer = renderer(&simulation);
    let plain = Look::default();
    simulation.step(100).unwrap();
    // Loads are not copied for colours that do not mean them.
    renderer.update_for(&simulation, &plain).unwrap();
    let look = Look {
        colour_by: ColourBy::Force,
        ..plain
    };
    renderer.update_for(&simulation, &look).unwrap();
    renderer.survey(&look).unwrap();
    let found = renderer.picture(SIZE, &camera(), &look, &[]).unwrap();
    assert!(renderer.most() > 0.0);
    assert_eq!(found, picture(&simulation, &look));
}

/// Three balls in a row; the bond of the last one breaks, so of their bonds none, half and all are broken.
#[test]
fn bodies_are_coloured_by_the_part_of_their_bonds_that_is_broken() {
    let chain = r#"{ "version": 1, "gravity": [0, 0, 0],
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 1e-5 },
        "materials": { "rock": { "density": 2500, "restitution": 0.5, "friction": 0.5 },
                       "chalk": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "rock": { "sphere": { "radius": 0.1 }, "material": "rock" },
                    "chalk": { "sphere": { "radius": 0.1 }, "material": "chalk" } },
        "bodies": [ { "shape": "rock", "position": [-0.201, 0, 0] },
                    { "shape": "rock", "position": [0, 0, 0] },
                    { "shape": "chalk", "position": [0.201, 0, 0], "velocity": [1, 0, 0] } ],
        "bonds": [ { "between": ["rock", "rock"], "gap": 0.01, "young_modulus": 1e7 },
                   { "between": ["rock", "chalk"], "gap": 0.01, "young_modulus": 1e7, "tensile_strength": 1 } ] }"#;
    let look = Look {
        colour_by: ColourBy::Damage,
        ..Look::default()
    };
    // Viridis: purple, teal and yellow.
    let colours = [[68, 1, 84], [33, 145, 140], [253, 231, 37]];
    let linear = |colour: [u8; 3]| {
        let part = |channel: u8| (f32::from(channel) / 255.0).powf(2.2);
        Vec3::from(colour.map(part)).normalize()
    };
    for mut simulation in [on_cpu(chain), on_gpu(chain)] {
        simulation.step(20).unwrap();
        assert_eq!(simulation.state().unwrap().count_bonds(), [2, 1]);
        let mut renderer = renderer(&simulation);
        renderer.survey(&look).unwrap();
        assert_eq!(renderer.most(), 1.0);
        let camera = Camera::at(DVec3::new(0.0, 0.0, 1.0), DVec3::ZERO);
        let shown = renderer.picture(SIZE, &camera, &look, &[]).unwrap();
        let nearest = |x: f64| {
            // The side of a ball that is seen is 0.9 m away.
            let right = x / (0.9 * camera.slope()) * f64::from(SIZE[1] / 2);
            let column = f64::from(SIZE[0] / 2) + right;
            let [r, g, b, _] = shown.get_pixel(column as u32, SIZE[1] / 2).0;
            let own = linear([r, g, b]);
            let closeness = |k: &usize| own.dot(linear(colours[*k]));
            (0..3).max_by(|a, b| closeness(a).total_cmp(&closeness(b)))
        };
        assert_eq!([-0.2, 0.0, 0.2].map(nearest), [Some(0), Some(1), Some(2)]);
    }
}

fn changed(a: &RgbaImage, b: &RgbaImage) -> Vec<[f64; 2]> {
    let pixels = a.enumerate_pixels().zip(b.pixels());
    let differs = |a: [u8; 4], b: [u8; 4]| (0..3).any(|k| a[k].abs_diff(b[k]) > 8);
    pixels
        .filter(|((_, _, a), b)| differs(a.0, b.0))
        .map(|((x, y, _), _)| [f64::from(x), f64::from(y)])
        .collect()
}

/// Springs are drawn from end to end, and follow the bodies; on both engines.
#[test]
fn springs_are_drawn_between_their_ends() {
    let with = |springs: &str| {
        let named = SCENE.replacen(
            "\"shape\": \"ball\"",
            "\"name\": \"a\", \"shape\": \"ball\"",
            1,
        );
        named.replacen(
            "\"initial_overlap\"",
            &format!("{springs} \"initial_overlap\""),
            1,
        )
    };
    let spring = r#""springs": [ { "from": { "body": "a", "point": [0, 0.5, 0] },
                                   "to": { "point": [0, 1.6, 0] }, "stiffness": 1 } ],"#;
    let look = Look::default();
    for simulation in [on_gpu, on_cpu] {
        let bare = picture(&simulation(&with("")), &look);
        let shown = picture(&simulation(&with(spring)), &look);
        let drawn = changed(&bare, &shown);
        assert!(drawn.len() > 30, "{} pixels", drawn.len());
        // The way from the ball's top to the point is upright in the picture, about its middle.
        let mean = |k: usize| drawn.iter().map(|p| p[k]).sum::<f64>() / drawn.len() as f64;
        let width = drawn
            .iter()
            .map(|p| (p[0] - mean(0)).abs())
            .fold(0.0, f64::max);
        let height = drawn
            .iter()
            .map(|p| (p[1] - mean(1)).abs())
            .fold(0.0, f64::max);
        assert!(height > 2.0 * width, "{width} x {height}");
    }
}

/// Water hides what is deep in it more than what is just below its surface, and nothing above it.
#[test]
fn water_is_drawn_over_what_is_in_it() {
    let with = |water: &str| {
        SCENE.replacen(
            "\"initial_overlap\"",
            &format!("{water} \"initial_overlap\""),
            1,
        )
    };
    let look = Look::default();
    let bare = picture(&on_gpu(&with("")), &look);
    let wet = |water: &str, steps: u64| {
        let mut simulation = on_gpu(&with(water));
        simulation.step(steps).unwrap();
        picture(&simulation, &look)
    };
    let low = changed(&bare, &wet("\"water\": { \"level\": 0.2 },", 0));
    let high = changed(&bare, &wet("\"water\": { \"level\": 0.6 },", 0));
    assert!(low.len() > 4_000, "{} pixels", low.len());
    // The top of the ball, 1 m above the floor, is never below.
    let mut renderer = renderer(&on_gpu(&with("")));
    renderer.survey(&look).unwrap();
    let top = renderer.picture(SIZE, &camera(), &look, &[]).unwrap();
    assert_eq!(top, bare);
    let ball = [84.0, 38.0];
    let near = |pixels: &[[f64; 2]], place: [f64; 2]| {
        let near = |p: &&[f64; 2]| (p[0] - place[0]).hypot(p[1] - place[1]) < 4.0;
        pixels.iter().filter(near).count()
    };
    assert_eq!(near(&high, ball), 0, "the ball's top stays dry");
    // Waves move.
    let waves =
        "\"water\": { \"level\": 0.3, \"waves\": [{ \"wavelength\": 1, \"amplitude\": 0.1 }] },";
    let (first, later) = (wet(waves, 0), wet(waves, 200));
    assert!(difference(&first, &later) > 0.005);
}

#[test]
fn a_picture_that_is_too_large_is_refused() {
    let simulation = on_gpu(SCENE);
    let mut renderer = renderer(&simulation);
    for size in [[100_000, 10], [10, 0], [5000, 10]] {
        let error = renderer.picture(size, &camera(), &Look::default(), &[]);
        let sentence = error.unwrap_err().to_string();
        assert!(sentence.contains("a picture of"), "{sentence}");
        assert!(sentence.contains("choose another size"), "{sentence}");
    }
}

/// Runs `rockfall render` in a folder, on `SCENE`.
fn render(folder: &Path, arguments: &[&str]) -> Command {
    std::fs::write(folder.join("scene.json"), SCENE).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rockfall"));
    command
        .current_dir(folder)
        .args(["render", "scene.json", "--backend", "cpu", "--fps", "10"])
        .args(["--duration", "0.4"])
        .args(arguments);
    command
}

/// The pictures of a film of a size, by ffmpeg.
fn pictures_of(film: &Path, [width, height]: [u32; 2]) -> Vec<RgbaImage> {
    let mut ffmpeg = Command::new("ffmpeg");
    ffmpeg.args(["-v", "error", "-i"]).arg(film);
    ffmpeg.args(["-f", "rawvideo", "-pix_fmt", "rgba", "-"]);
    let output = ffmpeg.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let pictures = output.stdout.chunks((4 * width * height) as usize);
    pictures
        .map(|bytes| RgbaImage::from_raw(width, height, bytes.to_vec()).unwrap())
        .collect()
}

#[test]
fn a_film_shows_what_its_pictures_show() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (film, start) in [
        ("film.mp4", &b"\0\0\0\x20ftyp"[..]),
        ("film.webm", b"\x1a\x45\xdf\xa3"),
    ] {
        let output = render(
            folder,
            &["--out", "frames", "--video", film, "--size", "161x121"],
        )
        .output()
        .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(told.contains(&format!("film {film} (5 frames)")), "{told}");
        let bytes = std::fs::read(folder.join(film)).unwrap();
        assert!(bytes.starts_with(start), "{film}: {:?}", &bytes[..12]);
        // The last pixel of a side of odd length is left out.
        let shown = pictures_of(&folder.join(film), SIZE);
        assert_eq!(shown.len(), 5, "{film}");
        let frames: Vec<RgbaImage> = (0..5)
            .map(|frame| {
                let path = folder.join(format!("frames/frame_{frame:05}.png"));
                let frame = image::open(path).unwrap().to_rgba8();
                assert_eq!(frame.dimensions(), (161, 121));
                image::imageops::crop_imm(&frame, 0, 0, 160, 120).to_image()
            })
            .collect();
        for (index, picture) in shown.iter().enumerate() {
            let off = difference(picture, &frames[index]);
            let others = frames.iter().enumerate().filter(|(k, _)| *k != index);
            let nearest = others
                .map(|(_, other)| difference(picture, other))
                .fold(f64::INFINITY, f64::min);
            assert!(
                off < 0.015 && off < 0.7 * nearest,
                "{film}: picture {index} is off by {off}, by {nearest} from the next"
            );
        }
    }
    // One that cannot be written.
    let output = render(folder, &["--video", "no/such.mp4", "--size", "32x24"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("the film no/such.mp4 cannot be written"),
        "{said}"
    );
}

/// `SCENE` with a wall that is turned and one that weights push.
fn with_walls_that_move() -> String {
    SCENE.replace(
        "\"initial_overlap\"",
        r#""walls": [ { "box": { "size": [0.4, 0.2, 0.4] }, "material": "steel", "position": [1.6, 1.5, -0.5],
                        "motion": { "rotation": { "axis": [0, 1, 0], "speed": 3 } } },
                      { "box": { "size": [0.3, 0.3, 0.3] }, "material": "steel", "position": [-1.5, 2, 0],
                        "rigid_body": { "mass": 5 } } ],
           "initial_overlap""#,
    )
}

/// Runs `rockfall` in a folder: its exit code, and what it said on standard error.
fn rockfall_in(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rockfall"));
    let output = command
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), said)
}

/// Whoever stops a film has what was drawn until then.
#[cfg(unix)]
#[test]
fn a_film_that_is_stopped_has_the_frames_so_far() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("scene.json"), SCENE).unwrap();
    for film in ["film.mp4", "film.gif"] {
        let frames = format!("frames of {film}");
        let mut child = Command::new(env!("CARGO_BIN_EXE_rockfall"))
            .current_dir(folder)
            .args([
                "render",
                "scene.json",
                "--backend",
                "cpu",
                "--duration",
                "600",
            ])
            .args([
                "--size",
                "64x48",
                "--samples",
                "1",
                "--video",
                film,
                "--out",
                &frames,
            ])
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        while !folder.join(&frames).join("frame_00003.png").exists() {
            assert!(child.try_wait().unwrap().is_none(), "{film}: it ended");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let id = child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &id])
                .status()
                .unwrap()
                .success()
        );
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(130), "{said}");
        let made = said.split_once("stopped after ").unwrap().1;
        let made: usize = made.split_once(" of ").unwrap().0.parse().unwrap();
        let shown = match film.ends_with("gif") {
            true => {
                let file = std::fs::File::open(folder.join(film)).unwrap();
                let decoder = GifDecoder::new(std::io::BufReader::new(file)).unwrap();
                decoder.into_frames().collect_frames().unwrap().len()
            }
            false => pictures_of(&folder.join(film), [64, 48]).len(),
        };
        assert_eq!(shown, made, "{film}: {said}");
        assert!(made > 3, "{film}: {said}");
    }
}

#[test]
fn a_kept_run_is_shown_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("moving.json"), with_walls_that_move()).unwrap();
    let rockfall = |arguments: &[&str]| rockfall_in(folder, arguments);
    let ran = rockfall(&[
        "run",
        "moving.json",
        "--backend",
        "cpu",
        "--duration",
        "0.4",
        "--out",
        "kept",
    ]);
    assert_eq!(ran.0, Some(0), "{}", ran.1);
    let like = [
        "--fps", "10", "--size", "160x120", "--plain", "--colour", "speed", "--range", "0,5",
    ];
    let of_scene = [
        "render",
        "moving.json",
        "--backend",
        "cpu",
        "--duration",
        "0.4",
        "--out",
        "live",
    ];
    let of_run = ["render", "kept", "--out", "shown"];
    for own in [&of_scene[..], &of_run[..]] {
        let made = rockfall(&[own, &like[..]].concat());
        assert_eq!(made.0, Some(0), "{}", made.1);
    }
    let frame = |name: &str, index: u32| {
        let path = folder.join(format!("{name}/frame_{index:05}.png"));
        image::open(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
            .to_rgba8()
    };
    for index in 0..5 {
        let off = difference(&frame("live", index), &frame("shown", index));
        assert!(off < 0.01, "frame {index} is off by {off}");
    }
    assert!(difference(&frame("shown", 0), &frame("shown", 4)) > 0.02);
    // What is no run gets a sentence.
    std::fs::create_dir(folder.join("empty")).unwrap();
    let (code, said) = rockfall(&["render", "empty", "--out", "x"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("found a directory, expected a scene file or the folder of a run"),
        "{said}"
    );
    std::fs::remove_dir_all(folder.join("kept/states")).unwrap();
    std::fs::create_dir(folder.join("kept/states")).unwrap();
    let (code, said) = rockfall(&["render", "kept", "--out", "x"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("has no states of bodies"), "{said}");
}

/// The frame holds the surfaces of the bodies, and not their centres alone.
#[test]
fn few_bodies_are_framed_whole() {
    let text = SCENE.split("\"bodies\"").next().unwrap();
    let bodies = [
        r#""bodies": [ { "shape": "ball", "position": [0, 3, 0] } ] }"#,
        r#""bodies": [ { "shape": "ball", "position": [0, 3, 0] },
                      { "shape": "ball", "position": [9, 3, 1] } ] }"#,
    ];
    for bodies in bodies {
        let simulation = on_cpu(&format!("{text}{bodies}"));
        let mut renderer = Renderer::new(device(), &simulation, PICTURE).unwrap();
        renderer.update(&simulation).unwrap();
        renderer.survey(&Look::default()).unwrap();
        let framed = renderer.frame(false);
        for body in &simulation.model().bodies {
            let [low, high] = [-0.49, 0.49].map(|way| body.position + way);
            assert!(
                framed.min.cmple(low).all() && framed.max.cmpge(high).all(),
                "{framed:?}"
            );
        }
    }
}

#[test]
fn a_kept_run_is_written_for_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("moving.json"), with_walls_that_move()).unwrap();
    let rockfall = |arguments: &[&str]| rockfall_in(folder, arguments);
    let run = [
        "run",
        "moving.json",
        "--backend",
        "cpu",
        "--duration",
        "0.05",
        "--every",
        "0.01s",
        "--out",
        "kept",
    ];
    assert_eq!(rockfall(&run).0, Some(0));
    for file in ["run.usda", "run.vtkhdf", "end.glb"] {
        let (code, said) = rockfall(&["export", "kept", "--to", file]);
        assert_eq!(code, Some(0), "{said}");
    }
    let bytes = std::fs::read(folder.join("end.glb")).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!(
        (&bytes[..4], word(4), word(8)),
        (&b"glTF"[..], 2, bytes.len())
    );
    let told: serde_json::Value = serde_json::from_slice(&bytes[20..20 + word(12)]).unwrap();
    // Four bodies, three walls, and what holds them all.
    assert_eq!(told["nodes"].as_array().unwrap().len(), 8);
    assert_eq!(
        told["buffers"][0]["byteLength"].as_u64().unwrap() as usize,
        word(20 + word(12))
    );
    for view in told["bufferViews"].as_array().unwrap() {
        let [start, length] = ["byteOffset", "byteLength"].map(|name| view[name].as_u64().unwrap());
        assert!(
            start % 4 == 0 && start + length <= told["buffers"][0]["byteLength"].as_u64().unwrap()
        );
    }
    let text = std::fs::read_to_string(folder.join("run.usda")).unwrap();
    for part in [
        "#usda 1.0",
        "endTimeCode = 6",
        "upAxis = \"Y\"",
        "def Mesh \"Wall_1\"",
        "quath[] orientations.timeSamples",
    ] {
        let head: String = text.chars().take(400).collect();
        assert!(text.contains(part), "{part}: {head}");
    }
    assert_eq!(text.matches('{').count(), text.matches('}').count());
    check_vtkhdf(&folder.join("run.vtkhdf"), &folder.join("kept"));
    for (arguments, part) in [
        (
            &["export", "kept", "--to", "x.stl"][..],
            "expected a name that ends in .glb, .usda or .vtkhdf",
        ),
        (
            &["export", "kept", "--to", "x.usda", "--time", "0.1"][..],
            "--time chooses one state",
        ),
        (
            &["export", "kept", "--to", "x.vtkhdf", "--time", "0.1"][..],
            "a .vtkhdf file has all of them",
        ),
        (
            &["export", "moving.json", "--to", "x.glb", "--time", "0.1"][..],
            "run it with --out DIR first",
        ),
    ] {
        let (code, said) = rockfall(arguments);
        assert!(code == Some(2) && said.contains(part), "{said}");
    }
}

/// A file of a run has the states that the run has kept, and the offsets lead to them.
fn check_vtkhdf(file: &Path, kept: &Path) {
    let file = hdf5_pure::File::open(file).unwrap();
    let numbers = |name: &str| file.dataset(name).unwrap().read_i64().unwrap();
    let reals = |name: &str| file.dataset(name).unwrap().read_f64().unwrap();
    let scene = scene::load(&kept.join("scene.json")).unwrap();
    let run = rockfall::output::KeptRun::open(kept, &scene.model).unwrap();
    let mut simulation = Simulation::on_cpu(scene.model, Some(1)).unwrap();
    let times: Vec<f64> = run.moments().iter().map(|moment| moment.time).collect();
    assert_eq!(reals("VTKHDF/Steps/Values"), times);
    let points = reals("VTKHDF/Points");
    let radii = file.dataset("VTKHDF/PointData/radius").unwrap();
    let radii = radii.read_f32().unwrap();
    let walls = file.dataset("VTKHDF/CellData/wall").unwrap();
    let walls = walls.read_i32().unwrap();
    let starts = numbers("VTKHDF/Steps/PointOffsets");
    let counts = numbers("VTKHDF/NumberOfPoints");
    let spheres = numbers("VTKHDF/Vertices/NumberOfCells");
    let triangles = numbers("VTKHDF/Polygons/NumberOfCells");
    let corners = numbers("VTKHDF/Polygons/Connectivity");
    let cells = numbers("VTKHDF/Steps/CellOffsets");
    let mut first_cell = 0;
    for step in 0..times.len() {
        run.show(step, &mut simulation).unwrap();
        let snapshot = simulation.snapshot().unwrap();
        let start = starts[step] as usize;
        for (index, sphere) in snapshot.spheres().enumerate() {
            let place = &points[3 * (start + index)..][..3];
            assert_eq!(place, sphere.position.to_array());
            assert_eq!(radii[start + index], sphere.radius as f32);
        }
        assert_eq!(spheres[step] as usize, snapshot.spheres().count());
        assert!(triangles[step] > 0 && counts[step] > spheres[step]);
        // What follows the spheres are walls, of the radius 0, to which the triangles lead.
        let ends = start + spheres[step] as usize..start + counts[step] as usize;
        assert!(radii[ends].iter().all(|radius| *radius == 0.0));
        let own = &corners[3 * cells[4 * step + 2] as usize..][..3 * triangles[step] as usize];
        assert!(
            own.iter()
                .all(|point| (spheres[step]..counts[step]).contains(point))
        );
        let [balls, all] = [spheres[step], spheres[step] + triangles[step]].map(|own| own as usize);
        assert!(
            walls[first_cell..first_cell + balls]
                .iter()
                .all(|wall| *wall == -1)
        );
        assert!(
            walls[first_cell + balls..first_cell + all]
                .iter()
                .all(|wall| *wall >= 0)
        );
        first_cell += all;
    }
    assert_eq!(walls.len(), first_cell);
}

#[test]
fn without_ffmpeg_there_is_a_sentence_and_no_film() {
    let folder = tempfile::tempdir().unwrap();
    let output = render(folder.path(), &["--video", "film.mp4", "--size", "32x24"])
        .env("PATH", "")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in [
        "--video: MP4 and WebM films need the program ffmpeg",
        "install it",
        "write a .gif, or pictures with --out",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!folder.path().join("film.mp4").exists());
    // A GIF and pictures need none.
    let flags = ["--video", "film.gif", "--out", "both", "--size", "160x120"];
    let output = render(folder.path(), &flags).env("PATH", "").output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    let film = std::fs::File::open(folder.path().join("film.gif")).unwrap();
    let film = GifDecoder::new(std::io::BufReader::new(film)).unwrap();
    let shown = film.into_frames().collect_frames().unwrap();
    assert_eq!(shown.len(), 5);
    for (index, picture) in shown.iter().enumerate() {
        assert_eq!(picture.delay().numer_denom_ms(), (100, 1));
        let path = folder.path().join(format!("both/frame_{index:05}.png"));
        let frame = image::open(path).unwrap().to_rgba8();
        let off = difference(picture.buffer(), &frame);
        assert!(off < 0.02, "picture {index} is off by {off}");
    }
    let output = render(folder.path(), &["--out", "frames", "--size", "32x24"])
        .env("PATH", "")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        std::fs::read_dir(folder.path().join("frames"))
            .unwrap()
            .count(),
        5
    );
}

/// Pictures that a person has looked at. `ROCKFALL_WRITE_GOLDEN=1` writes them anew: look at them then.
fn golden(name: &str) -> PathBuf {
    own(&format!("tests/golden/{name}.png"))
}

/// Part of its size by which a picture may be off: adapters round differently, and an edge more or less shows little.
const TOLERANCE: f64 = 0.01;

fn compare(name: &str, shown: &RgbaImage) -> f64 {
    let path = golden(name);
    if std::env::var_os("ROCKFALL_WRITE_GOLDEN").is_some() {
        shown.save(&path).unwrap();
    }
    let expected = image::open(&path).unwrap_or_else(|error| {
        panic!("{}: {error}", path.display());
    });
    difference(shown, &expected.to_rgba8())
}

#[test]
fn pictures_are_as_they_were_looked_at() {
    for by in [
        ColourBy::Body,
        ColourBy::Material,
        ColourBy::Speed,
        ColourBy::Overlap,
    ] {
        let name = format!("{by:?}").to_lowercase();
        let mut simulation = on_gpu(SCENE);
        simulation.step(100).unwrap();
        let look = Look {
            colour_by: by,
            picked: (by == ColourBy::Material).then_some(3),
            ..Look::default()
        };
        let shown = picture(&simulation, &look);
        let difference = compare(&name, &shown);
        assert!(difference < TOLERANCE, "{name}: {difference}");
    }
}

#[test]
fn a_changed_scene_changes_the_picture() {
    let look = Look::default();
    let original = picture(&on_gpu(SCENE), &look);
    for (what, from, to) in [
        (
            "a marble less",
            r#"{ "shape": "marble", "position": [-0.3, 0.2, 0.9] },"#,
            "",
        ),
        ("a ball elsewhere", "[0, 0.5, 0]", "[0.12, 0.5, 0]"),
        ("a cube turned", r#""angle": 0.5"#, r#""angle": 1.0"#),
        (
            "no floor",
            r#""planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" } ],"#,
            "",
        ),
    ] {
        let changed = SCENE.replacen(from, to, 1);
        assert_ne!(changed, SCENE, "{what}");
        let difference = difference(&original, &picture(&on_gpu(&changed), &look));
        assert!(difference > TOLERANCE, "{what}: {difference}");
    }
}

#[test]
fn a_scene_of_the_repository_can_be_drawn() {
    let path = own("scenes/stack.json");
    let model = scene::load(&path).unwrap().model;
    let simulation = Simulation::on_cpu(model, Some(1)).unwrap();
    let mut renderer = renderer(&simulation);
    let look = Look::default();
    let mut camera = Camera::default();
    camera.fit(renderer.survey(&look).unwrap(), 4.0 / 3.0);
    let image = renderer.picture(SIZE, &camera, &look, &[]).unwrap();
    let layers = renderer.layers().unwrap().unwrap();
    let balls = layers
        .things
        .iter()
        .filter(|thing| matches!(thing, Thing::Sphere(_)));
    let part = balls.count() as f64 / layers.things.len() as f64;
    assert!(part > 0.05, "{part} of the picture is bodies");
    assert!(image.pixels().all(|pixel| pixel.0[3] == 255));
}
