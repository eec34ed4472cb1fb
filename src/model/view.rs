//! View of a scene: how it asks to be shown. Nothing here affects the outcome of a simulation.

use std::fmt;
use std::str::FromStr;

use glam::DVec3;

/// Meaning of the colour of a sphere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(
    feature = "scene",
    derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema),
    serde(remote = "ColourBy", rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum ColourBy {
    /// A colour of its own for each body
    #[default]
    Body,
    /// Shape of the body
    Shape,
    /// Material
    Material,
    /// Speed of the body's centre of mass
    Speed,
    /// Sum of the contact forces on the sphere
    Force,
    /// Largest overlap of the sphere's contacts, as a fraction of its radius
    Overlap,
    /// Coordination number: how many contacts the body has
    Contacts,
    /// Kinetic energy of the body
    Energy,
    /// Temperature of the body, in scenes with heat
    Temperature,
    /// Angular speed of the body
    Spin,
    /// Radius of the sphere
    Radius,
    /// Mass of the body
    Mass,
    /// Index of the body, counted from 0
    Index,
    /// Fraction of the body's bonds that are broken
    Damage,
}

impl ColourBy {
    /// All meanings, in the order of their numbers.
    pub const ALL: [ColourBy; 14] = [
        ColourBy::Body,
        ColourBy::Shape,
        ColourBy::Material,
        ColourBy::Speed,
        ColourBy::Force,
        ColourBy::Overlap,
        ColourBy::Contacts,
        ColourBy::Energy,
        ColourBy::Temperature,
        ColourBy::Spin,
        ColourBy::Radius,
        ColourBy::Mass,
        ColourBy::Index,
        ColourBy::Damage,
    ];

    /// Title of a legend, with the unit.
    pub fn title(self) -> &'static str {
        match self {
            ColourBy::Body => "body",
            ColourBy::Shape => "shape",
            ColourBy::Material => "material",
            ColourBy::Speed => "speed (m/s)",
            ColourBy::Force => "contact force (N)",
            ColourBy::Overlap => "overlap (of the radius)",
            ColourBy::Contacts => "coordination number",
            ColourBy::Energy => "kinetic energy (J)",
            ColourBy::Temperature => "temperature (K)",
            ColourBy::Spin => "angular speed (rad/s)",
            ColourBy::Radius => "radius (m)",
            ColourBy::Mass => "mass (kg)",
            ColourBy::Index => "place among the bodies",
            ColourBy::Damage => "broken bonds (of the body's)",
        }
    }

    /// Whether colours show numbers, by a colour map, and not names.
    pub fn is_number(self) -> bool {
        !matches!(self, ColourBy::Body | ColourBy::Shape | ColourBy::Material)
    }

    /// Whether values are usually far from 0, so that the first colour need not stand for 0.
    pub fn is_far_from_zero(self) -> bool {
        matches!(
            self,
            ColourBy::Temperature | ColourBy::Radius | ColourBy::Mass
        )
    }
}

/// Colours from the least to the largest value, in which equal steps look equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(
    feature = "scene",
    derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema),
    serde(remote = "ColourMap", rename_all = "kebab-case")
)]
pub enum ColourMap {
    /// Dark blue to yellow
    #[default]
    Viridis,
    /// Blue to yellow, also for the colour-blind
    Cividis,
    /// Black over red to light yellow
    Inferno,
    /// Black over purple to white
    Magma,
    /// Blue over red to yellow
    Plasma,
}

impl ColourMap {
    /// All colour maps.
    pub const ALL: [ColourMap; 5] = [
        ColourMap::Viridis,
        ColourMap::Cividis,
        ColourMap::Inferno,
        ColourMap::Magma,
        ColourMap::Plasma,
    ];

    /// Name of the colour map, as in scenes.
    pub fn name(self) -> &'static str {
        match self {
            ColourMap::Viridis => "viridis",
            ColourMap::Cividis => "cividis",
            ColourMap::Inferno => "inferno",
            ColourMap::Magma => "magma",
            ColourMap::Plasma => "plasma",
        }
    }
}

/// The side of a clipping plane that stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The side away from the camera.
    #[default]
    Far,
    /// The side with the smaller coordinates.
    Below,
    /// The side with the larger coordinates.
    Above,
}

/// A clipping plane across an axis: bodies and walls on one side of it are cut away. In text: `x=0`, `y<0.5` or `z>-1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clip {
    /// Index of the axis, 0 to 2.
    pub axis: usize,
    /// Coordinate of the plane along the axis, m.
    pub at: f64,
    /// Side of the plane that stays.
    pub keep: Keep,
}

impl Clip {
    /// The unit normal of the plane towards the part that is cut away, and its distance from the origin along that normal, m.
    ///
    /// The camera is at `eye` (m).
    pub fn plane(&self, eye: DVec3) -> (DVec3, f64) {
        let cuts_above = match self.keep {
            Keep::Far => eye[self.axis] > self.at,
            Keep::Below => true,
            Keep::Above => false,
        };
        let sign = if cuts_above { 1.0 } else { -1.0 };
        (sign * DVec3::AXES[self.axis], sign * self.at)
    }
}

/// Words for a clipping plane in error messages.
#[doc(hidden)]
pub const CLIP: &str =
    "an axis, one of =, < and >, and a coordinate (m), such as x=0, y<0.5 or z>-1";

impl FromStr for Clip {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Clip, &'static str> {
        let text = text.trim();
        let axis = match text.get(..1) {
            Some("x") => 0,
            Some("y") => 1,
            Some("z") => 2,
            _ => return Err(CLIP),
        };
        let rest = text[1..].trim_start();
        let keep = match rest.get(..1) {
            Some("=") => Keep::Far,
            Some("<") => Keep::Below,
            Some(">") => Keep::Above,
            _ => return Err(CLIP),
        };
        match rest[1..].trim().parse() {
            Ok(at) if f64::abs(at) < 1e9 => Ok(Clip { axis, at, keep }),
            _ => Err(CLIP),
        }
    }
}

impl fmt::Display for Clip {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.keep {
            Keep::Far => '=',
            Keep::Below => '<',
            Keep::Above => '>',
        };
        write!(formatter, "{}{sign}{}", ["x", "y", "z"][self.axis], self.at)
    }
}

/// Background of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// A sky.
    #[default]
    Sky,
    /// No background, so that a picture can be laid over another.
    Transparent,
    /// One colour, sRGB.
    Colour([u8; 3]),
}

/// Words for a background in error messages.
#[doc(hidden)]
pub const BACKGROUND: &str = "sky, white, black, transparent or a colour such as #f0f4f8: two hexadecimal digits each for red, green and blue";

impl FromStr for Background {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Background, &'static str> {
        match text {
            "sky" => Ok(Background::Sky),
            "transparent" => Ok(Background::Transparent),
            "white" => Ok(Background::Colour([255; 3])),
            "black" => Ok(Background::Colour([0; 3])),
            _ => colour(text).map(Background::Colour).ok_or(BACKGROUND),
        }
    }
}

/// Look of walls that are planes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(
    feature = "scene",
    derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema),
    serde(remote = "Ground", rename_all = "kebab-case")
)]
pub enum Ground {
    /// Tiles, whose side is a round number
    #[default]
    Tiles,
    /// One colour
    Plain,
    /// Planes are not drawn
    None,
}

/// Vectors or contacts that are drawn as lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(
    feature = "scene",
    derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema),
    serde(remote = "Lines", rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum Lines {
    /// An arrow at each body along its velocity
    Velocity,
    /// An arrow at each body along the sum of its contact forces
    Force,
    /// The contact network instead of the bodies: lines between bodies that touch, wider for larger forces
    Contacts,
}

impl Lines {
    /// All kinds of lines.
    pub const ALL: [Lines; 3] = [Lines::Velocity, Lines::Force, Lines::Contacts];

    /// Title of a legend; for the contact network with the unit.
    pub fn title(self) -> &'static str {
        match self {
            Lines::Velocity => "velocity",
            Lines::Force => "sum of contact forces",
            Lines::Contacts => "contact force (N)",
        }
    }

    /// Unit of the quantity that the lines show.
    pub fn unit(self) -> &'static str {
        match self {
            Lines::Velocity => "m/s",
            Lines::Force | Lines::Contacts => "N",
        }
    }
}

/// Look of a wall in pictures.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WallLook {
    /// Whether the wall is drawn at all.
    pub visible: bool,
    /// Opacity, from 0 for invisible to 1 for opaque. With `None` the wall is opaque, but one can look into it: parts in front of
    /// the bodies in it, and sides that bodies do not touch, are faint glass.
    pub opacity: Option<f64>,
    /// Colour, sRGB; `None` is a default colour.
    pub colour: Option<[u8; 3]>,
}

impl Default for WallLook {
    fn default() -> WallLook {
        WallLook {
            visible: true,
            opacity: None,
            colour: None,
        }
    }
}

/// Settings of how a scene is shown. Settings that are `None` follow from the bodies and walls, or have defaults.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SceneView {
    /// Unit vector that points up.
    pub up: Option<DVec3>,
    /// Degrees around the scene, degrees above it, and a zoom: 1 fills the picture, 2 looks from half the distance.
    pub camera: Option<[f64; 3]>,
    /// The point from which the camera looks, m; it takes the place of `camera`.
    pub eye: Option<DVec3>,
    /// The point that the camera looks at, m.
    pub target: Option<DVec3>,
    /// Meaning of colours.
    pub colour: Option<ColourBy>,
    /// The values of the first and of the last colour.
    pub range: Option<[f64; 2]>,
    /// Colour map.
    pub map: Option<ColourMap>,
    /// Clipping plane, at which bodies and walls are cut.
    pub clip: Option<Clip>,
    /// Background.
    pub background: Option<Background>,
    /// Look of walls that are planes.
    pub ground: Option<Ground>,
    /// Vectors or contacts that are drawn as lines.
    pub lines: Option<Lines>,
    /// Looks of the first walls, in their order; all other walls have the default look.
    pub walls: Vec<WallLook>,
}

impl SceneView {
    /// Look of a wall in pictures.
    pub fn wall(&self, index: usize) -> WallLook {
        self.walls.get(index).copied().unwrap_or_default()
    }
}

/// Reads a colour: `#` and two hexadecimal digits each for red, green and blue.
#[doc(hidden)]
pub fn colour(text: &str) -> Option<[u8; 3]> {
    let digits = text.strip_prefix('#')?;
    if digits.len() != 6 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let number = u32::from_str_radix(digits, 16).ok()?;
    let [_, red, green, blue] = number.to_be_bytes();
    Some([red, green, blue])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clipping_planes_are_read_and_written() {
        for (text, axis, at, keep) in [
            ("x=0", 0, 0.0, Keep::Far),
            ("y<0.5", 1, 0.5, Keep::Below),
            (" z > -1e-2 ", 2, -0.01, Keep::Above),
        ] {
            let clip: Clip = text.parse().unwrap();
            assert_eq!(clip, Clip { axis, at, keep });
            assert_eq!(clip.to_string().parse(), Ok(clip));
        }
        for wrong in [
            "", "x", "x=", "w=0", "x=nan", "x~1", "x=1e300", "é=1", "xé1",
        ] {
            assert_eq!(wrong.parse::<Clip>(), Err(CLIP), "{wrong}");
        }
    }

    #[test]
    fn what_is_cut_away_lies_where_the_normal_points() {
        let clip = |text: &str| text.parse::<Clip>().unwrap();
        let here = DVec3::new(3.0, 0.0, 0.0);
        assert_eq!(clip("x=1").plane(here), (DVec3::X, 1.0));
        assert_eq!(clip("x=1").plane(-here), (-DVec3::X, -1.0));
        assert_eq!(clip("x<1").plane(-here), (DVec3::X, 1.0));
        assert_eq!(clip("x>1").plane(here), (-DVec3::X, -1.0));
    }

    #[test]
    fn the_numbers_of_meanings_are_their_places() {
        for (place, by) in ColourBy::ALL.into_iter().enumerate() {
            assert_eq!(by as usize, place);
        }
    }

    #[test]
    fn backgrounds_are_read() {
        assert_eq!("sky".parse(), Ok(Background::Sky));
        assert_eq!("white".parse(), Ok(Background::Colour([255; 3])));
        assert_eq!("#0a0b0c".parse(), Ok(Background::Colour([10, 11, 12])));
        assert_eq!("grey".parse::<Background>(), Err(BACKGROUND));
    }

    #[test]
    fn colours_are_read() {
        assert_eq!(colour("#10a0ff"), Some([0x10, 0xa0, 0xff]));
        for wrong in ["", "#", "10a0ff", "#10a0f", "#10a0fg", "#+1a0ff"] {
            assert_eq!(colour(wrong), None, "{wrong}");
        }
    }
}
