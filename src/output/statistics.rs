use std::io::{self, Write};

use crate::model::flow::{Amount, Flow};
use crate::model::wall::Wall;
use crate::model::{Model, WallGroup};
use crate::simulation::snapshot::Snapshot;
use crate::simulation::totals::Totals;

/// Prefixes of the columns of walls and the like: the names that the scene gives, or else the kind and the number.
struct Names(Vec<String>);

impl Names {
    fn new<'a>(kind: &str, names: impl Iterator<Item = &'a str> + Clone) -> Names {
        let label = |(index, name): (usize, &str)| {
            let twice = names.clone().filter(|other| *other == name).count() > 1;
            // A wall without a name goes by its place in the scene, and the others by their kind and number.
            if name.contains('[') || twice || name == format!("{kind} {index}") {
                format!("{kind}_{index}")
            } else {
                name.to_owned()
            }
        };
        Names(names.clone().enumerate().map(label).collect())
    }
}

/// Whether the pose of a wall changes.
fn moves(wall: &Wall) -> bool {
    wall.motion.is_some() || wall.dynamic.is_some()
}

/// The numbers that sum up a step: the columns of `statistics.csv`, whose names end in their units.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// The numbers, as [`Statistics::columns`] has them.
    ///
    /// Step, time (s), energies and work (J), contacts, coordination, bodies asleep, largest overlap now and so far, sphere-steps a
    /// second. The index of the stage, if the scene has stages. Bonds, broken ones and what they took (J), if it has any. Sides (m),
    /// strains, stress (Pa) and work (J) of a periodic box that deforms, at the last look at it. Force (N) and torque (N m) on each
    /// wall, with power (W) and work (J) if it moves, and the same of each group of walls. What inlets have brought, outlets taken
    /// and rules of breakage burst. What probes see. Poses of walls that move. Force (N) and torque (N m) on fixed and kinematic
    /// bodies that have names.
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
            "work_J",
            "contacts",
            "coordination",
            "bodies_asleep",
            "largest_overlap_of_radius",
            "largest_overlap_so_far_of_radius",
            "sphere_steps_per_s",
        ];
        let mut columns = fixed.map(str::to_owned).to_vec();
        if !model.stages.list.is_empty() {
            columns.push("stage".to_owned());
        }
        if !model.bonds.is_empty() {
            columns.extend(["bonds", "broken_bonds", "taken_by_bonds_J"].map(str::to_owned));
        }
        let axes = ["x", "y", "z"];
        if model.deforms() {
            columns.extend(axes.map(|axis| format!("box_{axis}_m")));
            columns.extend(axes.map(|axis| format!("box_strain_{axis}")));
            columns.push("box_shear_strain".to_owned());
            let of_stress = ["xx", "yy", "zz", "xy", "yz", "zx"];
            columns.extend(of_stress.map(|pair| format!("box_stress_{pair}_Pa")));
            columns.push("box_work_J".to_owned());
        }
        let names = model.walls.iter().map(|wall| wall.name.as_str());
        let names = Names::new("wall", names);
        let walls = names.0.iter().zip(&model.walls);
        let walls = walls.map(|(name, wall)| (name, wall.works()));
        let groups = model.wall_groups.iter().map(|group| (&group.name, true));
        for (name, works) in walls.chain(groups) {
            columns.extend(axes.map(|axis| format!("{name}_force_{axis}_N")));
            columns.extend(axes.map(|axis| format!("{name}_torque_{axis}_Nm")));
            if works {
                columns.extend(["power_W", "work_J"].map(|column| format!("{name}_{column}")));
            }
        }
        let Flow {
            inlets,
            outlets,
            probes,
            ..
        } = &model.flow;
        let inlets = Names::new("inlet", inlets.iter().map(|inlet| inlet.name.as_str()));
        let outlets = Names::new("outlet", outlets.iter().map(|outlet| outlet.name.as_str()));
        let rules = model.breakage_names.iter().map(String::as_str);
        let rules = Names::new("breakage", rules);
        for name in inlets.0.iter().chain(&outlets.0).chain(&rules.0) {
            columns.extend(["bodies", "mass_kg"].map(|column| format!("{name}_{column}")));
        }
        let probe_names = Names::new("probe", probes.iter().map(|probe| probe.name.as_str()));
        for (name, probe) in probe_names.0.iter().zip(probes) {
            let numbers: &[&str] = if probe.region.is_face() {
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
            columns.extend(numbers.iter().map(|number| format!("{name}_{number}")));
        }
        for (name, wall) in names.0.iter().zip(&model.walls) {
            if moves(wall) {
                columns.extend(axes.map(|axis| format!("{name}_position_{axis}_m")));
                columns
                    .extend(["x", "y", "z", "w"].map(|part| format!("{name}_orientation_{part}")));
            }
        }
        for (name, wall) in names.0.iter().zip(&model.walls) {
            columns.extend(wall.wear.map(|_| format!("{name}_worn_m3")));
        }
        for name in Names::new("body", model.held.iter().map(|(_, name)| name.as_str())).0 {
            columns.extend(axes.map(|axis| format!("{name}_force_{axis}_N")));
            columns.extend(axes.map(|axis| format!("{name}_torque_{axis}_Nm")));
        }
        columns
    }

    /// The line of a file of statistics that names its columns.
    pub(super) fn header(model: &Model) -> String {
        let columns = Statistics::columns(model).into_iter().map(|name| {
            if name.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", name.replace('"', "\"\""))
            } else {
                name
            }
        });
        columns.collect::<Vec<_>>().join(",") + "\n"
    }

    /// Sums up a snapshot; `rate` is how fast the steps before it were taken, spheres times steps a
    /// second.
    pub fn new(snapshot: &Snapshot, rate: f64) -> Statistics {
        Statistics::of(snapshot, &snapshot.totals(), rate)
    }

    /// Sums up a state, whose elements may be elsewhere, with its totals.
    pub(super) fn of(snapshot: &Snapshot, totals: &Totals, rate: f64) -> Statistics {
        let Totals {
            summary, energy, ..
        } = totals;
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
            energy.work,
            summary.contacts as f64,
            totals.coordination,
            summary.asleep as f64,
            totals.largest_overlap_fraction,
            summary.max_overlap_fraction,
            rate,
        ];
        let Snapshot { model, state, .. } = *snapshot;
        if !model.stages.list.is_empty() {
            values.push(state.traffic.stages.len() as f64);
        }
        if !model.bonds.is_empty() {
            let [count, broken] = totals.bonds;
            values.extend([count as f64, broken as f64, energy.bonds]);
        }
        if let Some(now) = &state.traffic.deformation {
            values.extend(now.sides);
            values.extend(now.strain);
            values.push(now.shear);
            let of_stress = [[0, 0], [1, 1], [2, 2], [0, 1], [1, 2], [2, 0]];
            values.extend(of_stress.map(|[row, column]| now.stress[row][column]));
            values.push(now.work);
        }
        let loads = &totals.wall_loads;
        let work = snapshot.wall_work_under(loads);
        for (wall, (load, done)) in model.walls.iter().zip(loads.iter().zip(&work)) {
            values.extend(load.force.to_array());
            values.extend(load.torque.to_array());
            if wall.works() {
                values.extend([done.power, done.work]);
            }
        }
        for WallGroup { walls, .. } in &model.wall_groups {
            let load = snapshot.load_of_group(walls, loads);
            values.extend(load.force.to_array());
            values.extend(load.torque.to_array());
            let own = || walls.iter().map(|wall| &work[*wall]);
            values.push(own().map(|done| done.power).sum());
            values.push(own().map(|done| done.work).sum());
        }
        let of = |amount: &Amount| [amount.bodies as f64, amount.mass];
        let traffic = &state.traffic;
        let come_and_gone = traffic.inlets.iter().chain(&traffic.outlets);
        values.extend(come_and_gone.chain(&traffic.broken).flat_map(of));
        let seen = totals.seen.iter().zip(&traffic.passed);
        for (probe, (seen, passed)) in model.flow.probes.iter().zip(seen) {
            if probe.region.is_face() {
                values.extend([&passed.forward, &passed.backward].into_iter().flat_map(of));
            } else {
                values.extend([seen.bodies as f64, seen.mass]);
                values.extend(seen.velocity);
            }
        }
        let walls = model.walls.iter().zip(snapshot.walls());
        for (_, state) in walls.filter(|(wall, _)| moves(wall)) {
            values.extend(state.moving.pose.position.to_array());
            values.extend(state.moving.pose.orientation.to_array());
        }
        let worn = model.walls.iter().zip(&state.traffic.worn);
        let worn = worn.filter(|(wall, _)| wall.wear.is_some());
        values.extend(worn.map(|(_, volumes)| volumes.iter().sum::<f64>()));
        for load in &totals.held {
            values.extend(load.force.as_dvec3().to_array());
            values.extend(load.torque.as_dvec3().to_array());
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
