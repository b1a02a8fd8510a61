//! The parts of a carrier.

use bytes::{Buf, Bytes};
use sha2::{Digest, Sha256};

use super::lists::{Lists, Parser};
use crate::hash::{hex, sha256};
use crate::single::{Content, Single};
use crate::{Error, Path, Result, Source};

/// The maximum size of a head in bytes.
const MAX_HEAD: u64 = 4096;

/// Reads the lists of a carrier. `expected` is the SHA-256 of its head, in hexadecimal, which has that of the lists.
pub(crate) async fn read_lists<S: Source>(carrier: &mut Single<S>, expected: &str) -> Result<Lists> {
    let mut head = Vec::new();
    let mut content = open(carrier, "head", 0..MAX_HEAD).await?;
    while let Some(bytes) = next(carrier, &mut content).await? {
        head.extend_from_slice(&bytes);
    }
    if sha256(&head) != expected {
        return Err(Error::Damaged("its head is another one"));
    }
    let head = String::from_utf8(head).unwrap_or_default();
    let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    if value("delta") != Some("1") {
        return Err(Error::Unsupported("its version is not 1"));
    }
    let mut sum = Sha256::new();
    let mut parser = Parser::default();
    let mut content = open(carrier, "lists", 0..u64::MAX).await?;
    while let Some(bytes) = next(carrier, &mut content).await? {
        sum.update(&bytes);
        parser.push(&bytes)?;
    }
    if value("lists") != Some(&hex(sum.finalize().as_slice())) {
        return Err(Error::Damaged("its lists are others"));
    }
    parser.finish()
}

/// Begins to read a part.
async fn open<S: Source>(carrier: &mut Single<S>, name: &str, range: std::ops::Range<u64>) -> Result<Content> {
    carrier.read(&Path::parse(name.as_bytes())?, range).await.map_err(without_part)
}

async fn next<S: Source>(carrier: &mut Single<S>, content: &mut Content) -> Result<Option<Bytes>> {
    carrier.next_bytes(content).await.map_err(without_part)
}

/// Returns the error for a carrier that lacks a part: the path of a caller is another one.
fn without_part(error: Error) -> Error {
    match error {
        Error::NotFound | Error::NotADirectory | Error::NotAFile => Error::Damaged("a part of its carrier is missing"),
        error => error,
    }
}

/// The payload of a carrier: a tar in it.
pub(crate) struct Payload<S> {
    carrier: Single<S>,
    size: u64,
    cursor: Option<Cursor>,
}

/// The rest of the payload after an offset.
struct Cursor {
    offset: u64,
    content: Content,
    /// Bytes that were read, and not returned.
    rest: Bytes,
}

/// The name of the payload.
const NAME: &str = "payload.tar";

impl<S: Source> Payload<S> {
    pub async fn open(mut carrier: Single<S>) -> Result<Self> {
        let size = open(&mut carrier, NAME, 0..0).await?.entry().size;
        Ok(Self { carrier, size, cursor: None })
    }
}

impl<S: Source> Source for Payload<S> {
    async fn read(&mut self, offset: u64, length: usize) -> Result<Bytes> {
        let is_sequential = self.carrier.is_sequential();
        let is_before = |at: u64| at == offset || is_sequential && at < offset;
        let mut cursor = if let Some(cursor) = self.cursor.take().filter(|cursor| is_before(cursor.offset)) {
            cursor
        } else {
            let content = open(&mut self.carrier, NAME, offset..u64::MAX).await?;
            Cursor { offset, content, rest: Bytes::new() }
        };
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            if cursor.rest.is_empty() {
                let next = next(&mut self.carrier, &mut cursor.content).await?;
                cursor.rest = next.ok_or(Error::Damaged("its payload ends early"))?;
            }
            let skipped = usize::try_from(offset.saturating_sub(cursor.offset)).unwrap_or(usize::MAX);
            let skipped = skipped.min(cursor.rest.len());
            cursor.rest.advance(skipped);
            let taken = cursor.rest.split_to(cursor.rest.len().min(length - bytes.len()));
            bytes.extend_from_slice(&taken);
            cursor.offset += (skipped + taken.len()) as u64;
        }
        self.cursor = Some(cursor);
        Ok(bytes.into())
    }

    fn size(&self) -> u64 {
        self.size
    }
}
