//! Pictures and films. Python passes pictures as bytes: three for each pixel, row by row from the top.

use std::path::PathBuf;
use std::sync::Mutex;

use image::buffer::ConvertBuffer;
use image::{ImageFormat, RgbImage, RgbaImage};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rockfall::glam::DVec3;
use rockfall::model::view::{Background, Clip, Ground, Lines};
use rockfall::render::film;
use rockfall::render::{ColourBy, MOST_SAMPLES, Shot};

use crate::errors;

/// Arguments of [`World::picture`](crate::world::World).
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Wanted {
    size: [u32; 2],
    colour: String,
    top: Option<f32>,
    camera: [f64; 3],
    eye: Option<[f64; 3]>,
    target: Option<[f64; 3]>,
    samples: u32,
    plain: bool,
    lines: Option<String>,
    clip: Option<String>,
    background: String,
    ground: String,
}

impl Wanted {
    /// Checks the arguments.
    pub fn shot(self) -> PyResult<Shot> {
        let wrong = |sentence: String| Err(PyValueError::new_err(sentence));
        let name = |colour: &ColourBy| format!("{colour:?}").to_lowercase();
        let Some(colour_by) = ColourBy::ALL
            .into_iter()
            .find(|own| name(own) == self.colour)
        else {
            let names: Vec<String> = ColourBy::ALL.iter().map(name).collect();
            return wrong(format!(
                "colour: found {:?}, expected one of {}",
                self.colour,
                names.join(", ")
            ));
        };
        let [around, above, zoom] = self.camera;
        if !(around.is_finite() && above.abs() <= 88.0 && (1e-3..=1e3).contains(&zoom)) {
            return wrong(format!(
                "camera: found {around}, {above}, {zoom}, expected two angles in degrees, the second from -88 to 88, and a \
                 zoom greater than 0"
            ));
        }
        if !(1..=MOST_SAMPLES).contains(&self.samples) {
            return wrong(format!(
                "samples: found {}, expected 1 to {MOST_SAMPLES}",
                self.samples
            ));
        }
        if self.top.is_some_and(|top| !(top > 0.0 && top.is_finite())) {
            return wrong("top: expected a number greater than 0".to_owned());
        }
        let named = |argument: &str, found: &str, expected: &str| {
            PyValueError::new_err(format!("{argument}: found {found:?}, expected {expected}"))
        };
        let lines = match self.lines.as_deref() {
            None => None,
            Some("velocity") => Some(Lines::Velocity),
            Some("force") => Some(Lines::Force),
            Some("contacts") => Some(Lines::Contacts),
            Some(found) => return Err(named("lines", found, "velocity, force or contacts")),
        };
        let clip = self.clip.as_deref().map(|text| {
            text.parse::<Clip>()
                .map_err(|expected| named("clip", text, expected))
        });
        let background = match self.background.parse() {
            Ok(Background::Transparent) => {
                let expected = "another background: the array has no channel for transparency";
                return Err(named("background", &self.background, expected));
            }
            Ok(background) => background,
            Err(expected) => return Err(named("background", &self.background, expected)),
        };
        let ground = match &*self.ground {
            "tiles" => Ground::Tiles,
            "plain" => Ground::Plain,
            "none" => Ground::None,
            found => return Err(named("ground", found, "tiles, plain or none")),
        };
        Ok(Shot {
            lines,
            clip: clip.transpose()?,
            background: Some(background),
            ground: Some(ground),
            size: self.size,
            colour_by: Some(colour_by),
            top: self.top,
            camera: Some([around, above, zoom]),
            eye: self.eye.map(DVec3::from_array),
            target: self.target.map(DVec3::from_array),
            samples: self.samples,
            plain: self.plain,
            ..Shot::default()
        })
    }
}

/// The bytes of a picture without its fourth channel, and its height and width.
pub fn opaque(picture: &RgbaImage) -> (Vec<u8>, [usize; 2]) {
    let opaque: RgbImage = picture.convert();
    let size = [opaque.height() as usize, opaque.width() as usize];
    (opaque.into_raw(), size)
}

fn image(pixels: &[u8], size: [u32; 2]) -> PyResult<RgbImage> {
    RgbImage::from_raw(size[0], size[1], pixels.to_vec())
        .ok_or_else(|| PyValueError::new_err("expected three bytes for each pixel of the picture"))
}

/// A picture as a PNG file in memory.
#[pyfunction]
pub fn png<'py>(py: Python<'py>, pixels: &[u8], size: [u32; 2]) -> PyResult<Bound<'py, PyBytes>> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image(pixels, size)?
        .write_to(&mut bytes, ImageFormat::Png)
        .map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok(PyBytes::new(py, bytes.get_ref()))
}

/// Writes a picture to a file, which ends in .png or .jpg.
#[pyfunction]
pub fn save(pixels: &[u8], size: [u32; 2], path: PathBuf) -> PyResult<()> {
    let ending = path.extension().and_then(|ending| ending.to_str());
    if !matches!(
        ending.map(str::to_lowercase).as_deref(),
        Some("png" | "jpg" | "jpeg")
    ) {
        return Err(PyValueError::new_err(format!(
            "found the file {}, expected a name that ends in .png or .jpg",
            path.display()
        )));
    }
    image(pixels, size)?.save(&path).map_err(|error| {
        PyOSError::new_err(format!(
            "the picture {} cannot be written: {error}",
            path.display()
        ))
    })
}

/// A film that is being written to a file.
#[pyclass(frozen)]
pub struct Film {
    film: Mutex<Option<film::Film>>,
    size: [u32; 2],
}

#[pymethods]
impl Film {
    #[new]
    fn new(path: PathBuf, size: [u32; 2], rate: f64) -> PyResult<Film> {
        if !(1e-6..=1e6).contains(&rate) {
            return Err(PyValueError::new_err(format!(
                "fps: found {rate}, expected a number greater than 0"
            )));
        }
        let film = film::Film::start(&path, size, rate).map_err(errors::of_film)?;
        Ok(Film {
            film: Mutex::new(Some(film)),
            size,
        })
    }

    /// Adds a picture.
    fn add(&self, py: Python<'_>, pixels: &[u8]) -> PyResult<()> {
        let picture: RgbaImage = image(pixels, self.size)?.convert();
        let added = py.detach(|| {
            let mut film = self.film.lock().unwrap_or_else(|held| held.into_inner());
            film.as_mut().map(|film| film.add(&picture))
        });
        match added {
            Some(added) => added.map_err(errors::of_film),
            None => Err(PyValueError::new_err("the film is already finished")),
        }
    }

    /// Finishes the film and waits until its file is complete.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let finished = py.detach(|| {
            let film = self
                .film
                .lock()
                .unwrap_or_else(|held| held.into_inner())
                .take();
            film.map(film::Film::finish)
        });
        finished.unwrap_or(Ok(())).map_err(errors::of_film)
    }
}
