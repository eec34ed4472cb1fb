//! Files of columns, laid out before their rows are there: where each column lies follows from the number of rows alone, so that many
//! can write one file.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::mem::take;

use bytemuck::cast_slice;

use super::table::Table;

/// Source of the rows of a block: a table, of which the rows may come part by part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Source {
    /// A column, by its index.
    Column(usize),
    /// One number of each row of a column.
    Component(usize, usize),
    /// Two columns in turn.
    Pair(usize, usize),
    /// So many numbers a row, which count from 0 on.
    Indices(u32),
    /// Ends of cells of so many points.
    Ends(u32),
    /// One number, in each row again.
    Same([u8; 8]),
}

impl Source {
    /// Bytes of a row.
    pub fn size(self, table: &Table) -> usize {
        let size = |column: usize| table.columns[column].values.size();
        let of_row = |column: usize| size(column) * table.columns[column].components;
        match self {
            Source::Column(column) => of_row(column),
            Source::Component(column, _) => size(column),
            Source::Pair(one, other) => of_row(one) + of_row(other),
            Source::Indices(count) => size_of::<u32>() * count as usize,
            Source::Ends(_) => size_of::<u32>(),
            Source::Same(bytes) => bytes.len(),
        }
    }

    /// The rows of a table before which there are so many others in the whole.
    pub fn bytes(self, table: &Table, first: usize) -> Cow<'_, [u8]> {
        let column = |column: usize| table.columns[column].values.bytes();
        let (first, rows) = (first as u32, table.rows as u32);
        let numbers = |numbers: &mut dyn Iterator<Item = u32>| {
            let numbers: Vec<u32> = numbers.collect();
            Cow::Owned(cast_slice(&numbers).to_vec())
        };
        match self {
            Source::Column(own) => Cow::Borrowed(column(own)),
            Source::Component(own, index) => {
                let own = &table.columns[own];
                own.values.component(index, own.components)
            }
            Source::Pair(one, other) => {
                let [sizes, other_sizes] =
                    [one, other].map(|own| Source::Column(own).size(table).max(1));
                let pairs = column(one)
                    .chunks_exact(sizes)
                    .zip(column(other).chunks_exact(other_sizes));
                let mut all = Vec::with_capacity(table.rows * self.size(table));
                for (one, other) in pairs {
                    all.extend_from_slice(one);
                    all.extend_from_slice(other);
                }
                Cow::Owned(all)
            }
            Source::Indices(count) => numbers(&mut (count * first..count * (first + rows))),
            Source::Ends(points) => {
                numbers(&mut (first + 1..first + rows + 1).map(|cell| cell * points))
            }
            Source::Same(bytes) => Cow::Owned(bytes.repeat(table.rows)),
        }
    }
}

/// A file of blocks with a row each for each row of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    blocks: Vec<Block>,
    /// Bytes after the last block.
    end: Vec<u8>,
    /// Bytes of all that is in it.
    length: u64,
}

/// A block of a file.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Bytes before its rows, from the end of the block before on.
    head: Vec<u8>,
    pub source: Source,
    /// Place of its first row in the file.
    pub start: u64,
    /// Bytes of a row.
    pub size: usize,
}

impl Layout {
    /// Adds bytes that are there.
    pub fn put(&mut self, bytes: &[u8]) {
        self.end.extend_from_slice(bytes);
        self.length += bytes.len() as u64;
    }

    /// Adds a block of so many rows of a table with columns as this one has.
    pub fn add(&mut self, source: Source, table: &Table, rows: usize) {
        let size = source.size(table);
        self.blocks.push(Block {
            head: take(&mut self.end),
            source,
            start: self.length,
            size,
        });
        self.length += (size * rows) as u64;
    }

    /// The blocks, in their order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Bytes of all that is in it.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Bytes that are no rows, with their places.
    pub fn rest(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let heads = self.blocks.iter().map(|block| {
            let place = block.start - block.head.len() as u64;
            (place, &block.head[..])
        });
        let end = self.length - self.end.len() as u64;
        heads.chain([(end, &self.end[..])])
    }

    /// Writes the file with the rows of a table.
    ///
    /// # Errors
    /// If `writer` fails.
    pub fn write(&self, writer: &mut BufWriter<File>, table: &Table) -> io::Result<()> {
        for block in &self.blocks {
            writer.write_all(&block.head)?;
            writer.write_all(&block.source.bytes(table, 0))?;
        }
        writer.write_all(&self.end)
    }
}
