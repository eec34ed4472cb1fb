//! Scenes that were checked.

use std::path::PathBuf;

use pyo3::prelude::*;
use rockfall::scene;
use rockfall::simulation::Precision;
use rockfall::{Backend, Options, Simulation};

use crate::errors;
use crate::world::World;

/// A scene that can be simulated.
#[pyclass(frozen)]
pub struct Scene(pub scene::Scene);

#[pymethods]
impl Scene {
    /// Reads a scene file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Scene> {
        let loaded = py.detach(|| scene::load(&path));
        loaded.map(Scene).map_err(errors::of_scene)
    }

    /// Reads a scene from text. Errors name `file`; paths in the scene are relative to its folder.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, file: PathBuf) -> PyResult<Scene> {
        let parsed = py.detach(|| scene::parse(text, &file));
        parsed.map(Scene).map_err(errors::of_scene)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.model.name
    }

    /// Simulated time that a run covers unless told otherwise, s.
    #[getter]
    fn duration(&self) -> f64 {
        self.0.model.duration
    }

    #[getter]
    fn time_step(&self) -> f64 {
        self.0.model.time_step
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.clone()
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes.clone()
    }

    /// Number of bodies at the start.
    #[getter]
    fn body_count(&self) -> usize {
        self.0.model.bodies.len()
    }

    /// Starts a world of it.
    #[pyo3(signature = (backend, precision, adapter, threads))]
    fn world(
        &self,
        py: Python<'_>,
        backend: &str,
        precision: &str,
        adapter: Option<String>,
        threads: Option<usize>,
    ) -> PyResult<World> {
        let options = options(backend, precision, adapter, threads)?;
        let model = self.0.model.clone();
        let simulation = py.detach(|| Simulation::new(model, &options));
        let simulation = simulation.map_err(errors::of)?;
        Ok(World::new(simulation, self.0.clone(), options, None))
    }
}

/// Options, by the words that name them.
fn options(
    backend: &str,
    precision: &str,
    adapter: Option<String>,
    threads: Option<usize>,
) -> PyResult<Options> {
    let wrong = |what: &str, found: &str, expected: &str| {
        let sentence = format!("{what}: found {found:?}, expected {expected}");
        Err(pyo3::exceptions::PyValueError::new_err(sentence))
    };
    let precision = match precision {
        "single" => Precision::Single,
        "double" => Precision::Double,
        other => return wrong("precision", other, "\"single\" or \"double\""),
    };
    let backend = match backend {
        "auto" => Backend::Auto,
        "cpu" => Backend::Cpu,
        "gpu" => Backend::Gpu,
        "reference" => Backend::Reference(precision),
        other => {
            let expected = "\"auto\", \"cpu\", \"gpu\" or \"reference\"";
            return wrong("backend", other, expected);
        }
    };
    if precision == Precision::Double && !matches!(backend, Backend::Reference(_)) {
        return wrong(
            "precision",
            "double",
            "\"single\"; only the reference computes in double precision",
        );
    }
    if threads == Some(0) {
        return wrong("threads", "0", "a number of 1 or more");
    }
    Ok(Options {
        backend,
        adapter,
        threads,
        ..Options::default()
    })
}
