//! Writers of results, one format a file.

mod aside;
mod broken;
mod checkpoint;
mod folder;
mod gltf;
mod kept;
mod layout;
mod measures;
mod meshes;
mod npz;
mod record;
#[doc(hidden)]
pub mod series;
mod state;
mod statistics;
mod summary;
mod table;
mod together;
mod trace;
mod usd;
pub mod vtk;
mod vtkhdf;
mod walls;

#[doc(hidden)]
pub use crate::math::display::Rounded;
pub use checkpoint::write_checkpoint;
pub use folder::{Measures, Plan, RunFolder};
pub use gltf::write_gltf;
pub use kept::{KeptMoment, KeptRun};
pub use npz::write_npz;
pub use record::{Part, Record, RecordedOptions, Status};
pub use state::{write_state, write_state_of};
pub use statistics::Statistics;
pub use summary::RunSummary;
pub use table::{Column, Table, Values};
#[doc(hidden)]
pub use together::write_share;
pub use trace::TraceWriter;
pub use usd::write_usd;
pub use vtkhdf::write_vtkhdf;
pub use walls::{WallMesh, walls};
