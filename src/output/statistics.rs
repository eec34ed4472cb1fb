use std::io::{self, Write};

use crate::model::Model;
use crate::model::flow::{Amount, Flow};
use crate::simulation::Seen;
use crate::simulation::snapshot::Snapshot;

/// The numbers that sum up a step: the columns of `statistics.csv`, whose names end in their units.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Step, time (s), energies (J), contacts, coordination, bodies asleep, largest overlap so far, sphere-steps a
    /// second, then force (N) and torque (N m) on each wall, what inlets have brought and outlets taken, and
    /// what probes see: as [`Statistics::columns`] has them.
    pub values: Vec<f64>,
}

impl Statistics {
    /// Names of the columns, for the walls, inlets, outlets and probes of `model`.
    pub fn columns(model: &Model) -> Vec<String> {
        let fixed = [
            "step",
            "time_s",
            "kinetic_energy_J",
            "gravitational_energy_J",
            "elastic_energy_J",
            "total_energy_J",
            "dissipated_damping_J",
            "dissipated_friction_J",
            "dissipated_drag_J",
            "contacts",
            "coordination",
            "bodies_asleep",
            "largest_overlap_of_radius",
            "sphere_steps_per_s",
        ];
        let mut columns = fixed.map(str::to_owned).to_vec();
        for wall in 0..model.walls.len() {
            let axes = ["x", "y", "z"];
            columns.extend(axes.map(|axis| format!("wall_{wall}_force_{axis}_N")));
            columns.extend(axes.map(|axis| format!("wall_{wall}_torque_{axis}_Nm")));
        }
        let Flow {
            inlets,
            outlets,
            probes,
            ..
        } = &model.flow;
        for (kind, count) in [("inlet", inlets.len()), ("outlet", outlets.len())] {
            for index in 0..count {
                columns.extend(["bodies", "mass_kg"].map(|name| format!("{kind}_{index}_{name}")));
            }
        }
        for (index, probe) in probes.iter().enumerate() {
            let names: &[&str] = if probe.region.is_face() {
                &[
                    "forward_bodies",
                    "forward_mass_kg",
                    "backward_bodies",
                    "backward_mass_kg",
                ]
            } else {
                &[
                    "bodies",
                    "mass_kg",
                    "velocity_x_m_per_s",
                    "velocity_y_m_per_s",
                    "velocity_z_m_per_s",
                ]
            };
            columns.extend(names.iter().map(|name| format!("probe_{index}_{name}")));
        }
        columns
    }

    /// Sums up a snapshot; `rate` is how fast the steps before it were taken, spheres times steps a
    /// second.
    pub fn new(snapshot: &Snapshot, rate: f64) -> Statistics {
        let energy = snapshot.energy();
        let summary = snapshot.summary();
        let mut values = vec![
            snapshot.steps as f64,
            snapshot.time(),
            energy.kinetic,
            energy.gravitational,
            energy.elastic,
            energy.total(),
            energy.damping,
            energy.friction,
            energy.drag,
            summary.contacts as f64,
            snapshot.coordination(),
            summary.asleep as f64,
            summary.max_overlap_fraction,
            rate,
        ];
        for load in snapshot.wall_loads() {
            values.extend(load.force.to_array());
            values.extend(load.torque.to_array());
        }
        let Snapshot { model, state, .. } = *snapshot;
        let of = |amount: &Amount| [amount.bodies as f64, amount.mass];
        let traffic = &state.traffic;
        values.extend(traffic.inlets.iter().chain(&traffic.outlets).flat_map(of));
        for (probe, passed) in model.flow.probes.iter().zip(&traffic.passed) {
            if probe.region.is_face() {
                values.extend([&passed.forward, &passed.backward].into_iter().flat_map(of));
            } else {
                let seen = Seen::new(&probe.region, model, state);
                values.extend([seen.bodies as f64, seen.mass]);
                values.extend(seen.velocity);
            }
        }
        Statistics { values }
    }

    /// Writes the row.
    ///
    /// # Errors
    /// If `writer` fails.
    pub fn write(&self, writer: &mut impl Write) -> io::Result<()> {
        let cell = |value: &f64| match value {
            whole if whole.fract() == 0.0 && whole.abs() < 1e15 => format!("{whole}"),
            value => format!("{value:?}"),
        };
        let cells: Vec<String> = self.values.iter().map(cell).collect();
        let row = cells.join(",") + "\n";
        // At once, so that who is stopped leaves whole rows, but for the last.
        writer.write_all(row.as_bytes())
    }
}

/// The rows of a file of statistics up to a step, with the names of its columns; a row that was not
/// finished is left out.
pub fn rows_until(text: &str, step: u64) -> String {
    let whole = text.split_inclusive('\n').filter(|row| row.ends_with('\n'));
    let early = whole.enumerate().filter(|(index, row)| {
        let number = row.split(',').next().and_then(|cell| cell.parse().ok());
        *index == 0 || number.is_some_and(|number: u64| number <= step)
    });
    early.map(|(_, row)| row).collect()
}
