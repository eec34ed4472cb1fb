use std::path::Path;
use std::process::Command;
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
    /// Commit of its source, if known: that of the build if `ROCKFALL_COMMIT` named it, else that
    /// of the directory it was built in.
    pub commit: Option<String>,
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
            commit: option_env!("ROCKFALL_COMMIT").map_or_else(described, |hash| Some(hash.into())),
            debug: cfg!(debug_assertions),
        }
    }
}

/// Memory that is free for use, bytes; `None` where the system does not tell.
pub fn available_memory() -> Option<u64> {
    let ram = MemoryRefreshKind::nothing().with_ram();
    let system = System::new_with_specifics(RefreshKind::nothing().with_memory(ram));
    Some(system.available_memory()).filter(|&bytes| bytes > 0)
}

/// What git says of the source, if it is still where it was compiled.
fn described() -> Option<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !source.join(".git").exists() {
        return None;
    }
    let output = Command::new("git")
        .arg("-C")
        .arg(source)
        .args(["describe", "--always", "--dirty"])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| output.status.success() && !text.is_empty())
}
