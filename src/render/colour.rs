//! What colours mean, and which there are.

use glam::Vec4;

/// Colours of the map from the least to the largest value.
pub(super) const MAP_COLOURS: usize = 64;
/// Colours of things without an order.
pub(super) const LIST_COLOURS: usize = 10;
/// All of them.
pub(super) const COLOURS: usize = MAP_COLOURS + LIST_COLOURS;

/// What the colour of a sphere means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum ColourBy {
    /// Each body has one of its own
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
    /// Number of the body's contacts
    Contacts,
    /// Kinetic energy of the body
    Energy,
    /// Temperature of the body, in scenes with heat
    Temperature,
}

impl ColourBy {
    /// All of them, in the order of their numbers.
    pub const ALL: [ColourBy; 9] = [
        ColourBy::Body,
        ColourBy::Shape,
        ColourBy::Material,
        ColourBy::Speed,
        ColourBy::Force,
        ColourBy::Overlap,
        ColourBy::Contacts,
        ColourBy::Energy,
        ColourBy::Temperature,
    ];

    /// What a legend calls it, with its unit.
    pub fn title(self) -> &'static str {
        match self {
            ColourBy::Body => "body",
            ColourBy::Shape => "shape",
            ColourBy::Material => "material",
            ColourBy::Speed => "speed (m/s)",
            ColourBy::Force => "contact force (N)",
            ColourBy::Overlap => "overlap (of the radius)",
            ColourBy::Contacts => "contacts of the body",
            ColourBy::Energy => "kinetic energy (J)",
            ColourBy::Temperature => "temperature (K)",
        }
    }

    /// Whether it is a number, for which there is a map, and not a name.
    pub fn is_number(self) -> bool {
        !matches!(self, ColourBy::Body | ColourBy::Shape | ColourBy::Material)
    }

    /// Whether its values are far from 0, at which the map need not start.
    pub(super) fn is_far_from_zero(self) -> bool {
        self == ColourBy::Temperature
    }

    /// Its name in the shaders.
    pub(super) fn constant(self) -> &'static str {
        match self {
            ColourBy::Body => "BY_BODY",
            ColourBy::Shape => "BY_SHAPE",
            ColourBy::Material => "BY_MATERIAL",
            ColourBy::Speed => "BY_SPEED",
            ColourBy::Force => "BY_FORCE",
            ColourBy::Overlap => "BY_OVERLAP",
            ColourBy::Contacts => "BY_CONTACTS",
            ColourBy::Energy => "BY_ENERGY",
            ColourBy::Temperature => "BY_TEMPERATURE",
        }
    }
}

/// The colour of the map at `part` (0 to 1), sRGB: viridis, by Nathaniel Smith and Stéfan van der
/// Walt for matplotlib, in which equal steps look equal.
pub fn map(part: f64) -> [u8; 3] {
    let colour = colorous::VIRIDIS.eval_continuous(part.clamp(0.0, 1.0));
    [colour.r, colour.g, colour.b]
}

/// The colour of the thing with the number `index`, sRGB; they repeat.
pub fn list(index: usize) -> [u8; 3] {
    let colour = colorous::TABLEAU10[index % LIST_COLOURS];
    [colour.r, colour.g, colour.b]
}

/// The colours as the shaders read them, linear: the map, then the list.
pub(super) fn table() -> [Vec4; COLOURS] {
    std::array::from_fn(|index| {
        let colour = if index < MAP_COLOURS {
            map(index as f64 / (MAP_COLOURS - 1) as f64)
        } else {
            list(index - MAP_COLOURS)
        };
        let [r, g, b] = colour.map(linear);
        Vec4::new(r, g, b, 1.0)
    })
}

/// A component of a colour, from what a display wants to linear: the transfer function of sRGB (IEC
/// 61966-2-1).
pub fn linear(component: u8) -> f32 {
    let encoded = f32::from(component) / 255.0;
    if encoded <= 0.040_45 {
        encoded / 12.92
    } else {
        ((encoded + 0.055) / 1.055).powf(2.4)
    }
}

/// The first and the last value of a colour map, which follow the values that there are: round numbers, so
/// that a legend is easy to read, that do not change with every picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    bottom: f32,
    top: f32,
}

impl Default for Span {
    fn default() -> Self {
        Span {
            bottom: 0.0,
            top: 1.0,
        }
    }
}

impl Span {
    /// Follows values from 0 to `most`.
    pub fn follow(&mut self, most: f32) {
        self.bottom = 0.0;
        let far_below = 0.2 * self.top;
        if most.is_finite() && most > 0.0 && (most > self.top || most < far_below) {
            self.top = round_up(most);
        }
    }

    /// Follows values from `least` to `most`, of which the least is far from 0.
    pub fn follow_both(&mut self, least: f32, most: f32) {
        let width = most - least;
        let is_inside = least >= self.bottom && most <= self.top;
        let is_narrow = width < 0.2 * (self.top - self.bottom);
        if width.is_finite() && width >= 0.0 && (!is_inside || is_narrow) {
            let step = round_up((0.1 * width).max(1.0));
            self.bottom = (least / step).floor() * step;
            self.top = ((most / step).ceil() * step).max(self.bottom + step);
        }
    }

    /// The value of the first colour.
    pub fn bottom(self) -> f32 {
        self.bottom
    }

    /// The value of the last colour.
    pub fn top(self) -> f32 {
        self.top
    }
}

/// The least of 1, 2 and 5 times a power of ten that is not less than `value`, which is positive.
pub fn round_up(value: f32) -> f32 {
    let power = 10_f64.powi(f64::from(value).log10().floor() as i32);
    let fits = |factor: &f64| factor * power >= f64::from(value) * (1.0 - 1e-6);
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(fits);
    (factor.unwrap_or(10.0) * power) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_up_to_round_ones() {
        for (value, round) in [
            (1.0, 1.0),
            (1.1, 2.0),
            (3.0, 5.0),
            (7.0, 10.0),
            (0.021, 0.05),
            (1e-9, 1e-9),
            (123.0, 200.0),
        ] {
            assert_eq!(round_up(value), round, "{value}");
        }
    }

    #[test]
    fn the_span_of_temperatures_follows_and_does_not_tremble() {
        let mut span = Span::default();
        let mut after = |least, most| {
            span.follow_both(least, most);
            [span.bottom(), span.top()]
        };
        assert_eq!(after(293.15, 398.0), [280.0, 400.0]);
        assert_eq!(after(330.0, 390.0), [280.0, 400.0]);
        assert_eq!(after(330.0, 401.0), [330.0, 410.0]);
        assert_eq!(after(350.2, 350.4), [350.0, 351.0]);
        assert_eq!(after(f32::NAN, 350.4), [350.0, 351.0]);
        assert_eq!(after(293.0, 293.0), [293.0, 294.0]);
    }

    #[test]
    fn the_top_follows_and_does_not_tremble() {
        let mut span = Span::default();
        let mut after = |most| {
            span.follow(most);
            span.top()
        };
        assert_eq!(after(3.0), 5.0);
        assert_eq!(after(2.0), 5.0);
        assert_eq!(after(0.5), 0.5);
        assert_eq!(after(0.0), 0.5);
        assert_eq!(after(f32::NAN), 0.5);
        assert_eq!(after(f32::INFINITY), 0.5);
    }

    #[test]
    fn the_numbers_of_meanings_are_their_places() {
        for (place, by) in ColourBy::ALL.into_iter().enumerate() {
            assert_eq!(by as usize, place);
        }
    }

    #[test]
    fn the_map_starts_dark_and_ends_light() {
        let light = |part| map(part).map(linear).iter().sum::<f32>();
        let parts: Vec<f32> = (0..=10).map(|k| light(f64::from(k) / 10.0)).collect();
        assert!(parts.is_sorted(), "{parts:?}");
        assert_eq!(map(0.0), map(-1.0));
        assert_eq!(map(1.0), [253, 231, 37]);
    }
}
