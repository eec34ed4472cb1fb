//! Replacement of the crate `skrifa`, with the part that egui needs to outline letters.
//!
//! The crate reads fonts of all kinds and fits their outlines to pixels by the programs in them, for which a page of a browser would
//! load 0.3 MB. Rockfall has one font, and legends read that with `ttf-parser`: so does this. Outlines that are to be hinted become so high
//! that small letters are whole pixels high, and stay as they are across. The workspace's `Cargo.toml` puts this in its place; who
//! builds the library elsewhere has the original.

use ttf_parser::Face;

pub use font_types::{GlyphId, Tag};
pub use ttf_parser::FaceParsingError;

/// A font.
#[derive(Clone)]
pub struct FontRef<'a>(Face<'a>);

impl<'a> FontRef<'a> {
    pub fn from_index(data: &'a [u8], index: u32) -> Result<FontRef<'a>, FaceParsingError> {
        Face::parse(data, index).map(FontRef)
    }
}

/// Properties of a font.
pub trait MetadataProvider<'a> {
    fn charmap(&self) -> charmap::Charmap<'a>;
    fn outline_glyphs(&self) -> outline::OutlineGlyphCollection<'a>;
    fn metrics(&self, size: instance::Size, location: instance::LocationRef) -> metrics::Metrics;
    fn glyph_metrics<'b>(
        &self,
        size: instance::Size,
        location: impl Into<instance::LocationRef<'b>>,
    ) -> metrics::GlyphMetrics<'a>;
    fn axes(&self) -> axes::AxisCollection;
    fn localized_strings(&self, name: u16) -> axes::Names;
}

impl<'a> MetadataProvider<'a> for FontRef<'a> {
    fn charmap(&self) -> charmap::Charmap<'a> {
        charmap::Charmap(self.0.clone())
    }

    fn outline_glyphs(&self) -> outline::OutlineGlyphCollection<'a> {
        outline::OutlineGlyphCollection(self.0.clone())
    }

    fn metrics(&self, size: instance::Size, _: instance::LocationRef) -> metrics::Metrics {
        let scale = size.scale(&self.0);
        let of = |units: i16| f32::from(units) * scale;
        metrics::Metrics {
            units_per_em: self.0.units_per_em(),
            ascent: of(self.0.ascender()),
            descent: of(self.0.descender()),
            leading: of(self.0.line_gap()),
        }
    }

    fn glyph_metrics<'b>(
        &self,
        size: instance::Size,
        _: impl Into<instance::LocationRef<'b>>,
    ) -> metrics::GlyphMetrics<'a> {
        metrics::GlyphMetrics {
            scale: size.scale(&self.0),
            face: self.0.clone(),
        }
    }

    fn axes(&self) -> axes::AxisCollection {
        axes::AxisCollection
    }

    fn localized_strings(&self, _: u16) -> axes::Names {
        axes::Names
    }
}

/// The number of a glyph as its font has it.
fn number(glyph: GlyphId) -> ttf_parser::GlyphId {
    ttf_parser::GlyphId(glyph.to_u32() as u16)
}

pub mod charmap {
    use super::{Face, GlyphId};

    /// Which glyph a letter has.
    #[derive(Clone)]
    pub struct Charmap<'a>(pub(super) Face<'a>);

    impl Charmap<'_> {
        pub fn map(&self, letter: impl Into<u32>) -> Option<GlyphId> {
            let glyph = self.0.glyph_index(char::from_u32(letter.into())?)?;
            Some(GlyphId::new(glyph.0.into()))
        }

        /// All letters, with their glyphs.
        pub fn mappings(&self) -> impl Iterator<Item = (u32, GlyphId)> + use<> {
            let mut letters = Vec::new();
            let tables = self.0.tables().cmap.into_iter();
            for table in tables.flat_map(|cmap| cmap.subtables) {
                if table.is_unicode() {
                    table.codepoints(|letter| {
                        if let Some(glyph) = self.map(letter) {
                            letters.push((letter, glyph));
                        }
                    });
                }
            }
            letters.into_iter()
        }
    }
}

pub mod metrics {
    use super::{Face, GlyphId, number};

    /// Sizes of a font.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct Metrics {
        pub units_per_em: u16,
        pub ascent: f32,
        pub descent: f32,
        pub leading: f32,
    }

    /// Widths of its glyphs.
    #[derive(Clone)]
    pub struct GlyphMetrics<'a> {
        pub(super) face: Face<'a>,
        pub(super) scale: f32,
    }

    impl GlyphMetrics<'_> {
        pub fn advance_width(&self, glyph: GlyphId) -> Option<f32> {
            let width = self.face.glyph_hor_advance(number(glyph))?;
            Some(f32::from(width) * self.scale)
        }
    }
}

pub mod instance {
    use super::Face;

    /// Size of a font: pixels of an em, or in units of its own.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct Size(Option<f32>);

    impl Size {
        pub fn new(pixels: f32) -> Size {
            Size(Some(pixels))
        }

        pub fn unscaled() -> Size {
            Size(None)
        }

        pub(super) fn scale(self, face: &Face) -> f32 {
            let pixels_per_unit = |pixels| pixels / f32::from(face.units_per_em());
            self.0.map_or(1.0, pixels_per_unit)
        }
    }

    /// A variation of a font, of which the one here has none.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Location;

    /// One that somebody else has.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct LocationRef<'a>(std::marker::PhantomData<&'a ()>);

    impl Location {
        pub fn coords(&self) -> &[i16] {
            &[]
        }
    }

    impl LocationRef<'_> {
        pub fn coords(&self) -> &[i16] {
            &[]
        }
    }

    impl<'a> From<&'a Location> for LocationRef<'a> {
        fn from(_: &'a Location) -> LocationRef<'a> {
            LocationRef::default()
        }
    }
}

pub mod axes {
    use super::Tag;
    use super::instance::Location;

    /// Axes of variation, of which there are none.
    pub struct AxisCollection;

    /// One of them.
    pub struct Axis;

    /// Names of them.
    pub struct Names;

    /// One of those.
    pub struct Name;

    impl AxisCollection {
        pub fn location<S>(&self, _: impl IntoIterator<Item = S>) -> Location {
            Location
        }

        pub fn iter(&self) -> impl Iterator<Item = Axis> + use<> {
            std::iter::empty()
        }
    }

    impl Axis {
        pub fn tag(&self) -> Tag {
            Tag::default()
        }

        pub fn name_id(&self) -> u16 {
            0
        }

        pub fn min_value(&self) -> f32 {
            0.0
        }

        pub fn max_value(&self) -> f32 {
            0.0
        }

        pub fn default_value(&self) -> f32 {
            0.0
        }

        pub fn is_hidden(&self) -> bool {
            true
        }
    }

    impl Names {
        pub fn english_or_first(self) -> Option<Name> {
            None
        }
    }

    impl Name {
        pub fn chars(&self) -> impl Iterator<Item = char> + use<> {
            std::iter::empty()
        }
    }
}

pub mod outline {
    use ttf_parser::OutlineBuilder;

    use super::instance::{Location, LocationRef, Size};
    use super::{Face, GlyphId, number};

    /// Reason for a glyph without an outline.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DrawError;

    /// Outlines of a font's glyphs.
    #[derive(Clone)]
    pub struct OutlineGlyphCollection<'a>(pub(super) Face<'a>);

    /// One of them.
    pub struct OutlineGlyph<'a> {
        face: Face<'a>,
        glyph: ttf_parser::GlyphId,
    }

    /// Whoever takes an outline.
    pub trait OutlinePen {
        fn move_to(&mut self, x: f32, y: f32);
        fn line_to(&mut self, x: f32, y: f32);
        fn quad_to(&mut self, cx0: f32, cy0: f32, x: f32, y: f32);
        fn curve_to(&mut self, cx0: f32, cy0: f32, cx1: f32, cy1: f32, x: f32, y: f32);
        fn close(&mut self);
    }

    /// Display for which outlines are hinted.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Target {
        #[default]
        Mono,
        Smooth {
            mode: SmoothMode,
            symmetric_rendering: bool,
            preserve_linear_metrics: bool,
        },
    }

    /// Strength of hinting.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SmoothMode {
        Normal,
        Light,
    }

    /// Outlines of a size that are fitted to pixels.
    #[derive(Clone, Debug)]
    pub struct HintingInstance {
        size: Size,
        location: Location,
        target: Target,
    }

    impl HintingInstance {
        pub fn new(
            _: &OutlineGlyphCollection,
            size: Size,
            _: LocationRef,
            target: Target,
        ) -> Result<HintingInstance, DrawError> {
            let location = Location;
            Ok(HintingInstance {
                size,
                location,
                target,
            })
        }

        pub fn reconfigure(
            &mut self,
            glyphs: &OutlineGlyphCollection,
            size: Size,
            location: LocationRef,
            target: Target,
        ) -> Result<(), DrawError> {
            *self = HintingInstance::new(glyphs, size, location, target)?;
            Ok(())
        }

        pub fn size(&self) -> Size {
            self.size
        }

        pub fn location(&self) -> &Location {
            &self.location
        }

        pub fn target(&self) -> Target {
            self.target
        }
    }

    /// Settings for drawing an outline.
    pub struct DrawSettings {
        size: Size,
        is_hinted: bool,
    }

    impl DrawSettings {
        pub fn hinted(instance: &HintingInstance, _: bool) -> DrawSettings {
            DrawSettings {
                size: instance.size,
                is_hinted: true,
            }
        }

        pub fn unhinted(size: Size, _: LocationRef) -> DrawSettings {
            DrawSettings {
                size,
                is_hinted: false,
            }
        }
    }

    impl<'a> OutlineGlyphCollection<'a> {
        pub fn get(&self, glyph: GlyphId) -> Option<OutlineGlyph<'a>> {
            let glyph = number(glyph);
            (glyph.0 < self.0.number_of_glyphs()).then(|| OutlineGlyph {
                face: self.0.clone(),
                glyph,
            })
        }
    }

    impl OutlineGlyph<'_> {
        pub fn draw(
            &self,
            settings: DrawSettings,
            pen: &mut impl OutlinePen,
        ) -> Result<(), DrawError> {
            let across = settings.size.scale(&self.face);
            let small = across * f32::from(self.face.x_height().unwrap_or(0));
            let up = match settings.is_hinted && small >= 0.5 {
                true => across * small.round() / small,
                false => across,
            };
            // A space has none.
            self.face
                .outline_glyph(self.glyph, &mut Scaled { pen, across, up });
            Ok(())
        }
    }

    struct Scaled<'a, P> {
        pen: &'a mut P,
        across: f32,
        up: f32,
    }

    impl<P: OutlinePen> OutlineBuilder for Scaled<'_, P> {
        fn move_to(&mut self, x: f32, y: f32) {
            self.pen.move_to(self.across * x, self.up * y);
        }

        fn line_to(&mut self, x: f32, y: f32) {
            self.pen.line_to(self.across * x, self.up * y);
        }

        fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
            let (across, up) = (self.across, self.up);
            self.pen.quad_to(across * x1, up * y1, across * x, up * y);
        }

        fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
            let (across, up) = (self.across, self.up);
            let [x1, x2, x] = [x1, x2, x].map(|x| across * x);
            let [y1, y2, y] = [y1, y2, y].map(|y| up * y);
            self.pen.curve_to(x1, y1, x2, y2, x, y);
        }

        fn close(&mut self) {
            self.pen.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::instance::{LocationRef, Size};
    use super::outline::{DrawSettings, HintingInstance, OutlinePen, Target};
    use super::*;

    const FONT: &[u8] = include_bytes!("../../font/light.ttf");

    /// The lowest and the highest point of an outline.
    struct Heights([f32; 2]);

    impl Heights {
        fn meet(&mut self, y: f32) {
            self.0 = [self.0[0].min(y), self.0[1].max(y)];
        }
    }

    impl OutlinePen for Heights {
        fn move_to(&mut self, _: f32, y: f32) {
            self.meet(y);
        }
        fn line_to(&mut self, _: f32, y: f32) {
            self.meet(y);
        }
        fn quad_to(&mut self, _: f32, _: f32, _: f32, y: f32) {
            self.meet(y);
        }
        fn curve_to(&mut self, _: f32, _: f32, _: f32, _: f32, _: f32, y: f32) {
            self.meet(y);
        }
        fn close(&mut self) {}
    }

    #[test]
    fn letters_have_widths_and_outlines_of_whole_pixels() {
        let font = FontRef::from_index(FONT, 0).unwrap();
        let letters = font.charmap();
        assert!(letters.mappings().count() > 1000);
        for letter in "aZ0×²°µωЖ".chars() {
            let glyph = letters.map(letter).unwrap();
            let widths = font.glyph_metrics(Size::new(16.0), LocationRef::default());
            let width = widths.advance_width(glyph).unwrap();
            assert!((3.0..16.0).contains(&width), "{letter}: {width}");
        }
        assert_eq!(letters.map('\u{4e00}'), None);
        let metrics = font.metrics(Size::new(16.0), LocationRef::default());
        assert!(
            metrics.ascent > 12.0 && metrics.descent < -2.0,
            "{metrics:?}"
        );
        let glyphs = font.outline_glyphs();
        let x = glyphs.get(letters.map('x').unwrap()).unwrap();
        let height = |settings| {
            let mut heights = Heights([f32::MAX, f32::MIN]);
            x.draw(settings, &mut heights).unwrap();
            heights.0
        };
        let size = Size::new(12.5);
        let instance =
            HintingInstance::new(&glyphs, size, LocationRef::default(), Target::default());
        let [low, high] = height(DrawSettings::hinted(&instance.unwrap(), false));
        assert!(
            low.abs() < 0.01 && (high - high.round()).abs() < 0.05,
            "{high}"
        );
        let [_, own] = height(DrawSettings::unhinted(size, LocationRef::default()));
        assert!((own - 12.5 * 0.52).abs() < 0.3, "{own}");
    }
}
