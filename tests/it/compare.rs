//! The CPU engine against the GPU over time, in the library and on the command line.

use crate::common::{Random, device, own, random_clump};
use assert_cmd::Command;
use glam::DVec3;
use rockfall::internals::compare::{Comparison, TRAJECTORY_TOLERANCE, compare, compare_from};
use rockfall::model::wall::Wall;
use rockfall::model::{ContactModel, Integrator, Model, ModelBody, PairLaw};
use rockfall::state::State;
use serde_json::Value;

/// An empty model, of one material, with gravity.
fn empty(time_step: f64) -> Model {
    Model {
        view: rockfall::model::view::SceneView::default(),
        flow: rockfall::model::flow::Flow::default(),
        forces: rockfall::model::forces::Forces::default(),
        sleep: None,
        heat: None,
        bonds: Default::default(),
        stages: Default::default(),
        wall_groups: Vec::new(),
        history: None,
        domain: None,
        deform: Default::default(),
        breakage: Vec::new(),
        breakage_names: Vec::new(),
        held: Vec::new(),
        gravity_table: Default::default(),
        contact: ContactModel::default(),
        name: "test".to_owned(),
        gravity: DVec3::NEG_Y * 9.81,
        duration: 1.0,
        time_step,
        integrator: Integrator::SemiImplicit,
        materials: vec!["stone".to_owned()],
        pairs: vec![PairLaw {
            stiffness: 1e7,
            damping_ratio: 0.2,
            damping: 0.0,
            tangential_ratio: 0.3,
            friction: 0.5,
            wall_stiffness: 1e7,
            wall_tangential_ratio: 0.3,
            ..PairLaw::default()
        }],
        shapes: Vec::new(),
        walls: Vec::new(),
        bodies: Vec::new().into(),
    }
}

/// Two clumps that hit each other off their centres, turning, while they fall.
fn two_bodies() -> Model {
    let mut random = Random::new(11);
    let mut model = empty(2e-4);
    model.shapes = vec![
        random_clump(&mut random, 5, 0),
        random_clump(&mut random, 8, 0),
    ];
    for (shape, side) in [(0, -1.0), (1, 1.0)] {
        model.bodies.push(ModelBody {
            shape,
            position: DVec3::new(2.2 * side, 0.2 * side, 0.1),
            orientation: random.orientation(),
            velocity: DVec3::new(-10.0 * side, 0.0, 0.0),
            angular_velocity: random.vector(5.0),
            ..ModelBody::default()
        });
    }
    model
}

/// Clumps of 1 to 8 spheres above the floor of a box.
fn pile(bodies: usize) -> Model {
    let mut random = Random::new(5);
    let mut model = empty(5e-4);
    model.pairs[0].stiffness = 2e6;
    model.shapes = (1..=8)
        .map(|count| random_clump(&mut random, count, 0))
        .collect();
    let half = 5.0;
    let plane = |point, normal| Wall::plane(point, normal, 0);
    model.walls = vec![plane(DVec3::ZERO, DVec3::Y)];
    for normal in [DVec3::X, DVec3::NEG_X, DVec3::Z, DVec3::NEG_Z] {
        model.walls.push(plane(-half * normal, normal));
    }
    let (across, spacing) = (3, 3.3);
    for index in 0..bodies {
        let site = [
            index % across,
            index / across / across,
            index / across % across,
        ];
        let site = DVec3::from_array(site.map(|place| place as f64));
        model.bodies.push(ModelBody {
            shape: index % model.shapes.len(),
            position: spacing * (site - DVec3::new(1.0, -0.6, 1.0)) + random.vector(0.2),
            orientation: random.orientation(),
            velocity: random.vector(1.0),
            angular_velocity: random.vector(2.0),
            ..ModelBody::default()
        });
    }
    model
}

fn compared(model: &Model, steps: u64) -> Comparison {
    compare(model, device(), steps, TRAJECTORY_TOLERANCE, |_| ()).unwrap()
}

/// The comparison with a GPU that starts with something else.
fn perturbed(model: &Model, steps: u64, perturb: impl Fn(&mut State)) -> Comparison {
    let start = State::new(model);
    let mut other = start.clone();
    perturb(&mut other);
    compare_from(
        model,
        [start, other],
        device(),
        steps,
        TRAJECTORY_TOLERANCE,
        |_| (),
    )
    .unwrap()
}

/// The quantities of trajectories, or of statistics, that are beyond their tolerance.
fn beyond(comparison: &Comparison) -> [Vec<&'static str>; 2] {
    let mut all = [Vec::new(), Vec::new()];
    for moment in &comparison.moments {
        for divergence in &moment.trajectories {
            if divergence.is_beyond_tolerance() {
                all[0].push(divergence.difference.quantity);
            }
        }
        for statistic in &moment.statistics {
            if statistic.is_beyond_tolerance() {
                all[1].push(statistic.difference.quantity);
            }
        }
    }
    all
}

#[test]
fn two_bodies_collide_alike() {
    let comparison = compared(&two_bodies(), 1000);
    assert!(comparison.agree, "{comparison:#?}");
    let contacts = comparison
        .passes
        .iter()
        .filter(|pass| pass.pass == "contacts");
    assert!(contacts.count() > 0, "the passes are compared");
    let energies = comparison.moments.iter().map(|m| m.statistics[0].cpu);
    let (first, least) = (
        comparison.moments[0].statistics[0].cpu,
        energies.fold(f64::MAX, f64::min),
    );
    assert!(
        least < 0.9 * first,
        "they collide: {first} J, then {least} J"
    );
    let last = comparison.moments.last().unwrap();
    assert_eq!(last.step, 1000);
    assert!(
        last.trajectories.iter().all(|divergence| divergence.held),
        "two bodies keep to their tolerance to the end: {last:#?}"
    );
}

#[test]
fn a_wrong_stiffness_or_gravity_is_seen() {
    let softer = perturbed(&two_bodies(), 1000, |gpu| gpu.pairs[0].stiffness *= 0.99);
    assert!(!softer.agree);
    assert!(beyond(&softer)[0].contains(&"force"));
    let lighter = perturbed(&two_bodies(), 1000, |gpu| gpu.params.gravity *= 0.99);
    assert!(!lighter.agree);
    assert!(beyond(&lighter)[0].contains(&"velocity"));
}

#[test]
#[ignore = "slow: minutes on a software adapter"]
fn the_statistics_of_a_pile_agree_beyond_chaos() {
    let comparison = compared(&pile(60), 10_000);
    assert!(comparison.agree, "{comparison:#?}");
    let last = comparison.moments.last().unwrap();
    assert_eq!(last.step, 10_000);
    assert!(
        !last.trajectories[0].held,
        "trajectories must have parted to say anything about statistics: {last:#?}"
    );
    // Most of the energy is gone: the pile has come down, not only begun to.
    let energies = comparison.moments.iter().map(|m| m.statistics[0].cpu);
    let most = energies.fold(0.0, f64::max);
    assert!(last.statistics[0].cpu < 0.02 * most, "{last:#?}");
    let tolerances = last.statistics.iter().map(|s| s.difference.tolerance);
    assert!(tolerances.into_iter().all(|tolerance| tolerance < 0.13));
}

#[test]
fn wrong_statistics_are_seen() {
    let comparison = perturbed(&pile(60), 4000, |gpu| gpu.params.gravity *= 0.8);
    let [_, statistics] = beyond(&comparison);
    assert!(!comparison.agree);
    for quantity in ["kinetic energy", "mean height"] {
        assert!(statistics.contains(&quantity), "{quantity}: {statistics:?}");
    }
}

#[test]
fn a_state_that_is_no_number_is_a_difference() {
    let comparison = perturbed(&two_bodies(), 10, |gpu| gpu.bodies[0].velocity.x = f32::NAN);
    assert!(!comparison.agree);
    assert!(beyond(&comparison)[0].contains(&"velocity"));
}

fn scene(name: &str) -> std::path::PathBuf {
    own("scenes").join(name)
}

fn command(scene_name: &str, arguments: &[&str]) -> std::process::Output {
    Command::new(assert_cmd::cargo_bin!("rockfall"))
        .arg("compare")
        .arg(scene(scene_name))
        .args(["--adapter", &device().adapter])
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn the_command_compares_and_says_what_it_found() {
    let output = command("mixed_pile.json", &["--steps", "40"]);
    let (out, err) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    for part in [
        "mixed pile: bodies 1002",
        "contacts: force",
        "kinetic energy, J: CPU",
        "The engines agree.",
    ] {
        assert!(out.contains(part), "{part} is missing:\n{out}");
    }
    assert!(err.contains(&device().adapter), "{err}");
}

#[test]
fn the_command_fails_beyond_a_tolerance() {
    let output = command("head_on.json", &["--tolerance", "1e-15", "--steps", "4000"]);
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(
        err.contains("the engines differ by more than a tolerance: "),
        "{err}"
    );
    assert!(err.contains("position from step "), "{err}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("agree."));
}

#[test]
fn the_command_speaks_json() {
    let output = command("head_on.json", &["--json", "--steps", "8"]);
    assert_eq!(output.status.code(), Some(0));
    let comparison: Value = serde_json::from_slice(&output.stdout).unwrap();
    for key in [
        "scene", "adapter", "bodies", "spheres", "steps", "dt", "agree", "passes", "moments",
    ] {
        assert!(comparison.get(key).is_some(), "{key} is missing");
    }
    for key in ["step", "pass", "quantity", "difference", "tolerance"] {
        assert!(
            comparison["passes"][0].get(key).is_some(),
            "{key} is missing"
        );
    }
    let moment = &comparison["moments"][0];
    for key in [
        "quantity",
        "difference",
        "tolerance",
        "largest",
        "shadow",
        "held",
    ] {
        assert!(
            moment["trajectories"][0].get(key).is_some(),
            "{key} is missing"
        );
    }
    for key in ["quantity", "difference", "tolerance", "cpu", "gpu"] {
        assert!(
            moment["statistics"][0].get(key).is_some(),
            "{key} is missing"
        );
    }
    assert_eq!(comparison["agree"], true);
}

#[test]
fn wrong_arguments_are_refused() {
    for arguments in [
        ["--tolerance", "nan"],
        ["--tolerance", "-1"],
        ["--steps", "x"],
    ] {
        assert_eq!(command("head_on.json", &arguments).status.code(), Some(2));
    }
}
