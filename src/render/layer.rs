//! A painting that is kept, and laid over pictures.

use wgpu::{TextureFormat, TextureUsages};

use super::programs::{Program, Programs};
use super::shaders::Texts;
use super::texture;
use crate::model::error::Result;
use crate::step::gpu::Context;

/// Side of the tiles in which it is known what is painted on, pixels.
const TILE: u32 = 32;

/// Place of a rectangle in a picture, pixels: left, top, right, bottom.
pub(crate) type Rectangle = [u32; 4];

/// A painting that is kept, and laid over pictures of the same size.
pub(crate) struct Layer {
    pub size: [u32; 2],
    /// Texture that is painted onto; its colours are multiplied by how much they hide.
    pub view: wgpu::TextureView,
    program: Program,
    /// Parts that are painted on. No two of them overlap, or a part would be laid over a picture twice.
    parts: Vec<Rectangle>,
}

impl Layer {
    /// An empty layer of a size in pixels, for pictures of a format.
    ///
    /// # Errors
    /// If its shader is wrong.
    pub fn new(context: &Context, size: [u32; 2], format: TextureFormat) -> Result<Layer> {
        let none = TextureUsages::empty();
        let texture = texture(&context.device, "layer", format, size, none);
        Ok(Layer {
            size,
            view: texture.create_view(&Default::default()),
            program: Programs::layer(context, &Texts::BuiltIn, format)?,
            parts: Vec::new(),
        })
    }

    /// Sets the parts that are painted on, which may overlap. The others are left out: laying all of a layer over each picture
    /// took a software driver a fifth of its time.
    pub fn set_parts(&mut self, parts: impl IntoIterator<Item = Rectangle>) {
        self.parts = tiled(parts, self.size);
    }

    /// Lays the painting over a picture.
    pub fn lay_over(
        &self,
        context: &Context,
        encoder: &mut wgpu::CommandEncoder,
        picture: &wgpu::TextureView,
    ) {
        let resources = |_: &str| Some(wgpu::BindingResource::TextureView(&self.view));
        let bind_group = self.program.bind(context, &resources);
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("layer"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: picture,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Load,
                    store: wgpu::StoreOp::Store,
                },
            })],
            ..Default::default()
        });
        pass.set_pipeline(&self.program.pipeline);
        pass.set_bind_group(0, &bind_group, &[]);
        for &[left, top, right, bottom] in &self.parts {
            pass.set_scissor_rect(left, top, right - left, bottom - top);
            pass.draw(0..3, 0..1);
        }
    }
}

/// Rectangles of which no two overlap, and which together cover all tiles of a picture of the size `size` that some touch.
fn tiled(rectangles: impl IntoIterator<Item = Rectangle>, size: [u32; 2]) -> Vec<Rectangle> {
    let [columns, rows] = size.map(|side| side.div_ceil(TILE) as usize);
    let mut touched = vec![false; columns * rows];
    for [left, top, right, bottom] in rectangles {
        let along = |first: u32, end: u32, most| {
            (first / TILE) as usize..(end.div_ceil(TILE) as usize).min(most)
        };
        for row in along(top, bottom, rows) {
            for column in along(left, right, columns) {
                touched[row * columns + column] = true;
            }
        }
    }
    let mut parts = Vec::new();
    for (row, touched) in (0..).zip(touched.chunks(columns.max(1))) {
        let mut column = 0;
        for run in touched.chunk_by(|a, b| a == b) {
            let end = column + run.len() as u32;
            if run[0] {
                let ends = [TILE * end, TILE * (row + 1)];
                let [right, bottom] = [ends[0].min(size[0]), ends[1].min(size[1])];
                parts.push([TILE * column, TILE * row, right, bottom]);
            }
            column = end;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_is_laid_where_it_was_painted() {
        let size = [3 * TILE + 5, 2 * TILE];
        let corner = [TILE - 1, 3, TILE + 1, 4];
        let at_the_edge = [3 * TILE, TILE, 9 * TILE, 9 * TILE];
        let nothing = [7, 7, 7, 7];
        let beyond = [8 * TILE, 0, 9 * TILE, TILE];
        let parts = tiled([corner, at_the_edge, nothing, beyond], size);
        let expected = [[0, 0, 2 * TILE, TILE], [3 * TILE, TILE, size[0], size[1]]];
        assert_eq!(parts, expected);
    }
}
