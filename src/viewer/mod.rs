//! The window: a simulation that runs while it is looked at, pulled at and tuned.
//!
//! Frame by frame, the renderer takes over the state as it is after a whole step ([`crate::render`]) and egui lays out the panel
//! (`panel`). Then the picture is drawn and shown (`canvas`), while the steps that are due are taken on a thread of their own
//! (`clock`); in a page, which has one thread, before that. While nothing moves and nobody touches it, nothing is drawn.

// As for pictures: what a window shows need not be the same on every machine.
#![allow(clippy::disallowed_methods)]

mod canvas;
mod clock;
mod colours;
mod draft;
#[cfg(not(target_family = "wasm"))]
mod film;
#[cfg(not(target_family = "wasm"))]
mod gallery;
mod hand;
mod history;
mod keys;
#[cfg(target_family = "wasm")]
mod no_film;
#[cfg(target_family = "wasm")]
pub mod page;
mod panel;
mod recent;
mod record;
mod stage;
mod timeline;
mod watch;
#[cfg(not(target_family = "wasm"))]
mod window;

use std::path::{Path, PathBuf};
use std::time::Duration;

use glam::DVec3;
use pollster::block_on;
use web_time::Instant;
use winit::event::{ElementState, WindowEvent};
use winit::keyboard::Key;

use crate::model::error::{Error, Result};
use crate::model::view::{Clip, WallLook};
use crate::render::pace::BESIDE_STEPS;
use crate::render::shaders::Texts;
use crate::render::{Camera, ColourBy, Look, Overlay, Pace};
use crate::simulation::Options;
use crate::step::Patience;
use canvas::Canvas;
use clock::Clock;
use draft::Draft;
#[cfg(not(target_family = "wasm"))]
use film::Recording;
use hand::{Hand, Mode, Picked};
use keys::{Action, action};
#[cfg(target_family = "wasm")]
use no_film::Recording;
use panel::{WIDTH, Wish};
use recent::Recent;
use record::RATE;
use stage::{Handed, Stage};
use timeline::Timeline;
use watch::Watch;
#[cfg(not(target_family = "wasm"))]
pub use window::run;

/// Settings with which a window is opened.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The scene, or the folder of a run, that it shows at first.
    pub scene: PathBuf,
    /// Engine, adapter and threads of simulations. An adapter that is named also draws.
    pub options: Options,
    /// Width and height of the window, logical pixels.
    pub size: [u32; 2],
    /// Whether the simulation waits for the user to start it.
    pub paused: bool,
    /// Look of pictures at first, before a scene asks for something else.
    pub look: Look,
    /// Meaning of colours, whatever scenes ask for.
    pub colour: Option<ColourBy>,
    /// Cut through bodies and walls, whatever scenes ask for.
    pub clip: Option<Clip>,
    /// Unit vector that points up, likewise.
    pub up: Option<DVec3>,
    /// Whether the panel is shown at first.
    pub panel: bool,
    /// A folder that is not there yet, for the run on stage if the display goes away.
    pub refuge: Option<PathBuf>,
    /// Memory of the states that the timeline of a simulation goes back to, bytes.
    pub memory: u64,
    /// File that keeps what was opened last.
    pub recent: Option<PathBuf>,
}

/// Whether this is no window but part of a page. What that does without is not compiled in, and need not be sent.
const IN_PAGE: bool = cfg!(target_family = "wasm");

/// A page has one thread, which must not wait for the device; elsewhere, what is asked for is there when a call returns.
const PATIENCE: Patience = if IN_PAGE {
    Patience::Yield
} else {
    Patience::Block
};

/// A message to the user.
#[derive(Clone, Debug, PartialEq)]
struct Notice {
    sentence: String,
    is_error: bool,
}

impl Notice {
    fn wrong(sentence: impl ToString) -> Notice {
        Notice {
            sentence: sentence.to_string(),
            is_error: true,
        }
    }

    fn told(sentence: String) -> Notice {
        Notice {
            sentence,
            is_error: false,
        }
    }
}

/// Average times of frames, s.
#[derive(Clone, Copy, Debug, Default)]
struct Timing {
    frame: f64,
    simulation: f64,
    drawing: f64,
}

/// Time for which the camera has to stand still before a picture that was drawn in a hurry is drawn with care.
const STILL: Duration = Duration::from_millis(150);

/// Time that a file has to be left alone before it is read again: editors write in pieces.
const QUIET: Duration = Duration::from_millis(100);

/// The window and all that belongs to it.
struct Viewer {
    setup: Setup,
    canvas: Option<Canvas>,
    stage: Option<Stage>,
    /// The scene that is wanted; that on stage is another one while this is wrong.
    scene: PathBuf,
    scenes: Vec<PathBuf>,
    camera: Camera,
    look: Look,
    clock: Clock,
    hand: Hand,
    mode: Mode,
    picked: Option<Picked>,
    /// The pair of materials whose parameters the panel shows.
    pair: (usize, usize),
    /// Wishes that undo the changes of parameters, the last one last; and all that have ever changed the scene on stage.
    undo: Vec<Wish>,
    tuned: Vec<Wish>,
    last_tuned: Option<Instant>,
    /// The change of the scene's file that waits for the user to agree.
    draft: Option<Draft>,
    /// The text that was saved last: no change that is to be read again.
    saved: Option<String>,
    recent: Recent,
    #[cfg(not(target_family = "wasm"))]
    gallery: Option<gallery::Gallery>,
    /// Threads that draw pictures for this gallery and those before it.
    #[cfg(not(target_family = "wasm"))]
    galleries: Vec<std::thread::JoinHandle<()>>,
    #[cfg(not(target_family = "wasm"))]
    proxy: Option<window::Proxy>,
    recording: Option<Recording>,
    /// The message to the user that is shown.
    notice: Option<Notice>,
    /// Part of a picture that is drawn while something moves that a software driver is slow to draw.
    pace: Pace,
    /// Whether egui wants to be painted again at once.
    repaints: bool,
    /// The look of the picture that is shown, in which the mouse picks.
    shown: Look,
    /// From where it is seen, with its size; and when that was another one last, if that is not long ago.
    seen: Option<(Camera, [u32; 2])>,
    moved: Option<Instant>,
    /// Time at which the picture is to be drawn with care.
    #[cfg(not(target_family = "wasm"))]
    sharpen_at: Option<Instant>,
    /// Whether a kept run starts again at its end.
    looped: bool,
    /// Time in a kept run at which the window is, s.
    cursor: f64,
    panel_shown: bool,
    help_shown: bool,
    timing: Timing,
    last_frame: Option<Instant>,
    /// The lines over the picture that is shown.
    overlay: Option<Overlay>,
    watch: Watch,
    /// Files that have changed, and when they are to be read again.
    changed: Vec<(PathBuf, Instant)>,
    /// Files that a page hands over, for it has no disk.
    handed: Option<Handed>,
    /// Receiver of pictures in a page.
    deliver: Option<Deliver>,
    /// Whether the user wants the window to close.
    closing: bool,
    failure: Option<Error>,
}

/// Takes the name and the bytes of a file.
type Deliver = Box<dyn Fn(&str, &[u8])>;

impl Viewer {
    fn new(setup: Setup, watch: Watch) -> Viewer {
        Viewer {
            canvas: None,
            stage: None,
            scene: setup.scene.clone(),
            scenes: stage::neighbours(&setup.scene),
            camera: Camera::default(),
            look: setup.look,
            clock: Clock::new(!setup.paused),
            hand: Hand::default(),
            mode: Mode::Camera,
            picked: None,
            pair: (0, 0),
            undo: Vec::new(),
            tuned: Vec::new(),
            last_tuned: None,
            draft: None,
            saved: None,
            recent: Recent::read(setup.recent.clone()),
            #[cfg(not(target_family = "wasm"))]
            gallery: None,
            #[cfg(not(target_family = "wasm"))]
            galleries: Vec::new(),
            #[cfg(not(target_family = "wasm"))]
            proxy: None,
            recording: None,
            notice: None,
            pace: Pace::default(),
            repaints: false,
            shown: setup.look,
            seen: None,
            moved: None,
            #[cfg(not(target_family = "wasm"))]
            sharpen_at: None,
            looped: true,
            cursor: 0.0,
            panel_shown: setup.panel,
            help_shown: false,
            timing: Timing::default(),
            last_frame: None,
            overlay: None,
            watch,
            changed: Vec::new(),
            handed: None,
            deliver: None,
            closing: false,
            failure: None,
            setup,
        }
    }

    /// Shows the scene that is wanted, on a canvas that is ready.
    async fn start(&mut self, canvas: Canvas) {
        if !canvas.is_gpu {
            // A picture of four samples a pixel takes a software driver so long that the panel lags behind what is typed.
            self.look.supersampling = 1;
        }
        self.canvas = Some(canvas);
        // A page is handed its scene later.
        if !IN_PAGE {
            self.open(&self.scene.clone(), false).await;
        }
        self.request();
    }

    /// Opens a scene. If it is wrong, the one on stage stays, and the window says what is wrong.
    async fn open(&mut self, path: &Path, keep_camera: bool) {
        if self.open_gallery(path) {
            return;
        }
        let Some(canvas) = &self.canvas else { return };
        self.scene = path.to_owned();
        self.scenes = stage::neighbours(path);
        self.watch.follow(path);
        let (handed, options) = (self.handed.as_ref(), &self.setup.options);
        let (context, format) = (&canvas.context, canvas.format());
        let (is_gpu, memory) = (canvas.is_gpu, self.setup.memory);
        match Stage::open(path, handed, options, context, is_gpu, format, memory).await {
            Ok(stage) => {
                self.set_title();
                self.stop_recording();
                self.cursor = stage.simulation.time();
                self.stage = Some(stage);
                self.clock.forget();
                (self.undo, self.tuned, self.draft) = (Vec::new(), Vec::new(), None);
                if !IN_PAGE {
                    self.recent.add(path);
                }
                self.notice = None;
                self.picked = None;
                self.pair = (0, 0);
                self.hand.let_go();
                if !keep_camera {
                    self.show_as_asked().await;
                }
            }
            Err(error) => self.notice = Some(Notice::wrong(error)),
        }
    }

    fn set_title(&self) {
        let title = self.scene.file_stem().unwrap_or_default();
        if let Some(canvas) = &self.canvas {
            let title = format!("{} - Rockfall", title.to_string_lossy());
            canvas.window.set_title(&title);
        }
    }

    /// Shows the scene on stage as it asks to be shown, and as the window was told to.
    async fn show_as_asked(&mut self) {
        let Some(stage) = &self.stage else { return };
        let model = stage.simulation.model();
        let view = model.view.clone();
        let asked = Look::of(&view);
        // Not as the scene before was looked at.
        self.camera = Camera {
            zenith: self.setup.up.unwrap_or(model.up()),
            ..Camera::default()
        };
        self.look = Look {
            colour_by: self
                .setup
                .colour
                .or(view.colour)
                .unwrap_or(self.look.colour_by),
            map: view.map.unwrap_or(self.look.map),
            background: view.background.unwrap_or(self.look.background),
            ground: view.ground.unwrap_or(self.look.ground),
            lines: view.lines.or(self.look.lines),
            clip: self.setup.clip.or(asked.clip),
            ..self.look
        };
        [self.look.bottom, self.look.top] = match self.setup.colour {
            Some(by) if by != asked.colour_by => [None; 2],
            _ => [asked.bottom, asked.top],
        };
        if let Some([around, above, _]) = view.camera {
            self.camera.around = around.to_radians();
            self.camera.above = above.to_radians();
        }
        self.fit().await;
        self.camera.distance /= view.camera.map_or(1.0, |[.., zoom]| zoom);
        self.camera.target = view.target.unwrap_or(self.camera.target);
        if let Some(eye) = view.eye {
            self.camera = Camera::upright(eye, self.camera.target, self.camera.zenith);
        }
    }

    /// Tells the user of something that went wrong. Without a device, nothing goes on here.
    fn tell(&mut self, outcome: Result<()>) {
        match outcome {
            Ok(()) => {}
            Err(error @ Error::Lost { .. }) => self.fail(error),
            Err(error) => {
                self.clock.playing = false;
                self.notice = Some(Notice::wrong(error));
            }
        }
    }

    fn fail(&mut self, error: Error) {
        self.failure = Some(error);
        self.closing = true;
    }

    /// Size of the part of the window that the picture takes, pixels.
    fn picture_size(&self) -> [u32; 2] {
        let Some(canvas) = &self.canvas else {
            return [1, 1];
        };
        let [width, height] = canvas.size();
        let panel = if self.panel_shown {
            (WIDTH * canvas.egui.egui_ctx().pixels_per_point()) as u32
        } else {
            0
        };
        [width.saturating_sub(panel).max(1), height.max(1)]
    }

    fn aspect(&self) -> f64 {
        let [width, height] = self.picture_size();
        f64::from(width) / f64::from(height)
    }

    async fn fit(&mut self) {
        let aspect = self.aspect();
        let Some(stage) = &mut self.stage else { return };
        match stage.renderer.survey_by(PATIENCE, &self.look).await {
            // Before anything has moved, with the floor below.
            Ok(_) => {
                let at_start = stage.simulation.steps() == 0;
                self.camera.fit(stage.renderer.frame(at_start), aspect);
            }
            Err(error) => self.tell(Err(error)),
        }
    }

    async fn grant(&mut self, wish: Wish) {
        if let Wish::Do(action) = wish {
            return self.act(action).await;
        }
        if let Wish::Open(path) = wish {
            return self.open(&path, false).await;
        }
        if let Wish::Dismiss = wish {
            // The draft lies over the notice.
            if self.draft.take().is_none() {
                self.notice = None;
            }
            return;
        }
        if let Wish::Write = wish {
            return self.write_draft();
        }
        if let Some(undoing) = self.stage.as_ref().and_then(|own| own.undoing(&wish)) {
            self.remember(undoing);
        }
        self.carry_out(wish).await;
    }

    /// Keeps what undoes a change of a parameter: one for all that come soon after each other, as while a slider is dragged.
    fn remember(&mut self, undoing: Wish) {
        const SOON: Duration = Duration::from_secs(1);
        let is_soon = self.last_tuned.is_some_and(|last| last.elapsed() < SOON);
        let is_same = |own: &Wish| own.tunes_as(&undoing);
        if !self.tuned.iter().any(is_same) {
            self.tuned.push(undoing.clone());
        }
        if !(is_soon && self.undo.last().is_some_and(is_same)) {
            self.undo.push(undoing);
        }
        self.last_tuned = Some(Instant::now());
    }

    async fn carry_out(&mut self, wish: Wish) {
        let Some(stage) = &mut self.stage else { return };
        let outcome = match wish {
            Wish::Gravity(gravity) => stage.simulation.set_gravity(gravity),
            Wish::Drag(drag) => stage.simulation.set_drag_by(PATIENCE, drag).await,
            Wish::TimeStep(time_step) => stage.simulation.set_time_step(time_step),
            Wish::Pair(a, b, law) => stage.set_pair(a, b, law).await,
            Wish::Go(time) => {
                self.clock.playing = false;
                self.cursor = time;
                stage.go(time).await
            }
            Wish::Wall(index, look) => {
                let looks = &mut stage.renderer.scene_mut().walls;
                if looks.len() <= index {
                    looks.resize(index + 1, WallLook::default());
                }
                looks[index] = look;
                Ok(())
            }
            Wish::Do(_) | Wish::Open(_) | Wish::Write | Wish::Dismiss => Ok(()),
        };
        self.tell(outcome);
    }

    async fn act(&mut self, action: Action) {
        match action {
            Action::Play => self.clock.playing = !self.clock.playing,
            Action::Faster => self.clock.speed = (2.0 * self.clock.speed).min(1e3),
            Action::Slower => self.clock.speed = (0.5 * self.clock.speed).max(1e-6),
            Action::Pick => self.mode = Mode::Pick,
            Action::Camera => self.mode = Mode::Camera,
            Action::Fit => self.fit().await,
            Action::Colour => {
                let all = crate::render::ColourBy::ALL;
                self.look.colour_by = all[(self.look.colour_by as usize + 1) % all.len()];
            }
            Action::Panel => self.panel_shown = !self.panel_shown,
            Action::Help => self.help_shown = !self.help_shown,
            Action::Next => self.open_neighbour(1).await,
            Action::Previous => self.open_neighbour(-1).await,
            Action::Record => match self.recording {
                Some(_) => self.stop_recording(),
                None => self.start_recording(),
            },
            Action::Picture => self.save_picture().await,
            Action::Undo => {
                self.last_tuned = None;
                if let Some(undoing) = self.undo.pop() {
                    self.carry_out(undoing).await;
                }
            }
            Action::Save => self.draw_up(),
            Action::Open => self.choose(),
            Action::Gallery => self.toggle_gallery(),
            Action::Quit => {
                self.stop_recording();
                self.closing = true;
            }
            Action::Step => {
                self.clock.playing = false;
                let outcome = match &mut self.stage {
                    Some(Stage {
                        timeline: Timeline::Kept { run, shown },
                        simulation,
                        ..
                    }) => {
                        let next = (*shown + 1) % run.moments().len();
                        *shown = next;
                        self.cursor = run.moments()[next].time;
                        run.show(next, simulation)
                    }
                    Some(stage) => self.clock.take(&mut stage.simulation, 1).await,
                    None => Ok(()),
                };
                self.tell(outcome);
            }
            Action::Reset => {
                self.cursor = 0.0;
                let outcome = match &mut self.stage {
                    Some(stage) => stage.reset().await,
                    None => Ok(()),
                };
                self.tell(outcome);
            }
            Action::Gravity => {
                if let Some(gravity) = self.stage.as_ref().map(Stage::toggled_gravity) {
                    Box::pin(self.grant(Wish::Gravity(gravity))).await;
                }
            }
        }
    }

    /// Has the forces act that the scene binds to a key, or not. Returns whether there are any.
    fn push(&mut self, key: &Key, down: bool) -> bool {
        let (Some(stage), Some(key)) = (&mut self.stage, keys::character(key)) else {
            return false;
        };
        stage.simulation.set_key(key, down)
    }

    async fn open_neighbour(&mut self, by: isize) {
        // There may be others than when this one was opened.
        self.scenes = stage::neighbours(&self.scene);
        let count = self.scenes.len() as isize;
        let place = self.scenes.iter().position(|path| *path == self.scene);
        if let Some(place) = place {
            let next = (place as isize + by).rem_euclid(count) as usize;
            self.open(&self.scenes[next].clone(), false).await;
        }
    }

    /// Shows what saving the parameters would change in the scene's file.
    fn draw_up(&mut self) {
        let Some(stage) = self.stage.as_ref().filter(|own| !IN_PAGE && !own.is_kept()) else {
            return;
        };
        let tuned = (stage.simulation.model(), stage.renderer.scene());
        let path = &stage.path;
        let drawn_up = std::fs::read_to_string(path)
            .map_err(|error| format!("the scene {} cannot be read: {error}", path.display()))
            .and_then(|text| Draft::new(path, &text, &stage.written, tuned, &self.tuned));
        match drawn_up {
            Ok(draft) if !draft.changes() && draft.left_out.is_empty() => {
                let sentence = "the scene's file already has these parameters";
                self.notice = Some(Notice::told(sentence.to_owned()));
            }
            Ok(draft) => self.draft = Some(draft),
            Err(sentence) => self.notice = Some(Notice::wrong(sentence)),
        }
    }

    fn write_draft(&mut self) {
        let (Some(draft), Some(stage)) = (self.draft.take(), &mut self.stage) else {
            return;
        };
        let path = draft.path.display();
        let is_same = std::fs::read_to_string(&draft.path).is_ok_and(|own| own == draft.before);
        self.notice = Some(if !is_same {
            let sentence =
                format!("{path} has changed in the meantime, and was not overwritten; save again");
            Notice::wrong(sentence)
        } else if let Err(error) = std::fs::write(&draft.path, &draft.after) {
            Notice::wrong(format!("{path} cannot be written: {error}"))
        } else {
            stage.written = stage.simulation.model().clone();
            stage.written.view = stage.renderer.scene().clone();
            self.saved = Some(draft.after);
            Notice::told(format!("the parameters are saved in {path}"))
        });
    }

    fn start_recording(&mut self) {
        let (Some(canvas), Some(stage)) = (&self.canvas, &self.stage) else {
            return;
        };
        match Recording::start(&canvas.context, &stage.simulation, &stage.path) {
            Ok((recording, notice)) => {
                self.recording = Some(recording);
                self.notice = notice.map(Notice::told);
            }
            Err(sentence) => self.notice = Some(Notice::wrong(sentence)),
        }
    }

    async fn save_picture(&mut self) {
        let size = self.picture_size();
        let (Some(canvas), Some(stage)) = (&self.canvas, &mut self.stage) else {
            return;
        };
        let (context, simulation) = (&canvas.context, &mut stage.simulation);
        let drawn = record::picture(context, simulation, size, &self.camera, &self.look);
        let saved = match (drawn.await, &self.deliver) {
            (Err(error), _) => Err(error.to_string()),
            (Ok(picture), Some(deliver)) => {
                record::encode(&picture, &stage.path).map(|(name, bytes)| {
                    deliver(&name, &bytes);
                    format!("picture {name}")
                })
            }
            #[cfg(not(target_family = "wasm"))]
            (Ok(picture), None) => record::save(&picture, &stage.path),
            #[cfg(target_family = "wasm")]
            (Ok(_), None) => Err("the page takes no pictures".to_owned()),
        };
        self.notice = Some(match saved {
            Ok(sentence) => Notice::told(sentence),
            Err(sentence) => Notice::wrong(sentence),
        });
    }

    fn stop_recording(&mut self) {
        if let Some(recording) = self.recording.take() {
            self.notice = Some(match recording.finish() {
                Ok(sentence) => Notice::told(sentence),
                Err(sentence) => Notice::wrong(sentence),
            });
        }
    }

    /// Takes the steps that are due before a picture, or goes on in what was kept; outside of a page, most are taken
    /// [while it is drawn](Clock::advance_beside).
    async fn advance(&mut self) -> Result<()> {
        let Some(stage) = &mut self.stage else {
            return Ok(());
        };
        let is_filmed = self.recording.is_some();
        if stage.is_kept() {
            let passed = self.clock.passed();
            if self.clock.playing {
                let [first, last] = stage.timeline.span(0.0);
                self.cursor += self.clock.speed * if is_filmed { 1.0 / RATE } else { passed };
                if self.cursor > last {
                    self.clock.playing = self.looped;
                    self.cursor = if self.looped { first } else { last };
                }
                stage.go(self.cursor).await?;
            }
        } else if !is_filmed {
            if IN_PAGE {
                self.clock.advance(&mut stage.simulation).await?;
            }
        } else if self.clock.playing {
            // A film is as smooth as it should be, however long its frames take.
            let time_step = stage.simulation.model().time_step;
            let steps = (self.clock.speed / RATE / time_step).round().max(1.0);
            let steps = steps as u64;
            self.clock.take(&mut stage.simulation, steps).await?;
        }
        if !self.clock.playing {
            return Ok(());
        }
        stage.keep().await?;
        let Some(recording) = &mut self.recording else {
            return Ok(());
        };
        let drawn = &mut stage.simulation;
        let overlay = stage
            .renderer
            .overlay_by(PATIENCE, drawn, &self.camera, &self.look)
            .await?;
        let (camera, look, lines) = (&self.camera, &self.look, self.hand.lines());
        if let Err(sentence) = recording.add(drawn, camera, look, lines, overlay.as_ref()) {
            self.recording = None;
            self.notice = Some(Notice::wrong(sentence));
        }
        Ok(())
    }

    /// Whether an action is to be done now: in the gallery, few are.
    fn takes(&self, action: Action) -> bool {
        use Action::{Gallery, Open, Quit};
        !self.has_gallery() || matches!(action, Gallery | Open | Quit)
    }

    /// One frame.
    async fn draw(&mut self) -> Result<()> {
        if self.has_gallery() {
            return self.draw_gallery().await;
        }
        let start = Instant::now();
        let outcome = self.advance().await;
        self.tell(outcome);
        let mut simulation_time = start.elapsed();
        let picture_size = self.picture_size();
        self.follow_picked().await;

        let mut look = self.paced(picture_size);
        let Some(canvas) = &mut self.canvas else {
            return Ok(());
        };
        look.picked = match &self.picked {
            Some(Picked::Body { state, .. }) => Some(state.index as u32),
            _ => None,
        };
        let survey_start = Instant::now();
        if let Some(stage) = &mut self.stage {
            let renderer = &mut stage.renderer;
            renderer.update_for(&stage.simulation, &look)?;
            if PATIENCE == Patience::Yield {
                renderer.survey_when_due(PATIENCE, &look).await?;
            }
        }
        let mut lines = self.hand.lines();
        self.overlay = match &mut self.stage {
            Some(stage) => {
                let drawn = &mut stage.simulation;
                let overlay = stage
                    .renderer
                    .overlay_by(PATIENCE, drawn, &self.camera, &look);
                overlay.await?
            }
            None => None,
        };
        if let Some(overlay) = &self.overlay {
            lines.extend_from_slice(&overlay.lines);
        }
        let mut drawing_time = survey_start.elapsed();
        if let Some(stage) = &mut self.stage {
            stage.history.follow(&mut stage.simulation).await?;
        }
        // From here until it is shown, a page that waits for something loses the picture.
        let mut wishes = Vec::new();
        let mut begun = None;
        if !(look.hides && canvas.keeps_layer()) {
            let Some(frame) = canvas.begin()? else {
                return Ok(());
            };
            let input = canvas.egui.take_egui_input(&canvas.window);
            let context = canvas.egui.egui_ctx().clone();
            let output = context.run_ui(input, |ui| wishes = self.panel(ui));
            self.repaints = output
                .viewport_output
                .values()
                .any(|viewport| viewport.repaint_delay.is_zero());
            begun = Some((frame, Some(output)));
        }
        let Some(canvas) = &mut self.canvas else {
            return Ok(());
        };
        let drawing_start = Instant::now();
        let mut picture_took = None;
        let is_live = self.recording.is_none() && !IN_PAGE;
        match &mut self.stage {
            Some(stage) => {
                self.shown = look;
                let length = canvas.frame_time();
                let is_live = is_live && !stage.is_kept();
                let Stage {
                    renderer,
                    simulation,
                    ..
                } = stage;
                let camera = &self.camera;
                let draw = || {
                    let (frame, output) = match begun {
                        Some(begun) => begun,
                        None => match canvas.begin()? {
                            Some(frame) => (frame, None),
                            None => return Ok(None),
                        },
                    };
                    let start = Instant::now();
                    // Steps need not wait for this.
                    if PATIENCE == Patience::Block {
                        block_on(renderer.survey_when_due(PATIENCE, &look))?;
                    }
                    renderer.draw(&frame.view, picture_size, camera, &look, &lines)?;
                    // What was drawn is done when the device says so, and not when it was asked for.
                    if PATIENCE == Patience::Block {
                        canvas.context.wait()?;
                    }
                    let took = start.elapsed();
                    canvas.finish(frame, output, look.hides)?;
                    Ok(Some(took))
                };
                let (drawn, steps) = match is_live {
                    true => self.clock.advance_beside(simulation, start, length, draw),
                    false => (draw(), Ok(Duration::ZERO)),
                };
                picture_took = drawn?;
                drawing_time += picture_took.unwrap_or_default();
                // winit panics if the display has gone meanwhile; where its loop meets that first, Xlib ends the program.
                canvas.size();
                match steps {
                    Ok(time) => simulation_time += time,
                    Err(error) => self.tell(Err(error)),
                }
                if picture_took.is_none() {
                    return Ok(());
                }
            }
            None => {
                if let Some((frame, output)) = begun {
                    canvas.clear(&frame);
                    canvas.finish(frame, output, false)?;
                }
            }
        }
        if let Some(canvas) = &self.canvas
            && PATIENCE == Patience::Yield
        {
            canvas.context.wait_by(PATIENCE).await?;
            drawing_time += drawing_start.elapsed();
            picture_took = Some(drawing_start.elapsed());
        }
        let changed = !wishes.is_empty();
        if changed {
            // As while the camera moves: who drags a slider is not to wait for a picture that is drawn with care.
            self.moved = Some(Instant::now());
        }
        for wish in wishes {
            self.grant(wish).await;
        }
        self.measure(simulation_time, drawing_time);
        if let Some(took) = picture_took {
            self.learn(took);
        }
        if self.clock.playing || self.repaints || changed || self.hand.is_pulling() {
            self.request();
        }
        Ok(())
    }

    fn measure(&mut self, simulation: Duration, drawing: Duration) {
        const NEW: f64 = 0.1;
        let now = Instant::now();
        let passed = self.last_frame.map(|last| (now - last).as_secs_f64());
        self.last_frame = Some(now);
        // A window in which nothing moves draws when it is asked to, which is no frame time.
        let own = (simulation + drawing).as_secs_f64();
        let frame = passed.filter(|_| self.clock.playing).unwrap_or(own);
        let follow = |average: &mut f64, value: f64| *average += NEW * (value - *average);
        follow(&mut self.timing.frame, frame);
        follow(&mut self.timing.simulation, simulation.as_secs_f64());
        follow(&mut self.timing.drawing, drawing.as_secs_f64());
    }

    /// The look of the next picture: all of it where nothing moves, and else as much as a software driver has time for.
    fn paced(&mut self, size: [u32; 2]) -> Look {
        let from = (self.camera, size);
        if self.seen.replace(from).is_some_and(|before| before != from) {
            self.moved = Some(Instant::now());
        }
        self.moved = self.moved.filter(|when| when.elapsed() < STILL);
        let is_moving = self.clock.playing || self.moved.is_some();
        let is_software = self.canvas.as_ref().is_some_and(|canvas| !canvas.is_gpu);
        match is_moving && is_software && self.recording.is_none() {
            true => self.pace.of(&self.look),
            false => self.look,
        }
    }

    /// Learns from how long the picture took that is shown, and has it drawn with care once nothing moves.
    fn learn(&mut self, took: Duration) {
        const WANTED: Duration = Duration::from_millis(50);
        if !self.shown.hides {
            return;
        }
        let wanted = match self.clock.lags {
            true => BESIDE_STEPS,
            false => WANTED,
        };
        self.pace.learn(took, wanted, self.look.supersampling);
        if self.clock.playing {
            return;
        }
        match self.moved {
            #[cfg(not(target_family = "wasm"))]
            Some(when) => self.sharpen_at = Some(when + STILL),
            _ => self.request(),
        }
    }

    /// Brings what is known of the picked body up to date.
    async fn follow_picked(&mut self) {
        let (Some(stage), Some(Picked::Body { state, .. })) = (&mut self.stage, &mut self.picked)
        else {
            return;
        };
        // Where it is now among the bodies; it may be gone.
        let identities = &stage.simulation.on_host().identities;
        let Some(index) = identities.find(state.id) else {
            self.picked = None;
            return self.hand.let_go();
        };
        match stage.simulation.body_at_by(PATIENCE, index as u32).await {
            Ok(now) => *state = now,
            Err(error) => return self.tell(Err(error)),
        }
        self.keep_pulling();
    }

    fn request(&self) {
        if let Some(canvas) = &self.canvas {
            canvas.window.request_redraw();
        }
    }

    /// Reads files again that have changed and are quiet now.
    async fn reload(&mut self) {
        let now = Instant::now();
        let due = |(_, when): &(PathBuf, Instant)| *when <= now;
        if !self.changed.iter().any(due) {
            return;
        }
        let paths: Vec<PathBuf> = self
            .changed
            .extract_if(.., |c| due(c))
            .map(|c| c.0)
            .collect();
        let same = |path: &PathBuf| {
            path.file_name() == self.scene.file_name()
                && path.canonicalize().ok() == self.scene.canonicalize().ok()
        };
        let is_own = || {
            let text = std::fs::read_to_string(&self.scene);
            self.saved.is_some() && text.ok() == self.saved
        };
        if paths.iter().any(same) && !is_own() {
            self.open(&self.scene.clone(), true).await;
        }
        if paths
            .iter()
            .any(|path| path.extension().is_some_and(|e| e == "wgsl"))
            && let (Some(folder), Some(stage)) = (watch::shaders(), &mut self.stage)
        {
            let outcome = match Texts::read(&folder) {
                Ok(texts) => stage
                    .renderer
                    .reload(&texts)
                    .map_err(|error| error.to_string()),
                Err(error) => Err(format!("the shaders cannot be read: {error}")),
            };
            self.notice = outcome.err().map(Notice::wrong);
        }
        self.request();
    }

    /// Takes an event of the window.
    async fn hear(&mut self, event: WindowEvent) {
        let Some(canvas) = &mut self.canvas else {
            return;
        };
        let response = canvas.egui.on_window_event(&canvas.window, &event);
        canvas.has_heard |= response.consumed;
        if response.repaint && !matches!(event, WindowEvent::RedrawRequested) {
            canvas.window.request_redraw();
        }
        let typing = canvas.egui.egui_ctx().text_edit_focused();
        match event {
            WindowEvent::CloseRequested => self.act(Action::Quit).await,
            WindowEvent::Resized(_) | WindowEvent::ScaleFactorChanged { .. } => {
                canvas.resize();
                canvas.window.request_redraw();
            }
            WindowEvent::Occluded(false) => canvas.window.request_redraw(),
            WindowEvent::RedrawRequested => {
                if let Err(error) = self.draw().await {
                    self.fail(error);
                }
            }
            WindowEvent::DroppedFile(path) => {
                self.open(&path, false).await;
                self.request();
            }
            WindowEvent::KeyboardInput { event, .. } if !typing => {
                let down = event.state == ElementState::Pressed;
                let alone = !self.hand.has_control() && !self.has_gallery();
                if alone && self.push(&event.logical_key, down) {
                    self.request();
                } else if down
                    && let Some(action) = action(&event.logical_key, self.hand.has_control())
                    && self.takes(action)
                {
                    self.act(action).await;
                    self.request();
                }
            }
            // The mouse is the panel's where it is over that, and until what was begun there ends.
            _ => {
                let consumed = response.consumed || self.has_gallery();
                self.mouse(&event, consumed).await;
            }
        }
    }
}
