//! `contacts`, `walls`, `integrate` and the `pose` of the next step in one go, chunk by chunk.

use std::fmt;
use std::mem::take;
use std::time::Duration;

use bytemuck::cast;

use super::ball_block::{fold, of_column, side_by_side};
use super::contact_rows::{ContactScratch, larger};
use super::contacts;
use super::decomposition::{Decomposition, SubdomainView};
use super::integrate::{
    self, Bodies, IntegrateScratch, Kinds, Moved, Step, integrate_balls, integrate_some,
};
use super::lanes::WIDTH;
use super::pose::{pose_all, pose_balls, pose_some};
use super::subdomain::Chunk;
use super::wall_batch::WallBatch;
use super::walls::{self, WallOutcome};
use crate::math::each::for_each_pair;
use crate::state::State;
use crate::state::layout::Params;
use crate::step::Pass;
use crate::step::clock::{Clock, Stopwatch};
use crate::step::wall_load::Digits;

/// The passes that [`fused_step`] runs; the last one is that of the next step.
pub(super) const FUSED: [Pass; 4] = [Pass::Contacts, Pass::Walls, Pass::Integrate, Pass::Pose];

/// Runs the passes `contacts`, `walls`, `integrate` and the next `pose` of all bodies. Returns the time that each of [`FUSED`] took,
/// as if one came after the other; zero without a clock.
pub(super) fn fused_step(
    state: &mut State,
    decomposition: &mut Decomposition,
    last: bool,
    clock: Option<Clock>,
) -> [Duration; FUSED.len()] {
    let mut step = FusedStep::begin(state, decomposition, last, clock);
    for piece in 0..decomposition.pieces() {
        step.take(state, decomposition, piece);
    }
    step.end(state, decomposition, &mut |_| ())
}

/// The passes `contacts`, `walls`, `integrate` and the next `pose`, chunk by chunk, so that what one writes is still in the cache when
/// the next one reads it. The bits are those of the passes one after the other.
///
/// None of them reads what another subdomain writes: `integrate` writes bodies, `pose` the spheres of the subdomain, and
/// contacts read those and ghosts. Nor do they read what has been posed already: pairs look ahead only, unless bodies may
/// sleep; then all contacts are evaluated first. After the last step nothing is posed: the state has the spheres of that
/// step.
///
/// The step comes in [pieces](Decomposition::pieces), so that a part of a scene can send what is done.
pub(in crate::step) struct FusedStep {
    /// None without bodies: these kernels are not there for all laws.
    contacts: Option<contacts::Kernel>,
    walls: Option<walls::Kernel>,
    step: Step,
    /// Parameters of the next step; none after the last one.
    next: Option<Params>,
    /// Whether balls are to be put side by side first.
    fold: bool,
    outcome: StepOutcome,
    clock: Option<Clock>,
    watch: Stopwatch,
}

impl FusedStep {
    pub(super) fn begin(
        state: &mut State,
        decomposition: &mut Decomposition,
        last: bool,
        clock: Option<Clock>,
    ) -> FusedStep {
        let watch = Stopwatch::start(clock);
        let has_bodies = !state.bodies.is_empty();
        let has_walls = has_bodies && state.params.wall_count > 0;
        let mut next = state.params;
        next.deform(state.stats[0].step.wrapping_add(1));
        FusedStep {
            contacts: has_bodies.then(|| contacts::kernel(state)),
            walls: has_walls.then(|| walls::kernel(state)),
            step: integrate::begin(state),
            next: (!last).then_some(next),
            fold: decomposition.folds(),
            outcome: StepOutcome::new(state),
            clock,
            watch,
        }
    }

    /// Takes a piece of the step, which comes after those of before.
    pub fn take(&mut self, state: &mut State, decomposition: &mut Decomposition, piece: usize) {
        let Some(contacts) = self.contacts else {
            return;
        };
        let pieces = decomposition.pieces();
        let run = |state: &State, view: SubdomainView| {
            let mut task = Task {
                state,
                contacts,
                walls: self.walls,
                step: &self.step,
                next: self.next.as_ref(),
                fold: self.fold,
                outcome: StepOutcome::new(state),
                watch: Stopwatch::start(self.clock),
                view,
            };
            task.run(piece, pieces);
            task.outcome
        };
        let outcome = decomposition.for_each(state, run, StepOutcome::default, StepOutcome::and);
        self.outcome = take(&mut self.outcome).and(outcome);
    }

    /// Ends the step; before walls move, `sum` adds what the other parts of a scene do to them. Returns the time that each of [`FUSED`]
    /// took.
    pub fn end(
        self,
        state: &mut State,
        decomposition: &mut Decomposition,
        sum: &mut dyn FnMut(&mut [Digits]),
    ) -> [Duration; FUSED.len()] {
        let FusedStep {
            next,
            mut outcome,
            mut watch,
            ..
        } = self;
        if !outcome.walls.sums.is_empty() {
            sum(&mut outcome.walls.sums);
        }
        let largest = &mut state.stats[0].max_overlap_fraction;
        *largest = (*largest).max(outcome.fraction.to_bits());
        outcome.walls.note(state);
        integrate::end(state, outcome.moved);
        if outcome.moved.is_lost() {
            decomposition.write_back(state);
            pose_all(state);
        } else if next.is_some() && !state.bodies.is_empty() {
            decomposition.set_posed();
        }
        // Threads work side by side: each pass has its share of the time that went by.
        let all = outcome.times.iter().sum::<Duration>().as_secs_f64();
        let share = watch.lap().as_secs_f64() / all.max(f64::MIN_POSITIVE);
        outcome.times.map(|time| time.mul_f64(share))
    }
}

/// A piece of a step of a subdomain.
struct Task<'a> {
    state: &'a State,
    contacts: contacts::Kernel,
    walls: Option<walls::Kernel>,
    step: &'a Step,
    /// Parameters of the next step; none after the last one.
    next: Option<&'a Params>,
    /// Whether balls are to be put side by side first.
    fold: bool,
    outcome: StepOutcome,
    watch: Stopwatch,
    view: SubdomainView<'a>,
}

impl Task<'_> {
    fn run(&mut self, piece: usize, pieces: usize) {
        let SubdomainView {
            subdomain,
            scratch,
            spheres,
            ..
        } = &mut self.view;
        if piece == 0 {
            let before = subdomain.before.clone();
            let contacts = &mut scratch.contacts;
            self.outcome.fraction = (self.contacts)(
                self.state,
                subdomain,
                spheres,
                &before,
                &mut [],
                contacts,
                &[],
            );
        }
        let chunks = subdomain.chunks[subdomain.piece(piece, pieces)].to_vec();
        if self.state.params.sleep_steps == 0 {
            for chunk in &chunks {
                self.touch(chunk);
                self.advance(chunk);
            }
        } else {
            chunks.iter().for_each(|chunk| self.touch(chunk));
            chunks.iter().for_each(|chunk| self.advance(chunk));
        }
    }

    /// Evaluates the contacts of the spheres of a chunk.
    fn touch(&mut self, chunk: &Chunk) {
        let SubdomainView {
            subdomain,
            scratch,
            bodies,
            spheres,
            loads,
            ..
        } = &mut self.view;
        let (loads, soon) = (
            &mut loads[chunk.spheres.clone()],
            &mut bodies[chunk.bodies.clone()],
        );
        if self.fold && chunk.balls {
            fold(soon, loads);
        }
        let contacts = &mut scratch.contacts;
        let fraction =
            (self.contacts)(self.state, subdomain, spheres, chunk, loads, contacts, soon);
        self.outcome.fraction = larger(self.outcome.fraction, fraction);
        self.outcome.lap(0, &mut self.watch);
        if let Some(walls) = self.walls {
            let outcome = &mut self.outcome.walls;
            walls(
                self.state,
                subdomain,
                spheres,
                chunk,
                loads,
                outcome,
                &mut scratch.walls,
            );
        }
        self.outcome.lap(1, &mut self.watch);
    }

    /// Moves the bodies of a chunk, and poses their spheres for the next step.
    fn advance(&mut self, chunk: &Chunk) {
        let SubdomainView {
            subdomain,
            scratch,
            bodies,
            spheres,
            loads,
            sent,
        } = &mut self.view;
        let first = subdomain.bodies.start + chunk.bodies.start;
        let kinds = Kinds::from(self.state);
        let spheres = &mut spheres[chunk.spheres.clone()];
        let scratch = &mut scratch.integrate;
        let moved = if chunk.balls {
            let loads = &loads[chunk.spheres.clone()];
            let bodies = &mut bodies[chunk.bodies.clone()];
            integrate_balls(self.step, kinds, bodies, loads, first, scratch)
        } else {
            let forces = match self.state.params.forces {
                0 => &[],
                _ => &self.state.body_forces[first..first + chunk.bodies.len()],
            };
            let some = Bodies {
                first,
                bodies: &mut bodies[chunk.bodies.clone()],
                loads,
                first_sphere: subdomain.spheres.start,
                forces,
            };
            integrate_some(self.step, kinds, some, scratch)
        };
        self.outcome.moved = self.outcome.moved.and(moved);
        self.outcome.lap(2, &mut self.watch);
        let bodies = &bodies[chunk.bodies.clone()];
        let places = &subdomain.sent[chunk.sent.clone()];
        for_each_pair(&mut sent[chunk.sent.clone()], places, |sent, &place| {
            let place = place as usize - chunk.bodies.start;
            *sent = if chunk.balls {
                let columns = &side_by_side(bodies)[place / WIDTH];
                cast(of_column(columns, place % WIDTH))
            } else {
                bodies[place]
            };
        });
        match self.next.filter(|_| !moved.is_lost()) {
            Some(next) if chunk.balls => pose_balls(next, kinds, bodies, first, spheres),
            Some(next) => pose_some(self.state, next, bodies, first, spheres),
            None => {}
        }
        self.outcome.lap(3, &mut self.watch);
    }
}

/// Memory in which a subdomain takes its steps, kept from step to step.
#[derive(Default)]
pub(super) struct SubdomainScratch {
    pub contacts: ContactScratch,
    pub walls: WallBatch,
    integrate: IntegrateScratch,
}

impl fmt::Debug for SubdomainScratch {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("SubdomainScratch")
    }
}

/// Outcome of a step of a subdomain, or of several.
#[derive(Default)]
struct StepOutcome {
    /// Largest overlap as a fraction of the smaller radius.
    fraction: f32,
    walls: WallOutcome,
    moved: Moved,
    times: [Duration; FUSED.len()],
}

impl StepOutcome {
    fn new(state: &State) -> StepOutcome {
        StepOutcome {
            walls: WallOutcome::new(state),
            ..StepOutcome::default()
        }
    }

    fn and(self, other: StepOutcome) -> StepOutcome {
        StepOutcome {
            fraction: larger(self.fraction, other.fraction),
            walls: self.walls.and(other.walls),
            moved: self.moved.and(other.moved),
            times: std::array::from_fn(|pass| self.times[pass] + other.times[pass]),
        }
    }

    fn lap(&mut self, pass: usize, watch: &mut Stopwatch) {
        self.times[pass] += watch.lap();
    }
}

#[cfg(all(test, feature = "scene"))]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use glam::Vec4;

    use super::FUSED;
    use crate::scene;
    use crate::state::layout::{ASLEEP, Body, CUSTOM, SphereLoad};
    use crate::state::{Field, State};
    use crate::step::cpu::{AfterStep, CpuEngine, is_due, run};
    use crate::step::{Engine, Pass};

    /// Clumps and balls of two materials on a floor, two of them on a spring.
    const SCENE: &str = r#"{
        "version": 1,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5 },
        "materials": {
            "glass": { "density": 2500, "restitution": 0.5, "friction": 0.5, "rolling_friction": 0.1 },
            "steel": { "density": 7800, "restitution": 0.8, "friction": 0.2 }
        },
        "shapes": {
            "ball": { "sphere": { "radius": 0.02 }, "material": "glass" },
            "shot": { "sphere": { "radius": 0.015 }, "material": "steel" },
            "cube": { "cube": { "n": 2, "radius": 0.01 }, "material": "steel" }
        },
        "planes": [{ "point": [0, 0, 0], "normal": [0, 1, 0], "material": "glass" }],
        "bodies": [
            { "name": "a", "shape": "ball", "position": [0, 0.5, 0] },
            { "name": "b", "shape": "cube", "position": [0.1, 0.5, 0] }
        ],
        "springs": [{ "from": { "body": "a" }, "to": { "body": "b" }, "stiffness": 100, "rest_length": 0.08 }],
        "fills": [{
            "count": 680, "shapes": { "ball": 1, "cube": 1 }, "seed": 2,
            "region": { "min": [-0.3, 0, -0.3], "max": [0.3, 0.4, 0.3] }
        }]
    }"#;

    fn steps(state: &mut State, count: u64, after: Option<AfterStep>) -> u64 {
        CpuEngine::default().steps(state, count, after)
    }

    #[test]
    fn without_bodies_steps_go_by_under_any_law() {
        let mut model = scene::parse(SCENE, "crowd.json".as_ref()).unwrap().model;
        model.bodies.clear();
        model.forces.springs.clear();
        let mut state = State::new(&model);
        state.params.law = CUSTOM;
        steps(&mut state, 1, None);
        assert_eq!(state.stats[0].steps, 1);
    }

    /// A crowd of two sizes of balls, so that most of them move many at a time, in a periodic box.
    fn balls() -> String {
        SCENE
            .replace(r#""ball": 1, "cube": 1"#, r#""ball": 1, "shot": 1"#)
            .replace(
                r#""planes""#,
                r#""domain": { "min": [-0.32, 0, -0.32], "max": [0.32, 1, 0.32], "periodic": [true, false, true] },
                "planes""#,
            )
    }

    #[test]
    fn passes_in_one_go_do_what_they_do_one_after_the_other() {
        for scene in [SCENE.to_owned(), balls()] {
            act_as_one_after_the_other(&scene);
        }
    }

    #[test]
    fn a_clock_divides_bodies_by_time_and_changes_no_bit() {
        /// A clock on which each lap takes longer than the one before.
        fn ticks() -> Duration {
            static TICKS: AtomicU64 = AtomicU64::new(0);
            let tick = TICKS.fetch_add(1, Ordering::Relaxed);
            Duration::from_nanos(tick * tick)
        }
        let mut state = crowded(&balls());
        let mut timed = state.clone();
        let mut engine = CpuEngine::default();
        assert_eq!(engine.profile(&mut state, 150), None);
        let times = CpuEngine::default()
            .with_clock(ticks)
            .profile(&mut timed, 150)
            .unwrap();
        assert!(
            FUSED
                .iter()
                .all(|&pass| times[pass as usize] > Duration::ZERO)
        );
        assert!(state.stats[0].rebuilds > 2);
        assert!(state == timed);
    }

    #[test]
    fn a_lost_body_leaves_the_loads_of_its_last_step() {
        for scene in [SCENE.to_owned(), balls()] {
            let mut together = crowded(&scene);
            steps(&mut together, 60, None);
            together.bodies[7].velocity.x = 1e9;
            let mut apart = together.clone();
            assert_eq!(steps(&mut together, 10, None), 1);
            for pass in Pass::ALL {
                if is_due(pass, &apart) {
                    run(pass, &mut apart);
                }
            }
            assert_ne!(together.stats[0].runaway, 0);
            let touching = |load: &SphereLoad| load.sphere_contacts() > 0;
            assert!(together.sphere_loads.iter().any(touching));
            assert!(together.sphere_loads == apart.sphere_loads);
            assert!(together.bodies == apart.bodies);
        }
    }

    #[test]
    fn contact_histories_are_given_when_they_are_asked_for() {
        for scene in [SCENE.to_owned(), balls()] {
            let mut given = crowded(&scene);
            let mut kept = given.clone();
            let (mut giving, mut keeping) = (CpuEngine::default(), CpuEngine::default());
            for taken in [0, 150, 300] {
                giving.steps(&mut given, 150, None);
                let samples = &mut Vec::new();
                Engine::step(&mut keeping, &mut kept, taken, 150, samples).unwrap();
                assert!(given.history != kept.history, "step {taken}");
                assert!(given.bodies == kept.bodies, "step {taken}");
                // What has changed but lists and histories leaves these as they are.
                giving.forget();
                keeping.write_params(&kept);
            }
            keeping.read(&[Field::History], &mut kept).unwrap();
            assert!(given == kept);
        }
    }

    /// The state of a scene, of which bodies are moved together until they touch.
    fn crowded(scene: &str) -> State {
        let mut model = scene::parse(scene, "crowd.json".as_ref())
            .unwrap_or_else(|error| panic!("{error}"))
            .model;
        model
            .bodies
            .iter_mut()
            .for_each(|body| body.position *= 0.7);
        if let Some(domain) = &mut model.domain {
            (domain.min, domain.max) = (0.7 * domain.min, 0.7 * domain.max);
        }
        State::new(&model)
    }

    fn act_as_one_after_the_other(scene: &str) {
        for sleep_steps in [0, 20] {
            let mut together = crowded(scene);
            together.params.sleep_steps = sleep_steps;
            together.params.sleep_speed = 0.2;
            together.params.wake_acceleration = 5.0;
            let mut apart = together.clone();
            let mut by_one = together.clone();
            let mut asleep = 0;
            let mut after = |state: &State, _| {
                let sleeps = |body: &&Body| body.still & ASLEEP != 0;
                asleep = asleep.max(state.bodies.iter().filter(sleeps).count());
            };
            steps(&mut together, 150, Some(&mut after));
            let mut unseen = apart.clone();
            steps(&mut unseen, 150, None);
            assert!(unseen == together, "nobody looks, {sleep_steps}");
            let mut engine = CpuEngine::default();
            for _ in 0..150 {
                engine.steps(&mut by_one, 1, None);
                for pass in Pass::ALL {
                    if is_due(pass, &apart) {
                        run(pass, &mut apart);
                    }
                }
            }
            let touching = |contacts: fn(&SphereLoad) -> u32| {
                together.sphere_loads.iter().any(|load| contacts(load) > 0)
            };
            assert!(touching(SphereLoad::sphere_contacts) && touching(SphereLoad::wall_contacts));
            assert_eq!(asleep > 0, sleep_steps > 0, "{asleep} bodies sleep");
            assert!(together.stats[0].rebuilds > 2);
            // What longer lists have left would tell runs apart that were resumed and that were not.
            let rest = together.stats[0].neighbours as usize;
            assert!(together.neighbours[rest..].iter().all(|&rest| rest == 0));
            let size = together.params.history_size as usize;
            let unused = &together.history[size * rest..];
            assert!(unused.iter().all(|&rest| rest == Vec4::ZERO));
            assert!(together == apart, "in one go and apart, {sleep_steps}");
            assert!(by_one == apart, "one by one, {sleep_steps}");
        }
    }
}
