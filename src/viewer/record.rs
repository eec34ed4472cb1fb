//! Pictures of what the window shows.

use std::io::Cursor;
use std::path::Path;
#[cfg(not(target_family = "wasm"))]
use std::path::PathBuf;

use image::{ImageFormat, RgbaImage};

use super::PATIENCE;
use crate::model::error::Result;
use crate::render::legend::{Legend, Scale, Writer, caption};
use crate::render::{Camera, Look, PICTURE, Renderer};
use crate::simulation::Simulation;
use crate::step::gpu::Context;

/// Frames of a film in a second.
pub(super) const RATE: f64 = 30.0;

/// A picture of a scene with its legend, as large as it is shown.
pub(super) async fn picture(
    context: &Context,
    simulation: &mut Simulation,
    size: [u32; 2],
    camera: &Camera,
    look: &Look,
) -> Result<RgbaImage> {
    let mut renderer = Renderer::new(context, simulation, PICTURE)?;
    let sharp = Look {
        supersampling: 2,
        sharpness: 1.0,
        ..*look
    };
    renderer.update(simulation)?;
    renderer.survey_by(PATIENCE, &sharp).await?;
    let overlay = renderer
        .overlay_by(PATIENCE, simulation, camera, &sharp)
        .await?;
    let lines = overlay.as_ref().map_or(&[][..], |overlay| &overlay.lines);
    let drawn = renderer.picture_by(PATIENCE, size, camera, &sharp, lines);
    let mut picture = drawn.await?;
    let span = renderer.span(&sharp);
    let legend = Legend::new(look, span, overlay.as_ref(), simulation.model());
    let scale = Scale::new(camera);
    let text = caption(simulation.time(), overlay.as_ref(), &scale);
    Writer::default().annotate(&mut picture, legend.as_ref(), Some(&scale), &text);
    Ok(picture)
}

/// A picture of a scene as a file, with a name for it.
pub(super) fn encode(
    picture: &RgbaImage,
    scene: &Path,
) -> std::result::Result<(String, Vec<u8>), String> {
    let mut bytes = Cursor::new(Vec::new());
    let stem = scene.file_stem().unwrap_or_default().to_string_lossy();
    match picture.write_to(&mut bytes, ImageFormat::Png) {
        Ok(()) => Ok((format!("{stem}.png"), bytes.into_inner())),
        Err(error) => Err(format!("the picture cannot be encoded: {error}")),
    }
}

/// Saves a picture of a scene in the current directory under a name that is not taken, and says where it is.
#[cfg(not(target_family = "wasm"))]
pub(super) fn save(picture: &RgbaImage, scene: &Path) -> std::result::Result<String, String> {
    let stem = scene.file_stem().unwrap_or_default().to_string_lossy();
    let path = (1..)
        .map(|number| PathBuf::from(format!("{stem}-{number}.png")))
        .find(|path| !path.exists())
        .expect("there is a number that is free");
    match picture.save(&path) {
        Ok(()) => Ok(format!("picture {}", path.display())),
        Err(error) => Err(format!(
            "the picture {} cannot be written: {error}",
            path.display()
        )),
    }
}
