//! Reads little-endian fields one after the other.

use crate::{Error, Result};

/// The fields that are not read yet.
pub(crate) struct Fields<'a>(pub &'a [u8]);

impl Fields<'_> {
    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk().ok_or(Error::Damaged("a structure ends early"))?;
        self.0 = rest;
        Ok(*field)
    }
}
