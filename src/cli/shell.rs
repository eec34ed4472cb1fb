//! `rockfall completions` and `rockfall man`.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::failure::{Failure, Outcome};
use super::{next, terminal};

/// Print completions for a shell
///
/// The shell then completes commands, flags and their values.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS)]
pub struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

const COMPLETIONS: &str = "\
Examples:
  rockfall completions bash > ~/.local/share/bash-completion/completions/rockfall
  rockfall completions zsh > ~/.zfunc/_rockfall
  rockfall completions fish > ~/.config/fish/completions/rockfall.fish";

/// Print the manual page, or write those of all commands
#[derive(Debug, Args)]
#[command(after_help = MAN)]
pub struct Man {
    /// Write the pages of all commands to the folder DIR, created if necessary
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const MAN: &str = "\
Examples:
  rockfall man | man -l -
  rockfall man --out ~/.local/share/man/man1
      Then `man rockfall` and `man rockfall-run` show them.";

/// Prints completions.
pub fn completions(arguments: &Completions) -> Outcome {
    let mut text = Vec::new();
    let mut command = super::Arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "rockfall", &mut text);
    terminal::print(String::from_utf8_lossy(&text).trim_end())
}

/// Prints or writes manual pages.
pub fn man(arguments: &Man) -> Outcome {
    let command = super::Arguments::command();
    let Some(folder) = &arguments.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command)
            .render(&mut page)
            .map_err(|error| Failure::Run(format!("the manual page cannot be made: {error}")))?;
        return terminal::print(String::from_utf8_lossy(&page).trim_end());
    };
    let refused = |error: io::Error| {
        Failure::Usage(format!(
            "--out: manual pages cannot be written to the folder {}: {error}",
            folder.display()
        ))
    };
    fs::create_dir_all(folder).map_err(refused)?;
    clap_mangen::generate_to(command, folder).map_err(refused)?;
    terminal::print(format_args!("manual pages in {}", folder.display()))?;
    next::say(format_args!(
        "man {}",
        next::word(&folder.join("rockfall.1"))
    ));
    Ok(())
}
