//! Every shader, as naga writes it, through DXC, Microsoft's compiler for Direct3D 12: npm's package `webgpu` has DXC for
//! Windows, and Wine runs it.

use std::process::Command;

use crate::apt::{self, Privilege};
use crate::{npm, python, tint};

/// Packages of Debian and Ubuntu: Wine, and a compiler that makes the program which Wine runs.
const PACKAGES: [&str; 2] = ["wine64", "gcc-mingw-w64-x86-64"];
const COMPILER: &str = "x86_64-w64-mingw32-gcc";
const SOURCE: &str = "tools/dxc/compile.c";

/// Has DXC compile every shader; prints a remedy where DXC is missing.
///
/// # Errors
/// If it rejects one.
pub fn check() -> Result<(), String> {
    let Some(package) = npm::package(tint::PACKAGE) else {
        eprintln!("           ignored: {}", tint::REMEDY);
        return Ok(());
    };
    let Some(wine) = provide() else {
        let packages = PACKAGES.join(" ");
        eprintln!(
            "           ignored: DXC needs Wine and a compiler for Windows (Debian and Ubuntu: sudo apt-get install {packages})"
        );
        return Ok(());
    };
    let folder = python::target().join("hlsl");
    let mut shaders = crate::cargo(["test", "--quiet", "--workspace", "--test", "it", "--"]);
    shaders
        .args(["--exact", "shaders::every_shader_is_put_down_for_direct3d"])
        .env("ROCKFALL_HLSL", &folder);
    python::succeed(&mut shaders)?;
    let program = folder.join("compile.exe");
    python::succeed(
        Command::new(COMPILER)
            .args(["-O1", "-o"])
            .arg(&program)
            .arg(SOURCE),
    )?;
    let mut compile = Command::new(wine);
    compile
        .arg("compile.exe")
        .arg(package.join("dist/win32-x64/dxcompiler.dll"))
        .arg("list.txt")
        .current_dir(&folder)
        .env("WINEPREFIX", folder.join("wine"))
        .env("WINEDEBUG", "-all");
    python::succeed(&mut compile)
}

/// Wine, if the compiler is there, too; what is missing is installed if that can be done without asking.
fn provide() -> Option<&'static str> {
    let there = || {
        apt::output(COMPILER, &["--version"])?;
        let programs = ["wine64", "wine", "/usr/lib/wine/wine64"];
        let answers = |program: &&str| apt::output(program, &["--version"]).is_some();
        programs.into_iter().find(answers)
    };
    let privilege = Privilege::gather();
    if there().is_none() && apt::exists() && privilege != Privilege::None {
        apt::install(privilege == Privilege::Sudo, &PACKAGES);
    }
    there()
}
