use std::collections::HashMap;

use naga::valid::{Capabilities, ValidationFlags, Validator};

use super::buffers::Buffers;
use super::device::Context;
use super::dispatch::{grid, workgroups_for};
use super::shaders;
use crate::error::{Error, Result};
use crate::layout::{Params, SCAN_BLOCK};
use crate::pass::Pass;
use crate::state::Field;

/// How many threads a kernel wants.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Threads {
    /// One for each sphere.
    Spheres,
    /// One for each body.
    Bodies,
    /// One for each bucket, and one more.
    Buckets,
    /// One workgroup for each block of buckets that the scan takes.
    BucketBlocks,
    /// One workgroup for each block of spheres that the scan takes.
    SphereBlocks,
    /// One for each wall.
    Walls,
    /// One workgroup.
    Group,
}

impl Threads {
    /// What the passes that build the neighbour lists want, in the order of `list_dispatch`.
    pub const OF_LISTS: [Threads; 5] = [
        Threads::Spheres,
        Threads::Buckets,
        Threads::BucketBlocks,
        Threads::SphereBlocks,
        Threads::Group,
    ];

    pub fn workgroups(self, params: &Params) -> [u32; 3] {
        match self {
            Threads::Spheres => workgroups_for(params.sphere_count.into()),
            Threads::Bodies => workgroups_for(params.body_count.into()),
            Threads::Buckets => workgroups_for(u64::from(params.bucket_count) + 1),
            Threads::BucketBlocks => grid(params.bucket_count.div_ceil(SCAN_BLOCK).into()),
            Threads::SphereBlocks => grid(params.sphere_count.div_ceil(SCAN_BLOCK).into()),
            Threads::Walls => workgroups_for(params.wall_count.into()),
            Threads::Group => [1, 1, 1],
        }
    }

    /// Place of the arguments of an indirect dispatch in `list_dispatch`, bytes: the second half
    /// of that buffer holds what a step gets.
    fn indirect_offset(self) -> u64 {
        let of_lists = Self::OF_LISTS;
        let place = of_lists.iter().position(|&threads| threads == self);
        let place = place.expect("a pass that builds lists has its threads in OF_LISTS");
        12 * (of_lists.len() + place) as u64
    }
}

/// An entry point of a pass.
struct Entry {
    name: &'static str,
    /// The pass whose file it stands in.
    file: Pass,
    threads: Threads,
    /// What the scan scans.
    counts: Field,
}

/// What a scene needs of the passes.
#[derive(Clone, Copy)]
struct Needs {
    /// Contacts remember.
    memory: bool,
    /// There are walls.
    walls: bool,
    /// Walls move, or the loads on them are asked for.
    moving_walls: bool,
    /// Forces besides those of contacts act on bodies.
    forces: bool,
}

/// The entry points of each pass, in their order.
fn entries(pass: Pass, needs: Needs) -> Vec<Entry> {
    use Threads::{Bodies, BucketBlocks, Buckets, Group, SphereBlocks, Spheres, Walls};
    let Needs { memory, .. } = needs;
    let own = |name, threads| Entry {
        name,
        file: pass,
        threads,
        counts: Field::BucketStarts,
    };
    let scan = |counts, blocks| {
        [
            ("scan_blocks", blocks),
            ("scan_sums", Group),
            ("scan_add", blocks),
        ]
        .map(|(name, threads)| Entry {
            name,
            file: Pass::Scan,
            threads,
            counts,
        })
    };
    match pass {
        Pass::Pose => vec![own("pose", Spheres)],
        Pass::Bin => vec![own("bin_clear", Buckets), own("bin", Spheres)],
        Pass::Scan => scan(Field::BucketStarts, BucketBlocks).into(),
        Pass::Scatter => vec![own("scatter", Spheres), own("scatter_rank", Spheres)],
        Pass::Neighbours => {
            let mut entries = Vec::new();
            if memory {
                entries.push(own("neighbours_keep", Spheres));
            }
            entries.push(own("neighbours_count", Spheres));
            entries.extend(scan(Field::NeighbourStarts, SphereBlocks));
            entries.push(own("neighbours_fill", Spheres));
            if memory {
                entries.push(own("neighbours_carry", Spheres));
            }
            entries
        }
        Pass::Contacts => vec![own("contacts", Spheres)],
        Pass::Walls if needs.walls => vec![own("walls_touch", Spheres)],
        Pass::Walls => Vec::new(),
        Pass::Forces if needs.forces => vec![own("forces", Bodies)],
        Pass::Forces => Vec::new(),
        Pass::Integrate if needs.moving_walls => {
            vec![own("integrate_walls", Walls), own("integrate", Bodies)]
        }
        Pass::Integrate => vec![own("integrate", Bodies)],
    }
}

/// A compiled entry point with its buffers.
struct Kernel {
    pipeline: wgpu::ComputePipeline,
    /// Binding and name of each variable that it uses.
    variables: Vec<(u32, String)>,
    counts: Field,
    bind_group: wgpu::BindGroup,
    threads: Threads,
    workgroups: [u32; 3],
}

/// All passes, compiled.
pub(super) struct Kernels {
    passes: HashMap<Pass, Vec<Kernel>>,
    /// The pose of a step that may not build the lists.
    pose_only: Vec<Kernel>,
}

impl Kernels {
    pub fn new(context: &Context, buffers: &Buffers, law: Option<&str>) -> Result<Kernels> {
        let mut passes = HashMap::new();
        for pass in Pass::ALL {
            passes.insert(pass, compile(pass, true, context, buffers, law)?);
        }
        Ok(Kernels {
            passes,
            pose_only: compile(Pass::Pose, false, context, buffers, law)?,
        })
    }

    /// Binds the buffers again, after one of them was replaced.
    pub fn bind(&mut self, context: &Context, buffers: &Buffers) {
        for kernel in self
            .passes
            .values_mut()
            .flatten()
            .chain(&mut self.pose_only)
        {
            kernel.bind_group = bind(
                context,
                &kernel.pipeline,
                &kernel.variables,
                kernel.counts,
                buffers,
            );
        }
    }

    /// Sets how many threads kernels get, after the number of bodies or spheres has changed.
    pub fn set_threads(&mut self, params: &Params) {
        for kernel in self
            .passes
            .values_mut()
            .flatten()
            .chain(&mut self.pose_only)
        {
            kernel.workgroups = kernel.threads.workgroups(params);
        }
    }

    /// Steps, one after the other. The first of every `period` may build the neighbour lists: the
    /// passes that do get their threads from the device, none while the lists hold.
    pub fn encode_steps(
        &self,
        steps: u64,
        period: u64,
        buffers: &Buffers,
        encoder: &mut wgpu::CommandEncoder,
    ) {
        let mut compute = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("steps"),
            timestamp_writes: None,
        });
        for step in 0..steps {
            if step.is_multiple_of(period) {
                for pass in Pass::ALL {
                    let indirect = pass.builds_lists().then_some(&buffers.list_dispatch);
                    dispatch(&self.passes[&pass], indirect, &mut compute);
                }
            } else {
                dispatch(&self.pose_only, None, &mut compute);
                dispatch(&self.passes[&Pass::Contacts], None, &mut compute);
                dispatch(&self.passes[&Pass::Walls], None, &mut compute);
                dispatch(&self.passes[&Pass::Forces], None, &mut compute);
                dispatch(&self.passes[&Pass::Integrate], None, &mut compute);
            }
        }
    }

    /// One step that may build the lists, with a timestamp before and after each pass.
    pub fn encode_timed_step(
        &self,
        buffers: &Buffers,
        encoder: &mut wgpu::CommandEncoder,
        query_set: &wgpu::QuerySet,
    ) {
        for (index, pass) in Pass::ALL.into_iter().enumerate() {
            let mut compute = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some(pass.name()),
                timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                    query_set,
                    beginning_of_pass_write_index: Some(2 * index as u32),
                    end_of_pass_write_index: Some(2 * index as u32 + 1),
                }),
            });
            let indirect = pass.builds_lists().then_some(&buffers.list_dispatch);
            dispatch(&self.passes[&pass], indirect, &mut compute);
        }
    }

    /// One pass, with all the threads that it wants.
    pub fn encode(&self, pass: Pass, encoder: &mut wgpu::CommandEncoder) {
        let mut compute = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some(pass.name()),
            timestamp_writes: None,
        });
        dispatch(&self.passes[&pass], None, &mut compute);
    }
}

/// The kernels of a pass, with all the threads that they want or with those that `indirect` has for
/// them.
fn dispatch(
    kernels: &[Kernel],
    indirect: Option<&wgpu::Buffer>,
    compute: &mut wgpu::ComputePass<'_>,
) {
    for kernel in kernels {
        compute.set_pipeline(&kernel.pipeline);
        compute.set_bind_group(0, &kernel.bind_group, &[]);
        let [x, y, z] = kernel.workgroups;
        match indirect {
            Some(buffer) => {
                compute.dispatch_workgroups_indirect(buffer, kernel.threads.indirect_offset());
            }
            None => compute.dispatch_workgroups(x, y, z),
        }
    }
}

/// Compiles the entry points of a pass and binds each one's buffers, by the names of the variables
/// that it uses: the shader's own declarations are the only list of them.
fn compile(
    pass: Pass,
    may_build: bool,
    context: &Context,
    buffers: &Buffers,
    law: Option<&str>,
) -> Result<Vec<Kernel>> {
    let mut kernels = Vec::new();
    let params = &buffers.params_value;
    let needs = Needs {
        memory: params.memory_size > 0,
        walls: params.wall_count > 0,
        moving_walls: params.wall_loads == 1 || buffers.has_moving_walls(),
        forces: params.forces == 1,
    };
    for Entry {
        name,
        file,
        threads,
        counts,
    } in entries(pass, needs)
    {
        let source = match law {
            Some(law) if matches!(file, Pass::Contacts | Pass::Walls) => {
                shaders::source_with_law(file, law)
            }
            _ => shaders::source(file),
        };
        let wrong = |message: String| Error::Shader {
            name: file.name(),
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
                label: Some(name),
                source: wgpu::ShaderSource::Wgsl(source.into()),
            });
        let index = module
            .entry_points
            .iter()
            .position(|entry| entry.name == name)
            .ok_or_else(|| wrong(format!("there is no entry point `{name}`")))?;
        let uses = info.get_entry_point(index);
        let variables: Vec<(u32, String)> = module
            .global_variables
            .iter()
            .filter(|(handle, _)| !uses[*handle].is_empty())
            .filter_map(|(_, variable)| {
                Some((variable.binding.as_ref()?.binding, variable.name.clone()?))
            })
            .collect();
        if let Some((_, name)) = variables
            .iter()
            .find(|(_, name)| buffers.by_name(name, counts).is_none())
        {
            return Err(wrong(format!("there is no buffer `{name}`")));
        }
        // The law and the size of the memory are known when a pipeline is made: the driver's compiler
        // then leaves out what others need.
        let wanted = [
            ("LAW", params.law),
            ("MEMORY_SIZE", params.memory_size),
            ("MAY_BUILD", may_build.into()),
        ];
        let constants: Vec<(&str, f64)> = wanted
            .into_iter()
            .filter(|(wanted, _)| {
                let mut names = module.overrides.iter().map(|(_, o)| o.name.as_deref());
                names.any(|name| name == Some(wanted))
            })
            .map(|(name, value)| (name, value.into()))
            .collect();
        let pipeline = context
            .device
            .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: None,
                module: &shader,
                entry_point: Some(name),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants: &constants,
                    ..Default::default()
                },
                cache: None,
            });
        kernels.push(Kernel {
            bind_group: bind(context, &pipeline, &variables, counts, buffers),
            pipeline,
            variables,
            counts,
            threads,
            workgroups: threads.workgroups(&buffers.params_value),
        });
    }
    Ok(kernels)
}

fn bind(
    context: &Context,
    pipeline: &wgpu::ComputePipeline,
    variables: &[(u32, String)],
    counts: Field,
    buffers: &Buffers,
) -> wgpu::BindGroup {
    let entries: Vec<wgpu::BindGroupEntry> = variables
        .iter()
        .filter_map(|(binding, name)| {
            let resource = wgpu::BindingResource::Buffer(buffers.by_name(name, counts)?);
            Some(wgpu::BindGroupEntry {
                binding: *binding,
                resource,
            })
        })
        .collect();
    context
        .device
        .create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        })
}
