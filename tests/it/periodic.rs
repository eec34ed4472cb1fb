//! Periodic boxes: contacts across the seam are contacts like any other.

use crate::common::{Random, crowd, device, periodic_crowd};
use glam::{DVec3, IVec3};
use rockfall::Simulation;
use rockfall::internals::clump::{Clump, ClumpSphere, summed_spheres};
use rockfall::internals::cpu;
use rockfall::model::wall::Wall;
use rockfall::model::{Domain, Model, ModelBody};
use rockfall::simulation::summary::Summary;
use rockfall::state::layout::{Body, SphereLoad};
use rockfall::state::{Field, State, least_period};
use rockfall::step::gpu::GpuEngine;

/// The state after `steps` steps on the CPU.
fn on_cpu(mut state: State, steps: u64) -> State {
    for _ in 0..steps {
        cpu::step(&mut state);
    }
    state
}

/// The state after steps on the GPU.
fn on_gpu(mut state: State, steps: u64) -> State {
    let mut engine = GpuEngine::new(device(), &state).unwrap();
    engine.step(1, steps, &mut Vec::new()).unwrap();
    for field in [Field::Bodies, Field::Stats, Field::SphereLoads] {
        engine.download(field, &mut state).unwrap();
    }
    state
}

type Engine = fn(State, u64) -> State;
const ENGINES: [(&str, Engine); 2] = [("cpu", on_cpu), ("gpu", on_gpu)];

/// Every non-empty set of axes.
fn sets_of_axes() -> impl Iterator<Item = [bool; 3]> {
    (1..8).map(|bits| std::array::from_fn(|axis| bits >> axis & 1 == 1))
}

fn ball(radius: f64) -> Clump {
    let spheres = [ClumpSphere {
        center: DVec3::ZERO,
        radius,
    }];
    Clump::new("ball", 0, &spheres, summed_spheres(&spheres, 1000.0))
}

fn at(shape: usize, position: DVec3, velocity: DVec3) -> ModelBody {
    ModelBody {
        shape,
        position,
        velocity,
        ..ModelBody::default()
    }
}

/// One ball of radius 1 and no forces, in a box that is periodic along all axes.
fn lone_ball(position: DVec3, velocity: DVec3) -> Model {
    Model {
        history: None,
        domain: Some(Domain {
            min: DVec3::new(-3.0, 10.0, 0.0),
            max: DVec3::new(4.5, 20.0, 7.0),
            periodic: [true; 3],
        }),
        gravity: DVec3::ZERO,
        shapes: vec![ball(1.0)],
        walls: Vec::new(),
        bodies: vec![at(0, position, velocity)].into(),
        ..crowd(1, DVec3::ZERO, 1)
    }
}

/// Balls of radius 1 and of ten times that, everywhere in a box that is three of the coarsest cells
/// wide along x.
fn many_radii() -> Model {
    let mut model = crowd(1, DVec3::ZERO, 1);
    let size = DVec3::new(61.0, 83.0, 70.0);
    model.domain = Some(Domain {
        min: -0.3 * size,
        max: 0.7 * size,
        periodic: [true; 3],
    });
    model.shapes = vec![ball(1.0), ball(3.0), ball(10.0)];
    model.walls.clear();
    let mut random = Random::new(11);
    model.bodies = (0..1500)
        .map(|index| {
            let shape = usize::from(index % 50 == 0) + usize::from(index % 500 == 0);
            let place = (random.vector(0.5) + 0.2) * size;
            at(shape, place, random.vector(20.0))
        })
        .collect();
    model
}

/// Balls of radius 1 in a box of two diameters along x and two and a half along z.
fn slab() -> Model {
    let mut model = lone_ball(DVec3::ZERO, DVec3::ZERO);
    let size = DVec3::new(4.0, 30.0, 5.0);
    model.domain = Some(Domain {
        min: DVec3::ZERO,
        max: size,
        periodic: [true; 3],
    });
    let mut random = Random::new(12);
    model.bodies = (0..60)
        .map(|_| at(0, (random.vector(0.5) + 0.5) * size, random.vector(10.0)))
        .collect();
    model
}

/// A ball has another one on either side of it, and it is the same one: it bounces between two images.
#[test]
fn in_a_box_of_two_diameters_a_ball_meets_two_images_of_another() {
    for length in [4.0, 5.0] {
        let mut model = lone_ball(DVec3::ZERO, DVec3::ZERO);
        model.domain = Some(Domain {
            min: DVec3::splat(-1.0),
            max: DVec3::splat(length - 1.0),
            periodic: [true; 3],
        });
        for pair in &mut model.pairs {
            (pair.damping_ratio, pair.damping, pair.friction) = (0.0, 0.0, 0.0);
            pair.stiffness = 1e8;
        }
        let fixed = ModelBody {
            fixed: true,
            ..at(0, DVec3::ZERO, DVec3::ZERO)
        };
        model.bodies = vec![fixed, at(0, DVec3::X * 2.0, DVec3::X * 10.0)].into();
        let on_gpu = Simulation::on_gpu(model.clone(), device()).unwrap();
        let on_cpu = Simulation::on_cpu(model, Some(1)).unwrap();
        for (name, mut simulation) in [("cpu", on_cpu), ("gpu", on_gpu)] {
            let (mut left, mut right, mut turns, mut before) = (0.0_f64, 0.0_f64, 0, 1.0);
            for _ in 0..100 {
                simulation.step(50).unwrap();
                let body = simulation.bodies().unwrap()[1].clone();
                let x = body.position.x.rem_euclid(length);
                (left, right) = (left.max(2.0 - x), right.max(x - (length - 2.0)));
                turns += u32::from(before * body.velocity.x < 0.0);
                before = body.velocity.x;
                assert!(simulation.summary().unwrap().contacts <= 1, "{name}");
            }
            // v √(m / k) deep on either side, as often as it is looked at, and never through.
            let deep = 10.0 * (1000.0 * 4.0 / 3.0 * std::f64::consts::PI / 1e8).sqrt();
            assert!(turns > 3, "{name}, {length}: {turns} turns");
            for found in [left, right] {
                assert!(
                    found > 0.3 * deep && found < 1.05 * deep,
                    "{name}, {length}: {left} m and {right} m, not {deep} m"
                );
            }
        }
    }
}

fn loads_of(state: &State) -> (Vec<SphereLoad>, u32) {
    let contacts = state
        .sphere_loads
        .iter()
        .map(SphereLoad::sphere_contacts)
        .sum();
    (state.sphere_loads.clone(), contacts)
}

/// Holds the contacts of two states of the same bodies in other places to each other.
fn assert_same_contacts(a: &State, b: &State, what: &str) {
    let ((a, contacts), (b, _)) = (loads_of(a), loads_of(b));
    assert!(contacts > 50, "{what}: they must touch to mean anything");
    let largest = |load: fn(&SphereLoad) -> f32| a.iter().map(load).fold(0.0, f32::max);
    let force = largest(|load| load.force.length());
    let torque = largest(|load| load.torque.length());
    for (index, (a, b)) in a.iter().zip(&b).enumerate() {
        assert_eq!(a.contacts, b.contacts, "{what}: sphere {index}");
        let differences = [
            (a.force - b.force).length() / force,
            (a.torque - b.torque).length() / torque,
        ];
        let most = differences.into_iter().fold(0.0, f32::max);
        assert!(most < 1e-5, "{what}: sphere {index}: {differences:?}");
    }
}

#[test]
fn a_cluster_across_the_seam_is_one_in_the_middle() {
    // Far smaller than the box, so that only the seam is new to it.
    let mut middle = crowd(120, DVec3::new(5.0, -2.0, 9.0), 3);
    middle.walls.clear();
    let size = DVec3::new(31.0, 33.0, 35.0);
    for (name, run) in ENGINES {
        for axes in sets_of_axes() {
            // The box lies about the cluster, and then so that its lower sides cut the cluster.
            let domain = |center: DVec3| Domain {
                min: center - 0.5 * size,
                max: center + 0.5 * size,
                periodic: axes,
            };
            let center = DVec3::new(5.0, -2.0, 9.0);
            middle.domain = Some(domain(center));
            let mut across = middle.clone();
            across.domain = Some(domain(center + 0.5 * size));
            let [middle, across] = [&middle, &across].map(|model| run(State::new(model), 1));
            assert_same_contacts(&middle, &across, &format!("{name}: {axes:?}"));
        }
    }
}

#[test]
fn a_full_box_has_no_place_that_differs() {
    for (name, run) in ENGINES {
        let model = periodic_crowd(1000, DVec3::new(-3.0, 70.0, 0.5), 8, [true; 3]);
        let mut moved = model.clone();
        let half = 0.5 * model.domain.unwrap().period();
        for body in &mut moved.bodies {
            body.position += half;
        }
        let [here, there] = [&model, &moved].map(|model| run(State::new(model), 1));
        assert_same_contacts(&here, &there, name);
    }
}

#[test]
fn clumps_across_the_corner_move_as_in_the_middle() {
    let mut middle = crowd(60, DVec3::ZERO, 5);
    middle.walls.clear();
    let size = DVec3::new(31.0, 33.0, 35.0);
    let domain = |min| {
        Some(Domain {
            min,
            max: min + size,
            periodic: [true; 3],
        })
    };
    middle.domain = domain(-0.5 * size);
    let across = Model {
        domain: domain(DVec3::ZERO),
        ..middle.clone()
    };
    for (name, run) in ENGINES {
        let [middle, across] = [&middle, &across].map(|model| run(State::new(model), 100));
        for (index, (a, b)) in middle.bodies.iter().zip(&across.bodies).enumerate() {
            let apart = across.nearest(middle.position(a) - across.position(b));
            assert!(apart.length() < 1e-5, "{name}: body {index}: {apart}");
            let faster = (a.velocity - b.velocity).length();
            assert!(faster < 1e-3, "{name}: body {index}: {faster} m/s");
        }
    }
}

/// Number of contacts of each sphere of a model at the start, with surfaces that overlap and with such
/// that are nearer than `gap` (m): of all pairs, and all of their images.
fn all_contacts(model: &Model, gap: f64) -> Vec<(u32, u32)> {
    let period = model.domain.unwrap().period();
    let mut spheres = Vec::new();
    for (index, body) in model.bodies.iter().enumerate() {
        for sphere in &model.shapes[body.shape].spheres {
            let place = body.position + body.orientation * sphere.center;
            spheres.push((index, place, sphere.radius));
        }
    }
    let contacts = |&(body, place, radius): &(usize, DVec3, f64)| {
        let (mut least, mut most) = (0, 0);
        for &(other, other_place, other_radius) in &spheres {
            let fixed = model.bodies[body].fixed && model.bodies[other].fixed;
            if body == other || fixed {
                continue;
            }
            let mut way = other_place - place;
            for axis in 0..3 {
                if period[axis] > 0.0 {
                    way[axis] = (way[axis] + 0.5 * period[axis]).rem_euclid(period[axis])
                        - 0.5 * period[axis];
                }
            }
            let between = way.length() - radius - other_radius;
            least += u32::from(between < -1e-5);
            most += u32::from(between < gap);
        }
        (least, most)
    };
    spheres.iter().map(contacts).collect()
}

#[test]
fn contacts_are_those_of_all_pairs_and_their_images() {
    let mut cases = vec![(many_radii(), "many radii".to_owned())];
    for axes in sets_of_axes() {
        let crowd = periodic_crowd(300, DVec3::new(40.0, -3.0, 0.0), 12, axes);
        cases.push((crowd, format!("{axes:?}")));
        // As narrow as it may be: two diameters, which are a cell.
        let mut narrow = periodic_crowd(60, DVec3::ZERO, 13, axes);
        let least = DVec3::splat(least_period(&narrow) * (1.0 + 1e-12));
        let domain = narrow.domain.as_mut().unwrap();
        domain.max = domain.min + least;
        cases.push((narrow, format!("{axes:?}, narrow")));
    }
    for (model, what) in cases {
        // Some of those less than half a step apart touch in the second half.
        let expected = all_contacts(&model, 1e-2);
        let state = State::new(&model);
        let mut crowded = state.clone();
        // Not smaller still: Mesa's software Vulkan ends a thread's loops after 65,535 rounds.
        let buckets = (state.params.sphere_count / 20).next_power_of_two();
        crowded.params.bucket_count = buckets;
        crowded.bucket_starts = vec![0; buckets as usize + 1];
        for (table, state) in [("", state), ("cells that share buckets", crowded)] {
            for (name, run) in ENGINES {
                let state = run(state.clone(), 1);
                let mut total = 0;
                for (index, load) in state.sphere_loads.iter().enumerate() {
                    let (found, (least, most)) = (load.sphere_contacts(), expected[index]);
                    assert!(
                        (least..=most).contains(&found),
                        "{name}, {what}, {table}: {index}: {found}, not {least} to {most}"
                    );
                    total += found;
                }
                assert!(total > 30, "{what}: they must touch to mean anything");
            }
        }
    }
}

#[test]
fn many_radii_live_on_several_grids() {
    let params = State::new(&many_radii()).params;
    assert_eq!(params.level_count, 4);
    let coarsest = params.period >> 3;
    assert_eq!(coarsest << 3, params.period, "each grid closes");
    assert_eq!(coarsest, IVec3::new(3, 4, 3));
    assert!(params.cell_size.min_element() >= params.finest);
}

#[test]
fn lists_find_what_a_rebuild_at_every_step_finds() {
    let crowd = periodic_crowd(600, DVec3::splat(-3.0), 6, [true; 3]);
    for (model, steps) in [(crowd, 200), (many_radii(), 100), (slab(), 300)] {
        for (name, run) in ENGINES {
            let mut always = State::new(&model);
            always.params.displacement_limit = -1.0;
            let always = run(always, steps);
            let with_lists = run(State::new(&model), steps);
            assert_eq!(u64::from(always.stats[0].rebuilds), steps, "{name}");
            assert!(
                u64::from(with_lists.stats[0].rebuilds) < steps / 2,
                "{name}"
            );
            let bodies = |state: State| -> Vec<Body> {
                let bodies = state.bodies.into_iter();
                bodies
                    .map(|body| Body {
                        displacement_bound: 0.0,
                        ..body
                    })
                    .collect()
            };
            assert_eq!(bodies(always), bodies(with_lists), "{name}: bit for bit");
        }
    }
}

#[test]
fn a_body_that_flies_ten_periods_is_where_it_should_be() {
    let (start, velocity) = (DVec3::new(1.0, 11.0, 0.5), DVec3::new(37.5, -53.25, 29.0));
    let model = lone_ball(start, velocity);
    let domain = model.domain.unwrap();
    for (name, run) in ENGINES {
        let steps = 20_000;
        let state = run(State::new(&model), steps);
        let time = steps as f64 * f64::from(model.time_step as f32);
        let way = velocity * time;
        assert!((way / domain.period()).abs().min_element() > 8.0, "{name}");
        let place = state.position(&state.bodies[0]);
        assert!(place.cmpge(domain.min).all() && place.cmplt(domain.max).all());
        let off = domain.nearest(place - (start + way));
        assert!(off.length() < 3e-7 * way.length(), "{name}: {off}");
        assert_eq!(state.bodies[0].velocity.as_dvec3(), velocity, "{name}");
    }
}

#[test]
fn a_body_outside_the_box_is_taken_to_its_image() {
    let model = lone_ball(DVec3::new(-10.0, 500.0, 6.0), DVec3::ZERO);
    let state = State::new(&model);
    let place = state.position(&state.bodies[0]);
    assert!(
        (place - DVec3::new(-2.5, 10.0, 6.0)).length() < 1e-4,
        "{place}"
    );
}

#[test]
fn momentum_is_kept_to_round_off() {
    let mut model = periodic_crowd(400, DVec3::ZERO, 10, [true; 3]);
    model.gravity = DVec3::ZERO;
    model.bodies.iter_mut().for_each(|body| body.fixed = false);
    for (name, run) in ENGINES {
        let start = State::new(&model);
        let before = Summary::new(&model, &start).momentum;
        let end = run(start, 1000);
        let after = Summary::new(&model, &end).momentum;
        let sizes = end.bodies.iter().zip(&model.bodies);
        let all: f64 = sizes
            .map(|(body, start)| model.shapes[start.shape].mass * f64::from(body.velocity.length()))
            .sum();
        let lost = (after - before).length() / all;
        assert!(lost < 1e-6, "{name}: {lost} of all momentum");
    }
}

#[test]
fn a_clump_slides_over_the_seam_of_a_floor() {
    let mut model = lone_ball(DVec3::ZERO, DVec3::ZERO);
    let spheres = [-1.2, 0.0, 1.2].map(|x| ClumpSphere {
        center: DVec3::X * x,
        radius: 1.0,
    });
    model.shapes = vec![Clump::new(
        "rod",
        0,
        &spheres,
        summed_spheres(&spheres, 1000.0),
    )];
    model.domain = Some(Domain {
        periodic: [true, false, true],
        ..model.domain.unwrap()
    });
    model.gravity = DVec3::NEG_Y * 10.0;
    model.pairs.iter_mut().for_each(|pair| pair.friction = 0.0);
    model.walls = vec![Wall::plane(DVec3::ZERO, DVec3::Y, 0)];
    let weight = model.shapes[0].mass * 10.0;
    let depth = weight / 3.0 / model.pairs[0].stiffness;
    let velocity = DVec3::new(60.0, 0.0, -45.0);
    model.bodies = vec![at(0, DVec3::Y * (1.0 - depth), velocity)].into();
    for (name, run) in ENGINES {
        let state = run(State::new(&model), 3000);
        let body = &state.bodies[0];
        let height = state.position(body).y;
        assert!(
            (height - (1.0 - depth)).abs() < 1e-3 * depth,
            "{name}: {height}"
        );
        let force = f64::from(
            state
                .sphere_loads
                .iter()
                .map(|load| load.force.y)
                .sum::<f32>(),
        );
        assert!((force / weight - 1.0).abs() < 1e-3, "{name}: {force} N");
        let slower = (body.velocity.as_dvec3() - velocity).length();
        assert!(slower < 1e-4, "{name}: {slower} m/s");
    }
}

#[test]
fn a_box_that_is_too_narrow_is_an_error() {
    let mut model = lone_ball(DVec3::ZERO, DVec3::ZERO);
    let domain = model.domain.as_mut().unwrap();
    domain.max.z = 3.9;
    let error = Simulation::on_cpu(model.clone(), Some(1)).err().unwrap();
    let text = error.to_string();
    assert!(text.contains("3.9 m long along z"), "{text}");
    model.domain.as_mut().unwrap().periodic[2] = false;
    assert!(Simulation::on_cpu(model, Some(1)).is_ok());
}
