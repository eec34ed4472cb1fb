//! The window in a page of a browser.
//!
//! A page has one thread, which never waits: a task of its own has the viewer, and reads what happens, in its order, from a
//! mailbox. While the task waits for the device, the page goes on.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use serde::Serialize;
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlCanvasElement;
use web_time::Instant;
use winit::application::ApplicationHandler;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop, OwnedDisplayHandle};
use winit::platform::web::{EventLoopExtWebSys, WindowAttributesExtWebSys};
use winit::window::{Window, WindowId};

use super::canvas::Canvas;
use super::keys::Action;
use super::stage::{Files, Handed};
use super::watch::Watch;
use super::{Notice, PATIENCE, Picked, Setup, Viewer};
use crate::model::error::{Error, Result};
use crate::output::write_state;
use crate::scene::Placed;
use crate::simulation::snapshot::Snapshot;
use crate::simulation::summary::Summary;
use crate::state::Field;

/// A viewer in a page; a clone is another handle of the same.
#[derive(Clone)]
pub struct Page {
    mail: Mail<Letter>,
    status: Rc<RefCell<Status>>,
}

/// Status of the viewer, as of its last frame.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Frames so far.
    pub frames: u64,
    /// Simulated time, s.
    pub time: f64,
    /// Steps taken.
    pub steps: u64,
    /// Spheres times steps so far.
    pub sphere_steps: u64,
    /// Bodies that there are.
    pub bodies: usize,
    /// Their spheres.
    pub spheres: usize,
    /// Whether the simulation goes on.
    pub playing: bool,
    /// Whether the panel is shown.
    pub panel: bool,
    /// Time of a frame, on average, s.
    pub frame: f64,
    /// Part of it that steps take.
    pub simulation: f64,
    /// Part of it that the picture takes.
    pub drawing: f64,
    /// The index of the body that is picked.
    pub picked: Option<usize>,
    /// Adapter on which it runs.
    pub adapter: String,
    /// Notice for the user.
    pub notice: Option<String>,
    /// Reason why there is no viewer any more, or never was one.
    pub failure: Option<String>,
}

/// A task for the viewer.
type Errand = Box<dyn for<'a> FnOnce(&'a mut Viewer) -> Pin<Box<dyn Future<Output = ()> + 'a>>>;

enum Letter {
    Event(WindowEvent),
    Errand(Errand),
}

/// Messages within the thread, in their order.
struct Mail<T>(Rc<RefCell<Sent<T>>>);

struct Sent<T> {
    waiting: VecDeque<T>,
    reader: Option<Waker>,
}

impl<T> Clone for Mail<T> {
    fn clone(&self) -> Mail<T> {
        Mail(Rc::clone(&self.0))
    }
}

impl<T> Mail<T> {
    fn new() -> Mail<T> {
        Mail(Rc::new(RefCell::new(Sent {
            waiting: VecDeque::new(),
            reader: None,
        })))
    }

    fn send(&self, letter: T) {
        let reader = {
            let mut sent = self.0.borrow_mut();
            sent.waiting.push_back(letter);
            sent.reader.take()
        };
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    async fn next(&self) -> T {
        poll_fn(|task| {
            let mut sent = self.0.borrow_mut();
            match sent.waiting.pop_front() {
                Some(letter) => Poll::Ready(letter),
                None => {
                    sent.reader = Some(task.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl Page {
    /// Shows a viewer on a canvas, without a scene. Pictures that the user saves go to `deliver`, with their names.
    ///
    /// # Errors
    /// If there is one already. What else goes wrong is in [`Page::status`].
    pub fn open(
        canvas: HtmlCanvasElement,
        setup: Setup,
        deliver: impl Fn(&str, &[u8]) + 'static,
    ) -> Result<Page> {
        let events = EventLoop::new().map_err(|error| Error::Window(error.to_string()))?;
        let mut viewer = Viewer::new(setup, Watch);
        viewer.deliver = Some(Box::new(deliver));
        let page = Page {
            mail: Mail::new(),
            status: Rc::default(),
        };
        events.spawn_app(Opening {
            page: page.clone(),
            viewer: Some((viewer, canvas)),
        });
        Ok(page)
    }

    /// Returns the status of the viewer.
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// Shows the scene at `path` of `files`, whose bodies are `placed` already, if they are.
    ///
    /// # Errors
    /// With a sentence, if the scene is wrong, or too large for the device: then the scene before stays.
    pub async fn show(
        &self,
        path: PathBuf,
        files: Files,
        placed: Option<Placed>,
        keep_camera: bool,
    ) -> std::result::Result<(), String> {
        let answer = Mail::new();
        let reply = answer.clone();
        self.send(move |viewer| {
            Box::pin(async move {
                viewer.handed = Some(Handed { files, placed });
                viewer.open(&path, keep_camera).await;
                // They are large, and to start again there is the state.
                viewer
                    .handed
                    .iter_mut()
                    .for_each(|handed| handed.placed = None);
                reply.send(match &viewer.notice {
                    Some(Notice {
                        sentence,
                        is_error: true,
                    }) => Err(sentence.clone()),
                    _ => Ok(()),
                });
                viewer.request();
            })
        });
        answer.next().await
    }

    /// Has the simulation go on, or not.
    pub fn play(&self, playing: bool) {
        self.send(move |viewer| {
            Box::pin(async move {
                viewer.clock.playing = playing;
                viewer.request();
            })
        });
    }

    /// Shows the panel beside the picture, or not.
    pub fn panel(&self, shown: bool) {
        self.send(move |viewer| {
            Box::pin(async move {
                viewer.panel_shown = shown;
                viewer.request();
            })
        });
    }

    /// Takes the simulation back to its start.
    pub fn reset(&self) {
        self.send(|viewer| {
            Box::pin(async move {
                viewer.act(Action::Reset).await;
                viewer.request();
            })
        });
    }

    /// Saves a picture.
    pub fn picture(&self) {
        self.send(|viewer| {
            Box::pin(async move {
                viewer.act(Action::Picture).await;
                viewer.request();
            })
        });
    }

    /// Pauses, takes exactly so many steps, and says how the simulation is afterwards; `None` without one.
    ///
    /// # Errors
    /// As [`Simulation::step`](crate::Simulation::step).
    pub async fn step(&self, steps: u64) -> Result<Option<Summary>> {
        let answer = Mail::new();
        let reply = answer.clone();
        self.send(move |viewer| {
            Box::pin(async move {
                viewer.clock.playing = false;
                reply.send(step(viewer, steps).await);
                viewer.request();
            })
        });
        answer.next().await
    }

    /// The positions of all bodies, m: three numbers each.
    ///
    /// # Errors
    /// If the device is lost.
    pub async fn positions(&self) -> Result<Vec<f64>> {
        let answer = Mail::new();
        let reply = answer.clone();
        self.send(move |viewer| Box::pin(async move { reply.send(positions(viewer).await) }));
        answer.next().await
    }

    /// The state of all bodies as a file, as [`write_state`] writes it.
    ///
    /// # Errors
    /// If the device is lost.
    pub async fn state(&self) -> Result<Vec<u8>> {
        let answer = Mail::new();
        let reply = answer.clone();
        self.send(move |viewer| Box::pin(async move { reply.send(state(viewer).await) }));
        answer.next().await
    }

    fn send(
        &self,
        errand: impl for<'a> FnOnce(&'a mut Viewer) -> Pin<Box<dyn Future<Output = ()> + 'a>> + 'static,
    ) {
        self.mail.send(Letter::Errand(Box::new(errand)));
    }

    /// The task that has the viewer.
    async fn run(self, mut viewer: Viewer, window: Window, display: OwnedDisplayHandle) {
        let window = Arc::new(window);
        match open(&window, &display).await {
            Ok(canvas) => viewer.start(canvas).await,
            Err(error) => viewer.failure = Some(error),
        }
        let mut frames = 0;
        let mut losses = Vec::new();
        loop {
            match &viewer.failure {
                Some(error @ Error::Lost { .. }) if is_bearable(&mut losses) => {
                    let sentence = error.to_string();
                    viewer.failure = viewer.take_up(&window, &display, &sentence).await.err();
                    continue;
                }
                Some(_) => break,
                None => {}
            }
            self.publish(&viewer, frames);
            match self.mail.next().await {
                Letter::Event(event) => {
                    frames += u64::from(matches!(event, WindowEvent::RedrawRequested));
                    viewer.hear(event).await;
                }
                Letter::Errand(errand) => errand(&mut viewer).await,
            }
        }
        self.publish(&viewer, frames);
    }

    fn publish(&self, viewer: &Viewer, frames: u64) {
        let mut status = Status {
            frames,
            playing: viewer.clock.playing,
            panel: viewer.panel_shown,
            frame: viewer.timing.frame,
            simulation: viewer.timing.simulation,
            drawing: viewer.timing.drawing,
            picked: match &viewer.picked {
                Some(Picked::Body { state }) => Some(state.index),
                _ => None,
            },
            notice: viewer
                .notice
                .as_ref()
                .map(|Notice { sentence, .. }| sentence.clone()),
            failure: viewer.failure.as_ref().map(ToString::to_string),
            ..Status::default()
        };
        if let Some(stage) = &viewer.stage {
            let simulation = &stage.simulation;
            status.time = simulation.time();
            status.steps = simulation.steps();
            status.sphere_steps = simulation.sphere_steps();
            status.bodies = simulation.body_count();
            status.spheres = simulation.sphere_count();
            status.adapter = simulation.adapter();
        }
        *self.status.borrow_mut() = status;
    }
}

/// A canvas on the window, which asks for a frame when its device is lost: whoever draws that meets the loss.
async fn open(window: &Arc<Window>, display: &OwnedDisplayHandle) -> Result<Canvas> {
    let canvas = Canvas::new(Arc::clone(window), display.clone(), None).await?;
    let told = Arc::clone(window);
    let lost = move |_, _| told.request_redraw();
    canvas.context.device.set_device_lost_callback(lost);
    Ok(canvas)
}

/// Whether another device may be tried after one more loss: not where a scene is too much for each.
fn is_bearable(losses: &mut Vec<Instant>) -> bool {
    /// Losses that are borne within a time.
    const MOST: usize = 3;
    const WITHIN: Duration = Duration::from_secs(60);
    losses.retain(|loss| loss.elapsed() < WITHIN);
    losses.push(Instant::now());
    losses.len() <= MOST
}

impl Viewer {
    /// A page has neither dialogs nor folders.
    pub(super) fn choose(&mut self) {}
    pub(super) fn toggle_gallery(&mut self) {}
    pub(super) fn open_gallery(&mut self, _: &Path) -> bool {
        false
    }
    pub(super) fn has_gallery(&self) -> bool {
        false
    }
    pub(super) async fn draw_gallery(&mut self) -> Result<()> {
        Ok(())
    }

    /// Goes on with another device, after one was lost with this `sentence`.
    async fn take_up(
        &mut self,
        window: &Arc<Window>,
        display: &OwnedDisplayHandle,
        sentence: &str,
    ) -> Result<()> {
        self.closing = false;
        self.picked = None;
        self.hand.let_go();
        let stage = self.stage.take();
        // What belongs to the lost device goes before there is another.
        self.canvas = None;
        let canvas = self.canvas.insert(open(window, display).await?);
        match stage {
            Some(stage) => {
                let stage = stage.taken_up(&canvas.context, canvas.format()).await?;
                self.cursor = stage.simulation.time();
                self.stage = Some(stage);
                self.clock.forget();
            }
            // It was lost before anything was shown, or again.
            None if self.handed.is_some() => self.open(&self.scene.clone(), true).await,
            None => {}
        }
        let time = self
            .stage
            .as_ref()
            .map_or(0.0, |stage| stage.simulation.time());
        self.notice = Some(Notice::wrong(format!(
            "{sentence}. Another device has taken over at t = {time:.3} s, with the parameters of the scene."
        )));
        self.request();
        Ok(())
    }
}

async fn step(viewer: &mut Viewer, steps: u64) -> Result<Option<Summary>> {
    let Some(stage) = &mut viewer.stage else {
        return Ok(None);
    };
    stage.simulation.step_by(PATIENCE, steps).await?;
    stage.simulation.summary_by(PATIENCE).await.map(Some)
}

async fn positions(viewer: &mut Viewer) -> Result<Vec<f64>> {
    let Some(stage) = &mut viewer.stage else {
        return Ok(Vec::new());
    };
    let simulation = &mut stage.simulation;
    simulation.fetch_by(PATIENCE, &[Field::Bodies]).await?;
    let bodies = simulation.fetched().bodies();
    Ok(bodies.flat_map(|body| body.position.to_array()).collect())
}

async fn state(viewer: &mut Viewer) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(stage) = &mut viewer.stage {
        let simulation = &mut stage.simulation;
        simulation.fetch_by(PATIENCE, &Snapshot::fields()).await?;
        write_state(&mut bytes, &simulation.fetched()).expect("a vector takes all");
    }
    Ok(bytes)
}

/// A page that waits for the browser to be ready.
struct Opening {
    page: Page,
    viewer: Option<(Viewer, HtmlCanvasElement)>,
}

impl ApplicationHandler for Opening {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        let Some((viewer, canvas)) = self.viewer.take() else {
            return;
        };
        let attributes = Window::default_attributes().with_canvas(Some(canvas));
        match event_loop.create_window(attributes) {
            Ok(window) => {
                let display = event_loop.owned_display_handle();
                spawn_local(self.page.clone().run(viewer, window, display));
            }
            Err(error) => {
                self.page.status.borrow_mut().failure = Some(error.to_string());
            }
        }
    }

    fn window_event(&mut self, _: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        self.page.mail.send(Letter::Event(event));
    }
}
