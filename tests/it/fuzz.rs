//! Damaged input, at random from a seed: whatever reads it refuses it in a sentence or takes it, and never panics.
//!
//! The ordinary tests try thousands, the long ones a million of each, and `cargo xtask fuzz --minutes N` as
//! many as fit into the time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::common::Random;
use crate::parsers::{self, KEPT, TIED};
use serde_json::Value;

/// Something that reads input.
struct Target {
    name: &'static str,
    /// Inputs that the ordinary test tries.
    few: u64,
    /// Reads the input that a seed gives; whether it was taken, or the sentence with which it was refused.
    read: fn(&mut Random) -> Result<(), String>,
}

/// Inputs that the long test tries of each.
const MANY: u64 = 1_000_000;

/// Makes the list of targets, and a test of each with [`MANY`] inputs.
macro_rules! targets {
    ($($test:ident: $name:literal, $few:literal, $read:ident;)*) => {
        const TARGETS: [Target; [$($few),*].len()] =
            [$(Target { name: $name, few: $few, read: $read }),*];

        mod damaged_input_by_the_million {
            use super::*;

            $(
                #[test]
                #[ignore = "a million inputs: minutes in release mode, an hour of two cores for laws"]
                fn $test() {
                    try_many(&Target { name: $name, few: $few, read: super::$read });
                }
            )*
        }
    };
}

targets! {
    scenes: "scenes", 600, scene_text;
    scenes_byte_by_byte: "scenes, byte by byte", 600, scene_bytes;
    obj: "OBJ", 1500, obj;
    stl: "STL", 1500, stl;
    laws: "laws", 60, law;
    checkpoints: "checkpoints", 1000, checkpoint;
    states: "states as NPZ", 400, npz;
}

/// Tries the inputs with the numbers `first` and so on; returns how many were taken.
fn try_some(target: &Target, numbers: impl Iterator<Item = u64>) -> u64 {
    let mut taken = 0;
    for number in numbers {
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.read)(&mut Random::new(number))));
        match outcome {
            Ok(Ok(())) => taken += 1,
            Ok(Err(sentence)) => assert!(
                sentence.len() > 10 && sentence.len() < 20_000,
                "{}, number {number}: refused without a sentence: {sentence}",
                target.name
            ),
            Err(_) => panic!("{}, number {number}: a panic", target.name),
        }
    }
    taken
}

#[test]
fn damaged_input_is_refused_or_taken() {
    for target in &TARGETS {
        let taken = try_some(target, 0..target.few);
        // Neither all nor none: then it would be no test.
        assert!(
            taken > 0 && taken < target.few,
            "{}: {taken} of {} taken",
            target.name,
            target.few
        );
    }
}

/// Tries those of the [`MANY`] inputs that the ordinary test leaves, on all cores.
fn try_many(target: &Target) {
    let clock = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let taken: u64 = std::thread::scope(|scope| {
        let start = |first: u64| {
            scope.spawn(move || try_some(target, (target.few + first..MANY).step_by(threads)))
        };
        let all: Vec<_> = (0..threads as u64).map(start).collect();
        let ends = all.into_iter().map(|thread| thread.join());
        ends.map(|taken| taken.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .sum()
    });
    println!(
        "{}: {MANY} inputs with those of the ordinary test, {taken} of them taken, in {:.0?}",
        target.name,
        clock.elapsed()
    );
}

#[test]
#[ignore = "as long as one likes: `cargo xtask fuzz --minutes N`"]
fn damaged_input_for_minutes() {
    let minutes = std::env::var("ROCKFALL_FUZZ_MINUTES").ok();
    let minutes: f64 = minutes.and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let share = Duration::from_secs_f64(60.0 * minutes / TARGETS.len() as f64);
    for target in &TARGETS {
        let clock = Instant::now();
        let (mut next, mut taken) = (target.few, 0);
        let mut slowest = Duration::ZERO;
        while clock.elapsed() < share {
            let before = clock.elapsed();
            taken += try_some(target, next..next + 1);
            slowest = slowest.max(clock.elapsed() - before);
            next += 1;
        }
        println!(
            "{}: {} inputs, {taken} of them taken, the slowest in {slowest:.1?}",
            target.name,
            next - target.few
        );
    }
}

/// One of some.
fn one<'a, T: ?Sized>(random: &mut Random, some: &[&'a T]) -> &'a T {
    some[random.below(some.len() as u64) as usize]
}

/// Changes some bytes: flips, other values, parts left out, parts twice.
fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len() as u64) as usize;
        let end = (at + random.below(20) as usize).min(bytes.len());
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.below(256) as u8,
            2 => drop(bytes.drain(at..end)),
            3 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            4 => bytes.truncate(at),
            _ => {
                let words = [
                    "1e999",
                    "-1",
                    "0",
                    "NaN",
                    "1e18",
                    "4294967296",
                    "\0",
                    "\u{feff}",
                    "//",
                ];
                let word = words[random.below(words.len() as u64) as usize];
                bytes.splice(at..end, word.bytes());
            }
        }
    }
}

/// Scenes that have all fields, or many bodies of few.
const SCENES: [&str; 4] = [
    include_str!("../data/everything.json"),
    include_str!("../../scenes/bounce.json"),
    include_str!("../../scenes/periodic.json"),
    include_str!("../../scenes/springs.json"),
];

/// A scene with some of its values changed.
fn scene_text(random: &mut Random) -> Result<(), String> {
    let mut scene: Value = serde_json::from_str(one(random, &SCENES)).expect("a scene is JSON");
    // Few bodies, so that many scenes can be tried.
    for fill in scene["fills"].as_array_mut().into_iter().flatten() {
        fill["count"] = 20.into();
    }
    for _ in 0..=random.below(3) {
        change(random, &mut scene);
    }
    parsers::scene(scene.to_string().as_bytes())
}

/// Changes one value somewhere in a tree.
fn change(random: &mut Random, value: &mut Value) {
    let inside = random.below(8) > 0;
    match value {
        Value::Object(fields) if inside && !fields.is_empty() => {
            let at = random.below(fields.len() as u64) as usize;
            let key = fields.keys().nth(at).cloned().unwrap_or_default();
            if random.below(12) == 0 {
                let own = fields.remove(&key).unwrap_or_default();
                if random.below(2) == 0 {
                    fields.insert(format!("{key}x"), own);
                }
            } else {
                change(random, &mut fields[&key]);
            }
        }
        Value::Array(items) if inside && !items.is_empty() => {
            let at = random.below(items.len() as u64) as usize;
            match random.below(12) {
                0 => drop(items.remove(at)),
                1 => items.insert(at, items[at].clone()),
                _ => change(random, &mut items[at]),
            }
        }
        _ => {
            let numbers = [
                0.0,
                -1.0,
                1e-300,
                1e300,
                -1e300,
                1e18,
                1e-9,
                0.5,
                3.0,
                4_294_967_296.0,
                1e9,
            ];
            *value = match random.below(8) {
                0 => Value::Null,
                1 => Value::Bool(true),
                2 => Value::String("\u{1f4a5}".to_owned()),
                3 => Value::Array(Vec::new()),
                4 => serde_json::json!({}),
                _ => match value.as_f64() {
                    Some(number) if random.below(2) == 0 => {
                        serde_json::json!(number * random.range(-3.0, 3.0))
                    }
                    _ => serde_json::json!(numbers[random.below(numbers.len() as u64) as usize]),
                },
            };
        }
    }
}

/// A scene with some of its bytes changed.
fn scene_bytes(random: &mut Random) -> Result<(), String> {
    let mut bytes = one(random, &SCENES[1..]).as_bytes().to_vec();
    mutate(random, &mut bytes);
    parsers::scene(&bytes)
}

fn obj(random: &mut Random) -> Result<(), String> {
    let meshes = [
        include_str!("../data/tetrahedron.obj"),
        include_str!("../data/open.obj"),
        "v 0 0 0 1\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nf 1//1 -2//1 3//1 4//1\n# end\n",
    ];
    let mut bytes = one(random, &meshes).as_bytes().to_vec();
    mutate(random, &mut bytes);
    parsers::obj(&bytes)
}

fn stl(random: &mut Random) -> Result<(), String> {
    let text = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n\
                endfacet\nendsolid a\n";
    let mut bytes = match random.below(2) {
        0 => text.as_bytes().to_vec(),
        _ => {
            let mut bytes = vec![0; 80];
            bytes.extend(4_u32.to_le_bytes());
            for corner in 0..4_u8 {
                bytes.extend([0; 12]);
                for number in 0..9_u8 {
                    bytes.extend(f32::from(number % (corner + 2)).to_le_bytes());
                }
                bytes.extend([0; 2]);
            }
            bytes
        }
    };
    mutate(random, &mut bytes);
    parsers::stl(&bytes)
}

fn law(random: &mut Random) -> Result<(), String> {
    let mut bytes = include_bytes!("../data/law.wgsl").to_vec();
    if random.below(4) > 0 {
        mutate(random, &mut bytes);
    }
    parsers::law(&bytes)
}

/// A checkpoint with some of its bytes changed, and most of the time with the hash that goes with them.
fn checkpoint(random: &mut Random) -> Result<(), String> {
    let mut bytes = TIED.1.clone();
    match random.below(4) {
        0 => mutate(random, &mut bytes),
        _ => {
            for _ in 0..=random.below(3) {
                let at = random.below((bytes.len() / 4) as u64) as usize * 4;
                let word = match random.below(4) {
                    0 => f32::NAN.to_bits(),
                    1 => random.below(1 << 32) as u32,
                    2 => random.below(40) as u32,
                    _ => 1e30_f32.to_bits(),
                };
                bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
            }
        }
    }
    if random.below(8) > 0 {
        parsers::rehash(&mut bytes);
    }
    parsers::checkpoint(bytes)
}

/// A state of bodies, as NPZ, with some of its bytes changed.
fn npz(random: &mut Random) -> Result<(), String> {
    let mut bytes = KEPT.1.clone();
    mutate(random, &mut bytes);
    parsers::npz(&bytes)
}
