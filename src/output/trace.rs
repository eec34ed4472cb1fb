use std::io::{self, Write};

use crate::simulation::Simulation;
use crate::state::trace::Sample;

/// Names of the columns.
const COLUMNS: [&str; 23] = [
    "time",
    "body",
    "position_x",
    "position_y",
    "position_z",
    "orientation_x",
    "orientation_y",
    "orientation_z",
    "orientation_w",
    "velocity_x",
    "velocity_y",
    "velocity_z",
    "angular_velocity_x",
    "angular_velocity_y",
    "angular_velocity_z",
    "contact_force_x",
    "contact_force_y",
    "contact_force_z",
    "contact_torque_x",
    "contact_torque_y",
    "contact_torque_z",
    "max_overlap",
    "contacts",
];

/// Writes samples of bodies over time as CSV, a row for each.
///
/// A row gives time and state at the end of a step (position of the centre of mass, orientation
/// of the shape's own axes), the force of the contacts and their torque about the centre of mass
/// in that step (without gravity), the largest overlap in it, and their number. SI units, world
/// frame.
pub struct TraceWriter<W: Write>(csv::Writer<W>);

impl<W: Write> TraceWriter<W> {
    /// Starts with the names of the columns.
    ///
    /// # Errors
    /// If `writer` fails.
    pub fn new(writer: W) -> io::Result<TraceWriter<W>> {
        let mut writer = csv::Writer::from_writer(writer);
        writer.write_record(COLUMNS)?;
        writer.flush()?;
        Ok(TraceWriter(writer))
    }

    /// Adds samples taken from `simulation`, and flushes them.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write(&mut self, simulation: &Simulation, samples: &[Sample]) -> io::Result<()> {
        for sample in samples {
            let time = sample.step as f64 * simulation.model().time_step;
            let body = simulation.report_sample(sample);
            let load = &sample.load;
            self.0.serialize((
                (time, sample.identity.id),
                body.position.to_array(),
                body.orientation.to_array(),
                body.velocity.to_array(),
                body.angular_velocity.to_array(),
                load.force.as_dvec3().to_array(),
                load.torque.as_dvec3().to_array(),
                (f64::from(load.max_overlap), load.contacts),
            ))?;
        }
        self.0.flush()
    }
}
