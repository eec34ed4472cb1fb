//! Checkpoints: going on as if nothing had happened, and errors of files that are not whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{fs, io};

use crate::common::{crowd, crowd_with_history, device, own, periodic_crowd, walled_crowd};
use glam::DVec3;
use rockfall::model::{Law, Model};
use rockfall::simulation::checkpoint::{Checkpoint, Storage};
use rockfall::{Simulation, scene};
use serde_json::{Value, json};
use tempfile::TempDir;

type Start = fn(&Model) -> Simulation;

const ENGINES: [(&str, Start); 2] = [
    ("cpu", |model| {
        Simulation::on_cpu(model.clone(), Some(2)).unwrap()
    }),
    ("gpu", |model| {
        Simulation::on_gpu(model.clone(), device()).unwrap()
    }),
];

/// All that adds up over a run, bit for bit.
fn outcome(simulation: &mut Simulation) -> (u64, u64, String, Vec<String>) {
    let steps = simulation.steps();
    let snapshot = simulation.snapshot().unwrap();
    let summary = snapshot.summary();
    (
        steps,
        summary.state_hash,
        // What was dissipated, with what rounding has left out, and where the walls are.
        format!(
            "{summary:?} {:?} {:?}",
            snapshot.energy(),
            snapshot.walls().collect::<Vec<_>>()
        ),
        snapshot
            .contacts()
            .map(|contact| format!("{contact:?}"))
            .collect(),
    )
}

/// A checkpoint of `model` after `steps` steps on the CPU.
fn checkpoint(model: &Model, steps: u64) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.checkpoint");
    let mut simulation = Simulation::on_cpu(model.clone(), Some(2)).unwrap();
    simulation.step(steps).unwrap();
    simulation.write_checkpoint(&path).unwrap();
    (folder, path)
}

/// The error of going on from a file.
fn refusal(model: &Model, path: &Path) -> String {
    let mut simulation = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    let sentence = simulation.read_checkpoint(path).unwrap_err().to_string();
    assert_eq!(simulation.steps(), 0, "the simulation is as it was");
    sentence
}

#[test]
fn a_run_that_goes_on_from_a_checkpoint_is_identical() {
    let of = |law| crowd_with_history(law, 400, DVec3::splat(-7.0), 3);
    let models = [
        crowd(400, DVec3::ZERO, 1),
        of(Law::HookeHistory),
        of(Law::HertzMindlin),
        periodic_crowd(400, DVec3::splat(2.0), 5, [true, false, true]),
        walled_crowd(Law::HookeHistory, 200, DVec3::splat(5.0), 2),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.checkpoint");
    for model in models {
        for (engine, start) in ENGINES {
            let mut whole = start(&model);
            whole.step(70).unwrap();
            whole.write_checkpoint(&path).unwrap();
            whole.step(50).unwrap();

            let mut again = start(&model);
            again.step(3).unwrap();
            again.read_checkpoint(&path).unwrap();
            assert_eq!(again.steps(), 70);
            let moving = again.walls().unwrap();
            again.step(50).unwrap();
            let moves = model.walls.iter().any(|wall| wall.motion.is_some());
            assert_eq!(again.walls().unwrap() != moving, moves, "{engine}");
            let (found, expected) = (outcome(&mut again), outcome(&mut whole));
            assert_eq!(found.2, expected.2, "{engine}, {}", model.name);
            assert!(found == expected, "{engine}, {}", model.name);
            again.step(1).unwrap();
            assert!(outcome(&mut again) != outcome(&mut whole), "{engine}");
        }
    }
}

#[test]
fn a_custom_law_goes_on_too() {
    let model = scene::load(&own("scenes/custom_law.json")).unwrap().model;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.checkpoint");
    let mut whole = Simulation::on_gpu(model.clone(), device()).unwrap();
    whole.step(40).unwrap();
    whole.write_checkpoint(&path).unwrap();
    whole.step(40).unwrap();
    let mut again = Simulation::on_gpu(model, device()).unwrap();
    again.read_checkpoint(&path).unwrap();
    again.step(40).unwrap();
    assert!(outcome(&mut again) == outcome(&mut whole));
}

#[test]
fn a_checkpoint_that_is_not_whole_is_an_error_wherever_it_ends() {
    let model = crowd(20, DVec3::ZERO, 1);
    let (_folder, path) = checkpoint(&model, 5);
    let whole = fs::read(&path).unwrap();
    let mut lengths: Vec<usize> = (0..whole.len()).step_by(211).collect();
    lengths.extend([1, 15, 16, 17, 23, 24, 25, whole.len() - 1]);
    for length in lengths {
        fs::write(&path, &whole[..length]).unwrap();
        let sentence = refusal(&model, &path);
        let expected = ["without the rest", "of another kind"];
        assert!(
            expected.iter().any(|part| sentence.contains(part)),
            "{length}: {sentence}"
        );
        assert!(sentence.contains("state.checkpoint"), "{sentence}");
    }
    let mut longer = whole.clone();
    longer.push(0);
    fs::write(&path, &longer).unwrap();
    assert!(refusal(&model, &path).contains("1 bytes after its end"));
    for at in (24..whole.len()).step_by(97) {
        let mut wrong = whole.clone();
        wrong[at] ^= 4;
        fs::write(&path, &wrong).unwrap();
        let sentence = refusal(&model, &path);
        assert!(sentence.contains("expected"), "{at}: {sentence}");
    }
    fs::write(&path, &whole).unwrap();
    Checkpoint::read(&path).unwrap();
}

/// Bytes of a checkpoint on a disk that may be taken away, and the most of them that were read at a time.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    pub bytes: Arc<Vec<u8>>,
    pub is_gone: Arc<AtomicBool>,
    pub most: Arc<AtomicUsize>,
}

impl Disk {
    pub fn of(simulation: &mut Simulation) -> Disk {
        Disk {
            bytes: simulation.checkpoint().unwrap().into(),
            ..Disk::default()
        }
    }

    pub fn open(&self) -> Checkpoint {
        Checkpoint::open(Box::new(self.clone()), "disk".as_ref()).unwrap()
    }
}

impl Storage for Disk {
    fn length(&self) -> u64 {
        self.bytes.length()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.most.fetch_max(into.len(), Ordering::Relaxed);
        match self.is_gone.load(Ordering::Relaxed) {
            true => Err(io::Error::other("no disk")),
            false => self.bytes.read_at(offset, into),
        }
    }
}

#[test]
fn a_checkpoint_is_read_part_by_part() {
    let model = crowd(60_000, DVec3::ZERO, 3);
    let mut first = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    first.step(1).unwrap();
    let disk = Disk::of(&mut first);
    let checkpoint = disk.open();
    // Of the largest section there are some 5 MB, in pieces of 2^14 elements; the hash is made of pieces of 1 MiB.
    let most = disk.most.load(Ordering::Relaxed);
    assert!(
        most < disk.bytes.len() / 8,
        "{most} of {}",
        disk.bytes.len()
    );
    let mut second = Simulation::on_cpu(model, Some(1)).unwrap();
    checkpoint.restore(&mut second).unwrap();
    assert!(second.checkpoint().unwrap() == *disk.bytes);
}

#[test]
fn a_checkpoint_that_cannot_be_read_any_more_says_so() {
    let model = crowd(20, DVec3::ZERO, 1);
    let mut first = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    first.step(3).unwrap();
    let disk = Disk::of(&mut first);
    let checkpoint = disk.open();
    disk.is_gone.store(true, Ordering::Relaxed);
    let mut second = Simulation::on_cpu(model, Some(1)).unwrap();
    let error = checkpoint.restore(&mut second).unwrap_err().to_string();
    assert!(
        error.contains("disk") && error.contains("cannot be read (no disk)"),
        "{error}"
    );
    let error = Checkpoint::open(Box::new(disk), "disk".as_ref()).unwrap_err();
    assert!(
        error.to_string().contains("cannot be read (no disk)"),
        "{error}"
    );
}

#[test]
fn a_checkpoint_of_another_version_says_so() {
    let model = crowd(20, DVec3::ZERO, 1);
    let (_folder, path) = checkpoint(&model, 5);
    let whole = fs::read(&path).unwrap();
    let layout = Checkpoint::read(&path).unwrap().header.layout;
    let mut other = whole.clone();
    other[16] = 1;
    fs::write(&path, &other).unwrap();
    let sentence = refusal(&model, &path);
    assert!(
        sentence.contains("found version 1 of the format, expected 3"),
        "{sentence}"
    );

    // Other buffers: the layout's hash is another one.
    let at = whole
        .windows(16)
        .position(|bytes| bytes == layout.as_bytes())
        .unwrap();
    let mut other = whole.clone();
    other[at..at + 16].copy_from_slice(b"0123456789abcdef");
    let end = other.len() - 8;
    let hash = rockfall::simulation::checkpoint::hash(&other[..end]);
    other[end..].copy_from_slice(&hash.to_le_bytes());
    fs::write(&path, &other).unwrap();
    let sentence = refusal(&model, &path);
    assert!(
        sentence.contains("the buffers of Rockfall") && sentence.contains("0123456789abcdef"),
        "{sentence}"
    );
}

#[test]
fn a_checkpoint_of_another_scene_says_so() {
    let model = crowd(20, DVec3::ZERO, 1);
    let (_folder, path) = checkpoint(&model, 5);
    let mut others = vec![crowd(20, DVec3::ZERO, 2)];
    let mut other = model.clone();
    other.time_step *= 1.0 + 1e-15;
    others.push(other);
    let mut other = model.clone();
    other.bodies[3].velocity.x += 1e-12;
    others.push(other);
    let mut other = model.clone();
    other.pairs[2].friction += 0.01;
    others.push(other);
    for other in others {
        let sentence = refusal(&other, &path);
        assert!(
            sentence.contains("found a state of the scene"),
            "{sentence}"
        );
    }
    // A name and a duration decide nothing.
    let mut same = model;
    same.name = "another name".into();
    same.duration *= 2.0;
    let mut simulation = Simulation::on_cpu(same, Some(1)).unwrap();
    simulation.read_checkpoint(&path).unwrap();
    assert_eq!(simulation.steps(), 5);
}

#[test]
fn no_file_and_other_files_are_errors() {
    let model = crowd(20, DVec3::ZERO, 1);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nothing");
    assert!(refusal(&model, &path).contains("no such file"));
    fs::write(&path, "{\"version\": 1}").unwrap();
    assert!(refusal(&model, &path).contains("of another kind"));
}

/// A ball of a group in a corner, one that is fixed and turns, a club, and a ball on a tilted plate of two triangles.
fn on_walls() -> Value {
    let quarter = std::f64::consts::FRAC_PI_2;
    json!({
        "version": 1, "gravity": [0, -9.81, 0],
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 1e-4 },
        "materials": { "m": { "density": 2000, "restitution": 0.3, "friction": 0.5 } },
        "groups": { "unused": {}, "red": {} },
        "shapes": {
            "ball": { "sphere": { "radius": 0.1 }, "material": "m" },
            "club": { "spheres": [ { "center": [0.1, 0, 0], "radius": 0.1 },
                                   { "center": [0.2, 0.2, 0.1], "radius": 0.05 } ], "material": "m" },
        },
        "domain": { "min": [-3, -3, -3], "max": [9, 9, 9], "periodic": [false, false, true] },
        "planes": [ { "point": [1, 2, 0], "normal": [0, 1, 0], "material": "m" } ],
        "walls": [
            { "mesh": { "file": "square.obj" }, "material": "m", "position": [4, 3, 3], "axis": [0, 0, 1], "angle": 0.5 },
            { "rectangle": { "size": [1, 1] }, "material": "m", "position": [1.0999, 2.3, 0],
              "axis": [0, 0, 1], "angle": quarter },
            { "rectangle": { "size": [1, 1] }, "material": "m", "position": [1, 2.3, 0.0999],
              "axis": [1, 0, 0], "angle": quarter },
        ],
        "probes": [ { "face": { "min": [-1, 2, -1], "max": [1, 2, 1] } } ],
        "look_every": { "steps": 7 },
        "bodies": [
            { "shape": "ball", "position": [1, 2.0999, 0], "group": "red" },
            { "shape": "ball", "position": [7, 7, 7], "kinematic": true, "angular_velocity": [0, 2, 0] },
            { "shape": "club", "position": [1, 5, 1], "axis": [0, 1, 0], "angle": 1.0, "velocity": [1, 0, 2],
              "angular_velocity": [0.5, 1, 0.3] },
            { "shape": "ball", "position": [3.68883, 2.94384, 3.2] },
            { "shape": "ball", "position": [5, 7, 7] },
        ],
    })
}

fn parse(text: &Value, bytes: &[u8]) -> Result<Model, String> {
    let square = "v -1 0 -1\nv 1 0 -1\nv 1 0 1\nv -1 0 1\nf 1 3 2\nf 1 4 3\n";
    let files = BTreeMap::from([
        (PathBuf::from("a.checkpoint"), bytes.to_vec()),
        (PathBuf::from("square.obj"), square.as_bytes().to_vec()),
    ]);
    let scene = scene::parse_with(&text.to_string(), "next.json".as_ref(), &files);
    Ok(scene.map_err(|error| error.to_string())?.model)
}

/// [`on_walls`] after some steps, its checkpoint, and a scene that starts from that.
fn started() -> (Simulation, Vec<u8>, Value) {
    let first = parse(&on_walls(), &[]).unwrap();
    let mut simulation = Simulation::on_cpu(first, Some(1)).unwrap();
    simulation.step(20).unwrap();
    let bytes = simulation.checkpoint().unwrap();
    let mut next = on_walls();
    next["start"] = json!({ "from": "a.checkpoint" });
    next.as_object_mut().unwrap().remove("bodies");
    (simulation, bytes, next)
}

/// Places of all spheres, m.
fn places(simulation: &mut Simulation) -> Vec<DVec3> {
    let state = simulation.state().unwrap();
    let spheres = state.spheres.iter();
    spheres.map(|sphere| state.place(sphere)).collect()
}

#[test]
fn a_scene_starts_with_the_bodies_of_a_checkpoint() {
    let (mut simulation, bytes, next) = started();
    // The spheres that were there are where they were, though the club has one more and another centre of mass.
    let mut clubbed = next.clone();
    let more = json!({ "center": [0.4, 0.4, 0.1], "radius": 0.1 });
    let club = clubbed["shapes"]["club"]["spheres"].as_array_mut();
    club.unwrap().push(more);
    for (text, count) in [(&next, 6), (&clubbed, 7)] {
        let mut again = Simulation::on_cpu(parse(text, &bytes).unwrap(), Some(1)).unwrap();
        let was = simulation.bodies().unwrap();
        for (a, b) in was.iter().zip(again.bodies().unwrap()) {
            assert_eq!((a.shape, a.fixed), (b.shape, b.fixed));
            assert!((a.angular_velocity - b.angular_velocity).length() < 1e-5);
            assert!(count > 6 || (a.velocity - b.velocity).length() < 1e-9);
        }
        let groups = again.model().bodies.iter().map(|body| body.group);
        assert_eq!(groups.collect::<Vec<_>>(), [2, 0, 0, 0, 0]);
        again.step(1).unwrap();
        let (was_at, mut is_at) = (places(&mut simulation), places(&mut again));
        assert_eq!(is_at.len(), count);
        is_at.drain(4..count - 2);
        for (a, b) in was_at.iter().zip(&is_at) {
            // Those of the run are where they were a step ago.
            assert!(a.distance(*b) < 1e-3, "{was_at:?} {is_at:?}");
        }
    }
    // A group without bodies need not be there any more.
    let mut fewer = next.clone();
    fewer["groups"] = json!({ "red": {} });
    assert_eq!(parse(&fewer, &bytes).unwrap().bodies[0].group, 1);
    fewer["groups"] = json!({ "unused": {} });
    let said = parse(&fewer, &bytes).unwrap_err();
    assert!(said.contains("found bodies in the group \"red\""), "{said}");

    // A run that goes on has them, too.
    let mut again = Simulation::on_cpu(parse(&on_walls(), &[]).unwrap(), Some(1)).unwrap();
    let file = "a.checkpoint".as_ref();
    let checkpoint = Checkpoint::decode(bytes, file).unwrap();
    checkpoint.restore(&mut again).unwrap();
    for simulation in [&mut again, &mut simulation] {
        simulation.step(1).unwrap();
    }
    let [again, whole] = [again, simulation].map(|mut own| own.state().unwrap().clone());
    assert_eq!(again.identities, whole.identities);
    assert_eq!(again.bodies, whole.bodies);
}

/// Contacts with walls go on where the new scene has the same wall at the same place.
#[test]
fn a_scene_starts_with_the_contacts_of_a_checkpoint() {
    let (_, bytes, next) = started();
    let known = |change: &dyn Fn(&mut Value)| {
        let mut text = next.clone();
        change(&mut text);
        let history = parse(&text, &bytes).unwrap().history.unwrap();
        let facets = history.entries.iter().filter(|entry| **entry >= 1 << 31);
        facets.map(|entry| entry & !(1 << 31)).collect::<Vec<u32>>()
    };
    // The plane and two plates at the first ball, the second triangle at another.
    assert_eq!(known(&|_| ()), [0, 3, 4, 2]);
    let swapped = known(&|text| text["walls"].as_array_mut().unwrap().swap(1, 2));
    assert_eq!(swapped, [0, 3, 4, 2]);
    // A plane is the same anywhere along itself, a plate is not.
    let along = known(&|text| text["planes"][0]["point"] = json!([5, 2, 1]));
    assert_eq!(along, [0, 3, 4, 2]);
    for y in [1.999, 2.001] {
        let off = known(&|text| text["planes"][0]["point"][1] = json!(y));
        assert_eq!(off, [3, 4, 2]);
    }
    for position in [[4.001, 3.0, 3.0], [4.0, 2.999, 3.0], [4.0, 3.0, 3.001]] {
        let off = known(&|text| text["walls"][0]["position"] = json!(position));
        assert_eq!(off, [0, 3, 4]);
    }
    let turned = known(&|text| text["walls"][0]["angle"] = json!(0.501));
    assert_eq!(turned, [0, 3, 4]);
    let larger = known(&|text| text["walls"][0]["mesh"]["scale"] = json!(1.1));
    assert_eq!(larger, [0, 3, 4]);
    // It is where its motion begins.
    let moving = json!({ "velocity": [1, 0, 0] });
    let moves = known(&|text| text["walls"][0]["motion"] = moving.clone());
    assert_eq!(moves, [0, 3, 4, 2]);
    // Facets are counted anew.
    assert_eq!(known(&|text| text["planes"] = json!([])), [2, 3, 1]);
    let between =
        json!({ "mesh": { "file": "square.obj" }, "material": "m", "position": [-1, -1, -1] });
    let one_more = |text: &mut Value| {
        let walls = text["walls"].as_array_mut().unwrap();
        walls.insert(0, between.clone());
    };
    assert_eq!(known(&one_more), [0, 5, 6, 4]);

    let mut viscous = on_walls();
    viscous["contact"]["tangential"] = json!("viscous");
    let mut simulation = Simulation::on_cpu(parse(&viscous, &[]).unwrap(), Some(1)).unwrap();
    simulation.step(20).unwrap();
    let bytes = simulation.checkpoint().unwrap();
    assert!(parse(&next, &bytes).unwrap().history.is_none());
}
