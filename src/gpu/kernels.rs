use std::collections::HashMap;

use naga::valid::{Capabilities, ValidationFlags, Validator};

use super::buffers::Buffers;
use super::device::Context;
use super::dispatch::{grid, workgroups_for};
use super::shaders;
use crate::error::{Error, Result};
use crate::layout::SCAN_BLOCK;
use crate::pass::Pass;
use crate::state::Field;

/// How many threads a kernel wants.
#[derive(Clone, Copy)]
enum Threads {
    /// One for each sphere.
    Spheres,
    /// One for each body.
    Bodies,
    /// One workgroup for each block of the scan.
    Blocks,
    /// One workgroup.
    Group,
}

/// The entry points of each pass, in their order.
fn entry_points(pass: Pass) -> &'static [(&'static str, Threads)] {
    match pass {
        Pass::Pose => &[("pose", Threads::Spheres)],
        Pass::Bin => &[("bin", Threads::Spheres)],
        Pass::Scan => &[
            ("scan_blocks", Threads::Blocks),
            ("scan_sums", Threads::Group),
            ("scan_add", Threads::Blocks),
        ],
        Pass::Scatter => &[
            ("scatter", Threads::Spheres),
            ("scatter_rank", Threads::Spheres),
        ],
        Pass::Contacts => &[("contacts", Threads::Spheres)],
        Pass::Integrate => &[("integrate", Threads::Bodies)],
    }
}

/// A compiled entry point with its buffers.
struct Kernel {
    pipeline: wgpu::ComputePipeline,
    bind_group: wgpu::BindGroup,
    workgroups: [u32; 3],
}

/// All passes, compiled.
pub(super) struct Kernels {
    passes: HashMap<Pass, Vec<Kernel>>,
}

impl Kernels {
    pub fn new(context: &Context, buffers: &Buffers) -> Result<Kernels> {
        let mut passes = HashMap::new();
        for pass in Pass::ALL {
            passes.insert(pass, compile(pass, context, buffers)?);
        }
        Ok(Kernels { passes })
    }

    /// All passes of a step.
    pub fn encode_step(&self, buffers: &Buffers, encoder: &mut wgpu::CommandEncoder) {
        for pass in Pass::ALL {
            self.encode(pass, buffers, encoder, None);
        }
    }

    /// One pass; with `timer`, the query set and the place of the pass in it.
    pub fn encode(
        &self,
        pass: Pass,
        buffers: &Buffers,
        encoder: &mut wgpu::CommandEncoder,
        timer: Option<(&wgpu::QuerySet, usize)>,
    ) {
        if pass == Pass::Bin {
            encoder.clear_buffer(buffers.field(Field::BucketStarts), 0, None);
        }
        let mut compute = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some(pass.name()),
            timestamp_writes: timer.map(|(query_set, index)| wgpu::ComputePassTimestampWrites {
                query_set,
                beginning_of_pass_write_index: Some(2 * index as u32),
                end_of_pass_write_index: Some(2 * index as u32 + 1),
            }),
        });
        for kernel in &self.passes[&pass] {
            compute.set_pipeline(&kernel.pipeline);
            compute.set_bind_group(0, &kernel.bind_group, &[]);
            let [x, y, z] = kernel.workgroups;
            compute.dispatch_workgroups(x, y, z);
        }
    }
}

/// Compiles the entry points of a pass and binds each one's buffers, by the names of the variables
/// that it uses: the shader's own declarations are the only list of them.
fn compile(pass: Pass, context: &Context, buffers: &Buffers) -> Result<Vec<Kernel>> {
    let source = shaders::source(pass);
    let wrong = |message: String| Error::Shader {
        name: pass.name(),
        message,
    };
    let module = naga::front::wgsl::parse_str(&source)
        .map_err(|error| wrong(error.emit_to_string(&source)))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map_err(|error| wrong(error.emit_to_string(&source)))?;
    let shader = context
        .device
        .create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(pass.name()),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });

    let mut kernels = Vec::new();
    for &(name, threads) in entry_points(pass) {
        let index = module
            .entry_points
            .iter()
            .position(|entry| entry.name == name)
            .ok_or_else(|| wrong(format!("there is no entry point `{name}`")))?;
        let uses = info.get_entry_point(index);
        let mut entries = Vec::new();
        for (handle, variable) in module.global_variables.iter() {
            let Some(binding) = &variable.binding else {
                continue;
            };
            if uses[handle].is_empty() {
                continue;
            }
            let name = variable.name.as_deref().unwrap_or_default();
            let buffer = buffers
                .by_name(name)
                .ok_or_else(|| wrong(format!("there is no buffer `{name}`")))?;
            entries.push(wgpu::BindGroupEntry {
                binding: binding.binding,
                resource: buffer.as_entire_binding(),
            });
        }
        let pipeline = context
            .device
            .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: None,
                module: &shader,
                entry_point: Some(name),
                compilation_options: Default::default(),
                cache: None,
            });
        let bind_group = context
            .device
            .create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(name),
                layout: &pipeline.get_bind_group_layout(0),
                entries: &entries,
            });
        let workgroups = match threads {
            Threads::Spheres => workgroups_for(buffers.sphere_count.into()),
            Threads::Bodies => workgroups_for(buffers.body_count.into()),
            Threads::Blocks => grid(buffers.bucket_count.div_ceil(SCAN_BLOCK).into()),
            Threads::Group => [1, 1, 1],
        };
        kernels.push(Kernel {
            pipeline,
            bind_group,
            workgroups,
        });
    }
    Ok(kernels)
}
