//! Where the bytes of an archive come from.

use bytes::Bytes;

use crate::Result;

/// An archive that can be read by range, such as an object in R2.
pub trait Source {
    /// Returns `length` bytes at `offset`. The range is not empty, and within [`Source::size`].
    fn read(&mut self, offset: u64, length: usize) -> impl Future<Output = Result<Bytes>>;

    /// Returns the size of the archive in bytes.
    fn size(&self) -> u64;
}
