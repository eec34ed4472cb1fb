//! A state that is no longer one ends the run at the step in which it arose.

use crate::common::{crowd, device};
use glam::{DVec3, Vec3};
use rockfall::model::{Integrator, Model};
use rockfall::{Error, Simulation};

/// A crowd that stays finite for some steps: two stiff bodies meet, and the force between them is
/// more than single precision can hold.
fn doomed(integrator: Integrator) -> Model {
    let mut model = crowd(40, DVec3::ZERO, 4);
    model.integrator = integrator;
    model.walls.clear();
    for (index, body) in model.bodies.iter_mut().enumerate() {
        // Apart from each other, but for the last two, which meet.
        body.position = DVec3::X * 100.0 * index as f64;
        body.fixed = false;
    }
    let count = model.bodies.len();
    let reach = |shape: usize| model.shapes[shape].bounding_radius();
    let gap = reach(model.bodies[count - 1].shape) + reach(model.bodies[count - 2].shape) + 0.01;
    let at = model.bodies[count - 2].position;
    model.bodies[count - 1].position = at + DVec3::Y * gap;
    model.bodies[count - 1].velocity = DVec3::NEG_Y * 50.0;
    model.bodies[count - 2].velocity = DVec3::ZERO;
    for pair in &mut model.pairs {
        pair.stiffness = 3e38;
        pair.damping = 3e38;
    }
    model
}

fn is_finite(simulation: &mut Simulation) -> bool {
    let state = simulation.state().unwrap();
    let bodies = state.bodies.iter();
    bodies.fold(true, |all, body| {
        all && body.velocity.is_finite() && body.angular_momentum.is_finite()
    })
}

fn on_both(model: &Model) -> [Simulation; 2] {
    [
        Simulation::on_cpu(model.clone(), Some(2)).unwrap(),
        Simulation::on_gpu(model.clone(), device()).unwrap(),
    ]
}

#[test]
fn a_run_stops_at_the_step_in_which_a_velocity_is_no_number() {
    for integrator in [Integrator::SemiImplicit, Integrator::Explicit] {
        let model = doomed(integrator);
        for (mut one_by_one, mut at_once) in on_both(&model).into_iter().zip(on_both(&model)) {
            let engine = at_once.backend();
            let mut last_good = 0;
            while one_by_one.step(1).is_ok() {
                last_good += 1;
                assert!(is_finite(&mut one_by_one), "{engine}: step {last_good}");
                assert!(last_good < 2000, "{engine}: the bodies never meet");
            }
            assert!(last_good > 2, "{engine}: they met at once");
            assert!(!is_finite(&mut one_by_one), "{engine}");

            let error = at_once.step(100_000).unwrap_err();
            let Error::Runaway {
                body, step, how, ..
            } = &error
            else {
                panic!("{engine}: {error}")
            };
            assert_eq!(*step, last_good + 1, "{engine}: {error}");
            assert!(*body >= model.bodies.len() - 2, "{engine}: {error}");
            assert!(how.contains("not finite"), "{engine}: {error}");
            assert_eq!(at_once.steps(), last_good + 1);
            // It goes no further.
            at_once.step(10).unwrap_err();
            assert_eq!(at_once.steps(), last_good + 1);
            let stopped = at_once.snapshot().unwrap().summary().state_hash;
            let there = one_by_one.snapshot().unwrap().summary().state_hash;
            assert_eq!(stopped, there, "{engine}: nothing moved after that step");
        }
    }
}

#[test]
fn a_state_that_was_never_one_is_found_in_the_first_step() {
    let model = crowd(80, DVec3::ZERO, 4);
    for mut simulation in on_both(&model) {
        let good = simulation.state().unwrap().clone();
        let free = |index: &usize| !model.bodies[*index].fixed;
        let victim = (5..).find(free).unwrap();
        for spoil in [
            Vec3::NAN,
            Vec3::INFINITY,
            Vec3::new(0.0, f32::NEG_INFINITY, 0.0),
        ] {
            let mut state = good.clone();
            state.bodies[victim].velocity = spoil;
            simulation.restore(&state, 0).unwrap();
            assert!(simulation.step(20).is_err());
            assert_eq!(simulation.steps(), 1, "{}", simulation.backend());
            let mut state = good.clone();
            state.bodies[victim].angular_momentum = spoil;
            simulation.restore(&state, 0).unwrap();
            assert!(simulation.step(20).is_err());
            assert_eq!(simulation.steps(), 1, "{}", simulation.backend());
        }
        // Restored, it goes on.
        simulation.restore(&good, 0).unwrap();
        simulation.step(20).unwrap();
    }
}
