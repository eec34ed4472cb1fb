//! VTK's XML files of polygonal data, with the numbers appended as raw bytes; and `.pvd` files, which
//! list those of a time series.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use bytemuck::cast_slice;

use super::layout::{Layout, Source};
use super::table::{Column, Table, Values};
use super::walls::WallMesh;
use crate::simulation::analysis::fields::{Fields, Grid};

/// Contents of a VTK file: points, cells made of them, and numbers that belong to either.
struct PolyData<'a> {
    /// Number of points, and x, y, z of each.
    points: (usize, Data<'a>),
    /// Numbers of cells of each kind, and their points.
    cells: [(usize, Data<'a>); 3],
    point_data: Vec<(&'a Column, Data<'a>)>,
    cell_data: Vec<(&'a Column, Data<'a>)>,
}

/// Kinds of cells, and the points of each.
const CELLS: [(&str, u32); 3] = [("Verts", 1), ("Lines", 2), ("Polys", 3)];

/// Numbers that are appended: there, or the rows of a table.
#[derive(Clone)]
enum Data<'a> {
    Bytes(Cow<'a, [u8]>),
    Rows(Source),
}

const NONE: Data = Data::Bytes(Cow::Borrowed(&[]));

impl Data<'_> {
    fn there(bytes: &[u8]) -> Data<'_> {
        Data::Bytes(Cow::Borrowed(bytes))
    }

    fn of(column: &Column) -> Data<'_> {
        Data::there(column.values.bytes())
    }
}

/// Writes bodies or spheres as points: `position` says where, the other columns belong to them.
///
/// # Errors
/// If `writer` fails.
pub fn write_points(writer: &mut BufWriter<File>, table: &Table, time: f64) -> io::Result<()> {
    points(table, table.rows, time).write(writer, table)
}

/// The file of [`write_points`] for so many rows of a table with these columns.
pub(super) fn points(table: &Table, rows: usize, time: f64) -> Layout {
    let vertices = Data::Rows(Source::Indices(1));
    let data = PolyData {
        points: (rows, Data::Rows(Source::Column(place(table, "position")))),
        cells: [(rows, vertices), (0, NONE), (0, NONE)],
        point_data: others(table, &["position"]),
        cell_data: Vec::new(),
    };
    lay_out(&data, time, table, rows)
}

/// Writes contacts as lines from one centre to the other, or to the wall; and bonds from one body to the other.
///
/// # Errors
/// If `writer` fails.
pub fn write_contacts(writer: &mut BufWriter<File>, table: &Table, time: f64) -> io::Result<()> {
    contacts(table, table.rows, time).write(writer, table)
}

/// The file of [`write_contacts`] for so many rows of a table with these columns.
pub(super) fn contacts(table: &Table, rows: usize, time: f64) -> Layout {
    let ends = Source::Pair(place(table, "from"), place(table, "to"));
    let lines = Data::Rows(Source::Indices(2));
    let data = PolyData {
        points: (2 * rows, Data::Rows(ends)),
        cells: [(0, NONE), (rows, lines), (0, NONE)],
        point_data: Vec::new(),
        cell_data: others(table, &["from", "to"]),
    };
    lay_out(&data, time, table, rows)
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
    let cell_data = [&wall].into_iter().chain(wears.then_some(&wear));
    let triangle_count = triangles.len() / 3;
    let triangles = Data::there(cast_slice(&triangles));
    let data = PolyData {
        points: (points.len() / 3, Data::there(cast_slice(&points))),
        cells: [(0, NONE), (0, NONE), (triangle_count, triangles)],
        point_data: vec![(&velocity, Data::of(&velocity))],
        cell_data: cell_data.map(|own| (own, Data::of(own))).collect(),
    };
    let none = Table {
        rows: 0,
        columns: Vec::new(),
    };
    lay_out(&data, time, &none, 0).write(writer, &none)
}

/// Writes fields as image data, the numbers in its cells.
///
/// # Errors
/// If `writer` fails.
pub fn write_fields(writer: &mut BufWriter<File>, fields: &Fields, time: f64) -> io::Result<()> {
    let table = Table::fields(fields);
    let mut appended = Appended::new(&table, table.rows);
    let text = describe_image(fields.grid(), time, &mut appended).expect("a string takes all");
    appended.layout(&text).write(writer, &table)
}

/// The text of image data up to the bytes, which are put into `appended`.
fn describe_image(
    grid: &Grid,
    time: f64,
    appended: &mut Appended,
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
    for (column, data) in others(appended.table, &["position"]) {
        array(out, column, appended.add(data))?;
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

/// Index of a column of a table that has it.
fn place(table: &Table, name: &str) -> usize {
    let mut columns = table.columns.iter();
    let place = columns.position(|column| column.name == name);
    place.expect("places are in the table")
}

fn others<'a>(table: &'a Table, but: &[&str]) -> Vec<(&'a Column, Data<'a>)> {
    let columns = table.columns.iter().enumerate();
    let others = columns.filter(|(_, column)| !but.contains(&column.name));
    others
        .map(|(index, column)| (column, Data::Rows(Source::Column(index))))
        .collect()
}

/// The raw bytes at the end of a file, each block after its length.
struct Appended<'a> {
    /// A table with the columns whose rows are among them, and how many rows there are.
    table: &'a Table,
    rows: usize,
    blocks: Vec<Data<'a>>,
    offset: usize,
}

impl<'a> Appended<'a> {
    fn new(table: &'a Table, rows: usize) -> Appended<'a> {
        Appended {
            table,
            rows,
            blocks: Vec::new(),
            offset: 0,
        }
    }

    /// Adds a block and returns where it starts.
    fn add(&mut self, block: Data<'a>) -> usize {
        let offset = self.offset;
        self.offset += 8 + self.length(&block);
        self.blocks.push(block);
        offset
    }

    fn length(&self, block: &Data) -> usize {
        match block {
            Data::Bytes(bytes) => bytes.len(),
            Data::Rows(source) => source.size(self.table) * self.rows,
        }
    }

    /// The file whose text goes up to these bytes.
    fn layout(&self, text: &str) -> Layout {
        let mut layout = Layout::default();
        layout.put(text.as_bytes());
        for block in &self.blocks {
            layout.put(&(self.length(block) as u64).to_le_bytes());
            match block {
                Data::Bytes(bytes) => layout.put(bytes),
                Data::Rows(source) => layout.add(*source, self.table, self.rows),
            }
        }
        layout.put(b"\n  </AppendedData>\n</VTKFile>\n");
        layout
    }
}

/// The file of some data, in which there are so many rows of a table with these columns.
fn lay_out<'a>(data: &PolyData<'a>, time: f64, table: &'a Table, rows: usize) -> Layout {
    let mut appended = Appended::new(table, rows);
    let text = describe(data, time, &mut appended).expect("a string takes all");
    appended.layout(&text)
}

/// The text of a file up to the bytes, which are put into `appended`.
fn describe<'a>(
    data: &PolyData<'a>,
    time: f64,
    appended: &mut Appended<'a>,
) -> Result<String, std::fmt::Error> {
    let points = data.points.0;
    let [verts, lines, triangles] = data.cells.each_ref().map(|(count, _)| count);
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
        for (column, data) in columns {
            array(out, column, appended.add(data.clone()))?;
        }
        writeln!(out, "      </{name}>")?;
    }
    writeln!(out, "      <Points>")?;
    let offset = appended.add(data.points.1.clone());
    numbers(out, "Points", "Float64", 3, offset, "m")?;
    writeln!(out, "      </Points>")?;
    for ((name, size), (count, connectivity)) in CELLS.into_iter().zip(&data.cells) {
        if *count == 0 {
            continue;
        }
        let ends = match connectivity {
            Data::Rows(_) => Data::Rows(Source::Ends(size)),
            Data::Bytes(_) => {
                let ends: Vec<u32> = (1..=*count as u32).map(|cell| cell * size).collect();
                Data::Bytes(Cow::Owned(cast_slice(&ends).to_vec()))
            }
        };
        writeln!(out, "      <{name}>")?;
        for (part, values) in [("connectivity", connectivity.clone()), ("offsets", ends)] {
            let offset = appended.add(values);
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
