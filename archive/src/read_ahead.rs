//! Reads a source in large ranges.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::{Error, Result, Source};

/// The size of a first read, in bytes.
const MIN_WINDOW: usize = 32 << 10;

/// The size of the reads of a long sequence, in bytes.
const MAX_WINDOW: usize = 4 << 20;

/// The maximum number of bytes in all windows: an export reads data, fragments and metadata in turn.
const CAPACITY: usize = 3 * MAX_WINDOW;

/// A source with read-ahead. A read that continues a window fetches twice its size, up to [`MAX_WINDOW`]: a
/// single file costs a few small reads, and an export few large ones.
pub(crate) struct ReadAhead<S> {
    source: S,
    /// The least recently used one is first.
    windows: VecDeque<Window>,
    /// The maximum size of a window that is read ahead.
    max_window: usize,
    capacity: usize,
}

struct Window {
    start: u64,
    bytes: Bytes,
}

impl Window {
    /// Returns a range of the archive, if the window contains it.
    fn get(&self, offset: u64, length: usize) -> Option<Bytes> {
        let begin = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let end = begin.checked_add(length)?;
        (end <= self.bytes.len()).then(|| self.bytes.slice(begin..end))
    }

    /// Whether a read at `offset` continues the window.
    fn is_continued_at(&self, offset: u64) -> bool {
        let reach = (self.bytes.len() + MIN_WINDOW) as u64;
        offset.checked_sub(self.start).is_some_and(|skipped| skipped <= reach)
    }
}

impl<S: Source> ReadAhead<S> {
    pub fn new(source: S) -> Self {
        Self { source, windows: VecDeque::new(), max_window: MAX_WINDOW, capacity: CAPACITY }
    }

    /// Reads at most `max_window` bytes ahead, and keeps at most three such windows in memory.
    pub fn with_windows_of(source: S, max_window: usize) -> Self {
        Self { max_window, capacity: 3 * max_window, ..Self::new(source) }
    }

    /// Keeps at most one window in memory.
    pub fn with_one_window(self) -> Self {
        Self { capacity: self.max_window, ..self }
    }

    /// Returns the size of the source.
    pub fn size(&self) -> u64 {
        self.source.size()
    }

    /// Returns `length` bytes at `offset`. They keep a window in memory, so only their copy may be stored.
    pub async fn read(&mut self, offset: u64, length: usize) -> Result<Bytes> {
        let available = usize::try_from(self.size().saturating_sub(offset)).unwrap_or(usize::MAX);
        if length > available {
            return Err(Error::Damaged("it ends early"));
        }
        // R2 refuses an empty range.
        if length == 0 {
            return Ok(Bytes::new());
        }
        let found = self.windows.iter().enumerate().find_map(|(at, window)| Some((at, window.get(offset, length)?)));
        if let Some((at, bytes)) = found {
            let used = self.windows.remove(at);
            self.windows.extend(used);
            return Ok(bytes);
        }
        let size = self.window_size(offset).max(length).min(available);
        self.reserve(size);
        let bytes = self.source.read(offset, size).await?;
        if bytes.len() != size {
            return Err(Error::Source(format!("{} bytes were read instead of {size}", bytes.len())));
        }
        self.windows.push_back(Window { start: offset, bytes: bytes.clone() });
        Ok(bytes.slice(..length))
    }

    /// Returns the size of a window that begins at `offset`.
    fn window_size(&self, offset: u64) -> usize {
        let continued = self.windows.iter().filter(|window| window.is_continued_at(offset));
        let previous = continued.map(|window| window.bytes.len()).max().unwrap_or_default();
        (2 * previous).clamp(MIN_WINDOW, self.max_window)
    }

    /// Removes the least recently used windows until a window of `size` bytes can be added.
    fn reserve(&mut self, size: usize) {
        let mut used: usize = self.windows.iter().map(|window| window.bytes.len()).sum();
        while used + size > self.capacity {
            let Some(oldest) = self.windows.pop_front() else { return };
            used -= oldest.bytes.len();
        }
    }
}
