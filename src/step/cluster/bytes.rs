//! Messages: values one after the other.

use bytemuck::{
    AnyBitPattern, NoUninit, bytes_of, cast_slice, pod_collect_to_vec, pod_read_unaligned,
};

/// A message that is written.
#[derive(Clone, Default)]
pub(super) struct Writer(pub Vec<u8>);

impl Writer {
    pub fn put<T: NoUninit>(&mut self, value: T) {
        self.0.extend_from_slice(bytes_of(&value));
    }

    /// Values with their number.
    pub fn put_all<T: NoUninit>(&mut self, values: &[T]) {
        self.put(values.len() as u64);
        self.0.extend_from_slice(cast_slice(values));
    }
}

/// A message that is read: by a rank of the same program, so what is expected is there.
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn take<T: AnyBitPattern>(&mut self) -> T {
        pod_read_unaligned(self.bytes(size_of::<T>()))
    }

    /// Values that were written with their number.
    pub fn take_all<T: AnyBitPattern + NoUninit>(&mut self) -> Vec<T> {
        let bytes = self.bytes_of_all::<T>();
        pod_collect_to_vec(bytes)
    }

    /// A slice of them, as bytes.
    pub fn bytes_of_all<T>(&mut self) -> &'a [u8] {
        let count = self.take::<u64>() as usize;
        self.bytes(count * size_of::<T>())
    }

    fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (own, rest) = self.0.split_at(count);
        self.0 = rest;
        own
    }
}
