//! How a command ends.

use std::process::ExitCode;

use rockfall::error::Error;
use rockfall::scene::SceneError;

use super::terminal;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// What the user asked for cannot be, in a sentence: exit code 2.
    Usage(String),
    /// A scene is wrong: exit code 2.
    Scene(SceneError),
    /// Scenes are wrong, and the user has been told how: exit code 2.
    Scenes {
        /// How many are wrong.
        wrong: usize,
        /// How many there are.
        of: usize,
    },
    /// What the user asked for did not work, in a sentence: exit code 1.
    Run(String),
    /// The user stopped it, and is told how to go on: exit code 130, as shells have it.
    Stopped(String),
}

impl Failure {
    /// Exit code of what the user stopped: that of a program which the signal of Ctrl-C ends.
    pub const STOPPED: u8 = 130;
}

/// What a command returns.
pub type Outcome<T = ()> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::NoSuchBody { .. } | Error::Folder { .. } => Failure::Usage(error.to_string()),
            _ => Failure::Run(error.to_string()),
        }
    }
}

/// Says what went wrong, if anything did, and returns the exit code that means it.
pub fn exit_code(outcome: Outcome) -> ExitCode {
    let Err(failure) = outcome else {
        return ExitCode::SUCCESS;
    };
    match &failure {
        Failure::Usage(sentence) | Failure::Run(sentence) => terminal::error(sentence),
        Failure::Scene(error) => terminal::errors(error),
        Failure::Stopped(sentence) => terminal::say(sentence),
        Failure::Scenes { of: 1, .. } => (),
        Failure::Scenes { wrong, of } => {
            terminal::error(format_args!("wrong scenes: {wrong} of {of}"));
        }
    }
    ExitCode::from(match failure {
        Failure::Run(_) => 1,
        Failure::Stopped(_) => Failure::STOPPED,
        Failure::Usage(_) | Failure::Scene(_) | Failure::Scenes { .. } => 2,
    })
}
