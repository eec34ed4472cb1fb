//! Every pass, on the GPU against the reference, from the same input.

use crate::common::{
    bonded_crowd, crowd, crowd_with_history, device, forced_crowd, periodic_crowd, walled_crowd,
    warm_crowd,
};
use glam::{DVec3, IVec3, Vec3, Vec4};
use rockfall::internals::compare::{Difference, differences};
use rockfall::internals::math::grid::bucket;
use rockfall::internals::{cpu, reference};
use rockfall::model::Law;
use rockfall::model::wall::Shape;
use rockfall::state::layout::{
    ASLEEP, BodyProperties, EXPLICIT, GHOST, GROUP_SHIFT, SEMI_IMPLICIT, Sphere, SummedLoad, WALL,
};
use rockfall::state::{Field, State};
use rockfall::step::Pass;
use rockfall::step::gpu::GpuEngine;

const SIZES: [usize; 6] = [1, 2, 63, 64, 65, 1000];
/// More than a workgroup of workgroups: sums of sums.
const LARGE: usize = 65_537;

/// Runs the passes before `pass` on the CPU, then `pass` on the GPU and by the reference from what they left.
fn both(pass: Pass, mut state: State) -> (State, State) {
    for before in Pass::ALL.into_iter().take_while(|&before| before != pass) {
        cpu::run(before, &mut state);
    }
    let mut engine = GpuEngine::new(device(), &state).unwrap();
    let mut on_gpu = state.clone();
    if pass == Pass::Scatter {
        // The order of slots is free; have the GPU sort what is not sorted already.
        for (index, slot) in on_gpu.slots.iter_mut().enumerate() {
            let home = state.buckets[index] as usize;
            let count = state.bucket_starts[home + 1] - state.bucket_starts[home];
            *slot = count - 1 - *slot;
        }
        engine.replace(&on_gpu).unwrap();
    }
    engine.run(pass).unwrap();
    for field in Field::ALL {
        engine.download(field, &mut on_gpu).unwrap();
    }
    reference::run(pass, &mut state);
    (state, on_gpu)
}

fn beyond(differences: &[Difference]) -> Vec<&Difference> {
    differences
        .iter()
        .filter(|difference| difference.is_beyond_tolerance())
        .collect()
}

fn agree(pass: Pass, state: State, what: &str) -> (State, State) {
    let (on_cpu, on_gpu) = both(pass, state);
    let differences = differences(pass, &on_cpu, &on_gpu);
    assert!(
        beyond(&differences).is_empty(),
        "{} differs, {what}: {:?}",
        pass.name(),
        beyond(&differences)
    );
    (on_cpu, on_gpu)
}

fn agree_at_all_sizes(pass: Pass) {
    let center = DVec3::new(3.0, -7.0, 1.0);
    for spheres in SIZES {
        agree_in_crowd(pass, spheres);
    }
    if pass == Pass::Scan {
        agree_in_crowd(pass, LARGE);
    }
    let far = DVec3::new(-1e4, 1e4, 1e4);
    agree(
        pass,
        State::new(&crowd(1000, far, 9)),
        "far from the origin",
    );
    agree(pass, crowded_table(1000), "cells that share buckets");
    for law in [Law::HookeHistory, Law::HertzMindlin] {
        for limit_damping in [true, false] {
            let what = format!("{law:?}, limited damping {limit_damping}, after some steps");
            let mut model = crowd_with_history(law.clone(), 1000, center, 6);
            model.contact.limit_damping = limit_damping;
            model.contact.rescales = limit_damping;
            let mut state = State::new(&model);
            for _ in 0..40 {
                cpu::step(&mut state);
            }
            agree(pass, state, &what);
        }
    }
    for periodic in [[true, false, true], [false, true, false], [true; 3]] {
        for spheres in [2, 65, 1000] {
            let model = periodic_crowd(spheres, center, 3, periodic);
            agree(
                pass,
                State::new(&model),
                &format!("{spheres}, periodic along {periodic:?}"),
            );
        }
    }
    // Terms that vanish with the time step would not show at a small one.
    for integrator in [SEMI_IMPLICIT, EXPLICIT] {
        let mut state = State::new(&crowd(1000, center, 4));
        state.params.time_step = 0.01;
        state.params.integrator = integrator;
        agree(pass, state, "a large time step");
    }
}

fn agree_in_crowd(pass: Pass, spheres: usize) {
    let crowd = crowd(spheres, DVec3::new(3.0, -7.0, 1.0), spheres as u64);
    agree(pass, State::new(&crowd), &format!("{spheres}"));
}

#[test]
#[ignore = "slow: minutes on a software adapter"]
fn all_passes_agree_in_a_large_crowd() {
    for pass in [
        Pass::Pose,
        Pass::Bin,
        Pass::Scatter,
        Pass::Neighbours,
        Pass::Contacts,
        Pass::Walls,
        Pass::Integrate,
    ] {
        agree_in_crowd(pass, LARGE);
    }
}

/// A state whose hash table is far too small, so that most cells share a bucket with others.
fn crowded_table(spheres: usize) -> State {
    let mut state = State::new(&crowd(spheres, DVec3::ZERO, 5));
    state.params.bucket_count = 16;
    state.bucket_starts = vec![0; 17];
    state
}

#[test]
fn pose_agrees() {
    agree_at_all_sizes(Pass::Pose);
}

#[test]
fn bin_agrees() {
    agree_at_all_sizes(Pass::Bin);
}

#[test]
fn scan_agrees() {
    agree_at_all_sizes(Pass::Scan);
}

#[test]
fn scatter_agrees() {
    agree_at_all_sizes(Pass::Scatter);
}

#[test]
fn neighbours_agrees() {
    agree_at_all_sizes(Pass::Neighbours);
}

#[test]
fn contacts_agrees() {
    agree_at_all_sizes(Pass::Contacts);
}

#[test]
fn walls_agrees() {
    agree_at_all_sizes(Pass::Walls);
}

/// A force that is off by little is seen.
fn perturb_forces(on_cpu: &State, on_gpu: &State) {
    type Perturbation = fn(&mut State);
    let cases: [(&str, Perturbation); 4] = [
        ("force", |s| s.body_forces[7].force *= 1.1),
        ("torque", |s| s.body_forces[7].torque.y += 1e3),
        ("acceleration", |s| s.body_forces[7].acceleration.x += 1e-3),
        ("dissipated energy", |s| s.body_forces[7].drag += 100.0),
    ];
    for (quantity, perturb) in cases {
        let mut changed = on_gpu.clone();
        perturb(&mut changed);
        let differences = differences(Pass::Forces, on_cpu, &changed);
        let seen = beyond(&differences);
        assert!(
            seen.iter().any(|found| found.quantity == quantity),
            "{quantity} was perturbed, and only {seen:?} was seen"
        );
    }
}

/// All that acts on bodies, with the groups that ignore each other, and bodies that sleep.
#[test]
fn forces_agree() {
    for (spheres, center) in [
        (2, DVec3::ZERO),
        (65, DVec3::new(3.0, -7.0, 1.0)),
        (1000, DVec3::new(3.0, -7.0, 1.0)),
        (1000, DVec3::new(-300.0, 200.0, 500.0)),
    ] {
        let mut state = State::new(&forced_crowd(spheres, center, spheres as u64));
        state.params.sleep_steps = 10;
        state.params.sleep_speed = 1.0;
        state.params.wake_acceleration = 2.0;
        for (index, body) in state.bodies.iter_mut().enumerate() {
            if index % 7 == 0 {
                body.still = ASLEEP;
                (body.velocity, body.angular_momentum) = (Vec3::ZERO, Vec3::ZERO);
            }
            if index % 5 == 0 {
                body.still = 9;
                body.velocity *= 0.01;
                body.angular_momentum *= 0.01;
            }
        }
        for _ in 0..2 {
            cpu::step(&mut state);
        }
        for pass in [
            Pass::Pose,
            Pass::Neighbours,
            Pass::Contacts,
            Pass::Forces,
            Pass::Integrate,
        ] {
            let (on_cpu, on_gpu) = agree(pass, state.clone(), &format!("{spheres} at {center}"));
            let still = |state: &State| -> Vec<u32> {
                state.bodies.iter().map(|body| body.still).collect()
            };
            assert_eq!(still(&on_cpu), still(&on_gpu), "{spheres} at {center}");
            if pass == Pass::Forces && spheres == 1000 {
                perturb_forces(&on_cpu, &on_gpu);
            }
        }
    }
}

/// Bodies that another rank of a cluster steps are no neighbours of each other, nor of walls, and nothing acts on them.
#[test]
fn ghosts_agree() {
    let mut state = State::new(&forced_crowd(1000, DVec3::new(3.0, -7.0, 1.0), 5));
    let kinds = state.properties.len();
    let ghosts = state.properties.iter().map(|own| BodyProperties {
        group: own.group | GHOST >> GROUP_SHIFT,
        ..*own
    });
    let ghosts: Vec<_> = ghosts.collect();
    state.properties.extend(ghosts);
    let params = &mut state.params;
    (params.ghosts, params.balls, params.clumps) = (1, 0, 0);
    let is_ghost = |body: usize| body.is_multiple_of(3);
    for (index, body) in state.bodies.iter_mut().enumerate() {
        body.kind += kinds as u32 * u32::from(is_ghost(index));
    }
    for pass in [
        Pass::Pose,
        Pass::Neighbours,
        Pass::Contacts,
        Pass::Walls,
        Pass::Forces,
        Pass::Integrate,
    ] {
        let (_, after) = agree(pass, state.clone(), "ghosts");
        let own = |sphere: u32| is_ghost(after.spheres[sphere as usize].body as usize);
        let lists = after.neighbour_starts.windows(2).zip(0..);
        for (list, _) in lists.filter(|(_, sphere)| pass == Pass::Neighbours && own(*sphere)) {
            let list = &after.neighbours[list[0] as usize..list[1] as usize];
            assert!(list.iter().all(|&other| other & WALL == 0 && !own(other)));
        }
        for (index, (now, before)) in after.bodies.iter().zip(&state.bodies).enumerate() {
            assert!(!is_ghost(index) || now == before, "{pass:?}: {index}");
        }
        let forces = after.body_forces.iter().zip(&state.body_forces);
        for (index, (now, before)) in forces.enumerate() {
            assert!(!is_ghost(index) || now == before, "{pass:?}: {index}");
        }
    }
}

/// Bonds that hold, that break and that heal; a force, a loss and a bond that are off are seen.
#[test]
fn bonds_agree() {
    for (spheres, center) in [
        (2, DVec3::ZERO),
        (65, DVec3::new(3.0, -7.0, 1.0)),
        (1000, DVec3::new(-300.0, 200.0, 500.0)),
    ] {
        let mut state = State::new(&bonded_crowd(spheres, center, 6));
        for _ in 0..20 {
            cpu::step(&mut state);
        }
        let what = format!("{spheres} at {center}");
        let (on_cpu, on_gpu) = agree(Pass::Bonds, state.clone(), &what);
        if spheres < 1000 {
            continue;
        }
        let [count, broken] = on_cpu.count_bonds();
        assert!(0 < broken && broken < count, "{broken} of {count}");
        let before = state.bonds.iter().zip(&on_cpu.bonds);
        let heal = before.filter(|(before, after)| before.broken != 0 && after.broken == 0);
        let moved = heal.map(|(before, after)| (before.first_arm - after.first_arm).length());
        let moved = moved.fold(0.0, f32::max);
        assert!(
            moved > 1e-4,
            "the ends of bonds that heal move by {moved} m"
        );
        type Perturbation = fn(&mut State);
        let cases: [(&str, Perturbation); 8] = [
            ("force", |s| s.body_forces[7].force.x += 1e4),
            ("torque", |s| s.body_forces[7].torque.y += 1e4),
            ("dissipated energy", |s| s.body_bonds[7].taken += 1e3),
            ("damage", |s| s.body_bonds[7].damage += 0.01),
            ("broken bonds", |s| s.bonds[7].broken ^= 1),
            ("broken bonds", |s| s.bonds[7].near += 1),
            ("arms of bonds", |s| s.bonds[7].second_arm.y += 1e-3),
            ("frames of bonds", |s| s.bonds[7].second_frame.y += 1e-3),
        ];
        for (quantity, perturb) in cases {
            let mut changed = on_gpu.clone();
            perturb(&mut changed);
            let differences = differences(Pass::Bonds, &on_cpu, &changed);
            let seen = beyond(&differences);
            assert!(
                seen.iter().any(|found| found.quantity == quantity),
                "{quantity} was perturbed, and only {seen:?} was seen"
            );
        }
    }
}

/// Between bodies and with walls of every kind, in a box that is periodic, too; a flow that is off by little is seen.
#[test]
fn heat_agrees() {
    for (law, spheres, center) in [
        (Law::HookeViscous, 2, DVec3::ZERO),
        (Law::HookeHistory, 65, DVec3::new(3.0, -7.0, 1.0)),
        (Law::HertzMindlin, 1000, DVec3::new(-300.0, 200.0, 500.0)),
    ] {
        let model = warm_crowd(law, spheres, center, 6);
        let mut periodic = model.clone();
        periodic.domain = periodic_crowd(spheres, center, 6, [true; 3]).domain;
        for (model, what) in [(model, "open"), (periodic, "periodic")] {
            let mut state = State::new(&model);
            for _ in 0..20 {
                cpu::step(&mut state);
            }
            let what = format!("{spheres} spheres, {what}");
            let (on_cpu, on_gpu) = agree(Pass::Heat, state.clone(), &what);
            if spheres < 1000 {
                continue;
            }
            let flows = on_cpu.body_heat.iter().filter(|own| own.flow != 0.0);
            assert!(2 * flows.count() > on_cpu.bodies.len(), "{what}");
            for (quantity, perturb) in [
                (
                    "heat flow",
                    (|s| s.body_heat[7].flow += 1e6) as fn(&mut State),
                ),
                ("temperature", |s| s.body_heat[7].temperature += 0.01),
            ] {
                let mut changed = on_gpu.clone();
                perturb(&mut changed);
                let differences = differences(Pass::Heat, &on_cpu, &changed);
                let seen = beyond(&differences);
                assert!(
                    seen.iter().any(|found| found.quantity == quantity),
                    "{quantity} was perturbed, and only {seen:?} was seen"
                );
            }
        }
    }
}

#[test]
fn integrate_agrees() {
    agree_at_all_sizes(Pass::Integrate);
}

/// Walls of every kind, at rest and moving, near and far from the origin; with the loads on them.
#[test]
fn walls_of_every_kind_agree() {
    let center = DVec3::new(3.0, -7.0, 1.0);
    for (law, center) in [
        (Law::HookeViscous, center),
        (Law::HookeHistory, 1e4 * center),
        (Law::HertzMindlin, center),
    ] {
        let mut state = State::new(&walled_crowd(law.clone(), 1000, center, 6));
        state.params.wall_loads = 1;
        for _ in 0..40 {
            cpu::step(&mut state);
        }
        for wall in 0..10 {
            let touched = |load: &SummedLoad| load.force != Vec3::ZERO;
            assert!(touched(&state.wall_loads[wall]), "wall {wall}: {law:?}");
        }
        for pass in [Pass::Neighbours, Pass::Walls, Pass::Integrate] {
            agree(pass, state.clone(), &format!("{law:?} at {center}"));
        }
    }
}

/// Each comparison must be able to fail: it does when one element of one side is off by little.
#[test]
fn every_comparison_sees_a_perturbation() {
    type Perturbation = fn(&mut State);
    let cases: [(Pass, &str, Perturbation); 24] = [
        (Pass::Pose, "position", |s| s.spheres[700].offset.y += 1e-4),
        (Pass::Pose, "position", |s| s.spheres[700].cell.z += 1),
        (Pass::Pose, "velocity", |s| s.spheres[3].velocity.x += 1e-3),
        (Pass::Pose, "angular velocity", |s| {
            s.spheres[3].angular_velocity.x += 1e-3
        }),
        (Pass::Bin, "bucket", |s| s.buckets[999] ^= 1),
        (Pass::Bin, "spheres in a bucket", |s| {
            s.bucket_starts[7] += 1
        }),
        (Pass::Scan, "start of a bucket", |s| {
            s.bucket_starts[1024] += 1
        }),
        (Pass::Scatter, "sorted spheres", |s| s.sorted.swap(10, 11)),
        (Pass::Neighbours, "neighbours", |s| {
            s.neighbours.swap(100, 101)
        }),
        (Pass::Neighbours, "neighbours", |s| s.neighbours[100] = 999),
        (Pass::Neighbours, "history", |s| a_history(s).x += 1e-6),
        (Pass::Contacts, "history", |s| a_history(s).x += 1e-3),
        (Pass::Contacts, "history", |s| a_history(s).w += 1e-3),
        (Pass::Contacts, "dissipated energy", |s| {
            s.sphere_loads[500].friction += 1e6
        }),
        (Pass::Contacts, "force", |s| {
            s.sphere_loads[500].force *= 1.01
        }),
        (Pass::Contacts, "torque", |s| {
            s.sphere_loads[500].torque.x += 1e6
        }),
        (Pass::Contacts, "contacts", |s| {
            s.sphere_loads[0].contacts += 1
        }),
        (Pass::Walls, "force", |s| s.sphere_loads[500].force *= 1.01),
        (Pass::Walls, "force on a wall", |s| s.wall_sums[0] += 10_000),
        (Pass::Walls, "torque on a wall", |s| {
            s.wall_sums[9] += 10_000
        }),
        (Pass::Integrate, "walls", |s| s.walls[2].offset.y += 1e-4),
        (Pass::Integrate, "position", |s| {
            s.bodies[20].offset.x ^= 1 << 20
        }),
        (Pass::Integrate, "orientation", |s| {
            s.bodies[20].orientation.x ^= 1 << 20
        }),
        (Pass::Integrate, "velocity", |s| {
            s.bodies[20].velocity.x = f32::NAN
        }),
    ];
    let mut model = walled_crowd(Law::HookeHistory, 1000, DVec3::ZERO, 2);
    // Where facets meet, rounding decides which of them is touched.
    model
        .walls
        .retain(|wall| !matches!(wall.shape, Shape::Box { .. } | Shape::Cone { .. }));
    let mut state = State::new(&model);
    state.params.wall_loads = 1;
    for _ in 0..20 {
        cpu::step(&mut state);
    }
    for (pass, quantity, perturb) in cases {
        let (on_cpu, mut on_gpu) = agree(pass, state.clone(), "");
        perturb(&mut on_gpu);
        let differences = differences(pass, &on_cpu, &on_gpu);
        let seen = beyond(&differences);
        assert!(
            seen.iter()
                .any(|difference| difference.quantity == quantity),
            "{}: {quantity} was perturbed, and only {seen:?} was seen",
            pass.name()
        );
    }
}

/// The history of a contact that has any.
fn a_history(state: &mut State) -> &mut Vec4 {
    let stretched = |history: &&mut Vec4| history.truncate() != Vec3::ZERO;
    state.history.iter_mut().find(stretched).unwrap()
}

/// The GPU and the CPU could miss the same contacts; all pairs cannot.
#[test]
fn contacts_are_those_of_all_pairs() {
    for (mut state, what) in [
        (
            State::new(&crowd(1000, DVec3::ZERO, 3)),
            "around the origin",
        ),
        (
            State::new(&crowd(1000, DVec3::splat(-1e4), 3)),
            "far from the origin",
        ),
        (crowded_table(1000), "cells that share buckets"),
    ] {
        for pass in Pass::ALL
            .into_iter()
            .take_while(|&pass| pass != Pass::Integrate)
        {
            cpu::run(pass, &mut state);
        }
        let mut total = 0;
        for (index, sphere) in state.spheres.iter().enumerate() {
            let closer_than = |gap: f64| {
                let touching = |other: &&Sphere| {
                    let cells = (other.cell - sphere.cell).as_dvec3();
                    let apart = cells * state.params.cell_size.as_dvec3()
                        + (other.offset - sphere.offset).as_dvec3();
                    other.body != sphere.body
                        && sphere.inverse_mass + other.inverse_mass > 0.0
                        && apart.length() < f64::from(sphere.radius + other.radius) + gap
                };
                state.spheres.iter().filter(touching).count() as u32
            };
            // Some of those less than half a step apart touch in the second half.
            let expected = closer_than(0.0)..=closer_than(1e-2);
            let found = state.sphere_loads[index].sphere_contacts();
            assert!(
                expected.contains(&found),
                "{what}: {index}: {found}, not {expected:?}"
            );
            total += found;
        }
        assert!(
            total > 1000,
            "{what}: the crowd must touch to mean anything"
        );
    }
}

#[test]
fn distinct_cells_share_a_bucket_and_rows_are_adjacent() {
    let cell = IVec3::new(-3, 5, -8);
    assert_eq!(bucket(cell, 0, 64), bucket(cell + IVec3::X * 64, 0, 64));
    assert_ne!(
        bucket(cell, 0, 1 << 20),
        bucket(cell, 1, 1 << 20),
        "levels differ"
    );
    for x in 0..3 {
        let expected = (bucket(cell, 2, 1024) + x) % 1024;
        assert_eq!(bucket(cell + IVec3::X * x as i32, 2, 1024), expected);
    }
}
