//! The buffers that pictures are drawn from: the simulation's own, or copies of a host's.

use encase::UniformBuffer;
use wgpu::BufferUsages;

use crate::error::Result;
use crate::gpu::{Context, GpuEngine};
use crate::simulation::Simulation;
use crate::state::{Field, State};

/// What pictures read of the state.
const FIELDS: [Field; 6] = [
    Field::Properties,
    Field::Members,
    Field::Walls,
    Field::Bodies,
    Field::SphereLoads,
    Field::BodyLoads,
];

/// The buffers that pictures are drawn from.
pub(super) struct Source {
    params: wgpu::Buffer,
    /// A buffer for each of [`FIELDS`].
    fields: [wgpu::Buffer; FIELDS.len()],
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
            fields: FIELDS.map(|field| engine.buffer(field).clone()),
            shared: true,
        }
    }

    fn for_uploads(context: &Context, state: &State) -> Result<Source> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let mut fields = Vec::with_capacity(FIELDS.len());
        for field in FIELDS {
            let size = state.bytes(field).len() as u64;
            let usage = match field {
                Field::Walls => usage | BufferUsages::UNIFORM,
                _ => usage,
            };
            fields.push(context.create_buffer(field.name(), size, usage)?);
        }
        let size = uniform(&state.params).len() as u64;
        let usage = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        Ok(Source {
            params: context.create_buffer("params", size, usage)?,
            fields: fields.try_into().expect("a buffer for each field"),
            shared: false,
        })
    }

    /// Brings the copies up to date, if they are copies.
    pub fn update(&self, context: &Context, simulation: &Simulation) {
        if self.shared {
            return;
        }
        let state = simulation.on_host();
        context
            .queue
            .write_buffer(&self.params, 0, &uniform(&state.params));
        for (field, buffer) in FIELDS.into_iter().zip(&self.fields) {
            context.queue.write_buffer(buffer, 0, state.bytes(field));
        }
    }

    /// The buffer that shaders call `name`.
    pub fn by_name(&self, name: &str) -> Option<&wgpu::Buffer> {
        if name == "params" {
            return Some(&self.params);
        }
        let place = FIELDS.iter().position(|field| field.name() == name)?;
        Some(&self.fields[place])
    }
}

/// A value as a uniform buffer holds it.
pub(super) fn uniform<T: encase::ShaderType + encase::internal::WriteInto>(value: &T) -> Vec<u8> {
    let mut buffer = UniformBuffer::new(Vec::new());
    buffer.write(value).expect("a vector grows to any size");
    buffer.into_inner()
}
