//! The last line that a command prints: what to look at next.

use std::fmt::Display;
use std::path::Path;

use super::terminal;

/// Prints what to look at next.
pub fn say(what: impl Display) {
    terminal::say(format_args!("next: {what}"));
}

/// The best command of this build to show a scene.
pub fn show(scene: &Path) -> String {
    let scene = word(scene);
    if cfg!(feature = "view") {
        format!("rockfall view {scene}")
    } else if cfg!(feature = "render") {
        format!("rockfall render {scene} --out frames")
    } else {
        format!("rockfall run {scene} --out results")
    }
}

/// A path, quoted so that a shell reads it as one word.
pub fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+,:=@%\\".contains(letter);
    match !text.is_empty() && text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_spaces_is_one_word() {
        for (path, expected) in [
            ("scenes/pile.json", "scenes/pile.json"),
            ("my pile.json", "'my pile.json'"),
            ("it's.json", r"'it'\''s.json'"),
            ("", "''"),
        ] {
            assert_eq!(word(Path::new(path)), expected);
        }
    }
}
