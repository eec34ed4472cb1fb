//! The compiled shaders of a picture, with their buffers and textures bound by name.

use std::collections::HashMap;

use wgpu::TextureFormat;

use crate::model::error::Result;
use crate::render::colour::ColourBy;
use crate::render::shaders::Texts;
use crate::step::gpu::{CheckedShader, Context};

/// Format of the texture with the thing that each sample shows.
pub(super) const THINGS: TextureFormat = TextureFormat::R32Uint;
/// Format of the texture with the depth of each sample.
pub(super) const DEPTH: TextureFormat = TextureFormat::Depth32Float;
/// Format of the texture with the ambient light that reaches each sample.
pub(super) const OCCLUSION: TextureFormat = TextureFormat::R8Unorm;
/// Format of the texture with the bits of the depth of the farthest sample of each tile.
pub(super) const FARTHEST: TextureFormat = TextureFormat::R32Uint;
/// Format of the texture with the linear colour of each sample.
pub(super) const COLOUR: TextureFormat = TextureFormat::Rgba16Float;
/// Format of the texture with the colour of each sample as a display wants it: the one that software drivers enlarge fastest.
pub(super) const ENCODED: TextureFormat = TextureFormat::Bgra8Unorm;

/// Function from the name of a variable in a shader to its buffer, texture or sampler.
pub(super) type Resources<'a> = dyn Fn(&str) -> Option<wgpu::BindingResource<'a>> + 'a;

/// Values of pipeline constants.
type Constants<'a> = &'a [(&'static str, f64)];

/// Binding and name of each variable that an entry point uses.
type Variables = Vec<(u32, String)>;

/// A part of a picture that a render pass draws.
pub(super) struct Program {
    pub pipeline: wgpu::RenderPipeline,
    variables: Variables,
}

/// A part of a picture that a compute pass computes.
#[derive(Clone)]
pub(super) struct Computation {
    pub pipeline: wgpu::ComputePipeline,
    variables: Variables,
}

/// Properties of a scene for which its shaders are compiled.
///
/// Some software drivers compute all branches of a shader, or compile it anew for each picture if a branch depends on a uniform
/// value.
#[derive(Clone, Copy, Default)]
pub(super) struct Features {
    /// Whether the periodic box deforms.
    pub deforms: bool,
    /// Number of walls that are planes.
    pub planes: u32,
    /// Whether any wall is made of triangles.
    pub has_triangles: bool,
}

/// Properties of a picture for which its colours have a program of their own.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Shading {
    pub colour_by: ColourBy,
    /// Whether a body is picked.
    pub has_picked: bool,
    /// Whether the light from all around was looked for.
    pub has_occlusion: bool,
}

/// All programs of a picture.
pub(super) struct Programs {
    survey: Shader,
    surveys: HashMap<ColourBy, Computation>,
    shade: Shader,
    shades: HashMap<Shading, Program>,
    pub planes: Computation,
    pub hidden_before: Computation,
    pub hidden_so_far: Computation,
    pub hidden_now: Computation,
    pub farthest: Program,
    pub shadow_balls: Program,
    pub shadow_listed_balls: Program,
    pub visible_balls: Program,
    pub visible_listed_balls: Program,
    pub shadow_triangles: Program,
    pub visible_planes: Program,
    pub visible_triangles: Program,
    pub occlusion: Program,
    pub springs: Program,
    pub glass_triangles: Program,
    pub glass_planes: Program,
    pub glass_edges: Program,
    pub water: Program,
    pub lines: Program,
    pub resolve: Program,
    pub resolve_samples: Program,
    pub resolve_between: Program,
}

/// A shader, for a device.
struct Shader {
    checked: CheckedShader,
    /// Values of its pipeline constants that depend on the scene.
    constants: Vec<(&'static str, f64)>,
    module: wgpu::ShaderModule,
}

/// Settings of how a program draws, and onto what.
#[derive(Clone, Copy)]
struct Target {
    colour: Option<TextureFormat>,
    /// Comparison of depths, if there are any, and whether depths are written.
    depth: Option<(wgpu::CompareFunction, bool)>,
    topology: wgpu::PrimitiveTopology,
    /// Way in which colours are blended with those already there, if they are.
    blend: Option<wgpu::BlendState>,
}

impl Programs {
    /// Compiles the shaders of a scene, for pictures of the format `output`.
    ///
    /// # Errors
    /// If one of them is wrong.
    pub fn new(
        context: &Context,
        texts: &Texts,
        output: TextureFormat,
        features: Features,
    ) -> Result<Programs> {
        use wgpu::CompareFunction::{Greater, Less};
        let shader = |name| Shader::new(context, texts, name, features);
        let strip = Target {
            colour: Some(THINGS),
            depth: Some((Greater, true)),
            topology: wgpu::PrimitiveTopology::TriangleStrip,
            blend: None,
        };
        let whole = Target::whole;
        let (shadow, visible) = (shader("shadow")?, shader("visible")?);
        let shadows = Target {
            colour: None,
            depth: Some((Less, true)),
            ..strip
        };
        let each = |target| Target {
            topology: wgpu::PrimitiveTopology::TriangleList,
            ..target
        };
        let line = Target {
            colour: Some(COLOUR),
            depth: Some((Greater, false)),
            ..strip
        };
        let pane = Target {
            blend: Some(wgpu::BlendState::ALPHA_BLENDING),
            ..line
        };
        let (glass, hidden) = (shader("glass")?, shader("hidden")?);
        let resolve = shader("resolve")?;
        // All balls are one draw of three corners each, not an instance each.
        let (things, casts) = (each(strip), each(shadows));
        Ok(Programs {
            survey: shader("survey")?,
            surveys: HashMap::new(),
            shade: shader("shade")?,
            shades: HashMap::new(),
            planes: shader("planes")?.computation(context, "planes_from_camera", &[])?,
            hidden_before: hidden.computation(context, "hidden_before", &[])?,
            hidden_so_far: hidden.computation(context, "hidden_so_far", &[])?,
            hidden_now: hidden.computation(context, "hidden_now", &[])?,
            farthest: hidden.program(
                context,
                ["hidden_everywhere", "hidden_farthest_at"],
                whole(FARTHEST),
            )?,
            shadow_balls: shadow.program(context, ["shadow_ball", "shadow_ball_at"], casts)?,
            shadow_listed_balls: shadow.program(
                context,
                ["shadow_listed_ball", "shadow_ball_at"],
                casts,
            )?,
            shadow_triangles: shadow.program(
                context,
                ["shadow_triangle", "shadow_triangle_at"],
                shadows,
            )?,
            visible_triangles: visible.program(
                context,
                ["visible_triangle", "visible_triangle_at"],
                strip,
            )?,
            visible_balls: visible.program(context, ["visible_ball", "visible_ball_at"], things)?,
            visible_listed_balls: visible.program(
                context,
                ["visible_listed_ball", "visible_ball_at"],
                things,
            )?,
            visible_planes: visible.program(
                context,
                ["visible_plane", "visible_plane_at"],
                strip,
            )?,
            occlusion: shader("occlusion")?.program(
                context,
                ["occlusion_everywhere", "occlusion_at"],
                whole(OCCLUSION),
            )?,
            springs: shader("springs")?.program(context, ["springs_end", "springs_at"], line)?,
            glass_triangles: glass.program(
                context,
                ["glass_triangle", "glass_triangle_at"],
                pane,
            )?,
            glass_planes: glass.program(context, ["glass_plane", "glass_plane_at"], pane)?,
            glass_edges: glass.program(context, ["glass_edge", "glass_edge_at"], pane)?,
            water: shader("water")?.program(
                context,
                ["water_everywhere", "water_at"],
                Target {
                    blend: Some(wgpu::BlendState::ALPHA_BLENDING),
                    ..whole(COLOUR)
                },
            )?,
            lines: shader("lines")?.program(context, ["lines_end", "lines_at"], line)?,
            resolve: resolve.program(
                context,
                ["resolve_everywhere", "resolve_at"],
                whole(output),
            )?,
            resolve_samples: resolve.program(
                context,
                ["resolve_everywhere", "resolve_sample_at"],
                whole(ENCODED),
            )?,
            resolve_between: resolve.program(
                context,
                ["resolve_stretched", "resolve_between_at"],
                whole(output),
            )?,
        })
    }

    /// Compiles the program that lays a painting over pictures of the format `output`, which needs nothing of a scene.
    ///
    /// # Errors
    /// If its shader is wrong.
    pub fn layer(context: &Context, texts: &Texts, output: TextureFormat) -> Result<Program> {
        let target = Target {
            blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
            ..Target::whole(output)
        };
        let shader = Shader::new(context, texts, "layer", Features::default())?;
        shader.program(context, ["layer_everywhere", "layer_at"], target)
    }

    /// The program that surveys the values of a meaning of colours, compiled if it is the first time.
    ///
    /// # Errors
    /// If the shader lacks its entry point.
    pub fn survey(&mut self, context: &Context, colour_by: ColourBy) -> Result<Computation> {
        if let Some(known) = self.surveys.get(&colour_by) {
            return Ok(known.clone());
        }
        let constants = [("COLOUR_BY", f64::from(colour_by as u32))];
        let made = self
            .survey
            .computation(context, "survey_spheres", &constants)?;
        self.surveys.insert(colour_by, made.clone());
        Ok(made)
    }

    /// Compiles the program that finds the colours of a kind of pictures, if it is the first time.
    ///
    /// # Errors
    /// If the shader lacks one of its entry points.
    pub fn provide_shade(&mut self, context: &Context, shading: Shading) -> Result<()> {
        if self.shades.contains_key(&shading) {
            return Ok(());
        }
        let constants = [
            ("COLOUR_BY", f64::from(shading.colour_by as u32)),
            ("HAS_PICKED", f64::from(shading.has_picked)),
            ("HAS_OCCLUSION", f64::from(shading.has_occlusion)),
        ];
        let entry_points = ["shade_everywhere", "shade_at"];
        let target = Target::whole(COLOUR);
        let made = self
            .shade
            .specialised(context, entry_points, target, &constants)?;
        self.shades.insert(shading, made);
        Ok(())
    }

    /// The program that finds the colours of a kind of pictures that was provided for.
    pub fn shade(&self, shading: Shading) -> &Program {
        &self.shades[&shading]
    }
}

impl Target {
    /// A whole picture of the format `colour`, without depths.
    const fn whole(colour: TextureFormat) -> Target {
        Target {
            colour: Some(colour),
            depth: None,
            topology: wgpu::PrimitiveTopology::TriangleList,
            blend: None,
        }
    }
}

impl Shader {
    fn new(
        context: &Context,
        texts: &Texts,
        name: &'static str,
        features: Features,
    ) -> Result<Shader> {
        let checked = CheckedShader::new(name, texts.source(name))?;
        let module = context
            .device
            .create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(name),
                source: checked.source(),
            });
        let constants = checked.constants([
            ("DEFORMS", f64::from(features.deforms)),
            ("PLANES", f64::from(features.planes)),
            ("HAS_TRIANGLES", f64::from(features.has_triangles)),
        ]);
        Ok(Shader {
            checked,
            constants,
            module,
        })
    }

    fn computation(
        &self,
        context: &Context,
        entry_point: &'static str,
        constants: Constants,
    ) -> Result<Computation> {
        let constants = [&self.constants, constants].concat();
        Ok(Computation {
            variables: self.checked.bindings(&[entry_point])?,
            pipeline: context
                .device
                .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: Some(entry_point),
                    layout: None,
                    module: &self.module,
                    entry_point: Some(entry_point),
                    compilation_options: compiled_with(&constants),
                    cache: None,
                }),
        })
    }

    /// A program of two entry points, for vertices and for fragments.
    fn program(
        &self,
        context: &Context,
        entry_points: [&'static str; 2],
        target: Target,
    ) -> Result<Program> {
        self.specialised(context, entry_points, target, &[])
    }

    /// A program of two entry points, for given values of the pipeline constants.
    fn specialised(
        &self,
        context: &Context,
        [vertex, fragment]: [&'static str; 2],
        target: Target,
        constants: Constants,
    ) -> Result<Program> {
        let constants = [&self.constants, constants].concat();
        let targets = target.colour.map(|format| {
            Some(wgpu::ColorTargetState {
                blend: target.blend,
                ..format.into()
            })
        });
        Ok(Program {
            variables: self.checked.bindings(&[vertex, fragment])?,
            pipeline: context
                .device
                .create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                    label: Some(fragment),
                    layout: None,
                    vertex: wgpu::VertexState {
                        module: &self.module,
                        entry_point: Some(vertex),
                        compilation_options: compiled_with(&constants),
                        buffers: &[],
                    },
                    primitive: wgpu::PrimitiveState {
                        topology: target.topology,
                        ..Default::default()
                    },
                    depth_stencil: target
                        .depth
                        .map(|(compare, write)| wgpu::DepthStencilState {
                            format: DEPTH,
                            depth_write_enabled: Some(write),
                            depth_compare: Some(compare),
                            stencil: Default::default(),
                            bias: Default::default(),
                        }),
                    multisample: Default::default(),
                    fragment: Some(wgpu::FragmentState {
                        module: &self.module,
                        entry_point: Some(fragment),
                        compilation_options: compiled_with(&constants),
                        targets: targets.as_slice(),
                    }),
                    multiview_mask: None,
                    cache: None,
                }),
        })
    }
}

fn compiled_with(constants: Constants) -> wgpu::PipelineCompilationOptions {
    wgpu::PipelineCompilationOptions {
        constants,
        ..Default::default()
    }
}

impl Program {
    pub fn bind(&self, context: &Context, resources: &Resources) -> wgpu::BindGroup {
        let layout = self.pipeline.get_bind_group_layout(0);
        bind(context, &layout, &self.variables, resources)
    }
}

impl Computation {
    pub fn bind(&self, context: &Context, resources: &Resources) -> wgpu::BindGroup {
        let layout = self.pipeline.get_bind_group_layout(0);
        bind(context, &layout, &self.variables, resources)
    }
}

fn bind(
    context: &Context,
    layout: &wgpu::BindGroupLayout,
    variables: &Variables,
    resources: &Resources,
) -> wgpu::BindGroup {
    let entries: Vec<wgpu::BindGroupEntry> = variables
        .iter()
        .map(|(binding, name)| wgpu::BindGroupEntry {
            binding: *binding,
            resource: resources(name).unwrap_or_else(|| panic!("nothing is called `{name}`")),
        })
        .collect();
    context
        .device
        .create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout,
            entries: &entries,
        })
}
