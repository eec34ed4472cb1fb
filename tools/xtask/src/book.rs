//! The handbook: generates its reference from the JSON Schema, and builds the site with mdBook.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::python::{self, succeed};

const BOOK: &str = "docs/book";

/// Mistakes in scenes, each with its message, which tests check.
const MISTAKES: &str = "tests/data/scene_mistakes.txt";

/// Builds the handbook in `out`, by default `target/book`.
///
/// # Errors
/// If a page cannot be built.
pub fn build(out: Option<&Path>) -> Result<(), String> {
    let book = Path::new(BOOK);
    python::build_as_tests_do()?;
    let output = Command::new(python::program("debug"))
        .args(["schema", "--markdown", "--mistakes", MISTAKES])
        .output()
        .map_err(|error| format!("`rockfall schema --markdown` does not start: {error}"))?;
    let page = book.join("src/reference/scene.md");
    fs::write(&page, output.stdout).map_err(|error| format!("{}: {error}", page.display()))?;

    // mdBook is one program, which comes as a wheel.
    let python = python::provide("book-tools", "docs/book/requirements.txt")?;
    let mdbook = python.with_file_name(if cfg!(windows) {
        "mdbook.exe"
    } else {
        "mdbook"
    });
    let mut mdbook = Command::new(mdbook);
    mdbook.arg("build").arg(book);
    if let Some(out) = out {
        let here = env::current_dir().map_err(|error| error.to_string())?;
        mdbook.arg("--dest-dir").arg(here.join(out));
    }
    succeed(&mut mdbook)
}
