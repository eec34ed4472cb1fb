//! The passes as Mesa's compiler for AMD's GPUs compiles them. The tool is a package of its own, because it needs the library.

use std::process::Command;

use crate::python;

/// Builds the tool with the features of the tests, and runs it.
///
/// # Errors
/// With a sentence, if it cannot be built or a number is worse than the one that is kept.
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
