//! The lists of a carrier: for each directory that changed, its path and all its entries, by type and name. Each of these
//! texts ends with a NUL, and each directory with another one.

use bytes::Bytes;

use super::digests::Digests;
use crate::path::{MAX_PATH, is_name, join};
use crate::{Error, Kind, Path, Result};

/// The type of a listed directory in the set.
const DIRECTORY: u8 = b'/';

const DAMAGED: Error = Error::Damaged("its lists are not valid");

/// The entries of the directories that changed.
pub(crate) struct Lists {
    digests: Digests,
    /// The last directory about which something was asked, with the answer.
    last: (Bytes, (bool, bool)),
}

impl Lists {
    /// Whether an entry of the base remains.
    pub fn keep(&mut self, path: &[u8], kind: &Kind) -> bool {
        let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
        let (is_kept, is_listed) = self.directory(path.get(..end).unwrap_or_default());
        path.is_empty() || is_kept && (!is_listed || self.contains(path, kind))
    }

    /// Whether a directory of the base remains, and whether its entries are listed.
    pub fn directory(&mut self, path: &[u8]) -> (bool, bool) {
        if self.last.0 != path {
            self.last = (Bytes::copy_from_slice(path), self.look_up(path));
        }
        self.last.1
    }

    fn look_up(&self, path: &[u8]) -> (bool, bool) {
        let mut is_listed = self.digests.contains(DIRECTORY, b"");
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        for end in ends.chain((!path.is_empty()).then_some(path.len())) {
            let directory = path.get(..end).unwrap_or_default();
            if is_listed && !self.contains(directory, &Kind::Directory) {
                return (false, false);
            }
            is_listed = self.digests.contains(DIRECTORY, directory);
        }
        (true, is_listed)
    }

    /// Whether the list of the directory that contains an entry has it.
    pub fn contains(&self, path: &[u8], kind: &Kind) -> bool {
        let entry_type = match kind {
            Kind::Directory => b'd',
            Kind::File | Kind::HardLink { .. } => b'f',
            Kind::Symlink { .. } => b'l',
            Kind::BlockDevice(_) | Kind::CharacterDevice(_) | Kind::Fifo | Kind::Socket => return false,
        };
        self.digests.contains(entry_type, path)
    }
}

/// Parses lists piece by piece.
#[derive(Default)]
pub(crate) struct Parser {
    digests: Digests,
    /// The begin of a text whose end was not read yet.
    text: Vec<u8>,
    /// The directory whose entries follow.
    directory: Option<Vec<u8>>,
}

impl Parser {
    /// Parses the next bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        let mut texts = bytes.split(|byte| *byte == 0).peekable();
        while let Some(part) = texts.next() {
            self.text.extend_from_slice(part);
            if self.text.len() > MAX_PATH {
                return Err(DAMAGED);
            }
            if texts.peek().is_some() {
                let text = std::mem::take(&mut self.text);
                self.push_text(&text)?;
            }
        }
        Ok(())
    }

    fn push_text(&mut self, text: &[u8]) -> Result<()> {
        let Some(directory) = &self.directory else {
            let path = text.strip_prefix(b"/").ok_or(DAMAGED)?;
            if Path::parse(path).map_err(|_| DAMAGED)?.joined() != path {
                return Err(DAMAGED);
            }
            self.directory = Some(path.to_vec());
            return self.digests.push(DIRECTORY, path);
        };
        match text.split_first() {
            None => {
                self.directory = None;
                Ok(())
            }
            Some((entry_type @ (b'd' | b'f' | b'l'), name)) if is_name(name) => {
                self.digests.push(*entry_type, &join(directory, name))
            }
            Some(_) => Err(DAMAGED),
        }
    }

    /// Returns the lists, which must be complete.
    pub fn finish(mut self) -> Result<Lists> {
        if !self.text.is_empty() || self.directory.is_some() {
            return Err(DAMAGED);
        }
        self.digests.sort();
        let mut lists = Lists { digests: self.digests, last: (Bytes::new(), (true, false)) };
        lists.last.1 = lists.look_up(b"");
        Ok(lists)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses lists in pieces of `size` bytes.
    fn parse(lists: &[u8], size: usize) -> Result<Lists> {
        let mut parser = Parser::default();
        lists.chunks(size).try_for_each(|piece| parser.push(piece))?;
        parser.finish()
    }

    #[test]
    fn entry_remains_where_no_list_contradicts() {
        for size in 1..12 {
            let mut lists = parse(b"/\0da\0ff\0\0/a\0fx\0\0", size).unwrap();
            let symlink = Kind::Symlink { target: Bytes::new() };
            for (path, kind, is_kept) in [
                ("", Kind::Directory, true),
                ("a", Kind::Directory, true),
                ("a", Kind::File, false),
                ("f", Kind::File, true),
                ("f", symlink, false),
                ("f/below", Kind::File, false),
                ("gone", Kind::File, false),
                ("gone/below", Kind::File, false),
                ("a/x", Kind::HardLink { target: Bytes::new() }, true),
                ("a/y", Kind::File, false),
                ("a/y/z", Kind::File, false),
                ("a/x", Kind::Fifo, false),
            ] {
                assert_eq!(lists.keep(path.as_bytes(), &kind), is_kept, "{path} {kind:?}");
            }
        }
        let mut lists = parse(b"/a\0\0", 100).unwrap();
        assert!(lists.keep(b"b/c", &Kind::Fifo) && !lists.keep(b"a/c", &Kind::File));
    }

    #[test]
    fn lists_that_no_capture_writes_are_refused() {
        for lists in
            [&b"a\0\0"[..], b"/\0fx\0", b"/\0fx", b"/a/\0\0", b"/a//b\0\0", b"/../a\0\0", b"/\0xa\0\0", b"/\0f..\0\0"]
        {
            assert_eq!(parse(lists, 100).err(), Some(DAMAGED), "{lists:?}");
        }
        assert_eq!(parse(&vec![b'/'; 70_000], 1000).err(), Some(DAMAGED));
        assert!(parse(b"", 1).is_ok());
    }
}
