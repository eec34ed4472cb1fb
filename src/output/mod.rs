//! Writers of results, one format a file.

mod aside;
mod rounded;
mod state;
mod summary;
mod trace;

pub use aside::write_aside;
pub use rounded::Rounded;
pub use state::write_state;
pub use summary::RunSummary;
pub use trace::TraceWriter;
