//! The compute pipelines of a step, in SPIR-V as wgpu gives it to a Vulkan driver.

use naga::back::pipeline_constants::process_overrides;
use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, ShaderStage};
use rockfall::state::layout::{
    HERTZ_MINDLIN, HOOKE_HISTORY, HOOKE_VISCOUS, IMPULSE, PLANE, Params,
};
use rockfall::step::gpu::EntryPoint;

/// A pipeline to be made.
pub struct Pipeline {
    /// Name of its entry point in the SPIR-V.
    pub entry_point: String,
    /// Name of the row, such as `contacts, hooke`.
    pub name: String,
    pub code: Vec<u32>,
    /// Whether each of its buffers is a uniform, in the order of their bindings.
    pub uniforms: Vec<bool>,
}

/// Checks that wgpu has naga and the driver make while a shader runs.
#[derive(Clone, Copy)]
pub struct Checks {
    /// Indices of arrays that are no buffers.
    pub indices: bool,
    /// Check that each loop ends.
    pub loops: bool,
    /// Divisors that are 0.
    pub divisions: bool,
    /// Indices of buffers: naga does so where the driver does not.
    pub buffers: Buffers,
    /// Whether the compiler may round a product and the sum that it goes into at once, and reckon as if numbers were
    /// exact: what wgpu cannot forbid.
    pub contraction: bool,
}

/// Checks of the indices of buffers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Buffers {
    /// The driver, by `robustBufferAccess2`: what wgpu asks of Vulkan where there is that.
    Driver,
    /// naga, as for Metal and Direct3D.
    Naga,
    Nobody,
}

impl Checks {
    /// Checks of the engine: all of wgpu's but that each loop ends.
    pub const OWN: Checks = Checks {
        indices: true,
        loops: false,
        divisions: true,
        buffers: Buffers::Driver,
        contraction: true,
    };
}

/// Laws, and how many numbers their contact histories have.
const LAWS: [(&str, u32, u32); 4] = [
    ("linear", HOOKE_VISCOUS, 0),
    ("hooke", HOOKE_HISTORY, 3),
    ("hertz, rolling", HERTZ_MINDLIN, 7),
    ("impulse", IMPULSE, 3),
];

/// The scenes whose pipelines are made: with everything that takes code or a pass of its own, under each law; a plain
/// one, of bodies of one material among planes; and the same where spheres are derived from these, which are of few kinds
/// or balls.
fn scenes() -> Vec<(&'static str, Params)> {
    let everything = LAWS.map(|(name, law, history_values)| {
        let params = Params {
            law,
            history_size: history_values.div_ceil(4),
            history_values,
            material_count: 2,
            wall_count: 1,
            wall_loads: 1,
            forces: 1,
            bonds: 1,
            heat: 1,
            facet_kinds: u32::MAX,
            period: [8, 8, 8].into(),
            deforms: 1,
            ..Params::default()
        };
        (name, params)
    });
    let plain = Params {
        law: HOOKE_HISTORY,
        history_size: 1,
        history_values: 3,
        material_count: 1,
        wall_count: 1,
        facet_kinds: 1 << PLANE,
        ..Params::default()
    };
    let mut scenes = Vec::from(everything);
    scenes.push(("plain", plain));
    scenes.push(("clumps", Params { clumps: 1, ..plain }));
    scenes.push(("balls", Params { balls: 1, ..plain }));
    scenes
}

/// All pipelines of a step of these scenes; those that do not differ from scene to scene, once.
pub fn all(checks: Checks) -> Result<Vec<Pipeline>, String> {
    let mut made = Vec::new();
    for (scene, params) in scenes() {
        for entry in EntryPoint::all(&params).map_err(|error| error.to_string())? {
            let constant = |name| entry.constants.iter().find(|(own, _)| *own == name);
            let mut name = entry.name.to_owned();
            if constant("LAW").is_some() {
                name = format!("{name}, {scene}");
            } else if params.period == Default::default() && constant("PERIODIC").is_some() {
                name += ", plain";
            }
            if constant("MAY_BUILD").is_some_and(|(_, may)| *may == 0.0) {
                name += ", most steps";
            }
            if made.iter().all(|other: &Pipeline| other.name != name) {
                let own = Source {
                    module: &entry.shader.module,
                    info: &entry.shader.info,
                    entry_point: entry.name,
                    constants: &entry.constants,
                };
                let used = entry.shader.variables(&[entry.name]);
                let used = used.map_err(|error| error.to_string())?;
                made.push(pipeline(&own, used.into_iter(), name, checks)?);
            }
        }
    }
    made.extend(exact(checks)?);
    Ok(made)
}

/// Quotients and roots that are correctly rounded, beside those that are not: what they would cost.
fn exact(checks: Checks) -> Result<Vec<Pipeline>, String> {
    let module = naga::front::wgsl::parse_str(include_str!("exact.wgsl"))
        .map_err(|error| error.to_string())?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map_err(|error| error.to_string())?;
    let entries = module.entry_points.iter();
    let pipelines = entries.map(|entry| {
        let own = Source {
            module: &module,
            info: &info,
            entry_point: &entry.name,
            constants: &[],
        };
        let all = module.global_variables.iter();
        let name = entry.name.replace('_', " ");
        pipeline(&own, all.map(|(_, variable)| variable), name, checks)
    });
    pipelines.collect()
}

/// Parts of a pipeline.
struct Source<'a> {
    module: &'a naga::Module,
    info: &'a ModuleInfo,
    entry_point: &'a str,
    constants: &'a [(&'static str, f64)],
}

fn pipeline<'a>(
    entry: &Source,
    variables: impl Iterator<Item = &'a naga::GlobalVariable>,
    name: String,
    checks: Checks,
) -> Result<Pipeline, String> {
    let mut buffers: Vec<(naga::ResourceBinding, bool)> = variables
        .filter_map(|variable| Some((variable.binding?, variable.space == AddressSpace::Uniform)))
        .collect();
    buffers.sort_unstable();
    let stage = ShaderStage::Compute;
    let options = options(checks, &buffers);
    let constants = entry.constants.iter();
    let constants: naga::back::PipelineConstants = constants
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect();
    let wrong = |error: String| format!("{name}: {error}");
    let own = Some((stage, entry.entry_point));
    let (module, info) = process_overrides(entry.module, entry.info, own, &constants)
        .map_err(|error| wrong(error.to_string()))?;
    let pipeline = spv::PipelineOptions {
        entry_point: entry.entry_point.to_owned(),
        shader_stage: stage,
    };
    let mut code = spv::write_vec(&module, &info, &options, Some(&pipeline))
        .map_err(|error| wrong(error.to_string()))?;
    if !checks.contraction {
        code = without_contraction(&code);
    }
    Ok(Pipeline {
        entry_point: entry.entry_point.to_owned(),
        name,
        code,
        uniforms: buffers.into_iter().map(|(_, uniform)| uniform).collect(),
    })
}

/// SPIR-V in which each operation with floats is decorated as `NoContraction`.
fn without_contraction(code: &[u32]) -> Vec<u32> {
    const HEADER: usize = 5;
    const DECORATE: u32 = 71;
    const NO_CONTRACTION: u32 = 42;
    // From OpFAdd to OpFDiv, OpVectorTimesScalar, OpDot.
    const OPERATIONS: [u32; 6] = [129, 131, 133, 136, 142, 148];
    let (mut decorations, mut first, mut at) = (Vec::new(), code.len(), HEADER);
    while at < code.len() {
        let (length, operation) = (code[at] >> 16, code[at] & 0xffff);
        if operation == DECORATE {
            first = first.min(at);
        }
        if OPERATIONS.contains(&operation) {
            decorations.extend([3 << 16 | DECORATE, code[at + 2], NO_CONTRACTION]);
        }
        at += length as usize;
    }
    [&code[..first], &decorations, &code[first..]].concat()
}

/// The options of wgpu-hal's Vulkan backend in a release build (`device_from_raw` and `compile_stage`).
fn options(checks: Checks, buffers: &[(naga::ResourceBinding, bool)]) -> spv::Options<'static> {
    let checked = |wanted| match wanted {
        true => BoundsCheckPolicy::Restrict,
        false => BoundsCheckPolicy::Unchecked,
    };
    spv::Options {
        lang_version: (1, 6),
        flags: spv::WriterFlags::LABEL_VARYINGS | spv::WriterFlags::FORCE_POINT_SIZE,
        capabilities: None,
        bounds_check_policies: BoundsCheckPolicies {
            index: checked(checks.indices),
            buffer: checked(checks.buffers == Buffers::Naga),
            image_load: BoundsCheckPolicy::Unchecked,
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::Native,
        force_loop_bounding: checks.loops,
        emit_int_div_checks: checks.divisions,
        // wgpu numbers the bindings of a group anew, without gaps.
        binding_map: buffers
            .iter()
            .zip(0..)
            .map(|((from, _), binding)| {
                let to = spv::BindingInfo {
                    descriptor_set: 0,
                    binding,
                    binding_array_size: None,
                };
                (*from, to)
            })
            .collect(),
        ..spv::Options::default()
    }
}
