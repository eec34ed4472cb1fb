//! In the place of films, of which a page makes none.

use std::convert::Infallible;
use std::path::Path;

use crate::render::{Camera, Line, Look, Overlay};
use crate::simulation::Simulation;
use crate::step::gpu::Context;

/// A film of a page, of which there is none.
pub(super) struct Recording {
    pub frames: u64,
    never: Infallible,
}

impl Recording {
    pub fn start(
        _: &Context,
        _: &Simulation,
        _: &Path,
    ) -> std::result::Result<(Recording, Option<String>), String> {
        Err("a page makes no films; `rockfall view` and `rockfall render` do".to_owned())
    }

    pub fn add(
        &mut self,
        _: &Simulation,
        _: &Camera,
        _: &Look,
        _: Vec<Line>,
        _: Option<&Overlay>,
    ) -> std::result::Result<(), String> {
        match self.never {}
    }

    pub fn finish(self) -> std::result::Result<String, String> {
        match self.never {}
    }
}
