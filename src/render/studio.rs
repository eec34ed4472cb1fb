//! Complete pictures of a simulation: the scene fills the picture, with a legend and the time.

use glam::DVec3;
use image::RgbaImage;

use super::legend::{Legend, Scale, Writer, caption};
use super::{Bounds, Camera, ColourBy, ColourMap, Look, PICTURE, Renderer};
use crate::model::Model;
use crate::model::error::{Error, Result};
use crate::model::view::{Background, Clip, Ground, Lines};
use crate::simulation::Simulation;
use crate::step::gpu::{Adapter, Context};

/// Settings of a picture: its content and its camera.
#[derive(Clone, Debug, PartialEq)]
pub struct Shot {
    /// Width and height, pixels.
    pub size: [u32; 2],
    /// Meaning of colours; `None` is as the scene says, as in all that follows.
    pub colour_by: Option<ColourBy>,
    /// The values of the first and of the last colour of the map; without any, they follow the values that there are.
    pub range: Option<[f32; 2]>,
    /// The value of the last colour alone, where there is no `range`.
    pub top: Option<f32>,
    /// The colours from the first to the last.
    pub map: Option<ColourMap>,
    /// Where bodies and walls are cut.
    pub clip: Option<Clip>,
    /// Background of the picture.
    pub background: Option<Background>,
    /// Look of walls that are planes.
    pub ground: Option<Ground>,
    /// Vectors or contacts that are drawn as lines.
    pub lines: Option<Lines>,
    /// Unit vector that points up; without any, it points against gravity.
    pub up: Option<DVec3>,
    /// Degrees around the scene, degrees above it, and how many times nearer than from where it fills the picture;
    /// without any, 30, 20 and 1.
    pub camera: Option<[f64; 3]>,
    /// The point from which to look instead of that, m.
    pub eye: Option<DVec3>,
    /// The point to look at instead of the middle of the scene, m.
    pub target: Option<DVec3>,
    /// Samples of a pixel along each side, from 1 to [`MOST_SAMPLES`](super::MOST_SAMPLES).
    pub samples: u32,
    /// Whether there is neither a legend nor the time.
    pub plain: bool,
}

impl Default for Shot {
    fn default() -> Self {
        Shot {
            size: [1280, 720],
            colour_by: None,
            range: None,
            top: None,
            map: None,
            clip: None,
            background: None,
            ground: None,
            lines: None,
            up: None,
            camera: None,
            eye: None,
            target: None,
            samples: 2,
            plain: false,
        }
    }
}

impl Shot {
    /// How the picture looks.
    fn look(&self, model: &Model) -> Look {
        let scene = Look::of(&model.view);
        let [bottom, top] = match self.range {
            Some(range) => range.map(Some),
            None if self.top.is_some() => [None, self.top],
            // The range of the scene is that of what its colours mean.
            None if self.colour_by.is_some_and(|by| by != scene.colour_by) => [None; 2],
            None => [scene.bottom, scene.top],
        };
        Look {
            colour_by: self.colour_by.unwrap_or(scene.colour_by),
            map: self.map.unwrap_or(scene.map),
            clip: self.clip.or(scene.clip),
            background: self.background.unwrap_or(scene.background),
            ground: self.ground.unwrap_or(scene.ground),
            lines: self.lines.or(scene.lines),
            bottom,
            top,
            supersampling: self.samples,
            ..scene
        }
    }

    /// The camera of a picture that shows the box `shown`.
    fn camera(&self, model: &Model, shown: Bounds) -> Result<Camera> {
        let scene = &model.view;
        let zenith = self.up.unwrap_or(model.up());
        let [width, height] = self.size.map(f64::from);
        let [around, above, zoom] = self.camera.or(scene.camera).unwrap_or([30.0, 20.0, 1.0]);
        let mut camera = Camera {
            around: around.to_radians(),
            above: above.to_radians(),
            zenith,
            ..Camera::default()
        };
        camera.fit(shown, width / height);
        camera.distance /= zoom;
        camera.target = self.target.or(scene.target).unwrap_or(camera.target);
        // Angles that are given are not those of the point that the scene looks from.
        let of_scene = scene.eye.filter(|_| self.camera.is_none());
        match self.eye.or(of_scene) {
            None => Ok(camera),
            Some(eye) if eye == camera.target => Err(Error::Tuned(
                "found the point at which the camera looks, expected another one".to_owned(),
            )),
            Some(eye) => Ok(Camera::upright(eye, camera.target, zenith)),
        }
    }
}

/// Everything needed for pictures of a simulation.
pub struct Studio {
    renderer: Renderer,
    camera: Camera,
    look: Look,
    size: [u32; 2],
    /// Draws the legend and the time; `None` leaves them out.
    writer: Option<Writer>,
}

impl Studio {
    /// The device for pictures of `simulation`: that of its engine or, with an engine on the CPU, the adapter that
    /// `wanted` names, or the best there is.
    ///
    /// # Errors
    /// If there is none, or it refuses to open.
    pub fn device(simulation: &Simulation, wanted: Option<&str>) -> Result<Context> {
        match simulation.gpu() {
            Some(engine) => Ok(engine.context().clone()),
            None => Adapter::to_draw(wanted)?.open(),
        }
    }

    /// Sets up for pictures of `simulation` on a [device](Studio::device). A single picture is framed by the present
    /// positions of the bodies, a film also by those at the start.
    ///
    /// # Errors
    /// If the device cannot draw, or has no memory; if the shot is from the point that it looks at.
    pub fn new(
        shot: &Shot,
        simulation: &Simulation,
        device: &Context,
        film: bool,
    ) -> Result<Studio> {
        let mut renderer = Renderer::new(device, simulation, PICTURE)?;
        renderer.update(simulation)?;
        let model = simulation.model();
        let look = shot.look(model);
        renderer.survey(&look)?;
        let camera = shot.camera(model, renderer.frame(film))?;
        Ok(Studio {
            renderer,
            camera,
            look,
            size: shot.size,
            writer: (!shot.plain).then(Writer::default),
        })
    }

    /// A picture of the present state.
    ///
    /// # Errors
    /// If the picture is larger than the device allows, or the device is lost.
    pub fn picture(&mut self, simulation: &mut Simulation) -> Result<RgbaImage> {
        self.renderer.update(simulation)?;
        self.renderer.survey(&self.look)?;
        let overlay = self
            .renderer
            .overlay(simulation, &self.camera, &self.look)?;
        let lines = overlay.as_ref().map_or(&[][..], |overlay| &overlay.lines);
        let mut picture = self
            .renderer
            .picture(self.size, &self.camera, &self.look, lines)?;
        if let Some(writer) = &self.writer {
            let scale = Scale::new(&self.camera);
            let text = caption(simulation.time(), overlay.as_ref(), &scale);
            let span = self.renderer.span(&self.look);
            let model = simulation.model();
            let legend = Legend::new(&self.look, span, overlay.as_ref(), model);
            writer.annotate(&mut picture, legend.as_ref(), Some(&scale), &text);
        }
        Ok(picture)
    }
}
