//! Notes the commit that the program is built from, for what runs say of themselves.

use std::process::Command;

fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
    };
    let mut commit = git(&["rev-parse", "--short=12", "HEAD"]);
    if let Some(commit) = &mut commit
        && git(&["status", "--porcelain", "--untracked-files=no"]).is_some()
    {
        commit.push_str(", with changes");
    }
    println!(
        "cargo::rustc-env=ROCKFALL_COMMIT={}",
        commit.unwrap_or_default()
    );
    // Without a word on what it depends on, Cargo asks again whenever a file of the package changes.
    for path in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", path]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    for path in ["build.rs", "Cargo.toml", "src", "shaders"] {
        println!("cargo::rerun-if-changed={path}");
    }
}
