//! The window of a system that has windows.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pollster::block_on;
use web_time::Instant;
use winit::application::ApplicationHandler;
use winit::dpi::LogicalSize;
use winit::error::EventLoopError;
use winit::event::{StartCause, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop};
use winit::window::{Window, WindowId};

use super::canvas::Canvas;
use super::watch::Watch;
use super::{QUIET, Setup, Viewer};
use crate::model::error::{Error, Result};
use crate::output::{Record, RunFolder, RunSummary};
use crate::scene;

/// Opens a window, and returns when it is closed.
///
/// # Errors
/// If there is no display, or nothing that can draw onto it. A scene that is wrong is shown in the window,
/// and is no error.
pub fn run(setup: Setup) -> Result<()> {
    let events = EventLoop::<Happened>::with_user_event()
        .build()
        .map_err(|error| no_window(&error))?;
    let proxy = events.create_proxy();
    let watch = Watch::new(move |path| {
        // The window may be gone already.
        let _ = proxy.send_event(Happened::Changed(path));
    });
    let mut viewer = Viewer::new(setup, watch);
    match without_display(|| events.run_app(&mut viewer)) {
        Some(outcome) => outcome.map_err(|error| no_window(&error))?,
        None => return Err(Error::DisplayGone { run: keep(viewer) }),
    }
    match viewer.failure {
        None => Ok(()),
        Some(error) => Err(error),
    }
}

/// What `run` returns; None if it panics because the display has gone away: winit has no error for that.
fn without_display<T>(run: impl FnOnce() -> T) -> Option<T> {
    static GONE: AtomicBool = AtomicBool::new(false);
    GONE.store(false, Ordering::Relaxed);
    let hook = Arc::new(take_hook());
    let usual = Arc::clone(&hook);
    set_hook(Box::new(move |panic| {
        let is_of = |name| panic.location().is_some_and(|at| at.file().contains(name));
        match ["winit", "x11", "wayland"].into_iter().any(is_of) {
            true => GONE.store(true, Ordering::Relaxed),
            false => usual(panic),
        }
    }));
    let outcome = catch_unwind(AssertUnwindSafe(run));
    set_hook(Box::new(move |panic| hook(panic)));
    match outcome {
        Ok(returned) => Some(returned),
        Err(_) if GONE.load(Ordering::Relaxed) => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// Keeps the run on stage where it was asked to, if it has taken steps; returns the folder, unless that is not to be.
fn keep(viewer: Viewer) -> Option<PathBuf> {
    let (setup, mut stage) = (viewer.setup, viewer.stage?);
    let kept = stage.is_kept();
    let simulation = &mut stage.simulation;
    if kept || simulation.steps() == 0 {
        return None;
    }
    let path = setup.refuge?;
    let keep = || -> Result<()> {
        let scene = scene::load(&stage.path).map_err(|error| Error::Other(Box::new(error)))?;
        let steps = scene.model.steps_for(scene.model.duration);
        let record = Record::new(simulation, &setup.options, Vec::new(), steps);
        let folder = RunFolder::create_later(&path, &scene, record, simulation)?;
        let summary = RunSummary::new(simulation, 0, Duration::ZERO)?;
        folder.finish(simulation, true, summary)
    };
    match { keep }() {
        Ok(()) => Some(path),
        Err(error) => {
            tracing::warn!(%error, "the run cannot be kept");
            None
        }
    }
}

/// Why there is no window, without the place in winit's source at which it says so.
fn no_window(error: &EventLoopError) -> Error {
    let text = error.to_string();
    Error::Window(match text.split_once(": ") {
        Some((place, reason)) if place.starts_with("os error at ") => {
            reason.trim_end_matches('.').to_owned()
        }
        _ => text,
    })
}

/// What other threads tell the window.
#[derive(Clone, Debug)]
enum Happened {
    /// A file has changed.
    Changed(PathBuf),
}

fn open(event_loop: &ActiveEventLoop, setup: &Setup) -> Result<Canvas> {
    let [width, height] = setup.size;
    let attributes = Window::default_attributes()
        .with_title("Rockfall")
        .with_inner_size(LogicalSize::new(width, height))
        .with_min_inner_size(LogicalSize::new(320, 240));
    let window = event_loop
        .create_window(attributes)
        .map_err(|error| Error::Window(error.to_string()))?;
    let wanted = setup.options.adapter.as_deref();
    block_on(Canvas::new(
        Arc::new(window),
        event_loop.owned_display_handle(),
        wanted,
    ))
}

impl ApplicationHandler<Happened> for Viewer {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if self.canvas.is_some() {
            return;
        }
        match open(event_loop, &self.setup) {
            Ok(canvas) => block_on(self.start(canvas)),
            Err(error) => {
                self.failure = Some(error);
                event_loop.exit();
            }
        }
    }

    fn new_events(&mut self, _: &ActiveEventLoop, _: StartCause) {
        block_on(self.reload());
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        let next = self.changed.iter().map(|(_, when)| *when).min();
        event_loop.set_control_flow(match next {
            Some(when) => ControlFlow::WaitUntil(when),
            None => ControlFlow::Wait,
        });
    }

    fn user_event(&mut self, _: &ActiveEventLoop, Happened::Changed(path): Happened) {
        self.changed.retain(|(changed, _)| *changed != path);
        self.changed.push((path, Instant::now() + QUIET));
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        block_on(self.hear(event));
        if self.closing {
            event_loop.exit();
        }
    }
}
