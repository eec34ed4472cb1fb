//! Pictures of a simulation.
//!
//! Pictures are drawn from the simulation's own buffers. [`Renderer`] only reads them, and keeps no copy of the
//! state. The exception is the CPU engine, whose state no shader can read: the renderer copies it to the device. A
//! picture is made in these parts, each a file in `shaders/render/`:
//!
//! 1. `survey`, now and then: finds the positions of the bodies, and the range of the values that colours show.
//! 2. `planes`: finds where the planes are as seen from the camera.
//! 3. `shadow`: draws the depths that the light sees.
//! 4. `visible`: writes for each sample the number of the thing that it shows, and the distance. A sphere is drawn as a
//!    triangle across the line of sight, in which rays are cast. `hidden` leaves out bodies that others hide, if
//!    [`Look::hides`] asks for it.
//! 5. `occlusion`: finds how much of the ambient light reaches each sample.
//! 6. `shade`: casts the ray of each sample once more, at the one thing that it shows, looks up its colour, and
//!    lights it.
//! 7. `springs`, `glass` (transparent walls), `water` and `lines`: draw over that.
//! 8. `resolve`: averages the samples of each pixel, or enlarges them where they are fewer than pixels.
//! 9. `layer`: lays what a window painted before over the picture.
//!
//! So colours are computed only for samples that are seen, and the numbers tell which thing is under the mouse. All
//! edges, those of shadows included, are as smooth as the number of samples allows.

// Pictures need not be the same on every machine.
#![allow(clippy::disallowed_methods)]

pub mod camera;
pub mod colour;
#[cfg(not(target_family = "wasm"))]
pub mod film;
mod hidden;
pub(crate) mod layer;
pub(crate) mod legend;
pub(crate) mod overlay;
pub(crate) mod pace;
mod picture;
mod programs;
#[doc(hidden)]
pub mod shaders;
mod source;
mod studio;
pub mod view;
mod walls;

use std::time::Duration;

use bytemuck::{Pod, Zeroable, bytes_of, bytes_of_mut, cast_slice, cast_slice_mut};
use glam::{DVec3, IVec3, Vec3};
use web_time::Instant;
use wgpu::{BufferUsages, TextureUsages};
use xxhash_rust::xxh3::Xxh3;

use crate::model::Model;
use crate::model::error::{Error, Result};
use crate::model::forces::End;
use crate::model::view::{Background, Clip, Ground, Lines, SceneView};
use crate::model::wall::Wall;
use crate::simulation::Simulation;
use crate::state::layout::MAX_WALLS;
use crate::step::Patience;
use crate::step::gpu::{Context, workgroups_for};

pub use camera::{Bounds, Camera};
pub use colour::{ColourBy, ColourMap};
use hidden::Hidden;
pub use overlay::Overlay;
pub use pace::Pace;
pub use picture::PICTURE;
pub(crate) use picture::target;
use programs::{
    COLOUR, DEPTH, ENCODED, FARTHEST, Features, OCCLUSION, Program, Programs, Shading, THINGS,
};
use shaders::{SURVEY_SLICES, TILE, Texts};
use source::{Source, uniform};
pub use studio::{Shot, Studio};
use view::View;

/// Side of the shadow map, texels.
const SHADOW_SIZE: u32 = 2048;
/// Side of the shadow map of a blurred picture, texels: smaller, because a software driver takes time for each texel.
const BLURRED_SHADOW_SIZE: u32 = 512;

/// Resolution of the survey, in parts of a cell along each side: `PARTS` in `shaders/render/survey.wgsl`.
const SURVEY_PARTS: f64 = 16.0;

/// Largest number of samples of a pixel along each side.
#[doc(hidden)]
pub const MOST_SAMPLES: u32 = 4;

/// Number of pictures that share one shadow map if [`Look::hides`] is set, which means that drawing is slow.
const SHADOWS_LAST: u32 = 4;

/// Largest number of spheres that a survey looks at if [`Look::hides`] is set.
const MOST_SURVEYED: u32 = 1 << 15;

/// Settings of how a picture looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Meaning of colours.
    pub colour_by: ColourBy,
    /// Colours of numeric values.
    pub map: ColourMap,
    /// The value of the first colour of the map. With `None` it is 0, or for quantities
    /// [far from zero](ColourBy::is_far_from_zero) follows the values.
    pub bottom: Option<f32>,
    /// The value of the last colour of the map. With `None` it follows the values, except a few that are far above all others.
    pub top: Option<f32>,
    /// Clipping plane, at which bodies and walls are cut.
    pub clip: Option<Clip>,
    /// Background of the picture.
    pub background: Background,
    /// Look of walls that are planes.
    pub ground: Ground,
    /// Meaning of the lines of a picture, if it has any. The contact network is drawn instead of the bodies.
    pub lines: Option<Lines>,
    /// Samples of a pixel along each side, from 1 to [`MOST_SAMPLES`].
    pub supersampling: u32,
    /// Fraction of the pixels along each side that are drawn, up to 1; a smaller fraction is faster, and blurred.
    pub sharpness: f32,
    /// Number of samples of the ambient light around each point; with 0 the ambient light is the same everywhere.
    pub occlusion_samples: u32,
    /// Whether hidden bodies are left out before drawing, which is faster with many bodies on a software driver. Bodies that
    /// are left out throw no shadows. A blurred picture then also shows a clump of a few samples as one ball, and while the
    /// camera stands still, bodies that come into sight may be missing from the next three.
    pub hides: bool,
    /// Index of the body that is picked, if any.
    pub picked: Option<u32>,
    /// Width of lines, pixels.
    pub line_width: f32,
}

impl Look {
    /// Whether the picture is drawn with fewer samples than it has pixels.
    fn is_blurred(&self) -> bool {
        self.sharpness < 1.0
    }

    /// Side of the shadow map, texels.
    fn shadow_size(&self) -> u32 {
        match self.is_blurred() {
            true => BLURRED_SHADOW_SIZE,
            false => SHADOW_SIZE,
        }
    }

    /// Number of samples across and down a picture of `size` pixels.
    fn samples(&self, size: [u32; 2]) -> [u32; 2] {
        match self.is_blurred() {
            true => {
                size.map(|side| ((side as f32 * self.sharpness.max(0.05)).ceil() as u32).max(1))
            }
            false => size.map(|side| side * self.supersampling.clamp(1, MOST_SAMPLES)),
        }
    }

    /// The look that a scene asks for, with defaults for the rest.
    #[doc(hidden)]
    pub fn of(view: &SceneView) -> Look {
        let [bottom, top] = match view.range {
            Some(range) => range.map(|value| Some(value as f32)),
            None => [None; 2],
        };
        Look {
            colour_by: view.colour.unwrap_or_default(),
            map: view.map.unwrap_or_default(),
            bottom,
            top,
            clip: view.clip,
            background: view.background.unwrap_or_default(),
            ground: view.ground.unwrap_or_default(),
            lines: view.lines,
            ..Look::default()
        }
    }
}

impl Default for Look {
    fn default() -> Self {
        Look {
            colour_by: ColourBy::default(),
            map: ColourMap::default(),
            bottom: None,
            top: None,
            clip: None,
            background: Background::default(),
            ground: Ground::default(),
            lines: None,
            supersampling: 2,
            sharpness: 1.0,
            occlusion_samples: 14,
            hides: false,
            picked: None,
            line_width: 1.5,
        }
    }
}

/// A straight line of a picture.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// One end, m.
    pub start: DVec3,
    /// The other end, m.
    pub end: DVec3,
    /// Linear red, green and blue.
    pub colour: Vec3,
    /// Width as a multiple of [`Look::line_width`].
    pub width: f32,
}

/// The thing that a point of a picture shows.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Thing {
    /// No thing, only the background.
    Nothing,
    /// A sphere, by its index.
    Sphere(u32),
    /// A wall, by its index.
    Wall(u32),
}

/// Samples of a picture, row by row: the thing that each shows, and how far away it is.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Layers {
    /// Width and height, samples.
    pub size: [u32; 2],
    /// The thing that each sample shows.
    pub things: Vec<Thing>,
    /// Distance of each sample in front of the camera, m: along its axis, not along the ray.
    pub distances: Vec<f32>,
}

/// Inputs of a [`View`] besides the camera and the look.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Surroundings {
    bounds: Bounds,
    /// Typical radius of a body, m.
    body_radius: f64,
    cell_size: DVec3,
    origin: DVec3,
    /// Values of the first and the last colour.
    span: [f32; 2],
    /// Simulated time, s.
    time: f32,
    /// Box around all bodies.
    bodies: Bounds,
    /// Box around nearly all bodies.
    bulk: Bounds,
    survey_weight: f32,
    survey_stride: u32,
}

/// Draws pictures of one simulation.
pub struct Renderer {
    context: Context,
    source: Source,
    programs: Programs,
    features: Features,
    view: wgpu::Buffer,
    colours: wgpu::Buffer,
    /// The map that `colours` holds.
    map: ColourMap,
    survey: wgpu::Buffer,
    lines: wgpu::Buffer,
    shadow_map: wgpu::Texture,
    shadow_sampler: wgpu::Sampler,
    /// Sampler of colours between the samples of a blurred picture.
    between: wgpu::Sampler,
    targets: Option<Targets>,
    output: wgpu::TextureFormat,
    sphere_count: u32,
    /// Number of springs and applied forces.
    action_count: u32,
    has_water: bool,
    /// Simulated time, s.
    time: f64,
    plane_buffer: wgpu::Buffer,
    /// The planes as seen from the camera.
    seen_planes: wgpu::Buffer,
    triangle_buffer: wgpu::Buffer,
    edge_buffer: wgpu::Buffer,
    look_buffer: wgpu::Buffer,
    edge_count: u32,
    /// The box of each wall at the start; `None` for a wall without an end.
    wall_bounds: Vec<Option<Bounds>>,
    /// Index of the wall of each plane.
    planes: Vec<u32>,
    triangles: Vec<walls::Triangle>,
    /// Number of steps up to which the wear of `triangles` was summed.
    worn_at: Option<u64>,
    model_walls: Vec<Wall>,
    /// Whether each wall is there in the present stage.
    walls_there: Vec<bool>,
    scene: SceneView,
    /// The box around all walls that have an end.
    walls: Option<Bounds>,
    /// The box around the points of the world that springs are fixed to.
    anchors: Option<Bounds>,
    body_radius: f64,
    cell_size: DVec3,
    origin: DVec3,
    /// The box around the bodies at the start.
    start: Bounds,
    bounds: Option<Bounds>,
    /// The box around nearly all bodies.
    bulk: Option<Bounds>,
    /// The largest value that the last survey found.
    most: f32,
    span: colour::Span,
    /// `View::near` of the picture that was drawn last.
    near: Option<f32>,
    /// Bodies that are left out, if a look has asked for that.
    hidden: Option<Hidden>,
    body_count: u32,
    /// Hash of all that went into the samples of the last picture: while it stays the same, they need not be drawn again.
    drawn: Option<u64>,
    /// The box that the shadow map shows, and the number of pictures for which it has been kept.
    lit: Option<([f64; 5], u32)>,
    /// Whether the last picture left out bodies.
    was_hiding: bool,
    /// Camera and size in samples of the last picture, if what it found in sight is known of the same bodies now.
    found_for: Option<(Camera, [u32; 2])>,
    /// Number of bodies at the last update, and the id of the last one.
    last_body: (usize, Option<u64>),
    /// Meaning of colours in the last survey, when the survey ended, and how long it took.
    surveyed: Option<(ColourBy, Instant, Duration)>,
    /// Whether the state has changed since the last survey.
    has_moved: bool,
}

/// Textures of a picture, with a texel for each sample; `farthest` has one for each tile, and `encoded` may have only one.
struct Targets {
    size: [u32; 2],
    things: wgpu::Texture,
    depths: wgpu::Texture,
    farthest: wgpu::Texture,
    occlusion: wgpu::Texture,
    colour: wgpu::Texture,
    encoded: wgpu::Texture,
}

/// `Survey` in `shaders/render/survey.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Survey {
    first: IVec3,
    last: IVec3,
    most: u32,
    least: u32,
    counts: [u32; colour::BINS],
    slices: [[u32; SURVEY_SLICES]; 3],
}

impl Survey {
    const NONE: Survey = Survey {
        first: IVec3::MAX,
        last: IVec3::MIN,
        most: 0,
        least: u32::MAX,
        counts: [0; colour::BINS],
        slices: [[0; SURVEY_SLICES]; 3],
    };

    /// The box that holds 98 % of the volume of the bodies along each axis.
    ///
    /// The survey found all spheres within `found` (m), and counted their centres in slices of the box `sliced` (m). Spheres
    /// reach out of their slices by `radius` (m). An end of `found` that is not far out stays.
    fn bulk(&self, found: Bounds, sliced: Bounds, radius: f64) -> Bounds {
        /// Fraction of the volume beyond each end of the bulk.
        const OUT: f64 = 0.01;
        /// Distance from the bulk at which an end is far out, over the length of the bulk.
        const FAR: f64 = 0.25;
        let mut bulk = found;
        for (axis, slices) in self.slices.iter().enumerate() {
            let total: u64 = slices.iter().map(|&slice| u64::from(slice)).sum();
            let out = (OUT * total as f64) as u64;
            let step = (sliced.max[axis] - sliced.min[axis]) / SURVEY_SLICES as f64;
            let inner = |slices: &mut dyn Iterator<Item = &u32>| {
                let mut sum = 0;
                let slices = slices.take_while(|&&slice| {
                    sum += u64::from(slice);
                    sum <= out
                });
                slices.count() as f64 * step
            };
            let margin = step + radius;
            let low = sliced.min[axis] + inner(&mut slices.iter()) - margin;
            let high = sliced.max[axis] - inner(&mut slices.iter().rev()) + margin;
            let length = high - low;
            if low - found.min[axis] > FAR * length {
                bulk.min[axis] = low;
            }
            if found.max[axis] - high > FAR * length {
                bulk.max[axis] = high;
            }
        }
        bulk
    }
}

/// `Line` in `shaders/render/lines.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct LineFromCamera {
    start: Vec3,
    width: f32,
    end: Vec3,
    _pad1: u32,
    colour: Vec3,
    _pad2: u32,
}

impl Renderer {
    /// Makes a renderer of `simulation` for targets of the format `output`.
    ///
    /// `context` must be the device of the simulation's GPU engine; with the CPU engine any device will do. The format must not
    /// convert to sRGB, because the shader does that.
    ///
    /// # Errors
    /// If the device cannot draw, or has no memory for the buffers; or if a shader does not compile.
    pub fn new(
        context: &Context,
        simulation: &Simulation,
        output: wgpu::TextureFormat,
    ) -> Result<Renderer> {
        context.can_draw()?;
        let device = &context.device;
        let buffer = |name, size: usize, usage| {
            context.create_buffer(name, size as u64, usage | BufferUsages::COPY_DST)
        };
        let colours = buffer("colours", 16 * colour::COLOURS, BufferUsages::UNIFORM)?;
        let map = ColourMap::default();
        let table = colour::table(map);
        context.queue.write_buffer(&colours, 0, cast_slice(&table));
        let view_size = <View as encase::ShaderType>::min_size().get() as usize;
        let (model, state) = (simulation.model(), simulation.on_host());
        let planes = walls::planes(&model.walls);
        let triangles = walls::triangles(&model.walls, &state.anchors, start(model));
        let constant = |name, bytes: &[u8], least: usize| -> Result<wgpu::Buffer> {
            // A storage buffer cannot be empty.
            let buffer = buffer(name, bytes.len().max(least), BufferUsages::STORAGE)?;
            context.queue.write_buffer(&buffer, 0, bytes);
            Ok(buffer)
        };
        // A uniform buffer, because storage buffers are scarce and planes are few.
        let plane_size = size_of::<walls::Plane>() * MAX_WALLS;
        let plane_buffer = buffer("planes", plane_size, BufferUsages::UNIFORM)?;
        context
            .queue
            .write_buffer(&plane_buffer, 0, cast_slice(&planes));
        let triangle_buffer = constant(
            "triangles",
            cast_slice(&triangles),
            size_of::<walls::Triangle>(),
        )?;
        let edges = walls::edges(&triangles);
        let edge_buffer = constant("edges", cast_slice(&edges), size_of::<walls::Edge>())?;
        let features = Features {
            deforms: state.params.deforms == 1,
            planes: planes.len() as u32,
            has_triangles: !triangles.is_empty(),
        };
        let renderer = Renderer {
            edge_buffer,
            edge_count: edges.len() as u32,
            look_buffer: buffer("wall_looks", 16 * MAX_WALLS, BufferUsages::UNIFORM)?,
            wall_bounds: model.walls.iter().map(bounds_of).collect(),
            map,
            bulk: None,
            source: Source::new(context, simulation)?,
            programs: Programs::new(context, &Texts::BuiltIn, output, features)?,
            features,
            view: buffer("view", view_size, BufferUsages::UNIFORM)?,
            colours,
            survey: buffer(
                "survey",
                size_of::<Survey>(),
                BufferUsages::STORAGE | BufferUsages::COPY_SRC,
            )?,
            lines: buffer("lines", size_of::<LineFromCamera>(), BufferUsages::STORAGE)?,
            shadow_map: shadow_map(device, SHADOW_SIZE),
            shadow_sampler: device.create_sampler(&wgpu::SamplerDescriptor {
                label: Some("shadow_sampler"),
                mag_filter: wgpu::FilterMode::Linear,
                min_filter: wgpu::FilterMode::Linear,
                compare: Some(wgpu::CompareFunction::LessEqual),
                ..Default::default()
            }),
            between: device.create_sampler(&wgpu::SamplerDescriptor {
                label: Some("between"),
                mag_filter: wgpu::FilterMode::Linear,
                min_filter: wgpu::FilterMode::Linear,
                ..Default::default()
            }),
            targets: None,
            output,
            sphere_count: state.params.sphere_count,
            action_count: drawn_actions(simulation),
            has_water: model.forces.water.is_some(),
            time: simulation.time(),
            plane_buffer,
            // `PlaneHere` in `shaders/render/wall.wgsl` has two vectors, each as wide as four floats.
            seen_planes: buffer(
                "planes_here",
                32 * MAX_WALLS,
                BufferUsages::STORAGE | BufferUsages::UNIFORM,
            )?,
            triangle_buffer,
            planes: planes.iter().map(|plane| plane.wall).collect(),
            triangles,
            worn_at: None,
            walls: model
                .walls
                .iter()
                .filter_map(bounds_of)
                .reduce(Bounds::union),
            anchors: anchors(model),
            model_walls: model.walls.clone(),
            walls_there: model.walls_there(),
            scene: model.view.clone(),
            body_radius: body_radius(simulation.model()),
            cell_size: state.params.cell_size.as_dvec3(),
            origin: state.origin,
            start: start(simulation.model()),
            bounds: None,
            most: 0.0,
            span: colour::Span::default(),
            near: None,
            hidden: None,
            body_count: state.params.body_count,
            drawn: None,
            lit: None,
            was_hiding: false,
            found_for: None,
            last_body: (0, None),
            surveyed: None,
            has_moved: false,
            context: context.clone(),
        };
        Ok(renderer)
    }

    /// Compiles the shaders anew. If one of them is wrong, the renderer keeps the old ones.
    ///
    /// # Errors
    /// If one of them is wrong.
    #[doc(hidden)]
    pub fn reload(&mut self, texts: &Texts) -> Result<()> {
        let scope = self
            .context
            .device
            .push_error_scope(wgpu::ErrorFilter::Validation);
        let programs = Programs::new(&self.context, texts, self.output, self.features);
        let error = pollster::block_on(scope.pop());
        let programs = programs?;
        if let Some(error) = error {
            return Err(Error::Shader {
                name: "of pictures",
                message: error.to_string(),
            });
        }
        self.programs = programs;
        (self.drawn, self.lit) = (None, None);
        Ok(())
    }

    /// Updates the renderer to the present state of the simulation; to be called before a picture.
    ///
    /// It reads the number of bodies and, with the CPU engine, copies the state to the device.
    ///
    /// # Errors
    /// If the device has no memory for bodies that have come in.
    pub fn update(&mut self, simulation: &Simulation) -> Result<()> {
        self.bring_up(simulation, None)
    }

    /// Does as [`Renderer::update`], but copies only data that pictures of this look read.
    ///
    /// A look that [hides](Look::hides) bodies needs this call; otherwise no bodies are left out.
    ///
    /// # Errors
    /// As [`Renderer::update`].
    pub fn update_for(&mut self, simulation: &Simulation, look: &Look) -> Result<()> {
        self.bring_up(simulation, Some(look))
    }

    /// Does as [`Renderer::update`], and reads from the ranks of a cluster, if they have the bodies, what pictures of this look need.
    pub(crate) fn gather(&mut self, simulation: &mut Simulation, look: &Look) -> Result<()> {
        if simulation.cluster_cost().is_some() {
            self.source.gather(&self.context, simulation, look)?;
        }
        self.update(simulation)
    }

    fn bring_up(&mut self, simulation: &Simulation, look: Option<&Look>) -> Result<()> {
        self.sphere_count = simulation.sphere_count() as u32;
        self.body_count = simulation.body_count() as u32;
        self.action_count = drawn_actions(simulation);
        self.time = simulation.time();
        self.walls_there = simulation.model().walls_there();
        self.cell_size = simulation.on_host().params.cell_size.as_dvec3();
        let state = simulation.on_host();
        if state.traffic.worn_at != self.worn_at {
            self.worn_at = state.traffic.worn_at;
            walls::wear(&mut self.triangles, &self.model_walls, &state.traffic.worn);
            let bytes = cast_slice(&self.triangles);
            self.context
                .queue
                .write_buffer(&self.triangle_buffer, 0, bytes);
            self.drawn = None;
        }
        if !self.hidden.as_ref().is_some_and(|own| own.suits(state)) {
            // Buffers that are too small are of no use to a later picture that hides, either.
            let hides = look.is_some_and(|look| look.hides);
            let hidden = hides.then(|| Hidden::new(&self.context, state));
            self.hidden = hidden.transpose()?;
            self.was_hiding = false;
        }
        let (count, id) = self.last_body;
        let id_at =
            |index: usize| (index < state.identities.len()).then(|| state.identities.id(index));
        if count > 0 && id_at(count - 1) != id {
            // Bodies have left, so the others have moved up.
            self.found_for = None;
        }
        let count = state.identities.len();
        self.last_body = (count, count.checked_sub(1).and_then(id_at));
        if self.source.update(&self.context, simulation, look)? {
            (self.drawn, self.has_moved) = (None, true);
        }
        Ok(())
    }

    /// Number of bodies that the last picture found in sight, if it looked for them. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    #[doc(hidden)]
    pub fn bodies_in_sight(&self) -> Result<Option<usize>> {
        let hidden = self.hidden.as_ref();
        let count = |own: &Hidden| own.in_sight(&self.context, self.body_count as usize);
        hidden.map(count).transpose()
    }

    /// Surveys now and then, for a window that draws one picture after the other.
    ///
    /// It surveys at once if the meaning of colours has changed.
    pub(crate) async fn survey_when_due(&mut self, patience: Patience, look: &Look) -> Result<()> {
        /// Least time between surveys.
        const LEAST: Duration = Duration::from_millis(250);
        /// Least time between surveys, over the time that a survey takes.
        const TIMES: u32 = 20;
        if let Some((colour_by, end, took)) = self.surveyed
            && colour_by == look.colour_by
            && (!self.has_moved || end.elapsed() < LEAST.max(TIMES * took))
        {
            return Ok(());
        }
        self.survey_by(patience, look).await.map(|_| ())
    }

    /// Finds the positions of the bodies, and the range of the values that colours show. Waits for the device.
    ///
    /// Returns the box around all bodies; with [`Look::hides`] it may be that of a sample of their spheres.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn survey(&mut self, look: &Look) -> Result<Bounds> {
        pollster::block_on(self.survey_by(Patience::Block, look))
    }

    /// [`Renderer::survey`] for a caller that says how to wait.
    pub(crate) async fn survey_by(&mut self, patience: Patience, look: &Look) -> Result<Bounds> {
        let start = Instant::now();
        if self.bounds.is_none() {
            // The first measurement gives the box that the second one slices.
            self.bounds = Some(self.measure(patience, look).await?.0);
        }
        let sliced = self.bodies();
        let (found, survey) = self.measure(patience, look).await?;
        self.most = f32::from_bits(survey.most);
        let least = f32::from_bits(survey.least);
        let [bottom, top] = colour::robust(&survey.counts, least, self.most);
        if look.colour_by.is_far_from_zero() {
            self.span.follow_both(bottom, top);
        } else {
            self.span.follow(top);
        }
        // The bounds grow at once and shrink late, so that the camera and the shadow map do not tremble.
        self.bounds = Some(match self.bounds {
            Some(before) if found.radius() > 0.6 * before.radius() => before.union(found),
            _ => found,
        });
        self.bulk = Some(survey.bulk(found, sliced, self.body_radius));
        let end = Instant::now();
        self.surveyed = Some((look.colour_by, end, end - start));
        self.has_moved = false;
        Ok(found)
    }

    /// Runs the survey; returns the box around all bodies, and the counts.
    async fn measure(&mut self, patience: Patience, look: &Look) -> Result<(Bounds, Survey)> {
        let program = self.programs.survey(&self.context, look.colour_by)?;
        let context = &self.context;
        // The survey reads of the view only the camera's cell, the sliced box and the meaning of colours.
        let surroundings = self.surroundings(look);
        let camera = Camera {
            target: surroundings.bounds.center(),
            ..Camera::default()
        };
        let view = View::new(&camera, look, &surroundings, [1, 1], SHADOW_SIZE);
        context.queue.write_buffer(&self.view, 0, &uniform(&view));
        let mut survey = Survey::NONE;
        context
            .queue
            .write_buffer(&self.survey, 0, bytes_of(&survey));
        let mut encoder = context.device.create_command_encoder(&Default::default());
        {
            let bind_group = program.bind(context, &|name| self.by_name(name));
            let mut compute = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("survey"),
                timestamp_writes: None,
            });
            compute.set_pipeline(&program.pipeline);
            compute.set_bind_group(0, &bind_group, &[]);
            let looked_at = self.sphere_count.div_ceil(surroundings.survey_stride);
            let [x, y, z] = workgroups_for(looked_at.into());
            compute.dispatch_workgroups(x, y, z);
        }
        context.queue.submit([encoder.finish()]);
        let bytes = bytes_of_mut(&mut survey);
        context.read_by(patience, &self.survey, 0, bytes).await?;
        let place = |parts: IVec3| {
            let cells = view.camera_cell.as_dvec3() + parts.as_dvec3() / SURVEY_PARTS;
            self.origin + cells * self.cell_size
        };
        let found = match self.sphere_count {
            0 => self.start,
            _ => Bounds {
                min: place(survey.first),
                max: place(survey.last + IVec3::ONE),
            },
        };
        Ok((found, survey))
    }

    /// The box where the last survey found bodies, or where they start.
    fn bodies(&self) -> Bounds {
        self.bounds.unwrap_or(self.start)
    }

    /// The box around the bulk of the bodies, m, as the last survey found it.
    ///
    /// It holds 98 % of their volume along each axis, so it leaves out bodies that have flown far away.
    pub fn bulk(&self) -> Bounds {
        self.bulk.unwrap_or(self.bodies())
    }

    /// The box that a picture should show, m: the bulk of the bodies, and the parts of walls near it.
    ///
    /// A `film` also shows where the bodies start.
    pub fn frame(&self, film: bool) -> Bounds {
        /// Distance up to which walls are shown around the bulk, over its size.
        const AROUND: f64 = 3.0;
        let mut shown = self.bulk();
        if let Some(anchors) = self.anchors {
            shown = shown.union(anchors);
        }
        if film {
            shown = shown.union(self.start);
        }
        let walls = self.wall_bounds.iter().flatten();
        let near = walls.filter_map(|wall| wall.near(shown, AROUND * shown.radius()));
        near.fold(shown, Bounds::union)
    }

    /// Forgets the results of all surveys, so that the next one starts afresh.
    pub fn forget(&mut self) {
        self.bounds = None;
        self.bulk = None;
        self.surveyed = None;
        self.span = colour::Span::default();
    }

    /// The largest value of the quantity that colours show, as the last survey found it.
    pub fn most(&self) -> f32 {
        self.most
    }

    /// The value of the last colour of the map.
    pub fn top(&self, look: &Look) -> f32 {
        look.top.unwrap_or(self.span.top())
    }

    /// The values of the first and the last colour of the map.
    pub fn span(&self, look: &Look) -> [f32; 2] {
        let top = self.top(look);
        let bottom = look.bottom.unwrap_or(self.span.bottom());
        let below = if top > 0.0 { 0.0 } else { top - 1.0 };
        // A given end may lie beyond the other one, which then gives way.
        [if bottom < top { bottom } else { below }, top]
    }

    /// Side of a square of the pattern on planes, m; `None` before the first survey.
    pub fn tile(&self) -> Option<f64> {
        self.bounds.map(view::tile)
    }

    /// Draws a picture of `size` (width and height, pixels) into the upper left corner of `target`.
    ///
    /// # Errors
    /// If the picture is larger than the device allows, or the device is lost.
    #[doc(hidden)]
    pub fn draw(
        &mut self,
        target: &wgpu::TextureView,
        size: [u32; 2],
        camera: &Camera,
        look: &Look,
        lines: &[Line],
    ) -> Result<()> {
        if self.bounds.is_none() {
            self.survey(look)?;
        }
        let mut made_of = Xxh3::new();
        self.upload_looks(look, &mut made_of);
        let samples = look.samples(size);
        self.provide_targets(size, samples, look)?;
        if self.shadow_map.width() != look.shadow_size() {
            self.shadow_map = shadow_map(&self.context.device, look.shadow_size());
            (self.drawn, self.lit) = (None, None);
        }
        self.upload_lines(camera, lines, &mut made_of)?;
        let surroundings = self.surroundings(look);
        let view = View::new(camera, look, &surroundings, samples, look.shadow_size());
        let bytes = uniform(&view);
        self.context.queue.write_buffer(&self.view, 0, &bytes);
        self.near = Some(view.near);
        made_of.update(&bytes);
        let rest = [
            look.ground as u32,
            look.lines.map_or(0, |lines| 1 + lines as u32),
            look.colour_by as u32,
            u32::from(look.hides),
        ];
        made_of.update(cast_slice(&rest));
        let made_of = Some(made_of.digest());
        let is_drawn = self.drawn == made_of;
        self.drawn = made_of;
        let shows = view::lit(camera, &surroundings, look.shadow_size());
        let age = match self.lit {
            Some((before, age)) if look.hides && before == shows => age + 1,
            _ => 0,
        };
        let has_shadows = (1..SHADOWS_LAST).contains(&age);
        // The first picture does not know yet which bodies are in sight, so its shadow map must not be kept.
        let is_first = look.hides && !self.was_hiding;
        self.was_hiding = look.hides;
        self.lit = Some((shows, if has_shadows { age } else { 0 })).filter(|_| !is_first);
        self.programs
            .provide_shade(&self.context, self.shading(look))?;
        let here = Some((*camera, samples));
        let stands_still = look.is_blurred() && !is_first && self.found_for == here;
        let has_balls = self.balls(look) > 0;
        if let Some(hidden) = &mut self.hidden
            && look.hides
            && has_balls
            && !is_drawn
        {
            hidden.choose(&self.context, self.body_count, !stands_still);
            // The first picture finds all bodies in sight, since it has drawn none before.
            self.found_for = here.filter(|_| !is_first);
        }
        let mut encoder = self
            .context
            .device
            .create_command_encoder(&Default::default());
        let known = match (is_drawn, has_shadows) {
            (true, _) => Known::Samples,
            (false, true) => Known::Shadows,
            (false, false) => Known::Nothing,
        };
        let lines = lines.len() as u32;
        self.encode(&mut encoder, target, size, look, lines, known);
        self.context.queue.submit([encoder.finish()]);
        Ok(())
    }

    /// The lines that `look` asks for, to be handed to [`Renderer::draw`]; `None` if it asks for none.
    ///
    /// Reads the state part by part.
    ///
    /// # Errors
    /// If the device of the simulation is lost.
    #[doc(hidden)]
    pub fn overlay(
        &self,
        simulation: &mut Simulation,
        camera: &Camera,
        look: &Look,
    ) -> Result<Option<Overlay>> {
        pollster::block_on(self.overlay_by(Patience::Block, simulation, camera, look))
    }

    /// [`Renderer::overlay`] for a caller that says how to wait.
    pub(crate) async fn overlay_by(
        &self,
        patience: Patience,
        simulation: &mut Simulation,
        camera: &Camera,
        look: &Look,
    ) -> Result<Option<Overlay>> {
        Overlay::new(patience, simulation, look, camera, self.body_radius).await
    }

    /// The view of the scene, of which pictures take the looks of walls.
    #[doc(hidden)]
    pub fn scene(&self) -> &SceneView {
        &self.scene
    }

    /// The view of the scene, to change the looks of walls.
    #[doc(hidden)]
    pub fn scene_mut(&mut self) -> &mut SceneView {
        &mut self.scene
    }

    /// The thing at a pixel of the picture that was drawn last. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    #[doc(hidden)]
    pub fn thing_at(&self, pixel: [u32; 2], look: &Look) -> Result<Thing> {
        pollster::block_on(self.thing_at_by(Patience::Block, pixel, look))
    }

    /// [`Renderer::thing_at`] for a caller that says how to wait.
    pub(crate) async fn thing_at_by(
        &self,
        patience: Patience,
        pixel: [u32; 2],
        look: &Look,
    ) -> Result<Thing> {
        let Some(targets) = &self.targets else {
            return Ok(Thing::Nothing);
        };
        let [x, y] = match look.is_blurred() {
            true => pixel.map(|place| (place as f32 * look.sharpness) as u32),
            false => {
                let supersampling = look.supersampling.clamp(1, MOST_SAMPLES);
                pixel.map(|place| place * supersampling + supersampling / 2)
            }
        };
        if x >= targets.size[0] || y >= targets.size[1] {
            return Ok(Thing::Nothing);
        }
        let mut thing = 0_u32;
        let origin = wgpu::Origin3d { x, y, z: 0 };
        let bytes = bytes_of_mut(&mut thing);
        let things = &targets.things;
        picture::read_by(patience, &self.context, things, origin, [1, 1], bytes).await?;
        Ok(self.thing(thing))
    }

    /// The samples of the picture that was drawn last; `None` before the first picture. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    #[doc(hidden)]
    pub fn layers(&self) -> Result<Option<Layers>> {
        let (Some(targets), Some(near)) = (&self.targets, self.near) else {
            return Ok(None);
        };
        let count = (targets.size[0] * targets.size[1]) as usize;
        let (mut things, mut depths) = (vec![0_u32; count], vec![0_f32; count]);
        let start = wgpu::Origin3d::ZERO;
        let bytes = cast_slice_mut(&mut things);
        picture::read(&self.context, &targets.things, start, targets.size, bytes)?;
        let bytes = cast_slice_mut(&mut depths);
        picture::read(&self.context, &targets.depths, start, targets.size, bytes)?;
        Ok(Some(Layers {
            size: targets.size,
            things: things.into_iter().map(|thing| self.thing(thing)).collect(),
            distances: depths.into_iter().map(|depth| near / depth).collect(),
        }))
    }

    /// The thing that a number from `shaders/render/visible.wgsl` stands for.
    fn thing(&self, sample: u32) -> Thing {
        let index = sample & ((1 << 30) - 1);
        match sample >> 30 {
            1 => Thing::Sphere(index),
            2 => Thing::Wall(self.planes[index as usize]),
            3 => Thing::Wall(self.triangles[index as usize].wall),
            _ => Thing::Nothing,
        }
    }

    /// The number of spheres of which a survey looks at one.
    fn survey_stride(&self, look: &Look) -> u32 {
        match look.hides {
            true => self.sphere_count.div_ceil(MOST_SURVEYED).max(1),
            false => 1,
        }
    }

    /// Number of spheres that are drawn.
    fn balls(&self, look: &Look) -> u32 {
        match look.lines {
            Some(Lines::Contacts) => 0,
            _ => self.sphere_count,
        }
    }

    fn shading(&self, look: &Look) -> Shading {
        Shading {
            colour_by: look.colour_by,
            has_picked: look.picked.is_some_and(|body| body < self.body_count),
            has_occlusion: look.occlusion_samples > 0,
        }
    }

    fn surroundings(&self, look: &Look) -> Surroundings {
        let bodies = self.bodies();
        // The counts of a survey are summed in `u32`, so weights are small enough for all spheres together.
        let most = 2_f64.powi(28) / f64::from(self.sphere_count.max(1));
        let volume = self.body_radius.powi(3).max(f64::from(f32::MIN_POSITIVE));
        Surroundings {
            bodies,
            bulk: self.bulk(),
            survey_weight: (most.clamp(1.0, 1024.0) / volume).min(f64::from(f32::MAX)) as f32,
            survey_stride: self.survey_stride(look),
            bounds: self.walls.map_or(bodies, |walls| walls.union(bodies)),
            body_radius: self.body_radius,
            cell_size: self.cell_size,
            origin: self.origin,
            span: self.span(look),
            time: self.time as f32,
        }
    }

    fn provide_targets(&mut self, size: [u32; 2], samples: [u32; 2], look: &Look) -> Result<()> {
        let most = self.context.device.limits().max_texture_dimension_2d;
        if samples.iter().any(|&side| side == 0 || side > most) {
            return Err(Error::PictureSize {
                size,
                supersampling: samples[0].checked_div(size[0]).unwrap_or(1),
                most,
                adapter: self.context.adapter.clone(),
            });
        }
        // Only blurred pictures use it.
        let encoded = match look.is_blurred() {
            true => samples,
            false => [1; 2],
        };
        let suits = |targets: &Targets| {
            targets.size == samples
                && [targets.encoded.width(), targets.encoded.height()] == encoded
        };
        if self.targets.as_ref().is_some_and(suits) {
            return Ok(());
        }
        let device = &self.context.device;
        let none = TextureUsages::empty();
        let tiles = samples.map(|side| side.div_ceil(TILE));
        self.drawn = None;
        self.targets = Some(Targets {
            size: samples,
            things: texture(device, "things", THINGS, samples, TextureUsages::COPY_SRC),
            depths: texture(device, "depths", DEPTH, samples, TextureUsages::COPY_SRC),
            farthest: texture(device, "farthest", FARTHEST, tiles, none),
            occlusion: texture(device, "occlusion", OCCLUSION, samples, none),
            colour: texture(device, "samples", COLOUR, samples, none),
            encoded: texture(device, "encoded_samples", ENCODED, encoded, none),
        });
        Ok(())
    }

    fn upload_looks(&mut self, look: &Look, made_of: &mut Xxh3) {
        if self.map != look.map {
            self.map = look.map;
            let table = colour::table(look.map);
            let bytes = cast_slice(&table);
            self.context.queue.write_buffer(&self.colours, 0, bytes);
        }
        let bulk = self.bulk();
        let bounds = self.wall_bounds.iter();
        let is_vessel: Vec<bool> = bounds
            .map(|wall| wall.is_some_and(|wall| walls::holds(wall, bulk)))
            .collect();
        let is_there = &self.walls_there;
        let looks = walls::wall_looks(&self.model_walls, &self.scene, is_there, &is_vessel);
        let bytes = cast_slice(&looks);
        self.context.queue.write_buffer(&self.look_buffer, 0, bytes);
        made_of.update(bytes);
        made_of.update(&[look.map as u8]);
    }

    fn upload_lines(&mut self, camera: &Camera, lines: &[Line], made_of: &mut Xxh3) -> Result<()> {
        let eye = camera.eye();
        let from_camera: Vec<LineFromCamera> = lines
            .iter()
            .map(|line| LineFromCamera {
                start: (line.start - eye).as_vec3(),
                end: (line.end - eye).as_vec3(),
                colour: line.colour,
                width: line.width,
                ..Default::default()
            })
            .collect();
        let bytes: &[u8] = cast_slice(&from_camera);
        made_of.update(bytes);
        if bytes.len() as u64 > self.lines.size() {
            let size = (2 * bytes.len()) as u64;
            let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
            self.lines = self.context.create_buffer("lines", size, usage)?;
        }
        self.context.queue.write_buffer(&self.lines, 0, bytes);
        Ok(())
    }

    fn by_name(&self, name: &str) -> Option<wgpu::BindingResource<'_>> {
        match name {
            "view" => Some(self.view.as_entire_binding()),
            "colours" => Some(self.colours.as_entire_binding()),
            "survey" => Some(self.survey.as_entire_binding()),
            "lines" => Some(self.lines.as_entire_binding()),
            "planes" => Some(self.plane_buffer.as_entire_binding()),
            "planes_here" | "planes_found" => Some(self.seen_planes.as_entire_binding()),
            "triangles" => Some(self.triangle_buffer.as_entire_binding()),
            "edges" => Some(self.edge_buffer.as_entire_binding()),
            "wall_looks" => Some(self.look_buffer.as_entire_binding()),
            "shadow_sampler" => Some(wgpu::BindingResource::Sampler(&self.shadow_sampler)),
            "between" => Some(wgpu::BindingResource::Sampler(&self.between)),
            _ => {
                let hidden = self.hidden.as_ref().and_then(|own| own.by_name(name));
                Some(hidden.or(self.source.by_name(name))?.as_entire_binding())
            }
        }
    }

    /// Draws a picture onto `target`, except the parts that are `known` from the picture before.
    fn encode(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        size: [u32; 2],
        look: &Look,
        lines: u32,
        known: Known,
    ) {
        let targets = self.targets.as_ref().expect("targets were provided");
        let whole = |texture: &wgpu::Texture| texture.create_view(&Default::default());
        let [
            things,
            depths,
            farthest,
            occlusion,
            samples,
            encoded,
            shadow_map,
        ] = [
            &targets.things,
            &targets.depths,
            &targets.farthest,
            &targets.occlusion,
            &targets.colour,
            &targets.encoded,
            &self.shadow_map,
        ]
        .map(whole);
        let resources = |name: &str| {
            let view = match name {
                "things" => &things,
                "depths" => &depths,
                "farthest" => &farthest,
                "occlusion" => &occlusion,
                "samples" => &samples,
                "encoded_samples" => &encoded,
                "shadow_map" => &shadow_map,
                _ => return self.by_name(name),
            };
            Some(wgpu::BindingResource::TextureView(view))
        };
        let hidden = self.hidden.as_ref().filter(|_| look.hides);
        let pass =
            |encoder: &mut wgpu::CommandEncoder, label, onto: Onto<'_>, parts: &[Part<'_>]| {
                let load = match onto.is_new {
                    true => wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT),
                    false => wgpu::LoadOp::Load,
                };
                let colour = onto.colour.map(|view| {
                    Some(wgpu::RenderPassColorAttachment {
                        view,
                        depth_slice: None,
                        resolve_target: None,
                        ops: wgpu::Operations {
                            load,
                            store: wgpu::StoreOp::Store,
                        },
                    })
                });
                let mut render = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                    label: Some(label),
                    color_attachments: colour.as_slice(),
                    depth_stencil_attachment: onto.depth,
                    ..Default::default()
                });
                if label == "resolve" {
                    // The target may be larger than the picture.
                    let [width, height] = size.map(|side| side as f32);
                    render.set_viewport(0.0, 0.0, width, height, 0.0, 1.0);
                }
                for (program, draw) in parts {
                    if matches!(draw, Draw::Each(_, 0) | Draw::Each(0, _)) {
                        // Browsers warn of a draw without vertices or instances.
                        continue;
                    }
                    let bind_group = program.bind(&self.context, &resources);
                    render.set_pipeline(&program.pipeline);
                    render.set_bind_group(0, &bind_group, &[]);
                    match draw {
                        Draw::Each(vertices, instances) => render.draw(0..*vertices, 0..*instances),
                        Draw::Listed(hidden) => render.draw_indirect(&hidden.listing, 0),
                        Draw::Found(hidden) => render.draw_indirect(&hidden.listing, 16),
                    }
                }
            };
        let compute = |encoder: &mut wgpu::CommandEncoder,
                       program: &programs::Computation,
                       workgroups: [u32; 3]| {
            if workgroups.contains(&0) {
                // Browsers warn of such a dispatch, too.
                return;
            }
            let bind_group = program.bind(&self.context, &resources);
            let mut compute = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("compute"),
                timestamp_writes: None,
            });
            compute.set_pipeline(&program.pipeline);
            compute.set_bind_group(0, &bind_group, &[]);
            let [x, y, z] = workgroups;
            compute.dispatch_workgroups(x, y, z);
        };
        let programs = &self.programs;
        let everywhere = |program| [(program, Draw::Each(3, 1))];
        let resolve = |encoder: &mut wgpu::CommandEncoder| {
            let to_target = match look.is_blurred() {
                true => &programs.resolve_between,
                false => &programs.resolve,
            };
            pass(
                encoder,
                "resolve",
                Onto::new(target),
                &everywhere(to_target),
            );
        };
        if known == Known::Samples {
            return resolve(encoder);
        }
        let balls = self.balls(look);
        let planes = match look.ground {
            Ground::None => 0,
            _ => self.planes.len() as u32,
        };
        let triangles = self.triangles.len() as u32;
        let hidden = hidden.filter(|_| balls > 0);
        let of_balls = |all, listed| match hidden {
            Some(hidden) => (listed, Draw::Listed(hidden)),
            None => (all, Draw::Each(3 * balls, 1)),
        };
        if !self.planes.is_empty() {
            compute(encoder, &programs.planes, [self.planes.len() as u32, 1, 1]);
        }
        if let Some(hidden) = hidden.filter(|hidden| hidden.lists_anew) {
            encoder.clear_buffer(&hidden.listing, 0, Some(4));
            compute(
                encoder,
                &programs.hidden_before,
                workgroups_for(self.body_count.into()),
            );
        }
        if known == Known::Nothing {
            let onto_shadow = Onto {
                colour: None,
                depth: Some(depth(&shadow_map, Some(1.0))),
                is_new: true,
            };
            pass(
                encoder,
                "shadow",
                onto_shadow,
                &[
                    of_balls(&programs.shadow_balls, &programs.shadow_listed_balls),
                    (&programs.shadow_triangles, Draw::Each(3, triangles)),
                ],
            );
        }
        let onto_things = |clear: Option<f32>| Onto {
            colour: Some(&things),
            depth: Some(depth_onto(&depths, clear)),
            is_new: clear.is_some(),
        };
        pass(
            encoder,
            "visible",
            onto_things(Some(0.0)),
            &[
                of_balls(&programs.visible_balls, &programs.visible_listed_balls),
                (&programs.visible_planes, Draw::Each(4, planes)),
                (&programs.visible_triangles, Draw::Each(3, triangles)),
            ],
        );
        if let Some(hidden) = hidden {
            let parts = [(&programs.farthest, Draw::Each(3, 1))];
            pass(encoder, "farthest", Onto::new(&farthest), &parts);
            compute(encoder, &programs.hidden_so_far, [1; 3]);
            compute(
                encoder,
                &programs.hidden_now,
                workgroups_for(hidden.chosen.into()),
            );
            let parts = [(&programs.visible_listed_balls, Draw::Found(hidden))];
            pass(encoder, "visible", onto_things(None), &parts);
        }
        if look.occlusion_samples > 0 {
            let parts = everywhere(&programs.occlusion);
            pass(encoder, "occlusion", Onto::new(&occlusion), &parts);
        }
        pass(
            encoder,
            "shade",
            Onto::new(&samples),
            &everywhere(programs.shade(self.shading(look))),
        );
        let over = |has_depth: bool| Onto {
            colour: Some(&samples),
            depth: has_depth.then(|| depth(&depths, None)),
            is_new: false,
        };
        if self.action_count > 0 {
            let pieces = shaders::SPRING_PIECES * self.action_count;
            pass(
                encoder,
                "springs",
                over(true),
                &[(&programs.springs, Draw::Each(4, pieces))],
            );
        }
        if planes + triangles > 0 {
            pass(
                encoder,
                "glass",
                over(true),
                &[
                    (&programs.glass_planes, Draw::Each(4, planes)),
                    (&programs.glass_triangles, Draw::Each(3, triangles)),
                    (&programs.glass_edges, Draw::Each(4, self.edge_count)),
                ],
            );
        }
        if self.has_water {
            pass(encoder, "water", over(false), &everywhere(&programs.water));
        }
        if lines > 0 {
            pass(
                encoder,
                "lines",
                over(true),
                &[(&programs.lines, Draw::Each(4, lines))],
            );
        }
        if look.is_blurred() {
            let parts = everywhere(&programs.resolve_samples);
            pass(encoder, "encode", Onto::new(&encoded), &parts);
        }
        resolve(encoder);
    }
}

/// Parts of a picture that are kept from the picture before.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    Nothing,
    Shadows,
    /// Everything but the pixels of the target.
    Samples,
}

/// The extent of a draw.
#[derive(Clone, Copy)]
enum Draw<'a> {
    /// A number of vertices, and a number of instances.
    Each(u32, u32),
    /// The spheres in the list of those in sight.
    Listed(&'a Hidden),
    /// The spheres that the present picture added to that list.
    Found(&'a Hidden),
}

/// A program, and the extent of its draw.
type Part<'a> = (&'a Program, Draw<'a>);

/// Targets of a pass.
struct Onto<'a> {
    colour: Option<&'a wgpu::TextureView>,
    depth: Option<wgpu::RenderPassDepthStencilAttachment<'a>>,
    /// Whether the pass clears the colours first.
    is_new: bool,
}

impl<'a> Onto<'a> {
    /// A colour target that is cleared first, without depths.
    fn new(view: &'a wgpu::TextureView) -> Onto<'a> {
        Onto {
            colour: Some(view),
            depth: None,
            is_new: true,
        }
    }
}

/// Number of actions (springs and applied forces) that may be drawn as springs; 0 without springs.
fn drawn_actions(simulation: &Simulation) -> u32 {
    if simulation.model().forces.springs.is_empty() {
        return 0;
    }
    simulation.on_host().actions.len() as u32
}

/// A depth target that is cleared to a value and written, or with `None` only compared with.
fn depth(
    view: &wgpu::TextureView,
    clear: Option<f32>,
) -> wgpu::RenderPassDepthStencilAttachment<'_> {
    wgpu::RenderPassDepthStencilAttachment {
        depth_ops: clear.map(|value| wgpu::Operations {
            load: wgpu::LoadOp::Clear(value),
            store: wgpu::StoreOp::Store,
        }),
        ..depth_onto(view, None)
    }
}

/// A depth target that is written, and with a value cleared to that first.
fn depth_onto(
    view: &wgpu::TextureView,
    clear: Option<f32>,
) -> wgpu::RenderPassDepthStencilAttachment<'_> {
    wgpu::RenderPassDepthStencilAttachment {
        view,
        depth_ops: Some(wgpu::Operations {
            load: clear.map_or(wgpu::LoadOp::Load, wgpu::LoadOp::Clear),
            store: wgpu::StoreOp::Store,
        }),
        stencil_ops: None,
    }
}

fn shadow_map(device: &wgpu::Device, side: u32) -> wgpu::Texture {
    texture(
        device,
        "shadow_map",
        DEPTH,
        [side; 2],
        TextureUsages::empty(),
    )
}

/// A texture that passes draw onto, and later passes read.
pub(crate) fn texture(
    device: &wgpu::Device,
    name: &str,
    format: wgpu::TextureFormat,
    [width, height]: [u32; 2],
    usage: TextureUsages,
) -> wgpu::Texture {
    device.create_texture(&wgpu::TextureDescriptor {
        label: Some(name),
        size: wgpu::Extent3d {
            width,
            height,
            depth_or_array_layers: 1,
        },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: usage | TextureUsages::RENDER_ATTACHMENT | TextureUsages::TEXTURE_BINDING,
        view_formats: &[],
    })
}

/// Typical radius of a body, m: the median of the bounding radii of the bodies, or of the shapes if there are no bodies.
fn body_radius(model: &Model) -> f64 {
    let reach = |shape: usize| {
        let spheres = model.shapes[shape].spheres.iter();
        spheres
            .map(|sphere| sphere.center.length() + sphere.radius)
            .fold(0.0, f64::max)
    };
    let mut radii: Vec<f64> = model.bodies.iter().map(|body| reach(body.shape)).collect();
    if radii.is_empty() {
        radii.extend((0..model.shapes.len()).map(reach));
    }
    radii.sort_by(f64::total_cmp);
    radii.get(radii.len() / 2).copied().unwrap_or(1.0)
}

/// The box around the points of the world that springs are fixed to.
fn anchors(model: &Model) -> Option<Bounds> {
    let ends = model.forces.springs.iter().flat_map(|spring| spring.ends);
    let points = ends.filter_map(|end| match end {
        End::World(point) => Some(Bounds::of_ball(point, 0.0)),
        End::Body { .. } => None,
    });
    points.reduce(Bounds::union)
}

/// The box of a wall at the start; `None` for a wall without an end.
fn bounds_of(wall: &Wall) -> Option<Bounds> {
    if !wall.reach().is_finite() {
        return None;
    }
    let surface = wall.surface(16, 0.0);
    let place = |vertex: [f64; 3]| Bounds::of_ball(wall.pose.place(vertex.into()), 0.0);
    surface
        .vertices
        .into_iter()
        .map(place)
        .reduce(Bounds::union)
}

/// The box where the bodies of a model start or come in, with the floor below them, m. A film should show all of it.
#[doc(hidden)]
pub fn start(model: &Model) -> Bounds {
    let mut bounds: Option<Bounds> = None;
    for body in &model.bodies {
        for sphere in &model.shapes[body.shape].spheres {
            let center = body.position + body.orientation * sphere.center;
            let ball = Bounds::of_ball(center, sphere.radius);
            bounds = Some(bounds.map_or(ball, |bounds| bounds.union(ball)));
        }
    }
    for corner in model.flow.corners() {
        let corner = Bounds::of_ball(corner, 0.0);
        bounds = Some(bounds.map_or(corner, |bounds| bounds.union(corner)));
    }
    let mut bounds = bounds.unwrap_or(Bounds::of_ball(DVec3::ZERO, 1.0));
    let down = model.gravity.normalize_or_zero();
    let planes = model.walls.iter();
    for (point, normal) in
        planes.filter_map(|wall| Some((wall.pose.position, wall.plane_normal()?)))
    {
        let steepness = -normal.dot(down);
        if steepness > 0.5 {
            // From the middle straight down to the plane.
            let center = bounds.center();
            let way = (center - point).dot(normal) / steepness;
            let foot = center + down * way.max(0.0);
            bounds = bounds.union(Bounds {
                min: foot,
                max: foot,
            });
        }
    }
    bounds
}
