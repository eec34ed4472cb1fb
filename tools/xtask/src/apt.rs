//! Packages of Debian and Ubuntu, installed where that can be done without asking.

use std::process::{Command, Stdio};

/// Right to install packages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Privilege {
    Root,
    /// `sudo` asks for no password.
    Sudo,
    #[default]
    None,
}

impl Privilege {
    /// Rights of this process.
    pub fn gather() -> Privilege {
        if output("id", &["-u"]).is_some_and(|id| id.trim() == "0") {
            Privilege::Root
        } else if output("sudo", &["-n", "env", "true"]).is_some() {
            Privilege::Sudo
        } else {
            Privilege::None
        }
    }
}

/// Whether there is `apt-get`.
pub fn exists() -> bool {
    output("apt-get", &["--version"]).is_some()
}

/// Installs packages, with or without `sudo`; whether that worked.
pub fn install(sudo: bool, packages: &[&str]) -> bool {
    // The lists of a fresh container are empty. An update that fails for one source of many may
    // still leave what is needed, so only the installation decides.
    apt_get(sudo, &["update", "--quiet"]);
    let mut arguments = vec!["install", "--quiet", "--yes", "--no-install-recommends"];
    arguments.extend(packages);
    apt_get(sudo, &arguments)
}

fn apt_get(sudo: bool, arguments: &[&str]) -> bool {
    let mut words = if sudo { vec!["sudo", "-n"] } else { vec![] };
    words.extend(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    words.extend(arguments);
    eprintln!("           {}", words.join(" "));
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Output of a program, if it exists and succeeds.
pub fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
