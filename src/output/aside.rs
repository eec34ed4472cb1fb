use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Writes a file whole or not at all: to a name of its own beside `path`, then renamed. Who is stopped
/// in between leaves the file of before, and one whose name ends in `.part`.
///
/// With `durable`, the file has reached the disk when this returns, and survives a loss of power.
///
/// # Errors
/// If the file cannot be written, or `write` fails.
pub fn write_aside(
    path: &Path,
    durable: bool,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let part = part(path);
    let mut writer = BufWriter::with_capacity(1 << 18, File::create(&part)?);
    write(&mut writer)?;
    let file = writer
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    if !durable {
        return fs::rename(&part, path);
    }
    file.sync_all()?;
    name(&part, path)
}

/// Gives a file that has reached the disk its name, which it has still after a loss of power.
///
/// # Errors
/// If it cannot be renamed.
#[doc(hidden)]
pub fn name(part: &Path, path: &Path) -> io::Result<()> {
    fs::rename(part, path)?;
    if cfg!(unix) {
        // The new name is an entry of the folder, which is a file as well.
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

/// Returns the path at which a file is written before it has its name.
#[doc(hidden)]
pub fn part(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".part");
    name.into()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_writer_that_fails_leaves_the_file_of_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_aside(&path, true, |writer| writer.write_all(b"first")).unwrap();
        let failed = write_aside(&path, true, |writer| {
            writer.write_all(b"second")?;
            Err(io::Error::other("stopped"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"first");
        write_aside(&path, false, |writer| writer.write_all(b"third")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"third");
    }
}
