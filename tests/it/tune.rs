//! Parameters that change while a simulation runs, on both engines.

use crate::common::on_both;
use glam::DVec3;
use rockfall::Simulation;
use rockfall::internals::pull::Pull;
use rockfall::model::handle::{MaterialHandle, WallHandle};
use serde_json::{Value, json};

/// A ball of 1 kg above a floor; steps of 1 ms.
fn ball(height: f64, extra: &str) -> String {
    format!(
        r#"{{ "version": 1, "gravity": [0, -10, 0],
        "contact": {{ "stiffness": 10000, "time_step": 0.001 }},
        "materials": {{ "stone": {{ "density": 238.732414637843, "restitution": 0.1, "friction": 0.5 }} }},
        "shapes": {{ "ball": {{ "sphere": {{ "radius": 0.1 }}, "material": "stone" }} }},
        "planes": [ {{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" }} ],
        "bodies": [ {{ "shape": "ball", "position": [0, {height}, 0] }} ] {extra} }}"#
    )
}

fn velocity(simulation: &mut Simulation) -> DVec3 {
    simulation.bodies().unwrap()[0].velocity
}

#[test]
fn gravity_acts_from_the_next_step_on() {
    on_both(&ball(100.0, ""), |mut simulation, engine| {
        simulation.step(100).unwrap();
        simulation.set_gravity(DVec3::ZERO).unwrap();
        simulation.step(100).unwrap();
        assert!((velocity(&mut simulation).y + 1.0).abs() < 1e-5, "{engine}");
        simulation.set_gravity(DVec3::new(3.0, 0.0, 0.0)).unwrap();
        simulation.step(100).unwrap();
        let expected = DVec3::new(0.3, -1.0, 0.0);
        let velocity = velocity(&mut simulation);
        assert!(
            (velocity - expected).length() < 1e-5,
            "{engine}: {velocity}"
        );
        assert_eq!(simulation.model().gravity.x, 3.0);
    });
}

#[test]
fn the_time_step_changes_and_time_goes_on() {
    on_both(&ball(100.0, ""), |mut simulation, engine| {
        simulation.step(100).unwrap();
        simulation.set_time_step(0.0005).unwrap();
        assert!((simulation.time() - 0.1).abs() < 1e-12, "{engine}");
        simulation.step(100).unwrap();
        assert!((simulation.time() - 0.15).abs() < 1e-12, "{engine}");
        let fallen = velocity(&mut simulation).y;
        assert!((fallen + 1.5).abs() < 1e-5, "{engine}: {fallen}");
    });
}

/// Gravity by a table, and a servo's end, come at their times whatever the time step has become.
#[test]
fn what_is_due_at_a_time_comes_then_after_the_time_step_has_changed() {
    let mut scene: Value = serde_json::from_str(&ball(100.0, "")).unwrap();
    scene.as_object_mut().unwrap().remove("gravity");
    scene["gravity_table"] = json!([[0.0, 0, -10, 0], [0.2, 0, -10, 0], [0.2001, 10, 0, 0]]);
    scene["walls"] = json!([ {
        "name": "lid", "rectangle": { "size": [1, 1] }, "position": [50, 20, 0], "material": "stone",
        "servo": { "direction": [0, -1, 0], "force": 1, "max_speed": 1, "end": 0.3 } } ]);
    on_both(&scene.to_string(), |mut simulation, engine| {
        simulation.run_until(0.1).unwrap();
        simulation.set_time_step(0.0005).unwrap();
        simulation.run_until(0.4).unwrap();
        let velocity = velocity(&mut simulation);
        let expected = DVec3::new(2.0, -2.0, 0.0);
        assert!(
            (velocity - expected).length() < 0.01,
            "{engine}: {velocity}"
        );
        let walls = simulation.walls().unwrap();
        let lid = walls.iter().find(|wall| wall.name == "lid").unwrap();
        let moved = 20.0 - lid.moving.pose.position.y;
        assert!((moved - 0.3).abs() < 1e-3, "{engine}: {moved}");
    });
}

/// A ball on a rigid wall has the stiffness of its own material: that of the other does not become it.
#[test]
fn a_rigid_wall_keeps_the_stiffness_of_each_material() {
    let text = r#"{ "version": 1, "duration": 0.001,
        "contact": { "normal": "hertz", "time_step": 1e-6 },
        "materials": {
            "soft": { "density": 1000, "restitution": 0.5, "friction": 0.5, "young_modulus": 1e6, "poisson_ratio": 0.3 },
            "hard": { "density": 1000, "restitution": 0.5, "friction": 0.5, "young_modulus": 1e8, "poisson_ratio": 0.3 } },
        "shapes": { "ball": { "sphere": { "radius": 0.1 }, "material": "soft" } },
        "walls": [
            { "plane": { "normal": [0, 1, 0] }, "material": "soft", "rigid": true },
            { "plane": { "normal": [0, -1, 0] }, "position": [0, 1, 0], "material": "hard", "rigid": true } ],
        "bodies": [ { "shape": "ball", "position": [0, 0.5, 0] } ] }"#;
    on_both(text, |mut simulation, engine| {
        let [soft, hard] = [0, 1].map(MaterialHandle::from_index);
        let before = simulation.model().pairs.clone();
        assert!(before[2].wall_stiffness > 50.0 * before[1].wall_stiffness);
        let mut law = before[1];
        law.friction = 0.7;
        simulation.set_pair(soft, hard, law).unwrap();
        let after = &simulation.model().pairs;
        assert_eq!(after[1], law, "{engine}");
        assert_eq!(after[2].friction, 0.7, "{engine}");
        assert_eq!(
            after[2].wall_stiffness, before[2].wall_stiffness,
            "{engine}"
        );
        law.wall_stiffness *= 2.0;
        simulation.set_pair(soft, hard, law).unwrap();
        let twice = simulation.model().pairs[2].wall_stiffness;
        assert_eq!(twice, 2.0 * before[2].wall_stiffness, "{engine}");
    });
}

#[test]
fn contacts_are_tuned() {
    on_both(&ball(0.2, ""), |mut simulation, engine| {
        // It falls 0.1 m, and rises as high again where nothing is lost.
        let mut law = simulation.model().pairs[0];
        law.damping_ratio = 0.0;
        simulation
            .set_pair(
                MaterialHandle::from_index(0),
                MaterialHandle::from_index(0),
                law,
            )
            .unwrap();
        simulation.step(140).unwrap();
        assert!(velocity(&mut simulation).y < -1.0, "{engine}: it falls");
        let mut highest = 0.0_f64;
        for _ in 0..40 {
            simulation.step(5).unwrap();
            highest = highest.max(simulation.bodies().unwrap()[0].position.y);
        }
        assert!((highest - 0.2).abs() < 4e-3, "{engine}: {highest}");
        // And with the restitution of the scene it does not.
        let mut law = simulation.model().pairs[0];
        law.damping_ratio = 1.0;
        simulation
            .set_pair(
                MaterialHandle::from_index(0),
                MaterialHandle::from_index(0),
                law,
            )
            .unwrap();
        simulation.step(1000).unwrap();
        assert!(
            velocity(&mut simulation).length() < 1e-2,
            "{engine}: it rests"
        );
    });
}

#[test]
fn a_body_that_is_pulled_hangs_where_spring_and_weight_are_equal() {
    on_both(&ball(1.0, ""), |mut simulation, engine| {
        let pull = Pull {
            body: 0,
            point: DVec3::ZERO,
            target: DVec3::new(0.3, 1.2, -0.2),
            stiffness: 100.0,
            damping: 20.0,
        };
        simulation.set_pull(Some(pull)).unwrap();
        simulation.step(2000).unwrap();
        let body = simulation.body_at(0).unwrap();
        let expected = pull.target - DVec3::Y * 10.0 / 100.0;
        let off = (body.position - expected).length();
        assert!(off < 1e-4, "{engine}: {} for {expected}", body.position);
        assert_eq!(body, simulation.bodies().unwrap()[0], "{engine}");
        simulation.set_pull(None).unwrap();
        simulation.step(100).unwrap();
        let fallen = velocity(&mut simulation).y;
        assert!((fallen + 1.0).abs() < 1e-3, "{engine}: {fallen}");
    });
}

#[test]
fn a_pull_beside_the_centre_turns_the_body() {
    on_both(&ball(1.0, ""), |mut simulation, engine| {
        simulation.set_gravity(DVec3::ZERO).unwrap();
        let pull = Pull {
            body: 0,
            point: DVec3::new(0.1, 0.0, 0.0),
            target: DVec3::new(0.1, 1.0, 0.01),
            stiffness: 10.0,
            damping: 0.0,
        };
        simulation.set_pull(Some(pull)).unwrap();
        simulation.step(1).unwrap();
        let body = simulation.body_at(0).unwrap();
        // F = 0.1 N for 1 ms on 1 kg, and r x F over 2/5 m r^2.
        let velocity = DVec3::new(0.0, 0.0, 1e-4);
        assert!(
            (body.velocity - velocity).length() < 1e-8,
            "{engine}: {}",
            body.velocity
        );
        let spin = DVec3::new(0.0, -0.1 * 1e-4 / 0.004, 0.0);
        let found = body.angular_velocity;
        assert!(
            (found - spin).length() < 1e-6,
            "{engine}: {found} for {spin}"
        );
    });
}

#[test]
fn a_pull_goes_the_short_way_through_a_periodic_box() {
    let domain =
        r#", "domain": { "min": [0, 0, 0], "max": [10, 10, 10], "periodic": [true, false, true] }"#;
    on_both(&ball(1.0, domain), |mut simulation, engine| {
        simulation
            .set_pull(Some(Pull {
                body: 0,
                point: DVec3::ZERO,
                target: DVec3::new(9.9, 1.0, 0.0),
                stiffness: 1.0,
                damping: 0.0,
            }))
            .unwrap();
        simulation.step(1).unwrap();
        let velocity = velocity(&mut simulation).x;
        assert!((velocity + 1e-4).abs() < 1e-6, "{engine}: {velocity}");
    });
}

#[test]
fn a_plane_that_moves_takes_its_contacts_along() {
    on_both(&ball(0.1, ""), |mut simulation, engine| {
        simulation.step(300).unwrap();
        let height = |simulation: &mut Simulation| simulation.bodies().unwrap()[0].position.y;
        let resting = height(&mut simulation);
        assert!((resting - 0.099).abs() < 1e-3, "{engine}: {resting}");
        simulation
            .move_wall(WallHandle::from_index(0), DVec3::new(0.0, -3.0, 0.0))
            .unwrap();
        simulation.step(300).unwrap();
        let falling = height(&mut simulation);
        assert!((falling + 0.35).abs() < 0.02, "{engine}: {falling}");
        simulation.step(2000).unwrap();
        let below = height(&mut simulation);
        assert!((below - resting + 3.0).abs() < 2e-3, "{engine}: {below}");
        // Up by so little that the ball is near enough to be pushed.
        simulation
            .move_wall(WallHandle::from_index(0), DVec3::new(0.0, 0.01, 0.0))
            .unwrap();
        simulation.step(2000).unwrap();
        let pushed = height(&mut simulation);
        assert!((pushed - below - 0.01).abs() < 2e-3, "{engine}: {pushed}");
    });
}

#[test]
fn what_was_tuned_stays_when_a_state_is_restored() {
    on_both(&ball(100.0, ""), |mut simulation, engine| {
        let start = simulation.state().unwrap().clone();
        simulation.set_gravity(DVec3::new(0.0, -5.0, 0.0)).unwrap();
        simulation.step(10).unwrap();
        simulation.restore(&start, 0).unwrap();
        assert_eq!((simulation.steps(), simulation.time()), (0, 0.0));
        simulation.step(100).unwrap();
        let fallen = velocity(&mut simulation).y;
        assert!((fallen + 0.5).abs() < 1e-5, "{engine}: {fallen}");
    });
}

#[test]
fn what_cannot_be_is_refused_in_a_sentence() {
    on_both(&ball(1.0, ""), |mut simulation, engine| {
        let refused = |outcome: rockfall::error::Result<()>, part: &str| {
            let sentence = outcome.unwrap_err().to_string();
            assert!(sentence.contains(part), "{engine}: {sentence}");
        };
        let law = simulation.model().pairs[0];
        refused(simulation.set_gravity(DVec3::NAN), "m/s²");
        refused(simulation.set_time_step(0.0), "greater than 0");
        refused(simulation.set_time_step(f64::INFINITY), "greater than 0");
        refused(
            simulation.set_pair(
                MaterialHandle::from_index(0),
                MaterialHandle::from_index(1),
                law,
            ),
            "has 1, numbered from 0",
        );
        let mut wrong = law;
        wrong.friction = -1.0;
        refused(
            simulation.set_pair(
                MaterialHandle::from_index(0),
                MaterialHandle::from_index(0),
                wrong,
            ),
            "the friction -1",
        );
        let mut sticky = law;
        sticky.cohesion = rockfall::model::Cohesion::SurfaceEnergy(10.0);
        refused(
            simulation.set_pair(
                MaterialHandle::from_index(0),
                MaterialHandle::from_index(0),
                sticky,
            ),
            "from the start",
        );
        let pull = |body, stiffness| Pull {
            body,
            stiffness,
            point: DVec3::ZERO,
            target: DVec3::ZERO,
            damping: 0.0,
        };
        refused(simulation.set_pull(Some(pull(1, 1.0))), "no body 1");
        refused(simulation.set_pull(Some(pull(0, -1.0))), "cannot be pulled");
        refused(
            simulation.move_wall(WallHandle::from_index(1), DVec3::ZERO),
            "no wall 1",
        );
        refused(simulation.body_at(1).map(|_| ()), "no body 1");
        assert_eq!(simulation.model().pairs[0], law, "nothing has changed");
    });
}

#[test]
fn bodies_that_came_in_can_be_asked_for_and_pulled() {
    let text = r#"{ "version": 1, "gravity": [0, 0, 0], "contact": { "stiffness": 1e5, "time_step": 1e-3 },
        "materials": { "stone": { "density": 1000, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.1 }, "material": "stone" } },
        "inlets": [ { "rate": 1000, "count": 4, "shapes": { "ball": 1 },
                      "region": { "min": [-1, -1, -1], "max": [1, 1, 1] } } ] }"#;
    on_both(text, |mut simulation, engine| {
        assert!(simulation.body_at(0).is_err(), "{engine}");
        simulation.step(300).unwrap();
        assert_eq!(simulation.body_count(), 4, "{engine}");
        let before = simulation.body_at(3).unwrap();
        let pull = rockfall::internals::pull::Pull {
            body: 3,
            point: glam::DVec3::ZERO,
            target: before.position + glam::DVec3::Y,
            stiffness: 100.0,
            damping: 0.0,
        };
        simulation.set_pull(Some(pull)).unwrap();
        simulation.step(20).unwrap();
        let speed = simulation.body_at(3).unwrap().velocity.y;
        assert!(speed > 0.1, "{engine}: {speed} m/s");
        assert!(simulation.body_at(4).is_err(), "{engine}");
    });
}
