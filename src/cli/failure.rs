//! Endings of a command: its message and its exit code.

use std::process::ExitCode;

use rockfall::error::Error;
use rockfall::scene::SceneError;

use super::terminal;

/// Failure of a command.
#[derive(Debug)]
pub enum Failure {
    /// A wrong argument or scene, in a sentence: exit code 2.
    Usage(String),
    /// A scene is wrong: exit code 2.
    Scene(SceneError),
    /// Scenes are wrong, and their mistakes have been printed: exit code 2.
    Scenes {
        /// Number of wrong scenes.
        wrong: usize,
        /// Number of all scenes.
        of: usize,
    },
    /// A run that failed, in a sentence: exit code 1.
    Run(String),
    /// The user stopped it; the sentence says how to continue: exit code 130, as shells have it.
    Stopped(String),
    /// Another process prints the error: exit code 2.
    #[cfg_attr(
        feature = "mpi",
        allow(dead_code, reason = "builds without MPI need it")
    )]
    Silent,
}

impl Failure {
    /// Exit code of a command that the user stopped: that of a program which Ctrl-C ends.
    pub const STOPPED: u8 = 130;
}

/// Result of a command.
pub type Outcome<T = ()> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let sentence = match remedy(&error) {
            Some(remedy) => format!("{error}; {remedy}"),
            None => error.to_string(),
        };
        match error {
            Error::NoSuchBody { .. } | Error::Folder { .. } | Error::NotOnCluster { .. } => {
                Failure::Usage(sentence)
            }
            _ => Failure::Run(sentence),
        }
    }
}

/// A command or argument that helps against an error.
fn remedy(error: &Error) -> Option<&'static str> {
    match error {
        Error::NoAdapter(_) | Error::Device { .. } | Error::Rank { .. } => Some(
            "choose another one with --adapter (`rockfall adapters` lists them), or use --backend cpu",
        ),
        Error::TooLarge { .. } | Error::Lost { .. } => Some("--backend cpu chooses the CPU engine"),
        Error::CustomLaw { .. } => {
            Some("use --backend gpu, with --adapter software if there is no GPU")
        }
        Error::CannotDraw { .. } => {
            Some("choose another one with --adapter (`rockfall adapters` lists them)")
        }
        Error::DisplayGone { run: Some(_) } => {
            Some("`rockfall run --resume`, with that folder, continues it")
        }
        Error::Window(_) => Some("`rockfall render` makes pictures without a display"),
        _ => None,
    }
}

/// Prints the error, if there is one, and returns the exit code.
pub fn exit_code(outcome: Outcome) -> ExitCode {
    let Err(failure) = outcome else {
        return ExitCode::SUCCESS;
    };
    match &failure {
        Failure::Usage(sentence) | Failure::Run(sentence) => terminal::error(sentence),
        Failure::Scene(error) => terminal::errors(error),
        // Printed even with --quiet: it says how to continue.
        Failure::Stopped(sentence) => terminal::tell(sentence),
        Failure::Scenes { of: 1, .. } | Failure::Silent => (),
        Failure::Scenes { wrong, of } => {
            terminal::error(format_args!("wrong scenes: {wrong} of {of}"));
        }
    }
    ExitCode::from(match failure {
        Failure::Run(_) => 1,
        Failure::Stopped(_) => Failure::STOPPED,
        Failure::Usage(_) | Failure::Scene(_) | Failure::Scenes { .. } | Failure::Silent => 2,
    })
}
