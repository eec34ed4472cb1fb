//! A virtual display for the tests of the window, and ffmpeg for those of films.

use std::process::{Command, Stdio};

use crate::apt::{self, Privilege};

/// The programs that the tests start, each with an argument that makes it end at once.
const PROGRAMS: [(&str, &str); 3] = [
    ("Xvfb", "-help"),
    ("xdotool", "version"),
    ("ffmpeg", "-version"),
];

/// Debian's and Ubuntu's names of these, and of what a window loads while it runs.
const PACKAGES: [&str; 8] = [
    "xvfb",
    "xdotool",
    "ffmpeg",
    "libx11-6",
    "libx11-xcb1",
    "libxcursor1",
    "libxi6",
    "libxkbcommon-x11-0",
];

/// Installs what is missing, where that can be done. Without a display, the tests of the window are reported as
/// ignored and the rest goes on; without ffmpeg, the test of films would fail.
pub fn provide() -> Result<(), String> {
    let privilege = Privilege::gather();
    if !missing().is_empty() && apt::exists() && privilege != Privilege::None {
        apt::install(privilege == Privilege::Sudo, &PACKAGES);
    }
    eprintln!("           {}", outcome(&missing())?);
    Ok(())
}

/// A word on the programs that are missing; an error if the tests fail without them.
fn outcome(missing: &[&str]) -> Result<String, String> {
    let remedy = format!(
        "install it (Debian and Ubuntu: sudo apt-get install {}; Fedora: xorg-x11-server-Xvfb xdotool \
         ffmpeg-free; Arch: xorg-server-xvfb xdotool ffmpeg)",
        PACKAGES.join(" ")
    );
    match missing {
        [] => Ok("Xvfb, xdotool and ffmpeg".to_owned()),
        _ if missing.contains(&"ffmpeg") => {
            Err(format!("films cannot be tested without ffmpeg; {remedy}"))
        }
        _ if !cfg!(target_os = "linux") => Ok("the window is tested on Linux only".to_owned()),
        _ => Ok(format!(
            "without {} the tests of the window are ignored; to run them, {remedy}",
            missing.join(" and ")
        )),
    }
}

fn missing() -> Vec<&'static str> {
    let lacks = |(program, argument): &(&str, &str)| {
        let mut command = Command::new(program);
        command.arg(argument).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_err()
    };
    let programs = PROGRAMS.into_iter().filter(lacks);
    programs.map(|(program, _)| program).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_what_to_do() {
        assert_eq!(outcome(&[]).unwrap(), "Xvfb, xdotool and ffmpeg");
        let sentence = outcome(&["xdotool", "ffmpeg"]).unwrap_err();
        assert!(sentence.starts_with("films cannot be tested"), "{sentence}");
        assert!(sentence.contains("apt-get install xvfb"), "{sentence}");
        if cfg!(target_os = "linux") {
            let sentence = outcome(&["Xvfb"]).unwrap();
            assert!(sentence.starts_with("without Xvfb the tests"), "{sentence}");
            assert!(sentence.contains("apt-get install xvfb"), "{sentence}");
        }
    }
}
