//! How a command ends.

use std::process::ExitCode;

use rockfall::error::Error;

use super::terminal;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// What the user asked for cannot be, in a sentence: exit code 2.
    Usage(String),
    /// What the user asked for did not work, in a sentence: exit code 1.
    Run(String),
}

/// What a command returns.
pub type Outcome<T = ()> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::NoSuchBody { .. } => Failure::Usage(error.to_string()),
            _ => Failure::Run(error.to_string()),
        }
    }
}

/// Says what went wrong, if anything did, and returns the exit code that means it.
pub fn exit_code(outcome: Outcome) -> ExitCode {
    let (sentence, code) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Run(sentence)) => (sentence, 1),
        Err(Failure::Usage(sentence)) => (sentence, 2),
    };
    terminal::error(sentence);
    ExitCode::from(code)
}
