//! Paths that don't fit an archive, and archives that are none.

use futures_executor::block_on;
use snapshot_archive::{Archive, Error};

use crate::files::tree;
use crate::support::{FORMATS, Memory, open, path, read};

#[test]
fn wrong_paths_are_reported() {
    let folder = tree();
    for format in FORMATS {
        let mut archive = open(&folder.archive(format));
        for (at, error) in [
            ("missing", Error::NotFound),
            ("sub/missing/file", Error::NotFound),
            ("small/file", Error::NotADirectory),
            ("link/file", Error::NotADirectory),
            ("sub/hard/file", Error::NotADirectory),
        ] {
            assert_eq!(block_on(archive.stat(&path(at))), Err(error.clone()), "{format:?} {at}");
            assert_eq!(read(&mut archive, at, 0..1), Err(error.clone()), "{format:?} {at}");
            assert_eq!(block_on(archive.list(&path(at), None, 1)).err(), Some(error), "{format:?} {at}");
        }
        for at in ["small", "link", "fifo"] {
            let error = block_on(archive.list(&path(at), None, 1)).err();
            assert_eq!(error, Some(Error::NotADirectory), "{format:?} {at}");
        }
        for at in ["sub", "link", "fifo", "/"] {
            assert_eq!(read(&mut archive, at, 0..1), Err(Error::NotAFile), "{format:?} {at}");
        }
    }
}

#[test]
fn other_compressors_are_unsupported() {
    let folder = tree();
    let archive = std::fs::read(folder.squashfs("-comp xz")).unwrap();
    let archive = block_on(Archive::open(Memory(archive.into())));
    assert!(matches!(archive.err(), Some(Error::Unsupported(_))));
}

#[test]
fn empty_archive_is_damaged() {
    let mut archive = block_on(Archive::open(Memory(bytes::Bytes::new()))).unwrap();
    assert_eq!(block_on(archive.stat(&path("/"))), Err(Error::Damaged("it ends early")));
}

#[test]
fn only_squashfs_has_random_access() {
    let folder = tree();
    let random_access = FORMATS.map(|format| open(&folder.archive(format)).has_random_access());
    assert_eq!(random_access, [true, true, true, false, false, false]);
}
