//! The tests of the library and of the program, a module for each subject, in one binary: each binary
//! would link wgpu and egui again.
//!
//! They run as threads of one process and share one device, so none of them may change what belongs to the
//! process: its environment, its directory, its signals.

#[path = "../common/mod.rs"]
mod common;

mod bench;
mod bonds;
mod book;
mod breakage;
mod checkpoint;
mod cli;
mod cluster;
mod compare;
mod custom_law;
mod deform;
mod determinism;
mod docs;
mod elastic;
mod energy;
mod examples;
mod faults;
mod flow;
mod forces;
mod fuzz;
mod heat;
mod impulse;
mod json_schema;
mod kinematic;
mod layers;
mod lost;
mod machines;
mod measure;
mod meshes;
mod mpi;
mod neighbours;
mod output;
mod overhead;
mod parsers;
mod passes;
mod periodic;
mod physics;
mod pipeline;
mod population;
mod reference;
#[cfg(feature = "render")]
mod render;
mod scene;
mod scenes;
mod shaders;
mod shapes;
mod sleep;
mod stages;
mod tune;
mod walls;
mod watch;
mod world;
