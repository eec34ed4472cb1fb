//! Rockfall simulates massive piles of rigid bodies on any GPU, and on CPUs.
//!
//! A rigid body is a *clump*: a rigid composite of spheres. Spheres touch by the discrete element method (DEM): springs
//! and dashpots along the normal and across it, and friction. Each engine gives the same bits run after run, on any
//! number of threads.
//!
//! # First steps
//!
//! ```
//! use rockfall::glam::DVec3;
//! use rockfall::scene::SceneBuilder;
//! use rockfall::scene::format::{Contact, Material, Shape, Wall};
//! use rockfall::{NewBody, Options, Simulation};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut scene = SceneBuilder::new("first");
//! let stone = scene.material("stone", Material::new(2500.0).friction(0.5).restitution(0.5));
//! let ball = scene.shape("ball", Shape::sphere(0.05), stone);
//! let floor = scene.wall("floor", Wall::plane(DVec3::Y), stone);
//! scene.contact(Contact::hooke(1e5));
//!
//! // On the GPU if there is one, else on all cores.
//! let mut simulation = Simulation::new(scene.build()?.model, &Options::default())?;
//! let first = simulation.spawn(NewBody::new(ball, DVec3::new(0.0, 0.3, 0.0)))?;
//! simulation.run_until(1.0)?;
//! println!("it lies at {}", simulation.body(first)?.position);
//! println!("the floor bears {}", simulation.wall_load(floor)?.force);
//! simulation.despawn(first)?;
//! assert!(simulation.body(first).is_err());
//! # Ok(())
//! # }
//! ```
//!
//! # Where to look next
//!
//! | to | see |
//! |---|---|
//! | build a scene | [`scene::SceneBuilder`], or [`scene::load`] for a file |
//! | step, and stop | [`Simulation::step`], [`Simulation::run_until`], [`Simulation::step_async`], [`Simulation::canceller`] |
//! | add, remove, push and read bodies | [`Simulation::spawn`], [`Simulation::despawn`], [`Simulation::apply_impulse`], [`Simulation::body`] |
//! | read all bodies at once | [`Simulation::positions`] and its like, [`Simulation::snapshot`] |
//! | be told of contacts | [`Simulation::watch_contacts`], [`Simulation::contacts`] |
//! | be told of bonds that break and heal | [`Simulation::watch_bonds`], [`Simulation::bonds`] |
//! | ask where bodies are | [`Simulation::cast_ray`], [`Simulation::bodies_in_box`], [`Simulation::nearest_body`] |
//! | drive walls, change materials | [`Simulation::set_wall_velocity`], [`Simulation::set_pair`], [`Simulation::set_gravity`] |
//! | observe a run from step to step | [`Observer`] |
//! | stop and resume later | [`simulation::checkpoint`] |
//! | use the buffers on the GPU | [`step::gpu::GpuEngine::buffer`] |
//!
//! The folder `examples` has programs that do each of these.
//!
//! Units are SI. The interface takes and returns `f64`; the engines compute in `f32`, with positions that are as precise
//! far from the origin as near it.
//!
//! # Layers
//!
//! Each module imports only from those above it in this list.
//!
//! | module | what is in it |
//! |---|---|
//! | `math` | grids, rotations, rounding |
//! | [`model`] | a scene made ready, in `f64`: clumps, [walls](model::wall), [forces](model::forces), [inlets and outlets](model::flow), [errors](mod@error) |
//! | [`state`] | flat arrays in the [layout](state::layout) that the shaders share |
//! | [`step`] | the passes of a step, the contact law, and the engines: the CPU and the [GPU](step::gpu) |
//! | [`simulation`] | a model on an engine: [`Simulation`], [`Snapshot`], [`Observer`], [checkpoints](simulation::checkpoint), and [measures](simulation::analysis) of granular media |
//! | [`scene`] | scene files, checked and made ready |
//! | [`output`] | files of results |
//! | `render`, `viewer` | pictures and the window |
//!
//! # Features
//!
//! By default there are `cpu`, `gpu`, `parallel` and `scene`. A package that uses less of it takes
//! `default-features = false` and its parts; without any there are models, states and their layout, and no engine.
//!
//! | feature | what it adds | further dependencies |
//! |---|---|---|
//! | `cpu` | the CPU engine | |
//! | `gpu` | the GPU engine, and contact laws in WGSL | wgpu, naga |
//! | `parallel` | work on several threads; without it, the calling thread does all work, with the same result | rayon |
//! | `scene` | scene files | schemars, zip |
//! | `output` | files of results; with it `scene` | csv |
//! | `render` | pictures and films; with it `gpu` | image |
//! | `view` | the window; with it `cpu`, `output` and `render` | winit, egui |
//!
//! The program is a package of its own, `rockfall-cli`.
//!
//! # Interface
//!
//! [`wgpu`] and [`glam`] are re-exported, because their types appear in this interface. Only what this documentation
//! shows is part of the interface. What else the program and the tests use is public with the feature `internals`, or
//! hidden here, and may change in any version.
//!

#![deny(missing_docs)]
// Allowed where docs/book/src/reliability.md says why.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
// The lower layers have what the upper ones use. The program uses all of them: with it, the lints are on.
#![cfg_attr(not(feature = "internals"), allow(dead_code, unused_imports))]

#[cfg(feature = "internals")]
#[doc(hidden)]
#[forbid(unsafe_code)]
pub mod internals;
mod math;
pub mod model;
#[cfg(feature = "output")]
#[forbid(unsafe_code)]
pub mod output;
#[cfg(feature = "render")]
pub mod render;
#[cfg(feature = "scene")]
#[forbid(unsafe_code)]
pub mod scene;
#[forbid(unsafe_code)]
pub mod simulation;
pub mod state;
pub mod step;
#[cfg(feature = "view")]
#[doc(hidden)]
#[forbid(unsafe_code)]
pub mod viewer;

pub use glam;
pub use model::error::{self, Error};
pub use model::handle::{
    BodyHandle, ForceHandle, GroupHandle, MaterialHandle, ShapeHandle, WallHandle,
};
pub use simulation::bodies::NewBody;
pub use simulation::events::Event;
pub use simulation::network::{Network, NetworkContact, Partner};
pub use simulation::observe::Observer;
pub use simulation::snapshot::{BodyState, Snapshot, SphereState, WallLoad, WallState, WallWork};
pub use simulation::summary::{Energy, Summary};
pub use simulation::watch::Watch;
pub use simulation::{Backend, Options, Simulation};
#[cfg(feature = "gpu")]
pub use wgpu;
