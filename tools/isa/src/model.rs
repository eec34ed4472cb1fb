//! A short model: whether memory or arithmetic binds a pass on a GPU, from the bytes of the layouts and the cycles of the
//! compiler.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::kept::Kept;

/// A GPU, by its maker's data sheet.
struct Gpu {
    name: &'static str,
    /// Whose compiled passes stand for it.
    family: &'static str,
    /// Of its memory, bytes/s.
    bandwidth: f64,
    /// Units of 32 lanes.
    units: f64,
    /// Boost clock, Hz.
    clock: f64,
}

const GPUS: [Gpu; 5] = [
    // 80 compute units of two units.
    Gpu {
        name: "RX 6900 XT",
        family: "navi21",
        bandwidth: 512e9,
        units: 160.0,
        clock: 2.25e9,
    },
    // 96 compute units of two units.
    Gpu {
        name: "RX 7900 XTX",
        family: "gfx1100",
        bandwidth: 960e9,
        units: 192.0,
        clock: 2.5e9,
    },
    // 16,384 lanes.
    Gpu {
        name: "RTX 4090",
        family: "navi21",
        bandwidth: 1008e9,
        units: 512.0,
        clock: 2.52e9,
    },
    // 132 multiprocessors of 128 lanes.
    Gpu {
        name: "H200",
        family: "navi21",
        bandwidth: 4800e9,
        units: 528.0,
        clock: 1.98e9,
    },
    // 12 compute units of two units, LPDDR5-6400 of 128 bits.
    Gpu {
        name: "Radeon 680M",
        family: "navi21",
        bandwidth: 102.4e9,
        units: 24.0,
        clock: 2.2e9,
    },
];

/// The passes with most bytes.
const PASSES: [&str; 2] = ["contacts", "integrate"];

/// Scenes of the bench, with the pipelines of these passes in most steps.
const SCENES: [(&str, [&str; 2]); 2] = [
    ("spheres_10k", ["contacts, balls", "integrate, plain"]),
    ("cubes_10k", ["contacts, clumps", "integrate, plain"]),
];

/// Their bytes, as `rockfall bench --roofline --json` counts them.
const BENCH: &str = "benches/results/isa/scenes.json";
const PAGE: &str = "docs/book/src/gpu.md";
const MARKS: [&str; 2] = [
    "<!-- model: `cargo xtask isa --write` -->\n",
    "<!-- end -->",
];

/// The tables of the model, in Markdown.
///
/// # Errors
/// With a sentence, if the results of the bench are not there.
pub fn table(kept: &Kept) -> Result<String, String> {
    let text = read(BENCH)?;
    let bench: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("{BENCH}: {error}"))?;
    let tables = SCENES.map(|(name, pipelines)| table_of(kept, &bench, name, pipelines));
    let tables: Result<Vec<String>, String> = tables.into_iter().collect();
    Ok(tables?.join("\n"))
}

fn table_of(
    kept: &Kept,
    bench: &serde_json::Value,
    name: &str,
    pipelines: [&str; 2],
) -> Result<String, String> {
    let scenes = bench["scenes"].as_array().into_iter().flatten();
    let scene = scenes
        .into_iter()
        .find(|scene| scene["scene"] == name)
        .ok_or_else(|| format!("{BENCH} has no scene {name}"))?;
    let count = |key: &str| scene[key].as_f64().unwrap_or(f64::NAN);
    let spheres = count("spheres");
    let passes = scene["roofline"]["passes"].as_array();
    let bytes = |name: &str| {
        let mut all = passes.into_iter().flatten();
        let own = all.find(|pass| pass["pass"] == name);
        own.and_then(|pass| pass["bytes"].as_f64())
            .map_or(f64::NAN, |bytes| bytes / spheres)
    };
    let whole = passes.into_iter().flatten();
    let whole: f64 = whole.filter_map(|pass| pass["bytes"].as_f64()).sum::<f64>() / spheres;

    let mut table = format!("| `{name}` |");
    for pass in PASSES {
        let _ = write!(table, " `{pass}`: {:.0} bytes |", bytes(pass));
    }
    let lines = "---|".repeat(PASSES.len() + 2);
    let _ = writeln!(table, " all passes: {whole:.0} bytes |\n|{lines}");
    for gpu in GPUS {
        let _ = write!(table, "| {} |", gpu.name);
        let mut whole_time = 1e12 * whole / gpu.bandwidth;
        for (pass, pipeline) in PASSES.into_iter().zip(pipelines) {
            let pipe = kept
                .families
                .get(gpu.family)
                .and_then(|all| all.get(pipeline));
            let pipe = pipe.ok_or_else(|| format!("{} has no {pipeline}", gpu.family))?;
            let memory = 1e12 * bytes(pass) / gpu.bandwidth;
            let threads = pipe.threads as f64 * gpu.units * gpu.clock;
            // One thread a body.
            let part = match pass {
                "integrate" => count("bodies") / spheres,
                _ => 1.0,
            };
            let arithmetic = part * 1e12 * pipe.cycles as f64 / threads;
            whole_time += (arithmetic - memory).max(0.0);
            let binds = match memory > arithmetic {
                true => "memory",
                false => "arithmetic",
            };
            let _ = write!(table, " {memory:.0} / {arithmetic:.0} ps, {binds} |");
        }
        let rate = 1e3 / whole_time;
        let _ = writeln!(table, " {rate:.1}e9 sphere-steps/s |");
    }
    Ok(table)
}

/// Puts the table where the page has it.
///
/// # Errors
/// With a sentence, if the page has no place for it.
pub fn write(kept: &Kept) -> Result<(), String> {
    let page = page_with(&read(PAGE)?, &table(kept)?)?;
    fs::write(path(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))
}

fn page_with(page: &str, table: &str) -> Result<String, String> {
    let [start, end] = MARKS;
    let missing = || format!("{PAGE} has no place for the model, between {start:?} and {end:?}");
    let (before, rest) = page.split_once(start).ok_or_else(missing)?;
    let (_, after) = rest.split_once(end).ok_or_else(missing)?;
    Ok(format!("{before}{start}\n{table}\n{end}{after}"))
}

fn path(of: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(of)
}

fn read(file: &str) -> Result<String, String> {
    fs::read_to_string(path(file)).map_err(|error| format!("{file}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_model_of_what_is_kept() {
        let page = read(PAGE).unwrap();
        let table = table(&Kept::read().unwrap()).unwrap();
        assert!(!table.contains("NaN"), "{table}");
        let wanted = page_with(&page, &table).unwrap();
        assert_eq!(page, wanted, "`cargo xtask isa --write` writes it");
    }
}
