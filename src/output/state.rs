use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use serde::Serialize;

use crate::model::error::{Error, Result};
use crate::model::quantity::QUANTITIES;
use crate::simulation::Simulation;
use crate::simulation::snapshot::{BodyState, Snapshot};
use crate::state::Field;
use crate::state::quantities::BUFFERS;

/// Version of the format.
const VERSION: u32 = 1;

/// A body in the file. Units are SI; vectors are x, y, z in the world frame.
#[derive(Serialize)]
struct Record<'a> {
    index: usize,
    id: u64,
    shape: &'a str,
    mass: f64,
    fixed: bool,
    /// Centre of mass.
    position: [f64; 3],
    /// Origin of the shape's own axes.
    origin: [f64; 3],
    /// World from the shape's own axes: x, y, z, w.
    orientation: [f64; 4],
    velocity: [f64; 3],
    angular_velocity: [f64; 3],
    /// Force of contacts on it in the last step, N.
    contact_force: [f64; 3],
    /// Quantities that it carries besides its motion, each by its name.
    #[serde(flatten)]
    quantities: BTreeMap<&'static str, f64>,
}

/// The quantities of a body, as far as the scene has them, with their names.
fn known(body: &BodyState) -> impl Iterator<Item = (&'static str, f64)> {
    let all = QUANTITIES.iter().zip(body.quantities.array());
    all.filter_map(|(quantity, number)| Some((quantity.name, number?)))
}

/// Writes the bodies of a snapshot as JSON, one body a line:
/// `{"version": 1, "time": …, "bodies": [{"index", "id", "shape", "mass", "fixed", "position", "origin",
/// "orientation", "velocity", "angular_velocity", "contact_force"}, …]}`, and the [quantities](QUANTITIES) that the scene has, such as
/// `"temperature"`.
///
/// `position` is the centre of mass, `origin` that of the shape's own axes, and `orientation` (a
/// quaternion x, y, z, w) turns those axes into the world's. Numbers have as many digits as it
/// takes to read the same `f64` back.
///
/// # Errors
/// If `writer` fails.
pub fn write_state(mut writer: impl Write, snapshot: &Snapshot) -> io::Result<()> {
    begin(&mut writer, snapshot.time())?;
    write_bodies(&mut writer, snapshot, 0)?;
    end(&mut writer)
}

/// Writes the present bodies of a simulation to a file of this path as [`write_state`] does, part by part where many processes have them.
///
/// # Errors
/// If `writer` fails, or the device is lost.
#[doc(hidden)]
pub fn write_state_of(
    simulation: &mut Simulation,
    mut writer: impl Write,
    path: &Path,
) -> Result<()> {
    let unwritten = |error: io::Error| Error::unwritten(path, &error);
    begin(&mut writer, simulation.time()).map_err(unwritten)?;
    let fields = [&[Field::Bodies, Field::SphereLoads], &BUFFERS[..]].concat();
    let mut written = Ok(());
    simulation.for_each_part(&fields, |part, before| {
        written = write_bodies(&mut writer, part, before.bodies as usize);
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })?;
    written.and_then(|()| end(&mut writer)).map_err(unwritten)
}

fn begin(writer: &mut impl Write, time: f64) -> io::Result<()> {
    write!(writer, "{{\"version\":{VERSION},\"time\":")?;
    serde_json::to_writer(&mut *writer, &time)?;
    write!(writer, ",\"bodies\":[")
}

fn end(writer: &mut impl Write) -> io::Result<()> {
    writer.write_all(b"\n]}\n")?;
    writer.flush()
}

/// Writes the bodies of a part of a state, before which there are so many.
fn write_bodies(writer: &mut impl Write, part: &Snapshot, before: usize) -> io::Result<()> {
    let Snapshot { model, state, .. } = *part;
    for (count, body) in part.bodies().enumerate() {
        let is_first = before + count == 0;
        writer.write_all(if is_first { b"\n" } else { b",\n" })?;
        let record = Record {
            index: before + body.index,
            id: body.id,
            shape: &model.shapes[body.shape].name,
            mass: body.mass,
            fixed: body.fixed,
            position: body.position.to_array(),
            origin: body.origin.to_array(),
            orientation: body.orientation.to_array(),
            velocity: body.velocity.to_array(),
            angular_velocity: body.angular_velocity.to_array(),
            contact_force: state.load(&state.bodies[count]).force.as_dvec3().to_array(),
            quantities: known(&body).collect(),
        };
        serde_json::to_writer(&mut *writer, &record)?;
    }
    Ok(())
}
