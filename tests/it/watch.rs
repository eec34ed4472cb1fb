//! Warnings of what is likely to be wrong, each once, with a remedy.

use std::cell::Cell;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::common::{model, on_both, simulate};
use glam::DVec3;
use rockfall::{Observer, Simulation, Watch};
use serde_json::{Value, json};

/// A ball on a floor.
fn ball() -> Value {
    json!({
        "version": 1,
        "contact": { "stiffness": 5e6, "time_step": 1e-4 },
        "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.1 }, "material": "stone" } },
        "planes": [{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" }],
        "bodies": [{ "shape": "ball", "position": [0, 0.3, 0] }],
    })
}

/// The system's clock.
fn clock() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

/// All warnings of a run, looked at every `every` steps.
fn warnings(mut simulation: Simulation, every: u64, steps: u64) -> Vec<String> {
    let mut watch = Watch::new(&simulation, clock);
    let mut warnings = watch.look(&simulation.snapshot().unwrap());
    while simulation.steps() < steps {
        simulation.step(every).unwrap();
        warnings.extend(watch.look(&simulation.snapshot().unwrap()));
    }
    warnings
}

#[test]
fn a_good_run_draws_no_warning() {
    on_both(&ball().to_string(), |simulation, engine| {
        assert_eq!(warnings(simulation, 100, 5000), [""; 0], "{engine}");
    });
}

/// Its looks stop all ranks of a cluster, so a short run has few.
#[test]
fn looks_are_a_second_apart_whatever_a_step_takes() {
    thread_local! {
        static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }
    let mut simulation = Simulation::on_cpu(model(&ball().to_string()), Some(1)).unwrap();
    let mut watch = Watch::new(&simulation, || NOW.get());
    let mut look = |milliseconds: u64| {
        let now = simulation.steps();
        let steps = watch.next(now) - now;
        simulation.step(steps).unwrap();
        NOW.set(NOW.get() + Duration::from_millis(milliseconds * steps));
        assert!(watch.observe(&mut simulation).unwrap().is_continue());
        simulation.steps()
    };
    assert_eq!([2; 5].map(&mut look), [1, 17, 273, 773, 1273]);
    assert_eq!([10; 3].map(&mut look), [1773, 1873, 1973]);
}

#[test]
fn a_deep_overlap_is_said_once_each_time_that_it_is_four_times_as_deep() {
    let mut scene = ball();
    scene["contact"]["stiffness"] = json!(3e4);
    scene["bodies"][0]["velocity"] = json!([0, -3, 0]);
    on_both(&scene.to_string(), |mut simulation, engine| {
        let mut watch = Watch::new(&simulation, clock);
        let mut said = Vec::new();
        for _ in 0..400 {
            simulation.step(5).unwrap();
            said.extend(watch.look(&simulation.snapshot().unwrap()));
        }
        let overlap = simulation.summary().unwrap().max_overlap_fraction;
        assert!(overlap > 0.1, "{engine}: {overlap}");
        let times = (overlap / 0.05).log(4.0).floor() as usize + 1;
        assert!((1..=times).contains(&said.len()), "{engine}: {said:?}");
        // Whoever goes on is not told of what was deep before.
        let mut again = Watch::new(&simulation, clock);
        assert_eq!(
            again.look(&simulation.snapshot().unwrap()),
            [""; 0],
            "{engine}"
        );
        for sentence in &said {
            assert!(sentence.contains("raise contact.stiffness"), "{sentence}");
        }
    });
}

#[test]
fn energy_that_grows_is_said() {
    // Without friction and dashpot, the explicit integrator makes each bounce higher.
    let mut scene = ball();
    scene["integrator"] = json!("explicit");
    scene["contact"] = json!({ "stiffness": 1e5, "time_step": 1e-3 });
    scene["materials"]["stone"]["restitution"] = json!(1);
    let said = warnings(simulate(&scene.to_string()), 50, 3000);
    let energy = said
        .iter()
        .find(|sentence| sentence.contains("the energy has grown"));
    let energy = energy.unwrap_or_else(|| panic!("{said:?}"));
    assert!(
        energy.contains("contact.time_step") && energy.contains("semi-implicit"),
        "{energy}"
    );
    scene["integrator"] = json!("semi-implicit");
    let said = warnings(simulate(&scene.to_string()), 50, 3000);
    assert!(
        !said.iter().any(|sentence| sentence.contains("energy")),
        "{said:?}"
    );
}

#[test]
fn a_body_that_leaves_is_said() {
    let mut scene = ball();
    scene["bodies"][0]["velocity"] = json!([40, 0, 0]);
    scene["materials"]["stone"]["friction"] = json!(0);
    let said = warnings(simulate(&scene.to_string()), 100, 10_000);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("body 0 (ball) has left the domain") && said[0].contains("a wall"));
    // A domain says where bodies belong.
    scene["bodies"][0]["velocity"] = json!([1, 0, 0]);
    assert_eq!(warnings(simulate(&scene.to_string()), 100, 10_000), [""; 0]);
    scene["domain"] =
        json!({ "min": [-0.5, -1, -1], "max": [0.5, 1, 1], "periodic": [false, false, true] });
    let said = warnings(simulate(&scene.to_string()), 100, 10_000);
    assert!(
        said.len() == 1 && said[0].contains("has left the domain"),
        "{said:?}"
    );
    // Along a periodic axis there is no way out.
    scene["domain"]["periodic"] = json!([true, false, true]);
    assert!(model(&scene.to_string()).domain.is_some());
    assert_eq!(warnings(simulate(&scene.to_string()), 100, 10_000), [""; 0]);
}

#[test]
fn what_was_said_of_a_run_is_not_said_again_when_it_is_resumed() {
    let mut scene = ball();
    scene["bodies"][0]["velocity"] = json!([1, 0, 0]);
    scene["materials"]["stone"]["friction"] = json!(0);
    scene["domain"] =
        json!({ "min": [-0.5, -1, -1], "max": [0.5, 1, 1], "periodic": [false, false, true] });
    let mut simulation = simulate(&scene.to_string());
    let [mut early, mut late] = [(); 2].map(|()| Watch::new(&simulation, clock).quiet_at_first());
    assert_eq!(early.look_at(&mut simulation).unwrap(), [""; 0]);
    simulation.step(10_000).unwrap();
    // It has left since.
    assert_eq!(early.look_at(&mut simulation).unwrap().len(), 1);
    // It had left before.
    for _ in 0..2 {
        assert_eq!(late.look_at(&mut simulation).unwrap(), [""; 0]);
    }
}

#[test]
fn energy_that_walls_bring_is_not_said() {
    let moving = |key: &str, how: Value| {
        let mut scene = ball();
        scene["bodies"][0]["position"] = json!([0, 0.099, 0]);
        scene["planes"] = json!([]);
        scene["walls"] = json!([{ "plane": {}, "material": "stone", key: how }]);
        scene.to_string()
    };
    let shaken = json!({ "vibrations": [{ "amplitude": [0, 0.02, 0], "frequency": 12 }] });
    for text in [
        moving("motion", shaken),
        moving("motion", json!({ "velocity": [0, 2, 0] })),
        moving("surface_velocity", json!([4, 0, 0])),
    ] {
        on_both(&text, |mut simulation, engine| {
            let mut watch = Watch::new(&simulation, clock);
            let all = |simulation: &mut Simulation| {
                let energy = simulation.energy().unwrap();
                energy.total() + energy.damping + energy.friction
            };
            let start = all(&mut simulation);
            for _ in 0..30 {
                simulation.step(100).unwrap();
                let said = watch.look(&simulation.snapshot().unwrap());
                assert_eq!(said, [""; 0], "{engine}: {text}");
            }
            let brought = all(&mut simulation) - start;
            assert!(brought > 1.0, "{engine}: {text}: {brought} J");
        });
    }
}

#[test]
fn energy_that_comes_with_another_gravity_is_not_said() {
    on_both(&ball().to_string(), |mut simulation, engine| {
        let mut watch = Watch::new(&simulation, clock);
        let mut said = watch.look(&simulation.snapshot().unwrap());
        for gravity in [-9.81, -30.0, -2.0, -50.0] {
            simulation.set_gravity(DVec3::Y * gravity).unwrap();
            simulation.step(300).unwrap();
            said.extend(watch.look(&simulation.snapshot().unwrap()));
        }
        assert_eq!(said, [""; 0], "{engine}");
    });
}

#[test]
fn energy_that_comes_in_with_bodies_is_not_said() {
    let mut scene = ball();
    scene["inlets"] = json!([{
        "rate": 60, "shapes": { "ball": 1 }, "velocity": [0, -1, 0],
        "region": { "min": [-0.4, 1, -0.4], "max": [0.4, 1.4, 0.4] },
    }]);
    on_both(&scene.to_string(), |simulation, engine| {
        assert_eq!(warnings(simulation, 500, 4000), [""; 0], "{engine}");
    });
    // Those with low potential energy go out: what is left has grown.
    scene = ball();
    scene["materials"]["stone"]["friction"] = json!(0);
    scene["planes"] = json!([]);
    scene["bodies"] = json!([
        { "shape": "ball", "position": [0, -0.5, 0] },
        { "shape": "ball", "position": [0, 3, 0], "velocity": [0, 5, 0] },
    ]);
    scene["outlets"] = json!([{ "outside": { "min": [-9, -1, -9], "max": [9, 9, 9] } }]);
    let said = warnings(simulate(&scene.to_string()), 100, 5000);
    assert_eq!(said, [""; 0]);
}

#[test]
fn bodies_belong_to_where_they_come_in_too() {
    let mut scene = ball();
    // Far from the ball, and from the plane.
    scene["gravity"] = json!([0, 0, 0]);
    scene["inlets"] = json!([{
        "rate": 20, "shapes": { "ball": 1 },
        "region": { "min": [49, 0.5, -0.4], "max": [50, 1.4, 0.4] },
    }]);
    assert_eq!(warnings(simulate(&scene.to_string()), 500, 2000), [""; 0]);
}
