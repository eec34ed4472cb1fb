//! The GPU engine: the passes of a step as WGSL compute shaders.
//!
//! Many steps go into one submission, and nothing is read back inside a step: the host sees the
//! state only when it asks.

mod buffers;
mod device;
mod dispatch;
mod engine;
mod kernels;
mod sampler;
pub mod shaders;

pub use device::{Adapter, Context};
pub use dispatch::workgroups_for;

use std::time::{Duration, Instant};

use bytemuck::{bytes_of, bytes_of_mut};

use crate::error::{Error, Result};
use crate::state::layout::{CUSTOM, Params, Stats, WALL_STEPS};
use crate::state::trace::{Sample, Trace};
use crate::state::{Field, State};
use crate::step::Pass;
use buffers::{Buffers, Room};
use kernels::Kernels;
use sampler::Sampler;

/// Submissions grow until one takes about this long: long enough that the host's part does not
/// matter, short enough for a driver's watchdog and for a progress bar.
const SUBMISSION: Duration = Duration::from_millis(100);

/// Most steps of a submission.
const MOST_STEPS: u64 = WALL_STEPS as u64;

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
    sampler: Option<Sampler>,
    /// WGSL of a custom contact law.
    law: Option<String>,
    steps_per_submission: u64,
    /// How many steps the neighbour lists hold.
    steps_per_list: f32,
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

    /// The same with the WGSL of a custom contact law.
    ///
    /// # Errors
    /// As [`GpuEngine::new`], and if the law does not compile.
    pub fn with_law(context: &Context, state: &State, law: Option<&str>) -> Result<GpuEngine> {
        let buffers = Buffers::new(context, state, Room::Exact)?;
        let kernels = Kernels::new(context, &buffers, law)?;
        Ok(GpuEngine {
            context: context.clone(),
            buffers,
            kernels,
            sampler: None,
            law: law.map(str::to_owned),
            steps_per_submission: 1,
            steps_per_list: 1.0,
        })
    }

    /// The device that this runs on.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The buffer of a field of the state, for those who read it: steps write to it.
    ///
    /// Two hold two fields: [`Field::Neighbours`] lies behind [`Field::NeighbourStarts`], and [`Field::WallSums`]
    /// behind [`Field::Stats`].
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

    /// Goes on with `state`, a state of the same model, which may have other bodies.
    ///
    /// # Errors
    /// If a buffer must grow, and would be larger than the adapter allows or has memory for.
    pub fn replace(&mut self, state: &State) -> Result<()> {
        if self.buffers.hold(state) {
            self.buffers.upload(&self.context, state);
        } else {
            self.buffers = Buffers::new(&self.context, state, Room::ToGrow)?;
        }
        self.kernels.bind(&self.context, &self.buffers);
        self.kernels.set_threads(&state.params);
        Ok(())
    }

    /// Copies one buffer of the device into `state`, a state of the same model.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn download(&self, field: Field, state: &mut State) -> Result<()> {
        match field {
            Field::Neighbours | Field::Memory => {
                state.set_neighbour_capacity(self.buffers.params_value.neighbour_capacity);
                let first = self.stats()?.first_entry;
                let bytes = state.bytes_mut(field);
                self.buffers.read_ring(&self.context, field, first, bytes)
            }
            Field::Stats => {
                // Where the ring begins is the device's own business.
                state.stats[0] = Stats {
                    first_entry: 0,
                    ..self.stats()?
                };
                Ok(())
            }
            _ => self.context.read(
                self.buffers.field(field),
                self.buffers.offset(field),
                state.bytes_mut(field),
            ),
        }
    }

    /// Copies one body, and the loads on its spheres, into `state`, a state of the same model.
    ///
    /// # Errors
    /// If the device was lost.
    fn download_body(&self, body: usize, state: &mut State) -> Result<()> {
        let spheres = state.spheres_of(&state.bodies[body]);
        for (field, elements, count) in [
            (Field::Bodies, body..body + 1, state.bodies.len()),
            (Field::SphereLoads, spheres, state.spheres.len()),
        ] {
            let bytes = state.bytes_mut(field);
            let size = bytes.len() / count;
            let own = &mut bytes[elements.start * size..elements.end * size];
            let start = (elements.start * size) as u64;
            self.context.read(self.buffers.field(field), start, own)?;
        }
        Ok(())
    }

    /// Overwrites one buffer with that of `state`, a state of the same model.
    fn upload(&mut self, field: Field, state: &State) {
        self.buffers.write(&self.context, field, state);
    }

    /// Has the next step build the neighbour lists.
    fn set_stale(&mut self) {
        let place = std::mem::offset_of!(Stats, stale) as u64;
        let stats = self.buffers.field(Field::Stats);
        self.context
            .queue
            .write_buffer(stats, place, bytes_of(&1_u32));
    }

    /// Takes over what a user may change of the parameters of a run.
    fn set_params(&mut self, state: &State) {
        let own = self.buffers.params_value;
        let params = Params {
            neighbour_capacity: own.neighbour_capacity,
            lookahead: own.lookahead,
            ..state.params
        };
        self.buffers.movers.clone_from(&state.movers);
        self.buffers.set_params(&self.context, params);
    }

    /// Runs one pass, whether or not the neighbour lists hold, and waits for it.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn run(&mut self, pass: Pass) -> Result<()> {
        self.buffers
            .upload_poses(&self.context, self.stats()?.step, 1);
        let mut encoder = self.encoder();
        self.kernels.encode(pass, &mut encoder);
        self.context.queue.submit([encoder.finish()]);
        self.context.wait()
    }

    /// From now on, samples the bodies of `trace` after every step number that is a multiple of
    /// its interval.
    pub fn set_trace(&mut self, trace: &Trace, state: &State) {
        self.sampler = Some(Sampler::new(&self.context, trace, state));
    }

    /// Runs `steps` steps, of which the first has the number `first`, and waits for them. The
    /// samples of the trace are added to `samples`. Returns how many steps were taken: fewer, if a
    /// body was lost in the last of them.
    ///
    /// # Errors
    /// If the device was lost, or has no memory for larger neighbour lists.
    pub fn step(&mut self, first: u64, steps: u64, samples: &mut Vec<Sample>) -> Result<u64> {
        let end = first + steps;
        let mut next = first;
        let mut before = self.stats()?;
        while next < end && before.runaway == 0 {
            let start = Instant::now();
            let mut encoder = self.encoder();
            let wanted = self.steps_per_submission.min(end - next);
            self.buffers
                .upload_poses(&self.context, before.steps, wanted);
            if let Some(sampler) = &mut self.sampler {
                // A sample is of a certain step, so each step must be taken.
                let mut encoded = 0;
                while encoded < wanted && !sampler.is_full() {
                    self.kernels.encode_steps(1, 1, &self.buffers, &mut encoder);
                    sampler.sample(next + encoded, &self.buffers, &mut encoder);
                    encoded += 1;
                }
            } else {
                let period = self.period();
                self.kernels
                    .encode_steps(wanted, period, &self.buffers, &mut encoder);
            }
            self.context.queue.submit([encoder.finish()]);
            let stats = self.stats()?;
            let taken = stats.steps.wrapping_sub(before.steps);
            self.observe(taken, stats.rebuilds.wrapping_sub(before.rebuilds));
            next += u64::from(taken);
            tracing::trace!(taken, rebuilds = stats.rebuilds, "submission");
            before = stats;
            if let Some(sampler) = &mut self.sampler {
                sampler.drain(&self.context, next, samples)?;
            }
            if stats.full == 1 {
                before = self.make_room(stats)?;
            } else if start.elapsed() < SUBMISSION / 2 {
                self.steps_per_submission = (self.steps_per_submission * 2).min(MOST_STEPS);
            } else if start.elapsed() > SUBMISSION * 2 {
                self.steps_per_submission = (self.steps_per_submission / 2).max(1);
            }
        }
        Ok(next - first)
    }

    /// Every how many steps one may build the lists.
    fn period(&self) -> u64 {
        if self.buffers.params_value.drift_limit < 0.0 {
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
        loop {
            self.buffers
                .upload_poses(&self.context, self.stats()?.steps, 1);
            let mut encoder = self.encoder();
            self.kernels
                .encode_timed_step(&self.buffers, &mut encoder, &timer.queries);
            timer.resolve(&mut encoder);
            self.context.queue.submit([encoder.finish()]);
            let stats = self.stats()?;
            if stats.full == 0 {
                return timer.read(&self.context).map(Some);
            }
            self.make_room(stats)?;
        }
    }

    fn stats(&self) -> Result<Stats> {
        let mut stats = Stats::default();
        self.context.read(
            self.buffers.field(Field::Stats),
            0,
            bytes_of_mut(&mut stats),
        )?;
        Ok(stats)
    }

    /// Makes room for the neighbour lists, after a step had none and was not taken: it is the next
    /// to be taken.
    fn make_room(&mut self, stats: Stats) -> Result<Stats> {
        // There may be room for the new lists, but not besides the old ones.
        let own = self.buffers.params_value.neighbour_capacity;
        let capacity = State::neighbour_room(stats.neighbours.max(own));
        tracing::debug!(entries = capacity, "room for neighbour lists");
        self.buffers
            .resize_neighbours(&self.context, capacity, stats.first_entry)?;
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
            .queue
            .write_buffer(self.buffers.field(Field::Stats), 0, bytes_of(&again));
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
    /// How fast the device copies: bytes read and written in a second, between two buffers of `size`
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

    /// Waits until all that was submitted is done.
    pub(crate) fn wait(&self) -> Result<()> {
        self.device
            .poll(wgpu::PollType::wait_indefinitely())
            .map(|_| ())
            .map_err(|error| Error::Lost {
                adapter: self.adapter.clone(),
                reason: error.to_string(),
            })
    }

    /// Copies bytes of a buffer, from `offset` on, to the host.
    pub(crate) fn read(&self, buffer: &wgpu::Buffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
        /// Larger copies go in pieces: the staging buffer is memory too.
        const PIECE: usize = 64 << 20;
        for (index, piece) in bytes.chunks_mut(PIECE).enumerate() {
            let staging = self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("staging"),
                size: piece.len() as u64,
                usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
                mapped_at_creation: false,
            });
            let mut encoder = self.device.create_command_encoder(&Default::default());
            let start = offset + (index * PIECE) as u64;
            encoder.copy_buffer_to_buffer(buffer, start, &staging, 0, piece.len() as u64);
            self.queue.submit([encoder.finish()]);
            staging.map_async(wgpu::MapMode::Read, .., |_| ());
            self.wait()?;
            let view = staging.get_mapped_range(..).map_err(|error| Error::Lost {
                adapter: self.adapter.clone(),
                reason: error.to_string(),
            })?;
            piece.copy_from_slice(&view);
        }
        Ok(())
    }
}
