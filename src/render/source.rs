//! The buffers that pictures are drawn from: the simulation's own, or copies of a host's.

use bytemuck::{Pod, Zeroable};
use encase::UniformBuffer;
use glam::{IVec3, Vec3};
use wgpu::BufferUsages;

use crate::error::Result;
use crate::gpu::{Context, GpuEngine};
use crate::layout::PLANE;
use crate::simulation::Simulation;
use crate::state::{Field, State};

/// What pictures read of the state.
const FIELDS: [Field; 5] = [
    Field::Properties,
    Field::Members,
    Field::Bodies,
    Field::SphereLoads,
    Field::BodyLoads,
];

/// The buffers that pictures are drawn from.
pub(super) struct Source {
    params: wgpu::Buffer,
    /// A buffer for each of [`FIELDS`].
    fields: [wgpu::Buffer; FIELDS.len()],
    planes: wgpu::Buffer,
    /// Whether they are the engine's, which need no upload.
    shared: bool,
}

impl Source {
    /// The buffers of a simulation on `context`: those of its engine where that is the GPU's, else new
    /// ones for [`Source::update`] to fill.
    pub fn new(context: &Context, simulation: &Simulation) -> Result<Source> {
        match simulation.gpu() {
            Some(engine) => Source::of_engine(context, engine, simulation.on_host()),
            None => Source::for_uploads(context, simulation.on_host()),
        }
    }

    fn of_engine(context: &Context, engine: &GpuEngine, state: &State) -> Result<Source> {
        Ok(Source {
            // A clone is another handle of the same buffer.
            params: engine.params_buffer().clone(),
            fields: FIELDS.map(|field| engine.buffer(field).clone()),
            planes: planes_buffer(context, state)?,
            shared: true,
        })
    }

    fn for_uploads(context: &Context, state: &State) -> Result<Source> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let mut fields = Vec::with_capacity(FIELDS.len());
        for field in FIELDS {
            let size = state.bytes(field).len() as u64;
            fields.push(context.create_buffer(field.name(), size, usage)?);
        }
        let size = uniform(&state.params).len() as u64;
        let usage = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        Ok(Source {
            params: context.create_buffer("params", size, usage)?,
            fields: fields.try_into().expect("a buffer for each field"),
            planes: planes_buffer(context, state)?,
            shared: false,
        })
    }

    /// Brings the copies up to date, if they are copies.
    pub fn update(&self, context: &Context, simulation: &Simulation) {
        let state = simulation.on_host();
        let planes = planes(state);
        context
            .queue
            .write_buffer(&self.planes, 0, bytemuck::cast_slice(&planes));
        if self.shared {
            return;
        }
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
        if name == "planes" {
            return Some(&self.planes);
        }
        let place = FIELDS.iter().position(|field| field.name() == name)?;
        Some(&self.fields[place])
    }
}

/// An infinite plane, as shaders draw it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Plane {
    /// A point of the plane within its cell, m.
    pub offset: Vec3,
    /// Index of the material.
    pub material: u32,
    /// Cell of that point.
    pub cell: IVec3,
    /// Zero.
    pub _pad0: u32,
    /// Unit normal.
    pub normal: Vec3,
    /// Zero.
    pub _pad1: u32,
}

/// The walls that are infinite planes.
pub(super) fn planes(state: &State) -> Vec<Plane> {
    let planes = state.facets().iter().filter(|facet| facet.kind == PLANE);
    planes
        .map(|facet| {
            let wall = &state.walls[facet.wall as usize];
            Plane {
                offset: wall.offset,
                material: wall.material,
                cell: wall.cell,
                normal: glam::Quat::from_vec4(wall.orientation) * facet.a,
                ..Plane::default()
            }
        })
        .collect()
}

fn planes_buffer(context: &Context, state: &State) -> Result<wgpu::Buffer> {
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
    // A storage buffer cannot be empty.
    let size = planes(state).len().max(1) * size_of::<Plane>();
    context.create_buffer("planes", size as u64, usage)
}

/// A value as a uniform buffer holds it.
pub(super) fn uniform<T: encase::ShaderType + encase::internal::WriteInto>(value: &T) -> Vec<u8> {
    let mut buffer = UniformBuffer::new(Vec::new());
    buffer.write(value).expect("a vector grows to any size");
    buffer.into_inner()
}
