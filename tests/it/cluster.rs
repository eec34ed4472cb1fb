//! A scene on several ranks has the bits that it has on one: here, ranks are threads that send each other messages.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use glam::{DVec3, Vec3, Vec4};
use serde_json::{Value, json};

use crate::checkpoint::Disk;
use crate::common::{
    bonded_crowd, crowd, crowd_with_history, device, forced_crowd, gpu_options, healed, model,
    periodic_crowd, trace_of, walled_crowd, warm_crowd,
};
use crate::deform;
use rockfall::internals::cluster::{Ranks, end};
use rockfall::model::view::Lines;
use rockfall::model::{ContactHistory, CustomLaw, Law, Model};
use rockfall::output::{Record, RunFolder, RunSummary, write_share, write_state_of};
use rockfall::render::{ColourBy, Shot, Studio};
use rockfall::scene::{
    Disk as OnDisk, Ending, Files, Scene, SceneError, load, load_on, parse_with,
};
use rockfall::simulation::checkpoint::{Checkpoint, Storage};
use rockfall::simulation::{Cluster, serve_rank};
use rockfall::state::layout::{Body, Bond};
use rockfall::state::{Field, State, body_orientation};
use rockfall::step::WriteSeek;
use rockfall::{Backend, Error, GroupHandle, NewBody, Observer, Options, Simulation, Watch};

/// Bytes that ranks have sent: together, and in the largest message.
#[derive(Default)]
struct Sent {
    all: AtomicUsize,
    largest: AtomicUsize,
}

/// A rank that is a thread.
struct Thread {
    rank: usize,
    /// Bytes that all of them have sent.
    sent: Arc<Sent>,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
    /// Whether it cannot write files.
    reads_only: bool,
}

impl Thread {
    /// So many that reach each other.
    fn all(count: usize) -> Vec<Arc<dyn Ranks>> {
        Thread::some(count, &Arc::default(), None)
    }

    /// So many that count the bytes that they send.
    fn counted(count: usize, sent: &Arc<Sent>) -> Vec<Arc<dyn Ranks>> {
        Thread::some(count, sent, None)
    }

    /// So many, of which one cannot write files.
    fn all_but(count: usize, reads_only: usize) -> Vec<Arc<dyn Ranks>> {
        Thread::some(count, &Arc::default(), Some(reads_only))
    }

    fn some(count: usize, sent: &Arc<Sent>, reads_only: Option<usize>) -> Vec<Arc<dyn Ranks>> {
        let mut channels: Vec<Vec<_>> = (0..count)
            .map(|_| (0..count).map(|_| channel()).collect())
            .collect();
        let mut senders: Vec<Vec<Sender<Vec<u8>>>> = vec![Vec::new(); count];
        let mut receivers: Vec<Vec<_>> = (0..count).map(|_| Vec::new()).collect();
        for from in &mut channels {
            for (to, (sender, receiver)) in from.drain(..).enumerate() {
                receivers[to].push(Mutex::new(receiver));
                senders[receivers[to].len() - 1].push(sender);
            }
        }
        let ranks = senders.into_iter().zip(receivers).enumerate();
        let ranks = ranks.map(|(rank, (to, from))| Thread {
            rank,
            sent: Arc::clone(sent),
            to,
            from,
            reads_only: reads_only == Some(rank),
        });
        ranks.map(|rank| Arc::new(rank) as Arc<dyn Ranks>).collect()
    }
}

impl Ranks for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.to.len()
    }

    fn exchange(&self, sent: &[(usize, &[u8])], received: &mut [(usize, &mut [u8])]) {
        for (rank, bytes) in sent {
            self.sent.all.fetch_add(bytes.len(), Ordering::Relaxed);
            self.sent.largest.fetch_max(bytes.len(), Ordering::Relaxed);
            self.to[*rank].send(bytes.to_vec()).unwrap();
        }
        for (rank, bytes) in received {
            let message = self.from[*rank].lock().unwrap().recv().unwrap();
            bytes.copy_from_slice(&message);
        }
    }

    fn write(&self, path: &Path, place: u64, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.seek(SeekFrom::Start(place))?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn WriteSeek>> {
        Ok(Box::new(match self.reads_only {
            true => File::open(path)?,
            false => OpenOptions::new().write(true).open(path)?,
        }))
    }

    fn abort(&self, reason: &str) -> ! {
        panic!("{reason}");
    }
}

/// Does something with a simulation on so many ranks, on the CPU engine.
fn on_ranks<T>(model: &Model, count: usize, act: impl FnOnce(&mut Simulation) -> T) -> T {
    on_ranks_with(model, count, &cpu(), act)
}

/// The CPU engine with one thread.
fn cpu() -> Options {
    Options {
        backend: Backend::Cpu,
        threads: Some(1),
        ..Options::default()
    }
}

/// Does something with a simulation on so many ranks, with these options.
fn on_ranks_with<T>(
    model: &Model,
    count: usize,
    options: &Options,
    act: impl FnOnce(&mut Simulation) -> T,
) -> T {
    on(Thread::all(count), model, options, act)
}

/// Does something with a simulation on these ranks.
fn on<T>(
    ranks: Vec<Arc<dyn Ranks>>,
    model: &Model,
    options: &Options,
    act: impl FnOnce(&mut Simulation) -> T,
) -> T {
    served(ranks, |first| {
        let simulation = Simulation::on_ranks(model.clone(), Arc::clone(first), options);
        act(&mut simulation.unwrap())
    })
}

/// Does something with the first of these ranks, which the others serve.
fn served<T>(mut ranks: Vec<Arc<dyn Ranks>>, act: impl FnOnce(&Arc<dyn Ranks>) -> T) -> T {
    thread::scope(|scope| {
        for rank in ranks.drain(1..) {
            scope.spawn(|| serve_rank(rank, write_share));
        }
        let first = ranks.remove(0);
        let result = act(&first);
        end(&*first);
        result
    })
}

/// All that a run carries on, but for what lists leave in it, on which nothing depends.
fn carried(simulation: &mut Simulation) -> State {
    let mut state = simulation.state().unwrap().clone();
    state
        .bodies
        .iter_mut()
        .for_each(|body| body.displacement_bound = 0.0);
    state
        .walls
        .iter_mut()
        .for_each(|wall| wall.displacement_bound = 0.0);
    state
}

/// The summary of a run, but for what is not the same on other machines.
fn summed(simulation: &mut Simulation) -> Value {
    let summary = RunSummary::new(simulation, 0, Duration::from_secs(1)).unwrap();
    let mut summary = serde_json::to_value(summary).unwrap();
    let own = summary.as_object_mut().unwrap();
    own.remove("adapter");
    own.remove("cluster");
    summary
}

/// Warnings of a look at a simulation.
fn warned(simulation: &mut Simulation) -> Vec<String> {
    let mut watch = Watch::new(simulation, Duration::default);
    watch.look_at(simulation).unwrap()
}

/// Holds what is done with a scene on several ranks to what comes of it on one.
fn is_held_after(model: &Model, act: impl Fn(&mut Simulation)) {
    let mut one = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    act(&mut one);
    let (summary, warnings) = (summed(&mut one), warned(&mut one));
    let expected = carried(&mut one);
    assert!(expected.sphere_loads.iter().any(|load| load.contacts > 0));
    for count in [1, 2, 3, 4, 7] {
        let (found, cost) = on_ranks(model, count, |simulation| {
            act(simulation);
            assert_eq!(simulation.traffic(), one.traffic(), "{count} ranks");
            assert_eq!(summed(simulation), summary, "{count} ranks");
            assert_eq!(warned(simulation), warnings, "{count} ranks");
            assert!(simulation.energy().unwrap() == one.energy().unwrap());
            (carried(simulation), simulation.cluster_cost().unwrap())
        });
        are_equal(&found, &expected, count);
        let same = found.neighbour_starts == expected.neighbour_starts;
        assert!(same, "lists on {count} ranks");
        assert_eq!(found.stats, expected.stats, "{count} ranks");
        let entries = found.stats[0].neighbours as usize;
        let size = found.params.history_size as usize * entries;
        let same = found.neighbours[..entries] == expected.neighbours[..entries];
        assert!(same, "entries of lists on {count} ranks");
        let same = found.history[..size] == expected.history[..size];
        assert!(same, "histories on {count} ranks");
        assert_eq!(cost.ranks, count);
        let sent = cost.ghosts_per_rank > 0.0 && cost.bytes_per_step > 0.0;
        assert_eq!(sent, count > 1, "{cost:?}");
    }
}

/// Holds what a run carries on, on so many ranks, to what it does on one, but for lists.
fn are_equal(found: &State, expected: &State, count: usize) {
    let equal = [
        ("identities", found.identities == expected.identities),
        ("bodies", found.bodies == expected.bodies),
        ("loads", found.sphere_loads == expected.sphere_loads),
        ("forces", found.body_forces == expected.body_forces),
        ("heat", found.body_heat == expected.body_heat),
        ("walls", found.walls == expected.walls),
        ("wall loads", found.wall_loads == expected.wall_loads),
        ("gone", found.gone == expected.gone),
        ("actions", found.actions == expected.actions),
        ("bonds", found.bonds == expected.bonds),
        ("sums of bonds", found.body_bonds == expected.body_bonds),
        ("the box", found.params.tilt == expected.params.tilt),
        ("cells", found.params.cell_size == expected.params.cell_size),
    ];
    for (what, equal) in equal {
        assert!(equal, "{what} on {count} ranks");
    }
}

/// Contacts that have a history: the sphere, the other one or the facet, the history.
fn histories(state: &State) -> Vec<(usize, u32, Vec<Vec4>)> {
    let size = state.params.history_size as usize;
    let lists = state.neighbour_starts.windows(2).enumerate();
    let entries = lists.flat_map(|(sphere, own)| (own[0]..own[1]).map(move |k| (sphere, k)));
    let all = entries.map(|(sphere, entry)| {
        let entry = entry as usize;
        let history = &state.history[size * entry..size * (entry + 1)];
        (sphere, state.neighbours[entry], history.to_vec())
    });
    all.filter(|(.., history)| history.iter().any(|own| *own != Vec4::ZERO))
        .collect()
}

/// Holds what is done with a scene on ranks that have a GPU each to what comes of it on one GPU, which builds lists in other steps.
fn is_held_on_gpus_after(model: &Model, act: impl Fn(&mut Simulation)) {
    let carried = |simulation: &mut Simulation| {
        let mut state = carried(simulation);
        let walls = state.walls.iter_mut();
        walls.for_each(|wall| wall.displacement_bound = 0.0);
        state
    };
    let mut one = Simulation::on_gpu(model.clone(), device()).unwrap();
    act(&mut one);
    let expected_energy = one.energy().unwrap();
    let expected = carried(&mut one);
    assert!(expected.sphere_loads.iter().any(|load| load.contacts > 0));
    for count in [1, 2, 3] {
        let (found, energy) = on_ranks_with(model, count, &gpu_options(), |simulation| {
            act(simulation);
            assert_eq!(simulation.backend(), "gpu");
            let ghosts = simulation.cluster_cost().unwrap().ghosts_per_rank;
            assert_eq!(ghosts > 0.0, count > 1);
            let energy = simulation.energy().unwrap();
            (carried(simulation), energy)
        });
        are_equal(&found, &expected, count);
        let same = histories(&found) == histories(&expected);
        assert!(same, "histories on {count} ranks");
        assert_eq!(energy, expected_energy, "{count} ranks");
        assert_eq!(found.stats[0].steps, expected.stats[0].steps);
        let [found, expected] = [&found, &expected].map(|own| own.stats[0].max_overlap_fraction);
        assert_eq!(found, expected, "the largest overlap on {count} ranks");
    }
}

/// Holds some steps of a scene on ranks that have a GPU each to those on one GPU.
fn is_held_on_gpus(model: &Model, steps: &[u64]) {
    is_held_on_gpus_after(model, taking(steps));
}

#[test]
fn gpus_and_contacts_with_a_history() {
    let model = crowd_with_history(Law::HookeHistory, 500, DVec3::ZERO, 1);
    is_held_on_gpus(&model, &[40, 1, 19]);
}

#[test]
fn gpus_and_impulses_in_a_periodic_box() {
    let model = scene(json!({
        "contact": { "normal": "impulse" },
        "domain": { "min": [-0.2, 0, -0.2], "max": [0.2, 1, 0.2], "periodic": [true, false, true] },
        "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "m" } ],
        "fills": [ { "count": 400, "shapes": { "ball": 2, "rod": 1 }, "placement": "random", "seed": 4,
                     "region": { "min": [-0.2, 0.02, -0.2], "max": [0.2, 0.4, 0.2] },
                     "velocity": { "min": [-1, -3, -1], "max": [1, 0, 1] } } ],
    }));
    is_held_on_gpus(&model, &[60]);
}

#[test]
fn gpus_and_walls_that_move_and_their_loads() {
    let model = walled_crowd(Law::HookeHistory, 400, DVec3::ZERO, 2);
    is_held_on_gpus(&model, &[20, 20]);
}

#[test]
fn gpus_and_what_acts_besides_contacts() {
    is_held_on_gpus(&forced_crowd(400, DVec3::ZERO, 3), &[40]);
    is_held_on_gpus(&bonded_crowd(400, DVec3::ZERO, 1), &[40]);
    let warm = warm_crowd(Law::HertzMindlin, 400, DVec3::ZERO, 4);
    is_held_on_gpus(&warm, &[40]);
}

#[test]
fn gpus_and_a_box_that_deforms() {
    let model = deform::model(deform::ALL_AT_ONCE, 75);
    is_held_on_gpus(&model, &[1, 24, 75]);
}

#[test]
fn gpus_and_what_a_program_does_between_steps() {
    let model = crowd_with_history(Law::HookeHistory, 400, DVec3::ZERO, 8);
    is_held_on_gpus_after(&model, |simulation| {
        simulation.step(30).unwrap();
        let handles: Vec<_> = simulation.handles().collect();
        simulation.despawn_many(&handles[20..40]).unwrap();
        let shape = simulation.shape("clump of 3").unwrap();
        let new = NewBody::new(shape, DVec3::Y * 3.0);
        let new = simulation.spawn(new).unwrap();
        simulation.set_velocity(new, DVec3::X).unwrap();
        simulation.set_gravity(DVec3::new(1.0, -3.0, 2.0)).unwrap();
        simulation.step(30).unwrap();
        let state = simulation.state().unwrap().clone();
        simulation.restore(&state, 60).unwrap();
        let free = model.bodies.iter().position(|body| !body.fixed).unwrap();
        simulation.set_fixed(handles[free], true).unwrap();
        simulation.step(30).unwrap();
    });
}

/// The balls on the left rest, so only the lists of those that come near are ever stale.
#[test]
fn gpus_whose_bodies_are_read_while_only_lists_of_another_are_stale() {
    let ball = |x: f64, row: u32, speed: f64| json!({ "shape": "ball", "position": [x, 0.05 * f64::from(row), 0], "velocity": [speed, 0, 0] });
    let pairs = (0..8).flat_map(|row| {
        let gap = 1e-3 * f64::from(row + 1);
        [ball(0.0, row, 0.0), ball(0.04 + gap, row, -1.0)]
    });
    let bodies: Vec<_> = [ball(-1.0, 0, 0.0), ball(1.0, 0, -1.0)]
        .into_iter()
        .chain(pairs)
        .collect();
    let model = scene(json!({ "gravity": [0, 0, 0], "planes": [], "fills": [], "bodies": bodies }));
    is_held_on_gpus_after(&model, |simulation| {
        for _ in 0..60 {
            simulation.step(1).unwrap();
            simulation.bodies().unwrap();
        }
    });
}

/// The only bodies are on one side, so a rank has none for a while.
#[test]
fn a_gpu_without_bodies_moves_walls() {
    let model = scene(json!({ "fills": [],
        "bodies": [ { "shape": "ball", "position": [0, 0.02, 0] }, { "shape": "ball", "position": [0.039, 0.03, 0] } ],
        "walls": [ { "name": "drum", "cylinder": { "radius": 0.4, "height": 2 }, "side": "inside", "material": "m",
                     "motion": { "rotation": { "axis": [0, 1, 0], "speed": 2 } } } ] }));
    is_held_on_gpus(&model, &[30, 30]);
}

#[test]
fn gpus_and_a_law_of_the_users_own() {
    let mut model = crowd_with_history(Law::HookeHistory, 400, DVec3::ZERO, 1);
    let source = "fn contact_law(contact: Contact, pair: Pair, history: History, params: Params) -> Response {
        var response = with_history(contact, pair, history, params);
        response.force *= 0.5;
        return response;
    }";
    model.contact.law = Law::Custom(CustomLaw {
        file: "own.wgsl".into(),
        source: source.to_owned(),
        range: 0.0,
    });
    is_held_on_gpus(&model, &[20]);
    let options = Options {
        backend: Backend::Cpu,
        ..Options::default()
    };
    let ranks = Thread::all(1).remove(0);
    let refused = Simulation::on_ranks(model, ranks, &options).err().unwrap();
    assert!(matches!(refused, Error::CustomLaw { .. }), "{refused}");
}

/// A body that is lost ends the steps of all, and a rank without a GPU is named.
#[test]
fn what_goes_wrong_with_gpus() {
    let model = crowd(300, DVec3::ZERO, 11);
    let victim = model.bodies.iter().rposition(|body| !body.fixed).unwrap();
    let lost = on_ranks_with(&model, 2, &gpu_options(), |simulation| {
        simulation.step(10).unwrap();
        let mut state = simulation.state().unwrap().clone();
        state.bodies[victim].velocity = Vec3::X * 1e9;
        simulation.restore(&state, 10).unwrap();
        match simulation.step(20).unwrap_err() {
            Error::Runaway { body, step, .. } => (body, step),
            other => panic!("{other}"),
        }
    });
    assert_eq!(lost, (victim, 11));

    let missing = Options {
        adapter: Some("no such GPU".to_owned()),
        ..gpu_options()
    };
    let mut ranks = Thread::all(2);
    let error = thread::scope(|scope| {
        let other = ranks.remove(1);
        scope.spawn(|| serve_rank(other, write_share));
        let first = ranks.remove(0);
        let refused = Simulation::on_ranks(model, Arc::clone(&first), &missing);
        end(&*first);
        refused.err().unwrap().to_string()
    });
    assert!(error.starts_with("rank 0: no usable adapter"), "{error}");
}

/// Holds some steps of a scene on several ranks to those on one.
fn is_held(model: &Model, steps: &[u64]) {
    is_held_after(model, taking(steps));
}

/// Takes some steps, so many in each call.
fn taking(steps: &[u64]) -> impl Fn(&mut Simulation) {
    move |simulation| {
        for &some in steps {
            simulation.step(some).unwrap();
        }
    }
}

#[test]
fn crowds_under_each_law() {
    is_held(&crowd(1500, DVec3::ZERO, 1), &[100, 1, 99]);
    for law in [Law::HookeHistory, Law::HertzMindlin, Law::Impulse] {
        is_held(&crowd_with_history(law, 1500, DVec3::ZERO, 1), &[150]);
    }
}

#[test]
fn walls_that_move_and_their_loads() {
    is_held(
        &walled_crowd(Law::HookeHistory, 800, DVec3::ZERO, 2),
        &[60, 60],
    );
}

#[test]
fn springs_applied_forces_and_water() {
    let mut model = forced_crowd(800, DVec3::new(-30.0, 20.0, 100.0), 3);
    // What one group ignores ignores it.
    model.forces.groups[0].ignores = 0b10;
    is_held(&model, &[120]);
}

#[test]
fn bonds_across_borders_that_break() {
    let model = bonded_crowd(800, DVec3::ZERO, 1);
    is_held_after(&model, |simulation| {
        let broken = |simulation: &mut Simulation| {
            let bonds = simulation.bonds().unwrap();
            bonds.filter(|bond| bond.broken.is_some()).count()
        };
        simulation.step(60).unwrap();
        let first = broken(simulation);
        // Bonds go with the bodies that they held.
        let handles: Vec<_> = simulation.handles().step_by(7).collect();
        simulation.despawn_many(&handles).unwrap();
        simulation.step(60).unwrap();
        let count = simulation.bonds().unwrap().count();
        let then = broken(simulation);
        assert!(
            first > 0 && then > 0 && then < count,
            "{first}, {then} of {count}"
        );
        assert_eq!(simulation.on_host().params.bond_count as usize, 2 * count);
        assert!(healed(simulation.state().unwrap()) > 0);
    });
}

/// Bodies that fly apart, so that bonds heal between some that are too far from each other to touch.
#[test]
fn bonds_across_borders_that_heal() {
    let mut model = bonded_crowd(800, DVec3::ZERO, 1);
    let laws = model.bonds.laws_mut().iter_mut();
    for healing in laws.filter_map(|law| law.healing.as_mut()) {
        (healing.distance, healing.time) = (2.0, 5e-3);
    }
    for body in model.bodies.iter_mut().filter(|body| !body.fixed) {
        body.velocity += 50.0 * body.position;
    }
    is_held_after(&model, |simulation| {
        simulation.step(160).unwrap();
        assert!(healed(simulation.state().unwrap()) > 10);
    });
}

#[test]
fn each_bond_is_read_once_and_for_events_those_that_broke() {
    let model = bonded_crowd(800, DVec3::ZERO, 1);
    let sent: Arc<Sent> = Arc::default();
    on(Thread::counted(3, &sent), &model, &cpu(), |simulation| {
        simulation.step(8).unwrap();
        assert!(simulation.on_host().bonds.is_empty());
        sent.all.store(0, Ordering::Relaxed);
        simulation.watch_bonds();
        simulation.step(1).unwrap();
        let events = simulation.events().len();
        let of_events = sent.all.swap(0, Ordering::Relaxed);
        let bonds: Vec<_> = simulation.bonds().unwrap().collect();
        let all = sent.all.load(Ordering::Relaxed);
        assert!(simulation.on_host().bonds.is_empty());
        let broken = bonds.iter().filter(|bond| bond.breaks > 0).count();
        let (once, size) = (bonds.len(), size_of::<Bond>());
        assert!(broken > 0 && broken < once / 4, "{broken} of {once}");
        assert!(events >= broken, "{events} of {broken}");
        assert!(of_events < once * size, "{of_events} bytes of events");
        assert!(all < once * size, "{all} bytes of {once} bonds");
    });
}

#[test]
fn a_box_that_deforms() {
    // Beyond a tilt of a half of the box, which is when it turns.
    let model = deform::model(deform::ALL_AT_ONCE, 75);
    is_held(&model, &[1, 24, 300, 475]);
}

#[test]
fn ranks_cut_a_tilted_box_anew() {
    let model = scene(json!({
        "domain": { "min": [0, 0, 0], "max": [1, 1, 1], "periodic": [true, true, true] },
        "planes": [],
        "deform": { "shear": { "flow": "x", "gradient": "y", "rate": 100 } },
        "fills": [ { "count": 4000, "shapes": { "ball": 1 }, "placement": "grid", "velocity": [1, 0, 0],
                     "region": { "min": [0, 0, 0], "max": [1, 1, 1] } } ],
    }));
    let tilts = |simulation: &mut Simulation| {
        let mut tilt = || {
            simulation.step(25).unwrap();
            simulation.deformation().unwrap().tilt
        };
        std::array::from_fn::<_, 8, _>(|_| tilt())
    };
    let mut one = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    let expected = tilts(&mut one);
    assert!(
        expected.windows(2).any(|pair| pair[1] < pair[0]),
        "{expected:?}"
    );
    let sent: Arc<Sent> = Arc::default();
    on(Thread::counted(3, &sent), &model, &cpu(), |simulation| {
        simulation.step(0).unwrap();
        sent.largest.store(0, Ordering::Relaxed);
        assert_eq!(tilts(simulation), expected);
        let largest = sent.largest.load(Ordering::Relaxed);
        let all = model.bodies.len() * size_of::<Body>();
        assert!(largest < all / 2, "{largest} of {all} bytes");
        are_equal(&carried(simulation), &carried(&mut one), 3);
    });
}

#[test]
fn heat() {
    is_held(&warm_crowd(Law::HertzMindlin, 800, DVec3::ZERO, 4), &[120]);
}

#[test]
fn periodic_boxes() {
    is_held(&periodic_crowd(1000, DVec3::ZERO, 5, [true; 3]), &[150]);
    is_held(
        &periodic_crowd(1000, DVec3::ZERO, 6, [true, false, true]),
        &[150],
    );
}

/// Balls and rods that come in above a slope, between walls, and what else is given.
fn scene(more: Value) -> Model {
    model(&text(more))
}

/// The text of such a scene.
fn text(more: Value) -> String {
    let mut scene = json!({
        "version": 1, "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4, "time_step": 2e-4 },
        "materials": { "m": { "density": 2000, "restitution": 0.3, "friction": 0.4 } },
        "shapes": { "ball": { "sphere": { "radius": 0.02 }, "material": "m" },
                    "rod": { "rod": { "n": 3, "radius": 0.015, "spacing": 0.02 }, "material": "m" },
                    "cube": { "cube": { "n": 2, "radius": 0.015 }, "material": "m" } },
        "planes": [ { "point": [0, 0, 0], "normal": [0.1, 1, 0], "material": "m" } ],
        "fills": [ { "count": 150, "shapes": { "ball": 2, "rod": 1 }, "placement": "random", "seed": 4,
                     "region": { "min": [-0.2, 0, -0.2], "max": [0.2, 0.3, 0.2] } } ],
    });
    for (key, value) in more.as_object().unwrap() {
        scene[key] = value.clone();
    }
    scene.to_string()
}

fn balls() -> Model {
    scene(json!({
        "fills": [ { "count": 700, "shapes": { "ball": 1 }, "placement": "random", "seed": 4, "velocity": [0, -2, 0],
                     "region": { "min": [-0.2, 0, -0.2], "max": [0.2, 1, 0.2] } } ],
    }))
}

/// The engine has them side by side, ghosts among them.
#[test]
fn balls_alone() {
    is_held(&balls(), &[300, 1, 99]);
}

/// Large parts send in more than one piece; two threads have half as many as one. A rank that is slowed down for a moment has a smaller part
/// then, and fewer pieces.
#[test]
fn bodies_are_sent_while_others_are_computed() {
    let crowd = |shapes: Value, count: u32| {
        scene(json!({
            "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 1e-4 },
            "fills": [ { "count": count, "shapes": shapes, "seed": 4, "velocity": { "min": [-2, -3, -2], "max": [2, 0, 2] },
                         "region": { "min": [-3, 0, -0.5], "max": [3, 2, 0.5] } } ],
        }))
    };
    let steps = 40;
    let of = |threads| Options {
        threads: Some(threads),
        ..cpu()
    };
    for (model, least) in [
        (crowd(json!({ "ball": 1 }), 70_000), [6.0, 3.0]),
        (crowd(json!({ "ball": 1, "rod": 1 }), 18_000), [4.0, 2.0]),
    ] {
        let mut one = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
        one.step(steps).unwrap();
        let expected = carried(&mut one);
        for (threads, least) in [1, 2].into_iter().zip(least) {
            let (found, cost) = on_ranks_with(&model, 2, &of(threads), |simulation| {
                simulation.step(steps).unwrap();
                (carried(simulation), simulation.cluster_cost().unwrap())
            });
            are_equal(&found, &expected, 2);
            assert!(cost.lists < steps, "{cost:?}");
            let messages = cost.messages_per_step;
            assert!(messages >= least, "{threads} threads: {cost:?}");
        }
    }
}

#[test]
fn ranks_keep_their_bodies_for_more_than_one_list() {
    let cost = |model: &Model| {
        on_ranks(model, 3, |simulation| {
            simulation.step(400).unwrap();
            simulation.cluster_cost().unwrap()
        })
    };
    let [balls, sleeping] = [balls(), scene(json!({ "sleep": {} }))].map(|model| cost(&model));
    assert!(2 * balls.handovers < balls.lists, "{balls:?}");
    // The two sides of a contact of bodies that sleep may differ.
    assert_eq!(sleeping.handovers, sleeping.lists, "{sleeping:?}");
}

#[test]
fn what_comes_in_and_goes_out() {
    let model = scene(json!({
        "inlets": [ { "rate": 500, "shapes": { "ball": 1, "rod": 1 }, "seed": 4,
                      "region": { "min": [-0.2, 0.35, -0.2], "max": [0.2, 0.5, 0.2] },
                      "velocity": [1, -1, 0] } ],
        "outlets": [ { "inside": { "min": [0.22, -5, -5], "max": [5, 5, 5] } } ],
        "probes": [ { "name": "half", "box": { "min": [-1, -1, -1], "max": [0, 1, 1] } } ],
        "look_every": { "seconds": 5e-3 },
    }));
    is_held_after(&model, |simulation| {
        simulation.step(700).unwrap();
        let traffic = simulation.traffic();
        assert!(
            traffic.inlets[0].bodies > 20 && traffic.outlets[0].bodies > 5,
            "{traffic:?}"
        );
    });
}

/// Bodies come and go, pass a face, burst and are traced, and rank 0 has no more than a part: no message has all bodies of a rank.
#[test]
fn who_comes_and_goes_is_read_part_by_part() {
    let count = 20_000;
    let model = scene(json!({
        "fills": [ grid_fill(count, json!({ "shapes": { "ball": 2, "cube": 1 } })) ],
        "bodies": [ { "name": "bomb", "shape": "cube", "position": [0, 12, 0] } ],
        "explosions": [ { "body": "bomb", "at": 1.4e-3, "fragments": 3, "speed": 3, "seed": 4 } ],
        "breakage": [ { "name": "cubes", "shape": "cube", "strength": 300, "fragments": 3, "seed": 1 } ],
        "inlets": [ { "rate": 30000, "shapes": { "rod": 1 }, "region": { "min": [-2, 5, -2], "max": [2, 6, 2] } } ],
        "outlets": [ { "inside": { "min": [-0.3, -5, -5], "max": [-0.2, 5, 5] } } ],
        "probes": [ { "name": "layer", "face": { "min": [-1, 0.037, -1], "max": [1, 0.037, 1] } } ],
        "look_every": { "steps": 5 },
    }));
    let looked = |simulation: &mut Simulation| {
        let samples = trace_of(simulation, &[3, 19_999, 70], 2, 16);
        let handle = simulation.handles().nth(500).unwrap();
        simulation.despawn(handle).unwrap();
        simulation.step(1).unwrap();
        let loads: Vec<_> = samples
            .iter()
            .map(|sample| (sample.body, sample.load))
            .collect();
        (
            simulation.traffic().clone(),
            loads,
            simulation.summary().unwrap(),
        )
    };
    let expected = looked(&mut Simulation::on_cpu(model.clone(), Some(1)).unwrap());
    let (traffic, samples, summary) = &expected;
    let passed = traffic.passed[0].backward.bodies;
    let (came, went) = (traffic.inlets[0].bodies, traffic.outlets[0].bodies);
    assert!(passed > 2 && came > 2 && went > 2, "{passed} {came} {went}");
    assert!(samples.len() > 10 && summary.contacts > 0, "{samples:?}");
    assert!(traffic.exploded[0] && traffic.broken[0].bodies > 2);
    let sent: Arc<Sent> = Arc::default();
    let ranks = Thread::counted(3, &sent);
    on(ranks, &model, &cpu(), |simulation| {
        sent.largest.store(0, Ordering::Relaxed);
        assert!(looked(simulation) == expected);
        let of_part = sent.largest.swap(0, Ordering::Relaxed);
        simulation.state().unwrap();
        let of_rank = sent.largest.load(Ordering::Relaxed);
        assert!(of_part < of_rank / 2, "{of_part} of {of_rank} bytes");
    });
}

#[test]
fn a_heap_that_falls_asleep() {
    let model = scene(json!({ "sleep": {}, "planes": [
        { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "m" },
        { "point": [-0.2, 0, 0], "normal": [1, 0, 0], "material": "m" },
        { "point": [0.2, 0, 0], "normal": [-1, 0, 0], "material": "m" },
        { "point": [0, 0, -0.2], "normal": [0, 0, 1], "material": "m" },
        { "point": [0, 0, 0.2], "normal": [0, 0, -1], "material": "m" } ] }));
    is_held_after(&model, |simulation| {
        simulation.step(4000).unwrap();
        assert!(simulation.summary().unwrap().asleep > 0);
        simulation.wake().unwrap();
        simulation.step(10).unwrap();
        assert_eq!(simulation.summary().unwrap().asleep, 0);
    });
    on_ranks(&model, 2, |simulation| {
        let mut bytes_of = |steps: u64| {
            simulation.step(steps).unwrap();
            let cost = simulation.cluster_cost().unwrap();
            let all = cost.bytes_per_step * simulation.steps() as f64;
            (all, 2.0 * 80.0 * cost.ghosts_per_rank)
        };
        let (before, _) = bytes_of(15_000);
        let (after, of_all_ghosts) = bytes_of(400);
        let asleep = (after - before) / 400.0;
        assert!(asleep < 0.5 * of_all_ghosts, "{asleep} of {of_all_ghosts}");
        simulation.wake().unwrap();
        assert_eq!(besides_its_part(simulation), 0);
    });
}

#[test]
fn bodies_that_burst_and_stages() {
    let model = scene(json!({
        "bodies": [ { "name": "bomb", "shape": "cube", "position": [0, 0.4, 0] } ],
        "explosions": [ { "body": "bomb", "at": 0.02, "fragments": 3, "speed": 3, "seed": 4 } ],
        "walls": [ { "name": "tray", "rectangle": { "size": [0.5, 0.5] }, "position": [0, 0.05, 0], "material": "m" },
                   { "name": "shelf", "rectangle": { "size": [0.2, 0.5] }, "position": [0.2, 0.02, 0], "material": "m" } ],
        "stages": [ { "name": "first", "duration": 0.03 },
                    { "name": "second", "gravity": [3, -5, 0], "remove_walls": ["tray"], "add_walls": ["shelf"] } ],
    }));
    is_held(&model, &[400]);
}

#[test]
fn what_a_program_does_between_steps() {
    let model = crowd_with_history(Law::HookeHistory, 600, DVec3::ZERO, 8);
    is_held_after(&model, |simulation| {
        simulation.step(30).unwrap();
        let all = simulation.handles().zip(&model.bodies);
        let free = all
            .filter(|(_, body)| !body.fixed)
            .map(|(handle, _)| handle);
        let handles: Vec<_> = free.collect();
        let shape = simulation.shape("clump of 3").unwrap();
        simulation.despawn_many(&handles[20..40]).unwrap();
        simulation
            .spawn(NewBody::new(shape, DVec3::Y * 3.0))
            .unwrap();
        simulation.set_gravity(DVec3::new(1.0, -3.0, 2.0)).unwrap();
        simulation.step(30).unwrap();
        simulation.set_velocity(handles[0], DVec3::Z).unwrap();
        simulation
            .apply_impulse(handles[5], DVec3::X * 1e3, DVec3::ZERO)
            .unwrap();
        simulation
            .set_applied_force(handles[60], DVec3::X * 1e4, DVec3::Y * 1e3)
            .unwrap();
        simulation.set_fixed(handles[7], true).unwrap();
        simulation.step(40).unwrap();
    });
}

#[test]
fn what_a_program_does_before_the_first_step() {
    let model = crowd_with_history(Law::HookeHistory, 600, DVec3::ZERO, 14);
    is_held_after(&model, |simulation| {
        assert_eq!(simulation.bodies().unwrap().len(), simulation.body_count());
        let handles: Vec<_> = simulation.handles().collect();
        simulation.despawn_many(&handles[30..60]).unwrap();
        let shape = simulation.shape("clump of 3").unwrap();
        let new = NewBody::new(shape, DVec3::Y * 40.0);
        let new = simulation.spawn(new).unwrap();
        simulation.set_velocity(new, DVec3::Z).unwrap();
        simulation.set_gravity(DVec3::new(1.0, -3.0, 2.0)).unwrap();
        simulation.step(60).unwrap();
        // And where it begins anew.
        let state = simulation.state().unwrap().clone();
        simulation.restore(&state, 60).unwrap();
        simulation.despawn_many(&handles[100..110]).unwrap();
        simulation.step(60).unwrap();
    });
}

/// Bytes of the elements of bodies, spheres and lists that rank 0 has besides those of its own part.
fn besides_its_part(simulation: &Simulation) -> usize {
    let state = simulation.on_host();
    let spread = Field::ALL.into_iter().filter(|field| match field {
        Field::Actions | Field::Bonds => false,
        field => field.is_carried(),
    });
    let of_walls = [
        Field::Walls,
        Field::DynamicWalls,
        Field::WallLoads,
        Field::Stats,
    ];
    let spread = spread.filter(|field| !of_walls.contains(field));
    spread.map(|field| state.bytes(field).len()).sum()
}

#[test]
fn rank_0_has_no_copy_of_the_others_bodies() {
    let model = crowd_with_history(Law::HookeHistory, 3000, DVec3::ZERO, 1);
    let mut one = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    one.step(30).unwrap();
    let whole = one.memory();
    let state_of = |simulation: &mut Simulation| {
        let mut state = Vec::new();
        write_state_of(simulation, &mut state, "end.json".as_ref()).unwrap();
        String::from_utf8(state).unwrap()
    };
    let expected = state_of(&mut one);
    on_ranks(&model, 4, |simulation| {
        let mut watch = Watch::new(simulation, Duration::default);
        assert_eq!(besides_its_part(simulation), 0, "before the first step");
        simulation.step(30).unwrap();
        assert_eq!(besides_its_part(simulation), 0, "after a step");
        assert_eq!(simulation.body_count(), one.body_count());
        assert_eq!(simulation.sphere_count(), one.sphere_count());
        watch.look_at(simulation).unwrap();
        summed(simulation);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("all.checkpoint");
        simulation.write_checkpoint(&file).unwrap();
        assert!(state_of(simulation) == expected);
        assert_eq!(
            besides_its_part(simulation),
            0,
            "after all has been summed up and kept"
        );
        let own = simulation.memory();
        assert!(own < 3 * whole / 4, "{own} of {whole} bytes");
        // Who asks for all of it gets that, and has it until the next step.
        assert_eq!(simulation.bodies().unwrap().len(), one.body_count());
        assert!(besides_its_part(simulation) > 0);
        simulation.step(1).unwrap();
        assert_eq!(besides_its_part(simulation), 0);
    });
}

/// All that springs hold is summed up with no more than the bodies at their ends.
#[test]
fn springs_do_not_bring_all_bodies_to_rank_0() {
    let model = forced_crowd(800, DVec3::ZERO, 3);
    let mut one = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    one.step(60).unwrap();
    let expected = one.energy().unwrap();
    let stretched = one.state().unwrap().springs().map(|spring| spring.energy);
    assert!(stretched.sum::<f64>() > 1e-3 * expected.elastic);
    on_ranks(&model, 4, |simulation| {
        simulation.step(60).unwrap();
        assert!(simulation.energy().unwrap() == expected);
        warned(simulation);
        assert_eq!(besides_its_part(simulation), 0);
    });
}

/// A fill on a grid of so many balls and rods, and what else is given of it.
fn grid_fill(count: usize, more: Value) -> Value {
    let mut fill = json!({ "count": count, "shapes": { "ball": 2, "rod": 1 }, "placement": "grid", "jitter": 0.004, "seed": 4,
        "region": { "min": [-2, 0, -2], "max": [2, 10, 2] }, "velocity": { "min": [-1, -3, -1], "max": [1, 0, 1] } });
    for (key, value) in more.as_object().unwrap() {
        fill[key] = value.clone();
    }
    fill
}

/// A fill of so many balls and rods at random places.
fn random_fill(count: usize) -> Value {
    let mut fill = grid_fill(count, json!({ "placement": "random" }));
    fill.as_object_mut().unwrap().remove("jitter");
    fill
}

#[test]
fn a_large_fill_is_made_part_by_part() {
    is_made_part_by_part(grid_fill(100_000, json!({})));
}

#[test]
fn a_large_fill_at_random_is_made_part_by_part() {
    is_made_part_by_part(random_fill(100_000));
}

/// The bodies of a fill are nowhere but in the parts of the ranks.
fn is_made_part_by_part(fill: Value) {
    let model = scene(json!({ "fills": [fill] }));
    let mut one = Simulation::on_cpu(model.clone(), Some(2)).unwrap();
    one.step(3).unwrap();
    let (summary, warnings) = (summed(&mut one), warned(&mut one));
    let whole = one.memory();
    drop(one);
    for count in [3, 4] {
        on_ranks(&model, count, |simulation| {
            simulation.step(3).unwrap();
            let own = simulation.memory();
            let part = whole * 5 / (4 * count as u64);
            assert!(own < part, "{own} of {whole} bytes on {count} ranks");
            // Rank 0 has its part of the bodies, as all others do.
            let most = simulation.cluster_cost().unwrap().most_bodies;
            let bodies = simulation.body_count();
            assert!(
                (bodies / count..bodies * 5 / (4 * count)).contains(&most),
                "{most}"
            );
            assert_eq!(summed(simulation), summary, "{count} ranks");
            assert_eq!(warned(simulation), warnings, "{count} ranks");
            assert_eq!(besides_its_part(simulation), 0);
        });
    }
    assert!(!model.bodies.is_listed());
}

/// Bytes that ranks send each other until a simulation of a scene can take its first step.
fn sent_before_the_first_step(model: &Model, count: usize) -> usize {
    let sent: Arc<Sent> = Arc::default();
    let ranks = Thread::counted(count, &sent);
    on(ranks, model, &cpu(), |_| sent.all.load(Ordering::Relaxed))
}

#[test]
fn each_rank_makes_the_bodies_of_its_block() {
    let of = |fills: Vec<Value>| scene(json!({ "fills": fills }));
    let ball = json!({ "shape": "ball", "position": [0, 1, 0] });
    let few = scene(json!({ "fills": [], "bodies": [ball] }));
    let made = of(vec![grid_fill(100_000, json!({}))]);
    let random = of(vec![random_fill(100_000)]);
    let row = |x: usize| json!({ "shape": "ball", "position": [4.0 + 0.1 * x as f64, 1, 0] });
    let both = scene(json!({ "fills": [grid_fill(100_000, json!({}))],
                             "bodies": (0..500).map(row).collect::<Vec<_>>() }));
    let sent = [few, made, random, both].map(|model| sent_before_the_first_step(&model, 4));
    let [few, made, random, both] = sent;
    // The cuts of space, and a few numbers of the fill.
    assert!(made < few + 100_000, "{made} bytes, {few} without bodies");
    // Three other ranks get the number of tries of each body.
    let tries = 3 * 2 * 100_000;
    assert!(random < few + 100_000 + tries, "{random} bytes");
    // Rank 0 sends what it has in a list.
    assert!(
        (100 * 500..400 * 500).contains(&(both - made)),
        "{both}, {made}"
    );
}

/// Fills of mixed shapes, sizes, orientations and velocities that keep away from each other, from walls and from other bodies; and
/// what else is given.
fn mixed_fills(more: Value) -> Model {
    model(&text_of_mixed_fills(more))
}

fn text_of_mixed_fills(more: Value) -> String {
    let mut own = json!({
        "materials": { "m": { "density": 2000, "restitution": 0.3, "friction": 0.4 },
                       "glue": { "density": 2000, "restitution": 0.3, "friction": 0.4 } },
        "shapes": { "ball": { "sphere": { "radius": 0.02 }, "material": "m" },
                    "rod": { "rod": { "n": 3, "radius": 0.015, "spacing": 0.02 }, "material": "m" },
                    "rock": { "sphere": { "radius": 0.3 }, "material": "m" } },
        "groups": { "light": { "drag": { "linear": 1e-3 } } },
        "bodies": [ { "name": "rock", "shape": "rock", "position": [0.1, 0.6, 0.2], "velocity": [0, -1, 0] },
                    { "name": "held", "shape": "rock", "position": [-0.9, 1.5, 0.2], "fixed": true } ],
        "springs": [ { "from": { "body": "rock" }, "to": { "body": "held" }, "stiffness": 100 } ],
        "forces": [ { "body": "rock", "force": [3, 0, 0] } ],
        "walls": [ { "name": "pipe", "cylinder": { "radius": 0.4, "height": 3 }, "side": "outside", "material": "m",
                     "position": [1.2, 2, 0] } ],
        "fills": [
            grid_fill(60_000, json!({ "sizes": { "table": [[0.6, 1], [1, 2]] },
                                      "angular_velocity": { "min": [-9, -9, -9], "max": [9, 9, 9] } })),
            { "count": 3000, "shapes": { "rod": 1, "ball": 2 }, "placement": "random", "seed": 9, "orientation": "random",
              "sizes": { "table": [[0.5, 3], [1, 1]] }, "velocity": { "min": [-1, -3, -1], "max": [1, 0, 1] },
              "region": { "min": [-2, 0, 2], "max": [2, 2, 3] } },
            // Sites are closer than some bodies are long, and some were taken before.
            grid_fill(45_000, json!({ "spacing": 0.055, "jitter": 0.01, "seed": 7, "orientation": [0, 0, 0.6, 0.8],
                                      "region": { "min": [-2, 1, -2], "max": [2, 6, 2] }, "group": "light" })),
        ],
    });
    for (key, value) in more.as_object().unwrap() {
        own[key] = value.clone();
    }
    text(own)
}

/// Loads a scene on ranks, and holds it to what one process has loaded.
fn loaded(first: &Arc<dyn Ranks>, path: &Path, alone: &Scene) -> Model {
    let scene = load_on(&Cluster(Arc::clone(first)), path, &[], &OnDisk).unwrap();
    assert_eq!(scene.notes, alone.notes);
    assert_eq!(scene.model.sphere_count(), alone.model.sphere_count());
    assert_eq!(scene.model.hash(), alone.model.hash());
    scene.model
}

#[test]
fn ranks_find_places_at_random_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scene.json");
    let load = |text: &str, count: usize| {
        fs::write(&path, text).unwrap();
        served(Thread::all(count), |first| {
            let scene = load_on(&Cluster(Arc::clone(first)), &path, &[], &OnDisk)?;
            let model = scene.model;
            Ok::<_, SceneError>((model.hash(), model.sphere_count(), model.bodies.is_listed()))
        })
    };
    // Random fills beside each other, within each other, and under one on a grid.
    let at_random = |more: Value| {
        let mut own = random_fill(20_000);
        for (key, value) in more.as_object().unwrap() {
            own[key] = value.clone();
        }
        own
    };
    let fills = json!([
        at_random(json!({ "count": 70_000 })),
        at_random(json!({ "seed": 5, "region": { "min": [-2, 1, -2], "max": [2, 5, 2] } })),
        at_random(
            json!({ "seed": 6, "region": { "min": [2, 0, -1], "max": [3, 10, 1] },
                          "orientation": "random", "sizes": { "table": [[0.6, 1], [1, 2]] } })
        ),
        grid_fill(
            3000,
            json!({ "region": { "min": [-2, 2, -2], "max": [2, 6, 2] } })
        ),
    ]);
    let text = text_of_mixed_fills(json!({ "fills": fills }));
    let expected = model(&text);
    for count in [2, 3] {
        let spheres = expected.sphere_count();
        let same = (expected.hash(), spheres, false);
        assert_eq!(load(&text, count).unwrap(), same, "{count} ranks");
    }
    // And nobody waits for ever if there is no room.
    let small = json!({ "region": { "min": [-2, 2, -2], "max": [2, 2.15, 2] } });
    let text = text_of_mixed_fills(
        json!({ "fills": [at_random(json!({ "count": 99_000 })), at_random(small)] }),
    );
    let wrong = load(&text, 2).err().map(|error| error.to_string());
    let alone = rockfall::scene::load(&path)
        .err()
        .map(|error| error.to_string());
    assert!(
        alone
            .as_ref()
            .is_some_and(|alone| alone.contains("no place for a"))
    );
    assert_eq!(wrong, alone);
}

#[test]
fn ranks_pack_fills_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scene.json");
    let packed = |more: Value| {
        let mut own = json!({
            "solid_fraction": 0.28, "shapes": { "ball": 1, "rod": 1 }, "placement": "packed", "orientation": "random",
            "velocity": { "min": [-0.1, -0.1, -0.1], "max": [0.1, 0.1, 0.1] }, "seed": 2
        });
        for (key, value) in more.as_object().unwrap() {
            own[key] = value.clone();
        }
        own
    };
    // What is packed goes between other bodies, and others go between what is packed.
    let scene = json!({
        "version": 1, "duration": 1e-3,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e4 },
        "materials": { "glass": { "density": 2500, "restitution": 0.5, "friction": 0.5,
                                  "conductivity": 1.0, "heat_capacity": 800 } },
        "shapes": {
            "ball": { "sphere": { "radius": 0.01 }, "material": "glass" },
            "rod": { "rod": { "n": 2, "radius": 0.008 }, "material": "glass" },
            "boulder": { "sphere": { "radius": 0.1 }, "material": "glass" }
        },
        "planes": [{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "glass" }],
        "walls": [{ "name": "bin", "cylinder": { "radius": 0.5, "height": 4 }, "side": "inside", "material": "glass" }],
        "bodies": [{ "shape": "boulder", "position": [0.1, 0.3, 0.0], "fixed": true },
                   { "shape": "boulder", "position": [0.0, 0.6, 0.1], "temperature": 400 }],
        "fills": [
            packed(json!({ "region": { "min": [-0.5, 0, -0.5], "max": [0.5, 1.1, 0.5] } })),
            { "count": 1000, "shapes": { "ball": 1 }, "placement": "random",
              "region": { "min": [-0.5, 0.9, -0.5], "max": [0.5, 1.25, 0.5] } },
            packed(json!({ "region": { "min": [-0.5, 1.2, -0.5], "max": [0.5, 2.2, 0.5] }, "temperature": 350 })),
        ]
    });
    fs::write(&path, scene.to_string()).unwrap();
    let alone = rockfall::scene::load(&path).unwrap();
    assert!(alone.model.bodies.len() > 100_000);
    let mut one = Simulation::on_cpu(alone.model.clone(), Some(1)).unwrap();
    one.step(3).unwrap();
    served(Thread::all(3), |first| {
        let model = loaded(first, &path, &alone);
        let mut all = Simulation::on_ranks(model.clone(), Arc::clone(first), &cpu());
        let all = all.as_mut().unwrap();
        assert!(!model.bodies.is_listed());
        all.step(3).unwrap();
        are_equal(&carried(all), &carried(&mut one), 3);
    });
}

/// Fills in a periodic box that may overlap images of others are placed as by one process, and eased apart if they do.
#[test]
fn ranks_look_for_overlaps_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scene.json");
    let at_random = |count: usize, [min, max]: [f64; 2]| {
        let mut fill = random_fill(count);
        fill["region"] = json!({ "min": [-2, 8.1, min], "max": [2, 9, max] });
        fill
    };
    let below = json!({ "region": { "min": [-2, 0, -2], "max": [2, 8, 2] } });
    let domain =
        json!({ "min": [-2.1, -1, -2], "max": [2.1, 11, 2], "periodic": [true, false, true] });
    // The last fill is beside all others, or reaches through the seam to those beyond it.
    for (last, is_listed) in [([0.0, 0.3], false), ([1.8, 2.1], true)] {
        let fills = json!([
            grid_fill(100_000, below.clone()),
            at_random(500, [-2.0, -1.8]),
            at_random(500, last)
        ]);
        let text = text(
            json!({ "fills": fills, "domain": domain, "planes": [], "initial_overlap": "relax" }),
        );
        fs::write(&path, text).unwrap();
        let alone = load(&path).unwrap();
        assert_eq!(
            alone.notes.iter().any(|note| note.contains("eased")),
            is_listed
        );
        served(Thread::all(3), |first| {
            let model = loaded(first, &path, &alone);
            assert_eq!(model.bodies.is_listed(), is_listed);
        });
    }
}

/// Each rank has the bonds of the bodies in its slab of space.
#[test]
fn ranks_find_bonds_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scene.json");
    let bonds = json!([
        { "between": ["glue", "glue"], "young_modulus": 1e4, "tensile_strength": 1e2, "weibull_modulus": 3,
          "healing": { "distance": 0.001, "time": 1e-4 } },
        { "between": ["m", "m"], "groups": ["light", "light"], "young_modulus": 2e4, "shear_strength": 1e2, "gap": 0.002,
          "weibull_modulus": 5, "seed": 2, "damping": 0.2 },
        { "between": ["m", "m"], "young_modulus": 1e4 },
    ]);
    let packed = json!({ "count": 14_000, "shapes": { "ball": 2, "rod": 1 }, "placement": "packed", "seed": 3,
                         "region": { "min": [-2, -1, 3], "max": [2, 0.4, 3.8] }, "group": "light" });
    let touching = grid_fill(
        90_000,
        json!({ "shapes": { "ball": 1 }, "jitter": 0, "spacing": 0.04, "material": "glue",
                "region": { "min": [-2, 0, -2], "max": [2, 2.2, 2] } }),
    );
    let periodic =
        json!({ "min": [-2, -2, -2], "max": [2, 3, 1.96], "periodic": [true, false, true] });
    let load_on_ranks =
        |first: &Arc<dyn Ranks>| load_on(&Cluster(Arc::clone(first)), &path, &[], &OnDisk);
    for (more, laws) in [
        (
            json!({ "bonds": [bonds[0], bonds[1]], "fills": [touching, packed] }),
            2,
        ),
        // The bonds reach across the seam.
        (
            json!({ "bonds": [bonds[2]], "domain": periodic, "planes": [], "springs": [], "bodies": [], "forces": [], "fills": [
            grid_fill(100_000, json!({ "shapes": { "ball": 1 }, "jitter": 0, "spacing": 0.04,
                                       "region": { "min": [-2, 0, -2], "max": [2, 2.2, 1.96] } })) ] }),
            1,
        ),
    ] {
        let text = text_of_mixed_fills(more);
        fs::write(&path, &text).unwrap();
        let alone = load(&path).unwrap();
        let found = alone.notes.iter().filter(|note| note.starts_with("bonds["));
        assert_eq!(found.count(), laws);
        let mut one = Simulation::on_cpu(alone.model.clone(), Some(1)).unwrap();
        one.step(3).unwrap();
        for count in [2, 3] {
            served(Thread::all(count), |first| {
                let model = loaded(first, &path, &alone);
                assert_eq!(model.time_step, alone.model.time_step);
                let mut all = Simulation::on_ranks(model.clone(), Arc::clone(first), &cpu());
                let all = all.as_mut().unwrap();
                all.step(3).unwrap();
                assert!(!model.bodies.is_listed());
                are_equal(&carried(all), &carried(&mut one), count);
                // Who wants all in one place gets them.
                assert!(model.bonds.iter().eq(alone.model.bonds.iter()));
            });
        }
        // All find too stiff bonds, and such that single precision does not hold.
        for modulus in [2e8, 1e-44] {
            let mut wrong: Value = serde_json::from_str(&text).unwrap();
            wrong["bonds"][laws - 1]["young_modulus"] = json!(modulus);
            fs::write(&path, wrong.to_string()).unwrap();
            let problem =
                |scene: Result<Scene, SceneError>| scene.err().map(|error| error.to_string());
            let expected = problem(load(&path));
            assert!(
                expected
                    .as_ref()
                    .is_some_and(|text| text.contains("bonds[")),
                "{expected:?}"
            );
            assert_eq!(
                served(Thread::all(3), |first| problem(load_on_ranks(first))),
                expected
            );
        }
    }
}

#[test]
fn fills_beside_other_bodies_are_made_by_each_rank() {
    let model = mixed_fills(json!({}));
    is_held_after(&model, taking(&[2, 1]));
    assert!(!model.bodies.is_listed());
}

#[test]
fn bodies_that_are_made_are_those_of_a_list() {
    let made = mixed_fills(json!({}));
    // Nothing is of this material, but where there may be bonds, bodies are in a list.
    let bonds = json!([{ "between": ["glue", "glue"], "young_modulus": 1e6 }]);
    let listed = mixed_fills(json!({ "bonds": bonds }));
    assert!(listed.bonds.is_empty() && listed.bodies.is_listed() && !made.bodies.is_listed());
    assert_eq!(made.sphere_count(), listed.sphere_count());
    assert_eq!(made.hash(), listed.hash());
    assert!(!made.bodies.is_listed());
    assert!(made.bodies == listed.bodies);
}

#[test]
fn warm_fills_in_a_periodic_box_are_made_by_each_rank() {
    let model = scene(json!({
        "materials": { "m": { "density": 2000, "restitution": 0.3, "friction": 0.4, "conductivity": 20, "heat_capacity": 500 } },
        "domain": { "min": [-2, 0, -2], "max": [2, 1, 2], "periodic": [true, false, true] },
        "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "m" } ],
        "fills": [ grid_fill(100_000, json!({ "temperature": 400 })) ],
    }));
    is_held_after(&model, taking(&[3]));
    assert!(!model.bodies.is_listed());
}

#[test]
fn a_trace_has_the_samples_of_one_rank() {
    let model = crowd(300, DVec3::ZERO, 9);
    let bodies = [0, 5, 20];
    let mut one = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    let expected = trace_of(&mut one, &bodies, 7, 50);
    assert_eq!(expected.len(), 3 * 7);
    let found = on_ranks(&model, 3, |simulation| trace_of(simulation, &bodies, 7, 50));
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.load, expected.load);
        assert_eq!((found.step, found.body), (expected.step, expected.body));
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn a_checkpoint_goes_on_with_any_number_of_ranks() {
    let model = crowd_with_history(Law::HertzMindlin, 500, DVec3::ZERO, 10);
    let mut one = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    one.step(60).unwrap();
    let of_one = one.checkpoint().unwrap();
    let of_three = on_ranks(&model, 3, |simulation| {
        simulation.step(60).unwrap();
        simulation.checkpoint().unwrap()
    });
    one.step(60).unwrap();
    let expected = one.summary().unwrap().state_hash;
    let go_on = |simulation: &mut Simulation, bytes: &[u8]| {
        let checkpoint = Checkpoint::decode(bytes.to_vec(), "test".as_ref()).unwrap();
        checkpoint.restore(simulation).unwrap();
        simulation.step(60).unwrap();
        simulation.summary().unwrap().state_hash
    };
    for bytes in [&of_one, &of_three] {
        let mut alone = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
        assert_eq!(go_on(&mut alone, bytes), expected);
        for count in [1, 2, 5] {
            let found = on_ranks(&model, count, |simulation| go_on(simulation, bytes));
            assert_eq!(found, expected, "{count} ranks");
        }
    }
}

/// Goes on from a checkpoint of the present state.
fn resume(simulation: &mut Simulation) {
    let bytes = simulation.checkpoint().unwrap();
    let checkpoint = Checkpoint::decode(bytes, "test".as_ref()).unwrap();
    checkpoint.restore(simulation).unwrap();
    if simulation.cluster_cost().is_some() {
        assert_eq!(besides_its_part(simulation), 0, "it is in the checkpoint");
    }
}

#[test]
fn a_checkpoint_is_given_out_part_by_part() {
    let mut forced = forced_crowd(600, DVec3::ZERO, 3);
    // What one group ignores ignores it.
    forced.forces.groups[0].ignores = 0b10;
    for (model, steps) in [
        (
            crowd_with_history(Law::HertzMindlin, 1200, DVec3::ZERO, 3),
            60,
        ),
        (bonded_crowd(600, DVec3::ZERO, 1), 60),
        (forced, 60),
        (walled_crowd(Law::HookeHistory, 600, DVec3::ZERO, 2), 60),
        (warm_crowd(Law::HookeHistory, 600, DVec3::ZERO, 4), 60),
        (periodic_crowd(600, DVec3::ZERO, 5, [true; 3]), 60),
        (deform::model(deform::ALL_AT_ONCE, 75), 400),
    ] {
        let go_on = |simulation: &mut Simulation| {
            simulation.step(steps).unwrap();
            resume(simulation);
            simulation.step(steps).unwrap();
        };
        let mut one = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
        go_on(&mut one);
        let (summary, expected) = (summed(&mut one), carried(&mut one));
        for count in [1, 3, 4] {
            on_ranks(&model, count, |simulation| {
                go_on(simulation);
                assert_eq!(besides_its_part(simulation), 0);
                assert_eq!(summed(simulation), summary, "{count} ranks");
                let found = carried(simulation);
                are_equal(&found, &expected, count);
                // Ranks build lists anew after they got their bodies.
                assert!(histories(&found) == histories(&expected), "{count} ranks");
            });
        }
    }
}

#[test]
fn a_picture_is_made_part_by_part() {
    let device = device();
    for (model, colour_by, lines) in [
        (
            crowd_with_history(Law::HookeHistory, 600, DVec3::ZERO, 14),
            ColourBy::Force,
            Some(Lines::Velocity),
        ),
        (
            periodic_crowd(600, DVec3::ZERO, 14, [true, false, true]),
            ColourBy::Speed,
            Some(Lines::Contacts),
        ),
        (
            warm_crowd(Law::HookeHistory, 600, DVec3::ZERO, 4),
            ColourBy::Temperature,
            Some(Lines::Force),
        ),
        (bonded_crowd(600, DVec3::ZERO, 1), ColourBy::Damage, None),
    ] {
        let shot = Shot {
            size: [320, 200],
            colour_by: Some(colour_by),
            lines,
            ..Shot::default()
        };
        let drawn = |simulation: &mut Simulation| {
            let mut studio = Studio::new(&shot, simulation, device, false).unwrap();
            let at_first = studio.picture(simulation).unwrap();
            simulation.step(60).unwrap();
            [at_first, studio.picture(simulation).unwrap()]
        };
        let mut one = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
        let expected = drawn(&mut one);
        assert!(expected[0] != expected[1]);
        for count in [1, 3] {
            on_ranks(&model, count, |simulation| {
                let found = drawn(simulation);
                assert!(found == expected, "{colour_by:?}, {lines:?}, {count} ranks");
                assert_eq!(besides_its_part(simulation), 0);
            });
        }
    }
}

/// Contacts from another run are there before the first step, and on no rank as a whole.
#[test]
fn ranks_start_from_another_run() {
    let mut before = Simulation::on_cpu(scene(json!({})), Some(1)).unwrap();
    before.step(2000).unwrap();
    let files = BTreeMap::from([("a.checkpoint".into(), before.checkpoint().unwrap())]);
    let above = json!({ "region": { "min": [-2, 1, -2], "max": [2, 6, 2] } });
    for (fills, steps) in [
        (vec![], 60),
        // Each rank makes those of its block.
        (vec![grid_fill(100_000, above)], 2),
    ] {
        let next = text(json!({ "start": { "from": "a.checkpoint" }, "fills": fills }));
        let next = parse_with(&next, "next.json".as_ref(), &files).unwrap();
        let model = next.model;
        assert_eq!(model.bodies.is_listed(), fills.is_empty());
        let mut one = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
        let energy = one.energy().unwrap();
        let contacts: Vec<_> = one.contacts().unwrap().collect();
        assert!(contacts.len() > 100);
        for count in [1, 3] {
            on_ranks(&model, count, |simulation| {
                assert!(simulation.energy().unwrap() == energy, "{count} ranks");
                assert_eq!(besides_its_part(simulation), 0);
                let found: Vec<_> = simulation.contacts().unwrap().collect();
                assert!(found == contacts, "{count} ranks");
            });
        }
        is_held_after(&model, taking(&[steps]));
    }
}

/// Files in memory, of which so many reads succeed.
struct Failing<'a> {
    file: &'a [u8],
    left: Arc<AtomicUsize>,
}

impl Files for Failing<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        OnDisk.read(path)
    }

    fn open(&self, _: &Path) -> io::Result<Box<dyn Storage>> {
        Ok(Box::new(Opened(self.file.to_vec(), Arc::clone(&self.left))))
    }

    fn beside(&self, path: &Path) -> Vec<PathBuf> {
        OnDisk.beside(path)
    }
}

#[derive(Debug)]
struct Opened(Vec<u8>, Arc<AtomicUsize>);

impl Storage for Opened {
    fn length(&self) -> u64 {
        self.0.length()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let left = self
            .1
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            });
        left.map_err(|_| io::Error::other("no disk"))?;
        self.0.read_at(offset, into)
    }
}

/// Each rank has a share of the bodies of another run, with their contacts.
#[test]
fn ranks_share_the_bodies_of_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scene.json");
    let plane =
        |x: f64, normal: [f64; 3]| json!({ "point": [x, 0, 0], "normal": normal, "material": "m" });
    let floor = plane(0.0, [0.1, 1.0, 0.0]);
    // They fall onto each other.
    let before = json!({ "planes": [floor], "fills": [
        grid_fill(105_000, json!({ "velocity": { "min": [0, -9, 0], "max": [0, 0, 0] }, "jitter": 0 }))
    ] });
    let mut before = Simulation::on_cpu(scene(before), Some(2)).unwrap();
    before.step(30).unwrap();
    let file = before.checkpoint().unwrap();
    drop(before);
    fs::write(folder.path().join("a.checkpoint"), &file).unwrap();
    let next = |more: Value| {
        let mut next =
            json!({ "start": { "from": "a.checkpoint" }, "planes": [floor], "fills": [] });
        for (key, value) in more.as_object().unwrap() {
            next[key] = value.clone();
        }
        fs::write(&path, text(next)).unwrap();
    };
    let above = json!({ "region": { "min": [-2, 9, -2], "max": [2, 12, 2] } });
    let mut above_at_random = random_fill(500);
    above_at_random["region"] = above["region"].clone();
    for (more, is_listed, contacts) in [
        (json!({}), false, true),
        (
            json!({ "start": { "from": "a.checkpoint", "without": ["rod"], "at_rest": true } }),
            false,
            true,
        ),
        (
            json!({ "fills": [above_at_random, grid_fill(500, above)] }),
            false,
            true,
        ),
        (
            json!({ "contact": { "normal": "hooke", "stiffness": 1e4, "time_step": 2e-4 } }),
            false,
            false,
        ),
        (
            json!({ "bonds": [{ "between": ["m", "m"], "young_modulus": 1e5, "gap": 0.01, "tensile_strength": 1e3 }] }),
            false,
            true,
        ),
        (
            json!({ "planes": [], "fills": [above_at_random], "domain":
                 { "min": [-2.1, -9, -2.1], "max": [2.1, 15, 2.1], "periodic": [true, false, true] } }),
            false,
            true,
        ),
        // Named bodies, and a spring between them.
        (
            json!({ "bodies": [{ "name": "a", "shape": "ball", "position": [0, 11, 0], "velocity": [0, -3, 0] },
                            { "name": "b", "shape": "cube", "position": [0.1, 11, 0] }],
                 "springs": [{ "from": { "body": "a" }, "to": { "body": "b" }, "stiffness": 100 }],
                 "forces": [{ "body": "b", "force": [0, 3, 0] }],
                 "explosions": [{ "body": "b", "at": 4e-4, "speed": 1, "fragments": 2 }] }),
            false,
            true,
        ),
        (
            json!({ "bodies": [{ "shape": "rod", "position": [0, 1, 0] }], "initial_overlap": "relax" }),
            true,
            true,
        ),
        // A wall that none of them touches, and one that is not where some of them are.
        (
            json!({ "planes": [floor, plane(-3.0, [1.0, 0.0, 0.0])] }),
            false,
            true,
        ),
        (
            json!({ "planes": [floor, plane(-1.99, [1.0, 0.0, 0.0])], "initial_overlap": "allow" }),
            true,
            true,
        ),
    ] {
        next(more);
        let alone = load(&path).unwrap();
        let mut one = Simulation::on_cpu(alone.model.clone(), Some(1)).unwrap();
        let found: Vec<_> = one.contacts().unwrap().collect();
        assert_eq!(
            alone
                .model
                .history
                .as_ref()
                .is_some_and(|own| own.entries.len() > 1000),
            contacts
        );
        one.step(3).unwrap();
        served(Thread::all(3), |first| {
            let model = loaded(first, &path, &alone);
            let mut all = Simulation::on_ranks(model.clone(), Arc::clone(first), &cpu());
            let all = all.as_mut().unwrap();
            assert_eq!(model.bodies.is_listed(), is_listed);
            assert_eq!(model.history.is_some(), is_listed && contacts);
            let shared: Vec<_> = all.contacts().unwrap().collect();
            assert!(shared == found);
            all.step(3).unwrap();
            are_equal(&carried(all), &carried(&mut one), 3);
            // Who wants all in one place gets it.
            let mut listed = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
            assert!(listed.contacts().unwrap().eq(found.iter().cloned()));
        });
    }
    // Nobody waits for ever if the file cannot be read any more.
    next(json!({}));
    let of = |reads: usize| {
        let left = Arc::new(AtomicUsize::new(reads));
        let files = Failing {
            file: &file,
            left: Arc::clone(&left),
        };
        let scene = served(Thread::all(3), |first| {
            load_on(&Cluster(Arc::clone(first)), &path, &[], &files)
        });
        let made = scene.map(|scene| scene.model.bodies.len());
        (
            made.map_err(|error| error.to_string()),
            left.load(Ordering::Relaxed),
        )
    };
    let (made, left) = of(1 << 30);
    assert_eq!(made, Ok(105_000));
    for missing in [1, 9] {
        let error = of((1 << 30) - left - missing).0.unwrap_err();
        assert!(
            error.contains("a.checkpoint: found a file that cannot be read (no disk)"),
            "{error}"
        );
    }
}

/// A model that starts as a run of another one has ended.
fn started(model: &Model) -> Model {
    let mut before = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    before.step(40).unwrap();
    let state = before.state().unwrap();
    assert!(state.sphere_loads.iter().any(|load| load.contacts > 0));
    let mut next = model.clone();
    for (own, body) in next.bodies.iter_mut().zip(&state.bodies) {
        own.position = state.position(body);
        own.orientation = body_orientation(body);
        own.velocity = body.velocity.as_dvec3();
    }
    let (entries, size) = (state.stats[0].neighbours, state.params.history_size);
    next.history = Some(ContactHistory {
        size,
        ends: state.neighbour_starts[1..].to_vec(),
        entries: state.neighbours[..entries as usize].to_vec(),
        elements: state.history[..(size * entries) as usize].to_vec(),
    });
    next
}

#[test]
fn contacts_come_with_all_that_bodies_carry() {
    let warm = started(&warm_crowd(Law::HertzMindlin, 400, DVec3::ZERO, 4));
    let mut periodic = periodic_crowd(400, DVec3::ZERO, 14, [true, false, true]);
    periodic.contact.law = Law::HookeHistory;
    is_held(&warm, &[30]);
    is_held(&started(&periodic), &[30]);
    is_held(&started(&forced_crowd(400, DVec3::ZERO, 3)), &[30]);
    is_held(&started(&bonded_crowd(400, DVec3::ZERO, 1)), &[30]);
    is_held_on_gpus(&warm, &[30]);
}

#[test]
fn ranks_go_on_when_a_checkpoint_can_be_read_again() {
    let model = crowd_with_history(Law::HookeHistory, 600, DVec3::ZERO, 14);
    let mut one = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    one.step(60).unwrap();
    let disk = Disk::of(&mut one);
    one.step(60).unwrap();
    let expected = carried(&mut one);
    for count in [1, 3] {
        on_ranks(&model, count, |simulation| {
            disk.open().restore(simulation).unwrap();
            disk.is_gone.store(true, Ordering::Relaxed);
            for error in [simulation.step(1), simulation.bodies().map(|_| ())] {
                let error = error.unwrap_err().to_string();
                assert!(error.contains("cannot be read (no disk)"), "{error}");
            }
            disk.is_gone.store(false, Ordering::Relaxed);
            simulation.step(60).unwrap();
            are_equal(&carried(simulation), &expected, count);
        });
    }
}

#[test]
fn what_is_asked_of_a_checkpoint_before_the_first_step_is_there() {
    let model = crowd_with_history(Law::HookeHistory, 600, DVec3::ZERO, 14);
    is_held_after(&model, |simulation| {
        simulation.step(60).unwrap();
        resume(simulation);
        let contacts = simulation.contacts().unwrap().count();
        assert!(contacts > 0);
        resume(simulation);
        let handles: Vec<_> = simulation.handles().collect();
        simulation.despawn_many(&handles[30..60]).unwrap();
        resume(simulation);
        let shape = simulation.shape("clump of 3").unwrap();
        let new = NewBody::new(shape, DVec3::Y * 40.0);
        let new = simulation.spawn(new).unwrap();
        resume(simulation);
        simulation.set_velocity(new, DVec3::Z).unwrap();
        simulation.step(60).unwrap();
    });
}

#[test]
fn ranks_write_the_checkpoint_that_one_process_writes() {
    let folder = tempfile::tempdir().unwrap();
    let crowd = crowd_with_history(Law::HertzMindlin, 4000, DVec3::ZERO, 12);
    for model in [crowd, bonded_crowd(300, DVec3::ZERO, 1), scene(json!({}))] {
        for count in [1, 2, 3, 5] {
            let path = folder.path().join(format!("{count}.checkpoint"));
            let expected = on_ranks(&model, count, |simulation| {
                simulation.step(20).unwrap();
                let gone: Vec<_> = simulation.handles().step_by(7).collect();
                simulation.despawn_many(&gone).unwrap();
                simulation.step(20).unwrap();
                simulation.write_checkpoint(&path).unwrap();
                simulation.checkpoint().unwrap()
            });
            let found = fs::read(&path).unwrap();
            assert!(found == expected, "on {count} ranks");
            Checkpoint::decode(found, &path).unwrap();
        }
    }
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_an_error_and_no_end() {
    let folder = tempfile::tempdir().unwrap();
    let model = crowd(200, DVec3::ZERO, 13);
    let expected = on_ranks(&model, 3, |simulation| {
        simulation.step(10).unwrap();
        let missing = folder.path().join("missing").join("run.checkpoint");
        let error = simulation.write_checkpoint(&missing).unwrap_err();
        assert!(error.to_string().contains("cannot be written"), "{error}");
        simulation.step(10).unwrap();
        simulation.summary().unwrap().state_hash
    });
    let mut one = Simulation::on_cpu(model, Some(1)).unwrap();
    one.step(20).unwrap();
    assert_eq!(one.summary().unwrap().state_hash, expected);
}

#[test]
fn a_lost_body_ends_all_ranks_at_the_step_in_which_it_is_lost() {
    let model = crowd(300, DVec3::ZERO, 11);
    let victim = model.bodies.iter().rposition(|body| !body.fixed).unwrap();
    let lose = |simulation: &mut Simulation| {
        simulation.step(10).unwrap();
        let mut state = simulation.state().unwrap().clone();
        state.bodies[victim].velocity = Vec3::X * 1e9;
        simulation.restore(&state, 10).unwrap();
        match simulation.step(20).unwrap_err() {
            Error::Runaway { body, step, .. } => (body, step),
            other => panic!("{other}"),
        }
    };
    let mut one = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    assert_eq!(lose(&mut one), (victim, 11));
    assert_eq!(on_ranks(&model, 4, lose), (victim, 11));
}

/// A scene of which a run keeps all tables every so many steps.
fn kept_scene(every: u64, more: Value) -> Scene {
    let all = ["bodies", "spheres", "contacts", "bonds"];
    let mut more = more;
    more["output"] = json!({ "every": { "steps": every }, "statistics_every": { "steps": every }, "states": all });
    more["measure"] = json!({
        "every": { "steps": every }, "mixing": { "shape": "ball" }, "slope": { "along": [1, 0, 0] },
        "fields": { "cells": [4, 6, 1], "width": 0.1, "every": { "steps": 2 * every },
                    "region": { "min": [-0.2, 0, -0.2], "max": [0.2, 0.3, 0.2] } },
    });
    more["until"] = json!({ "speed_below": 1e-9, "kinetic_energy_below": 1e-9 });
    rockfall::scene::parse(&text(more), "kept.json".as_ref()).unwrap()
}

/// Keeps a run of so many steps in a folder.
fn keep(
    scene: &Scene,
    simulation: &mut Simulation,
    folder: &Path,
    steps: u64,
    others: &mut [&mut dyn Observer],
) -> Result<(), Error> {
    let record = Record::new(simulation, &cpu(), Vec::new(), steps);
    let mut run = RunFolder::create(folder, scene, record, simulation)?;
    let flow = run.run(scene, simulation, &cpu(), others, |_, _| ())?;
    assert!(flow.is_continue());
    let summary = RunSummary::new(simulation, 0, Duration::from_secs(1))?;
    run.finish(simulation, false, summary)
}

/// VTK files and states in the folder of a run, by their names.
fn files_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let folders = ["", "vtk", "states", "fields"].map(|name| folder.join(name));
    let entries = folders.iter().flat_map(|own| fs::read_dir(own).unwrap());
    let files = entries.map(|entry| entry.unwrap().path()).filter(|path| {
        let ending = path.extension().unwrap_or_default();
        ["vtp", "vti", "npz", "pvd", "part"]
            .iter()
            .any(|own| ending == *own)
    });
    let named = files.map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read(path).unwrap())
    });
    named.collect()
}

/// These, and what has been measured or has broken.
fn all_files_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = files_of(folder);
    for name in ["measures.csv", "broken_bonds.csv"] {
        if let Ok(table) = fs::read(folder.join(name)) {
            files.insert(name.to_owned(), table);
        }
    }
    files
}

/// Holds the files of a run on several ranks to those of one process.
fn are_kept(scene: &Scene, steps: u64) -> BTreeMap<String, Vec<u8>> {
    let place = tempfile::tempdir().unwrap();
    let mut one = Simulation::on_cpu(scene.model.clone(), Some(1)).unwrap();
    keep(scene, &mut one, &place.path().join("one"), steps, &mut []).unwrap();
    let expected = all_files_of(&place.path().join("one"));
    let rows = String::from_utf8_lossy(&expected["measures.csv"]);
    assert!(rows.lines().count() > 3, "{rows}");
    let fields = expected.keys().filter(|name| name.ends_with(".vti"));
    assert!(fields.count() > 0);
    for count in [1, 2, 3, 4, 7] {
        let folder = place.path().join(count.to_string());
        on_ranks(&scene.model, count, |simulation| {
            keep(scene, simulation, &folder, steps, &mut []).unwrap();
        });
        let found = all_files_of(&folder);
        let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&expected), "{count} ranks");
        for (name, bytes) in &found {
            assert!(*bytes == expected[name], "{name} on {count} ranks");
        }
    }
    expected
}

#[test]
fn ranks_write_the_files_that_one_process_writes() {
    let warm = json!({ "m": { "density": 2000, "restitution": 0.3, "friction": 0.4, "conductivity": 50, "heat_capacity": 800 } });
    let leaving = kept_scene(
        300,
        json!({
            "materials": warm,
            "outlets": [ { "inside": { "min": [-5, -5, -5], "max": [-0.15, 5, 5] } } ],
            "walls": [ { "name": "drum", "cylinder": { "radius": 0.4, "height": 2 }, "side": "inside", "material": "m",
                         "motion": { "rotation": { "axis": [0, 1, 0], "speed": 2 } } } ],
            "look_every": { "seconds": 5e-3 },
        }),
    );
    let files = are_kept(&leaving, 900);
    // Bodies leave, and many touch.
    let length = |step: u64, kind: &str| files[&format!("{kind}_{step:012}.npz")].len();
    assert!(length(900, "bodies") < length(0, "bodies"));
    assert!(length(900, "contacts") > 2 * length(0, "contacts"));

    let periodic = kept_scene(
        50,
        json!({
            "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "m" } ],
            "contact": { "normal": "impulse" },
            "domain": { "min": [-0.2, 0, -0.2], "max": [0.2, 1, 0.2], "periodic": [true, false, true] },
            "fills": [ { "count": 300, "shapes": { "ball": 2, "rod": 1 }, "placement": "random", "seed": 4,
                         "region": { "min": [-0.2, 0.02, -0.2], "max": [0.2, 0.4, 0.2] },
                         "velocity": { "min": [-1, -3, -1], "max": [1, 0, 1] } } ],
        }),
    );
    are_kept(&periodic, 100);

    let files = are_kept(&kept_scene(50, bonds()), 100);
    assert!(files["bonds_000000000100.vtp"].len() > 5_000);
    let broken = String::from_utf8_lossy(&files["broken_bonds.csv"]);
    assert!(broken.lines().count() > 10, "{broken}");
}

/// Bonds between the bodies of a scene, of which some break.
fn bonds() -> Value {
    json!({
        "bonds": [ { "between": ["m", "m"], "gap": 0.01, "young_modulus": 1e5, "tensile_strength": 1e3, "shear_strength": 1e3 } ],
        "fills": [ { "count": 150, "shapes": { "ball": 2, "rod": 1 }, "placement": "random", "seed": 4,
                     "region": { "min": [-0.2, 0, -0.2], "max": [0.2, 0.3, 0.2] },
                     "velocity": { "min": [-1, -1, -1], "max": [1, 1, 1] } } ],
    })
}

/// There are ranks without a share, and files without a row.
#[test]
fn few_bodies_are_kept_by_many_ranks() {
    let inlet = json!([ { "rate": 500, "shapes": { "ball": 1, "rod": 1 }, "seed": 4,
                          "region": { "min": [-0.2, 0.1, -0.2], "max": [0.2, 0.3, 0.2] } } ]);
    let empty = kept_scene(
        20,
        json!({ "fills": [], "inlets": inlet, "look_every": { "seconds": 5e-3 } }),
    );
    are_kept(&empty, 60);
}

/// Looks at what rank 0 has when all that is due has been written.
struct HasNone(usize);

impl Observer for HasNone {
    fn next(&self, step: u64) -> u64 {
        step + 10
    }

    fn observe(&mut self, simulation: &mut Simulation) -> Result<ControlFlow<()>, Error> {
        let own = besides_its_part(simulation);
        assert_eq!(own, 0, "after step {}", simulation.steps());
        self.0 += 1;
        Ok(ControlFlow::Continue(()))
    }
}

#[test]
fn rank_0_does_not_read_all_bodies_to_keep_them() {
    for more in [json!({}), bonds()] {
        let scene = kept_scene(20, more);
        let mut ending = Ending::of(&scene).unwrap();
        let place = tempfile::tempdir().unwrap();
        on_ranks(&scene.model, 3, |simulation| {
            let mut looks = HasNone(0);
            let folder = place.path().join("kept");
            let others: &mut [&mut dyn Observer] = &mut [&mut ending, &mut looks];
            keep(&scene, simulation, &folder, 200, others).unwrap();
            assert_eq!(looks.0, 20);
            assert_eq!(besides_its_part(simulation), 0, "in the end");
        });
    }
}

/// Wear, collisions, the stress of a box, bonds and events follow from contacts that lead from one part to another.
#[test]
fn contacts_and_bonds_are_looked_at_part_by_part() {
    let square = "v -1 0 -1\nv 1 0 -1\nv 1 0 1\nv -1 0 1\nf 1 3 2\nf 1 4 3\n";
    let files = BTreeMap::from([("square.obj".into(), square.as_bytes().to_vec())]);
    let worn = text(json!({
        "planes": [],
        "walls": [ { "mesh": { "file": "square.obj" }, "material": "m", "wear": { "archard": 1e-9 } } ],
        "fills": [ { "count": 700, "shapes": { "ball": 2, "rod": 1 }, "placement": "random", "seed": 2, "velocity": [3, -3, 0],
                     "region": { "min": [-0.3, 0.02, -0.3], "max": [0.3, 0.5, 0.3] } } ],
    }));
    let worn = rockfall::scene::parse_with(&worn, "worn.json".as_ref(), &files).unwrap();
    let mut worn = worn.model;
    worn.flow.collisions = true;
    let mut deforming = deform::model(deform::ALL_AT_ONCE, 75);
    deforming.flow.collisions = true;
    for model in [worn, deforming, bonded_crowd(800, DVec3::ZERO, 1)] {
        let looked = |simulation: &mut Simulation| {
            let group = GroupHandle::from_index(0);
            simulation.watch_contacts(group, group).unwrap();
            simulation.watch_bonds();
            simulation.set_event_interval(5);
            simulation.step(60).unwrap();
            let bonds: Vec<_> = simulation.bonds().unwrap().collect();
            (
                simulation.traffic().clone(),
                simulation.events(),
                simulation.energy().unwrap(),
                bonds,
            )
        };
        let mut one = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
        let expected = looked(&mut one);
        let (traffic, events, _, bonds) = &expected;
        assert!(events.len() > 3, "{} events", events.len());
        let touch = !traffic.collisions.open.is_empty();
        assert!(touch || bonds.iter().any(|bond| bond.breaks > 0));
        let worn: Vec<f64> = traffic.worn.concat();
        assert!(worn.is_empty() || worn.iter().any(|volume| *volume > 0.0));
        for count in [1, 3, 4] {
            on_ranks(&model, count, |simulation| {
                assert!(looked(simulation) == expected, "{count} ranks");
                assert_eq!(besides_its_part(simulation), 0, "{count} ranks");
            });
        }
    }
}

#[test]
fn a_rank_that_cannot_write_a_file_is_named_and_leaves_none() {
    let scene = kept_scene(10, json!({}));
    let place = tempfile::tempdir().unwrap();
    let ranks = Thread::all_but(4, 2);
    on(ranks, &scene.model, &cpu(), |simulation| {
        let folder = place.path().join("kept");
        let error = keep(&scene, simulation, &folder, 50, &mut []).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("bodies_000000000000.vtp"), "{error}");
        assert!(error.contains("rank 2: "), "{error}");
        let left: Vec<String> = files_of(&folder).into_keys().collect();
        assert!(left.is_empty(), "{left:?}");
        // They do as they are told still.
        simulation.step(10).unwrap();
    });
}
