//! Columns of numpy's archives: one array each, or one for each component.

use std::io::{Cursor, Read};

use zip::ZipArchive;

use super::{Mistake, Rows};

const EXPECTED: &str = "an archive of `numpy.savez` with arrays of numbers, one row for each body";

/// Reads the arrays of an archive as columns: those of two dimensions have a column for each component, `position_x` and so
/// on. What is not as long as the most arrays are is no column.
pub(super) fn read(bytes: &[u8]) -> Result<Rows, Mistake> {
    let broken = |error: &dyn std::fmt::Display| (0, error.to_string(), EXPECTED);
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| broken(&error))?;
    let mut columns: Vec<(String, Vec<f64>)> = Vec::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).map_err(|error| match error {
            zip::result::ZipError::UnsupportedArchive(_) => (
                0,
                "a compressed array".to_owned(),
                "an archive of `numpy.savez`, not of `savez_compressed`",
            ),
            error => broken(&error),
        })?;
        let name = file.name().map_err(|error| broken(&error))?;
        let name = name.trim_end_matches(".npy").to_owned();
        let mut array = Vec::new();
        // No more than there can be, whatever its header says.
        let most = bytes.len() as u64;
        let read = (&mut file).take(most).read_to_end(&mut array);
        read.map_err(|error| broken(&error))?;
        let array = Array::read(&array).ok_or_else(|| {
            let found = format!("the array {name:?}, which is of no known kind");
            (
                0,
                found,
                "arrays of real numbers or whole ones, of one or two dimensions",
            )
        })?;
        columns.extend(array.columns(&name));
    }
    // The most common length; of two, the larger one.
    let mut lengths: Vec<usize> = columns.iter().map(|(_, column)| column.len()).collect();
    lengths.sort_unstable();
    let runs = lengths.chunk_by(|a, b| a == b);
    let length = runs.max_by_key(|run| run.len()).map_or(0, |run| run[0]);
    let (kept, others): (Vec<_>, Vec<_>) = columns
        .into_iter()
        .partition(|(_, column)| column.len() == length);
    let row = |index: usize| kept.iter().map(|(_, column)| column[index]).collect();
    Ok(Rows {
        rows: (0..length).map(|index| (0, row(index))).collect(),
        names: kept.iter().map(|(name, _)| name.clone()).collect(),
        others: others.into_iter().map(|(name, _)| name).collect(),
    })
}

/// An array in numpy's format NPY.
struct Array {
    rows: usize,
    components: usize,
    /// Row by row.
    numbers: Vec<f64>,
}

impl Array {
    /// `None` if it is of a kind or a shape that has no place here.
    fn read(bytes: &[u8]) -> Option<Array> {
        let version = *bytes.strip_prefix(b"\x93NUMPY")?.first()?;
        let (start, length): (usize, usize) = match version {
            1 => (
                10,
                usize::from(u16::from_le_bytes(bytes.get(8..10)?.try_into().ok()?)),
            ),
            _ => (
                12,
                u32::from_le_bytes(bytes.get(8..12)?.try_into().ok()?) as usize,
            ),
        };
        let header = std::str::from_utf8(bytes.get(start..start.checked_add(length)?)?).ok()?;
        let value = |key: &str| -> Option<&str> {
            let (_, after) = header.split_once(&format!("'{key}':"))?;
            Some(after.trim_start())
        };
        let kind = value("descr")?.strip_prefix('\'')?.split('\'').next()?;
        let by_columns = value("fortran_order")?.starts_with("True");
        let shape = value("shape")?.strip_prefix('(')?.split(')').next()?;
        let shape: Vec<usize> = shape
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(|part| part.parse().ok())
            .collect::<Option<_>>()?;
        let numbers = numbers(kind, &bytes[start + length..])?;
        let (rows, components) = match shape[..] {
            [] => (1, 1),
            [rows] => (rows, 1),
            [rows, components] => (rows, components),
            _ => return None,
        };
        if rows.checked_mul(components)? != numbers.len() {
            return None;
        }
        let numbers = match by_columns {
            false => numbers,
            true => (0..numbers.len())
                .map(|at| numbers[at % components * rows + at / components])
                .collect(),
        };
        Some(Array {
            rows,
            components,
            numbers,
        })
    }

    fn columns(self, name: &str) -> Vec<(String, Vec<f64>)> {
        super::components(name, self.rows, self.components, &self.numbers)
    }
}

fn numbers(kind: &str, bytes: &[u8]) -> Option<Vec<f64>> {
    macro_rules! of {
        ($Number:ty, $from:ident) => {{
            let (chunks, rest) = bytes.as_chunks::<{ size_of::<$Number>() }>();
            let all = chunks.iter().map(|bytes| <$Number>::$from(*bytes) as f64);
            rest.is_empty().then(|| all.collect())
        }};
    }
    match kind {
        "<f4" => of!(f32, from_le_bytes),
        "<f8" => of!(f64, from_le_bytes),
        ">f4" => of!(f32, from_be_bytes),
        ">f8" => of!(f64, from_be_bytes),
        "<i4" => of!(i32, from_le_bytes),
        "<u4" => of!(u32, from_le_bytes),
        "<i8" => of!(i64, from_le_bytes),
        "<u8" => of!(u64, from_le_bytes),
        "<i2" => of!(i16, from_le_bytes),
        "<u2" => of!(u16, from_le_bytes),
        "|i1" => of!(i8, from_le_bytes),
        "|u1" | "|b1" => of!(u8, from_le_bytes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    use super::*;

    fn array(kind: &str, by_columns: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
        let head =
            format!("{{'descr': '{kind}', 'fortran_order': {by_columns}, 'shape': ({shape}), }}\n");
        let mut all = b"\x93NUMPY\x01\x00".to_vec();
        all.extend((head.len() as u16).to_le_bytes());
        all.extend(head.bytes());
        all.extend(bytes);
        all
    }

    fn archive(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        for (name, bytes) in arrays {
            archive.start_file(format!("{name}.npy"), stored).unwrap();
            archive.write_all(bytes).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    fn floats(numbers: &[f32]) -> Vec<u8> {
        numbers.iter().flat_map(|own| own.to_le_bytes()).collect()
    }

    #[test]
    fn matrices_have_a_column_for_each_component_in_either_order() {
        let positions = floats(&[0.0, 0.5, 1.0, 2.0, 0.25, -1.0]);
        let velocities = floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let types: Vec<u8> = [7_i64, -8]
            .iter()
            .flat_map(|own| own.to_le_bytes())
            .collect();
        let bytes = archive(&[
            ("position", array("<f4", "True", "2, 3", &positions)),
            ("v", array("<f4", "False", "2, 3", &velocities)),
            ("type", array("<i8", "False", "2,", &types)),
            ("box", array("<f4", "False", "3,", &floats(&[1.0; 3]))),
        ]);
        let Ok(rows) = read(&bytes) else {
            panic!("a right archive is refused");
        };
        let names = [
            "position_x",
            "position_y",
            "position_z",
            "v_x",
            "v_y",
            "v_z",
            "type",
        ];
        assert_eq!(rows.names, names);
        assert_eq!(rows.others, ["box"]);
        let expected = [
            vec![0.0, 1.0, 0.25, 1.0, 2.0, 3.0, 7.0],
            vec![0.5, 2.0, -1.0, 4.0, 5.0, 6.0, -8.0],
        ];
        let found: Vec<Vec<f64>> = rows.rows.into_iter().map(|(_, row)| row).collect();
        assert_eq!(found, expected);
        // Cut off anywhere, it is refused.
        for end in 0..bytes.len() - 22 {
            assert!(read(&bytes[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn what_is_no_column_of_numbers_is_refused() {
        for (kind, shape, bytes) in [
            ("<c8", "1,", vec![0; 8]),
            ("<f4", "2,", vec![0; 4]),
            ("<f4", "1, 1, 1", vec![0; 4]),
            ("<f4", "99999999999999999999", vec![0; 4]),
            ("<f4", "4611686018427387904, 4", Vec::new()),
        ] {
            let bytes = archive(&[("x", array(kind, "False", shape, &bytes))]);
            let Err((_, found, _)) = read(&bytes) else {
                panic!("{kind} {shape}: read");
            };
            assert!(found.contains("the array \"x\""), "{found}");
        }
    }
}
