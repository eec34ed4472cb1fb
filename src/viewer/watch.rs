//! Files that are read again when they change.

use std::path::{Path, PathBuf};

#[cfg(not(target_family = "wasm"))]
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

/// Watches the folder of a scene and, in a development build, those of the shaders.
#[cfg(not(target_family = "wasm"))]
pub(super) struct Watch {
    watcher: Option<RecommendedWatcher>,
    folder: Option<PathBuf>,
}

/// Returns the folder of the pictures' shaders in the checkout that this was built from, if this is a development
/// build.
pub(super) fn shaders() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders/render");
    (cfg!(debug_assertions) && folder.is_dir()).then_some(folder)
}

#[cfg(not(target_family = "wasm"))]
impl Watch {
    /// Calls `changed` with each file that changes. Where files cannot be watched, it is never called.
    pub fn new(changed: impl Fn(PathBuf) + Send + 'static) -> Watch {
        let tell = move |event: notify::Result<notify::Event>| {
            if let Ok(event) = event
                && !event.kind.is_access()
            {
                event.paths.into_iter().for_each(&changed);
            }
        };
        let mut watcher = notify::recommended_watcher(tell).ok();
        if let (Some(watcher), Some(folder)) = (&mut watcher, shaders()) {
            let _ = watcher.watch(&folder, RecursiveMode::NonRecursive);
        }
        Watch {
            watcher,
            folder: None,
        }
    }

    /// Watches the folder of a scene from now on, and no longer that of the one before: editors
    /// replace files, so that a watch on the file itself would be lost.
    pub fn follow(&mut self, scene: &Path) {
        let folder = match scene.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        if self.folder.as_ref() == Some(&folder) {
            return;
        }
        if let Some(watcher) = &mut self.watcher {
            if let Some(old) = &self.folder {
                let _ = watcher.unwatch(old);
            }
            if watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok() {
                self.folder = Some(folder);
            }
        }
    }
}

/// A page has no files that change.
#[cfg(target_family = "wasm")]
pub(super) struct Watch;

#[cfg(target_family = "wasm")]
impl Watch {
    pub fn follow(&mut self, _: &Path) {}
}
