//! The window of a system that has windows.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pollster::block_on;
use web_time::Instant;
use winit::application::ApplicationHandler;
use winit::dpi::LogicalSize;
use winit::error::EventLoopError;
use winit::event::{StartCause, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy};
use winit::window::{Window, WindowId};

use super::canvas::Canvas;
use super::gallery::Gallery;
use super::watch::Watch;
use super::{Notice, QUIET, Setup, Viewer};
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
    let watching = proxy.clone();
    let watch = Watch::new(move |path| {
        // The window may be gone already.
        let _ = watching.send_event(Happened::Changed(path));
    });
    let mut viewer = Viewer::new(setup, watch);
    viewer.proxy = Some(proxy);
    let outcome = without_display(|| events.run_app(&mut viewer));
    viewer.end_galleries();
    match outcome {
        Some(outcome) => outcome.map_err(|error| no_window(&error))?,
        None => return Err(Error::DisplayGone { run: keep(viewer) }),
    }
    match viewer.failure {
        None => Ok(()),
        Some(error) => Err(error),
    }
}

/// The value that `run` returns; None if it panics because the display has gone away: winit has no error for that.
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

/// Returns the reason why there is no window, without the place in winit's source at which it says so.
fn no_window(error: &EventLoopError) -> Error {
    let text = error.to_string();
    Error::Window(match text.split_once(": ") {
        Some((place, reason)) if place.starts_with("os error at ") => {
            reason.trim_end_matches('.').to_owned()
        }
        _ => text,
    })
}

/// A message of another thread to the window.
#[derive(Clone, Debug)]
pub(super) enum Happened {
    /// A file has changed.
    Changed(PathBuf),
    /// The user has chosen a file.
    Chosen(PathBuf),
    /// There was no dialog in which to choose one.
    Unasked,
}

/// With which other threads do so.
pub(super) type Proxy = EventLoopProxy<Happened>;

impl Viewer {
    /// Asks for a file in a dialog of the system, beside which the window goes on.
    pub(super) fn choose(&mut self) {
        /// A user takes longer to see a dialog.
        const AT_ONCE: Duration = Duration::from_millis(200);
        let (Some(proxy), Some(canvas)) = (self.proxy.clone(), &self.canvas) else {
            return;
        };
        let folder = self.scene.parent().and_then(|own| own.canonicalize().ok());
        let dialog = rfd::AsyncFileDialog::new()
            .set_title("Open a scene")
            .add_filter("scenes", &["json"])
            .set_directory(folder.unwrap_or_default())
            .set_parent(&canvas.window);
        let asked = Instant::now();
        // On macOS, it has to be made on this thread.
        let chosen = dialog.pick_file();
        let ask = move || {
            let happened = match block_on(chosen) {
                Some(file) => Happened::Chosen(file.path().to_owned()),
                None if asked.elapsed() < AT_ONCE => Happened::Unasked,
                None => return,
            };
            let _ = proxy.send_event(happened);
        };
        let _ = std::thread::Builder::new()
            .name("dialog".to_owned())
            .spawn(ask);
    }

    pub(super) fn has_gallery(&self) -> bool {
        self.gallery.is_some()
    }

    /// Shows a folder of scenes, if the path is one.
    pub(super) fn open_gallery(&mut self, path: &Path) -> bool {
        let Some(canvas) = &self.canvas else {
            return false;
        };
        if !Gallery::is_of(path) {
            self.gallery = None;
            return false;
        }
        let name = path.canonicalize().unwrap_or_default();
        let name = name.file_name().unwrap_or_default().to_string_lossy();
        canvas.window.set_title(&format!("{name} - Rockfall"));
        self.stop_recording();
        if let Some(canvas) = &self.canvas {
            let (gallery, thread) = Gallery::open(path, &canvas.context, &canvas.window);
            self.gallery = Some(gallery);
            self.galleries.retain(|thread| !thread.is_finished());
            self.galleries.extend(thread);
        }
        true
    }

    /// Shows the folder of the scene on stage, or that scene again.
    pub(super) fn toggle_gallery(&mut self) {
        if self.has_gallery() {
            if self.stage.is_some() {
                self.gallery = None;
                self.set_title();
            }
            return;
        }
        let folder = match self.scene.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        self.open_gallery(&folder);
    }

    /// Waits for pictures that are being drawn: a process that ends meanwhile may crash in its graphics driver.
    fn end_galleries(&mut self) {
        self.gallery = None;
        for thread in self.galleries.drain(..) {
            // Where one panicked, a picture is missing.
            let _ = thread.join();
        }
    }

    /// A frame of the gallery.
    pub(super) async fn draw_gallery(&mut self) -> Result<()> {
        let (Some(canvas), Some(gallery)) = (&mut self.canvas, &mut self.gallery) else {
            return Ok(());
        };
        let Some(frame) = canvas.begin()? else {
            return Ok(());
        };
        let input = canvas.egui.take_egui_input(&canvas.window);
        let context = canvas.egui.egui_ctx().clone();
        let has_scene = self.stage.is_some();
        let mut wishes = Vec::new();
        let output = context.run_ui(input, |ui| wishes = gallery.show(ui, has_scene));
        let repaint = output
            .viewport_output
            .values()
            .any(|viewport| viewport.repaint_delay.is_zero());
        canvas.clear(&frame);
        canvas.finish(frame, Some(output), false)?;
        if repaint || !wishes.is_empty() {
            self.request();
        }
        for wish in wishes {
            self.grant(wish).await;
        }
        Ok(())
    }
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
        if self
            .sharpen_at
            .take_if(|when| *when <= Instant::now())
            .is_some()
        {
            self.request();
        }
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        let changes = self.changed.iter().map(|(_, when)| *when);
        let next = changes.chain(self.sharpen_at).min();
        event_loop.set_control_flow(match next {
            Some(when) => ControlFlow::WaitUntil(when),
            None => ControlFlow::Wait,
        });
    }

    fn user_event(&mut self, _: &ActiveEventLoop, happened: Happened) {
        match happened {
            Happened::Changed(path) => {
                self.changed.retain(|(changed, _)| *changed != path);
                self.changed.push((path, Instant::now() + QUIET));
            }
            Happened::Chosen(path) => {
                block_on(self.open(&path, false));
                self.request();
            }
            Happened::Unasked => {
                let sentence = "no file dialog could be opened: it needs a desktop with portals, or the program zenity. \
                                Drop a file on the window, or start with one: rockfall view FILE";
                self.notice = Some(Notice::wrong(sentence));
                self.request();
            }
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        block_on(self.hear(event));
        if self.closing {
            event_loop.exit();
        }
    }
}
