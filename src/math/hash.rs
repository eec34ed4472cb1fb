//! A hash of long data that many can compute together: of blocks, one by one, and of their hashes.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes of a block.
pub const BLOCK: usize = 1 << 20;

/// Hash of bytes: XXH3 (64 bits) of the hashes of their blocks, little-endian, each of which is XXH3 of 1 MiB, or of what is left at
/// the end.
pub fn hash(bytes: &[u8]) -> u64 {
    of_blocks(bytes.chunks(BLOCK).map(xxh3_64))
}

/// Hash of bytes, from those of their blocks.
pub fn of_blocks(blocks: impl IntoIterator<Item = u64>) -> u64 {
    let mut all = Xxh3::new();
    for block in blocks {
        all.update(&block.to_le_bytes());
    }
    all.digest()
}

/// Makes the hash of bytes that come one after the other.
#[derive(Default)]
pub struct Hasher {
    blocks: Vec<u64>,
    block: Xxh3,
    /// Bytes of it.
    count: usize,
}

impl Hasher {
    /// Adds bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (own, rest) = bytes.split_at((BLOCK - self.count).min(bytes.len()));
            self.block.update(own);
            self.count += own.len();
            if self.count == BLOCK {
                self.end_block();
            }
            bytes = rest;
        }
    }

    fn end_block(&mut self) {
        self.blocks.push(self.block.digest());
        self.block.reset();
        self.count = 0;
    }

    /// The hash of all bytes.
    pub fn digest(mut self) -> u64 {
        if self.count > 0 {
            self.end_block();
        }
        of_blocks(self.blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_bytes_come_they_have_one_hash() {
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 77] {
            let bytes: Vec<u8> = (0..length).map(|k| ((k * k) >> 3) as u8).collect();
            for part in [1000, BLOCK / 2, 3 * BLOCK] {
                let mut hasher = Hasher::default();
                bytes.chunks(part).for_each(|part| hasher.update(part));
                assert_eq!(hasher.digest(), hash(&bytes), "{length} by {part}");
            }
        }
        let mut bytes = vec![0; 2 * BLOCK];
        let zero = hash(&bytes);
        bytes[BLOCK + 5] = 1;
        assert_ne!(hash(&bytes), zero);
    }
}
