//! The window, its surface, and what egui draws onto it.

use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

use web_time::Instant;
use wgpu::CurrentSurfaceTexture as Current;
use winit::dpi::PhysicalSize;
use winit::event_loop::OwnedDisplayHandle;
use winit::window::Window;

use super::colours;
use crate::model::error::{Error, Result};
use crate::render::layer::{Layer, Rectangle};
use crate::render::pace;
use crate::step::gpu::{Adapter, Context};

/// A window that can be drawn onto.
pub(super) struct Canvas {
    pub window: Arc<Window>,
    pub context: Context,
    /// Whether the adapter is a real GPU.
    pub is_gpu: bool,
    surface: wgpu::Surface<'static>,
    config: wgpu::SurfaceConfiguration,
    instance: wgpu::Instance,
    pub egui: egui_winit::State,
    painter: egui_wgpu::Renderer,
    /// Last painting of egui, to be laid over pictures.
    layer: Option<Layer>,
    /// Time of that painting; `None` if nothing was painted on the layer yet.
    painted: Option<Instant>,
    /// Whether egui took part in an event since it was painted last.
    pub has_heard: bool,
    loss: Loss,
}

/// In a development build, loses the surface before each so many pictures as the environment variable
/// `ROCKFALL_LOSE_SURFACE` says, for no display does when a test asks for it.
struct Loss {
    every: Option<u64>,
    pictures: u64,
}

impl Loss {
    fn new() -> Loss {
        let every = std::env::var("ROCKFALL_LOSE_SURFACE")
            .ok()
            .filter(|_| cfg!(debug_assertions))
            .and_then(|every| every.parse().ok())
            .filter(|&every| every > 0);
        Loss { every, pictures: 0 }
    }

    fn is_due(&mut self) -> bool {
        self.pictures += 1;
        self.every
            .is_some_and(|every| self.pictures.is_multiple_of(every))
    }
}

/// A picture that is about to be shown.
pub(super) struct Frame {
    texture: wgpu::SurfaceTexture,
    pub view: wgpu::TextureView,
    /// Whether the surface wants to be configured anew afterwards.
    suboptimal: bool,
}

impl Canvas {
    /// Makes a window ready to be drawn onto, on the adapter that `wanted` names or the best.
    pub async fn new(
        window: Arc<Window>,
        display: OwnedDisplayHandle,
        wanted: Option<&str>,
    ) -> Result<Canvas> {
        let display = Box::new(display);
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            flags: wgpu::InstanceFlags::from_build_config().with_env(),
            ..wgpu::InstanceDescriptor::new_with_display_handle(display)
        });
        let surface = create_surface(&instance, &window)?;
        let adapter = Adapter::for_surface(&instance, &surface, wanted).await?;
        let context = adapter.open_async().await?;
        context.can_draw()?;
        let capabilities = adapter.surface_capabilities(&surface);
        let size = window.inner_size();
        // The renderer and egui both encode colours themselves.
        let format = capabilities.formats.iter().find(|format| !format.is_srgb());
        let Some(&format) = format else {
            return Err(Error::Window(
                "the display accepts none of the picture formats that Rockfall can draw".to_owned(),
            ));
        };
        let config = wgpu::SurfaceConfiguration {
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
            format,
            color_space: Default::default(),
            width: size.width.max(1),
            height: size.height.max(1),
            present_mode: wgpu::PresentMode::AutoVsync,
            desired_maximum_frame_latency: 2,
            alpha_mode: capabilities.alpha_modes[0],
            view_formats: vec![],
        };
        surface.configure(&context.device, &config);
        let egui = egui_winit::State::new(
            egui::Context::default(),
            egui::ViewportId::ROOT,
            &window,
            Some(window.scale_factor() as f32),
            window.theme(),
            Some(context.device.limits().max_texture_dimension_2d as usize),
        );
        let ui = egui.egui_ctx();
        ui.set_fonts(letters());
        ui.set_theme(egui::Theme::Dark);
        ui.set_visuals_of(egui::Theme::Dark, colours::visuals());
        let painter = egui_wgpu::Renderer::new(
            &context.device,
            format,
            egui_wgpu::RendererOptions::default(),
        );
        Ok(Canvas {
            is_gpu: !adapter.is_software(),
            window,
            context,
            surface,
            config,
            instance,
            egui,
            painter,
            layer: None,
            painted: None,
            has_heard: false,
            loss: Loss::new(),
        })
    }

    /// The format of pictures.
    pub fn format(&self) -> wgpu::TextureFormat {
        self.config.format
    }

    /// Time from one picture to the next, which steps may fill.
    pub fn frame_time(&self) -> Duration {
        pace::frame_time(!self.is_gpu)
    }

    /// Size of the window, pixels; [0, 0] while it is minimised.
    pub fn size(&self) -> [u32; 2] {
        let PhysicalSize { width, height } = self.window.inner_size();
        [width, height]
    }

    /// The window has another size.
    pub fn resize(&mut self) {
        let most = self.context.device.limits().max_texture_dimension_2d;
        let [width, height] = self.size().map(|side| side.min(most));
        if width > 0 && height > 0 {
            (self.config.width, self.config.height) = (width, height);
            self.surface.configure(&self.context.device, &self.config);
        }
    }

    /// The next picture; `None` if there is nothing to draw onto at the moment. It is asked for again
    /// where no event will say that there is.
    pub fn begin(&mut self) -> Result<Option<Frame>> {
        if self.size().contains(&0) {
            return Ok(None);
        }
        if self.size() != [self.config.width, self.config.height] {
            self.resize();
        }
        let current = if self.loss.is_due() {
            Current::Lost
        } else {
            self.surface.get_current_texture()
        };
        let (texture, suboptimal) = match current {
            Current::Success(texture) => (texture, false),
            Current::Suboptimal(texture) => (texture, true),
            Current::Occluded => return Ok(None),
            Current::Timeout => {
                self.window.request_redraw();
                return Ok(None);
            }
            Current::Outdated => {
                self.resize();
                self.window.request_redraw();
                return Ok(None);
            }
            Current::Lost => {
                tracing::info!("the surface of the window was lost and has been recreated");
                self.surface = create_surface(&self.instance, &self.window)?;
                self.resize();
                self.window.request_redraw();
                return Ok(None);
            }
            Current::Validation => {
                return Err(Error::Window("the surface cannot be drawn onto".to_owned()));
            }
        };
        let view = texture.texture.create_view(&Default::default());
        Ok(Some(Frame {
            texture,
            view,
            suboptimal,
        }))
    }

    /// Fills a picture with grey.
    pub fn clear(&self, frame: &Frame) {
        let mut encoder = self
            .context
            .device
            .create_command_encoder(&Default::default());
        let grey = wgpu::Color {
            r: 0.5,
            g: 0.5,
            b: 0.5,
            a: 1.0,
        };
        encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("clear"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &frame.view,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(grey),
                    store: wgpu::StoreOp::Store,
                },
            })],
            ..Default::default()
        });
        self.context.queue.submit([encoder.finish()]);
    }

    /// Whether what egui painted a short while ago will do for a picture for which there is little time.
    pub fn keeps_layer(&self) -> bool {
        /// Time for which a painted layer is kept.
        const KEPT: Duration = Duration::from_secs(1);
        // A surface of another size is replaced before the next picture.
        let size = self.size();
        let suits = self.layer.as_ref().is_some_and(|layer| layer.size == size);
        let is_fresh = self.painted.is_some_and(|when| when.elapsed() < KEPT);
        !self.has_heard && suits && is_fresh
    }

    /// Draws what egui has over a picture, and shows it. Without `output`, that is what it painted the last time.
    ///
    /// If there is little time, what egui paints is kept: painting the panel takes a software driver longer than the picture of a
    /// large pile.
    ///
    /// # Errors
    /// If the shader that lays it over pictures is wrong.
    pub fn finish(
        &mut self,
        frame: Frame,
        output: Option<egui::FullOutput>,
        is_hurried: bool,
    ) -> Result<()> {
        let Context { device, queue, .. } = &self.context;
        let size = [self.config.width, self.config.height];
        let known = self.layer.take().filter(|layer| layer.size == size);
        let mut layer = match (is_hurried, known) {
            (false, _) => None,
            (true, Some(known)) => Some(known),
            (true, None) => {
                self.painted = None;
                Some(Layer::new(&self.context, size, self.config.format)?)
            }
        };
        let mut encoder = device.create_command_encoder(&Default::default());
        let mut before = Vec::new();
        let mut freed = Default::default();
        if let Some(mut output) = output {
            self.egui
                .handle_platform_output(&self.window, output.platform_output);
            for (id, deltas) in &output.textures_delta.set {
                for delta in deltas {
                    self.painter.update_texture(device, queue, *id, delta);
                }
            }
            freed = take(&mut output.textures_delta.free);
            // They have been applied; egui panics where they were forgotten.
            output.textures_delta.clear();
            let screen = egui_wgpu::ScreenDescriptor {
                size_in_pixels: size,
                pixels_per_point: output.pixels_per_point,
            };
            let context = self.egui.egui_ctx();
            let primitives = context.tessellate(output.shapes, output.pixels_per_point);
            let painter = &mut self.painter;
            before = painter.update_buffers(device, queue, &mut encoder, &primitives, &screen);
            if let Some(layer) = &mut layer {
                layer.set_parts(primitives.iter().flat_map(|own| covered(own, &screen)));
                self.painted = Some(Instant::now());
            }
            let (view, load) = match &layer {
                Some(layer) => (&layer.view, wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT)),
                None => (&frame.view, wgpu::LoadOp::Load),
            };
            let mut pass = encoder
                .begin_render_pass(&wgpu::RenderPassDescriptor {
                    label: Some("egui"),
                    color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                        view,
                        depth_slice: None,
                        resolve_target: None,
                        ops: wgpu::Operations {
                            load,
                            store: wgpu::StoreOp::Store,
                        },
                    })],
                    ..Default::default()
                })
                .forget_lifetime();
            painter.render(&mut pass, &primitives, &screen);
            self.has_heard = false;
        }
        self.layer = layer;
        if let Some(layer) = &self.layer {
            layer.lay_over(&self.context, &mut encoder, &frame.view);
        }
        queue.submit(before.into_iter().chain([encoder.finish()]));
        self.window.pre_present_notify();
        queue.present(frame.texture);
        for id in &freed {
            self.painter.free_texture(id);
        }
        if frame.suboptimal {
            self.resize();
        }
        Ok(())
    }
}

/// Rectangles that cover each triangle of what egui paints, and what paints itself.
fn covered(
    primitive: &egui::ClippedPrimitive,
    screen: &egui_wgpu::ScreenDescriptor,
) -> Vec<Rectangle> {
    let clip = primitive.clip_rect;
    let rectangles: Vec<egui::Rect> = match &primitive.primitive {
        egui::epaint::Primitive::Callback(_) => vec![clip],
        egui::epaint::Primitive::Mesh(mesh) => mesh
            .indices
            .chunks_exact(3)
            .map(|corners| {
                let places = [0, 1, 2].map(|k| mesh.vertices[corners[k] as usize].pos);
                egui::Rect::from_points(&places).intersect(clip)
            })
            .collect(),
    };
    let pixels = |own: egui::Rect| {
        let egui::Rect { min, max } = own * screen.pixels_per_point;
        // Casts take negative numbers for 0.
        let (min, max) = (min.floor(), max.ceil());
        [min.x, min.y, max.x, max.y].map(|place| place as u32)
    };
    rectangles
        .into_iter()
        .filter(|own| own.is_positive())
        .map(pixels)
        .collect()
}

/// One font for all letters, which is that of the legends: egui's own come with a second one, for code.
fn letters() -> egui::FontDefinitions {
    const NAME: &str = "Ubuntu-Light";
    let mut letters = egui::FontDefinitions::empty();
    let font = egui::FontData::from_static(epaint_default_fonts::UBUNTU_LIGHT);
    letters.font_data.insert(NAME.to_owned(), Arc::new(font));
    for fonts in letters.families.values_mut() {
        fonts.push(NAME.to_owned());
    }
    letters
}

fn create_surface(
    instance: &wgpu::Instance,
    window: &Arc<Window>,
) -> Result<wgpu::Surface<'static>> {
    instance
        .create_surface(window.clone())
        .map_err(|error| Error::Window(error.to_string()))
}
