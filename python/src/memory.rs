//! Memory that numpy reads without a copy, by its array interface.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use bytemuck::Pod;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rockfall::Simulation;
use rockfall::state::layout::Body;

/// The rows of the bodies, while arrays show them.
///
/// They belong to the simulation until it is about to change them. Then they move here, and the simulation continues in a
/// copy. So an array never shows memory that changes or is freed.
#[derive(Default)]
pub struct Lent(OnceLock<Vec<Body>>);

/// Memory that a world has lent to arrays.
#[derive(Default)]
pub struct Lender(Option<Arc<Lent>>);

impl Lender {
    /// The share of the memory that arrays of the present bodies hold.
    fn lend(&mut self) -> Arc<Lent> {
        Arc::clone(self.0.get_or_insert_default())
    }

    /// Leaves the rows to the arrays that still show them, if there are any. Call it before the bodies change.
    pub fn settle(&mut self, simulation: &mut Simulation) {
        if let Some(lent) = self.0.take()
            && Arc::strong_count(&lent) > 1
        {
            let _ = lent.0.set(simulation.give_rows());
        }
    }
}

/// A block of memory with the shape of an array; `numpy.asarray` makes an array of it without a copy.
#[pyclass(frozen)]
pub struct Memory {
    address: usize,
    is_read_only: bool,
    shape: Vec<usize>,
    strides: Option<Vec<usize>>,
    kind: &'static str,
    /// Owner of the memory.
    _owner: Box<dyn Any + Send + Sync>,
}

/// A type of numbers, with its name in the array interface.
pub trait Number: Pod + Send + Sync {
    const KIND: &'static str;
}

impl Number for u8 {
    const KIND: &'static str = "|u1";
}

impl Number for i64 {
    const KIND: &'static str = if cfg!(target_endian = "little") {
        "<i8"
    } else {
        ">i8"
    };
}

impl Number for f64 {
    const KIND: &'static str = if cfg!(target_endian = "little") {
        "<f8"
    } else {
        ">f8"
    };
}

const SINGLE: &str = if cfg!(target_endian = "little") {
    "<f4"
} else {
    ">f4"
};

impl Memory {
    /// An array with memory of its own, one number in each row.
    pub fn column<T: Number>(mut numbers: Vec<T>) -> Memory {
        Memory {
            address: numbers.as_mut_ptr() as usize,
            is_read_only: false,
            shape: vec![numbers.len()],
            strides: None,
            kind: T::KIND,
            _owner: Box::new(numbers),
        }
    }

    /// The bytes of records, one record in each row.
    pub fn records<T: Pod>(records: &[T]) -> Memory {
        let bytes: Vec<u8> = bytemuck::cast_slice(records).to_vec();
        Memory::column(bytes).shaped(&[records.len(), size_of::<T>()])
    }

    /// An array with memory of its own, `N` numbers in each row.
    pub fn rows<T: Number, const N: usize>(mut rows: Vec<[T; N]>) -> Memory {
        Memory {
            address: rows.as_mut_ptr() as usize,
            is_read_only: false,
            shape: vec![rows.len(), N],
            strides: None,
            kind: T::KIND,
            _owner: Box::new(rows),
        }
    }

    /// The vectors that start at the byte `offset` of each row of the bodies, in single precision.
    pub fn of_bodies(bodies: &[Body], offset: usize, lender: &mut Lender) -> Memory {
        Memory {
            address: bodies.as_ptr() as usize + offset,
            is_read_only: true,
            shape: vec![bodies.len(), 3],
            strides: Some(vec![size_of::<Body>(), size_of::<f32>()]),
            kind: SINGLE,
            _owner: Box::new(lender.lend()),
        }
    }

    /// An array of another shape.
    pub fn shaped(mut self, shape: &[usize]) -> Memory {
        debug_assert_eq!(
            self.shape.iter().product::<usize>(),
            shape.iter().product::<usize>()
        );
        self.shape = shape.to_vec();
        self
    }
}

#[pymethods]
impl Memory {
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        use pyo3::types::PyTuple;
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        interface.set_item("typestr", self.kind)?;
        interface.set_item("data", (self.address, self.is_read_only))?;
        match &self.strides {
            Some(strides) => interface.set_item("strides", PyTuple::new(py, strides)?)?,
            None => interface.set_item("strides", py.None())?,
        }
        Ok(interface)
    }
}

/// Numbers that numpy gave as bytes.
pub fn numbers<T: Number>(bytes: &[u8]) -> Vec<T> {
    bytemuck::pod_collect_to_vec(bytes)
}
