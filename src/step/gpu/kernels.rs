use std::collections::HashMap;

use super::buffers::Buffers;
use super::device::Context;
use super::dispatch::{grid, workgroups_for};
use super::entry_point::{EntryPoint, Kind, Variant};
use super::program::Program;
use super::shaders::Shader;
use crate::model::error::Result;
use crate::state::SLICES;
use crate::state::layout::{Params, SCAN_BLOCK};
use crate::step::Pass;

/// Number of threads that a kernel wants.
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
    /// One for each sphere of a slice.
    Slice(u32),
    /// One workgroup.
    Group,
}

impl Threads {
    /// Threads of the passes that build the neighbour lists, in the order of `list_dispatch`.
    pub const OF_LISTS: [Threads; 5 + SLICES as usize] = {
        let mut all = [Threads::Group; 5 + SLICES as usize];
        all[1] = Threads::Spheres;
        all[2] = Threads::Buckets;
        all[3] = Threads::BucketBlocks;
        all[4] = Threads::SphereBlocks;
        let mut slice = 0;
        while slice < SLICES {
            all[5 + slice as usize] = Threads::Slice(slice);
            slice += 1;
        }
        all
    };

    pub fn workgroups(self, params: &Params) -> [u32; 3] {
        match self {
            Threads::Spheres => workgroups_for(params.sphere_count.into()),
            Threads::Bodies => workgroups_for(params.body_count.into()),
            Threads::Buckets => workgroups_for(u64::from(params.bucket_count) + 1),
            Threads::BucketBlocks => grid(params.bucket_count.div_ceil(SCAN_BLOCK).into()),
            Threads::SphereBlocks => grid(params.sphere_count.div_ceil(SCAN_BLOCK).into()),
            Threads::Walls => workgroups_for(params.wall_count.into()),
            Threads::Slice(slice) => {
                let before = u64::from(slice) * u64::from(params.slice_length);
                let left = u64::from(params.sphere_count).saturating_sub(before);
                workgroups_for(left.min(params.slice_length.into()))
            }
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
pub(super) struct Entry {
    pub name: &'static str,
    /// The file it stands in.
    pub file: Shader,
    threads: Threads,
    object: Object,
}

/// Object of an entry point that works on one of several.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Object {
    /// The buckets of the grid.
    Buckets,
    /// The neighbour lists.
    Lists,
    /// Neighbour lists of a slice.
    Slice(u32),
}

/// Features of a scene on which it depends which passes and kernels run.
#[derive(Clone, Copy)]
pub(super) struct Needs {
    /// Contacts have a history.
    history: bool,
    /// There are walls.
    walls: bool,
    /// Walls move, or the loads on them are asked for.
    moving_walls: bool,
    /// Forces besides those of contacts act on bodies.
    forces: bool,
    /// Bodies are bonded.
    bonds: bool,
    /// Bodies have temperatures.
    heat: bool,
    /// The periodic box deforms.
    deforms: bool,
    /// Spheres are derived from their bodies.
    derives: bool,
}

impl Needs {
    pub fn of(params: &Params, moving_walls: bool) -> Needs {
        Needs {
            history: params.history_size > 0,
            walls: params.wall_count > 0,
            moving_walls: params.wall_loads == 1 || moving_walls,
            forces: params.forces == 1,
            bonds: params.bonds == 1,
            heat: params.heat == 1,
            deforms: params.deforms == 1,
            derives: params.derives_spheres(),
        }
    }
}

/// The file of the scan, which several others have a use for.
pub(super) const SCAN: Shader = Shader::Pass(Pass::Scan);

/// The entry points of each pass, in their order.
pub(super) fn entries(pass: Pass, needs: Needs) -> Vec<Entry> {
    use Threads::{Bodies, BucketBlocks, Buckets, Group, SphereBlocks, Spheres, Walls};
    let Needs { history, .. } = needs;
    let own = |name, threads| Entry {
        name,
        file: Shader::Pass(pass),
        threads,
        object: Object::Buckets,
    };
    let scan = |object, blocks| {
        [
            ("scan_blocks", blocks),
            ("scan_sums", Group),
            ("scan_add", blocks),
        ]
        .map(|(name, threads)| Entry {
            name,
            file: SCAN,
            threads,
            object,
        })
    };
    match pass {
        Pass::Pose if needs.deforms => vec![own("pose_box", Group), own("pose", Spheres)],
        Pass::Pose => vec![own("pose", Spheres)],
        Pass::Bin => vec![own("bin_clear", Buckets), own("bin", Spheres)],
        Pass::Scan => scan(Object::Buckets, BucketBlocks).into(),
        Pass::Scatter => vec![own("scatter", Spheres), own("scatter_rank", Spheres)],
        Pass::Neighbours => {
            let mut entries = vec![own("neighbours_count", Spheres)];
            entries.extend(scan(Object::Lists, SphereBlocks));
            entries.push(own("neighbours_room", Group));
            for slice in 0..SLICES {
                let object = Object::Slice(slice);
                let fill = own("neighbours_fill", Threads::Slice(slice));
                entries.push(Entry { object, ..fill });
                if history {
                    let carry = own("neighbours_carry", Threads::Slice(slice));
                    entries.push(Entry { object, ..carry });
                }
            }
            entries
        }
        Pass::Contacts => vec![own("contacts", Spheres)],
        Pass::Walls if needs.walls => vec![own("walls_touch", Spheres)],
        Pass::Walls => Vec::new(),
        Pass::Forces if needs.forces => vec![own("forces", Bodies)],
        Pass::Forces => Vec::new(),
        Pass::Bonds if needs.bonds => vec![own("bonds_hold", Bodies)],
        Pass::Bonds => Vec::new(),
        Pass::Heat if needs.heat => vec![own("heat_flow", Bodies), own("heat", Bodies)],
        Pass::Heat => Vec::new(),
        Pass::Integrate if needs.moving_walls => {
            vec![own("integrate_walls", Walls), own("integrate", Bodies)]
        }
        Pass::Integrate => vec![own("integrate", Bodies)],
    }
}

/// The entry points in place of those of `integrate` and of the next `pose`, and before those that build lists, where that
/// `pose` is left out.
pub(super) fn entries_of_posing(needs: Needs) -> [Vec<Entry>; 3] {
    let own = |pass, name, threads| Entry {
        name,
        file: Shader::Pass(pass),
        threads,
        object: Object::Buckets,
    };
    let mut integrate = entries(Pass::Integrate, needs);
    let mut listed = Vec::new();
    if needs.derives {
        listed.push(own(Pass::Pose, "pose_listed", Threads::Spheres));
    } else {
        integrate.pop();
        integrate.push(own(Pass::Integrate, "integrate_pose", Threads::Bodies));
    }
    let decide = own(Pass::Pose, "pose_decide", Threads::Group);
    [integrate, vec![decide], listed]
}

/// A compiled entry point with its buffers.
struct Kernel {
    program: Program,
    object: Object,
    bind_group: wgpu::BindGroup,
    threads: Threads,
    workgroups: [u32; 3],
}

/// All passes, compiled.
pub(super) struct Kernels {
    passes: HashMap<Pass, Vec<Kernel>>,
    /// The pose of a step that may not build the lists.
    pose_only: Vec<Kernel>,
    posing: Option<Posing>,
}

/// Kernels of steps without a `pose`: spheres are posed at the end of the step before, while their bodies are at hand, or,
/// if they are derived from these, only where lists are built.
struct Posing {
    /// In place of `integrate`.
    integrate: Vec<Kernel>,
    /// In place of the next `pose`, if that step may build the lists.
    pose: Vec<Kernel>,
    /// After that, with the threads of the passes that build lists.
    listed: Vec<Kernel>,
    /// In place of its `pose` and `contacts`, if it may not.
    contacts: Vec<Kernel>,
}

impl Kernels {
    pub fn new(context: &Context, buffers: &Buffers, law: Option<&str>) -> Result<Kernels> {
        let compiler = Compiler {
            context,
            buffers,
            law,
        };
        let mut passes = HashMap::new();
        for pass in Pass::ALL {
            passes.insert(pass, compiler.kernels(pass, Kind::Builds)?);
        }
        let params = &buffers.params_value;
        let posing = match params.poses_early() {
            true => {
                let needs = Needs::of(params, buffers.has_moving_walls());
                let [integrate, pose, listed] = entries_of_posing(needs);
                Some(Posing {
                    integrate: compiler.compile(integrate, Kind::Builds)?,
                    pose: compiler.compile(pose, Kind::Builds)?,
                    listed: compiler.compile(listed, Kind::Builds)?,
                    contacts: compiler.kernels(Pass::Contacts, Kind::Posed)?,
                })
            }
            false => None,
        };
        Ok(Kernels {
            passes,
            pose_only: compiler.kernels(Pass::Pose, Kind::Keeps)?,
            posing,
        })
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Kernel> {
        let posing = self.posing.iter_mut().flat_map(|own| {
            let of_pose = own.pose.iter_mut().chain(&mut own.listed);
            of_pose.chain(&mut own.integrate).chain(&mut own.contacts)
        });
        let passes = self.passes.values_mut().flatten();
        passes.chain(&mut self.pose_only).chain(posing)
    }

    /// Binds the buffers again, after one of them was replaced.
    pub fn bind(&mut self, context: &Context, buffers: &Buffers) {
        for kernel in self.all_mut() {
            let by_name = |name: &str| buffers.by_name(name, kernel.object);
            kernel.bind_group = kernel.program.bind(&context.device, by_name);
        }
    }

    /// Sets how many threads kernels get, after the number of bodies or spheres has changed.
    pub fn set_threads(&mut self, params: &Params) {
        for kernel in self.all_mut() {
            kernel.workgroups = kernel.threads.workgroups(params);
        }
    }

    /// Steps, one after the other. The first of every `period` may build the neighbour lists: the
    /// passes that do get their threads from the device, none while the lists hold. Returns the number of dispatches.
    pub fn encode_steps(
        &self,
        steps: u64,
        period: u64,
        buffers: &Buffers,
        encoder: &mut wgpu::CommandEncoder,
    ) -> u64 {
        let mut dispatches = 0;
        let mut compute = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("steps"),
            timestamp_writes: None,
        });
        let posing = self.posing.as_ref();
        let posing = posing.filter(|_| buffers.params_value.poses_early());
        for step in 0..steps {
            let builds = step.is_multiple_of(period);
            // The host may have moved bodies before the first step, and looks at the spheres as the last one had them.
            let poses = step + 1 < steps;
            let is_posed = step > 0 && (poses || !buffers.params_value.derives_spheres());
            for pass in Pass::ALL {
                let kernels = match (pass, posing) {
                    _ if pass.builds_lists() && !builds => continue,
                    (Pass::Pose, Some(own)) if is_posed && builds => &own.pose,
                    (Pass::Pose, Some(_)) if is_posed => continue,
                    (Pass::Pose, _) if !builds => &self.pose_only,
                    (Pass::Contacts, Some(own)) if is_posed && !builds => &own.contacts,
                    (Pass::Integrate, Some(own)) if poses => &own.integrate,
                    _ => &self.passes[&pass],
                };
                let indirect = pass.builds_lists().then_some(&buffers.list_dispatch);
                dispatches += dispatch(kernels, indirect, &mut compute);
                if let (Pass::Pose, Some(own), true, true) = (pass, posing, is_posed, builds) {
                    let threads = Some(&buffers.list_dispatch);
                    dispatches += dispatch(&own.listed, threads, &mut compute);
                }
            }
        }
        dispatches
    }

    /// Some passes of a step that may build the lists.
    pub fn encode_passes(
        &self,
        passes: &[Pass],
        buffers: &Buffers,
        encoder: &mut wgpu::CommandEncoder,
    ) -> u64 {
        let mut compute = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("step"),
            timestamp_writes: None,
        });
        let mut dispatches = 0;
        for pass in passes {
            let indirect = pass.builds_lists().then_some(&buffers.list_dispatch);
            dispatches += dispatch(&self.passes[pass], indirect, &mut compute);
        }
        dispatches
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
/// them. Returns how many there are.
fn dispatch(
    kernels: &[Kernel],
    indirect: Option<&wgpu::Buffer>,
    compute: &mut wgpu::ComputePass<'_>,
) -> u64 {
    let mut dispatches = 0;
    for kernel in kernels.iter().filter(|kernel| kernel.workgroups[0] > 0) {
        compute.set_pipeline(&kernel.program.pipeline);
        compute.set_bind_group(0, &kernel.bind_group, &[]);
        let [x, y, z] = kernel.workgroups;
        match indirect {
            Some(buffer) => {
                compute.dispatch_workgroups_indirect(buffer, kernel.threads.indirect_offset());
            }
            None => compute.dispatch_workgroups(x, y, z),
        }
        dispatches += 1;
    }
    dispatches
}

/// Compiles entry points for the buffers of an engine.
pub(super) struct Compiler<'a> {
    pub context: &'a Context,
    pub buffers: &'a Buffers,
    pub law: Option<&'a str>,
}

impl Compiler<'_> {
    /// The entry points of a pass with their buffers.
    fn kernels(&self, pass: Pass, kind: Kind) -> Result<Vec<Kernel>> {
        let params = &self.buffers.params_value;
        let needs = Needs::of(params, self.buffers.has_moving_walls());
        self.compile(entries(pass, needs), kind)
    }

    /// Entry points with their buffers.
    fn compile(&self, entries: Vec<Entry>, kind: Kind) -> Result<Vec<Kernel>> {
        let mut kernels = Vec::new();
        for Entry {
            name,
            file,
            threads,
            object,
        } in entries
        {
            let program = self.program(name, file, kind)?;
            let by_name = |name: &str| self.buffers.by_name(name, object);
            kernels.push(Kernel {
                bind_group: program.bind(&self.context.device, by_name),
                program,
                object,
                threads,
                workgroups: threads.workgroups(&self.buffers.params_value),
            });
        }
        Ok(kernels)
    }

    pub fn program(&self, name: &'static str, file: Shader, kind: Kind) -> Result<Program> {
        let params = &self.buffers.params_value;
        let variant = Variant::new(name, file, kind, params, self.law);
        let Context {
            device, programs, ..
        } = self.context;
        programs.of(device, variant)
    }
}

impl EntryPoint {
    /// Returns the entry points of the steps of a scene with these parameters, each of them once: for steps that may
    /// build the neighbour lists, and `pose` for those that may not, too.
    ///
    /// # Errors
    /// If a shader does not compile.
    pub fn all(params: &Params) -> Result<Vec<EntryPoint>> {
        let needs = Needs::of(params, params.moving_walls == 1);
        let mut made: Vec<EntryPoint> = Vec::new();
        let posing = params.poses_early();
        let posing = posing.then(|| entries_of_posing(needs));
        for entry in Pass::ALL
            .into_iter()
            .flat_map(|pass| entries(pass, needs))
            .chain(posing.into_iter().flatten().flatten())
        {
            if made.iter().all(|other| other.name != entry.name) {
                let (name, file) = (entry.name, entry.file);
                made.push(EntryPoint::new(&Variant::new(
                    name,
                    file,
                    Kind::Builds,
                    params,
                    None,
                ))?);
            }
        }
        let pose = Shader::Pass(Pass::Pose);
        made.push(EntryPoint::new(&Variant::new(
            "pose",
            pose,
            Kind::Keeps,
            params,
            None,
        ))?);
        Ok(made)
    }
}
