//! Files of measures: fields as tables, and tables of what a run counts.

use std::io::{self, Write};

use super::RunFolder;
use super::table::{Column, Table, Values};
use crate::model::flow::{Class, CollisionClass, Collisions, Flow};
use crate::simulation::analysis::fields::{Field, Fields};
use crate::simulation::snapshot::Snapshot;

/// Name of the spectrum of collisions by their impact speed.
pub(super) const SPEEDS: &str = "impact_speed_m_per_s";
/// Name of the spectrum of collisions by the energy that each dissipated.
pub(super) const ENERGIES: &str = "dissipated_energy_J";

/// A table of what a run counts. Each measurement adds rows with the counts since the start.
pub(super) struct Counts {
    /// Name of the file.
    pub file: &'static str,
    columns: &'static str,
    wanted: fn(&Flow) -> bool,
    rows: fn(&Snapshot) -> Vec<String>,
}

impl Counts {
    const ALL: [Counts; 2] = [
        Counts {
            file: RunFolder::RESIDENCE,
            columns: "outlet,from_s,to_s,bodies,part_below,density_per_s,mean_s",
            wanted: |flow| flow.residence,
            rows: residence,
        },
        Counts {
            file: RunFolder::COLLISIONS,
            columns: "quantity,from,to,collisions,dissipated_J",
            wanted: |flow| flow.collisions,
            rows: collisions,
        },
    ];

    /// The tables that a scene with this flow asks for.
    pub fn of(flow: &Flow) -> impl Iterator<Item = &'static Counts> {
        Counts::ALL.iter().filter(|own| (own.wanted)(flow))
    }

    /// The first line of the file.
    pub fn header(&self) -> String {
        format!("step,time_s,{}\n", self.columns)
    }

    /// The rows of a measurement.
    pub fn rows(&self, snapshot: &Snapshot) -> String {
        let rows = (self.rows)(snapshot).into_iter();
        rows.map(|row| format!("{},{},{row}\n", snapshot.steps, snapshot.time()))
            .collect()
    }
}

/// A row for each class of residence times of each outlet.
fn residence(snapshot: &Snapshot) -> Vec<String> {
    let outlets = snapshot.model.flow.outlets.iter();
    let outlets = outlets.zip(&snapshot.state.traffic.residence);
    let rows = outlets.flat_map(|(outlet, own)| {
        let name = outlet.name.replace('"', "\"\"");
        own.classes().map(move |class| {
            let Class {
                from,
                to,
                bodies,
                below,
                density,
            } = class;
            let mean = own.mean();
            format!("\"{name}\",{from},{to},{bodies},{below},{density},{mean}")
        })
    });
    rows.collect()
}

/// A row for each class of impact speeds, then for each of dissipated energies.
fn collisions(snapshot: &Snapshot) -> Vec<String> {
    let own = &snapshot.state.traffic.collisions;
    let spectra = [(SPEEDS, &own.speeds), (ENERGIES, &own.energies)];
    let rows = spectra.into_iter().flat_map(|(quantity, classes)| {
        Collisions::classes(classes).map(move |class| {
            let CollisionClass { from, to, amount } = class;
            let (count, energy) = (amount.count, amount.energy);
            format!("{quantity},{from},{to},{count},{energy}")
        })
    });
    rows.collect()
}

/// Names of the components of the kinetic stress, in the order of [`COMPONENTS`](crate::simulation::analysis::fields::COMPONENTS).
const KINETIC: [&str; 9] = [
    "kinetic_stress_xx",
    "kinetic_stress_xy",
    "kinetic_stress_xz",
    "kinetic_stress_yx",
    "kinetic_stress_yy",
    "kinetic_stress_yz",
    "kinetic_stress_zx",
    "kinetic_stress_zy",
    "kinetic_stress_zz",
];
/// Names of the components of the contact stress.
const CONTACT: [&str; 9] = [
    "contact_stress_xx",
    "contact_stress_xy",
    "contact_stress_xz",
    "contact_stress_yx",
    "contact_stress_yy",
    "contact_stress_yz",
    "contact_stress_zx",
    "contact_stress_zy",
    "contact_stress_zz",
];

impl Table {
    /// Fields, a row for each cell, with the middle of the cell; the index along x runs fastest.
    pub fn fields(fields: &Fields) -> Table {
        let cells: Vec<Field> = fields.cells().collect();
        let numbers = |name, unit, of: &dyn Fn(&Field) -> f64| Column {
            name,
            unit,
            components: 1,
            values: Values::F64(cells.iter().map(of).collect()),
        };
        let middles = (0..cells.len()).flat_map(|index| fields.grid().middle(index).to_array());
        let velocities = cells.iter().flat_map(|field| field.velocity.to_array());
        let vector = |name, unit, values: Vec<f64>| Column {
            name,
            unit,
            components: 3,
            values: Values::F64(values),
        };
        let mut columns = vec![
            vector("position", "m", middles.collect()),
            numbers("density", "kg/m3", &|field| field.density),
            numbers("solid_fraction", "", &|field| field.solid_fraction),
            vector("velocity", "m/s", velocities.collect()),
            numbers("temperature", "m2/s2", &|field| field.temperature),
            numbers("pressure", "Pa", &Field::pressure),
        ];
        for (k, (kinetic, contact)) in KINETIC.into_iter().zip(CONTACT).enumerate() {
            let (row, column) = (k / 3, k % 3);
            columns.push(numbers(kinetic, "Pa", &|field| {
                field.kinetic_stress.col(column)[row]
            }));
            columns.push(numbers(contact, "Pa", &|field| {
                field.contact_stress.col(column)[row]
            }));
        }
        Table {
            rows: cells.len(),
            columns,
        }
    }

    /// Writes it as CSV, with the units in the names of the columns: `density_kg/m3`; of vectors, a column for each component.
    ///
    /// # Errors
    /// If `writer` fails.
    pub fn write_csv(&self, writer: &mut impl Write) -> io::Result<()> {
        let mut names = Vec::new();
        for column in &self.columns {
            let unit = match column.unit {
                "" => String::new(),
                unit => format!("_{}", unit.replace(' ', "")),
            };
            match column.components {
                1 => names.push(format!("{}{unit}", column.name)),
                count => names.extend(
                    ["x", "y", "z", "w"][..count]
                        .iter()
                        .map(|axis| format!("{}_{axis}{unit}", column.name)),
                ),
            }
        }
        writeln!(writer, "{}", names.join(","))?;
        for row in 0..self.rows {
            let cells = self.columns.iter().flat_map(|column| {
                let range = row * column.components..(row + 1) * column.components;
                range.map(|index| match &column.values {
                    Values::U32(values) => values[index].to_string(),
                    Values::I32(values) => values[index].to_string(),
                    Values::F32(values) => values[index].to_string(),
                    Values::F64(values) => values[index].to_string(),
                })
            });
            writeln!(writer, "{}", cells.collect::<Vec<_>>().join(","))?;
        }
        Ok(())
    }
}
