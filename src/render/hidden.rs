//! Buffers that leave out hidden bodies: see `shaders/render/hidden.wgsl`.

use bytemuck::{bytes_of, cast_slice, cast_slice_mut};
use wgpu::BufferUsages;
use xxhash_rust::xxh3::xxh3_64;

use crate::model::error::Result;
use crate::state::{Field, State};
use crate::step::Patience;
use crate::step::gpu::Context;

/// The bodies in sight, and the spheres to draw.
pub(super) struct Hidden {
    extents: wgpu::Buffer,
    in_sight: wgpu::Buffer,
    listed: wgpu::Buffer,
    /// Arguments of the indirect draw.
    pub listing: wgpu::Buffer,
    /// Hash of the kinds of bodies that `extents` was made for.
    kinds: u64,
}

impl Hidden {
    /// Makes buffers for the bodies of a state, with no body in sight.
    ///
    /// # Errors
    /// If the device has no memory for them.
    pub fn new(context: &Context, state: &State) -> Result<Hidden> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let extents = extents(state);
        let buffer = |name, count: usize, usage| {
            // A storage buffer cannot be empty.
            context.create_buffer(name, 4 * count.max(1) as u64, usage)
        };
        let hidden = Hidden {
            extents: buffer("extents", extents.len(), usage)?,
            in_sight: buffer(
                "in_sight",
                state.bodies.len(),
                usage | BufferUsages::COPY_SRC,
            )?,
            listed: buffer("listed", state.spheres.len(), usage)?,
            listing: buffer("listing", 4, usage | BufferUsages::INDIRECT)?,
            kinds: kinds(state),
        };
        let queue = &context.queue;
        queue.write_buffer(&hidden.extents, 0, cast_slice(&extents));
        // Number of vertices and of instances, and the first of each.
        queue.write_buffer(&hidden.listing, 0, bytes_of(&[0_u32, 1, 0, 0]));
        Ok(hidden)
    }

    /// Whether the buffers have room for the bodies of a state, and the extents of their kinds.
    pub fn suits(&self, state: &State) -> bool {
        let has_room = |buffer: &wgpu::Buffer, count: usize| buffer.size() >= 4 * count as u64;
        has_room(&self.in_sight, state.bodies.len())
            && has_room(&self.listed, state.spheres.len())
            && self.kinds == kinds(state)
    }

    /// Number of bodies that were in sight in the last picture. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn in_sight(&self, context: &Context, bodies: usize) -> Result<usize> {
        let mut seen = vec![0_u32; bodies];
        let bytes = cast_slice_mut(&mut seen);
        pollster::block_on(context.read_by(Patience::Block, &self.in_sight, 0, bytes))?;
        Ok(seen.into_iter().filter(|&is_seen| is_seen == 1).count())
    }

    /// The buffer that shaders call `name`.
    pub fn by_name(&self, name: &str) -> Option<&wgpu::Buffer> {
        match name {
            "extents" => Some(&self.extents),
            "in_sight" => Some(&self.in_sight),
            "listed" => Some(&self.listed),
            "listing" => Some(&self.listing),
            _ => None,
        }
    }
}

fn kinds(state: &State) -> u64 {
    xxh3_64(state.bytes(Field::Properties))
}

/// Radius of the bounding sphere about the centre of mass of each kind of bodies, m, rounded up.
fn extents(state: &State) -> Vec<f32> {
    let of = |kind: &crate::state::layout::BodyProperties| {
        let first = kind.first_member as usize;
        let members = &state.members[first..first + kind.sphere_count as usize];
        let reach = members.iter().map(|own| own.center.length() + own.radius);
        // A margin, so that rounding never hides a body in sight.
        1.0001 * reach.fold(0.0, f32::max)
    };
    state.properties.iter().map(of).collect()
}
