//! Measures of kept runs.

use std::path::{Path, PathBuf};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rockfall::glam::DVec3;
use rockfall::output::series::{Series, Windows};
use rockfall::output::{KeptRun, RunFolder, Table};
use rockfall::scene;
use rockfall::simulation::analysis::fields::{Fields, Grid};
use rockfall::simulation::analysis::plan::{MixingPlan, Plan, Property, SlopePlan};

use crate::errors;

fn open(folder: &Path) -> PyResult<KeptRun> {
    let scene = scene::load(&folder.join(RunFolder::SCENE)).map_err(errors::of_scene)?;
    KeptRun::open(folder, &scene.model).map_err(errors::of)
}

/// Names of the measures of a run, and their values for each state that it has kept, or for each window of a length, s.
#[pyfunction]
pub fn measure(
    py: Python<'_>,
    folder: PathBuf,
    mixing: Option<(String, Option<f64>)>,
    slope: Option<[[f64; 3]; 2]>,
    window: Option<f64>,
) -> PyResult<(Vec<String>, Vec<Vec<f64>>)> {
    py.detach(|| {
        let kept = open(&folder)?;
        let mixing = mixing.map(|(name, side)| {
            let property = Property::named(kept.model(), &name);
            property.map(|property| MixingPlan { property, side })
        });
        let plan = Plan {
            mixing: mixing.transpose().map_err(PyValueError::new_err)?,
            slope: slope.map(|[up, along]| SlopePlan {
                up: DVec3::from_array(up),
                along: DVec3::from_array(along),
            }),
        };
        let mut rows = Vec::new();
        for index in 0..kept.moments().len() {
            rows.push(plan.values(&kept.moment(index).map_err(errors::of)?));
        }
        let names = plan.columns();
        match window {
            Some(length) => {
                let series = Series::read(&folder, kept.model()).map_err(errors::of)?;
                let Windows { columns, rows, .. } = series.windows(&names, &rows, length, 0.0);
                Ok((columns, rows))
            }
            None => Ok((names.into_iter().map(str::to_owned).collect(), rows)),
        }
    })
}

/// Flows, powers, collisions and residence times of a run from `start` to `end`, s, as JSON; `still` is the shortest pause, s.
#[pyfunction]
pub fn totals(
    py: Python<'_>,
    folder: PathBuf,
    start: f64,
    end: f64,
    still: f64,
) -> PyResult<String> {
    py.detach(|| {
        let kept = open(&folder)?;
        let series = Series::read(&folder, kept.model()).map_err(errors::of)?;
        let period = series.between(start, end, still);
        serde_json::to_string(&period).map_err(|error| PyValueError::new_err(error.to_string()))
    })
}

/// Fields of a run, averaged over the states from `start` to `end`, s; see [`columns`].
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python gives them by name")]
pub fn fields<'py>(
    py: Python<'py>,
    folder: PathBuf,
    cells: [usize; 3],
    min: [f64; 3],
    max: [f64; 3],
    width: f64,
    start: f64,
    end: f64,
) -> PyResult<Vec<(&'static str, usize, Bound<'py, PyBytes>)>> {
    let mut fields = on_grid(cells, min, max, width)?;
    let table = py.detach(|| -> PyResult<Table> {
        let kept = open(&folder)?;
        let mut any = false;
        for (index, moment) in kept.moments().iter().enumerate() {
            if (start..=end).contains(&moment.time) {
                fields.add(&kept.moment(index).map_err(errors::of)?);
                any = true;
            }
        }
        if !any {
            let [first, last] = [kept.moments().first(), kept.moments().last()]
                .map(|moment| moment.map_or(0.0, |moment| moment.time));
            return Err(PyValueError::new_err(format!(
                "found no state from {start} to {end} s, expected times among those of the states, {first} to {last} s"
            )));
        }
        Ok(Table::fields(&fields))
    })?;
    Ok(columns(py, &table))
}

/// Fields, still of no state, on a grid of `cells` between two corners, m; `width` is that of the Gaussian, m.
pub fn on_grid(cells: [usize; 3], min: [f64; 3], max: [f64; 3], width: f64) -> PyResult<Fields> {
    let grid = Grid {
        min: DVec3::from_array(min),
        max: DVec3::from_array(max),
        cells,
    };
    Fields::new(grid, width).map_err(PyValueError::new_err)
}

/// Columns of a table of fields: name, numbers for each cell, and these numbers as bytes. The index along x runs fastest.
pub fn columns<'py>(
    py: Python<'py>,
    table: &Table,
) -> Vec<(&'static str, usize, Bound<'py, PyBytes>)> {
    let columns = table.columns.iter();
    let columns = columns.map(|column| {
        let bytes = PyBytes::new(py, column.values.bytes());
        (column.name, column.components, bytes)
    });
    columns.collect()
}
