//! What a caller names the parts of a simulation by.

/// A body, whether it is still there or not.
///
/// No number is ever given to a second body, so a handle of a body that has left finds nothing, and never another body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BodyHandle(u64);

impl BodyHandle {
    /// The body with the number `id`, as files of results and checkpoints have it.
    pub fn from_id(id: u64) -> BodyHandle {
        BodyHandle(id)
    }

    /// Its number.
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
            /// The handle of the one with this index.
            pub fn from_index(index: usize) -> $name {
                $name(index)
            }

            /// Its index.
            pub fn index(self) -> usize {
                self.0
            }
        }
    )*};
}

handles! {
    /// A shape, by its index in [`Model::shapes`](super::Model::shapes).
    ShapeHandle,
    /// A material, by its index in [`Model::materials`](super::Model::materials).
    MaterialHandle,
    /// A wall, by its index in [`Model::walls`](super::Model::walls).
    WallHandle,
    /// A group of bodies, by its index in [`Forces::groups`](super::forces::Forces::groups).
    GroupHandle,
    /// An applied force, by its index in [`Forces::applied`](super::forces::Forces::applied).
    ForceHandle,
}

impl Default for GroupHandle {
    /// The group of all bodies that are in no other.
    fn default() -> GroupHandle {
        GroupHandle(0)
    }
}
