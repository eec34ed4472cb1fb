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
    /// `Listing` in the shader: the arguments of two indirect draws, then the first and the number of the bodies that are held
    /// against depths.
    pub listing: wgpu::Buffer,
    /// Whether the present picture lists the bodies in sight anew.
    pub lists_anew: bool,
    /// Number of bodies that the present picture holds against its depths.
    pub chosen: u32,
    /// The part of the bodies whose turn is next.
    turn: u32,
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
            listing: buffer("listing", 10, usage | BufferUsages::INDIRECT)?,
            lists_anew: true,
            chosen: 0,
            turn: 0,
            kinds: kinds(state),
        };
        let queue = &context.queue;
        queue.write_buffer(&hidden.extents, 0, cast_slice(&extents));
        // Number of vertices and of instances, and the first of each.
        queue.write_buffer(&hidden.listing, 0, bytes_of(&[0_u32, 1, 0, 0, 0, 1, 0, 0]));
        Ok(hidden)
    }

    /// Chooses the bodies that the next picture holds against its depths: all of them, or the next quarter.
    ///
    /// Those in sight are listed anew once in four quarters.
    pub fn choose(&mut self, context: &Context, bodies: u32, all: bool) {
        /// Number of pictures in which each body gets its turn.
        const TURNS: u32 = 4;
        self.lists_anew = all || self.turn == 0;
        let [first, count] = match all {
            true => {
                self.turn = 0;
                [0, bodies]
            }
            false => {
                let part = bodies.div_ceil(TURNS);
                let first = (self.turn * part).min(bodies);
                self.turn = (self.turn + 1) % TURNS;
                [first, part.min(bodies - first)]
            }
        };
        self.chosen = count;
        context
            .queue
            .write_buffer(&self.listing, 32, bytes_of(&[first, count]));
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
