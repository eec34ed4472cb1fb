//! Pictures of a simulation as people want them: the scene fills the picture, with a legend and the time.

use glam::DVec3;
use image::RgbaImage;

use super::legend::{Legend, Writer};
use super::{Camera, ColourBy, Look, PICTURE, Renderer, start, walls_of};
use crate::error::{Error, Result};
use crate::simulation::Simulation;
use crate::step::gpu::{Adapter, Context};

/// What a picture shows, and from where.
#[derive(Clone, Debug, PartialEq)]
pub struct Shot {
    /// Width and height, pixels.
    pub size: [u32; 2],
    /// What colours mean.
    pub colour_by: ColourBy,
    /// The value of the last colour of the map; `None` follows the largest value.
    pub top: Option<f32>,
    /// Angle around the scene, degrees.
    pub around: f64,
    /// Angle above the scene, degrees.
    pub above: f64,
    /// How many times nearer than from where the scene fills the picture.
    pub zoom: f64,
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
            colour_by: ColourBy::default(),
            top: None,
            around: 30.0,
            above: 20.0,
            zoom: 1.0,
            eye: None,
            target: None,
            samples: 2,
            plain: false,
        }
    }
}

/// All that it takes to make pictures of a simulation.
pub struct Studio {
    renderer: Renderer,
    camera: Camera,
    look: Look,
    size: [u32; 2],
    /// Who writes the legend and the time, if anyone.
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

    /// Sets up for pictures of `simulation` on a [device](Studio::device). What fills a single picture is where the
    /// bodies are now, what fills a film is also where they started.
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
        let look = Look {
            colour_by: shot.colour_by,
            top: shot.top,
            supersampling: shot.samples,
            ..Look::default()
        };
        let mut shown = renderer.survey(&look)?;
        if let Some(walls) = walls_of(simulation.model()) {
            shown = shown.union(walls);
        }
        if film {
            shown = shown.union(start(simulation.model()));
        }
        let [width, height] = shot.size.map(f64::from);
        let mut camera = Camera {
            around: shot.around.to_radians(),
            above: shot.above.to_radians(),
            ..Camera::default()
        };
        camera.fit(shown, width / height);
        camera.distance /= shot.zoom;
        camera.target = shot.target.unwrap_or(camera.target);
        if let Some(eye) = shot.eye {
            if eye == camera.target {
                return Err(Error::Tuned(
                    "the eye and what is looked at are the same point; give another one".to_owned(),
                ));
            }
            camera = Camera::at(eye, camera.target);
        }
        Ok(Studio {
            renderer,
            camera,
            look,
            size: shot.size,
            writer: (!shot.plain).then(Writer::default),
        })
    }

    /// A picture of the simulation as it is now.
    ///
    /// # Errors
    /// If the picture is larger than the device allows, or the device is lost.
    pub fn picture(&mut self, simulation: &Simulation) -> Result<RgbaImage> {
        self.renderer.update(simulation)?;
        self.renderer.survey(&self.look)?;
        let mut picture = self
            .renderer
            .picture(self.size, &self.camera, &self.look, &[])?;
        if let Some(writer) = &self.writer {
            let span = self.renderer.span(&self.look);
            let legend = Legend::new(&self.look, span, simulation.model());
            let time = format!("t = {:.3} s", simulation.time());
            writer.annotate(&mut picture, legend.as_ref(), &time);
        }
        Ok(picture)
    }
}
