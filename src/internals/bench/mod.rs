//! Benchmarks of a scene: its speed, measured so that the number means something.
//!
//! A scene is first *settled*: it runs for its duration, so that what is timed is a pile and not
//! bodies in flight. From the state that it then has, the same steps run again and again: a few
//! untimed, for caches and clocks, then the timed ones. What must not differ between repeats is the
//! outcome, bit for bit; its hash, its contacts and its largest overlap are part of the result, so
//! that an engine that is fast and wrong is found out.
//!
//! The figures are the median of the repeats and their spread. [`Spread::mad`] says how noisy the
//! machine is, whatever the outliers.

mod copy;
mod drawing;
mod machine;
mod roofline;
mod scenes;
mod settled;
mod spread;

pub use drawing::{Draw, Drawing};
pub use machine::{Machine, commit, features};
pub use roofline::{PassRoofline, Roofline};
pub use scenes::BenchScene;
pub use settled::Settled;
pub use spread::Spread;

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::model::Model;
use crate::model::error::{Error, Result};
use crate::simulation::{self, Simulation};
use crate::state::State;
use crate::step::Pass;

/// Host memory that a scene needs at most for each of its spheres, bytes: the model, the state, a
/// copy of it to go back to, and another one on its way to a device.
const HOST_BYTES_PER_SPHERE: u64 = 2048;

/// Time that the timed steps of a repeat should take: long enough for their start and end not to
/// matter.
const REPEAT: Duration = Duration::from_secs(1);

/// Least number of timed steps in a repeat.
const FEWEST_STEPS: u64 = 10;

/// Steps that are timed pass by pass.
const PROFILED_STEPS: u64 = 100;

/// Time between two looks at the clock, about.
const SLICE: Duration = Duration::from_millis(300);

/// Time of a first look at the speed.
const PROBE: Duration = Duration::from_millis(100);

/// Settings of a measurement.
#[derive(Clone, Debug)]
pub struct Options {
    /// The engine.
    pub engine: simulation::Options,
    /// Time for all scenes together. A scene that would not fit into what is left of it is left
    /// out.
    pub limit: Duration,
    /// Number of timed repeats.
    pub repeats: u32,
    /// Timed steps in a repeat; as many as take about a second if `None`.
    pub steps: Option<u64>,
    /// Simulated time for which a scene runs before it is timed, s; its duration if `None`.
    pub settle: Option<f64>,
    /// Whether to measure how fast the memory copies, and how near a step comes to that.
    pub roofline: bool,
    /// Pictures to draw beside the steps, if that is to be measured; it takes the feature `render`.
    pub draw: Option<Draw>,
}

/// Progress of a benchmark of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Name of the stage.
    pub stage: &'static str,
    /// Part of that which is done.
    pub done: u64,
    /// Amount of it in all.
    pub of: u64,
}

/// Outcome of a benchmark of a scene.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It was measured.
    Measured(Box<Measurement>),
    /// It was left out.
    LeftOut(LeftOut),
}

/// A scene that was left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// Name of the scene.
    pub scene: String,
    /// Why, in a sentence.
    pub reason: String,
}

/// Dispatches and waits of a step of the GPU engine, on average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Traffic {
    /// Dispatches in a step, those without threads too.
    pub dispatches_per_step: f64,
    /// Waits of the host for the device in a step.
    pub waits_per_step: f64,
}

/// The benchmark of a scene.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Name of the scene.
    pub scene: String,
    /// `"cpu"` or `"gpu"`.
    pub backend: &'static str,
    /// The adapter and its driver, or the CPU with its number of threads.
    pub adapter: String,
    /// Number of bodies.
    pub bodies: usize,
    /// Number of spheres of all bodies.
    pub spheres: usize,
    /// Time step, s.
    pub dt: f64,
    /// State from which each repeat that was timed started.
    pub settled: Settled,
    /// Untimed steps at the start of each repeat.
    pub warm_up_steps: u64,
    /// Timed steps of each repeat.
    pub steps: u64,
    /// Number of repeats.
    pub repeats: u32,
    /// Spheres times steps by wall time, 1/s.
    pub sphere_steps_per_s: Spread,
    /// Wall time of a step, ms.
    pub ms_per_step: Spread,
    /// Mean time of each pass in some steps; `None` where the adapter has no
    /// timestamps. The time between passes is not counted, so they need not add up to a step.
    pub passes: Option<Vec<PassTime>>,
    /// Bytes of a step beside what the memory can move; `None` if that was not asked for.
    pub roofline: Option<Roofline>,
    /// Dispatches and waits of the timed steps; `None` on the CPU.
    pub traffic: Option<Traffic>,
    /// Speed of pictures beside the steps; `None` if that was not asked for.
    pub drawing: Option<Drawing>,
    /// In how many of the timed steps of a repeat the neighbour lists were built.
    pub list_builds: u32,
    /// Size of all buffers of the engine, bytes.
    pub memory_bytes: u64,
    /// Memory for each sphere, bytes.
    pub memory_bytes_per_sphere: f64,
    /// Contacts in the last step: pairs of spheres, and spheres with planes.
    pub contacts: u64,
    /// Largest overlap in the steps of a repeat, as a fraction of the smaller radius.
    pub max_overlap_fraction: f64,
    /// Kinetic energy at the end, J.
    pub kinetic_energy_j: f64,
    /// Hash of the final state of all bodies, bit for bit: 16 hexadecimal digits.
    pub state_hash: String,
    /// Whether each repeat ended in that state.
    pub repeatable: bool,
}

/// The time of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PassTime {
    /// Name of the pass.
    pub pass: &'static str,
    /// Mean time in a step, ms.
    pub ms: f64,
    /// Fraction of the sum over all passes.
    pub fraction: f64,
}

/// A benchmark of one scene after the other, within a time limit.
pub struct Bench {
    options: Options,
    start: Instant,
    /// Sphere-steps per second of the fastest scene so far.
    fastest: Option<f64>,
}

impl Bench {
    /// Starts the clock.
    pub fn new(options: Options) -> Bench {
        Bench {
            options,
            start: Instant::now(),
            fastest: None,
        }
    }

    /// Rest of the time limit.
    pub fn time_left(&self) -> Duration {
        self.options.limit.saturating_sub(self.start.elapsed())
    }

    /// Leaves out a scene for which there is no time at all.
    pub fn skip(&self, scene: &str) -> LeftOut {
        LeftOut {
            scene: scene.to_owned(),
            reason: format!(
                "the time limit of {} was used up; raise it with --limit",
                seconds(self.options.limit.as_secs_f64())
            ),
        }
    }

    /// Measures a scene, unless it does not fit into the time or the memory that is left.
    ///
    /// # Errors
    /// If the backend cannot be had, the device is lost, or the simulation fails.
    pub fn measure(&mut self, model: Model, mut progress: impl FnMut(Progress)) -> Result<Outcome> {
        let work = Work::new(&model, &self.options);
        let scene = model.name.clone();
        let left_out = |reason| {
            let scene = scene.clone();
            Ok(Outcome::LeftOut(LeftOut { scene, reason }))
        };
        if self.time_left().is_zero() {
            return Ok(Outcome::LeftOut(self.skip(&scene)));
        }
        if let Some(reason) = work.exceeds_memory(machine::available_memory()) {
            return left_out(reason);
        }
        if let Some(reason) = self.fastest.and_then(|rate| work.exceeds(self, rate)) {
            return left_out(reason);
        }
        let mut simulation = match Simulation::new(model, &self.options.engine) {
            Err(error @ Error::TooLarge { .. }) => return left_out(error.to_string()),
            simulation => simulation?,
        };

        let start = simulation.state()?.clone();
        let rate = probe(&mut simulation, &work)?;
        if let Some(reason) = work.exceeds(self, rate) {
            return left_out(reason);
        }
        simulation.restore(&start, 0)?;
        drop(start);

        let clock = Instant::now();
        let slice = work.steps_in(SLICE, rate);
        while simulation.steps() < work.settle {
            simulation.step(slice.min(work.settle - simulation.steps()))?;
            progress(Progress {
                stage: "settling",
                done: simulation.steps(),
                of: work.settle,
            });
            if self.time_left().is_zero() {
                return left_out(format!(
                    "the time limit of {} was used up after {} of its {} steps of settling; raise \
                     it with --limit, or settle less with --settle",
                    seconds(self.options.limit.as_secs_f64()),
                    simulation.steps(),
                    work.settle
                ));
            }
        }
        let settled = Settled::new(&mut simulation, clock.elapsed())?;
        let measurement = self.time(&mut simulation, &work, settled, progress)?;
        let rate = measurement.sphere_steps_per_s.median;
        self.fastest = Some(self.fastest.map_or(rate, |fastest| fastest.max(rate)));
        Ok(Outcome::Measured(Box::new(measurement)))
    }

    /// Times a settled simulation.
    fn time(
        &self,
        simulation: &mut Simulation,
        work: &Work,
        settled: Settled,
        mut progress: impl FnMut(Progress),
    ) -> Result<Measurement> {
        let begin = simulation.steps();
        let mut start = simulation.state()?.clone();
        // What is largest in the timed steps counts, not what was when the bodies fell.
        start.stats[0].max_overlap_fraction = 0;

        let rate = probe(simulation, work)?;
        let steps = self.options.steps.unwrap_or_else(|| {
            let steps = work.steps_in(REPEAT, rate);
            round_up(steps).max(FEWEST_STEPS)
        });
        let warm_up_steps = (steps / 10).max(1);

        let repeats = self.options.repeats.max(1);
        let mut times = Vec::new();
        let mut hashes = Vec::new();
        let mut summary = simulation.summary()?;
        let mut list_builds = 0;
        let mut traffic = None;
        for repeat in 0..repeats {
            progress(Progress {
                stage: "timing",
                done: repeat.into(),
                of: repeats.into(),
            });
            again(simulation, &start, begin, warm_up_steps)?;
            let builds_before = simulation.stats().rebuilds;
            let work_before = asked(simulation);
            let clock = Instant::now();
            simulation.step(steps)?;
            times.push(clock.elapsed());
            let asked = asked(simulation).zip(work_before);
            traffic = asked.map(|(after, before)| {
                let [dispatches, waits] = [0, 1].map(|k| (after[k] - before[k]) as f64);
                Traffic {
                    dispatches_per_step: dispatches / steps as f64,
                    waits_per_step: waits / steps as f64,
                }
            });
            list_builds = simulation.stats().rebuilds - builds_before;
            summary = simulation.summary()?;
            hashes.push(summary.state_hash);
        }
        progress(Progress {
            stage: "timing",
            done: repeats.into(),
            of: repeats.into(),
        });

        again(simulation, &start, begin, warm_up_steps)?;
        let passes = profile(simulation)?;
        let memory_bytes = simulation.memory();
        let ms = |time: &Duration| 1e3 * time.as_secs_f64() / steps as f64;
        let ms_per_step = Spread::new(times.iter().map(ms));
        let roofline = if self.options.roofline {
            let stats = simulation.stats();
            let state = simulation.state()?;
            let params = state.params;
            let near_walls: Vec<u32> = state.near_walls().collect();
            let mut near = near_walls.clone();
            // The spheres of a body are side by side.
            near.dedup_by_key(|sphere| state.spheres[*sphere as usize].body);
            let lists = state.neighbour_starts.windows(2);
            let left_out = match params.poses_early() && params.sleep_steps == 0 {
                true => lists.filter(|ends| ends[0] == ends[1]).count(),
                false => 0,
            };
            let sizes = roofline::Sizes {
                bodies: params.body_count.into(),
                spheres: params.sphere_count.into(),
                poses_early: params.poses_early(),
                source: params.sphere_source(),
                buckets: params.bucket_count.into(),
                entries: stats.neighbours.into(),
                listed: f64::from(params.sphere_count) - left_out as f64,
                near_walls: near_walls.len() as f64,
                bodies_near_walls: near.len() as f64,
                touching: settled.contacts_per_sphere * work.spheres,
                history: 4.0 * f64::from(params.history_values),
                steps_per_list: steps as f64 / f64::from(list_builds.max(1)),
                forced: f64::from(params.body_count * params.forces),
                bonded: f64::from(params.body_count * params.bonds),
                bond_ends: params.bond_count.into(),
                heated: f64::from(params.heat),
            };
            let copy = copy::copy_speed(simulation, self.options.engine.threads)?;
            Some(Roofline::new(
                &sizes,
                ms_per_step.median,
                passes.as_deref(),
                copy,
            ))
        } else {
            None
        };
        #[cfg(feature = "render")]
        let drawing = match &self.options.draw {
            Some(draw) => {
                again(simulation, &start, begin, warm_up_steps)?;
                progress(Progress {
                    stage: "drawing",
                    done: 0,
                    of: 1,
                });
                Some(drawing::draw(simulation, draw, ms_per_step.median)?)
            }
            None => None,
        };
        #[cfg(not(feature = "render"))]
        let drawing = None;
        let model = simulation.model();
        Ok(Measurement {
            scene: model.name.clone(),
            backend: simulation.backend(),
            adapter: simulation.adapter(),
            bodies: model.bodies.len(),
            spheres: model.sphere_count(),
            dt: model.time_step,
            settled,
            warm_up_steps,
            steps,
            repeats,
            sphere_steps_per_s: Spread::new(times.iter().map(|&time| work.rate(steps, time))),
            ms_per_step,
            passes,
            roofline,
            traffic,
            drawing,
            list_builds,
            memory_bytes,
            memory_bytes_per_sphere: memory_bytes as f64 / work.spheres,
            contacts: summary.contacts,
            max_overlap_fraction: summary.max_overlap_fraction,
            kinetic_energy_j: summary.kinetic_energy,
            state_hash: format!("{:016x}", summary.state_hash),
            repeatable: hashes.iter().all(|&hash| hash == summary.state_hash),
        })
    }
}

/// Dispatches and waits so far; `None` on the CPU.
fn asked(simulation: &Simulation) -> Option<[u64; 2]> {
    #[cfg(feature = "gpu")]
    return simulation
        .gpu()
        .map(|engine| [engine.dispatches(), engine.waits()]);
    #[cfg(not(feature = "gpu"))]
    {
        let _ = simulation;
        None
    }
}

/// Sphere-steps per second of some steps from here on.
fn probe(simulation: &mut Simulation, work: &Work) -> Result<f64> {
    // The first step is slow: buffers are filled, and shaders are compiled.
    simulation.step(1)?;
    let mut steps = 1;
    loop {
        let clock = Instant::now();
        simulation.step(steps)?;
        if clock.elapsed() >= PROBE {
            return Ok(work.rate(steps, clock.elapsed()));
        }
        steps *= 2;
    }
}

/// Goes back to the start of a repeat and warms up.
fn again(simulation: &mut Simulation, start: &State, steps: u64, warm_up: u64) -> Result<()> {
    simulation.restore(start, steps)?;
    simulation.step(warm_up)
}

fn profile(simulation: &mut Simulation) -> Result<Option<Vec<PassTime>>> {
    let Some(sums) = simulation.profile(PROFILED_STEPS)? else {
        return Ok(None);
    };
    let total: Duration = sums.iter().sum();
    let times = Pass::ALL.iter().zip(sums).map(|(pass, sum)| PassTime {
        pass: pass.name(),
        ms: 1e3 * sum.as_secs_f64() / PROFILED_STEPS as f64,
        fraction: sum.as_secs_f64() / total.as_secs_f64(),
    });
    Ok(Some(times.collect()))
}

/// Steps to take of a scene.
struct Work {
    spheres: f64,
    /// Steps of settling.
    settle: u64,
    /// Steps of a repeat, if they are given.
    steps: Option<u64>,
    repeats: u32,
}

impl Work {
    fn new(model: &Model, options: &Options) -> Work {
        Work {
            spheres: model.sphere_count() as f64,
            settle: model.steps_for(options.settle.unwrap_or(model.duration)),
            steps: options.steps,
            repeats: options.repeats,
        }
    }

    /// Sphere-steps per second.
    fn rate(&self, steps: u64, time: Duration) -> f64 {
        self.spheres * steps as f64 / time.as_secs_f64()
    }

    /// Number of steps that take `time`, at `rate` sphere-steps per second; at least 1.
    fn steps_in(&self, time: Duration, rate: f64) -> u64 {
        ((rate * time.as_secs_f64() / self.spheres) as u64).max(1)
    }

    /// Reason why it does not fit into the time left, if so, at `rate` sphere-steps per second.
    fn exceeds(&self, bench: &Bench, rate: f64) -> Option<String> {
        let step = self.spheres / rate;
        let repeat = self
            .steps
            .map_or(REPEAT.as_secs_f64(), |steps| steps as f64 * step);
        let repeat = 1.1 * repeat.max(FEWEST_STEPS as f64 * step);
        let needed =
            (self.settle + PROFILED_STEPS) as f64 * step + f64::from(self.repeats) * repeat;
        let left = bench.time_left().as_secs_f64();
        (needed > left).then(|| {
            format!(
                "it needs about {} at {:.3} million sphere-steps/s, and {} of the time limit of \
                 {} are left; raise it with --limit, or settle less with --settle",
                seconds(needed),
                rate * 1e-6,
                seconds(left),
                seconds(bench.options.limit.as_secs_f64())
            )
        })
    }

    /// Reason why it does not fit into so much host memory, if so.
    fn exceeds_memory(&self, available: Option<u64>) -> Option<String> {
        let needed = self.spheres as u64 * HOST_BYTES_PER_SPHERE;
        let available = available.filter(|&available| needed > available)?;
        Some(format!(
            "it needs up to {} MiB of memory, and {} MiB are free",
            needed >> 20,
            available >> 20
        ))
    }
}

/// The next of 1, 2, 5, 10, 20, 50, ...: numbers that a slightly different machine shares.
fn round_up(number: u64) -> u64 {
    let mut power = 1;
    loop {
        for digit in [1, 2, 5] {
            if digit * power >= number {
                return digit * power;
            }
        }
        power *= 10;
    }
}

fn seconds(time: f64) -> String {
    match time {
        time if time < 10.0 => format!("{time:.1} s"),
        time => format!("{time:.0} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::internals::bench::BenchScene;

    fn bench(limit: f64) -> Bench {
        Bench::new(Options {
            engine: Default::default(),
            limit: Duration::from_secs_f64(limit),
            repeats: 5,
            steps: None,
            settle: None,
            roofline: false,
            draw: None,
        })
    }

    #[test]
    fn what_takes_too_long_is_known_beforehand() {
        let work = Work {
            spheres: 1e6,
            settle: 1000,
            steps: None,
            repeats: 4,
        };
        // 1100 steps of 0.1 s, and four repeats of 1.1 s.
        assert_eq!(work.exceeds(&bench(120.0), 1e7), None);
        let reason = work.exceeds(&bench(100.0), 1e7).unwrap();
        assert!(
            reason.starts_with("it needs about 114 s at 10.000 million"),
            "{reason}"
        );
        assert_eq!(work.exceeds(&bench(100.0), 2e7), None);
    }

    #[test]
    fn what_is_too_large_for_the_memory_is_known_beforehand() {
        let model = BenchScene::ALL[1].model();
        let work = Work::new(&model, &bench(1.0).options);
        let bodies = std::mem::size_of_val(&model.bodies[..]) as u64;
        let needed = bodies + 3 * State::new(&model).size();
        let allowed = HOST_BYTES_PER_SPHERE * model.sphere_count() as u64;
        assert!(needed < allowed, "{needed} and {allowed} bytes");
        assert_eq!(work.exceeds_memory(Some(allowed)), None);
        assert!(work.exceeds_memory(Some(allowed - 1)).is_some());
        assert_eq!(work.exceeds_memory(None), None);
    }

    #[test]
    fn steps_are_round_numbers() {
        let rounded = [0, 1, 3, 10, 11, 499, 501].map(round_up);
        assert_eq!(rounded, [1, 1, 5, 10, 20, 500, 1000]);
    }
}
