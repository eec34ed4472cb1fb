//! Replacement of the crate `harfrust`, with the part that egui needs to place letters.
//!
//! The crate shapes all scripts of the world. Rockfall has one font, of Latin, Greek and Cyrillic letters, which stand beside
//! each other as they are, and a page of a browser would load 0.4 MB for the rest. The workspace's `Cargo.toml` puts this in its
//! place; who builds the library elsewhere has the original, and letters that stand a little closer in some pairs.

use skrifa::instance::{LocationRef, Size};
use skrifa::{MetadataProvider, Tag};

pub use skrifa::{FontRef, GlyphId};

/// Text to be shaped.
#[derive(Default)]
pub struct UnicodeBuffer(String);

/// The letters of a text, side by side.
pub struct GlyphBuffer {
    text: UnicodeBuffer,
    infos: Vec<GlyphInfo>,
    positions: Vec<GlyphPosition>,
}

/// A letter of a font, and the byte of the text at which it begins.
#[derive(Clone, Copy)]
pub struct GlyphInfo {
    pub glyph_id: u32,
    pub cluster: u32,
}

/// Place of a letter, and the distance to the next one, in units of the font.
#[derive(Clone, Copy, Default)]
pub struct GlyphPosition {
    pub x_advance: i32,
    pub y_advance: i32,
    pub x_offset: i32,
    pub y_offset: i32,
}

/// Stand-in for the original's tables of a font.
pub struct ShaperData;

/// A font whose letters are placed.
pub struct Shaper<'a>(FontRef<'a>);

/// A variation of a font, of which the one here has none.
pub struct Variation {
    pub tag: Tag,
    pub value: f32,
}

/// A font with variations.
pub struct ShaperInstance;

/// Options of the original.
pub struct ShapeOptions;

/// Stand-in for flags about the text before and after.
#[derive(Clone, Copy)]
pub struct BufferFlags;

impl UnicodeBuffer {
    pub fn new() -> UnicodeBuffer {
        UnicodeBuffer(String::new())
    }

    pub fn push_str(&mut self, text: &str) {
        self.0.push_str(text);
    }

    pub fn set_flags(&mut self, _: BufferFlags) {}

    pub fn guess_segment_properties(&mut self) {}
}

impl GlyphBuffer {
    pub fn glyph_infos(&self) -> &[GlyphInfo] {
        &self.infos
    }

    pub fn glyph_positions(&self) -> &[GlyphPosition] {
        &self.positions
    }

    /// The memory of a text, for the next one.
    pub fn clear(mut self) -> UnicodeBuffer {
        self.text.0.clear();
        self.text
    }
}

impl ShaperData {
    pub fn new(_: &FontRef) -> ShaperData {
        ShaperData
    }

    pub fn shaper<'a>(&self, font: &FontRef<'a>) -> Shaper<'a> {
        Shaper(font.clone())
    }
}

impl ShaperInstance {
    pub fn from_variations(_: &FontRef, _: impl IntoIterator<Item = Variation>) -> ShaperInstance {
        ShaperInstance
    }
}

impl ShapeOptions {
    #[expect(clippy::new_without_default, reason = "the original's name")]
    pub fn new() -> ShapeOptions {
        ShapeOptions
    }
}

impl BufferFlags {
    pub const BEGINNING_OF_TEXT: BufferFlags = BufferFlags;
    pub const END_OF_TEXT: BufferFlags = BufferFlags;

    pub fn empty() -> BufferFlags {
        BufferFlags
    }
}

impl std::ops::BitOrAssign for BufferFlags {
    fn bitor_assign(&mut self, _: BufferFlags) {}
}

impl<'a> Shaper<'a> {
    pub fn instance(self, _: Option<&ShaperInstance>) -> Shaper<'a> {
        self
    }

    pub fn build(self) -> Shaper<'a> {
        self
    }

    /// Places the letters of a text from left to right, each as far from the one before as that is wide.
    pub fn shape(&self, text: UnicodeBuffer, _: ShapeOptions) -> GlyphBuffer {
        let letters = self.0.charmap();
        let widths = self
            .0
            .glyph_metrics(Size::unscaled(), LocationRef::default());
        let place = |(byte, letter): (usize, char)| {
            let glyph = letters.map(letter).unwrap_or_default();
            let info = GlyphInfo {
                glyph_id: glyph.to_u32(),
                cluster: byte as u32,
            };
            let position = GlyphPosition {
                x_advance: widths.advance_width(glyph).unwrap_or_default().round() as i32,
                ..GlyphPosition::default()
            };
            (info, position)
        };
        let (infos, positions) = text.0.char_indices().map(place).unzip();
        GlyphBuffer {
            text,
            infos,
            positions,
        }
    }
}
