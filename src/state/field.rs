//! The buffers of a [`State`] by name.

use bytemuck::{cast_slice, cast_slice_mut};

use super::State;

/// A buffer of [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the field of State of the same name")]
pub enum Field {
    Properties,
    Members,
    Pairs,
    Groups,
    Actions,
    Geometry,
    Bodies,
    Walls,
    LoadedWalls,
    Spheres,
    Buckets,
    Slots,
    BucketStarts,
    Unsorted,
    Sorted,
    NeighbourStarts,
    Neighbours,
    Memory,
    SphereLoads,
    WallSums,
    WallLoads,
    BodyForces,
    Stats,
}

impl Field {
    /// All buffers.
    pub const ALL: [Field; 23] = [
        Field::Properties,
        Field::Members,
        Field::Pairs,
        Field::Groups,
        Field::Actions,
        Field::Geometry,
        Field::Bodies,
        Field::Walls,
        Field::LoadedWalls,
        Field::Spheres,
        Field::Buckets,
        Field::Slots,
        Field::BucketStarts,
        Field::Unsorted,
        Field::Sorted,
        Field::NeighbourStarts,
        Field::Neighbours,
        Field::Memory,
        Field::SphereLoads,
        Field::WallSums,
        Field::WallLoads,
        Field::BodyForces,
        Field::Stats,
    ];

    /// Name of the field of [`State`], and of the variable in the shaders.
    pub fn name(self) -> &'static str {
        match self {
            Field::Properties => "properties",
            Field::Members => "members",
            Field::Pairs => "pairs",
            Field::Groups => "groups",
            Field::Actions => "actions",
            Field::Geometry => "geometry",
            Field::Bodies => "bodies",
            Field::Walls => "walls",
            Field::LoadedWalls => "loaded_walls",
            Field::Spheres => "spheres",
            Field::Buckets => "buckets",
            Field::Slots => "slots",
            Field::BucketStarts => "bucket_starts",
            Field::Unsorted => "unsorted",
            Field::Sorted => "sorted",
            Field::NeighbourStarts => "neighbour_starts",
            Field::Neighbours => "neighbours",
            Field::Memory => "memory",
            Field::SphereLoads => "sphere_loads",
            Field::WallSums => "wall_sums",
            Field::WallLoads => "wall_loads",
            Field::BodyForces => "body_forces",
            Field::Stats => "stats",
        }
    }

    /// Whether a simulation that goes on from here needs the buffer: not if it follows from the model, or
    /// is computed anew whenever the neighbour lists are built.
    pub fn is_carried(self) -> bool {
        !matches!(
            self,
            Field::Properties
                | Field::Members
                | Field::Pairs
                | Field::Groups
                | Field::Geometry
                | Field::WallSums
                | Field::Buckets
                | Field::Slots
                | Field::BucketStarts
                | Field::Unsorted
                | Field::Sorted
        )
    }
}

impl State {
    /// The bytes of a buffer.
    pub fn bytes(&self, field: Field) -> &[u8] {
        match field {
            Field::Properties => cast_slice(&self.properties),
            Field::Members => cast_slice(&self.members),
            Field::Pairs => cast_slice(&self.pairs),
            Field::Groups => cast_slice(&self.groups),
            Field::Actions => cast_slice(&self.actions),
            Field::Geometry => cast_slice(&self.geometry),
            Field::Bodies => cast_slice(&self.bodies),
            Field::Walls => cast_slice(&self.walls),
            Field::LoadedWalls => cast_slice(&self.loaded_walls),
            Field::Spheres => cast_slice(&self.spheres),
            Field::Buckets => cast_slice(&self.buckets),
            Field::Slots => cast_slice(&self.slots),
            Field::BucketStarts => cast_slice(&self.bucket_starts),
            Field::Unsorted => cast_slice(&self.unsorted),
            Field::Sorted => cast_slice(&self.sorted),
            Field::NeighbourStarts => cast_slice(&self.neighbour_starts),
            Field::Neighbours => cast_slice(&self.neighbours),
            Field::Memory => cast_slice(&self.memory),
            Field::SphereLoads => cast_slice(&self.sphere_loads),
            Field::WallSums => cast_slice(&self.wall_sums),
            Field::WallLoads => cast_slice(&self.wall_loads),
            Field::BodyForces => cast_slice(&self.body_forces),
            Field::Stats => cast_slice(&self.stats),
        }
    }

    /// The bytes of a buffer, to be overwritten.
    pub fn bytes_mut(&mut self, field: Field) -> &mut [u8] {
        match field {
            Field::Properties => cast_slice_mut(&mut self.properties),
            Field::Members => cast_slice_mut(&mut self.members),
            Field::Pairs => cast_slice_mut(&mut self.pairs),
            Field::Groups => cast_slice_mut(&mut self.groups),
            Field::Actions => cast_slice_mut(&mut self.actions),
            Field::Geometry => cast_slice_mut(&mut self.geometry),
            Field::Bodies => cast_slice_mut(&mut self.bodies),
            Field::Walls => cast_slice_mut(&mut self.walls),
            Field::LoadedWalls => cast_slice_mut(&mut self.loaded_walls),
            Field::Spheres => cast_slice_mut(&mut self.spheres),
            Field::Buckets => cast_slice_mut(&mut self.buckets),
            Field::Slots => cast_slice_mut(&mut self.slots),
            Field::BucketStarts => cast_slice_mut(&mut self.bucket_starts),
            Field::Unsorted => cast_slice_mut(&mut self.unsorted),
            Field::Sorted => cast_slice_mut(&mut self.sorted),
            Field::NeighbourStarts => cast_slice_mut(&mut self.neighbour_starts),
            Field::Neighbours => cast_slice_mut(&mut self.neighbours),
            Field::Memory => cast_slice_mut(&mut self.memory),
            Field::SphereLoads => cast_slice_mut(&mut self.sphere_loads),
            Field::WallSums => cast_slice_mut(&mut self.wall_sums),
            Field::WallLoads => cast_slice_mut(&mut self.wall_loads),
            Field::BodyForces => cast_slice_mut(&mut self.body_forces),
            Field::Stats => cast_slice_mut(&mut self.stats),
        }
    }

    /// Size of all buffers, bytes.
    pub fn size(&self) -> u64 {
        Field::ALL
            .iter()
            .map(|&field| self.bytes(field).len() as u64)
            .sum()
    }
}
