//! The output of the commands that read and change files for callers.

use crate::model::Failure;
use crate::model::archive::{Attributes, EntryKind, Name, NamedAttributes};
use crate::model::file_call::{FileAction, FileCall, FileOutcome, FileRefusal, ListingBytes, ListingPosition};

/// The maximum length of the output of a program that failed, in characters.
const MAX_FAILURE_CHARS: usize = 500;

/// The maximum length of the output of a call, in bytes. A page of the longest names and links is shorter, and programs in the
/// container may print any.
const MAX_OUTPUT: usize = 8 * 1024 * 1024;

/// Adds a part to the output of a call.
///
/// # Errors
/// If the output is longer than that of any call.
pub(in crate::cloudflare) fn collect_output(output: &mut Vec<u8>, part: &[u8]) -> Result<(), Failure> {
    if output.len() + part.len() > MAX_OUTPUT {
        return Err(Failure::protocol("the sandbox", "the output of a call is too long"));
    }
    output.extend_from_slice(part);
    Ok(())
}

/// Parses the output of [`file_command`](super::file_command).
pub(crate) fn read_file_outcome(output: &[u8], call: &FileCall) -> Option<Result<FileOutcome, FileRefusal>> {
    let (word, rest) = split_at_byte(output, b'\n')?;
    let is_write = matches!(call.action, FileAction::Write { .. });
    Some(Err(match word {
        b"page" => return read_page(rest).map(Ok),
        b"entry" => return read_entry(rest, &call.action).map(Ok),
        b"listing" => return read_listing(rest, &call.action).map(Ok),
        b"hashes" => return read_hashes(rest, &call.action).map(Ok),
        b"removed" => return Some(Ok(FileOutcome::Removed(true))),
        b"missing" if matches!(call.action, FileAction::Remove { .. }) => return Some(Ok(FileOutcome::Removed(false))),
        // Only a write that expects a file creates no directories.
        b"missing" if is_write => FileRefusal::Changed,
        b"missing" => FileRefusal::NotFound,
        b"hidden" => FileRefusal::Hidden,
        b"gone" => FileRefusal::NoDirectory,
        b"directory" => FileRefusal::NotADirectory,
        b"new-directory" => FileRefusal::NewPathBlocked,
        b"file" => FileRefusal::NotAFile,
        b"exists" => FileRefusal::Exists,
        b"changed" => FileRefusal::Changed,
        b"full" => FileRefusal::NotEmpty,
        b"ended" => FileRefusal::ListEnded,
        b"many" => FileRefusal::TooMany,
        b"busy" => FileRefusal::Busy,
        _ => {
            let failure = String::from_utf8_lossy(output.strip_prefix(b"failed ")?).into_owned();
            let failure = failure.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
            FileRefusal::Failed(failure.take(MAX_FAILURE_CHARS).collect::<String>().trim_end().to_owned())
        }
    }))
}

fn read_entry(text: &[u8], action: &FileAction) -> Option<FileOutcome> {
    let (line, rest) = split_at_byte(text, b'\n')?;
    let (etag, rest) = split_at_byte(rest, b'\n')?;
    let etag = std::str::from_utf8(etag).ok().filter(|etag| *etag != "-").map(str::to_owned);
    let mut attributes = read_attributes(std::str::from_utf8(line).ok()?)?;
    if let FileAction::Read { length, .. } = action {
        let bytes = rest.get(..*length as usize).unwrap_or(rest).to_vec();
        return Some(FileOutcome::Content(attributes, etag, bytes));
    }
    if attributes.kind == EntryKind::Symlink {
        attributes.target = Some(Name::from(rest.strip_suffix(b"\n")?));
    }
    Some(FileOutcome::Entry(attributes, etag))
}

/// Reads a part of a list. A part that was cut is refused.
fn read_listing(text: &[u8], action: &FileAction) -> Option<FileOutcome> {
    let FileAction::Walk { position: expected, .. } = action else { return None };
    let (line, bytes) = split_at_byte(text, b'\n')?;
    let words: Vec<&str> = std::str::from_utf8(line).ok()?.split(' ').collect();
    let [id, offset, size] = words.as_slice() else { return None };
    let position = ListingPosition { id: (*id).to_owned(), offset: offset.parse().ok()? };
    if expected.as_ref().is_some_and(|expected| *expected != position) {
        return None;
    }
    let size: u64 = size.parse().ok()?;
    let rest = usize::try_from(size.saturating_sub(position.offset)).ok()?;
    let is_whole = bytes.len() == rest.min(ListingBytes::MAX_BYTES);
    is_whole.then(|| FileOutcome::Listing(ListingBytes { position, size, bytes: bytes.to_vec() }))
}

fn read_hashes(text: &[u8], action: &FileAction) -> Option<FileOutcome> {
    let FileAction::Hash { paths, .. } = action else { return None };
    let mut lines: Vec<&str> = std::str::from_utf8(text).ok()?.lines().collect();
    if lines.pop()? != "end" || lines.len() != paths.len() {
        return None;
    }
    let hash = |line: &&str| (*line != "-").then(|| (*line).to_owned());
    Some(FileOutcome::Hashes(lines.iter().map(hash).collect()))
}

fn read_page(text: &[u8]) -> Option<FileOutcome> {
    let (line, mut rest) = split_at_byte(text, b'\n')?;
    let (count, more) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let count: usize = count.parse().ok()?;
    let mut names = Vec::new();
    for _ in 0..count {
        let (name, after) = split_at_byte(rest, 0)?;
        names.push(name);
        rest = after;
    }
    let next = names.last().filter(|_| more == "1").map(|name| Name::from(*name));
    let mut found: Vec<Option<NamedAttributes>> = Vec::new();
    for name in &names {
        // A file that was removed in the meantime has no line.
        let (attributes, after) = read_named(rest, name)?.map_or((None, rest), |(own, after)| (Some(own), after));
        found.push(attributes.map(|attributes| NamedAttributes { name: Name::from(*name), attributes }));
        rest = after;
    }
    if count > 0 {
        rest = rest.strip_prefix(b"\0")?;
    }
    while let Some((link, after)) = split_at_byte(rest, 0) {
        let (index, target) = split_at_byte(link, b' ')?;
        let index: usize = std::str::from_utf8(index).ok()?.parse().ok()?;
        if let Some(entry) = found.get_mut(index)?
            && entry.attributes.kind == EntryKind::Symlink
        {
            entry.attributes.target = Some(Name::from(target.strip_suffix(b"\n")?));
        }
        rest = after;
    }
    Some(FileOutcome::Page { entries: found.into_iter().flatten().collect(), next })
}

/// Reads the line about a name, if the text begins with it. A name may contain line breaks, but no slash.
#[allow(clippy::option_option)] // The outer one is for malformed text.
fn read_named<'a>(text: &'a [u8], name: &[u8]) -> Option<Option<(Attributes, &'a [u8])>> {
    let Some((line, after)) = split_at_byte(text, b'/') else { return Some(None) };
    let Some(after) = after.strip_prefix(name).and_then(|after| after.strip_prefix(b"\n")) else { return Some(None) };
    let line = std::str::from_utf8(line).ok()?.strip_suffix(" .")?;
    Some(Some((read_attributes(line)?, after)))
}

/// Parses the mode in hexadecimal, the size, the owner, the group and the time.
fn read_attributes(line: &str) -> Option<Attributes> {
    let words: Vec<&str> = line.split(' ').collect();
    let [mode, size, uid, gid, mtime] = words.as_slice() else { return None };
    let mode = u32::from_str_radix(mode, 16).ok()?;
    let kind = match mode & 0o170_000 {
        0o100_000 => EntryKind::File,
        0o040_000 => EntryKind::Directory,
        0o120_000 => EntryKind::Symlink,
        _ => EntryKind::Special,
    };
    Some(Attributes {
        kind,
        mode: u16::try_from(mode & 0o7777).ok()?,
        uid: uid.parse().ok()?,
        gid: gid.parse().ok()?,
        mtime: mtime.parse().ok()?,
        size: if kind == EntryKind::File { size.parse().ok()? } else { 0 },
        target: None,
    })
}

/// Splits a text at the first occurrence of a byte, which is in neither part.
fn split_at_byte(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|other| *other == byte)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_is_longer_than_that_of_any_call_is_refused() {
        let mut output = Vec::new();
        collect_output(&mut output, &vec![0; MAX_OUTPUT]).unwrap();
        assert!(collect_output(&mut output, b"x").unwrap_err().is_protocol());
        assert_eq!(output.len(), MAX_OUTPUT);
    }
}
