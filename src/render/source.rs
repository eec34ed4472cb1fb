//! The buffers that pictures read: those of the GPU engine, or copies of the state on the host.

use std::ops::ControlFlow;

use bytemuck::cast_slice;
use encase::UniformBuffer;
use wgpu::util::StagingBelt;
use wgpu::{BufferSize, BufferUsages};
use xxhash_rust::xxh3::xxh3_64;

use super::{ColourBy, Look};
use crate::model::error::Result;
use crate::simulation::Simulation;
use crate::state::{Field, State, quantities};
use crate::step::gpu::{Context, GpuEngine};

/// The fields of the state that pictures read.
fn read() -> impl Iterator<Item = Field> {
    let fields = [
        Field::Properties,
        Field::Members,
        Field::Walls,
        Field::Bodies,
        Field::Spheres,
        Field::SphereLoads,
        Field::Actions,
        Field::BodyBonds,
    ];
    fields.into_iter().chain(quantities::BUFFERS)
}

/// Least size of a buffer, bytes: more than one element of any field.
const LEAST: u64 = 256;

/// The buffers that pictures read.
pub(super) struct Source {
    params: wgpu::Buffer,
    /// A buffer for each field that pictures [read].
    fields: Vec<(Field, wgpu::Buffer)>,
    /// Whether the buffers belong to the engine and need no upload.
    shared: bool,
    /// Hash of each buffer's last upload, the parameters first; `None` where it was not taken.
    copied: Vec<Option<u64>>,
    /// Buffers by which data get to the device, to be used again: new ones cost as much time as what is copied.
    belt: Option<StagingBelt>,
    /// Number of steps at the last upload.
    steps: Option<u64>,
    /// Number of steps before the bodies that were gathered last.
    gathered: Option<u64>,
}

/// A hash of the data of a field that pictures read.
fn hash(state: &State, field: Field) -> u64 {
    if field != Field::Spheres {
        return xxh3_64(state.bytes(field));
    }
    // Spheres change when bodies come or go. Ids ascend, so their number and the last one tell of both.
    let bodies = &state.identities;
    let last = bodies.last().map_or(0, |body| body.id);
    xxh3_64(cast_slice(&[bodies.len() as u64, last]))
}

/// Whether pictures of a look read a field. Loads take many bytes, and only some meanings of colours need them.
fn is_read(field: Field, look: &Look) -> bool {
    let of_loads = [ColourBy::Force, ColourBy::Overlap, ColourBy::Contacts];
    field != Field::SphereLoads || of_loads.contains(&look.colour_by)
}

impl Source {
    /// The buffers of a simulation: those of its GPU engine, or new ones on `context` for [`Source::update`] to fill.
    ///
    /// # Errors
    /// If the device has no memory for them.
    pub fn new(context: &Context, simulation: &Simulation) -> Result<Source> {
        match simulation.gpu() {
            Some(engine) => Ok(Source::of_engine(engine)),
            None => Source::for_uploads(context, simulation.on_host()),
        }
    }

    fn of_engine(engine: &GpuEngine) -> Source {
        Source {
            // A clone is another handle to the same buffer.
            params: engine.params_buffer().clone(),
            fields: read()
                .map(|field| (field, engine.buffer(field).clone()))
                .collect(),
            shared: true,
            copied: Vec::new(),
            belt: None,
            steps: None,
            gathered: None,
        }
    }

    fn for_uploads(context: &Context, state: &State) -> Result<Source> {
        let buffer = |field| Ok((field, Source::for_upload(context, field, state)?));
        let size = uniform(&state.params).len() as u64;
        let usage = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        let fields: Vec<_> = read().map(buffer).collect::<Result<_>>()?;
        Ok(Source {
            params: context.create_buffer("params", size, usage)?,
            copied: vec![None; 1 + fields.len()],
            fields,
            belt: None,
            steps: None,
            gathered: None,
            shared: false,
        })
    }

    fn for_upload(context: &Context, field: Field, state: &State) -> Result<wgpu::Buffer> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let usage = match field {
            Field::Walls => usage | BufferUsages::UNIFORM,
            _ => usage,
        };
        let size = state.size_of(field) as u64;
        context.create_buffer(field.name(), size.max(LEAST), usage)
    }

    /// Fetches what a look reads, and uploads the bodies part by part: where the processes of a cluster have them, this one never has
    /// all.
    ///
    /// # Errors
    /// If the device has no memory for them, or they cannot be read.
    pub fn gather(
        &mut self,
        context: &Context,
        simulation: &mut Simulation,
        look: &Look,
    ) -> Result<()> {
        if self.gathered == Some(simulation.steps()) {
            return Ok(());
        }
        let whole = simulation.on_host();
        let mut of_bodies = Vec::new();
        let fields: Vec<Field> = read().filter(|field| is_read(*field, look)).collect();
        for (field, buffer) in &mut self.fields {
            let size = whole.size_of(*field) as u64;
            if size == 0 || !field.is_of_bodies() || !fields.contains(field) {
                continue;
            }
            if buffer.size() < size {
                *buffer = Source::for_upload(context, *field, whole)?;
            }
            of_bodies.push((*field, buffer.clone(), 0));
        }
        let read = simulation.for_each_part(&fields, |part, before| {
            let state = part.state;
            let mut bodies = state.bodies.clone();
            let mut spheres = state.spheres.clone();
            for body in &mut bodies {
                body.first_sphere += before.spheres;
            }
            for sphere in &mut spheres {
                sphere.body = before.body(sphere.body);
            }
            for (field, buffer, offset) in &mut of_bodies {
                let bytes = match field {
                    Field::Bodies => cast_slice(&bodies),
                    Field::Spheres => cast_slice(&spheres),
                    _ => state.bytes(*field),
                };
                let own = &bytes[..state.size_of(*field)];
                context.queue.write_buffer(buffer, *offset, own);
                *offset += own.len() as u64;
            }
            // What is on its way to the device takes memory here.
            context.queue.submit([]);
            match context.wait() {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        read?;
        context.wait()?;
        self.gathered = Some(simulation.steps());
        Ok(())
    }

    /// Updates the buffers to the present state, or the part of it that a look reads. Returns whether anything may have changed.
    ///
    /// Copies are uploaded, into larger buffers if new bodies need them. With a GPU engine its present buffers are taken,
    /// because it may have replaced them.
    ///
    /// # Errors
    /// If the device has no memory for a larger buffer.
    pub fn update(
        &mut self,
        context: &Context,
        simulation: &Simulation,
        look: Option<&Look>,
    ) -> Result<bool> {
        if let Some(engine) = simulation.gpu().filter(|_| self.shared) {
            *self = Source::of_engine(engine);
            return Ok(true);
        }
        let state = simulation.on_host();
        let params = uniform(&state.params);
        let has_stepped = self.steps.replace(simulation.steps()) != Some(simulation.steps());
        // Hashing data costs less than uploading them again.
        let mut replace = |index: usize, hash: Option<u64>| {
            let before = std::mem::replace(&mut self.copied[index], hash);
            hash.is_none() || before != hash
        };
        let mut has_changed = replace(0, Some(xxh3_64(&params)));
        if has_changed {
            context.queue.write_buffer(&self.params, 0, &params);
        }
        let bodies = state.bytes(Field::Bodies).len() as u64;
        let device = &context.device;
        let belt = self
            .belt
            .get_or_insert_with(|| StagingBelt::new(device.clone(), bodies.max(LEAST)));
        let mut encoder = device.create_command_encoder(&Default::default());
        for (index, (field, buffer)) in self.fields.iter_mut().enumerate() {
            let bytes = state.bytes(*field);
            if look.is_some_and(|look| !is_read(*field, look)) {
                continue;
            }
            // But steps move bodies, whatever the hash.
            let hash = match field {
                Field::Bodies if has_stepped => None,
                _ => Some(hash(state, *field)),
            };
            if !replace(1 + index, hash) {
                continue;
            }
            has_changed = true;
            if buffer.size() < bytes.len() as u64 {
                *buffer = Source::for_upload(context, *field, state)?;
            }
            if let Some(size) = BufferSize::new(bytes.len() as u64) {
                belt.write_buffer(&mut encoder, buffer, 0, size)
                    .copy_from_slice(bytes);
            }
        }
        belt.finish_and_recall_on_submit(&encoder);
        context.queue.submit([encoder.finish()]);
        Ok(has_changed)
    }

    /// The buffer that shaders call `name`.
    pub fn by_name(&self, name: &str) -> Option<&wgpu::Buffer> {
        if name == "params" {
            return Some(&self.params);
        }
        let mut fields = self.fields.iter();
        let (_, buffer) = fields.find(|(field, _)| field.name() == name)?;
        Some(buffer)
    }
}

/// The bytes of a value in a uniform buffer.
pub(super) fn uniform<T: encase::ShaderType + encase::internal::WriteInto>(value: &T) -> Vec<u8> {
    let mut buffer = UniformBuffer::new(Vec::new());
    buffer.write(value).expect("a vector grows to any size");
    buffer.into_inner()
}
