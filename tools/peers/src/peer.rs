//! The programs that are timed, each by itself: how to start it and what it says.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};

use crate::pile::{Law, Pile};
use crate::{read, write};

/// A program, and how it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Peer {
    /// Rockfall's engine, `cpu` or `gpu`.
    Rockfall { backend: &'static str },
    /// Rockfall's CPU engine on some MPI ranks, with one thread each.
    RockfallRanks { ranks: usize },
    /// LAMMPS, `pair_style gran/hooke/history`, on some MPI ranks.
    Lammps { ranks: usize },
    /// NVIDIA Warp, on its device of that name.
    Warp { device: String },
    /// Chrono's DEM-Engine, on a CUDA device.
    DemEngine { device: String },
    /// rapier, on some threads.
    Rapier { threads: usize },
    /// box3d, on some threads.
    Box3d { threads: usize },
}

/// Paths of the programs, and what they get.
pub struct Workplace {
    pub rockfall: PathBuf,
    pub lammps: PathBuf,
    pub mpirun: PathBuf,
    pub python: PathBuf,
    pub rapier: PathBuf,
    pub box3d: PathBuf,
    /// Folder of the decks.
    pub decks: PathBuf,
    /// Folder for what the programs read.
    pub folder: PathBuf,
    pub scene: PathBuf,
    /// The adapter of Rockfall's GPU engine, if it is not the best GPU.
    pub adapter: Option<String>,
    pub threads: usize,
    pub settle: Option<f64>,
    pub warm_up: u64,
    pub steps: u64,
    /// Skin of LAMMPS' neighbour lists, as a fraction of the radius.
    pub skin: f64,
}

/// Timed runs in a visit. `rockfall bench` reports the smallest, the median and the largest of its
/// repeats: of three, that is each of them.
const REPEATS: usize = 3;

/// Outcome of one visit to a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// Wall time of the timed steps, s: of each repeat.
    pub seconds: Vec<f64>,
    /// Contacts at the end: pairs of spheres, and spheres with planes.
    pub contacts: f64,
    /// J, at the end.
    pub kinetic_energy: f64,
    pub version: String,
    /// The machine, as `rockfall bench` describes it.
    pub machine: Option<Value>,
}

impl Peer {
    pub fn name(&self) -> String {
        match self {
            Peer::Rockfall { backend } => format!("Rockfall, {backend}"),
            Peer::RockfallRanks { ranks } => format!("Rockfall, {ranks} ranks"),
            Peer::Lammps { ranks: 1 } => "LAMMPS, 1 rank".to_owned(),
            Peer::Lammps { ranks } => format!("LAMMPS, {ranks} ranks"),
            Peer::Warp { device } => format!("Warp, {device}"),
            Peer::DemEngine { device } => format!("DEM-Engine, {device}"),
            Peer::Rapier { threads } => format!("rapier, {threads} threads"),
            Peer::Box3d { threads } => format!("box3d, {threads} threads"),
        }
    }

    /// Reason why the program cannot run here; `None` if it can.
    pub fn missing(&self, at: &Workplace) -> Option<String> {
        let (mut command, remedy) = match self {
            Peer::Rockfall { .. } => (with(&at.rockfall, &["--version"]), BUILD),
            Peer::RockfallRanks { .. } => {
                let mut command = on_ranks(at, 2);
                command.arg(&at.rockfall).arg("--version");
                (command, BUILD_MPI)
            }
            Peer::Lammps { ranks: 1 } => (with(&at.lammps, &["-h"]), LAMMPS),
            Peer::Lammps { .. } => (with(&at.mpirun, &["--version"]), MPI),
            Peer::Warp { device } => {
                let program = format!("import warp; warp.get_device({device:?})");
                (with(&at.python, &["-c", &program]), WARP)
            }
            Peer::DemEngine { .. } => {
                let program = "import deme; deme.DEMSolver([0])";
                (with(&at.python, &["-c", program]), DEM_ENGINE)
            }
            // They say nothing without a pile.
            Peer::Rapier { .. } => {
                return (!at.rapier.is_file()).then(|| format!("{}: {RAPIER}", self.name()));
            }
            Peer::Box3d { .. } => {
                return (!at.box3d.is_file()).then(|| format!("{}: {BOX3D}", self.name()));
            }
        };
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        let runs = quiet.status().is_ok_and(|status| status.success());
        (!runs).then(|| format!("{}: {remedy}", self.name()))
    }

    /// Runs the program and reads what it says.
    ///
    /// # Errors
    /// With a sentence, if it fails or says something else.
    pub fn visit(&self, at: &Workplace, pile: &Pile) -> Result<Visit, String> {
        let once = || match self {
            Peer::Rockfall { backend } => {
                let command = start(at, "bench", backend, &at.settled_scene());
                rockfall(
                    at,
                    &bench(at, command, Some(at.threads).filter(|_| *backend == "cpu"))?,
                )
            }
            Peer::RockfallRanks { ranks } => {
                let own = start(at, "bench", "cpu", &at.settled_scene());
                let mut command = on_ranks(at, *ranks);
                command.arg(own.get_program()).args(own.get_args());
                rockfall(at, &bench(at, command, Some(1))?)
            }
            Peer::Lammps { ranks } => lammps(&said(&mut lammps_command(at, pile, *ranks)?)?),
            Peer::Warp { device } => deck(&said(&mut python_command(at, "warp_dem.py", device))?),
            Peer::DemEngine { device } => {
                deck(&said(&mut python_command(at, "dem_engine.py", device))?)
            }
            Peer::Rapier { threads } => {
                deck(&said(&mut frames_command(at, &at.rapier, pile, *threads))?)
            }
            Peer::Box3d { threads } => {
                deck(&said(&mut frames_command(at, &at.box3d, pile, *threads))?)
            }
        };
        let mut visit = once()?;
        while visit.seconds.len() < REPEATS {
            visit.seconds.extend(once()?.seconds);
        }
        Ok(visit)
    }
}

const BUILD: &str = "build it with `cargo build --release`, or name it with --rockfall";
const BUILD_MPI: &str = "build it with `cargo build --release --features mpi`, or name such a build with --rockfall; it needs \
     `apt-get install openmpi-bin`";
const LAMMPS: &str = "`apt-get install lammps`, or name it with --lammps";
const MPI: &str = "`apt-get install openmpi-bin`, or name it with --mpirun";
const WARP: &str =
    "`pip install warp-lang numpy`, and name that Python with --python; it must see the device";
const DEM_ENGINE: &str = "`pip install deme[cuda12]` for Python 3.12, and name that Python with --python; \
     it must see a CUDA device";

const RAPIER: &str = "build it with `cargo build --release --manifest-path tools/peers/rapier/Cargo.toml --target-dir \
     target/rapier`, or name it with --rapier";
const BOX3D: &str = "tools/peers/README.md says how to build it; or name it with --box3d";

/// Output of a command that starts `rockfall bench --json`, on threads of the CPU if they are given.
fn bench(at: &Workplace, mut command: Command, threads: Option<usize>) -> Result<Value, String> {
    command.args(["--settle", "0", "--limit", "1e6"]);
    command.args(["--repeats", &REPEATS.to_string()]);
    command.args(["--steps", &at.steps.to_string()]);
    if let Some(threads) = threads {
        command.args(["--threads", &threads.to_string()]);
    }
    let text = said(&mut command)?;
    serde_json::from_str(&text).map_err(|error| format!("`rockfall bench --json` said: {error}"))
}

/// Folder of the run in which the pile settles.
const SETTLED: &str = "settled";

impl Workplace {
    /// The scene that starts from the settled pile.
    fn settled_scene(&self) -> PathBuf {
        let name = self.scene.file_name().unwrap_or_default();
        self.folder.join(name)
    }
}

/// Lets the scene settle, keeps the state in a file, and writes a scene that starts from there.
///
/// # Errors
/// With a sentence, if it fails.
pub fn settle(at: &Workplace, backend: &str, file: &Path) -> Result<(), String> {
    let text = read(&at.scene)?;
    let mut command = start(at, "run", backend, &at.scene);
    command.arg("--state").arg(file);
    command.arg("--out").arg(at.folder.join(SETTLED));
    command.args(["--vtk", "none", "--states", "none"]);
    if let Some(settle) = at.settle {
        command.args(["--duration", &settle.to_string()]);
    }
    said(&mut command)?;
    let mut scene: Map<String, Value> =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", at.scene.display()))?;
    scene.retain(|key, _| key != "bodies" && key != "fills");
    scene.insert("start".to_owned(), json!({ "from": SETTLED }));
    write(&at.settled_scene(), &Value::Object(scene).to_string())
}

/// A command of Rockfall's, on a scene.
fn start(at: &Workplace, command: &str, backend: &str, scene: &Path) -> Command {
    let mut command = with(&at.rockfall, &[command, "--json", "--backend", backend]);
    if let Some(adapter) = at.adapter.as_ref().filter(|_| backend == "gpu") {
        command.args(["--adapter", adapter]);
    }
    command.arg(scene);
    command
}

fn rockfall(at: &Workplace, report: &Value) -> Result<Visit, String> {
    let scene = &report["scenes"][0];
    let number = |value: &Value| {
        let number = value.as_f64();
        number.ok_or_else(|| format!("`rockfall bench` measured nothing: {report}"))
    };
    let spheres = number(&scene["spheres"])?;
    let speeds = &scene["sphere_steps_per_s"];
    let seconds = ["min", "median", "max"]
        .iter()
        .map(|which| Ok(spheres * at.steps as f64 / number(&speeds[*which])?))
        .collect::<Result<_, String>>()?;
    let machine = &report["machine"];
    let text = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
    Ok(Visit {
        seconds,
        contacts: number(&scene["contacts"])?,
        kinetic_energy: number(&scene["kinetic_energy_j"])?,
        version: format!(
            "{} ({})",
            text(&machine["version"]),
            text(&machine["commit"])
        ),
        machine: Some(machine.clone()),
    })
}

fn lammps_command(at: &Workplace, pile: &Pile, ranks: usize) -> Result<Command, String> {
    let Law::Springs(springs) = pile.law else {
        return Err("LAMMPS has no impulses; the law has to be \"hooke\"".to_owned());
    };
    let mut command = if ranks == 1 {
        Command::new(&at.lammps)
    } else {
        let mut command = on_ranks(at, ranks);
        command.arg(&at.lammps);
        command
    };
    command.env("OMP_NUM_THREADS", "1");
    command.args(["-log", "none", "-in"]);
    command.arg(at.decks.join("lammps.in"));
    command
        .args(["-var", "data"])
        .arg(at.folder.join("pile.data"));
    let mut variable = |name: &str, value: String| {
        command.args(["-var", name, &value]);
    };
    for (name, value) in pile.lammps_variables(&springs) {
        variable(name, value.to_string());
    }
    variable("warm", at.warm_up.to_string());
    variable("steps", at.steps.to_string());
    variable("skin", (at.skin * pile.radius).to_string());
    Ok(command)
}

/// The start of a command on some MPI ranks.
fn on_ranks(at: &Workplace, ranks: usize) -> Command {
    let mut command = with(
        &at.mpirun,
        &["--bind-to", "none", "-np", &ranks.to_string()],
    );
    // Containers have no other user, and often count fewer cores than they have.
    command.envs([
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ]);
    command
}

/// A deck that counts frames instead of steps.
fn frames_command(at: &Workplace, program: &Path, pile: &Pile, threads: usize) -> Command {
    let mut command = Command::new(program);
    command.arg(at.folder.join("pile.json"));
    let frames = [at.warm_up, at.steps].map(|steps| steps / pile.substeps());
    let counts = [threads as u64, frames[0], frames[1], REPEATS as u64];
    command.args(counts.map(|number| number.to_string()));
    command
}

fn python_command(at: &Workplace, deck: &str, device: &str) -> Command {
    let mut command = Command::new(&at.python);
    command.arg(at.decks.join(deck));
    command.arg(at.folder.join("pile.json")).arg(device);
    command.args([at.warm_up.to_string(), at.steps.to_string()]);
    command
}

fn lammps(text: &str) -> Result<Visit, String> {
    let timed = text.split_once("peers: timed").map(|(_, timed)| timed);
    let time = timed.and_then(|timed| after(timed, "Loop time of"));
    let version = text.lines().find_map(|line| line.strip_prefix("LAMMPS ("));
    visit(
        text,
        time.into_iter().collect(),
        version.map(|version| version.trim_end_matches(')').to_owned()),
    )
}

/// Outcome of one of our decks.
fn deck(text: &str) -> Result<Visit, String> {
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("peers: version "));
    // One that takes long to start runs several times.
    let runs = text
        .lines()
        .filter_map(|line| after(line, "peers: seconds"));
    visit(text, runs.collect(), version.map(str::to_owned))
}

fn visit(text: &str, seconds: Vec<f64>, version: Option<String>) -> Result<Visit, String> {
    let contacts = after(text, "peers: contacts");
    let kinetic_energy = after(text, "peers: kinetic_energy_j");
    match (contacts, kinetic_energy) {
        (Some(contacts), Some(kinetic_energy)) if !seconds.is_empty() => Ok(Visit {
            seconds,
            contacts,
            kinetic_energy,
            version: version.unwrap_or_else(|| "unknown".to_owned()),
            machine: None,
        }),
        _ => Err(format!("a deck said something unexpected:\n{}", tail(text))),
    }
}

/// The number after `label` at the start of a line.
fn after(text: &str, label: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(label))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn with(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// Output of a command.
fn said(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output: io::Result<_> = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("`{name}` does not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "`{name}` failed ({}):\n{}\n{}",
        output.status,
        tail(&text),
        tail(&errors)
    ))
}

/// The last lines of a text.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timed_run_of_lammps_counts_and_not_the_first() {
        let text = "LAMMPS (29 Sep 2021 - Update 2)\n\
            Loop time of 9.5 on 2 procs for 500 steps with 10000 atoms\npeers: timed\n\
            Loop time of 1.25 on 2 procs for 100 steps with 10000 atoms\n\
            peers: contacts 25165\npeers: kinetic_energy_j 0.0005\n";
        let visit = lammps(text).unwrap();
        assert_eq!(visit.seconds, [1.25]);
        assert_eq!(visit.contacts, 25165.0);
        assert_eq!(visit.kinetic_energy, 0.0005);
        assert_eq!(visit.version, "29 Sep 2021 - Update 2");
        let sentence = lammps("ERROR: Lost atoms").unwrap_err();
        assert!(sentence.contains("Lost atoms"), "{sentence}");
        let runs =
            "peers: seconds 1.5\npeers: seconds 2\npeers: contacts 3\npeers: kinetic_energy_j 0\n";
        assert_eq!(deck(runs).unwrap().seconds, [1.5, 2.0]);
        assert!(deck("peers: contacts 3\npeers: kinetic_energy_j 0\n").is_err());
    }
}
