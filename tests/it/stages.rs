//! Stages of a run: one file settles a heap and then opens a gate.

use std::path::Path;

use crate::common::{model, on_both, simulate};
use glam::{DVec2, DVec3};
use rockfall::model::handle::MaterialHandle;
use rockfall::output::KeptRun;
use rockfall::simulation::checkpoint::Checkpoint;
use rockfall::{Simulation, scene};

/// A ball of 1 kg that falls onto a tray, which is pulled away; steps of 1 ms.
fn tray(stages: &str) -> String {
    format!(
        r#"{{ "version": 1, "gravity": [0, -10, 0], "duration": 2,
        "contact": {{ "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 0.0005 }},
        "materials": {{ "stone": {{ "density": 238.732414637843, "restitution": 0.3, "friction": 0 }} }},
        "shapes": {{ "ball": {{ "sphere": {{ "radius": 0.1 }}, "material": "stone" }} }},
        "walls": [ {{ "name": "tray", "rectangle": {{ "size": [1, 1] }}, "material": "stone" }} ],
        "bodies": [ {{ "shape": "ball", "position": [0, 0.11, 0] }} ],
        "stages": {stages} }}"#
    )
}

const PULLED: &str = r#"[ { "name": "rest", "until": { "speed_below": 0.001 }, "duration": 1.5 },
    { "name": "fall", "motions": { "tray": { "velocity": [20, 0, 0] } } } ]"#;

fn height(simulation: &mut Simulation) -> f64 {
    simulation.bodies().unwrap()[0].position.y
}

#[test]
fn a_stage_begins_when_all_is_at_rest() {
    on_both(&tray(PULLED), |mut simulation, engine| {
        assert_eq!(simulation.stage(), Some((0, "rest")), "{engine}");
        simulation.run_until(1.4).unwrap();
        let (name, start) = simulation.stages().last().unwrap();
        assert_eq!(name, "fall", "{engine}");
        // It rolls out within some bounces, each a third as fast as the one before.
        assert!((0.1..1.0).contains(&start), "{engine}: {start} s");
        // The tray is gone after 25 ms; then the ball falls freely.
        let gone = 1.4 - (start + 0.5 / 20.0);
        let fallen = 0.1 - height(&mut simulation);
        let free = 0.5 * 10.0 * gone * gone;
        assert!(
            (fallen / free - 1.0).abs() < 0.03,
            "{engine}: {fallen} m of {free} m"
        );
    });
}

/// After 100 time steps, 1 ms, it has fallen for so short a time that it is slower than that.
#[test]
fn what_has_just_been_let_go_is_not_at_rest() {
    let text = tray(PULLED)
        .replace("0.0005", "1e-5")
        .replace("0.001 }", "0.05 }")
        .replace("[0, 0.11, 0]", "[0, 0.12, 0]");
    on_both(&text, |mut simulation, engine| {
        simulation.step(2000).unwrap();
        assert_eq!(simulation.stage(), Some((0, "rest")), "{engine}");
    });
    let energy = text.replace(
        r#""speed_below": 0.05"#,
        r#""kinetic_energy_below": 0.00125"#,
    );
    let mut simulation = simulate(&energy);
    simulation.step(2000).unwrap();
    assert_eq!(simulation.stage(), Some((0, "rest")));
}

#[test]
fn a_stage_ends_after_its_duration() {
    let stages = r#"[ { "duration": 0.5 }, { "gravity": [0, 0, 0], "duration": 0.25 }, { "gravity": [0, 10, 0] } ]"#;
    let text = tray(stages).replace("[0, 0.11, 0]", "[0, 50, 0]");
    on_both(&text, |mut simulation, engine| {
        let mut velocity = |time: f64| {
            simulation.run_until(time).unwrap();
            simulation.bodies().unwrap()[0].velocity.y
        };
        for (time, expected) in [(0.25, -2.5), (0.5, -5.0), (0.75, -5.0), (1.0, -2.5)] {
            let found = velocity(time);
            assert!(
                (found - expected).abs() < 1e-4,
                "{engine}, {time} s: {found} m/s"
            );
        }
        let starts: Vec<(&str, f64)> = simulation.stages().collect();
        let expected = [("stages[0]", 0.0), ("stages[1]", 0.5), ("stages[2]", 0.75)];
        for ((name, start), (expected_name, expected)) in starts.iter().zip(expected) {
            assert_eq!(*name, expected_name, "{engine}");
            assert!((start - expected).abs() < 1e-9, "{engine}: {start} s");
        }
    });
}

#[test]
fn steps_in_pieces_have_the_bits_of_steps_at_once() {
    let mut whole = simulate(&tray(PULLED));
    whole.step(2500).unwrap();
    let mut pieces = simulate(&tray(PULLED));
    while pieces.steps() < 2500 {
        let left = 2500 - pieces.steps();
        pieces.step(left.min(37)).unwrap();
    }
    assert_eq!(whole.stages().count(), 2);
    assert_eq!(
        whole.summary().unwrap().state_hash,
        pieces.summary().unwrap().state_hash
    );
}

/// Before the change, right at it, and after it.
#[test]
fn a_run_goes_on_in_the_stage_in_which_it_stopped() {
    on_both(&tray(PULLED), |mut whole, engine| {
        whole.step(2600).unwrap();
        let began = whole.state().unwrap().traffic.stages[0];
        let hash = whole.summary().unwrap().state_hash;
        // A software adapter takes long for each.
        let stops = match engine {
            "cpu" => &[began - 50, began, began + 1, began + 60][..],
            _ => &[began + 1],
        };
        for &stop in stops {
            let fresh = || match engine {
                "cpu" => simulate(&tray(PULLED)),
                _ => Simulation::on_gpu(model(&tray(PULLED)), crate::common::device()).unwrap(),
            };
            let mut first = fresh();
            first.step(stop).unwrap();
            let bytes = first.checkpoint().unwrap();
            // Into a new simulation, and back into one that is past it.
            let mut past = fresh();
            past.step(2700).unwrap();
            for mut second in [fresh(), past] {
                let checkpoint = Checkpoint::decode(bytes.clone(), Path::new("tray")).unwrap();
                checkpoint.restore(&mut second).unwrap();
                second.step(2600 - stop).unwrap();
                let found = second.summary().unwrap().state_hash;
                assert_eq!(found, hash, "{engine}, stopped at {stop} of {began}");
            }
        }
    });
}

#[test]
fn what_others_tune_is_not_taken_for_a_stage() {
    let mut tuned = simulate(&tray(PULLED));
    tuned.step(2600).unwrap();
    tuned.set_gravity(DVec3::ZERO).unwrap();
    let checkpoint = Checkpoint::decode(tuned.checkpoint().unwrap(), Path::new("tray")).unwrap();
    let mut other = simulate(&tray(PULLED));
    let refused = checkpoint.restore(&mut other);
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("found a state of the scene")
    );
}

#[test]
fn pairs_change_with_a_stage() {
    let stages = r#"[ { "duration": 0.5 },
        { "pairs": [ { "between": ["stone", "stone"], "friction": 0.25 } ] } ]"#;
    let text = tray(stages).replace(
        "\"position\": [0, 0.11, 0]",
        "\"position\": [-0.4, 0.1, 0], \"velocity\": [0.5, 0, 0]",
    );
    on_both(&text, |mut simulation, engine| {
        let mut speed = |time: f64| {
            simulation.run_until(time).unwrap();
            simulation.bodies().unwrap()[0].velocity.x
        };
        let (before, after) = (speed(0.5), speed(0.52));
        assert!(
            (before - 0.5).abs() < 1e-5,
            "{engine}: {before} m/s without friction"
        );
        // mu g t
        assert!(
            (before - after - 0.05).abs() < 0.003,
            "{engine}: {after} m/s"
        );
        let stone = MaterialHandle::from_index(0);
        let now = simulation.model();
        assert_eq!(now.pairs[stone.index()].friction, 0.25);
        // What a stage does not give of a pair stays: the restitution of the material.
        let first = model(&text);
        assert_eq!(now.pairs[0].damping_ratio, first.pairs[0].damping_ratio);
    });
}

#[test]
fn wrong_stages_are_refused_with_their_places() {
    let cases = [
        (
            r#"[ { }, { } ]"#,
            "stages[0]: found neither \"duration\" nor \"until\"",
        ),
        (
            r#"[ { "duration": 1, "gravity": [0, 0, 0] }, { } ]"#,
            "stages[0].gravity: found a change at the start of the first stage",
        ),
        (
            r#"[ { "duration": 1 }, { "until": { "speed_below": 1 } } ]"#,
            "stages[1].until: found an end of the last stage",
        ),
        (
            r#"[ { "until": { } }, { } ]"#,
            "stages[0].until: found none of them, expected one of \"speed_below\"",
        ),
        (
            r#"[ { "duration": -1 }, { } ]"#,
            "stages[0].duration: found -1",
        ),
        (
            r#"[ { "duration": 1 }, { "motions": { "tary": { } } } ]"#,
            "stages[1].motions.tary: found the undefined wall \"tary\"",
        ),
        (
            r#"[ { "duration": 1 }, { "pairs": [ { "between": ["stone", "stone"], "rolling_friction": 0.1, "rolling": "spring" } ] } ]"#,
            "stages[1]: found contacts that keep more history",
        ),
        (
            r#"[ { "duration": 1, "remove_walls": ["tray"] }, { } ]"#,
            "stages[0].remove_walls: found a change at the start of the first stage",
        ),
        (
            r#"[ { "duration": 1 }, { "add_walls": ["try"] } ]"#,
            "stages[1].add_walls[0]: found the undefined wall \"try\"",
        ),
        (
            r#"[ { "duration": 1 }, { "remove_walls": ["tray"], "duration": 1 }, { "remove_walls": ["tray"] } ]"#,
            "stages[2].remove_walls: found \"tray\", which is gone already",
        ),
        (
            r#"[ { "duration": 1 }, { "inlets": { "pour": { "rate": 10 } } } ]"#,
            "stages[1].inlets.pour: found the undefined inlet \"pour\"",
        ),
        (
            r#"[ { "duration": 1 }, { "materials": { "stone": { "friction": -1 } } } ]"#,
            "stages[1].materials.stone.friction: found -1",
        ),
    ];
    for (stages, expected) in cases {
        let refused = scene::parse(&tray(stages), Path::new("tray.json")).err();
        let said = refused.map_or("nothing".to_owned(), |error| error.to_string());
        assert!(said.contains(expected), "{stages}: {said}");
    }
}

/// Slides over the tray without friction, then with that of the material, then with that of the pair.
#[test]
fn materials_change_with_a_stage_and_pairs_come_first() {
    let stages = r#"[ { "duration": 0.2 },
        { "materials": { "stone": { "friction": 0.25 } }, "duration": 0.1 },
        { "pairs": [ { "between": ["stone", "stone"], "friction": 0.5 } ], "duration": 0.1 },
        { "materials": { "stone": { "friction": 0, "restitution": 0.5 } } } ]"#;
    let mut simulation = simulate(&tray(stages));
    let first = simulation.model().pairs[0];
    let mut law = |time: f64| {
        simulation.run_until(time).unwrap();
        simulation.model().pairs[0]
    };
    assert_eq!(law(0.1).friction, 0.0);
    assert_eq!(law(0.25).friction, 0.25);
    assert_eq!(law(0.35).friction, 0.5);
    let last = law(0.45);
    assert_eq!(last.friction, 0.5, "of the pair");
    assert!(last.damping_ratio < first.damping_ratio, "{last:?}");
    assert_eq!(last.stiffness, first.stiffness);
}

/// The tray is taken away from under a ball at rest, and a floor comes 0.2 m below, onto which it falls.
const TAKEN: &str = r#"[ { "duration": 0.3 },
    { "name": "fall", "remove_walls": ["tray"], "add_walls": ["floor"] } ]"#;

fn taken() -> String {
    let floor = r#""walls": [ { "name": "floor", "rectangle": { "size": [1, 1] }, "position": [0, -0.2, 0], "material": "stone" },
        { "name": "lid", "rectangle": { "size": [1, 1] }, "position": [0, 0.6, 0], "material": "stone" },"#;
    tray(TAKEN)
        .replace("\"walls\": [", floor)
        .replace("0.11, 0]", "0.1, 0]")
}

#[test]
fn walls_come_and_go_with_stages() {
    on_both(&taken(), |mut simulation, engine| {
        simulation.run_until(0.3).unwrap();
        let rested = height(&mut simulation);
        assert!((rested - 0.1).abs() < 2e-4, "{engine}: {rested} m");
        simulation.run_until(0.4).unwrap();
        let fallen = 0.1 - height(&mut simulation);
        assert!((fallen - 0.05).abs() < 1e-3, "{engine}: {fallen} m");
        simulation.run_until(1.3).unwrap();
        let lies = height(&mut simulation);
        assert!((lies + 0.1).abs() < 5e-4, "{engine}: {lies} m");
    });
}

#[test]
fn a_run_goes_on_with_the_walls_of_its_stage() {
    on_both(&taken(), |mut whole, engine| {
        whole.step(1200).unwrap();
        let hash = whole.summary().unwrap().state_hash;
        let fresh = || match engine {
            "cpu" => simulate(&taken()),
            _ => Simulation::on_gpu(model(&taken()), crate::common::device()).unwrap(),
        };
        let mut first = fresh();
        first.step(700).unwrap();
        let bytes = first.checkpoint().unwrap();
        let checkpoint = Checkpoint::decode(bytes, Path::new("tray")).unwrap();
        let mut second = fresh();
        checkpoint.restore(&mut second).unwrap();
        second.step(500).unwrap();
        assert_eq!(second.summary().unwrap().state_hash, hash, "{engine}");
        // And back to the tray.
        let mut start = fresh();
        start.step(500).unwrap();
        let bytes = start.checkpoint().unwrap();
        let checkpoint = Checkpoint::decode(bytes, Path::new("tray")).unwrap();
        checkpoint.restore(&mut second).unwrap();
        second.step(100).unwrap();
        let rests = height(&mut second);
        assert!((rests - 0.1).abs() < 2e-4, "{engine}: {rests} m");
    });
}

#[test]
fn a_wall_that_comes_later_may_stand_in_bodies_at_the_start() {
    let text = taken().replace("[0, -0.2, 0]", "[0, 0.1, 0]");
    scene::parse(&text, Path::new("tray.json")).unwrap();
    let always = text.replace(r#", "add_walls": ["floor"]"#, "");
    let refused = scene::parse(&always, Path::new("tray.json")).unwrap_err();
    assert!(refused.to_string().contains("with floor"), "{refused}");
}

/// The tray goes, and the lid goes down: who looks at the run later sees both.
#[test]
fn a_kept_run_shows_the_walls_of_each_stage() {
    let stages = TAKEN.replace(
        "\"remove_walls\"",
        "\"motions\": { \"lid\": { \"velocity\": [0, -1, 0] } }, \"remove_walls\"",
    );
    let text = taken().replace(TAKEN, &stages).replace(
        "\"duration\": 2,",
        r#""duration": 0.5, "output": { "every": { "seconds": 0.1 } },"#,
    );
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(folder.path().join("scene.json"), &text).unwrap();
    let rockfall = |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_rockfall"))
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
    };
    rockfall(&["run", "scene.json", "--out", "run", "--backend", "cpu"]);
    let mut simulation = simulate(&text);
    let kept = KeptRun::open(&folder.path().join("run"), simulation.model()).unwrap();
    assert_eq!(kept.moments().len(), 6);
    for index in [0, 2, 4, 5, 1] {
        kept.show(index, &mut simulation).unwrap();
        let time = kept.moments()[index].time;
        let stages = &simulation.model().stages;
        let there = [0, 1, 2].map(|wall| stages.has_wall(wall));
        let fall = time > 0.31;
        assert_eq!(there, [fall, true, !fall], "{time} s");
        let lid = simulation.walls().unwrap().swap_remove(1);
        let expected = 0.6 - (time - 0.3).max(0.0);
        let height = lid.moving.pose.position.y;
        assert!((height - expected).abs() < 1e-6, "{time} s: {height} m");
    }
    rockfall(&["export", "run", "--to", "run.usda"]);
    let text = std::fs::read_to_string(folder.path().join("run.usda")).unwrap();
    assert_eq!(text.matches("token visibility.timeSamples").count(), 2);
    assert!(text.contains("0: \"invisible\""), "the floor");
    assert!(text.contains("5: \"invisible\""), "the tray");
}

/// A press that comes with a stage goes down from then on alone, and sideways for a while.
#[test]
fn a_servo_that_comes_with_a_stage_waits_for_it() {
    let press = r#""walls": [ { "name": "press", "rectangle": { "size": [1, 1] }, "position": [0, 0.6, 0], "material": "stone",
        "servo": { "direction": [0, -1, 0], "force": 100, "max_speed": 0.1 } },"#;
    let stages = r#"[ { "duration": 0.3 },
        { "add_walls": ["press"], "motions": { "press": { "velocity": [0.2, 0, 0], "start": 0.1, "end": 0.3 } } } ]"#;
    let text = tray(stages).replace("\"walls\": [", press);
    on_both(&text, |mut simulation, engine| {
        for (time, expected) in [(0.3, [0.0, 0.6]), (0.5, [0.02, 0.58]), (0.8, [0.04, 0.55])] {
            simulation.run_until(time).unwrap();
            let press = simulation.walls().unwrap().swap_remove(0);
            let found = press.moving.pose.position;
            let off = found.truncate() - DVec2::from_array(expected);
            assert!(off.length() < 1e-3, "{engine}, {time} s: {found} m");
        }
    });
}

/// An inlet that a stage opens, slows down and closes: 101 a second for 0.2 s, 51 a second for 0.1 s.
#[test]
fn inlets_open_and_close_with_stages() {
    let stages = r#"[ { "duration": 0.1 },
        { "inlets": { "pour": { "rate": 101, "start": 0.1 } }, "duration": 0.3 },
        { "inlets": { "pour": { "rate": 51 } }, "duration": 0.1 },
        { "inlets": { "pour": {} } } ]"#;
    let inlet = r#""inlets": [ { "name": "pour", "shapes": { "ball": 1 },
        "region": { "min": [-50, 1, -50], "max": [50, 9, 50] } } ], "stages""#;
    let text = tray(stages).replace("\"stages\"", inlet);
    let brought = |simulation: &Simulation| simulation.traffic().inlets[0].bodies;
    let mut simulation = simulate(&text);
    for (time, expected) in [(0.2, 0), (0.3, 10), (0.4, 20), (0.5, 25), (0.8, 25)] {
        simulation.run_until(time).unwrap();
        // A look comes every 200 steps, 0.1 s; the one at `time` is taken before the next step.
        simulation.step(1).unwrap();
        assert_eq!(brought(&simulation), expected, "{time} s");
    }
    let mut first = simulate(&text);
    first.step(700).unwrap();
    let bytes = first.checkpoint().unwrap();
    let checkpoint = Checkpoint::decode(bytes, Path::new("pour")).unwrap();
    let mut second = simulate(&text);
    checkpoint.restore(&mut second).unwrap();
    second.run_until(0.8).unwrap();
    second.step(1).unwrap();
    assert_eq!(brought(&second), 25);

    let mixed = text.replace("\"rate\": 51", "\"mass_rate\": 51");
    let refused = scene::parse(&mixed, Path::new("pour.json")).unwrap_err();
    let expected = "stages[2].inlets.pour.mass_rate: found a rate of another kind";
    assert!(refused.to_string().contains(expected), "{refused}");
}

/// A lid comes down on a ball at 0.1 m/s and stops when it is there, within 100 steps.
#[test]
fn a_lid_is_lowered_until_it_touches() {
    let stages = r#"[ { "until": { "touched": "lid" } }, { "motions": { "lid": {} } } ]"#;
    let lid = r#""walls": [ { "name": "lid", "rectangle": { "size": [1, 1] }, "position": [0, 0.3, 0], "material": "stone",
        "motion": { "velocity": [0, -0.1, 0] } }, "#;
    let text = tray(stages)
        .replace("\"walls\": [", lid)
        .replace("0.11, 0]", "0.1, 0]")
        .replace("0.0005", "0.0002");
    on_both(&text, |mut simulation, engine| {
        simulation.run_until(1.5).unwrap();
        let (_, start) = simulation.stages().last().unwrap();
        assert!((start - 1.0).abs() < 0.021, "{engine}: {start} s");
        let snapshot = simulation.snapshot().unwrap();
        let lid = snapshot.walls().next().unwrap();
        let height = lid.moving.pose.position.y;
        assert!((0.2 - height).abs() < 0.0021, "{engine}: {height} m");
        assert_eq!(lid.moving.velocity, DVec3::ZERO, "{engine}");
    });
}

/// A ball falls for half a second, while gravity turns up from nothing, then stays as it is: v = g t²/2T.
#[test]
fn gravity_follows_a_table() {
    let text = tray("[]").replace("[0, 0.11, 0]", "[0, 50, 0]").replace(
        "\"gravity\": [0, -10, 0]",
        "\"gravity_table\": [[0, 0, 0, 0], [0.5, 0, -10, 0], [0.6, 0, 0, 0]]",
    );
    on_both(&text, |mut simulation, engine| {
        for (time, expected) in [(0.25, -0.625), (0.5, -2.5), (0.6, -3.0), (1.0, -3.0)] {
            simulation.run_until(time).unwrap();
            let found = simulation.bodies().unwrap()[0].velocity.y;
            assert!(
                (found - expected).abs() < 0.002,
                "{engine}, {time} s: {found} m/s"
            );
        }
    });
    let mut whole = simulate(&text);
    whole.step(1500).unwrap();
    let mut first = simulate(&text);
    first.step(777).unwrap();
    let checkpoint = Checkpoint::decode(first.checkpoint().unwrap(), Path::new("table")).unwrap();
    let mut second = simulate(&text);
    checkpoint.restore(&mut second).unwrap();
    second.step(1500 - 777).unwrap();
    let hash = |simulation: &mut Simulation| simulation.summary().unwrap().state_hash;
    assert_eq!(hash(&mut whole), hash(&mut second));
}

#[test]
fn what_touches_has_to_be_a_wall_that_moves() {
    let wrong = |stages: &str| {
        scene::parse(&tray(stages), Path::new("tray.json"))
            .unwrap_err()
            .to_string()
    };
    let found = wrong(r#"[ { "until": { "touched": "tray" } }, {} ]"#);
    let expected = "stages[0].until.touched: found \"tray\", a wall that never moves, expected one that moves in some stage, or under load";
    assert!(found.contains(expected), "{found}");
    let found = wrong(r#"[ { "until": { "touched": "try" } }, {} ]"#);
    assert!(found.contains("did you mean \"tray\"?"), "{found}");
}
