//! The compiled part of the Python package: scenes that were checked, worlds, and memory for numpy.
//!
//! The package around it, in `python/rockfall`, has the public interface.

mod errors;
mod kept;
mod memory;
mod pictures;
mod scene;
mod world;

use pyo3::prelude::*;

#[pymodule(gil_used = true)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::register(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<memory::Memory>()?;
    module.add_class::<pictures::Film>()?;
    module.add_class::<scene::Scene>()?;
    module.add_class::<world::World>()?;
    module.add_function(wrap_pyfunction!(kept::measure, module)?)?;
    module.add_function(wrap_pyfunction!(kept::totals, module)?)?;
    module.add_function(wrap_pyfunction!(kept::fields, module)?)?;
    module.add_function(wrap_pyfunction!(pictures::png, module)?)?;
    module.add_function(wrap_pyfunction!(pictures::save, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(without_comments, module)?)
}

/// The JSON Schema of scene files, as text.
#[pyfunction]
fn schema() -> String {
    rockfall::scene::schema().to_string()
}

/// A scene's text as JSON, without comments and trailing commas.
#[pyfunction]
fn without_comments(text: &str) -> String {
    rockfall::scene::without_comments(text).into_owned()
}
