//! Rockfall simulates massive piles of rigid bodies on any GPU.
//!
//! A rigid body is a *clump*: a rigid composite of spheres. Spheres touch by the discrete element
//! method (DEM): a normal spring and dashpot, and a tangential force capped by Coulomb friction.
//! A step is a handful of passes, each of them a WGSL compute shader and, with the same name, a
//! Rust function: the CPU engine is the reference that the GPU is tested against, and the engine
//! of a machine without a GPU.
//!
//! # Example
//!
//! ```
//! use rockfall::{Backend, Options, Simulation, scene};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let scene = scene::load("scenes/bounce.json".as_ref())?;
//! let options = Options { backend: Backend::Cpu, ..Options::default() };
//! let mut simulation = Simulation::new(scene.model, &options)?;
//! simulation.step(1000)?;
//! for body in simulation.bodies()? {
//!     println!("body {} is at {}", body.index, body.position);
//! }
//! println!("{:?}", simulation.summary()?);
//! # Ok(())
//! # }
//! ```
//!
//! # Layers
//!
//! Each module imports only from those above it in this list.
//!
//! | module | what is in it |
//! |---|---|
//! | [`error`](mod@error) | what can go wrong |
//! | `math` | grids, rotations, rounding |
//! | [`model`] | a scene made ready, in `f64`: [clumps](model::clump), [walls](model::wall), [forces](model::forces), [inlets and outlets](model::flow) |
//! | [`state`] | flat arrays in the [layout](state::layout) that the shaders share |
//! | [`step`] | the passes of a step, the contact law, and the engines: the CPU and the [GPU](step::gpu) |
//! | [`simulation`] | a model on an engine: [`Simulation`], [`Snapshot`], [`Observer`], [checkpoints](simulation::checkpoint) |
//! | [`scene`] | scene files, checked and made ready |
//! | [`output`] | files of results |
//! | `render`, `viewer` | pictures and the window |
//!
//! # Features
//!
//! A package that depends on this one takes `default-features = false` and the parts that it uses.
//!
//! | feature | what comes with it | what it needs besides |
//! |---|---|---|
//! | `cpu` | the CPU engine | |
//! | `gpu` | the GPU engine, and contact laws in WGSL | wgpu, naga |
//! | `parallel` | work on several threads; without it, all is done by the thread that calls, with the same result | rayon |
//! | `scene` | scene files | schemars |
//! | `output` | files of results; with it `scene` | csv, zip |
//! | `render` | pictures and films; with it `gpu` | image |
//! | `view` | the window; with it `cpu`, `output` and `render` | winit, egui |
//! | `cli` | the program; with it `cpu`, `gpu`, `output` and `parallel` | clap |
//!
//! By default there are `cli` and `view`. Without any there are models, states and their layout, and no engine.
//!
//! # Interface
//!
//! [`wgpu`] and [`glam`] are those whose types stand in this interface. What is not in this documentation
//! is no part of it, public or not: passes, grids, comparisons and the like are there for tests and for
//! the program, and may change in any version.
//!
//! # A step
//!
//! [`step::Pass::ALL`] lists the passes in their order:
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
//! 7. **walls**: a thread for each sphere. The same for the [walls](model::wall) in its list, and the loads on
//!    these.
//! 8. **forces**: a thread for each body, if anything besides contacts and gravity acts: drag, water, springs
//!    and applied forces.
//! 9. **heat**: a thread for each body, if any material conducts heat: what flows into the body through its contacts,
//!    and its temperature.
//! 10. **integrate**: a thread for each body. It sums the spheres of the body and advances velocity
//!     and angular momentum, then position and orientation; and it adds up how far the body may have
//!     moved since the lists were built.
//!
//! Passes 2 to 5 build the neighbour lists. They run only in steps before which some body has moved
//! by half its skin: on the GPU, the device itself gives them no threads otherwise.
//!
//! The next step's `pose` takes it from there. On the GPU, many steps go into one submission and
//! nothing is read back in between.

#![deny(missing_docs)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
// The lower layers have what the upper ones use. The program uses all of them: with it, the lints are on.
#![cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]

pub mod error;
#[doc(hidden)]
pub mod math;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod measure;
pub mod model;
#[cfg(feature = "output")]
pub mod output;
#[cfg(feature = "render")]
pub mod render;
#[cfg(feature = "scene")]
pub mod scene;
pub mod simulation;
pub mod state;
pub mod step;
#[cfg(feature = "view")]
pub mod viewer;

pub use error::Error;
pub use glam;
pub use model::handle::{BodyHandle, GroupHandle, MaterialHandle, ShapeHandle, WallHandle};
pub use simulation::bodies::NewBody;
pub use simulation::events::Event;
pub use simulation::network::{Network, NetworkContact, Partner};
pub use simulation::observe::Observer;
pub use simulation::snapshot::{BodyState, Snapshot, SphereState, WallLoad, WallState};
pub use simulation::summary::{Energy, Summary};
pub use simulation::watch::Watch;
pub use simulation::{Backend, Options, Simulation};
#[cfg(feature = "gpu")]
pub use wgpu;
