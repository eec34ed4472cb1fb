//! What Mesa's compiler for AMD's GPUs makes of the passes: the tool is a package of its own, for it needs the library.

use std::process::Command;

use crate::python;

/// Builds the tool with all that the tests are built with, and runs it.
///
/// # Errors
/// With a sentence, if it cannot be built or something is worse than what is kept.
pub fn run(arguments: &[String]) -> Result<(), String> {
    // As the tests are built: with the package alone, what it depends on would be compiled anew with other features.
    let mut build = crate::cargo([
        "test",
        "--quiet",
        "--workspace",
        "--test",
        "compare",
        "--no-run",
    ]);
    python::succeed(&mut build)?;
    let tool = python::target().join("debug").join("isa");
    python::succeed(Command::new(tool).args(arguments))
}
