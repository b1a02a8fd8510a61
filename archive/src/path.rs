//! Paths in archives.

use std::cmp::Ordering;

use bytes::Bytes;

use crate::{Error, Result};

/// The maximum length of a name in bytes, as in Linux.
pub(crate) const MAX_NAME: usize = 255;

/// The maximum length of a path in bytes. A path in a file system of Linux can exceed `PATH_MAX`.
pub(crate) const MAX_PATH: usize = 65_536;

/// A path in an archive, relative to its root.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(Vec<Bytes>);

impl Path {
    /// Parses a path. `/` separates the names. Empty names and `.` are ignored, so that `""` and `/` are the root.
    pub fn parse(path: &[u8]) -> Result<Self> {
        if path.len() > MAX_PATH {
            return Err(Error::InvalidPath("is longer than 65,536 bytes"));
        }
        let names = path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
        let valid = names.map(|name| is_name(name).then(|| Bytes::copy_from_slice(name)));
        valid.collect::<Option<_>>().map(Self).ok_or(Error::InvalidPath(
            "has a name that no file can have: one of `..`, with NUL, or longer than 255 bytes",
        ))
    }

    /// Returns the names, from the root.
    pub fn names(&self) -> &[Bytes] {
        &self.0
    }

    /// Returns the path with its names and `/` between them.
    pub(crate) fn joined(&self) -> Vec<u8> {
        self.0.join(&b'/')
    }

    /// Returns the path of the first `length` names.
    pub(crate) fn prefix(&self, length: usize) -> Self {
        Self(self.0.iter().take(length).cloned().collect())
    }

    /// Returns the names of a path below this one, from here. None for this path itself.
    pub(crate) fn below<'a>(&self, path: &'a Self) -> Option<&'a [Bytes]> {
        path.0.strip_prefix(&self.0[..])
    }
}

/// Returns the path of an entry of a directory.
pub(crate) fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

/// Compares two paths of entries name by name: a directory precedes what is in it, and that precedes its next sibling.
pub fn compare(left: &[u8], right: &[u8]) -> Ordering {
    sort_key(left).cmp(sort_key(right))
}

/// Returns the bytes of a path in which `/` sorts before each byte of a name.
pub(crate) fn sort_key(path: &[u8]) -> impl Iterator<Item = u8> {
    path.iter().map(|byte| if *byte == b'/' { 0 } else { *byte })
}

/// Whether an entry of a directory can have this name.
pub(crate) fn is_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && name.len() <= MAX_NAME && !name.iter().any(|byte| matches!(byte, b'/' | 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &[u8]) -> Result<Vec<Vec<u8>>> {
        Path::parse(path).map(|path| path.names().iter().map(|name| name.to_vec()).collect())
    }

    #[test]
    fn empty_names_and_dots_are_ignored() {
        assert_eq!(names(b"/a//./b/"), Ok(vec![b"a".to_vec(), b"b".to_vec()]));
        for root in [&b""[..], b"/", b"./"] {
            assert_eq!(names(root), Ok(vec![]));
        }
    }

    #[test]
    fn names_can_be_any_bytes_except_slash_and_nul() {
        assert_eq!(names(b"\xff\n/ "), Ok(vec![b"\xff\n".to_vec(), b" ".to_vec()]));
    }

    #[test]
    fn paths_are_compared_name_by_name() {
        let mut paths = [&b"a.b"[..], b"a/b", b"a", b"a b/c", b"b", b"a/b/c", b"a/b\x01"];
        paths.sort_by(|left, right| compare(left, right));
        assert_eq!(paths, [&b"a"[..], b"a/b", b"a/b/c", b"a/b\x01", b"a b/c", b"a.b", b"b"]);
    }

    #[test]
    fn names_that_no_file_can_have_are_invalid() {
        for path in [b"a/..".to_vec(), b"../a".to_vec(), b"a\0".to_vec(), vec![b'a'; 256], b"a/".repeat(40_000)] {
            assert!(matches!(names(&path), Err(Error::InvalidPath(_))), "{path:?}");
        }
        assert!(names(&[b'a'; 255]).is_ok());
    }
}
