//! The table of buffers: `buffers!` makes [`State`](super::State) and [`Field`](super::Field) of it.
//!
//! A line of the table declares a buffer once:
//!
//! ```text
//! /// What is in it: the documentation of the field.
//! Bodies = bodies: Body, per Body, carried;
//! ```
//!
//! - `Bodies` is its name in [`Field`](super::Field), where its documentation is shown. `bodies` is the name of the field
//!   of [`State`](super::State) and of the variable in the shaders.
//! - `Body` is the type of its elements, one of [`layout`](super::layout) or of a single number.
//! - `per Body` says how many of them there are, see [`Per`]. Bodies that come and go take their elements along.
//! - `carried` buffers go into checkpoints; `derived` ones follow from the model, or each step that needs them
//!   computes them anew.
//!
//! What is new in a buffer is zero. Whoever wants something else for a body that comes in says so in
//! [`State::extend`](super::State::extend).

use super::layout::{Params, WALL_DIGITS};

/// Number of elements of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Per {
    /// Number that the model asks for; whoever sets the buffer sees to that.
    Model,
    /// One for each end of a bond.
    End,
    /// One for each body.
    Body,
    /// One for each body if the pass `forces` runs, else none.
    BodyUnderForces,
    /// One for each body if the pass `heat` runs, else none.
    BodyWithHeat,
    /// One for each body if the pass `bonds` runs, else none.
    BodyWithBonds,
    /// One for each sphere.
    Sphere,
    /// One for each hash bucket, and one for the end of the last.
    Bucket,
    /// One for the neighbour list of each sphere, and one for the end of the last.
    List,
    /// One for each entry of the neighbour lists that there is room for.
    Entry,
    /// `history_size` for each of these; at least one.
    History,
    /// [`WALL_DIGITS`] for each wall and stripe; at least one.
    WallDigit,
}

impl Per {
    /// The number of elements; `None` if it does not follow from `params`.
    pub(super) fn count(self, params: &Params) -> Option<usize> {
        let bodies = params.body_count as usize;
        let entries = params.neighbour_capacity as usize;
        match self {
            Per::Model => None,
            Per::End => Some(params.bond_count as usize),
            Per::Body => Some(bodies),
            Per::BodyUnderForces => Some(bodies * params.forces as usize),
            Per::BodyWithHeat => Some(bodies * params.heat as usize),
            Per::BodyWithBonds => Some(bodies * params.bonds as usize),
            Per::Sphere => Some(params.sphere_count as usize),
            Per::Bucket => Some(params.bucket_count as usize + 1),
            Per::List => Some(params.sphere_count as usize + 1),
            Per::Entry => Some(entries),
            Per::History => Some((entries * params.history_size as usize).max(1)),
            Per::WallDigit => {
                let walls = params.wall_count as usize;
                Some((params.stripes as usize * walls * WALL_DIGITS).max(1))
            }
        }
    }
}

/// A struct with the buffers of a table behind its other fields, and an enum of their names.
macro_rules! buffers {
    (
        $(#[$of_struct:meta])*
        pub struct $State:ident {
            $($(#[$of_other:meta])* pub $other:ident: $Other:ty,)*
        }

        $(#[$of_enum:meta])*
        pub enum $Field:ident {
            $(
                $(#[$doc:meta])*
                $Variant:ident = $buffer:ident: $Element:ty, per $Per:ident, $kept:ident;
            )*
        }
    ) => {
        $(#[$of_struct])*
        pub struct $State {
            $($(#[$of_other])* pub $other: $Other,)*
            $($(#[$doc])* #[doc(hidden)] pub $buffer: Vec<$Element>,)*
        }

        $(#[$of_enum])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $Field {
            $(
                $(#[$doc])*
                $Variant,
            )*
        }

        impl $Field {
            /// All buffers.
            pub const ALL: [$Field; [$($Field::$Variant),*].len()] = [$($Field::$Variant),*];

            /// Name of the field of [`State`], and of the variable in the shaders.
            pub fn name(self) -> &'static str {
                match self {
                    $($Field::$Variant => stringify!($buffer),)*
                }
            }

            /// Whether a simulation that goes on from here needs the buffer: not if it follows from the model, or
            /// is computed anew whenever the neighbour lists are built.
            pub fn is_carried(self) -> bool {
                match self {
                    $($Field::$Variant => $crate::state::buffers::kept!($kept),)*
                }
            }

            /// Whether the buffer has elements for bodies, spheres or their lists, so that a [free](State::free) state does not have
            /// it.
            pub(crate) fn is_of_bodies(self) -> bool {
                match self {
                    $($Field::$Variant => Per::$Per != Per::Model,)*
                }
            }
        }

        impl $State {
            /// The bytes of a buffer.
            pub fn bytes(&self, field: $Field) -> &[u8] {
                match field {
                    $($Field::$Variant => bytemuck::cast_slice(&self.$buffer),)*
                }
            }

            /// The bytes of a buffer, to be overwritten.
            pub fn bytes_mut(&mut self, field: $Field) -> &mut [u8] {
                match field {
                    $($Field::$Variant => bytemuck::cast_slice_mut(&mut self.$buffer),)*
                }
            }

            /// Makes a buffer of bytes.
            pub(crate) fn set_bytes(&mut self, field: $Field, bytes: &[u8]) {
                match field {
                    $($Field::$Variant => {
                        let elements = bytes.chunks_exact(size_of::<$Element>());
                        self.$buffer = elements.map(bytemuck::pod_read_unaligned).collect();
                    })*
                }
            }

            /// Gives the buffers of the sorts that are `chosen` the lengths that [`Self::params`] asks for.
            fn resize_buffers(&mut self, chosen: impl Fn(Per) -> bool) {
                $(
                    let per = Per::$Per;
                    if let Some(count) = per.count(&self.params).filter(|_| chosen(per)) {
                        match self.$buffer.is_empty() {
                            // The system has no memory for it before something is written there.
                            true => self.$buffer = bytemuck::zeroed_vec(count),
                            false => self.$buffer.resize(count, Default::default()),
                        }
                    }
                )*
            }

            /// Length of a buffer, bytes, wherever its elements are.
            pub(crate) fn size_of(&self, field: $Field) -> usize {
                match field {
                    $($Field::$Variant => {
                        let count = Per::$Per.count(&self.params).unwrap_or(self.$buffer.len());
                        count * size_of::<$Element>()
                    })*
                }
            }

            /// Frees all buffers whose lengths follow from [`Self::params`], which stay as they are.
            #[cfg(all(feature = "cpu", feature = "gpu"))]
            fn free_buffers(&mut self) {
                $(
                    if $Field::$Variant.is_of_bodies() {
                        self.$buffer = Vec::new();
                    }
                )*
            }

            /// A copy of the buffers that the model alone gives their lengths, without anything else.
            fn buffers_of_model(&self) -> $State {
                $State {
                    $($buffer: match Per::$Per {
                        Per::Model => self.$buffer.clone(),
                        _ => Vec::new(),
                    },)*
                    ..$State::default()
                }
            }

            /// Takes the elements of bodies and spheres that leave out of the buffers that are carried.
            fn take_out_of_buffers(&mut self, bodies: &[Range<usize>], spheres: &[Range<usize>]) {
                $(
                    match Per::$Per {
                        Per::Body => take_out(&mut self.$buffer, bodies),
                        Per::BodyUnderForces if self.params.forces == 1 => take_out(&mut self.$buffer, bodies),
                        Per::BodyWithHeat if self.params.heat == 1 => take_out(&mut self.$buffer, bodies),
                        Per::BodyWithBonds if self.params.bonds == 1 => take_out(&mut self.$buffer, bodies),
                        Per::Sphere if $crate::state::buffers::kept!($kept) => take_out(&mut self.$buffer, spheres),
                        _ => (),
                    }
                )*
            }
        }
    };
}

/// Whether a checkpoint has a buffer, by the word that its line has for that.
macro_rules! kept {
    (carried) => {
        true
    };
    (derived) => {
        false
    };
}

pub(super) use {buffers, kept};
