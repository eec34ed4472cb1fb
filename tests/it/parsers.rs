//! All that reads input: each function takes bytes, or says in a sentence why it does not, and panics only over a fault of ours.
//!
//! The tests in `fuzz.rs` damage input from a seed; `tools/fuzz` has cargo-fuzz look for input that takes another way through the
//! code.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rockfall::model::Model;
use rockfall::model::wall::{Mesh, MeshFormat};
use rockfall::output::{KeptRun, Record, RunFolder};
use rockfall::simulation::checkpoint::{self, Checkpoint};
use rockfall::{Options, Simulation, scene};

const BOUNCE: &str = include_str!("../../scenes/bounce.json");

/// Files that a scene may name.
static FILES: LazyLock<BTreeMap<PathBuf, Vec<u8>>> = LazyLock::new(|| {
    let file = |name: &str, text: &str| (PathBuf::from(name), text.as_bytes().to_vec());
    BTreeMap::from([
        file(
            "tests/data/tetrahedron.obj",
            include_str!("../data/tetrahedron.obj"),
        ),
        file("tests/data/open.obj", include_str!("../data/open.obj")),
    ])
});

pub fn scene(bytes: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("no text: {error}"))?;
    let scene = scene::parse_with(text, "scene.json".as_ref(), &*FILES);
    let scene = scene.map_err(|error| {
        let sentence = error.to_string();
        assert!(
            sentence.contains("scene.json"),
            "no file is named: {sentence}"
        );
        sentence
    })?;
    let model = &scene.model;
    let finite = model.bodies.iter().all(|body| {
        body.position.is_finite() && body.velocity.is_finite() && body.orientation.is_finite()
    });
    assert!(
        finite && model.time_step > 0.0,
        "a number that is none was taken"
    );
    Ok(())
}

pub fn obj(bytes: &[u8]) -> Result<(), String> {
    mesh(bytes, MeshFormat::Obj)
}

pub fn stl(bytes: &[u8]) -> Result<(), String> {
    mesh(bytes, MeshFormat::Stl)
}

fn mesh(bytes: &[u8], format: MeshFormat) -> Result<(), String> {
    let mesh =
        Mesh::parse(bytes, format, 1.0).map_err(|mistake| format!("the mesh: {mistake:?}"))?;
    assert!(mesh.vertices.iter().all(|vertex| vertex.is_finite()));
    let count = mesh.vertices.len() as u32;
    let mut corners = mesh.triangles.iter().flatten();
    assert!(corners.all(|corner| *corner < count));
    mesh.is_closed();
    Ok(())
}

pub fn law(bytes: &[u8]) -> Result<(), String> {
    rockfall::step::gpu::shaders::check_law(&String::from_utf8_lossy(bytes))
        .map_err(|mistake| format!("the law: {}", mistake.message))
}

/// A few bodies that are tied together, and what a checkpoint of them is after some steps.
pub static TIED: LazyLock<(Model, Vec<u8>)> = LazyLock::new(|| {
    let ball = |x: f64| serde_json::json!({ "name": format!("ball {x}"), "shape": "ball", "position": [x, 0.099, 0] });
    let scene = serde_json::json!({
        "version": 1, "duration": 1,
        "contact": { "normal": "hooke", "tangential": "history", "stiffness": 1e5, "time_step": 1e-4 },
        "materials": { "stone": { "density": 2500, "restitution": 0.3, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.1 }, "material": "stone" } },
        "bodies": [ball(0.0), ball(0.199), ball(0.5)],
        "springs": [{ "from": { "body": "ball 0" }, "to": { "body": "ball 0.5" }, "stiffness": 100, "rest_length": 0.4 }],
        "walls": [{ "rectangle": { "size": [2, 2] }, "material": "stone",
                    "motion": { "velocity": [0.01, 0, 0] } }],
    });
    let model = model(&scene.to_string());
    let mut simulation = Simulation::on_cpu(model.clone(), Some(1)).unwrap();
    simulation.step(50).unwrap();
    (model, simulation.checkpoint().unwrap())
});

fn model(text: &str) -> Model {
    scene::parse(text, "test.json".as_ref()).unwrap().model
}

/// Gives the bytes of a checkpoint the hash that goes with them.
pub fn rehash(bytes: &mut [u8]) {
    if let Some(end) = bytes.len().checked_sub(8) {
        let hash = checkpoint::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&hash.to_le_bytes());
    }
}

/// A checkpoint of [`TIED`].
pub fn checkpoint(bytes: Vec<u8>) -> Result<(), String> {
    let file = Path::new("damaged.checkpoint");
    let checkpoint = Checkpoint::decode(bytes, file).map_err(|error| error.to_string())?;
    // The simulation is made once a thread: it is taken to the state of each checkpoint.
    thread_local! {
        static SIMULATION: RefCell<Option<Simulation>> = const { RefCell::new(None) };
    }
    SIMULATION.with_borrow_mut(|simulation| {
        let new = || Simulation::on_cpu(TIED.0.clone(), Some(1)).unwrap();
        let simulation = simulation.get_or_insert_with(new);
        let restored = checkpoint.restore(simulation);
        restored.map_err(|error| error.to_string())?;
        if simulation.step(1).is_ok() {
            let energy = simulation.energy().unwrap().total();
            assert!(energy.is_finite(), "a number that is none was taken");
        }
        Ok(())
    })
}

/// The folder of a kept run, and what its state of bodies has in it.
pub static KEPT: LazyLock<(tempfile::TempDir, Vec<u8>)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let scene = scene::parse(BOUNCE, "bounce.json".as_ref()).unwrap();
    let mut simulation = Simulation::on_cpu(scene.model.clone(), Some(1)).unwrap();
    let record = Record::new(&simulation, &Options::default(), Vec::new(), 1);
    let mut run = RunFolder::create(&path, &scene, record, &mut simulation).unwrap();
    run.wait().unwrap();
    let bytes = std::fs::read(path.join("states/bodies_000000000000.npz")).unwrap();
    (folder, bytes)
});

/// A state of the bodies of [`KEPT`].
pub fn npz(bytes: &[u8]) -> Result<(), String> {
    // Each thread has a folder of its own.
    let own = format!("{:?}", std::thread::current().id());
    let path = KEPT.0.path().join(own);
    std::fs::create_dir_all(path.join("states")).unwrap();
    std::fs::write(path.join("states/bodies_000000000000.npz"), bytes).unwrap();
    let model = model(BOUNCE);
    let kept = KeptRun::open(&path, &model).unwrap();
    let mut simulation = Simulation::on_cpu(model, Some(1)).unwrap();
    let shown = kept.show(0, &mut simulation);
    shown.map_err(|error| error.to_string())?;
    let finite = |body: &rockfall::BodyState| body.position.is_finite();
    assert!(simulation.bodies().unwrap().iter().all(finite));
    Ok(())
}
