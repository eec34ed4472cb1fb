//! The memory that a scene needs on the host and that is available, to refuse a scene before the system kills the
//! process.

use std::fs;
use std::path::Path;

use crate::model::Model;
use crate::model::error::{Error, Result, gigabytes};
use crate::state::history_size;

/// Bytes of a body in the CPU engine, besides those of its spheres, from dense packings of balls and of cubes of eight, while lists are
/// built.
const BODY: u64 = 350;
/// Bytes of a sphere in the CPU engine, without its contact history.
const SPHERE: u64 = 300;
/// Bytes of a sphere in the CPU engine for each element of the history of its contacts.
const HISTORY: u64 = 100;
/// Bytes of a bond in the CPU engine: both ends above all.
const BOND: u64 = 550;
/// Part of these bytes that a scene takes while its bodies are far apart, and lists are short.
const LEAST: f64 = 0.5;
/// Bytes of a sphere while a scene is made ready.
pub(crate) const PREPARED: u64 = 300;
/// Bytes of a sphere while bodies are placed at random. Then a scene keeps two bytes a body.
pub(crate) const SEARCHED: u64 = 80;
/// Bytes of a sphere while bodies are packed: they are there twice, with their neighbours.
pub(crate) const PACKED: u64 = 800;
/// Spheres of a process: in a dense pile a list has some 10 entries, in few others 28, and all of them are counted with 32 bits.
const MOST: u64 = 150_000_000;
/// Scenes of fewer spheres are not checked.
pub(crate) const FEW: u64 = 100_000;

/// Approximate bytes that the CPU engine needs for a model whose bodies come to lie densely.
fn needed(model: &Model, spheres: u64) -> u64 {
    let sphere = SPHERE + HISTORY * u64::from(history_size(model));
    BODY * model.bodies.len() as u64 + sphere * spheres + BOND * model.bonds.len() as u64
}

/// Refuses a model that needs more memory in the CPU engine than this machine has, which steps so many parts of so many that are
/// alike, and warns if it will when its bodies come to lie densely.
pub(super) fn check(model: &Model, [here, parts]: [usize; 2]) -> Result<()> {
    let spheres = model.sphere_count() as u64;
    if spheres < FEW {
        return Ok(());
    }
    is_counted(model, parts)?;
    let needed = needed(model, spheres) / parts as u64 * here as u64;
    if let Some(sentence) = fits(spheres, needed, available())? {
        tracing::warn!("{sentence}");
    }
    Ok(())
}

/// Refuses so many spheres that one of these processes could not count what they touch.
pub(super) fn is_counted(model: &Model, processes: usize) -> Result<()> {
    can_count(model.sphere_count() as u64, processes)
}

fn can_count(spheres: u64, processes: usize) -> Result<()> {
    match spheres / processes as u64 > MOST {
        true => Err(Error::TooMany {
            spheres,
            processes,
            most: MOST,
        }),
        false => Ok(()),
    }
}

/// Refuses what needs more than is available, if that is known. Returns a warning of what may do so later.
fn fits(spheres: u64, needed: u64, available: Option<u64>) -> Result<Option<String>> {
    let least = (LEAST * needed as f64) as u64;
    match available {
        Some(available) if least > available => Err(Error::NoMemory {
            spheres,
            needed: least,
            available,
        }),
        Some(available) if needed > available => Ok(Some(format!(
            "the scene has {spheres} spheres, which take about {} while they are far apart, but {} in a dense heap, and this machine \
             has {} left; use fewer bodies, a GPU, or a larger machine if they come to lie in one",
            gigabytes(least),
            gigabytes(needed),
            gigabytes(available)
        ))),
        _ => Ok(None),
    }
}

/// Bytes that this process can still allocate; `None` where the system does not report it.
pub(crate) fn available() -> Option<u64> {
    let reported = reported();
    match cfg!(target_pointer_width = "32") {
        // It has no addresses for more.
        true => Some(reported.unwrap_or(u64::MAX).min(isize::MAX as u64)),
        false => reported,
    }
}

/// Bytes that this machine and its control group have left, as far as the system says so.
fn reported() -> Option<u64> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let of_machine = of_machine(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let of_group = of_group("/sys/fs/cgroup".as_ref());
    Some(of_group.map_or(of_machine, |group| group.min(of_machine)))
}

/// Available bytes according to `/proc/meminfo`.
fn of_machine(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Bytes that the control group still allows, which is how containers limit memory.
fn of_group(folder: &Path) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let most: u64 = read("memory.max")?.trim().parse().ok()?;
    let used: u64 = read("memory.current")?.trim().parse().ok()?;
    // The system frees its cache of files when a process needs memory.
    let stat = read("memory.stat")?;
    let files = stat
        .lines()
        .find_map(|line| line.strip_prefix("inactive_file "));
    let files: u64 = files.and_then(|files| files.parse().ok()).unwrap_or(0);
    Some(most.saturating_sub(used.saturating_sub(files)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        let text = "MemTotal:       16384 kB\nMemAvailable:   12288 kB\nBuffers: 1 kB\n";
        assert_eq!(of_machine(text), Some(12_288 * 1024));
        assert_eq!(of_machine("MemTotal: 1 kB\n"), None);
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(of_group(folder.path()), None);
        write("memory.max", "1000\n");
        write("memory.current", "700\n");
        write("memory.stat", "anon 500\ninactive_file 100\n");
        assert_eq!(of_group(folder.path()), Some(400));
        write("memory.max", "max\n");
        assert_eq!(of_group(folder.path()), None);
    }

    /// A run takes no more than was estimated, and not much less.
    #[test]
    fn what_is_needed_is_what_a_run_takes() {
        let text = r#"{
            "version": 1,
            "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 1e-5 },
            "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
            "shapes": { "ball": { "sphere": { "radius": 0.01 }, "material": "stone" } },
            "bonds": [ { "between": ["stone", "stone"], "young_modulus": 1e7, "tensile_strength": 1e5 } ],
            "fills": [ { "count": 125000, "shapes": { "ball": 1 }, "placement": "grid", "spacing": 0.02,
                         "region": { "min": [0, 0, 0], "max": [1.01, 1.01, 1.01] } } ]
        }"#;
        let bonded = crate::scene::parse(text, "many.json".as_ref()).unwrap();
        let mut loose = bonded.model.clone();
        loose.bonds = Default::default();
        for (model, most) in [(loose, 800), (bonded.model, 2500)] {
            let needed = needed(&model, 125_000);
            let mut simulation = crate::Simulation::on_cpu(model, Some(2)).unwrap();
            simulation.step(2).unwrap();
            let taken = simulation.memory();
            assert!(
                (needed / 2..=needed).contains(&taken),
                "{taken} bytes, {needed} estimated"
            );
            assert!(needed / 125_000 < most, "{needed}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_numbers() {
        let gigabyte = 1_000_000_000;
        let refused = fits(5_000_000, 6 * gigabyte, Some(2 * gigabyte)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the scene has 5000000 spheres, which take 3.0 GB or more on the CPU engine, and this machine has 2.0 GB left; \
             use fewer bodies, a GPU, or a larger machine"
        );
        let warned = fits(5_000_000, 3 * gigabyte, Some(2 * gigabyte)).unwrap();
        assert_eq!(
            warned.unwrap(),
            "the scene has 5000000 spheres, which take about 1.5 GB while they are far apart, but 3.0 GB in a dense heap, and this \
             machine has 2.0 GB left; use fewer bodies, a GPU, or a larger machine if they come to lie in one"
        );
        for available in [Some(2 * gigabyte), None] {
            assert_eq!(fits(5_000_000, 2 * gigabyte, available).unwrap(), None);
        }
    }

    #[test]
    fn more_than_a_process_can_count_is_refused() {
        let refused = can_count(310_000_000, 2).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the scene has 310000000 spheres, which are 155000000 in each process, and one steps at most 150000000, since the \
             places in its neighbour lists are numbers of 32 bits; start more of them with mpirun, or use fewer bodies"
        );
        can_count(300_000_000, 2).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_some() {
        let available = available().unwrap();
        assert!((1 << 20..1 << 50).contains(&available), "{available}");
    }
}
