//! Errors of the library as exceptions of Python, with the same sentences.

use pyo3::exceptions::{
    PyFileExistsError, PyFileNotFoundError, PyIndexError, PyLookupError, PyOSError, PyRuntimeError,
    PyValueError,
};
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};
use rockfall::Error;
use rockfall::render::film::FilmError;
use rockfall::scene;

create_exception!(
    rockfall,
    RockfallError,
    PyRuntimeError,
    "An error while a world runs; the base class of RunawayError, DeviceError and CancelledError."
);
create_exception!(
    rockfall,
    RunawayError,
    RockfallError,
    "A body moves too fast to be followed, or its velocity is not finite."
);
create_exception!(
    rockfall,
    DeviceError,
    RockfallError,
    "An engine or an adapter is unavailable, too small, or lost."
);
create_exception!(
    rockfall,
    CancelledError,
    RockfallError,
    "Another thread called `World.cancel`; the world can continue."
);
create_exception!(
    rockfall,
    BodyGoneError,
    PyLookupError,
    "A body has left the world, or never was in it."
);
create_exception!(
    rockfall,
    SceneError,
    PyValueError,
    "A scene cannot be simulated: a sentence for each mistake, with its place."
);

/// The exception for an error of a simulation.
pub fn of(error: Error) -> PyErr {
    let sentence = error.to_string();
    match error {
        Error::Runaway { .. } => RunawayError::new_err(sentence),
        Error::Cancelled { .. } => CancelledError::new_err(sentence),
        Error::BodyGone { .. } => BodyGoneError::new_err(sentence),
        Error::NoSuchBody { .. } => PyIndexError::new_err(sentence),
        Error::Tuned(_)
        | Error::NarrowDomain { .. }
        | Error::Checkpoint { .. }
        | Error::CustomLaw { .. }
        | Error::PictureSize { .. } => PyValueError::new_err(sentence),
        Error::Folder { problem, .. } if problem.starts_with("has no run.json") => {
            PyFileNotFoundError::new_err(sentence)
        }
        Error::Folder { problem, .. } if problem.contains("run.json of") => {
            PyValueError::new_err(sentence)
        }
        Error::Folder { .. } => PyFileExistsError::new_err(sentence),
        Error::Unwritten { .. } => PyOSError::new_err(sentence),
        Error::NoAdapter(_)
        | Error::NoEngine { .. }
        | Error::Device { .. }
        | Error::TooLarge { .. }
        | Error::Lost { .. }
        | Error::CannotDraw { .. }
        | Error::Threads { .. } => DeviceError::new_err(sentence),
        _ => RockfallError::new_err(sentence),
    }
}

/// The exception for a scene that cannot be simulated.
pub fn of_scene(error: scene::SceneError) -> PyErr {
    let unread = error
        .problems
        .iter()
        .any(|problem| problem.path.is_empty() && problem.expected == "a scene file");
    match unread && is_missing(&error.file) {
        true => PyFileNotFoundError::new_err(error.to_string()),
        false => SceneError::new_err(error.to_string()),
    }
}

/// The exception for a film that cannot be made.
pub fn of_film(error: FilmError) -> PyErr {
    match error {
        FilmError::Format(_) => PyValueError::new_err(error.to_string()),
        FilmError::NoProgram(_) => PyFileNotFoundError::new_err(
            "MP4 and WebM films need the program ffmpeg, and it cannot be started; install it (on Debian and Ubuntu: apt-get \
             install ffmpeg) and make sure that it is on the path",
        ),
        FilmError::Failed { .. } => RockfallError::new_err(error.to_string()),
    }
}

fn is_missing(file: &std::path::Path) -> bool {
    !file.as_os_str().is_empty() && !file.exists()
}

/// Adds all exceptions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("RockfallError", py.get_type::<RockfallError>())?;
    module.add("RunawayError", py.get_type::<RunawayError>())?;
    module.add("DeviceError", py.get_type::<DeviceError>())?;
    module.add("CancelledError", py.get_type::<CancelledError>())?;
    module.add("BodyGoneError", py.get_type::<BodyGoneError>())?;
    module.add("SceneError", py.get_type::<SceneError>())
}
