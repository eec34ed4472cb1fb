//! The buffers that pictures are drawn from: the simulation's own, or copies of a host's.

use encase::UniformBuffer;
use wgpu::BufferUsages;

use crate::model::error::Result;
use crate::simulation::Simulation;
use crate::state::{Field, State, quantities};
use crate::step::gpu::{Context, GpuEngine};

/// What pictures read of the state.
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

/// Size of a buffer that has nothing in it yet, bytes: more than any element takes.
const LEAST: u64 = 256;

/// The buffers that pictures are drawn from.
pub(super) struct Source {
    params: wgpu::Buffer,
    /// A buffer for each field that pictures [read].
    fields: Vec<(Field, wgpu::Buffer)>,
    /// Whether they are the engine's, which need no upload.
    shared: bool,
}

impl Source {
    /// The buffers of a simulation on `context`: those of its engine where that is the GPU's, else new
    /// ones for [`Source::update`] to fill.
    pub fn new(context: &Context, simulation: &Simulation) -> Result<Source> {
        match simulation.gpu() {
            Some(engine) => Ok(Source::of_engine(engine)),
            None => Source::for_uploads(context, simulation.on_host()),
        }
    }

    fn of_engine(engine: &GpuEngine) -> Source {
        Source {
            // A clone is another handle of the same buffer.
            params: engine.params_buffer().clone(),
            fields: read()
                .map(|field| (field, engine.buffer(field).clone()))
                .collect(),
            shared: true,
        }
    }

    fn for_uploads(context: &Context, state: &State) -> Result<Source> {
        let buffer = |field| Ok((field, Source::for_upload(context, field, state)?));
        let size = uniform(&state.params).len() as u64;
        let usage = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        Ok(Source {
            params: context.create_buffer("params", size, usage)?,
            fields: read().map(buffer).collect::<Result<_>>()?,
            shared: false,
        })
    }

    fn for_upload(context: &Context, field: Field, state: &State) -> Result<wgpu::Buffer> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let usage = match field {
            Field::Walls => usage | BufferUsages::UNIFORM,
            _ => usage,
        };
        let size = state.bytes(field).len() as u64;
        context.create_buffer(field.name(), size.max(LEAST), usage)
    }

    /// Brings the copies up to date, if they are copies. Bodies that have come in may have made the engine
    /// take others, or may need larger ones.
    pub fn update(&mut self, context: &Context, simulation: &Simulation) -> Result<()> {
        if let Some(engine) = simulation.gpu().filter(|_| self.shared) {
            *self = Source::of_engine(engine);
            return Ok(());
        }
        let state = simulation.on_host();
        context
            .queue
            .write_buffer(&self.params, 0, &uniform(&state.params));
        for (field, buffer) in &mut self.fields {
            let bytes = state.bytes(*field);
            if buffer.size() < bytes.len() as u64 {
                *buffer = Source::for_upload(context, *field, state)?;
            }
            context.queue.write_buffer(buffer, 0, bytes);
        }
        Ok(())
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

/// A value as a uniform buffer holds it.
pub(super) fn uniform<T: encase::ShaderType + encase::internal::WriteInto>(value: &T) -> Vec<u8> {
    let mut buffer = UniformBuffer::new(Vec::new());
    buffer.write(value).expect("a vector grows to any size");
    buffer.into_inner()
}
