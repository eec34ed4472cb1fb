//! Sources of the files that a scene names: meshes, contact laws, checkpoints.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use super::error::closest;
use super::stored::Stored;
use crate::simulation::checkpoint::Storage;

/// The files that a scene names.
///
/// [`Disk`] has those of the file system. A map has files in memory, by their paths:
///
/// ```
/// use std::collections::BTreeMap;
///
/// let tetrahedron = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
/// let files = BTreeMap::from([("meshes/tetrahedron.obj".into(), tetrahedron.into())]);
/// let text = r#"{
///     "version": 1,
///     "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
///     "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "stone" } },
///     "walls": [ { "mesh": { "file": "meshes/tetrahedron.obj" }, "material": "stone" } ],
///     "bodies": [ { "shape": "ball", "position": [0, 2, 0] } ]
/// }"#;
/// let scene = rockfall::scene::parse_with(text, "scene.json".as_ref(), &files)?;
/// assert_eq!(scene.model.walls.len(), 1);
/// # Ok::<(), rockfall::scene::SceneError>(())
/// ```
pub trait Files {
    /// The bytes of a file. A scene in `folder/scene.json` that names `stone.obj` asks for `folder/stone.obj`.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if there is no such file, [`io::ErrorKind::IsADirectory`] if it is a folder, else
    /// why it cannot be read.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// A file that may be too large to read all of it at once.
    ///
    /// # Errors
    /// As [`Files::read`].
    fn open(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        Ok(Box::new(self.read(path)?))
    }

    /// The files in the folder of `path`, among which an error looks for the one that may have been meant.
    fn beside(&self, path: &Path) -> Vec<PathBuf>;
}

/// Most bytes of what is no file of a disk, such as a pipe: it may have no end.
const MOST_OF_A_PIPE: u64 = 1 << 26;

/// The files on disk; relative paths start at the current folder.
///
/// Of what is no file, such as a pipe, it reads 64 MiB at most.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

/// Reads all of a file.
fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    if file.metadata()?.is_file() {
        file.read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    file.take(MOST_OF_A_PIPE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_OF_A_PIPE {
        let problem = format!("it does not end within {} MiB", MOST_OF_A_PIPE >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        read_whole(path).map_err(|error| match path.is_dir() {
            // Not all systems say so.
            true => io::ErrorKind::IsADirectory.into(),
            false => error,
        })
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        match path.is_file() {
            true => Ok(Box::new(Stored::open(path)?)),
            false => Ok(Box::new(self.read(path)?)),
        }
    }

    fn beside(&self, path: &Path) -> Vec<PathBuf> {
        let folder = match path.parent() {
            Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
            Some(parent) => parent,
            None => return Vec::new(),
        };
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect()
    }
}

/// The files on disk that lie in one folder or below it: a scene from elsewhere can read no others.
#[derive(Clone, Debug)]
pub struct Inside {
    folder: PathBuf,
}

impl Inside {
    /// The files in the folder of a scene.
    pub fn of(scene: &Path) -> Inside {
        let folder = scene.parent().unwrap_or(Path::new(""));
        let folder = match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        };
        Inside {
            folder: folder.to_owned(),
        }
    }

    /// An error for a path that leaves the folder.
    fn admits(&self, path: &Path) -> io::Result<()> {
        match self.has(path) {
            true => Ok(()),
            false => Err(io::Error::other(
                "it lies outside of the folder of the scene; if you trust the scene, add --allow-outside",
            )),
        }
    }

    /// Whether a path stays in the folder, as it is written and as links lead it.
    fn has(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.folder).unwrap_or(path);
        let mut depth = 0_i64;
        for part in below.components() {
            depth += match part {
                Component::Normal(_) => 1,
                Component::CurDir => 0,
                Component::ParentDir => -1,
                Component::RootDir | Component::Prefix(_) => i64::MIN / 2,
            };
            if depth < 0 {
                return false;
            }
        }
        match (fs::canonicalize(path), fs::canonicalize(&self.folder)) {
            (Ok(path), Ok(folder)) => path.starts_with(folder),
            // What is not there is not read.
            _ => true,
        }
    }
}

impl Files for Inside {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.admits(path)?;
        Disk.read(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        self.admits(path)?;
        Disk.open(path)
    }

    fn beside(&self, path: &Path) -> Vec<PathBuf> {
        match self.has(path) {
            true => Disk.beside(path),
            false => Vec::new(),
        }
    }
}

impl Files for BTreeMap<PathBuf, Vec<u8>> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let is_folder = || self.keys().any(|file| file.starts_with(path));
        match self.get(path) {
            Some(bytes) => Ok(bytes.clone()),
            None if is_folder() => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn beside(&self, path: &Path) -> Vec<PathBuf> {
        let files = self.keys().filter(|file| file.parent() == path.parent());
        files.cloned().collect()
    }
}

/// The folder of a scene.
#[derive(Clone, Copy)]
pub(super) struct Folder<'a> {
    pub path: &'a Path,
    pub files: &'a dyn Files,
}

impl Folder<'_> {
    /// The path of a file that the scene names.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// The file with the ending of a missing one, beside it, with the most similar name.
pub(super) fn neighbour(files: &dyn Files, missing: &Path) -> Option<PathBuf> {
    let ending = missing.extension()?;
    let beside = files.beside(missing).into_iter();
    let alike = beside.filter(|path| path.extension() == Some(ending));
    let stems: Vec<String> = alike
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    let stem = closest(
        missing.file_stem()?.to_str()?,
        stems.iter().map(String::as_str),
    )?;
    let mut name = std::ffi::OsString::from(stem);
    name.push(".");
    name.push(ending);
    Some(missing.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_has_no_end_is_not_read_to_it() {
        let error = Disk.read("/dev/zero".as_ref()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(error.to_string().contains("64 MiB"), "{error}");
        assert!(Disk.read("/dev/null".as_ref()).unwrap().is_empty());
    }

    #[test]
    fn a_scene_reads_what_lies_in_its_folder() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("scenes");
        fs::create_dir_all(folder.join("meshes")).unwrap();
        fs::write(folder.join("meshes/stone.obj"), "inside").unwrap();
        fs::write(place.path().join("secret"), "outside").unwrap();
        let files = Inside::of(&folder.join("scene.json"));
        let read = |name: &str| files.read(&folder.join(name));
        assert_eq!(read("meshes/stone.obj").unwrap(), b"inside");
        assert_eq!(read("meshes/../meshes/stone.obj").unwrap(), b"inside");
        let missing = read("meshes/nothing.obj").unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let absolute = place.path().join("secret");
        let mut outside = vec![
            "../secret",
            "meshes/../../secret",
            absolute.to_str().unwrap(),
        ];
        if cfg!(unix) {
            #[cfg(unix)]
            std::os::unix::fs::symlink(&absolute, folder.join("link.obj")).unwrap();
            outside.push("link.obj");
        }
        for name in outside {
            let opened = files.open(&folder.join(name)).map(|_| ());
            for result in [read(name).map(|_| ()), opened] {
                let error = result.unwrap_err().to_string();
                assert!(error.contains("--allow-outside"), "{name}: {error}");
            }
            assert_eq!(files.beside(&folder.join(name)).len(), 0, "{name}");
        }
    }

    fn files(names: &[&str]) -> BTreeMap<PathBuf, Vec<u8>> {
        let file = |name: &&str| (PathBuf::from(name), name.as_bytes().to_vec());
        names.iter().map(file).collect()
    }

    #[test]
    fn a_map_answers_as_a_disk_does() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["scene.json", "run/run.checkpoint", "run/stone.obj"];
        fs::create_dir(folder.path().join("run")).unwrap();
        for name in names {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let map = files(&names);
        for asked in [
            "scene.json",
            "run/stone.obj",
            "run",
            "nothing.json",
            "nothing/at.all",
        ] {
            let path = folder.path().join(asked);
            let all = |opened: Box<dyn Storage>| {
                let mut bytes = vec![0; opened.length() as usize];
                opened.read_at(0, &mut bytes).map(|()| bytes)
            };
            let [first, others @ ..] = [
                Disk.read(&path),
                map.read(Path::new(asked)),
                Disk.open(&path).and_then(all),
                map.open(Path::new(asked)).and_then(all),
            ]
            .map(|bytes| bytes.map_err(|error| error.kind()));
            assert!(others.iter().all(|other| *other == first), "{asked}");
        }
        let meant = neighbour(&map, Path::new("run/stoone.obj"));
        assert_eq!(meant, Some("run/stone.obj".into()));
        let path = folder.path().join("run/stoone.obj");
        let meant = neighbour(&Disk, &path).unwrap();
        assert!(meant.ends_with("run/stone.obj"), "{}", meant.display());
        assert_eq!(neighbour(&map, Path::new("stoone.obj")), None);
    }
}
