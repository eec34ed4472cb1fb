//! Faults: what is damaged, what is stopped, and two runs on one folder.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::common::Random;
use crate::output::heap;
use crate::parsers::rehash;
use rockfall::model::Model;
use rockfall::simulation::checkpoint::Checkpoint;
use rockfall::simulation::observe::Observer;
use rockfall::{Error, Simulation, scene};
use serde_json::{Value, json};

/// Bodies with springs, a push, a wall that turns and one that falls: all that a checkpoint has.
fn busy() -> Value {
    let mut scene = heap();
    scene["walls"] = json!([
        { "name": "paddle", "box": { "size": [0.1, 0.4, 0.1] }, "side": "outside", "material": "stone",
          "position": [0, 0.1, 0],
          "motion": { "rotation": { "axis": [0, 1, 0], "speed": 2 } } },
    ]);
    scene["bodies"] = json!([
        { "name": "bob", "shape": "dumbbell", "position": [0, 1.5, 0] },
        { "name": "weight", "shape": "ball", "position": [0.3, 1.5, 0] },
    ]);
    scene["springs"] = json!([
        { "from": { "body": "bob" }, "to": { "body": "weight" }, "stiffness": 1000, "rest_length": 0.3 },
        { "from": { "point": [0, 2, 0] }, "to": { "body": "bob" }, "stiffness": 1000, "rest_length": 0.5 },
    ]);
    scene
}

/// [`busy`] below a wall that its load moves.
fn with_a_lid() -> Model {
    let mut scene = busy();
    scene["walls"].as_array_mut().unwrap().push(
        json!({ "name": "lid", "rectangle": { "size": [2, 2] }, "material": "stone", "position": [0, 3, 0],
                "rigid_body": { "mass": 5 } }),
    );
    scene::parse(&scene.to_string(), "busy.json".as_ref())
        .unwrap()
        .model
}

/// A checkpoint of a scene on the CPU after some steps.
fn checkpoint(model: &Model, steps: u64) -> Vec<u8> {
    let mut simulation = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    simulation.step(steps).unwrap();
    simulation.checkpoint().unwrap()
}

/// Ranges of the sections in the bytes of a checkpoint.
fn sections(bytes: &[u8]) -> BTreeMap<String, Range<usize>> {
    let length = u32::from_le_bytes(bytes[20..24].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[24..24 + length]).unwrap();
    let mut end = 24 + length;
    let sections = header["sections"].as_array().unwrap().iter();
    sections
        .map(|section| {
            let start = end.next_multiple_of(16);
            end = start + section["bytes"].as_u64().unwrap() as usize;
            (section["name"].as_str().unwrap().to_owned(), start..end)
        })
        .collect()
}

/// Outcome of going on from `bytes`: a refusal, or whether all is finite after two steps, unless a body is lost.
fn go_on(model: &Model, bytes: Vec<u8>) -> Result<bool, String> {
    let file = Path::new("damaged.checkpoint");
    let checkpoint = Checkpoint::decode(bytes, file).map_err(|error| error.to_string())?;
    let mut simulation = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    checkpoint
        .restore(&mut simulation)
        .map_err(|error| error.to_string())?;
    if simulation.step(2).is_err() {
        return Ok(true);
    }
    let energy = simulation.energy().unwrap();
    Ok(energy.total().is_finite() && simulation.contacts().unwrap().all(|c| c.force.is_finite()))
}

#[test]
fn a_checkpoint_with_contents_that_cannot_be_is_refused_in_a_sentence() {
    let model = with_a_lid();
    let whole = checkpoint(&model, 900);
    assert_eq!(go_on(&model, whole.clone()), Ok(true));
    let places = sections(&whole);
    let nan = f32::NAN.to_le_bytes();
    let most = u32::MAX.to_le_bytes();
    let far = (1_i32 << 30).to_le_bytes();
    let number = |number: f32| number.to_le_bytes();
    let count = |section: &str, size: usize| (places[section].len() / size) as u32;
    let [bodies, spheres] = [count("ids", 8), count("sphere_loads", 48)].map(u32::to_le_bytes);
    // Sections, bytes in them, what is there now, and what is said of it.
    let motion = "a motion or an orientation";
    let sphere = "a sphere that cannot be";
    let load = "a load on a sphere";
    let lists = "start behind their ends";
    let neighbours = "neighbours of sphere";
    let wall = "at a place that cannot be";
    let loaded = "a wall under load";
    let action = "a spring or an applied force that cannot be";
    let sums = "sums over the run";
    let damage: &[(&str, &[usize], [u8; 4], &str)] = &[
        ("bodies", &[48, 52, 56, 64, 76, 128], nan, motion),
        ("bodies", &[32, 36], i32::MAX.to_le_bytes(), motion),
        ("bodies", &[16, 20, 24], i32::MIN.to_le_bytes(), motion),
        ("bodies", &[16, 24], far, motion),
        ("bodies", &[60], most, "its first sphere at 4294967295"),
        (
            "bodies",
            &[28],
            7_u32.to_le_bytes(),
            "bodies of other shapes",
        ),
        (
            "shape_of_body",
            &[0],
            9_u32.to_le_bytes(),
            "of shape number 9",
        ),
        (
            "shape_of_body",
            &[0],
            2_u32.to_le_bytes(),
            "of shape number 2",
        ),
        (
            "shape_of_body",
            &[0],
            (31_u32 << 26).to_le_bytes(),
            "in group number 31",
        ),
        (
            "shape_of_body",
            &[0],
            (1_u32 << 26).to_le_bytes(),
            "in group number 1",
        ),
        ("ids", &[8], [0; 4], "numbers do not rise"),
        (
            "ids",
            &[8 * (u32::from_le_bytes(bodies) as usize - 1)],
            bodies,
            "numbers do not rise",
        ),
        ("spheres", &[0, 12, 32, 44, 48], nan, sphere),
        ("spheres", &[16], far, sphere),
        ("spheres", &[28], bodies, sphere),
        (
            "spheres",
            &[28],
            1_u32.to_le_bytes(),
            "spheres of other bodies",
        ),
        (
            "spheres",
            &[60],
            1_u32.to_le_bytes(),
            "spheres of other bodies",
        ),
        ("sphere_loads", &[0, 12, 16, 32, 36, 40, 44], nan, load),
        (
            "neighbour_starts",
            &[8, 4 * u32::from_le_bytes(spheres) as usize],
            most,
            lists,
        ),
        ("neighbours", &[0], 5000_u32.to_le_bytes(), neighbours),
        ("neighbours", &[0], spheres, neighbours),
        (
            "neighbours",
            &[0],
            0x8000_4000_u32.to_le_bytes(),
            neighbours,
        ),
        ("history", &[0, 16, 28], nan, "a contact history"),
        ("walls", &[16, 28, 48, 64, 80, 92], nan, wall),
        ("walls", &[0], far, wall),
        ("walls", &[32, 44], number(2.0), wall),
        ("walls", &[12, 60, 76], 9_u32.to_le_bytes(), "other walls"),
        (
            "dynamic_walls",
            &[48, 80, 92, 96, 112, 124, 128, 140, 144, 156],
            nan,
            loaded,
        ),
        ("dynamic_walls", &[108], 4_u32.to_le_bytes(), loaded),
        ("dynamic_walls", &[108], 2_u32.to_le_bytes(), "other walls"),
        ("wall_loads", &[0, 12, 16, 28], nan, "a load on a wall"),
        (
            "body_forces",
            &[0, 12, 16, 28, 32, 44, 48, 52],
            nan,
            "a force that is not a number",
        ),
        ("actions", &[0, 16, 32, 64, 68, 72, 80, 84], nan, action),
        ("actions", &[12], 4_u32.to_le_bytes(), action),
        ("actions", &[28, 44], bodies, action),
        ("actions", &[48], far, action),
        ("actions", &[28], 30_u32.to_le_bytes(), "out of their order"),
        (
            "actions",
            &[60],
            2_u32.to_le_bytes(),
            "the scene does not have",
        ),
        ("stats", &[0], nan, sums),
        ("stats", &[0], number(-1.0), sums),
        ("stats", &[4], 99_u32.to_le_bytes(), sums),
        ("stats", &[8, 12, 16, 20, 24], 2_u32.to_le_bytes(), sums),
        ("stats", &[28], most, sums),
        ("stats", &[32, 44, 48], 1_u32.to_le_bytes(), sums),
    ];
    for damage in damage {
        is_refused(&model, &whole, damage);
    }
}

/// Sections, bytes in them, what is there now, and what is said of it.
type Damage<'a> = (&'a str, &'a [usize], [u8; 4], &'a str);

/// Puts the damage at each of its places in turn, and reads what is said of it.
fn is_refused(model: &Model, whole: &[u8], (section, places, found, said): &Damage) {
    for at in *places {
        let mut bytes = whole.to_vec();
        let start = sections(whole)[*section].start + at;
        bytes[start..start + 4].copy_from_slice(found);
        rehash(&mut bytes);
        let sentence = go_on(model, bytes).expect_err(section);
        assert!(
            sentence.contains(said) && sentence.contains("damaged.checkpoint: found"),
            "{section}, byte {at}: {sentence}"
        );
    }
}

/// Warm balls that lie side by side on a floor, bonded and pushed, below a face.
fn warm_and_bonded() -> Model {
    let scene = json!({
        "version": 1,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4, "time_step": 5e-5 },
        "materials": { "brass": { "density": 2500, "restitution": 0.5, "friction": 0.5,
                                  "conductivity": 20, "heat_capacity": 1 } },
        "shapes": { "ball": { "sphere": { "radius": 0.01 }, "material": "brass" } },
        "planes": [{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "brass", "temperature": 500 }],
        "bodies": [{ "name": "pushed", "shape": "ball", "position": [0.1, 0.01, 0], "temperature": 100 },
                   { "name": "driven", "shape": "ball", "position": [0.2, 0.01, 0], "temperature": 100 }],
        "fills": [{ "count": 9, "shapes": { "ball": 1 }, "placement": "grid", "spacing": 0.0201,
                    "region": { "min": [0, 0, 0], "max": [0.0605, 0.021, 0.0605] }, "temperature": 400 }],
        "bonds": [{ "between": ["brass", "brass"], "gap": 1e-3, "young_modulus": 1e7 }],
        "forces": [{ "body": "pushed", "force": [0, 0.01, 0] },
                   { "body": "driven", "force": [0, 0.01, 0], "axes": "body" }],
        "probes": [{ "face": { "min": [-1, 0.5, -1], "max": [1, 0.5, 1] } }],
    });
    let read = scene::parse(&scene.to_string(), "warm.json".as_ref());
    read.unwrap().model
}

#[test]
fn temperatures_bonds_and_lists_that_cannot_be_are_refused_in_a_sentence() {
    let model = warm_and_bonded();
    let whole = checkpoint(&model, 100);
    assert_eq!(go_on(&model, whole.clone()), Ok(true));
    let places = sections(&whole);
    let word = |section: &str, index: usize| {
        let start = places[section].start + 4 * index;
        u32::from_le_bytes(whole[start..start + 4].try_into().unwrap())
    };
    let last = |section: &str, size: usize| places[section].len() - size;
    let nan = f32::NAN.to_le_bytes();
    let number = |number: u32| number.to_le_bytes();
    let bodies = number((places["ids"].len() / 8) as u32);
    let heat = "a temperature that cannot be";
    let bond = "a bond that cannot be";
    for damage in [
        ("ids", &[last("ids", 8)][..], [0; 4], "numbers do not rise"),
        (
            "places",
            &[4, 12, 20],
            u32::MAX.to_le_bytes(),
            "at no place",
        ),
        ("body_heat", &[0, 4, 8, 12], nan, heat),
        ("body_heat", &[0, 16], (-1e-3_f32).to_le_bytes(), heat),
        (
            "bonds",
            &[0, 20, 44, 48, 64, 84, 104, 108, 116, 124],
            nan,
            bond,
        ),
        (
            "bonds",
            &[128, 132, 136, 140, 148, 176, 180, 184, 188],
            nan,
            bond,
        ),
        ("bonds", &[12, 28], bodies, bond),
        ("bonds", &[76], number(2), bond),
        // Broken by nothing that is known, and broken without ever having broken.
        ("bonds", &[92], number(3), bond),
        ("bonds", &[92], number(1), bond),
        ("bonds", &[160], number(1 << 30), bond),
        (
            "bonds",
            &[172],
            number(12),
            "a bond that the scene does not have",
        ),
        (
            "bonds",
            &[last("bonds", 208) + 28],
            number(2),
            "bonds out of their order",
        ),
        ("body_bonds", &[0, 4, 8], nan, "an account of bonds"),
        (
            "actions",
            &[last("actions", 96)],
            nan,
            "an applied force that cannot be",
        ),
        ("actions", &[60], number(2), "the scene does not have"),
    ] {
        is_refused(&model, &whole, &damage);
    }
    // The list of the second ball of the grid: others in order, then the floor.
    let list = word("neighbour_starts", 3) as usize;
    let (first, second) = (word("neighbours", list), word("neighbours", list + 1));
    assert!(first < second && second < 11, "{first} {second}");
    let floor = word("neighbour_starts", 4) as usize - 1;
    assert_eq!(word("neighbours", floor), 1 << 31);
    for (at, found, said) in [
        (list, second, "neighbours of sphere 3 that cannot be"),
        (list + 1, first, "neighbours of sphere 3 that cannot be"),
        (floor, 0, "neighbours of sphere 3 that cannot be"),
        (floor, 1 << 31 | 1, "neighbours of sphere 3 that cannot be"),
        (list, 1 << 31, "neighbours of sphere 3 that cannot be"),
        (list, 3, "neighbours of sphere 3 that cannot be"),
        (floor, 10, "no neighbour of one of its neighbours"),
    ] {
        is_refused(
            &model,
            &whole,
            &("neighbours", &[4 * at], number(found), said),
        );
    }
}

/// The bytes of a checkpoint with another header and other sections.
fn rebuilt(bytes: &[u8], change: impl FnOnce(&mut Value, &mut Sections)) -> Vec<u8> {
    let length = u32::from_le_bytes(bytes[20..24].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[24..24 + length]).unwrap();
    let names = header["sections"].as_array().unwrap().iter();
    let places = sections(bytes);
    let mut parts: Sections = names
        .map(|section| section["name"].as_str().unwrap().to_owned())
        .map(|name| (name.clone(), bytes[places[&name].clone()].to_vec()))
        .collect();
    change(&mut header, &mut parts);
    let header = header.to_string();
    let mut other = bytes[..20].to_vec();
    other.extend((header.len() as u32).to_le_bytes());
    other.extend(header.as_bytes());
    let align = |bytes: &mut Vec<u8>| bytes.resize(bytes.len().next_multiple_of(16), 0);
    for (_, part) in parts {
        align(&mut other);
        other.extend(part);
    }
    align(&mut other);
    other.extend([0; 8]);
    rehash(&mut other);
    other
}

/// Names and bytes of the sections of a checkpoint, in their order.
type Sections = Vec<(String, Vec<u8>)>;

fn with_header(bytes: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    rebuilt(bytes, |header, _| change(header))
}

#[test]
fn a_checkpoint_with_sections_that_are_too_short_or_too_long_is_refused_in_a_sentence() {
    for model in [with_a_lid(), warm_and_bonded()] {
        let whole = checkpoint(&model, 100);
        for index in 0..sections(&whole).len() {
            for change in [-16, -4, 4, 16] {
                let mut name = String::new();
                let bytes = rebuilt(&whole, |header, parts| {
                    let (own, part) = &mut parts[index];
                    let length = part.len().saturating_add_signed(change);
                    part.resize(length, 0);
                    header["sections"][index]["bytes"] = json!(length);
                    own.clone_into(&mut name);
                });
                if bytes != whole {
                    let sentence = go_on(&model, bytes).expect_err(&name);
                    let told = sentence.contains("damaged.checkpoint: found");
                    assert!(told, "{name}, {change} bytes: {sentence}");
                }
            }
        }
    }
}

/// Without bodies there is nothing that could be wrong with them.
#[test]
fn a_checkpoint_without_bodies_goes_on() {
    let mut scene = heap();
    scene["fills"] = json!([]);
    scene["inlets"] = json!([{ "rate": 100, "start": 0.1, "shapes": { "ball": 1 },
                               "region": { "min": [-1, 1, -1], "max": [1, 2, 1] } }]);
    let model = parse(&scene).unwrap().model;
    assert_eq!(go_on(&model, checkpoint(&model, 5)), Ok(true));
}

#[test]
fn a_box_that_deforms_as_it_cannot_is_refused_in_a_sentence() {
    let shear =
        json!({ "y": { "strain_rate": -1 }, "shear": { "flow": "x", "gradient": "z", "rate": 9 } });
    let scene = balls(
        &[0.01],
        json!({
            "deform": shear,
            "domain": { "min": [0, 0, 0], "max": [1, 1, 1], "periodic": [true, true, true] },
            "bodies": [{ "shape": "ball 0", "position": [0.5, 0.5, 0.5] }],
        }),
    );
    let model = parse(&scene).unwrap().model;
    let whole = checkpoint(&model, 20);
    assert_eq!(go_on(&model, whole.clone()), Ok(true));
    for (place, value) in [
        ("", Value::Null),
        ("/sides/0", json!(0)),
        ("/sides/2", json!(-1)),
        ("/flow", json!(3)),
        ("/gradient", json!(3)),
        ("/step", json!(21)),
    ] {
        let bytes = with_header(&whole, |header| {
            let place = format!("/traffic/deformation{place}");
            *header.pointer_mut(&place).unwrap() = value.clone();
        });
        let sentence = go_on(&model, bytes).expect_err(place);
        let told = sentence.contains("a box that deforms as it cannot");
        assert!(told, "{place} {value}: {sentence}");
    }
}

#[test]
fn a_checkpoint_with_a_header_that_cannot_be_is_refused_in_a_sentence() {
    let model = with_a_lid();
    let whole = checkpoint(&model, 50);
    // Between the sections there are zeros.
    assert!(with_header(&whole, |_| ()) == whole);
    assert_eq!(go_on(&model, whole.clone()), Ok(true));
    let amount = json!([{ "bodies": 1, "mass": 1.0 }]);
    let residence = json!([{ "bodies": 0, "sum": 0.0, "squares": 0.0, "counts": {} }]);
    let passed = json!([{ "forward": amount[0], "backward": amount[0] }]);
    let flow = "inlets, outlets or probes";
    for (place, value, said) in [
        ("/time_step", json!(0.0), "a time step of 0 s"),
        ("/time_step", json!(-1.0), "a time step of -1 s"),
        ("/cell_size/2", json!(0.0), "cells of"),
        ("/cell_size/2", json!(1.0), "another grid"),
        ("/origin/1", json!(1.0), "another grid"),
        ("/history_size", json!(3), "histories of 3 elements"),
        ("/history_size", json!(1), "another grid"),
        ("/shapes/0/spheres", json!(0), "that cannot be"),
        ("/shapes/0/inertia/1", json!(0.0), "that cannot be"),
        ("/shapes/0/principal_axes/0", json!(1.5), "that cannot be"),
        ("/walls/0/facets", json!(i32::MAX), "walls with"),
        ("/traffic/next_id", json!(3), "whose numbers do not rise"),
        ("/traffic/inlets", amount.clone(), flow),
        ("/traffic/waiting", json!([0]), flow),
        ("/traffic/outlets", amount, flow),
        ("/traffic/residence", residence, flow),
        ("/traffic/passed", passed, flow),
        ("/traffic/worn", json!([[0.0]]), flow),
        ("/traffic/exploded", json!([true]), flow),
        ("/steps", json!(51), "sums over the run"),
        ("/sections/0/bytes", json!(0), "expected"),
        ("/layout", json!("0"), "found the buffers of"),
        ("/scene_hash", json!("0"), "found a state of the scene"),
    ] {
        let bytes = with_header(&whole, |header| match header.pointer_mut(place) {
            Some(field) => *field = value.clone(),
            None => header["traffic"][place.rsplit_once('/').unwrap().1] = value.clone(),
        });
        let sentence = go_on(&model, bytes).expect_err(place);
        assert!(sentence.contains(said), "{place} {value}: {sentence}");
    }
    // A shape and a group of which the scene knows nothing.
    let more = |list: &mut Value| {
        let own = list.as_array_mut().unwrap();
        own.push(own[0].clone());
    };
    let said = "other shapes or groups than those of the scene";
    let shapes = with_header(&whole, |header| more(&mut header["shapes"]));
    let mut groups = with_header(&whole, |header| more(&mut header["groups"]));
    let start = sections(&groups)["shape_of_body"].start;
    groups[start + 3] |= 1 << 2;
    rehash(&mut groups);
    for bytes in [shapes, groups] {
        let sentence = go_on(&model, bytes).unwrap_err();
        assert!(sentence.contains(said), "{sentence}");
    }
}

#[test]
fn no_damage_to_a_checkpoint_is_a_panic_or_a_number_that_is_none() {
    let text = busy().to_string();
    let model = scene::parse(&text, "busy.json".as_ref()).unwrap().model;
    let whole = checkpoint(&model, 900);
    let mut next = busy();
    for field in ["fills", "bodies", "springs"] {
        next.as_object_mut().unwrap().remove(field);
    }
    next["start"] = json!({ "from": "run.checkpoint" });
    let next = next.to_string();
    let start = |bytes: Vec<u8>| {
        let files = BTreeMap::from([(PathBuf::from("run.checkpoint"), bytes)]);
        let Ok(scene) = scene::parse_with(&next, "next.json".as_ref(), &files) else {
            return true;
        };
        let mut simulation = Simulation::on_cpu(scene.model, Some(1)).unwrap();
        simulation.step(1).is_err() || simulation.energy().unwrap().total().is_finite()
    };
    assert!(start(whole.clone()));
    let places = sections(&whole);
    let mut random = Random::new(20);
    let (mut refused, mut accepted) = (0, 0);
    for round in 0..400_u64 {
        let mut bytes = whole.clone();
        // Sections in turns: the long ones would have most of the hits. Their header comes once in a while.
        let place = match round % 8 {
            0 => 24..places.values().map(|place| place.start).min().unwrap(),
            _ => {
                let long = places.values().filter(|place| !place.is_empty());
                let all: Vec<_> = long.cloned().collect();
                all[random.below(all.len() as u64) as usize].clone()
            }
        };
        for _ in 0..=random.below(3) {
            let at = place.start + random.below(place.len() as u64) as usize;
            match random.below(3) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = random.below(256) as u8,
                _ => {
                    let start = at / 4 * 4;
                    let word = [f32::NAN, f32::INFINITY, 1e30, -1.0][random.below(4) as usize];
                    let end = (start + 4).min(place.end);
                    bytes[start..end].copy_from_slice(&word.to_le_bytes()[..end - start]);
                }
            }
        }
        rehash(&mut bytes);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            (go_on(&model, bytes.clone()), start(bytes.clone()))
        }));
        let Ok((outcome, started)) = outcome else {
            panic!("round {round}: a panic");
        };
        assert!(
            started,
            "round {round}: a run that starts from it has numbers that are none"
        );
        match outcome {
            Ok(finite) => {
                assert!(finite, "round {round}: numbers that are none");
                accepted += 1;
            }
            Err(sentence) => {
                assert!(sentence.contains("expected"), "round {round}: {sentence}");
                refused += 1;
            }
        }
    }
    // Most bytes are digits of numbers, and another number can be.
    assert!(
        refused > 100 && accepted > 20,
        "{refused} refused, {accepted} accepted"
    );
}

/// The count of steps that engines have is of 32 bits: runs go on over its end, and so does time.
#[test]
fn runs_go_on_after_four_thousand_million_steps() {
    let mut scene = heap();
    scene["contact"]["time_step"] = json!(1e-4);
    scene["bodies"] = json!([{ "shape": "ball", "position": [0, 3, 0] }]);
    scene["fills"] = json!([]);
    scene["planes"] = json!([]);
    // It turns 250 times and a quarter meanwhile.
    let speed = std::f64::consts::TAU / (1e-4 * (1_u64 << 32) as f64);
    scene["walls"] = json!([{ "box": { "size": [1, 1, 1] }, "material": "stone",
                              "motion": { "rotation": { "axis": [0, 1, 0], "speed": 250.25 * speed } } }]);
    let model = scene::parse(&scene.to_string(), "long.json".as_ref())
        .unwrap()
        .model;
    let late = u64::from(u32::MAX) - 5;
    let start = |model: &Model| Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    let mut simulation = start(&model);
    let mut state = simulation.state().unwrap().clone();
    state.stats[0].steps = late as u32;
    simulation.restore(&state, late).unwrap();
    simulation.step(16).unwrap();
    assert_eq!(simulation.steps(), late + 16);
    let time = simulation.time();
    assert!((time - 1e-4 * (late + 16) as f64).abs() < 1e-6);
    // The wall is where that time has it, and the ball has fallen for 16 steps.
    let pose = simulation.walls().unwrap()[0].moving.pose;
    let expected = model.walls[0].at(time).pose.orientation;
    assert!(
        pose.orientation.dot(expected).abs() > 1.0 - 1e-9,
        "{pose:?} {expected:?}"
    );
    let speed = simulation.bodies().unwrap()[0].velocity.y;
    assert!(
        (speed / (-9.81 * 16.0 * 1e-4) - 1.0).abs() < 0.01,
        "{speed}"
    );
    // A checkpoint from there goes on from there.
    let file = "late.checkpoint".as_ref();
    let bytes = simulation.checkpoint().unwrap();
    let mut again = start(&model);
    Checkpoint::decode(bytes, file)
        .unwrap()
        .restore(&mut again)
        .unwrap();
    for simulation in [&mut again, &mut simulation] {
        simulation.step(7).unwrap();
    }
    assert_eq!(again.walls().unwrap(), simulation.walls().unwrap());
    assert_eq!(again.summary().unwrap(), simulation.summary().unwrap());
}

/// Cancels the steps after step 9.
struct Impatient;

impl Observer for Impatient {
    fn next(&self, step: u64) -> u64 {
        if step < 9 { 9 } else { u64::MAX }
    }
    fn observe(&mut self, simulation: &mut Simulation) -> rockfall::error::Result<ControlFlow<()>> {
        simulation.canceller().cancel();
        Ok(ControlFlow::Continue(()))
    }
}

/// Notes each tenth step.
struct Tens(Vec<u64>);

impl Observer for Tens {
    fn next(&self, step: u64) -> u64 {
        (step / 10 + 1) * 10
    }
    fn observe(&mut self, simulation: &mut Simulation) -> rockfall::error::Result<ControlFlow<()>> {
        self.0.push(simulation.steps());
        Ok(ControlFlow::Continue(()))
    }
}

#[test]
fn who_is_due_at_the_step_that_is_cancelled_still_looks_at_it() {
    let model = scene::parse(&heap().to_string(), "heap.json".as_ref())
        .unwrap()
        .model;
    let mut simulation = Simulation::on_cpu(model, Some(1)).unwrap();
    let mut tens = Tens(Vec::new());
    let error = simulation
        .run(100, &mut [&mut Impatient, &mut tens])
        .unwrap_err();
    assert!(matches!(error, Error::Cancelled { step: 10 }), "{error}");
    assert_eq!(tens.0, [10]);
    let _ = simulation.run(30, &mut [&mut tens]).unwrap();
    assert_eq!(tens.0, [10, 20, 30]);
}

/// A scene of one material, with balls of some radii.
fn balls(radii: &[f64], more: Value) -> Value {
    let mut scene = json!({
        "version": 1, "duration": 0.1,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 100, "time_step": 2e-5 },
        "materials": { "stone": { "density": 2500, "restitution": 0.1, "friction": 0.5 } },
        "shapes": {},
    });
    for (index, radius) in radii.iter().enumerate() {
        let shape = json!({ "sphere": { "radius": radius }, "material": "stone" });
        scene["shapes"][format!("ball {index}")] = shape;
    }
    for (field, value) in more.as_object().unwrap() {
        scene[field] = value.clone();
    }
    scene
}

fn parse(scene: &Value) -> Result<scene::Scene, String> {
    scene::parse(&scene.to_string(), "scene.json".as_ref()).map_err(|error| error.to_string())
}

/// One scene on both engines.
fn on_both(scene: &Value, check: impl Fn(Simulation, &str)) {
    let model = parse(scene).unwrap().model;
    check(Simulation::on_cpu(model.clone(), Some(1)).unwrap(), "cpu");
    check(
        Simulation::on_gpu(model, crate::common::device()).unwrap(),
        "gpu",
    );
}

#[test]
fn a_grain_lies_on_a_ball_ten_thousand_times_as_large() {
    let bodies = json!({ "bodies": [
        { "shape": "ball 0", "position": [0, -10, 0], "fixed": true },
        { "shape": "ball 1", "position": [0, 0.0011, 0] },
        { "shape": "ball 1", "position": [0.1, 0.0006, 0] },
    ] });
    on_both(
        &balls(&[10.0, 0.001], bodies.clone()),
        |mut simulation, engine| {
            simulation.step(1200).unwrap();
            let heights: Vec<f64> = simulation
                .bodies()
                .unwrap()
                .iter()
                .skip(1)
                .map(|body| (body.position - glam::DVec3::new(0.0, -10.0, 0.0)).length() - 10.0)
                .collect();
            let lies = |height: &f64| (height - 0.001).abs() < 5e-5;
            assert!(heights.iter().all(lies), "{engine}: {heights:?}");
            assert_eq!(simulation.summary().unwrap().contacts, 2, "{engine}");
        },
    );
    let sentence = parse(&balls(&[20.1, 0.001], bodies)).unwrap_err();
    assert!(
        sentence.contains("expected at most 10000 times, for single precision"),
        "{sentence}"
    );
}

#[test]
fn a_floor_of_rectangles_goes_on_over_the_seam() {
    let scene = |size: [f64; 2]| {
        balls(
            &[0.01],
            json!({
                "gravity": [0, -9.81, 0],
                "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1000, "time_step": 1e-4 },
                "materials": { "stone": { "density": 2500, "restitution": 0.1, "friction": 0 } },
                "domain": { "min": [0, 0, 0], "max": [0.2, 1, 1], "periodic": [true, false, false] },
                "walls": [{ "rectangle": { "size": size }, "position": [0.15, 0, 0], "material": "stone" }],
                "bodies": [{ "shape": "ball 0", "position": [0.1, 0.00998, 0], "velocity": [1, 0, 0] }],
            }),
        )
    };
    let weight = 9.81 * 2500.0 * 4.0 / 3.0 * std::f64::consts::PI * 1e-6;
    for length in [0.4, 0.5] {
        on_both(&scene([length, 0.1]), |mut simulation, engine| {
            simulation.step(500).unwrap();
            for _ in 0..60 {
                simulation.step(50).unwrap();
                let body = simulation.bodies().unwrap()[0].clone();
                assert!((body.position.y - 0.01).abs() < 2e-4, "{engine}: {body:?}");
                assert!((body.velocity.x - 1.0).abs() < 1e-4, "{engine}: {body:?}");
                let load = simulation.snapshot().unwrap().wall_loads()[0];
                assert!(
                    (load.force.y / -weight - 1.0).abs() < 0.05,
                    "{engine}: {load:?}"
                );
            }
        });
    }
    // One that is long across the seam's axis, and short along it.
    parse(&scene([0.05, 50.0])).unwrap();
    let sentence = parse(&scene([0.19, 0.1])).unwrap_err();
    assert!(
        sentence.contains("such as a rectangle twice as long"),
        "{sentence}"
    );
}

/// Scenes that ask for too much, or for next to nothing: the table of docs/book/src/reliability.md.
#[test]
fn abuse_is_refused_in_a_sentence() {
    let ball = |x: f64| json!({ "shape": "ball 0", "position": [x, 1, 0] });
    let rod = json!({ "rod": { "rod": { "n": 10, "radius": 0.05 }, "material": "stone" } });
    let stepped = |time_step: f64| {
        json!({ "contact": { "normal": "hooke", "tangential": "history", "stiffness": 100, "time_step": time_step },
                "bodies": [ball(0.0)], "planes": [{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" }] })
    };
    let too_long = "contact.time_step: found 1 s, expected at most ";
    let refused = parse(&balls(&[0.01], stepped(1.0))).unwrap_err();
    let longest = refused.split_once(too_long).unwrap().1;
    let longest: f64 = longest.split_once(" s,").unwrap().0.parse().unwrap();
    parse(&balls(&[0.01], stepped(0.99 * longest))).unwrap();
    for (what, more, said) in [
        (
            "no body",
            json!({ "bodies": [] }),
            "expected at least one body",
        ),
        (
            "everything at one point",
            json!({ "bodies": [ball(0.0), ball(0.0), ball(0.0)] }),
            "found an overlap of 0.02 m (200 % of the smaller radius)",
        ),
        (
            "a time step ten times too large",
            stepped(10.0 * longest),
            "beyond which the contact of stone on stone is unstable",
        ),
        (
            "a body larger than its box",
            json!({ "shapes": rod, "bodies": [{ "shape": "rod", "position": [0, 0, 0] }],
                    "domain": { "min": [0, 0, 0], "max": [0.3, 1, 1], "periodic": [true, false, false] } }),
            "twice the width of the largest body",
        ),
        (
            "more bodies than there can be",
            json!({ "fills": [{ "count": 1_000_000_000_000_000_000_u64, "shapes": { "ball 0": 1 },
                                "region": { "min": [0, 0, 0], "max": [1, 1, 1] } }] }),
            "fills[0].count",
        ),
    ] {
        let sentence = parse(&balls(&[0.01], more)).expect_err(what);
        assert!(sentence.contains(said), "{what}: {sentence}");
    }
}

#[test]
fn abuse_that_can_be_is_right_on_both_engines() {
    let plain = json!({ "contact": { "normal": "hooke", "tangential": "history", "stiffness": 100, "time_step": 1e-4 } });
    let with = |more: Value| {
        let mut all = plain.clone();
        for (field, value) in more.as_object().unwrap() {
            all[field] = value.clone();
        }
        balls(&[0.01], all)
    };
    // One body falls, and without gravity two stay where they are.
    let one = json!({ "bodies": [{ "shape": "ball 0", "position": [0, 0, 0] }] });
    on_both(&with(one), |mut simulation, engine| {
        simulation.step(200).unwrap();
        let speed = simulation.bodies().unwrap()[0].velocity.y;
        assert!(
            (speed / (-9.81 * 0.02) - 1.0).abs() < 1e-4,
            "{engine}: {speed}"
        );
    });
    let still = json!({ "gravity": [0, 0, 0], "bodies": [
        { "shape": "ball 0", "position": [0, 0, 0] }, { "shape": "ball 0", "position": [0.03, 0, 0] } ] });
    on_both(&with(still), |mut simulation, engine| {
        simulation.step(200).unwrap();
        let summary = simulation.summary().unwrap();
        assert_eq!(
            (summary.kinetic_energy, summary.contacts),
            (0.0, 0),
            "{engine}"
        );
    });
    // A ball of a gram and less meets one of masses over 12 orders: momentum is kept, and the light one turns back.
    let stone = |density: f64| json!({ "density": density, "restitution": 1, "friction": 0 });
    let ball = |material: &str| json!({ "sphere": { "radius": 0.01 }, "material": material });
    let masses = json!({
        "gravity": [0, 0, 0],
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 0.1, "time_step": 1e-5 },
        "materials": { "stone": stone(2500.0), "heavy": stone(1e9), "light": stone(1e-3) },
        "shapes": { "heavy": ball("heavy"), "light": ball("light") },
        "bodies": [
            { "shape": "heavy", "position": [0, 0, 0] },
            { "shape": "light", "position": [0.0201, 0, 0], "velocity": [-1, 0, 0] },
        ],
    });
    on_both(&with(masses), |mut simulation, engine| {
        simulation.step(120).unwrap();
        let bodies = simulation.bodies().unwrap();
        let light = bodies[1].velocity.x;
        assert!((light - 1.0).abs() < 0.02, "{engine}: {light} m/s");
        assert!(
            bodies[0].velocity.length() < 1e-11,
            "{engine}: {:?}",
            bodies[0].velocity
        );
    });
}

#[test]
fn what_would_take_forever_is_said_at_once() {
    let fill = |min: f64| {
        json!({
            "planes": [{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" }],
            "fills": [{ "count": 40, "shapes": { "ball 0": 1 },
                        "region": { "min": [-5e4, min, -5e4], "max": [5e4, 5e4, 5e4] } }],
        })
    };
    let sentence = parse(&balls(&[0.01], fill(-5e4))).unwrap_err();
    assert!(
        sentence.contains("fills[0].region") && sentence.contains("inside or behind walls"),
        "{sentence}"
    );
    let scene = parse(&balls(&[0.01], fill(0.0))).unwrap();
    assert_eq!(scene.model.bodies.len(), 40);
    let mesh =
        json!({ "file": crate::common::own("tests/data/tetrahedron.obj"), "tolerance": 1e-9 });
    let fitted = json!({ "shapes": { "rock": { "mesh": mesh, "material": "stone" } },
                         "bodies": [{ "shape": "rock", "position": [0, 0, 0] }] });
    let sentence = parse(&balls(&[], fitted)).unwrap_err();
    assert!(
        sentence.contains("shapes.rock.mesh.tolerance: found 1e-9 m, expected at least "),
        "{sentence}"
    );
    let bodies =
        json!({ "duration": 1e7, "bodies": [{ "shape": "ball 0", "position": [0, 0, 0] }] });
    let warnings = parse(&balls(&[0.01], bodies)).unwrap().warnings;
    assert!(
        warnings
            .iter()
            .any(|warning| warning.starts_with("duration: ")),
        "{warnings:?}"
    );
}

#[cfg(unix)]
mod processes {
    use std::fs;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::output::Place;

    fn start(place: &Place, arguments: &str) -> Child {
        place
            .command(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Waits for what the program does next.
    fn until(what: &str, is_so: impl Fn() -> bool) {
        let clock = Instant::now();
        while !is_so() {
            assert!(clock.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends several signals at once.
    fn send(child: &Child, signal: &str, times: usize) {
        let id = child.id().to_string();
        let line = vec![format!("kill -{signal} {id}"); times].join("; ");
        let mut sent = Command::new("sh");
        sent.args(["-c", &line]).stderr(Stdio::null());
        sent.status().unwrap();
    }

    fn said(child: Child, code: i32) -> String {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        said
    }

    #[test]
    fn the_final_state_has_what_contacts_do_to_each_body() {
        let place = Place::with(&heap());
        let told = place.command("run scene.json --backend cpu --quiet --state end.json");
        let output = { told }.output().unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{output:?}"
        );
        let state = place.json("end.json");
        let bodies = state["bodies"].as_array().unwrap();
        let weight: f64 = bodies
            .iter()
            .map(|body| 9.81 * body["mass"].as_f64().unwrap())
            .sum();
        let held: f64 = bodies
            .iter()
            .map(|body| body["contact_force"][1].as_f64().unwrap())
            .sum();
        assert!(
            (0.3..3.0).contains(&(held / weight)),
            "{held} N of {weight} N"
        );
        // And the planes bear it, as the summary says.
        let summary = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = summary
            .lines()
            .filter(|line| line.starts_with("planes["))
            .collect();
        assert_eq!(lines.len(), 2, "{summary}");
        assert!(
            lines.iter().all(|line| line.ends_with(" N on it")),
            "{summary}"
        );
    }

    #[cfg(all(target_os = "linux", feature = "view"))]
    #[test]
    fn without_a_display_the_window_says_so_in_a_sentence() {
        let place = Place::with(&heap());
        let mut command = place.command("view scene.json");
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"] {
            command.env_remove(name);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("no window can be opened: "), "{said}");
        assert!(
            !said.contains(".rs") && !said.contains("panicked"),
            "{said}"
        );
    }

    #[test]
    fn a_scene_reads_no_files_of_others() {
        let mut scene = heap();
        scene["walls"] = json!([{ "mesh": { "file": "../secret.obj" }, "material": "stone" }]);
        let place = Place::with(&json!({}));
        fs::create_dir(place.0.path().join("scenes")).unwrap();
        place.write("scenes/scene.json", &scene);
        let tetrahedron =
            "v 0 -9 0\nv 1 -9 0\nv 0 -8 0\nv 0 -9 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
        fs::write(place.0.path().join("secret.obj"), tetrahedron).unwrap();
        let said = place.fails(2, "check scenes/scene.json");
        assert!(
            said.contains("walls[0].mesh.file") && said.contains("--allow-outside"),
            "{said}"
        );
        assert!(!said.contains("-9"), "{said}");
        place.run("check scenes/scene.json --allow-outside");
    }

    fn long() -> Value {
        let mut scene = heap();
        scene["duration"] = json!(60.0);
        scene
    }

    #[test]
    fn several_requests_to_stop_at_once_leave_a_checkpoint() {
        let place = Place::with(&long());
        for (round, signal) in ["TERM", "INT", "HUP", "TERM", "TERM", "TERM"]
            .iter()
            .enumerate()
        {
            let name = format!("run{round}");
            let child = start(
                &place,
                &format!("run scene.json --backend cpu --threads 1 --out {name}"),
            );
            let folder = place.0.path().join(&name);
            until("it starts", || folder.join("bodies.pvd").exists());
            send(&child, signal, 2 + round % 3);
            let said = said(child, 130);
            let file = folder.join("run.checkpoint");
            let step = Checkpoint::read(&file).unwrap().header.steps;
            assert!(
                said.contains(&format!("stopped at step {step} of")),
                "{said}"
            );
            assert!(said.contains("stopping after this step"), "{said}");
            assert_eq!(place.json(&format!("{name}/run.json"))["status"], "stopped");
            // Whoever goes on ends as if nothing had happened.
            if round == 0 {
                place.run(&format!("run --resume {name} --steps {}", step + 20));
            }
        }
    }

    #[test]
    fn a_folder_takes_one_run_at_a_time_and_says_so_at_once() {
        let place = Place::with(&long());
        let mut child = start(&place, "run scene.json --backend cpu --threads 1 --out run");
        let lock = place.0.path().join("run/run.lock");
        until("it starts", || lock.exists());
        let refused = place.fails(2, "run --resume run");
        assert!(
            refused.contains("the folder run is in use by another run"),
            "{refused}"
        );
        // It did not wait for the other one to end.
        assert_eq!(child.try_wait().unwrap(), None);
        send(&child, "TERM", 1);
        said(child, 130);
        let step = place.json("run/run.json")["parts"][0]["to_step"]
            .as_u64()
            .unwrap();
        place.run(&format!("run --resume run --steps {}", step + 10));
        // Who is killed leaves no lock. The run is to last: it was resumed for a few steps.
        let mut child = start(&place, "run --resume run --duration 60");
        until("it goes on", || {
            place.json("run/run.json")["status"] == "running"
        });
        child.kill().unwrap();
        child.wait().unwrap();
        let step = Checkpoint::read(&place.0.path().join("run/run.checkpoint")).unwrap();
        place.run(&format!(
            "run --resume run --steps {}",
            step.header.steps + 5
        ));
        fs::remove_file(lock).unwrap();
        place.run(&format!(
            "run --resume run --steps {}",
            step.header.steps + 9
        ));
    }
}
