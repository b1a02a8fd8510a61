//! The decompressed bytes of an archive, from its begin to its end.

use bytes::{Buf, Bytes};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::gzip::Gzip;
use crate::read_ahead::ReadAhead;
use crate::{Error, Result, Source};

/// The number of bytes that are decompressed at once, which contains a block of Zstandard.
const INPUT: usize = (128 << 10) + 64;

/// How an archive of tar is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// Reads an archive from its begin. Only an archive without compression is skipped over without reading it.
pub(crate) struct Stream {
    /// The position in the source of what is not decompressed yet.
    position: u64,
    decoder: Decoder,
    /// Decompressed bytes that are not read yet.
    decoded: Bytes,
    /// The number of decompressed bytes that were read or skipped.
    offset: u64,
}

enum Decoder {
    None,
    Gzip(Gzip),
    Zstd(Box<Zstd>),
}

impl Stream {
    /// Begins with the first byte of an archive. A window of Zstandard has at most `window` bytes.
    pub fn new(compression: Compression, window: u64) -> Self {
        let decoder = match compression {
            Compression::None => Decoder::None,
            Compression::Gzip => Decoder::Gzip(Gzip::new()),
            Compression::Zstd => Decoder::Zstd(Box::new(Zstd::new(window))),
        };
        Self { position: 0, decoder, decoded: Bytes::new(), offset: 0 }
    }

    /// Begins at an offset of an archive without compression.
    pub fn at(offset: u64) -> Self {
        Self { position: offset, offset, ..Self::new(Compression::None, 0) }
    }

    /// Returns the number of decompressed bytes that precede the next one.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns at least one and at most `limit` bytes. Fails at the end.
    pub async fn next<S: Source>(&mut self, source: &mut ReadAhead<S>, limit: u64) -> Result<Bytes> {
        if !self.fill(source).await? {
            return Err(Error::Damaged("it ends early"));
        }
        let length = usize::try_from(limit).unwrap_or(usize::MAX).min(self.decoded.len());
        self.offset += length as u64;
        Ok(self.decoded.split_to(length))
    }

    /// Returns the next `length` bytes.
    pub async fn take<S: Source>(&mut self, source: &mut ReadAhead<S>, length: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            bytes.extend_from_slice(&self.next(source, (length - bytes.len()) as u64).await?);
        }
        Ok(bytes)
    }

    /// Skips `length` bytes.
    pub async fn skip<S: Source>(&mut self, source: &mut ReadAhead<S>, mut length: u64) -> Result<()> {
        while length > 0 {
            if self.decoded.is_empty() && matches!(self.decoder, Decoder::None) {
                let end = self.position.checked_add(length).filter(|end| *end <= source.size());
                self.position = end.ok_or(Error::Damaged("it ends early"))?;
                self.offset += length;
                return Ok(());
            }
            length -= self.next(source, length).await?.len() as u64;
        }
        Ok(())
    }

    /// Reads the rest, which completes the checks of the compression.
    pub async fn finish<S: Source>(&mut self, source: &mut ReadAhead<S>) -> Result<()> {
        if matches!(self.decoder, Decoder::None) {
            return Ok(());
        }
        while self.fill(source).await? {
            self.decoded.clear();
        }
        Ok(())
    }

    /// Decompresses until there are bytes to read. Returns `false` at the end.
    async fn fill<S: Source>(&mut self, source: &mut ReadAhead<S>) -> Result<bool> {
        while self.decoded.is_empty() {
            let left = source.size().saturating_sub(self.position);
            let length = usize::try_from(left).unwrap_or(usize::MAX).min(INPUT);
            let input = source.read(self.position, length).await?;
            let (consumed, decoded) = match &mut self.decoder {
                Decoder::None => (length, Bytes::copy_from_slice(&input)),
                Decoder::Gzip(gzip) => gzip.decode(&input)?,
                Decoder::Zstd(zstd) => zstd.decode(&input)?,
            };
            if consumed == 0 && decoded.is_empty() {
                return Ok(false);
            }
            self.position += consumed as u64;
            self.decoded = decoded;
        }
        Ok(true)
    }
}

/// Decompresses frames of Zstandard.
struct Zstd {
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl Zstd {
    fn new(window: u64) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(window);
        Self { decoder, is_in_frame: false }
    }

    /// Decompresses the next block. Returns how much of the input it had, and its content.
    fn decode(&mut self, input: &[u8]) -> Result<(usize, Bytes)> {
        if input.is_empty() && !self.is_in_frame {
            return Ok((0, Bytes::new()));
        }
        let mut rest = input;
        let damaged = Error::Damaged("a block can't be decompressed");
        if !self.is_in_frame {
            self.decoder.init(&mut rest).map_err(|_| damaged.clone())?;
            self.is_in_frame = true;
        }
        let decoded = self.decoder.decode_blocks(&mut rest, BlockDecodingStrategy::UptoBlocks(1));
        self.is_in_frame = !decoded.map_err(|_| damaged)?;
        let content = self.decoder.collect().unwrap_or_default();
        Ok((input.len() - rest.remaining(), content.into()))
    }
}
