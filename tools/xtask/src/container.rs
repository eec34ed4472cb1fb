//! An image of a container with the program.

use std::fs;
use std::process::Command;

use crate::apt::output;
use crate::python::{succeed, target};
use crate::release;

/// Programs that build images and run them, as they are called.
const ENGINES: [&str; 2] = ["podman", "docker"];

/// Builds the image `rockfall` from the package of [`release::files`]. The build runs the program.
///
/// It starts from `base`, or else from the system on which the package is built, because that has the same libraries.
///
/// # Errors
/// With a sentence, if there is no engine, or a part does not build.
pub fn build(base: Option<&str>) -> Result<(), String> {
    let works = |engine: &&&str| output(engine, &["info"]).is_some();
    let Some(engine) = ENGINES.iter().find(works) else {
        return Err(format!(
            "no {} works here; one of them builds the image (Debian and Ubuntu: sudo apt-get install podman)",
            ENGINES.join(" or ")
        ));
    };
    let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let base = match base {
        Some(base) => base.to_owned(),
        None => image_of(&system)?,
    };
    let files = target().join("files");
    if files.exists() {
        fs::remove_dir_all(&files).map_err(|error| format!("{}: {error}", files.display()))?;
    }
    release::files(&files)?;
    let mut build = Command::new(engine);
    build
        .args([
            "build",
            "--file",
            "packaging/Containerfile",
            "--tag",
            "rockfall",
        ])
        .args(["--build-arg", &format!("BASE={base}")])
        .arg(&files);
    succeed(&mut build)
}

/// The image of a system that `/etc/os-release` describes.
fn image_of(system: &str) -> Result<String, String> {
    let value = |name: &str| {
        let line = system
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.map(|value| value.trim_matches('"'))
    };
    match (value("ID"), value("VERSION_CODENAME")) {
        (Some("debian"), Some(release)) => Ok(format!("docker.io/library/debian:{release}-slim")),
        (Some("ubuntu"), Some(release)) => Ok(format!("docker.io/library/ubuntu:{release}")),
        _ => Err("the image is built on Debian or Ubuntu, which this system is not".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_is_of_the_system_that_builds() {
        let debian = "NAME=\"Debian GNU/Linux\"\nVERSION_CODENAME=bookworm\nID=debian\n";
        assert_eq!(
            image_of(debian).unwrap(),
            "docker.io/library/debian:bookworm-slim"
        );
        let ubuntu = "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n";
        assert_eq!(image_of(ubuntu).unwrap(), "docker.io/library/ubuntu:noble");
        assert!(
            image_of("ID=fedora\n")
                .unwrap_err()
                .contains("Debian or Ubuntu")
        );
    }
}
