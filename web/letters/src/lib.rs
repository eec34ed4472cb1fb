//! Replacement of the crate `vello_cpu`, with the part that egui needs to draw letters.
//!
//! egui fills one white outline after another with it. The crate can do far more, for which a page of a browser would load 1.5
//! MB, a quarter of its code. The workspace's `Cargo.toml` puts this in its place; who builds the library elsewhere has the
//! original, and letters that look the same.

use ab_glyph_rasterizer::{Point, Rasterizer, point};
use kurbo::{Affine, PathEl, Shape as _};

pub use {color, kurbo};

/// Canvas that outlines are filled on.
pub struct RenderContext {
    size: [u16; 2],
    transform: Affine,
    coverage: Rasterizer,
}

/// Pixels of RGBA.
pub struct Pixmap(Vec<u8>);

/// Stand-in for the caches of the original.
pub struct Resources;

impl Resources {
    #[expect(clippy::new_without_default, reason = "the original's name")]
    pub fn new() -> Resources {
        Resources
    }
}

impl Pixmap {
    pub fn new(width: u16, height: u16) -> Pixmap {
        Pixmap(vec![0; 4 * usize::from(width) * usize::from(height)])
    }

    pub fn data_as_u8_slice(&self) -> &[u8] {
        &self.0
    }
}

impl RenderContext {
    pub fn new(width: u16, height: u16) -> RenderContext {
        RenderContext {
            size: [width, height],
            transform: Affine::IDENTITY,
            coverage: Rasterizer::new(width.into(), height.into()),
        }
    }

    pub fn set_transform(&mut self, transform: Affine) {
        self.transform = transform;
    }

    /// White is all that egui asks for.
    pub fn set_paint(&mut self, _: color::OpaqueColor<color::Srgb>) {}

    /// Adds an outline to what is filled. Its subpaths are closed.
    pub fn fill_path(&mut self, path: &kurbo::BezPath) {
        let place = |place: kurbo::Point| {
            let place = self.transform * place;
            point(place.x as f32, place.y as f32)
        };
        let [mut start, mut at] = [Point::default(); 2];
        for element in path.path_elements(0.1) {
            match element {
                PathEl::MoveTo(to) => {
                    self.coverage.draw_line(at, start);
                    start = place(to);
                    at = start;
                }
                PathEl::LineTo(to) => {
                    let to = place(to);
                    self.coverage.draw_line(at, to);
                    at = to;
                }
                PathEl::QuadTo(control, to) => {
                    let to = place(to);
                    self.coverage.draw_quad(at, place(control), to);
                    at = to;
                }
                PathEl::CurveTo(first, second, to) => {
                    let to = place(to);
                    self.coverage
                        .draw_cubic(at, place(first), place(second), to);
                    at = to;
                }
                PathEl::ClosePath => {
                    self.coverage.draw_line(at, start);
                    at = start;
                }
            }
        }
        self.coverage.draw_line(at, start);
    }

    /// Writes what is filled into pixels of the same size: white, as far as it covers them.
    pub fn render(&mut self, pixels: &mut Pixmap, _: &mut Resources) {
        let room = 4 * usize::from(self.size[0]) * usize::from(self.size[1]);
        assert_eq!(pixels.0.len(), room, "pixels of another size");
        let pixels = &mut pixels.0;
        self.coverage.for_each_pixel(|index, coverage| {
            let white = (255.0 * coverage.min(1.0)).round() as u8;
            pixels[4 * index..4 * index + 4].fill(white);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_covers_its_pixels() {
        let mut outline = kurbo::BezPath::new();
        // A square with a hole, and open at its end.
        for corners in [
            [(1.0, 1.0), (4.0, 1.0), (4.0, 3.5), (1.0, 3.5)],
            [(2.0, 2.0), (2.0, 3.0), (3.0, 3.0), (3.0, 2.0)],
        ] {
            outline.move_to(corners[0]);
            corners[1..]
                .iter()
                .for_each(|corner| outline.line_to(*corner));
        }
        let mut context = RenderContext::new(4, 4);
        context.set_transform(Affine::translate((-1.0, 0.0)));
        context.fill_path(&outline);
        let mut pixels = Pixmap::new(4, 4);
        context.render(&mut pixels, &mut Resources::new());
        let alphas: Vec<u8> = pixels
            .data_as_u8_slice()
            .iter()
            .skip(3)
            .step_by(4)
            .copied()
            .collect();
        let expected = [
            [0; 4],
            [255, 255, 255, 0],
            [255, 0, 255, 0],
            [128, 128, 128, 0],
        ];
        assert_eq!(alphas, expected.concat());
    }
}
