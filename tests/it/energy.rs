//! The energy budget and the contact network.

use crate::common::{crowd, crowd_with_history, device};
use glam::DVec3;
use rockfall::internals::cpu;
use rockfall::model::{Cohesion, Law, Model, Rolling};
use rockfall::simulation::checkpoint::Checkpoint;
use rockfall::simulation::network::{Network, Partner};
use rockfall::state::State;
use rockfall::{Energy, Simulation};

fn on_both(model: &Model, check: impl Fn(Simulation, &str)) {
    check(Simulation::on_cpu(model.clone(), None).unwrap(), "cpu");
    check(Simulation::on_gpu(model.clone(), device()).unwrap(), "gpu");
}

/// A crowd that is thrown together, without cohesion, whose necks would cost energy that the budget
/// does not know.
fn thrown_together(law: Law) -> Model {
    let mut model = crowd_with_history(law, 300, DVec3::splat(-3.0), 6);
    for pair in &mut model.pairs {
        pair.cohesion = Cohesion::None;
    }
    model.time_step *= 0.1;
    model
}

#[test]
fn what_is_dissipated_is_what_is_missing() {
    for law in [Law::HookeViscous, Law::HookeHistory, Law::HertzMindlin] {
        let model = thrown_together(law.clone());
        on_both(&model, |mut simulation, engine| {
            simulation.step(1).unwrap();
            let start = simulation.energy().unwrap();
            simulation.step(2000).unwrap();
            let end = simulation.energy().unwrap();
            let lost = |energy: &Energy| energy.damping + energy.friction;
            let missing = start.total() - end.total();
            let dissipated = lost(&end) - lost(&start);
            let what = format!("{law:?}, {engine}: {start:?} {end:?}");
            assert!(
                dissipated > 0.2 * start.total().abs(),
                "little happened: {what}"
            );
            assert!(
                (missing - dissipated).abs() < 0.02 * dissipated,
                "{missing} J are missing, {dissipated} J dissipated: {what}"
            );
            assert!(end.damping > 0.0 && end.friction > 0.0, "{what}");
        });
    }
}

/// Whatever contacts dissipate is in the spectra, and a checkpoint between changes nothing.
#[test]
fn collisions_have_all_that_is_dissipated() {
    let mut model = thrown_together(Law::HookeHistory);
    model.flow.collisions = true;
    on_both(&model, |mut simulation, engine| {
        simulation.step(700).unwrap();
        let bytes = simulation.checkpoint().unwrap();
        simulation.step(700).unwrap();
        let energy = simulation.energy().unwrap();
        let collisions = simulation.traffic().collisions.clone();
        let open: f64 = collisions.open.iter().map(|own| own.energy).sum();
        let total = collisions.total();
        assert!(total.count >= 3, "{engine}: {total:?}");
        let (found, lost) = (total.energy + open, energy.damping + energy.friction);
        assert!(
            (found - lost).abs() < 0.01 * lost,
            "{engine}: {found} J of {lost} J"
        );
        Checkpoint::decode(bytes, "half".as_ref())
            .unwrap()
            .restore(&mut simulation)
            .unwrap();
        simulation.step(700).unwrap();
        assert_eq!(simulation.traffic().collisions, collisions, "{engine}");
    });
}

#[test]
fn forces_of_the_network_are_those_that_moved_the_bodies() {
    for law in [Law::HookeViscous, Law::HookeHistory, Law::HertzMindlin] {
        let model = match law {
            Law::HookeViscous => crowd(500, DVec3::splat(5.0), 3),
            _ => crowd_with_history(law.clone(), 500, DVec3::splat(5.0), 3),
        };
        let mut state = State::new(&model);
        for _ in 0..30 {
            cpu::step(&mut state);
        }
        let network = Network::new(&state);
        let mut sums = vec![DVec3::ZERO; model.bodies.len()];
        for contact in &network.contacts {
            sums[contact.body as usize] += contact.force;
            if let Partner::Sphere { body, .. } = contact.partner {
                sums[body as usize] -= contact.force;
            }
        }
        let largest = sums.iter().map(|sum| sum.length()).fold(0.0, f64::max);
        assert!(largest > 0.0);
        for (index, (sum, body)) in sums.iter().zip(&state.bodies).enumerate() {
            let load = state.load(body);
            let error = (*sum - load.force.as_dvec3()).length() / largest;
            assert!(error < 1e-3, "{law:?}: body {index}: {sum}, {}", load.force);
        }
        let touching = |c: &&rockfall::NetworkContact| c.overlap > 0.0;
        let contacts = network.contacts.iter().filter(touching).count();
        let counted: u32 = state
            .sphere_loads
            .iter()
            .map(|load| load.sphere_contacts() + 2 * load.wall_contacts())
            .sum();
        assert_eq!(2 * contacts as u32, counted, "{law:?}");
        let degrees: u32 = network.degrees().iter().sum();
        let of_bodies: u32 = state
            .bodies
            .iter()
            .map(|body| state.load(body).contacts)
            .sum();
        assert_eq!(degrees, of_bodies, "{law:?}");
    }
}

#[test]
fn a_spring_holds_what_was_put_into_it() {
    // Two balls that meet head-on, elastic: at the deepest, all is in the spring.
    for law in [Law::HookeHistory, Law::HertzMindlin] {
        let mut model = crowd_with_history(law.clone(), 2, DVec3::ZERO, 1);
        model.gravity = DVec3::ZERO;
        model.walls.clear();
        for pair in &mut model.pairs {
            pair.damping = 0.0;
            pair.damping_ratio = 0.0;
            pair.cohesion = Cohesion::None;
            pair.rolling = Rolling::Constant;
        }
        let ball = [rockfall::internals::clump::ClumpSphere {
            center: DVec3::ZERO,
            radius: 1.0,
        }];
        let mass = rockfall::internals::clump::summed_spheres(&ball, 1000.0);
        model.shapes = vec![rockfall::internals::clump::Clump::new(
            "ball", 0, &ball, mass,
        )];
        model.bodies.truncate(1);
        model.bodies[0].shape = 0;
        model.bodies[0].fixed = false;
        model.bodies[0].angular_velocity = DVec3::ZERO;
        let first = model.bodies[0];
        model.bodies.push(first);
        for (body, side) in model.bodies.iter_mut().zip([-1.0, 1.0]) {
            body.position = DVec3::X * side * 1.001;
            body.velocity = DVec3::X * -side;
        }
        on_both(&model, |mut simulation, engine| {
            simulation.step(1).unwrap();
            let start = simulation.energy().unwrap().total();
            let mut most: f64 = 0.0;
            for _ in 0..750 {
                simulation.step(4).unwrap();
                let energy = simulation.energy().unwrap();
                most = most.max(energy.elastic / start);
                let error = (energy.total() / start - 1.0).abs();
                assert!(error < 0.1, "{law:?}, {engine}: {error}");
                if energy.elastic == 0.0 && most > 0.0 {
                    break;
                }
            }
            assert!((most - 1.0).abs() < 0.02, "{law:?}, {engine}: {most}");
            let end = simulation.energy().unwrap();
            assert!(
                (end.kinetic / start - 1.0).abs() < 1e-3,
                "{law:?}, {engine}"
            );
        });
    }
}

/// Balls in a box whose parts do work, and what does it.
fn driven(what: &str) -> serde_json::Value {
    use serde_json::json;
    let mut scene = json!({
        "version": 1, "duration": 1,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 2e4, "time_step": 2e-5 },
        "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.02 }, "material": "stone" } },
        "walls": [
            { "name": "tub", "box": { "size": [0.2, 0.4, 0.2] }, "position": [0, 0.2, 0], "material": "stone",
              "side": "inside" } ],
        "bodies": [ { "shape": "ball", "position": [0, 0.19, 0.05], "name": "first" } ],
        "fills": [ { "count": 27, "shapes": { "ball": 1 }, "placement": "grid", "spacing": 0.045, "jitter": 0.001,
                     "region": { "min": [-0.07, 0.021, -0.07], "max": [0.07, 0.16, 0.07] } } ],
    });
    let tub = &mut scene["walls"][0];
    match what {
        "a belt" => {
            let belt = json!({ "name": "belt", "rectangle": { "size": [0.2, 0.2] }, "material": "stone",
                               "position": [0, 0.002, 0], "surface_velocity": [1, 0, 0] });
            scene["walls"].as_array_mut().unwrap().push(belt);
        }
        "vibrations" => {
            tub["motion"] =
                json!({ "vibrations": [ { "amplitude": [0, 0.003, 0], "frequency": 25 } ] });
        }
        "a rotation" => {
            tub["motion"] = json!({ "rotation": { "axis": [0, 0, 1], "speed": 6 } });
        }
        "a servo" | "a lid" => {
            let mut lid = json!({ "name": "lid", "rectangle": { "size": [0.2, 0.2] }, "material": "stone",
                                  "position": [0, 0.225, 0] });
            if what == "a lid" {
                lid["rigid_body"] = json!({ "mass": 0.5, "rail": [0, 1, 0], "force": [0, -30, 0] });
            } else {
                lid["servo"] = json!({ "direction": [0, -1, 0], "force": 100, "max_speed": 0.6 });
            }
            scene["walls"].as_array_mut().unwrap().push(lid);
        }
        "a push" => {
            scene["forces"] = json!([
                { "body": "first", "force": [0, 3, 0], "point": [0.01, 0, 0], "torque": [0, 0.01, 0] },
            ]);
        }
        "water" => scene["water"] = json!({ "level": 0.15, "density": 3000 }),
        other => panic!("{other}"),
    }
    scene
}

#[test]
fn what_walls_and_forces_do_closes_the_balance() {
    for what in [
        "a belt",
        "vibrations",
        "a rotation",
        "a servo",
        "a lid",
        "a push",
        "water",
    ] {
        crate::common::on_both(&driven(what).to_string(), |mut simulation, engine| {
            simulation.step(1).unwrap();
            let start = simulation.energy().unwrap();
            simulation.step(10_000).unwrap();
            let end = simulation.energy().unwrap();
            let off = end.balance() - start.balance();
            let turned_over = end.work.abs() + end.damping + end.friction + end.drag;
            let said = format!("{what}, {engine}: {off} J of {turned_over} J, {start:?} {end:?}");
            println!("{said}");
            assert!(
                end.work.abs() > 0.03 * turned_over,
                "little was done: {said}"
            );
            assert!(off.abs() < 0.02 * turned_over, "{said}");
        });
    }
}

#[test]
fn work_so_far_is_kept_in_checkpoints() {
    let text = driven("a belt").to_string();
    let mut simulation = crate::common::simulate(&text);
    simulation.step(8000).unwrap();
    let kept = simulation.checkpoint().unwrap();
    let work = simulation.energy().unwrap().work;
    assert!(work > 0.0, "{work}");
    simulation.step(2000).unwrap();
    let further = simulation.energy().unwrap();
    let mut other = crate::common::simulate(&text);
    Checkpoint::decode(kept, "kept".as_ref())
        .unwrap()
        .restore(&mut other)
        .unwrap();
    assert_eq!(other.energy().unwrap().work, work);
    other.step(2000).unwrap();
    assert_eq!(other.energy().unwrap(), further);
    assert!(further.work > work);
}
