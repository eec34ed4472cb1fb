//! The command line of Rockfall: an outline over the library of the same name.

mod cli;

use std::process::ExitCode;

use clap::Parser;
use cli::{Arguments, Command};

fn main() -> ExitCode {
    cli::quiet_mesa();
    let arguments = Arguments::parse();
    cli::log::start(arguments.verbose);
    let outcome = match arguments.command {
        Command::Run(arguments) => cli::run::run(&arguments),
        #[cfg(feature = "view")]
        Command::View(arguments) => cli::view::run(&arguments),
        #[cfg(feature = "render")]
        Command::Render(arguments) => cli::render::run(&arguments),
        Command::Bench(arguments) => cli::bench::run(&arguments),
        Command::Compare(arguments) => cli::compare::run(&arguments),
        Command::Check(arguments) => cli::check::run(&arguments),
        Command::Schema(arguments) => cli::schema::run(&arguments),
        Command::Adapters(arguments) => cli::adapters::run(&arguments),
    };
    cli::failure::exit_code(outcome)
}
