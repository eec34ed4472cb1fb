//! Bodies are taken away on the device: see `shaders/remove.wgsl`.

use bytemuck::cast_slice;
use wgpu::{BufferBinding, BufferUsages};

use super::buffers::Buffers;
use super::device::Context;
use super::dispatch::{grid, workgroups_for};
use super::entry_point::Kind;
use super::kernels::{Compiler, Object, SCAN};
use super::program::Program;
use super::shaders::Shader;
use crate::model::error::Result;
use crate::state::Field;
use crate::state::layout::SCAN_BLOCK;

/// The entry points, compiled.
pub(super) struct Removal {
    places: Program,
    count: Program,
    scan_blocks: Program,
    scan_sums: Program,
    scan_add: Program,
    wake: Program,
    rows: Program,
    history: Program,
    entries: Program,
    starts: Program,
}

/// The fields whose elements move with the bodies, and those whose elements move with the spheres.
const OF_BODIES: [Field; 4] = [
    Field::Bodies,
    Field::BodyForces,
    Field::BodyHeat,
    Field::BodyBonds,
];
const OF_SPHERES: [Field; 2] = [Field::Spheres, Field::SphereLoads];

/// Bytes of a row.
const ROW: u64 = 16;

impl Removal {
    pub fn new(context: &Context, buffers: &Buffers) -> Result<Removal> {
        let compiler = Compiler {
            context,
            buffers,
            law: None,
        };
        let program = |name: &'static str, file| compiler.program(name, file, Kind::Keeps);
        let own = |name: &'static str| program(name, Shader::Remove);
        Ok(Removal {
            places: own("remove_places")?,
            count: own("remove_count")?,
            scan_blocks: program("scan_blocks", SCAN)?,
            scan_sums: program("scan_sums", SCAN)?,
            scan_add: program("scan_add", SCAN)?,
            wake: own("remove_wake")?,
            rows: own("remove_rows")?,
            history: own("remove_history")?,
            entries: own("remove_entries")?,
            starts: own("remove_starts")?,
        })
    }

    /// Takes bodies away, each given with the number of spheres that they have as far as this one; `entries` is how many
    /// entries the neighbour lists have. The elements of those that go are behind those of the others afterwards, in
    /// their order.
    pub async fn submit(
        &self,
        context: &Context,
        buffers: &Buffers,
        removed: &[[u32; 2]],
        entries: u32,
    ) -> Result<()> {
        let params = &buffers.params_value;
        let (bodies, spheres) = (u64::from(params.body_count), u64::from(params.sphere_count));
        let bytes: &[u8] = cast_slice(removed);
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let size = bytes.len() as u64;
        let gone = context.create_buffer_async("removed", size, usage).await?;
        context.write(&gone, 0, bytes);

        let history = 4 * u64::from(params.history_values) * u64::from(entries);
        let rows = OF_BODIES.iter().chain(&OF_SPHERES);
        let rows = rows.map(|&field| buffers.length(field));
        let listed = [4 * (spheres + 1), 4 * u64::from(entries), history];
        let size = rows.chain(listed).max().unwrap_or(0).next_multiple_of(ROW);
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
        let moved = context.create_buffer_async("moved", size, usage).await?;

        let mut course = Course {
            context,
            buffers,
            gone: &gone,
            moved: &moved,
            encoder: context.device.create_command_encoder(&Default::default()),
        };
        let blocks = grid(spheres.div_ceil(SCAN_BLOCK.into()));
        let (each_body, each_sphere) = (workgroups_for(bodies), workgroups_for(spheres));
        course.run(&self.places, None, each_body);
        course.run(&self.count, None, each_sphere);
        course.run(&self.scan_blocks, None, blocks);
        course.run(&self.scan_sums, None, [1, 1, 1]);
        course.run(&self.scan_add, None, blocks);
        course.run(&self.wake, None, each_body);
        for field in OF_BODIES.into_iter().chain(OF_SPHERES) {
            let length = buffers.length(field);
            if length > 0 {
                course.run(&self.rows, Some(field), workgroups_for(length / ROW));
                course.put_back(field, length);
            }
        }
        if history > 0 {
            course.run(&self.history, Some(Field::History), each_sphere);
            course.put_back(Field::History, history);
        }
        course.run(&self.entries, None, each_sphere);
        course.put_back(Field::Neighbours, 4 * u64::from(entries));
        course.run(&self.starts, None, workgroups_for(spheres + 1));
        let stay = removed
            .last()
            .map_or(spheres, |last| spheres - u64::from(last[1]));
        course.put_back(Field::NeighbourStarts, 4 * (stay + 1));
        context.queue.submit([course.encoder.finish()]);
        Ok(())
    }
}

/// The commands of a removal.
struct Course<'a> {
    context: &'a Context,
    buffers: &'a Buffers,
    gone: &'a wgpu::Buffer,
    moved: &'a wgpu::Buffer,
    encoder: wgpu::CommandEncoder,
}

impl Course<'_> {
    /// Runs an entry point; `moving` is the field whose elements it moves, if it works on any.
    fn run(&mut self, program: &Program, moving: Option<Field>, workgroups: [u32; 3]) {
        let by_name = |name: &str| self.by_name(name, moving);
        let bound = program.bind(&self.context.device, by_name);
        let mut compute = self
            .encoder
            .begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("remove"),
                timestamp_writes: None,
            });
        compute.set_pipeline(&program.pipeline);
        compute.set_bind_group(0, &bound, &[]);
        let [x, y, z] = workgroups;
        compute.dispatch_workgroups(x, y, z);
    }

    /// Copies what was moved to the start of its field.
    fn put_back(&mut self, field: Field, length: u64) {
        let (to, offset) = (self.buffers.field(field), self.buffers.offset(field));
        self.encoder
            .copy_buffer_to_buffer(self.moved, 0, to, offset, length);
    }

    /// The buffer that the shader calls `name`. What it keeps on the way is where the next neighbour lists begin anew.
    fn by_name(&self, name: &str, moving: Option<Field>) -> Option<BufferBinding<'_>> {
        let buffers = self.buffers;
        let params = &buffers.params_value;
        let part = |buffer, elements: u32| BufferBinding {
            buffer,
            offset: 0,
            size: wgpu::BufferSize::new(4 * u64::from(elements)),
        };
        let of_bodies = part(buffers.field(Field::Slots), params.body_count);
        let of_spheres = part(buffers.field(Field::Unsorted), params.sphere_count);
        match name {
            "removed" => Some(self.gone.as_entire_buffer_binding()),
            "moved" | "moved_entries" => Some(self.moved.as_entire_buffer_binding()),
            "body_places" => Some(of_bodies),
            "sphere_places" => Some(of_spheres),
            "places" if OF_BODIES.contains(&moving?) => Some(of_bodies),
            "places" => Some(of_spheres),
            "rows" | "numbers" => buffers.by_name(moving?.name(), Object::Lists),
            "counts" => {
                let starts = buffers.by_name("kept_starts", Object::Lists)?;
                Some(part(starts.buffer, params.sphere_count + 1))
            }
            _ => buffers.by_name(name, Object::Lists),
        }
    }
}
