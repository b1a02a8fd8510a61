//! Writes the headers of members, in the format pax where ustar has no room.

use super::header::BLOCK;
use crate::{Entry, Kind};

/// The maximum length of a path or of the target of a link in a header of ustar, in bytes.
const MAX_NAME: usize = 100;

/// The largest number in 7 octal digits, of a user or group id.
const MAX_ID: u32 = 0o7_777_777;

/// The largest number in 11 octal digits, of a size or a time.
const MAX_LONG: u64 = 0o77_777_777_777;

/// What a header describes.
pub(crate) struct Member<'a> {
    /// The path; that of a directory ends with `/`.
    pub path: &'a [u8],
    /// The type of the member.
    pub type_flag: u8,
    /// The target of a link.
    pub link: &'a [u8],
    pub entry: &'a Entry,
    /// The size of the content that follows.
    pub size: u64,
}

/// Writes the header of a member, after one with the attributes that it has no room for.
pub(crate) fn write_header(out: &mut Vec<u8>, member: &Member) {
    let Member { path, link, entry, size, .. } = member;
    let mut attributes = Vec::new();
    for (key, value) in [("path", path), ("linkpath", link)] {
        if value.len() > MAX_NAME {
            if std::str::from_utf8(value).is_err() {
                push_record(&mut attributes, "hdrcharset", b"BINARY");
            }
            push_record(&mut attributes, key, value);
        }
    }
    let mut number = |key, number: String, fits: bool| {
        if !fits {
            push_record(&mut attributes, key, number.as_bytes());
        }
    };
    number("size", size.to_string(), *size <= MAX_LONG);
    number("uid", entry.uid.to_string(), entry.uid <= MAX_ID);
    number("gid", entry.gid.to_string(), entry.gid <= MAX_ID);
    number("mtime", entry.mtime.to_string(), u64::try_from(entry.mtime).is_ok_and(|mtime| mtime <= MAX_LONG));
    if !attributes.is_empty() {
        let extended = Entry { kind: Kind::File, mode: 0o644, uid: 0, gid: 0, mtime: 0, ..(*entry).clone() };
        let length = attributes.len() as u64;
        write_block(out, &Member { path: b"PaxHeader", type_flag: b'x', link: b"", entry: &extended, size: length });
        out.extend_from_slice(&attributes);
        pad(out, length);
    }
    write_block(out, member);
}

/// Fills the last block of a content of `size` bytes with zeros.
pub(crate) fn pad(out: &mut Vec<u8>, size: u64) {
    let rest = usize::try_from(size % BLOCK as u64).unwrap_or_default();
    out.resize(out.len() + (BLOCK - rest) % BLOCK, 0);
}

/// Writes the end of an archive.
pub(crate) fn write_end(out: &mut Vec<u8>) {
    out.resize(out.len() + 2 * BLOCK, 0);
}

fn write_block(out: &mut Vec<u8>, member: &Member) {
    let Member { path, type_flag, link, entry, size } = member;
    let id = |id: u32| u64::from(if id <= MAX_ID { id } else { 0 });
    let long = |number: u64| if number <= MAX_LONG { number } else { 0 };
    let device = match entry.kind {
        Kind::BlockDevice(number) | Kind::CharacterDevice(number) => number,
        _ => 0,
    };
    // The encoding of Linux: 12 bits of the major number, and 20 bits of the minor one in two parts.
    let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xfff00);
    let mut block = Vec::with_capacity(BLOCK);
    push_text(&mut block, path, MAX_NAME);
    push_octal(&mut block, entry.mode.into(), 8);
    push_octal(&mut block, id(entry.uid), 8);
    push_octal(&mut block, id(entry.gid), 8);
    push_octal(&mut block, long(*size), 12);
    push_octal(&mut block, long(u64::try_from(entry.mtime).unwrap_or_default()), 12);
    block.extend_from_slice(b"        ");
    block.push(*type_flag);
    push_text(&mut block, link, MAX_NAME);
    block.extend_from_slice(b"ustar\x0000");
    block.resize(block.len() + 64, 0);
    push_octal(&mut block, major.into(), 8);
    push_octal(&mut block, minor.into(), 8);
    block.resize(BLOCK, 0);
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    let mut checksum = Vec::new();
    push_octal(&mut checksum, sum, 7);
    block.splice(148..155, checksum);
    out.append(&mut block);
}

/// Appends a text, cut to `width` bytes and followed by zeros.
fn push_text(block: &mut Vec<u8>, text: &[u8], width: usize) {
    let end = block.len() + width;
    block.extend(text.iter().take(width));
    block.resize(end, 0);
}

/// Appends a number in octal digits and a zero.
fn push_octal(block: &mut Vec<u8>, number: u64, width: usize) {
    let digits = width - 1;
    block.extend_from_slice(format!("{number:0digits$o}\0").as_bytes());
}

/// Appends a record of pax, which begins with its own length.
fn push_record(records: &mut Vec<u8>, key: &str, value: &[u8]) {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    records.extend_from_slice(format!("{length} {key}=").as_bytes());
    records.extend_from_slice(value);
    records.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_begins_with_its_length() {
        for length in 0..1200 {
            let mut record = Vec::new();
            push_record(&mut record, "path", &vec![b'a'; length]);
            let text = String::from_utf8(record.clone()).unwrap();
            assert_eq!(text.split_once(' ').unwrap().0.parse(), Ok(record.len()));
        }
    }
}
