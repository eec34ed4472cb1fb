//! Films of what the window shows.

use std::path::{Path, PathBuf};

use super::record::RATE;
use crate::model::error::Result;
use crate::render::film::Film;
use crate::render::legend::{Legend, Scale, Writer, caption};
use crate::render::{Camera, Line, Look, Overlay, PICTURE, Renderer};
use crate::simulation::Simulation;
use crate::step::gpu::Context;

/// Size of a film, pixels.
const SIZE: [u32; 2] = [1280, 720];

/// A film that is being made, or pictures where there is no ffmpeg.
pub(super) struct Recording {
    renderer: Renderer,
    writer: Writer,
    to: To,
    pub frames: u64,
}

enum To {
    Film(PathBuf, Film),
    Pictures(PathBuf),
}

impl Recording {
    /// Starts a film of a scene in the current directory, under a name that is not taken. Where there
    /// is no ffmpeg, it is a folder of pictures, and the second value says why.
    pub fn start(
        context: &Context,
        simulation: &Simulation,
        scene: &Path,
    ) -> std::result::Result<(Recording, Option<String>), String> {
        let stem = scene.file_stem().unwrap_or_default().to_string_lossy();
        let free = (1..)
            .map(|number| format!("{stem}-{number}"))
            .find(|name| {
                !Path::new(name).exists() && !Path::new(name).with_extension("mp4").exists()
            })
            .expect("there is a number that is free");
        let renderer =
            Renderer::new(context, simulation, PICTURE).map_err(|error| error.to_string())?;
        let film = PathBuf::from(format!("{free}.mp4"));
        let (to, notice) = match Film::start(&film, SIZE, RATE) {
            Ok(started) => (To::Film(film, started), None),
            Err(error) => {
                let folder = PathBuf::from(free);
                std::fs::create_dir(&folder).map_err(|error| {
                    format!("the folder {} cannot be created: {error}", folder.display())
                })?;
                let notice = format!("{error}; pictures go to {}", folder.display());
                (To::Pictures(folder), Some(notice))
            }
        };
        let recording = Recording {
            renderer,
            writer: Writer::default(),
            to,
            frames: 0,
        };
        Ok((recording, notice))
    }

    /// Adds a picture of the simulation as it is now.
    pub fn add(
        &mut self,
        simulation: &Simulation,
        camera: &Camera,
        look: &Look,
        mut lines: Vec<Line>,
        overlay: Option<&Overlay>,
    ) -> std::result::Result<(), String> {
        let look = &Look {
            sharpness: 1.0,
            ..*look
        };
        lines.extend(overlay.into_iter().flat_map(|overlay| &overlay.lines));
        let mut draw = || -> Result<_> {
            self.renderer.update(simulation)?;
            self.renderer.survey(look)?;
            self.renderer.picture(SIZE, camera, look, &lines)
        };
        let mut picture = draw().map_err(|error| error.to_string())?;
        let span = self.renderer.span(look);
        let legend = Legend::new(look, span, overlay, simulation.model());
        let scale = Scale::new(camera);
        let text = caption(simulation.time(), overlay, &scale);
        self.writer
            .annotate(&mut picture, legend.as_ref(), Some(&scale), &text);
        match &mut self.to {
            To::Film(_, film) => film.add(&picture).map_err(|error| error.to_string())?,
            To::Pictures(folder) => {
                let path = folder.join(format!("frame_{:05}.png", self.frames));
                picture.save(&path).map_err(|error| {
                    format!("the picture {} cannot be written: {error}", path.display())
                })?;
            }
        }
        self.frames += 1;
        Ok(())
    }

    /// Ends it, and says where it is.
    pub fn finish(self) -> std::result::Result<String, String> {
        let frames = self.frames;
        match self.to {
            To::Film(path, film) => {
                film.finish().map_err(|error| error.to_string())?;
                Ok(format!("film {} ({frames} frames)", path.display()))
            }
            To::Pictures(folder) => Ok(format!(
                "pictures in {} ({frames} frames)",
                folder.display()
            )),
        }
    }
}
