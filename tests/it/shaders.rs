//! The shaders, with naga alone: no GPU is needed.

use std::collections::HashMap;
use std::path::PathBuf;

use encase::ShaderType;
use naga::back::pipeline_constants::process_overrides;
use naga::proc::BoundsCheckPolicies;
use naga::valid::{Capabilities, FunctionInfo, GlobalUse, ValidationFlags, Validator};
use naga::{AddressSpace, Module, TypeInner, back};
use rockfall::internals::math::wgsl::Layout;
use rockfall::state::layout::{Params, STRUCTS, SphereSource};
use rockfall::step::Pass;
use rockfall::step::gpu::shaders::{Choice, Shader, source};

use crate::common::own;

/// The name and the text of each shader.
fn all() -> Vec<(&'static str, String)> {
    let own = Shader::all().map(|shader| (shader.name(), source(shader)));
    let law = None;
    let derived = [SphereSource::Balls, SphereSource::Clumps].map(|spheres| {
        [Pass::Contacts, Pass::Walls].map(|pass| {
            let shader = Shader::Pass(pass);
            (shader.name(), Choice { law, spheres }.source(shader))
        })
    });
    #[cfg(feature = "render")]
    let pictures = rockfall::render::shaders::NAMES.map(|name| {
        let texts = rockfall::render::shaders::Texts::BuiltIn;
        (name, texts.source(name))
    });
    #[cfg(not(feature = "render"))]
    let pictures = [];
    own.chain(derived.concat()).chain(pictures).collect()
}

fn parse(source: &str) -> Module {
    naga::front::wgsl::parse_str(source)
        .unwrap_or_else(|error| panic!("{}", error.emit_to_string(source)))
}

#[test]
fn every_shader_is_valid_with_no_optional_capability() {
    for (name, source) in all() {
        let module = parse(&source);
        Validator::new(ValidationFlags::all(), Capabilities::empty())
            .validate(&module)
            .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(&source)));
        assert!(
            module
                .entry_points
                .iter()
                .all(|entry| entry.name.starts_with(name)),
            "the entry points of {name}.wgsl start with its name"
        );
    }
}

/// Text that wgpu makes of an entry point for Vulkan, Metal, Direct3D 12 and OpenGL ES, or why it cannot.
fn written(module: &Module, entry: &naga::EntryPoint) -> Result<[String; 3], String> {
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(module)
        .map_err(|error| error.to_string())?;
    let own = (entry.stage, entry.name.clone());
    let chosen = Some((entry.stage, entry.name.as_str()));
    let (module, info) = process_overrides(module, &info, chosen, &Default::default())
        .map_err(|error| error.to_string())?;

    let options = back::spv::PipelineOptions {
        shader_stage: own.0,
        entry_point: own.1.clone(),
    };
    back::spv::write_vec(&module, &info, &Default::default(), Some(&options))
        .map_err(|error| format!("SPIR-V: {error}"))?;

    // The oldest version of Metal that wgpu takes.
    let options = back::msl::Options {
        lang_version: (2, 0),
        ..Default::default()
    };
    let chosen = back::msl::PipelineOptions {
        entry_point: Some(own.clone()),
        ..Default::default()
    };
    let (metal, _) = back::msl::write_string(&module, &info, &options, &chosen)
        .map_err(|error| format!("MSL: {error}"))?;

    let (direct3d, _) = hlsl(&module, &info, &own, back::hlsl::ShaderModel::V5_1)?;

    let mut open_gl = String::new();
    let chosen = back::glsl::PipelineOptions {
        shader_stage: own.0,
        entry_point: own.1,
        multiview: None,
    };
    let options = back::glsl::Options::default();
    let checks = BoundsCheckPolicies::default();
    back::glsl::Writer::new(&mut open_gl, &module, &info, &options, &chosen, checks)
        .and_then(|mut writer| writer.write())
        .map_err(|error| format!("GLSL: {error}"))?;
    Ok([metal, direct3d, open_gl])
}

/// Text of an entry point for Direct3D 12, and its name there.
fn hlsl(
    module: &Module,
    info: &naga::valid::ModuleInfo,
    own: &(naga::ShaderStage, String),
    shader_model: back::hlsl::ShaderModel,
) -> Result<(String, String), String> {
    let mut text = String::new();
    let options = back::hlsl::Options {
        shader_model,
        ..Default::default()
    };
    let chosen = back::hlsl::PipelineOptions {
        entry_point: Some(own.clone()),
    };
    let written = back::hlsl::Writer::new(&mut text, &options, &chosen)
        .write(module, info, None)
        .map_err(|error| format!("HLSL: {error}"))?;
    let names: Result<Vec<String>, _> = written.entry_point_names.into_iter().collect();
    let name = names.map_err(|error| format!("HLSL: {error}"))?.pop();
    Ok((text, name.unwrap_or_default()))
}

/// Writes each entry point as HLSL, with a list of the files, their entry points and their profiles. `cargo xtask test --long`
/// names a folder for them in ROCKFALL_HLSL, for Microsoft's compiler.
#[test]
fn every_shader_is_put_down_for_direct3d() {
    let own = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("ROCKFALL_HLSL").map_or(own.path().into(), PathBuf::from);
    std::fs::create_dir_all(&folder).unwrap();
    let mut list = String::new();
    for (number, (name, source)) in all().into_iter().enumerate() {
        let module = parse(&source);
        let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
            .validate(&module)
            .unwrap();
        for entry in &module.entry_points {
            let own = (entry.stage, entry.name.clone());
            let chosen = Some((entry.stage, entry.name.as_str()));
            let (module, info) =
                process_overrides(&module, &info, chosen, &Default::default()).unwrap();
            let model = back::hlsl::ShaderModel::V6_0;
            let (text, main) = hlsl(&module, &info, &own, model).unwrap();
            let file = format!("{number}_{name}_{}.hlsl", entry.name);
            let stage = match entry.stage {
                naga::ShaderStage::Vertex => "vs",
                naga::ShaderStage::Fragment => "ps",
                _ => "cs",
            };
            std::fs::write(folder.join(&file), text).unwrap();
            list += &format!("{file} {main} {stage}_6_0\n");
        }
    }
    std::fs::write(folder.join("list.txt"), list).unwrap();
}

#[test]
fn every_shader_can_be_written_for_every_interface() {
    for (name, source) in all() {
        let computes = Shader::all().any(|shader| shader.name() == name);
        let module = parse(&source);
        for entry in &module.entry_points {
            let texts = match written(&module, entry) {
                Ok(texts) => texts,
                // naga's GLSL cannot read depths one by one: there are no such pictures on OpenGL.
                Err(why)
                    if !computes && why.contains("depth textures is not supported in GLSL") =>
                {
                    continue;
                }
                Err(why) => panic!("{name}, {}: {why}", entry.name),
            };
            for text in texts {
                assert!(text.len() > 100, "{name}, {}: {text}", entry.name);
            }
        }
    }
}

/// Writes every shader and the entry points of its computations. `cargo xtask test` names a file for them in ROCKFALL_SHADERS:
/// Tint gets it, Chromium's compiler, and so does Chromium in the tests of the page.
#[test]
fn every_shader_is_put_down() {
    let own = tempfile::NamedTempFile::new().unwrap();
    let path = std::env::var_os("ROCKFALL_SHADERS").map_or(own.path().into(), PathBuf::from);
    let shaders = all().into_iter().map(|(name, source)| {
        let module = parse(&source);
        let entries = module.entry_points.iter();
        let computes = entries.filter(|entry| entry.stage == naga::ShaderStage::Compute);
        let names: Vec<&str> = computes.map(|entry| entry.name.as_str()).collect();
        serde_json::json!({ "name": name, "source": source, "computations": names })
    });
    let text = serde_json::Value::from_iter(shaders).to_string();
    std::fs::write(path, text).unwrap();
}

#[test]
fn a_shader_that_cannot_be_written_for_an_interface_is_seen() {
    // OpenGL ES 3.1 has no arrays of cube textures.
    let module = parse(
        "@group(0) @binding(0) var sky: texture_cube_array<f32>;
        @group(0) @binding(1) var<storage, read_write> out: vec2<u32>;
        @compute @workgroup_size(1) fn main() { out = textureDimensions(sky); }",
    );
    let capabilities = Capabilities::CUBE_ARRAY_TEXTURES;
    assert!(
        Validator::new(ValidationFlags::all(), capabilities)
            .validate(&module)
            .is_ok()
    );
    assert!(written(&module, &module.entry_points[0]).is_err());
}

/// WebGPU's default limit of the storage buffers that a shader binds.
const MOST_BUFFERS: usize = 8;

/// Storage buffers that every shader of the engine has left for what comes.
const FREE_BUFFERS: usize = 2;

#[test]
fn every_shader_fits_webgpus_default_limits() {
    for (name, source) in all() {
        let computes = Shader::all().any(|shader| shader.name() == name);
        let most = MOST_BUFFERS - if computes { FREE_BUFFERS } else { 0 };
        let module = parse(&source);
        let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
            .validate(&module)
            .unwrap();
        for (index, entry) in module.entry_points.iter().enumerate() {
            let uses = info.get_entry_point(index);
            let buffers = module
                .global_variables
                .iter()
                .filter(|(handle, variable)| {
                    matches!(variable.space, AddressSpace::Storage { .. })
                        && !uses[*handle].is_empty()
                })
                .count();
            assert!(buffers <= most, "{}: {buffers} storage buffers", entry.name);
            assert!(entry.workgroup_size.iter().product::<u32>() <= 256);
        }
    }
}

/// Variables that an entry point uses in one way, as a cell of a table: `params`, which all read, is left out.
fn used(module: &Module, uses: &FunctionInfo, way: GlobalUse) -> String {
    let variables = module.global_variables.iter().filter(|(handle, variable)| {
        let is_bound = variable.binding.is_some() && variable.name.as_deref() != Some("params");
        is_bound && uses[*handle].intersects(way)
    });
    let names = variables.filter_map(|(_, variable)| variable.name.as_ref());
    let mut names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.sort_unstable();
    names.join(", ")
}

/// Each shader of a step has a page in the handbook, with a row for each of its entry points.
#[test]
fn pages_of_passes_say_which_buffers_are_read_and_written() {
    let mut wrong = Vec::new();
    for shader in Shader::all() {
        let name = format!("docs/book/src/passes/{}.md", shader.name());
        let page = std::fs::read_to_string(own(&name));
        let page = page.unwrap_or_else(|error| panic!("{name}: {error}"));
        let module = parse(&source(shader));
        let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
            .validate(&module)
            .unwrap();
        for (index, entry) in module.entry_points.iter().enumerate() {
            let uses = info.get_entry_point(index);
            let written = GlobalUse::WRITE | GlobalUse::ATOMIC;
            let read = used(&module, uses, GlobalUse::READ | GlobalUse::ATOMIC);
            let expected = format!("| {read} | {} |", used(&module, uses, written));
            let start = format!("| `{}` |", entry.name);
            let row = page.lines().find(|line| line.starts_with(&start));
            if !row.is_some_and(|row| row.ends_with(&expected)) {
                wrong.push(format!("{name}: {start} ... {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_variable_has_one_binding_in_all_shaders() {
    let mut bindings: HashMap<String, u32> = HashMap::new();
    for (shader, source) in all() {
        for (_, variable) in parse(&source).global_variables.iter() {
            let Some(binding) = &variable.binding else {
                continue;
            };
            let name = variable.name.clone().unwrap();
            let first = *bindings.entry(name.clone()).or_insert(binding.binding);
            assert_eq!(first, binding.binding, "{name} in {shader}");
        }
    }
    let mut numbers: Vec<u32> = bindings.values().copied().collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(
        numbers.len(),
        bindings.len(),
        "two variables share a binding"
    );
}

/// Offsets of the fields of a struct of the host that are not padding, by their names.
fn fields(layout: &Layout) -> Vec<(&'static str, usize)> {
    let members = layout.members.iter().enumerate();
    let members = members.filter(|(_, member)| !member.is_padding());
    members
        .map(|(index, member)| match layout.name {
            // `encase` lays it out as it writes it.
            "Params" => (member.name, Params::METADATA.offset(index) as usize),
            _ => (member.name, member.offset),
        })
        .collect()
}

/// Differences between the structs of a shader and those of the host.
fn mismatches(module: &Module) -> Vec<String> {
    let mut found = Vec::new();
    for layout in STRUCTS {
        let (name, fields) = (layout.name, fields(&layout));
        let size = match name {
            "Params" => Params::min_size().get() as usize,
            _ => layout.size,
        };
        let shader = module
            .types
            .iter()
            .find(|(_, ty)| ty.name.as_deref() == Some(name));
        let Some((_, ty)) = shader else {
            found.push(format!("{name} is missing"));
            continue;
        };
        let TypeInner::Struct { members, span } = &ty.inner else {
            found.push(format!("{name} is no struct"));
            continue;
        };
        if *span as usize != size {
            found.push(format!("{name}: {span} bytes in WGSL, {size} on the host"));
        }
        let members: Vec<(&str, usize)> = members
            .iter()
            .map(|member| (member.name.as_deref().unwrap(), member.offset as usize))
            .filter(|(name, _)| !name.starts_with("_pad"))
            .collect();
        if members != fields {
            found.push(format!(
                "{name}: {members:?} in WGSL, {fields:?} on the host"
            ));
        }
    }
    found
}

#[test]
fn structs_of_the_host_are_laid_out_as_nagas() {
    // The scan has no structs.
    for shader in Shader::all().filter(|&shader| shader != Shader::Pass(Pass::Scan)) {
        assert_eq!(
            mismatches(&parse(&source(shader))),
            [""; 0],
            "{}",
            shader.name()
        );
    }
}

#[cfg(feature = "render")]
#[test]
fn the_view_is_laid_out_as_nagas() {
    use rockfall::render::shaders::Texts;
    use rockfall::render::view::View;
    let module = parse(&Texts::BuiltIn.source("shade"));
    let found = module
        .types
        .iter()
        .find(|(_, ty)| ty.name.as_deref() == Some("View"));
    let TypeInner::Struct { members, span } = &found.unwrap().1.inner else {
        panic!("View is a struct");
    };
    assert_eq!(u64::from(*span), View::min_size().get());
    let offsets: Vec<u64> = members.iter().map(|member| member.offset.into()).collect();
    let host: Vec<u64> = (0..members.len())
        .map(|index| View::METADATA.offset(index))
        .collect();
    assert_eq!(offsets, host);
}

#[test]
fn a_struct_that_differs_is_seen() {
    let source = source(Shader::Pass(Pass::Contacts));
    for (from, to) in [
        (
            "velocity: vec3<f32>,\n    inverse_mass: f32,",
            "inverse_mass: f32,\n    velocity: vec3<f32>,",
        ),
        ("restitution: f32,\n    _pad: u32,", "restitution: f32,"),
        ("gravity: vec3<f32>,", "gravity: vec4<f32>,"),
    ] {
        assert!(source.contains(from), "{from}");
        let changed = mismatches(&parse(&source.replacen(from, to, 1)));
        assert!(!changed.is_empty(), "{from} -> {to}");
    }
}
