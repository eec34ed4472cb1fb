//! VTKHDF: a kept run as one file, which ParaView opens with its times.

use std::io::Write;

use hdf5_pure::{AttrValue, FileBuilder, GroupBuilder, H5Element, make_i64_type};

use super::table::{Column, Table, Values};
use super::walls::walls;
use crate::model::error::{Error, Result};
use crate::model::quantity::QUANTITIES;
use crate::simulation::Simulation;
use crate::simulation::snapshot::Snapshot;

/// The kinds of cells, in the order in which VTK has them, and points of a cell.
const KINDS: [(&str, usize); 4] = [
    ("Vertices", 1),
    ("Lines", 2),
    ("Polygons", 3),
    ("Strips", 0),
];

/// Writes a run as VTKHDF 2.0: polygonal data with a vertex for each sphere, triangles for the walls, and all states one after
/// the other. `times` (s) are those of the states, and `show` puts `simulation` into one of them.
///
/// Points carry what [`Table::spheres`] has and the quantities of the bodies; those of walls have the radius 0, and
/// their own velocity. Of a cell, `wall` is the index of its wall, or -1.
///
/// The file is in memory before it is written.
///
/// Source of the format: VTK's documentation, "VTKHDF format specification", sections "Poly data" and "Temporal Data".
///
/// # Errors
/// If a state cannot be shown, or `writer` fails.
pub fn write_vtkhdf(
    writer: &mut impl Write,
    simulation: &mut Simulation,
    times: &[f64],
    mut show: impl FnMut(usize, &mut Simulation) -> Result<()>,
) -> Result<()> {
    let mut run = Run::default();
    for index in 0..times.len() {
        show(index, simulation)?;
        run.add(&simulation.snapshot()?);
    }
    let written = run.file(times).and_then(|file| file.finish_to(writer));
    written.map_err(|error| Error::Other(Box::new(error)))
}

/// All states, one after the other.
#[derive(Default)]
struct Run {
    points: Vec<f64>,
    columns: Vec<Column>,
    walls: Vec<i32>,
    cells: [Cells; 4],
    /// Points before each state, and in each.
    point_starts: Vec<i64>,
    point_counts: Vec<i64>,
}

/// The cells of a kind.
#[derive(Default)]
struct Cells {
    connectivity: Vec<i64>,
    offsets: Vec<i64>,
    /// Numbers of cells and points before each state, and in each.
    starts: Vec<[i64; 2]>,
    counts: Vec<[i64; 2]>,
}

impl Cells {
    fn add(&mut self, points: impl ExactSizeIterator<Item = i64>, size: usize) {
        let cells = points.len().checked_div(size).unwrap_or(0) as i64;
        let before = match (self.starts.last(), self.counts.last()) {
            (Some(start), Some(count)) => [0, 1].map(|k| start[k] + count[k]),
            _ => [0; 2],
        };
        self.starts.push(before);
        self.counts.push([cells, points.len() as i64]);
        self.offsets
            .extend((0..=cells).map(|cell| cell * size as i64));
        self.connectivity.extend(points);
    }
}

impl Run {
    fn add(&mut self, snapshot: &Snapshot) {
        let mut spheres = Table::spheres(snapshot);
        let bodies = Table::bodies(snapshot);
        let owners = match &spheres.column("body").values {
            Values::U32(owners) => owners.clone(),
            _ => unreachable!("indices are whole"),
        };
        let carried = |column: &Column| {
            column.name == "damage" || QUANTITIES.iter().any(|own| own.name == column.name)
        };
        for column in bodies.columns.iter().filter(|column| carried(column)) {
            if let Values::F32(numbers) = &column.values {
                let of = owners.iter().map(|owner| numbers[*owner as usize]);
                spheres.columns.push(Column {
                    values: Values::F32(of.collect()),
                    ..column.clone()
                });
            }
        }
        let walls = walls(snapshot);
        let wall_points: usize = walls.iter().map(|wall| wall.points.len()).sum();
        let count = spheres.rows + wall_points;
        self.point_starts.push((self.points.len() / 3) as i64);
        self.point_counts.push(count as i64);

        let mut columns = spheres.columns;
        let place = columns.iter().position(|column| column.name == "position");
        let Values::F64(positions) = columns.remove(place.expect("spheres have places")).values
        else {
            unreachable!("places are in double precision");
        };
        self.points.extend(positions);
        let velocities: Vec<f32> = walls
            .iter()
            .flat_map(|wall| &wall.velocities)
            .flat_map(|velocity| velocity.as_vec3().to_array())
            .collect();
        for mut column in columns {
            let rest = column.components * wall_points;
            match &mut column.values {
                Values::F32(numbers) if column.name == "velocity" => numbers.extend(&velocities),
                Values::U32(numbers) => numbers.resize(numbers.len() + rest, 0),
                Values::I32(numbers) => numbers.resize(numbers.len() + rest, 0),
                Values::F32(numbers) => numbers.resize(numbers.len() + rest, 0.0),
                Values::F64(numbers) => numbers.resize(numbers.len() + rest, 0.0),
            }
            let same = |own: &&mut Column| own.name == column.name;
            match self.columns.iter_mut().find(same) {
                Some(own) => append(&mut own.values, column.values),
                None => self.columns.push(column),
            }
        }

        let mut triangles = Vec::new();
        self.walls.extend(vec![-1; spheres.rows]);
        let mut first = spheres.rows as i64;
        for (index, wall) in walls.iter().enumerate() {
            let points = wall.points.iter().flat_map(|point| point.to_array());
            self.points.extend(points);
            let corners = wall.triangles.iter().flatten();
            triangles.extend(corners.map(|point| first + i64::from(*point)));
            self.walls.extend(vec![index as i32; wall.triangles.len()]);
            first += wall.points.len() as i64;
        }
        let [vertices, lines, polygons, strips] = &mut self.cells;
        vertices.add((0..spheres.rows).map(|point| point as i64), KINDS[0].1);
        lines.add(std::iter::empty(), KINDS[1].1);
        polygons.add(triangles.into_iter(), KINDS[2].1);
        strips.add(std::iter::empty(), KINDS[3].1);
    }

    fn file(&self, times: &[f64]) -> std::result::Result<FileBuilder, hdf5_pure::Error> {
        let mut file = FileBuilder::new();
        let mut root = file.create_group("VTKHDF");
        root.set_attr("Version", AttrValue::I64Array(vec![2, 0]));
        root.set_attr("Type", AttrValue::AsciiString("PolyData".to_owned()));
        put(&mut root, "NumberOfPoints", &self.point_counts, 1);
        put(&mut root, "Points", &self.points, 3);
        for ((name, _), cells) in KINDS.iter().zip(&self.cells) {
            let mut group = root.create_group(name);
            let of = |which: usize| cells.counts.iter().map(move |count| count[which]);
            put(&mut group, "NumberOfCells", &of(0).collect::<Vec<_>>(), 1);
            let connectivity = of(1).collect::<Vec<_>>();
            put(&mut group, "NumberOfConnectivityIds", &connectivity, 1);
            put(&mut group, "Offsets", &cells.offsets, 1);
            if cells.connectivity.is_empty() {
                let empty = group.create_dataset("Connectivity");
                empty.with_dtype(make_i64_type()).with_shape(&[0]);
            } else {
                put(&mut group, "Connectivity", &cells.connectivity, 1);
            }
            root.add_group(group.finish());
        }
        let mut data = root.create_group("PointData");
        for column in &self.columns {
            let width = column.components;
            let set = match &column.values {
                Values::U32(numbers) => put(&mut data, column.name, numbers, width),
                Values::I32(numbers) => put(&mut data, column.name, numbers, width),
                Values::F32(numbers) => put(&mut data, column.name, numbers, width),
                Values::F64(numbers) => put(&mut data, column.name, numbers, width),
            };
            if !column.unit.is_empty() {
                set.set_attr("units", AttrValue::AsciiString(column.unit.to_owned()));
            }
        }
        root.add_group(data.finish());
        let mut data = root.create_group("CellData");
        put(&mut data, "wall", &self.walls, 1);
        root.add_group(data.finish());

        let mut steps = root.create_group("Steps");
        steps.set_attr("NSteps", AttrValue::I64(times.len() as i64));
        put(&mut steps, "Values", times, 1);
        let parts: Vec<i64> = (0..times.len() as i64).collect();
        put(&mut steps, "PartOffsets", &parts, 1);
        put(&mut steps, "NumberOfParts", &vec![1_i64; times.len()], 1);
        put(&mut steps, "PointOffsets", &self.point_starts, 1);
        for (which, name) in ["CellOffsets", "ConnectivityIdOffsets"].iter().enumerate() {
            let of = |step: usize| {
                let starts = self.cells.iter().map(move |cells| cells.starts[step]);
                starts.map(|start| start[which])
            };
            let starts: Vec<i64> = (0..times.len()).flat_map(of).collect();
            put(&mut steps, name, &starts, KINDS.len());
        }
        root.add_group(steps.finish());
        file.add_group(root.finish());
        Ok(file)
    }
}

/// Adds numbers to a group, `width` in a row.
fn put<'a, T: H5Element>(
    group: &'a mut GroupBuilder,
    name: &str,
    numbers: &[T],
    width: usize,
) -> &'a mut hdf5_pure::DatasetBuilder {
    let set = group.create_dataset(name).with_data(numbers);
    match width {
        1 => set,
        _ => set.with_shape(&[(numbers.len() / width) as u64, width as u64]),
    }
}

fn append(to: &mut Values, from: Values) {
    match (to, from) {
        (Values::U32(to), Values::U32(from)) => to.extend(from),
        (Values::I32(to), Values::I32(from)) => to.extend(from),
        (Values::F32(to), Values::F32(from)) => to.extend(from),
        (Values::F64(to), Values::F64(from)) => to.extend(from),
        _ => unreachable!("a column has one type"),
    }
}
