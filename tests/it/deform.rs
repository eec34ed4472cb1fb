//! Periodic boxes that deform: by strain, by servos, by shear.

use crate::common::device;
use glam::DVec3;
use rockfall::Simulation;
use rockfall::internals::{cpu, reference};
use rockfall::model::Model;
use rockfall::scene;
use rockfall::simulation::{Backend, Options, Precision};
use rockfall::state::State;
use rockfall::step::gpu::GpuEngine;

/// Balls of two sizes and pairs of balls in a box, which what is under `deform` deforms.
fn scene(deform: &str, count: u32, rest: &str) -> String {
    format!(
        r#"{{
            "version": 1,
            "duration": 0.01,
            "gravity": [0, 0, 0],
            "contact": {{ "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 1e-5 }},
            "materials": {{ "glass": {{ "density": 2500, "restitution": 0.5, "friction": 0.5, "rolling_friction": 0.05 }} }},
            "shapes": {{
                "ball": {{ "sphere": {{ "radius": 0.005 }}, "material": "glass" }},
                "shot": {{ "sphere": {{ "radius": 0.004 }}, "material": "glass" }},
                "pair": {{ "spheres": [
                    {{ "center": [0.003, 0, 0], "radius": 0.004 }}, {{ "center": [-0.003, 0, 0], "radius": 0.004 }}
                ], "material": "glass" }}
            }},
            "domain": {{ "min": [-0.03, 0, 0.01], "max": [0.03, 0.05, 0.06], "periodic": [true, true, true] }},
            "fills": [{{
                "count": {count}, "placement": "random", "shapes": {{ "ball": 2, "shot": 2, "pair": 1 }}, "seed": 3,
                "region": {{ "min": [-0.03, 0, 0.01], "max": [0.03, 0.05, 0.06] }},
                "velocity": {{ "min": [-0.3, -0.3, -0.3], "max": [0.3, 0.3, 0.3] }}
            }}],
            "deform": {deform}{rest}
        }}"#
    )
}

pub fn model(deform: &str, count: u32) -> Model {
    model_with(deform, count, "")
}

fn model_with(deform: &str, count: u32, rest: &str) -> Model {
    let scene = scene::parse(&scene(deform, count, rest), "box.json".as_ref());
    let mut model = scene.unwrap_or_else(|error| panic!("{error}")).model;
    // So that neighbours touch.
    if count > 1 {
        let domain = model.domain.as_mut().unwrap();
        domain.max = domain.min + 0.93 * (domain.max - domain.min);
        for body in &mut model.bodies {
            body.position = domain.min + 0.93 * (body.position - domain.min);
        }
    }
    model
}

pub const ALL_AT_ONCE: &str = r#"{
    "x": { "strain_rate": -6 }, "y": { "strain_rate": 2 }, "z": { "stress": 500, "fastest": 8 },
    "shear": { "flow": "x", "gradient": "y", "rate": 90 }
}"#;

fn simulation(model: Model, backend: Backend) -> Simulation {
    let options = Options {
        backend,
        ..Options::default()
    };
    Simulation::new(model, &options).unwrap()
}

#[test]
fn the_fast_engine_has_the_bits_of_the_reference() {
    let model = model(ALL_AT_ONCE, 75);
    let mut fast = simulation(model.clone(), Backend::Cpu);
    let mut plain = simulation(model.clone(), Backend::Reference(Precision::Single));
    // Beyond a tilt of a half of the box, which is when it turns.
    for steps in [1, 24, 300, 475] {
        fast.step(steps).unwrap();
        plain.step(steps).unwrap();
        let [own, other] = [&mut fast, &mut plain].map(|s| s.summary().unwrap());
        assert!(own.contacts > 0, "{} contacts", own.contacts);
        assert_eq!(own.state_hash, other.state_hash, "after {steps} steps more");
    }
    assert_eq!(fast.deformation(), plain.deformation());
    let now = fast.deformation().unwrap();
    assert!(now.shear > 0.65 && now.tilt < 0.0, "{now:?}");
    // And passes in one go those of passes one after the other.
    let mut state = State::new(&model);
    let mut own = state.clone();
    for _ in 0..60 {
        cpu::step(&mut own);
        reference::step(&mut state);
    }
    assert!(own.bodies == state.bodies && own.spheres == state.spheres);
}

#[test]
fn the_gpu_engine_deforms_the_box_by_itself() {
    let model = model(ALL_AT_ONCE, 75);
    let mut on_host = simulation(model.clone(), Backend::Cpu);
    let mut on_device = Simulation::on_gpu(model.clone(), device()).unwrap();
    for simulation in [&mut on_host, &mut on_device] {
        simulation.step(60).unwrap();
    }
    let [own, other] = [&on_host, &on_device].map(|s| s.on_host().params);
    assert!((own.cell_size - other.cell_size).length() < 1e-6 * own.cell_size.length());
    assert!(
        (own.tilt - other.tilt).length() < 1e-5,
        "{} {}",
        own.tilt,
        other.tilt
    );
    let [own, other] = [&mut on_host, &mut on_device].map(|s| s.bodies().unwrap());
    let sides = on_host.deformation().unwrap().sides;
    for (own, other) in own.iter().zip(&other) {
        let way = (own.position - other.position).abs();
        // An image of it, perhaps.
        let near = (0..3).all(|k| way[k] < 1e-5 || (way[k] - sides[k]).abs() < 1e-5);
        let part = (own.velocity - other.velocity).length();
        assert!(near && part < 1e-2, "{way} {part}");
    }
    // The engine by itself, in one submission of many steps.
    let mut state = State::new(&model);
    let mut engine = GpuEngine::new(device(), &state).unwrap();
    engine.step(1, 25, &mut Vec::new()).unwrap();
    engine
        .download(rockfall::state::Field::Bodies, &mut state)
        .unwrap();
    let mut expected = State::new(&model);
    for _ in 0..25 {
        cpu::step(&mut expected);
    }
    for (own, expected) in state.bodies.iter().zip(&expected.bodies) {
        assert!((own.velocity - expected.velocity).length() < 1e-3);
    }
}

/// A body without contacts goes straight on in a box that is sheared.
#[test]
fn what_touches_nothing_goes_straight_on_through_shear() {
    let mut model = model(
        r#"{ "shear": { "flow": "z", "gradient": "y", "rate": 5 } }"#,
        1,
    );
    let start = DVec3::new(0.01, 0.012, 0.02);
    model.bodies[0].position = start;
    model.bodies[0].velocity = DVec3::new(0.02, -0.05, 0.03);
    let flow = |place: DVec3| DVec3::Z * (5.0 * place.y);
    let velocity = model.bodies[0].velocity + flow(start);
    let mut simulation = simulation(model, Backend::Reference(Precision::Double));
    simulation.step(5000).unwrap();
    let body = &simulation.bodies().unwrap()[0];
    let expected = start + 0.05 * velocity;
    let off = (body.position - expected).length() / (0.05 * velocity.length());
    assert!(off < 1e-3, "{} and {expected}", body.position);
    let real = body.velocity + flow(body.position);
    assert!(
        (real - velocity).length() < 1e-3 * velocity.length(),
        "{real} {velocity}"
    );
}

/// Alone in a box that is strained at the rate e, a body loses its velocity relative to the flow as exp(-e t), and the way that it
/// has come by itself, in lengths of the box, follows.
#[test]
fn what_touches_nothing_falls_behind_in_a_box_that_grows() {
    let mut model = model(
        r#"{ "x": { "strain_rate": -3 }, "y": { "strain_rate": 6 } }"#,
        1,
    );
    let start = DVec3::new(0.01, 0.012, 0.02);
    let velocity = DVec3::new(0.02, 0.05, 0.03);
    (model.bodies[0].position, model.bodies[0].velocity) = (start, velocity);
    let corner = model.domain.unwrap().min;
    let mut simulation = simulation(model, Backend::Cpu);
    simulation.step(5000).unwrap();
    let body = &simulation.bodies().unwrap()[0];
    for (axis, rate) in [-3.0, 6.0, 1e-9].into_iter().enumerate() {
        let slower = f64::exp(-rate * 0.05);
        let speed = velocity[axis] * slower;
        assert!(
            (body.velocity[axis] - speed).abs() < 1e-3 * speed,
            "{axis}: {}",
            body.velocity
        );
        let own = velocity[axis] * (1.0 - slower * slower) / (2.0 * rate);
        let place = corner[axis] + (start[axis] - corner[axis] + own) / slower;
        assert!(
            (body.position[axis] - place).abs() < 1e-5,
            "{axis}: {} {place}",
            body.position
        );
    }
}

/// A box has no border: bodies that are put elsewhere in it do the same.
#[test]
fn nothing_tells_where_the_border_of_a_sheared_box_is() {
    let deform =
        r#"{ "x": { "strain_rate": -4 }, "shear": { "flow": "x", "gradient": "y", "rate": 40 } }"#;
    let mut energies = Vec::new();
    for shift in [DVec3::ZERO, DVec3::new(0.011, 0.027, 0.013)] {
        let mut model = model(deform, 75);
        for body in &mut model.bodies {
            body.position += shift;
        }
        let mut simulation = simulation(model, Backend::Reference(Precision::Double));
        simulation.step(400).unwrap();
        let summary = simulation.summary().unwrap();
        energies.push((summary.kinetic_energy, summary.contacts));
        assert!(simulation.deformation().unwrap().tilt > 0.1);
    }
    let [(first, touching), (second, others)] = energies[..] else {
        unreachable!()
    };
    assert_eq!(touching, others);
    assert!(
        (first - second).abs() < 1e-6 * first,
        "{first} and {second}"
    );
}

#[test]
fn a_servo_comes_to_its_stress_and_the_energy_balance_closes() {
    let isotropic = r#"{ "x": { "stress": 10000, "fastest": 3 }, "y": { "stress": 10000, "fastest": 3 }, "z": { "stress": 10000, "fastest": 3 } }"#;
    let stages = r#", "stages": [
        { "duration": 0.2 },
        { "duration": 0.1, "deform": { "x": { "stress": 10000, "fastest": 5 }, "y": { "stress": 10000, "fastest": 5 }, "z": { "strain_rate": -1 } } },
        { "deform": { "shear": { "flow": "x", "gradient": "z", "rate": 10 } } }
    ]"#;
    let mut simulation = simulation(model_with(isotropic, 75, stages), Backend::Cpu);
    // Contacts are known after the first step.
    simulation.step(1).unwrap();
    let start = simulation.energy().unwrap().balance();
    simulation.run_until(0.2).unwrap();
    let now = *simulation.deformation().unwrap();
    for axis in 0..3 {
        let off = (now.stress[axis][axis] - 10000.0).abs();
        assert!(off < 500.0, "axis {axis}: {now:?}");
    }
    let taken = |simulation: &mut Simulation| {
        let energy = simulation.energy().unwrap();
        (
            (energy.balance() - start).abs(),
            energy.damping + energy.friction,
        )
    };
    let (off, lost) = taken(&mut simulation);
    assert!(off < 0.02 * lost, "{off} of {lost}");
    let before = now.strain;
    simulation.run_until(0.3).unwrap();
    let now = *simulation.deformation().unwrap();
    let axial = now.stress[2][2];
    assert!(axial > 13000.0 && axial < 80000.0, "{now:?}");
    assert!((now.stress[0][0] - 10000.0).abs() < 2000.0, "{now:?}");
    assert!((now.strain[2] - before[2] + 0.1).abs() < 1e-3, "{now:?}");
    let (off, lost) = taken(&mut simulation);
    assert!(off < 0.02 * lost, "{off} of {lost}");
    // A shear strain of 2: the box has turned twice.
    simulation.run_until(0.5).unwrap();
    let now = *simulation.deformation().unwrap();
    let shear_stress = -now.stress[0][2];
    assert!(
        (now.shear - 2.0).abs() < 1e-2 && shear_stress > 500.0,
        "{now:?}"
    );
    let (off, lost) = taken(&mut simulation);
    assert!(off < 0.02 * lost, "{off} of {lost}");
    let domain = simulation.model().domain.unwrap();
    assert!((domain.period() - DVec3::from_array(now.sides)).length() < 1e-12);
}

#[test]
fn a_run_goes_on_from_within_an_interval_of_looks() {
    let model = model(ALL_AT_ONCE, 75);
    let mut whole = simulation(model.clone(), Backend::Cpu);
    whole.step(40).unwrap();
    let state = whole.state().unwrap().clone();
    whole.step(200).unwrap();
    let mut again = simulation(model, Backend::Cpu);
    again.restore(&state, 40).unwrap();
    again.step(200).unwrap();
    let hash = |simulation: &mut Simulation| simulation.summary().unwrap().state_hash;
    assert_eq!(hash(&mut whole), hash(&mut again));
    assert_eq!(whole.deformation(), again.deformation());
}

#[test]
fn a_scene_that_starts_from_a_tilted_box_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let shear = r#"{ "shear": { "flow": "x", "gradient": "y", "rate": 90 } }"#;
    let mut run = simulation(model(shear, 20), Backend::Cpu);
    run.step(100).unwrap();
    std::fs::write(
        folder.path().join("sheared.checkpoint"),
        run.checkpoint().unwrap(),
    )
    .unwrap();
    let text = scene(shear, 1, r#", "start": { "from": "sheared.checkpoint" }"#);
    let file = folder.path().join("box.json");
    let error = scene::parse(&text, &file).unwrap_err().to_string();
    assert!(error.contains("start.from: found"), "{error}");
    assert!(
        error.contains("whose periodic box is tilted by 0.0"),
        "{error}"
    );
}

/// A cubic lattice of bonded balls that do not touch, in a periodic box that is stretched along x: each bond along x bears
/// E A ε over the square of its side, those across bear nothing. Nothing moves against the flow of the box.
#[test]
fn a_stretched_lattice_of_bonds_has_the_stress_of_its_rods_on_all_engines() {
    let pitch = 0.0105;
    let mut bodies = Vec::new();
    for k in 0..27 {
        let [x, y, z] = [k % 3, k / 3 % 3, k / 9].map(|k| pitch * (f64::from(k) + 0.5));
        bodies.push(format!(
            r#"{{ "shape": "ball", "position": [{x}, {y}, {z}] }}"#
        ));
    }
    let side = 3.0 * pitch;
    let text = format!(
        r#"{{ "version": 1, "duration": 0.01, "gravity": [0, 0, 0],
            "contact": {{ "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 1e-6 }},
            "materials": {{ "glass": {{ "density": 2500, "restitution": 0.5, "friction": 0.5 }} }},
            "shapes": {{ "ball": {{ "sphere": {{ "radius": 0.005 }}, "material": "glass" }} }},
            "domain": {{ "min": [0, 0, 0], "max": [{side}, {side}, {side}], "periodic": [true, true, true] }},
            "bonds": [ {{ "between": ["glass", "glass"], "gap": 0.0006, "young_modulus": 1e7, "shear_modulus": 4e6 }} ],
            "bodies": [{}], "deform": {{ "x": {{ "strain_rate": 2 }} }} }}"#,
        bodies.join(", ")
    );
    let scene = scene::parse(&text, "lattice.json".as_ref());
    let model = scene.unwrap_or_else(|error| panic!("{error}")).model;
    assert_eq!(model.bonds.len(), 81);
    let mut hashes = Vec::new();
    for backend in [Backend::Cpu, Backend::Reference(Precision::Single)] {
        let mut simulation = simulation(model.clone(), backend);
        simulation.step(2001).unwrap();
        let now = *simulation.deformation().unwrap();
        let strain = now.sides[0] / side - 1.0;
        assert!((strain - 0.004).abs() < 1e-5, "{now:?}");
        let force = 1e7 * std::f64::consts::PI * 0.005 * 0.005 * strain;
        let expected = -force / (pitch * pitch);
        let found = now.stress[0][0];
        assert!(
            (found / expected - 1.0).abs() < 0.01,
            "{found} of {expected}"
        );
        assert!(now.stress[1][1].abs() < 1e-3 * expected.abs(), "{now:?}");
        let work = 27.0 * 0.5 * force * strain * pitch;
        assert!(
            (now.work / work - 1.0).abs() < 0.02,
            "{} of {work}",
            now.work
        );
        let fast = simulation
            .bodies()
            .unwrap()
            .iter()
            .map(|body| body.velocity.length())
            .fold(0.0, f64::max);
        assert!(fast < 1e-3, "{fast}");
        hashes.push(simulation.summary().unwrap().state_hash);
    }
    assert_eq!(hashes[0], hashes[1]);
    let mut gpu = Simulation::on_gpu(model.clone(), device()).unwrap();
    gpu.step(300).unwrap();
    let mut cpu = simulation(model, Backend::Cpu);
    cpu.step(300).unwrap();
    for (a, b) in gpu.bodies().unwrap().iter().zip(cpu.bodies().unwrap()) {
        assert!((a.position - b.position).length() < 1e-9, "{a:?} {b:?}");
        assert!((a.velocity - b.velocity).length() < 1e-5, "{a:?} {b:?}");
    }
}
