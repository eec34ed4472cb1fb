//! Both engines side by side on one model: each pass of the GPU beside the reference from the same input, and both over
//! time; the reference in double precision says which of them is nearer to it.
//!
//! # When trajectories must agree
//!
//! The engines round differently, and a collision multiplies a difference: after enough of them
//! two correct runs have nothing left in common but their statistics. How many are enough is
//! measured, not guessed: a *shadow*, a second run of the CPU engine, has the last bit of its
//! bodies' floats flipped at random after each step, as the rounding of another device might.
//! A quantity is held to its tolerance until the shadow has come [`HORIZON`] away from the CPU's
//! run in it. Both hold for all bodies but one in a hundred: a contact's dashpot acts at once, so
//! that where rounding has a contact begin a step earlier, its two bodies part at a stroke, and in a
//! large scene that may happen on the GPU at any time, and on the shadow somewhat later. Kinetic
//! energy and mean height are held to their tolerances throughout; see [`statistical_tolerance`].

use std::cmp::Ordering;

use glam::{UVec3, UVec4};
use serde::Serialize;

use super::{Difference, differences, trajectories};
use crate::model::Model;
use crate::model::error::Result;
use crate::simulation::summary::Summary;
use crate::state::layout::Body;
use crate::state::{Field, State};
use crate::step::Pass;
use crate::step::gpu::{Context, GpuEngine};
use crate::step::{cpu, reference};

/// Default tolerance of trajectories: positions as a fraction of a cell, orientations in radians,
/// velocities and forces as a fraction of the largest.
pub const TRAJECTORY_TOLERANCE: f64 = 1e-3;

/// Trajectories are held to their tolerance while rounding alone keeps within this: a tenth of the
/// default tolerance, for the devices' rounding may be some times that of the shadow.
pub const HORIZON: f64 = 1e-4;

/// Moments over a run at which the passes are compared, besides its start.
const PASS_MOMENTS: u64 = 5;

/// Moments over a run at which trajectories are compared: its end, its half, its quarter and so on,
/// so that the first ones come before chaos, however long the run is.
const TRAJECTORY_MOMENTS: u32 = 10;

/// Spheres times steps that the reference in double precision takes at most: some seconds.
const MOST_EXACT: u64 = 5_000_000;

/// Steps between two calls of the progress function.
const STRIDE: u64 = 16;

/// Comparison of the engines on a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Name of the scene.
    pub scene: String,
    /// The GPU.
    pub adapter: String,
    /// Number of bodies.
    pub bodies: usize,
    /// Number of spheres of all bodies.
    pub spheres: usize,
    /// Number of steps over which both engines ran.
    pub steps: u64,
    /// Time step, s.
    pub dt: f64,
    /// Whether nothing is beyond its tolerance.
    pub agree: bool,
    /// Which engine is nearer to double precision; `None` if that would have taken too long.
    pub nearer: Option<Nearer>,
    /// Each pass on the GPU and by the reference from the same input, at some moments of the CPU's run.
    pub passes: Vec<PassComparison>,
    /// Both engines running freely from the same start.
    pub moments: Vec<Moment>,
}

/// Differences of the engines from the reference in double precision, as long as trajectories in position are held to their
/// tolerance: the largest difference in position, of all bodies but one in a hundred, as a fraction of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Nearer {
    /// Name of the nearer engine, `"cpu"` or `"gpu"`; `None` if both are as near.
    pub engine: Option<&'static str>,
    /// The CPU's distance.
    pub cpu: f64,
    /// The GPU's distance.
    pub gpu: f64,
    /// Number of steps up to which trajectories were held.
    pub steps: u64,
}

/// A quantity that a pass computed on the GPU and by the reference from the same input.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassComparison {
    /// Number of steps that the CPU engine had taken.
    pub step: u64,
    /// Name of the pass.
    pub pass: &'static str,
    /// Differences between the engines.
    #[serde(flatten)]
    pub difference: Difference,
}

/// Both engines after the same number of steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moment {
    /// Number of steps taken.
    pub step: u64,
    /// Simulated time, s.
    pub time: f64,
    /// Differences between the bodies.
    pub trajectories: Vec<Divergence>,
    /// Statistics that can be compared beyond chaos.
    pub statistics: Vec<Statistic>,
}

/// Difference between the bodies of two runs in one quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Divergence {
    /// The GPU against the CPU, all bodies but one in a hundred.
    #[serde(flatten)]
    pub difference: Difference,
    /// The GPU against the CPU, all bodies.
    pub largest: f64,
    /// The shadow against the CPU's run, all bodies but one in a hundred: what rounding alone does.
    pub shadow: f64,
    /// Whether the tolerance holds: the shadow has kept within [`HORIZON`] so far.
    pub held: bool,
}

/// A sum over all bodies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistic {
    /// The CPU's value.
    pub cpu: f64,
    /// The GPU's value.
    pub gpu: f64,
    /// Difference: kinetic energies as a fraction of the largest so far, mean heights
    /// as a fraction of a cell.
    #[serde(flatten)]
    pub difference: Difference,
}

impl PassComparison {
    /// Whether the engines differ.
    pub fn is_beyond_tolerance(&self) -> bool {
        self.difference.is_beyond_tolerance()
    }
}

impl Divergence {
    /// Whether the engines differ; a difference that is not a number always counts.
    pub fn is_beyond_tolerance(&self) -> bool {
        self.largest.is_nan() || (self.held && self.difference.is_beyond_tolerance())
    }
}

impl Statistic {
    /// Whether the engines differ.
    pub fn is_beyond_tolerance(&self) -> bool {
        self.difference.is_beyond_tolerance()
    }
}

impl Moment {
    fn is_beyond_tolerance(&self) -> bool {
        let trajectories = self.trajectories.iter();
        let statistics = self.statistics.iter();
        trajectories.clone().any(Divergence::is_beyond_tolerance)
            || statistics.clone().any(Statistic::is_beyond_tolerance)
    }
}

/// Tolerance of kinetic energy (as a fraction of the largest so far) and of mean height (as a
/// fraction of a cell): 1/√n for the mean of n bodies of which each may do as it likes, and a
/// hundredth for any number.
pub fn statistical_tolerance(bodies: usize) -> f64 {
    (1.0 / (bodies as f64).sqrt()).max(0.01)
}

/// Compares the engines on `model` over `steps` steps; `tolerance` is that of trajectories.
/// `progress` is told the number of steps taken, now and then.
///
/// # Errors
/// If the device is lost, or cannot hold the model.
pub fn compare(
    model: &Model,
    context: &Context,
    steps: u64,
    tolerance: f64,
    progress: impl FnMut(u64),
) -> Result<Comparison> {
    let start = State::new(model);
    compare_from(
        model,
        [start.clone(), start],
        context,
        steps,
        tolerance,
        progress,
    )
}

/// Compares engines from a start for the CPU and one for the GPU. Tests give two that differ, to see the
/// comparison fail.
///
/// # Errors
/// If the device is lost, or cannot hold the model, or the contact law is a custom one.
pub fn compare_from(
    model: &Model,
    [on_cpu, on_gpu]: [State; 2],
    context: &Context,
    steps: u64,
    tolerance: f64,
    mut progress: impl FnMut(u64),
) -> Result<Comparison> {
    model.contact.law.check_on_cpu()?;
    let pass_moments = pass_moments(steps);
    let trajectory_moments = trajectory_moments(steps);
    let mut engine = GpuEngine::new(context, &on_gpu)?;
    let sphere_steps = steps.saturating_mul(model.sphere_count() as u64);
    let mut runs = Runs {
        model,
        exact: (sphere_steps <= MOST_EXACT).then(|| Exact::new(model, &on_cpu)),
        shadow: on_cpu.clone(),
        cpu: on_cpu,
        gpu: on_gpu,
        largest_energy: 0.0,
        held: [true; 4],
    };
    let mut passes = Vec::new();
    let mut moments = Vec::new();
    let mut done = 0;
    loop {
        if pass_moments.contains(&done) || trajectory_moments.contains(&done) {
            download(&engine, &mut runs.gpu)?;
        }
        if trajectory_moments.contains(&done) {
            moments.push(runs.moment(done, tolerance));
        }
        if pass_moments.contains(&done) {
            passes.extend(compare_passes(&mut engine, &runs.cpu, done)?);
            engine.replace(&runs.gpu)?;
        }
        progress(done);
        let all = pass_moments.iter().chain(&trajectory_moments);
        let Some(&next) = all.filter(|&&moment| moment > done).min() else {
            break;
        };
        let count = (next - done).min(STRIDE);
        for step in done + 1..=done + count {
            cpu::step(&mut runs.cpu);
            cpu::step(&mut runs.shadow);
            jostle(&mut runs.shadow, step);
            if let Some(exact) = &mut runs.exact {
                exact.run.step();
            }
        }
        engine.step(done + 1, count, &mut Vec::new())?;
        done += count;
    }
    let agree = !passes.iter().any(PassComparison::is_beyond_tolerance)
        && !moments.iter().any(Moment::is_beyond_tolerance);
    Ok(Comparison {
        scene: model.name.clone(),
        adapter: context.adapter.clone(),
        bodies: model.bodies.len(),
        spheres: model.sphere_count(),
        steps,
        dt: model.time_step,
        agree,
        nearer: runs.exact.map(|exact| exact.nearer),
        passes,
        moments,
    })
}

fn pass_moments(steps: u64) -> Vec<u64> {
    let mut moments: Vec<u64> = (0..=PASS_MOMENTS)
        .map(|moment| steps / PASS_MOMENTS * moment + steps % PASS_MOMENTS * moment / PASS_MOMENTS)
        .collect();
    moments.dedup();
    moments
}

fn trajectory_moments(steps: u64) -> Vec<u64> {
    let mut moments: Vec<u64> = (0..TRAJECTORY_MOMENTS)
        .rev()
        .map(|halvings| steps >> halvings)
        .filter(|&moment| moment > 0)
        .collect();
    moments.dedup();
    moments
}

/// Runs each pass on the GPU and by the reference from what the CPU engine has, and returns how they differ.
fn compare_passes(engine: &mut GpuEngine, start: &State, step: u64) -> Result<Vec<PassComparison>> {
    let mut all = Vec::new();
    let mut plain = start.clone();
    let mut on_gpu = start.clone();
    for pass in Pass::ALL {
        let mut input = plain.clone();
        reference::run(pass, &mut plain);
        // The reference makes room for longer neighbour lists as it goes; a pass on the GPU cannot.
        input.params.neighbour_capacity = plain.params.neighbour_capacity;
        input.neighbours.resize(plain.neighbours.len(), 0);
        engine.replace(&input)?;
        engine.run(pass)?;
        download(engine, &mut on_gpu)?;
        all.extend(
            differences(pass, &plain, &on_gpu)
                .into_iter()
                .map(|difference| PassComparison {
                    step,
                    pass: pass.name(),
                    difference,
                }),
        );
    }
    Ok(all)
}

fn download(engine: &GpuEngine, state: &mut State) -> Result<()> {
    Field::ALL
        .into_iter()
        .try_for_each(|field| engine.download(field, state))
}

/// The run of the reference in double precision, and how far the others are from it.
struct Exact {
    run: reference::State<f64>,
    /// The run, rounded to what the other engines have.
    rounded: State,
    nearer: Nearer,
}

impl Exact {
    fn new(model: &Model, start: &State) -> Exact {
        Exact {
            run: reference::State::new(model, start),
            rounded: start.clone(),
            nearer: Nearer {
                engine: None,
                cpu: 0.0,
                gpu: 0.0,
                steps: 0,
            },
        }
    }

    /// Looks at both engines after a number of steps.
    fn look(&mut self, on_cpu: &State, on_gpu: &State, step: u64) {
        self.run.give(&mut self.rounded);
        let [cpu, gpu] = [on_cpu, on_gpu].map(|state| {
            let [positions, ..] = trajectories(&self.rounded, state);
            positions.of_most()
        });
        let nearer = &mut self.nearer;
        nearer.cpu = nearer.cpu.max(cpu);
        nearer.gpu = nearer.gpu.max(gpu);
        nearer.steps = step;
        nearer.engine = match nearer.cpu.total_cmp(&nearer.gpu) {
            Ordering::Less => Some("cpu"),
            Ordering::Equal => None,
            Ordering::Greater => Some("gpu"),
        };
    }
}

/// The runs, as far as they have come.
struct Runs<'a> {
    model: &'a Model,
    exact: Option<Exact>,
    cpu: State,
    shadow: State,
    /// The host's copy.
    gpu: State,
    largest_energy: f64,
    /// Whether each of the trajectories' quantities is still held to its tolerance.
    held: [bool; 4],
}

impl Runs<'_> {
    fn moment(&mut self, step: u64, tolerance: f64) -> Moment {
        let by_rounding = trajectories(&self.cpu, &self.shadow);
        let differences = trajectories(&self.cpu, &self.gpu);
        let mut divergences = Vec::new();
        for ((trajectory, shadow), held) in differences.iter().zip(&by_rounding).zip(&mut self.held)
        {
            let shadow = shadow.of_most();
            *held &= shadow <= HORIZON;
            divergences.push(Divergence {
                difference: Difference {
                    quantity: trajectory.quantity,
                    value: trajectory.of_most(),
                    tolerance,
                },
                largest: trajectory.largest(),
                shadow,
                held: *held,
            });
        }
        if self.held[0]
            && let Some(exact) = &mut self.exact
        {
            exact.look(&self.cpu, &self.gpu, step);
        }
        Moment {
            step,
            time: step as f64 * self.model.time_step,
            trajectories: divergences,
            statistics: self.statistics(),
        }
    }

    fn statistics(&mut self) -> Vec<Statistic> {
        let energies =
            [&self.cpu, &self.gpu].map(|state| Summary::new(self.model, state).kinetic_energy);
        let heights = mean_heights(self.model, &self.cpu, &self.gpu);
        self.largest_energy = self.largest_energy.max(energies[0]);
        let cell = f64::from(self.cpu.params.finest);
        let movable = self.model.bodies.iter().filter(|body| !body.fixed).count();
        [
            ("kinetic energy", energies, self.largest_energy),
            ("mean height", heights, cell),
        ]
        .map(|(quantity, [cpu, gpu], scale)| {
            let difference = (cpu - gpu).abs();
            Statistic {
                cpu,
                gpu,
                difference: Difference {
                    quantity,
                    value: if difference == 0.0 {
                        0.0
                    } else {
                        difference / scale
                    },
                    tolerance: statistical_tolerance(movable),
                },
            }
        })
        .into()
    }
}

/// Mean height of the bodies that are not fixed in each of two states, m; 0 if all are. Of a body that
/// is on either side of the seam of a periodic box, the image that is nearest in the other state.
fn mean_heights(model: &Model, a: &State, b: &State) -> [f64; 2] {
    let mut sums = [0.0; 2];
    let mut count = 0;
    for (start, (of_a, of_b)) in model.bodies.iter().zip(a.bodies.iter().zip(&b.bodies)) {
        if !start.fixed {
            let place = a.position(of_a);
            sums[0] += place.y;
            sums[1] += (place + a.nearest(b.position(of_b) - place)).y;
            count += 1;
        }
    }
    sums.map(|sum| sum / f64::from(count.max(1)))
}

/// Flips the last bit of the floats of each body that moves, or not, at random.
fn jostle(state: &mut State, step: u64) {
    for (index, body) in state.bodies.iter_mut().enumerate() {
        if state.properties[body.kind as usize].inverse_mass == 0.0 {
            continue;
        }
        let mut random = mix(step << 32 | index as u64);
        let mut flip = |value: &mut f32| {
            // A zero is the outcome of no rounding: nothing moves it.
            if *value != 0.0 {
                *value = f32::from_bits(value.to_bits() ^ (random & 1) as u32);
            }
            random >>= 1;
        };
        let Body {
            offset,
            orientation,
            velocity,
            angular_momentum,
            ..
        } = body;
        for vector in [velocity, angular_momentum] {
            flip(&mut vector.x);
            flip(&mut vector.y);
            flip(&mut vector.z);
        }
        // These are finer than the floats made of them, which round by up to 2⁻²⁵.
        let mut flip = |value: u32, bit: u32| {
            random >>= 1;
            value ^ (random as u32 & 1) << bit
        };
        *offset = UVec3::from_array(offset.to_array().map(|part| flip(part, 7)));
        let parts = orientation.as_uvec4().to_array();
        *orientation = UVec4::from_array(parts.map(|part| flip(part, 5))).as_ivec4();
    }
}

/// The finalizer of splitmix64: all bits of the result depend on all bits of `value`.
fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_cover_a_run_from_its_beginning_to_its_end() {
        assert_eq!(pass_moments(200), [0, 40, 80, 120, 160, 200]);
        assert_eq!(pass_moments(3), [0, 1, 2, 3]);
        assert_eq!(pass_moments(0), [0]);
        assert_eq!(
            trajectory_moments(2000),
            [3, 7, 15, 31, 62, 125, 250, 500, 1000, 2000]
        );
        assert_eq!(trajectory_moments(5), [1, 2, 5]);
        assert!(trajectory_moments(0).is_empty());
        let end = pass_moments(u64::MAX).pop();
        assert_eq!(end, Some(u64::MAX));
    }
}
