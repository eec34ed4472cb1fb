//! The window, under a virtual display: what it shows, what keys and the mouse do, and that it closes.
//!
//! It takes Xvfb, xdotool and an adapter that can draw, which `cargo xtask test` installs. Where they are
//! missing, the tests are ignored, and say so.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use image::{Rgba, RgbaImage};
use libtest_mimic::{Arguments, Failed, Trial};
use rockfall::gpu::Adapter;
use rockfall::render::{self, Camera, Look, PICTURE, Renderer};
use rockfall::{Simulation, scene};
use tempfile::TempDir;

/// How long a window may take for what it is asked for: software adapters are slow.
const PATIENCE: Duration = Duration::from_secs(60);

type Outcome = Result<(), Failed>;
type Test = fn() -> Outcome;

const SCREEN: [u32; 2] = [900, 700];
const SIZE: [u32; 2] = [480, 360];

fn main() {
    let tests: [(&str, Test); 5] = [
        (
            "it_draws_what_pictures_show_and_closes",
            it_draws_and_closes,
        ),
        ("keys_and_mouse_work", keys_and_mouse_work),
        ("it_can_be_resized_and_hidden", it_can_be_resized_and_hidden),
        (
            "a_wrong_scene_is_shown_beside_the_last_good_one",
            a_wrong_scene_is_shown,
        ),
        ("without_a_display_it_says_so", without_a_display_it_says_so),
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

/// What the tests need and this machine does not have.
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
    for (program, argument) in [("Xvfb", "-help"), ("xdotool", "version")] {
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

impl Stage {
    /// Opens the window of [`SCENE`], paused and without the panel.
    fn open() -> Result<Stage, Failed> {
        let directory = tempfile::tempdir()?;
        let scene = directory.path().join("two.json");
        fs::write(&scene, SCENE)?;
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
        let mut stage = Stage {
            xvfb,
            display: format!(":{}", number.trim()),
            directory,
            viewer: None,
            scene: scene.clone(),
        };
        let size = format!("{}x{}", SIZE[0], SIZE[1]);
        let viewer = stage
            .command(env!("CARGO_BIN_EXE_rockfall"))
            .arg("view")
            .arg(&scene)
            .args(["--backend", "cpu", "--paused", "--plain", "--size", &size])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        stage.viewer = Some(viewer);
        stage.wait_for("a window", |stage| {
            let found = stage.xdotool(&["search", "--name", "Rockfall"]);
            Ok(found.is_ok_and(|windows| !windows.trim().is_empty()))
        })?;
        let window = stage.window()?;
        stage.xdotool(&["windowmove", &window, "0", "0"])?;
        stage.xdotool(&["windowfocus", &window])?;
        stage.wait_for("a picture", |stage| {
            let shot = stage.shot(SIZE)?;
            // Sky above, and no black.
            Ok(shot.get_pixel(10, 10).0[2] > 100 && shot.get_pixel(470, 350).0[2] > 60)
        })?;
        Ok(stage)
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

    fn window(&self) -> Result<String, Failed> {
        let windows = self.xdotool(&["search", "--name", "Rockfall"])?;
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

    /// What the upper left corner of the screen shows.
    fn shot(&self, size: [u32; 2]) -> Result<RgbaImage, Failed> {
        let file = fs::read(self.directory.path().join("Xvfb_screen0"))?;
        Ok(screen(&file, size))
    }

    /// A picture that stays as it is for a while.
    fn still(&mut self, size: [u32; 2]) -> Result<RgbaImage, Failed> {
        let mut last = self.shot(size)?;
        self.wait_for("a picture that stays", |stage| {
            sleep(Duration::from_millis(400));
            let next = stage.shot(size)?;
            let same = next == last;
            last = next;
            Ok(same)
        })?;
        self.shot(size)
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

    /// Closes the window with the key q; it must end with exit code 0.
    fn close(mut self) -> Result<(), Failed> {
        self.key("q")?;
        let mut viewer = self.viewer.take().expect("the window is open");
        let start = Instant::now();
        loop {
            if let Some(status) = viewer.try_wait()? {
                let said = said(&mut viewer);
                if status.code() == Some(0) && !said.contains("error") {
                    return Ok(());
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

/// What a program said on standard error.
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

/// The root of the mean square of the difference of two pictures, from 0 to 1.
fn difference(a: &RgbaImage, b: &RgbaImage) -> f64 {
    let channels = a.iter().zip(b.iter());
    let sum: f64 = channels
        .map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2))
        .sum();
    (sum / a.len() as f64).sqrt() / 255.0
}

fn it_draws_and_closes() -> Result<(), Failed> {
    let mut stage = Stage::open()?;
    let shown = stage.still(SIZE)?;
    // The same, without a window.
    let model = scene::load(&stage.scene)?.model;
    let start = render::start(&model);
    let simulation = Simulation::on_cpu(model, Some(1))?;
    let context = Adapter::to_draw(Some(&adapter()))?.open()?;
    let mut renderer = Renderer::new(&context, &simulation, PICTURE)?;
    renderer.update(&simulation);
    let look = Look {
        supersampling: 1,
        ..Look::default()
    };
    let mut camera = Camera::default();
    camera.fit(
        renderer.survey(&look)?.union(start),
        f64::from(SIZE[0]) / f64::from(SIZE[1]),
    );
    let expected = renderer.picture(SIZE, &camera, &look, &[])?;
    let off = difference(&shown, &expected);
    if off > 0.01 {
        shown.save(Path::new(env!("CARGO_TARGET_TMPDIR")).join("shown.png"))?;
        expected.save(Path::new(env!("CARGO_TARGET_TMPDIR")).join("expected.png"))?;
        return Err(format!("the window and the picture differ by {off}; see target/tmp").into());
    }
    stage.close()
}

fn keys_and_mouse_work() -> Result<(), Failed> {
    let mut stage = Stage::open()?;
    let start = stage.still(SIZE)?;
    stage.key("k")?;
    stage.wait_for_change("a fall", &start, 0.01)?;
    stage.key("space")?;
    let paused = stage.still(SIZE)?;
    stage.key("r")?;
    stage.wait_for_change("the start again", &paused, 0.01)?;
    let again = stage.still(SIZE)?;
    if difference(&start, &again) > 1e-3 {
        return Err("the start is not what it was".into());
    }
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

fn it_can_be_resized_and_hidden() -> Result<(), Failed> {
    let mut stage = Stage::open()?;
    let window = stage.window()?;
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
    stage.xdotool(&["windowunmap", &window])?;
    stage.wait_for_change("nothing", &before, 0.1)?;
    stage.xdotool(&["windowmap", &window])?;
    stage.wait_for("the picture again", |stage| {
        Ok(difference(&before, &stage.shot([860, 640])?) < 0.01)
    })?;
    stage.xdotool(&["windowfocus", &window])?;
    stage.close()
}

fn a_wrong_scene_is_shown() -> Result<(), Failed> {
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

fn without_a_display_it_says_so() -> Result<(), Failed> {
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
