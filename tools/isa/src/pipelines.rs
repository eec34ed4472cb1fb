//! The compute pipelines of a step, in SPIR-V as wgpu gives it to a Vulkan driver.

use naga::back::pipeline_constants::process_overrides;
use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::{AddressSpace, ShaderStage};
use rockfall::state::layout::{HERTZ_MINDLIN, HOOKE_HISTORY, HOOKE_VISCOUS, IMPULSE, Params};
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
    /// That each loop ends.
    pub loops: bool,
    /// Divisors that are 0.
    pub divisions: bool,
    /// Indices of buffers: naga does so where the driver does not.
    pub buffers: Buffers,
    /// Whether the compiler may round a product and the sum that it goes into at once, and reckon as if numbers were
    /// exact: what wgpu cannot forbid.
    pub contraction: bool,
}

/// Who checks the indices of buffers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Buffers {
    /// The driver, by `robustBufferAccess2`: what wgpu asks of Vulkan where there is that.
    Driver,
    /// naga, as for Metal and Direct3D.
    Naga,
    Nobody,
}

impl Checks {
    /// Those of the engine: all of wgpu's but that each loop ends.
    pub const OWN: Checks = Checks {
        indices: true,
        loops: false,
        divisions: true,
        buffers: Buffers::Driver,
        contraction: true,
    };
}

/// Laws, the elements of their contact histories, and how many materials there are.
const LAWS: [(&str, u32, u32, u32); 5] = [
    ("linear", HOOKE_VISCOUS, 0, 2),
    ("hooke", HOOKE_HISTORY, 1, 2),
    ("hooke, one material", HOOKE_HISTORY, 1, 1),
    ("hertz, rolling", HERTZ_MINDLIN, 2, 2),
    ("impulse", IMPULSE, 1, 2),
];

/// All pipelines of a step of scenes with everything that takes a pass of its own, and those that know the law for
/// several laws.
pub fn all(checks: Checks) -> Result<Vec<Pipeline>, String> {
    let mut made = Vec::new();
    for (law_name, law, history_size, material_count) in LAWS {
        let params = Params {
            law,
            history_size,
            material_count,
            wall_count: 1,
            wall_loads: 1,
            forces: 1,
            heat: 1,
            ..Params::default()
        };
        for entry in EntryPoint::all(&params).map_err(|error| error.to_string())? {
            let constant = |name| entry.constants.iter().find(|(own, _)| *own == name);
            let mut name = entry.name.to_owned();
            if constant("LAW").is_some() {
                name = format!("{name}, {law_name}");
            } else if constant("MAY_BUILD").is_some_and(|(_, may)| *may == 0.0) {
                name += ", most steps";
            }
            // Those that know no law, once.
            if made.iter().all(|other: &Pipeline| other.name != name) {
                made.push(pipeline(&entry, name, checks)?);
            }
        }
    }
    Ok(made)
}

fn pipeline(entry: &EntryPoint, name: String, checks: Checks) -> Result<Pipeline, String> {
    let mut buffers: Vec<(naga::ResourceBinding, bool)> = entry
        .variables()
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
    let own = Some((stage, entry.name));
    let (module, info) = process_overrides(&entry.module, &entry.info, own, &constants)
        .map_err(|error| wrong(error.to_string()))?;
    let pipeline = spv::PipelineOptions {
        entry_point: entry.name.to_owned(),
        shader_stage: stage,
    };
    let mut code = spv::write_vec(&module, &info, &options, Some(&pipeline))
        .map_err(|error| wrong(error.to_string()))?;
    if !checks.contraction {
        code = without_contraction(&code);
    }
    Ok(Pipeline {
        entry_point: entry.name.to_owned(),
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
