//! `cargo peers`: Rockfall beside other programs, on the same settled pile.
//!
//! Rockfall lets a scene settle and exports it; each program then runs the same number of steps from
//! there. They take turns, round after round, so that whatever slows the machine down for a while
//! slows all of them; speeds are compared within a round.

#![forbid(unsafe_code)]

mod peer;
mod pile;
mod plot;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use clap::{Parser, ValueEnum};

use peer::{Peer, Workplace};
use pile::Pile;
use report::{Entry, Report};

/// Time Rockfall beside other programs, on the same settled pile
///
/// Prints a table, and writes the same as JSON with a plot. Programs that are not installed are left
/// out, and it is said how to install them; see tools/peers/README.md.
#[derive(Parser)]
#[command(bin_name = "cargo peers")]
struct Arguments {
    /// A scene of equal spheres in an open box
    #[arg(default_value = "scenes/bench/spheres_10k.json")]
    scene: PathBuf,

    /// Rockfall's engine; with `gpu`, Warp and DEM-Engine run on CUDA, and LAMMPS is left out. Beside the normal model "impulse"
    /// there are rapier and box3d
    #[arg(long, value_enum, default_value = "cpu")]
    backend: Backend,

    /// The adapter of Rockfall's GPU engine, by a part of its description
    #[arg(long, value_name = "TEXT")]
    adapter: Option<String>,

    /// Threads of Rockfall, ranks of LAMMPS [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// Rockfall on so many MPI ranks with one thread each, too: `--rockfall` has to be a build with the feature `mpi`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..))]
    ranks: Option<u64>,

    /// Turns of each program, each of three timed runs
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,

    /// Steps of a timed run, a multiple of 100, or of the substeps of a frame [default: 50 million
    /// sphere-steps, but at most 2000 steps]
    #[arg(long, value_name = "N")]
    steps: Option<u64>,

    /// Untimed steps of the other programs, a multiple of 10, in which the springs of friction fill
    /// that they start without
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = tens)]
    warm_up: u64,

    /// Let the pile settle for S seconds [default: the duration of the scene]
    #[arg(long, value_name = "S")]
    settle: Option<f64>,

    /// Only programs whose name contains one of these, and Rockfall
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    only: Vec<String>,

    /// Skin of LAMMPS' neighbour lists, as a fraction of the radius
    #[arg(long, value_name = "FRACTION", default_value_t = 0.3)]
    skin: f64,

    /// Folder of the results [default: that of this machine in benches/results]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,

    /// The program `rockfall`
    #[arg(long, value_name = "FILE", default_value = "target/release/rockfall")]
    rockfall: PathBuf,

    /// The program `lmp`
    #[arg(long, value_name = "FILE", default_value = "lmp")]
    lammps: PathBuf,

    /// The program `mpirun`
    #[arg(long, value_name = "FILE", default_value = "mpirun")]
    mpirun: PathBuf,

    /// A Python that has warp-lang and deme
    #[arg(long, value_name = "FILE", default_value = "python3")]
    python: PathBuf,

    /// The deck of rapier
    #[arg(
        long,
        value_name = "FILE",
        default_value = "target/rapier/release/rapier-deck"
    )]
    rapier: PathBuf,

    /// The deck of box3d
    #[arg(long, value_name = "FILE", default_value = "target/box3d/box3d-deck")]
    box3d: PathBuf,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Backend {
    Cpu,
    Gpu,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let threads = arguments
        .threads
        .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let scene_text = read(&arguments.scene)?;
    let scene = stem(&arguments.scene);
    let backend = match arguments.backend {
        Backend::Cpu => "cpu",
        Backend::Gpu => "gpu",
    };
    let folder = std::env::temp_dir().join(format!("rockfall-peers-{}", std::process::id()));
    let mut at = Workplace {
        rockfall: arguments.rockfall.clone(),
        lammps: arguments.lammps.clone(),
        mpirun: arguments.mpirun.clone(),
        python: arguments.python.clone(),
        rapier: arguments.rapier.clone(),
        box3d: arguments.box3d.clone(),
        decks: root.join("tools/peers"),
        folder,
        scene: arguments.scene.clone(),
        adapter: arguments.adapter.clone(),
        threads,
        settle: arguments.settle,
        warm_up: arguments.warm_up,
        steps: 0,
        skin: arguments.skin,
    };
    let (peers, missing) = peers(arguments, &at, pile::has_impulses(&scene_text));
    if let [.., sentence] = missing.as_slice()
        && peers.is_empty()
    {
        return Err(sentence.clone());
    }

    fs::create_dir_all(&at.folder).map_err(|error| format!("{}: {error}", at.folder.display()))?;
    let measured = measure(arguments, &mut at, backend, &scene_text, &peers);
    // A folder in the system's own place for such: what stays there does no harm.
    let _ = fs::remove_dir_all(&at.folder);
    let (pile, entries) = measured?;
    let report = Report::new(&scene, &pile, &at, entries, missing);
    print!("{}", report.table());

    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| root.join("benches/results").join(report.folder()));
    fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let name = format!("peers-{scene}-{backend}");
    write(&out.join(format!("{name}.json")), &report.json())?;
    write(&out.join(format!("{name}.svg")), &plot::svg(&report))?;
    report.unlike().map_or(Ok(()), Err)
}

/// The programs to time, Rockfall first, and what is not installed.
fn peers(arguments: &Arguments, at: &Workplace, impulses: bool) -> (Vec<Peer>, Vec<String>) {
    let mut others = match arguments.backend {
        _ if impulses => vec![
            Peer::Rapier {
                threads: at.threads,
            },
            Peer::Box3d {
                threads: at.threads,
            },
        ],
        Backend::Cpu => vec![
            Peer::Lammps { ranks: at.threads },
            Peer::Lammps { ranks: 1 },
            Peer::Warp {
                device: "cpu".to_owned(),
            },
        ],
        Backend::Gpu => vec![
            Peer::Warp {
                device: "cuda:0".to_owned(),
            },
            Peer::DemEngine {
                device: "cuda:0".to_owned(),
            },
        ],
    };
    others.dedup();
    let on_ranks = arguments.ranks.map(|ranks| Peer::RockfallRanks {
        ranks: ranks as usize,
    });
    let wanted = |peer: &Peer| {
        let name = peer.name().to_lowercase();
        let only = &arguments.only;
        only.is_empty() || only.iter().any(|text| name.contains(&text.to_lowercase()))
    };
    others.retain(wanted);
    let rockfall = Peer::Rockfall {
        backend: match arguments.backend {
            Backend::Cpu => "cpu",
            Backend::Gpu => "gpu",
        },
    };
    if let Some(sentence) = rockfall.missing(at) {
        return (Vec::new(), vec![sentence]);
    }
    let others = on_ranks.into_iter().chain(others);
    let mut others: Vec<Peer> = others.collect();
    let missing: Vec<String> = others.iter().filter_map(|peer| peer.missing(at)).collect();
    others.retain(|peer| peer.missing(at).is_none());
    others.insert(0, rockfall);
    (others, missing)
}

fn measure(
    arguments: &Arguments,
    at: &mut Workplace,
    backend: &str,
    scene: &str,
    peers: &[Peer],
) -> Result<(Pile, Vec<Entry>), String> {
    eprintln!("{}: settling", arguments.scene.display());
    let state = at.folder.join("state.json");
    peer::settle(at, backend, &state)?;
    let pile = Pile::read(scene, &read(&state)?)
        .map_err(|sentence| format!("{}: {sentence}", arguments.scene.display()))?;
    let spheres = pile.position.len();
    let unit = match pile.substeps() {
        1 => 100,
        substeps => substeps,
    };
    at.steps = match arguments.steps {
        None => (50_000_000 / spheres as u64).clamp(100, 2000) / unit * unit,
        Some(steps) if steps > 0 && steps.is_multiple_of(unit) => steps,
        Some(steps) => {
            return Err(format!(
                "--steps: found {steps}, expected a multiple of {unit}"
            ));
        }
    };
    write(&at.folder.join("pile.data"), &pile.lammps_data())?;
    let json = serde_json::to_string(&pile).map_err(|error| error.to_string())?;
    write(&at.folder.join("pile.json"), &json)?;

    let mut entries: Vec<Entry> = peers.iter().map(Entry::new).collect();
    for round in 1..=arguments.rounds {
        for (peer, entry) in peers.iter().zip(&mut entries) {
            let visit = peer
                .visit(at, &pile)
                .map_err(|sentence| format!("{}: {sentence}", peer.name()))?;
            eprintln!(
                "round {round} of {}: {}: {} s for {} steps",
                arguments.rounds,
                peer.name(),
                report::listed(&visit.seconds),
                at.steps
            );
            entry.visits.push(visit);
        }
    }
    Ok((pile, entries))
}

/// Warp's deck makes new lists every ten steps.
fn tens(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(steps) if steps > 0 && steps.is_multiple_of(10) => Ok(steps),
        _ => Err("expected a multiple of 10 greater than 0".to_owned()),
    }
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
