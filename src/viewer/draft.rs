//! Tuned values as a change of the scene's file, shown before it is made: comments and layout stay.

use std::path::{Path, PathBuf};

#[cfg(not(target_family = "wasm"))]
use imara_diff::{Algorithm, Diff, Hunk, InternedInput};
#[cfg(not(target_family = "wasm"))]
use jsonc_parser::ParseOptions;
#[cfg(not(target_family = "wasm"))]
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};

use super::panel::Wish;
use crate::model::Model;
use crate::model::view::SceneView;
#[cfg(not(target_family = "wasm"))]
use crate::model::{Law, PairLaw};

/// A change of a scene's file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Draft {
    pub path: PathBuf,
    /// The file as it was, and as it would be.
    pub before: String,
    pub after: String,
    /// The lines that change, with those around them.
    pub lines: Vec<(Changed, String)>,
    /// Sentences on changes that a scene's file cannot say.
    pub left_out: Vec<String>,
}

/// Fate of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    Not,
    Gone,
    New,
}

impl Draft {
    #[cfg(not(target_family = "wasm"))]
    /// The change of the file at `path`, which has `text`, from the model that was `written` there to the `tuned` one with the looks of
    /// walls that are `shown`. Only what `wishes` have changed is looked at: stages of a run change parameters, too.
    ///
    /// # Errors
    /// If the text is no scene, with a sentence.
    pub fn new(
        path: &Path,
        text: &str,
        written: &Model,
        (tuned, shown): (&Model, &SceneView),
        wishes: &[Wish],
    ) -> Result<Draft, String> {
        let unreadable = |problem: String| {
            format!(
                "the scene {} cannot be changed: {problem}; read it again first",
                path.display()
            )
        };
        let root = CstRootNode::parse(text, &ParseOptions::default())
            .map_err(|error| unreadable(error.to_string()))?;
        let scene = root
            .object_value()
            .ok_or_else(|| unreadable("it is not a JSON object".to_owned()))?;
        let mut left_out = Vec::new();
        for wish in wishes {
            match wish {
                Wish::Gravity(_) if tuned.gravity != written.gravity => {
                    let parts = tuned.gravity.to_array().map(number);
                    set(&scene, "gravity", CstInputValue::Array(parts.into()));
                }
                Wish::Drag(_) => {
                    let [before, now] = [written, tuned].map(|own| own.forces.groups[0].drag);
                    if now != before {
                        let drag = scene.object_value_or_set("drag");
                        set(&drag, "linear", number(now.linear));
                        set(&drag, "angular", number(now.angular));
                    }
                }
                Wish::TimeStep(_) if tuned.time_step != written.time_step => {
                    // That of a scene is divided by its substeps.
                    if tuned.contact.law == Law::Impulse {
                        left_out.push(
                            "The time step is left out: the scene divides its own into substeps."
                                .to_owned(),
                        );
                    } else {
                        let contact = scene.object_value_or_set("contact");
                        set(&contact, "time_step", number(tuned.time_step));
                    }
                }
                Wish::Pair(a, b, _) => pair(&scene, written, tuned, (*a, *b)),
                Wish::Wall(index, _) => wall(&scene, *index, &written.view, shown),
                _ => {}
            }
        }
        left_out.extend(stiffness(&scene, written, tuned));
        let after = root.to_string();
        Ok(Draft {
            path: path.to_owned(),
            before: text.to_owned(),
            lines: changed_lines(text, &after),
            after,
            left_out,
        })
    }

    /// A page has no file of the scene.
    ///
    /// # Errors
    /// With a sentence, always.
    #[cfg(target_family = "wasm")]
    pub fn new(
        path: &Path,
        _text: &str,
        _written: &Model,
        _tuned: (&Model, &SceneView),
        _wishes: &[Wish],
    ) -> Result<Draft, String> {
        let path = path.display();
        Err(format!(
            "a page cannot change {path}; change the scene's text next to the picture"
        ))
    }

    /// Whether the file would be another one.
    pub fn changes(&self) -> bool {
        self.before != self.after
    }
}

/// Lines of a text that another one lacks or adds, with two lines around them.
#[cfg(not(target_family = "wasm"))]
fn changed_lines(before: &str, after: &str) -> Vec<(Changed, String)> {
    const AROUND: u32 = 2;
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let hunks: Vec<Hunk> = diff.hunks().collect();
    let is_near = |line: u32, hunk: &Hunk| {
        line + AROUND >= hunk.before.start && line < hunk.before.end + AROUND
    };
    let mut lines = Vec::new();
    let mut show = |changed, of: &[_], range: std::ops::Range<u32>| {
        for line in range {
            if changed != Changed::Not || hunks.iter().any(|hunk| is_near(line, hunk)) {
                let text = input.interner[of[line as usize]].trim_end();
                lines.push((changed, text.to_owned()));
            }
        }
    };
    let mut next = 0;
    for hunk in &hunks {
        show(Changed::Not, &input.before, next..hunk.before.start);
        show(Changed::Gone, &input.before, hunk.before.clone());
        show(Changed::New, &input.after, hunk.after.clone());
        next = hunk.before.end;
    }
    show(Changed::Not, &input.before, next..input.before.len() as u32);
    lines
}

/// The coefficients of two materials: in the one material that there is, or in the entry of the pair.
#[cfg(not(target_family = "wasm"))]
fn pair(scene: &CstObject, written: &Model, tuned: &Model, (a, b): (usize, usize)) {
    let names = &tuned.materials;
    let of = |model: &Model| model.pairs[a * names.len() + b];
    let (before, now) = (of(written), of(tuned));
    type Value = fn(&PairLaw) -> f64;
    let coefficients: [(&str, Value); 3] = [
        ("restitution", |law| law.restitution),
        ("friction", |law| law.friction),
        ("rolling_friction", |law| law.rolling_friction),
    ];
    let changed = coefficients
        .iter()
        .filter(|(_, value)| value(&before) != value(&now));
    let mut changed = changed.peekable();
    if changed.peek().is_none() {
        return;
    }
    let place = match names.as_slice() {
        [only] => scene
            .object_value_or_set("materials")
            .object_value_or_set(only),
        _ => {
            let pairs = scene.array_value_or_set("pairs");
            let of_both = |entry: &CstObject| {
                let between = entry.get("between").and_then(|own| own.array_value());
                let between: Vec<String> = between.map_or(Vec::new(), |own| {
                    let texts = own
                        .elements()
                        .into_iter()
                        .filter_map(|own| own.as_string_lit());
                    texts.filter_map(|text| text.decoded_value().ok()).collect()
                });
                let is = |a: &String, b: &String| between == [a.as_str(), b.as_str()];
                is(&names[a], &names[b]) || is(&names[b], &names[a])
            };
            let entries = pairs.elements().into_iter();
            let mut entries = entries.filter_map(|entry| entry.as_object());
            entries.find(of_both).unwrap_or_else(|| {
                let both = [a, b].map(|index| CstInputValue::String(names[index].clone()));
                let between = ("between".to_owned(), CstInputValue::Array(both.into()));
                let new = pairs.append(CstInputValue::Object(vec![between]));
                new.as_object().expect("an object was added")
            })
        }
    };
    for (name, value) in changed {
        set(&place, name, number(value(&now)));
        // A scene has one of them.
        if *name == "restitution" {
            remove(&place, "damping");
        }
    }
}

/// The look of a wall: those of a model are the planes of its scene, and after them the walls.
#[cfg(not(target_family = "wasm"))]
fn wall(scene: &CstObject, index: usize, written: &SceneView, shown: &SceneView) {
    let entries = ["planes", "walls"].into_iter().flat_map(|name| {
        let list = scene.get(name).and_then(|own| own.array_value());
        list.map_or(Vec::new(), |list| list.elements())
    });
    let Some(entry) = entries.filter_map(|own| own.as_object()).nth(index) else {
        return;
    };
    let (before, now) = (written.wall(index), shown.wall(index));
    let give = |name: &str, is_other: bool, value: Option<CstInputValue>| match value {
        _ if !is_other => {}
        Some(value) => set(&entry, name, value),
        None => remove(&entry, name),
    };
    let hidden = (!now.visible).then_some(CstInputValue::Bool(false));
    give("visible", before.visible != now.visible, hidden);
    give(
        "opacity",
        before.opacity != now.opacity,
        now.opacity.map(number),
    );
    let colour = now.colour.map(|[red, green, blue]| {
        CstInputValue::String(format!("#{red:02x}{green:02x}{blue:02x}"))
    });
    give("colour", before.colour != now.colour, colour);
}

/// The stiffness, which a scene has for all pairs together; a sentence, if it cannot have it.
#[cfg(not(target_family = "wasm"))]
fn stiffness(scene: &CstObject, written: &Model, tuned: &Model) -> Option<String> {
    let both = written.pairs.iter().zip(&tuned.pairs);
    let mut changed = both.filter(|(before, now)| before.stiffness != now.stiffness);
    let (_, first) = changed.next()?;
    let same = tuned
        .pairs
        .iter()
        .all(|law| law.stiffness == first.stiffness);
    if !matches!(tuned.contact.law, Law::HookeViscous | Law::HookeHistory) {
        return Some(
            "The stiffness is left out: it follows from the moduli of the materials.".to_owned(),
        );
    }
    if !same {
        return Some(
            "The stiffness is left out: a scene has one for all materials; give all pairs the same."
                .to_owned(),
        );
    }
    let contact = scene.object_value_or_set("contact");
    set(&contact, "stiffness", number(first.stiffness));
    remove(&contact, "max_overlap");
    None
}

#[cfg(not(target_family = "wasm"))]
fn set(object: &CstObject, name: &str, value: CstInputValue) {
    match object.get(name) {
        Some(own) => own.set_value(value),
        None => {
            object.append(name, value);
        }
    }
}

#[cfg(not(target_family = "wasm"))]
fn remove(object: &CstObject, name: &str) {
    if let Some(own) = object.get(name) {
        own.remove();
    }
}

/// A number to six digits, which is more than a slider is set to.
#[cfg(not(target_family = "wasm"))]
fn number(value: f64) -> CstInputValue {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    CstInputValue::Number(crate::math::display::Exact(rounded).to_string())
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::model::forces::Drag;
    use crate::model::view::WallLook;

    const TWO: &str = r#"{
    "version": 1,
    // Two of them.
    "materials": {
        "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 },
        "steel": { "density": 7800, "restitution": 0.9, "friction": 0.2 }, // smooth
    },
    "contact": { "stiffness": 1e5, "tangential": "history" },
    "shapes": { "ball": { "sphere": { "radius": 0.5 }, "material": "stone" } },
    "pairs": [ { "between": ["steel", "stone"], "friction": 0.3 } ],
    "bodies": [ { "shape": "ball", "position": [0, 1, 0] } ]
}
"#;

    fn model(text: &str) -> Model {
        crate::scene::parse(text, "scene.json".as_ref())
            .unwrap()
            .model
    }

    fn tuned(text: &str, tune: impl Fn(&mut Model), wishes: &[Wish]) -> Draft {
        let written = model(text);
        let mut tuned = written.clone();
        tune(&mut tuned);
        let tuned = (&tuned, &tuned.view);
        Draft::new("scene.json".as_ref(), text, &written, tuned, wishes).unwrap()
    }

    #[test]
    fn what_was_tuned_is_in_the_file_and_nothing_else_changes() {
        let tune = |model: &mut Model| {
            model.gravity = DVec3::new(0.0, -1.62, 0.0);
            model.time_step = 2e-5;
            model.forces.groups[0].drag = Drag {
                linear: 0.25,
                angular: 0.0,
            };
            for index in [1, 2] {
                model.pairs[index].friction = 0.45;
            }
            model.pairs[0].rolling_friction = 0.1;
            for law in &mut model.pairs {
                law.stiffness = 2e5;
            }
        };
        let law = PairLaw::default();
        let wishes = [
            Wish::Gravity(DVec3::ZERO),
            Wish::TimeStep(0.0),
            Wish::Drag(Drag::default()),
            Wish::Pair(0, 1, law),
            Wish::Pair(0, 0, law),
        ];
        let draft = tuned(TWO, tune, &wishes);
        assert_eq!(draft.left_out, Vec::<String>::new());
        let (mut expected, found) = (model(TWO), model(&draft.after));
        tune(&mut expected);
        assert_eq!(found.gravity, expected.gravity);
        assert_eq!(found.time_step, expected.time_step);
        assert_eq!(found.forces.groups[0].drag, expected.forces.groups[0].drag);
        for (found, expected) in found.pairs.iter().zip(&expected.pairs) {
            assert_eq!(found.friction, expected.friction);
            assert_eq!(found.rolling_friction, expected.rolling_friction);
            assert_eq!(found.stiffness, expected.stiffness);
            assert_eq!(found.restitution, expected.restitution);
        }
        for kept in [
            "// Two of them.",
            "}, // smooth\n",
            "\"position\": [0, 1, 0] } ]",
        ] {
            assert!(draft.after.contains(kept), "{kept}: {}", draft.after);
        }
        let gone = draft.lines.iter().filter(|(own, _)| *own == Changed::Gone);
        // Those of contacts and pairs, and the last one, which gets a comma.
        assert_eq!(gone.count(), 3, "{:#?}", draft.lines);
    }

    #[test]
    fn one_material_has_its_own_coefficients() {
        let text = TWO
            .replace("\"steel\": { \"density\": 7800, \"restitution\": 0.9, \"friction\": 0.2 }, // smooth", "")
            .replace("\"pairs\": [ { \"between\": [\"steel\", \"stone\"], \"friction\": 0.3 } ],", "")
            .replace("\"restitution\": 0.5", "\"damping\": 3");
        let tune = |model: &mut Model| model.pairs[0].restitution = 0.25;
        let draft = tuned(&text, tune, &[Wish::Pair(0, 0, PairLaw::default())]);
        let found = model(&draft.after).pairs[0];
        assert_eq!((found.restitution, found.damping), (0.25, 0.0));
        assert!(
            draft.after.contains("\"restitution\": 0.25"),
            "{}",
            draft.after
        );
        // What nobody has tuned is not looked at, such as what a stage changed.
        let draft = tuned(&text, |model| model.gravity = DVec3::ZERO, &[]);
        assert!(!draft.changes());
    }

    #[test]
    fn looks_of_walls_are_in_the_file() {
        let text = TWO.replace(
            "\"bodies\"",
            r##""planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "steel" },
                { "point": [0, 9, 0], "normal": [0, -1, 0], "material": "steel", "visible": false } ],
    "walls": [ { "sphere": { "radius": 20 }, "material": "steel", "colour": "#ff0000", "opacity": 0.5 } ],
    "bodies""##,
        );
        let looks = [
            WallLook {
                opacity: Some(0.25),
                colour: Some([1, 2, 0xab]),
                ..WallLook::default()
            },
            WallLook::default(),
            WallLook {
                visible: false,
                colour: Some([255, 0, 0]),
                ..WallLook::default()
            },
        ];
        let tune = |model: &mut Model| model.view.walls = looks.to_vec();
        let wishes = [0, 1, 2].map(|index| Wish::Wall(index, WallLook::default()));
        let draft = tuned(&text, tune, &wishes);
        assert_eq!(draft.left_out, Vec::<String>::new());
        let found = model(&draft.after).view;
        for (index, look) in looks.iter().enumerate() {
            assert_eq!(found.wall(index), *look, "{}", draft.after);
        }
        // One that nobody has changed stays as it is written.
        let draft = tuned(&text, tune, &wishes[..1]);
        assert_eq!(model(&draft.after).view.wall(2), model(&text).view.wall(2));
    }

    #[test]
    fn what_a_scene_cannot_say_is_said() {
        let tune = |model: &mut Model| model.pairs[0].stiffness = 3e5;
        let draft = tuned(TWO, tune, &[Wish::Pair(0, 0, PairLaw::default())]);
        assert!(!draft.changes());
        assert!(draft.left_out[0].contains("one for all materials"));
        let model = model(TWO);
        let error = Draft::new(
            "scene.json".as_ref(),
            "{ \"version\": ",
            &model,
            (&model, &model.view),
            &[],
        );
        assert!(error.unwrap_err().contains("read it again first"));
    }
}
