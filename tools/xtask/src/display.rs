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

/// Installs what is missing, where that can be done. Without it, the tests of the window are reported as
/// ignored and films are not tested, and the rest goes on.
pub fn provide() {
    if !cfg!(target_os = "linux") {
        eprintln!("           the window is tested on Linux only");
        return;
    }
    if missing().is_empty() {
        eprintln!("           Xvfb, xdotool and ffmpeg");
        return;
    }
    let privilege = Privilege::gather();
    if apt::exists() && privilege != Privilege::None {
        apt::install(privilege == Privilege::Sudo, &PACKAGES);
    }
    if let Some(sentence) = complaint(&missing()) {
        eprintln!("           {sentence}");
    }
}

/// What there is to say of programs that are missing.
fn complaint(missing: &[&str]) -> Option<String> {
    (!missing.is_empty()).then(|| {
        format!(
            "without {} the tests of the window and of films are ignored; to run them, install it \
             (Debian and Ubuntu: sudo apt-get install {}; Fedora: xorg-x11-server-Xvfb xdotool \
             ffmpeg-free; Arch: xorg-server-xvfb xdotool ffmpeg)",
            missing.join(" and "),
            PACKAGES.join(" ")
        )
    })
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
        assert_eq!(complaint(&[]), None);
        let sentence = complaint(&["Xvfb"]).unwrap();
        assert!(sentence.starts_with("without Xvfb the tests"), "{sentence}");
        assert!(sentence.contains("apt-get install xvfb"), "{sentence}");
    }
}
