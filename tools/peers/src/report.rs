//! Report of the measurements, as a table and as JSON.

use serde_json::{Value, json};

use crate::peer::{Peer, Visit, Workplace};
use crate::pile::Pile;

/// By how much contacts may differ from Rockfall's for the pile to count as the same; and under impulses, each solver of which
/// has a slop of its own, within which surfaces touch.
const SAME_CONTACTS: f64 = 0.05;
const SAME_CONTACTS_OF_IMPULSES: f64 = 0.25;

/// Kinetic energy, as a fraction of what it takes to lift each sphere by its radius, below which a
/// pile is at rest: as `rockfall bench` has it.
const AT_REST: f64 = 0.01;

/// A program and its turns.
pub struct Entry {
    pub name: String,
    pub visits: Vec<Visit>,
}

/// Figures of all programs; Rockfall is the first.
pub struct Report {
    pub scene: String,
    pub spheres: usize,
    pub rows: Vec<Row>,
    threads: usize,
    /// Steps that count in a speed: frames, under impulses, each of some steps of Rockfall.
    substeps: u64,
    steps: u64,
    warm_up: u64,
    /// Kinetic energy below which the pile is at rest, J.
    at_rest: f64,
    lammps_skin: f64,
    machine: Value,
    left_out: Vec<String>,
}

/// Figures of a program.
pub struct Row {
    pub name: String,
    version: String,
    /// Millions of sphere-steps/s, of each timed run.
    pub speed: Spread,
    /// Speed of Rockfall over that of this program, of each round.
    pub ratio: Spread,
    contacts: f64,
    kinetic_energy: f64,
    seconds: Vec<Vec<f64>>,
}

/// Median, extremes, and median absolute deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub mad: f64,
}

impl Entry {
    pub fn new(peer: &Peer) -> Entry {
        Entry {
            name: peer.name(),
            visits: Vec::new(),
        }
    }

    /// Median time of each round, s.
    fn rounds(&self) -> Vec<f64> {
        let visits = self.visits.iter();
        visits.map(|visit| median(&visit.seconds)).collect()
    }
}

impl Report {
    pub fn new(
        scene: &str,
        pile: &Pile,
        at: &Workplace,
        entries: Vec<Entry>,
        left_out: Vec<String>,
    ) -> Report {
        let spheres = pile.position.len();
        let lift = spheres as f64 * pile.mass * pile.gravity * pile.radius;
        let substeps = pile.substeps();
        let work = 1e-6 * spheres as f64 * (at.steps / substeps) as f64;
        let machine = entries
            .iter()
            .flat_map(|entry| &entry.visits)
            .find_map(|visit| visit.machine.clone());
        let ours = entries.first().map(Entry::rounds).unwrap_or_default();
        let row = |entry: Entry| {
            let ratios: Vec<f64> = ours
                .iter()
                .zip(entry.rounds())
                .map(|(our, their)| their / our)
                .collect();
            let seconds: Vec<Vec<f64>> = entry.visits.iter().map(|v| v.seconds.clone()).collect();
            let speeds: Vec<f64> = seconds.iter().flatten().map(|time| work / time).collect();
            let last = entry.visits.last()?;
            Some(Row {
                version: last.version.clone(),
                contacts: last.contacts,
                kinetic_energy: last.kinetic_energy,
                name: entry.name,
                speed: Spread::new(&speeds),
                ratio: Spread::new(&ratios),
                seconds,
            })
        };
        Report {
            scene: scene.to_owned(),
            spheres,
            rows: entries.into_iter().filter_map(row).collect(),
            threads: at.threads,
            substeps,
            steps: at.steps,
            warm_up: at.warm_up,
            at_rest: AT_REST * lift,
            lammps_skin: at.skin,
            machine: machine.unwrap_or(Value::Null),
            left_out,
        }
    }

    /// Unit of work of a step by a sphere.
    pub fn unit(&self) -> &'static str {
        match self.substeps {
            1 => "sphere-steps",
            _ => "sphere-frames",
        }
    }

    pub fn table(&self) -> String {
        let mut rows = vec![vec![
            "program".to_owned(),
            format!("million {}/s", self.unit()),
            "from".to_owned(),
            "to".to_owned(),
            "MAD".to_owned(),
            "Rockfall is faster by".to_owned(),
            "from".to_owned(),
            "to".to_owned(),
            "contacts".to_owned(),
            "kinetic energy, J".to_owned(),
        ]];
        rows.extend(self.rows.iter().map(|row| {
            let Row { speed, ratio, .. } = row;
            vec![
                format!("{} ({})", row.name, row.version),
                format!("{:.3}", speed.median),
                format!("{:.3}", speed.min),
                format!("{:.3}", speed.max),
                format!("{:.1} %", 100.0 * speed.mad / speed.median),
                format!("{:.2}", ratio.median),
                format!("{:.2}", ratio.min),
                format!("{:.2}", ratio.max),
                format!("{:.0}", row.contacts),
                format!("{:.2e}", row.kinetic_energy),
            ]
        }));
        let columns = 0..rows[0].len();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = columns.map(|column| width(column).unwrap_or(0)).collect();
        let mut text = format!(
            "{}: {} spheres, {} rounds of 3 x {} steps\n\n",
            self.scene,
            self.spheres,
            self.rows.first().map_or(0, |row| row.seconds.len()),
            self.steps
        );
        for row in &rows {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(|(column, (cell, &width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        for sentence in &self.left_out {
            text.push_str(&format!("\nleft out: {sentence}\n"));
        }
        text
    }

    pub fn json(&self) -> String {
        let rows = self.rows.iter().map(|row| {
            let speed = format!("million_{}_per_s", self.unit().replace('-', "_"));
            json!({
                "program": row.name,
                "version": row.version,
                (speed): row.speed.json(),
                "rockfall_is_faster_by": row.ratio.json(),
                "seconds_of_each_round": row.seconds,
                "contacts": row.contacts,
                "kinetic_energy_j": row.kinetic_energy,
            })
        });
        let report = json!({
            "machine": self.machine,
            "scene": self.scene,
            "spheres": self.spheres,
            "threads": self.threads,
            "warm_up_steps": self.warm_up,
            "steps": self.steps,
            "steps_of_a_frame": self.substeps,
            "lammps_skin_radii": self.lammps_skin,
            "programs": rows.collect::<Vec<_>>(),
            "left_out": self.left_out,
        });
        format!("{report:#}\n")
    }

    /// Name of the folder of this machine's results.
    pub fn folder(&self) -> String {
        let cpu = self.machine["cpu"].as_str().unwrap_or("unknown");
        folder(cpu, self.machine["cores"].as_u64().unwrap_or(0))
    }

    /// Whose pile is not a settled one like Rockfall's, if any, in a sentence.
    pub fn unlike(&self) -> Option<String> {
        let first = self.rows.first()?;
        let same = match self.substeps {
            1 => SAME_CONTACTS,
            _ => SAME_CONTACTS_OF_IMPULSES,
        };
        self.rows.iter().find_map(|row| {
            let Row {
                name,
                contacts,
                kinetic_energy,
                ..
            } = row;
            let off = (contacts / first.contacts - 1.0).abs();
            if off.is_nan() || off > same {
                Some(format!(
                    "{name} has {contacts:.0} contacts where Rockfall has {:.0}; the speeds are \
                     not those of the same work",
                    first.contacts
                ))
            } else if kinetic_energy.is_nan() || *kinetic_energy > self.at_rest {
                Some(format!(
                    "the pile of {name} has {kinetic_energy:.2e} J, and at rest it would have less \
                     than {:.2e} J; let it settle for longer with --settle",
                    self.at_rest
                ))
            } else {
                None
            }
        })
    }
}

impl Spread {
    fn new(values: &[f64]) -> Spread {
        let middle = median(values);
        let off: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
        Spread {
            median: middle,
            min: values.iter().copied().fold(f64::NAN, f64::min),
            max: values.iter().copied().fold(f64::NAN, f64::max),
            mad: median(&off),
        }
    }

    fn json(&self) -> Value {
        json!({ "median": self.median, "min": self.min, "max": self.max, "mad": self.mad })
    }
}

/// Numbers for people.
pub fn listed(values: &[f64]) -> String {
    let values = values.iter().map(|value| format!("{value:.3}"));
    values.collect::<Vec<_>>().join(", ")
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count if count.is_multiple_of(2) => 0.5 * (values[count / 2 - 1] + values[count / 2]),
        count => values[count / 2],
    }
}

/// The model of the CPU without its maker and what all have, and the number of cores.
fn folder(cpu: &str, cores: u64) -> String {
    const COMMON: [&str; 7] = [
        "intel",
        "amd",
        "core",
        "processor",
        "cpu",
        "virtual",
        "with",
    ];
    let cpu = cpu.to_lowercase().replace("(r)", " ").replace("(tm)", " ");
    let cpu = cpu.split('@').next().unwrap_or_default();
    let words = cpu
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty() && !COMMON.contains(word));
    let mut words: Vec<String> = words.map(str::to_owned).collect();
    words.push(format!("{cores}-cores"));
    words.join("-")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::pile;

    fn visit(seconds: [f64; 3], contacts: f64, kinetic_energy: f64) -> Visit {
        Visit {
            seconds: seconds.to_vec(),
            contacts,
            kinetic_energy,
            version: "1".to_owned(),
            machine: Some(json!({ "cpu": "Intel(R) Xeon(R) Processor", "cores": 2 })),
        }
    }

    fn report(contacts: f64, kinetic_energy: f64) -> Report {
        let pile = Pile {
            mass: 0.01,
            gravity: 9.81,
            position: vec![[0.0; 3]; 10_000],
            ..Pile::read(pile::tests::SCENE, pile::tests::STATE).unwrap()
        };
        let at = Workplace {
            rockfall: PathBuf::new(),
            lammps: PathBuf::new(),
            mpirun: PathBuf::new(),
            python: PathBuf::new(),
            rapier: PathBuf::new(),
            box3d: PathBuf::new(),
            decks: PathBuf::new(),
            folder: PathBuf::new(),
            scene: PathBuf::new(),
            adapter: None,
            threads: 2,
            settle: None,
            warm_up: 100,
            steps: 1000,
            skin: 0.1,
        };
        let entry = |name: &str, visits| Entry {
            name: name.to_owned(),
            visits,
        };
        // The machine is three times as slow in the second round, for both.
        let ours = vec![
            visit([1.0, 1.0, 9.0], 100.0, 1e-3),
            visit([3.0, 3.0, 3.0], 100.0, 1e-3),
        ];
        let theirs = vec![
            visit([2.0, 2.0, 2.0], contacts, kinetic_energy),
            visit([6.0, 6.0, 7.0], contacts, kinetic_energy),
        ];
        let entries = vec![entry("Rockfall", ours), entry("Other", theirs)];
        Report::new("pile", &pile, &at, entries, Vec::new())
    }

    #[test]
    fn a_slow_round_does_not_move_the_ratio() {
        let report = report(100.0, 1e-3);
        let ratio = report.rows[1].ratio;
        assert_eq!((ratio.median, ratio.min, ratio.max), (2.0, 2.0, 2.0));
        let speed = report.rows[1].speed;
        assert_eq!((speed.min, speed.max), (10.0 / 7.0, 5.0));
        assert_eq!(report.rows[0].ratio.median, 1.0);
    }

    #[test]
    fn another_pile_is_noticed() {
        assert_eq!(report(96.0, 1e-3).unlike(), None);
        assert!(
            report(90.0, 1e-3)
                .unlike()
                .unwrap()
                .contains("Other has 90")
        );
    }

    #[test]
    fn a_pile_in_motion_is_noticed() {
        // At rest is a hundredth of what lifts each sphere by its radius: 0.0981 J.
        assert_eq!(report(100.0, 0.09).unlike(), None);
        let sentence = report(100.0, 0.11).unlike().unwrap();
        assert!(
            sentence.contains("the pile of Other has 1.10e-1 J"),
            "{sentence}"
        );
    }

    #[test]
    fn a_machine_has_a_folder() {
        assert_eq!(report(100.0, 1e-3).folder(), "xeon-2-cores");
        let ryzen = "AMD Ryzen 9 7950X 16-Core Processor";
        assert_eq!(folder(ryzen, 32), "ryzen-9-7950x-16-32-cores");
        let core = "Intel(R) Core(TM) i7-9700K CPU @ 3.60GHz";
        assert_eq!(folder(core, 8), "i7-9700k-8-cores");
    }
}
