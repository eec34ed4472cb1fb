//! Notes the commit that the program is built from, for what runs say of themselves; and which vector instructions the CPU
//! engine may use.

use std::process::Command;

/// The most that the CPU engine may use of a processor of the x86-64 kind: `ROCKFALL_SIMD` holds a build to less, so that its
/// bits can be compared with those of others.
const SIMD: [&str; 3] = ["avx512", "avx2", "portable"];

fn simd() {
    let wanted = std::env::var("ROCKFALL_SIMD").unwrap_or_else(|_| SIMD[0].to_owned());
    assert!(
        SIMD.contains(&wanted.as_str()),
        "ROCKFALL_SIMD is {wanted:?}, expected one of {SIMD:?}"
    );
    println!("cargo::rustc-cfg=simd={wanted:?}");
    println!("cargo::rustc-check-cfg=cfg(simd, values(\"avx512\", \"avx2\", \"portable\"))");
    println!("cargo::rerun-if-env-changed=ROCKFALL_SIMD");
}

fn main() {
    simd();
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
    };
    // Development builds do without it: each commit would compile the library anew.
    let wanted = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let mut commit = match wanted {
        true => git(&["rev-parse", "--short=12", "HEAD"]),
        false => None,
    };
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
    for path in ["HEAD", "logs/HEAD"].into_iter().filter(|_| wanted) {
        if let Some(path) = git(&["rev-parse", "--git-path", path]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    for path in ["build.rs", "Cargo.toml", "src", "shaders"] {
        println!("cargo::rerun-if-changed={path}");
    }
}
