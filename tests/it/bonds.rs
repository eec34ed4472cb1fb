//! Bonds: the same on all engines, however a run is cut into pieces; and what they do.

use std::fs;

use glam::{DVec3, Vec3};
use serde_json::{Value, json};

use crate::common::{bonded_crowd, device, healed, model, periodic_crowd};
use rockfall::internals::bond::{Bonds, bonds};
use rockfall::model::Model;
use rockfall::output::{Record, RunFolder, Table, Values};
use rockfall::scene;
use rockfall::simulation::Precision;
use rockfall::simulation::events::Event;
use rockfall::state::layout::Bond;
use rockfall::state::{Bonded, State};
use rockfall::{Error, Options, Simulation};

const CENTER: DVec3 = DVec3::new(3.0, -7.0, 1.0);

/// State of the bonds and of the bodies.
fn outcome(simulation: &mut Simulation) -> (String, [usize; 2], String) {
    let hash = format!("{:016x}", simulation.summary().unwrap().state_hash);
    let state = simulation.state().unwrap();
    let own = format!("{:?} {:?}", state.bonds, state.body_bonds);
    (hash, state.count_bonds(), own)
}

#[test]
fn the_same_bits_on_any_number_of_threads_and_in_pieces() {
    let model = bonded_crowd(600, CENTER, 3);
    let run = |threads, pieces: u64| {
        let mut simulation = Simulation::on_cpu(model.clone(), Some(threads)).unwrap();
        for _ in 0..pieces {
            simulation.step(60 / pieces).unwrap();
        }
        outcome(&mut simulation)
    };
    let one = run(1, 1);
    let [count, broken] = one.1;
    assert!(20 < broken && broken < count, "{broken} of {count}");
    let mut simulation = Simulation::on_cpu(model.clone(), Some(2)).unwrap();
    simulation.step(60).unwrap();
    assert!(healed(simulation.state().unwrap()) > 20);
    assert!(one == run(2, 1), "two threads");
    assert!(one == run(3, 1), "three threads");
    assert!(one == run(1, 60), "step by step");
}

#[test]
fn both_copies_of_a_bond_are_the_same_on_the_device() {
    let model = bonded_crowd(600, CENTER, 3);
    let mut simulation = Simulation::on_gpu(model.clone(), device()).unwrap();
    simulation.step(60).unwrap();
    let state = simulation.state().unwrap();
    let mut ends: Vec<Vec<Bond>> = vec![Vec::new(); model.bonds.len()];
    for bond in &state.bonds {
        let own = Bond { side: 0, ..*bond };
        ends[bond.source as usize].push(own);
    }
    assert!(
        ends.iter()
            .all(|ends| ends.len() == 2 && ends[0] == ends[1])
    );
    // Not all engines round alike, so a few may break a step apart.
    let mut on_cpu = Simulation::on_cpu(model, Some(1)).unwrap();
    on_cpu.step(60).unwrap();
    let ([count, broken], [_, there]) = (state.count_bonds(), outcome(&mut on_cpu).1);
    assert!(
        broken.abs_diff(there) <= count / 500,
        "{broken} and {there}"
    );
}

#[test]
fn a_run_goes_on_from_a_checkpoint() {
    let model = bonded_crowd(300, CENTER, 5);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.checkpoint");
    let on_gpu = |model: &Model| Simulation::on_gpu(model.clone(), device()).unwrap();
    let on_cpu = |model: &Model| Simulation::on_cpu(model.clone(), Some(2)).unwrap();
    for start in [&on_cpu as &dyn Fn(&Model) -> Simulation, &on_gpu] {
        let mut whole = start(&model);
        whole.step(30).unwrap();
        whole.write_checkpoint(&path).unwrap();
        let then = outcome(&mut whole).1;
        whole.step(40).unwrap();
        let mut again = start(&model);
        again.read_checkpoint(&path).unwrap();
        assert_eq!(outcome(&mut again).1, then);
        again.step(40).unwrap();
        let (found, expected) = (outcome(&mut again), outcome(&mut whole));
        assert!(found == expected);
        assert!(found.1[1] > then[1], "some break after the checkpoint");
    }
}

#[test]
fn bodies_that_go_take_their_bonds_along() {
    let model = bonded_crowd(300, CENTER, 5);
    let count = model.bodies.len();
    let on_gpu = Simulation::on_gpu(model.clone(), device()).unwrap();
    let on_cpu = Simulation::on_cpu(model, Some(1)).unwrap();
    for mut simulation in [on_cpu, on_gpu] {
        simulation.step(30).unwrap();
        let before: Vec<_> = simulation.bonds().unwrap().collect();
        let taken = simulation.energy().unwrap().bonds;
        let handles: Vec<_> = simulation.handles().collect();
        let gone = |body: usize| body % 3 == 1;
        let leaving: Vec<_> = (0..count)
            .filter(|&k| gone(k))
            .map(|k| handles[k])
            .collect();
        simulation.despawn_many(&leaving).unwrap();
        let stays = |bond: &&Bonded| !bond.bodies.iter().any(|&body| gone(body));
        let expected: Vec<_> = before.iter().filter(stays).collect();
        let now: Vec<_> = simulation.bonds().unwrap().collect();
        assert_eq!(now.len(), expected.len());
        assert!(!now.is_empty() && now.len() < before.len());
        for (own, old) in now.iter().zip(expected) {
            assert_eq!((own.bond, own.broken), (old.bond, old.broken));
            assert!((own.energy - old.energy).abs() <= 1e-9 * old.energy.abs());
        }
        let left = simulation.energy().unwrap().bonds;
        assert!((left - taken).abs() <= 1e-6 * taken, "{left} and {taken}");
        simulation.step(5).unwrap();
    }
}

/// Two balls of glass, 20 mm thick and 0.5 mm apart, with what more there is to their bond.
fn pair(bond: &Value, more: &Value) -> String {
    let mut bonds = json!({ "between": ["glass", "glass"], "gap": 1e-3, "young_modulus": 1e7 });
    bonds
        .as_object_mut()
        .unwrap()
        .extend(bond.as_object().unwrap().clone());
    let mut scene = json!({
        "version": 1, "gravity": [0, 0, 0],
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4 },
        "materials": { "glass": { "density": 1000, "restitution": 0.5, "friction": 0.3 } },
        "shapes": { "ball": { "sphere": { "radius": 0.01 }, "material": "glass" } },
        "bodies": [
            { "shape": "ball", "position": [0, 0, 0] },
            { "shape": "ball", "position": [0.0205, 0, 0], "velocity": [0.01, 0, 0] }
        ],
        "bonds": [bonds]
    });
    scene
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    scene.to_string()
}

/// Turned and moved as a whole, a pair is as it was: nothing acts, whatever way it points.
#[test]
fn a_rigid_motion_strains_nothing() {
    let text = pair(&json!({}), &json!({}));
    let mut start = model(&text);
    let turn = glam::DQuat::from_xyzw(0.5, -0.5, 0.5, 0.5);
    for body in &mut start.bodies {
        body.velocity = DVec3::ZERO;
    }
    let mut state = State::new(&start);
    for (body, own) in state.bodies.iter_mut().zip(&start.bodies) {
        let moved = turn * own.position;
        body.orientation = rockfall::internals::math::rotation::orientation(turn);
        let cells = (moved - state.origin) / state.params.cell_size.as_dvec3();
        body.cell = cells.floor().as_ivec3();
        body.offset = ((cells - cells.floor()) * 4_294_967_296.0).as_uvec3();
    }
    let bond = state.bonded().next().unwrap();
    let stretched = 1e7 * 1e-4 * std::f64::consts::PI / 0.0205 * 1e-9;
    assert!(bond.force.length() < stretched, "{:?}", bond.force);
    assert!(bond.energy < 1e-12, "{}", bond.energy);
}

#[test]
fn an_undamped_pair_swings_and_keeps_its_energy() {
    let text = pair(&json!({}), &json!({}));
    let mut simulation = Simulation::on_cpu(model(&text), Some(1)).unwrap();
    let start = simulation.energy().unwrap().total();
    let momentum = simulation.summary().unwrap();
    let mut most: f64 = 0.0;
    for _ in 0..200 {
        simulation.step(20).unwrap();
        let energy = simulation.energy().unwrap();
        assert!((energy.total() - start).abs() < 0.005 * start, "{energy:?}");
        most = most.max(energy.elastic);
    }
    // Half of the energy is in the motion of both together.
    assert!((most / start - 0.5).abs() < 0.02, "{}", most / start);
    let after = simulation.summary().unwrap();
    assert!((after.momentum - momentum.momentum).length() < 1e-6 * momentum.momentum.length());
}

#[test]
fn a_bond_that_breaks_tells_when_where_and_what_it_held() {
    let strength = json!({ "tensile_strength": 2e4, "damping": 0.1 });
    let text = pair(&strength, &json!({}));
    let fast = model(&text.replace("0.01,0,0", "0.5,0,0"));
    let mut simulation = Simulation::on_cpu(fast, Some(1)).unwrap();
    simulation.watch_bonds();
    let start = simulation.energy().unwrap().balance();
    simulation.step(200).unwrap();
    let events = simulation.events();
    assert!(matches!(events[..], [Event::BondBroke(_)]), "{events:?}");
    simulation.step(1).unwrap();
    assert!(simulation.events().is_empty(), "it breaks once");
    let bond = simulation.bonds().unwrap().next().unwrap();
    let broken = bond.broken.unwrap();
    assert!(!broken.by_shear);
    // The spring held what its strength allows: F²/2k, F = 2e4 A, k = 1e7 A/L.
    let area = std::f64::consts::PI * 1e-4;
    let held = 0.5 * (2e4 * area).powi(2) / (1e7 * area / 0.0205);
    assert!(
        (broken.energy / held - 1.0).abs() < 0.1,
        "{} and {held}",
        broken.energy
    );
    assert!(broken.time > 0.0 && broken.step < 200);
    assert!((broken.place.x - 0.0103).abs() < 3e-4, "{}", broken.place);
    assert_eq!(bond.force, DVec3::ZERO);
    let energy = simulation.energy().unwrap();
    assert!(energy.bonds > broken.energy, "the dashpot took some, too");
    assert!((energy.balance() - start).abs() < 0.01 * start);
}

#[test]
fn a_pair_across_the_seam_of_a_periodic_box_is_bonded() {
    let mut periodic = periodic_crowd(200, CENTER, 3, [true, false, true]);
    let laws = crate::common::bond_laws();
    let all = bonds(
        &laws,
        &periodic.bodies,
        &periodic.shapes,
        periodic.domain.as_ref(),
    );
    let without = bonds(&laws, &periodic.bodies, &periodic.shapes, None);
    assert!(
        all.len() > without.len(),
        "{} and {}",
        all.len(),
        without.len()
    );
    // The same pairs, wherever the box is cut; and nothing acts in them, as stiff as they are (1e6 N/m).
    let period = periodic.domain.as_ref().unwrap().period();
    for body in &mut periodic.bodies {
        let moved = body.position + DVec3::new(0.37, 0.0, 0.61) * period;
        body.position = periodic.domain.as_ref().unwrap().wrap(moved);
    }
    let moved = bonds(
        &laws,
        &periodic.bodies,
        &periodic.shapes,
        periodic.domain.as_ref(),
    );
    let pairs =
        |bonds: &Bonds| -> Vec<[usize; 2]> { bonds.iter().map(|bond| bond.bodies).collect() };
    assert_eq!(pairs(&all), pairs(&moved));
    let mut state = State::new(&Model {
        bonds: moved,
        ..periodic
    });
    assert!(state.bonded().all(|bond| bond.force.length() < 20.0));
    rockfall::internals::cpu::step(&mut state);
    assert!(
        state
            .bodies
            .iter()
            .all(|body| body.velocity.length() < 10.0)
    );
}

/// Spheres of one law and not of another, of groups, and those that are too far.
#[test]
fn bonds_are_made_where_a_scene_asks_for_them() {
    let count = |bond: Value, more: Value| model(&pair(&bond, &more)).bonds.len();
    assert_eq!(count(json!({}), json!({})), 1);
    assert_eq!(count(json!({ "gap": 4e-4 }), json!({})), 0);
    let groups = json!({ "a": {}, "b": {} });
    let bodies = |a: &str, b: &str| {
        json!({ "groups": groups, "bodies": [
            { "shape": "ball", "position": [0, 0, 0], "group": a },
            { "shape": "ball", "position": [0.0205, 0, 0], "group": b }
        ] })
    };
    assert_eq!(count(json!({ "groups": ["a", "b"] }), bodies("b", "a")), 1);
    assert_eq!(count(json!({ "groups": ["a", "a"] }), bodies("b", "a")), 0);
    let fixed = json!({ "bodies": [
        { "shape": "ball", "position": [0, 0, 0], "fixed": true },
        { "shape": "ball", "position": [0.0205, 0, 0], "fixed": true },
        { "shape": "ball", "position": [0.041, 0, 0] }
    ] });
    assert_eq!(count(json!({}), fixed), 1);
}

#[test]
fn wrong_bonds_get_a_sentence() {
    for (bond, more, expected) in [
        (
            json!({ "young_modulus": 0 }),
            json!({}),
            "bonds[0].young_modulus: found 0, expected a modulus greater than 0 (Pa)",
        ),
        (
            json!({ "between": ["glass", "stone"] }),
            json!({}),
            "bonds[0].between[1]: found the undefined material \"stone\"",
        ),
        (
            json!({ "groups": ["a", "a"] }),
            json!({}),
            "bonds[0].groups[0]: found the undefined group \"a\"",
        ),
        (
            json!({ "weibull_modulus": 3 }),
            json!({}),
            "bonds[0].weibull_modulus",
        ),
        (
            json!({}),
            json!({ "contact": { "normal": "impulse" } }),
            "bonds: found bonds, expected nothing with the normal model \"impulse\"",
        ),
        (
            json!({}),
            json!({ "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4, "time_step": 2e-4 } }),
            "beyond which the bonds of bonds[0] are unstable",
        ),
        (
            json!({ "young_modulus": 3e38, "radius_factor": 100 }),
            json!({}),
            "single precision",
        ),
        (
            json!({ "gap": 0.03 }),
            json!({}),
            "bonds[0].gap: found 0.03 m, expected at most the diameter of the smallest sphere, 0.02 m",
        ),
    ] {
        let text = pair(&bond, &more);
        let error = scene::parse(&text, "pair.json".as_ref())
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}\n{expected}");
    }
    let far = pair(&json!({ "gap": 1e-4 }), &json!({}));
    let scene = scene::parse(&far, "pair.json".as_ref()).unwrap();
    assert!(
        scene
            .warnings
            .iter()
            .any(|warning| warning.contains("bonds[0]")),
        "{:?}",
        scene.warnings
    );
}

#[test]
fn a_checkpoint_with_bonds_that_cannot_be_is_refused() {
    let text = pair(&json!({}), &json!({}));
    let mut simulation = Simulation::on_cpu(model(&text), Some(1)).unwrap();
    simulation.step(3).unwrap();
    let mut state = simulation.state().unwrap().clone();
    state.bonds[0].first = 7;
    let mut other = Simulation::on_cpu(model(&text), Some(1)).unwrap();
    // What a program puts there itself is its own business; a file is looked at.
    other.restore(&state, 3).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.checkpoint");
    fs::write(&path, other.checkpoint().unwrap()).unwrap();
    let error: Error = simulation.read_checkpoint(&path).unwrap_err();
    assert!(
        error.to_string().contains("a bond that cannot be"),
        "{error}"
    );
}

/// A fixed ball and one that is bonded to it, with a bond that heals, and the steps that it takes to.
fn healing_pair() -> (Model, u64) {
    let bond = json!({
        "tensile_strength": 2e4, "damping": 0.5, "healing": { "distance": 1e-3, "time": 1e-3 }
    });
    let bodies = json!({ "bodies": [
        { "shape": "ball", "position": [0, 0, 0], "fixed": true },
        { "shape": "ball", "position": [0.0205, 0, 0] }
    ] });
    let model = model(&pair(&bond, &bodies));
    let steps = (1e-3 / model.time_step).ceil() as u64;
    (model, steps)
}

fn only_bond(simulation: &mut Simulation) -> Bonded {
    simulation.bonds().unwrap().next().unwrap()
}

/// Tears the pair, holds its balls together for less and for more than the time, elsewhere than they were at first, and pulls.
fn tear_heal_and_tear(simulation: &mut Simulation, steps: u64) {
    let ball = simulation.handles().nth(1).unwrap();
    simulation.watch_bonds();
    let turned = glam::DQuat::from_xyzw(0.5, -0.5, 0.5, 0.5);
    let hold = |simulation: &mut Simulation, place: DVec3, turn, steps| {
        simulation.set_pose(ball, place, turn).unwrap();
        simulation.set_velocity(ball, DVec3::ZERO).unwrap();
        simulation.set_angular_velocity(ball, DVec3::ZERO).unwrap();
        simulation.step(steps).unwrap();
    };
    let whole = |simulation: &mut Simulation| only_bond(simulation).broken.is_none();
    let at_first = glam::DQuat::IDENTITY;
    hold(simulation, DVec3::X * 0.0206, at_first, 1);
    let broken = only_bond(simulation).broken.unwrap();
    assert!(broken.energy > 0.0 && !broken.by_shear);
    assert!(matches!(simulation.events()[..], [Event::BondBroke(_)]));
    // Too far away, then near for too short a time, twice.
    hold(simulation, DVec3::X * 0.0211, at_first, 3 * steps);
    hold(simulation, DVec3::X * 0.0209, at_first, steps - 1);
    hold(simulation, DVec3::X * 0.0211, at_first, 1);
    let place = DVec3::new(0.0, 0.0166, -0.01245);
    assert!((place.length() - 0.02075).abs() < 1e-6);
    hold(simulation, place, turned, steps - 1);
    assert!(!whole(simulation) && simulation.events().is_empty());
    assert_eq!(only_bond(simulation).force, DVec3::ZERO);
    let taken = simulation.energy().unwrap().bonds;
    simulation.step(1).unwrap();
    let bond = only_bond(simulation);
    let healed = bond.healed.unwrap();
    assert!(whole(simulation) && bond.breaks == 1);
    assert_eq!(healed.step, simulation.steps());
    assert!((healed.time - simulation.time()).abs() < 2.0 * simulation.model().time_step);
    assert!((healed.place - 0.5 * place).length() < 1e-6, "{healed:?}");
    assert!(matches!(simulation.events()[..], [Event::BondHealed(_)]));
    assert_eq!(simulation.energy().unwrap().bonds, taken);

    // It rests where it healed: the force is less than a millionth of that which breaks it.
    let area = std::f64::consts::PI * 1e-4;
    let strength = 2e4 * area;
    assert!(bond.force.length() < 1e-4 * strength, "{}", bond.force);
    simulation.step(500).unwrap();
    let rest = simulation.bodies().unwrap()[1].position;
    assert!((rest - place).length() < 1e-8, "{rest}");

    // Below its strength it stretches as a new one does, along the way between the centres; beyond, it breaks.
    let along = place.normalize();
    let pull = |simulation: &mut Simulation, part: f64| {
        let force = part * strength * along;
        simulation
            .set_applied_force(ball, force, DVec3::ZERO)
            .unwrap();
        simulation.step(2000).unwrap();
    };
    pull(simulation, 0.5);
    let bond = only_bond(simulation);
    assert!((bond.load - 0.5).abs() < 0.005, "{}", bond.load);
    let stretched = simulation.bodies().unwrap()[1].position - rest;
    let expected = 0.5 * 2e4 * 0.0205 / 1e7;
    assert!(
        (stretched - expected * along).length() < 0.01 * expected,
        "{stretched}"
    );
    assert!(simulation.events().is_empty());
    pull(simulation, 1.05);
    let bond = only_bond(simulation);
    let again = bond.broken.unwrap();
    assert!(bond.breaks == 2 && again.step > healed.step && !again.by_shear);
    assert!(matches!(simulation.events()[..], [Event::BondBroke(_)]));
    let held = 0.5 * strength * 2e4 * 0.0205 / 1e7;
    assert!(
        (again.energy / held - 1.0).abs() < 0.1,
        "{} and {held}",
        again.energy
    );
}

#[test]
fn a_torn_bond_heals_where_it_is_held_and_breaks_again() {
    let (model, steps) = healing_pair();
    let single = Precision::Single;
    let mut on_cpu = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    let mut on_reference = Simulation::on_reference(model.clone(), single).unwrap();
    let mut on_gpu = Simulation::on_gpu(model.clone(), device()).unwrap();
    let mut in_double = Simulation::on_reference(model, Precision::Double).unwrap();
    for simulation in [&mut on_cpu, &mut on_reference, &mut on_gpu, &mut in_double] {
        tear_heal_and_tear(simulation, steps);
    }
    assert!(outcome(&mut on_cpu) == outcome(&mut on_reference));
}

/// Two balls that a spring pulls together again when they have flown apart, turning, and whose bond heals meanwhile.
fn torn_pair() -> String {
    let bond = json!({
        "tensile_strength": 1e4, "shear_strength": 1e4, "healing": { "distance": 1e-3, "time": 1e-3 }
    });
    let more = json!({
        "bodies": [
            { "shape": "ball", "name": "left", "position": [0, 0, 0] },
            { "shape": "ball", "name": "right", "position": [0.0205, 0, 0], "velocity": [0.5, 0.1, 0],
              "angular_velocity": [3, 2, 5] }
        ],
        "springs": [ { "from": { "body": "left" }, "to": { "body": "right" }, "stiffness": 200 } ]
    });
    pair(&bond, &more)
}

#[test]
fn nothing_is_created_where_bonds_heal() {
    let mut simulation = Simulation::on_cpu(model(&torn_pair()), Some(1)).unwrap();
    let start = simulation.energy().unwrap().balance();
    for _ in 0..200 {
        simulation.run_until(simulation.time() + 5e-4).unwrap();
        let energy = simulation.energy().unwrap();
        let error = (energy.balance() - start).abs();
        assert!(error < 0.01 * start, "{error} of {start}: {energy:?}");
    }
    let bond = only_bond(&mut simulation);
    assert!(bond.breaks > 2, "{bond:?}");
    assert!(simulation.energy().unwrap().bonds > 0.1 * start);
}

#[test]
fn a_run_goes_on_from_a_checkpoint_while_a_bond_heals() {
    let model = model(&torn_pair());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.checkpoint");
    let on_gpu = || Simulation::on_gpu(model.clone(), device()).unwrap();
    let on_cpu = || Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    for start in [&on_cpu as &dyn Fn() -> Simulation, &on_gpu] {
        let mut whole = start();
        while whole.state().unwrap().bonds[0].near < 20 {
            whole.step(10).unwrap();
        }
        let then = only_bond(&mut whole);
        assert!(then.broken.is_some());
        whole.write_checkpoint(&path).unwrap();
        let mut again = start();
        again.read_checkpoint(&path).unwrap();
        for steps in [100, 4000] {
            whole.step(steps).unwrap();
            again.step(steps).unwrap();
            assert!(outcome(&mut again) == outcome(&mut whole), "after {steps}");
        }
        assert!(only_bond(&mut again).breaks > then.breaks, "it has healed");
    }
}

#[test]
fn the_table_lists_each_break_and_each_healing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut text: Value = serde_json::from_str(&torn_pair()).unwrap();
    text["output"] = json!({ "vtk": [], "states": [], "statistics_every": { "steps": 1 } });
    let scene = scene::parse(&text.to_string(), "pair.json".as_ref()).unwrap();
    let mut simulation = Simulation::on_cpu(scene.model.clone(), Some(1)).unwrap();
    simulation.watch_bonds();
    let record = Record::new(&simulation, &Options::default(), Vec::new(), 1);
    let mut run = RunFolder::create(&path, &scene, record, &mut simulation).unwrap();
    let _ = simulation.run(4000, &mut [&mut run]).unwrap();
    run.wait().unwrap();
    let table = fs::read_to_string(path.join("broken_bonds.csv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
    let events = simulation.events();
    assert!(
        events.len() > 4 && rows.len() == 1 + events.len(),
        "{table}"
    );
    assert_eq!(
        (rows[0][5], rows[0][9], rows[0][10]),
        ("by", "energy_J", "breaks")
    );
    let number = |row: &[&str], column: usize| row[column].parse::<f64>().unwrap();
    let mut before = 0.0;
    for (index, (row, event)) in rows[1..].iter().zip(events).enumerate() {
        let is_break = index % 2 == 0;
        assert_eq!(row[5] != "healing", is_break, "{table}");
        assert_eq!(matches!(event, Event::BondBroke(_)), is_break);
        assert_eq!(matches!(event, Event::BondHealed(_)), !is_break);
        assert_eq!(number(row, 10), (index / 2 + 1) as f64);
        assert_eq!(number(row, 9) > 0.0, is_break);
        let time = number(row, 1);
        let least = if is_break { 0.0 } else { 0.9e-3 };
        assert!(time > before + least, "{table}");
        before = time;
    }
    let bonds = Table::bonds(&simulation.snapshot().unwrap());
    let column = |name: &str| bonds.columns.iter().find(|own| own.name == name).unwrap();
    assert!(
        matches!(&column("breaks").values, Values::U32(own) if own[0] as usize == (rows.len()) / 2)
    );
    assert!(matches!(&column("changed").values, Values::F64(own) if own[0] == before));
}

/// A fixed ball, and one that hangs from it and falls asleep: it stays where it hangs.
#[test]
fn what_hangs_on_a_bond_sleeps() {
    let more = json!({
        "gravity": [0, -9.81, 0],
        "sleep": { "speed": 1e-3, "after": 0.05 },
        "bodies": [
            { "shape": "ball", "position": [0, 0.0205, 0], "fixed": true },
            { "shape": "ball", "position": [0, 0, 0] }
        ]
    });
    let text = pair(&json!({ "damping": 0.3 }), &more);
    let mut simulation = Simulation::on_cpu(model(&text), Some(1)).unwrap();
    simulation.run_until(0.5).unwrap();
    assert_eq!(simulation.summary().unwrap().asleep, 1);
    let body = simulation.bodies().unwrap()[1].clone();
    assert!(body.position.length() < 1e-5 && body.velocity == DVec3::ZERO);
    let force = simulation.state().unwrap().body_forces[1].force;
    let weight = 9.81 * body.mass as f32;
    assert!(
        (force - Vec3::Y * weight).length() < 0.01 * weight,
        "{force}"
    );
}
