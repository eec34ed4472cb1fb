//! `rockfall adapters`.

use std::thread;

use clap::Args;
use indicatif::BinaryBytes;
use rockfall::step::gpu::Adapter;
use serde::Serialize;

use super::failure::Outcome;
use super::terminal;

/// List the GPU adapters that wgpu finds, and what each lacks
///
/// Shows which of them `--backend auto` chooses, whether they can time passes, and the largest
/// buffer that they allow. A software adapter is used only if --adapter names it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  rockfall adapters
  rockfall adapters --json
  rockfall run pile.json --adapter nvidia     use the one whose description contains this";

/// The adapters, and which of them is chosen.
#[derive(Serialize)]
struct Listing {
    adapters: Vec<Row>,
    cpu: Cpu,
}

/// An adapter, and whether `auto` would choose it.
#[derive(Serialize)]
struct Row {
    adapter: String,
    auto: bool,
    software: bool,
    timestamps: bool,
    largest_buffer_bytes: u64,
    lacks: Vec<String>,
}

/// The CPU engine, and whether `auto` would choose it.
#[derive(Serialize)]
struct Cpu {
    threads: usize,
    auto: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let listing = Listing::new(&Adapter::all());
    if arguments.json {
        terminal::print_json(&listing)
    } else {
        listing.print()
    }
}

impl Listing {
    fn new(adapters: &[Adapter]) -> Listing {
        let auto = adapters.iter().position(Adapter::suits_auto);
        let row = |(index, adapter): (usize, &Adapter)| Row {
            adapter: adapter.describe(),
            auto: auto == Some(index),
            software: adapter.is_software(),
            timestamps: adapter.has_timestamps(),
            largest_buffer_bytes: adapter.largest_buffer(),
            lacks: adapter.lacks(),
        };
        Listing {
            adapters: adapters.iter().enumerate().map(row).collect(),
            cpu: Cpu {
                threads: thread::available_parallelism().map_or(1, usize::from),
                auto: auto.is_none(),
            },
        }
    }

    fn print(&self) -> Outcome {
        let line = |used: &str, timestamps: &str, buffer: &str, what: &str| {
            terminal::print(format_args!(
                "{used:<8}  {timestamps:<10}  {buffer:<14}  {what}"
            ))
        };
        line("used", "timestamps", "largest buffer", "adapter")?;
        for row in &self.adapters {
            let lacks = match row.lacks.as_slice() {
                [] => String::new(),
                lacks => format!("; lacks {}", lacks.join(" and ")),
            };
            line(
                if !lacks.is_empty() {
                    "never"
                } else if row.auto {
                    "auto"
                } else {
                    "by name"
                },
                if row.timestamps { "yes" } else { "no" },
                &BinaryBytes(row.largest_buffer_bytes).to_string(),
                &format!("{}{lacks}", row.adapter),
            )?;
        }
        let cpu = format!("the CPU engine, {} threads", self.cpu.threads);
        line(
            if self.cpu.auto { "auto" } else { "by name" },
            "-",
            "-",
            &cpu,
        )
    }
}
