//! Arguments of commands that make pictures, and the studio that makes them.

use std::path::Path;

use clap::Args;
use glam::DVec3;
use image::{RgbImage, RgbaImage, buffer::ConvertBuffer};
use rockfall::model::view::{Background, Clip, Ground, Lines};
use rockfall::render::{ColourBy, ColourMap, MOST_SAMPLES, Shot, Studio};
use rockfall::{Error, Simulation};

use super::failure::{Failure, Outcome};

/// Look of pictures.
#[derive(Clone, Debug, PartialEq, Args)]
#[command(next_help_heading = "Pictures")]
pub struct PictureArguments {
    /// Width and height, pixels
    #[arg(long, value_name = "WxH", value_parser = size, default_value = "1280x720")]
    pub size: [u32; 2],

    /// Quantity that the colours show [default: that of the scene, else body]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub colour: Option<ColourBy>,

    /// Values at both ends of the colour scale [default: the range of the values, without a few that are far above all others]
    #[arg(long, value_name = "LOW,HIGH", value_parser = range, allow_hyphen_values = true)]
    pub range: Option<[f32; 2]>,

    /// Value at the upper end of the colour scale only
    #[arg(long, value_name = "VALUE", value_parser = positive, conflicts_with = "range")]
    pub top: Option<f32>,

    /// Colours of the scale [default: viridis]
    #[arg(long, value_enum, value_name = "MAP")]
    pub map: Option<ColourMap>,

    /// Cut bodies and walls at a plane: x=0 (m) removes the side towards the camera, x<0 and x>0 name the side that stays
    #[arg(long, value_name = "PLANE", value_parser = clip, allow_hyphen_values = true)]
    pub clip: Option<Clip>,

    /// Background: sky, white, black, transparent or a colour such as #f0f4f8 [default: that of the scene, else sky]
    #[arg(long, value_name = "COLOUR", value_parser = background)]
    pub background: Option<Background>,

    /// Look of planes [default: that of the scene, else tiles]
    #[arg(long, value_enum, value_name = "LOOK")]
    pub ground: Option<Ground>,

    /// Draw arrows at the bodies, or the contact network instead of them [default: those of the scene, else none]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub lines: Option<Lines>,

    /// Upward direction: x, y, z, -x, -y, -z or a vector X,Y,Z [default: against gravity]
    #[arg(long, value_name = "AXIS", value_parser = direction, allow_hyphen_values = true)]
    pub up: Option<DVec3>,

    /// Place of the camera, in degrees around and above the scene, which fills the picture; ZOOM
    /// magnifies it by that factor [default: 30,20]
    #[arg(
        long,
        value_name = "AROUND,ABOVE[,ZOOM]",
        value_parser = angles,
        allow_hyphen_values = true
    )]
    pub camera: Option<[f64; 3]>,

    /// Look from this point (m) instead of --camera
    #[arg(long, value_name = "X,Y,Z", value_parser = point, allow_hyphen_values = true)]
    pub eye: Option<DVec3>,

    /// Look at this point (m) [default: the middle of the scene]
    #[arg(long, value_name = "X,Y,Z", value_parser = point, allow_hyphen_values = true)]
    pub target: Option<DVec3>,

    /// Samples per pixel along each side, 1 to 4; more give smoother edges
    #[arg(long, value_name = "N", default_value_t = 2,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_SAMPLES)))]
    pub samples: u32,

    /// Leave out the legend, the time and the scale
    #[arg(long)]
    pub plain: bool,
}

impl PictureArguments {
    /// The picture that they ask for.
    pub fn shot(&self) -> Shot {
        Shot {
            size: self.size,
            colour_by: self.colour,
            range: self.range,
            top: self.top,
            map: self.map,
            clip: self.clip,
            background: self.background,
            ground: self.ground,
            lines: self.lines,
            up: self.up,
            camera: self.camera,
            eye: self.eye,
            target: self.target,
            samples: self.samples,
            plain: self.plain,
        }
    }

    /// Sets up for pictures of `simulation`, see [`Studio`].
    pub fn studio(
        &self,
        simulation: &mut Simulation,
        wanted: Option<&str>,
        film: bool,
    ) -> Outcome<Studio> {
        let device = Studio::device(simulation, wanted)?;
        match Studio::new(&self.shot(), simulation, &device, film) {
            Err(Error::Tuned(sentence)) => Err(Failure::Usage(format!("--eye: {sentence}"))),
            studio => Ok(studio?),
        }
    }
}

/// Writes a picture to a file, whose ending gives the format.
pub fn save(picture: &RgbaImage, path: &Path) -> Outcome {
    let is_png = path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("png"));
    let saved = match is_png && picture.pixels().any(|pixel| pixel[3] < 255) {
        true => picture.save(path),
        false => {
            let opaque: RgbImage = picture.convert();
            opaque.save(path)
        }
    };
    saved.map_err(|error| {
        Failure::Run(format!(
            "the picture {} cannot be written: {error}",
            path.display()
        ))
    })
}

/// Refuses a file whose ending is no format of pictures.
pub fn check_ending(flag: &str, path: &Path, background: Option<Background>) -> Outcome {
    let ending = path.extension().and_then(|ending| ending.to_str());
    match ending.map(str::to_lowercase).as_deref() {
        Some("png") => Ok(()),
        Some("jpg" | "jpeg") if background == Some(Background::Transparent) => {
            Err(Failure::Usage(format!(
                "--background transparent: the file {} cannot be transparent; end its name with .png",
                path.display()
            )))
        }
        Some("jpg" | "jpeg") => Ok(()),
        _ => Err(Failure::Usage(format!(
            "{flag}: found the file {}, expected a name that ends \
             in .png or .jpg",
            path.display()
        ))),
    }
}

/// Names of sizes.
const SIZES: [(&str, [u32; 2]); 5] = [
    ("720p", [1280, 720]),
    ("1080p", [1920, 1080]),
    ("hd", [1920, 1080]),
    ("4k", [3840, 2160]),
    ("8k", [7680, 4320]),
];

pub(super) fn size(text: &str) -> Result<[u32; 2], String> {
    if let Some((_, size)) = SIZES.iter().find(|(name, _)| *name == text.to_lowercase()) {
        return Ok(*size);
    }
    let sides = text.split_once('x').and_then(|(width, height)| {
        let sides = [width.trim().parse().ok()?, height.trim().parse().ok()?];
        sides.iter().all(|&side: &u32| side > 0).then_some(sides)
    });
    sides.ok_or_else(|| "expected width and height in pixels, such as 1280x720, or 4k".to_owned())
}

fn positive(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(value) if value > 0.0 && value < f32::INFINITY => Ok(value),
        _ => Err("expected a number greater than 0, such as 2.5".to_owned()),
    }
}

fn range(text: &str) -> Result<[f32; 2], String> {
    match numbers(text).as_deref() {
        Some(&[low, high]) if low < high => Ok([low as f32, high as f32]),
        _ => {
            Err("expected two numbers, the second larger than the first, such as 0,2.5".to_owned())
        }
    }
}

pub(super) fn clip(text: &str) -> Result<Clip, String> {
    let clip: Result<Clip, &str> = text.parse();
    clip.map_err(|expected| format!("expected {expected}"))
}

fn background(text: &str) -> Result<Background, String> {
    let background: Result<Background, &str> = text.parse();
    background.map_err(|expected| format!("expected {expected}"))
}

pub(super) fn direction(text: &str) -> Result<DVec3, String> {
    let (sign, name) = match text.strip_prefix('-') {
        Some(name) => (-1.0, name),
        None => (1.0, text),
    };
    let axis = match name {
        "x" => Some(DVec3::X),
        "y" => Some(DVec3::Y),
        "z" => Some(DVec3::Z),
        _ => None,
    };
    let way = axis.map_or_else(|| point(text).ok(), |axis| Some(sign * axis));
    let unit = way.and_then(DVec3::try_normalize);
    unit.ok_or_else(|| "expected an axis, such as z or -y, or a direction such as 0,1,1".to_owned())
}

fn numbers(text: &str) -> Option<Vec<f64>> {
    let numbers = text.split(',').map(|number| number.trim().parse().ok());
    let numbers = numbers.collect::<Option<Vec<f64>>>()?;
    let sane = |number: &f64| number.is_finite() && number.abs() < 1e9;
    numbers.iter().all(sane).then_some(numbers)
}

fn point(text: &str) -> Result<DVec3, String> {
    match numbers(text).as_deref() {
        Some(&[x, y, z]) => Ok(DVec3::new(x, y, z)),
        _ => Err("expected three coordinates in metres, such as 0,1.5,-2".to_owned()),
    }
}

fn angles(text: &str) -> Result<[f64; 3], String> {
    let expected = "expected two angles in degrees, the second from -88 to 88, and optionally a \
                    zoom from 0.001 to 1000, such as 30,20 or 30,20,1.5";
    let (around, above, zoom) = match numbers(text).as_deref() {
        Some(&[around, above]) => (around, above, 1.0),
        Some(&[around, above, zoom]) => (around, above, zoom),
        _ => return Err(expected.to_owned()),
    };
    if above.abs() <= 88.0 && (1e-3..=1e3).contains(&zoom) {
        Ok([around, above, zoom])
    } else {
        Err(expected.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_wrong_ones_refused() {
        assert_eq!(size("640x480"), Ok([640, 480]));
        for wrong in ["", "640", "640x", "0x10", "-1x5", "640x480x3"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert_eq!(point("0, -1,2.5"), Ok(DVec3::new(0.0, -1.0, 2.5)));
        for wrong in ["", "1,2", "1,2,nan", "1,2,1e300", "1,2,3,4"] {
            assert!(point(wrong).is_err(), "{wrong}");
        }
        assert_eq!(angles("-30,20"), Ok([-30.0, 20.0, 1.0]));
        assert_eq!(angles("0,-20,2"), Ok([0.0, -20.0, 2.0]));
        for wrong in ["", "30", "30,90", "30,20,0", "30,20,-1"] {
            assert!(angles(wrong).is_err(), "{wrong}");
        }
        assert_eq!(size("4k"), Ok([3840, 2160]));
        assert_eq!(range("-1,2.5"), Ok([-1.0, 2.5]));
        for wrong in ["", "1", "2,1", "1,1", "1,2,3", "nan,1"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
        assert_eq!(direction("-z"), Ok(-DVec3::Z));
        let slanted = direction("0,3,4").unwrap();
        assert!(slanted.distance(DVec3::new(0.0, 0.6, 0.8)) < 1e-12);
        for wrong in ["", "w", "--z", "0,0,0", "1,2"] {
            assert!(direction(wrong).is_err(), "{wrong}");
        }
        assert_eq!(positive("2"), Ok(2.0));
        for wrong in ["0", "-1", "nan", "inf", "x"] {
            assert!(positive(wrong).is_err(), "{wrong}");
        }
    }
}
