#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod clump;
pub mod compare;
pub mod contact;
pub mod cpu;
pub mod error;
pub mod gpu;
pub mod grid;
pub mod layout;
pub mod model;
pub mod output;
pub mod pass;
pub mod rotation;
pub mod scene;
pub mod simulation;
pub mod state;
pub mod summary;
pub mod trace;
