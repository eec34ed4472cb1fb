//! The window, under a virtual display: what it shows, what keys and the mouse do, and that it closes.
//!
//! It takes Xvfb, xdotool, ffmpeg and an adapter that can draw, which `cargo xtask test` installs. Where they are
//! missing, the tests are ignored, and say so.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use image::{Rgba, RgbaImage};
use libtest_mimic::{Arguments, Failed, Trial};
use rockfall::render::{Camera, Look, PICTURE, Renderer};
use rockfall::step::gpu::Adapter;
use rockfall::{Simulation, scene};
use tempfile::TempDir;
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    ClientMessageEvent, ConnectionExt as _, CreateWindowAux, EventMask, PropMode,
    SELECTION_NOTIFY_EVENT, SelectionNotifyEvent, WindowClass,
};
use x11rb::wrapper::ConnectionExt as _;

/// Time that a window may take for what it is asked for: software adapters are slow.
const PATIENCE: Duration = Duration::from_secs(60);

type Outcome = Result<(), Failed>;
type Test = fn() -> Outcome;

const SCREEN: [u32; 2] = [900, 700];
const SIZE: [u32; 2] = [480, 360];

/// Size of the game's window.
const GAME: [u32; 2] = [480, 360];

/// Width of the panel, points.
const PANEL: u32 = 300;

/// Places in the panel of a window that is 520 pixels wide: the button that plays, the list of
/// scenes.
const PLAY: [u32; 2] = [248, 12];
const LIST: [u32; 2] = [300, 126];

fn main() {
    let tests: [(&str, Test); 20] = [
        (
            "it_draws_what_pictures_show_and_closes",
            it_draws_and_closes,
        ),
        ("keys_and_mouse_work", keys_and_mouse_work),
        (
            "it_says_that_the_display_has_gone_and_keeps_the_run",
            the_display_goes_away,
        ),
        (
            "the_camera_zooms_and_shifts_by_what_the_mouse_says",
            the_camera_zooms_and_shifts,
        ),
        (
            "steps_are_single_and_gravity_can_be_switched_off",
            steps_and_gravity,
        ),
        ("keys_of_the_scene_push", keys_of_the_scene_push),
        (
            "the_mouse_pulls_bodies_and_moves_planes",
            the_mouse_pulls_bodies_and_moves_planes,
        ),
        (
            "other_scenes_are_opened_by_key_by_list_and_by_dropping_them",
            other_scenes_are_opened,
        ),
        ("what_the_panel_is_told_acts", what_the_panel_is_told_acts),
        (
            "what_was_tuned_is_undone_and_saved_after_a_look",
            what_was_tuned_is_undone_and_saved,
        ),
        (
            "a_folder_of_scenes_is_a_gallery_with_pictures",
            a_folder_is_a_gallery,
        ),
        (
            "files_are_opened_by_a_dialog_of_the_system",
            files_are_opened_by_a_dialog,
        ),
        ("it_makes_films", it_makes_films),
        (
            "without_ffmpeg_it_makes_pictures",
            without_ffmpeg_it_makes_pictures,
        ),
        ("it_can_be_resized_and_hidden", it_can_be_resized_and_hidden),
        ("it_gets_over_a_lost_surface", it_gets_over_a_lost_surface),
        (
            "with_two_pixels_a_point_all_is_twice_as_large",
            with_two_pixels_a_point,
        ),
        (
            "a_wrong_scene_is_shown_beside_the_last_good_one",
            a_wrong_scene_is_shown,
        ),
        ("without_a_display_it_says_so", without_a_display_it_says_so),
        ("a_game_of_its_own_draws_what_it_steps", a_game_draws),
    ];
    let missing = missing();
    let trials = tests.map(|(name, test)| {
        let trial = Trial::test(name, test).with_ignored_flag(missing.is_some());
        match &missing {
            Some(what) => trial.with_kind(what.clone()),
            None => trial,
        }
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit();
}

/// Programs that the tests need and this machine does not have.
fn missing() -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("needs the X11 of Linux".to_owned());
    }
    let lacks = |program: &str, argument: &str| {
        let mut command = Command::new(program);
        command
            .arg(argument)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_err()
    };
    // A film that is not made is no test that passes.
    for (program, argument) in [
        ("Xvfb", "-help"),
        ("xdotool", "version"),
        ("ffmpeg", "-version"),
    ] {
        if lacks(program, argument) {
            return Some(format!("needs {program}: cargo xtask test installs it"));
        }
    }
    None
}

/// A virtual display, with the window in it.
struct Stage {
    xvfb: Child,
    display: String,
    directory: TempDir,
    viewer: Option<Child>,
    scene: PathBuf,
}

impl Drop for Stage {
    fn drop(&mut self) {
        for child in self.viewer.iter_mut().chain([&mut self.xvfb]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The part of an adapter's name that draws in tests.
fn adapter() -> String {
    std::env::var("ROCKFALL_TEST_ADAPTER").unwrap_or_else(|_| "software".to_owned())
}

const SCENE: &str = r#"{ "version": 1,
    "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
    "shapes": { "ball": { "sphere": { "radius": 0.5 }, "material": "stone" },
                "cube": { "cube": { "n": 2, "radius": 0.25 }, "material": "stone" } },
    "contact": { "stiffness": 1e5 },
    "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" } ],
    "bodies": [ { "shape": "ball", "position": [0.6, 0.5, 0] },
                { "shape": "cube", "position": [-0.7, 1.5, 0] } ] }"#;

/// A scene in which the ball is thrown up, with steps that one can see.
fn thrown() -> String {
    SCENE
        .replace(
            "\"position\": [0.6, 0.5, 0]",
            "\"position\": [0.6, 0.5, 0], \"velocity\": [0, 5, 0]",
        )
        .replace(
            "\"stiffness\": 1e5",
            "\"stiffness\": 1e5, \"time_step\": 0.02",
        )
}

impl Stage {
    /// Opens the window of [`SCENE`], paused and without the panel.
    fn open() -> Result<Stage, Failed> {
        Stage::open_with(SCENE, &["--plain"], SIZE, &[])
    }

    /// Opens the window of a scene, paused, of a size in logical pixels, with `variables` of the environment.
    fn open_with(
        text: &str,
        arguments: &[&str],
        [width, height]: [u32; 2],
        variables: &[(&str, &str)],
    ) -> Result<Stage, Failed> {
        let logical = format!("{width}x{height}");
        let scale = variables
            .iter()
            .find(|(name, _)| *name == "WINIT_X11_SCALE_FACTOR");
        let scale: u32 = scale.map_or(Ok(1), |(_, scale)| scale.parse())?;
        let size = [width, height].map(|side| scale * side);
        let mut stage = Stage::empty(text)?;
        let scene = stage.scene.clone();
        stage.view(&scene, &logical, arguments, variables)?;
        stage.wait_for("a picture", |stage| {
            let shot = stage.shot(size)?;
            // Sky above, and no black below.
            let below = shot.get_pixel(10, size[1] - 10);
            Ok(shot.get_pixel(10, 10).0[2] > 100 && below.0[2] > 60)
        })?;
        Ok(stage)
    }

    /// Opens the window on a scene or a folder, and waits until it is there.
    fn view(
        &mut self,
        what: &Path,
        size: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Outcome {
        let viewer = self
            .command(env!("CARGO_BIN_EXE_rockfall"))
            .arg("view")
            .arg(what)
            .args(["--backend", "cpu", "--paused", "--size", size])
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        self.viewer = Some(viewer);
        self.wait_for_window("Rockfall")
    }

    /// A display without a window, and a scene of this text.
    fn empty(text: &str) -> Result<Stage, Failed> {
        let directory = tempfile::tempdir()?;
        let scene = directory.path().join("two.json");
        fs::write(&scene, text)?;
        let [width, height] = SCREEN;
        let mut xvfb = Command::new("Xvfb")
            .args([
                "-displayfd",
                "1",
                "-noreset",
                "-nolisten",
                "tcp",
                "-screen",
                "0",
            ])
            .arg(format!("{width}x{height}x24"))
            .arg("-fbdir")
            .arg(directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut number = String::new();
        BufReader::new(xvfb.stdout.take().expect("it is piped")).read_line(&mut number)?;
        Ok(Stage {
            xvfb,
            display: format!(":{}", number.trim()),
            directory,
            viewer: None,
            scene,
        })
    }

    /// Waits for a window of this name, and moves it into the upper left corner.
    fn wait_for_window(&mut self, name: &str) -> Outcome {
        self.wait_for("a window", |stage| {
            let found = stage.xdotool(&["search", "--name", name]);
            Ok(found.is_ok_and(|windows| !windows.trim().is_empty()))
        })?;
        let window = self.window(name)?;
        self.xdotool(&["windowmove", &window, "0", "0"])?;
        self.xdotool(&["windowfocus", &window])?;
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("DISPLAY", &self.display)
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("WINIT_X11_SCALE_FACTOR")
            .current_dir(self.directory.path());
        command
    }

    fn xdotool(&self, arguments: &[&str]) -> Result<String, Failed> {
        let output = self.command("xdotool").args(arguments).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("xdotool {arguments:?}: {said}").into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn window(&self, name: &str) -> Result<String, Failed> {
        let windows = self.xdotool(&["search", "--name", name])?;
        Ok(windows.lines().next().unwrap_or_default().to_owned())
    }

    fn key(&self, key: &str) -> Result<(), Failed> {
        self.xdotool(&["key", key]).map(|_| ())
    }

    /// Waits until `done`; fails if the window has gone, or if it takes too long.
    fn wait_for(
        &mut self,
        what: &str,
        mut done: impl FnMut(&Stage) -> Result<bool, Failed>,
    ) -> Result<(), Failed> {
        let start = Instant::now();
        while !done(self)? {
            if let Some(viewer) = &mut self.viewer
                && let Some(status) = viewer.try_wait()?
            {
                return Err(format!(
                    "waiting for {what}, the window ended: {status}, {}",
                    said(viewer)
                )
                .into());
            }
            if start.elapsed() > PATIENCE {
                return Err(format!("there is still not {what}").into());
            }
            sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// The upper left corner of the screen.
    fn shot(&self, size: [u32; 2]) -> Result<RgbaImage, Failed> {
        let file = fs::read(self.directory.path().join("Xvfb_screen0"))?;
        Ok(screen(&file, size))
    }

    /// A picture that stays as it is, of a window that does nothing: one that works may be drawing a sharper picture.
    fn still(&mut self, size: [u32; 2]) -> Result<RgbaImage, Failed> {
        let mut last = (self.shot(size)?, self.cpu_time()?);
        self.wait_for("a picture that stays", |stage| {
            sleep(Duration::from_millis(400));
            let next = (stage.shot(size)?, stage.cpu_time()?);
            let same = next == last;
            last = next;
            Ok(same)
        })?;
        Ok(last.0)
    }

    /// CPU time that the window has taken so far, clock ticks.
    fn cpu_time(&self) -> Result<u64, Failed> {
        let viewer = self.viewer.as_ref().ok_or("there is no window")?;
        let stat = fs::read_to_string(format!("/proc/{}/stat", viewer.id()))?;
        // User and system time are fields 14 and 15 of proc(5). The second, the name, may hold spaces, and ends with the last `)`.
        let (_, from_third) = stat.rsplit_once(") ").ok_or("stat has no name")?;
        let times = from_third.split(' ').skip(11).take(2);
        Ok(times.map(str::parse::<u64>).sum::<Result<u64, _>>()?)
    }

    /// Waits until the picture differs from `before` by more than `least`.
    fn wait_for_change(
        &mut self,
        what: &str,
        before: &RgbaImage,
        least: f64,
    ) -> Result<(), Failed> {
        let (width, height) = before.dimensions();
        self.wait_for(what, |stage| {
            Ok(difference(before, &stage.shot([width, height])?) > least)
        })
    }

    /// Waits until the ball of the scene is seen as `seen` says.
    fn wait_for_ball(&mut self, what: &str, seen: impl Fn(Seen) -> bool) -> Result<(), Failed> {
        let mut last = Seen::default();
        self.wait_for(what, |stage| {
            last = Seen::ball(&stage.shot(SIZE)?);
            Ok(seen(last))
        })
        .map_err(|error| format!("{}; last {last:?}", error.message().unwrap_or_default()).into())
    }

    /// Waits until the window has a title.
    fn wait_for_title(&mut self, title: &str) -> Result<(), Failed> {
        let window = self.window("Rockfall")?;
        self.wait_for(title, |stage| {
            let name = stage.xdotool(&["getwindowname", &window])?;
            Ok(name.trim() == title)
        })
    }

    /// Moves the mouse to a place and clicks.
    fn click(&self, [x, y]: [u32; 2]) -> Result<(), Failed> {
        let [x, y] = [x, y].map(|place| place.to_string());
        self.xdotool(&["mousemove", &x, &y, "click", "1"])
            .map(|_| ())
    }

    /// Moves the mouse to `from`, presses a button and moves it to `to`.
    fn drag(&self, button: &str, from: [f64; 2], to: [f64; 2]) -> Result<(), Failed> {
        let places = [from, to].map(|place| place.map(|part| format!("{part:.0}")));
        let [[x, y], [u, v]] = &places;
        self.xdotool(&["mousemove", x, y, "mousedown", button])?;
        self.xdotool(&["mousemove", u, v]).map(|_| ())
    }

    /// Drops a file on the window, as a file manager does (by the protocol XDND, version 5).
    fn drop_file(&self, path: &Path) -> Outcome {
        let (x, _) = x11rb::connect(Some(&self.display))?;
        let atom = |name: &str| -> Result<u32, Failed> {
            Ok(x.intern_atom(false, name.as_bytes())?.reply()?.atom)
        };
        let window: u32 = self.window("Rockfall")?.parse()?;
        let source = x.generate_id()?;
        let root = x.setup().roots[0].root;
        let (class, nothing) = (WindowClass::INPUT_ONLY, CreateWindowAux::new());
        x.create_window(0, source, root, 0, 0, 1, 1, 0, class, 0, &nothing)?;
        let (selection, list) = (atom("XdndSelection")?, atom("text/uri-list")?);
        let tell = |name: &str, data: [u32; 5]| -> Outcome {
            let event = ClientMessageEvent::new(32, window, atom(name)?, data);
            x.send_event(false, window, EventMask::NO_EVENT, event)?;
            Ok(())
        };
        let action = atom("XdndActionCopy")?;
        tell("XdndEnter", [source, 5 << 24, list, 0, 0])?;
        tell("XdndPosition", [source, 0, 50 << 16 | 50, 0, action])?;
        let uri = format!("file://{}\r\n", path.display()).replace(' ', "%20");
        x.change_property8(PropMode::REPLACE, window, selection, list, uri.as_bytes())?;
        let event = SelectionNotifyEvent {
            response_type: SELECTION_NOTIFY_EVENT,
            sequence: 0,
            time: 0,
            requestor: window,
            selection,
            target: list,
            property: selection,
        };
        x.send_event(false, window, EventMask::NO_EVENT, event)?;
        tell("XdndDrop", [source, 0, 0, 0, 0])?;
        // Until the server has taken all of it.
        x.get_input_focus()?.reply()?;
        Ok(())
    }

    /// Closes the window with the key q; it must end with exit code 0.
    fn close(self) -> Outcome {
        self.finish().map(drop)
    }

    /// The end of the program, and its messages.
    fn finish(mut self) -> Result<String, Failed> {
        self.key("q")?;
        let mut viewer = self.viewer.take().expect("the window is open");
        let start = Instant::now();
        loop {
            if let Some(status) = viewer.try_wait()? {
                let said = said(&mut viewer);
                if status.code() == Some(0) && !said.contains("error") {
                    return Ok(said);
                }
                return Err(format!("{status}: {said}").into());
            }
            if start.elapsed() > PATIENCE {
                let _ = viewer.kill();
                return Err("the window does not close".into());
            }
            sleep(Duration::from_millis(20));
        }
    }
}

/// Messages of a program on standard error.
fn said(child: &mut Child) -> String {
    let mut text = String::new();
    if let Some(errors) = &mut child.stderr {
        let _ = errors.read_to_string(&mut text);
    }
    // Mesa's, on a machine without a session.
    text.lines()
        .filter(|line| !line.contains("XDG_RUNTIME_DIR"))
        .collect::<Vec<_>>()
        .join("; ")
}

/// The upper left corner of a screen as Xvfb keeps it in a file: the format XWD, version 7, whose header
/// is of big-endian words.
fn screen(file: &[u8], [width, height]: [u32; 2]) -> RgbaImage {
    let word = |index: usize| {
        let bytes = file[4 * index..4 * index + 4]
            .try_into()
            .expect("four bytes");
        u32::from_be_bytes(bytes) as usize
    };
    let (header, bytes_per_line, colours) = (word(0), word(12), word(19));
    let least_first = word(7) == 0;
    let start = header + 12 * colours;
    RgbaImage::from_fn(width, height, |x, y| {
        let place = start + y as usize * bytes_per_line + 4 * x as usize;
        let [a, b, c, d] = file[place..place + 4].try_into().expect("four bytes");
        if least_first {
            Rgba([c, b, a, 255])
        } else {
            Rgba([b, c, d, 255])
        }
    })
}

/// Pixels in which something is seen: their number, and their middle.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    pixels: f64,
    x: f64,
    y: f64,
}

impl Seen {
    fn new(image: &RgbaImage, is: impl Fn([i32; 3]) -> bool) -> Seen {
        let mut seen = Seen::default();
        for (x, y, pixel) in image.enumerate_pixels() {
            let [r, g, b, _] = pixel.0.map(i32::from);
            if is([r, g, b]) {
                seen.pixels += 1.0;
                seen.x += f64::from(x);
                seen.y += f64::from(y);
            }
        }
        let count = seen.pixels.max(1.0);
        seen.x /= count;
        seen.y /= count;
        seen
    }

    /// The ball of the scene, which is brown, or orange while it is picked.
    fn ball(image: &RgbaImage) -> Seen {
        Seen::new(image, |[r, g, b]| r > b + 25 && r > g)
    }

    /// The bodies that are drawn as picked.
    fn picked(image: &RgbaImage) -> Seen {
        Seen::new(image, |[r, g, b]| r > b + 75 && r > g)
    }

    /// The cube, which is green.
    fn cube(image: &RgbaImage) -> Seen {
        Seen::new(image, |[r, g, b]| g > r + 25 && g > b + 25)
    }

    fn from(self, other: Seen) -> [f64; 2] {
        [self.x - other.x, self.y - other.y]
    }
}

/// The root of the mean square of the difference of two pictures, from 0 to 1.
fn difference(a: &RgbaImage, b: &RgbaImage) -> f64 {
    let channels = a.iter().zip(b.iter());
    let sum: f64 = channels
        .map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2))
        .sum();
    (sum / a.len() as f64).sqrt() / 255.0
}

/// Whether the window shows what a picture of the same scene does, without a window.
fn check_against_picture(stage: &Stage, shown: &RgbaImage, size: [u32; 2], name: &str) -> Outcome {
    let model = scene::load(&stage.scene)?.model;
    let look = Look {
        supersampling: 1,
        ..Look::of(&model.view)
    };
    let mut simulation = Simulation::on_cpu(model, Some(1))?;
    let context = Adapter::to_draw(Some(&adapter()))?.open()?;
    let mut renderer = Renderer::new(&context, &simulation, PICTURE)?;
    renderer.update(&simulation)?;
    let mut camera = Camera::default();
    renderer.survey(&look)?;
    let aspect = f64::from(size[0]) / f64::from(size[1]);
    camera.fit(renderer.frame(true), aspect);
    let overlay = renderer.overlay(&mut simulation, &camera, &look)?;
    let lines = overlay.map_or(Vec::new(), |overlay| overlay.lines);
    let expected = renderer.picture(size, &camera, &look, &lines)?;
    let off = difference(shown, &expected);
    if off > 0.01 {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        shown.save(folder.join(format!("{name}_shown.png")))?;
        expected.save(folder.join(format!("{name}_expected.png")))?;
        return Err(format!("the window and the picture differ by {off}; see target/tmp").into());
    }
    Ok(())
}

fn it_draws_and_closes() -> Outcome {
    let middle =
        |image: &RgbaImage| image::imageops::crop_imm(image, 190, 130, 100, 100).to_image();
    let shown_with = |view: &str| -> Result<(Stage, RgbaImage), Failed> {
        let asked = format!(r#""version": 1, "view": {view},"#);
        let scene = SCENE.replace(r#""version": 1,"#, &asked);
        let mut stage = Stage::open_with(&scene, &["--plain"], SIZE, &[])?;
        let shown = stage.still(SIZE)?;
        Ok((stage, shown))
    };
    let (stage, plain) = shown_with("{}")?;
    check_against_picture(&stage, &plain, SIZE, "window")?;
    stage.close()?;
    let (stage, shown) = shown_with(r#"{ "background": "white", "ground": "plain" }"#)?;
    check_against_picture(&stage, &shown, SIZE, "window")?;
    stage.close()?;
    // There are no contacts as yet, and bodies are not drawn beside them.
    let (stage, shown) = shown_with(r#"{ "lines": "contacts" }"#)?;
    let off = difference(&middle(&plain), &middle(&shown));
    if off < 0.1 {
        return Err(format!("bodies are there beside contacts: {off}").into());
    }
    stage.close()
}

/// The example: a program that has the window and the device itself.
fn a_game_draws() -> Outcome {
    let mut stage = Stage::empty(SCENE)?;
    let mut game = std::env::current_exe()?;
    game.pop();
    game.pop();
    game.push("examples/game");
    let mut command = stage.command(&game.to_string_lossy());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    stage.viewer = Some(command.stderr(Stdio::piped()).spawn()?);
    stage.wait_for_window("Game")?;
    stage.wait_for("a heap", |stage| {
        Ok(stage.shot(GAME)?.get_pixel(10, 10).0[2] > 100)
    })?;
    let heap = stage.shot(GAME)?;
    stage.xdotool(&["mousemove", "100", "100", "click", "1"])?;
    // The ball is near the camera, and larger than all cubes.
    stage.wait_for_change("a ball", &heap, 0.02)
}

fn keys_and_mouse_work() -> Outcome {
    let mut stage = Stage::open()?;
    let start = stage.still(SIZE)?;
    stage.key("k")?;
    stage.wait_for_change("a fall", &start, 0.01)?;
    stage.key("space")?;
    let paused = stage.still(SIZE)?;
    stage.key("r")?;
    stage.wait_for_change("the start again", &paused, 0.01)?;
    stage.wait_for("the start as it was", |stage| {
        Ok(difference(&start, &stage.shot(SIZE)?) < 1e-3)
    })?;
    let again = stage.still(SIZE)?;
    stage.key("c")?;
    stage.wait_for_change("other colours, and a legend", &again, 0.01)?;
    let coloured = stage.still(SIZE)?;
    stage.key("h")?;
    stage.wait_for_change("the help", &coloured, 0.05)?;
    stage.key("h")?;
    let before = stage.still(SIZE)?;
    stage.xdotool(&["mousemove", "240", "60", "mousedown", "1"])?;
    stage.xdotool(&["mousemove", "300", "90"])?;
    stage.xdotool(&["mousemove", "360", "120", "mouseup", "1"])?;
    stage.wait_for_change("another view", &before, 0.02)?;
    let turned = stage.still(SIZE)?;
    stage.xdotool(&["click", "4", "click", "4", "click", "4"])?;
    stage.wait_for_change("a nearer view", &turned, 0.02)?;
    stage.key("f")?;
    let fitted = stage.still(SIZE)?;
    // In the middle of the picture stands a body.
    stage.xdotool(&["mousemove", "240", "180", "click", "1"])?;
    stage.key("p")?;
    stage.xdotool(&["mousemove", "200", "150"])?;
    stage.key("Tab")?;
    stage.wait_for_change("the panel", &fitted, 0.05)?;
    stage.close()
}

fn the_camera_zooms_and_shifts() -> Outcome {
    let mut stage = Stage::open()?;
    let start = Seen::ball(&stage.still(SIZE)?);
    // How far one turn of the wheel goes depends on the display.
    stage.xdotool(&["mousemove", "240", "180", "click", "--repeat", "3", "5"])?;
    stage.wait_for_ball("a ball that is farther", |ball| {
        ball.pixels < 0.7 * start.pixels
    })?;
    let far = Seen::ball(&stage.still(SIZE)?);
    stage.xdotool(&["click", "--repeat", "3", "4"])?;
    stage.wait_for_ball("a ball that is nearer", |ball| {
        ball.pixels > 1.4 * far.pixels
    })?;
    stage.still(SIZE)?;
    stage.key("f")?;
    stage.wait_for_ball("a ball as large as before", |ball| {
        (ball.pixels / start.pixels - 1.0).abs() < 0.02
    })?;
    // What is as far away as the middle moves with the mouse; the ball is near that.
    let shifted = |ball: Seen| {
        let [x, y] = ball.from(start);
        (45.0..80.0).contains(&x) && (-40.0..-15.0).contains(&y)
    };
    stage.drag("3", [200.0, 100.0], [260.0, 75.0])?;
    stage.wait_for_ball("a ball that was shifted", shifted)?;
    stage.xdotool(&["mouseup", "3", "keydown", "shift"])?;
    stage.drag("1", [260.0, 75.0], [200.0, 100.0])?;
    stage.wait_for_ball("a ball that was shifted back", |ball| {
        ball.from(start).iter().all(|way| way.abs() < 3.0)
    })?;
    stage.xdotool(&["mouseup", "1", "keyup", "shift"])?;
    stage.drag("2", [200.0, 100.0], [260.0, 75.0])?;
    stage.wait_for_ball("a ball that was shifted again", shifted)?;
    stage.xdotool(&["mouseup", "2"])?;
    stage.key("f")?;
    stage.wait_for_ball("a ball where it was at first", |ball| {
        ball.from(start).iter().all(|way| way.abs() < 2.0)
    })?;
    stage.close()
}

fn steps_and_gravity() -> Outcome {
    let mut stage = Stage::open_with(&thrown(), &["--plain"], SIZE, &[])?;
    let start = stage.still(SIZE)?;
    let (ball, cube) = (Seen::ball(&start), Seen::cube(&start));
    // It moves by 0.1 m in a step, about a tenth of its size.
    let size = 2.0 * (ball.pixels / std::f64::consts::PI).sqrt();
    let mut last = ball;
    for _ in 0..2 {
        stage.key("s")?;
        let before = last;
        let risen = |now: Seen| (0.05..0.15).contains(&((before.y - now.y) / size));
        stage.wait_for_ball("a ball a step higher", risen)?;
        last = Seen::ball(&stage.still(SIZE)?);
        if !risen(last) {
            return Err("it has taken more than one step".into());
        }
    }
    stage.key("r")?;
    stage.wait_for_ball("a ball at its start", |now| (now.y - ball.y).abs() < 1.0)?;
    // It comes down again.
    stage.key("k")?;
    stage.wait_for_ball("a ball in the air", |now| now.y < ball.y - 0.5 * size)?;
    stage.wait_for_ball("a ball that came down", |now| now.y > ball.y - 0.2 * size)?;
    // And without gravity it does not, nor does the cube.
    stage.key("g")?;
    stage.key("r")?;
    stage.wait_for_ball("a ball that is gone", |now| now.pixels == 0.0)?;
    let floating = Seen::cube(&stage.shot(SIZE)?);
    // What moves is drawn the more coarsely the busier the machine is: its middle is right to two pixels.
    if floating.from(cube).iter().any(|way| way.abs() > 2.0) {
        return Err(format!("the cube went from {cube:?} to {floating:?}").into());
    }
    stage.key("g")?;
    stage.wait_for("a cube that falls", |stage| {
        Ok(Seen::cube(&stage.shot(SIZE)?).y > cube.y + 0.2 * size)
    })?;
    stage.close()
}

/// A scene that binds a key to a force has it, and before what the window does with it.
fn keys_of_the_scene_push() -> Outcome {
    let text = SCENE
        .replace(
            "\"position\": [0.6, 0.5, 0]",
            "\"name\": \"ball\", \"group\": \"free\", \"position\": [0.6, 0.5, 0]",
        )
        .replace(
            "\"bodies\"",
            "\"groups\": { \"free\": { \"gravity\": [0, 0, 0], \"drag\": { \"linear\": 50000 } } }, \
             \"forces\": [ { \"body\": \"ball\", \"force\": [0, 50000, 0], \"key\": \"r\" } ], \"bodies\"",
        );
    let mut stage = Stage::open_with(&text, &["--plain"], SIZE, &[])?;
    let ball = Seen::ball(&stage.still(SIZE)?);
    stage.key("k")?;
    stage.xdotool(&["keydown", "r"])?;
    stage.wait_for_ball("a ball that is pushed up", |now| now.y < ball.y - 20.0)?;
    stage.xdotool(&["keyup", "r"])?;
    stage.key("k")?;
    // Without the key it stays, and `r` has not taken it back to the start.
    let stays = Seen::ball(&stage.still(SIZE)?);
    if stays.y > ball.y - 20.0 {
        return Err(format!("the ball is at {stays:?}, it was at {ball:?}").into());
    }
    stage.close()
}

fn the_mouse_pulls_bodies_and_moves_planes() -> Outcome {
    let mut stage = Stage::open()?;
    let start = stage.still(SIZE)?;
    let ball = Seen::ball(&start);
    stage.key("p")?;
    stage.drag("1", [ball.x, ball.y], [ball.x - 30.0, ball.y - 120.0])?;
    stage.wait_for("a ball that is picked", |stage| {
        Ok(Seen::picked(&stage.shot(SIZE)?).pixels > 0.5 * ball.pixels)
    })?;
    stage.key("k")?;
    stage.wait_for_ball("a ball that is pulled up", |now| {
        let [x, y] = now.from(ball);
        x < -15.0 && y < -80.0
    })?;
    stage.xdotool(&["mouseup", "1"])?;
    stage.wait_for_ball("a ball that was let go", |now| now.y > ball.y - 20.0)?;
    stage.key("k")?;
    stage.key("r")?;
    let before = stage.still(SIZE)?;
    let ball = Seen::ball(&before);
    // The floor, upwards: it hides the lower half of the ball.
    stage.drag("1", [30.0, 340.0], [30.0, 290.0])?;
    stage.wait_for_ball("a ball that is half hidden", |now| {
        (0.2..0.8).contains(&(now.pixels / ball.pixels)) && now.y < ball.y
    })?;
    stage.xdotool(&["mouseup", "1"])?;
    // Such a ball is thrown out when the simulation goes on.
    stage.key("k")?;
    stage.wait_for_ball("a ball on the floor", |now| {
        now.pixels > 0.9 * ball.pixels && now.y < ball.y - 20.0
    })?;
    // The mouse is the camera's again.
    stage.key("k")?;
    stage.key("v")?;
    let before = stage.still(SIZE)?;
    let place = Seen::ball(&before);
    stage.drag("1", [place.x, place.y], [place.x + 80.0, place.y + 20.0])?;
    stage.wait_for_change("another view", &before, 0.02)?;
    stage.xdotool(&["mouseup", "1"])?;
    stage.close()
}

fn other_scenes_are_opened() -> Outcome {
    let size = [520, 480];
    let mut stage = Stage::open_with(SCENE, &[], size, &[])?;
    stage.wait_for_title("two - Rockfall")?;
    let folder = stage.directory.path().to_owned();
    let other = SCENE.replace("[0.6, 0.5, 0]", "[0.6, 2.5, 0]");
    for name in ["one.json", "zero.json"] {
        fs::write(folder.join(name), &other)?;
    }
    // In the order of their names: one, two, zero.
    let two = stage.still(size)?;
    stage.key("n")?;
    stage.wait_for_title("zero - Rockfall")?;
    stage.wait_for_change("a ball that hangs higher", &two, 0.02)?;
    stage.key("b")?;
    stage.wait_for_title("two - Rockfall")?;
    stage.key("b")?;
    stage.wait_for_title("one - Rockfall")?;
    // From the list in the panel, in which the first one is marked.
    stage.click(LIST)?;
    stage.wait_for("the list", |stage| {
        let [r, _, b, _] = stage.shot(size)?.get_pixel(LIST[0] + 70, LIST[1] + 27).0;
        Ok(b > 100 && r < 60)
    })?;
    stage.click([LIST[0], LIST[1] + 73])?;
    stage.wait_for_title("zero - Rockfall")?;
    // From another folder, a file is dropped.
    let elsewhere = folder.join("else where");
    fs::create_dir(&elsewhere)?;
    let dropped = elsewhere.join("dropped.json");
    fs::write(&dropped, SCENE)?;
    stage.drop_file(&dropped)?;
    stage.wait_for_title("dropped - Rockfall")?;
    // One that is no scene gets a sentence; what was there stays.
    let before = stage.still(size)?;
    fs::write(elsewhere.join("song.txt"), "la la la")?;
    stage.drop_file(&elsewhere.join("song.txt"))?;
    stage.wait_for_change("what is wrong", &before, 0.02)?;
    stage.wait_for_title("dropped - Rockfall")?;
    stage.close()
}

/// The middles of the fields of the first row of three numbers, which is gravity: boxes of one colour with gaps between
/// them, behind a word.
fn gravity_fields(shot: &RgbaImage) -> Option<[[u32; 2]; 3]> {
    let left = shot.width() - PANEL;
    let is_box = |x: u32, y: u32| {
        let [r, g, b, _] = shot.get_pixel(x, y).0;
        r == g && g == b && (45..56).contains(&r)
    };
    (0..shot.height()).find_map(|y| {
        let mut boxes: Vec<[u32; 2]> = Vec::new();
        for x in (left..shot.width()).filter(|&x| is_box(x, y)) {
            match boxes.last_mut() {
                // Letters lie in between.
                Some([_, end]) if x <= *end + 4 => *end = x,
                _ => boxes.push([x, x]),
            }
        }
        let wide = boxes.into_iter().filter(|[start, end]| end - start > 20);
        let wide: Vec<[u32; 2]> = wide.collect();
        let is_behind_a_word = wide.first().is_some_and(|[start, _]| *start > left + 60);
        let is_close = wide
            .windows(2)
            .all(|two| (8..=20).contains(&(two[1][0] - two[0][1])));
        let row: [[u32; 2]; 3] = wide.try_into().ok()?;
        if !(is_behind_a_word && is_close) {
            return None;
        }
        // The first line of the boxes, which are 18 high.
        Some(row.map(|[start, end]| [(start + end) / 2, y + 8]))
    })
}

/// Types a number where gravity along y is; returns where that is.
fn type_gravity(stage: &mut Stage, size: [u32; 2], number: &str) -> Result<[u32; 2], Failed> {
    let shot = stage.still(size)?;
    let Some([_, field, _]) = gravity_fields(&shot) else {
        shot.save(Path::new(env!("CARGO_TARGET_TMPDIR")).join("no_gravity.png"))?;
        return Err("there are no three numbers in a row; see target/tmp".into());
    };
    stage.click(field)?;
    stage.wait_for("a place to type, which is black", |stage| {
        let shot = stage.shot(size)?;
        let place = image::imageops::crop_imm(&shot, field[0] - 24, field[1] - 11, 48, 22);
        Ok(Seen::new(&place.to_image(), |[r, g, b]| r + g + b < 60).pixels > 40.0)
    })?;
    stage.xdotool(&["key", "ctrl+a"])?;
    stage.xdotool(&["type", "--", number])?;
    stage.key("Return")?;
    Ok(field)
}

/// The cube as the picture beside the panel shows it.
fn cube_beside_panel(shot: &RgbaImage) -> Seen {
    let (width, height) = (shot.width() - PANEL, shot.height());
    Seen::cube(&image::imageops::crop_imm(shot, 0, 0, width, height).to_image())
}

fn what_the_panel_is_told_acts() -> Outcome {
    let size = [520, 560];
    let mut stage = Stage::open_with(SCENE, &[], size, &[])?;
    let cube = cube_beside_panel(&stage.still(size)?);
    // A number is typed; keys mean nothing else meanwhile.
    type_gravity(&mut stage, size, "20")?;
    let typed = cube_beside_panel(&stage.still(size)?);
    if typed.from(cube).iter().any(|way| way.abs() > 0.5) {
        return Err("the keys of a number did something else".into());
    }
    stage.click(PLAY)?;
    stage.wait_for("a cube that falls up", |stage| {
        let now = cube_beside_panel(&stage.shot(size)?);
        Ok(now.pixels < 0.5 * cube.pixels || now.y < cube.y - 30.0)
    })?;
    stage.close()
}

fn what_was_tuned_is_undone_and_saved() -> Outcome {
    let size = [820, 560];
    let text = SCENE.replacen("{ ", "{ // The first scene.\n    ", 1);
    let mut stage = Stage::open_with(&text, &[], size, &[])?;
    let [x, y] = type_gravity(&mut stage, size, "-1.5")?;
    // How long frames take is written elsewhere, and is never the same.
    let number =
        |shot: &RgbaImage| image::imageops::crop_imm(shot, x - 20, y - 8, 40, 16).to_image();
    let tuned = stage.still(size)?;
    // Another change, which is undone; what comes within a second of the one before is a part of it.
    sleep(Duration::from_millis(1200));
    stage.key("g")?;
    stage.wait_for("gravity that is off", |stage| {
        Ok(difference(&number(&tuned), &number(&stage.shot(size)?)) > 0.01)
    })?;
    stage.xdotool(&["key", "ctrl+z"])?;
    stage.wait_for("gravity as it was tuned", |stage| {
        Ok(difference(&number(&tuned), &number(&stage.shot(size)?)) < 0.01)
    })?;
    stage.xdotool(&["key", "ctrl+s"])?;
    stage.wait_for_change("what would change", &tuned, 0.02)?;
    let shown = stage.still(size)?;
    if fs::read_to_string(&stage.scene)? != text {
        return Err("the file was written before anybody agreed".into());
    }
    // In the window that is shown, the button below on the left: the first in the row of them.
    let boxes = |[r, g, b]: [i32; 3]| r == g && g == b && (45..56).contains(&r);
    let picture = image::imageops::crop_imm(&shown, 0, 0, size[0] - PANEL, size[1]).to_image();
    let row = (0..size[1]).rev().find(|&y| {
        let line = image::imageops::crop_imm(&picture, 0, y, size[0] - PANEL, 1).to_image();
        // Not the line of the timeline.
        y < size[1] - 70 && Seen::new(&line, boxes).pixels > 30.0
    });
    let row = row.ok_or("there are no buttons")? - 8;
    let is_box = |x: &u32| {
        boxes(
            picture.get_pixel(*x, row).0[..3]
                .iter()
                .map(|c| i32::from(*c))
                .collect::<Vec<_>>()
                .try_into()
                .unwrap_or_default(),
        )
    };
    let first = (0..size[0] - PANEL)
        .find(is_box)
        .ok_or("there are no buttons")?;
    stage.click([first + 8, row])?;
    let file = stage.scene.clone();
    stage.wait_for("a file with what was tuned", |_| {
        let saved = fs::read_to_string(&file)?;
        let kept = saved.contains("{ // The first scene.");
        Ok(kept && saved.contains("\"gravity\": [0, -1.5, 0]"))
    })?;
    scene::load(&file)?;
    stage.close()
}

fn a_folder_is_a_gallery() -> Outcome {
    let size = [600, 400];
    let mut stage = Stage::empty(SCENE)?;
    let folder = stage.directory.path().join("scenes");
    fs::create_dir(&folder)?;
    for name in ["one.json", "two.json"] {
        fs::write(folder.join(name), SCENE)?;
    }
    fs::write(folder.join("wrong.json"), "{ \"version\": 1 ")?;
    stage.view(Path::new("scenes"), "600x400", &[], &[])?;
    stage.wait_for_title("scenes - Rockfall")?;
    // The cubes of both pictures, one beside the other; the third has none.
    let cubes = |shot: &RgbaImage, left: u32| {
        let card = image::imageops::crop_imm(shot, left, 30, 236, 180).to_image();
        Seen::cube(&card).pixels
    };
    stage.wait_for("two pictures", |stage| {
        let shot = stage.shot(size)?;
        Ok(cubes(&shot, 8) > 50.0 && cubes(&shot, 252) > 50.0)
    })?;
    let gallery = stage.still(size)?;
    stage.click([370, 110])?;
    stage.wait_for_title("two - Rockfall")?;
    stage.wait_for_change("the scene", &gallery, 0.05)?;
    stage.key("a")?;
    stage.wait_for_title("scenes - Rockfall")?;
    stage.key("a")?;
    stage.wait_for_title("two - Rockfall")?;
    stage.close()
}

fn files_are_opened_by_a_dialog() -> Outcome {
    let tools = tempfile::tempdir()?;
    // In the place of the dialog of a desktop, of which a test has none.
    let zenity = tools.path().join("zenity");
    let path = std::env::var("PATH")?;
    let path = format!("{}:{path}", tools.path().display());
    let states = tools.path().join("states");
    let states = states.to_str().ok_or("a path that is no text")?;
    let variables = [
        ("PATH", path.as_str()),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere"),
        ("XDG_STATE_HOME", states),
    ];
    let mut stage = Stage::open_with(SCENE, &["--plain"], SIZE, &variables)?;
    let other = stage.directory.path().join("elsewhere");
    fs::create_dir(&other)?;
    let other = other.join("other.json");
    fs::write(&other, SCENE)?;
    let script = format!("#!/bin/sh\nsleep 1\necho '{}'\n", other.display());
    fs::write(&zenity, script)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&zenity, fs::Permissions::from_mode(0o755))?;
    }
    stage.xdotool(&["key", "ctrl+o"])?;
    stage.wait_for_title("other - Rockfall")?;
    // What was opened is known the next time.
    let expected = [&other, &stage.scene].map(|path| path.file_name().map(OsStr::to_owned));
    stage.wait_for("both files among the recent ones", |_| {
        let recent = fs::read_to_string(Path::new(states).join("rockfall/recent"))?;
        let names = recent.lines().map(|line| Path::new(line).file_name());
        Ok(names.eq(expected.iter().map(Option::as_deref)))
    })?;
    // And where there is no dialog, it is said.
    fs::write(&zenity, "#!/bin/sh\nexit 1\n")?;
    let before = stage.still(SIZE)?;
    stage.xdotool(&["key", "ctrl+o"])?;
    stage.wait_for_change("a sentence", &before, 0.02)?;
    stage.close()
}

fn the_display_goes_away() -> Outcome {
    let states = tempfile::tempdir()?;
    let folder = states.path().to_str().ok_or("a path that is no text")?;
    let variables = [("XDG_STATE_HOME", folder)];
    let mut stage = Stage::open_with(&thrown(), &["--plain"], SIZE, &variables)?;
    let before = stage.still(SIZE)?;
    stage.key("space")?;
    stage.wait_for_change("a ball that flies", &before, 0.005)?;
    stage.xvfb.kill()?;
    stage.xvfb.wait()?;
    let mut viewer = stage.viewer.take().ok_or("there is no window")?;
    let clock = Instant::now();
    let status = loop {
        match viewer.try_wait()? {
            Some(status) => break status,
            None if clock.elapsed() > PATIENCE => {
                viewer.kill()?;
                return Err("it does not end".into());
            }
            None => sleep(Duration::from_millis(50)),
        }
    };
    let said = said(&mut viewer);
    let kept = states.path().join("rockfall/two-stopped");
    let tells = said.contains("the display is gone; the folder ");
    if status.code() != Some(1) || !tells || said.contains("panicked") {
        return Err(format!("{status}: {said}").into());
    }
    let resumed = Command::new(env!("CARGO_BIN_EXE_rockfall"))
        .args(["run", "--backend", "cpu", "--steps", "2000", "--resume"])
        .arg(kept)
        .output()?;
    let text = String::from_utf8_lossy(&resumed.stderr);
    if !resumed.status.success() || !text.contains("resuming at step ") {
        return Err(format!("it cannot go on: {text}").into());
    }
    Ok(())
}

fn it_makes_films() -> Outcome {
    let (path, stage) = film(&[], "two-1.mp4")?;
    let bytes = fs::read(&path)?;
    let moves = bytes.windows(4).any(|word| word == b"moov");
    if bytes.get(4..8) != Some(b"ftyp") || !moves {
        return Err(format!("{} bytes that are no film", bytes.len()).into());
    }
    stage.close()
}

fn without_ffmpeg_it_makes_pictures() -> Outcome {
    let (path, stage) = film(&[("PATH", "")], "two-1/frame_00001.png")?;
    let picture = image::open(&path)?;
    if (picture.width(), picture.height()) != (1280, 720) {
        return Err("a picture of another size".into());
    }
    stage.close()
}

/// Films a fall; returns where the file is that comes of it, and the window.
fn film(variables: &[(&str, &str)], name: &str) -> Result<(PathBuf, Stage), Failed> {
    let mut stage = Stage::open_with(SCENE, &["--plain"], SIZE, variables)?;
    let start = stage.still(SIZE)?;
    stage.key("o")?;
    stage.key("k")?;
    stage.wait_for_change("a fall", &start, 0.01)?;
    stage.key("k")?;
    stage.key("o")?;
    let path = stage.directory.path().join(name);
    stage.wait_for("a film", |_| Ok(path.exists()))?;
    stage.wait_for("a notice that says where it is", |stage| {
        let above = image::imageops::crop_imm(&stage.shot(SIZE)?, 0, 0, 480, 60).to_image();
        let before = image::imageops::crop_imm(&start, 0, 0, 480, 60).to_image();
        Ok(difference(&above, &before) > 0.05)
    })?;
    Ok((path, stage))
}

fn with_two_pixels_a_point() -> Outcome {
    let variables = [("WINIT_X11_SCALE_FACTOR", "2")];
    let mut stage = Stage::open_with(SCENE, &["--plain"], [320, 240], &variables)?;
    let size = [640, 480];
    let shown = stage.still(size)?;
    check_against_picture(&stage, &shown, size, "two_pixels_a_point")?;
    let window = stage.window("Rockfall")?;
    let geometry = stage.xdotool(&["getwindowgeometry", &window])?;
    if !geometry.contains("640x480") {
        return Err(geometry.into());
    }
    // What is picked is what is under the mouse.
    let ball = Seen::ball(&shown);
    stage.click([ball.x as u32, ball.y as u32])?;
    stage.wait_for("a ball that is picked", |stage| {
        Ok(Seen::picked(&stage.shot(size)?).pixels > 0.5 * ball.pixels)
    })?;
    stage.key("Tab")?;
    stage.wait_for("a panel of twice the width", |stage| {
        let shot = stage.shot(size)?;
        let dark = |x: u32| shot.get_pixel(x, 470).0[2] < 60;
        Ok(dark(635) && dark(640 - 2 * PANEL + 4) && !dark(640 - 2 * PANEL - 4))
    })?;
    stage.close()
}

fn it_can_be_resized_and_hidden() -> Outcome {
    let mut stage = Stage::open()?;
    let window = stage.window("Rockfall")?;
    for [width, height] in [[700, 500], [330, 250], [860, 640]] {
        let (x, y) = (width.to_string(), height.to_string());
        stage.xdotool(&["windowsize", &window, &x, &y])?;
        stage.wait_for("a picture of the new size", |stage| {
            let shot = stage.shot([width, height])?;
            let corners = [
                (4, 4),
                (width - 5, 4),
                (4, height - 5),
                (width - 5, height - 5),
            ];
            Ok(corners.iter().all(|&(x, y)| shot.get_pixel(x, y).0[2] > 60))
        })?;
    }
    let before = stage.still([860, 640])?;
    for [width, height] in [["40", "30"], ["1", "1"], ["2", "600"]] {
        stage.xdotool(&["windowsize", "--sync", &window, width, height])?;
    }
    stage.xdotool(&["windowsize", "--sync", &window, "860", "640"])?;
    stage.wait_for("the picture of before", |stage| {
        Ok(difference(&before, &stage.shot([860, 640])?) < 0.01)
    })?;
    stage.xdotool(&["windowunmap", &window])?;
    stage.wait_for_change("nothing", &before, 0.1)?;
    stage.xdotool(&["windowmap", &window])?;
    stage.wait_for("the picture again", |stage| {
        Ok(difference(&before, &stage.shot([860, 640])?) < 0.01)
    })?;
    stage.xdotool(&["windowfocus", &window])?;
    stage.close()
}

fn it_gets_over_a_lost_surface() -> Outcome {
    let variables = [("ROCKFALL_LOSE_SURFACE", "3")];
    let mut stage = Stage::open_with(SCENE, &["--plain", "-v"], SIZE, &variables)?;
    let start = stage.still(SIZE)?;
    check_against_picture(&stage, &start, SIZE, "window")?;
    stage.key("k")?;
    stage.wait_for_change("a fall", &start, 0.01)?;
    stage.key("k")?;
    let window = stage.window("Rockfall")?;
    stage.xdotool(&["windowsize", "--sync", &window, "700", "500"])?;
    stage.wait_for("a picture of the new size", |stage| {
        Ok(stage.shot([700, 500])?.get_pixel(695, 495).0[2] > 60)
    })?;
    let said = stage.finish()?;
    let losses = said.matches("the surface of the window was lost").count();
    if losses < 3 {
        return Err(format!("{losses} losses are none to get over: {said}").into());
    }
    Ok(())
}

fn a_wrong_scene_is_shown() -> Outcome {
    let mut stage = Stage::open()?;
    let good = stage.still(SIZE)?;
    fs::write(
        &stage.scene,
        SCENE.replace("\"ball\", \"position\"", "\"bal\", \"position\""),
    )?;
    stage.wait_for_change("what is wrong", &good, 0.02)?;
    let wrong = stage.still(SIZE)?;
    // The last good scene is still there, below the sentence.
    let below = |image: &RgbaImage| image::imageops::crop_imm(image, 0, 180, 480, 180).to_image();
    if difference(&below(&good), &below(&wrong)) > 1e-3 {
        return Err("the last good scene is gone".into());
    }
    fs::write(
        &stage.scene,
        SCENE.replace("[0.6, 0.5, 0]", "[1.2, 0.5, 0]"),
    )?;
    stage.wait_for_change("the scene as it was saved", &wrong, 0.02)?;
    let saved = stage.still(SIZE)?;
    if difference(&saved, &good) < 0.02 {
        return Err("the ball has not moved".into());
    }
    stage.close()
}

fn without_a_display_it_says_so() -> Outcome {
    let directory = tempfile::tempdir()?;
    fs::write(directory.path().join("two.json"), SCENE)?;
    let output = Command::new(env!("CARGO_BIN_EXE_rockfall"))
        .args(["view", "two.json"])
        .current_dir(directory.path())
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(1) && said.contains("`rockfall render` makes pictures") {
        Ok(())
    } else {
        Err(format!("{}: {said}", output.status).into())
    }
}
