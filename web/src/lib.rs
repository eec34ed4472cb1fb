//! What a page of a browser calls: the window's viewer on a canvas, and the checks of scenes.

#![cfg(target_family = "wasm")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use js_sys::{Function, Map, Uint8Array};
use rockfall::Options;
use rockfall::render::Look;
use rockfall::scene::{self, Problem};
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
    /// Shows the scene at `path` of `files`, a map from paths to bytes. Pictures that the user saves go to `deliver`, which is
    /// called with their name and bytes.
    #[wasm_bindgen(constructor)]
    pub fn new(
        canvas: HtmlCanvasElement,
        path: &str,
        files: &Map<JsValue, JsValue>,
        playing: bool,
        panel: bool,
        deliver: Function,
    ) -> Result<Viewer, JsError> {
        let setup = Setup {
            scene: path.into(),
            options: Options::default(),
            size: [0, 0],
            paused: !playing,
            look: Look::default(),
            colour: None,
            clip: None,
            up: None,
            panel,
            refuge: None,
        };
        let deliver = move |name: &str, bytes: &[u8]| {
            let (name, bytes) = (JsValue::from(name), JsValue::from(Uint8Array::from(bytes)));
            // What a page does with a picture is no matter of the viewer's.
            let _ = deliver.call2(&JsValue::NULL, &name, &bytes);
        };
        let page = Page::open(canvas, setup, read(files), deliver)?;
        Ok(Viewer { page })
    }

    /// Shows another scene.
    pub fn show(&self, path: &str, files: &Map<JsValue, JsValue>, keep_camera: bool) {
        self.page.show(path.into(), read(files), keep_camera);
    }

    /// Has the simulation go on, or not.
    pub fn play(&self, playing: bool) {
        self.page.play(playing);
    }

    /// Takes the simulation back to its start.
    pub fn reset(&self) {
        self.page.reset();
    }

    /// Saves a picture.
    pub fn picture(&self) {
        self.page.picture();
    }

    /// How the viewer is, as JSON.
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
}

/// What `rockfall check` says of the scene at `path` of `files`, as JSON.
#[wasm_bindgen]
pub fn check(path: &str, files: &Map<JsValue, JsValue>) -> String {
    let files = read(files);
    let path = Path::new(path);
    let text = files.get(path).map(|bytes| String::from_utf8_lossy(bytes));
    let text = text.unwrap_or_default();
    let said = match scene::parse_with(&text, path, &files) {
        Ok(scene) => json!({
            "problems": [],
            "bodies": scene.model.bodies.len(),
            "spheres": scene.model.sphere_count(),
            "warnings": scene.warnings,
        }),
        Err(error) => {
            let problems = error.problems.iter();
            let told = problems.map(|problem| told(path, &files, &text, problem));
            json!({ "problems": told.collect::<Vec<_>>() })
        }
    };
    said.to_string()
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
