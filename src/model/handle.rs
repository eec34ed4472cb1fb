//! Handles, by which a caller names the parts of a simulation.

/// Handle of a body, which may have left the simulation.
///
/// No two bodies of a simulation ever have the same number. So the handle of a body that has left finds no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BodyHandle(u64);

impl BodyHandle {
    /// The handle of the body with the number `id`, as in files of results and checkpoints.
    pub fn from_id(id: u64) -> BodyHandle {
        BodyHandle(id)
    }

    /// Number of the body.
    pub fn id(self) -> u64 {
        self.0
    }
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(usize);

        impl $name {
            /// The handle for this index.
            pub fn from_index(index: usize) -> $name {
                $name(index)
            }

            /// The index that the handle stands for.
            pub fn index(self) -> usize {
                self.0
            }
        }
    )*};
}

handles! {
    /// Handle of a shape: its index in [`Model::shapes`](super::Model::shapes).
    ShapeHandle,
    /// Handle of a material: its index in [`Model::materials`](super::Model::materials).
    MaterialHandle,
    /// Handle of a wall: its index in [`Model::walls`](super::Model::walls).
    WallHandle,
    /// Handle of a group of bodies: its index in [`Forces::groups`](super::forces::Forces::groups).
    GroupHandle,
    /// Handle of an applied force: its index in [`Forces::applied`](super::forces::Forces::applied).
    ForceHandle,
}

impl Default for GroupHandle {
    /// The group of all bodies that are in no other group.
    fn default() -> GroupHandle {
        GroupHandle(0)
    }
}
