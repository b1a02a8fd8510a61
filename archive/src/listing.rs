//! The files of a running container, as a script in it lists them.

use bytes::Bytes;

use crate::entry::MAX_TARGET;
use crate::path::{compare, is_name};
use crate::{Entry, Error, Kind, Result};

/// A part of the list of all files in a directory, sorted by path, name by name.
///
/// A record ends with NUL. It has the path, `//`, and `<type> <mode> <uid> <gid> <size> <mtime> <target>`. The type is a letter
/// of `find` and the mode octal; or the type is `x` and the mode that of `stat`, in hexadecimal. The bytes of `/` are `\1\1` and
/// those of `\1` are `\1\2`, so that records sort by their bytes as their paths do.
#[derive(Debug)]
pub struct Listing {
    bytes: Vec<u8>,
    /// The offset of the next record.
    offset: usize,
    /// Whether the part is the end of the list. Otherwise its last record can be incomplete.
    is_last: bool,
    /// The path of the last record.
    last: Bytes,
}

impl Listing {
    /// Returns a part of a list. `is_last` says whether it is the end of the list.
    pub const fn new(bytes: Vec<u8>, is_last: bool) -> Self {
        Self { bytes, offset: 0, is_last, last: Bytes::new() }
    }

    /// Returns the number of bytes of the records that were returned.
    pub(crate) const fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) const fn is_last(&self) -> bool {
        self.is_last
    }

    /// Returns the next complete record: the path and the attributes.
    pub(crate) fn next(&mut self) -> Result<Option<(Bytes, Entry)>> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        let Some(length) = rest.iter().position(|byte| *byte == 0) else {
            let is_complete = rest.is_empty() || !self.is_last;
            return if is_complete { Ok(None) } else { Err(MALFORMED) };
        };
        let record = unescape(rest.get(..length).unwrap_or_default()).ok_or(MALFORMED)?;
        let (path, entry) = parse(&record).ok_or(MALFORMED)?;
        if !self.last.is_empty() && compare(&self.last, &path).is_ge() {
            return Err(Error::Damaged("the files of the sandbox are not sorted"));
        }
        self.offset += length + 1;
        self.last = path.clone();
        Ok(Some((path, entry)))
    }
}

const MALFORMED: Error = Error::Damaged("the list of the files of the sandbox is malformed");

fn unescape(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = bytes.iter();
    let mut out = Vec::with_capacity(bytes.len());
    while let Some(byte) = bytes.next() {
        out.push(match (*byte, byte) {
            (1, _) => match bytes.next()? {
                1 => b'/',
                2 => 1,
                _ => return None,
            },
            (byte, _) => byte,
        });
    }
    Some(out)
}

fn parse(record: &[u8]) -> Option<(Bytes, Entry)> {
    let end = record.windows(2).position(|pair| pair == b"//")?;
    let path = record.get(..end)?;
    let path = path.strip_prefix(b"./").unwrap_or(path);
    if !path.split(|byte| *byte == b'/').all(is_name) {
        return None;
    }
    let mut words = record.get(end + 2..)?.splitn(7, |byte| *byte == b' ');
    let mut word = || std::str::from_utf8(words.next()?).ok();
    let (letter, mode, uid, gid, size, mtime) = (word()?, word()?, word()?, word()?, word()?, word()?);
    let target = words.next().unwrap_or_default();
    let (letter, mode) = match letter {
        "x" => of_mode(u32::from_str_radix(mode, 16).ok()?)?,
        letter => (letter, u16::from_str_radix(mode, 8).ok()?),
    };
    let kind = match letter {
        "f" => Kind::File,
        "d" => Kind::Directory,
        "l" if target.len() <= MAX_TARGET => Kind::Symlink { target: Bytes::copy_from_slice(target) },
        // The list has no numbers of devices.
        "b" => Kind::BlockDevice(0),
        "c" => Kind::CharacterDevice(0),
        "p" => Kind::Fifo,
        "s" => Kind::Socket,
        _ => return None,
    };
    let size = if kind == Kind::File { size.parse().ok()? } else { 0 };
    let (uid, gid, mtime) = (uid.parse().ok()?, gid.parse().ok()?, mtime.parse().ok()?);
    let entry = Entry { kind, mode, uid, gid, mtime, size, links: 1, location: 0 };
    Some((Bytes::copy_from_slice(path), entry))
}

/// Returns the letter of `find` for a mode of `stat`, and its permission bits.
fn of_mode(mode: u32) -> Option<(&'static str, u16)> {
    let letter = match mode & 0o170_000 {
        0o100_000 => "f",
        0o040_000 => "d",
        0o120_000 => "l",
        0o060_000 => "b",
        0o020_000 => "c",
        0o010_000 => "p",
        0o140_000 => "s",
        _ => return None,
    };
    Some((letter, u16::try_from(mode & 0o7777).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8], is_last: bool) -> Result<Vec<(Bytes, Entry)>> {
        let mut listing = Listing::new(bytes.to_vec(), is_last);
        std::iter::from_fn(|| listing.next().transpose()).collect()
    }

    fn record(path: &str, attributes: &str) -> Vec<u8> {
        let text = format!("{path}//{attributes}").replace('\x01', "\x01\x02").replace('/', "\x01\x01");
        [text.as_bytes(), b"\0"].concat()
    }

    #[test]
    fn records_have_the_attributes_of_find_and_of_stat() {
        let list = [
            record("a\nb", "f 4755 1 2 30 -5 "),
            record("d\x01", "d 755 0 0 4096 7 "),
            record("d\x01/l", "l 777 0 0 3 7 ../x y"),
            record("./e", "x 81a4 0 0 5 7"),
            record("./f", "x a1ff 0 0 1 7 t"),
        ];
        let found = all(&list.concat(), true).unwrap();
        let paths: Vec<_> = found.iter().map(|(path, _)| &path[..]).collect();
        assert_eq!(paths, [&b"a\nb"[..], b"d\x01", b"d\x01/l", b"e", b"f"]);
        let entry =
            Entry { kind: Kind::File, mode: 0o4755, uid: 1, gid: 2, mtime: -5, size: 30, links: 1, location: 0 };
        assert_eq!(found[0].1, entry);
        assert_eq!((&found[1].1.kind, found[1].1.size), (&Kind::Directory, 0));
        assert_eq!(found[2].1.kind, Kind::Symlink { target: Bytes::from_static(b"../x y") });
        assert_eq!((&found[3].1.kind, found[3].1.mode), (&Kind::File, 0o644));
        assert_eq!(found[4].1.kind, Kind::Symlink { target: Bytes::from_static(b"t") });
    }

    #[test]
    fn incomplete_record_is_the_begin_of_the_next_part() {
        let list = [record("a", "f 644 0 0 1 7 "), b"b\x01\x01\x01\x01f 6".to_vec()].concat();
        assert_eq!(all(&list, false).unwrap().len(), 1);
        assert_eq!(all(&list, true), Err(MALFORMED));
        assert_eq!(all(b"", true), Ok(vec![]));
    }

    #[test]
    fn list_that_contradicts_itself_is_refused() {
        let file = |path| record(path, "f 644 0 0 1 7 ");
        for list in [
            [file("b"), file("a")].concat(),
            [file("a"), file("a")].concat(),
            [file("a.b"), file("a/b")].concat(),
            file("../a"),
            file(""),
            record("a", "f 644 0 0 1"),
            record("a", "f 9 0 0 1 7 "),
            record("a", "? 644 0 0 1 7 "),
            b"a\x01\x03\0".to_vec(),
            b"a\0".to_vec(),
        ] {
            assert!(matches!(all(&list, true), Err(Error::Damaged(_))), "{list:?}");
        }
    }
}
