//! The energy budget and the contact network.

use crate::common::{crowd, crowd_with_history, device};
use glam::DVec3;
use rockfall::model::{Cohesion, Law, Model, Rolling};
use rockfall::simulation::network::{Network, Partner};
use rockfall::state::State;
use rockfall::step::cpu;
use rockfall::{Energy, Simulation};

fn on_both(model: &Model, check: impl Fn(Simulation, &str)) {
    check(Simulation::on_cpu(model.clone(), None).unwrap(), "cpu");
    check(Simulation::on_gpu(model.clone(), device()).unwrap(), "gpu");
}

/// A crowd that is thrown together, without cohesion, whose necks would cost energy that the budget
/// does not know.
fn thrown_together(law: Law) -> Model {
    let mut model = crowd_with_history(law, 300, DVec3::splat(-3.0), 6);
    for pair in &mut model.pairs {
        pair.cohesion = Cohesion::None;
    }
    model.time_step *= 0.1;
    model
}

#[test]
fn what_is_dissipated_is_what_is_missing() {
    for law in [Law::Linear, Law::Hooke, Law::Hertz] {
        let model = thrown_together(law.clone());
        on_both(&model, |mut simulation, engine| {
            simulation.step(1).unwrap();
            let start = simulation.energy().unwrap();
            simulation.step(2000).unwrap();
            let end = simulation.energy().unwrap();
            let lost = |energy: &Energy| energy.damping + energy.friction;
            let missing = start.total() - end.total();
            let dissipated = lost(&end) - lost(&start);
            let what = format!("{law:?}, {engine}: {start:?} {end:?}");
            assert!(
                dissipated > 0.2 * start.total().abs(),
                "little happened: {what}"
            );
            assert!(
                (missing - dissipated).abs() < 0.02 * dissipated,
                "{missing} J are missing, {dissipated} J dissipated: {what}"
            );
            assert!(end.damping > 0.0 && end.friction > 0.0, "{what}");
        });
    }
}

#[test]
fn forces_of_the_network_are_those_that_moved_the_bodies() {
    for law in [Law::Linear, Law::Hooke, Law::Hertz] {
        let model = match law {
            Law::Linear => crowd(500, DVec3::splat(5.0), 3),
            _ => crowd_with_history(law.clone(), 500, DVec3::splat(5.0), 3),
        };
        let mut state = State::new(&model);
        for _ in 0..30 {
            cpu::step(&mut state);
        }
        let network = Network::new(&state);
        let mut sums = vec![DVec3::ZERO; model.bodies.len()];
        for contact in &network.contacts {
            sums[contact.body as usize] += contact.force;
            if let Partner::Sphere { body, .. } = contact.partner {
                sums[body as usize] -= contact.force;
            }
        }
        let largest = sums.iter().map(|sum| sum.length()).fold(0.0, f64::max);
        assert!(largest > 0.0);
        for (index, (sum, body)) in sums.iter().zip(&state.bodies).enumerate() {
            let load = state.load(body);
            let error = (*sum - load.force.as_dvec3()).length() / largest;
            assert!(error < 1e-3, "{law:?}: body {index}: {sum}, {}", load.force);
        }
        let touching = |c: &&rockfall::NetworkContact| c.overlap > 0.0;
        let contacts = network.contacts.iter().filter(touching).count();
        let counted: u32 = state
            .sphere_loads
            .iter()
            .map(|load| load.sphere_contacts() + 2 * load.wall_contacts())
            .sum();
        assert_eq!(2 * contacts as u32, counted, "{law:?}");
        let degrees: u32 = network.degrees().iter().sum();
        let of_bodies: u32 = state
            .bodies
            .iter()
            .map(|body| state.load(body).contacts)
            .sum();
        assert_eq!(degrees, of_bodies, "{law:?}");
    }
}

#[test]
fn a_spring_holds_what_was_put_into_it() {
    // Two balls that meet head-on, elastic: at the deepest, all is in the spring.
    for law in [Law::Hooke, Law::Hertz] {
        let mut model = crowd_with_history(law.clone(), 2, DVec3::ZERO, 1);
        model.gravity = DVec3::ZERO;
        model.walls.clear();
        for pair in &mut model.pairs {
            pair.damping = 0.0;
            pair.damping_ratio = 0.0;
            pair.cohesion = Cohesion::None;
            pair.rolling = Rolling::Constant;
        }
        let ball = [rockfall::model::clump::ClumpSphere {
            center: DVec3::ZERO,
            radius: 1.0,
        }];
        let mass = rockfall::model::clump::summed_spheres(&ball, 1000.0);
        model.shapes = vec![rockfall::model::clump::Clump::new("ball", 0, &ball, mass)];
        model.bodies.truncate(1);
        model.bodies[0].shape = 0;
        model.bodies[0].fixed = false;
        model.bodies[0].angular_velocity = DVec3::ZERO;
        model.bodies.push(model.bodies[0]);
        for (body, side) in model.bodies.iter_mut().zip([-1.0, 1.0]) {
            body.position = DVec3::X * side * 1.001;
            body.velocity = DVec3::X * -side;
        }
        on_both(&model, |mut simulation, engine| {
            simulation.step(1).unwrap();
            let start = simulation.energy().unwrap().total();
            let mut most: f64 = 0.0;
            for _ in 0..750 {
                simulation.step(4).unwrap();
                let energy = simulation.energy().unwrap();
                most = most.max(energy.elastic / start);
                let error = (energy.total() / start - 1.0).abs();
                assert!(error < 0.1, "{law:?}, {engine}: {error}");
                if energy.elastic == 0.0 && most > 0.0 {
                    break;
                }
            }
            assert!((most - 1.0).abs() < 0.02, "{law:?}, {engine}: {most}");
            let end = simulation.energy().unwrap();
            assert!(
                (end.kinetic / start - 1.0).abs() < 1e-3,
                "{law:?}, {engine}"
            );
        });
    }
}
