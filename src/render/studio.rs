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
    /// Meaning of colours; `None` takes that of the scene, as for most fields below.
    pub colour_by: Option<ColourBy>,
    /// The values of the first and of the last colour of the map. If the scene gives none either, or `colour_by` changes the
    /// meaning of colours, they follow the values of the bodies.
    pub range: Option<[f32; 2]>,
    /// The value of the last colour alone, if there is no `range`.
    pub top: Option<f32>,
    /// Colour map.
    pub map: Option<ColourMap>,
    /// Clipping plane, at which bodies and walls are cut.
    pub clip: Option<Clip>,
    /// Background of the picture.
    pub background: Option<Background>,
    /// Look of walls that are planes.
    pub ground: Option<Ground>,
    /// Vectors or contacts that are drawn as lines.
    pub lines: Option<Lines>,
    /// Unit vector that points up; if the scene gives none either, it points against gravity.
    pub up: Option<DVec3>,
    /// Degrees around the scene, degrees above it, and a zoom: 1 fills the picture with the scene, 2 looks from half the
    /// distance. If the scene gives none either, they are 30, 20 and 1.
    pub camera: Option<[f64; 3]>,
    /// The point from which to look, m; it takes the place of `camera`.
    pub eye: Option<DVec3>,
    /// The point to look at, m; if the scene gives none either, it is the middle of the scene.
    pub target: Option<DVec3>,
    /// Samples of a pixel along each side, from 1 to [`MOST_SAMPLES`](super::MOST_SAMPLES).
    pub samples: u32,
    /// Whether the picture has neither a legend nor a scale nor the time.
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
    /// The look of the picture.
    fn look(&self, model: &Model) -> Look {
        let scene = Look::of(&model.view);
        let [bottom, top] = match self.range {
            Some(range) => range.map(Some),
            None if self.top.is_some() => [None, self.top],
            // The range of the scene belongs to the quantity that its colours show.
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

    /// The camera of a picture that shows the box `shown` (m).
    ///
    /// # Errors
    /// If the camera would look from the point that it looks at.
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
        // Given angles take the place of the point from which the scene looks.
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

/// Renderer, camera and look for complete pictures of a simulation.
pub struct Studio {
    renderer: Renderer,
    camera: Camera,
    look: Look,
    size: [u32; 2],
    /// Draws the legend, the scale and the time; `None` leaves them out.
    writer: Option<Writer>,
}

impl Studio {
    /// Opens a device for pictures of `simulation`.
    ///
    /// It is the device of a GPU engine. With the CPU engine it is the adapter that `wanted` names, or else the best one.
    ///
    /// # Errors
    /// If there is no such adapter, or it cannot be opened.
    pub fn device(simulation: &Simulation, wanted: Option<&str>) -> Result<Context> {
        match simulation.gpu() {
            Some(engine) => Ok(engine.context().clone()),
            None => Adapter::to_draw(wanted)?.open(),
        }
    }

    /// Sets up a studio for pictures of `simulation` on a [device](Studio::device).
    ///
    /// A single picture is framed by the present positions of the bodies, a film also by those at the start. From the ranks of a cluster
    /// it reads bodies part by part, and onto the device.
    ///
    /// # Errors
    /// If the device cannot draw, has no memory or is lost; or if the shot is from the point that it looks at.
    pub fn new(
        shot: &Shot,
        simulation: &mut Simulation,
        device: &Context,
        film: bool,
    ) -> Result<Studio> {
        let mut renderer = Renderer::new(device, simulation, PICTURE)?;
        let look = shot.look(simulation.model());
        renderer.gather(simulation, &look)?;
        renderer.survey(&look)?;
        let model = simulation.model();
        let camera = shot.camera(model, renderer.frame(film))?;
        Ok(Studio {
            renderer,
            camera,
            look,
            size: shot.size,
            writer: (!shot.plain).then(Writer::default),
        })
    }

    /// Draws a picture of the present state.
    ///
    /// # Errors
    /// If the picture is larger than the device allows, or the device is lost.
    pub fn picture(&mut self, simulation: &mut Simulation) -> Result<RgbaImage> {
        self.renderer.gather(simulation, &self.look)?;
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
