use encase::UniformBuffer;
use wgpu::BufferUsages;

use super::device::Context;
use crate::error::{Error, Result};
use crate::layout::SCAN_BLOCK;
use crate::state::{Field, State};

/// The buffers of a simulation on the device: one for each [`Field`], and two of the GPU's own.
pub(super) struct Buffers {
    pub params: wgpu::Buffer,
    fields: Vec<wgpu::Buffer>,
    /// Sums of the blocks of the scan.
    block_sums: wgpu::Buffer,
    pub body_count: u32,
    pub sphere_count: u32,
    pub bucket_count: u32,
}

impl Buffers {
    pub fn new(context: &Context, state: &State) -> Result<Buffers> {
        let storage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let mut fields = Vec::with_capacity(Field::ALL.len());
        for field in Field::ALL {
            let size = state.bytes(field).len() as u64;
            fields.push(context.create_buffer(field.name(), size, storage)?);
        }
        let blocks = u64::from(state.params.bucket_count.div_ceil(SCAN_BLOCK));
        let params = context.create_buffer(
            "params",
            uniform(state).len() as u64,
            BufferUsages::UNIFORM | BufferUsages::COPY_DST,
        )?;
        let block_sums = context.create_buffer("block_sums", 4 * blocks, storage)?;
        let buffers = Buffers {
            params,
            fields,
            block_sums,
            body_count: state.params.body_count,
            sphere_count: state.params.sphere_count,
            bucket_count: state.params.bucket_count,
        };
        buffers.upload(context, state);
        Ok(buffers)
    }

    pub fn field(&self, field: Field) -> &wgpu::Buffer {
        &self.fields[field as usize]
    }

    /// The buffer that a shader calls `name`.
    pub fn by_name(&self, name: &str) -> Option<&wgpu::Buffer> {
        match name {
            "params" => Some(&self.params),
            "block_sums" => Some(&self.block_sums),
            _ => Field::ALL
                .iter()
                .find(|field| field.name() == name)
                .map(|&field| self.field(field)),
        }
    }

    pub fn size(&self) -> u64 {
        let own = self.params.size() + self.block_sums.size();
        own + self.fields.iter().map(wgpu::Buffer::size).sum::<u64>()
    }

    pub fn upload(&self, context: &Context, state: &State) {
        context.queue.write_buffer(&self.params, 0, &uniform(state));
        for field in Field::ALL {
            context
                .queue
                .write_buffer(self.field(field), 0, state.bytes(field));
        }
    }

    pub fn download(&self, context: &Context, field: Field, bytes: &mut [u8]) -> Result<()> {
        context.read(self.field(field), 0, bytes)
    }
}

fn uniform(state: &State) -> Vec<u8> {
    let mut buffer = UniformBuffer::new(Vec::new());
    buffer
        .write(&state.params)
        .expect("a vector grows to any size");
    buffer.into_inner()
}

impl Context {
    /// A buffer, or an error that says why there can be none.
    pub(super) fn create_buffer(
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
