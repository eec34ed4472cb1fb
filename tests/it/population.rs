//! Bodies that come and go on a device, against the same by way of the host.

use std::collections::BTreeMap;

use bytemuck::cast_slice;
use glam::{DVec3, Vec4};

use crate::common::{
    Random, bonded_crowd, crowd, crowd_with_history, device, forced_crowd, periodic_crowd,
    walled_crowd, warm_crowd,
};
use rockfall::internals::cpu::CpuEngine;
use rockfall::model::forces::Sleep;
use rockfall::model::{Law, Model, ModelBody};
use rockfall::state::layout::{Body, SphereLoad, Stats, WALL};
use rockfall::state::{Field, State};
use rockfall::step::Engine;
use rockfall::step::gpu::GpuEngine;

/// Crowds in which all that a body can have is had by some.
fn crowds() -> [(&'static str, Model); 7] {
    let center = DVec3::new(-3.0, 40.0, 7.0);
    let mut sleepy = crowd_with_history(Law::HookeHistory, 300, center, 5);
    sleepy.sleep = Some(Sleep {
        speed: 1e3,
        after: 3e-4,
        wake: 1e9,
    });
    let mut forced = forced_crowd(150, center, 2);
    forced.forces.groups[0].ignores = 0b10;
    [
        ("plain", crowd(200, center, 1)),
        ("bonded", bonded_crowd(200, center, 9)),
        ("under forces", forced),
        (
            "with walls that move",
            walled_crowd(Law::HertzMindlin, 300, center, 3),
        ),
        ("with heat", warm_crowd(Law::HookeHistory, 250, center, 4)),
        ("asleep", sleepy),
        (
            "periodic",
            periodic_crowd(250, center, 6, [true, false, true]),
        ),
    ]
}

/// A state, its engine, and how many steps it has taken.
struct Run<E> {
    state: State,
    engine: E,
    taken: u64,
}

impl<E: Engine> Run<E> {
    fn step(&mut self, steps: u64) {
        let samples = &mut Vec::new();
        let taken = self
            .engine
            .step(&mut self.state, self.taken, steps, samples);
        self.taken += taken.unwrap();
    }

    fn read(&mut self) -> &State {
        self.engine.read(&Field::ALL, &mut self.state).unwrap();
        &self.state
    }

    /// Fills what the host has of the device's numbers with others: whoever relies on them is found out.
    fn spoil(&mut self) {
        let state = &mut self.state;
        for body in &mut state.bodies {
            *body = Body {
                kind: body.kind,
                first_sphere: body.first_sphere,
                velocity: glam::Vec3::NAN,
                still: 77,
                ..Body::default()
            };
        }
        for load in &mut state.sphere_loads {
            load.damping = f32::NAN;
        }
        for force in &mut state.body_forces {
            force.drag = f32::NAN;
        }
        state.neighbour_starts.fill(u32::MAX);
        state.neighbours.fill(u32::MAX);
        state.history.fill(Vec4::NAN);
    }
}

/// All of a state that steps carry on, but for entries of lists that are not in use and for when lists are built next.
fn carried(state: &State) -> BTreeMap<&'static str, Vec<u32>> {
    let entries = *state.neighbour_starts.last().unwrap() as usize;
    let history = 4 * entries * state.params.history_size as usize;
    let carried = Field::ALL.into_iter().filter(|field| field.is_carried());
    carried
        .map(|field| {
            let mut words: Vec<u32> = cast_slice(state.bytes(field)).to_vec();
            match field {
                Field::Neighbours => words.truncate(entries),
                Field::History => words.truncate(history),
                Field::Stats => {
                    let stats = Stats {
                        due: 0,
                        ..state.stats[0]
                    };
                    words = cast_slice(&[stats]).to_vec();
                }
                _ => (),
            }
            (field.name(), words)
        })
        .collect()
}

fn assert_same(one: &State, other: &State, when: &str) {
    assert_eq!(one.identities, other.identities, "{when}");
    assert_eq!(one.gone, other.gone, "{when}");
    assert_eq!(one.params.body_count, other.params.body_count, "{when}");
    assert_eq!(one.params.sphere_count, other.params.sphere_count, "{when}");
    let (one, other) = (carried(one), carried(other));
    for (name, own) in &one {
        assert!(own == &other[name], "{when}: {name}");
    }
}

/// Some bodies of the model, at other places.
fn newcomers(
    model: &Model,
    random: &mut Random,
    first_id: u64,
    count: u64,
) -> Vec<(u64, ModelBody)> {
    (first_id..first_id + count)
        .map(|id| {
            let mut body = model.bodies[random.below(model.bodies.len() as u64) as usize];
            body.position += random.vector(1.0);
            (id, body)
        })
        .collect()
}

/// Which bodies go in a round: one here and there, the first and the last, none, half of them.
fn leavers(round: u64, count: u32, random: &mut Random) -> Vec<u32> {
    let mut goes = |body: u32| match round {
        0 => random.below(5) == 0,
        1 => body == 0 || body + 1 == count,
        3 => body % 2 == 1 || body < 5,
        _ => false,
    };
    (0..count).filter(|&body| goes(body)).collect()
}

#[test]
fn a_device_changes_its_bodies_as_the_host_would() {
    for (name, model) in crowds() {
        let mut random = Random::new(9);
        let mut state = State::new(&model);
        // Lists are built in each step: so what is in them does not depend on how long a submission took.
        state.params.displacement_limit = -1.0;
        // Lists that never fill up, in a buffer that has room when more starts need it; and lists that do.
        if name.starts_with("with") {
            state.set_neighbour_capacity(100_000);
        }
        let run = || Run {
            engine: GpuEngine::new(device(), &state).unwrap(),
            state: state.clone(),
            taken: 0,
        };
        let (mut own, mut through_host) = (run(), run());
        let mut id = model.bodies.len() as u64;
        for round in 0..5 {
            let when = format!("{name}, round {round}");
            own.step(4);
            through_host.step(4);
            through_host.read();
            assert_eq!(own.taken, 4 * (round + 1), "{when}");

            let gone = leavers(round, own.state.params.body_count, &mut random);
            own.spoil();
            own.engine.remove(&gone, &mut own.state).unwrap();
            through_host.state.remove(&gone);
            let stats = own.state.stats[0];
            assert_eq!(stats.neighbours, through_host.state.stats[0].neighbours);
            assert_same(own.read(), &through_host.state, &format!("{when}: gone"));

            // More than there is room for, at times.
            let count = [3, 0, 200, 7, 300][round as usize];
            let new = newcomers(&model, &mut random, id, count);
            id += count;
            own.spoil();
            Engine::append(&mut own.engine, &model, new.clone(), &mut own.state).unwrap();
            through_host.state.extend(&model, new);
            through_host.engine.replace(&through_host.state).unwrap();
            assert_same(own.read(), &through_host.state, &format!("{when}: come"));

            own.step(3);
            through_host.step(3);
            through_host.read();
            assert_same(own.read(), &through_host.state, &format!("{when}: later"));
            own.taken -= 3;
            assert!(own.state.stats[0].neighbours > 0, "{when}");
        }
        assert!(own.state.gone.friction > 0.0, "{name}");
    }
}

/// Name of a contact, whatever the indices: the body and its sphere, and the other or the wall's facet.
type Name = (u64, u32, u64, u32);

/// Histories of the contacts on the lists.
fn histories(state: &State) -> BTreeMap<Name, Vec<Vec4>> {
    let size = state.params.history_size as usize;
    let place = |sphere: usize| {
        let body = state.spheres[sphere].body as usize;
        let member = sphere as u32 - state.bodies[body].first_sphere;
        (state.identities.id(body), member)
    };
    let mut histories = BTreeMap::new();
    for sphere in 0..state.spheres.len() {
        let (body, member) = place(sphere);
        let list = state.neighbour_starts[sphere]..state.neighbour_starts[sphere + 1];
        for entry in list.map(|entry| entry as usize) {
            let other = state.neighbours[entry];
            let (other, part) = match other & WALL {
                0 => place(other as usize),
                _ => (u64::MAX, other),
            };
            let history = state.history[entry * size..(entry + 1) * size].to_vec();
            histories.insert((body, member, other, part), history);
        }
    }
    histories
}

#[test]
fn what_stays_keeps_all_that_it_has() {
    for (name, model) in crowds() {
        let mut run = Run {
            state: State::new(&model),
            engine: CpuEngine::new(&model, Some(2)).unwrap(),
            taken: 0,
        };
        run.step(9);
        run.engine.read(&[Field::History], &mut run.state).unwrap();
        let before = run.state.clone();
        let gone: Vec<u32> = (0..before.params.body_count)
            .filter(|k| k % 3 == 1)
            .collect();
        let goes = |id: u64| gone.binary_search(&(id as u32)).is_ok();
        run.engine.remove(&gone, &mut run.state).unwrap();
        let after = &run.state;

        let ids: Vec<u64> = after.identities.iter().map(|body| body.id).collect();
        let all = 0..before.bodies.len() as u64;
        let stay: Vec<u64> = all.clone().filter(|&id| !goes(id)).collect();
        assert_eq!(ids, stay, "{name}");
        let (mut lists, kept) = (histories(&before), histories(after));
        let broken: Vec<u64> = lists
            .keys()
            .filter(|key| goes(key.2))
            .map(|key| key.0)
            .collect();
        lists.retain(|key, _| !goes(key.0) && (key.2 == u64::MAX || !goes(key.2)));
        assert_eq!(lists, kept, "{name}");
        assert!(!broken.is_empty(), "{name}");
        for (index, &id) in ids.iter().enumerate() {
            let (own, old) = (&after.bodies[index], &before.bodies[id as usize]);
            let still = if broken.contains(&id) { 0 } else { old.still };
            let expected = Body {
                first_sphere: own.first_sphere,
                still,
                ..*old
            };
            assert_eq!(*own, expected, "{name}: body {id}");
            let first = [own.first_sphere as usize, old.first_sphere as usize];
            for k in 0..model.shapes[after.identities[index].shape].spheres.len() {
                assert_eq!(after.spheres[first[0] + k].body as usize, index, "{name}");
                assert_eq!(
                    after.spheres[first[0] + k].offset,
                    before.spheres[first[1] + k].offset
                );
                assert_eq!(
                    after.sphere_loads[first[0] + k],
                    before.sphere_loads[first[1] + k]
                );
            }
            assert_eq!(
                after.quantities(index),
                before.quantities(id as usize),
                "{name}"
            );
        }
        let loads = |state: &State| -> f64 {
            let of = |load: &SphereLoad| f64::from(load.friction) + f64::from(load.friction_rest);
            state.sphere_loads.iter().map(of).sum::<f64>() + state.gone.friction
        };
        let (then, now) = (loads(&before), loads(after));
        assert!(
            (then - now).abs() <= 1e-12 * then,
            "{name}: {then} J, {now} J"
        );
        for action in &after.actions {
            assert!((action.body as usize) < after.bodies.len(), "{name}");
        }
    }
}

#[test]
fn a_few_bodies_among_many_move_few_bytes() {
    let model = crowd(20_000, DVec3::ZERO, 1);
    let state = State::new(&model);
    let mut run = Run {
        engine: GpuEngine::new(device(), &state).unwrap(),
        state,
        taken: 0,
    };
    run.step(2);
    let mut random = Random::new(3);
    let moved = |run: &Run<GpuEngine>| run.engine.uploaded() + run.engine.downloaded();
    let spheres = |new: &[(u64, ModelBody)]| -> u64 {
        let count = |(_, body): &(u64, ModelBody)| model.shapes[body.shape].spheres.len() as u64;
        new.iter().map(count).sum()
    };

    let new = newcomers(&model, &mut random, 1 << 20, 100);
    let needed = 100 * 80 + spheres(&new) * (64 + 48 + 4);
    let before = moved(&run);
    Engine::append(&mut run.engine, &model, new, &mut run.state).unwrap();
    let came = moved(&run) - before;
    assert!(
        (needed..needed + 2_000).contains(&came),
        "{came} bytes for {needed}"
    );

    let before = moved(&run);
    let gone: Vec<u32> = (0..100).map(|k| 7 * k).collect();
    run.engine.remove(&gone, &mut run.state).unwrap();
    let went = moved(&run) - before;
    assert!(went < 60_000, "{went} bytes");

    let before = moved(&run);
    run.engine.write_body(50, &run.state);
    let written = moved(&run) - before;
    assert_eq!(written, 80);

    let before = moved(&run);
    run.read();
    run.engine.replace(&run.state).unwrap();
    let all = moved(&run) - before;
    assert!(all > 50 * (came + went), "{all} bytes");
}

#[test]
fn a_body_is_written_and_nothing_else() {
    let model = warm_crowd(Law::HookeHistory, 100, DVec3::ZERO, 4);
    let state = State::new(&model);
    let mut run = Run {
        engine: GpuEngine::new(device(), &state).unwrap(),
        state,
        taken: 0,
    };
    run.step(5);
    let mut expected = run.read().clone();
    run.spoil();
    run.engine.read_body(3, &mut run.state).unwrap();
    for state in [&mut run.state, &mut expected] {
        state.bodies[3].velocity = glam::Vec3::new(1.0, 2.0, 3.0);
        state.body_heat[3].temperature = 500.0;
    }
    run.engine.write_body(3, &run.state);
    assert_same(run.read(), &expected, "a body is written");
}
