//! Rockfall inside a program that has a device of its own, such as a game engine: the simulation runs on
//! the program's device and queue, and the program draws from the simulation's buffers. Nothing is copied
//! to the host but the picture, which is printed as text.
//!
//! `cargo run --release --example embed`

use std::error::Error;

use rockfall::glam::DVec3;
use rockfall::scene::SceneBuilder;
use rockfall::scene::format::{Fill, Material, Shape, Wall};
use rockfall::state::Field;
use rockfall::state::layout;
use rockfall::step::gpu::Context;
use rockfall::{Simulation, wgpu};

/// Sides of the picture.
const WIDTH: u32 = 64;
const HEIGHT: u32 = 32;

/// Draws each sphere as a disc, seen along z; it reads the buffer `spheres` as the simulation's own
/// shaders do.
const DRAW: &str = "
struct View { cell_size: vec4<f32>, origin: vec4<f32> }
@group(0) @binding(0) var<storage, read> spheres: array<Sphere>;
@group(0) @binding(1) var<uniform> view: View;

struct Corner { @builtin(position) position: vec4<f32>, @location(0) at: vec2<f32>, @location(1) speed: f32 }

@vertex
fn corner(@builtin(vertex_index) vertex: u32, @builtin(instance_index) index: u32) -> Corner {
    let sphere = spheres[index];
    let at = vec2<f32>(f32(vertex & 1u), f32(vertex >> 1u)) * 2.0 - 1.0;
    let center = view.origin.xyz + vec3<f32>(sphere.cell) * view.cell_size.xyz + sphere.offset;
    let place = center.xy + at * sphere.radius;
    // A window of 2 m x 1 m, with the floor at its lower side.
    return Corner(vec4<f32>(place.x, 2.0 * place.y - 1.0, 0.0, 1.0), at, length(sphere.velocity));
}

@fragment
fn colour(corner: Corner) -> @location(0) vec4<f32> {
    if dot(corner.at, corner.at) > 1.0 {
        discard;
    }
    return vec4<f32>(1.0, min(corner.speed / 3.0, 1.0), 0.0, 1.0);
}
";

/// Parts of a game engine: a device, and a way to draw.
struct Engine {
    context: Context,
    pipeline: wgpu::RenderPipeline,
    target: wgpu::Texture,
}

impl Engine {
    fn new() -> Result<Engine, Box<dyn Error>> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
        let adapter = adapters.into_iter().next().ok_or("there is no adapter")?;
        // The engine asks for what it needs itself, and for what a simulation needs.
        let (device, queue) =
            pollster::block_on(adapter.request_device(&Context::needs(&adapter)))?;
        let shader = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("draw"),
            source: wgpu::ShaderSource::Wgsl(format!("{}{DRAW}", *layout::WGSL).into()),
        });
        let format = wgpu::TextureFormat::Rgba8Unorm;
        let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some("draw"),
            layout: None,
            vertex: wgpu::VertexState {
                module: &shader,
                entry_point: Some("corner"),
                compilation_options: Default::default(),
                buffers: &[],
            },
            primitive: wgpu::PrimitiveState {
                topology: wgpu::PrimitiveTopology::TriangleStrip,
                ..Default::default()
            },
            depth_stencil: None,
            multisample: Default::default(),
            fragment: Some(wgpu::FragmentState {
                module: &shader,
                entry_point: Some("colour"),
                compilation_options: Default::default(),
                targets: &[Some(format.into())],
            }),
            multiview_mask: None,
            cache: None,
        });
        let target = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: wgpu::Extent3d {
                width: WIDTH,
                height: HEIGHT,
                depth_or_array_layers: 1,
            },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        Ok(Engine {
            context: Context::of(&adapter, device, queue)?,
            pipeline,
            target,
        })
    }

    /// Draws the simulation and returns the picture, four bytes a pixel.
    fn draw(&self, simulation: &Simulation) -> Result<Vec<u8>, Box<dyn Error>> {
        let Context { device, queue, .. } = &self.context;
        let state = simulation.on_host();
        let view: Vec<u8> = [state.params.cell_size, state.origin.as_vec3()]
            .iter()
            .flat_map(|vector| vector.extend(0.0).to_array())
            .flat_map(f32::to_le_bytes)
            .collect();
        let uniform = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("view"),
            size: view.len() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        queue.write_buffer(&uniform, 0, &view);
        let spheres = simulation
            .gpu()
            .ok_or("it runs on the CPU")?
            .buffer(Field::Spheres);
        let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &self.pipeline.get_bind_group_layout(0),
            entries: &[
                wgpu::BindGroupEntry {
                    binding: 0,
                    resource: spheres.as_entire_binding(),
                },
                wgpu::BindGroupEntry {
                    binding: 1,
                    resource: uniform.as_entire_binding(),
                },
            ],
        });
        let picture = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("picture"),
            size: u64::from(4 * WIDTH * HEIGHT),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let mut encoder = device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &self.target.create_view(&Default::default()),
                    depth_slice: None,
                    resolve_target: None,
                    ops: wgpu::Operations::default(),
                })],
                ..Default::default()
            });
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &bind_group, &[]);
            pass.draw(0..4, 0..simulation.model().sphere_count() as u32);
        }
        encoder.copy_texture_to_buffer(
            self.target.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &picture,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(4 * WIDTH),
                    rows_per_image: None,
                },
            },
            self.target.size(),
        );
        queue.submit([encoder.finish()]);
        picture.map_async(wgpu::MapMode::Read, .., |_| ());
        device.poll(wgpu::PollType::wait_indefinitely())?;
        Ok(picture.get_mapped_range(..)?.to_vec())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let engine = Engine::new()?;
    let mut scene = SceneBuilder::new("shower");
    let stone = Material::new(2500.0).restitution(0.5).friction(0.5);
    let stone = scene.material("stone", stone);
    let ball = scene.shape("ball", Shape::sphere(0.05), stone);
    scene.wall("floor", Wall::plane(DVec3::Y), stone);
    let (min, max) = (DVec3::new(-0.6, 0.1, -0.2), DVec3::new(0.6, 0.9, 0.2));
    let fill = Fill::new(60, min, max).with(|fill| {
        fill.spacing = Some(0.16);
        fill.jitter = Some(0.02);
    });
    scene.fill(&[(ball, 1.0)], fill);
    scene.file().contact.max_overlap = Some(0.1);
    let model = scene.build()?.model;
    let steps = model.steps_for(0.25);

    let mut simulation = Simulation::on_gpu(model, &engine.context)?;
    simulation.step(steps)?;
    let picture = engine.draw(&simulation)?;
    let shade = |pixel: &[u8]| match pixel {
        [0, ..] => ' ',
        [_, 0..80, ..] => '#',
        [_, 80..170, ..] => 'o',
        _ => '.',
    };
    for row in picture.chunks(4 * WIDTH as usize) {
        let line: String = row.chunks(4).map(shade).collect();
        println!("|{line}|");
    }
    println!(
        "# slow, o faster, . fast; {} steps on {}",
        steps, engine.context.adapter
    );
    Ok(())
}
