//! The numbers that are kept, `benches/results/isa`, and what has become worse since.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::radv::Statistics;

/// Figures of the compiler about a pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pipe {
    /// Threads of a wave.
    pub threads: u64,
    /// Waves that a SIMD unit can have at a time: its registers and memory are enough for so many.
    pub waves: u64,
    /// Vector registers.
    pub vgprs: u64,
    /// Scalar registers.
    pub sgprs: u64,
    /// Registers that did not fit and are in memory.
    pub spilled: u64,
    /// Memory of a wave besides, bytes.
    pub scratch: u64,
    /// Memory of a workgroup, bytes.
    pub lds: u64,
    pub instructions: u64,
    pub branches: u64,
    /// Bytes.
    pub code: u64,
    /// Cycles from the start of a wave to its end, as the compiler guesses: loops are taken eight times.
    pub latency: u64,
    /// Cycles that a SIMD unit takes for a wave, on average of as many as it can have at a time.
    pub cycles: u64,
}

/// The pipelines of a family of GPUs by name.
pub type Family = BTreeMap<String, Pipe>;

/// Contents of the kept file.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Name and version of the driver.
    pub driver: String,
    pub families: BTreeMap<String, Family>,
}

impl Pipe {
    /// From what the driver says.
    ///
    /// # Errors
    /// If it does not say all of it.
    pub fn of(statistics: &Statistics) -> Result<Pipe, String> {
        let number = |wanted: &str| {
            let found = statistics.iter().find(|(name, _)| name == wanted);
            let found = found.map(|(_, value)| *value);
            found.ok_or_else(|| format!("the driver has no statistic \"{wanted}\""))
        };
        Ok(Pipe {
            threads: number("Threads of a wave")?,
            waves: number("Subgroups per SIMD")?,
            vgprs: number("VGPRs")?,
            sgprs: number("Pre-Sched SGPRs").or_else(|_| number("SGPRs"))?,
            spilled: number("Spilled SGPRs")? + number("Spilled VGPRs")?,
            scratch: number("Scratch size")?,
            lds: number("LDS size")?,
            instructions: number("Instructions")?,
            branches: number("Branches")?,
            code: number("Code size")?,
            latency: number("Latency")?,
            cycles: number("Inverse Throughput")?,
        })
    }

    /// Its columns in a table.
    fn columns(&self) -> [(&'static str, u64); 11] {
        [
            ("waves", self.waves),
            ("VGPRs", self.vgprs),
            ("SGPRs", self.sgprs),
            ("spilled", self.spilled),
            ("scratch", self.scratch),
            ("LDS", self.lds),
            ("instructions", self.instructions),
            ("branches", self.branches),
            ("code", self.code),
            ("latency", self.latency),
            ("cycles", self.cycles),
        ]
    }
}

fn folder() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.join("../../benches/results/isa")
}

impl Kept {
    /// # Errors
    /// With a sentence, if nothing is kept.
    pub fn read() -> Result<Kept, String> {
        let path = folder().join("passes.json");
        let wrong = |error: String| {
            format!(
                "{}: {error}; `cargo xtask isa --write` makes it",
                path.display()
            )
        };
        let text = fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
    }

    /// # Errors
    /// With a sentence, if the folder cannot be written to.
    pub fn write(&self) -> Result<(), String> {
        let folder = folder();
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(&folder).map_err(failed)?;
        let json = serde_json::to_string_pretty(self).map_err(|error| error.to_string())? + "\n";
        fs::write(folder.join("passes.json"), json).map_err(failed)?;
        let words = format!(
            "What {} makes of the compute pipelines of a step, without a GPU; `cargo xtask isa --write` writes it.\n\n\
             Waves are those that a SIMD unit can have at a time, counted as the driver does: on RDNA (navi, gfx11) a wave of 64\n\
             threads counts twice, so 32 are all. Latency and cycles of a wave are the compiler's guesses, with eight rounds of\n\
             each loop; bytes of scratch, LDS and code.\n\n",
            self.driver
        );
        fs::write(folder.join("passes.txt"), words + &self.table(None)).map_err(failed)
    }

    /// A table for each family; with numbers of `before` where they were others.
    pub fn table(&self, before: Option<&Kept>) -> String {
        let mut text = String::new();
        for (name, family) in &self.families {
            let mut rows = vec![vec![name.clone()]];
            rows[0].extend(
                Pipe::default()
                    .columns()
                    .map(|(column, _)| column.to_owned()),
            );
            for (pipe, numbers) in family {
                let before = before.and_then(|kept| kept.families.get(name)?.get(pipe));
                let mut row = vec![pipe.clone()];
                let old = before.unwrap_or(numbers).columns();
                row.extend(
                    numbers
                        .columns()
                        .into_iter()
                        .zip(old)
                        .map(|((_, now), (_, old))| match now == old {
                            true => now.to_string(),
                            false => format!("{old} -> {now}"),
                        }),
                );
                rows.push(row);
            }
            let widths: Vec<usize> = (0..rows[0].len())
                .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
                .collect();
            for row in rows {
                let mut line = format!("{:1$}", row[0], widths[0]);
                for (cell, width) in row.iter().zip(&widths).skip(1) {
                    let _ = write!(line, "  {cell:>width$}");
                }
                text += line.trim_end();
                text += "\n";
            }
            text += "\n";
        }
        text
    }

    /// Figures that are worse in `found` than in the kept file.
    pub fn worse(&self, found: &Kept) -> Vec<String> {
        let mut sentences = Vec::new();
        for (family, pipes) in &found.families {
            for (name, now) in pipes {
                let Some(before) = self.families.get(family).and_then(|kept| kept.get(name)) else {
                    sentences.push(format!("{family}, {name}: it is not in what is kept"));
                    continue;
                };
                let mut said = |what: &str, before: u64, now: u64| {
                    sentences.push(format!("{family}, {name}: {now} {what}, {before} before"));
                };
                if now.spilled > before.spilled {
                    said("registers are spilled", before.spilled, now.spilled);
                }
                if now.scratch > before.scratch {
                    said("bytes of scratch memory", before.scratch, now.scratch);
                }
                if now.waves < before.waves {
                    said("waves at a time", before.waves, now.waves);
                }
            }
        }
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(pipe: Pipe) -> Kept {
        let family = Family::from([("contacts".to_owned(), pipe)]);
        Kept {
            driver: String::new(),
            families: BTreeMap::from([("navi21".to_owned(), family)]),
        }
    }

    #[test]
    fn spills_and_lost_waves_are_worse_and_other_numbers_are_not() {
        let pipe = Pipe {
            waves: 10,
            ..Pipe::default()
        };
        let before = kept(pipe);
        let worse = |now: Pipe| before.worse(&kept(now)).join("\n");
        assert_eq!(
            worse(Pipe {
                instructions: 9,
                ..pipe
            }),
            ""
        );
        let lost = worse(Pipe { waves: 9, ..pipe });
        assert_eq!(lost, "navi21, contacts: 9 waves at a time, 10 before");
        assert!(worse(Pipe { spilled: 1, ..pipe }).contains("1 registers are spilled"));
        assert!(worse(Pipe { scratch: 4, ..pipe }).contains("4 bytes of scratch"));
        let empty = Kept::default();
        assert!(empty.worse(&before)[0].contains("not in what is kept"));
    }

    #[test]
    fn a_table_has_what_a_number_was() {
        let pipe = Pipe::default();
        let now = kept(Pipe { vgprs: 64, ..pipe });
        let table = now.table(Some(&kept(Pipe { vgprs: 88, ..pipe })));
        assert!(table.contains("88 -> 64"), "{table}");
    }
}
