use std::fs::File;
use std::io::{self, BufWriter, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::table::{Table, Values};

/// Writes a table as NPZ, numpy's own format: a ZIP archive, not compressed, with a one-dimensional
/// array for each column. Vectors have a column for each component (`velocity_x`), quaternions four.
///
/// All arrays are as long as the table, so that `pandas.DataFrame(dict(numpy.load(file)))` is the same
/// table. `step` and `time` (s) are in each row, for tables of several steps to be joined.
///
/// # Errors
/// If `writer` fails.
pub fn write_npz(
    writer: &mut BufWriter<File>,
    table: &Table,
    step: u64,
    time: f64,
) -> io::Result<()> {
    let mut archive = ZipWriter::new(writer);
    let mut array = |name: &str, kind: &str, bytes: &[u8]| {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(bytes.len() > 1 << 31);
        archive
            .start_file(format!("{name}.npy"), options)
            .map_err(io::Error::other)?;
        archive.write_all(&header(kind, table.rows))?;
        archive.write_all(bytes)
    };
    array("step", "<u8", &step.to_le_bytes().repeat(table.rows))?;
    array("time", "<f8", &time.to_le_bytes().repeat(table.rows))?;
    for column in &table.columns {
        let kind = match column.values {
            Values::U32(_) => "<u4",
            Values::I32(_) => "<i4",
            Values::F32(_) => "<f4",
            Values::F64(_) => "<f8",
        };
        let bytes = column.values.bytes();
        if column.components == 1 {
            array(column.name, kind, bytes)?;
            continue;
        }
        let size = column.values.size();
        for (index, axis) in ["x", "y", "z", "w"][..column.components].iter().enumerate() {
            let component: Vec<u8> = bytes
                .chunks_exact(size * column.components)
                .flat_map(|row| &row[index * size..(index + 1) * size])
                .copied()
                .collect();
            array(&format!("{}_{axis}", column.name), kind, &component)?;
        }
    }
    archive.finish().map_err(io::Error::other)?;
    Ok(())
}

/// Header of an array, version 1.0 of the NPY format: the kind of its numbers, and how
/// many; in all a multiple of 64 bytes.
fn header(kind: &str, count: usize) -> Vec<u8> {
    let dictionary =
        format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({count},), }}");
    let length = (10 + dictionary.len() + 1).next_multiple_of(64) - 10;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((length as u16).to_le_bytes());
    header.extend(format!("{dictionary:<width$}\n", width = length - 1).bytes());
    header
}
