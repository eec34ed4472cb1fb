//! Scenes: read from JSON with comments, checked, and made ready for simulation.
//!
//! ```text
//! text  --reading-->  format::SceneFile  --build-->  Scene { model, warnings, notes }
//! ```
//!
//! [`mod@format`] is the file as it is written, `build` checks it and makes a [`Model`] of it: clumps,
//! bodies, overlaps found or pushed apart, and stiffness, dashpots and the time step by [`contact`]. Whatever is wrong comes back as a [`SceneError`] that names the
//! file, the place, what was found and what was expected; nothing is guessed, nothing is dropped.
//!
//! ```
//! let text = r#"{
//!     "version": 1,
//!     "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
//!     "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "stone" } },
//!     "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" } ],
//!     "bodies": [ { "shape": "ball", "position": [0, 1, 0] } ]
//! }"#;
//! let scene = rockfall::scene::parse(text, "ball.json".as_ref())?;
//! assert_eq!(scene.model.name, "ball");
//!
//! let error = rockfall::scene::parse(&text.replace("0.05", "-0.05"), "ball.json".as_ref());
//! assert_eq!(
//!     error.unwrap_err().to_string(),
//!     "ball.json: shapes.ball.sphere.radius: found -0.05, expected a length greater than 0 (m)"
//! );
//! # Ok::<(), rockfall::scene::SceneError>(())
//! ```

mod build;
mod builder;
mod change;
mod comments;
pub mod contact;
mod error;
mod files;
pub mod format;
mod measure;
mod place;
mod placed;
mod reading;
pub(crate) mod stored;
mod strict;

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
#[cfg(all(feature = "cpu", feature = "gpu"))]
use std::sync::Arc;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;

use crate::model::Model;
#[cfg(all(feature = "cpu", feature = "gpu", not(target_family = "wasm")))]
use crate::model::bodies::Others;
use crate::model::error::Error;
#[cfg(all(feature = "cpu", feature = "gpu", not(target_family = "wasm")))]
use crate::simulation::Cluster;
use crate::simulation::checkpoint;
#[cfg(all(feature = "cpu", feature = "gpu", not(target_family = "wasm")))]
use crate::step::cluster::RankSearchers;
use files::{Folder, neighbour};
use placed::Places;

pub use build::{DEEP_OVERLAP, MAX_DISTANCE, MAX_MATERIALS, MAX_SPHERES, MAX_SPHERES_OF_SHAPE};
pub use builder::{SceneBuilder, SpringEnd};
pub use change::Change;
pub use error::{Problem, SceneError};
pub use files::{Disk, Files, Inside};
pub use measure::Ending;
pub use place::line_of;
pub use placed::Placed;

/// Name of the scene in the folder of a run.
pub const FILE: &str = "scene.json";

/// The target of the [`tracing`] events that say how far the work on a scene is which takes seconds: spheres that are fitted to a
/// mesh.
pub const PROGRESS: &str = "rockfall::progress";

/// A scene that can be simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// The scene made ready.
    pub model: Model,
    /// The file as it was written, with the name and the time step that came of it.
    pub file: format::SceneFile,
    /// The folder that names of files are relative to.
    pub folder: PathBuf,
    /// Warnings, a sentence each, with the place in front.
    pub warnings: Vec<String>,
    /// Derived values, a sentence each: stiffnesses, the time step and where it comes from.
    pub notes: Vec<String>,
}

impl Scene {
    /// Writes the scene as `scene.json` into a folder, and beside it the files that it names, so that
    /// the folder can be moved: loaded from there, it gives the same model.
    ///
    /// The files are those on disk, see [`Disk`].
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn save(&self, folder: &Path) -> crate::model::error::Result<()> {
        let mut file = self.file.clone();
        file.schema = None;
        if let Some(law) = self.model.contact.law.custom() {
            let path = folder.join("law.wgsl");
            fs::write(&path, &law.source).map_err(|error| Error::unwritten(&path, &error))?;
            file.contact.file = Some("law.wgsl".to_owned());
        }
        if let Some(start) = &mut file.start {
            let mut from = self.folder.join(&start.from);
            if from.is_dir() {
                from = from.join(checkpoint::FILE);
            }
            let path = folder.join("start.checkpoint");
            fs::copy(from, &path).map_err(|error| Error::unwritten(&path, &error))?;
            start.from = "start.checkpoint".to_owned();
        }
        let walls = file.walls.iter_mut().enumerate();
        let of_walls = walls.filter_map(|(index, wall)| {
            let mesh = wall.mesh.as_mut().map(|mesh| &mut mesh.file);
            let sampled = wall.signed_distance.as_mut().map(|mesh| &mut mesh.file);
            Some((format!("wall_{index}"), mesh.or(sampled)?))
        });
        let shapes = file.shapes.0.iter_mut().enumerate();
        let of_shapes = shapes.filter_map(|(index, (_, shape))| {
            Some((format!("shape_{index}"), &mut shape.mesh.as_mut()?.file))
        });
        for (stem, own) in of_walls.chain(of_shapes) {
            let from = self.folder.join(&*own);
            let ending = from.extension().unwrap_or_default().to_string_lossy();
            let name = format!("{stem}.{ending}");
            let path = folder.join(&name);
            if from != path {
                fs::copy(&from, &path).map_err(|error| Error::unwritten(&path, &error))?;
            }
            *own = name;
        }
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(&file).expect("a scene has names and numbers");
        fs::write(&path, text + "\n").map_err(|error| Error::unwritten(&path, &error))
    }
}

/// Reads a scene file.
///
/// # Errors
///
/// If the file cannot be read, or [`parse`] finds something wrong in it.
pub fn load(path: &Path) -> Result<Scene, SceneError> {
    load_changed(path, &[], &Disk)
}

/// Reads a scene file whose own files are where `files` has them: with [`Inside`], in its folder and nowhere else.
///
/// # Errors
///
/// As [`load`].
pub fn load_with(path: &Path, files: &dyn Files) -> Result<Scene, SceneError> {
    load_changed(path, &[], files)
}

/// Reads a scene file with some of its values changed, before it is checked. Its own files are where `files` has them.
///
/// ```no_run
/// use rockfall::scene::{Change, Disk, load_changed};
///
/// let softer = Change { path: "contact.stiffness".into(), value: 2e5.into() };
/// let rougher = Change { path: "materials.stone.friction".into(), value: 0.8.into() };
/// let scene = load_changed("scenes/pile.json".as_ref(), &[softer, rougher], &Disk)?;
/// # Ok::<(), rockfall::scene::SceneError>(())
/// ```
///
/// # Errors
///
/// As [`load`], and if the place of a change is not there.
pub fn load_changed(
    path: &Path,
    changes: &[Change],
    files: &dyn Files,
) -> Result<Scene, SceneError> {
    load_at(path, changes, files, Places::Searched(None))
}

/// Reads a scene file as [`load_changed`] does; the ranks of a cluster look for the places of its bodies together.
///
/// # Errors
///
/// As [`load_changed`].
#[cfg(all(feature = "cpu", feature = "gpu", not(target_family = "wasm")))]
#[doc(hidden)]
pub fn load_on(
    Cluster(ranks): &Cluster,
    path: &Path,
    changes: &[Change],
    files: &dyn Files,
) -> Result<Scene, SceneError> {
    let searchers = RankSearchers::new(Arc::clone(ranks), Others::MayBe);
    load_at(path, changes, files, Places::Searched(Some(&searchers)))
}

fn load_at(
    path: &Path,
    changes: &[Change],
    files: &dyn Files,
    places: Places,
) -> Result<Scene, SceneError> {
    let bytes = Disk
        .read(path)
        .map_err(|error| SceneError::one(path, unreadable(path, &error)))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let found = format!(
            "a byte that is not UTF-8 text, number {}",
            error.utf8_error().valid_up_to()
        );
        SceneError::one(path, Problem::new("", found, "a scene, in JSON"))
    })?;
    let scene = parse_changed(&text, path, files, changes, places)?;
    let (bodies, spheres) = (scene.model.bodies.len(), scene.model.sphere_count());
    tracing::info!(file = %path.display(), bodies, spheres, "scene loaded");
    Ok(scene)
}

/// Reads a scene from text: JSON, in which there may be comments, as in C, and a comma after the last entry of a list or an
/// object. `file` is named in errors, its stem is the name of the scene unless the
/// scene has one, and the files that the scene names are looked for beside it, on disk.
///
/// # Errors
///
/// Everything that is wrong with the scene, as far as one thing does not hide another.
pub fn parse(text: &str, file: &Path) -> Result<Scene, SceneError> {
    parse_with(text, file, &Disk)
}

/// Reads a scene from text, with the files that it names from where `files` has them: in memory, say. Otherwise as
/// [`parse`].
///
/// # Errors
///
/// As [`parse`].
pub fn parse_with(text: &str, file: &Path, files: &dyn Files) -> Result<Scene, SceneError> {
    parse_changed(text, file, files, &[], Places::Searched(None))
}

/// A scene's text as JSON: comments and trailing commas become spaces, so that lines and columns stay.
pub fn without_comments(text: &str) -> Cow<'_, str> {
    comments::blank(text)
}

/// Reads a scene as [`parse_with`] does, but looks for no places of its bodies: they are as another reader of the same text
/// and files has found them.
///
/// # Errors
///
/// As [`parse`].
#[doc(hidden)]
pub fn parse_placed(
    text: &str,
    file: &Path,
    files: &dyn Files,
    placed: &Placed,
) -> Result<Scene, SceneError> {
    parse_changed(text, file, files, &[], Places::Known(placed))
}

fn parse_changed(
    text: &str,
    file: &Path,
    files: &dyn Files,
    changes: &[Change],
    places: Places,
) -> Result<Scene, SceneError> {
    let wrong = |problem| SceneError::one(file, problem);
    let mut scene = reading::read(text).map_err(wrong)?;
    if !changes.is_empty() {
        let text = change::changed(text, changes).map_err(wrong)?;
        scene = reading::read(&text).map_err(wrong)?;
    }
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let path = file.parent().unwrap_or(Path::new(""));
    build::build(&scene, &stem, Folder { path, files }, places).map_err(|problems| SceneError {
        file: file.to_owned(),
        problems,
    })
}

/// The JSON Schema of a scene file.
pub fn schema() -> serde_json::Value {
    SchemaSettings::draft2020_12()
        .with_transform(RecursiveTransform(strict::tidy))
        .into_generator()
        .into_root_schema_for::<format::SceneFile>()
        .to_value()
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    let expected = "a scene file";
    match error.kind() {
        io::ErrorKind::IsADirectory => {
            let problem = Problem::new("", "a directory", expected);
            match path.join(checkpoint::FILE).is_file() {
                true => problem.help(format!(
                    "it holds a run, which can be resumed; its scene is {}",
                    path.join(FILE).display()
                )),
                false => problem,
            }
        }
        io::ErrorKind::NotFound => {
            let problem = Problem::new("", "no such file", expected);
            match neighbour(&Disk, &path.with_extension("json")) {
                Some(meant) => problem.help(format!("did you mean {}?", meant.display())),
                None => problem,
            }
        }
        io::ErrorKind::PermissionDenied => {
            Problem::new("", "a file that may not be read", expected)
        }
        _ => Problem::new(
            "",
            format!("a file that cannot be read ({error})"),
            expected,
        ),
    }
}
