//! A step: its passes, the contact law, and the engines that run them.
//!
//! [`Pass::ALL`] lists the passes in their order:
//!
//! 1. **pose**: a thread for each sphere. The position and velocity of the sphere follow from its
//!    body: x = X + R r and v = V + ω × R r, where ω = R I⁻¹ Rᵀ L (`rotation.rs`). A position is a
//!    cell of the grid and an offset in it, so that it is as fine far from the origin as near it.
//! 2. **bin**: a thread for each sphere. The cell is hashed to a bucket (`grid.rs`), and the spheres
//!    of each bucket are counted.
//! 3. **scan**: the exclusive prefix sum of the counts says where each bucket starts.
//! 4. **scatter**: a counting sort of the spheres by bucket and, inside a bucket, by index: so that
//!    the order never depends on timing.
//! 5. **neighbours**: a thread for each sphere. It walks the cells around its own and lists, by
//!    index, all spheres that are closer than a skin: a thick one for bodies that are fast, a thin one for others.
//! 6. **contacts**: a thread for each sphere. It walks its list, finds what it overlaps, and sums
//!    force and torque (`contact.rs`). On the GPU each pair is evaluated from both sides, so no
//!    thread writes where another does. The sum has a fixed order: the same scene gives the
//!    same bits, run after run, on one device.
//! 7. **walls**: a thread for each sphere. The same for the [walls](crate::model::wall) in its list, and the loads on
//!    these.
//! 8. **forces**: a thread for each body, if anything besides contacts and gravity acts: drag, water, springs
//!    and applied forces.
//! 9. **bonds**: a thread for each body, if bodies are bonded: what its bonds do to it, until they break.
//! 10. **heat**: a thread for each body, if any material conducts heat: what flows into the body through its contacts,
//!     and its temperature.
//! 11. **integrate**: a thread for each body. It sums the spheres of the body and advances velocity
//!     and angular momentum, then position and orientation; and it adds up how far the body may have
//!     moved since the lists were built.
//!
//! Passes 2 to 5 build the neighbour lists. They run only in steps before which some body has moved
//! by half its skin: on the GPU, the device itself gives them no threads otherwise.
//!
//! The next step's `pose` takes it from there. On the GPU, many steps go into one submission and
//! nothing is read back in between.

mod canceller;
pub(crate) mod clock;
#[cfg(all(feature = "cpu", feature = "gpu"))]
#[forbid(unsafe_code)]
pub(crate) mod cluster;
pub(crate) mod contact;
#[cfg(feature = "cpu")]
pub(crate) mod cpu;
mod engine;
pub(crate) mod geometry;
#[cfg(feature = "gpu")]
pub mod gpu;
mod pass;
pub(crate) mod pull;
#[forbid(unsafe_code)]
pub(crate) mod reference;
pub(crate) mod wall_load;
pub(crate) mod wall_motion;
pub(crate) mod wall_run;

pub use canceller::Canceller;
pub(crate) use engine::Patience;
pub use engine::{
    Before, ClusterCost, Engine, Later, MaybeSend, PassTimes, Share, SharedFile, Source, Work,
    WriteSeek,
};
pub use pass::Pass;
