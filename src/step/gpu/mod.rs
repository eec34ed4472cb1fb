//! The GPU engine: the passes of a step as WGSL compute shaders.
//!
//! Many steps go into one submission, and several submissions are under way at a time: the host sees what became of
//! one while the device works at the next. Nothing is read back inside a step, and the state only when somebody asks.

mod arrival;
#[cfg(feature = "cpu")]
mod beside;
mod buffers;
mod checked;
mod device;
mod dispatch;
mod engine;
mod entry_point;
#[cfg(feature = "cpu")]
mod exchange;
mod kernels;
mod population;
#[allow(unsafe_code)]
mod program;
mod removal;
mod sampler;
#[doc(hidden)]
pub mod shaders;

pub use checked::CheckedShader;
pub use device::{Adapter, Context};
pub use dispatch::workgroups_for;
pub use entry_point::EntryPoint;

use std::collections::VecDeque;
use std::time::Duration;

use bytemuck::{bytes_of, bytes_of_mut, pod_read_unaligned};
use web_time::Instant;

use crate::model::error::Result;
use crate::state::layout::{CUSTOM, Params, Stats, WALL_STEPS};
use crate::state::trace::{Sample, Trace};
use crate::state::{Field, State};
use crate::step::{Canceller, Pass, Patience};
use arrival::Arrival;
use buffers::{Buffers, Room};
use kernels::Kernels;
use removal::Removal;
use sampler::Sampler;

/// Submissions grow until one takes about this long: long enough that the host's part does not
/// matter, short enough for a driver's watchdog and for a progress bar.
const SUBMISSION: Duration = Duration::from_millis(100);

/// Most submissions under way. While the device works at the last of them, the host learns of those before it, and
/// encodes others.
const MOST_FLIGHTS: usize = 4;

/// Most steps of a submission.
const MOST_STEPS: u64 = WALL_STEPS as u64;

/// Bytes of [`Stats`].
const STATS: u64 = size_of::<Stats>() as u64;

/// Part of the time for which lists hold after which a step may build them again. With a larger one
/// they are built earlier than they need be, with a smaller one more often in vain.
const CHANCES: f32 = 0.15;

/// Most steps from one that may build lists to the next.
const MOST_PERIOD: u64 = 16;

/// A simulation on a device.
pub struct GpuEngine {
    context: Context,
    buffers: Buffers,
    kernels: Kernels,
    /// Buffers and pipelines that take bodies away, once they were needed.
    removal: Option<Removal>,
    /// Bodies at the borders of a part, on a cluster.
    #[cfg(feature = "cpu")]
    exchange: exchange::Exchange,
    sampler: Option<Sampler>,
    /// WGSL of a custom contact law.
    law: Option<String>,
    /// Submissions under way, the oldest first.
    flights: VecDeque<Flight>,
    /// Staging buffers that no flight uses.
    staging: Vec<wgpu::Buffer>,
    /// The `stats` of the device, if the host knows them.
    known: Option<Stats>,
    /// Number of submissions of steps.
    submissions: u64,
    /// Number of dispatches of these submissions.
    dispatches: u64,
    steps_per_submission: u64,
    /// Number of steps for which the neighbour lists hold.
    steps_per_list: f32,
    canceller: Canceller,
}

/// A submission of steps, at the end of which the device copies its stats, and before them what was sampled, for the
/// host.
struct Flight {
    /// Steps in it. The device takes fewer of them if it halts.
    steps: u64,
    /// Numbers of those after which traced bodies are sampled.
    sampled: Vec<u64>,
    arrival: Arrival,
}

/// Progress of a call of [`GpuEngine::step`], as the host knows it.
struct Course {
    /// Number of the next step.
    next: u64,
    /// Number of the first one that is not wanted.
    end: u64,
    stats: Stats,
    /// Time at which the host learned of this progress.
    seen: Instant,
}

impl Course {
    /// Whether the device takes further steps as it is.
    fn goes_on(&self) -> bool {
        self.stats.runaway == 0 && self.stats.full == 0
    }
}

impl GpuEngine {
    /// Uploads `state` and compiles the passes.
    ///
    /// # Errors
    /// If a buffer is larger than the adapter allows, or than it has memory for.
    ///
    /// # Panics
    /// If the contact law of `state` is a custom one.
    pub fn new(context: &Context, state: &State) -> Result<GpuEngine> {
        assert_ne!(state.params.law, CUSTOM, "the law must be given");
        Self::with_law(context, state, None)
    }

    /// An engine with the WGSL of a custom contact law.
    ///
    /// # Errors
    /// As [`GpuEngine::new`], and if the law does not compile.
    pub fn with_law(context: &Context, state: &State, law: Option<&str>) -> Result<GpuEngine> {
        pollster::block_on(Self::with_law_async(context, state, law))
    }

    /// [`GpuEngine::with_law`] for those who cannot block, as in a browser.
    ///
    /// # Errors
    /// As [`GpuEngine::with_law`].
    pub async fn with_law_async(
        context: &Context,
        state: &State,
        law: Option<&str>,
    ) -> Result<GpuEngine> {
        let context = context.counted();
        let buffers = Buffers::new(&context, state, Room::Exact).await?;
        let kernels = Kernels::new(&context, &buffers, law)?;
        Ok(GpuEngine {
            context,
            buffers,
            kernels,
            removal: None,
            #[cfg(feature = "cpu")]
            exchange: Default::default(),
            sampler: None,
            law: law.map(str::to_owned),
            flights: VecDeque::new(),
            staging: Vec::new(),
            known: None,
            submissions: 0,
            dispatches: 0,
            steps_per_submission: 1,
            steps_per_list: 1.0,
            canceller: Canceller::default(),
        })
    }

    /// The device that this runs on.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The buffer of a field of the state, for those who read it: steps write to it.
    ///
    /// Two hold two fields: [`Field::Neighbours`] lies behind [`Field::NeighbourStarts`], from the element
    /// [`Params::ring_start`] on, and [`Field::WallSums`] behind [`Field::Stats`].
    pub fn buffer(&self, field: Field) -> &wgpu::Buffer {
        self.buffers.field(field)
    }

    /// The uniform buffer of [`Params`].
    pub fn params_buffer(&self) -> &wgpu::Buffer {
        &self.buffers.params
    }

    /// Size of all buffers, bytes.
    pub fn size(&self) -> u64 {
        self.buffers.size()
    }

    /// Returns the number of times that the host has waited for the device since the engine was made.
    #[doc(hidden)]
    pub fn waits(&self) -> u64 {
        self.context.waits()
    }

    /// Returns the number of bytes that have gone from the host to the device since the engine was made.
    #[doc(hidden)]
    pub fn uploaded(&self) -> u64 {
        self.context.uploaded()
    }

    /// Returns the number of bytes that have come from the device to the host since the engine was made.
    #[doc(hidden)]
    pub fn downloaded(&self) -> u64 {
        self.context.downloaded()
    }

    /// Returns the number of submissions of steps since the engine was made.
    #[doc(hidden)]
    pub fn submissions(&self) -> u64 {
        self.submissions
    }

    /// Returns the number of dispatches of these submissions, those without threads too.
    #[doc(hidden)]
    pub fn dispatches(&self) -> u64 {
        self.dispatches
    }

    /// Goes on with `state`, a state of the same model, which may have other bodies.
    ///
    /// # Errors
    /// If a buffer must grow, and would be larger than the adapter allows or has memory for.
    pub fn replace(&mut self, state: &State) -> Result<()> {
        pollster::block_on(self.replace_async(state))
    }

    /// [`GpuEngine::replace`] for those who cannot block.
    ///
    /// # Errors
    /// As [`GpuEngine::replace`].
    pub async fn replace_async(&mut self, state: &State) -> Result<()> {
        self.known = None;
        if self.buffers.hold(state) {
            self.buffers.upload(&self.context, state);
        } else {
            self.buffers = Buffers::new(&self.context, state, Room::ToGrow).await?;
        }
        self.bind();
        Ok(())
    }

    /// Binds the buffers to the passes again, and gives these threads for the bodies that there are now.
    fn bind(&mut self) {
        self.kernels.bind(&self.context, &self.buffers);
        self.kernels.set_threads(&self.buffers.params_value);
    }

    /// Copies one buffer of the device into `state`, a state of the same model.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn download(&self, field: Field, state: &mut State) -> Result<()> {
        pollster::block_on(self.download_by(Patience::Block, field, state))
    }

    /// [`GpuEngine::download`] for those who cannot block.
    ///
    /// # Errors
    /// If the device was lost.
    pub async fn download_async(&self, field: Field, state: &mut State) -> Result<()> {
        self.download_by(Patience::Yield, field, state).await
    }

    async fn download_by(&self, patience: Patience, field: Field, state: &mut State) -> Result<()> {
        let context = &self.context;
        match field {
            Field::Neighbours | Field::History => {
                state.set_neighbour_capacity(self.buffers.params_value.neighbour_capacity);
                let first = self.stats(patience).await?.first_entry;
                let bytes = state.bytes_mut(field);
                self.buffers
                    .read_ring(context, patience, field, first, bytes)
                    .await
            }
            Field::Stats => {
                // How the lists lie is the device's own business.
                state.stats[0] = Stats {
                    first_entry: 0,
                    near_walls: 0,
                    ..self.stats(patience).await?
                };
                Ok(())
            }
            _ => {
                let (buffer, offset) = (self.buffers.field(field), self.buffers.offset(field));
                let bytes = state.bytes_mut(field);
                context.read_by(patience, buffer, offset, bytes).await
            }
        }
    }

    /// Overwrites one buffer with that of `state`, a state of the same model.
    fn upload(&mut self, field: Field, state: &State) {
        if field == Field::Stats {
            self.known = None;
        }
        self.buffers.write(&self.context, field, state);
    }

    /// Overwrites the springs and applied forces, of which there may be another number than before.
    fn upload_actions(&mut self, state: &State) -> Result<()> {
        self.known = None;
        let rewritten = self.buffers.rewrite(&self.context, Field::Actions, state);
        pollster::block_on(rewritten)?;
        self.set_params(state);
        self.kernels.bind(&self.context, &self.buffers);
        Ok(())
    }

    /// Has the next step build the neighbour lists.
    fn set_stale(&mut self) {
        if let Some(known) = &mut self.known {
            known.stale = 1;
        }
        let place = std::mem::offset_of!(Stats, stale) as u64;
        let stats = self.buffers.field(Field::Stats);
        self.context.write(stats, place, bytes_of(&1_u32));
    }

    /// Takes over what a user may change of the parameters of a run.
    fn set_params(&mut self, state: &State) {
        let own = self.buffers.params_value;
        let params = Params {
            neighbour_capacity: own.neighbour_capacity,
            lookahead: own.lookahead,
            ring_start: own.ring_start,
            ..state.params
        };
        self.buffers
            .kinematic_walls
            .clone_from(&state.kinematic_walls);
        self.buffers.set_params(&self.context, params);
    }

    /// Runs one pass, whether or not the neighbour lists hold, and waits for it.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn run(&mut self, pass: Pass) -> Result<()> {
        let step = pollster::block_on(self.stats(Patience::Block))?.step;
        self.known = None;
        self.buffers.upload_poses(&self.context, step, 1);
        let mut encoder = self.encoder();
        self.kernels.encode(pass, &mut encoder);
        self.context.queue.submit([encoder.finish()]);
        self.context.wait()
    }

    /// From now on, samples the bodies of `trace` after every step number that is a multiple of
    /// its interval.
    pub fn set_trace(&mut self, trace: &Trace, state: &State) {
        self.sampler = Some(Sampler::new(trace, state));
        // They are too small, perhaps.
        self.staging.clear();
    }

    /// Runs `steps` steps, of which the first has the number `first`, and waits for them. The
    /// samples of the trace are added to `samples`. Returns how many steps were taken: fewer, if a
    /// body was lost in the last of them.
    ///
    /// # Errors
    /// If the device was lost, or has no memory for larger neighbour lists.
    pub fn step(&mut self, first: u64, steps: u64, samples: &mut Vec<Sample>) -> Result<u64> {
        pollster::block_on(self.step_by(Patience::Block, first, steps, samples))
    }

    /// [`GpuEngine::step`] for those who cannot block, as in a browser. Outside of one, the future asks to be polled
    /// again at once as long as it waits for the device.
    ///
    /// If it is dropped before it is done, steps are taken that nobody counts: then give the engine a state with
    /// [`GpuEngine::replace`].
    ///
    /// # Errors
    /// As [`GpuEngine::step`].
    pub async fn step_async(
        &mut self,
        first: u64,
        steps: u64,
        samples: &mut Vec<Sample>,
    ) -> Result<u64> {
        self.step_by(Patience::Yield, first, steps, samples).await
    }

    async fn step_by(
        &mut self,
        patience: Patience,
        first: u64,
        steps: u64,
        samples: &mut Vec<Sample>,
    ) -> Result<u64> {
        // Of a call that was dropped.
        self.flights.clear();
        let mut course = Course {
            next: first,
            end: first + steps,
            stats: self.stats(patience).await?,
            seen: Instant::now(),
        };
        self.known = None;
        loop {
            if course.stats.full == 1 && self.flights.is_empty() {
                course.stats = self.make_room(course.stats).await?;
                course.seen = Instant::now();
            }
            while course.goes_on() && self.flights.len() < MOST_FLIGHTS && self.wants(&course) > 0 {
                self.submit(&course);
            }
            if self.flights.is_empty() {
                self.known = Some(course.stats);
                return Ok(course.next - first);
            }
            // One is left for the device to work at, if there is more to do.
            let left = usize::from(course.goes_on() && self.wants(&course) > 0);
            self.land(patience, left, &mut course, samples).await?;
        }
    }

    /// Steps under way, if the device takes all of them.
    fn under_way(&self) -> u64 {
        self.flights.iter().map(|flight| flight.steps).sum()
    }

    /// Steps that are to be submitted yet, if the device takes all that are under way.
    fn wants(&self, course: &Course) -> u64 {
        if self.canceller.is_cancelled() {
            return 0;
        }
        course.end - course.next - self.under_way()
    }

    /// Submits steps that follow those under way.
    fn submit(&mut self, course: &Course) {
        let ahead = self.under_way();
        let next = course.next + ahead;
        let mut steps = self.wants(course).min(self.steps_per_submission);
        let mut sampled = Vec::new();
        let mut length = STATS;
        if let Some(sampler) = &self.sampler {
            (steps, sampled) = sampler.plan(next, steps);
            length += sampler.size() * sampled.len() as u64;
        }
        // Where the device halts, it is behind these steps, and finds its poses still there: no more steps are under
        // way than there is room for.
        let taken = course.stats.steps.wrapping_add(ahead as u32);
        self.buffers.upload_poses(&self.context, taken, steps);

        let staging = self.staging.pop().unwrap_or_else(|| {
            let samples = self.sampler.as_ref().map_or(0, Sampler::room);
            self.context.staging(STATS + samples)
        });
        let mut encoder = self.encoder();
        if let Some(sampler) = &self.sampler {
            // A sample is of a certain step, so each step must be taken.
            let mut place = STATS;
            for step in next..next + steps {
                self.dispatches += self.kernels.encode_steps(1, 1, &self.buffers, &mut encoder);
                if sampled.binary_search(&step).is_ok() {
                    sampler.copy(&self.buffers, &mut encoder, &staging, place);
                    place += sampler.size();
                }
            }
        } else {
            let period = self.period();
            let kernels = &self.kernels;
            self.dispatches += kernels.encode_steps(steps, period, &self.buffers, &mut encoder);
        }
        let stats = self.buffers.field(Field::Stats);
        encoder.copy_buffer_to_buffer(stats, 0, &staging, 0, STATS);
        let arrival = self.context.submit(encoder, staging, length);
        self.submissions += 1;
        self.flights.push_back(Flight {
            steps,
            sampled,
            arrival,
        });
    }

    /// Waits for all submissions but the newest `left`, and learns what became of them.
    async fn land(
        &mut self,
        patience: Patience,
        left: usize,
        course: &mut Course,
        samples: &mut Vec<Sample>,
    ) -> Result<()> {
        let landing = self.flights.len().saturating_sub(left);
        // Where the last of them is there, so are those before it.
        if let Some(last) = self.flights.range(..landing).next_back() {
            last.arrival.wait(&self.context, patience).await?;
        }
        let mut flown = 0;
        for _ in 0..landing {
            let Some(flight) = self.flights.pop_front() else {
                break;
            };
            flight.arrival.wait(&self.context, patience).await?;
            let before = course.stats;
            let sampler = self.sampler.as_ref();
            let (taken, staging) = flight.arrival.take(&self.context, |bytes| {
                let (stats, sampled) = bytes.split_at(STATS as usize);
                course.stats = pod_read_unaligned(stats);
                let taken = course.stats.steps.wrapping_sub(before.steps);
                course.next += u64::from(taken);
                if let Some(sampler) = sampler {
                    sampler.read(&flight.sampled, course.next, sampled, samples);
                }
                taken
            })?;
            let rebuilds = course.stats.rebuilds.wrapping_sub(before.rebuilds);
            tracing::trace!(taken, rebuilds, "submission");
            self.staging.push(staging);
            self.observe(taken, rebuilds);
            flown += flight.steps;
        }
        self.pace(flown, course.seen.elapsed());
        course.seen = Instant::now();
        Ok(())
    }

    /// Learns from `steps` that took `time` how many a submission may have.
    fn pace(&mut self, steps: u64, time: Duration) {
        let each = time.as_secs_f64() / steps as f64;
        let fit = (SUBMISSION.as_secs_f64() / each) as u64;
        let now = self.steps_per_submission;
        // The first steps of a run are slower than others: the driver compiles.
        // All that are under way find their poses of walls.
        let most = match self.buffers.kinematic_walls.is_empty() {
            true => MOST_STEPS,
            false => u64::from(WALL_STEPS) / MOST_FLIGHTS as u64,
        };
        self.steps_per_submission = fit.clamp(now.div_ceil(2), 4 * now).min(most);
    }

    /// Every how many steps one may build the lists.
    fn period(&self) -> u64 {
        if self.buffers.params_value.displacement_limit < 0.0 {
            return 1;
        }
        ((self.steps_per_list * CHANCES) as u64).clamp(1, MOST_PERIOD)
    }

    /// Learns from a submission how long lists hold.
    fn observe(&mut self, taken: u32, rebuilds: u32) {
        if taken == 0 {
            return;
        }
        let held = taken as f32 / rebuilds.max(1) as f32;
        // Lists that were not built hold longer than that.
        self.steps_per_list = match rebuilds {
            0 => self.steps_per_list.max(held),
            _ => 0.5 * (self.steps_per_list + held),
        };
        let lookahead = 1.25 * self.period() as f32;
        self.buffers.set_lookahead(&self.context, lookahead);
    }

    /// Runs one step and returns the time of each pass, in the order of [`Pass::ALL`]; `None`
    /// where the adapter has no timestamps: then no step was taken.
    ///
    /// # Errors
    /// If the device was lost, or has no memory for larger neighbour lists.
    pub fn profile_step(&mut self) -> Result<Option<[Duration; Pass::ALL.len()]>> {
        let Some(timer) = Timer::new(&self.context) else {
            return Ok(None);
        };
        pollster::block_on(async {
            loop {
                let before = self.stats(Patience::Block).await?;
                self.known = None;
                self.buffers.upload_poses(&self.context, before.steps, 1);
                let mut encoder = self.encoder();
                self.kernels
                    .encode_timed_step(&self.buffers, &mut encoder, &timer.queries);
                timer.resolve(&mut encoder);
                self.context.queue.submit([encoder.finish()]);
                let stats = self.stats(Patience::Block).await?;
                if stats.full == 0 {
                    self.known = Some(stats);
                    return timer.read(&self.context).map(Some);
                }
                self.known = Some(self.make_room(stats).await?);
            }
        })
    }

    /// The `stats` of the device.
    async fn stats(&self, patience: Patience) -> Result<Stats> {
        if let Some(stats) = self.known {
            return Ok(stats);
        }
        let mut stats = Stats::default();
        let (buffer, bytes) = (self.buffers.field(Field::Stats), bytes_of_mut(&mut stats));
        self.context.read_by(patience, buffer, 0, bytes).await?;
        Ok(stats)
    }

    /// Makes room for the neighbour lists, after a step had none and was not taken: it is the next
    /// to be taken.
    async fn make_room(&mut self, stats: Stats) -> Result<Stats> {
        // There may be room for the new lists, but not besides the old ones.
        let own = self.buffers.params_value.neighbour_capacity;
        let capacity = State::neighbour_room(stats.neighbours.max(own));
        tracing::debug!(entries = capacity, "room for neighbour lists");
        self.buffers
            .resize_neighbours(&self.context, capacity, stats.first_entry)
            .await?;
        self.kernels.bind(&self.context, &self.buffers);
        let again = Stats {
            full: 0,
            halted: 0,
            stale: 1,
            rebuilds: stats.rebuilds - 1,
            first_entry: 0,
            ..stats
        };
        self.context
            .write(self.buffers.field(Field::Stats), 0, bytes_of(&again));
        Ok(again)
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.context
            .device
            .create_command_encoder(&Default::default())
    }
}

/// A timestamp before and after each pass of one step.
struct Timer {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
}

impl Timer {
    const COUNT: usize = 2 * Pass::ALL.len();

    fn new(context: &Context) -> Option<Timer> {
        let device = &context.device;
        device
            .features()
            .contains(wgpu::Features::TIMESTAMP_QUERY)
            .then(|| Timer {
                queries: device.create_query_set(&wgpu::QuerySetDescriptor {
                    label: Some("passes"),
                    ty: wgpu::QueryType::Timestamp,
                    count: Self::COUNT as u32,
                }),
                resolved: device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("timestamps"),
                    size: 8 * Self::COUNT as u64,
                    usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                    mapped_at_creation: false,
                }),
            })
    }

    fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.resolve_query_set(&self.queries, 0..Self::COUNT as u32, &self.resolved, 0);
    }

    fn read(&self, context: &Context) -> Result<[Duration; Pass::ALL.len()]> {
        let mut ticks = [0_u64; Self::COUNT];
        context.read(&self.resolved, 0, bytemuck::cast_slice_mut(&mut ticks))?;
        let period = f64::from(context.queue.get_timestamp_period());
        Ok(std::array::from_fn(|index| {
            let ticks = ticks[2 * index + 1].saturating_sub(ticks[2 * index]);
            Duration::from_nanos((ticks as f64 * period) as u64)
        }))
    }
}

impl Context {
    /// Measures how fast the device copies: bytes read and written in a second, between two buffers of `size`
    /// bytes or as many as the device allows; the fastest of `repeats` submissions of many copies.
    pub(crate) fn copy_speed(&self, size: u64, repeats: usize) -> Result<f64> {
        /// Copies in a submission, so that its start and end do not matter.
        const COPIES: u32 = 10;
        let limits = self.device.limits();
        let size = size
            .min(limits.max_buffer_size)
            .min(limits.max_storage_buffer_binding_size);
        let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let from = self.create_buffer("copy source", size, usage)?;
        let to = self.create_buffer("copy target", size, usage)?;
        let mut best: f64 = 0.0;
        for _ in 0..repeats {
            let mut encoder = self.device.create_command_encoder(&Default::default());
            for _ in 0..COPIES {
                encoder.copy_buffer_to_buffer(&from, 0, &to, 0, size);
            }
            let commands = encoder.finish();
            let start = Instant::now();
            self.queue.submit([commands]);
            self.wait()?;
            let bytes = 2.0 * f64::from(COPIES) * size as f64;
            best = best.max(bytes / start.elapsed().as_secs_f64());
        }
        Ok(best)
    }
}
