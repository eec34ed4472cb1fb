//! The CPU engine: the passes of a step on a [`State`], the reference that the GPU is tested
//! against.
//!
//! Each pass computes each of its elements from its inputs alone and in a fixed order, so the
//! result does not depend on the number of threads.

mod act;
mod batch;
mod bin;
mod contacts;
mod forces;
mod integrate;
mod lanes;
mod near;
mod neighbours;
mod pose;
mod scan;
mod scatter;
mod wall_run;
mod walls;

use act::act;
pub use bin::bin;
pub use contacts::contacts;
pub use forces::forces;
pub use integrate::integrate;
pub(crate) use near::Near;
pub(crate) use neighbours::Spare;
pub use neighbours::neighbours;
pub use pose::pose;
pub use scan::scan;
pub use scatter::scatter;
pub(crate) use wall_run::orientation_of;
pub use walls::walls;

use crate::pass::Pass;
use crate::state::State;

/// Least number of elements that a thread takes at a time; less costs more than it gains.
const GRAIN: usize = 256;

/// Runs one pass.
pub fn run(pass: Pass, state: &mut State) {
    match pass {
        Pass::Pose => pose(state),
        Pass::Bin => bin(state),
        Pass::Scan => scan(state),
        Pass::Scatter => scatter(state),
        Pass::Neighbours => neighbours(state),
        Pass::Contacts => contacts(state),
        Pass::Walls => walls(state),
        Pass::Forces => forces(state),
        Pass::Integrate => integrate(state),
    }
}

/// Whether a step that has come to `pass` runs it: those that build the neighbour lists only when a
/// sphere may have moved out of its skin.
pub fn is_due(pass: Pass, state: &State) -> bool {
    !pass.builds_lists() || state.stats[0].rebuilding == 1
}

/// Runs one step, unless a body is lost.
pub fn step(state: &mut State) {
    if state.stats[0].runaway != 0 {
        return;
    }
    pose(state);
    for pass in Pass::ALL.into_iter().filter(|pass| pass.builds_lists()) {
        if is_due(pass, state) {
            run(pass, state);
        }
    }
    forces(state);
    act(state);
}
