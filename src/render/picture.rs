//! Pictures that are read back to the host.

use image::RgbaImage;
use wgpu::{TextureFormat, TextureUsages};

use super::{Camera, Line, Look, Renderer, texture};
use crate::model::error::{Error, Result};
use crate::step::Patience;
use crate::step::gpu::Context;

/// Target format of a renderer whose pictures are read back to the host.
pub const PICTURE: TextureFormat = TextureFormat::Rgba8Unorm;

impl Renderer {
    /// Draws a picture of `size` (width and height, pixels) and copies it to the host.
    ///
    /// The renderer must have been made for the format [`PICTURE`].
    ///
    /// # Errors
    /// If the picture is larger than the device allows, or the device is lost.
    #[doc(hidden)]
    pub fn picture(
        &mut self,
        size: [u32; 2],
        camera: &Camera,
        look: &Look,
        lines: &[Line],
    ) -> Result<RgbaImage> {
        pollster::block_on(self.picture_by(Patience::Block, size, camera, look, lines))
    }

    /// [`Renderer::picture`] for a caller that says how to wait. A caller that cannot block must have surveyed before.
    pub(crate) async fn picture_by(
        &mut self,
        patience: Patience,
        size: [u32; 2],
        camera: &Camera,
        look: &Look,
        lines: &[Line],
    ) -> Result<RgbaImage> {
        let context = self.context.clone();
        let most = context.device.limits().max_texture_dimension_2d;
        if size.iter().any(|&side| side == 0 || side > most) {
            return Err(Error::PictureSize {
                size,
                supersampling: look.supersampling,
                most,
                adapter: context.adapter,
            });
        }
        let target = target(&context, size, PICTURE);
        let view = target.create_view(&Default::default());
        self.draw(&view, size, camera, look, lines)?;
        let mut image = RgbaImage::new(size[0], size[1]);
        let origin = wgpu::Origin3d::ZERO;
        read_by(patience, &context, &target, origin, size, &mut image).await?;
        Ok(image)
    }
}

/// Makes a texture for a picture that is not shown by a window.
pub(crate) fn target(context: &Context, size: [u32; 2], format: TextureFormat) -> wgpu::Texture {
    let usage = TextureUsages::COPY_SRC;
    texture(&context.device, "picture", format, size, usage)
}

/// Copies a part of a texture to the host. Its texels must have 4 bytes each.
///
/// # Errors
/// If the device has no memory for the copy, or is lost.
pub(super) fn read(
    context: &Context,
    texture: &wgpu::Texture,
    origin: wgpu::Origin3d,
    size: [u32; 2],
    texels: &mut [u8],
) -> Result<()> {
    let read = read_by(Patience::Block, context, texture, origin, size, texels);
    pollster::block_on(read)
}

/// [`read`] for a caller that says how to wait.
pub(super) async fn read_by(
    patience: Patience,
    context: &Context,
    texture: &wgpu::Texture,
    origin: wgpu::Origin3d,
    [width, height]: [u32; 2],
    texels: &mut [u8],
) -> Result<()> {
    let row = 4 * width;
    let padded = row.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
    let size = u64::from(padded) * u64::from(height);
    let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
    let buffer = context.create_buffer("picture", size, usage)?;
    let mut encoder = context.device.create_command_encoder(&Default::default());
    encoder.copy_texture_to_buffer(
        wgpu::TexelCopyTextureInfo {
            origin,
            ..texture.as_image_copy()
        },
        wgpu::TexelCopyBufferInfo {
            buffer: &buffer,
            layout: wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(padded),
                rows_per_image: None,
            },
        },
        wgpu::Extent3d {
            width,
            height,
            depth_or_array_layers: 1,
        },
    );
    context.queue.submit([encoder.finish()]);
    let mut bytes = vec![0; size as usize];
    context.read_by(patience, &buffer, 0, &mut bytes).await?;
    let rows = bytes.chunks(padded as usize);
    for (to, from) in texels.chunks_mut(row as usize).zip(rows) {
        to.copy_from_slice(&from[..row as usize]);
    }
    Ok(())
}
