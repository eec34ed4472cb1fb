//! A game loop: the program has the window and the device, and draws from the simulation's buffers; a click throws a ball.
//!
//! `cargo run --release --example game`

use std::{error::Error, sync::Arc};

use rockfall::glam::DVec3;
use rockfall::render::{Camera, Look, Renderer};
use rockfall::scene::format::{Contact, Fill, Material, Shape, Wall};
use rockfall::step::gpu::Context;
use rockfall::{NewBody, Simulation, scene::SceneBuilder, wgpu};
use wgpu::CurrentSurfaceTexture::{Suboptimal, Success};
use winit::event::{ElementState::Pressed, Event, WindowEvent};
use winit::{dpi::PhysicalSize, event_loop::EventLoop, window::Window};

fn scene() -> SceneBuilder {
    let mut scene = SceneBuilder::new("a heap to throw at");
    let stone = Material::new(2500.0).friction(0.5).restitution(0.3);
    let stone = scene.material("stone", stone);
    let cube = scene.shape("cube", Shape::cube(2, 0.04), stone);
    scene.shape("ball", Shape::sphere(0.15), stone);
    scene.wall("floor", Wall::plane(DVec3::Y), stone);
    let (min, max) = (DVec3::new(-0.5, 0.1, -0.3), DVec3::new(0.5, 1.6, 0.3));
    let fill = Fill::new(40, min, max);
    scene
        .fill(&[(cube, 1.0)], fill)
        .contact(Contact::hooke(1e5));
    scene
}

#[expect(deprecated, reason = "a closure is shorter than an ApplicationHandler")]
fn main() -> Result<(), Box<dyn Error>> {
    let event_loop = EventLoop::new()?;
    let attributes = Window::default_attributes().with_title("Game");
    let attributes = attributes.with_inner_size(PhysicalSize::new(480, 360));
    let window = Arc::new(event_loop.create_window(attributes)?);
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let surface = instance.create_surface(window.clone())?;
    let adapter = pollster::block_on(instance.request_adapter(&Default::default()))?;
    let (device, queue) = pollster::block_on(adapter.request_device(&Context::needs(&adapter)))?;
    let config = surface.get_default_config(&adapter, 480, 360);
    let config = config.ok_or("the window cannot be drawn on")?;
    surface.configure(&device, &config);
    let context = Context::of(&adapter, device, queue)?;

    let mut simulation = Simulation::on_gpu(scene().build()?.model, &context)?;
    let ball = simulation.shape("ball").ok_or("there is no ball")?;
    let mut renderer = Renderer::new(&context, &simulation, config.format)?;
    let camera = Camera::at(DVec3::new(0.0, 1.2, 3.0), DVec3::new(0.0, 0.4, 0.0));

    let mut on_event = |event| -> Result<bool, Box<dyn Error>> {
        match event {
            WindowEvent::CloseRequested => return Ok(false),
            WindowEvent::MouseInput { state: Pressed, .. } => {
                let ball = NewBody::new(ball, camera.eye());
                simulation.spawn(ball.moving(DVec3::new(0.0, -1.0, -8.0)))?;
            }
            WindowEvent::RedrawRequested => {
                simulation.run_until(simulation.time() + 1.0 / 60.0)?;
                renderer.update(&simulation)?;
                if let Success(frame) | Suboptimal(frame) = surface.get_current_texture() {
                    let view = frame.texture.create_view(&Default::default());
                    renderer.draw(&view, [480, 360], &camera, &Look::default(), &[])?;
                    context.queue.present(frame);
                }
                window.request_redraw();
            }
            _ => (),
        }
        Ok(true)
    };
    Ok(event_loop.run(move |event, target| {
        if let Event::WindowEvent { event, .. } = event
            && !on_event(event).expect("the game goes on")
        {
            target.exit();
        }
    })?)
}
