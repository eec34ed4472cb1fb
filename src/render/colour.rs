//! Meanings of colours, and colour maps.

use glam::Vec4;

pub use crate::model::view::{ColourBy, ColourMap};

/// Number of colours of a map, from the least to the largest value.
pub(super) const MAP_COLOURS: usize = 64;
/// Number of colours for things without an order.
pub(super) const LIST_COLOURS: usize = 10;
/// Number of all colours in the table of the shaders.
pub(super) const COLOURS: usize = MAP_COLOURS + LIST_COLOURS;

/// Name of a meaning of colours in the shaders.
pub(super) fn constant(by: ColourBy) -> &'static str {
    match by {
        ColourBy::Body => "BY_BODY",
        ColourBy::Shape => "BY_SHAPE",
        ColourBy::Material => "BY_MATERIAL",
        ColourBy::Speed => "BY_SPEED",
        ColourBy::Force => "BY_FORCE",
        ColourBy::Overlap => "BY_OVERLAP",
        ColourBy::Contacts => "BY_CONTACTS",
        ColourBy::Energy => "BY_ENERGY",
        ColourBy::Temperature => "BY_TEMPERATURE",
        ColourBy::Spin => "BY_SPIN",
        ColourBy::Radius => "BY_RADIUS",
        ColourBy::Mass => "BY_MASS",
        ColourBy::Index => "BY_INDEX",
        ColourBy::Damage => "BY_DAMAGE",
    }
}

/// The colour of a map at `part` (0 to 1), sRGB.
///
/// The maps are those of matplotlib, in which equal steps look equal. They are by Nathaniel Smith and Stéfan van der Walt;
/// cividis is by Jamie Nuñez, Christopher Anderton and Ryan Renslow.
pub fn map(map: ColourMap, part: f64) -> [u8; 3] {
    let gradient = match map {
        ColourMap::Viridis => colorous::VIRIDIS,
        ColourMap::Cividis => colorous::CIVIDIS,
        ColourMap::Inferno => colorous::INFERNO,
        ColourMap::Magma => colorous::MAGMA,
        ColourMap::Plasma => colorous::PLASMA,
    };
    let colour = gradient.eval_continuous(part.clamp(0.0, 1.0));
    [colour.r, colour.g, colour.b]
}

/// The colour of the thing with the number `index`, sRGB. Colours repeat after ten things.
pub fn list(index: usize) -> [u8; 3] {
    let colour = colorous::TABLEAU10[index % LIST_COLOURS];
    [colour.r, colour.g, colour.b]
}

/// The table of linear colours that the shaders read: the map, then the list.
pub(super) fn table(map: ColourMap) -> [Vec4; COLOURS] {
    std::array::from_fn(|index| {
        let colour = if index < MAP_COLOURS {
            self::map(map, index as f64 / (MAP_COLOURS - 1) as f64)
        } else {
            list(index - MAP_COLOURS)
        };
        let [r, g, b] = colour.map(linear);
        Vec4::new(r, g, b, 1.0)
    })
}

/// A component of a colour, converted from sRGB to linear (IEC 61966-2-1).
pub fn linear(component: u8) -> f32 {
    let encoded = f32::from(component) / 255.0;
    if encoded <= 0.040_45 {
        encoded / 12.92
    } else {
        ((encoded + 0.055) / 1.055).powf(2.4)
    }
}

/// Range of a colour map, which follows the values in a picture.
///
/// Its ends are round numbers, which are easy to read in a legend and do not change with every picture.
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
    /// Follows values from 0 to about `most`.
    pub fn follow(&mut self, most: f32) {
        self.bottom = 0.0;
        let far_below = 0.3 * self.top;
        if most.is_finite() && most > 0.0 && (most > self.top || most < far_below) {
            self.top = round_up(most);
        }
    }

    /// Follows values from `least` to `most`, which may be far from 0.
    pub fn follow_both(&mut self, least: f32, most: f32) {
        let width = most - least;
        let is_inside = least >= self.bottom && most <= self.top;
        let is_narrow = width < 0.2 * (self.top - self.bottom);
        if width.is_finite() && width >= 0.0 && (!is_inside || is_narrow) {
            // The range needs a width even if all values are equal.
            let step = round_up((0.1 * width).max(1e-3 * most.abs()).max(f32::MIN_POSITIVE));
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

/// Fraction of the values that may lie beyond an end of the range, so that one splash does not darken the rest.
const ABOVE: f64 = 0.01;

/// Number of bins that count values from 0 on; the exponent and the highest bits of the mantissa select the bin.
pub(super) const BINS: usize = 4096;
/// Number of low bits of a float that do not select its bin.
pub(super) const BIN_SHIFT: u32 = 19;

/// The two ends of the bin in which the sorted values reach the fraction `part` of all values.
fn percentile(counts: &[u32], part: f64) -> [f32; 2] {
    let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let wanted = (part * total as f64).ceil().max(1.0) as u64;
    let mut sum = 0;
    let bin = counts.iter().position(|&count| {
        sum += u64::from(count);
        sum >= wanted
    });
    let value = |bin: usize| f32::from_bits((bin as u32) << BIN_SHIFT);
    bin.map_or([0.0; 2], |bin| [value(bin), value(bin + 1)])
}

/// The range of nearly all values, from their counts in the bins.
///
/// An end of the whole range, from `least` to `most`, stays if it is not far out.
pub(super) fn robust(counts: &[u32], least: f32, most: f32) -> [f32; 2] {
    // If most of a heap rests, only the moving bodies count for the upper end.
    let negligible = ((1e-3 * most).to_bits() >> BIN_SHIFT) as usize;
    let mut moving = counts.to_vec();
    moving[..negligible.min(counts.len())].fill(0);
    let [_, high] = percentile(&moving, 1.0 - ABOVE);
    let [low, _] = percentile(counts, ABOVE);
    // A value within a factor of two of the rest is no splash.
    let top = if most > 2.0 * high { high } else { most };
    let bottom = if least < 0.5 * low { low } else { least };
    [bottom.min(top), top]
}

/// Rounds a positive `value` up to 1, 2 or 5 times a power of ten.
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
        let [bottom, top] = after(350.2, 350.4);
        assert!(bottom <= 350.2 && (350.4..351.0).contains(&top));
        assert_eq!(after(f32::NAN, 350.4), [bottom, top]);
        let [bottom, top] = after(293.0, 293.0);
        assert!(bottom <= 293.0 && top > 293.0 && top - bottom < 1.0);
        // Small values, such as radii.
        let [bottom, top] = after(1e-3, 2e-3);
        assert!(bottom <= 1e-3 && (2e-3..2.5e-3).contains(&top), "{top}");
    }

    #[test]
    fn a_splash_does_not_darken_all_others() {
        let mut counts = vec![0_u32; BINS];
        let mut count = |value: f32, times| {
            counts[(value.to_bits() >> BIN_SHIFT) as usize] += times;
        };
        count(1.0, 500);
        count(2.0, 480);
        count(100.0, 3);
        let [bottom, top] = robust(&counts, 1.0, 100.0);
        assert_eq!(bottom, 1.0);
        assert!((2.0..2.3).contains(&top), "{top}");
        // A largest value that is not far out is the end of the range.
        assert_eq!(robust(&counts, 1.0, 2.1), [1.0, 2.1]);
        assert_eq!(percentile(&[0; BINS], 0.5), [0.0; 2]);
        // A few bodies flow over many that rest, and one is thrown far.
        let mut counts = vec![0_u32; BINS];
        for (value, times) in [(1e-6_f32, 100_000), (1.0, 300), (40.0, 1)] {
            counts[(value.to_bits() >> BIN_SHIFT) as usize] += times;
        }
        let [_, top] = robust(&counts, 1e-6, 40.0);
        assert!((1.0..1.2).contains(&top), "{top}");
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
    fn the_maps_start_dark_and_end_light() {
        for own in ColourMap::ALL {
            let light = |part| map(own, part).map(linear).iter().sum::<f32>();
            let parts: Vec<f32> = (0..=10).map(|k| light(f64::from(k) / 10.0)).collect();
            assert!(parts[0] < 0.25 && parts[10] > 0.8, "{own:?} {parts:?}");
            assert_eq!(map(own, 0.0), map(own, -1.0));
        }
        assert_eq!(map(ColourMap::Viridis, 1.0), [253, 231, 37]);
    }
}
