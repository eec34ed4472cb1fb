//! Functions for a page of a browser: the window's viewer on a canvas, and the checks of scenes.

#![cfg(target_family = "wasm")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use js_sys::{Function, Map, Uint8Array};
use rockfall::Options;
use rockfall::render::Look;
use rockfall::render::shaders::{NAMES, Texts};
use rockfall::scene::{self, Placed, Problem};
use rockfall::step::gpu::shaders::{Shader, source};
use rockfall::viewer::Setup;
use rockfall::viewer::page::Page;
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;
use web_sys::HtmlCanvasElement;

/// Files in memory, by their paths.
type Files = BTreeMap<PathBuf, Vec<u8>>;

#[wasm_bindgen(start)]
fn start() {
    console_error_panic_hook::set_once();
}

/// A viewer on a canvas.
#[wasm_bindgen]
pub struct Viewer {
    page: Page,
}

#[wasm_bindgen]
impl Viewer {
    /// Makes a canvas show what [`Viewer::show`] will give it; there is one viewer in a page. Pictures that the user saves go to
    /// `deliver`, which is called with their name and bytes.
    #[wasm_bindgen(constructor)]
    pub fn new(
        canvas: HtmlCanvasElement,
        playing: bool,
        panel: bool,
        deliver: Function,
    ) -> Result<Viewer, JsError> {
        let setup = Setup {
            scene: PathBuf::new(),
            options: Options::default(),
            size: [0, 0],
            paused: !playing,
            look: Look::default(),
            colour: None,
            clip: None,
            up: None,
            panel,
            refuge: None,
            memory: 512 << 20,
            recent: None,
        };
        let deliver = move |name: &str, bytes: &[u8]| {
            let (name, bytes) = (JsValue::from(name), JsValue::from(Uint8Array::from(bytes)));
            // What a page does with a picture is no matter of the viewer's.
            let _ = deliver.call2(&JsValue::NULL, &name, &bytes);
        };
        let page = Page::open(canvas, setup, deliver)?;
        Ok(Viewer { page })
    }

    /// Shows the scene at `path` of `files`, a map from paths to bytes. Its `bodies` are where [`build`] has found them, if it
    /// has, and `notes` what it has told. Fails with a sentence where something is wrong; then the scene before stays.
    pub async fn show(
        &self,
        path: &str,
        files: &Map<JsValue, JsValue>,
        keep_camera: bool,
        bodies: Option<Vec<f64>>,
        notes: Option<Vec<String>>,
    ) -> Result<(), JsError> {
        let placed = bodies.map(|bodies| Placed::from_numbers(&bodies, notes.unwrap_or_default()));
        let (page, path, files) = (self.page.clone(), PathBuf::from(path), read(files));
        let shown = page.show(path, files, placed, keep_camera).await;
        shown.map_err(|sentence| JsError::new(&sentence))
    }

    /// Has the simulation go on, or not.
    pub fn play(&self, playing: bool) {
        self.page.play(playing);
    }

    /// Shows the panel beside the picture, or not.
    pub fn panel(&self, shown: bool) {
        self.page.panel(shown);
    }

    /// Takes the simulation back to its start.
    pub fn reset(&self) {
        self.page.reset();
    }

    /// Saves a picture.
    pub fn picture(&self) {
        self.page.picture();
    }

    /// State of the viewer, as JSON.
    pub fn status(&self) -> Result<String, JsError> {
        Ok(serde_json::to_string(&self.page.status())?)
    }

    /// Pauses, takes exactly so many steps, and returns a summary of the state, as JSON.
    pub async fn step(&self, steps: u32) -> Result<String, JsError> {
        let page = self.page.clone();
        let summary = page.step(steps.into()).await?;
        let summary = summary.map(|summary| {
            json!({
                "kineticEnergy": summary.kinetic_energy,
                "contacts": summary.contacts,
                "momentum": summary.momentum.to_array(),
                "maxOverlap": summary.max_overlap_fraction,
                "stateHash": format!("{:016x}", summary.state_hash),
            })
        });
        Ok(json!(summary).to_string())
    }

    /// The positions of all bodies, m: three numbers each.
    pub async fn positions(&self) -> Result<Vec<f64>, JsError> {
        let page = self.page.clone();
        Ok(page.positions().await?)
    }

    /// The state of all bodies, as the bytes of the file that `rockfall run --state` writes: JSON.
    pub async fn state(&self) -> Result<Vec<u8>, JsError> {
        let page = self.page.clone();
        Ok(page.state().await?)
    }
}

/// A scene, read and checked.
#[wasm_bindgen(getter_with_clone)]
pub struct Built {
    /// Output of `rockfall check` about it, as JSON.
    pub told: String,
    /// Start of its bodies, for [`Viewer::show`]; none if something is wrong.
    pub bodies: Option<Vec<f64>>,
}

/// Reads and checks the scene at `path` of `files`, a map from paths to bytes. That can take a while: a worker can do it.
#[wasm_bindgen]
pub fn build(path: &str, files: &Map<JsValue, JsValue>) -> Built {
    let files = read(files);
    let path = Path::new(path);
    let text = files.get(path).map(|bytes| String::from_utf8_lossy(bytes));
    let text = text.unwrap_or_default();
    match scene::parse_with(&text, path, &files) {
        Ok(scene) => {
            let told = json!({
                "problems": [],
                "count": scene.model.bodies.len(),
                "spheres": scene.model.sphere_count(),
                "warnings": scene.warnings,
                "notes": scene.notes,
            });
            Built {
                told: told.to_string(),
                bodies: Some(Placed::of(&scene).numbers()),
            }
        }
        Err(error) => {
            let problems = error.problems.iter();
            let told = problems.map(|problem| told(path, &files, &text, problem));
            let told = json!({ "problems": told.collect::<Vec<_>>() });
            Built {
                told: told.to_string(),
                bodies: None,
            }
        }
    }
}

/// The name and the text of each shader, as JSON: for whoever has other compilers read them.
#[wasm_bindgen]
pub fn shaders() -> String {
    let texts = Texts::BuiltIn;
    let pictures = NAMES.iter().map(|name| (*name, texts.source(name)));
    let passes = Shader::all().map(|shader| (shader.name(), source(shader)));
    json!(pictures.chain(passes).collect::<Vec<_>>()).to_string()
}

/// A problem of the scene at `path` of `files`, with the file and the line that it is at.
fn told(path: &Path, files: &Files, text: &str, problem: &Problem) -> Value {
    // What is no JSON is at no place of a scene, and names its line itself.
    let own = problem.found.split_once(" at line ");
    let line = own.and_then(|(_, rest)| rest.split(',').next()?.parse().ok());
    let line = line.unwrap_or_else(|| scene::line_of(text, &problem.path));
    // Nor is what a compiler says of another file.
    let (file, line) = in_other(path, files, &problem.found).unwrap_or((path.to_owned(), line));
    json!({ "file": file, "line": line, "sentence": problem.to_string() })
}

/// The file and the line of a message that starts with them, as compilers write: `laws/own.wgsl:3:14: ..`.
fn in_other(path: &Path, files: &Files, message: &str) -> Option<(PathBuf, usize)> {
    let mut parts = message.split(':');
    let file = path.with_file_name(parts.next()?);
    let line = parts.next()?.parse().ok()?;
    files.contains_key(&file).then_some((file, line))
}

fn read(files: &Map<JsValue, JsValue>) -> Files {
    let mut read = Files::new();
    files.for_each(&mut |bytes, path| {
        if let Some(path) = path.as_string() {
            read.insert(path.into(), Uint8Array::new(&bytes).to_vec());
        }
    });
    read
}
