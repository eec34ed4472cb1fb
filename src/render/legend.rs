//! Legends: the meaning of colours, in words beside a picture.

use ab_glyph::{Font, FontRef, PxScaleFont, ScaleFont, point};
use glam::{DVec2, DVec3};
use image::RgbaImage;

use super::colour::{self, ColourBy, ColourMap};
use super::{Camera, Lines, Look, Overlay};
use crate::model::Model;

/// Largest number of names in a legend.
const MOST_NAMES: usize = 10;

/// Legend: colours and the values for which they stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Legend {
    /// Quantity that the colours stand for, with the unit.
    pub title: &'static str,
    /// Meaning of each colour.
    pub key: Key,
}

/// Meaning of each colour.
#[derive(Clone, Debug, PartialEq)]
pub enum Key {
    /// A colour map over a range of values.
    Map {
        /// The value of the first colour.
        bottom: f32,
        /// The value of the last colour.
        top: f32,
        /// The colours.
        map: ColourMap,
    },
    /// Names of things and their colours, sRGB.
    Names(Vec<(String, [u8; 3])>),
}

impl Legend {
    /// The legend of pictures of `model`; `None` if colours only tell bodies apart.
    ///
    /// `[bottom, top]` are the values of the first and the last colour; `overlay` has the lines over the picture.
    pub fn new(
        look: &Look,
        [bottom, top]: [f32; 2],
        overlay: Option<&Overlay>,
        model: &Model,
    ) -> Option<Legend> {
        if let (Some(Lines::Contacts), Some(overlay)) = (look.lines, overlay) {
            return Some(Legend {
                title: Lines::Contacts.title(),
                key: Key::Map {
                    bottom: 0.0,
                    top: overlay.top,
                    map: look.map,
                },
            });
        }
        let names = |names: &mut dyn Iterator<Item = &String>| {
            let colours = names.take(MOST_NAMES).enumerate();
            Key::Names(
                colours
                    .map(|(index, name)| (name.clone(), colour::list(index)))
                    .collect(),
            )
        };
        let key = match look.colour_by {
            ColourBy::Body => return None,
            ColourBy::Shape => names(&mut model.shapes.iter().map(|shape| &shape.name)),
            ColourBy::Material => names(&mut model.materials.iter()),
            _ => Key::Map {
                bottom,
                top,
                map: look.map,
            },
        };
        Some(Legend {
            title: look.colour_by.title(),
            key,
        })
    }
}

/// Scale bar and axes beside a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// Length of the bar, with its unit.
    pub text: String,
    /// Length of the bar, m.
    pub length: f64,
    /// Length of the bar as a fraction of the picture's height, at the distance of the camera's target.
    pub bar: f64,
    /// The axes x, y and z in the picture, to the right and up. An axis across the line of sight has the length 1.
    pub axes: [DVec2; 3],
}

impl Scale {
    /// The scale of pictures from a camera. The bar has a round length, a twelfth to about a fifth of the picture's height.
    pub fn new(camera: &Camera) -> Scale {
        let height = 2.0 * camera.slope() * camera.distance;
        let length = f64::from(colour::round_up((height / 12.0) as f32));
        let units = [
            (1e3, "km"),
            (1.0, "m"),
            (1e-3, "mm"),
            (1e-6, "µm"),
            (1e-9, "nm"),
        ];
        let fits = |(unit, _): &&(f64, &str)| length >= 0.999 * unit;
        let &(unit, name) = units.iter().find(fits).unwrap_or(&units[4]);
        let number = (length / unit * 1e3).round() / 1e3;
        let own = camera.axes();
        Scale {
            text: format!("{number} {name}"),
            length,
            bar: length / height,
            axes: DVec3::AXES.map(|axis| DVec2::new(axis.dot(own.right), axis.dot(own.up))),
        }
    }
}

/// Names and colours (sRGB) of the axes, from x to z.
pub const AXES: [(&str, [u8; 3]); 3] = [
    ("x", [200, 50, 40]),
    ("y", [40, 140, 50]),
    ("z", [40, 80, 200]),
];

/// The values beside a colour map: their places, from 0 at `bottom` to 1 at `top`, and their texts.
pub fn ticks(bottom: f32, top: f32) -> [(f64, String); 3] {
    let text = |value: f64| {
        if value == 0.0 || (1e-3..1e5).contains(&value) {
            // The shortest form with four correct digits.
            let shortest: f64 = format!("{value:.3e}").parse().unwrap_or(value);
            shortest.to_string()
        } else {
            format!("{value:.1e}")
        }
    };
    let [bottom, top] = [bottom, top].map(f64::from);
    [0.0, 0.5, 1.0].map(|part| (part, text(bottom + part * (top - bottom))))
}

/// The words above a picture: the simulated time (s), and the scale of arrows if there are any.
pub fn caption(time: f64, overlay: Option<&Overlay>, scale: &Scale) -> String {
    match overlay.and_then(|overlay| overlay.arrow_text(scale)) {
        Some(arrows) => format!("t = {time:.3} s   {arrows}"),
        None => format!("t = {time:.3} s"),
    }
}

/// Writer of legends, scales and text onto pictures.
pub struct Writer {
    font: FontRef<'static>,
}

impl Default for Writer {
    fn default() -> Self {
        let font = FontRef::try_from_slice(epaint_default_fonts::UBUNTU_LIGHT);
        Writer {
            font: font.expect("the font is a font"),
        }
    }
}

const INK: [u8; 3] = [24, 28, 32];
const PAPER: [u8; 3] = [248, 249, 250];

impl Writer {
    /// Draws a legend into the lower left corner, a line of text into the upper left and a scale into the lower right corner.
    ///
    /// Their size follows from the height of the picture.
    pub fn annotate(
        &self,
        image: &mut RgbaImage,
        legend: Option<&Legend>,
        scale: Option<&Scale>,
        text: &str,
    ) {
        let size = (image.height() as f32 / 36.0).clamp(11.0, 40.0);
        let font = self.font.as_scaled(size);
        let margin = (0.8 * size) as i32;
        if !text.is_empty() {
            let width = width(&font, text) as i32;
            let paper = [margin, margin, width + margin, (1.5 * size) as i32];
            fill(image, paper, PAPER, 0.75);
            let at = [margin + margin / 2, margin + (0.25 * size) as i32];
            write(image, &font, text, at);
        }
        match legend {
            Some(Legend {
                title,
                key: Key::Map { bottom, top, map },
            }) => self.map(image, size, margin, title, ([*bottom, *top], *map)),
            Some(Legend {
                title,
                key: Key::Names(names),
            }) => self.names(image, size, margin, title, names),
            None => (),
        }
        if let Some(scale) = scale {
            self.scale(image, size, margin, scale);
        }
    }

    /// Draws a bar with its length, and the axes above it.
    fn scale(&self, image: &mut RgbaImage, size: f32, margin: i32, scale: &Scale) {
        let font = self.font.as_scaled(size);
        let [right, bottom] = [image.width(), image.height()].map(|side| side as i32 - margin);
        let length = (scale.bar * f64::from(image.height())) as i32;
        let thick = (size / 7.0).max(2.0) as i32;
        let text = width(&font, &scale.text) as i32;
        let wide = length.max(text) + margin;
        let high = (1.5 * size) as i32 + thick;
        fill(
            image,
            [right - wide, bottom - high, wide, high],
            PAPER,
            0.75,
        );
        let middle = right - wide / 2;
        let bar = [
            middle - length / 2,
            bottom - thick - margin / 4,
            length,
            thick,
        ];
        fill(image, bar, INK, 1.0);
        write(
            image,
            &font,
            &scale.text,
            [middle - text / 2, bottom - high],
        );
        let arm = 1.7 * f64::from(size);
        let center = [
            f64::from(right) - 1.5 * arm,
            f64::from(bottom - high) - 1.7 * arm,
        ];
        for ((name, colour), way) in AXES.into_iter().zip(scale.axes) {
            let at = |part: f64| {
                [
                    center[0] + part * arm * way.x,
                    center[1] - part * arm * way.y,
                ]
            };
            let steps = (2.0 * arm) as i32;
            for step in 0..=steps {
                let [x, y] = at(f64::from(step) / f64::from(steps));
                let half = thick / 2;
                fill(
                    image,
                    [x as i32 - half, y as i32 - half, thick, thick],
                    colour,
                    1.0,
                );
            }
            // The name stands beyond the end of the axis, so that it does not hide it.
            let [x, y] = at(1.35);
            let corner = [
                x as i32 - (width(&font, name) / 2.0) as i32,
                y as i32 - (0.6 * size) as i32,
            ];
            write(image, &font, name, corner);
        }
    }

    fn map(
        &self,
        image: &mut RgbaImage,
        size: f32,
        margin: i32,
        title: &str,
        (span, map): ([f32; 2], ColourMap),
    ) {
        let font = self.font.as_scaled(size);
        let inner = margin / 2;
        let bar = [(14.0 * size) as i32, (0.7 * size) as i32];
        let line = (1.25 * size) as i32;
        let paper = [
            margin,
            image.height() as i32 - margin - (2 * line + bar[1] + 2 * inner),
            bar[0] + 3 * inner,
            2 * line + bar[1] + 2 * inner,
        ];
        fill(image, paper, PAPER, 0.8);
        let [left, above] = [paper[0] + (3 * inner) / 2, paper[1] + inner];
        write(image, &font, title, [left, above]);
        for x in 0..bar[0] {
            let colour = colour::map(map, f64::from(x) / f64::from(bar[0] - 1));
            fill(image, [left + x, above + line, 1, bar[1]], colour, 1.0);
        }
        for (part, text) in ticks(span[0], span[1]) {
            let room = bar[0] as f32 - width(&font, &text);
            let x = left + (part as f32 * room) as i32;
            write(image, &font, &text, [x, above + line + bar[1]]);
        }
    }

    fn names(
        &self,
        image: &mut RgbaImage,
        size: f32,
        margin: i32,
        title: &str,
        names: &[(String, [u8; 3])],
    ) {
        let font = self.font.as_scaled(size);
        let inner = margin / 2;
        let line = (1.35 * size) as i32;
        let widest = names.iter().map(|(name, _)| width(&font, name));
        let widest = widest.fold(width(&font, title) - 1.5 * size, f32::max) as i32;
        let height = line * (names.len() as i32 + 1) + 2 * inner;
        let paper = [
            margin,
            image.height() as i32 - margin - height,
            widest + line + 3 * inner,
            height,
        ];
        fill(image, paper, PAPER, 0.8);
        let [left, above] = [paper[0] + (3 * inner) / 2, paper[1] + inner];
        write(image, &font, title, [left, above]);
        for (row, (name, colour)) in names.iter().enumerate() {
            let y = above + line * (row as i32 + 1);
            let side = (0.9 * size) as i32;
            fill(image, [left, y + side / 4, side, side], *colour, 1.0);
            write(image, &font, name, [left + line, y]);
        }
    }
}

fn width(font: &PxScaleFont<&FontRef>, text: &str) -> f32 {
    text.chars()
        .map(|letter| font.h_advance(font.glyph_id(letter)))
        .sum()
}

/// Mixes a colour into a rectangle (left, top, width and height, pixels); `part` is the opacity of the colour.
fn fill(image: &mut RgbaImage, [left, top, width, height]: [i32; 4], colour: [u8; 3], part: f32) {
    for y in top..top + height {
        for x in left..left + width {
            mix(image, [x, y], colour, part);
        }
    }
}

fn mix(image: &mut RgbaImage, [x, y]: [i32; 2], colour: [u8; 3], part: f32) {
    let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else {
        return;
    };
    if let Some(pixel) = image.get_pixel_mut_checked(x, y) {
        for (old, new) in pixel.0.iter_mut().zip(colour) {
            let mixed = f32::from(*old) * (1.0 - part) + f32::from(new) * part;
            *old = mixed.round() as u8;
        }
    }
}

/// Writes a line of text; `at` is its upper left corner, pixels.
fn write(image: &mut RgbaImage, font: &PxScaleFont<&FontRef>, text: &str, at: [i32; 2]) {
    let mut pen = point(at[0] as f32, at[1] as f32 + font.ascent());
    for letter in text.chars() {
        let glyph = font.glyph_id(letter);
        let advance = font.h_advance(glyph);
        let glyph = glyph.with_scale_and_position(font.scale(), pen);
        if let Some(outline) = font.outline_glyph(glyph) {
            let corner = outline.px_bounds().min;
            outline.draw(|x, y, part| {
                let place = [corner.x as i32 + x as i32, corner.y as i32 + y as i32];
                // The font is thin, and its ground is light.
                mix(image, place, INK, (1.3 * part).min(1.0));
            });
        }
        pen.x += advance;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_beside_a_map_are_short() {
        let texts = |top| ticks(0.0, top).map(|(_, text)| text);
        assert_eq!(texts(5.0), ["0", "2.5", "5"]);
        assert_eq!(texts(0.02), ["0", "0.01", "0.02"]);
        assert_eq!(texts(200.0), ["0", "100", "200"]);
        assert_eq!(texts(2e-9), ["0", "1.0e-9", "2.0e-9"]);
        assert_eq!(
            ticks(280.0, 400.0).map(|(_, text)| text),
            ["280", "340", "400"]
        );
        assert_eq!(texts(1e7), ["0", "5.0e6", "1.0e7"]);
    }

    #[test]
    fn the_bar_is_as_long_as_it_says() {
        for (distance, text) in [
            (1.0, "100 mm"),
            (0.01, "1 mm"),
            (40.0, "5 m"),
            (5e4, "5 km"),
        ] {
            let camera = Camera {
                distance,
                ..Camera::default()
            };
            let scale = Scale::new(&camera);
            assert_eq!(scale.text, text, "{distance}");
            assert!((1.0 / 12.1..0.21).contains(&scale.bar), "{scale:?}");
        }
        // A camera that looks along -z from above sees x to the right, y up and z foreshortened and down.
        let camera = Camera {
            around: 0.0,
            above: 0.5,
            ..Camera::default()
        };
        let [x, y, z] = Scale::new(&camera).axes;
        assert!((x - DVec2::X).length() < 1e-12);
        assert!((y - DVec2::Y * 0.5_f64.cos()).length() < 1e-12);
        assert!((z + DVec2::Y * 0.5_f64.sin()).length() < 1e-12);
    }

    #[test]
    fn an_annotation_changes_its_corners_and_nothing_else() {
        let before = RgbaImage::from_pixel(320, 200, image::Rgba([90, 90, 90, 255]));
        let legend = Legend {
            title: "speed (m/s)",
            key: Key::Map {
                bottom: 0.0,
                top: 2.0,
                map: ColourMap::default(),
            },
        };
        let mut after = before.clone();
        let scale = Scale::new(&Camera::default());
        Writer::default().annotate(&mut after, Some(&legend), Some(&scale), "t = 1 s");
        let changed = |x: u32, y: u32| before.get_pixel(x, y) != after.get_pixel(x, y);
        assert!(changed(20, 15) && changed(20, 180) && changed(300, 180));
        assert!((200..240).all(|x| (0..200).all(|y| !changed(x, y))));
        assert!((240..320).all(|x| (0..100).all(|y| !changed(x, y))));
        // The map, from dark to light, in the middle of its bar.
        let colours: Vec<u8> = (20..150).map(|x| after.get_pixel(x, 172).0[1]).collect();
        assert!(
            colours.windows(20).filter(|w| w[0] < w[19]).count() > 80,
            "{colours:?}"
        );
    }
}
