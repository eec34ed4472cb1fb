use std::fs::File;
use std::io::{self, BufWriter};

use crc32fast::Hasher;

use super::layout::{Layout, Source};
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
    let place = layout(table, table.rows, step, time, &[]);
    let sum = |source: Source| crc32fast::hash(&source.bytes(table, 0));
    let sums: Vec<u32> = place.blocks().iter().map(|own| sum(own.source)).collect();
    layout(table, table.rows, step, time, &sums).write(writer, table)
}

/// A member of an archive.
struct Member {
    name: String,
    /// Start of its header.
    start: u64,
    length: u64,
    /// Whether it says its length in 64 bits.
    is_large: bool,
    sum: u32,
}

/// Bytes of rows beyond which that is so. Any number that leaves room for a header below 4 GiB would do.
const LARGE: u64 = 1 << 31;
/// Largest number of 32 bits: the true one stands elsewhere.
const ELSEWHERE: u32 = u32::MAX;
/// Versions of the format that a reader needs to know: the first, and that with lengths of 64 bits.
const VERSIONS: [u16; 2] = [10, 45];

/// The file of a table with so many rows and columns as those of this one. `sums` are the CRC-32 of the rows of each array; without
/// them, the places are right already.
///
/// Source of the format: PKWARE, "APPNOTE.TXT - .ZIP File Format Specification", version 6.3.10.
pub(super) fn layout(table: &Table, rows: usize, step: u64, time: f64, sums: &[u32]) -> Layout {
    let mut layout = Layout::default();
    let mut members = Vec::new();
    let mut array = |name: &str, kind: &str, source: Source| {
        let header = header(kind, rows);
        let of_rows = (source.size(table) * rows) as u64;
        let of_rows_sum = sums.get(members.len()).copied().unwrap_or(0);
        let mut sum = Hasher::new();
        sum.update(&header);
        sum.combine(&Hasher::new_with_initial_len(of_rows_sum, of_rows));
        let name = format!("{name}.npy");
        debug_assert!(members.iter().all(|own: &Member| own.name != name));
        let member = Member {
            name,
            start: layout.length(),
            length: header.len() as u64 + of_rows,
            is_large: of_rows > LARGE,
            sum: sum.finalize(),
        };
        layout.put(&member.local());
        layout.put(&header);
        layout.add(source, table, rows);
        members.push(member);
    };
    array("step", "<u8", Source::Same(step.to_le_bytes()));
    array("time", "<f8", Source::Same(time.to_le_bytes()));
    for (index, column) in table.columns.iter().enumerate() {
        let kind = match column.values {
            Values::U32(_) => "<u4",
            Values::I32(_) => "<i4",
            Values::F32(_) => "<f4",
            Values::F64(_) => "<f8",
        };
        if column.components == 1 {
            array(column.name, kind, Source::Column(index));
            continue;
        }
        for (number, axis) in ["x", "y", "z", "w"][..column.components].iter().enumerate() {
            let name = format!("{}_{axis}", column.name);
            array(&name, kind, Source::Component(index, number));
        }
    }
    let directory = directory(&members, layout.length());
    layout.put(&directory);
    layout
}

impl Member {
    /// The part that both headers have: version, flags, method, time and date (none), sum, lengths, and the length of the name.
    fn common(&self) -> Vec<u8> {
        let version = VERSIONS[usize::from(self.is_large)];
        let length = match self.is_large {
            true => ELSEWHERE,
            false => self.length as u32,
        };
        // No flags, not compressed, and the first day of the format's calendar.
        let numbers: [u16; 5] = [version, 0, 0, 0, 1 << 5 | 1];
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        bytes.extend(self.sum.to_le_bytes());
        bytes.extend(length.to_le_bytes().repeat(2));
        bytes.extend((self.name.len() as u16).to_le_bytes());
        bytes
    }

    /// Numbers of 64 bits, if there are any.
    fn extra(numbers: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        if !numbers.is_empty() {
            bytes.extend(1_u16.to_le_bytes());
            bytes.extend((8 * numbers.len() as u16).to_le_bytes());
            bytes.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        }
        bytes
    }

    /// Lengths that the headers do not have.
    fn lengths(&self) -> Vec<u64> {
        let twice = [self.length; 2];
        twice[..if self.is_large { 2 } else { 0 }].to_vec()
    }

    /// The header before the member.
    fn local(&self) -> Vec<u8> {
        let extra = Member::extra(&self.lengths());
        let mut bytes = b"PK\x03\x04".to_vec();
        bytes.extend(self.common());
        bytes.extend((extra.len() as u16).to_le_bytes());
        bytes.extend(self.name.bytes());
        bytes.extend(extra);
        bytes
    }

    /// The header in the directory.
    fn central(&self) -> Vec<u8> {
        let mut numbers = self.lengths();
        let start = u32::try_from(self.start).unwrap_or(ELSEWHERE);
        if start == ELSEWHERE {
            numbers.push(self.start);
        }
        let extra = Member::extra(&numbers);
        let version = VERSIONS[usize::from(self.is_large)];
        let mut bytes = b"PK\x01\x02".to_vec();
        // Made on Unix, so that the attributes below are a mode of a file.
        bytes.extend((3 << 8 | version).to_le_bytes());
        bytes.extend(self.common());
        bytes.extend((extra.len() as u16).to_le_bytes());
        // No comment, the first disk, no internal attributes.
        bytes.extend([0; 6]);
        bytes.extend((0o100_644_u32 << 16).to_le_bytes());
        bytes.extend(start.to_le_bytes());
        bytes.extend(self.name.bytes());
        bytes.extend(extra);
        bytes
    }
}

/// The directory at the end of an archive, which starts there.
fn directory(members: &[Member], start: u64) -> Vec<u8> {
    let mut bytes: Vec<u8> = members.iter().flat_map(Member::central).collect();
    let (length, count) = (bytes.len() as u64, members.len() as u64);
    let is_large = start >= ELSEWHERE.into();
    if is_large {
        let any = members.iter().any(|own| own.is_large);
        let version = VERSIONS[usize::from(any)];
        bytes.extend(b"PK\x06\x06");
        bytes.extend(44_u64.to_le_bytes());
        bytes.extend(version.to_le_bytes().repeat(2));
        // The first of one disk.
        bytes.extend([0; 8]);
        for number in [count, count, length, start] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(b"PK\x06\x07\0\0\0\0");
        bytes.extend((start + length).to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
    }
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend((count as u16).to_le_bytes().repeat(2));
    let length = if is_large { ELSEWHERE } else { length as u32 };
    let start = u32::try_from(start).unwrap_or(ELSEWHERE);
    bytes.extend(length.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, SeekFrom};

    use zip::ZipArchive;

    use super::*;
    use crate::output::Column;

    /// A file of which only some bytes are there.
    struct Holes {
        pieces: Vec<(u64, Vec<u8>)>,
        length: u64,
        at: u64,
    }

    impl Read for Holes {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let count = to.len().min((self.length - self.at) as usize);
            to[..count].fill(0);
            for (place, bytes) in &self.pieces {
                for (own, place) in bytes.iter().zip(*place..) {
                    if let Some(index) = place.checked_sub(self.at)
                        && index < count as u64
                    {
                        to[index as usize] = *own;
                    }
                }
            }
            self.at += count as u64;
            Ok(count)
        }
    }

    impl Seek for Holes {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.at = match to {
                SeekFrom::Start(place) => place,
                SeekFrom::End(way) => self.length.strict_add_signed(way),
                SeekFrom::Current(way) => self.at.strict_add_signed(way),
            };
            Ok(self.at)
        }
    }

    #[test]
    fn an_archive_may_be_larger_than_4_gib() {
        let column = |name, values| Column {
            name,
            unit: "",
            components: 1,
            values,
        };
        let table = Table {
            rows: 0,
            columns: vec![
                column("small", Values::U32(Vec::new())),
                column("large", Values::F64(Vec::new())),
            ],
        };
        for (rows, is_large) in [(1000, false), (300_000_000, true), (600_000_000, true)] {
            let layout = layout(&table, rows, 1, 2.0, &[1, 2, 3, 4]);
            let pieces = layout.rest().map(|(at, bytes)| (at, bytes.to_vec()));
            let file = Holes {
                pieces: pieces.collect(),
                length: layout.length(),
                at: 0,
            };
            let mut archive = ZipArchive::new(file).unwrap();
            assert_eq!(archive.len(), 4);
            for (index, block) in layout.blocks().iter().enumerate() {
                let member = archive.by_index_raw(index).unwrap();
                let size = header("<f8", rows).len() + block.size * rows;
                assert_eq!(member.size(), size as u64);
                assert_eq!(member.compressed_size(), size as u64);
                let end = member.data_start().unwrap() + member.size();
                assert_eq!(end, block.start + (block.size * rows) as u64);
            }
            let last = archive.by_name("large.npy").unwrap();
            assert_eq!(last.header_start() > u32::MAX.into(), is_large);
        }
    }
}
