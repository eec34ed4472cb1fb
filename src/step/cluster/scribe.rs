//! A file that all ranks write together: each has a range of its bytes, and gets from the others what belongs there.

use std::io;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::Ranks;
use super::bytes::{Reader, Writer};
use crate::math::hash::BLOCK;

/// Bytes of a file that a rank has, on their way to the ranks that write them.
pub(super) struct Scribe {
    length: u64,
    /// Bytes of each rank: whole blocks, so that each is hashed by one rank.
    share: u64,
    messages: Vec<Writer>,
    /// For each rank, where the length of the last piece stands in the message, and where the piece ends in the file.
    last: Vec<Option<(usize, u64)>>,
}

impl Scribe {
    pub fn new(ranks: usize, length: u64) -> Scribe {
        let blocks = length.div_ceil(BLOCK as u64);
        Scribe {
            length,
            share: blocks.div_ceil(ranks as u64).max(1) * BLOCK as u64,
            messages: (0..ranks).map(|_| Writer::default()).collect(),
            last: vec![None; ranks],
        }
    }

    /// Puts bytes to a place in the file.
    pub fn put(&mut self, mut offset: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let rank = (offset / self.share) as usize;
            let room = (rank as u64 + 1) * self.share - offset;
            let (own, rest) = bytes.split_at(bytes.len().min(room as usize));
            self.send(rank, offset, own);
            offset += own.len() as u64;
            bytes = rest;
        }
    }

    fn send(&mut self, rank: usize, offset: u64, bytes: &[u8]) {
        let message = &mut self.messages[rank];
        let end = offset + bytes.len() as u64;
        match &mut self.last[rank] {
            // It goes on where the last one ends.
            Some((place, last)) if *last == offset => {
                let length = &mut message.0[*place..*place + size_of::<u64>()];
                let count = Reader(length).take::<u64>() + bytes.len() as u64;
                length.copy_from_slice(bytemuck::bytes_of(&count));
                *last = end;
                message.0.extend_from_slice(bytes);
            }
            _ => {
                message.put(offset);
                self.last[rank] = Some((message.0.len(), end));
                message.put_all(bytes);
            }
        }
    }

    /// Writes the range of this rank, as soon as all have given theirs. What nobody has put is zero. Returns the hashes of its
    /// blocks.
    ///
    /// # Errors
    /// If the file cannot be written. All messages have been sent then.
    pub fn write(self, ranks: &dyn Ranks, path: &Path) -> io::Result<Vec<u64>> {
        let start = self.share * ranks.rank() as u64;
        let end = self.length.min(start + self.share);
        let messages = self.messages.into_iter().map(|message| message.0);
        let messages = ranks.all_to_all(messages.collect());
        if start >= end {
            return Ok(Vec::new());
        }
        let mut own = vec![0; (end - start) as usize];
        for message in &messages {
            let mut message = Reader(message);
            while !message.is_empty() {
                let place = (message.take::<u64>() - start) as usize;
                let bytes = message.bytes_of_all::<u8>();
                own[place..place + bytes.len()].copy_from_slice(bytes);
            }
        }
        drop(messages);
        ranks.write(path, start, &own)?;
        Ok(own.chunks(BLOCK).map(xxh3_64).collect())
    }
}
