//! Contact laws of the user's own, in WGSL.

use std::fs;
use std::path::Path;

use crate::common::{device, own, trace_of};
use rockfall::state::trace::Sample;
use rockfall::step::gpu::shaders::check_law;
use rockfall::{Simulation, scene};

const SIGNATURE: &str =
    "fn contact_law(contact: Contact, pair: Pair, history: History, params: Params) -> Response";

/// A ball that falls on a floor, by the law in `folder`.
fn ball(folder: &Path, contact: &str, speed: f64) -> scene::Scene {
    let text = format!(
        r#"{{ "version": 1, "duration": 1.0, "gravity": [0, 0, 0], "contact": {contact},
             "materials": {{ "m": {{ "density": 2600, "restitution": 0.8, "friction": 0.3 }} }},
             "shapes": {{ "ball": {{ "sphere": {{ "radius": 0.05 }}, "material": "m" }} }},
             "planes": [ {{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "m" }} ],
             "bodies": [ {{ "shape": "ball", "position": [0, 0.051, 0], "velocity": [1, -{speed}, 0] }} ] }}"#
    );
    scene::parse(&text, &folder.join("scene.json")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn balls_that_dent_have_one_restitution_at_all_speeds() {
    let contact = r#"{ "normal": "custom", "file": "walton_braun.wgsl", "stiffness": 1e5, "time_step": 2e-5 }"#;
    for speed in [0.5, 2.0] {
        let scene = ball(&own("scenes/laws"), contact, speed);
        let mut simulation = Simulation::on_gpu(scene.model, device()).unwrap();
        simulation.step(700).unwrap();
        let velocity = simulation.bodies().unwrap()[0].velocity.y;
        assert!(
            (velocity / speed - 0.5).abs() < 0.01,
            "{velocity} at {speed}"
        );
    }
}

#[test]
fn a_law_built_on_our_functions_gives_what_they_give() {
    let folder = tempfile::tempdir().unwrap();
    let law =
        format!("{SIGNATURE} {{\n    return with_history(contact, pair, history, params);\n}}\n");
    fs::write(folder.path().join("own.wgsl"), law).unwrap();
    let run = |contact: &str| {
        let scene = ball(folder.path(), contact, 1.0);
        let mut simulation = Simulation::on_gpu(scene.model, device()).unwrap();
        let samples = trace_of(&mut simulation, &[0], 50, 1000);
        let moved = |sample: &Sample| (sample.state.velocity, sample.state.offset, sample.load);
        samples.iter().map(moved).collect::<Vec<_>>()
    };
    let hooke = run(
        r#"{ "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 2e-5 }"#,
    );
    let own =
        run(r#"{ "normal": "custom", "file": "own.wgsl", "stiffness": 1e5, "time_step": 2e-5 }"#);
    assert!(hooke == own, "{hooke:?} {own:?}");
    assert!(hooke.last().unwrap().0.y > 0.5, "it bounced");
}

#[test]
fn the_example_scene_runs() {
    let scene = scene::load(&own("scenes/custom_law.json")).unwrap();
    let says = |note: &String| note.contains("elastic energy of contacts");
    assert!(scene.notes.iter().any(says), "{:?}", scene.notes);
    let mut simulation = Simulation::on_gpu(scene.model, device()).unwrap();
    simulation.step(6000).unwrap();
    assert!(simulation.summary().unwrap().max_overlap_fraction > 0.0);
}

#[test]
fn a_law_that_no_compiler_could_hold_is_refused() {
    let body = |line: &str| {
        format!(
            "// {}\n{SIGNATURE} {{\n    var r: Response;\n{line}\n    return r;\n}}\n",
            "-".repeat(900)
        )
    };
    let sum = |terms: usize| format!("    r.force.x = {}1.0;", "1.0 + ".repeat(terms));
    let branches = "if (true) { r.force.x = 1.0; } else ".repeat(3000) + "{ }";
    for (law, line, message) in [
        (body(&sum(8_000)), 4, "the statement has more signs"),
        (body(&sum(3_000)), 4, "the statement has more signs"),
        (body(&branches[..60_000]), 4, "more branches"),
        (
            body(&"// \u{fc}\n".repeat(20_000)),
            0,
            "at most 65536 can be compiled",
        ),
        (
            body("    var a: array<f32, 100000000>; r.force.x = a[3];"),
            0,
            "the variable a has more than",
        ),
        (
            body("    var a: array<array<vec4f, 65536>, 65536>; r.force.x = a[3][1].x;"),
            0,
            "",
        ),
    ] {
        let mistake = check_law(&law).unwrap_err();
        assert!(mistake.message.contains(message), "{mistake:?}");
        assert!(message.is_empty() || mistake.line == line, "{mistake:?}");
    }
    assert_eq!(check_law(&body(&sum(200))), Ok(()));
    assert_eq!(
        check_law(&body(&format!("    /* {} */", "+".repeat(900)))),
        Ok(())
    );
}

#[test]
fn mistakes_are_named_with_line_and_column() {
    let body = |line: &str| {
        format!("// My law.\n{SIGNATURE} {{\n    var r: Response;\n{line}\n    return r;\n}}\n")
    };
    for (law, place, message) in [
        (body("    r.force = contact.normul;"), (4, 23), "normul"),
        (body("    r.force = 1.0;"), (4, 15), "r.force = 1.0;"),
        (body("    let x = ;"), (4, 13), "expected expression"),
        (body("    r.force += nothing();"), (4, 16), "nothing"),
        ("// Nothing.\n".to_owned(), (0, 0), "there is no function"),
        (
            "fn contact_law(contact: Contact) -> Response { return Response(); }".to_owned(),
            (0, 0),
            "expected function `fn contact_law(contact: Contact, pair: Pair",
        ),
        (
            format!("fn hooke_viscous() {{}}\n{SIGNATURE} {{ return Response(); }}"),
            (1, 4),
            "hooke_viscous",
        ),
    ] {
        let mistake = check_law(&law).unwrap_err();
        assert_eq!((mistake.line, mistake.column), place, "{mistake:?}");
        assert!(mistake.message.contains(message), "{mistake:?}");
    }
    assert_eq!(check_law(&body("")), Ok(()));
}

#[test]
fn a_scene_whose_law_is_wrong_names_the_place_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let law = format!("{SIGNATURE} {{\n    return Respons();\n}}\n");
    let file = folder.path().join("own.wgsl");
    fs::write(&file, law).unwrap();
    let text = fs::read_to_string(own("scenes/custom_law.json")).unwrap();
    let text = text.replace("laws/walton_braun.wgsl", "own.wgsl");
    let error = scene::parse(&text, &folder.path().join("scene.json")).unwrap_err();
    let expected = format!("contact.file: found {}:2:12: ", file.display());
    assert!(error.to_string().contains(&expected), "{error}");
}

#[test]
fn the_cpu_engine_says_that_it_has_no_custom_laws() {
    let model = scene::load(&own("scenes/custom_law.json")).unwrap().model;
    let error = Simulation::on_cpu(model, None).err().unwrap().to_string();
    assert!(
        error.contains("walton_braun.wgsl") && error.contains("the GPU engine only"),
        "{error}"
    );
}
