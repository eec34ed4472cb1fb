//! Errors of scenes, in sentences: the place, what was found, what was expected, what to do.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::math::display::{Exact, Rounded};

/// The problems that [`SceneError`]'s `Display` spells out; the rest are only counted.
const SHOWN: usize = 20;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Place in the scene, such as `shapes.ball.sphere.radius` or `bodies[3].orientation`; `$` is
    /// the scene as a whole. Empty if the file could not be read at all.
    pub path: String,
    /// Words for what stands there.
    pub found: String,
    /// Words for what should stand there.
    pub expected: String,
    /// Remedy, where there is more to say than the expectation does.
    pub help: Option<String>,
}

impl Problem {
    /// A problem without further help.
    pub fn new(
        path: impl fmt::Display,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            path: path.to_string(),
            found: found.into(),
            expected: expected.into(),
            help: None,
        }
    }

    /// Adds a remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Asks whether `found` was meant to be the most similar of `candidates`,
    /// if one is similar enough.
    pub fn did_you_mean<'a>(
        self,
        found: &str,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        match closest(found, candidates) {
            Some(candidate) => self.help(format!("did you mean {candidate:?}?")),
            None => self,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(formatter, "{}: ", self.path)?;
        }
        write!(
            formatter,
            "found {}, expected {}",
            self.found, self.expected
        )?;
        match &self.help {
            Some(help) => write!(formatter, "; {help}"),
            None => Ok(()),
        }
    }
}

/// A scene that cannot be simulated, with all that was found wrong. `Display` gives a sentence a
/// line, each with the file in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneError {
    /// The file, as it was named.
    pub file: PathBuf,
    /// Problems; never empty.
    pub problems: Vec<Problem>,
}

impl SceneError {
    /// An error of one problem.
    pub(super) fn one(file: &Path, problem: Problem) -> Self {
        Self {
            file: file.to_owned(),
            problems: vec![problem],
        }
    }
}

impl fmt::Display for SceneError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        for (index, problem) in self.problems.iter().take(SHOWN).enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(formatter, "{separator}{file}: {problem}")?;
        }
        match self.problems.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(formatter, "\n{file}: and {more} more problems"),
        }
    }
}

impl std::error::Error for SceneError {}

/// The candidate most similar to `found`, unless all are too different to have been meant.
pub(super) fn closest<'a>(
    found: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let found = found.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            let similarity =
                strsim::normalized_damerau_levenshtein(&found, &candidate.to_lowercase());
            (similarity, candidate)
        })
        .filter(|(similarity, _)| *similarity >= 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// A number as it was written, or near enough: the shortest that reads as the same.
pub(super) fn exact(number: f64) -> String {
    Exact(number).to_string()
}

/// A number to four digits.
pub(super) fn rounded(number: f64) -> String {
    Rounded(number).to_string()
}
