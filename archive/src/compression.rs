//! Decompresses blocks, with a limit for their size.

use std::iter;

use miniz_oxide::inflate::decompress_slice_iter_to_slice;
use ruzstd::decoding::FrameDecoder;

use crate::{Error, Result};

/// The maximum size of a block in bytes, decompressed.
pub(crate) const MAX_BLOCK: usize = 1 << 20;

/// The decompressor of an archive.
pub(crate) enum Decompressor {
    /// zlib, which mksquashfs calls gzip.
    Zlib,
    /// The block format of LZ4.
    Lz4,
    /// Zstandard.
    Zstd(Box<FrameDecoder>),
}

impl Decompressor {
    /// Returns the decompressor of Zstandard.
    pub fn zstd() -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_BLOCK as u64);
        Self::Zstd(Box::new(decoder))
    }

    /// Decompresses a block that has at most `limit` bytes, which is at most [`MAX_BLOCK`].
    pub fn decompress(&mut self, input: &[u8], limit: usize) -> Result<Vec<u8>> {
        let mut output = vec![0; limit];
        let length = match self {
            Self::Zlib => decompress_slice_iter_to_slice(&mut output, iter::once(input), true, false).ok(),
            Self::Lz4 => lz4_flex::block::decompress_into(input, &mut output).ok(),
            Self::Zstd(decoder) => decoder.decode_all(input, &mut output).ok(),
        };
        output.truncate(length.ok_or(Error::Damaged("a block can't be decompressed"))?);
        Ok(output)
    }
}
