//! The content of a member.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::Bytes;

use super::header::{BLOCK, Piece};
use super::stream::Stream;
use crate::read_ahead::ReadAhead;
use crate::{Error, Result, Source};

/// The number of zeros that are returned at once.
const ZEROS: u64 = 64 << 10;

/// What is left of a member's content. It is in the stream at its position.
#[derive(Debug)]
pub(crate) struct Content {
    /// The range of the file that is not read yet.
    range: Range<u64>,
    size: u64,
    /// The pieces of the file that are in the archive, and not read yet.
    pieces: VecDeque<Piece>,
    /// The bytes in the archive that are not read yet.
    stored: u64,
}

impl Content {
    /// Returns the content of a file that is stored as a whole.
    pub fn whole(size: u64) -> Self {
        Self { range: 0..size, size, pieces: [(0, size)].into(), stored: padded(size) }
    }

    /// Returns the content of a sparse file.
    pub fn sparse(size: u64, stored: u64, pieces: Vec<Piece>) -> Result<Self> {
        let (mut end, mut sum) = (0, 0);
        for (offset, length) in &pieces {
            let next = offset.checked_add(*length).filter(|next| *offset >= end && *next <= size);
            end = next.ok_or(Error::Damaged("the pieces of a sparse file are not valid"))?;
            sum += length;
        }
        if sum != stored {
            return Err(Error::Damaged("the pieces of a sparse file are not valid"));
        }
        Ok(Self { range: 0..size, size, pieces: pieces.into(), stored: padded(stored) })
    }

    /// Returns the size of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the number of bytes that are not read yet.
    pub fn remaining(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Reads a range only, which is cut at the end of the file.
    pub async fn limit<S: Source>(
        &mut self,
        stream: &mut Stream,
        source: &mut ReadAhead<S>,
        range: Range<u64>,
    ) -> Result<()> {
        let end = range.end.min(self.size);
        let start = range.start.min(end);
        self.range = start..end;
        while let Some((offset, length)) = self.pieces.pop_front() {
            let skipped = start.saturating_sub(offset).min(length);
            self.skip(stream, source, skipped).await?;
            if skipped < length {
                self.pieces.push_front((offset + skipped, length - skipped));
                break;
            }
        }
        Ok(())
    }

    /// Returns the next bytes of the file.
    pub async fn next<S: Source>(&mut self, stream: &mut Stream, source: &mut ReadAhead<S>) -> Result<Option<Bytes>> {
        let Range { start, end } = self.range;
        if start == end {
            return Ok(None);
        }
        while self.pieces.front().is_some_and(|(_, length)| *length == 0) {
            self.pieces.pop_front();
        }
        let bytes = match self.pieces.front_mut() {
            Some((offset, length)) if *offset == start => {
                let bytes = stream.next(source, (*length).min(end - start)).await?;
                let read = bytes.len() as u64;
                (*offset, *length) = (*offset + read, *length - read);
                self.stored -= read;
                bytes
            }
            piece => {
                let hole_end = piece.map_or(end, |(offset, _)| end.min(*offset));
                let length = hole_end.saturating_sub(start).min(ZEROS);
                vec![0; usize::try_from(length).unwrap_or_default()].into()
            }
        };
        self.range.start += bytes.len() as u64;
        Ok(Some(bytes))
    }

    /// Skips what is left.
    pub async fn finish<S: Source>(&mut self, stream: &mut Stream, source: &mut ReadAhead<S>) -> Result<()> {
        self.range.start = self.range.end;
        self.pieces.clear();
        self.skip(stream, source, self.stored).await
    }

    async fn skip<S: Source>(&mut self, stream: &mut Stream, source: &mut ReadAhead<S>, length: u64) -> Result<()> {
        stream.skip(source, length).await?;
        self.stored -= length;
        Ok(())
    }
}

/// Returns the size of a content with its padding.
fn padded(size: u64) -> u64 {
    size.checked_next_multiple_of(BLOCK as u64).unwrap_or(u64::MAX)
}
