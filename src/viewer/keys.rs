//! Keys and their actions: one table, for the window and for its help.

use winit::keyboard::{Key, NamedKey};

/// Action of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described in KEYS")]
pub(super) enum Action {
    Play,
    Step,
    Reset,
    Faster,
    Slower,
    Gravity,
    Pick,
    Camera,
    Fit,
    Colour,
    Record,
    Picture,
    Panel,
    Next,
    Previous,
    Undo,
    Save,
    Open,
    Gallery,
    Help,
    Quit,
}

/// Keys as they are written, and what they do.
pub(super) const KEYS: &[(&[&str], Action, &str)] = &[
    (&["space", "k"], Action::Play, "play and pause"),
    (&["s", "."], Action::Step, "pause and take a single step"),
    (&["r"], Action::Reset, "back to the start"),
    (&["+", "="], Action::Faster, "twice as fast"),
    (&["-"], Action::Slower, "half as fast"),
    (&["g"], Action::Gravity, "gravity off and on"),
    (
        &["p"],
        Action::Pick,
        "the mouse picks and pulls bodies, and moves planes",
    ),
    (&["v"], Action::Camera, "the mouse moves the camera"),
    (&["f"], Action::Fit, "the scene fills the window"),
    (&["c"], Action::Colour, "colour by the next quantity"),
    (&["o"], Action::Record, "start and end a film"),
    (&["i"], Action::Picture, "save a picture"),
    (&["tab"], Action::Panel, "hide and show the panel"),
    (&["n"], Action::Next, "the next scene of the folder"),
    (&["b"], Action::Previous, "the previous scene"),
    (
        &["a"],
        Action::Gallery,
        "all scenes of the folder, and back",
    ),
    (
        &["u", "ctrl+z"],
        Action::Undo,
        "undo the last change of a parameter",
    ),
    (
        &["ctrl+s"],
        Action::Save,
        "save the parameters to the scene's file",
    ),
    (&["ctrl+o"], Action::Open, "open another file"),
    (&["h", "?", "F1"], Action::Help, "this help"),
    (&["q"], Action::Quit, "close the window"),
];

/// Actions of the mouse.
pub(super) const MOUSE: &[(&str, &str)] = &[
    (
        "left button",
        "turn the camera; with p, pull the picked body",
    ),
    ("right or middle button", "shift the camera"),
    ("shift and left button", "shift the camera"),
    ("wheel, pinch", "zoom"),
    ("two fingers", "turn the camera; with shift, move it"),
    ("click", "pick a body"),
    ("a file", "dropped on the window, is opened"),
];

/// The character of a key, to which a scene may bind a force.
pub(super) fn character(key: &Key) -> Option<char> {
    let Key::Character(text) = key else {
        return None;
    };
    let mut characters = text.chars();
    characters.next().filter(|_| characters.next().is_none())
}

/// Action of a key, if it has one, alone or with the control key (or ⌘).
pub(super) fn action(key: &Key, control: bool) -> Option<Action> {
    let name = match key {
        Key::Character(text) if control => format!("ctrl+{}", text.to_lowercase()),
        Key::Named(NamedKey::Space) => "space".to_owned(),
        Key::Named(NamedKey::Tab) => "tab".to_owned(),
        Key::Named(NamedKey::F1) => "F1".to_owned(),
        Key::Character(text) => text.to_lowercase(),
        _ => return None,
    };
    let found = KEYS.iter().find(|(keys, ..)| keys.contains(&name.as_str()));
    found.map(|(_, action, _)| *action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_does_one_thing() {
        let mut keys: Vec<&str> = KEYS.iter().flat_map(|(keys, ..)| *keys).copied().collect();
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    #[test]
    fn keys_are_found_in_upper_case_too() {
        let key = |text: &str| action(&Key::Character(text.into()), false);
        assert_eq!(key("k"), Some(Action::Play));
        assert_eq!(key("K"), Some(Action::Play));
        let space = Key::Named(NamedKey::Space);
        assert_eq!(action(&space, false), Some(Action::Play));
        assert_eq!(key("z"), None);
        let with_control = |text: &str| action(&Key::Character(text.into()), true);
        assert_eq!(with_control("Z"), Some(Action::Undo));
        assert_eq!(with_control("r"), None);
    }
}
