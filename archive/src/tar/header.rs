//! The header of a member, in the formats ustar and GNU.

use crate::{Error, Result};

/// The size of a block in bytes.
pub(crate) const BLOCK: usize = 512;

/// A piece of a sparse file: its offset in the file, and its length.
pub(crate) type Piece = (u64, u64);

/// The header of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub path: Vec<u8>,
    pub link: Vec<u8>,
    pub mode: u16,
    pub uid: u32,
    pub gid: u32,
    pub mtime: i64,
    /// The size of the content in the archive.
    pub size: u64,
    pub member_type: u8,
    pub device: u32,
}

impl Header {
    /// Parses a block. Returns `None` for a block of zeros, which ends an archive.
    pub fn parse(block: &[u8]) -> Result<Option<Self>> {
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let mut fields = Columns(block);
        let name = text(fields.take(100)?);
        let mode = number(fields.take(8)?)?;
        let (uid, gid) = (number(fields.take(8)?)?, number(fields.take(8)?)?);
        let (size, mtime) = (number(fields.take(12)?)?, number(fields.take(12)?)?);
        let checksum = number(fields.take(8)?)?;
        let member_type = fields.take(1)?.first().copied().unwrap_or_default();
        let link = text(fields.take(100)?).to_vec();
        let is_posix = fields.take(8)? == b"ustar\x0000";
        let _names = fields.take(64)?;
        let (major, minor) = (number(fields.take(8)?)?, number(fields.take(8)?)?);
        let prefix = if is_posix { text(fields.take(155)?) } else { b"" };
        if checksum != sum(block) {
            return Err(Error::Damaged("the checksum of a header is wrong"));
        }
        let path = if prefix.is_empty() { name.to_vec() } else { [prefix, b"/", name].concat() };
        Ok(Some(Self {
            path,
            link,
            mode: u16::try_from(mode & 0o7777).unwrap_or_default(),
            uid: u32::try_from(uid).unwrap_or_default(),
            gid: u32::try_from(gid).unwrap_or_default(),
            mtime,
            size: size.try_into().map_err(|_| DAMAGED)?,
            member_type,
            device: device(major, minor),
        }))
    }
}

/// The map of a sparse file in the format GNU.
pub(crate) struct SparseMap {
    pub pieces: Vec<Piece>,
    /// Whether a block with more of the map follows.
    pub has_more: bool,
    /// The size of the file; 0 in the blocks that follow.
    pub size: u64,
}

impl SparseMap {
    /// Parses the part of the map in a header.
    pub fn of_header(block: &[u8]) -> Result<Self> {
        let mut fields = Columns(block.get(386..).unwrap_or_default());
        let pieces = pieces(&mut fields, 4)?;
        let has_more = fields.take(1)? != b"\0";
        let size = number(fields.take(12)?)?.try_into().map_err(|_| DAMAGED)?;
        Ok(Self { pieces, has_more, size })
    }

    /// Parses a block that continues the map.
    pub fn continued(block: &[u8]) -> Result<Self> {
        let mut fields = Columns(block);
        let pieces = pieces(&mut fields, 21)?;
        Ok(Self { pieces, has_more: fields.take(1)? != b"\0", size: 0 })
    }
}

fn pieces(fields: &mut Columns, count: usize) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    for _ in 0..count {
        let (offset, length) = (fields.take(12)?, fields.take(12)?);
        if offset.first() != Some(&0) {
            let piece = (number(offset)?.try_into().ok(), number(length)?.try_into().ok());
            let (Some(offset), Some(length)) = piece else { return Err(DAMAGED) };
            pieces.push((offset, length));
        }
    }
    Ok(pieces)
}

const DAMAGED: Error = Error::Damaged("a number in a header is not valid");

/// Fields of fixed widths.
struct Columns<'a>(&'a [u8]);

impl<'a> Columns<'a> {
    fn take(&mut self, width: usize) -> Result<&'a [u8]> {
        let (field, rest) = self.0.split_at_checked(width).ok_or(Error::Damaged("a header ends early"))?;
        self.0 = rest;
        Ok(field)
    }
}

/// Returns a text, which ends at a NUL or with its field.
fn text(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Parses a number: octal digits, or where the first bit is set the bytes of a signed one.
fn number(field: &[u8]) -> Result<i64> {
    let Some((first @ 0x80.., rest)) = field.split_first() else { return octal(field) };
    let sign = if first & 0x40 == 0 { 0 } else { -0x40 };
    let shift = |number: i64, byte: &u8| Some(number.checked_mul(256)? | i64::from(*byte));
    rest.iter().try_fold(i64::from(first & 0x3f) + sign, shift).ok_or(DAMAGED)
}

fn octal(field: &[u8]) -> Result<i64> {
    let digits = text(field).trim_ascii();
    let add = |number: i64, digit: &u8| match digit {
        b'0'..=b'7' => number.checked_mul(8)?.checked_add(i64::from(digit - b'0')),
        _ => None,
    };
    digits.iter().try_fold(0, add).ok_or(DAMAGED)
}

/// Returns the sum of a header's bytes, with spaces in place of the sum itself.
fn sum(block: &[u8]) -> i64 {
    let is_sum = |at: usize| (148..156).contains(&at);
    block.iter().enumerate().map(|(at, byte)| if is_sum(at) { 32 } else { i64::from(*byte) }).sum()
}

/// Returns the number of a device as Linux has it.
fn device(major: i64, minor: i64) -> u32 {
    let [major, minor] = [major, minor].map(|part| u32::try_from(part).unwrap_or_default());
    (minor & 0xff) | (major & 0xfff) << 8 | (minor & 0x000f_ff00) << 12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_octal_or_binary() {
        assert_eq!(number(b"0000644\0"), Ok(0o644));
        assert_eq!(number(b" 644 \0\0\0"), Ok(0o644));
        assert_eq!(number(b"\0\0\0\0\0\0\0\0"), Ok(0));
        assert_eq!(number(&[0x80, 0, 0, 0, 0, 0, 1, 2]), Ok(258));
        assert_eq!(number(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe]), Ok(-2));
        assert_eq!(number(&[0xff; 12]), Ok(-1));
        assert_eq!(number(&[0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), Ok(i64::MAX));
        for odd in [&b"0000648\0"[..], b"x", &[0xbf; 12], &[0xc0; 12]] {
            assert!(number(odd).is_err(), "{odd:?}");
        }
    }

    #[test]
    fn device_numbers_are_those_of_linux() {
        assert_eq!((device(1, 3), device(8, 257)), (0x103, 0x10_0801));
    }
}
