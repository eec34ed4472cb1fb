use std::thread;

use serde::Serialize;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// The machine and the program that a benchmark ran on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// Model of the CPU.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Operating system and its version.
    pub os: String,
    /// Version of Rockfall.
    pub version: &'static str,
    /// Commit of its source, if known.
    pub commit: Option<&'static str>,
    /// Whether it was compiled without optimization for speed.
    pub debug: bool,
}

impl Machine {
    /// The machine that this runs on.
    pub fn this() -> Machine {
        let system = System::new_with_specifics(
            RefreshKind::nothing()
                .with_cpu(CpuRefreshKind::nothing())
                .with_memory(MemoryRefreshKind::nothing().with_ram()),
        );
        let cpu = system.cpus().first();
        Machine {
            cpu: cpu.map_or_else(|| "unknown".into(), |cpu| cpu.brand().trim().to_owned()),
            cores: thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: system.total_memory(),
            os: System::long_os_version().unwrap_or_else(|| std::env::consts::OS.to_owned()),
            version: env!("CARGO_PKG_VERSION"),
            commit: commit(),
            debug: cfg!(debug_assertions),
        }
    }
}

/// The commit that the library was built from, if known: a development build does not note it.
pub fn commit() -> Option<&'static str> {
    Some(env!("ROCKFALL_COMMIT")).filter(|commit| !commit.is_empty())
}

/// The features of the interface that the library was built with.
pub fn features() -> impl Iterator<Item = &'static str> {
    let features = [
        ("cpu", cfg!(feature = "cpu")),
        ("gpu", cfg!(feature = "gpu")),
        ("output", cfg!(feature = "output")),
        ("parallel", cfg!(feature = "parallel")),
        ("render", cfg!(feature = "render")),
        ("scene", cfg!(feature = "scene")),
        ("view", cfg!(feature = "view")),
    ];
    features
        .into_iter()
        .filter_map(|(name, built)| built.then_some(name))
}

/// Memory that is free for use, bytes; `None` where the system does not tell.
pub fn available_memory() -> Option<u64> {
    let ram = MemoryRefreshKind::nothing().with_ram();
    let system = System::new_with_specifics(RefreshKind::nothing().with_memory(ram));
    Some(system.available_memory()).filter(|&bytes| bytes > 0)
}
