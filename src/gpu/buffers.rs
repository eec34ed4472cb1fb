use std::num::NonZeroU64;

use bytemuck::cast_slice;
use encase::UniformBuffer;
use wgpu::BufferUsages;

use super::device::Context;
use super::kernels::Threads;
use crate::error::{Error, Result};
use crate::layout::{Params, SCAN_BLOCK, WALL_STEPS, WallPose};
use crate::state::{Field, Movers, State};

/// The buffers of a simulation on the device: one for each [`Field`], and some of the GPU's own.
pub(super) struct Buffers {
    pub params: wgpu::Buffer,
    /// What `params` holds.
    pub params_value: Params,
    fields: Vec<wgpu::Buffer>,
    /// The part of each of `fields` that is in use, bytes.
    lengths: Vec<u64>,
    /// Sums of the blocks of the scan.
    block_sums: wgpu::Buffer,
    /// Workgroups of the passes that build the neighbour lists; see `shaders/pose.wgsl`.
    pub list_dispatch: wgpu::Buffer,
    /// The neighbour lists as they were before they were built again, if contacts remember.
    kept: Kept,
    /// Poses of the walls that move by prescription, in the next steps; see `shaders/integrate.wgsl`.
    wall_poses: wgpu::Buffer,
    pub movers: Movers,
}

/// Room for the old neighbour lists while new ones are built.
struct Kept {
    starts: wgpu::Buffer,
    neighbours: wgpu::Buffer,
    memory: wgpu::Buffer,
}

impl Kept {
    fn new(context: &Context, params: &Params, room: Room) -> Result<Kept> {
        let [starts, neighbours, memory] = Kept::sizes(params).map(|size| room.of(size));
        Ok(Kept {
            starts: context.create_buffer("kept_starts", starts, STORAGE)?,
            neighbours: context.create_buffer("kept_neighbours", neighbours, STORAGE)?,
            memory: context.create_buffer("kept_memory", memory, STORAGE)?,
        })
    }

    /// Sizes of the buffers, bytes.
    fn sizes(params: &Params) -> [u64; 3] {
        let size = u64::from(params.memory_size);
        let [starts, entries] = match size {
            0 => [1, 1],
            _ => [params.sphere_count + 1, params.neighbour_capacity.max(1)].map(u64::from),
        };
        [4 * starts, 4 * entries, 16 * entries * size.max(1)]
    }
}

/// How large to make buffers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// For what there is.
    Exact,
    /// For half as much again: bodies come in.
    ToGrow,
}

impl Room {
    /// Size of a buffer for `bytes`, bytes; never 0.
    fn of(self, bytes: u64) -> u64 {
        let size = match self {
            Room::Exact => bytes,
            Room::ToGrow => (bytes + bytes / 2).next_multiple_of(16),
        };
        size.max(LEAST)
    }
}

/// Size of a buffer that nothing is in, bytes: an element of any kind fits.
const LEAST: u64 = 256;

const STORAGE: BufferUsages = BufferUsages::STORAGE
    .union(BufferUsages::COPY_SRC)
    .union(BufferUsages::COPY_DST);

impl Buffers {
    pub fn new(context: &Context, state: &State, room: Room) -> Result<Buffers> {
        let mut fields = Vec::with_capacity(Field::ALL.len());
        for field in Field::ALL {
            let size = room.of(state.bytes(field).len() as u64);
            let usage = match field {
                Field::Walls | Field::Groups => STORAGE | BufferUsages::UNIFORM,
                _ => STORAGE,
            };
            fields.push(context.create_buffer(field.name(), size, usage)?);
        }
        let list_dispatch = context.create_buffer(
            "list_dispatch",
            2 * size_of_val(&list_needs(&state.params)) as u64,
            STORAGE | BufferUsages::INDIRECT,
        )?;
        let poses = (u64::from(WALL_STEPS) * state.movers.len() as u64).max(1);
        let mut buffers = Buffers {
            params: context.create_buffer(
                "params",
                uniform(&state.params).len() as u64,
                BufferUsages::UNIFORM | BufferUsages::COPY_DST,
            )?,
            params_value: state.params,
            lengths: vec![0; fields.len()],
            fields,
            block_sums: context.create_buffer(
                "block_sums",
                room.of(block_sums(&state.params)),
                STORAGE,
            )?,
            list_dispatch,
            kept: Kept::new(context, &state.params, room)?,
            wall_poses: context.create_buffer(
                "wall_poses",
                poses * size_of::<WallPose>() as u64,
                STORAGE,
            )?,
            movers: state.movers.clone(),
        };
        buffers.upload(context, state);
        Ok(buffers)
    }

    pub fn field(&self, field: Field) -> &wgpu::Buffer {
        &self.fields[field as usize]
    }

    /// The buffer that a shader calls `name`, as far as it is in use, if the scan's `counts` are those
    /// of `counts`.
    pub fn by_name(&self, name: &str, counts: Field) -> Option<wgpu::BufferBinding<'_>> {
        let whole = |buffer| {
            Some(wgpu::BufferBinding {
                buffer,
                offset: 0,
                size: None,
            })
        };
        let used = |field: Field| {
            Some(wgpu::BufferBinding {
                buffer: self.field(field),
                offset: 0,
                size: NonZeroU64::new(self.lengths[field as usize]),
            })
        };
        match name {
            "params" => whole(&self.params),
            "counts" => used(counts),
            "block_sums" => whole(&self.block_sums),
            "list_dispatch" => whole(&self.list_dispatch),
            "kept_starts" => whole(&self.kept.starts),
            "kept_neighbours" => whole(&self.kept.neighbours),
            "kept_memory" => whole(&self.kept.memory),
            "wall_poses" => whole(&self.wall_poses),
            _ => {
                let field = Field::ALL.into_iter().find(|field| field.name() == name)?;
                used(field)
            }
        }
    }

    /// Whether there is room for `state`.
    pub fn hold(&self, state: &State) -> bool {
        let fits = |field: Field| self.field(field).size() >= state.bytes(field).len() as u64;
        let Kept {
            starts,
            neighbours,
            memory,
        } = &self.kept;
        let kept = [starts, neighbours, memory].map(wgpu::Buffer::size);
        let needed = Kept::sizes(&state.params);
        Field::ALL.into_iter().all(fits)
            && kept
                .iter()
                .zip(&needed)
                .all(|(size, needed)| size >= needed)
            && self.block_sums.size() >= block_sums(&state.params)
    }

    /// Whether any wall moves.
    pub fn has_moving_walls(&self) -> bool {
        !self.movers.is_empty()
    }

    pub fn size(&self) -> u64 {
        let Kept {
            starts,
            neighbours,
            memory,
        } = &self.kept;
        let own = [
            &self.params,
            &self.block_sums,
            &self.list_dispatch,
            starts,
            neighbours,
            memory,
            &self.wall_poses,
        ];
        let own: u64 = own.into_iter().map(wgpu::Buffer::size).sum();
        own + self.fields.iter().map(wgpu::Buffer::size).sum::<u64>()
    }

    /// Overwrites all buffers, which must have room for `state`.
    pub fn upload(&mut self, context: &Context, state: &State) {
        self.movers.clone_from(&state.movers);
        self.set_params(context, state.params);
        let queue = &context.queue;
        queue.write_buffer(
            &self.list_dispatch,
            0,
            cast_slice(&list_needs(&state.params)),
        );
        for field in Field::ALL {
            let bytes = state.bytes(field);
            queue.write_buffer(self.field(field), 0, bytes);
            self.lengths[field as usize] = match bytes.len() as u64 {
                0 => LEAST,
                length => length,
            };
        }
    }

    /// Gives the neighbour lists room for `capacity` entries. They are those of before: the lists
    /// for which there was no room were not written.
    pub fn resize_neighbours(&mut self, context: &Context, capacity: u32) -> Result<()> {
        let params = Params {
            neighbour_capacity: capacity,
            ..self.params_value
        };
        let entries = u64::from(capacity);
        let memory = 16 * (entries * u64::from(params.memory_size)).max(1);
        let mut encoder = context.device.create_command_encoder(&Default::default());
        for (field, size) in [(Field::Neighbours, 4 * entries), (Field::Memory, memory)] {
            let larger = context.create_buffer(field.name(), size, STORAGE)?;
            self.lengths[field as usize] = size;
            let old = std::mem::replace(&mut self.fields[field as usize], larger);
            let both = old.size().min(size);
            encoder.copy_buffer_to_buffer(&old, 0, self.field(field), 0, both);
        }
        if params.memory_size > 0 {
            let starts = self.field(Field::NeighbourStarts);
            let both = self.kept.starts.size().min(starts.size());
            encoder.copy_buffer_to_buffer(&self.kept.starts, 0, starts, 0, both);
            self.kept = Kept::new(context, &params, Room::Exact)?;
        }
        context.queue.submit([encoder.finish()]);
        self.set_params(context, params);
        Ok(())
    }

    /// Puts the poses that walls have after each of `steps` steps to where the device looks for them;
    /// `taken` steps were taken before.
    pub fn upload_poses(&self, context: &Context, taken: u32, steps: u64) {
        if self.movers.is_empty() {
            return;
        }
        let row = (self.movers.len() * size_of::<WallPose>()) as u64;
        // As far as the end of the table, and from its start on.
        let mut next = u64::from(taken) + 1;
        let end = next + steps;
        while next < end {
            let first = next % u64::from(WALL_STEPS);
            let here = (u64::from(WALL_STEPS) - first).min(end - next);
            let poses: Vec<WallPose> = (next..next + here)
                .flat_map(|step| self.movers.poses(step))
                .collect();
            context
                .queue
                .write_buffer(&self.wall_poses, first * row, cast_slice(&poses));
            next += here;
        }
    }

    /// Sets the number of steps to look ahead for lists that become stale.
    pub fn set_lookahead(&mut self, context: &Context, lookahead: f32) {
        if lookahead != self.params_value.lookahead {
            let params = Params {
                lookahead,
                ..self.params_value
            };
            self.set_params(context, params);
        }
    }

    pub fn set_params(&mut self, context: &Context, params: Params) {
        self.params_value = params;
        context
            .queue
            .write_buffer(&self.params, 0, &uniform(&params));
    }
}

/// Workgroups of the passes that build the neighbour lists.
fn list_needs(params: &Params) -> [[u32; 3]; Threads::OF_LISTS.len()] {
    Threads::OF_LISTS.map(|threads| threads.workgroups(params))
}

/// Size of the sums of the blocks that are scanned, bytes.
fn block_sums(params: &Params) -> u64 {
    let scanned = params.bucket_count.max(params.sphere_count);
    4 * u64::from(scanned.div_ceil(SCAN_BLOCK))
}

fn uniform(params: &Params) -> Vec<u8> {
    let mut buffer = UniformBuffer::new(Vec::new());
    buffer.write(params).expect("a vector grows to any size");
    buffer.into_inner()
}

impl Context {
    /// A buffer, or an error that says why there can be none.
    pub(crate) fn create_buffer(
        &self,
        name: &'static str,
        size: u64,
        usage: BufferUsages,
    ) -> Result<wgpu::Buffer> {
        let too_large = |limit: String| Error::TooLarge {
            buffer: name,
            needed: size,
            adapter: self.adapter.clone(),
            limit,
        };
        let limits = self.device.limits();
        let largest = limits
            .max_buffer_size
            .min(limits.max_storage_buffer_binding_size);
        if size > largest {
            return Err(too_large(format!("allows {largest} at most")));
        }
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(name),
            size,
            usage,
            mapped_at_creation: false,
        });
        match pollster::block_on(scope.pop()) {
            None => Ok(buffer),
            Some(_) => Err(too_large("has no memory left for it".to_owned())),
        }
    }
}
