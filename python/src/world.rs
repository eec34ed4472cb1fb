//! Worlds: simulations that Python drives.

use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use bytemuck::{Pod, Zeroable};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rockfall::glam::{DQuat, DVec3};
use rockfall::model::flow::Collisions;
use rockfall::model::forces::Drag;
use rockfall::model::quantity::Quantities;
use rockfall::output::{Record, RunFolder, RunSummary, Table};
use rockfall::render::Studio;
use rockfall::scene::Scene;
use rockfall::scene::format::{Interval, Kind};
use rockfall::simulation::analysis::Moment;
use rockfall::simulation::analysis::plan::Plan;
use rockfall::simulation::checkpoint::Checkpoint;
use rockfall::state::layout::Body;
use rockfall::step::Canceller;
use rockfall::step::gpu::Context;
use rockfall::{
    BodyHandle, BodyState, Event, GroupHandle, MaterialHandle, NewBody, Options, Partner,
    ShapeHandle, Simulation, WallHandle,
};

use crate::errors;
use crate::kept;
use crate::memory::{Lender, Memory, numbers};
use crate::pictures::{Wanted, opaque};

/// Steps that take longer than this are taken by a thread, while this one looks for Ctrl-C.
const SHORT: Duration = Duration::from_millis(50);

/// A simulation that Python drives.
#[pyclass(frozen)]
pub struct World {
    inner: Mutex<Inner>,
    canceller: Canceller,
}

struct Inner {
    simulation: Simulation,
    scene: Scene,
    options: Options,
    lender: Lender,
    /// The time that a step took lately, s.
    pace: f64,
    recording: Option<Recording>,
    /// The device that pictures are drawn on.
    device: Option<Context>,
    /// Of the film that is being made.
    studio: Option<Studio>,
}

/// The folder that a world is written to.
struct Recording {
    folder: RunFolder,
    /// The step with which it began, and the one with which it should end.
    from: u64,
    until: u64,
    since: Instant,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.lender.settle(&mut self.simulation);
    }
}

impl Inner {
    /// Takes steps, and writes what is due.
    fn step(&mut self, steps: u64) -> rockfall::error::Result<()> {
        let since = Instant::now();
        let from = self.simulation.steps();
        let end = from + steps;
        let outcome = match &mut self.recording {
            None => self.simulation.step(steps),
            Some(recording) => {
                let run = self.simulation.run(end, &mut [&mut recording.folder]);
                run.map(|_| ())
            }
        };
        let taken = self.simulation.steps() - from;
        if taken > 0 {
            self.pace = since.elapsed().as_secs_f64() / taken as f64;
        }
        outcome
    }

    fn finish(&mut self) -> rockfall::error::Result<()> {
        let Some(recording) = self.recording.take() else {
            return Ok(());
        };
        let simulation = &mut self.simulation;
        let summary = RunSummary::new(simulation, recording.from, recording.since.elapsed())?;
        let stopped = simulation.steps() < recording.until;
        recording.folder.finish(simulation, stopped, summary)
    }
}

/// A contact, as a row of an array: see `CONTACT` in `python/rockfall/world.py`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Contact {
    body: i64,
    other: i64,
    wall: i64,
    overlap: f64,
    overlap_fraction: f64,
    point: [f64; 3],
    normal: [f64; 3],
    force: [f64; 3],
    torque: [f64; 3],
}

/// A bond, as a row of an array: see `BOND` in `python/rockfall/world.py`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Bond {
    body: i64,
    other: i64,
    broken: i64,
    breaks: i64,
    time: f64,
    energy: f64,
    load: f64,
    tension: f64,
    shear: f64,
    place: [f64; 3],
    force: [f64; 3],
    moment: [f64; 3],
}

fn vector(numbers: [f64; 3]) -> DVec3 {
    DVec3::from_array(numbers)
}

fn quaternion(numbers: [f64; 4]) -> DQuat {
    DQuat::from_array(numbers)
}

fn refused(sentence: String) -> PyErr {
    PyValueError::new_err(sentence)
}

/// Rows of `N` numbers, which numpy gave as bytes: one for all bodies, or one for each.
fn rows<const N: usize>(
    what: &str,
    bytes: Option<&[u8]>,
    count: usize,
    none: [f64; N],
) -> PyResult<Vec<[f64; N]>> {
    let Some(bytes) = bytes else {
        return Ok(vec![none; count]);
    };
    let flat: Vec<f64> = numbers(bytes);
    let rows: Vec<[f64; N]> = flat
        .chunks_exact(N)
        .map(|row| std::array::from_fn(|index| row[index]))
        .collect();
    match rows.len() {
        1 => Ok(vec![rows[0]; count]),
        found if found == count => Ok(rows),
        found => Err(refused(format!(
            "{what}: found {found} rows, expected one, or one for each of the {count} bodies"
        ))),
    }
}

impl World {
    pub fn new(
        simulation: Simulation,
        scene: Scene,
        options: Options,
        recording: Option<(RunFolder, u64)>,
    ) -> World {
        let from = simulation.steps();
        World {
            canceller: simulation.canceller(),
            inner: Mutex::new(Inner {
                simulation,
                scene,
                options,
                lender: Lender::default(),
                pace: f64::INFINITY,
                recording: recording.map(|(folder, until)| Recording {
                    folder,
                    from,
                    until,
                    since: Instant::now(),
                }),
                device: None,
                studio: None,
            }),
        }
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, Inner>> {
        match self.inner.try_lock() {
            Ok(inner) => Ok(inner),
            Err(TryLockError::Poisoned(inner)) => Ok(inner.into_inner()),
            Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err(
                "another thread is using this world; wait until its call returns, or cancel it",
            )),
        }
    }

    /// Reads what does not change the bodies, with Python's other threads running.
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&mut Simulation) -> rockfall::error::Result<T> + Send,
    ) -> PyResult<T> {
        let inner = &mut *self.lock()?;
        if inner.simulation.backend() != "cpu" {
            // What comes from a device comes into the memory of the rows.
            inner.lender.settle(&mut inner.simulation);
        }
        py.detach(|| read(&mut inner.simulation))
            .map_err(errors::of)
    }

    /// Changes the world, with Python's other threads running.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Simulation) -> rockfall::error::Result<T> + Send,
    ) -> PyResult<T> {
        let inner = &mut *self.lock()?;
        inner.lender.settle(&mut inner.simulation);
        py.detach(|| change(&mut inner.simulation))
            .map_err(errors::of)
    }

    /// A view of the vectors at `offset` of the rows of the bodies.
    fn view(&self, py: Python<'_>, offset: usize) -> PyResult<Memory> {
        self.read(py, |simulation| simulation.rows().map(|_| ()))?;
        let inner = &mut *self.lock()?;
        let bodies = &inner.simulation.on_host().bodies;
        Ok(Memory::of_bodies(bodies, offset, &mut inner.lender))
    }
}

#[pymethods]
impl World {
    /// Resumes the run in a folder.
    #[staticmethod]
    fn resume(py: Python<'_>, path: PathBuf, duration: Option<f64>) -> PyResult<World> {
        py.detach(|| {
            let mut record = Record::read(&path.join(RunFolder::RECORD)).map_err(errors::of)?;
            let file = path.join(&record.scene);
            let scene = rockfall::scene::load(&file).map_err(errors::of_scene)?;
            if let Some(duration) = duration {
                record.steps = scene.model.steps_for(duration);
            }
            let options = Options::from(&record.options);
            let mut simulation =
                Simulation::new(scene.model.clone(), &options).map_err(errors::of)?;
            let folder = RunFolder::resume(&path, &scene, &mut simulation, record.steps);
            let folder = folder.map_err(errors::of)?;
            let recording = Some((folder, record.steps));
            Ok(World::new(simulation, scene, options, recording))
        })
    }

    // ---- what it is, and how far it has come

    #[getter]
    fn backend(&self) -> PyResult<&'static str> {
        Ok(self.lock()?.simulation.backend())
    }

    #[getter]
    fn adapter(&self) -> PyResult<String> {
        Ok(self.lock()?.simulation.adapter())
    }

    #[getter]
    fn steps(&self) -> PyResult<u64> {
        Ok(self.lock()?.simulation.steps())
    }

    #[getter]
    fn time(&self) -> PyResult<f64> {
        Ok(self.lock()?.simulation.time())
    }

    #[getter]
    fn time_step(&self) -> PyResult<f64> {
        Ok(self.lock()?.simulation.model().time_step)
    }

    #[setter]
    fn set_time_step(&self, py: Python<'_>, time_step: f64) -> PyResult<()> {
        self.change(py, |simulation| simulation.set_time_step(time_step))
    }

    #[getter]
    fn duration(&self) -> PyResult<f64> {
        Ok(self.lock()?.scene.model.duration)
    }

    #[getter]
    fn body_count(&self) -> PyResult<usize> {
        Ok(self.lock()?.simulation.body_count())
    }

    #[getter]
    fn sphere_count(&self) -> PyResult<usize> {
        Ok(self.lock()?.simulation.sphere_count())
    }

    #[getter]
    fn memory(&self) -> PyResult<u64> {
        Ok(self.lock()?.simulation.memory())
    }

    /// The scene from which it was started, as JSON with all derived values, and the folder of its files.
    fn scene(&self) -> PyResult<(String, PathBuf)> {
        let inner = self.lock()?;
        let text = serde_json::to_string(&inner.scene.file);
        let text = text.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok((text, inner.scene.folder.clone()))
    }

    /// Names of shapes, materials, groups and walls, by their indices.
    fn names(&self) -> PyResult<[Vec<String>; 4]> {
        let inner = self.lock()?;
        let model = inner.simulation.model();
        Ok([
            model.shapes.iter().map(|own| own.name.clone()).collect(),
            model.materials.clone(),
            model
                .forces
                .groups
                .iter()
                .map(|own| own.name.clone())
                .collect(),
            model.walls.iter().map(|own| own.name.clone()).collect(),
        ])
    }

    // ---- steps

    /// Takes steps. Ctrl-C stops them after the current one.
    fn step(&self, py: Python<'_>, steps: u64) -> PyResult<()> {
        let inner = &mut *self.lock()?;
        inner.lender.settle(&mut inner.simulation);
        if inner.pace * steps as f64 <= SHORT.as_secs_f64() {
            py.detach(|| inner.step(steps)).map_err(errors::of)?;
            return py.check_signals();
        }
        let (done, finished) = channel();
        // For the closures that wait, of which each has it for a while.
        let finished = Mutex::new(finished);
        let mut interrupted = None;
        let outcome = thread::scope(|scope| {
            let worker = scope.spawn(move || {
                let outcome = inner.step(steps);
                let _ = done.send(());
                outcome
            });
            loop {
                let waited = py.detach(|| {
                    let finished = finished.lock().unwrap_or_else(|held| held.into_inner());
                    finished.recv_timeout(SHORT)
                });
                if waited != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                if interrupted.is_none()
                    && let Err(signal) = py.check_signals()
                {
                    interrupted = Some(signal);
                    self.canceller.cancel();
                }
            }
            py.detach(|| worker.join())
        });
        let outcome = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if let Some(signal) = interrupted {
            // The last step may have been taken before.
            self.canceller.reset();
            return Err(signal);
        }
        outcome.map_err(errors::of)?;
        py.check_signals()
    }

    /// Number of steps from now to a time, s.
    fn steps_until(&self, time: f64) -> PyResult<u64> {
        let inner = self.lock()?;
        let (now, step) = (inner.simulation.time(), inner.simulation.model().time_step);
        if !time.is_finite() {
            return Err(refused(format!(
                "time: found {time}, expected a number (s)"
            )));
        }
        Ok(((time - now) / step).round().max(0.0) as u64)
    }

    /// Stops the steps that another thread takes.
    fn cancel(&self) {
        self.canceller.cancel();
    }

    // ---- arrays

    /// Numbers of the bodies.
    fn ids(&self) -> PyResult<Memory> {
        let inner = self.lock()?;
        let ids = inner.simulation.handles().map(|body| body.id() as i64);
        Ok(Memory::column(ids.collect()))
    }

    /// Indices of the shape and the group of each body, and whether it is fixed.
    fn kinds(&self) -> PyResult<Memory> {
        let inner = self.lock()?;
        let identities = &inner.simulation.on_host().identities;
        let rows = identities
            .iter()
            .map(|own| [own.shape as i64, own.group as i64, own.fixed.into()]);
        Ok(Memory::rows(rows.collect()))
    }

    fn masses(&self) -> PyResult<Memory> {
        let inner = self.lock()?;
        let shapes = &inner.simulation.model().shapes;
        let identities = inner.simulation.on_host().identities.iter();
        Ok(Memory::column(
            identities.map(|own| shapes[own.shape].mass).collect(),
        ))
    }

    fn positions(&self, py: Python<'_>) -> PyResult<Memory> {
        let mut rows: Vec<[f64; 3]> = Vec::new();
        self.read(py, |simulation| simulation.positions(&mut rows))?;
        Ok(Memory::rows(rows))
    }

    fn orientations(&self, py: Python<'_>) -> PyResult<Memory> {
        let mut rows: Vec<[f64; 4]> = Vec::new();
        self.read(py, |simulation| simulation.orientations(&mut rows))?;
        Ok(Memory::rows(rows))
    }

    fn angular_velocities(&self, py: Python<'_>) -> PyResult<Memory> {
        let mut rows: Vec<[f64; 3]> = Vec::new();
        self.read(py, |simulation| simulation.angular_velocities(&mut rows))?;
        Ok(Memory::rows(rows))
    }

    fn forces(&self, py: Python<'_>) -> PyResult<Memory> {
        let mut rows: Vec<[f64; 3]> = Vec::new();
        self.read(py, |simulation| simulation.contact_forces(&mut rows))?;
        Ok(Memory::rows(rows))
    }

    fn torques(&self, py: Python<'_>) -> PyResult<Memory> {
        let mut rows: Vec<[f64; 3]> = Vec::new();
        self.read(py, |simulation| simulation.contact_torques(&mut rows))?;
        Ok(Memory::rows(rows))
    }

    /// Velocities: a view of the rows of the bodies.
    fn velocities(&self, py: Python<'_>) -> PyResult<Memory> {
        self.view(py, std::mem::offset_of!(Body, velocity))
    }

    /// Angular momenta: a view of the rows of the bodies.
    fn angular_momenta(&self, py: Python<'_>) -> PyResult<Memory> {
        self.view(py, std::mem::offset_of!(Body, angular_momentum))
    }

    /// The contacts of the last step, as bytes.
    fn contacts(&self, py: Python<'_>) -> PyResult<Memory> {
        let contacts: Vec<Contact> = self.read(py, |simulation| {
            let ids: Vec<i64> = simulation.handles().map(|own| own.id() as i64).collect();
            let contacts = simulation.contacts()?.map(|own| {
                let (other, wall) = match own.partner {
                    Partner::Sphere { body, .. } => (ids[body as usize], -1),
                    Partner::Wall(wall) => (-1, wall.into()),
                };
                Contact {
                    body: ids[own.body as usize],
                    other,
                    wall,
                    overlap: own.overlap,
                    overlap_fraction: own.overlap_fraction,
                    point: own.point.to_array(),
                    normal: own.normal.to_array(),
                    force: own.force.to_array(),
                    torque: own.torque.to_array(),
                }
            });
            Ok(contacts.collect())
        })?;
        Ok(Memory::records(&contacts))
    }

    /// The bonds, as bytes.
    fn bonds(&self, py: Python<'_>) -> PyResult<Memory> {
        let bonds: Vec<Bond> = self.read(py, |simulation| {
            let ids: Vec<i64> = simulation.handles().map(|own| own.id() as i64).collect();
            let bonds = simulation.bonds()?.map(|own| {
                let [body, other] = own.bodies.map(|body| ids[body]);
                let broken = own.broken;
                Bond {
                    body,
                    other,
                    broken: broken.map_or(0, |broken| 1 + i64::from(broken.by_shear)),
                    breaks: own.breaks.into(),
                    time: own.changed().unwrap_or(-1.0),
                    energy: broken.map_or(own.energy, |broken| broken.energy),
                    load: own.load,
                    tension: own.tension,
                    shear: own.shear,
                    place: broken.map_or(own.middle, |broken| broken.place).to_array(),
                    force: own.force.to_array(),
                    moment: own.moment.to_array(),
                }
            });
            Ok(bonds.collect())
        })?;
        Ok(Memory::records(&bonds))
    }

    // ---- bodies

    /// Adds bodies; arrays come as bytes.
    #[pyo3(signature = (shape, positions, orientations, velocities, angular_velocities, fixed, group, temperature))]
    #[allow(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn spawn_many(
        &self,
        py: Python<'_>,
        shape: usize,
        positions: &[u8],
        orientations: Option<&[u8]>,
        velocities: Option<&[u8]>,
        angular_velocities: Option<&[u8]>,
        fixed: bool,
        group: usize,
        temperature: Option<f64>,
    ) -> PyResult<Memory> {
        let count = positions.len() / size_of::<[f64; 3]>();
        let positions = rows("positions", Some(positions), count, [0.0; 3])?;
        let turned = rows("orientations", orientations, count, [0.0, 0.0, 0.0, 1.0])?;
        let moving = rows("velocities", velocities, count, [0.0; 3])?;
        let turning = rows("angular_velocities", angular_velocities, count, [0.0; 3])?;
        let quantities = match temperature {
            Some(temperature) => Quantities { temperature },
            None => Quantities::default(),
        };
        let bodies: Vec<NewBody> = (0..count)
            .map(|index| {
                let shape = ShapeHandle::from_index(shape);
                let mut body = NewBody::new(shape, vector(positions[index]))
                    .turned(quaternion(turned[index]))
                    .moving(vector(moving[index]))
                    .in_group(GroupHandle::from_index(group));
                body.angular_velocity = vector(turning[index]);
                body.fixed = fixed;
                body.quantities = quantities;
                body
            })
            .collect();
        let handles = self.change(py, |simulation| simulation.spawn_many(&bodies))?;
        let ids = handles.iter().map(|own| own.id() as i64);
        Ok(Memory::column(ids.collect()))
    }

    /// Removes bodies; their numbers come as bytes.
    fn despawn_many(&self, py: Python<'_>, ids: &[u8]) -> PyResult<()> {
        let ids: Vec<i64> = numbers(ids);
        let handles: Vec<BodyHandle> = ids
            .iter()
            .map(|id| BodyHandle::from_id(*id as u64))
            .collect();
        self.change(py, |simulation| simulation.despawn_many(&handles))
    }

    /// Row of a body in the arrays; None if it does not exist.
    fn index_of(&self, id: u64) -> PyResult<Option<usize>> {
        Ok(self.lock()?.simulation.index_of(BodyHandle::from_id(id)))
    }

    /// Present state of a body, by name.
    fn body<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyDict>> {
        let BodyState {
            shape,
            mass,
            fixed,
            position,
            origin,
            orientation,
            velocity,
            angular_velocity,
            quantities,
            ..
        } = self.read(py, |simulation| simulation.body(BodyHandle::from_id(id)))?;
        let body = PyDict::new(py);
        body.set_item("shape", shape)?;
        body.set_item("mass", mass)?;
        body.set_item("fixed", fixed)?;
        body.set_item("position", position.to_array())?;
        body.set_item("origin", origin.to_array())?;
        body.set_item("orientation", orientation.to_array())?;
        body.set_item("velocity", velocity.to_array())?;
        body.set_item("angular_velocity", angular_velocity.to_array())?;
        body.set_item("temperature", quantities.temperature)?;
        Ok(body)
    }

    fn group_of(&self, id: u64) -> PyResult<usize> {
        let inner = self.lock()?;
        let gone = rockfall::Error::BodyGone { id };
        let index = inner.simulation.index_of(BodyHandle::from_id(id));
        let index = index.ok_or(gone).map_err(errors::of)?;
        Ok(inner.simulation.on_host().identities[index].group)
    }

    fn set_pose(
        &self,
        py: Python<'_>,
        id: u64,
        position: [f64; 3],
        orientation: [f64; 4],
    ) -> PyResult<()> {
        let (position, orientation) = (vector(position), quaternion(orientation));
        self.change(py, |simulation| {
            simulation.set_pose(BodyHandle::from_id(id), position, orientation)
        })
    }

    fn set_velocity(&self, py: Python<'_>, id: u64, velocity: [f64; 3]) -> PyResult<()> {
        self.change(py, |simulation| {
            simulation.set_velocity(BodyHandle::from_id(id), vector(velocity))
        })
    }

    fn set_angular_velocity(&self, py: Python<'_>, id: u64, velocity: [f64; 3]) -> PyResult<()> {
        self.change(py, |simulation| {
            simulation.set_angular_velocity(BodyHandle::from_id(id), vector(velocity))
        })
    }

    fn apply_impulse(
        &self,
        py: Python<'_>,
        id: u64,
        impulse: [f64; 3],
        point: Option<[f64; 3]>,
    ) -> PyResult<()> {
        self.change(py, |simulation| {
            let body = BodyHandle::from_id(id);
            let point = match point {
                Some(point) => vector(point),
                None => simulation.body(body)?.position,
            };
            simulation.apply_impulse(body, vector(impulse), point)
        })
    }

    fn apply_angular_impulse(&self, py: Python<'_>, id: u64, impulse: [f64; 3]) -> PyResult<()> {
        self.change(py, |simulation| {
            simulation.apply_angular_impulse(BodyHandle::from_id(id), vector(impulse))
        })
    }

    fn set_applied_force(
        &self,
        py: Python<'_>,
        id: u64,
        force: [f64; 3],
        torque: [f64; 3],
    ) -> PyResult<()> {
        self.change(py, |simulation| {
            simulation.set_applied_force(BodyHandle::from_id(id), vector(force), vector(torque))
        })
    }

    /// Sets or applies vectors of several bodies; numbers and vectors come as bytes.
    fn set_many(&self, py: Python<'_>, what: &str, ids: &[u8], vectors: &[u8]) -> PyResult<()> {
        let ids: Vec<i64> = numbers(ids);
        let vectors = rows(what, Some(vectors), ids.len(), [0.0; 3])?;
        type Set = fn(&mut Simulation, BodyHandle, DVec3) -> rockfall::error::Result<()>;
        let set: Set = match what {
            "velocities" => Simulation::set_velocity,
            "angular_velocities" => Simulation::set_angular_velocity,
            "impulses" => |simulation, body, impulse| {
                let point = simulation.body(body)?.position;
                simulation.apply_impulse(body, impulse, point)
            },
            "forces" => {
                |simulation, body, force| simulation.set_applied_force(body, force, DVec3::ZERO)
            }
            other => return Err(refused(format!("bodies have no {other}"))),
        };
        self.change(py, |simulation| {
            let bodies = ids.iter().map(|id| BodyHandle::from_id(*id as u64));
            // If one body is gone, nothing is set.
            if let Some(gone) = bodies
                .clone()
                .find(|own| simulation.index_of(*own).is_none())
            {
                return Err(rockfall::Error::BodyGone { id: gone.id() });
            }
            for (body, vector) in bodies.zip(&vectors) {
                set(simulation, body, DVec3::from_array(*vector))?;
            }
            Ok(())
        })
    }

    fn set_fixed(&self, py: Python<'_>, id: u64, fixed: bool) -> PyResult<()> {
        self.change(py, |simulation| {
            simulation.set_fixed(BodyHandle::from_id(id), fixed)
        })
    }

    fn set_group(&self, py: Python<'_>, id: u64, group: usize) -> PyResult<()> {
        self.change(py, |simulation| {
            simulation.set_group(BodyHandle::from_id(id), GroupHandle::from_index(group))
        })
    }

    fn is_asleep(&self, py: Python<'_>, id: u64) -> PyResult<bool> {
        self.read(py, |simulation| {
            simulation.is_asleep(BodyHandle::from_id(id))
        })
    }

    fn wake(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, Simulation::wake)
    }

    // ---- the rest of the world

    #[getter]
    fn gravity(&self) -> PyResult<[f64; 3]> {
        Ok(self.lock()?.simulation.model().gravity.to_array())
    }

    #[setter]
    fn set_gravity(&self, py: Python<'_>, gravity: [f64; 3]) -> PyResult<()> {
        self.change(py, |simulation| simulation.set_gravity(vector(gravity)))
    }

    fn set_drag(&self, py: Python<'_>, linear: f64, angular: f64) -> PyResult<()> {
        self.change(py, |simulation| {
            simulation.set_drag(Drag { linear, angular })
        })
    }

    /// Coefficients of the contact of two materials, by name.
    fn pair<'py>(&self, py: Python<'py>, a: usize, b: usize) -> PyResult<Bound<'py, PyDict>> {
        let inner = self.lock()?;
        let model = inner.simulation.model();
        let law = model.pairs[a * model.materials.len() + b];
        let numbers = PyDict::new(py);
        for (name, number) in law.numbers() {
            numbers.set_item(name, number)?;
        }
        Ok(numbers)
    }

    fn set_pair(
        &self,
        py: Python<'_>,
        a: usize,
        b: usize,
        changed: Vec<(String, f64)>,
    ) -> PyResult<()> {
        let mut law = {
            let inner = self.lock()?;
            let model = inner.simulation.model();
            model.pairs[a * model.materials.len() + b]
        };
        for (name, number) in changed {
            let names: Vec<&str> = law.numbers().map(|(name, _)| name).collect();
            let field = match name.as_str() {
                "stiffness" => &mut law.stiffness,
                "wall_stiffness" => &mut law.wall_stiffness,
                "tangential_ratio" => &mut law.tangential_ratio,
                "wall_tangential_ratio" => &mut law.wall_tangential_ratio,
                "damping_ratio" => &mut law.damping_ratio,
                "damping" => &mut law.damping,
                "friction" => &mut law.friction,
                "rolling_friction" => &mut law.rolling_friction,
                "twisting_friction" => &mut law.twisting_friction,
                _ => {
                    let names = names.join(", ");
                    return Err(refused(format!(
                        "a contact has no number {name:?}; it has {names}"
                    )));
                }
            };
            *field = number;
        }
        self.change(py, |simulation| {
            let [a, b] = [a, b].map(MaterialHandle::from_index);
            simulation.set_pair(a, b, law)
        })
    }

    // ---- walls

    fn wall<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyDict>> {
        let (moving, load) = self.read(py, |simulation| {
            let load = simulation.wall_load(WallHandle::from_index(index))?;
            Ok((simulation.walls()?.swap_remove(index).moving, load))
        })?;
        let wall = PyDict::new(py);
        wall.set_item("position", moving.pose.position.to_array())?;
        wall.set_item("orientation", moving.pose.orientation.to_array())?;
        wall.set_item("velocity", moving.velocity.to_array())?;
        wall.set_item("angular_velocity", moving.angular_velocity.to_array())?;
        wall.set_item("force", load.force.to_array())?;
        wall.set_item("torque", load.torque.to_array())?;
        Ok(wall)
    }

    fn move_wall(&self, py: Python<'_>, index: usize, way: [f64; 3]) -> PyResult<()> {
        self.change(py, |simulation| {
            simulation.move_wall(WallHandle::from_index(index), vector(way))
        })
    }

    fn set_wall_velocity(
        &self,
        py: Python<'_>,
        index: usize,
        velocity: [f64; 3],
        angular_velocity: [f64; 3],
    ) -> PyResult<()> {
        self.change(py, |simulation| {
            let wall = WallHandle::from_index(index);
            simulation.set_wall_velocity(wall, vector(velocity), vector(angular_velocity))
        })
    }

    fn set_wall_temperature(
        &self,
        py: Python<'_>,
        index: usize,
        temperature: Option<f64>,
    ) -> PyResult<()> {
        self.change(py, |simulation| {
            simulation.set_wall_temperature(WallHandle::from_index(index), temperature)
        })
    }

    // ---- queries

    /// The first body that a ray meets: its number, the distance, the point and the normal.
    #[allow(clippy::type_complexity, reason = "a tuple of Python")]
    fn cast_ray(
        &self,
        py: Python<'_>,
        origin: [f64; 3],
        direction: [f64; 3],
        reach: f64,
    ) -> PyResult<Option<(u64, f64, [f64; 3], [f64; 3])>> {
        let hit = self.read(py, |simulation| {
            simulation.cast_ray(vector(origin), vector(direction), reach)
        })?;
        Ok(hit.map(|hit| {
            let (point, normal) = (hit.point.to_array(), hit.normal.to_array());
            (hit.body.id(), hit.distance, point, normal)
        }))
    }

    fn bodies_in_box(&self, py: Python<'_>, min: [f64; 3], max: [f64; 3]) -> PyResult<Vec<u64>> {
        let found = self.read(py, |simulation| {
            simulation.bodies_in_box(vector(min), vector(max))
        })?;
        Ok(found.iter().map(|body| body.id()).collect())
    }

    fn bodies_in_sphere(
        &self,
        py: Python<'_>,
        center: [f64; 3],
        radius: f64,
    ) -> PyResult<Vec<u64>> {
        let found = self.read(py, |simulation| {
            simulation.bodies_in_sphere(vector(center), radius)
        })?;
        Ok(found.iter().map(|body| body.id()).collect())
    }

    fn nearest_body(
        &self,
        py: Python<'_>,
        point: [f64; 3],
    ) -> PyResult<Option<(u64, f64, [f64; 3])>> {
        let found = self.read(py, |simulation| simulation.nearest_body(vector(point)))?;
        Ok(found.map(|found| (found.body.id(), found.distance, found.point.to_array())))
    }

    // ---- events

    fn watch_contacts(&self, a: usize, b: usize) -> PyResult<()> {
        let [a, b] = [a, b].map(GroupHandle::from_index);
        let watched = self.lock()?.simulation.watch_contacts(a, b);
        watched.map_err(errors::of)
    }

    fn watch_wall(&self, index: usize) -> PyResult<()> {
        let watched = self
            .lock()?
            .simulation
            .watch_wall(WallHandle::from_index(index));
        watched.map_err(errors::of)
    }

    fn watch_flow(&self) -> PyResult<()> {
        self.lock()?.simulation.watch_flow();
        Ok(())
    }

    fn watch_bonds(&self) -> PyResult<()> {
        self.lock()?.simulation.watch_bonds();
        Ok(())
    }

    fn set_event_interval(&self, steps: u64) -> PyResult<()> {
        self.lock()?.simulation.set_event_interval(steps);
        Ok(())
    }

    /// Events since the last call: the kind, the bodies, and the wall.
    #[allow(clippy::type_complexity, reason = "tuples of Python")]
    fn events(&self) -> PyResult<Vec<(&'static str, Vec<u64>, Option<usize>)>> {
        let events = self.lock()?.simulation.events();
        let both = |bodies: [BodyHandle; 2]| bodies.map(BodyHandle::id).to_vec();
        let of = |event: Event| {
            Some(match event {
                Event::ContactBegan(bodies) => ("contact began", both(bodies), None),
                Event::ContactEnded(bodies) => ("contact ended", both(bodies), None),
                Event::WallContactBegan(wall, body) => {
                    ("wall contact began", vec![body.id()], Some(wall.index()))
                }
                Event::WallContactEnded(wall, body) => {
                    ("wall contact ended", vec![body.id()], Some(wall.index()))
                }
                Event::BodyEntered(body) => ("body entered", vec![body.id()], None),
                Event::BodyLeft(body) => ("body left", vec![body.id()], None),
                Event::BondBroke(bodies) => ("bond broke", both(bodies), None),
                Event::BondHealed(bodies) => ("bond healed", both(bodies), None),
                _ => return None,
            })
        };
        Ok(events.into_iter().filter_map(of).collect())
    }

    // ---- results

    /// The summary of a run so far, as JSON.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        let summary = self.read(py, |simulation| {
            RunSummary::new(simulation, 0, Duration::ZERO)
        })?;
        serde_json::to_string(&summary).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    fn state_hash(&self, py: Python<'_>) -> PyResult<String> {
        let summary = self.read(py, Simulation::summary)?;
        Ok(format!("{:016x}", summary.state_hash))
    }

    fn energy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let energy = self.read(py, Simulation::energy)?;
        let parts = PyDict::new(py);
        parts.set_item("kinetic", energy.kinetic)?;
        parts.set_item("gravitational", energy.gravitational)?;
        parts.set_item("elastic", energy.elastic)?;
        parts.set_item("damping", energy.damping)?;
        parts.set_item("friction", energy.friction)?;
        parts.set_item("drag", energy.drag)?;
        parts.set_item("bonds", energy.bonds)?;
        parts.set_item("work", energy.work)?;
        Ok(parts)
    }

    /// Measures of the contacts, by name.
    fn measure<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let plan = Plan::default();
        let values = self.read(py, |simulation| {
            Ok(plan.values(&Moment::new(&simulation.snapshot()?)))
        })?;
        let parts = PyDict::new(py);
        for (name, value) in plan.columns().into_iter().zip(values) {
            parts.set_item(name, value)?;
        }
        Ok(parts)
    }

    /// Spectra of collisions: classes by quantity, each with its ends, its number of collisions and their energy.
    fn collisions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let spectra = self.read(py, |simulation| {
            let flow = &simulation.model().flow;
            let own = &simulation.traffic().collisions;
            Ok(flow
                .collisions
                .then(|| (own.speeds.clone(), own.energies.clone())))
        })?;
        let Some((speeds, energies)) = spectra else {
            return Err(PyValueError::new_err(
                "found a scene that does not ask for collisions, expected `\"measure\": { \"collisions\": true }` in it",
            ));
        };
        let parts = PyDict::new(py);
        for (name, classes) in [
            ("impact_speed_m_per_s", speeds),
            ("dissipated_energy_J", energies),
        ] {
            let classes = Collisions::classes(&classes);
            let rows = classes.map(|class| {
                (
                    class.from,
                    class.to,
                    class.amount.count,
                    class.amount.energy,
                )
            });
            parts.set_item(name, rows.collect::<Vec<_>>())?;
        }
        Ok(parts)
    }

    /// Fields by coarse graining; see [`kept::columns`].
    fn fields<'py>(
        &self,
        py: Python<'py>,
        cells: [usize; 3],
        min: [f64; 3],
        max: [f64; 3],
        width: f64,
    ) -> PyResult<Vec<(&'static str, usize, Bound<'py, PyBytes>)>> {
        let mut fields = kept::on_grid(cells, min, max, width)?;
        let table = self.read(py, |simulation| {
            fields.add(&Moment::new(&simulation.snapshot()?));
            Ok(Table::fields(&fields))
        })?;
        Ok(kept::columns(py, &table))
    }

    // ---- checkpoints and folders

    fn checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.read(py, Simulation::checkpoint)?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn restore(&self, py: Python<'_>, bytes: &[u8], file: PathBuf) -> PyResult<()> {
        let bytes = bytes.to_vec();
        self.change(py, |simulation| {
            Checkpoint::decode(bytes, &file)?.restore(simulation)
        })
    }

    /// Writes the state to a folder from now on.
    #[pyo3(signature = (path, duration, every, statistics_every, checkpoint_every, vtk, states))]
    #[allow(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn record(
        &self,
        py: Python<'_>,
        path: PathBuf,
        duration: f64,
        every: Option<f64>,
        statistics_every: Option<f64>,
        checkpoint_every: Option<f64>,
        vtk: Option<Vec<String>>,
        states: Option<Vec<String>>,
    ) -> PyResult<()> {
        let inner = &mut *self.lock()?;
        if inner.recording.is_some() {
            return Err(refused(
                "this world is being recorded; call `finish` first".to_owned(),
            ));
        }
        let interval = |what: &str, every: Option<f64>| match every {
            Some(every) if !(every > 0.0 && every.is_finite()) => Err(refused(format!(
                "{what}: found {every}, expected a time greater than 0 (s)"
            ))),
            every => Ok(every.map(Interval::seconds)),
        };
        let kinds = |what: &str, of: &[Kind], names: Option<Vec<String>>| {
            let kind = |name: &String| {
                let found = of.iter().copied().find(|kind| kind.keyword() == name);
                found.ok_or_else(|| {
                    let expected: Vec<&str> = of.iter().map(|kind| kind.keyword()).collect();
                    refused(format!(
                        "{what}: found {name:?}, expected one of {}",
                        expected.join(", ")
                    ))
                })
            };
            names
                .map(|names| names.iter().map(kind).collect::<PyResult<Vec<Kind>>>())
                .transpose()
        };
        // Walls are meshes, which no table of numbers has.
        let of_states: Vec<Kind> = Kind::ALL
            .into_iter()
            .filter(|kind| *kind != Kind::Walls)
            .collect();
        let mut scene = inner.scene.clone();
        let output = &mut scene.file.output;
        output.every = interval("every", every)?.or(output.every);
        output.statistics_every =
            interval("statistics_every", statistics_every)?.or(output.statistics_every);
        output.checkpoint_every =
            interval("checkpoint_every", checkpoint_every)?.or(output.checkpoint_every);
        output.vtk = kinds("vtk", &Kind::ALL, vtk)?.or(output.vtk.take());
        output.states = kinds("states", &of_states, states)?.or(output.states.take());
        if !(duration >= 0.0 && duration.is_finite()) {
            return Err(refused(format!(
                "seconds: found {duration}, expected a time of 0 or more (s)"
            )));
        }
        // What is not given follows from how long the run is.
        scene.file.duration = duration;
        scene.model.duration = duration;
        let from = inner.simulation.steps();
        let until = from + scene.model.steps_for(duration);
        inner.lender.settle(&mut inner.simulation);
        let folder = py.detach(|| {
            let simulation = &mut inner.simulation;
            let command = vec!["rockfall for Python".to_owned()];
            let record = Record::new(simulation, &inner.options, command, until);
            RunFolder::create(&path, &scene, record, simulation)
        });
        inner.recording = Some(Recording {
            folder: folder.map_err(errors::of)?,
            from,
            until,
            since: Instant::now(),
        });
        Ok(())
    }

    /// Ends the recording: writes the last state, a checkpoint and the summary.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let inner = &mut *self.lock()?;
        inner.lender.settle(&mut inner.simulation);
        py.detach(|| inner.finish()).map_err(errors::of)
    }

    // ---- pictures

    /// A picture: an array of bytes of the shape (height, width, 3). With `film`, the camera is kept for the next pictures; for
    /// these, `wanted` is None.
    #[pyo3(signature = (wanted, adapter, film))]
    fn picture(
        &self,
        py: Python<'_>,
        wanted: Option<Wanted>,
        adapter: Option<String>,
        film: bool,
    ) -> PyResult<Memory> {
        let shot = wanted.map(Wanted::shot).transpose()?;
        let inner = &mut *self.lock()?;
        let (bytes, [height, width]) = py
            .detach(|| {
                let simulation = &mut inner.simulation;
                let wanted = adapter.as_deref().or(inner.options.adapter.as_deref());
                let device = match inner.device.take() {
                    Some(device) => device,
                    None => Studio::device(simulation, wanted)?,
                };
                inner.device = Some(device.clone());
                let mut single = None;
                let studio = match shot {
                    Some(shot) => {
                        let studio = Studio::new(&shot, simulation, &device, film)?;
                        match film {
                            true => inner.studio.insert(studio),
                            false => single.insert(studio),
                        }
                    }
                    None => inner
                        .studio
                        .as_mut()
                        .ok_or_else(|| rockfall::Error::Tuned("no film was started".to_owned()))?,
                };
                let picture = studio.picture(simulation)?;
                rockfall::error::Result::Ok(opaque(&picture))
            })
            .map_err(errors::of)?;
        Ok(Memory::column(bytes).shaped(&[height, width, 3]))
    }
}
