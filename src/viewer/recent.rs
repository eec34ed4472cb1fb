//! Recent files, listed in a file where the system keeps the states of programs.

use std::fs;
use std::path::{Path, PathBuf};

/// Most paths that are kept.
const MOST: usize = 12;

/// Scenes that were opened last, the newest first.
#[derive(Debug, Default)]
pub(super) struct Recent {
    /// File in which they are kept, one a line; none if the system has no place for it.
    file: Option<PathBuf>,
    paths: Vec<PathBuf>,
}

impl Recent {
    /// Reads them from a file, if there is one.
    pub fn read(file: Option<PathBuf>) -> Recent {
        let text = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        let paths = text.iter().flat_map(|text| text.lines());
        Recent {
            paths: paths.map(PathBuf::from).take(MOST).collect(),
            file,
        }
    }

    /// Returns the paths that are still there.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let paths = self.paths.iter().map(PathBuf::as_path);
        paths.filter(|path| path.exists())
    }

    /// Puts a path first. Where that cannot be kept, it is known to this window alone.
    pub fn add(&mut self, path: &Path) {
        let Ok(path) = path.canonicalize() else {
            return;
        };
        self.paths.retain(|own| *own != path);
        self.paths.insert(0, path);
        self.paths.truncate(MOST);
        let Some(file) = &self.file else { return };
        let lines = self
            .paths
            .iter()
            .map(|path| format!("{}\n", path.display()));
        let text: String = lines.collect();
        let folder = file.parent().map_or(Ok(()), fs::create_dir_all);
        if let Err(error) = folder.and_then(|()| fs::write(file, text)) {
            tracing::debug!(%error, "what was opened last cannot be kept");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_comes_first_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().canonicalize().unwrap().join(name);
        for name in ["a.json", "b.json", "c.json"] {
            fs::write(path(name), "").unwrap();
        }
        let file = path("states/recent");
        let mut recent = Recent::read(Some(file.clone()));
        for name in ["a.json", "b.json", "c.json", "a.json", "none.json"] {
            recent.add(&path(name));
        }
        fs::remove_file(path("c.json")).unwrap();
        let again = Recent::read(Some(file));
        let expected = [path("a.json"), path("b.json")];
        assert!(again.paths().eq(expected.iter().map(PathBuf::as_path)));
    }
}
