use std::collections::HashMap;
use std::num::NonZeroU64;

use bytemuck::{bytes_of, cast_slice};
use encase::UniformBuffer;
use wgpu::BufferUsages;

use super::device::Context;
use super::kernels::{Object, Threads};
use crate::model::error::{Error, Result};
use crate::state::layout::{
    BodyProperties, MAX_KINDS, MAX_MEMBERS, Member, Params, SCAN_BLOCK, Stats, WALL_STEPS, WallPose,
};
use crate::state::{Field, KinematicWalls, SLICES, State};
use crate::step::Patience;

/// The buffers of a simulation on the device: those of the [`Field`]s of its state, and some of the GPU's own.
pub(super) struct Buffers {
    pub params: wgpu::Buffer,
    /// Contents of `params`.
    pub params_value: Params,
    /// By [`home`].
    fields: HashMap<Field, wgpu::Buffer>,
    /// Bytes in use of each field.
    lengths: HashMap<Field, u64>,
    /// Sums of the blocks of the scan.
    block_sums: wgpu::Buffer,
    /// Workgroups of the passes that build the neighbour lists; see `shaders/pose.wgsl`.
    pub list_dispatch: wgpu::Buffer,
    /// Starts of the neighbour lists as they were before they were built again.
    kept_starts: wgpu::Buffer,
    /// The index of each slice, [`SLICE_STRIDE`] apart.
    slices: wgpu::Buffer,
    /// Poses of the walls that move by prescription, in the next steps; see `shaders/integrate.wgsl`.
    wall_poses: wgpu::Buffer,
    pub kinematic_walls: KinematicWalls,
}

/// Room to make in buffers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// For what there is.
    Exact,
    /// For half as much again: bodies come in.
    ToGrow,
}

/// The field whose buffer a field lies in: most have one of their own. Those that many passes read together share
/// one, so that no pass binds more than six.
fn home(field: Field) -> Field {
    match field {
        Field::NeighbourStarts => Field::Neighbours,
        Field::WallSums => Field::Stats,
        field => field,
    }
}

/// Returns the start of a field in its buffer, bytes, if there is room for `starts` bytes of starts of neighbour lists.
/// Between these and the entries there is as much each for the spheres that are near walls and for the bodies of spheres: see
/// `shaders/shared/lists.wgsl`.
fn offset(starts: u64, field: Field) -> u64 {
    match field {
        Field::Neighbours => 3 * starts,
        Field::WallSums => size_of::<Stats>() as u64,
        _ => 0,
    }
}

/// Bytes that the buffer of a field takes, with all that lies in it.
fn whole_length(starts: u64, state: &State, own: Field) -> u64 {
    let within = Field::ALL.into_iter().filter(|&field| home(field) == own);
    let ends = within.map(|field| offset(starts, field) + length(state, field));
    ends.max().unwrap_or(0)
}

impl Room {
    /// Size of a buffer for `bytes` on a device, bytes; never 0.
    fn of(self, context: &Context, bytes: u64) -> u64 {
        let size = match self {
            Room::Exact => bytes,
            // What the device allows may be just enough.
            Room::ToGrow => (bytes + bytes / 2)
                .next_multiple_of(16)
                .min(context.largest_buffer())
                .max(bytes),
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
    pub async fn new(context: &Context, state: &State, room: Room) -> Result<Buffers> {
        let starts = room.of(context, length(state, Field::NeighbourStarts));
        let mut fields = HashMap::new();
        for field in Field::ALL.into_iter().filter(|&field| home(field) == field) {
            let size = room.of(context, whole_length(starts, state, field));
            let buffer = context.create_buffer_async(field.name(), size, usage(field));
            fields.insert(field, buffer.await?);
        }
        let create = |name, size, usage| context.create_buffer_async(name, size, usage);
        let uniform_usage = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        let poses = (u64::from(WALL_STEPS) * state.kinematic_walls.len() as u64).max(1);
        let sums = room.of(context, block_sums(&state.params));
        let mut buffers = Buffers {
            params: create(
                "params",
                uniform(&state.params).len() as u64,
                // Where the periodic box deforms, the device changes them.
                uniform_usage | BufferUsages::STORAGE,
            )
            .await?,
            params_value: state.params,
            fields,
            lengths: HashMap::new(),
            block_sums: create("block_sums", sums, STORAGE).await?,
            list_dispatch: create(
                "list_dispatch",
                2 * size_of_val(&list_needs(&state.params)) as u64,
                STORAGE | BufferUsages::INDIRECT,
            )
            .await?,
            kept_starts: create("kept_starts", starts, STORAGE).await?,
            slices: create("slices", SLICE_STRIDE * u64::from(SLICES), uniform_usage).await?,
            wall_poses: create("wall_poses", poses * size_of::<WallPose>() as u64, STORAGE).await?,
            kinematic_walls: state.kinematic_walls.clone(),
        };
        for slice in 0..SLICES {
            let place = SLICE_STRIDE * u64::from(slice);
            context.write(&buffers.slices, place, bytes_of(&slice));
        }
        buffers.upload(context, state);
        Ok(buffers)
    }

    /// The buffer in which a field lies.
    pub fn field(&self, field: Field) -> &wgpu::Buffer {
        &self.fields[&home(field)]
    }

    /// Returns the start of a field in its buffer, bytes.
    pub fn offset(&self, field: Field) -> u64 {
        offset(self.kept_starts.size(), field)
    }

    /// Bytes that a field has in use.
    pub fn length(&self, field: Field) -> u64 {
        self.lengths[&field]
    }

    /// The buffer that a shader calls `name`, as far as it is in use, for what it works on.
    pub fn by_name(&self, name: &str, object: Object) -> Option<wgpu::BufferBinding<'_>> {
        let whole = |buffer| {
            Some(wgpu::BufferBinding {
                buffer,
                offset: 0,
                size: None,
            })
        };
        let used = |field: Field, length: u64| {
            Some(wgpu::BufferBinding {
                buffer: self.field(field),
                offset: 0,
                size: NonZeroU64::new(length),
            })
        };
        let length = |field: Field| match self.length(field) {
            0 => LEAST,
            length => length,
        };
        let alone = |field: Field| used(field, length(field));
        let to_its_end = |field: Field| used(field, self.offset(field) + length(field));
        match name {
            "params" | "next_params" => whole(&self.params),
            "lists" => to_its_end(Field::Neighbours),
            "gathered" => to_its_end(Field::WallSums),
            "counts" => match object {
                Object::Lists => alone(Field::NeighbourStarts),
                _ => alone(Field::BucketStarts),
            },
            "slice" => Some(wgpu::BufferBinding {
                buffer: &self.slices,
                offset: match object {
                    Object::Slice(slice) => SLICE_STRIDE * u64::from(slice),
                    _ => 0,
                },
                size: NonZeroU64::new(size_of::<u32>() as u64),
            }),
            "block_sums" => whole(&self.block_sums),
            "list_dispatch" => whole(&self.list_dispatch),
            "kept_starts" => whole(&self.kept_starts),
            "wall_poses" => whole(&self.wall_poses),
            _ => {
                let mut own = self.fields.keys();
                alone(*own.find(|field| field.name() == name)?)
            }
        }
    }

    /// Whether there is room for `state`.
    pub fn hold(&self, state: &State) -> bool {
        let starts = self.kept_starts.size();
        let mut own = self.fields.iter();
        own.all(|(&field, buffer)| buffer.size() >= whole_length(starts, state, field))
            && starts >= length(state, Field::NeighbourStarts)
            && self.block_sums.size() >= block_sums(&state.params)
    }

    /// Makes room for all of `state` but its neighbour lists, which make room for themselves in the next step. What
    /// there is stays.
    pub async fn grow(&mut self, context: &Context, state: &State) -> Result<()> {
        let create = |name, bytes, usage| {
            context.create_buffer_async(name, Room::ToGrow.of(context, bytes), usage)
        };
        let mut starts = self.kept_starts.size();
        let needed = length(state, Field::NeighbourStarts);
        let kept_starts = match needed > starts {
            true => Some(create("kept_starts", needed, STORAGE).await?),
            false => None,
        };
        if let Some(larger) = &kept_starts {
            starts = larger.size();
        }
        let mut larger = Vec::new();
        for (&field, buffer) in &self.fields {
            let needed = match field {
                // The ring is behind the starts: where these get more room, it moves.
                Field::Neighbours if kept_starts.is_some() => {
                    offset(starts, field) + self.length(field)
                }
                Field::Neighbours | Field::History => continue,
                _ => match whole_length(starts, state, field) {
                    needed if needed > buffer.size() => needed,
                    _ => continue,
                },
            };
            larger.push((field, create(field.name(), needed, usage(field)).await?));
        }
        let needed = block_sums(&state.params);
        if needed > self.block_sums.size() {
            self.block_sums = create("block_sums", needed, STORAGE).await?;
        }

        let mut encoder = context.device.create_command_encoder(&Default::default());
        for (field, larger) in larger {
            let old = self.field(field);
            if field == Field::Neighbours {
                let (ring, length) = (self.offset(field), self.length(field));
                let used = self.length(Field::NeighbourStarts);
                encoder.copy_buffer_to_buffer(old, 0, &larger, 0, used);
                encoder.copy_buffer_to_buffer(old, ring, &larger, offset(starts, field), length);
            } else if field.is_carried() {
                encoder.copy_buffer_to_buffer(old, 0, &larger, 0, old.size());
            }
            self.fields.insert(field, larger);
        }
        context.queue.submit([encoder.finish()]);
        if let Some(larger) = kept_starts {
            self.kept_starts = larger;
        }
        Ok(())
    }

    /// Uploads what `state` has behind what there is: the elements of new bodies and spheres, whose lists are empty
    /// ones behind those of all others, which have `entries` entries. There must be room.
    pub fn append(&mut self, context: &Context, state: &State, entries: u32) {
        for field in Field::ALL.into_iter().filter(|field| field.is_carried()) {
            let (bytes, length) = (state.bytes(field), self.length(field));
            let (buffer, end) = (self.field(field), self.offset(field) + length);
            match field {
                Field::Neighbours | Field::History => (),
                Field::NeighbourStarts => {
                    let new = vec![entries; (bytes.len() - length as usize) / 4];
                    context.write(buffer, end, cast_slice(&new));
                }
                _ => context.write(buffer, end, &bytes[length as usize..]),
            }
        }
        self.resize(context, state);
    }

    /// Takes over how many bodies and spheres `state` has; there is room for the neighbour lists of before.
    pub fn resize(&mut self, context: &Context, state: &State) {
        let Params {
            neighbour_capacity,
            lookahead,
            ..
        } = self.params_value;
        let params = Params {
            neighbour_capacity,
            lookahead,
            ring_start: (self.offset(Field::Neighbours) / 4) as u32,
            ..state.params
        };
        self.set_params(context, params);
        context.write(&self.list_dispatch, 0, cast_slice(&list_needs(&params)));
        for field in Field::ALL {
            if !matches!(field, Field::Neighbours | Field::History) {
                self.lengths.insert(field, length(state, field));
            }
        }
    }

    /// Whether any wall moves.
    pub fn has_moving_walls(&self) -> bool {
        !self.kinematic_walls.is_empty()
    }

    pub fn size(&self) -> u64 {
        let own = [
            &self.params,
            &self.block_sums,
            &self.list_dispatch,
            &self.kept_starts,
            &self.slices,
            &self.wall_poses,
        ];
        let own: u64 = own.into_iter().map(wgpu::Buffer::size).sum();
        own + self.fields.values().map(wgpu::Buffer::size).sum::<u64>()
    }

    /// Overwrites all buffers, which must have room for `state`.
    pub fn upload(&mut self, context: &Context, state: &State) {
        self.kinematic_walls.clone_from(&state.kinematic_walls);
        self.params_value = state.params;
        for field in [Field::Neighbours, Field::History] {
            self.lengths.insert(field, length(state, field));
        }
        self.resize(context, state);
        for field in Field::ALL {
            self.write(context, field, state);
        }
        let near_walls: Vec<u32> = state.near_walls().collect();
        let lists = self.field(Field::Neighbours);
        let starts = self.kept_starts.size();
        context.write(lists, starts, cast_slice(&near_walls));
        let bodies: Vec<u32> = state.spheres.iter().map(|sphere| sphere.body).collect();
        context.write(lists, 2 * starts, cast_slice(&bodies));
        let count = near_walls.len() as u32;
        let place = std::mem::offset_of!(Stats, near_walls) as u64;
        context.write(self.field(Field::Stats), place, bytes_of(&count));
    }

    /// Overwrites a field, which must have room for that of `state`.
    pub fn write(&self, context: &Context, field: Field, state: &State) {
        let (buffer, offset) = (self.field(field), self.offset(field));
        let bytes = state.bytes(field);
        match packed_history(&state.params) {
            Some((packed, whole)) if field == Field::History => {
                let contacts = bytes.chunks_exact(whole);
                let kept: Vec<u8> = contacts.flat_map(|own| &own[..packed]).copied().collect();
                context.write(buffer, offset, &kept);
            }
            _ => context.write(buffer, offset, bytes),
        }
    }

    /// Overwrites a field, for which there may be no room yet.
    pub async fn rewrite(&mut self, context: &Context, field: Field, state: &State) -> Result<()> {
        let length = length(state, field);
        if self.field(field).size() < length {
            let size = Room::ToGrow.of(context, length);
            let larger = context
                .create_buffer_async(field.name(), size, STORAGE)
                .await?;
            self.fields.insert(field, larger);
        }
        self.write(context, field, state);
        self.lengths.insert(field, length);
        Ok(())
    }

    /// Gives the neighbour lists room for `capacity` entries each, after there was none for new ones: they are
    /// those of before. `first` is the place of the first entry; afterwards, that is 0.
    pub async fn resize_neighbours(
        &mut self,
        context: &Context,
        capacity: u32,
        first: u32,
    ) -> Result<()> {
        let params = Params {
            neighbour_capacity: capacity,
            ..self.params_value
        };
        let mut encoder = context.device.create_command_encoder(&Default::default());
        for field in [Field::Neighbours, Field::History] {
            let (start, size) = (self.offset(field), ring_bytes(&params, field).max(LEAST));
            let larger = context
                .create_buffer_async(field.name(), start + size, STORAGE)
                .await?;
            let cut = u64::from(first) * entry_bytes(&params, field);
            let (old, length) = (self.field(field), self.lengths[&field]);
            encoder.copy_buffer_to_buffer(old, start + cut, &larger, start, length - cut);
            encoder.copy_buffer_to_buffer(old, start, &larger, start + length - cut, cut);
            self.fields.insert(field, larger);
            self.lengths.insert(field, size);
        }
        let starts = self.lengths[&Field::NeighbourStarts];
        let lists = self.field(Field::NeighbourStarts);
        encoder.copy_buffer_to_buffer(&self.kept_starts, 0, lists, 0, starts);
        context.queue.submit([encoder.finish()]);
        self.set_params(context, params);
        Ok(())
    }

    /// Copies the neighbour lists, or the histories of their contacts, into `bytes`, from the first entry on, which is
    /// at the place `first`.
    pub async fn read_ring(
        &self,
        context: &Context,
        patience: Patience,
        field: Field,
        first: u32,
        bytes: &mut [u8],
    ) -> Result<()> {
        let (buffer, ring) = (self.field(field), self.offset(field));
        let cut = u64::from(first) * entry_bytes(&self.params_value, field);
        let packing = packed_history(&self.params_value).filter(|_| field == Field::History);
        let mut kept = Vec::new();
        let wanted = match packing {
            Some((packed, whole)) => {
                kept.resize(bytes.len() / whole * packed, 0);
                &mut kept[..]
            }
            None => &mut *bytes,
        };
        let behind = (self.lengths[&field] - cut).min(wanted.len() as u64);
        let (start, end) = wanted.split_at_mut(behind as usize);
        context.read_by(patience, buffer, ring + cut, start).await?;
        context.read_by(patience, buffer, ring, end).await?;
        if let Some((packed, whole)) = packing {
            let contacts = bytes.chunks_exact_mut(whole);
            for (own, kept) in contacts.zip(kept.chunks_exact(packed)) {
                let (used, unused) = own.split_at_mut(packed);
                used.copy_from_slice(kept);
                unused.fill(0);
            }
        }
        Ok(())
    }

    /// Puts the poses that walls have after each of `steps` steps to where the device looks for them;
    /// `taken` steps were taken before.
    pub fn upload_poses(&self, context: &Context, taken: u32, steps: u64) {
        if self.kinematic_walls.is_empty() {
            return;
        }
        let row = (self.kinematic_walls.len() * size_of::<WallPose>()) as u64;
        // As far as the end of the table, and from its start on.
        let mut next = u64::from(taken) + 1;
        let end = next + steps;
        while next < end {
            let first = next % u64::from(WALL_STEPS);
            let here = (u64::from(WALL_STEPS) - first).min(end - next);
            let poses: Vec<WallPose> = (next..next + here)
                .flat_map(|step| self.kinematic_walls.poses(step))
                .collect();
            context.write(&self.wall_poses, first * row, cast_slice(&poses));
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
        self.params_value = Params {
            // A software adapter would pay for the arithmetic, and has no bytes to gain.
            clumps: params.clumps & u32::from(!context.is_software),
            ..params
        };
        context.write(&self.params, 0, &uniform(&self.params_value));
    }
}

/// Usages of the buffer of a field.
fn usage(field: Field) -> BufferUsages {
    match field {
        Field::Walls | Field::Groups | Field::Balls | Field::Properties | Field::Members => {
            STORAGE | BufferUsages::UNIFORM
        }
        _ => STORAGE,
    }
}

/// Bytes of the table of a field, which shaders may bind as a uniform of one length.
fn table(field: Field) -> u64 {
    let bytes = match field {
        Field::Properties => MAX_KINDS * size_of::<BodyProperties>(),
        Field::Members => MAX_MEMBERS * size_of::<Member>(),
        _ => 0,
    };
    bytes as u64
}

/// Workgroups of the passes that build the neighbour lists.
fn list_needs(params: &Params) -> [[u32; 3]; Threads::OF_LISTS.len()] {
    Threads::OF_LISTS.map(|threads| threads.workgroups(params))
}

/// Bytes from the index of a slice to the next: what an offset of a uniform must be a multiple of on any device.
const SLICE_STRIDE: u64 = 256;

/// Bytes that a field of a state takes on the device.
fn length(state: &State, field: Field) -> u64 {
    match field {
        Field::Neighbours | Field::History => ring_bytes(&state.params, field),
        _ => table(field).max(state.bytes(field).len() as u64),
    }
}

/// Bytes of the ring of the neighbour lists, or of the histories of their contacts: there is room for as many entries as
/// the lists may have, and for those of one more slice.
fn ring_bytes(params: &Params, field: Field) -> u64 {
    let capacity = u64::from(params.neighbour_capacity);
    let (spheres, slice) = (params.sphere_count.max(1), params.slice_length);
    let of_slice = (capacity * u64::from(slice.min(spheres))).div_ceil(spheres.into());
    (capacity + of_slice).max(1) * entry_bytes(params, field)
}

/// Bytes of one entry of the lists, or of its history.
fn entry_bytes(params: &Params, field: Field) -> u64 {
    match field {
        Field::History => 4 * u64::from(params.history_values),
        _ => 4,
    }
}

/// Bytes of the numbers of a contact's history that a device keeps, and of the elements that a state keeps; `None` if they
/// are the same.
fn packed_history(params: &Params) -> Option<(usize, usize)> {
    let (packed, whole) = (4 * params.history_values, 16 * params.history_size);
    (packed < whole).then_some((packed as usize, whole as usize))
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
    /// Largest buffer that a shader can use, bytes.
    fn largest_buffer(&self) -> u64 {
        let limits = self.device.limits();
        let largest = limits.max_buffer_size;
        largest.min(limits.max_storage_buffer_binding_size)
    }

    /// A buffer, or an error that says why there can be none.
    pub(crate) fn create_buffer(
        &self,
        name: &'static str,
        size: u64,
        usage: BufferUsages,
    ) -> Result<wgpu::Buffer> {
        if cfg!(target_family = "wasm") {
            // Whether there is memory is told to those who wait.
            return self.allocate(name, size, usage);
        }
        pollster::block_on(self.create_buffer_async(name, size, usage))
    }

    /// [`Context::create_buffer`] for those who cannot block.
    pub(crate) async fn create_buffer_async(
        &self,
        name: &'static str,
        size: u64,
        usage: BufferUsages,
    ) -> Result<wgpu::Buffer> {
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let buffer = self.allocate(name, size, usage);
        match scope.pop().await {
            None => buffer,
            Some(_) => Err(self.too_large(name, size, "has no memory left for it".to_owned())),
        }
    }

    fn allocate(&self, name: &'static str, size: u64, usage: BufferUsages) -> Result<wgpu::Buffer> {
        let largest = self.largest_buffer();
        if size > largest {
            return Err(self.too_large(name, size, format!("allows {largest} at most")));
        }
        Ok(self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(name),
            size,
            usage,
            mapped_at_creation: false,
        }))
    }

    fn too_large(&self, buffer: &'static str, needed: u64, limit: String) -> Error {
        Error::TooLarge {
            buffer,
            needed,
            adapter: self.adapter.clone(),
            limit,
        }
    }
}
