//! Bodies that fall asleep when they rest, and wake, on both engines.

use crate::common::{model, on_both, simulate};
use glam::{DVec3, Vec3};
use rockfall::Simulation;
use rockfall::model::handle::MaterialHandle;
use rockfall::state::State;
use serde_json::{Value, json};

const RADIUS: f64 = 0.05;

/// Balls of 1 kg that fall on a floor in a box, and what else is given.
fn scene(more: Value) -> String {
    let wall = |point: [f64; 3], normal: [f64; 3]| json!({ "point": point, "normal": normal, "material": "ball" });
    let mut scene = json!({
        "version": 1,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 2e4, "time_step": 2e-4 },
        "materials": {
            "ball": { "density": 1909.859317102744, "restitution": 0.3, "friction": 0.5 },
        },
        "shapes": { "ball": { "sphere": { "radius": RADIUS }, "material": "ball" },
                    "peanut": { "rod": { "n": 2, "radius": RADIUS, "spacing": 0.06 },
                                "material": "ball" } },
        "planes": [
            wall([0.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
            wall([-0.3, 0.0, 0.0], [1.0, 0.0, 0.0]), wall([0.3, 0.0, 0.0], [-1.0, 0.0, 0.0]),
            wall([0.0, 0.0, -0.3], [0.0, 0.0, 1.0]), wall([0.0, 0.0, 0.3], [0.0, 0.0, -1.0]),
        ],
        "sleep": {},
    });
    for (key, value) in more.as_object().unwrap() {
        scene[key] = value.clone();
    }
    scene.to_string()
}

fn heap(count: usize) -> Value {
    json!([{ "count": count, "shapes": { "ball": 2, "peanut": 1 }, "placement": "random", "seed": 2,
             "region": { "min": [-0.3, 0, -0.3], "max": [0.3, 0.6, 0.3] } }])
}

fn asleep(simulation: &mut Simulation) -> Vec<bool> {
    let state = simulation.state().unwrap();
    let asleep = state.bodies.iter().map(|body| body.still >> 31 == 1);
    asleep.collect()
}

fn sleepers(simulation: &mut Simulation) -> usize {
    let asleep = asleep(simulation);
    asleep.into_iter().filter(|asleep| *asleep).count()
}

fn heights(simulation: &mut Simulation) -> Vec<f64> {
    let bodies = simulation.bodies().unwrap();
    bodies.iter().map(|body| body.position.y).collect()
}

#[test]
fn a_heap_falls_asleep_as_it_lies() {
    let text = scene(json!({ "fills": heap(60) }));
    on_both(&text, |mut simulation, engine| {
        simulation.step(1_000).unwrap();
        assert_eq!(sleepers(&mut simulation), 0, "{engine}: it still falls");
        simulation.step(14_000).unwrap();
        assert_eq!(sleepers(&mut simulation), 60, "{engine}");
        let before = simulation.summary().unwrap();
        assert_eq!(before.kinetic_energy, 0.0, "{engine}");
        assert!(before.contacts > 100, "{engine}: {}", before.contacts);
        let loads = simulation.state().unwrap().sphere_loads.clone();
        assert!(loads.iter().all(|load| load.is_kept()), "{engine}");
        simulation.step(1_000).unwrap();
        let after = simulation.summary().unwrap();
        assert_eq!(before, after, "{engine}");
        // The forces are those that hold the weight.
        let weight: f64 = {
            let model = simulation.model();
            let masses = model
                .bodies
                .iter()
                .map(|body| model.shapes[body.shape].mass);
            masses.sum::<f64>() * 9.81
        };
        let network = simulation.network().unwrap();
        let borne: f64 = (0..5).map(|wall| network.force_on_wall(wall).y).sum();
        assert!(
            (borne / weight + 1.0).abs() < 0.03,
            "{engine}: {borne} of {weight} N"
        );
    });
}

#[test]
fn a_heap_that_sleeps_is_the_heap_that_does_not() {
    let text = scene(json!({ "fills": heap(60) }));
    let awake = text.replace(r#""sleep":{},"#, "");
    assert_ne!(text, awake);
    let (mut with, mut without) = (simulate(&text), simulate(&awake));
    with.step(15_000).unwrap();
    without.step(15_000).unwrap();
    assert_eq!(sleepers(&mut with), 60);
    assert_eq!(sleepers(&mut without), 0);
    for (a, b) in with.bodies().unwrap().iter().zip(without.bodies().unwrap()) {
        let off = a.position.distance(b.position);
        assert!(off < 0.01 * RADIUS, "{off} m apart");
    }
}

#[test]
fn what_is_hit_wakes() {
    // A tower of three, and a ball that comes down on it later.
    let ball = |y: f64| json!({ "shape": "ball", "position": [0, y, 0] });
    let bodies = json!([ball(0.05), ball(0.15), ball(0.25), ball(7.0)]);
    let text = scene(json!({ "bodies": bodies }));
    on_both(&text, |mut simulation, engine| {
        simulation.step(5_000).unwrap();
        let sleeping = asleep(&mut simulation);
        assert_eq!(sleeping, [true, true, true, false], "{engine}");
        simulation.step(870).unwrap();
        let awake: Vec<bool> = asleep(&mut simulation);
        assert_eq!(
            awake, [false; 4],
            "{engine}: the blow goes through the tower"
        );
        let shaken = simulation.bodies().unwrap()[0].velocity.length();
        assert!(shaken > 0.01, "{engine}: {shaken}");
    });
}

#[test]
fn what_is_touched_softly_sleeps_on() {
    // A ball sleeps; another one comes rolling, and pushes it with v √(k m) = 0.14 N, or with 7 N. It takes 0.5 N to
    // wake it.
    for (speed, wakes) in [(0.001, false), (0.05, true)] {
        // Both as deep in the floor as their weight has them.
        let ball = |x: f64, speed: f64| {
            json!({ "shape": "ball", "position": [x, RADIUS - 9.81 / 2e4, 0], "velocity": [-speed, 0, 0],
                    "angular_velocity": [0, 0, speed / RADIUS] })
        };
        let text = scene(json!({
            "bodies": [ball(0.0, 0.0), ball(2.0 * RADIUS + 0.3 * speed, speed)],
            "sleep": { "speed": 5e-4, "after": 0.1, "wake": 0.5 },
        }));
        on_both(&text, |mut simulation, engine| {
            simulation.step(1_000).unwrap();
            assert_eq!(asleep(&mut simulation), [true, false], "{engine}");
            let before = simulation.bodies().unwrap()[0].position;
            simulation.step(4_000).unwrap();
            let bodies = simulation.bodies().unwrap();
            let [first, second] = [0, 1].map(|body| bodies[body].position);
            let gap = second.x - first.x - 2.0 * RADIUS;
            assert!(gap > -1e-4, "{engine}: nothing has stopped it, {gap} m");
            let left = bodies[1].velocity.x;
            assert!(
                left > -0.5 * speed,
                "{engine}: it has touched nothing, {left} m/s"
            );
            assert_eq!(first != before, wakes, "{engine}");
            assert_eq!(asleep(&mut simulation)[0], !wakes, "{engine}");
        });
    }
}

/// A block on the floor is pushed and turned by less than friction holds: it sleeps, for all that acts on it cancels out. More
/// wakes it.
#[test]
fn what_is_held_sleeps_on() {
    let block = |twist: f64| {
        scene(json!({
            "shapes": { "block": { "cube": { "n": 2, "radius": RADIUS }, "material": "ball" } },
            "bodies": [{ "name": "block", "shape": "block", "position": [0, 2.0 * RADIUS, 0] }],
            "forces": [
                { "body": "block", "force": [8, 0, 0], "torque": [0, 1.2, 0.5], "end": 10 },
                { "body": "block", "torque": [0, twist, 0], "start": 1 },
            ],
            "sleep": { "speed": 1e-3, "after": 0.1, "wake": 0.5 },
        }))
    };
    for (twist, sleeps) in [(0.001, true), (1.0, false)] {
        let mut simulation = simulate(&block(twist));
        simulation.step(4_900).unwrap();
        assert_eq!(asleep(&mut simulation), [true]);
        simulation.step(200).unwrap();
        assert_eq!(asleep(&mut simulation), [sleeps], "{twist} N m");
    }
}

/// A body that is fixed never sleeps, and disturbs nobody: what lies on it is left alone.
#[test]
fn what_lies_on_a_fixed_body_is_left_alone() {
    let ball =
        |y: f64, fixed: bool| json!({ "shape": "ball", "position": [0, y, 0], "fixed": fixed });
    let bodies = json!([ball(RADIUS, true), ball(3.0 * RADIUS - 9.81 / 2e4, false)]);
    let sleep = json!({ "speed": 1e-3, "after": 0.05 });
    let mut simulation = simulate(&scene(json!({ "bodies": bodies, "sleep": sleep })));
    simulation.step(500).unwrap();
    assert_eq!(asleep(&mut simulation), [false, true]);
    let loads = &simulation.state().unwrap().sphere_loads;
    assert!(loads[1].is_kept() && loads[1].sphere_contacts() == 1);
}

#[test]
fn what_loses_its_ground_falls() {
    let motion = json!({ "keys": [ { "time": 2, "position": [0, 1, 0] },
                                   { "time": 2.2, "position": [0.6, 1, 0] } ] });
    let walls = json!([{ "rectangle": { "size": [0.5, 0.5] }, "position": [0, 1, 0],
                         "material": "ball", "motion": motion }]);
    let ball = json!([{ "shape": "ball", "position": [0, 1.05, 0] },
                      { "shape": "ball", "position": [0, 1.15, 0] }]);
    let text = scene(json!({ "bodies": ball, "walls": walls }));
    on_both(&text, |mut simulation, engine| {
        simulation.step(9_000).unwrap();
        assert_eq!(sleepers(&mut simulation), 2, "{engine}");
        simulation.step(3_000).unwrap();
        for y in heights(&mut simulation) {
            assert!(y < 0.9, "{engine}: it hangs in the air at {y} m");
        }
    });
    // And when what bears it is taken away.
    let bodies = json!([{ "shape": "ball", "position": [0.25, 0.05, 0.25] },
                        { "shape": "ball", "position": [0.25, 0.15, 0.25] }]);
    let outlets = json!([{ "inside": { "min": [-1, 0, -1], "max": [1, 0.1, 1] } }]);
    let text =
        scene(json!({ "bodies": bodies, "outlets": outlets, "look_every": { "seconds": 1.5 } }));
    on_both(&text, |mut simulation, engine| {
        // The first look would take the lower ball at once.
        if simulation.body_count() == 2 {
            simulation.step(400).unwrap();
        }
        let y = heights(&mut simulation)[0];
        assert!(y < 0.14, "{engine}: {y}");
    });
}

#[test]
fn gravity_and_tuning_wake() {
    let bodies = json!([{ "shape": "ball", "position": [0, 0.05, 0] }]);
    on_both(
        &scene(json!({ "bodies": bodies })),
        |mut simulation, engine| {
            simulation.step(5_000).unwrap();
            assert_eq!(sleepers(&mut simulation), 1, "{engine}");
            let law = simulation.model().pairs[0];
            let stone = MaterialHandle::from_index(0);
            simulation.set_pair(stone, stone, law).unwrap();
            assert_eq!(sleepers(&mut simulation), 0, "{engine}");
            simulation.step(5_000).unwrap();
            assert_eq!(sleepers(&mut simulation), 1, "{engine}");
            simulation.set_gravity(DVec3::X).unwrap();
            simulation.step(500).unwrap();
            assert_eq!(sleepers(&mut simulation), 0, "{engine}");
            let moved = simulation.bodies().unwrap()[0].velocity.x;
            assert!(moved > 0.05, "{engine}: {moved}");
        },
    );
}

/// A ball that lies, and a change that is too small to wake it by its force.
#[test]
fn a_stage_and_a_table_of_gravity_wake() {
    let ball = json!([{ "shape": "ball", "position": [0, RADIUS - 9.81 / 2e4, 0] }]);
    let sleep = json!({ "speed": 1e-3, "after": 0.05, "wake": 0.5 });
    let stages = json!([{ "duration": 0.1 }, { "gravity": [0, -9.8, 0] }]);
    let table = json!([[0, 0, -9.81, 0], [0.1, 0, -9.81, 0], [0.2, 0, -9.8, 0]]);
    for (field, value) in [("stages", stages), ("gravity_table", table)] {
        let mut changes = json!({ "bodies": ball, "sleep": sleep });
        changes[field] = value;
        let mut simulation = simulate(&scene(changes));
        simulation.step(499).unwrap();
        assert_eq!(asleep(&mut simulation), [true], "{field}");
        simulation.step(10).unwrap();
        assert_eq!(asleep(&mut simulation), [false], "{field}");
    }
}

/// A time of rest is a number of steps, at least one and no more than there is room to count.
#[test]
fn rest_is_counted_in_steps() {
    let ball = json!([{ "shape": "ball", "position": [0, RADIUS, 0] }]);
    let after = |seconds: f64| scene(json!({ "bodies": ball, "sleep": { "after": seconds } }));
    let never = scene(json!({ "bodies": ball })).replace(r#""sleep":{},"#, "");
    let steps = |text: &str| State::new(&model(text)).params.sleep_steps;
    assert_eq!(steps(&after(0.1)), 500);
    assert_eq!(steps(&after(0.1003)), 502);
    assert_eq!(steps(&after(1e-9)), 1);
    assert_eq!(steps(&never), 0);
    let impulse =
        json!({ "bodies": ball, "contact": { "normal": "impulse" }, "sleep": { "after": 1e5 } });
    assert_eq!(steps(&scene(impulse)), (1 << 20) - 1);

    let mut simulation = simulate(&after(0.1));
    let mut tuned = |time_step| {
        simulation.set_time_step(time_step).unwrap();
        simulation.state().unwrap().params.sleep_steps
    };
    assert_eq!([1e-4, 3e-4, 0.5].map(&mut tuned), [1000, 333, 1]);
    let mut never = simulate(&never);
    never.set_time_step(1e-4).unwrap();
    assert_eq!(never.state().unwrap().params.sleep_steps, 0);
}

#[test]
fn sleep_does_not_depend_on_how_steps_are_divided() {
    let text = scene(json!({ "fills": heap(30) }));
    on_both(&text, |mut simulation, engine| {
        let start = simulation.state().unwrap().clone();
        simulation.step(9_000).unwrap();
        let once = simulation.state().unwrap().bodies.clone();
        assert!(sleepers(&mut simulation) > 0, "{engine}");
        simulation.restore(&start, 0).unwrap();
        for steps in [1, 2_999, 1_000, 7, 4_993] {
            simulation.step(steps).unwrap();
        }
        let again = &simulation.state().unwrap().bodies;
        let still = |bodies: &[rockfall::state::layout::Body]| -> Vec<u32> {
            bodies.iter().map(|body| body.still).collect()
        };
        assert_eq!(still(&once), still(again), "{engine}");
    });
}

/// Costs are counted, not timed: what takes the time of a step is the spheres whose contacts are evaluated.
#[test]
fn of_a_heap_that_sleeps_only_what_borders_on_the_awake_is_evaluated() {
    let text = scene(json!({ "fills": heap(60) }));
    on_both(&text, |mut simulation, engine| {
        let evaluated = |simulation: &mut Simulation| {
            let loads = &simulation.state().unwrap().sphere_loads;
            loads.iter().filter(|load| !load.is_kept()).count()
        };
        simulation.step(1).unwrap();
        let all = evaluated(&mut simulation);
        simulation.step(14_999).unwrap();
        assert_eq!(sleepers(&mut simulation), 60, "{engine}");
        assert_eq!(evaluated(&mut simulation), 0, "{engine}");
        // One is thrown off the heap.
        let mut state = simulation.state().unwrap().clone();
        let heights = heights(&mut simulation);
        let top = (0..60)
            .max_by(|a, b| heights[*a].total_cmp(&heights[*b]))
            .unwrap();
        state.bodies[top].still = 0;
        state.bodies[top].velocity = Vec3::Y;
        simulation.restore(&state, 15_000).unwrap();
        simulation.step(1).unwrap();
        let few = evaluated(&mut simulation);
        assert!(0 < few && few < all / 4, "{engine}: {few} of {all}");
    });
}
