//! VTK's XML files of polygonal data, with the numbers appended as raw bytes; and `.pvd` files, which
//! list those of a time series.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use super::table::{Column, Table, Values};
use super::walls::WallMesh;
use crate::simulation::analysis::fields::{Fields, Grid};

/// Contents of a VTK file: points, cells made of them, and numbers that belong to either.
#[derive(Default)]
struct PolyData<'a> {
    /// x, y, z of each.
    points: Vec<f64>,
    /// Point by point; each one is a cell.
    verts: bool,
    /// Two points each.
    lines: Vec<u32>,
    /// Three points each.
    triangles: Vec<u32>,
    point_data: Vec<&'a Column>,
    cell_data: Vec<&'a Column>,
}

/// Writes bodies or spheres as points: `position` says where, the other columns belong to them.
///
/// # Errors
/// If `writer` fails.
pub fn write_points(writer: &mut BufWriter<File>, table: &Table, time: f64) -> io::Result<()> {
    let data = PolyData {
        points: floats(table, "position").to_vec(),
        verts: true,
        point_data: others(table, &["position"]),
        ..PolyData::default()
    };
    write(writer, &data, time)
}

/// Writes contacts as lines from one centre to the other, or to the wall; and bonds from one body to the other.
///
/// # Errors
/// If `writer` fails.
pub fn write_contacts(writer: &mut BufWriter<File>, table: &Table, time: f64) -> io::Result<()> {
    let ends = floats(table, "from")
        .chunks_exact(3)
        .zip(floats(table, "to").chunks_exact(3));
    let data = PolyData {
        points: ends.flat_map(|(from, to)| [from, to].concat()).collect(),
        lines: (0..2 * table.rows as u32).collect(),
        cell_data: others(table, &["from", "to"]),
        ..PolyData::default()
    };
    write(writer, &data, time)
}

/// Writes walls as triangles: `wall` is the index of each triangle's wall, `velocity` (m/s) that of each
/// point, and `wear` (m) how deep each triangle is worn, if any wall wears.
///
/// # Errors
/// If `writer` fails.
pub fn write_walls(writer: &mut BufWriter<File>, walls: &[WallMesh], time: f64) -> io::Result<()> {
    let (mut points, mut velocities) = (Vec::new(), Vec::new());
    let (mut triangles, mut owners) = (Vec::new(), Vec::new());
    for (index, wall) in walls.iter().enumerate() {
        let first = (points.len() / 3) as u32;
        points.extend(wall.points.iter().flat_map(|point| point.to_array()));
        velocities.extend(wall.velocities.iter().flat_map(|v| v.as_vec3().to_array()));
        triangles.extend(wall.triangles.iter().flatten().map(|point| first + point));
        owners.extend(wall.triangles.iter().map(|_| index as u32));
    }
    let velocity = Column {
        name: "velocity",
        unit: "m/s",
        components: 3,
        values: Values::F32(velocities),
    };
    let wall = Column {
        name: "wall",
        unit: "",
        components: 1,
        values: Values::U32(owners),
    };
    let depths = walls.iter().flat_map(|wall| {
        let own = wall.worn.iter().chain(std::iter::repeat(&0.0));
        own.take(wall.triangles.len()).map(|depth| *depth as f32)
    });
    let wear = Column {
        name: "wear",
        unit: "m",
        components: 1,
        values: Values::F32(depths.collect()),
    };
    let wears = walls.iter().any(|wall| !wall.worn.is_empty());
    let data = PolyData {
        points,
        triangles,
        point_data: vec![&velocity],
        cell_data: [&wall].into_iter().chain(wears.then_some(&wear)).collect(),
        ..PolyData::default()
    };
    write(writer, &data, time)
}

/// Writes fields as image data, the numbers in its cells.
///
/// # Errors
/// If `writer` fails.
pub fn write_fields(writer: &mut BufWriter<File>, fields: &Fields, time: f64) -> io::Result<()> {
    let table = Table::fields(fields);
    let mut appended = Appended::default();
    let text =
        describe_image(&table, fields.grid(), time, &mut appended).expect("a string takes all");
    appended.write(writer, &text)
}

/// The text of image data up to the bytes, which are put into `appended`.
fn describe_image<'a>(
    table: &'a Table,
    grid: &Grid,
    time: f64,
    appended: &mut Appended<'a>,
) -> Result<String, std::fmt::Error> {
    let [i, j, k] = grid.cells;
    let (origin, spacing) = (grid.min, grid.spacing());
    let mut text = String::from("<?xml version=\"1.0\"?>\n");
    let out = &mut text;
    writeln!(
        out,
        "<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\" \
         header_type=\"UInt64\">\n  <ImageData WholeExtent=\"0 {i} 0 {j} 0 {k}\" Origin=\"{:?} {:?} {:?}\" \
         Spacing=\"{:?} {:?} {:?}\">\n    <FieldData>\n      <DataArray type=\"Float64\" \
         Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">{time:?}</DataArray>\n    </FieldData>",
        origin.x, origin.y, origin.z, spacing.x, spacing.y, spacing.z
    )?;
    writeln!(
        out,
        "    <Piece Extent=\"0 {i} 0 {j} 0 {k}\">\n      <CellData>"
    )?;
    for column in others(table, &["position"]) {
        array(out, column, appended.add(column.values.bytes()))?;
    }
    write!(
        out,
        "      </CellData>\n    </Piece>\n  </ImageData>\n  <AppendedData encoding=\"raw\">\n   _"
    )?;
    Ok(text)
}

/// Writes a list of files, each with its time (s), that ParaView opens as one.
///
/// # Errors
/// If `writer` fails.
pub fn write_pvd(writer: &mut impl Write, files: &[(f64, String)]) -> io::Result<()> {
    writeln!(writer, "<?xml version=\"1.0\"?>")?;
    writeln!(writer, "<VTKFile type=\"Collection\" version=\"1.0\">")?;
    writeln!(writer, "  <Collection>")?;
    for (time, file) in files {
        writeln!(
            writer,
            "    <DataSet timestep=\"{time}\" part=\"0\" file=\"{file}\"/>"
        )?;
    }
    writeln!(writer, "  </Collection>\n</VTKFile>")
}

fn floats<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    match &table.column(name).values {
        Values::F64(values) => values,
        _ => unreachable!("places are in double precision"),
    }
}

fn others<'a>(table: &'a Table, but: &[&str]) -> Vec<&'a Column> {
    let columns = table.columns.iter();
    columns.filter(|c| !but.contains(&c.name)).collect()
}

/// The raw bytes at the end of a file, each block after its length.
#[derive(Default)]
struct Appended<'a> {
    blocks: Vec<std::borrow::Cow<'a, [u8]>>,
    offset: usize,
}

impl<'a> Appended<'a> {
    /// Adds a block and returns where it starts.
    fn add(&mut self, bytes: impl Into<std::borrow::Cow<'a, [u8]>>) -> usize {
        let (bytes, offset) = (bytes.into(), self.offset);
        self.offset += 8 + bytes.len();
        self.blocks.push(bytes);
        offset
    }

    /// Writes a file whose text goes up to these bytes.
    fn write(&self, writer: &mut BufWriter<File>, text: &str) -> io::Result<()> {
        writer.write_all(text.as_bytes())?;
        for block in &self.blocks {
            writer.write_all(&(block.len() as u64).to_le_bytes())?;
            writer.write_all(block)?;
        }
        writer.write_all(b"\n  </AppendedData>\n</VTKFile>\n")
    }
}

fn write<'a>(writer: &mut BufWriter<File>, data: &'a PolyData<'a>, time: f64) -> io::Result<()> {
    let mut appended = Appended::default();
    let text = describe(data, time, &mut appended).expect("a string takes all");
    appended.write(writer, &text)
}

/// The text of a file up to the bytes, which are put into `appended`.
fn describe<'a>(
    data: &'a PolyData<'a>,
    time: f64,
    appended: &mut Appended<'a>,
) -> Result<String, std::fmt::Error> {
    let points = data.points.len() / 3;
    let verts = if data.verts { points } else { 0 };
    let lines = data.lines.len() / 2;
    let triangles = data.triangles.len() / 3;
    let mut text = String::from("<?xml version=\"1.0\"?>\n");
    let out = &mut text;
    writeln!(
        out,
        "<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\" \
         header_type=\"UInt64\">\n  <PolyData>\n    <FieldData>\n      <DataArray type=\"Float64\" \
         Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">{time:?}</DataArray>\n    </FieldData>"
    )?;
    writeln!(
        out,
        "    <Piece NumberOfPoints=\"{points}\" NumberOfVerts=\"{verts}\" NumberOfLines=\"{lines}\" \
         NumberOfStrips=\"0\" NumberOfPolys=\"{triangles}\">"
    )?;
    for (name, columns) in [
        ("PointData", &data.point_data),
        ("CellData", &data.cell_data),
    ] {
        writeln!(out, "      <{name}>")?;
        for column in columns {
            array(out, column, appended.add(column.values.bytes()))?;
        }
        writeln!(out, "      </{name}>")?;
    }
    writeln!(out, "      <Points>")?;
    let offset = appended.add(bytemuck::cast_slice(&data.points));
    numbers(out, "Points", "Float64", 3, offset, "m")?;
    writeln!(out, "      </Points>")?;
    let each: Vec<u32> = (0..verts as u32).collect();
    for (name, connectivity, size) in [
        ("Verts", &each, 1),
        ("Lines", &data.lines, 2),
        ("Polys", &data.triangles, 3),
    ] {
        if connectivity.is_empty() {
            continue;
        }
        let ends: Vec<u32> = (1..=(connectivity.len() / size) as u32)
            .map(|cell| cell * size as u32)
            .collect();
        writeln!(out, "      <{name}>")?;
        for (part, values) in [("connectivity", connectivity), ("offsets", &ends)] {
            let offset = appended.add(bytemuck::cast_slice::<u32, u8>(values).to_vec());
            numbers(out, part, "Int32", 1, offset, "")?;
        }
        writeln!(out, "      </{name}>")?;
    }
    write!(
        out,
        "    </Piece>\n  </PolyData>\n  <AppendedData encoding=\"raw\">\n   _"
    )?;
    Ok(text)
}

fn array(out: &mut String, column: &Column, offset: usize) -> std::fmt::Result {
    let kind = match column.values {
        Values::U32(_) => "UInt32",
        Values::I32(_) => "Int32",
        Values::F32(_) => "Float32",
        Values::F64(_) => "Float64",
    };
    numbers(
        out,
        column.name,
        kind,
        column.components,
        offset,
        column.unit,
    )
}

fn numbers(
    out: &mut String,
    name: &str,
    kind: &str,
    components: usize,
    offset: usize,
    unit: &str,
) -> std::fmt::Result {
    write!(
        out,
        "        <DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\" \
         format=\"appended\" offset=\"{offset}\""
    )?;
    match unit {
        "" => writeln!(out, "/>"),
        unit => writeln!(
            out,
            ">\n          <InformationKey name=\"UNITS_LABEL\" location=\"vtkDataArray\">{unit}\
             </InformationKey>\n        </DataArray>"
        ),
    }
}
