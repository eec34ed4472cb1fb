//! Elements of the bodies at the borders of a part, between the device and the host: see `shaders/exchange.wgsl`.

use bytemuck::cast_slice;
use wgpu::{BufferBinding, BufferUsages};

use super::GpuEngine;
use super::buffers::Buffers;
use super::device::Context;
use super::dispatch::workgroups_for;
use super::entry_point::Kind;
use super::kernels::{Compiler, Object};
use super::program::Program;
use super::shaders::Shader;
use crate::model::error::Result;
use crate::state::{Field, State};

/// Bodies whose elements go to the host, and others whose elements come from there.
#[derive(Default)]
pub(super) struct Exchange {
    pub taken: Vec<Way>,
    put: Vec<Way>,
}

/// Way of the elements that some bodies have in a field.
pub(super) struct Way {
    field: Field,
    bodies: Vec<u32>,
    /// One after the other.
    pub moved: wgpu::Buffer,
    pipeline: wgpu::ComputePipeline,
    bound: wgpu::BindGroup,
}

/// Bytes that a thread copies.
const ROW: u64 = 16;

impl Way {
    /// The way of the elements that `bodies` have in a field, of which `state` has the lengths.
    fn new(
        context: &Context,
        buffers: &Buffers,
        program: &Program,
        state: &State,
        field: Field,
        bodies: &[u32],
    ) -> Result<Way> {
        let size = state.bytes(field).len() / state.bodies.len();
        let bytes: &[u8] = cast_slice(bodies);
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let places = context.create_buffer("places", bytes.len() as u64, usage)?;
        context.write(&places, 0, bytes);
        let length = (size * bodies.len()) as u64;
        let usage = usage | BufferUsages::COPY_SRC;
        let moved = context.create_buffer("moved", length, usage)?;
        let by_name = |name: &str| -> Option<BufferBinding<'_>> {
            match name {
                "places" => Some(places.as_entire_buffer_binding()),
                "moved" => Some(moved.as_entire_buffer_binding()),
                _ => buffers.by_name(field.name(), Object::Lists),
            }
        };
        Ok(Way {
            field,
            bodies: bodies.to_vec(),
            pipeline: program.pipeline.clone(),
            bound: program.bind(&context.device, by_name),
            moved,
        })
    }

    fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        let mut compute = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("exchange"),
            timestamp_writes: None,
        });
        compute.set_pipeline(&self.pipeline);
        compute.set_bind_group(0, &self.bound, &[]);
        let [x, y, z] = workgroups_for(self.moved.size() / ROW);
        compute.dispatch_workgroups(x, y, z);
    }

    /// Calls a function with each element in `state` and its place among those that move, bytes.
    fn for_each(&self, state: &mut State, mut act: impl FnMut(&mut [u8], usize)) {
        let size = self.moved.size() as usize / self.bodies.len();
        let all = state.bytes_mut(self.field);
        for (index, &body) in self.bodies.iter().enumerate() {
            let first = size * body as usize;
            act(&mut all[first..first + size], size * index);
        }
    }
}

impl Exchange {
    /// Has the device copy the elements that it takes.
    pub fn take(&self, encoder: &mut wgpu::CommandEncoder) {
        self.taken.iter().for_each(|way| way.encode(encoder));
    }

    /// Puts the elements that were taken into `state`.
    pub fn give(&self, mut bytes: &[u8], state: &mut State) {
        for way in &self.taken {
            let own;
            (own, bytes) = bytes.split_at(way.moved.size() as usize);
            way.for_each(state, |element, place| {
                element.copy_from_slice(&own[place..place + element.len()]);
            });
        }
    }
}

impl GpuEngine {
    /// Has steps beside others copy the elements of `taken` bodies to the host, and [`GpuEngine::put_bodies`] those of `put` ones to the
    /// device.
    ///
    /// # Errors
    /// If the device has no memory left.
    pub(in crate::step) fn set_exchange(
        &mut self,
        state: &State,
        fields: &[Field],
        [taken, put]: [Vec<u32>; 2],
    ) -> Result<()> {
        let (context, buffers) = (&self.context, &self.buffers);
        let compiler = Compiler {
            context,
            buffers,
            law: None,
        };
        let ways = |name: &'static str, bodies: &[u32]| -> Result<Vec<Way>> {
            if bodies.is_empty() {
                return Ok(Vec::new());
            }
            let program = compiler.program(name, Shader::Exchange, Kind::Keeps)?;
            let way = |&field| Way::new(context, buffers, &program, state, field, bodies);
            fields.iter().map(way).collect()
        };
        self.exchange = Exchange {
            taken: ways("exchange_take", &taken)?,
            put: ways("exchange_put", &put)?,
        };
        Ok(())
    }

    /// Overwrites the elements of the bodies that others step with those of `state`.
    pub(in crate::step) fn put_bodies(&self, state: &mut State) {
        if self.exchange.put.is_empty() {
            return;
        }
        let mut encoder = self.encoder();
        for way in &self.exchange.put {
            let mut bytes = vec![0; way.moved.size() as usize];
            way.for_each(state, |element, place| {
                bytes[place..place + element.len()].copy_from_slice(element);
            });
            self.context.write(&way.moved, 0, &bytes);
            way.encode(&mut encoder);
        }
        self.context.queue.submit([encoder.finish()]);
    }
}
